//! Reading one key: the descent through the layers.
//!
//! ```text
//!                      at = 20            at = now
//!   memtable  +44 +52    later: below       decides (with the base below)
//!   late run             later: below       decides
//!   current   31         later: below       the base
//!   history   10 +17     decides            not asked
//! ```
//!
//! # Invariants
//! * Only the newest current entry of a key counts: an older run's entry says nothing of any commit.
//! * History is read only if the commit is below the checkpoint.
//! * A state whose newest change is erased was never there: an erasure ends at a change that needs
//!   nothing below it.

use crate::block::{Block, GroupSpan};
use crate::block_scan::BlockScan;
use crate::bulk::Staged;
use crate::filter;
use crate::group::Found;
use crate::key;
use crate::scan::{Keys, Scan};
use crate::store::{Shared, State, Store};
use crate::versioned::{Gather, Step, Versioned};
use crate::{Csn, StoreError, Table, TableId};
use std::ops::Bound;
use std::sync::Arc;

/// An entry of a current run.
pub(crate) type Located = (Arc<Block>, GroupSpan, Found);

impl State {
    /// The newest current entry of a key.
    #[inline]
    pub fn find_current(&self, full: &[u8], hash: u64) -> Result<Option<Located>, StoreError> {
        for run in self.images() {
            if let Some(located) = run.find(full, hash, u64::MAX)? {
                return Ok(Some(located));
            }
        }
        Ok(None)
    }

    /// The newest history entry of a key at or below `at`.
    #[inline]
    pub fn find_history(
        &self,
        full: &[u8],
        hash: u64,
        at: u64,
    ) -> Result<Option<Located>, StoreError> {
        for run in self.history.iter().rev().filter(|run| run.csns.0 <= at) {
            if let Some(located) = run.find(full, hash, at)? {
                return Ok(Some(located));
            }
        }
        Ok(None)
    }
}

impl Shared {
    /// The state of a key at `at`.
    #[inline]
    pub fn read_in(
        &self,
        state: &State,
        full: &[u8],
        at: Csn,
    ) -> Result<Option<Versioned>, StoreError> {
        let found = self.descend(state, full, at)?;
        Ok(found.filter(|found| !state.erases(full, found.csn().0)))
    }

    #[inline]
    fn descend(
        &self,
        state: &State,
        full: &[u8],
        at: Csn,
    ) -> Result<Option<Versioned>, StoreError> {
        let mut gather = Gather::default();
        for mem in state.memtables().filter(|mem| !mem.is_empty()) {
            if let Some(chain) = mem.read().get(full) {
                match chain.find(at.0) {
                    None => gather.newer = true,
                    Some((group, found)) => {
                        if let Step::Known(known) = gather.group(group, found) {
                            return end(full, gather, known);
                        }
                    }
                }
            }
            for late in mem.late().iter().rev() {
                match late.run.find(full, filter::hash(full), u64::MAX)? {
                    None => {}
                    Some((.., found)) if found.csn > at.0 => gather.newer = true,
                    Some((block, place, found)) => {
                        if let Step::Known(known) = gather.block(&block, &place, found) {
                            return end(full, gather, known);
                        }
                    }
                }
            }
        }
        let hash = filter::hash(full);
        if at.0 < state.current_from {
            gather.newer = true;
        } else if let Some((block, place, found)) = state.find_current(full, hash)? {
            if found.csn > at.0 {
                gather.newer = true;
            } else if let Step::Known(known) = gather.block(&block, &place, found) {
                return end(full, gather, known);
            }
        }
        self.read_past(state, full, hash, at, gather)
    }

    /// The last steps of the descent, where neither memory nor a current entry decides.
    fn read_past(
        &self,
        state: &State,
        full: &[u8],
        hash: u64,
        at: Csn,
        mut gather: Gather,
    ) -> Result<Option<Versioned>, StoreError> {
        if at < state.checkpoint.csn && !gather.has_parts() {
            let (table, _) = key::split(full);
            let horizon = state.horizon(table);
            if at < horizon && !self.forgets(full, &gather) {
                return Err(StoreError::Forgotten { table, at, horizon });
            }
            if let Some((block, place, found)) = state.find_history(full, hash, at.0)?
                && let Step::Known(known) = gather.block(&block, &place, found)
            {
                return end(full, gather, known);
            }
        }
        if self.forgets(full, &gather) {
            return self.read_in(state, full, Csn::MAX);
        }
        end(full, gather, None)
    }

    /// The commit of the newest change of a key, erased or not.
    pub fn latest_in(&self, state: &State, full: &[u8]) -> Result<Option<Csn>, StoreError> {
        for mem in state.memtables() {
            if let Some((_, tail)) = mem.read().get(full).and_then(|c| c.tail()) {
                return Ok(Some(Csn(tail.csn)));
            }
            for late in mem.late().iter().rev() {
                if let Some((.., found)) = late.run.find(full, filter::hash(full), u64::MAX)? {
                    return Ok(Some(Csn(found.csn)));
                }
            }
        }
        let hash = filter::hash(full);
        let found = match state.find_current(full, hash)? {
            None => state.find_history(full, hash, u64::MAX)?,
            found => found,
        };
        Ok(found.map(|(_, _, found)| Csn(found.csn)))
    }

    /// True if the key has a newer entry and keeps no history: the newest stands for all.
    pub fn forgets(&self, full: &[u8], gather: &Gather) -> bool {
        let (table, key) = key::split(full);
        gather.newer && !gather.has_parts() && !(self.resolve)(table).keeps_history(key)
    }
}

