//! The reads of a serializable transaction, and the commits it must not have missed.
//!
//! ```text
//!  key
//!   q |        x     w         w = written by a commit after the snapshot
//!   n |  ======[=====w===)     a range that was read: the w inside it aborts the reader
//!   k |  o                     a key that was read
//!   c |        w               written, but not read here: harmless
//!     +--------+-----+-----> csn
//!       snapshot          commit
//! ```
//!
//! A transaction that writes commits only if no other commit between its snapshot and its own
//! number wrote anything that it read. Then it might as well have run at the instant of its number,
//! and the order of the log is a serial order. A transaction that only reads ran at the instant of
//! its snapshot and needs no proof. Reads are remembered as keys and as ranges of keys, so that two
//! transactions which merely use the same table never abort one another. (Backward validation after
//! Kung and Robinson, "On optimistic methods for concurrency control", 1981, with ranges for
//! phantoms.)
//!
//! # Invariants
//! * Ranges are half open, do not overlap and do not touch within one table.
//! * The window holds the keys of every commit above its floor, in order; the floor never passes
//!   the newest visible commit nor the snapshot of a running serializable transaction, unless the
//!   window would outgrow [`WINDOW_BYTES_MAX`]. A transaction that began below the floor can no
//!   longer be validated and is told to try again.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use foldhash::fast::FixedState;
use parking_lot::Mutex;
use store::{Csn, Loaded, Span, TableId, Write};

use crate::locks::{RowHash, RowHasher};

/// Upper end of a range of keys: the first key that is not in it, or none.
type End = Option<Vec<u8>>;

/// The smallest key above `key`.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

/// The half-open form of two bounds.
pub(crate) fn half_open(lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> (Vec<u8>, End) {
    let lower = match lower {
        Bound::Included(key) => key.clone(),
        Bound::Excluded(key) => successor(key),
        Bound::Unbounded => Vec::new(),
    };
    let upper = match upper {
        Bound::Included(key) => Some(successor(key)),
        Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    };
    (lower, upper)
}

/// The keys and ranges that one transaction has read.
#[derive(Default)]
pub(crate) struct ReadSet {
    keys: HashSet<RowHash, FixedState>,
    /// The tables of the keys.
    tables: Vec<TableId>,
    ranges: Vec<(TableId, BTreeMap<Vec<u8>, End>)>,
}

impl ReadSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }

    pub(crate) fn add_key(&mut self, table: TableId, row: RowHash) {
        self.keys.insert(row);
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }

    /// True if something within a range of loaded keys was read, or may have been: of keys that were
    /// read one by one only the table is known.
    fn meets(&self, load: &LoadedRange) -> bool {
        let is_met = |(table, ranges): &(TableId, BTreeMap<Vec<u8>, End>)| {
            let upper = match &load.last {
                Some(last) => Bound::Included(last.as_slice()),
                None => Bound::Unbounded,
            };
            let below = ranges.range::<[u8], _>((Bound::Unbounded, upper)).next_back();
            *table == load.table
                && below.is_some_and(|(_, end)| end.as_ref().is_none_or(|end| *end > load.first))
        };
        self.tables.contains(&load.table) || self.ranges.iter().any(is_met)
    }

    /// Adds [lower, upper), joining it with the ranges that it meets.
    pub(crate) fn add_range(&mut self, table: TableId, mut lower: Vec<u8>, mut upper: End) {
        if upper.as_ref().is_some_and(|upper| *upper <= lower) {
            return;
        }
        let position =
            self.ranges.iter().position(|(other, _)| *other == table).unwrap_or_else(|| {
                self.ranges.push((table, BTreeMap::new()));
                self.ranges.len() - 1
            });
        let ranges = &mut self.ranges[position].1;
        // Of those that start at or before the new end, the ones that reach the new start are met;
        // they stand next to one another, so walking down stops at the first that does not reach.
        loop {
            let bound = match &upper {
                Some(upper) => Bound::Included(upper.as_slice()),
                None => Bound::Unbounded,
            };
            let met = ranges.range::<[u8], _>((Bound::Unbounded, bound)).next_back();
            let Some((start, end)) = met.filter(|(_, end)| reaches(end, &lower)) else { break };
            let (start, end) = (start.clone(), end.clone());
            ranges.remove(&start);
            lower = lower.min(start);
            upper = match (upper, end) {
                (Some(one), Some(other)) => Some(one.max(other)),
                _ => None,
            };
        }
        ranges.insert(lower, upper);
    }

    /// True if `key` was read, by itself or within a range.
    pub(crate) fn contains(&self, hasher: &RowHasher, table: TableId, key: &[u8]) -> bool {
        if !self.keys.is_empty() && self.keys.contains(&hasher.hash(table, key)) {
            return true;
        }
        self.ranges.iter().filter(|(other, _)| *other == table).any(|(_, ranges)| {
            let below =
                ranges.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
            below.is_some_and(|(_, end)| end.as_ref().is_none_or(|end| key < end.as_slice()))
        })
    }
}

