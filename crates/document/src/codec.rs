//! Varints and a bounds-checked reader: the small change of every format in this crate.

use crate::error::Damaged;

/// Appends `value` in 7-bit groups, least significant first (LEB128).
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads bytes from the front of a slice; every method fails with [`Damaged`] past the end.
#[derive(Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    /// The bytes that have not been read.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// True at the end.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Damaged> {
        let (&first, rest) = self.0.split_first().ok_or_else(Damaged::short)?;
        self.0 = rest;
        Ok(first)
    }

    /// `len` bytes.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], Damaged> {
        let (head, rest) = self.0.split_at_checked(len).ok_or_else(Damaged::short)?;
        self.0 = rest;
        Ok(head)
    }

    /// A varint.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Damaged> {
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(first as u64);
        }
        let mut value = (first & 0x7f) as u64;
        for shift in (7..70).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= ((byte & 0x7f) as u64) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damaged::new("a number longer than 64 bits"))
    }

    /// A varint that must fit `u32`.
    #[inline]
    pub fn varint_u32(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.varint()?).map_err(|_| Damaged::new("a number longer than 32 bits"))
    }

    /// A little-endian `u16`.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Damaged> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// A little-endian `u32`.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Damaged> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A little-endian `u64`.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Damaged> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or_else(Damaged::short)?;
        self.0 = rest;
        Ok(*head)
    }
}
