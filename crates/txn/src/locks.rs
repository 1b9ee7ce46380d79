//! Row locks: who may write a key now, who waits for it, and who would wait for ever.
//!
//! A row is known here by a 64-bit hash of (table, key), seeded at random when the engine opens. Two
//! rows that share a hash share a lock: they wait for one another needlessly, about once in 2^32
//! rows held at once, and nothing else goes wrong. In exchange a lock costs no copy of the key.
//!
//! ```text
//!   shard[hash % 64]      row 7f..3a   owner T4   queue T9, T2        waits   T9 -> 7f..3a
//!                         row 02..c1   owner T9   queue -                     T2 -> 7f..3a
//!
//!   would T4 -> 02..c1 close a circle?   02..c1 is T9's · T9 waits for 7f..3a · that is T4's · yes
//! ```
//!
//! Locks are exclusive and every transaction waits for at most one row, so the graph of who waits
//! for whom has one edge out of each node and a circle is found by walking. The transaction whose
//! wait would close the circle is the one that fails (40P01); nobody else is disturbed.
//!
//! # Invariants
//! * A row that nobody owns is not in the table; a row with a queue has an owner.
//! * Rows are handed over in the order of arrival, at the moment the owner lets go.
//! * `waits` is changed and walked under one mutex, so of the waits that form a circle the last one
//!   sees all others. A walk looks up owners shard by shard, which may be stale, but never wrongly
//!   finds a circle: it ends at a row of the walker's own, which cannot change hands; hence the one
//!   who waits for it cannot move; hence what that one owns cannot change hands; and so on back. (The
//!   one exception is the row that is waited for, handed to the walker while it was looking.)
//! * No order of locking can block: `waits` is taken before a shard, a shard before a waiter.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foldhash::fast::FixedState;
use parking_lot::{Condvar, Mutex};
use store::TableId;

/// Identity of a running transaction; never reused while the engine is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TxnId(pub u64);

/// The hash under which a row is locked, and by which read sets know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowHash(pub u64);

/// Hashes rows alike in the lock table, the read sets and their validation.
#[derive(Clone)]
pub(crate) struct RowHasher(FixedState);

impl RowHasher {
    pub(crate) fn new(seed: u64) -> Self {
        RowHasher(FixedState::with_seed(seed))
    }

    #[inline]
    pub(crate) fn hash(&self, table: TableId, key: &[u8]) -> RowHash {
        let mut hasher = self.0.build_hasher();
        hasher.write_u32(table.0);
        hasher.write(key);
        RowHash(hasher.finish())
    }
}

/// How a lock was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// The transaction held it before.
    Already,
    /// It holds it now, and must give it back.
    Now,
}

/// Why a lock was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockFailure {
    /// Waiting would have closed a circle.
    Deadlock,
    /// The time to wait ran out (at once, where it was zero).
    Timeout,
    /// The engine takes no more writes.
    Poisoned,
}

/// How long to wait for a row that another transaction owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Fail at once.
    None,
    /// Fail after so many microseconds.
    Us(u64),
    /// Until it is given, or a circle would close.
    Endless,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitState {
    Waiting,
    Granted,
    Refused,
}

struct Waiter {
    txn: TxnId,
    state: Mutex<WaitState>,
    wake: Condvar,
}

impl Waiter {
    fn settle(&self, state: WaitState) {
        *self.state.lock() = state;
        self.wake.notify_one();
    }
}

struct Row {
    owner: TxnId,
    queue: VecDeque<Arc<Waiter>>,
}

type Shard = Mutex<HashMap<RowHash, Row, FixedState>>;

const SHARD_COUNT: usize = 64;

/// The table of row locks.
pub(crate) struct LockManager {
    shards: Box<[Shard]>,
    waits: Mutex<HashMap<TxnId, RowHash, FixedState>>,
    poisoned: AtomicBool,
}

impl LockManager {
    pub(crate) fn new() -> Self {
        let shard = || Mutex::new(HashMap::with_hasher(FixedState::default()));
        LockManager {
            shards: (0..SHARD_COUNT).map(|_| shard()).collect(),
            waits: Mutex::new(HashMap::with_hasher(FixedState::default())),
            poisoned: AtomicBool::new(false),
        }
    }

