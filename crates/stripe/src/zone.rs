//! [`Zone`]: the facts about a chunk that are known without reading it.
//!
//! A reader skips a chunk whose bounds rule its condition out, and answers `count`, `min`, `max` and `sum`
//! from zones if no row of the chunk is deleted or filtered.

use std::cmp::Ordering;

use crate::chunk::{Chunk, Column, Values};
use crate::cursor::{Cursor, put_signed, put_unsigned};
use crate::{BLOCK_ROWS, CHUNK_ROWS_MAX, Error, Result};

const NOTHING: u8 = 0;
const INTS: u8 = 1;
const FLOATS: u8 = 2;
const STRINGS: u8 = 3;

/// The number of bytes of a string that bounds keep.
pub const PREFIX_BYTES_MAX: usize = 32;

/// The facts about a chunk that a reader needs before it reads the chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// The number of values, NULLs included.
    pub count: u32,
    /// The number of NULLs.
    pub nulls: u32,
    /// The bounds of the values that are not NULL.
    pub bounds: Bounds,
    /// The sum of the values that are not NULL: of integers, or of the mantissas of decimals.
    pub sum: Option<i128>,
}

/// The least and the greatest value of a chunk, NULLs aside.
#[derive(Clone, Debug, PartialEq)]
pub enum Bounds {
    /// All values are NULL.
    Nothing,
    /// Of integers, or of the mantissas of decimals.
    Ints(i64, i64),
    /// Of floating point numbers: NaN is greater than all others.
    Floats(f64, f64),
    /// Of strings, up to [`PREFIX_BYTES_MAX`] bytes of each: the least value begins with the first one, and
    /// the greatest with the second.
    Strings(Vec<u8>, Vec<u8>),
}

