//! Erasure: removes versions of a key from every read and, later, from the files.
//!
//! ```text
//!   key k     csn ->  10      20      30      40 = erased up to here      50
//!   written           [Put]   [Put]   [+30]   [Delete]                    [Put]
//!   read at            -       -       -       -                           yes      from commit 40 on
//!   files             [Put]   [Put]   [+30]   [Delete]                    [Put]     until they are scrubbed
//!   files afterwards                                                      [Put]
//! ```
//!
//! An erasure is a write like others: [`crate::Op::Erase`] names the commits of a key whose changes are
//! removed. The store keeps it as a *span* in memory and, once a checkpoint covers its commit, in the
//! manifest. If there are spans, a reader tests whether a version lies in one, and ignores it then. So a
//! commit hides the versions from all readers without rewriting any file.
//!
//! Scrubbing removes the bytes. It writes segments that hold versions in a span anew without them, each
//! in its place in its run. One manifest then names the new segments and drops the spans. The cost
//! depends on the size of these segments, not on the size of the store. A span waits for a checkpoint that
//! covers its commit, so that memory holds nothing of the key. It also waits for older snapshots, because
//! their transactions may still have to detect that the key has changed.
//!
//! # Invariants
//! * A span ends at a version that needs nothing below it, or at the end of the key.
//! * A version that was superseded by a version in a span does not come back: if the key has older
//!   versions, the change at the beginning of the span stays as a deletion.
//! * The manifest that drops a span names no file with a version in it.

use crate::cache::Cache;
use crate::group::{Entry, Group, Tag};
use crate::key;
use crate::run::{Position, Run};
use crate::segment::{Half, Meta, Segment};
use crate::store::{Shared, State, Store};
use crate::writer::RunWriter;
use crate::{Csn, Kind, StoreError, TableId, Version, filter};
use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// The cache of a walk over one segment.
const CACHE_BYTES: usize = 1 << 20;
/// The compression level of rewritten blocks: that of a large merge.
const LEVEL: i32 = 6;
/// The number of keys between two checks for a stop.
const KEYS_PER_STOP_CHECK: usize = 256;

/// Commits of a key whose changes are erased: from `from` up to below `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub from: u64,
    pub to: u64,
    /// The commit of the erasure.
    pub by: u64,
}

impl Span {
    fn has(&self, csn: u64) -> bool {
        self.from <= csn && csn < self.to
    }

    /// True if a change is erased, or is the deletion at the end of the span.
    pub fn hides(&self, version: Version<'_>) -> bool {
        let ends = self.from == 0 && version.csn.0 == self.to && version.kind == Kind::Delete;
        ends || self.has(version.csn.0)
    }
}

/// The decision about an entry.
enum Verdict {
    Stays,
    Ends,
    Goes,
}

/// The erasures that are not yet scrubbed: spans by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Erasures(BTreeMap<Vec<u8>, Vec<Span>>);

impl Erasures {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The spans of a key.
    pub fn of(&self, full: &[u8]) -> &[Span] {
        self.0.get(full).map_or(&[], Vec::as_slice)
    }

    /// True if the change of a key by a commit is erased.
    pub fn hides(&self, full: &[u8], csn: u64) -> bool {
        self.of(full).iter().any(|span| span.has(csn))
    }

    /// True if something of the table is erased.
    pub fn touches(&self, table: TableId) -> bool {
        let bounds = (Bound::Included(key::full(table, &[]).to_vec()), Bound::Unbounded);
        let first = self.0.range::<Vec<u8>, _>(bounds).next();
        first.is_some_and(|(full, _)| key::split(full).0 == table)
    }

    /// Every span with its key.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Span)> {
        self.0
            .iter()
            .flat_map(|(full, spans)| spans.iter().map(move |span| (full.as_slice(), *span)))
    }

    /// Adds a span. Spans are not joined here, because a manifest may hold only some of them.
    pub fn add(&mut self, full: &[u8], span: Span) {
        if span.from < span.to {
            self.0.entry(full.to_vec()).or_default().push(span);
        }
    }

    /// The same commits erased, by spans that do not meet.
    fn joined(mut self) -> Erasures {
        for spans in self.0.values_mut() {
            spans.sort_unstable_by_key(|span| span.from);
            spans.dedup_by(|next, span| {
                let meet = next.from <= span.to;
                if meet {
                    (span.to, span.by) = (span.to.max(next.to), span.by.max(next.by));
                }
                meet
            });
        }
        self
    }

    /// Returns the spans that commits up to `csn` have made.
    pub fn up_to(&self, csn: u64) -> Erasures {
        self.filter(|span| span.by <= csn)
    }

    /// Returns the spans that commits above `csn` have made.
    fn above(&self, csn: u64) -> Erasures {
        self.filter(|span| span.by > csn)
    }

    fn filter(&self, keep: impl Fn(&Span) -> bool) -> Erasures {
        let mut kept = Erasures::default();
        self.iter().filter(|(_, span)| keep(span)).for_each(|(full, span)| kept.add(full, span));
        kept
    }

    fn verdict(&self, full: &[u8], e: Entry<'_>) -> Verdict {
        for span in self.of(full) {
            if span.has(e.csn) {
                // Nothing is older than commit 1.
                let ends = e.csn == span.from && span.from > 0;
                return if ends { Verdict::Ends } else { Verdict::Goes };
            }
            // A deletion without an older version would only reveal the key.
            if span.from == 0 && e.csn == span.to && e.tag == Tag::Delete {
                return Verdict::Goes;
            }
        }
        Verdict::Stays
    }
}

