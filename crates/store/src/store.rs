//! The store itself: layers of versions, and the calls that read and write them.

use crate::group::{Entry, Tag};
use crate::key::{self, KEY_MAX};
use crate::memtable::{Chain, ENTRY_BYTES, Memtable};
use crate::scan::Scan;
use crate::versioned::{Gather, Step, Versioned};
use crate::{Checkpoint, Csn, Kind, Op, StoreError, StoreOptions, Table, TableId, Version, Write};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use vfs::Env;

/// Finds the table of a number.
pub type Resolve = Arc<dyn Fn(TableId) -> Arc<dyn Table> + Send + Sync>;

/// The longest value, in bytes.
const VALUE_MAX: usize = 1 << 30;

/// The layers a reader sees, newest first: replaced as a whole.
pub(crate) struct State {
    active: Arc<Memtable>,
    /// Oldest first.
    frozen: Vec<Arc<Memtable>>,
}

impl State {
    /// Newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.frozen.iter().rev())
    }
}

/// What readers, the writer and the background threads share.
pub(crate) struct Shared {
    state: RwLock<Arc<State>>,
    resolve: Resolve,
    writer: Mutex<u64>,
    durable: Mutex<(Csn, Vec<u8>)>,
    holds: Mutex<BTreeMap<Csn, usize>>,
}

/// The versioned key-value store.
pub struct Store {
    shared: Arc<Shared>,
}

/// Keeps the versions readable at a commit from being dropped while it lives.
pub struct Hold {
    shared: Arc<Shared>,
    csn: Csn,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut holds = self.shared.holds.lock();
        if let Some(count) = holds.get_mut(&self.csn) {
            *count -= 1;
            if *count == 0 {
                holds.remove(&self.csn);
            }
        }
    }
}

impl Shared {
    pub(crate) fn state(&self) -> Arc<State> {
        self.state.read().clone()
    }

    /// Ends a descent: what the layers below and the rules for keys without history say.
    pub(crate) fn settle(
        &self,
        full: &[u8],
        at: Csn,
        gather: Gather,
        known: Option<Option<Versioned>>,
    ) -> Result<Option<Option<Versioned>>, StoreError> {
        let (table, key) = key::split(full);
        if let Some(csn) = gather.dangling() {
            return Err(StoreError::NoBase { table, csn });
        }
        if known.is_none() && gather.newer && !(self.resolve)(table).keeps_history(key) {
            return self.read(full, Csn::MAX).map(Some);
        }
        Ok(known)
    }

    fn read(&self, full: &[u8], at: Csn) -> Result<Option<Versioned>, StoreError> {
        let state = self.state();
        let mut gather = Gather::default();
        let mut known = None;
        for mem in state.memtables() {
            let map = mem.read();
            let Some(chain) = map.get(full) else { continue };
            match chain.find(at.0) {
                None => gather.newer = true,
                Some((group, found)) => {
                    if let Step::Known(state) = gather.group(group, found) {
                        known = Some(state);
                        break;
                    }
                }
            }
        }
        Ok(self.settle(full, at, gather, known)?.flatten())
    }
}

impl Store {
    /// Opens the store in `dir`, making it where there is none. `resolve` finds a table by its number.
    pub fn open(_env: &Env, _dir: &Path, _options: StoreOptions, resolve: Resolve) -> Result<Store, StoreError> {
        let state = State { active: Arc::default(), frozen: Vec::new() };
        Ok(Store {
            shared: Arc::new(Shared {
                state: RwLock::new(Arc::new(state)),
                resolve,
                writer: Mutex::new(0),
                durable: Mutex::default(),
                holds: Mutex::default(),
            }),
        })
    }

