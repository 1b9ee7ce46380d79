//! [`Table`]: the handle of a table, made once for each state of its definition, through which its
//! rows are read and changed.
//!
//! ```text
//!   insert   lock the key ── is it there? ── put the row ── entries of the indexes ── foreign keys
//!   update   (the caller has locked the row, looked at it, and computed what comes in its place)
//!            same key: put or patch, entries that differ      another key: delete, insert
//!   delete   end the row, end its entries ── whoever refers to it, at the end of the statement
//! ```
//!
//! # Invariants
//! * Each operation happens whole or not at all: where it fails, its writes and locks are taken back.
//! * An entry of an index that must be unique is written under a lock of its own, all other entries
//!   under that of their row.

use std::borrow::Cow;
use std::sync::Arc;

use document::Documents;
use store::{Csn, Op, TableId};
use txn::{Locked, RowLock, Transaction, View, Wait};
use types::{Datum, KeyOrder, Object, SqlState, key, row, text};

use super::change::{Change, RowValues};
use super::documents::RowDocuments;
use super::ids::RowIds;
use super::layout::{Batch, Layout, Row, RowRef};
use super::moves::Moves;
use super::patch;
use super::statistics::Sampled;
use crate::catalog::{Relation, TableData, TableDef};
use crate::index::{Entry, Index, KeyShape};
use crate::{Error, Result, Tables};

/// A table: its rows, their indexes and constraints.
#[derive(Debug)]
pub struct Table {
    def: Arc<TableDef>,
    schema: Arc<str>,
    storage: TableId,
    layout: Arc<Layout>,
    /// Positions of the columns by which rows are keyed; none where they have row ids.
    keyed_by: Vec<usize>,
    shape: KeyShape,
    indexes: Vec<Index>,
    documents: Option<RowDocuments>,
    ids: Arc<RowIds>,
    moves: Arc<Moves>,
    pub(super) sampled: Arc<Sampled>,
}

impl Table {
    /// The handle of a table in a schema of that name.
    pub(super) fn new(
        def: &Arc<TableDef>,
        data: &TableData,
        schema: Arc<str>,
        (ids, moves, sampled): (Arc<RowIds>, Arc<Moves>, Arc<Sampled>),
        documents: (&Arc<Documents>, &Tables),
    ) -> Table {
        let relation = &def.relation;
        let keyed_by: Vec<usize> = data.keyed_by.iter().map(|at| position(*at)).collect();
        let columns =
            keyed_by.iter().map(|at| (relation.columns[*at].repr, KeyOrder::ASCENDING)).collect();
        Table {
            schema,
            storage: data.storage,
            layout: Arc::new(Layout::new(relation, data.row_version)),
            shape: KeyShape::new(columns),
            indexes: def.indexes.iter().filter_map(Index::new).collect(),
            documents: data
                .documents
                .map(|own| RowDocuments::new(documents, relation, &keyed_by, data, &own)),
            keyed_by,
            ids,
            moves,
            sampled,
            def: Arc::clone(def),
        }
    }

    /// What the catalog says of it.
    pub fn def(&self) -> &Arc<TableDef> {
        &self.def
    }

    /// The relation.
    pub fn relation(&self) -> &Relation {
        &self.def.relation
    }

    /// The name of the schema that it is in.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Where its rows lie.
    pub fn storage(&self) -> TableId {
        self.storage
    }

    /// How they lie there.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The columns by whose values rows are keyed, by position; none where rows have hidden ids.
    pub fn keyed_by(&self) -> &[usize] {
        &self.keyed_by
    }

    /// How the key is made of these columns: for ranges of rows.
    pub fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// Its indexes in the order of their OIDs, the one that the rows themselves are among them.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// The documents of a table `USING document`.
    pub fn documents(&self) -> Option<&RowDocuments> {
        self.documents.as_ref()
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
        self.get_with(view, key, true)
    }

    /// As [`Table::get`], with a mark in the place of a document that is not wanted.
    pub fn get_with(&self, view: View<'_>, key: &[u8], with_document: bool) -> Result<Option<Row>> {
        let Some(found) = view.read(self.storage, key)? else { return Ok(None) };
        let mut row = Row::of(key, &self.layout, found.base().len());
        match with_document {
            true => self.write_row(view, &found, true, row.bytes_mut())?,
            false => image(&found, row.bytes_mut())?,
        }
        Ok(Some(row))
    }

