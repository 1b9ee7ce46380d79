//! `store`: a versioned key-value store in which reads of the newest values never touch the past.
//!
//! A commit writes values and has a number ([`Csn`]). Nothing is overwritten: every key has a
//! sequence of versions, and every read names the commit that it reads as of. Commits write to memory
//! (the log, another crate, makes them durable). A flush writes the contents of memory to immutable,
//! sorted segment files. One manifest, replaced atomically, names the valid files.
//!
//! ```text
//!   key k        csn ->  10      17      23      31      44      52
//!   current      [                                      ][ image 31 ]        whole images only: a read of now is one look-up
//!   memtable                                                [+44][+52]       deltas since the last flush
//!   history      [ image 10 ][+17][+23]                                      groups of base + deltas, pruned by csn
//!
//!   flush: image 52 becomes current; +44 and +52 go to history with image 31 as their base
//! ```
//!
//! **Current values and history are stored separately.** Current runs hold the newest image of each key
//! and nothing else: reads of the newest values never step over the past, however long it is. History
//! runs hold all superseded versions. Each covers an epoch of commits. For each of its keys it holds the
//! image below the first delta and then every change, with fresh images between, so that one as-of read
//! touches one history run.
//!
//! | a change is written as | in history | in current |
//! |---|---|---|
//! | `Put`, the newest | not yet: moves there when superseded | the value, as `Put` |
//! | `Delta`, the newest | the delta | the merged image, as `Image` |
//! | `Delete`, the newest | the deletion | a tombstone, until compaction meets the bottom |
//! | anything superseded | the change itself | nothing |
//!
//! # Reading at a commit
//! 1. The memtables, newest first. An entry at or below the commit ends the search, unless it is a
//!    delta: then the search for its base goes on below.
//! 2. The current runs. An entry at or below the commit ends the search.
//! 3. The history runs, newest first. The first group that begins at or below the commit has the answer.
//!
//! A read at or above the last flushed commit skips step 3: a key without a current entry does not exist.
//!
//! # Keys without history
//! A table may say that a key keeps no history ([`Table::keeps_history`]): then only its newest image
//! survives a flush. A read at an older commit returns the newest image at or below the commit if there
//! is one, else the newest image of all. The values of such keys only grow, so an older reader ignores
//! the part that was appended later.
//!
//! # Invariants
//! * Nothing above the durable commit ([`Store::set_durable`]) is ever written to a file.
//! * A key's versions ascend through history runs (oldest run first), current, memtables.
//! * A file named by the durable manifest is never changed, and is removed only after a later manifest
//!   without it is durable and no reader pins it.
//! * Open reads the manifest and no segment: it costs one file, however many there are.

mod background;
mod block;
mod block_keys;
mod block_layers;
mod block_scan;
mod buffer;
mod bulk;
mod cache;
mod columns;
mod compact;
mod erase;
mod error;
mod filter;
mod flush;
mod group;
mod key;
mod key_prefixes;
mod manifest;
mod memtable;
mod merge;
mod merge_plan;
mod merging;
mod pack;
mod part;
mod postings;
mod read;
mod row_mask;
mod run;
mod scan;
mod segment;
mod segment_store;
mod sorter;
mod stats;
mod store;
mod stripes;
#[cfg(test)]
mod tests;
mod varint;
mod verify;
mod versioned;
mod versions;
mod writer;

use std::sync::Arc;

