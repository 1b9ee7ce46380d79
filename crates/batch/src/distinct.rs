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
    numbers: Vec<u32>,
}

/// Which values were seen in which groups.
enum SeenValues {
    /// A bitmap of the numbers of values for each group.
    Bits(Bitmaps),
    /// Groups and numbers, where there are many groups; and how many numbers each group has.
    Pairs(HashSet<u64, FixedState>, Vec<u64>),
}

impl Default for SeenValues {
    fn default() -> SeenValues {
        SeenValues::Bits(Bitmaps::default())
    }
}

/// A bitmap for each group, all of one length, one after the other.
#[derive(Default)]
struct Bitmaps {
    bits: Vec<u64>,
    /// The words of each.
    words: usize,
}

impl Bitmaps {
    /// Makes room for so many groups, and for numbers below `numbers`.
    fn reach(&mut self, groups: usize, numbers: usize) {
        let words = numbers.div_ceil(64);
        if words > self.words {
            let words = words.next_power_of_two();
            let mut bits = Vec::with_capacity(groups * words);
            for group in 0..groups {
                bits.extend_from_slice(self.of_group(group));
                bits.resize((group + 1) * words, 0);
            }
            *self = Bitmaps { bits, words };
        }
        self.bits.resize(groups * self.words, 0);
    }

    /// Returns the bitmap of a group; an empty one if it has seen nothing.
    fn of_group(&self, group: usize) -> &[u64] {
        self.bits.get(group * self.words..(group + 1) * self.words).unwrap_or_default()
    }

    /// Notes a number of a group.
    #[inline(always)]
    fn set(&mut self, group: usize, number: u32) {
        self.bits[group * self.words + number as usize / 64] |= 1 << (number % 64);
    }

    fn groups(&self) -> impl Iterator<Item = &[u64]> {
        self.bits.chunks_exact(self.words.max(1))
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
        self.change_form(rows.count);
        match &mut self.seen {
            SeenValues::Bits(bits) => {
                bits.reach(rows.count, self.values.len());
                rows.each_value(vector, &numbers, |number, group| bits.set(group, number));
            }
            SeenValues::Pairs(pairs, counts) => {
                counts.resize(rows.count, 0);
                rows.each_value(vector, &numbers, |number, group| {
                    counts[group] += u64::from(pairs.insert(pair(group, number)));
                });
            }
        }
        self.numbers = numbers;
    }

    /// Takes in the values of other groups.
    pub fn merge(&mut self, mut other: Distinct, merging: Merging<'_>) {
        let groups = merging.rows_before.len();
        let numbers = self.values.merge(&other.values);
        self.change_form(groups);
        match &mut self.seen {
            SeenValues::Bits(bits) => {
                bits.reach(groups, self.values.len());
                let SeenValues::Bits(others) = &other.seen else { return };
                for (of_group, to) in others.groups().zip(merging.groups) {
                    bits_of(of_group).for_each(|number| bits.set(*to as usize, numbers[number]));
                }
            }
            SeenValues::Pairs(pairs, counts) => {
                counts.resize(groups, 0);
                other.take_pairs();
                let SeenValues::Pairs(others, _) = &other.seen else { return };
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
        let (mut pairs, mut counts) = (HashSet::default(), Vec::new());
        for (group, bits) in bits.groups().enumerate() {
            let before = pairs.len();
            pairs.extend(bits_of(bits).map(|number| pair(group, number as u32)));
            counts.push((pairs.len() - before) as u64);
        }
        self.seen = SeenValues::Pairs(pairs, counts);
    }

    /// Returns the number of different values of a group.
    pub fn count(&self, group: usize) -> u64 {
        match &self.seen {
            SeenValues::Bits(bits) => {
                bits.of_group(group).iter().map(|word| u64::from(word.count_ones())).sum()
            }
            SeenValues::Pairs(_, counts) => counts.get(group).copied().unwrap_or(0),
        }
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        let seen = match &self.seen {
            SeenValues::Bits(bits) => bits.bits.len() * size_of::<u64>(),
            SeenValues::Pairs(pairs, counts) => pairs.capacity() * 16 + counts.len() * 8,
        };
        self.values.bytes() + seen
    }
}
