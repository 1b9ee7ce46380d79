//! [`RowStore`]: rows that are read by their place, any number of times; those that came first go to a
//! file, block by block, when there are too many of them.
//!
//! ```text
//!   block 0   block 1   block 2 │ tail
//!   rows 0..  rows 90.. rows 170..│ rows 260..          in the file        in memory
//! ```

use types::Result;

use super::{Tape, Writer};
use crate::ctx::{Env, Held, Shared};
use crate::op::Row;

/// About how many bytes a block has.
const BLOCK_BYTES: usize = 32 << 10;

/// Rows in the order in which they came.
#[derive(Default)]
pub(crate) struct RowStore {
    writer: Option<Writer>,
    /// The place of the first row of each block, and the block.
    blocks: Vec<(usize, Tape)>,
    /// The rows behind the last block.
    tail: Vec<Row>,
    /// How many rows are in blocks.
    written: usize,
    held: Held,
}

/// A place in a store, with the block around it where that is in the file.
#[derive(Default)]
pub(crate) struct StorePosition {
    block: Option<usize>,
    rows: Vec<Row>,
}

impl RowStore {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.written + self.tail.len()
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, env: &Env<'_>, row: Row) -> Result<()> {
        self.held.add_row(env, &row)?;
        self.tail.push(row);
        if let Some(folder) = self.held.is_over(env, false) {
            let writer = self.writer.get_or_insert_with(|| Writer::new(folder));
            let mut bytes = 0;
            for row in self.tail.drain(..) {
                writer.push(|out| {
                    let before = out.len();
                    super::write_row(&row, out);
                    bytes += out.len() - before;
                })?;
                self.written += 1;
                if bytes >= BLOCK_BYTES {
                    let tape = writer.tape()?;
                    self.blocks.push((self.written - tape.len() as usize, tape));
                    bytes = 0;
                }
            }
            let tape = writer.tape()?;
            if tape.len() > 0 {
                self.blocks.push((self.written - tape.len() as usize, tape));
            }
            self.held.clear(env.shared);
        }
        Ok(())
    }

    /// The row at a place; none behind the last.
    pub(crate) fn get<'r>(
        &'r self,
        at: usize,
        place: &'r mut StorePosition,
    ) -> Result<Option<&'r Row>> {
        if let Some(at) = at.checked_sub(self.written) {
            return Ok(self.tail.get(at));
        }
        let block = self.blocks.partition_point(|(first, _)| *first <= at) - 1;
        let (first, tape) = &self.blocks[block];
        if place.block != Some(block) {
            place.rows.clear();
            let mut reader = tape.read();
            let mut row = Row::new();
            while reader.row(&mut row)? {
                place.rows.push(std::mem::take(&mut row));
            }
            place.block = Some(block);
        }
        Ok(place.rows.get(at - first))
    }

    /// The row at a place, where it is in memory.
    pub(crate) fn in_memory(&self, at: usize) -> Option<&Row> {
        self.tail.get(at.checked_sub(self.written)?)
    }

    /// The row at a place, which is there and is not looked at again.
    pub(crate) fn take(&mut self, at: usize, place: &mut StorePosition) -> Result<Row> {
        match at.checked_sub(self.written) {
            Some(at) => Ok(self.tail.get_mut(at).map(std::mem::take).unwrap_or_default()),
            None => Ok(self.get(at, place)?.cloned().unwrap_or_default()),
        }
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self, shared: &Shared) {
        self.held.clear(shared);
        self.writer = None;
        self.blocks.clear();
        self.tail.clear();
        self.written = 0;
    }
}
