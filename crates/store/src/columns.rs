//! Blocks of columns: entries of a run, laid out column by column.
//!
//! ```text
//!   stripe   entries of one table, one after the other, up to 131,072
//!
//!   in the file    shared parts │ parts of block 0 │ header 0 │ parts of block 1 │ header 1 │ ...
//!                  dictionaries   keys csns tags               keys csns tags
//!                                 columns                      columns
//!
//!   header         table, rows, where the parts are, and what the encoder says of them
//! ```
//!
//! A table chooses columns by [`Table::column_encoder`](crate::Table::column_encoder). The writer of a run
//! then collects the entries of a stripe, and the encoder turns their values into parts. For a reader of
//! rows the store decodes the block into a [`Block`], like any other. A reader of columns
//! ([`ColumnBlock::part`]) reads only the parts that it needs. Every part has a checksum.
//!
//! # Invariants
//! * No entry of a block of columns is a delta. In a current run each key has one entry, in a history run it may
//!   have several, by their commits.
//! * The decoder returns byte for byte what the encoder got.
//!
//! # Absent on purpose
//! The store does not know what a value is: the encoder and the decoder are the caller's.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use stripe::{ByteStrings, Chunk, Column, Values};

use crate::block::{Block, BlockBuilder};
use crate::block_keys::BlockKeys;
use crate::error::StoreError;
use crate::group::{Group, Tag};
use crate::key::{FullKey, TABLE_LEN};
use crate::row_mask::RowMask;
use crate::segment::Segment;
use crate::{TableId, key, varint};

/// The largest number of entries in a stripe.
pub const STRIPE_ROWS_MAX: usize = 128 << 10;
/// The largest number of entries in a block of columns.
pub const BLOCK_ROWS_MAX: usize = 16 << 10;
/// A stripe ends when its keys and values have so many bytes.
pub(crate) const STRIPE_BYTES_MAX: usize = 48 << 20;

/// The parts that the store itself writes for each block: keys, commits, tags.
const OWN_PARTS: usize = 3;
/// The tag of a deletion.
const DELETE: i64 = Tag::Delete as i64;

/// Turns the values of a table into columns.
pub trait ColumnEncoder: Debug + Send + Sync {
    /// Returns how many rows a full stripe has, at most [`STRIPE_ROWS_MAX`].
    fn stripe_rows(&self) -> usize {
        STRIPE_ROWS_MAX
    }

    /// Returns false if only the newest values are kept in columns, and superseded values as rows.
    fn takes_history(&self) -> bool {
        true
    }

    /// Returns the values of a stripe as columns, cut into blocks of at most [`BLOCK_ROWS_MAX`] rows. A value
    /// is `None` if its row is deleted. Returns `None` if the values are better kept as rows.
    fn encode(&self, values: &[Option<&[u8]>]) -> Option<EncodedStripe>;
}

