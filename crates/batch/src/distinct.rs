//! [`Distinct`]: the different values of each group, for `count(DISTINCT ...)`.
//!
//! Each value has a number. A few groups have a bitmap of numbers each; many have a set of pairs of a group and a number.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use crate::key_values::KeyValues;
use crate::state::{Merging, Rows};
use crate::vector::Vector;

/// The different values of each group.
#[derive(Default)]
pub struct Distinct {
    values: KeyValues,
    seen: SeenValues,
    counts: Vec<u64>,
    numbers: Vec<u32>,
}

/// Which values were seen in which groups.
enum SeenValues {
    /// A bitmap of the numbers of values for each group.
    Bits(Vec<Vec<u64>>),
    /// Groups and numbers, where there are many groups.
    Pairs(HashSet<u64, FixedState>),
}

impl Default for SeenValues {
    fn default() -> SeenValues {
        SeenValues::Bits(Vec::new())
    }
}

/// The largest number of groups that have bitmaps.
const BITMAPS_MAX: usize = 64;

/// Returns the numbers of the bits that are set.
fn bits_of(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(at, word)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| at * 64 + left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(bit)
        })
    })
}

fn pair(group: usize, number: u32) -> u64 {
    (group as u64) << 32 | u64::from(number)
}

impl Distinct {
    /// Takes rows in.
    pub fn update(&mut self, vector: &Vector<'_>, rows: Rows<'_>) {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        numbers.resize(crate::ROWS_MAX, 0);
        self.values.numbers(vector, rows.rows, true, &mut numbers);
        self.counts.resize(rows.count, 0);
        self.change_form(rows.count);
        let counts = &mut self.counts;
        match &mut self.seen {
            SeenValues::Bits(bits) => {
                let words = self.values.len().div_ceil(64);
                bits.resize(rows.count, Vec::new());
                bits.iter_mut().for_each(|of_group| of_group.resize(words, 0));
                rows.each(
                    vector,
                    |row, group| {
                        let number = numbers[row] as usize;
                        let word = &mut bits[group][number / 64];
                        let bit = 1 << (number % 64);
                        counts[group] += u64::from(*word & bit == 0);
                        *word |= bit;
                    },
                    |_| {},
                );
            }
            SeenValues::Pairs(pairs) => rows.each(
                vector,
                |row, group| counts[group] += u64::from(pairs.insert(pair(group, numbers[row]))),
                |_| {},
            ),
        }
        self.numbers = numbers;
    }

    /// Takes in the values of other groups.
    pub fn merge(&mut self, mut other: Distinct, merging: Merging<'_>) {
        let groups = merging.rows_before.len();
        let numbers = self.values.merge(&other.values);
        self.counts.resize(groups, 0);
        self.change_form(groups);
        let (counts, words) = (&mut self.counts, self.values.len().div_ceil(64));
        match &mut self.seen {
            SeenValues::Bits(bits) => {
                bits.resize(groups, Vec::new());
                bits.iter_mut().for_each(|of_group| of_group.resize(words, 0));
                let SeenValues::Bits(others) = &other.seen else { return };
                for (of_group, to) in others.iter().zip(merging.groups) {
                    let to = *to as usize;
                    for number in bits_of(of_group) {
                        let number = numbers[number] as usize;
                        let word = &mut bits[to][number / 64];
                        let bit = 1 << (number % 64);
                        counts[to] += u64::from(*word & bit == 0);
                        *word |= bit;
                    }
                }
            }
            SeenValues::Pairs(pairs) => {
                other.take_pairs();
                let SeenValues::Pairs(others) = &other.seen else { return };
                pairs.reserve(others.len());
                for one in others {
                    let to = merging.groups[(one >> 32) as usize] as usize;
                    let number = numbers[*one as u32 as usize];
                    counts[to] += u64::from(pairs.insert(pair(to, number)));
                }
            }
        }
    }

    fn change_form(&mut self, groups: usize) {
        if groups > BITMAPS_MAX {
            self.take_pairs();
        }
    }

    fn take_pairs(&mut self) {
        let SeenValues::Bits(bits) = &self.seen else { return };
        let mut pairs = HashSet::default();
        for (group, bits) in bits.iter().enumerate() {
            pairs.extend(bits_of(bits).map(|number| pair(group, number as u32)));
        }
        self.seen = SeenValues::Pairs(pairs);
    }

    /// Returns the number of different values of a group.
    pub fn count(&self, group: usize) -> u64 {
        self.counts.get(group).copied().unwrap_or(0)
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        let seen = match &self.seen {
            SeenValues::Bits(bits) => bits.iter().map(|of_group| of_group.len() * 8).sum(),
            SeenValues::Pairs(pairs) => pairs.capacity() * 16,
        };
        self.values.bytes() + seen
    }
}