    fn shard(&self, row: RowHash) -> &Shard {
        &self.shards[row.0 as usize % SHARD_COUNT]
    }

    /// Gives `row` to `txn`, waiting as long as `patience` says where another owns it.
    #[inline]
    pub(crate) fn lock(
        &self,
        txn: TxnId,
        row: RowHash,
        patience: Patience,
    ) -> Result<Acquired, LockFailure> {
        match self.try_lock(txn, row) {
            Some(acquired) => Ok(acquired),
            None if patience == Patience::None => Err(LockFailure::Timeout),
            None => self.wait(txn, row, patience),
        }
    }

    fn try_lock(&self, txn: TxnId, row: RowHash) -> Option<Acquired> {
        use std::collections::hash_map::Entry;
        match self.shard(row).lock().entry(row) {
            Entry::Vacant(slot) => {
                slot.insert(Row { owner: txn, queue: VecDeque::new() });
                Some(Acquired::Now)
            }
            Entry::Occupied(held) => (held.get().owner == txn).then_some(Acquired::Already),
        }
    }

    #[cold]
    fn wait(&self, txn: TxnId, row: RowHash, patience: Patience) -> Result<Acquired, LockFailure> {
        let waiter =
            Arc::new(Waiter { txn, state: Mutex::new(WaitState::Waiting), wake: Condvar::new() });
        {
            let mut waits = self.waits.lock();
            if self.poisoned.load(Ordering::Acquire) {
                return Err(LockFailure::Poisoned);
            }
            if let Some(acquired) = self.enqueue(txn, row, &waiter) {
                return Ok(acquired);
            }
            waits.insert(txn, row);
            if self.closes_circle(&waits, txn, row) {
                waits.remove(&txn);
                // Not in the queue any more: the owner has let go since we joined it, and the row
                // that the walk found to be ours is this one.
                let given = !self.leave(row, &waiter);
                return if given { Ok(Acquired::Now) } else { Err(LockFailure::Deadlock) };
            }
        }
        let timed_out = self.sleep(&waiter, patience);
        self.waits.lock().remove(&txn);
        if timed_out && self.leave(row, &waiter) {
            return Err(LockFailure::Timeout);
        }
        let state = *waiter.state.lock();
        match state {
            WaitState::Granted => Ok(Acquired::Now),
            WaitState::Refused => {
                self.leave(row, &waiter);
                Err(LockFailure::Poisoned)
            }
            WaitState::Waiting => unreachable!("a waiter wakes settled, or has left the queue"),
        }
    }

    /// Joins the queue of `row`, unless the row came free or is the transaction's own.
    fn enqueue(&self, txn: TxnId, row: RowHash, waiter: &Arc<Waiter>) -> Option<Acquired> {
        let mut shard = self.shard(row).lock();
        match shard.get_mut(&row) {
            None => {
                shard.insert(row, Row { owner: txn, queue: VecDeque::new() });
                Some(Acquired::Now)
            }
            Some(held) if held.owner == txn => Some(Acquired::Already),
            Some(held) => {
                held.queue.push_back(Arc::clone(waiter));
                None
            }
        }
    }

    /// True where `txn`, waiting for `row`, waits in the end for itself.
    fn closes_circle(
        &self,
        waits: &HashMap<TxnId, RowHash, FixedState>,
        txn: TxnId,
        mut row: RowHash,
    ) -> bool {
        for _ in 0..=waits.len() {
            let Some(owner) = self.shard(row).lock().get(&row).map(|held| held.owner) else {
                return false;
            };
            if owner == txn {
                return true;
            }
            match waits.get(&owner) {
                // The owner was given this very row and has not yet woken: it waits for nothing.
                Some(next) if *next == row => return false,
                Some(next) => row = *next,
                None => return false,
            }
        }
        false
    }

