//! The cache of decoded blocks and guides: a byte budget shared by all segments.
//!
//! ```text
//!   (file, block) ──hash──> shard ──map──> slot      the hand of a clock passes over the slots: what was
//!                                    o o x o o       used since its last round stays, what was not goes
//! ```
//!
//! A block that a reader holds stays alive through its `Arc`, cached or not. Beside blocks lies what readers have derived
//! from them ([`Derived`]).
//!
//! # Invariants
//! * A shard's slots never weigh more than its share of the budget.
//! * What was derived from blocks never weighs more than one part in [`DERIVED_PART`] of that.

use crate::block::Block;
use crate::block_layers::Mask;
use crate::columns::ColumnBlock;
use crate::segment::Guide;
use parking_lot::Mutex;
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The place of a part: the number of its file, and of its block ([`GUIDE`] for the guide, from [`PARTS`] on
/// for parts of columns).
pub type PartKey = (u64, u64);
/// The block number under which a file's guide is kept.
pub const GUIDE: u64 = u32::MAX as u64;
/// From here on lie the parts of columns, by their offsets in the file, and from [`HEADERS`] on the headers of
/// blocks of columns, by the number of the block. Those of a file that is gone leave as they grow old.
pub const PARTS: u64 = 1 << 62;
/// See [`PARTS`].
pub const HEADERS: u64 = 1 << 61;
/// From here on lie the masks of blocks of columns, by the number of the block, and from [`MASKS_PAST`] on those for a
/// commit below the newest of the runs.
pub const MASKS: u64 = 1 << 60;
/// See [`MASKS`].
pub const MASKS_PAST: u64 = 1 << 59;
/// From here on lies what readers have derived from blocks of rows, by the number of the block times [`DERIVED_EACH`] and a
/// number that the reader chooses. That of a file that is gone leaves as it grows old.
pub const DERIVED: u64 = 1 << 58;
/// See [`DERIVED`].
pub const DERIVED_EACH: u64 = 1 << 16;

/// What was derived from blocks may take one part in so many of the cache.
const DERIVED_PART: usize = 4;

/// Something that a reader has derived from a block.
#[derive(Clone)]
pub struct Derived {
    /// The value, of a type that the reader knows.
    pub value: Arc<dyn Any + Send + Sync>,
    /// The bytes that it holds.
    pub bytes: usize,
}

/// Something cached.
#[derive(Clone)]
pub enum Cached {
    Block(Arc<Block>),
    Guide(Arc<Guide>),
    Columns(Arc<ColumnBlock>),
    Part(Arc<[u8]>),
    Mask(Arc<Mask>),
    Derived(Derived),
}

impl Cached {
    fn size(&self) -> usize {
        match self {
            Cached::Block(b) => b.size(),
            Cached::Guide(g) => g.size(),
            Cached::Columns(c) => c.size(),
            Cached::Part(p) => p.len(),
            Cached::Mask(m) => m.size(),
            Cached::Derived(derived) => size_of::<Derived>() + derived.bytes,
        }
    }

    /// The size of what was derived from a block; 0 for others.
    fn derived_size(&self) -> usize {
        if matches!(self, Cached::Derived(_)) { self.size() } else { 0 }
    }
}

/// Mixes the two small numbers of a [`PartKey`].
#[derive(Default)]
struct PartKeyHasher(u64);

impl Hasher for PartKeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(u64::from(b)));
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(23) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

struct Slot {
    place: PartKey,
    value: Cached,
    used: bool,
}

#[derive(Default)]
struct Shard {
    map: HashMap<PartKey, usize, BuildHasherDefault<PartKeyHasher>>,
    slots: Vec<Slot>,
    hand: usize,
    bytes: usize,
    /// Of these, those of what was derived from blocks.
    derived: usize,
}

/// How often something was looked up in the caches of stores: blocks of files, and the guides to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockReads {
    /// Look-ups that found it.
    pub hit: u64,
    /// Look-ups after which it was read from its file.
    pub read: u64,
}

thread_local! {
    static OF_THREAD: Cell<BlockReads> = const { Cell::new(BlockReads { hit: 0, read: 0 }) };
}

