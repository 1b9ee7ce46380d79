//! [`Checks`]: the checks and actions that are left after the rows of a statement have changed:
//! foreign keys with their actions, and uniqueness that may be checked late.
//!
//! ```text
//!   statement                              its end                            the commit
//!   insert child ── parent there? ──yes─ nothing left
//!                        └──no──> now ──> there now? 23503
//!                             or later (deferred) ─────────────────────────> there now? 23503
//!   delete parent ──────────────> now ──> CASCADE, SET NULL, SET DEFAULT: change the children,
//!                                         which leaves more to be checked
//!                                         RESTRICT, NO ACTION: children left? 23503
//! ```
//!
//! A transaction that refers to a row holds it by a KEY SHARE lock until the commit. This lock gets
//! along with other such locks and with changes that leave the keys alone. A transaction that
//! deletes a row, or changes its keys, has it locked for update. So it finds every committed row
//! that refers to it, at every level of isolation: checks read the newest commit *now*, with the
//! transaction's own writes.
//!
//! # Invariants
//! * A change of rows never returns with a check forgotten: a check that cannot be decided at once
//!   is in `now` or in `deferred`.
//! * Nothing is left in `now` between statements, and nothing in `deferred` when a commit is ordered.

mod action;
mod comparable;
mod lookup;
mod period;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use txn::{KeyRange, RowLock, Transaction, View, Wait};
use types::{Datum, Object, Oid, SqlState};

use crate::catalog::{Action, Catalog, Column, Constraint, ForeignKey, MatchType};
use crate::index::Index;
use crate::rows::{Change, Handles, RowValues, Table, position};
use crate::{Error, Result};
pub(crate) use comparable::may_refer;
use lookup::ReferenceLookup;

/// Something to be checked.
#[derive(Clone, Debug)]
struct Event {
    constraint: Arc<Constraint>,
    what: PendingCheck,
}

#[derive(Clone, Debug)]
enum PendingCheck {
    /// Rows of the table have equal keys in the index, perhaps: entries that begin with `prefix`.
    Unique { table: Oid, index: Oid, prefix: Vec<u8> },
    /// The row with this key may be excluded by another one of the table, by the index.
    Excluded { table: Oid, index: Oid, key: Vec<u8> },
    /// A row refers to a row with this key.
    Refers { values: Vec<Datum> },
    /// A row with this key is gone, or has another key now.
    Gone { old: Vec<Datum>, new: Option<Vec<Datum>> },
    /// A row with this key was erased: no row may refer to it, whatever the action of the foreign key.
    Erased { old: Vec<Datum> },
}

/// How far the lists had come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    now: usize,
    deferred: usize,
}

/// The state of a transaction's checks at a savepoint: two positions, whatever is left to be checked.
#[derive(Clone, Debug)]
pub struct SavedChecks {
    deferred: usize,
    finished: usize,
    modes: Modes,
}

/// A deferred event. It keeps its place when it has been checked, so that a rollback to a savepoint before
/// can defer it again.
#[derive(Debug)]
struct DeferredEvent {
    event: Event,
    is_finished: bool,
}

/// The modes that `SET CONSTRAINTS` has set.
#[derive(Clone, Debug, Default)]
struct Modes {
    all: Option<bool>,
    each: HashMap<Oid, bool, FixedState>,
}

/// The checks that a transaction has left.
#[derive(Debug)]
pub struct Checks {
    handles: Arc<Handles>,
    catalog: Arc<Catalog>,
    now: Vec<Event>,
    deferred: Vec<DeferredEvent>,
    /// Positions in `deferred` of those that `SET CONSTRAINTS` has had checked, in the order of that.
    finished: Vec<usize>,
    modes: Modes,
    /// The row that takes the place of the one that is ended next, in another partition.
    moving: Option<Vec<Datum>>,
}

impl Checks {
    /// Nothing yet; tables are found in `catalog`.
    pub fn new(handles: Arc<Handles>, catalog: Arc<Catalog>) -> Checks {
        Checks {
            handles,
            catalog,
            now: Vec::new(),
            deferred: Vec::new(),
            finished: Vec::new(),
            modes: Modes::default(),
            moving: None,
        }
    }

