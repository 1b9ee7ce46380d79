//! The store itself: its layers, opening, applying commits, and the installation of new runs.
//!
//! ```text
//!   State (replaced as a whole, read by cloning one Arc)
//!     active memtable        <- apply
//!     frozen memtables       <- freeze, when the active one is full or a flush is asked for
//!     current runs           <- install, after the manifest that names them is durable
//!     history runs
//! ```
//!
//! # Locks, in the order they are taken
//! `flushing` or `compacting` (one of each at a time) > `installing` (one manifest at a time) > `writer`
//! (apply and freeze) > `state`. Readers take `state` for the time of one clone.
//!
//! # Invariants
//! * Runs, checkpoint and horizons change only under `installing`, and only after the manifest with
//!   the change is durable.
//! * Memtables change only under `writer`.

use crate::background::Background;
use crate::bulk::STAGED_CACHE_BYTES;
use crate::cache::Cache;
use crate::erase::{Erasures, Span};
use crate::group::Tag;
use crate::key::{self, KEY_MAX};
use crate::manifest::Manifest;
use crate::memtable::{Chain, ENTRY_BYTES, LateRun, Memtable};
use crate::part::corrupt;
use crate::run::Run;
use crate::segment::{Half, Meta, Reader, Segment, given_number};
use crate::segment_store::{BULK_SUFFIX, DirectoryStore, Epoch, MANIFEST, SegmentStore, SwapError};
use crate::stats::Counters;
use crate::writer::WriterContext;
use crate::{Checkpoint, Csn, Op, StoreError, StoreOptions, Table, TableId, Write};
use parking_lot::{Mutex, RwLock};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use vfs::{Clock, Env};

/// Finds the table of a number.
pub type Resolve = Arc<dyn Fn(TableId) -> Arc<dyn Table> + Send + Sync>;
/// Finds the newest commit at or before a time in microseconds since 1970.
pub type TimeFloor = Arc<dyn Fn(u64) -> Csn + Send + Sync>;

/// The longest value, in bytes.
pub(crate) const VALUE_MAX: usize = 1 << 30;
/// Deltas whose base is below the memtable are compared with its size only from so many bytes on.
const WEIGH_FROM: usize = 256;

/// A memtable that no longer changes, with the caller's last note before it was frozen.
pub(crate) struct Frozen {
    pub mem: Arc<Memtable>,
    pub note: Vec<u8>,
}

/// The layers a reader sees: replaced as a whole.
#[derive(Clone)]
pub(crate) struct State {
    pub active: Arc<Memtable>,
    /// Oldest first, as all lists of layers.
    pub frozen: Vec<Arc<Frozen>>,
    pub current: Vec<Arc<Run>>,
    pub history: Vec<Arc<Run>>,
    pub checkpoint: Checkpoint,
    /// Ascending by table.
    pub horizons: Vec<(TableId, Csn)>,
    /// The erasures whose bytes may still be in memtables and runs.
    pub erased: Option<Arc<Erasures>>,
    /// No current run holds a commit below this one.
    pub current_from: u64,
}

impl State {
    /// Newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.frozen.iter().rev().map(|f| &f.mem))
    }

    /// The first commit as of which `table` can still be read.
    pub fn horizon(&self, table: TableId) -> Csn {
        let at = self.horizons.binary_search_by_key(&table, |known| known.0);
        at.map_or(Csn::ZERO, |at| self.horizons[at].1)
    }

    /// Raises the horizons of some tables, and removes those of the `unread` tables, which are ascending.
    pub fn raise_horizons(&mut self, raised: &[(TableId, Csn)], unread: &[TableId]) {
        for (table, csn) in raised {
            match self.horizons.binary_search_by_key(table, |known| known.0) {
                Ok(at) => self.horizons[at].1 = self.horizons[at].1.max(*csn),
                Err(at) => self.horizons.insert(at, (*table, *csn)),
            }
        }
        self.horizons.retain(|(table, _)| unread.binary_search(table).is_err());
    }

    /// The runs that hold current images, newest first.
    pub fn images(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.current.iter().rev()
    }

    /// The runs that lie among the memtables.
    pub fn late(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.memtables().flat_map(|mem| mem.late()).map(|late| &late.run)
    }

    /// The runs of a half, oldest first.
    pub fn half(&self, half: Half) -> &[Arc<Run>] {
        match half {
            Half::Current => &self.current,
            Half::History => &self.history,
        }
    }

    /// Computes the fields that reads rely on, after runs have changed.
    pub fn settle(&mut self) {
        self.current_from = self.images().map(|r| r.csns.0).min().unwrap_or(u64::MAX);
    }

    /// All segments.
    pub fn segments(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.images().chain(&self.history).chain(self.late()).flat_map(|run| &run.segments)
    }

    /// The manifest of an epoch with these runs; `next` is the next number of a file.
    pub fn manifest(&self, epoch: Epoch, next: u64) -> Manifest {
        let metas =
            |runs: &[Arc<Run>]| runs.iter().map(|run| run.metas().cloned().collect()).collect();
        Manifest {
            epoch,
            checkpoint: self.checkpoint.clone(),
            next,
            horizons: self.horizons.clone(),
            erased: self.erasures(),
            current: metas(&self.current),
            history: metas(&self.history),
        }
    }
}

