//! The NULLs among the values of a chunk.
//!
//! A NULL has a placeholder in the stream of values, a copy of the value before it, which no reader uses. So
//! positions in the streams are positions of rows.

use crate::cursor::Cursor;
use crate::{Error, Result};

const NONE: u8 = 0;
const ALL: u8 = 1;
const BITS: u8 = 2;

/// The NULLs of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls<'a> {
    /// No value is NULL.
    None,
    /// All values are NULL.
    All,
    /// A bit for each value, the lowest of a byte first; 1 is NULL.
    Bits(&'a [u8]),
}

impl<'a> Nulls<'a> {
    pub(crate) fn write(is_null: &[bool], out: &mut Vec<u8>) {
        let count = is_null.iter().filter(|one| **one).count();
        if count == 0 {
            out.push(NONE);
        } else if count == is_null.len() {
            out.push(ALL);
        } else {
            out.push(BITS);
            let byte = |bits: &[bool]| {
                bits.iter().rev().fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit))
            };
            out.extend(is_null.chunks(8).map(byte));
        }
    }

    pub(crate) fn read(input: &mut Cursor<'a>, count: usize) -> Result<Nulls<'a>> {
        match input.byte()? {
            NONE => Ok(Nulls::None),
            ALL => Ok(Nulls::All),
            BITS => Ok(Nulls::Bits(input.take(count.div_ceil(8))?)),
            _ => Err(Error("there is no such encoding of NULLs")),
        }
    }

    /// Returns true if the value at `index` is NULL.
    pub fn has(&self, index: usize) -> bool {
        match self {
            Nulls::None => false,
            Nulls::All => true,
            Nulls::Bits(bits) => bits[index / 8] >> (index % 8) & 1 == 1,
        }
    }
}
