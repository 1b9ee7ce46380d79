//! [`Statements`]: the costs of statements, for the extension `pg_stat_statements`.
//!
//! ```text
//!   session   statement ends ──fingerprint, role, database──> Entry { calls, times, rows, blocks }
//!                                read lock of the map, then the lock of the entry
//! ```
//!
//! Sessions of a database that has the extension keep count; those of others look at one flag of their
//! catalog. Nothing is written to the disk: figures begin when the server is started. Statements within
//! `DO` blocks count as part of the block.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use exec::TempBytes;
use foldhash::fast::FixedState;
use parking_lot::{Mutex, RwLock};
use sql::parse::normal::{Fingerprint, fingerprint, normalized};
use store::BlockReads;
use types::Oid;
use types::time::TimestampTz;

use crate::error::Result;
use crate::instance::now;
use crate::portal::{Done, Portal, Work};
use crate::session::Session;
use crate::statement::Parsed;

/// The identity of a statement: role, database and text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StatementKey {
    pub role: Oid,
    pub database: Oid,
    pub query: i64,
}

/// The cost of a statement so far. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub calls: u64,
    pub total_ms: f64,
    pub min_ms: f64,
    pub max_ms: f64,
    pub mean_ms: f64,
    /// The sum of the squares of the differences from the mean.
    squares: f64,
    pub rows: u64,
    pub blocks_hit: u64,
    pub blocks_read: u64,
    pub temp_read: u64,
    pub temp_written: u64,
    pub since: TimestampTz,
    pub min_max_since: TimestampTz,
}

/// The cost of one execution.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Run {
    pub us: u64,
    pub rows: u64,
    blocks: BlockReads,
    temp: TempBytes,
}

impl Cost {
    fn new(now: TimestampTz) -> Cost {
        Cost {
            calls: 0,
            total_ms: 0.0,
            min_ms: 0.0,
            max_ms: 0.0,
            mean_ms: 0.0,
            squares: 0.0,
            rows: 0,
            blocks_hit: 0,
            blocks_read: 0,
            temp_read: 0,
            temp_written: 0,
            since: now,
            min_max_since: now,
        }
    }

    /// Adds an execution. Mean and deviation follow Welford (1962), as in PostgreSQL.
    fn add(&mut self, run: &Run) {
        let ms = run.us as f64 / 1_000.0;
        self.calls += 1;
        self.total_ms += ms;
        // After the extremes were reset both are 0.
        let is_first = self.calls == 1 || (self.min_ms == 0.0 && self.max_ms == 0.0);
        self.min_ms = if is_first { ms } else { self.min_ms.min(ms) };
        self.max_ms = self.max_ms.max(ms);
        let before = self.mean_ms;
        self.mean_ms += (ms - before) / self.calls as f64;
        self.squares += (ms - before) * (ms - self.mean_ms);
        self.rows += run.rows;
        self.blocks_hit += run.blocks.hit;
        self.blocks_read += run.blocks.read;
        self.temp_read += run.temp.read;
        self.temp_written += run.temp.written;
    }

    /// The standard deviation of the times.
    pub fn deviation_ms(&self) -> f64 {
        if self.calls > 1 { (self.squares / self.calls as f64).sqrt() } else { 0.0 }
    }
}

/// A statement and what it has cost.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its text, with `$1` and so on for constants.
    pub text: Arc<str>,
    cost: Mutex<Cost>,
}

impl Entry {
    pub fn cost(&self) -> Cost {
        self.cost.lock().clone()
    }
}

type Entries = HashMap<StatementKey, Arc<Entry>, FixedState>;

/// Which statements are counted anew; 0 stands for all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub role: Oid,
    pub database: Oid,
    pub query: i64,
}

impl Chosen {
    fn is_all(self) -> bool {
        self.role == Oid::NONE && self.database == Oid::NONE && self.query == 0
    }

    fn has(self, key: &StatementKey) -> bool {
        (self.role == Oid::NONE || self.role == key.role)
            && (self.database == Oid::NONE || self.database == key.database)
            && (self.query == 0 || self.query == key.query)
    }
}

/// The statements of all databases that have the extension.
#[derive(Default)]
pub(crate) struct Statements {
    entries: RwLock<Entries>,
    /// How often entries were dropped because there were too many.
    dropped: AtomicU64,
    /// When all were counted anew, as SQL counts time; 0 for never.
    reset: AtomicI64,
}

impl Statements {
    fn record(&self, key: StatementKey, run: &Run, most: usize, (text, now): (&str, TimestampTz)) {
        let known = self.entries.read().get(&key).cloned();
        let entry = known.unwrap_or_else(|| {
            let text = normalized(text).into();
            let mut entries = self.entries.write();
            if entries.len() >= most && !entries.contains_key(&key) {
                self.drop_rare(&mut entries, most);
            }
            let entry = || Arc::new(Entry { text, cost: Mutex::new(Cost::new(now)) });
            Arc::clone(entries.entry(key).or_insert_with(entry))
        });
        entry.cost.lock().add(run);
    }

    /// Drops the statements that were run least often: one in twenty, and ten at least.
    fn drop_rare(&self, entries: &mut Entries, most: usize) {
        let mut calls: Vec<(u64, StatementKey)> =
            entries.iter().map(|(key, entry)| (entry.cost.lock().calls, *key)).collect();
        calls.sort_unstable_by_key(|(calls, _)| *calls);
        let excess = entries.len().saturating_sub(most);
        for (_, key) in calls.iter().take(excess + (most / 20).max(10)) {
            entries.remove(key);
        }
        self.dropped.fetch_add(1, Relaxed);
    }

