//! Numbers as text: integers, OIDs, floating point.
//!
//! ```text
//!   42   -0x2A   0b101010   0o52   4_200        integers, with space around them
//!   1.5   .5   1e-3   inf   NaN                 floating point
//! ```
//!
//! Floats are written with the fewest digits that no other float shares, and of those the nearest,
//! never lying exactly between two floats; or, where a session asks for it, with a fixed number of
//! digits, as C's `%g` does it.

use std::fmt::Write;
use std::num::IntErrorKind;

use crate::{Error, Result, SqlState};

/// The error for a text that is no value of a type.
pub(crate) fn invalid_syntax(type_name: &str, text: &str) -> Error {
    Error::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {type_name}: \"{text}\""),
    )
}

fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("value \"{text}\" is out of range for type {type_name}"),
    )
}

/// True for what C's `isspace` takes for space.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

/// The value of a text that has nothing but digits, up to 18, and perhaps a minus sign before them.
fn plain_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    if !(1..=18).contains(&digits.len()) {
        return None;
    }
    let (mut value, mut are_digits) = (0_i64, true);
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        are_digits &= digit < 10;
        // A byte that is no digit may carry the value beyond its range. The value is not used then.
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
    }
    let is_negative = digits.len() < text.len();
    are_digits.then(|| if is_negative { -value } else { value })
}

/// Reads an integer between two bounds.
///
/// # Errors
/// 22P02 for what is no integer, 22003 for one out of range.
pub(crate) fn parse_integer(text: &str, type_name: &str, min: i64, max: i64) -> Result<i64> {
    if let Some(value) = plain_integer(text)
        && (min..=max).contains(&value)
    {
        return Ok(value);
    }
    let invalid = || invalid_syntax(type_name, text);
    let trimmed = text.trim_start_matches(is_space);
    let is_negative = trimmed.starts_with('-');
    let unsigned = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    let (digits, radix) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&unsigned[2..], 16),
        [b'0', b'o' | b'O', ..] => (&unsigned[2..], 8),
        [b'0', b'b' | b'B', ..] => (&unsigned[2..], 2),
        _ => (unsigned, 10),
    };
    let mut value: i128 = 0;
    let mut is_after_digit = radix != 10;
    let mut has_digit = false;
    let mut rest = digits;
    while let Some(c) = rest.chars().next() {
        if let Some(digit) = c.to_digit(radix) {
            value = value * i128::from(radix) + i128::from(digit);
            // Out of range, whatever follows.
            let signed = if is_negative { -value } else { value };
            if signed < i128::from(min) || signed > i128::from(max) {
                return Err(out_of_range(type_name, text));
            }
            (is_after_digit, has_digit) = (true, true);
        } else if c == '_' && is_after_digit {
            is_after_digit = false;
        } else {
            break;
        }
        rest = &rest[c.len_utf8()..];
    }
    // An underscore stands between two digits.
    if !has_digit || !is_after_digit || !rest.trim_start_matches(is_space).is_empty() {
        return Err(invalid());
    }
    Ok(if is_negative { -value } else { value } as i64)
}

/// Reads an unsigned number of `bits` bits: decimal, octal after `0` or hexadecimal after `0x`. A
/// negative one counts down from the top.
///
/// # Errors
/// 22P02 for what is no number, 22003 for one out of range.
pub(crate) fn parse_unsigned(text: &str, type_name: &str, bits: u32) -> Result<u64> {
    let trimmed = text.trim_start_matches(is_space);
    let is_negative = trimmed.starts_with('-');
    let unsigned = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed).trim_end_matches(is_space);
    let (digits, radix) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (&unsigned[2..], 16),
        [b'0', _, ..] => (&unsigned[1..], 8),
        _ => (unsigned, 10),
    };
    if digits.starts_with(['+', '-']) {
        return Err(invalid_syntax(type_name, text));
    }
    let value = u64::from_str_radix(digits, radix).map_err(|error| match error.kind() {
        IntErrorKind::PosOverflow => out_of_range(type_name, text),
        _ => invalid_syntax(type_name, text),
    })?;
    let value = if is_negative { value.wrapping_neg() } else { value };
    // Of 32 bits as the lower half of 64, with or without a sign.
    let low = value as u32;
    if bits == 64 || value == u64::from(low) || value == i64::from(low as i32) as u64 {
        return Ok(if bits == 64 { value } else { u64::from(low) });
    }
    Err(out_of_range(type_name, text))
}

