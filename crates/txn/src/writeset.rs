//! The uncommitted writes of a transaction: a list of operations with an index on it.
//!
//! ```text
//!   position    0          1          2          3          4
//!   operation   put k      delta q    delta k    delete q   delta k
//!   previous    -          -          0          1          2          of the same key
//!                                     ^ savepoint 2
//!   index       k -> 4, q -> 3
//! ```
//!
//! A savepoint is a position. Rolling back to it removes operations from the end, one by one, and makes
//! the index point at the previous operation of the same key again. So the cost depends on the undone
//! operations, not on the size of the transaction. The state of a key within the transaction is its
//! newest put or delete and the deltas after it. Without a put or delete, the base of the deltas is the
//! state in the snapshot.
//!
//! Operations are also numbered, and numbers are never used again: a cursor does not see operations that
//! were made after it was opened, even if others were rolled back since.
//!
//! # Invariants
//! * The index names exactly the keys that occur in the list, each with its last position.
//! * `previous` is smaller than the position it stands at.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use store::{Op, TableId, Write};

use crate::record::size_of_write;
use crate::turns::{OPERATIONS, Turns};

/// No earlier operation on the key.
const NONE: u32 = u32::MAX;
/// Operations in one transaction at most.
pub(crate) const OPERATIONS_MAX: usize = (u32::MAX - 1) as usize;

struct Operation {
    write: Write,
    previous: u32,
    serial: u32,
}

/// A point between two operations of a transaction. A reader at it sees the operations before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u32);

impl Moment {
    /// After all operations.
    pub(crate) const END: Moment = Moment(u32::MAX);
}

/// A key in the tree. Its first bytes are kept as a number, so that most comparisons compare two numbers. A short
/// key is that number alone.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The first [`HEAD`] bytes, and in the last byte how many of these the key has.
    head: u128,
    rest: Box<[u8]>,
}

/// Bytes of a key that are compared as a number.
const HEAD: usize = 15;

impl Key {
    fn new(key: &[u8]) -> Key {
        let (first, rest) = key.split_at(key.len().min(HEAD));
        let mut head = [0; HEAD + 1];
        head[..first.len()].copy_from_slice(first);
        head[HEAD] = first.len() as u8;
        Key { head: u128::from_be_bytes(head), rest: rest.into() }
    }
}

/// The keys of a table, each with its last position.
type Keys = BTreeMap<Key, u32>;

/// A transaction's own writes.
#[derive(Default)]
pub(crate) struct WriteSet {
    operations: Vec<Operation>,
    index: Vec<(TableId, Keys)>,
    bytes: usize,
    /// The number of the next operation.
    serial: u32,
    /// The last moment that a reader, and the last position that a savepoint, may still use.
    asked: AtomicU32,
    marked: AtomicUsize,
}

/// The transaction's own writes of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own<'a> {
    /// The base of the deltas.
    pub base: OwnBase<'a>,
    /// Oldest first.
    pub deltas: Vec<&'a [u8]>,
}

/// The base of the transaction's own deltas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnBase<'a> {
    /// The state in the snapshot.
    Snapshot,
    /// An image written by the transaction.
    Put(&'a [u8]),
    /// The transaction has deleted the key.
    Deleted,
}

