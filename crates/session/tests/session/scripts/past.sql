-- The past is read by keys as far as the table had them then, and whatever keys it had, the rows are those of then.
create table person (id int primary key, name text, age int);
insert into person select n, 'name ' || n, n % 10 from generate_series(1, 100) n;
select distinct _version from person;
update person set age = 77, name = 'changed' where id = 7;
delete from person where id = 8;
insert into person values (101, 'new', 7);
create index person_age on person (age);
update person set age = 78 where id = 17;
select max(_version) from person;
select * from person for system_version as of 3 where id = 7;
select * from person for system_version as of 4 where id = 7;
select * from person for system_version as of 3 where id = 8;
select * from person for system_version as of 5 where id = 8;
select * from person for system_version as of 5 where id in (101, 7, 8, 9) order by id;
select * from person for system_version as of 6 where id in (101, 7, 8, 9) order by id;
select id from person for system_version as of 3 where age = 7 order by id;
select id from person for system_version as of 7 where age = 7 order by id;
select id from person for system_version as of 8 where age = 7 order by id;
select id from person for system_version as of 8 where age between 7 and 78 and id < 20 order by age, id;
select age, _version, _system_to = 'infinity' from person for system_time all where id = 7 order by _version;
select age, _version, _system_to = 'infinity' from person for system_time all where id between 7 and 8 order by id, _version;
select count(*) from person for system_time all where age = 7;
-- Keys change.
create table thing (id int primary key, code text unique, n int);
insert into thing values (1, 'a', 10), (2, 'b', 20), (3, 'c', 30);
select max(_version) from thing;
alter table thing drop constraint thing_pkey;
alter table thing add primary key (code);
update thing set n = 21 where code = 'b';
select max(_version) from thing;
select * from thing where code = 'b';
select * from thing for system_version as of 11 where code = 'b';
select * from thing for system_version as of 11 where id = 2;
select * from thing for system_version as of 13 where code = 'b';
alter table thing alter id type text using 'x' || id;
select * from thing where id = 'x2';
select id from thing for system_version as of 11 where code = 'b';
select id, n from thing for system_time all where code = 'b' order by _version;
-- Views and joins.
create view old as select p.id, p.age, t.n from person p join thing t on t.n = p.id * 10 where p.id < 3;
select * from old order by id;
select a.id, a.age, b.age from person a join person for system_version as of 3 b on a.id = b.id where a.id in (7, 17) order by a.id;
-- A column that has another type now is read as of then in the type of now, in conditions and joins too:
-- once an integer came where a bigint was computed with, an internal error. What that type cannot say is NULL.
create table price (id int primary key, n int, t text, d jsonb) using document;
insert into price values (1, 40, '7', '{"a": 1}'), (2, 50, 'seven', '[2]');
select max(_version) from price;
alter table price alter n type bigint;
alter table price alter t type int using length(t);
select * from price order by id;
select id, n + 1, n = 40, t, t + 1, d::text from price for system_version as of 17 order by id;
select id from price for system_version as of 17 where n = 50;
select id from price for system_version as of 17 where t = 7;
select a.id, b.id from price a join price for system_version as of 17 b on a.n = b.n order by a.id;
create index on price (n);
select id from price for system_version as of 17 where n in (40, 50) order by id;
-- Changes are told by the table of the store that had the rows then, also where it was given up later.
create table k (id int primary key, a int, b int);
insert into k values (1, 1, 1);
update k set a = 2;
select max(_version) from k;
select _version, _op, old, new from table_changes('k', 22, 24) order by _version;
alter table k alter a type text, alter b type bigint;
select _version, _op, old, new from table_changes('k', 22, 24) order by _version;
select _version, _op, old, new from table_changes('k', 22, 23) order by _version;
select _version, _op, old, new from table_changes('k', 22, 30) order by _version, _op;
-- What one commit writes anew twice came twice.
select id, a, b, _version from k for system_time all order by _version;
begin; truncate k; truncate k; commit;
select id, a, b, _version from k for system_time all order by _version;
select _version, _op, old, new from table_changes('k', 22, 40) order by _version, _op;
