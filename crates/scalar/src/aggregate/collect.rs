//! Aggregates that count, choose, fold or collect.

use std::cmp::Ordering;

use types::array::{Dimension, ELEMENTS_MAX};
use types::bounded::{Builder, Pieces};
use types::{Array, Datum, DatumRef, Error, Result, SqlState, Type};

use crate::aggregate::{Accumulator, Kind, aggregates, is_long};
use crate::array;
use crate::function::{Argument, Call, Function, Output};

/// The number of rows, or of those whose argument is not NULL.
#[derive(Default)]
struct Count(i64);

impl Accumulator for Count {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        self.0 += i64::from(args.first().is_none_or(|arg| !arg.is_null()));
        Ok(())
    }

    fn add_rows(&mut self, _: &Call<'_>, count: u64) -> Result<()> {
        self.0 += count.cast_signed();
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        self.0.put()
    }
}

/// The first value that is not NULL.
struct AnyValue {
    value: Datum,
    is_long: bool,
}

impl Accumulator for AnyValue {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if self.value.is_null() {
            self.value = args[0].to_owned();
        }
        Ok(())
    }

    fn keeps(&self) -> bool {
        self.is_long
    }

    fn held_bytes(&self) -> usize {
        self.value.heap_bytes()
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        Ok(self.value.clone())
    }
}

/// The least or the greatest value.
pub(crate) struct Extreme {
    value: Datum,
    /// How a value stands to the one so far, to take its place.
    wanted: Ordering,
    is_long: bool,
    /// The most that a value so far has taken.
    held_bytes: usize,
}

impl Extreme {
    pub(crate) fn new(args: &[Type], wanted: Ordering) -> Self {
        Self { value: Datum::Null, wanted, is_long: is_long(args[0]), held_bytes: 0 }
    }

    /// True for a value that takes the place of the one so far. Of values of `citext` that are equal the last counts.
    fn is_taken(&self, order: Ordering, value: DatumRef<'_>) -> bool {
        order == self.wanted || order.is_eq() && matches!(value, DatumRef::Folded(_))
    }
}

impl Accumulator for Extreme {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let value = args[0];
        if !value.is_null()
            && (self.value.is_null() || self.is_taken(value.cmp(&self.value.as_ref()), value))
        {
            self.value = value.to_owned();
            self.held_bytes = self.held_bytes.max(value.heap_bytes());
        }
        Ok(())
    }

    fn keeps(&self) -> bool {
        self.is_long
    }

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        Ok(self.value.clone())
    }
}

/// The values, combined two by two.
struct Fold<T> {
    value: Option<T>,
    combine: fn(T, T) -> T,
}

impl<T> Fold<T> {
    fn new(combine: fn(T, T) -> T) -> Self {
        Self { value: None, combine }
    }
}

impl<T: for<'a> Argument<'a> + Output + Copy + Send> Accumulator for Fold<T> {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if let Some(value) = Option::<T>::read(args[0])? {
            self.value = Some(self.value.map_or(value, |before| (self.combine)(before, value)));
        }
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        self.value.put()
    }
}

/// Texts or bytes, one after the other, each but the first after its delimiter.
struct Joined<T> {
    value: Option<Builder<T>>,
}

impl<T: Pieces + Clone + Send> Accumulator for Joined<T>
where
    for<'a> &'a T::Piece: Argument<'a>,
    Builder<T>: Output,
{
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let piece = |at: usize| Option::<&T::Piece>::read(args[at]);
        let Some(value) = piece(0)? else { return Ok(()) };
        match &mut self.value {
            Some(joined) => {
                if let Some(delimiter) = piece(1)? {
                    joined.push(delimiter)?;
                }
                joined.push(value)
            }
            None => self.value.insert(Builder::new()).push(value),
        }
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Builder::held_bytes)
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        match &self.value {
            None => Ok(Datum::Null),
            Some(joined) => {
                let mut whole = Builder::<T>::with_capacity(joined.get().bytes());
                whole.push(joined.get().whole())?;
                whole.put()
            }
        }
    }
}

