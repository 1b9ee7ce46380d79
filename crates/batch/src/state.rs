//! The states of calls of aggregates: arrays with a place for each group.
//!
//! ```text
//!   sum(amount), avg(amount)     Totals      exact, 64 bits at first, then 128
//!   sum(price), avg(price)       Floats      added in the order of the rows
//!   min(amount)                  Extremes
//!   count(distinct user_id)      Distinct    a bitmap of the numbers of values
//!   percentile_disc(...)         Counts      how often each value is there
//!   all others                   Each        an accumulator for each group, row by row
//! ```
//!
//! A state that cannot take a vector (numbers of more than 64 bits, NaN) says so, and is replaced by accumulators
//! that go on from what it has come to.

use std::ops::Range;

use scalar::aggregate::Accumulator;
use scalar::function::Call;
use stripe::Zone;
use types::{Datum, DatumRef, Repr, Result};

use crate::counts::Counts;
use crate::distinct::Distinct;
use crate::extremes::Extremes;
use crate::few::add_to_few;
use crate::slice::Selection;
use crate::totals::Totals;
use crate::vector::{Ints, Values, Vector, bound_of};

/// The selected rows of a slice and their groups.
#[derive(Clone, Copy)]
pub struct Rows<'s> {
    /// The rows.
    pub rows: &'s Selection,
    /// The group of each row of the slice; `None` if all are of the first one.
    pub groups: Option<&'s [u32]>,
    /// The number of groups.
    pub count: usize,
}

impl Rows<'_> {
    /// Calls `f` with each value, and its group.
    #[inline]
    pub(crate) fn each_value<T: Copy>(
        &self,
        vector: &Vector<'_>,
        values: &[T],
        mut f: impl FnMut(T, usize),
    ) {
        match (self.groups, self.rows) {
            (Some(groups), Selection::All(count)) if vector.nulls.is_empty() => {
                for (value, group) in values[..*count].iter().zip(&groups[..*count]) {
                    f(*value, *group as usize);
                }
            }
            _ => self.each(vector, |row, group| f(values[row], group), |_| {}),
        }
    }

    /// Calls `f` with each row that has a value, and its group; `null` with the groups of the others.
    #[inline]
    pub fn each(
        &self,
        vector: &Vector<'_>,
        mut f: impl FnMut(usize, usize),
        mut null: impl FnMut(usize),
    ) {
        match (self.groups, vector.nulls.is_empty()) {
            (None, true) => self.rows.each(|row| f(row, 0)),
            (Some(groups), true) => self.rows.each(|row| f(row, groups[row] as usize)),
            (groups, false) => self.rows.each(|row| {
                let group = groups.map_or(0, |groups| groups[row] as usize);
                if vector.nulls[row] { null(group) } else { f(row, group) }
            }),
        }
    }
}

/// Where the groups of a state go in another one.
#[derive(Clone, Copy)]
pub struct Merging<'m> {
    /// The numbers that the groups get, by those that they have.
    pub groups: &'m [u32],
    /// The number of rows of each of them.
    pub rows: &'m [u64],
    /// The number of rows that each group of the other state has had before.
    pub rows_before: &'m [u64],
}

impl Merging<'_> {
    /// Returns the groups that come, the number of rows of each, and the groups that they become.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (usize, u64, usize)> {
        let pairs = self.rows.iter().zip(self.groups);
        pairs.enumerate().map(|(from, (rows, to))| (from, *rows, *to as usize))
    }
}

/// The state of a call, for all groups.
pub enum State {
    /// The number of rows; the groups know it.
    Rows,
    /// The number of values that are not NULL.
    Present(Missing),
    /// See the module.
    Totals(Totals),
    /// See the module.
    Floats(Floats),
    /// See the module.
    Extremes(Extremes),
    /// See the module.
    Distinct(Distinct),
    /// See the module.
    Counts(Counts),
    /// See the module.
    Each(Vec<Box<dyn Accumulator>>),
}

/// The number of rows of each group that have no value.
#[derive(Default)]
pub struct Missing(Vec<u64>);

impl Missing {
    /// Notes so many rows of the first group.
    pub(crate) fn add_many(&mut self, rows: u64) {
        if self.0.is_empty() {
            self.0.push(0);
        }
        self.0[0] += rows;
    }

    pub(crate) fn merge(&mut self, other: &Missing, merging: Merging<'_>) {
        for (count, to) in other.0.iter().zip(merging.groups).filter(|(count, _)| **count > 0) {
            let to = *to as usize;
            self.0.resize(self.0.len().max(to + 1), 0);
            self.0[to] += count;
        }
    }

