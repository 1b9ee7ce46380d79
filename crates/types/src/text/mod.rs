//! The text form of values: the form that users type and see.
//!
//! ```text
//!   parse("{1,2}", Type::INT4_ARRAY, Modifier::NONE, context)   ──> Datum::Array
//!   write(value, Type::INT4_ARRAY, Modifier::NONE, context, out) ──> {1,2}
//! ```
//!
//! [`parse`] takes what PostgreSQL 17's input functions take and reports what they report; [`write`]
//! writes what its output functions write. NULL has no text form: callers treat it before.

mod array;
mod number;
mod plain;
mod range;
mod record;

use std::fmt::Write;

use json::jsonb::Jsonb;
use json::jsonb::pathlang::Path;
use json::written;
use numeric::Numeric;

pub(crate) use number::{general, invalid_syntax, is_space, parse_float8, write_float8};
pub(crate) use plain::{TID_OFFSET_BITS, byte_of_char, char_of_byte};

use crate::bounded;
use crate::hstore::{self, Hstore};
use crate::ltree::{self, Lquery, Ltree, Ltxtquery};
use crate::modifier::{Coercion, padded};
use crate::snapshot::Visibility;
use crate::time::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
use crate::{
    Bits, Context, Datum, DatumRef, Error, Inet, Mac, Modifier, Oid, Repr, Result, Shape, SqlState,
    Type,
};
use crate::{geometry, money, search};

/// Most bytes of a `name`.
pub const NAME_BYTES_MAX: usize = 63;

/// Bytes from outside as text: UTF-8, in which there is no NUL.
///
/// # Errors
/// 22021 with the bytes that are no character, as PostgreSQL lists them.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    let bad = |bytes: &[u8]| {
        let listed: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        Error::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\": {}", listed.join(" ")),
        )
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let rest = &bytes[error.valid_up_to()..];
        // How many bytes a character has whose first byte this is, whether it goes on so or not.
        let length = match rest[0] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        bad(&rest[..length.min(rest.len())])
    })?;
    // Without an end in between the compiler looks at many bytes at a time.
    let has_nul = bytes.iter().fold(false, |found, byte| found | (*byte == 0));
    if has_nul { Err(bad(&[0])) } else { Ok(text) }
}

/// Reads a value of a type from its text form, as a column with this modifier takes it.
///
/// # Errors
/// Those of PostgreSQL's input functions: mostly 22P02 for what is no value of the type, 22003 and
/// 22008 for one out of range, 22001 for one too long.
pub fn parse(text: &str, ty: Type, modifier: Modifier, context: &Context<'_>) -> Result<Datum> {
    if modifier == Modifier::NONE {
        // The types that most columns have are read without a look at what they are.
        match ty {
            Type::TEXT | Type::VARCHAR => return Ok(text.into()),
            Type::INT4 => return scalar(text, ty, Repr::Int4, modifier, context),
            Type::INT8 => return scalar(text, ty, Repr::Int8, modifier, context),
            _ => {}
        }
    }
    let value = match context.types.shape_of(ty)? {
        Shape::Scalar(repr) => scalar(text, ty, repr, modifier, context)?,
        Shape::Array(element) => match ty {
            Type::INT2VECTOR => array::parse_vector(text, element, Repr::Int2, context)?.into(),
            Type::OIDVECTOR => array::parse_vector(text, element, Repr::Oid, context)?.into(),
            _ => return Ok(array::parse(text, element, modifier, context)?.into()),
        },
        Shape::Enum(labels) => match labels.order(text) {
            Some(order) => Datum::Enum(order),
            None => {
                let name = context.types.name_of(ty);
                return Err(Error::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!("invalid input value for enum {name}: \"{text}\""),
                ));
            }
        },
        Shape::Domain(..) => {
            let (base, modifier) = context.types.base_of(ty);
            let value = parse(text, base, modifier, context)?;
            return context.as_domain(ty, value, Coercion::Assignment);
        }
        Shape::Composite(fields) => record::parse(text, &fields, context)?.into(),
        Shape::Range(element) => range::parse(text, ty, element, context)?.into(),
        Shape::Multirange(of) => {
            let element = context.types.bounds_of(of)?;
            range::parse_multi(text, of, element, context)?.into()
        }
    };
    match modifier.get() {
        None => Ok(value),
        Some(_) => modifier.apply(value, ty, Coercion::Assignment),
    }
}

/// As [`parse`], where no text stands for NULL.
///
/// # Errors
/// As [`parse`]; 23502 where the type is a domain that refuses NULL.
pub fn parse_nullable(
    text: Option<&str>,
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
) -> Result<Datum> {
    match text {
        Some(text) => parse(text, ty, modifier, context),
        None => context.null_of(ty),
    }
}

