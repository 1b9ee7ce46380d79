//! [`Reader`]: takes a message's body apart, from the front.
//!
//! ```text
//!   "s1\0"  00 02  00 00 00 17  00 00 00 19
//!   string  int16  int32        int32        end
//! ```
//!
//! Errors are those of PostgreSQL's `pqformat.c`, word for word.

use session::Error;

use super::violation;

/// The rest of a body.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| violation("insufficient data left in message"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        Ok(self.bytes(N)?.try_into().expect("as many as were asked for"))
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    /// A count: two bytes, never below 0.
    pub(crate) fn count(&mut self) -> Result<usize, Error> {
        self.array().map(|bytes| usize::from(u16::from_be_bytes(bytes)))
    }

    /// Two bytes.
    pub(crate) fn int16(&mut self) -> Result<i16, Error> {
        self.array().map(i16::from_be_bytes)
    }

    /// Four bytes.
    pub(crate) fn int32(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_be_bytes)
    }

    /// A value with its length in front; none for NULL.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, Error> {
        match self.int32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length)
                    .map_err(|_| violation("insufficient data left in message"))?;
                self.bytes(length).map(Some)
            }
        }
    }

    /// A string that ends with a zero byte, which is taken too.
    pub(crate) fn string(&mut self) -> Result<&'a str, Error> {
        let end = self
            .0
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| violation("invalid string in message"))?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(types::text::utf8(text)?)
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }
}
