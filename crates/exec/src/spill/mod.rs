//! Rows that do not fit into the memory that an operator may use go to files and come back.
//!
//! ```text
//!   sort           runs in order            ──> merged                        sort, window, aggregates
//!   hash tables    partitions by hash       ──> one after the other           joins, groups, DISTINCT,
//!                  (Grace: what has equal keys is in the same one)            set operations
//!   kept rows      blocks, by their number  ──> read where they lie           WITH, nested loops
//!
//!   TempFolder ── one file for each use ── Writer ──> Tape ──> Reader
//! ```
//!
//! How much an operator may use is `work_mem`; what all operators of a statement may hold together is a
//! limit of its own, behind which the statement fails. A file is removed when its last user drops it:
//! at the end of the statement, where it fails or is cancelled; what a crash leaves goes when the folder
//! is opened again. Nothing here is synced: a file means nothing to anybody but the statement.

mod bytes;
mod codec;
mod file;
mod partition;
mod spool;
mod store;

pub use bytes::{ByteSpool, SpooledBytes};
pub(crate) use codec::{read_row, write_row};
pub(crate) use file::{Reader, Tape, Writer};
pub use file::{TempBytes, TempFolder};
pub(crate) use partition::{LEVEL_MAX, Partitions, Unique};
pub use spool::{RowSpool, SpooledRows};
pub(crate) use store::{RowStore, StorePosition};
