//! The walk over the versions of one key, oldest first, through all layers.
//!
//! ```text
//!   history   [10 17 23][23 31 ...]     runs, oldest first: groups that begin with a whole value
//!   current   [44]                      only where no history tells of it already
//!   memtable  [46 52]
//! ```
//!
//! The work for a version is often a handful of instructions, and a value that is set again and
//! again leaves thousands of deltas of the same few bytes. So the walk takes such deltas together.
//! Their loop stands apart, and has nothing in it but the work for each.
//!
//! # Invariants
//! * Commits ascend over all layers. An [`Tag::Image`] is a change of its own only where the change that
//!   it stands for is not there any more.

use crate::group::{Entry, GroupRef, SameLengthDeltas, Tag};
use crate::store::{State, Store};
use crate::{Csn, Kind, StoreError, TableId, Version};
use crate::{filter, key};
use std::ops::ControlFlow;

impl Store {
    /// Calls `f` for each change of `key` with a commit in `from..=to`, oldest first, until it breaks. No
    /// lock is held meanwhile.
    ///
    /// Images that the store wrote beside deltas are not visited, with one exception: where retention has
    /// dropped the change itself, the oldest state kept stands for it, as a [`Kind::Put`]. Of a key without
    /// history only what has not been flushed and the newest image are there to visit.
    pub fn versions<F>(
        &self,
        table: TableId,
        key: &[u8],
        from: Csn,
        to: Csn,
        mut f: F,
    ) -> Result<(), StoreError>
    where
        F: FnMut(Version<'_>) -> ControlFlow<()>,
    {
        let full = key::full(table, key);
        let state = self.shared.state();
        let spans = state.erased.as_ref().map_or(&[][..], |erased| erased.of(&full));
        if spans.is_empty() {
            return walk(&state, &full, (from, to), f);
        }
        walk(&state, &full, (from, to), |version| {
            if spans.iter().any(|span| span.hides(version)) {
                return ControlFlow::Continue(());
            }
            f(version)
        })
    }
}

impl Store {
    /// The commit of the first change of `key` after `csn` and up to `to`: where the state at `csn` ended.
    /// `None` if it is still the newest at `to`. It costs a look-up, however many changes follow.
    pub fn successor(
        &self,
        table: TableId,
        key: &[u8],
        csn: Csn,
        to: Csn,
    ) -> Result<Option<Csn>, StoreError> {
        let mut found = None;
        self.versions(table, key, Csn(csn.0.saturating_add(1)), to, |version| {
            found = Some(version.csn);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }
}

/// Calls `f` for each change of a key that the layers hold, erased or not.
fn walk<F>(state: &State, full: &[u8], (from, to): (Csn, Csn), mut f: F) -> Result<(), StoreError>
where
    F: FnMut(Version<'_>) -> ControlFlow<()>,
{
    let (from, to) = (from.0, to.0);
    let mut last = u64::MAX;
    let mut visit = |group: GroupRef<'_>| {
        let mut entries = group.entries();
        while let Some(Entry { csn, tag, bytes }) = entries.next() {
            if csn > to {
                break;
            }
            let repeats = tag == Tag::Image && csn == last;
            last = csn;
            if csn < from || repeats {
                continue;
            }
            let kind = match tag {
                Tag::Delta => Kind::Delta,
                Tag::Put | Tag::Image => Kind::Put,
                Tag::Delete => Kind::Delete,
            };
            f(Version { csn: Csn(csn), kind, bytes })?;
            if let Some((same_length, after)) = entries.same_length(bytes.len(), to) {
                visit_same_length(same_length, &mut f)?;
                (entries, last) = (after, after.csn);
            }
        }
        ControlFlow::Continue(())
    };
    let hash = filter::hash(full);
    for run in &state.history {
        let apart = run.csns.0 > to || run.csns.1 < from;
        if !apart && run.groups(full, hash, from, to, &mut visit)?.is_break() {
            return Ok(());
        }
    }
    if let Some((block, place, found)) = state.find_current(full, hash)? {
        // A deletion is in history already: only whole values stand for a change here.
        let deleted = found.anchor.is_none_or(|anchor| anchor.tag == Tag::Delete);
        if !deleted && visit(block.group(&place)).is_break() {
            return Ok(());
        }
    }
    for mem in state.frozen.iter().map(|f| &f.mem).chain([&state.active]) {
        for late in mem.late() {
            if let Some((block, place, _)) = late.run.find(full, hash, u64::MAX)?
                && visit(block.group(&place)).is_break()
            {
                return Ok(());
            }
        }
        let Some(groups) = mem.read().get(full).map(|c| c.groups().to_vec()) else {
            continue;
        };
        for group in groups.iter().filter(|g| g.tail().csn >= from) {
            if visit(group.view()).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[inline(never)]
fn visit_same_length<F>(same_length: SameLengthDeltas<'_>, f: &mut F) -> ControlFlow<()>
where
    F: FnMut(Version<'_>) -> ControlFlow<()>,
{
    for (csn, bytes) in same_length {
        f(Version { csn: Csn(csn), kind: Kind::Delta, bytes })?;
    }
    ControlFlow::Continue(())
}
