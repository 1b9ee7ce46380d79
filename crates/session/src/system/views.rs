//! Relations of the system that are views over others: the text of each.

use types::Oid;

use super::{INFORMATION_SCHEMA, PG_CATALOG};

/// The query of a view of the system; `None` for what is computed.
pub(super) fn text(schema: Oid, name: &str) -> Option<&'static str> {
    let all: &[(&str, &str)] = match schema {
        PG_CATALOG => CATALOG,
        INFORMATION_SCHEMA => STANDARD,
        _ => &[],
    };
    all.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

const CATALOG: &[(&str, &str)] = &[
    // The store counts the blocks of all tables together: NULL stands for counts that do not exist.
    (
        "pg_statio_all_tables",
        "select c.oid as relid, n.nspname as schemaname, c.relname,
                null::int8 as heap_blks_read, null::int8 as heap_blks_hit,
                null::int8 as idx_blks_read,
                null::int8 as idx_blks_hit,
                null::int8 as toast_blks_read, null::int8 as toast_blks_hit,
                null::int8 as tidx_blks_read, null::int8 as tidx_blks_hit
           from pg_catalog.pg_class c
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'm')",
    ),
    (
        "pg_statio_all_indexes",
        "select relid, indexrelid, schemaname, relname, indexrelname, null::int8 as idx_blks_read,
                null::int8 as idx_blks_hit
           from pg_catalog.pg_stat_all_indexes",
    ),
    (
        "pg_statio_all_sequences",
        "select c.oid as relid, n.nspname as schemaname, c.relname, null::int8 as blks_read,
                null::int8 as blks_hit
           from pg_catalog.pg_class c
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind = 'S'",
    ),
    (
        "pg_stat_sys_tables",
        "select * from pg_catalog.pg_stat_all_tables
          where schemaname in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_stat_user_tables",
        "select * from pg_catalog.pg_stat_all_tables
          where schemaname not in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_stat_sys_indexes",
        "select * from pg_catalog.pg_stat_all_indexes
          where schemaname in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_stat_user_indexes",
        "select * from pg_catalog.pg_stat_all_indexes
          where schemaname not in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_statio_sys_tables",
        "select * from pg_catalog.pg_statio_all_tables
          where schemaname in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_statio_user_tables",
        "select * from pg_catalog.pg_statio_all_tables
          where schemaname not in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_statio_sys_indexes",
        "select * from pg_catalog.pg_statio_all_indexes
          where schemaname in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_statio_user_indexes",
        "select * from pg_catalog.pg_statio_all_indexes
          where schemaname not in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_statio_sys_sequences",
        "select * from pg_catalog.pg_statio_all_sequences
          where schemaname in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_statio_user_sequences",
        "select * from pg_catalog.pg_statio_all_sequences
          where schemaname not in ('pg_catalog', 'information_schema')",
    ),
    (
        "pg_roles",
        "select rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin,
                rolreplication, rolconnlimit, '********'::text as rolpassword, rolvaliduntil,
                rolbypassrls, setconfig as rolconfig, a.oid
           from pg_catalog.pg_authid a
           left join pg_catalog.pg_db_role_setting s on s.setrole = a.oid and s.setdatabase = 0",
    ),
    (
        "pg_user",
        "select rolname as usename, oid as usesysid, rolcreatedb as usecreatedb,
                rolsuper as usesuper, rolreplication as userepl, rolbypassrls as usebypassrls,
                '********'::text as passwd, rolvaliduntil as valuntil, null::text[] as useconfig
           from pg_catalog.pg_authid where rolcanlogin",
    ),
    (
        "pg_shadow",
        "select rolname as usename, oid as usesysid, rolcreatedb as usecreatedb,
                rolsuper as usesuper, rolreplication as userepl, rolbypassrls as usebypassrls,
                rolpassword as passwd, rolvaliduntil as valuntil, null::text[] as useconfig
           from pg_catalog.pg_authid where rolcanlogin",
    ),
    (
        "pg_group",
        "select rolname as groname, oid as grosysid,
                array(select member from pg_catalog.pg_auth_members m where m.roleid = a.oid)
                    as grolist
           from pg_catalog.pg_authid a where not rolcanlogin",
    ),
    (
        "pg_tables",
        "select n.nspname as schemaname, c.relname as tablename,
                pg_catalog.pg_get_userbyid(c.relowner) as tableowner, null::name as tablespace,
                c.relhasindex as hasindexes, c.relhasrules as hasrules,
                c.relhastriggers as hastriggers, c.relrowsecurity as rowsecurity
           from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'p')",
    ),
    (
        "pg_policies",
        "select n.nspname as schemaname, c.relname as tablename, p.polname as policyname,
                case when p.polpermissive then 'PERMISSIVE' else 'RESTRICTIVE' end as permissive,
                case when p.polroles = '{0}' then array['public']::name[]
                     else array(select a.rolname from pg_catalog.pg_authid a
                                 where a.oid = any (p.polroles) order by a.rolname) end as roles,
                case p.polcmd when 'r' then 'SELECT' when 'a' then 'INSERT' when 'w' then 'UPDATE'
                              when 'd' then 'DELETE' when '*' then 'ALL' end as cmd,
                pg_catalog.pg_get_expr(p.polqual, p.polrelid) as qual,
                pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) as with_check
           from pg_catalog.pg_policy p
           join pg_catalog.pg_class c on c.oid = p.polrelid
           left join pg_catalog.pg_namespace n on n.oid = c.relnamespace",
    ),
    (
        "pg_views",
        "select n.nspname as schemaname, c.relname as viewname,
                pg_catalog.pg_get_userbyid(c.relowner) as viewowner,
                pg_catalog.pg_get_viewdef(c.oid) as definition
           from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind = 'v'",
    ),
    (
        "pg_matviews",
        "select n.nspname as schemaname, c.relname as matviewname,
                pg_catalog.pg_get_userbyid(c.relowner) as matviewowner, null::name as tablespace,
                c.relhasindex as hasindexes, c.relispopulated as ispopulated,
                pg_catalog.pg_get_viewdef(c.oid) as definition
           from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind = 'm'",
    ),
    (
        "pg_indexes",
        "select n.nspname as schemaname, c.relname as tablename, i.relname as indexname,
                null::name as tablespace, pg_catalog.pg_get_indexdef(i.oid) as indexdef
           from pg_catalog.pg_index x
           join pg_catalog.pg_class c on c.oid = x.indrelid
           join pg_catalog.pg_class i on i.oid = x.indexrelid
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace",
    ),
    (
        "pg_sequences",
        "select n.nspname as schemaname, c.relname as sequencename,
                pg_catalog.pg_get_userbyid(c.relowner) as sequenceowner,
                s.seqtypid::regtype as data_type, s.seqstart as start_value,
                s.seqmin as min_value, s.seqmax as max_value, s.seqincrement as increment_by,
                s.seqcycle as cycle, s.seqcache as cache_size,
                pg_catalog.pg_sequence_last_value(c.oid) as last_value
           from pg_catalog.pg_sequence s
           join pg_catalog.pg_class c on c.oid = s.seqrelid
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace",
    ),
];