/// Turns columns back into the values of any table.
pub trait ColumnDecoder: Debug + Send + Sync {
    /// Calls `each` with the value of each row of a block, in order. The value of a deleted row is
    /// arbitrary. `part` reads the parts of [`EncodedBlock::parts`] by position.
    ///
    /// # Errors
    /// If the parts do not decode, or `part` fails.
    fn decode(
        &self,
        head: &[u8],
        rows: usize,
        part: &dyn Fn(usize) -> Result<Arc<[u8]>, StoreError>,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ColumnError>;
}

/// Why a block of columns cannot be read.
#[derive(Debug)]
pub enum ColumnError {
    /// A part cannot be read.
    Store(StoreError),
    /// A part does not decode, for this reason.
    Damaged(&'static str),
}

impl From<StoreError> for ColumnError {
    fn from(error: StoreError) -> Self {
        ColumnError::Store(error)
    }
}

/// The columns of a stripe.
#[derive(Debug, Default)]
pub struct EncodedStripe {
    /// Parts that several blocks read: dictionaries.
    pub shared: Vec<Vec<u8>>,
    /// The blocks, which have all rows of the stripe in order.
    pub blocks: Vec<EncodedBlock>,
}

/// The columns of a block.
#[derive(Debug, Default)]
pub struct EncodedBlock {
    /// The number of rows.
    pub rows: usize,
    /// The bytes that the decoder needs before it reads a part.
    pub head: Vec<u8>,
    /// The parts.
    pub parts: Vec<EncodedPart>,
}

/// A part of a block.
#[derive(Debug)]
pub enum EncodedPart {
    /// A part of this block alone.
    Own(Vec<u8>),
    /// A part in [`EncodedStripe::shared`], by position.
    Shared(usize),
}

/// An entry of a stripe that is being collected.
struct Row {
    key: Range<usize>,
    value: Range<usize>,
    csn: u64,
    tag: Tag,
}

/// Collects the entries of a stripe.
#[derive(Default)]
pub(crate) struct StripeBuilder {
    keys: Vec<u8>,
    values: Vec<u8>,
    rows: Vec<Row>,
    /// The encoder of the table. There is one where there are rows.
    encoder: Option<Arc<dyn ColumnEncoder>>,
}

/// Borrowed entries of a stripe.
pub(crate) struct StripeRows<'e> {
    pub table: TableId,
    pub rows: Vec<StripeRow<'e>>,
}

/// An entry of a stripe.
pub(crate) struct StripeRow<'e> {
    /// The key, without its table.
    pub key: &'e [u8],
    pub value: &'e [u8],
    pub csn: u64,
    pub tag: Tag,
}

/// A block of a stripe, ready to be written.
pub(crate) struct BlockOut {
    pub table: TableId,
    /// The full key of the first row.
    pub first_key: FullKey,
    /// The commit of the first row.
    pub first: u64,
    /// The smallest and the largest commit.
    pub csns: (u64, u64),
    pub deleted: usize,
    /// Keys, commits, tags.
    pub own: [Vec<u8>; OWN_PARTS],
    pub encoded: EncodedBlock,
}

impl StripeBuilder {
    /// Adds an entry of a table with this encoder.
    pub fn push(&mut self, full: &[u8], group: &Group, encoder: Arc<dyn ColumnEncoder>) {
        self.encoder.get_or_insert(encoder);
        for entry in group.view().entries() {
            let (key, value) = (self.keys.len(), self.values.len());
            self.keys.extend_from_slice(full);
            self.values.extend_from_slice(entry.bytes);
            let (key, value) = (key..self.keys.len(), value..self.values.len());
            self.rows.push(Row { key, value, csn: entry.csn, tag: entry.tag });
        }
    }

    /// True if an entry more does not belong into the stripe.
    pub fn is_full_for(&self, full: &[u8], value_bytes: usize) -> bool {
        let Some(first) = self.rows.first() else { return false };
        let rows_max = self.encoder.as_ref().map_or(STRIPE_ROWS_MAX, |known| known.stripe_rows());
        self.rows.len() >= rows_max.min(STRIPE_ROWS_MAX)
            || self.keys.len() + self.values.len() + full.len() + value_bytes > STRIPE_BYTES_MAX
            || self.keys[first.key.clone()][..TABLE_LEN] != full[..TABLE_LEN]
    }

    /// The entries and the encoder of their table; `None` if there are none.
    pub fn rows(&self) -> Option<(StripeRows<'_>, &dyn ColumnEncoder)> {
        let (table, _) = key::split(&self.keys[self.rows.first()?.key.clone()]);
        let row = |row: &Row| StripeRow {
            key: &self.keys[row.key.clone()][TABLE_LEN..],
            value: &self.values[row.value.clone()],
            csn: row.csn,
            tag: row.tag,
        };
        let rows = self.rows.iter().map(row).collect();
        Some((StripeRows { table, rows }, self.encoder.as_deref()?))
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.rows.clear();
        self.encoder = None;
    }
}

