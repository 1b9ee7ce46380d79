//! The text forms of the short types: booleans, bytes, UUIDs, single bytes, tuple and log
//! positions.

use std::fmt::Write;

use interrupt::Pace;

use super::number::{invalid_syntax, is_space};
use crate::{ByteaOutput, Error, Result, SqlState};

/// Reads `true`, `yes`, `on`, `1` and their opposites, or the beginning of one of those words.
///
/// # Errors
/// 22P02 for anything else.
pub(crate) fn parse_bool(text: &str) -> Result<bool> {
    let word = text.trim_matches(is_space).to_ascii_lowercase();
    let is = |whole: &str, least: usize| word.len() >= least && whole.starts_with(&word);
    if is("true", 1) || is("yes", 1) || is("on", 2) || word == "1" {
        Ok(true)
    } else if is("false", 1) || is("no", 1) || is("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(invalid_syntax("boolean", text))
    }
}

/// Reads bytes: `\x` and hexadecimal digits, or characters with `\\` and `\ooo` between.
///
/// # Errors
/// 22023 for hexadecimal digits that are none, 22P02 for a backslash that starts nothing.
pub(crate) fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => parse_hex(digits),
        None => parse_escaped(text.as_bytes()),
    }
}

fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let bad = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let digit = |c: char| {
        let digit = c.to_digit(16).map(|digit| digit as u8);
        digit.ok_or_else(|| bad(format!("invalid hexadecimal digit: \"{c}\"")))
    };
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let (mut chars, mut pace) = (text.chars(), Pace::new());
    while let Some(c) = chars.next() {
        pace.step(2)?;
        // Space may stand between bytes, not inside of one.
        if matches!(c, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(c)?;
        let low = chars
            .next()
            .ok_or_else(|| bad("invalid hexadecimal data: odd number of digits".to_owned()))?;
        bytes.push(high << 4 | digit(low)?);
    }
    Ok(bytes)
}

fn parse_escaped(text: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut rest, mut pace) = (text, Pace::new());
    loop {
        pace.step(1)?;
        rest = match rest {
            [] => return Ok(bytes),
            [b'\\', b'\\', after @ ..] => {
                bytes.push(b'\\');
                after
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            [b'\\', ..] => {
                return Err(Error::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    "invalid input syntax for type bytea",
                ));
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
        };
    }
}

/// How many bytes are written between two looks at whether the statement is to stop.
const PART_BYTES: usize = 1 << 20;

/// Writes bytes in the form that the session asks for.
pub(crate) fn write_bytea(bytes: &[u8], form: ByteaOutput, out: &mut String) -> Result<()> {
    let parts = bytes.chunks(PART_BYTES);
    match form {
        ByteaOutput::Hex => {
            out.reserve(2 + 2 * bytes.len());
            out.push_str("\\x");
            for part in parts {
                interrupt::check()?;
                write_hex(part, out);
            }
        }
        ByteaOutput::Escape => {
            for part in parts {
                interrupt::check()?;
                for byte in part {
                    match byte {
                        b'\\' => out.push_str("\\\\"),
                        b' '..=b'~' => out.push(char::from(*byte)),
                        _ => write!(out, "\\{byte:03o}").expect("strings take everything"),
                    }
                }
            }
        }
    }
    Ok(())
}

fn write_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Reads a UUID: 32 hexadecimal digits, with a hyphen after any four of them, in braces or not.
///
/// # Errors
/// 22P02 for anything else.
pub(crate) fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let invalid = || invalid_syntax("uuid", text);
    let inner = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').ok_or_else(invalid)?,
        None => text,
    };
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut uuid = [0; 16];
    let mut rest = inner.as_bytes();
    for (at, byte) in uuid.iter_mut().enumerate() {
        let [high, low, after @ ..] = rest else {
            return Err(invalid());
        };
        *byte = digit(*high).ok_or_else(invalid)? << 4 | digit(*low).ok_or_else(invalid)?;
        rest = match after {
            [b'-', after @ ..] if at % 2 == 1 && at < 15 => after,
            after => after,
        };
    }
    if rest.is_empty() { Ok(uuid) } else { Err(invalid()) }
}

