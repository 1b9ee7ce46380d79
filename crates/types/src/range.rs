//! Ranges and multiranges: the values between two bounds, and lists of ranges.
//!
//! ```text
//!   flags   repr   type of the bounds   lower value   upper value        a range
//!   02      03     17 00 00 00          ...           ...                [1,3) of int4
//!
//!   length  range   length  range   ...                                  a multirange
//! ```
//!
//! The flags are those of PostgreSQL's binary form: 1 empty, 2 the lower bound belongs to the range, 4 the upper one
//! does, 8 there is no lower bound, 16 there is no upper one. A bound that does not exist has no value. As with arrays
//! the bytes are the value: [`Range`] shares them, [`RangeRef`] looks at them.
//!
//! # Invariants
//! * The lower bound is at or below the upper one. A range without any value is the empty one, which has no bounds.
//! * The ranges of a multirange are not empty, ascend, and neither touch nor overlap.
//! * Ranges of the types in [`is_discrete`] have the canonical form `[a,b)`, so equal sets are equal ranges.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::packed::{self, DEPTH_MAX, damaged};
use crate::time::Date;
use crate::{Datum, DatumRef, Error, Oid, Repr, Result, SqlState, Type};

/// The range has no values.
pub const EMPTY: u8 = 1;
/// The lower bound belongs to the range.
pub const LOWER_INCLUSIVE: u8 = 2;
/// The upper bound belongs to the range.
pub const UPPER_INCLUSIVE: u8 = 4;
/// There is no lower bound.
pub const LOWER_INFINITE: u8 = 8;
/// There is no upper bound.
pub const UPPER_INFINITE: u8 = 16;
const ALL_FLAGS: u8 = 31;

/// The flags, the representation and the type of the bounds.
const HEAD_BYTES: usize = 6;

/// A bound of a range.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The value; `None` if the range has no bound on this side.
    pub value: Option<DatumRef<'a>>,
    /// True if the value belongs to the range.
    pub is_inclusive: bool,
    /// True for a lower bound.
    pub is_lower: bool,
}

impl<'a> Bound<'a> {
    /// Returns a lower bound; without one if the value is NULL.
    pub fn lower(value: DatumRef<'a>, is_inclusive: bool) -> Self {
        Bound::new(value, is_inclusive, true)
    }

    /// Returns an upper bound; without one if the value is NULL.
    pub fn upper(value: DatumRef<'a>, is_inclusive: bool) -> Self {
        Bound::new(value, is_inclusive, false)
    }

    fn new(value: DatumRef<'a>, is_inclusive: bool, is_lower: bool) -> Self {
        let value = (!value.is_null()).then_some(value);
        Bound { is_inclusive: is_inclusive && value.is_some(), value, is_lower }
    }

    /// Returns the bound of an adjacent range at this place: of the range before a lower bound, or after an upper one.
    #[must_use]
    pub fn turned(self) -> Self {
        let is_inclusive = self.value.is_some() && !self.is_inclusive;
        Bound { is_inclusive, is_lower: !self.is_lower, ..self }
    }

    /// Compares two values by their place, without looking at whether they belong to the ranges.
    pub fn cmp_value(self, other: Bound<'_>) -> Ordering {
        let side =
            |bound: Bound<'_>| if bound.is_lower { Ordering::Less } else { Ordering::Greater };
        match (self.value, other.value) {
            (None, None) => self.is_lower.cmp(&other.is_lower).reverse(),
            (None, Some(_)) => side(self),
            (Some(_), None) => side(other).reverse(),
            (Some(a), Some(b)) => a.cmp(&b),
        }
    }
}

impl Ord for Bound<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        // A bound that leaves its value out lies just behind it if it is a lower one, just before it if it is an upper one.
        let shift = |bound: &Bound<'_>| match (bound.value, bound.is_inclusive, bound.is_lower) {
            (None, ..) | (_, true, _) => 0,
            (_, false, true) => 1,
            (_, false, false) => -1,
        };
        self.cmp_value(*other).then_with(|| shift(self).cmp(&shift(other)))
    }
}

impl PartialOrd for Bound<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bound<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Bound<'_> {}

/// A range that is owned; clones share it.
#[derive(Clone)]
pub struct Range(Arc<[u8]>);