impl BlockReads {
    /// The look-ups of the calling thread since it began.
    pub fn of_thread() -> BlockReads {
        OF_THREAD.get()
    }

    /// Returns the reads that came after `before`.
    #[must_use]
    pub fn since(self, before: BlockReads) -> BlockReads {
        BlockReads { hit: self.hit - before.hit, read: self.read - before.read }
    }

    /// Adds others.
    pub fn add(&mut self, other: BlockReads) {
        self.hit += other.hit;
        self.read += other.read;
    }

    /// Counts look-ups that another thread has made for the calling one.
    pub fn add_to_thread(self) {
        let mut all = OF_THREAD.get();
        all.add(self);
        OF_THREAD.set(all);
    }

    fn count(is_hit: bool) {
        let BlockReads { hit, read } = OF_THREAD.get();
        OF_THREAD.set(BlockReads { hit: hit + u64::from(is_hit), read: read + u64::from(!is_hit) });
    }
}

/// The cache.
pub struct Cache {
    shards: Box<[Mutex<Shard>]>,
    share: usize,
    misses: AtomicU64,
}

impl Cache {
    /// A cache of about `bytes`.
    pub fn new(bytes: usize) -> Cache {
        let shards = (bytes / (4 << 20)).clamp(1, 16).next_power_of_two();
        Cache {
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            share: bytes / shards,
            misses: AtomicU64::new(0),
        }
    }

    /// A cache in one piece, for one walk over large files.
    pub fn single(bytes: usize) -> Cache {
        Cache { shards: Box::new([Mutex::default()]), share: bytes, misses: AtomicU64::new(0) }
    }

    #[inline]
    fn shard(&self, place: PartKey) -> &Mutex<Shard> {
        let mixed =
            (place.0 ^ place.1 << 20 ^ place.1 >> 12).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 48;
        &self.shards[mixed as usize & (self.shards.len() - 1)]
    }

    /// Returns the block that is cached at a place.
    #[inline]
    pub fn get(&self, place: PartKey) -> Option<Cached> {
        let mut shard = self.shard(place).lock();
        let Some(&slot) = shard.map.get(&place) else {
            self.misses.fetch_add(1, Ordering::Relaxed);
            BlockReads::count(false);
            return None;
        };
        BlockReads::count(true);
        let slot = &mut shard.slots[slot];
        slot.used = true;
        Some(slot.value.clone())
    }

    /// Caches a value, and lets others go where the budget asks for it.
    pub fn insert(&self, place: PartKey, value: Cached) {
        let size = value.size();
        if size > self.share {
            return;
        }
        let mut shard = self.shard(place).lock();
        if shard.map.contains_key(&place) {
            return;
        }
        while shard.bytes + size > self.share {
            shard.evict();
        }
        shard.bytes += size;
        shard.derived += value.derived_size();
        let at = shard.slots.len();
        shard.slots.push(Slot { place, value, used: false });
        shard.map.insert(place, at);
        assert!(shard.bytes <= self.share);
    }

    /// Returns what was derived from a block, as [`Cache::get`] does. It is not counted: it can always be derived again.
    pub fn derived(&self, place: PartKey) -> Option<Derived> {
        let mut shard = self.shard(place).lock();
        let at = *shard.map.get(&place)?;
        let slot = &mut shard.slots[at];
        slot.used = true;
        match &slot.value {
            Cached::Derived(derived) => Some(derived.clone()),
            _ => None,
        }
    }

    /// Returns true if what was derived from blocks has not yet its part of the budget.
    pub fn has_room_for_derived(&self, place: PartKey) -> bool {
        self.shard(place).lock().derived < self.share / DERIVED_PART
    }

    /// Caches what was derived from a block, unless such values have their part of the budget.
    pub fn insert_derived(&self, place: PartKey, derived: Derived) {
        let value = Cached::Derived(derived);
        if self.shard(place).lock().derived + value.size() <= self.share / DERIVED_PART {
            self.insert(place, value);
        }
    }

    /// Caches a value in the place of the one that was valid before.
    pub fn replace(&self, place: PartKey, value: Cached) {
        self.drop_place(place);
        self.insert(place, value);
    }

    /// Forgets a file that is gone.
    pub fn forget(&self, file: u64, blocks: u32) {
        (0..u64::from(blocks)).chain([GUIDE]).for_each(|block| self.drop_place((file, block)));
    }

