//! `hstore`: sets of keys, each with a text or NULL.
//!
//! A value is held as bytes whose order is the one that PostgreSQL has for values of the type, so they are compared,
//! hashed, and written to keys as any `bytea` is:
//!
//! ```text
//!   a, 1, bc, NULL    61 31 62 63   00   00000002   00000001 00  00000002 00  00000004 00  00000004 01
//!                     the texts,    end  pairs      where each text ends, and 01 if it is NULL
//! ```
//!
//! Pairs stand in the order of the lengths of their keys, then of the keys' bytes. No key is there twice.

use crate::bounded;
use crate::text::is_space;
use crate::{Error, Result, SqlState};

/// The longest key or value, in bytes.
const TEXT_BYTES_MAX: usize = 0x3FFF_FFFF;

/// Bytes behind the texts for each of them.
const ENTRY_BYTES: usize = 5;

/// A key and its value.
pub type Pair<'a> = (&'a str, Option<&'a str>);

/// A look at an `hstore`.
#[derive(Clone, Copy)]
pub struct Hstore<'a> {
    texts: &'a [u8],
    entries: &'a [u8],
}

impl<'a> Hstore<'a> {
    /// The value that these bytes are; an empty one for bytes that are none.
    pub fn new(bytes: &'a [u8]) -> Self {
        let empty = Hstore { texts: &[], entries: &[] };
        let Some(end) = bytes.iter().position(|byte| *byte == 0) else { return empty };
        let (texts, rest) = bytes.split_at(end);
        let Some((count, entries)) = rest[1..].split_first_chunk::<4>() else { return empty };
        let count = u32::from_be_bytes(*count) as usize;
        if entries.len() != count.saturating_mul(2 * ENTRY_BYTES) {
            return empty;
        }
        Hstore { texts, entries }
    }

    /// How many pairs there are.
    pub fn len(self) -> usize {
        self.entries.len() / (2 * ENTRY_BYTES)
    }

    /// True if there are none.
    pub fn is_empty(self) -> bool {
        self.entries.is_empty()
    }

    fn end(self, entry: usize) -> usize {
        let bytes = self.entries.get(entry * ENTRY_BYTES..entry * ENTRY_BYTES + 4);
        bytes.map_or(0, |bytes| u32::from_be_bytes(bytes.try_into().unwrap_or_default()) as usize)
    }

    fn text(self, entry: usize) -> &'a str {
        let start = if entry == 0 { 0 } else { self.end(entry - 1) };
        let bytes = self.texts.get(start..self.end(entry)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The pair with this number.
    fn pair(self, at: usize) -> Pair<'a> {
        let is_null = self.entries.get((2 * at + 1) * ENTRY_BYTES + 4) == Some(&1);
        (self.text(2 * at), (!is_null).then(|| self.text(2 * at + 1)))
    }

    /// The pairs in their order.
    pub fn pairs(self) -> impl ExactSizeIterator<Item = Pair<'a>> {
        (0..self.len()).map(move |at| self.pair(at))
    }

    /// The value of a key; none if the key is not there.
    pub fn get(self, key: &str) -> Option<Option<&'a str>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let (found, value) = self.pair(middle);
            match order(found).cmp(&order(key)) {
                std::cmp::Ordering::Equal => return Some(value),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// True if this has all pairs of another value.
    pub fn contains(self, other: Hstore<'_>) -> bool {
        other.pairs().all(|(key, value)| self.get(key) == Some(value))
    }

    /// Writes the text form.
    ///
    /// # Errors
    /// 57014 if the statement is to stop.
    pub fn write(self, out: &mut String) -> Result<()> {
        let quoted = |text: &str, out: &mut String| -> Result<()> {
            out.push('"');
            for piece in text.split_inclusive(['"', '\\']) {
                let plain = piece.trim_end_matches(['"', '\\']);
                bounded::append(out, plain)?;
                for escaped in piece[plain.len()..].chars() {
                    out.extend(['\\', escaped]);
                }
            }
            out.push('"');
            Ok(())
        };
        for (at, (key, value)) in self.pairs().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            quoted(key, out)?;
            out.push_str("=>");
            match value {
                Some(value) => quoted(value, out)?,
                None => out.push_str("NULL"),
            }
        }
        Ok(())
    }

    /// Appends the binary form.
    ///
    /// # Errors
    /// 57014 if the statement is to stop.
    pub fn to_wire(self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&(self.len() as i32).to_be_bytes());
        for (key, value) in self.pairs() {
            out.extend_from_slice(&(key.len() as i32).to_be_bytes());
            interrupt::append(out, key.as_bytes())?;
            match value {
                Some(value) => {
                    out.extend_from_slice(&(value.len() as i32).to_be_bytes());
                    interrupt::append(out, value.as_bytes())?;
                }
                None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
            }
        }
        Ok(())
    }
}

