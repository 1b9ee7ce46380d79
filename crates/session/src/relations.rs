//! Locks of relations: a session that changes rows blocks definitions, and a definition blocks changes of rows.
//!
//! ```text
//!   SELECT                                 READ                   ACCESS SHARE, but DEFINE passes it by
//!   SELECT ... FOR UPDATE                  ROW SHARE
//!   INSERT, UPDATE, DELETE, MERGE, COPY    ROW EXCLUSIVE          each other's: no conflict
//!   VALIDATE CONSTRAINT, COMMENT, ANALYZE  SHARE UPDATE EXCLUSIVE writes go on
//!   CREATE INDEX                           SHARE                  waits for open changes, and they for it
//!   ADD FOREIGN KEY                        SHARE ROW EXCLUSIVE    of both tables
//!   ALTER, DROP, TRUNCATE                  DEFINE                 ACCESS EXCLUSIVE, but readers go on
//! ```
//!
//! A change of rows that foreign keys follow (`ON DELETE CASCADE` and the like) is one of the referring
//! tables too, and rows that refer to others lock the table of those in ROW SHARE. A definition that makes a column locks
//! the composite types and tables whose rows are its values in ROW SHARE, so that their columns stay as they are.
//!
//! Rows and definitions that a query reads are those of one snapshot, so no definition waits for a
//! reader and no reader for a definition. `LOCK TABLE ... IN ACCESS EXCLUSIVE MODE` does: a program asks
//! for it to be alone.
//!
//! A lock that was waited for may find another definition than the statement was planned with; the
//! statement is planned anew then, or fails if its snapshot is older than the definition.

use std::sync::Arc;

use sql::parse::ast::{
    Alter, ColumnConstraint, ColumnConstraintKind, Define, ObjectKind, Path, TableConstraintKind,
    TableElement,
};
use table::catalog::{Action, Catalog, ConstraintOn, Relation, TypeEntry, UserTypeKind};
use txn::{Isolation, RelationLock, TxnError, Wait};
use types::{Oid, SqlState, Type};

use crate::define::domain::tables_looked_at;
use crate::error::{Error, Result};
use crate::functions::pause;
use crate::portal::{Portal, Work};
use crate::query::gone;
use crate::session::Session;

/// How often `DROP INDEX CONCURRENTLY` looks whether the table is still used, in microseconds.
const LOOK_EVERY_US: u64 = 5_000;

/// Relations and the modes to lock them in.
type LockRequests = Vec<(Oid, RelationLock)>;

/// True if a type has the same labels, fields and constraints in two catalogs.
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
                UserTypeKind::Range(range) => range.element,
                UserTypeKind::Multirange(range) => *range,
                UserTypeKind::Enum(_) => Type::NONE,
            };
            Arc::ptr_eq(then, now)
                && old.iter().map(Arc::as_ptr).eq(new.iter().map(Arc::as_ptr))
                && is_same_type(before, after, base)
        }
        (Some(Row(then) | RowArray(then)), Some(Row(now) | RowArray(now))) => {
            let mut columns = now.live_columns();
            Arc::ptr_eq(then, now) && columns.all(|column| is_same_type(before, after, column.ty))
        }
        _ => false,
    }
}

/// The error of a lock that the session itself asked for with [`Session::lock_wait`].
fn blocked(wait: Wait, error: TxnError) -> TxnError {
    match (wait, error) {
        (Wait::Never, TxnError::LockNotAvailable) => TxnError::Blocked,
        (_, error) => error,
    }
}

impl Session {
    pub(crate) fn lock(&mut self, relation: Oid, mode: RelationLock) -> Result<()> {
        let wait = self.lock_wait();
        let inner = self.open().inner.as_mut().ok_or_else(gone)?;
        inner.lock_relation(relation.0, mode, wait).map_err(|error| blocked(wait, error).into())
    }