/// The values as an array, NULLs included.
struct Elements {
    element: Type,
    values: Vec<Datum>,
    /// The bytes of the values on the heap.
    heap_bytes: usize,
}

impl Elements {
    fn of(args: &[Type]) -> Self {
        Self { element: args[0], values: Vec::new(), heap_bytes: 0 }
    }
}

impl Accumulator for Elements {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if self.values.len() == ELEMENTS_MAX {
            return Err(types::array::too_many());
        }
        self.heap_bytes += args[0].heap_bytes();
        self.values.push(args[0].to_owned());
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Datum>() + self.heap_bytes
    }

    fn finish(&self, call: &Call<'_>) -> Result<Datum> {
        if self.values.is_empty() {
            return Ok(Datum::Null);
        }
        array::from_values(call, self.element, &self.values).put()
    }
}

/// Arrays as the slices of one that has a dimension more.
#[derive(Default)]
struct Slices {
    slices: Vec<Array>,
    /// The bytes of the slices on the heap.
    heap_bytes: usize,
}

impl Accumulator for Slices {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let DatumRef::Array(slice) = args[0] else {
            return Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "cannot accumulate null arrays",
            ));
        };
        let refuse = |message: &str| Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
        if slice.is_empty() {
            return refuse("cannot accumulate empty arrays");
        }
        if let Some(first) = self.slices.first()
            && first.as_ref().dimensions() != slice.dimensions()
        {
            return refuse("cannot accumulate arrays of different dimensionality");
        }
        self.heap_bytes += slice.as_bytes().len();
        self.slices.push(slice.to_owned());
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.slices.capacity() * size_of::<Array>() + self.heap_bytes
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        let Some(first) = self.slices.first().map(Array::as_ref) else { return Ok(Datum::Null) };
        let outer = Dimension { length: self.slices.len() as i32, lower: 1 };
        let dimensions: Vec<_> = std::iter::once(outer).chain(first.dimensions()).collect();
        let elements = self.slices.iter().flat_map(|slice| slice.as_ref().iter());
        Array::new(first.element_type(), first.element_repr(), &dimensions, elements).put()
    }
}

