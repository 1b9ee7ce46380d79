//! Locks of rows and relations, their queues, and the detection of deadlocks.
//!
//! A row is identified by a 64-bit hash of (table, key), seeded at random when the engine opens, and a
//! relation by a hash of its number. Two rows with the same hash share a lock: transactions may then
//! wait for one another needlessly, but nothing else goes wrong. With 2^32 locks held at once, about one
//! pair shares a hash. In return a lock needs no copy of the key.
//!
//! ```text
//!   shard[hash % 64]    row 7f..3a   T4 UPDATE                  queue T9 UPDATE, T2 KEY SHARE
//!                       row 02..c1   T9 UPDATE                  queue -
//!                       row 55..10   T4 KEY SHARE, T7 KEY SHARE queue T8 UPDATE
//!                                                                  waits   T9 -> 7f..3a   T8 -> 55..10
//!   would T4 -> 02..c1 close a cycle?
//!   02..c1 is T9's · T9 waits for 7f..3a · that is T4's · yes
//! ```
//!
//! Each lock has owners (nearly always one), each with the modes that it holds ([`mode`]), and a queue of
//! waiters. A transaction waits for one lock at a time, so a cycle is found by walking from waits to
//! owners. The transaction whose wait would close the cycle fails (40P01); the others go on.
//!
//! # Invariants
//! * A lock without an owner is not in the table.
//! * When an owner releases a lock, the lock manager gives it at once to all compatible waiters at the
//!   front of the queue. Waiters that already own the lock in a weaker mode stand at the front.
//! * `waits` is changed and walked under one mutex, so the last of the waits that form a cycle sees all
//!   others. A walk looks up owners shard by shard and still never reports a false cycle. Every
//!   transaction that it passes has been waiting since before the walk began, so it has released
//!   nothing. The walk ends at a lock that the walker owns and keeps meanwhile. So the transaction that
//!   waits for this lock cannot move, nor can the one that waits for that transaction, and so on back. A
//!   transaction that got its lock and has not yet woken is in no queue any more, so the walk does not
//!   follow it.
//! * The order of mutexes is fixed, so they cannot deadlock: `waits`, then a shard, then a waiter.
//!
//! The modes in which queries and changes of rows lock relations are kept elsewhere, until a
//! transaction asks for a stronger mode ([`readers`]).

mod mode;
mod readers;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foldhash::fast::FixedState;
use parking_lot::{Condvar, Mutex};
use store::TableId;
use vfs::Clock;

pub(crate) use mode::Modes;
pub use mode::{RelationLock, RowLock};
pub(crate) use readers::Noting;
pub use readers::Reader;
use readers::Readers;
use table::{Lock, Locks};

/// Identity of a running transaction; never reused while the engine is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxnId(pub u64);

/// The hash of a row in the lock table and in read sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowHash(pub u64);

/// Hashes rows alike in the lock table, the read sets and their validation.
#[derive(Clone)]
pub(crate) struct RowHasher(FixedState);

/// The table number in the hash of a relation's lock.
const RELATIONS: u32 = u32::MAX;

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

    pub(crate) fn hash_relation(&self, relation: u32) -> RowHash {
        let mut hasher = self.0.build_hasher();
        hasher.write_u32(RELATIONS);
        hasher.write_u32(relation);
        RowHash(hasher.finish())
    }
}

/// The result of a request for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// The transaction held it before, in this mode or a stronger one.
    Already,
    /// The transaction holds it now, and must release it.
    Now,
}

/// A lock that a transaction has to release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub row: RowHash,
    pub modes: Modes,
}

/// The reason why a lock was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockFailure {
    /// Waiting would have closed a cycle.
    Deadlock,
    /// The lock timeout ran out.
    Timeout,
    /// Other transactions have it, and the caller asked not to wait.
    Busy,
    /// Another thread has interrupted the wait.
    Interrupted,
    /// The engine takes no more writes.
    Poisoned,
}

/// The reason why a transaction must not wait any longer for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOver {
    /// The wait was interrupted.
    Interrupted,
    /// The owner of the lock waits for the waiter, in a way that the engine does not see.
    Deadlock,
}

/// A callback that decides whether a wait for a lock goes on. A waiting transaction calls it every ten
/// milliseconds with the transactions that it waits for.
pub type WaitWatch = Box<dyn Fn(&[TxnId]) -> Result<(), WaitOver> + Send + Sync>;