/// True if a range that ends at `end` touches one that starts at `lower` above its own start.
fn reaches(end: &End, lower: &[u8]) -> bool {
    end.as_ref().is_none_or(|end| end.as_slice() >= lower)
}

/// Keys held in the window at most, in bytes, before long-running transactions lose their proof.
pub(crate) const WINDOW_BYTES_MAX: usize = 64 << 20;

/// A range within which a commit has loaded keys.
struct LoadedRange {
    table: TableId,
    first: Vec<u8>,
    last: Option<Vec<u8>>,
}

impl From<Span<'_>> for LoadedRange {
    fn from(Span { table, first, last }: Span<'_>) -> LoadedRange {
        LoadedRange { table, first: first.to_vec(), last: last.map(<[u8]>::to_vec) }
    }
}

/// The keys that one commit wrote.
struct Recent {
    csn: Csn,
    bytes: usize,
    keys: Vec<(TableId, Vec<u8>)>,
    loaded: Vec<LoadedRange>,
}

#[derive(Default)]
struct Recents {
    floor: Csn,
    bytes: usize,
    commits: VecDeque<Arc<Recent>>,
}

/// The keys of the commits that a running serializable transaction may have missed.
#[derive(Default)]
pub(crate) struct Window {
    recents: Mutex<Recents>,
}

/// Outcome of a validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing that was read has been written, up to and including this commit.
    ValidUpTo(Csn),
    /// This commit wrote something that was read.
    Missed(Csn),
    /// The window no longer reaches back to the snapshot.
    TooOld,
}

impl Window {
    /// A window of the commits after `floor`.
    pub(crate) fn starting_at(floor: Csn) -> Self {
        let window = Window::default();
        window.recents.lock().floor = floor;
        window
    }

    /// Remembers what `csn` wrote. Called in the order of numbers.
    pub(crate) fn push(&self, csn: Csn, writes: Vec<Write>, loaded: Option<&Loaded>) {
        let loaded = loaded.into_iter().flat_map(Loaded::spans).map(LoadedRange::from).collect();
        let keys: Vec<_> = writes.into_iter().map(|write| (write.table, write.key)).collect();
        let bytes = keys.iter().map(|(_, key)| key.len() + size_of::<(TableId, Vec<u8>)>()).sum();
        let mut recents = self.recents.lock();
        assert!(recents.commits.back().is_none_or(|last| last.csn < csn), "commits come in order");
        recents.bytes += bytes;
        recents.commits.push_back(Arc::new(Recent { csn, bytes, keys, loaded }));
        while recents.bytes > WINDOW_BYTES_MAX && recents.commits.len() > 1 {
            recents.forget_first();
        }
    }

    /// Forgets the commits up to and including `csn`.
    pub(crate) fn prune(&self, csn: Csn) {
        let mut recents = self.recents.lock();
        while recents.commits.front().is_some_and(|first| first.csn <= csn) {
            recents.forget_first();
        }
    }

    /// Checks `reads`, made at snapshot or validated before up to `after`, against what was
    /// committed since. The window is locked only while up to 64 commits are looked up.
    pub(crate) fn validate(&self, reads: &ReadSet, hasher: &RowHasher, mut after: Csn) -> Verdict {
        loop {
            let batch: Vec<_> = {
                let recents = self.recents.lock();
                if recents.floor > after {
                    return Verdict::TooOld;
                }
                let start = recents.commits.partition_point(|recent| recent.csn <= after);
                recents.commits.range(start..).take(64).cloned().collect()
            };
            let Some(last) = batch.last() else {
                return Verdict::ValidUpTo(after);
            };
            let missed = batch.iter().find(|recent| {
                recent.keys.iter().any(|(table, key)| reads.contains(hasher, *table, key))
                    || recent.loaded.iter().any(|load| reads.meets(load))
            });
            if let Some(missed) = missed {
                return Verdict::Missed(missed.csn);
            }
            after = last.csn;
        }
    }

    /// How many commits are held, and the bytes of their keys.
    pub(crate) fn size(&self) -> (usize, usize) {
        let recents = self.recents.lock();
        (recents.commits.len(), recents.bytes)
    }
}

