//! Text: length, case, pieces, padding, search and replacement.
//!
//! Positions and lengths count characters, from 1. Case follows Unicode.

use std::collections::{HashMap, HashSet};

use interrupt::Pace;
use types::array::ELEMENTS_MAX;
use types::bounded::{self, TextBuilder};
use types::{Array, Datum, Error, Oid, Result, SqlState};

use crate::array;
use crate::function::{Function, functions, sets};
use crate::rows::Rows;
use crate::search::{self, Search, byte_of};

fn negative_length() -> Error {
    Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// The number of characters.
fn length(text: &str) -> Result<i32> {
    search::count(text).map(|count| count as i32)
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
    let text = &text[byte_of(text, first)?..];
    match end {
        Some(end) => Ok(&text[..byte_of(text, end.saturating_sub(first))?]),
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
    join([before, new, after])
}

/// Texts one behind the other.
fn join<const N: usize>(texts: [&str; N]) -> Result<String> {
    let bytes = texts.iter().map(|text| text.len()).sum();
    bounded::check(bytes)?;
    let mut out = TextBuilder::with_capacity(bytes);
    texts.iter().try_for_each(|text| out.push(text))?;
    Ok(out.finish())
}

/// The position of one text in another, from 1; 0 where it is not in it.
pub(crate) fn position(text: &str, part: &str) -> Result<i32> {
    match Search::new(part.as_bytes()).find(text.as_bytes(), 0)? {
        Some(byte) => Ok(length(&text[..byte])? + 1),
        None => Ok(0),
    }
}

/// The first characters; all but the last ones for a negative number.
fn left(text: &str, count: i32) -> Result<&str> {
    let count = if count < 0 { (length(text)? + count).max(0) } else { count };
    Ok(&text[..byte_of(text, count as usize)?])
}

/// The last characters; all but the first ones for a negative number.
fn right(text: &str, count: i32) -> Result<&str> {
    let skip = if count < 0 { count.saturating_neg() } else { (length(text)? - count).max(0) };
    Ok(&text[byte_of(text, skip as usize)?..])
}

/// A text cut or filled to a length: the text, and what it is filled with.
fn pad<'a>(text: &'a str, to: i32, fill: &str) -> Result<(&'a str, TextBuilder)> {
    let to = to.max(0) as usize;
    // There has to be room for that many of the longest characters.
    bounded::check_requested(to.saturating_mul(CHARACTER_BYTES_MAX))?;
    let have = search::count(text)?;
    let mut filling = TextBuilder::new();
    if have >= to || fill.is_empty() {
        return Ok((&text[..byte_of(text, to)?], filling));
    }
    let (lacks, width) = (to - have, search::count(fill)?);
    filling.push_repeated(fill, lacks / width)?;
    filling.push(&fill[..byte_of(fill, lacks % width)?])?;
    Ok((text, filling))
}

/// The most bytes that a character has.
const CHARACTER_BYTES_MAX: usize = 4;

fn lpad(text: &str, to: i32, fill: &str) -> Result<TextBuilder> {
    let (text, mut filling) = pad(text, to, fill)?;
    filling.push(text)?;
    Ok(filling)
}

fn rpad(text: &str, to: i32, fill: &str) -> Result<TextBuilder> {
    let (text, filling) = pad(text, to, fill)?;
    let mut out = TextBuilder::with_capacity(text.len() + filling.get().len());
    out.push(text)?;
    out.push(filling.get())?;
    Ok(out)
}

fn repeat(text: &str, count: i32) -> Result<TextBuilder> {
    let count = count.max(0) as usize;
    let bytes = text.len().saturating_mul(count);
    bounded::check_requested(bytes)?;
    let mut out = TextBuilder::with_capacity(bytes);
    out.push_repeated(text, count)?;
    Ok(out)
}

/// Characters to be found one after the other.
enum Set<'a> {
    Few(&'a str),
    Many(HashSet<char>),
}

impl<'a> Set<'a> {
    fn new(set: &'a str) -> Self {
        match set.len() {
            0..=MAP_BYTES_MIN => Set::Few(set),
            _ => Set::Many(set.chars().collect()),
        }
    }

    fn has(&self, c: char) -> bool {
        match self {
            Set::Few(set) => set.contains(c),
            Set::Many(set) => set.contains(&c),
        }
    }
}

/// From how many bytes on characters are found by their hash.
const MAP_BYTES_MIN: usize = 32;

/// How many bytes the characters of a set take that come first.
fn run(set: &str, chars: impl Iterator<Item = char>) -> Result<usize> {
    let (set, mut pace, mut bytes) = (Set::new(set), Pace::new(), 0);
    for c in chars {
        if !set.has(c) {
            break;
        }
        // A look-up takes as long as some bytes.
        pace.step(16)?;
        bytes += c.len_utf8();
    }
    Ok(bytes)
}

/// A text without the characters of a set that it begins with.
fn trim_start<'a>(text: &'a str, set: &str) -> Result<&'a str> {
    Ok(&text[run(set, text.chars())?..])
}

