//! Advisory locks: locks on numbers, whose meaning the programs that take them agree on.
//!
//! ```text
//!   session 1   pg_advisory_lock(7) ────────> Advisory  7: held exclusively by 1
//!   session 2   pg_advisory_lock(7) waits ──>           7: 2 waits
//!   session 1   pg_advisory_unlock(7) ──────>           7: held exclusively by 2
//! ```
//!
//! A lock is held by a session, once for each time that it was taken; it is released by
//! `pg_advisory_unlock`, or at the end of the transaction where it was taken for that. Waiting
//! sessions get the lock in the order in which they asked. A wait that would never end is an error.
//!
//! # Deadlocks
//! `txn` finds circles of waits for rows and tables, and knows no advisory locks. In a circle with both,
//! at least one session waits for an advisory lock. That session looks along all waits, at once and then
//! every `deadlock_timeout`, and fails if it finds itself. The walk holds the table of advisory locks,
//! so no session in the circle is given one meanwhile; and a session that waits for a row of such a
//! session cannot move either.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use types::time::TimestampTz;
use types::{Oid, RetryReason, SqlState};

use crate::client::Client;
use crate::error::{Error, Result, Severity};
use crate::instance::now;

/// The object of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    pub database: Oid,
    /// The upper half of one number, or the first of two.
    pub class: u32,
    /// The lower half, or the second.
    pub object: u32,
    /// True for two numbers.
    pub is_pair: bool,
}

/// How it is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

impl Mode {
    /// Its name in `pg_locks` and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Shared => "ShareLock",
            Mode::Exclusive => "ExclusiveLock",
        }
    }

    fn conflicts(self, other: Mode) -> bool {
        self == Mode::Exclusive || other == Mode::Exclusive
    }
}

/// How long a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    Session,
    Transaction,
}

/// A session and what it has, or waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    pub process: i32,
    pub key: Key,
    pub mode: Mode,
    /// When it began to wait; none once it has it.
    pub waits_since: Option<TimestampTz>,
}

#[derive(Default)]
struct Table {
    /// The owners of each number: one entry for each session and mode.
    held: HashMap<Key, Vec<Claim>>,
    /// In the order in which they asked.
    waiting: Vec<Claim>,
}

/// The advisory locks of all sessions.
#[derive(Default)]
pub(crate) struct Advisory {
    table: Mutex<Table>,
    changed: Condvar,
}

/// A lock that a session has taken.
#[derive(Clone, Copy, Debug)]
struct Taken {
    number: u64,
    key: Key,
    mode: Mode,
    scope: Scope,
}

/// All that a session has taken, in order: the same lock as often as it was.
#[derive(Default, Debug)]
pub(crate) struct Locks {
    taken: Vec<Taken>,
    next: u64,
}

impl Table {
    /// The processes that a claim has to wait for.
    fn before(&self, claim: &Claim) -> impl Iterator<Item = i32> {
        let earlier = self.waiting.iter().take_while(|other| {
            (other.process, other.key, other.mode) != (claim.process, claim.key, claim.mode)
        });
        let held = self.held.get(&claim.key).into_iter().flatten();
        // A session that has a lock already is not kept waiting by sessions that wait for its
        // release.
        let has = held.clone().any(|known| known.process == claim.process);
        let claim = *claim;
        held.chain(earlier.filter(move |_| !has))
            .filter(move |other| {
                other.process != claim.process
                    && other.key == claim.key
                    && other.mode.conflicts(claim.mode)
            })
            .map(|other| other.process)
    }

    /// True if a session that waits would wait for itself. `others` are the sessions that one
    /// waits for because of rows and tables.
    fn is_deadlock(&self, process: i32, others: impl Fn(i32) -> Vec<i32>) -> bool {
        let (mut seen, mut at) = (vec![process], 0);
        while let Some(&next) = seen.get(at) {
            at += 1;
            let claims = self.waiting.iter().filter(|claim| claim.process == next);
            let before = claims.flat_map(|claim| self.before(claim));
            for other in before.chain(others(next)) {
                if other == process {
                    return true;
                }
                if !seen.contains(&other) {
                    seen.push(other);
                }
            }
        }
        false
    }

    fn give(&mut self, claim: Claim) {
        let held = self.held.entry(claim.key).or_default();
        let known = |other: &Claim| (other.process, other.mode) == (claim.process, claim.mode);
        if !held.iter().any(known) {
            held.push(Claim { waits_since: None, ..claim });
        }
    }
}

impl Advisory {
    /// All locks that are held or waited for.
    pub fn all(&self) -> Vec<Claim> {
        let table = self.table.lock();
        let held = table.held.values().flatten();
        held.chain(&table.waiting).copied().collect()
    }

    /// The sessions that one waits for.
    pub fn blockers(&self, process: i32) -> Vec<i32> {
        let table = self.table.lock();
        let claims = table.waiting.iter().filter(|claim| claim.process == process);
        let mut blockers: Vec<i32> = claims.flat_map(|claim| table.before(claim)).collect();
        blockers.sort_unstable();
        blockers.dedup();
        blockers
    }

    /// Makes the waiting sessions check whether they must stop.
    pub fn wake(&self) {
        if !self.table.lock().waiting.is_empty() {
            self.changed.notify_all();
        }
    }

    fn release(&self, process: i32, key: Key, mode: Mode) {
        let mut table = self.table.lock();
        if let Some(held) = table.held.get_mut(&key) {
            held.retain(|claim| (claim.process, claim.mode) != (process, mode));
            if held.is_empty() {
                table.held.remove(&key);
            }
        }
        drop(table);
        self.changed.notify_all();
    }
}

