//! Text in and out.
//!
//! ```text
//!   [space] [+-] digits [. digits] [e [+-] digits] [space]      1  -1.50  .5  1_000  6.02e23
//!   [space] [+-] 0x | 0o | 0b digits               [space]      0xFF  -0b_1010
//!   [space] NaN | [+-] inf | [+-] infinity         [space]      in any case; NaN has no sign
//! ```
//!
//! Single underscores may stand between digits, and after `0x`, `0o`, `0b`.

use std::fmt;
use std::str::FromStr;

use num_bigint::{BigInt, BigUint, Sign};

use crate::big;
use crate::value::{Finite, Repr};
use crate::{INTEGER_DIGITS_MAX, Numeric, NumericError, SCALE_MAX};

/// Digits that fit an `i128` whatever they are.
const SMALL_DIGITS: usize = 38;

impl FromStr for Numeric {
    type Err = NumericError;

    /// Reads a number in any of PostgreSQL's spellings.
    ///
    /// # Errors
    /// [`NumericError::Syntax`] and [`NumericError::Overflow`].
    fn from_str(text: &str) -> Result<Self, NumericError> {
        let syntax = || NumericError::Syntax { text: text.to_owned() };
        let trimmed = text.trim_matches(is_space).as_bytes();
        let (negative, rest) = match trimmed {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        match rest {
            [b'0', radix @ (b'x' | b'X' | b'o' | b'O' | b'b' | b'B'), digits @ ..] => {
                let radix = match radix {
                    b'x' | b'X' => 16,
                    b'o' | b'O' => 8,
                    _ => 2,
                };
                let digits = grouped(digits, true, |digit| (digit as char).is_digit(radix));
                let digits = digits.filter(|(_, rest)| rest.is_empty()).ok_or_else(syntax)?.0;
                let magnitude = BigUint::parse_bytes(&digits, radix).ok_or_else(syntax)?;
                Self::from_big(signed(negative, magnitude), 0)
            }
            [b'0'..=b'9' | b'.', ..] => decimal(negative, rest, syntax),
            _ if trimmed.eq_ignore_ascii_case(b"nan") => Ok(Self::NAN),
            _ if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity") => {
                Ok(if negative { Self::NEG_INFINITY } else { Self::INFINITY })
            }
            _ => Err(syntax()),
        }
    }
}

/// The characters that C's `isspace` takes for space.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

fn signed(negative: bool, magnitude: BigUint) -> BigInt {
    BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, magnitude)
}

/// A run of digits without its underscores, and what follows it. `None` if an underscore does
/// not stand between two digits; `leading` allows one in front.
fn grouped(text: &[u8], leading: bool, is_digit: impl Fn(u8) -> bool) -> Option<(Vec<u8>, &[u8])> {
    let mut digits = Vec::with_capacity(text.len());
    let mut before = leading;
    for (i, &byte) in text.iter().enumerate() {
        if is_digit(byte) {
            digits.push(byte);
            before = true;
        } else if byte == b'_' {
            let after = text.get(i + 1).is_some_and(|next| is_digit(*next));
            if !(before && after) {
                return None;
            }
            before = false;
        } else {
            return Some((digits, &text[i..]));
        }
    }
    Some((digits, &[]))
}

