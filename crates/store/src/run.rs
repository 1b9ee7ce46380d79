//! A run: segments that together are one sorted row of groups; and walking along it.
//!
//! ```text
//!   run      [ segment: aa .. cz ][ segment: cz .. kk ][ segment: kl .. zz ]
//!   a key with a long past may begin in one segment and end in the next
//! ```
//!
//! Everything rests on one question: which is the *last group before (key, commit)*? For the state at
//! a commit it is asked just above the commit; for versions from a commit on, at the commit; for the
//! next key, above all commits of this one; for the previous key, at its very start.
//!
//! # Invariants
//! * Groups ascend by (key, first commit) through all segments of a run.
//! * In a current run each key has one group of one entry.

use crate::Csn;
use crate::block::{Block, GroupSpan};
use crate::columns::ColumnRows;
use crate::error::StoreError;
use crate::group::{Found, GroupRef};
use crate::key::{self, Range, TABLE_LEN};
use crate::key_prefixes::KeyPrefixes;
use crate::scan::ScannedState;
use crate::segment::{Guide, Half, Meta, Segment};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// A run.
pub struct Run {
    pub half: Half,
    pub segments: Vec<Arc<Segment>>,
    /// Smallest and largest commit inside.
    pub csns: (u64, u64),
    pub bytes: u64,
    /// The prefixes of the segments' first keys.
    key_prefixes: KeyPrefixes,
}

impl Run {
    /// Joins segments, which come in order.
    pub fn new(half: Half, segments: Vec<Arc<Segment>>) -> Run {
        let csns = segments.iter().map(|s| s.meta.csns);
        let csns = csns.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default();
        let bytes = segments.iter().map(|s| s.meta.bytes).sum();
        let key_prefixes = KeyPrefixes::of(segments.len(), |at| &segments[at].meta.first.0);
        Run { half, segments, csns, bytes, key_prefixes }
    }

    /// True if some key of a range may be in it, as far as that is known without a look at a block.
    pub fn meets(&self, range: &Range) -> bool {
        let (Some(first), Some(last)) = (self.segments.first(), self.segments.last()) else {
            return false;
        };
        key::below(&range.1, &first.meta.first.0) && key::above(&range.0, &last.meta.last_key)
    }

    /// True if some key of a range is in it. A block is read only where a segment reaches over the range.
    pub fn has_key_in(&self, range: &Range) -> Result<bool, StoreError> {
        let (key, from) = match &range.0 {
            Bound::Included(key) => (key.as_slice(), 0),
            Bound::Excluded(key) => (key.as_slice(), u64::MAX),
            Bound::Unbounded => (&[][..], 0),
        };
        let Some(first) = self.segments.first() else { return Ok(false) };
        let before = self.segment_before(key, from);
        if let Some(at) = before {
            let last = &self.segments[at].meta.last_key;
            if key::above(&range.0, last) {
                if key::below(&range.1, last) {
                    return Ok(true);
                }
                let mut full = Vec::new();
                let found = self.first_from(key, from)?;
                return Ok(found.is_some_and(|position| {
                    position.block.key_into(position.group, &mut full);
                    key::below(&range.1, &full)
                }));
            }
        }
        let next = before.map_or(Some(first), |at| self.segments.get(at + 1));
        Ok(next.is_some_and(|segment| key::below(&range.1, &segment.meta.first.0)))
    }

    /// True if the segments that lie in a range with all their keys have more than so many bytes.
    pub fn has_more_within(&self, range: &Range, bytes: u64) -> bool {
        let from = self.segments.partition_point(|s| !key::above(&range.0, &s.meta.first.0));
        let within = self.segments[from..].iter().map(|segment| &segment.meta);
        let mut sum = 0;
        within.take_while(|meta| key::below(&range.1, &meta.last_key)).any(|meta| {
            sum += meta.bytes;
            sum > bytes
        })
    }

    /// Returns the entries of the manifest for the segments.
    pub fn metas(&self) -> impl Iterator<Item = &Meta> {
        self.segments.iter().map(|s| &s.meta)
    }

    #[inline]
    fn segment_before(&self, key: &[u8], from: u64) -> Option<usize> {
        let compare = |at: usize| {
            let (first, csn) = &self.segments[at].meta.first;
            first.as_slice().cmp(key).then_with(|| csn.cmp(&from))
        };
        self.key_prefixes.before(key, || &self.segments[0].meta.first.0, compare).checked_sub(1)
    }

