//! Scans: the live keys of a range at a commit, in order, either way.
//!
//! ```text
//!   active    ──a────c──────f─>          each source walks its own keys; the scan takes the smallest
//!   frozen    ──────────d───f─>          (or the largest) and asks the sources that stand on it, newest
//!   current   ──a──b─────e──f─>          first, for its state at the commit: the same descent as a read
//!   history   ──a──────────────g─>       (g: deleted now, alive then)
//! ```
//!
//! Where one source alone has the next keys, up to the smallest key of the others, they are taken from
//! it in a row, and where a key has one whole value there, it is shown where it lies: [`Scan::visit`].
//!
//! # Invariants
//! * Keys come in strict order, each at most once, and only if alive at the commit.
//! * A scan sees the runs and memtables of the moment it began, and of those only the commits at or
//!   below its own.
//! * Sources stand in the order of the descent: memtables and late runs, current runs, history runs,
//!   newest first.

use crate::bulk::Staged;
use crate::columns::ColumnRows;
use crate::group::{Tag, slice};
use crate::key::{self, Range, TABLE_LEN};
use crate::memtable::{Hit, Memtable};
use crate::read::end;
use crate::run::RunCursor;
use crate::store::{Shared, State};
use crate::versioned::{Gather, Step, Versioned};
use crate::{Csn, StoreError, TableId};
use std::ops::{Bound, ControlFlow};
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
    /// Where a stretch ends.
    end: Vec<u8>,
    begun: bool,
    ended: bool,
    /// Something of the table is erased.
    is_erased: bool,
}

/// The state of the key at which a scan is.
pub enum ScannedState<'a> {
    /// A whole value in place, and its commit.
    Image {
        /// The commit.
        csn: Csn,
        /// The value.
        bytes: &'a [u8],
    },
    /// A state that had to be put together.
    State(Versioned),
}

impl ScannedState<'_> {
    /// The commit of the newest change.
    pub fn csn(&self) -> Csn {
        match self {
            ScannedState::Image { csn, .. } => *csn,
            ScannedState::State(state) => state.csn(),
        }
    }

    /// The commit at which the base was current.
    pub fn base_csn(&self) -> Csn {
        match self {
            ScannedState::Image { csn, .. } => *csn,
            ScannedState::State(state) => state.base_csn(),
        }
    }

    /// The whole value below the deltas.
    pub fn base(&self) -> &[u8] {
        match self {
            ScannedState::Image { bytes, .. } => bytes,
            ScannedState::State(state) => state.base(),
        }
    }
}

enum Source {
    Memtable(MemCursor),
    /// A late run, and whether none of its keys had a version before.
    Late(RunCursor, bool),
    Current(RunCursor),
    History(RunCursor),
}

struct MemCursor {
    mem: Arc<Memtable>,
    /// Fetched, and how many of them are passed.
    hits: Vec<Hit>,
    passed: usize,
    rest: Option<Range>,
    batch: usize,
}

impl MemCursor {
    fn fill(&mut self, reverse: bool, at: u64) {
        if self.passed < self.hits.len() {
            return;
        }
        self.hits.clear();
        self.passed = 0;
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
        self.batch = (self.batch * 2).min(BATCHES.end);
    }
}

