//! [`Sorter`]: the entries of a new table in any order become one bulk load.
//!
//! ```text
//!   put ──> [ buffer: 32 MiB ] ──full──> [ buffer ] ──sort──> run 1   a c f │ k m     in files, as bulk loads are
//!           the caller fills it          a thread writes it   run 2   b d │ g         ...
//!   finish: runs one behind the other (they came in order) ──> joined as they are
//!           any other                                       ──> merged into one, by several threads
//! ```
//!
//! The entries of an inverted index come as items of a row ([`Sorter::put_items`]). The sorter buffers up to 64 MiB of
//! items. It has two buffers: a thread writes one while the caller fills the other.
//!
//! [`Sorter::walk`] gives the sorted entries to the caller instead, and leaves no files.
//!
//! This is an external merge sort (Knuth, *The Art of Computer Programming*, volume 3, section 5.4) whose runs are
//! segments of the store. Entries that come in order, as they often do, are written once and not read again. If the
//! first buffer was not in order, the runs will be merged: they are written without a sync and without columns.
//!
//! # Invariants
//! * The table never had a version of any key, and the caller makes sure that no other transaction writes to it.
//! * [`Sorter::finish`] reports a key that comes twice.

use std::ops::{Bound, ControlFlow};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, ScopedJoinHandle};

use crate::TableId;
use crate::buffer::Buffer;
use crate::bulk::{Bulk, Loaded, Staged};
use crate::columns::{ColumnEncoder, STRIPE_ROWS_MAX};
use crate::error::StoreError;
use crate::key;
use crate::merging::{Part, each_of_runs, part_keys};
use crate::postings::Postings;
use crate::run::Run;
use crate::store::{Shared, Store, VALUE_MAX};

/// Bytes of keys and values gathered before they are sorted and written.
const BUFFER_BYTES: usize = 32 << 20;

/// One thread writes runs of fewer bytes: several threads would make short files.
const ONE_THREAD_BYTES: u64 = 8 << 20;
/// So many threads write at most.
const THREADS_MAX: usize = 4;

/// The name of a thread that writes buffers.
const THREAD: &str = "store-sorter";

/// Entries in memory, as they were put.
enum Gathered {
    Entries(Buffer),
    Items(Postings),
}

impl Default for Gathered {
    fn default() -> Gathered {
        Gathered::Entries(Buffer::default())
    }
}

impl Gathered {
    fn bytes(&self) -> usize {
        match self {
            Gathered::Entries(buffer) => buffer.bytes(),
            Gathered::Items(postings) => postings.bytes(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Gathered::Entries(buffer) => buffer.len(),
            Gathered::Items(postings) => postings.len(),
        }
    }

    /// True if the next entry may lie between those in the buffer.
    fn is_mixed(&self) -> bool {
        match self {
            Gathered::Entries(buffer) => buffer.is_mixed(),
            Gathered::Items(_) => true,
        }
    }

    /// Sorts the entries. Returns a key that is there twice, if there is one.
    fn sort(&mut self) -> Option<DuplicateKey> {
        match self {
            Gathered::Entries(buffer) => buffer.sort(),
            Gathered::Items(postings) => {
                postings.sort();
                None
            }
        }
    }

    fn clear(&mut self) {
        match self {
            Gathered::Entries(buffer) => buffer.clear(),
            Gathered::Items(postings) => postings.clear(),
        }
    }

    /// The buffer of whole entries; panics where items were put.
    fn entries(&mut self) -> &mut Buffer {
        match self {
            Gathered::Entries(buffer) => buffer,
            Gathered::Items(_) => panic!("a sorter of items is given whole entries"),
        }
    }

    /// The buffer of items; panics where whole entries were put.
    fn items(&mut self) -> &mut Postings {
        if let Gathered::Entries(buffer) = self {
            assert!(buffer.is_empty(), "a sorter of whole entries is given items");
            *self = Gathered::Items(Postings::default());
        }
        match self {
            Gathered::Items(postings) => postings,
            Gathered::Entries(_) => unreachable!("they have just been replaced"),
        }
    }
}

/// How a full buffer is written to a file.
#[derive(Clone)]
struct Form {
    table: TableId,
    encoder: Option<Arc<dyn ColumnEncoder>>,
    is_scratch: bool,
    /// How many threads write and merge; 0 where the size decides.
    threads: usize,
}

impl Form {
    /// As of files that are merged into others.
    fn to_be_merged(&self) -> Form {
        Form { encoder: None, is_scratch: true, ..self.clone() }
    }

