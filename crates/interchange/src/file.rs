//! Files of `vfs` as the decoders and encoders want them.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use types::{Error, SqlState};
use vfs::{Env, File, OpenMode};

/// Bytes that are written, or read, together.
const PIECE_BYTES: usize = 256 << 10;

/// A file that is read at any place.
#[derive(Clone)]
pub(crate) struct Source {
    pub file: Arc<dyn File>,
    pub bytes: u64,
}

impl Source {
    pub fn new(file: Arc<dyn File>) -> io::Result<Source> {
        let bytes = file.len()?;
        Ok(Source { file, bytes })
    }

    /// Some bytes, whose number is compared with the length of the file first.
    pub fn bytes_at(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Source {
    type T = Cursor;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Cursor> {
        Ok(Cursor::new(self.clone(), start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let bytes = self.bytes_at(start, length);
        bytes.map(Bytes::from).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// A file that is read from a place on, in pieces.
pub(crate) struct Cursor {
    source: Source,
    /// The offset in the file behind the piece.
    next: u64,
    piece: Vec<u8>,
    at: usize,
}

impl Cursor {
    pub fn new(source: Source, start: u64) -> Cursor {
        Cursor { source, next: start, piece: Vec::new(), at: 0 }
    }
}

impl Read for Cursor {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            let rest = self.source.bytes.saturating_sub(self.next);
            let length = rest.min(PIECE_BYTES as u64) as usize;
            self.piece = self.source.bytes_at(self.next, length)?;
            (self.next, self.at) = (self.next + length as u64, 0);
        }
        let length = out.len().min(self.piece.len() - self.at);
        out[..length].copy_from_slice(&self.piece[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// A file that replaces the file at its path once it is complete.
///
/// The bytes go into a temporary file in the same folder. [`Replacement::finish`] syncs that file, renames it and syncs
/// the folder. Dropping an unfinished replacement removes the temporary file.
pub struct Replacement {
    env: Env,
    path: PathBuf,
    beside: PathBuf,
    file: Arc<dyn File>,
    /// The bytes that are not written yet.
    buffer: Vec<u8>,
    offset: u64,
    is_finished: bool,
}

impl Replacement {
    /// Begins a file that is going to be at `path`.
    ///
    /// # Errors
    /// Fails if no file can be made in that folder, or if a directory, a device or a pipe has that name.
    pub fn begin(env: &Env, path: &Path) -> io::Result<Replacement> {
        if env.fs.exists(path)? {
            require_regular(env, path)?;
        }
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        let beside = path.with_file_name(format!(".{name}.{:016x}", env.random.next_u64()));
        let file = env.fs.open(&beside, OpenMode::CreateNew)?;
        let buffer = Vec::with_capacity(PIECE_BYTES);
        let (env, path) = (env.clone(), path.to_owned());
        Ok(Replacement { env, path, beside, file, buffer, offset: 0, is_finished: false })
    }

    /// Makes the file durable under its name.
    ///
    /// # Errors
    /// Fails if the disk fails; the existing file is then unchanged.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_all()?;
        self.env.fs.rename(&self.beside, &self.path)?;
        self.is_finished = true;
        match self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => self.env.fs.sync_dir(folder),
            None => self.env.fs.sync_dir(Path::new(".")),
        }
    }
}

/// Fails if the existing `path` is not a regular file: a device such as `/dev/null` must not be replaced by a file.
fn require_regular(env: &Env, path: &Path) -> io::Result<()> {
    let file = env.fs.open(path, OpenMode::ReadWrite)?;
    // Devices and pipes have no length, and refuse to be given one.
    if file.is_empty()? {
        file.set_len(0)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))?;
    }
    Ok(())
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.offset)?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_finished {
            // No reader uses this name, so a file that cannot be removed only takes space.
            let _ = self.env.fs.remove(&self.beside);
        }
    }
}

/// Returns the error of a file that could not be opened, read or written; `what` is that verb.
pub fn could_not(what: &str, path: &Path, error: &io::Error) -> Error {
    let state = match error.kind() {
        io::ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        io::ErrorKind::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SqlState::DISK_FULL,
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => SqlState::WRONG_OBJECT_TYPE,
        _ => SqlState::IO_ERROR,
    };
    let why = match error.kind() {
        io::ErrorKind::NotFound => "No such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
        _ => error.to_string(),
    };
    Error::new(state, format!("could not {what} file \"{}\": {why}", path.display()))
}
