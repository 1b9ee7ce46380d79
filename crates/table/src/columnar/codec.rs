//! Rows in row form as columns of the store, and back.
//!
//! ```text
//!   rows       (1, 'DE', 47.10)  (2, NULL, 5.00)  (3, 'DE', 0.99)
//!
//!   columns    int4   1 2 3            a chunk of integers
//!              text   0 - 0            codes; the dictionary of the stripe: 'DE'
//!              numeric  4710 500 99    a chunk of decimals, scale 2
//!
//!   head       version, number of columns, for each: representation, dictionary?, zone
//! ```
//!
//! A block has rows of one version and one number of columns. The head says what the columns are, so a
//! block is read without the catalog.
//!
//! # Invariants
//! * Decoded rows are byte for byte what was encoded.

use std::ops::Range;
use std::sync::Arc;

use numeric::Numeric;
use store::{
    BLOCK_ROWS_MAX, ColumnDecoder, ColumnEncoder, ColumnError, EncodedBlock, EncodedPart,
    EncodedStripe, STRIPE_ROWS_MAX, StoreError,
};
use stripe::{
    ByteStrings, Chunk, Column, Compression, Dictionary, Floats, Ints, Strings, Values, Zone,
};
use types::{Repr, RowView, row};

use super::shred::{self, Shredded};
use crate::heap::patch::{put_varint, take_varint};

/// The largest scale of numbers that are kept as decimals of 64 bits.
const SCALE_MAX: u32 = 18;
/// Set in the head for a column that has a dictionary, which is the part before its chunk.
const HAS_DICTIONARY: u8 = 1;
/// Set in the head for a column of objects whose frequent fields are columns of their own.
const IS_SHREDDED: u8 = 2;
/// Set in the head of a shredded column if every value is an object.
const HAS_ONLY_OBJECTS: u8 = 1;
/// Set in the head of a shredded column if an object is whole in the rest.
const HAS_WHOLE: u8 = 2;
/// The most fields of a column, and bytes of the name of one.
const FIELDS_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 1 << 28;

/// How stripes are cut and compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// The most rows of a stripe.
    pub stripe_rows: usize,
    /// The most rows of a block.
    pub block_rows: usize,
    /// How byte strings are compressed that have no shorter form.
    pub compression: Compression,
}

impl Default for Form {
    fn default() -> Self {
        Form {
            stripe_rows: STRIPE_ROWS_MAX,
            block_rows: BLOCK_ROWS_MAX,
            compression: Compression::default(),
        }
    }
}

/// Encodes the rows of one table.
#[derive(Debug)]
pub(crate) struct RowEncoder {
    reprs: Arc<[Repr]>,
    form: Form,
}

impl RowEncoder {
    /// Returns the encoder of a table whose columns have these representations.
    pub fn new(reprs: impl IntoIterator<Item = Repr>, form: Form) -> RowEncoder {
        RowEncoder { reprs: reprs.into_iter().collect(), form }
    }
}

/// The values of a column in a block, while rows are taken apart.
enum Buffer {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Floats32(Vec<f32>),
    Strings(ByteStrings),
}

impl Buffer {
    /// Returns a buffer with room for so many values, and for so many bytes of strings.
    fn new(repr: Repr, rows: usize, bytes: usize) -> Buffer {
        match repr {
            Repr::Bool | Repr::Int2 | Repr::Int4 | Repr::Int8 | Repr::Oid => {
                Buffer::Ints(Vec::with_capacity(rows))
            }
            Repr::Date | Repr::Time | Repr::Timestamp | Repr::TimestampTz => {
                Buffer::Ints(Vec::with_capacity(rows))
            }
            Repr::Float8 => Buffer::Floats(Vec::with_capacity(rows)),
            Repr::Float4 => Buffer::Floats32(Vec::with_capacity(rows)),
            _ => Buffer::Strings(ByteStrings::with_capacity(rows, bytes)),
        }
    }

    /// Returns the bytes of the strings, or 0 if there are none.
    fn byte_len(&self) -> usize {
        match self {
            Buffer::Strings(strings) => strings.byte_len(),
            _ => 0,
        }
    }