/// The state that readers, the writer and the background threads share.
pub(crate) struct Shared {
    pub options: StoreOptions,
    pub resolve: Resolve,
    pub clock: Arc<dyn Clock>,
    pub writer_context: WriterContext,
    pub cache: Arc<Cache>,
    pub reader: Reader,
    state: RwLock<Arc<State>>,
    /// The last commit applied.
    writer: Mutex<u64>,
    pub durable: Mutex<(Csn, Vec<u8>)>,
    pub holds: Mutex<BTreeMap<Csn, usize>>,
    pub flushing: Mutex<()>,
    pub compacting: Mutex<()>,
    /// The epoch of the manifest that is in force.
    pub installing: Mutex<Epoch>,
    poison: OnceLock<Arc<StoreError>>,
    pub time_floor: RwLock<Option<TimeFloor>>,
    pub background: Background,
    pub counters: Counters,
    /// The cache for blocks of loads that are not committed.
    pub staged_cache: Arc<Cache>,
}

/// The versioned key-value store.
pub struct Store {
    pub(crate) shared: Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// While it lives, the versions that are readable at a commit are not dropped.
pub struct Hold {
    shared: Arc<Shared>,
    csn: Csn,
}

impl Hold {
    /// The commit held.
    pub fn csn(&self) -> Csn {
        self.csn
    }
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
    /// True if a scan of a range of a run would fill the whole cache. Such a scan bypasses the cache, so that the blocks
    /// that other readers use stay there.
    pub fn passes_cache(&self, run: &Run, range: &key::Range) -> bool {
        run.has_more_within(range, self.cache.bytes_max() as u64)
    }

    #[inline]
    pub fn state(&self) -> Arc<State> {
        self.state.read().clone()
    }

    /// The current runs, without memtables. A long walk over files may hold them, because they do not keep
    /// a memtable in memory that waits for its flush.
    pub fn runs(&self) -> State {
        State { active: Arc::default(), frozen: Vec::new(), ..(*self.state()).clone() }
    }

    /// Opens the segments of a run.
    pub fn open_run(&self, half: Half, metas: Vec<Meta>) -> Result<Arc<Run>, StoreError> {
        open_run(&self.reader, half, metas)
    }