pub use block_scan::{BlockScan, RowBlock, ScanItem};
pub use bulk::{Bulk, KeptFiles, Loaded, Span, Staged, StagedCursor};
pub use cache::BlockReads;
pub use columns::{
    BLOCK_ROWS_MAX, ColumnDecoder, ColumnEncoder, ColumnError, ColumnRows, EncodedBlock,
    EncodedPart, EncodedStripe, STRIPE_ROWS_MAX,
};
pub use error::{MergeError, StoreError};
pub use pack::{Packed, Packer, Unpacking};
pub use row_mask::RowMask;
pub use scan::{Keys, Scan, ScannedState};
pub use segment_store::{DirectoryStore, Epoch, SegmentSink, SegmentStore, SwapError};
pub use sorter::{DuplicateKey, Sorted, Sorter};
pub use stats::StoreStats;
pub use store::{Hold, Resolve, Store, TimeFloor};
pub use stripes::{BlockStats, StripeStats};
pub use verify::{Files, NamedFiles, VerifyReport};
pub use versioned::{Versioned, merge_into};

/// The number of a commit: dense, ascending, 0 before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Csn(pub u64);

impl Csn {
    /// Above every commit: a read at it sees whatever has been applied.
    pub const MAX: Csn = Csn(u64::MAX);
    /// Before the first commit.
    pub const ZERO: Csn = Csn(0);
}

/// The number of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

/// The effect of a write on its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sets the whole value.
    Put(Vec<u8>),
    /// Changes the value; the key has a live version.
    Delta(Vec<u8>),
    /// Ends the key; it may be put again later.
    Delete,
    /// Removes the changes of the key by the commits from `from` on, up to below `to` (this commit
    /// if it is `None`), for ever: no read at any commit finds them again, and later the files lose
    /// their bytes. The commit `to` has put or deleted the key. If that is this commit and the key
    /// is live, this commit has another write that puts or deletes the key.
    Erase {
        /// The first commit; 0 for all earlier commits.
        from: Csn,
        /// The commit after the last.
        to: Option<Csn>,
    },
}

/// One write of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The table.
    pub table: TableId,
    /// The key within the table, at most 65,000 bytes.
    pub key: Vec<u8>,
    /// The change of the key; values are at most 1 GiB.
    pub op: Op,
}

/// The kind of change that a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The bytes are the whole value.
    Put,
    /// The bytes are a change.
    Delta,
    /// There are no bytes: the key ended.
    Delete,
}

/// One change of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version<'a> {
    /// The commit that made it.
    pub csn: Csn,
    /// The kind of the version.
    pub kind: Kind,
    /// The value or delta.
    pub bytes: &'a [u8],
}

/// How much of the past a table keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// Everything.
    #[default]
    Forever,
    /// Every state that was current at some time in the last so many microseconds.
    Since(u64),
    /// Only what a [`Hold`] still reads.
    None,
    /// Everything for now, but the table may soon keep less. Until then flushes write all that a
    /// later merge needs to drop versions. See [`Store::after_flush`].
    Unsettled,
}

/// How the store compresses blocks of a table's newest values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// For fast reads: by LZ4. Large values are compressed as for small files.
    Fast,
    /// For small files: by zstd.
    Small,
}

