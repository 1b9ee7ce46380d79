//! The objects of a new database: PostgreSQL's schemas, databases and roles, under its OIDs.

use std::sync::Arc;

use types::Oid;

use super::{
    Acl, AclItem, Address, Class, Comment, Database, Entry, Privileges, Role, RoleFlags, Schema,
};

/// The role that a new database belongs to: `postgres`.
pub const POSTGRES_ROLE: Oid = Oid(10);
/// The database that is there from the start: `postgres`.
pub const POSTGRES_DATABASE: Oid = Oid(5);
/// The schema of what the system has: `pg_catalog`.
pub const PG_CATALOG: Oid = Oid(11);
/// The schema `information_schema`.
pub const INFORMATION_SCHEMA: Oid = Oid(13_212);
/// The schema `public` of the database `postgres`; those of others have OIDs of their own.
pub const PUBLIC: Oid = Oid(2_200);
/// The role that the owner of the database is a member of.
pub const DATABASE_OWNER_ROLE: Oid = Oid(6_171);

pub(super) const TEMPLATE1: Oid = Oid(1);
const TEMPLATE0: Oid = Oid(4);
/// The schemas `public` of the templates.
const PUBLIC_OF_TEMPLATES: [(Oid, Oid); 2] = [(Oid(16_380), TEMPLATE1), (Oid(16_381), TEMPLATE0)];

/// Roles whose members may do what only superusers may do else.
const PREDEFINED_ROLES: [(u32, &str); 15] = [
    (DATABASE_OWNER_ROLE.0, "pg_database_owner"),
    (6_181, "pg_read_all_data"),
    (6_182, "pg_write_all_data"),
    (3_373, "pg_monitor"),
    (3_374, "pg_read_all_settings"),
    (3_375, "pg_read_all_stats"),
    (3_377, "pg_stat_scan_tables"),
    (4_569, "pg_read_server_files"),
    (4_570, "pg_write_server_files"),
    (4_571, "pg_execute_server_program"),
    (4_200, "pg_signal_backend"),
    (4_544, "pg_checkpoint"),
    (6_337, "pg_maintain"),
    (4_550, "pg_use_reserved_connections"),
    (6_304, "pg_create_subscription"),
];

/// All that a new database comes with. `superuser` is the name of the role with OID 10.
pub(crate) fn entries(superuser: &str) -> Vec<Entry> {
    let mut entries = vec![Entry::Role(Arc::new(Role {
        oid: POSTGRES_ROLE,
        name: superuser.into(),
        may: RoleFlags {
            superuser: true,
            inherit: true,
            create_role: true,
            create_db: true,
            login: true,
            replication: true,
            bypass_rls: true,
        },
        connection_limit: -1,
        password: None,
        valid_until_us: None,
    }))];
    entries.extend(PREDEFINED_ROLES.map(|(oid, name)| {
        Entry::Role(Arc::new(Role {
            oid: Oid(oid),
            name: name.into(),
            may: RoleFlags { inherit: true, ..RoleFlags::default() },
            connection_limit: -1,
            password: None,
            valid_until_us: None,
        }))
    }));
    let databases = [
        (POSTGRES_DATABASE, "postgres", "default administrative connection database"),
        (TEMPLATE1, "template1", "default template for new databases"),
        (TEMPLATE0, "template0", "unmodifiable empty database"),
    ];
    for (oid, name, comment) in databases {
        entries.push(Entry::Database(Arc::new(Database {
            oid,
            name: name.into(),
            owner: POSTGRES_ROLE,
            acl: None,
            is_template: oid != POSTGRES_DATABASE,
            allows_connections: oid != TEMPLATE0,
            connection_limit: -1,
        })));
        let object = Address::of(Class::Database, oid);
        entries.push(Entry::Comment(Arc::new(Comment { object, text: comment.into() })));
    }
    let all_and_usage = |grantor| {
        let usage = AclItem {
            grantee: Oid::NONE,
            grantor,
            privileges: Privileges::USAGE,
            grantable: Privileges::NONE,
        };
        let own = AclItem { grantee: grantor, privileges: Privileges::ALL_SCHEMA, ..usage };
        Some(Acl(vec![own, usage]))
    };
    for (oid, name) in [(PG_CATALOG, "pg_catalog"), (INFORMATION_SCHEMA, "information_schema")] {
        entries.push(Entry::Schema(Arc::new(Schema {
            oid,
            database: Oid::NONE,
            name: name.into(),
            owner: POSTGRES_ROLE,
            acl: all_and_usage(POSTGRES_ROLE),
        })));
    }
    entries.extend(public_schema(PUBLIC, POSTGRES_DATABASE));
    for (oid, database) in PUBLIC_OF_TEMPLATES {
        entries.extend(public_schema(oid, database));
    }
    let comment = |oid, text: &str| {
        let object = Address::of(Class::Schema, oid);
        Entry::Comment(Arc::new(Comment { object, text: text.into() }))
    };
    entries.push(comment(PG_CATALOG, "system catalog schema"));
    entries
}

/// The schema `public` of a database, and the comment on it.
pub(crate) fn public_schema(oid: Oid, database: Oid) -> [Entry; 2] {
    let grantor = DATABASE_OWNER_ROLE;
    let usage = AclItem {
        grantee: Oid::NONE,
        grantor,
        privileges: Privileges::USAGE,
        grantable: Privileges::NONE,
    };
    let own = AclItem { grantee: grantor, privileges: Privileges::ALL_SCHEMA, ..usage };
    let schema = Schema {
        oid,
        database,
        name: "public".into(),
        owner: grantor,
        acl: Some(Acl(vec![own, usage])),
    };
    let object = Address::of(Class::Schema, oid);
    let comment = Comment { object, text: "standard public schema".into() };
    [Entry::Schema(Arc::new(schema)), Entry::Comment(Arc::new(comment))]
}