/// Compares floating point numbers as PostgreSQL does: NaN is equal to itself and greater than all others.
fn compare(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

impl Zone {
    /// Returns the facts about a chunk with these values.
    pub fn of(column: Column<'_>, is_null: &[bool]) -> Zone {
        let present = |at: &usize| !is_null[*at];
        let places = || (0..is_null.len()).filter(present);
        let nulls = is_null.len() - places().count();
        let floats = |value: &dyn Fn(usize) -> f64| {
            let order = |one: &f64, other: &f64| compare(*one, *other);
            let least = places().map(value).min_by(order);
            least.zip(places().map(value).max_by(order)).map(|(min, max)| Bounds::Floats(min, max))
        };
        let ints = |values: &[i64]| {
            let least = places().map(|at| values[at]).min();
            let greatest = places().map(|at| values[at]).max();
            least.zip(greatest).map(|(min, max)| Bounds::Ints(min, max))
        };
        let sum = |values: &[i64]| places().map(|at| i128::from(values[at])).sum();
        let prefix = |string: &[u8]| string[..string.len().min(PREFIX_BYTES_MAX)].to_vec();
        let (bounds, sum) = match column {
            Column::Ints(values) => (ints(values), Some(sum(values))),
            Column::Decimals { mantissas, .. } => (ints(mantissas), Some(sum(mantissas))),
            Column::Floats(values) => (floats(&|at| values[at]), None),
            Column::Floats32(values) => (floats(&|at| f64::from(values[at])), None),
            Column::Strings(strings, _) => {
                let least = places().map(|at| strings.get(at)).min().map(prefix);
                let greatest = places().map(|at| strings.get(at)).max().map(prefix);
                (least.zip(greatest).map(|(min, max)| Bounds::Strings(min, max)), None)
            }
            // They compare as their strings do.
            Column::Codes(codes, dictionary) => {
                let string = |code: i64| prefix(dictionary.strings().get(code as usize));
                let least = places().map(|at| codes[at]).min().map(string);
                let greatest = places().map(|at| codes[at]).max().map(string);
                (least.zip(greatest).map(|(min, max)| Bounds::Strings(min, max)), None)
            }
        };
        Zone {
            count: is_null.len() as u32,
            nulls: nulls as u32,
            bounds: bounds.unwrap_or(Bounds::Nothing),
            sum,
        }
    }

    /// Returns the facts about those values of a chunk of integers or decimals whose bit is 1; `None` for other chunks. A
    /// word has the bits of 64 values, the lowest one first, and no bit beyond the last value is 1.
    pub fn of_some(chunk: &Chunk<'_>, words: &[u64]) -> Option<Zone> {
        let ints = match chunk.values() {
            Values::Ints(ints) => ints,
            Values::Decimals { mantissas, .. } => mantissas,
            Values::Floats(_) | Values::Floats32(_) | Values::Strings(_) => return None,
        };
        let mut zone = Zone { count: 0, nulls: 0, bounds: Bounds::Nothing, sum: None };
        let (mut sum, mut least, mut greatest) = (0, i64::MAX, i64::MIN);
        for (block, words) in words.chunks(BLOCK_ROWS / 64).enumerate() {
            let values = ints.block(block);
            for (from, word) in (0..).step_by(64).zip(words) {
                let mut left = *word;
                while left != 0 {
                    let at = from + left.trailing_zeros() as usize;
                    left &= left - 1;
                    zone.count += 1;
                    if chunk.nulls().has(block * BLOCK_ROWS + at) {
                        zone.nulls += 1;
                        continue;
                    }
                    sum += i128::from(values[at]);
                    (least, greatest) = (least.min(values[at]), greatest.max(values[at]));
                }
            }
        }
        zone.sum = Some(sum);
        if zone.nulls < zone.count {
            zone.bounds = Bounds::Ints(least, greatest);
        }
        Some(zone)
    }

    /// Appends the zone to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_unsigned(out, u64::from(self.count));
        put_unsigned(out, u64::from(self.nulls));
        match &self.bounds {
            Bounds::Nothing => out.push(NOTHING),
            Bounds::Ints(min, max) => {
                out.push(INTS);
                put_signed(out, *min);
                put_signed(out, *max);
            }
            Bounds::Floats(min, max) => {
                out.push(FLOATS);
                out.extend_from_slice(&min.to_le_bytes());
                out.extend_from_slice(&max.to_le_bytes());
            }
            Bounds::Strings(min, max) => {
                out.push(STRINGS);
                for bound in [min, max] {
                    put_unsigned(out, bound.len() as u64);
                    out.extend_from_slice(bound);
                }
            }
        }
        out.push(u8::from(self.sum.is_some()));
        if let Some(sum) = self.sum {
            out.extend_from_slice(&sum.to_le_bytes());
        }
    }

    /// Takes a zone from the front of `bytes`.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn read(bytes: &mut &[u8]) -> Result<Zone> {
        let mut input = Cursor(bytes);
        let count = input.count(CHUNK_ROWS_MAX)?;
        let nulls = input.count(count)?;
        let float = |input: &mut Cursor<'_>| -> Result<f64> {
            let taken = input.take(8)?.try_into().expect("8 bytes");
            Ok(f64::from_le_bytes(taken))
        };
        let bounds = match input.byte()? {
            NOTHING => Bounds::Nothing,
            INTS => Bounds::Ints(input.signed()?, input.signed()?),
            FLOATS => Bounds::Floats(float(&mut input)?, float(&mut input)?),
            STRINGS => {
                let mut bound = || -> Result<Vec<u8>> {
                    let length = input.count(PREFIX_BYTES_MAX)?;
                    Ok(input.take(length)?.to_vec())
                };
                Bounds::Strings(bound()?, bound()?)
            }
            _ => return Err(Error("there are no such bounds")),
        };
        let sum = match input.byte()? {
            0 => None,
            1 => Some(i128::from_le_bytes(input.take(16)?.try_into().expect("16 bytes"))),
            _ => return Err(Error("a sum is there or not")),
        };
        *bytes = input.0;
        Ok(Zone { count: count as u32, nulls: nulls as u32, bounds, sum })
    }
}