    /// What segment files cover: the caller replays its log above it.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint::default()
    }

    /// Adds the writes of commit `csn`, which is above every commit before. One caller at a time.
    pub fn apply(&self, csn: Csn, writes: &[Write]) -> Result<(), StoreError> {
        let mut last = self.shared.writer.lock();
        if csn.0 <= *last {
            return Err(StoreError::Order { csn, last: Csn(*last) });
        }
        let state = self.shared.state();
        let mut map = state.active.write();
        let mut bytes = 0;
        for write in writes {
            let (tag, value) = match &write.op {
                Op::Put(value) => (Tag::Put, value.as_slice()),
                Op::Delta(value) => (Tag::Delta, value.as_slice()),
                Op::Delete => (Tag::Delete, [].as_slice()),
            };
            if write.key.len() > KEY_MAX || value.len() > VALUE_MAX {
                return Err(StoreError::TooLarge { key: write.key.len(), value: value.len() });
            }
            let full = key::full(write.table, &write.key);
            let chain = match map.get_mut(full.as_slice()) {
                Some(chain) => chain,
                None => {
                    bytes += full.len() + ENTRY_BYTES;
                    map.entry(full.as_slice().into()).or_insert_with(Chain::default)
                }
            };
            bytes += chain.push(csn.0, tag, value);
        }
        drop(map);
        state.active.added(csn.0, bytes);
        *last = csn.0;
        Ok(())
    }

    /// Everything up to `csn` is durable in the log, and may be flushed. `note` belongs to it.
    pub fn set_durable(&self, csn: Csn, note: impl FnOnce() -> Vec<u8>) {
        let mut durable = self.shared.durable.lock();
        if csn > durable.0 {
            *durable = (csn, note());
        }
    }

    /// The state of `key` at `at`, unmerged; `None` where it was absent or deleted.
    pub fn read(&self, table: TableId, key: &[u8], at: Csn) -> Result<Option<Versioned>, StoreError> {
        self.shared.read(&key::full(table, key), at)
    }

    /// Appends the merged value at `at` to `out` and returns the commit of its newest change.
    pub fn get(&self, table: TableId, key: &[u8], at: Csn, out: &mut Vec<u8>) -> Result<Option<Csn>, StoreError> {
        let Some(found) = self.read(table, key, at)? else { return Ok(None) };
        let csn = found.csn();
        if found.is_image() {
            out.extend_from_slice(found.base());
        } else {
            found
                .image_into(&*(self.shared.resolve)(table), key, out)
                .map_err(|source| StoreError::Merge { table, csn, source })?;
        }
        Ok(Some(csn))
    }

    /// The commit of the newest change of any kind, published or not.
    pub fn latest(&self, table: TableId, key: &[u8]) -> Result<Option<Csn>, StoreError> {
        let full = key::full(table, key);
        let state = self.shared.state();
        for mem in state.memtables() {
            if let Some((_, tail)) = mem.read().get(full.as_slice()).and_then(Chain::tail) {
                return Ok(Some(Csn(tail.csn)));
            }
        }
        Ok(None)
    }

    /// The live keys of a range at `at`, in order, or in reverse.
    pub fn scan(&self, table: TableId, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>, at: Csn, reverse: bool) -> Scan {
        Scan::new(self.shared.clone(), table, key::range(table, lower, upper), at, reverse)
    }

    /// Calls `f` for each change of `key` with a commit in `from..=to`, oldest first, until it breaks.
    pub fn versions<F>(&self, table: TableId, key: &[u8], from: Csn, to: Csn, mut f: F) -> Result<(), StoreError>
    where
        F: FnMut(Version<'_>) -> ControlFlow<()>,
    {
        let full = key::full(table, key);
        let state = self.shared.state();
        let mut visit = |e: Entry<'_>| {
            let kind = match e.tag {
                Tag::Put => Kind::Put,
                Tag::Delta => Kind::Delta,
                Tag::Delete => Kind::Delete,
                Tag::Image => return ControlFlow::Continue(()),
            };
            f(Version { csn: Csn(e.csn), kind, bytes: e.bytes })
        };
        for mem in state.frozen.iter().chain([&state.active]) {
            let Some(groups) = mem.read().get(full.as_slice()).map(|c| c.groups().to_vec()) else { continue };
            for group in groups {
                if group.view().visit(from.0, to.0, &mut visit).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Writes everything durable to segment files and waits until it is there.
    pub fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Flushes, and merges all runs into one current and one history run.
    pub fn compact(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Keeps the versions readable at `csn` while the returned guard lives.
    pub fn hold(&self, csn: Csn) -> Hold {
        *self.shared.holds.lock().entry(csn).or_default() += 1;
        Hold { shared: self.shared.clone(), csn }
    }
}
