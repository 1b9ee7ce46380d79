//! [`BlockKeys`]: the keys of a block or of a part of a memtable, to find those that two of them have.

use std::cmp::Ordering;

use crate::block::Block;
use crate::key::{self, TABLE_LEN};
use crate::{TableId, columns::NUMBER_BYTES};

/// Full keys in order.
#[derive(Debug, Default)]
pub(crate) struct BlockKeys {
    keys: Keys,
    /// How many keys of other tables were left out at the start.
    lead: usize,
}

#[derive(Debug)]
enum Keys {
    /// Keys of one table that are numbers of 8 bytes, as most hidden ids are.
    Numbers(TableId, Vec<u64>),
    /// Any keys, one after the other, and where each ends.
    Whole(Vec<u8>, Vec<usize>),
}

impl Default for Keys {
    fn default() -> Keys {
        Keys::Whole(Vec::new(), Vec::new())
    }
}

impl BlockKeys {
    /// Returns keys of a table that are numbers.
    pub fn numbers(table: TableId, numbers: Vec<u64>) -> BlockKeys {
        BlockKeys { keys: Keys::Numbers(table, numbers), lead: 0 }
    }

    /// Returns the keys that a block of rows has of a table.
    pub fn of_table(table: TableId, block: &Block) -> BlockKeys {
        let (mut keys, mut lead, mut full) = (BlockKeys::default(), 0, Vec::new());
        for at in 0..block.count() {
            block.key_into(at, &mut full);
            match key::split(&full).0.cmp(&table) {
                Ordering::Less => lead += 1,
                Ordering::Equal => keys.push(&full),
                Ordering::Greater => break,
            }
        }
        BlockKeys { lead, ..keys }
    }

    /// Returns how many keys of other tables were left out at the start.
    pub fn lead(&self) -> usize {
        self.lead
    }

    /// Returns the first and the last key; empty if there are none.
    pub fn bounds(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        if let Some(end) = self.len().checked_sub(1) {
            self.key_into(0, &mut first);
            self.key_into(end, &mut last);
        }
        (first, last)
    }

    /// Returns true if one of the keys lies from `first` up to `end`.
    pub fn meets(&self, first: &[u8], end: &[u8]) -> bool {
        let mut full = Vec::new();
        let mut is_from = |at: usize| {
            self.key_into(at, &mut full);
            full.as_slice() >= first
        };
        let at = first_that(0, self.len(), &mut is_from);
        if at == self.len() {
            return false;
        }
        self.key_into(at, &mut full);
        full.as_slice() < end
    }

    /// Collects full keys, which come in order.
    pub fn of<'k>(keys: impl Iterator<Item = &'k [u8]>) -> BlockKeys {
        let mut all = BlockKeys::default();
        keys.for_each(|key| all.push(key));
        all
    }

    /// Adds a full key, which comes after all others.
    pub fn push(&mut self, full: &[u8]) {
        let (table, key) = key::split(full);
        let number = key.try_into().ok().map(u64::from_be_bytes);
        if let Keys::Whole(_, ends) = &self.keys
            && ends.is_empty()
            && number.is_some()
        {
            self.keys = Keys::Numbers(table, Vec::new());
        }
        match (&mut self.keys, number) {
            (Keys::Numbers(of, numbers), Some(number)) if *of == table => numbers.push(number),
            (Keys::Whole(bytes, ends), _) => {
                bytes.extend_from_slice(full);
                ends.push(bytes.len());
            }
            (Keys::Numbers(..), _) => {
                let (mut bytes, mut ends, mut known) = (Vec::new(), Vec::new(), Vec::new());
                for at in 0..self.len() {
                    self.key_into(at, &mut known);
                    bytes.extend_from_slice(&known);
                    ends.push(bytes.len());
                }
                self.keys = Keys::Whole(bytes, ends);
                self.push(full);
            }
        }
    }

    /// Returns full keys that lie one after the other, and end at these places.
    pub fn whole(bytes: Vec<u8>, ends: Vec<usize>) -> BlockKeys {
        BlockKeys { keys: Keys::Whole(bytes, ends), lead: 0 }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        match &self.keys {
            Keys::Numbers(_, numbers) => numbers.len(),
            Keys::Whole(_, ends) => ends.len(),
        }
    }

    /// Puts the full key at a position into `out`.
    fn key_into(&self, at: usize, out: &mut Vec<u8>) {
        out.clear();
        match &self.keys {
            Keys::Numbers(table, numbers) => {
                out.extend_from_slice(&table.0.to_be_bytes());
                out.extend_from_slice(&numbers[at].to_be_bytes());
            }
            Keys::Whole(bytes, ends) => {
                let start = if at == 0 { 0 } else { ends[at - 1] };
                out.extend_from_slice(&bytes[start..ends[at]]);
            }
        }
    }

    /// Returns true if the key behind a position is the same.
    pub fn repeats(&self, at: usize) -> bool {
        if at + 1 >= self.len() {
            return false;
        }
        match &self.keys {
            Keys::Numbers(_, numbers) => numbers[at] == numbers[at + 1],
            Keys::Whole(..) => {
                let (mut own, mut next) = (Vec::new(), Vec::new());
                self.key_into(at, &mut own);
                self.key_into(at + 1, &mut next);
                own == next
            }
        }
    }

    /// Calls `f` with the positions, here and there, of each key that both have, ascending.
    pub fn common(&self, other: &BlockKeys, f: impl FnMut(usize, usize)) {
        match (&self.keys, &other.keys) {
            (Keys::Numbers(table, own), Keys::Numbers(of, other)) => {
                if table == of {
                    both(own.len(), other.len(), |at, there| own[at].cmp(&other[there]), f);
                }
            }
            _ => {
                let (mut own, mut its) = (Vec::new(), Vec::new());
                let compare = |at: usize, there: usize| {
                    self.key_into(at, &mut own);
                    other.key_into(there, &mut its);
                    own.cmp(&its)
                };
                both(self.len(), other.len(), compare, f);
            }
        }
    }
}

