//! The few byte-level helpers that the commit record and the commit pages share.
//!
//! Integers of variable length are LEB128: seven bits a byte, least significant first, the top bit
//! set on all but the last. A [`Reader`] never reads past its end and never panics: bytes come from
//! disk, and a checksum does not prove that the writer was sane.

/// Appends `value` as a varint of 1 to 10 bytes.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of `bytes` as a varint, then `bytes`.
#[inline]
pub(crate) fn put_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Small numbers of either sign as small unsigned ones.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The number that [`zigzag`] made.
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A fault of bytes that should have decoded; the position is in bytes from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct Malformed {
    /// The item that was expected and not found.
    pub what: &'static str,
    /// Where, in bytes from the start of the record or page.
    pub at: usize,
}

/// A cursor over bytes that answers [`Malformed`] where they end early or make no sense.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn bad(&self, what: &'static str) -> Malformed {
        Malformed { what, at: self.at }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Returns the bytes that have not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.at).ok_or(self.bad("end of bytes"))?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("take returns as many bytes as asked"))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        let mut shift = 0u32;
        loop {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                return Err(self.bad("varint too large"));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
            if shift > 63 {
                return Err(self.bad("varint too long"));
            }
        }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        if len > self.remaining() {
            return Err(self.bad("bytes end before the length that was announced"));
        }
        let bytes = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(bytes)
    }

    pub(crate) fn slice(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.varint()?;
        let len = usize::try_from(len).map_err(|_| self.bad("length beyond memory"))?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.slice()?;
        std::str::from_utf8(bytes).map_err(|_| self.bad("text that is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every boundary of the varint comes back as it went in, and a cut or overlong one is refused.
    #[test]
    fn varints_round_trip_and_refuse_nonsense() {
        for shift in 0..64 {
            for value in [(1u64 << shift) - 1, 1u64 << shift, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(&mut out, value);
                let mut reader = Reader::new(&out);
                assert_eq!(reader.varint(), Ok(value));
                assert!(reader.is_done());
                assert!(Reader::new(&out[..out.len() - 1]).varint().is_err());
            }
        }
        assert!(Reader::new(&[0x80; 11]).varint().is_err());
        assert!(
            Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2])
                .varint()
                .is_err()
        );
    }
}
