//! Values as bytes, one after the other: the parts of rows, arrays and records.
//!
//! ```text
//!   bool               1 byte, 0 or 1
//!   int2               2 bytes                             numbers are little-endian
//!   int4 float4 date oid                4 bytes
//!   int8 float8 time timestamp[tz]      8 bytes
//!   enum               8 bytes, the float of its order
//!   timetz             8 bytes time, 4 bytes zone
//!   interval           8 bytes microseconds, 4 days, 4 months
//!   uuid               16 bytes
//!   all others         length in bytes as a varint, then the bytes
//!
//!   a sequence of n values     flag  [null bitmap]  value value value ...
//!     flag     0: no NULLs, no bitmap;  1: a bitmap of ceil(n/8) bytes follows, bit i set: NULL
//!     NULLs take no further bytes
//! ```
//!
//! Stepping over a value never looks into it, so any value of a sequence is reached with one step
//! for each before it. Reading checks everything: bytes that were damaged give an error, whatever
//! they are. A value that was read once is known to be sound, which is why [`ArrayRef`] and
//! [`RecordRef`] hand out their elements without a `Result`.

use json::jsonb::JsonbRef;

use crate::time::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
use crate::{
    ArrayRef, DatumRef, EnumOrder, Error, MultirangeRef, NumericRef, Oid, RangeRef, RecordRef,
    Repr, Result, SqlState,
};

/// How deep arrays and records may lie in one another.
pub(crate) const DEPTH_MAX: u32 = 256;

/// The error for stored bytes that are not what was once written.
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("stored value is damaged: {what}"))
}

/// Writes `number` in as few bytes as it needs, seven bits in each, the lowest first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number that [`put_varint`] wrote off the front.
#[inline]
pub(crate) fn take_varint(input: &mut &[u8]) -> Result<u64> {
    match input.split_first() {
        Some((byte @ ..0x80, rest)) => {
            *input = rest;
            Ok(u64::from(*byte))
        }
        _ => take_long_varint(input),
    }
}

fn take_long_varint(input: &mut &[u8]) -> Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = input.split_first().ok_or_else(|| damaged("it ends inside a number"))?;
        *input = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            break;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(damaged("a number has more than 64 bits"))
}

/// Takes `count` bytes off the front.
#[inline]
pub(crate) fn take_bytes<'a>(input: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) =
        input.split_at_checked(count).ok_or_else(|| damaged("it ends inside a value"))?;
    *input = rest;
    Ok(taken)
}

/// Takes a fixed number of bytes off the front.
#[inline]
pub(crate) fn take_array<const N: usize>(input: &mut &[u8]) -> Result<[u8; N]> {
    Ok(take_bytes(input, N)?.try_into().expect("as many as were asked for"))
}

/// How many bytes values of the representation take; `None` if it varies.
pub(crate) const fn width(repr: Repr) -> Option<usize> {
    match repr {
        Repr::Bool => Some(1),
        Repr::Int2 => Some(2),
        Repr::Int4 | Repr::Float4 | Repr::Date | Repr::Oid => Some(4),
        Repr::Int8 | Repr::Float8 | Repr::Time | Repr::Timestamp | Repr::TimestampTz => Some(8),
        Repr::Enum => Some(8),
        Repr::TimeTz => Some(12),
        Repr::Interval | Repr::Uuid => Some(16),
        Repr::Numeric
        | Repr::Text
        | Repr::Bytea
        | Repr::Jsonb
        | Repr::Array
        | Repr::Record
        | Repr::Folded
        | Repr::Range
        | Repr::Multirange => None,
    }
}

