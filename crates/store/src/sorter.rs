//! [`Sorter`]: the entries of a new table in any order become one bulk load.
//!
//! ```text
//!   put ──> [ buffer: 32 MiB ] ──full──> [ buffer ] ──sort──> run 1   a c f │ k m     in files, as bulk loads are
//!           the caller fills it          a thread writes it   run 2   b d │ g         ...
//!   finish: runs one behind the other (they came in order) ──> joined as they are
//!           any other                                       ──> merged into one
//! ```
//!
//! One buffer at a time is written, while the caller fills the other: a sorter holds two.
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
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::TableId;
use crate::bulk::{Bulk, Loaded, Staged};
use crate::columns::{ColumnEncoder, STRIPE_ROWS_MAX};
use crate::error::StoreError;
use crate::key;
use crate::run::RunCursor;
use crate::store::{Shared, Store};

/// Bytes of keys and values gathered before they are sorted and written.
const BUFFER_BYTES: usize = 32 << 20;

/// A buffer grows step by step up to so many bytes: most tables are small.
const GROWS_MAX: usize = 1 << 20;

/// The name of a thread that writes buffers.
const THREAD: &str = "store-sorter";

/// Where an entry lies in the buffer: its key, and its value right behind it.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    key: u32,
    value: u32,
}

/// Entries in memory.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// An entry is not above the one before it.
    is_mixed: bool,
}

impl Buffer {
    fn key(&self, place: Place) -> &[u8] {
        &self.bytes[place.start as usize..][..place.key as usize]
    }

    fn value(&self, place: Place) -> &[u8] {
        &self.bytes[place.start as usize + place.key as usize..][..place.value as usize]
    }

    fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.places.iter().map(|place| (self.key(*place), self.value(*place)))
    }

    /// Sorts the entries. Returns a key that is there twice, if there is one.
    fn sort(&mut self) -> Option<Twice> {
        if !self.is_mixed {
            return None;
        }
        let mut places = std::mem::take(&mut self.places);
        // Equal keys stay in the order in which they came: that of their places.
        places.sort_unstable_by(|a, b| {
            self.key(*a).cmp(self.key(*b)).then_with(|| a.start.cmp(&b.start))
        });
        let twice = places.windows(2).find(|pair| self.key(pair[0]) == self.key(pair[1]));
        let twice = twice.map(|pair| Twice {
            key: self.key(pair[0]).to_vec(),
            value: self.value(pair[1]).to_vec(),
        });
        self.places = places;
        twice
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.is_mixed = false;
    }

    /// Takes the memory of a full buffer at once: a buffer that doubles is copied into fresh pages
    /// again and again, and the system clears each of them.
    #[cold]
    fn reserve_all(&mut self, buffer_bytes: usize) {
        let (bytes, places) = (self.bytes.len(), self.places.len());
        let all_places = places.saturating_mul(buffer_bytes / bytes + 1);
        self.bytes.reserve_exact(buffer_bytes + GROWS_MAX - bytes);
        self.places.reserve(all_places - places);
    }
}

/// What becomes of a full buffer.
#[derive(Clone)]
struct Form {
    table: TableId,
    encoder: Option<Arc<dyn ColumnEncoder>>,
    is_scratch: bool,
}

impl Form {
    fn bulk(&self, shared: &Arc<Shared>) -> Bulk {
        let mut bulk = if self.is_scratch { shared.scratch() } else { shared.bulk() };
        if let Some(encoder) = &self.encoder {
            bulk.encode_by(self.table, encoder.clone());
        }
        bulk
    }

    /// Sorts a buffer and writes it to files.
    fn write(&self, shared: &Arc<Shared>, buffer: &mut Buffer) -> Result<Sorted, StoreError> {
        if let Some(twice) = buffer.sort() {
            return Ok(Sorted::Twice(twice));
        }
        let mut bulk = self.bulk(shared);
        bulk.put_all(self.table, buffer.entries())?;
        bulk.finish().map(Sorted::Loaded)
    }

