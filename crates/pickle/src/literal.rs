//! Numbers and strings as they stand in a pickle: two's complement, and the text of protocol 0.
//!
//! Protocol 0 writes what Python's `repr` prints: `I42`, `L42L`, `F1.5`, `S'a\n'`, `Va\u00e9`. The
//! functions here read such a line without its opcode. They return `None` for text that Python
//! would refuse as well.

use std::borrow::Cow;

/// An integer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Number<'a> {
    /// One of 64 bits.
    Int(i64),
    /// A larger one.
    Big(Big<'a>),
}

/// An integer that 64 bits do not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Big<'a> {
    /// Two's complement, least significant byte first, no redundant byte; more than 8 bytes.
    Bytes(&'a [u8]),
    /// Decimal digits without leading zeros, perhaps a minus sign before them.
    Digits(Cow<'a, str>),
}

/// Integers up to this length are written in decimal digits, longer ones in hexadecimal: the time of
/// the conversion to decimal grows with the square of the length.
const DECIMAL_BYTES_MAX: usize = 512;

/// Reads two's complement, least significant byte first. No bytes are 0.
pub(crate) fn from_twos_complement(mut bytes: &[u8]) -> Number<'_> {
    while let [head @ .., before, last] = bytes {
        let fill = if before & 0x80 == 0 { 0 } else { 0xff };
        if *last != fill {
            break;
        }
        bytes = &bytes[..head.len() + 1];
    }
    if bytes.len() > 8 {
        return Number::Big(Big::Bytes(bytes));
    }
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    Number::Int(i64::from_le_bytes(wide))
}

/// Reads decimal digits with an optional sign.
pub(crate) fn decimal(line: &[u8]) -> Option<Number<'_>> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    if let Ok(value) = text.parse() {
        return Some(Number::Int(value));
    }
    let significant = digits.trim_start_matches('0');
    Some(Number::Big(Big::Digits(if negative {
        Cow::Owned(format!("-{significant}"))
    } else {
        Cow::Borrowed(significant)
    })))
}

impl Big<'_> {
    /// The number of bytes or digits.
    pub fn len(&self) -> usize {
        match self {
            Big::Bytes(bytes) => bytes.len(),
            Big::Digits(digits) => digits.len(),
        }
    }

    /// The integer in decimal digits, or as `0x` and hexadecimal digits if it has more than 4,096 bits.
    pub fn to_text(&self) -> Cow<'_, str> {
        let bytes = match self {
            Big::Digits(digits) => return Cow::Borrowed(digits),
            Big::Bytes(bytes) => *bytes,
        };
        let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
        let mut size: Vec<u8> = bytes.to_vec();
        if negative {
            negate(&mut size);
        }
        let mut text = String::from(if negative { "-" } else { "" });
        if bytes.len() > DECIMAL_BYTES_MAX {
            text.push_str("0x");
            let digits = size.iter().rev().flat_map(|byte| [byte >> 4, byte & 15]);
            let digits = digits.skip_while(|&digit| digit == 0);
            text.extend(digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
        } else {
            push_decimal(&size, &mut text);
        }
        Cow::Owned(text)
    }

    /// The integer, if it is not negative and 128 bits hold it.
    pub fn to_u128(&self) -> Option<u128> {
        match self {
            Big::Digits(digits) => digits.parse().ok(),
            Big::Bytes(bytes) => {
                let (size, sign) = bytes.split_at(bytes.len().min(16));
                let negative = bytes.last()? & 0x80 != 0;
                if negative || sign.iter().any(|&byte| byte != 0) {
                    return None;
                }
                let mut wide = [0; 16];
                wide[..size.len()].copy_from_slice(size);
                Some(u128::from_le_bytes(wide))
            }
        }
    }
}

/// Turns two's complement into that of the opposite number.
fn negate(bytes: &mut [u8]) {
    let mut carry = true;
    for byte in bytes {
        let (sum, over) = (!*byte).overflowing_add(u8::from(carry));
        (*byte, carry) = (sum, over);
    }
}

