//! Numbers and strings in their JSON form.
//!
//! Canonical string text escapes `"`, `\` and the control characters below U+0020, in their short
//! form where JSON has one and as `\u00xx` in lower case where not; everything else is raw UTF-8:
//!
//! ```text
//!   people    say "hi"⏎   café \ 😀
//!   text      say \"hi\"\n café \\ 😀
//! ```
//!
//! Every string has exactly one canonical text, so equality is equality of bytes. Order is not:
//! use [`compare_strings`]. Numbers have many texts for one value; [`compare_numbers`] compares
//! values exactly, whatever their size.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::scan::plain_prefix;

/// The canonical text of a string, without quotes.
pub fn escape(string: &str) -> Cow<'_, str> {
    if plain_prefix(string.as_bytes()) == string.len() {
        return Cow::Borrowed(string);
    }
    let mut out = Vec::with_capacity(string.len() + 8);
    escape_into(string, &mut out);
    Cow::Owned(String::from_utf8(out).expect("escaping keeps UTF-8"))
}

/// Appends the canonical text of a string, without quotes.
pub fn escape_into(string: &str, out: &mut Vec<u8>) {
    escape_bytes_into(string.as_bytes(), out);
}

/// Appends the canonical text of a string in UTF-8, without quotes.
pub(crate) fn escape_bytes_into(string: &[u8], out: &mut Vec<u8>) {
    let mut rest = string;
    loop {
        let (plain, special) = rest.split_at(plain_prefix(rest));
        out.extend_from_slice(plain);
        let Some((&byte, behind)) = special.split_first() else { return };
        push_escaped(byte as char, out);
        rest = behind;
    }
}

/// The string as a JSON value, quotes included.
pub fn quote(string: &str) -> String {
    format!("\"{}\"", escape(string))
}

/// Appends one character in canonical form.
pub(crate) fn push_escaped(c: char, out: &mut Vec<u8>) {
    let short = match c {
        '"' => b'"',
        '\\' => b'\\',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\0'..='\u{1f}' => {
            let hex = |digit: u32| b"0123456789abcdef"[digit as usize & 15];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(c as u32 >> 4), hex(c as u32)]);
            return;
        }
        _ => {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// The string that a canonical text stands for. Text that is not canonical comes out as well as
/// it can, with U+FFFD for what is broken; it never panics.
pub fn unescape(text: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', text).is_none() {
        return String::from_utf8_lossy(text);
    }
    let bytes: Vec<u8> = Unescaped { rest: text }.collect();
    match String::from_utf8(bytes) {
        Ok(string) => Cow::Owned(string),
        Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

/// The bytes of the string that a canonical text stands for.
struct Unescaped<'a> {
    rest: &'a [u8],
}

impl Iterator for Unescaped<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        if first != b'\\' {
            return Some(first);
        }
        let Some((&code, rest)) = rest.split_first() else { return Some(first) };
        self.rest = rest;
        Some(match code {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (digits, rest) = rest.split_at(rest.len().min(4));
                self.rest = rest;
                let digits = std::str::from_utf8(digits).unwrap_or("");
                // Canonical text has `\u` for single control bytes only.
                u8::from_str_radix(digits, 16).unwrap_or(0xff)
            }
            other => other,
        })
    }
}

/// Orders two canonical texts as the strings they stand for, by Unicode code points.
pub fn compare_strings(a: &[u8], b: &[u8]) -> Ordering {
    if memchr::memchr(b'\\', a).is_none() && memchr::memchr(b'\\', b).is_none() {
        return a.cmp(b);
    }
    Unescaped { rest: a }.cmp(Unescaped { rest: b })
}

/// The shortest number text that reads back as `value`; none for infinities and NaN.
pub fn number_from_f64(value: f64) -> Option<String> {
    value.is_finite().then(|| {
        let text = format!("{value:?}");
        text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
    })
}

/// Orders two number texts by value, exactly: `1e2` equals `100.0`, and nothing is rounded.
pub fn compare_numbers(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (Decimal::read(a), Decimal::read(b));
    a.sign.cmp(&b.sign).then_with(|| {
        let size = a.top.cmp(&b.top).then_with(|| a.digits().cmp(b.digits()));
        if a.sign < 0 { size.reverse() } else { size }
    })
}

/// A number as 0.d₁d₂d₃… × 10^top with d₁ ≠ 0.
struct Decimal<'a> {
    /// -1, 0 or 1.
    sign: i8,
    /// The power of ten. An exponent too large for it is held at the largest: such numbers, of
    /// more than 10^18 digits, compare by digits only.
    top: i64,
    /// The digits, perhaps with the point among them, without leading or trailing zeroes.
    significant: &'a [u8],
}

impl<'a> Decimal<'a> {
    fn read(text: &'a [u8]) -> Decimal<'a> {
        let negative = text.first() == Some(&b'-');
        let text = &text[negative as usize..];
        let e = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
        let (mantissa, exponent) = (&text[..e], text.get(e + 1..).unwrap_or(b""));
        let digit = |byte: &u8| matches!(byte, b'1'..=b'9');
        let Some(first) = mantissa.iter().position(digit) else {
            return Decimal { sign: 0, top: 0, significant: b"" };
        };
        let last = mantissa.iter().rposition(digit).unwrap_or(first);
        let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
        // Digits before the point count up, zeroes behind it count down.
        let shift =
            if first < point { (point - first) as i64 } else { -((first - point - 1) as i64) };
        let top = exponent_value(exponent).saturating_add(shift);
        Decimal { sign: if negative { -1 } else { 1 }, top, significant: &mantissa[first..=last] }
    }

    fn digits(&self) -> impl Iterator<Item = &'a u8> {
        self.significant.iter().filter(|&&byte| byte != b'.')
    }
}

/// The value of an exponent, held within ±10^18.
fn exponent_value(text: &[u8]) -> i64 {
    const MAX: i64 = 1_000_000_000_000_000_000;
    let negative = text.first() == Some(&b'-');
    let size = text.iter().filter(|byte| byte.is_ascii_digit()).fold(0i64, |value, &digit| {
        (value.saturating_mul(10).saturating_add((digit - b'0') as i64)).min(MAX)
    });
    if negative { -size } else { size }
}