/// The functions of a table by which the store merges, encodes, keeps and drops its values.
pub trait Table: Send + Sync + 'static {
    /// Appends to `out` the value of `key` after `deltas` (oldest first) are applied to `base`, which was
    /// current at `base_csn`. [`Csn::ZERO`] stands for the commit of the result, which has no number yet. The same input
    /// gives the same output in every release.
    fn merge(
        &self,
        key: &[u8],
        base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError>;

    /// True if the deltas since the last image have grown so large, in bytes, that a fresh image
    /// should be kept beside them.
    fn rebase(&self, image_bytes: usize, delta_bytes: usize) -> bool {
        delta_bytes > 256 && delta_bytes * 4 > image_bytes
    }

    /// False if superseded versions of this key are dropped at flush.
    fn keeps_history(&self, _key: &[u8]) -> bool {
        true
    }

    /// How much of the past compaction keeps.
    fn retention(&self) -> Retention {
        Retention::Forever
    }

    /// Returns the commit before which compaction need keep nothing, whatever [`Table::retention`] returns. Before a
    /// table first returns such a commit, its retention is [`Retention::Unsettled`], as before any shorter history: see
    /// [`Store::after_flush`].
    fn forgotten(&self) -> Csn {
        Csn::ZERO
    }

    /// The part of a key that the table of changes (crate `txn`) lists when the key is written; `None` for
    /// keys that it does not list.
    fn subject<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        Some(key)
    }

    /// Returns the table and the commit that `key` describes; `None` if it describes no commit. A merge that reaches
    /// the oldest run drops the key once the state of that table at that commit need not be readable.
    fn tells_of(&self, _key: &[u8]) -> Option<(TableId, Csn)> {
        None
    }

    /// Returns the encoder that keeps the newest values of the table in columns; `None` if they
    /// are kept as rows. Existing files stay as they are.
    fn column_encoder(&self) -> Option<Arc<dyn ColumnEncoder>> {
        None
    }

    /// Returns the decoder for values of the table that are kept in columns. A table whose newest
    /// values were once kept in columns returns a decoder for ever.
    fn column_decoder(&self) -> Option<Arc<dyn ColumnDecoder>> {
        None
    }

    /// Returns how the store compresses blocks of the table's newest values. Files that exist stay as they are.
    fn compression(&self) -> Compression {
        Compression::Small
    }

    /// Returns the packer of the table's values for the files of [`Store::compact`]; `None` if values are not packed. A
    /// table that once had a packer returns a packer for ever. That packer also reads the output of earlier ones.
    fn packer(&self) -> Option<Box<dyn Packer>> {
        None
    }

    /// The commit that dropped the whole table: no later commit writes to it, and no reader reads it at
    /// that commit or above. Compaction removes the table once no earlier state must be kept.
    fn ended(&self) -> Option<Csn> {
        None
    }

    /// True for a dropped table whose past is read only through a [`Hold`] from before the drop. The store keeps no
    /// horizon for such a table, because it need not refuse reads of it.
    fn is_unread(&self) -> bool {
        false
    }
}

/// The sizes and limits of a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Decompressed blocks kept in memory, in bytes.
    pub cache_bytes: usize,
    /// A memtable of so many bytes is frozen and flushed.
    pub memtable_bytes: usize,
    /// A memtable of so many writes is frozen and flushed too, however small they are. After a crash
    /// the caller applies them again, at about three a microsecond.
    pub memtable_writes: usize,
    /// A run is cut into segment files of about so many bytes.
    pub segment_bytes: usize,
    /// Uncompressed bytes of a block of current images.
    pub current_block_bytes: usize,
    /// Uncompressed bytes of a block of history.
    pub history_block_bytes: usize,
    /// A merge publishes its work each time that it has read about so many bytes. Closing the store loses the work on
    /// at most so many bytes, and a merge needs free disk space for twice as many.
    pub merge_range_bytes: usize,
    /// The threads of one merge at most.
    pub merge_threads: usize,
    /// False: no threads; the caller calls `Store::maintain` or flushes and compacts itself.
    pub background: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            cache_bytes: 256 << 20,
            memtable_bytes: 32 << 20,
            memtable_writes: 256 << 10,
            segment_bytes: 64 << 20,
            current_block_bytes: 8 << 10,
            history_block_bytes: 64 << 10,
            // Some seconds of work. Smaller ranges would end inside of more segments, whose rest is copied.
            merge_range_bytes: 256 << 20,
            merge_threads: merge_threads(),
            background: true,
        }
    }
}

/// Merges use one thread on machines with one or two processors, else half of the processors, at most four.
fn merge_threads() -> usize {
    match std::thread::available_parallelism().map_or(1, usize::from) {
        ..=2 => 1,
        processors => processors.div_ceil(2).min(4),
    }
}

/// The commits that the manifest covers: the caller replays its log above them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// Every commit up to this one is in segment files.
    pub csn: Csn,
    /// The note that the caller gave with a commit at or below `csn`: replay from here and skip
    /// commits that are not above `csn`.
    pub note: Vec<u8>,
}
