//! [`BlockScan`]: the rows of a range as one commit had them, in no order, block by block.
//!
//! ```text
//!   layer 0   memtable     c . . f . . . . .        rows one by one
//!   layer 1   late run     . . . F . H . . .        F is hidden: layer 0 has it
//!   layer 2   current run  A B C D E F G H I        C, F and H are hidden
//! ```
//!
//! Each layer gives the entries that no newer layer hides ([`Layers`]). The scan gives a block of columns as a whole. If
//! some of its rows are hidden, a mask of the visible rows comes with it, so a few changes do not turn the block into
//! rows. A scan as of a commit below the checkpoint reads layers of history too.
//!
//! # Invariants
//! * Each live key comes once, as the newest entry of it at or below the commit.
//! * The table keeps history of all its keys, so a key whose newest version is too new has its older state in an
//!   older layer.

use std::any::Any;
use std::fmt;
use std::ops::{Bound, ControlFlow, Range as Span};
use std::sync::Arc;

use crate::block::Block;
use crate::block_layers::{BlockPlace, HITS, Layer, Layers, List, bounds_of};
use crate::columns::ColumnRows;
use crate::group::{Found, GroupRef, Tag, slice};
use crate::key::{self, Range, TABLE_LEN};
use crate::memtable::Hit;
use crate::run::Run;
use crate::scan::ScannedState;
use crate::segment::{Guide, ReadAhead, Segment};
use crate::store::{Shared, State};
use crate::{Csn, StoreError, TableId};

/// A scan is split into at most about so many parts.
const PARTS_MAX: u64 = 1_024;
/// The layers are asked about so many blocks at once; about few in tests, whose runs have few blocks.
const STRETCH: usize = if cfg!(test) { 3 } else { 64 };

/// A scan of a range in no order.
pub struct BlockScan {
    shared: Arc<Shared>,
    state: Arc<State>,
    range: Range,
    /// The part of the range that this scan reads: the blocks that begin in it, and the memtable keys in it. So each
    /// block belongs to one scan, even if other scans cover some of its keys.
    share: Range,
    layers: Layers,
    /// The read buffer of a scan that bypasses the cache; `None` if blocks go to the cache.
    passing: Option<ReadAhead>,
    /// The layer that is being read. Older layers are read first, so new rows come last.
    layer: Option<usize>,
    place: ScanPosition,
}

/// The position of a scan in its layer.
enum ScanPosition {
    /// At its beginning.
    Start,
    /// Among keys of a memtable: those fetched, which are hidden, how many are passed, and what comes then.
    Hits { hits: Vec<Hit>, hidden: Vec<bool>, passed: usize, rest: Option<Range> },
    /// In front of a block of a run.
    Block { open: OpenSegment, number: usize },
    /// Inside of a block that is given row by row.
    Rows { open: OpenSegment, number: usize, block: Arc<Block>, hidden: Vec<bool>, passed: u32 },
}

/// A segment that the scan reads.
struct OpenSegment {
    run: Arc<Run>,
    segment: usize,
    guide: Arc<Guide>,
    stretch: Stretch,
}

impl OpenSegment {
    /// Opens a segment of a run; `None` if the run has no such segment.
    fn new(run: Arc<Run>, segment: usize) -> Result<Option<OpenSegment>, StoreError> {
        let Some(file) = run.segments.get(segment) else { return Ok(None) };
        let guide = file.guide()?;
        Ok(Some(OpenSegment { run, segment, guide, stretch: Stretch::default() }))
    }

    fn file(&self) -> &Arc<Segment> {
        &self.run.segments[self.segment]
    }
}

/// Blocks of a segment about which the layers were asked together, up to a number.
#[derive(Clone, Copy, Default)]
struct Stretch {
    end: usize,
    /// The scan sees every row of them: the range has them all, and no other layer has one of their keys.
    is_clear: bool,
}

/// An item that a scan gives.
pub enum ScanItem<'a> {
    /// A key and its state.
    Row(&'a [u8], ScannedState<'a>),
    /// Rows of a block.
    Rows(RowBlock),
    /// A block of columns.
    Columns(ColumnRows),
}

