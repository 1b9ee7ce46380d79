//! The binary form of values: the form on the wire, for clients that ask for it.
//!
//! ```text
//!   int4       00 00 00 07                        numbers are big end first
//!   text       the bytes
//!   numeric    digits to the base 10,000
//!   timestamp  8 bytes, microseconds since 2000    as all times: what is held
//!   jsonb      01, then the text
//!   inet       family  bits  is cidr  length  address          02 18 00 04 c0a80105
//!   bit        how many bits, then the bits in bytes           0000000c b380
//!   macaddr    the bytes
//!   point      x  y, as all that is made of numbers: what is held
//!   int4[]     dimensions  flags     element type   length, lower bound   length  value ...
//!              00000001    00000000  00000017       00000002  00000001    00000004 00000007 ...
//!   record     columns     type      length  value ...
//!              00000001    00000017  00000004 00000007
//! ```
//!
//! NULL has no binary form: where it can stand, a length of -1 says so.
//!
//! Received bytes may be anything. They are checked against the type's range, and nothing is
//! allocated for what a length promises before the bytes are there.

use interrupt::Pace;
use json::jsonb::Jsonb;
use json::jsonb::pathlang::Path;
use json::written;
use numeric::Numeric;

use crate::array::{self, DIMENSIONS_MAX};
use crate::geometry;
use crate::hstore::{self, Hstore};
use crate::ltree::{self, Lquery, Ltree, Ltxtquery};
use crate::modifier::{Coercion, padded};
use crate::range::{self, Bound};
use crate::search;
use crate::snapshot::Visibility;
use crate::text::{TID_OFFSET_BITS, byte_of_char, char_of_byte};
use crate::time::{DAY_US, Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
use crate::{
    Array, Bits, Context, Datum, DatumRef, Dimension, Error, Field, Inet, Mac, Modifier,
    Multirange, Oid, Range, RangeRef, Record, Repr, Result, Shape, SqlState, Type,
};

/// The version of the form of `jsonb`, `jsonpath`, and paths and patterns of `ltree`.
const TEXT_VERSION: u8 = 1;

/// The length that stands for NULL.
const NULL_LENGTH: i32 = -1;

/// Farthest that a zone may be from Greenwich, in seconds, this one not included.
const ZONE_S_END: i32 = 16 * 3_600;

/// How deep records may lie in one another.
const DEPTH_MAX: u32 = 128;

/// Appends the binary form of a value of a type; nothing for NULL.
///
/// # Errors
/// 57014 where the statement is to stop; `out` has a part of the form then.
pub fn write(
    value: DatumRef<'_>,
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    if !ty.is_builtin()
        && let Ok(Shape::Domain(base, modifier)) = context.types.shape_of(ty)
    {
        return write(value, base, modifier, context, out);
    }
    match value {
        DatumRef::Null => {}
        DatumRef::Bool(value) => out.push(u8::from(value)),
        DatumRef::Int2(value) => out.extend_from_slice(&value.to_be_bytes()),
        DatumRef::Int4(value) => out.extend_from_slice(&value.to_be_bytes()),
        DatumRef::Int8(value) if ty == Type::TID => {
            out.extend_from_slice(&((value >> TID_OFFSET_BITS) as u32).to_be_bytes());
            out.extend_from_slice(&(value as u16).to_be_bytes());
        }
        DatumRef::Int8(value) if ty == Type::MACADDR => {
            out.extend_from_slice(&Mac::<6>::from_held(value).bytes());
        }
        DatumRef::Int8(value) if ty == Type::MACADDR8 => {
            out.extend_from_slice(&Mac::<8>::from_held(value).bytes());
        }
        DatumRef::Int8(value) => out.extend_from_slice(&value.to_be_bytes()),
        DatumRef::Float4(value) => out.extend_from_slice(&value.to_be_bytes()),
        DatumRef::Float8(value) => out.extend_from_slice(&value.to_be_bytes()),
        DatumRef::Numeric(value) => value.get().to_wire(out),
        DatumRef::Text(value) => match ty {
            Type::PG_SNAPSHOT | Type::TXID_SNAPSHOT => Visibility::parse(value)?.to_wire(out),
            Type::CHAR => out.push(byte_of_char(value)),
            Type::BPCHAR => {
                let mut text = String::new();
                padded(value, modifier, &mut text);
                out.extend_from_slice(text.as_bytes());
            }
            Type::JSONPATH | Type::LQUERY | Type::LTXTQUERY => {
                out.push(TEXT_VERSION);
                out.extend_from_slice(value.as_bytes());
            }
            _ => interrupt::append(out, value.as_bytes())?,
        },
        DatumRef::Folded(value) => interrupt::append(out, value.as_bytes())?,
        DatumRef::Bytea(value) => match ty {
            Type::INET | Type::CIDR => Inet::held(value)?.to_wire(ty == Type::CIDR, out),
            Type::BIT | Type::VARBIT => Bits::held(value)?.to_wire(out),
            Type::HSTORE => Hstore::new(value).to_wire(out)?,
            Type::LTREE => {
                out.push(TEXT_VERSION);
                out.extend_from_slice(Ltree::new(value).to_text()?.as_bytes());
            }
            Type::TSVECTOR => search::Vector::new(value).to_wire(out)?,
            Type::TSQUERY => {
                search::query::to_wire(search::query::read(value).as_ref(), out)?;
            }
            _ => interrupt::append(out, value)?,
        },
        DatumRef::Date(value) => out.extend_from_slice(&value.0.to_be_bytes()),
        DatumRef::Time(value) => out.extend_from_slice(&value.0.to_be_bytes()),
        DatumRef::TimeTz(value) => {
            out.extend_from_slice(&value.time.0.to_be_bytes());
            out.extend_from_slice(&value.west_s.to_be_bytes());
        }
        DatumRef::Timestamp(value) => out.extend_from_slice(&value.0.to_be_bytes()),
        DatumRef::TimestampTz(value) => out.extend_from_slice(&value.0.to_be_bytes()),
        DatumRef::Interval(value) => {
            out.extend_from_slice(&value.us.to_be_bytes());
            out.extend_from_slice(&value.days.to_be_bytes());
            out.extend_from_slice(&value.months.to_be_bytes());
        }
        DatumRef::Uuid(value) => out.extend_from_slice(&value),
        DatumRef::Jsonb(value) => {
            out.push(TEXT_VERSION);
            value.write_text(out)?;
        }
        DatumRef::Oid(value) => out.extend_from_slice(&value.0.to_be_bytes()),
        DatumRef::Array(value) => {
            let (element, mut dimensions) = (value.element_type(), value.dimensions());
            // The two vector types have one dimension always, even an empty one.
            if dimensions.is_empty() && matches!(ty, Type::INT2VECTOR | Type::OIDVECTOR) {
                dimensions.push(Dimension { length: 0, lower: 0 });
            }
            out.extend_from_slice(&(dimensions.len() as i32).to_be_bytes());
            out.extend_from_slice(&i32::from(value.has_nulls()).to_be_bytes());
            out.extend_from_slice(&element.oid().0.to_be_bytes());
            for dimension in dimensions {
                out.extend_from_slice(&dimension.length.to_be_bytes());
                out.extend_from_slice(&dimension.lower.to_be_bytes());
            }
            let (mut pace, mut paid) = (Pace::new(), out.len());
            for value in value.iter() {
                write_counted(value, element, modifier, context, out)?;
                pace.step(out.len() - paid)?;
                paid = out.len();
            }
        }
        DatumRef::Record(value) => {
            out.extend_from_slice(&(value.len() as i32).to_be_bytes());
            for (ty, _, value) in value.iter() {
                out.extend_from_slice(&ty.oid().0.to_be_bytes());
                write_counted(value, ty, Modifier::NONE, context, out)?;
            }
        }
        DatumRef::Range(value) => write_range(value, context, out)?,
        DatumRef::Multirange(value) => {
            out.extend_from_slice(&(value.iter().count() as i32).to_be_bytes());
            for range in value.iter() {
                counted(out, |out| write_range(range, context, out))?;
            }
        }
        DatumRef::Enum(value) => {
            if let Ok(Shape::Enum(labels)) = context.types.shape_of(ty) {
                out.extend_from_slice(labels.label(value).map_or(&[], |label| label.as_bytes()));
            }
        }
    }
    Ok(())
}

/// The flags of a range, and the values of its bounds.
fn write_range(range: RangeRef<'_>, context: &Context<'_>, out: &mut Vec<u8>) -> Result<()> {
    out.push(range.flags());
    let bounds = range.bounds().map(|(lower, upper)| [lower, upper]);
    let values = bounds.into_iter().flatten().filter_map(|bound| bound.value);
    for value in values {
        write_counted(value, range.element_type(), Modifier::NONE, context, out)?;
    }
    Ok(())
}

/// A value with its length in front.
fn write_counted(
    value: DatumRef<'_>,
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    if value.is_null() {
        out.extend_from_slice(&NULL_LENGTH.to_be_bytes());
        return Ok(());
    }
    counted(out, |out| write(value, ty, modifier, context, out))
}

/// Writes what `write` appends, with its length in front.
fn counted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn malformed(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}

fn out_of_range(what: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
}

/// Takes a fixed number of bytes off the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    Ok(take_bytes(bytes, N)?.try_into().expect("as many as were asked for"))
}

