//! [`Counts`]: the number of occurrences of each integer, for aggregates that see their values in
//! order.
//!
//! ```text
//!   a group   slots   integers near the first one: an array
//!             others  all others: a map in order
//! ```

use std::collections::BTreeMap;

use scalar::aggregate::Accumulator;
use scalar::function::Call;
use types::{DatumRef, Repr, Result};

use crate::state::{Merging, Rows};
use crate::vector::{Values, Vector, int_datum};

/// How often each integer is there, in each group.
pub struct Counts {
    groups: Vec<OfGroup>,
    /// The type of the integers, and whether they are given as floats.
    repr: Repr,
    is_float: bool,
    is_descending: bool,
}

/// The integers of a group.
#[derive(Clone, Default)]
struct OfGroup {
    /// The integer that the first slot counts.
    base: i64,
    slots: Vec<u32>,
    others: BTreeMap<i64, u64>,
}

/// Slots reach so far from the first integer of a group, both ways, before any other counts one by one.
const REACH_MAX: i64 = 1 << 17;

impl OfGroup {
    #[inline]
    fn add(&mut self, value: i64) {
        let at = value.wrapping_sub(self.base) as u64;
        match self.slots.get_mut(at as usize) {
            Some(slot) if *slot < u32::MAX => *slot += 1,
            _ => self.add_far(value),
        }
    }

    #[cold]
    fn add_far(&mut self, value: i64) {
        const FEW: usize = 64;
        let seen = self.others.entry(value).or_default();
        *seen += 1;
        let (Some((first, _)), Some((last, _))) =
            (self.others.first_key_value(), self.others.last_key_value())
        else {
            return;
        };
        // Many integers that lie close together get slots.
        let end = self.base.saturating_add(self.slots.len() as i64);
        let (low, high) = match self.slots.is_empty() {
            true => (*first, *last),
            false => (self.base.min(*first), end.max(*last)),
        };
        let Some(span) = high.checked_sub(low).filter(|span| *span < REACH_MAX) else { return };
        if self.others.len() < FEW
            || self.others.values().any(|count| *count > u64::from(u32::MAX) / 2)
        {
            return;
        }
        let mut slots = vec![0; (span as usize + 1).next_power_of_two()];
        for (at, count) in self.slots.iter().enumerate().filter(|(_, count)| **count > 0) {
            slots[(self.base - low) as usize + at] = *count;
        }
        for (value, count) in std::mem::take(&mut self.others) {
            slots[(value - low) as usize] += count as u32;
        }
        (self.base, self.slots) = (low, slots);
    }

    /// Notes that an integer is there so many times more.
    fn add_times(&mut self, value: i64, count: u64) {
        let at = value.wrapping_sub(self.base) as u64;
        let sum = |slot: u32| u32::try_from(u64::from(slot) + count).ok();
        match self.slots.get_mut(at as usize).and_then(|slot| Some((sum(*slot)?, slot))) {
            Some((sum, slot)) => *slot = sum,
            None => *self.others.entry(value).or_default() += count,
        }
    }

    /// Calls `f` with each integer and how often it is there, ascending.
    fn each(&self, mut f: impl FnMut(i64, u64) -> Result<()>) -> Result<()> {
        let mut others = self.others.iter().peekable();
        while let Some((value, count)) = others.next_if(|(value, _)| **value < self.base) {
            f(*value, *count)?;
        }
        for (at, count) in self.slots.iter().enumerate() {
            let value = self.base + at as i64;
            let more = others.next_if(|(other, _)| **other == value).map_or(0, |(_, count)| *count);
            if u64::from(*count) + more > 0 {
                f(value, u64::from(*count) + more)?;
            }
        }
        others.try_for_each(|(value, count)| f(*value, *count))
    }
}

/// Gives an accumulator values in order. Where it looks at a few places only, the value of each of these stands for
/// those before it too, which are not read.
struct Giver<'g> {
    to: &'g mut dyn Accumulator,
    call: &'g Call<'g>,
    /// The places that are looked at and still ahead, the last one first; `None` if all are looked at.
    places: Option<Vec<u64>>,
    /// How many values the accumulator has, and how many there were.
    given: u64,
    seen: u64,
    last: Option<DatumRef<'static>>,
}

