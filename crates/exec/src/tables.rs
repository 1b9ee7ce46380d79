//! The trait through which operators read and change tables in one transaction. The planner reads its facts
//! about tables through [`plan::Schema`].
//!
//! Rows have the columns that are there, in their order; a dropped column is the store's business.
//! Keys and ranges of keys are in the key form of [`types::key`].

use std::any::Any;

pub use batch::Piece;
pub use plan::Range;
use sql::eval::Row as EvalRow;
use sql::plan::{LockStrength, LockWait};
pub use table::index::ScanKey;
use types::time::TimestampTz;
use types::{Datum, Oid, Result};

/// Which states of a table are read, times and numbers computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// The one that the transaction sees.
    Now,
    /// The one at a time.
    AsOf(TimestampTz),
    /// The one after a commit.
    AtVersion(i64),
    /// Versions that were current at some time in `[from, to)`.
    FromTo(TimestampTz, TimestampTz),
    /// Versions that were current at some time in `[from, to]`.
    Between(TimestampTz, TimestampTz),
    /// Versions that began and ended in `[from, to]`.
    ContainedIn(TimestampTz, TimestampTz),
    /// All versions.
    All,
    /// All versions, and what the transaction itself has written. Before the key stands the number of
    /// the table of the store, big end first.
    Ever,
}

/// A request for a scan: the table, the rows and the columns.
#[derive(Debug)]
pub struct ScanRequest<'a> {
    /// The table.
    pub relation: Oid,
    /// True for a table of `pg_catalog` or `information_schema` that is computed.
    pub is_computed: bool,
    /// Which columns, by number; those below 0 are system columns ([`sql::plan::system`]).
    pub attnums: &'a [i16],
    /// Which states.
    pub moment: Moment,
    /// In the order of which index; none for the order of the table's own key.
    pub index: Option<Oid>,
    /// The keys in these ranges, in key form: one at least, and more than one only where the past is asked
    /// for by an index.
    pub ranges: Vec<Range>,
    /// Where the index is one of items, what its rows must have: at least the rows that have all of it
    /// come, in any order.
    pub scan_keys: Vec<ScanKey>,
    /// From the end to the beginning.
    pub is_backward: bool,
    /// True where at most one row is in the range, whose key, or entry in the index, is what it begins with.
    pub is_single: bool,
    /// True where all rows may come instead, in any order: that is cheaper than to look up many.
    pub may_read_all: bool,
}

/// A scan that is being run: whatever the tables keep of it between two rows, of which they borrow
/// nothing.
pub type Scanning = Box<dyn Any + Send>;

/// The outcome of an insertion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// It is there, under this key.
    Done(Vec<u8>),
    /// It will be there when the load ends.
    Loading,
    /// A row with this key is there, which is like it.
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
    /// Another transaction has it, and it was not waited for.
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

    /// Puts the next row of a scan into `out`, whose contents before mean nothing; false at the end.
    ///
    /// # Errors
    /// The errors of the store.
    fn next(&self, scan: &mut Scanning, out: &mut Vec<Datum>) -> Result<bool>;

    /// Puts the next row of a scan for which `test` is true into `out`. Rows for which it is not are not made
    /// values of.
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

    /// Calls `f` with the next rows of a scan, as they lie; false at the end.
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

    /// Takes a scan apart that has given nothing yet, for several threads: returns parts of about so many rows each.
    /// The scan gives the rows that they do not have. Returns none if there would be one part, or if the scan cannot be
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

    /// Inserts a row. Rows like it count as conflicts where `arbiters` are given: for the indexes
    /// named, or for all where none is.
    ///
    /// # Errors
    /// `23505` where a row like it is there and that is no conflict; `23503`.
    fn insert(&self, relation: Oid, row: &[Datum], arbiters: Option<&[Oid]>) -> Result<Inserted>;

    /// Has rows that are inserted without arbiters taken in all together, by [`Tables::end_load`]; until
    /// then nobody sees them, and their keys are not checked. False where that has no use: few rows, or a
    /// table that has had rows, for a table that has no order; then they are inserted one by one.
    ///
    /// # Errors
    /// The errors of the store.
    fn begin_load(&self, relation: Oid, is_large: bool) -> Result<bool>;

    /// Takes in the rows that were inserted since [`Tables::begin_load`].
    ///
    /// # Errors
    /// `23505` where two of them are alike.
    fn end_load(&self, relation: Oid) -> Result<()>;

    /// Whether a row that is to be written belongs into its table: where that is a partition, into its bound.
    ///
    /// # Errors
    /// The errors of computing the key of the partitioned table.
    fn is_in_partition(&self, _relation: Oid, _row: &[Datum]) -> Result<bool> {
        Ok(true)
    }

    /// Replaces a row, which was locked.
    ///
    /// # Errors
    /// `23505`, `23503`.
    fn update(&self, relation: Oid, key: &[u8], old: &[Datum], new: &[Datum]) -> Result<()>;

    /// Deletes a row, which was locked.
    ///
    /// # Errors
    /// `23503`.
    fn delete(&self, relation: Oid, key: &[u8], old: &[Datum]) -> Result<()>;

    /// Deletes rows, now and in all of the past. Their keys are those that a scan of [`Moment::Ever`] gave.
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
    /// it, with the columns of `attnums`; false where there is none.
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
    /// `attnums`; false where there is none.
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

/// Calls `f` with some rows, which `next` gives one by one; false where it gives none.
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
