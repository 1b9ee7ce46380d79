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

use numeric::{Numeric, Sum};
use scalar::aggregate::Accumulator;
use scalar::function::Call;
use stripe::{Bounds, Zone};
use types::{Datum, DatumRef, Repr, Result};

use crate::counts::Counts;
use crate::distinct::Distinct;
use crate::slice::Selection;
use crate::value::rescaled;
use crate::vector::{
    Decimals, Ints, SCALE_MAX, Shown, Values, Vector, bound_of, int_datum, numeric, power,
};

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
    /// Calls `f` with the value and the group of each row, if all rows of the slice are selected and have a value in
    /// one of several groups; false if not.
    #[inline]
    fn each_of_all<T: Copy>(
        &self,
        vector: &Vector<'_>,
        values: &[T],
        mut f: impl FnMut(T, usize),
    ) -> bool {
        match (self.groups, self.rows) {
            (Some(groups), Selection::All(count)) if vector.nulls.is_empty() => {
                for (value, group) in values[..*count].iter().zip(&groups[..*count]) {
                    f(*value, *group as usize);
                }
                true
            }
            _ => false,
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
    fn groups(&self) -> impl Iterator<Item = (usize, u64, usize)> {
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
    fn add(&mut self, group: usize, count: usize) {
        if self.0.len() <= group {
            self.0.resize(count.max(group + 1), 0);
        }
        self.0[group] += 1;
    }

    /// Notes so many rows of the first group.
    fn add_many(&mut self, rows: u64) {
        if self.0.is_empty() {
            self.0.push(0);
        }
        self.0[0] += rows;
    }

    fn merge(&mut self, other: &Missing, merging: Merging<'_>) {
        for (count, to) in other.0.iter().zip(merging.groups).filter(|(count, _)| **count > 0) {
            let to = *to as usize;
            self.0.resize(self.0.len().max(to + 1), 0);
            self.0[to] += count;
        }
    }

    /// Returns the number of values of a group of so many rows.
    fn present(&self, group: usize, rows: u64) -> u64 {
        rows - self.0.get(group).copied().unwrap_or(0)
    }

    fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) {
        if !vector.nulls.is_empty() {
            rows.each(vector, |_, _| {}, |group| self.add(group, rows.count));
        }
    }
}

/// Exact sums of integers and decimals.
#[derive(Default)]
pub struct Totals {
    missing: Missing,
    /// The part of each sum that fits 64 bits, and how much can still be added to any without a look.
    narrow: Vec<i64>,
    room: u64,
    wide: Vec<i128>,
    /// The digits after the point that all sums have.
    scale: u32,
    /// The digits that all values so far show; `None` if each group has its own in `shown`.
    shown_by_all: Option<u8>,
    shown: Vec<u8>,
    begun: bool,
}

impl Totals {
    fn reach(&mut self, count: usize) {
        self.narrow.resize(count, 0);
        self.wide.resize(count, 0);
        if self.shown_by_all.is_none() {
            self.shown.resize(count, 0);
        }
    }

    /// Moves what is in 64 bits to where 128 are.
    fn widen(&mut self) {
        for (narrow, wide) in self.narrow.iter_mut().zip(&mut self.wide) {
            *wide += i128::from(std::mem::take(narrow));
        }
        self.room = i64::MAX as u64;
    }

    /// Has all sums have as many digits after the point as `numbers`, or these as many as the sums.
    fn align<'d>(&mut self, numbers: &'d Decimals) -> Option<(std::borrow::Cow<'d, [i64]>, u64)> {
        if numbers.scale > self.scale {
            self.widen();
            let factor = i128::from(power(numbers.scale - self.scale));
            if self.wide.iter().any(|sum| sum.checked_mul(factor).is_none()) {
                return None;
            }
            self.wide.iter_mut().for_each(|sum| *sum *= factor);
            self.scale = numbers.scale;
        }
        rescaled(numbers, self.scale)
    }

    fn note_shown(&mut self, shown: &Shown, vector: &Vector<'_>, rows: Rows<'_>) {
        if !self.begun {
            self.begun = true;
            if let Shown::Same(digits) = shown {
                self.shown_by_all = Some(*digits);
            }
        }
        match (self.shown_by_all, shown) {
            (Some(all), Shown::Same(digits)) if all == *digits => return,
            (Some(all), _) => {
                self.shown_by_all = None;
                self.shown.clear();
                self.shown.resize(rows.count, all);
            }
            (None, _) => {}
        }
        self.shown.resize(rows.count, 0);
        let known = &mut self.shown;
        rows.each(vector, |row, group| known[group] = known[group].max(shown.get(row)), |_| {});
    }

    fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) -> bool {
        self.reach(rows.count);
        match &vector.values {
            Values::Ints(ints) => {
                self.note_shown(&Shown::Same(0), vector, rows);
                self.add(&ints.values, ints.bound, vector, rows);
            }
            Values::Decimals(numbers) => {
                let Some((values, bound)) = self.align(numbers) else { return false };
                self.note_shown(&numbers.shown, vector, rows);
                self.add(&values, bound, vector, rows);
            }
            _ => return false,
        }
        true
    }

    fn add(&mut self, values: &[i64], bound: u64, vector: &Vector<'_>, rows: Rows<'_>) {
        self.missing.update(vector, rows);
        let most = bound.saturating_mul(rows.rows.len() as u64);
        if most > i64::MAX as u64 / 2 {
            let wide = &mut self.wide;
            return rows.each(vector, |row, group| wide[group] += i128::from(values[row]), |_| {});
        }
        if most > self.room {
            self.widen();
        }
        self.room -= most;
        let narrow = &mut self.narrow;
        match (rows.groups, rows.rows, vector.nulls.is_empty()) {
            (None, Selection::All(count), true) => {
                narrow[0] += values[..*count].iter().sum::<i64>();
            }
            (None, _, _) => {
                let mut sum = 0;
                rows.each(vector, |row, _| sum += values[row], |_| {});
                narrow[0] += sum;
            }
            (Some(groups), selected, true) if narrow.len() <= FEW => {
                add_to_few(values, groups, selected, narrow);
            }
            _ => {
                let narrow = &mut narrow[..];
                if !rows.each_of_all(vector, values, |value, group| narrow[group] += value) {
                    rows.each(vector, |row, group| narrow[group] += values[row], |_| {});
                }
            }
        }
    }

    /// Takes in other sums; false if that would take more than 128 bits.
    fn merge(&mut self, mut other: Totals, merging: Merging<'_>) -> bool {
        self.reach(merging.rows_before.len());
        other.reach(merging.groups.len());
        if !other.begun {
            self.missing.merge(&other.missing, merging);
            return true;
        }
        let scale = self.scale.max(other.scale);
        for totals in [&mut *self, &mut other] {
            totals.widen();
            let factor = i128::from(power(scale - totals.scale));
            for sum in &mut totals.wide {
                let Some(scaled) = sum.checked_mul(factor) else { return false };
                *sum = scaled;
            }
            totals.scale = scale;
        }
        if !self.begun {
            (self.begun, self.shown_by_all) = (true, other.shown_by_all);
        }
        if self.shown_by_all.is_none() || self.shown_by_all != other.shown_by_all {
            self.shown_by_each(merging.rows_before);
            other.shown_by_each(merging.rows);
            for (from, _, to) in merging.groups() {
                self.shown[to] = self.shown[to].max(other.shown[from]);
            }
        }
        self.missing.merge(&other.missing, merging);
        for (from, _, to) in merging.groups() {
            let Some(sum) = self.wide[to].checked_add(other.wide[from]) else { return false };
            self.wide[to] = sum;
        }
        true
    }

    /// Notes for each group which digits its values show. The groups have so many rows.
    fn shown_by_each(&mut self, rows: &[u64]) {
        self.shown.resize(rows.len(), 0);
        if let Some(all) = self.shown_by_all.take() {
            for (group, (shown, rows)) in self.shown.iter_mut().zip(rows).enumerate() {
                *shown = if self.missing.present(group, *rows) > 0 { all } else { 0 };
            }
        }
    }

    /// Returns the sums of groups, whose numbers of rows these are, as `sum` gives them; `None` if one has more than 64
    /// bits.
    fn sums<'a>(&self, groups: Range<usize>, rows: &[u64], repr: Repr) -> Option<Vector<'a>> {
        let is_integer = matches!(repr, Repr::Int8) && self.scale == 0;
        if !is_integer && repr != Repr::Numeric || self.scale > SCALE_MAX {
            return None;
        }
        let (mut values, mut nulls) = (Vec::with_capacity(groups.len()), Vec::new());
        let mut shown = Vec::new();
        for (at, group) in groups.clone().enumerate() {
            let has_value = self.missing.present(group, rows[group]) > 0;
            if !has_value {
                nulls.resize(groups.len(), false);
                nulls[at] = true;
            }
            let wide = self.wide.get(group).copied().unwrap_or(0);
            let narrow = self.narrow.get(group).copied().unwrap_or(0);
            values.push(i64::try_from(wide.checked_add(narrow.into())?).ok()?);
            if self.shown_by_all.is_none() {
                shown.push(self.shown.get(group).copied().unwrap_or(0));
            }
        }
        let bound = bound_of(&values);
        let shown = self.shown_by_all.map_or(Shown::Each(shown), Shown::Same);
        let values = match is_integer {
            true => Values::Ints(Ints { repr, values, bound }),
            false => {
                Values::Decimals(Decimals { scale: self.scale, mantissas: values, shown, bound })
            }
        };
        Some(Vector { values, nulls })
    }

    /// Returns the sum of a group of so many rows.
    fn sum(&self, group: usize, rows: u64) -> Sum {
        let mut sum = Sum::new();
        let count = self.missing.present(group, rows);
        let Some(wide) = self.wide.get(group).filter(|_| count > 0) else { return sum };
        let total = wide + i128::from(self.narrow[group]);
        let shown = self.shown_by_all.unwrap_or_else(|| self.shown[group]);
        let cut = total / i128::from(power(self.scale - u32::from(shown)));
        let total = Numeric::new(cut, shown.into()).expect("a scale of two digits");
        sum.add_total(&total, count);
        sum
    }
}