/// How often a [`WaitWatch`] is called, in microseconds.
const WATCH_EVERY_US: u64 = 10_000;

/// How long to wait for a lock that other transactions own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitPolicy<'a> {
    /// Fail at once.
    None,
    /// Fail after so many microseconds (`None`: never), or when interrupted.
    Waits { us: Option<u64>, interrupt: Option<&'a AtomicBool> },
}

impl WaitPolicy<'_> {
    #[cfg(test)]
    pub(crate) const ENDLESS: WaitPolicy<'static> = WaitPolicy::Waits { us: None, interrupt: None };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitState {
    Waiting,
    Granted,
    Interrupted,
    Refused,
}

/// The way to notify a waiter that its wait is over.
enum Wake {
    /// A thread sleeps on it.
    Thread(Condvar),
    /// No thread sleeps: the callback is called.
    Call(Box<dyn Fn() + Send + Sync>),
}

struct Waiter {
    txn: TxnId,
    modes: Modes,
    /// When it began to wait, in microseconds since 1970.
    since_us: u64,
    state: Mutex<WaitState>,
    wake: Wake,
}

impl Waiter {
    fn new(txn: TxnId, modes: Modes, since_us: u64, wake: Wake) -> Arc<Waiter> {
        Arc::new(Waiter { txn, modes, since_us, state: Mutex::new(WaitState::Waiting), wake })
    }

    fn settle(&self, state: WaitState) {
        *self.state.lock() = state;
        match &self.wake {
            Wake::Thread(sleeper) => {
                sleeper.notify_one();
            }
            Wake::Call(call) => call(),
        }
    }
}

/// The place of a transaction in the queue of a row, without a sleeping thread.
pub(crate) struct Queued {
    row: RowHash,
    waiter: Arc<Waiter>,
}

type Shard = Mutex<Locks>;

const SHARD_COUNT: usize = 64;

type Waits = HashMap<TxnId, RowHash, FixedState>;

/// The table of locks.
pub(crate) struct LockManager {
    shards: Box<[Shard]>,
    waits: Mutex<Waits>,
    readers: Readers,
    poisoned: AtomicBool,
    watch: OnceLock<WaitWatch>,
    clock: Arc<dyn Clock>,
}

/// A relation that a transaction has locked, or waits to lock: [`LockManager::claims`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationClaim {
    /// The number of the relation.
    pub relation: u32,
    /// The transaction that has the lock or waits for it.
    pub txn: TxnId,
    /// How strong it is: one claim for each mode.
    pub mode: RelationLock,
    /// When the wait for it began, in microseconds since 1970; `None` if it is granted.
    pub waits_since_us: Option<u64>,
    /// True if the lock is only in the list of its session, and not in the table of locks.
    pub is_noted: bool,
}

/// A transaction that waits for a lock: [`LockManager::all_waits`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The waiting transaction.
    pub txn: TxnId,
    /// True if it waits for a relation; it waits for a row otherwise.
    pub is_relation: bool,
    /// When it began to wait, in microseconds since 1970.
    pub since_us: u64,
    /// The transactions that it waits for.
    pub blockers: Vec<TxnId>,
}

