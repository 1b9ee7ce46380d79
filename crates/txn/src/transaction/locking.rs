//! The locks of a transaction: on rows, on relations, and its place in the queue of a row.
//!
//! ```text
//!   lock          the row for update; READ COMMITTED moves the snapshot on      ┐
//!   lock_row      the row in a mode; the snapshot stays                         ├ acquire ──> locks of the engine
//!   lock_latest   a key whose newest state matters                              ┘
//!   lock_relation, read_relation   a relation ──> the session's list, or the locks of the engine
//! ```

use store::{Csn, TableId};

use super::{Isolation, Transaction};
use crate::error::{SerializationFailure, TxnError};
use crate::locks::{Acquired, Held, LockFailure, Modes, Noting, RelationLock, RowLock, WaitPolicy};

/// The state of a row once it was locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// The row is as the transaction's snapshot has it.
    Unchanged,
    /// The row was changed after the snapshot was taken. Read it again: after [`Transaction::lock`] in
    /// the usual way, because the snapshot has moved forward; after other locks through [`Transaction::latest`].
    Changed,
}

/// The behaviour if another transaction holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Wait for it, up to the lock timeout.
    Allowed,
    /// Fail at once with [`TxnError::LockNotAvailable`].
    Never,
}

impl Transaction {
    /// Locks the row for update, waiting for its owner. Under READ COMMITTED a row that changed
    /// after the snapshot moves the snapshot on ([`Locked::Changed`]: read again); at the other
    /// levels it fails with 40001. Fails with 40P01 where waiting would be a deadlock, with 55P03
    /// where the lock timeout runs out.
    pub fn lock(&mut self, table: TableId, key: &[u8]) -> Result<Locked, TxnError> {
        let found = self.acquire(table, key, RowLock::Update, Wait::Allowed)?;
        self.refresh(found)
    }

