//! Values: [`Datum`] owns one, [`DatumRef`] looks at one, wherever it lies.
//!
//! ```text
//!   Datum ──as_ref()──> DatumRef<'a> <──get()── RowView, ArrayRef, RecordRef
//!     ^                     │
//!     └────to_owned()───────┘
//! ```
//!
//! A value does not know its SQL type, only how it is held: a [`Repr`]. `text`, `varchar`, `name`
//! and `json` are all [`Repr::Text`]; `oid` and `regclass` are both [`Repr::Oid`]. The type stands
//! beside the value: in the plan, in the catalog, in the head of an array.
//!
//! The representation of a type, where that is not plain:
//! * `char(n)` without its trailing blanks, which mean nothing; the modifier says how many blanks
//!   to show;
//! * `"char"` as a text of at most one character below U+0100, which is its byte;
//! * `tid` as block and offset, `pg_lsn` and `xid8` as the 64 bits, all in an `Int8`;
//! * an `inet` and a `cidr` as the bytes that [`Inet`](crate::Inet) describes, strings of bits as
//!   those of [`Bits`](crate::Bits), both in a `Bytea`;
//! * a `money` as the number of cents, in an `Int8`;
//! * a `macaddr` and a `macaddr8` as the number that [`Mac`](crate::Mac) describes, in an `Int8`;
//! * an enum's label by its place in the order of its type ([`EnumOrder`]);
//! * an `hstore` as the bytes that [`hstore`](crate::hstore) describes, in a `Bytea`;
//! * a `tsvector` and a `tsquery` as the bytes that [`search`](crate::search) describes, in a `Bytea`;
//! * a geometric value as the bytes that [`geometry`](crate::geometry) describes, in a `Bytea`;
//! * an `ltree` as the bytes that [`ltree`](crate::ltree) describes, in a `Bytea`, and its patterns as texts;
//! * a `pg_snapshot` and a `txid_snapshot` as the text that it is written as;
//! * a `jsonpath` as the text that it is written as;
//! * a domain as its base type.
//!
//! Clones share what is longer than a few bytes.

use std::fmt;
use std::sync::Arc;

use json::jsonb::{Jsonb, JsonbRef};
use numeric::Numeric;

use crate::numeric_ref::NumericRef;
use crate::time::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
use crate::{
    Array, ArrayRef, Multirange, MultirangeRef, Oid, Range, RangeRef, Record, RecordRef, ShortText,
};

/// How a value is held: the variant of [`Datum`] that it has, where it is not NULL.
///
/// The number is part of the stored forms of arrays and records and never changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Repr {
    /// `boolean`.
    Bool = 1,
    /// `smallint`.
    Int2 = 2,
    /// `integer`.
    Int4 = 3,
    /// `bigint`, and what else is 64 bits.
    Int8 = 4,
    /// `real`.
    Float4 = 5,
    /// `double precision`.
    Float8 = 6,
    /// `numeric`.
    Numeric = 7,
    /// All that is text.
    Text = 8,
    /// `bytea`.
    Bytea = 9,
    /// `date`.
    Date = 10,
    /// `time`.
    Time = 11,
    /// `timetz`.
    TimeTz = 12,
    /// `timestamp`.
    Timestamp = 13,
    /// `timestamptz`.
    TimestampTz = 14,
    /// `interval`.
    Interval = 15,
    /// `uuid`.
    Uuid = 16,
    /// `jsonb`.
    Jsonb = 17,
    /// `oid`, and what else names an object.
    Oid = 18,
    /// Arrays, and the two vector types.
    Array = 19,
    /// Rows of tables, composite types, `ROW(...)`.
    Record = 20,
    /// A label of an enum.
    Enum = 21,
    /// Text whose case does not count when it is compared: `citext`.
    Folded = 22,
    /// The values between two bounds.
    Range = 23,
    /// A list of ranges.
    Multirange = 24,
}

impl Repr {
    /// All of them, in the order of their numbers.
    pub const ALL: [Repr; 24] = [
        Repr::Bool,
        Repr::Int2,
        Repr::Int4,
        Repr::Int8,
        Repr::Float4,
        Repr::Float8,
        Repr::Numeric,
        Repr::Text,
        Repr::Bytea,
        Repr::Date,
        Repr::Time,
        Repr::TimeTz,
        Repr::Timestamp,
        Repr::TimestampTz,
        Repr::Interval,
        Repr::Uuid,
        Repr::Jsonb,
        Repr::Oid,
        Repr::Array,
        Repr::Record,
        Repr::Enum,
        Repr::Folded,
        Repr::Range,
        Repr::Multirange,
    ];

