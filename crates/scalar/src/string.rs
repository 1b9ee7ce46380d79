//! Text: length, case, pieces, padding, search and replacement.
//!
//! Positions and lengths count characters, from 1. Case follows Unicode.

use types::{Array, Error, Oid, Result, SqlState};

use crate::array;
use crate::function::{Function, functions, sets};
use crate::rows::Rows;

/// The most bytes that a text can have.
const BYTES_MAX: usize = 0x3FFF_FFFF;

fn too_large() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

fn negative_length() -> Error {
    Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// The number of characters.
fn length(text: &str) -> i32 {
    // A byte that continues a character does not begin one.
    bytecount(text.as_bytes())
}

fn bytecount(bytes: &[u8]) -> i32 {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count() as i32
}

/// The byte where the character of that number, counted from 0, begins; the end where there are
/// not so many.
fn byte_of(text: &str, at: usize) -> usize {
    if text.is_ascii() {
        return at.min(text.len());
    }
    text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
}

/// `length` characters from a position on, which may lie before the text.
pub(crate) fn substring(text: &str, start: i32, length: Option<i32>) -> Result<&str> {
    let start = i64::from(start) - 1;
    let end = match length {
        Some(length) if length < 0 => return Err(negative_length()),
        Some(length) => Some((start + i64::from(length)).max(0) as usize),
        None => None,
    };
    let first = start.max(0) as usize;
    let text = &text[byte_of(text, first)..];
    match end {
        Some(end) => Ok(&text[..byte_of(text, end.saturating_sub(first))]),
        None => Ok(text),
    }
}

/// A text with some of its characters replaced.
fn overlay(text: &str, new: &str, start: i32, length: i32) -> Result<String> {
    if start <= 0 {
        return Err(negative_length());
    }
    let rest =
        start.checked_add(length).ok_or_else(<i32 as crate::integer::Integer>::out_of_range)?;
    let (before, after) = (substring(text, 1, Some(start - 1))?, substring(text, rest, None)?);
    Ok(format!("{before}{new}{after}"))
}

/// The position of one text in another, from 1; 0 where it is not in it.
pub(crate) fn position(text: &str, part: &str) -> i32 {
    text.find(part).map_or(0, |byte| length(&text[..byte]) + 1)
}

/// The first characters; all but the last ones for a negative number.
fn left(text: &str, count: i32) -> &str {
    let count = if count < 0 { (length(text) + count).max(0) } else { count };
    &text[..byte_of(text, count as usize)]
}

/// The last characters; all but the first ones for a negative number.
fn right(text: &str, count: i32) -> &str {
    let skip = if count < 0 { count.saturating_neg() } else { (length(text) - count).max(0) };
    &text[byte_of(text, skip as usize)..]
}

/// A text cut or filled to a length: the text, and what it is filled with.
fn pad<'a>(text: &'a str, to: i32, fill: &str) -> Result<(&'a str, String)> {
    let to = to.max(0) as usize;
    if to.saturating_mul(4) > BYTES_MAX && to > BYTES_MAX {
        return Err(too_large());
    }
    let have = length(text) as usize;
    if have >= to || fill.is_empty() {
        return Ok((&text[..byte_of(text, to)], String::new()));
    }
    Ok((text, fill.chars().cycle().take(to - have).collect()))
}

fn lpad(text: &str, to: i32, fill: &str) -> Result<String> {
    pad(text, to, fill).map(|(text, fill)| fill + text)
}

fn rpad(text: &str, to: i32, fill: &str) -> Result<String> {
    pad(text, to, fill).map(|(text, fill)| format!("{text}{fill}"))
}

fn repeat(text: &str, count: i32) -> Result<String> {
    let count = count.max(0) as usize;
    if text.len().saturating_mul(count) > BYTES_MAX {
        return Err(too_large());
    }
    Ok(text.repeat(count))
}

/// True for the characters of a set, to trim them.
fn of(set: &str) -> impl Fn(char) -> bool + '_ {
    move |c| set.contains(c)
}

fn replace(text: &str, from: &str, to: &str) -> String {
    if from.is_empty() { text.to_owned() } else { text.replace(from, to) }
}

