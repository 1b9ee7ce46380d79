//! Locks of relations: whoever changes rows keeps definitions away, and the other way round.
//!
//! ```text
//!   INSERT, UPDATE, DELETE, MERGE, COPY    ROW EXCLUSIVE      each other's: no conflict
//!   SELECT ... FOR UPDATE                  ROW SHARE
//!   CREATE INDEX                           SHARE              waits for open changes, and they for it
//!   ALTER, DROP, TRUNCATE                  ACCESS EXCLUSIVE
//! ```
//!
//! A change of rows that foreign keys follow (`ON DELETE CASCADE` and the like) is one of the referring
//! tables too. Whoever only reads takes none: rows and definitions are those of one snapshot. A lock that was
//! waited for may find another definition than the statement was planned with; it is planned anew then,
//! or fails where its snapshot is older than the definition.

use std::sync::Arc;

use sql::parse::ast::{Define, ObjectKind, Path};
use table::catalog::{Action, Catalog, ConstraintOn, TypeEntry, UserTypeKind};
use txn::{RelationLock, Wait};
use types::{Oid, SqlState, Type};

use crate::define::domain::tables_looked_at;
use crate::error::{Error, Result};
use crate::portal::{Portal, Work};
use crate::session::Session;

/// True where two catalogs say the same of a type: of its labels, its fields, its constraints.
fn is_same_type(before: &Catalog, after: &Catalog, ty: Type) -> bool {
    use TypeEntry::{Row, RowArray, User, UserArray};
    if ty.is_builtin() {
        return true;
    }
    match (before.type_entry(ty), after.type_entry(ty)) {
        (Some(User(then) | UserArray(then)), Some(User(now) | UserArray(now))) => {
            let on = ConstraintOn::Domain(now.ty);
            let (old, new) = (before.constraints_of(on), after.constraints_of(on));
            let base = match &now.kind {
                UserTypeKind::Domain(domain) => domain.base,
                UserTypeKind::Enum(_) => Type::NONE,
            };
            Arc::ptr_eq(then, now)
                && old.iter().map(Arc::as_ptr).eq(new.iter().map(Arc::as_ptr))
                && is_same_type(before, after, base)
        }
        (Some(Row(then) | RowArray(then)), Some(Row(now) | RowArray(now))) => {
            let mut columns = now.live_columns();
            Arc::ptr_eq(then, now)
                && columns.all(|column| is_same_type(before, after, column.ty))
        }
        _ => false,
    }
}

impl Session {
    fn lock(&mut self, relation: Oid, mode: RelationLock) -> Result<()> {
        let inner = self.open().inner.as_mut().expect("a transaction that goes on is open");
        Ok(inner.lock_relation(relation.0, mode, Wait::Allowed)?)
    }

    /// Locks the relations that a definition is about, and looks again at what there is then.
    pub(crate) fn lock_defined(&mut self, define: &Define) -> Result<()> {
        let is_kept = |kind: &ObjectKind| matches!(kind, ObjectKind::Table | ObjectKind::Index);
        let (paths, mode): (Vec<&Path>, RelationLock) = match define {
            Define::Index(create) => (vec![&create.table], RelationLock::Share),
            Define::Alter { kind, name, .. }
            | Define::Rename { kind, name, .. }
            | Define::SetSchema { kind, name, .. }
                if is_kept(kind) =>
            {
                (vec![name], RelationLock::AccessExclusive)
            }
            Define::Drop { kind, names, .. } if is_kept(kind) => {
                (names.iter().collect(), RelationLock::AccessExclusive)
            }
            Define::Truncate { tables, .. } => {
                (tables.iter().collect(), RelationLock::AccessExclusive)
            }
            Define::AlterDomain { name, change } => {
                for table in tables_looked_at(&self.names, name, change) {
                    self.lock(table, RelationLock::Share)?;
                }
                return self.look();
            }
            _ => return Ok(()),
        };
        for path in paths {
            let (schema, name) = self.names.split(path)?;
            // What is not there is told by whoever looks for it next.
            let Some(relation) = self.names.user_relation(schema, name) else { continue };
            let table = relation.index().map_or(relation.oid, |index| index.table);
            self.lock(table, mode)?;
        }
        self.look()
    }

    /// Locks a table whose rows are about to be changed.
    pub(crate) fn lock_changed(&mut self, relation: Oid) -> Result<()> {
        self.lock(relation, RelationLock::RowExclusive)
    }

    /// Tables that are changed, and after them those whose rows foreign keys change in turn.
    fn with_followers(&self, changed: &[Oid]) -> Vec<Oid> {
        let follows = |action: Action| !matches!(action, Action::NoAction | Action::Restrict);
        let mut all = changed.to_vec();
        let mut at = 0;
        while let Some(table) = all.get(at).and_then(|oid| self.names.catalog.table(*oid)) {
            at += 1;
            for constraint in &table.referenced_by {
                let Some(key) = constraint.foreign_key() else { continue };
                let child = constraint.table().filter(|child| !all.contains(child));
                all.extend(child.filter(|_| follows(key.on_delete) || follows(key.on_update)));
            }
        }
        all
    }

    /// Locks the tables that a plan changes or locks rows of, and plans anew what was planned with other
    /// definitions of them.
    pub(crate) fn lock_planned(&mut self, portal: &mut Portal) -> Result<()> {
        let Work::Plan(running) = &mut portal.work else { return Ok(()) };
        if running.has_locks {
            return Ok(());
        }
        running.has_locks = true;
        let planned = Arc::clone(&running.planned);
        let (changed, locked) = (planned.prepared.changed(), planned.prepared.locked());
        let changed = self.with_followers(changed);
        for relation in locked {
            self.lock(*relation, RelationLock::RowShare)?;
        }
        for relation in &changed {
            self.lock(*relation, RelationLock::RowExclusive)?;
        }
        let newest = self.client.instance.catalogs.newest();
        let same = |relation: &Oid| {
            let before = &self.names.catalog;
            let (then, now) = (before.table(*relation), newest.table(*relation));
            then.map(Arc::as_ptr) == now.map(Arc::as_ptr)
                && now.is_none_or(|table| {
                    let mut columns = table.relation.live_columns();
                    columns.all(|column| is_same_type(before, &newest, column.ty))
                })
        };
        let is_newest = Arc::ptr_eq(&newest, &self.names.catalog) || self.has_own_catalog();
        if is_newest || changed.iter().chain(locked).all(same) {
            return Ok(());
        }
        let snapshot = self.names.catalog.version();
        self.look()?;
        if self.names.catalog.version() == snapshot {
            return Err(Error::new(
                SqlState::SERIALIZATION_FAILURE,
                "could not serialize access due to a concurrent change of a definition",
            ));
        }
        let fresh = self.planned(&portal.parsed, &planned.params)?;
        if fresh.columns != planned.columns {
            let message = "cached plan must not change result type";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        fresh.require_rights(&self.names)?;
        if let Work::Plan(running) = &mut portal.work {
            running.planned = fresh;
            running.restart();
            running.has_locks = true;
        }
        Ok(())
    }
}