impl State {
    /// True if the change of a key by a commit is erased.
    #[inline]
    pub fn erases(&self, full: &[u8], csn: u64) -> bool {
        self.erased.as_ref().is_some_and(|erased| erased.hides(full, csn))
    }

    /// Adds spans.
    pub fn erase<'a>(&mut self, spans: impl Iterator<Item = (&'a [u8], Span)>) {
        let mut all = self.erased.as_deref().cloned().unwrap_or_default();
        spans.for_each(|(full, span)| all.add(full, span));
        self.erased = (!all.is_empty()).then(|| Arc::new(all));
    }

    /// The spans that a manifest with this checkpoint holds.
    pub fn erasures(&self) -> Erasures {
        let upto = self.checkpoint.csn.0;
        self.erased.as_ref().map_or_else(Erasures::default, |erased| erased.up_to(upto))
    }
}

impl Store {
    /// Writes segments that hold erased versions anew without them, as far as no snapshot is older than
    /// the erasure: see [`Store::erasures`].
    pub fn scrub(&self) -> Result<(), StoreError> {
        self.shared.scrub()
    }

    /// The commits that have erased something of which files may still hold the bytes, in order, each
    /// with how many keys that is.
    pub fn erasures(&self) -> Vec<(Csn, usize)> {
        let state = self.shared.state();
        let mut commits: BTreeMap<u64, usize> = BTreeMap::new();
        for (_, span) in state.erased.iter().flat_map(|erased| erased.iter()) {
            *commits.entry(span.by).or_default() += 1;
        }
        commits.into_iter().map(|(csn, keys)| (Csn(csn), keys)).collect()
    }
}

impl Shared {
    /// Up to which commit erasures can be scrubbed once a checkpoint covers them.
    fn scrub_limit(&self) -> u64 {
        self.holds.lock().keys().next().copied().unwrap_or(Csn::MAX).0
    }

    /// True if something is erased and not scrubbed.
    pub(crate) fn is_erasing(&self) -> bool {
        self.state().erased.is_some()
    }

    /// True if [`Shared::scrub`] has work to do.
    pub(crate) fn has_to_scrub(&self) -> bool {
        let state = self.state();
        let Some(erased) = &state.erased else { return false };
        let limit = self.scrub_limit().min(self.durable.lock().0.0);
        erased.iter().any(|(_, span)| span.by <= limit)
    }

    pub(crate) fn scrub(&self) -> Result<(), StoreError> {
        if !self.has_to_scrub() {
            return Ok(());
        }
        self.flush()?;
        let _one = self.compacting.lock();
        self.scrub_runs()
    }

    /// Scrubs the runs that the checkpoint covers. Only the merging thread may call it.
    pub(crate) fn scrub_runs(&self) -> Result<(), StoreError> {
        let state = self.runs();
        let limit = self.scrub_limit().min(state.checkpoint.csn.0);
        let due = state.erased.as_ref().map_or_else(Erasures::default, |e| e.up_to(limit)).joined();
        if due.is_empty() {
            return Ok(());
        }
        let mut anew: HashMap<u64, Vec<Arc<Segment>>> = HashMap::new();
        let written = self.scrub_segments(&state, &due, &mut anew);
        let replaced = written.and_then(|go_on| {
            if !go_on {
                return Ok(false);
            }
            let installed = self.install(|state| {
                for runs in [&mut state.current, &mut state.history] {
                    *runs = runs.iter().filter_map(|run| patched(run, &anew)).collect();
                }
                let left = state.erased.as_ref().map(|erased| erased.above(limit));
                state.erased = left.filter(|left| !left.is_empty()).map(Arc::new);
            });
            installed.map(|()| true)
        });
        // Segments that no manifest will name are removed. After a failed swap the manifest on disk
        // may name them: then the files stay.
        if !matches!(replaced, Ok(true)) && self.check_poison().is_ok() {
            anew.values().flatten().for_each(|segment| segment.doom());
        }
        replaced.map(|_| ())
    }

