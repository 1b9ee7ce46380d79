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
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use types::{Datum, Repr};

use crate::slice::Selection;
use crate::vector::{Ints, Values, Vector, Words, int_datum, int_of};

/// The number of a value or a group that is not known, and for which there is no room.
pub const NONE: u32 = u32::MAX;

/// Gives integers numbers, from 0 on: by an array if they lie close together, else by a hash table.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// The integer at the start of the array.
    base: i64,
    slots: Vec<u32>,
    others: HashMap<i64, u32, FixedState>,
}

/// The longest array of numbers, unless there are many: then it may have [`SPARE`] places for each.
const SLOTS_MAX: usize = 1 << 20;
const SPARE: usize = 16;

impl Numbers {
    #[inline]
    fn slot_of(&self, value: i64) -> Option<usize> {
        let at = value.wrapping_sub(self.base) as u64;
        (at < self.slots.len() as u64).then_some(at as usize)
    }

    /// Returns the number of an integer that has one in the array; else [`NONE`].
    #[inline]
    fn known(&self, value: i64) -> u32 {
        let at = value.wrapping_sub(self.base) as u64;
        self.slots.get(at as usize).copied().unwrap_or(NONE)
    }

    /// Returns the number of an integer; if it has none, `next` gives it one, or [`NONE`].
    #[inline]
    pub fn get(&mut self, value: i64, next: impl FnOnce() -> u32) -> u32 {
        match self.slot_of(value) {
            Some(at) if self.slots[at] != NONE => self.slots[at],
            _ => self.find(value, next),
        }
    }

    fn find(&mut self, value: i64, next: impl FnOnce() -> u32) -> u32 {
        if let Some(known) = self.others.get(&value) {
            return *known;
        }
        let number = next();
        if number == NONE {
            return NONE;
        }
        if self.reach(value, SLOTS_MAX.max(number as usize * SPARE))
            && let Some(at) = self.slot_of(value)
        {
            self.slots[at] = number;
        } else {
            self.others.insert(value, number);
        }
        number
    }

    /// Makes the array longer, to have a place for an integer, unless it would have more than `most` places.
    fn reach(&mut self, value: i64, most: usize) -> bool {
        const SLOTS_MIN: usize = 1 << 10;
        if self.slots.is_empty() {
            // There is room before the first integer and behind it.
            self.base = value.saturating_sub(SLOTS_MIN as i64 / 2);
            self.slots = vec![NONE; SLOTS_MIN];
        }
        if self.slot_of(value).is_some() {
            return true;
        }
        let Some(distance) = value.checked_sub(self.base) else { return false };
        if distance >= 0 {
            let Some(needed) = (distance as usize).checked_add(1).filter(|needed| *needed <= most)
            else {
                return false;
            };
            self.slots.resize(needed.next_power_of_two().min(most), NONE);
            return true;
        }
        let before = usize::try_from(distance.unsigned_abs()).unwrap_or(usize::MAX);
        let before = before.max(self.slots.len());
        if before > most || before + self.slots.len() > most {
            return false;
        }
        let Some(base) = self.base.checked_sub(before as i64) else { return false };
        self.base = base;
        self.slots.splice(0..0, std::iter::repeat_n(NONE, before));
        true
    }

    /// Returns the number of an integer; [`NONE`] if it has none.
    #[inline]
    fn find_known(&self, value: i64) -> u32 {
        match self.known(value) {
            NONE => self.others.get(&value).copied().unwrap_or(NONE),
            number => number,
        }
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u32>() + self.others.capacity() * 24
    }
}

/// The different values of a key.
#[derive(Debug, Default)]
pub struct KeyValues {
    values: Vec<Datum>,
    numbers: HashMap<u64, Vec<u32>, FixedState>,
    hasher: FixedState,
    ints: Numbers,
    /// The representation of `ints`.
    repr: Option<Repr>,
    null: Option<u32>,
    /// The numbers of the entries of a dictionary.
    words: EntryNumbers,
    bytes: usize,
}

/// A dictionary, and the numbers that its entries have as values of a key.
pub type EntryNumbers = Option<(Arc<Words>, Vec<u32>)>;