fn take_bytes<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(|| {
        Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
    })?;
    *bytes = rest;
    Ok(taken)
}

fn take_i32(bytes: &mut &[u8]) -> Result<i32> {
    take(bytes).map(i32::from_be_bytes)
}

fn take_i64(bytes: &mut &[u8]) -> Result<i64> {
    take(bytes).map(i64::from_be_bytes)
}

/// All that is left, as text.
fn take_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str> {
    crate::text::utf8(std::mem::take(bytes))
}

/// Reads a value of a type from its binary form, which is all of `bytes`, as a column with this
/// modifier takes it.
///
/// # Errors
/// 08P01 where bytes are missing, 22P03 where there are too many or they are no such value, 22021 for
/// what is no text, 22008 and 22003 for what is out of range.
pub fn read(bytes: &[u8], ty: Type, modifier: Modifier, context: &Context<'_>) -> Result<Datum> {
    read_nested(bytes, ty, modifier, context, 0)
}

/// As [`read`], where no bytes stand for NULL.
///
/// # Errors
/// As [`read`]; 23502 where the type is a domain that refuses NULL.
pub fn read_nullable(
    bytes: Option<&[u8]>,
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
) -> Result<Datum> {
    match bytes {
        Some(bytes) => read(bytes, ty, modifier, context),
        None => context.null_of(ty),
    }
}

