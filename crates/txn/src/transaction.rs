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
//! Every written row is locked until the commit is visible or the write is rolled back, so two
//! writers of one row come one after the other. Under REPEATABLE READ the first to commit wins: the
//! second finds a version newer than its snapshot and fails. Readers take no locks and never wait.
//!
//! A delta is a change against a value that was read. Under READ COMMITTED a transaction makes three
//! calls: [`Transaction::lock`], read, [`Transaction::delta`]. If the row has changed, the lock moves the
//! snapshot forward, so that the base of the delta is the value that was read. A delta on a row that
//! changed and was not locked before is refused (40001) at every level, because it would be applied
//! to a value that its author never saw.
//!
//! A layer that manages its own rows locks them with [`Transaction::lock_row`], in the mode that it
//! needs. That never moves the snapshot. If a row has changed, the layer reads the newest committed
//! version of this row alone ([`Transaction::latest`]), which the lock protects from changes. It writes a
//! row that it has locked, or a row that depends on a locked one, with [`Transaction::write`], which
//! locks nothing.
//!
//! # Invariants
//! * A row with a write of this transaction is locked by it, or depends on a row that is.
//! * The rollback to a savepoint releases the locks that were taken after it; nothing releases them
//!   before.
//! * The snapshot moves only under READ COMMITTED, and only forward.
//! * A transaction that is dropped without commit leaves nothing behind.

mod locking;

use std::any::Any;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use store::{Csn, Loaded, Op, TableId, Write};

use crate::changes::{self, CHANGES_TABLE, TableChange, TableChanges, Touched};
use crate::cursor::KeyRange;
use crate::engine::{Commit, CommitMeta, Engine, Prepared, limit};
use crate::error::TxnError;
use crate::large::{self, Movable};
use crate::loads::Loads;
use crate::locks::{Held, Queued, Reader, RowLock, TxnId};
use crate::observer::Hint;
use crate::ordered::Ordered;
use crate::publish::Hook;
use crate::readset::ReadSet;
use crate::record::{Note, RECORD_BYTES_MAX};
use crate::row::Row;
use crate::scan::TxnScan;
use crate::snapshot::Snapshot;
use crate::stamp::Stamp;
use crate::turns::{Turns, WRITES};
use crate::view::View;
use crate::writeset::{Moment, OPERATIONS_MAX, OwnBase, WriteSet};
use locking::{Found, updated};

pub use locking::{Locked, Wait};

/// A transaction spills its writes to a file when they have so many times `large_bytes` in memory.
const MEMORY_PARTS: usize = 4;

/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 65_000;

/// The changes of other transactions that a transaction may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// The whole transaction sees what was committed before it began; the first to update a row wins.
    RepeatableRead,
    /// As if transactions had run one after the other, in the order of their commits.
    Serializable,
}

/// A position in a transaction, to roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint {
    operations: usize,
    marked_before: usize,
    loads: usize,
    hooks: usize,
    hints: usize,
    changes: usize,
    rows: usize,
    relations: usize,
    noted: usize,
}

/// A transaction. Dropping it rolls it back.
pub struct Transaction {
    engine: Arc<Engine>,
    id: TxnId,
    isolation: Isolation,
    pub(crate) snapshot: Snapshot,
    pub(crate) writes: WriteSet,
    held: Vec<Held>,
    /// The row lock that the last call failed to get in time.
    missed: Option<Held>,
    /// Its place in the queue of a row.
    queued: Option<Queued>,
    /// Locks of relations, few, each with the relation's number.
    relations: Vec<(u32, Held)>,
    /// The session's list of weak relation locks, and how many of them are this transaction's.
    reader: Option<Arc<Reader>>,
    noted: usize,
    /// A mutex, not a cell, so that a transaction can be lent to other threads for reading.
    pub(crate) reads: Mutex<ReadSet>,
    hooks: Vec<Hook>,
    hints: Vec<Hint>,
    /// The changes for the table of changes, in the order of the operations.
    changes: Vec<TableChange>,
    pub(crate) loads: Loads,
    /// Bytes of writes in memory from which on some are spilled to a file.
    spill_at: usize,
    turns: Turns,
    lock_timeout_us: Option<u64>,
    interrupt: Option<Arc<AtomicBool>>,
    pub(crate) stamp: Stamp,
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
            missed: None,
            queued: None,
            relations: Vec::new(),
            reader: None,
            noted: 0,
            reads: Mutex::default(),
            stamp: Stamp::new(id.0),
            hooks: Vec::new(),
            hints: Vec::new(),
            changes: Vec::new(),
            loads: Loads::new(Arc::clone(&engine)),
            spill_at: MEMORY_PARTS * engine.large_bytes,
            turns: Turns::new(WRITES),
            lock_timeout_us: engine.lock_timeout_us,
            interrupt: None,
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

