//! Schemas, roles, databases, comments, dependencies.

use table::catalog::{Acl, Class, Dependence};
use types::time::TimestampTz;
use types::{Datum, Oid, Type};

use super::rows::{CatalogContext, Rows, bool, letter, oid, text, text_or_null, texts};
use super::{INFORMATION_SCHEMA, PG_CATALOG, extensions};

/// Privileges as an array of `aclitem`; NULL where nothing was given or taken.
pub(super) fn acl(scene: CatalogContext<'_>, acl: Option<&Acl>) -> Datum {
    let Some(acl) = acl else { return Datum::Null };
    let name = |role: Oid| {
        let role = scene.names.catalog.role(role);
        role.map_or_else(String::new, |role| scalar::quote::identifier(&role.name))
    };
    let items: Vec<String> = acl.0.iter().map(|item| Acl::text_of(item, &name)).collect();
    texts(Type::ACLITEM, items.iter().map(String::as_str))
}

/// The privileges on schemas of the system that the new database had, so that they are not dumped.
pub(super) fn first_privileges(scene: CatalogContext<'_>, rows: &mut Rows) {
    for schema in scene.names.catalog.schemas() {
        if schema.oid == PG_CATALOG || schema.oid == INFORMATION_SCHEMA {
            rows.row(&[
                ("objoid", oid(schema.oid)),
                ("classoid", oid(Class::Schema.oid())),
                ("privtype", letter('i')),
                ("initprivs", acl(scene, schema.acl.as_ref())),
            ]);
        }
    }
}

pub(super) fn default_acls(scene: CatalogContext<'_>, rows: &mut Rows) {
    for known in scene.names.catalog.default_acls() {
        rows.row(&[
            ("oid", oid(known.oid)),
            ("defaclrole", oid(known.role)),
            ("defaclnamespace", oid(known.schema)),
            ("defaclobjtype", letter(known.kind)),
            ("defaclacl", acl(scene, Some(&known.acl))),
        ]);
    }
}

pub(super) fn schemas(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut found: Vec<_> = scene.names.catalog.schemas().collect();
    found.sort_by_key(|schema| schema.oid);
    for schema in found {
        if scene.is_here(schema.oid) {
            rows.row(&[
                ("oid", oid(schema.oid)),
                ("nspname", text(&schema.name)),
                ("nspowner", oid(schema.owner)),
                ("nspacl", acl(scene, schema.acl.as_ref())),
            ]);
        }
    }
}

pub(super) fn roles(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut found: Vec<_> = scene.names.catalog.roles().collect();
    found.sort_by_key(|role| role.oid);
    for role in found {
        let until = role.valid_until_us.map(|us| Datum::TimestampTz(TimestampTz(us)));
        rows.row(&[
            ("oid", oid(role.oid)),
            ("rolname", text(&role.name)),
            ("rolsuper", bool(role.may.superuser)),
            ("rolinherit", bool(role.may.inherit)),
            ("rolcreaterole", bool(role.may.create_role)),
            ("rolcreatedb", bool(role.may.create_db)),
            ("rolcanlogin", bool(role.may.login)),
            ("rolreplication", bool(role.may.replication)),
            ("rolbypassrls", bool(role.may.bypass_rls)),
            ("rolconnlimit", Datum::Int4(role.connection_limit)),
            ("rolpassword", text_or_null(role.password.as_deref())),
            ("rolvaliduntil", until.unwrap_or_default()),
        ]);
    }
}

pub(super) fn memberships(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut found: Vec<_> = scene.names.catalog.memberships().collect();
    found.sort_by_key(|membership| membership.oid);
    for membership in found {
        rows.row(&[
            ("oid", oid(membership.oid)),
            ("roleid", oid(membership.role)),
            ("member", oid(membership.member)),
            ("grantor", oid(membership.grantor)),
            ("admin_option", bool(membership.admin)),
            ("inherit_option", bool(membership.inherit)),
            ("set_option", bool(membership.set)),
        ]);
    }
}