/// Writes a value; NULL writes nothing.
pub(crate) fn put(out: &mut Vec<u8>, value: DatumRef<'_>) {
    match value {
        DatumRef::Null => {}
        DatumRef::Bool(value) => out.push(u8::from(value)),
        DatumRef::Int2(value) => out.extend_from_slice(&value.to_le_bytes()),
        DatumRef::Int4(value) => out.extend_from_slice(&value.to_le_bytes()),
        DatumRef::Int8(value) => out.extend_from_slice(&value.to_le_bytes()),
        DatumRef::Float4(value) => out.extend_from_slice(&value.to_le_bytes()),
        DatumRef::Float8(value) => out.extend_from_slice(&value.to_le_bytes()),
        DatumRef::Numeric(value) => {
            let start = out.len();
            value.put_stored(out);
            // The length goes before it afterwards; it is short nearly always.
            match u8::try_from(out.len() - start) {
                Ok(length @ ..0x80) => out.insert(start, length),
                _ => {
                    let mut length = Vec::new();
                    put_varint(&mut length, (out.len() - start) as u64);
                    out.splice(start..start, length);
                }
            }
        }
        DatumRef::Text(value) | DatumRef::Folded(value) => put_counted(out, value.as_bytes()),
        DatumRef::Bytea(value) => put_counted(out, value),
        DatumRef::Date(value) => out.extend_from_slice(&value.0.to_le_bytes()),
        DatumRef::Time(value) => out.extend_from_slice(&value.0.to_le_bytes()),
        DatumRef::TimeTz(value) => {
            out.extend_from_slice(&value.time.0.to_le_bytes());
            out.extend_from_slice(&value.west_s.to_le_bytes());
        }
        DatumRef::Timestamp(value) => out.extend_from_slice(&value.0.to_le_bytes()),
        DatumRef::TimestampTz(value) => out.extend_from_slice(&value.0.to_le_bytes()),
        DatumRef::Interval(value) => {
            out.extend_from_slice(&value.us.to_le_bytes());
            out.extend_from_slice(&value.days.to_le_bytes());
            out.extend_from_slice(&value.months.to_le_bytes());
        }
        DatumRef::Uuid(value) => out.extend_from_slice(&value),
        DatumRef::Jsonb(value) => put_counted(out, value.bytes()),
        DatumRef::Oid(value) => out.extend_from_slice(&value.0.to_le_bytes()),
        DatumRef::Array(value) => put_counted(out, value.as_bytes()),
        DatumRef::Record(value) => put_counted(out, value.as_bytes()),
        DatumRef::Range(value) => put_counted(out, value.as_bytes()),
        DatumRef::Multirange(value) => put_counted(out, value.as_bytes()),
        DatumRef::Enum(value) => out.extend_from_slice(&value.get().to_le_bytes()),
    }
}

fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes the bytes of one value off the front, without looking into them.
#[inline]
pub(crate) fn take_raw<'a>(input: &mut &'a [u8], repr: Repr) -> Result<&'a [u8]> {
    match width(repr) {
        Some(width) => take_bytes(input, width),
        None => take_counted(input),
    }
}

/// Takes the bytes of a value that has its length before it off the front.
#[inline]
pub(crate) fn take_counted<'a>(input: &mut &'a [u8]) -> Result<&'a [u8]> {
    let count = take_varint(input)?;
    take_bytes(input, usize::try_from(count).map_err(|_| damaged("a length is too big"))?)
}

/// Takes one value off the front. `depth` is how many arrays and records it lies in.
pub(crate) fn take<'a>(input: &mut &'a [u8], repr: Repr, depth: u32) -> Result<DatumRef<'a>> {
    take_value(input, repr, Some(depth))
}

/// As [`take`] at no depth; the types that most columns have are taken without a call.
#[inline]
pub(crate) fn take_usual<'a>(input: &mut &'a [u8], repr: Repr) -> Result<DatumRef<'a>> {
    Ok(match repr {
        Repr::Int4 => DatumRef::Int4(i32::from_le_bytes(take_array(input)?)),
        Repr::Int8 => DatumRef::Int8(i64::from_le_bytes(take_array(input)?)),
        Repr::Date => DatumRef::Date(Date(i32::from_le_bytes(take_array(input)?))),
        _ => take(input, repr, 0)?,
    })
}

/// Takes one value off the front of what [`take`] has passed before, or what was just written.
pub(crate) fn take_again<'a>(input: &mut &'a [u8], repr: Repr) -> DatumRef<'a> {
    take_value(input, repr, None).expect("checked when it was read or made")
}

/// As [`take`]; without a depth, arrays and records are known to be sound.
fn take_value<'a>(input: &mut &'a [u8], repr: Repr, depth: Option<u32>) -> Result<DatumRef<'a>> {
    value_of(take_raw(input, repr)?, repr, depth)
}

