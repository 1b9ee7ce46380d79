//! The encodings of clients: the bytes of a client become text, and text becomes its bytes.
//!
//! ```text
//!   client_encoding = LATIN1     e9  ──decode──>  é  ──encode──>  e9
//!   COPY in pieces               83 | 41  ──Decoder──>  ア         a character may be cut in two
//! ```
//!
//! Text is UTF-8 everywhere in the database. Names and errors are PostgreSQL's: 22021 for bytes that
//! are no character of the encoding, 22P05 for a character that the other side does not have. The
//! tables of characters are those of the WHATWG (`encoding_rs`); where they have characters that
//! PostgreSQL's tables do not have, such as the control characters of `WIN1252`, these are refused.

mod name;

use std::borrow::Cow;

use encoding_rs::{DecoderResult, EncoderResult, Encoding};
use types::{Error, Result, SqlState};

/// The most bytes that a character has.
const RECENT_BYTES: usize = 4;

/// An encoding that PostgreSQL knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charset(&'static Entry);

/// The name of an encoding, and how its bytes become text.
#[derive(PartialEq, Eq, Debug)]
struct Entry {
    name: &'static str,
    form: Form,
}

/// How an encoding is converted.
#[derive(PartialEq, Eq, Debug)]
enum Form {
    /// Not at all: the bytes are UTF-8.
    Same,
    /// Each byte is the character with its number.
    Latin1,
    /// By a table. Where `is_strict`, the control characters from U+0080 to U+009F are none of its
    /// characters.
    Table { table: &'static Encoding, is_strict: bool },
    /// The same above U+009F; below, each byte is the character with its number.
    Latin5,
    /// There is no conversion.
    None,
}

impl Default for Charset {
    fn default() -> Self {
        Self::UTF8
    }
}

impl Charset {
    /// The encoding of the server.
    pub const UTF8: Charset = Charset(&name::UTF8);

    /// The encoding with this name, in any of its spellings.
    pub fn named(name: &str) -> Option<Self> {
        name::find(name).map(Charset)
    }

    /// The name that PostgreSQL shows: `UTF8`, `LATIN1`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// True if nothing is converted.
    #[inline]
    pub fn is_same(self) -> bool {
        self.0.form == Form::Same
    }

    /// True if text can be converted to it and back.
    pub fn is_converted(self) -> bool {
        self.0.form != Form::None
    }

    /// The text of bytes that come from a client.
    ///
    /// # Errors
    /// 22021 for bytes that are no character, and for a zero byte; 22P05 for a character that UTF-8
    /// does not have.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>> {
        if self.is_same() || bytes.is_ascii() {
            return types::text::utf8(bytes).map(Cow::Borrowed);
        }
        let mut out = Vec::with_capacity(bytes.len() * 2);
        let mut decoder = self.decoder();
        decoder.decode(bytes, &mut out)?;
        decoder.finish(&mut out)?;
        let text = String::from_utf8(out).map_err(|_| self.no_character(bytes))?;
        match text.contains('\0') {
            true => Err(self.no_character(&[0])),
            false => Ok(Cow::Owned(text)),
        }
    }

    /// A decoder of bytes that come in pieces.
    pub fn decoder(self) -> Decoder {
        let table = match &self.0.form {
            Form::Table { table, .. } => Some(table.new_decoder_without_bom_handling()),
            _ => None,
        };
        Decoder { charset: self, table, recent: Vec::new() }
    }