/// Reads a decimal number without its sign.
fn decimal(
    negative: bool,
    text: &[u8],
    syntax: impl Fn() -> NumericError,
) -> Result<Numeric, NumericError> {
    if let Some(value) = short_decimal(negative, text) {
        return Ok(value);
    }
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let (mut digits, mut rest) = grouped(text, false, is_digit).ok_or_else(&syntax)?;
    let mut scale = 0_i64;
    if let [b'.', fraction @ ..] = rest {
        let (fraction, after) = grouped(fraction, false, is_digit).ok_or_else(&syntax)?;
        scale = fraction.len() as i64;
        digits.extend(fraction);
        rest = after;
    }
    if digits.is_empty() {
        return Err(syntax());
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let (down, exponent) = match exponent {
            [b'-', exponent @ ..] => (true, exponent),
            [b'+', exponent @ ..] => (false, exponent),
            exponent => (false, exponent),
        };
        let (exponent, after) = grouped(exponent, false, is_digit).ok_or_else(&syntax)?;
        if exponent.is_empty() {
            return Err(syntax());
        }
        rest = after;
        // Beyond a billion it does not matter how far.
        let exponent = exponent
            .iter()
            .fold(0_i64, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1_000_000_000));
        if exponent == 1_000_000_000 && rest.is_empty() {
            return Err(NumericError::Overflow);
        }
        scale += if down { exponent } else { -exponent };
    }
    if !rest.is_empty() {
        return Err(syntax());
    }
    let digits = &digits[digits.iter().take_while(|digit| **digit == b'0').count()..];
    if scale > i64::from(SCALE_MAX) {
        return Err(NumericError::Overflow);
    }
    if digits.is_empty() {
        return Ok(Numeric::small(0, scale.max(0) as u32));
    }
    if digits.len() as i64 - scale > i64::from(INTEGER_DIGITS_MAX) {
        return Err(NumericError::Overflow);
    }
    let magnitude = BigUint::parse_bytes(digits, 10).ok_or_else(&syntax)?;
    let mantissa = signed(negative, magnitude);
    if scale < 0 {
        return Numeric::from_big(big::scale_up(mantissa, -scale as u32), 0);
    }
    Numeric::from_big(mantissa, scale as u32)
}

/// Reads what nearly every number looks like: at most 38 digits with at most a point among them.
fn short_decimal(negative: bool, text: &[u8]) -> Option<Numeric> {
    if text.len() > SMALL_DIGITS || text == b"." {
        return None;
    }
    let (mut mantissa, mut point) = (0_i128, None);
    let mut short = 0_u64;
    for (i, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' if i < 18 => short = short * 10 + u64::from(byte - b'0'),
            b'0'..=b'9' => {
                if i == 18 {
                    mantissa = i128::from(short);
                }
                mantissa = mantissa * 10 + i128::from(byte - b'0');
            }
            b'.' if point.is_none() => {
                if i >= 18 && mantissa == 0 {
                    mantissa = i128::from(short);
                }
                point = Some(i);
            }
            _ => return None,
        }
    }
    if text.len() <= 18 {
        mantissa = i128::from(short);
    }
    let scale = point.map_or(0, |point| text.len() - point - 1);
    Some(Numeric::small(if negative { -mantissa } else { mantissa }, scale as u32))
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(finite) = self.finite() else {
            return f.write_str(match self.0 {
                Repr::Infinity => "Infinity",
                Repr::NegativeInfinity => "-Infinity",
                _ => "NaN",
            });
        };
        if finite.signum() < 0 {
            f.write_str("-")?;
        }
        match finite {
            Finite::Small(mantissa, scale) => {
                let mut buffer = [0; 39];
                write_point(f, decimal_digits(mantissa.unsigned_abs(), &mut buffer), scale)
            }
            Finite::Large(mantissa, scale) => {
                write_point(f, &mantissa.magnitude().to_str_radix(10), scale)
            }
        }
    }
}

/// The digits of a number, at least one, at the end of the buffer.
fn decimal_digits(mut value: u128, buffer: &mut [u8; 39]) -> &str {
    let mut start = buffer.len();
    let mut put = |digit: u8| {
        start -= 1;
        buffer[start] = b'0' + digit;
    };
    // Divisions of 64 bits are cheap, so 128 bits are first cut into at most three pieces.
    const PIECE: u128 = 10_u128.pow(18);
    while value >= PIECE {
        let mut piece = (value % PIECE) as u64;
        value /= PIECE;
        for _ in 0..18 {
            put((piece % 10) as u8);
            piece /= 10;
        }
    }
    let mut piece = value as u64;
    loop {
        put((piece % 10) as u8);
        piece /= 10;
        if piece == 0 {
            break;
        }
    }
    std::str::from_utf8(&buffer[start..]).unwrap_or_default()
}

/// Writes digits with a point before the last `scale` of them.
fn write_point(f: &mut fmt::Formatter<'_>, digits: &str, scale: u32) -> fmt::Result {
    let scale = scale as usize;
    if scale == 0 {
        return f.write_str(digits);
    }
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        f.write_str(whole)?;
        f.write_str(".")?;
        return f.write_str(fraction);
    }
    write!(f, "0.{:0>scale$}", digits)
}