pub(super) const TABLE: &[Function] = aggregates! { Kind::Normal =>
    2803 count() -> INT8 = Count::default();
    2147 count(ANY) -> INT8 = Count::default();
    6291 any_value(ANYELEMENT) -> ANYELEMENT = @args
        AnyValue { value: Datum::Null, is_long: is_long(args[0]) };
    3538 string_agg(TEXT, TEXT) -> TEXT = Joined::<String> { value: None };
    3545 string_agg(BYTEA, BYTEA) -> BYTEA = Joined::<Vec<u8>> { value: None };
    2335 array_agg(ANYNONARRAY) -> ANYARRAY = @args Elements::of(args);
    4053 array_agg(ANYARRAY) -> ANYARRAY = Slices::default();
    2236 bit_and(INT2) -> INT2 = Fold::<i16>::new(|a, b| a & b);
    2238 bit_and(INT4) -> INT4 = Fold::<i32>::new(|a, b| a & b);
    2240 bit_and(INT8) -> INT8 = Fold::<i64>::new(|a, b| a & b);
    2237 bit_or(INT2) -> INT2 = Fold::<i16>::new(|a, b| a | b);
    2239 bit_or(INT4) -> INT4 = Fold::<i32>::new(|a, b| a | b);
    2241 bit_or(INT8) -> INT8 = Fold::<i64>::new(|a, b| a | b);
    6164 bit_xor(INT2) -> INT2 = Fold::<i16>::new(|a, b| a ^ b);
    6165 bit_xor(INT4) -> INT4 = Fold::<i32>::new(|a, b| a ^ b);
    6166 bit_xor(INT8) -> INT8 = Fold::<i64>::new(|a, b| a ^ b);
    2517 bool_and(BOOL) -> BOOL = Fold::<bool>::new(|a, b| a && b);
    2518 bool_or(BOOL) -> BOOL = Fold::<bool>::new(|a, b| a || b);
    2519 every(BOOL) -> BOOL = Fold::<bool>::new(|a, b| a && b);
    2050 max(ANYARRAY) -> ANYARRAY = @args Extreme::new(args, Ordering::Greater);
    2115 max(INT8) -> INT8 = @args Extreme::new(args, Ordering::Greater);
    2116 max(INT4) -> INT4 = @args Extreme::new(args, Ordering::Greater);
    2117 max(INT2) -> INT2 = @args Extreme::new(args, Ordering::Greater);
    2118 max(OID) -> OID = @args Extreme::new(args, Ordering::Greater);
    2119 max(FLOAT4) -> FLOAT4 = @args Extreme::new(args, Ordering::Greater);
    2120 max(FLOAT8) -> FLOAT8 = @args Extreme::new(args, Ordering::Greater);
    2122 max(DATE) -> DATE = @args Extreme::new(args, Ordering::Greater);
    2123 max(TIME) -> TIME = @args Extreme::new(args, Ordering::Greater);
    2124 max(TIMETZ) -> TIMETZ = @args Extreme::new(args, Ordering::Greater);
    2126 max(TIMESTAMP) -> TIMESTAMP = @args Extreme::new(args, Ordering::Greater);
    2127 max(TIMESTAMPTZ) -> TIMESTAMPTZ = @args Extreme::new(args, Ordering::Greater);
    2128 max(INTERVAL) -> INTERVAL = @args Extreme::new(args, Ordering::Greater);
    2129 max(TEXT) -> TEXT = @args Extreme::new(args, Ordering::Greater);
    2130 max(NUMERIC) -> NUMERIC = @args Extreme::new(args, Ordering::Greater);
    2244 max(BPCHAR) -> BPCHAR = @args Extreme::new(args, Ordering::Greater);
    2797 max(TID) -> TID = @args Extreme::new(args, Ordering::Greater);
    3526 max(ANYENUM) -> ANYENUM = @args Extreme::new(args, Ordering::Greater);
    4189 max(PG_LSN) -> PG_LSN = @args Extreme::new(args, Ordering::Greater);
    5099 max(XID8) -> XID8 = @args Extreme::new(args, Ordering::Greater);
    2051 min(ANYARRAY) -> ANYARRAY = @args Extreme::new(args, Ordering::Less);
    2131 min(INT8) -> INT8 = @args Extreme::new(args, Ordering::Less);
    2132 min(INT4) -> INT4 = @args Extreme::new(args, Ordering::Less);
    2133 min(INT2) -> INT2 = @args Extreme::new(args, Ordering::Less);
    2134 min(OID) -> OID = @args Extreme::new(args, Ordering::Less);
    2135 min(FLOAT4) -> FLOAT4 = @args Extreme::new(args, Ordering::Less);
    2136 min(FLOAT8) -> FLOAT8 = @args Extreme::new(args, Ordering::Less);
    2138 min(DATE) -> DATE = @args Extreme::new(args, Ordering::Less);
    2139 min(TIME) -> TIME = @args Extreme::new(args, Ordering::Less);
    2140 min(TIMETZ) -> TIMETZ = @args Extreme::new(args, Ordering::Less);
    2142 min(TIMESTAMP) -> TIMESTAMP = @args Extreme::new(args, Ordering::Less);
    2143 min(TIMESTAMPTZ) -> TIMESTAMPTZ = @args Extreme::new(args, Ordering::Less);
    2144 min(INTERVAL) -> INTERVAL = @args Extreme::new(args, Ordering::Less);
    2145 min(TEXT) -> TEXT = @args Extreme::new(args, Ordering::Less);
    2146 min(NUMERIC) -> NUMERIC = @args Extreme::new(args, Ordering::Less);
    2245 min(BPCHAR) -> BPCHAR = @args Extreme::new(args, Ordering::Less);
    2798 min(TID) -> TID = @args Extreme::new(args, Ordering::Less);
    3527 min(ANYENUM) -> ANYENUM = @args Extreme::new(args, Ordering::Less);
    4190 min(PG_LSN) -> PG_LSN = @args Extreme::new(args, Ordering::Less);
    5100 min(XID8) -> XID8 = @args Extreme::new(args, Ordering::Less);
};