    /// How many threads write files of so many bytes in all.
    fn threads_for(&self, bytes: u64) -> usize {
        match self.threads {
            0 if bytes < ONE_THREAD_BYTES => 1,
            0 => std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX),
            fixed => fixed,
        }
    }

    fn bulk(&self, shared: &Arc<Shared>) -> Bulk {
        let mut bulk = if self.is_scratch { shared.scratch() } else { shared.bulk() };
        if let Some(encoder) = &self.encoder {
            bulk.encode_by(self.table, encoder.clone());
        }
        bulk
    }

    /// Sorts a buffer and writes it to files, by several threads unless these are of columns: a stripe would end short
    /// where a thread ends.
    fn write(&self, shared: &Arc<Shared>, gathered: &mut Gathered) -> Result<Sorted, StoreError> {
        if let Some(duplicate) = gathered.sort() {
            return Ok(Sorted::Duplicate(duplicate));
        }
        let (entries, bytes) = (gathered.len(), gathered.bytes() as u64);
        let in_columns = self.bulk(shared).takes_columns(self.table);
        let threads = if in_columns { 1 } else { self.threads_for(bytes) };
        let parts =
            (0..threads).map(|part| entries * part / threads..entries * (part + 1) / threads);
        let gathered = &*gathered;
        by_threads(shared, parts.collect(), |part| {
            let mut bulk = self.bulk(shared);
            match gathered {
                Gathered::Entries(buffer) => bulk.put_all(self.table, buffer.entries_in(part))?,
                Gathered::Items(postings) => {
                    postings.each(part, |key, value| bulk.put_new(self.table, key, value))?;
                }
            }
            bulk.finish().map(Sorted::Loaded)
        })
    }

    /// The same, and opens the files.
    fn spill(
        &self,
        shared: &Arc<Shared>,
        full: &mut Gathered,
    ) -> Result<RunOrDuplicate, StoreError> {
        match self.write(shared, full)? {
            Sorted::Duplicate(duplicate) => Ok(Err(duplicate)),
            Sorted::Loaded(loaded) => {
                // If the files cannot be opened, dropping `Spilled` removes them.
                let mut run =
                    Spilled { loaded: Some(loaded), staged: None, shared: shared.clone() };
                run.staged = run.loaded.as_ref().map(|loaded| shared.stage(loaded)).transpose()?;
                Ok(Ok(run))
            }
        }
    }

    /// Merges what the runs have in a part of the keys.
    fn merge(
        &self,
        shared: &Arc<Shared>,
        runs: &[Arc<Run>],
        part: Part<'_>,
    ) -> Result<Sorted, StoreError> {
        let mut bulk = self.bulk(shared);
        let (mut last, mut duplicate) = (Vec::new(), None);
        each_of_runs(runs, part, |key, value| {
            if last == key && bulk.has_any() {
                duplicate = Some(DuplicateKey { key: key.to_vec(), value: value.to_vec() });
                return Ok(ControlFlow::Break(()));
            }
            last.clear();
            last.extend_from_slice(key);
            bulk.put_new(self.table, key, value).map(ControlFlow::Continue)
        })?;
        Ok(match duplicate {
            Some(duplicate) => Sorted::Duplicate(duplicate),
            None => Sorted::Loaded(bulk.finish()?),
        })
    }
}

/// Writes each part but the first on a thread of its own; the calling thread writes the first. The
/// parts ascend, and become one load. Where one of them fails, or has a key twice, nothing is left.
fn by_threads<P: Send>(
    shared: &Arc<Shared>,
    parts: Vec<P>,
    write: impl Fn(P) -> Result<Sorted, StoreError> + Sync,
) -> Result<Sorted, StoreError> {
    let mut parts = parts.into_iter();
    let first = parts.next();
    let written: Vec<Result<Sorted, StoreError>> = std::thread::scope(|scope| {
        let write = &write;
        let begin = |part| {
            let thread = std::thread::Builder::new().name(THREAD.to_owned());
            let thread = thread.spawn_scoped(scope, move || write(part));
            thread.map_err(StoreError::io("cannot start thread", THREAD))
        };
        let threads: Vec<_> = parts.map(begin).collect();
        let first = first.map(write);
        let join = |thread: ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        let others = threads.into_iter().map(|thread| thread.and_then(join));
        first.into_iter().chain(others).collect()
    });
    let (mut loads, mut other) = (Vec::new(), None);
    for part in written {
        match part {
            Ok(Sorted::Loaded(loaded)) => loads.push(loaded),
            part => other = other.or(Some(part)),
        }
    }
    let Some(other) = other else { return Ok(Sorted::Loaded(Loaded::join(loads))) };
    loads.iter().for_each(|loaded| shared.discard(loaded.metas()));
    other
}

