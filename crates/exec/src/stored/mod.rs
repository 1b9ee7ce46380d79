//! [`Stored`]: tables as `table` keeps them, in the transaction of a statement.
//!
//! ```text
//!   Tables::scan    ──> table::rows::Cursor over a range of keys, batch by batch; AS OF at another
//!                       snapshot, with the catalog of then
//!   Tables::insert  ──> Table::conflict, Table::insert     expressions of indexes by [`Values`]
//!   Tables::lock    ──> Table::lock, Table::latest
//! ```
//!
//! The executor's rows have the columns that are there; `table`'s have a value for each column that
//! ever was. Where no column was dropped the two are the same.

mod columns;
mod partitions;
mod scan;
mod system_columns;
mod values;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use sql::eval::Row as EvalRow;
use sql::plan::{LockStrength, LockWait, system};
use store::Csn;
use table::catalog::{Catalog, CatalogCache};
use table::foreign::Checks;
use table::method::ColumnSet;
use table::rows::{
    Change, Counter, Counting, Handles, Load, Reads, Row, RowAt, RowValues, StorageEpoch, Table,
};
use txn::{Isolation, RowLock, Transaction, TxnError, Wait};
use types::{Datum, Error, Oid, Result, RetryReason, SqlState};

pub use values::{Programs, Values};

use crate::tables::{
    Inserted, Locked, Piece, ScanRequest, Scanning, TablePart, Tables, count_given, first_that,
    piece_of_rows,
};
use partitions::placed_columns;
use scan::{Scan, found, leads_nowhere};

/// Tables that are not stored: those of `pg_catalog` and `information_schema`, which are computed, and files.
pub trait Computed {
    /// All rows of a table, with the columns of `attnums`.
    ///
    /// # Errors
    /// The errors of computing the rows, or of opening the file.
    fn rows(&self, relation: Oid, attnums: &[i16]) -> Result<ComputedRows>;
}

/// The rows of a table that is not stored.
pub type ComputedRows = Box<dyn Iterator<Item = Result<Vec<Datum>>> + Send>;

/// The tables of a database in one transaction.
pub struct Stored<'a> {
    txn: RefCell<&'a mut Transaction>,
    checks: RefCell<&'a mut Checks>,
    values: RefCell<&'a mut dyn RowValues>,
    cache: &'a CatalogCache,
    handles: &'a Handles,
    catalog: &'a Catalog,
    computed: &'a dyn Computed,
    /// The handle that was used last.
    last: RefCell<Option<(Oid, Arc<Table>)>>,
    /// The table that is loaded.
    loading: RefCell<Option<Load>>,
    /// How many rows of each table the statement has changed.
    grown: RefCell<Vec<Grown>>,
    counting: Counting,
    is_counted: Cell<bool>,
}

/// The context of a statement's tables, other than its transaction.
#[derive(Clone, Copy)]
pub struct Base<'a> {
    /// Catalogs of the past.
    pub cache: &'a CatalogCache,
    /// The handles of tables.
    pub handles: &'a Handles,
    /// The catalog that the statement was bound with.
    pub catalog: &'a Catalog,
    /// Tables that are computed.
    pub computed: &'a dyn Computed,
    /// How the use of tables is counted.
    pub counting: Counting,
}

/// How many rows of a table a statement has inserted, updated and deleted.
struct Grown {
    table: Arc<Table>,
    rows: i64,
    inserted: u64,
    updated: u64,
    deleted: u64,
}

impl<'a> Stored<'a> {
    /// The tables of a transaction. `values` computes the expressions of indexes.
    pub fn new(
        txn: &'a mut Transaction,
        checks: &'a mut Checks,
        values: &'a mut dyn RowValues,
        base: Base<'a>,
    ) -> Self {
        Self {
            txn: RefCell::new(txn),
            checks: RefCell::new(checks),
            values: RefCell::new(values),
            cache: base.cache,
            handles: base.handles,
            catalog: base.catalog,
            computed: base.computed,
            last: RefCell::default(),
            loading: RefCell::default(),
            grown: RefCell::default(),
            counting: base.counting,
            is_counted: Cell::new(false),
        }
    }