impl Recents {
    fn forget_first(&mut self) {
        if let Some(first) = self.commits.pop_front() {
            self.bytes -= first.bytes;
            self.floor = first.csn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Op;

    const T: TableId = TableId(9);

    fn ranges(set: &ReadSet) -> Vec<(String, String)> {
        let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        let all = set.ranges.iter().flat_map(|(_, ranges)| ranges);
        all.map(|(low, high)| (text(low), high.as_ref().map_or("*".into(), |high| text(high))))
            .collect()
    }

    fn pair(low: &str, high: &str) -> (String, String) {
        (low.into(), high.into())
    }

    /// Ranges that meet become one; those that do not stay apart; an empty one is nothing.
    #[test]
    fn ranges_join_where_they_meet() {
        let mut set = ReadSet::default();
        let mut add = |low: &str, high: &str| {
            set.add_range(T, low.into(), (high != "*").then(|| high.into()));
            ranges(&set)
        };
        assert_eq!(add("c", "c"), []);
        assert_eq!(add("c", "e"), [pair("c", "e")]);
        assert_eq!(add("k", "m"), [pair("c", "e"), pair("k", "m")]);
        assert_eq!(add("e", "f"), [pair("c", "f"), pair("k", "m")]);
        assert_eq!(add("d", "e"), [pair("c", "f"), pair("k", "m")]);
        assert_eq!(add("a", "b"), [pair("a", "b"), pair("c", "f"), pair("k", "m")]);
        assert_eq!(add("b", "l"), [pair("a", "m")]);
        assert_eq!(add("z", "*"), [pair("a", "m"), pair("z", "*")]);
        assert_eq!(add("", "*"), [pair("", "*")]);
    }

    /// Random ranges over a small key space cover exactly what a set of their keys covers.
    #[test]
    fn ranges_cover_what_was_added() {
        let hasher = RowHasher::new(1);
        for seed in 0..300u64 {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut next = |below: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % below
            };
            let (mut set, mut oracle) = (ReadSet::default(), [false; 64]);
            for _ in 0..12 {
                let (low, len) = (next(64), next(9));
                let high = (low + len).min(64);
                set.add_range(T, vec![low as u8], Some(vec![high as u8]));
                oracle[low as usize..high as usize].fill(true);
            }
            for key in 0..64u8 {
                let found = set.contains(&hasher, T, &[key]);
                assert_eq!(found, oracle[key as usize], "seed {seed}, key {key}");
                assert!(!set.contains(&hasher, TableId(1), &[key]));
            }
        }
    }

    fn write(key: &str) -> Vec<Write> {
        vec![Write { table: T, key: key.into(), op: Op::Delete }]
    }

    /// A commit is missed if it wrote a key or range that was read after the snapshot was taken.
    #[test]
    fn validation_finds_what_was_missed() {
        let hasher = RowHasher::new(2);
        let window = Window::starting_at(Csn(10));
        for (csn, key) in [(11, "a"), (12, "k"), (13, "q"), (14, "a")] {
            window.push(Csn(csn), write(key), None);
        }
        let mut reads = ReadSet::default();
        reads.add_key(T, hasher.hash(T, b"a"));
        assert_eq!(window.validate(&reads, &hasher, Csn(10)), Verdict::Missed(Csn(11)));
        assert_eq!(window.validate(&reads, &hasher, Csn(11)), Verdict::Missed(Csn(14)));
        assert_eq!(window.validate(&reads, &hasher, Csn(14)), Verdict::ValidUpTo(Csn(14)));
        let mut reads = ReadSet::default();
        reads.add_range(T, b"l".to_vec(), Some(b"q".to_vec()));
        assert_eq!(window.validate(&reads, &hasher, Csn(10)), Verdict::ValidUpTo(Csn(14)));
        reads.add_range(T, b"q".to_vec(), None);
        assert_eq!(window.validate(&reads, &hasher, Csn(10)), Verdict::Missed(Csn(13)));
        window.prune(Csn(12));
        assert_eq!(window.size().0, 2);
        assert_eq!(window.validate(&reads, &hasher, Csn(11)), Verdict::TooOld);
    }

    /// The window is bounded: a transaction that began too far back is told so, and memory does not
    /// grow.
    #[test]
    fn the_window_is_bounded() {
        let window = Window::starting_at(Csn(0));
        let long = "x".repeat(1 << 20);
        for csn in 1..=100 {
            window.push(Csn(csn), write(&long), None);
        }
        assert!(window.size().1 <= WINDOW_BYTES_MAX);
        let hasher = RowHasher::new(3);
        let mut reads = ReadSet::default();
        reads.add_key(T, hasher.hash(T, b"a"));
        assert_eq!(window.validate(&reads, &hasher, Csn(5)), Verdict::TooOld);
        assert_eq!(window.validate(&reads, &hasher, Csn(90)), Verdict::ValidUpTo(Csn(100)));
    }
}
