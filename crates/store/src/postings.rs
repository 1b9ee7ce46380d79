//! [`Postings`]: the entries of an inverted index in memory: which rows have which items.
//!
//! ```text
//!   rows      0: 01 80..07   1: 01 80..08                     the end of a key, and a value
//!   items     0: plan=free   1: os=linux   2: plan=pro        each once, however many rows have it
//!   entries   (0, 0) (1, 0) (2, 1) (1, 1)                     number of the item, number of the row
//!
//!   sorted    os=linux 01 80..07 │ os=linux 01 80..08 │ plan=free 01 80..07 │ plan=pro 01 80..08
//! ```
//!
//! An entry takes eight bytes here, and is counted to its place. As a key with its value it takes four times as much,
//! and two keys are told apart behind the item that they have in common.

use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::ops::Range;

/// The bytes of an item beside its own: its place in the table, and its two lengths.
const ITEM_BYTES: usize = 64;
/// Bytes of the two lengths in front of a row.
const LENGTHS: usize = 4;

/// Which rows have which items.
#[derive(Default)]
pub(crate) struct Postings {
    rows: Vec<u8>,
    /// Where each row begins.
    starts: Vec<usize>,
    numbers: HashMap<Box<[u8]>, u32, RandomState>,
    item_bytes: usize,
    /// The number of the item, and that of the row in the lower half. Once sorted, that of the item is its place.
    entries: Vec<u64>,
    /// The items in order, once they are sorted.
    items: Vec<Box<[u8]>>,
}

impl Postings {
    /// Bytes that rows, items and entries take.
    pub fn bytes(&self) -> usize {
        let numbers = size_of_val(&self.starts[..]) + size_of_val(&self.entries[..]);
        self.rows.len() + self.item_bytes + numbers
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a row: what its entries have behind the item, and their value. `false` if one of them has 64 KiB or
    /// more, or there are too many rows.
    pub fn put_row(&mut self, rest: &[u8], value: &[u8]) -> bool {
        let lengths = (u16::try_from(rest.len()), u16::try_from(value.len()));
        let (Ok(rest_len), Ok(value_len)) = lengths else { return false };
        if u32::try_from(self.starts.len()).is_err() {
            return false;
        }
        self.starts.push(self.rows.len());
        self.rows.extend_from_slice(&rest_len.to_le_bytes());
        self.rows.extend_from_slice(&value_len.to_le_bytes());
        self.rows.extend_from_slice(rest);
        self.rows.extend_from_slice(value);
        true
    }

    /// Adds an entry: the row that came last has the item.
    pub fn put_item(&mut self, item: &[u8]) {
        let number = match self.numbers.get(item) {
            Some(number) => *number,
            None => {
                let number = self.numbers.len() as u32;
                self.numbers.insert(item.into(), number);
                self.item_bytes += item.len() + ITEM_BYTES;
                number
            }
        };
        let row = (self.starts.len() - 1) as u64;
        self.entries.push(u64::from(number) << 32 | row);
    }

    /// Takes all entries out, and keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.starts.clear();
        self.numbers.clear();
        self.item_bytes = 0;
        self.entries.clear();
        self.items.clear();
    }

    /// Sorts the entries by their keys: the item, and behind it the end that the row gives.
    pub fn sort(&mut self) {
        let mut items: Vec<(Box<[u8]>, u32)> = self.numbers.drain().collect();
        items.sort_unstable();
        let mut places = vec![0; items.len()];
        for (place, (_, number)) in (0_u32..).zip(&items) {
            places[*number as usize] = place;
        }
        self.items = items.into_iter().map(|(item, _)| item).collect();
        let mut entries = self.by_item(&places);
        let ascend = (1..self.starts.len()).all(|row| self.row(row - 1).0 < self.row(row).0);
        // Where an item begins like the next one, the ends of keys decide which comes first.
        let are_apart = self.items.windows(2).all(|pair| !pair[1].starts_with(&pair[0]));
        if !(ascend && are_apart) {
            entries.sort_unstable_by(|one, other| {
                let key = |entry: u64| {
                    let (item, row) = self.split(entry);
                    item.iter().chain(self.row(row).0)
                };
                key(*one).cmp(key(*other))
            });
        }
        self.entries = entries;
    }

