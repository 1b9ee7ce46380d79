-- What tools ask of the catalog.
create table parent (id int primary key, name varchar(20) not null default 'x', unique (name));
create table child (id bigint generated always as identity primary key, parent_id int references parent on delete cascade, price numeric(10, 2) check (price > 0));
create index child_parent on child (parent_id desc);
create unique index child_expr on child (abs(parent_id)) where price > 10;
create view v as select id, name from parent;
comment on table parent is 'a table';
comment on column parent.name is 'a column';
select relname, relkind, relnatts, relhasindex from pg_class where relname in ('parent', 'child', 'v', 'child_pkey', 'child_id_seq') order by relname;
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'parent'::regclass;
select conname, contype, pg_get_constraintdef(oid) from pg_constraint where conrelid in ('parent'::regclass, 'child'::regclass) and contype <> 'c' order by conname;
select indexrelid::regclass, indisunique, indisprimary, indkey, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'child'::regclass and indexrelid <> 'child_expr'::regclass order by 1;
select obj_description('parent'::regclass, 'pg_class'), col_description('parent'::regclass, 2);
select nspname from pg_namespace where nspname in ('public', 'pg_catalog', 'information_schema') order by 1;
select typname, typtype, typcategory, typlen from pg_type where typname in ('int4', 'text', '_int4', 'parent', 'numeric') order by 1;
select table_name, table_type from information_schema.tables where table_schema = 'public' order by 1;
select constraint_name, column_name, ordinal_position from information_schema.key_column_usage where table_schema = 'public' order by 1, 2;
select tablename, tableowner from pg_tables where schemaname = 'public' order by 1;
select 'parent'::regclass, 'public.parent'::regclass, to_regclass('nope'), 'nope'::regclass;
select to_regclass('nope') is null, pg_table_is_visible('parent'::regclass), current_schema(), current_schemas(true);
select relname from pg_class where relname = 'pg_class';
select count(*) > 300 from pg_proc;
select enumlabel from pg_enum;
create type mood as enum ('sad', 'ok');
select enumlabel from pg_enum order by enumsortorder;
select 'mood'::regtype, 'mood[]'::regtype, 'int[]'::regtype;
select rolname, rolsuper from pg_roles where rolname = 'postgres';
select datname from pg_database where datname like 'template%' order by 1;

-- An expression that names the whole row goes on meaning the table, whatever that is called later.
CREATE TABLE whole_row (a int, b int, CHECK (whole_row IS NOT NULL));
CREATE INDEX whole_row_index ON whole_row ((whole_row IS NULL));
ALTER TABLE whole_row RENAME TO other_row;
INSERT INTO other_row VALUES (1, 2);
INSERT INTO other_row VALUES (1, NULL);
SELECT pg_get_indexdef('whole_row_index'::regclass), pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'other_row'::regclass;
DROP TABLE other_row;