    /// Fails if an earlier failure poisoned the store.
    pub fn check_poison(&self) -> Result<(), StoreError> {
        match self.poison.get() {
            Some(cause) => Err(StoreError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    pub fn poison(&self, cause: StoreError) -> StoreError {
        let cause = self.poison.get_or_init(|| Arc::new(cause)).clone();
        self.background.wake();
        StoreError::Poisoned { cause }
    }

    /// Changes runs, checkpoint or horizons: first in a durable manifest, then for readers. `edit` changes
    /// a copy of the state. Files that the new state does not name are removed once their last reader is done.
    pub fn install(&self, edit: impl Fn(&mut State)) -> Result<(), StoreError> {
        let mut epoch = self.installing.lock();
        self.check_poison()?;
        let before = self.state();
        let mut after = (*before).clone();
        edit(&mut after);
        assert!(after.checkpoint.csn >= before.checkpoint.csn, "a checkpoint never goes back");
        let manifest =
            after.manifest(epoch.next(), self.writer_context.next.load(Ordering::Relaxed)).encode();
        if let Err(e) = self.writer_context.home.swap_manifest(*epoch, &manifest) {
            let is_unchanged = matches!(e, SwapError::Unchanged(_));
            let e = StoreError::swap(e, self.writer_context.home.describe(MANIFEST), *epoch);
            // Otherwise either manifest may be the one on disk, so the files of both must stay, or another
            // opener writes.
            return Err(if is_unchanged { e } else { self.poison(e) });
        }
        *epoch = epoch.next();
        {
            // Memtables may have been frozen meanwhile: `edit` is applied again, to the present state.
            let mut state = self.state.write();
            let mut now = (**state).clone();
            edit(&mut now);
            now.settle();
            *state = Arc::new(now);
        }
        let after = self.state();
        let kept: HashSet<u64> = after.segments().map(|s| s.meta.number).collect();
        before.segments().filter(|s| !kept.contains(&s.meta.number)).for_each(|s| s.doom());
        Ok(())
    }

    /// Adds a run of commit `csn` as the newest layer, below a new memtable.
    pub fn ingest(&self, csn: Csn, late: LateRun) -> Result<(), StoreError> {
        self.check_poison()?;
        let last = self.writer.lock();
        let active = Arc::clone(&self.state().active);
        if csn.0 <= *last || csn.0 < active.last() || csn == Csn::MAX {
            return Err(StoreError::Order { csn, last: Csn(*last) });
        }
        if late.run.segments.is_empty() {
            return Ok(());
        }
        let mut all = vec![late];
        if active.first() == csn.0 {
            // Another run of the same commit.
            all.splice(..0, active.late().iter().cloned());
        } else {
            self.freeze_locked();
        }
        let mut state = self.state.write();
        let mut next = (**state).clone();
        next.active = Arc::new(Memtable::over(csn.0, all));
        *state = Arc::new(next);
        Ok(())
    }

    /// Freezes the active memtable, where it holds anything.
    pub fn freeze(&self) {
        let _writer = self.writer.lock();
        self.freeze_locked();
    }

    fn freeze_locked(&self) {
        let note = self.durable.lock().1.clone();
        let mut state = self.state.write();
        if state.active.is_empty() {
            return;
        }
        let mut next = (**state).clone();
        next.frozen.push(Arc::new(Frozen { mem: std::mem::take(&mut next.active), note }));
        *state = Arc::new(next);
        drop(state);
        self.background.memtables_changed(self, false);
    }

    fn apply(&self, csn: Csn, writes: &[Write]) -> Result<(), StoreError> {
        self.check_poison()?;
        let mut last = self.writer.lock();
        if csn.0 <= *last || csn == Csn::MAX {
            return Err(StoreError::Order { csn, last: Csn(*last) });
        }
        for write in writes {
            let value = match &write.op {
                Op::Put(value) | Op::Delta(value) => value.len(),
                Op::Delete | Op::Erase { .. } => 0,
            };
            if write.key.len() > KEY_MAX || value > VALUE_MAX {
                return Err(StoreError::TooLarge { key: write.key.len(), value });
            }
        }
        let state = self.state();
        let mut map = state.active.write();
        let mut bytes = 0;
        let mut table: Option<(TableId, Arc<dyn Table>)> = None;
        let mut weigh = Vec::new();
        let is_erasure = |write: &&Write| matches!(write.op, Op::Erase { .. });
        for write in writes.iter().filter(|write| !is_erasure(write)) {
            let full = key::full(write.table, &write.key);
            let chain = match map.entry(full) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    bytes += new.key().len() + ENTRY_BYTES;
                    new.insert(Chain::default())
                }
            };
            let delta = match &write.op {
                Op::Put(value) => {
                    bytes += chain.push(csn.0, Tag::Put, value);
                    continue;
                }
                Op::Delete => {
                    bytes += chain.push(csn.0, Tag::Delete, &[]);
                    continue;
                }
                Op::Delta(delta) => delta,
                Op::Erase { .. } => continue,
            };
            if chain.is_deleted() {
                return Err(self.poison(StoreError::NoBase { table: write.table, csn }));
            }
            bytes += chain.push(csn.0, Tag::Delta, delta);
            if table.as_ref().is_none_or(|t| t.0 != write.table) {
                table = Some((write.table, (self.resolve)(write.table)));
            }
            let (image, deltas) = chain.weight();
            match (image, &table) {
                (Some(image), Some((_, table))) if table.rebase(image, deltas) => weigh.push(write),
                (None, _) if deltas > WEIGH_FROM => weigh.push(write),
                _ => {}
            }
        }
        drop(map);
        state.active.added(csn.0, writes.len(), bytes);
        *last = csn.0;
        if writes.iter().any(|write| is_erasure(&write)) {
            self.erase(csn, writes);
        }
        weigh.iter().for_each(|w| self.rebase(&state, &key::full(w.table, &w.key)));
        if self.options.background && state.active.fill(&self.options) >= 1.0 {
            self.freeze_locked();
        }
        Ok(())
    }

    /// Shows readers what a commit has erased.
    fn erase(&self, csn: Csn, writes: &[Write]) {
        let spans: Vec<(key::FullKey, Span)> = writes
            .iter()
            .filter_map(|write| match write.op {
                Op::Erase { from, to } => {
                    let span = Span { from: from.0, to: to.unwrap_or(csn).0, by: csn.0 };
                    Some((key::full(write.table, &write.key), span))
                }
                _ => None,
            })
            .collect();
        let mut state = self.state.write();
        let mut next = (**state).clone();
        next.erase(spans.iter().map(|(full, span)| (full.as_slice(), *span)));
        *state = Arc::new(next);
    }

    /// Puts a fresh image beside the deltas of a key, if its table still wants one. The image only makes later
    /// reads faster: if it cannot be made, nothing is lost, and those reads report the error.
    fn rebase(&self, state: &State, full: &[u8]) {
        let (id, key) = key::split(full);
        let table = (self.resolve)(id);
        let Ok(Some(now)) = self.read_in(state, full, Csn::MAX) else { return };
        let (csn, base_len) = (now.csn().0, now.base().len());
        let mut image = Vec::new();
        let wanted = now.delta_count() > 0 && table.rebase(base_len, now.delta_bytes());
        let made = wanted && now.image_into(&*table, key, &mut image).is_ok();
        // A pinned group would have to be copied before it can grow.
        drop(now);
        let mut map = state.active.write();
        let Some(chain) = map.get_mut(full) else { return };
        chain.below_len = Some(base_len as u32);
        if made {
            let bytes = chain.push(csn, Tag::Image, &image);
            state.active.added(csn, 0, bytes);
        }
    }
}

/// Opens the segments of a run, and checks their footers.
pub(crate) fn open_run(
    reader: &Reader,
    half: Half,
    metas: Vec<Meta>,
) -> Result<Arc<Run>, StoreError> {
    let open = |meta| Segment::open(reader, half, meta).map(Arc::new);
    join_run(half, metas.into_iter().map(open).collect::<Result<Vec<_>, _>>()?)
}

/// Makes a run of segments in the order of their keys.
fn join_run(half: Half, segments: Vec<Arc<Segment>>) -> Result<Arc<Run>, StoreError> {
    let ordered = segments.windows(2).all(|w| w[0].meta.last_key <= w[1].meta.first.0);
    if let (false, Some(first)) = (ordered, segments.first()) {
        return Err(StoreError::Corrupt {
            file: first.describe(),
            offset: 0,
            what: "segments of a run overlap",
        });
    }
    Ok(Arc::new(Run::new(half, segments)))
}

/// Reads the manifest, or makes the first one.
fn load_manifest(home: &Arc<dyn SegmentStore>) -> Result<Manifest, StoreError> {
    let name = home.describe(MANIFEST);
    if let Some((epoch, bytes)) =
        home.load_manifest().map_err(StoreError::io("cannot read", name.as_str()))?
    {
        let manifest = Manifest::decode(&bytes, &name)?;
        if manifest.epoch != epoch {
            return Err(corrupt(&name, 12)(
                "the epoch in the manifest is not the epoch that it is stored under",
            ));
        }
        return Ok(manifest);
    }
    // The first manifest is durable before the first segment is made: segments alone mean damage.
    if !list(home)?.is_empty() {
        return Err(StoreError::Missing { file: name });
    }
    let manifest = Manifest { epoch: Epoch::NONE.next(), next: 1, ..Manifest::default() };
    home.swap_manifest(Epoch::NONE, &manifest.encode())
        .map_err(|e| StoreError::swap(e, name, Epoch::NONE))?;
    Ok(manifest)
}

/// Takes the store over from an opener that may still write: its next manifest is refused.
fn take_over(home: &Arc<dyn SegmentStore>, manifest: &mut Manifest) -> Result<(), StoreError> {
    let expected = manifest.epoch;
    manifest.epoch = expected.next();
    home.swap_manifest(expected, &manifest.encode())
        .map_err(|e| StoreError::swap(e, home.describe(MANIFEST), expected))
}

/// Removes the files that a crash left: the segments in `found` that no manifest names. At opening, `bulk` is false,
/// and it removes the files of flushes and merges. After the replay, `bulk` is true, and it removes the files of bulk
/// loads: until then, the log may have a commit that names them. By then a flush may be writing, so its files are left
/// alone.
fn remove_orphans(
    home: &Arc<dyn SegmentStore>,
    found: &[String],
    named: &HashSet<String>,
    bulk: bool,
) -> Result<(), StoreError> {
    for name in found.iter().filter(|n| !named.contains(*n) && n.ends_with(BULK_SUFFIX) == bulk) {
        home.delete(name).map_err(StoreError::io("cannot remove", home.describe(name)))?;
    }
    Ok(())
}

/// Returns the names of all segment files, whether a manifest names them or not.
fn list(home: &Arc<dyn SegmentStore>) -> Result<Vec<String>, StoreError> {
    home.list().map_err(StoreError::io("cannot list", home.describe("")))
}

impl Store {
    /// Opens the store in `dir`, and creates it if it does not exist. `resolve` finds a table by its number. It reads
    /// only the manifest, and removes files that no manifest names. The caller holds a lock on the directory, or on one
    /// above it.
    pub fn open(
        env: &Env,
        dir: &Path,
        options: StoreOptions,
        resolve: Resolve,
    ) -> Result<Store, StoreError> {
        let name = dir.display().to_string();
        let home = DirectoryStore::new(env, dir)
            .map_err(StoreError::io("cannot create directory", name))?;
        let home: Arc<dyn SegmentStore> = Arc::new(home);
        let manifest = load_manifest(&home)?;
        Store::start(env, home, manifest, options, resolve)
    }

