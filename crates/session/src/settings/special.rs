//! Settings that check more than their kind: lists of names, styles, encodings, zones.

use charset::Charset;
use types::time::TimestampTz;
use types::{ByteaOutput, Context, Datum, IntervalStyle, Modifier, SqlState, Style, Type};

use super::known::Known;
use super::value::{Value, invalid};
use crate::error::{Error, Result};
use crate::instance::us_of;

/// The value as the setting keeps it.
///
/// # Errors
/// `22023` where the setting does not take it, `0A000` where it would mean what is not there.
pub fn check(
    known: &Known,
    name: &str,
    value: Value,
    style: &Style,
    now: TimestampTz,
) -> Result<Value> {
    let Value::Text(text) = &value else { return Ok(value) };
    let kept = match known.name {
        "DateStyle" => {
            let mut style = style.clone();
            style.set_date_style(text)?;
            style.date_style().to_owned()
        }
        "TimeZone" => {
            let mut style = style.clone();
            style.set_time_zone(text)?;
            style.time_zone.name().to_owned()
        }
        "client_encoding" => {
            let charset = Charset::named(text).ok_or_else(|| invalid(name, text))?;
            if !charset.is_converted() {
                let message =
                    format!("conversion between {} and UTF8 is not supported", charset.name());
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            charset.name().to_owned()
        }
        "search_path" => {
            let error = || invalid(name, text).detail("List syntax is invalid.");
            name_list(text).ok_or_else(error)?;
            return Ok(value);
        }
        "default_text_search_config" => {
            // Only built-in configurations exist, and each is found by its name.
            let config = scalar::fulltext::config_named(text).ok_or_else(|| invalid(name, text))?;
            format!("pg_catalog.{}", config.name())
        }
        "application_name" => printable(text),
        "commit.authored_at" if !text.is_empty() => {
            let time = time(text, style, now)?;
            let is_kept = || invalid(name, text).detail("A time after 1970 is wanted.");
            us_of(time).ok_or_else(is_kept)?;
            written(time)
        }
        "system_time_as_of" if !text.is_empty() => {
            // As it was meant when it was set, whatever the style is later.
            written(time(text, style, now)?)
        }
        _ => return Ok(value),
    };
    Ok(Value::Text(kept.into()))
}

/// The text with what is not printable ASCII written as bytes.
fn printable(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' => kept.push(char::from(byte)),
            _ => kept.push_str(&format!("\\x{byte:02x}")),
        }
    }
    kept
}

/// Takes a value over into the style of the session.
pub fn apply(known: &Known, value: &Value, style: &mut Style) {
    // The values were checked when they were set.
    match (known.name, value) {
        ("DateStyle", Value::Text(text)) => drop(style.set_date_style(text)),
        ("TimeZone", Value::Text(text)) => drop(style.set_time_zone(text)),
        ("IntervalStyle", Value::Text(text)) => {
            style.interval_style = IntervalStyle::parse(text).unwrap_or(style.interval_style);
        }
        ("bytea_output", Value::Text(text)) => {
            style.bytea_output = ByteaOutput::parse(text).unwrap_or(style.bytea_output);
        }
        ("extra_float_digits", Value::Integer(digits)) => style.extra_float_digits = *digits as i32,
        _ => {}
    }
}

/// The time that a text means.
///
/// # Errors
/// `22007` and the like.
pub fn time(text: &str, style: &Style, now: TimestampTz) -> Result<TimestampTz> {
    let context = Context { now, ..Context::new(style) };
    match types::text::parse(text, Type::TIMESTAMPTZ, Modifier::NONE, &context)? {
        Datum::TimestampTz(time) => Ok(time),
        _ => Ok(now),
    }
}

/// A time as a setting keeps it, in the style that everybody reads alike.
fn written(time: TimestampTz) -> String {
    let style = Style::default();
    let (time, ty) = (Datum::TimestampTz(time), Type::TIMESTAMPTZ);
    let text = types::text::to_string(time.as_ref(), ty, Modifier::NONE, &Context::new(&style));
    text.unwrap_or_default()
}

/// The names in a list like `"$user", public`; `None` if it is none.
pub fn name_list(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let name;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut found = String::new();
            let mut chars = quoted.char_indices();
            let end = loop {
                match chars.next()? {
                    (_, '"') if chars.as_str().starts_with('"') => {
                        chars.next();
                        found.push('"');
                    }
                    (at, '"') => break at + 1,
                    (_, c) => found.push(c),
                }
            };
            name = found;
            rest = quoted[end..].trim_start();
        } else {
            let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            name = rest[..end].to_lowercase();
            rest = rest[end..].trim_start();
        }
        names.push(name);
        match rest.strip_prefix(',') {
            Some(more) => {
                rest = more.trim_start();
                if rest.is_empty() {
                    return None;
                }
            }
            None if rest.is_empty() => {}
            None => return None,
        }
    }
    Some(names)
}
