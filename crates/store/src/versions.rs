//! The walk over the versions of one key, oldest first, through all layers.
//!
//! ```text
//!   history   [10 17 23][23 31 ...]     runs, oldest first: groups that begin with a whole value
//!   current   [44]                      only where no history tells of it already
//!   memtable  [46 52]
//! ```
//!
//! Versions that are alike are handed out together ([`Series`]): a counter that is set again and again
//! leaves thousands of deltas of the same few bytes, and what is done for one of them is often a handful
//! of instructions. So the loop over these is the caller's, and what they share is looked at once.
//!
//! # Invariants
//! * Commits ascend over all series. An [`Tag::Image`] is a change of its own only where the change
//!   that it stands for is not there any more.

use crate::group::{Alike, GroupRef, Tag};
use crate::store::Store;
use crate::{Csn, Kind, StoreError, TableId, Version};
use crate::{filter, key};
use std::ops::ControlFlow;

/// Versions of one key in a row that are alike, of one kind and of as many bytes each; oldest first.
pub struct Series<'a> {
    kind: Kind,
    csn: u64,
    steps: &'a [[u8; 2]],
    len: usize,
    body: &'a [u8],
}

impl<'a> Iterator for Series<'a> {
    type Item = Version<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let ([step, _], steps) = self.steps.split_first()?;
        let (bytes, body) = self.body.split_at(self.len);
        (self.steps, self.body) = (steps, body);
        self.csn += u64::from(*step);
        Some(Version { csn: Csn(self.csn), kind: self.kind, bytes })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.steps.len(), Some(self.steps.len()))
    }
}

impl ExactSizeIterator for Series<'_> {}

impl<'a> Series<'a> {
    /// What of `alike` is from commit `from` on.
    #[inline]
    fn new(alike: Alike<'a>, from: u64) -> Series<'a> {
        let Alike { tag, len, before: csn, steps, body } = alike;
        let kind = match tag {
            Tag::Delta => Kind::Delta,
            Tag::Put | Tag::Image => Kind::Put,
            Tag::Delete => Kind::Delete,
        };
        let mut series = Series { kind, csn, steps, len, body };
        while series.steps.first().is_some_and(|[step, _]| series.csn + u64::from(*step) < from) {
            series.next();
        }
        series
    }
}

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
        self.series(table, key, from, to, |mut series| series.try_for_each(&mut f))
    }

    /// As [`versions`](Store::versions), but hands out together the changes that are alike, for loops in
    /// which looking at each would be most of the work.
    pub fn series<F>(
        &self,
        table: TableId,
        key: &[u8],
        from: Csn,
        to: Csn,
        mut f: F,
    ) -> Result<(), StoreError>
    where
        F: FnMut(Series<'_>) -> ControlFlow<()>,
    {
        let full = key::full(table, key);
        let state = self.shared.state();
        let (from, to) = (from.0, to.0);
        let mut last = u64::MAX;
        let mut visit = |group: GroupRef<'_>| {
            let mut entries = group.entries();
            while let Some(alike) = entries.alike(to) {
                let repeats = alike.tag == Tag::Image && entries.csn() == last;
                last = entries.csn();
                if last >= from && !repeats {
                    f(Series::new(alike, from))?;
                }
            }
            ControlFlow::Continue(())
        };
        let hash = filter::hash(&full);
        for run in &state.history {
            let apart = run.csns.0 > to || run.csns.1 < from;
            if !apart && run.groups(&full, hash, from, to, &mut visit)?.is_break() {
                return Ok(());
            }
        }
        if let Some((block, place, found)) = state.find_current(&full, hash)? {
            // A deletion is in history already: only whole values stand for a change here.
            let deleted = found.anchor.is_none_or(|anchor| anchor.tag == Tag::Delete);
            if !deleted && visit(block.group(&place)).is_break() {
                return Ok(());
            }
        }
        for mem in state.frozen.iter().map(|f| &f.mem).chain([&state.active]) {
            let Some(groups) = mem.read().get(full.as_slice()).map(|c| c.groups().to_vec()) else {
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
}
