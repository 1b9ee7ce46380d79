//! The numbers of groups: each different combination of keys has one, in the order in which they come.
//!
//! ```text
//!   browser   is_mobile             numbers of values       mixed        group
//!   Chrome    t                     0  0                    0 | 0 << 3   0
//!   Safari    t                     1  0                    1 | 0 << 3   1
//!   Chrome    f                     0  1                    0 | 1 << 3   2
//! ```
//!
//! Each key numbers its different values; the numbers of a row's values, side by side in one integer, are looked up
//! in an array if it is small, else in a hash table.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;
use types::{DatumRef, Repr};

use crate::key_values::{EntryNumbers, KeyValues};
use crate::slice::Selection;
use crate::vector::Vector;

/// The number of a value or a group that is not known, and for which there is no room.
pub const NONE: u32 = u32::MAX;

/// The groups so far.
#[derive(Debug)]
pub struct Groups {
    keys: Vec<KeyValues>,
    /// The bits that each key has in a mixed number.
    bits: Vec<u32>,
    /// The groups by their mixed numbers, if these have few bits.
    dense: Vec<u32>,
    /// The same if they have many.
    sparse: HashMap<u128, u32, FixedState>,
    /// The groups by the numbers of their keys, if mixed numbers do not fit.
    wide: HashMap<Box<[u32]>, u32, FixedState>,
    /// The numbers of each group's keys, one group after the other. A single key's number is that of its group.
    members: Vec<u32>,
    count: usize,
    numbers: Vec<Vec<u32>>,
}

/// The buffers that [`Groups::find`] needs for each key.
pub type FindRoom = Vec<(EntryNumbers, Vec<u32>)>;

/// The largest number of keys.
pub const KEYS_MAX: usize = 16;

/// The bits of mixed numbers that are looked up in an array.
const DENSE_BITS_MAX: u32 = 16;

impl Groups {
    /// Returns no groups yet; one if there are no keys.
    pub fn new(keys: usize) -> Groups {
        Groups {
            keys: (0..keys).map(|_| KeyValues::default()).collect(),
            bits: vec![0; keys],
            dense: vec![NONE; 1],
            sparse: HashMap::default(),
            wide: HashMap::default(),
            members: Vec::new(),
            count: usize::from(keys == 0),
            numbers: vec![Vec::new(); keys],
        }
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        let keys: usize = self.keys.iter().map(KeyValues::bytes).sum();
        let of_wide = 32 + self.keys.len() * size_of::<u32>();
        let tables = self.dense.len() * size_of::<u32>()
            + self.sparse.capacity() * 32
            + self.wide.capacity() * of_wide;
        keys + tables + self.members.len() * size_of::<u32>()
    }

