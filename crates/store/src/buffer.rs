//! [`Buffer`]: entries in memory that are sorted in place.
//!
//! ```text
//!   bytes    length of key, of value │ key │ value │ length of key ...
//!   starts   where each entry begins, in the order in which they came
//!
//!   sort     what all keys begin with     the next 8 bytes, as a number     the rest
//!            passed over                  compared, with the place           where numbers are equal
//! ```
//!
//! Comparing two keys where they lie costs two misses of the processor's cache; the numbers lie beside each other. Keys
//! with equal numbers are in the order in which they came: in an index over few values, that of the rows, and they need
//! no sorting. Where they do, they are sorted by the 8 bytes that come next.

use std::ops::Range;

use crate::sorter::DuplicateKey;

/// A buffer grows step by step up to so many bytes: most tables are small.
const GROWS_MAX: usize = 1 << 20;
/// Bytes before the key of an entry.
const LENGTHS: usize = 6;
/// Keys are sorted by 8 bytes so often at most, and then whole.
const ROUNDS_MAX: usize = 8;
/// So few keys are compared whole.
const FEW: usize = 8;

/// Entries in memory.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    starts: Vec<u32>,
    /// An entry is not above the one before it.
    is_mixed: bool,
}

/// An entry that is being sorted.
#[derive(Clone, Copy)]
struct Ranked {
    /// Eight bytes of its key.
    number: u64,
    start: u32,
}

impl Buffer {
    /// Bytes that the entries take.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// True if the entries did not come in the order of their keys.
    pub fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// The entries, in the order in which they came, or sorted after [`Buffer::sort`].
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries_in(0..self.len())
    }

    /// Those of them with these numbers.
    pub fn entries_in(&self, range: Range<usize>) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.starts[range].iter().map(|start| self.entry(*start))
    }

    fn lengths(&self, start: u32) -> (usize, usize) {
        let at = &self.bytes[start as usize..][..LENGTHS];
        let key = u16::from_le_bytes([at[0], at[1]]);
        (usize::from(key), u32::from_le_bytes([at[2], at[3], at[4], at[5]]) as usize)
    }

    #[inline]
    fn entry(&self, start: u32) -> (&[u8], &[u8]) {
        let (key, value) = self.lengths(start);
        self.bytes[start as usize + LENGTHS..][..key + value].split_at(key)
    }

    #[inline]
    fn key(&self, start: u32) -> &[u8] {
        self.entry(start).0
    }

    /// Adds an entry whose value `write` appends. A buffer that outgrows the first megabyte takes `bytes_max` at once. A
    /// key longer than `key_max`, which is below 64 KiB, or a value longer than `value_max` is not added: returns the
    /// lengths of both.
    pub fn put(
        &mut self,
        key: &[u8],
        write: impl FnOnce(&mut Vec<u8>),
        (key_max, value_max): (usize, usize),
        bytes_max: usize,
    ) -> Result<(), (usize, usize)> {
        if self.bytes.len() > GROWS_MAX && self.bytes.capacity() < bytes_max {
            self.reserve_all(bytes_max);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&[0; LENGTHS - 2]);
        self.bytes.extend_from_slice(key);
        write(&mut self.bytes);
        let value = self.bytes.len() - start - LENGTHS - key.len();
        if key.len() > key_max || value > value_max {
            self.bytes.truncate(start);
            return Err((key.len(), value));
        }
        self.bytes[start + 2..start + LENGTHS].copy_from_slice(&(value as u32).to_le_bytes());
        self.is_mixed =
            self.is_mixed || self.starts.last().is_some_and(|last| self.key(*last) >= key);
        self.starts.push(start as u32);
        Ok(())
    }

    /// Takes the memory of a full buffer at once: a buffer that doubles is copied into fresh pages
    /// again and again, and the system clears each of them.
    #[cold]
    fn reserve_all(&mut self, bytes_max: usize) {
        let (bytes, entries) = (self.bytes.len(), self.starts.len());
        let all_entries = entries.saturating_mul(bytes_max / bytes + 1);
        self.bytes.reserve_exact(bytes_max + GROWS_MAX - bytes);
        self.starts.reserve(all_entries - entries);
    }

    /// Takes all entries out, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        self.is_mixed = false;
    }

    /// Sorts the entries by their keys; equal keys stay as they came. Returns a key that is there twice, if there
    /// is one.
    pub fn sort(&mut self) -> Option<DuplicateKey> {
        if !self.is_mixed {
            return None;
        }
        let ranked = self.starts.iter().map(|start| Ranked { number: 0, start: *start });
        let mut ranked: Vec<Ranked> = ranked.collect();
        self.rank(&mut ranked, 0, ROUNDS_MAX);
        self.starts.iter_mut().zip(&ranked).for_each(|(start, ranked)| *start = ranked.start);
        let duplicate =
            self.starts.windows(2).find(|pair| self.key(pair[0]) == self.key(pair[1]))?;
        let (key, value) = self.entry(duplicate[1]);
        Some(DuplicateKey { key: key.to_vec(), value: value.to_vec() })
    }

    /// Sorts entries whose keys have their first `skip` bytes in common.
    fn rank(&self, entries: &mut [Ranked], skip: usize, rounds: usize) {
        if rounds == 0 || entries.len() <= FEW {
            entries.sort_unstable_by(|one, other| {
                let (one, other) = (one.start, other.start);
                self.key(one).cmp(self.key(other)).then(one.cmp(&other))
            });
            return;
        }
        let skip = self.common(entries, skip);
        for entry in entries.iter_mut() {
            entry.number = number_at(self.key(entry.start), skip);
        }
        entries.sort_unstable_by_key(|entry| (entry.number, entry.start));
        for equal in entries.chunk_by_mut(|one, other| one.number == other.number) {
            let ascend = |pair: &[Ranked]| {
                self.key(pair[0].start)[skip..] <= self.key(pair[1].start)[skip..]
            };
            if !equal.windows(2).all(ascend) {
                self.rank(equal, skip, rounds - 1);
            }
        }
    }

    /// How many bytes all keys have in common, which are `skip` at least.
    fn common(&self, entries: &[Ranked], skip: usize) -> usize {
        let first = self.key(entries[0].start);
        let mut common = first.len();
        for entry in &entries[1..] {
            let key = self.key(entry.start);
            common = common.min(key.len());
            if first[skip..common] != key[skip..common] {
                let bytes = first[skip..common].iter().zip(&key[skip..common]);
                common = skip + bytes.take_while(|(one, other)| one == other).count();
            }
            if common == skip {
                break;
            }
        }
        common
    }
}