/// As [`read`], for a value that lies `depth` deep in records.
fn read_nested(
    bytes: &[u8],
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
    depth: u32,
) -> Result<Datum> {
    if depth > DEPTH_MAX {
        return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
    }
    let mut rest = bytes;
    let value = match context.types.shape_of(ty)? {
        Shape::Scalar(Repr::Record) => Datum::Record(take_record(&mut rest, None, context, depth)?),
        Shape::Scalar(repr) => take_scalar(&mut rest, ty, repr)?,
        Shape::Array(element) => take_array(&mut rest, element, modifier, context, depth)?.into(),
        Shape::Enum(labels) => {
            let label = take_text(&mut rest)?;
            Datum::Enum(labels.order(label).ok_or_else(|| {
                let name = context.types.name_of(ty);
                Error::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!("invalid input value for enum {name}: \"{label}\""),
                )
            })?)
        }
        Shape::Domain(..) => {
            let (base, modifier) = context.types.base_of(ty);
            let value = read_nested(bytes, base, modifier, context, depth + 1)?;
            return context.as_domain(ty, value, Coercion::Assignment);
        }
        Shape::Composite(fields) => {
            Datum::Record(take_record(&mut rest, Some(&fields), context, depth)?)
        }
        Shape::Range(element) => take_range(&mut rest, ty, element, context, depth)?.into(),
        Shape::Multirange(of) => {
            let element = context.types.bounds_of(of)?;
            let mut ranges = Vec::new();
            for _ in 0..take_i32(&mut rest)? {
                let length = usize::try_from(take_i32(&mut rest)?)
                    .map_err(|_| malformed("insufficient data left in message"))?;
                let mut range = take_bytes(&mut rest, length)?;
                ranges.push(take_range(&mut range, of, element, context, depth)?);
                if !range.is_empty() {
                    return Err(malformed("incorrect binary data format"));
                }
            }
            Multirange::of(ranges.iter().map(Range::as_ref)).into()
        }
    };
    if !rest.is_empty() {
        return Err(malformed("incorrect binary data format"));
    }
    modifier.apply(value, ty, Coercion::Assignment)
}

