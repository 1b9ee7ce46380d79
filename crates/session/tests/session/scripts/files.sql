-- Files of the server: what goes out comes in again.
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE TABLE t (id int PRIMARY KEY, n numeric(10, 2), free numeric, s text, at timestamptz, span interval,
    u uuid, j json, b jsonb, list int[], moods mood[], m mood, c char(4), d date, raw bytea);
INSERT INTO t VALUES
    (1, 1.50, 1e40, 'a "b"', '2026-11-26 12:00:00+00', '1 month -2 days 00:00:03.5',
     '6ba7b810-9dad-11d1-80b4-00c04fd430c8', '{"b": 1,  "a": 2}', '{"b": 1, "a": 2}', '{1,NULL}',
     '{glad,NULL}', 'sad', 'ab', '1969-12-31', '\x00ff'),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
COPY t TO '/t.parquet' (FORMAT parquet);
COPY t TO '/z.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY t TO '/t.arrow' (FORMAT arrow, COMPRESSION lz4);
COPY t TO '/t.csv' (FORMAT csv, HEADER);
COPY t TO '/t.txt';
COPY t TO '/t.bin' (FORMAT binary);
CREATE TABLE back (LIKE t INCLUDING ALL);
COPY back FROM '/t.parquet' (FORMAT parquet);
SELECT count(*) FROM (SELECT t::text FROM t EXCEPT SELECT back::text FROM back);
TRUNCATE back;
COPY back FROM '/z.parquet' (FORMAT parquet);
SELECT count(*) FROM (SELECT t::text FROM t EXCEPT SELECT back::text FROM back);
TRUNCATE back;
COPY back FROM '/t.arrow' (FORMAT arrow);
SELECT count(*) FROM (SELECT t::text FROM t EXCEPT SELECT back::text FROM back);
TRUNCATE back;
COPY back FROM '/t.csv' (FORMAT csv, HEADER match);
SELECT count(*) FROM (SELECT t::text FROM t EXCEPT SELECT back::text FROM back);
TRUNCATE back;
COPY back FROM '/t.txt';
SELECT count(*) FROM (SELECT t::text FROM t EXCEPT SELECT back::text FROM back);
TRUNCATE back;
COPY back FROM '/t.bin' (FORMAT binary) WHERE id = 1;
SELECT id, j FROM back;
-- Columns are found by their names, and get the types of the table.
COPY (SELECT 1 AS a, 2 AS "B", '7' AS c) TO '/abc.parquet' (FORMAT parquet);
CREATE TABLE abc (c int, b bigint, a smallint, d text DEFAULT 'new', g int GENERATED ALWAYS AS (a + 1) STORED);
COPY abc FROM '/abc.parquet' (FORMAT parquet);
COPY abc (a) FROM '/abc.parquet' (FORMAT parquet);
SELECT * FROM abc;
COPY abc (a, d) FROM '/abc.parquet' (FORMAT parquet);
CREATE TABLE ab (a int, b int);
COPY ab FROM '/abc.parquet' (FORMAT parquet);
CREATE TABLE dates (a date, b int, c int);
COPY dates FROM '/abc.parquet' (FORMAT parquet);
COPY (SELECT 100000 AS a) TO '/big.parquet' (FORMAT parquet);
COPY abc (a) FROM '/big.parquet' (FORMAT parquet);
COPY (SELECT 'x' AS c) TO '/x.arrow' (FORMAT arrow);
COPY abc (c) FROM '/x.arrow' (FORMAT arrow);
COPY t FROM '/t.parquet' (FORMAT parquet);
-- Options.
COPY t TO '/t.parquet' (FORMAT parquet, COMPRESSION zip);
COPY t TO '/t.parquet' (FORMAT parquet, HEADER);
COPY t TO '/t.csv' (FORMAT csv, COMPRESSION zstd);
COPY t TO '/t.arrow' (FORMAT arrow, COMPRESSION gzip);
COPY t FROM STDIN (FORMAT parquet);
COPY t TO 'relative.parquet' (FORMAT parquet);
COPY t FROM '/nothing.parquet' (FORMAT parquet);
COPY t FROM '/t.csv' (FORMAT parquet);
COPY (SELECT 'NaN'::numeric(4, 1) AS n) TO '/nan.parquet' (FORMAT parquet);
SELECT * FROM read_parquet('/nan.parquet');
-- Files in FROM.
SELECT id, n, s, span FROM '/t.parquet' ORDER BY id;
SELECT t.id, p.b FROM read_parquet('/t.parquet') t JOIN '/z.parquet' p USING (id) WHERE t.n > 1;
SELECT count(*) FROM '/t.arrow';
SELECT * FROM '/t.csv' c WHERE c.id = 1;
EXPLAIN SELECT id FROM '/t.parquet' WHERE n > 1;
CREATE TABLE made AS SELECT id, u, b FROM '/t.parquet';
SELECT * FROM made ORDER BY id;
CREATE VIEW v AS SELECT * FROM '/abc.parquet';
SELECT * FROM v;
INSERT INTO ab SELECT a, "B" FROM '/abc.parquet';
COPY (SELECT a, a * 10 AS ten FROM generate_series(1, 3) a) TO '/part-1.parquet' (FORMAT parquet);
COPY (SELECT a * 10 AS ten, a FROM generate_series(4, 5) a) TO '/part-2.parquet' (FORMAT parquet);
SELECT ten, a FROM '/part-*.parquet' ORDER BY a;
SELECT count(*), sum(a) FROM read_parquet(ARRAY['/part-1.parquet', '/part-[2-9].parquet']);
SELECT * FROM '/none-*.parquet';
COPY (SELECT a FROM generate_series(4, 5) a) TO '/part-3.parquet' (FORMAT parquet);
SELECT ten FROM '/part-*.parquet';
SELECT x.* FROM (VALUES (1), (2)) v(i), LATERAL (SELECT a FROM '/part-1.parquet' WHERE a = i) x;
PREPARE p AS SELECT a FROM '/part-1.parquet' WHERE a > $1;
EXECUTE p(2);
COPY (SELECT 7 AS a) TO '/part-1.parquet' (FORMAT parquet);
EXECUTE p(2);
-- CSV: columns and types are found out.
COPY (VALUES ('id;name;amount;day;at;code'), ('1;"a;b";1.50;2026-11-26;2026-11-26T10:00:00Z;007'), ('2;;2;2026-11-27;2026-11-27 11:00:00+02;008')) TO '/x.csv';
SELECT *, pg_typeof(id), pg_typeof(amount), pg_typeof(day), pg_typeof(at), pg_typeof(code) FROM '/x.csv';
SELECT * FROM read_csv('/x.csv', all_text => true, header => false) LIMIT 1;
SELECT * FROM read_csv('/x.csv', delimiter => ',') LIMIT 1;
SELECT * FROM read_csv('/x.csv', comma => true);
SELECT * FROM read_csv('/x.csv', header => 1);
SELECT * FROM read_csv($1);
COPY (VALUES ('a,b'), ('1,2'), ('x,3')) TO '/late.csv';
SELECT * FROM read_csv('/late.csv', sample_rows => 1);
SELECT * FROM read_csv('/late.csv', sample_rows => 0);
COPY (VALUES ('a,b'), ('1')) TO '/short.csv';
SELECT * FROM '/short.csv';
-- JSON: an object a line.
COPY (VALUES ('{"id": 1, "name": "x", "n": 1.50, "tags": ["a"], "ok": true}'), (''), ('{"id": 2, "n": 3, "more": null, "name": null}')) TO '/x.ndjson';
SELECT *, pg_typeof(id), pg_typeof(n), pg_typeof(tags) FROM '/x.ndjson';
COPY (VALUES ('{"id": 1}'), ('{"other": 1}'), ('[]')) TO '/y.ndjson';
SELECT * FROM read_json('/y.ndjson', sample_rows => 1);
SELECT * FROM '/y.ndjson';
-- Rights.
CREATE ROLE reader LOGIN;
GRANT ALL ON t, abc TO reader;
\c postgres reader
COPY t TO '/r.parquet' (FORMAT parquet);
COPY t FROM '/t.parquet' (FORMAT parquet);
SELECT * FROM '/t.parquet';
\c postgres postgres
GRANT pg_read_server_files TO reader;
\c postgres reader
SELECT count(*) FROM '/t.parquet';
COPY abc (a) FROM '/abc.parquet' (FORMAT parquet);
COPY t TO '/r.parquet' (FORMAT parquet);