    /// Adds a value. A NULL repeats the value before it.
    fn push(&mut self, repr: Repr, value: Option<&[u8]>) -> Option<()> {
        match (self, value) {
            (Buffer::Ints(all), value) => {
                let before = all.last().copied().unwrap_or(0);
                all.push(value.map_or(Some(before), |bytes| int_of(repr, bytes))?);
            }
            (Buffer::Floats(all), Some(bytes)) => {
                all.push(f64::from_le_bytes(bytes.try_into().ok()?))
            }
            (Buffer::Floats(all), None) => all.push(all.last().copied().unwrap_or(0.0)),
            (Buffer::Floats32(all), Some(bytes)) => {
                all.push(f32::from_le_bytes(bytes.try_into().ok()?));
            }
            (Buffer::Floats32(all), None) => all.push(all.last().copied().unwrap_or(0.0)),
            (Buffer::Strings(all), value) => all.push(value.unwrap_or_default()),
        }
        Some(())
    }
}

/// Reads an integer of the width of its representation.
fn int_of(repr: Repr, bytes: &[u8]) -> Option<i64> {
    Some(match repr {
        Repr::Bool => i64::from(*bytes.first()?),
        Repr::Int2 => i16::from_le_bytes(bytes.try_into().ok()?).into(),
        Repr::Int4 | Repr::Date => i32::from_le_bytes(bytes.try_into().ok()?).into(),
        Repr::Oid => u32::from_le_bytes(bytes.try_into().ok()?).into(),
        _ => i64::from_le_bytes(bytes.try_into().ok()?),
    })
}

/// Numbers as decimals with a common scale.
struct Decimals {
    scale: u32,
    mantissas: Vec<i64>,
    shown: Vec<i64>,
}

impl Decimals {
    /// Returns numbers in stored form as decimals, or `None` if one of them does not fit.
    fn of(stored: &ByteStrings, is_null: &[bool]) -> Option<Decimals> {
        let mut shorts: Vec<(i64, u32)> = Vec::with_capacity(stored.len());
        for (bytes, is_null) in stored.iter().zip(is_null) {
            shorts.push(match is_null {
                true => shorts.last().copied().unwrap_or((0, 0)),
                false => Numeric::short_from_stored(bytes)?,
            });
        }
        let scale = shorts.iter().map(|(_, shown)| *shown).max().unwrap_or(0);
        if scale > SCALE_MAX {
            return None;
        }
        let scaled = |(mantissa, shown): &(i64, u32)| {
            mantissa.checked_mul(10_i64.checked_pow(scale - shown)?)
        };
        let mantissas = shorts.iter().map(scaled).collect::<Option<Vec<i64>>>()?;
        let shown = shorts.iter().map(|(_, shown)| i64::from(*shown)).collect();
        Some(Decimals { scale, mantissas, shown })
    }
}

/// The rows of a block, taken apart.
struct Block {
    rows: usize,
    version: u32,
    columns: Vec<Buffer>,
    nulls: Vec<Vec<bool>>,
}

impl Block {
    /// Begins a block with room for so many rows. Its strings are expected to be as long as those of the block before.
    fn new(version: u32, reprs: &[Repr], rows: usize, before: Option<&Block>) -> Block {
        let bytes = |at: usize| {
            let before = before.filter(|before| before.rows > 0)?;
            let bytes = before.columns.get(at)?.byte_len() * rows / before.rows;
            Some(bytes + bytes / 16)
        };
        let columns = reprs.iter().enumerate();
        let columns =
            columns.map(|(at, repr)| Buffer::new(*repr, rows, bytes(at).unwrap_or(0))).collect();
        let nulls = reprs.iter().map(|_| Vec::with_capacity(rows)).collect();
        Block { rows: 0, version, columns, nulls }
    }

    fn push(&mut self, reprs: &[Repr], row: Option<RowView<'_>>) -> Option<()> {
        let mut values = row.map(RowView::iter);
        for (at, column) in self.columns.iter_mut().enumerate() {
            let value = match &mut values {
                Some(values) => values.next_raw()?.ok()?,
                None => None,
            };
            column.push(reprs[at], value)?;
            self.nulls[at].push(value.is_none());
        }
        self.rows += 1;
        Some(())
    }
}

impl ColumnEncoder for RowEncoder {
    fn stripe_rows(&self) -> usize {
        self.form.stripe_rows
    }