    /// Tables are found in this catalog from now on: at each statement, the one that it was bound with.
    pub fn set_catalog(&mut self, catalog: Arc<Catalog>) {
        self.catalog = catalog;
    }

    /// True if the commit has nothing to check.
    pub fn is_empty(&self) -> bool {
        self.now.is_empty() && self.deferred.iter().all(|deferred| deferred.is_finished)
    }

    /// Makes the checks that are due at the end of a statement, and carries out the actions of
    /// foreign keys.
    ///
    /// # Errors
    /// 23503 and 23505; the errors of changing rows. The statement is then to be rolled back.
    pub fn end_statement(
        &mut self,
        txn: &mut Transaction,
        values: &mut dyn RowValues,
    ) -> Result<()> {
        while !self.now.is_empty() {
            for event in std::mem::take(&mut self.now) {
                if let Err(error) = self.run(txn, values, &event) {
                    self.now.clear();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Forgets what the statement had left to be checked: it is rolled back.
    pub fn abandon_statement(&mut self) {
        self.now.clear();
    }

    /// Checks everything that was put off: before the commit.
    ///
    /// # Errors
    /// As [`Checks::end_statement`]; the transaction is then to be rolled back.
    pub fn end_transaction(
        &mut self,
        txn: &mut Transaction,
        values: &mut dyn RowValues,
    ) -> Result<()> {
        let left = self.deferred.drain(..).filter(|deferred| !deferred.is_finished);
        self.now.extend(left.map(|deferred| deferred.event));
        self.finished.clear();
        self.modes = Modes { all: Some(false), each: HashMap::default() };
        self.end_statement(txn, values)
    }

    /// `SET CONSTRAINTS`: those with these OIDs, or all that are deferrable, are checked at the
    /// commit from now on, or at the end of each statement. Checks that were put off and should not
    /// be any more are made at once.
    ///
    /// # Errors
    /// As [`Checks::end_statement`].
    pub fn set(
        &mut self,
        txn: &mut Transaction,
        values: &mut dyn RowValues,
        constraints: Option<&[Oid]>,
        deferred: bool,
    ) -> Result<()> {
        match constraints {
            None => self.modes = Modes { all: Some(deferred), each: HashMap::default() },
            Some(oids) => self.modes.each.extend(oids.iter().map(|oid| (*oid, deferred))),
        }
        for (at, deferred) in self.deferred.iter_mut().enumerate() {
            if !deferred.is_finished && !self.modes.is_deferred(&deferred.event.constraint) {
                deferred.is_finished = true;
                self.finished.push(at);
                self.now.push(deferred.event.clone());
            }
        }
        self.end_statement(txn, values)
    }

    /// The state to go back to with a savepoint.
    pub fn save(&self) -> SavedChecks {
        SavedChecks {
            deferred: self.deferred.len(),
            finished: self.finished.len(),
            modes: self.modes.clone(),
        }
    }

    /// Goes back to what [`Checks::save`] gave, as the transaction goes back to its savepoint.
    pub fn restore(&mut self, saved: &SavedChecks) {
        self.now.clear();
        for at in self.finished.drain(saved.finished..) {
            self.deferred[at].is_finished = false;
        }
        self.deferred.truncate(saved.deferred);
        self.modes.clone_from(&saved.modes);
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { now: self.now.len(), deferred: self.deferred.len() }
    }

    pub(crate) fn rollback_to(&mut self, mark: Mark) {
        self.now.truncate(mark.now);
        self.deferred.truncate(mark.deferred);
    }

    fn push(&mut self, constraint: &Arc<Constraint>, what: PendingCheck) {
        // Actions of foreign keys on other rows are never put off.
        let is_check = match (&what, constraint.foreign_key()) {
            (PendingCheck::Gone { new: None, .. }, Some(key)) => key.on_delete == Action::NoAction,
            (PendingCheck::Gone { new: Some(_), .. }, Some(key)) => {
                key.on_update == Action::NoAction
            }
            _ => true,
        };
        let event = Event { constraint: Arc::clone(constraint), what };
        if is_check && self.modes.is_deferred(constraint) {
            self.deferred.push(DeferredEvent { event, is_finished: false });
        } else {
            self.now.push(event);
        }
    }

    // --- what changes of rows tell ---------------------------------------------------------------

    /// An entry was added to an index that is checked late.
    pub(crate) fn unique(&mut self, table: &Table, index: &Index, prefix: Vec<u8>) {
        let oid = index.relation().index().and_then(|index| index.constraint);
        let constraint = table.def().constraints.iter().find(|one| Some(one.oid) == oid);
        if let Some(constraint) = constraint.map(Arc::clone) {
            let (table, index) = (table.relation().oid, index.relation().oid);
            self.push(&constraint, PendingCheck::Unique { table, index, prefix });
        }
    }

    /// A row was added or changed of which an exclusion constraint is checked late.
    pub(crate) fn excluded(
        &mut self,
        table: &Table,
        index: &Index,
        constraint: Arc<Constraint>,
        key: &[u8],
    ) {
        let (table, index) = (table.relation().oid, index.relation().oid);
        self.push(&constraint, PendingCheck::Excluded { table, index, key: key.to_vec() });
    }

    /// A row was added.
    pub(crate) fn inserted(
        &mut self,
        table: &Table,
        txn: &mut Transaction,
        row: &[Datum],
    ) -> Result<()> {
        for constraint in &table.def().constraints {
            if let Some(key) = constraint.foreign_key() {
                self.refers(table, txn, constraint, key, row)?;
            }
        }
        Ok(())
    }

    /// Makes the end of the statement check whether a row that was there before `constraint` meets
    /// it.
    ///
    /// # Errors
    /// As [`Checks::end_statement`].
    pub fn validate(
        &mut self,
        txn: &mut Transaction,
        table: &Table,
        constraint: &Arc<Constraint>,
        row: &[Datum],
    ) -> Result<()> {
        match constraint.foreign_key() {
            Some(key) => self.refers(table, txn, constraint, key, row),
            None => Ok(()),
        }
    }

    /// A row was changed.
    pub(crate) fn updated(
        &mut self,
        table: &Table,
        txn: &mut Transaction,
        old: &[Datum],
        new: &[Datum],
    ) -> Result<()> {
        let differs = |columns: &[i16]| {
            columns.iter().any(|attnum| old[position(*attnum)] != new[position(*attnum)])
        };
        for constraint in &table.def().constraints {
            if let Some(key) = constraint.foreign_key().filter(|key| differs(&key.columns)) {
                self.refers(table, txn, constraint, key, new)?;
            }
        }
        // Rows that refer to a key follow it also where it only looks different: from 1.0 to 1.00.
        let is_other = |columns: &[i16]| {
            let is_other = |at: usize| !old[at].as_ref().is_identical(new[at].as_ref());
            columns.iter().any(|attnum| is_other(position(*attnum)))
        };
        for constraint in &table.def().referenced_by {
            if let Some(key) = constraint.foreign_key().filter(|key| is_other(&key.referenced)) {
                self.gone(constraint, key, old, Some(new));
            }
        }
        self.changed_in_partition(table, old, Some(new));
        Ok(())
    }

    /// A row of a partition was changed, or ended: the rows that refer to the tables above follow.
    fn changed_in_partition(&mut self, table: &Table, old: &[Datum], new: Option<&[Datum]>) {
        if table.relation().partition_of().is_none() {
            return;
        }
        let catalog = Arc::clone(&self.catalog);
        for above in catalog.partition_ancestors(table.relation().oid) {
            let Some(def) = catalog.table(above) else { continue };
            if def.referenced_by.is_empty() {
                continue;
            }
            let as_above = |row: &[Datum]| -> Vec<Datum> {
                let value = |column: &Column| {
                    let own = table.relation().column_named(&column.name);
                    own.map(|own| row[position(own.attnum)].clone()).unwrap_or_default()
                };
                def.relation.columns.iter().map(value).collect()
            };
            let (old, new) = (as_above(old), new.map(as_above));
            for constraint in &def.referenced_by {
                let Some(key) = constraint.foreign_key() else { continue };
                let is_other = |attnum: &i16| {
                    let at = position(*attnum);
                    new.as_ref().is_none_or(|new| !old[at].as_ref().is_identical(new[at].as_ref()))
                };
                if key.referenced.iter().any(is_other) {
                    self.gone(constraint, key, &old, new.as_deref());
                }
            }
        }
    }

    /// The row that is ended next goes on in another partition as `new`, by the columns of the partition that it is
    /// in; `None` if that is over.
    pub fn set_moving(&mut self, new: Option<Vec<Datum>>) {
        self.moving = new;
    }

    /// A row was ended.
    pub(crate) fn deleted(&mut self, table: &Table, old: &[Datum]) {
        for constraint in &table.def().referenced_by {
            if let Some(key) = constraint.foreign_key() {
                self.gone(constraint, key, old, None);
            }
        }
        let new = self.moving.clone();
        self.changed_in_partition(table, old, new.as_deref());
    }

    /// A row was erased.
    pub(crate) fn erased(&mut self, table: &Table, old: &[Datum]) {
        for constraint in &table.def().referenced_by {
            if let Some(key) = constraint.foreign_key() {
                let old = pick(old, &key.referenced);
                if !old.iter().any(Datum::is_null) {
                    self.push(constraint, PendingCheck::Erased { old });
                }
            }
        }
        let catalog = Arc::clone(&self.catalog);
        for above in catalog.partition_ancestors(table.relation().oid) {
            for constraint in catalog.table(above).into_iter().flat_map(|def| &def.referenced_by) {
                let Some(key) = constraint.foreign_key() else { continue };
                let value = |attnum: &i16| {
                    let column = catalog.relation(above)?.column(*attnum)?;
                    let own = table.relation().column_named(&column.name)?;
                    Some(old[position(own.attnum)].clone())
                };
                let old: Vec<Datum> = key.referenced.iter().filter_map(value).collect();
                if !old.iter().any(Datum::is_null) {
                    self.push(constraint, PendingCheck::Erased { old });
                }
            }
        }
    }

    fn refers(
        &mut self,
        table: &Table,
        txn: &mut Transaction,
        constraint: &Arc<Constraint>,
        key: &ForeignKey,
        row: &[Datum],
    ) -> Result<()> {
        let values = pick(row, &key.columns);
        let nulls = values.iter().filter(|value| value.is_null()).count();
        if nulls > 0 {
            return match key.match_type {
                MatchType::Full if nulls < values.len() => Err(not_full(table, constraint)),
                _ => Ok(()),
            };
        }
        if !self.is_there(txn, key, &values)? {
            self.push(constraint, PendingCheck::Refers { values });
        }
        Ok(())
    }

    fn gone(
        &mut self,
        constraint: &Arc<Constraint>,
        key: &ForeignKey,
        old: &[Datum],
        new: Option<&[Datum]>,
    ) {
        let old = pick(old, &key.referenced);
        if old.iter().any(Datum::is_null) {
            return; // No foreign key refers to it.
        }
        let new = new.map(|new| pick(new, &key.referenced));
        self.push(constraint, PendingCheck::Gone { old, new });
    }

    // --- checking --------------------------------------------------------------------------------

    fn run(
        &mut self,
        txn: &mut Transaction,
        values: &mut dyn RowValues,
        event: &Event,
    ) -> Result<()> {
        let Event { constraint, what } = event;
        match (what, constraint.foreign_key()) {
            (PendingCheck::Unique { table, index, prefix }, _) => {
                self.check_unique(txn, values, *table, *index, prefix)
            }
            (PendingCheck::Excluded { table, index, key }, _) => {
                let Some(table) = self.handles.table(&self.catalog, *table) else { return Ok(()) };
                let index = table.indexes().iter().find(|one| one.relation().oid == *index);
                let (Some(index), Some(row)) = (index, table.latest(txn, key)?) else {
                    return Ok(());
                };
                let mut change = Change { txn, values, checks: self };
                table.check_excluded(&mut change, index, key, &row.to_datums()?)
            }
            (PendingCheck::Refers { values: refers }, Some(key)) => {
                // It may be that no row refers to this any more: then nothing is missing.
                if self.is_there(txn, key, refers)?
                    || self
                        .referring(txn, constraint, key, ReferenceLookup::Values(refers), 1)?
                        .is_empty()
                {
                    return Ok(());
                }
                Err(self.not_present(constraint, key, refers, values))
            }
            (PendingCheck::Gone { old, new }, Some(key)) => {
                let mut change = Change { txn, values, checks: self };
                action::follow(&mut change, constraint, key, old, new.as_deref())
            }
            (PendingCheck::Erased { old }, Some(key)) => {
                let mut change = Change { txn, values, checks: self };
                action::refuse(&mut change, constraint, key, old)
            }
            (_, None) => Ok(()),
        }
    }

    fn check_unique(
        &mut self,
        txn: &mut Transaction,
        values: &mut dyn RowValues,
        table: Oid,
        index: Oid,
        prefix: &[u8],
    ) -> Result<()> {
        let Some(table) = self.handles.table(&self.catalog, table) else { return Ok(()) };
        let index = table.indexes().iter().find(|one| one.relation().oid == index);
        let Some((index, storage)) = index.and_then(|index| Some((index, index.storage()?))) else {
            return Ok(());
        };
        txn.lock_latest(storage, prefix, RowLock::Update, Wait::Allowed)?;
        let latest = txn.latest();
        let view = View::of(txn, &latest);
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut cursor = txn::Cursor::new(storage, KeyRange::prefix(prefix.to_vec()), false);
        cursor.fill::<Error>(view, |key, row| {
            found.push(index.row_key(key, row.base())?.to_vec());
            Ok(match found.len() {
                0 | 1 => std::ops::ControlFlow::Continue(()),
                _ => std::ops::ControlFlow::Break(()),
            })
        })?;
        let Some(second) = found.get(1) else { return Ok(()) };
        let row = table.get(view, second)?.ok_or_else(|| index.leads_nowhere())?;
        Err(table.duplicate(values, Some(index), &row.to_datums()?))
    }

    /// 23503: there is no row to refer to.
    fn not_present(
        &self,
        constraint: &Constraint,
        key: &ForeignKey,
        refers: &[Datum],
        values: &dyn RowValues,
    ) -> Error {
        let table = constraint.table().and_then(|oid| self.handles.table(&self.catalog, oid));
        let Some(table) = table else { return gone_table() };
        let parent = self.catalog.relation(key.references);
        let parent = parent.map_or("", |parent| &*parent.name);
        let shown = lookup::describe(table.relation(), &key.columns, refers, values);
        violation(&table, constraint, format!("Key {shown} is not present in table \"{parent}\"."))
    }
}

impl Modes {
    fn is_deferred(&self, constraint: &Constraint) -> bool {
        let said = self.each.get(&constraint.oid).copied().or(self.all);
        constraint.is_deferrable && said.unwrap_or(constraint.is_deferred)
    }
}

fn pick(row: &[Datum], columns: &[i16]) -> Vec<Datum> {
    columns.iter().map(|attnum| row[position(*attnum)].clone()).collect()
}

fn not_full(table: &Table, constraint: &Constraint) -> Error {
    let detail = "MATCH FULL does not allow mixing of null and nonnull key values.";
    violation(table, constraint, detail.to_owned())
}

fn violation(table: &Table, constraint: &Constraint, detail: String) -> Error {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        table.relation().name,
        constraint.name
    );
    let error = types::Error::new(SqlState::FOREIGN_KEY_VIOLATION, message).with_detail(detail);
    table.about(error).about(Object::Constraint, &*constraint.name).into()
}

/// The catalog that checks were given does not have a table that rows were changed in.
fn gone_table() -> Error {
    Error::new(SqlState::INTERNAL_ERROR, "a table is not in the catalog that its checks go by")
}
