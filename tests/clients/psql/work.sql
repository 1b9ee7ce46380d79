-- psql as a tool: copying, variables, conditions, layouts, prepared statements, cursors.
\pset pager off
CREATE TABLE city (name text PRIMARY KEY, country text, people int, founded date);

-- Rows from the script itself.
COPY city FROM STDIN;
Vienna	Austria	2000000	0881-01-01
Graz	Austria	290000	1128-02-29
Oslo	Norway	710000	1040-01-01
Bergen	Norway	\N	1070-06-01
A\ttab	Nowhere	1	\N
\.
SELECT * FROM city ORDER BY name;

-- Out, in every form.
COPY (TABLE city ORDER BY name) TO STDOUT;
COPY (SELECT name, people FROM city ORDER BY name) TO STDOUT WITH (FORMAT csv, HEADER, NULL 'none');
COPY (SELECT name, founded FROM city ORDER BY name) TO STDOUT (DELIMITER '|', FORCE_QUOTE *, FORMAT csv);

-- Through files of the client.
\copy city to 'cities.txt'
\copy (SELECT * FROM city WHERE country = 'Norway' ORDER BY 1) to 'norway.csv' csv header
CREATE TABLE town (LIKE city INCLUDING DEFAULTS, PRIMARY KEY (name));
\copy town from 'cities.txt'
SELECT count(*) FROM town;
DELETE FROM town;
\copy town from 'norway.csv' with (format csv, header match)
SELECT * FROM town ORDER BY 1;
\! rm cities.txt norway.csv

-- Rows that do not fit.
COPY town FROM STDIN;
Lund	Sweden	many	\N
\.
COPY town (name, country) FROM STDIN;
Lund	Sweden	90000
\.
COPY town (name, country) FROM STDIN;
Oslo	Norway
\.
COPY town FROM STDIN WHERE people > 100000;
Lund	Sweden	90000	\N
Malmo	Sweden	360000	\N
\.
SELECT name FROM town ORDER BY name;

-- What a query gives, into variables.
SELECT count(*) AS cities, max(people) AS most FROM city \gset
\echo :cities cities, the largest has :most
SELECT name, people FROM city WHERE people > :most - 1;
SELECT name AS n FROM city WHERE country = 'Austria' ORDER BY 1 LIMIT 1 \gset found_
\set wanted 'Oslo'
SELECT :'found_n' AS first, :'wanted' AS wanted, :"wanted" FROM (VALUES (1)) AS v ("Oslo");

-- Conditions.
SELECT count(*) > 3 AS many FROM city \gset
\if :many
  \echo there are many
\elif true
  \echo never
\else
  \echo never either
\endif
\if :{?nothing}
  SELECT 'never';
\endif

-- A query's description.
SELECT name, people AS n, founded, 1.5::numeric(4, 2), 'x'::varchar(7), ARRAY[1] FROM city \gdesc

-- A query whose rows are the table's columns.
SELECT country, extract(century FROM founded)::int AS century, count(*)
    FROM city WHERE founded IS NOT NULL GROUP BY 1, 2 ORDER BY 2, 1
    \crosstabview country century count

-- Layouts.
\x on
SELECT * FROM city WHERE name = 'Oslo';
\x off
\pset format csv
SELECT name, people FROM city ORDER BY people DESC NULLS LAST LIMIT 2;
\pset format unaligned
\pset tuples_only on
SELECT name, people FROM city ORDER BY name LIMIT 2;
\pset tuples_only off
\pset format html
SELECT 1 AS "a<b";
\pset format aligned
\pset null '(null)'
SELECT name, people FROM city WHERE people IS NULL;
\pset null ''

-- Several statements at once.
SELECT 1 AS one \; SELECT 2 AS two;
SELECT 1 / 0 \; SELECT 3 AS three;

-- Prepared statements.
PREPARE in_country (text) AS SELECT name FROM city WHERE country = $1 ORDER BY 1;
EXECUTE in_country('Austria');
EXECUTE in_country('Norway');
EXECUTE in_country(1, 2);
SELECT name, statement, parameter_types FROM pg_prepared_statements;
DEALLOCATE in_country;
EXECUTE in_country('Norway');

-- Rows in portions.
\set FETCH_COUNT 2
SELECT g, g * g AS square FROM generate_series(1, 5) AS g;
\set FETCH_COUNT 0

-- Cursors.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT name FROM city ORDER BY name;
FETCH 2 FROM c;
FETCH PRIOR FROM c;
FETCH LAST FROM c;
MOVE ABSOLUTE 1 IN c;
FETCH NEXT FROM c;
FETCH BACKWARD ALL FROM c;
CLOSE c;
FETCH c;
ROLLBACK;

-- Messages between sessions.
LISTEN news;
NOTIFY news, 'hello';
UNLISTEN news;

-- What a change gives back, and how it is counted.
\set QUIET off
INSERT INTO city VALUES ('Turku', 'Finland', 200000, '1229-01-01') RETURNING name, people;
UPDATE city SET people = people + 1 WHERE country = 'Austria';
DELETE FROM city WHERE country = 'Nowhere';
MERGE INTO city c USING (VALUES ('Turku', 7), ('Kemi', 8)) AS v (name, people) ON c.name = v.name
    WHEN MATCHED THEN UPDATE SET people = v.people
    WHEN NOT MATCHED THEN INSERT (name, people) VALUES (v.name, v.people);
CREATE TABLE made AS SELECT * FROM city;
TRUNCATE made;
DROP TABLE made;
VACUUM city;
ANALYZE city;
SET application_name = 'psql';
\set QUIET on