    /// Writes the segments with entries in the `due` spans anew, by their numbers; false if the store is to
    /// be closed.
    fn scrub_segments(
        &self,
        state: &State,
        due: &Erasures,
        anew: &mut HashMap<u64, Vec<Arc<Segment>>>,
    ) -> Result<bool, StoreError> {
        for run in state.current.iter().chain(&state.history) {
            for segment in &run.segments {
                if !holds_erased(run.half, segment, due)? {
                    continue;
                }
                let Some(metas) = self.without(run.half, segment, due)? else { return Ok(false) };
                let opened = if metas.is_empty() {
                    Ok(Vec::new())
                } else {
                    self.open_run(run.half, metas.clone()).map(|run| run.segments.clone())
                };
                let opened = opened.inspect_err(|_| self.discard(&metas))?;
                anew.insert(segment.meta.number, opened);
            }
        }
        Ok(true)
    }

    /// Writes a segment without the entries in the `due` spans; `None` if the store is to be closed.
    fn without(
        &self,
        half: Half,
        segment: &Arc<Segment>,
        due: &Erasures,
    ) -> Result<Option<Vec<Meta>>, StoreError> {
        let run = uncached(half, segment);
        let mut out = RunWriter::new(&self.writer_context, half, LEVEL);
        let (mut full, mut group) = (Vec::new(), Group::default());
        let mut next = run.start()?;
        for count in 0.. {
            let Some(position) = next else { break };
            if count % KEYS_PER_STOP_CHECK == 0 && !self.background.yield_and_continue() {
                return Ok(None);
            }
            position.block.key_into(position.group, &mut full);
            group.clear();
            for e in position.block.group(&position.place()).entries() {
                match due.verdict(&full, e) {
                    Verdict::Stays if group.is_empty() && e.tag == Tag::Delta => {
                        let table = key::split(&full).0;
                        return Err(StoreError::NoBase { table, csn: Csn(e.csn) });
                    }
                    Verdict::Stays => group.push(e.csn, e.tag, e.bytes),
                    Verdict::Ends => group.push(e.csn, Tag::Delete, &[]),
                    Verdict::Goes => {}
                }
            }
            if !group.is_empty() {
                out.push(&full, &group)?;
            }
            next = Position::next(position, &run)?;
        }
        out.finish().map(Some)
    }
}

/// A segment as a run of its own, read past the readers' cache.
fn uncached(half: Half, segment: &Arc<Segment>) -> Run {
    let cache = Arc::new(Cache::single(CACHE_BYTES));
    Run::new(half, vec![Arc::new(segment.through(&cache))])
}

/// True if a segment holds an entry that would not stay.
fn holds_erased(half: Half, segment: &Arc<Segment>, due: &Erasures) -> Result<bool, StoreError> {
    let meta = &segment.meta;
    let keys =
        (Bound::Included(meta.first.0.as_slice()), Bound::Included(meta.last_key.as_slice()));
    let run = uncached(half, segment);
    for full in due.0.range::<[u8], _>(keys).map(|(full, _)| full) {
        let mut visit = |group: crate::group::GroupRef<'_>| match group
            .entries()
            .any(|e| !matches!(due.verdict(full, e), Verdict::Stays))
        {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        if run.groups(full, filter::hash(full), 0, u64::MAX, &mut visit)?.is_break() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A run with the segments in it that were written anew; `None` if nothing is left of it.
fn patched(run: &Arc<Run>, anew: &HashMap<u64, Vec<Arc<Segment>>>) -> Option<Arc<Run>> {
    if run.segments.iter().all(|segment| !anew.contains_key(&segment.meta.number)) {
        return Some(run.clone());
    }
    let segments = run.segments.iter().flat_map(|segment| match anew.get(&segment.meta.number) {
        Some(anew) => anew.clone(),
        None => vec![segment.clone()],
    });
    let segments: Vec<_> = segments.collect();
    (!segments.is_empty()).then(|| Arc::new(Run::new(run.half, segments)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans that meet are one span for scrubbing, and stay apart in the manifest.
    #[test]
    fn spans_that_meet_are_joined_for_scrubbing_alone() {
        let key = b"\0\0\0\x01k";
        let mut erased = Erasures::default();
        for (from, to, by) in [(5, 9, 20), (12, 15, 21), (9, 10, 22), (7, 7, 23)] {
            erased.add(key, Span { from, to, by });
        }
        let spans = |erased: &Erasures| -> Vec<_> {
            erased.iter().map(|(_, span)| (span.from, span.to, span.by)).collect()
        };
        assert_eq!(spans(&erased.up_to(21)), [(5, 9, 20), (12, 15, 21)]);
        assert_eq!(spans(&erased.clone().joined()), [(5, 10, 22), (12, 15, 21)]);
        let hidden: Vec<u64> = (0..20).filter(|csn| erased.hides(key, *csn)).collect();
        assert_eq!(hidden, [5, 6, 7, 8, 9, 12, 13, 14]);
        assert!(erased.touches(TableId(1)) && !erased.touches(TableId(0)));
        assert!(!erased.touches(TableId(2)));
    }
}