    /// The representation with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// The place of a label among the labels of its enum type, which identifies it there.
///
/// A label that is added between two others gets a number between theirs. Never NaN, and never
/// negative zero, so that equal numbers have equal bits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EnumOrder(f64);

impl EnumOrder {
    /// The place with this number; `None` for NaN.
    pub fn new(order: f64) -> Option<Self> {
        (!order.is_nan()).then_some(Self(order + 0.0))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Eq for EnumOrder {}

impl Ord for EnumOrder {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for EnumOrder {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A value that is owned, or NULL.
///
/// Equality, order and hash are those of grouping and of indexes: see [`crate::compare`].
#[derive(Clone, Default)]
pub enum Datum {
    /// No value.
    #[default]
    Null,
    /// `boolean`.
    Bool(bool),
    /// `smallint`.
    Int2(i16),
    /// `integer`.
    Int4(i32),
    /// `bigint`, and what else is 64 bits.
    Int8(i64),
    /// `real`.
    Float4(f32),
    /// `double precision`.
    Float8(f64),
    /// `numeric`.
    Numeric(Numeric),
    /// All that is text. It has no U+0000. Only what is too long for [`Datum::Short`] need be held so.
    Text(Arc<str>),
    /// Text of a few bytes.
    Short(ShortText),
    /// `bytea`.
    Bytea(Arc<[u8]>),
    /// `date`.
    Date(Date),
    /// `time`.
    Time(Time),
    /// `timetz`.
    TimeTz(TimeTz),
    /// `timestamp`.
    Timestamp(Timestamp),
    /// `timestamptz`.
    TimestampTz(TimestampTz),
    /// `interval`.
    Interval(Interval),
    /// `uuid`.
    Uuid([u8; 16]),
    /// `jsonb`.
    Jsonb(Jsonb),
    /// `oid`, and what else names an object.
    Oid(Oid),
    /// Arrays, and the two vector types.
    Array(Array),
    /// Rows of tables, composite types, `ROW(...)`.
    Record(Record),
    /// A label of an enum.
    Enum(EnumOrder),
    /// `citext`. It has no U+0000.
    Folded(Arc<str>),
    /// The values between two bounds.
    Range(Range),
    /// A list of ranges.
    Multirange(Multirange),
}

/// A value that lies elsewhere, or NULL.
#[derive(Clone, Copy)]
pub enum DatumRef<'a> {
    /// No value.
    Null,
    /// `boolean`.
    Bool(bool),
    /// `smallint`.
    Int2(i16),
    /// `integer`.
    Int4(i32),
    /// `bigint`, and what else is 64 bits.
    Int8(i64),
    /// `real`.
    Float4(f32),
    /// `double precision`.
    Float8(f64),
    /// `numeric`.
    Numeric(NumericRef<'a>),
    /// All that is text. It has no U+0000.
    Text(&'a str),
    /// `bytea`.
    Bytea(&'a [u8]),
    /// `date`.
    Date(Date),
    /// `time`.
    Time(Time),
    /// `timetz`.
    TimeTz(TimeTz),
    /// `timestamp`.
    Timestamp(Timestamp),
    /// `timestamptz`.
    TimestampTz(TimestampTz),
    /// `interval`.
    Interval(Interval),
    /// `uuid`.
    Uuid([u8; 16]),
    /// `jsonb`.
    Jsonb(JsonbRef<'a>),
    /// `oid`, and what else names an object.
    Oid(Oid),
    /// Arrays, and the two vector types.
    Array(ArrayRef<'a>),
    /// Rows of tables, composite types, `ROW(...)`.
    Record(RecordRef<'a>),
    /// A label of an enum.
    Enum(EnumOrder),
    /// `citext`. It has no U+0000.
    Folded(&'a str),
    /// The values between two bounds.
    Range(RangeRef<'a>),
    /// A list of ranges.
    Multirange(MultirangeRef<'a>),
}

impl Datum {
    /// A text.
    pub fn text(text: impl AsRef<str> + Into<Arc<str>>) -> Self {
        match ShortText::new(text.as_ref()) {
            Some(short) => Datum::Short(short),
            None => Datum::Text(text.into()),
        }
    }

    /// Makes the value if it is lazy. Making it may stop the statement by [`interrupt::throw`]; a later read no longer
    /// does.
    pub fn make(&self) {
        if let Datum::Jsonb(value) = self {
            let _ = value.bytes();
        }
    }

    /// Returns the text of the value; `None` if the value is not a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Datum::Text(text) => Some(text),
            Datum::Short(text) => Some(text),
            Datum::Folded(text) => Some(text),
            _ => None,
        }
    }

    /// Bytes.
    pub fn bytea(bytes: impl Into<Arc<[u8]>>) -> Self {
        Datum::Bytea(bytes.into())
    }

    /// True for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// How many bytes of the value lie elsewhere, about.
    pub fn heap_bytes(&self) -> usize {
        self.as_ref().heap_bytes()
    }

    /// How the value is held; `None` for NULL.
    pub fn repr(&self) -> Option<Repr> {
        self.as_ref().repr()
    }

    /// A look at the value.
    pub fn as_ref(&self) -> DatumRef<'_> {
        match self {
            Datum::Null => DatumRef::Null,
            Datum::Bool(value) => DatumRef::Bool(*value),
            Datum::Int2(value) => DatumRef::Int2(*value),
            Datum::Int4(value) => DatumRef::Int4(*value),
            Datum::Int8(value) => DatumRef::Int8(*value),
            Datum::Float4(value) => DatumRef::Float4(*value),
            Datum::Float8(value) => DatumRef::Float8(*value),
            Datum::Numeric(value) => DatumRef::Numeric(value.into()),
            Datum::Text(value) => DatumRef::Text(value),
            Datum::Short(value) => DatumRef::Text(value),
            Datum::Bytea(value) => DatumRef::Bytea(value),
            Datum::Date(value) => DatumRef::Date(*value),
            Datum::Time(value) => DatumRef::Time(*value),
            Datum::TimeTz(value) => DatumRef::TimeTz(*value),
            Datum::Timestamp(value) => DatumRef::Timestamp(*value),
            Datum::TimestampTz(value) => DatumRef::TimestampTz(*value),
            Datum::Interval(value) => DatumRef::Interval(*value),
            Datum::Uuid(value) => DatumRef::Uuid(*value),
            Datum::Jsonb(value) => DatumRef::Jsonb(value.root()),
            Datum::Oid(value) => DatumRef::Oid(*value),
            Datum::Array(value) => DatumRef::Array(value.as_ref()),
            Datum::Record(value) => DatumRef::Record(value.as_ref()),
            Datum::Enum(value) => DatumRef::Enum(*value),
            Datum::Folded(value) => DatumRef::Folded(value),
            Datum::Range(value) => DatumRef::Range(value.as_ref()),
            Datum::Multirange(value) => DatumRef::Multirange(value.as_ref()),
        }
    }
}

impl<'a> DatumRef<'a> {
    /// True for NULL.
    pub fn is_null(self) -> bool {
        matches!(self, DatumRef::Null)
    }

    /// How many bytes of the value lie elsewhere, about.
    #[inline]
    pub fn heap_bytes(self) -> usize {
        match self {
            DatumRef::Text(text) | DatumRef::Folded(text) => text.len(),
            DatumRef::Bytea(bytes) => bytes.len(),
            DatumRef::Array(array) => array.as_bytes().len(),
            DatumRef::Record(record) => record.as_bytes().len(),
            DatumRef::Range(range) => range.as_bytes().len(),
            DatumRef::Multirange(ranges) => ranges.as_bytes().len(),
            DatumRef::Jsonb(value) => value.held_bytes(),
            DatumRef::Numeric(number) => number.heap_bytes(),
            _ => 0,
        }
    }

    /// How the value is held; `None` for NULL.
    pub fn repr(self) -> Option<Repr> {
        Some(match self {
            DatumRef::Null => return None,
            DatumRef::Bool(_) => Repr::Bool,
            DatumRef::Int2(_) => Repr::Int2,
            DatumRef::Int4(_) => Repr::Int4,
            DatumRef::Int8(_) => Repr::Int8,
            DatumRef::Float4(_) => Repr::Float4,
            DatumRef::Float8(_) => Repr::Float8,
            DatumRef::Numeric(_) => Repr::Numeric,
            DatumRef::Text(_) => Repr::Text,
            DatumRef::Bytea(_) => Repr::Bytea,
            DatumRef::Date(_) => Repr::Date,
            DatumRef::Time(_) => Repr::Time,
            DatumRef::TimeTz(_) => Repr::TimeTz,
            DatumRef::Timestamp(_) => Repr::Timestamp,
            DatumRef::TimestampTz(_) => Repr::TimestampTz,
            DatumRef::Interval(_) => Repr::Interval,
            DatumRef::Uuid(_) => Repr::Uuid,
            DatumRef::Jsonb(_) => Repr::Jsonb,
            DatumRef::Oid(_) => Repr::Oid,
            DatumRef::Array(_) => Repr::Array,
            DatumRef::Record(_) => Repr::Record,
            DatumRef::Enum(_) => Repr::Enum,
            DatumRef::Folded(_) => Repr::Folded,
            DatumRef::Range(_) => Repr::Range,
            DatumRef::Multirange(_) => Repr::Multirange,
        })
    }

    /// A value of its own, equal to this one.
    pub fn to_owned(self) -> Datum {
        match self {
            DatumRef::Null => Datum::Null,
            DatumRef::Bool(value) => Datum::Bool(value),
            DatumRef::Int2(value) => Datum::Int2(value),
            DatumRef::Int4(value) => Datum::Int4(value),
            DatumRef::Int8(value) => Datum::Int8(value),
            DatumRef::Float4(value) => Datum::Float4(value),
            DatumRef::Float8(value) => Datum::Float8(value),
            DatumRef::Numeric(value) => Datum::Numeric(value.get()),
            DatumRef::Text(value) => Datum::text(value),
            DatumRef::Bytea(value) => Datum::Bytea(value.into()),
            DatumRef::Date(value) => Datum::Date(value),
            DatumRef::Time(value) => Datum::Time(value),
            DatumRef::TimeTz(value) => Datum::TimeTz(value),
            DatumRef::Timestamp(value) => Datum::Timestamp(value),
            DatumRef::TimestampTz(value) => Datum::TimestampTz(value),
            DatumRef::Interval(value) => Datum::Interval(value),
            DatumRef::Uuid(value) => Datum::Uuid(value),
            DatumRef::Jsonb(value) => Datum::Jsonb(value.to_jsonb()),
            DatumRef::Oid(value) => Datum::Oid(value),
            DatumRef::Array(value) => Datum::Array(value.to_owned()),
            DatumRef::Record(value) => Datum::Record(value.to_owned()),
            DatumRef::Enum(value) => Datum::Enum(value),
            DatumRef::Folded(value) => Datum::Folded(value.into()),
            DatumRef::Range(value) => Datum::Range(value.to_owned()),
            DatumRef::Multirange(value) => Datum::Multirange(value.to_owned()),
        }
    }
}

impl fmt::Debug for DatumRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatumRef::Null => f.write_str("Null"),
            DatumRef::Bool(value) => write!(f, "Bool({value})"),
            DatumRef::Int2(value) => write!(f, "Int2({value})"),
            DatumRef::Int4(value) => write!(f, "Int4({value})"),
            DatumRef::Int8(value) => write!(f, "Int8({value})"),
            DatumRef::Float4(value) => write!(f, "Float4({value:?})"),
            DatumRef::Float8(value) => write!(f, "Float8({value:?})"),
            DatumRef::Numeric(value) => write!(f, "Numeric({})", value.get()),
            DatumRef::Text(value) => write!(f, "Text({value:?})"),
            DatumRef::Bytea(value) => write!(f, "Bytea({value:02x?})"),
            DatumRef::Date(value) => value.fmt(f),
            DatumRef::Time(value) => value.fmt(f),
            DatumRef::TimeTz(value) => value.fmt(f),
            DatumRef::Timestamp(value) => value.fmt(f),
            DatumRef::TimestampTz(value) => value.fmt(f),
            DatumRef::Interval(value) => value.fmt(f),
            DatumRef::Uuid(value) => write!(f, "Uuid({value:02x?})"),
            DatumRef::Jsonb(value) => write!(f, "Jsonb({value})"),
            DatumRef::Oid(value) => value.fmt(f),
            DatumRef::Array(value) => value.fmt(f),
            DatumRef::Record(value) => value.fmt(f),
            DatumRef::Enum(value) => write!(f, "Enum({})", value.get()),
            DatumRef::Folded(value) => write!(f, "Folded({value:?})"),
            DatumRef::Range(value) => value.fmt(f),
            DatumRef::Multirange(value) => value.fmt(f),
        }
    }
}

impl fmt::Debug for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Datum::text(text)
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Self {
        Datum::text(text)
    }
}

impl From<Arc<str>> for Datum {
    fn from(text: Arc<str>) -> Self {
        Datum::text(text)
    }
}

/// Makes `Datum::from` for types that stand for one variant.
macro_rules! from {
    ($($from:ty => $variant:ident;)*) => {
        $(
            impl From<$from> for Datum {
                fn from(value: $from) -> Self {
                    Datum::$variant(value.into())
                }
            }
        )*

        /// `None` is NULL.
        impl<T: Into<Datum>> From<Option<T>> for Datum {
            fn from(value: Option<T>) -> Self {
                value.map_or(Datum::Null, Into::into)
            }
        }
    };
}

from! {
    bool => Bool;
    i16 => Int2;
    i32 => Int4;
    i64 => Int8;
    f32 => Float4;
    f64 => Float8;
    Numeric => Numeric;
    Date => Date;
    Time => Time;
    TimeTz => TimeTz;
    Timestamp => Timestamp;
    TimestampTz => TimestampTz;
    Interval => Interval;
    Jsonb => Jsonb;
    Oid => Oid;
    Array => Array;
    Record => Record;
    Range => Range;
    Multirange => Multirange;
}
