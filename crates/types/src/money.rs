//! `money`: amounts in hundredths, as PostgreSQL reads and writes them where `lc_monetary` is `C`.
//!
//! ```text
//!   $1,234.50    (1234.5)    -$12    held as the number of cents, in an Int8
//! ```

use crate::{Error, Result, SqlState};

/// Digits behind the point.
const PLACES: u32 = 2;

/// Digits between commas.
const GROUP: usize = 3;

#[cold]
fn out_of_range(text: &str) -> Error {
    let message = format!("value \"{text}\" is out of range for type money");
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// The amount that a text is, in cents.
///
/// # Errors
/// 22P02 for a text that is none, 22003 for one that is too great.
pub fn parse(text: &str) -> Result<i64> {
    let blank = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    let unmarked = |rest: &str| -> usize {
        let rest = rest.trim_start_matches(blank);
        rest.strip_prefix('$').unwrap_or(rest).trim_start_matches(blank).len()
    };
    let mut rest = &text[text.len() - unmarked(text)..];
    let mut is_negative = false;
    if let Some(after) = rest.strip_prefix(['-', '(']) {
        (is_negative, rest) = (true, after);
    } else {
        rest = rest.strip_prefix('+').unwrap_or(rest);
    }
    rest = &rest[rest.len() - unmarked(rest)..];
    // The amount is collected as a negative number: there is one more of these.
    let (mut cents, mut places, mut has_point) = (0_i64, 0, false);
    while let Some(c) = rest.chars().next() {
        match c {
            '0'..='9' if !has_point || places < PLACES => {
                let digit = i64::from(c as u32 - '0' as u32);
                let next = cents.checked_mul(10).and_then(|cents| cents.checked_sub(digit));
                cents = next.ok_or_else(|| out_of_range(text))?;
                places += u32::from(has_point);
            }
            '.' if !has_point => has_point = true,
            ',' => {}
            _ => break,
        }
        rest = &rest[1..];
    }
    if rest.starts_with(['5', '6', '7', '8', '9']) {
        cents = cents.checked_sub(1).ok_or_else(|| out_of_range(text))?;
    }
    let scale = 10_i64.pow(PLACES - places);
    cents = cents.checked_mul(scale).ok_or_else(|| out_of_range(text))?;
    for c in rest.trim_start_matches(|c: char| c.is_ascii_digit()).chars() {
        match c {
            '-' => is_negative = true,
            ')' | '+' | '$' => {}
            c if blank(c) => {}
            _ => {
                let message = format!("invalid input syntax for type money: \"{text}\"");
                return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
            }
        }
    }
    if is_negative { Ok(cents) } else { cents.checked_neg().ok_or_else(|| out_of_range(text)) }
}

/// Writes an amount.
pub fn write(cents: i64, out: &mut String) {
    let amount = cents.unsigned_abs();
    let units = (amount / 100).to_string();
    if cents < 0 {
        out.push('-');
    }
    out.push('$');
    for (at, digit) in units.chars().enumerate() {
        if at > 0 && (units.len() - at).is_multiple_of(GROUP) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(&format!(".{:02}", amount % 100));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Amounts are read as PostgreSQL reads them, and written with commas.
    #[test]
    fn amounts_are_read_and_written() {
        let shown = |text: &str| match parse(text) {
            Ok(cents) => {
                let mut out = String::new();
                write(cents, &mut out);
                out
            }
            Err(error) => error.message().to_owned(),
        };
        for (text, expected) in [
            ("$1,234.567", "$1,234.57"),
            ("(3.2)", "-$3.20"),
            (" $ 12 ", "$12.00"),
            ("-$5", "-$5.00"),
            ("$-5", "-$5.00"),
            ("5-", "-$5.00"),
            ("-1.995", "-$2.00"),
            (".5", "$0.50"),
            ("", "$0.00"),
            ("92233720368547758.07", "$92,233,720,368,547,758.07"),
            ("-92233720368547758.08", "-$92,233,720,368,547,758.08"),
            ("1e5", "invalid input syntax for type money: \"1e5\""),
            ("1.2.3", "invalid input syntax for type money: \"1.2.3\""),
            (
                "92233720368547758.08",
                "value \"92233720368547758.08\" is out of range for type money",
            ),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
