//! Order, equality and hash of values: those of B-trees, of `ORDER BY` and of grouping.
//!
//! ```text
//!   floats      -Infinity < ... < -0 = 0 < ... < Infinity < NaN = NaN
//!   text        by bytes, which is by code points
//!   citext      the same of the small letters
//!   intervals   by length, a month being 30 days and a day 24 hours
//!   arrays      element by element; of two that begin alike the shorter; then dimensions, bounds
//!   records     field by field
//!   ranges      the empty one first; then by the lower bound, then by the upper one
//!   multiranges range by range; of two that begin alike the shorter
//!   NULL        above everything, and equal to itself
//! ```
//!
//! A comparison *operator* of SQL yields NULL where an operand is NULL; the caller decides that. Inside
//! of arrays and records, NULL is a value greater than all others, for operators too.
//!
//! A correct plan never compares values of different representations. Here their order is that of the
//! representations, so that the order is total.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::{
    Array, ArrayRef, Datum, DatumRef, Multirange, MultirangeRef, Range, RangeRef, Record, RecordRef,
};

impl Ord for DatumRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (DatumRef::Null, DatumRef::Null) => Ordering::Equal,
            (DatumRef::Null, _) => Ordering::Greater,
            (_, DatumRef::Null) => Ordering::Less,
            (DatumRef::Bool(a), DatumRef::Bool(b)) => a.cmp(&b),
            (DatumRef::Int2(a), DatumRef::Int2(b)) => a.cmp(&b),
            (DatumRef::Int4(a), DatumRef::Int4(b)) => a.cmp(&b),
            (DatumRef::Int8(a), DatumRef::Int8(b)) => a.cmp(&b),
            (DatumRef::Float4(a), DatumRef::Float4(b)) => cmp_float(a.into(), b.into()),
            (DatumRef::Float8(a), DatumRef::Float8(b)) => cmp_float(a, b),
            (DatumRef::Numeric(a), DatumRef::Numeric(b)) => a.cmp(&b),
            (DatumRef::Text(a), DatumRef::Text(b)) => a.cmp(b),
            (DatumRef::Bytea(a), DatumRef::Bytea(b)) => a.cmp(b),
            (DatumRef::Date(a), DatumRef::Date(b)) => a.cmp(&b),
            (DatumRef::Time(a), DatumRef::Time(b)) => a.cmp(&b),
            (DatumRef::TimeTz(a), DatumRef::TimeTz(b)) => a.cmp(&b),
            (DatumRef::Timestamp(a), DatumRef::Timestamp(b)) => a.cmp(&b),
            (DatumRef::TimestampTz(a), DatumRef::TimestampTz(b)) => a.cmp(&b),
            (DatumRef::Interval(a), DatumRef::Interval(b)) => a.cmp(&b),
            (DatumRef::Uuid(a), DatumRef::Uuid(b)) => a.cmp(&b),
            (DatumRef::Jsonb(a), DatumRef::Jsonb(b)) => a.cmp(&b),
            (DatumRef::Oid(a), DatumRef::Oid(b)) => a.cmp(&b),
            (DatumRef::Array(a), DatumRef::Array(b)) => a.cmp(&b),
            (DatumRef::Record(a), DatumRef::Record(b)) => a.cmp(&b),
            (DatumRef::Range(a), DatumRef::Range(b)) => a.cmp(&b),
            (DatumRef::Multirange(a), DatumRef::Multirange(b)) => a.cmp(&b),
            (DatumRef::Enum(a), DatumRef::Enum(b)) => a.cmp(&b),
            (DatumRef::Folded(a), DatumRef::Folded(b)) => folded(a).cmp(folded(b)),
            (a, b) => a.repr().cmp(&b.repr()),
        }
    }
}

/// The small letters of a text, which are what counts where case does not.
pub fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(posix::lower_char)
}