impl StripeRows<'_> {
    /// The columns, where the encoder makes any.
    pub fn encode(&self, encoder: &dyn ColumnEncoder) -> Option<EncodedStripe> {
        let values = self.rows.iter().map(|row| (row.tag != Tag::Delete).then_some(row.value));
        let values: Vec<Option<&[u8]>> = values.collect();
        let encoded = encoder.encode(&values)?;
        let rows: usize = encoded.blocks.iter().map(|block| block.rows).sum();
        let right = |block: &EncodedBlock| (1..=BLOCK_ROWS_MAX).contains(&block.rows);
        assert!(
            rows == self.rows.len() && encoded.blocks.iter().all(right),
            "an encoder lost rows"
        );
        Some(encoded)
    }

    /// Puts what the store keeps of each row beside the columns of a block that begins at row `start`.
    pub fn block(&self, start: usize, encoded: EncodedBlock) -> BlockOut {
        let rows = &self.rows[start..start + encoded.rows];
        let first = &rows[0];
        let csns: Vec<i64> = rows.iter().map(|row| row.csn as i64).collect();
        let tags: Vec<i64> = rows.iter().map(|row| row.tag as i64).collect();
        let keys = rows.iter().map(|row| row.key);
        let bounds = rows.iter().map(|row| (row.csn, row.csn));
        let bounds = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default();
        BlockOut {
            table: self.table,
            first_key: key::full(self.table, first.key),
            first: first.csn,
            csns: bounds,
            deleted: rows.iter().filter(|row| row.tag == Tag::Delete).count(),
            own: [keys_part(keys), ints_part(&csns), ints_part(&tags)],
            encoded,
        }
    }

    /// Calls `f` for each entry, in order.
    pub fn each<E>(&self, mut f: impl FnMut(&[u8], &Group) -> Result<(), E>) -> Result<(), E> {
        let (mut group, mut full) = (Group::default(), Vec::new());
        for row in &self.rows {
            group.clear();
            group.push(row.csn, row.tag, row.value);
            key::write(self.table, row.key, &mut full);
            f(&full, &group)?;
        }
        Ok(())
    }
}

fn ints_part(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    Chunk::write(Column::Ints(values), &vec![false; values.len()], &mut out);
    out
}

/// Keys are kept as numbers of 8 bytes if that is what they are, or begin with few different bytes and end
/// with such a number; else whole.
const NUMBERS: u8 = 0;
const PREFIXED: u8 = 1;
const WHOLE: u8 = 2;

pub(crate) const NUMBER_BYTES: usize = 8;

fn keys_part<'k>(keys: impl Iterator<Item = &'k [u8]> + Clone) -> Vec<u8> {
    let count = keys.clone().count();
    let none = vec![false; count];
    let mut out = Vec::new();
    if !keys.clone().all(|key| key.len() >= NUMBER_BYTES) {
        out.push(WHOLE);
        let whole: ByteStrings = keys.collect();
        Chunk::write(Column::Strings(&whole, None), &none, &mut out);
        return out;
    }
    let split = |key: &'k [u8]| key.split_at(key.len() - NUMBER_BYTES);
    let number = |key| i64::from_be_bytes(split(key).1.try_into().expect("8 bytes"));
    let numbers: Vec<i64> = keys.clone().map(number).collect();
    if keys.clone().all(|key| key.len() == NUMBER_BYTES) {
        out.push(NUMBERS);
        Chunk::write(Column::Ints(&numbers), &none, &mut out);
        return out;
    }
    let prefixes: ByteStrings = keys.clone().map(|key| split(key).0).collect();
    match stripe::Dictionary::of(prefixes.iter()) {
        Some(dictionary) => {
            out.push(PREFIXED);
            let mut chunk = Vec::new();
            Chunk::write(Column::Strings(&prefixes, Some(&dictionary)), &none, &mut chunk);
            for bytes in [dictionary.to_bytes(), chunk] {
                varint::put(&mut out, bytes.len() as u64);
                out.extend_from_slice(&bytes);
            }
            Chunk::write(Column::Ints(&numbers), &none, &mut out);
        }
        None => {
            out.push(WHOLE);
            let whole: ByteStrings = keys.collect();
            Chunk::write(Column::Strings(&whole, None), &none, &mut out);
        }
    }
    out
}

