//! [`Snapshot`]: the whole database as it was at one commit, for as long as it is held.
//!
//! ```text
//!   key \ csn   41    42    43    44
//!   a           put         +
//!   b                 put         del
//!               a snapshot at 43 sees  a = put + , b = put ; 44 is not there for it, ever
//! ```
//!
//! A snapshot of now joins the readers of the newest visible commit (a counter). A snapshot of the
//! past takes a hold of its own in the store. Either keeps compaction from dropping what it reads. Threads can
//! share a snapshot.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use store::{Csn, Hold, Scan, Staged, StoreError, TableId, Version, Versioned};

use crate::cursor::KeyRange;
use crate::engine::Engine;
use crate::error::TxnError;
use crate::view::View;

/// The database at one commit.
pub struct Snapshot {
    engine: Arc<Engine>,
    csn: Csn,
    pin: Pin,
}

enum Pin {
    /// Counted among the readers of the present.
    Present { serializable: bool },
    /// Kept for its drop.
    Past { _hold: Hold },
    /// Nothing is read through it any more.
    Released,
}

impl Snapshot {
    pub(crate) fn now(engine: Arc<Engine>, serializable: bool) -> Snapshot {
        let csn = engine.tracker.join(serializable, |csn| engine.store.hold(Csn(csn)));
        Snapshot { engine, csn: Csn(csn), pin: Pin::Present { serializable } }
    }

    pub(crate) fn past(engine: Arc<Engine>, csn: Csn) -> Result<Snapshot, TxnError> {
        let newest = engine.visible();
        if csn > newest {
            return Err(TxnError::NoSuchCommit { csn, newest });
        }
        let pin = Pin::Past { _hold: engine.store.hold(csn) };
        Ok(Snapshot { engine, csn, pin })
    }

    /// The newest commit that this snapshot sees.
    pub fn csn(&self) -> Csn {
        self.csn
    }

    /// The engine it is a snapshot of.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The whole database at this snapshot, without anybody's own writes.
    pub fn view(&self) -> View<'_> {
        View::past(self)
    }

    /// The state of `key`, unmerged; `None` if it was absent or deleted.
    pub fn read(&self, table: TableId, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        self.engine.store.read(table, key, self.csn)
    }

    /// Appends the merged value of `key` to `out` and returns the commit of its newest change.
    pub fn get(
        &self,
        table: TableId,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Csn>, StoreError> {
        self.engine.store.get(table, key, self.csn, out)
    }

    /// The live keys of a range with their states, in order, or in reverse.
    pub fn scan(
        &self,
        table: TableId,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        reverse: bool,
    ) -> Scan {
        self.engine.store.scan(table, lower, upper, self.csn, reverse)
    }

    /// As [`Snapshot::scan`], with the keys of loads that are not committed.
    pub(crate) fn scan_over(
        &self,
        table: TableId,
        range: KeyRange,
        reverse: bool,
        loads: &[Staged],
    ) -> Scan {
        let KeyRange { lower, upper } = range;
        self.engine.store.scan_over(table, lower, upper, self.csn, reverse, loads)
    }

    /// Calls `f` for each change of `key` from commit `from` up to this snapshot, oldest first, until
    /// it breaks.
    pub fn versions<F>(&self, table: TableId, key: &[u8], from: Csn, f: F) -> Result<(), StoreError>
    where
        F: FnMut(Version<'_>) -> ControlFlow<()>,
    {
        self.engine.store.versions(table, key, from, self.csn, f)
    }

    /// The commit of the first change of `key` after `csn`, up to this snapshot: where the state at `csn`
    /// ended. `None` if it is still the newest.
    pub fn successor(
        &self,
        table: TableId,
        key: &[u8],
        csn: Csn,
    ) -> Result<Option<Csn>, StoreError> {
        self.engine.store.successor(table, key, csn, self.csn)
    }
}

impl Clone for Snapshot {
    /// The same commit, held a second time.
    fn clone(&self) -> Snapshot {
        let pin = match self.pin {
            Pin::Present { .. } => {
                self.engine.tracker.rejoin(self.csn.0);
                Pin::Present { serializable: false }
            }
            Pin::Past { .. } | Pin::Released => {
                Pin::Past { _hold: self.engine.store.hold(self.csn) }
            }
        };
        Snapshot { engine: Arc::clone(&self.engine), csn: self.csn, pin }
    }
}

impl Snapshot {
    /// Keeps nothing from being dropped any more; nothing is read after that.
    pub(crate) fn release(&mut self) {
        if let Pin::Present { serializable } = std::mem::replace(&mut self.pin, Pin::Released) {
            self.engine.tracker.leave(self.csn.0, serializable);
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.release();
    }
}

/// Threads share a snapshot and read parts of it side by side.
const _: fn() = || {
    fn is_shared<T: Send + Sync + Clone>() {}
    is_shared::<Snapshot>();
};