    /// Returns the number of values of a group of so many rows.
    pub(crate) fn present(&self, group: usize, rows: u64) -> u64 {
        rows - self.0.get(group).copied().unwrap_or(0)
    }

    pub(crate) fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) {
        let nulls = &vector.nulls;
        if nulls.is_empty() {
            return;
        }
        self.0.resize(self.0.len().max(rows.count), 0);
        let is_done = rows.groups.is_some_and(|groups| {
            let is_null = |row: usize| i64::from(nulls[row]);
            let add = |group: usize, more| self.0[group] += more as u64;
            add_to_few(rows.count, groups, rows.rows, is_null, add)
        });
        if !is_done {
            rows.each(vector, |_, _| {}, |group| self.0[group] += 1);
        }
    }
}

/// Sums of floating point numbers.
#[derive(Default)]
pub struct Floats {
    missing: Missing,
    sums: Vec<f64>,
}

/// Numbers up to this have squares, and sums of squares, that are finite.
const CALM_MAX: f64 = 1e140;

impl Floats {
    pub(crate) fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) -> bool {
        let Values::Floats(numbers) = &vector.values else { return false };
        let values = &numbers.values;
        let is_far = |value: f64| value.is_nan() || value.abs() > CALM_MAX;
        let is_calm = match (numbers.bound, rows.rows) {
            (Some(bound), _) => !is_far(bound),
            (None, Selection::All(count)) => {
                !values[..*count].iter().fold(false, |far, one| far | is_far(*one))
            }
            (None, Selection::Some(some)) => {
                !some.iter().any(|row| is_far(values[usize::from(*row)]))
            }
        };
        if !is_calm {
            return false;
        }
        self.missing.update(vector, rows);
        self.sums.resize(rows.count, 0.0);
        let sums = &mut self.sums[..];
        match (rows.groups, rows.rows) {
            (None, Selection::All(count)) if vector.nulls.is_empty() => {
                sums[0] = values[..*count].iter().fold(sums[0], |sum, value| sum + value);
            }
            (None, _) => {
                let mut sum = sums[0];
                rows.each(vector, |row, _| sum += values[row], |_| {});
                sums[0] = sum;
            }
            _ => rows.each_value(vector, values, |value, group| sums[group] += value),
        }
        true
    }
}

impl Floats {
    pub(crate) fn merge(&mut self, other: &Floats, merging: Merging<'_>) {
        self.missing.merge(&other.missing, merging);
        self.sums.resize(merging.rows_before.len(), 0.0);
        for (sum, to) in other.sums.iter().zip(merging.groups) {
            self.sums[*to as usize] += sum;
        }
    }
}

