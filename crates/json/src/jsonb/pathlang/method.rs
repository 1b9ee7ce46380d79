//! The methods that make one item of another: `.type()`, `.double()`, `.decimal(10, 2)` ...

use numeric::{Numeric, Precision};

use super::datetime::DatetimeMethod;
use super::error::PathError;
use super::item::{Item, View};
use super::run::Run;
use super::syntax::Method;
use crate::jsonb::Jsonb;

/// The error of a method that was called on the wrong kind of value.
pub(super) fn wrong_kind(method: &Method) -> PathError {
    let wanted = match method {
        Method::Size => "an array",
        Method::KeyValue => "an object",
        Method::Abs | Method::Floor | Method::Ceiling => "a numeric value",
        Method::Boolean => "a boolean, string, or numeric value",
        Method::String => "a boolean, string, numeric, or datetime value",
        Method::Datetime(_)
        | Method::Date
        | Method::Time(_)
        | Method::TimeTz(_)
        | Method::Timestamp(_)
        | Method::TimestampTz(_) => "a string",
        _ => "a string or numeric value",
    };
    PathError::MethodOfWrongKind { method: method.name(), wanted }
}

impl<'a> Run<'a> {
    /// The item that a method makes of `item`; all methods but `.size()` and `.keyvalue()`.
    pub fn method(&self, method: &'a Method, item: &Item<'a>) -> Result<Item<'a>, PathError> {
        let number = || item.number().ok_or_else(|| wrong_kind(method));
        Ok(match method {
            Method::Type => Item::String(item.type_name().to_owned()),
            Method::Abs => Item::Number(number()?.abs()),
            Method::Floor => Item::Number(number()?.floor()?),
            Method::Ceiling => Item::Number(number()?.ceil()?),
            Method::Double => return double(method, item),
            Method::BigInt => Item::Number(integer(method, item, "bigint")?.into()),
            Method::Integer => Item::Number(integer(method, item, "integer")?.into()),
            Method::Boolean => Item::Bool(boolean(method, item)?),
            Method::Number => Item::Number(decimal(method, item, &[])?),
            Method::Decimal(arguments) => Item::Number(decimal(method, item, arguments)?),
            Method::String => Item::String(match item.view() {
                View::String(string) => string.to_owned(),
                View::Number(number) => number.to_numeric().to_string(),
                View::Bool(value) => value.to_string(),
                View::Datetime(datetime) => datetime.text.clone(),
                View::Null | View::Container => return Err(wrong_kind(method)),
            }),
            Method::Size | Method::KeyValue => unreachable!("these are steps of their own"),
            _ => {
                let View::String(text) = item.view() else { return Err(wrong_kind(method)) };
                let read = datetime_method(method)?;
                Item::Datetime(self.options.datetimes.read(text, read)?)
            }
        })
    }
}

fn invalid(method: &Method, argument: impl ToString, target: &'static str) -> PathError {
    PathError::MethodArgument { argument: argument.to_string(), method: method.name(), target }
}

fn double<'a>(method: &Method, item: &Item<'a>) -> Result<Item<'a>, PathError> {
    const TARGET: &str = "double precision";
    match item.view() {
        // The number itself stays, exact as it is.
        View::Number(number) => {
            let number = number.to_numeric();
            number.to_f64().map_err(|_| invalid(method, &number, TARGET))?;
            Ok(Item::Number(number))
        }
        View::String(text) => {
            let value = read_double(text).ok_or_else(|| invalid(method, text, TARGET))?;
            if !value.is_finite() {
                return Err(PathError::NotFinite { method: method.name() });
            }
            Ok(Item::Number(Numeric::from(value)))
        }
        _ => Err(wrong_kind(method)),
    }
}

/// A double as PostgreSQL reads one; none if the text is none, or is out of range.
fn read_double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
    let value: f64 = text.parse().ok()?;
    let says_digits = text.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    // Infinities and zeros that were not written are out of range.
    let overflow = value.is_infinite() && says_digits;
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let underflow = value == 0.0 && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    (!overflow && !underflow).then_some(value)
}

