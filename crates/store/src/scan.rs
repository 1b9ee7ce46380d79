//! Scans: the live keys of a range at a commit, in order, either way.
//!
//! ```text
//!   active    ──a────c──────f─>          each source walks its own keys; the scan takes the smallest
//!   frozen    ──────────d───f─>          (or the largest) and asks the layers, newest first, for its
//!   current   ──a──b─────e──f─>          state at the commit: the same descent as a single read
//!   history   ──a──────────────g─>       (g: deleted now, alive then)
//! ```
//!
//! # Invariants
//! * Keys come in strict order, each at most once, and only if alive at the commit.
//! * A scan sees the runs and memtables of the moment it began, and of those only the commits at or
//!   below its own.

use crate::key::{self, Range, TABLE_LEN};
use crate::memtable::{Hit, Memtable};
use crate::store::Shared;
use crate::versioned::{Gather, Step, Versioned};
use crate::{Csn, StoreError, TableId};
use std::ops::Bound;
use std::sync::Arc;

/// Keys fetched from a memtable under one lock.
const BATCH: usize = 64;

/// An iterator over the live keys of a range at a commit.
pub struct Scan {
    shared: Arc<Shared>,
    table: TableId,
    range: Range,
    at: u64,
    reverse: bool,
    mems: Vec<MemCursor>,
    failed: bool,
}

struct MemCursor {
    mem: Arc<Memtable>,
    /// Fetched, next one last.
    hits: Vec<Hit>,
    rest: Option<Range>,
}

impl MemCursor {
    fn fill(&mut self, reverse: bool, at: u64) {
        if !self.hits.is_empty() {
            return;
        }
        let Some(range) = self.rest.take().filter(|r| !key::is_empty(r)) else { return };
        self.mem.batch(&range, reverse, at, BATCH, &mut self.hits);
        if self.hits.len() == BATCH {
            let last = self.hits[BATCH - 1].key.clone();
            self.rest = Some(if reverse { (range.0, Bound::Excluded(last)) } else { (Bound::Excluded(last), range.1) });
        }
        self.hits.reverse();
    }
}

impl Scan {
    pub(crate) fn new(shared: Arc<Shared>, table: TableId, range: Range, at: Csn, reverse: bool) -> Scan {
        let state = shared.state();
        let mems = state
            .memtables()
            .map(|mem| MemCursor { mem: mem.clone(), hits: Vec::new(), rest: Some(range.clone()) })
            .collect();
        Scan { shared, table, range, at: at.0, reverse, mems, failed: false }
    }

    /// Jumps to `key`, in the direction of the scan: the next item is the first at or after it (at or
    /// before it in reverse). Never goes back.
    pub fn seek(&mut self, key: &[u8]) {
        let full = key::full(self.table, key).to_vec();
        if self.reverse {
            if key::below(&self.range.1, &full) {
                self.range.1 = Bound::Included(full);
            }
        } else if key::above(&self.range.0, &full) {
            self.range.0 = Bound::Included(full);
        }
        for mem in &mut self.mems {
            mem.hits.clear();
            mem.rest = Some(self.range.clone());
        }
    }

    fn step(&mut self) -> Result<Option<(Vec<u8>, Versioned)>, StoreError> {
        loop {
            self.mems.iter_mut().for_each(|m| m.fill(self.reverse, self.at));
            let heads = self.mems.iter().filter_map(|m| m.hits.last().map(|h| &h.key));
            let next = if self.reverse { heads.max() } else { heads.min() };
            let Some(full) = next.cloned() else { return Ok(None) };
            let mut gather = Gather::default();
            let mut known = None;
            for mem in &mut self.mems {
                let Some(hit) = mem.hits.pop_if(|h| h.key == full) else { continue };
                match hit.state {
                    _ if known.is_some() => {}
                    None => gather.newer = true,
                    Some((group, found)) => {
                        if let Step::Known(state) = gather.group(&group, found) {
                            known = Some(state);
                        }
                    }
                }
            }
            self.range_after(&full);
            if let Some(Some(versioned)) = self.shared.settle(&full, Csn(self.at), gather, known)? {
                return Ok(Some((full[TABLE_LEN..].to_vec(), versioned)));
            }
        }
    }

    fn range_after(&mut self, full: &[u8]) {
        if self.reverse {
            self.range.1 = Bound::Excluded(full.to_vec());
        } else {
            self.range.0 = Bound::Excluded(full.to_vec());
        }
    }
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Versioned), StoreError>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.step();
        self.failed = item.is_err();
        item.transpose()
    }
}