    fn encode(&self, values: &[Option<&[u8]>]) -> Option<EncodedStripe> {
        let mut blocks: Vec<Block> = Vec::new();
        for (at, value) in values.iter().enumerate() {
            let row = match value {
                Some(bytes) => Some(RowView::new(bytes, &self.reprs).ok()?),
                None => None,
            };
            let is_new = blocks.last().is_none_or(|block| {
                let is_same = |row: RowView<'_>| {
                    (row.version(), row.len()) == (block.version, block.columns.len())
                };
                block.rows >= self.form.block_rows || !row.is_none_or(is_same)
            });
            if is_new {
                let width = row.map_or(self.reprs.len(), RowView::len);
                let version = row.map_or(0, RowView::version);
                // A block that began because the version changed may end as soon.
                let is_usual = blocks.last().is_none_or(|block| block.rows >= self.form.block_rows);
                let rows = if is_usual { self.form.block_rows.min(values.len() - at) } else { 0 };
                blocks.push(Block::new(version, &self.reprs[..width], rows, blocks.last()));
            }
            blocks.last_mut()?.push(&self.reprs, row)?;
        }
        Some(self.write(&blocks))
    }
}

impl RowEncoder {
    fn write(&self, blocks: &[Block]) -> EncodedStripe {
        let mut stripe = EncodedStripe::default();
        let heads = blocks.iter().map(|block| {
            let mut out = EncodedBlock { rows: block.rows, ..EncodedBlock::default() };
            put_varint(&mut out.head, block.version as usize);
            put_varint(&mut out.head, block.columns.len());
            out
        });
        stripe.blocks = heads.collect();
        for (at, repr) in self.reprs.iter().enumerate() {
            self.write_column(blocks, at, *repr, &mut stripe);
        }
        stripe
    }

    /// Appends a column of all blocks of a stripe.
    fn write_column(&self, blocks: &[Block], at: usize, repr: Repr, stripe: &mut EncodedStripe) {
        let names = match repr {
            Repr::Jsonb => shred::frequent_fields(strings_of(blocks, at)),
            _ => Vec::new(),
        };
        if !names.is_empty() {
            return self.write_shredded(blocks, at, repr, &names, stripe);
        }
        // Numbers are better kept as decimals than in a dictionary.
        let mut coded = match repr {
            Repr::Numeric => Coded::default(),
            _ => self.coded(strings_of(blocks, at), stripe),
        };
        for (block, out) in blocks.iter().zip(&mut stripe.blocks) {
            let Some(buffer) = block.columns.get(at) else { continue };
            out.head.push(repr as u8);
            let nulls = &block.nulls[at];
            let decimals = match buffer {
                Buffer::Strings(strings) if repr == Repr::Numeric => Decimals::of(strings, nulls),
                _ => None,
            };
            let column = match (buffer, &decimals) {
                (_, Some(Decimals { scale, mantissas, shown })) => {
                    Column::Decimals { scale: *scale, mantissas, shown }
                }
                (Buffer::Ints(values), _) => Column::Ints(values),
                (Buffer::Floats(values), _) => Column::Floats(values),
                (Buffer::Floats32(values), _) => Column::Floats32(values),
                (Buffer::Strings(strings), _) => {
                    self.put_strings(&mut coded, strings, nulls, 0, out);
                    continue;
                }
            };
            self.put_chunk(column, nulls, None, 0, out);
        }
    }

    /// Appends a column of objects whose fields with these names are columns.
    fn write_shredded(
        &self,
        blocks: &[Block],
        at: usize,
        repr: Repr,
        names: &[String],
        stripe: &mut EncodedStripe,
    ) {
        let shredded: Vec<Option<Shredded>> = blocks
            .iter()
            .map(|block| match block.columns.get(at)? {
                Buffer::Strings(strings) => Some(Shredded::of(strings, &block.nulls[at], names)),
                _ => None,
            })
            .collect();
        let all = || shredded.iter().flatten();
        let mut rest = self.coded(all().flat_map(|block| block.rest.iter()), stripe);
        let fields = 0..names.len();
        let mut fields: Vec<Coded> = fields
            .map(|field| self.coded(all().flat_map(|block| block.fields[field].0.iter()), stripe))
            .collect();
        for ((block, shredded), out) in blocks.iter().zip(&shredded).zip(&mut stripe.blocks) {
            let Some(shredded) = shredded else { continue };
            out.head.push(repr as u8);
            self.put_strings(&mut rest, &shredded.rest, &block.nulls[at], IS_SHREDDED, out);
            let only_objects = if shredded.has_only_objects { HAS_ONLY_OBJECTS } else { 0 };
            let whole = if shredded.has_whole { HAS_WHOLE } else { 0 };
            out.head.push(only_objects | whole);
            put_varint(&mut out.head, names.len());
            for ((name, coded), (values, nulls)) in
                names.iter().zip(&mut fields).zip(&shredded.fields)
            {
                put_varint(&mut out.head, name.len());
                out.head.extend_from_slice(name.as_bytes());
                self.put_strings(coded, values, nulls, 0, out);
            }
        }
    }