    /// All statements.
    pub fn all(&self) -> Vec<(StatementKey, Arc<Entry>)> {
        let entries = self.entries.read();
        entries.iter().map(|(key, entry)| (*key, Arc::clone(entry))).collect()
    }

    /// How often statements were dropped because there were too many, and when all were counted anew.
    pub fn about(&self) -> (u64, Option<TimestampTz>) {
        let reset = self.reset.load(Relaxed);
        (self.dropped.load(Relaxed), (reset != 0).then_some(TimestampTz(reset)))
    }

    /// Resets the figures of some statements, or only their extremes.
    pub fn reset(&self, chosen: Chosen, only_extremes: bool, now: TimestampTz) {
        let mut entries = self.entries.write();
        if only_extremes {
            for (_, entry) in entries.iter().filter(|(key, _)| chosen.has(key)) {
                let mut cost = entry.cost.lock();
                (cost.min_ms, cost.max_ms, cost.min_max_since) = (0.0, 0.0, now);
            }
            return;
        }
        entries.retain(|key, _| !chosen.has(key));
        if chosen.is_all() {
            self.dropped.store(0, Relaxed);
            self.reset.store(now.0, Relaxed);
        }
    }
}

impl Parsed {
    /// The number of the statement in `pg_stat_statements`, computed once for texts whose plans are kept.
    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        match &self.known {
            Some(known) => *known.fingerprint.get_or_init(|| fingerprint(&known.text)),
            None => fingerprint(self.text()),
        }
    }
}

impl Session {
    /// Runs a portal, and records what that costs where the database has `pg_stat_statements`.
    pub(crate) fn recorded(
        &mut self,
        portal: &mut Portal,
        run: impl FnOnce(&mut Self, &mut Portal) -> Result<Done>,
    ) -> Result<Done> {
        if !self.names.has_statements || matches!(portal.work, Work::Done(_) | Work::Empty) {
            return run(self, portal);
        }
        let is_command = !matches!(portal.work, Work::Plan(_));
        let clock = Arc::clone(&self.client.instance.env.clock);
        let (began_us, role) = (clock.monotonic_us(), self.names.role);
        let (blocks, temp) = (BlockReads::of_thread(), TempBytes::of_thread());
        let done = run(self, portal)?;
        if done == Done::Blocked {
            return Ok(done);
        }
        let cost = portal.cost.get_or_insert_default();
        cost.us += clock.monotonic_us() - began_us;
        cost.blocks.add(BlockReads::of_thread().since(blocks));
        let after = TempBytes::of_thread();
        cost.temp.read += after.read - temp.read;
        cost.temp.written += after.written - temp.written;
        if let Done::Complete(tag) = &done {
            let mut cost = portal.cost.take().unwrap_or_default();
            cost.rows = tag.rows.unwrap_or(0);
            self.record(&portal.parsed, &cost, role, is_command);
        }
        Ok(done)
    }

    fn record(&self, parsed: &Parsed, cost: &Run, role: Oid, is_command: bool) {
        let settings = self.client.settings.borrow();
        let is_tracked = settings.text("pg_stat_statements.track") != "none"
            && (!is_command || settings.bool("pg_stat_statements.track_utility"));
        let most = usize::try_from(settings.integer("pg_stat_statements.max")).unwrap_or(1);
        drop(settings);
        if let Some(Fingerprint(query)) = parsed.fingerprint().filter(|_| is_tracked) {
            let key = StatementKey { role, database: self.client.database_oid, query };
            let text = (parsed.text(), now(&self.client.instance.env));
            self.client.instance.statements.record(key, cost, most, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where there are too many statements those go that were run least often.
    #[test]
    fn rare_statements_go() {
        let statements = Statements::default();
        let now = TimestampTz(1);
        let key = |query| StatementKey { role: Oid(10), database: Oid(5), query };
        for query in 1..=100 {
            for _ in 0..query {
                let run = Run { us: 1_000, rows: 1, ..Run::default() };
                statements.record(key(query), &run, 100, ("SELECT 1", now));
            }
        }
        statements.record(key(101), &Run::default(), 100, ("SELECT 'x'", now));
        let all = statements.all();
        assert_eq!((all.len(), statements.about().0), (91, 1));
        assert!(all.iter().all(|(key, _)| key.query > 10));
        let (_, entry) = all.iter().find(|(key, _)| key.query == 50).expect("it is frequent");
        let cost = entry.cost();
        assert_eq!((cost.calls, cost.rows, cost.total_ms, cost.mean_ms), (50, 50, 50.0, 1.0));
        assert_eq!((cost.min_ms, cost.max_ms, cost.deviation_ms()), (1.0, 1.0, 0.0));
        assert_eq!(&*entry.text, "SELECT $1");
        statements.reset(Chosen { role: Oid(10), database: Oid::NONE, query: 50 }, false, now);
        assert_eq!((statements.all().len(), statements.about()), (90, (1, None)));
        statements.reset(Chosen { role: Oid::NONE, database: Oid::NONE, query: 0 }, false, now);
        assert_eq!((statements.all().len(), statements.about()), (0, (0, Some(now))));
    }
}