/// The value whose bytes these are, as [`take_raw`] takes them.
pub(crate) fn value_of<'a>(
    mut bytes: &'a [u8],
    repr: Repr,
    depth: Option<u32>,
) -> Result<DatumRef<'a>> {
    let bytes = &mut bytes;
    Ok(match repr {
        Repr::Bool => match bytes {
            [0] => DatumRef::Bool(false),
            [1] => DatumRef::Bool(true),
            _ => return Err(damaged("a boolean is neither true nor false")),
        },
        Repr::Int2 => DatumRef::Int2(i16::from_le_bytes(take_array(bytes)?)),
        Repr::Int4 => DatumRef::Int4(i32::from_le_bytes(take_array(bytes)?)),
        Repr::Int8 => DatumRef::Int8(i64::from_le_bytes(take_array(bytes)?)),
        Repr::Float4 => DatumRef::Float4(f32::from_le_bytes(take_array(bytes)?)),
        Repr::Float8 => DatumRef::Float8(f64::from_le_bytes(take_array(bytes)?)),
        Repr::Numeric => DatumRef::Numeric(
            NumericRef::from_stored(bytes).ok_or_else(|| damaged("a numeric is not readable"))?,
        ),
        Repr::Text => DatumRef::Text(text_of(bytes)?),
        Repr::Folded => DatumRef::Folded(text_of(bytes)?),
        Repr::Bytea => DatumRef::Bytea(bytes),
        Repr::Date => DatumRef::Date(Date(i32::from_le_bytes(take_array(bytes)?))),
        Repr::Time => DatumRef::Time(Time(i64::from_le_bytes(take_array(bytes)?))),
        Repr::TimeTz => DatumRef::TimeTz(TimeTz {
            time: Time(i64::from_le_bytes(take_array(bytes)?)),
            west_s: i32::from_le_bytes(take_array(bytes)?),
        }),
        Repr::Timestamp => DatumRef::Timestamp(Timestamp(i64::from_le_bytes(take_array(bytes)?))),
        Repr::TimestampTz => {
            DatumRef::TimestampTz(TimestampTz(i64::from_le_bytes(take_array(bytes)?)))
        }
        Repr::Interval => DatumRef::Interval(Interval {
            us: i64::from_le_bytes(take_array(bytes)?),
            days: i32::from_le_bytes(take_array(bytes)?),
            months: i32::from_le_bytes(take_array(bytes)?),
        }),
        Repr::Uuid => DatumRef::Uuid(take_array(bytes)?),
        // Its reader copes with any bytes; proving them right here would read all of a large value.
        Repr::Jsonb => DatumRef::Jsonb(JsonbRef::new(bytes)),
        Repr::Oid => DatumRef::Oid(Oid(u32::from_le_bytes(take_array(bytes)?))),
        Repr::Array => DatumRef::Array(match depth {
            Some(depth) => ArrayRef::check(bytes, depth + 1)?,
            None => ArrayRef::sound(bytes),
        }),
        Repr::Record => DatumRef::Record(match depth {
            Some(depth) => RecordRef::check(bytes, depth + 1)?,
            None => RecordRef::sound(bytes),
        }),
        Repr::Range => DatumRef::Range(match depth {
            Some(depth) => RangeRef::check(bytes, depth + 1)?,
            None => RangeRef::sound(bytes),
        }),
        Repr::Multirange => DatumRef::Multirange(match depth {
            Some(depth) => MultirangeRef::check(bytes, depth + 1)?,
            None => MultirangeRef::sound(bytes),
        }),
        Repr::Enum => DatumRef::Enum(
            EnumOrder::new(f64::from_le_bytes(take_array(bytes)?))
                .ok_or_else(|| damaged("an enum's label has no order"))?,
        ),
    })
}

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| damaged("a text is not valid UTF-8"))
}

/// Writes a sequence of `count` values: the flag, the bitmap where there are NULLs, the values.
///
/// Values beyond `count` are not written. Returns how many values there were in all.
pub(crate) fn put_sequence<'a>(
    out: &mut Vec<u8>,
    count: usize,
    values: impl Iterator<Item = DatumRef<'a>>,
) -> usize {
    let flag = out.len();
    let bitmap = flag + 1;
    out.push(0);
    let mut seen = 0;
    for value in values {
        if value.is_null() && seen < count {
            if out[flag] == 0 {
                out[flag] = 1;
                out.splice(bitmap..bitmap, std::iter::repeat_n(0, count.div_ceil(8)));
            }
            out[bitmap + seen / 8] |= 1 << (seen % 8);
        } else if seen < count {
            put(out, value);
        }
        seen += 1;
    }
    seen
}

/// The two parts of a sequence of `count` values.
#[derive(Clone, Copy)]
pub(crate) struct Sequence<'a> {
    /// Empty where there are no NULLs.
    nulls: &'a [u8],
    /// The values, one after the other.
    pub(crate) values: &'a [u8],
}

impl<'a> Sequence<'a> {
    /// Returns the sequence of `count` values at the start of `input`, which may be longer.
    #[inline]
    pub(crate) fn new(mut input: &'a [u8], count: usize) -> Result<Self> {
        let nulls = match take_array::<1>(&mut input)? {
            [0] => &[],
            [1] => take_bytes(&mut input, count.div_ceil(8))?,
            _ => return Err(damaged("a flag is neither set nor clear")),
        };
        Ok(Self { nulls, values: input })
    }

    /// The bitmap of NULLs; empty where there is none.
    pub(crate) fn nulls(&self) -> &'a [u8] {
        self.nulls
    }

    /// True if any of the values is NULL.
    pub(crate) fn has_nulls(&self) -> bool {
        self.nulls.iter().any(|byte| *byte != 0)
    }

    /// True if the value at `at`, from 0, is NULL.
    #[inline]
    pub(crate) fn is_null(&self, at: usize) -> bool {
        self.nulls.get(at / 8).is_some_and(|byte| byte & (1 << (at % 8)) != 0)
    }
}