    /// The entries in the order of the items, those of an item in the order in which they came: a counting sort (Knuth,
    /// *The Art of Computer Programming*, volume 3, section 5.2). `places` tells the place of each number.
    fn by_item(&self, places: &[u32]) -> Vec<u64> {
        let place_of = |entry: u64| places[(entry >> 32) as usize];
        let mut next = vec![0_usize; places.len() + 1];
        self.entries.iter().for_each(|entry| next[place_of(*entry) as usize + 1] += 1);
        (1..next.len()).for_each(|place| next[place] += next[place - 1]);
        let mut sorted = vec![0; self.entries.len()];
        for entry in &self.entries {
            let place = place_of(*entry);
            let at = &mut next[place as usize];
            sorted[*at] = u64::from(place) << 32 | *entry & u64::from(u32::MAX);
            *at += 1;
        }
        sorted
    }

    /// Calls `f` with the key and the value of the sorted entries in a range, until it fails.
    pub fn each<E>(
        &self,
        range: Range<usize>,
        mut f: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut key = Vec::new();
        let (mut last, mut item_bytes) = (None, 0);
        for entry in &self.entries[range] {
            let (item, row) = self.split(*entry);
            let (rest, value) = self.row(row);
            let place = *entry >> 32;
            if last != Some(place) {
                key.clear();
                key.extend_from_slice(item);
                (last, item_bytes) = (Some(place), item.len());
            }
            key.truncate(item_bytes);
            key.extend_from_slice(rest);
            f(&key, value)?;
        }
        Ok(())
    }

    /// The item and the number of the row of a sorted entry.
    fn split(&self, entry: u64) -> (&[u8], usize) {
        (&self.items[(entry >> 32) as usize], (entry & u64::from(u32::MAX)) as usize)
    }

    #[inline]
    fn row(&self, row: usize) -> (&[u8], &[u8]) {
        let row = &self.rows[self.starts[row]..];
        let length = |at: usize| usize::from(u16::from_le_bytes([row[at], row[at + 1]]));
        let (rest, value) = (length(0), length(2));
        row[LENGTHS..][..rest + value].split_at(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::world::{SimRandom, seeds};

    /// Items that begin like others, and rows that come in any order: the entries are those that keys made of both would
    /// be, sorted; and so they are when the memory is used again.
    #[test]
    fn entries_are_in_the_order_of_whole_keys() {
        seeds(620, 200, |seed| {
            let dice = SimRandom::new(seed);
            let mut postings = Postings::default();
            for _ in 0..2 {
                postings.clear();
                fill_and_check(&mut postings, &dice);
            }
        });
    }

    fn fill_and_check(postings: &mut Postings, dice: &SimRandom) {
        let is_mixed = dice.below(2) == 0;
        let mut expected = Vec::new();
        for at in 0..dice.below(60) {
            let row = if is_mixed { at * 37 % 61 } else { at };
            let (rest, value) = ([b'a', row as u8], vec![at as u8; dice.below(3) as usize]);
            assert!(postings.put_row(&rest, &value));
            let mut items: Vec<Vec<u8>> = (0..dice.below(5))
                .map(|_| (0..=dice.below(3)).map(|_| b"abz"[dice.below(3) as usize]).collect())
                .collect();
            items.sort();
            items.dedup();
            for item in items {
                postings.put_item(&item);
                expected.push(([&item[..], &rest].concat(), value.clone()));
            }
        }
        expected.sort();
        postings.sort();
        let cut = expected.len() / 2;
        let mut found = Vec::new();
        for range in [0..cut, cut..postings.len()] {
            let each = |key: &[u8], value: &[u8]| {
                found.push((key.to_vec(), value.to_vec()));
                Ok::<_, ()>(())
            };
            assert_eq!(postings.each(range, each), Ok(()));
        }
        assert_eq!(found, expected);
    }

    /// A row whose end or value is too long for its length is not added.
    #[test]
    fn what_is_too_long_is_not_added() {
        let mut postings = Postings::default();
        assert!(!postings.put_row(&[0; 1 << 16], &[]));
        assert!(!postings.put_row(&[], &[0; 1 << 16]));
        assert!(postings.put_row(&[0; (1 << 16) - 1], &[1]));
        assert_eq!(postings.len(), 0);
    }
}
