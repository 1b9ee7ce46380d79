//! Rows as lines, and lines as rows: the text and CSV forms of `COPY`.
//!
//! ```text
//!   text   1<tab>a\tb<tab>\N          the second value has a tab in it, the third is NULL
//!   csv    1,"a,""b""",               the second has a comma and quotes in it, the third is NULL
//! ```
//!
//! Bytes go in as they come, cut anywhere; rows come out when their line is whole.

use std::ops::Range;

use types::SqlState;
use types::text::utf8;

use super::options::{CopyOptions, Style};
use crate::files::LINE_BYTES_MAX;

/// From so many bytes on a line is long.
const LONG_LINE_BYTES: usize = 1 << 20;

/// A value of a row that is written.
pub(crate) struct Value<'a> {
    /// `None` for NULL.
    pub text: Option<&'a str>,
    /// It stands in quotes, whatever it is.
    pub is_quoted: bool,
    pub is_first: bool,
    /// The row has no other.
    pub is_only: bool,
}

/// Appends a value to `out`, and what parts it from the one before.
pub(crate) fn write(value: Value<'_>, options: &CopyOptions, out: &mut Vec<u8>) {
    if !value.is_first {
        out.push(options.delimiter);
    }
    match (value.text, options.style) {
        (None, _) => out.extend_from_slice(options.null.as_bytes()),
        (Some(text), Style::Csv) => {
            let single = value.is_only && text == "\\.";
            write_csv(text, value.is_quoted || single, options, out);
        }
        (Some(text), _) => write_text(text, options, out),
    }
}

fn write_text(value: &str, options: &CopyOptions, out: &mut Vec<u8>) {
    let mut rest = value.as_bytes();
    let is_special = |byte: &u8| {
        (*byte == b'\\') | (*byte == options.delimiter) | (byte.wrapping_sub(0x08) <= 0x05)
    };
    // Without an end in between the compiler looks at many bytes at a time.
    if !rest.iter().fold(false, |found, byte| found | is_special(byte)) {
        return out.extend_from_slice(rest);
    }
    while let Some(at) = rest.iter().position(is_special) {
        out.extend_from_slice(&rest[..at]);
        let letter = match rest[at] {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            byte => byte,
        };
        out.extend_from_slice(&[b'\\', letter]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
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
    /// Where the line of the row that was given last lies in the buffer.
    line: Range<usize>,
    /// The values of the row that are not written as they are, one behind the other.
    values: Vec<u8>,
    fields: Vec<ValueSpan>,
    /// A long line is looked for its end again when so many bytes of it are there.
    wanted: usize,
    line_bytes_max: usize,
    /// True after the mark that ends the data.
    ended: bool,
}

/// Where a value of a row lies.
#[derive(Clone)]
enum ValueSpan {
    /// It is NULL.
    Null,
    /// In the line.
    Line(Range<usize>),
    /// Among the values that are not written as they are.
    Values(Range<usize>),
}

/// The values of a row as they were written, `None` for NULL.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    line: &'a str,
    values: &'a str,
    fields: &'a [ValueSpan],
}

impl<'a> Fields<'a> {
    pub fn len(self) -> usize {
        self.fields.len()
    }

    pub fn iter(self) -> impl Iterator<Item = Option<&'a str>> {
        self.fields.iter().map(move |place| match place {
            ValueSpan::Null => None,
            ValueSpan::Line(range) => Some(&self.line[range.clone()]),
            ValueSpan::Values(range) => Some(&self.values[range.clone()]),
        })
    }
}

impl Reader {
    pub fn new() -> Self {
        Reader {
            buffer: Vec::new(),
            start: 0,
            line: 0..0,
            values: Vec::new(),
            fields: Vec::new(),
            wanted: 0,
            line_bytes_max: LINE_BYTES_MAX,
            ended: false,
        }
    }

    /// Takes bytes.
    pub fn push(&mut self, data: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(data);
    }

    /// Finds the line that is whole next, without its end; at the end of the data also one without an
    /// end. False if there is none.
    fn find_line(&mut self, options: &CopyOptions, last: bool) -> bool {
        let bytes = &self.buffer[self.start..];
        let end = match options.style {
            Style::Csv => csv_line(bytes, options),
            _ => text_line(bytes),
        };
        let end = match end {
            Some(end) => end,
            None if last && !bytes.is_empty() => bytes.len(),
            None => return false,
        };
        let length = bytes[..end].strip_suffix(b"\r").map_or(end, <[u8]>::len);
        self.line = self.start..self.start + length;
        self.start = (self.start + end + 1).min(self.buffer.len());
        true
    }

