//! [`Layout`], [`Row`], [`RowRef`], [`Batch`]: rows as they are read.
//!
//! ```text
//!   Batch   bytes  key value key value key value ...        one allocation for many rows
//!           blocks                                          of the store, whose rows were not copied
//!           rows   [0, 5, 31] [31, 36, 60] ...              where key and value of each begin, and its end
//!              │
//!              └── row(i) ──> RowRef ── column(3) ──> DatumRef        decodes that column, no other
//! ```
//!
//! A row has a value for each column of its relation by position, dropped columns included: the
//! column with attribute number n is at n - 1. A row that was written before a column was added has
//! nothing there; the value that the column was given for such rows stands in.
//!
//! The value of a column that an access method keeps out of line may come beside the row ([`OutOfLineValue`]), so that it is not
//! copied, or not even made before a caller needs it.

use std::ops::Range;
use std::sync::Arc;

use store::RowBlock;
use types::{Datum, DatumRef, Repr, RowView};

use crate::Result;
use crate::catalog::Relation;

/// How the values of a table's columns lie in its rows.
#[derive(Debug)]
pub struct Layout {
    version: u32,
    reprs: Box<[Repr]>,
    missing: Box<[Datum]>,
}

impl Layout {
    pub(super) fn new(relation: &Relation, version: u32) -> Layout {
        let columns = &relation.columns;
        Layout {
            version,
            reprs: columns.iter().map(|column| column.repr).collect(),
            missing: columns.iter().map(|c| c.missing.clone().unwrap_or_default()).collect(),
        }
    }

    /// The version that rows are written with ([`types::row`]).
    pub fn version(&self) -> u32 {
        self.version
    }

    /// How the values of the columns are held, dropped ones included.
    pub fn reprs(&self) -> &[Repr] {
        &self.reprs
    }

    /// The value that a column has in rows that are older than it.
    pub fn missing(&self, position: usize) -> &Datum {
        &self.missing[position]
    }

    /// How many columns there are, dropped ones included.
    pub fn width(&self) -> usize {
        self.reprs.len()
    }
}

/// The value of a column that is kept out of line, and comes beside its row.
#[derive(Clone, Debug)]
pub struct OutOfLineValue {
    /// The position of the column.
    pub position: usize,
    /// Its value.
    pub value: Datum,
}

/// A row that lies elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'a> {
    key: &'a [u8],
    bytes: &'a [u8],
    layout: &'a Layout,
    out_of_line: Option<&'a OutOfLineValue>,
}

impl<'a> RowRef<'a> {
    /// The key under which it is stored.
    pub fn key(self) -> &'a [u8] {
        self.key
    }

    /// The row in row form ([`types::row`]). A value that comes beside the row is not in it.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The value of the column at `position` (its attribute number less one).
    ///
    /// # Errors
    /// XX001 where the stored bytes are damaged.
    pub fn column(self, position: usize) -> Result<DatumRef<'a>> {
        if let Some(out_of_line) = self.out_of_line
            && out_of_line.position == position
        {
            return Ok(out_of_line.value.as_ref());
        }
        let value = RowView::new(self.bytes, &self.layout.reprs)?.get(position)?;
        Ok(value.unwrap_or_else(|| self.layout.missing[position].as_ref()))
    }

    /// Appends the values of the columns at `positions`, which ascend, to `out`. One pass over the
    /// row, however many are asked for.
    ///
    /// # Errors
    /// As [`RowRef::column`].
    pub fn columns(self, positions: &[usize], out: &mut Vec<Datum>) -> Result<()> {
        let from = out.len();
        RowView::new(self.bytes, &self.layout.reprs)?.pick(positions, |place, value| {
            out.push(match value {
                Some(value) => value.to_owned(),
                None => self.layout.missing[positions[place]].clone(),
            });
        })?;
        if let Some(out_of_line) = self.out_of_line
            && let Ok(place) = positions.binary_search(&out_of_line.position)
        {
            out[from + place] = out_of_line.value.clone();
        }
        Ok(())
    }

    /// Puts the values of the columns at `positions`, which ascend, into `out`, which has as many places.
    ///
    /// # Errors
    /// As [`RowRef::column`].
    #[inline]
    pub fn columns_into(self, positions: &[usize], out: &mut [DatumRef<'a>]) -> Result<()> {
        RowView::new(self.bytes, &self.layout.reprs)?.pick(positions, |place, value| {
            out[place] = value.unwrap_or_else(|| self.layout.missing[positions[place]].as_ref());
        })?;
        if let Some(out_of_line) = self.out_of_line
            && let Ok(place) = positions.binary_search(&out_of_line.position)
        {
            out[place] = out_of_line.value.as_ref();
        }
        Ok(())
    }

    /// The values of all columns.
    ///
    /// # Errors
    /// As [`RowRef::column`].
    pub fn to_datums(self) -> Result<Vec<Datum>> {
        let mut out = Vec::with_capacity(self.layout.width());
        for value in RowView::new(self.bytes, &self.layout.reprs)?.iter() {
            out.push(value?.to_owned());
        }
        out.extend(self.layout.missing[out.len()..].iter().cloned());
        if let Some(out_of_line) = self.out_of_line {
            out[out_of_line.position] = out_of_line.value.clone();
        }
        Ok(out)
    }
}