impl State {
    /// Takes rows in, by the value of the only argument; false if this state cannot, and has not.
    pub fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) -> bool {
        match self {
            State::Rows => true,
            State::Present(missing) => {
                missing.update(vector, rows);
                true
            }
            State::Totals(totals) => totals.update(vector, rows),
            State::Floats(floats) => floats.update(vector, rows),
            State::Extremes(extremes) => extremes.update(vector, rows),
            State::Distinct(distinct) => {
                distinct.update(vector, rows);
                true
            }
            State::Counts(counts) => counts.update(vector, rows),
            State::Each(_) => false,
        }
    }

    /// Takes rows in one by one, by the values of all arguments. `new` has the accumulators of groups that are new.
    ///
    /// # Errors
    /// The errors of the accumulators.
    pub fn update_each(
        &mut self,
        vectors: &[&Vector<'_>],
        rows: Rows<'_>,
        call: &Call<'_>,
        new: Vec<Box<dyn Accumulator>>,
    ) -> Result<()> {
        let State::Each(groups) = self else { return Ok(()) };
        groups.extend(new);
        rows.rows.try_each(|row| {
            let group = rows.groups.map_or(0, |groups| groups[row] as usize);
            match vectors {
                [] => groups[group].add(call, &[]),
                [only] => only.with(row, |value| groups[group].add(call, &[value])),
                all => {
                    let values: Vec<Datum> = all.iter().map(|vector| vector.datum(row)).collect();
                    let refs: Vec<DatumRef<'_>> = values.iter().map(Datum::as_ref).collect();
                    groups[group].add(call, &refs)
                }
            }
        })
    }

    /// Returns the results of `count`, `sum`, `min` or `max` for groups, whose numbers of rows these are; `None` if the
    /// accumulators must be asked.
    pub fn results<'a>(
        &self,
        name: &str,
        groups: Range<usize>,
        rows: &[u64],
        repr: Repr,
    ) -> Option<Vector<'a>> {
        let counts = |count: &dyn Fn(usize) -> u64| {
            let values: Vec<i64> = groups.clone().map(|group| count(group) as i64).collect();
            let bound = bound_of(&values);
            let values = Values::Ints(Ints { repr: Repr::Int8, values, bound });
            Some(Vector { values, nulls: Vec::new() })
        };
        match (self, name) {
            (State::Rows, "count") => counts(&|group| rows[group]),
            (State::Present(missing), "count") => {
                counts(&|group| missing.present(group, rows[group]))
            }
            (State::Distinct(distinct), "count") => counts(&|group| distinct.count(group)),
            (State::Totals(totals), "sum") => totals.sums(groups, rows, repr),
            (State::Extremes(extremes), "min" | "max") => Some(extremes.results(groups, repr)),
            _ => None,
        }
    }

    /// Gives an accumulator what a group of so many rows has come to. It takes a place in `Each` next, or finishes.
    ///
    /// # Errors
    /// The errors of the accumulator.
    pub fn give(
        &self,
        group: usize,
        rows: u64,
        call: &Call<'_>,
        to: &mut dyn Accumulator,
    ) -> Result<()> {
        match self {
            State::Rows => to.add_rows(call, rows),
            State::Present(missing) => to.add_rows(call, missing.present(group, rows)),
            State::Totals(totals) => to.add_sum(&totals.sum(group, rows)),
            State::Floats(floats) => match floats.missing.present(group, rows) {
                0 => Ok(()),
                count => to.add_floats(floats.sums[group], count),
            },
            State::Extremes(extremes) => to.add(call, &[extremes.value(group).as_ref()]),
            State::Distinct(distinct) => to.add_rows(call, distinct.count(group)),
            State::Counts(counts) => counts.give(group, call, to),
            State::Each(_) => Ok(()),
        }
    }

    /// Takes in what another state of the same call has come to; false if that cannot be told, and both are of no use
    /// then. Accumulators take in the results of the others: their aggregate is one that allows that.
    ///
    /// # Errors
    /// The errors of the accumulators.
    pub fn merge(
        &mut self,
        other: State,
        merging: Merging<'_>,
        call: &Call<'_>,
        start: &dyn Fn() -> Box<dyn Accumulator>,
    ) -> Result<bool> {
        match (self, other) {
            (State::Rows, State::Rows) => {}
            (State::Present(missing), State::Present(other)) => missing.merge(&other, merging),
            (State::Totals(totals), State::Totals(other)) => {
                return Ok(totals.merge(other, merging));
            }
            (State::Floats(floats), State::Floats(other)) => floats.merge(&other, merging),
            (State::Extremes(extremes), State::Extremes(other)) => {
                return Ok(extremes.merge(&other, merging));
            }
            (State::Distinct(distinct), State::Distinct(other)) => distinct.merge(other, merging),
            (State::Counts(counts), State::Counts(other)) => counts.merge(&other, merging),
            (State::Each(groups), State::Each(others)) => {
                groups.resize_with(merging.rows_before.len(), start);
                for (other, to) in others.iter().zip(merging.groups) {
                    let result = other.finish(call)?;
                    groups[*to as usize].add(call, &[result.as_ref()])?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes all rows of a block in by what is known of a column, for the only group there is; false if that does
    /// not tell enough. `scale` has the digits that the values have and show, if they are decimals that all show
    /// the same number.
    pub fn update_by_zone(&mut self, zone: &Zone, scale: Option<(u32, u8)>) -> bool {
        let nulls = u64::from(zone.nulls);
        match self {
            State::Rows => true,
            State::Present(missing) => {
                missing.add_many(nulls);
                true
            }
            State::Totals(totals) => totals.update_by_zone(zone, scale),
            State::Extremes(extremes) => extremes.update_by_zone(zone, scale),
            _ => false,
        }
    }

    /// Returns about how many bytes are held, beyond a few for each group.
    pub fn bytes(&self) -> usize {
        match self {
            State::Distinct(distinct) => distinct.bytes(),
            State::Counts(counts) => counts.bytes(),
            State::Each(groups) => groups.iter().map(|one| 64 + one.held_bytes()).sum(),
            _ => 0,
        }
    }
}