fn take_scalar(bytes: &mut &[u8], ty: Type, repr: Repr) -> Result<Datum> {
    Ok(match repr {
        Repr::Bool => Datum::Bool(take::<1>(bytes)? != [0]),
        Repr::Int2 => i16::from_be_bytes(take(bytes)?).into(),
        Repr::Int4 => take_i32(bytes)?.into(),
        Repr::Int8 if ty == Type::TID => {
            let (block, offset) = (take::<4>(bytes)?, take::<2>(bytes)?);
            let (block, offset) = (u32::from_be_bytes(block), u16::from_be_bytes(offset));
            (i64::from(block) << TID_OFFSET_BITS | i64::from(offset)).into()
        }
        Repr::Int8 if ty == Type::MACADDR => Mac::<6>::from_bytes(take(bytes)?).into(),
        Repr::Int8 if ty == Type::MACADDR8 && bytes.len() == 6 => {
            Mac::<6>::from_bytes(take(bytes)?).widened().into()
        }
        Repr::Int8 if ty == Type::MACADDR8 => Mac::<8>::from_bytes(take(bytes)?).into(),
        Repr::Int8 => take_i64(bytes)?.into(),
        Repr::Float4 => f32::from_be_bytes(take(bytes)?).into(),
        Repr::Float8 => f64::from_be_bytes(take(bytes)?).into(),
        Repr::Numeric => Numeric::from_wire(std::mem::take(bytes))?.into(),
        Repr::Text => take_text_value(bytes, ty)?,
        Repr::Folded => Datum::Folded(take_text(bytes)?.into()),
        Repr::Bytea => match ty {
            Type::INET | Type::CIDR => Inet::from_wire(bytes, ty == Type::CIDR)?.into(),
            Type::BIT | Type::VARBIT => Bits::from_wire(bytes)?.into(),
            Type::HSTORE => Datum::bytea(hstore::from_wire(bytes)?),
            Type::LTREE => {
                take_version(bytes, "ltree")?;
                Datum::bytea(ltree::parse(take_text(bytes)?)?)
            }
            Type::TSVECTOR => Datum::bytea(search::vector::from_wire(bytes)?),
            Type::TSQUERY => Datum::bytea(search::query::from_wire(bytes)?),
            _ if geometry::is_geometric(ty) => geometry::take(bytes, ty)?,
            _ => Datum::bytea(std::mem::take(bytes)),
        },
        Repr::Date => match Date(take_i32(bytes)?) {
            date if date.is_finite() => {
                Date::from_days(i64::from(date.0)).ok_or_else(|| out_of_range("date"))?.into()
            }
            infinite => infinite.into(),
        },
        Repr::Time => take_time(bytes)?.into(),
        Repr::TimeTz => {
            let (time, west_s) = (take_time(bytes)?, take_i32(bytes)?);
            if !(-ZONE_S_END < west_s && west_s < ZONE_S_END) {
                return Err(Error::new(
                    SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                    "time zone displacement out of range",
                ));
            }
            TimeTz { time, west_s }.into()
        }
        Repr::Timestamp => match Timestamp(take_i64(bytes)?) {
            at if at.is_finite() => {
                Timestamp::in_range(at.0).ok_or_else(|| out_of_range("timestamp"))?.into()
            }
            infinite => infinite.into(),
        },
        Repr::TimestampTz => match TimestampTz(take_i64(bytes)?) {
            at if at.is_finite() => {
                TimestampTz::in_range(at.0).ok_or_else(|| out_of_range("timestamp"))?.into()
            }
            infinite => infinite.into(),
        },
        Repr::Interval => {
            let (us, days, months) = (take_i64(bytes)?, take_i32(bytes)?, take_i32(bytes)?);
            Interval { months, days, us }.into()
        }
        Repr::Uuid => Datum::Uuid(take(bytes)?),
        Repr::Jsonb => {
            take_version(bytes, "jsonb")?;
            Jsonb::parse(take_text(bytes)?)?.into()
        }
        Repr::Oid => Oid(u32::from_be_bytes(take(bytes)?)).into(),
        Repr::Array | Repr::Record | Repr::Enum | Repr::Range | Repr::Multirange => {
            unreachable!("none of them is a scalar")
        }
    })
}

