//! Privileges on tables and their columns: `information_schema.table_privileges`,
//! `column_privileges`, and those of them that concern roles of the user (`role_table_grants`,
//! `role_column_grants`).

use std::collections::BTreeSet;

use table::catalog::{AclItem, Address, Privileges, Relation};
use types::{Datum, Oid};

use super::rows::{CatalogContext, Rows, text};

/// The privileges that the standard knows, all of tables and the last four of columns.
const ALL: [(Privileges, &str); 7] = [
    (Privileges::DELETE, "DELETE"),
    (Privileges::TRUNCATE, "TRUNCATE"),
    (Privileges::TRIGGER, "TRIGGER"),
    (Privileges::INSERT, "INSERT"),
    (Privileges::SELECT, "SELECT"),
    (Privileges::UPDATE, "UPDATE"),
    (Privileges::REFERENCES, "REFERENCES"),
];
const OF_COLUMNS: &[(Privileges, &str)] = ALL.split_at(3).1;

/// A role that has a privilege, and the role that granted it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Grant {
    grantor: Oid,
    grantee: Oid,
    privilege: &'static str,
    is_grantable: bool,
}

impl Grant {
    /// The privileges of an item that are among `known`.
    fn of<'a>(
        scene: CatalogContext<'a>,
        relation: &'a Relation,
        item: &'a AclItem,
        known: &'a [(Privileges, &'static str)],
    ) -> impl Iterator<Item = Grant> + 'a {
        let names = scene.names;
        let owns = item.grantee != Oid::NONE
            && names.catalog.has_privileges_of(item.grantee, relation.owner, names.database);
        known.iter().filter(|(bit, _)| item.privileges.contains(*bit)).map(move |(bit, name)| {
            Grant {
                grantor: item.grantor,
                grantee: item.grantee,
                privilege: name,
                is_grantable: owns || item.grantable.contains(*bit),
            }
        })
    }

    /// True if the user may see it: as one of the two roles, or, if `everybody`, because it was
    /// granted to PUBLIC.
    fn is_shown(&self, scene: CatalogContext<'_>, everybody: bool) -> bool {
        let names = scene.names;
        let is_own = |role: Oid| {
            role != Oid::NONE && names.catalog.has_privileges_of(names.role, role, names.database)
        };
        is_own(self.grantor) || is_own(self.grantee) || everybody && self.grantee == Oid::NONE
    }

    fn row(
        &self,
        scene: CatalogContext<'_>,
        relation: &Relation,
        column: Option<&str>,
        rows: &mut Rows,
    ) {
        let catalog = &scene.names.catalog;
        let name = |role: Oid| match catalog.role(role) {
            Some(role) => text(&role.name),
            None => text("PUBLIC"),
        };
        let yes = |is: bool| text(if is { "YES" } else { "NO" });
        let database = catalog.database(scene.names.database).map(|known| text(&known.name));
        let schema = catalog.schema(relation.schema).map(|known| text(&known.name));
        let mut row = vec![
            ("grantor", name(self.grantor)),
            ("grantee", name(self.grantee)),
            ("table_catalog", database.unwrap_or(Datum::Null)),
            ("table_schema", schema.unwrap_or(Datum::Null)),
            ("table_name", text(&relation.name)),
            ("privilege_type", text(self.privilege)),
            ("is_grantable", yes(self.is_grantable)),
        ];
        match column {
            Some(column) => row.push(("column_name", text(column))),
            None => row.push(("with_hierarchy", yes(self.privilege == "SELECT"))),
        }
        rows.row(&row);
    }
}

/// Tables and views.
fn tables(scene: CatalogContext<'_>) -> impl Iterator<Item = &Relation> {
    let found = scene.names.catalog.relations().map(|relation| &**relation);
    found.filter(move |relation| {
        matches!(relation.kind_letter(), 'r' | 'v' | 'p') && scene.is_here(relation.schema)
    })
}

/// The privileges on whole tables; those of PUBLIC too where `everybody`.
pub(super) fn of_tables(scene: CatalogContext<'_>, everybody: bool, rows: &mut Rows) {
    for relation in tables(scene) {
        for item in &scene.names.catalog.acl_of(Address::relation(relation.oid)).0 {
            for grant in Grant::of(scene, relation, item, &ALL) {
                if grant.is_shown(scene, everybody) {
                    grant.row(scene, relation, None, rows);
                }
            }
        }
    }
}

/// The privileges on columns, or on their tables.
pub(super) fn of_columns(scene: CatalogContext<'_>, everybody: bool, rows: &mut Rows) {
    for relation in tables(scene) {
        let whole = scene.names.catalog.acl_of(Address::relation(relation.oid));
        for column in relation.live_columns() {
            let own = column.acl.clone().unwrap_or_default();
            let items = whole.0.iter().chain(&own.0);
            let grants: BTreeSet<Grant> =
                items.flat_map(|item| Grant::of(scene, relation, item, OF_COLUMNS)).collect();
            for grant in grants.iter().filter(|grant| grant.is_shown(scene, everybody)) {
                grant.row(scene, relation, Some(&column.name), rows);
            }
        }
    }
}