/// Some rows of a block, whose values lie there as they are.
pub struct RowBlock {
    block: Arc<Block>,
    rows: BlockRows,
    /// The file and the number of the block, if each of its groups is one whole value and the cache had the block before.
    place: Option<(Arc<Segment>, u64)>,
}

/// Which rows of a block are given.
enum BlockRows {
    /// All: each group is a row.
    All,
    /// For each row the number of its group, and where its value begins and ends.
    Some(Vec<[u32; 3]>),
}

impl fmt::Debug for RowBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowBlock").field("rows", &self.len()).finish_non_exhaustive()
    }
}

impl RowBlock {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match &self.rows {
            BlockRows::All => self.block.count() as usize,
            BlockRows::Some(rows) => rows.len(),
        }
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes in which the values lie.
    pub fn bytes(&self) -> &[u8] {
        self.block.bytes()
    }

    /// Calls `f` with where in [`RowBlock::bytes`] each value lies.
    pub fn each_value(&self, mut f: impl FnMut(Span<usize>)) {
        match &self.rows {
            BlockRows::All => {
                let all = self.block.value_spans().into_iter().flatten();
                all.for_each(|(start, end)| f(start as usize..end as usize));
            }
            BlockRows::Some(rows) => {
                rows.iter().for_each(|[_, start, end]| f(*start as usize..*end as usize));
            }
        }
    }

    /// Returns the numbers that the rows have among all rows of the block, ascending; `None` if they are all of them.
    pub fn numbers(&self) -> Option<impl ExactSizeIterator<Item = u32>> {
        match &self.rows {
            BlockRows::All => None,
            BlockRows::Some(rows) => Some(rows.iter().map(|[number, ..]| *number)),
        }
    }

    /// Returns where in [`RowBlock::bytes`] the values of all rows of the block lie, including the rows that the scan
    /// does not see; `None` if some rows are not whole values, or if the block is new to the cache.
    pub fn all_values(&self) -> Option<impl ExactSizeIterator<Item = Span<usize>>> {
        self.place.as_ref()?;
        let all = self.block.value_spans()?;
        Some(all.map(|(start, end)| start as usize..end as usize))
    }

    /// Returns the value that readers have derived from all rows of the block and left with it. If there is none,
    /// `make` makes one of `bytes` bytes, provided that the cache had the block before and has room. Returns `None` if
    /// there still is none, or if its type is not `T`. The value goes when the block leaves the cache.
    pub fn derived<T: Any + Send + Sync>(
        &self,
        bytes: usize,
        make: impl FnOnce() -> T,
    ) -> Option<&T> {
        self.place.as_ref()?;
        let derived = self.block.derived();
        if derived.get().is_none() && self.grow(bytes) {
            derived.get_or_init(|| Box::new(make()));
        }
        derived.get()?.downcast_ref()
    }

    /// Returns true if the derived value may grow by so many bytes.
    pub fn may_grow(&self, bytes: usize) -> bool {
        let may_grow = |(file, number): &(Arc<Segment>, u64)| {
            file.cache().may_grow((file.meta.number, *number), bytes)
        };
        self.place.as_ref().is_some_and(may_grow)
    }

    /// Makes room for a growth of the derived value by so many bytes; false if the cache has no room.
    pub fn grow(&self, bytes: usize) -> bool {
        let grow = |(file, number): &(Arc<Segment>, u64)| {
            file.cache().grow((file.meta.number, *number), bytes)
        };
        self.place.as_ref().is_some_and(grow)
    }

    /// Puts the key of a row into `out`.
    pub fn key_into(&self, row: usize, out: &mut Vec<u8>) {
        let number = match &self.rows {
            BlockRows::All => row as u32,
            BlockRows::Some(rows) => rows[row][0],
        };
        self.block.key_into(number, out);
        out.drain(..TABLE_LEN);
    }
}

/// A callback that takes the items of a scan.
type Take<'f> = dyn FnMut(ScanItem<'_>) -> ControlFlow<()> + 'f;