/// Writes a UUID in groups of 8, 4, 4, 4 and 12 digits.
pub(crate) fn write_uuid(uuid: &[u8; 16], out: &mut String) {
    let groups = [&uuid[..4], &uuid[4..6], &uuid[6..8], &uuid[8..10], &uuid[10..]];
    for (at, group) in groups.into_iter().enumerate() {
        if at > 0 {
            out.push('-');
        }
        write_hex(group, out);
    }
}

/// Reads a `"char"`: the first byte of the text, or `\ooo`. It is held as the character with that
/// number, or as the empty text for byte 0.
pub(crate) fn parse_char(text: &str) -> String {
    let byte = match text.as_bytes() {
        // The bits of an octal number beyond a byte are lost.
        [b'\\', a @ b'0'..=b'7', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
            (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
        }
        bytes => bytes.first().copied().unwrap_or(0),
    };
    char_of_byte(byte)
}

/// How the byte of a `"char"` is held.
pub(crate) fn char_of_byte(byte: u8) -> String {
    if byte == 0 { String::new() } else { char::from(byte).to_string() }
}

/// The byte of a `"char"` as it is held.
pub(crate) fn byte_of_char(held: &str) -> u8 {
    held.chars().next().map_or(0, |c| u8::try_from(c).unwrap_or(b'?'))
}

/// Writes a `"char"`: `\ooo` for what is not ASCII.
pub(crate) fn write_char(held: &str, out: &mut String) {
    match byte_of_char(held) {
        0 => {}
        byte @ 1..0x80 => out.push(char::from(byte)),
        byte => write!(out, "\\{byte:03o}").expect("strings take everything"),
    }
}

/// Bits of the offset in a `tid` as it is held; above them is the block.
pub(crate) const TID_OFFSET_BITS: u32 = 16;

/// Reads `(block,offset)`, held as one number.
///
/// # Errors
/// 22P02 for anything else.
pub(crate) fn parse_tid(text: &str) -> Result<i64> {
    let parts = || {
        let inner = text.trim_matches(is_space).strip_prefix('(')?.strip_suffix(')')?;
        let (block, offset) = inner.split_once(',')?;
        let (block, offset) =
            (block.trim_start_matches(is_space), offset.trim_start_matches(is_space));
        Some((block.parse::<u32>().ok()?, offset.parse::<u16>().ok()?))
    };
    let (block, offset) = parts().ok_or_else(|| invalid_syntax("tid", text))?;
    Ok(i64::from(block) << TID_OFFSET_BITS | i64::from(offset))
}

/// Writes `(block,offset)`.
pub(crate) fn write_tid(held: i64, out: &mut String) {
    let (block, offset) = ((held >> TID_OFFSET_BITS) as u32, held as u16);
    write!(out, "({block},{offset})").expect("strings take everything");
}

/// Reads `16/B374D848`: two hexadecimal numbers of up to 32 bits.
///
/// # Errors
/// 22P02 for anything else.
pub(crate) fn parse_lsn(text: &str) -> Result<i64> {
    let half = |digits: &str| {
        let is_hex = digits.bytes().all(|c| c.is_ascii_hexdigit());
        (is_hex && (1..=8).contains(&digits.len()))
            .then(|| u64::from_str_radix(digits, 16).ok())
            .flatten()
    };
    let (high, low) = text.split_once('/').ok_or_else(|| invalid_syntax("pg_lsn", text))?;
    match (half(high), half(low)) {
        (Some(high), Some(low)) => Ok((high << 32 | low) as i64),
        _ => Err(invalid_syntax("pg_lsn", text)),
    }
}

/// Writes `16/B374D848`.
pub(crate) fn write_lsn(held: i64, out: &mut String) {
    write!(out, "{:X}/{:X}", held as u64 >> 32, held as u32).expect("strings take everything");
}
