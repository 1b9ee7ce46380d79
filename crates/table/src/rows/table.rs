//! [`Table`]: the handle of a table, which reads and changes its rows. There is one for each version of its
//! definition.
//!
//! ```text
//!   insert   lock the key ── is it there? ── put the row ── entries of the indexes ── foreign keys
//!   update   (the caller has locked the row, read it, and computed the new row)
//!            same key: put or patch, entries that differ      another key: delete, insert
//!   delete   end the row, end its entries ── foreign keys that refer to it, at the end of the statement
//! ```
//!
//! # Invariants
//! * Each operation happens as a whole or not at all: if it fails, its writes and locks are undone.
//! * An entry of a unique index is written under a lock of its own, every other entry under the lock of
//!   its row.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use store::{Csn, Op, TableId};
use txn::{Locked, RowLock, Transaction, View, Wait};
use types::{Datum, DatumRef, KeyOrder, Object, Oid, SqlState, key, row, text};

use super::change::{Change, RowValues};
use super::ids::RowIds;
use super::layout::{Batch, Layout, Row};
use super::moves::Moves;
use super::parts::Parts;
use super::statistics::Sampled;
use super::usage::{TableUsage, Usage};
use crate::catalog::{Catalog, Relation, Router, TableData, TableDef};
use crate::index::{Entry, Index, KeyShape};
use crate::method::{Access, AccessMethod, ColumnSet, Rows};
use crate::{Error, Result};

/// The initial capacity for the row form of a row that is looked up, in bytes.
const ROW_BYTES: usize = 120;

/// A table: its rows, their indexes and constraints.
#[derive(Debug)]
pub struct Table {
    def: Arc<TableDef>,
    schema: Arc<str>,
    storage: TableId,
    layout: Arc<Layout>,
    /// Positions of the columns by which rows are keyed; none if they have row ids.
    keyed_by: Vec<usize>,
    shape: KeyShape,
    indexes: Vec<Index>,
    rows: Box<dyn Rows>,
    ids: Arc<RowIds>,
    moves: Arc<Moves>,
    pub(super) sampled: Arc<Sampled>,
    /// Finds the partition of a row of a partitioned table.
    router: OnceLock<Option<Router>>,
    usage: TableUsage,
    /// How the values of each column are composed.
    parts: Vec<Parts>,
}

impl Table {
    /// The handle of a table in a schema of that name.
    pub(super) fn new(
        def: &Arc<TableDef>,
        data: &TableData,
        schema: Arc<str>,
        (ids, moves, sampled, usage): (Arc<RowIds>, Arc<Moves>, Arc<Sampled>, TableUsage),
        method: &dyn AccessMethod,
    ) -> Table {
        let relation = &def.relation;
        let keyed_by: Vec<usize> = data.keyed_by.iter().map(|at| position(*at)).collect();
        let columns =
            keyed_by.iter().map(|at| (relation.columns[*at].repr, KeyOrder::ASCENDING)).collect();
        let layout = Arc::new(Layout::new(relation, data.row_version));
        Table {
            schema,
            storage: data.storage,
            rows: method.open(relation, data, &layout),
            layout,
            shape: KeyShape::new(columns),
            indexes: def.indexes.iter().filter_map(Index::new).collect(),
            keyed_by,
            ids,
            moves,
            sampled,
            router: OnceLock::new(),
            usage,
            parts: Vec::new(),
            def: Arc::clone(def),
        }
    }

    /// The same, with the composite types of its columns as a catalog has them.
    pub(super) fn with_types_of(mut self, catalog: &Catalog) -> Table {
        self.parts = Parts::of_columns(catalog, self.relation());
        self
    }

    /// True if the composite values of the column at a position have the same attributes in the rows of another
    /// table.
    pub fn has_attributes_of(&self, other: &Table, at: usize) -> bool {
        self.parts.get(at) == other.parts.get(at)
    }

