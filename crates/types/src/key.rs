//! The key form: values as bytes that are compared as bytes.
//!
//! ```text
//!   a column of a key            00          NULL, where NULLs come first
//!                                01 value    every bit of the value turned over for DESC
//!                                02          NULL, where NULLs come last
//!
//!   bool                         1 byte
//!   int2 int4 int8 date time
//!     timestamp[tz]              big end first, the sign's bit turned over
//!   oid uuid                     big end first
//!   float4 float8 enum           the bits: negative ones turned over, positive ones with the sign's
//!                                bit set; one zero and one NaN
//!   timetz                       the moment as an int8, then the zone as an int4
//!   interval                     the length in microseconds, 16 bytes
//!   numeric                      its own key, see the crate
//!   text bytea                   the bytes, with 00 as 01 01 and 01 as 01 02; then 00
//!   citext                       its small letters, as text
//!   jsonb                        its own key, written as a bytea
//!   arrays                       its elements as columns, 00, the number of dimensions, their
//!                                lengths, their lower bounds; all written as a bytea
//!   records                      the fields as columns, 00; all written as a bytea
//!   ranges                       00 if empty; else 01 and both bounds: 00 for none below, 02 for none
//!                                above, or the value as a column, then 00 for `[`, 01 for `(`, or
//!                                00 for `)`, 01 for `]`; all written as a bytea
//!   multiranges                  the ranges, 00; all written as a bytea
//! ```
//!
//! No value's bytes are the beginning of another's, so columns are put one behind the other, and a
//! key of the first columns is a prefix of all keys that begin with those values. Equal values have
//! equal keys, even where they look different (`1.0` and `1.00`); what a key gives back is only
//! exact for the types of [`is_reversible`].

use std::borrow::Cow;

use numeric::Numeric;

use crate::packed::{damaged, take_array};
use crate::time::{Date, SECOND_US, Time, TimeTz, Timestamp, TimestampTz};
use crate::{Datum, DatumRef, EnumOrder, Oid, RangeRef, Repr, Result};

const NULL_FIRST: u8 = 0;
/// The byte in front of every value that is not NULL, in either direction.
pub const VALUE: u8 = 1;
const NULL_LAST: u8 = 2;

/// The end of bytes, of an array's elements, of a record's fields.
const END: u8 = 0;
/// The byte that escapes 00 and 01: they become this and one more than their value.
const ESCAPE: u8 = 1;

/// The order of a column of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct KeyOrder {
    /// Greater values first.
    pub is_descending: bool,
    /// NULLs before all values, whatever the direction.
    pub has_nulls_first: bool,
}

impl KeyOrder {
    /// `ASC`, with NULLs last.
    pub const ASCENDING: KeyOrder = KeyOrder { is_descending: false, has_nulls_first: false };
    /// `DESC`, with NULLs first.
    pub const DESCENDING: KeyOrder = KeyOrder { is_descending: true, has_nulls_first: true };
}

/// Appends a column to a key.
pub fn write(value: DatumRef<'_>, order: KeyOrder, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(if order.has_nulls_first { NULL_FIRST } else { NULL_LAST });
        return;
    }
    out.push(VALUE);
    let start = out.len();
    write_value(value, out);
    if order.is_descending {
        turn_over(&mut out[start..]);
    }
}

fn turn_over(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
}

