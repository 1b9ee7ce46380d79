//! Bulk loads: a commit with very many keys writes them straight to segment files, which the
//! caller's commit record names.
//!
//! ```text
//!   store.bulk() ─put─put─put─> finish() ──Loaded──> the caller's commit record ──log──> ingest(csn, &loaded)
//!                               files durable         a few bytes, whatever was loaded     visible from csn on
//! ```
//!
//! Nothing large passes through the log. The commit number is not known while the files are written, so
//! entries stand at commit 0 in the file, and the manifest adds the commit (`shift`) to them. Once it is
//! committed, the load lies among the memtables ([`crate::memtable::LateRun`]); the flush of the memtable upon
//! it makes it a current run, and moves to history what it has superseded.
//!
//! # Crash points
//! * Before the commit record is durable: no manifest names the files; [`Store::recovered`] removes them.
//! * After it: the replay meets the record and calls [`Store::ingest`] again with the same files, until a
//!   checkpoint covers the commit and the manifest names them.
//!
//! # Invariants
//! * The caller keeps others from writing these keys until it has committed.
//! * Each key is put or deleted, once.

use crate::block::Block;
use crate::cache::{Cache, Cached, PartKey};
use crate::columns::{ColumnEncoder, STRIPE_BYTES_MAX, STRIPE_ROWS_MAX, StripeRow, StripeRows};
use crate::error::StoreError;
use crate::filter;
use crate::group::{Group, Tag};
use crate::key::{self, KEY_MAX, TABLE_LEN};
use crate::manifest::{get_metas, put_metas};
use crate::memtable::LateRun;
use crate::run::{Run, RunCursor};
use crate::segment::{Half, Meta, Segment};
use crate::segment_store::SUFFIX;
use crate::store::{Shared, Store, VALUE_MAX, open_run};
use crate::versioned::{Gather, Step, Versioned};
use crate::writer::{RawBlocks, RunWriter};
use crate::{Csn, TableId};
use parking_lot::Mutex;
use std::sync::Arc;

const LEVEL: i32 = 3;
/// The compression level of files that are read once and removed.
const SCRATCH_LEVEL: i32 = 1;
/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;
/// The cache for blocks of staged loads holds up to so many bytes, for all loads together.
pub(crate) const STAGED_CACHE_BYTES: usize = 16 << 20;
/// The blocks of a load go to the cache with its commit, unless they take more than this part of it.
const WARM_SHARE: usize = 16;

/// A running bulk load. If it is dropped unfinished, it leaves no files.
pub struct Bulk {
    shared: Arc<Shared>,
    run: RunWriter,
    group: Group,
    last: Vec<u8>,
    is_fresh: bool,
}

/// A finished bulk load, which the commit record must carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    metas: Vec<Meta>,
    /// True if no key is known to have had a version before.
    is_fresh: bool,
    warm: Warm,
}

/// The blocks of a small load, for the cache: a reader will likely ask for what has just been written. All copies of the
/// load have the same ones, and the first that is committed takes them. They do not count where loads are compared.
#[derive(Clone, Default)]
struct Warm(Arc<Mutex<Vec<(PartKey, Block)>>>);

impl Warm {
    fn of(raw: RawBlocks) -> Warm {
        let decoded = raw
            .blocks
            .into_iter()
            .filter_map(|(file, block, raw)| Some(((file, block), Block::decode(raw, 0)?)));
        Warm(Arc::new(Mutex::new(decoded.collect())))
    }

    fn take(&self) -> Vec<(PartKey, Block)> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl std::fmt::Debug for Warm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} blocks", self.0.lock().len())
    }
}

impl PartialEq for Warm {
    fn eq(&self, _: &Warm) -> bool {
        true
    }
}

impl Eq for Warm {}