/// Calls `each` with the keys of a block, in order.
fn read_keys(part: &[u8], rows: usize, each: &mut dyn FnMut(&[u8])) -> Result<(), ColumnError> {
    let damaged = |_| ColumnError::Damaged("the keys of a block of columns");
    let wrong = || ColumnError::Damaged("the keys of a block of columns");
    let (kind, mut rest) = part.split_first().ok_or_else(wrong)?;
    let take = |rest: &mut &[u8]| -> Result<Vec<u8>, ColumnError> {
        let mut pos = 0;
        let len = varint::try_get(rest, &mut pos).ok_or_else(wrong)?;
        let end = usize::try_from(len).ok().and_then(|len| pos.checked_add(len));
        let end = end.filter(|end| *end <= rest.len()).ok_or_else(wrong)?;
        let taken = rest[pos..end].to_vec();
        *rest = &rest[end..];
        Ok(taken)
    };
    let prefixes = match *kind {
        PREFIXED => {
            let dictionary = stripe::Dictionary::read(&take(&mut rest)?).map_err(damaged)?;
            Some((dictionary, take(&mut rest)?))
        }
        _ => None,
    };
    let chunk = Chunk::read(rest).map_err(damaged)?;
    if chunk.len() != rows {
        return Err(wrong());
    }
    match (*kind, chunk.values(), &prefixes) {
        (NUMBERS, Values::Ints(numbers), None) => {
            numbers.to_vec().iter().for_each(|number| each(&number.to_be_bytes()));
        }
        (PREFIXED, Values::Ints(numbers), Some((dictionary, codes))) => {
            let codes = Chunk::read(codes).map_err(damaged)?;
            let Values::Strings(prefixes) = codes.values() else { return Err(wrong()) };
            if codes.len() != rows {
                return Err(wrong());
            }
            let mut key = Vec::new();
            for (row, number) in numbers.to_vec().iter().enumerate() {
                key.clear();
                key.extend_from_slice(prefixes.get(row, Some(dictionary)).map_err(damaged)?);
                key.extend_from_slice(&number.to_be_bytes());
                each(&key);
            }
        }
        (WHOLE, Values::Strings(keys), None) => {
            keys.whole().ok_or_else(wrong)?.iter().for_each(each);
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

/// A block of columns: its header, and the way to its parts.
pub struct ColumnBlock {
    table: u32,
    rows: usize,
    deleted: usize,
    head: Vec<u8>,
    /// Offsets in the file and lengths.
    parts: Vec<(u64, u32)>,
    /// The value that a reader has made of `head`.
    parsed: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl ColumnBlock {
    /// Appends a header. Parts lie before the header, which is at `offset`.
    pub(crate) fn write(block: &BlockOut, parts: &[(u64, u32)], offset: u64, out: &mut Vec<u8>) {
        let EncodedBlock { rows, head, .. } = &block.encoded;
        let numbers =
            [u64::from(block.table.0), *rows as u64, block.deleted as u64, parts.len() as u64];
        numbers.iter().for_each(|number| varint::put(out, *number));
        for (at, len) in parts {
            varint::put(out, offset - at);
            varint::put(out, u64::from(*len));
        }
        out.extend_from_slice(head);
    }

    /// Takes a header apart; `None` if it is none.
    pub(crate) fn decode(bytes: &[u8], offset: u64) -> Option<ColumnBlock> {
        let mut pos = 0;
        let mut number = || varint::try_get(bytes, &mut pos);
        let (table, rows, deleted, count) = (number()?, number()?, number()?, number()?);
        let rows = usize::try_from(rows).ok().filter(|rows| (1..=BLOCK_ROWS_MAX).contains(rows))?;
        let mut parts = Vec::new();
        for _ in 0..count {
            let (back, len) = (number()?, u32::try_from(number()?).ok()?);
            let at = offset.checked_sub(back)?;
            (u64::from(len) <= back).then_some(())?;
            parts.push((at, len));
        }
        (parts.len() >= OWN_PARTS).then_some(())?;
        let head = bytes[pos..].to_vec();
        let (table, deleted) = (u32::try_from(table).ok()?, usize::try_from(deleted).ok()?);
        Some(ColumnBlock { table, rows, deleted, head, parts, parsed: OnceLock::new() })
    }

    /// Returns the table whose rows these are.
    pub fn table(&self) -> TableId {
        TableId(self.table)
    }

    /// Returns the number of rows that are deletions.
    pub fn deleted(&self) -> usize {
        self.deleted
    }

    /// Returns the offset of the first of the parts, those that the stripe shares among them.
    pub(crate) fn begins(&self) -> Option<u64> {
        self.parts.iter().map(|(offset, _)| *offset).min()
    }

    /// Returns the offset in the file and the length of each part.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.parts.iter().copied()
    }

    /// Returns the number of bytes that the block has in memory, parts aside.
    pub(crate) fn size(&self) -> usize {
        // The value that a reader makes of the head takes about as much as the head twice more.
        size_of::<ColumnBlock>() + 3 * self.head.len() + self.parts.len() * size_of::<(u64, u32)>()
    }

    /// Returns a part, by position: the store's own come first.
    fn part(&self, segment: &Segment, index: usize) -> Result<Arc<[u8]>, StoreError> {
        let (offset, len) = self.parts[index];
        segment.column_part(offset, len)
    }

    /// Returns a part that the encoder has made, by its position in [`EncodedBlock::parts`].
    fn encoded_part(&self, segment: &Segment, index: usize) -> Result<Arc<[u8]>, StoreError> {
        match self.parts.get(OWN_PARTS + index) {
            Some((offset, len)) => segment.column_part(*offset, *len),
            None => Err(segment.damaged(0, "a block of columns lacks a part")),
        }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Reads the keys of all rows.
    pub(crate) fn keys(&self, segment: &Segment) -> Result<BlockKeys, StoreError> {
        let part = self.part(segment, 0)?;
        let table = TableId(self.table);
        if let Some((&NUMBERS, rest)) = part.split_first()
            && let Ok(chunk) = Chunk::read(rest)
            && let (Values::Ints(numbers), true) = (chunk.values(), chunk.len() == self.rows)
        {
            // They are numbers without a sign, in the order of their bytes.
            let numbers = numbers.to_vec().into_iter().map(|number| number as u64).collect();
            return Ok(BlockKeys::numbers(table, numbers));
        }
        let (mut full, mut ends) = (Vec::new(), Vec::with_capacity(self.rows));
        let read = read_keys(&part, self.rows, &mut |key| {
            full.extend_from_slice(&table.0.to_be_bytes());
            full.extend_from_slice(key);
            ends.push(full.len());
        });
        match read {
            Ok(()) => Ok(BlockKeys::whole(full, ends)),
            Err(ColumnError::Store(error)) => Err(error),
            Err(ColumnError::Damaged(what)) => Err(segment.damaged(0, what)),
        }
    }

    /// Reads a part of the store that has an integer for each row.
    fn ints(&self, segment: &Segment, index: usize) -> Result<Vec<i64>, StoreError> {
        let damaged = || segment.damaged(0, "the commits or the tags of a block of columns");
        let part = self.part(segment, index)?;
        let chunk = Chunk::read(&part).map_err(|_| damaged())?;
        match chunk.values() {
            Values::Ints(values) if values.len() == self.rows => Ok(values.to_vec()),
            _ => Err(damaged()),
        }
    }

    /// Reads the commits of all rows.
    pub(crate) fn csns(&self, segment: &Segment) -> Result<Vec<u64>, StoreError> {
        let (csns, shift) = (self.ints(segment, 1)?, segment.meta.shift);
        Ok(csns.into_iter().map(|csn| (csn as u64).wrapping_add(shift)).collect())
    }

    /// Sets `hidden` for each row that is a deletion.
    pub(crate) fn mark_deleted(
        &self,
        segment: &Segment,
        hidden: &mut [bool],
    ) -> Result<(), StoreError> {
        let tags = self.ints(segment, 2)?;
        hidden.iter_mut().zip(tags).for_each(|(is_hidden, tag)| *is_hidden |= tag == DELETE);
        Ok(())
    }

    /// Decodes all rows into a block of rows.
    pub(crate) fn to_block(
        &self,
        segment: &Segment,
        decoder: &dyn ColumnDecoder,
    ) -> Result<Block, ColumnError> {
        let (csns, tags) = (self.ints(segment, 1)?, self.ints(segment, 2)?);
        let (mut keys, mut ends) = (Vec::new(), Vec::with_capacity(self.rows));
        read_keys(&self.part(segment, 0)?, self.rows, &mut |key| {
            keys.extend_from_slice(&self.table.to_be_bytes());
            keys.extend_from_slice(key);
            ends.push(keys.len());
        })?;
        let mut builder = BlockBuilder::default();
        let (mut group, mut row, mut from) = (Group::default(), 0, 0);
        let mut each = |value: &[u8]| {
            let tag = match tags.get(row) {
                Some(0) => Tag::Put,
                Some(&DELETE) => Tag::Delete,
                _ => Tag::Image,
            };
            let (Some(csn), Some(end)) = (csns.get(row), ends.get(row)) else { return };
            group.clear();
            group.push(*csn as u64, tag, if tag == Tag::Delete { &[] } else { value });
            builder.push(&keys[from..*end], &group);
            (row, from) = (row + 1, *end);
        };
        let part = |index: usize| self.encoded_part(segment, index);
        decoder.decode(&self.head, self.rows, &part, &mut each)?;
        if row != self.rows {
            return Err(ColumnError::Damaged("a block of columns lacks rows"));
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes);
        Block::decode(bytes, segment.meta.shift)
            .ok_or(ColumnError::Damaged("a block of columns has no order"))
    }
}

/// A block of columns that a scan has come to.
pub struct ColumnRows {
    segment: Arc<Segment>,
    block: Arc<ColumnBlock>,
    seen: Option<RowMask>,
}

impl ColumnRows {
    pub(crate) fn new(segment: Arc<Segment>, block: Arc<ColumnBlock>) -> ColumnRows {
        ColumnRows { segment, block, seen: None }
    }

    /// Returns the block with these rows seen, `None` for all, but for those that are hidden: none if no row is left.
    /// `hidden` says it of each row, or is empty.
    pub(crate) fn with(self, seen: Option<RowMask>, hidden: &[bool]) -> Option<ColumnRows> {
        let seen = match seen {
            seen if !hidden.contains(&true) => seen,
            None => Some(RowMask::of_shown(hidden)),
            Some(seen) => Some(seen.without(hidden)),
        };
        let is_empty = seen.as_ref().is_some_and(RowMask::is_empty);
        (!is_empty).then_some(ColumnRows { seen, ..self })
    }

    /// Returns the rows that the scan sees; `None` if it sees all.
    pub fn seen(&self) -> Option<&RowMask> {
        self.seen.as_ref()
    }

    /// Returns the number of rows, at least 1, those that the scan does not see among them.
    pub fn len(&self) -> usize {
        self.block.rows
    }

    /// Returns false: a block has rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns [`EncodedBlock::head`].
    pub fn head(&self) -> &[u8] {
        &self.block.head
    }

    /// Returns what `make` makes of [`ColumnRows::head`]. It is made once for all readers, as long as the block is in
    /// memory; they all make the same type of it. `None` if `make` gives nothing.
    pub fn parsed<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<Arc<T>> {
        if let Some(known) = self.block.parsed.get() {
            return known.clone().downcast().ok();
        }
        let made = Arc::new(make(&self.block.head)?);
        self.block.parsed.get_or_init(|| made.clone());
        Some(made)
    }

    /// Reads a part of [`EncodedBlock::parts`], by position.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    pub fn part(&self, index: usize) -> Result<Arc<[u8]>, StoreError> {
        self.block.encoded_part(&self.segment, index)
    }

    /// Calls `each` with the keys of the rows, in order.
    ///
    /// # Errors
    /// As [`ColumnRows::part`].
    pub fn keys(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), StoreError> {
        let part = self.block.part(&self.segment, 0)?;
        read_keys(&part, self.block.rows, each).map_err(|error| self.fault(error))
    }

    /// Returns the error for columns of this block that do not decode.
    pub fn fault(&self, error: ColumnError) -> StoreError {
        match error {
            ColumnError::Store(error) => error,
            ColumnError::Damaged(what) => self.segment.damaged(0, what),
        }
    }
}
