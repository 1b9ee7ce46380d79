//! [`Layers`]: the sources of a [`BlockScan`](crate::BlockScan), from the newest to the oldest, and
//! the entries of one layer that the others hide.
//!
//! ```text
//!   at or above the checkpoint            below it
//!   layer 0   memtable                    layer 0   current run   an entry above `at` hides nothing of history
//!   layer 1   late run                    layer 1   current run   is not asked about a key that layer 0 has
//!   layer 2   current run                 layer 2   history run   of each key its newest entry at or below `at`
//!   layer 3   current run                 layer 3   history run
//! ```
//!
//! An entry is seen if it is the newest of its key at or below `at`: of the layers above no other has one. For the
//! blocks of runs the answer is kept in the store's cache, because it holds until a flush or a merge: a table of which
//! a tenth was changed is so read at nearly the speed of one that was not.
//!
//! # Invariants
//! * Of the current runs that have a key only the newest one tells of it (see [`crate::read`]).
//! * Layers of history are there only below the checkpoint; then no memtable has anything at or below `at`.

use std::collections::{HashMap, VecDeque};
use std::ops::{Bound, Range as Positions};
use std::sync::Arc;

use crate::block_keys::BlockKeys;
use crate::cache::{Cached, MASKS, MASKS_PAST};
use crate::key::{self, Range};
use crate::memtable::Memtable;
use crate::row_mask::RowMask;
use crate::run::Run;
use crate::segment::{Guide, Half};
use crate::store::State;
use crate::{StoreError, TableId};

/// Keys fetched from a memtable under one lock.
pub(crate) const HITS: usize = 1_024;
/// Lists of keys of blocks that are kept, as blocks of several layers overlap.
const LISTS_KEPT: usize = 8;

/// The layers of a scan of one table at one commit.
pub(crate) struct Layers {
    table: TableId,
    pub at: u64,
    /// Newest first.
    layers: Vec<Layer>,
    lists: VecDeque<(BlockPlace, Arc<List>)>,
    /// The first and the last key of each list that was read.
    bounds: HashMap<BlockPlace, KeySpan>,
}

/// Two full keys.
type KeySpan = (Vec<u8>, Vec<u8>);

#[derive(Clone)]
pub(crate) enum Layer {
    /// Keys that are left out.
    Without(Arc<BlockKeys>),
    Memtable(Arc<Memtable>),
    Run {
        run: Arc<Run>,
        /// The segments of the runs above that may have rows of the table: they decide what is seen of this one.
        above: Arc<[u64]>,
        /// All entries of this run and of those above are at or below `at`.
        is_settled: bool,
    },
}

/// A block of the run of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockPlace {
    pub layer: usize,
    pub segment: usize,
    pub number: usize,
}

/// The entries of a block or of a part of a memtable.
#[derive(Default)]
pub(crate) struct List {
    keys: BlockKeys,
    /// Which of them are above `at`; empty if none is.
    later: Vec<bool>,
}

/// Which rows of a block of columns a scan sees, as far as runs decide it.
pub struct Mask {
    above: Arc<[u64]>,
    at: u64,
    /// `None` if it sees all.
    seen: Option<RowMask>,
}

impl Mask {
    /// Returns the number of bytes in memory.
    pub fn size(&self) -> usize {
        size_of::<Mask>() + self.seen.as_ref().map_or(0, |seen| size_of_val(seen.words()))
    }
}

impl List {
    /// Returns full keys, which come in order, none of them above `at`.
    pub fn of<'k>(keys: impl Iterator<Item = &'k [u8]>) -> List {
        List { keys: BlockKeys::of(keys), later: Vec::new() }
    }

    fn is_later(&self, position: usize) -> bool {
        self.later.get(position).is_some_and(|is_later| *is_later)
    }
}