/// Appends the decimal digits of a number without a sign, least significant byte first.
fn push_decimal(bytes: &[u8], out: &mut String) {
    const CHUNK: u128 = 10_000_000_000_000_000_000;
    const CHUNK_DIGITS: usize = 19;
    let mut limbs: Vec<u64> = bytes
        .chunks(8)
        .map(|chunk| {
            let mut wide = [0; 8];
            wide[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(wide)
        })
        .collect();
    let mut chunks = Vec::new();
    loop {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        if limbs.is_empty() {
            break;
        }
        let mut rest: u128 = 0;
        for limb in limbs.iter_mut().rev() {
            let value = rest << 64 | u128::from(*limb);
            *limb = (value / CHUNK) as u64;
            rest = value % CHUNK;
        }
        chunks.push(rest);
    }
    let Some(first) = chunks.pop() else {
        out.push('0');
        return;
    };
    out.push_str(&first.to_string());
    for chunk in chunks.iter().rev() {
        out.push_str(&format!("{chunk:0CHUNK_DIGITS$}"));
    }
}

/// Reads a memo index.
pub(crate) fn index(line: &[u8]) -> Option<usize> {
    if line.is_empty() || line.len() > 9 || !line.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(line.iter().fold(0, |value, digit| value * 10 + usize::from(digit - b'0')))
}

/// Reads a quoted string of Python 2 with its escapes.
pub(crate) fn quoted(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    let line = line.trim_ascii();
    let (&quote, rest) = line.split_first()?;
    let (&end, body) = rest.split_last()?;
    if quote != end || !matches!(quote, b'\'' | b'"') {
        return None;
    }
    if !body.contains(&b'\\') {
        return Some(Cow::Borrowed(body));
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let (&escape, behind) = rest.split_first()?;
        rest = behind;
        match escape {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'v' => out.push(11),
            b'f' => out.push(12),
            b'\\' | b'\'' | b'"' => out.push(escape),
            b'x' => {
                out.push(u8::try_from(hex(rest.get(..2)?)?).ok()?);
                rest = &rest[2..];
            }
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                for _ in 0..2 {
                    let Some((digit @ b'0'..=b'7', behind)) = rest.split_first() else { break };
                    value = value * 8 + u32::from(digit - b'0');
                    rest = behind;
                }
                out.push(value as u8);
            }
            other => out.extend([b'\\', other]),
        }
    }
    Some(Cow::Owned(out))
}

/// Reads the `raw-unicode-escape` encoding: Latin-1 with `\u` before four and `\U` before eight hexadecimal digits. The result is
/// UTF-8, in which lone surrogates are encoded like other characters.
pub(crate) fn raw_unicode(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    if line.is_ascii() && !line.contains(&b'\\') {
        return Some(Cow::Borrowed(line));
    }
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = match (byte, behind.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            // A backslash before another character stands for itself, and that character does too:
            // the second of two backslashes begins no escape.
            (b'\\', Some(&other)) => {
                push_code_point(u32::from(byte), &mut out);
                push_code_point(u32::from(other), &mut out);
                rest = &behind[1..];
                continue;
            }
            _ => {
                push_code_point(u32::from(byte), &mut out);
                rest = behind;
                continue;
            }
        };
        let code = hex(behind.get(1..=digits)?)?;
        if code > 0x10_ffff {
            return None;
        }
        push_code_point(code, &mut out);
        rest = &behind[1 + digits..];
    }
    Some(Cow::Owned(out))
}

/// Appends a code point in UTF-8; a surrogate takes three bytes, as its number says.
fn push_code_point(code: u32, out: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend([
            0xe0 | (code >> 12) as u8,
            0x80 | (code >> 6) as u8 & 0x3f,
            0x80 | code as u8 & 0x3f,
        ]),
    }
}

/// The value of hexadecimal digits, eight at most.
fn hex(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0, |value: u32, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

/// True for UTF-8 in which surrogates may stand, encoded in three bytes like other characters.
pub(crate) fn is_utf8_with_surrogates(mut bytes: &[u8]) -> bool {
    loop {
        let Err(error) = std::str::from_utf8(bytes) else { return true };
        match &bytes[error.valid_up_to()..] {
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, rest @ ..] => bytes = rest,
            _ => return false,
        }
    }
}
