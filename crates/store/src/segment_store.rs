//! Where immutable segments and the manifest live: files of a directory, or an object store.
//!
//! ```text
//!   create(name) ─append─append─finish(durable)─┐
//!                                               ├─> swap_manifest(expected epoch, bytes): all or nothing
//!   open(name) ─read_at─          delete(name) <┘   only what no manifest names any more
//!
//!   epochs      none ──A──> 1 ──A──> 2 ──B──> 3          B opened the same store and took over
//!                                    └───A: expects 2, finds 3: fenced
//! ```
//!
//! # Invariants
//! * A name is written once, and never used again.
//! * After `finish` the bytes, and after `swap_manifest` also the names of all finished segments, are
//!   durable. No manifest and no commit names a scratch segment.
//! * `swap_manifest` replaces the manifest whole: after a crash the old or the new one is found.
//! * Each manifest has the epoch after that of the one before. Of two swaps that expect the same epoch one
//!   fails.

use crate::manifest;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vfs::{Env, File, OpenMode};

/// Numbers the manifests of a store, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// Before the first manifest.
    pub const NONE: Epoch = Epoch(0);

    /// Returns the epoch of the manifest that replaces the one of this epoch.
    pub fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }
}

/// Why a manifest was not replaced.
#[derive(Debug)]
pub enum SwapError {
    /// Nothing has changed, and the caller may try again.
    Unchanged(io::Error),
    /// Nothing has changed: another opener has replaced the manifest meanwhile, or removed it. It takes over.
    Fenced {
        /// The epoch of the manifest that was found; none if there is no manifest.
        found: Option<Epoch>,
    },
    /// It is unknown which manifest a crash would find.
    Unknown(io::Error),
}

/// The home of segments and manifest.
pub trait SegmentStore: Send + Sync + 'static {
    /// Begins the segment `name`, which does not exist.
    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentSink>>;
    /// Begins the segment `name`, which does not exist and which this process alone reads: `finish` makes
    /// nothing durable.
    fn create_scratch(&self, name: &str) -> io::Result<Box<dyn SegmentSink>>;
    /// Opens the segment `name` for reading.
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>>;
    /// Makes the names of all finished segments durable.
    fn sync_names(&self) -> io::Result<()>;
    /// Removes the segment `name`.
    fn delete(&self, name: &str) -> io::Result<()>;
    /// The names of all segments, whole or not.
    fn list(&self) -> io::Result<Vec<String>>;
    /// The manifest and its epoch, or `None` if there never was one.
    fn load_manifest(&self) -> io::Result<Option<(Epoch, Vec<u8>)>>;
    /// Replaces the manifest of epoch `expected`, or makes the first one, where that is [`Epoch::NONE`]. The
    /// new one has the epoch after it. It is durable, as are the names of all finished segments.
    fn swap_manifest(&self, expected: Epoch, new: &[u8]) -> Result<(), SwapError>;
    /// Returns the name of `name` in messages.
    fn describe(&self, name: &str) -> String;
}

/// A segment being written.
pub trait SegmentSink: Send {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes the bytes durable, except of a scratch segment; nothing is appended after.
    fn finish(&mut self) -> io::Result<()>;
}

/// Segments as files of one directory.
///
/// The caller holds a lock on the directory. The epoch of the manifest is looked at before the manifest is
/// replaced, which finds an opener that came past the lock; two that do both at once it does not keep apart.
pub struct DirectoryStore {
    env: Env,
    dir: PathBuf,
}

/// The manifest's name.
pub const MANIFEST: &str = "MANIFEST";
const MANIFEST_NEW: &str = "MANIFEST.new";
/// The end of a segment's name.
pub const SUFFIX: &str = ".seg";
/// The end of the name of a segment written by a bulk load, which its commit names.
pub const BULK_SUFFIX: &str = "-bulk.seg";

impl DirectoryStore {
    /// Takes `dir`, making it where it is missing.
    pub fn new(env: &Env, dir: &Path) -> io::Result<DirectoryStore> {
        env.fs.create_dir_all(dir)?;
        Ok(DirectoryStore { env: env.clone(), dir: dir.to_path_buf() })
    }

    /// Writes the next manifest beside the live one, durably.
    fn stage_manifest(&self, bytes: &[u8]) -> io::Result<()> {
        let new = self.dir.join(MANIFEST_NEW);
        if self.env.fs.exists(&new)? {
            self.env.fs.remove(&new)?;
        }
        let file = self.env.fs.open(&new, OpenMode::CreateNew)?;
        file.write_all_at(bytes, 0)?;
        file.sync_all()?;
        // The names of the segments must be durable before a manifest that names them can be.
        self.sync_names()
    }

    /// The epoch of the live manifest.
    fn epoch(&self) -> io::Result<Option<Epoch>> {
        let file = match self.env.fs.open(&self.dir.join(MANIFEST), OpenMode::Read) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut head = vec![0; file.len()?.min(manifest::HEAD as u64) as usize];
        file.read_exact_at(&mut head, 0)?;
        Ok(Some(manifest::epoch_of(&head)))
    }

    fn sink(&self, name: &str, is_scratch: bool) -> io::Result<Box<dyn SegmentSink>> {
        let file = self.env.fs.open(&self.dir.join(name), OpenMode::CreateNew)?;
        Ok(Box::new(FileSink { file, offset: 0, synced: 0, is_scratch }))
    }
}

/// A segment is synced in steps of so many bytes while it is written: one sync of all of it would have
/// the commits of that moment queue behind tens of megabytes.
const STEP: u64 = 1 << 20;

struct FileSink {
    file: Arc<dyn File>,
    offset: u64,
    synced: u64,
    is_scratch: bool,
}

impl SegmentSink for FileSink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        if self.offset - self.synced >= STEP && !self.is_scratch {
            self.file.sync_data()?;
            self.synced = self.offset;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.is_scratch { Ok(()) } else { self.file.sync_all() }
    }
}

impl SegmentStore for DirectoryStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        self.sink(name, false)
    }

    fn create_scratch(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        self.sink(name, true)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.env.fs.open(&self.dir.join(name), OpenMode::Read)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.env.fs.sync_dir(&self.dir)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.env.fs.remove(&self.dir.join(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let paths = self.env.fs.list(&self.dir)?;
        let names = paths.iter().filter_map(|p| p.file_name()?.to_str());
        Ok(names.filter(|n| n.ends_with(SUFFIX)).map(str::to_string).collect())
    }

    fn load_manifest(&self) -> io::Result<Option<(Epoch, Vec<u8>)>> {
        let file = match self.env.fs.open(&self.dir.join(MANIFEST), OpenMode::Read) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut bytes = vec![0; file.len()? as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Some((manifest::epoch_of(&bytes), bytes)))
    }

    fn swap_manifest(&self, expected: Epoch, new: &[u8]) -> Result<(), SwapError> {
        self.stage_manifest(new).map_err(SwapError::Unchanged)?;
        let found = self.epoch().map_err(SwapError::Unchanged)?;
        if found.unwrap_or(Epoch::NONE) != expected {
            return Err(SwapError::Fenced { found });
        }
        let (from, to) = (self.dir.join(MANIFEST_NEW), self.dir.join(MANIFEST));
        let renamed = self.env.fs.rename(&from, &to).and_then(|()| self.sync_names());
        renamed.map_err(SwapError::Unknown)
    }

    fn describe(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }
}
