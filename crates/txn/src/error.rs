//! The errors of a transaction and of opening an engine, and how the caller can respond to each.
//!
//! ```text
//!   try again      Serialization 40001 · Deadlock 40P01 · LockTimeout, LockNotAvailable 55P03
//!   nothing to do  Interrupted 57014: the caller asked for it
//!   reopen, read   OutcomeUnknown 58030: the log failed during this commit; reopen to see whether it happened
//!   reopen         Refused · Closed 57P03: reads go on, writes fail
//!   use the leader Following 25006
//!   fix the call   NoBase 55000 · TooLarge 54000 · NoSuchCommit, ChangesForgotten 22023
//!   repair         Store or Log, XX001 if files are damaged · Damaged XX001
//! ```
//!
//! An error of the disk is 53100 if it is full, 58030 otherwise. An engine that a successor has
//! fenced returns 25006: write to the successor.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use log::{LogError, Lsn};
use store::{Csn, MergeError, StoreError, TableId};

use crate::bytes::Malformed;

/// The failure of the disk that stopped all writing. All later callers get a copy.
#[derive(Clone, Debug)]
pub struct Failure {
    error: Arc<dyn Error + Send + Sync>,
    state: &'static str,
}

impl Failure {
    pub(crate) fn of(error: impl Error + Send + Sync + 'static) -> Failure {
        let state = sqlstate_of(&error);
        Failure { error: Arc::new(error), state }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// The error of an operation of a transaction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TxnError {
    /// Another transaction committed first. Roll back and try again from the start.
    #[error("could not serialize access: {why}")]
    Serialization {
        /// Which rule was broken.
        why: SerializationFailure,
    },
    /// Waiting for the lock would have been a deadlock. Roll back and try again.
    #[error(
        "deadlock: the owner of the row waits, directly or through others, for this transaction"
    )]
    Deadlock,
    /// The row or relation stayed locked for the whole lock timeout.
    #[error("the row is locked by another transaction")]
    LockTimeout,
    /// The row or relation is locked, and the caller's thread may not wait at all: a lock timeout of zero. The caller
    /// runs the same again where it may wait.
    #[error("the row is locked by another transaction, and this thread may not wait")]
    Blocked,
    /// The row or relation is locked, and the caller asked not to wait.
    #[error("the row is locked by another transaction, and the caller asked not to wait")]
    LockNotAvailable,
    /// Another thread has interrupted a wait for a lock.
    #[error("the wait for a lock was interrupted")]
    Interrupted,
    /// The log failed during this commit. Only a reopened database shows whether it happened; until
    /// then nothing more is written.
    #[error("the outcome of this transaction is unknown until the database is reopened: {cause}")]
    OutcomeUnknown {
        /// The failure.
        #[source]
        cause: Failure,
    },
    /// An earlier failure stopped all writing. This transaction did not happen. Reads go on; reopen
    /// the database to write again.
    #[error("the database takes no more writes until it is opened again, because: {cause}")]
    Refused {
        /// The failure that stopped it.
        #[source]
        cause: Failure,
    },
    /// The engine follows another one, and makes no commits of its own. Write there.
    #[error("the database follows another one and takes no writes of its own")]
    Following,
    /// The engine has been closed. This transaction did not happen.
    #[error("the database is closed")]
    Closed,
    /// A delta was given for a key that has no value. Put a whole value instead.
    #[error("the key of a delta of table {} has no value", table.0)]
    NoBase {
        /// The table.
        table: TableId,
    },
    /// An item exceeds a limit of transactions. Divide it.
    #[error("{what} too large: {bytes}, and {max} are allowed")]
    TooLarge {
        /// The item that is too large.
        what: &'static str,
        /// Its size, in bytes (or operations).
        bytes: usize,
        /// The limit, in the same unit.
        max: usize,
    },
    /// There is no such commit, or it is not visible yet.
    #[error("there is no commit {}; the newest is {}", csn.0, newest.0)]
    NoSuchCommit {
        /// The number asked for.
        csn: Csn,
        /// The newest visible commit.
        newest: Csn,
    },
    /// The changes of a table are not kept that far back.
    #[error("the changes after commit {} are no longer kept; those after commit {} are", after.0, kept.0)]
    ChangesForgotten {
        /// The commit whose successors were asked for.
        after: Csn,
        /// The commit after which all changes are kept.
        kept: Csn,
    },
    /// A table could not merge the transaction's own deltas.
    #[error("table {} cannot merge a delta of this transaction", table.0)]
    Merge {
        /// The table.
        table: TableId,
        /// The table's reason.
        source: MergeError,
    },
    /// A page of the table of commits does not decode. Restore the database from a backup.
    #[error("the record of commit {} is damaged", csn.0)]
    Damaged {
        /// The commit asked for.
        csn: Csn,
        /// The part that did not decode.
        source: Malformed,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log failed outside of a commit, or the disk has no space for this commit, which did not happen: free
    /// some space and try again.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Which rule a serialization failure broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SerializationFailure {
    /// The row to be written was changed after the snapshot was taken.
    #[error("the row was changed by commit {} after this transaction began", .0.0)]
    Updated(Csn),
    /// Something that was read was written before this transaction could commit.
    #[error("commit {} wrote what this transaction has read", .0.0)]
    Read(Csn),
    /// So much was written since this transaction began that its reads can no longer be checked.
    #[error("too much was committed since this transaction began to check its reads")]
    TooOld,
}

