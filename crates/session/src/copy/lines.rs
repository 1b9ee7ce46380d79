//! Rows as lines, and lines as rows: the text and CSV forms of `COPY`.
//!
//! ```text
//!   text   1<tab>a\tb<tab>\N          the second value has a tab in it, the third is NULL
//!   csv    1,"a,""b""",               the second has a comma and quotes in it, the third is NULL
//! ```
//!
//! Bytes go in as they come, cut anywhere; rows come out when their line is whole.

use types::SqlState;
use types::text::utf8;

use super::options::{CopyOptions, Style};

/// A value as it was written, `None` for NULL; and whether it stood in quotes.
pub(crate) type Field = Option<String>;

/// Appends a row to `out`, with the end of its line.
pub(crate) fn write(fields: &[(Option<&str>, bool)], options: &CopyOptions, out: &mut Vec<u8>) {
    for (at, (value, force)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(options.delimiter);
        }
        match (value, options.style) {
            (None, _) => out.extend_from_slice(options.null.as_bytes()),
            (Some(value), Style::Csv) => {
                let single = fields.len() == 1 && *value == "\\.";
                write_csv(value, *force || single, options, out);
            }
            (Some(value), _) => write_text(value, options, out),
        }
    }
    out.push(b'\n');
}

fn write_text(value: &str, options: &CopyOptions, out: &mut Vec<u8>) {
    for byte in value.bytes() {
        let letter = match byte {
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            byte if byte == options.delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

fn write_csv(value: &str, force: bool, options: &CopyOptions, out: &mut Vec<u8>) {
    let special = |byte: u8| {
        byte == options.delimiter || byte == options.quote || matches!(byte, b'\n' | b'\r')
    };
    if !force && value != options.null && !value.bytes().any(special) {
        out.extend_from_slice(value.as_bytes());
        return;
    }
    out.push(options.quote);
    for byte in value.bytes() {
        if byte == options.quote || byte == options.escape {
            out.push(options.escape);
        }
        out.push(byte);
    }
    out.push(options.quote);
}

/// Reads rows from bytes.
pub(crate) struct Reader {
    buffer: Vec<u8>,
    /// Where the next row begins in the buffer.
    start: usize,
    /// The line of the row that was given last.
    line: String,
    /// True after the mark that ends the data.
    ended: bool,
}

impl Reader {
    pub fn new() -> Self {
        Reader { buffer: Vec::new(), start: 0, line: String::new(), ended: false }
    }

    /// Takes bytes.
    pub fn push(&mut self, data: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(data);
    }

    /// Takes the line that is whole next, without its end; at the end of the data also one without an
    /// end. False where there is none.
    fn take_line(&mut self, options: &CopyOptions, last: bool) -> types::Result<bool> {
        let bytes = &self.buffer[self.start..];
        let mut end = None;
        let mut quoted = false;
        let mut skip = false;
        for (at, byte) in bytes.iter().enumerate() {
            if skip {
                skip = false;
                continue;
            }
            match *byte {
                b'\n' if !quoted => {
                    end = Some(at);
                    break;
                }
                b'\\' if options.style == Style::Text => skip = true,
                byte if options.style == Style::Csv => {
                    if quoted && byte == options.escape && options.escape != options.quote {
                        skip = true;
                    } else if byte == options.quote {
                        quoted = !quoted;
                    }
                }
                _ => {}
            }
        }
        let end = match end {
            Some(end) => end,
            None if last && !bytes.is_empty() => bytes.len(),
            None => return Ok(false),
        };
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        let text = utf8(line)?;
        self.line.clear();
        self.line.push_str(text);
        self.start = (self.start + end + 1).min(self.buffer.len());
        Ok(true)
    }

    /// The line of the row that was given last.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The next row; `None` where more bytes are needed, or there are no more.
    ///
    /// # Errors
    /// `22P04` for a line that is none, `22021` for what is no text.
    pub fn next(&mut self, options: &CopyOptions, last: bool) -> types::Result<Option<Vec<Field>>> {
        if self.ended || !self.take_line(options, last)? {
            return Ok(None);
        }
        if self.line == "\\." {
            self.ended = true;
            return Ok(None);
        }
        Ok(Some(match options.style {
            Style::Csv => csv_fields(&self.line, options)?,
            _ => text_fields(&self.line, options)?,
        }))
    }
}

fn text_fields(line: &str, options: &CopyOptions) -> types::Result<Vec<Field>> {
    let bytes = line.as_bytes();
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let start = at;
        let special = |byte: &u8| *byte == options.delimiter || *byte == b'\\';
        at = bytes[at..].iter().position(special).map_or(bytes.len(), |plain| at + plain);
        let mut value = bytes[start..at].to_vec();
        while at < bytes.len() && bytes[at] != options.delimiter {
            if bytes[at] != b'\\' || at + 1 == bytes.len() {
                value.push(bytes[at]);
                at += 1;
                continue;
            }
            at += 1;
            let letter = bytes[at];
            at += 1;
            let digits = |from: usize, radix: u32, most: usize| {
                let of = bytes[from..].iter().take(most);
                of.take_while(|byte| char::from(**byte).is_digit(radix)).count()
            };
            match letter {
                b'b' => value.push(0x08),
                b'f' => value.push(0x0c),
                b'n' => value.push(b'\n'),
                b'r' => value.push(b'\r'),
                b't' => value.push(b'\t'),
                b'v' => value.push(0x0b),
                b'0'..=b'7' => {
                    let count = 1 + digits(at, 8, 2);
                    let text = &line[at - 1..at - 1 + count];
                    value.push(u32::from_str_radix(text, 8).unwrap_or(0) as u8);
                    at += count - 1;
                }
                b'x' if digits(at, 16, 2) > 0 => {
                    let count = digits(at, 16, 2);
                    value.push(u8::from_str_radix(&line[at..at + count], 16).unwrap_or(0));
                    at += count;
                }
                other => value.push(other),
            }
        }
        let raw = &line[start..at];
        fields.push(if raw == options.null { None } else { Some(utf8(&value)?.to_owned()) });
        if at >= bytes.len() {
            return Ok(fields);
        }
        at += 1;
    }
}

fn csv_fields(line: &str, options: &CopyOptions) -> types::Result<Vec<Field>> {
    let bytes = line.as_bytes();
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let (mut value, mut quoted, mut inside) = (Vec::new(), false, false);
        while at < bytes.len() {
            let byte = bytes[at];
            if inside {
                let next = bytes.get(at + 1).copied();
                let escapes = next == Some(options.quote) || next == Some(options.escape);
                if byte == options.escape
                    && escapes
                    && (byte != options.quote || next == Some(options.quote))
                {
                    value.push(bytes[at + 1]);
                    at += 2;
                    continue;
                }
                if byte == options.quote {
                    inside = false;
                    at += 1;
                    continue;
                }
            } else if byte == options.delimiter {
                break;
            } else if byte == options.quote {
                (inside, quoted) = (true, true);
                at += 1;
                continue;
            }
            value.push(byte);
            at += 1;
        }
        if inside {
            let message = "unterminated CSV quoted field";
            return Err(types::Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
        }
        let text = utf8(&value)?.to_owned();
        let is_null = !quoted && text == options.null;
        fields.push(if is_null { None } else { Some(text) });
        if at >= bytes.len() {
            return Ok(fields);
        }
        at += 1;
    }
}