/// A row that is owned.
#[derive(Clone, Debug)]
pub struct Row {
    /// The key and then the value.
    bytes: Vec<u8>,
    key_bytes: usize,
    layout: Arc<Layout>,
    out_of_line: Option<OutOfLineValue>,
}

impl Row {
    /// The row with this key and this row form.
    pub fn new(key: &[u8], layout: &Arc<Layout>, value: &[u8]) -> Row {
        let mut row = Row::of(key, layout, value.len());
        row.bytes.extend_from_slice(value);
        row
    }

    /// A row of `key`, whose row form is still to be appended to its bytes.
    pub(super) fn of(key: &[u8], layout: &Arc<Layout>, value_bytes: usize) -> Row {
        let mut bytes = Vec::with_capacity(key.len() + value_bytes);
        bytes.extend_from_slice(key);
        Row { bytes, key_bytes: key.len(), layout: Arc::clone(layout), out_of_line: None }
    }

    /// Gives the row the value that comes beside it.
    pub(super) fn set_out_of_line(&mut self, out_of_line: Option<OutOfLineValue>) {
        self.out_of_line = out_of_line;
    }

    /// The key, and then the row form.
    pub(crate) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// A look at it.
    pub fn as_ref(&self) -> RowRef<'_> {
        let (key, bytes) = self.bytes.split_at(self.key_bytes);
        RowRef { key, bytes, layout: &self.layout, out_of_line: self.out_of_line.as_ref() }
    }

    /// As [`RowRef::key`].
    pub fn key(&self) -> &[u8] {
        self.as_ref().key
    }

    /// As [`RowRef::column`].
    pub fn column(&self, position: usize) -> Result<DatumRef<'_>> {
        self.as_ref().column(position)
    }

    /// As [`RowRef::to_datums`].
    pub fn to_datums(&self) -> Result<Vec<Datum>> {
        self.as_ref().to_datums()
    }
}

/// Rows of one table, read together.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Blocks in which rows lie that were not copied.
    blocks: Vec<RowBlock>,
    /// The position of the first row of each block.
    block_starts: Vec<usize>,
    rows: Vec<RowPlace>,
    layout: Option<Arc<Layout>>,
    /// True if values may come beside their rows: then all rows of a table have one, or none has.
    takes_out_of_line: bool,
    out_of_line: Vec<OutOfLineValue>,
}

/// Where in a batch a row lies.
#[derive(Clone, Copy, Debug)]
struct RowPlace {
    /// The number of its block; `None` if its bytes are those of the batch.
    block: Option<u32>,
    /// Where its key begins; the position in its block of a row whose key was not copied.
    key: usize,
    /// Where its value, and what comes after it begin.
    value: usize,
    end: usize,
}

impl Batch {
    /// A batch without rows.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Says whether the rows that are added may have a value beside them. The batch is empty.
    pub fn take_out_of_line(&mut self, takes: bool) {
        debug_assert!(self.is_empty(), "the rows of a batch are alike");
        self.takes_out_of_line = takes;
    }

    /// True if the rows that are added may have a value beside them.
    pub(crate) fn takes_out_of_line(&self) -> bool {
        self.takes_out_of_line
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes all rows out, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.blocks.clear();
        self.block_starts.clear();
        self.rows.clear();
        self.out_of_line.clear();
    }

