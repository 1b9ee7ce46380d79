//! A merge at work: range by range, each published by a manifest of its own.
//!
//! ```text
//!                        below the cut           cut          above it, still as before
//!   run 1 (the oldest)   [merged ][kept  ][merged]|[old ....][old ...]
//!   run 2                                         |[rest of a segment][old ....]
//!   run 3                                         |[old .]
//! ```
//!
//! The keys below the cut of the last finished range are in the run of the oldest input, and in no other input. Above
//! the cut the inputs have not changed. A segment that spans the cut is replaced by a copy of its part above the cut.
//! The copy is divided at the later cuts too, so each segment is copied once. The result is an ordinary sequence of
//! runs, so readers, flushes and the manifest need no special case. A merge that ends early, or by a power loss, loses
//! the work on one range; the next merge plans anew with the runs that it finds.
//!
//! Several threads merge a range, each a part of its keys.
//!
//! # Invariants
//! * All entries of a key that the inputs have are on one side of a cut.
//! * A range appears in one manifest swap, together with the horizons below which it has dropped something. Until then
//!   nothing has changed.
//! * Between two ranges a merge holds no file that is not installed, so the disk has room for them again.

use crate::compact::{Horizons, Levels, Progress};
use crate::filter;
use crate::group::{Entry, Group, Tag};
use crate::key;
use crate::merge_plan::{Marks, Piece, Plan, bytes_of};
use crate::merging::Part;
use crate::read::end;
use crate::run::{Position, Run, RunCursor};
use crate::segment::{Half, Meta, Segment};
use crate::stats::Counters;
use crate::store::{Shared, State};
use crate::writer::{HistoryWriter, RunWriter};
use crate::{Csn, StoreError, Table};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of keys between two checks for a stop; few in tests, whose merges have few keys.
const KEYS_PER_STOP_CHECK: u64 = if cfg!(test) { 5 } else { 256 };
/// A thread merges at least so many bytes; in tests any number.
const THREAD_BYTES: u64 = if cfg!(test) { 1 } else { 16 << 20 };
const THREAD: &str = "store-merge";
/// The compression of packed blocks that are copied: they will be merged again.
const LEVEL_COPIED: i32 = 3;

/// A merge of adjacent runs.
pub(crate) struct Merge<'a> {
    pub shared: &'a Shared,
    pub half: Half,
    /// No run is older than the inputs.
    pub is_bottom: bool,
    pub levels: Levels,
    pub horizons: Horizons<'a>,
    /// The inputs, oldest first, as they are installed now: those that have segments.
    installed: Vec<Arc<Run>>,
    inputs: usize,
    /// The segments below the last cut.
    done: Vec<Arc<Segment>>,
    /// The segments above it.
    kept: VecDeque<Piece>,
    anew: Vec<Piece>,
    cuts: VecDeque<Vec<u8>>,
    is_published: bool,
}

/// Files that no manifest names yet: they go when this is dropped.
struct Unpublished<'a> {
    shared: &'a Shared,
    metas: Vec<Meta>,
}

impl Drop for Unpublished<'_> {
    fn drop(&mut self) {
        self.shared.discard(&self.metas);
    }
}