    /// Returns the codes of the strings of a stripe, and adds their dictionary to what its blocks share, if it pays.
    fn coded<'s>(
        &self,
        strings: impl Iterator<Item = &'s [u8]>,
        stripe: &mut EncodedStripe,
    ) -> Coded {
        let Some((dictionary, codes)) = Dictionary::with_codes(strings) else {
            return Coded::default();
        };
        if codes.is_empty() {
            return Coded::default();
        }
        stripe.shared.push(dictionary.to_bytes_by(self.form.compression));
        Coded { dictionary: Some((dictionary, stripe.shared.len() - 1)), codes, used: 0 }
    }

    /// Appends strings of a block as [`RowEncoder::put_chunk`] does, by their codes if they have any.
    fn put_strings(
        &self,
        coded: &mut Coded,
        strings: &ByteStrings,
        nulls: &[bool],
        flags: u8,
        out: &mut EncodedBlock,
    ) {
        match &coded.dictionary {
            None => self.put_chunk(Column::Strings(strings, None), nulls, None, flags, out),
            Some((dictionary, shared)) => {
                let codes = &coded.codes[coded.used..coded.used + strings.len()];
                let codes: Vec<i64> = codes.iter().map(|code| i64::from(*code)).collect();
                coded.used += strings.len();
                let column = Column::Codes(&codes, dictionary);
                self.put_chunk(column, nulls, Some(*shared), flags, out);
            }
        }
    }

    /// Appends the flags and the zone of a column to the head of a block, and its parts to the block. `shared` is the
    /// position of the dictionary that the column has codes of.
    fn put_chunk(
        &self,
        column: Column<'_>,
        nulls: &[bool],
        shared: Option<usize>,
        flags: u8,
        out: &mut EncodedBlock,
    ) {
        out.head.push(flags | if shared.is_some() { HAS_DICTIONARY } else { 0 });
        Zone::of(column, nulls).write(&mut out.head);
        let mut chunk = Vec::new();
        Chunk::write_by(self.form.compression, column, nulls, &mut chunk);
        out.parts.extend(shared.map(EncodedPart::Shared));
        out.parts.push(EncodedPart::Own(chunk));
    }
}

/// The strings of a column of a stripe by their codes.
#[derive(Default)]
struct Coded {
    /// The dictionary, and its position among the parts that the blocks share; `None` if there is none.
    dictionary: Option<(Dictionary, usize)>,
    codes: Vec<u32>,
    /// How many codes are of blocks that are written.
    used: usize,
}

/// Returns the byte strings of a column over all blocks of a stripe; nothing if it has others.
fn strings_of(blocks: &[Block], at: usize) -> impl Iterator<Item = &[u8]> {
    let strings = blocks.iter().filter_map(move |block| match block.columns.get(at)? {
        Buffer::Strings(strings) => Some(strings),
        _ => None,
    });
    strings.flat_map(ByteStrings::iter)
}

/// The part of a block's head for a column.
#[derive(Debug)]
pub(crate) struct ColumnHead {
    /// The representation of the values.
    pub repr: Repr,
    /// Where the values are; of a shredded column what is left of them.
    pub chunk: ChunkHead,
    /// The fields that are columns, if the column is shredded.
    pub fields: Option<FieldsHead>,
}

/// Where a chunk is, and what is known of its values.
#[derive(Debug)]
pub(crate) struct ChunkHead {
    /// The position of the dictionary among the parts, if there is one.
    pub dictionary: Option<usize>,
    /// The position of the chunk among the parts.
    pub chunk: usize,
    /// The bounds, NULLs and sum of the values.
    pub zone: Zone,
}