    /// True if [`Table::has_attributes_of`] holds for each column that both tables have.
    pub fn has_all_attributes_of(&self, other: &Table) -> bool {
        self.parts.iter().zip(&other.parts).all(|(one, other)| one == other)
    }

    /// Converts a composite value of the column at a position of another table to the attributes of this one: added
    /// attributes are NULL, dropped attributes are removed.
    ///
    /// # Errors
    /// 54000 if it is too large.
    pub fn carry(&self, other: &Table, at: usize, value: DatumRef<'_>) -> types::Result<Datum> {
        match (self.parts.get(at), other.parts.get(at)) {
            (Some(now), Some(before)) => now.carry(before, value),
            _ => Ok(value.to_owned()),
        }
    }

    /// A table that is only read: the entries of an index.
    pub(crate) fn of_entries(
        def: &Arc<TableDef>,
        schema: &str,
        method: &dyn AccessMethod,
    ) -> Option<Arc<Table>> {
        let beside = <(Arc<RowIds>, Arc<Moves>, Arc<Sampled>, TableUsage)>::default();
        let data = def.relation.table()?;
        Some(Arc::new(Table::new(def, data, schema.into(), beside, method)))
    }

    /// Returns the router that finds the partition of a row, where it is a partitioned table;
    /// `catalog` is the one that has its definition.
    pub fn router(&self, catalog: &Catalog) -> Option<&Router> {
        self.router.get_or_init(|| Router::of(catalog, self.relation())).as_ref()
    }

    /// Returns the catalog's definition of it.
    pub fn def(&self) -> &Arc<TableDef> {
        &self.def
    }

    /// Its usage counters.
    pub fn usage(&self) -> &Arc<Usage> {
        &self.usage.table
    }

    /// The usage counters of one of its indexes; without an OID those of the key of the rows.
    pub fn index_usage(&self, index: Option<Oid>) -> Option<&Arc<Usage>> {
        let own = || self.indexes.iter().find(|index| index.storage().is_none());
        self.usage.of(index.or_else(|| own().map(|index| index.relation().oid))?)
    }

    /// The relation.
    pub fn relation(&self) -> &Relation {
        &self.def.relation
    }

    /// The name of the schema that it is in.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The table of the store that identifies its rows in locks and in the table of changes. It also has the rows,
    /// unless the access method keeps them elsewhere.
    pub fn storage(&self) -> TableId {
        self.storage
    }

    /// The layout of the stored rows.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The columns by whose values rows are keyed, by position; none if rows have hidden ids.
    pub fn keyed_by(&self) -> &[usize] {
        &self.keyed_by
    }

    /// The shape of the key that is made of these columns. Ranges of rows are made with it.
    pub fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// Its indexes in the order of their OIDs, including the one that the rows themselves are.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// True if one of the wanted columns is kept out of line ([`Rows::is_out_of_line`]).
    pub fn wants_out_of_line(&self, wanted: ColumnSet<'_>) -> bool {
        (0..self.layout.width()).any(|at| self.rows.is_out_of_line(at) && wanted.has(at))
    }

    /// Its rows, as its access method keeps them.
    pub fn rows(&self) -> &dyn Rows {
        &*self.rows
    }

    // --- reading ---------------------------------------------------------------------------------

