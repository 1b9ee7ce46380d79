//! Aggregates over sorted rows: percentiles, the most frequent value, the place that a row would
//! have.

use types::time::Interval;
use types::{Datum, DatumRef, Error, Result, SqlState, Type};

use crate::aggregate::{Accumulator, Kind, aggregates};
use crate::array;
use crate::function::{Argument, Call, Function, Output};

/// The value at a fraction of the way between two others.
type Between = fn(f64, DatumRef<'_>, DatumRef<'_>) -> Result<Datum>;

/// Percentiles: of the sorted values, those at fractions of the way.
struct Percentile {
    /// The type of the values, for a result that is an array of them.
    element: Type,
    fractions: Datum,
    /// The values in order; one that is there many times may stand once, up to its place in `ends`.
    values: Vec<Datum>,
    /// Where the values end, exclusive; empty if each is there once.
    ends: Vec<u64>,
    /// The bytes of the values on the heap.
    heap_bytes: usize,
    /// The value between two neighbours, where values in between are wanted.
    between: Option<Between>,
}

impl Percentile {
    fn discrete(args: &[Type]) -> Self {
        let (fractions, values, ends) = (Datum::Null, Vec::new(), Vec::new());
        Self { element: args[1], fractions, values, ends, heap_bytes: 0, between: None }
    }

    fn continuous(args: &[Type], between: Between) -> Self {
        Self { between: Some(between), ..Self::discrete(args) }
    }

    fn at(&self, fraction: f64) -> Result<Datum> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(Error::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("percentile value {fraction} is not between 0 and 1"),
            ));
        }
        if self.values.is_empty() {
            return Ok(Datum::Null);
        }
        let (low, high) = self.places_of(fraction, self.count());
        let Some(between) = self.between.filter(|_| low != high) else {
            return Ok(self.value(low).clone());
        };
        let place = fraction * (self.count() - 1) as f64;
        between(place - low as f64, self.value(low).as_ref(), self.value(high).as_ref())
    }

    /// The places, from 0, of the values at a fraction or around it, of so many.
    fn places_of(&self, fraction: f64, count: u64) -> (u64, u64) {
        if self.between.is_some() {
            let place = fraction * (count - 1) as f64;
            return (place.floor() as u64, place.ceil() as u64);
        }
        // The first value with at least that fraction of all values up to it.
        let rank = (fraction * count as f64).ceil() as u64;
        (rank.max(1) - 1, rank.max(1) - 1)
    }

    fn count(&self) -> u64 {
        self.ends.last().copied().unwrap_or(self.values.len() as u64)
    }

    /// The value at a place among all.
    fn value(&self, place: u64) -> &Datum {
        match self.ends.is_empty() {
            true => &self.values[place as usize],
            false => &self.values[self.ends.partition_point(|end| *end <= place)],
        }
    }
}

impl Accumulator for Percentile {
    fn begin(&mut self, direct: &[DatumRef<'_>]) {
        self.fractions = direct[0].to_owned();
    }

    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if !self.ends.is_empty() {
            return self.add_times(call, args, 1);
        }
        if !args[0].is_null() {
            self.heap_bytes += args[0].heap_bytes();
            self.values.push(args[0].to_owned());
        }
        Ok(())
    }

    fn add_times(&mut self, _: &Call<'_>, args: &[DatumRef<'_>], count: u64) -> Result<()> {
        if count == 0 || args[0].is_null() {
            return Ok(());
        }
        if self.ends.is_empty() {
            self.ends.extend(1..=self.values.len() as u64);
        }
        self.ends.push(self.ends.last().copied().unwrap_or(0) + count);
        self.heap_bytes += args[0].heap_bytes();
        self.values.push(args[0].to_owned());
        Ok(())
    }

    fn places(&self, count: u64) -> Option<Vec<u64>> {
        let fractions: Vec<f64> = match self.fractions.as_ref() {
            DatumRef::Float8(fraction) => vec![fraction],
            DatumRef::Array(fractions) => {
                let number = |fraction: DatumRef<'_>| match fraction {
                    DatumRef::Float8(fraction) => Some(fraction),
                    _ => None,
                };
                fractions.iter().filter_map(number).collect()
            }
            _ => Vec::new(),
        };
        let is_right = |fraction: &f64| (0.0..=1.0).contains(fraction) && count > 0;
        let places = fractions.into_iter().filter(is_right).flat_map(|fraction| {
            let (low, high) = self.places_of(fraction, count);
            [low, high]
        });
        Some(places.collect())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Datum>() + self.ends.capacity() * 8 + self.heap_bytes
    }

    fn finish(&self, call: &Call<'_>) -> Result<Datum> {
        match self.fractions.as_ref() {
            DatumRef::Float8(fraction) => self.at(fraction),
            DatumRef::Array(fractions) => {
                let results = fractions
                    .iter()
                    .map(|fraction| match fraction {
                        DatumRef::Float8(fraction) => self.at(fraction),
                        _ => Ok(Datum::Null),
                    })
                    .collect::<Result<Vec<_>>>()?;
                if self.values.is_empty() {
                    return Ok(Datum::Null);
                }
                array::shaped(call, self.element, &fractions.dimensions(), &results).put()
            }
            _ => Ok(Datum::Null),
        }
    }
}

