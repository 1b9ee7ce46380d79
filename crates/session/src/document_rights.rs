//! The rights of a role on the documents of a table, outside of SQL: for clients of HTTP, whose tokens stand for
//! roles.
//!
//! ```text
//!   view      SELECT on the table, or on its key and its document
//!   create    INSERT on the table, or on its key and its document
//!   modify    UPDATE on the table, or on its document
//!   delete    DELETE on the table
//!   own       to be its owner, or a member of the owner: to keep less of its past, to drop it
//! ```
//!
//! The documents are found by the number of their table in the store, not by a name that may mean another table
//! by now. The rights are those of the present, as everywhere; the past of a table that was dropped is for
//! its owner.

use store::TableId;
use table::catalog::{Address, Class, POSTGRES_DATABASE, Privileges};
use table::collections::COLLECTIONS_ROLE;
use table::documents::RowDocuments;

use crate::error::Result;
use crate::instance::Instance;
use crate::rights::Rights;

/// The attributes of a role before it logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownRole {
    /// It may log in.
    pub may_login: bool,
    /// It may do everything.
    pub is_superuser: bool,
    /// It may copy the whole database: a superuser, or a role with `REPLICATION`.
    pub may_replicate: bool,
}

/// The rights of a role on the documents of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentRights {
    /// Read documents and their past.
    pub view: bool,
    /// Write documents that do not exist.
    pub create: bool,
    /// Change documents that exist.
    pub modify: bool,
    /// Remove documents.
    pub delete: bool,
    /// Change or drop the table.
    pub own: bool,
}

impl DocumentRights {
    /// All of them.
    pub const ALL: DocumentRights =
        DocumentRights { view: true, create: true, modify: true, delete: true, own: true };
}

impl Instance {
    /// The role with a name; `None` if none has it.
    pub fn role(&self, name: &str) -> Option<KnownRole> {
        let catalog = self.catalogs.newest();
        let may = catalog.role_named(name)?.may;
        Some(KnownRole {
            may_login: may.login,
            is_superuser: may.superuser,
            may_replicate: may.superuser || may.replication,
        })
    }

    /// The rights of a role on the documents that lie in a table of the store. Where no role is given or none has
    /// its name, the rights of [`COLLECTIONS_ROLE`], which owns collections that were made without a role. Only
    /// the owner of a dropped table has rights on its past.
    ///
    /// # Errors
    /// Fails if the catalog cannot be read.
    pub fn document_rights(
        &self,
        documents: TableId,
        role: Option<&str>,
    ) -> Result<DocumentRights> {
        let catalog = self.catalogs.newest();
        let role = role.and_then(|name| catalog.role_named(name));
        let role = role.map_or(COLLECTIONS_ROLE, |role| role.oid);
        if catalog.is_superuser(role) {
            return Ok(DocumentRights::ALL);
        }
        let relation = self.catalogs.tables().relation_of(documents);
        let Some(relation) = relation.filter(|oid| catalog.relation(*oid).is_some()) else {
            let owner = self.collections.owner_of(documents)?;
            let is_owner = |owner| catalog.has_privileges_of(role, owner, POSTGRES_DATABASE);
            return Ok(match owner.is_some_and(is_owner) {
                true => DocumentRights::ALL,
                false => DocumentRights::default(),
            });
        };
        let known = self.handles.table(&catalog, relation);
        let Some(known) = known.as_ref().and_then(|table| Some((table, RowDocuments::of(table)?)))
        else {
            return Ok(DocumentRights::default());
        };
        let (table, of) = known;
        let database = POSTGRES_DATABASE;
        let rights = Rights { catalog: &catalog, named_in: &catalog, database, role };
        let schema = Address::of(Class::Schema, table.relation().schema);
        if !rights.has(schema, Privileges::USAGE) {
            return Ok(DocumentRights::default());
        }
        let attnum = |position: usize| position as i16 + 1;
        let document = [attnum(of.column())];
        let both: Vec<i16> = of.key_columns().map(attnum).chain(document).collect();
        let object = Address::relation(relation);
        let has = |wanted, columns: &[i16]| {
            rights.has(object, wanted) || rights.has_on_columns(relation, columns, wanted)
        };
        let owner = catalog.owner_of(object);
        // Policies are about rows of SQL: who sees some of them only reads and writes the documents by SQL.
        let is_whole = !rights.sees_in_part(relation);
        Ok(DocumentRights {
            view: is_whole && has(Privileges::SELECT, &both),
            create: is_whole && has(Privileges::INSERT, &both),
            modify: is_whole && has(Privileges::UPDATE, &document),
            delete: is_whole && rights.has(object, Privileges::DELETE),
            own: owner.is_some_and(|owner| catalog.has_privileges_of(role, owner, database)),
        })
    }
}