/// Each character of `from` becomes the one in the same place of `to`, or disappears.
fn translate(text: &str, from: &str, to: &str) -> String {
    let to: Vec<char> = to.chars().collect();
    text.chars()
        .filter_map(|c| match from.chars().position(|known| known == c) {
            Some(at) => to.get(at).copied(),
            None => Some(c),
        })
        .collect()
}

/// Every word with a capital letter in front, the rest small.
fn capitalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut within = false;
    for c in text.chars() {
        if within {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        within = c.is_alphanumeric();
    }
    out
}

/// The piece of that number between delimiters, counted from the end where it is negative.
fn split_part<'a>(text: &'a str, delimiter: &str, number: i32) -> Result<&'a str> {
    if number == 0 {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "field position must not be zero",
        ));
    }
    let at = number.unsigned_abs() as usize - 1;
    let piece = if delimiter.is_empty() {
        (at == 0).then_some(text)
    } else if number > 0 {
        text.split(delimiter).nth(at)
    } else {
        text.rsplit(delimiter).nth(at)
    };
    Ok(piece.unwrap_or(""))
}

/// The pieces between delimiters: each character for none, and none for an empty text. Pieces that
/// read as `null` are NULL.
fn split<'a>(text: &'a str, delimiter: Option<&str>, null: Option<&str>) -> Vec<Option<&'a str>> {
    let pieces: Vec<&str> = match delimiter {
        _ if text.is_empty() => Vec::new(),
        None => text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect(),
        Some("") => vec![text],
        Some(delimiter) => text.split(delimiter).collect(),
    };
    pieces.into_iter().map(|piece| Some(piece).filter(|piece| Some(*piece) != null)).collect()
}

fn to_array(
    text: Option<&str>,
    delimiter: Option<&str>,
    null: Option<&str>,
) -> Result<Option<Array>> {
    text.map(|text| array::texts(split(text, delimiter, null))).transpose()
}

fn to_rows(text: Option<&str>, delimiter: Option<&str>, null: Option<&str>) -> Rows {
    let pieces: Vec<_> = text
        .map(|text| split(text, delimiter, null))
        .unwrap_or_default()
        .into_iter()
        .map(|piece| Ok(piece.map_or(types::Datum::Null, types::Datum::text)))
        .collect();
    Box::new(pieces.into_iter())
}

/// The character with that code point.
fn character(code: i32) -> Result<String> {
    let refuse = |message: String| Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    match u32::try_from(code) {
        Err(_) => {
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "character number must be positive"))
        }
        Ok(0) => refuse("null character not permitted".to_owned()),
        Ok(code) => match char::from_u32(code) {
            Some(c) => Ok(c.to_string()),
            None if code > 0x10_FFFF => {
                refuse(format!("requested character too large for encoding: {code}"))
            }
            None => refuse(format!("requested character not valid for encoding: {code}")),
        },
    }
}

/// Cuts a text to a `varchar(n)` or `char(n)`. Without being asked only blanks may be cut off.
fn fit(text: &str, modifier: i32, explicit: bool, name: &str) -> Result<String> {
    let Ok(limit) = usize::try_from(modifier - 4) else { return Ok(text.to_owned()) };
    let (kept, cut) = text.split_at(byte_of(text, limit));
    if !explicit && cut.bytes().any(|byte| byte != b' ') {
        return Err(Error::new(
            SqlState::STRING_DATA_RIGHT_TRUNCATION,
            format!("value too long for type {name}({limit})"),
        ));
    }
    Ok(kept.to_owned())
}

