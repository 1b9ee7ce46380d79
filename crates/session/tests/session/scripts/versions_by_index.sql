-- An index that was there before the first row leads to every version that a row ever had.
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
-- Several values, an index of items: all versions are read.
explain (costs off) select id from job for system_time all where doc ->> 'owner' = any ('{o7,o8}');
create index on job using gin (doc);
explain (costs off) select id from job for system_time all where doc @> '{"owner": "o7"}';
-- A unique key that went from one row to another.
create table seat (id int primary key, number int unique);
insert into seat values (1, 100), (2, 200);
update seat set number = null where id = 1;
update seat set number = 100 where id = 2;
explain (costs off) select id from seat for system_time all where number = 100;
select id, number from seat for system_time all where number = 100 order by _version;
-- An index that came later does not know what was before.
create index job_n on job ((doc ->> 'n'));
explain (costs off) select id from job for system_time all where doc ->> 'n' = '9';
select id, doc ->> 'owner' as owner from job for system_time all where doc ->> 'n' = '9' order by _version;
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