impl WriteSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The number of operations so far; also the position of the next one.
    pub(crate) fn len(&self) -> usize {
        self.operations.len()
    }

    /// Keys and values held, in bytes, with what they cost in a record.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The present moment, for a reader that will not see what is written later.
    pub(crate) fn moment(&self) -> Moment {
        self.asked.fetch_max(self.serial, Ordering::Relaxed);
        Moment(self.serial)
    }

    /// The present position, for a savepoint, and the last one that was marked before.
    pub(crate) fn mark(&self) -> (usize, usize) {
        let before = self.marked.fetch_max(self.operations.len(), Ordering::Relaxed);
        (self.operations.len(), before)
    }

    /// Tells the write set that no rollback will go to the position that [`WriteSet::mark`] has returned, or to a later
    /// one.
    pub(crate) fn unmark(&self, (_, before): (usize, usize)) {
        self.marked.store(before, Ordering::Relaxed);
    }

    /// Returns how many operations lie before the last moment of a reader or the last position of a savepoint,
    /// whichever is later.
    pub(crate) fn divided(&self) -> usize {
        let asked = self.asked.load(Ordering::Relaxed);
        let start = self.operations.partition_point(|operation| operation.serial < asked);
        start.max(self.marked.load(Ordering::Relaxed))
    }

    /// Returns the operations from position [`WriteSet::divided`] on that are the first of their keys, in the order of
    /// tables and keys.
    pub(crate) fn undivided(&self) -> impl Iterator<Item = &Write> {
        let start = self.divided();
        let mut tables: Vec<&(TableId, Keys)> = self.index.iter().collect();
        tables.sort_unstable_by_key(|(table, _)| *table);
        let first = move |last: &u32| {
            let operation = self.chain(*last).last().filter(|first| *first as usize >= start)?;
            Some(&self.operations[operation as usize].write)
        };
        tables.into_iter().flat_map(|(_, keys)| keys.values()).filter_map(first)
    }

    /// Removes the operations of [`WriteSet::undivided`] for which `goes` is true; the others stay in their order.
    pub(crate) fn remove_undivided(&mut self, goes: impl Fn(&Write) -> bool) {
        let mut turns = Turns::new(OPERATIONS);
        let mut stays = |operation: Operation| {
            turns.step();
            let stays = operation.previous != NONE || !goes(&operation.write);
            stays.then_some(operation.write)
        };
        let start = self.divided();
        let mut kept: Vec<Write> = Vec::new();
        if start == 0 {
            // The index is cleared as a whole too.
            self.index.clear();
            self.bytes = 0;
            kept.extend(self.operations.drain(..).filter_map(stays));
        } else {
            while self.operations.len() > start
                && let Some(operation) = self.pop()
            {
                kept.extend(stays(operation));
            }
            kept.reverse();
        }
        kept.into_iter().for_each(|write| self.push(write));
    }

    /// The operations of a key from its last one back, by position.
    fn chain(&self, last: u32) -> impl Iterator<Item = u32> {
        let previous =
            |at: &u32| Some(self.operations[*at as usize].previous).filter(|at| *at != NONE);
        std::iter::successors(Some(last), previous)
    }

    /// Ends the present moment, as an operation does, and returns it.
    pub(crate) fn step(&mut self) -> Moment {
        let now = Moment(self.serial);
        self.serial = self.serial.saturating_add(1).min(u32::MAX - 1);
        now
    }

    /// True if a key of `table` has been written.
    pub(crate) fn touches(&self, table: TableId) -> bool {
        self.table(table).is_some_and(|keys| !keys.is_empty())
    }

    /// The tables of which keys have been written, each once.
    pub(crate) fn tables(&self) -> impl Iterator<Item = TableId> {
        self.index.iter().map(|(table, _)| *table)
    }

    fn table(&self, table: TableId) -> Option<&Keys> {
        self.index.iter().find(|(other, _)| *other == table).map(|(_, keys)| keys)
    }

    fn table_mut(&mut self, table: TableId) -> &mut Keys {
        let at = self.index.iter().position(|(other, _)| *other == table).unwrap_or_else(|| {
            self.index.push((table, Keys::new()));
            self.index.len() - 1
        });
        &mut self.index[at].1
    }

    /// Adds an operation.
    pub(crate) fn push(&mut self, write: Write) {
        assert!(
            self.operations.len() < OPERATIONS_MAX,
            "the caller limits the number of operations"
        );
        let position = self.operations.len() as u32;
        let keys = self.table_mut(write.table);
        let previous = match keys.entry(Key::new(&write.key)) {
            Entry::Occupied(mut last) => last.insert(position),
            Entry::Vacant(place) => {
                place.insert(position);
                NONE
            }
        };
        self.bytes += size_of_write(&write);
        // The largest number is given out again and again: a reader may then see too much, but nothing wrong.
        let Moment(serial) = self.step();
        self.operations.push(Operation { write, previous, serial });
    }

    /// Undoes every operation from `position` on.
    pub(crate) fn truncate(&mut self, position: usize) {
        while self.operations.len() > position {
            drop(self.pop());
        }
        // A savepoint at a removed position is gone too.
        self.marked.fetch_min(position, Ordering::Relaxed);
    }

    /// Takes back the last operation.
    fn pop(&mut self) -> Option<Operation> {
        let operation = self.operations.pop()?;
        let Operation { write, previous, .. } = &operation;
        self.bytes -= size_of_write(write);
        let keys = self.table_mut(write.table);
        if *previous == NONE {
            keys.remove(&Key::new(&write.key));
        } else if let Some(last) = keys.get_mut(&Key::new(&write.key)) {
            *last = *previous;
        }
        Some(operation)
    }

    /// Returns the transaction's own writes of `key` as of a moment; `None` if it had not written the key by then.
    #[inline]
    pub(crate) fn own(&self, table: TableId, key: &[u8], at: Moment) -> Option<Own<'_>> {
        self.table(table)?.get(&Key::new(key)).and_then(|position| self.own_at(*position, at))
    }

    fn own_at(&self, mut position: u32, at: Moment) -> Option<Own<'_>> {
        while self.operations.get(position as usize)?.serial >= at.0 {
            position = self.operations[position as usize].previous;
        }
        let mut deltas = Vec::new();
        let mut base = OwnBase::Snapshot;
        while position != NONE {
            let operation = &self.operations[position as usize];
            match &operation.write.op {
                Op::Put(image) => {
                    base = OwnBase::Put(image);
                    break;
                }
                Op::Delete => {
                    base = OwnBase::Deleted;
                    break;
                }
                Op::Delta(delta) => deltas.push(delta.as_slice()),
                // An erasure changes only the past.
                Op::Erase { .. } => {}
            }
            position = operation.previous;
        }
        deltas.reverse();
        Some(Own { base, deltas })
    }

    /// The keys of `table` within the bounds that were written before a moment, in order, each with its
    /// own writes.
    pub(crate) fn range<'a>(
        &'a self,
        table: TableId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        at: Moment,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], Own<'a>)> + use<'a> {
        let keys = self.table(table).filter(|_| !is_void(lower, upper));
        let range = keys.map(|keys| keys.range((lower.map(Key::new), upper.map(Key::new))));
        let own = move |(_, position): (&'a Key, &'a u32)| {
            let key = &*self.operations[*position as usize].write.key;
            Some((key, self.own_at(*position, at)?))
        };
        range.into_iter().flatten().filter_map(own)
    }

    /// The writes as they are committed: of each key its newest put or delete and the deltas after
    /// it, in the order in which they were made, and what it has erased.
    pub(crate) fn into_writes(self) -> Vec<Write> {
        let key_count: usize = self.index.iter().map(|(_, keys)| keys.len()).sum();
        if key_count == self.operations.len() {
            return self.operations.into_iter().map(|operation| operation.write).collect();
        }
        let mut keep = vec![false; self.operations.len()];
        for mut position in self.index.iter().flat_map(|(_, keys)| keys.values().copied()) {
            while position != NONE {
                keep[position as usize] = true;
                let operation = &self.operations[position as usize];
                position = match operation.write.op {
                    Op::Delta(_) | Op::Erase { .. } => operation.previous,
                    Op::Put(_) | Op::Delete => NONE,
                };
            }
        }
        let is_kept = |operation: &Operation| matches!(operation.write.op, Op::Erase { .. });
        let kept = self
            .operations
            .into_iter()
            .zip(keep)
            .filter(|(operation, keep)| *keep || is_kept(operation));
        kept.map(|(operation, _)| operation.write).collect()
    }
}

