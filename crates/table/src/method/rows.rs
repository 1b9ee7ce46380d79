//! [`Rows`]: the work of an access method for the rows of one table.
//!
//! A row goes by its key: the key form of the columns that the table is keyed by, or a hidden id of 8
//! bytes. Keys ascend in the order of the table. A method gives and takes rows in the row form of
//! [`types::row`], with a value for each column that the table ever had.
//!
//! | what the table has done before | what the method does |
//! |---|---|
//! | checked the row, its key and its constraints; locked the key | [`Rows::insert`] |
//! | locked the row, read its newest state, noted the change | [`Rows::update`], [`Rows::delete`] |
//! | looked an entry of an index up | [`Rows::read`] |
//!
//! # Invariants
//! * All reads are of a [`View`] or a [`Snapshot`]: they see the commits up to its number, and the writes
//!   of its transaction up to its moment. A reader at the same number always sees the same rows.
//! * Writes go through the transaction. They are undone with a savepoint, become visible with the commit,
//!   and survive what the commit survives.

use std::any::Any;
use std::fmt::Debug;

use store::{Csn, TableId};
use txn::{Engine, KeyRange, Locked, Snapshot, Touched, Transaction, TxnError, View};
use types::Datum;

use crate::Result;
use crate::columnar::{Block, OrderedColumn};
use crate::index::RowKeys;
use crate::rows::{Batch, OutOfLineValue, RowRef, RowVersion};

/// The columns of a row that a reader needs. Other columns of the returned row may have any value.
#[derive(Clone, Copy, Debug)]
pub enum ColumnSet<'a> {
    /// All columns.
    All,
    /// The columns with these attribute numbers. Numbers below 0, of system columns, are no columns of the
    /// row.
    Columns(&'a [i16]),
}

impl ColumnSet<'_> {
    /// No column: only the key.
    pub const NOTHING: ColumnSet<'static> = ColumnSet::Columns(&[]);

    /// True if the set has the column at a position (its attribute number less one).
    pub fn has(self, position: usize) -> bool {
        match self {
            ColumnSet::All => true,
            ColumnSet::Columns(attnums) => attnums
                .iter()
                .any(|attnum| usize::try_from(*attnum).is_ok_and(|number| number == position + 1)),
        }
    }

    /// True if the set is empty: the reader needs only the key.
    pub fn is_nothing(self) -> bool {
        matches!(self, ColumnSet::Columns([]))
    }
}

/// Why a row is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The row alone: the method may keep what it has computed for the next read.
    Point,
    /// The row is one of many, which are read once.
    Scan,
}

/// The rows of one table, by one state of its definition.
pub trait Rows: Any + Debug + Send + Sync {
    /// True if the value of the column at a position is kept out of line: a reader that does not
    /// want it does not pay for it, and [`Rows::text`] gives its text without making the value.
    fn is_out_of_line(&self, _position: usize) -> bool {
        false
    }

    /// True if [`RowScan::fill_to_block`] may give blocks of columns.
    fn has_blocks(&self) -> bool {
        false
    }

    /// True if a batch that [`RowScan::fill_to_block`] fills knows the keys of all its rows.
    fn keeps_keys(&self) -> bool {
        false
    }

    /// The columns that bulk loads sort rows by before they get their hidden ids; none if rows keep the
    /// order in which they come.
    fn order(&self) -> &[OrderedColumn] {
        &[]
    }

    // --- reading ---------------------------------------------------------------------------------

    /// Appends the row with this key to `out`, in row form; false if there is none.
    fn read(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
        access: Access,
        out: &mut Vec<u8>,
    ) -> Result<bool>;

    /// As [`Rows::read`], `None` if there is none; a value that is [out of line](Rows::is_out_of_line) may come beside
    /// the row.
    fn read_out_of_line(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
        access: Access,
        out: &mut Vec<u8>,
    ) -> Result<Option<Option<OutOfLineValue>>> {
        Ok(self.read(view, key, wanted, access, out)?.then_some(None))
    }