impl Loaded {
    /// As bytes, for the commit record.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_metas(&mut out, &self.metas);
        out
    }

    /// From the bytes of a commit record; `None` if they are anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Loaded> {
        get_metas(bytes).map(|metas| Loaded { metas, is_fresh: false, warm: Warm::default() })
    }

    /// Keys loaded.
    pub fn keys(&self) -> u64 {
        self.metas.iter().map(|m| m.keys).sum()
    }

    /// Several loads as one. Between the first and the last key of a file of one of them there are no keys
    /// of the others: they are of different tables, for example.
    pub fn join(loads: impl IntoIterator<Item = Loaded>) -> Loaded {
        let (mut metas, mut is_fresh, mut warm) = (Vec::new(), true, Vec::new());
        for loaded in loads {
            is_fresh &= loaded.is_fresh;
            warm.append(&mut loaded.warm.take());
            metas.extend(loaded.metas);
        }
        metas.sort_unstable_by(|a: &Meta, b: &Meta| a.first.cmp(&b.first));
        Loaded { metas, is_fresh, warm: Warm(Arc::new(Mutex::new(warm))) }
    }

    /// The ranges of keys that the files span, first and last key, in order.
    pub fn spans(&self) -> impl Iterator<Item = Span<'_>> {
        self.metas.iter().flat_map(|meta| {
            let ((first_table, first), (last_table, last)) =
                (key::split(&meta.first.0), key::split(&meta.last_key));
            // A file that holds several tables spans all of each but the first and the last.
            (first_table.0..=last_table.0).map(move |table| Span {
                table: TableId(table),
                first: if table == first_table.0 { first } else { &[] },
                last: (table == last_table.0).then_some(last),
            })
        })
    }

    /// The files, each with its length in bytes.
    pub fn files(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.metas.iter().map(|meta| (meta.name(), meta.bytes))
    }

    pub(crate) fn metas(&self) -> &[Meta] {
        &self.metas
    }

    /// The first and the last full key.
    pub(crate) fn ends(&self) -> Option<(&[u8], &[u8])> {
        Some((&self.metas.first()?.first.0, &self.metas.last()?.last_key))
    }
}

/// A range of the keys of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// The table.
    pub table: TableId,
    /// The first key.
    pub first: &'a [u8],
    /// The last key; none if the range has no end.
    pub last: Option<&'a [u8]>,
}

/// A finished load that its maker can read before it is part of a commit. Its entries are of commit
/// 0.
#[derive(Clone)]
pub struct Staged {
    run: Arc<Run>,
}

impl Staged {
    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// Returns what the load does to a key: none if it writes nothing, else its value, or none
    /// where it deletes the key.
    pub fn read(
        &self,
        table: TableId,
        key: &[u8],
    ) -> Result<Option<Option<Versioned>>, StoreError> {
        let full = key::full(table, key);
        let found = self.run.find(&full, filter::hash(&full), u64::MAX)?;
        let Some((block, place, found)) = found else { return Ok(None) };
        match Gather::default().block(&block, &place, found) {
            Step::Known(known) => Ok(Some(known)),
            Step::Below => Ok(None),
        }
    }

    /// A walk over all keys, in order.
    pub fn cursor(&self) -> Result<StagedCursor, StoreError> {
        let mut cursor = RunCursor::new(self.run.clone(), false);
        cursor.seek(None, false)?;
        Ok(StagedCursor(cursor))
    }