    fn sleep(&self, waiter: &Waiter, patience: Patience) -> bool {
        let mut state = waiter.state.lock();
        match patience {
            Patience::Us(us) => {
                let limit = Duration::from_micros(us);
                waiter
                    .wake
                    .wait_while_for(&mut state, |state| *state == WaitState::Waiting, limit)
                    .timed_out()
            }
            Patience::Endless | Patience::None => {
                waiter.wake.wait_while(&mut state, |state| *state == WaitState::Waiting);
                false
            }
        }
    }

    /// Takes a waiter out of the queue of `row`; false where it is not there (it was given the row).
    fn leave(&self, row: RowHash, waiter: &Arc<Waiter>) -> bool {
        let mut shard = self.shard(row).lock();
        let Some(held) = shard.get_mut(&row) else { return false };
        let before = held.queue.len();
        held.queue.retain(|other| !Arc::ptr_eq(other, waiter));
        held.queue.len() < before
    }

    /// Lets go of `rows`, all of them `txn`'s, and hands each to the first who waits for it.
    pub(crate) fn unlock(&self, txn: TxnId, rows: &[RowHash]) {
        for row in rows {
            let mut shard = self.shard(*row).lock();
            let held = shard.get_mut(row).expect("a locked row is in the table");
            assert_eq!(held.owner, txn, "only the owner lets go of a row");
            match held.queue.pop_front() {
                Some(next) => {
                    held.owner = next.txn;
                    next.settle(WaitState::Granted);
                }
                None => {
                    shard.remove(row);
                }
            }
        }
    }

    /// Refuses everyone who waits now or later. Owners keep what they have until they let go.
    pub(crate) fn poison(&self) {
        let waits = self.waits.lock();
        self.poisoned.store(true, Ordering::Release);
        for row in waits.values() {
            let mut shard = self.shard(*row).lock();
            if let Some(held) = shard.get_mut(row) {
                for waiter in held.queue.drain(..) {
                    waiter.settle(WaitState::Refused);
                }
            }
        }
    }