    /// The same, and opens the files.
    fn spill(&self, shared: &Arc<Shared>, buffer: &mut Buffer) -> Result<Run, StoreError> {
        match self.write(shared, buffer)? {
            Sorted::Twice(twice) => Ok(Err(twice)),
            Sorted::Loaded(loaded) => {
                // Its files go with it where they cannot be opened.
                let mut run =
                    Spilled { loaded: Some(loaded), staged: None, shared: shared.clone() };
                run.staged = run.loaded.as_ref().map(|loaded| shared.stage(loaded)).transpose()?;
                Ok(Ok(run))
            }
        }
    }
}

/// A run, or why there is none.
type Run = Result<Spilled, Twice>;

/// A thread that writes buffers, one at a time, and gives them back. Dropped, it is waited for, and the files go that
/// nobody has taken.
struct WriterThread {
    /// `None` once no more buffers come.
    full: Option<SyncSender<Buffer>>,
    written: Receiver<(Buffer, Result<Run, StoreError>)>,
    /// It has a buffer.
    is_busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    fn begin(form: &Form, shared: &Arc<Shared>) -> Result<WriterThread, StoreError> {
        let (full, buffers) = sync_channel::<Buffer>(1);
        let (back, written) = sync_channel(1);
        let (form, shared) = (form.clone(), shared.clone());
        let work = move || {
            for mut buffer in buffers {
                let run = form.spill(&shared, &mut buffer);
                buffer.clear();
                if back.send((buffer, run)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned()).spawn(work);
        let thread = thread.map_err(StoreError::io("cannot start thread", THREAD))?;
        Ok(WriterThread { full: Some(full), written, is_busy: false, thread: Some(thread) })
    }

    /// Gives it a buffer. It has none.
    fn write(&mut self, buffer: Buffer) {
        assert!(!self.is_busy, "one buffer at a time");
        let sent = self.full.as_ref().map(|full| full.send(buffer));
        if !matches!(sent, Some(Ok(()))) {
            self.fail();
        }
        self.is_busy = true;
    }

    /// Waits for the buffer that it has.
    fn wait(&mut self) -> Result<Option<(Buffer, Run)>, StoreError> {
        if !std::mem::take(&mut self.is_busy) {
            return Ok(None);
        }
        let (buffer, run) = self.written.recv().unwrap_or_else(|_| self.fail());
        Ok(Some((buffer, run?)))
    }

    /// Goes on with the panic that has ended the thread.
    fn fail(&mut self) -> ! {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => resume_unwind(panic),
            _ => unreachable!("the thread ends after its sorter, or by a panic"),
        }
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.full = None;
        // What it has failed of is told to nobody any more.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Entries of one table being sorted. Dropped unfinished, it leaves nothing.
pub struct Sorter {
    form: Form,
    buffer_bytes: usize,
    buffer: Buffer,
    writer: Option<WriterThread>,
    runs: Vec<Spilled>,
    twice: Option<Twice>,
}

/// A sorted run in files, which are removed where nobody takes them.
struct Spilled {
    loaded: Option<Loaded>,
    staged: Option<Staged>,
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
        self.form.table
    }

    /// The same, of a table that keeps its newest values in columns. The store knows that of a table that
    /// exists, and not yet of one that the loading transaction makes.
    pub fn in_columns(mut self, encoder: Arc<dyn ColumnEncoder>) -> Sorter {
        self.form.encoder = Some(encoder);
        self
    }

    /// The same, of entries that [`Sorter::walk`] gives back: files of them are read by this sorter alone.
    pub fn for_walk(mut self) -> Sorter {
        self.form.is_scratch = true;
        self
    }

    /// The same, with a buffer of so many bytes.
    pub(crate) fn with_buffer(table: TableId, buffer_bytes: usize) -> Sorter {
        Sorter {
            form: Form { table, encoder: None, is_scratch: false },
            buffer_bytes,
            buffer: Buffer::default(),
            writer: None,
            runs: Vec::new(),
            twice: None,
        }
    }

    /// Adds an entry whose value `write` appends.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`], and what writing files reports, of entries that were added before too.
    pub fn put(
        &mut self,
        store: &Store,
        key: &[u8],
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), StoreError> {
        if self.is_full() {
            self.spill(store)?;
        }
        let buffer = &mut self.buffer;
        if buffer.bytes.len() > GROWS_MAX && buffer.bytes.capacity() < self.buffer_bytes {
            buffer.reserve_all(self.buffer_bytes);
        }
        let start = buffer.bytes.len();
        buffer.bytes.extend_from_slice(key);
        write(&mut buffer.bytes);
        let value = buffer.bytes.len() - start - key.len();
        if key.len() > key::KEY_MAX || value > 1 << 30 {
            buffer.bytes.truncate(start);
            return Err(StoreError::TooLarge { key: key.len(), value });
        }
        buffer.is_mixed |= buffer.places.last().is_some_and(|last| buffer.key(*last) >= key);
        let (start, key, value) = (start as u32, key.len() as u32, value as u32);
        buffer.places.push(Place { start, key, value });
        Ok(())
    }

    /// Returns true if the buffer is to be written. A buffer for columns ends with a full stripe, if it is more than half
    /// full then: the rest would make a short stripe, with a dictionary of its own or none.
    fn is_full(&self) -> bool {
        let bytes = self.buffer.bytes.len();
        let ends_stripe = || {
            let encoder = self.form.encoder.as_ref();
            encoder.is_some_and(|encoder| {
                self.buffer.places.len().is_multiple_of(encoder.stripe_rows().min(STRIPE_ROWS_MAX))
            })
        };
        bytes >= self.buffer_bytes || bytes > self.buffer_bytes / 2 && ends_stripe()
    }

    /// Has another thread write the full buffer, as soon as it has written the one before.
    fn spill(&mut self, store: &Store) -> Result<(), StoreError> {
        let empty = self.wait()?.unwrap_or_default();
        let full = std::mem::replace(&mut self.buffer, empty);
        // Where a key came twice, nothing will come of it: what is still put is forgotten.
        if self.twice.is_none() {
            let writer = match self.writer.take() {
                Some(writer) => writer,
                None => WriterThread::begin(&self.form, &store.shared)?,
            };
            self.writer.insert(writer).write(full);
        }
        Ok(())
    }

    /// Waits for the other thread, and returns the buffer that it had.
    fn wait(&mut self) -> Result<Option<Buffer>, StoreError> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        let Some((buffer, run)) = writer.wait()? else { return Ok(None) };
        self.take(run);
        Ok(Some(buffer))
    }

    fn take(&mut self, run: Run) {
        match run {
            Ok(run) => self.runs.push(run),
            Err(twice) => self.twice = self.twice.take().or(Some(twice)),
        }
    }

    /// Writes the rest where some was written already.
    fn end_runs(&mut self, store: &Store) -> Result<(), StoreError> {
        let last = match self.buffer.places.is_empty() || self.twice.is_some() {
            true => None,
            // Beside the other thread.
            false => Some(self.form.spill(&store.shared, &mut self.buffer)?),
        };
        self.wait()?;
        self.writer = None;
        last.into_iter().for_each(|run| self.take(run));
        self.buffer = Buffer::default();
        Ok(())
    }

    fn has_spilled(&self) -> bool {
        self.writer.is_some() || !self.runs.is_empty() || self.twice.is_some()
    }

    /// Ends the sort.
    ///
    /// # Errors
    /// What reading and writing files reports; nothing is left then.
    pub fn finish(mut self, store: &Store) -> Result<Sorted, StoreError> {
        if !self.has_spilled() {
            return self.form.write(&store.shared, &mut self.buffer);
        }
        self.end_runs(store)?;
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
        if !self.has_spilled() {
            self.buffer.sort();
            return self.buffer.entries().try_for_each(|(key, value)| each(key, value));
        }
        self.end_runs(store)?;
        self.each_of_runs(|key, value| each(key, value).map(ControlFlow::Continue))
    }

    /// Merges the runs into one.
    fn merge(&self, store: &Store) -> Result<Sorted, StoreError> {
        let mut bulk = self.form.bulk(&store.shared);
        let (mut last, mut twice) = (Vec::new(), None);
        self.each_of_runs(|key, value| {
            if last == key && bulk.has_any() {
                twice = Some(Twice { key: key.to_vec(), value: value.to_vec() });
                return Ok(ControlFlow::Break(()));
            }
            last.clear();
            last.extend_from_slice(key);
            bulk.put_new(self.form.table, key, value).map(ControlFlow::Continue)
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
        for staged in self.runs.iter().filter_map(|run| run.staged.as_ref()) {
            let mut cursor = RunCursor::new(staged.run().clone(), false);
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