/// Up to so many groups have several tables each.
pub const FEW: usize = 64;

/// Adds values to the sums of up to [`FEW`] groups.
fn add_to_few(values: &[i64], groups: &[u32], rows: &Selection, sums: &mut [i64]) {
    // Neighbours are often of one group: in tables of their own no addition waits for the one before it.
    let mut tables = [[0_i64; FEW]; 4];
    let mut add = |table: usize, value: i64, group: u32| {
        tables[table][group as usize % FEW] += value;
    };
    match rows {
        Selection::All(count) => {
            let (fours, rest) = values[..*count].as_chunks::<4>();
            let (of_fours, of_rest) = groups[..*count].as_chunks::<4>();
            for (values, groups) in fours.iter().zip(of_fours) {
                (0..4).for_each(|at| add(at, values[at], groups[at]));
            }
            rest.iter().zip(of_rest).for_each(|(value, group)| add(0, *value, *group));
        }
        Selection::Some(rows) => {
            let (fours, rest) = rows.as_chunks::<4>();
            let mut add_row = |at: usize, row: u16| {
                add(at, values[usize::from(row)], groups[usize::from(row)]);
            };
            fours.iter().for_each(|rows| (0..4).for_each(|at| add_row(at, rows[at])));
            rest.iter().for_each(|row| add_row(0, *row));
        }
    }
    for table in tables {
        sums.iter_mut().zip(table).for_each(|(sum, more)| *sum += more);
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
    fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) -> bool {
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
            _ => {
                if !rows.each_of_all(vector, values, |value, group| sums[group] += value) {
                    rows.each(vector, |row, group| sums[group] += values[row], |_| {});
                }
            }
        }
        true
    }
}

