//! The plan of a merge: the segments that it keeps, those that it writes anew, and where it is cut.
//!
//! ```text
//!   run 1    [a ... c][d ... f][g ....... m][n ... r][s ... v]
//!   run 2    [a, . . . . . . . . h . . k . . . . . . . . . . .  w x]
//!   merged   [a ... c][d ... f][g ....... m][n ... r][s ... v][w x]
//!             anew     kept     anew         kept     kept     anew
//! ```
//!
//! A segment is kept if no other run of the merge has a key between its first and its last key, and if nothing of it is
//! to be dropped. Segments of other runs may reach over it. The merge then only names it in the next manifest. A small
//! segment next to something that is written is written too, so that segments do not become smaller and smaller.
//!
//! The keys that are written anew are cut into ranges of keys of about [`crate::StoreOptions::merge_range_bytes`]. A cut lies where
//! a block begins. Of the segments that reach over a cut the rest is written a second time, so the plan prefers cuts
//! where little is left of them.
//!
//! # Invariants
//! * No key of one segment lies within the bounds of another one that is kept. So no cut does either.
//! * Segments of a run that share a key are all kept or all written anew.

use crate::error::StoreError;
use crate::key::Range;
use crate::run::Run;
use crate::segment::Segment;
use std::ops::Bound;
use std::sync::Arc;

/// A segment is divided into so many parts at most when the bytes below a key are estimated.
const MARKS: usize = 32;

/// A segment of an input of a merge.
#[derive(Clone)]
pub(crate) struct Piece {
    /// The input, counted from the oldest one.
    pub run: usize,
    pub segment: Arc<Segment>,
}

impl Piece {
    /// Brings segments into the order of keys. Segments with equal first groups stay in their order.
    pub fn sort(pieces: &mut [Piece]) {
        pieces.sort_by(|a, b| a.segment.meta.first.cmp(&b.segment.meta.first));
    }

    /// True if all keys lie at or above a cut.
    pub fn is_beyond(&self, cut: Option<&[u8]>) -> bool {
        cut.is_some_and(|cut| self.segment.meta.first.0.as_slice() >= cut)
    }

    /// True if some key lies at or above a cut.
    pub fn reaches(&self, cut: Option<&[u8]>) -> bool {
        cut.is_some_and(|cut| self.segment.meta.last_key.as_slice() >= cut)
    }
}

/// The segments of a merge, in the order of keys.
pub(crate) struct Plan {
    pub kept: Vec<Piece>,
    pub anew: Vec<Piece>,
}

/// Asks whether a merge would drop something of a segment that no other run touches.
pub(crate) type MayDrop<'f> = &'f mut dyn FnMut(&Arc<Segment>) -> Result<bool, StoreError>;

impl Plan {
    /// Plans the merge of runs, oldest first. `apart` are the same runs, read past the readers' cache. Segments of fewer
    /// than `small_bytes` are small.
    pub fn of(
        inputs: &[Arc<Run>],
        apart: &[Arc<Run>],
        small_bytes: u64,
        may_drop: MayDrop<'_>,
    ) -> Result<Plan, StoreError> {
        let mut is_kept: Vec<Vec<bool>> = Vec::with_capacity(inputs.len());
        for (run, input) in inputs.iter().enumerate() {
            let mut row = Vec::with_capacity(input.segments.len());
            for segment in &input.segments {
                row.push(!is_touched(apart, run, segment)? && !may_drop(segment)?);
            }
            keep_together(&mut row, input);
            is_kept.push(row);
        }
        write_small(&mut is_kept, inputs, apart, small_bytes)?;
        let (mut kept, mut anew) = (Vec::new(), Vec::new());
        for (run, (input, row)) in inputs.iter().zip(&mut is_kept).enumerate() {
            keep_together(row, input);
            for (segment, is_kept) in input.segments.iter().zip(row.iter()) {
                let piece = Piece { run, segment: segment.clone() };
                if *is_kept { kept.push(piece) } else { anew.push(piece) }
            }
        }
        Piece::sort(&mut kept);
        Piece::sort(&mut anew);
        Ok(Plan { kept, anew })
    }

    /// The bytes that are written anew.
    pub fn anew_bytes(&self) -> u64 {
        bytes_of(&self.anew)
    }

    /// The bytes of the oldest run that are written anew.
    pub fn anew_bytes_of_oldest(&self) -> u64 {
        self.anew.iter().filter(|piece| piece.run == 0).map(|piece| piece.segment.meta.bytes).sum()
    }
}

/// The bytes of the files.
pub(crate) fn bytes_of(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.segment.meta.bytes).sum()
}

/// True if another run has a key within the bounds of a segment.
fn is_touched(runs: &[Arc<Run>], run: usize, segment: &Segment) -> Result<bool, StoreError> {
    let meta = &segment.meta;
    let within = (Bound::Included(meta.first.0.clone()), Bound::Included(meta.last_key.clone()));
    has_key(runs.iter().enumerate().filter(|(at, _)| *at != run).map(|(_, run)| run), &within)
}

