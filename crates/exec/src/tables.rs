//! The trait through which operators read and change tables in one transaction. The planner reads its facts
//! about tables through [`plan::Schema`].
//!
//! Rows have the columns that were not dropped, in their order. Keys and ranges of keys are in the key form
//! of [`types::key`].

use std::any::Any;

pub use batch::Piece;
pub use plan::Range;
use sql::eval::Row as EvalRow;
use sql::plan::{LockStrength, LockWait};
pub use table::index::ScanKey;
use types::time::TimestampTz;
use types::{Datum, Oid, Result};

/// The versions of a table that are read, with all times and numbers computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// The rows that the transaction sees.
    Now,
    /// The rows as of a time.
    AsOf(TimestampTz),
    /// The rows as of a commit.
    AtVersion(i64),
    /// Versions that were current at some time in `[from, to)`.
    FromTo(TimestampTz, TimestampTz),
    /// Versions that were current at some time in `[from, to]`.
    Between(TimestampTz, TimestampTz),
    /// Versions that began and ended in `[from, to]`.
    ContainedIn(TimestampTz, TimestampTz),
    /// All versions.
    All,
    /// All versions, and the rows that the transaction itself has written. The key begins with the number of
    /// the table of the store, big-endian.
    Ever,
}

/// A request for a scan: the table, the rows and the columns.
#[derive(Debug)]
pub struct ScanRequest<'a> {
    /// The table.
    pub relation: Oid,
    /// True for a table of `pg_catalog` or `information_schema` that is computed.
    pub is_computed: bool,
    /// The numbers of the columns; those below 0 are system columns ([`sql::plan::system`]).
    pub attnums: &'a [i16],
    /// The versions.
    pub moment: Moment,
    /// The index in whose order the rows come; `None` for the order of the table's own key.
    pub index: Option<Oid>,
    /// The ranges of keys, in key form: at least one, and more than one only for scans of the past by an
    /// index.
    pub ranges: Vec<Range>,
    /// For a GIN index, the items that the rows must have. The scan gives at least the rows that have all of
    /// them, in any order.
    pub scan_keys: Vec<ScanKey>,
    /// True if the scan goes from the end to the beginning.
    pub is_backward: bool,
    /// True if at most one row is in the range: its key, or its entry in the index, is the beginning of the range.
    pub is_single: bool,
    /// True if the scan may give all rows instead, in any order, because that is cheaper than many look-ups.
    pub may_read_all: bool,
}

/// The state of a running scan between two rows. It borrows nothing.
pub type Scanning = Box<dyn Any + Send>;

/// The outcome of an insertion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The row is inserted, under this key.
    Done(Vec<u8>),
    /// The row will be inserted when the load ends.
    Loading,
    /// A conflicting row with this key exists.
    Conflict(Vec<u8>),
}

/// The state of a row that was locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locked {
    /// The row as the statement sees it.
    AsSeen,
    /// It was changed since; the newest state of it has been read.
    Changed,
    /// It was deleted since.
    Gone,
    /// Another transaction has locked it, and the caller asked not to wait.
    Busy,
}

/// A part of a scan, for another thread than that of the statement.
pub trait TablePart: Send {
    /// As [`Tables::next_piece`].
    ///
    /// # Errors
    /// As there.
    fn next_piece(&mut self, f: &mut dyn FnMut(Piece<'_, '_>) -> Result<()>) -> Result<bool>;
}