impl LockManager {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        LockManager {
            clock,
            shards: (0..SHARD_COUNT).map(|_| Shard::default()).collect(),
            waits: Mutex::new(HashMap::with_hasher(FixedState::default())),
            readers: Readers::new(),
            poisoned: AtomicBool::new(false),
            watch: OnceLock::new(),
        }
    }

    /// Makes every transaction that sleeps from now on ask `watch`; false if there is a watch
    /// already.
    pub(crate) fn set_watch(&self, watch: WaitWatch) -> bool {
        self.watch.set(watch).is_ok()
    }

    fn shard(&self, row: RowHash) -> &Shard {
        &self.shards[row.0 as usize % SHARD_COUNT]
    }

    /// Gives `row` to `txn` in these modes. If other transactions hold conflicting modes, it waits as long
    /// as `wait_policy` allows.
    #[inline]
    pub(crate) fn lock(
        &self,
        txn: TxnId,
        row: RowHash,
        modes: Modes,
        wait_policy: WaitPolicy<'_>,
    ) -> Result<Acquired, LockFailure> {
        match (self.try_lock(txn, row, modes), wait_policy) {
            (Some(acquired), _) => Ok(acquired),
            (None, WaitPolicy::None) => Err(LockFailure::Busy),
            (None, WaitPolicy::Waits { us, interrupt }) => {
                self.wait(txn, row, modes, us, interrupt)
            }
        }
    }

    fn try_lock(&self, txn: TxnId, row: RowHash, modes: Modes) -> Option<Acquired> {
        self.shard(row).lock().try_give(row, txn, modes)
    }

    /// Gives `modes` to `txn`; no other transaction can hold a conflicting mode.
    fn give(&self, txn: TxnId, row: RowHash, modes: Modes) {
        self.shard(row).lock().give(row, txn, modes);
    }

    /// Returns the transactions that have locked these relations, or wait to: readers too. Each
    /// list and each lock is looked at once, however many relations there are.
    pub(crate) fn claims(
        &self,
        relations: &HashMap<RowHash, u32, FixedState>,
    ) -> Vec<RelationClaim> {
        let mut noted = Vec::new();
        self.noted(|txn, row, modes| {
            if let Some(relation) = relations.get(&row) {
                noted.push((*relation, txn, modes));
            }
        });
        let mut claims = Vec::new();
        let mut known = HashSet::<(u32, TxnId, u16), FixedState>::default();
        let mut claim = |(relation, txn, modes): (u32, TxnId, Modes),
                         since_us: Option<u64>,
                         is_noted: bool| {
            for mode in modes.relation_locks() {
                // A lock may have been moved since its list was looked at.
                let bits = Modes::from(mode).bits();
                if since_us.is_some() || known.insert((relation, txn, bits)) {
                    let waits_since_us = since_us;
                    claims.push(RelationClaim { relation, txn, mode, waits_since_us, is_noted });
                }
            }
        };
        for (row, relation) in relations {
            self.shard(*row).lock().look(*row, |lock| {
                for (txn, modes) in lock.owners() {
                    claim((*relation, txn, modes), None, false);
                }
                for waiter in lock.queue() {
                    claim((*relation, waiter.txn, waiter.modes), Some(waiter.since_us), false);
                }
            });
        }
        noted.into_iter().for_each(|noted| claim(noted, None, true));
        claims
    }

    /// Returns the transactions that wait now, for rows and for relations. The answer is true of
    /// each transaction by itself: others go on meanwhile.
    pub(crate) fn all_waits(&self) -> Vec<LockWait> {
        let mut rows: Vec<RowHash> = self.waits.lock().values().copied().collect();
        rows.sort_unstable_by_key(|row| row.0);
        rows.dedup();
        let mut found = Vec::new();
        for row in rows {
            self.shard(row).lock().look(row, |lock| {
                let waits = lock.queue().map(|waiter| LockWait {
                    txn: waiter.txn,
                    is_relation: waiter.modes.queues_fairly(),
                    since_us: waiter.since_us,
                    blockers: blockers(lock, waiter),
                });
                found.extend(waits);
            });
        }
        found
    }

    #[cold]
    fn wait(
        &self,
        txn: TxnId,
        row: RowHash,
        modes: Modes,
        us: Option<u64>,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Acquired, LockFailure> {
        let waiter = Waiter::new(txn, modes, self.clock.now_us(), Wake::Thread(Condvar::new()));
        if let Some(acquired) = self.join(row, &waiter, interrupt)? {
            return Ok(acquired);
        }
        let Some(watch) = self.watch.get() else {
            let timed_out = self.sleep(&waiter, us);
            return self.part(row, &waiter, timed_out);
        };
        let mut left_us = us;
        loop {
            let slice_us = left_us.map_or(WATCH_EVERY_US, |left| left.min(WATCH_EVERY_US));
            let timed_out = self.sleep(&waiter, Some(slice_us));
            left_us = left_us.map(|left| left - slice_us);
            if !timed_out || left_us == Some(0) {
                return self.part(row, &waiter, timed_out);
            }
            if let Err(over) = watch(&self.blockers(txn, row)) {
                return match (self.part(row, &waiter, true), over) {
                    (Err(LockFailure::Timeout), WaitOver::Interrupted) => {
                        Err(LockFailure::Interrupted)
                    }
                    (Err(LockFailure::Timeout), WaitOver::Deadlock) => Err(LockFailure::Deadlock),
                    (settled, _) => settled,
                };
            }
        }
    }

    /// Joins the queue of `row` without sleeping: `call` is called when the wait is over.
    /// [`LockManager::leave_queue`] then returns the result. Fails with `Busy` if the lock is free.
    pub(crate) fn queue_up(
        &self,
        txn: TxnId,
        row: RowHash,
        modes: Modes,
        call: Box<dyn Fn() + Send + Sync>,
    ) -> Result<Queued, LockFailure> {
        let waiter = Waiter::new(txn, modes, self.clock.now_us(), Wake::Call(call));
        match self.join(row, &waiter, None)? {
            None => {}
            Some(Acquired::Now) => waiter.settle(WaitState::Granted),
            Some(Acquired::Already) => return Err(LockFailure::Busy),
        }
        Ok(Queued { row, waiter })
    }

    /// Leaves a queue and returns the result of the wait; fails with `Timeout` if it was not over.
    pub(crate) fn leave_queue(&self, queued: &Queued) -> Result<Held, LockFailure> {
        self.part(queued.row, &queued.waiter, true)?;
        Ok(Held { row: queued.row, modes: queued.waiter.modes })
    }

    /// Joins the queue of `row`, unless the lock is free by now, or waiting would close a cycle.
    fn join(
        &self,
        row: RowHash,
        waiter: &Arc<Waiter>,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Option<Acquired>, LockFailure> {
        let txn = waiter.txn;
        let mut waits = self.waits.lock();
        if self.poisoned.load(Ordering::Acquire) {
            return Err(LockFailure::Poisoned);
        }
        if interrupt.is_some_and(|flag| flag.load(Ordering::Acquire)) {
            return Err(LockFailure::Interrupted);
        }
        if let Some(acquired) = self.enqueue(row, waiter) {
            return Ok(Some(acquired));
        }
        waits.insert(txn, row);
        if self.closes_cycle(&waits, txn, row) {
            waits.remove(&txn);
            // Not in the queue any more: the owner has released the lock since.
            let given = !self.leave(row, waiter);
            return if given { Ok(Some(Acquired::Now)) } else { Err(LockFailure::Deadlock) };
        }
        Ok(None)
    }

    /// Ends a wait: leaves the queue if the time has run out, else returns the result of the wait.
    fn part(
        &self,
        row: RowHash,
        waiter: &Arc<Waiter>,
        timed_out: bool,
    ) -> Result<Acquired, LockFailure> {
        self.waits.lock().remove(&waiter.txn);
        if timed_out && self.leave(row, waiter) {
            return Err(LockFailure::Timeout);
        }
        let state = *waiter.state.lock();
        match state {
            WaitState::Granted => Ok(Acquired::Now),
            WaitState::Interrupted => Err(LockFailure::Interrupted),
            WaitState::Refused => Err(LockFailure::Poisoned),
            WaitState::Waiting => unreachable!("a wait ends settled, or has left the queue"),
        }
    }

    /// Puts a waiter into the queue of `row`, unless the lock is free by now.
    fn enqueue(&self, row: RowHash, waiter: &Arc<Waiter>) -> Option<Acquired> {
        let mut shard = self.shard(row).lock();
        if let Some(acquired) = shard.try_give(row, waiter.txn, waiter.modes) {
            return Some(acquired);
        }
        let lock = shard.crowded(row);
        let wants_more = !lock.owned_by(waiter.txn).is_empty();
        let queue = &mut lock.crowd.get_or_insert_default().queue;
        if wants_more {
            queue.push_front(Arc::clone(waiter));
        } else {
            queue.push_back(Arc::clone(waiter));
        }
        None
    }

    /// Returns the transactions that `txn` waits for in the queue of `row`: none if it has left the
    /// queue.
    fn blockers(&self, txn: TxnId, row: RowHash) -> Vec<TxnId> {
        let blockers = self.shard(row).lock().look(row, |lock| {
            let waiter = lock.queue().find(|waiter| waiter.txn == txn)?;
            Some(blockers(lock, waiter))
        });
        blockers.flatten().unwrap_or_default()
    }

    /// Returns the transactions that `txn` waits for now: none if it does not wait.
    pub(crate) fn waits_for(&self, txn: TxnId) -> Vec<TxnId> {
        let waits = self.waits.lock();
        waits.get(&txn).map_or_else(Vec::new, |row| self.blockers(txn, *row))
    }

    /// True if `txn`, waiting for `row`, waits in the end for itself.
    fn closes_cycle(&self, waits: &Waits, txn: TxnId, row: RowHash) -> bool {
        let mut passed: HashSet<TxnId, FixedState> = HashSet::default();
        let mut ways = vec![(txn, row)];
        while let Some((waiter, row)) = ways.pop() {
            for blocker in self.blockers(waiter, row) {
                if blocker == txn {
                    return true;
                }
                if passed.insert(blocker)
                    && let Some(row) = waits.get(&blocker)
                {
                    ways.push((blocker, *row));
                }
            }
        }
        false
    }

    /// Sleeps until the wait is over; true if the time ran out before.
    fn sleep(&self, waiter: &Waiter, us: Option<u64>) -> bool {
        let Wake::Thread(sleeper) = &waiter.wake else { return true };
        let mut state = waiter.state.lock();
        let waits = |state: &mut WaitState| *state == WaitState::Waiting;
        match us.map(Duration::from_micros) {
            Some(limit) => sleeper.wait_while_for(&mut state, waits, limit).timed_out(),
            None => {
                sleeper.wait_while(&mut state, waits);
                false
            }
        }
    }

    /// Takes a waiter out of the queue of `row`, and gives the lock to waiters that waited only for this
    /// one; false if it is not in the queue because it was given the lock.
    fn leave(&self, row: RowHash, waiter: &Arc<Waiter>) -> bool {
        let mut shard = self.shard(row).lock();
        let Some(lock) = shard.get_mut(row) else { return false };
        let Some(crowd) = &mut lock.crowd else { return false };
        let before = crowd.queue.len();
        crowd.queue.retain(|other| !Arc::ptr_eq(other, waiter));
        let was_there = crowd.queue.len() < before;
        lock.hand_over();
        was_there
    }

    /// Releases the locks in `held` of `txn`, and hands each to its waiters.
    pub(crate) fn unlock(&self, txn: TxnId, held: &[Held]) {
        for Held { row, modes } in held.iter().rev() {
            self.shard(*row).lock().take(*row, txn, *modes);
        }
    }

    /// Interrupts the wait of `txn`, if it waits.
    pub(crate) fn interrupt(&self, txn: TxnId) {
        let waits = self.waits.lock();
        let Some(row) = waits.get(&txn) else { return };
        let mut shard = self.shard(*row).lock();
        let Some(lock) = shard.get_mut(*row) else { return };
        let Some(crowd) = &mut lock.crowd else { return };
        if let Some(at) = crowd.queue.iter().position(|waiter| waiter.txn == txn)
            && let Some(waiter) = crowd.queue.remove(at)
        {
            waiter.settle(WaitState::Interrupted);
            lock.hand_over();
        }
    }

    /// Refuses every transaction that waits now or later. Owners keep their locks until they
    /// release them.
    pub(crate) fn poison(&self) {
        let waits = self.waits.lock();
        self.poisoned.store(true, Ordering::Release);
        for row in waits.values() {
            let mut shard = self.shard(*row).lock();
            if let Some(crowd) = shard.get_mut(*row).and_then(|lock| lock.crowd.as_mut()) {
                for waiter in crowd.queue.drain(..) {
                    waiter.settle(WaitState::Refused);
                }
            }
        }
    }

    /// The numbers of locked rows and relations, and of waiting transactions. A wait that would close a cycle
    /// does not count: nothing is counted while a walk looks for one.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let _waits = self.waits.lock();
        let mut counts = (0, 0);
        for shard in &self.shards {
            let shard = shard.lock();
            counts.0 += shard.len();
            counts.1 += shard.waiting();
        }
        counts
    }
}

/// Returns the transactions that a waiter in the queue of a lock waits for.
fn blockers(lock: &Lock, waiter: &Waiter) -> Vec<TxnId> {
    let mut blockers: Vec<TxnId> = lock.against(waiter.txn, waiter.modes).collect();
    if waiter.modes.queues_fairly() {
        let conflicts = waiter.modes.conflicts();
        let ahead = lock.queue().take_while(|other| other.txn != waiter.txn);
        blockers.extend(ahead.filter(|other| other.modes.meets(conflicts)).map(|w| w.txn));
    }
    blockers
}