    /// Adds the row with this key to a batch, as that takes it; false if there is none.
    fn read_into(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
        access: Access,
        batch: &mut Batch,
    ) -> Result<bool> {
        match batch.takes_out_of_line() {
            true => batch
                .push_out_of_line(key, |out| self.read_out_of_line(view, key, wanted, access, out)),
            false => batch.push(key, |out| self.read(view, key, wanted, access, out)),
        }
    }

    /// True if there is a row with this key.
    fn contains(&self, view: View<'_>, key: &[u8]) -> Result<bool> {
        self.read(view, key, ColumnSet::NOTHING, Access::Point, &mut Vec::new())
    }

    /// A scan of the rows whose keys are in a range, in the order of keys, or in reverse.
    fn scan(&self, range: KeyRange, is_backward: bool) -> Box<dyn RowScan>;

    /// The text of the value of a column that is [out of line](Rows::is_out_of_line), of a row that was read in this view
    /// without it; `None` if the value is NULL.
    fn text(&self, _view: View<'_>, _row: RowRef<'_>, _position: usize) -> Result<Option<String>> {
        Ok(None)
    }

    /// Up to about `count` keys, at equal distances, for a sample of the rows; none if the rows are better
    /// read one after the other.
    fn spread(&self, _engine: &Engine, _count: usize) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    // --- the past --------------------------------------------------------------------------------

    /// The versions of the row at `key` that were the newest at some commit in `from..=to`, oldest first, as
    /// `now` knows them. Values of columns that are out of line may be missing: [`Rows::complete`] puts them in.
    fn versions(&self, now: &Snapshot, key: &[u8], from: Csn, to: Csn) -> Result<Vec<RowVersion>>;

    /// Puts the values that are out of line into a version.
    fn complete(&self, _now: &Snapshot, _version: &mut RowVersion) -> Result<()> {
        Ok(())
    }

    /// The commits that have changed the row at `key`, in no order, as far as any file or the log tells.
    fn commits(&self, now: &Snapshot, key: &[u8]) -> Result<Vec<Csn>>;

    /// The keys of at least the rows that commits after `after` up to `to` have changed, as the table of
    /// changes tells. `None` if it does not reach back that far, or names too many.
    fn changed(&self, engine: &Engine, after: Csn, to: Csn) -> Result<Option<RowKeys>>;

    /// The keys in a range of all rows that exist or existed, as far as any version of them is kept, in order
    /// or in reverse.
    fn keys_ever(&self, engine: &Engine, range: KeyRange, is_backward: bool) -> Box<dyn KeyWalk>;

    /// The keys of at least the rows that have a version which is over.
    fn keys_changed(&self, engine: &Engine) -> Box<dyn KeyWalk> {
        self.keys_ever(engine, KeyRange::ALL, false)
    }

    // --- changing: the table of changes tells of each ([`Rows::changed`]) -------------------------

    /// Adds a row, a value for each column by position. No row has the key, as far as the transaction sees.
    fn insert(&self, txn: &mut Transaction, key: Vec<u8>, row: &[Datum]) -> Result<()>;

    /// Puts `new` in the place of `old`, the newest state of the row at `key`. `locked` says whether the view
    /// of the transaction shows that state.
    fn update(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        locked: Locked,
        old: &[Datum],
        new: &[Datum],
    ) -> Result<()>;

    /// Deletes the row at `key`, whose newest state is `old`.
    fn delete(&self, txn: &mut Transaction, key: &[u8], old: &[Datum]) -> Result<()>;

    /// Begins a load of many rows into a table that never had any; `None` if the method has no faster way
    /// than to insert them, or the table had rows.
    fn load(&self, _txn: &Transaction) -> Result<Option<Box<dyn RowLoad>>> {
        Ok(None)
    }

