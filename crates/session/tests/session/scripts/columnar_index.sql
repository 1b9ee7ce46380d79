-- A columnar index keeps columns, and what is computed of columns, of the rows of a table.
create table sale (id int primary key, country text, day date, amount numeric(10, 2), doc jsonb, note text);
insert into sale select g, (array['de', 'us', null])[g % 3 + 1], date '2024-01-01' + g % 30, (g % 500)::numeric / 4,
  jsonb_build_object('kind', 'k' || g % 5, 'n', g % 7, 'more', jsonb_build_object('deep', g % 11)), 'note ' || g
  from generate_series(1, 20000) g;
select version from commits order by version desc limit 1;
update sale set amount = amount + 1 where id % 10 = 0;
create index sale_columns on sale using columnar (country, day, amount, (doc ->> 'kind'), ((doc -> 'more' ->> 'deep')::int));
select version from commits order by version desc limit 1;
select pg_get_indexdef('sale_columns'::regclass);
select a.amname, a.amtype from pg_class c join pg_am a on a.oid = c.relam where relname = 'sale_columns';
select indnatts, indkey, indisunique, indisvalid from pg_index where indexrelid = 'sale_columns'::regclass;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'sale_columns'::regclass order by attnum;

-- It is read where it has all that is asked of the rows.
explain (costs off) select country, count(*), sum(amount) from sale where day < '2024-01-11' group by country;
select country, count(*), sum(amount) from sale where day < '2024-01-11' group by country order by country;
explain (costs off) select doc ->> 'kind', sum((doc -> 'more' ->> 'deep')::int) from sale where doc ->> 'kind' <> 'k3' group by 1;
select doc ->> 'kind', sum((doc -> 'more' ->> 'deep')::int) from sale where doc ->> 'kind' <> 'k3' group by 1 order by 1;
explain (costs off) select count(*) from sale;
select count(*) from sale;
explain (costs off, verbose) select count(*), max(day) from sale s where upper(s.doc ->> 'kind') = 'K1';
-- It is not read where it lacks a column, or where rows are found by a key.
explain (costs off) select max(note) from sale;
explain (costs off) select sum(amount) from sale where doc ->> 'other' = 'x';
explain (costs off) select sum(amount) from sale where id = 7;
explain (costs off) select country, day from sale;
create index sale_day on sale (day);
explain (costs off) select sum(amount) from sale where day = '2024-01-11';
drop index sale_day;
-- A whole document has its frequent fields in columns of their own.
create index sale_doc on sale using columnar (doc);
explain (costs off) select doc ->> 'n', count(*) from sale group by 1;
select doc ->> 'n', count(*) from sale group by 1 order by 1;
drop index sale_doc;

-- The rows of a moment, and those of the transaction.
checkpoint;
select sum(amount), count(*) from sale;
begin;
update sale set amount = 0, doc = '{"kind": "own"}' where id <= 100;
savepoint s;
delete from sale where id <= 50;
insert into sale (id, amount) values (30000, 5);
select sum(amount), count(*), count(*) filter (where doc ->> 'kind' = 'own') from sale;
rollback to s;
select sum(amount), count(*), count(*) filter (where doc ->> 'kind' = 'own') from sale;
commit;
update sale set note = 'not in the index' where id = 1;
select sum(amount) from sale;
select sum(amount), count(doc ->> 'kind') from sale for system_version as of 6;
select sum(amount), count(doc ->> 'kind') from sale for system_version as of 5;
select sum(amount) from sale for system_version as of 4;
select sum(amount) from sale for system_version as of 1000000;
explain (costs off) select sum(amount) from sale for system_version as of 6;
-- With a join below.
create table country (code text, name text);
insert into country values ('de', 'Germany'), ('us', 'States');
explain (costs off) select name, sum(amount) from sale join country on code = country group by name;
select name, sum(amount) from sale join country on code = country group by name order by name;
explain (costs off) select sum(amount) from sale where exists (select from country where code = upper(country) or code = country and name > 'H');