/// The order of keys.
fn order(key: &str) -> (usize, &str) {
    (key.len(), key)
}

/// The bytes of a value with these pairs. Of those with one key the first counts.
///
/// # Errors
/// 22001 for texts that are too long.
pub fn build<'a>(pairs: impl IntoIterator<Item = Pair<'a>>) -> Result<Vec<u8>> {
    let mut pairs: Vec<Pair<'a>> = pairs.into_iter().collect();
    for (key, value) in &pairs {
        for (text, what) in [(Some(key), "key"), (value.as_ref(), "value")] {
            if text.is_some_and(|text| text.len() > TEXT_BYTES_MAX) {
                let message = format!("string too long for hstore {what}");
                return Err(Error::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, message));
            }
        }
    }
    pairs.sort_by_key(|(key, _)| order(key));
    pairs.dedup_by_key(|(key, _)| *key);
    let mut bytes = Vec::new();
    let mut entries = Vec::with_capacity(pairs.len() * 2 * ENTRY_BYTES);
    for (key, value) in &pairs {
        for text in [Some(*key), *value] {
            bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
            let end = u32::try_from(bytes.len()).map_err(|_| {
                Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "hstore value is too long")
            })?;
            entries.extend_from_slice(&end.to_be_bytes());
            entries.push(u8::from(text.is_none()));
        }
    }
    bytes.push(0);
    bytes.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
    bytes.append(&mut entries);
    Ok(bytes)
}

/// The bytes of the value that has this text form.
///
/// # Errors
/// 42601 for a text that is none.
pub fn parse(text: &str) -> Result<Vec<u8>> {
    let mut reader = Reader { text, at: 0 };
    let mut pairs: Vec<(String, Option<String>)> = Vec::new();
    while let Some((key, _)) = reader.word(false)? {
        reader.skip_spaces();
        reader.expect('=')?;
        reader.expect('>')?;
        let Some((value, is_quoted)) = reader.word(true)? else { return Err(end_of_text()) };
        let is_null = !is_quoted && value.eq_ignore_ascii_case("null");
        pairs.push((key, (!is_null).then_some(value)));
        reader.skip_spaces();
        match reader.peek() {
            None => break,
            Some(',') => reader.at += 1,
            Some(_) => return Err(reader.unexpected()),
        }
    }
    build(pairs.iter().map(|(key, value)| (key.as_str(), value.as_deref())))
}

fn end_of_text() -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "syntax error in hstore: unexpected end of string")
}