    /// Makes the commit record the numbers of added and removed rows. The caller calls it at the end of the
    /// statement; does nothing the second time.
    pub fn count_rows(&self) {
        if !self.is_counted.replace(true) {
            for grown in self.grown.borrow_mut().drain(..) {
                if grown.rows != 0 {
                    self.txn.borrow_mut().note_rows(grown.table.storage(), grown.rows);
                }
                for (counter, count) in [
                    (Counter::Inserted, grown.inserted),
                    (Counter::Updated, grown.updated),
                    (Counter::Deleted, grown.deleted),
                ] {
                    if count > 0 {
                        grown.table.usage().add(self.counting, counter, count);
                    }
                }
            }
        }
    }

    fn table(&self, oid: Oid) -> Result<Arc<Table>> {
        if let Some((known, table)) = &*self.last.borrow()
            && *known == oid
        {
            return Ok(Arc::clone(table));
        }
        let table = self.handles.table(self.catalog, oid);
        let table = table.ok_or_else(|| no_handle(self.catalog, oid))?;
        *self.last.borrow_mut() = Some((oid, Arc::clone(&table)));
        Ok(table)
    }

    /// The commit before which the past of a table has been deleted; `None` if it was not, or if
    /// the table is gone.
    fn kept_from(&self, relation: Oid) -> Option<Csn> {
        let newest = self.cache.newest();
        let from = newest.relation(relation)?.table()?.forgotten;
        (from > 0).then_some(Csn(from))
    }

    /// Calls `f` with the context for changes of rows, and converts its error.
    fn change<R>(&self, f: impl FnOnce(&mut Change<'_>) -> table::Result<R>) -> Result<R> {
        let (mut txn, mut checks) = (self.txn.borrow_mut(), self.checks.borrow_mut());
        let mut values = self.values.borrow_mut();
        let mut change = Change { txn: &mut txn, values: &mut **values, checks: &mut checks };
        f(&mut change).map_err(error)
    }

    /// Counts changed rows: inserted ones if `rows` is positive, deleted ones if it is negative, an updated one if it
    /// is 0.
    fn grow(&self, table: &Arc<Table>, rows: i64) {
        let mut grown = self.grown.borrow_mut();
        let known = grown.iter().position(|known| known.table.storage() == table.storage());
        let at = known.unwrap_or_else(|| {
            let table = Arc::clone(table);
            grown.push(Grown { table, rows: 0, inserted: 0, updated: 0, deleted: 0 });
            grown.len() - 1
        });
        let known = &mut grown[at];
        known.rows += rows;
        match rows {
            0 => known.updated += 1,
            1.. => known.inserted += rows.unsigned_abs(),
            _ => known.deleted += rows.unsigned_abs(),
        }
    }

    /// Puts columns of a row that was read at the transaction's snapshot, or as it is now (`latest`), into `out`.
    fn put_row(
        &self,
        table: &Table,
        row: &Row,
        attnums: &[i16],
        latest: bool,
        out: &mut Vec<Datum>,
    ) -> Result<()> {
        out.clear();
        for attnum in attnums {
            out.push(match *attnum {
                1.. => row.column(position(*attnum)).map_err(error)?.to_owned(),
                system::KEY => Datum::bytea(row.key()),
                system::PLACED_KEY => placed(table, row.key()),
                system::TABLE => Datum::Oid(table.relation().oid),
                ..system::TEXT_OF => {
                    let txn = self.txn.borrow();
                    self.text_column(table, txn.view(), row.as_ref(), *attnum)?
                }
                _ => self.system_column(table, row.key(), *attnum, latest)?,
            });
        }
        Ok(())
    }
}

/// The place of a column among all that ever were.
fn position(attnum: i16) -> usize {
    usize::try_from(attnum - 1).unwrap_or_default()
}

/// The error 40001 for a statement whose result depends on a row that the snapshot does not see.
fn unseen(newest: Csn) -> table::Error {
    TxnError::Serialization { why: txn::SerializationFailure::Updated(newest) }.into()
}

/// A row of the executor as `table` has it.
fn whole<'r>(table: &Table, row: &'r [Datum]) -> Cow<'r, [Datum]> {
    let relation = table.relation();
    if relation.columns.len() == row.len() {
        return Cow::Borrowed(row);
    }
    let mut all = vec![Datum::Null; relation.columns.len()];
    for (column, value) in relation.live_columns().zip(row) {
        all[position(column.attnum)] = value.clone();
    }
    Cow::Owned(all)
}

