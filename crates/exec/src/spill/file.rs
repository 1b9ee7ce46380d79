//! [`TempFolder`], [`Writer`], [`Tape`], [`Reader`]: files that records are appended to and read from,
//! each record with its length in front (u32, little-endian).
//!
//! ```text
//!   file    len record len record len record ...
//!           └─── Tape, of one use ──┘└─ the next one of the same writer
//! ```

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use types::{Error, Result};
use vfs::{File, OpenMode, Vfs};

use super::read_row;
use crate::op::Row;

/// How many bytes are written at once.
const WRITE_BYTES: usize = 16 << 10;
/// How many bytes are read at once, at least.
const READ_BYTES: usize = 16 << 10;

/// Bytes that a thread has read from and written to temporary files, and how many it has made.
#[derive(Clone, Copy, Debug, Default)]
pub struct TempBytes {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Files made.
    pub files: u64,
}

thread_local! {
    static OF_THREAD: Cell<TempBytes> = const { Cell::new(TempBytes { read: 0, written: 0, files: 0 }) };
}

impl TempBytes {
    /// Those of the calling thread since it began.
    pub fn of_thread() -> TempBytes {
        OF_THREAD.get()
    }

    fn count(read: usize, written: usize) {
        let before = OF_THREAD.get();
        OF_THREAD.set(TempBytes {
            read: before.read + read as u64,
            written: before.written + written as u64,
            ..before
        });
    }

    fn count_file() {
        let before = OF_THREAD.get();
        OF_THREAD.set(TempBytes { files: before.files + 1, ..before });
    }
}

/// The folder of temporary files of a database. No other process may have it open.
pub struct TempFolder {
    fs: Arc<dyn Vfs>,
    dir: PathBuf,
    next: AtomicU64,
}

impl TempFolder {
    /// Opens a folder and removes all that is in it: what a crash has left.
    ///
    /// # Errors
    /// Fails if it cannot be made, or its contents cannot be removed.
    pub fn open(fs: &Arc<dyn Vfs>, dir: &Path) -> io::Result<Arc<Self>> {
        if fs.exists(dir)? {
            for left in fs.list(dir)? {
                fs.remove(&left)?;
            }
        } else {
            fs.create_dir_all(dir)?;
        }
        Ok(Arc::new(Self { fs: Arc::clone(fs), dir: dir.to_owned(), next: AtomicU64::new(0) }))
    }

    /// How many files have been made so far.
    pub fn files_made(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    pub(super) fn create(self: &Arc<Self>) -> Result<Arc<TempFile>> {
        let path = self.dir.join(format!("{}.tmp", self.next.fetch_add(1, Ordering::Relaxed)));
        let file = self.fs.open(&path, OpenMode::CreateNew).map_err(|error| failed(&error))?;
        TempBytes::count_file();
        Ok(Arc::new(TempFile { file, path, folder: Arc::clone(self) }))
    }
}

/// The error of a temporary file.
pub(super) fn failed(error: &io::Error) -> Error {
    Error::new(Error::state_of_io(error), format!("could not use a temporary file: {error}"))
}

/// A file that is removed when its last user drops it.
pub(super) struct TempFile {
    file: Arc<dyn File>,
    path: PathBuf,
    folder: Arc<TempFolder>,
}

impl TempFile {
    /// Writes bytes at a place.
    pub(super) fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        self.file.write_all_at(bytes, at).map_err(|error| failed(&error))?;
        TempBytes::count(0, bytes.len());
        Ok(())
    }

    /// Fills a buffer from a place on.
    pub(super) fn read(&self, out: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(out, at)?;
        TempBytes::count(out.len(), 0);
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // A file that cannot be removed now is removed when the folder is opened again.
        let _ = self.folder.fs.remove(&self.path);
    }
}

/// Appends records to a file of its own, which is made with the first bytes that are written.
pub(crate) struct Writer {
    folder: Arc<TempFolder>,
    file: Option<Arc<TempFile>>,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file, and where the tape that is being written does.
    at: u64,
    start: u64,
    records: u64,
}

impl Writer {
    pub(crate) fn new(folder: &Arc<TempFolder>) -> Self {
        let folder = Arc::clone(folder);
        Self { folder, file: None, buffer: Vec::new(), at: 0, start: 0, records: 0 }
    }

    /// Appends the record that `write` writes.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        write(&mut self.buffer);
        let length = (self.buffer.len() - start - 4) as u32;
        self.buffer[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.records += 1;
        if self.buffer.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(self.folder.create()?),
        };
        file.write(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// The bytes that were written since the last call, as a tape that can be read any number of
    /// times.
    pub(crate) fn tape(&mut self) -> Result<Tape> {
        self.flush()?;
        let (start, records) = (self.start, std::mem::take(&mut self.records));
        self.start = self.at;
        Ok(Tape { file: self.file.clone(), start, end: self.at, records })
    }
}

/// Records that were written one after the other.
#[derive(Clone)]
pub(crate) struct Tape {
    /// None if there are no records.
    file: Option<Arc<TempFile>>,
    start: u64,
    end: u64,
    records: u64,
}

impl Tape {
    /// How many records it has.
    pub(crate) fn len(&self) -> u64 {
        self.records
    }

    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// A look at it from its beginning.
    pub(crate) fn read(&self) -> Reader {
        let (file, next, end) = (self.file.clone(), self.start, self.end);
        Reader { file, next, end, buffer: Vec::new(), at: 0 }
    }
}

/// Reads the records of a tape one after the other.
pub(crate) struct Reader {
    file: Option<Arc<TempFile>>,
    /// The position of the next read from the file, and the end of the tape.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Reader {
    /// The next record; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        if !self.has(4)? {
            return Ok(None);
        }
        let mut length = [0; 4];
        length.copy_from_slice(&self.buffer[self.at..self.at + 4]);
        let length = u32::from_le_bytes(length) as usize;
        if !self.has(4 + length)? {
            let end: io::Error = io::ErrorKind::UnexpectedEof.into();
            return Err(failed(&end));
        }
        let start = self.at + 4;
        self.at = start + length;
        Ok(Some(&self.buffer[start..self.at]))
    }

    /// Puts the next record, which is a row, into `out`; false at the end.
    pub(crate) fn row(&mut self, out: &mut Row) -> Result<bool> {
        match self.next()? {
            Some(mut record) => read_row(&mut record, out).map(|()| true),
            None => Ok(false),
        }
    }

    /// Reads until so many bytes are there; false if the tape ends before.
    fn has(&mut self, bytes: usize) -> Result<bool> {
        let left = self.buffer.len() - self.at;
        if left >= bytes {
            return Ok(true);
        }
        let Some(file) = &self.file else { return Ok(false) };
        let more = ((self.end - self.next) as usize).min((bytes - left).max(READ_BYTES));
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.resize(left + more, 0);
        file.read(&mut self.buffer[left..], self.next).map_err(|error| failed(&error))?;
        self.next += more as u64;
        Ok(left + more >= bytes)
    }
}