/// Ends a descent: deltas must have found their base.
#[inline]
pub(crate) fn end(
    full: &[u8],
    gather: Gather,
    known: Option<Versioned>,
) -> Result<Option<Versioned>, StoreError> {
    match gather.dangling() {
        Some(csn) => Err(StoreError::NoBase { table: key::split(full).0, csn }),
        None => Ok(known),
    }
}

impl Store {
    /// The state of `key` at `at`, unmerged; `None` if it was absent or deleted.
    #[inline]
    pub fn read(
        &self,
        table: TableId,
        key: &[u8],
        at: Csn,
    ) -> Result<Option<Versioned>, StoreError> {
        let state = self.shared.state();
        self.shared.read_in(&state, &key::full(table, key), at)
    }

    /// Appends the merged value at `at` to `out` and returns the commit of its newest change.
    pub fn get(
        &self,
        table: TableId,
        key: &[u8],
        at: Csn,
        out: &mut Vec<u8>,
    ) -> Result<Option<Csn>, StoreError> {
        let Some(found) = self.read(table, key, at)? else { return Ok(None) };
        let csn = found.csn();
        if found.is_image() {
            out.extend_from_slice(found.base());
        } else {
            found
                .image_into(&*self.table(table), key, out)
                .map_err(|source| StoreError::Merge { table, csn, source })?;
        }
        Ok(Some(csn))
    }

    /// The commit of the newest change of any kind, published or not; `None` if the key never was, or
    /// retention has dropped its deletion.
    pub fn latest(&self, table: TableId, key: &[u8]) -> Result<Option<Csn>, StoreError> {
        self.shared.latest_in(&self.shared.state(), &key::full(table, key))
    }

    /// The live keys of a range at `at`, in order, or in reverse.
    pub fn scan(
        &self,
        table: TableId,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        at: Csn,
        reverse: bool,
    ) -> Scan {
        self.scan_over(table, lower, upper, at, reverse, &[])
    }

    /// As [`Store::scan`], with the keys of loads that are not part of a commit yet, newest first, which hide
    /// what the store has of these keys.
    pub fn scan_over(
        &self,
        table: TableId,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        at: Csn,
        reverse: bool,
        staged: &[Staged],
    ) -> Scan {
        let range = key::range(table, lower, upper);
        Scan::new(self.shared.clone(), table, range, at, reverse, staged)
    }

    /// Returns how many bytes of files a table takes, its past included: the bytes of the blocks
    /// that begin with a key of it.
    ///
    /// # Errors
    /// Fails if an index cannot be read.
    pub fn table_bytes(&self, table: TableId) -> Result<u64, StoreError> {
        let state = self.shared.state();
        let (first, after) = (key::full(table, &[]), key::after(table));
        let mut bytes = 0;
        for segment in state.segments() {
            let meta = &segment.meta;
            if meta.last_key.as_slice() < &first[..] || meta.first.0 >= after {
                continue;
            }
            bytes += segment.table_bytes(table)?;
        }
        Ok(bytes)
    }

    /// The live keys of a range at `at` in no order, with blocks of columns, but for those in `without`, which ascend.
    /// `None` if only [`Store::scan`] knows what is seen: something of the table is erased, or forgotten at `at`.
    pub fn block_scan(
        &self,
        table: TableId,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        at: Csn,
        without: &[Vec<u8>],
    ) -> Option<BlockScan> {
        BlockScan::new(self.shared.clone(), table, key::range(table, lower, upper), at, without)
    }

    /// The keys of a range that ever had a version of which anything is kept, in order, or in reverse.
    pub fn keys(
        &self,
        table: TableId,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        reverse: bool,
    ) -> Keys {
        Keys::new(self.shared.clone(), table, key::range(table, lower, upper), reverse)
    }

    /// The keys of a table that may have had more than one version, deletions included, in order: all that
    /// have, and some that have not. Costs what was changed, not what there is.
    pub fn changed_keys(&self, table: TableId) -> Keys {
        let range = key::range(table, Bound::Unbounded, Bound::Unbounded);
        Keys::changed(self.shared.clone(), table, range)
    }

    /// About `count` keys of a table, evenly among those that files have: for a sample. They are keys that
    /// blocks begin with, so there are fewer where there are fewer blocks, and none if all is in memory.
    pub fn spread(&self, table: TableId, count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let state = self.shared.state();
        let (from, to) = (table.0.to_be_bytes(), key::after(table));
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for segment in state.images().chain(state.late()).flat_map(|run| &run.segments) {
            let meta = &segment.meta;
            if meta.last_key.as_slice() < &from[..] || meta.first.0 >= to {
                continue;
            }
            let guide = segment.guide()?;
            let first = guide.before(&from, 0);
            let blocks = guide.blocks()[first..].iter().map(|info| guide.key(info));
            keys.extend(
                blocks.take_while(|key| *key < &to[..]).map(|key| key::split(key).1.to_vec()),
            );
        }
        keys.sort_unstable();
        let step = keys.len().div_ceil(count.max(1)).max(1);
        Ok(keys.into_iter().step_by(step).collect())
    }

    /// The table of a number, as the caller's `resolve` tells.
    pub fn table(&self, table: TableId) -> Arc<dyn Table> {
        (self.shared.resolve)(table)
    }
}
