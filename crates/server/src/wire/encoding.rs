//! Messages of clients whose encoding is not UTF-8: their texts become UTF-8 before they are read.
//!
//! ```text
//!   Q  53 45 4c 45 43 54 20 27 e9 27 00      client_encoding = LATIN1
//!   Q  53 45 4c 45 43 54 20 27 c3 a9 27 00   what is read
//! ```
//!
//! The server does not convert values in binary form. The statement says the encoding of the data of a
//! `COPY`.

use std::borrow::Cow;

use charset::Charset;
use session::Error;

use super::Reader;

/// The body of a message with its texts in UTF-8. A body that is not what its kind promises is left
/// as it is, for the reader to refuse.
///
/// # Errors
/// 22021 and 22P05 where a text is none of the encoding.
pub(crate) fn decoded(kind: u8, body: &[u8], charset: Charset) -> Result<Cow<'_, [u8]>, Error> {
    let has_texts = matches!(kind, b'Q' | b'P' | b'B' | b'D' | b'E' | b'C' | b'f');
    if charset.is_same() || !has_texts || body.is_ascii() {
        return Ok(Cow::Borrowed(body));
    }
    let mut texts = Texts { rest: body, out: Vec::with_capacity(body.len() * 2), charset };
    let whole = match kind {
        b'Q' | b'f' => texts.string()?,
        b'P' => texts.string()? && texts.string()?,
        b'B' => texts.string()? && texts.string()? && texts.values()?,
        b'D' | b'C' => texts.copy(1) && texts.string()?,
        b'E' => texts.string()?,
        _ => false,
    };
    if !whole {
        return Ok(Cow::Borrowed(body));
    }
    let rest = texts.rest;
    texts.out.extend_from_slice(rest);
    Ok(Cow::Owned(texts.out))
}

/// A body that is converted to UTF-8.
struct Texts<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    charset: Charset,
}

impl Texts<'_> {
    /// Copies bytes; false if there are too few.
    fn copy(&mut self, count: usize) -> bool {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else { return false };
        self.out.extend_from_slice(taken);
        self.rest = rest;
        true
    }

    /// Decodes a string that ends with a zero byte; false if none ends it.
    fn string(&mut self) -> Result<bool, Error> {
        let Some(end) = self.rest.iter().position(|byte| *byte == 0) else { return Ok(false) };
        let text = self.charset.decode(&self.rest[..end])?;
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0);
        self.rest = &self.rest[end + 1..];
        Ok(true)
    }

    /// Decodes the values of a `Bind` that are in text form.
    fn values(&mut self) -> Result<bool, Error> {
        let mut reader = Reader(self.rest);
        let Ok(count) = reader.count() else { return Ok(false) };
        let mut formats = Vec::new();
        for _ in 0..count {
            let Ok(format) = reader.int16() else { return Ok(false) };
            formats.push(format);
        }
        let Ok(values) = reader.count() else { return Ok(false) };
        self.copy(self.rest.len() - reader.0.len());
        for at in 0..values {
            let mut reader = Reader(self.rest);
            let Ok(value) = reader.value() else { return Ok(false) };
            let format = match formats[..] {
                [] => 0,
                [format] => format,
                _ => formats.get(at).copied().unwrap_or(0),
            };
            match value {
                Some(value) if format == 0 && !value.is_ascii() => {
                    let text = self.charset.decode(value)?;
                    self.out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    self.out.extend_from_slice(text.as_bytes());
                    self.rest = reader.0;
                }
                _ => {
                    self.copy(self.rest.len() - reader.0.len());
                }
            }
        }
        Ok(true)
    }
}
