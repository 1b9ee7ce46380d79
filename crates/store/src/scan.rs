//! Scans: the live keys of a range at a commit, in order, either way.
//!
//! ```text
//!   active    ──a────c──────f─>          each source walks its own keys; the scan takes the smallest
//!   frozen    ──────────d───f─>          (or the largest) and asks the sources that stand on it, newest
//!   current   ──a──b─────e──f─>          first, for its state at the commit: the same descent as a read
//!   history   ──a──────────────g─>       (g: deleted now, alive then)
//! ```
//!
//! # Invariants
//! * Keys come in strict order, each at most once, and only if alive at the commit.
//! * A scan sees the runs and memtables of the moment it began, and of those only the commits at or
//!   below its own.
//! * Sources stand in the order of the descent: memtables, current runs, history runs, newest first.

use crate::key::{self, Range, TABLE_LEN};
use crate::memtable::{Hit, Memtable};
use crate::read::end;
use crate::run::RunCursor;
use crate::store::{Shared, State};
use crate::versioned::{Gather, Step, Versioned};
use crate::{Csn, StoreError, TableId};
use std::ops::Bound;
use std::sync::Arc;

/// Keys fetched from a memtable under one lock: few at first, for scans that end soon.
const BATCHES: std::ops::Range<usize> = 8..256;

/// An iterator over the live keys of a range at a commit.
pub struct Scan {
    shared: Arc<Shared>,
    state: Arc<State>,
    table: TableId,
    range: Range,
    at: u64,
    reverse: bool,
    sources: Vec<Source>,
    /// The key reached, from the first step on.
    full: Vec<u8>,
    begun: bool,
    ended: bool,
}

enum Source {
    Memtable(MemCursor),
    Current(RunCursor),
    History(RunCursor),
}

struct MemCursor {
    mem: Arc<Memtable>,
    /// Fetched, next one last.
    hits: Vec<Hit>,
    rest: Option<Range>,
    batch: usize,
}

impl MemCursor {
    fn fill(&mut self, reverse: bool, at: u64) {
        if !self.hits.is_empty() {
            return;
        }
        let Some(range) = self.rest.take().filter(|r| !key::is_empty(r)) else { return };
        self.mem.batch(&range, reverse, at, self.batch, &mut self.hits);
        if self.hits.len() == self.batch {
            let last = self.hits[self.batch - 1].key.to_vec();
            self.rest = Some(if reverse {
                (range.0, Bound::Excluded(last))
            } else {
                (Bound::Excluded(last), range.1)
            });
        }
        self.hits.reverse();
        self.batch = (self.batch * 2).min(BATCHES.end);
    }
}

impl Source {
    #[inline]
    fn key(&self) -> Option<&[u8]> {
        match self {
            Source::Memtable(m) => m.hits.last().map(|h| h.key.as_slice()),
            Source::Current(c) | Source::History(c) => c.key(),
        }
    }

    fn seek(&mut self, range: &Range, reverse: bool, at: u64) -> Result<(), StoreError> {
        match self {
            Source::Memtable(m) => {
                m.hits.clear();
                m.rest = Some(range.clone());
                m.batch = BATCHES.start;
                m.fill(reverse, at);
                Ok(())
            }
            Source::Current(c) | Source::History(c) => {
                match if reverse { &range.1 } else { &range.0 } {
                    Bound::Unbounded => c.seek(None, false),
                    Bound::Included(key) => c.seek(Some(key), false),
                    Bound::Excluded(key) => c.seek(Some(key), true),
                }
            }
        }
    }

    fn advance(&mut self, reverse: bool, at: u64) -> Result<(), StoreError> {
        match self {
            Source::Memtable(m) => {
                m.hits.pop();
                m.fill(reverse, at);
                Ok(())
            }
            Source::Current(c) | Source::History(c) => c.advance(),
        }
    }
}

impl Scan {
    pub(crate) fn new(
        shared: Arc<Shared>,
        table: TableId,
        range: Range,
        at: Csn,
        reverse: bool,
    ) -> Scan {
        let state = shared.state();
        let mems = state.memtables().filter(|mem| !mem.is_empty()).map(|mem| {
            let mem = mem.clone();
            Source::Memtable(MemCursor { mem, hits: Vec::new(), rest: None, batch: BATCHES.start })
        });
        let current = state.images().map(|r| Source::Current(RunCursor::new(r.clone(), reverse)));
        let past = at < state.checkpoint.csn;
        let history = state.history.iter().rev().filter(|r| past && r.csns.0 <= at.0);
        let history = history.map(|r| Source::History(RunCursor::new(r.clone(), reverse)));
        let sources = mems.chain(current).chain(history).collect();
        let ended = key::is_empty(&range);
        Scan {
            shared,
            state,
            table,
            range,
            at: at.0,
            reverse,
            sources,
            full: Vec::new(),
            begun: false,
            ended,
        }
    }

