//! Sizes: numbers of bytes for people, and back.
//!
//! ```text
//!   pg_size_pretty(123456789)    118 MB        units go up as long as there are 10 of the next one
//!   pg_size_bytes('1.5 GB')      1610612736    units are powers of 1024, in letters of either case
//! ```

use numeric::Numeric;
use types::{Error, Result, SqlState};

use crate::function::{Function, functions};

/// The units, each 1024 of the one before.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/// A size in the largest unit of which it has ten, halves rounded away from zero.
fn pretty(bytes: i128) -> String {
    if bytes.abs() < 10 * 1024 {
        return format!("{bytes} bytes");
    }
    // Halves of the unit, so that there is one binary digit left to round by.
    let mut halves = bytes / 512;
    let mut unit = 1;
    while halves.abs() >= 20 * 1024 - 1 && unit + 1 < UNITS.len() {
        halves /= 1024;
        unit += 1;
    }
    let rounded = (halves + if halves < 0 { -1 } else { 1 }) / 2;
    format!("{rounded} {}", UNITS[unit])
}

/// As [`pretty`], for sizes of any length.
fn pretty_numeric(bytes: &Numeric) -> Result<String> {
    if !bytes.is_finite() {
        return Ok(format!("{bytes} PB"));
    }
    if bytes.abs() < Numeric::from(10 * 1024_i128) {
        return Ok(format!("{bytes} bytes"));
    }
    let (whole, two) = (Numeric::from(1024_i128), Numeric::from(2_i128));
    let limit = Numeric::from(20 * 1024 - 1_i128);
    let mut halves = bytes.div_trunc(&Numeric::from(512_i128))?;
    let mut unit = 1;
    while halves.abs() >= limit && unit + 1 < UNITS.len() {
        halves = halves.div_trunc(&whole)?;
        unit += 1;
    }
    let away = Numeric::from(if halves < Numeric::ZERO { -1_i128 } else { 1 });
    let rounded = halves.checked_add(&away)?.div_trunc(&two)?;
    Ok(format!("{rounded} {}", UNITS[unit]))
}

/// The number of bytes that a text says.
fn parse(text: &str) -> Result<i64> {
    let invalid =
        || Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid size: \"{text}\""));
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    let start = text.trim_start_matches(is_space);
    let digits = |from: usize| start[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(start.starts_with(['+', '-']));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if start[end..].starts_with('.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return Err(invalid());
    }
    // An exponent, unless the letter begins a unit.
    if start[end..].starts_with(['e', 'E']) {
        let sign = usize::from(start[end + 1..].starts_with(['+', '-']));
        let length = digits(end + 1 + sign);
        if length > 0 {
            end += 1 + sign + length;
        }
    }
    let number: Numeric = start[..end].parse()?;
    let unit = start[end..].trim_matches(is_space);
    let power = match unit {
        "" => 0,
        unit if unit.eq_ignore_ascii_case("b") => 0,
        unit => {
            let known = UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit));
            known.ok_or_else(|| {
                invalid().with_detail(format!("Invalid size unit: \"{unit}\".")).with_hint(
                    "Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \
                         \"PB\".",
                )
            })?
        }
    };
    let bytes = number.checked_mul(&Numeric::from(1_i128 << (10 * power)))?;
    Ok(bytes.to_i64()?)
}

pub(crate) const TABLE: &[Function] = functions! {
    2288 pg_size_pretty(INT8) -> TEXT = (bytes: i64) pretty(bytes.into());
    3166 pg_size_pretty(NUMERIC) -> TEXT = (bytes: Numeric) pretty_numeric(&bytes);
    3334 pg_size_bytes(TEXT) -> INT8 = (text: &str) parse(text);
};