/// The operations of a statement on tables, in one transaction.
pub trait Tables {
    /// Begins a scan.
    ///
    /// # Errors
    /// The errors of the store.
    fn scan(&self, request: ScanRequest<'_>) -> Result<Scanning>;

    /// Begins a scan that gives the columns of a columnar index with these numbers in the place of those that `request`
    /// names, of the same rows; `None` if the index does not know all rows of that moment.
    ///
    /// # Errors
    /// As [`Tables::scan`].
    fn scan_columns(&self, _: &ScanRequest<'_>, _: Oid, _: &[i16]) -> Result<Option<Scanning>> {
        Ok(None)
    }

    /// Puts the next row of a scan into `out`, replacing its contents; false at the end.
    ///
    /// # Errors
    /// The errors of the store.
    fn next(&self, scan: &mut Scanning, out: &mut Vec<Datum>) -> Result<bool>;

    /// Puts the next row of a scan for which `test` is true into `out`. Other rows are not decoded into values.
    ///
    /// # Errors
    /// The errors of the store and `test`.
    fn next_that(
        &self,
        scan: &mut Scanning,
        test: &mut dyn FnMut(EvalRow<'_>) -> Result<bool>,
        out: &mut Vec<Datum>,
    ) -> Result<bool> {
        first_that(test, out, |out| self.next(scan, out))
    }

    /// Calls `f` with the next rows of a scan in their stored form; false at the end.
    ///
    /// # Errors
    /// The errors of the store and `f`.
    fn next_piece(
        &self,
        scan: &mut Scanning,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<()>,
    ) -> Result<bool> {
        piece_of_rows(f, |out| self.next(scan, out))
    }

    /// Splits a scan that has given nothing yet, for several threads: returns parts of about `rows_each` rows. The scan
    /// itself then gives the rows that no part has. Returns none if there would be one part, or if the scan cannot be
    /// split.
    ///
    /// # Errors
    /// The errors of the store.
    fn split(&self, _scan: &mut Scanning, _rows_each: u64) -> Result<Vec<Box<dyn TablePart>>> {
        Ok(Vec::new())
    }

    /// Counts the next rows of a scan in place of giving them, up to about so many; 0 at the end.
    ///
    /// # Errors
    /// The errors of the store.
    fn count(&self, scan: &mut Scanning, most: u64) -> Result<u64> {
        count_given(most, |row| self.next(scan, row))
    }

    /// Inserts a row. With `arbiters`, a row with an equal key in one of these indexes is a conflict and not
    /// an error; with an empty list, in any unique index.
    ///
    /// # Errors
    /// `23505` if a row with an equal key exists and that is not a conflict; `23503`.
    fn insert(&self, relation: Oid, row: &[Datum], arbiters: Option<&[Oid]>) -> Result<Inserted>;

    /// Begins a load: rows that are inserted without arbiters are written together by [`Tables::end_load`].
    /// Until then they are invisible, and their keys are not checked. Returns false if a load has no use (few
    /// rows, or a table that has had rows and has no `orderby`); then rows are inserted one by one.
    ///
    /// # Errors
    /// The errors of the store.
    fn begin_load(&self, relation: Oid, is_large: bool) -> Result<bool>;

    /// Writes the rows that were inserted since [`Tables::begin_load`].
    ///
    /// # Errors
    /// `23505` if two of them have equal keys.
    fn end_load(&self, relation: Oid) -> Result<()>;

    /// True if a new row belongs to its table. For a partition: if the row is within its bound.
    ///
    /// # Errors
    /// The errors of computing the key of the partitioned table.
    fn is_in_partition(&self, _relation: Oid, _row: &[Datum]) -> Result<bool> {
        Ok(true)
    }

    /// Replaces a locked row.
    ///
    /// # Errors
    /// `23505`, `23503`.
    fn update(&self, relation: Oid, key: &[u8], old: &[Datum], new: &[Datum]) -> Result<()>;

    /// Deletes a locked row.
    ///
    /// # Errors
    /// `23503`.
    fn delete(&self, relation: Oid, key: &[u8], old: &[Datum]) -> Result<()>;

    /// Erases rows in all of their versions. Their keys are those of a scan of [`Moment::Ever`].
    ///
    /// # Errors
    /// Those of [`Tables::delete`]; `23503` where another row refers to one of them.
    fn erase(&self, relation: Oid, keys: &[Vec<u8>]) -> Result<()>;

    /// Locks a row. Where it was changed since the statement began, its newest state is put into
    /// `out`, with the columns of `attnums`.
    ///
    /// # Errors
    /// `55P03` with `NOWAIT`, `40P01`, `40001`.
    fn lock(
        &self,
        relation: Oid,
        key: &[u8],
        strength: LockStrength,
        wait: LockWait,
        attnums: &[i16],
        out: &mut Vec<Datum>,
    ) -> Result<Locked>;

    /// The row with a key of the table, or of an index in which it is the only one, as the statement sees
    /// it, with the columns of `attnums`; false if there is none.
    ///
    /// # Errors
    /// The errors of the store.
    fn get(
        &self,
        relation: Oid,
        index: Option<Oid>,
        key: &[u8],
        attnums: &[i16],
        out: &mut Vec<Datum>,
    ) -> Result<bool>;

    /// The newest state of a row, with the transaction's own changes, with the columns of
    /// `attnums`; false if there is none.
    ///
    /// # Errors
    /// The errors of the store.
    fn read(
        &self,
        relation: Oid,
        key: &[u8],
        attnums: &[i16],
        out: &mut Vec<Datum>,
    ) -> Result<bool>;
}

/// Calls `f` with some rows, which `next` gives one by one; false if it gives none.
///
/// # Errors
/// Those of `next` and `f`.
pub(crate) fn piece_of_rows(
    f: &mut dyn FnMut(Piece<'_, '_>) -> Result<()>,
    mut next: impl FnMut(&mut Vec<Datum>) -> Result<bool>,
) -> Result<bool> {
    const ROWS_MAX: usize = 256;
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    while rows.len() < ROWS_MAX && next(&mut row)? {
        rows.push(std::mem::take(&mut row));
    }
    if rows.is_empty() {
        return Ok(false);
    }
    f(Piece::Values(&rows))?;
    Ok(true)
}

/// Takes rows from `next` until `test` is true for one, which is left in `out`; false at the end.
///
/// # Errors
/// Those of `test` and `next`.
pub(crate) fn first_that(
    test: &mut dyn FnMut(EvalRow<'_>) -> Result<bool>,
    out: &mut Vec<Datum>,
    mut next: impl FnMut(&mut Vec<Datum>) -> Result<bool>,
) -> Result<bool> {
    while next(out)? {
        if test(EvalRow::Values(out))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Counts rows as `next` gives them, up to so many.
pub(crate) fn count_given(
    most: u64,
    mut next: impl FnMut(&mut Vec<Datum>) -> Result<bool>,
) -> Result<u64> {
    let (mut row, mut count) = (Vec::new(), 0);
    while count < most && next(&mut row)? {
        count += 1;
    }
    Ok(count)
}
