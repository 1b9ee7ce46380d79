//! Segments: the files that hold the stream, end to end.
//!
//! ```text
//!   00000007.log                                      00000008.log
//!   ┌────────┬───────┬─────────┬───────┬───────┬─┐    ┌────────┬───────┬───────────────────
//!   │ header │ frame │ frame   │ frame │ first │ │    │ header │ last  │ zeroes or the past
//!   └────────┴───────┴─────────┴───────┴───────┴─┘    └────────┴───────┴───────────────────
//!   0        512                                 size
//!            first_lsn ───────────────────────>│       first_lsn (the same position)
//! ```
//!
//! A file is in use when its header verifies and names the number in its file name. A file of
//! zeroes, or one renamed whose header still names its former number, is reserve. The header has a
//! sector of its own, so that it is written whole or not at all.
//!
//! # Invariants
//! * A segment is filled to within less than [`ROOM_MIN`] bytes before the next one starts.
//! * `size` is a multiple of 512; every use of a file has a fresh random epoch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vfs::File;

use crate::error::LogError;
use crate::frame::{ROOM_MIN, u32_at, u64_at};

/// Where the frames start.
pub(crate) const DATA_START: u64 = 512;
/// The version of the format written here.
pub(crate) const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"anywhenL";
const HEADER_BYTES: usize = 52;

/// The content of the first sector of a segment in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub number: u64,
    pub epoch: u64,
    pub first_lsn: u64,
    /// The size of the file in bytes.
    pub size: u64,
}

/// The state of a first sector that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Zeroes, or the header of an earlier use under another number.
    Unused,
    Used(Header),
    /// Damaged: neither of the two.
    Damaged,
    /// Written by a later program.
    Version(u32),
}

impl Header {
    pub fn encode(&self) -> [u8; DATA_START as usize] {
        let mut sector = [0; DATA_START as usize];
        sector[0..8].copy_from_slice(&MAGIC);
        sector[8..12].copy_from_slice(&VERSION.to_le_bytes());
        sector[16..24].copy_from_slice(&self.number.to_le_bytes());
        sector[24..32].copy_from_slice(&self.epoch.to_le_bytes());
        sector[32..40].copy_from_slice(&self.first_lsn.to_le_bytes());
        sector[40..48].copy_from_slice(&self.size.to_le_bytes());
        let crc = crc32c::crc32c(&sector[..HEADER_BYTES - 4]);
        sector[48..52].copy_from_slice(&crc.to_le_bytes());
        sector
    }

    /// Reads the first sector of the file whose name says `number`.
    pub fn decode(sector: &[u8], number: u64) -> Found {
        if sector.iter().all(|&b| b == 0) {
            return Found::Unused;
        }
        if sector.len() < HEADER_BYTES
            || sector[..8] != MAGIC
            || crc32c::crc32c(&sector[..HEADER_BYTES - 4]) != u32_at(sector, 48)
        {
            return Found::Damaged;
        }
        if u32_at(sector, 8) != VERSION {
            return Found::Version(u32_at(sector, 8));
        }
        let header = Header {
            number: u64_at(sector, 16),
            epoch: u64_at(sector, 24),
            first_lsn: u64_at(sector, 32),
            size: u64_at(sector, 40),
        };
        if header.number == number { Found::Used(header) } else { Found::Unused }
    }
}

/// A segment in use.
#[derive(Clone)]
pub(crate) struct Segment {
    pub header: Header,
    pub path: Arc<Path>,
    pub file: Arc<dyn File>,
}

impl Segment {
    /// Where in the file the position lies.
    pub fn offset_of(&self, lsn: u64) -> u64 {
        debug_assert!(lsn >= self.header.first_lsn);
        DATA_START + (lsn - self.header.first_lsn)
    }

    /// The position just past the last byte this segment could hold.
    pub fn limit(&self) -> u64 {
        self.header.first_lsn + capacity(self.header.size)
    }

    /// True if the stream, having come to `lsn`, goes on in the next segment.
    pub fn is_full_at(&self, lsn: u64) -> bool {
        self.limit() - lsn < ROOM_MIN
    }

    /// Reads the stream from `from` up to `to`, or to the end of the file if that comes first.
    pub fn load(&self, from: u64, to: u64) -> Result<Vec<u8>, LogError> {
        let mut bytes = Vec::new();
        self.load_into(from, to, &mut bytes)?;
        Ok(bytes)
    }

    /// [`load`](Segment::load), in place of what `bytes` held.
    pub fn load_into(&self, from: u64, to: u64, bytes: &mut Vec<u8>) -> Result<(), LogError> {
        let to = to.min(self.limit());
        bytes.resize(to.saturating_sub(from) as usize, 0);
        let mut filled = 0;
        while filled < bytes.len() {
            let offset = self.offset_of(from) + filled as u64;
            let read = self.file.read_at(&mut bytes[filled..], offset);
            match read.map_err(LogError::io("read", &self.path))? {
                0 => break,
                n => filled += n,
            }
        }
        bytes.truncate(filled);
        Ok(())
    }
}

/// Bytes of the stream that fit a file of `size` bytes.
pub(crate) fn capacity(size: u64) -> u64 {
    size - DATA_START
}

/// The file name of a segment.
pub(crate) fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.log"))
}

/// The number in a segment's file name; none for any other file.
pub(crate) fn number_of(path: &Path) -> Option<u64> {
    let digits = path.file_name()?.to_str()?.strip_suffix(".log")?;
    (digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())?
}