/// A range that lies elsewhere.
#[derive(Clone, Copy)]
pub struct RangeRef<'a>(&'a [u8]);

impl Range {
    /// Returns the range without values.
    pub fn empty(element: Type, repr: Repr) -> Range {
        Range::write(EMPTY, element, repr, &[])
    }

    /// Returns the range between two bounds; the empty one if nothing lies between them.
    ///
    /// # Errors
    /// 22000 if the lower bound is above the upper one.
    pub fn new(element: Type, repr: Repr, lower: Bound<'_>, upper: Bound<'_>) -> Result<Range> {
        let order = lower.cmp_value(upper);
        if order.is_gt() {
            return Err(Error::new(
                SqlState::DATA_EXCEPTION,
                "range lower bound must be less than or equal to range upper bound",
            ));
        }
        let is_point = order.is_eq() && lower.value.is_some();
        if is_point && !(lower.is_inclusive && upper.is_inclusive) {
            return Ok(Range::empty(element, repr));
        }
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(lower.is_inclusive, LOWER_INCLUSIVE)
            | flag(upper.is_inclusive, UPPER_INCLUSIVE)
            | flag(lower.value.is_none(), LOWER_INFINITE)
            | flag(upper.value.is_none(), UPPER_INFINITE);
        let values = [lower.value, upper.value].into_iter().flatten().collect::<Vec<_>>();
        Ok(Range::write(flags, element, repr, &values))
    }

    fn write(flags: u8, element: Type, repr: Repr, values: &[DatumRef<'_>]) -> Range {
        let mut bytes = vec![flags, repr as u8];
        bytes.extend_from_slice(&element.oid().0.to_le_bytes());
        for value in values {
            assert_eq!(value.repr(), Some(repr), "{value:?} bounds a range of {repr:?}");
            packed::put(&mut bytes, *value);
        }
        Range(bytes.into())
    }

    /// Returns a look at the range.
    pub fn as_ref(&self) -> RangeRef<'_> {
        RangeRef(&self.0)
    }

    /// Returns the range as a value of this type: in the canonical form, if the type has one.
    ///
    /// # Errors
    /// 22003 or 22008 if a bound of the canonical form is out of range.
    pub fn canonical(self, ty: Type) -> Result<Range> {
        let range = self.as_ref();
        let Some((lower, upper)) = range.bounds().filter(|_| is_discrete(ty)) else {
            return Ok(self);
        };
        let (low, has_low) = stepped(lower, true)?;
        let (high, has_high) = stepped(upper, false)?;
        let (lower, upper) =
            (Bound::lower(low.as_ref(), has_low), Bound::upper(high.as_ref(), has_high));
        Range::new(range.element_type(), range.element_repr(), lower, upper)
    }
}

/// Returns true for the range types whose values have a next one.
pub fn is_discrete(ty: Type) -> bool {
    [Type::INT4RANGE, Type::INT8RANGE, Type::DATERANGE].contains(&ty)
}