    /// Whether locks of relations are waited for: where nothing may block, a statement that would have
    /// to fails with [`TxnError::Blocked`], and is run again where it may.
    fn lock_wait(&self) -> Wait {
        if self.inline { Wait::Never } else { Wait::Allowed }
    }

    /// Locks the relations that a definition is about, and looks again at what there is then: until nothing more is to
    /// be locked, because others may have made something while a lock was waited for.
    pub(crate) fn lock_defined(&mut self, define: &Define) -> Result<()> {
        let mut wanted = self.wanted_by(define)?;
        if let Define::Drop { concurrently: true, .. } = define {
            wanted.iter().try_for_each(|(table, _)| self.wait_for_users(*table))?;
        }
        let mut locked = LockRequests::new();
        loop {
            let is_locked = |(relation, mode): &(Oid, RelationLock)| {
                locked.iter().any(|(known, held)| known == relation && held >= mode)
            };
            let mut new = self.with_partitions(wanted);
            new.retain(|one| !is_locked(one));
            if new.is_empty() {
                return Ok(());
            }
            for (relation, mode) in &new {
                self.lock(*relation, *mode)?;
            }
            locked.append(&mut new);
            self.look()?;
            wanted = self.wanted_by(define)?;
        }
    }

    /// Adds the partitioned tables above those that are locked, and the partitions below: who reads or changes a
    /// partitioned table locks that alone.
    pub(crate) fn with_partitions(&self, wanted: LockRequests) -> LockRequests {
        let catalog = &self.names.catalog;
        let mut all = LockRequests::new();
        for (relation, mode) in wanted {
            let mut related = catalog.partition_ancestors(relation);
            related.reverse();
            related.extend(catalog.partition_tree(relation));
            for oid in related {
                match all.iter_mut().find(|(known, _)| *known == oid) {
                    Some((_, known)) => *known = mode.max(*known),
                    None => all.push((oid, mode)),
                }
            }
        }
        all
    }

    /// The relations that a definition locks. A missing relation is no error here: the definition itself reports it.
    fn wanted_by(&self, define: &Define) -> Result<LockRequests> {
        let mut wanted = LockRequests::new();
        match define {
            Define::Index(create) => {
                wanted.extend(self.table_of(&create.table)?.map(|it| (it, RelationLock::Share)));
            }
            Define::Table(create) => {
                if let Some((table, _)) = &create.partition_of {
                    wanted.extend(self.table_of(table)?.map(|it| (it, RelationLock::Define)));
                }
                for element in &create.elements {
                    match element {
                        TableElement::Column(column) => {
                            self.referred_by(&column.constraints, &mut wanted)?;
                        }
                        TableElement::Constraint(constraint) => {
                            if let TableConstraintKind::ForeignKey { references, .. } =
                                &constraint.kind
                            {
                                self.refer_to(&references.table, &mut wanted)?;
                            }
                        }
                        TableElement::Options { constraints, .. } => {
                            self.referred_by(constraints, &mut wanted)?;
                        }
                        TableElement::Like { .. } => {}
                    }
                }
            }
            Define::Alter { name, actions, .. } => {
                self.wanted_by_alter(name, actions, &mut wanted)?
            }
            Define::Policy(policy) | Define::AlterPolicy(policy) => {
                wanted.extend(self.table_of(&policy.table)?.map(|it| (it, RelationLock::Define)));
            }
            Define::Drop { kind: ObjectKind::Policy, names, .. } => {
                for (_, table) in names.iter().filter_map(|name| name.parts.split_last()) {
                    let table = self.table_of(&Path { parts: table.to_vec() })?;
                    wanted.extend(table.map(|table| (table, RelationLock::Define)));
                }
            }
            Define::Reindex { name } => {
                let named = name.as_ref().map(|name| self.table_of(name)).transpose()?.flatten();
                let tables: Vec<Oid> = match name {
                    Some(_) => named.into_iter().collect(),
                    None => self.names.catalog.stale_indexes(None).map(|(of, _)| of).collect(),
                };
                wanted.extend(tables.into_iter().map(|table| (table, RelationLock::Define)));
            }
            Define::Refresh { name, concurrently, .. } => {
                let mode = match concurrently {
                    true => RelationLock::Exclusive,
                    false => RelationLock::Define,
                };
                wanted.extend(self.table_of(name)?.map(|view| (view, mode)));
            }
            Define::Drop {
                kind: ObjectKind::Table | ObjectKind::Index | ObjectKind::MaterializedView,
                names,
                ..
            } => {
                for name in names {
                    let table = self.table_of(name)?;
                    wanted.extend(table.map(|table| (table, RelationLock::Define)));
                }
            }
            Define::Truncate { tables, cascade, .. } => {
                let mut all = Vec::new();
                for (name, _) in tables {
                    all.extend(self.table_of(name)?);
                }
                if *cascade {
                    self.add_referring(&mut all);
                }
                wanted.extend(all.into_iter().map(|table| (table, RelationLock::Define)));
            }
            Define::AlterDomain { name, change } => {
                let tables = tables_looked_at(&self.names, name, change);
                wanted.extend(tables.into_iter().map(|table| (table, RelationLock::Share)));
            }
            Define::Comment { kind, name, .. } => {
                let relation = match (kind, name.parts.split_last()) {
                    (
                        ObjectKind::Table
                        | ObjectKind::Index
                        | ObjectKind::View
                        | ObjectKind::MaterializedView,
                        _,
                    ) => self.relation_of(name)?.map(|relation| relation.oid),
                    (ObjectKind::Column, Some((_, table))) if !table.is_empty() => {
                        let table = Path { parts: table.to_vec() };
                        self.relation_of(&table)?.map(|relation| relation.oid)
                    }
                    _ => None,
                };
                wanted.extend(relation.map(|it| (it, RelationLock::ShareUpdateExclusive)));
            }
            _ => {}
        }
        Ok(wanted)
    }