    /// The line of the row that was given last.
    pub fn line(&self) -> &str {
        std::str::from_utf8(&self.buffer[self.line.clone()]).unwrap_or_default()
    }

    /// The next row; `None` if more bytes are needed, or there are no more.
    ///
    /// # Errors
    /// `22P04` for a line that is none, `22021` for what is no text, `54000` for a line that is too long.
    pub fn next(&mut self, options: &CopyOptions, last: bool) -> types::Result<Option<Fields<'_>>> {
        self.read(options, last, options.style == Style::Csv)
    }

    /// The same. `may_be_usual` says whether [`Reader::usual_csv`] is tried.
    fn read(
        &mut self,
        options: &CopyOptions,
        last: bool,
        may_be_usual: bool,
    ) -> types::Result<Option<Fields<'_>>> {
        let held = self.buffer.len() - self.start;
        if self.ended || (held < self.wanted && !last) {
            return Ok(None);
        }
        self.values.clear();
        self.fields.clear();
        // A line that is written in the usual way is taken apart while its end is looked for.
        let is_apart = may_be_usual && self.usual_csv(options);
        if !is_apart && !self.find_line(options, last) {
            if held > self.line_bytes_max {
                let message = format!("a line has more than {} bytes", self.line_bytes_max);
                return Err(types::Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            }
            // So a line costs time in proportion to its length, however small the pieces are that it comes in.
            self.wanted = if held > LONG_LINE_BYTES { 2 * held } else { 0 };
            return Ok(None);
        }
        self.wanted = 0;
        let line = utf8(&self.buffer[self.line.clone()])?;
        if line == "\\." {
            self.ended = true;
            return Ok(None);
        }
        if !is_apart {
            self.values.clear();
            self.fields.clear();
            match options.style {
                Style::Csv => csv_fields(line, options, &mut self.values, &mut self.fields)?,
                _ => text_fields(line, options, &mut self.values, &mut self.fields),
            }
        }
        // A value may have been put together of escaped bytes, and each value must be text by itself.
        let values = utf8(&self.values)?;
        for place in &self.fields {
            if let ValueSpan::Values(range) = place
                && values.get(range.clone()).is_none()
            {
                utf8(&self.values[range.clone()])?;
            }
        }
        Ok(Some(Fields { line, values, fields: &self.fields }))
    }

    /// Takes the next line apart if it is whole and its fields are without quotes, or in quotes from one end to the
    /// other. False for all others, which are read byte by byte.
    fn usual_csv(&mut self, options: &CopyOptions) -> bool {
        let (delimiter, quote) = (options.delimiter, options.quote);
        if options.escape != quote || !delimiter.is_ascii() || !quote.is_ascii() {
            return false;
        }
        let Reader { buffer, start, line, values, fields, .. } = self;
        let bytes = &buffer[*start..];
        let mut at = 0;
        loop {
            let from = at;
            let place = if bytes.get(at) == Some(&quote) {
                let Some((place, end)) = quoted(bytes, at + 1, quote, values) else { return false };
                at = end;
                place
            } else {
                let Some(length) = memchr::memchr3(delimiter, quote, b'\n', &bytes[at..]) else {
                    return false;
                };
                at += length;
                ValueSpan::Line(from..at)
            };
            let is_quoted = bytes[from] == quote;
            let end = match bytes.get(at) {
                Some(byte) if *byte == delimiter => None,
                Some(b'\n') => Some(at),
                Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => Some(at + 1),
                _ => return false,
            };
            let place = match place {
                // The line ends before a carriage return.
                ValueSpan::Line(range) if !is_quoted => {
                    let is_cut = end.is_some() && bytes[range.clone()].ends_with(b"\r");
                    let range = range.start..range.end - usize::from(is_cut);
                    match bytes[range.clone()] == *options.null.as_bytes() {
                        true => ValueSpan::Null,
                        false => ValueSpan::Line(range),
                    }
                }
                place => place,
            };
            fields.push(place);
            at += 1;
            if let Some(end) = end {
                let length = bytes[..end].strip_suffix(b"\r").map_or(end, <[u8]>::len);
                *line = *start..*start + length;
                *start += end + 1;
                return true;
            }
        }
    }
}

