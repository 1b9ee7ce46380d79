//! A hash map that is cheap to copy and cheap to change: the copy shares all but what changed.
//!
//! ```text
//!   map ──> [ 0 | 1 | ... | 15 ]                         a clone shares the branches
//!                 │
//!                 └──> [ 0 | 1 | ... | 15 ]
//!                            │
//!                            └──> hash table of some entries: a shard
//! ```
//!
//! A look-up is a hash, two indexes and a probe. With 10,000 entries a shard has about 40, so that a change of
//! a shared map copies 40 entries and 32 pointers, once: while the changed map is not shared again, further
//! changes of a shard are in place.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::{Equivalent, HashTable};

/// Branches of a map, and shards of a branch; a power of two.
const BRANCHES: usize = 16;

/// A map whose copies share what they have in common.
pub(crate) struct Map<K, V> {
    branches: Arc<[Branch<K, V>; BRANCHES]>,
    len: usize,
}

/// Where nothing is there is `None`: an empty map costs no more than an array.
type Branch<K, V> = Option<Arc<[Shard<K, V>; BRANCHES]>>;
type Shard<K, V> = Option<Arc<HashTable<(K, V)>>>;

fn hash(key: &(impl Hash + ?Sized)) -> u64 {
    FixedState::with_seed(0).hash_one(key)
}

/// The branch and the shard in it. The table itself goes by the low and the top bits; these are from between.
fn place_of(hash: u64) -> (usize, usize) {
    ((hash >> 32) as usize % BRANCHES, (hash >> 36) as usize % BRANCHES)
}

impl<K: Hash + Eq + Clone, V: Clone> Map<K, V> {
    #[inline]
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        let hash = hash(key);
        let (branch, shard) = place_of(hash);
        let shard = self.branches[branch].as_ref()?[shard].as_ref()?;
        shard.find(hash, |(known, _)| key.equivalent(known)).map(|(_, value)| value)
    }

    pub fn contains<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> bool {
        self.get(key).is_some()
    }

    /// Sets the value of `key`; returns what it was.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = hash(&key);
        let table = Arc::make_mut(self.shard_mut(hash).get_or_insert_default());
        match table.find_mut(hash, |(known, _)| *known == key) {
            Some((_, known)) => Some(std::mem::replace(known, value)),
            None => {
                table.insert_unique(hash, (key, value), |(key, _)| self::hash(key));
                self.len += 1;
                None
            }
        }
    }

    /// Takes `key` out; returns what its value was.
    pub fn remove<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        self.get(key)?;
        let hash = hash(key);
        let table = Arc::make_mut(self.shard_mut(hash).as_mut()?);
        let found = table.find_entry(hash, |(known, _)| key.equivalent(known)).ok()?;
        let ((_, value), _) = found.remove();
        self.len -= 1;
        Some(value)
    }

    /// The shard of a hash, which no other map shares then.
    fn shard_mut(&mut self, hash: u64) -> &mut Shard<K, V> {
        let (branch, shard) = place_of(hash);
        let branch = &mut Arc::make_mut(&mut self.branches)[branch];
        let empty = || Arc::new([const { None }; BRANCHES]);
        &mut Arc::make_mut(branch.get_or_insert_with(empty))[shard]
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let shards = self.branches.iter().flatten().flat_map(|branch| branch.iter().flatten());
        shards.flat_map(|shard| shard.iter()).map(|(key, value)| (key, value))
    }

    /// All values, in no order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Map { branches: Arc::new([const { None }; BRANCHES]), len: 0 }
    }
}

impl<K, V> Clone for Map<K, V> {
    fn clone(&self) -> Self {
        Map { branches: Arc::clone(&self.branches), len: self.len }
    }
}

impl<K, V> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Random changes to a map and to copies of it agree with plain hash maps: a copy never sees
    /// what happens to the other.
    #[test]
    fn copies_are_independent() {
        let seed = vfs::seed(5);
        let random = vfs::SimRandom::new(seed);
        let mut maps: Vec<(Map<u64, u64>, HashMap<u64, u64>)> = vec![Default::default()];
        for step in 0..40_000 {
            let at = random.below(maps.len() as u64) as usize;
            let key = random.below(3_000);
            match random.below(20) {
                0 => {
                    let copy = (maps[at].0.clone(), maps[at].1.clone());
                    maps.truncate(6);
                    maps.push(copy);
                }
                1..7 => {
                    let (map, plain) = &mut maps[at];
                    assert_eq!(map.remove(&key), plain.remove(&key), "seed {seed}, step {step}");
                }
                _ => {
                    let (map, plain) = &mut maps[at];
                    assert_eq!(
                        map.insert(key, step),
                        plain.insert(key, step),
                        "seed {seed}, step {step}"
                    );
                }
            }
        }
        for (map, plain) in &maps {
            assert_eq!(map.len, plain.len());
            let all: HashMap<u64, u64> = map.iter().map(|(key, value)| (*key, *value)).collect();
            assert_eq!(&all, plain, "seed {seed}");
            assert!((0..3_000).all(|key| map.get(&key) == plain.get(&key)), "seed {seed}");
        }
    }
}
