//! [`Transaction`]: reads at a snapshot, writes of its own on top, and locks on what it writes.
//!
//! ```text
//!                      reads see              a row that changed meanwhile      at commit
//!   READ COMMITTED     the last statement()   is locked and read again          nothing to check
//!   REPEATABLE READ    the first moment       40001, as soon as it is locked    nothing to check
//!   SERIALIZABLE       the first moment       40001, as soon as it is locked    what was read must
//!                                                                               not have been written
//! ```
//!
//! Every written row is locked until the commit is visible or the transaction is rolled back, so two
//! writers of one row come one after the other. Under REPEATABLE READ the first to commit wins: the
//! second finds a version newer than its snapshot and fails. Readers lock nothing and wait for nobody.
//!
//! A delta is a change against something that was read. Under READ COMMITTED the way to write one is
//! [`Transaction::lock`], read, [`Transaction::delta`]: the lock moves the snapshot on where the row
//! has changed, so that what is read is what the delta will stand on. A delta on a row that changed
//! and was not locked before is refused (40001) at every level, because it would be applied to
//! something its author never saw.
//!
//! # Invariants
//! * A row with a write of this transaction is locked by it.
//! * The snapshot moves only under READ COMMITTED, and only forward.
//! * A transaction that is dropped without commit leaves nothing behind.

use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use store::{Csn, Loaded, Op, TableId, Write};

use crate::engine::{Commit, CommitMeta, Engine, Prepared, limit};
use crate::error::{SerializationFailure, TxnError};
use crate::locks::{Acquired, LockFailure, Patience, RowHash, TxnId};
use crate::ordered::Ordered;
use crate::publish::Hook;
use crate::readset::ReadSet;
use crate::record::{Note, RECORD_BYTES_MAX};
use crate::row::Row;
use crate::scan::TxnScan;
use crate::snapshot::Snapshot;
use crate::writeset::{OPERATIONS_MAX, OwnBase, WriteSet};

/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 65_000;

/// What transactions may see of one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// The whole transaction sees what was committed before it began; the first to update a row wins.
    RepeatableRead,
    /// As if transactions had run one after the other, in the order of their commits.
    Serializable,
}

/// What was found when a row was locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// The row is as the transaction's snapshot has it.
    Unchanged,
    /// Only under READ COMMITTED: the row was changed after the snapshot was taken. The snapshot has
    /// moved on; read the row again.
    Changed,
}

/// A position in a transaction, to roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint {
    operations: usize,
    hooks: usize,
}

/// A transaction. Dropping it rolls it back.
pub struct Transaction {
    engine: Arc<Engine>,
    id: TxnId,
    isolation: Isolation,
    pub(crate) snapshot: Snapshot,
    pub(crate) writes: WriteSet,
    held: Vec<RowHash>,
    /// A mutex, not a cell, so that a transaction can be lent to other threads for reading.
    pub(crate) reads: Mutex<ReadSet>,
    hooks: Vec<Hook>,
    /// A bulk load that is to become part of the commit.
    loaded: Option<Loaded>,
    lock_timeout_us: Option<u64>,
}

impl Transaction {
    pub(crate) fn new(engine: Arc<Engine>, id: TxnId, isolation: Isolation) -> Transaction {
        let snapshot = Snapshot::now(Arc::clone(&engine), isolation == Isolation::Serializable);
        Transaction {
            id,
            isolation,
            snapshot,
            writes: WriteSet::default(),
            held: Vec::new(),
            reads: Mutex::default(),
            hooks: Vec::new(),
            loaded: None,
            lock_timeout_us: engine.lock_timeout_us,
            engine,
        }
    }

