//! `txn`: transactions over the log and the store.
//!
//! Every change is one record in one log; the store holds versions by key and commit number. This
//! crate connects the two: it decides which transactions commit and in which order, which commits each
//! transaction sees, and when a commit becomes visible.
//!
//! ```text
//!   key \ csn   40    41    42    43   │ 44    45
//!   a           put         +          │ +            44 and 45 are in the log, not yet synced:
//!   b                 put              │       del    no reader sees them
//!                                      visible
//!   T1  RR  began at 41 ····sees a@40 b@41 until its end
//!   T2  RC  statement ·······at 43: sees a@42 b@41; its next statement may see more
//! ```
//!
//! # Map
//! | module | is |
//! |---|---|
//! | `engine` | opening, the commit path, failures that stop writing |
//! | `transaction`, `row` | reads and writes of a transaction |
//! | `view`, `scan`, `cursor` | reading at a snapshot, with or without a transaction's own writes |
//! | `ordered` | a commit that is ordered and waits for the disk |
//! | `snapshot`, `tracker` | the visible commit, and the snapshots that are still read |
//! | `stamp` | numbers that distinguish the versions of a row (`xmin`) |
//! | `locks` | locks of rows and relations, waiting transactions, deadlocks |
//! | `writeset`, `readset` | own writes with savepoints; own reads and their validation |
//! | `record`, `publish` | a commit in the log; from the log to visibility |
//! | `observer` | state in memory that follows from the commits |
//! | `large` | the writes of a large transaction in files |
//! | `changes` | the keys that each commit has written, by table |
//! | `pages`, `commits`, `infos` | author, time and message of commits; times to numbers and back |
//!
//! # Invariants
//! * A commit is visible only after it has the durability of its options, and after all commits before it.
//! * A commit is seen whole or not at all.
//! * The order of commit numbers is the order of the log. Serializable transactions behave as if run
//!   one by one in that order.
//! * This crate knows nothing of SQL or JSON, and has no threads of its own.

mod blocks;
mod bytes;
mod changes;
mod commits;
mod cursor;
mod engine;
mod error;
mod infos;
mod large;
mod loads;
mod locks;
mod observer;
mod ordered;
mod pages;
mod pages_pack;
mod publish;
mod readset;
mod record;
mod row;
mod scan;
mod snapshot;
mod stamp;
mod sync;
mod tracker;
mod transaction;
mod turns;
mod view;
mod writeset;

#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod tracker_tests;

pub use blocks::{Blocks, ScanItem};
pub use bytes::Malformed;
pub use changes::{CHANGES_TABLE, ChangeList, TableChange, TableChanges, Touched};
pub use cursor::{Cursor, KeyRange};
pub use engine::{
    BackupId, BackupPlan, Commit, CommitMeta, Engine, EngineOptions, EngineStats, LogBatch,
    LogHold, RecordHead, TableResolver,
};
pub use error::{EngineError, Failure, SerializationFailure, TxnError, sqlstate_of};
pub use infos::{CommitInfo, CommitInfos, CommitInfosIter};
pub use locks::{
    LockWait, Reader, RelationClaim, RelationLock, RowLock, TxnId, WaitOver, WaitWatch,
};
pub use log::Durability;
pub use observer::{Hint, Observed, Observer};
pub use ordered::Ordered;
pub use pages::{COMMITS_TABLE, Commits};
pub use record::{
    AUTHOR_BYTES_MAX, EXTENSION_BYTES_MAX, MESSAGE_BYTES_MAX, OpRef, RECORD_BYTES_MAX,
    ROLE_BYTES_MAX, RecordWrites, WriteRef,
};
pub use row::Row;
pub use scan::TxnScan;
pub use snapshot::Snapshot;
pub use stamp::{stamp_of_commit, stamp_of_transaction};
pub use transaction::{Isolation, KEY_BYTES_MAX, Locked, Savepoint, Transaction, Wait};
pub use view::View;
