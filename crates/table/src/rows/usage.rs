//! [`Usage`]: how often a table or an index was used, for `pg_stat_all_tables` and the like.
//!
//! ```text
//!   session 1 ──add──> shard 1 ┐
//!   session 2 ──add──> shard 2 ├── sum ──> a row of pg_stat_all_tables
//!   session 9 ──add──> shard 1 ┘
//! ```
//!
//! A statement adds to the shard of its session, so that sessions on different cores seldom share a cache
//! line. Counts begin at 0 when the database is opened. They live as long as the engine, whatever becomes of
//! the definition of the table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use types::Oid;

/// How many shards a relation has.
const SHARDS: usize = 8;

/// The event that is counted of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Counter {
    /// Scans of all rows of a table.
    SeqScans,
    /// Rows that these have read.
    SeqRows,
    /// Scans of an index; of a table, scans of any of its indexes and of its key.
    IndexScans,
    /// Rows that these have read.
    IndexRows,
    /// Rows inserted.
    Inserted,
    /// Rows updated.
    Updated,
    /// Rows deleted.
    Deleted,
}

const COUNTERS: usize = 7;

/// The counters of one relation at one moment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts([u64; COUNTERS]);

impl Counts {
    /// One of them.
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// Rows that were inserted, updated or deleted.
    pub fn changes(&self) -> u64 {
        [Counter::Inserted, Counter::Updated, Counter::Deleted].map(|of| self.get(of)).iter().sum()
    }
}

/// A cache line of counters, to which some sessions add.
#[derive(Debug)]
#[repr(align(64))]
struct Shard<const COUNT: usize>([AtomicU64; COUNT]);

/// Counters that many sessions add to at once, each in its own shard.
#[derive(Debug)]
pub struct Shards<const COUNT: usize>([Shard<COUNT>; SHARDS]);

impl<const COUNT: usize> Default for Shards<COUNT> {
    fn default() -> Self {
        Shards(std::array::from_fn(|_| Shard(std::array::from_fn(|_| AtomicU64::new(0)))))
    }
}

impl<const COUNT: usize> Shards<COUNT> {
    /// Adds to a counter; `shard` is any number, different for sessions.
    #[inline]
    pub fn add(&self, shard: usize, counter: usize, count: u64) {
        self.0[shard % SHARDS].0[counter].fetch_add(count, Relaxed);
    }

    /// The counters of now.
    pub fn sums(&self) -> [u64; COUNT] {
        let sum = |at: usize| self.0.iter().map(|shard| shard.0[at].load(Relaxed)).sum();
        std::array::from_fn(sum)
    }

    /// Makes all counters begin at 0 again. Events that are counted meanwhile may be lost.
    pub fn reset(&self) {
        self.0.iter().flat_map(|shard| &shard.0).for_each(|count| count.store(0, Relaxed));
    }
}

/// How often a table or an index was used.
#[derive(Debug, Default)]
pub struct Usage {
    counts: Shards<COUNTERS>,
    /// Times in microseconds since 1970; 0 for never.
    last_seq_scan: AtomicU64,
    last_index_scan: AtomicU64,
    analyzed: Analyzed,
    last_vacuum: AtomicU64,
    vacuums: AtomicU64,
}

/// When the statistics of a table were made.
#[derive(Debug, Default)]
struct Analyzed {
    /// By `ANALYZE`, and because a plan asked for them.
    last: [AtomicU64; 2],
    count: [AtomicU64; 2],
    /// The changes that had been counted then.
    changes: AtomicU64,
}

/// The origin of a table's statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum AnalyzedBy {
    /// `ANALYZE`.
    Command,
    /// A plan that asked for them first.
    Plan,
}

/// A session as it counts.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counting {
    /// Any number, different for sessions.
    pub shard: usize,
    /// When the statement began, in microseconds since 1970.
    pub now_us: u64,
}

impl Usage {
    /// Adds to a counter.
    #[inline]
    pub fn add(&self, by: Counting, counter: Counter, count: u64) {
        self.counts.add(by.shard, counter as usize, count);
    }

    /// Counts the beginning of a scan of an index.
    #[inline]
    pub fn index_scan(&self, by: Counting) {
        self.add(by, Counter::IndexScans, 1);
        self.last_index_scan.store(by.now_us, Relaxed);
    }

    /// Counts the beginning of a scan of all rows.
    #[inline]
    pub fn seq_scan(&self, by: Counting) {
        self.add(by, Counter::SeqScans, 1);
        self.last_seq_scan.store(by.now_us, Relaxed);
    }

