//! The errors of the log, and how the caller can respond to each.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Lsn;

/// An error of the commit log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A call of the operating system failed. If a sync returns it, the log is poisoned; reopening
    /// recovers all acknowledged frames. If an append returns it, there was no file for the frame, and
    /// nothing has changed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation that failed: a verb.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Data that was acknowledged is damaged. Nothing was changed: restore a backup, or the disk.
    #[error("{} is damaged at byte {offset}: {detail}", file.display())]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// Where in it, in bytes.
        offset: u64,
        /// The check that failed.
        detail: String,
    },
    /// The file was written by a later version of this program; use that one.
    #[error("{} has format version {found}; this program reads version {known}", file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// The version it declares.
        found: u32,
        /// The version written by this program.
        known: u32,
    },
    /// An earlier write or sync failed: what is on the disk is uncertain until the log is reopened.
    #[error("the log takes no more frames until it is opened again, because: {cause}")]
    Poisoned {
        /// The failure.
        #[source]
        cause: Arc<LogError>,
    },
    /// The thread that wrote to the log panicked.
    #[error("a thread that wrote to the log panicked")]
    WriterDied,
    /// A successor has taken this log over; its owner must stop.
    #[error("the log was fenced: a successor has taken over")]
    Fenced,
    /// The payload is larger than a frame may be; write it as several, or by reference.
    #[error("a payload of {bytes} bytes exceeds the limit of {limit} bytes")]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The largest size in bytes.
        limit: usize,
    },
    /// The position was released and is not kept any more; start from a checkpoint at or past `oldest`.
    #[error("position {wanted} was released; the oldest kept is {oldest}")]
    Released {
        /// The position asked for.
        wanted: Lsn,
        /// The oldest position that can be read.
        oldest: Lsn,
    },
    /// The position was never appended: a mistake of the caller.
    #[error("position {wanted} is beyond the end of the log, {end}")]
    Beyond {
        /// The position asked for.
        wanted: Lsn,
        /// The end of the log.
        end: Lsn,
    },
    /// The visitor of the replay failed; its error is the source.
    #[error("replaying the log failed: {0}")]
    Replay(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl LogError {
    /// Returns a copy of the error for later callers; the error itself goes to the caller whose write failed.
    pub(crate) fn repeated(&self) -> LogError {
        match self {
            LogError::Io { action, path, source } => {
                let source = match source.raw_os_error() {
                    Some(number) => io::Error::from_raw_os_error(number),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                LogError::Io { action, path: path.clone(), source }
            }
            LogError::Corrupt { file, offset, detail } => {
                LogError::Corrupt { file: file.clone(), offset: *offset, detail: detail.clone() }
            }
            LogError::Poisoned { cause } => LogError::Poisoned { cause: Arc::clone(cause) },
            LogError::WriterDied => LogError::WriterDied,
            LogError::Fenced => LogError::Fenced,
            other => LogError::Replay(other.to_string().into()),
        }
    }

    /// For `map_err`: an I/O error of `action` on `path`.
    pub(crate) fn io<'a>(
        action: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> LogError + 'a {
        move |source| LogError::Io { action, path: path.to_path_buf(), source }
    }
}