/// Eight bytes of a key as a number; zeros stand for those behind its end.
#[inline]
fn number_at(key: &[u8], at: usize) -> u64 {
    let rest = &key[at..];
    if let Some(eight) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    let mut eight = [0; 8];
    eight[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(eight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::world::{SimRandom, seeds};

    /// Keys over two letters and zero, so that many begin alike, many are the beginnings of others, and some come
    /// twice: the order is that of a stable sort of the whole keys.
    #[test]
    fn entries_are_in_the_order_of_their_keys() {
        seeds(610, 300, |seed| {
            let dice = SimRandom::new(seed);
            let (count, longest) = (dice.below(400), 1 + dice.below(40));
            let head = vec![b'h'; dice.below(12) as usize];
            let mut expected: Vec<(Vec<u8>, Vec<u8>)> = (0..count)
                .map(|at: u64| {
                    let tail = (0..dice.below(longest)).map(|_| b"\0ab"[dice.below(3) as usize]);
                    let key = head.iter().copied().chain(tail).collect();
                    (key, at.to_le_bytes().to_vec())
                })
                .collect();
            let mut buffer = Buffer::default();
            for (key, value) in &expected {
                let put = buffer.put(key, |out| out.extend_from_slice(value), (64, 8), 1 << 20);
                assert_eq!(put, Ok(()));
            }
            expected.sort_by(|one, other| one.0.cmp(&other.0));
            let duplicate = expected.windows(2).find(|pair| pair[0].0 == pair[1].0);
            let found = buffer.sort().map(|duplicate| (duplicate.key, duplicate.value));
            assert_eq!(found.as_ref(), duplicate.map(|pair| &pair[1]));
            let sorted = buffer.entries().map(|(key, value)| (key.to_vec(), value.to_vec()));
            assert_eq!(sorted.collect::<Vec<_>>(), expected);
        });
    }

    /// A key or a value that is too long leaves the buffer as it was.
    #[test]
    fn what_is_too_long_is_not_added() {
        let mut buffer = Buffer::default();
        assert_eq!(buffer.put(b"a", |out| out.push(1), (2, 1), 100), Ok(()));
        assert_eq!(buffer.put(b"abc", |_| {}, (2, 1), 100), Err((3, 0)));
        assert_eq!(buffer.put(b"b", |out| out.extend([1, 2]), (2, 1), 100), Err((1, 2)));
        assert_eq!(buffer.entries().collect::<Vec<_>>(), [(&b"a"[..], &[1][..])]);
        assert_eq!((buffer.bytes(), buffer.len(), buffer.is_mixed()), (8, 1, false));
    }
}
