//! Compaction merges adjacent runs into one, and drops versions that retention does not keep.
//!
//! ```text
//!   current   [run 1 ........][run 2 ..][run 3 .]      newest entry of a key wins; tombstones go at the bottom
//!   history   [epoch 1 ......][epoch 2 ][epoch 3]      entries one after the other; an image at the start of
//!                                                      an epoch goes where the deltas before it are few
//! ```
//!
//! Which runs: from the newest backwards, as long as the next older run is not much larger than all the
//! newer ones together. Each byte is so rewritten O(log) times, and a store has O(log) runs.
//!
//! # Retention
//! The horizon H of a table is the last commit whose own state must still be readable: what
//! [`Retention`] asks for, but never above the oldest [`crate::Hold`] nor above the checkpoint. A merge
//! that reaches the oldest history run replaces what a key has at or below H by its state at H, and by
//! nothing where the key was deleted then, or where its current entry is at or below H. From then on a
//! read of the past below H is refused as forgotten. The horizons are in the manifest.
//!
//! A table that ended ([`Table::ended`]) at or below its horizon is *gone*: nobody reads anything of it.
//! Every merge, of current runs too, steps over what it holds, without reading it.
//!
//! # Invariants
//! * A merge changes no answer at or above the horizon of its table.
//! * Only adjacent runs are merged, so that their order stays the order of epochs.

use crate::cache::Cache;
use crate::filter;
use crate::group::{Entry, Group, Tag};
use crate::key;
use crate::read::end;
use crate::run::{Position, Run, RunCursor};
use crate::segment::{Half, Meta};
use crate::stats::Counters;
use crate::store::{Shared, State, Store};
use crate::writer::{HistoryWriter, RunWriter};
use crate::{Csn, Retention, StoreError, Table, TableId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// So many runs of about one size are merged.
const FAN_IN: usize = 4;
/// The cache of each run's walk, so that a merge does not push out what readers use: it needs the guide of
/// a segment, and a block now and then twice.
const CACHE_BYTES: usize = 4 << 20;
const LEVEL_CURRENT: i32 = 3;
const LEVEL_HISTORY: i32 = 6;
const LEVEL_FULL: i32 = 9;
/// Packed blocks, of which a compaction has less to compress: a few megabytes a second.
const LEVEL_PACKED: i32 = 19;
/// The same where the runs have more than so many bytes: some ten times as fast, about a tenth larger.
const LEVEL_PACKED_LARGE: i32 = 12;
const PACKED_LARGE_BYTES: u64 = 64 << 20;
/// Keys between two looks at whether to stop.
const BREATH: usize = 256;

/// A merge that is asked for must win one part in so many of what it writes anew.
const WORTH: u64 = 20;
/// Runs of so few bytes together are merged whatever that wins.
const SMALL_BYTES: u64 = 8 << 20;
/// Keys of a run that are looked at to estimate what a merge would win, about.
const SAMPLE_KEYS: u64 = 32 << 10;
/// Blocks of a run that they are taken from, at least where there are so many, and at most.
const SAMPLE_BLOCKS: (u64, u64) = (8, 128);
/// Told how many bytes of how many have been merged.
type Progress<'p> = &'p mut dyn FnMut(u64, u64);

impl Store {
    /// Flushes, and merges runs, with retention applied and without erased entries, and packs the
    /// values of tables that have a packer ([`Table::packer`]). The gain of a merge is estimated
    /// before. Some runs hold next to nothing that newer ones supersede, or that a packer would
    /// make smaller. They stay as they are, because to write them anew takes long and wins nothing.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.compact_with(&mut |_, _| ())
    }

    /// As [`Store::compact`]; `progress` is told how many bytes of how many are merged.
    pub fn compact_with(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        let shared = &self.shared;
        shared.flush()?;
        let _one = shared.compacting.lock();
        {
            // The files that are merged go at the end of this block.
            let state = shared.runs();
            let mut horizons = shared.horizons(&state);
            let runs = &state.current;
            let worthwhile = shared.worth_merging(&state, &mut horizons)?;
            let unpacked = shared.worth_packing(runs, &mut horizons)?;
            if let Some(range) = longer(worthwhile, unpacked) {
                let level = shared.packed_level(&runs[range.clone()], &mut horizons)?;
                shared.merge_current(&state, range, horizons, level, progress)?;
            }
        }
        let state = shared.runs();
        let mut horizons = shared.horizons(&state);
        let may_drop = shared.any_table(&state.history, &mut horizons, |of| of.csn > Csn::ZERO)?;
        let runs = &state.history;
        let unpacked = shared.worth_packing(runs, &mut horizons)?;
        if let Some(range) = longer(history_worth_merging(runs, may_drop), unpacked) {
            let packed = shared.packed_level(&runs[range.clone()], &mut horizons)?;
            let levels = Levels { rows: LEVEL_FULL, packed };
            shared.merge_history(&state, range, horizons, levels, progress)?;
        }
        shared.scrub_runs()
    }

    /// Does what the background threads would do now: for stores opened without them.
    pub fn maintain(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        if shared.state().active.fill(&shared.options) >= 1.0 {
            shared.freeze();
        }
        shared.flush_whole()?;
        shared.tidy()
    }
}

