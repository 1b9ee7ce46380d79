//! [`Ddl`]: the statements that change the catalog, each whole or not at all.
//!
//! ```text
//!   session            Ddl                                        Draft, Transaction
//!   CREATE TABLE ──>   may I?  is the name free?  which types?    locks, entries, records
//!                      OIDs, row type, storage                    name "t", relation 16390
//! ```
//!
//! A statement comes in as values. This module finds what it means for other objects, with
//! PostgreSQL's answers where it cannot be done. Expressions come in as texts with the objects that
//! they name; rows are not touched: where rows must be written anew, [`Ddl::take_rewrites`] says
//! so.
//!
//! | module | has |
//! |---|---|
//! | `table`, `column` | tables, views, composite types; their columns |
//! | `index`, `constraint`, `sequence` | what belongs to tables |
//! | `user_type` | enums and domains |
//! | `extension` | extensions |
//! | `schema`, `role`, `grant` | schemas and databases, roles and memberships, privileges |
//! | `stores` | tables that store rows of other relations |
//! | `partition` | partitions, attached and detached |
//! | `policy` | policies of row-level security |
//! | `owned` | what belongs to a role, all at once |
//! | `alter` | renaming, moving, owners, comments: what all objects have |
//! | `drop` | dropping, with all that depends |
//! | `name` | names: which are free, which are chosen |

mod alter;
mod collation;
mod column;
mod constraint;
mod drop;
mod extension;
mod grant;
mod index;
mod materialized;
mod name;
mod owned;
mod partition;
mod policy;
mod role;
mod schema;
mod sequence;
mod stores;
mod table;
mod user_type;

use std::ops::Bound;
use std::sync::Arc;

use crate::stored::{Tables, backfill_of};
use ::types::{Error as SqlError, Modifier, Oid, Repr, SqlState, Type, TypeSource};
use store::{Retention, TableId};
use txn::{RelationLock, RowLock, Transaction, Wait};

pub use alter::TextOf;
pub use column::ColumnChange;
pub use constraint::{NewConstraint, NewConstraintKind};
pub use drop::{Behavior, Notice};
pub use grant::Grant;
pub use index::{NewIndex, NewIndexKey};
pub use policy::{NewPolicy, PolicyChange};
pub use role::{MembershipChange, RoleChange};
pub use schema::DatabaseChange;
pub use sequence::SequenceOptions;
pub use table::{NewColumn, NewIdentity, NewTable, NewView};
pub use user_type::{DomainChange, LabelPlace};

use super::draft::{Change, Draft};
use super::version::Key;
use super::{
    Address, Catalog, Class, Entry, Privileges, Relation, RelationKind, Schema, Scope, TableDef,
};
use crate::{Error, Result};

/// On whose behalf a statement runs, and what it sees.
#[derive(Clone, Copy, Debug)]
pub struct Acting<'a> {
    /// The role.
    pub role: Oid,
    /// The database that the session is connected to.
    pub database: Oid,
    /// The schemas of the search path, as in [`Scope`].
    pub path: &'a [Oid],
}

/// Rows that must be written anew: read as `before` says, written as the catalog says now.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// The table as it was.
    pub before: Arc<TableDef>,
}

/// A statement that changes the catalog of a transaction. Each method is done whole, or fails and
/// changes nothing.
pub struct Ddl<'a> {
    draft: &'a mut Draft,
    txn: &'a mut Transaction,
    acting: Acting<'a>,
    rewrites: Vec<Rewrite>,
    /// True if tables that store the rows of a changed relation may be written anew: they are locked.
    may_rewrite_stores: bool,
}

impl<'a> Ddl<'a> {
    pub(crate) fn new(draft: &'a mut Draft, txn: &'a mut Transaction, acting: Acting<'a>) -> Self {
        Ddl { draft, txn, acting, rewrites: Vec::new(), may_rewrite_stores: false }
    }