/// Reads a value in quotes from behind the first of them, to behind the last. `None` if the last is missing. A value
/// with quotes in it is added to `values`.
fn quoted(
    bytes: &[u8],
    from: usize,
    quote: u8,
    values: &mut Vec<u8>,
) -> Option<(ValueSpan, usize)> {
    let mut at = from + memchr::memchr(quote, &bytes[from..])?;
    if bytes.get(at + 1) != Some(&quote) {
        return Some((ValueSpan::Line(from..at), at + 1));
    }
    let start = values.len();
    values.extend_from_slice(&bytes[from..at]);
    while bytes.get(at + 1) == Some(&quote) {
        values.push(quote);
        at += 2;
        let length = memchr::memchr(quote, &bytes[at..])?;
        values.extend_from_slice(&bytes[at..at + length]);
        at += length;
    }
    Some((ValueSpan::Values(start..values.len()), at + 1))
}

/// Where the line ends that `bytes` begin with: at the first line feed without a backslash before it.
fn text_line(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + memchr::memchr2(b'\n', b'\\', &bytes[at..])?;
        if bytes[found] == b'\n' {
            return Some(found);
        }
        at = found + 2;
        if at > bytes.len() {
            return None;
        }
    }
}

/// The same: at the first line feed outside quotes.
fn csv_line(bytes: &[u8], options: &CopyOptions) -> Option<usize> {
    let (mut quoted, mut skip) = (false, false);
    for (at, byte) in bytes.iter().enumerate() {
        if std::mem::take(&mut skip) {
            continue;
        }
        match *byte {
            b'\n' if !quoted => return Some(at),
            byte if quoted && byte == options.escape && options.escape != options.quote => {
                skip = true;
            }
            byte if byte == options.quote => quoted = !quoted,
            _ => {}
        }
    }
    None
}

type Places = Vec<ValueSpan>;

fn text_fields(line: &str, options: &CopyOptions, values: &mut Vec<u8>, fields: &mut Places) {
    let bytes = line.as_bytes();
    let mut at = 0;
    loop {
        let (start, from) = (at, values.len());
        loop {
            let rest = &bytes[at..];
            let plain = memchr::memchr2(options.delimiter, b'\\', rest).unwrap_or(rest.len());
            values.extend_from_slice(&rest[..plain]);
            at += plain;
            if at >= bytes.len() || bytes[at] == options.delimiter {
                break;
            }
            if at + 1 == bytes.len() {
                values.push(b'\\');
                at += 1;
                break;
            }
            at = unescape(line, at + 1, values);
        }
        let is_null = line[start..at] == *options.null;
        fields.push(if is_null { ValueSpan::Null } else { ValueSpan::Values(from..values.len()) });
        if at >= bytes.len() {
            return;
        }
        at += 1;
    }
}

/// Reads what stands behind a backslash at `at`; returns where it ends.
fn unescape(line: &str, at: usize, values: &mut Vec<u8>) -> usize {
    let bytes = line.as_bytes();
    let digits = |from: usize, radix: u32, most: usize| {
        let of = bytes[from..].iter().take(most);
        of.take_while(|byte| char::from(**byte).is_digit(radix)).count()
    };
    let next = at + 1;
    let byte = match bytes[at] {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'0'..=b'7' => {
            let end = at + 1 + digits(next, 8, 2);
            values.push(u32::from_str_radix(&line[at..end], 8).unwrap_or(0) as u8);
            return end;
        }
        b'x' if digits(next, 16, 2) > 0 => {
            let end = next + digits(next, 16, 2);
            values.push(u8::from_str_radix(&line[next..end], 16).unwrap_or(0));
            return end;
        }
        other => other,
    };
    values.push(byte);
    next
}

