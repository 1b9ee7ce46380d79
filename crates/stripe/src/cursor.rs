//! Reading and writing the parts of a chunk: numbers of variable length, and slices.

use crate::{Error, Result};

/// Appends an unsigned number: 7 bits a byte, the lowest first.
pub(crate) fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number: small absolute values take few bytes.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Reads a chunk from front to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.0.split_first().ok_or(Error("it ends too early"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Error("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn unsigned(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error("a number is longer than 64 bits"))
    }

    pub fn signed(&mut self) -> Result<i64> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a number that must not be greater than `max`.
    pub fn count(&mut self, max: usize) -> Result<usize> {
        let value = self.unsigned()?;
        usize::try_from(value)
            .ok()
            .filter(|count| *count <= max)
            .ok_or(Error("a count is too large"))
    }
}