impl MemCursor {
    /// Takes keys below `end` as long as each has one whole value, or none any more.
    fn stretch(
        &mut self,
        end: Option<&[u8]>,
        at: u64,
        full: &mut Vec<u8>,
        f: &mut impl FnMut(&[u8], ScannedState<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        while let Some(hit) = self.hits.get(self.passed) {
            let Some((group, found)) = &hit.state else { break };
            let Some(anchor) = found.anchor.filter(|_| found.deltas == 0) else { break };
            if end.is_some_and(|end| hit.key.as_slice() >= end) {
                break;
            }
            let flow = match anchor.tag {
                Tag::Delete => ControlFlow::Continue(()),
                _ => {
                    let bytes = slice(group.body(), (anchor.start, anchor.start + anchor.len));
                    f(&hit.key[TABLE_LEN..], ScannedState::Image { csn: Csn(found.csn), bytes })
                }
            };
            if flow.is_break() {
                full.clear();
                full.extend_from_slice(&hit.key);
            }
            self.passed += 1;
            self.fill(false, at);
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Source {
    #[inline]
    fn key(&self) -> Option<&[u8]> {
        match self {
            Source::Memtable(m) => m.hits.get(m.passed).map(|h| h.key.as_slice()),
            Source::Late(c, _) | Source::Current(c) | Source::History(c) => c.key(),
        }
    }

    fn seek(&mut self, range: &Range, reverse: bool, at: u64) -> Result<(), StoreError> {
        match self {
            Source::Memtable(m) => {
                m.passed = m.hits.len();
                m.rest = Some(range.clone());
                m.batch = BATCHES.start;
                m.fill(reverse, at);
                Ok(())
            }
            Source::Late(c, _) | Source::Current(c) | Source::History(c) => {
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
                m.passed += 1;
                m.fill(reverse, at);
                Ok(())
            }
            Source::Late(c, _) | Source::Current(c) | Source::History(c) => c.advance(),
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
        staged: &[Staged],
    ) -> Scan {
        let state = shared.state();
        let mems = state.memtables().filter(|mem| !mem.is_empty()).flat_map(|mem| {
            let late = mem.late().iter().rev().filter(|late| late.run.meets(&range));
            let late = late.map(|late| {
                Source::Late(RunCursor::lazy(late.run.clone(), reverse), late.is_fresh)
            });
            let mem = mem.clone();
            let cursor = Source::Memtable(MemCursor {
                mem,
                hits: Vec::new(),
                passed: 0,
                rest: None,
                batch: BATCHES.start,
            });
            std::iter::once(cursor).chain(late)
        });
        // Uncommitted writes of the reader itself hide all other entries.
        let staged = staged.iter().map(Staged::run).filter(|r| r.meets(&range));
        let staged = staged.map(|r| Source::Late(RunCursor::lazy(r.clone(), reverse), false));
        let current = state.images().filter(|r| r.meets(&range));
        let current = current.map(|r| {
            let is_passing = shared.passes_cache(r, &range);
            Source::Current(RunCursor::lazy(r.clone(), reverse).in_passing(is_passing))
        });
        let past = at < state.checkpoint.csn;
        let history = state.history.iter().rev().filter(|r| past && r.csns.0 <= at.0);
        let history = history.filter(|r| r.meets(&range));
        let history = history.map(|r| Source::History(RunCursor::new(r.clone(), reverse)));
        let sources = staged.chain(mems).chain(current).chain(history).collect();
        let ended = key::is_empty(&range);
        let is_erased = state.erased.as_ref().is_some_and(|erased| erased.touches(table));
        Scan {
            shared,
            state,
            table,
            range,
            at: at.0,
            reverse,
            sources,
            full: Vec::new(),
            end: Vec::new(),
            begun: false,
            ended,
            is_erased,
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

    /// Takes the next key of any source to `self.full`; false if there is none inside the range.
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
                    Source::Memtable(m) => {
                        match m.hits.get(m.passed).and_then(|h| h.state.as_ref()) {
                            Some((group, found)) => gather.group(group, *found),
                            None => {
                                gather.newer = true;
                                Step::Below
                            }
                        }
                    }
                    Source::Late(c, _) => match c.state(self.at)? {
                        Some((block, place, found)) => gather.block(&block, &place, found),
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
        let found = end(&self.full, gather, known.flatten())?;
        // Writes of the reader itself stand at commit 0; no erasure hides them.
        let is_there = |found: &Versioned| {
            let csn = found.csn().0;
            !self.is_erased || csn == 0 || !self.state.erases(&self.full, csn)
        };
        Ok(found.filter(is_there))
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

    /// Calls `f` with the next keys and their states until it breaks (it has taken that one then), or
    /// the range ends.
    ///
    /// # Errors
    /// Fails if a file cannot be read; the scan is over then.
    pub fn visit(
        &mut self,
        f: &mut impl FnMut(&[u8], ScannedState<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        if self.ended {
            return Ok(ControlFlow::Continue(()));
        }
        let flow = self.visit_on(f, None);
        self.ended = !matches!(flow, Ok(ControlFlow::Break(())));
        flow
    }

    /// As [`Scan::visit`]. Calls `g` with a block of columns, in place of `f` with each of its rows, where
    /// all of the block is seen and no other key lies between.
    ///
    /// # Errors
    /// As [`Scan::visit`].
    pub fn visit_columns(
        &mut self,
        f: &mut impl FnMut(&[u8], ScannedState<'_>) -> ControlFlow<()>,
        g: &mut dyn FnMut(ColumnRows) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        if self.ended {
            return Ok(ControlFlow::Continue(()));
        }
        let flow = self.visit_on(f, Some(g));
        self.ended = !matches!(flow, Ok(ControlFlow::Break(())));
        flow
    }

    fn visit_on(
        &mut self,
        f: &mut impl FnMut(&[u8], ScannedState<'_>) -> ControlFlow<()>,
        mut g: Option<&mut dyn FnMut(ColumnRows) -> ControlFlow<()>>,
    ) -> Result<ControlFlow<()>, StoreError> {
        if !self.begun {
            self.begin()?;
        }
        loop {
            if !self.reverse && !self.is_erased {
                if let Some(g) = &mut g
                    && let Some(rows) = self.take_columns()?
                {
                    match g(rows) {
                        ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
                        ControlFlow::Continue(()) => continue,
                    }
                }
                if self.stretch(f)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                if g.is_some() && self.is_ahead() {
                    continue;
                }
            }
            if !self.next_key() {
                return Ok(ControlFlow::Continue(()));
            }
            if let Some(versioned) = self.settle()?
                && f(&self.full[TABLE_LEN..], ScannedState::State(versioned)).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Finds the source that has the next key, and where the keys end that it alone has, in `self.end`: empty
    /// where they do not.
    fn lead(&mut self) -> Option<usize> {
        let Scan { sources, range, end, .. } = self;
        let mut first: Option<usize> = None;
        let mut others: Option<&[u8]> = None;
        for (number, source) in sources.iter().enumerate() {
            let Some(key) = source.key() else { continue };
            match first.and_then(|first| sources[first].key()) {
                Some(least) if least <= key => others = Some(others.map_or(key, |o| o.min(key))),
                least => {
                    others = least.or(others);
                    first = Some(number);
                }
            }
        }
        let first = first?;
        // The reader needs nothing behind the end of the range, nor from the next key of another
        // source on.
        end.clear();
        match (&range.1, others) {
            (Bound::Included(last), Some(other)) if other <= last.as_slice() => end.extend(other),
            (Bound::Excluded(after), Some(other)) if other < after.as_slice() => end.extend(other),
            (Bound::Unbounded, Some(other)) => end.extend(other),
            (Bound::Included(last), _) => end.extend(last.iter().chain([&0])),
            (Bound::Excluded(after), _) => end.extend(after),
            (Bound::Unbounded, None) => {}
        }
        Some(first)
    }

    /// True if the source that has the next key of the range stands in front of a block of columns.
    fn is_ahead(&mut self) -> bool {
        let Some(source) = self.lead().map(|first| &self.sources[first]) else { return false };
        let is_inside = self.end.is_empty() || source.key().is_some_and(|key| key < &*self.end);
        let is_ahead = match source {
            Source::Late(run, _) | Source::Current(run) => run.is_ahead(),
            Source::Memtable(_) | Source::History(_) => false,
        };
        is_inside && is_ahead
    }

    /// Takes a block of columns, where it comes next and no other source has a key in its middle.
    fn take_columns(&mut self) -> Result<Option<ColumnRows>, StoreError> {
        let Some(first) = self.lead() else { return Ok(None) };
        let Scan { sources, at, end, .. } = self;
        let end = (!end.is_empty()).then_some(end.as_slice());
        match &mut sources[first] {
            Source::Late(run, _) | Source::Current(run) => run.take_columns(end, *at),
            Source::Memtable(_) | Source::History(_) => Ok(None),
        }
    }

    /// Takes the next keys as long as one source alone has them, each with one whole value.
    fn stretch(
        &mut self,
        f: &mut impl FnMut(&[u8], ScannedState<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let Some(first) = self.lead() else { return Ok(ControlFlow::Continue(())) };
        let Scan { sources, at, full, end, .. } = self;
        // No key is empty: each begins with the number of its table.
        let end = (!end.is_empty()).then_some(end.as_slice());
        if end.is_some_and(|end| sources[first].key().is_some_and(|key| key >= end)) {
            return Ok(ControlFlow::Continue(()));
        }
        match &mut sources[first] {
            Source::Late(run, _) | Source::Current(run) => run.stretch(end, *at, full, f),
            Source::Memtable(mem) => mem.stretch(end, *at, full, f),
            Source::History(_) => Ok(ControlFlow::Continue(())),
        }
    }

    /// True if nothing happened to the key reached since all of it was erased.
    fn is_wiped(&self) -> Result<bool, StoreError> {
        let spans = self.state.erased.as_ref().map_or(&[][..], |erased| erased.of(&self.full));
        // Rows that have had the key one after the other are erased each by a span of its own.
        let mut to = 0;
        while let Some(span) = spans.iter().find(|span| span.from <= to && span.to > to) {
            to = span.to;
        }
        if to == 0 {
            return Ok(false);
        }
        let latest = self.shared.latest_in(&self.state, &self.full)?;
        let is_live = || self.shared.read_in(&self.state, &self.full, Csn::MAX);
        Ok(latest.is_none_or(|csn| csn.0 <= to) && is_live()?.is_none())
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
        let mut scan = Scan::new(shared, table, range, Csn::MAX, reverse, &[]);
        let history = scan.state.history.iter().rev();
        let history = history.map(|r| Source::History(RunCursor::new(r.clone(), reverse)));
        scan.sources.extend(history);
        Keys(scan)
    }

    /// Only of those that were changed since they were first written, as far as that is seen without a
    /// look at them: what is superseded lies in a history run, or what supersedes it in a memtable.
    pub(crate) fn changed(shared: Arc<Shared>, table: TableId, range: Range) -> Keys {
        let mut keys = Keys::new(shared, table, range, false);
        let is_first =
            |source: &Source| matches!(source, Source::Current(_) | Source::Late(_, true));
        keys.0.sources.retain(|source| !is_first(source));
        keys
    }

    /// True if no layer has a key of the range, not even one whose every version is erased: the bytes of
    /// such a key lie in the files until they are scrubbed.
    pub(crate) fn finds_nothing(mut self) -> Result<bool, StoreError> {
        self.0.begin()?;
        Ok(!self.0.next_key())
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
        loop {
            if !scan.next_key() {
                return Ok(None);
            }
            for source in &mut scan.sources {
                if source.key() == Some(scan.full.as_slice()) {
                    source.advance(scan.reverse, scan.at)?;
                }
            }
            if !scan.is_erased || !scan.is_wiped()? {
                break;
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
