//! Bytes of a file, piece by piece, and its lines. Data that gzip has compressed are decompressed.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use interchange::could_not;
use types::{Error, Result, SqlState};
use vfs::{Env, File, OpenMode};

/// Bytes that are read together.
const PIECE_BYTES: usize = 256 << 10;
/// The longest line, in bytes: a value has as many at most.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 30;

/// The first bytes of a file of gzip; no text begins so.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A file that is read from its beginning.
pub(crate) struct Pieces {
    path: PathBuf,
    body: Body,
    bytes: u64,
}

enum Body {
    Plain(Bytes),
    Gzip(Box<MultiGzDecoder<Bytes>>),
}

/// The bytes of a file, one after the other.
struct Bytes {
    file: Arc<dyn File>,
    at: u64,
}

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Pieces {
    /// Opens a file.
    ///
    /// # Errors
    /// 58P01 where there is none, and the like.
    pub fn open(env: &Env, path: &Path) -> Result<Pieces> {
        let opened = env.fs.open(path, OpenMode::Read);
        let opened = opened.and_then(|file| file.len().map(|bytes| (file, bytes)));
        let (file, bytes) = opened.map_err(|error| could_not("open", path, &error))?;
        let mut head = [0; GZIP_MAGIC.len()];
        let read = file.read_at(&mut head, 0).map_err(|error| could_not("read", path, &error))?;
        let is_gzip = read == head.len() && head == GZIP_MAGIC;
        let plain = Bytes { file, at: 0 };
        let body = match is_gzip {
            true => Body::Gzip(Box::new(MultiGzDecoder::new(plain))),
            false => Body::Plain(plain),
        };
        Ok(Pieces { path: path.to_owned(), body, bytes })
    }

    /// The length of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many bytes of the file have been read.
    pub fn at(&self) -> u64 {
        match &self.body {
            Body::Plain(bytes) => bytes.at,
            Body::Gzip(decoder) => decoder.get_ref().at,
        }
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// 58030 where the file cannot be read, XX001 where gzip finds it damaged or cut off, 57014 where the statement is
    /// to stop.
    pub fn next(&mut self) -> Result<Vec<u8>> {
        interrupt::check()?;
        let mut piece = vec![0; PIECE_BYTES];
        let read = match &mut self.body {
            Body::Plain(bytes) => bytes.read(&mut piece),
            Body::Gzip(decoder) => decoder.read(&mut piece),
        };
        let read = read.map_err(|error| self.unread(&error))?;
        piece.truncate(read);
        Ok(piece)
    }

    fn unread(&self, error: &io::Error) -> Error {
        let is_damage = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
        );
        if !is_damage || matches!(self.body, Body::Plain(_)) {
            return could_not("read", &self.path, error);
        }
        let message = format!("file \"{}\" is damaged or incomplete", self.path.display());
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "It ends within what gzip has compressed.".to_owned(),
            _ => format!("gzip: {error}."),
        };
        Error::new(SqlState::DATA_CORRUPTED, message)
            .with_detail(why)
            .with_hint("Write the file again, or restore it from a copy.")
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;

    /// A small file of gzip that stands for very much is read in pieces like any other.
    #[test]
    fn much_that_gzip_made_small_comes_in_pieces() {
        const BYTES: usize = 64 << 20;
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
        let zeros = vec![b'0'; 1 << 20];
        (0..BYTES / zeros.len()).for_each(|_| encoder.write_all(&zeros).expect("memory takes all"));
        let packed = encoder.finish().expect("memory takes all");
        assert!(packed.len() < BYTES / 200, "{}", packed.len());
        let env = Env::sim(&vfs::SimVfs::new(7), 7);
        let file = env.fs.open(Path::new("/bomb.gz"), OpenMode::CreateNew).expect("it can be made");
        file.write_all_at(&packed, 0).expect("it can be written");
        let mut pieces = Pieces::open(&env, Path::new("/bomb.gz")).expect("it is there");
        let mut total = 0;
        loop {
            let piece = pieces.next().expect("it is whole");
            if piece.is_empty() {
                break;
            }
            assert!(piece.capacity() <= PIECE_BYTES);
            total += piece.len();
        }
        assert_eq!((total, pieces.at()), (BYTES, packed.len() as u64));
    }
}