fn take_time(bytes: &mut &[u8]) -> Result<Time> {
    let us = take_i64(bytes)?;
    if (0..=DAY_US).contains(&us) { Ok(Time(us)) } else { Err(out_of_range("time")) }
}

fn take_version(bytes: &mut &[u8], name: &str) -> Result<()> {
    match take(bytes)? {
        [TEXT_VERSION] => Ok(()),
        [version] => Err(Error::new(
            SqlState::INTERNAL_ERROR,
            format!("unsupported {name} version number {version}"),
        )),
    }
}

fn take_text_value(bytes: &mut &[u8], ty: Type) -> Result<Datum> {
    Ok(match ty {
        Type::CHAR => {
            let [byte] = take(bytes)?;
            char_of_byte(byte).into()
        }
        Type::BPCHAR => take_text(bytes)?.trim_end_matches(' ').into(),
        Type::JSON => {
            let text = take_text(bytes)?;
            written::check(text)?;
            text.into()
        }
        Type::JSONPATH => {
            take_version(bytes, "jsonpath")?;
            Path::parse(take_text(bytes)?)?.to_string().into()
        }
        Type::PG_SNAPSHOT | Type::TXID_SNAPSHOT => Visibility::from_wire(bytes)?.to_string().into(),
        Type::LQUERY => {
            take_version(bytes, "lquery")?;
            Lquery::parse(take_text(bytes)?)?.to_string().into()
        }
        Type::LTXTQUERY => {
            take_version(bytes, "ltxtquery")?;
            Ltxtquery::parse(take_text(bytes)?)?.to_string().into()
        }
        _ => take_text(bytes)?.into(),
    })
}

fn mismatch(context: &Context<'_>, what: &str, got: Type, expected: Type, place: &str) -> Error {
    let (got_name, name) = (context.types.name_of(got), context.types.name_of(expected));
    let (got, expected) = (got.oid(), expected.oid());
    Error::new(
        SqlState::DATATYPE_MISMATCH,
        format!(
            "binary data has {what} {got} ({got_name}) instead of expected {expected} ({name}){place}"
        ),
    )
}