    /// Removes the row at `key` with its past, from the commit on: it has then never been. The
    /// transaction has deleted it, where it existed: `latest` is then its last state.
    fn erase(&self, txn: &mut Transaction, key: &[u8], latest: Option<&[Datum]>) -> Result<()>;
}

impl dyn Rows {
    /// These rows as those of a certain method; `None` if they are of another.
    pub fn of_method<R: Rows>(&self) -> Option<&R> {
        (self as &dyn Any).downcast_ref()
    }
}

/// A scan that borrows nothing while it rests. All of it is of the view of its first fill: later writes of
/// the transaction and later commits are not seen.
pub trait RowScan: Send {
    /// Adds up to so many of the next rows to `batch`; fewer only at the end. All views are of one
    /// transaction, or of none; `wanted` is the same each time.
    fn fill(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<()>;

    /// As [`RowScan::fill`], where rows may come in any order, some more than `rows_max`, and without their keys. It
    /// stops behind a block of columns, which it returns. A scan is filled in one of the two ways.
    fn fill_to_block(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<Option<Block>> {
        self.fill(view, wanted, batch, rows_max)?;
        Ok(None)
    }

    /// Takes a scan apart that has given nothing yet: returns scans, for several threads, of about
    /// so many rows each, which come in any order, and whose views are past ones at the snapshot of
    /// this one. This one gives the rows that they do not have. Returns none if the method cannot
    /// do that, or there would be one.
    fn split(&mut self, _view: View<'_>, _rows_each: u64) -> Result<Vec<Box<dyn RowScan>>> {
        Ok(Vec::new())
    }

    /// Passes the next rows, up to so many, and returns how many; fewer only at the end.
    fn count(&mut self, view: View<'_>, rows_max: u64) -> Result<u64>;

    /// True if no more rows come.
    fn is_at_end(&self) -> bool;
}

/// Keys, one after the other.
pub trait KeyWalk {
    /// The next key; `None` at the end.
    fn advance(&mut self) -> Result<Option<&[u8]>>;
}

impl KeyWalk for store::Keys {
    fn advance(&mut self) -> Result<Option<&[u8]>> {
        Ok(store::Keys::advance(self)?)
    }
}

/// Bytes of keys of changed rows that are held at most.
const CHANGED_BYTES_MAX: usize = 32 << 20;

/// Keys of changed rows, from the table of changes.
#[derive(Default)]
pub struct ChangedKeys {
    keys: RowKeys,
    bytes: usize,
}

impl ChangedKeys {
    /// Adds the keys that some commits, after the first up to the second, have changed of a table of the
    /// store; `row_of` gives the row that a key belongs to. False if not all are known, or there are too
    /// many.
    pub fn add(
        &mut self,
        engine: &Engine,
        table: TableId,
        (after, to): (Csn, Csn),
        row_of: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<bool> {
        let changes = match engine.changes(table, after, to) {
            Ok(changes) => changes,
            Err(TxnError::ChangesForgotten { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        for change in changes {
            let Touched::Keys(touched) = change?.1 else { return Ok(false) };
            for key in touched {
                let Some(row) = row_of(&key) else { return Ok(false) };
                let size = row.len() + size_of::<Vec<u8>>();
                self.bytes += if self.keys.insert(row) { size } else { 0 };
            }
            if self.bytes > CHANGED_BYTES_MAX {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The keys.
    pub fn into_keys(self) -> RowKeys {
        self.keys
    }
}

/// Collects rows for a table that has none.
pub trait RowLoad: Send {
    /// Takes a row, a value for each column by position.
    fn put(&mut self, engine: &Engine, key: &[u8], row: &[Datum]) -> Result<()>;

    /// Makes the rows writes of the transaction. Where two of them have one key, returns one of these in
    /// place of that.
    fn finish(self: Box<Self>, txn: &mut Transaction) -> Result<Option<Vec<Datum>>>;
}