    /// How many rows are locked, and how many transactions wait for one.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let mut counts = (0, 0);
        for shard in &self.shards {
            let shard = shard.lock();
            counts.0 += shard.len();
            counts.1 += shard.values().map(|row| row.queue.len()).sum::<usize>();
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    const A: RowHash = RowHash(1);
    const B: RowHash = RowHash(2);
    const C: RowHash = RowHash(65); // in the shard of A

    fn wait_until(condition: impl Fn() -> bool) {
        while !condition() {
            thread::yield_now();
        }
    }

    /// A row has one owner; taking it again is free; without patience others are turned away.
    #[test]
    fn a_row_has_one_owner() {
        let locks = LockManager::new();
        assert_eq!(locks.lock(TxnId(1), A, Patience::None), Ok(Acquired::Now));
        assert_eq!(locks.lock(TxnId(1), A, Patience::None), Ok(Acquired::Already));
        assert_eq!(locks.lock(TxnId(2), A, Patience::None), Err(LockFailure::Timeout));
        assert_eq!(locks.lock(TxnId(2), C, Patience::None), Ok(Acquired::Now));
        locks.unlock(TxnId(1), &[A]);
        assert_eq!(locks.lock(TxnId(2), A, Patience::Us(1)), Ok(Acquired::Now));
        locks.unlock(TxnId(2), &[A, C]);
        assert_eq!(locks.counts(), (0, 0));
    }

    /// Those who wait are served in the order in which they came.
    #[test]
    fn waiters_are_served_in_order() {
        let locks = Arc::new(LockManager::new());
        locks.lock(TxnId(0), A, Patience::None).unwrap();
        let (served, order) = mpsc::channel();
        let mut threads = Vec::new();
        for id in 1..=5 {
            let (theirs, served) = (Arc::clone(&locks), served.clone());
            threads.push(thread::spawn(move || {
                theirs.lock(TxnId(id), A, Patience::Endless).unwrap();
                served.send(id).unwrap();
                theirs.unlock(TxnId(id), &[A]);
            }));
            wait_until(|| locks.counts().1 == id as usize);
        }
        locks.unlock(TxnId(0), &[A]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!(locks.counts(), (0, 0));
    }

    /// A circle of three is found by the one who closes it; when that one gives up, the rest go on.
    #[test]
    fn a_circle_is_found_and_broken() {
        let locks = Arc::new(LockManager::new());
        for (id, row) in [(1, A), (2, B), (3, C)] {
            locks.lock(TxnId(id), row, Patience::None).unwrap();
        }
        let wait = |id, row, own: RowHash| {
            let locks = Arc::clone(&locks);
            thread::spawn(move || {
                let got = locks.lock(TxnId(id), row, Patience::Endless);
                locks.unlock(TxnId(id), &[own]);
                if got == Ok(Acquired::Now) {
                    locks.unlock(TxnId(id), &[row]);
                }
                got
            })
        };
        let first = wait(1, B, A);
        wait_until(|| locks.counts().1 == 1);
        let second = wait(2, C, B);
        wait_until(|| locks.counts().1 == 2);
        assert_eq!(locks.lock(TxnId(3), A, Patience::Endless), Err(LockFailure::Deadlock));
        locks.unlock(TxnId(3), &[C]);
        assert_eq!(first.join().unwrap(), Ok(Acquired::Now));
        assert_eq!(second.join().unwrap(), Ok(Acquired::Now));
        assert_eq!(locks.counts(), (0, 0));
    }

    /// A long queue for one row is no circle.
    #[test]
    fn a_queue_is_no_circle() {
        let locks = Arc::new(LockManager::new());
        locks.lock(TxnId(1), A, Patience::None).unwrap();
        locks.lock(TxnId(2), B, Patience::None).unwrap();
        let theirs = Arc::clone(&locks);
        let waiting = thread::spawn(move || theirs.lock(TxnId(2), A, Patience::Endless));
        wait_until(|| locks.counts().1 == 1);
        assert_eq!(locks.lock(TxnId(3), A, Patience::Us(1_000)), Err(LockFailure::Timeout));
        locks.unlock(TxnId(1), &[A]);
        assert_eq!(waiting.join().unwrap(), Ok(Acquired::Now));
        locks.unlock(TxnId(2), &[A, B]);
        assert_eq!(locks.counts(), (0, 0));
    }

    /// Poisoning wakes everyone who waits, and turns away whoever would wait later.
    #[test]
    fn poison_wakes_all() {
        let locks = Arc::new(LockManager::new());
        locks.lock(TxnId(1), A, Patience::None).unwrap();
        let threads: Vec<_> = (2..6)
            .map(|id| {
                let locks = Arc::clone(&locks);
                thread::spawn(move || locks.lock(TxnId(id), A, Patience::Endless))
            })
            .collect();
        wait_until(|| locks.counts().1 == 4);
        locks.poison();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Err(LockFailure::Poisoned));
        }
        assert_eq!(locks.lock(TxnId(9), A, Patience::Endless), Err(LockFailure::Poisoned));
        locks.unlock(TxnId(1), &[A]);
        assert_eq!(locks.counts(), (0, 0));
    }

    /// Threads that take random rows in random order never hang: each circle is found.
    #[test]
    fn no_hang_under_random_locking() {
        let locks = Arc::new(LockManager::new());
        let deadlocks: usize = thread::scope(|scope| {
            let run = |thread: u64| {
                let locks = Arc::clone(&locks);
                move || {
                    let mut random = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                    let mut deadlocks = 0;
                    for round in 0..2_000 {
                        let txn = TxnId(round * 8 + thread);
                        let mut held = Vec::new();
                        for _ in 0..4 {
                            random ^= random << 13;
                            random ^= random >> 7;
                            random ^= random << 17;
                            let row = RowHash(random % 6);
                            match locks.lock(txn, row, Patience::Endless) {
                                Ok(Acquired::Now) => held.push(row),
                                Ok(Acquired::Already) => {}
                                Err(failure) => {
                                    assert_eq!(failure, LockFailure::Deadlock);
                                    deadlocks += 1;
                                    break;
                                }
                            }
                            thread::yield_now();
                        }
                        locks.unlock(txn, &held);
                    }
                    deadlocks
                }
            };
            let threads: Vec<_> = (0..8).map(|id| scope.spawn(run(id))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(deadlocks > 0, "six rows and eight threads must meet");
        assert_eq!(locks.counts(), (0, 0));
    }
}
