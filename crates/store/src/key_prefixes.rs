//! [`KeyPrefixes`]: the first bytes of sorted keys as numbers, which a search compares before it looks at a key.
//!
//! ```text
//!   keys      00 00 00 07 61 62 63 64 65 ..     00 00 00 07 61 78 ..     00 00 00 07 62 ..
//!   shared    00 00 00 07                       all of them begin with this
//!   prefixes  61 62 63 64 65 ..                 61 78 ..                 62 ..               8 bytes each
//! ```
//!
//! The prefixes lie side by side, the keys do not: most steps of a binary search read nothing else.

use std::cmp::Ordering;

/// The prefixes of keys, without the bytes that all keys share, in the order of the keys.
pub struct KeyPrefixes {
    /// How many bytes at their beginning all keys share.
    shared: usize,
    values: Box<[u64]>,
}

impl KeyPrefixes {
    /// Returns the prefixes of ascending keys.
    pub fn of<'k>(count: usize, key: impl Fn(usize) -> &'k [u8]) -> KeyPrefixes {
        let shared = match count {
            0 => 0,
            _ => shared(key(0), key(count - 1)),
        };
        let rest = |at| key(at).get(shared..).unwrap_or_default();
        let values = (0..count).map(|at| key_prefix(rest(at))).collect();
        KeyPrefixes { shared, values }
    }

    /// Returns the prefixes of keys whose common prefix has been taken off already.
    pub fn of_rests<'k>(count: usize, rest: impl Fn(usize) -> &'k [u8]) -> KeyPrefixes {
        KeyPrefixes { shared: 0, values: (0..count).map(|at| key_prefix(rest(at))).collect() }
    }

    /// How many of the keys are before `key`, where `compare` tells how the one at a place stands to it; the
    /// answer for places of equal keys is the caller's.
    #[inline]
    pub fn before<'k>(
        &self,
        key: &[u8],
        first: impl FnOnce() -> &'k [u8],
        compare: impl Fn(usize) -> Ordering,
    ) -> usize {
        if self.values.is_empty() {
            return 0;
        }
        if self.shared > 0 {
            let prefix = &first()[..self.shared];
            let own = &key[..key.len().min(self.shared)];
            match own.cmp(prefix) {
                Ordering::Equal => {}
                Ordering::Less => return 0,
                Ordering::Greater => return self.values.len(),
            }
        }
        let sought = key_prefix(&key[self.shared..]);
        let (mut low, mut high) = (0, self.values.len());
        while low < high {
            let middle = (low + high) / 2;
            let order = self.values[middle].cmp(&sought).then_with(|| compare(middle));
            if order == Ordering::Less { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Bytes in memory.
    pub fn size(&self) -> usize {
        KeyPrefixes::size_of(self.values.len())
    }

    /// Bytes in memory of those of so many keys.
    pub fn size_of(count: usize) -> usize {
        count * size_of::<u64>()
    }
}

/// The first eight bytes, missing ones as zero: never out of order with the whole.
#[inline]
fn key_prefix(rest: &[u8]) -> u64 {
    match rest.first_chunk::<8>() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => rest.iter().enumerate().fold(0, |sum, (i, &b)| sum | u64::from(b) << (56 - 8 * i)),
    }
}

/// How many bytes two keys share at their beginning.
pub fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of all lengths around the eight bytes, equal ones and prefixes of each other among them, are found
    /// where a plain search finds them.
    #[test]
    fn tells_what_a_plain_search_tells() {
        vfs::seeds(42, 200, |seed| {
            let random = &vfs::SimRandom::new(seed);
            let start = vec![7; random.below(6) as usize];
            let key = || {
                let bytes = (0..random.below(12)).map(|_| random.below(3) as u8 * 0x7f);
                start.iter().copied().chain(bytes).collect::<Vec<u8>>()
            };
            let mut keys: Vec<Vec<u8>> = (0..random.below(40)).map(|_| key()).collect();
            keys.sort();
            let key_prefixes = KeyPrefixes::of(keys.len(), |at| &keys[at]);
            let all = (0..50).map(|_| key()).chain([vec![], vec![7], vec![6], vec![8, 1]]);
            for sought in all {
                let expected = keys.partition_point(|key| *key < sought);
                let found = key_prefixes.before(&sought, || &keys[0], |at| keys[at].cmp(&sought));
                assert_eq!(found, expected, "{sought:?} in {keys:?}");
            }
        });
    }
}
