//! [`Sorter`]: the entries of a new table in any order become one bulk load.
//!
//! ```text
//!   put ──> [ buffer: 32 MiB ] ──full: sort──> run 1   a c f │ k m        in files, as bulk loads are
//!                              ──full: sort──> run 2   b d │ g            ...
//!   finish: runs one behind the other (they came in order) ──> joined as they are
//!           any other                                       ──> merged into one
//! ```
//!
//! [`Sorter::walk`] gives the sorted entries to the caller instead, and leaves no files.
//!
//! An external merge sort (Knuth, *The Art of Computer Programming*, volume 3, section 5.4) whose runs are
//! segments of the store: what comes in order, as it often does, is written once and read by nobody.
//!
//! # Invariants
//! * The table never had a version of any key, and the caller keeps others from writing to it.
//! * A key that comes twice is found before [`Sorter::finish`] returns.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use crate::TableId;
use crate::bulk::{Bulk, Loaded, Staged};
use crate::columns::ColumnEncoder;
use crate::error::StoreError;
use crate::key;
use crate::run::RunCursor;
use crate::store::{Shared, Store};

/// Bytes of keys and values gathered before they are sorted and written.
const BUFFER_BYTES: usize = 32 << 20;

/// A buffer grows step by step up to so many bytes: most tables are small.
const GROWS_MAX: usize = 1 << 20;

/// Where an entry lies in the buffer: its key, and its value right behind it.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    key: u32,
    value: u32,
}

/// Entries of one table being sorted. Dropped unfinished, it leaves nothing.
pub struct Sorter {
    table: TableId,
    buffer_bytes: usize,
    encoder: Option<Arc<dyn ColumnEncoder>>,
    is_scratch: bool,
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// The entries of the buffer ascend.
    ascends: bool,
    runs: Vec<Spilled>,
    twice: Option<Twice>,
}

/// A sorted run in files, which are removed where nobody takes them.
struct Spilled {
    loaded: Option<Loaded>,
    staged: Staged,
    shared: Arc<Shared>,
}

impl Spilled {
    /// The first and the last key.
    fn ends(&self) -> Option<(&[u8], &[u8])> {
        self.loaded.as_ref()?.ends()
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        if let Some(loaded) = self.loaded.take() {
            self.shared.discard(loaded.metas());
        }
    }
}

/// A key that came at least twice.
#[derive(Debug)]
pub struct Twice {
    /// The key.
    pub key: Vec<u8>,
    /// Its second value.
    pub value: Vec<u8>,
}

/// What became of the entries.
#[derive(Debug)]
pub enum Sorted {
    /// They are in files, durable, and invisible until [`Store::ingest`].
    Loaded(Loaded),
    /// They cannot be.
    Twice(Twice),
}

impl Store {
    /// True where no version of any key of `table` was ever written, or none is kept.
    pub fn is_fresh(&self, table: TableId) -> Result<bool, StoreError> {
        self.keys(table, Bound::Unbounded, Bound::Unbounded, false).finds_nothing()
    }
}

impl Sorter {
    /// Begins to gather the entries of a table that [is fresh](Store::is_fresh).
    pub fn new(table: TableId) -> Sorter {
        Sorter::with_buffer(table, BUFFER_BYTES)
    }

    /// Returns the table.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// The same, of a table that keeps its newest values in columns. The store knows that of a table that
    /// exists, and not yet of one that the loading transaction makes.
    pub fn in_columns(self, encoder: Arc<dyn ColumnEncoder>) -> Sorter {
        Sorter { encoder: Some(encoder), ..self }
    }

    /// The same, of entries that [`Sorter::walk`] gives back: files of them are read by this sorter alone.
    pub fn for_walk(self) -> Sorter {
        Sorter { is_scratch: true, ..self }
    }