impl Floats {
    fn merge(&mut self, other: &Floats, merging: Merging<'_>) {
        self.missing.merge(&other.missing, merging);
        self.sums.resize(merging.rows_before.len(), 0.0);
        for (sum, to) in other.sums.iter().zip(merging.groups) {
            self.sums[*to as usize] += sum;
        }
    }
}

/// The least or the greatest values.
pub struct Extremes {
    is_least: bool,
    repr: Repr,
    best: Vec<i64>,
    shown: Vec<u8>,
    has: Vec<bool>,
    /// The digits after the point that all values have; `None` before the first one, and for integers.
    scale: Option<u32>,
}

impl Extremes {
    /// Returns the state of `min`, or of `max`, over values that are held like this.
    pub fn new(is_least: bool, repr: Repr) -> Extremes {
        let (best, shown, has) = (Vec::new(), Vec::new(), Vec::new());
        Extremes { is_least, repr, best, shown, has, scale: None }
    }

    fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) -> bool {
        let (values, shown) = match &vector.values {
            Values::Ints(ints) => (&ints.values, None),
            Values::Decimals(numbers) => {
                if *self.scale.get_or_insert(numbers.scale) != numbers.scale {
                    return false;
                }
                (&numbers.mantissas, Some(&numbers.shown))
            }
            _ => return false,
        };
        self.best.resize(rows.count, 0);
        self.has.resize(rows.count, false);
        self.shown.resize(rows.count, 0);
        // Where all show the same digits the value alone decides, once each group has one.
        let is_same = match shown {
            Some(Shown::Same(digits)) => self.shown.iter().all(|shown| shown == digits),
            Some(Shown::Each(_)) => false,
            None => true,
        };
        if is_same && self.has.iter().all(|has| *has) {
            let best = &mut self.best[..];
            let is_done = match self.is_least {
                true => rows.each_of_all(vector, values, |value, group| {
                    best[group] = best[group].min(value);
                }),
                false => rows.each_of_all(vector, values, |value, group| {
                    best[group] = best[group].max(value);
                }),
            };
            if is_done {
                return true;
            }
        }
        let (best, has, digits) = (&mut self.best, &mut self.has, &mut self.shown);
        let is_least = self.is_least;
        let take = |row: usize, group: usize| {
            let (value, so_far) = (values[row], best[group]);
            let is_better = if is_least { value < so_far } else { value > so_far };
            // The first of equal values stays, as it shows its own digits.
            if is_better || !has[group] {
                (best[group], has[group]) = (value, true);
                if let Some(shown) = shown {
                    digits[group] = shown.get(row);
                }
            }
        };
        rows.each(vector, take, |_| {});
        true
    }

    /// Takes in other extremes; false if they have another number of digits after the point.
    fn merge(&mut self, other: &Extremes, merging: Merging<'_>) -> bool {
        let groups = merging.rows_before.len();
        self.best.resize(groups, 0);
        self.has.resize(groups, false);
        self.shown.resize(groups, 0);
        self.scale = self.scale.or(other.scale);
        if other.scale.is_some() && other.scale != self.scale {
            return false;
        }
        for (from, to) in merging.groups.iter().enumerate() {
            let to = *to as usize;
            if !other.has.get(from).is_some_and(|has| *has) {
                continue;
            }
            let (value, so_far) = (other.best[from], self.best[to]);
            let is_better = if self.is_least { value < so_far } else { value > so_far };
            if is_better || !self.has[to] {
                (self.best[to], self.has[to], self.shown[to]) = (value, true, other.shown[from]);
            }
        }
        true
    }

    fn value(&self, group: usize) -> Datum {
        if !self.has.get(group).is_some_and(|has| *has) {
            return Datum::Null;
        }
        match self.scale {
            Some(scale) => Datum::from(numeric(self.best[group], scale, self.shown[group])),
            None => int_datum(self.repr, self.best[group]).to_owned(),
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
            (State::Extremes(extremes), "min" | "max") => {
                let values = groups.map(|group| extremes.value(group)).collect();
                Some(Vector::of_datums(repr, values))
            }
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
            State::Totals(totals) => {
                let Some(sum) = zone.sum else { return false };
                let (scale, shown) = scale.unwrap_or((0, 0));
                let is_alike = (totals.shown_by_all, totals.scale) == (Some(shown), scale);
                if totals.begun && !is_alike {
                    return false;
                }
                (totals.begun, totals.shown_by_all, totals.scale) = (true, Some(shown), scale);
                totals.reach(1);
                let Some(total) = totals.wide[0].checked_add(sum) else { return false };
                totals.wide[0] = total;
                totals.missing.add_many(nulls);
                true
            }
            State::Extremes(extremes) => match (&zone.bounds, scale) {
                (Bounds::Nothing, _) => true,
                (Bounds::Ints(min, max), None) => {
                    let value = if extremes.is_least { *min } else { *max };
                    let ints = Ints { repr: extremes.repr, values: vec![value], bound: u64::MAX };
                    let vector = Vector { values: Values::Ints(ints), nulls: Vec::new() };
                    let rows = Rows { rows: &Selection::All(1), groups: None, count: 1 };
                    extremes.update(&vector, rows)
                }
                _ => false,
            },
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums stay exact where 64 bits do not suffice, and where scales differ.
    #[test]
    fn sums_are_exact() {
        let mut totals = Totals::default();
        let rows = Selection::All(4);
        let rows = Rows { rows: &rows, groups: Some(&[0, 1, 0, 1]), count: 2 };
        let ints = |all: [i64; 4]| Vector::of_datums(Repr::Int8, all.map(Datum::Int8).into());
        assert!(totals.update(&ints([i64::MAX, 1, i64::MAX, 2]), rows));
        assert!(totals.update(&ints([-5, 1, 3, i64::MIN]), rows));
        let sum = |totals: &Totals, group| totals.sum(group, 4).sum().unwrap().unwrap().to_string();
        assert_eq!(sum(&totals, 0), "18446744073709551612");
        assert_eq!(sum(&totals, 1), "-9223372036854775804");

        let mut totals = Totals::default();
        let texts = |all: [&str; 4]| {
            let number = |text: &str| Datum::from(text.parse::<Numeric>().unwrap());
            Vector::of_datums(Repr::Numeric, all.map(number).into())
        };
        assert!(totals.update(&texts(["1.5", "2.5", "0.5", "0.5"]), rows));
        assert!(totals.update(&texts(["1.25", "7", "0.125", "0"]), rows));
        assert_eq!((sum(&totals, 0), sum(&totals, 1)), ("3.375".into(), "10.0".into()));
    }
}
