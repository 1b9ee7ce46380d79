//! Values of settings: the conversion of a user's text to one form, and of that form to text.
//!
//! ```text
//!   '1.5MB'  ──read──> Integer(1536), in the unit of the setting  ──show──> 1536kB
//!   '90 s'             Integer(90000)                                       90s
//! ```

use std::sync::Arc;

use types::SqlState;

use super::known::{Kind, Known, Unit};
use crate::error::{Error, Result};

/// A value of a setting.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `on` or `off`.
    Bool(bool),
    /// A whole number, in the unit of the setting.
    Integer(i64),
    /// A number, in the unit of the setting.
    Real(f64),
    /// A text, or the word of an enumeration.
    Text(Arc<str>),
}

/// Units as they are written, with what one of each is in the smallest (bytes or microseconds).
const BYTES: [(&str, f64); 5] = [
    ("B", 1.0),
    ("kB", 1_024.0),
    ("MB", 1_048_576.0),
    ("GB", 1_073_741_824.0),
    ("TB", 1_099_511_627_776.0),
];
const TIMES: [(&str, f64); 6] =
    [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 6e7), ("h", 3.6e9), ("d", 8.64e10)];

/// The units that a number in `unit` may be written in, and what one of `unit` is in the smallest.
fn scale(unit: Unit) -> Option<(&'static [(&'static str, f64)], f64)> {
    Some(match unit {
        Unit::None => return None,
        Unit::Bytes => (&BYTES, 1.0),
        Unit::Kilobytes => (&BYTES, 1_024.0),
        Unit::Blocks => (&BYTES, 8_192.0),
        Unit::Milliseconds => (&TIMES, 1e3),
        Unit::Seconds => (&TIMES, 1e6),
    })
}

/// The value that `text` is for a setting that the user calls `name`.
///
/// # Errors
/// `22023` where it is none.
pub fn read(known: &Known, name: &str, text: &str) -> Result<Value> {
    match known.kind {
        Kind::Bool => bool_of(text).map(Value::Bool).ok_or_else(|| {
            let message = format!("parameter \"{name}\" requires a Boolean value");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        }),
        Kind::Integer => {
            let number = number(known, name, text)?.round_ties_even();
            if !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number) {
                return Err(invalid(name, text).hint("Value exceeds integer range."));
            }
            in_range(known, name, number)?;
            Ok(Value::Integer(number as i64))
        }
        Kind::Real => {
            let number = number(known, name, text)?;
            in_range(known, name, number)?;
            Ok(Value::Real(number))
        }
        Kind::Text => Ok(Value::Text(text.into())),
        Kind::Enum => match known.words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
            Some(word) => Ok(Value::Text((*word).into())),
            None => {
                hidden_word(known, text).map(|word| Value::Text(word.into())).ok_or_else(|| {
                    let words = known.words.join(", ");
                    invalid(name, text).hint(format!("Available values: {words}."))
                })
            }
        },
    }
}

/// Words that enumerations take in addition to those that they list.
fn hidden_word(known: &Known, text: &str) -> Option<&'static str> {
    if known.name == "client_min_messages" && text.eq_ignore_ascii_case("debug") {
        return Some("debug2");
    }
    if known.name == "client_min_messages" && text.eq_ignore_ascii_case("info") {
        return Some("info");
    }
    let switch = if bool_of(text)? { "on" } else { "off" };
    known.words.iter().find(|word| **word == switch).copied()
}

/// The truth value that `text` is: `on`, `off`, or a beginning of `true`, `false`, `yes` or `no`
/// that only one of them has.
pub fn bool_of(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    match () {
        () if begins("true", 1) || begins("yes", 1) || text == "on" || text == "1" => Some(true),
        () if begins("false", 1) || begins("no", 1) || begins("off", 2) || text == "0" => {
            Some(false)
        }
        () => None,
    }
}

/// A number with or without a unit, in the unit of the setting.
fn number(known: &Known, name: &str, text: &str) -> Result<f64> {
    let body = text.trim();
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let (value, rest) = if let Some(hex) = body.strip_prefix("0x").or(body.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        (i64::from_str_radix(&hex[..end], 16).ok().map(|value| value as f64), &hex[end..])
    } else {
        let mut end = body.find(|c| !digits(c)).unwrap_or(body.len());
        // An exponent, unless the letter begins a unit.
        let tail = body[end..].strip_prefix(['e', 'E']).unwrap_or_default();
        let exponent = tail.strip_prefix(['+', '-']).unwrap_or(tail);
        let count = exponent.bytes().take_while(u8::is_ascii_digit).count();
        if count > 0 {
            end += 1 + (tail.len() - exponent.len()) + count;
        }
        (body[..end].parse().ok(), &body[end..])
    };
    let value: f64 = value.ok_or_else(|| invalid(name, text))?;
    let unit = rest.trim();
    if unit.is_empty() {
        return Ok(value);
    }
    let (units, base) = scale(known.unit).ok_or_else(|| invalid(name, text))?;
    match units.iter().find(|(known, _)| *known == unit) {
        Some((_, factor)) => Ok(value * factor / base),
        None => Err(invalid(name, text).hint(match known.unit {
            Unit::Milliseconds | Unit::Seconds => {
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\"."
            }
            _ => "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
        })),
    }
}

fn in_range(known: &Known, name: &str, number: f64) -> Result<()> {
    if (known.least..=known.most).contains(&number) {
        return Ok(());
    }
    let unit = match known.unit {
        Unit::None => String::new(),
        unit => format!(" {}", unit.name()),
    };
    let [number, least, most] = [number, known.least, known.most].map(plain);
    Err(Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!(
            "{number}{unit} is outside the valid range for parameter \"{name}\" \
             ({least}{unit} .. {most}{unit})"
        ),
    ))
}

/// A number with six digits at most, as C's `%g` writes it.
fn plain(number: f64) -> String {
    if number.abs() >= 1e15 {
        let text = format!("{number:.5e}");
        return text.replace('e', "e+");
    }
    let text = format!("{number:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The error for a value that a setting does not take.
pub fn invalid(name: &str, text: &str) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("invalid value for parameter \"{name}\": \"{text}\""),
    )
}

/// The value as `SHOW` shows it: numbers in the largest unit in which they are whole.
pub fn show(known: &Known, value: &Value) -> String {
    match value {
        Value::Bool(value) => if *value { "on" } else { "off" }.to_owned(),
        Value::Integer(value) => with_unit(known, *value as f64, *value > 0),
        Value::Real(value) => with_unit(known, *value, *value > 0.0),
        Value::Text(text) => text.to_string(),
    }
}

/// The value as `pg_settings` shows it: numbers in the unit of the setting.
pub fn bare(value: &Value) -> String {
    match value {
        Value::Bool(value) => if *value { "on" } else { "off" }.to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => plain(*value),
        Value::Text(text) => text.to_string(),
    }
}

fn with_unit(known: &Known, value: f64, scaled: bool) -> String {
    let Some((units, base)) = scale(known.unit).filter(|_| scaled) else { return plain(value) };
    let smallest = value * base;
    let mut units = units.iter().rev();
    let whole = units.find(|(_, factor)| smallest >= *factor && smallest % factor == 0.0);
    let (name, factor) = whole.copied().unwrap_or((known.unit.name(), base));
    format!("{}{name}", plain(smallest / factor))
}
