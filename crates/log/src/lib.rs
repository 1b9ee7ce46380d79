//! The commit log: one endless stream of frames that orders the commits and makes them durable.
//!
//! ```text
//!   append ──> buffer ══leader: write, sync══> 00000006.log  00000007.log  │ 00000008.log
//!   append ──>  in the    one for all who       released      being filled │ ready: zeroes, or
//!   append ──>  order     wait                  └── recycled by renaming ──┼─> a former file
//!               of calls
//!   position (Lsn) ──────────────────────────────────────────────────────────────────────────>
//!                   released        durable        written        appended
//! ```
//!
//! A writer calls [`CommitLog::append`], which only copies, and then [`CommitLog::sync`], which
//! returns when its frame and all frames before it are durable: *acknowledged*. [`SegmentedLog::open`]
//! replays the acknowledged frames in order, possibly followed by frames that were not acknowledged
//! yet, and cuts a torn tail. Damage to an acknowledged frame is an error, and opening then changes
//! nothing. `docs/format-log.md` describes every byte and every crash point.
//!
//! # Invariants
//! * acknowledged ⊆ recovered ⊆ appended, and the recovered frames are a prefix of the appended ones.
//! * Positions only grow: released <= durable <= written <= appended.
//! * After a failed write or sync nothing more is acknowledged until the log is reopened.
//! * Frames that recovery cut never come back.

use std::path::Path;

mod error;
mod frame;
mod group;
mod lsn;
mod pending;
mod recover;
mod reserve;
mod segment;
mod segmented;
mod tail;
mod window;

/// The locks that `group` uses. Its tests compile it against other locks.
mod primitives {
    pub use std::sync::atomic::{AtomicU64, Ordering};
    pub use std::sync::{Arc, Condvar, Mutex, MutexGuard};
}

pub use error::LogError;
pub use lsn::{AtomicLsn, Lsn};
pub use segmented::SegmentedLog;

/// The largest payload of one frame, in bytes.
pub const PAYLOAD_MAX: usize = 1 << 30;

/// The guarantee that [`CommitLog::sync`] waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Durability {
    /// The frame is on the disk.
    #[default]
    Sync,
    /// The frame is on the disk; the leader of a group first waits for other commits.
    Group {
        /// How long, in microseconds.
        wait_us: u32,
    },
    /// The operating system has the frame. It survives a crash of the process, but not of the machine.
    Os,
}

/// A log of commits. [`SegmentedLog`] keeps it in files of this machine; another implementation can keep it
/// elsewhere.
///
/// The owner opens the log and hands it to the engine, ready to append. All frames that were
/// acknowledged before are durable, and [`CommitLog::tail`] returns them.
pub trait CommitLog: Send + Sync {
    /// Copies one frame into the log's buffer; returns the position just past it. The order of
    /// calls is the order in the log. The frame is neither written nor durable before a `sync`.
    ///
    /// # Errors
    /// An error concerns this frame alone, which is not in the log. After `Io` (a full disk) the next
    /// call may succeed.
    fn append(&self, payload: &[u8]) -> Result<Lsn, LogError>;

    /// Returns once everything below `upto` has the durability `how`. One of the callers writes and
    /// syncs for all callers that wait; a single caller does it inline.
    ///
    /// # Errors
    /// After an error it is unknown which of the frames that were not durable before are on the disk.
    /// The log is poisoned and must be reopened.
    fn sync(&self, upto: Lsn, how: Durability) -> Result<(), LogError>;

    /// The position below which everything is durable.
    fn durable(&self) -> Lsn;

    /// The oldest position that is kept.
    fn oldest(&self) -> Lsn;

    /// About how many bytes of the log lie between two positions; 0 where `upto` is not past `from`.
    fn bytes_between(&self, from: Lsn, upto: Lsn) -> u64;

    /// The frames from position `from` ([`Lsn::START`], or one that `append` or this iterator returned)
    /// to the durable end of the log, each with the position just past it. Fails with `Released` if
    /// `from` is no longer kept.
    fn tail(&self, from: Lsn) -> Result<Frames<'_>, LogError>;