/// Which runs, oldest first, to merge: the longest row at the newest end in which no run is much larger
/// than all after it; none where that is short.
fn due(runs: &[Arc<Run>]) -> Option<Range<usize>> {
    let mut start = runs.len().checked_sub(1)?;
    let mut bytes = runs[start].bytes;
    while start > 0 && runs[start - 1].bytes <= bytes * 2 {
        start -= 1;
        bytes += runs[start].bytes;
    }
    (runs.len() - start >= FAN_IN).then_some(start..runs.len())
}

/// Which history runs a merge that is asked for takes: all where something may be dropped, else the newest ones, up to
/// one that is so much larger than these that what it could win is lost in it.
fn history_worth_merging(runs: &[Arc<Run>], may_drop: bool) -> Option<Range<usize>> {
    let bytes = |runs: &[Arc<Run>]| runs.iter().map(|run| run.bytes).sum::<u64>();
    if may_drop && !runs.is_empty() || runs.len() > 1 && bytes(runs) <= SMALL_BYTES {
        return Some(0..runs.len());
    }
    let start = (0..runs.len()).find(|at| runs[*at].bytes <= WORTH * bytes(&runs[at + 1..]))?;
    (runs.len() - start > 1).then_some(start..runs.len())
}

/// The longer of two rows of runs that end with the newest one.
fn longer(one: Option<Range<usize>>, other: Option<Range<usize>>) -> Option<Range<usize>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.start.min(other.start)..one.end),
        (one, other) => one.or(other),
    }
}

/// The levels at which a merge compresses blocks.
#[derive(Clone, Copy)]
struct Levels {
    /// Of blocks that are not packed.
    rows: i32,
    /// Of packed blocks. `None`: the merge packs no block.
    packed: Option<i32>,
}

/// The facts about a table that a merge needs.
struct Horizon {
    table: Arc<dyn Table>,
    /// The last commit whose state must still be known; 0: keep everything.
    csn: Csn,
    /// The table ended at or below that.
    gone: bool,
    /// Something of it was dropped.
    dropped: bool,
    /// It has a packer.
    packs: bool,
}

/// The horizon of each table, asked once.
pub(crate) struct Horizons<'a> {
    shared: &'a Shared,
    limit: Csn,
    tables: BTreeMap<TableId, Horizon>,
}

impl Horizons<'_> {
    fn of(&mut self, id: TableId) -> &mut Horizon {
        self.tables.entry(id).or_insert_with(|| {
            let table = (self.shared.resolve)(id);
            let csn = match table.retention() {
                Retention::Forever | Retention::Unsettled => Csn::ZERO,
                Retention::None => self.limit,
                Retention::Since(us) => match &*self.shared.time_floor.read() {
                    Some(floor) => {
                        floor(self.shared.clock.now_us().saturating_sub(us)).min(self.limit)
                    }
                    None => Csn::ZERO,
                },
            };
            let csn = csn.max(table.forgotten().min(self.limit));
            let gone = table.ended().is_some_and(|ended| ended <= csn);
            let packs = table.packer().is_some_and(|packer| packer.is_worthwhile());
            Horizon { table, csn, gone, dropped: false, packs }
        })
    }

    /// Where the keys of a table that is gone end, and so where a merge goes on; `None` where the table
    /// is not gone.
    fn over(&mut self, id: TableId) -> Option<Vec<u8>> {
        let horizon = self.of(id);
        horizon.dropped |= horizon.gone;
        horizon.gone.then(|| key::after(id))
    }

    /// The horizons to write down: those of tables of which something was dropped.
    fn raised(&self) -> Vec<(TableId, Csn)> {
        let dropped = self.tables.iter().filter(|(_, known)| known.dropped);
        dropped.map(|(id, known)| (*id, known.csn)).collect()
    }
}