/// A text without the characters of a set that it ends with.
fn trim_end<'a>(text: &'a str, set: &str) -> Result<&'a str> {
    Ok(&text[..text.len() - run(set, text.chars().rev())?])
}

fn replace(text: &str, from: &str, to: &str) -> Result<TextBuilder> {
    let mut out = TextBuilder::with_capacity(text.len());
    if from.is_empty() {
        out.push(text)?;
        return Ok(out);
    }
    let mut is_first = true;
    Search::new(from.as_bytes()).split(text, |piece| {
        if !std::mem::take(&mut is_first) {
            out.push(to)?;
        }
        out.push(piece)
    })?;
    Ok(out)
}

/// Each character of `from` becomes the one in the same place of `to`, or disappears.
pub(crate) fn translate(text: &str, from: &str, to: &str) -> Result<TextBuilder> {
    let mut places: HashMap<char, Option<char>> = HashMap::new();
    let mut others = to.chars();
    for c in from.chars() {
        let other = others.next();
        // The first of equal characters counts.
        places.entry(c).or_insert(other);
    }
    let mut out = TextBuilder::with_capacity(text.len());
    for c in text.chars() {
        match places.get(&c) {
            Some(Some(other)) => out.push_char(*other)?,
            Some(None) => {}
            None => out.push_char(c)?,
        }
    }
    Ok(out)
}

/// The text in small letters, each letter on its own: the locale C.UTF-8 makes one character of one.
pub(crate) fn lower(text: &str) -> Result<TextBuilder> {
    in_case(text, str::to_ascii_lowercase, posix::lower_char)
}

/// The text in capital letters, each letter on its own.
pub(crate) fn upper(text: &str) -> Result<TextBuilder> {
    in_case(text, str::to_ascii_uppercase, posix::upper_char)
}

fn in_case(text: &str, ascii: fn(&str) -> String, each: fn(char) -> char) -> Result<TextBuilder> {
    let mut out = TextBuilder::with_capacity(text.len());
    for piece in search::pieces(text) {
        match piece.is_ascii() {
            true => out.push(&ascii(piece))?,
            false => piece.chars().try_for_each(|c| out.push_char(each(c)))?,
        }
    }
    Ok(out)
}

/// The characters from the last to the first.
fn reverse(text: &str) -> Result<TextBuilder> {
    let mut out = TextBuilder::with_capacity(text.len());
    text.chars().rev().try_for_each(|c| out.push_char(c))?;
    Ok(out)
}

/// Every word with a capital letter in front, the rest small.
fn capitalize(text: &str) -> Result<TextBuilder> {
    let mut out = TextBuilder::with_capacity(text.len());
    let mut within = false;
    for c in text.chars() {
        if within {
            out.push_char(posix::lower_char(c))?;
        } else {
            out.push_char(posix::upper_char(c))?;
        }
        within = c.is_alphanumeric();
    }
    Ok(out)
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
    if delimiter.is_empty() {
        return Ok(if at == 0 { text } else { "" });
    }
    if number < 0 {
        // Pieces counted from the end are cut from the end.
        let mut pieces = text.rsplit(delimiter);
        for _ in 0..at {
            interrupt::check()?;
            if pieces.next().is_none() {
                return Ok("");
            }
        }
        return Ok(pieces.next().unwrap_or(""));
    }
    let (search, mut from) = (Search::new(delimiter.as_bytes()), 0);
    for _ in 0..at {
        match search.find(text.as_bytes(), from)? {
            Some(found) => from = found + delimiter.len(),
            None => return Ok(""),
        }
    }
    let end = search.find(text.as_bytes(), from)?;
    Ok(&text[from..end.unwrap_or(text.len())])
}

