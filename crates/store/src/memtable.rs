//! The memtable: the writes of commits since the last flush, by key, versions of one key together.
//!
//! ```text
//!   key \ csn   41      42      43      44      45      46
//!   a          [Put     +42]                    [Put]              two groups
//!   b                          [+43     +44      Image   +46]      base of +43 lies below
//!   c                                           [Delete]
//! ```
//!
//! A chain is a list of groups (see [`crate::group`]), each behind an `Arc`. A reader clones the `Arc`
//! of the one group it needs and then reads without a lock. The writer appends in place if no reader
//! holds the group, else it copies the group first. So no reader ever sees a group change, and no lock
//! is held while the caller's code runs.
//!
//! A memtable may have *late runs* ([`LateRun`]) below it: sorted files of its first commit, which
//! wrote too much for memory. The entries of that commit in the memtable itself are of other keys.
//!
//! ```text
//!   newest   memtable   44 45 46          the small writes of commit 44, and what came after
//!            late run   44 44 44 ...      the others of commit 44
//!            memtable   41 42 43          frozen
//! ```
//!
//! # Invariants
//! * Commits arrive in ascending order, one writer at a time.
//! * Each group but the first of a chain begins with an anchor.
//! * A frozen memtable never changes.

use crate::StoreOptions;
use crate::group::{self, Found, Group, Tag};
use crate::key::{FullKey, Range};
use crate::run::Run;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The versions of one key since the last flush.
#[derive(Clone, Default)]
pub struct Chain {
    groups: SmallVec<[Arc<Group>; 1]>,
    /// Bytes of the image below, where the chain begins with deltas and it has been looked up.
    pub below_len: Option<u32>,
}

impl Chain {
    /// The state at `at` as a group and positions in it; `None` if the chain begins later.
    #[inline]
    pub fn find(&self, at: u64) -> Option<(&Arc<Group>, Found)> {
        let group = match self.groups.last() {
            Some(last) if last.first() <= at => last,
            _ => &self.groups[self.groups.partition_point(|g| g.first() <= at).checked_sub(1)?],
        };
        Some((group, group.find(at)?))
    }

    /// Appends an entry and returns the bytes that memory grew by, about.
    pub fn push(&mut self, csn: u64, tag: Tag, bytes: &[u8]) -> usize {
        let fits = match self.groups.last() {
            Some(last) => {
                tag == Tag::Delta || !group::is_full(last.len(), last.bytes() + bytes.len())
            }
            None => false,
        };
        if fits && let Some(last) = self.groups.last_mut() {
            Arc::make_mut(last).push(csn, tag, bytes);
            return bytes.len() + 4;
        }
        let mut group = Group::with_capacity(bytes.len());
        group.push(csn, tag, bytes);
        self.groups.push(Arc::new(group));
        bytes.len() + size_of::<Group>() + 32
    }

    /// The newest state; `None` only while the chain is being made.
    pub fn tail(&self) -> Option<(&Arc<Group>, &Found)> {
        self.groups.last().map(|g| (g, g.tail()))
    }

    /// True if the newest entry ends the key.
    pub fn is_deleted(&self) -> bool {
        self.tail().is_some_and(|(_, tail)| {
            tail.deltas == 0 && tail.anchor.is_some_and(|a| a.tag == Tag::Delete)
        })
    }

    /// Bytes of the base image of the newest deltas (if known), and of these deltas.
    pub fn weight(&self) -> (Option<usize>, usize) {
        let Some((_, tail)) = self.tail() else { return (None, 0) };
        let image = tail.anchor.map(|a| a.len).or(self.below_len);
        (image.map(|len| len as usize), (tail.body.1 - tail.body.0) as usize)
    }

    /// The groups, oldest first.
    pub fn groups(&self) -> &[Arc<Group>] {
        &self.groups
    }

    fn first(&self) -> u64 {
        self.groups.first().map_or(u64::MAX, |g| g.first())
    }
}

/// All chains since the last flush. Short keys lie in the tree's own nodes.
pub type Map = BTreeMap<FullKey, Chain>;

/// A run of one commit that lies among the memtables. Each key has one entry: a put or a deletion.
#[derive(Clone)]
pub struct LateRun {
    pub run: Arc<Run>,
    /// True if none of its keys had a version before.
    pub is_fresh: bool,
}

/// A memtable.
pub struct Memtable {
    map: RwLock<Map>,
    /// The files that its first commit wrote, oldest first.
    late: Vec<LateRun>,
    bytes: AtomicUsize,
    writes: AtomicUsize,
    first: AtomicU64,
    last: AtomicU64,
}

impl Default for Memtable {
    fn default() -> Self {
        Memtable {
            map: RwLock::default(),
            late: Vec::new(),
            bytes: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
        }
    }
}

/// A key on which a scan of a memtable stands.
pub struct Hit {
    pub key: FullKey,
    /// The state at the commit of the scan, or `None` if the key begins later.
    pub state: Option<(Arc<Group>, Found)>,
}

impl Memtable {
    /// A memtable that begins with what commit `csn` wrote to files.
    pub fn over(csn: u64, late: Vec<LateRun>) -> Memtable {
        let mem = Memtable { late, ..Memtable::default() };
        mem.added(csn, 0, 0);
        mem
    }

    /// Returns the files that the first commit wrote, oldest first.
    pub fn late(&self) -> &[LateRun] {
        &self.late
    }