fn write_value(value: DatumRef<'_>, out: &mut Vec<u8>) {
    let mut int4 = |value: i32| out.extend_from_slice(&(value ^ i32::MIN).to_be_bytes());
    match value {
        DatumRef::Null => {}
        DatumRef::Bool(value) => out.push(u8::from(value)),
        DatumRef::Int2(value) => out.extend_from_slice(&(value ^ i16::MIN).to_be_bytes()),
        DatumRef::Int4(value) => int4(value),
        DatumRef::Date(value) => int4(value.0),
        DatumRef::Int8(value) => write_int8(value, out),
        DatumRef::Time(value) => write_int8(value.0, out),
        DatumRef::Timestamp(value) => write_int8(value.0, out),
        DatumRef::TimestampTz(value) => write_int8(value.0, out),
        DatumRef::TimeTz(value) => {
            write_int8(value.utc_us(), out);
            out.extend_from_slice(&(value.west_s ^ i32::MIN).to_be_bytes());
        }
        DatumRef::Interval(value) => {
            out.extend_from_slice(&(value.span_us() ^ i128::MIN).to_be_bytes());
        }
        DatumRef::Float4(value) => {
            let value = if value.is_nan() { f32::NAN } else { value + 0.0 };
            let bits = value.to_bits();
            let turned = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
            out.extend_from_slice(&turned.to_be_bytes());
        }
        DatumRef::Float8(value) => write_float8(value, out),
        DatumRef::Enum(value) => write_float8(value.get(), out),
        DatumRef::Numeric(value) => value.get().write_key(out),
        DatumRef::Oid(value) => out.extend_from_slice(&value.0.to_be_bytes()),
        DatumRef::Uuid(value) => out.extend_from_slice(&value),
        DatumRef::Text(value) => write_bytes(value.as_bytes(), out),
        DatumRef::Bytea(value) => write_bytes(value, out),
        DatumRef::Folded(value) => {
            let letters: String = crate::compare::folded(value).collect();
            write_bytes(letters.as_bytes(), out);
        }
        DatumRef::Jsonb(value) => {
            let mut key = Vec::new();
            value.write_key(&mut key);
            write_bytes(&key, out);
        }
        DatumRef::Array(value) => {
            let mut key = Vec::new();
            for element in value.iter() {
                write(element, KeyOrder::ASCENDING, &mut key);
            }
            key.push(END);
            let dimensions = value.dimensions();
            key.push(dimensions.len() as u8);
            for dimension in &dimensions {
                key.extend_from_slice(&dimension.length.to_be_bytes());
            }
            for dimension in &dimensions {
                key.extend_from_slice(&(dimension.lower ^ i32::MIN).to_be_bytes());
            }
            write_bytes(&key, out);
        }
        DatumRef::Record(value) => {
            let mut key = Vec::new();
            for (_, _, field) in value.iter() {
                write(field, KeyOrder::ASCENDING, &mut key);
            }
            key.push(END);
            write_bytes(&key, out);
        }
        DatumRef::Range(value) => {
            let mut key = Vec::new();
            write_range(value, &mut key);
            write_bytes(&key, out);
        }
        DatumRef::Multirange(value) => {
            let mut key = Vec::new();
            value.iter().for_each(|range| write_range(range, &mut key));
            key.push(END);
            write_bytes(&key, out);
        }
    }
}

fn write_range(range: RangeRef<'_>, out: &mut Vec<u8>) {
    let Some((lower, upper)) = range.bounds() else { return out.push(END) };
    out.push(VALUE);
    for bound in [lower, upper] {
        match bound.value {
            None => out.push(if bound.is_lower { NULL_FIRST } else { NULL_LAST }),
            Some(value) => {
                write(value, KeyOrder::ASCENDING, out);
                // A lower bound that leaves its value out lies behind it, an upper one before it.
                out.push(u8::from(bound.is_lower != bound.is_inclusive));
            }
        }
    }
}

fn write_int8(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value ^ i64::MIN).to_be_bytes());
}

fn write_float8(value: f64, out: &mut Vec<u8>) {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    let turned = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&turned.to_be_bytes());
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 1);
    for byte in bytes {
        if *byte <= ESCAPE {
            out.push(ESCAPE);
            out.push(byte + 1);
        } else {
            out.push(*byte);
        }
    }
    out.push(END);
}

/// True for representations whose values [`read`] gives back exactly as they were.
///
/// Of the other representations, values that look different can be equal.
pub fn is_reversible(repr: Repr) -> bool {
    match repr {
        Repr::Bool
        | Repr::Int2
        | Repr::Int4
        | Repr::Int8
        | Repr::Text
        | Repr::Bytea
        | Repr::Date
        | Repr::Time
        | Repr::TimeTz
        | Repr::Timestamp
        | Repr::TimestampTz
        | Repr::Uuid
        | Repr::Oid
        | Repr::Enum => true,
        Repr::Float4
        | Repr::Float8
        | Repr::Numeric
        | Repr::Interval
        | Repr::Jsonb
        | Repr::Array
        | Repr::Record
        | Repr::Folded
        | Repr::Range
        | Repr::Multirange => false,
    }
}