impl BlockScan {
    /// Returns the scan; `None` if only an ordered scan can read the table: it has erasures, or
    /// retention has dropped versions that were current at the commit.
    pub(crate) fn new(
        shared: Arc<Shared>,
        table: TableId,
        range: Range,
        at: Csn,
        without: &[Vec<u8>],
    ) -> Option<BlockScan> {
        let state = shared.state();
        let is_erased = state.erased.as_ref().is_some_and(|erased| erased.touches(table));
        if at < state.checkpoint.csn && at < state.horizon(table) || is_erased {
            return None;
        }
        let layers = Layers::new(&state, table, &range, at.0, without);
        let share = range.clone();
        let mut scan = BlockScan::of(shared, state, (range, share), layers);
        let mut runs = (0..scan.layers.len()).filter_map(|layer| scan.layers.run(layer));
        let is_passing = runs.any(|run| scan.shared.passes_cache(run, &scan.range));
        scan.passing = is_passing.then(ReadAhead::default);
        Some(scan)
    }

    fn of(
        shared: Arc<Shared>,
        state: Arc<State>,
        (range, share): (Range, Range),
        layers: Layers,
    ) -> BlockScan {
        let (layer, place) = (layers.len().checked_sub(1), ScanPosition::Start);
        BlockScan { shared, state, range, share, layers, passing: None, layer, place }
    }

