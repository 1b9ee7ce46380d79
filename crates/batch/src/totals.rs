//! [`Totals`]: exact sums of integers and decimals, in 64 bits at first and then in 128.

use std::ops::Range;

use numeric::{Numeric, Sum};
use stripe::Zone;
use types::Repr;

use crate::arithmetic::rescaled;
use crate::few::add_to_few;
use crate::slice::Selection;
use crate::state::{Merging, Missing, Rows};
use crate::vector::{Decimals, Ints, SCALE_MAX, Shown, Values, Vector, bound_of, power};

/// Exact sums of integers and decimals.
#[derive(Default)]
pub struct Totals {
    missing: Missing,
    /// The part of each sum that fits 64 bits.
    narrow: Vec<i64>,
    /// No sum in `narrow` is further from 0.
    narrow_bound: u64,
    /// The rest of each sum; empty as long as there is none.
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
        if !self.wide.is_empty() {
            self.wide.resize(count, 0);
        }
        if self.shown_by_all.is_none() {
            self.shown.resize(count, 0);
        }
    }

    /// Moves what is in 64 bits to where 128 are.
    fn widen(&mut self) {
        self.wide.resize(self.narrow.len(), 0);
        for (narrow, wide) in self.narrow.iter_mut().zip(&mut self.wide) {
            *wide += i128::from(std::mem::take(narrow));
        }
        self.narrow_bound = 0;
    }

    /// Gives all sums as many digits after the point as `numbers`, or `numbers` as many as the sums.
    fn align<'d>(&mut self, numbers: &'d Decimals) -> Option<(std::borrow::Cow<'d, [i64]>, u64)> {
        if numbers.scale > self.scale {
            if self.narrow_bound > 0 {
                self.widen();
            }
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

    pub(crate) fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) -> bool {
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
            self.wide.resize(self.narrow.len(), 0);
            let wide = &mut self.wide;
            return rows.each(vector, |row, group| wide[group] += i128::from(values[row]), |_| {});
        }
        if most > i64::MAX as u64 - self.narrow_bound {
            self.widen();
        }
        self.narrow_bound += most;
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
            (Some(groups), selected, has_all) => {
                let present;
                let values = match has_all {
                    true => values,
                    // Where a value is NULL, 0 is added.
                    false => {
                        let pairs = values.iter().zip(&vector.nulls);
                        present = pairs
                            .map(|(value, null)| if *null { 0 } else { *value })
                            .collect::<Vec<i64>>();
                        &present
                    }
                };
                let (count, value) = (narrow.len(), |row: usize| values[row]);
                if !add_to_few(count, groups, selected, value, |group, sum| narrow[group] += sum) {
                    let narrow = &mut narrow[..];
                    rows.each_value(vector, values, |value, group| narrow[group] += value);
                }
            }
        }
    }

    /// Takes all rows of a block in, as [`State::update_by_zone`](crate::state::State::update_by_zone) does.
    pub(crate) fn update_by_zone(&mut self, zone: &Zone, scale: Option<(u32, u8)>) -> bool {
        let Some(sum) = zone.sum else { return false };
        let (scale, shown) = scale.unwrap_or((0, 0));
        let is_alike = (self.shown_by_all, self.scale) == (Some(shown), scale);
        if self.begun && !is_alike {
            return false;
        }
        (self.begun, self.shown_by_all, self.scale) = (true, Some(shown), scale);
        self.reach(1);
        self.wide.resize(1, 0);
        let Some(total) = self.wide[0].checked_add(sum) else { return false };
        self.wide[0] = total;
        self.missing.add_many(u64::from(zone.nulls));
        true
    }

    /// Takes in other sums; false if that would take more than 128 bits.
    pub(crate) fn merge(&mut self, mut other: Totals, merging: Merging<'_>) -> bool {
        self.reach(merging.rows_before.len());
        other.reach(merging.groups.len());
        if !other.begun {
            self.missing.merge(&other.missing, merging);
            return true;
        }
        if !self.begun {
            (self.begun, self.shown_by_all) = (true, other.shown_by_all);
            self.scale = other.scale;
        }
        if self.shown_by_all.is_none() || self.shown_by_all != other.shown_by_all {
            self.shown_by_each(merging.rows_before);
            other.shown_by_each(merging.rows);
            for (from, _, to) in merging.groups() {
                self.shown[to] = self.shown[to].max(other.shown[from]);
            }
        }
        self.missing.merge(&other.missing, merging);
        let is_narrow = self.wide.is_empty() && other.wide.is_empty() && self.scale == other.scale;
        let bound = self.narrow_bound.saturating_add(other.narrow_bound);
        if is_narrow && bound <= i64::MAX as u64 {
            for (sum, to) in other.narrow.iter().zip(merging.groups) {
                self.narrow[*to as usize] += sum;
            }
            self.narrow_bound = bound;
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
    pub(crate) fn sums<'a>(
        &self,
        groups: Range<usize>,
        rows: &[u64],
        repr: Repr,
    ) -> Option<Vector<'a>> {
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
    pub(crate) fn sum(&self, group: usize, rows: u64) -> Sum {
        let mut sum = Sum::new();
        let count = self.missing.present(group, rows);
        let Some(narrow) = self.narrow.get(group).filter(|_| count > 0) else { return sum };
        let wide = self.wide.get(group).copied().unwrap_or(0);
        let total = wide + i128::from(*narrow);
        let shown = self.shown_by_all.unwrap_or_else(|| self.shown[group]);
        let cut = total / i128::from(power(self.scale - u32::from(shown)));
        let total = Numeric::new(cut, shown.into()).expect("a scale of two digits");
        sum.add_total(&total, count);
        sum
    }
}