/// A run, or why there is none.
type RunOrDuplicate = Result<Spilled, DuplicateKey>;

/// A thread that writes buffers, one at a time, and gives them back. Dropping it waits for the thread, and removes the
/// files that the sorter has not taken.
struct WriterThread {
    /// `None` once no more buffers come.
    full: Option<SyncSender<Gathered>>,
    written: Receiver<(Gathered, Result<RunOrDuplicate, StoreError>)>,
    /// It has a buffer.
    is_busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    fn begin(form: &Form, shared: &Arc<Shared>) -> Result<WriterThread, StoreError> {
        let (full, buffers) = sync_channel::<Gathered>(1);
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
    fn write(&mut self, buffer: Gathered) {
        assert!(!self.is_busy, "one buffer at a time");
        let is_sent = self.full.as_ref().is_some_and(|full| full.send(buffer).is_ok());
        if !is_sent {
            self.fail();
        }
        self.is_busy = true;
    }

    /// Waits for the buffer that it has.
    fn wait(&mut self) -> Result<Option<(Gathered, RunOrDuplicate)>, StoreError> {
        if !std::mem::take(&mut self.is_busy) {
            return Ok(None);
        }
        let (buffer, run) = self.written.recv().unwrap_or_else(|_| self.fail());
        Ok(Some((buffer, run?)))
    }

    /// Resumes the panic that has ended the thread.
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
        // No caller is left that could get the error of the thread.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Entries of one table being sorted. Dropped unfinished, it leaves nothing.
pub struct Sorter {
    form: Form,
    buffer_bytes: usize,
    buffer: Gathered,
    writer: Option<WriterThread>,
    runs: Vec<Spilled>,
    /// The runs will be merged, because the entries of the first one did not come in order.
    will_merge: bool,
    duplicate: Option<DuplicateKey>,
}

/// A sorted run in files. Dropping it removes the files, unless they were taken.
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

/// A key that came more than once.
#[derive(Debug)]
pub struct DuplicateKey {
    /// The key.
    pub key: Vec<u8>,
    /// Its second value.
    pub value: Vec<u8>,
}

/// The result of a sort.
#[derive(Debug)]
pub enum Sorted {
    /// The entries are in files, durable, and invisible until [`Store::ingest`].
    Loaded(Loaded),
    /// A key came twice, so there are no files.
    Duplicate(DuplicateKey),
}

impl Store {
    /// True if no version of any key of `table` was ever written, or none is kept.
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
            form: Form { table, encoder: None, is_scratch: false, threads: 0 },
            buffer_bytes,
            buffer: Gathered::default(),
            writer: None,
            runs: Vec::new(),
            will_merge: false,
            duplicate: None,
        }
    }

    /// The same, whose files so many threads write and merge.
    #[cfg(test)]
    pub(crate) fn by_threads(mut self, threads: usize) -> Sorter {
        self.form.threads = threads;
        self
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
        let put =
            self.buffer.entries().put(key, write, (key::KEY_MAX, VALUE_MAX), self.buffer_bytes);
        put.map_err(|(key, value)| StoreError::TooLarge { key, value })
    }