impl TxnError {
    /// The five characters by which SQL clients know this error.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            TxnError::Serialization { .. } => "40001",
            TxnError::Deadlock => "40P01",
            TxnError::LockTimeout | TxnError::LockNotAvailable | TxnError::Blocked => "55P03",
            TxnError::Interrupted => "57014",
            TxnError::OutcomeUnknown { cause } | TxnError::Refused { cause } => cause.state,
            TxnError::Following => "25006",
            TxnError::Closed => "57P03",
            TxnError::NoBase { .. } => "55000",
            TxnError::TooLarge { .. } => "54000",
            TxnError::NoSuchCommit { .. } | TxnError::ChangesForgotten { .. } => "22023",
            TxnError::Merge { .. } | TxnError::Damaged { .. } => "XX001",
            TxnError::Log(error) => sqlstate_of(error),
            TxnError::Store(error) => sqlstate_of(error),
        }
    }

    /// True if the same transaction, begun anew, may well succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            TxnError::Serialization { .. }
                | TxnError::Deadlock
                | TxnError::LockTimeout
                | TxnError::Blocked
                | TxnError::LockNotAvailable
        )
    }
}

/// Why an engine could not be opened or closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Another process (or another engine of this one) has the directory open.
    #[error("{} is in use: {source}", dir.display())]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// Names the process that has it, where it is known.
        source: io::Error,
    },
    /// The directory cannot be made or locked.
    #[error("cannot open {}: {source}", dir.display())]
    Io {
        /// The directory.
        dir: PathBuf,
        /// The reason given by the system.
        source: io::Error,
    },
    /// A record of the log passed its checksum and does not decode: written by a newer version, or
    /// by a faulty one. Nothing was changed.
    #[error("the log record{} does not decode", lsn.map_or(String::new(), |lsn| format!(" that ends at {lsn}")))]
    Record {
        /// Just past the record; none of a record that is not in the log.
        lsn: Option<Lsn>,
        /// The part that did not decode.
        source: Malformed,
    },
    /// The log does not continue where the store ends. Restore it from a backup.
    #[error("commit {} is followed by commit {} in the log", last.0, found.0)]
    Gap {
        /// The last commit known.
        last: Csn,
        /// The one that came instead of its successor.
        found: Csn,
    },
    /// The engine makes commits of its own, so it takes none of another one. Open it as a follower.
    #[error("the database does not follow another one")]
    NotFollowing,
    /// A record of the leader names files that the follower does not have.
    #[error("commit {} names files of the leader that are not here: copy them first", csn.0)]
    FilesMissing {
        /// The commit.
        csn: Csn,
    },
    /// The backup has ended, or its client has not asked for anything for too long. Begin another one.
    #[error("the backup has ended")]
    NoBackup,
    /// A copy was made of another database, or of one that was restored since and went on otherwise. Begin a
    /// new one.
    #[error("commit {} of the copy is not a commit of this database, whose newest commit is {}", csn.0, newest.0)]
    OtherHistory {
        /// The newest commit of the copy.
        csn: Csn,
        /// The newest commit here.
        newest: Csn,
    },
    /// The log does not reach back to where a copy ends. Begin a new one.
    #[error("the log after commit {} is no longer kept: the oldest kept commit is {}", after.0, next.0)]
    LogGone {
        /// The newest commit of the copy.
        after: Csn,
        /// The first commit after it that the log has.
        next: Csn,
    },
    /// The store's note about the log, or about commits, does not decode.
    #[error("the store's checkpoint is damaged: {what}")]
    Checkpoint {
        /// The part that did not decode.
        what: &'static str,
    },
    /// Snapshots or transactions are still open; they must be dropped before the engine is closed.
    /// It takes no more writes, everything that was acknowledged is durable.
    #[error("{count} handles on the database are still open")]
    StillOpen {
        /// How many there are.
        count: usize,
    },
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Commits could not be looked up.
    #[error(transparent)]
    Txn(#[from] TxnError),
}

impl EngineError {
    /// The five characters by which SQL clients know this error.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            EngineError::InUse { .. } | EngineError::StillOpen { .. } => "55006",
            EngineError::NotFollowing
            | EngineError::FilesMissing { .. }
            | EngineError::NoBackup
            | EngineError::LogGone { .. }
            | EngineError::OtherHistory { .. } => "55000",
            EngineError::Record { .. }
            | EngineError::Gap { .. }
            | EngineError::Checkpoint { .. } => "XX001",
            EngineError::Io { source, .. } => sqlstate_of(source),
            EngineError::Log(error) => sqlstate_of(error),
            EngineError::Store(error) => sqlstate_of(error),
            EngineError::Txn(error) => error.sqlstate(),
        }
    }
}

/// The code of a failure of log, store or disk: XX001 where files are damaged, 25006 where a successor writes, 53100
/// where the disk is full, 58030 for any other error of the disk. A failure that others follow from decides.
pub fn sqlstate_of(error: &(dyn Error + 'static)) -> &'static str {
    let is_full = |kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(|system| is_full(system.kind())) {
            return "53100";
        }
        let log = error.downcast_ref().or_else(|| error.downcast_ref::<Arc<_>>().map(|it| &**it));
        let store = error.downcast_ref().or_else(|| error.downcast_ref::<Arc<_>>().map(|it| &**it));
        match (log, store) {
            (Some(LogError::Corrupt { .. }), _) => return "XX001",
            (_, Some(StoreError::TooLarge { .. })) => return "54000",
            (_, Some(StoreError::Forgotten { .. })) => return "22023",
            (Some(LogError::Fenced), _) | (_, Some(StoreError::Fenced { .. })) => return "25006",
            (
                _,
                Some(
                    StoreError::Corrupt { .. }
                    | StoreError::Missing { .. }
                    | StoreError::Merge { .. }
                    | StoreError::NoBase { .. },
                ),
            ) => return "XX001",
            _ => next = error.source(),
        }
    }
    "58030"
}