/// The part of a block's head for a shredded column.
#[derive(Debug)]
pub(crate) struct FieldsHead {
    /// True if every value is an object.
    pub has_only_objects: bool,
    /// True if an object is whole in the rest.
    pub has_whole: bool,
    /// The names, in the order of objects.
    pub names: Vec<String>,
    /// Where the values of each are.
    pub chunks: Vec<ChunkHead>,
}

/// The head of a block.
#[derive(Debug)]
pub(crate) struct BlockHead {
    /// The version that the rows were written under.
    pub version: u32,
    /// The columns that the rows have.
    pub columns: Vec<ColumnHead>,
}

impl ChunkHead {
    /// Takes a chunk off the front of a head; `part` is the next part. Returns the flags too.
    fn read(head: &mut &[u8], part: &mut usize) -> Option<(ChunkHead, u8)> {
        let (flags, rest) = head.split_first()?;
        *head = rest;
        let dictionary = (flags & HAS_DICTIONARY != 0).then_some(*part);
        let chunk = *part + usize::from(dictionary.is_some());
        *part = chunk + 1;
        let zone = Zone::read(head).ok()?;
        Some((ChunkHead { dictionary, chunk, zone }, *flags))
    }
}

impl FieldsHead {
    fn read(head: &mut &[u8], part: &mut usize) -> Option<FieldsHead> {
        let (flags, rest) = head.split_first()?;
        *head = rest;
        let count = take_varint(head).filter(|count| *count <= FIELDS_MAX)?;
        let (mut names, mut chunks) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let length = take_varint(head).filter(|length| *length <= NAME_BYTES_MAX)?;
            let (name, rest) = head.split_at_checked(length)?;
            *head = rest;
            names.push(std::str::from_utf8(name).ok()?.to_owned());
            chunks.push(ChunkHead::read(head, part)?.0);
        }
        let has_only_objects = flags & HAS_ONLY_OBJECTS != 0;
        Some(FieldsHead { has_only_objects, has_whole: flags & HAS_WHOLE != 0, names, chunks })
    }
}

impl BlockHead {
    /// Takes a head apart; `None` if it is damaged.
    pub fn read(mut head: &[u8]) -> Option<BlockHead> {
        let version = u32::try_from(take_varint(&mut head)?).ok()?;
        let count = take_varint(&mut head)?;
        let (mut columns, mut part) = (Vec::new(), 0);
        for _ in 0..count {
            let (repr, rest) = head.split_first()?;
            head = rest;
            let repr = Repr::from_number(*repr)?;
            let (chunk, flags) = ChunkHead::read(&mut head, &mut part)?;
            let fields = match flags & IS_SHREDDED {
                0 => None,
                _ => Some(FieldsHead::read(&mut head, &mut part)?),
            };
            columns.push(ColumnHead { repr, chunk, fields });
        }
        head.is_empty().then_some(BlockHead { version, columns })
    }
}

/// Decodes the rows of any table.
#[derive(Debug)]
pub(crate) struct RowDecoder;

/// The values that some rows of a block have in a column, one raw value of a row after the other ([`types::row`]).
pub struct RawColumn {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    nulls: Vec<bool>,
}