    /// Adds an entry for each item: its key is the item and then `rest`, which no two calls have alike. A sorter takes
    /// items or whole entries.
    ///
    /// # Errors
    /// As [`Sorter::put`].
    pub fn put_items<'i>(
        &mut self,
        store: &Store,
        items: impl Iterator<Item = &'i [u8]>,
        rest: &[u8],
        value: &[u8],
    ) -> Result<(), StoreError> {
        if self.buffer.bytes() >= 2 * self.buffer_bytes {
            self.spill(store)?;
        }
        let postings = self.buffer.items();
        let is_put = postings.put_row(rest, value);
        for item in items {
            let key = item.len() + rest.len();
            if key > key::KEY_MAX || !is_put {
                return Err(StoreError::TooLarge { key, value: value.len() });
            }
            postings.put_item(item);
        }
        Ok(())
    }

    /// Returns how many entries there are, as long as all are in memory.
    pub fn in_memory(&self) -> Option<usize> {
        (!self.has_spilled()).then(|| self.buffer.len())
    }

    /// Returns true if the buffer is to be written. A buffer for columns ends with a full stripe, if it is more than half
    /// full then: the rest would make a short stripe, with a dictionary of its own or none.
    fn is_full(&self) -> bool {
        let bytes = self.buffer.bytes();
        let ends_stripe = || {
            let encoder = self.form.encoder.as_ref();
            encoder.is_some_and(|encoder| {
                self.buffer.len().is_multiple_of(encoder.stripe_rows().min(STRIPE_ROWS_MAX))
            })
        };
        bytes >= self.buffer_bytes || bytes > self.buffer_bytes / 2 && ends_stripe()
    }

    /// Gives the full buffer to the writing thread, as soon as it has written the one before.
    fn spill(&mut self, store: &Store) -> Result<(), StoreError> {
        let empty = self.wait()?.unwrap_or_default();
        let full = std::mem::replace(&mut self.buffer, empty);
        // After a duplicate key the sort fails, so later entries are dropped.
        if self.duplicate.is_none() {
            let writer = match self.writer.take() {
                Some(writer) => writer,
                None => {
                    self.will_merge = full.is_mixed();
                    WriterThread::begin(&self.run_form(), &store.shared)?
                }
            };
            self.writer.insert(writer).write(full);
        }
        Ok(())
    }

    /// Returns how the entries of one buffer are written.
    fn run_form(&self) -> Form {
        if self.will_merge { self.form.to_be_merged() } else { self.form.clone() }
    }

    /// Waits for the other thread, and returns the buffer that it had.
    fn wait(&mut self) -> Result<Option<Gathered>, StoreError> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        let Some((buffer, run)) = writer.wait()? else { return Ok(None) };
        self.take(run);
        Ok(Some(buffer))
    }

    fn take(&mut self, run: RunOrDuplicate) {
        match run {
            Ok(run) => self.runs.push(run),
            Err(duplicate) => self.duplicate = self.duplicate.take().or(Some(duplicate)),
        }
    }

    /// Writes the rest where some was written already.
    fn end_runs(&mut self, store: &Store) -> Result<(), StoreError> {
        let last = match self.buffer.len() == 0 || self.duplicate.is_some() {
            true => None,
            // Beside the other thread.
            false => Some(self.run_form().spill(&store.shared, &mut self.buffer)?),
        };
        self.wait()?;
        self.writer = None;
        last.into_iter().for_each(|run| self.take(run));
        self.buffer = Gathered::default();
        Ok(())
    }

    fn has_spilled(&self) -> bool {
        self.writer.is_some() || !self.runs.is_empty() || self.duplicate.is_some()
    }

    /// Ends the sort.
    ///
    /// # Errors
    /// Fails if files cannot be read or written; nothing is left then.
    pub fn finish(mut self, store: &Store) -> Result<Sorted, StoreError> {
        if !self.has_spilled() {
            return self.form.write(&store.shared, &mut self.buffer);
        }
        self.end_runs(store)?;
        if let Some(duplicate) = self.duplicate.take() {
            return Ok(Sorted::Duplicate(duplicate));
        }
        let are_in_order =
            self.runs.windows(2).all(|pair| match (pair[0].ends(), pair[1].ends()) {
                (Some((_, last)), Some((first, _))) => last < first,
                _ => true,
            });
        if are_in_order && !self.will_merge {
            let loads = self.runs.iter_mut().filter_map(|run| run.loaded.take());
            return Ok(Sorted::Loaded(Loaded::join(loads)));
        }
        self.merge(store)
    }

    /// Ends the sort and calls `each` with each key and value in order, until it fails. No key came twice.
    ///
    /// # Errors
    /// Returns the error of `each`, or fails if files cannot be read or written.
    pub fn walk<E: From<StoreError>>(
        mut self,
        store: &Store,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.has_spilled() {
            self.buffer.sort();
            return match &self.buffer {
                Gathered::Entries(buffer) => {
                    buffer.entries().try_for_each(|(key, value)| each(key, value))
                }
                Gathered::Items(postings) => postings.each(0..postings.len(), each),
            };
        }
        self.end_runs(store)?;
        let runs = self.staged();
        each_of_runs(&runs, Part::default(), |key, value| {
            each(key, value).map(ControlFlow::Continue)
        })
    }

    /// Merges the runs into one, by several threads where they are large.
    fn merge(&self, store: &Store) -> Result<Sorted, StoreError> {
        let runs = self.staged();
        let bytes: u64 = runs.iter().flat_map(|run| run.metas()).map(|meta| meta.bytes).sum();
        let keys = part_keys(&runs, self.form.threads_for(bytes))?;
        let (form, shared) = (&self.form, &store.shared);
        by_threads(shared, Part::between(&keys), |part| form.merge(shared, &runs, part))
    }

    /// The runs, to be read.
    fn staged(&self) -> Vec<Arc<Run>> {
        self.runs.iter().filter_map(|run| Some(run.staged.as_ref()?.run().clone())).collect()
    }
}