impl<'a> Merge<'a> {
    /// Begins the merge of runs, oldest first.
    pub fn new(
        shared: &'a Shared,
        (half, is_bottom): (Half, bool),
        inputs: Vec<Arc<Run>>,
        plan: Plan,
        levels: Levels,
        horizons: Horizons<'a>,
    ) -> Result<Merge<'a>, StoreError> {
        let range_bytes = shared.options.merge_range_bytes.max(1) as u64;
        let cuts = match plan.anew_bytes() > range_bytes {
            true => Marks::of(&plan.anew)?.cuts(range_bytes),
            false => Vec::new(),
        };
        Ok(Merge {
            shared,
            half,
            is_bottom,
            levels,
            horizons,
            inputs: inputs.len(),
            installed: inputs,
            done: Vec::new(),
            kept: plan.kept.into(),
            anew: plan.anew,
            cuts: cuts.into(),
            is_published: false,
        })
    }

    /// Merges all ranges. Breaks if the store is to be closed, or if `progress` breaks. Finished ranges stay merged.
    pub fn run(mut self, progress: Progress<'_>) -> Result<ControlFlow<()>, StoreError> {
        if self.inputs == 1 && self.anew.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let mut told = Told { progress, done: 0, bytes: bytes_of(&self.anew) };
        Counters::add(&self.shared.counters.merge_kept, self.kept_bytes());
        loop {
            let cut = self.cuts.pop_front();
            if self.range(cut.as_deref(), &mut told)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if cut.is_none() {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    fn kept_bytes(&self) -> u64 {
        self.kept.iter().map(|piece| piece.segment.meta.bytes).sum()
    }

    /// Merges and publishes what lies below a cut; everything that is left where there is none.
    fn range(
        &mut self,
        cut: Option<&[u8]>,
        told: &mut Told<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let (beyond, inside): (Vec<Piece>, Vec<Piece>) =
            std::mem::take(&mut self.anew).into_iter().partition(|piece| piece.is_beyond(cut));
        let kept = self.kept.iter().take_while(|piece| !piece.is_beyond(cut)).count();
        let kept: Vec<Piece> = self.kept.drain(..kept).collect();
        let mut files = Unpublished { shared: self.shared, metas: Vec::new() };
        let bytes = bytes_of(&inside);
        let Some(parts) = self.write(&inside, &kept, cut, told)? else {
            return Ok(ControlFlow::Break(()));
        };
        let written = parts.len();
        files.metas = parts;
        let mut rests = Vec::new();
        for piece in inside.iter().filter(|piece| piece.reaches(cut)) {
            let Some(metas) = self.rest(piece, cut)? else { return Ok(ControlFlow::Break(())) };
            rests.extend(metas.iter().map(|_| piece.run));
            files.metas.extend(metas);
        }
        let mut opened = Vec::with_capacity(files.metas.len());
        for meta in &files.metas {
            let segment = Segment::open(&self.shared.reader, self.half, meta.clone())?;
            opened.push(Arc::new(segment));
        }
        // From here on the segments themselves know whether their files go.
        files.metas.clear();
        let above = opened.split_off(written);
        let below = opened.iter().cloned().chain(kept.into_iter().map(|piece| piece.segment));
        let mut below: Vec<_> = below.collect();
        below.sort_by(|a, b| a.meta.first.cmp(&b.meta.first));
        self.done.extend(below);
        self.anew = rests.iter().zip(&above).map(|(run, segment)| piece(*run, segment)).collect();
        self.anew.extend(beyond);
        Piece::sort(&mut self.anew);
        opened.extend(above);
        let written: u64 = opened.iter().map(|segment| segment.meta.bytes).sum();
        self.publish(&opened)?;
        let counters = &self.shared.counters;
        Counters::add(&counters.written, written);
        Counters::add(&counters.merge_written, written);
        Counters::add(&counters.merge_read, bytes);
        Counters::add(&counters.compactions, u64::from(!self.is_published));
        self.is_published = true;
        told.done += bytes;
        Ok(ControlFlow::Continue(()))
    }

    /// Installs what is done, and above it the rest of each input. `new` are the segments that no manifest names yet.
    fn publish(&mut self, new: &[Arc<Segment>]) -> Result<(), StoreError> {
        let mut rows: Vec<Vec<Arc<Segment>>> = vec![Vec::new(); self.inputs];
        let mut above: Vec<Piece> = self.kept.iter().chain(&self.anew).cloned().collect();
        Piece::sort(&mut above);
        rows[0].clone_from(&self.done);
        above.into_iter().for_each(|piece| rows[piece.run].push(piece.segment));
        rows.retain(|row| !row.is_empty());
        let is_ordered = |row: &Vec<Arc<Segment>>| {
            row.windows(2).all(|two| two[0].meta.last_key <= two[1].meta.first.0)
        };
        assert!(rows.iter().all(is_ordered), "the segments of a run do not overlap");
        let runs: Vec<Arc<Run>> =
            rows.into_iter().map(|row| Arc::new(Run::new(self.half, row))).collect();
        let (before, raised) = (&self.installed, self.horizons.raised());
        let unread = self.shared.unread(&raised);
        let installed = self.shared.install(|state| {
            let all = match self.half {
                Half::Current => &mut state.current,
                Half::History => &mut state.history,
            };
            let start = all
                .iter()
                .position(|run| Arc::ptr_eq(run, &before[0]))
                .expect("inputs stay installed");
            assert!(
                all[start..].iter().zip(before).all(|(a, b)| Arc::ptr_eq(a, b)),
                "only this merge moves them"
            );
            all.splice(start..start + before.len(), runs.iter().cloned());
            state.raise_horizons(&raised, &unread);
        });
        // After a failed swap the manifest on disk may name the new files: then they stay.
        if installed.is_err() && self.shared.check_poison().is_ok() {
            new.iter().for_each(|segment| segment.doom());
        }
        installed?;
        self.installed = runs;
        Ok(())
    }

    /// Writes what lies below a cut; `None` if the merge is to end.
    fn write(
        &mut self,
        inside: &[Piece],
        kept: &[Piece],
        cut: Option<&[u8]>,
        told: &mut Told<'_>,
    ) -> Result<Option<Vec<Meta>>, StoreError> {
        let mut runs: Vec<Vec<Arc<Segment>>> = vec![Vec::new(); self.inputs];
        inside.iter().for_each(|piece| runs[piece.run].push(piece.segment.clone()));
        runs.retain(|run| !run.is_empty());
        let bytes = bytes_of(inside);
        let work = Work {
            shared: self.shared,
            half: self.half,
            is_bottom: self.is_bottom,
            levels: self.levels,
            state: &self.shared.runs(),
            runs: &runs
                .into_iter()
                .map(|run| Arc::new(Run::new(self.half, run)))
                .collect::<Vec<_>>(),
            kept: &kept.iter().map(|piece| piece.segment.clone()).collect::<Vec<_>>(),
            keys: AtomicU64::new(0),
            keys_max: inside.iter().map(|piece| piece.segment.meta.keys).sum(),
            is_over: AtomicBool::new(false),
        };
        let threads =
            (bytes / THREAD_BYTES).clamp(1, self.shared.options.merge_threads.max(1) as u64);
        let keys = match threads {
            1 => Vec::new(),
            threads => Marks::of(inside)?.even(threads as usize, cut),
        };
        work.by_threads(Part::below_and_between(cut, &keys), &mut self.horizons, &mut |part| {
            told.part(bytes, part)
        })
    }

    /// Copies what a segment holds at and above a cut, cut at the later ones; `None` if the merge is to end.
    fn rest(&self, piece: &Piece, cut: Option<&[u8]>) -> Result<Option<Vec<Meta>>, StoreError> {
        let segment = Arc::new(Run::new(self.half, vec![piece.segment.clone()]));
        let run = &self.shared.uncached(std::slice::from_ref(&segment))[0];
        let mut out = RunWriter::new(&self.shared.writer_context, self.half, self.levels.rows);
        if self.levels.packed.is_some() && piece.segment.is_packed() {
            out = out.packing(LEVEL_COPIED);
        }
        let mut cuts = self.cuts.iter().peekable();
        let (mut full, mut group) = (Vec::new(), Group::default());
        let mut next = run.first_from(cut.unwrap_or_default(), 0)?;
        for count in 0_u64.. {
            let Some(position) = next else { break };
            if count.is_multiple_of(KEYS_PER_STOP_CHECK)
                && !self.shared.background.yield_and_continue()
            {
                return Ok(None);
            }
            position.block.key_into(position.group, &mut full);
            while cuts.next_if(|cut| **cut <= full).is_some() {
                out.cut()?;
            }
            group.clear();
            let entries = position.block.group(&position.place()).entries();
            entries.for_each(|e| group.push(e.csn, e.tag, e.bytes));
            out.push(&full, &group)?;
            next = Position::next(position, run)?;
        }
        out.finish().map(Some)
    }
}

fn piece(run: usize, segment: &Arc<Segment>) -> Piece {
    Piece { run, segment: segment.clone() }
}

/// Reports the progress of a merge.
struct Told<'p> {
    progress: Progress<'p>,
    /// The bytes of the ranges that are done.
    done: u64,
    bytes: u64,
}

impl Told<'_> {
    /// Reports that a part (0 to 1) of the keys of a range of so many bytes is merged. False if the merge is to end.
    fn part(&mut self, bytes: u64, part: f64) -> bool {
        let done = self.done + (bytes as f64 * part) as u64;
        (self.progress)(done.min(self.bytes), self.bytes).is_continue()
    }
}