    /// Calls `f` with each key and value, in order, until it fails.
    pub fn for_each<E: From<StoreError>>(
        &self,
        mut f: impl FnMut(TableId, &[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = self.run.start()?;
        let mut full = Vec::new();
        while let Some(position) = next {
            let place = position.place();
            position.block.key_into(position.group, &mut full);
            let (table, key) = key::split(&full);
            if let Some((_, value)) = position.block.group(&place).image(u64::MAX) {
                f(table, key, value)?;
            }
            next = position.next(&self.run)?;
        }
        Ok(())
    }
}

/// A walk over the keys of a finished load, in order; it stands on the first.
pub struct StagedCursor(RunCursor);

impl StagedCursor {
    /// The key that it stands on; none at the end.
    pub fn key(&self) -> Option<(TableId, &[u8])> {
        self.0.key().map(key::split)
    }

    /// Calls `f` with the value of the key, or none if the load deletes it.
    pub fn value<R>(&self, f: impl FnOnce(Option<&[u8]>) -> R) -> R {
        match self.0.entry() {
            Some((block, place)) => f(block.group(&place).image(u64::MAX).map(|(_, value)| value)),
            None => f(None),
        }
    }

    /// Goes to the next key.
    pub fn advance(&mut self) -> Result<(), StoreError> {
        self.0.advance()
    }
}

impl Bulk {
    /// Adds a key, above the one before in the order of (table, key), that never had a version.
    pub fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if self.shared.latest_in(&self.shared.state(), &key::full(table, key))?.is_some() {
            return Err(StoreError::Bulk { table, what: "the key has a version already" });
        }
        self.put_new(table, key, value)
    }

    /// The table keeps its newest values in columns by this encoder, whatever the store knows of it.
    pub(crate) fn encode_by(&mut self, table: TableId, encoder: Arc<dyn ColumnEncoder>) {
        self.run.encode_by(table, encoder);
    }

    /// True if a key was added.
    pub(crate) fn has_any(&self) -> bool {
        !self.last.is_empty()
    }

    /// Writes a key that may have had versions, above the one before in the order of (table, key): the
    /// value, or none for a deletion.
    pub fn write(
        &mut self,
        table: TableId,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        self.is_fresh = false;
        match value {
            Some(value) => self.push(table, key, Tag::Put, value),
            None => self.push(table, key, Tag::Delete, &[]),
        }
    }

    /// As [`Bulk::put`], of a key that is known never to have had a version.
    pub(crate) fn put_new(
        &mut self,
        table: TableId,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), StoreError> {
        self.push(table, key, Tag::Put, value)
    }

    /// True if entries of the table go to stripes of columns.
    pub(crate) fn takes_columns(&mut self, table: TableId) -> bool {
        self.run.encoder_of(table).is_some()
    }

    /// As [`Bulk::put_new`], of many keys and values in order. The values of a stripe of columns are read where
    /// they lie.
    pub(crate) fn put_all<'e>(
        &mut self,
        table: TableId,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])>,
    ) -> Result<(), StoreError> {
        let Some(encoder) = self.run.encoder_of(table) else {
            for (key, value) in entries {
                self.put_new(table, key, value)?;
            }
            return Ok(());
        };
        let rows_max = encoder.stripe_rows().min(STRIPE_ROWS_MAX);
        let (mut stripe, mut bytes) = (StripeRows { table, rows: Vec::new() }, 0);
        for (key, value) in entries {
            let more = TABLE_LEN + key.len() + value.len();
            if stripe.rows.len() >= rows_max || bytes + more > STRIPE_BYTES_MAX {
                self.push_stripe(&stripe, &*encoder)?;
                stripe.rows.clear();
                bytes = 0;
            }
            stripe.rows.push(StripeRow { key, value, csn: 0, tag: Tag::Put });
            bytes += more;
        }
        self.push_stripe(&stripe, &*encoder)
    }

    fn push_stripe(
        &mut self,
        stripe: &StripeRows<'_>,
        encoder: &dyn ColumnEncoder,
    ) -> Result<(), StoreError> {
        let (Some(first), Some(last)) = (stripe.rows.first(), stripe.rows.last()) else {
            return Ok(());
        };
        let table = stripe.table;
        if self.has_any() && (table, first.key) <= key::split(&self.last) {
            return Err(StoreError::Bulk { table, what: "keys must ascend" });
        }
        key::write(table, last.key, &mut self.last);
        self.run.push_stripe(stripe, encoder)
    }

    fn push(
        &mut self,
        table: TableId,
        key: &[u8],
        tag: Tag,
        value: &[u8],
    ) -> Result<(), StoreError> {
        if key.len() > KEY_MAX || value.len() > VALUE_MAX {
            return Err(StoreError::TooLarge { key: key.len(), value: value.len() });
        }
        if self.has_any() && (table, key) <= key::split(&self.last) {
            return Err(StoreError::Bulk { table, what: "keys must ascend" });
        }
        key::write(table, key, &mut self.last);
        self.group.clear();
        self.group.push(0, tag, value);
        self.run.push(&self.last, &self.group)
    }

    /// Ends the load: its files are durable unless they are scratch, and invisible until [`Store::ingest`].
    pub fn finish(self) -> Result<Loaded, StoreError> {
        let is_scratch = self.run.is_scratch();
        let (metas, raw) = self.run.finish_with_blocks()?;
        let home = &self.shared.writer_context.home;
        let loaded = Loaded { metas, is_fresh: self.is_fresh, warm: Warm::of(raw) };
        if is_scratch {
            return Ok(loaded);
        }
        if let Err(e) = home.sync_names() {
            self.shared.discard(&loaded.metas);
            return Err(StoreError::io("cannot sync", home.describe(""))(e));
        }
        Ok(loaded)
    }
}