/// Calls `f` with each two positions at which two ordered rows are equal.
fn both(
    own: usize,
    other: usize,
    mut compare: impl FnMut(usize, usize) -> std::cmp::Ordering,
    mut f: impl FnMut(usize, usize),
) {
    if own == 0 || other == 0 {
        return;
    }
    // The rows before the first own key and behind the last one are skipped.
    let from = first_that(0, other, |there| compare(0, there).is_le());
    let to = first_that(from, other, |there| compare(own - 1, there).is_lt());
    let are_few = (to - from) * 8 < own;
    let mut at = 0;
    for there in from..to {
        at = match are_few {
            true => first_that(at, own, |at| compare(at, there).is_ge()),
            false => (at..own).find(|at| compare(*at, there).is_ge()).unwrap_or(own),
        };
        if at == own {
            return;
        }
        (at..own).take_while(|at| compare(*at, there).is_eq()).for_each(|at| f(at, there));
    }
}

/// Returns the first position in `from..to` for which `is` is true: it is for all behind that one. `to` if there is
/// none.
fn first_that(from: usize, to: usize, mut is: impl FnMut(usize) -> bool) -> usize {
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low + (high - low) / 2;
        if is(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

const _: () = assert!(NUMBER_BYTES == size_of::<u64>() && TABLE_LEN == size_of::<u32>());

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(all: &[&[u8]]) -> BlockKeys {
        BlockKeys::of(all.iter().copied())
    }

    fn numbers(table: u32, all: impl Iterator<Item = u64>) -> BlockKeys {
        let full = all.map(|number| [&table.to_be_bytes()[..], &number.to_be_bytes()].concat());
        let full: Vec<Vec<u8>> = full.collect();
        BlockKeys::of(full.iter().map(Vec::as_slice))
    }

    fn marked(own: &BlockKeys, newer: &BlockKeys) -> Vec<usize> {
        let mut positions = Vec::new();
        own.common(newer, |at, _| positions.push(at));
        positions
    }

    /// Keys that two rows of keys have are found, whether they are numbers, and whether few or many.
    #[test]
    fn common_keys_are_found() {
        let own = numbers(7, (0..100).map(|n| n * 3));
        assert!(matches!(own.keys, Keys::Numbers(..)));
        let every_second = marked(&own, &numbers(7, (0..100).map(|n| n * 2)));
        assert_eq!(every_second, (0..34).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(marked(&own, &numbers(7, [0, 4, 297].into_iter())), [0, 99]);
        assert!(marked(&own, &numbers(8, 0..100)).is_empty(), "it is another table");
        assert!(marked(&own, &BlockKeys::default()).is_empty());

        let words = keys(&[b"\0\0\0\x07a", b"\0\0\0\x07bc", b"\0\0\0\x07c"]);
        assert_eq!(marked(&words, &keys(&[b"\0\0\0\x07bc", b"\0\0\0\x07d"])), [1]);
        // A number among other keys is the same key.
        let mixed = keys(&[b"\0\0\0\x07\0\0\0\0\0\0\0\x06", b"\0\0\0\x07x"]);
        assert_eq!(marked(&own, &mixed), [2]);
        assert_eq!(marked(&mixed, &own), [0]);
    }
}
