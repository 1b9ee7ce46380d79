//! The errors of the store, and how the caller can respond to each.
//!
//! ```text
//!   Io                      the disk said no: free space or repair, then try again (unless poisoned)
//!   Full                    files cannot be written and memory is full: repair, then try again
//!   Corrupt, Missing        a file is damaged or gone: restore it from a backup; nothing was guessed
//!   Poisoned                a failed sync or manifest swap: reads go on, writes need a reopening
//!   Fenced                  another opener has taken the store over: stop, and use that one
//!   Forgotten               retention has dropped the versions of the read
//!   NoBase, Merge, Order    the caller broke the contract of `apply`
//! ```

use crate::segment_store::{Epoch, SwapError};
use crate::{Csn, TableId};
use std::error::Error;
use std::io;
use std::sync::Arc;

/// A failure of the versioned store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file operation failed; `file` names the file or directory.
    #[error("{what} {file}: {source}")]
    Io {
        /// The operation that failed, as "cannot read".
        what: &'static str,
        /// The file or directory.
        file: String,
        /// The reason given by the system.
        source: io::Error,
    },
    /// A file does not hold what was written to it. Restore it from a backup.
    #[error("{file} is damaged at byte {offset}: {what}")]
    Corrupt {
        /// The damaged file.
        file: String,
        /// Where in the file, in bytes.
        offset: u64,
        /// Which check failed.
        what: &'static str,
    },
    /// The manifest names a file that is not there. Restore it from a backup.
    #[error("the store is damaged: {file}, which the manifest names, is missing")]
    Missing {
        /// The missing file.
        file: String,
    },
    /// The file was written by a newer program.
    #[error("{file} has format version {found}; this program reads up to {known}")]
    Version {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest version known.
        known: u32,
    },
    /// A delta has no base: the key had no live version below it.
    #[error("table {} is damaged: it has a delta at commit {} on a key without a live version", table.0, csn.0)]
    NoBase {
        /// The table.
        table: TableId,
        /// The commit of the delta.
        csn: Csn,
    },
    /// The table's own merge function refused.
    #[error("table {} is damaged: the deltas of a key up to commit {} do not merge: {source}", table.0, csn.0)]
    Merge {
        /// The table.
        table: TableId,
        /// The newest delta.
        csn: Csn,
        /// The table's reason.
        source: MergeError,
    },
    /// `apply` was called with a commit number that is not above the last one.
    #[error("commit {} cannot be applied after commit {}", csn.0, last.0)]
    Order {
        /// The number given.
        csn: Csn,
        /// The newest number applied or flushed.
        last: Csn,
    },
    /// A key or value is larger than the store takes.
    #[error(
        "a key of {key} bytes with a value of {value} bytes is too large (limits: 65,000 and 1 GiB)"
    )]
    TooLarge {
        /// Bytes of the key.
        key: usize,
        /// Bytes of the value.
        value: usize,
    },
    /// The state asked for was dropped by retention.
    #[error("table {} no longer keeps its state as of commit {}; the oldest one is that of commit {}", table.0, at.0, horizon.0)]
    Forgotten {
        /// The table.
        table: TableId,
        /// The commit asked for.
        at: Csn,
        /// The first commit whose state is still whole.
        horizon: Csn,
    },
    /// A bulk load was given keys out of order, or a key that has a version already.
    #[error("bulk load of table {}: {what}", table.0)]
    Bulk {
        /// The table.
        table: TableId,
        /// Which rule was broken.
        what: &'static str,
    },
    /// Memory is full, because flushes fail. The store tries them again.
    #[error("the store takes no writes while its files cannot be written: {cause}")]
    Full {
        /// Why the last attempt failed.
        #[source]
        cause: Arc<StoreError>,
    },
    /// Another opener of the same store has replaced the manifest: it writes, and this one must stop.
    #[error(
        "{file} was replaced by another opener of the store: epoch {} was expected, {} was found",
        expected.0,
        found.map_or("none".to_string(), |epoch| epoch.0.to_string())
    )]
    Fenced {
        /// The manifest.
        file: String,
        /// The epoch of the manifest that this opener wrote or read last.
        expected: Epoch,
        /// The epoch of the existing manifest; none if there is no manifest.
        found: Option<Epoch>,
    },
    /// An earlier failure left the disk in an unknown state. Reads go on; reopen to write again.
    #[error("the store takes no more writes until it is opened again, because: {cause}")]
    Poisoned {
        /// The failure that poisoned the store.
        #[source]
        cause: Arc<StoreError>,
    },
}

impl StoreError {
    /// The error of a manifest that was not replaced.
    pub(crate) fn swap(error: SwapError, file: String, expected: Epoch) -> StoreError {
        match error {
            SwapError::Unchanged(e) => StoreError::io("cannot write", file)(e),
            SwapError::Fenced { found } => StoreError::Fenced { file, expected, found },
            SwapError::Unknown(e) => StoreError::io("cannot replace", file)(e),
        }
    }

    pub(crate) fn io(
        what: &'static str,
        file: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> StoreError {
        let file = file.into();
        move |source| StoreError::Io { what, file, source }
    }
}

/// Why a table could not merge deltas into an image.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MergeError(#[source] Box<dyn Error + Send + Sync>);

impl MergeError {
    /// Wraps a reason: a text or another error.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> MergeError {
        MergeError(reason.into())
    }
}