    /// The locks of `ALTER TABLE` and the like: as much as the strongest of the actions needs.
    fn wanted_by_alter(
        &self,
        name: &Path,
        actions: &[Alter],
        wanted: &mut LockRequests,
    ) -> Result<()> {
        let Some(relation) = self.relation_of(name)? else { return Ok(()) };
        let mut mode = RelationLock::ShareUpdateExclusive;
        let mut others = LockRequests::new();
        for action in actions {
            let needed = match action {
                Alter::Ignored | Alter::SetOptions(_) | Alter::ResetOptions(_) => {
                    RelationLock::ShareUpdateExclusive
                }
                // The name of an index is in no statement that reads or changes rows.
                Alter::Rename(_) if relation.index().is_some() => {
                    RelationLock::ShareUpdateExclusive
                }
                Alter::Validate(constraint) => {
                    let on = ConstraintOn::Table(relation.oid);
                    let all = self.names.catalog.constraints_of(on);
                    let found = all.iter().find(|known| *known.name == *constraint.text);
                    let key = found.and_then(|constraint| constraint.foreign_key());
                    others.extend(key.map(|key| (key.references, RelationLock::RowShare)));
                    RelationLock::ShareUpdateExclusive
                }
                Alter::AddConstraint(constraint) => match &constraint.kind {
                    TableConstraintKind::ForeignKey { references, .. } => {
                        self.refer_to(&references.table, &mut others)?;
                        RelationLock::ShareRowExclusive
                    }
                    _ => RelationLock::Define,
                },
                Alter::AddColumn { column, .. } => {
                    self.referred_by(&column.constraints, &mut others)?;
                    self.add_stores(&relation, &mut others);
                    RelationLock::Define
                }
                Alter::DropColumn { .. } => {
                    self.add_stores(&relation, &mut others);
                    RelationLock::Define
                }
                Alter::Attach { partition, .. } | Alter::Detach { partition, .. } => {
                    let partition = self.table_of(partition)?;
                    others.extend(partition.map(|it| (it, RelationLock::Define)));
                    RelationLock::Define
                }
                _ => RelationLock::Define,
            };
            mode = mode.max(needed);
        }
        let is_renamed_index = relation.index().is_some() && mode != RelationLock::Define;
        let table = match relation.index() {
            Some(index) if !is_renamed_index => index.table,
            _ => relation.oid,
        };
        wanted.push((table, mode));
        wanted.extend(others);
        Ok(())
    }