/// The order of floating point numbers: NaN is equal to itself and above all others.
pub fn cmp_float(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl Hash for DatumRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match *self {
            DatumRef::Null => 0u8.hash(state),
            DatumRef::Bool(value) => value.hash(state),
            DatumRef::Int2(value) => value.hash(state),
            DatumRef::Int4(value) => value.hash(state),
            DatumRef::Int8(value) => value.hash(state),
            DatumRef::Float4(value) => hash_float(value.into(), state),
            DatumRef::Float8(value) => hash_float(value, state),
            DatumRef::Numeric(value) => value.get().hash(state),
            DatumRef::Text(value) => value.hash(state),
            DatumRef::Bytea(value) => value.hash(state),
            DatumRef::Date(value) => value.hash(state),
            DatumRef::Time(value) => value.hash(state),
            DatumRef::TimeTz(value) => value.hash(state),
            DatumRef::Timestamp(value) => value.hash(state),
            DatumRef::TimestampTz(value) => value.hash(state),
            DatumRef::Interval(value) => value.hash(state),
            DatumRef::Uuid(value) => value.hash(state),
            DatumRef::Jsonb(value) => value.hash(state),
            DatumRef::Oid(value) => value.hash(state),
            DatumRef::Array(value) => value.hash(state),
            DatumRef::Record(value) => value.hash(state),
            DatumRef::Range(value) => value.hash(state),
            DatumRef::Multirange(value) => value.hash(state),
            DatumRef::Enum(value) => value.get().to_bits().hash(state),
            DatumRef::Folded(value) => {
                folded(value).for_each(|letter| letter.hash(state));
                0xff_u8.hash(state);
            }
        }
    }
}

/// Equal floats have equal hashes: there is one zero and one NaN.
fn hash_float<H: Hasher>(value: f64, state: &mut H) {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    value.to_bits().hash(state);
}

impl Ord for ArrayRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Iterators are compared element by element, then by length.
        self.iter().cmp(other.iter()).then_with(|| {
            let (mine, others) = (self.dimensions(), other.dimensions());
            let lengths = mine.iter().zip(&others).map(|(a, b)| a.length.cmp(&b.length));
            let lowers = mine.iter().zip(&others).map(|(a, b)| a.lower.cmp(&b.lower));
            let count = std::iter::once(mine.len().cmp(&others.len()));
            count
                .chain(lengths)
                .chain(lowers)
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }
}

impl Hash for ArrayRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|element| element.hash(state));
    }
}

impl Ord for RecordRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let values = |record: &Self| record.iter().map(|(_, _, value)| value);
        values(self).cmp(values(other))
    }
}

impl Hash for RecordRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|(_, _, value)| value.hash(state));
    }
}

/// Equality and partial order follow the order.
macro_rules! follow_order {
    ($($type:ty),*) => {
        $(
            impl PartialEq for $type {
                fn eq(&self, other: &Self) -> bool {
                    self.cmp(other) == Ordering::Equal
                }
            }

            impl Eq for $type {}

            impl PartialOrd for $type {
                fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                    Some(self.cmp(other))
                }
            }
        )*
    };
}

impl DatumRef<'_> {
    /// True if two values are equal and written alike: `1.0` and `1.00` are equal only.
    pub fn is_identical(self, other: DatumRef<'_>) -> bool {
        use DatumRef::{
            Array, Float4, Float8, Folded, Interval, Jsonb, Multirange, Numeric, Range, Record,
            TimeTz,
        };
        if self != other {
            return false;
        }
        match (self, other) {
            (Float4(a), Float4(b)) => a.to_bits() == b.to_bits(),
            (Float8(a), Float8(b)) => a.to_bits() == b.to_bits(),
            (Folded(a), Folded(b)) => a == b,
            (
                Numeric(_) | Interval(_) | TimeTz(_) | Jsonb(_) | Array(_) | Record(_) | Range(_)
                | Multirange(_),
                _,
            ) => {
                let bytes = |value| {
                    let mut bytes = Vec::new();
                    crate::row::write(0, [value], &mut bytes);
                    bytes
                };
                bytes(self) == bytes(other)
            }
            _ => true,
        }
    }
}

/// Owned values are compared by their references.
macro_rules! as_reference {
    ($($type:ty),*) => {
        $(
            impl Ord for $type {
                fn cmp(&self, other: &Self) -> Ordering {
                    self.as_ref().cmp(&other.as_ref())
                }
            }

            impl Hash for $type {
                fn hash<H: Hasher>(&self, state: &mut H) {
                    self.as_ref().hash(state);
                }
            }
        )*
    };
}

follow_order!(DatumRef<'_>, ArrayRef<'_>, RecordRef<'_>, RangeRef<'_>, MultirangeRef<'_>);
follow_order!(Datum, Array, Record, Range, Multirange);
as_reference!(Datum, Array, Record, Range, Multirange);