impl Giver<'_> {
    #[inline]
    fn give(&mut self, value: DatumRef<'static>, count: u64) -> Result<()> {
        self.seen += count;
        self.last = Some(value);
        let next = self.places.as_ref().map(|places| places.last().copied().unwrap_or(u64::MAX));
        match next {
            Some(place) if place >= self.seen => Ok(()),
            _ => self.give_last(),
        }
    }

    /// Gives the last value for all that were not given.
    fn give_last(&mut self) -> Result<()> {
        let Some(value) = self.last.take() else { return Ok(()) };
        let count = self.seen - std::mem::replace(&mut self.given, self.seen);
        if let Some(places) = &mut self.places {
            let seen = self.seen;
            while places.pop_if(|place| *place < seen).is_some() {}
        }
        self.to.add_times(self.call, &[value], count)
    }
}

impl Counts {
    /// Returns the state of a call that sees its values in order.
    pub fn new(repr: Repr, is_float: bool, is_descending: bool) -> Counts {
        Counts { groups: Vec::new(), repr, is_float, is_descending }
    }

    /// Takes rows in; false if this state cannot, and has not.
    pub fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) -> bool {
        let Values::Ints(ints) = &vector.values else { return false };
        self.groups.resize_with(rows.count, OfGroup::default);
        let groups = &mut self.groups;
        rows.each(vector, |row, group| groups[group].add(ints.values[row]), |_| {});
        true
    }

    /// Takes in how often integers are in other groups.
    pub fn merge(&mut self, other: &Counts, merging: Merging<'_>) {
        self.groups.resize_with(merging.rows_before.len(), OfGroup::default);
        for (from, to) in other.groups.iter().zip(merging.groups) {
            let to = &mut self.groups[*to as usize];
            if to.slots.is_empty() && to.others.is_empty() {
                to.clone_from(from);
                continue;
            }
            let added = from.each(|value, count| {
                to.add_times(value, count);
                Ok(())
            });
            debug_assert!(added.is_ok(), "adding does not fail");
        }
    }

    /// Gives an accumulator the values of a group, in order.
    ///
    /// # Errors
    /// The errors of the accumulator.
    pub fn give(&self, group: usize, call: &Call<'_>, to: &mut dyn Accumulator) -> Result<()> {
        let Some(of_group) = self.groups.get(group) else { return Ok(()) };
        let mut total = 0;
        of_group.each(|_, count| {
            total += count;
            Ok(())
        })?;
        let mut places = to.places(total);
        if let Some(places) = &mut places {
            places.sort_unstable_by(|one, other| other.cmp(one));
        }
        let mut giver = Giver { to, call, places, given: 0, seen: 0, last: None };
        let datum = |value: i64| match self.is_float {
            true => DatumRef::Float8(value as f64),
            false => int_datum(self.repr, value),
        };
        if !self.is_descending {
            of_group.each(|value, count| giver.give(datum(value), count))?;
            return giver.give_last();
        }
        let mut all = Vec::new();
        of_group.each(|value, count| {
            all.push((value, count));
            Ok(())
        })?;
        let mut descending = all.into_iter().rev();
        descending.try_for_each(|(value, count)| giver.give(datum(value), count))?;
        giver.give_last()
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        let of = |group: &OfGroup| group.slots.len() * 4 + group.others.len() * 32;
        self.groups.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted integers come in order, near ones and far ones, each as often as it was there.
    #[test]
    fn counted_integers_come_in_order() {
        let mut of_group = OfGroup::default();
        let mut all: Vec<i64> = (0..2_000).map(|n| n * 7919 % 500).collect();
        all.extend([i64::MIN, i64::MAX, -3, 900_000_000, 900_000_000, -3, 70_000]);
        all.iter().for_each(|value| of_group.add(*value));
        assert!(!of_group.slots.is_empty(), "integers that lie close together have slots");
        let mut given = Vec::new();
        let each = |value, count| {
            given.extend(std::iter::repeat_n(value, count as usize));
            Ok(())
        };
        of_group.each(each).expect("all are given");
        all.sort_unstable();
        assert_eq!(given, all);
    }
}