fn has_key<'r>(
    runs: impl Iterator<Item = &'r Arc<Run>>,
    range: &Range,
) -> Result<bool, StoreError> {
    for run in runs {
        if run.has_key_in(range)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Keeps no segment that shares a key with one that is written anew.
fn keep_together(is_kept: &mut [bool], run: &Run) {
    let shares = |at: usize| run.segments[at].meta.last_key == run.segments[at + 1].meta.first.0;
    for at in 1..is_kept.len() {
        is_kept[at] &= is_kept[at - 1] || !shares(at - 1);
    }
    for at in (1..is_kept.len()).rev() {
        is_kept[at - 1] &= is_kept[at] || !shares(at - 1);
    }
}

/// Keeps no small segment next to another one, or next to keys that are written anew.
fn write_small(
    is_kept: &mut [Vec<bool>],
    inputs: &[Arc<Run>],
    apart: &[Arc<Run>],
    small_bytes: u64,
) -> Result<(), StoreError> {
    let mut order: Vec<(usize, usize)> = Vec::new();
    let mut anew: Vec<Arc<Run>> = Vec::new();
    for (run, row) in is_kept.iter().enumerate() {
        order.extend((0..row.len()).filter(|at| row[*at]).map(|at| (run, at)));
        let segments = apart[run].segments.iter().zip(row);
        let segments = segments.filter(|(_, is_kept)| !**is_kept).map(|(one, _)| one.clone());
        anew.push(Arc::new(Run::new(apart[run].half, segments.collect())));
    }
    let meta = |(run, at): (usize, usize)| &inputs[run].segments[at].meta;
    order.sort_by(|a, b| meta(*a).first.cmp(&meta(*b).first));
    let is_small = |place: Option<&(usize, usize)>| {
        place.is_some_and(|place| meta(*place).bytes < small_bytes)
    };
    for (at, place) in order.iter().enumerate() {
        if !is_small(Some(place)) {
            continue;
        }
        let (before, after) = (at.checked_sub(1).map(|at| &order[at]), order.get(at + 1));
        let one = meta(*place);
        let lower =
            before.map_or(Bound::Unbounded, |at| Bound::Excluded(meta(*at).last_key.clone()));
        let upper = after.map_or(Bound::Unbounded, |at| Bound::Excluded(meta(*at).first.0.clone()));
        if is_small(before)
            || is_small(after)
            || has_key(anew.iter(), &(lower, Bound::Excluded(one.first.0.clone())))?
            || has_key(anew.iter(), &(Bound::Excluded(one.last_key.clone()), upper))?
        {
            is_kept[place.0][place.1] = false;
        }
    }
    Ok(())
}

/// A key at which a block of some segment begins.
struct Mark {
    key: Vec<u8>,
    /// The bytes of all segments below it, about.
    below: u64,
    /// The bytes at and above it of the segments that begin below it, about.
    open: u64,
}

/// Keys that divide segments, with estimates of the bytes below them.
pub(crate) struct Marks {
    marks: Vec<Mark>,
    total: u64,
}

impl Marks {
    /// Reads the guides of segments.
    pub fn of(pieces: &[Piece]) -> Result<Marks, StoreError> {
        let mut parts = Vec::new();
        for piece in pieces {
            let guide = piece.segment.load_guide()?;
            let blocks = guide.blocks();
            let all: u64 = blocks.iter().map(|block| u64::from(block.len)).sum();
            for (at, part) in blocks.chunks(blocks.len().div_ceil(MARKS).max(1)).enumerate() {
                let bytes: u64 = part.iter().map(|block| u64::from(block.len)).sum();
                let opened = if at == 0 { all } else { 0 };
                parts.push((guide.key(&part[0]).to_vec(), bytes, opened));
            }
        }
        // In a stable order: the first part of a segment comes first.
        parts.sort_by(|a: &(Vec<u8>, u64, u64), b| a.0.cmp(&b.0));
        let (mut total, mut open) = (0, 0);
        let mut marks: Vec<Mark> = Vec::with_capacity(parts.len());
        for (key, bytes, opened) in parts {
            if marks.last().is_none_or(|mark| mark.key != key) {
                marks.push(Mark { key, below: total, open });
            }
            total += bytes;
            open = open + opened - bytes;
        }
        Ok(Marks { marks, total })
    }

    /// Returns the keys that cut the segments into ranges of about so many bytes.
    pub fn cuts(&self, bytes: u64) -> Vec<Vec<u8>> {
        let (most, least) = (bytes.saturating_add(bytes / 4), bytes - bytes / 4);
        let (mut cuts, mut base) = (Vec::new(), 0);
        while self.total - base > most {
            let from = self.marks.partition_point(|mark| mark.below < base + least.max(1));
            let to = self.marks.partition_point(|mark| mark.below <= base + most);
            let near = self.marks.get(from..to).unwrap_or_default();
            let best = near.iter().min_by_key(|mark| mark.open);
            let Some(mark) = best.or(self.marks.get(to)) else { break };
            cuts.push(mark.key.clone());
            base = mark.below;
        }
        cuts
    }

    /// Returns the keys below `end` that cut the segments into up to `parts` parts of about the same size.
    pub fn even(&self, parts: usize, end: Option<&[u8]>) -> Vec<Vec<u8>> {
        let marks = &self.marks
            [..self.marks.partition_point(|mark| end.is_none_or(|end| mark.key.as_slice() < end))];
        let total = self.marks.get(marks.len()).map_or(self.total, |mark| mark.below);
        let after = |part: u64| total * part / parts as u64;
        let at = |part| marks.iter().find(|mark| mark.below > 0 && mark.below >= after(part));
        let mut keys: Vec<Vec<u8>> =
            (1..parts as u64).filter_map(|part| Some(at(part)?.key.clone())).collect();
        keys.dedup();
        keys
    }
}