impl Layers {
    /// Returns the layers that have something in the range. Whether that is all that is needed to know what is seen,
    /// the caller has looked at.
    pub fn new(
        state: &State,
        table: TableId,
        range: &Range,
        at: u64,
        without: &[Vec<u8>],
    ) -> Layers {
        let mut layers = Vec::new();
        if !without.is_empty() {
            let mut keys = BlockKeys::default();
            without.iter().for_each(|key| keys.push(&key::full(table, key)));
            layers.push(Layer::Without(Arc::new(keys)));
        }
        let (first, after) = (key::full(table, &[]), key::after(table));
        let (mut above, mut csn) = (Vec::new(), 0);
        let mut add = |layers: &mut Vec<Layer>, run: &Arc<Run>| {
            csn = csn.max(run.csns.1);
            let is_settled = csn <= at;
            layers.push(Layer::Run {
                run: run.clone(),
                above: above.as_slice().into(),
                is_settled,
            });
            let of_table = run.segments.iter().map(|segment| &segment.meta).filter(|meta| {
                meta.first.0.as_slice() < &after[..] && meta.last_key.as_slice() >= &first[..]
            });
            above.extend(of_table.map(|meta| meta.number));
        };
        for mem in state.memtables().filter(|mem| !mem.is_empty() && mem.first() <= at) {
            layers.push(Layer::Memtable(mem.clone()));
            // The entries of a late run are all of one commit.
            let late = mem.late().iter().rev().map(|late| &late.run);
            let late = late.filter(|run| run.csns.0 <= at && run.meets(range));
            late.for_each(|run| add(&mut layers, run));
        }
        // Where all current entries are later they tell of nothing.
        if at >= state.current_from {
            state.images().filter(|run| run.meets(range)).for_each(|run| add(&mut layers, run));
        }
        if at < state.checkpoint.csn.0 {
            let past = state.history.iter().rev();
            let past = past.filter(|run| run.csns.0 <= at && run.meets(range));
            past.for_each(|run| add(&mut layers, run));
        }
        Layers { table, at, layers, lists: VecDeque::new(), bounds: HashMap::new() }
    }

    /// Returns the same layers for another scan.
    pub fn fork(&self) -> Layers {
        let (layers, lists, bounds) = (self.layers.clone(), VecDeque::new(), HashMap::new());
        Layers { layers, lists, bounds, ..*self }
    }

    pub fn len(&self) -> usize {
        self.layers.len()
    }

    pub fn layer(&self, layer: usize) -> &Layer {
        &self.layers[layer]
    }

    /// Returns the run of a layer that is one.
    pub fn run(&self, layer: usize) -> Option<&Arc<Run>> {
        match &self.layers[layer] {
            Layer::Run { run, .. } => Some(run),
            Layer::Without(_) | Layer::Memtable(_) => None,
        }
    }

    /// Returns which rows of a block of columns are seen as far as runs decide it: `None` if all are.
    pub fn seen(&mut self, place: BlockPlace) -> Result<Option<RowMask>, StoreError> {
        let Layer::Run { run, above, is_settled } = &self.layers[place.layer] else {
            return Ok(None);
        };
        let (run, above) = (run.clone(), above.clone());
        let file = &run.segments[place.segment];
        let guide = file.guide()?;
        let (at, kind) = if *is_settled { (u64::MAX, MASKS) } else { (self.at, MASKS_PAST) };
        let kept = (file.meta.number, kind | place.number as u64);
        if let Some(Cached::Mask(mask)) = file.cache().get(kept)
            && mask.at == at
            && mask.above == above
        {
            return Ok(mask.seen.clone());
        }
        let mut hidden = self.hidden_by_runs(place)?;
        let columns = file.columns(&guide, place.number)?;
        if columns.deleted() > 0 {
            hidden.resize(columns.rows(), false);
            columns.mark_deleted(file, &mut hidden)?;
        }
        let seen = hidden.contains(&true).then(|| RowMask::of_shown(&hidden));
        let mask = Mask { above, at, seen: seen.clone() };
        file.cache().replace(kept, Cached::Mask(Arc::new(mask)));
        Ok(seen)
    }

    /// Returns which rows of a block of a run other entries of runs hide, those that are no state at `at` among them:
    /// nothing if none is hidden.
    pub fn hidden_by_runs(&mut self, place: BlockPlace) -> Result<Vec<bool>, StoreError> {
        let Some(run) = self.run(place.layer).cloned() else { return Ok(Vec::new()) };
        let Some((first, end)) = self.span(&run, place)? else { return Ok(Vec::new()) };
        let newer = self.newer(place.layer, &first, &end)?;
        let guide = run.segments[place.segment].guide()?;
        let is_settled = guide.blocks()[place.number].csns.1 <= self.at;
        let is_past = run.half == Half::History;
        if newer.is_empty() && is_settled && !is_past {
            return Ok(Vec::new());
        }
        let own = self.list(place)?;
        let mut hidden = own.later.clone();
        hidden.resize(own.keys.len(), false);
        if is_past {
            let last = own.keys.len().saturating_sub(1);
            let goes_on = self.goes_on(&run, place, &own)?;
            for (at, is_hidden) in hidden.iter_mut().enumerate() {
                let next_is = own.keys.repeats(at) && !own.is_later(at + 1);
                *is_hidden |= next_is || goes_on && at == last;
            }
        }
        self.mark(&own, is_past, &newer, &mut hidden);
        // Keys of other tables that stand before are not among the own ones.
        hidden.splice(0..0, std::iter::repeat_n(false, own.keys.lead()));
        Ok(hidden)
    }

