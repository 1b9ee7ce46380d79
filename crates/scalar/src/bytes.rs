//! `bytea`: pieces, bits, hashes, and its text encodings.

use interrupt::Pace;
use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::bounded::{self, BytesBuilder, TextBuilder};
use types::{Error, Result, SqlState};

use crate::function::{Function, functions};
use crate::search::{self, Search};

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

/// How many bytes are taken in one go: groups of three, and whole lines of 57.
const CHUNK_BYTES: usize = 57 * 1024;

/// Bytes as text, chunk by chunk.
fn in_chunks(bytes: &[u8], form: impl Fn(&[u8]) -> String) -> Result<TextBuilder> {
    let mut out = TextBuilder::with_capacity(bytes.len());
    for chunk in bytes.chunks(CHUNK_BYTES) {
        out.push(&form(chunk))?;
    }
    Ok(out)
}

/// The digest of bytes that may be many.
fn digest<D: Digest>(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut hash = D::new();
    for chunk in bytes.chunks(CHUNK_BYTES) {
        if chunk.len() == CHUNK_BYTES {
            interrupt::check()?;
        }
        hash.update(chunk);
    }
    Ok(hash.finalize().to_vec())
}

fn md5(bytes: &[u8]) -> Result<String> {
    digest::<Md5>(bytes).map(|hash| hex(&hash))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The encodings that PostgreSQL knows, by their numbers.
const ENCODINGS: [&str; 42] = [
    "SQL_ASCII",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "UTF8",
    "MULE_INTERNAL",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1256",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "WIN1251",
    "WIN1252",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "WIN1250",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1257",
    "KOI8U",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

/// The letters and digits of an encoding's name, which alone count.
fn plain(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase())
}

fn unknown_encoding(name: &str) -> Error {
    invalid(format!("unrecognized encoding: \"{name}\""))
}

fn encode(bytes: &[u8], encoding: &str) -> Result<TextBuilder> {
    match encoding.to_ascii_lowercase().as_str() {
        "hex" => {
            bounded::check_requested(bytes.len().saturating_mul(2))?;
            in_chunks(bytes, hex)
        }
        "base64" => {
            let mut is_first = true;
            let mut out = TextBuilder::new();
            for chunk in bytes.chunks(CHUNK_BYTES) {
                if !std::mem::take(&mut is_first) {
                    out.push("\n")?;
                }
                out.push(&to_base64(chunk))?;
            }
            Ok(out)
        }
        "escape" => in_chunks(bytes, |chunk| {
            let mut out = String::with_capacity(chunk.len());
            for byte in chunk {
                match byte {
                    b'\\' => out.push_str("\\\\"),
                    0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
                    byte => out.push(char::from(*byte)),
                }
            }
            out
        }),
        _ => Err(unknown_encoding(encoding)),
    }
}

fn decode(text: &str, encoding: &str) -> Result<Vec<u8>> {
    match encoding.to_ascii_lowercase().as_str() {
        "hex" => from_hex(text),
        "base64" => from_base64(text),
        "escape" => from_escapes(text),
        _ => Err(unknown_encoding(encoding)),
    }
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let mut digits = text.chars().filter(|c| !matches!(c, ' ' | '\n' | '\t' | '\r'));
    let digit = |c: char| {
        c.to_digit(16).ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")))
    };
    let (mut out, mut pace) = (Vec::with_capacity(text.len() / 2), Pace::new());
    while let Some(high) = digits.next() {
        pace.step(8)?;
        let high = digit(high)?;
        let low = digits
            .next()
            .ok_or_else(|| invalid("invalid hexadecimal data: odd number of digits"))?;
        out.push((high << 4 | digit(low)?) as u8);
    }
    Ok(out)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 in lines of 76 characters.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for (at, group) in bytes.chunks(3).enumerate() {
        if at > 0 && at % 19 == 0 {
            out.push('\n');
        }
        let mut bits = [0; 4];
        bits[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(bits);
        for place in 0..4 {
            let letter = BASE64[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

pub(crate) fn from_base64(text: &str) -> Result<Vec<u8>> {
    let unexpected = || invalid("unexpected \"=\" while decoding base64 sequence");
    let end = || {
        invalid("invalid base64 end sequence")
            .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted.")
    };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0_u32, 0, 0);
    let mut pace = Pace::new();
    for c in text.chars().filter(|c| !matches!(c, ' ' | '\n' | '\t' | '\r')) {
        pace.step(32)?;
        let value = match BASE64.iter().position(|letter| char::from(*letter) == c) {
            Some(value) if padding == 0 => value as u32,
            Some(_) => return Err(end()),
            None if c == '=' => {
                if count < 2 {
                    return Err(unexpected());
                }
                padding += 1;
                0
            }
            None => {
                return Err(invalid(format!(
                    "invalid symbol \"{c}\" found while decoding base64 sequence"
                )));
            }
        };
        bits = bits << 6 | value;
        count += 1;
        if count == 4 {
            out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
            (bits, count) = (0, 0);
        }
    }
    if count == 0 { Ok(out) } else { Err(end()) }
}

fn from_escapes(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut bytes, mut pace) = (text.as_bytes(), Pace::new());
    loop {
        pace.step(4)?;
        bytes = match bytes {
            [] => return Ok(out),
            [b'\\', b'\\', rest @ ..] => {
                out.push(b'\\');
                rest
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [b'\\', ..] => {
                return Err(Error::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    "invalid input syntax for type bytea",
                ));
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
        };
    }
}

/// `length` bytes from a position on, counted from 1, which may lie before the value.
fn substring(bytes: &[u8], start: i32, length: Option<i32>) -> Result<&[u8]> {
    let start = i64::from(start) - 1;
    let end = match length {
        Some(length) if length < 0 => {
            return Err(Error::new(
                SqlState::SUBSTRING_ERROR,
                "negative substring length not allowed",
            ));
        }
        Some(length) => start + i64::from(length),
        None => bytes.len() as i64,
    };
    let within = |at: i64| at.clamp(0, bytes.len() as i64) as usize;
    Ok(&bytes[within(start)..within(end).max(within(start))])
}

fn overlay(bytes: &[u8], new: &[u8], start: i32, length: i32) -> Result<Vec<u8>> {
    let before = substring(bytes, 1, Some(start.saturating_sub(1)))?;
    if start <= 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let after = substring(bytes, start.saturating_add(length), None)?;
    join([before, new, after])
}

/// Bytes one behind the other.
fn join<const N: usize>(parts: [&[u8]; N]) -> Result<Vec<u8>> {
    let bytes = parts.iter().map(|part| part.len()).sum();
    bounded::check(bytes)?;
    let mut out = BytesBuilder::with_capacity(bytes);
    parts.iter().try_for_each(|part| out.push(part))?;
    Ok(out.finish())
}

fn position(bytes: &[u8], part: &[u8]) -> Result<i32> {
    let found = Search::new(part).find(bytes, 0)?;
    Ok(found.map_or(0, |at| at as i32 + 1))
}

fn trim<'a>(bytes: &'a [u8], set: &[u8], front: bool, back: bool) -> &'a [u8] {
    let mut is_in = [false; 256];
    set.iter().for_each(|byte| is_in[usize::from(*byte)] = true);
    let stays = |byte: &u8| !is_in[usize::from(*byte)];
    let start = if front { bytes.iter().position(stays).unwrap_or(bytes.len()) } else { 0 };
    let rest = &bytes[start..];
    let end = if back { rest.iter().rposition(stays).map_or(0, |at| at + 1) } else { rest.len() };
    &rest[..end]
}

/// The byte of that number, counted from 0.
fn checked(bytes: &[u8], at: i64, bits: i64) -> Result<usize> {
    let count = bytes.len() as i64 * bits;
    if (0..count).contains(&at) {
        return Ok((at / bits) as usize);
    }
    Err(Error::new(
        SqlState::ARRAY_SUBSCRIPT_ERROR,
        format!("index {at} out of valid range, 0..{}", count - 1),
    ))
}

fn set_bit(bytes: &[u8], at: i64, bit: i32) -> Result<Vec<u8>> {
    let byte = checked(bytes, at, 8)?;
    if !(0..=1).contains(&bit) {
        return Err(invalid("new bit must be 0 or 1"));
    }
    let mut changed = bytes.to_vec();
    changed[byte] = changed[byte] & !(1 << (at % 8)) | (bit as u8) << (at % 8);
    Ok(changed)
}

fn set_byte(bytes: &[u8], at: i32, value: i32) -> Result<Vec<u8>> {
    let at = checked(bytes, at.into(), 1)?;
    let mut changed = bytes.to_vec();
    changed[at] = value as u8;
    Ok(changed)
}

/// The names of the one encoding that texts have.
fn is_utf8(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    name.eq_ignore_ascii_case("utf8") || name.eq_ignore_ascii_case("unicode")
}

fn is_latin1(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    name.eq_ignore_ascii_case("latin1") || name.eq_ignore_ascii_case("iso88591")
}

fn convert_from(bytes: &[u8], encoding: &str) -> Result<TextBuilder> {
    if is_latin1(encoding) {
        return in_chunks(bytes, |chunk| chunk.iter().map(|byte| char::from(*byte)).collect());
    }
    if !is_utf8(encoding) {
        return Err(invalid(format!("invalid source encoding name \"{encoding}\"")));
    }
    let broken = |bytes: &[u8]| {
        let shown: Vec<_> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        Error::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
        )
    };
    let mut out = TextBuilder::with_capacity(bytes.len());
    let mut from = 0;
    while from < bytes.len() {
        let chunk = &bytes[from..bytes.len().min(from + CHUNK_BYTES)];
        // A character may go on behind the chunk.
        let (valid, is_broken) = match std::str::from_utf8(chunk) {
            Ok(text) => (text, false),
            Err(error) => {
                let valid = std::str::from_utf8(&chunk[..error.valid_up_to()]);
                let ends = from + chunk.len() == bytes.len();
                (valid.unwrap_or_default(), ends || error.error_len().is_some())
            }
        };
        if valid.contains('\0') {
            return Err(broken(&[0]));
        }
        out.push(valid)?;
        from += valid.len();
        if is_broken {
            // As many bytes as the first of them announces.
            let announced = match bytes[from] {
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF7 => 4,
                _ => 1,
            };
            return Err(broken(&bytes[from..bytes.len().min(from + announced)]));
        }
    }
    Ok(out)
}

fn convert_to(text: &str, encoding: &str) -> Result<Vec<u8>> {
    if is_utf8(encoding) {
        return Ok(text.as_bytes().to_vec());
    }
    if !is_latin1(encoding) {
        return Err(invalid(format!("invalid destination encoding name \"{encoding}\"")));
    }
    text.chars()
        .map(|c| {
            u8::try_from(c as u32).map_err(|_| {
                let mut buffer = [0; 4];
                let shown: Vec<_> =
                    c.encode_utf8(&mut buffer).bytes().map(|b| format!("0x{b:02x}")).collect();
                Error::new(
                    SqlState::UNTRANSLATABLE_CHARACTER,
                    format!(
                        "character with byte sequence {} in encoding \"UTF8\" has no equivalent \
                         in encoding \"LATIN1\"",
                        shown.join(" ")
                    ),
                )
            })
        })
        .collect()
}

pub(crate) const TABLE: &[Function] = functions! {
    2010 length(BYTEA) -> INT4 = (a: &[u8]) a.len() as i32;
    720 octet_length(BYTEA) -> INT4 = (a: &[u8]) a.len() as i32;
    1810 bit_length(BYTEA) -> INT4 = (a: &[u8]) a.len() as i32 * 8;
    6163 bit_count(BYTEA) -> INT8 = (a: &[u8])
        a.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>();
    2011 byteacat(BYTEA, BYTEA) -> BYTEA = (a: &[u8], b: &[u8]) join([a, b]);
    2085 substr(BYTEA, INT4, INT4) -> BYTEA = (a: &[u8], at: i32, n: i32)
        substring(a, at, Some(n)).map(<[u8]>::to_vec);
    2086 substr(BYTEA, INT4) -> BYTEA = (a: &[u8], at: i32)
        substring(a, at, None).map(<[u8]>::to_vec);
    2012 substring(BYTEA, INT4, INT4) -> BYTEA = (a: &[u8], at: i32, n: i32)
        substring(a, at, Some(n)).map(<[u8]>::to_vec);
    2013 substring(BYTEA, INT4) -> BYTEA = (a: &[u8], at: i32)
        substring(a, at, None).map(<[u8]>::to_vec);
    749 overlay(BYTEA, BYTEA, INT4, INT4) -> BYTEA = (a: &[u8], new: &[u8], at: i32, n: i32)
        overlay(a, new, at, n);
    752 overlay(BYTEA, BYTEA, INT4) -> BYTEA = (a: &[u8], new: &[u8], at: i32)
        overlay(a, new, at, new.len() as i32);
    2014 position(BYTEA, BYTEA) -> INT4 = (a: &[u8], part: &[u8]) position(a, part);
    2015 btrim(BYTEA, BYTEA) -> BYTEA = (a: &[u8], set: &[u8]) trim(a, set, true, true).to_vec();
    6195 ltrim(BYTEA, BYTEA) -> BYTEA = (a: &[u8], set: &[u8]) trim(a, set, true, false).to_vec();
    6196 rtrim(BYTEA, BYTEA) -> BYTEA = (a: &[u8], set: &[u8]) trim(a, set, false, true).to_vec();
    721 get_byte(BYTEA, INT4) -> INT4 = (a: &[u8], at: i32)
        i32::from(a[checked(a, at.into(), 1)?]);
    722 set_byte(BYTEA, INT4, INT4) -> BYTEA = (a: &[u8], at: i32, value: i32)
        set_byte(a, at, value);
    723 get_bit(BYTEA, INT8) -> INT4 = (a: &[u8], at: i64)
        i32::from(a[checked(a, at, 8)?] >> (at % 8) & 1);
    724 set_bit(BYTEA, INT8, INT4) -> BYTEA = (a: &[u8], at: i64, bit: i32) set_bit(a, at, bit);
    1946 encode(BYTEA, TEXT) -> TEXT = (a: &[u8], encoding: &str) encode(a, encoding);
    1947 decode(TEXT, TEXT) -> BYTEA = (a: &str, encoding: &str) decode(a, encoding);
    1714 convert_from(BYTEA, NAME) -> TEXT [stable] = (a: &[u8], name: &str) convert_from(a, name);
    1264 pg_char_to_encoding(NAME) -> INT4 [stable] = (name: &str)
        ENCODINGS.iter().position(|known| plain(known).eq(plain(name))).map_or(-1, |at| at as i32);
    1597 pg_encoding_to_char(INT4) -> NAME [stable] = (number: i32)
        usize::try_from(number).ok().and_then(|at| ENCODINGS.get(at)).copied().unwrap_or("");
    1713 length(BYTEA, NAME) -> INT4 [stable] = (a: &[u8], name: &str)
        search::count(convert_from(a, name)?.get())? as i32;
    1813 convert(BYTEA, NAME, NAME) -> BYTEA [stable] = (a: &[u8], from: &str, to: &str)
        convert_to(convert_from(a, from)?.get(), to);
    1717 convert_to(TEXT, NAME) -> BYTEA [stable] = (a: &str, name: &str) convert_to(a, name);
    2311 md5(TEXT) -> TEXT = (a: &str) md5(a.as_bytes());
    2321 md5(BYTEA) -> TEXT = (a: &[u8]) md5(a);
    3419 sha224(BYTEA) -> BYTEA = (a: &[u8]) digest::<Sha224>(a);
    3420 sha256(BYTEA) -> BYTEA = (a: &[u8]) digest::<Sha256>(a);
    3421 sha384(BYTEA) -> BYTEA = (a: &[u8]) digest::<Sha384>(a);
    3422 sha512(BYTEA) -> BYTEA = (a: &[u8]) digest::<Sha512>(a);
};