const STANDARD: &[(&str, &str)] = &[
    ("information_schema_catalog_name", "select pg_catalog.current_database() as catalog_name"),
    (
        "schemata",
        "select pg_catalog.current_database() as catalog_name, n.nspname as schema_name,
                pg_catalog.pg_get_userbyid(n.nspowner) as schema_owner,
                null::name as default_character_set_catalog,
                null::name as default_character_set_schema,
                null::name as default_character_set_name, null::varchar as sql_path
           from pg_catalog.pg_namespace n",
    ),
    (
        "tables",
        "select pg_catalog.current_database() as table_catalog, n.nspname as table_schema,
                c.relname as table_name,
                (case when c.relkind = 'v' then 'VIEW' else 'BASE TABLE' end)::varchar
                    as table_type,
                null::name as self_referencing_column_name, null::varchar as reference_generation,
                null::name as user_defined_type_catalog, null::name as user_defined_type_schema,
                null::name as user_defined_type_name,
                (case when c.relkind in ('r', 'p') or pg_catalog.pg_relation_is_updatable(c.oid, false) > 0
                      then 'YES' else 'NO' end)::varchar as is_insertable_into,
                'NO'::varchar as is_typed, null::varchar as commit_action
           from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'v', 'p')",
    ),
    (
        "views",
        "select pg_catalog.current_database() as table_catalog, n.nspname as table_schema,
                c.relname as table_name, pg_catalog.pg_get_viewdef(c.oid)::varchar
                    as view_definition,
                (case when 'check_option=cascaded' = any (c.reloptions) then 'CASCADED'
                      when 'check_option=local' = any (c.reloptions) then 'LOCAL'
                      else 'NONE' end)::varchar as check_option,
                (case when pg_catalog.pg_relation_is_updatable(c.oid, false) & 20 = 20
                      then 'YES' else 'NO' end)::varchar as is_updatable,
                (case when pg_catalog.pg_relation_is_updatable(c.oid, false) & 8 = 8
                      then 'YES' else 'NO' end)::varchar as is_insertable_into,
                'NO'::varchar as is_trigger_updatable,
                'NO'::varchar as is_trigger_deletable,
                'NO'::varchar as is_trigger_insertable_into
           from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind = 'v'",
    ),
    (
        "columns",
        "select pg_catalog.current_database() as table_catalog, n.nspname as table_schema,
                c.relname as table_name, a.attname as column_name,
                a.attnum::int4 as ordinal_position,
                (case when a.attgenerated = '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid)
                 end)::varchar as column_default,
                (case when a.attnotnull or (t.typtype = 'd' and t.typnotnull) then 'NO'
                      else 'YES' end)::varchar as is_nullable,
                (case when t.typtype = 'd'
                      then case when b.typelem <> 0 and b.typlen = -1 then 'ARRAY'
                                when bn.nspname = 'pg_catalog'
                                then pg_catalog.format_type(t.typbasetype, null)
                                else 'USER-DEFINED' end
                      else case when t.typelem <> 0 and t.typlen = -1 then 'ARRAY'
                                when tn.nspname = 'pg_catalog'
                                then pg_catalog.format_type(a.atttypid, null)
                                else 'USER-DEFINED' end end)::varchar as data_type,
                (case when coalesce(b.oid, t.oid) in (1042, 1043) and a.atttypmod > 0
                      then a.atttypmod - 4
                      when coalesce(b.oid, t.oid) in (1560, 1562) and a.atttypmod > 0
                      then a.atttypmod end)::int4 as character_maximum_length,
                (case when coalesce(b.oid, t.oid) in (25, 1042, 1043)
                      then case when a.atttypmod > 0 then (a.atttypmod - 4) * 4
                                else 1073741824 end end)::int4 as character_octet_length,
                (case coalesce(b.oid, t.oid) when 21 then 16 when 23 then 32 when 20 then 64
                      when 700 then 24 when 701 then 53
                      when 1700 then case when a.atttypmod > 0
                                          then ((a.atttypmod - 4) >> 16) & 65535 end
                 end)::int4 as numeric_precision,
                (case when coalesce(b.oid, t.oid) in (20, 21, 23, 700, 701) then 2
                      when coalesce(b.oid, t.oid) = 1700 then 10 end)::int4
                    as numeric_precision_radix,
                (case when coalesce(b.oid, t.oid) in (20, 21, 23) then 0
                      when coalesce(b.oid, t.oid) = 1700 and a.atttypmod > 0
                      then (a.atttypmod - 4) & 2047 end)::int4 as numeric_scale,
                (case when coalesce(b.oid, t.oid) = 1082 then 0
                      when coalesce(b.oid, t.oid) in (1083, 1114, 1184, 1266)
                      then case when a.atttypmod < 0 then 6 else a.atttypmod end
                      when coalesce(b.oid, t.oid) = 1186
                      then case when a.atttypmod < 0 or a.atttypmod & 65535 = 65535 then 6
                                else a.atttypmod & 65535 end end)::int4 as datetime_precision,
                null::varchar as interval_type, null::int4 as interval_precision,
                null::name as character_set_catalog, null::name as character_set_schema,
                null::name as character_set_name,
                (case when co.oid is not null then pg_catalog.current_database() end)::name
                    as collation_catalog,
                nco.nspname as collation_schema, co.collname as collation_name,
                (case when t.typtype = 'd' then pg_catalog.current_database() end)::name
                    as domain_catalog,
                (case when t.typtype = 'd' then tn.nspname end)::name as domain_schema,
                (case when t.typtype = 'd' then t.typname end)::name as domain_name,
                pg_catalog.current_database() as udt_catalog,
                coalesce(bn.nspname, tn.nspname) as udt_schema,
                coalesce(b.typname, t.typname) as udt_name,
                null::name as scope_catalog, null::name as scope_schema,
                null::name as scope_name, null::int4 as maximum_cardinality,
                a.attnum::text::name as dtd_identifier, 'NO'::varchar as is_self_referencing,
                (case when a.attidentity in ('a', 'd') then 'YES' else 'NO' end)::varchar
                    as is_identity,
                (case a.attidentity when 'a' then 'ALWAYS' when 'd' then 'BY DEFAULT' end)::varchar
                    as identity_generation,
                s.seqstart::text::varchar as identity_start,
                s.seqincrement::text::varchar as identity_increment,
                s.seqmax::text::varchar as identity_maximum,
                s.seqmin::text::varchar as identity_minimum,
                (case when s.seqcycle then 'YES' else 'NO' end)::varchar as identity_cycle,
                (case when a.attgenerated <> '' then 'ALWAYS' else 'NEVER' end)::varchar
                    as is_generated,
                (case when a.attgenerated <> '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid)
                 end)::varchar as generation_expression,
                (case when c.relkind in ('r', 'p')
                           or pg_catalog.pg_column_is_updatable(c.oid, a.attnum, false)
                      then 'YES' else 'NO' end)::varchar as is_updatable
           from pg_catalog.pg_attribute a
           join pg_catalog.pg_class c on c.oid = a.attrelid
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace
           join pg_catalog.pg_type t on t.oid = a.atttypid
           join pg_catalog.pg_namespace tn on tn.oid = t.typnamespace
           left join pg_catalog.pg_type b on t.typtype = 'd' and b.oid = t.typbasetype
           left join pg_catalog.pg_namespace bn on bn.oid = b.typnamespace
           left join pg_catalog.pg_collation co on co.oid = a.attcollation and co.oid <> 100
           left join pg_catalog.pg_namespace nco on nco.oid = co.collnamespace
           left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
           left join pg_catalog.pg_depend p on a.attidentity <> '' and p.refclassid = 1259
                and p.refobjid = c.oid and p.refobjsubid = a.attnum and p.deptype = 'i'
                and p.classid = 1259
           left join pg_catalog.pg_sequence s on s.seqrelid = p.objid
          where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'v', 'p')",
    ),
    (
        "table_constraints",
        "select pg_catalog.current_database() as constraint_catalog,
                n.nspname as constraint_schema, k.conname as constraint_name,
                pg_catalog.current_database() as table_catalog, n.nspname as table_schema,
                c.relname as table_name,
                (case k.contype when 'c' then 'CHECK' when 'f' then 'FOREIGN KEY'
                      when 'p' then 'PRIMARY KEY' else 'UNIQUE' end)::varchar as constraint_type,
                (case when k.condeferrable then 'YES' else 'NO' end)::varchar as is_deferrable,
                (case when k.condeferred then 'YES' else 'NO' end)::varchar
                    as initially_deferred,
                'YES'::varchar as enforced, null::varchar as nulls_distinct
           from pg_catalog.pg_constraint k
           join pg_catalog.pg_class c on c.oid = k.conrelid
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where k.contype in ('c', 'f', 'p', 'u')",
    ),
    (
        "domains",
        "select pg_catalog.current_database() as domain_catalog, n.nspname as domain_schema,
                d.typname as domain_name,
                (case when b.typelem <> 0 and b.typlen = -1 then 'ARRAY'
                      when nb.nspname = 'pg_catalog' then pg_catalog.format_type(b.oid, null)
                      else 'USER-DEFINED' end)::varchar as data_type,
                (case when b.oid in (1042, 1043) and d.typtypmod > 0 then d.typtypmod - 4
                      when b.oid in (1560, 1562) and d.typtypmod > 0 then d.typtypmod
                 end)::int4 as character_maximum_length,
                (case when b.oid in (25, 1042, 1043)
                      then case when d.typtypmod > 0 then (d.typtypmod - 4) * 4 else 1073741824 end
                 end)::int4 as character_octet_length,
                null::name as character_set_catalog, null::name as character_set_schema,
                null::name as character_set_name,
                (case when co.oid is not null then pg_catalog.current_database() end)::name
                    as collation_catalog,
                nco.nspname as collation_schema, co.collname as collation_name,
                (case b.oid when 21 then 16 when 23 then 32 when 20 then 64
                      when 700 then 24 when 701 then 53
                      when 1700 then case when d.typtypmod > 0 then ((d.typtypmod - 4) >> 16) & 65535 end
                 end)::int4 as numeric_precision,
                (case when b.oid in (20, 21, 23, 700, 701) then 2 when b.oid = 1700 then 10
                 end)::int4 as numeric_precision_radix,
                (case when b.oid in (20, 21, 23) then 0
                      when b.oid = 1700 and d.typtypmod > 0 then (d.typtypmod - 4) & 2047
                 end)::int4 as numeric_scale,
                (case when b.oid = 1082 then 0
                      when b.oid in (1083, 1114, 1184, 1266)
                      then case when d.typtypmod < 0 then 6 else d.typtypmod end
                      when b.oid = 1186
                      then case when d.typtypmod < 0 or d.typtypmod & 65535 = 65535 then 6
                                else d.typtypmod & 65535 end end)::int4 as datetime_precision,
                null::varchar as interval_type, null::int4 as interval_precision,
                d.typdefault::varchar as domain_default,
                pg_catalog.current_database() as udt_catalog, nb.nspname as udt_schema,
                b.typname as udt_name, null::name as scope_catalog, null::name as scope_schema,
                null::name as scope_name, null::int4 as maximum_cardinality,
                '1'::name as dtd_identifier
           from pg_catalog.pg_type d
           join pg_catalog.pg_namespace n on n.oid = d.typnamespace
           join pg_catalog.pg_type b on b.oid = d.typbasetype
           join pg_catalog.pg_namespace nb on nb.oid = b.typnamespace
           left join pg_catalog.pg_collation co on co.oid = d.typcollation and co.oid <> 100
           left join pg_catalog.pg_namespace nco on nco.oid = co.collnamespace
          where d.typtype = 'd'",
    ),
    (
        "attributes",
        "select pg_catalog.current_database() as udt_catalog, n.nspname as udt_schema,
                c.relname as udt_name, a.attname as attribute_name,
                a.attnum::int4 as ordinal_position, null::varchar as attribute_default,
                'YES'::varchar as is_nullable,
                (case when t.typelem <> 0 and t.typlen = -1 then 'ARRAY'
                      when nt.nspname = 'pg_catalog' then pg_catalog.format_type(t.oid, null)
                      else 'USER-DEFINED' end)::varchar as data_type,
                (case when t.oid in (1042, 1043) and a.atttypmod > 0 then a.atttypmod - 4
                      when t.oid in (1560, 1562) and a.atttypmod > 0 then a.atttypmod
                 end)::int4 as character_maximum_length,
                (case when t.oid in (25, 1042, 1043)
                      then case when a.atttypmod > 0 then (a.atttypmod - 4) * 4 else 1073741824 end
                 end)::int4 as character_octet_length,
                null::name as character_set_catalog, null::name as character_set_schema,
                null::name as character_set_name,
                (case when co.oid is not null then pg_catalog.current_database() end)::name
                    as collation_catalog,
                nco.nspname as collation_schema, co.collname as collation_name,
                (case t.oid when 21 then 16 when 23 then 32 when 20 then 64
                      when 700 then 24 when 701 then 53
                      when 1700 then case when a.atttypmod > 0 then ((a.atttypmod - 4) >> 16) & 65535 end
                 end)::int4 as numeric_precision,
                (case when t.oid in (20, 21, 23, 700, 701) then 2 when t.oid = 1700 then 10
                 end)::int4 as numeric_precision_radix,
                (case when t.oid in (20, 21, 23) then 0
                      when t.oid = 1700 and a.atttypmod > 0 then (a.atttypmod - 4) & 2047
                 end)::int4 as numeric_scale,
                (case when t.oid = 1082 then 0
                      when t.oid in (1083, 1114, 1184, 1266)
                      then case when a.atttypmod < 0 then 6 else a.atttypmod end
                      when t.oid = 1186
                      then case when a.atttypmod < 0 or a.atttypmod & 65535 = 65535 then 6
                                else a.atttypmod & 65535 end end)::int4 as datetime_precision,
                null::varchar as interval_type, null::int4 as interval_precision,
                pg_catalog.current_database() as attribute_udt_catalog,
                nt.nspname as attribute_udt_schema, t.typname as attribute_udt_name,
                null::name as scope_catalog, null::name as scope_schema,
                null::name as scope_name, null::int4 as maximum_cardinality,
                a.attnum::text::name as dtd_identifier,
                'NO'::varchar as is_derived_reference_attribute
           from pg_catalog.pg_attribute a
           join pg_catalog.pg_class c on c.oid = a.attrelid
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace
           join pg_catalog.pg_type t on t.oid = a.atttypid
           join pg_catalog.pg_namespace nt on nt.oid = t.typnamespace
           left join pg_catalog.pg_collation co on co.oid = a.attcollation and co.oid <> 100
           left join pg_catalog.pg_namespace nco on nco.oid = co.collnamespace
          where a.attnum > 0 and not a.attisdropped and c.relkind = 'c'",
    ),
    (
        "key_column_usage",
        "select pg_catalog.current_database() as constraint_catalog,
                n.nspname as constraint_schema, k.conname as constraint_name,
                pg_catalog.current_database() as table_catalog, n.nspname as table_schema,
                c.relname as table_name, a.attname as column_name,
                k.place::int4 as ordinal_position,
                (case when k.contype = 'f' then k.place end)::int4
                    as position_in_unique_constraint
           from (select conname, contype, conrelid, conkey,
                        generate_subscripts(conkey, 1) as place
                   from pg_catalog.pg_constraint where contype in ('p', 'u', 'f')) k
           join pg_catalog.pg_class c on c.oid = k.conrelid
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace
           join pg_catalog.pg_attribute a
                on a.attrelid = c.oid and a.attnum = k.conkey[k.place]",
    ),
    (
        "referential_constraints",
        "select pg_catalog.current_database() as constraint_catalog,
                n.nspname as constraint_schema, k.conname as constraint_name,
                pg_catalog.current_database() as unique_constraint_catalog,
                un.nspname as unique_constraint_schema, u.conname as unique_constraint_name,
                (case k.confmatchtype when 'f' then 'FULL' else 'NONE' end)::varchar
                    as match_option,
                (case k.confupdtype when 'c' then 'CASCADE' when 'n' then 'SET NULL'
                      when 'd' then 'SET DEFAULT' when 'r' then 'RESTRICT'
                      else 'NO ACTION' end)::varchar as update_rule,
                (case k.confdeltype when 'c' then 'CASCADE' when 'n' then 'SET NULL'
                      when 'd' then 'SET DEFAULT' when 'r' then 'RESTRICT'
                      else 'NO ACTION' end)::varchar as delete_rule
           from pg_catalog.pg_constraint k
           join pg_catalog.pg_namespace n on n.oid = k.connamespace
           left join pg_catalog.pg_constraint u
                on u.conindid = k.conindid and u.contype in ('p', 'u')
           left join pg_catalog.pg_namespace un on un.oid = u.connamespace
          where k.contype = 'f'",
    ),
    (
        "constraint_column_usage",
        "select pg_catalog.current_database() as table_catalog, n.nspname as table_schema,
                c.relname as table_name, a.attname as column_name,
                pg_catalog.current_database() as constraint_catalog,
                n.nspname as constraint_schema, k.conname as constraint_name
           from (select conname, case when contype = 'f' then confrelid else conrelid end
                            as relation,
                        unnest(case when contype = 'f' then confkey else conkey end) as attnum
                   from pg_catalog.pg_constraint) k
           join pg_catalog.pg_class c on c.oid = k.relation
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace
           join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum",
    ),
    (
        "check_constraints",
        "select pg_catalog.current_database() as constraint_catalog,
                n.nspname as constraint_schema, k.conname as constraint_name,
                pg_catalog.pg_get_expr(k.conbin, k.conrelid)::varchar as check_clause
           from pg_catalog.pg_constraint k
           join pg_catalog.pg_namespace n on n.oid = k.connamespace
          where k.contype = 'c'",
    ),
    (
        "sequences",
        "select pg_catalog.current_database() as sequence_catalog,
                n.nspname as sequence_schema, c.relname as sequence_name,
                pg_catalog.format_type(s.seqtypid, null)::varchar as data_type,
                (case s.seqtypid when 21 then 16 when 23 then 32 else 64 end)::int4
                    as numeric_precision,
                2::int4 as numeric_precision_radix, 0::int4 as numeric_scale,
                s.seqstart::text::varchar as start_value, s.seqmin::text::varchar as minimum_value,
                s.seqmax::text::varchar as maximum_value,
                s.seqincrement::text::varchar as increment,
                (case when s.seqcycle then 'YES' else 'NO' end)::varchar as cycle_option
           from pg_catalog.pg_sequence s
           join pg_catalog.pg_class c on c.oid = s.seqrelid
           join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where not exists (select from pg_catalog.pg_depend d
                             where d.classid = 1259 and d.objid = c.oid and d.deptype = 'i')",
    ),
];
