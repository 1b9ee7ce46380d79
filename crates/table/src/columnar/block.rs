//! [`Block`]: a block of columns, for readers that work on columns.

use std::sync::Arc;

use store::{ColumnError, ColumnRows};
use stripe::Zone;
use types::Repr;

use super::codec::{BlockHead, ColumnHead};
use crate::{Error, Result};

/// A block of columns that a scan has come to.
pub struct Block {
    rows: ColumnRows,
    head: BlockHead,
}

impl Block {
    pub(super) fn read(rows: ColumnRows) -> Result<Block> {
        match BlockHead::read(rows.head()) {
            Some(head) => Ok(Block { rows, head }),
            None => Err(rows.fault(ColumnError::Damaged("the head of a block")).into()),
        }
    }

    pub(super) fn head(&self) -> &BlockHead {
        &self.head
    }

    pub(super) fn rows(&self) -> &ColumnRows {
        &self.rows
    }

    /// Returns the number of rows, at least 1, those that the scan does not see among them.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the numbers of the rows that the scan sees, ascending; `None` if it sees all.
    pub fn seen(&self) -> Option<&[u16]> {
        self.rows.seen()
    }

    /// Returns false: a block has rows.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the column at a position (its attribute number less one); `None` if the rows are older than it.
    pub fn column(&self, position: usize) -> Option<BlockColumn<'_>> {
        self.head.columns.get(position).map(|known| BlockColumn { block: self, known })
    }
}

/// A column of a block.
#[derive(Clone, Copy)]
pub struct BlockColumn<'b> {
    block: &'b Block,
    known: &'b ColumnHead,
}

impl<'b> BlockColumn<'b> {
    /// Returns how its values are held.
    pub fn repr(self) -> Repr {
        self.known.repr
    }

    /// Returns what is known of its values.
    pub fn zone(self) -> &'b Zone {
        &self.known.zone
    }

    /// Reads the bytes of its chunk ([`stripe::Chunk::read`]).
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    pub fn chunk(self) -> Result<Arc<[u8]>> {
        Ok(self.block.rows.part(self.known.chunk)?)
    }

    /// Reads the bytes of its dictionary ([`stripe::Dictionary::read`]), if it has one. Blocks of one stripe have
    /// the same bytes.
    ///
    /// # Errors
    /// As [`BlockColumn::chunk`].
    pub fn dictionary(self) -> Result<Option<Arc<[u8]>>> {
        let part = self.known.dictionary.map(|part| self.block.rows.part(part));
        Ok(part.transpose()?)
    }

    /// Returns the error for bytes of this column that do not decode.
    pub fn damaged(self, what: &'static str) -> Error {
        self.block.rows.fault(ColumnError::Damaged(what)).into()
    }
}