impl Client {
    /// Takes a lock; false if another session has it and it is not waited for.
    ///
    /// # Errors
    /// `40P01` for a wait that would never end, `55P03` where it takes too long, `57014`.
    pub(crate) fn lock(&self, key: Key, mode: Mode, scope: Scope, wait: bool) -> Result<bool> {
        let (advisory, process) = (&self.instance.advisory, self.slot.process);
        let claim = Claim { process, key, mode, waits_since: None };
        let mut table = advisory.table.lock();
        if table.before(&claim).next().is_some() {
            if !wait {
                return Ok(false);
            }
            if self.inline.get() {
                // The statement is run again where it may wait.
                return Err(types::Error::retry(RetryReason::Blocked).into());
            }
            let claim = Claim { waits_since: Some(now(&self.instance.env)), ..claim };
            table.waiting.push(claim);
            let waited = self.wait(&mut table, &claim);
            table.waiting.retain(|other| *other != claim);
            if waited.is_err() {
                drop(table);
                advisory.changed.notify_all();
                return waited.map(|()| true);
            }
        }
        table.give(claim);
        drop(table);
        let mut locks = self.locks.borrow_mut();
        let number = locks.next;
        locks.next += 1;
        locks.taken.push(Taken { number, key, mode, scope });
        Ok(true)
    }

    fn wait(&self, table: &mut parking_lot::MutexGuard<'_, Table>, claim: &Claim) -> Result<()> {
        let clock = &self.instance.env.clock;
        let milliseconds = |name| self.settings.borrow().integer(name).unsigned_abs();
        let look_us = milliseconds("deadlock_timeout") * 1_000;
        let end_us = match milliseconds("lock_timeout") {
            0 => u64::MAX,
            ms => clock.monotonic_us() + ms * 1_000,
        };
        while table.before(claim).next().is_some() {
            if table.is_deadlock(claim.process, |process| self.instance.blockers(process)) {
                return Err(self.deadlock(table, claim));
            }
            if let Some(stopped) = self.slot.stopped() {
                return Err(stopped);
            }
            let left_us = end_us.saturating_sub(clock.monotonic_us());
            if left_us == 0 {
                let message = "canceling statement due to lock timeout";
                return Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, message));
            }
            // A release, a wait that ends and a cancel wake this thread. It finds a circle that another
            // session closes, by waiting for a row, after `deadlock_timeout`.
            let patience = Duration::from_micros(left_us.min(look_us));
            self.instance.advisory.changed.wait_for(table, patience);
        }
        Ok(())
    }

    fn deadlock(&self, table: &Table, claim: &Claim) -> Error {
        let Claim { process, key, mode, .. } = *claim;
        let by = table.before(claim).next().unwrap_or_default();
        let number = if key.is_pair { 2 } else { 1 };
        let name = format!("[{},{},{},{number}]", key.database, key.class, key.object);
        Error::new(SqlState::DEADLOCK_DETECTED, "deadlock detected").detail(format!(
            "Process {process} waits for {} on advisory lock {name}; blocked by process {by}.",
            mode.name()
        ))
    }

    /// Lets go of a lock of the session once; false, and a warning, where it has none.
    pub(crate) fn unlock(&self, key: Key, mode: Mode) -> bool {
        let mut locks = self.locks.borrow_mut();
        let place = locks
            .taken
            .iter()
            .rposition(|taken| (taken.key, taken.mode, taken.scope) == (key, mode, Scope::Session));
        let Some(place) = place else {
            drop(locks);
            let message = format!("you don't own a lock of type {}", mode.name());
            self.notice(Severity::Warning, SqlState::WARNING, message);
            return false;
        };
        let taken = locks.taken.remove(place);
        self.free(&locks, &[taken]);
        true
    }

    /// Lets go of those of the locks that were taken which `goes` says.
    fn unlock_where(&self, goes: impl Fn(&Taken) -> bool) {
        let mut locks = self.locks.borrow_mut();
        if locks.taken.is_empty() {
            return;
        }
        let (gone, kept): (Vec<_>, _) =
            std::mem::take(&mut locks.taken).into_iter().partition(goes);
        locks.taken = kept;
        self.free(&locks, &gone);
    }

    /// Frees what the session has taken no more.
    fn free(&self, locks: &Locks, gone: &[Taken]) {
        for one in gone {
            let has = |taken: &Taken| (taken.key, taken.mode) == (one.key, one.mode);
            if !locks.taken.iter().any(has) {
                self.instance.advisory.release(self.slot.process, one.key, one.mode);
            }
        }
    }

    /// Lets go of all locks that were taken for the session.
    pub(crate) fn unlock_session(&self) {
        self.unlock_where(|taken| taken.scope == Scope::Session);
    }

    /// Lets go of what was taken for the transaction, from a mark on.
    pub(crate) fn unlock_transaction(&self, mark: u64) {
        self.unlock_where(|taken| taken.scope == Scope::Transaction && taken.number >= mark);
    }

    /// Takes back what a statement has taken that is run again.
    pub(crate) fn unlock_since(&self, mark: u64) {
        self.unlock_where(|taken| taken.number >= mark);
    }

    /// The place of the next lock that is taken.
    pub(crate) fn lock_mark(&self) -> u64 {
        self.locks.borrow().next
    }
}