    /// How all rows lie; `None` before the first.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    /// The row at a position.
    pub fn row(&self, at: usize) -> RowRef<'_> {
        let RowPlace { block, key, value, end } = self.rows[at];
        let layout = self.layout.as_deref().expect("whoever adds rows says how they lie");
        let out_of_line = self.out_of_line.get(at);
        let (key, bytes): (&[u8], _) = match block {
            Some(number) => (&[], &self.blocks[number as usize].bytes()[value..end]),
            None => (&self.bytes[key..value], &self.bytes[value..end]),
        };
        RowRef { key, bytes, layout, out_of_line }
    }

    /// The row at a position, also where its key was not copied. That of a row in a block is put into `buffer`.
    pub(crate) fn row_with_key<'a>(&'a self, at: usize, buffer: &'a mut Vec<u8>) -> RowRef<'a> {
        let (row, place) = (self.row(at), self.rows[at]);
        let Some(number) = place.block else { return row };
        self.blocks[number as usize].key_into(place.key, buffer);
        RowRef { key: buffer, ..row }
    }

    /// The rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RowRef<'_>> {
        (0..self.len()).map(|at| self.row(at))
    }

    /// The bytes of the values of some rows, in order: those of [`RowRef::bytes`].
    pub fn values(&self, rows: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let (mut number, mut bytes) = (None, &self.bytes[..]);
        self.rows[rows].iter().map(move |place| {
            if place.block != number {
                number = place.block;
                bytes = match number {
                    Some(number) => self.blocks[number as usize].bytes(),
                    None => &self.bytes,
                };
            }
            &bytes[place.value..place.end]
        })
    }

    /// Returns the blocks in which some rows lie, in order, each with those of its rows; `None` if a row lies in none.
    pub fn blocks_of(&self, rows: Range<usize>) -> Option<Vec<(&RowBlock, Range<usize>)>> {
        let (mut found, mut at) = (Vec::new(), rows.start);
        while at < rows.end {
            let number = self.rows[at].block? as usize;
            let (block, start) = (&self.blocks[number], self.block_starts[number]);
            let end = rows.end.min(start + block.len());
            found.push((block, at - start..end - start));
            at = end;
        }
        Some(found)
    }

    /// Bytes of the rows that are there.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Says how the rows lie that are added; of one table all.
    pub(crate) fn lay_out(&mut self, layout: &Arc<Layout>) {
        match &self.layout {
            Some(known) if Arc::ptr_eq(known, layout) => {}
            _ => {
                assert!(self.is_empty(), "the rows of a batch are of one table");
                self.layout = Some(Arc::clone(layout));
            }
        }
    }

    /// Adds rows of a block, without a copy. Their keys are empty.
    pub(crate) fn push_block(&mut self, block: RowBlock) {
        let number = Some(self.blocks.len() as u32);
        self.block_starts.push(self.rows.len());
        self.rows.reserve(block.len());
        let mut key = 0;
        block.each_value(|value| {
            self.rows.push(RowPlace { block: number, key, value: value.start, end: value.end });
            key += 1;
        });
        self.blocks.push(block);
    }

    /// Adds a row whose key is empty.
    pub(crate) fn push_value(&mut self, value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        let end = self.bytes.len();
        self.rows.push(RowPlace { block: None, key: start, value: start, end });
    }

    /// Adds a row whose row form `write` appends, and the value beside it that it returns; adds none, and returns false,
    /// where it returns `None`.
    pub(crate) fn push_out_of_line<E>(
        &mut self,
        key: &[u8],
        write: impl FnOnce(&mut Vec<u8>) -> Result<Option<Option<OutOfLineValue>>, E>,
    ) -> Result<bool, E> {
        let mut out_of_line = None;
        let is_found = self.push(key, |out| {
            let found = write(out)?;
            Ok(match found {
                Some(value) => {
                    out_of_line = value;
                    true
                }
                None => false,
            })
        })?;
        self.out_of_line.extend(out_of_line);
        debug_assert!(self.out_of_line.is_empty() || self.out_of_line.len() == self.rows.len());
        Ok(is_found)
    }

    /// Adds the row whose row form `write` appends, and returns true; adds none if that returns false or
    /// fails.
    pub fn push<E>(
        &mut self,
        key: &[u8],
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let value = self.bytes.len();
        let written = write(&mut self.bytes);
        match &written {
            Ok(true) => {
                let end = self.bytes.len();
                self.rows.push(RowPlace { block: None, key: start, value, end });
            }
            _ => self.bytes.truncate(start),
        }
        written
    }
}
