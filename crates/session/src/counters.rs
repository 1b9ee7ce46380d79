//! [`DatabaseCounters`]: the counts of a database since it was opened, for `pg_stat_database`.
//!
//! A session adds to them with relaxed atomic operations, most of them once for a statement; nothing is
//! locked, and nothing is written to the disk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use exec::TempBytes;
use parking_lot::Mutex;
use store::BlockReads;
use table::rows::{Counter, Counting, Shards};
use types::time::TimestampTz;
use types::{Oid, SqlState};

use crate::client::Client;
use crate::error::{Result, Severity};
use crate::instance::now;
use crate::session::Session;

/// An event that is counted of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum Event {
    Commit,
    Rollback,
    /// Blocks that were read from files, and those that were in memory.
    BlockRead,
    BlockHit,
    Deadlock,
    TempFile,
    TempByte,
    /// Sessions, and those that an administrator has ended.
    Session,
    Killed,
    /// Microseconds of sessions: in all, in statements, and idle in transactions.
    SessionUs,
    ActiveUs,
    IdleInTransactionUs,
}

const EVENTS: usize = 12;

/// The counts of a database since it was opened, or since the counters were reset.
#[derive(Default)]
pub(crate) struct DatabaseCounters {
    events: Shards<EVENTS>,
    /// When they were reset, as SQL counts time; 0 for never.
    reset: AtomicI64,
}

/// The counters of one moment.
pub(crate) struct Events([u64; EVENTS]);

impl Events {
    pub fn get(&self, event: Event) -> u64 {
        self.0[event as usize]
    }

    /// A time in milliseconds.
    pub fn ms(&self, event: Event) -> f64 {
        self.get(event) as f64 / 1_000.0
    }
}

impl DatabaseCounters {
    #[inline]
    pub fn add(&self, process: i32, event: Event, count: u64) {
        self.events.add(process as usize, event as usize, count);
    }

    pub fn now(&self) -> Events {
        Events(self.events.sums())
    }

    pub fn reset(&self, now: TimestampTz) {
        self.events.reset();
        self.reset.store(now.0, Relaxed);
    }

    pub fn reset_at(&self) -> Option<TimestampTz> {
        let us = self.reset.load(Relaxed);
        (us != 0).then_some(TimestampTz(us))
    }
}

/// The counters of all databases, and what the shared ones were when they were reset.
#[derive(Default)]
pub(crate) struct Counters {
    databases: Mutex<HashMap<Oid, Arc<DatabaseCounters>>>,
    /// By the name of a shared view: when it was reset, and its counters at that time.
    shared: Mutex<HashMap<&'static str, (TimestampTz, Shared)>>,
}

/// The counters of log and store.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shared {
    pub log_records: u64,
    pub log_bytes: u64,
    pub log_syncs: u64,
    pub blocks_read: u64,
    pub flushes: u64,
    pub written_bytes: u64,
}

/// The views whose counters are shared by all databases, and can be reset.
pub(crate) const SHARED: [&str; 4] = ["bgwriter", "checkpointer", "io", "wal"];

impl Shared {
    /// The counters since the database was opened.
    pub fn now(engine: &txn::Engine) -> Shared {
        let stats = engine.stats();
        let (log, store) = (stats.log, stats.store);
        Shared {
            log_records: log.frames,
            log_bytes: log.appended_bytes,
            log_syncs: log.syncs,
            blocks_read: store.cache_misses,
            flushes: store.flushes,
            written_bytes: store.written_bytes,
        }
    }

    fn since(self, before: Shared) -> Shared {
        Shared {
            log_records: self.log_records - before.log_records,
            log_bytes: self.log_bytes - before.log_bytes,
            log_syncs: self.log_syncs - before.log_syncs,
            blocks_read: self.blocks_read - before.blocks_read,
            flushes: self.flushes - before.flushes,
            written_bytes: self.written_bytes - before.written_bytes,
        }
    }
}

impl Counters {
    /// Those of a database.
    pub fn of(&self, database: Oid) -> Arc<DatabaseCounters> {
        Arc::clone(self.databases.lock().entry(database).or_default())
    }

    /// The shared counters as a view shows them, and when they were reset.
    pub fn shared(&self, view: &str, engine: &txn::Engine) -> (Shared, Option<TimestampTz>) {
        let reset = self.shared.lock().get(view).copied();
        let (at, before) = reset.map_or((None, Shared::default()), |(at, was)| (Some(at), was));
        (Shared::now(engine).since(before), at)
    }

    /// Resets the counters of a shared view to 0.
    pub fn reset_shared(&self, view: &'static str, engine: &txn::Engine, now: TimestampTz) {
        self.shared.lock().insert(view, (now, Shared::now(engine)));
    }
}

impl Client {
    /// Counts something that has happened in the database of the session.
    #[inline]
    pub fn count(&self, event: Event, count: u64) {
        self.counters.add(self.slot.process, event, count);
    }

    /// Counts rows that were inserted into a table apart from a plan.
    pub fn count_inserted(&self, table: Oid, rows: u64) {
        let by = Counting { shard: self.slot.process as usize, now_us: 0 };
        self.instance.handles.usage(table).add(by, Counter::Inserted, rows);
    }

    /// Counts that a session has ended.
    pub fn count_end(&self) {
        let now = now(&self.instance.env);
        if let Some(began) = self.slot.status.started() {
            self.count(Event::SessionUs, now.0.abs_diff(began.0));
        }
        if self.slot.stopped().is_some_and(|error| error.severity == Severity::Fatal) {
            self.count(Event::Killed, 1);
        }
    }
}

impl Session {
    /// Runs a part of a statement, and counts the blocks and temporary files that it needs.
    pub(crate) fn counted<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let (blocks, temporary) = (BlockReads::of_thread(), TempBytes::of_thread());
        let done = run(self);
        let BlockReads { hit, read } = BlockReads::of_thread().since(blocks);
        let after = TempBytes::of_thread();
        let is_deadlock =
            matches!(&done, Err(error) if error.state() == SqlState::DEADLOCK_DETECTED);
        for (event, count) in [
            (Event::BlockHit, hit),
            (Event::BlockRead, read),
            (Event::TempFile, after.files - temporary.files),
            (Event::TempByte, after.written - temporary.written),
            (Event::Deadlock, u64::from(is_deadlock)),
        ] {
            if count > 0 {
                self.client.count(event, count);
            }
        }
        done
    }
}
