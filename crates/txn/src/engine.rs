//! The engine: one log, one store, and the order of commits between them.
//!
//! ```text
//!   transaction            commit mutex                     outside it
//!   ───────────            ────────────                     ──────────
//!   encode record    ──>   validate reads           ──>     log.sync      (one for many)
//!   store.admit            number: csn, time                publish       in order: observers, visible
//!   validate reads         log.append                       release the row locks
//!   (what is there)        apply
//! ```
//!
//! Only the steps that need the order run under the commit mutex: no thread uses the disk or waits for a flush there.
//! Before the mutex, `Store::admit` delays writers that are faster than the flush, one by one. The store has a commit
//! before the log has made it durable, but no reader sees it: readers read at the newest *visible* commit, and that
//! moves only after the sync.
//!
//! # When the log fails
//! After a failed write or sync it is unknown what the disk holds. The engine is then poisoned: unfinished
//! commits fail with "outcome unknown" (58030), later ones are refused, waits for row locks end with an
//! error, reads go on. Only reopening shows which commits are durable.
//!
//! # One path into memory
//! Only `Engine::enter` takes a commit into memory: the commit of a transaction, a commit that the log
//! has beyond the store's files when the engine is opened, and a commit of another engine whose log
//! this one follows ([`Engine::apply`]). All state in memory is derived from the records of commits:
//! the table of commits, and the state of the observers ([`Observer`]).
//!
//! # Opening
//! The store says which commits its files cover and where in the log the other commits begin. The engine
//! applies these from the log. Log and segments are files of a folder ([`Engine::open`]), or implementations
//! that the caller gives ([`Engine::open_on`]).
//!
//! # Following
//! A follower is an engine that makes no commits of its own: it takes the records of a leader's log in
//! their order, and then gives the same answer to every read as the leader at the same commit.
//!
//! # Invariants
//! * Commit numbers are dense, in the log as in the store. Each commit has a later time than the one before it
//!   (releases before this one gave several commits one time).
//! * visible <= numbered; what the store may flush is durable in the log.
//! * Every numbered commit is in the queue, or visible, or the engine is poisoned.

mod backups;
mod follow;
mod holds;
mod open;
mod room;

use backups::Backups;
pub use backups::{BackupId, BackupPlan, LogBatch, RecordHead};
use holds::Holds;
pub use holds::LogHold;
use open::read_note;
use room::Room;
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use log::{AtomicLsn, CommitLog, Durability, LogError, LogOptions, Lsn};
use parking_lot::Mutex;
use store::{Csn, Hold, Loaded, Store, StoreError, StoreOptions, Table, TableId, Write};
use vfs::{Clock, DirLock, Random};

use crate::changes::{self, ChangeList, Derived, TableChange, TableChanges, Touched};
use crate::commits::{CommitIndex, Milestones};
use crate::error::{EngineError, Failure, SerializationFailure, TxnError};
use crate::infos::{CommitInfo, CommitInfos};
use crate::locks::{LockManager, LockWait, Reader, RelationClaim, RowHasher, TxnId, WaitWatch};
use crate::observer::{Hint, Observer, Observers};
use crate::pages::page_write;
use crate::publish::{Hook, Pending, PublishQueue};
use crate::readset::{ReadSet, Verdict, Window};
use crate::record::{self, Note};
use crate::snapshot::Snapshot;
use crate::tracker::Tracker;
use crate::transaction::{Isolation, Transaction};

/// Finds a table by its number. The engine never asks it for the table of commits and the table of changes.
pub type TableResolver = Arc<dyn Fn(TableId) -> Arc<dyn Table> + Send + Sync>;

/// Bytes of log between two checks whether the log can be cut.
const RELEASE_EVERY_BYTES: u64 = 1 << 20;
/// The most log, in bytes, that a clean close leaves for the next open to replay.
const REPLAY_BYTES_MAX: u64 = 256 << 10;
/// The most log, in bytes, that is written without a sync if commits ask for none.
const UNSYNCED_BYTES_MAX: u64 = 8 << 20;
/// The longest time between syncs, in microseconds, while commits come that ask for none.
const UNSYNCED_US_MAX: u64 = 200_000;