/// The user's form of an error of a table.
pub(crate) fn error(error: table::Error) -> Error {
    let state = error.sqlstate();
    match error {
        table::Error::Sql(error) => error,
        table::Error::Txn(TxnError::Serialization { why }) => Error::new(
            state,
            match why {
                txn::SerializationFailure::Updated(_) => {
                    "could not serialize access due to concurrent update"
                }
                _ => "could not serialize access due to read/write dependencies among transactions",
            },
        )
        .with_detail(format!("{why}.")),
        table::Error::Txn(TxnError::Deadlock) => Error::new(state, "deadlock detected"),
        table::Error::Txn(TxnError::Blocked) => Error::retry(RetryReason::Blocked),
        table::Error::Txn(TxnError::LockTimeout) => {
            Error::new(state, "canceling statement due to lock timeout")
        }
        table::Error::Txn(TxnError::Interrupted) => {
            Error::new(state, "canceling statement due to user request")
        }
        other => other.reported(),
    }
}

impl Tables for Stored<'_> {
    fn scan(&self, request: ScanRequest<'_>) -> Result<Scanning> {
        Ok(match request.is_computed {
            true => Box::new(self.computed.rows(request.relation, request.attnums)?),
            false => Box::new(Scan::start_counted(self, request)?),
        })
    }

    fn scan_columns(
        &self,
        request: &ScanRequest<'_>,
        index: Oid,
        numbers: &[i16],
    ) -> Result<Option<Scanning>> {
        let scan = columns::start(self, request, index, numbers)?;
        Ok(scan.map(|scan| Box::new(scan) as Scanning))
    }

    fn next(&self, scan: &mut Scanning, out: &mut Vec<Datum>) -> Result<bool> {
        if let Some(scan) = scan.downcast_mut::<Scan>() {
            return scan.next(self, out);
        }
        let rows = scan.downcast_mut::<ComputedRows>();
        match rows.and_then(Iterator::next).transpose()? {
            Some(row) => {
                *out = row;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn next_that(
        &self,
        scan: &mut Scanning,
        test: &mut dyn FnMut(EvalRow<'_>) -> Result<bool>,
        out: &mut Vec<Datum>,
    ) -> Result<bool> {
        if let Some(scan) = scan.downcast_mut::<Scan>() {
            return scan.next_that(self, test, out);
        }
        first_that(test, out, |out| self.next(scan, out))
    }

    fn next_piece(
        &self,
        scan: &mut Scanning,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<()>,
    ) -> Result<bool> {
        match scan.downcast_mut::<Scan>() {
            Some(scan) => scan.next_piece(self, f),
            None => piece_of_rows(f, |out| self.next(scan, out)),
        }
    }

    fn split(&self, scan: &mut Scanning, rows_each: u64) -> Result<Vec<Box<dyn TablePart>>> {
        match scan.downcast_mut::<Scan>() {
            Some(scan) => scan.split(self, rows_each),
            None => Ok(Vec::new()),
        }
    }

    fn count(&self, scan: &mut Scanning, most: u64) -> Result<u64> {
        match scan.downcast_mut::<Scan>() {
            Some(scan) => scan.count(self, most),
            None => count_given(most, |row| self.next(scan, row)),
        }
    }

    fn get(
        &self,
        relation: Oid,
        index: Option<Oid>,
        key: &[u8],
        attnums: &[i16],
        out: &mut Vec<Datum>,
    ) -> Result<bool> {
        let table = self.table(relation)?;
        let mut reads = Reads::of_index(table.usage(), table.index_usage(index), self.counting);
        let row = {
            let txn = self.txn.borrow();
            let Some(key) = found(&table, txn.view(), index, key)? else { return Ok(false) };
            table.get_with(txn.view(), &key, ColumnSet::Columns(attnums)).map_err(error)?
        };
        match row {
            Some(row) => {
                reads.add(1);
                self.put_row(&table, &row, attnums, false, out).map(|()| true)
            }
            None if index.is_some() => Err(leads_nowhere(&table, index)),
            None => Ok(false),
        }
    }

    fn insert(&self, relation: Oid, row: &[Datum], arbiters: Option<&[Oid]>) -> Result<Inserted> {
        let table = self.table(relation)?;
        if table.relation().partitioning().is_some() {
            return self.insert_placed(&table, row, arbiters);
        }
        let row = whole(&table, row);
        let mut loading = self.loading.borrow_mut();
        let load = loading.as_mut().filter(|load| load.table().storage() == table.storage());
        let inserted = self.change(|change| {
            if let (Some(load), None) = (load, arbiters) {
                return load.insert(change, &row).map(|()| Inserted::Loading);
            }
            if let Some(arbiters) = arbiters {
                let deciding = table.indexes().iter().enumerate().filter(|(_, index)| {
                    index.decides_conflicts()
                        && (arbiters.is_empty() || arbiters.contains(&index.relation().oid))
                });
                let deciding: Vec<usize> = deciding.map(|(at, _)| at).collect();
                if let Some(key) = table.conflict(change, &row, &deciding)? {
                    let txn = &*change.txn;
                    let is_seen = txn.isolation() == Isolation::ReadCommitted
                        || table.get(txn.view(), &key)?.is_some();
                    return match is_seen {
                        true => Ok(Inserted::Conflict(key)),
                        false => Err(unseen(txn.latest().csn())),
                    };
                }
            }
            Ok(Inserted::Done(table.insert(change, &row)?))
        })?;
        if !matches!(inserted, Inserted::Conflict(_)) {
            self.grow(&table, 1);
        }
        Ok(inserted)
    }

    fn begin_load(&self, relation: Oid, is_large: bool) -> Result<bool> {
        let table = self.table(relation)?;
        if table.relation().partitioning().is_some() {
            return Ok(false);
        }
        let load = table.load(&mut self.txn.borrow_mut(), is_large).map_err(error)?;
        let begins = load.is_some();
        *self.loading.borrow_mut() = load;
        Ok(begins)
    }

    fn end_load(&self, _: Oid) -> Result<()> {
        match self.loading.take() {
            Some(load) => self.change(|change| load.finish(change)),
            None => Ok(()),
        }
    }

    fn is_in_partition(&self, relation: Oid, row: &[Datum]) -> Result<bool> {
        self.is_at_home(relation, row)
    }

    fn update(&self, relation: Oid, key: &[u8], old: &[Datum], new: &[Datum]) -> Result<()> {
        let table = self.table(relation)?;
        if table.relation().partitioning().is_some() {
            return self.update_placed(&table, key, old, new);
        }
        let (old, new) = (whole(&table, old), whole(&table, new));
        self.change(|change| table.update(change, key, &old, &new))?;
        self.grow(&table, 0);
        Ok(())
    }

    fn delete(&self, relation: Oid, key: &[u8], old: &[Datum]) -> Result<()> {
        let table = self.table(relation)?;
        if table.relation().partitioning().is_some() {
            return self.delete_placed(&table, key, old);
        }
        let old = whole(&table, old);
        self.change(|change| table.delete(change, key, &old))?;
        self.grow(&table, -1);
        Ok(())
    }

    fn erase(&self, relation: Oid, keys: &[Vec<u8>]) -> Result<()> {
        let split = |key: &Vec<u8>| {
            let (number, key) = key.split_first_chunk::<4>()?;
            Some((store::TableId(u32::from_be_bytes(*number)), key.to_vec()))
        };
        let rows: Vec<RowAt> = keys.iter().filter_map(split).collect();
        for leaf in self.catalog.leaves(relation) {
            let table = self.table(leaf)?;
            let latest = self.txn.borrow().latest();
            let epochs = StorageEpoch::of(&table, &latest, Csn::ZERO, (self.cache, self.handles))
                .map_err(error)?;
            let tables = self.cache.tables();
            let gone = self.change(|change| table::rows::erase(change, &epochs, tables, &rows))?;
            if gone == 0 {
                continue;
            }
            self.grow(&table, -gone);
        }
        Ok(())
    }

    fn lock(
        &self,
        relation: Oid,
        key: &[u8],
        strength: LockStrength,
        wait: LockWait,
        attnums: &[i16],
        out: &mut Vec<Datum>,
    ) -> Result<Locked> {
        if let Some(of) = self.partitioned(relation)? {
            let (part, key) = self.placed_at(key)?;
            let attnums = placed_columns(of.relation(), part.relation(), attnums);
            return self.lock(part.relation().oid, key, strength, wait, &attnums, out);
        }
        let table = self.table(relation)?;
        let row_lock = match strength {
            LockStrength::KeyShare => RowLock::KeyShare,
            LockStrength::Share => RowLock::Share,
            LockStrength::NoKeyUpdate => RowLock::NoKeyUpdate,
            LockStrength::Update => RowLock::Update,
        };
        let patience = if wait == LockWait::Wait { Wait::Allowed } else { Wait::Never };
        let (mut key, mut after) = (Cow::Borrowed(key), self.txn.borrow().snapshot().csn());
        let mut passed: Vec<Vec<u8>> = Vec::new();
        loop {
            let locked = table.lock(&mut self.txn.borrow_mut(), &key, row_lock, patience);
            match locked {
                Ok(txn::Locked::Unchanged) if passed.is_empty() => return Ok(Locked::AsSeen),
                Ok(_) => {}
                Err(table::Error::Txn(TxnError::LockNotAvailable))
                    if wait == LockWait::SkipLocked =>
                {
                    return Ok(Locked::Busy);
                }
                Err(table::Error::Txn(TxnError::LockNotAvailable)) => {
                    let name = &table.relation().name;
                    let message = format!("could not obtain lock on row in relation \"{name}\"");
                    return Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, message));
                }
                Err(other) => return Err(error(other)),
            }
            // If the key of the row was changed, the row goes on under another key, which may have changed again.
            // Another row may have the old key by now.
            let mut moved = table.moved(after, &key);
            if moved.is_none() {
                if self.read(relation, &key, attnums, out)? {
                    return Ok(Locked::Changed);
                }
                // The commit that has moved the row to this key may have moved it on.
                moved = match passed.is_empty() {
                    true => None,
                    false => table.moved(Csn(after.0 - 1), &key),
                };
                moved = moved.filter(|(_, to)| !passed.contains(to));
            }
            let Some((csn, to)) = moved else { return Ok(Locked::Gone) };
            if to.is_empty() {
                let message = "tuple to be locked was already moved to another partition due to \
                               concurrent update";
                return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message));
            }
            passed.push(key.into_owned());
            (after, key) = (csn, Cow::Owned(to));
        }
    }

    fn read(
        &self,
        relation: Oid,
        key: &[u8],
        attnums: &[i16],
        out: &mut Vec<Datum>,
    ) -> Result<bool> {
        if let Some(of) = self.partitioned(relation)? {
            let (part, key) = self.placed_at(key)?;
            let attnums = placed_columns(of.relation(), part.relation(), attnums);
            return self.read(part.relation().oid, key, &attnums, out);
        }
        let table = self.table(relation)?;
        let row = table.latest(&self.txn.borrow(), key).map_err(error)?;
        match row {
            Some(row) => self.put_row(&table, &row, attnums, true, out).map(|()| true),
            None => Ok(false),
        }
    }
}

/// The error for a relation of a catalog that has no handle.
fn no_handle(catalog: &Catalog, oid: Oid) -> Error {
    match catalog.table(oid) {
        Some(def) => {
            let message = format!("the past of \"{}\" is not kept", def.relation.name);
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        }
        None => {
            let message = format!("relation with OID {oid} does not exist");
            Error::new(SqlState::UNDEFINED_TABLE, message)
        }
    }
}

/// The key by which the partitioned table knows a row of a partition.
fn placed(table: &Table, key: &[u8]) -> Datum {
    Datum::bytea(partitions::placed(table.relation().oid, key))
}

/// `ctid` of a row: its number, for rows that have hidden ones.
fn row_number(table: &Table, key: &[u8]) -> Result<Datum> {
    let number = key.try_into().ok().filter(|_| table.keyed_by().is_empty());
    let number = number.map(i64::from_be_bytes).ok_or_else(|| {
        let message = format!(
            "ctid of table \"{}\" is not supported: its rows are stored by primary key",
            table.relation().name
        );
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    })?;
    Ok(Datum::Int8(number))
}
