//! [`BlockScan`]: the rows of a range as the newest commit has them, in no order, block by block.
//!
//! ```text
//!   layer 0   memtable     c . . f . . . . .        rows one by one
//!   layer 1   late run     . . . F . H . . .        F is hidden: layer 0 has it
//!   layer 2   current run  A B C D E F G H I        C, F and H are hidden
//! ```
//!
//! Each layer gives the keys that no newer layer has. A block of columns is given as it is, with the numbers of the
//! rows that are seen, if some are hidden; so a few changes do not turn blocks into rows.
//!
//! # Invariants
//! * Each live key comes once, from the newest layer that has an entry of it at or below the commit.
//! * The commit is not below the checkpoint: current runs have no later entries, and history is not asked.
//! * The table keeps history of all its keys: what began later has an older state in an older layer.

use std::collections::{HashMap, VecDeque};
use std::ops::{Bound, ControlFlow, Range as Positions};
use std::sync::Arc;

use crate::block::Block;
use crate::block_keys::BlockKeys;
use crate::columns::ColumnRows;
use crate::group::{Tag, slice};
use crate::key::{self, Range, TABLE_LEN};
use crate::memtable::{Hit, Memtable};
use crate::run::Run;
use crate::scan::Seen;
use crate::segment::Guide;
use crate::store::{Shared, State};
use crate::{Csn, StoreError, TableId};

/// Keys fetched from a memtable under one lock.
const HITS: usize = 1_024;
/// Lists of keys of blocks that are kept, as blocks of several layers overlap.
const LISTS_KEPT: usize = 8;

/// A scan of a range in no order.
pub struct BlockScan {
    shared: Arc<Shared>,
    state: Arc<State>,
    table: TableId,
    range: Range,
    at: u64,
    /// Newest first.
    layers: Vec<Layer>,
    /// The layer that is being read; those behind it have been. So rows that were added come last.
    layer: Option<usize>,
    place: Place,
    lists: VecDeque<(ListId, Arc<BlockKeys>)>,
    /// The first and the last key of each list that was read.
    bounds: HashMap<ListId, (Vec<u8>, Vec<u8>)>,
}

enum Layer {
    /// Keys that are left out.
    Without(Arc<BlockKeys>),
    Memtable(Arc<Memtable>),
    Run(Arc<Run>),
}

/// Where in a layer the scan is.
enum Place {
    /// At its beginning.
    Start,
    /// Among keys of a memtable: those fetched, which are hidden, how many are passed, and what comes then.
    Hits { hits: Vec<Hit>, hidden: Vec<bool>, passed: usize, rest: Option<Range> },
    /// In front of a block of a run.
    Block { segment: usize, number: usize },
    /// Inside of a block that is given row by row.
    Rows { segment: usize, number: usize, block: Arc<Block>, hidden: Vec<bool>, passed: u32 },
}

/// The layer, the segment and the block of a list of keys.
type ListId = (usize, usize, usize);

impl BlockScan {
    /// Returns the scan; `None` where only an ordered one knows what is seen: below the checkpoint, and where
    /// something is erased.
    pub(crate) fn new(
        shared: Arc<Shared>,
        table: TableId,
        range: Range,
        at: Csn,
        without: &[Vec<u8>],
    ) -> Option<BlockScan> {
        let state = shared.state();
        let is_erased = state.erased.as_ref().is_some_and(|erased| erased.touches(table));
        if at < state.checkpoint.csn || is_erased {
            return None;
        }
        let mut layers = Vec::new();
        if !without.is_empty() {
            let mut keys = BlockKeys::default();
            without.iter().for_each(|key| keys.push(&key::full(table, key)));
            layers.push(Layer::Without(Arc::new(keys)));
        }
        for mem in state.memtables().filter(|mem| !mem.is_empty()) {
            layers.push(Layer::Memtable(mem.clone()));
            // The entries of a late run are all of one commit.
            let late = mem.late().iter().rev().map(|late| &late.run);
            let late = late.filter(|run| run.csns.0 <= at.0 && run.meets(&range));
            layers.extend(late.cloned().map(Layer::Run));
        }
        let current = state.images().filter(|run| run.meets(&range));
        layers.extend(current.cloned().map(Layer::Run));
        let (place, lists) = (Place::Start, VecDeque::new());
        let layer = layers.len().checked_sub(1);
        let (at, bounds) = (at.0, HashMap::new());
        Some(BlockScan { shared, state, table, range, at, layers, layer, place, lists, bounds })
    }