    /// The state of `key` at `at`, where a group of it here begins at or below that.
    #[inline]
    pub fn find(
        &self,
        key: &[u8],
        hash: u64,
        at: u64,
    ) -> Result<Option<(Arc<Block>, GroupSpan, Found)>, StoreError> {
        match self.segment_before(key, at.saturating_add(1)) {
            Some(i) if key <= self.segments[i].meta.last_key.as_slice() => {
                self.segments[i].find(key, hash, at)
            }
            _ => Ok(None),
        }
    }

    /// True if the filters do not rule the key out.
    pub fn may_hold(&self, key: &[u8], hash: u64) -> Result<bool, StoreError> {
        for s in &self.segments {
            if s.meta.first.0.as_slice() <= key
                && key <= s.meta.last_key.as_slice()
                && s.guide()?.may_hold(hash)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first group.
    pub fn start(&self) -> Result<Option<Position>, StoreError> {
        if self.segments.is_empty() { Ok(None) } else { Position::at(self, 0, 0).map(Some) }
    }

    /// The last group.
    pub fn end(&self) -> Result<Option<Position>, StoreError> {
        let Some(i) = self.segments.len().checked_sub(1) else { return Ok(None) };
        let mut position = Position::at(self, i, self.segments[i].guide()?.blocks().len() - 1)?;
        position.group = position.block.count() - 1;
        Ok(Some(position))
    }

    /// The last group before (key, `from`): of a smaller key, or of `key` and beginning below `from`.
    pub fn last_before(&self, key: &[u8], from: u64) -> Result<Option<Position>, StoreError> {
        let Some(i) = self.segment_before(key, from) else { return Ok(None) };
        let blocks = self.segments[i].guide()?.before(key, from);
        let mut position = Position::at(self, i, blocks.saturating_sub(1))?;
        position.group = position.block.before(key, from).saturating_sub(1);
        Ok(Some(position))
    }

    /// The first group that is not before (key, `from`).
    pub fn first_from(&self, key: &[u8], from: u64) -> Result<Option<Position>, StoreError> {
        // A segment that ends before the key is not read: its last block can be a row of many megabytes.
        if let Some(i) = self.segment_before(key, from)
            && self.segments[i].meta.last_key.as_slice() < key
        {
            let next = self.segments.get(i + 1).map(|_| Position::at(self, i + 1, 0));
            return next.transpose();
        }
        match self.last_before(key, from)? {
            Some(position) => position.next(self),
            None => self.start(),
        }
    }

    /// Calls `f` for each group of `key` that may have commits in `from..=to`, oldest first.
    #[inline]
    pub fn groups<F>(
        &self,
        key: &[u8],
        hash: u64,
        from: u64,
        to: u64,
        f: &mut F,
    ) -> Result<ControlFlow<()>, StoreError>
    where
        F: FnMut(GroupRef<'_>) -> ControlFlow<()>,
    {
        if !self.may_hold(key, hash)? {
            return Ok(ControlFlow::Continue(()));
        }
        // The group that begins below `from` may reach beyond it.
        let mut next = match self.last_before(key, from)? {
            Some(p) if p.block.is_key(&p.place(), key) => Some(p),
            Some(p) => p.next(self)?,
            None => self.start()?,
        };
        while let Some(mut position) = next {
            let block = &position.block;
            while position.group < block.count() {
                let place = block.place(position.group);
                let group = block.group(&place);
                if !block.is_key(&place, key) || group.first_csn() > to {
                    return Ok(ControlFlow::Continue(()));
                }
                if f(group).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                position.group += 1;
            }
            position.group -= 1;
            next = position.next(self)?;
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// A group of a run.
pub struct Position {
    segment: usize,
    guide: Arc<Guide>,
    number: usize,
    pub block: Arc<Block>,
    pub group: u32,
    /// Blocks that are not in the cache do not go there.
    is_passing: bool,
}

impl Position {
    /// The first group of a block.
    fn at(run: &Run, segment: usize, number: usize) -> Result<Position, StoreError> {
        Position::beside(run, segment, number, false)
    }

    fn beside(
        run: &Run,
        segment: usize,
        number: usize,
        is_passing: bool,
    ) -> Result<Position, StoreError> {
        let place = BlockPlace { segment, guide: run.segments[segment].guide()?, number };
        Position::read(run, place, is_passing)
    }

    /// The block with its number.
    fn load(&self, run: &Run) -> Result<Arc<Block>, StoreError> {
        run.segments[self.segment].block_in_passing(&self.guide, self.number, self.is_passing)
    }

    fn read(run: &Run, place: BlockPlace, is_passing: bool) -> Result<Position, StoreError> {
        let BlockPlace { segment, guide, number } = place;
        let block = run.segments[segment].block_in_passing(&guide, number, is_passing)?;
        Ok(Position { segment, guide, number, block, group: 0, is_passing })
    }

    /// The block that it is in.
    fn block_place(&self) -> BlockPlace {
        let Position { segment, guide, number, .. } = self;
        BlockPlace { segment: *segment, guide: guide.clone(), number: *number }
    }

    /// Where the group lies in its block.
    #[inline]
    pub fn place(&self) -> GroupSpan {
        self.block.place(self.group)
    }

    /// The group after.
    pub fn next(mut self, run: &Run) -> Result<Option<Position>, StoreError> {
        if self.group + 1 < self.block.count() {
            self.group += 1;
            return Ok(Some(self));
        }
        if self.number + 1 < self.guide.blocks().len() {
            self.number += 1;
            self.block = self.load(run)?;
            self.group = 0;
            return Ok(Some(self));
        }
        if self.segment + 1 < run.segments.len() {
            return Position::beside(run, self.segment + 1, 0, self.is_passing).map(Some);
        }
        Ok(None)
    }

    /// The group before.
    pub fn previous(mut self, run: &Run) -> Result<Option<Position>, StoreError> {
        if self.group > 0 {
            self.group -= 1;
            return Ok(Some(self));
        }
        let mut position = if self.number > 0 {
            self.number -= 1;
            self.block = self.load(run)?;
            self
        } else if self.segment > 0 {
            let blocks = run.segments[self.segment - 1].guide()?.blocks().len();
            Position::beside(run, self.segment - 1, blocks - 1, self.is_passing)?
        } else {
            return Ok(None);
        };
        position.group = position.block.count() - 1;
        Ok(Some(position))
    }
}

/// Walks the distinct keys of a run, either way.
pub struct RunCursor {
    run: Arc<Run>,
    position: Option<Position>,
    /// The block of columns at whose start a [lazy](RunCursor::lazy) cursor stands; it is not read yet, and
    /// `position` is empty then.
    ahead: Option<BlockPlace>,
    key: Vec<u8>,
    reverse: bool,
    is_lazy: bool,
    is_passing: bool,
}

/// A block of a run.
struct BlockPlace {
    segment: usize,
    guide: Arc<Guide>,
    number: usize,
}

/// Steps that a cursor takes before it looks a key up.
const STEPS_AHEAD: usize = 4;

impl RunCursor {
    /// A cursor that stands nowhere yet.
    pub fn new(run: Arc<Run>, reverse: bool) -> RunCursor {
        RunCursor {
            run,
            position: None,
            ahead: None,
            key: Vec::new(),
            reverse,
            is_lazy: false,
            is_passing: false,
        }
    }

    /// The same. Forwards it stops in front of each block of columns without reading it, for
    /// [`RunCursor::take_columns`].
    pub fn lazy(run: Arc<Run>, reverse: bool) -> RunCursor {
        RunCursor { is_lazy: !reverse, ..RunCursor::new(run, reverse) }
    }

    /// The same. Blocks of rows that are not in the cache do not go there, if `is_passing`.
    #[must_use]
    pub fn in_passing(self, is_passing: bool) -> RunCursor {
        RunCursor { is_passing, ..self }
    }

    /// Stands on the first group of a block.
    fn enter(&mut self, place: BlockPlace) -> Result<(), StoreError> {
        let info = &place.guide.blocks()[place.number];
        if self.is_lazy && info.header > 0 {
            self.key.clear();
            self.key.extend_from_slice(place.guide.key(info));
            self.position = None;
            self.ahead = Some(place);
        } else {
            self.position = Some(Position::read(&self.run, place, self.is_passing)?);
            self.note();
        }
        Ok(())
    }

    /// Stands on the first group of a segment; behind the end where there is no such segment.
    fn enter_segment(&mut self, segment: usize) -> Result<(), StoreError> {
        if segment >= self.run.segments.len() {
            return Ok(());
        }
        let guide = self.run.segments[segment].guide()?;
        self.enter(BlockPlace { segment, guide, number: 0 })
    }

    /// Stands on the first group of the block after that one, or behind the end.
    fn enter_next(&mut self, place: BlockPlace) -> Result<(), StoreError> {
        (self.position, self.ahead) = (None, None);
        let BlockPlace { segment, guide, number } = place;
        if number + 1 < guide.blocks().len() {
            self.enter(BlockPlace { segment, guide, number: number + 1 })
        } else {
            self.enter_segment(segment + 1)
        }
    }

    /// Reads the block in front of which the cursor stands.
    fn read(&mut self) -> Result<(), StoreError> {
        if let Some(place) = self.ahead.take() {
            self.position = Some(Position::read(&self.run, place, self.is_passing)?);
        }
        Ok(())
    }

    /// True if the cursor stands in front of a block of columns.
    pub fn is_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// Takes the block of columns in front of which the cursor stands, if all keys of it lie below `end` and
    /// each of them has a value at or below `at`.
    pub fn take_columns(
        &mut self,
        end: Option<&[u8]>,
        at: u64,
    ) -> Result<Option<ColumnRows>, StoreError> {
        let Some(BlockPlace { segment, guide, number }) = &self.ahead else { return Ok(None) };
        let (file, number) = (&self.run.segments[*segment], *number);
        let (table, _) = key::split(guide.key(&guide.blocks()[number]));
        // All of a block of columns is of one table.
        let is_below = |end: &[u8]| match guide.blocks().get(number + 1) {
            _ if key::split(end).0 > table => true,
            Some(next) => guide.key(next) <= end,
            None => file.meta.last_key.as_slice() < end,
        };
        if guide.blocks()[number].csns.1 > at || !end.is_none_or(is_below) {
            return Ok(None);
        }
        let block = file.columns(guide, number)?;
        if block.deleted() > 0 {
            return Ok(None);
        }
        let rows = ColumnRows::new(file.clone(), block);
        if let Some(place) = self.ahead.take() {
            self.enter_next(place)?;
        }
        Ok(Some(rows))
    }

    /// Stands on the first key at or after `key` (reverse: at or before it); `past` leaves `key` itself
    /// out. `None` is the very first (reverse: last) key.
    pub fn seek(&mut self, key: Option<&[u8]>, past: bool) -> Result<(), StoreError> {
        self.ahead = None;
        if self.is_lazy {
            return self.seek_block(key, past);
        }
        self.position = match (key, self.reverse) {
            (None, false) => self.run.start()?,
            (None, true) => self.run.end()?,
            (Some(key), false) => self.run.first_from(key, if past { u64::MAX } else { 0 })?,
            (Some(key), true) => self.run.last_before(key, if past { 0 } else { u64::MAX })?,
        };
        self.note();
        Ok(())
    }

    /// As [`RunCursor::seek`], forwards. It does not read a block of which the guide tells that it ends before the key
    /// sought, nor a block of columns that begins with that key.
    fn seek_block(&mut self, key: Option<&[u8]>, past: bool) -> Result<(), StoreError> {
        self.position = None;
        let from = if past { u64::MAX } else { 0 };
        let before = key.and_then(|key| Some((key, self.run.segment_before(key, from)?)));
        let Some((key, segment)) = before else { return self.enter_segment(0) };
        if self.run.segments[segment].meta.last_key.as_slice() < key {
            return self.enter_segment(segment + 1);
        }
        let guide = self.run.segments[segment].guide()?;
        let number = guide.before(key, from).saturating_sub(1);
        let info = &guide.blocks()[number];
        // All of a block of columns is of one table.
        let is_of_earlier_table =
            info.header > 0 && key::split(guide.key(info)).0 < key::split(key).0;
        // A current run has no key twice.
        let begins_next = guide.blocks().get(number + 1).is_some_and(|next| guide.key(next) == key);
        let is_before = is_of_earlier_table || begins_next && !past;
        let place = BlockPlace { segment, guide, number };
        if is_before {
            return self.enter_next(place);
        }
        let mut position = Position::read(&self.run, place, self.is_passing)?;
        position.group = position.block.before(key, from);
        if position.group == position.block.count() {
            return self.enter_next(position.block_place());
        }
        self.position = Some(position);
        self.note();
        Ok(())
    }

    /// Goes on to the first key at or after `key`, forwards, from where it stands; stays where it is there
    /// already. Near keys cost a step each, and keys of the block in which it stands no look at another.
    pub fn seek_ahead(&mut self, key: &[u8]) -> Result<(), StoreError> {
        for _ in 0..STEPS_AHEAD {
            if self.key().is_none_or(|at| at >= key) {
                return Ok(());
            }
            self.advance()?;
        }
        if let Some(position) = self.position.as_mut().filter(|_| self.key.as_slice() < key) {
            let group = position.block.before(key, 0);
            if group < position.block.count() {
                position.group = group;
                self.note();
                return Ok(());
            }
        }
        match self.key() {
            Some(at) if at < key => self.seek(Some(key), false),
            _ => Ok(()),
        }
    }

    /// The key stood on.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        (self.position.is_some() || self.ahead.is_some()).then_some(self.key.as_slice())
    }

    #[inline]
    fn note(&mut self) {
        if let Some(p) = &self.position {
            p.block.key_into(p.group, &mut self.key);
        }
    }

    /// Goes to the next key in the direction of the cursor.
    pub fn advance(&mut self) -> Result<(), StoreError> {
        self.read()?;
        let Some(position) = self.position.take() else { return Ok(()) };
        if self.is_lazy && position.group + 1 == position.block.count() {
            // A current run has no key twice.
            return self.enter_next(position.block_place());
        }
        let step =
            if self.reverse { position.previous(&self.run)? } else { position.next(&self.run)? };
        self.position = match step {
            Some(p) if p.block.is_key(&p.place(), &self.key) => {
                // A key with many groups: jump over the rest of them.
                if self.reverse {
                    self.run.last_before(&self.key, 0)?
                } else {
                    self.run.first_from(&self.key, u64::MAX)?
                }
            }
            step => step,
        };
        self.note();
        Ok(())
    }

    /// Takes keys below `end` as long as each has one whole value at or below `at`, in a current run.
    pub fn stretch(
        &mut self,
        end: Option<&[u8]>,
        at: u64,
        full: &mut Vec<u8>,
        f: &mut impl FnMut(&[u8], ScannedState<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let mut flow = ControlFlow::Continue(());
        self.read()?;
        while let Some(p) = &mut self.position {
            let block = &p.block;
            let stop = end.map_or(block.count(), |end| block.before(end, 0));
            full.clear();
            full.extend_from_slice(block.prefix());
            while p.group < stop {
                let place = block.place(p.group);
                let Some((csn, bytes)) = block.group(&place).image(at) else { break };
                full.truncate(block.prefix().len());
                full.extend_from_slice(block.suffix(&place));
                p.group += 1;
                flow = f(&full[TABLE_LEN..], ScannedState::Image { csn: Csn(csn), bytes });
                if flow.is_break() {
                    break;
                }
            }
            let goes_on = p.group == block.count() && flow.is_continue();
            if p.group == block.count() {
                let place = p.block_place();
                self.enter_next(place)?;
            }
            if !goes_on {
                break;
            }
        }
        self.note();
        Ok(flow)
    }

    /// The state at `at` of the key stood on, where a group of it here begins at or below that.
    pub fn state(&mut self, at: u64) -> Result<Option<(Arc<Block>, GroupSpan, Found)>, StoreError> {
        self.read()?;
        let Some(p) = &self.position else { return Ok(None) };
        let place = p.place();
        let group = p.block.group(&place);
        let only = p.group + 1 < p.block.count()
            && !p.block.is_key(&p.block.place(p.group + 1), &self.key);
        let begins = group.first_csn() <= at;
        match (self.reverse, begins, only || self.run.half == Half::Current) {
            // Forward it is the key's first group, so all others begin later still; in reverse its last.
            (false, false, _) => Ok(None),
            (true, true, _) | (false, true, true) => {
                Ok(group.find(at).map(|found| (p.block.clone(), place, found)))
            }
            _ => self.run.find(&self.key, crate::filter::hash(&self.key), at),
        }
    }

    /// The entry stood on as it is in its block (current runs: the only one).
    pub fn entry(&self) -> Option<(&Arc<Block>, GroupSpan)> {
        self.position.as_ref().map(|p| (&p.block, p.place()))
    }
}