    /// Notes that statistics were made.
    pub fn note_analyzed(&self, by: AnalyzedBy, now_us: u64) {
        self.analyzed.last[by as usize].store(now_us, Relaxed);
        self.analyzed.count[by as usize].fetch_add(1, Relaxed);
        self.analyzed.changes.store(self.counts().changes(), Relaxed);
    }

    /// Notes that the table was vacuumed.
    pub fn note_vacuumed(&self, now_us: u64) {
        self.last_vacuum.store(now_us, Relaxed);
        self.vacuums.fetch_add(1, Relaxed);
    }

    /// When the table was vacuumed last, and how often.
    pub fn vacuumed(&self) -> (Option<u64>, u64) {
        (time(&self.last_vacuum), self.vacuums.load(Relaxed))
    }

    /// The counters of now.
    pub fn counts(&self) -> Counts {
        Counts(self.counts.sums())
    }

    /// When all rows were scanned last, in microseconds since 1970.
    pub fn last_seq_scan(&self) -> Option<u64> {
        time(&self.last_seq_scan)
    }

    /// When an index was scanned last.
    pub fn last_index_scan(&self) -> Option<u64> {
        time(&self.last_index_scan)
    }

    /// When statistics were made last, and how often.
    pub fn analyzed(&self, by: AnalyzedBy) -> (Option<u64>, u64) {
        let count = self.analyzed.count[by as usize].load(Relaxed);
        (time(&self.analyzed.last[by as usize]), count)
    }

    /// How many rows were changed since statistics were made.
    pub fn changes_since_analyzed(&self) -> u64 {
        self.counts().changes().saturating_sub(self.analyzed.changes.load(Relaxed))
    }

    /// Makes all counters begin at 0 again. Events that are counted meanwhile may be lost.
    pub fn reset(&self) {
        self.counts.reset();
        let Analyzed { last, count, changes } = &self.analyzed;
        let times = [&self.last_seq_scan, &self.last_index_scan, &self.last_vacuum];
        times.into_iter().chain(last).for_each(|time| time.store(0, Relaxed));
        count.iter().chain([changes, &self.vacuums]).for_each(|count| count.store(0, Relaxed));
    }
}

fn time(us: &AtomicU64) -> Option<u64> {
    let us = us.load(Relaxed);
    (us != 0).then_some(us)
}

/// The rows that a scan reads, counted when it ends.
pub struct Reads {
    table: Arc<Usage>,
    /// The index that is scanned, where it is one.
    index: Option<Arc<Usage>>,
    by: Counting,
    is_seq: bool,
    rows: u64,
}

impl Reads {
    /// A scan of all rows begins.
    pub fn of_table(table: &Arc<Usage>, by: Counting) -> Reads {
        table.seq_scan(by);
        Reads { table: Arc::clone(table), index: None, by, is_seq: true, rows: 0 }
    }

    /// A scan begins of an index, or, where there is none, of the key by which rows lie.
    pub fn of_index(table: &Arc<Usage>, index: Option<&Arc<Usage>>, by: Counting) -> Reads {
        table.index_scan(by);
        index.inspect(|index| index.index_scan(by));
        Reads { table: Arc::clone(table), index: index.cloned(), by, is_seq: false, rows: 0 }
    }

    /// Counts rows.
    #[inline]
    pub fn add(&mut self, rows: usize) {
        self.rows += rows as u64;
    }

    /// The same scan, of which another thread reads a part.
    pub fn part(&self) -> Reads {
        let (table, index) = (Arc::clone(&self.table), self.index.clone());
        Reads { table, index, rows: 0, ..*self }
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        if self.rows == 0 {
            return;
        }
        let counter = if self.is_seq { Counter::SeqRows } else { Counter::IndexRows };
        self.table.add(self.by, counter, self.rows);
        if let Some(index) = &self.index {
            index.add(self.by, counter, self.rows);
        }
    }
}

/// The usage of a table and of its indexes, by their OIDs.
#[derive(Debug, Default)]
pub(super) struct TableUsage {
    pub table: Arc<Usage>,
    pub indexes: Vec<(Oid, Arc<Usage>)>,
}

impl TableUsage {
    pub fn of(&self, index: Oid) -> Option<&Arc<Usage>> {
        self.indexes.iter().find(|(oid, _)| *oid == index).map(|(_, usage)| usage)
    }
}