impl KeyValues {
    /// Returns the number of a value; [`NONE`] if it is new and `may_grow` is false.
    fn number(&mut self, value: Datum, may_grow: bool) -> u32 {
        if value.is_null() {
            if self.null.is_none() && may_grow {
                self.null = Some(self.push(Datum::Null));
            }
            return self.null.unwrap_or(NONE);
        }
        let hash = self.hasher.hash_one(&value);
        let known = self.known(hash, &value);
        if known != NONE || !may_grow {
            return known;
        }
        let number = self.push(value);
        self.numbers.entry(hash).or_default().push(number);
        self.bytes += 64;
        number
    }

    /// Returns the number of a value with a hash; [`NONE`] if it has none.
    fn known(&self, hash: u64, value: &Datum) -> u32 {
        let known = self.numbers.get(&hash).into_iter().flatten();
        let found = known.copied().find(|number| self.values[*number as usize] == *value);
        found.unwrap_or(NONE)
    }

    fn push(&mut self, value: Datum) -> u32 {
        let number = self.values.len() as u32;
        self.bytes += size_of::<Datum>() + value.heap_bytes();
        self.values.push(value);
        number
    }

    /// Puts the numbers of the selected rows' values into `out`, which has a place for each row.
    pub fn numbers(
        &mut self,
        vector: &Vector<'_>,
        rows: &Selection,
        may_grow: bool,
        out: &mut [u32],
    ) {
        match &vector.values {
            Values::Ints(ints) if self.repr.is_none_or(|repr| repr == ints.repr) => {
                self.repr = Some(ints.repr);
                self.int_numbers(ints, vector, rows, may_grow, out);
            }
            Values::Codes(words, codes) => {
                let (known, mut numbers) = match self.words.take() {
                    Some((known, numbers)) if Arc::ptr_eq(&known, words) => (known, numbers),
                    _ => (Arc::clone(words), vec![NONE; words.len()]),
                };
                let has_nulls = !vector.nulls.is_empty();
                if !has_nulls && put_known(rows, codes, out, |code| numbers[code as usize]) {
                    self.words = Some((known, numbers));
                    return;
                }
                rows.each(|row| {
                    if has_nulls && vector.nulls[row] {
                        out[row] = self.number(Datum::Null, may_grow);
                        return;
                    }
                    let code = codes[row];
                    let mut number = numbers[code as usize];
                    if number == NONE {
                        number = self.number(words.get(code).to_owned(), may_grow);
                        numbers[code as usize] = number;
                    }
                    out[row] = number;
                });
                self.words = Some((known, numbers));
            }
            _ => rows.each(|row| out[row] = self.number(vector.datum(row), may_grow)),
        }
    }

    /// Puts the numbers of the selected rows' values, none of which is NULL, into `out`, which has a place for each row:
    /// [`NONE`] for values that have none. `memo` is for calls of this alone.
    pub fn find(
        &self,
        vector: &Vector<'_>,
        rows: &Selection,
        memo: &mut EntryNumbers,
        out: &mut [u32],
    ) {
        let number = |value: Datum| self.known(self.hasher.hash_one(&value), &value);
        match &vector.values {
            Values::Ints(ints) if self.repr == Some(ints.repr) => {
                rows.each(|row| out[row] = self.ints.find_known(ints.values[row]));
            }
            Values::Codes(words, codes) => {
                const NOT_ASKED: u32 = NONE - 1;
                if !memo.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, words)) {
                    *memo = Some((Arc::clone(words), vec![NOT_ASKED; words.len()]));
                }
                let Some((_, numbers)) = memo else { return };
                rows.each(|row| {
                    let known = &mut numbers[codes[row] as usize];
                    if *known == NOT_ASKED {
                        *known = number(words.get(codes[row]).to_owned());
                    }
                    out[row] = *known;
                });
            }
            _ => rows.each(|row| out[row] = number(vector.datum(row))),
        }
    }

    /// Takes in the values of another key. Returns the numbers that these have here, by the numbers that they have there.
    pub fn merge(&mut self, other: &KeyValues) -> Vec<u32> {
        let repr = other.repr.filter(|repr| self.repr.is_none_or(|known| known == *repr));
        self.repr = self.repr.or(repr);
        let mut ints = std::mem::take(&mut self.ints);
        let number = |value: &Datum| {
            let int = repr.and_then(|repr| {
                let int = int_of(value.as_ref())?;
                (int_datum(repr, int) == value.as_ref()).then_some(int)
            });
            match int {
                Some(int) => ints.get(int, || self.push(value.clone())),
                None => self.number(value.clone(), true),
            }
        };
        let numbers = other.values.iter().map(number).collect();
        self.ints = ints;
        numbers
    }

    fn int_numbers(
        &mut self,
        ints: &Ints,
        vector: &Vector<'_>,
        rows: &Selection,
        may_grow: bool,
        out: &mut [u32],
    ) {
        let mut numbers = std::mem::take(&mut self.ints);
        let mut last = None;
        let has_nulls = !vector.nulls.is_empty();
        if !has_nulls && put_known(rows, &ints.values, out, |value| numbers.known(value)) {
            self.ints = numbers;
            return;
        }
        rows.each(|row| {
            if has_nulls && vector.nulls[row] {
                out[row] = self.number(Datum::Null, may_grow);
                return;
            }
            let value = ints.values[row];
            // Sorted columns have the same value many times in a row.
            let number = match last {
                Some((before, number)) if before == value => number,
                _ => numbers.get(value, || match may_grow {
                    true => self.push(int_datum(ints.repr, value).to_owned()),
                    false => NONE,
                }),
            };
            last = Some((value, number));
            out[row] = number;
        });
        self.ints = numbers;
    }

    /// Returns the value with a number.
    pub fn value(&self, number: u32) -> &Datum {
        &self.values[number as usize]
    }

    /// Returns the number of different values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        self.bytes + self.ints.bytes()
    }
}

