//! Aggregates that count, choose, fold or collect.

use std::cmp::Ordering;

use types::array::Dimension;
use types::{Array, Datum, DatumRef, Error, Result, SqlState, Type};

use crate::aggregate::{Accumulator, Kind, aggregates};
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
#[derive(Default)]
struct AnyValue(Datum);

impl Accumulator for AnyValue {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if self.0.is_null() {
            self.0 = args[0].to_owned();
        }
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        Ok(self.0.clone())
    }
}

/// The least or the greatest value.
struct Extreme {
    value: Datum,
    /// How a value stands to the one so far, to take its place.
    wanted: Ordering,
}

impl Extreme {
    fn new(wanted: Ordering) -> Self {
        Self { value: Datum::Null, wanted }
    }
}

impl Accumulator for Extreme {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let value = args[0];
        if !value.is_null()
            && (self.value.is_null() || value.cmp(&self.value.as_ref()) == self.wanted)
        {
            self.value = value.to_owned();
        }
        Ok(())
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
#[derive(Default)]
struct Joined {
    bytes: Option<Vec<u8>>,
    text: bool,
}

impl Accumulator for Joined {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let bytes = |arg| match arg {
            DatumRef::Text(text) => str::as_bytes(text),
            DatumRef::Bytea(bytes) => bytes,
            _ => &[],
        };
        if args[0].is_null() {
            return Ok(());
        }
        match &mut self.bytes {
            Some(joined) => joined.extend_from_slice(bytes(args[1])),
            None => self.bytes = Some(Vec::new()),
        }
        self.bytes.get_or_insert_default().extend_from_slice(bytes(args[0]));
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        match &self.bytes {
            None => Ok(Datum::Null),
            // Whole texts were put together, so they are one.
            Some(joined) if self.text => String::from_utf8_lossy(joined).into_owned().put(),
            Some(joined) => joined.clone().put(),
        }
    }
}

/// The values as an array, NULLs included.
struct Elements {
    element: Type,
    values: Vec<Datum>,
}

impl Accumulator for Elements {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        self.values.push(args[0].to_owned());
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn finish(&self, call: &Call<'_>) -> Result<Datum> {
        if self.values.is_empty() {
            return Ok(Datum::Null);
        }
        array::from_values(call, self.element, &self.values).put()
    }
}

/// Arrays as the slices of one that has a dimension more.
struct Slices {
    slices: Vec<Array>,
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
        self.slices.push(slice.to_owned());
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
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
    6291 any_value(ANYELEMENT) -> ANYELEMENT = AnyValue::default();
    3538 string_agg(TEXT, TEXT) -> TEXT = Joined { bytes: None, text: true };
    3545 string_agg(BYTEA, BYTEA) -> BYTEA = Joined { bytes: None, text: false };
    2335 array_agg(ANYNONARRAY) -> ANYARRAY = @args
        Elements { element: args[0], values: Vec::new() };
    4053 array_agg(ANYARRAY) -> ANYARRAY = Slices { slices: Vec::new() };
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
    2050 max(ANYARRAY) -> ANYARRAY = Extreme::new(Ordering::Greater);
    2115 max(INT8) -> INT8 = Extreme::new(Ordering::Greater);
    2116 max(INT4) -> INT4 = Extreme::new(Ordering::Greater);
    2117 max(INT2) -> INT2 = Extreme::new(Ordering::Greater);
    2118 max(OID) -> OID = Extreme::new(Ordering::Greater);
    2119 max(FLOAT4) -> FLOAT4 = Extreme::new(Ordering::Greater);
    2120 max(FLOAT8) -> FLOAT8 = Extreme::new(Ordering::Greater);
    2122 max(DATE) -> DATE = Extreme::new(Ordering::Greater);
    2123 max(TIME) -> TIME = Extreme::new(Ordering::Greater);
    2124 max(TIMETZ) -> TIMETZ = Extreme::new(Ordering::Greater);
    2126 max(TIMESTAMP) -> TIMESTAMP = Extreme::new(Ordering::Greater);
    2127 max(TIMESTAMPTZ) -> TIMESTAMPTZ = Extreme::new(Ordering::Greater);
    2128 max(INTERVAL) -> INTERVAL = Extreme::new(Ordering::Greater);
    2129 max(TEXT) -> TEXT = Extreme::new(Ordering::Greater);
    2130 max(NUMERIC) -> NUMERIC = Extreme::new(Ordering::Greater);
    2244 max(BPCHAR) -> BPCHAR = Extreme::new(Ordering::Greater);
    2797 max(TID) -> TID = Extreme::new(Ordering::Greater);
    3526 max(ANYENUM) -> ANYENUM = Extreme::new(Ordering::Greater);
    4189 max(PG_LSN) -> PG_LSN = Extreme::new(Ordering::Greater);
    5099 max(XID8) -> XID8 = Extreme::new(Ordering::Greater);
    2051 min(ANYARRAY) -> ANYARRAY = Extreme::new(Ordering::Less);
    2131 min(INT8) -> INT8 = Extreme::new(Ordering::Less);
    2132 min(INT4) -> INT4 = Extreme::new(Ordering::Less);
    2133 min(INT2) -> INT2 = Extreme::new(Ordering::Less);
    2134 min(OID) -> OID = Extreme::new(Ordering::Less);
    2135 min(FLOAT4) -> FLOAT4 = Extreme::new(Ordering::Less);
    2136 min(FLOAT8) -> FLOAT8 = Extreme::new(Ordering::Less);
    2138 min(DATE) -> DATE = Extreme::new(Ordering::Less);
    2139 min(TIME) -> TIME = Extreme::new(Ordering::Less);
    2140 min(TIMETZ) -> TIMETZ = Extreme::new(Ordering::Less);
    2142 min(TIMESTAMP) -> TIMESTAMP = Extreme::new(Ordering::Less);
    2143 min(TIMESTAMPTZ) -> TIMESTAMPTZ = Extreme::new(Ordering::Less);
    2144 min(INTERVAL) -> INTERVAL = Extreme::new(Ordering::Less);
    2145 min(TEXT) -> TEXT = Extreme::new(Ordering::Less);
    2146 min(NUMERIC) -> NUMERIC = Extreme::new(Ordering::Less);
    2245 min(BPCHAR) -> BPCHAR = Extreme::new(Ordering::Less);
    2798 min(TID) -> TID = Extreme::new(Ordering::Less);
    3527 min(ANYENUM) -> ANYENUM = Extreme::new(Ordering::Less);
    4190 min(PG_LSN) -> PG_LSN = Extreme::new(Ordering::Less);
    5100 min(XID8) -> XID8 = Extreme::new(Ordering::Less);
};