pub(super) fn databases(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut found: Vec<_> = scene.names.catalog.databases().collect();
    found.sort_by_key(|database| database.oid);
    for database in found {
        rows.row(&[
            ("oid", oid(database.oid)),
            ("datname", text(&database.name)),
            ("datdba", oid(database.owner)),
            ("encoding", Datum::Int4(6)),
            ("datlocprovider", letter('c')),
            ("datistemplate", bool(database.is_template)),
            ("datallowconn", bool(database.allows_connections)),
            ("datconnlimit", Datum::Int4(database.connection_limit)),
            ("dattablespace", oid(Oid(1663))),
            ("datcollate", text("C")),
            ("datctype", text("C.UTF-8")),
            ("datacl", acl(scene, database.acl.as_ref())),
        ]);
    }
}

/// Comments on objects of the database, or on those that all databases share.
pub(super) fn comments(scene: CatalogContext<'_>, rows: &mut Rows, shared: bool) {
    let mut found: Vec<_> = scene.names.catalog.comments().collect();
    found.sort_by_key(|comment| comment.object);
    for comment in found {
        let object = comment.object;
        if matches!(object.class, Class::Database | Class::Role) != shared {
            continue;
        }
        if object.class == Class::Extension && !extensions::is_here(scene, object.oid) {
            continue;
        }
        let mut row = vec![
            ("objoid", oid(object.oid)),
            ("classoid", oid(object.class.oid())),
            ("description", text(&comment.text)),
        ];
        if !shared {
            row.push(("objsubid", Datum::Int4(i32::from(object.sub))));
        }
        rows.row(&row);
    }
    if !shared && scene.names.catalog.comment(extensions::PLPGSQL).is_none() {
        rows.row(&[
            ("objoid", oid(extensions::PLPGSQL.oid)),
            ("classoid", oid(Class::Extension.oid())),
            ("description", text(types::extension::PLPGSQL.comment)),
            ("objsubid", Datum::Int4(0)),
        ]);
    }
}

pub(super) fn dependencies(scene: CatalogContext<'_>, rows: &mut Rows) {
    extensions::dependencies(scene, rows);
    let mut found: Vec<_> = scene.names.catalog.references().collect();
    found.sort_by_key(|reference| (reference.from, reference.to));
    for reference in found {
        let (from, to) = (reference.from, reference.to);
        let shared = |class| matches!(class, Class::Database | Class::Role);
        if shared(from.class) || shared(to.class) {
            continue;
        }
        rows.row(&[
            ("classid", oid(from.class.oid())),
            ("objid", oid(from.oid)),
            ("objsubid", Datum::Int4(i32::from(from.sub))),
            ("refclassid", oid(to.class.oid())),
            ("refobjid", oid(to.oid)),
            ("refobjsubid", Datum::Int4(i32::from(to.sub))),
            (
                "deptype",
                letter(match reference.how {
                    Dependence::Normal => 'n',
                    Dependence::Auto => 'a',
                    Dependence::Internal => 'i',
                }),
            ),
        ]);
    }
}

pub(super) fn tablespaces(rows: &mut Rows) {
    for (number, name) in [(1663, "pg_default"), (1664, "pg_global")] {
        rows.row(&[("oid", oid(Oid(number))), ("spcname", text(name)), ("spcowner", oid(Oid(10)))]);
    }
}

pub(super) fn settings(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut found: Vec<_> = scene.names.catalog.settings().collect();
    found.sort_by_key(|settings| (settings.database, settings.role));
    for settings in found {
        let values: Vec<String> =
            settings.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        rows.row(&[
            ("setdatabase", oid(settings.database)),
            ("setrole", oid(settings.role)),
            ("setconfig", texts(Type::TEXT, values.iter().map(String::as_str))),
        ]);
    }
}