    fn drop_place(&self, place: PartKey) {
        let mut shard = self.shard(place).lock();
        if let Some(&at) = shard.map.get(&place) {
            shard.remove(at);
        }
    }

    /// The budget.
    pub fn bytes_max(&self) -> usize {
        self.share * self.shards.len()
    }

    /// Bytes cached.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|s| s.lock().bytes).sum()
    }

    /// Look-ups that had to read the file.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }
}

impl Shard {
    /// Lets go of the first slot under the hand that was not used since the hand passed last.
    fn evict(&mut self) {
        loop {
            self.hand = if self.hand < self.slots.len() { self.hand } else { 0 };
            let slot = &mut self.slots[self.hand];
            if !std::mem::take(&mut slot.used) {
                self.remove(self.hand);
                // The newest slot is in the place of the one that is gone: its turn comes in the next round.
                self.hand += 1;
                return;
            }
            self.hand += 1;
        }
    }

    fn remove(&mut self, at: usize) {
        let gone = self.slots.swap_remove(at);
        self.bytes -= gone.value.size();
        self.derived -= gone.value.derived_size();
        self.map.remove(&gone.place);
        if let Some(moved) = self.slots.get(at) {
            self.map.insert(moved.place, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockBuilder;
    use crate::group::{Group, Tag};

    fn block(bytes: usize) -> Cached {
        let (mut builder, mut group, mut out) =
            (BlockBuilder::default(), Group::default(), Vec::new());
        group.push(1, Tag::Put, &vec![0; bytes]);
        builder.push(b"k", &group);
        builder.finish(&mut out);
        Cached::Block(Arc::new(Block::decode(out, 0).expect("just built")))
    }

    /// The budget holds, what is used again and again stays, and forgetting a file leaves nothing of it.
    #[test]
    fn keeps_the_budget_and_what_is_used() {
        let cache = Cache::new(100_000);
        cache.insert((1, 0), block(1000));
        for i in 1..2000 {
            cache.insert((1, i), block(1000));
            assert!(cache.get((1, 0)).is_some(), "used at every step, evicted at {i}");
            assert!(cache.bytes() <= 100_000);
        }
        assert!(cache.get((1, 1)).is_none());
        cache.insert((2, 0), block(200_000));
        assert!(cache.get((2, 0)).is_none(), "larger than the budget");
        cache.forget(1, 2000);
        assert_eq!(cache.bytes(), 0);
    }

    /// What was derived from blocks gets its part of the cache, and no more. It makes room for blocks like all others.
    #[test]
    fn derived_values_have_a_part_of_the_budget() {
        let cache = Cache::new(100_000);
        let derived = |at: u64| Derived { value: Arc::new(at), bytes: 1_000 };
        let place = |at: u64| (1, DERIVED + at * DERIVED_EACH);
        let count = || (0..100).filter(|at| cache.derived(place(*at)).is_some()).count();
        (0..100).for_each(|at| cache.insert_derived(place(at), derived(at)));
        assert!((20..=25).contains(&count()), "{}", count());
        assert_eq!(
            cache.derived(place(3)).and_then(|it| it.value.downcast().ok()),
            Some(Arc::new(3_u64))
        );
        for _ in 0..3 {
            (0..400).for_each(|at| cache.insert((2, at), block(1000)));
        }
        assert_eq!(count(), 0);
        cache.insert_derived(place(0), derived(0));
        assert_eq!(count(), 1, "there is room again");
    }

    /// A block that is read again and again gets into a cache that is full of other blocks. New
    /// blocks once pushed out each other, so a table that was first read when the cache was full
    /// was read from its files for ever.
    #[test]
    fn a_full_cache_takes_in_what_is_read_again() {
        let cache = Cache::new(100_000);
        (0..200).for_each(|i| cache.insert((1, i), block(1000)));
        let mut hits = 0;
        for _ in 0..3 {
            hits = 0;
            for i in 0..40 {
                match cache.get((2, i)) {
                    Some(_) => hits += 1,
                    None => cache.insert((2, i), block(1000)),
                }
            }
        }
        assert_eq!(hits, 40, "all of them fit");
    }
}
