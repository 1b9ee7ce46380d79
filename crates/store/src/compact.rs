//! Compaction merges adjacent runs into one, and drops versions that retention does not keep.
//!
//! ```text
//!   current   [run 1 ........][run 2 ..][run 3 .]      newest entry of a key wins; tombstones go at the bottom
//!   history   [epoch 1 ......][epoch 2 ][epoch 3]      entries one after the other; an image at the start of
//!                                                      an epoch goes where the deltas before it are few
//! ```
//!
//! A merge takes runs from the newest backwards, as long as it would not write much more of the next older run than all
//! newer runs have together. So each byte is rewritten O(log) times, and a store has O(log) runs. A merge keeps segments
//! that no newer run touches ([`crate::merge_plan`]). So rows with ascending keys join a run of any size at once.
//! [`crate::merge`] does the work, range by range.
//!
//! # Retention
//! The horizon H of a table is the last commit whose own state must still be readable: what
//! [`Retention`] asks for, but never above the oldest [`crate::Hold`] nor above the checkpoint. A merge
//! that reaches the oldest history run replaces the versions of a key at or below H by its state at H. It
//! removes them if the key was deleted at H, or if its current entry is at or below H. From then on a
//! read of the past below H fails with `Forgotten`. The horizons are in the manifest.
//!
//! A table that ended ([`Table::ended`]) at or below its horizon is *gone*: it has no readers. Every merge,
//! of current runs too, skips its entries without reading them.
//!
//! # Invariants
//! * A merge changes no answer at or above the horizon of its table.
//! * Only adjacent runs are merged, so that their order stays the order of epochs.

use crate::cache::Cache;
use crate::filter;
use crate::group::Tag;
use crate::key;
use crate::merge::Merge;
use crate::merge_plan::Plan;
use crate::run::{Run, RunCursor};
use crate::segment::{Half, HeldTable, Segment};
use crate::store::{Shared, State, Store};
use crate::{Csn, Retention, StoreError, Table, TableId};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// A merge is due when there are so many runs of about one size.
const FAN_IN: usize = 4;
/// The cache of a merge for each run, so that the merge does not evict the blocks of readers. A merge needs the
/// guide of a segment, and now and then a block twice.
const CACHE_BYTES: usize = 4 << 20;
const LEVEL_CURRENT: i32 = 3;
const LEVEL_HISTORY: i32 = 6;
const LEVEL_FULL: i32 = 9;
/// The level of packed blocks. It compresses a few megabytes a second, and packed blocks are small.
const LEVEL_PACKED: i32 = 19;
/// The level for runs of more than [`PACKED_LARGE_BYTES`]: about ten times as fast, and a tenth larger.
const LEVEL_PACKED_LARGE: i32 = 12;
const PACKED_LARGE_BYTES: u64 = 64 << 20;
/// A merge that a caller asks for runs only if it frees at least one part in so many of the bytes that it rewrites.
const GAIN_DIVISOR: u64 = 20;
/// Runs of at most so many bytes together are merged however little that frees.
const SMALL_BYTES: u64 = 8 << 20;
/// About so many keys of a run are sampled to estimate how much a merge would free.
const SAMPLE_KEYS: u64 = 32 << 10;
/// The sampled keys are taken from at least and at most so many blocks of a run.
const SAMPLE_BLOCKS: (u64, u64) = (8, 128);
/// Blocks of a segment that no other run touches which are looked at for entries that a merge would drop.
const SAMPLE_BLOCKS_ALONE: u64 = 8;
/// A segment of less than one part in so many of the usual size is small: a merge joins it with its neighbours.
const SMALL_SEGMENT: u64 = 4;
/// Told how many bytes of how many have been merged. The merge ends where it breaks.
pub(crate) type Progress<'p> = &'p mut dyn FnMut(u64, u64) -> ControlFlow<()>;