/// The options of an engine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The durability that a commit waits for, unless it has its own.
    pub durability: Durability,
    /// How long a transaction waits for a row lock, in microseconds; `None` for as long as it takes.
    pub lock_timeout_us: Option<u64>,
    /// The options of the store, such as the sizes of cache and memtable.
    pub store: StoreOptions,
    /// The options of the log.
    pub log: LogOptions,
    /// A transaction that writes more bytes than this writes most of them to files before its commit, so
    /// that no other commit waits for them.
    pub large_bytes: usize,
    /// True for a follower: commits come by [`Engine::apply`] alone, transactions only read.
    pub follower: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            durability: Durability::Sync,
            lock_timeout_us: None,
            store: StoreOptions::default(),
            log: LogOptions::default(),
            large_bytes: 2 << 20,
            follower: false,
        }
    }
}

/// The properties of a commit, beside its writes.
#[derive(Clone, Debug, Default)]
pub struct CommitMeta {
    /// The author, up to [`crate::AUTHOR_BYTES_MAX`]; may be empty.
    pub author: String,
    /// The message, up to [`crate::MESSAGE_BYTES_MAX`]; may be empty.
    pub message: String,
    /// The authenticated role of the client, up to [`crate::ROLE_BYTES_MAX`]; empty without authentication.
    pub role: Arc<str>,
    /// The time at which the change was made elsewhere, for imports, in microseconds since 1970 UTC.
    pub authored_us: Option<u64>,
    /// The bytes that the application keeps with the commit ([`Engine::extension`]), up to
    /// [`crate::EXTENSION_BYTES_MAX`]; may be empty.
    pub extension: Vec<u8>,
    /// The durability to wait for, if not that of the engine's options.
    pub durability: Option<Durability>,
}

/// A finished commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its number; of a transaction that wrote nothing, the commit that it read at.
    pub csn: Csn,
    /// Its time, in microseconds since 1970 UTC.
    pub time_us: u64,
}

/// Figures about a running engine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineStats {
    /// The newest visible commit.
    pub visible: Csn,
    /// The oldest commit that a snapshot of the present reads.
    pub oldest_snapshot: Option<Csn>,
    /// Rows and relations locked now.
    pub locked_rows: usize,
    /// Transactions that wait for one of them.
    pub waiting: usize,
    /// Commits whose keys are remembered for serializable transactions, and the bytes of these keys.
    pub window: (usize, usize),
    /// The failure that stopped all writing, if one did.
    pub poisoned: Option<Arc<str>>,
    /// The figures of the log.
    pub log: log::LogStats,
    /// The figures of the store.
    pub store: store::StoreStats,
}

/// The state under the commit mutex: the last number and time given.
struct Sequencer {
    csn: Csn,
    time_us: u64,
}

/// A transaction that is ready to commit.
pub(crate) struct Prepared<'a> {
    pub writes: Vec<Write>,
    pub note: Note<'a>,
    /// Files written beforehand that become part of the commit.
    pub loaded: Option<Loaded>,
    pub durability: Option<Durability>,
    pub hooks: Vec<Hook>,
    pub hints: Vec<Hint>,
    /// The tables that were changed, for the table of changes.
    pub changes: ChangeList,
    /// The reads and their commit, where they must be validated.
    pub reads: Option<(&'a ReadSet, Csn)>,
}

/// The position of an ordered commit in the log, and the durability that it waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitPosition {
    pub commit: Commit,
    lsn: Lsn,
    durability: Durability,
}