    /// As [`Transaction::lock`], but `None` at once where another transaction has the row.
    pub fn try_lock(&mut self, table: TableId, key: &[u8]) -> Result<Option<Locked>, TxnError> {
        match self.acquire(table, key, RowLock::Update, Wait::Never) {
            Ok(found) => self.refresh(found).map(Some),
            Err(TxnError::LockNotAvailable) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Locks the row in the given mode. The snapshot does not move, not even under READ COMMITTED: read
    /// a row that changed since ([`Locked::Changed`]) through [`Transaction::latest`]. At the other levels
    /// the lock of such a row fails with 40001. Other errors: as [`Transaction::lock`].
    pub fn lock_row(
        &mut self,
        table: TableId,
        key: &[u8],
        strength: RowLock,
        wait: Wait,
    ) -> Result<Locked, TxnError> {
        match self.acquire(table, key, strength, wait)? {
            Found::Unchanged => Ok(Locked::Unchanged),
            Found::ChangedBy(_) if self.isolation == Isolation::ReadCommitted => {
                Ok(Locked::Changed)
            }
            Found::ChangedBy(csn) => Err(updated(csn)),
        }
    }

    /// Locks a key whose newest committed state matters, and not that of the snapshot: a key that must be
    /// unique, or that a foreign key refers to. As [`Transaction::lock_row`], but a change since the
    /// snapshot is not an error at any level.
    pub fn lock_latest(
        &mut self,
        table: TableId,
        key: &[u8],
        strength: RowLock,
        wait: Wait,
    ) -> Result<Locked, TxnError> {
        Ok(match self.acquire(table, key, strength, wait)? {
            Found::Unchanged => Locked::Unchanged,
            Found::ChangedBy(_) => Locked::Changed,
        })
    }

    /// Locks a relation, known by a number of the caller's, until the end of the transaction or the
    /// rollback to a savepoint before. Fails as [`Transaction::lock`] does, but knows no 40001.
    pub fn lock_relation(
        &mut self,
        relation: u32,
        mode: RelationLock,
        wait: Wait,
    ) -> Result<(), TxnError> {
        self.take_relation(relation, mode, wait).map(drop)
    }

    /// Locks a relation that a query is about to read ([`RelationLock::Read`]). True if that
    /// went through the table of locks: commits of the time of the wait are not in the snapshot.
    /// Fails as [`Transaction::lock_relation`] does.
    pub fn read_relation(&mut self, relation: u32, wait: Wait) -> Result<bool, TxnError> {
        self.take_relation(relation, RelationLock::Read, wait)
    }

    /// Locks a relation; true if that went through the table of locks.
    fn take_relation(
        &mut self,
        relation: u32,
        mode: RelationLock,
        wait: Wait,
    ) -> Result<bool, TxnError> {
        let modes = Modes::from(mode);
        if !self.relations.is_empty() && self.locks_relation(relation).cover(modes) {
            return Ok(false);
        }
        let row = self.engine.hasher.hash_relation(relation);
        if let Some(reader) = &self.reader
            && modes.is_weak()
        {
            match self.engine.locks.note(reader, self.id, row, modes) {
                Noting::Already => return Ok(false),
                Noting::Now => {
                    self.noted += 1;
                    return Ok(false);
                }
                Noting::Refused => {}
            }
        }
        if modes.is_strong() {
            self.engine.locks.strengthen(row);
        }
        let answer = self.engine.locks.lock(self.id, row, modes, self.wait_policy(wait));
        let given = self.granted(answer);
        match given {
            Ok(Acquired::Now) => self.relations.push((relation, Held { row, modes })),
            _ if modes.is_strong() => self.engine.locks.weaken(row),
            _ => {}
        }
        given.map(|_| true)
    }

    /// The modes in which it has locked a relation.
    fn locks_relation(&self, relation: u32) -> Modes {
        let own = self.relations.iter().filter(|(other, _)| *other == relation);
        own.fold(Modes::NONE, |all, (_, held)| all.with(held.modes))
    }

    /// Joins the queue of the row whose lock the last call did not get ([`TxnError::Blocked`]), without
    /// sleeping. The lock manager calls `call`, from any thread, when it is the transaction's turn. Then,
    /// or when the caller gives up waiting, the caller calls [`Transaction::leave_queue`], and tries
    /// again. Returns false if there is no such row, or if the wait cannot succeed: the next try returns
    /// the error.
    pub fn queue_up(&mut self, call: Box<dyn Fn() + Send + Sync>) -> bool {
        self.leave_queue();
        let Some(Held { row, modes }) = self.missed.take() else { return false };
        self.queued = self.engine.locks.queue_up(self.id, row, modes, call).ok();
        self.queued.is_some()
    }

    /// Gives up the place that [`Transaction::queue_up`] took. The row is locked where it was its turn.
    pub fn leave_queue(&mut self) {
        if let Some(queued) = self.queued.take()
            && let Ok(held) = self.engine.locks.leave_queue(&queued)
        {
            self.held.push(held);
        }
    }

    fn wait_policy(&self, wait: Wait) -> WaitPolicy<'_> {
        match wait {
            Wait::Never => WaitPolicy::None,
            Wait::Allowed => {
                WaitPolicy::Waits { us: self.lock_timeout_us, interrupt: self.interrupt.as_deref() }
            }
        }
    }

    fn granted(&self, answer: Result<Acquired, LockFailure>) -> Result<Acquired, TxnError> {
        answer.map_err(|failure| match failure {
            LockFailure::Deadlock => TxnError::Deadlock,
            LockFailure::Timeout if self.lock_timeout_us == Some(0) => TxnError::Blocked,
            LockFailure::Timeout => TxnError::LockTimeout,
            LockFailure::Busy => TxnError::LockNotAvailable,
            LockFailure::Interrupted => TxnError::Interrupted,
            LockFailure::Poisoned => self.engine.stopped_error(),
        })
    }

    fn refresh(&mut self, found: Found) -> Result<Locked, TxnError> {
        match found {
            Found::Unchanged => Ok(Locked::Unchanged),
            Found::ChangedBy(_) if self.isolation == Isolation::ReadCommitted => {
                self.statement();
                Ok(Locked::Changed)
            }
            Found::ChangedBy(csn) => Err(updated(csn)),
        }
    }

    /// Takes the row lock and finds out whether the row changed since the snapshot.
    #[inline]
    pub(super) fn acquire(
        &mut self,
        table: TableId,
        key: &[u8],
        strength: RowLock,
        wait: Wait,
    ) -> Result<Found, TxnError> {
        let row = self.engine.hasher.hash(table, key);
        let modes = Modes::of_row(strength);
        let answer = self.engine.locks.lock(self.id, row, modes, self.wait_policy(wait));
        self.missed = (answer == Err(LockFailure::Timeout)).then_some(Held { row, modes });
        if self.granted(answer)? == Acquired::Now {
            self.held.push(Held { row, modes });
        }
        // The former owner of the row has released it only after its commit was visible. If no
        // commit has become visible since the snapshot, the row cannot have changed.
        if self.engine.visible() == self.snapshot.csn() {
            return Ok(Found::Unchanged);
        }
        match self.engine.store.latest(table, key)? {
            Some(csn) if csn > self.snapshot.csn() => Ok(Found::ChangedBy(csn)),
            _ => Ok(Found::Unchanged),
        }
    }

    /// Releases all locks but the first so many.
    pub(super) fn unlock(&mut self, rows: usize, relations: usize, noted: usize) {
        self.engine.locks.unlock(self.id, &self.held[rows.min(self.held.len())..]);
        self.held.truncate(rows);
        while self.relations.len() > relations
            && let Some((_, held)) = self.relations.pop()
        {
            self.engine.locks.unlock(self.id, &[held]);
            if held.modes.is_strong() {
                self.engine.locks.weaken(held.row);
            }
        }
        if self.noted > noted
            && let Some(reader) = &self.reader
        {
            self.engine.locks.forget(reader, self.id, noted);
            self.noted = noted;
        }
    }
}

/// The state of a row once it was locked.
pub(super) enum Found {
    Unchanged,
    ChangedBy(Csn),
}

pub(super) fn updated(csn: Csn) -> TxnError {
    TxnError::Serialization { why: SerializationFailure::Updated(csn) }
}
