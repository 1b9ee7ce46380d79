//! Bytes of a file, piece by piece, and its lines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use interchange::could_not;
use types::{Error, Result, SqlState};
use vfs::{Env, File, OpenMode};

/// Bytes that are read together.
const PIECE_BYTES: usize = 256 << 10;
/// The longest line, in bytes: a value has as many at most.
const LINE_BYTES_MAX: usize = 1 << 30;

/// A file that is read from its beginning.
pub(crate) struct Pieces {
    path: PathBuf,
    file: Arc<dyn File>,
    at: u64,
    bytes: u64,
}

impl Pieces {
    /// Opens a file.
    ///
    /// # Errors
    /// 58P01 where there is none, and its kin.
    pub fn open(env: &Env, path: &Path) -> Result<Pieces> {
        let opened = env.fs.open(path, OpenMode::Read);
        let opened = opened.and_then(|file| file.len().map(|bytes| (file, bytes)));
        let (file, bytes) = opened.map_err(|error| could_not("open", path, &error))?;
        Ok(Pieces { path: path.to_owned(), file, at: 0, bytes })
    }

    /// The length of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many bytes have been read.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// 58030 where the file cannot be read, 57014 where the statement is to stop.
    pub fn next(&mut self) -> Result<Vec<u8>> {
        interrupt::check()?;
        let mut piece = vec![0; PIECE_BYTES];
        let read = self.file.read_at(&mut piece, self.at);
        let read = read.map_err(|error| could_not("read", &self.path, &error))?;
        piece.truncate(read);
        self.at += read as u64;
        Ok(piece)
    }
}

/// The lines of a file.
pub(super) struct Lines {
    pub pieces: Pieces,
    buffer: Vec<u8>,
    start: usize,
    /// How far the buffer was searched for an end of line.
    searched: usize,
    ended: bool,
}

impl Lines {
    pub fn open(env: &Env, path: &Path) -> Result<Lines> {
        let pieces = Pieces::open(env, path)?;
        Ok(Lines { pieces, buffer: Vec::new(), start: 0, searched: 0, ended: false })
    }

    /// The next line without its end; `None` at the end.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
            let end = match found {
                Some(at) => self.searched + at,
                None if self.ended && self.start == self.buffer.len() => return Ok(None),
                None if self.ended => self.buffer.len(),
                None => {
                    self.buffer.drain(..self.start);
                    self.start = 0;
                    self.searched = self.buffer.len();
                    if self.buffer.len() > LINE_BYTES_MAX {
                        let message = format!("a line has more than {LINE_BYTES_MAX} bytes");
                        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
                    }
                    let piece = self.pieces.next()?;
                    self.ended = piece.is_empty();
                    self.buffer.extend_from_slice(&piece);
                    continue;
                }
            };
            let line = self.start..end;
            self.start = (end + 1).min(self.buffer.len());
            self.searched = self.start;
            let line = &self.buffer[line];
            return Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)));
        }
    }
}