impl Shared {
    /// As [`Store::bulk`].
    pub(crate) fn bulk(self: &Arc<Self>) -> Bulk {
        let run = RunWriter::new(&self.writer_context, Half::Current, LEVEL).for_bulk();
        self.begin(run.keeping(self.cache.bytes_max() / WARM_SHARE))
    }

    /// As [`Store::scratch`].
    pub(crate) fn scratch(self: &Arc<Self>) -> Bulk {
        self.begin(RunWriter::new(&self.writer_context, Half::Current, SCRATCH_LEVEL).for_scratch())
    }

    fn begin(self: &Arc<Self>, run: RunWriter) -> Bulk {
        let (group, last) = (Group::default(), Vec::new());
        Bulk { shared: Arc::clone(self), run, group, last, is_fresh: true }
    }

    /// As [`Store::stage`].
    pub(crate) fn stage(&self, loaded: &Loaded) -> Result<Staged, StoreError> {
        let reader = self.reader.through(&self.staged_cache);
        let run = open_run(&reader, Half::Current, loaded.metas.clone())?;
        Ok(Staged { run })
    }

    fn open_loaded(&self, csn: Csn, loaded: &Loaded) -> Result<Arc<Run>, StoreError> {
        let shifted = loaded.metas.iter().cloned().map(|mut meta| {
            meta.shift = csn.0;
            meta.csns = (meta.csns.0.wrapping_add(csn.0), meta.csns.1.wrapping_add(csn.0));
            meta.first.1 = meta.first.1.wrapping_add(csn.0);
            meta
        });
        self.open_run(Half::Current, shifted.collect())
    }
}

/// Files that stay as long as this lives, whatever they are merged into meanwhile.
pub struct KeptFiles {
    segments: Vec<Arc<Segment>>,
}

impl KeptFiles {
    /// Returns true if a file of that name is one of these.
    pub fn has(&self, name: &str) -> bool {
        self.segments.iter().any(|segment| segment.meta.name() == name)
    }
}

impl std::fmt::Debug for KeptFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.segments.iter().map(|segment| segment.meta.number)).finish()
    }
}

impl Store {
    /// Begins a bulk load of new keys.
    pub fn bulk(&self) -> Bulk {
        self.shared.bulk()
    }

    /// Begins files in the form of a load that only this process reads ([`Store::stage`]) until it discards
    /// them: nothing of them is synced, and no commit may name them.
    pub fn scratch(&self) -> Bulk {
        self.shared.scratch()
    }