    /// Returns a key of a group.
    pub fn key(&self, group: usize, at: usize) -> DatumRef<'_> {
        let width = self.keys.len();
        let number = match width {
            1 => group as u32,
            _ => self.members[group * width + at],
        };
        self.keys[at].value(number)
    }

    /// Returns the values of a key for these groups. Their representation is `repr`.
    pub fn keys(&self, groups: Range<usize>, at: usize, repr: Repr) -> Vector<'_> {
        match &self.keys[..] {
            [only] => only.vector(repr, groups),
            _ => Vector::of_refs(repr, groups.map(|group| self.key(group, at)).collect()),
        }
    }

    /// Puts the group of each selected row into `out`, which has a place for each row. If `may_grow` is false,
    /// rows of new groups get [`NONE`].
    pub fn numbers(
        &mut self,
        vectors: &[&Vector<'_>],
        rows: &Selection,
        may_grow: bool,
        out: &mut Vec<u32>,
        slice_rows: usize,
    ) {
        // Of rows that are not selected any number stands.
        out.resize(slice_rows.max(out.len()), NONE);
        let mut numbers = std::mem::take(&mut self.numbers);
        for ((key, vector), numbers) in self.keys.iter_mut().zip(vectors).zip(&mut numbers) {
            numbers.resize(slice_rows.max(numbers.len()), NONE);
            key.numbers(vector, rows, may_grow, numbers);
        }
        match &mut numbers[..] {
            // Each new value is a new group.
            [only] => {
                std::mem::swap(out, only);
                self.count = self.keys[0].len();
            }
            numbers => {
                self.make_room();
                self.mixed_groups(numbers, rows, may_grow, out);
            }
        }
        self.numbers = numbers;
    }

    /// Puts the group of each selected row into `out`, which has a place for each row; [`NONE`] for rows of groups that
    /// are not known. No key of a row is NULL. `room` is for calls of this alone.
    pub fn find(
        &self,
        vectors: &[&Vector<'_>],
        rows: &Selection,
        room: &mut FindRoom,
        out: &mut Vec<u32>,
        slice_rows: usize,
    ) {
        out.resize(slice_rows.max(out.len()), NONE);
        room.resize_with(self.keys.len(), Default::default);
        for ((key, vector), (memo, numbers)) in self.keys.iter().zip(vectors).zip(&mut *room) {
            numbers.resize(slice_rows.max(numbers.len()), NONE);
            key.find(vector, rows, memo, numbers);
        }
        if let [(_, only)] = &mut room[..] {
            return std::mem::swap(out, only);
        }
        let mut members = vec![0; self.keys.len()];
        rows.each(|row| {
            members.iter_mut().zip(&*room).for_each(|(one, (_, all))| *one = all[row]);
            out[row] = self.known(&members);
        });
    }

    /// Takes in the groups of another. Returns the numbers that these have here, by the numbers that they have there.
    pub fn merge(&mut self, other: &Groups) -> Vec<u32> {
        let pairs = self.keys.iter_mut().zip(&other.keys);
        let mut numbers: Vec<Vec<u32>> = pairs.map(|(key, other)| key.merge(other)).collect();
        match &mut numbers[..] {
            // Without keys there is one group.
            [] => vec![0],
            [only] => {
                self.count = self.keys[0].len();
                std::mem::take(only)
            }
            numbers => {
                self.make_room();
                let mut members = vec![0; numbers.len()];
                let group = |of: &[u32]| {
                    for ((member, numbers), other) in members.iter_mut().zip(&*numbers).zip(of) {
                        *member = numbers[*other as usize];
                    }
                    self.group(&members, true)
                };
                other.members.chunks_exact(other.keys.len()).map(group).collect()
            }
        }
    }

    /// Puts the groups of rows into `out`, by the numbers of their keys.
    fn mixed_groups(
        &mut self,
        numbers: &[Vec<u32>],
        rows: &Selection,
        may_grow: bool,
        out: &mut [u32],
    ) {
        if let ([first, second], true, false) = (numbers, may_grow, self.dense.is_empty()) {
            let bits = self.bits[1];
            let mut is_known = true;
            let mut put = |slot: &mut u32, first: u32, second: u32| {
                *slot = self.dense[(first << bits | second) as usize];
                is_known &= *slot != NONE;
            };
            match rows {
                Selection::All(count) => {
                    let pairs = first[..*count].iter().zip(&second[..*count]);
                    let slots = out.iter_mut().zip(pairs);
                    slots.for_each(|(slot, (first, second))| put(slot, *first, *second));
                }
                Selection::Some(_) => {
                    rows.each(|row| put(&mut out[row], first[row], second[row]));
                }
            }
            if is_known {
                return;
            }
            return rows.each(|row| {
                let (first, second) = (first[row], second[row]);
                let known = self.dense[(first << bits | second) as usize];
                out[row] = match known {
                    NONE => self.group(&[first, second], true),
                    known => known,
                };
            });
        }
        let mut of_row = vec![0; numbers.len()];
        rows.each(|row| {
            of_row.iter_mut().zip(numbers).for_each(|(one, all)| *one = all[row]);
            out[row] = self.group(&of_row, may_grow);
        });
    }

    /// Gives the keys as many bits as the numbers of their values need.
    fn make_room(&mut self) {
        let needed = |key: &KeyValues| usize::BITS - key.len().leading_zeros();
        let fits = self.keys.iter().zip(&self.bits).all(|(key, bits)| needed(key) <= *bits);
        if fits {
            return;
        }
        for (key, bits) in self.keys.iter().zip(&mut self.bits) {
            *bits = needed(key).max(*bits);
        }
        // All groups are entered anew, under their wider numbers.
        let total: u32 = self.bits.iter().sum();
        self.sparse.clear();
        self.dense.clear();
        self.wide.clear();
        if total <= DENSE_BITS_MAX {
            self.dense.resize(1 << total, NONE);
        }
        let all = std::mem::take(&mut self.members);
        for (group, members) in all.chunks_exact(self.keys.len()).enumerate() {
            self.enter(members, group as u32);
        }
        self.members = all;
    }

    /// Returns the mixed number of a group; `None` if it would have too many bits.
    #[inline]
    fn mixed(&self, members: &[u32]) -> Option<u128> {
        let fits = self.bits.len() <= 4 || self.bits.iter().sum::<u32>() <= u128::BITS;
        fits.then(|| mix(&self.bits, members))
    }

    fn enter(&mut self, members: &[u32], group: u32) {
        match self.mixed(members) {
            Some(mixed) if !self.dense.is_empty() => self.dense[mixed as usize] = group,
            Some(mixed) => drop(self.sparse.insert(mixed, group)),
            None => drop(self.wide.insert(members.into(), group)),
        }
    }

    /// Returns the group whose keys have these numbers; [`NONE`] if there is none.
    #[inline]
    fn known(&self, members: &[u32]) -> u32 {
        if members.contains(&NONE) {
            return NONE;
        }
        match self.mixed(members) {
            Some(mixed) if !self.dense.is_empty() => self.dense[mixed as usize],
            Some(mixed) => self.sparse.get(&mixed).copied().unwrap_or(NONE),
            None => self.wide.get(members).copied().unwrap_or(NONE),
        }
    }

    #[inline]
    fn group(&mut self, members: &[u32], may_grow: bool) -> u32 {
        let known = self.known(members);
        if known != NONE || !may_grow || members.contains(&NONE) {
            return known;
        }
        let group = self.count as u32;
        self.count += 1;
        self.members.extend_from_slice(members);
        self.enter(members, group);
        group
    }
}

#[inline]
fn mix(bits: &[u32], members: &[u32]) -> u128 {
    let pairs = bits.iter().zip(members);
    pairs.fold(0, |mixed, (bits, member)| mixed << bits | u128::from(*member))
}

#[cfg(test)]
mod tests {
    use types::Datum;

    use super::*;

    /// Groups keep their numbers when their keys need more bits.
    #[test]
    fn groups_keep_their_numbers() {
        let mut groups = Groups::new(2);
        let rows = Selection::All(1_000);
        let ints = |of: &dyn Fn(i64) -> i64| {
            Vector::of_datums(Repr::Int8, (0..1_000).map(|row| Datum::Int8(of(row))).collect())
        };
        let (few, many) = (ints(&|row| row % 3), ints(&|row| row / 2));
        let (mut first, mut again) = (Vec::new(), Vec::new());
        groups.numbers(&[&few, &few], &rows, true, &mut first, 1_000);
        assert_eq!((&first[..4], groups.len()), (&[0, 1, 2, 0][..], 3));
        groups.numbers(&[&many, &few], &rows, true, &mut again, 1_000);
        assert!(groups.len() > 600, "{}", groups.len());
        groups.numbers(&[&few, &few], &rows, false, &mut again, 1_000);
        assert_eq!(again, first);
        assert_eq!([groups.key(2, 0), groups.key(2, 1)], [DatumRef::Int8(2), DatumRef::Int8(2)]);

        // The numbers of 16 keys with 1,000 values each do not fit 128 bits.
        let mut wide = Groups::new(16);
        let all = ints(&|row| row);
        let few = [&few; 16];
        wide.numbers(&few, &rows, true, &mut first, 1_000);
        wide.numbers(&[&all; 16], &rows, true, &mut again, 1_000);
        assert_eq!((&again[..4], wide.len()), (&[0, 1, 2, 3][..], 1_000));
        wide.numbers(&few, &rows, false, &mut again, 1_000);
        assert_eq!((again, wide.key(999, 0)), (first, DatumRef::Int8(999)));
    }
}