    /// The bytes of a text that is sent to a client.
    ///
    /// # Errors
    /// 22P05 for a character that the encoding does not have.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>> {
        if self.is_same() || text.is_ascii() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let mut out = Vec::with_capacity(text.len());
        self.encode_with(text, &mut out, |c, _| Err(self.no_equivalent(c)))?;
        Ok(Cow::Owned(out))
    }

    /// The same, with a question mark for each character that the encoding does not have.
    pub fn encode_lossy(self, text: &str) -> Cow<'_, [u8]> {
        if self.is_same() || text.is_ascii() {
            return Cow::Borrowed(text.as_bytes());
        }
        let mut out = Vec::with_capacity(text.len());
        let put = |_, out: &mut Vec<u8>| {
            out.push(b'?');
            Ok(())
        };
        self.encode_with(text, &mut out, put).expect("nothing is refused");
        Cow::Owned(out)
    }

    fn encode_with(
        self,
        text: &str,
        out: &mut Vec<u8>,
        missing: impl Fn(char, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        match &self.0.form {
            Form::Same | Form::None => out.extend_from_slice(text.as_bytes()),
            Form::Latin1 => {
                for c in text.chars() {
                    match u8::try_from(c) {
                        Ok(byte) => out.push(byte),
                        Err(_) => missing(c, out)?,
                    }
                }
            }
            Form::Latin5 => {
                for c in text.chars() {
                    if c < '\u{a0}' {
                        out.push(c as u8);
                        continue;
                    }
                    let mut buffer = [0; 4];
                    let one = c.encode_utf8(&mut buffer);
                    match encoding_rs::WINDOWS_1254.encode(one) {
                        (bytes, _, false) if bytes[0] >= 0xa0 => out.extend_from_slice(&bytes),
                        _ => missing(c, out)?,
                    }
                }
            }
            Form::Table { table, is_strict } => {
                let is_control = |c: char| ('\u{80}'..='\u{9f}').contains(&c);
                let mut rest = text;
                while !rest.is_empty() {
                    let end = if *is_strict { rest.find(is_control) } else { None };
                    encode_part(table, &rest[..end.unwrap_or(rest.len())], out, &missing)?;
                    let Some(end) = end else { break };
                    let control = rest[end..].chars().next().unwrap_or_default();
                    missing(control, out)?;
                    rest = &rest[end + control.len_utf8()..];
                }
            }
        }
        Ok(())
    }

    /// The error of bytes that are no character.
    #[cold]
    fn no_character(self, bytes: &[u8]) -> Error {
        let message =
            format!("invalid byte sequence for encoding \"{}\": {}", self.name(), listed(bytes));
        Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
    }

    /// The error of a character that the encoding does not have.
    #[cold]
    fn no_equivalent(self, c: char) -> Error {
        let mut buffer = [0; 4];
        untranslatable(c.encode_utf8(&mut buffer).as_bytes(), "UTF8", self.name())
    }

    /// The error of bytes that a table does not have: of one or several bytes.
    #[cold]
    fn malformed(self, bytes: &[u8]) -> Error {
        let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
        let is_single = !self.is_multibyte();
        if is_single || *first >= 0x80 && !rest.is_empty() && rest.iter().all(|byte| *byte >= 0x40)
        {
            return untranslatable(bytes, self.name(), "UTF8");
        }
        self.no_character(bytes)
    }

    fn is_multibyte(self) -> bool {
        matches!(&self.0.form, Form::Table { table, .. } if !table.is_single_byte())
    }
}

fn encode_part(
    table: &'static Encoding,
    text: &str,
    out: &mut Vec<u8>,
    missing: &impl Fn(char, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let mut encoder = table.new_encoder();
    let mut rest = text;
    loop {
        let longest = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        out.reserve(longest.unwrap_or(rest.len()));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, out, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return Ok(()),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(c) => missing(c, out)?,
        }
    }
}

/// Turns bytes that come in pieces into text.
pub struct Decoder {
    charset: Charset,
    /// The state of a table, between the pieces; none if each byte stands for itself.
    table: Option<encoding_rs::Decoder>,
    /// The last bytes of the pieces before, for messages.
    recent: Vec<u8>,
}

impl Decoder {
    /// Appends the text of more bytes, as UTF-8. A character that is cut off at the end waits for
    /// its rest.
    ///
    /// # Errors
    /// As [`Charset::decode`].
    pub fn decode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.take(bytes, false, out)
    }

    /// Fails if the bytes ended within a character.
    ///
    /// # Errors
    /// 22021.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<()> {
        self.take(&[], true, out)
    }

    fn take(&mut self, bytes: &[u8], is_last: bool, out: &mut Vec<u8>) -> Result<()> {
        let charset = self.charset;
        let is_strict = match &charset.0.form {
            Form::Table { is_strict, .. } => *is_strict,
            Form::Latin1 => {
                bytes.iter().for_each(|byte| put(char::from(*byte), out));
                return Ok(());
            }
            Form::Latin5 => {
                for byte in bytes {
                    let (text, _) = encoding_rs::WINDOWS_1254
                        .decode_without_bom_handling(std::slice::from_ref(byte));
                    match byte {
                        0x80..0xa0 => put(char::from(*byte), out),
                        _ => out.extend_from_slice(text.as_bytes()),
                    }
                }
                return Ok(());
            }
            Form::Same | Form::None => {
                out.extend_from_slice(bytes);
                return Ok(());
            }
        };
        let Some(table) = &mut self.table else { return Ok(()) };
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let longest = table.max_utf8_buffer_length_without_replacement(rest.len());
            let mut text = String::with_capacity(longest.unwrap_or(rest.len() * 4) + 4);
            let (result, read) =
                table.decode_to_string_without_replacement(rest, &mut text, is_last);
            if is_strict && let Some(c) = text.chars().find(|c| ('\u{80}'..='\u{9f}').contains(c)) {
                // In these encodings each byte is a character, so its number is the byte.
                return Err(charset.malformed(&[c as u8]));
            }
            out.extend_from_slice(text.as_bytes());
            at += read;
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(length, after) => {
                    let mut seen = std::mem::take(&mut self.recent);
                    let end = (seen.len() + at).saturating_sub(usize::from(after));
                    let start = end.saturating_sub(usize::from(length));
                    seen.extend_from_slice(bytes);
                    // PostgreSQL lists as many bytes as the character would have.
                    let end = if charset.is_multibyte() { end.max(start + 2) } else { end };
                    let listed = &seen[start..end.min(seen.len())];
                    return Err(charset.malformed(listed));
                }
            }
        }
        let kept = bytes.len().saturating_sub(RECENT_BYTES);
        self.recent.extend_from_slice(&bytes[kept..]);
        let old = self.recent.len().saturating_sub(RECENT_BYTES);
        self.recent.drain(..old);
        Ok(())
    }
}