/// A database's log, store, clock and locks, and the order of its commits.
pub struct Engine {
    pub(crate) store: Store,
    pub(crate) tracker: Tracker<Hold>,
    pub(crate) locks: LockManager,
    pub(crate) hasher: RowHasher,
    pub(crate) lock_timeout_us: Option<u64>,
    log: Arc<dyn CommitLog>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    resolve: TableResolver,
    durability: Durability,
    sequencer: Mutex<Sequencer>,
    window: Window,
    queue: PublishQueue,
    commits: CommitIndex,
    /// The first commit that the table of changes lists; above all commits if it lists none.
    changes_from: AtomicU64,
    pub(crate) observers: Arc<Observers>,
    pub(crate) large_bytes: usize,
    /// Shared with the store, which needs it for retention by time.
    milestones: Arc<Milestones>,
    stopped: OnceLock<Stopped>,
    room: Room,
    follower: bool,
    /// Held by the thread that applies the commits of a leader.
    following: Mutex<()>,
    next_txn: AtomicU64,
    /// The position of the last check whether the log can be cut.
    looked_at: AtomicLsn,
    /// The parts of the log that are kept for followers.
    holds: Holds,
    /// The backups that clients copy.
    backups: Backups,
    /// Monotonic time of the last sync by commits with the durability `Os`.
    settled_us: AtomicU64,
    /// The database's folder, and the lock on it; `None` if log and segments are elsewhere.
    dir: Option<(PathBuf, Box<dyn DirLock>)>,
}

/// The reason why the engine writes nothing more.
enum Stopped {
    Closed,
    Failed(Failure),
}

impl Engine {
    /// Makes `observer` see every commit from the next one on, as long as its owner keeps it. The
    /// caller makes sure that no commit becomes visible between the snapshot from which the
    /// observer was filled and this call.
    pub fn observe(&self, observer: Weak<dyn Observer>) {
        self.observers.add(observer);
    }