    /// Returns the state of other transactions that this one sees.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// True if the transaction has no writes (or has rolled back all of them) and no bulk loads.
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty() && self.loads.is_empty()
    }

    /// True if it has locked rows.
    pub fn has_locked_rows(&self) -> bool {
        !self.held.is_empty()
    }

    /// Begins a statement: under READ COMMITTED it sees all commits that are visible now.
    pub fn statement(&mut self) {
        if self.isolation == Isolation::ReadCommitted
            && self.snapshot.csn() != self.engine.visible()
        {
            self.snapshot = Snapshot::now(Arc::clone(&self.engine), false);
        }
    }

    /// Moves the snapshot to the newest visible commit, at every level: for a transaction that was begun
    /// before its first statement, and has read and written nothing yet.
    pub fn settle(&mut self) {
        assert!(self.is_read_only(), "a transaction with writes cannot change its snapshot");
        if self.snapshot.csn() != self.engine.visible() {
            self.snapshot = Snapshot::now(Arc::clone(&self.engine), self.is_serializable());
        }
    }

    /// Makes the transaction, which has read and written nothing yet, see the database as of `csn`.
    ///
    /// # Errors
    /// [`TxnError::NoSuchCommit`] if `csn` is not visible.
    pub fn see_at(&mut self, csn: Csn) -> Result<(), TxnError> {
        assert!(self.is_read_only(), "a transaction with writes cannot change its snapshot");
        self.snapshot = Snapshot::past(Arc::clone(&self.engine), csn)?;
        Ok(())
    }

    /// Sets how long the transaction waits for locks, in microseconds; `None` for no limit.
    pub fn set_lock_timeout(&mut self, us: Option<u64>) {
        self.lock_timeout_us = us;
    }

    /// Sets the flag that ends a wait for a lock with [`TxnError::Interrupted`]. To interrupt, set the flag to
    /// true, then call [`Engine::interrupt`] with the transaction's [`Transaction::id`].
    pub fn set_interrupt(&mut self, flag: Option<Arc<AtomicBool>>) {
        self.interrupt = flag;
    }

    /// Sets the list in which the session notes weak relation locks.
    pub fn set_reader(&mut self, reader: Arc<Reader>) {
        assert_eq!(self.noted, 0, "the list cannot change while it has locks of the transaction");
        self.reader = Some(reader);
    }

    /// Returns the identity of the transaction, which no other transaction of the open engine has.
    pub fn id(&self) -> TxnId {
        self.id
    }

    // --- reading ---------------------------------------------------------------------------------

    pub(crate) fn is_serializable(&self) -> bool {
        self.isolation == Isolation::Serializable
    }

    pub(crate) fn note_read(&self, table: TableId, key: &[u8]) {
        self.reads.lock().add_key(table, self.engine.hasher.hash(table, key));
    }

    pub(crate) fn note_range(&self, table: TableId, lower: Vec<u8>, upper: Option<Vec<u8>>) {
        self.reads.lock().add_range(table, lower, upper);
    }

    /// Counts a range of keys as read, under SERIALIZABLE: for a caller that has read past versions of
    /// its keys up to the snapshot.
    pub fn note_scan(&self, table: TableId, range: KeyRange) {
        if !self.is_serializable() {
            return;
        }
        let lower = match range.lower {
            Bound::Included(key) | Bound::Excluded(key) => key,
            Bound::Unbounded => Vec::new(),
        };
        let upper = match range.upper {
            Bound::Included(key) => Some([&key, &[0][..]].concat()),
            Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        };
        self.note_range(table, lower, upper);
    }

    /// Fails with 40001 if the commit would fail with it: under SERIALIZABLE, if another transaction has
    /// written a key or range that this one has read. For a caller that is about to report a result.
    pub fn check_reads(&self) -> Result<(), TxnError> {
        let reads = self.reads.lock();
        if reads.is_empty() {
            return Ok(());
        }
        self.engine.validate(Some((&*reads, self.snapshot.csn()))).map(|_| ())
    }

    /// True if it has written to a table.
    pub fn has_written(&self, table: TableId) -> bool {
        self.writes.touches(table) || self.loads.has_piece_of(table)
    }

    /// The state of `key` with the transaction's own writes, unmerged; `None` if it is absent or
    /// deleted.
    pub fn read(&self, table: TableId, key: &[u8]) -> Result<Option<Row<'_>>, TxnError> {
        self.view().read(table, key)
    }

    /// Appends the merged value of `key`, with the transaction's own writes, to `out`. Returns the
    /// commit of its newest change ([`Csn::MAX`] where that is the transaction's own), or `None` if
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

    /// Returns the live keys of a range with their states, the transaction's own writes included, in order or in
    /// reverse. Under SERIALIZABLE the part of the range that the scan has passed counts as read once the scan is
    /// dropped.
    pub fn scan(
        &self,
        table: TableId,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        reverse: bool,
    ) -> TxnScan<'_> {
        TxnScan::new(self, table, lower, upper, reverse)
    }

    /// The transaction's own writes over its snapshot.
    pub fn view(&self) -> View<'_> {
        View::of(self, &self.snapshot)
    }

    /// Returns a snapshot of the newest visible commit. A [`View::of`] the transaction and this snapshot has the
    /// transaction's own writes too: callers use it to read locked rows and to check constraints.
    pub fn latest(&self) -> Snapshot {
        Snapshot::now(Arc::clone(&self.engine), false)
    }

    // --- writing ---------------------------------------------------------------------------------

    /// Sets the whole value of `key`. Takes the row lock.
    pub fn put(&mut self, table: TableId, key: &[u8], value: Vec<u8>) -> Result<(), TxnError> {
        self.unload(table, key)?;
        self.lock_to_write(table, key, value.len())?;
        self.push(table, key, Op::Put(value));
        self.spill_if_full()
    }

    /// Deletes `key`, if it exists. Takes the row lock.
    pub fn delete(&mut self, table: TableId, key: &[u8]) -> Result<(), TxnError> {
        self.unload(table, key)?;
        self.lock_to_write(table, key, 0)?;
        self.push(table, key, Op::Delete);
        self.spill_if_full()
    }

    /// Changes the value of `key` by a delta of its table's own kind. Takes the row lock. Fails with
    /// [`TxnError::NoBase`] if the key has no value. Fails with 40001, at every level, if the key has changed since the
    /// snapshot and was not locked before.
    pub fn delta(&mut self, table: TableId, key: &[u8], delta: Vec<u8>) -> Result<(), TxnError> {
        self.unload(table, key)?;
        self.check_size(key, delta.len())?;
        if let Found::ChangedBy(csn) = self.acquire(table, key, RowLock::Update, Wait::Allowed)? {
            return Err(updated(csn));
        }
        let stands = match self.writes.own(table, key, Moment::END) {
            Some(own) if own.base == OwnBase::Deleted => false,
            Some(_) => true,
            None => match self.loads.read(table, key, Moment::END)? {
                Some(own) => own.is_some(),
                None => self.snapshot.read(table, key)?.is_some(),
            },
        };
        if !stands {
            return Err(TxnError::NoBase { table });
        }
        self.push(table, key, Op::Delta(delta));
        self.spill_if_full()
    }

    /// Writes to a key that a lock of this transaction protects from other writers: the lock of the key
    /// ([`Transaction::lock_latest`], in mode NO KEY UPDATE or above), or the lock of the row that the key
    /// depends on, as an index entry depends on its row. The base of a delta is the newest state, which
    /// the caller has read.
    pub fn write(&mut self, table: TableId, key: Vec<u8>, op: Op) -> Result<(), TxnError> {
        let bytes = match &op {
            Op::Put(bytes) | Op::Delta(bytes) => bytes.len(),
            Op::Delete | Op::Erase { .. } => 0,
        };
        self.unload(table, &key)?;
        self.check_size(&key, bytes)?;
        self.writes.push(Write { table, key, op });
        self.spill_if_full()
    }

    /// The lock for a write of a whole value: under READ COMMITTED it may replace a version that this transaction
    /// has not read.
    fn lock_to_write(
        &mut self,
        table: TableId,
        key: &[u8],
        value_bytes: usize,
    ) -> Result<(), TxnError> {
        self.check_size(key, value_bytes)?;
        match self.acquire(table, key, RowLock::Update, Wait::Allowed)? {
            Found::ChangedBy(csn) if self.isolation != Isolation::ReadCommitted => {
                Err(updated(csn))
            }
            _ => Ok(()),
        }
    }

    fn check_size(&self, key: &[u8], value_bytes: usize) -> Result<(), TxnError> {
        limit("key", key.len(), KEY_BYTES_MAX)?;
        limit("value", value_bytes, RECORD_BYTES_MAX)?;
        limit("number of writes in a transaction", self.writes.len() + 1, OPERATIONS_MAX)
    }

    fn push(&mut self, table: TableId, key: &[u8], op: Op) {
        self.writes.push(Write { table, key: key.to_vec(), op });
    }

    // --- ending ----------------------------------------------------------------------------------

    /// Hands a value to the observers of the engine, which see it beside the commit's record
    /// ([`Observed::take_hints`](crate::Observed::take_hints)). A rollback takes it back.
    pub fn hint(&mut self, hint: impl Any + Send) {
        self.hints.push(Box::new(hint));
    }

    /// Makes the table of changes keep which keys of `table` the commit writes
    /// ([`Engine::changes`](crate::Engine::changes)).
    pub fn note_changes(&mut self, table: TableId) {
        // From the end: consecutive writes are to the same few tables.
        if !self.changes.iter().rev().any(|known| known.table == table) {
            self.changes.push(TableChange { table, rows: 0 });
        }
    }

    /// As [`Transaction::note_changes`]; also records that `table` has so many rows more, or fewer. A rollback takes it
    /// back.
    pub fn note_rows(&mut self, table: TableId, rows: i64) {
        self.changes.push(TableChange { table, rows });
    }

    /// Removes a key from the table of changes of `table`, for a transaction that erases the key. `key` has
    /// the form of the table of changes ([`store::Table::subject`]); `csns` are the commits that have
    /// changed it. Errors: as [`Transaction::lock_latest`].
    pub fn erase_changes(
        &mut self,
        table: TableId,
        key: &[u8],
        mut csns: Vec<Csn>,
    ) -> Result<(), TxnError> {
        // Versions of the table that retention has dropped may still be among the changes.
        let engine = Arc::clone(&self.engine);
        let horizon = engine.store.horizon(table);
        for change in TableChanges::new(&engine.store, table, Csn::ZERO, horizon) {
            csns.push(change?.0);
        }
        csns.sort_unstable();
        csns.dedup();
        csns.into_iter().try_for_each(|csn| self.erase_change(table, csn, key))
    }

    fn erase_change(&mut self, table: TableId, csn: Csn, subject: &[u8]) -> Result<(), TxnError> {
        let key = changes::key(table, csn);
        self.lock_latest(CHANGES_TABLE, &key, RowLock::Update, Wait::Allowed)?;
        let own = self.writes.own(CHANGES_TABLE, &key, Moment::END).map(|own| own.base);
        let touched = match own {
            Some(OwnBase::Put(value)) => changes::touched(value, csn)?,
            Some(_) => return Ok(()),
            None => match changes::read(&self.engine.store, table, csn)? {
                Some(touched) => touched,
                None => return Ok(()),
            },
        };
        if matches!(&touched, Touched::Keys(keys) if keys.iter().all(|key| key != subject)) {
            return Ok(());
        }
        // The write also erases the previous value of the list, so that its bytes leave the files too.
        let op = changes::without(touched, subject).map_or(Op::Delete, Op::Put);
        self.write(CHANGES_TABLE, key.to_vec(), Op::Erase { from: Csn::ZERO, to: None })?;
        self.write(CHANGES_TABLE, key.to_vec(), op)
    }

    /// Runs `hook` with number and time just before the commit becomes visible, in the order of
    /// commits. It must be quick, must not panic and must not use the engine: every commit waits
    /// for it. It is for signals between the sessions of this process. State follows from the
    /// record of the commit and belongs to an [`Observer`](crate::Observer), because a follower
    /// runs no hooks.
    pub fn on_publish(&mut self, hook: impl FnOnce(Commit) + Send + 'static) {
        self.hooks.push(Box::new(move |csn, time_us| hook(Commit { csn: Csn(csn), time_us })));
    }

    /// Makes a bulk load part of the commit. The transaction's locks protect its keys from other writers,
    /// and the transaction has not written them itself. If the transaction does not commit, the files are
    /// removed. From now on the transaction sees the loaded keys.
    pub fn attach(&mut self, loaded: Loaded) -> Result<(), TxnError> {
        let made = self.writes.step();
        self.loads.push(loaded, made, false)
    }

    /// True if the transaction has written so much that its puts and deletions go to files.
    pub fn is_large(&self) -> bool {
        self.writes.bytes() > self.engine.large_bytes || self.loads.has_pieces()
    }

    /// Spills writes to a file if they have outgrown memory.
    #[inline]
    fn spill_if_full(&mut self) -> Result<(), TxnError> {
        self.turns.step();
        if self.writes.bytes() < self.spill_at { Ok(()) } else { self.try_to_spill() }
    }

    #[cold]
    fn try_to_spill(&mut self) -> Result<(), TxnError> {
        // If a savepoint or a reader needs most of the writes in memory, the spill waits.
        if self.writes.divided() > self.writes.len() / 2 { Ok(()) } else { self.spill() }
    }

    fn spill(&mut self) -> Result<(), TxnError> {
        let budget = MEMORY_PARTS * self.engine.large_bytes;
        if !self.loads.has_loads() {
            let files = Movable::new(&self.engine, self.writes.tables());
            let goes = |write: &Write| large::is_plain(write) && files.take(write);
            let undivided = self.writes.undivided().filter(|write| goes(write));
            if let Some(loaded) = large::piece(&self.engine, undivided)? {
                let made = self.writes.step();
                self.loads.push(loaded, made, true)?;
                // Only what can be read from the piece leaves memory.
                self.writes.remove_undivided(goes);
            }
        }
        self.spill_at = self.writes.bytes() + budget;
        Ok(())
    }

    /// True if the transaction has written or loaded keys of a table.
    pub fn touches(&self, table: TableId) -> bool {
        self.writes.touches(table) || self.loads.touches(table)
    }

    /// If `key` was loaded, turns the writes that were loaded together with it into ordinary writes: one commit does
    /// not both load and write a key.
    fn unload(&mut self, table: TableId, key: &[u8]) -> Result<(), TxnError> {
        let Some(load) = self.loads.holder(table, key)? else { return Ok(()) };
        let (position, moment) = (self.writes.len(), self.writes.moment());
        let written = self.loads.of(load).for_each(|table, key, value| {
            self.check_size(key, value.len())?;
            self.push(table, key, Op::Put(value.to_vec()));
            Ok::<_, TxnError>(())
        });
        match written {
            Ok(()) => self.loads.set_written(load, position, moment),
            Err(_) => self.writes.truncate(position),
        }
        written
    }

    /// Marks the present position.
    pub fn savepoint(&self) -> Savepoint {
        let (operations, marked_before) = self.writes.mark();
        Savepoint {
            operations,
            marked_before,
            loads: self.loads.len(),
            hooks: self.hooks.len(),
            hints: self.hints.len(),
            changes: self.changes.len(),
            rows: self.held.len(),
            relations: self.relations.len(),
            noted: self.noted,
        }
    }

    /// Releases the savepoint and later ones: no rollback to them follows, so the writes since then may
    /// be spilled.
    ///
    /// # Errors
    /// Fails if a file has to be written now and cannot be; the savepoint is released all the same.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<(), TxnError> {
        self.writes.unmark((savepoint.operations, savepoint.marked_before));
        self.spill_if_full()
    }

    /// Takes back the writes since the savepoint, and releases the locks that were taken since. The
    /// savepoint can be used again; later ones are gone.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.writes.truncate(savepoint.operations);
        self.loads.truncate(savepoint.loads, savepoint.operations);
        self.hooks.truncate(savepoint.hooks);
        self.hints.truncate(savepoint.hints);
        self.changes.truncate(savepoint.changes);
        self.unlock(savepoint.rows, savepoint.relations, savepoint.noted);
    }

    /// Undoes all writes and releases all locks; the same as dropping the transaction.
    pub fn rollback(self) {}

    /// Commits; returns once the commit has its durability and is visible. A transaction that wrote
    /// nothing always succeeds and makes no commit of its own.
    ///
    /// # Errors
    /// Fails with 40001 under SERIALIZABLE if another transaction has written a key or range that this one
    /// has read; the transaction is then rolled back. After [`TxnError::OutcomeUnknown`] the commit may or
    /// may not have happened.
    pub fn commit(self, meta: CommitMeta) -> Result<Commit, TxnError> {
        self.order(meta)?.wait()
    }

    /// Does the part of a commit that decides whether it happens, and its place in the order. It does not
    /// wait for the disk: [`Ordered::wait`] does. A thread that serves many transactions orders those that
    /// are ready and then waits for them: the first wait syncs for all.
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
        let CommitMeta { author, message, role, authored_us, mut extension, durability } = meta;
        if extension.is_empty() {
            extension = self.stamp.extension();
        }
        let reads = std::mem::take(self.reads.get_mut());
        let writes = std::mem::take(&mut self.writes).into_writes();
        let staged = self.loads.to_merge();
        let is_loaded = |table| staged.is_empty() && self.loads.touches(table);
        let (writes, late) = large::split(&self.engine, writes, &staged, is_loaded)?;
        if !staged.is_empty() {
            // Their keys are in the files of the commit.
            self.loads.truncate(0, 0);
        }
        let prepared = Prepared {
            writes,
            note: Note {
                author: &author,
                message: &message,
                role: &role,
                authored_us,
                tables: &[],
                extension: &extension,
            },
            loaded: match (self.loads.take(), late) {
                (Some(loaded), Some(late)) => Some(Loaded::join([loaded, late])),
                (loaded, late) => loaded.or(late),
            },
            durability,
            hooks,
            hints: std::mem::take(&mut self.hints),
            changes: changes::sum(&self.changes),
            reads: (!reads.is_empty()).then_some((&reads, self.snapshot.csn())),
        };
        let place = self.engine.order(prepared)?;
        // A transaction that waits long for the disk, or does not wait yet, must keep no old
        // versions alive.
        self.snapshot.release();
        Ok(Ordered::waiting(self, place))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.leave_queue();
        self.unlock(0, 0, 0);
    }
}