    /// The isolation level it was begun with.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// The engine it runs on.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// What it sees of others.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// True where it has written nothing (or has rolled all of it back) and loads nothing.
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty() && self.loaded.is_none()
    }

    /// Begins a statement: under READ COMMITTED it sees all that is committed now.
    pub fn statement(&mut self) {
        if self.isolation == Isolation::ReadCommitted
            && self.snapshot.csn() != self.engine.visible()
        {
            self.snapshot = Snapshot::now(Arc::clone(&self.engine), false);
        }
    }

    /// How long to wait for row locks from now on, in microseconds; `None` for as long as it takes.
    pub fn set_lock_timeout(&mut self, us: Option<u64>) {
        self.lock_timeout_us = us;
    }

    // --- reading ---------------------------------------------------------------------------------

    pub(crate) fn is_serializable(&self) -> bool {
        self.isolation == Isolation::Serializable
    }

    /// The state of `key` with the transaction's own writes, unmerged; `None` where it is absent or
    /// deleted.
    pub fn read(&self, table: TableId, key: &[u8]) -> Result<Option<Row<'_>>, TxnError> {
        Row::new(self.writes.own(table, key), || {
            if self.is_serializable() {
                self.reads.lock().add_key(self.engine.hasher.hash(table, key));
            }
            Ok(self.snapshot.read(table, key)?)
        })
    }

    /// Appends the merged value of `key`, with the transaction's own writes, to `out`. Returns the
    /// commit of its newest change ([`Csn::MAX`] where that is the transaction's own), or `None` where
    /// the key is absent or deleted.
    pub fn get(
        &self,
        table: TableId,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Csn>, TxnError> {
        let Some(row) = self.read(table, key)? else { return Ok(None) };
        row.image_into(&*self.engine.table(table), key, out)
            .map_err(|source| TxnError::Merge { table, source })?;
        Ok(Some(row.csn()))
    }

    /// The live keys of a range with their states, the transaction's own writes included, in order or
    /// in reverse. Under SERIALIZABLE what it passes over counts as read once it is dropped.
    pub fn scan(
        &self,
        table: TableId,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        reverse: bool,
    ) -> TxnScan<'_> {
        TxnScan::new(self, table, lower, upper, reverse)
    }

    // --- locking and writing ---------------------------------------------------------------------

    /// Locks the row for update, waiting for whoever has it. Under READ COMMITTED a row that changed
    /// after the snapshot moves the snapshot on ([`Locked::Changed`]: read again); at the other levels
    /// it fails with 40001. Fails with 40P01 where waiting would be a deadlock, with 55P03 where the
    /// lock timeout runs out.
    pub fn lock(&mut self, table: TableId, key: &[u8]) -> Result<Locked, TxnError> {
        let patience = self.lock_timeout_us.map_or(Patience::Endless, Patience::Us);
        let locked = self.acquire(table, key, patience)?;
        self.refresh(locked)
    }

    /// As [`Transaction::lock`], but `None` at once where another transaction has the row.
    pub fn try_lock(&mut self, table: TableId, key: &[u8]) -> Result<Option<Locked>, TxnError> {
        match self.acquire(table, key, Patience::None) {
            Ok(locked) => self.refresh(locked).map(Some),
            Err(TxnError::LockTimeout) => Ok(None),
            Err(error) => Err(error),
        }
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
    fn acquire(
        &mut self,
        table: TableId,
        key: &[u8],
        patience: Patience,
    ) -> Result<Found, TxnError> {
        let row = self.engine.hasher.hash(table, key);
        match self.engine.locks.lock(self.id, row, patience) {
            Ok(Acquired::Already) => {}
            Ok(Acquired::Now) => self.held.push(row),
            Err(LockFailure::Deadlock) => return Err(TxnError::Deadlock),
            Err(LockFailure::Timeout) => return Err(TxnError::LockTimeout),
            Err(LockFailure::Poisoned) => return Err(self.engine.stopped_error()),
        }
        // Whoever had the row has let go of it only after its commit was visible: where nothing has
        // become visible since the snapshot, nothing can have changed.
        if self.engine.visible() == self.snapshot.csn() {
            return Ok(Found::Unchanged);
        }
        match self.engine.store.latest(table, key)? {
            Some(csn) if csn > self.snapshot.csn() => Ok(Found::ChangedBy(csn)),
            _ => Ok(Found::Unchanged),
        }
    }

    /// Sets the whole value of `key`. Takes the row lock.
    pub fn put(&mut self, table: TableId, key: &[u8], value: Vec<u8>) -> Result<(), TxnError> {
        self.lock_to_write(table, key, value.len())?;
        self.push(table, key, Op::Put(value));
        Ok(())
    }

    /// Ends `key`; nothing happens to one that does not exist. Takes the row lock.
    pub fn delete(&mut self, table: TableId, key: &[u8]) -> Result<(), TxnError> {
        self.lock_to_write(table, key, 0)?;
        self.push(table, key, Op::Delete);
        Ok(())
    }

    /// Changes the value of `key` by a delta of its table's own kind. Takes the row lock; fails with
    /// [`TxnError::NoBase`] where the key has no value, and with 40001, at every level, where it
    /// changed since the snapshot and was not locked before.
    pub fn delta(&mut self, table: TableId, key: &[u8], delta: Vec<u8>) -> Result<(), TxnError> {
        self.check_size(key, delta.len())?;
        let patience = self.lock_timeout_us.map_or(Patience::Endless, Patience::Us);
        if let Found::ChangedBy(csn) = self.acquire(table, key, patience)? {
            return Err(updated(csn));
        }
        let stands = match self.writes.own(table, key) {
            Some(own) if own.base == OwnBase::Deleted => false,
            Some(_) => true,
            None => self.snapshot.read(table, key)?.is_some(),
        };
        if !stands {
            return Err(TxnError::NoBase { table });
        }
        self.push(table, key, Op::Delta(delta));
        Ok(())
    }

    /// The lock that a whole value needs: under READ COMMITTED it may replace what nobody here read.
    fn lock_to_write(
        &mut self,
        table: TableId,
        key: &[u8],
        value_bytes: usize,
    ) -> Result<(), TxnError> {
        self.check_size(key, value_bytes)?;
        let patience = self.lock_timeout_us.map_or(Patience::Endless, Patience::Us);
        match self.acquire(table, key, patience)? {
            Found::ChangedBy(csn) if self.isolation != Isolation::ReadCommitted => {
                Err(updated(csn))
            }
            _ => Ok(()),
        }
    }

    fn check_size(&self, key: &[u8], value_bytes: usize) -> Result<(), TxnError> {
        limit("key", key.len(), KEY_BYTES_MAX)?;
        let bytes = self.writes.bytes().saturating_add(key.len()).saturating_add(value_bytes);
        limit("transaction", bytes, RECORD_BYTES_MAX)?;
        limit("number of writes in a transaction", self.writes.len() + 1, OPERATIONS_MAX)
    }

    fn push(&mut self, table: TableId, key: &[u8], op: Op) {
        self.writes.push(Write { table, key: key.to_vec(), op });
    }

    // --- ending ----------------------------------------------------------------------------------

    /// Has `hook` run with number and time just before the commit becomes visible, in the order of
    /// commits. It must be quick, must not panic and must not use the engine: everyone waits for it.
    pub fn on_publish(&mut self, hook: impl FnOnce(Commit) + Send + 'static) {
        self.hooks.push(Box::new(move |csn, time_us| hook(Commit { csn: Csn(csn), time_us })));
    }

    /// Makes a bulk load, of keys that this transaction keeps others from writing and does not write
    /// itself, part of the commit. Its files are removed where the transaction does not commit. A
    /// transaction can load once.
    pub fn attach(&mut self, loaded: Loaded) {
        assert!(self.loaded.is_none(), "a transaction can load once");
        self.loaded = Some(loaded);
    }

    /// Marks the present position.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { operations: self.writes.len(), hooks: self.hooks.len() }
    }

    /// Takes back what was written since the savepoint. Row locks stay until the end. The savepoint
    /// can be used again; later ones are gone.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.writes.truncate(savepoint.operations);
        self.hooks.truncate(savepoint.hooks);
    }

    /// Takes everything back and lets go of all locks; the same as dropping it.
    pub fn rollback(self) {}

    /// Commits; returns once the commit is as durable as asked for, and visible.
    ///
    /// Fails with 40001 under SERIALIZABLE where something read was written meanwhile; the transaction
    /// is then rolled back. After [`TxnError::OutcomeUnknown`] it may or may not have happened. A
    /// transaction that wrote nothing always succeeds and makes no commit of its own.
    pub fn commit(self, meta: CommitMeta) -> Result<Commit, TxnError> {
        self.order(meta)?.wait()
    }

    /// Does the part of a commit that decides whether it happens, and where among the others; what is
    /// left is to wait for the disk ([`Ordered::wait`]). One who serves many transactions orders those
    /// that are ready and then waits for them: the first wait serves them all.
    ///
    /// Fails as [`Transaction::commit`] does.
    pub fn order(mut self, meta: CommitMeta) -> Result<Ordered, TxnError> {
        let hooks = std::mem::take(&mut self.hooks);
        if self.is_read_only() {
            let csn = self.snapshot.csn();
            let commit = Commit { csn, time_us: self.engine.time_us(csn)? };
            hooks.into_iter().for_each(|hook| hook(commit.csn.0, commit.time_us));
            return Ok(Ordered::done(self, commit));
        }
        let CommitMeta { author, message, authored_us, durability } = meta;
        let reads = std::mem::take(self.reads.get_mut());
        let prepared = Prepared {
            writes: std::mem::take(&mut self.writes).into_writes(),
            note: Note { author: &author, message: &message, authored_us },
            loaded: self.loaded.take(),
            durability,
            hooks,
            reads: (!reads.is_empty()).then_some((&reads, self.snapshot.csn())),
        };
        let place = self.engine.order(prepared)?;
        Ok(Ordered::waiting(self, place))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.engine.locks.unlock(self.id, &self.held);
        if let Some(loaded) = self.loaded.take() {
            self.engine.store.discard(&loaded);
        }
    }
}

/// What was found of a row once it was locked.
enum Found {
    Unchanged,
    ChangedBy(Csn),
}

fn updated(csn: Csn) -> TxnError {
    TxnError::Serialization { why: SerializationFailure::Updated(csn) }
}
