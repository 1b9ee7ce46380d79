//! [`Loads`]: the files that a transaction has written and not committed: bulk loads, and pieces of
//! its writes.
//!
//! ```text
//!   operations   0 .. 4 │        5 .. 9 │ 10 .. 1010
//!                       load A          the transaction updates a key that A holds: all of A is
//!                                       written out as puts, and A counts no more
//!                  savepoint 5 ─────────┘ rolled back to: A counts again
//! ```
//!
//! A load is as visible to its transaction as what it writes. One commit cannot both load a key and write
//! it, so before the first write to such a key the load becomes writes.
//!
//! A *piece* is a part of the transaction's own writes that memory had no room for
//! ([`crate::large`]). Newer pieces hide older ones, and what is in memory hides them all. The commit merges
//! the pieces with what is in memory.
//!
//! # Invariants
//! * No two bulk loads hold the same key, and none a key that has a version.
//! * All loads that count are joined into one load of the commit; the files of all others are
//!   removed.

use std::sync::Arc;

use store::{Loaded, Staged, TableId, Versioned};

use crate::engine::Engine;
use crate::error::TxnError;
use crate::writeset::Moment;

struct Load {
    loaded: Loaded,
    staged: Staged,
    /// When it was made.
    made: Moment,
    /// The position and the moment from which on writes stand for it.
    written: Option<(usize, Moment)>,
    /// A part of the transaction's own writes.
    is_piece: bool,
}

impl Load {
    fn is_visible(&self, at: Moment) -> bool {
        self.made < at && self.written.is_none_or(|(_, written)| written >= at)
    }
}

/// The loads of a transaction, in the order in which they were made.
pub(crate) struct Loads {
    engine: Arc<Engine>,
    list: Vec<Load>,
}

impl Loads {
    pub fn new(engine: Arc<Engine>) -> Loads {
        Loads { engine, list: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if the commit has nothing to load.
    pub fn is_empty(&self) -> bool {
        self.list.iter().all(|load| load.written.is_some())
    }

    /// True if there are pieces of the transaction's writes.
    pub fn has_pieces(&self) -> bool {
        self.list.iter().any(|load| load.is_piece)
    }

    /// True if there are bulk loads.
    pub fn has_loads(&self) -> bool {
        self.list.iter().any(|load| !load.is_piece)
    }

    /// Where there are pieces: all that counts, newest first.
    pub fn to_merge(&self) -> Vec<&Staged> {
        if !self.has_pieces() {
            return Vec::new();
        }
        let all = self.list.iter().rev().filter(|load| load.written.is_none());
        all.map(|load| &load.staged).collect()
    }

    /// Adds a load, or a piece of the transaction's writes.
    pub fn push(&mut self, loaded: Loaded, made: Moment, is_piece: bool) -> Result<(), TxnError> {
        match self.engine.store().stage(&loaded) {
            Ok(staged) => {
                self.list.push(Load { loaded, staged, made, written: None, is_piece });
            }
            Err(error) => {
                self.engine.store().discard(&loaded);
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn visible(&self, at: Moment) -> impl Iterator<Item = &Load> {
        self.list.iter().filter(move |load| load.is_visible(at))
    }

    /// True if keys of a table were loaded.
    pub fn touches(&self, table: TableId) -> bool {
        self.list.iter().any(|load| load.loaded.spans().any(|span| span.table == table))
    }

    /// True if writes to a table went to a piece.
    pub fn has_piece_of(&self, table: TableId) -> bool {
        let mut pieces = self.list.iter().filter(|load| load.is_piece);
        pieces.any(|load| load.loaded.spans().any(|span| span.table == table))
    }

    /// Returns the loads that a scan at a moment has to look through too, newest first.
    pub fn staged(&self, at: Moment) -> Vec<Staged> {
        let mut staged: Vec<Staged> = self.visible(at).map(|load| load.staged.clone()).collect();
        staged.reverse();
        staged
    }

    /// Returns what the loads do to a key at a moment: none if they write nothing, else its
    /// value, or none if it is deleted.
    #[inline]
    pub fn read(
        &self,
        table: TableId,
        key: &[u8],
        at: Moment,
    ) -> Result<Option<Option<Versioned>>, TxnError> {
        for load in self.list.iter().rev().filter(|load| load.is_visible(at)) {
            if let Some(found) = load.staged.read(table, key)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The bulk load that counts and holds a key.
    pub fn holder(&self, table: TableId, key: &[u8]) -> Result<Option<usize>, TxnError> {
        for (at, load) in self.list.iter().enumerate().filter(|(_, load)| !load.is_piece) {
            if load.written.is_none() && load.staged.read(table, key)?.is_some() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Returns the entries of a load.
    pub fn of(&self, at: usize) -> Staged {
        self.list[at].staged.clone()
    }

    /// From an operation and a moment on, writes stand for a load.
    pub fn set_written(&mut self, at: usize, position: usize, moment: Moment) {
        self.list[at].written = Some((position, moment));
    }

    /// Goes back to so many loads, and so many operations.
    pub fn truncate(&mut self, len: usize, operations: usize) {
        for load in self.list.drain(len.min(self.list.len())..) {
            self.engine.store().discard(&load.loaded);
        }
        for load in &mut self.list {
            load.written.take_if(|(position, _)| *position >= operations);
        }
    }

    /// Takes the loads of the commit, joined into one.
    pub fn take(&mut self) -> Option<Loaded> {
        let (count, written): (Vec<Load>, _) =
            self.list.drain(..).partition(|load| load.written.is_none());
        written.iter().for_each(|load: &Load| self.engine.store().discard(&load.loaded));
        (!count.is_empty()).then(|| Loaded::join(count.into_iter().map(|load| load.loaded)))
    }
}

impl Drop for Loads {
    fn drop(&mut self) {
        self.truncate(0, 0);
    }
}
