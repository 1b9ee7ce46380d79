//! [`Chunk`]: one column of one chunk group.
//!
//! ```text
//!   kind  count  NULLs  values
//! ```

use crate::bytes::{ByteStrings, Compression, Dictionary, Strings};
use crate::cursor::{Cursor, put_unsigned};
use crate::floats::Floats;
use crate::ints::Ints;
use crate::nulls::Nulls;
use crate::{CHUNK_ROWS_MAX, Error, Result};

const INTS: u8 = 1;
const DECIMALS: u8 = 2;
const FLOATS: u8 = 3;
const FLOATS_32: u8 = 4;
const STRINGS: u8 = 5;

/// The values of a column of a chunk group, as a caller gives them. A NULL has a placeholder of any value:
/// a copy of the value before it takes the fewest bytes.
#[derive(Clone, Copy, Debug)]
pub enum Column<'v> {
    /// Integers, dates, times, truth values.
    Ints(&'v [i64]),
    /// Decimal numbers: each is `mantissa / 10^scale`, and shows `shown` digits after the point.
    Decimals {
        /// The digits after the point that all mantissas have.
        scale: u32,
        /// The numbers, times `10^scale`.
        mantissas: &'v [i64],
        /// The digits after the point that each number shows, at most `scale`.
        shown: &'v [i64],
    },
    /// Floating point numbers of 64 bits.
    Floats(&'v [f64]),
    /// Floating point numbers of 32 bits.
    Floats32(&'v [f32]),
    /// Byte strings, and the dictionary of the column if it has one.
    Strings(&'v ByteStrings, Option<&'v Dictionary>),
    /// Byte strings, by their codes in the dictionary of the column.
    Codes(&'v [i64], &'v Dictionary),
}

impl Column<'_> {
    fn len(&self) -> usize {
        match self {
            Column::Ints(values) => values.len(),
            Column::Decimals { mantissas, .. } => mantissas.len(),
            Column::Floats(values) => values.len(),
            Column::Floats32(values) => values.len(),
            Column::Strings(strings, _) => strings.len(),
            Column::Codes(codes, _) => codes.len(),
        }
    }
}

/// The largest scale of decimals in a chunk: `10^18` fits 64 bits.
const SCALE_MAX: usize = 18;

/// One column of one chunk group, as its bytes give it.
#[derive(Clone, Debug)]
pub struct Chunk<'a> {
    count: usize,
    nulls: Nulls<'a>,
    values: Values<'a>,
}

/// The values of a chunk.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Integers, dates, times, truth values.
    Ints(Ints<'a>),
    /// Decimal numbers, as [`Column::Decimals`] has them.
    Decimals {
        /// The digits after the point that all mantissas have, 0 to 18.
        scale: u32,
        /// The numbers, times `10^scale`.
        mantissas: Ints<'a>,
        /// The digits after the point that each number shows.
        shown: Ints<'a>,
    },
    /// Floating point numbers of 64 bits.
    Floats(Floats<'a, f64>),
    /// Floating point numbers of 32 bits.
    Floats32(Floats<'a, f32>),
    /// Byte strings.
    Strings(Strings<'a>),
}

impl<'a> Chunk<'a> {
    /// Appends a chunk to `out`; `is_null` has as many entries as the column.
    ///
    /// # Panics
    /// If the number of entries differs, or there are more than [`CHUNK_ROWS_MAX`] values.
    pub fn write(column: Column<'_>, is_null: &[bool], out: &mut Vec<u8>) {
        Chunk::write_by(Compression::default(), column, is_null, out);
    }

    /// Appends a chunk as [`Chunk::write`] does, with this compression for its byte strings.
    ///
    /// # Panics
    /// As [`Chunk::write`].
    pub fn write_by(
        compression: Compression,
        column: Column<'_>,
        is_null: &[bool],
        out: &mut Vec<u8>,
    ) {
        let count = column.len();
        assert!(count == is_null.len() && count <= CHUNK_ROWS_MAX, "{count}, {}", is_null.len());
        out.push(match column {
            Column::Ints(_) => INTS,
            Column::Decimals { .. } => DECIMALS,
            Column::Floats(_) => FLOATS,
            Column::Floats32(_) => FLOATS_32,
            Column::Strings(..) | Column::Codes(..) => STRINGS,
        });
        put_unsigned(out, count as u64);
        Nulls::write(is_null, out);
        match column {
            Column::Ints(values) => Ints::write(values, out),
            Column::Decimals { scale, mantissas, shown } => {
                assert!(scale as usize <= SCALE_MAX && shown.len() == count, "scale {scale}");
                out.push(scale as u8);
                Ints::write(mantissas, out);
                Ints::write(shown, out);
            }
            Column::Floats(values) => Floats::write(values, out),
            Column::Floats32(values) => Floats::write(values, out),
            Column::Strings(strings, dictionary) => {
                Strings::write(strings, dictionary, compression, out);
            }
            Column::Codes(codes, _) => Strings::write_codes(codes, out),
        }
    }

    /// Reads the bytes of a chunk.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn read(bytes: &'a [u8]) -> Result<Chunk<'a>> {
        let mut input = Cursor(bytes);
        let kind = input.byte()?;
        let count = input.count(CHUNK_ROWS_MAX)?;
        let nulls = Nulls::read(&mut input, count)?;
        let values = match kind {
            INTS => Values::Ints(Ints::read(&mut input, count)?),
            DECIMALS => Values::Decimals {
                scale: input.count(SCALE_MAX)? as u32,
                mantissas: Ints::read(&mut input, count)?,
                shown: Ints::read(&mut input, count)?,
            },
            FLOATS => Values::Floats(Floats::read(&mut input, count)?),
            FLOATS_32 => Values::Floats32(Floats::read(&mut input, count)?),
            STRINGS => Values::Strings(Strings::read(&mut input, count)?),
            _ => return Err(Error("there is no such kind of chunk")),
        };
        if !input.0.is_empty() {
            return Err(Error("bytes are left behind its end"));
        }
        Ok(Chunk { count, nulls, values })
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns which values are NULL.
    pub fn nulls(&self) -> Nulls<'a> {
        self.nulls
    }

    /// Returns the values. A NULL has a placeholder of any value.
    pub fn values(&self) -> &Values<'a> {
        &self.values
    }
}