-- What is erased is so in the index as well.
erase from sale where id <= 100 and id > 90;
select count(*), sum(amount) from sale;
select count(*), sum(amount) from sale for system_version as of 6;
vacuum;
select count(*), sum(amount) from sale for system_version as of 6;
-- Other definitions of the table.
alter table sale alter column amount type numeric(12, 3);
select sum(amount) from sale;
explain (costs off) select sum(amount) from sale;
reindex index sale_columns;
reindex table sale;
select sum(amount) from sale;
alter table sale rename column amount to price;
select pg_get_indexdef('sale_columns'::regclass);
select sum(price) from sale;
alter table sale add column more int default 3;
insert into sale (id, price) values (40000, 1);
select sum(price), sum(more) from sale;
alter table sale set access method rowcompress;
select sum(price) from sale;
explain (costs off) select sum(price) from sale;
alter table sale set access method columnar;
checkpoint;
select pg_relation_size('sale_columns') > 0 as has_size;
alter table sale alter column more type bigint;
create index sale_more on sale using columnar (more, (more + 1));
alter table sale alter column more type text using 'm' || more;
alter table sale drop constraint sale_pkey;
drop index sale_more;
create index sale_more on sale using columnar (more, id);
select more, count(*), sum(id) from sale group by more;
alter table sale alter column more type text using repeat('m', more::int);
select more, count(*), sum(id) from sale group by more;
alter table sale alter column more type bigint using length(more);
explain (costs off) select more, count(*), sum(id) from sale group by more;
select more, count(*), sum(id) from sale group by more;
alter table sale add primary key (id);
select more, count(*), sum(id) from sale group by more;
prepare p as select sum(more) from sale where more > $1;
execute p(1);
drop index sale_more;
execute p(1);
truncate sale;
select sum(price), count(*) from sale;
insert into sale (id, price, country) select g, g, 'x' from generate_series(1, 30000) g;
select sum(price), count(*) from sale;
alter table sale drop column price;
select indexrelid::regclass from pg_index where indrelid = 'sale'::regclass order by 1;
create index concurrently on sale using columnar (country);
explain (costs off) select country, count(*) from sale group by country;
select country, count(*) from sale group by country;
drop table sale;

-- Documents.
create table article (id text primary key, doc jsonb) using document;
insert into article select 'a' || g, jsonb_build_object('kind', 'k' || g % 3, 'body', jsonb_build_array(g, g + 1)) from generate_series(1, 3000) g;
create index article_columns on article using columnar ((doc ->> 'kind'), ((doc -> 'body' ->> 0)::int));
explain (costs off) select doc ->> 'kind', sum((doc -> 'body' ->> 0)::int) from article group by 1;
select doc ->> 'kind', sum((doc -> 'body' ->> 0)::int) from article group by 1 order by 1;
update article set doc = jsonb_set(doc, '{body, 0}', '0') where id = 'a1000';
select doc ->> 'kind', sum((doc -> 'body' ->> 0)::int) from article group by 1 order by 1;
create table copied (like article including indexes) using document;
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'copied'::regclass order by 1;
drop table article, copied;

-- It can have as many columns as a table.
create table wide (c0 int, c1 int, c2 int, c3 int, c4 int, c5 int, c6 int, c7 int, c8 int, c9 int, c10 int, c11 int, c12 int, c13 int, c14 int, c15 int, c16 int, c17 int, c18 int, c19 int, c20 int, c21 int, c22 int, c23 int, c24 int, c25 int, c26 int, c27 int, c28 int, c29 int, c30 int, c31 int, c32 int, c33 int, c34 int, c35 int, c36 int, c37 int, c38 int, c39 int);
create index wide_columns on wide using columnar (c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22, c23, c24, c25, c26, c27, c28, c29, c30, c31, c32, c33, c34, c35, c36, c37, c38, c39);
insert into wide (c0, c39) values (1, 2), (3, 4);
explain (costs off) select sum(c39), count(c5) from wide;
select sum(c39), count(c5) from wide;
drop table wide;

-- What it cannot be.
create table t (a int, b text, c jsonb);
create unique index on t using columnar (a);
create index on t using columnar (a) include (b);
create index on t using columnar (a) where a > 1;
create index on t using columnar (a desc);
create index on t using columnar (a nulls first);
create index on t using columnar (b text_ops);
create index on t using columnar (a, nosuch);
create index on t using columnar (a) with (fillfactor = 70);
create table u (a int) using columnar;
create index on u using columnar (a);
create index on t using columnstore (a);
