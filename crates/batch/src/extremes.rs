//! [`Extremes`]: the least or the greatest values, for all groups.

use stripe::{Bounds, Zone};
use types::{Datum, Repr};

use crate::slice::Selection;
use crate::state::{Merging, Rows};
use crate::vector::{Ints, Shown, Values, Vector, int_datum, numeric};

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

    pub(crate) fn merge(&mut self, other: &Extremes, merging: Merging<'_>) -> bool {
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