impl Store {
    /// Flushes, and merges runs, with retention applied and without erased entries, and packs the
    /// values of tables that have a packer ([`Table::packer`]). It first estimates the gain of each
    /// merge. Runs in which almost nothing is superseded, or would be packed smaller, stay as they
    /// are, because to write them anew takes long and frees almost nothing.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.compact_with(&mut |_, _| ControlFlow::Continue(()))
    }

    /// As [`Store::compact`]; `progress` gets the number of merged bytes and of all bytes. If it breaks, the compaction
    /// ends. The ranges of keys that are merged by then stay merged, and the next compaction does the others.
    pub fn compact_with(
        &self,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let shared = &self.shared;
        shared.flush()?;
        let _one = shared.compacting.lock();
        for half in [Half::Current, Half::History] {
            if let Some(merge) = shared.worthwhile(half)?
                && merge.run(progress)?.is_break()
            {
                return Ok(());
            }
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

/// The longer of two rows of runs that end with the newest one.
fn longer(one: Option<Range<usize>>, other: Option<Range<usize>>) -> Option<Range<usize>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.start.min(other.start)..one.end),
        (one, other) => one.or(other),
    }
}

/// The levels at which a merge compresses blocks.
#[derive(Clone, Copy)]
pub(crate) struct Levels {
    /// Of blocks that are not packed.
    pub rows: i32,
    /// Of packed blocks. `None`: the merge packs no block.
    pub packed: Option<i32>,
}

/// The aims of a merge.
#[derive(Clone, Copy)]
struct Aim {
    half: Half,
    /// It reaches the oldest run.
    is_bottom: bool,
    /// It packs blocks.
    packs: bool,
    /// A caller asked for it. It looks closely at segments that it would otherwise keep.
    is_asked: bool,
}

