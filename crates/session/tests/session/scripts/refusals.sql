-- What a transaction that only reads may not do, views that nothing can be written through, and who was
-- given what.
create sequence s;
create temporary sequence own;
begin read only;
select nextval('own');
select nextval('s');
rollback;
begin read only;
select setval('s', 5);
rollback;
select nextval('s');
create table t (a int primary key, b text);
create view v as select distinct a from t with check option;
create view v as select count(*) from t with check option;
create view v as select a + 1 as a from t with local check option;
create view v as select a from t where a > 0 with check option;
create role ann;
create role tom;
grant select, insert on t to ann with grant option;
grant select (b), update (b) on t to tom;
grant select on t to public;
select grantee, privilege_type, is_grantable, with_hierarchy from information_schema.table_privileges where table_name = 't' order by 1, 2;
select grantee, privilege_type, is_grantable from information_schema.role_table_grants where table_name = 't' order by 1, 2;
select grantee, column_name, privilege_type, is_grantable from information_schema.column_privileges where table_name = 't' and grantee <> 'postgres' order by 1, 2, 3;
set role tom;
select grantee, privilege_type from information_schema.table_privileges where table_name = 't' order by 1, 2;
select grantee, column_name, privilege_type from information_schema.role_column_grants where table_name = 't' order by 1, 2, 3;
reset role;