/// Returns a bound of a discrete range in the wanted form: the value, and whether it belongs to the range. If the bound
/// has the other form, the value is the next one. Infinite dates have no next value and stay as they are.
fn stepped(bound: Bound<'_>, is_inclusive: bool) -> Result<(Datum, bool)> {
    let out_of_range = |state, what: &str| Error::new(state, format!("{what} out of range"));
    let Some(value) = bound.value else { return Ok((Datum::Null, false)) };
    if bound.is_inclusive == is_inclusive {
        return Ok((value.to_owned(), is_inclusive));
    }
    let next = match value {
        DatumRef::Int4(value) => value
            .checked_add(1)
            .map(Datum::Int4)
            .ok_or_else(|| out_of_range(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer")),
        DatumRef::Int8(value) => value
            .checked_add(1)
            .map(Datum::Int8)
            .ok_or_else(|| out_of_range(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint")),
        DatumRef::Date(value) if value.is_finite() => {
            let next = Date::from_days(i64::from(value.0) + 1).map(Datum::Date);
            next.ok_or_else(|| out_of_range(SqlState::DATETIME_FIELD_OVERFLOW, "date"))
        }
        other => return Ok((other.to_owned(), bound.is_inclusive)),
    };
    Ok((next?, is_inclusive))
}

impl<'a> RangeRef<'a> {
    /// Returns the range in `bytes`, which [`RangeRef::as_bytes`] once gave.
    ///
    /// # Errors
    /// XX001 if the bytes are no range.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        Self::check(bytes, 0)
    }

    /// As [`RangeRef::from_bytes`], for a range that lies `depth` deep in other values.
    pub(crate) fn check(bytes: &'a [u8], depth: u32) -> Result<Self> {
        if depth > DEPTH_MAX {
            return Err(damaged("values lie too deep in one another"));
        }
        let (head, mut values) = bytes
            .split_at_checked(HEAD_BYTES)
            .ok_or_else(|| damaged("a range ends inside its head"))?;
        let repr = Repr::from_number(head[1]).ok_or_else(|| damaged("a range is of nothing"))?;
        let range = Self(bytes);
        if head[0] & !ALL_FLAGS != 0 || range.is_empty() && head[0] != EMPTY {
            return Err(damaged("a range has flags that are none"));
        }
        for _ in 0..range.values() {
            packed::take(&mut values, repr, depth)?;
        }
        if !values.is_empty() {
            return Err(damaged("a range goes on after its last bound"));
        }
        if range.bounds().is_some_and(|(lower, upper)| lower.cmp_value(upper).is_gt()) {
            return Err(damaged("the bounds of a range are in the wrong order"));
        }
        Ok(range)
    }

    /// Returns the range in bytes that passed [`RangeRef::check`] before.
    pub(crate) fn sound(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the range.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns a range of its own, equal to this one.
    pub fn to_owned(self) -> Range {
        Range(self.0.into())
    }

    /// Returns the flags.
    pub fn flags(self) -> u8 {
        self.0[0]
    }

    /// Returns the type of the bounds.
    pub fn element_type(self) -> Type {
        let oid = self.0[2..HEAD_BYTES].try_into().expect("a head of six bytes");
        Type(Oid(u32::from_le_bytes(oid)))
    }

    /// Returns how the bounds are held.
    pub fn element_repr(self) -> Repr {
        Repr::from_number(self.0[1]).expect("checked when the range was read or made")
    }

    /// Returns true if the range has no values.
    pub fn is_empty(self) -> bool {
        self.flags() & EMPTY != 0
    }

    fn has(self, flag: u8) -> bool {
        self.flags() & flag != 0
    }

    /// Returns the number of values of bounds.
    fn values(self) -> usize {
        match self.is_empty() {
            true => 0,
            false => {
                usize::from(!self.has(LOWER_INFINITE)) + usize::from(!self.has(UPPER_INFINITE))
            }
        }
    }

    /// Returns the two bounds; `None` if the range is empty.
    pub fn bounds(self) -> Option<(Bound<'a>, Bound<'a>)> {
        if self.is_empty() {
            return None;
        }
        let (repr, mut values) = (self.element_repr(), &self.0[HEAD_BYTES..]);
        let mut take = |infinite: u8| match self.has(infinite) {
            true => DatumRef::Null,
            false => packed::take_again(&mut values, repr),
        };
        let lower = Bound::lower(take(LOWER_INFINITE), self.has(LOWER_INCLUSIVE));
        Some((lower, Bound::upper(take(UPPER_INFINITE), self.has(UPPER_INCLUSIVE))))
    }
}

impl Ord for RangeRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.bounds(), other.bounds()) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(mine), Some(others)) => mine.cmp(&others),
        }
    }
}

impl Hash for RangeRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.flags().hash(state);
        if let Some((lower, upper)) = self.bounds() {
            lower.value.hash(state);
            upper.value.hash(state);
        }
    }
}

/// A multirange that is owned; clones share it.
#[derive(Clone)]
pub struct Multirange(Arc<[u8]>);

/// A multirange that lies elsewhere.
#[derive(Clone, Copy)]
pub struct MultirangeRef<'a>(&'a [u8]);