    /// As [`Store::open`], on any segment store. It needs no lock: an earlier opener that still writes is
    /// fenced ([`StoreError::Fenced`]).
    pub fn open_on(
        env: &Env,
        home: Arc<dyn SegmentStore>,
        options: StoreOptions,
        resolve: Resolve,
    ) -> Result<Store, StoreError> {
        let mut manifest = load_manifest(&home)?;
        take_over(&home, &mut manifest)?;
        Store::start(env, home, manifest, options, resolve)
    }

    fn start(
        env: &Env,
        home: Arc<dyn SegmentStore>,
        manifest: Manifest,
        options: StoreOptions,
        resolve: Resolve,
    ) -> Result<Store, StoreError> {
        let cache = Arc::new(Cache::new(options.cache_bytes));
        let reader = Reader { home: home.clone(), cache: cache.clone(), resolve: resolve.clone() };
        let open = |half: Half, runs: Vec<Vec<Meta>>| {
            let named = |meta| Segment::named(&reader, half, meta).map(Arc::new);
            let run = |metas: Vec<Meta>| {
                join_run(half, metas.into_iter().map(named).collect::<Result<Vec<_>, _>>()?)
            };
            runs.into_iter().map(run).collect::<Result<Vec<_>, _>>()
        };
        let current = open(Half::Current, manifest.current)?;
        let history = open(Half::History, manifest.history)?;
        let checkpoint = manifest.checkpoint;
        let mut horizons = manifest.horizons;
        // Earlier releases wrote the horizons unsorted.
        horizons.sort_unstable();
        let mut state = State {
            active: Arc::default(),
            frozen: Vec::new(),
            current_from: 0,
            current,
            history,
            checkpoint: checkpoint.clone(),
            horizons,
            erased: (!manifest.erased.is_empty()).then(|| Arc::new(manifest.erased)),
        };
        state.settle();
        let named: HashSet<String> = state.segments().map(|s| s.meta.name()).collect();
        let found = list(&home)?;
        let there: HashSet<&String> = found.iter().collect();
        if let Some(name) = named.iter().find(|name| !there.contains(name)) {
            return Err(StoreError::Missing { file: home.describe(name) });
        }
        remove_orphans(&home, &found, &named, false)?;
        // A bulk load that the log names has used numbers that no manifest knows.
        let taken = found
            .iter()
            .filter_map(|n| Meta::number_of(n).map(given_number))
            .max()
            .map_or(0, |n| n.saturating_add(1));
        let writer_context = WriterContext {
            home,
            random: env.random.clone(),
            resolve: resolve.clone(),
            next: Arc::new(AtomicU64::new(manifest.next.max(taken))),
            segment_bytes: options.segment_bytes,
            current_block_bytes: options.current_block_bytes.min(64 << 10),
            history_block_bytes: options.history_block_bytes.min(64 << 10),
        };
        let shared = Arc::new(Shared {
            options,
            resolve,
            clock: env.clock.clone(),
            writer_context,
            cache,
            reader,
            state: RwLock::new(Arc::new(state)),
            writer: Mutex::new(checkpoint.csn.0),
            durable: Mutex::new((checkpoint.csn, checkpoint.note)),
            holds: Mutex::default(),
            flushing: Mutex::default(),
            compacting: Mutex::default(),
            installing: Mutex::new(manifest.epoch),
            poison: OnceLock::new(),
            time_floor: RwLock::default(),
            background: Background::default(),
            counters: Counters::default(),
            staged_cache: Arc::new(Cache::new(STAGED_CACHE_BYTES)),
        });
        let threads =
            if shared.options.background { Background::start(&shared)? } else { Vec::new() };
        Ok(Store { shared, threads })
    }