/// A text as a `name`: at most 63 bytes, whole characters.
fn to_name(text: &str) -> &str {
    let end = (0..=text.len().min(63)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// A text without its escapes: `\0041`, `\+000041`, `\u0041`, `\U00000041`, all of them `A`, and
/// `\\`.
fn unescape(text: &str) -> Result<String> {
    let invalid = |message: &str| Error::new(SqlState::SYNTAX_ERROR, message);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut high: Option<u32> = None;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        if high.is_some() && !before.is_empty() {
            return Err(invalid("invalid Unicode surrogate pair"));
        }
        out.push_str(before);
        if let Some(after) = escape.strip_prefix("\\\\") {
            out.push('\\');
            rest = after;
            continue;
        }
        let (skip, digits) = match escape.as_bytes().get(1) {
            Some(b'u') => (2, 4),
            Some(b'U') => (2, 8),
            Some(b'+') => (2, 6),
            _ => (1, 4),
        };
        let code = escape
            .get(skip..skip + digits)
            .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = code.and_then(|hex| u32::from_str_radix(hex, 16).ok()) else {
            return Err(invalid("invalid Unicode escape").with_hint({
                let x = |digits| "X".repeat(digits);
                format!(
                    "Unicode escapes must be \\{}, \\+{}, \\u{}, or \\U{}.",
                    x(4),
                    x(6),
                    x(4),
                    x(8)
                )
            }));
        };
        rest = &escape[skip + digits..];
        let pair = match (high.take(), code) {
            (None, 0xD800..=0xDBFF) => {
                high = Some(code);
                continue;
            }
            (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00),
            (None, code) => code,
            (Some(_), _) => return Err(invalid("invalid Unicode surrogate pair")),
        };
        match char::from_u32(pair).filter(|c| *c != '\0') {
            Some(c) => out.push(c),
            None if (0xDC00..=0xDFFF).contains(&pair) => {
                return Err(invalid("invalid Unicode surrogate pair"));
            }
            None => return Err(invalid("invalid Unicode escape value")),
        }
    }
    if high.is_some() {
        return Err(invalid("invalid Unicode surrogate pair"));
    }
    out.push_str(rest);
    Ok(out)
}

pub(crate) const TABLE: &[Function] = functions! {
    1317 length(TEXT) -> INT4 = (a: &str) length(a);
    1318 length(BPCHAR) -> INT4 = (a: &str) length(a);
    1257 textlen(TEXT) -> INT4 = (a: &str) length(a);
    1372 char_length(BPCHAR) -> INT4 = (a: &str) length(a);
    1381 char_length(TEXT) -> INT4 = (a: &str) length(a);
    1367 character_length(BPCHAR) -> INT4 = (a: &str) length(a);
    1369 character_length(TEXT) -> INT4 = (a: &str) length(a);
    1374 octet_length(TEXT) -> INT4 = (a: &str) a.len() as i32;
    1375 octet_length(BPCHAR) -> INT4 = (a: &str) a.len() as i32;
    1811 bit_length(TEXT) -> INT4 = (a: &str) a.len() as i32 * 8;
    870 lower(TEXT) -> TEXT = (a: &str) a.to_lowercase();
    871 upper(TEXT) -> TEXT = (a: &str) a.to_uppercase();
    872 initcap(TEXT) -> TEXT = (a: &str) capitalize(a);
    3062 reverse(TEXT) -> TEXT = (a: &str) a.chars().rev().collect::<String>();

    877 substr(TEXT, INT4, INT4) -> TEXT = (a: &str, at: i32, n: i32) substring(a, at, Some(n));
    883 substr(TEXT, INT4) -> TEXT = (a: &str, at: i32) substring(a, at, None);
    936 substring(TEXT, INT4, INT4) -> TEXT = (a: &str, at: i32, n: i32) substring(a, at, Some(n));
    937 substring(TEXT, INT4) -> TEXT = (a: &str, at: i32) substring(a, at, None);
    3060 left(TEXT, INT4) -> TEXT = (a: &str, n: i32) left(a, n);
    3061 right(TEXT, INT4) -> TEXT = (a: &str, n: i32) right(a, n);
    849 position(TEXT, TEXT) -> INT4 = (a: &str, part: &str) position(a, part);
    868 strpos(TEXT, TEXT) -> INT4 = (a: &str, part: &str) position(a, part);
    3696 starts_with(TEXT, TEXT) -> BOOL = (a: &str, part: &str) a.starts_with(part);
    1404 overlay(TEXT, TEXT, INT4, INT4) -> TEXT = (a: &str, new: &str, at: i32, n: i32)
        overlay(a, new, at, n);
    1405 overlay(TEXT, TEXT, INT4) -> TEXT = (a: &str, new: &str, at: i32)
        overlay(a, new, at, length(new));

    884 btrim(TEXT, TEXT) -> TEXT = (a: &str, set: &str) a.trim_matches(of(set));
    885 btrim(TEXT) -> TEXT = (a: &str) a.trim_matches(' ');
    875 ltrim(TEXT, TEXT) -> TEXT = (a: &str, set: &str) a.trim_start_matches(of(set));
    881 ltrim(TEXT) -> TEXT = (a: &str) a.trim_start_matches(' ');
    876 rtrim(TEXT, TEXT) -> TEXT = (a: &str, set: &str) a.trim_end_matches(of(set));
    882 rtrim(TEXT) -> TEXT = (a: &str) a.trim_end_matches(' ');
    873 lpad(TEXT, INT4, TEXT) -> TEXT = (a: &str, to: i32, fill: &str) lpad(a, to, fill);
    879 lpad(TEXT, INT4) -> TEXT = (a: &str, to: i32) lpad(a, to, " ");
    874 rpad(TEXT, INT4, TEXT) -> TEXT = (a: &str, to: i32, fill: &str) rpad(a, to, fill);
    880 rpad(TEXT, INT4) -> TEXT = (a: &str, to: i32) rpad(a, to, " ");
    1622 repeat(TEXT, INT4) -> TEXT = (a: &str, n: i32) repeat(a, n);

    2087 replace(TEXT, TEXT, TEXT) -> TEXT = (a: &str, from: &str, to: &str) replace(a, from, to);
    878 translate(TEXT, TEXT, TEXT) -> TEXT = (a: &str, from: &str, to: &str)
        translate(a, from, to);
    2088 split_part(TEXT, TEXT, INT4) -> TEXT = (a: &str, delimiter: &str, n: i32)
        split_part(a, delimiter, n);
    376 string_to_array(TEXT, TEXT, TEXT) -> TEXT_ARRAY [nullable] =
        (a: Option<&str>, delimiter: Option<&str>, null: Option<&str>) to_array(a, delimiter, null);
    394 string_to_array(TEXT, TEXT) -> TEXT_ARRAY [nullable] =
        (a: Option<&str>, delimiter: Option<&str>) to_array(a, delimiter, None);
    1620 ascii(TEXT) -> INT4 = (a: &str) a.chars().next().map_or(0, |c| c as i32);
    1621 chr(INT4) -> TEXT = (code: i32) character(code);
    6198 unistr(TEXT) -> TEXT = (a: &str) unescape(a);
    1258 textcat(TEXT, TEXT) -> TEXT = (a: &str, b: &str) [a, b].concat();

    401 text(BPCHAR) -> TEXT = (a: &str) a;
    406 text(NAME) -> TEXT = (a: &str) a;
    946 text(CHAR) -> TEXT = (a: &str) a;
    2971 text(BOOL) -> TEXT = (a: bool) if a { "true" } else { "false" };
    944 char(TEXT) -> CHAR = (a: &str) crate::integer::char_text(a.bytes().next().unwrap_or(0));
    407 name(TEXT) -> NAME = (a: &str) to_name(a);
    409 name(BPCHAR) -> NAME = (a: &str) to_name(a);
    1400 name(VARCHAR) -> NAME = (a: &str) to_name(a);
    1401 varchar(NAME) -> VARCHAR = (a: &str) a;
    408 bpchar(NAME) -> BPCHAR = (a: &str) a.trim_end_matches(' ');
    860 bpchar(CHAR) -> BPCHAR = (a: &str) a.trim_end_matches(' ');
    669 varchar(VARCHAR, INT4, BOOL) -> VARCHAR = (a: &str, modifier: i32, explicit: bool)
        fit(a, modifier, explicit, "character varying");
    668 bpchar(BPCHAR, INT4, BOOL) -> BPCHAR = (a: &str, modifier: i32, explicit: bool)
        fit(a, modifier, explicit, "character").map(|a| a.trim_end_matches(' ').to_owned());
    266 nameconcatoid(NAME, OID) -> NAME = (a: &str, oid: Oid) {
        let number = format!("_{oid}");
        let end = (0..=a.len().min(63 - number.len())).rev().find(|at| a.is_char_boundary(*at));
        format!("{}{number}", &a[..end.unwrap_or(0)])
    };
};

pub(crate) const SETS: &[Function] = sets! {
    6160 string_to_table(TEXT, TEXT) -> TEXT [nullable] =
        (a: Option<&str>, delimiter: Option<&str>) Ok(to_rows(a, delimiter, None));
    6161 string_to_table(TEXT, TEXT, TEXT) -> TEXT [nullable] =
        (a: Option<&str>, delimiter: Option<&str>, null: Option<&str>)
        Ok(to_rows(a, delimiter, null));
};