/// The point at a fraction of the way between two floats.
fn between_floats(fraction: f64, low: DatumRef<'_>, high: DatumRef<'_>) -> Result<Datum> {
    let (low, high) = (f64::read(low)?, f64::read(high)?);
    (low + fraction * (high - low)).put()
}

/// The point at a fraction of the way between two intervals.
fn between_intervals(fraction: f64, low: DatumRef<'_>, high: DatumRef<'_>) -> Result<Datum> {
    let (low, high) = (Interval::read(low)?, Interval::read(high)?);
    low.add(high.subtract(low)?.multiply(fraction)?).put()
}

/// The most frequent value, the first of them in the order.
#[derive(Default)]
struct Mode {
    run: (Datum, u64),
    best: (Datum, u64),
    /// The most that the values so far have taken.
    held_bytes: usize,
}

impl Accumulator for Mode {
    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        self.add_times(call, args, 1)
    }

    fn add_times(&mut self, _: &Call<'_>, args: &[DatumRef<'_>], count: u64) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        if self.run.1 > 0 && self.run.0.as_ref() == args[0] {
            self.run.1 += count;
        } else {
            self.run = (args[0].to_owned(), count);
            self.held_bytes = self.held_bytes.max(2 * args[0].heap_bytes());
        }
        if self.run.1 > self.best.1 {
            self.best = self.run.clone();
        }
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        Ok(self.best.0.clone())
    }
}

/// How many rows stand before, beside and behind a row that is not among them.
#[derive(Default, Clone, Copy)]
struct HypotheticalRank {
    before: i64,
    /// Groups of peers before.
    groups_before: i64,
    peers: i64,
    all: i64,
}

struct Hypothetical {
    place: HypotheticalRank,
    gives: fn(HypotheticalRank) -> Datum,
}

impl Hypothetical {
    fn new(gives: fn(HypotheticalRank) -> Datum) -> Self {
        Self { place: HypotheticalRank::default(), gives }
    }
}

impl Accumulator for Hypothetical {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let (order, starts_group) = (i32::read(args[0])?, bool::read(args[1])?);
        self.place.all += 1;
        self.place.before += i64::from(order < 0);
        self.place.groups_before += i64::from(order < 0 && starts_group);
        self.place.peers += i64::from(order == 0);
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        Ok((self.gives)(self.place))
    }
}

pub(super) const PERCENTILES: &[Function] = aggregates! { Kind::OrderedSet { direct: 1 } =>
    3972 percentile_disc(FLOAT8, ANYELEMENT) -> ANYELEMENT = @args
        Percentile::discrete(args);
    3978 percentile_disc(FLOAT8_ARRAY, ANYELEMENT) -> ANYARRAY = @args
        Percentile::discrete(args);
    3974 percentile_cont(FLOAT8, FLOAT8) -> FLOAT8 = @args
        Percentile::continuous(args, between_floats);
    3980 percentile_cont(FLOAT8_ARRAY, FLOAT8) -> FLOAT8_ARRAY = @args
        Percentile::continuous(args, between_floats);
    3976 percentile_cont(FLOAT8, INTERVAL) -> INTERVAL = @args
        Percentile::continuous(args, between_intervals);
    3982 percentile_cont(FLOAT8_ARRAY, INTERVAL) -> INTERVAL_ARRAY = @args
        Percentile::continuous(args, between_intervals);
};

pub(super) const MODE: &[Function] = aggregates! { Kind::OrderedSet { direct: 0 } =>
    3984 mode(ANYELEMENT) -> ANYELEMENT = Mode::default();
};

pub(super) const PLACES: &[Function] = aggregates! { Kind::Hypothetical =>
    3986 rank(ANY) -> INT8 [variadic] = Hypothetical::new(|p| Datum::Int8(p.before + 1));
    3992 dense_rank(ANY) -> INT8 [variadic] =
        Hypothetical::new(|p| Datum::Int8(p.groups_before + 1));
    3988 percent_rank(ANY) -> FLOAT8 [variadic] = Hypothetical::new(|p| {
        Datum::Float8(if p.all == 0 { 0.0 } else { p.before as f64 / p.all as f64 })
    });
    3990 cume_dist(ANY) -> FLOAT8 [variadic] = Hypothetical::new(|p| {
        Datum::Float8((p.before + p.peers + 1) as f64 / (p.all + 1) as f64)
    });
};
