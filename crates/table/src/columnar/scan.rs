//! [`ColumnarScan`]: a scan that reads the columns that are wanted and no others.
//!
//! ```text
//!   store      row row [ block of columns ] row [ block of columns ] ...
//!   fill       row row   row row row ...    a block is decoded once, and rests between fills
//! ```
//!
//! Columns that are not wanted are NULL in the rows that come of a block.

use std::ops::ControlFlow;

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
    version: u32,
    reprs: Vec<Repr>,
    /// `None` for columns that are not wanted.
    columns: Vec<Option<RawColumn>>,
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    /// The number of rows that were handed out.
    passed: usize,
}

impl OpenBlock {
    fn read(block: &Block, wanted: ColumnSet<'_>) -> Result<OpenBlock> {
        let (head, rows) = (block.head(), block.rows());
        let damaged = |error| Error::from(rows.fault(error));
        let part = |index| rows.part(index);
        let column = |(at, known)| match wanted.has(at) {
            true => RawColumn::read(known, rows.len(), &part).map(Some).map_err(damaged),
            false => Ok(None),
        };
        let columns = head.columns.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let (mut keys, mut key_ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        rows.keys(&mut |key| {
            keys.extend_from_slice(key);
            key_ends.push(keys.len());
        })?;
        let reprs = head.columns.iter().map(|column| column.repr).collect();
        Ok(OpenBlock { version: head.version, reprs, columns, keys, key_ends, passed: 0 })
    }

    fn is_over(&self) -> bool {
        self.passed == self.key_ends.len()
    }

    /// Adds the next rows to a batch until it has `end`.
    fn fill(&mut self, is_key: bool, batch: &mut Batch, end: usize) -> Result<()> {
        while batch.len() < end && !self.is_over() {
            let at = self.passed;
            let start = if at == 0 { 0 } else { self.key_ends[at - 1] };
            batch.push(&self.keys[start..self.key_ends[at]], |out| {
                if !is_key {
                    let value = |column: usize| self.columns[column].as_ref()?.get(at);
                    row::write_raw(self.version, &self.reprs, value, out);
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
                block.fill(wanted.is_nothing(), batch, end)?;
                self.leave();
                continue;
            }
            if self.cursor.is_at_end() {
                break;
            }
            let block = self.fill_rows(view, wanted, batch, end)?;
            self.block = block.map(|block| OpenBlock::read(&block, wanted)).transpose()?;
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
                    self.block = Some(OpenBlock::read(&Block::read(rows)?, ColumnSet::NOTHING)?);
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
