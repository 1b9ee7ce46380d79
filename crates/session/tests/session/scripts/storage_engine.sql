-- What users of the extension storage_engine have: its access methods, options, functions and views.
create extension if not exists storage_engine;
create extension columnar with schema public version '11.1' cascade;
create extension postgis;
select amname from pg_am where amtype = 't' order by 1;
create table a (id int, d date, n int) using colcompress;
create table b (id int) using columnstore;
create table c (id int) using rowcompress with (batch_size = 1000, compression = zstd, compression_level = 5);
set default_table_access_method = colcompress;
create table e as select 1 as one;
reset default_table_access_method;
create table f using columnstore as select 2 as two;
select relname, amname, reloptions from pg_class c join pg_am m on m.oid = relam where relname in ('a', 'b', 'c', 'e', 'f') order by 1;

-- Options: what is allowed, and what the catalog has of it.
create table x (id int) using columnar with (nosuch = 1);
create table x (id int) with (orderby = 'id');
create table x (id int) using columnar with (stripe_row_limit = 10);
create table x (id int) using columnar with (chunk_group_row_limit = 'many');
create table x (id int) using columnar with (compression = 'gzip');
create table x (id int) using columnar with (compression_level = 20);
create table x (id int) using columnar with (orderby = 'nosuch');
create table x (id int) using columnar with (orderby = 'id sideways');
create table x (id int, j json) using columnar with (orderby = 'id, j');
create table x (id int) using rowcompress with (batch_size = 0);
create table x (id int) using rowcompress with (orderby = 'id');
create table o (id int primary key, "Day" date, n int) using columnar
  with (orderby = '"Day" desc, n asc nulls first', compression = 'zstd', compression_level = 3,
    stripe_row_limit = 150000, chunk_group_row_limit = 10000, history = '30 days');
select reloptions from pg_class where relname = 'o';
alter table o rename column n to number;
alter table o set (compression = lz4, stripe_row_limit = 2000, fillfactor = 70);
select reloptions from pg_class where relname = 'o';
alter table o set (stripe_row_limit = 1);
alter table o set (batch_size = 1000);
alter table o reset (compression, stripe_row_limit, fillfactor);
select reloptions from pg_class where relname = 'o';
alter table o drop column number;
select reloptions from pg_class where relname = 'o';
alter table o reset (orderby);
select reloptions from pg_class where relname = 'o';
select * from engine.colcompress_options order by 1;
select table_name, batch_size from rowcompress_options;

-- Functions: each is a statement of its own.
set storage_engine.enable_vectorization = on;
select engine.alter_colcompress_table_set('a'::regclass, orderby => 'd ASC, id', compression => 'zstd', compression_level => 9, index_scan => true);
select alter_colcompress_table_set('a', 5000, null, 'none');
call engine.alter_rowcompress_table_set('c', batch_size => 500);
select reloptions from pg_class where relname in ('a', 'c') order by relname;
select engine.alter_colcompress_table_reset('a', compression => true, compression_level => true, orderby => false);
select engine.alter_rowcompress_table_reset('c', batch_size => true);
select reloptions from pg_class where relname in ('a', 'c') order by relname;
select columnar.alter_columnar_table_set('e', compression => 'none', stripe_row_limit => 10000);
select alter_columnar_table_reset('e', stripe_row_limit => true);
select reloptions from pg_class where relname = 'e';
select engine.alter_colcompress_table_set('c', compression => 'none');
select engine.alter_colcompress_table_set('a', nosuch => 1);
select engine.alter_colcompress_table_set('a', compression_level => 99);
select engine.alter_colcompress_table_set(null);
select engine.colcompress_merge('b');
select engine.colcompress_merge('nosuch');
select colcompress_merge('a'), 1;

-- Rows lie in the order: loads sort, and so does a merge. Nothing else changes.
create table s (id int primary key, day date, note text) using colcompress
  with (orderby = 'day desc, id', chunk_group_row_limit = 1000, stripe_row_limit = 4000);
insert into s select g, '2024-01-01'::date + g * 7 % 100, 'note ' || g from generate_series(1, 20000) g;
select id, day from s limit 3;
select count(*), min(id), max(id) from s where day = '2024-02-01';
insert into s values (0, '2030-01-01', 'first'), (-1, '2020-01-01', 'last');
insert into s select g, '2025-01-01'::date + g % 3, 'more' from generate_series(20001, 30000) g;
select id, day from s offset 20000 limit 4;
update s set note = 'changed' where id = 5;
delete from s where id = 6;
checkpoint;
create index on s (note);
select count(*), sum(id) from s;
select engine.colcompress_merge('s');
select reltuples from pg_class where relname = 's';
select id, day from s limit 3;
select count(*), sum(id) from s;
select id, day, note from s where note = 'changed';
insert into s values (5, '2024-01-01', 'twice');
select id, note from s for system_time all where id in (5, 6) order by id, _version;
checkpoint;
select stripe_num, chunk_group_count, row_count from colcompress_stripes where table_name = 's' order by 1;
call engine.colcompress_repack('s', 0.7);
select count(*), sum(id) from s;
alter table s set access method heap;
select count(*), sum(id) from s;
alter table s set access method columnar;
select count(*), sum(id) from s;
select id, note from s for system_time all where id = 6 order by _version;
insert into s values (5, '2024-01-01', 'twice');

-- A table whose rows lie under its primary key gets its order by a merge.
create table k (id int primary key, day int) using columnar;
create table r (id int references k) using columnar;
insert into k select g, -g from generate_series(1, 5) g;
insert into r values (3);
alter table k set (orderby = 'day');
select id from k;
select colcompress_merge('k');
select id from k;
insert into k values (5, 0);
delete from k where id = 3;
insert into r values (9);
update k set day = 9 where id = 2 returning id, day;
select id, day from k where id = 2;
select id, day from k for system_time all where id = 2 order by _version;
begin;
select colcompress_merge('k');
rollback;
select id from k;

-- Batches of rows: a heap in smaller files.
insert into c select g from generate_series(1, 30000) g;
checkpoint;
select count(*), sum(row_count) from rowcompress_batches where table_name = 'c';
select id from c where id = 777;
update c set id = -id where id % 1000 = 0;
delete from c where id = 1;
checkpoint;
select count(*), sum(id) from c;
select engine.alter_rowcompress_table_set('c', batch_size => 10000, compression => 'none');
select engine.rowcompress_repack('c');
checkpoint;
select batch_num, row_count from engine.rowcompress_batches where table_name = 'c';
select count(*), sum(id) from c;
select count(*) from c for system_time all where id in (1, 1000, -1000);