fn take_array(
    bytes: &mut &[u8],
    element: Type,
    modifier: Modifier,
    context: &Context<'_>,
    depth: u32,
) -> Result<Array> {
    let ndim = take_i32(bytes)?;
    let flags = take_i32(bytes)?;
    let ndim = match usize::try_from(ndim) {
        Ok(ndim) if ndim <= DIMENSIONS_MAX => ndim,
        Ok(_) => {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "number of array dimensions ({ndim}) exceeds the maximum allowed \
                     ({DIMENSIONS_MAX})"
                ),
            ));
        }
        Err(_) => return Err(malformed(format!("invalid number of dimensions: {ndim}"))),
    };
    if !matches!(flags, 0 | 1) {
        return Err(malformed(format!("invalid array flags: {flags}")));
    }
    let got = Type(Oid(u32::from_be_bytes(take(bytes)?)));
    if got != element {
        return Err(mismatch(context, "array element type", got, element, ""));
    }
    let repr = context.types.repr_of(element)?;
    let mut dimensions = Vec::with_capacity(ndim);
    for _ in 0..ndim {
        let (length, lower) = (take_i32(bytes)?, take_i32(bytes)?);
        if length < 0 {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("array size exceeds the maximum allowed ({})", array::ELEMENTS_MAX),
            ));
        }
        dimensions.push(Dimension { length, lower });
    }
    let count = array::count(&dimensions)?;
    let mut elements = Vec::new();
    for _ in 0..count {
        elements.push(take_counted(bytes, element, modifier, context, depth)?);
    }
    Array::new(element, repr, &dimensions, elements.iter().map(Datum::as_ref))
}

/// A value with its length in front.
fn take_counted(
    bytes: &mut &[u8],
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
    depth: u32,
) -> Result<Datum> {
    match take_i32(bytes)? {
        NULL_LENGTH => context.null_of(ty),
        length => {
            let length = usize::try_from(length)
                .map_err(|_| malformed("insufficient data left in message"))?;
            let value = take_bytes(bytes, length)?;
            read_nested(value, ty, modifier, context, depth + 1)
        }
    }
}

/// Reads a record. Without `fields` its columns have the types that the bytes name.
fn take_record(
    bytes: &mut &[u8],
    fields: Option<&[Field]>,
    context: &Context<'_>,
    depth: u32,
) -> Result<Record> {
    let count = take_i32(bytes)?;
    if let Some(fields) = fields
        && usize::try_from(count) != Ok(fields.len())
    {
        return Err(Error::new(
            SqlState::DATATYPE_MISMATCH,
            format!("wrong number of columns: {count}, expected {}", fields.len()),
        ));
    }
    let mut values = Vec::new();
    for at in 0..count.max(0) as usize {
        let got = Type(Oid(u32::from_be_bytes(take(bytes)?)));
        let field = fields.map(|fields| &fields[at]);
        let modifier = field.map_or(Modifier::NONE, |field| field.modifier);
        if let Some(field) = field
            && field.ty != got
        {
            let place = format!(" in record column {}", at + 1);
            return Err(mismatch(context, "type", got, field.ty, &place));
        }
        let repr = context.types.repr_of(got)?;
        values.push((got, repr, take_counted(bytes, got, modifier, context, depth)?));
    }
    Ok(Record::new(values.iter().map(|(ty, repr, value)| (*ty, *repr, value.as_ref()))))
}

/// A range of the type `ty`, whose bounds have the type `element`.
fn take_range(
    bytes: &mut &[u8],
    ty: Type,
    element: Type,
    context: &Context<'_>,
    depth: u32,
) -> Result<Range> {
    let repr = context.types.repr_of(element)?;
    // As PostgreSQL does, flags that mean nothing are left out.
    let [flags] = take(bytes)?;
    if flags & range::EMPTY != 0 {
        return Ok(Range::empty(element, repr));
    }
    let mut value = |infinite: u8| match flags & infinite {
        0 => take_counted(bytes, element, Modifier::NONE, context, depth),
        _ => Ok(Datum::Null),
    };
    let (lower, upper) = (value(range::LOWER_INFINITE)?, value(range::UPPER_INFINITE)?);
    let lower = Bound::lower(lower.as_ref(), flags & range::LOWER_INCLUSIVE != 0);
    let upper = Bound::upper(upper.as_ref(), flags & range::UPPER_INCLUSIVE != 0);
    Range::new(element, repr, lower, upper)?.canonical(ty)
}
