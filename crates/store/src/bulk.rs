//! Bulk loads: many new keys straight into segment files, named by the caller's commit record.
//!
//! ```text
//!   store.bulk() ─put─put─put─> finish() ──Loaded──> the caller's commit record ──log──> ingest(csn, &loaded)
//!                               files durable         a few bytes, whatever was loaded     visible from csn on
//! ```
//!
//! Nothing large passes through the log. The commit number is not known while the files are written, so
//! entries stand at commit 0 in the file, and the manifest adds the commit (`shift`) to them.
//!
//! # Crash points
//! * Before the commit record is durable: no manifest names the files; [`Store::recovered`] removes them.
//! * After it: the replay meets the record and calls [`Store::ingest`] again with the same files, until a
//!   checkpoint covers the commit and the manifest names them.
//!
//! # Invariants
//! * A bulk load has only keys that never had a version, so its place among memtables and runs does not
//!   matter. The caller keeps others from writing these keys until it has committed.

use crate::error::StoreError;
use crate::group::{Group, Tag};
use crate::key::{self, KEY_MAX};
use crate::manifest::{get_metas, put_metas};
use crate::segment::{Half, Meta};
use crate::store::{Shared, Store};
use crate::writer::RunWriter;
use crate::{Csn, TableId};
use std::sync::Arc;

const LEVEL: i32 = 3;

/// A bulk load under way. Dropped unfinished, it leaves nothing.
pub struct Bulk<'s> {
    store: &'s Store,
    run: RunWriter,
    group: Group,
    last: Vec<u8>,
}

/// A finished bulk load: what the commit record must carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    metas: Vec<Meta>,
}

impl Loaded {
    /// As bytes, for the commit record.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_metas(&mut out, &self.metas);
        out
    }

    /// From the bytes of a commit record; `None` where they are anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Loaded> {
        get_metas(bytes).map(|metas| Loaded { metas })
    }

    /// Keys loaded.
    pub fn keys(&self) -> u64 {
        self.metas.iter().map(|m| m.keys).sum()
    }
}

impl Bulk<'_> {
    /// Adds a key, above the one before in the order of (table, key), that never had a version.
    pub fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if key.len() > KEY_MAX || value.len() > 1 << 30 {
            return Err(StoreError::TooLarge { key: key.len(), value: value.len() });
        }
        let full = key::full(table, key);
        if full.as_slice() <= self.last.as_slice() {
            return Err(StoreError::Bulk { table, what: "keys must ascend" });
        }
        if self.store.latest(table, key)?.is_some() {
            return Err(StoreError::Bulk { table, what: "the key has a version already" });
        }
        self.last.clear();
        self.last.extend_from_slice(&full);
        self.group.clear();
        self.group.push(0, Tag::Put, value);
        self.run.push(&full, &self.group)
    }

    /// Ends the load: its files are durable, and invisible until [`Store::ingest`].
    pub fn finish(self) -> Result<Loaded, StoreError> {
        let metas = self.run.finish()?;
        let home = &self.store.shared.shop.home;
        let loaded = Loaded { metas };
        if let Err(e) = home.sync_names() {
            self.store.discard(&loaded);
            return Err(StoreError::io("cannot sync", home.describe(""))(e));
        }
        Ok(loaded)
    }
}

impl Shared {
    fn open_loaded(&self, csn: Csn, loaded: &Loaded) -> Result<Arc<crate::run::Run>, StoreError> {
        let shifted = loaded.metas.iter().cloned().map(|mut meta| {
            meta.shift = csn.0;
            meta.csns = (meta.csns.0.wrapping_add(csn.0), meta.csns.1.wrapping_add(csn.0));
            meta.first.1 = meta.first.1.wrapping_add(csn.0);
            meta
        });
        self.open_run(Half::Current, shifted.collect())
    }
}

impl Store {
    /// Begins a bulk load of new keys.
    pub fn bulk(&self) -> Bulk<'_> {
        let run = RunWriter::new(&self.shared.shop, Half::Current, LEVEL).for_bulk();
        Bulk { store: self, run, group: Group::default(), last: Vec::new() }
    }

    /// Makes a bulk load commit `csn`, which is above every commit before: in place of
    /// [`Store::apply`], or after it where the commit has other writes too (of other keys), and before
    /// [`Store::set_durable`]. Done again when the log is replayed.
    pub fn ingest(&self, csn: Csn, loaded: &Loaded) -> Result<(), StoreError> {
        let run = self.shared.open_loaded(csn, loaded)?;
        self.shared.ingest(csn, run)
    }

    /// Removes the files of a bulk load that will not be committed.
    pub fn discard(&self, loaded: &Loaded) {
        self.shared.discard(&loaded.metas);
    }
}
