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
    EncodedStripe, StoreError,
};
use stripe::{ByteStrings, Chunk, Column, Dictionary, Floats, Ints, Strings, Values, Zone};
use types::{Repr, RowView, row};

use crate::heap::patch::{put_varint, take_varint};

/// The largest scale of numbers that are kept as decimals of 64 bits.
const SCALE_MAX: u32 = 18;
/// Set in the head for a column that has a dictionary, which is the part before its chunk.
const HAS_DICTIONARY: u8 = 1;

/// Encodes the rows of one table.
#[derive(Debug)]
pub(crate) struct RowEncoder {
    reprs: Arc<[Repr]>,
}

impl RowEncoder {
    /// Returns the encoder of a table whose columns have these representations.
    pub fn new(reprs: impl IntoIterator<Item = Repr>) -> RowEncoder {
        RowEncoder { reprs: reprs.into_iter().collect() }
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
    fn new(repr: Repr) -> Buffer {
        match repr {
            Repr::Bool | Repr::Int2 | Repr::Int4 | Repr::Int8 | Repr::Oid => {
                Buffer::Ints(Vec::new())
            }
            Repr::Date | Repr::Time | Repr::Timestamp | Repr::TimestampTz => {
                Buffer::Ints(Vec::new())
            }
            Repr::Float8 => Buffer::Floats(Vec::new()),
            Repr::Float4 => Buffer::Floats32(Vec::new()),
            _ => Buffer::Strings(ByteStrings::default()),
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
    fn new(version: u32, reprs: &[Repr]) -> Block {
        let columns = reprs.iter().map(|repr| Buffer::new(*repr)).collect();
        Block { rows: 0, version, columns, nulls: vec![Vec::new(); reprs.len()] }
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
    fn encode(&self, values: &[Option<&[u8]>]) -> Option<EncodedStripe> {
        let mut blocks: Vec<Block> = Vec::new();
        for value in values {
            let row = match value {
                Some(bytes) => Some(RowView::new(bytes, &self.reprs).ok()?),
                None => None,
            };
            let is_new = blocks.last().is_none_or(|block| {
                let is_same = |row: RowView<'_>| {
                    (row.version(), row.len()) == (block.version, block.columns.len())
                };
                block.rows >= BLOCK_ROWS_MAX || !row.is_none_or(is_same)
            });
            if is_new {
                let width = row.map_or(self.reprs.len(), RowView::len);
                let version = row.map_or(0, RowView::version);
                blocks.push(Block::new(version, &self.reprs[..width]));
            }
            blocks.last_mut()?.push(&self.reprs, row)?;
        }
        Some(self.write(&blocks))
    }
}

impl RowEncoder {
    fn write(&self, blocks: &[Block]) -> EncodedStripe {
        // What a dictionary would hold of numbers is better kept as decimals.
        let decimals = |block: &Block, at: usize| match &block.columns[at] {
            Buffer::Strings(strings) if self.reprs[at] == Repr::Numeric => {
                Decimals::of(strings, &block.nulls[at])
            }
            _ => None,
        };
        let mut stripe = EncodedStripe::default();
        let dictionaries: Vec<Option<Dictionary>> =
            (0..self.reprs.len()).map(|at| dictionary_of(blocks, at, self.reprs[at])).collect();
        let shared: Vec<Option<usize>> = dictionaries
            .iter()
            .map(|dictionary| {
                let bytes = dictionary.as_ref()?.to_bytes();
                stripe.shared.push(bytes);
                Some(stripe.shared.len() - 1)
            })
            .collect();
        for block in blocks {
            let mut out = EncodedBlock { rows: block.rows, ..EncodedBlock::default() };
            put_varint(&mut out.head, block.version as usize);
            put_varint(&mut out.head, block.columns.len());
            for (at, buffer) in block.columns.iter().enumerate() {
                let decimals = decimals(block, at);
                let column = match (buffer, &decimals) {
                    (_, Some(Decimals { scale, mantissas, shown })) => {
                        Column::Decimals { scale: *scale, mantissas, shown }
                    }
                    (Buffer::Ints(values), _) => Column::Ints(values),
                    (Buffer::Floats(values), _) => Column::Floats(values),
                    (Buffer::Floats32(values), _) => Column::Floats32(values),
                    (Buffer::Strings(strings), _) => {
                        Column::Strings(strings, dictionaries[at].as_ref())
                    }
                };
                let dictionary = shared[at].filter(|_| matches!(column, Column::Strings(..)));
                out.head.push(self.reprs[at] as u8);
                out.head.push(if dictionary.is_some() { HAS_DICTIONARY } else { 0 });
                Zone::of(column, &block.nulls[at]).write(&mut out.head);
                let mut chunk = Vec::new();
                Chunk::write(column, &block.nulls[at], &mut chunk);
                out.parts.extend(dictionary.map(EncodedPart::Shared));
                out.parts.push(EncodedPart::Own(chunk));
            }
            stripe.blocks.push(out);
        }
        stripe
    }
}

/// Returns the dictionary of a column over all blocks of a stripe, if it has byte strings and few of them.
fn dictionary_of(blocks: &[Block], at: usize, repr: Repr) -> Option<Dictionary> {
    if repr == Repr::Numeric {
        return None;
    }
    let strings = blocks.iter().filter_map(|block| match block.columns.get(at)? {
        Buffer::Strings(strings) => Some(strings),
        _ => None,
    });
    Dictionary::of(strings.flat_map(ByteStrings::iter))
}

/// What the head of a block says of a column.
#[derive(Debug)]
pub(crate) struct ColumnHead {
    /// The representation of the values.
    pub repr: Repr,
    /// The position of the dictionary among the parts, if there is one.
    pub dictionary: Option<usize>,
    /// The position of the chunk among the parts.
    pub chunk: usize,
    /// The bounds, NULLs and sum of the values.
    pub zone: Zone,
}

/// The head of a block.
#[derive(Debug)]
pub(crate) struct BlockHead {
    /// The version that the rows were written under.
    pub version: u32,
    /// The columns that the rows have.
    pub columns: Vec<ColumnHead>,
}

impl BlockHead {
    /// Takes a head apart; `None` if it is damaged.
    pub fn read(mut head: &[u8]) -> Option<BlockHead> {
        let version = u32::try_from(take_varint(&mut head)?).ok()?;
        let count = take_varint(&mut head)?;
        let (mut columns, mut part) = (Vec::new(), 0);
        for _ in 0..count {
            let ([repr, flags], rest) = head.split_first_chunk()?;
            head = rest;
            let dictionary = (flags & HAS_DICTIONARY != 0).then_some(part);
            let chunk = part + usize::from(dictionary.is_some());
            part = chunk + 1;
            let zone = Zone::read(&mut head).ok()?;
            columns.push(ColumnHead { repr: Repr::from_number(*repr)?, dictionary, chunk, zone });
        }
        head.is_empty().then_some(BlockHead { version, columns })
    }
}

/// Decodes the rows of any table.
#[derive(Debug)]
pub(crate) struct RowDecoder;

/// The values of a column of a block, one raw value of a row after the other.
pub(super) struct RawColumn {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    nulls: Vec<bool>,
}

impl RawColumn {
    /// Returns the raw value of a row, or `None` for NULL.
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let Range { start, end } = match row {
            0 => 0..self.ends[0],
            _ => self.ends[row - 1]..self.ends[row],
        };
        (!self.nulls[row]).then(|| &self.bytes[start as usize..end as usize])
    }

    /// Reads the column of a block that `known` describes.
    pub fn read(
        known: &ColumnHead,
        rows: usize,
        part: &dyn Fn(usize) -> Result<Arc<[u8]>, StoreError>,
    ) -> Result<RawColumn, ColumnError> {
        let damaged = |_| ColumnError::Damaged("a chunk of a column");
        let dictionary = match known.dictionary {
            Some(index) => Some(Dictionary::read(&part(index)?).map_err(damaged)?),
            None => None,
        };
        let bytes = part(known.chunk)?;
        let chunk = Chunk::read(&bytes).map_err(damaged)?;
        if chunk.len() != rows || known.zone.count as usize != rows {
            return Err(ColumnError::Damaged("a chunk has too many or too few values"));
        }
        RawColumn::of(known.repr, &chunk, dictionary.as_ref())
    }

    fn of(
        repr: Repr,
        chunk: &Chunk<'_>,
        dictionary: Option<&Dictionary>,
    ) -> Result<RawColumn, ColumnError> {
        let rows = chunk.len();
        let nulls: Vec<bool> = (0..rows).map(|row| chunk.nulls().has(row)).collect();
        let mut column = RawColumn { bytes: Vec::new(), ends: Vec::with_capacity(rows), nulls };
        match chunk.values() {
            Values::Ints(values) => column.put_ints(repr, values)?,
            Values::Decimals { scale, mantissas, shown } => {
                column.put_decimals(*scale, mantissas, shown)?;
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

    fn put_ints(&mut self, repr: Repr, values: &Ints<'_>) -> Result<(), ColumnError> {
        let width = match repr {
            Repr::Bool => 1,
            Repr::Int2 => 2,
            Repr::Int4 | Repr::Date | Repr::Oid => 4,
            Repr::Int8 | Repr::Time | Repr::Timestamp | Repr::TimestampTz => 8,
            _ => return Err(ColumnError::Damaged("a column of integers is of another type")),
        };
        for value in values.to_vec() {
            self.bytes.extend_from_slice(&value.to_le_bytes()[..width]);
            self.end();
        }
        Ok(())
    }

    fn put_floats<F: stripe::Float, const N: usize>(
        &mut self,
        rows: usize,
        values: &Floats<'_, F>,
        bytes: impl Fn(F) -> [u8; N],
    ) {
        for row in 0..rows {
            self.bytes.extend_from_slice(&bytes(values.get(row)));
            self.end();
        }
    }

    fn put_decimals(
        &mut self,
        scale: u32,
        mantissas: &Ints<'_>,
        shown: &Ints<'_>,
    ) -> Result<(), ColumnError> {
        let damaged = || ColumnError::Damaged("a decimal shows more digits than it has");
        for (mantissa, shown) in mantissas.to_vec().into_iter().zip(shown.to_vec()) {
            let cut = u32::try_from(shown).ok().and_then(|shown| scale.checked_sub(shown));
            let power = cut.and_then(|cut| 10_i64.checked_pow(cut)).ok_or_else(damaged)?;
            let number = Numeric::new((mantissa / power).into(), shown as u32);
            number.map_err(|_| damaged())?.to_stored(&mut self.bytes);
            self.end();
        }
        Ok(())
    }

    fn put_strings(
        &mut self,
        rows: usize,
        strings: &Strings<'_>,
        dictionary: Option<&Dictionary>,
    ) -> Result<(), ColumnError> {
        let codes = strings.codes().map(Ints::to_vec);
        for row in 0..rows {
            let string = match &codes {
                None => strings.get(row, dictionary),
                Some(codes) => match dictionary.zip(usize::try_from(codes[row]).ok()) {
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

impl ColumnDecoder for RowDecoder {
    fn decode(
        &self,
        head: &[u8],
        rows: usize,
        part: &dyn Fn(usize) -> Result<Arc<[u8]>, StoreError>,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ColumnError> {
        let head = BlockHead::read(head).ok_or(ColumnError::Damaged("the head of a block"))?;
        let columns = head.columns.iter().map(|known| RawColumn::read(known, rows, part));
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

    const REPRS: [Repr; 8] = [
        Repr::Int4,
        Repr::Text,
        Repr::Numeric,
        Repr::Float8,
        Repr::Bool,
        Repr::Float4,
        Repr::Interval,
        Repr::Bytea,
    ];

    fn numeric() -> impl Strategy<Value = Datum> {
        let small = (-100_000_i128..100_000, 0..4_u32);
        let large = (any::<i128>(), 0..30_u32);
        let number = |(mantissa, scale)| Numeric::new(mantissa, scale).expect("a small scale");
        prop_oneof![20 => small.prop_map(number), 1 => large.prop_map(number), 1 => Just(Numeric::NAN)]
            .prop_map(Datum::from)
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
            _ => prop::collection::vec(any::<u8>(), 0..9)
                .prop_map(|b| Datum::Bytea(b.into()))
                .boxed(),
        };
        prop_oneof![5 => value, 1 => Just(Datum::Null)].boxed()
    }

    fn rows() -> impl Strategy<Value = Rows> {
        let row = (0..2_u32, prop_oneof![9 => Just(8_usize), 1 => 0..8_usize]).prop_flat_map(
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
            let stripe = RowEncoder::new(REPRS).encode(&values).expect("rows have columns");
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