/// Reads a single value of a built-in type.
fn scalar(
    text: &str,
    ty: Type,
    repr: Repr,
    modifier: Modifier,
    context: &Context<'_>,
) -> Result<Datum> {
    let integer = |name, min, max| number::parse_integer(text, name, min, max);
    Ok(match repr {
        Repr::Bool => plain::parse_bool(text)?.into(),
        Repr::Int2 => {
            let value = integer("smallint", i64::from(i16::MIN), i64::from(i16::MAX))?;
            (value as i16).into()
        }
        Repr::Int4 => {
            let value = integer("integer", i64::from(i32::MIN), i64::from(i32::MAX))?;
            (value as i32).into()
        }
        Repr::Int8 => match ty {
            Type::TID => plain::parse_tid(text)?.into(),
            Type::PG_LSN => plain::parse_lsn(text)?.into(),
            Type::XID8 => (number::parse_unsigned(text, "xid8", 64)? as i64).into(),
            Type::MONEY => money::parse(text)?.into(),
            Type::MACADDR => Mac::<6>::parse(text)?.into(),
            Type::MACADDR8 => Mac::<8>::parse(text)?.into(),
            _ => integer("bigint", i64::MIN, i64::MAX)?.into(),
        },
        Repr::Float4 => number::parse_float4(text)?.into(),
        Repr::Float8 => number::parse_float8(text)?.into(),
        Repr::Numeric => text.parse::<Numeric>()?.into(),
        Repr::Text => text_value(text, ty)?,
        Repr::Folded => Datum::Folded(text.into()),
        Repr::Bytea => match ty {
            Type::INET | Type::CIDR => Inet::parse(text, ty == Type::CIDR)?.into(),
            Type::BIT | Type::VARBIT => Bits::parse(text)?.into(),
            Type::HSTORE => Datum::bytea(hstore::parse(text)?),
            Type::LTREE => Datum::bytea(ltree::parse(text)?),
            Type::TSVECTOR => Datum::bytea(search::vector::parse(text)?),
            Type::TSQUERY => Datum::bytea(search::query::parse(text)?),
            _ if geometry::is_geometric(ty) => geometry::parse(text, ty)?,
            _ => Datum::bytea(plain::parse_bytea(text)?),
        },
        Repr::Date => Date::parse(text, context)?.into(),
        Repr::Time => Time::parse(text, context)?.into(),
        Repr::TimeTz => TimeTz::parse(text, context)?.into(),
        Repr::Timestamp => Timestamp::parse(text, context)?.into(),
        Repr::TimestampTz => TimestampTz::parse(text, context)?.into(),
        Repr::Interval => {
            let style = context.style.interval_style;
            Interval::parse(text, style, modifier.interval_fields())?.into()
        }
        Repr::Uuid => Datum::Uuid(plain::parse_uuid(text)?),
        Repr::Jsonb => Jsonb::parse(text)?.into(),
        Repr::Oid => object(text, ty, context)?.into(),
        Repr::Record => {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "input of anonymous composite types is not implemented",
            ));
        }
        Repr::Array | Repr::Enum | Repr::Range | Repr::Multirange => {
            unreachable!("none of them is a scalar")
        }
    })
}

/// A value of one of the types that are text.
fn text_value(text: &str, ty: Type) -> Result<Datum> {
    Ok(match ty {
        Type::BPCHAR => text.trim_end_matches(' ').into(),
        Type::NAME => {
            let mut end = text.len().min(NAME_BYTES_MAX);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text[..end].into()
        }
        Type::CHAR => plain::parse_char(text).into(),
        Type::JSON => {
            written::check(text)?;
            text.into()
        }
        Type::JSONPATH => Path::parse(text)?.to_string().into(),
        Type::PG_SNAPSHOT | Type::TXID_SNAPSHOT => Visibility::parse(text)?.to_string().into(),
        Type::LQUERY => Lquery::parse(text)?.to_string().into(),
        Type::LTXTQUERY => Ltxtquery::parse(text)?.to_string().into(),
        _ => text.into(),
    })
}

/// An OID, or the object that a name finds.
fn object(text: &str, ty: Type, context: &Context<'_>) -> Result<Oid> {
    let name = match ty {
        Type::OID => "oid",
        Type::XID => "xid",
        Type::CID => "cid",
        _ if text == "-" => return Ok(Oid::NONE),
        _ if !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) => "oid",
        _ => return context.objects.oid(ty, text),
    };
    Ok(Oid(number::parse_unsigned(text, name, 32)? as u32))
}

