//! [`Block`]: a block of columns, for readers that work on columns.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use store::{ColumnError, ColumnRows, RowMask};
use stripe::{Chunk, Zone};
use types::Repr;

use super::codec::{BlockHead, ChunkHead, ColumnHead, FieldsHead, TakenApart};
use crate::{Error, Result};

/// A block of columns that a scan has come to.
pub struct Block {
    rows: ColumnRows,
    head: Arc<BlockHead>,
}

impl Block {
    pub(super) fn read(rows: ColumnRows) -> Result<Block> {
        match rows.parsed(BlockHead::read) {
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

    /// Returns the rows that the scan sees; `None` if it sees all.
    pub fn seen(&self) -> Option<&RowMask> {
        self.rows.seen()
    }

    /// Returns false: a block has rows.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the facts about the values that a column has in the rows that the scan sees. Those of integers and decimals
    /// are computed when they are first asked for, and kept with the mask of the block. `None` if they are not known.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    pub fn seen_zone(&self, position: usize) -> Result<Option<Cow<'_, Zone>>> {
        let Some(column) = self.column(position) else { return Ok(None) };
        let Some(seen) = self.seen() else { return Ok(Some(Cow::Borrowed(column.zone()))) };
        let make = || SeenZones(self.head.columns.iter().map(|_| OnceLock::new()).collect());
        let Some(cell) = seen.derived(make).and_then(|zones| zones.0.get(position)) else {
            return Ok(None);
        };
        if cell.get().is_none() {
            let bytes = column.chunk()?;
            let chunk = Chunk::read(&bytes).map_err(|_| column.damaged("a chunk of a column"))?;
            if chunk.len() != self.len() {
                return Err(column.damaged("a chunk has too many or too few values"));
            }
            cell.get_or_init(|| Zone::of_some(&chunk, seen.words()).map(Box::new));
        }
        Ok(cell.get().and_then(|zone| zone.as_deref()).map(Cow::Borrowed))
    }

    /// Returns the column at a position (its attribute number less one); `None` if the rows are older than it.
    pub fn column(&self, position: usize) -> Option<BlockColumn<'_>> {
        let known = self.head.columns.get(position)?;
        let ColumnHead { repr, chunk, .. } = known;
        Some(BlockColumn { block: self, repr: *repr, chunk, known: Some(known) })
    }
}

/// The facts about the rows of a block that a mask leaves, column by column, once they are known: `None` if the column has
/// no integers.
struct SeenZones(Box<[OnceLock<Option<Box<Zone>>>]>);

/// A column of a block, or a field of its objects.
#[derive(Clone, Copy)]
pub struct BlockColumn<'b> {
    block: &'b Block,
    repr: Repr,
    chunk: &'b ChunkHead,
    /// `None` for a field.
    known: Option<&'b ColumnHead>,
}

impl<'b> BlockColumn<'b> {
    /// Returns how its values are held.
    pub fn repr(self) -> Repr {
        self.repr
    }

    /// Returns what is known of its values.
    pub fn zone(self) -> &'b Zone {
        &self.chunk.zone
    }

    fn fields(self) -> Option<&'b FieldsHead> {
        self.known.and_then(|known| known.fields.as_ref())
    }

    /// Returns true if its values are taken apart: its chunk has what is left of them, and [`BlockColumn::raw`] has
    /// the values.
    pub fn is_shredded(self) -> bool {
        self.fields().is_some()
    }

    /// Returns true if its values are taken apart, and each of them is an object or NULL.
    pub fn has_only_objects(self) -> bool {
        self.fields().is_some_and(|fields| fields.has_only_objects)
    }

    /// Returns the values that objects have under a name, as `jsonb`, NULL where there is none; `None` if these are
    /// not a column.
    pub fn field(self, name: &str) -> Option<BlockColumn<'b>> {
        let fields = self.fields().filter(|fields| !fields.has_whole)?;
        let at = fields.names.iter().position(|known| known == name)?;
        Some(BlockColumn { chunk: &fields.chunks[at], known: None, ..self })
    }

    /// Reads all values of a column that is taken apart.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    pub fn taken_apart(self) -> Result<TakenApart> {
        let rows = &self.block.rows;
        let Some(known) = self.known else { return Err(self.damaged("a field is no column")) };
        TakenApart::read(known, rows.len(), &(0..rows.len()), &|part| rows.part(part))
            .map_err(|error| rows.fault(error).into())
    }

    /// Reads the bytes of its chunk ([`stripe::Chunk::read`]).
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    pub fn chunk(self) -> Result<Arc<[u8]>> {
        Ok(self.block.rows.part(self.chunk.chunk)?)
    }

    /// Reads the bytes of its dictionary ([`stripe::Dictionary::read`]), if it has one. Blocks of one stripe have
    /// the same bytes.
    ///
    /// # Errors
    /// As [`BlockColumn::chunk`].
    pub fn dictionary(self) -> Result<Option<Arc<[u8]>>> {
        let part = self.chunk.dictionary.map(|part| self.block.rows.part(part));
        Ok(part.transpose()?)
    }

    /// Returns the error for bytes of this column that do not decode.
    pub fn damaged(self, what: &'static str) -> Error {
        self.block.rows.fault(ColumnError::Damaged(what)).into()
    }
}