/// The work on one range.
struct Work<'w> {
    shared: &'w Shared,
    half: Half,
    is_bottom: bool,
    levels: Levels,
    /// The runs as they are now: a merge of history looks for newest versions there.
    state: &'w State,
    /// The segments of each input, oldest first.
    runs: &'w [Arc<Run>],
    /// The segments that stay between those that are written, in order.
    kept: &'w [Arc<Segment>],
    /// How many keys are merged, of at most so many.
    keys: AtomicU64,
    keys_max: u64,
    /// A thread has failed, or the merge is to end.
    is_over: AtomicBool,
}

/// Told the part of a range that is merged; false if the merge is to end.
type Tell<'t> = &'t mut dyn FnMut(f64) -> bool;

impl Work<'_> {
    /// Merges each part but the first on a thread of its own; the calling thread merges the first.
    fn by_threads(
        &self,
        parts: Vec<Part<'_>>,
        horizons: &mut Horizons<'_>,
        tell: Tell<'_>,
    ) -> Result<Option<Vec<Meta>>, StoreError> {
        let begun = horizons.clone();
        let all: Vec<Result<_, StoreError>> = std::thread::scope(|scope| {
            let begin = |part| {
                let mut horizons = begun.clone();
                let thread = std::thread::Builder::new().name(THREAD.to_owned());
                let work = move || {
                    let merged = self.part(part, &mut horizons, &mut |_| true);
                    self.is_over.fetch_or(!matches!(merged, Ok(Some(_))), Ordering::Relaxed);
                    merged.map(|metas| (metas, Some(horizons)))
                };
                let thread = thread.spawn_scoped(scope, work);
                thread.map_err(StoreError::io("cannot start thread", THREAD))
            };
            let mut parts = parts.into_iter();
            let first = parts.next().unwrap_or_default();
            let threads: Vec<_> = parts.map(begin).collect();
            let first = self.part(first, horizons, tell);
            self.is_over.fetch_or(!matches!(first, Ok(Some(_))), Ordering::Relaxed);
            let others = threads.into_iter().map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(error) => Err(error),
            });
            std::iter::once(first.map(|metas| (metas, None))).chain(others).collect()
        });
        let mut files = Unpublished { shared: self.shared, metas: Vec::new() };
        let (mut failed, mut is_whole) = (None, true);
        for part in all {
            match part {
                Ok((metas, of_thread)) => {
                    is_whole &= metas.is_some();
                    files.metas.extend(metas.into_iter().flatten());
                    of_thread.into_iter().for_each(|other| horizons.absorb(other));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(is_whole.then(|| std::mem::take(&mut files.metas))),
        }
    }

    /// Counts keys, and yields to other threads; false if the merge is to end.
    fn goes_on(&self, tell: Tell<'_>) -> bool {
        let keys = self.keys.fetch_add(KEYS_PER_STOP_CHECK, Ordering::Relaxed);
        let told = tell(keys as f64 / self.keys_max.max(1) as f64);
        told && self.shared.background.yield_and_continue() && !self.is_over.load(Ordering::Relaxed)
    }

    /// Merges the keys of a part.
    fn part(
        &self,
        part: Part<'_>,
        horizons: &mut Horizons<'_>,
        tell: Tell<'_>,
    ) -> Result<Option<Vec<Meta>>, StoreError> {
        match self.half {
            Half::Current => self.current(part, horizons, tell),
            Half::History => self.history(part, horizons, tell),
        }
    }

    /// The segments that stay and lie above the beginning of a part.
    fn kept_from(&self, part: Part<'_>) -> impl Iterator<Item = &[u8]> {
        let kept = self.kept.iter().map(|segment| segment.meta.first.0.as_slice());
        kept.filter(move |first| part.from.is_none_or(|from| *first >= from))
    }

    fn current(
        &self,
        part: Part<'_>,
        horizons: &mut Horizons<'_>,
        tell: Tell<'_>,
    ) -> Result<Option<Vec<Meta>>, StoreError> {
        let mut out = RunWriter::new(&self.shared.writer_context, Half::Current, self.levels.rows);
        if let Some(level) = self.levels.packed {
            out = out.packing(level);
        }
        let runs = self.shared.uncached(self.runs).into_iter().rev();
        let mut cursors: Vec<RunCursor> = runs.map(|run| RunCursor::new(run, false)).collect();
        cursors.iter_mut().try_for_each(|cursor| cursor.seek(part.from, false))?;
        let mut kept = self.kept_from(part).peekable();
        let mut group = Group::default();
        let mut full = Vec::new();
        for count in 0_u64.. {
            if count.is_multiple_of(KEYS_PER_STOP_CHECK) && !self.goes_on(tell) {
                return Ok(None);
            }
            let Some(next) = cursors.iter().filter_map(RunCursor::key).min() else { break };
            if part.below.is_some_and(|below| next >= below) {
                break;
            }
            full.clear();
            full.extend_from_slice(next);
            if let Some(over) = horizons.over(key::split(&full).0) {
                for cursor in &mut cursors {
                    if cursor.key().is_some_and(|key| key < over.as_slice()) {
                        cursor.seek(Some(&over), false)?;
                    }
                }
                continue;
            }
            while kept.next_if(|first| *first < full.as_slice()).is_some() {
                out.cut()?;
            }
            let mut newest = !(self.is_bottom && horizons.is_forgotten(&full));
            for cursor in cursors.iter_mut().filter(|c| c.key() == Some(&full)) {
                if let (true, Some((block, place))) = (std::mem::take(&mut newest), cursor.entry())
                    && let Some(e) = block.group(&place).entries().next()
                    && !(self.is_bottom && e.tag == Tag::Delete)
                {
                    group.clear();
                    group.push(e.csn, e.tag, e.bytes);
                    out.push(&full, &group)?;
                }
                cursor.advance()?;
            }
        }
        out.finish().map(Some)
    }

    fn history(
        &self,
        part: Part<'_>,
        horizons: &mut Horizons<'_>,
        tell: Tell<'_>,
    ) -> Result<Option<Vec<Meta>>, StoreError> {
        let runs = self.shared.uncached(self.runs);
        let mut out = HistoryWriter::new(&self.shared.writer_context, self.levels.rows);
        if let Some(level) = self.levels.packed {
            out = out.packing(level);
        }
        let mut fold = Fold {
            state: self.state,
            out,
            kept: Group::default(),
            horizon: 0,
            pending: false,
            dropped: false,
        };
        let start = |run: &Arc<Run>| match part.from {
            Some(from) => run.first_from(from, 0),
            None => run.start(),
        };
        let mut positions = runs.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let mut kept = self.kept_from(part).peekable();
        let (mut full, mut next) = (Vec::new(), Vec::new());
        for count in 0_u64.. {
            if count.is_multiple_of(KEYS_PER_STOP_CHECK) && !self.goes_on(tell) {
                return Ok(None);
            }
            let mut any = false;
            for position in positions.iter().flatten() {
                position.block.key_into(position.group, &mut next);
                if !std::mem::replace(&mut any, true) || next < full {
                    std::mem::swap(&mut full, &mut next);
                }
            }
            if !any || part.below.is_some_and(|below| full.as_slice() >= below) {
                break;
            }
            let (id, _) = key::split(&full);
            if let Some(over) = horizons.over(id) {
                for (run, position) in runs.iter().zip(&mut positions) {
                    if let Some(p) = position {
                        p.block.key_into(p.group, &mut next);
                        if next < over {
                            *position = run.first_from(&over, 0)?;
                        }
                    }
                }
                continue;
            }
            while kept.next_if(|first| *first < full.as_slice()).is_some() {
                fold.out.cut()?;
            }
            let table = Arc::clone(horizons.table(id));
            let horizon = if self.is_bottom { horizons.csn(id).0 } else { 0 };
            fold.begin(&full, &table, horizon)?;
            for (run, position) in runs.iter().zip(&mut positions) {
                while let Some(p) = position.take_if(|p| p.block.is_key(&p.place(), &full)) {
                    p.block
                        .group(&p.place())
                        .entries()
                        .try_for_each(|e| fold.entry(&full, &table, e))?;
                    *position = Position::next(p, run)?;
                }
            }
            fold.end(&full, &table)?;
            if std::mem::take(&mut fold.dropped) {
                horizons.has_dropped(id);
            }
        }
        fold.out.finish().map(Some)
    }
}

