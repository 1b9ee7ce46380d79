-- A plan that was made before is used again as long as what it was made of is the same.
create table t (id int primary key, v text);
insert into t values (1, 'public');
create schema s;
set search_path = s, public;
select v from t where id = 1;

-- A table that is made elsewhere changes nothing.
create table other (id int);
select v from t where id = 1;

-- One that hides it does, and so does its end.
create table s.t (id int primary key, v text);
insert into s.t values (1, 's');
select v from t where id = 1;
select v from public.t where id = 1;
create temporary table t (id int primary key, v text);
insert into t values (1, 'temporary');
select v from t where id = 1;
drop table pg_temp.t;
select v from t where id = 1;
alter table s.t rename to u;
select v from t where id = 1;
alter table s.u rename to t;
select v from t where id = 1;
drop table s.t;
select v from t where id = 1;

-- Another table of the same name is another table.
create table again (a int);
insert into again values (1);
select * from again;
drop table again;
select * from again;
create table again (a text, b int);
insert into again values ('x', 2);
select * from again;
alter table again add column c int default 7;
select * from again;
alter table again alter column b type text using b || '!';
select * from again;

-- So is a view that is replaced.
create view w as select a from again;
select a from w;
create or replace view w as select 'replaced' || a as a from again;
select a from w;

-- A table that hides one of the system's own.
select count(*) > 0 as has_commits from commits;
create table public.commits (only_one int);
select count(*) > 0 as has_commits from commits;
drop table public.commits;
select count(*) > 0 as has_commits from commits;

-- Types, and names that stand for numbers.
create type mood as enum ('sad', 'happy');
select 'happy'::mood > 'sad'::mood as is_better;
drop type mood;
create type mood as enum ('happy', 'sad');
select 'happy'::mood > 'sad'::mood as is_better;
select (select relname from pg_class where oid = 'again'::regclass) as name;
drop view w;
drop table again;
select (select relname from pg_class where oid = 'again'::regclass) as name;
create table again (a int);
select (select relname from pg_class where oid = 'again'::regclass) as name;
select null::again is null as is_null;
drop table again;
select null::again is null as is_null;

-- A key that is there now, and one that is there no more.
set search_path = public;
create table k (id int, v int);
insert into k select n, n from generate_series(1, 3) n;
select v from k where id = 2;
create unique index k_id on k (id);
select v from k where id = 2;
insert into k values (2, 5) on conflict (id) do nothing;
drop index k_id;
select v from k where id = 2;
insert into k values (2, 5) on conflict (id) do nothing;

-- Rights are asked for whatever was planned before.
create role ada;
grant usage on schema public to ada;
grant select on k to ada;
set role ada;
select count(*) from k;
reset role;
revoke select on k from ada;
set role ada;
select count(*) from k;
reset role;
grant pg_read_all_data to ada;
set role ada;
select count(*) from k;
reset role;
revoke pg_read_all_data from ada;
set role ada;
select count(*) from k;
reset role;
revoke usage on schema public from public, ada;
grant select on k to ada;
set role ada;
select count(*) from public.k;
reset role;
