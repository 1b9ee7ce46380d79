-- A table in columns that one transaction makes and fills: the load itself writes columns.
begin;
create table c (id int primary key, at timestamptz, kind text, amount numeric(10,2), ratio float8, tags text[], doc jsonb, iv interval, u uuid) using columnar;
insert into c select g, '2024-01-01 00:00:00+00'::timestamptz + g * interval '30 seconds',
  (array['click', 'view', null])[g % 3 + 1], (g % 100)::numeric / 4, g / 8.0, array['t' || g % 4, null],
  jsonb_build_object('n', 47.10, 'g', g % 5), g % 7 * interval '1 day', md5((g % 50)::text)::uuid
  from generate_series(1, 40000) g;
select count(*), sum(amount), min(at), max(ratio) from c;
commit;
create table h as select * from c;
select * from c where id in (1, 2, 39999) order by id;
select count(*) from (select * from c except select * from h) x;
select kind, count(*), sum(amount), avg(ratio) from c group by kind order by kind;
select id from c order by id desc limit 2;
select id from c where id > 16383 limit 3;
select count(*) from c where doc @> '{"g": 3}' and tags @> '{t1}';

-- Changes lie beside the columns, and after a checkpoint in columns of their own.
update c set amount = amount + 1 where id % 10 = 0;
delete from c where id % 10 = 1;
insert into c (id, kind) values (0, 'new');
update h set amount = amount + 1 where id % 10 = 0;
delete from h where id % 10 = 1;
insert into h (id, kind) values (0, 'new');
select count(*) from (select * from c except select * from h) x;
select count(*), sum(amount) from c;
checkpoint;
select count(*), sum(amount) from c;
select count(*) from (select * from h except select * from c) x;
select id, amount from c for system_time all where id in (10, 11) order by id, _version;
insert into c (id) values (10) on conflict (id) do update set kind = 'again' returning id, kind, amount;
insert into c (id) values (10);
begin;
savepoint s;
delete from c where id = 10 returning id, kind;
rollback to s;
select count(*) from c where id = 10;
commit;

-- A column more, and one less: older rows lie as they did.
alter table c add column extra int default 7;
insert into c (id, extra) values (50000, 8);
alter table c drop column tags;
checkpoint;
select id, kind, extra from c where id in (2, 10, 50000) order by id;
select count(*), sum(extra) from c;
create index on c (kind, id);
select id from c where kind = 'new';
erase from c where id = 2;
select count(*) from c for system_time all where id = 2;

-- The method changes both ways.
alter table c set access method heap;
select count(*), sum(amount), sum(extra) from c;
alter table c set access method columnar;
select count(*), sum(amount), sum(extra) from c;
checkpoint;
select count(*), sum(amount), sum(extra) from c;
select amname from pg_class join pg_am on pg_am.oid = relam where relname = 'c';
truncate c;
select count(*) from c;
drop table c;