    fn bulk<'s>(&self, store: &'s Store) -> Bulk<'s> {
        let mut bulk = if self.is_scratch { store.scratch() } else { store.bulk() };
        if let Some(encoder) = &self.encoder {
            bulk.encode_by(self.table, encoder.clone());
        }
        bulk
    }

    /// The same, with a buffer of so many bytes.
    pub(crate) fn with_buffer(table: TableId, buffer_bytes: usize) -> Sorter {
        Sorter {
            table,
            buffer_bytes,
            encoder: None,
            is_scratch: false,
            bytes: Vec::new(),
            places: Vec::new(),
            ascends: true,
            runs: Vec::new(),
            twice: None,
        }
    }

    /// Adds an entry whose value `write` appends.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`], and what writing files reports.
    pub fn put(
        &mut self,
        store: &Store,
        key: &[u8],
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), StoreError> {
        if self.bytes.len() >= self.buffer_bytes {
            self.spill(store)?;
        }
        if self.bytes.len() > GROWS_MAX && self.bytes.capacity() < self.buffer_bytes {
            self.reserve_all();
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        write(&mut self.bytes);
        let value = self.bytes.len() - start - key.len();
        if key.len() > key::KEY_MAX || value > 1 << 30 {
            self.bytes.truncate(start);
            return Err(StoreError::TooLarge { key: key.len(), value });
        }
        self.ascends &= self.places.last().is_none_or(|last| self.key(*last) < key);
        self.places.push(Place { start: start as u32, key: key.len() as u32, value: value as u32 });
        Ok(())
    }

    fn key(&self, place: Place) -> &[u8] {
        &self.bytes[place.start as usize..][..place.key as usize]
    }

    fn value(&self, place: Place) -> &[u8] {
        &self.bytes[place.start as usize + place.key as usize..][..place.value as usize]
    }

    /// Sorts the buffer, and notes a key that is in it twice.
    fn sort(&mut self) {
        if self.ascends {
            return;
        }
        let mut places = std::mem::take(&mut self.places);
        // Equal keys stay in the order in which they came: that of their places.
        places.sort_unstable_by(|a, b| {
            self.key(*a).cmp(self.key(*b)).then_with(|| a.start.cmp(&b.start))
        });
        let twice = places.windows(2).find(|pair| self.key(pair[0]) == self.key(pair[1]));
        if let (Some(pair), None) = (twice, &self.twice) {
            self.twice = Some(Twice {
                key: self.key(pair[0]).to_vec(),
                value: self.value(pair[1]).to_vec(),
            });
        }
        self.places = places;
    }

    /// Writes the sorted buffer to files.
    fn write(&mut self, store: &Store) -> Result<Loaded, StoreError> {
        let mut bulk = self.bulk(store);
        for place in &self.places {
            bulk.put_new(self.table, self.key(*place), self.value(*place))?;
        }
        self.clear();
        bulk.finish()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.ascends = true;
    }

    /// Takes the memory of a full buffer at once: a buffer that doubles is copied into fresh pages
    /// again and again, and the system clears each of them.
    #[cold]
    fn reserve_all(&mut self) {
        let (bytes, places) = (self.bytes.len(), self.places.len());
        let all_places = places.saturating_mul(self.buffer_bytes / bytes + 1);
        self.bytes.reserve_exact(self.buffer_bytes + GROWS_MAX - bytes);
        self.places.reserve(all_places - places);
    }

    fn spill(&mut self, store: &Store) -> Result<(), StoreError> {
        self.sort();
        if self.twice.is_some() {
            // Nothing will come of it: what is still put is forgotten.
            self.clear();
            return Ok(());
        }
        let loaded = self.write(store)?;
        let (staged, shared) = (store.stage(&loaded)?, store.shared.clone());
        self.runs.push(Spilled { loaded: Some(loaded), staged, shared });
        Ok(())
    }

    /// Ends the sort.
    ///
    /// # Errors
    /// What reading and writing files reports; nothing is left then.
    pub fn finish(mut self, store: &Store) -> Result<Sorted, StoreError> {
        if self.runs.is_empty() {
            self.sort();
            return match self.twice.take() {
                Some(twice) => Ok(Sorted::Twice(twice)),
                None => Ok(Sorted::Loaded(self.write(store)?)),
            };
        }
        if !self.places.is_empty() {
            self.spill(store)?;
        }
        if let Some(twice) = self.twice.take() {
            return Ok(Sorted::Twice(twice));
        }
        let are_in_order =
            self.runs.windows(2).all(|pair| match (pair[0].ends(), pair[1].ends()) {
                (Some((_, last)), Some((first, _))) => last < first,
                _ => true,
            });
        if are_in_order {
            let loads = self.runs.iter_mut().filter_map(|run| run.loaded.take());
            return Ok(Sorted::Loaded(Loaded::join(loads)));
        }
        self.merge(store)
    }

    /// Ends the sort and calls `each` with each key and value in order, until it fails. No key came twice.
    ///
    /// # Errors
    /// What `each` returns, and what reading and writing files reports.
    pub fn walk<E: From<StoreError>>(
        mut self,
        store: &Store,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.runs.is_empty() {
            self.sort();
            return self.places.iter().try_for_each(|at| each(self.key(*at), self.value(*at)));
        }
        if !self.places.is_empty() {
            self.spill(store)?;
        }
        self.each_of_runs(|key, value| each(key, value).map(ControlFlow::Continue))
    }

    /// Merges the runs into one.
    fn merge(&self, store: &Store) -> Result<Sorted, StoreError> {
        let mut bulk = self.bulk(store);
        let (mut last, mut twice) = (Vec::new(), None);
        self.each_of_runs(|key, value| {
            if last == key && bulk.has_any() {
                twice = Some(Twice { key: key.to_vec(), value: value.to_vec() });
                return Ok(ControlFlow::Break(()));
            }
            last.clear();
            last.extend_from_slice(key);
            bulk.put_new(self.table, key, value).map(ControlFlow::Continue)
        })?;
        Ok(match twice {
            Some(twice) => Sorted::Twice(twice),
            None => Sorted::Loaded(bulk.finish()?),
        })
    }

    /// Calls `each` with the entries of all runs, in order, until it breaks.
    fn each_of_runs<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let mut cursors = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let mut cursor = RunCursor::new(run.staged.run().clone(), false);
            cursor.seek(None, false)?;
            cursors.push(cursor);
        }
        // Of the runs that have more to give, the one with the smallest key is the last; of equal keys
        // that of the earlier run.
        let below = |cursors: &[RunCursor], one: usize, other: usize| {
            (cursors[one].key(), one) < (cursors[other].key(), other)
        };
        let mut order: Vec<usize> = (0..cursors.len()).collect();
        order.retain(|at| cursors[*at].key().is_some());
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
            if cursors[at].key().is_some() {
                let place = order.partition_point(|other| below(&cursors, at, *other));
                order.insert(place, at);
            }
        }
        Ok(())
    }
}