/// True if no key can lie within the bounds. (`BTreeMap::range` panics on some of these.)
pub(crate) fn is_void(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Excluded(high)) => low >= high,
        (Bound::Excluded(low), Bound::Included(high)) => low >= high,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Csn;
    use vfs::SimRandom;

    const T: TableId = TableId(4);

    fn write(key: u8, op: Op) -> Write {
        Write { table: T, key: vec![key], op }
    }

    /// The state of a key is its newest put or delete and the deltas after it.
    #[test]
    fn a_key_is_its_last_image_and_the_deltas_after() {
        let mut set = WriteSet::default();
        assert_eq!(set.own(T, b"k", Moment::END), None);
        set.push(write(b'k', Op::Delta(vec![1])));
        set.push(write(b'k', Op::Delta(vec![2])));
        assert_eq!(
            set.own(T, b"k", Moment::END),
            Some(Own { base: OwnBase::Snapshot, deltas: vec![&[1], &[2]] })
        );
        set.push(write(b'k', Op::Delete));
        assert_eq!(
            set.own(T, b"k", Moment::END),
            Some(Own { base: OwnBase::Deleted, deltas: vec![] })
        );
        set.push(write(b'k', Op::Put(vec![9])));
        set.push(write(b'k', Op::Delta(vec![3])));
        assert_eq!(
            set.own(T, b"k", Moment::END),
            Some(Own { base: OwnBase::Put(&[9]), deltas: vec![&[3]] })
        );
        assert_eq!(set.own(TableId(5), b"k", Moment::END), None);
        assert_eq!(
            set.into_writes(),
            [write(b'k', Op::Put(vec![9])), write(b'k', Op::Delta(vec![3]))],
            "what was replaced is not committed"
        );
    }

    /// Keys are in the order of their bytes, however long they are.
    #[test]
    fn keys_are_in_the_order_of_their_bytes() {
        let random = SimRandom::new(7);
        let keys: Vec<Vec<u8>> = (0..400)
            .map(|_| {
                (0..random.below(19))
                    .map(|_| [0, 0, 0, 1, 0xff][random.below(5) as usize])
                    .collect()
            })
            .collect();
        for (one, other) in keys.iter().flat_map(|one| keys.iter().map(move |other| (one, other))) {
            assert_eq!(Key::new(one).cmp(&Key::new(other)), one.cmp(other), "{one:?} {other:?}");
        }
    }

    /// A later write is not seen at an earlier moment, also where it stands in the place of a write
    /// that was rolled back.
    #[test]
    fn a_moment_does_not_see_what_comes_after() {
        let mut set = WriteSet::default();
        set.push(write(b'a', Op::Put(vec![1])));
        set.push(write(b'b', Op::Put(vec![1])));
        let then = set.moment();
        set.push(write(b'a', Op::Delta(vec![2])));
        set.push(write(b'c', Op::Put(vec![2])));
        let keys = |set: &WriteSet| -> Vec<u8> {
            let all = (Bound::Unbounded, Bound::Unbounded);
            set.range(T, all.0, all.1, then).map(|(key, _)| key[0]).collect()
        };
        assert_eq!(keys(&set), b"ab");
        let own = set.own(T, b"a", then);
        assert_eq!(own, Some(Own { base: OwnBase::Put(&[1]), deltas: vec![] }));
        set.truncate(1);
        set.push(write(b'd', Op::Put(vec![3])));
        assert_eq!(keys(&set), b"a");
        assert_eq!(set.own(T, b"d", then), None);
    }

    /// To a piece go the first operations of keys, in the order of keys, and none from before a savepoint; all
    /// else stays as it was.
    #[test]
    fn a_piece_takes_first_operations_alone() {
        for seed in 1..=300u64 {
            let random = SimRandom::new(seed);
            let mut set = WriteSet::default();
            let mut oracle: Vec<Write> = Vec::new();
            let start = random.below(20) as usize;
            for step in 0..40u8 {
                if set.len() == start {
                    set.mark();
                }
                let op = match random.below(4) {
                    0 => Op::Delete,
                    1 => Op::Put(vec![step]),
                    _ => Op::Delta(vec![step]),
                };
                let one = write(random.below(25) as u8, op);
                set.push(one.clone());
                oracle.push(one);
            }
            let goes = |write: &Write| !matches!(write.op, Op::Delta(_));
            let is_first = |at: usize| oracle[..at].iter().all(|one| one.key != oracle[at].key);
            let mut expected: Vec<Write> = Vec::new();
            let mut rest = oracle[..start].to_vec();
            for (at, one) in oracle.iter().enumerate().skip(start) {
                let to = if is_first(at) && goes(one) { &mut expected } else { &mut rest };
                to.push(one.clone());
            }
            expected.sort_by(|one, other| one.key.cmp(&other.key));
            let piece: Vec<Write> = set.undivided().filter(|one| goes(one)).cloned().collect();
            assert_eq!(piece, expected, "seed {seed}");

            set.remove_undivided(goes);
            let stays = || set.operations.iter().map(|operation| &operation.write);
            assert!(stays().eq(&rest), "seed {seed}");
            assert_eq!(set.bytes(), rest.iter().map(size_of_write).sum::<usize>());
            for oracle in [&rest[..], &rest[..start]] {
                set.truncate(oracle.len());
                for key in 0..25u8 {
                    let own = set.own(T, &[key], Moment::END);
                    assert_eq!(own, naive(oracle, key), "seed {seed}, key {key}");
                }
            }
        }
    }

    /// Random writes and rollbacks, against an oracle that keeps a copy of everything at each savepoint.
    #[test]
    fn savepoints_agree_with_copies() {
        for seed in 1..=200u64 {
            let random = SimRandom::new(seed);
            let mut set = WriteSet::default();
            let mut oracle: Vec<Write> = Vec::new();
            let mut savepoints: Vec<(usize, Vec<Write>)> = vec![(0, Vec::new())];
            for step in 0..120u8 {
                match random.below(10) {
                    0 => savepoints.push((set.len(), oracle.clone())),
                    1 => {
                        let at = random.below(savepoints.len() as u64) as usize;
                        savepoints.truncate(at + 1);
                        set.truncate(savepoints[at].0);
                        oracle.clone_from(&savepoints[at].1);
                    }
                    kind => {
                        let op = match kind {
                            2 => Op::Delete,
                            3 | 4 => Op::Put(vec![step]),
                            5 => Op::Erase { from: Csn(0), to: None },
                            _ => Op::Delta(vec![step]),
                        };
                        let one = write(random.below(12) as u8, op);
                        set.push(one.clone());
                        oracle.push(one);
                    }
                }
                for key in 0..12u8 {
                    assert_eq!(
                        set.own(T, &[key], Moment::END),
                        naive(&oracle, key),
                        "seed {seed}, step {step}"
                    );
                }
                let bounds = (Bound::Included(&[3u8][..]), Bound::Excluded(&[9u8][..]));
                let ranged: Vec<_> =
                    set.range(T, bounds.0, bounds.1, Moment::END).map(|(key, _)| key[0]).collect();
                let expected: Vec<_> =
                    (3..9u8).filter(|key| naive(&oracle, *key).is_some()).collect();
                assert_eq!(ranged, expected, "seed {seed}, step {step}");
            }
            assert_eq!(set.bytes(), oracle.iter().map(size_of_write).sum::<usize>());
        }
    }

    fn naive(oracle: &[Write], key: u8) -> Option<Own<'_>> {
        let mut own = None;
        for write in oracle.iter().filter(|write| write.key == [key]) {
            let own = own.get_or_insert(Own { base: OwnBase::Snapshot, deltas: Vec::new() });
            match &write.op {
                Op::Put(image) => *own = Own { base: OwnBase::Put(image), deltas: Vec::new() },
                Op::Delete => *own = Own { base: OwnBase::Deleted, deltas: Vec::new() },
                Op::Delta(delta) => own.deltas.push(delta),
                Op::Erase { .. } => {}
            }
        }
        own
    }
}