/// Takes the entries of each key, oldest first, and writes what is kept.
struct Fold<'a> {
    state: &'a State,
    out: HistoryWriter,
    /// The state at the horizon as far as it was met: an anchor and deltas, while `pending`.
    kept: Group,
    horizon: u64,
    pending: bool,
    dropped: bool,
}

impl Fold<'_> {
    fn begin(
        &mut self,
        full: &[u8],
        table: &Arc<dyn Table>,
        horizon: u64,
    ) -> Result<(), StoreError> {
        self.horizon = horizon;
        self.pending = true;
        self.kept.clear();
        self.out.begin(full, table)
    }

    fn entry(
        &mut self,
        full: &[u8],
        table: &Arc<dyn Table>,
        e: Entry<'_>,
    ) -> Result<(), StoreError> {
        if e.csn > self.horizon {
            self.settle(full, table, false)?;
            return self.out.entry(e.csn, e.tag, e.bytes);
        }
        if e.tag != Tag::Delta {
            self.dropped |= !self.kept.is_empty();
            self.kept.clear();
        }
        self.kept.push(e.csn, e.tag, e.bytes);
        Ok(())
    }

    fn end(&mut self, full: &[u8], table: &Arc<dyn Table>) -> Result<(), StoreError> {
        self.settle(full, table, true)
    }

    /// Writes the state at the horizon, once. `last`: nothing of the key's history is above it.
    fn settle(
        &mut self,
        full: &[u8],
        table: &Arc<dyn Table>,
        last: bool,
    ) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.pending) || self.kept.is_empty() {
            return Ok(());
        }
        let tail = *self.kept.tail();
        let Some(anchor) = tail.anchor else {
            return Err(StoreError::NoBase { table: key::split(full).0, csn: Csn(tail.csn) });
        };
        let ended = tail.deltas == 0 && anchor.tag == Tag::Delete;
        let superseded = last && {
            let current = self.state.find_current(full, filter::hash(full))?;
            current.is_some_and(|(_, _, found)| found.csn <= self.horizon)
        };
        self.dropped |= ended || superseded || tail.deltas > 0;
        if ended || superseded {
            return Ok(());
        }
        if tail.deltas == 0 {
            let bytes = &self.kept.body()[anchor.start as usize..][..anchor.len as usize];
            return self.out.entry(anchor.csn, anchor.tag, bytes);
        }
        let (id, key) = key::split(full);
        let mut gather = crate::versioned::Gather::default();
        let known = match gather.group(&Arc::new(self.kept.clone()), tail) {
            crate::versioned::Step::Known(known) => known,
            crate::versioned::Step::Below => None,
        };
        let Some(known) = end(full, gather, known)? else { return Ok(()) };
        let image = known.image(&**table, key).map_err(|source| StoreError::Merge {
            table: id,
            csn: known.csn(),
            source,
        })?;
        self.out.entry(tail.csn, Tag::Image, &image)
    }
}
