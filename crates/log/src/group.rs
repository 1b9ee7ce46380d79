//! Group commit: the first caller writes and syncs for all callers that wait.
//!
//! ```text
//!   A  ──append──sync: no leader, A leads ══write═sync══> publishes 3, hands over to D, wakes B, C
//!   B     ──append──sync: waits ...........................└─> done
//!   C       ──append──sync: waits .........................└─> done
//!   D             ──append (A has taken the buffer)──sync: waits ...└─> leads ══write═sync══> ...
//! ```
//!
//! A single writer leads inline: two uncontended locks and no thread switch. Each waiter sleeps on a
//! slot of its own and is woken exactly once, with a verdict, so there is no thundering herd. The old
//! leader wakes the next leader before the waiters that are done, so the disk write of the next
//! leader overlaps their wake-ups.
//!
//! # Invariants
//! * At most one leader at a time; where anyone waits, there is a leader.
//! * `durable` never falls, and is set by the leader only after its flush returned.
//! * After a failed flush there is no leader any more, and every waiter gets the error.
//!
//! The locks come from `super::primitives`, so that a test can compile this very file against the
//! locks of a scheduler that tries the interleavings.

use super::primitives::{Arc, AtomicU64, Condvar, Mutex, MutexGuard, Ordering};

/// Why `sync` did not succeed.
#[derive(Debug)]
pub(crate) enum SyncError<E> {
    /// This caller led, and its flush failed.
    Flush(E),
    /// An earlier flush failed.
    Poisoned,
    /// The position asked for was never appended: the flush ended before it.
    Beyond(u64),
}

/// The leader, the waiting callers and the durable position.
pub(crate) struct Group {
    durable: AtomicU64,
    state: Mutex<State>,
}

struct State {
    leading: bool,
    failed: bool,
    waiting: Vec<Waiter>,
}

struct Waiter {
    upto: u64,
    slot: Arc<Slot>,
}

/// The answer that a waiter gets.
#[derive(Clone, Copy)]
enum Verdict {
    Durable,
    Lead,
    Failed,
}

struct Slot {
    verdict: Mutex<Option<Verdict>>,
    told: Condvar,
}

impl Slot {
    fn tell(&self, verdict: Verdict) {
        *lock(&self.verdict) = Some(verdict);
        self.told.notify_one();
    }

    fn wait(&self) -> Verdict {
        let mut verdict = lock(&self.verdict);
        loop {
            match *verdict {
                Some(told) => return told,
                None => verdict = self.told.wait(verdict).unwrap_or_else(|e| e.into_inner()),
            }
        }
    }
}

/// No panic can leave the state behind these locks half changed, so a poisoned lock can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Group {
    pub fn new(durable: u64) -> Group {
        let state = State { leading: false, failed: false, waiting: Vec::new() };
        Group { durable: AtomicU64::new(durable), state: Mutex::new(state) }
    }

    /// Everything below this is durable.
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Returns once everything below `upto` is durable. `flush` makes all that was appended before
    /// its call durable and returns the position it reached; it runs only where this caller leads.
    pub fn sync<E>(
        &self,
        upto: u64,
        flush: impl FnOnce() -> Result<u64, E>,
    ) -> Result<(), SyncError<E>> {
        if self.durable() >= upto {
            return Ok(());
        }
        let slot = {
            let mut state = lock(&self.state);
            if self.durable() >= upto {
                return Ok(());
            }
            if state.failed {
                return Err(SyncError::Poisoned);
            }
            if state.leading {
                let slot = Arc::new(Slot { verdict: Mutex::new(None), told: Condvar::new() });
                state.waiting.push(Waiter { upto, slot: slot.clone() });
                Some(slot)
            } else {
                state.leading = true;
                None
            }
        };
        match slot.map_or(Verdict::Lead, |slot| slot.wait()) {
            Verdict::Durable => Ok(()),
            Verdict::Failed => Err(SyncError::Poisoned),
            Verdict::Lead => self.lead(upto, flush),
        }
    }

    /// Refuses every position that is not durable yet from now on, and tells the waiters.
    fn fail(&self) {
        let waiting = {
            let mut state = lock(&self.state);
            state.failed = true;
            std::mem::take(&mut state.waiting)
        };
        for waiter in waiting {
            waiter.slot.tell(Verdict::Failed);
        }
    }

    fn lead<E>(
        &self,
        upto: u64,
        flush: impl FnOnce() -> Result<u64, E>,
    ) -> Result<(), SyncError<E>> {
        let abandoned = FailOnDrop(self);
        let durable = flush().map_err(SyncError::Flush)?;
        std::mem::forget(abandoned);
        self.hand_over(durable);
        if durable >= upto { Ok(()) } else { Err(SyncError::Beyond(durable)) }
    }

    fn hand_over(&self, durable: u64) {
        let (next, covered) = {
            let mut state = lock(&self.state);
            debug_assert!(state.leading && durable >= self.durable());
            self.durable.store(durable, Ordering::Release);
            let covered: Vec<Waiter> =
                state.waiting.extract_if(.., |w| w.upto <= durable).collect();
            let next =
                if state.waiting.is_empty() { None } else { Some(state.waiting.swap_remove(0)) };
            state.leading = next.is_some();
            (next, covered)
        };
        if let Some(next) = next {
            next.slot.tell(Verdict::Lead);
        }
        for waiter in covered {
            waiter.slot.tell(Verdict::Durable);
        }
    }
}

/// A leader that ends without a result, by an error or a panic, takes the group down with it.
struct FailOnDrop<'a>(&'a Group);

impl Drop for FailOnDrop<'_> {
    fn drop(&mut self) {
        self.0.fail();
    }
}