impl RawColumn {
    /// Returns the raw value of a row, or `None` for NULL; row 0 is the first that was read.
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let Range { start, end } = match row {
            0 => 0..self.ends[0],
            _ => self.ends[row - 1]..self.ends[row],
        };
        (!self.nulls[row]).then(|| &self.bytes[start as usize..end as usize])
    }

    /// Reads the column that `known` describes, of some rows of a block, which has `block_rows`.
    pub(super) fn read(
        known: &ColumnHead,
        block_rows: usize,
        rows: &Range<usize>,
        part: &dyn Fn(usize) -> Result<Arc<[u8]>, StoreError>,
    ) -> Result<RawColumn, ColumnError> {
        match &known.fields {
            None => RawColumn::read_chunk(known.repr, &known.chunk, block_rows, rows, part),
            Some(_) => Ok(TakenApart::read(known, block_rows, rows, part)?.whole(0..rows.len())),
        }
    }

    fn read_chunk(
        repr: Repr,
        known: &ChunkHead,
        block_rows: usize,
        rows: &Range<usize>,
        part: &dyn Fn(usize) -> Result<Arc<[u8]>, StoreError>,
    ) -> Result<RawColumn, ColumnError> {
        let damaged = |_| ColumnError::Damaged("a chunk of a column");
        let dictionary = match known.dictionary {
            Some(index) => Some(Dictionary::read(&part(index)?).map_err(damaged)?),
            None => None,
        };
        let bytes = part(known.chunk)?;
        let chunk = Chunk::read(&bytes).map_err(damaged)?;
        if chunk.len() != block_rows || known.zone.count as usize != block_rows {
            return Err(ColumnError::Damaged("a chunk has too many or too few values"));
        }
        RawColumn::of(repr, &chunk, dictionary.as_ref(), rows)
    }

    fn of(
        repr: Repr,
        chunk: &Chunk<'_>,
        dictionary: Option<&Dictionary>,
        rows: &Range<usize>,
    ) -> Result<RawColumn, ColumnError> {
        let nulls = rows.clone().map(|row| chunk.nulls().has(row)).collect();
        let mut column =
            RawColumn { bytes: Vec::new(), ends: Vec::with_capacity(rows.len()), nulls };
        match chunk.values() {
            Values::Ints(values) => column.put_ints(repr, &values.range(rows.clone()))?,
            Values::Decimals { scale, mantissas, shown } => {
                let of_rows = |ints: &Ints<'_>| ints.range(rows.clone());
                column.put_decimals(*scale, &of_rows(mantissas), &of_rows(shown))?;
            }
            Values::Floats(values) => column.put_floats(rows, values, |value| value.to_le_bytes()),
            Values::Floats32(values) => {
                column.put_floats(rows, values, |value| value.to_le_bytes())
            }
            Values::Strings(strings) => column.put_strings(rows, strings, dictionary)?,
        }
        Ok(column)
    }

    fn end(&mut self) {
        self.ends.push(self.bytes.len() as u32);
    }

    fn put_ints(&mut self, repr: Repr, values: &[i64]) -> Result<(), ColumnError> {
        let width = match repr {
            Repr::Bool => 1,
            Repr::Int2 => 2,
            Repr::Int4 | Repr::Date | Repr::Oid => 4,
            Repr::Int8 | Repr::Time | Repr::Timestamp | Repr::TimestampTz => 8,
            _ => return Err(ColumnError::Damaged("a column of integers is of another type")),
        };
        for value in values {
            self.bytes.extend_from_slice(&value.to_le_bytes()[..width]);
            self.end();
        }
        Ok(())
    }

    fn put_floats<F: stripe::Float, const N: usize>(
        &mut self,
        rows: &Range<usize>,
        values: &Floats<'_, F>,
        bytes: impl Fn(F) -> [u8; N],
    ) {
        for row in rows.clone() {
            self.bytes.extend_from_slice(&bytes(values.get(row)));
            self.end();
        }
    }

    fn put_decimals(
        &mut self,
        scale: u32,
        mantissas: &[i64],
        shown: &[i64],
    ) -> Result<(), ColumnError> {
        let damaged = || ColumnError::Damaged("a decimal shows more digits than it has");
        for (mantissa, shown) in mantissas.iter().zip(shown) {
            let cut = u32::try_from(*shown).ok().and_then(|shown| scale.checked_sub(shown));
            let power = cut.and_then(|cut| 10_i64.checked_pow(cut)).ok_or_else(damaged)?;
            let number = Numeric::new((mantissa / power).into(), *shown as u32);
            number.map_err(|_| damaged())?.to_stored(&mut self.bytes);
            self.end();
        }
        Ok(())
    }

    fn put_strings(
        &mut self,
        rows: &Range<usize>,
        strings: &Strings<'_>,
        dictionary: Option<&Dictionary>,
    ) -> Result<(), ColumnError> {
        let codes = strings.codes().map(|codes| codes.range(rows.clone()));
        for (at, row) in rows.clone().enumerate() {
            let string = match &codes {
                None => strings.get(row, dictionary),
                Some(codes) => match dictionary.zip(usize::try_from(codes[at]).ok()) {
                    Some((known, code)) if code < known.strings().len() => {
                        Ok(known.strings().get(code))
                    }
                    _ => return Err(ColumnError::Damaged("a code is not in the dictionary")),
                },
            };
            let damaged = |_| ColumnError::Damaged("a string of a column");
            self.bytes.extend_from_slice(string.map_err(damaged)?);
            self.end();
        }
        Ok(())
    }
}

