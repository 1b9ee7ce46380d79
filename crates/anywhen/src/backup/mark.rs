//! [`BackupMark`]: the file `BACKUP`, which records whether a backup is whole, and its contents.
//!
//! ```text
//!   0         8          12      13     16    24        32            40
//!   ┌─────────┬──────────┬───────┬──────┬─────┬─────────┬─────────────┬────────────┐
//!   │ magic 8 │ version 4│ state │ zero │ csn │ time_us │ complete_us │ crc32c u32 │
//!   └─────────┴──────────┴───────┴──────┴─────┴─────────┴─────────────┴────────────┘
//! ```

use super::{BackupError, io, read, remove_if_there, write};
use crate::{Csn, Result};
use std::path::{Path, PathBuf};
use vfs::Env;

const MAGIC: &[u8; 8] = b"awhenbak";
const VERSION: u32 = 1;
const NAME: &str = "BACKUP";
const NAME_NEW: &str = "BACKUP.new";
const BYTES: usize = 44;
const BODY: usize = BYTES - 4;

/// A commit up to which a backup has everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupMark {
    /// Its number.
    pub csn: Csn,
    /// Its time in microseconds since 1970 UTC; 0 of commit 0.
    pub time_us: u64,
    /// Every commit up to this time is in the backup, in microseconds since 1970 UTC.
    pub complete_us: u64,
}

/// The state that the file of a folder records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is no such file: the folder is empty, something else, or a backup of a release before this one.
    Unknown,
    /// A copy has begun.
    Begun,
    /// It is whole.
    Whole(BackupMark),
}

impl State {
    /// Reads the file of a folder.
    pub(super) fn read(env: &Env, folder: &Path) -> Result<State> {
        let path = path(folder);
        if !env.fs.exists(&path).map_err(io(&path))? {
            return Ok(State::Unknown);
        }
        let bytes = read(env, &path)?;
        let decoded = State::decode(&bytes);
        Ok(decoded.map_err(|what| BackupError::Mark { path, what })?)
    }

    /// Replaces the file of a folder, durably.
    pub(super) fn write(self, env: &Env, folder: &Path) -> Result<()> {
        let new = folder.join(NAME_NEW);
        remove_if_there(env, &new)?;
        write(env, &new, &self.encode())?;
        env.fs.rename(&new, &path(folder)).map_err(io(&new))?;
        env.fs.sync_dir(folder).map_err(io(folder))
    }

    fn encode(self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        let (state, mark) = match self {
            State::Whole(mark) => (1, mark),
            State::Unknown | State::Begun => (0, BackupMark::default()),
        };
        out.extend_from_slice(&[state, 0, 0, 0]);
        for number in [mark.csn.0, mark.time_us, mark.complete_us] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Result<State, &'static str> {
        let word = |at: usize| {
            bytes
                .get(at..at + 8)
                .and_then(|word| word.try_into().ok())
                .map_or(0, u64::from_le_bytes)
        };
        if !bytes.starts_with(MAGIC) {
            return Err("this is not the mark of a backup");
        }
        let half = |at: usize| (word(at) & u64::from(u32::MAX)) as u32;
        if bytes.len() >= 16 && half(8) != VERSION {
            return Err("a newer release wrote this backup");
        }
        let Some((body, crc)) = bytes.split_at_checked(BODY) else {
            return Err("the mark of the backup is cut short");
        };
        if crc != crc32c::crc32c(body).to_le_bytes() {
            return Err("the checksum of the mark does not match");
        }
        match bytes[12] {
            0 => Ok(State::Begun),
            1 => Ok(State::Whole(BackupMark {
                csn: Csn(word(16)),
                time_us: word(24),
                complete_us: word(32),
            })),
            _ => Err("the mark of the backup has an unknown state"),
        }
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark comes back as it was, and no flipped bit or cut goes unnoticed.
    #[test]
    fn a_mark_comes_back_or_is_refused() {
        let whole = State::Whole(BackupMark { csn: Csn(7), time_us: 8, complete_us: 9 });
        for state in [State::Begun, whole] {
            let bytes = state.encode();
            assert_eq!(bytes.len(), BYTES);
            assert_eq!(State::decode(&bytes), Ok(state));
            for bit in 0..bytes.len() * 8 {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(State::decode(&bad).is_err(), "bit {bit}");
            }
            for cut in 0..bytes.len() {
                assert!(State::decode(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
    }
}
