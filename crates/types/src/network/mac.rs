//! Addresses of network cards: `macaddr` has 48 bits, `macaddr8` has 64.
//!
//! ```text
//!   08:00:2b:01:02:03          macaddr     as the number 0x08002b010203
//!   08:00:2b:ff:fe:01:02:03    macaddr8    as the number, its highest bit turned over, which keeps
//!                                          the order in a signed one
//! ```

use std::fmt::Write;

use crate::text::{invalid_syntax, is_space};
use crate::{Datum, Error, Result, SqlState};

/// The two bytes in the middle of a `macaddr8` that was a `macaddr`.
const MIDDLE: u64 = 0xfffe;

/// The separator between the octets of a `macaddr`, and after which of them it stands.
const SHAPES: [(char, &[usize], bool); 7] = [
    (':', &[1, 2, 3, 4, 5], true),
    ('-', &[1, 2, 3, 4, 5], true),
    (':', &[3], false),
    ('-', &[3], false),
    ('.', &[2, 4], false),
    ('-', &[2, 4], false),
    (' ', &[], false),
];

/// A `macaddr` or a `macaddr8`: its bits, the first byte the highest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mac<const BYTES: usize>(u64);

impl<const BYTES: usize> Mac<BYTES> {
    /// The address that is held as this number.
    pub fn from_held(held: i64) -> Self {
        Self(if BYTES == 8 { (held ^ i64::MIN) as u64 } else { held as u64 }).cut()
    }

    /// The number that it is held as.
    pub fn to_held(self) -> i64 {
        if BYTES == 8 { self.0 as i64 ^ i64::MIN } else { self.0 as i64 }
    }

    fn cut(self) -> Self {
        Self(self.0 & u64::MAX >> (64 - 8 * BYTES))
    }

    /// The address with these bytes.
    pub fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
    }

    /// The bytes.
    pub fn bytes(self) -> [u8; BYTES] {
        std::array::from_fn(|at| (self.0 >> (8 * (BYTES - 1 - at))) as u8)
    }

    /// Writes the text form: `08:00:2b:01:02:03`.
    pub fn write(self, out: &mut String) {
        for (at, byte) in self.bytes().iter().enumerate() {
            let colon = if at > 0 { ":" } else { "" };
            write!(out, "{colon}{byte:02x}").expect("strings take everything");
        }
    }

    /// Every bit turned over.
    #[must_use]
    pub fn inverted(self) -> Self {
        Self(!self.0).cut()
    }

    /// The bits that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The bits that either has.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The part that names the maker, the rest zero.
    #[must_use]
    pub fn trunc(self) -> Self {
        let rest = 8 * (BYTES - 3);
        Self(self.0 >> rest << rest)
    }
}

impl Mac<6> {
    /// Reads a `macaddr`.
    ///
    /// # Errors
    /// 22P02 for what is none, 22003 for an octet of more than two digits.
    pub fn parse(text: &str) -> Result<Self> {
        let octets = SHAPES.iter().find_map(|shape| scan(text, shape));
        let octets = octets.ok_or_else(|| invalid_syntax("macaddr", text))?;
        let mut bytes = [0; 6];
        for (byte, octet) in bytes.iter_mut().zip(octets) {
            *byte = u8::try_from(octet).map_err(|_| {
                let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
                Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
            })?;
        }
        Ok(Self::from_bytes(bytes))
    }

    /// The same card with 64 bits.
    pub fn widened(self) -> Mac<8> {
        Mac((self.0 >> 24) << 40 | MIDDLE << 24 | self.0 & 0xff_ffff)
    }
}

impl Mac<8> {
    /// Reads a `macaddr8`; one of six bytes becomes one of eight.
    ///
    /// # Errors
    /// 22P02 for what is none.
    pub fn parse(text: &str) -> Result<Self> {
        parse_8(text.as_bytes()).ok_or_else(|| invalid_syntax("macaddr8", text))
    }