/// Puts the numbers of the selected rows' values into `out`; false if a value has none yet.
#[inline]
fn put_known<T: Copy>(
    rows: &Selection,
    values: &[T],
    out: &mut [u32],
    number: impl Fn(T) -> u32,
) -> bool {
    let mut is_known = true;
    let mut put = |slot: &mut u32, value: T| {
        *slot = number(value);
        is_known &= *slot != NONE;
    };
    match rows {
        Selection::All(count) => {
            let slots = out[..*count].iter_mut().zip(values);
            slots.for_each(|(slot, value)| put(slot, *value));
        }
        Selection::Some(_) => rows.each(|row| put(&mut out[row], values[row])),
    }
    is_known
}

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
    pub fn key(&self, group: usize, at: usize) -> &Datum {
        let width = self.keys.len();
        let number = match width {
            1 => group as u32,
            _ => self.members[group * width + at],
        };
        self.keys[at].value(number)
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
    use super::*;

    /// Integers keep their numbers, near or far, however the array grows.
    #[test]
    fn integers_keep_their_numbers() {
        let mut numbers = Numbers::default();
        let all = [5, 6, -400, 100_000, i64::MIN, i64::MAX, -900_000, 1 << 40, 5, -400, i64::MAX];
        let mut known: Vec<i64> = Vec::new();
        for value in all {
            let before = known.iter().position(|known| *known == value);
            let next = known.len() as u32;
            let number = numbers.get(value, || next);
            assert_eq!(number, before.map_or(next, |before| before as u32), "{value}");
            if before.is_none() {
                known.push(value);
            }
        }
        for (number, value) in known.iter().enumerate() {
            assert_eq!(numbers.get(*value, || panic!("{value} is known")), number as u32);
        }
        assert_eq!(numbers.get(77, || NONE), NONE, "there is no room");
        assert_eq!(numbers.get(77, || 100), 100);
    }

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
        assert_eq!([groups.key(2, 0), groups.key(2, 1)], [&Datum::Int8(2), &Datum::Int8(2)]);

        // The numbers of 16 keys with 1,000 values each do not fit 128 bits.
        let mut wide = Groups::new(16);
        let all = ints(&|row| row);
        let few = [&few; 16];
        wide.numbers(&few, &rows, true, &mut first, 1_000);
        wide.numbers(&[&all; 16], &rows, true, &mut again, 1_000);
        assert_eq!((&again[..4], wide.len()), (&[0, 1, 2, 3][..], 1_000));
        wide.numbers(&few, &rows, false, &mut again, 1_000);
        assert_eq!((again, wide.key(999, 0)), (first, &Datum::Int8(999)));
    }
}
