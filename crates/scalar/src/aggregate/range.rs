//! `range_agg`: the values of all ranges. `range_intersect_agg`: the values that all have in common.

use types::{Datum, DatumRef, Multirange, Range, Result};

use super::{Accumulator, Kind, aggregates};
use crate::function::{Call, Function};
use crate::range::intersection_of;

/// The ranges of the rows so far.
#[derive(Default)]
struct Union {
    ranges: Vec<Range>,
    heap_bytes: usize,
    /// True if any row was not NULL: an empty multirange counts too.
    has_value: bool,
}

impl Accumulator for Union {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let mut keep = |range: types::RangeRef<'_>| {
            self.heap_bytes += range.as_bytes().len();
            self.ranges.push(range.to_owned());
        };
        match args[0] {
            DatumRef::Range(range) => keep(range),
            DatumRef::Multirange(ranges) => ranges.iter().for_each(keep),
            _ => return Ok(()),
        }
        self.has_value = true;
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<Range>() + self.heap_bytes
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        Ok(match self.has_value {
            true => Multirange::of(self.ranges.iter().map(Range::as_ref)).into(),
            false => Datum::Null,
        })
    }
}

/// The intersection of all rows so far; NULL before the first.
#[derive(Default)]
struct Intersection {
    common: Datum,
    /// The most bytes that it has had.
    heap_bytes: usize,
}

impl Accumulator for Intersection {
    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        self.common = match self.common.is_null() {
            true => args[0].to_owned(),
            false => intersection_of(call, self.common.as_ref(), args[0])?,
        };
        self.heap_bytes = self.heap_bytes.max(self.common.heap_bytes());
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.heap_bytes
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        Ok(self.common.clone())
    }
}

pub(super) const TABLE: &[Function] = aggregates! { Kind::Normal =>
    4301 range_agg(ANYRANGE) -> ANYMULTIRANGE = Union::default();
    6227 range_agg(ANYMULTIRANGE) -> ANYMULTIRANGE = Union::default();
    4450 range_intersect_agg(ANYRANGE) -> ANYRANGE = Intersection::default();
    4389 range_intersect_agg(ANYMULTIRANGE) -> ANYMULTIRANGE = Intersection::default();
};