/// Takes a column off the front of a key that [`write`] made.
///
/// # Errors
/// XX001 where the bytes are no such column, and for representations that are not
/// [`is_reversible`].
pub fn read(key: &mut &[u8], repr: Repr, order: KeyOrder) -> Result<Datum> {
    let Some(bytes) = take_column(key, repr, order)? else {
        return Ok(Datum::Null);
    };
    let mut bytes = &*bytes;
    let input = &mut bytes;
    let int8 = |input: &mut &[u8]| -> Result<i64> {
        Ok(i64::from_be_bytes(take_array(input)?) ^ i64::MIN)
    };
    let int4 = |input: &mut &[u8]| -> Result<i32> {
        Ok(i32::from_be_bytes(take_array(input)?) ^ i32::MIN)
    };
    Ok(match repr {
        Repr::Bool => match take_array(input)? {
            [0] => Datum::Bool(false),
            [1] => Datum::Bool(true),
            _ => return Err(damaged("a boolean is neither true nor false")),
        },
        Repr::Int2 => Datum::Int2(i16::from_be_bytes(take_array(input)?) ^ i16::MIN),
        Repr::Int4 => Datum::Int4(int4(input)?),
        Repr::Int8 => Datum::Int8(int8(input)?),
        Repr::Text => {
            let text = String::from_utf8(plain_bytes(input)?);
            text.map_err(|_| damaged("a text is not valid UTF-8"))?.into()
        }
        Repr::Bytea => Datum::bytea(plain_bytes(input)?),
        Repr::Date => Date(int4(input)?).into(),
        Repr::Time => Time(int8(input)?).into(),
        Repr::TimeTz => {
            let (utc_us, west_s) = (int8(input)?, int4(input)?);
            let us = utc_us.saturating_sub(i64::from(west_s) * SECOND_US);
            TimeTz { time: Time(us), west_s }.into()
        }
        Repr::Timestamp => Timestamp(int8(input)?).into(),
        Repr::TimestampTz => TimestampTz(int8(input)?).into(),
        Repr::Uuid => Datum::Uuid(take_array(input)?),
        Repr::Oid => Oid(u32::from_be_bytes(take_array(input)?)).into(),
        Repr::Enum => {
            let turned = u64::from_be_bytes(take_array(input)?);
            let bits = if turned >> 63 == 1 { turned & !(1 << 63) } else { !turned };
            let order = EnumOrder::new(f64::from_bits(bits));
            Datum::Enum(order.ok_or_else(|| damaged("an enum's label has no order"))?)
        }
        Repr::Float4
        | Repr::Float8
        | Repr::Numeric
        | Repr::Interval
        | Repr::Jsonb
        | Repr::Array
        | Repr::Record
        | Repr::Folded
        | Repr::Range
        | Repr::Multirange => return Err(damaged("a key does not give such a value back")),
    })
}

/// Steps over a column of a key that [`write`] made.
///
/// # Errors
/// XX001 where the bytes are no such column.
pub fn skip(key: &mut &[u8], repr: Repr, order: KeyOrder) -> Result<()> {
    take_column(key, repr, order).map(|_| ())
}

/// Takes the bytes of a column's value off the front, the right way up; `None` for NULL.
fn take_column<'a>(
    key: &mut &'a [u8],
    repr: Repr,
    order: KeyOrder,
) -> Result<Option<Cow<'a, [u8]>>> {
    match take_array(key)? {
        [VALUE] => {}
        [NULL_FIRST] if order.has_nulls_first => return Ok(None),
        [NULL_LAST] if !order.has_nulls_first => return Ok(None),
        _ => return Err(damaged("a key has neither a value nor NULL")),
    }
    let length = match repr {
        Repr::Bool => 1,
        Repr::Int2 => 2,
        Repr::Int4 | Repr::Float4 | Repr::Date | Repr::Oid => 4,
        Repr::Int8
        | Repr::Float8
        | Repr::Time
        | Repr::Timestamp
        | Repr::TimestampTz
        | Repr::Enum => 8,
        Repr::TimeTz => 12,
        Repr::Interval | Repr::Uuid => 16,
        Repr::Numeric if order.is_descending => {
            let mut turned = key.to_vec();
            turn_over(&mut turned);
            Numeric::read_key(&turned)?.1
        }
        Repr::Numeric => Numeric::read_key(key)?.1,
        Repr::Text
        | Repr::Bytea
        | Repr::Jsonb
        | Repr::Array
        | Repr::Record
        | Repr::Folded
        | Repr::Range
        | Repr::Multirange => {
            let end = if order.is_descending { !END } else { END };
            let end = key.iter().position(|byte| *byte == end);
            end.ok_or_else(|| damaged("a key ends inside a text"))? + 1
        }
    };
    let (column, rest) =
        key.split_at_checked(length).ok_or_else(|| damaged("a key ends inside a value"))?;
    *key = rest;
    if !order.is_descending {
        return Ok(Some(Cow::Borrowed(column)));
    }
    let mut turned = column.to_vec();
    turn_over(&mut turned);
    Ok(Some(Cow::Owned(turned)))
}

/// Bytes without the escapes and the end that [`write_bytes`] gave them.
fn plain_bytes(escaped: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    loop {
        rest = match rest {
            [END] => return Ok(bytes),
            [ESCAPE, escaped @ 1..=2, after @ ..] => {
                bytes.push(escaped - 1);
                after
            }
            [byte, after @ ..] if *byte > ESCAPE => {
                bytes.push(*byte);
                after
            }
            _ => return Err(damaged("a key has an escape that is none")),
        };
    }
}