/// The values that some rows of a block have in a column that is kept as columns of its fields, and what is left of
/// each value.
pub struct TakenApart {
    rest: RawColumn,
    names: Vec<String>,
    fields: Vec<RawColumn>,
}

impl TakenApart {
    /// Reads the column that `known` describes, of some rows of a block, which has `block_rows`.
    pub(super) fn read(
        known: &ColumnHead,
        block_rows: usize,
        rows: &Range<usize>,
        part: &dyn Fn(usize) -> Result<Arc<[u8]>, StoreError>,
    ) -> Result<TakenApart, ColumnError> {
        let read = |chunk| RawColumn::read_chunk(known.repr, chunk, block_rows, rows, part);
        let (names, chunks) = match &known.fields {
            Some(fields) => (fields.names.clone(), &fields.chunks[..]),
            None => (Vec::new(), &[][..]),
        };
        let fields = chunks.iter().map(read).collect::<Result<Vec<RawColumn>, ColumnError>>()?;
        Ok(TakenApart { rest: read(&known.chunk)?, names, fields })
    }

    /// Appends the raw value of a row to `out`; false for NULL. Row 0 is the first that was read.
    pub fn put(&self, row: usize, out: &mut Vec<u8>) -> bool {
        let Some(rest) = self.rest.get(row) else { return false };
        shred::put_together(rest, &self.names, |at| self.fields[at].get(row), out);
        true
    }

    /// Returns the raw values of some rows, the first of which is row 0 there.
    pub fn whole(&self, rows: Range<usize>) -> RawColumn {
        let nulls = self.rest.nulls[rows.clone()].to_vec();
        let mut whole =
            RawColumn { bytes: Vec::new(), ends: Vec::with_capacity(rows.len()), nulls };
        for row in rows {
            self.put(row, &mut whole.bytes);
            whole.end();
        }
        whole
    }
}

/// Stands where the head of a block of columns has a version, of which there are fewer, if the block has rows
/// instead: a batch of `rowcompress`.
const BATCH: usize = 1 << 32;

/// Appends the head of a batch to `out`.
pub(crate) fn write_batch_head(out: &mut Vec<u8>) {
    put_varint(out, BATCH);
}

/// Returns true for the head of a batch.
fn is_batch(mut head: &[u8]) -> bool {
    take_varint(&mut head) == Some(BATCH) && head.is_empty()
}

/// Calls `each` with the rows of a batch.
fn decode_batch(bytes: &[u8], rows: usize, each: &mut dyn FnMut(&[u8])) -> Result<(), ColumnError> {
    let wrong = || ColumnError::Damaged("a batch of rows");
    let chunk = Chunk::read(bytes).map_err(|_| wrong())?;
    match chunk.values() {
        Values::Strings(strings) if chunk.len() == rows => {
            strings.whole().ok_or_else(wrong)?.iter().for_each(each);
            Ok(())
        }
        _ => Err(wrong()),
    }
}