    /// The key of the row with these values of the columns that it is keyed by.
    pub fn key_of<'a>(&self, values: impl IntoIterator<Item = &'a Datum>) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        for value in values {
            key::write(value.as_ref(), KeyOrder::ASCENDING, &mut out);
        }
        out
    }

    /// The row with this key.
    pub fn get(&self, view: View<'_>, key: &[u8]) -> Result<Option<Row>> {
        self.get_with(view, key, ColumnSet::All)
    }

    /// As [`Table::get`], with the columns that are wanted.
    pub fn get_with(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
    ) -> Result<Option<Row>> {
        let mut row = Row::of(key, &self.layout, ROW_BYTES);
        let found =
            self.rows.read_out_of_line(view, key, wanted, Access::Point, row.bytes_mut())?;
        Ok(found.map(|out_of_line| {
            row.set_out_of_line(out_of_line);
            row
        }))
    }

    /// The key of the row to which an index entry with this key leads. The index has at most one such entry
    /// ([`Index::is_arbiter`]). For the key of the rows themselves it is the same key.
    pub fn find<'k>(
        &self,
        view: View<'_>,
        index: &Index,
        key: &'k [u8],
    ) -> Result<Option<Cow<'k, [u8]>>> {
        let Some(storage) = index.storage() else { return Ok(Some(Cow::Borrowed(key))) };
        let Some(entry) = view.read(storage, key)? else { return Ok(None) };
        Ok(Some(Cow::Owned(index.row_key(key, entry.base())?.to_vec())))
    }

    /// The error of the index with this number, whose entries are not those of the rows.
    pub fn damaged_index(&self, index: Option<Oid>, what: &'static str) -> Error {
        let index = self.indexes.iter().find(|known| Some(known.relation().oid) == index);
        index.map_or(Error::Damaged { what }, |index| index.damaged(what))
    }

    /// Adds the row with this key to `batch`, where there is one, with the columns that are wanted.
    pub fn get_into(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
    ) -> Result<()> {
        batch.lay_out(&self.layout);
        self.rows.read_into(view, key, wanted, Access::Point, batch).map(drop)
    }

    /// The newest version of the row with this key: the last committed one, or that of the transaction itself. Read
    /// it if the lock of a row says that the row has changed ([`Locked::Changed`]).
    pub fn latest(&self, txn: &Transaction, key: &[u8]) -> Result<Option<Row>> {
        let latest = txn.latest();
        self.get(View::of(txn, &latest), key)
    }

    /// Locks a row that a view has returned. Under READ COMMITTED a row that has changed since is not an
    /// error ([`Locked::Changed`]): read [`Table::latest`], which may be `None`.
    pub fn lock(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        strength: RowLock,
        wait: Wait,
    ) -> Result<Locked> {
        Ok(txn.lock_row(self.storage, key, strength, wait)?)
    }

    /// Returns the mode in which a row must be locked if the columns at these positions change. If no key
    /// changes, the mode is compatible with foreign keys that refer to the row.
    pub fn update_lock(&self, changes: impl Fn(usize) -> bool) -> RowLock {
        let is_key = |index: &Index| {
            let is_referred = index.can_be_referred_to() || index.has_periods(self);
            is_referred && index.columns().any(&changes)
        };
        if self.keyed_by.iter().any(|at| changes(*at)) || self.indexes.iter().any(is_key) {
            RowLock::Update
        } else {
            RowLock::NoKeyUpdate
        }
    }

    // --- changing --------------------------------------------------------------------------------

    /// Adds a row: a value for each column by position. Returns its key. The row ids of tables without
    /// a primary key ascend in the order of insertion.
    ///
    /// # Errors
    /// 23502 if a value is NULL that may not be; 23505 if a key exists already, after a wait for
    /// transactions that have written or deleted it and not yet ended; the errors of the transaction.
    pub fn insert(&self, change: &mut Change<'_>, row: &[Datum]) -> Result<Vec<u8>> {
        self.whole(change, |change| self.do_insert(change, row))
    }

    /// Replaces `old`, the newest version of the row at `key`, by `new`. The caller has locked the row
    /// (see [`Table::update_lock`]). Returns the key, which differs from `key` if columns of the key have
    /// changed.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn update(
        &self,
        change: &mut Change<'_>,
        key: &[u8],
        old: &[Datum],
        new: &[Datum],
    ) -> Result<Vec<u8>> {
        self.whole(change, |change| self.do_update(change, key, old, new))
    }

    /// Deletes the row at `key`, whose newest version is `old`. The caller has locked it for update.
    pub fn delete(&self, change: &mut Change<'_>, key: &[u8], old: &[Datum]) -> Result<()> {
        self.whole(change, |change| {
            self.end(change, key, old)?;
            change.checks.deleted(self, old);
            Ok(())
        })
    }

    /// The new key of the row that was at `key` as of the commit `after`, and the commit that changed the key; `None`
    /// if the key has not changed since, or if the change was not recorded.
    pub fn moved(&self, after: Csn, key: &[u8]) -> Option<(Csn, Vec<u8>)> {
        self.moves.after(after, key)
    }

    /// Records that the commit of a transaction moves a row to another partition: [`Table::moved`] then returns an empty
    /// key, which no row has.
    pub fn note_left(&self, txn: &mut Transaction, key: &[u8]) {
        let (moves, from) = (Arc::clone(&self.moves), key.to_vec());
        txn.on_publish(move |commit| moves.note(commit.csn, from, Vec::new()));
    }

    fn whole<R>(
        &self,
        change: &mut Change<'_>,
        f: impl FnOnce(&mut Change<'_>) -> Result<R>,
    ) -> Result<R> {
        let (savepoint, mark) = (change.txn.savepoint(), change.checks.mark());
        let done = f(change);
        if done.is_err() {
            change.txn.rollback_to(savepoint);
            change.checks.rollback_to(mark);
        }
        change.txn.release(savepoint)?;
        done
    }

    fn do_insert(&self, change: &mut Change<'_>, row: &[Datum]) -> Result<Vec<u8>> {
        self.check(row, change.values)?;
        let key = self.add(change, row)?;
        change.checks.inserted(self, change.txn, row)?;
        Ok(key)
    }

    /// Writes a new row and its entries.
    fn add(&self, change: &mut Change<'_>, row: &[Datum]) -> Result<Vec<u8>> {
        let key = self.new_key(change.txn.engine(), row)?;
        let is_there = |view: View<'_>| self.rows.contains(view, &key);
        if !self.keyed_by.is_empty() && is_taken(change.txn, (self.storage, &key), is_there)? {
            return Err(self.duplicate(change.values, None, row));
        }
        self.rows.insert(change.txn, key.clone(), row)?;
        self.follow(change, &key, None, Some(row))?;
        Ok(key)
    }

    /// The key of a new row: of its values, or an id that no other row has.
    pub(super) fn new_key(&self, engine: &txn::Engine, row: &[Datum]) -> Result<Vec<u8>> {
        if self.keyed_by.is_empty() {
            return Ok(self.ids.next(engine, &*self.rows)?.to_vec());
        }
        Ok(self.key_of(self.keyed_by.iter().map(|at| &row[*at])))
    }

    fn do_update(
        &self,
        change: &mut Change<'_>,
        key: &[u8],
        old: &[Datum],
        new: &[Datum],
    ) -> Result<Vec<u8>> {
        self.check(new, change.values)?;
        if self.keyed_by.iter().any(|at| old[*at] != new[*at]) {
            self.end(change, key, old)?;
            let moved = self.add(change, new)?;
            change.checks.updated(self, change.txn, old, new)?;
            let (moves, from, to) = (Arc::clone(&self.moves), key.to_vec(), moved.clone());
            change.txn.on_publish(move |commit| moves.note(commit.csn, from, to));
            return Ok(moved);
        }
        let changes = |at: usize| !same(&old[at], &new[at]);
        let strength = self.update_lock(changes);
        let locked = change.txn.lock_latest(self.storage, key, strength, Wait::Allowed)?;
        self.rows.update(change.txn, key, locked, old, new)?;
        self.follow(change, key, Some(old), Some(new))?;
        change.checks.updated(self, change.txn, old, new)?;
        Ok(key.to_vec())
    }

    /// Updates the index entries of a changed row.
    fn change_entries(
        &self,
        change: &mut Change<'_>,
        key: &[u8],
        old: &[Datum],
        new: &[Datum],
    ) -> Result<()> {
        let changes = |at: usize| !same(&old[at], &new[at]);
        for index in self.indexes.iter().filter(|index| index.storage().is_some()) {
            if !index.may_change(changes) {
                continue;
            }
            let mut before = index.entries(old, key, change.values)?;
            let mut after = index.entries(new, key, change.values)?;
            after.retain(|entry| match before.iter().position(|other| other == entry) {
                Some(at) => {
                    before.swap_remove(at);
                    false
                }
                None => true,
            });
            if index.is_columnar() {
                // An old entry that a new one replaces need not be ended first.
                before.retain(|entry| after.iter().all(|other| other.key != entry.key));
            }
            for entry in before {
                self.end_entry(change, index, key, entry)?;
            }
            for entry in after {
                self.add_entry(change, index, entry, new)?;
            }
            self.exclude(change, index, key, new)?;
        }
        Ok(())
    }

    /// Returns true if the table has indexes with expressions or conditions.
    pub fn has_computed_indexes(&self) -> bool {
        self.indexes.iter().any(Index::is_computed)
    }

    /// Returns true if the table has indexes beside the key of its rows.
    pub fn has_entries(&self) -> bool {
        self.indexes.iter().any(|index| index.storage().is_some())
    }

    /// Updates the index entries of a row: `old` and `new` are its values before and after, `None` if there
    /// was or is no row. For callers that write the row itself through its access method.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn follow(
        &self,
        change: &mut Change<'_>,
        key: &[u8],
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
    ) -> Result<()> {
        if let (Some(old), Some(new)) = (old, new) {
            return self.change_entries(change, key, old, new);
        }
        for index in self.indexes.iter().filter(|index| index.storage().is_some()) {
            if let Some(row) = old {
                for entry in index.entries(row, key, change.values)? {
                    self.end_entry(change, index, key, entry)?;
                }
            }
            if let Some(row) = new {
                for entry in index.entries(row, key, change.values)? {
                    self.add_entry(change, index, entry, row)?;
                }
                self.exclude(change, index, key, row)?;
            }
        }
        Ok(())
    }

    /// Ends a row and its entries.
    pub(super) fn end(&self, change: &mut Change<'_>, key: &[u8], old: &[Datum]) -> Result<()> {
        change.txn.lock_latest(self.storage, key, RowLock::Update, Wait::Allowed)?;
        self.rows.delete(change.txn, key, old)?;
        self.follow(change, key, Some(old), None)
    }

    fn add_entry(
        &self,
        change: &mut Change<'_>,
        index: &Index,
        entry: Entry,
        row: &[Datum],
    ) -> Result<()> {
        let Some(storage) = index.storage() else { return Ok(()) };
        let is_there = |view: View<'_>| Ok(view.read(storage, &entry.key)?.is_some());
        if entry.is_exclusive && is_taken(change.txn, (storage, &entry.key), is_there)? {
            return Err(self.duplicate(change.values, Some(index), row));
        }
        if let Some(prefix) = index.deferred_prefix(&entry) {
            change.checks.unique(self, index, prefix);
        }
        change.txn.write(storage, entry.key, Op::Put(entry.value))?;
        Ok(())
    }

    // --- checks of rows --------------------------------------------------------------------------

    /// Fails if a row has NULL in a column that is NOT NULL.
    pub(super) fn check(&self, row: &[Datum], values: &dyn RowValues) -> Result<()> {
        let columns = &self.relation().columns;
        if row.len() != columns.len() {
            return Err(wrong_row("a value for each column"));
        }
        for (column, value) in columns.iter().zip(row) {
            match value.as_ref().repr() {
                None if column.not_null && !column.is_dropped => {
                    let message = format!(
                        "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                        column.name,
                        self.relation().name
                    );
                    let error = types::Error::new(SqlState::NOT_NULL_VIOLATION, message)
                        .with_detail(self.failing_row(row, values));
                    let error = self.about(error).about(Object::Column, &*column.name);
                    return Err(error.into());
                }
                Some(repr) if repr != column.repr => {
                    return Err(wrong_row("values as their columns hold them"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The sentence in which PostgreSQL shows a row that breaks a constraint.
    pub fn failing_row(&self, row: &[Datum], values: &dyn RowValues) -> String {
        const BYTES_MAX: usize = 64;
        let shown = self.relation().live_columns().map(|column| {
            let value = row[position(column.attnum)].as_ref();
            match text::to_string(value, column.ty, column.modifier, &values.context()) {
                None => "null".to_owned(),
                Some(text) if text.len() > BYTES_MAX => {
                    let end = (0..=BYTES_MAX).rev().find(|at| text.is_char_boundary(*at));
                    format!("{}...", &text[..end.unwrap_or(0)])
                }
                Some(text) => text,
            }
        });
        format!("Failing row contains ({}).", shown.collect::<Vec<_>>().join(", "))
    }

    /// The error about this table.
    pub(crate) fn about(&self, error: types::Error) -> types::Error {
        error.about(Object::Schema, &*self.schema).about(Object::Table, &*self.relation().name)
    }

    /// 23505: `row` has the key of another row. `index` is the index of that key; `None` for the key of the
    /// rows themselves.
    pub(crate) fn duplicate(
        &self,
        values: &mut dyn RowValues,
        index: Option<&Index>,
        row: &[Datum],
    ) -> Error {
        let by_key = || self.indexes.iter().find(|index| index.storage().is_none());
        let Some(index) = index.or_else(by_key) else {
            return wrong_row("a key that no other row has");
        };
        let key = match index.describe(self.relation(), row, values) {
            Ok(key) => key,
            Err(error) => return error,
        };
        let name = &*index.relation().name;
        let message = format!("duplicate key value violates unique constraint \"{name}\"");
        let error = types::Error::new(SqlState::UNIQUE_VIOLATION, message)
            .with_detail(format!("Key {key} already exists."));
        self.about(error).about(Object::Constraint, name).into()
    }

    /// Ends an entry of the row at `key`, which the row no longer has.
    fn end_entry(
        &self,
        change: &mut Change<'_>,
        index: &Index,
        key: &[u8],
        entry: Entry,
    ) -> Result<()> {
        let Some(storage) = index.storage() else { return Ok(()) };
        if entry.is_exclusive {
            change.txn.lock_latest(storage, &entry.key, RowLock::Update, Wait::Allowed)?;
        }
        // No reader will see the old entries of an index that the transaction itself has made.
        let is_untold = change.txn.touches(storage)
            && index.is_fresh(change.txn.engine().store())?
            && self.is_committed(change.txn, key)?;
        if is_untold {
            index.write_backfill(change.txn, key, &entry)?;
        }
        change.txn.write(storage, entry.key, Op::Delete)?;
        Ok(())
    }

    /// True if there is a committed row at a key.
    fn is_committed(&self, txn: &Transaction, key: &[u8]) -> Result<bool> {
        let latest = txn.latest();
        self.rows.contains(View::past(&latest), key)
    }

    // --- ON CONFLICT -----------------------------------------------------------------------------

    /// The key of a row that conflicts with the insertion of `row`, by the indexes at these positions of
    /// [`Table::indexes`], which must be unique or of an exclusion constraint, and immediate. If there is none, no
    /// other transaction can insert one any more, so the insertion will not fail for these indexes. Waits for
    /// running transactions that have written or deleted such a row.
    ///
    /// # Errors
    /// Fails if an entry of an index leads to no row, or as the transaction does.
    pub fn conflict(
        &self,
        change: &mut Change<'_>,
        row: &[Datum],
        arbiters: &[usize],
    ) -> Result<Option<Vec<u8>>> {
        for &at in arbiters {
            let index = &self.indexes[at];
            if index.excludes() {
                if let Some((key, _)) = self.conflicting_row(change, index, None, row)? {
                    return Ok(Some(key));
                }
                continue;
            }
            let Some(storage) = index.storage() else {
                let key = self.key_of(self.keyed_by.iter().map(|at| &row[*at]));
                let is_there =
                    |view: View<'_>| Ok(self.rows.contains(view, &key)?.then(|| key.clone()));
                if let Some(key) = occupant(change.txn, (self.storage, &key), is_there)? {
                    return Ok(Some(key));
                }
                continue;
            };
            for entry in index.entries(row, &[], change.values)? {
                let leads_to = |view: View<'_>| {
                    let Some(found) = view.read(storage, &entry.key)? else { return Ok(None) };
                    let key = index.row_key(&entry.key, found.base())?;
                    match self.rows.contains(view, key)? {
                        true => Ok(Some(key.to_vec())),
                        // The caller would look again and again for the row to go.
                        false => Err(index.leads_nowhere()),
                    }
                };
                if entry.is_exclusive
                    && let Some(key) = occupant(change.txn, (storage, &entry.key), leads_to)?
                {
                    return Ok(Some(key));
                }
            }
        }
        Ok(None)
    }
}

/// Locks a key to the end of the transaction, and returns whether it exists. If another transaction has written
/// it meanwhile, a serializable transaction that had read the key fails with 40001.
fn is_taken(
    txn: &mut Transaction,
    (table, key): (TableId, &[u8]),
    is_there: impl Fn(View<'_>) -> Result<bool>,
) -> Result<bool> {
    match txn.lock_latest(table, key, RowLock::Update, Wait::Allowed)? {
        Locked::Unchanged => is_there(txn.view()),
        Locked::Changed => {
            // Checked first, because the read of the key below counts as a read of the transaction.
            let reads = txn.check_reads();
            let latest = txn.latest();
            let is_there = is_there(View::of(txn, &latest))?;
            if is_there {
                reads?;
            }
            Ok(is_there)
        }
    }
}

/// Returns the key of the row that a key leads to. If there is none, no other transaction can insert one any more.
fn occupant(
    txn: &mut Transaction,
    (table, key): (TableId, &[u8]),
    leads_to: impl Fn(View<'_>) -> Result<Option<Vec<u8>>>,
) -> Result<Option<Vec<u8>>> {
    let look = |txn: &Transaction| {
        let latest = txn.latest();
        leads_to(View::of(txn, &latest))
    };
    // A row that is there needs no lock, unless another transaction is about to delete it.
    if let Some(found) = look(txn)? {
        let savepoint = txn.savepoint();
        txn.lock_latest(table, key, RowLock::KeyShare, Wait::Allowed)?;
        let still = look(txn)?;
        if still.is_some() {
            txn.rollback_to(savepoint);
            txn.release(savepoint)?;
            return Ok(Some(found));
        }
        txn.release(savepoint)?;
    }
    txn.lock_latest(table, key, RowLock::Update, Wait::Allowed)?;
    look(txn)
}

/// The position of the column with an attribute number.
pub(crate) fn position(attnum: i16) -> usize {
    usize::try_from(attnum - 1).expect("columns are numbered from 1")
}

/// True if two values have the same stored bytes. Equal values may differ in them.
pub(crate) fn same(one: &Datum, other: &Datum) -> bool {
    if let (Datum::Jsonb(one), Datum::Jsonb(other)) = (one, other) {
        return match other.changes_of(one) {
            Some(changes) => changes.is_empty(),
            None => one.bytes() == other.bytes(),
        };
    }
    if one != other {
        return false;
    }
    let bytes = |value: &Datum| {
        let mut out = Vec::new();
        row::write(0, [value.as_ref()], &mut out);
        out
    };
    one.as_ref().repr().is_none_or(key::is_reversible) || bytes(one) == bytes(other)
}

fn wrong_row(what: &str) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, format!("a row must have {what}"))
}