/// The pieces between delimiters: each character for none, and none for an empty text. Pieces that
/// read as `null` are NULL.
fn split<'a>(
    text: &'a str,
    delimiter: Option<&str>,
    null: Option<&str>,
    mut f: impl FnMut(Option<&'a str>) -> Result<()>,
) -> Result<()> {
    let mut give = |piece| f(Some(piece).filter(|piece| Some(*piece) != null));
    match delimiter {
        _ if text.is_empty() => Ok(()),
        None => {
            let mut pace = Pace::new();
            text.char_indices().try_for_each(|(at, c)| {
                pace.step(16)?;
                give(&text[at..at + c.len_utf8()])
            })
        }
        Some("") => give(text),
        Some(delimiter) => {
            let mut pace = Pace::new();
            Search::new(delimiter.as_bytes()).split(text, |piece| {
                pace.step(16)?;
                give(piece)
            })
        }
    }
}

fn to_array(
    text: Option<&str>,
    delimiter: Option<&str>,
    null: Option<&str>,
) -> Result<Option<Array>> {
    let Some(text) = text else { return Ok(None) };
    let mut pieces = Vec::new();
    split(text, delimiter, null, |piece| {
        if pieces.len() == ELEMENTS_MAX {
            return Err(types::array::too_many());
        }
        pieces.push(piece);
        Ok(())
    })?;
    array::texts(pieces).map(Some)
}

/// The pieces of a text, cut as they are asked for.
struct Pieces {
    text: String,
    delimiter: Option<String>,
    null: Option<String>,
    /// Where the next piece begins; none after the last.
    from: Option<usize>,
}

impl Iterator for Pieces {
    type Item = Result<Datum>;

    fn next(&mut self) -> Option<Result<Datum>> {
        let from = self.from?;
        let rest = &self.text[from..];
        let (end, next) = match self.delimiter.as_deref() {
            _ if self.text.is_empty() => {
                self.from = None;
                return None;
            }
            None => {
                let end = from + rest.chars().next().map_or(0, char::len_utf8);
                (end, Some(end).filter(|end| *end < self.text.len()))
            }
            Some("") => (self.text.len(), None),
            Some(delimiter) => {
                match Search::new(delimiter.as_bytes()).find(self.text.as_bytes(), from) {
                    Ok(Some(at)) => (at, Some(at + delimiter.len())),
                    Ok(None) => (self.text.len(), None),
                    Err(error) => {
                        self.from = None;
                        return Some(Err(error));
                    }
                }
            }
        };
        self.from = next;
        let piece = &self.text[from..end];
        let is_null = Some(piece) == self.null.as_deref();
        Some(Ok(if is_null { Datum::Null } else { Datum::text(piece) }))
    }
}

fn to_rows(text: Option<&str>, delimiter: Option<&str>, null: Option<&str>) -> Rows {
    Box::new(Pieces {
        text: text.unwrap_or_default().to_owned(),
        delimiter: delimiter.map(str::to_owned),
        null: null.map(str::to_owned),
        from: Some(0),
    })
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
    let (kept, cut) = text.split_at(byte_of(text, limit)?);
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
    870 lower(TEXT) -> TEXT = (a: &str) lower(a);
    871 upper(TEXT) -> TEXT = (a: &str) upper(a);
    872 initcap(TEXT) -> TEXT = (a: &str) capitalize(a);
    3062 reverse(TEXT) -> TEXT = (a: &str) reverse(a);

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
        overlay(a, new, at, length(new)?);

    884 btrim(TEXT, TEXT) -> TEXT = (a: &str, set: &str)
        trim_end(trim_start(a, set)?, set);
    885 btrim(TEXT) -> TEXT = (a: &str) trim_end(trim_start(a, " ")?, " ");
    875 ltrim(TEXT, TEXT) -> TEXT = (a: &str, set: &str) trim_start(a, set);
    881 ltrim(TEXT) -> TEXT = (a: &str) trim_start(a, " ");
    876 rtrim(TEXT, TEXT) -> TEXT = (a: &str, set: &str) trim_end(a, set);
    882 rtrim(TEXT) -> TEXT = (a: &str) trim_end(a, " ");
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
    1258 textcat(TEXT, TEXT) -> TEXT = (a: &str, b: &str) join([a, b]);

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
