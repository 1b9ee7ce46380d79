-- An index leads to every version that a row ever had.
create table job (id int primary key, state text, doc jsonb) using document;
create index job_state on job (state);
create index job_owner on job ((doc ->> 'owner'));
insert into job select g, 'new', jsonb_build_object('owner', 'o' || g, 'n', g) from generate_series(1, 200) g;
update job set state = 'done' where id = 7;
update job set doc['owner'] = '"late"' where id in (7, 8);
update job set doc['n'] = '0' where id = 9;
delete from job where id = 10;
update job set id = 1000 where id = 11;
explain (costs off) select id from job for system_time all where doc ->> 'owner' = 'o7';
select id, state, doc ->> 'owner' as owner, _system_to is null as is_now from job for system_time all where doc ->> 'owner' = 'o7' order by _version;
select id, doc ->> 'owner' as owner from job for system_time all where doc ->> 'owner' in ('o8', 'late') order by id, _version;
select id, doc ->> 'n' as n from job for system_time all where doc ->> 'owner' = 'o9' order by _version;
select id from job for system_time all where doc ->> 'owner' = 'o10';
select id from job for system_time all where doc ->> 'owner' = 'o11' order by id;
select count(*) from job for system_time all where state = 'new';
select count(*) from job for system_time all where state >= 'a' and state < 'e';
explain (costs off) select id from job for system_time between '2000-01-01' and now() where state = 'done';
select id from job for system_time between '2000-01-01' and '2000-01-02' where state = 'done';
-- Which rows were ever so?
select id from job a where exists (select from job for system_time all h where h.id = a.id and h.doc ->> 'owner' = 'o8');
explain (costs off) select distinct id from job for system_time all where doc ->> 'owner' = 'o8';
-- Of several values a row may have had more than one: it comes once.
explain (costs off) select id from job for system_time all where doc ->> 'owner' = any ('{o7,o8,late}');
select id, doc ->> 'owner' as owner from job for system_time all where doc ->> 'owner' = any ('{o7,o8,late}') order by id, _version;
select id, doc ->> 'owner' as owner from job for system_version as of (select max(version) from commits) where doc ->> 'owner' = any ('{o7,o8,late}') order by id;
-- An index of items, made now, knows what was.
create index job_doc on job using gin (doc);
explain (costs off) select id from job for system_time all where doc @> '{"owner": "o7"}';
select id, doc ->> 'owner' as owner, _system_to is null as is_now from job for system_time all where doc @> '{"owner": "o7"}' order by _version;
select id from job for system_time all where doc @> '{"owner": "o10"}';
select id from job for system_time all where doc @> '{"owner": "late", "n": 8}';
-- A unique key that went from one row to another.
create table seat (id int primary key, number int unique);
insert into seat values (1, 100), (2, 200);
update seat set number = null where id = 1;
update seat set number = 100 where id = 2;
explain (costs off) select id from seat for system_time all where number = 100;
select id, number from seat for system_time all where number = 100 order by _version;
-- An index that comes later knows what was before, and finds the rows of a moment at which it was not there.
create index job_n on job ((doc ->> 'n'));
explain (costs off) select id from job for system_time all where doc ->> 'n' = '9';
select id, doc ->> 'owner' as owner from job for system_time all where doc ->> 'n' = '9' order by _version;
explain (costs off) select id from job for system_version as of (select max(version) - 1 from commits) where doc ->> 'n' = '9';
select id from job for system_version as of (select max(version) - 1 from commits) where doc ->> 'n' = '9';
select id from job for system_time as of (select min(committed_at) from history('job', '9')) where doc ->> 'n' = '9';
-- What has changed since, and what is gone.
update job set doc['n'] = '"nine"' where id = 9;
delete from job where id = 12;
select doc ->> 'n' as n from job for system_time all where id = 9 and doc ->> 'n' in ('0', '9', 'nine') order by _version;
select id from job for system_time all where doc ->> 'n' = '12';
-- One of some rows alone.
create index job_done on job ((doc ->> 'owner')) where state = 'done';
explain (costs off) select id from job for system_time all where state = 'done' and doc ->> 'owner' = 'late';
select id from job for system_time all where state = 'done' and doc ->> 'owner' = 'late';
-- The rows of the past have no value where those of now have one: the index is made, and knows only what it sees.
insert into job values (2000, 'odd', '{"n": "none"}');
update job set doc['n'] = '2000' where id = 2000;
update job set doc['n'] = '9' where id = 9;
create index job_number on job (((doc ->> 'n')::int));
explain (costs off) select id from job for system_time all where (doc ->> 'n')::int = 2000 and id = 2000;
select id from job for system_time all where id <> 9 and id < 2000 and (doc ->> 'n')::int = 12;
select id from job where (doc ->> 'n')::int = 2000;
-- What is erased is erased there too.
erase from job where id = 2000;
select count(*) from job for system_time all where id = 2000;
-- Within the transaction that makes it, an index does not tell of the past yet.
begin;
create index job_lower on job (lower(doc ->> 'owner'));
explain (costs off) select id from job for system_time all where lower(doc ->> 'owner') = 'o8';
select id from job for system_time all where lower(doc ->> 'owner') = 'o8';
rollback;
-- Where the past is forgotten, indexes do not remember it.
alter table job set (history = off);
alter table job set (history = on);
explain (costs off) select id from job for system_time all where doc ->> 'n' = '0';
update job set doc['n'] = '10' where id = 9;
create index job_again on job ((doc ->> 'n'), state);
explain (costs off) select id from job for system_time all where doc ->> 'n' = 'nine' and state = 'new';
select id from job for system_time all where doc ->> 'n' = 'nine' and state = 'new';
delete history from job before system_time now();
explain (costs off) select id from job for system_time all where doc ->> 'n' = '10';
select id from job for system_time all where doc ->> 'n' = 'nine';
select id from job for system_time all where doc ->> 'n' = '10';
-- After TRUNCATE there are rows of before, which are read one by one, and rows of now.
truncate seat;
insert into seat values (3, 100);
select id, number from seat for system_time all where number = 100 order by _version;
-- What is written and not committed is no version yet.
begin;
update seat set number = 300 where id = 3;
select id, number from seat for system_time all where number = 300;
rollback;
-- Written anew, the rows begin again, and so do the entries.
update seat set number = 400 where id = 3;
alter table seat alter column number type bigint;
explain (costs off) select id from seat for system_time all where number = 400;
select id, number from seat for system_time all where number = 400 order by _version;
select id, number from seat for system_time all where number = 100 order by _version;
-- A column that was added later, with a value for the rows of before, was not there then.
create table grown (id int primary key, a int);
insert into grown values (1, 1), (2, 2);
update grown set a = 10 where id = 1;
alter table grown add column b int default 5;
update grown set b = 6 where id = 2;
create index grown_b on grown (b);
explain (costs off) select id, a, b from grown for system_time all where b = 5;
select id, a, b from grown for system_time all where b = 5 order by _version, id;
select id, a, b from grown for system_version as of (select max(version) - 3 from commits) where b is null order by id;
select id, a, b from grown for system_version as of (select max(version) - 3 from commits) where b = 5 order by id;
select id, a, b from grown for system_version as of (select max(version) - 1 from commits) where b = 5 order by id;
-- Rows that came later, and that the index has first, hide none of those that were there.
create table late (id int primary key, f text);
insert into late values (23, 'v'), (24, 'v');
create index late_f on late (f);
insert into late values (1, 'v');
insert into late select g, 'v' from generate_series(2, 20) g;
explain (costs off) select count(*) from late for system_version as of (select max(version) - 3 from commits) where f = 'v';
select count(*) from late for system_version as of (select max(version) - 3 from commits) where f = 'v';
select id from late for system_version as of (select max(version) - 3 from commits) where f in ('v', 'w') order by id;
select count(*) from late for system_version as of (select max(version) - 1 from commits) where f = 'v';
-- Of a row that had several of the values before the index was there, one comes.
create table moved (id int primary key, f text);
insert into moved values (1, 'x'), (2, 'y');
update moved set f = case f when 'x' then 'y' else 'x' end;
create index moved_f on moved (f);
select id, f from moved for system_version as of (select max(version) - 1 from commits) where f in ('x', 'y', 'z') order by id;
-- An index and changes of rows in one transaction: what the rows were before was once lost to the index.
create table at_once (id int primary key, a int, d jsonb);
insert into at_once values (1, 11, '{"k": 1}'), (2, 12, '{"k": 2}'), (3, 13, '{"k": 3}'), (4, 14, '{"k": 4}');
select max(_version) from at_once;
begin;
create index on at_once (a);
create unique index on at_once (a, id);
create index on at_once using gin (d);
update at_once set a = 0, d = '{"k": 0}' where id = 1;
update at_once set a = 1 where id = 1;
delete from at_once where id = 2;
update at_once set id = 30 where id = 3;
insert into at_once values (5, 15, '{"k": 5}');
update at_once set a = 16 where id = 5;
commit;
select id, a from at_once for system_time all where a in (0, 11, 12, 13, 15, 16) order by id, a;
select id, a from at_once for system_time all where d @> '{"k": 1}';
select id from at_once for system_time all where a = 12 and id = 2;
-- All versions of many rows are aggregated over columns, those with columns of the system too.
create table versioned (id int primary key, kind text, n int);
insert into versioned select i, 'k' || i % 3, i from generate_series(1, 1500) i;
update versioned set n = n + 1 where id % 100 = 0;
explain (costs off) select kind, count(*), sum(n) from versioned for system_time all group by kind order by kind;
select kind, count(*), sum(n) from versioned for system_time all group by kind order by kind;
select count(*), count(distinct _version) from versioned for system_time all;