#[cfg(test)]
mod tests {
    use types::Datum;

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

    /// Sums of two threads are added in 64 bits if they fit, else in 128.
    #[test]
    fn merged_sums_are_exact() {
        let ints = |all: [i64; 2]| Vector::of_datums(Repr::Int8, all.map(Datum::Int8).into());
        let decimals = |all: [&str; 2]| {
            let number = |text: &str| Datum::from(text.parse::<Numeric>().unwrap());
            Vector::of_datums(Repr::Numeric, all.map(number).into())
        };
        // The second group of the other is the first one here.
        let merged = |one: &Vector<'_>, other: &Vector<'_>| {
            let (all, groups) = (Selection::All(2), [0, 1]);
            let rows = Rows { rows: &all, groups: Some(&groups), count: 2 };
            let (mut totals, mut others) = (Totals::default(), Totals::default());
            assert!(totals.update(one, rows) && others.update(other, rows));
            let merging = Merging { groups: &[2, 0], rows: &[1, 1], rows_before: &[1, 1, 0] };
            assert!(totals.merge(others, merging));
            let is_narrow = totals.wide.is_empty();
            let sum = |group| totals.sum(group, 2).sum().unwrap().unwrap().to_string();
            (is_narrow, [sum(0), sum(1), sum(2)])
        };
        let sums = |all: [&str; 3]| all.map(String::from);
        assert_eq!(merged(&ints([1, 2]), &ints([30, 40])), (true, sums(["41", "2", "30"])));
        let (is_narrow, all) = merged(&ints([i64::MAX / 4, 2]), &ints([3, i64::MAX / 4 * 3]));
        assert_eq!((is_narrow, &all[1..]), (false, &sums(["0", "2", "3"])[1..]));
        assert_eq!(all[0], (i128::from(i64::MAX / 4) + i128::from(i64::MAX / 4 * 3)).to_string());
        let tenths = merged(&decimals(["0.5", "2.0"]), &decimals(["1.5", "0.1"]));
        assert_eq!(tenths, (true, sums(["0.6", "2.0", "1.5"])));
        let other_scale = merged(&decimals(["0.5", "2.0"]), &decimals(["1.25", "0.25"]));
        assert_eq!(other_scale, (false, sums(["0.75", "2.0", "1.25"])));
    }
}