    /// Removes the files of bulk loads that never committed. The caller has replayed the log and has begun
    /// no bulk load.
    pub fn recovered(&self) -> Result<(), StoreError> {
        let state = self.shared.state();
        let named = state.segments().map(|s| s.meta.name()).collect();
        let home = &self.shared.writer_context.home;
        remove_orphans(home, &list(home)?, &named, true)
    }

    /// Returns the commits that segment files cover: the caller replays its log from the note on,
    /// and skips commits that are not above `csn`.
    pub fn checkpoint(&self) -> Checkpoint {
        self.shared.state().checkpoint.clone()
    }

    /// Applies back-pressure: waits if memtables fill faster than they are flushed, the longer the more of
    /// them wait. The caller calls it before it writes a commit to the log, and holds no lock that other
    /// commits need.
    ///
    /// # Errors
    /// Fails if the store cannot take the commit, because it is poisoned or its files cannot be written.
    pub fn admit(&self) -> Result<(), StoreError> {
        self.shared.check_poison()?;
        self.shared.background.admit(&self.shared)
    }

    /// Adds the writes of commit `csn`, which is above every earlier commit. One caller at a time. A reader as of a
    /// smaller commit sees nothing of it. Never waits for a flush: see [`Store::admit`].
    ///
    /// A delta on a key without a live version is an error of the caller. If the memtable shows the error, the call
    /// fails and poisons the store, because the log holds a commit that cannot be applied. If only a segment would
    /// show it, reads and the flush report it.
    pub fn apply(&self, csn: Csn, writes: &[Write]) -> Result<(), StoreError> {
        self.shared.apply(csn, writes)
    }