    /// All durable frames that are kept, as [`CommitLog::tail`] gives them. If the beginning of the first is
    /// not kept, its payload is empty.
    fn tail_of_all(&self) -> Frames<'_>;

    /// Recycles the segments that lie wholly below `upto`, which the caller no longer needs.
    fn release(&self, upto: Lsn) -> Result<(), LogError>;

    /// Begins a new segment, durably, and returns its first position: a release up to there
    /// releases all that was appended before.
    fn turn(&self) -> Result<Lsn, LogError>;

    /// Removes every byte of released segments: removes spare files, and fills the files that are ready
    /// for use with zeroes.
    fn wipe(&self) -> Result<(), LogError>;

    /// Refuses every later append, makes durable what was appended before and returns its end.
    fn fence(&self) -> Result<Lsn, LogError>;

    /// Makes everything durable, and ends the log so that the next opening knows that nothing is missing.
    /// The caller appends nothing afterwards.
    fn close(&self) -> Result<(), LogError>;

    /// Counters.
    fn stats(&self) -> LogStats;
}

/// The frames of a part of the log, oldest first.
pub type Frames<'a> = Box<dyn Iterator<Item = Result<(Lsn, Vec<u8>), LogError>> + 'a>;

/// A callback that gets each frame of a replay: the position just past it, and its payload.
pub type Visitor<'a> = dyn FnMut(Lsn, &[u8]) -> Result<(), LogError> + 'a;

/// Counters of a log, and the size of what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Bytes appended since the log was opened, headers included.
    pub appended_bytes: u64,
    /// Frames appended since the log was opened.
    pub frames: u64,
    /// Syncs of files on behalf of commits since the log was opened.
    pub syncs: u64,
    /// Segments in use.
    pub segments: u64,
    /// Their size in bytes.
    pub segment_bytes: u64,
    /// The size in bytes of files that are prepared for later.
    pub reserve_bytes: u64,
}

/// How a log lays out its files. Existing files keep their layout when the options change.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The size of a segment file in bytes: 1 KiB to 128 MiB, rounded up to sectors of 512.
    pub segment_bytes: u64,
    /// The size in bytes of the first `first_count` segment files, so that a new database is small and quick to make.
    pub first_bytes: u64,
    /// How many segment files have the size `first_bytes`.
    pub first_count: u64,
    /// True: a thread of the log prepares files ahead. False: the writer does when it needs one.
    pub background: bool,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            segment_bytes: 16 << 20,
            first_bytes: 1 << 20,
            first_count: 4,
            background: true,
        }
    }
}

impl LogOptions {
    fn normalised(&self) -> LogOptions {
        let size = |bytes: u64| bytes.clamp(1 << 10, 128 << 20).next_multiple_of(512);
        let (segment_bytes, first_bytes) = (size(self.segment_bytes), size(self.first_bytes));
        LogOptions { segment_bytes, first_bytes, ..self.clone() }
    }

    /// The size in bytes of the file of segment `number`, counted from 1.
    fn size_of(&self, number: u64) -> u64 {
        if number <= self.first_count { self.first_bytes } else { self.segment_bytes }
    }
}

impl SegmentedLog {
    /// Opens the log in `dir`, and creates it if it does not exist. Calls `f` with every frame from position
    /// `replay_from` on ([`Lsn::START`], or a position that the log once returned), in order, each with the position
    /// just past it. Cuts a torn tail, and is then ready to append.
    ///
    /// The caller holds a lock on the directory: two logs in one would destroy it.
    ///
    /// Fails with `Corrupt` if acknowledged data is damaged; no byte has been changed then. Fails with `Released` if
    /// the log no longer keeps `replay_from`.
    pub fn open(
        env: &vfs::Env,
        dir: &Path,
        options: LogOptions,
        replay_from: Lsn,
        f: &mut Visitor<'_>,
    ) -> Result<SegmentedLog, LogError> {
        let options = options.normalised();
        let recovered = recover::recover(env, dir, &options, replay_from.0, f)?;
        Ok(SegmentedLog::start(env, dir, options, recovered))
    }
}

#[cfg(test)]
mod tests;