/// An integer of the type called `target`: numbers are rounded, strings must be integers.
fn integer(method: &Method, item: &Item<'_>, target: &'static str) -> Result<i64, PathError> {
    let (number, text) = match item.view() {
        View::Number(number) => {
            let number = number.to_numeric();
            let text = number.to_string();
            (Some(number), text)
        }
        View::String(text) => (read_integer(text), text.to_owned()),
        _ => return Err(wrong_kind(method)),
    };
    let value = number.and_then(|number| match target {
        "integer" => number.to_i32().ok().map(i64::from),
        _ => number.to_i64().ok(),
    });
    value.ok_or_else(|| invalid(method, text, target))
}

/// An integer as PostgreSQL reads one, in any base.
fn read_integer(text: &str) -> Option<Numeric> {
    let digits = text.trim().trim_start_matches(['+', '-']);
    let prefixed = digits
        .get(..2)
        .is_some_and(|prefix| matches!(prefix, "0x" | "0X" | "0o" | "0O" | "0b" | "0B"));
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if prefixed || plain { text.parse().ok() } else { None }
}

fn boolean(method: &Method, item: &Item<'_>) -> Result<bool, PathError> {
    const TARGET: &str = "boolean";
    match item.view() {
        View::Bool(value) => Ok(value),
        View::Number(number) => {
            let number = number.to_numeric();
            let is_integer = number.scale() == Some(0) && number.to_i32().is_ok();
            let value = is_integer.then(|| !number.is_zero());
            value.ok_or_else(|| invalid(method, &number, TARGET))
        }
        View::String(text) => read_bool(text).ok_or_else(|| invalid(method, text, TARGET)),
        _ => Err(wrong_kind(method)),
    }
}

/// A truth value as PostgreSQL reads one: a word, or enough of it to tell it from the others.
fn read_bool(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    match text.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ if begins("true", 1) || begins("yes", 1) || text == "on" => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) => Some(false),
        _ => None,
    }
}

/// A number, in the precision and scale that `arguments` say.
fn decimal(method: &Method, item: &Item<'_>, arguments: &[Jsonb]) -> Result<Numeric, PathError> {
    const TARGET: &str = "numeric";
    let (number, text) = match item.view() {
        View::Number(number) => {
            let number = number.to_numeric();
            let text = number.to_string();
            (number, text)
        }
        View::String(text) => {
            (text.parse().map_err(|_| invalid(method, text, TARGET))?, text.to_owned())
        }
        _ => return Err(wrong_kind(method)),
    };
    if !number.is_finite() {
        return Err(PathError::NotFinite { method: method.name() });
    }
    let argument = |at: usize, what| match arguments.get(at) {
        Some(argument) => modifier(method, argument, what).map(Some),
        None => Ok(None),
    };
    let Some(precision) = argument(0, "precision")? else { return Ok(number) };
    let precision = Precision::new(precision, argument(1, "scale")?.unwrap_or(0))?;
    number.with_precision(precision).map_err(|_| invalid(method, text, TARGET))
}

/// A precision or a scale.
fn modifier(method: &Method, number: &Jsonb, what: &'static str) -> Result<i32, PathError> {
    let number = number.root().as_number().and_then(|number| number.as_i64());
    let number = number.and_then(|number| i32::try_from(number).ok());
    number.ok_or(PathError::ModifierOutOfRange { what, method: method.name() })
}

/// The method as the layer knows it that reads dates and times.
fn datetime_method(method: &Method) -> Result<DatetimeMethod<'_>, PathError> {
    let precision = |argument: &Option<Jsonb>| {
        argument.as_ref().map(|number| modifier(method, number, "time precision")).transpose()
    };
    Ok(match method {
        Method::Datetime(template) => DatetimeMethod::Datetime(template.as_deref()),
        Method::Time(argument) => DatetimeMethod::Time(precision(argument)?),
        Method::TimeTz(argument) => DatetimeMethod::TimeTz(precision(argument)?),
        Method::Timestamp(argument) => DatetimeMethod::Timestamp(precision(argument)?),
        Method::TimestampTz(argument) => DatetimeMethod::TimestampTz(precision(argument)?),
        _ => DatetimeMethod::Date,
    })
}