    /// The database as of the newest visible commit.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        Snapshot::now(Arc::clone(self), false)
    }

    /// Returns the database as of `csn`. Fails if `csn` is not visible yet. If retention has
    /// dropped a version, the read of it fails.
    pub fn snapshot_at(self: &Arc<Self>, csn: Csn) -> Result<Snapshot, TxnError> {
        Snapshot::past(Arc::clone(self), csn)
    }

    /// The identity that the next transaction gets.
    pub fn next_transaction(&self) -> TxnId {
        TxnId(self.next_txn.load(Ordering::Relaxed))
    }

    /// Begins a transaction.
    pub fn begin(self: &Arc<Self>, isolation: Isolation) -> Transaction {
        let id = TxnId(self.next_txn.fetch_add(1, Ordering::Relaxed));
        Transaction::new(Arc::clone(self), id, isolation)
    }

    /// Makes the transaction, if it waits for a lock, check its interrupt flag again: see
    /// [`Transaction::set_interrupt`].
    pub fn interrupt(&self, transaction: TxnId) {
        self.locks.interrupt(transaction);
    }

    /// Makes every transaction that sleeps for a lock from now on ask `watch` whether it goes on.
    /// Returns false if there is a watch already.
    pub fn watch_waits(&self, watch: WaitWatch) -> bool {
        self.locks.set_watch(watch)
    }

    /// The transactions whose locks of rows or relations one transaction waits for now; none if it does
    /// not wait, or has ended.
    pub fn waits_for(&self, transaction: TxnId) -> Vec<TxnId> {
        self.locks.waits_for(transaction)
    }

    /// A list in which the transactions of one session note which relations they read and change
    /// ([`Transaction::set_reader`]).
    pub fn reader(&self) -> Arc<Reader> {
        self.locks.reader()
    }

    /// Returns the transactions that hold locks of these relations, and those that wait for one.
    pub fn relation_claims(&self, relations: impl IntoIterator<Item = u32>) -> Vec<RelationClaim> {
        let hashed = relations.into_iter();
        self.locks.claims(&hashed.map(|it| (self.hasher.hash_relation(it), it)).collect())
    }

    /// Returns the transactions that wait for a lock now, and the owners that they wait for.
    pub fn lock_waits(&self) -> Vec<LockWait> {
        self.locks.all_waits()
    }

    /// True for an engine that follows another one, and makes no commits of its own.
    pub fn is_follower(&self) -> bool {
        self.follower
    }

    /// The newest visible commit; 0 before the first.
    pub fn visible(&self) -> Csn {
        Csn(self.tracker.visible())
    }

    /// The newest visible commit at or before a time in microseconds since 1970 UTC; 0 where all
    /// came later.
    pub fn csn_at(&self, time_us: u64) -> Result<Csn, TxnError> {
        self.commits.at_time(&self.store, time_us, self.visible())
    }

    /// Returns the time now, in microseconds since 1970 UTC, by the clock that commits get theirs from.
    pub fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    /// Returns the time of a visible commit, in microseconds since 1970 UTC; 0 of commit 0.
    ///
    /// # Errors
    /// Fails if the table of commits cannot be read.
    pub fn time_us(&self, csn: Csn) -> Result<u64, TxnError> {
        self.commits.time_us(&self.store, csn)
    }

    /// Returns the author, time and message of commit `csn`.
    pub fn commit_info(&self, csn: Csn) -> Result<CommitInfo, TxnError> {
        let newest = self.visible();
        if csn.0 == 0 || csn > newest {
            return Err(TxnError::NoSuchCommit { csn, newest });
        }
        self.commits.info(&self.store, csn)
    }

    /// The commits numbered `from` up to and including `to` (or the newest visible one), in order or
    /// newest first.
    pub fn commits(
        &self,
        from: Csn,
        to: Csn,
        newest_first: bool,
    ) -> impl Iterator<Item = Result<CommitInfo, TxnError>> + '_ {
        let (mut low, mut high) = (from.0.max(1), to.min(self.visible()).0);
        std::iter::from_fn(move || {
            if low > high {
                return None;
            }
            let csn = if newest_first { high } else { low };
            if newest_first {
                high -= 1;
            } else {
                low += 1;
            }
            Some(self.commits.info(&self.store, Csn(csn)))
        })
    }

    /// Returns the extension of a visible commit (the bytes that the application keeps with it); empty if
    /// it has none.
    ///
    /// # Errors
    /// [`TxnError::NoSuchCommit`] where there is no such commit.
    pub fn extension(&self, csn: Csn) -> Result<Vec<u8>, TxnError> {
        let newest = self.visible();
        if csn.0 == 0 || csn > newest {
            return Err(TxnError::NoSuchCommit { csn, newest });
        }
        self.commits.extension(&self.store, csn)
    }

    /// Appends to `out` the time of each of `csns` in microseconds (0 of commit 0): about 2 ns each
    /// where neighbours are near each other.
    pub fn times(&self, csns: &[Csn], out: &mut Vec<u64>) -> Result<(), TxnError> {
        let newest = self.visible();
        if let Some(csn) = csns.iter().copied().find(|csn| *csn > newest) {
            return Err(TxnError::NoSuchCommit { csn, newest });
        }
        self.commits.times(&self.store, csns, out)
    }

    /// The time of each of `csns` in microseconds (0 for commit 0), and its authored time, if it has one.
    pub fn moments(&self, csns: &[Csn]) -> Result<Vec<(u64, Option<u64>)>, TxnError> {
        let newest = self.visible();
        if let Some(csn) = csns.iter().copied().find(|csn| *csn > newest) {
            return Err(TxnError::NoSuchCommit { csn, newest });
        }
        self.commits.moments(&self.store, csns)
    }

    /// Returns author, time and message of each of `csns`: many commits at low cost, without a copy
    /// of any text.
    pub fn infos(&self, csns: Vec<Csn>) -> Result<CommitInfos, TxnError> {
        let newest = self.visible();
        if let Some(csn) = csns.iter().copied().find(|csn| csn.0 == 0 || *csn > newest) {
            return Err(TxnError::NoSuchCommit { csn, newest });
        }
        self.commits.infos(&self.store, csns)
    }

    /// The tables that commit `csn` has changed, ascending, as far as transactions record their changes
    /// ([`Transaction::note_changes`]).
    pub fn tables_changed(&self, csn: Csn) -> Result<ChangeList, TxnError> {
        let newest = self.visible();
        if csn.0 == 0 || csn > newest {
            return Err(TxnError::NoSuchCommit { csn, newest });
        }
        self.commits.tables(&self.store, csn)
    }

    /// The changes of `table` by the commits after `after` up to `to` (or the newest visible one), in their
    /// order.
    ///
    /// # Errors
    /// [`TxnError::ChangesForgotten`] where `after` is before what [`Engine::changes_kept`] names.
    pub fn changes(&self, table: TableId, after: Csn, to: Csn) -> Result<TableChanges, TxnError> {
        // A merge drops changes before it raises the horizon for readers, so the changes are pinned first.
        let changes = TableChanges::new(&self.store, table, after, to.min(self.visible()));
        let kept = self.changes_kept(table);
        if after < kept {
            return Err(TxnError::ChangesForgotten { after, kept });
        }
        Ok(changes)
    }

    /// Returns the keys of `table` that commit `csn` has changed; `None` if it changed none, or if its
    /// changes are not kept.
    pub fn change(&self, table: TableId, csn: Csn) -> Result<Option<Touched>, TxnError> {
        changes::read(&self.store, table, csn.min(self.visible()))
    }

    /// The commit after which the changes of `table` are kept: 0 unless retention has dropped changes, or a release
    /// without a table of changes made some commits.
    pub fn changes_kept(&self, table: TableId) -> Csn {
        let from = self.changes_from.load(Ordering::Relaxed);
        let before = if from == u64::MAX { self.visible().0 } else { from - 1 };
        Csn(before).max(self.store.horizon(table))
    }

    /// The store below, for reads, statistics and maintenance.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the table with this number.
    pub fn table(&self, table: TableId) -> Arc<dyn Table> {
        (self.resolve)(table)
    }

    /// The current figures.
    pub fn stats(&self) -> EngineStats {
        let (locked_rows, waiting) = self.locks.counts();
        let poisoned = match self.stopped.get() {
            Some(Stopped::Failed(cause)) => Some(cause.to_string().into()),
            _ => None,
        };
        EngineStats {
            visible: self.visible(),
            oldest_snapshot: self.tracker.oldest().map(Csn),
            locked_rows,
            waiting,
            window: self.window.size(),
            poisoned,
            log: self.log.stats(),
            store: self.store.stats(),
        }
    }

    /// Writes everything durable to the store's files and cuts the log below.
    pub fn checkpoint(&self) -> Result<(), TxnError> {
        self.settle()?;
        self.recall()?;
        self.store.flush()?;
        self.release_log()
    }

    /// Removes the erased bytes at once: from the log, and from the store's files as far as no snapshot is older than
    /// the erasure. Returns the commit up to which neither has erased bytes left. Makes an empty commit of its own,
    /// with which the log begins anew.
    pub fn scrub(&self) -> Result<Csn, TxnError> {
        let upto = self.visible();
        let turned = self.log.turn()?;
        let anew = Prepared {
            writes: Vec::new(),
            note: record::Note::default(),
            loaded: None,
            durability: Some(Durability::Sync),
            hooks: Vec::new(),
            hints: Vec::new(),
            changes: ChangeList::new(),
            reads: None,
        };
        let place = self.order(anew)?;
        self.finish(place)?;
        self.checkpoint()?;
        self.store.scrub()?;
        self.log.wipe()?;
        let pending = self.store.erasures().first().map_or(upto, |(csn, _)| Csn(csn.0 - 1));
        // If some commits could not be flushed, the log has to stay as it is.
        Ok(if self.log.oldest() < turned { Csn::ZERO } else { pending.min(upto) })
    }

    /// Makes every visible commit durable, ends the log cleanly and closes. If few bytes were committed
    /// since the last flush, they stay in the log and the next open applies them again. Otherwise they are
    /// flushed first, so that opening costs the same after any history.
    pub fn close(self: Arc<Self>) -> Result<(), EngineError> {
        let _ = self.stopped.set(Stopped::Closed);
        drop(self.sequencer.lock()); // the commit that was being numbered is done
        self.settle()?;
        if self.log.bytes_between(self.replay_from(), self.log.durable()) > REPLAY_BYTES_MAX {
            // Not needed for safety: it makes the next open quick. After an error here, the next
            // open does the work.
            let _ = self.store.flush();
            let _ = self.release_log();
        }
        let engine = Arc::try_unwrap(self)
            .map_err(|engine| EngineError::StillOpen { count: Arc::strong_count(&engine) - 1 })?;
        let Engine { log, store, .. } = engine;
        drop(store);
        Ok(log.close()?)
    }

    // --- the commit path -------------------------------------------------------------------------

    /// Numbers a commit and writes it to the log's buffer and to memory: only [`Engine::finish`] makes
    /// it durable and visible.
    pub(crate) fn order(&self, prepared: Prepared<'_>) -> Result<CommitPosition, TxnError> {
        let loaded = prepared.loaded.clone();
        let placed = self.place(prepared);
        self.room.note(&placed);
        if let (Some(loaded), Err(error)) = (loaded, &placed) {
            // If the outcome is unknown, the files stay: the log may name them.
            if !matches!(error, TxnError::OutcomeUnknown { .. }) {
                self.store.discard(&loaded);
            }
        }
        placed
    }

    /// Returns once an ordered commit has its durability and is visible.
    pub(crate) fn finish(&self, place: CommitPosition) -> Result<(), TxnError> {
        let CommitPosition { commit, lsn, durability } = place;
        self.log.sync(lsn, durability).map_err(|error| self.unknown(error))?;
        self.publish(commit.csn, lsn)?;
        self.maintain(lsn, durability);
        Ok(())
    }

    /// Orders the commit: first the work outside the commit mutex, then the work under it.
    fn place(&self, prepared: Prepared<'_>) -> Result<CommitPosition, TxnError> {
        let durability = prepared.durability.unwrap_or(self.durability);
        let changes = changes::derive(
            &prepared.changes,
            &prepared.writes,
            prepared.loaded.as_ref(),
            &self.resolve,
        );
        let mut list = Vec::new();
        let is_told = |change: &TableChange| {
            change.rows != 0 || changes.iter().any(|(table, _)| *table == change.table)
        };
        let told: ChangeList = prepared.changes.iter().copied().filter(is_told).collect();
        changes::put_list(&mut list, &told);
        let prepared = Prepared { note: Note { tables: &list, ..prepared.note }, ..prepared };
        let (mut bytes, tables) = encode(&prepared)?;
        // Waits while memory is full, and fails if files cannot be written, before the log has the commit.
        self.store.admit()?;
        let reads = self.validate(prepared.reads)?;
        let Prepared { writes, note, loaded, hooks, hints, .. } = prepared;
        let mut last = self.sequencer.lock();
        self.refuse_if_stopped()?;
        self.validate(reads)?;
        let csn = Csn(last.csn.0 + 1);
        let time_us = self.clock.now_us().max(last.time_us + 1);
        record::number(&mut bytes, csn, time_us);
        let lsn = self.log.append(&bytes).map_err(|error| match error {
            // A full disk: this commit has no room, and what was there before is as it was.
            LogError::Io { .. } => TxnError::Log(error),
            // A successor writes now: the log did not take this commit, and takes none.
            LogError::Fenced => TxnError::Refused { cause: self.stop(error) },
            error => self.unknown(error),
        })?;
        let commit = Commit { csn, time_us };
        self.enter(commit, &note, writes, loaded.as_ref(), Some(changes))
            .map_err(|error| self.unknown(error))?;
        if let Some(loaded) = &loaded {
            self.holds.keep(lsn, || self.store.keep(loaded));
        }
        *last = Sequencer { csn, time_us };
        let durable = !matches!(durability, Durability::Os);
        let observers = Arc::clone(&self.observers);
        let hook: Hook = Box::new(move |csn, time_us| {
            observers.show(commit, &bytes, &tables, hints);
            hooks.into_iter().for_each(|hook| hook(csn, time_us));
        });
        self.queue.push(Pending { csn: csn.0, time_us, lsn, durable, hook });
        Ok(CommitPosition { commit, lsn, durability })
    }

    /// Takes the next commit into memory. The calls come in the order of commit numbers; the commit becomes visible
    /// later. `changes` is the commit's list for the table of changes; `None` if a release without that table made the
    /// commit.
    fn enter(
        &self,
        commit: Commit,
        note: &Note<'_>,
        mut writes: Vec<Write>,
        loaded: Option<&Loaded>,
        changes: Option<Derived>,
    ) -> Result<(), StoreError> {
        let Commit { csn, time_us } = commit;
        let own = writes.len();
        writes.push(page_write(csn, time_us, note));
        if let Some(changes) = changes {
            if self.changes_from.load(Ordering::Relaxed) > csn.0 {
                self.changes_from.store(csn.0, Ordering::Relaxed);
                writes.push(changes::begin_write(csn));
            }
            let changes = changes.into_iter();
            writes.extend(changes.map(|(table, keys)| changes::change_write(table, csn, keys)));
        }
        if let Some(loaded) = loaded {
            self.store.ingest(csn, loaded)?;
        }
        self.store.apply(csn, &writes)?;
        writes.truncate(own);
        self.commits.push(csn, time_us, note);
        self.milestones.note(csn, time_us);
        self.window.push(csn, writes, loaded);
        Ok(())
    }

    /// Checks the reads against the commits since; returns the commit up to which they are valid now.
    pub(crate) fn validate<'a>(
        &self,
        reads: Option<(&'a ReadSet, Csn)>,
    ) -> Result<Option<(&'a ReadSet, Csn)>, TxnError> {
        let Some((reads, after)) = reads else { return Ok(None) };
        match self.window.validate(reads, &self.hasher, after) {
            Verdict::ValidUpTo(csn) => Ok(Some((reads, csn))),
            Verdict::Missed(csn) => {
                Err(TxnError::Serialization { why: SerializationFailure::Read(csn) })
            }
            Verdict::TooOld => Err(TxnError::Serialization { why: SerializationFailure::TooOld }),
        }
    }

    /// Makes commits visible up to `csn`. The log has been synced up to `lsn` with the durability of that commit.
    fn publish(&self, csn: Csn, lsn: Lsn) -> Result<(), TxnError> {
        while self.visible() < csn {
            let show = |csn| self.make_visible(Csn(csn));
            let settle =
                |csn, lsn: Lsn| self.store.set_durable(Csn(csn), || lsn.to_bytes().to_vec());
            let progress = self.queue.publish(lsn, self.log.durable(), show, settle);
            if self.visible() >= csn {
                break;
            }
            // An earlier commit waits for its sync: this one, which does not, must wait with it.
            let Some(blocked_on) = progress.blocked_on else {
                let lost = std::io::Error::other("a commit was lost on its way to visibility");
                return Err(self.unknown(lost));
            };
            self.log.sync(blocked_on, Durability::Sync).map_err(|error| self.unknown(error))?;
        }
        Ok(())
    }

    /// Makes the commits up to `csn` visible.
    fn make_visible(&self, csn: Csn) {
        self.window.prune(Csn(self.tracker.publish(csn.0)));
        self.observers.tell(csn);
    }

    /// Does the maintenance that is due, after a commit. A failure is not reported to this commit: the
    /// next caller gets it.
    fn maintain(&self, lsn: Lsn, durability: Durability) {
        if matches!(durability, Durability::Os) {
            let since_us =
                self.clock.monotonic_us().saturating_sub(self.settled_us.load(Ordering::Relaxed));
            if since_us > UNSYNCED_US_MAX
                || self.log.bytes_between(self.log.durable(), lsn) > UNSYNCED_BYTES_MAX
            {
                let _ = self.settle();
            }
        }
        let looked_at = self.looked_at.load();
        if self.log.bytes_between(looked_at, lsn) >= RELEASE_EVERY_BYTES
            && self.looked_at.replace(looked_at, lsn)
        {
            let _ = self.recall();
            let _ = self.release_log();
        }
    }

    /// Loads the times of past commits that the store's retention by time needs.
    fn recall(&self) -> Result<(), TxnError> {
        self.milestones.recall(&self.commits, &self.store, self.visible())
    }

    /// Makes all visible commits durable, and tells the store.
    fn settle(&self) -> Result<(), TxnError> {
        self.settled_us.store(self.clock.monotonic_us(), Ordering::Relaxed);
        let Some(afloat) = self.queue.afloat() else { return Ok(()) };
        self.log.sync(afloat, Durability::Sync).map_err(|error| self.unknown(error))?;
        let show = |csn| self.make_visible(Csn(csn));
        let settle = |csn, lsn: Lsn| self.store.set_durable(Csn(csn), || lsn.to_bytes().to_vec());
        self.queue.publish(afloat, self.log.durable(), show, settle);
        Ok(())
    }

    /// The position in the log of the first commit that the store's files do not cover.
    fn replay_from(&self) -> Lsn {
        read_note(&self.store.checkpoint().note).unwrap_or(Lsn::START)
    }

    /// Cuts the log below what the store's files cover.
    fn release_log(&self) -> Result<(), TxnError> {
        self.backups.expire(self.clock.monotonic_us());
        Ok(self.log.release(self.holds.released(self.replay_from()))?)
    }

    fn refuse_if_stopped(&self) -> Result<(), TxnError> {
        match self.stopped.get() {
            None if self.follower => Err(TxnError::Following),
            None => Ok(()),
            Some(Stopped::Closed) => Err(TxnError::Closed),
            Some(Stopped::Failed(cause)) => Err(TxnError::Refused { cause: cause.clone() }),
        }
    }

    /// The error of a transaction that waited for a row when writing stopped.
    pub(crate) fn stopped_error(&self) -> TxnError {
        self.refuse_if_stopped().expect_err("locks are poisoned only after writing has stopped")
    }

    /// Stops all writing, and returns the error of a commit whose outcome is unknown.
    fn unknown(&self, failure: impl Error + Send + Sync + 'static) -> TxnError {
        TxnError::OutcomeUnknown { cause: self.stop(failure) }
    }

    /// Stops all writing. Later errors name the first failure, because others follow from it.
    fn stop(&self, failure: impl Error + Send + Sync + 'static) -> Failure {
        let failure = Failure::of(failure);
        let first = self.stopped.get_or_init(|| Stopped::Failed(failure.clone()));
        self.locks.poison();
        match first {
            Stopped::Failed(first) => first.clone(),
            Stopped::Closed => failure,
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("dir", &self.dir.as_ref().map(|(dir, _)| dir))
            .field("visible", &self.visible())
            .finish_non_exhaustive()
    }
}

