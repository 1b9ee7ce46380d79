//! [`Blocks`]: a scan in no order, block by block, that borrows nothing while it rests.
//!
//! ```text
//!   store            blocks and rows, without the keys that the transaction has written
//!   own writes       row row row                                                            last
//! ```

use std::ops::{Bound, ControlFlow};

use store::{BlockScan, ColumnRows, RowBlock, TableId};

use crate::cursor::{KeyRange, slice};
use crate::error::TxnError;
use crate::row::Row;
use crate::snapshot::Snapshot;
use crate::view::View;
use crate::writeset::Moment;

/// An item that a scan gives.
pub enum ScanItem<'a> {
    /// A key and its state.
    Row(&'a [u8], &'a Row<'a>),
    /// Rows of a block, of which the transaction has written none.
    Rows(RowBlock),
    /// A block of columns, likewise.
    Columns(ColumnRows),
}

/// A scan of a range of a table, whose rows come in no order. All of it is of the view that it was made of.
pub struct Blocks {
    table: TableId,
    scan: BlockScan,
    /// The keys that the transaction has written, and how many of them are passed.
    own: Vec<Vec<u8>>,
    passed: usize,
    moment: Moment,
    snapshot: Snapshot,
}

impl Blocks {
    /// Returns the scan; `None` if the view needs an ordered one ([`crate::Cursor`]): it is of a serializable
    /// transaction, or of one that has loaded rows into the table, or something of the table is erased.
    pub fn new(view: View<'_>, table: TableId, range: &KeyRange) -> Option<Blocks> {
        let moment = view.settled().moment();
        let mut own = Vec::new();
        if let Some(transaction) = view.transaction() {
            if transaction.is_serializable() || transaction.loads.touches(table) {
                return None;
            }
            let (lower, upper) = (slice(&range.lower), slice(&range.upper));
            let writes = transaction.writes.range(table, lower, upper, moment);
            own.extend(writes.map(|(key, _)| key.to_vec()));
        }
        let snapshot = view.snapshot().clone();
        let (lower, upper): (Bound<Vec<u8>>, _) = (range.lower.clone(), range.upper.clone());
        let store = snapshot.engine().store();
        let scan = store.block_scan(table, lower, upper, snapshot.csn(), &own)?;
        Some(Blocks { table, scan, own, passed: 0, moment, snapshot })
    }

    /// Takes a scan apart that has given nothing yet: returns scans, for several threads, of about so many rows each.
    /// This one gives what the transaction has written, and nothing else. Returns none, and leaves the scan as it is, if
    /// there would be one.
    ///
    /// # Errors
    /// Returns the error of the store.
    pub fn split(&mut self, rows_each: u64) -> Result<Vec<Blocks>, TxnError> {
        let scans = self.scan.split(rows_each)?;
        let part = |scan| Blocks {
            table: self.table,
            scan,
            own: Vec::new(),
            passed: 0,
            moment: self.moment,
            snapshot: self.snapshot.clone(),
        };
        Ok(scans.into_iter().map(part).collect())
    }

    /// Returns true if nothing more comes.
    pub fn is_at_end(&self) -> bool {
        self.scan.is_at_end() && self.passed == self.own.len()
    }

    /// Returns a view as the scan sees it.
    pub fn view<'v>(&'v self, view: View<'v>) -> View<'v> {
        view.at(&self.snapshot).at_moment(self.moment)
    }

    /// Calls `f` with rows and blocks until it breaks or fails (it has taken that one then), or nothing more comes. All
    /// views are of the transaction of the first one, or of none.
    ///
    /// # Errors
    /// Returns the error of the store or of `f`.
    pub fn fill<E: From<TxnError>>(
        &mut self,
        view: View<'_>,
        mut f: impl FnMut(ScanItem<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let (mut failed, mut is_full) = (None, false);
        let mut take = |item: store::ScanItem<'_>| {
            let taken = match item {
                store::ScanItem::Row(key, seen) => f(ScanItem::Row(key, &Row::seen(seen))),
                store::ScanItem::Rows(rows) => f(ScanItem::Rows(rows)),
                store::ScanItem::Columns(columns) => f(ScanItem::Columns(columns)),
            };
            let flow = taken.unwrap_or_else(|error| {
                failed = Some(error);
                ControlFlow::Break(())
            });
            is_full = flow.is_break();
            flow
        };
        self.scan.visit(&mut take).map_err(TxnError::from)?;
        if let Some(error) = failed {
            return Err(error);
        }
        while !is_full && self.passed < self.own.len() {
            let at = self.passed;
            self.passed += 1;
            let key = &self.own[at];
            if let Some(row) = self.view(view).read(self.table, key)? {
                is_full = f(ScanItem::Row(key, &row))?.is_break();
            }
        }
        Ok(())
    }
}
