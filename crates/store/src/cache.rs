//! The cache of decoded blocks and guides: a byte budget shared by all segments.
//!
//! ```text
//!   (file, block) ──hash──> shard ──map──> slot      the hand of a clock passes over the slots: what was
//!                                    o o x o o       used since its last round stays, what was not goes
//! ```
//!
//! A block that a reader holds stays alive through its `Arc`, cached or not. A block grows when a reader leaves in it what it
//! has derived from its rows ([`Cache::grow`]).
//!
//! # Invariants
//! * A shard's slots never weigh more than its share of the budget.
//! * All that blocks have grown by never weighs more than one part in [`GROWN_PART`] of that.

use crate::block::Block;
use crate::block_layers::Mask;
use crate::columns::ColumnBlock;
use crate::segment::Guide;
use parking_lot::Mutex;
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

/// The bytes by which blocks have grown may take one part in so many of the cache.
const GROWN_PART: usize = 4;

/// Something cached.
#[derive(Clone)]
pub enum Cached {
    Block(Arc<Block>),
    Guide(Arc<Guide>),
    Columns(Arc<ColumnBlock>),
    Part(Arc<[u8]>),
    Mask(Arc<Mask>),
}

impl Cached {
    fn size(&self) -> usize {
        match self {
            Cached::Block(b) => b.size(),
            Cached::Guide(g) => g.size(),
            Cached::Columns(c) => c.size(),
            Cached::Part(p) => p.len(),
            Cached::Mask(m) => m.size(),
        }
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
    /// The bytes by which the value has grown.
    grown: usize,
}

impl Slot {
    fn size(&self) -> usize {
        self.value.size() + self.grown
    }
}

#[derive(Default)]
struct Shard {
    map: HashMap<PartKey, usize, BuildHasherDefault<PartKeyHasher>>,
    slots: Vec<Slot>,
    hand: usize,
    bytes: usize,
    /// Of these, those by which values have grown.
    grown: usize,
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
        let at = shard.slots.len();
        shard.slots.push(Slot { place, value, used: false, grown: 0 });
        shard.map.insert(place, at);
        assert!(shard.bytes <= self.share);
    }

    /// Returns true if values at a place may grow by so many bytes.
    pub fn may_grow(&self, place: PartKey, bytes: usize) -> bool {
        self.shard(place).lock().grown + bytes <= self.share / GROWN_PART
    }

    /// Makes room for so many bytes by which a cached value grows. Returns false, and it may not grow, if it is not there any
    /// more, or if values have grown by their part of the budget.
    pub fn grow(&self, place: PartKey, bytes: usize) -> bool {
        let mut shard = self.shard(place).lock();
        if shard.grown + bytes > self.share / GROWN_PART {
            return false;
        }
        let Some(&at) = shard.map.get(&place) else { return false };
        let slot = &mut shard.slots[at];
        slot.used = true;
        slot.grown += bytes;
        shard.grown += bytes;
        shard.bytes += bytes;
        while shard.bytes > self.share {
            shard.evict();
        }
        true
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
        self.bytes -= gone.size();
        self.grown -= gone.grown;
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

    /// The growth of blocks has its part of the budget, and goes with them.
    #[test]
    fn blocks_grow_within_their_part_of_the_budget() {
        let cache = Cache::new(100_000);
        (0..40).for_each(|at| cache.insert((1, at), block(1000)));
        let grown = (0..40).filter(|at| cache.grow((1, *at), 1000)).count();
        assert_eq!(grown, 25);
        assert!(!cache.grow((1, 99), 10), "it is not cached");
        let before = cache.bytes();
        (0..3).for_each(|_| (0..400).for_each(|at| cache.insert((2, at), block(1000))));
        assert!(cache.bytes() <= 100_000 && before <= 100_000);
        assert!((0..40).all(|at| cache.get((1, at)).is_none()));
        let last =
            (0..400).rev().find(|at| cache.get((2, *at)).is_some()).expect("some are cached");
        assert!(cache.grow((2, last), 20_000), "there is room again, and others make place");
        assert!(cache.bytes() <= 100_000);
        cache.forget(2, 400);
        assert_eq!(cache.bytes(), 0);
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
