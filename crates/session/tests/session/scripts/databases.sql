-- Databases: their own schemas, one set of roles. What PostgreSQL answers.
create database shop;
create database shop;
select datname, datistemplate, datallowconn, datconnlimit from pg_database where datname = 'shop';
create table t (a int primary key);
\c shop postgres
select current_database(), current_catalog;
create table t (b text);
insert into shop.public.t values ('x');
select shop.public.t.b, t.* from shop.public.t;
select shop.public.t.* from t;
select * from postgres.public.t;
select postgres.public.t.b from t;
select 1::postgres.public.mood;
insert into postgres.public.t values ('y');
create table postgres.public.u (a int);
create table shop.public.u (a int);
drop table postgres.public.t;
truncate postgres.public.t;
lock table postgres.public.t;
copy postgres.public.t to stdout;
copy postgres.public.t from stdin;
select * from x.y.z.t;
create type shop.public.mood as enum ('sad', 'ok');
select 'ok'::shop.public.mood;
select 'shop.public.t'::regclass;
select relname from pg_class where relnamespace = 'public'::regnamespace order by 1;
select table_catalog, table_schema, table_name from information_schema.tables where table_schema = 'public' order by 3;
drop database shop;
alter database shop rename to store;
\c postgres postgres
select * from t;
select relname from pg_class where relnamespace = 'public'::regnamespace order by 1;
-- What can be said of a database.
alter database shop connection limit 3;
alter database shop with allow_connections false is_template true;
select datname, datistemplate, datallowconn, datconnlimit from pg_database where datname = 'shop';
drop database shop;
alter database shop allow_connections = true is_template = false connection limit = -1;
alter database shop connection limit -2;
alter database shop with allow_connections maybe;
alter database shop with color red;
alter database nothing connection limit 1;
create database y with color red;
create database y template nothing;
create database y owner nobody;
create database y tablespace nowhere;
alter database shop set work_mem = '9MB';
\c shop postgres
show work_mem;
\c postgres postgres
alter database shop reset work_mem;
alter database shop rename to store;
alter database store rename to postgres;
alter database nothing rename to x;
comment on database store is 'a store';
select shobj_description(oid, 'pg_database') from pg_database where datname = 'store';
\c store postgres
select * from t;
select current_database();
\c postgres postgres
-- Rights.
create role ann login;
create role bob login createdb;
set role ann;
create database y;
drop database store;
alter database store connection limit 1;
alter database store rename to y;
reset role;
set role bob;
create database y owner ann;
create database y template store;
create database bobs;
alter database bobs owner to ann;
reset role;
alter database store owner to ann;
revoke connect on database store from public;
grant connect, temporary on database store to bob;
select has_database_privilege('bob', 'store', 'connect'), has_database_privilege('bob', 'store', 'create');
select has_database_privilege('nothing', 'connect');
\c bobs bob
create table mine (a int);
select current_user, current_database();
create schema s;
\c store ann
create schema s;
create table s.t (a int);
\c postgres postgres
-- Blocks and templates.
begin;
create database z;
rollback;
begin;
drop database bobs;
rollback;
drop database bobs, store;
drop database bobs with (now);
drop database nothing;
drop database if exists nothing;
drop database postgres;
drop database template0;
drop database bobs with (force);
drop database store;
drop role ann, bob;
select datname from pg_database order by 1;
