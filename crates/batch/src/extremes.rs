//! [`Extremes`]: the least or the greatest values, for all groups.

use std::ops::Range;

use stripe::{Bounds, Zone};
use types::{Datum, Repr};

use crate::slice::Selection;
use crate::state::{Merging, Rows};
use crate::vector::{Ints, Shown, Values, Vector, bound_of, int_datum, is_int, numeric};

/// The least or the greatest values.
pub struct Extremes {
    is_least: bool,
    repr: Repr,
    best: Vec<i64>,
    has: Vec<bool>,
    /// The number of groups that have a value.
    with_value: usize,
    /// The digits after the point that each decimal shows.
    shown: Vec<u8>,
    /// The number of these digits, if all decimals so far show the same number.
    shown_by_all: Option<u8>,
    /// The digits after the point that all values have; `None` before the first one, and for integers.
    scale: Option<u32>,
}

impl Extremes {
    /// Returns the state of `min`, or of `max`, over values that are held like this.
    pub fn new(is_least: bool, repr: Repr) -> Extremes {
        let (best, has, shown) = (Vec::new(), Vec::new(), Vec::new());
        let (shown_by_all, scale) = (None, None);
        Extremes { is_least, repr, best, has, with_value: 0, shown, shown_by_all, scale }
    }

    pub(crate) fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) -> bool {
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
        if let Some(shown) = shown {
            self.shown.resize(rows.count, 0);
            self.note_shown(match shown {
                Shown::Same(digits) => Some(*digits),
                Shown::Each(_) => None,
            });
        }
        // If all show the same digits the value alone decides, once each group has one.
        let is_same = shown.is_none() || self.shown_by_all.is_some();
        if is_same && self.with_value == rows.count {
            let best = &mut self.best[..];
            match self.is_least {
                true => rows.each_value(vector, values, |value, group| {
                    best[group] = best[group].min(value);
                }),
                false => rows.each_value(vector, values, |value, group| {
                    best[group] = best[group].max(value);
                }),
            }
            return true;
        }
        let (best, has, digits) = (&mut self.best, &mut self.has, &mut self.shown);
        let (is_least, with_value) = (self.is_least, &mut self.with_value);
        let take = |row: usize, group: usize| {
            let (value, so_far) = (values[row], best[group]);
            let is_better = if is_least { value < so_far } else { value > so_far };
            // The first of equal values stays, as it shows its own digits.
            if is_better || !has[group] {
                *with_value += usize::from(!has[group]);
                (best[group], has[group]) = (value, true);
                if let Some(shown) = shown {
                    digits[group] = shown.get(row);
                }
            }
        };
        rows.each(vector, take, |_| {});
        true
    }

    /// Notes the digits that more values show: `None` if they show different ones.
    fn note_shown(&mut self, digits: Option<u8>) {
        if self.with_value == 0 {
            self.shown_by_all = digits;
        } else if self.shown_by_all != digits {
            self.shown_by_all = None;
        }
    }

    /// Takes all rows of a block in, as [`State::update_by_zone`](crate::state::State::update_by_zone) does.
    pub(crate) fn update_by_zone(&mut self, zone: &Zone, scale: Option<(u32, u8)>) -> bool {
        match (&zone.bounds, scale) {
            (Bounds::Nothing, _) => true,
            (Bounds::Ints(min, max), None) => {
                let value = if self.is_least { *min } else { *max };
                let ints = Ints { repr: self.repr, values: vec![value], bound: u64::MAX };
                let vector = Vector { values: Values::Ints(ints), nulls: Vec::new() };
                let rows = Rows { rows: &Selection::All(1), groups: None, count: 1 };
                self.update(&vector, rows)
            }
            _ => false,
        }
    }

    /// Takes in other extremes; false if they have another number of digits after the point.
    pub(crate) fn merge(&mut self, other: &Extremes, merging: Merging<'_>) -> bool {
        let groups = merging.rows_before.len();
        self.best.resize(groups, 0);
        self.has.resize(groups, false);
        self.scale = self.scale.or(other.scale);
        if other.scale.is_some() && other.scale != self.scale {
            return false;
        }
        if self.scale.is_some() {
            self.shown.resize(groups, 0);
        }
        if other.with_value > 0 {
            self.note_shown(other.shown_by_all);
        }
        for (from, to) in merging.groups.iter().enumerate() {
            let to = *to as usize;
            if !other.has.get(from).is_some_and(|has| *has) {
                continue;
            }
            let (value, so_far) = (other.best[from], self.best[to]);
            let is_better = if self.is_least { value < so_far } else { value > so_far };
            if is_better || !self.has[to] {
                self.with_value += usize::from(!self.has[to]);
                (self.best[to], self.has[to]) = (value, true);
                if let Some(shown) = other.shown.get(from) {
                    self.shown[to] = *shown;
                }
            }
        }
        true
    }

    /// Returns the values of groups, which are of the type of this representation.
    pub(crate) fn results<'a>(&self, groups: Range<usize>, repr: Repr) -> Vector<'a> {
        if !is_int(repr) || groups.end > self.has.len() {
            return Vector::of_datums(repr, groups.map(|group| self.value(group)).collect());
        }
        let values = self.best[groups.clone()].to_vec();
        let (has, bound) = (&self.has[groups], bound_of(&values));
        let nulls = match has.contains(&false) {
            true => has.iter().map(|has| !has).collect(),
            false => Vec::new(),
        };
        Vector { values: Values::Ints(Ints { repr, values, bound }), nulls }
    }

    pub(crate) fn value(&self, group: usize) -> Datum {
        if !self.has.get(group).is_some_and(|has| *has) {
            return Datum::Null;
        }
        match self.scale {
            Some(scale) => Datum::from(numeric(self.best[group], scale, self.shown[group])),
            None => int_datum(self.repr, self.best[group]).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use numeric::Numeric;

    use super::*;

    /// The first of equal decimals shows its digits, also if all groups have a value and blocks show different digits.
    #[test]
    fn the_first_of_equal_values_stays() {
        let decimals = |all: [&str; 2]| {
            let number = |text: &str| Datum::from(text.parse::<Numeric>().unwrap());
            Vector::of_datums(Repr::Numeric, all.map(number).into())
        };
        let (all, groups) = (Selection::All(2), [0, 1]);
        let rows = Rows { rows: &all, groups: Some(&groups), count: 2 };
        let shown = |extremes: &Extremes| {
            [0, 1].map(|group| match extremes.value(group) {
                Datum::Numeric(number) => number.to_string(),
                other => format!("{other:?}"),
            })
        };
        let mut least = Extremes::new(true, Repr::Numeric);
        assert_eq!(least.value(0), Datum::Null);
        assert!(least.update(&decimals(["2.5", "7.0"]), rows));
        assert!(least.update(&decimals(["2.5", "6.0"]), rows));
        assert_eq!(shown(&least), ["2.5", "6.0"]);
        let mut other = Extremes::new(true, Repr::Numeric);
        assert!(other.update(&decimals(["6.0", "1.0"]), rows));
        assert!(
            least.merge(&other, Merging { groups: &[1, 0], rows: &[1, 1], rows_before: &[2, 2] })
        );
        assert_eq!((shown(&least), least.with_value), (["1.0", "6.0"].map(String::from), 2));
    }
}