fn put(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Bytes as PostgreSQL lists them in messages.
fn listed(bytes: &[u8]) -> String {
    let listed: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
    listed.join(" ")
}

fn untranslatable(bytes: &[u8], from: &str, to: &str) -> Error {
    let message = format!(
        "character with byte sequence {} in encoding \"{from}\" has no equivalent in encoding \
         \"{to}\"",
        listed(bytes)
    );
    Error::new(SqlState::UNTRANSLATABLE_CHARACTER, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Charset {
        Charset::named(name).unwrap_or_else(|| panic!("{name} is known"))
    }

    /// Decoding gives back the text that was encoded, whole and one byte at a time.
    #[test]
    fn there_and_back() {
        let texts = [
            ("LATIN1", "caf\u{e9} \u{80}", &b"caf\xe9 \x80"[..]),
            ("LATIN9", "10 €", b"10 \xa4"),
            ("LATIN5", "\u{11e}\u{95}", b"\xd0\x95"),
            ("WIN1252", "10 €", b"10 \x80"),
            ("KOI8R", "да", b"\xc4\xc1"),
            ("SJIS", "ア", b"\x83\x41"),
            ("EUC_JP", "ア", b"\xa5\xa2"),
            ("GB18030", "中€", b"\xd6\xd0\xa2\xe3"),
            ("BIG5", "中", b"\xa4\xa4"),
            ("UHC", "가", b"\xb0\xa1"),
        ];
        for (name, text, bytes) in texts {
            let charset = named(name);
            assert_eq!(charset.encode(text).expect("it has the characters"), bytes, "{name}");
            assert_eq!(charset.decode(bytes).expect("they are characters"), text, "{name}");
            let (mut decoder, mut out) = (charset.decoder(), Vec::new());
            for byte in bytes {
                decoder.decode(&[*byte], &mut out).expect("they are characters");
            }
            decoder.finish(&mut out).expect("none is cut off");
            assert_eq!(String::from_utf8(out).expect("text"), text, "{name} byte by byte");
        }
    }

    /// The messages and codes are PostgreSQL's.
    #[test]
    fn what_is_refused() {
        let error = named("latin1").encode("€").unwrap_err();
        assert_eq!(
            format!("{error:?}"),
            "22P05: character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no \
             equivalent in encoding \"LATIN1\""
        );
        let error = named("win1252").decode(b"\x81").unwrap_err();
        assert_eq!(
            format!("{error:?}"),
            "22P05: character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent \
             in encoding \"UTF8\""
        );
        let error = named("euc-jp").decode(b"\xa5 ").unwrap_err();
        assert_eq!(
            format!("{error:?}"),
            "22021: invalid byte sequence for encoding \"EUC_JP\": 0xa5 0x20"
        );
        assert_eq!(named("latin1").encode_lossy("1 € é"), &b"1 ? \xe9"[..]);
        assert!(Charset::named("nope").is_none());
    }

    /// Every way to write a name leads to the encoding.
    #[test]
    fn names() {
        for (written, name) in [
            ("iso-8859-1", "LATIN1"),
            ("Windows 1251", "WIN1251"),
            ("unicode", "UTF8"),
            ("utf-8", "UTF8"),
            ("Shift_JIS", "SJIS"),
            ("sql_ascii", "SQL_ASCII"),
        ] {
            assert_eq!(named(written).name(), name);
        }
    }
}