    /// Adds the tables that have rows of a relation in their columns: they are written anew.
    fn add_stores(&self, relation: &Relation, wanted: &mut LockRequests) {
        let stores = self.names.catalog.stores_of(relation).into_iter();
        wanted.extend(stores.map(|(table, _)| (table, RelationLock::Define)));
    }

    /// Adds the tables that a column refers to.
    fn referred_by(&self, said: &[ColumnConstraint], wanted: &mut LockRequests) -> Result<()> {
        said.iter().try_for_each(|constraint| match &constraint.kind {
            ColumnConstraintKind::References(references) => {
                self.refer_to(&references.table, wanted)
            }
            _ => Ok(()),
        })
    }

    /// Adds the table that a new foreign key refers to.
    fn refer_to(&self, name: &Path, wanted: &mut LockRequests) -> Result<()> {
        let table = self.table_of(name)?;
        wanted.extend(table.map(|table| (table, RelationLock::ShareRowExclusive)));
        Ok(())
    }

    fn relation_of(&self, name: &Path) -> Result<Option<Arc<Relation>>> {
        let (schema, name) = self.names.split(name)?;
        Ok(self.names.user_relation(schema, name).cloned())
    }

    /// The table of this name, or the one that the index of this name is of.
    fn table_of(&self, name: &Path) -> Result<Option<Oid>> {
        let relation = self.relation_of(name)?;
        Ok(relation.map(|it| it.index().map_or(it.oid, |index| index.table)))
    }

    /// Waits until no other transaction uses a table, without keeping any from beginning to.
    fn wait_for_users(&mut self, table: Oid) -> Result<()> {
        let clock = Arc::clone(&self.client.instance.env.clock);
        let timeout_ms = self.client.settings.get_mut().integer("lock_timeout").unsigned_abs();
        let end_us = match timeout_ms {
            0 => u64::MAX,
            ms => clock.monotonic_us() + ms * 1_000,
        };
        loop {
            let inner = self.open().inner.as_mut().ok_or_else(gone)?;
            let mark = inner.savepoint();
            match inner.lock_relation(table.0, RelationLock::AccessExclusive, Wait::Never) {
                Ok(()) => {
                    inner.rollback_to(mark);
                    return Ok(());
                }
                Err(TxnError::LockNotAvailable) => {}
                Err(error) => return Err(error.into()),
            }
            if clock.monotonic_us() >= end_us {
                return Err(TxnError::LockTimeout.into());
            }
            pause(&self.client, LOOK_EVERY_US)?;
        }
    }

    /// Locks a table whose rows are about to be changed.
    pub(crate) fn lock_changed(&mut self, relation: Oid) -> Result<()> {
        self.lock(relation, RelationLock::RowExclusive)
    }

    /// Locks a table that is kept in shape: one statement at a time does that, and changes of rows go on.
    pub(crate) fn lock_maintained(&mut self, relation: Oid) -> Result<()> {
        self.lock(relation, RelationLock::ShareUpdateExclusive)
    }

    /// Adds the tables that refer to those given, and those that refer to them, and so on.
    fn add_referring(&self, tables: &mut Vec<Oid>) {
        let mut at = 0;
        while let Some(table) = tables.get(at).and_then(|oid| self.names.catalog.table(*oid)) {
            at += 1;
            for other in table.referenced_by.iter().filter_map(|constraint| constraint.table()) {
                if !tables.contains(&other) {
                    tables.push(other);
                }
            }
        }
    }

