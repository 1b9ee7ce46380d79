//! The interface to the operating system: files, directories, the clock and randomness. The engine
//! uses no other.
//!
//! ```text
//!   log · store · txn · anywhen
//!            |  Env { fs, clock, random }
//!      ┌─────┴──────┐
//!    OsVfs        SimVfs      the real disk, and one that can lose power, tear, reorder and fail
//! ```
//! An [`Overlay`] only reads from either of them, and keeps all writes in memory.
//!
//! No crate below the server uses `std::fs`, `SystemTime` or `Instant`; they use an [`Env`]. So a test can
//! run a workload once and then reopen the database after a power loss at every single write, and a failing
//! seed gives the same run again.
//!
//! # In a test
//! ```
//! use std::path::Path;
//! use vfs::{CrashPolicy, Env, OpenMode, SimVfs, Vfs};
//!
//! let disk = SimVfs::new(7); // 7: the seed of everything random on this disk
//! let env = Env::sim(&disk, 7);
//! let file = env.fs.open(Path::new("a"), OpenMode::CreateNew)?;
//! file.write_all_at(b"hello", 0)?;
//! file.sync_data()?;
//! let acknowledged = disk.op_count(); // so many operations had happened when we were told "durable"
//!
//! // The power fails after every single operation, in every way the model knows.
//! for at in 0..=disk.op_count() {
//!     for policy in CrashPolicy::ALL {
//!         let found = disk.image(at, &policy, 7); // a disk of its own, which can crash again
//!         if at >= acknowledged && policy == CrashPolicy::SyncedOnly {
//!             // Bytes were synced, but the *name* was not: a directory sync is missing above.
//!             assert!(!found.exists(Path::new("a"))?);
//!         }
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//! [`SimVfs::fail`] makes the n-th operation fail. [`SimVfs::disable`] makes syncs return without effect,
//! so that a test can prove that it would notice a missing sync. [`SimVfs::flip_bit`] damages a file.
//!
//! # Assumptions about a disk
//! * A write is durable only after a [`File::sync_data`] (or `sync_all`) that began after the write has
//!   returned, and that returned without error. Before that all of it, a part or nothing may be on the disk.
//! * A sector of 512 bytes is written whole or not at all; anything larger can tear.
//! * A file's name (its creation, renaming or removal) is durable only after [`Vfs::sync_dir`] of
//!   its directory. A rename is atomic: after a crash the name leads to the old or to the new file.
//! * After a failed sync the state of the unsynced writes is unknown: the caller must stop.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod os;
mod overlay;
mod sim;

pub use os::{OsClock, OsRandom, OsVfs, is_preferred};
pub use overlay::Overlay;
pub use sim::{
    CrashPolicy, FaultKind, FaultPlan, Mutation, OpClasses, OpKind, OpRecord, SimClock, SimRandom,
    SimVfs, Which, seed, seeds, steps,
};

/// A file opened for reading, or for reading and writing, at explicit offsets.
///
/// Offsets and lengths are in bytes. All methods may be called from many threads.
pub trait File: Send + Sync + 'static {
    /// Reads up to `buf.len()` bytes at `offset`; returns how many, 0 at or past the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills `buf` from `offset`, or fails with `UnexpectedEof`.
    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.read_at(buf, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => {
                    buf = &mut buf[n..];
                    offset += n as u64;
                }
            }
        }
        Ok(())
    }

    /// Writes all of `buf` at `offset`, growing the file (with zeroes in any gap) where needed.
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the data written so far durable (`fdatasync`), and with it the length.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes data and metadata durable (`fsync`).
    fn sync_all(&self) -> io::Result<()>;

    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// True if the file holds no byte.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts or extends (with zeroes) to `len` bytes.
    fn set_len(&self, len: u64) -> io::Result<()>;
}

/// How [`Vfs::open`] treats a file that exists or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Must exist; only read.
    Read,
    /// Must exist; read and write.
    ReadWrite,
    /// Must not exist; read and write.
    CreateNew,
}

/// A held lock on a directory; dropping it releases the lock.
pub trait DirLock: Send + Sync + 'static {}

/// The lock of a directory that cannot be locked.
pub(crate) struct Unlocked;

impl DirLock for Unlocked {}

/// A file system.
pub trait Vfs: Send + Sync + 'static {
    /// Opens the file at `path`.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Creates the directory and its missing parents, and makes their names durable. No error if it exists.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Renames, replacing what is at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renamings and removals in the directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// The full paths of the files and directories in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
    /// True if there is a file or directory.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Locks the file at `path` for this process, and creates it if it is missing. Fails with `WouldBlock`
    /// if another process holds the lock. The text of the error has its process id, if it is known.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn DirLock>>;
    /// Locks the file at `path` for reading: other processes can lock it for reading too, but none can take
    /// [`Vfs::lock`]. It creates and changes nothing. Fails with `WouldBlock` as [`Vfs::lock`] does. If the
    /// file is missing or cannot be locked, the returned lock has no effect.
    fn lock_to_read(&self, path: &Path) -> io::Result<Box<dyn DirLock>>;
}

/// Wall-clock and monotonic time.
pub trait Clock: Send + Sync + 'static {
    /// Microseconds since 1970-01-01 UTC; may jump either way.
    fn now_us(&self) -> u64;
    /// Microseconds from an arbitrary start; never goes back.
    fn monotonic_us(&self) -> u64;
}

/// A source of randomness.
pub trait Random: Send + Sync + 'static {
    /// The next 64 random bits.
    fn next_u64(&self) -> u64;
}

/// The files, the clock and the randomness that the engine uses.
#[derive(Clone)]
pub struct Env {
    /// Files and directories.
    pub fs: Arc<dyn Vfs>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
}

impl Env {
    /// The machine's own files, clock and randomness.
    pub fn os() -> Env {
        Env {
            fs: Arc::new(OsVfs),
            clock: Arc::new(OsClock::new()),
            random: Arc::new(OsRandom::new()),
        }
    }

    /// The simulated `disk`, with a clock and randomness that depend on `seed` alone.
    pub fn sim(disk: &SimVfs, seed: u64) -> Env {
        Env {
            fs: Arc::new(disk.clone()),
            clock: Arc::new(SimClock::new(seed)),
            random: Arc::new(SimRandom::new(seed)),
        }
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Env")
    }
}

#[cfg(test)]
mod tests;
