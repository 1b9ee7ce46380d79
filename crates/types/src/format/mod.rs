//! Templates: `to_char`, `to_timestamp`, `to_date` and `to_number`.
//!
//! ```text
//!   DateTemplate    "FMDay, DD.MM.YYYY HH24:MI"      Friday, 02.02.2024 14:05
//!   NumberTemplate  "FM999G990D00"                   1,234.50
//! ```
//!
//! A template is read once and used for many values. Its language is PostgreSQL's own dialect of
//! Oracle's; names of months and days are English, and the point, the comma, the signs and the
//! currency's symbol (a blank) are those of the locale `C`.

mod date_any;
mod date_fields;
mod date_in;
mod date_out;
mod number;
mod number_in;
mod number_out;
mod template;

pub use number::NumberTemplate;
pub use template::DateTemplate;

use crate::{Error, Result, SqlState};

/// The ending that makes an ordinal of a number: `st`, `nd`, `rd` or `th`.
///
/// # Errors
/// 22P02 for what does not end with a digit.
fn ordinal_ending(number: &str, is_upper: bool) -> Result<&'static str> {
    let mut last = number.bytes().rev();
    let ending = match (last.next(), last.next()) {
        (Some(b'0'..=b'9'), Some(b'1')) => 3,
        (Some(b'1'), _) => 0,
        (Some(b'2'), _) => 1,
        (Some(b'3'), _) => 2,
        (Some(b'0'..=b'9'), _) => 3,
        _ => {
            return Err(Error::new(
                SqlState::INVALID_TEXT_REPRESENTATION,
                format!("\"{number}\" is not a number"),
            ));
        }
    };
    Ok(if is_upper { ["ST", "ND", "RD", "TH"][ending] } else { ["st", "nd", "rd", "th"][ending] })
}