/// Some tables, each once.
#[derive(Default)]
struct Tables {
    list: Vec<TableId>,
}

impl Tables {
    fn note(&mut self, table: TableId) {
        // From the end: neighbours write the same few tables, however many there are.
        if !self.list.iter().rev().any(|known| *known == table) {
            self.list.push(table);
        }
    }
}

/// Returns the record of a commit, still without number and time, and the tables that the commit changes.
fn encode(prepared: &Prepared<'_>) -> Result<(Vec<u8>, Vec<TableId>), TxnError> {
    let Prepared { writes, note, loaded, .. } = prepared;
    limit("author", note.author.len(), record::AUTHOR_BYTES_MAX)?;
    limit("message", note.message.len(), record::MESSAGE_BYTES_MAX)?;
    limit("role", note.role.len(), record::ROLE_BYTES_MAX)?;
    limit("extension", note.extension.len(), record::EXTENSION_BYTES_MAX)?;
    let texts = note.author.len() + note.message.len() + note.extension.len();
    let mut bytes = Vec::with_capacity(64 + texts + record::size_hint(writes));
    let loaded = loaded.as_ref().map(Loaded::to_bytes);
    record::begin(&mut bytes, note, loaded.as_deref());
    let mut tables = Tables::default();
    prepared.changes.iter().for_each(|change| tables.note(change.table));
    for write in writes {
        record::push(&mut bytes, write);
        tables.note(write.table);
    }
    record::finish(&mut bytes, writes.len() as u32);
    limit("transaction", bytes.len(), record::RECORD_BYTES_MAX)?;
    Ok((bytes, tables.list))
}

pub(crate) fn limit(what: &'static str, bytes: usize, max: usize) -> Result<(), TxnError> {
    if bytes > max { Err(TxnError::TooLarge { what, bytes, max }) } else { Ok(()) }
}