    /// Jumps to `key`, in the direction of the scan: the next item is the first at or after it (at or
    /// before it in reverse). Never goes back.
    pub fn seek(&mut self, key: &[u8]) {
        let to = key::full(self.table, key).to_vec();
        // A key reached before stays behind, whatever is asked.
        let ahead = !self.begun || if self.reverse { to < self.full } else { to > self.full };
        let bound = if ahead { Bound::Included(to) } else { return };
        if self.reverse && key::below(&self.range.1, bound_key(&bound)) {
            self.range.1 = bound;
        } else if !self.reverse && key::above(&self.range.0, bound_key(&bound)) {
            self.range.0 = bound;
        } else {
            return;
        }
        self.ended |= key::is_empty(&self.range);
        self.begun = false;
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        let at = Csn(self.at);
        let horizon = self.state.horizon(self.table);
        if at < self.state.checkpoint.csn && at < horizon {
            return Err(StoreError::Forgotten { table: self.table, at, horizon });
        }
        for source in &mut self.sources {
            source.seek(&self.range, self.reverse, self.at)?;
        }
        self.begun = true;
        Ok(())
    }

    /// Takes the next key of any source to `self.full`; false where there is none inside the range.
    fn next_key(&mut self) -> bool {
        let keys = self.sources.iter().filter_map(Source::key);
        let Some(next) = (if self.reverse { keys.max() } else { keys.min() }) else { return false };
        self.full.clear();
        self.full.extend_from_slice(next);
        if self.reverse {
            key::above(&self.range.0, &self.full)
        } else {
            key::below(&self.range.1, &self.full)
        }
    }

    /// The state of the key reached; moves every source that stands on it to its next key.
    fn settle(&mut self) -> Result<Option<Versioned>, StoreError> {
        let mut gather = Gather::default();
        let mut known = None;
        let mut superseded = false;
        for source in &mut self.sources {
            if source.key() != Some(self.full.as_slice()) {
                continue;
            }
            if known.is_none() {
                let step = match source {
                    Source::Memtable(m) => match m.hits.last().and_then(|h| h.state.as_ref()) {
                        Some((group, found)) => gather.group(group, *found),
                        None => {
                            gather.newer = true;
                            Step::Below
                        }
                    },
                    // Older current runs say nothing once a newer one has spoken.
                    Source::Current(_) if superseded => Step::Below,
                    Source::Current(c) | Source::History(c) => match c.state(self.at)? {
                        Some((block, place, found)) => gather.block(&block, &place, found),
                        None => Step::Below,
                    },
                };
                match step {
                    Step::Known(state) => known = Some(state),
                    Step::Below if matches!(source, Source::Current(_)) => {
                        superseded = true;
                        gather.newer = true;
                    }
                    Step::Below => {}
                }
            }
            source.advance(self.reverse, self.at)?;
        }
        if known.is_none() && self.shared.forgets(&self.full, &gather) {
            return self.shared.read_in(&self.state, &self.full, Csn::MAX);
        }
        end(&self.full, gather, known.flatten())
    }

    /// The next key, which stays where it is until the next call, with its state; `None` at the end
    /// and after an error.
    pub fn advance(&mut self) -> Result<Option<(&[u8], Versioned)>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let found = self.step();
        self.ended = !matches!(found, Ok(Some(_)));
        Ok(found?.map(|versioned| (&self.full[TABLE_LEN..], versioned)))
    }

    fn step(&mut self) -> Result<Option<Versioned>, StoreError> {
        if !self.begun {
            self.begin()?;
        }
        while self.next_key() {
            if let Some(versioned) = self.settle()? {
                return Ok(Some(versioned));
            }
        }
        Ok(None)
    }
}

/// The keys of a range that any file or memtable knows, deleted ones included: those whose past can be
/// asked for. Each comes once, in order or in reverse.
pub struct Keys(Scan);

impl Keys {
    pub(crate) fn new(shared: Arc<Shared>, table: TableId, range: Range, reverse: bool) -> Keys {
        let mut scan = Scan::new(shared, table, range, Csn::MAX, reverse);
        let history = scan.state.history.iter().rev();
        let history = history.map(|r| Source::History(RunCursor::new(r.clone(), reverse)));
        scan.sources.extend(history);
        Keys(scan)
    }

    /// The next key, which stays where it is until the next call.
    pub fn advance(&mut self) -> Result<Option<&[u8]>, StoreError> {
        let scan = &mut self.0;
        if scan.ended {
            return Ok(None);
        }
        scan.ended = true; // unless all goes well
        if !scan.begun {
            scan.begin()?;
        }
        if !scan.next_key() {
            return Ok(None);
        }
        for source in &mut scan.sources {
            if source.key() == Some(scan.full.as_slice()) {
                source.advance(scan.reverse, scan.at)?;
            }
        }
        scan.ended = false;
        Ok(Some(&scan.full[TABLE_LEN..]))
    }
}

fn bound_key(bound: &Bound<Vec<u8>>) -> &[u8] {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Versioned), StoreError>;
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.advance().transpose()?;
        Some(found.map(|(key, versioned)| (key.to_vec(), versioned)))
    }
}