    /// Returns true if nothing more comes.
    pub fn is_at_end(&self) -> bool {
        self.layer.is_none()
    }

    /// Calls `f` with rows, and `g` with blocks of columns, until one of them breaks (it has taken that one then) or
    /// nothing more comes.
    ///
    /// # Errors
    /// What reading a file reports.
    pub fn visit(
        &mut self,
        f: &mut dyn FnMut(&[u8], Seen<'_>) -> ControlFlow<()>,
        g: &mut dyn FnMut(ColumnRows) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        while let Some(layer) = self.layer {
            let flow = match std::mem::replace(&mut self.place, Place::Start) {
                Place::Start => self.begin(layer)?,
                Place::Hits { hits, hidden, passed, rest } => {
                    self.visit_hits(layer, (hits, hidden, passed), rest, f)?
                }
                Place::Block { segment, number } => {
                    self.visit_block(layer, (segment, number), g)?
                }
                Place::Rows { segment, number, block, hidden, passed } => {
                    self.visit_rows(layer, (segment, number), (block, hidden, passed), f)?
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
        let run = match &self.layers[layer] {
            Layer::Memtable(_) => {
                self.place = Place::Hits {
                    hits: Vec::new(),
                    hidden: Vec::new(),
                    passed: 0,
                    rest: Some(self.range.clone()),
                };
                return Ok(ControlFlow::Continue(()));
            }
            Layer::Without(_) => {
                self.leave();
                return Ok(ControlFlow::Continue(()));
            }
            Layer::Run(run) => run.clone(),
        };
        let lower = bound_key(&self.range.0);
        let segment = run.segments.partition_point(|one| one.meta.last_key.as_slice() < lower);
        let number = match run.segments.get(segment) {
            Some(segment) => segment.guide()?.before(lower, 0).saturating_sub(1),
            None => 0,
        };
        self.enter(&run, segment, number)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Goes in front of a block, or of the next one that there is; to the next layer where the range ends.
    fn enter(&mut self, run: &Run, segment: usize, number: usize) -> Result<(), StoreError> {
        let (mut segment, mut number) = (segment, number);
        while let Some(file) = run.segments.get(segment) {
            let guide = file.guide()?;
            let Some(info) = guide.blocks().get(number) else {
                (segment, number) = (segment + 1, 0);
                continue;
            };
            if !key::below(&self.range.1, guide.key(info)) {
                break;
            }
            self.place = Place::Block { segment, number };
            return Ok(());
        }
        self.leave();
        Ok(())
    }

    fn leave(&mut self) {
        self.layer = self.layer.and_then(|layer| layer.checked_sub(1));
        self.place = Place::Start;
    }

    fn visit_hits(
        &mut self,
        layer: usize,
        (mut hits, mut hidden, mut passed): (Vec<Hit>, Vec<bool>, usize),
        mut rest: Option<Range>,
        f: &mut dyn FnMut(&[u8], Seen<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let Layer::Memtable(mem) = &self.layers[layer] else {
            return Ok(ControlFlow::Continue(()));
        };
        if passed == hits.len() {
            let Some(range) = rest.take().filter(|range| !key::is_empty(range)) else {
                self.leave();
                return Ok(ControlFlow::Continue(()));
            };
            hits.clear();
            passed = 0;
            mem.batch(&range, false, self.at, HITS, &mut hits);
            if hits.len() == HITS {
                let last = hits[HITS - 1].key.to_vec();
                rest = Some((Bound::Excluded(last), range.1));
            }
            // A key that begins later is of an older layer.
            hits.retain(|hit| hit.state.is_some());
            hidden = match (hits.first(), hits.last()) {
                (Some(first), Some(last)) => {
                    let end = [last.key.as_slice(), &[0]].concat();
                    let own = || Ok(Arc::new(BlockKeys::of(hits.iter().map(|hit| &hit.key[..]))));
                    self.hidden(layer, &first.key, &end, |_| own())?
                }
                _ => Vec::new(),
            };
        }
        let mut flow = ControlFlow::Continue(());
        while passed < hits.len() && flow.is_continue() {
            let (hit, is_hidden) = (&hits[passed], hidden.get(passed).is_some_and(|one| *one));
            passed += 1;
            let Some((group, found)) = hit.state.as_ref().filter(|_| !is_hidden) else { continue };
            let key = &hit.key[TABLE_LEN..];
            match found.anchor.filter(|_| found.deltas == 0) {
                Some(anchor) if anchor.tag == Tag::Delete => {}
                Some(anchor) => {
                    let bytes = slice(group.body(), (anchor.start, anchor.start + anchor.len));
                    flow = f(key, Seen::Image { csn: Csn(found.csn), bytes });
                }
                None => {
                    if let Some(state) = self.shared.read_in(&self.state, &hit.key, Csn(self.at))? {
                        flow = f(key, Seen::State(state));
                    }
                }
            }
        }
        self.place = Place::Hits { hits, hidden, passed, rest };
        Ok(flow)
    }

    fn visit_block(
        &mut self,
        layer: usize,
        (segment, number): (usize, usize),
        g: &mut dyn FnMut(ColumnRows) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let Layer::Run(run) = &self.layers[layer] else {
            return Ok(ControlFlow::Continue(()));
        };
        let run = run.clone();
        let file = &run.segments[segment];
        let guide = file.guide()?;
        let info = &guide.blocks()[number];
        let end = end_of(&run, segment, &guide, number);
        // A block of columns has one table, and rows of it alone are given as such.
        let first = guide.key(info).to_vec();
        let is_whole =
            info.header > 0 && key::above(&self.range.0, &first) && is_up_to(&self.range.1, &end);
        let id = (layer, segment, number);
        let mut hidden = self.hidden(layer, &first, &end, |scan| scan.list(id))?;
        if !is_whole {
            let block = file.block(&guide, number)?;
            self.place = Place::Rows { segment, number, block, hidden, passed: 0 };
            return Ok(ControlFlow::Continue(()));
        }
        let columns = file.columns(&guide, number)?;
        if columns.deleted() > 0 {
            hidden.resize(columns.rows(), false);
            columns.mark_deleted(file, &mut hidden)?;
        }
        self.enter(&run, segment, number + 1)?;
        Ok(match ColumnRows::new(file.clone(), columns).without(&hidden) {
            Some(rows) => g(rows),
            None => ControlFlow::Continue(()),
        })
    }

    fn visit_rows(
        &mut self,
        layer: usize,
        (segment, number): (usize, usize),
        (block, hidden, mut passed): (Arc<Block>, Vec<bool>, u32),
        f: &mut dyn FnMut(&[u8], Seen<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let Layer::Run(run) = &self.layers[layer] else {
            return Ok(ControlFlow::Continue(()));
        };
        let run = run.clone();
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
            let place = block.place(at);
            // Entries of current and late runs are whole values or deletions.
            let Some((csn, bytes)) = block.group(&place).image(self.at) else { continue };
            if f(&full[TABLE_LEN..], Seen::Image { csn: Csn(csn), bytes }).is_break() {
                self.place = Place::Rows { segment, number, block, hidden, passed };
                return Ok(ControlFlow::Break(()));
            }
        }
        self.enter(&run, segment, number + 1)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Returns which keys of a part of a layer, from `first` up to `end`, a newer layer has: nothing if it has none.
    /// `own` gives the keys of the part.
    fn hidden(
        &mut self,
        layer: usize,
        first: &[u8],
        end: &[u8],
        own: impl FnOnce(&mut BlockScan) -> Result<Arc<BlockKeys>, StoreError>,
    ) -> Result<Vec<bool>, StoreError> {
        let mut newer = Vec::new();
        for above in 0..layer {
            match &self.layers[above] {
                Layer::Without(keys) => {
                    if keys.meets(first, end) {
                        newer.push(keys.clone());
                    }
                }
                Layer::Memtable(mem) => {
                    let mut keys = BlockKeys::default();
                    let mut from = Bound::Included(first.to_vec());
                    // The lock is given back now and then.
                    loop {
                        let range = (from, Bound::Excluded(end.to_vec()));
                        match mem.keys(&range, self.at, HITS, &mut |key| keys.push(key)) {
                            Some(last) => from = Bound::Excluded(last),
                            None => break,
                        }
                    }
                    if keys.len() > 0 {
                        newer.push(Arc::new(keys));
                    }
                }
                Layer::Run(run) => {
                    let run = run.clone();
                    for (segment, numbers) in blocks_between(&run, first, end)? {
                        for number in numbers {
                            let id = (above, segment, number);
                            let is_apart = |(low, high): &(Vec<u8>, Vec<u8>)| {
                                high.as_slice() < first || low.as_slice() >= end
                            };
                            if self.bounds.get(&id).is_some_and(is_apart) {
                                continue;
                            }
                            let keys = self.list(id)?;
                            if keys.meets(first, end) {
                                newer.push(keys);
                            }
                        }
                    }
                }
            }
        }
        if newer.is_empty() {
            return Ok(Vec::new());
        }
        let own = own(self)?;
        let mut hidden = vec![false; own.len()];
        newer.iter().for_each(|keys| own.mark(keys, &mut hidden));
        // Keys of other tables that stand before are not among the own ones.
        hidden.splice(0..0, std::iter::repeat_n(false, own.lead()));
        Ok(hidden)
    }

    /// Returns the keys of a block of a layer's run.
    fn list(&mut self, id: ListId) -> Result<Arc<BlockKeys>, StoreError> {
        if let Some((_, known)) = self.lists.iter().find(|(known, _)| *known == id) {
            return Ok(known.clone());
        }
        let (layer, segment, number) = id;
        let Layer::Run(run) = &self.layers[layer] else { return Ok(Arc::default()) };
        let file = &run.segments[segment];
        let guide = file.guide()?;
        let keys = match guide.blocks()[number].header {
            0 => {
                let block = file.block(&guide, number)?;
                let key = |at: u32| {
                    let mut full = Vec::new();
                    block.key_into(at, &mut full);
                    full
                };
                let all: Vec<Vec<u8>> = (0..block.count()).map(key).collect();
                BlockKeys::of_table(self.table, &all)
            }
            _ => file.columns(&guide, number)?.keys(file)?,
        };
        let keys = Arc::new(keys);
        self.bounds.entry(id).or_insert_with(|| keys.bounds());
        if self.lists.len() == LISTS_KEPT {
            self.lists.pop_front();
        }
        self.lists.push_back((id, keys.clone()));
        Ok(keys)
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

/// Returns a key above all of a block, and not above the keys behind it.
fn end_of(run: &Run, segment: usize, guide: &Guide, number: usize) -> Vec<u8> {
    let (table, _) = key::split(guide.key(&guide.blocks()[number]));
    let next = guide.blocks().get(number + 1).map(|next| guide.key(next).to_vec());
    let last = || [run.segments[segment].meta.last_key.as_slice(), &[0]].concat();
    let end = next.unwrap_or_else(last);
    // The rows of a block of columns end with their table.
    let is_columns = guide.blocks()[number].header > 0;
    let after = key::after(table);
    if is_columns && end > after { after } else { end }
}

/// Returns the blocks of a run, segment by segment, that may have keys from `first` up to `end`.
fn blocks_between(
    run: &Run,
    first: &[u8],
    end: &[u8],
) -> Result<Vec<(usize, Positions<usize>)>, StoreError> {
    let from = run.segments.partition_point(|one| one.meta.last_key.as_slice() < first);
    let mut found = Vec::new();
    for (segment, file) in run.segments.iter().enumerate().skip(from) {
        if file.meta.first.0.as_slice() >= end {
            break;
        }
        let guide = file.guide()?;
        let low = guide.before(first, 0).saturating_sub(1);
        let high = guide.before(end, 0);
        found.push((segment, low..high));
    }
    Ok(found)
}