    /// Returns true if no other layer has a key of the blocks of a segment from a place up to number `end`, whose keys
    /// are below `end_key`, and none of their entries is above `at`. It looks at the first and the last key of blocks, so it
    /// may return false although that holds.
    pub fn has_alone(
        &mut self,
        from: BlockPlace,
        guide: &Guide,
        end: usize,
        end_key: &[u8],
    ) -> Result<bool, StoreError> {
        let blocks = &guide.blocks()[from.number..end];
        let is_history = self.run(from.layer).is_none_or(|run| run.half == Half::History);
        if is_history || blocks.iter().any(|info| info.csns.1 > self.at) {
            return Ok(false);
        }
        let first = guide.key(&blocks[0]);
        for layer in 0..from.layer {
            let is_apart = match &self.layers[layer] {
                Layer::Without(keys) => !keys.meets(first, end_key),
                Layer::Memtable(mem) => {
                    let range =
                        (Bound::Included(first.to_vec()), Bound::Excluded(end_key.to_vec()));
                    let mut has_one = false;
                    mem.keys(&range, self.at, 1, &mut |_| has_one = true).is_none() && !has_one
                }
                Layer::Run { run, .. } => {
                    let between = blocks_between(&run.clone(), first, end_key)?;
                    self.are_apart(layer, &between, first, end_key)?
                }
            };
            if !is_apart {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if none of these blocks of a layer has a key of the table from `first` up to `end`. If there are many, it
    /// returns false without a look at them.
    fn are_apart(
        &mut self,
        layer: usize,
        blocks: &[(usize, Positions<usize>)],
        first: &[u8],
        end: &[u8],
    ) -> Result<bool, StoreError> {
        /// So many blocks are looked at: in a segment without such a key it is the one that begins before `first`.
        const FEW: usize = 2;
        if blocks.iter().map(|(_, numbers)| numbers.len()).sum::<usize>() > FEW {
            return Ok(false);
        }
        for (segment, numbers) in blocks.iter().cloned() {
            for number in numbers {
                let place = BlockPlace { layer, segment, number };
                if !self.bounds.contains_key(&place) {
                    self.list(place)?;
                }
                let is_apart =
                    |(low, high): &KeySpan| high.as_slice() < first || low.as_slice() >= end;
                if !self.bounds.get(&place).is_some_and(is_apart) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the first key of the table in a block, and a key above all of these; `None` if the block has none.
    fn span(&mut self, run: &Run, place: BlockPlace) -> Result<Option<KeySpan>, StoreError> {
        let guide = run.segments[place.segment].guide()?;
        let has_columns = guide.blocks()[place.number].header > 0;
        let (first, end) = bounds_of(run, &guide, place);
        if has_columns || key::split(&first).0 == self.table && end <= key::after(self.table) {
            return Ok(Some((first, end)));
        }
        // A block of rows may end in front of the table and the next one begin behind it. Between the two all of the
        // table has room, in other runs.
        let own = self.list(place)?;
        if own.keys.len() == 0 {
            return Ok(None);
        }
        let (first, mut end) = own.keys.bounds();
        end.push(0);
        Ok(Some((first, end)))
    }

    /// Returns which of these keys, which lie in a memtable, a newer layer has: nothing if none has any.
    pub fn hidden_keys(&mut self, layer: usize, own: &List) -> Result<Vec<bool>, StoreError> {
        let (first, mut end) = own.keys.bounds();
        end.push(0);
        let newer = self.newer(layer, &first, &end)?;
        let memory = self.in_memory(layer, &first, &end);
        let mut hidden = Vec::new();
        if !newer.is_empty() || !memory.is_empty() {
            hidden.resize(own.keys.len(), false);
            self.mark(own, false, &newer, &mut hidden);
            for keys in &memory {
                own.keys.common(keys, |at, _| hidden[at] = true);
            }
        }
        Ok(hidden)
    }

    /// Returns which rows of a block of a run memtables and keys that are left out hide: nothing if none.
    pub fn hidden_by_memory(&mut self, place: BlockPlace) -> Result<Vec<bool>, StoreError> {
        let Some(run) = self.run(place.layer).cloned() else { return Ok(Vec::new()) };
        let Some((first, end)) = self.span(&run, place)? else { return Ok(Vec::new()) };
        let memory = self.in_memory(place.layer, &first, &end);
        if memory.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.list(place)?;
        let mut hidden = vec![false; own.keys.len()];
        for keys in &memory {
            own.keys.common(keys, |at, _| hidden[at] = true);
        }
        hidden.splice(0..0, std::iter::repeat_n(false, own.keys.lead()));
        Ok(hidden)
    }

    /// Hides what lists of newer runs, newest first, have in the place of an entry.
    fn mark(&self, own: &List, is_past: bool, newer: &[(Half, Arc<List>)], hidden: &mut [bool]) {
        // The newest current run that has a key decides, also for history.
        let mut told = vec![false; if is_past { hidden.len() } else { 0 }];
        for (half, list) in newer {
            own.keys.common(&list.keys, |at, other| match half {
                Half::Current if !is_past => hidden[at] = true,
                Half::Current => {
                    hidden[at] |= !std::mem::replace(&mut told[at], true) && !list.is_later(other);
                }
                Half::History => hidden[at] |= !list.is_later(other),
            });
        }
    }

    /// Returns the lists of runs above a layer that have a key from `first` up to `end`, newest first.
    fn newer(
        &mut self,
        layer: usize,
        first: &[u8],
        end: &[u8],
    ) -> Result<Vec<(Half, Arc<List>)>, StoreError> {
        let mut newer = Vec::new();
        for above in 0..layer {
            let Some(run) = self.run(above).cloned() else { continue };
            for (segment, numbers) in blocks_between(&run, first, end)? {
                for number in numbers {
                    let place = BlockPlace { layer: above, segment, number };
                    let is_apart =
                        |(low, high): &KeySpan| high.as_slice() < first || low.as_slice() >= end;
                    if self.bounds.get(&place).is_some_and(is_apart) {
                        continue;
                    }
                    let list = self.list(place)?;
                    if list.keys.meets(first, end) {
                        newer.push((run.half, list));
                    }
                }
            }
        }
        Ok(newer)
    }

    /// Returns the keys from `first` up to `end` that memtables above a layer have at or below `at`, and those that are
    /// left out.
    fn in_memory(&self, layer: usize, first: &[u8], end: &[u8]) -> Vec<Arc<BlockKeys>> {
        let mut newer = Vec::new();
        for above in &self.layers[..layer] {
            match above {
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
                Layer::Run { .. } => {}
            }
        }
        newer
    }

    /// Returns true if the last key of a block has its next entry, at or below `at`, in the block behind.
    fn goes_on(&self, run: &Run, place: BlockPlace, own: &List) -> Result<bool, StoreError> {
        let (_, last) = own.keys.bounds();
        let is_it = |guide: &Guide, number: usize| {
            let next = guide.blocks().get(number);
            next.map(|next| guide.key(next) == last.as_slice() && next.first <= self.at)
        };
        if let Some(is_it) = is_it(&*run.segments[place.segment].guide()?, place.number + 1) {
            return Ok(is_it);
        }
        match run.segments.get(place.segment + 1) {
            Some(next) => Ok(is_it(&*next.guide()?, 0).unwrap_or(false)),
            None => Ok(false),
        }
    }

    /// Returns the entries of a block of a layer's run.
    fn list(&mut self, place: BlockPlace) -> Result<Arc<List>, StoreError> {
        if let Some((_, known)) = self.lists.iter().find(|(known, _)| *known == place) {
            return Ok(known.clone());
        }
        let Some(run) = self.run(place.layer) else { return Ok(Arc::default()) };
        let file = &run.segments[place.segment];
        let guide = file.guide()?;
        let info = &guide.blocks()[place.number];
        let some_later = info.csns.1 > self.at;
        let (keys, mut later) = if info.header > 0 {
            let columns = file.columns(&guide, place.number)?;
            let later = match some_later {
                true => columns.csns(file)?.into_iter().map(|csn| csn > self.at).collect(),
                false => Vec::new(),
            };
            (columns.keys(file)?, later)
        } else {
            let block = file.block(&guide, place.number)?;
            let keys = BlockKeys::of_table(self.table, &block);
            let of_table = (0..block.count()).skip(keys.lead()).take(keys.len());
            let is_later = |at: u32| block.group(&block.place(at)).first_csn() > self.at;
            (keys, if some_later { of_table.map(is_later).collect() } else { Vec::new() })
        };
        if !later.contains(&true) {
            later.clear();
        }
        let list = Arc::new(List { keys, later });
        self.bounds.entry(place).or_insert_with(|| list.keys.bounds());
        if self.lists.len() == LISTS_KEPT {
            self.lists.pop_front();
        }
        self.lists.push_back((place, list.clone()));
        Ok(list)
    }
}

/// Returns the first key of a block, and a key above all of it. No key lies behind that is below the second, other
/// than more entries of the last one.
pub(crate) fn bounds_of(run: &Run, guide: &Guide, place: BlockPlace) -> KeySpan {
    let file = &run.segments[place.segment];
    let info = &guide.blocks()[place.number];
    let first = guide.key(info).to_vec();
    let after = key::after(key::split(&first).0);
    let mut end = match guide.blocks().get(place.number + 1) {
        Some(next) if run.half == Half::Current => guide.key(next).to_vec(),
        // In history the next block may begin with the last key of this one.
        Some(next) => [guide.key(next), &[0]].concat(),
        None => [file.meta.last_key.as_slice(), &[0]].concat(),
    };
    // The rows of a block of columns end with their table.
    if info.header > 0 && end > after {
        end = after;
    }
    (first, end)
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