    /// The key of the row to which the entry with this key leads, of an index in which there is one at most
    /// ([`Index::is_arbiter`]); of the index that the rows themselves are, the key itself.
    pub fn find<'k>(
        &self,
        view: View<'_>,
        index: &Index,
        key: &'k [u8],
    ) -> Result<Option<Cow<'k, [u8]>>> {
        let Some(storage) = index.storage() else { return Ok(Some(Cow::Borrowed(key))) };
        let Some(entry) = view.read(storage, key)? else { return Ok(None) };
        Ok(Some(Cow::Owned(Entry::row_key(key, entry.base())?.to_vec())))
    }

    /// Adds the row with this key to `batch`, where there is one; a mark in the place of a document that is
    /// not wanted.
    pub fn get_into(
        &self,
        view: View<'_>,
        key: &[u8],
        with_document: bool,
        batch: &mut Batch,
    ) -> Result<()> {
        batch.lay_out(&self.layout);
        let Some(found) = view.read(self.storage, key)? else { return Ok(()) };
        batch.push(key, |out| match with_document {
            true => self.write_row(view, &found, true, out),
            false => image(&found, out),
        })
    }

    /// Appends the row that was found in a view, with its document; `keep` where that will be asked for
    /// again soon.
    pub(super) fn write_row(
        &self,
        view: View<'_>,
        found: &txn::Row<'_>,
        keep: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let from = out.len();
        image(found, out)?;
        match &self.documents {
            None => Ok(()),
            Some(documents) => {
                documents.fill(&self.layout, from, out, |key| documents.seen(view, key, keep))
            }
        }
    }

    /// The text of the document of a row that a view has, which may have been read without it; `None` where
    /// the row has none, or the table.
    pub fn document_text(&self, view: View<'_>, row: RowRef<'_>) -> Result<Option<String>> {
        let Some(documents) = &self.documents else { return Ok(None) };
        documents.text(&self.layout, row.bytes(), |key| documents.seen(view, key, true))
    }

    /// The row with this key as it was last committed, or as the transaction itself has made it: what
    /// is to be looked at again where a row that was locked has changed ([`Locked::Changed`]).
    pub fn latest(&self, txn: &Transaction, key: &[u8]) -> Result<Option<Row>> {
        let latest = txn.latest();
        self.get(View::of(txn, &latest), key)
    }

    /// Locks a row of which a view has told. Under READ COMMITTED a row that has changed since is no
    /// failure ([`Locked::Changed`]): look at [`Table::latest`], which may have none any more.
    pub fn lock(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        strength: RowLock,
        wait: Wait,
    ) -> Result<Locked> {
        Ok(txn.lock_row(self.storage, key, strength, wait)?)
    }

    /// How strongly a row is to be locked of which the columns at these positions change: whoever
    /// changes no key gets along with foreign keys that refer to the row.
    pub fn update_lock(&self, changes: impl Fn(usize) -> bool) -> RowLock {
        let is_key = |index: &Index| index.can_be_referred_to() && index.columns().any(&changes);
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
    /// 23502 where a value is NULL that may not be; 23505 where a key is there already, after waiting
    /// for transactions that are about to write or delete it; what the transaction reports.
    pub fn insert(&self, change: &mut Change<'_>, row: &[Datum]) -> Result<Vec<u8>> {
        self.whole(change, |change| self.do_insert(change, row))
    }

    /// Puts `new` in the place of `old`, the newest state of the row at `key`, which the caller has
    /// locked (see [`Table::update_lock`]). Returns the key, which is another one where columns that
    /// the row is keyed by have changed.
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

    /// Ends the row at `key`, whose newest state is `old`, which the caller has locked for update.
    pub fn delete(&self, change: &mut Change<'_>, key: &[u8], old: &[Datum]) -> Result<()> {
        self.whole(change, |change| {
            self.end(change, key, old)?;
            change.checks.deleted(self, old);
            Ok(())
        })
    }

    /// Where the row at `key` went that was there when the commit `after` was the newest, if its key has changed
    /// since, and the commit that changed it; `None` also where that was not noted.
    pub fn moved(&self, after: Csn, key: &[u8]) -> Option<(Csn, Vec<u8>)> {
        self.moves.after(after, key)
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
        if !self.keyed_by.is_empty() && is_taken(change.txn, self.storage, &key)? {
            return Err(self.duplicate(change.values, None, row));
        }
        self.put_row(change.txn, key.clone(), Op::Put(self.encode(row)))?;
        if let Some(documents) = &self.documents {
            documents.put(change.txn, row)?;
        }
        for index in self.indexes.iter().filter(|index| index.storage().is_some()) {
            for entry in index.entries(row, &key, change.values)? {
                self.add_entry(change, index, entry, row)?;
            }
        }
        Ok(key)
    }

    /// Writes a row, of which the table of changes tells.
    fn put_row(&self, txn: &mut Transaction, key: Vec<u8>, op: Op) -> Result<()> {
        txn.note_changes(self.storage);
        Ok(txn.write(self.storage, key, op)?)
    }

    /// The key of a new row: of its values, or an id that no other row has.
    pub(super) fn new_key(&self, engine: &txn::Engine, row: &[Datum]) -> Result<Vec<u8>> {
        if self.keyed_by.is_empty() {
            return Ok(self.ids.next(engine, self.storage)?.to_vec());
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
        let op = self.written(change.txn, locked, key, new)?;
        self.put_row(change.txn, key.to_vec(), op)?;
        if let Some(documents) = &self.documents
            && changes(documents.column())
        {
            documents.update(change.txn, old, new)?;
        }
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
            for entry in before {
                self.end_entry(change, index, key, entry)?;
            }
            for entry in after {
                self.add_entry(change, index, entry, new)?;
            }
        }
        change.checks.updated(self, change.txn, old, new)?;
        Ok(key.to_vec())
    }

    /// How the new state of a row is written: as a patch where little of a large row changes.
    fn written(&self, txn: &Transaction, locked: Locked, key: &[u8], new: &[Datum]) -> Result<Op> {
        let bytes = self.encode(new);
        if locked == Locked::Unchanged
            && !txn.is_large()
            && bytes.len() >= patch::ROW_BYTES_MIN
            && let Some(found) = txn.read(self.storage, key)?
        {
            let mut before = Vec::with_capacity(bytes.len());
            image(&found, &mut before)?;
            if let Some(patch) = patch::diff(&before, &bytes, &self.layout)? {
                return Ok(Op::Delta(patch));
            }
        }
        Ok(Op::Put(bytes))
    }

    /// Ends a row and its entries.
    pub(super) fn end(&self, change: &mut Change<'_>, key: &[u8], old: &[Datum]) -> Result<()> {
        change.txn.lock_latest(self.storage, key, RowLock::Update, Wait::Allowed)?;
        self.put_row(change.txn, key.to_vec(), Op::Delete)?;
        if let Some(documents) = &self.documents {
            documents.remove(change.txn, old)?;
        }
        for index in self.indexes.iter().filter(|index| index.storage().is_some()) {
            for entry in index.entries(old, key, change.values)? {
                self.end_entry(change, index, key, entry)?;
            }
        }
        Ok(())
    }

    fn add_entry(
        &self,
        change: &mut Change<'_>,
        index: &Index,
        entry: Entry,
        row: &[Datum],
    ) -> Result<()> {
        let Some(storage) = index.storage() else { return Ok(()) };
        if entry.is_exclusive && is_taken(change.txn, storage, &entry.key)? {
            return Err(self.duplicate(change.values, Some(index), row));
        }
        if let Some(prefix) = index.deferred_prefix(&entry) {
            change.checks.unique(self, index, prefix);
        }
        change.txn.write(storage, entry.key, Op::Put(entry.value))?;
        Ok(())
    }

    /// The values of a stored row, without its document.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Vec<Datum>> {
        let mut row = Row::of(&[], &self.layout, bytes.len());
        row.bytes_mut().extend_from_slice(bytes);
        row.to_datums()
    }

    pub(super) fn encode(&self, values: &[Datum]) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + 8 * values.len());
        let version = self.layout.version;
        match &self.documents {
            None => row::write(version, values.iter().map(Datum::as_ref), &mut out),
            Some(documents) => {
                let (at, mark) = (documents.column(), documents.mark(&values[documents.column()]));
                let stored = values.iter().enumerate();
                let stored = stored.map(|(i, value)| if i == at { &mark } else { value }.as_ref());
                row::write(version, stored, &mut out);
            }
        }
        out
    }

    // --- what a row must be ----------------------------------------------------------------------

    /// Refuses a row that the columns do not take.
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

    /// 23505: `row` has the key of another row. `index` is the one that found it, none where that is
    /// the key that rows are stored by.
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

    /// Ends an entry of the row at `key`, which will not be so any more.
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
        // Of an index that the transaction itself has made nobody will see that the entry was there.
        let is_untold = change.txn.touches(storage)
            && index.is_fresh(change.txn.engine().store())?
            && self.is_committed(change.txn, key)?;
        if is_untold {
            index.tell_before(change.txn, key, &entry)?;
        }
        change.txn.write(storage, entry.key, Op::Delete)?;
        Ok(())
    }

    /// True where others see a row at a key.
    fn is_committed(&self, txn: &Transaction, key: &[u8]) -> Result<bool> {
        let latest = txn.latest();
        Ok(View::past(&latest).read(self.storage, key)?.is_some())
    }

    // --- ON CONFLICT -----------------------------------------------------------------------------

    /// The key of a row that stands in the way of inserting `row`, by the indexes at these positions
    /// of [`Table::indexes`], which must be unique and immediate. Where there is none, nobody else can
    /// put one there any more: the insertion will not fail for these indexes. Waits for transactions
    /// that are about to write such a row, or to delete one.
    pub fn conflict(
        &self,
        change: &mut Change<'_>,
        row: &[Datum],
        arbiters: &[usize],
    ) -> Result<Option<Vec<u8>>> {
        for &at in arbiters {
            let index = &self.indexes[at];
            let Some(storage) = index.storage() else {
                let key = self.key_of(self.keyed_by.iter().map(|at| &row[*at]));
                if occupant(change.txn, self.storage, &key)?.is_some() {
                    return Ok(Some(key));
                }
                continue;
            };
            for entry in index.entries(row, &[], change.values)? {
                if entry.is_exclusive
                    && let Some(value) = occupant(change.txn, storage, &entry.key)?
                {
                    return Ok(Some(Entry::row_key(&entry.key, &value)?.to_vec()));
                }
            }
        }
        Ok(None)
    }
}

