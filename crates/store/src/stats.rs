//! Numbers about a store, for people and for benchmarks.

use crate::store::Store;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of the running store.
#[derive(Default)]
pub(crate) struct Counters {
    pub flushes: AtomicU64,
    pub compactions: AtomicU64,
    pub written: AtomicU64,
    pub merge_read: AtomicU64,
    pub merge_written: AtomicU64,
    pub merge_kept: AtomicU64,
}

impl Counters {
    pub fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}

/// The shape and the work of a store at one moment. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// The active memtable, about.
    pub memtable_bytes: u64,
    /// Memtables that wait to be flushed.
    pub frozen_memtables: u64,
    /// Runs of current images.
    pub current_runs: u64,
    /// Their files.
    pub current_bytes: u64,
    /// Runs of history.
    pub history_runs: u64,
    /// Their files.
    pub history_bytes: u64,
    /// Segment files.
    pub segments: u64,
    /// Keys in current runs; a key that several runs hold counts in each.
    pub current_entries: u64,
    /// Entries in history runs.
    pub history_entries: u64,
    /// Decoded blocks in the cache.
    pub cached_bytes: u64,
    /// Look-ups that the cache could not answer.
    pub cache_misses: u64,
    /// Memtables written since opening.
    pub flushes: u64,
    /// Merges of runs since opening.
    pub compactions: u64,
    /// Bytes of segments written since opening.
    pub written_bytes: u64,
    /// Bytes of segments that merges have read and replaced since opening.
    pub merge_read_bytes: u64,
    /// Bytes of segments that merges have written since opening.
    pub merge_written_bytes: u64,
    /// Bytes of segments that merges since opening have found and left as they were.
    pub merge_kept_bytes: u64,
}

impl Store {
    /// The shape and the work of the store. Costs O(segments).
    pub fn stats(&self) -> StoreStats {
        let state = self.shared.state();
        let counters = &self.shared.counters;
        let sum = |runs: &[std::sync::Arc<crate::run::Run>]| runs.iter().map(|r| r.bytes).sum();
        let entries = |runs: &[std::sync::Arc<crate::run::Run>]| {
            runs.iter().flat_map(|r| r.metas()).map(|m| m.entries).sum()
        };
        StoreStats {
            memtable_bytes: state.memtables().map(|m| m.bytes() as u64).sum(),
            frozen_memtables: state.frozen.len() as u64,
            current_runs: state.current.len() as u64,
            current_bytes: sum(&state.current),
            history_runs: state.history.len() as u64,
            history_bytes: sum(&state.history),
            segments: state.segments().count() as u64,
            current_entries: entries(&state.current),
            history_entries: entries(&state.history),
            cached_bytes: self.shared.cache.bytes() as u64,
            cache_misses: self.shared.cache.misses(),
            flushes: counters.flushes.load(Ordering::Relaxed),
            compactions: counters.compactions.load(Ordering::Relaxed),
            written_bytes: counters.written.load(Ordering::Relaxed),
            merge_read_bytes: counters.merge_read.load(Ordering::Relaxed),
            merge_written_bytes: counters.merge_written.load(Ordering::Relaxed),
            merge_kept_bytes: counters.merge_kept.load(Ordering::Relaxed),
        }
    }
}