fn csv_fields(
    line: &str,
    options: &CopyOptions,
    values: &mut Vec<u8>,
    fields: &mut Places,
) -> types::Result<()> {
    let bytes = line.as_bytes();
    let mut at = 0;
    loop {
        let from = values.len();
        let (mut quoted, mut inside) = (false, false);
        while at < bytes.len() {
            let byte = bytes[at];
            if inside {
                let next = bytes.get(at + 1).copied();
                let escapes = next == Some(options.quote) || next == Some(options.escape);
                if byte == options.escape
                    && escapes
                    && (byte != options.quote || next == Some(options.quote))
                {
                    values.push(bytes[at + 1]);
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
            values.push(byte);
            at += 1;
        }
        if inside {
            let message = "unterminated CSV quoted field";
            return Err(types::Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
        }
        let is_null = !quoted && values[from..] == *options.null.as_bytes();
        fields.push(if is_null { ValueSpan::Null } else { ValueSpan::Values(from..values.len()) });
        if at >= bytes.len() {
            return Ok(());
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows that a reader makes of lines that come in pieces.
    fn rows(pieces: &[&[u8]], options: &CopyOptions, may_be_usual: bool) -> String {
        let (mut reader, mut shown) = (Reader::new(), String::new());
        for (at, piece) in pieces.iter().enumerate() {
            reader.push(piece);
            loop {
                match reader.read(options, at + 1 == pieces.len(), may_be_usual) {
                    Ok(Some(fields)) => {
                        let fields: Vec<Option<&str>> = fields.iter().collect();
                        shown.push_str(&format!("{fields:?}"));
                    }
                    Ok(None) => break,
                    Err(error) => return format!("{shown}{error:?}"),
                }
                shown.push_str(&format!(" of {:?}\n", reader.line()));
            }
        }
        shown
    }

    /// Lines that are written in the usual way are read as all others are: byte by byte gives the same.
    #[test]
    fn usual_lines_are_read_like_all_others() {
        const PARTS: [&str; 14] = [
            "a",
            "twelve words",
            "é",
            ",",
            ",",
            "\n",
            "\r\n",
            "\r",
            "\"",
            "\"\"",
            "\",\"",
            "\\.",
            "NULL",
            "\0",
        ];
        vfs::seeds(700, 4_000, |seed| {
            let mut state = seed;
            let mut below = |most: usize| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % most
            };
            let mut options = CopyOptions::csv();
            options.null = ["", "NULL"][below(2)].to_owned();
            options.escape = [b'"', b'"', b'"', b'\\'][below(4)];
            let quotes = below(2);
            let mut text = Vec::new();
            for _ in 0..below(60) {
                let known = PARTS.len() - below(2);
                let part = PARTS[below(known)];
                let part = if quotes == 0 { part.replace('"', "") } else { part.to_owned() };
                text.extend_from_slice(part.as_bytes());
            }
            let cut = below(text.len() + 1);
            let pieces = [&text[..cut], &text[cut..]];
            let (usual, other) = (rows(&pieces, &options, true), rows(&pieces, &options, false));
            assert_eq!(usual, other, "{:?}", String::from_utf8_lossy(&text));
        });
    }

    /// A line that never ends fills no more memory than a line may have; one that ends late is read whole.
    #[test]
    fn long_lines() {
        let piece = vec![b'a'; 300 << 10];
        for options in
            [CopyOptions::csv(), CopyOptions { style: Style::Text, ..CopyOptions::csv() }]
        {
            let mut reader = Reader::new();
            reader.line_bytes_max = 8 << 20;
            for at in 1.. {
                reader.push(&piece);
                assert!(reader.buffer.len() <= 2 * reader.line_bytes_max + piece.len());
                match reader.next(&options, false) {
                    Ok(fields) => assert!(fields.is_none(), "no line has ended"),
                    Err(error) => {
                        assert_eq!(error.state(), SqlState::PROGRAM_LIMIT_EXCEEDED);
                        assert!(at * piece.len() > reader.line_bytes_max);
                        break;
                    }
                }
            }
            let mut reader = Reader::new();
            (0..20).for_each(|_| {
                reader.push(&piece);
                assert!(reader.next(&options, false).is_ok_and(|fields| fields.is_none()));
            });
            reader.push(b"\nb\n");
            let mut lengths = Vec::new();
            while let Ok(Some(fields)) = reader.next(&options, true) {
                lengths.extend(fields.iter().flatten().map(str::len));
            }
            assert_eq!(lengths, [20 * piece.len(), 1]);
        }
    }

    /// Quotes within quotes are found wherever they stand.
    #[test]
    fn quotes_within_quotes() {
        for length in 0..20 {
            let word = "x".repeat(length);
            let line = format!("\"{word}\"\"{word}\"\"\"\"{word}\",\"{word}\"\n");
            let expected = format!(
                "{:?} of {:?}\n",
                [Some(format!("{word}\"{word}\"\"{word}")), Some(word)],
                &line[..line.len() - 1]
            );
            assert_eq!(rows(&[line.as_bytes(), b""], &CopyOptions::csv(), true), expected);
        }
    }
}
