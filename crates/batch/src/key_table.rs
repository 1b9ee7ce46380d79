//! [`KeyTable`]: the kept rows of a join that have a key.
//!
//! A key of one integer is looked up in an array if the integers lie close together, in a bitmap if they lie less close,
//! else in a table with open addressing. A key of several integers is one integer where its parts fit side by side. Other
//! keys get the numbers of [`Groups`].

use std::borrow::Cow;

use types::Result;

use crate::ROWS_MAX;
use crate::groups::{FindRoom, Groups, NONE};
use crate::kept::{KeptRows, NO_ROW};
use crate::slice::Selection;
use crate::value::Run;
use crate::vector::{Values, Vector};

/// Where the first kept row of a key is, and after each row the next one with the same key.
#[derive(Debug, Default)]
pub(crate) struct KeyTable {
    index: Index,
    pub following: Vec<u32>,
    /// True if no key has two rows.
    pub is_unique: bool,
    /// How a key of several integers is one.
    mix: Option<Mix>,
}

/// Several integers as one: each as its distance from the least one, in a number whose digits have these ranges.
#[derive(Debug)]
struct Mix {
    parts: Vec<Part>,
}

/// A part of keys of several integers.
#[derive(Debug)]
struct Part {
    least: i64,
    range: i64,
    /// Which distances kept rows have, as a bitmap; empty if most of them are there, or the range is wide.
    present: Vec<u64>,
}

impl Part {
    /// A bitmap has at most so many bits.
    const BITS_MAX: i64 = 1 << 22;

    /// Returns the part for a column; `None` if its range does not fit 64 bits.
    fn of(column: &[i64]) -> Option<Part> {
        let least = column.iter().copied().min()?;
        let range = column.iter().copied().max()?.checked_sub(least)?.checked_add(1)?;
        let mut present = Vec::new();
        if range <= Part::BITS_MAX {
            present.resize((range / 64 + 1) as usize, 0);
            for value in column {
                let at = (value - least) as usize;
                present[at / 64] |= 1 << (at % 64);
            }
            let count: i64 = present.iter().map(|word: &u64| i64::from(word.count_ones())).sum();
            if count > range / 2 {
                present.clear();
            }
        }
        Some(Part { least, range, present })
    }

    /// Returns true if a kept row has the value; of a part without a bitmap, true if it may.
    #[inline]
    fn may_have(&self, value: i64) -> bool {
        let at = value.wrapping_sub(self.least) as u64;
        let word = self.present.get((at / 64) as usize);
        word.is_some_and(|word| word >> (at % 64) & 1 == 1) || self.present.is_empty()
    }
}

impl Mix {
    /// Returns the mix for columns of integers; `None` if they do not fit 63 bits side by side.
    fn of(columns: &[&[i64]]) -> Option<Mix> {
        let mut most = 1_i64;
        let part = |column: &&[i64]| {
            let part = Part::of(column)?;
            most = most.checked_mul(part.range)?;
            Some(part)
        };
        Some(Mix { parts: columns.iter().map(part).collect::<Option<Vec<_>>>()? })
    }

    /// Returns the integer for the parts of a key; `None` if no kept row has such a part.
    #[inline]
    fn value(&self, mut part: impl FnMut(usize) -> i64) -> Option<i64> {
        let mut value = 0;
        for (at, Part { least, range, .. }) in self.parts.iter().enumerate() {
            let distance = part(at).checked_sub(*least)?;
            if !(0..*range).contains(&distance) {
                return None;
            }
            value = value * range + distance;
        }
        Some(value)
    }
}

#[derive(Debug)]
enum Index {
    /// By the distance from an integer.
    Near { base: i64, first: Vec<u32> },
    /// By the number of keys below an integer, which a bitmap counts: 64 distances, and how many keys are below them.
    Bits { base: i64, words: Vec<(u64, u32)>, first: Vec<u32> },
    /// Integers by open addressing: as many slots as a power of two, at most half of them taken.
    Far { slots: Vec<(i64, u32)>, shift: u32 },
    /// By the number of a group.
    Groups { groups: Box<Groups>, first: Vec<u32> },
}

impl Default for Index {
    fn default() -> Index {
        Index::Near { base: 0, first: Vec::new() }
    }
}