    /// Tells the store that every commit up to `csn` is durable in the log and may be flushed. `note` returns the
    /// caller's note for `csn`: a replay from there meets every commit above `csn`.
    pub fn set_durable(&self, csn: Csn, note: impl FnOnce() -> Vec<u8>) {
        let mut durable = self.shared.durable.lock();
        let before = durable.0;
        if csn > before {
            *durable = (csn, note());
            drop(durable);
            self.shared.background.durable_rose(before.0, csn.0);
        }
    }

    /// Keeps the versions readable at `csn` while the returned guard lives. Versions that retention
    /// has dropped already stay dropped: see [`Store::horizon`].
    pub fn hold(&self, csn: Csn) -> Hold {
        *self.shared.holds.lock().entry(csn).or_default() += 1;
        Hold { shared: self.shared.clone(), csn }
    }

    /// The oldest commit that a [`Hold`] keeps readable.
    pub fn oldest_hold(&self) -> Option<Csn> {
        self.shared.holds.lock().keys().next().copied()
    }

    /// The first commit as of which `table` can still be read; 0 if nothing was ever dropped.
    pub fn horizon(&self, table: TableId) -> Csn {
        self.shared.state().horizon(table)
    }

    /// Waits for the end of every flush that has begun before the call.
    ///
    /// A flush leaves an image out of history if history is certain to keep the change that made it. A merge
    /// drops that change if retention allows it. So a table goes from [`crate::Retention::Forever`] to a
    /// shorter retention in three steps: it returns `Unsettled`, the caller calls this function, and the table
    /// returns its new retention. In the other direction the table stays at `Unsettled`, because a merge that
    /// drops versions may still be running. After the next opening of the store it may return `Forever`.
    pub fn after_flush(&self) {
        drop(self.shared.flushing.lock());
    }

    /// Tells the store how to find the newest commit at or before a time, which [`crate::Retention::Since`]
    /// needs. Until then such tables keep everything.
    pub fn set_time_floor(&self, floor: TimeFloor) {
        *self.shared.time_floor.write() = Some(floor);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.background.stop();
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}