    /// Splits a scan that has given nothing yet into scans for several threads. Together they give
    /// all its items, each at least about `rows_each` rows; for a large table more, so that there are
    /// about [`PARTS_MAX`] scans. Afterwards this scan gives nothing. Returns none, and leaves the
    /// scan as it is, if there would be only one part.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn split(&mut self, rows_each: u64) -> Result<Vec<BlockScan>, StoreError> {
        let cuts = self.cuts(rows_each)?;
        if cuts.is_empty() {
            return Ok(Vec::new());
        }
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        let mut lower = self.range.0.clone();
        let uppers = cuts.iter().map(|cut| Bound::Excluded(cut.clone()));
        for upper in uppers.chain([self.range.1.clone()]) {
            let next = match &upper {
                Bound::Excluded(cut) => Bound::Included(cut.clone()),
                Bound::Included(_) | Bound::Unbounded => Bound::Unbounded,
            };
            let share = (std::mem::replace(&mut lower, next), upper);
            let (shared, state) = (self.shared.clone(), self.state.clone());
            let ranges = (self.range.clone(), share);
            let part = BlockScan::of(shared, state, ranges, self.layers.fork());
            let passing = self.passing.is_some().then(ReadAhead::default);
            parts.push(BlockScan { passing, ..part });
        }
        self.layer = None;
        Ok(parts)
    }

    /// Returns keys at which blocks of the largest run begin, so that about so many of its rows lie between two of them.
    fn cuts(&self, rows_each: u64) -> Result<Vec<Vec<u8>>, StoreError> {
        let runs = (0..self.layers.len()).filter_map(|layer| self.layers.run(layer));
        let rows =
            |run: &&Arc<Run>| -> u64 { run.segments.iter().map(|segment| segment.meta.keys).sum() };
        let is_begun = self.layer != self.layers.len().checked_sub(1)
            || !matches!(self.place, ScanPosition::Start);
        let Some(run) = runs.max_by_key(rows).filter(|_| !is_begun) else {
            return Ok(Vec::new());
        };
        let rows_each = rows_each.max(rows(&run) / PARTS_MAX);
        let lower = bound_key(&self.range.0);
        let from = run.segments.partition_point(|one| one.meta.last_key.as_slice() < lower);
        let (mut cuts, mut rows) = (Vec::new(), 0);
        for segment in &run.segments[from..] {
            if !key::below(&self.range.1, &segment.meta.first.0) {
                break;
            }
            let guide = segment.guide()?;
            let rows_of_block = segment.meta.keys / guide.blocks().len().max(1) as u64;
            for info in guide.blocks() {
                let first = guide.key(info);
                if !key::below(&self.range.1, first) {
                    break;
                }
                if rows >= rows_each && first > lower {
                    cuts.push(first.to_vec());
                    rows = 0;
                }
                if first >= lower {
                    rows += rows_of_block;
                }
            }
        }
        Ok(cuts)
    }

    /// Returns true if nothing more comes.
    pub fn is_at_end(&self) -> bool {
        self.layer.is_none()
    }

    /// Calls `f` with rows and blocks until `f` breaks or nothing more comes. The item at which `f` breaks counts as
    /// taken.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn visit(&mut self, f: &mut Take<'_>) -> Result<(), StoreError> {
        while let Some(layer) = self.layer {
            let flow = match std::mem::replace(&mut self.place, ScanPosition::Start) {
                ScanPosition::Start => self.begin(layer)?,
                ScanPosition::Hits { hits, hidden, passed, rest } => {
                    self.visit_hits(layer, (hits, hidden, passed), rest, f)?
                }
                ScanPosition::Block { open, number } => {
                    self.visit_block(layer, (open, number), f)?
                }
                ScanPosition::Rows { open, number, block, hidden, passed } => {
                    self.visit_rows((open, number), (block, hidden, passed), f)?
                }
            };
            if flow.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Goes to the first place of the layer.
    fn begin(&mut self, layer: usize) -> Result<ControlFlow<()>, StoreError> {
        match self.layers.layer(layer) {
            Layer::Without(_) => self.leave(),
            Layer::Memtable(_) => {
                self.place = ScanPosition::Hits {
                    hits: Vec::new(),
                    hidden: Vec::new(),
                    passed: 0,
                    rest: Some(self.share.clone()),
                };
            }
            Layer::Run { run, .. } => {
                let lower = bound_key(&self.share.0);
                let segment =
                    run.segments.partition_point(|one| one.meta.last_key.as_slice() < lower);
                let Some(open) = OpenSegment::new(run.clone(), segment)? else {
                    self.leave();
                    return Ok(ControlFlow::Continue(()));
                };
                let begins_before = open.guide.before(lower, 0);
                // The first share has the block in which the range begins.
                let number = match self.share.0 == self.range.0 {
                    true => begins_before.saturating_sub(1),
                    false => begins_before,
                };
                self.enter(open, number)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Moves in front of the block, or of the first block after it that may have an entry at or below the commit. Where
    /// the range ends, moves to the next layer.
    fn enter(&mut self, open: OpenSegment, number: usize) -> Result<(), StoreError> {
        let (mut open, mut number) = (open, number);
        loop {
            let Some(info) = open.guide.blocks().get(number) else {
                let next = open.segment + 1;
                let is_beyond =
                    |file: &Arc<Segment>| !key::below(&self.share.1, &file.meta.first.0);
                if open.run.segments.get(next).is_none_or(is_beyond) {
                    break;
                }
                match OpenSegment::new(open.run, next)? {
                    Some(segment) => (open, number) = (segment, 0),
                    None => break,
                }
                continue;
            };
            if !key::below(&self.share.1, open.guide.key(info)) {
                break;
            }
            if info.csns.0 > self.layers.at {
                number += 1;
                continue;
            }
            self.place = ScanPosition::Block { open, number };
            return Ok(());
        }
        self.leave();
        Ok(())
    }

    fn leave(&mut self) {
        self.layer = self.layer.and_then(|layer| layer.checked_sub(1));
        self.place = ScanPosition::Start;
    }

    fn visit_hits(
        &mut self,
        layer: usize,
        (mut hits, mut hidden, mut passed): (Vec<Hit>, Vec<bool>, usize),
        mut rest: Option<Range>,
        f: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let Layer::Memtable(mem) = self.layers.layer(layer) else {
            return Ok(ControlFlow::Continue(()));
        };
        if passed == hits.len() {
            let Some(range) = rest.take().filter(|range| !key::is_empty(range)) else {
                self.leave();
                return Ok(ControlFlow::Continue(()));
            };
            hits.clear();
            passed = 0;
            mem.batch(&range, false, self.layers.at, HITS, &mut hits);
            if hits.len() == HITS {
                let last = hits[HITS - 1].key.to_vec();
                rest = Some((Bound::Excluded(last), range.1));
            }
            // A key whose versions here are all above the commit has its state in an older layer.
            hits.retain(|hit| hit.state.is_some());
            hidden.clear();
            if !hits.is_empty() {
                let own = List::of(hits.iter().map(|hit| &hit.key[..]));
                hidden = self.layers.hidden_keys(layer, &own)?;
            }
        }
        let mut flow = ControlFlow::Continue(());
        while passed < hits.len() && flow.is_continue() {
            let (hit, is_hidden) = (&hits[passed], hidden.get(passed).is_some_and(|one| *one));
            passed += 1;
            if let Some((group, found)) = hit.state.as_ref().filter(|_| !is_hidden) {
                flow = self.give(&hit.key, group.view(), found, f)?;
            }
        }
        self.place = ScanPosition::Hits { hits, hidden, passed, rest };
        Ok(flow)
    }

    fn visit_block(
        &mut self,
        layer: usize,
        (mut open, number): (OpenSegment, usize),
        f: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let place = BlockPlace { layer, segment: open.segment, number };
        let is_clear = self.is_clear(&mut open, place)?;
        let is_within = is_clear || {
            let (first, end) = bounds_of(&open.run, &open.guide, place);
            self.has_all(&first, &end)
        };
        // A block of columns has one table, and rows of it alone are given as such.
        if is_within && open.guide.blocks()[number].header > 0 {
            let seen = self.layers.seen(place)?;
            let recent = self.layers.hidden_by_memory(place)?;
            let (file, columns) = (open.file().clone(), open.file().columns(&open.guide, number)?);
            self.enter(open, number + 1)?;
            return Ok(match ColumnRows::new(file, columns).with(seen, &recent) {
                Some(rows) => f(ScanItem::Columns(rows)),
                None => ControlFlow::Continue(()),
            });
        }
        let mut hidden = Vec::new();
        if !is_clear {
            hidden = self.layers.hidden_by_runs(place)?;
            let recent = self.layers.hidden_by_memory(place)?;
            hidden.resize(hidden.len().max(recent.len()), false);
            hidden
                .iter_mut()
                .zip(recent)
                .for_each(|(is_hidden, is_recent)| *is_hidden |= is_recent);
        }
        let cached = open.file().cached_block(number);
        let is_known = cached.is_some();
        let block = match (cached, &mut self.passing) {
            (Some(block), _) => block,
            (None, Some(ahead)) => open.file().load_ahead(&open.guide, number, ahead)?,
            (None, None) => open.file().load_to_cache(&open.guide, number)?,
        };
        // A block that is new to the cache is perhaps never read again.
        let grow =
            |bytes| open.file().cache().grow((open.file().meta.number, number as u64), bytes);
        let is_whole = is_known && is_within && block.is_whole_at(self.layers.at, grow);
        let place = is_whole.then(|| (open.file().clone(), number as u64));
        if is_whole && !hidden.contains(&true) {
            self.enter(open, number + 1)?;
            return Ok(f(ScanItem::Rows(RowBlock { block, rows: BlockRows::All, place })));
        }
        let rows = match is_within {
            true => self.whole_rows(&block, &mut hidden),
            false => Vec::new(),
        };
        let are_all = rows.len() == block.count() as usize;
        if are_all || is_within && !hidden.contains(&false) {
            self.enter(open, number + 1)?;
        } else {
            let block = block.clone();
            self.place = ScanPosition::Rows { open, number, block, hidden, passed: 0 };
        }
        Ok(match rows.is_empty() {
            true => ControlFlow::Continue(()),
            false => {
                let rows = BlockRows::Some(rows);
                f(ScanItem::Rows(RowBlock { block, rows, place }))
            }
        })
    }

    /// Returns true if the scan sees all rows of a block of rows. Asks about the blocks behind it too, and keeps the
    /// answer with the segment.
    fn is_clear(&mut self, open: &mut OpenSegment, place: BlockPlace) -> Result<bool, StoreError> {
        let blocks = open.guide.blocks();
        if blocks[place.number].header > 0 {
            return Ok(false);
        }
        if place.number >= open.stretch.end {
            let end = blocks.len().min(place.number + STRETCH);
            let last = BlockPlace { number: end - 1, ..place };
            let first_key = open.guide.key(&blocks[place.number]);
            let (_, end_key) = bounds_of(&open.run, &open.guide, last);
            let is_clear = self.has_all(first_key, &end_key)
                && self.layers.has_alone(place, &open.guide, end, &end_key)?;
            open.stretch = Stretch { end, is_clear };
        }
        Ok(open.stretch.is_clear)
    }

    /// Returns true if all keys from `first` up to `end` are in the range.
    fn has_all(&self, first: &[u8], end: &[u8]) -> bool {
        key::above(&self.range.0, first) && is_up_to(&self.range.1, end)
    }

    /// Returns the rows of a block, not hidden, that are one whole value, and hides them from
    /// [`BlockScan::visit_rows`], unless they are all rows of the block.
    fn whole_rows(&self, block: &Block, hidden: &mut Vec<bool>) -> Vec<[u32; 3]> {
        let mut rows = Vec::with_capacity(block.count() as usize);
        block.values_at(self.layers.at, |number, (start, end)| rows.push([number, start, end]));
        if !hidden.is_empty() {
            rows.retain(|[number, ..]| !hidden.get(*number as usize).is_some_and(|one| *one));
        }
        if rows.len() < block.count() as usize {
            hidden.resize(block.count() as usize, false);
            rows.iter().for_each(|[number, ..]| hidden[*number as usize] = true);
        }
        rows
    }

    /// Gives rows of a block one by one.
    fn visit_rows(
        &mut self,
        (open, number): (OpenSegment, usize),
        (block, hidden, mut passed): (Arc<Block>, Vec<bool>, u32),
        f: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let mut full = Vec::new();
        while passed < block.count() {
            let at = passed;
            passed += 1;
            if hidden.get(at as usize).is_some_and(|is_hidden| *is_hidden) {
                continue;
            }
            block.key_into(at, &mut full);
            if !key::above(&self.range.0, &full) || !key::below(&self.range.1, &full) {
                continue;
            }
            let group = block.group(&block.place(at));
            let Some(found) = group.find(self.layers.at) else { continue };
            if self.give(&full, group, &found, f)?.is_break() {
                self.place = ScanPosition::Rows { open, number, block, hidden, passed };
                return Ok(ControlFlow::Break(()));
            }
        }
        self.enter(open, number + 1)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Gives the state of a key that was found in a group, unless the key is deleted then.
    fn give(
        &self,
        full: &[u8],
        group: GroupRef<'_>,
        found: &Found,
        f: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let key = &full[TABLE_LEN..];
        Ok(match found.anchor.filter(|_| found.deltas == 0) {
            Some(anchor) if anchor.tag == Tag::Delete => ControlFlow::Continue(()),
            Some(anchor) => {
                let bytes = slice(group.body, (anchor.start, anchor.start + anchor.len));
                f(ScanItem::Row(key, ScannedState::Image { csn: Csn(found.csn), bytes }))
            }
            None => match self.shared.read_in(&self.state, full, Csn(self.layers.at))? {
                Some(state) => f(ScanItem::Row(key, ScannedState::State(state))),
                None => ControlFlow::Continue(()),
            },
        })
    }
}

fn bound_key(bound: &Bound<Vec<u8>>) -> &[u8] {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}

/// Returns true if all keys below `end` are within an upper bound.
fn is_up_to(upper: &Bound<Vec<u8>>, end: &[u8]) -> bool {
    match upper {
        Bound::Unbounded => true,
        Bound::Included(last) => end <= last.as_slice(),
        Bound::Excluded(after) => end <= after.as_slice(),
    }
}