    /// The chains, for reading. Held briefly: the writer waits.
    pub fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read()
    }

    /// The chains, for the one writer.
    pub fn write(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write()
    }

    /// Counts `writes` writes of commit `csn`, which took `bytes` bytes of memory.
    pub fn added(&self, csn: u64, writes: usize, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.writes.fetch_add(writes, Ordering::Relaxed);
        self.first.fetch_min(csn, Ordering::AcqRel);
        self.last.fetch_max(csn, Ordering::AcqRel);
    }

    /// Bytes held, about.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How full it is by the limits of `options`: from 1 on it must be flushed.
    pub fn fill(&self, options: &StoreOptions) -> f64 {
        let part =
            |held: &AtomicUsize, max: usize| held.load(Ordering::Relaxed) as f64 / max as f64;
        part(&self.bytes, options.memtable_bytes).max(part(&self.writes, options.memtable_writes))
    }

    /// The first commit held; `u64::MAX` where there is none.
    pub fn first(&self) -> u64 {
        self.first.load(Ordering::Acquire)
    }

    /// The last commit held; 0 where there is none.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// True if no commit was added.
    pub fn is_empty(&self) -> bool {
        self.first() == u64::MAX
    }

    /// Up to `count` keys of `range` in order (or in reverse), each with its state at `at`.
    pub fn batch(&self, range: &Range, reverse: bool, at: u64, count: usize, out: &mut Vec<Hit>) {
        let map = self.map.read();
        let bounds = (as_slice(&range.0), as_slice(&range.1));
        let hit = |(key, chain): (&FullKey, &Chain)| Hit {
            key: key.clone(),
            state: chain.find(at).map(|(g, f)| (g.clone(), f)),
        };
        let keys = map.range::<[u8], _>(bounds);
        if reverse {
            out.extend(keys.rev().take(count).map(hit));
        } else {
            out.extend(keys.take(count).map(hit));
        }
    }

    /// Calls `f` with the keys of `range`, in order, that begin at or below `at`. Looks at up to `count` keys, and
    /// returns the last of these where there may be more.
    pub fn keys(
        &self,
        range: &Range,
        at: u64,
        count: usize,
        f: &mut dyn FnMut(&[u8]),
    ) -> Option<Vec<u8>> {
        let map = self.map.read();
        let bounds = (as_slice(&range.0), as_slice(&range.1));
        let mut left = count;
        for (key, chain) in map.range::<[u8], _>(bounds) {
            if chain.first() <= at {
                f(key);
            }
            left -= 1;
            if left == 0 {
                return Some(key.to_vec());
            }
        }
        None
    }

    /// A memtable with the entries above `csn` only, or `None` if there are none.
    pub fn above(&self, csn: u64) -> Option<Memtable> {
        if self.last() <= csn {
            return None;
        }
        let rest = Memtable::default();
        let mut map = rest.write();
        for (key, chain) in self.read().iter() {
            let mut kept = Chain { below_len: chain.below_len, ..Chain::default() };
            let (mut bytes, mut writes) = (0, 0);
            for group in chain.groups().iter().filter(|g| g.tail().csn > csn) {
                for e in group.view().entries().filter(|e| e.csn > csn) {
                    bytes += kept.push(e.csn, e.tag, e.bytes);
                    writes += 1;
                }
            }
            if bytes > 0 {
                rest.writes.fetch_add(writes, Ordering::Relaxed);
                rest.bytes.fetch_add(bytes + key.len() + ENTRY_BYTES, Ordering::Relaxed);
                rest.first.fetch_min(kept.first(), Ordering::AcqRel);
                map.insert(key.clone(), kept);
            }
        }
        drop(map);
        rest.last.store(self.last(), Ordering::Release);
        Some(rest)
    }
}

/// The bytes of a key in the tree beside the key itself.
pub const ENTRY_BYTES: usize = 64;

/// A bound by reference.
pub fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(k) => Bound::Included(k.as_slice()),
        Bound::Excluded(k) => Bound::Excluded(k.as_slice()),
        Bound::Unbounded => Bound::Unbounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain cut into groups answers at every commit, and what a reader holds never changes.
    #[test]
    fn chains_split_into_groups_and_stay_still_for_readers() {
        let mut chain = Chain::default();
        let mut held = Vec::new();
        for csn in 1..=500u64 {
            let tag = if csn % 3 == 1 { Tag::Put } else { Tag::Delta };
            chain.push(csn, tag, format!("value {csn:>40}").as_bytes());
            let (group, found) = chain.find(csn).unwrap();
            held.push((csn, group.clone(), found));
        }
        assert!(chain.groups().len() > 3);
        assert!(chain.find(0).is_none());
        for (csn, group, found) in held {
            assert_eq!(found.csn, csn);
            let again = group.find(csn).unwrap();
            assert_eq!((again.deltas, again.body), (found.deltas, found.body));
            let (_, now) = chain.find(csn).unwrap();
            assert_eq!(now.deltas, ((csn - 1) % 3) as u32);
        }
    }

    /// Cutting a memtable at a commit keeps exactly what is above.
    #[test]
    fn above_keeps_the_rest() {
        let mem = Memtable::default();
        for csn in 1..=10u64 {
            let key = FullKey::from_slice(&[csn as u8 % 3]);
            let bytes = mem.write().entry(key).or_default().push(csn, Tag::Put, &[csn as u8]);
            mem.added(csn, 1, bytes);
        }
        let rest = mem.above(8).unwrap();
        let keys: Vec<_> =
            rest.read().iter().map(|(k, c)| (k[0], c.find(u64::MAX).unwrap().1.csn)).collect();
        assert_eq!((keys, rest.first(), rest.last()), (vec![(0, 9), (1, 10)], 9, 10));
        assert!(mem.above(10).is_none());
    }
}