/// Makes the reader and the writer of a floating point type.
macro_rules! float {
    ($parse:ident, $write:ident, $shortest:ident, $float:ty, $name:literal, $digits:literal,
     $integer_digits:literal) => {
        /// Reads a floating point number.
        ///
        /// # Errors
        /// 22P02 for what is no number, 22003 for one out of range.
        pub(crate) fn $parse(text: &str) -> Result<$float> {
            let trimmed = text.trim_matches(is_space);
            let value: $float = trimmed.parse().map_err(|_| invalid_syntax($name, text))?;
            if value.is_normal() {
                return Ok(value);
            }
            let mantissa = trimmed.split(['e', 'E']).next().unwrap_or("");
            let is_digits = !trimmed.contains(['i', 'I', 'n', 'N']);
            let is_lost = value == 0.0 && mantissa.contains(|c| matches!(c, '1'..='9'));
            if is_digits && (value.is_infinite() || is_lost) {
                return Err(Error::new(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    format!("\"{trimmed}\" is out of range for type {}", $name),
                ));
            }
            Ok(value)
        }

        /// Writes a floating point number; `extra_digits` is the setting `extra_float_digits`.
        pub(crate) fn $write(value: $float, extra_digits: i32, out: &mut String) {
            if value.is_nan() {
                out.push_str("NaN");
            } else if value.is_infinite() {
                out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
            } else if extra_digits > 0 {
                positional_or_scientific(&$shortest(value), $integer_digits, out);
            } else {
                let digits = ($digits + extra_digits).max(1) as usize;
                let written = format!("{value:.*e}", digits - 1);
                let (mantissa, exponent) = written.split_once('e').expect("asked for an exponent");
                // Zeros at the end are not written.
                let mantissa = match mantissa.contains('.') {
                    true => mantissa.trim_end_matches('0').trim_end_matches('.'),
                    false => mantissa,
                };
                positional_or_scientific(&format!("{mantissa}e{exponent}"), digits as i32, out);
            }
        }

        /// The fewest digits that tell the number from its neighbours, as `d.ddde±n`.
        fn $shortest(value: $float) -> String {
            let shortest = format!("{value:e}");
            let mantissa = shortest.split('e').next().unwrap_or("");
            let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            // All that follows is about numbers too large for every integer to be a float, and such
            // with more digits than every float has.
            let is_large = value.abs() >= (1u64 << <$float>::MANTISSA_DIGITS) as $float;
            if !is_large && decimals < $digits {
                return shortest;
            }
            // A decimal halfway between two floats is read as either of them, depending on how a
            // reader rounds.
            let is_clear = |written: &str| {
                written.parse() == Ok(value)
                    && !is_halfway(written, f64::from(value), f64::from(value.next_up()))
                    && !is_halfway(written, f64::from(value), f64::from(value.next_down()))
            };
            // If two are equally near, the one with an even last digit.
            let nearest = |decimals: usize| format!("{value:.decimals$e}");
            let mut candidates = [nearest(decimals), shortest]
                .into_iter()
                .chain((decimals + 1..=$digits + 3).map(nearest));
            candidates.find(|written| is_clear(written)).unwrap_or_else(|| format!("{value:e}"))
        }
    };
}

float!(parse_float4, write_float4, shortest4, f32, "real", 6, 6);
float!(parse_float8, write_float8, shortest8, f64, "double precision", 15, 15);

/// True if a decimal number `d.ddde±n` is exactly the mean of two floats.
fn is_halfway(decimal: &str, a: f64, b: f64) -> bool {
    if b.is_infinite() {
        return false;
    }
    let (mantissa, exponent) = decimal.split_once('e').expect("asked for an exponent");
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let (Ok(digits), Ok(exponent)) = (digits.parse::<u128>(), exponent.parse::<i32>()) else {
        return false;
    };
    let exponent = exponent - fraction as i32;
    // decimal = digits * 10^exponent; mean = (m_a + m_b) * 2^(e - 1), for the smaller e.
    let ((m_a, e_a), (m_b, e_b)) = (parts(a.abs()), parts(b.abs()));
    let e = e_a.min(e_b);
    let mean = (u128::from(m_a) << (e_a - e)) + (u128::from(m_b) << (e_b - e));
    equals(digits, exponent, mean, e - 1)
}

/// The mantissa and the power of two of a finite float.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let (exponent, mantissa) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => (mantissa, -1074),
        _ => (mantissa | 1 << 52, exponent - 1075),
    }
}

/// True if `digits * 10^ten == mean * 2^two`. Both sides are cleared of common powers, and what
/// then does not fit is not equal, as neither factor has more than 60 bits.
fn equals(digits: u128, ten: i32, mean: u128, two: i32) -> bool {
    if digits == 0 || mean == 0 {
        return false;
    }
    // digits * 5^ten * 2^(ten - two) == mean
    let (digits_zeros, mean_zeros) = (digits.trailing_zeros(), mean.trailing_zeros());
    let (digits, mean) = (digits >> digits_zeros, mean >> mean_zeros);
    if digits_zeros as i32 + ten - two != mean_zeros as i32 {
        return false;
    }
    let power = 5u128.checked_pow(ten.unsigned_abs());
    match (ten >= 0, power) {
        (true, Some(power)) => digits.checked_mul(power) == Some(mean),
        (false, Some(power)) => mean.checked_mul(power) == Some(digits),
        (_, None) => false,
    }
}

/// Writes `d.ddde±n` without an exponent where the point is near the digits: from 0.0001 up to
/// `integer_digits` digits before it.
fn positional_or_scientific(written: &str, integer_digits: i32, out: &mut String) {
    let (mantissa, exponent) = written.split_once('e').expect("asked for an exponent");
    let exponent: i32 = exponent.parse().expect("exponents are small numbers");
    if exponent < -4 || exponent >= integer_digits {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.abs()).expect("strings take everything");
        return;
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    out.push_str(sign);
    let digits = mantissa.chars().filter(|c| *c != '.');
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.extend(digits);
        return;
    }
    let before = exponent as usize + 1;
    let count = mantissa.len() - usize::from(mantissa.contains('.'));
    for (at, digit) in digits.enumerate() {
        if at == before {
            out.push('.');
        }
        out.push(digit);
    }
    out.extend(std::iter::repeat_n('0', before.saturating_sub(count)));
}

/// A number as C's `%g` writes it, with at most six digits.
pub(crate) fn general(value: f64) -> String {
    let mut out = String::new();
    write_float8(value, -9, &mut out);
    out
}
