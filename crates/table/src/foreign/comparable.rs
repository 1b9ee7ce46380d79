//! Keys of different types that refer to each other: which may, and which values are equal.
//!
//! | referring | referenced | equal where |
//! |---|---|---|
//! | integers | integers, `oid` | the numbers are |
//! | integers, `numeric` | `numeric`, floats | they are once made into the referenced type |
//! | floats | floats | the numbers are |
//! | text, `varchar`, `char(n)`, `name`, `"char"` | text, `varchar` | the texts are; of `char(n)` without its padding |
//! | text, `varchar`, `char(n)` | `char(n)`, `name` | the same, without spaces at the end for `char(n)` |
//! | `date`, `timestamp` | `date`, `timestamp` | the moments are |
//!
//! A row that refers is compared in the type of the key, as PostgreSQL does. The other way, which
//! finds the rows that refer by an index, there may be several values that are equal to one key: all
//! integers near 2^53 to one float, all texts with spaces at the end to one `char(n)`.
//!
//! # Absent on purpose
//! `timestamptz` beside the other two: which rows refer to which would depend on the time zone of
//! the session that changes them.

use types::time::{Date, Timestamp};
use types::{Datum, Modifier, Repr, Type, builtin, text};

/// True if columns of type `from` may refer to columns of type `to`, neither of which is a domain.
pub(crate) fn may_refer(from: Type, to: Type) -> bool {
    let is_integer = |ty| matches!(ty, Type::INT2 | Type::INT4 | Type::INT8);
    let is_float = |ty| matches!(ty, Type::FLOAT4 | Type::FLOAT8);
    let is_string = |ty| matches!(ty, Type::TEXT | Type::VARCHAR | Type::BPCHAR);
    let is_object = |ty| builtin::facts(ty).is_some_and(|facts| facts.repr == Some(Repr::Oid));
    from == to
        || match to {
            Type::INT2 | Type::INT4 | Type::INT8 => is_integer(from),
            Type::NUMERIC => is_integer(from),
            Type::FLOAT4 | Type::FLOAT8 => {
                is_integer(from) || is_float(from) || from == Type::NUMERIC
            }
            Type::TEXT | Type::VARCHAR => {
                is_string(from) || matches!(from, Type::NAME | Type::CHAR)
            }
            Type::BPCHAR | Type::NAME => is_string(from),
            Type::DATE | Type::TIMESTAMP => matches!(from, Type::DATE | Type::TIMESTAMP),
            Type::OID => is_integer(from) || is_object(from),
            _ => false,
        }
}

/// The key of type `to` that a value of a referring column means; none if no key is equal to it.
pub(super) fn key_of(value: &Datum, to: Type) -> Option<Datum> {
    Some(match (value, to) {
        (Datum::Text(text), Type::BPCHAR) => Datum::text(text.trim_end_matches(' ')),
        (Datum::Short(text), Type::BPCHAR) => Datum::text(text.trim_end_matches(' ')),
        (Datum::Float4(value), Type::FLOAT8) => Datum::Float8((*value).into()),
        (Datum::Float8(value), Type::FLOAT4) => {
            let short = *value as f32;
            let is_equal = f64::from(short) == *value || value.is_nan();
            is_equal.then_some(Datum::Float4(short))?
        }
        (Datum::Numeric(_), Type::FLOAT4 | Type::FLOAT8) => read(&written(value)?, to)?,
        (Datum::Date(day), Type::TIMESTAMP) => Datum::Timestamp(midnight(*day)?),
        (Datum::Timestamp(at), Type::DATE) => {
            let day = at.date();
            (midnight(day) == Some(*at)).then_some(Datum::Date(day))?
        }
        (Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_), _) => number(integer(value)?, to)?,
        (value, _) => value.clone(),
    })
}

/// Which values of a referring column are equal to a key.
pub(super) enum Equal {
    None,
    /// This one alone.
    One(Datum),
    /// Several.
    Many,
}

/// The values of type `from` that are equal to a key of type `to`.
pub(super) fn equal_to(key: &Datum, from: Type, to: Type) -> Equal {
    let is_float = |ty| matches!(ty, Type::FLOAT4 | Type::FLOAT8);
    let is_lossy = is_float(to) && !is_float(from) || to == Type::BPCHAR && from != Type::BPCHAR;
    if is_lossy {
        return Equal::Many;
    }
    let value = match (key, from) {
        (Datum::Oid(oid), Type::INT2 | Type::INT4 | Type::INT8) => number(oid.0.into(), from),
        (Datum::Numeric(_), Type::INT2 | Type::INT4 | Type::INT8) => {
            whole(key).and_then(|value| number(value, from))
        }
        (key, _) => key_of(key, from),
    };
    value.map_or(Equal::None, Equal::One)
}

/// An integer as a value of a type of numbers; none if it does not fit.
fn number(value: i64, to: Type) -> Option<Datum> {
    Some(match to {
        Type::INT2 => Datum::Int2(value.try_into().ok()?),
        Type::INT4 => Datum::Int4(value.try_into().ok()?),
        Type::INT8 => Datum::Int8(value),
        Type::OID => Datum::Oid(types::Oid(value.try_into().ok()?)),
        Type::FLOAT4 => Datum::Float4(value as f32),
        Type::FLOAT8 => Datum::Float8(value as f64),
        Type::NUMERIC => read(&value.to_string(), Type::NUMERIC)?,
        _ => return None,
    })
}

fn integer(value: &Datum) -> Option<i64> {
    match value {
        Datum::Int2(value) => Some((*value).into()),
        Datum::Int4(value) => Some((*value).into()),
        Datum::Int8(value) => Some(*value),
        _ => None,
    }
}

/// The integer that a number without a fraction is.
fn whole(value: &Datum) -> Option<i64> {
    let text = written(value)?;
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    rest.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok()).flatten()
}

fn midnight(day: Date) -> Option<Timestamp> {
    day.to_timestamp().ok()
}

fn written(value: &Datum) -> Option<String> {
    match value {
        Datum::Numeric(value) => Some(value.to_string()),
        _ => None,
    }
}

fn read(text: &str, ty: Type) -> Option<Datum> {
    let context = crate::rows::NoValues;
    text::parse(text, ty, Modifier::NONE, &crate::rows::RowValues::context(&context)).ok()
}