    /// Makes a bulk load commit `csn`, which is above every commit before, or a part of it: the other
    /// writes of the commit, of other keys, follow with [`Store::apply`]. Done again when the log is
    /// replayed.
    pub fn ingest(&self, csn: Csn, loaded: &Loaded) -> Result<(), StoreError> {
        let run = self.shared.open_loaded(csn, loaded)?;
        for (place, block) in loaded.warm.take() {
            self.shared.cache.insert(place, Cached::Block(Arc::new(block.shifted(csn.0))));
        }
        self.shared.ingest(csn, LateRun { run, is_fresh: loaded.is_fresh })
    }

    /// Opens a finished load to be read before its commit. Those of all transactions have a cache of their own:
    /// what the store's cache knows of the files has the number of the commit.
    pub fn stage(&self, loaded: &Loaded) -> Result<Staged, StoreError> {
        self.shared.stage(loaded)
    }

    /// Reads bytes of a file of a load ([`Loaded::files`]), for a follower. Fails if a merge has removed
    /// the file.
    pub fn read_file(&self, name: &str, offset: u64, bytes: &mut [u8]) -> Result<(), StoreError> {
        let home = &self.shared.writer_context.home;
        // Names come from clients: nothing but a segment is read.
        let is_plain =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
        if !is_plain || !name.ends_with(SUFFIX) || Meta::number_of(name).is_none() {
            return Err(StoreError::Missing { file: name.to_owned() });
        }
        let read = home.open(name).and_then(|file| file.read_exact_at(bytes, offset));
        read.map_err(StoreError::io("cannot read", home.describe(name)))
    }

    /// Takes over the files of a load of another store, as far as they are not there: `read` fills a
    /// buffer from an offset of a file. They are durable when this returns; like those of a load of this
    /// store they go at the next opening unless a commit names them.
    pub fn adopt<E: From<StoreError>>(
        &self,
        loaded: &Loaded,
        mut read: impl FnMut(&str, u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let home = &self.shared.writer_context.home;
        for meta in &loaded.metas {
            let name = meta.name();
            let io = |what| StoreError::io(what, home.describe(&name));
            if self.has(meta) {
                continue;
            }
            // A copy that is there and not whole was interrupted.
            let _ = home.delete(&name);
            let mut file = home.create(&name).map_err(io("cannot create"))?;
            let mut buffer = vec![0; COPY_BYTES.min(meta.bytes as usize)];
            let mut at = 0;
            while at < meta.bytes {
                let part = (meta.bytes - at).min(buffer.len() as u64) as usize;
                read(&name, at, &mut buffer[..part])?;
                file.append(&buffer[..part]).map_err(io("cannot write"))?;
                at += part as u64;
            }
            file.finish().map_err(io("cannot sync"))?;
        }
        Ok(home.sync_names().map_err(StoreError::io("cannot sync", home.describe("")))?)
    }

    /// Keeps the files of a load of this store, which a commit names, as they are; `None` if some have been
    /// merged into others.
    pub fn keep(&self, loaded: &Loaded) -> Option<KeptFiles> {
        let state = self.shared.state();
        // The files of a commit that has just been made are among the late ones.
        let find = |meta: &Meta| {
            let mut segments = state.late().chain(state.images()).flat_map(|run| &run.segments);
            segments.find(|segment| segment.meta.number == meta.number).cloned()
        };
        let kept: Option<Vec<_>> = loaded.metas.iter().map(find).collect();
        kept.map(|segments| KeptFiles { segments })
    }

    /// True if all files of a load are there and whole.
    pub fn holds(&self, loaded: &Loaded) -> bool {
        loaded.metas.iter().all(|meta| self.has(meta))
    }

    fn has(&self, meta: &Meta) -> bool {
        let reader = self.shared.reader.through(&Arc::new(Cache::new(0)));
        Segment::open(&reader, Half::Current, meta.clone()).is_ok()
    }

    /// Removes the files of a bulk load that will not be committed.
    pub fn discard(&self, loaded: &Loaded) {
        self.shared.discard(&loaded.metas);
    }
}