impl Multirange {
    /// Returns the multirange that has the values of all these ranges, which may touch or overlap.
    pub fn of<'r>(ranges: impl IntoIterator<Item = RangeRef<'r>>) -> Multirange {
        let mut ranges: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        ranges.sort_unstable();
        let mut bytes = Vec::new();
        let mut put = |range: RangeRef<'_>| {
            packed::put_varint(&mut bytes, range.as_bytes().len() as u64);
            bytes.extend_from_slice(range.as_bytes());
        };
        // The range that grows, and the bounds that it has come to.
        let mut open: Option<(RangeRef<'_>, Bound<'_>, Bound<'_>)> = None;
        let close = |(range, lower, upper): (RangeRef<'_>, Bound<'_>, Bound<'_>)| {
            Range::new(range.element_type(), range.element_repr(), lower, upper)
                .expect("a range that has grown is in order")
        };
        for range in ranges {
            let Some((lower, upper)) = range.bounds() else { continue };
            open = Some(match open.take() {
                // Nothing lies between the end of the one and the beginning of the other.
                Some((first, from, to)) if lower <= to || lower == to.turned() => {
                    (first, from, to.max(upper))
                }
                before => {
                    before.into_iter().for_each(|before| put(close(before).as_ref()));
                    (range, lower, upper)
                }
            });
        }
        open.into_iter().for_each(|last| put(close(last).as_ref()));
        Multirange(bytes.into())
    }

    /// Returns a look at the multirange.
    pub fn as_ref(&self) -> MultirangeRef<'_> {
        MultirangeRef(&self.0)
    }
}

impl<'a> MultirangeRef<'a> {
    /// Returns the multirange in `bytes`, which [`MultirangeRef::as_bytes`] once gave.
    ///
    /// # Errors
    /// XX001 if the bytes are no multirange.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        Self::check(bytes, 0)
    }

    /// As [`MultirangeRef::from_bytes`], for a multirange that lies `depth` deep in other values.
    pub(crate) fn check(bytes: &'a [u8], depth: u32) -> Result<Self> {
        let (mut rest, mut end) = (bytes, None);
        while !rest.is_empty() {
            let range = RangeRef::check(packed::take_counted(&mut rest)?, depth + 1)?;
            let (lower, upper) =
                range.bounds().ok_or_else(|| damaged("a range of a multirange is empty"))?;
            if end.is_some_and(|end: Bound<'_>| lower <= end || lower == end.turned()) {
                return Err(damaged("the ranges of a multirange are in the wrong order"));
            }
            end = Some(upper);
        }
        Ok(Self(bytes))
    }

    /// Returns the multirange in bytes that passed [`MultirangeRef::check`] before.
    pub(crate) fn sound(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the multirange.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns a multirange of its own, equal to this one.
    pub fn to_owned(self) -> Multirange {
        Multirange(self.0.into())
    }

    /// Returns true if it has no ranges.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ranges, ascending.
    pub fn iter(self) -> Ranges<'a> {
        Ranges(self.0)
    }

    /// Returns the first and the last bound; `None` if it has no ranges.
    pub fn bounds(self) -> Option<(Bound<'a>, Bound<'a>)> {
        let (lower, _) = self.iter().next()?.bounds()?;
        let (_, upper) = self.iter().last()?.bounds()?;
        Some((lower, upper))
    }
}

/// The ranges of a multirange.
#[derive(Clone)]
pub struct Ranges<'a>(&'a [u8]);

impl<'a> Iterator for Ranges<'a> {
    type Item = RangeRef<'a>;

    fn next(&mut self) -> Option<RangeRef<'a>> {
        if self.0.is_empty() {
            return None;
        }
        let bytes = packed::take_counted(&mut self.0);
        Some(RangeRef(bytes.expect("checked when the multirange was read or made")))
    }
}

impl Ord for MultirangeRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl Hash for MultirangeRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.iter().for_each(|range| range.hash(state));
        EMPTY.hash(state);
    }
}

impl fmt::Debug for RangeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((lower, upper)) = self.bounds() else { return f.write_str("Range(empty)") };
        write!(f, "Range{}", if lower.is_inclusive { '[' } else { '(' })?;
        lower.value.iter().try_for_each(|value| value.fmt(f))?;
        f.write_str(", ")?;
        upper.value.iter().try_for_each(|value| value.fmt(f))?;
        write!(f, "{}", if upper.is_inclusive { ']' } else { ')' })
    }
}

impl fmt::Debug for MultirangeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for Multirange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