/// The facts about a table that a merge needs.
#[derive(Clone)]
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
#[derive(Clone)]
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

    /// Returns the functions of a table.
    pub fn table(&mut self, id: TableId) -> &Arc<dyn Table> {
        &self.of(id).table
    }

    /// Returns the last commit of a table whose state must still be known; 0: keep everything.
    pub fn csn(&mut self, id: TableId) -> Csn {
        self.of(id).csn
    }

    /// Something of a table was dropped.
    pub fn has_dropped(&mut self, id: TableId) {
        self.of(id).dropped = true;
    }

    /// Returns the table of a commit of which a key tells, where the history of that commit is dropped.
    fn forgotten_by(&mut self, full: &[u8]) -> Option<TableId> {
        let (id, key) = key::split(full);
        let (table, csn) = self.of(id).table.tells_of(key)?;
        (csn <= self.of(table).csn).then_some(table)
    }

    /// True for a key that describes a commit whose history is dropped. The merge drops it.
    pub fn is_forgotten(&mut self, full: &[u8]) -> bool {
        let table = self.forgotten_by(full);
        table.into_iter().for_each(|table| self.has_dropped(table));
        table.is_some()
    }

    /// Takes over what another thread of the merge has dropped, which began with the same horizons.
    pub fn absorb(&mut self, other: Horizons<'_>) {
        for (id, theirs) in other.tables {
            let ours = self.of(id);
            ours.dropped |= theirs.dropped;
            ours.csn = ours.csn.max(theirs.csn);
        }
    }

    /// Where the keys of a table that is gone end, and so where a merge goes on; `None` if the table
    /// is not gone.
    pub fn over(&mut self, id: TableId) -> Option<Vec<u8>> {
        let horizon = self.of(id);
        horizon.dropped |= horizon.gone;
        horizon.gone.then(|| key::after(id))
    }

    /// The horizons to write down: those of tables of which something was dropped.
    pub fn raised(&self) -> Vec<(TableId, Csn)> {
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
            let merge = match self.due(Half::Current)? {
                None => self.due(Half::History)?,
                merge => merge,
            };
            let Some(merge) = merge else { return Ok(()) };
            if merge.run(&mut |_, _| ControlFlow::Continue(()))?.is_break()
                || self.background.is_stopping()
            {
                return Ok(());
            }
        }
    }

    /// The merge that is due: the longest sequence of newest runs in which no run costs the merge much more than all
    /// newer runs have together; `None` if the sequence is short.
    fn due(&self, half: Half) -> Result<Option<Merge<'_>>, StoreError> {
        let state = self.runs();
        let mut horizons = self.horizons(&state);
        let runs = state.half(half);
        if runs.len() < FAN_IN {
            return Ok(None);
        }
        let mut start = runs.len() - 1;
        let mut bytes = runs[start].bytes;
        while start > 0 {
            let older = &runs[start - 1];
            let aim = Aim { half, is_bottom: start == 1, packs: false, is_asked: false };
            if older.bytes > bytes * 2 {
                let plan = self.plan(&runs[start - 1..], aim, &mut horizons)?;
                if plan.anew_bytes_of_oldest() > bytes * 2 {
                    break;
                }
            }
            start -= 1;
            bytes += older.bytes;
        }
        if runs.len() - start < FAN_IN {
            return Ok(None);
        }
        let rows = if half == Half::Current { LEVEL_CURRENT } else { LEVEL_HISTORY };
        let levels = Levels { rows, packed: None };
        let aim = Aim { half, is_bottom: start == 0, packs: false, is_asked: false };
        self.begin_merge(runs[start..].to_vec(), aim, levels, horizons).map(Some)
    }

    fn begin_merge<'a>(
        &'a self,
        inputs: Vec<Arc<Run>>,
        aim: Aim,
        levels: Levels,
        mut horizons: Horizons<'a>,
    ) -> Result<Merge<'a>, StoreError> {
        let plan = self.plan(&inputs, aim, &mut horizons)?;
        Merge::new(self, (aim.half, aim.is_bottom), inputs, plan, levels, horizons)
    }

    /// Plans a merge of runs.
    fn plan(
        &self,
        runs: &[Arc<Run>],
        aim: Aim,
        horizons: &mut Horizons<'_>,
    ) -> Result<Plan, StoreError> {
        let small = self.writer_context.segment_bytes as u64 / SMALL_SEGMENT;
        Plan::of(runs, &self.uncached(runs), small, &mut |segment| {
            self.may_drop(segment, aim, horizons)
        })
    }

    /// True if a merge would drop something of a segment that no other run touches, or pack it.
    fn may_drop(
        &self,
        segment: &Arc<Segment>,
        aim: Aim,
        horizons: &mut Horizons<'_>,
    ) -> Result<bool, StoreError> {
        for held in self.tables_of(segment)? {
            let of = horizons.of(held.id);
            let reaches = aim.half == Half::History && of.csn > Csn::ZERO;
            if of.gone
                || aim.is_bottom && reaches && segment.meta.csns.0 <= of.csn.0
                || aim.packs && of.packs && !segment.is_packed()
                || aim.is_bottom
                    && aim.half == Half::Current
                    && held.tells
                    && self.tells_of_forgotten(segment, held.id, aim.is_asked, horizons)?
            {
                return Ok(true);
            }
        }
        if aim.is_bottom && aim.is_asked && aim.half == Half::Current {
            let run = Arc::new(Run::new(aim.half, vec![segment.clone()]));
            let blocks = (1, SAMPLE_BLOCKS_ALONE);
            let won = self.superseded_bytes(&run, &[], true, blocks, horizons)?;
            return Ok(won * GAIN_DIVISOR >= run.bytes);
        }
        Ok(false)
    }

    /// True if a key of a table in a segment tells of a commit whose history is dropped. If `closely`, all keys
    /// of the table are looked at, else those that blocks begin with.
    fn tells_of_forgotten(
        &self,
        segment: &Arc<Segment>,
        id: TableId,
        closely: bool,
        horizons: &mut Horizons<'_>,
    ) -> Result<bool, StoreError> {
        let (first, after) = (key::full(id, &[]), key::after(id));
        if !closely {
            let guide = segment.load_guide()?;
            let blocks = &guide.blocks()[guide.before(&first, 0)..guide.before(&after, 0)];
            return Ok(blocks
                .iter()
                .any(|block| horizons.forgotten_by(guide.key(block)).is_some()));
        }
        let mut cursor = self.cursor_of(segment);
        cursor.seek(Some(&first), false)?;
        while let Some(full) = cursor.key().filter(|full| *full < after.as_slice()) {
            if horizons.forgotten_by(full).is_some() {
                return Ok(true);
            }
            cursor.advance()?;
        }
        Ok(false)
    }

    /// A cursor over the keys of a segment, past the readers' cache.
    fn cursor_of(&self, segment: &Arc<Segment>) -> RunCursor {
        let cache = Arc::new(Cache::single(CACHE_BYTES));
        let uncached = vec![Arc::new(segment.through(&cache))];
        RunCursor::new(Arc::new(Run::new(segment.half(), uncached)), false)
    }

    /// The merge of a half that a caller asks for; `None` if it would win too little.
    fn worthwhile(&self, half: Half) -> Result<Option<Merge<'_>>, StoreError> {
        let state = self.runs();
        let mut horizons = self.horizons(&state);
        let runs = state.half(half);
        let unpacked = self.worth_packing(runs, &mut horizons)?;
        let (rows, worthwhile) = match half {
            Half::Current => (LEVEL_CURRENT, self.worth_merging(&state, &mut horizons)?),
            Half::History => (LEVEL_FULL, self.history_worth_merging(&state, &mut horizons)?),
        };
        let Some(range) = longer(worthwhile, unpacked) else { return Ok(None) };
        let packed = self.packed_level(&runs[range.clone()], &mut horizons)?;
        let is_bottom = range.start == 0;
        let aim = Aim { half, is_bottom, packs: packed.is_some(), is_asked: true };
        self.begin_merge(runs[range].to_vec(), aim, Levels { rows, packed }, horizons).map(Some)
    }

    /// The history runs of a merge that a caller asks for: all runs if versions may be dropped. Otherwise the newest
    /// ones, up to a run that is so large that the merge would rewrite far more than it could free.
    fn history_worth_merging(
        &self,
        state: &State,
        horizons: &mut Horizons<'_>,
    ) -> Result<Option<Range<usize>>, StoreError> {
        let runs = &state.history;
        let bytes = |runs: &[Arc<Run>]| runs.iter().map(|run| run.bytes).sum::<u64>();
        let may_drop = self.any_table(runs, horizons, |of| of.csn > Csn::ZERO)?;
        if may_drop && !runs.is_empty() || runs.len() > 1 && bytes(runs) <= SMALL_BYTES {
            return Ok(Some(0..runs.len()));
        }
        for at in 0..runs.len().saturating_sub(1) {
            let most = GAIN_DIVISOR * bytes(&runs[at + 1..]);
            let aim = Aim { half: Half::History, is_bottom: at == 0, packs: false, is_asked: true };
            if runs[at].bytes <= most
                || self.plan(&runs[at..], aim, horizons)?.anew_bytes_of_oldest() <= most
            {
                return Ok(Some(at..runs.len()));
            }
        }
        Ok(None)
    }

    fn horizons(&self, state: &State) -> Horizons<'_> {
        let held = self.holds.lock().keys().next().copied().unwrap_or(Csn::MAX);
        Horizons { shared: self, limit: held.min(state.checkpoint.csn), tables: BTreeMap::new() }
    }

    /// The same files, read past the readers' cache.
    pub(crate) fn uncached(&self, runs: &[Arc<Run>]) -> Vec<Arc<Run>> {
        let uncached = |run: &Arc<Run>| {
            let cache = Arc::new(Cache::single(CACHE_BYTES));
            let segments = run.segments.iter().map(|s| Arc::new(s.through(&cache))).collect();
            Arc::new(Run::new(run.half, segments))
        };
        runs.iter().map(uncached).collect()
    }

    /// True if some run holds a table of which `f` is true.
    fn any_table(
        &self,
        runs: &[Arc<Run>],
        horizons: &mut Horizons<'_>,
        f: impl Fn(&Horizon) -> bool,
    ) -> Result<bool, StoreError> {
        for segment in runs.iter().flat_map(|run| &run.segments) {
            if self.tables_of(segment)?.iter().any(|held| f(horizons.of(held.id))) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The tables that have keys in a segment. It remembers them.
    fn tables_of<'s>(&self, segment: &'s Arc<Segment>) -> Result<&'s [HeldTable], StoreError> {
        if let Some(known) = segment.tables().get() {
            return Ok(known);
        }
        let mut tables: Vec<HeldTable> = Vec::new();
        let mut note = |full: &[u8]| {
            let (id, key) = key::split(full);
            if tables.last().is_none_or(|held| held.id != id) {
                tables.push(HeldTable { id, tells: false });
            }
            let tells = (self.resolve)(id).tells_of(key).is_some();
            tables.last_mut().into_iter().for_each(|held| held.tells |= tells);
            id
        };
        let last = key::split(&segment.meta.last_key).0;
        if note(&segment.meta.first.0) != last {
            let mut cursor = self.cursor_of(segment);
            cursor.seek(Some(&segment.meta.first.0), false)?;
            while let Some(id) = cursor.key().map(&mut note).filter(|id| *id != last) {
                // In a table whose keys describe commits, one key may describe none.
                cursor.advance()?;
                let next = cursor.key().filter(|full| key::split(full).0 == id);
                if next.map(&mut note).is_some() {
                    cursor.seek(Some(&key::after(id)), false)?;
                }
            }
        }
        note(&segment.meta.last_key);
        Ok(segment.tables().get_or_init(|| tables.into()))
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
                for held in self.tables_of(segment)? {
                    if horizons.of(held.id).packs {
                        bytes += segment.table_bytes_most(held.id)?;
                    }
                }
            }
            if bytes > 0 && bytes * GAIN_DIVISOR >= run.bytes {
                return Ok(Some(at..runs.len()));
            }
        }
        Ok(None)
    }

    /// The level at which packed blocks of these runs are compressed; `None` if no block would be packed.
    fn packed_level(
        &self,
        runs: &[Arc<Run>],
        horizons: &mut Horizons<'_>,
    ) -> Result<Option<i32>, StoreError> {
        let bytes: u64 = runs.iter().map(|run| run.bytes).sum();
        let level = if bytes > PACKED_LARGE_BYTES { LEVEL_PACKED_LARGE } else { LEVEL_PACKED };
        Ok(self.any_table(runs, horizons, |of| of.packs)?.then_some(level))
    }

    /// The current runs of a merge that a caller asks for: the longest sequence of newest runs in which enough is
    /// superseded; `None` if there is none.
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
        let uncached = self.uncached(runs);
        // A merge drops the same entries of a run however many older runs it takes, except at the
        // bottom.
        let mut won = 0;
        let mut found = None;
        for at in all.rev() {
            let newer = &uncached[at + 1..];
            won += self.superseded_bytes(&uncached[at], newer, at == 0, SAMPLE_BLOCKS, horizons)?;
            let aim = Aim { half: Half::Current, is_bottom: at == 0, packs: false, is_asked: true };
            let bytes = self.plan(&runs[at..], aim, horizons)?.anew_bytes();
            if won * GAIN_DIVISOR >= bytes && won > 0 || !newer.is_empty() && bytes <= SMALL_BYTES {
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
        (least, most): (u64, u64),
        horizons: &mut Horizons<'_>,
    ) -> Result<u64, StoreError> {
        let guides = run.segments.iter().map(|of| of.guide()).collect::<Result<Vec<_>, _>>()?;
        let blocks: u64 = guides.iter().map(|guide| guide.blocks().len() as u64).sum();
        let keys: u64 = run.metas().map(|meta| meta.keys).sum();
        if blocks == 0 || keys == 0 {
            return Ok(0);
        }
        let wanted = (SAMPLE_KEYS * blocks / keys).clamp(least, most);
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
                        || horizons.forgotten_by(&full).is_some());
                for run in newer {
                    is_gone = is_gone || run.find(&full, hash, u64::MAX)?.is_some();
                }
                seen += 1;
                gone += u64::from(is_gone);
            }
        }
        Ok((run.bytes as f64 * gone as f64 / f64::from(seen.max(1))) as u64)
    }

    /// The tables that have a horizon, or get one, and that have no readers any more, ascending.
    pub(crate) fn unread(&self, raised: &[(TableId, Csn)]) -> Vec<TableId> {
        let state = self.state();
        let known = state.horizons.iter().chain(raised).map(|(table, _)| *table);
        let mut unread: Vec<TableId> =
            known.filter(|table| (self.resolve)(*table).is_unread()).collect();
        unread.sort_unstable();
        unread
    }
}
