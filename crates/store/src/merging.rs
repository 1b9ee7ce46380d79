//! Runs of one table whose keys overlap, merged in order: whole by one thread, or in parts by several.
//!
//! ```text
//!   run 1   a c f │ k m        first keys of all blocks, sorted:  a b│g k
//!   run 2   b d   │ g h                                              └ the middle parts the keys
//!           thread 1  thread 2
//! ```
//!
//! # Invariants
//! * Each run has a key once. Parts have no key in common: equal keys of two runs come to the same thread.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::error::StoreError;
use crate::key;
use crate::run::{Run, RunCursor};

/// A part of all keys: from the first key on, and below the other; whole where there is none.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part<'k> {
    pub from: Option<&'k [u8]>,
    pub below: Option<&'k [u8]>,
}

impl<'k> Part<'k> {
    /// The parts below a key, or of all keys, between these keys, which ascend.
    pub fn below_and_between(below: Option<&'k [u8]>, keys: &'k [Vec<u8>]) -> Vec<Part<'k>> {
        let mut parts = Part::between(keys);
        parts.iter_mut().rev().take(1).for_each(|last| last.below = below);
        parts
    }

    /// The parts between these keys, which ascend.
    pub fn between(keys: &[Vec<u8>]) -> Vec<Part<'_>> {
        let ends = keys.iter().map(|key| Some(key.as_slice()));
        let from = std::iter::once(None).chain(ends.clone());
        let below = ends.chain(std::iter::once(None));
        from.zip(below).map(|(from, below)| Part { from, below }).collect()
    }
}

/// Returns full keys that part the runs into `parts` of about as many blocks each; fewer where there are few blocks.
pub(crate) fn part_keys(runs: &[Arc<Run>], parts: usize) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut first = Vec::new();
    for segment in runs.iter().flat_map(|run| &run.segments) {
        let guide = segment.guide()?;
        first.extend(guide.blocks().iter().map(|block| guide.key(block).to_vec()));
    }
    first.sort_unstable();
    let mut keys: Vec<Vec<u8>> =
        (1..parts).filter_map(|part| first.get(first.len() * part / parts).cloned()).collect();
    keys.dedup();
    Ok(keys)
}

/// Calls `each` with the keys, without the table's number, and the values of all runs in a part, in order, until it
/// breaks. Of equal keys that of the earlier run comes first.
pub(crate) fn each_of_runs<E: From<StoreError>>(
    runs: &[Arc<Run>],
    part: Part<'_>,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let mut cursors = Vec::with_capacity(runs.len());
    for run in runs {
        let mut cursor = RunCursor::new(run.clone(), false);
        cursor.seek(part.from, false)?;
        cursors.push(cursor);
    }
    let has_more = |cursor: &RunCursor| {
        cursor.key().is_some_and(|key| part.below.is_none_or(|below| key < below))
    };
    // Of the runs that have more to give, the one with the smallest key is the last; of equal keys
    // that of the earlier run.
    let below = |cursors: &[RunCursor], one: usize, other: usize| {
        (cursors[one].key(), one) < (cursors[other].key(), other)
    };
    let mut order: Vec<usize> = (0..cursors.len()).collect();
    order.retain(|at| has_more(&cursors[*at]));
    order.sort_unstable_by(|a, b| cursors[*b].key().cmp(&cursors[*a].key()).then(b.cmp(a)));
    while let Some(at) = order.pop() {
        let cursor = &mut cursors[at];
        let Some((block, place)) = cursor.entry() else { continue };
        let Some((_, value)) = block.group(&place).image(u64::MAX) else { continue };
        let (_, key) = key::split(cursor.key().unwrap_or_default());
        if each(key, value)?.is_break() {
            return Ok(());
        }
        cursor.advance()?;
        if has_more(&cursors[at]) {
            let place = order.partition_point(|other| below(&cursors, at, *other));
            order.insert(place, at);
        }
    }
    Ok(())
}
