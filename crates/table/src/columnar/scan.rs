//! [`ColumnarScan`]: a scan that reads the columns that are wanted and no others.
//!
//! ```text
//!   store      row row [ block of columns ] row [ block of columns ] ...
//!   fill       row row   row row row ...    a block is decoded at most in two parts, and rests between fills
//! ```
//!
//! Columns that are not wanted are NULL in the rows that come of a block.

use std::ops::{ControlFlow, Range};

use store::TableId;
use txn::{KeyRange, ScanItem, TxnError, View};
use types::{Repr, row};

use super::block::Block;
use super::codec::RawColumn;
use crate::heap::{Unordered, go_on, put_row};
use crate::method::{ColumnSet, RowScan};
use crate::rows::Batch;
use crate::{Error, Result};

/// A scan of a columnar table.
pub(super) struct ColumnarScan {
    table: TableId,
    range: KeyRange,
    cursor: txn::Cursor,
    unordered: Unordered,
    /// The block that the scan is in.
    block: Option<OpenBlock>,
}

/// A block of columns whose rows are handed out.
struct OpenBlock {
    block: Block,
    reprs: Vec<Repr>,
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    /// The number of rows that were handed out.
    passed: usize,
    /// The rows of which `columns` has the values.
    decoded: Range<usize>,
    /// `None` for columns that are not wanted.
    columns: Vec<Option<RawColumn>>,
}

/// A reader that wants less than this part of a block first gets its first rows, and the rest if it asks for more.
const FEW: usize = 8;

impl OpenBlock {
    fn read(block: Block) -> Result<OpenBlock> {
        let (mut keys, mut key_ends) = (Vec::new(), Vec::with_capacity(block.len()));
        block.rows().keys(&mut |key| {
            keys.extend_from_slice(key);
            key_ends.push(keys.len());
        })?;
        let reprs = block.head().columns.iter().map(|column| column.repr).collect();
        let (decoded, columns) = (0..0, Vec::new());
        Ok(OpenBlock { block, reprs, keys, key_ends, passed: 0, decoded, columns })
    }

    fn is_over(&self) -> bool {
        self.passed == self.key_ends.len()
    }

    /// Decodes the next rows, at least `count` of them if there are so many.
    fn decode(&mut self, wanted: ColumnSet<'_>, count: usize) -> Result<()> {
        let (start, rows) = (self.passed, self.block.rows());
        let end = if start == 0 && count < rows.len() / FEW { count } else { rows.len() };
        let part = |index| rows.part(index);
        let column = |(at, known)| match wanted.has(at) {
            true => RawColumn::read(known, rows.len(), &(start..end), &part)
                .map(Some)
                .map_err(|error| Error::from(rows.fault(error))),
            false => Ok(None),
        };
        let columns = self.block.head().columns.iter().enumerate().map(column);
        self.columns = columns.collect::<Result<_>>()?;
        self.decoded = start..end;
        Ok(())
    }

    /// Adds the next rows to a batch until it has `end`.
    fn fill(&mut self, wanted: ColumnSet<'_>, batch: &mut Batch, end: usize) -> Result<()> {
        let version = self.block.head().version;
        while batch.len() < end && !self.is_over() {
            let at = self.passed;
            if !self.decoded.contains(&at) && !wanted.is_nothing() {
                self.decode(wanted, end - batch.len())?;
            }
            let key_start = if at == 0 { 0 } else { self.key_ends[at - 1] };
            batch.push(&self.keys[key_start..self.key_ends[at]], |out| {
                if !wanted.is_nothing() {
                    let row = at - self.decoded.start;
                    let value = |column: usize| self.columns[column].as_ref()?.get(row);
                    row::write_raw(version, &self.reprs, value, out);
                }
                Ok::<bool, Error>(true)
            })?;
            self.passed += 1;
        }
        Ok(())
    }
}

impl ColumnarScan {
    pub fn new(table: TableId, range: KeyRange, is_backward: bool) -> ColumnarScan {
        let cursor = txn::Cursor::new(table, range.clone(), is_backward);
        ColumnarScan { table, range, cursor, unordered: Unordered::default(), block: None }
    }

    /// Adds the next rows to a batch, until it has `end` or there is a block.
    fn fill_rows(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        end: usize,
    ) -> Result<Option<Block>> {
        let columns =
            self.cursor.fill_to_columns(view, |key, row| put_row(batch, key, row, wanted, end))?;
        columns.map(Block::read).transpose()
    }

    /// Forgets a block whose rows were all handed out.
    fn leave(&mut self) {
        self.block = self.block.take().filter(|block| !block.is_over());
    }
}

impl RowScan for ColumnarScan {
    fn fill(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<()> {
        let end = batch.len() + rows_max;
        while batch.len() < end {
            if let Some(block) = &mut self.block {
                block.fill(wanted, batch, end)?;
                self.leave();
                continue;
            }
            if self.cursor.is_at_end() {
                break;
            }
            let block = self.fill_rows(view, wanted, batch, end)?;
            self.block = block.map(OpenBlock::read).transpose()?;
        }
        Ok(())
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
            if self.cursor.is_at_end() {
                return Ok(None);
            }
            return self.fill_rows(view, wanted, batch, end);
        };
        let mut block = None;
        blocks.fill(view, |given| {
            match given {
                ScanItem::Row(key, row) => return put_row(batch, key, row, wanted, end),
                ScanItem::Rows(rows) => batch.push_block(rows),
                ScanItem::Columns(columns) => block = Some(Block::read(columns)?),
            }
            Ok(go_on(block.is_none() && batch.len() < end))
        })?;
        Ok(block)
    }

    fn split(&mut self, view: View<'_>, rows_each: u64) -> Result<Vec<Box<dyn RowScan>>> {
        let Self { table, range, unordered, .. } = self;
        let part = |unordered| -> Box<dyn RowScan> {
            Box::new(ColumnarScan { unordered, ..ColumnarScan::new(*table, range.clone(), false) })
        };
        let parts = unordered.split(view, *table, range, rows_each)?;
        Ok(parts.into_iter().map(part).collect())
    }

    fn count(&mut self, view: View<'_>, rows_max: u64) -> Result<u64> {
        let mut count = 0;
        while count < rows_max {
            if let Some(block) = &mut self.block {
                let left = (block.key_ends.len() - block.passed) as u64;
                let passed = left.min(rows_max - count);
                block.passed += passed as usize;
                count += passed;
                self.leave();
                continue;
            }
            if self.cursor.is_at_end() {
                break;
            }
            let columns = self.cursor.fill_to_columns(view, |_, _| {
                count += 1;
                Ok::<_, TxnError>(match count < rows_max {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            })?;
            match columns {
                Some(rows) if rows.len() as u64 <= rows_max - count => count += rows.len() as u64,
                Some(rows) => {
                    self.block = Some(OpenBlock::read(Block::read(rows)?)?);
                }
                None => {}
            }
        }
        Ok(count)
    }

    fn is_at_end(&self) -> bool {
        let is_at_end = || self.block.is_none() && self.cursor.is_at_end();
        self.unordered.is_at_end().unwrap_or_else(is_at_end)
    }
}