impl Shared {
    /// Merges what is due, and scrubs what is erased.
    pub(crate) fn tidy(&self) -> Result<(), StoreError> {
        self.compact_due()?;
        self.scrub()
    }

    /// Merges what is due, until nothing is.
    pub(crate) fn compact_due(&self) -> Result<(), StoreError> {
        let _one = self.compacting.lock();
        loop {
            self.check_poison()?;
            let state = self.runs();
            if let Some(range) = due(&state.current) {
                self.merge_current(&state, range, self.horizons(&state), None, &mut |_, _| ())?;
            } else if let Some(range) = due(&state.history) {
                let horizons = self.horizons(&state);
                let levels = Levels { rows: LEVEL_HISTORY, packed: None };
                self.merge_history(&state, range, horizons, levels, &mut |_, _| ())?;
            } else {
                return Ok(());
            }
            if self.background.is_stopping() {
                return Ok(());
            }
        }
    }

    fn horizons(&self, state: &State) -> Horizons<'_> {
        let held = self.holds.lock().keys().next().copied().unwrap_or(Csn::MAX);
        Horizons { shared: self, limit: held.min(state.checkpoint.csn), tables: BTreeMap::new() }
    }

    /// The same files, read past the readers' cache.
    pub(crate) fn apart(&self, runs: &[Arc<Run>]) -> Vec<Arc<Run>> {
        let apart = |run: &Arc<Run>| {
            let cache = Arc::new(Cache::single(CACHE_BYTES));
            let segments = run.segments.iter().map(|s| Arc::new(s.through(&cache))).collect();
            Arc::new(Run::new(run.half, segments))
        };
        runs.iter().map(apart).collect()
    }

    /// True where some run holds a table of which `f` is true.
    fn any_table(
        &self,
        runs: &[Arc<Run>],
        horizons: &mut Horizons<'_>,
        f: impl Fn(&Horizon) -> bool,
    ) -> Result<bool, StoreError> {
        for run in runs {
            if self.each_table(run, &mut |id| Ok(f(horizons.of(id))))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls `f` with each table of a run, until it returns true; returns whether it did.
    fn each_table(
        &self,
        run: &Arc<Run>,
        f: &mut dyn FnMut(TableId) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        for run in self.apart(std::slice::from_ref(run)) {
            let mut cursor = RunCursor::new(run, false);
            cursor.seek(None, false)?;
            while let Some(full) = cursor.key() {
                let (id, _) = key::split(full);
                if f(id)? {
                    return Ok(true);
                }
                cursor.seek(Some(&key::after(id)), false)?;
            }
        }
        Ok(false)
    }

    /// The runs that a compaction packs: from the oldest one on of which enough is not packed and could be.
    fn worth_packing(
        &self,
        runs: &[Arc<Run>],
        horizons: &mut Horizons<'_>,
    ) -> Result<Option<Range<usize>>, StoreError> {
        for (at, run) in runs.iter().enumerate() {
            let mut bytes = 0;
            for segment in run.segments.iter().filter(|segment| !segment.is_packed()) {
                let one = Arc::new(Run::new(run.half, vec![segment.clone()]));
                self.each_table(&one, &mut |id| {
                    if horizons.of(id).packs {
                        bytes += segment.table_bytes_most(id)?;
                    }
                    Ok(false)
                })?;
            }
            if bytes > 0 && bytes * WORTH >= run.bytes {
                return Ok(Some(at..runs.len()));
            }
        }
        Ok(None)
    }

    /// The level at which packed blocks of these runs are compressed; `None` where no block would be packed.
    fn packed_level(
        &self,
        runs: &[Arc<Run>],
        horizons: &mut Horizons<'_>,
    ) -> Result<Option<i32>, StoreError> {
        let bytes: u64 = runs.iter().map(|run| run.bytes).sum();
        let level = if bytes > PACKED_LARGE_BYTES { LEVEL_PACKED_LARGE } else { LEVEL_PACKED };
        Ok(self.any_table(runs, horizons, |of| of.packs)?.then_some(level))
    }

    /// The current runs that a merge which is asked for takes: the longest row at the newest end of which enough is
    /// superseded; none where that is nowhere so.
    fn worth_merging(
        &self,
        state: &State,
        horizons: &mut Horizons<'_>,
    ) -> Result<Option<Range<usize>>, StoreError> {
        let runs = &state.current;
        let all = 0..runs.len();
        if self.any_table(runs, horizons, |of| of.gone)? {
            return Ok(Some(all));
        }
        // Entries that were superseded before history was deleted must be in no file.
        for run in runs.iter().skip(1) {
            let is_due = |of: &Horizon| of.table.forgotten().0 >= run.csns.0;
            if self.any_table(std::slice::from_ref(run), horizons, is_due)? {
                return Ok(Some(all));
            }
        }
        let total: u64 = runs.iter().map(|run| run.bytes).sum();
        if runs.len() > 1 && total <= SMALL_BYTES {
            return Ok(Some(all));
        }
        let apart = self.apart(runs);
        // A merge drops the same entries of a run however many older runs it takes, except at the
        // bottom.
        let (mut bytes, mut won) = (0, 0);
        let mut found = None;
        for at in all.rev() {
            bytes += runs[at].bytes;
            won += self.superseded_bytes(&apart[at], &apart[at + 1..], at == 0, horizons)?;
            if won * WORTH >= bytes && won > 0 {
                found = Some(at..runs.len());
            }
        }
        Ok(found)
    }

    /// Estimates, from a sample of its keys, how many bytes of a run go when it is merged with newer ones.
    fn superseded_bytes(
        &self,
        run: &Arc<Run>,
        newer: &[Arc<Run>],
        is_bottom: bool,
        horizons: &mut Horizons<'_>,
    ) -> Result<u64, StoreError> {
        let guides = run.segments.iter().map(|of| of.guide()).collect::<Result<Vec<_>, _>>()?;
        let blocks: u64 = guides.iter().map(|guide| guide.blocks().len() as u64).sum();
        let keys: u64 = run.metas().map(|meta| meta.keys).sum();
        if blocks == 0 || keys == 0 {
            return Ok(0);
        }
        let wanted = (SAMPLE_KEYS * blocks / keys).clamp(SAMPLE_BLOCKS.0, SAMPLE_BLOCKS.1);
        let step = blocks.div_ceil(wanted).max(1);
        let (mut seen, mut gone) = (0_u32, 0_u64);
        let mut full = Vec::new();
        let of_all = run.segments.iter().zip(&guides);
        let infos =
            of_all.flat_map(|(of, guide)| guide.blocks().iter().map(move |info| (of, info)));
        for (segment, info) in infos.step_by(step as usize) {
            let block = segment.load_block(info)?;
            for at in 0..block.count() {
                block.key_into(at, &mut full);
                let hash = filter::hash(&full);
                let ended = block.group(&block.place(at)).entries().next();
                let mut is_gone = is_bottom
                    && (ended.is_some_and(|entry| entry.tag == Tag::Delete)
                        || self.is_forgotten(&full, horizons));
                for run in newer {
                    is_gone = is_gone || run.find(&full, hash, u64::MAX)?.is_some();
                }
                seen += 1;
                gone += u64::from(is_gone);
            }
        }
        Ok((run.bytes as f64 * gone as f64 / f64::from(seen.max(1))) as u64)
    }

    fn merge_current(
        &self,
        state: &State,
        range: Range<usize>,
        mut horizons: Horizons<'_>,
        packed_level: Option<i32>,
        progress: Progress<'_>,
    ) -> Result<(), StoreError> {
        let inputs = &state.current[range.clone()];
        let mut told = Told::of(inputs, progress);
        let mut out = RunWriter::new(&self.shop, Half::Current, LEVEL_CURRENT);
        if let Some(level) = packed_level {
            out = out.packing(level);
        }
        let mut cursors: Vec<RunCursor> =
            self.apart(inputs).into_iter().rev().map(|run| RunCursor::new(run, false)).collect();
        cursors.iter_mut().try_for_each(|c| c.seek(None, false))?;
        let mut group = Group::default();
        let mut full = Vec::new();
        for count in 0.. {
            if count % BREATH == 0 {
                told.keys(count);
                if !self.background.breathe() {
                    return Ok(());
                }
            }
            let Some(next) = cursors.iter().filter_map(RunCursor::key).min() else { break };
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
            let mut newest = !(range.start == 0 && self.is_forgotten(&full, &mut horizons));
            for cursor in cursors.iter_mut().filter(|c| c.key() == Some(&full)) {
                if let (true, Some((block, place))) = (std::mem::take(&mut newest), cursor.entry())
                    && let Some(e) = block.group(&place).entries().next()
                    && !(range.start == 0 && e.tag == Tag::Delete)
                {
                    group.clear();
                    group.push(e.csn, e.tag, e.bytes);
                    out.push(&full, &group)?;
                }
                cursor.advance()?;
            }
        }
        self.replace(Half::Current, inputs, out.finish()?, &horizons.raised())
    }

    /// True for a key that tells of a commit whose history was dropped.
    fn is_forgotten(&self, full: &[u8], horizons: &mut Horizons<'_>) -> bool {
        let (id, key) = key::split(full);
        let Some((table, csn)) = horizons.of(id).table.tells_of(key) else { return false };
        let horizon = horizons.of(table);
        let forgotten = csn <= horizon.csn;
        horizon.dropped |= forgotten;
        forgotten
    }

    fn merge_history(
        &self,
        state: &State,
        range: Range<usize>,
        mut horizons: Horizons<'_>,
        levels: Levels,
        progress: Progress<'_>,
    ) -> Result<(), StoreError> {
        let inputs = &state.history[range.clone()];
        let mut told = Told::of(inputs, progress);
        let bottom = range.start == 0;
        let runs = self.apart(inputs);
        let mut out = HistoryWriter::new(&self.shop, levels.rows);
        if let Some(level) = levels.packed {
            out = out.packing(level);
        }
        let mut fold =
            Fold { state, out, kept: Group::default(), horizon: 0, pending: false, dropped: false };
        let mut positions = runs.iter().map(|run| run.start()).collect::<Result<Vec<_>, _>>()?;
        let (mut full, mut next) = (Vec::new(), Vec::new());
        for count in 0.. {
            if count % BREATH == 0 {
                told.keys(count);
                if !self.background.breathe() {
                    return Ok(());
                }
            }
            let mut any = false;
            for position in positions.iter().flatten() {
                position.block.key_into(position.group, &mut next);
                if !std::mem::replace(&mut any, true) || next < full {
                    std::mem::swap(&mut full, &mut next);
                }
            }
            if !any {
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
            let table = Arc::clone(&horizons.of(id).table);
            let horizon = if bottom { horizons.of(id).csn.0 } else { 0 };
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
                horizons.of(id).dropped = true;
            }
        }
        let metas = fold.out.finish()?;
        self.replace(Half::History, inputs, metas, &horizons.raised())
    }

    /// The tables that have a horizon, or are to have one, and that nobody reads any more, ascending.
    fn unread(&self, raised: &[(TableId, Csn)]) -> Vec<TableId> {
        let state = self.state();
        let known = state.horizons.iter().chain(raised).map(|(table, _)| *table);
        let mut unread: Vec<TableId> =
            known.filter(|table| (self.resolve)(*table).is_unread()).collect();
        unread.sort_unstable();
        unread
    }

    /// Installs a merged run in the place of its inputs.
    fn replace(
        &self,
        half: Half,
        inputs: &[Arc<Run>],
        metas: Vec<Meta>,
        raised: &[(TableId, Csn)],
    ) -> Result<(), StoreError> {
        let merged = match self.open_run(half, metas.clone()) {
            Ok(run) => (!metas.is_empty()).then_some(run),
            Err(e) => {
                self.discard(&metas);
                return Err(e);
            }
        };
        let written = merged.as_ref().map_or(0, |run| run.bytes);
        let unread = self.unread(raised);
        let installed = self.install(|state| {
            let runs = match half {
                Half::Current => &mut state.current,
                Half::History => &mut state.history,
            };
            let start = runs
                .iter()
                .position(|run| Arc::ptr_eq(run, &inputs[0]))
                .expect("inputs stay installed");
            assert!(
                runs[start..].iter().zip(inputs).all(|(a, b)| Arc::ptr_eq(a, b)),
                "only this merge moves them"
            );
            runs.splice(start..start + inputs.len(), merged.clone());
            state.raise_horizons(raised, &unread);
        });
        self.unless_installed(installed, merged.iter())?;
        Counters::add(&self.counters.compactions, 1);
        Counters::add(&self.counters.written, written);
        Ok(())
    }
}

/// Tells how far a merge has come.
struct Told<'p> {
    progress: Progress<'p>,
    keys: u64,
    bytes: u64,
}

impl<'p> Told<'p> {
    fn of(inputs: &[Arc<Run>], progress: Progress<'p>) -> Told<'p> {
        let keys = inputs.iter().flat_map(|run| run.metas()).map(|meta| meta.keys).sum();
        Told { progress, keys, bytes: inputs.iter().map(|run| run.bytes).sum() }
    }

    /// So many keys are merged, each counted once.
    fn keys(&mut self, done: usize) {
        let bytes = self.bytes as f64 * done as f64 / self.keys.max(1) as f64;
        (self.progress)((bytes as u64).min(self.bytes), self.bytes);
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