/// Writes the text form of a value of a type; nothing for NULL.
///
/// The modifier matters for `char(n)` alone, whose blanks it adds.
///
/// # Errors
/// 57014 where the statement is to stop; `out` has a part of the text then.
pub fn write(
    value: DatumRef<'_>,
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
    out: &mut String,
) -> Result<()> {
    // A domain is written as its base type.
    if !ty.is_builtin()
        && let Ok(Shape::Domain(base, modifier)) = context.types.shape_of(ty)
    {
        return write(value, base, modifier, context, out);
    }
    let style = context.style;
    match value {
        DatumRef::Null => {}
        DatumRef::Bool(value) => out.push(if value { 't' } else { 'f' }),
        DatumRef::Int2(value) => integer(value, out),
        DatumRef::Int4(value) => integer(value, out),
        DatumRef::Int8(value) => match ty {
            Type::TID => plain::write_tid(value, out),
            Type::PG_LSN => plain::write_lsn(value, out),
            Type::XID8 => integer(value as u64, out),
            Type::MONEY => money::write(value, out),
            Type::MACADDR => Mac::<6>::from_held(value).write(out),
            Type::MACADDR8 => Mac::<8>::from_held(value).write(out),
            _ => integer(value, out),
        },
        DatumRef::Float4(value) => number::write_float4(value, style.extra_float_digits, out),
        DatumRef::Float8(value) => number::write_float8(value, style.extra_float_digits, out),
        DatumRef::Numeric(value) => display(value.get(), out),
        DatumRef::Text(value) => match ty {
            Type::CHAR => plain::write_char(value, out),
            Type::BPCHAR => padded(value, modifier, out),
            _ => bounded::append(out, value)?,
        },
        DatumRef::Folded(value) => bounded::append(out, value)?,
        DatumRef::Bytea(value) => match ty {
            Type::INET | Type::CIDR => Inet::held(value)?.write(ty == Type::CIDR, out),
            Type::BIT | Type::VARBIT => Bits::held(value)?.write(out)?,
            Type::HSTORE => Hstore::new(value).write(out)?,
            Type::LTREE => out.push_str(&Ltree::new(value).to_text()?),
            Type::TSVECTOR => search::Vector::new(value).write(out)?,
            Type::TSQUERY => {
                search::query::read(value).map_or(Ok(()), |query| query.write(out))?;
            }
            _ if geometry::is_geometric(ty) => {
                geometry::write(value, ty, style.extra_float_digits, out)?;
            }
            _ => plain::write_bytea(value, style.bytea_output, out)?,
        },
        DatumRef::Date(value) => value.write(style, out),
        DatumRef::Time(value) => value.write(out),
        DatumRef::TimeTz(value) => value.write(out),
        DatumRef::Timestamp(value) => value.write(style, out),
        DatumRef::TimestampTz(value) => value.write(style, out),
        DatumRef::Interval(value) => value.write(style, out),
        DatumRef::Uuid(value) => plain::write_uuid(&value, out),
        DatumRef::Jsonb(value) => value.push_text(out)?,
        DatumRef::Oid(value) => write_object(value, ty, context, out),
        DatumRef::Array(value) if matches!(ty, Type::INT2VECTOR | Type::OIDVECTOR) => {
            array::write_vector(value, context, out)?;
        }
        DatumRef::Array(value) => array::write(value, modifier, context, out)?,
        DatumRef::Record(value) => record::write(value, context, out)?,
        DatumRef::Range(value) => range::write(value, context, out)?,
        DatumRef::Multirange(value) => range::write_multi(value, context, out)?,
        DatumRef::Enum(value) => {
            if let Ok(Shape::Enum(labels)) = context.types.shape_of(ty) {
                out.push_str(labels.label(value).map_or("", |label| label));
            }
        }
    }
    Ok(())
}

fn integer(value: impl itoa::Integer, out: &mut String) {
    out.push_str(itoa::Buffer::new().format(value));
}

fn display(value: impl std::fmt::Display, out: &mut String) {
    write!(out, "{value}").expect("strings take everything");
}

fn write_object(oid: Oid, ty: Type, context: &Context<'_>, out: &mut String) {
    match ty {
        Type::OID | Type::XID | Type::CID => display(oid, out),
        _ if oid == Oid::NONE => out.push('-'),
        _ => match context.objects.name(ty, oid) {
            Some(name) => out.push_str(&name),
            None => display(oid, out),
        },
    }
}

/// The text form of a value, as a string of its own; `None` for NULL.
///
/// # Errors
/// 57014 where the statement is to stop.
pub fn try_to_string(
    value: DatumRef<'_>,
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
) -> Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    let mut out = String::new();
    write(value, ty, modifier, context, &mut out)?;
    Ok(Some(out))
}

/// As [`try_to_string`], but also when the statement must stop: for messages.
pub fn to_string(
    value: DatumRef<'_>,
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
) -> Option<String> {
    interrupt::shielded(|| try_to_string(value, ty, modifier, context)).ok().flatten()
}