/// Reads a text from front to end.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> Error {
        let Some(found) = self.peek() else { return end_of_text() };
        let message = format!("syntax error in hstore, near \"{found}\" at position {}", self.at);
        Error::new(SqlState::SYNTAX_ERROR, message)
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        match self.peek() {
            Some(found) if found == wanted => {
                self.at += wanted.len_utf8();
                Ok(())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A key or, if `is_value`, a value, and whether it is in quotes; none at the end of the text.
    fn word(&mut self, is_value: bool) -> Result<Option<(String, bool)>> {
        self.skip_spaces();
        let mut word = String::new();
        match self.peek() {
            None => return Ok(None),
            Some('=') if !is_value => return Err(self.unexpected()),
            Some('"') => {
                self.at += 1;
                loop {
                    match self.next().ok_or_else(end_of_text)? {
                        '"' => return Ok(Some((word, true))),
                        '\\' => word.push(self.next().ok_or_else(end_of_text)?),
                        other => word.push(other),
                    }
                }
            }
            Some(_) => {}
        }
        while let Some(found) = self.peek() {
            let is_end = if is_value { found == ',' && !word.is_empty() } else { found == '=' };
            if is_end || is_space(found) {
                break;
            }
            self.at += found.len_utf8();
            word.push(match found {
                '\\' => self.next().ok_or_else(end_of_text)?,
                found => found,
            });
        }
        Ok(Some((word, false)))
    }
}

/// The bytes of the value that has this binary form, which is taken off the front.
///
/// # Errors
/// 22P03 for bytes that are none.
pub(crate) fn from_wire(bytes: &mut &[u8]) -> Result<Vec<u8>> {
    let short = || {
        let message = "insufficient data left in message";
        Error::new(SqlState::PROTOCOL_VIOLATION, message)
    };
    let number = |bytes: &mut &[u8]| -> Result<i32> {
        let (number, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
        *bytes = rest;
        Ok(i32::from_be_bytes(*number))
    };
    let count = number(bytes)?;
    // Each pair has two lengths at least.
    if count < 0 || count as usize > bytes.len() / 8 {
        return match count {
            ..0 => {
                let message =
                    format!("number of pairs ({count}) exceeds the maximum allowed (134217727)");
                Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message))
            }
            _ => Err(short()),
        };
    }
    let mut pairs = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let mut text = |what| -> Result<Option<&str>> {
            let length = number(bytes)?;
            if length < 0 && what == "value" {
                return Ok(None);
            }
            let length = usize::try_from(length).map_err(|_| {
                let message = "null value not allowed for hstore key";
                Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
            })?;
            let (text, rest) = bytes.split_at_checked(length).ok_or_else(short)?;
            *bytes = rest;
            let text = std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| {
                let message = "invalid byte sequence for encoding \"UTF8\"";
                Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
            })?;
            Ok(Some(text))
        };
        pairs.push((text("key")?.unwrap_or_default(), text("value")?));
    }
    build(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = String::new();
        match parse(text).and_then(|bytes| Hstore::new(&bytes).write(&mut out)) {
            Ok(()) => out,
            Err(error) => error.message().to_owned(),
        }
    }

    /// Texts are read as PostgreSQL reads them, and written with quotes in the order of keys.
    #[test]
    fn texts_become_values_and_texts() {
        assert_eq!(
            shown(" bb => 1,a=>\"x \\\" y\", c=>NuLL ,d=>\"null\""),
            "\"a\"=>\"x \\\" y\", \"c\"=>NULL, \"d\"=>\"null\", \"bb\"=>\"1\""
        );
        assert_eq!(shown("a=>1,a=>2"), "\"a\"=>\"1\"");
        assert_eq!(shown(""), "");
        assert_eq!(shown("a=>"), "syntax error in hstore: unexpected end of string");
        assert_eq!(shown("a = >1"), "syntax error in hstore, near \" \" at position 3");
    }

    /// The binary form gives the same value back, and bytes of a client cause no panic.
    #[test]
    fn the_binary_form_is_read_back() {
        let bytes = parse("a=>1, bc=>NULL, ccc=>\"\"").expect("an hstore");
        let mut wire = Vec::new();
        Hstore::new(&bytes).to_wire(&mut wire).expect("nothing stops it");
        assert_eq!(from_wire(&mut &wire[..]).expect("an hstore"), bytes);
        for end in 0..wire.len() {
            assert!(from_wire(&mut &wire[..end]).is_err());
        }
        for end in 0..bytes.len() {
            assert!(Hstore::new(&bytes[..end]).is_empty());
        }
    }
}