    /// The same card with 48 bits.
    ///
    /// # Errors
    /// 22003 where it has other bytes in the middle.
    pub fn narrowed(self) -> Result<Mac<6>> {
        if self.0 >> 24 & 0xffff != MIDDLE {
            let message = "macaddr8 data out of range to convert to macaddr";
            let hint = "Only addresses that have FF and FE as values in the 4th and 5th bytes from \
                        the left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be \
                        converted from macaddr8 to macaddr.";
            return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message).with_hint(hint));
        }
        Ok(Mac(self.0 >> 40 << 24 | self.0 & 0xff_ffff))
    }

    /// With the bit set that marks an address of an IPv6 host.
    #[must_use]
    pub fn with_bit_7(self) -> Self {
        Self(self.0 | 0x02 << 56)
    }
}

impl<const BYTES: usize> From<Mac<BYTES>> for Datum {
    fn from(value: Mac<BYTES>) -> Self {
        Datum::Int8(value.to_held())
    }
}

/// Reads six hexadecimal numbers with separators between, as `sscanf` does: blanks, a sign and `0x`
/// may stand before each. Numbers without separators have two characters.
fn scan(text: &str, (separator, after, is_free): &(char, &[usize], bool)) -> Option<[i64; 6]> {
    let mut rest = text;
    let mut octets = [0; 6];
    for (at, octet) in octets.iter_mut().enumerate() {
        if after.contains(&at) {
            rest = rest.strip_prefix(*separator)?;
        }
        rest = rest.trim_start_matches(is_space);
        let width = if *is_free { usize::MAX } else { 2 };
        (*octet, rest) = hexadecimal(rest, width)?;
    }
    rest.trim_start_matches(is_space).is_empty().then_some(octets)
}

/// A number of at most `width` characters, and what follows it.
fn hexadecimal(text: &str, width: usize) -> Option<(i64, &str)> {
    let bytes = text.as_bytes();
    let end = width.min(bytes.len());
    let mut at = 0;
    let is_negative = bytes.first() == Some(&b'-');
    if end > 0 && matches!(bytes[0], b'+' | b'-') {
        at = 1;
    }
    if end >= at + 2 && bytes[at] == b'0' && matches!(bytes[at + 1], b'x' | b'X') {
        at += 2;
    }
    let digits = bytes[at..end].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits == 0 {
        return None;
    }
    let mut value = 0_i64;
    for digit in text[at..at + digits].chars() {
        let digit = i64::from(digit.to_digit(16)?);
        // Larger numbers are out of range. The limit keeps them from overflowing.
        value = (value << 4 | digit).min(0xffff_ffff);
    }
    Some((if is_negative { -value } else { value }, &text[at + digits..]))
}

/// Pairs of digits, after any of them one and the same separator.
fn parse_8(text: &[u8]) -> Option<Mac<8>> {
    let is_blank = |byte: &u8| is_space(char::from(*byte));
    let mut rest = &text[text.iter().take_while(|byte| is_blank(byte)).count()..];
    let mut bytes = Vec::with_capacity(8);
    let mut separator = None;
    while let [high, low, after @ ..] = rest {
        if bytes.len() == 8 {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push((digit(*high)? << 4 | digit(*low)?) as u8);
        rest = after;
        if let [found @ (b':' | b'-' | b'.'), after @ ..] = rest {
            if *separator.get_or_insert(*found) != *found {
                return None;
            }
            rest = after;
        }
        if matches!(bytes.len(), 6 | 8) && rest.first().is_some_and(is_blank) {
            rest = &rest[rest.iter().take_while(|byte| is_blank(byte)).count()..];
            if !rest.is_empty() {
                return None;
            }
        }
    }
    match bytes.len() {
        6 => Some(Mac::<6>::from_bytes(bytes.try_into().ok()?).widened()),
        8 => Some(Mac::from_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}
