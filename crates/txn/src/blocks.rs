//! [`Blocks`]: a scan in no order, block by block, that borrows nothing while it rests.

use std::ops::ControlFlow;

use store::{BlockScan, ColumnRows, TableId};

use crate::cursor::KeyRange;
use crate::error::TxnError;
use crate::row::Row;
use crate::snapshot::Snapshot;
use crate::view::View;

/// A scan of a range of a table, whose rows come in no order. All of it is of the view that it was made of.
pub struct Blocks {
    scan: BlockScan,
    /// Holds what the scan reads.
    _snapshot: Snapshot,
}

impl Blocks {
    /// Returns the scan; `None` if the view needs an ordered one ([`crate::Cursor`]): it is of a serializable
    /// transaction, or of one that has written to the table, or of the past before the store's checkpoint, or
    /// something of the table is erased.
    pub fn new(view: View<'_>, table: TableId, range: &KeyRange) -> Option<Blocks> {
        let is_plain = view.transaction().is_none_or(|transaction| {
            let has_written = transaction.writes.touches(table) || transaction.loads.touches(table);
            !transaction.is_serializable() && !has_written
        });
        if !is_plain {
            return None;
        }
        let snapshot = view.snapshot().clone();
        let KeyRange { lower, upper } = range.clone();
        let store = snapshot.engine().store();
        let scan = store.block_scan(table, lower, upper, snapshot.csn())?;
        Some(Blocks { scan, _snapshot: snapshot })
    }

    /// Returns true if nothing more comes.
    pub fn is_at_end(&self) -> bool {
        self.scan.is_at_end()
    }

    /// Calls `f` with rows until it breaks or fails (it has taken that one then), or there is a block of columns,
    /// which is returned, or nothing more comes.
    ///
    /// # Errors
    /// What the store and `f` report.
    pub fn fill<E: From<TxnError>>(
        &mut self,
        mut f: impl FnMut(&[u8], &Row<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<Option<ColumnRows>, E> {
        let (mut failed, mut columns) = (None, None);
        let mut row = |key: &[u8], seen: store::Seen<'_>| match f(key, &Row::seen(seen)) {
            Ok(flow) => flow,
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        };
        let mut block = |rows| {
            columns = Some(rows);
            ControlFlow::Break(())
        };
        self.scan.visit(&mut row, &mut block).map_err(TxnError::from)?;
        failed.map_or(Ok(columns), Err)
    }
}
