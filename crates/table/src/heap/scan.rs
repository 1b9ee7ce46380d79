//! [`HeapScan`]: the rows of a table of the store, in order or block by block.
//!
//! ```text
//!   fill            row row row row ...                        in the order of keys
//!   fill_to_block   [ rows of a block ] row [ rows of a block ] ...    in no order, without a copy
//! ```

use std::ops::ControlFlow;

use store::{ColumnRows, TableId};
use txn::{Blocks, KeyRange, ScanItem, View};

use super::image;
use crate::Result;
use crate::columnar::{Block, Columnar};
use crate::method::{ColumnSet, RowScan};
use crate::rows::Batch;

/// A scan of a table of the store.
pub(super) struct HeapScan {
    table: TableId,
    range: KeyRange,
    cursor: txn::Cursor,
    unordered: Unordered,
}

impl HeapScan {
    pub fn new(table: TableId, range: KeyRange, is_backward: bool) -> HeapScan {
        let cursor = txn::Cursor::new(table, range.clone(), is_backward);
        HeapScan { table, range, cursor, unordered: Unordered::default() }
    }
}

impl RowScan for HeapScan {
    fn fill(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<()> {
        fill(&mut self.cursor, view, wanted, batch, rows_max)
    }

    fn fill_to_block(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<Option<Block>> {
        let end = batch.len() + rows_max;
        let Some(blocks) = self.unordered.begin(view, self.table, &self.range) else {
            return self.fill(view, wanted, batch, rows_max).map(|()| None);
        };
        blocks.fill(view, |given| {
            match given {
                ScanItem::Row(key, row) => return put_row(batch, key, row, wanted, end),
                ScanItem::Rows(rows) => batch.push_block(rows),
                ScanItem::Columns(columns) => put_decoded(batch, &columns)?,
            }
            Ok(go_on(batch.len() < end))
        })?;
        Ok(None)
    }

    fn split(&mut self, view: View<'_>, rows_each: u64) -> Result<Vec<Box<dyn RowScan>>> {
        let Self { table, range, unordered, .. } = self;
        let part = |unordered| -> Box<dyn RowScan> {
            Box::new(HeapScan { unordered, ..HeapScan::new(*table, range.clone(), false) })
        };
        let parts = unordered.split(view, *table, range, rows_each)?;
        Ok(parts.into_iter().map(part).collect())
    }

    fn count(&mut self, view: View<'_>, rows_max: u64) -> Result<u64> {
        Ok(self.cursor.count(view, rows_max)?)
    }

    fn is_at_end(&self) -> bool {
        self.unordered.is_at_end().unwrap_or_else(|| self.cursor.is_at_end())
    }
}

/// The scan in no order that a scan becomes with its first fill to a block, if the view allows one.
#[derive(Default)]
pub(crate) struct Unordered(Option<Option<Blocks>>);

impl Unordered {
    /// Returns the scan; `None` if only an ordered one knows the rows of the view.
    pub fn begin(
        &mut self,
        view: View<'_>,
        table: TableId,
        range: &KeyRange,
    ) -> Option<&mut Blocks> {
        self.0.get_or_insert_with(|| Blocks::new(view, table, range)).as_mut()
    }

    /// As [`RowScan::split`].
    pub fn split(
        &mut self,
        view: View<'_>,
        table: TableId,
        range: &KeyRange,
        rows_each: u64,
    ) -> Result<Vec<Unordered>> {
        let Some(blocks) = self.begin(view, table, range) else { return Ok(Vec::new()) };
        let parts = blocks.split(rows_each)?.into_iter();
        Ok(parts.map(|blocks| Unordered(Some(Some(blocks)))).collect())
    }

    /// Returns true if nothing more comes; `None` if there is no such scan.
    pub fn is_at_end(&self) -> Option<bool> {
        self.0.as_ref()?.as_ref().map(Blocks::is_at_end)
    }
}

/// As [`RowScan::fill`], of the rows that lie in the table of the store that a cursor scans.
pub(crate) fn fill(
    cursor: &mut txn::Cursor,
    view: View<'_>,
    wanted: ColumnSet<'_>,
    batch: &mut Batch,
    rows_max: usize,
) -> Result<()> {
    if rows_max == 0 {
        return Ok(());
    }
    let end = batch.len() + rows_max;
    cursor.fill(view, |key, row| put_row(batch, key, row, wanted, end))
}

/// Adds a row that lies in the table of the store to a batch: the key alone where nothing else is wanted. It
/// breaks when the batch has `end` rows.
pub(crate) fn put_row(
    batch: &mut Batch,
    key: &[u8],
    row: &txn::Row<'_>,
    wanted: ColumnSet<'_>,
    end: usize,
) -> Result<ControlFlow<()>> {
    let is_key = wanted.is_nothing();
    batch.push(key, |out| if is_key { Ok(true) } else { image(row, out).map(|()| true) })?;
    Ok(go_on(batch.len() < end))
}

/// Adds the rows of a block of another form than rows to a batch. Their keys are empty.
fn put_decoded(batch: &mut Batch, block: &ColumnRows) -> Result<()> {
    let mut row = 0;
    let mut put = |value: &[u8]| {
        if block.seen().is_none_or(|seen| seen.has(row)) {
            batch.push_value(value);
        }
        row += 1;
    };
    let (decoder, part) = (Columnar::decoder(), |index| block.part(index));
    let decoded = decoder.decode(block.head(), block.len(), &part, &mut put);
    decoded.map_err(|error| block.fault(error).into())
}

/// Returns what a visit of rows does next: it goes on, or breaks.
pub(crate) fn go_on(does: bool) -> ControlFlow<()> {
    if does { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}