    /// The catalog as it is now for the transaction.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.draft.catalog()
    }

    /// The catalog along the search path of the session.
    pub fn scope(&self) -> Scope<'_> {
        let Acting { database, path, .. } = self.acting;
        Scope { catalog: self.catalog(), database, path }
    }

    /// Lets columns be taken from relations whose rows are stored in columns of tables; all of these tables
    /// ([`Catalog::stores_of`]) are locked.
    pub fn allow_rewriting_stores(&mut self) {
        self.may_rewrite_stores = true;
    }

    /// The tables whose rows must be written anew before the statement ends: each has another
    /// storage now, which is empty.
    pub fn take_rewrites(&mut self) -> Vec<Rewrite> {
        std::mem::take(&mut self.rewrites)
    }

    /// True if the rows of a table must be written anew.
    pub fn will_rewrite(&self, table: Oid) -> bool {
        self.rewrites.iter().any(|known| known.before.relation.oid == table)
    }

    /// The transaction that all is written through.
    pub fn transaction(&mut self) -> &mut Transaction {
        self.txn
    }

    // --- what statements are made of -------------------------------------------------------------

    /// Does all of `f`, or nothing.
    fn whole<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (mark, saved) = (self.txn.savepoint(), self.draft.savepoint());
        let rewrites = self.rewrites.len();
        let done = f(self);
        if done.is_err() {
            self.txn.rollback_to(mark);
            self.draft.rollback_to(&saved);
            self.rewrites.truncate(rewrites);
        }
        done
    }

    fn new_oid(&mut self) -> Result<Oid> {
        self.draft.cache().allocate()
    }

    /// A table of the store that is empty. A number is passed over whose table holds something: earlier releases wrote where
    /// a sequence stood while the transaction that made the sequence was open. If that transaction never committed, its
    /// numbers are given again after the next opening.
    fn new_storage(&mut self) -> Result<TableId> {
        loop {
            let storage = self.draft.new_storage()?;
            if self.is_unused(storage)? {
                return Ok(storage);
            }
        }
    }

    /// Makes an object, or puts another version in the place of one.
    fn put(&mut self, entry: Entry) -> Result<()> {
        if self.catalog().entry(entry.key()).is_some() {
            self.draft.lock(self.txn, entry.key(), RowLock::NoKeyUpdate)?;
        }
        self.draft.change(self.txn, Change::Put(entry))
    }

    fn put_relation(&mut self, relation: Relation) -> Result<Arc<Relation>> {
        if let Some(refusal) = self.draft.cache().methods().refusal(&relation)? {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, refusal));
        }
        let relation = Arc::new(relation);
        self.put(Entry::Relation(relation.clone()))?;
        Ok(relation)
    }

    fn remove(&mut self, key: Key) -> Result<()> {
        self.draft.lock(self.txn, key, RowLock::Update)?;
        self.draft.change(self.txn, Change::Remove(key))
    }

    /// Gives up tables of the store that a relation has.
    fn retire(
        &mut self,
        relation: &Relation,
        tables: impl IntoIterator<Item = TableId>,
    ) -> Result<()> {
        let kept = self.catalog().kept_of(relation);
        let keeps_past = !relation.has_no_past() || kept.retention != Retention::None;
        tables.into_iter().try_for_each(|table| {
            // Subscribers are told of documents in any case.
            let is_read = Tables::has_documents(table) || keeps_past && !self.draft.has_made(table);
            if !is_read || self.is_unused(table)? {
                return Ok(());
            }
            self.draft.change(self.txn, Change::Retire { table, relation: relation.oid, kept })
        })
    }

    /// True for a table of the store, locked against all others, in which nothing was ever stored: no past is left
    /// of it, so nobody needs to know that there was one. Subscribers are told of documents in any case.
    fn is_unused(&self, table: TableId) -> Result<bool> {
        let store = self.txn.engine().store();
        for table in [Some(table), backfill_of(table)].into_iter().flatten() {
            if Tables::has_documents(table)
                || self.txn.touches(table)
                || store.keys(table, Bound::Unbounded, Bound::Unbounded, false).advance()?.is_some()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Keeps an object from being dropped until the transaction ends.
    fn rely_on(&mut self, key: Key) -> Result<()> {
        self.draft.lock(self.txn, key, RowLock::KeyShare)
    }

    /// Locks an object to change it, and gives it as it is then.
    fn relation_to_change(&mut self, oid: Oid) -> Result<Arc<Relation>> {
        let name = self.relation(oid)?.name.clone();
        self.draft.lock(self.txn, Key::Relation(oid), RowLock::NoKeyUpdate)?;
        let found = self.catalog().relation(oid).cloned();
        found.ok_or_else(|| no_relation(&name))
    }

    fn relation(&self, oid: Oid) -> Result<Arc<Relation>> {
        let found = self.catalog().relation(oid).cloned();
        found.ok_or_else(|| no_relation(&oid.to_string()))
    }

    fn table(&self, oid: Oid) -> Result<Arc<TableDef>> {
        let relation = self.relation(oid)?;
        let found = self.catalog().table(oid).cloned();
        found.ok_or_else(|| {
            Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", relation.name))
        })
    }

    /// Fails with 42809 where the action is none for a relation of this kind: what tables have, views
    /// (`views`) and composite types (`types`) have only in part, others not at all.
    fn check_kind(
        &self,
        relation: &Relation,
        action: &str,
        [views, types]: [bool; 2],
    ) -> Result<()> {
        let kinds = match relation.kind {
            RelationKind::Table(_) if action == "create index" => return Ok(()),
            RelationKind::Table(_) if relation.materialized().is_some() => "materialized views",
            RelationKind::Table(_) => return Ok(()),
            RelationKind::View(_) if views => return Ok(()),
            RelationKind::Composite if types => return Ok(()),
            RelationKind::View(_) => "views",
            RelationKind::Index(_) => "indexes",
            RelationKind::Sequence(_) => "sequences",
            RelationKind::Composite => "composite types",
        };
        let message = match action {
            "create index" => format!("cannot create index on relation \"{}\"", relation.name),
            _ => format!(
                "ALTER action {action} cannot be performed on relation \"{}\"",
                relation.name
            ),
        };
        let detail = format!("This operation is not supported for {kinds}.");
        Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail).into())
    }

    /// How values of a type are held.
    fn repr_of(&self, ty: Type) -> Result<Repr> {
        let scope = self.scope();
        Ok((&scope as &dyn TypeSource).repr_of(ty)?)
    }

    /// Checks that a type can be that of a column, and keeps it from being dropped, and its rows from getting other
    /// columns.
    fn rely_on_type(&mut self, ty: Type) -> Result<()> {
        use super::TypeEntry;
        self.rely_on_rows_in(ty)?;
        match self.catalog().type_entry(ty) {
            Some(TypeEntry::User(of) | TypeEntry::UserArray(of)) => {
                let key = Key::Type(of.ty.oid());
                self.rely_on(key)
            }
            Some(TypeEntry::Row(of) | TypeEntry::RowArray(of)) => {
                let key = Key::Relation(of.oid);
                self.rely_on(key)
            }
            None => match ::types::extension::of(ty.oid()) {
                Some(extension) => self.rely_on_extension(extension),
                None => Ok(()),
            },
        }
    }

    /// Locks the relations whose rows are in the values of a type. A command that adds or drops one of their columns
    /// rewrites all tables that store their rows, so it has to find this one.
    fn rely_on_rows_in(&mut self, ty: Type) -> Result<()> {
        use super::{TypeEntry, UserTypeKind};
        let (mut waiting, mut seen) = (vec![ty], vec![ty]);
        while let Some(ty) = waiting.pop() {
            let mut within = Vec::new();
            match self.catalog().type_entry(ty).cloned() {
                Some(TypeEntry::Row(of) | TypeEntry::RowArray(of)) => {
                    self.txn.lock_relation(of.oid.0, RelationLock::RowShare, Wait::Allowed)?;
                    self.draft.refresh();
                    if let Some(found) = self.catalog().relation(of.oid) {
                        within.extend(found.live_columns().map(|column| column.ty));
                    }
                }
                Some(TypeEntry::User(of) | TypeEntry::UserArray(of)) => match &of.kind {
                    UserTypeKind::Domain(domain) => within.push(domain.base),
                    UserTypeKind::Range(range) => within.push(range.element),
                    UserTypeKind::Multirange(range) => within.push(*range),
                    UserTypeKind::Enum(_) => {}
                },
                None => {}
            }
            for ty in within {
                if !seen.contains(&ty) {
                    seen.push(ty);
                    waiting.push(ty);
                }
            }
        }
        Ok(())
    }

    /// Keeps all that a text names from being dropped.
    fn rely_on_text(&mut self, text: &super::SqlText) -> Result<()> {
        let objects: Vec<Address> = text.references().collect();
        for object in objects {
            if let Some(extension) = ::types::extension::of(object.oid) {
                self.rely_on_extension(extension)?;
                continue;
            }
            if object.oid.is_builtin() {
                continue;
            }
            match object.class {
                Class::Relation => self.rely_on(Key::Relation(object.oid))?,
                Class::Type => self.rely_on_type(Type(object.oid))?,
                Class::Schema => self.rely_on(Key::Schema(object.oid))?,
                _ => {}
            }
            if !self.catalog().exists(object) {
                return Err(Error::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("{} does not exist", self.scope().describe(object)),
                ));
            }
        }
        Ok(())
    }

    // --- permission ------------------------------------------------------------------------------

    /// Fails with 42501 where the role does not own the object.
    fn check_owner(&self, object: Address) -> Result<()> {
        let Acting { role, database, .. } = self.acting;
        if self.catalog().is_superuser(role) || self.catalog().is_owner(role, object, database) {
            return Ok(());
        }
        Err(Error::new(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("must be owner of {}", { self.bare(object) }),
        ))
    }

    /// Fails with 42501 where the role has not the privileges on the object.
    fn check_privilege(&self, object: Address, wanted: Privileges) -> Result<()> {
        let Acting { role, database, .. } = self.acting;
        if self.catalog().privileges_on(role, object, wanted, database) == wanted {
            return Ok(());
        }
        Err(Error::new(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("permission denied for {}", self.bare(object)),
        ))
    }

    fn check_superuser(&self, message: &str) -> Result<()> {
        match self.catalog().is_superuser(self.acting.role) {
            true => Ok(()),
            false => Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)),
        }
    }

    /// Kind and bare name of an object, as messages about permission have it.
    fn bare(&self, object: Address) -> String {
        let catalog = self.catalog();
        match object.class {
            Class::Relation => match catalog.relation(object.oid) {
                Some(relation) => match relation.kind {
                    RelationKind::Composite => format!("type {}", relation.name),
                    _ => format!("{} {}", relation.kind_name(), relation.name),
                },
                None => format!("relation {}", object.oid),
            },
            Class::Type => {
                format!("type {}", self.scope().type_name(Type(object.oid), Modifier::NONE))
            }
            Class::Constraint => match catalog.constraint(object.oid).and_then(|c| c.table()) {
                Some(table) => self.bare(Address::relation(table)),
                None => self.scope().describe(object),
            },
            Class::Policy => match catalog.policy(object.oid) {
                Some(policy) => self.bare(Address::relation(policy.table)),
                None => self.scope().describe(object),
            },
            _ => self.scope().describe(object),
        }
    }

    /// The schema, where objects may be made in it by the acting role; kept from being dropped.
    fn schema_to_create_in(&mut self, schema: Oid, name: &str) -> Result<Arc<Schema>> {
        self.rely_on(Key::Schema(schema))?;
        let Some(schema) = self.catalog().schema(schema).cloned() else {
            // Another transaction has dropped it since its name was looked up.
            let message = format!("schema with OID {schema} does not exist");
            return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
        };
        if schema.database == Oid::NONE {
            let message = format!("permission denied to create \"{}.{name}\"", schema.name);
            let detail = "System catalog modifications are currently disallowed.";
            let error = SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
            return Err(error.with_detail(detail).into());
        }
        self.check_privilege(Address::of(Class::Schema, schema.oid), Privileges::CREATE)?;
        Ok(schema)
    }
}

fn no_relation(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}

/// The error for a column that is not there.
fn no_column(column: &str, relation: &str) -> Error {
    Error::new(
        SqlState::UNDEFINED_COLUMN,
        format!("column \"{column}\" of relation \"{relation}\" does not exist"),
    )
}

/// The error for something that this database does not do.
fn not_supported(what: impl Into<String>) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, what)
}