    /// Tables that are changed, and after them those whose rows foreign keys change in turn.
    fn with_followers(&self, changed: &[Oid]) -> Vec<Oid> {
        let follows = |action: Action| !matches!(action, Action::NoAction | Action::Restrict);
        let mut all = changed.to_vec();
        let mut at = 0;
        while let Some(table) = all.get(at).and_then(|oid| self.names.catalog.table(*oid)) {
            at += 1;
            let above = self.names.catalog.partition_ancestors(table.relation.oid);
            let above = above.iter().filter_map(|oid| self.names.catalog.table(*oid));
            let referenced_by = above.flat_map(|above| &above.referenced_by);
            for constraint in table.referenced_by.iter().chain(referenced_by) {
                let Some(key) = constraint.foreign_key() else { continue };
                let child = constraint.table().filter(|child| !all.contains(child));
                all.extend(child.filter(|_| follows(key.on_delete) || follows(key.on_update)));
            }
        }
        all
    }

    /// Locks the tables that the rows of a table refer to, before some of them are changed.
    pub(crate) fn lock_referenced(&mut self, changed: Oid) -> Result<()> {
        let names = Arc::clone(&self.names);
        let Some(table) = names.catalog.table(changed) else { return Ok(()) };
        for constraint in &table.constraints {
            if let Some(key) = constraint.foreign_key() {
                self.lock(key.references, RelationLock::RowShare)?;
            }
        }
        Ok(())
    }

    /// Locks the relations that a query reads; true if others were, or are, about to keep readers
    /// out.
    fn lock_read(&mut self, relations: &[Oid]) -> Result<bool> {
        let wait = self.lock_wait();
        let inner = self.open().inner.as_mut().ok_or_else(gone)?;
        let mut has_waited = false;
        for relation in relations {
            let waited = inner.read_relation(relation.0, wait);
            has_waited |= waited.map_err(|error| blocked(wait, error))?;
        }
        Ok(has_waited)
    }

    /// Locks the relations that a plan reads, changes or locks rows of, and plans anew what was planned
    /// with other definitions of them.
    pub(crate) fn lock_planned(&mut self, portal: &mut Portal) -> Result<()> {
        let Work::Plan(running) = &mut portal.work else { return Ok(()) };
        if running.has_locks {
            return Ok(());
        }
        running.has_locks = true;
        let planned = Arc::clone(&running.planned);
        let has_waited = match planned.reads.is_empty() {
            true => false,
            false => self.lock_read(&planned.reads)?,
        };
        let (changed, locked) = (planned.prepared.changed(), planned.prepared.locked());
        let changed = self.with_followers(changed);
        for relation in locked {
            self.lock(*relation, RelationLock::RowShare)?;
        }
        for relation in &changed {
            self.lock(*relation, RelationLock::RowExclusive)?;
            // A row that goes needs none that it refers to.
            if planned.tag != "DELETE" {
                self.lock_referenced(*relation)?;
            }
        }
        let snapshot = self.names.catalog.version();
        if has_waited && self.open().modes.isolation == Isolation::ReadCommitted {
            // The transaction that it waited for may have changed rows as well.
            self.look()?;
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
        let tree = |oid: &Oid| self.names.catalog.partition_tree(*oid);
        let is_same = is_newest || changed.iter().chain(locked).flat_map(tree).all(|it| same(&it));
        if is_same && self.names.catalog.version() == snapshot {
            return Ok(());
        }
        if !is_same {
            self.look()?;
            if self.names.catalog.version() == snapshot {
                return Err(Error::new(
                    SqlState::SERIALIZATION_FAILURE,
                    "could not serialize access due to a concurrent change of a definition",
                ));
            }
        }
        let fresh = self.planned(&portal.parsed, &planned.params)?;
        if fresh.columns != planned.columns {
            return Err(Error::plan_changed());
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