impl ColumnDecoder for RowDecoder {
    fn decode(
        &self,
        head: &[u8],
        rows: usize,
        part: &dyn Fn(usize) -> Result<Arc<[u8]>, StoreError>,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ColumnError> {
        if is_batch(head) {
            return decode_batch(&part(0)?, rows, each);
        }
        let head = BlockHead::read(head).ok_or(ColumnError::Damaged("the head of a block"))?;
        let columns =
            head.columns.iter().map(|known| RawColumn::read(known, rows, &(0..rows), part));
        let columns = columns.collect::<Result<Vec<RawColumn>, ColumnError>>()?;
        let reprs: Vec<Repr> = head.columns.iter().map(|column| column.repr).collect();
        let mut out = Vec::new();
        for at in 0..rows {
            out.clear();
            row::write_raw(head.version, &reprs, |column| columns[column].get(at), &mut out);
            each(&out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::Datum;

    use super::*;

    /// Rows as their table has them: of some version, with the first of its columns, or deleted.
    type Rows = Vec<Option<(u32, Vec<Datum>)>>;

    const REPRS: [Repr; 9] = [
        Repr::Int4,
        Repr::Text,
        Repr::Numeric,
        Repr::Float8,
        Repr::Bool,
        Repr::Float4,
        Repr::Interval,
        Repr::Bytea,
        Repr::Jsonb,
    ];

    fn numeric() -> impl Strategy<Value = Datum> {
        let small = (-100_000_i128..100_000, 0..4_u32);
        let large = (any::<i128>(), 0..30_u32);
        let number = |(mantissa, scale)| Numeric::new(mantissa, scale).expect("a small scale");
        prop_oneof![20 => small.prop_map(number), 1 => large.prop_map(number), 1 => Just(Numeric::NAN)]
            .prop_map(Datum::from)
    }

    /// Objects of a few names, some of which most have; and other documents.
    fn document() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            (0..5_u8).prop_map(|n| format!("{n}.50")),
            (0..5_u8).prop_map(|n| format!("\"{n}\"")),
            Just("null".to_owned()),
            Just("{\"os\": [1, {}]}".to_owned()),
        ];
        let name = prop_oneof![5 => "os|a|version", 1 => "[a-c]{1,3}"];
        let field = (name, value).prop_map(|(name, value)| format!("\"{name}\": {value}"));
        let object = prop::collection::vec(field, 0..5);
        let object = object.prop_map(|fields| format!("{{{}}}", fields.join(", ")));
        prop_oneof![8 => object, 1 => Just("[1, \"os\"]".to_owned()), 1 => Just("7".to_owned())]
    }

    fn value(at: usize) -> BoxedStrategy<Datum> {
        let value = match at {
            0 => any::<i32>().prop_map(Datum::from).boxed(),
            1 => "[a-c]{0,2}".prop_map(|text| Datum::from(text.as_str())).boxed(),
            2 => numeric().boxed(),
            3 => any::<f64>().prop_map(Datum::from).boxed(),
            4 => any::<bool>().prop_map(Datum::from).boxed(),
            5 => any::<f32>().prop_map(Datum::from).boxed(),
            6 => any::<(i64, i32, i32)>()
                .prop_map(|(us, days, months)| types::time::Interval { us, days, months }.into())
                .boxed(),
            8 => document()
                .prop_map(|text| {
                    Datum::Jsonb(json::jsonb::Jsonb::parse(&text).expect("a document"))
                })
                .boxed(),
            _ => prop::collection::vec(any::<u8>(), 0..9)
                .prop_map(|b| Datum::Bytea(b.into()))
                .boxed(),
        };
        prop_oneof![5 => value, 1 => Just(Datum::Null)].boxed()
    }

    fn rows() -> impl Strategy<Value = Rows> {
        let row = (0..2_u32, prop_oneof![9 => Just(9_usize), 1 => 0..9_usize]).prop_flat_map(
            |(version, width)| {
                let values: Vec<_> = (0..width).map(value).collect();
                values.prop_map(move |values| (version, values))
            },
        );
        prop::collection::vec(prop_oneof![9 => row.prop_map(Some), 1 => Just(None)], 1..60)
    }

    proptest! {
        #[test]
        fn rows_come_back_byte_for_byte(rows in rows()) {
            let encoded: Vec<Option<Vec<u8>>> = rows
                .iter()
                .map(|row| {
                    let (version, values) = row.as_ref()?;
                    let mut bytes = Vec::new();
                    row::write(*version, values.iter().map(Datum::as_ref), &mut bytes);
                    Some(bytes)
                })
                .collect();
            let values: Vec<Option<&[u8]>> = encoded.iter().map(Option::as_deref).collect();
            let stripe = RowEncoder::new(REPRS, Form::default()).encode(&values).expect("rows have columns");
            let mut read = Vec::new();
            for block in &stripe.blocks {
                let part = |index: usize| -> std::result::Result<Arc<[u8]>, StoreError> {
                    Ok(match &block.parts[index] {
                        EncodedPart::Own(bytes) => bytes.as_slice().into(),
                        EncodedPart::Shared(shared) => stripe.shared[*shared].as_slice().into(),
                    })
                };
                let mut each = |value: &[u8]| read.push(value.to_vec());
                RowDecoder.decode(&block.head, block.rows, &part, &mut each).expect("decodes");
            }
            prop_assert_eq!(read.len(), encoded.len());
            for (at, (read, encoded)) in read.iter().zip(&encoded).enumerate() {
                if let Some(encoded) = encoded {
                    prop_assert_eq!(read, encoded, "row {}", at);
                }
            }
        }
    }
}
