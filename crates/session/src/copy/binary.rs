//! The binary form of `COPY`.
//!
//! ```text
//!   PGCOPY\n\377\r\n\0  flags:4  extension:4,bytes      header
//!   fields:2  (length:4 bytes)...                       a row; the length of NULL is -1
//!   -1:2                                                the end
//! ```

use types::SqlState;

/// The first bytes of the data.
pub(crate) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The longest value, in bytes.
const FIELD_BYTES_MAX: usize = 1 << 30;

/// The header: nothing special about the data.
pub(crate) fn header(out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    out.extend_from_slice(&[0; 8]);
}

/// Reads rows from bytes.
pub(crate) struct Reader {
    buffer: Vec<u8>,
    start: usize,
    has_header: bool,
    ended: bool,
}

fn bad(message: &str) -> types::Error {
    types::Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

impl Reader {
    pub fn new() -> Self {
        Reader { buffer: Vec::new(), start: 0, has_header: false, ended: false }
    }

    /// Takes bytes.
    pub fn push(&mut self, data: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(data);
    }

    /// The next row, a slice for each value; `None` if more bytes are needed, or there are none.
    ///
    /// # Errors
    /// `22P04` for data of another form.
    pub fn next(&mut self, columns: usize) -> types::Result<Option<Vec<Option<Vec<u8>>>>> {
        if !self.has_header {
            let bytes = &self.buffer[self.start..];
            if bytes.len() < 19 {
                return Ok(None);
            }
            if !bytes.starts_with(SIGNATURE) {
                return Err(bad("COPY file signature not recognized"));
            }
            let extension = number(&bytes[15..19]) as usize;
            if bytes.len() < 19 + extension {
                return Ok(None);
            }
            self.start += 19 + extension;
            self.has_header = true;
        }
        let bytes = &self.buffer[self.start..];
        if self.ended || bytes.len() < 2 {
            return Ok(None);
        }
        let count = i16::from_be_bytes([bytes[0], bytes[1]]);
        if count == -1 {
            self.ended = true;
            return Ok(None);
        }
        if count as usize != columns {
            let message = format!("row field count is {count}, expected {columns}");
            return Err(bad(&message));
        }
        let (mut at, mut fields) = (2, Vec::with_capacity(columns));
        for _ in 0..columns {
            let Some(head) = bytes.get(at..at + 4) else { return Ok(None) };
            let length = number(head) as i32;
            at += 4;
            if length == -1 {
                fields.push(None);
                continue;
            }
            let length = usize::try_from(length).map_err(|_| bad("invalid field size"))?;
            if length > FIELD_BYTES_MAX {
                return Err(bad("invalid field size"));
            }
            let Some(value) = bytes.get(at..at + length) else { return Ok(None) };
            fields.push(Some(value.to_vec()));
            at += length;
        }
        self.start += at;
        Ok(Some(fields))
    }

    /// Checks that the data did not end within the header or a row. No data at all have no header.
    ///
    /// # Errors
    /// `22P04` where they did.
    pub fn end(&self) -> types::Result<()> {
        let bytes = &self.buffer[self.start..];
        match self.has_header {
            true if self.ended || bytes.is_empty() => Ok(()),
            true => Err(bad("unexpected EOF in COPY data")),
            false if bytes.starts_with(SIGNATURE) => {
                Err(bad("invalid COPY file header (missing flags)"))
            }
            false => Err(bad("COPY file signature not recognized")),
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data that end too early are refused, also before they have begun: PostgreSQL says the same.
    #[test]
    fn data_that_end_too_early_are_refused() {
        let mut whole = Vec::new();
        header(&mut whole);
        whole.extend_from_slice(&[0, 1, 0, 0, 0, 1, 7]);
        let end_of = |bytes: &[u8]| {
            let mut reader = Reader::new();
            reader.push(bytes);
            while reader.next(1)?.is_some() {}
            reader.end()
        };
        let why = |bytes: &[u8]| end_of(bytes).unwrap_err().message().to_owned();
        assert_eq!(why(b""), "COPY file signature not recognized");
        assert_eq!(why(b"1\t2\n"), "COPY file signature not recognized");
        assert_eq!(why(&whole[..15]), "invalid COPY file header (missing flags)");
        assert_eq!(why(&whole[..whole.len() - 1]), "unexpected EOF in COPY data");
        assert!(end_of(&whole[..19]).is_ok() && end_of(&whole).is_ok());
    }
}