impl Index {
    fn slot(value: i64, shift: u32) -> usize {
        ((value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
    }

    /// Puts the rows whose integer a kept row has into `out`, each with the first such kept row.
    #[inline]
    fn first_of_ints(
        &self,
        rows: &Selection,
        value: impl Fn(usize) -> Option<i64>,
        out: &mut Partnered,
    ) {
        // The form is chosen outside of the loop over the rows. Each row is written, and the place moves on if it has a
        // partner: no branch depends on the values.
        match self {
            Index::Near { base, first } => out.put(rows, |row| {
                let at = value(row).map(|value| value.wrapping_sub(*base) as u64);
                let found = at.and_then(|at| first.get(at as usize));
                found.copied().unwrap_or(NO_ROW)
            }),
            Index::Bits { base, words, first } => {
                let distance = |row| value(row).map(|value| value.wrapping_sub(*base) as u64);
                out.put(rows, |row| {
                    let word =
                        distance(row).and_then(|at| Some((words.get((at / 64) as usize)?, at)));
                    let is_there = word.is_some_and(|((bits, _), at)| bits >> (at % 64) & 1 == 1);
                    if is_there { 0 } else { NO_ROW }
                });
                for (row, found) in out.rows.iter().zip(&mut out.first) {
                    let at = distance(usize::from(*row)).unwrap_or(0);
                    let (bits, below) = words[(at / 64) as usize];
                    let lower = bits & ((1 << (at % 64)) - 1);
                    *found = first[(below + lower.count_ones()) as usize];
                }
            }
            Index::Far { slots, shift } => out.put(rows, |row| {
                let Some(value) = value(row) else { return NO_ROW };
                let mut at = Index::slot(value, *shift);
                loop {
                    let (key, found) = slots[at];
                    if found == NO_ROW || key == value {
                        return found;
                    }
                    at = (at + 1) & (slots.len() - 1);
                }
            }),
            Index::Groups { .. } => {}
        }
    }
}

/// The rows of a slice that have a partner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partnered {
    /// The rows, ascending.
    pub rows: Vec<u16>,
    /// The first kept row with the keys of each of them.
    pub first: Vec<u32>,
}

impl Partnered {
    /// Puts the selected rows that have a first partner in the place of those before. `first` returns the partner, or
    /// [`NO_ROW`].
    #[inline]
    fn put(&mut self, selected: &Selection, first: impl Fn(usize) -> u32) {
        // All places up to the last row with a partner are overwritten.
        self.rows.resize(selected.len(), 0);
        self.first.resize(selected.len(), 0);
        let mut count = 0;
        selected.each(|row| {
            let found = first(row);
            self.rows[count] = row as u16;
            self.first[count] = found;
            count += usize::from(found != NO_ROW);
        });
        self.rows.truncate(count);
        self.first.truncate(count);
    }
}

impl KeyTable {
    /// Returns the table of integers. A row whose key is NULL has no partner.
    pub fn of_ints(values: &[i64], is_null: impl Fn(usize) -> bool) -> KeyTable {
        /// An array may have so many places for each row, and this many in any case.
        const SPARE: usize = 8;
        const PLACES_MIN: usize = 1 << 16;
        /// The same of a bitmap. It takes up to twice the bytes of a table with open addressing, but keys that are looked up
        /// in about ascending order are in the same cache lines.
        const SPARE_BITS: usize = 256;
        const BITS_MIN: usize = 1 << 20;
        let rows = || (0..values.len()).filter(|row| !is_null(*row));
        let bounds = rows().map(|row| values[row]).fold(None, |bounds, value| match bounds {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let (low, high) = bounds.unwrap_or((0, 0));
        let mut following = vec![NO_ROW; values.len()];
        let span = high.checked_sub(low).and_then(|span| usize::try_from(span).ok());
        let is_below = |least: usize, spare: usize| {
            span.filter(|span| *span < least.max(values.len().saturating_mul(spare)))
        };
        let mut is_unique = true;
        // From the last row on, so that the first one of each key ends up in front.
        let mut put = |row: usize, head: &mut u32| {
            is_unique &= *head == NO_ROW;
            following[row] = std::mem::replace(head, row as u32);
        };
        let index = if let Some(span) = is_below(PLACES_MIN, SPARE) {
            let mut first = vec![NO_ROW; if bounds.is_some() { span + 1 } else { 0 }];
            rows().rev().for_each(|row| put(row, &mut first[(values[row] - low) as usize]));
            Index::Near { base: low, first }
        } else if let Some(span) = is_below(BITS_MIN, SPARE_BITS) {
            let mut words = vec![(0_u64, 0_u32); span / 64 + 1];
            for row in rows() {
                let at = (values[row] - low) as usize;
                words[at / 64].0 |= 1 << (at % 64);
            }
            let mut keys = 0;
            for (bits, below) in &mut words {
                *below = keys;
                keys += bits.count_ones();
            }
            let mut first = vec![NO_ROW; keys as usize];
            for row in rows().rev() {
                let at = (values[row] - low) as usize;
                let (bits, below) = words[at / 64];
                let lower = bits & ((1 << (at % 64)) - 1);
                put(row, &mut first[(below + lower.count_ones()) as usize]);
            }
            Index::Bits { base: low, words, first }
        } else {
            let count = (values.len() * 2).next_power_of_two().max(16);
            let shift = u64::BITS - count.trailing_zeros();
            let mut slots = vec![(0, NO_ROW); count];
            for row in rows().rev() {
                let mut at = Index::slot(values[row], shift);
                while slots[at].1 != NO_ROW && slots[at].0 != values[row] {
                    at = (at + 1) & (count - 1);
                }
                let (key, head) = &mut slots[at];
                *key = values[row];
                put(row, head);
            }
            Index::Far { slots, shift }
        };
        KeyTable { index, following, is_unique, mix: None }
    }

    /// Returns the table of keys of several integers; `None` if they are not one.
    pub fn of_mixed(kept: &KeptRows, keys: &[usize]) -> Option<KeyTable> {
        let columns = keys.iter().map(|key| kept.ints(*key)).collect::<Option<Vec<_>>>()?;
        let mix = Mix::of(&columns)?;
        let value = |row: usize| mix.value(|at| columns[at][row]).unwrap_or(0);
        let values: Vec<i64> = (0..kept.len()).map(value).collect();
        let is_null = |row| keys.iter().any(|key| kept.is_null(*key, row));
        Some(KeyTable { mix: Some(mix), ..KeyTable::of_ints(&values, is_null) })
    }

    /// Returns the table of any keys, which are these columns.
    pub fn of_keys(run: Run<'_>, kept: &KeptRows, keys: &[usize]) -> Result<KeyTable> {
        let mut groups = Groups::new(keys.len());
        let mut of_rows = vec![NONE; kept.len()];
        let mut numbers = Vec::new();
        let all: Vec<u32> = (0..kept.len() as u32).collect();
        for (at, rows) in all.chunks(ROWS_MAX).enumerate() {
            (run.tick)(0)?;
            let vectors: Vec<Vector<'_>> =
                keys.iter().map(|column| kept.gather(*column, rows)).collect();
            let vectors: Vec<&Vector<'_>> = vectors.iter().collect();
            let all = Selection::All(rows.len());
            let selected = with_keys(&vectors, &all);
            groups.numbers(&vectors, &selected, true, &mut numbers, rows.len());
            selected.each(|row| of_rows[at * ROWS_MAX + row] = numbers[row]);
        }
        let (mut first, mut following) = (vec![NO_ROW; groups.len()], vec![NO_ROW; kept.len()]);
        let mut is_unique = true;
        for (row, group) in of_rows.iter().enumerate().rev().filter(|(_, group)| **group != NONE) {
            let head = &mut first[*group as usize];
            is_unique &= *head == NO_ROW;
            following[row] = std::mem::replace(head, row as u32);
        }
        let index = Index::Groups { groups: Box::new(groups), first };
        Ok(KeyTable { index, following, is_unique, mix: None })
    }

    /// Puts the selected rows whose keys a kept row has into `out`, each with the first such kept row. `room` is for calls
    /// of this alone.
    pub fn find(
        &self,
        keys: &[&Vector<'_>],
        rows: &Selection,
        (room, numbers): (&mut FindRoom, &mut Vec<u32>),
        out: &mut Partnered,
        slice_rows: usize,
    ) {
        out.rows.clear();
        out.first.clear();
        let mut selected = with_keys(keys, rows);
        match (&self.index, keys) {
            (Index::Groups { groups, first }, _) => {
                groups.find(keys, &selected, room, numbers, slice_rows);
                let found = |row: usize| first.get(numbers[row] as usize).copied();
                out.put(&selected, |row| found(row).unwrap_or(NO_ROW));
            }
            (index, [key]) => match &key.values {
                Values::Ints(ints) => {
                    index.first_of_ints(&selected, |row| Some(ints.values[row]), out);
                }
                _ => {
                    let value = |row| key.get(row).and_then(crate::vector::int_of);
                    index.first_of_ints(&selected, value, out);
                }
            },
            (index, keys) => {
                let Some(mix) = &self.mix else { return };
                let ints = keys.iter().map(|key| match &key.values {
                    Values::Ints(ints) => Some(&ints.values[..]),
                    _ => None,
                });
                if let Some(ints) = ints.collect::<Option<Vec<_>>>() {
                    let sparse = mix.parts.iter().zip(&ints);
                    for (part, ints) in sparse.filter(|(part, _)| !part.present.is_empty()) {
                        selected.to_mut().retain_by(ints, |value| part.may_have(value));
                    }
                    let value = |row: usize| mix.value(|at| ints[at][row]);
                    return index.first_of_ints(&selected, value, out);
                }
                let int = |key: &Vector<'_>, row| key.get(row).and_then(crate::vector::int_of);
                let value = |row| {
                    let parts = keys.iter().map(|key| int(key, row)).collect::<Option<Vec<i64>>>();
                    parts.and_then(|parts| mix.value(|at| parts[at]))
                };
                index.first_of_ints(&selected, value, out);
            }
        }
    }

    pub fn bytes(&self) -> usize {
        let index = match &self.index {
            Index::Near { first, .. } => first.len() * size_of::<u32>(),
            Index::Bits { words, first, .. } => {
                size_of_val(&words[..]) + first.len() * size_of::<u32>()
            }
            Index::Far { slots, .. } => size_of_val(&slots[..]),
            Index::Groups { groups, first } => groups.bytes() + first.len() * size_of::<u32>(),
        };
        index + self.following.len() * size_of::<u32>()
    }
}

/// Returns the rows of which no key is NULL.
pub(crate) fn with_keys<'r>(keys: &[&Vector<'_>], rows: &'r Selection) -> Cow<'r, Selection> {
    let mut selected = Cow::Borrowed(rows);
    for key in keys.iter().filter(|key| !key.nulls.is_empty()) {
        selected.to_mut().retain(|row| !key.nulls[row]);
    }
    selected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers have the same partners in each form of the table: all rows of their key, in order, and none for NULL.
    #[test]
    fn integers_find_their_rows_in_each_form_of_the_table() {
        let form = |table: &KeyTable| match table.index {
            Index::Near { .. } => "near",
            Index::Bits { .. } => "bits",
            Index::Far { .. } => "far",
            Index::Groups { .. } => "groups",
        };
        for (name, step) in [("near", 3), ("bits", 97), ("far", 1 << 40)] {
            // Each third key is there twice, and each seventh row is NULL.
            let values: Vec<i64> = (0..9_000).map(|row| (row - row % 3 / 2 - 700) * step).collect();
            let is_null = |row: usize| row % 7 == 5;
            let table = KeyTable::of_ints(&values, is_null);
            assert_eq!(form(&table), name);
            assert!(!table.is_unique, "{name}");
            for key in (-710..8_310).map(|key| key * step).chain([1, i64::MIN, i64::MAX]) {
                let expected =
                    (0..values.len()).filter(|row| values[*row] == key && !is_null(*row));
                let mut found = Vec::new();
                let mut first = Partnered::default();
                table.index.first_of_ints(&Selection::All(1), |_| Some(key), &mut first);
                let mut row = first.first.first().copied().unwrap_or(NO_ROW);
                while row != NO_ROW {
                    found.push(row as usize);
                    row = table.following[row as usize];
                }
                assert_eq!(found, expected.collect::<Vec<_>>(), "{name}: {key}");
            }
        }
        assert!(KeyTable::of_ints(&[5, 9, 1 << 50], |_| false).is_unique);
    }

    /// Keys of several integers are told apart, and what no row has is none of them; keys that do not fit side by side
    /// are not mixed.
    #[test]
    fn several_integers_are_one_where_they_fit() {
        let columns: [&[i64]; 2] = [&[-3, 0, 4], &[i64::MAX - 1, i64::MAX - 9, i64::MAX]];
        let mix = Mix::of(&columns).expect("they fit");
        let value = |parts: [i64; 2]| mix.value(|at| parts[at]);
        let mut seen = std::collections::HashSet::new();
        for one in -3..=4 {
            for other in i64::MAX - 9..=i64::MAX {
                assert!(seen.insert(value([one, other]).expect("it is in range")), "{one} {other}");
            }
        }
        for parts in [[-4, i64::MAX], [5, i64::MAX], [0, i64::MAX - 10], [i64::MIN, i64::MIN]] {
            assert_eq!(value(parts), None, "{parts:?}");
        }
        assert!(Mix::of(&[&[i64::MIN, i64::MAX], &[0, 1]]).is_none());
        // A bitmap holds the existing values of a column with gaps.
        for (gaps, has_bitmap) in [(100, true), (1, false), (Part::BITS_MAX, false)] {
            let column: Vec<i64> = (-50..50).map(|number| number * gaps).collect();
            let part = Part::of(&column).expect("it fits");
            assert_eq!(!part.present.is_empty(), has_bitmap, "{gaps}");
            let step = (gaps as usize / 14).max(1);
            for value in (-60 * gaps..60 * gaps).step_by(step).chain([i64::MIN, i64::MAX]) {
                let is_there = column.contains(&value);
                let may = part.may_have(value);
                assert!(may == is_there || may && !has_bitmap, "{gaps}: {value}");
            }
            assert!(column.iter().all(|value| part.may_have(*value)));
        }
        assert!(Mix::of(&[&[0, 1 << 40], &[0, 1 << 40]]).is_none());
    }
}