/// Appends the merged value of a row.
pub(crate) fn image(found: &txn::Row<'_>, out: &mut Vec<u8>) -> Result<()> {
    if found.is_image() {
        out.extend_from_slice(found.base());
        return Ok(());
    }
    let merged = patch::merge(found.base(), found.deltas().map(|(_, patch)| patch), out);
    merged.map_err(|_| Error::Damaged { what: "a patch of a row" })
}

/// Locks `key` for ever (until the end, that is) and tells whether there is something. Where somebody else
/// has put it there meanwhile, a serializable transaction that had looked for it fails with 40001.
fn is_taken(txn: &mut Transaction, table: TableId, key: &[u8]) -> Result<bool> {
    match txn.lock_latest(table, key, RowLock::Update, Wait::Allowed)? {
        Locked::Unchanged => Ok(txn.read(table, key)?.is_some()),
        Locked::Changed => {
            // Asked before this look at the key counts as one.
            let reads = txn.check_reads();
            let latest = txn.latest();
            let is_there = View::of(txn, &latest).read(table, key)?.is_some();
            if is_there {
                reads?;
            }
            Ok(is_there)
        }
    }
}

/// What is at `key`; where there is nothing, nobody else can put anything there any more.
fn occupant(txn: &mut Transaction, table: TableId, key: &[u8]) -> Result<Option<Vec<u8>>> {
    let look = |txn: &Transaction| -> Result<Option<Vec<u8>>> {
        let latest = txn.latest();
        let found = View::of(txn, &latest).read(table, key)?;
        Ok(found.map(|row| row.base().to_vec()))
    };
    // A row that is there needs no lock, unless somebody is about to delete it.
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

/// True where two values are stored alike, which is more than being equal.
fn same(one: &Datum, other: &Datum) -> bool {
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

impl RowRef<'_> {
    /// The row as one that is owned.
    pub fn to_row(self, table: &Table) -> Row {
        let mut row = Row::of(self.key(), &table.layout, self.bytes().len());
        row.bytes_mut().extend_from_slice(self.bytes());
        row
    }
}
