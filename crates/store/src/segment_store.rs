//! Where immutable segments and the manifest live: the seam at which an object store can stand.
//!
//! ```text
//!   create(name) ─append─append─finish(durable)─┐
//!                                               ├─> stage_manifest(bytes) ─> swap_manifest(): all or nothing
//!   open(name) ─read_at─          delete(name) <┘   only what no manifest names any more
//! ```
//!
//! # Invariants
//! * A name is written once, and never used again.
//! * After `finish` the bytes, and after `stage_manifest` also the names of all finished segments, are
//!   durable. No manifest and no commit names a scratch segment.
//! * `swap_manifest` replaces the manifest whole: after a crash the old or the new one is found. While
//!   only staging has failed, nothing has changed and the caller may try again; a failed swap leaves it
//!   unknown which one a crash would find.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vfs::{Env, File, OpenMode};

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
    /// The manifest, or `None` where there never was one.
    fn load_manifest(&self) -> io::Result<Option<Vec<u8>>>;
    /// Writes the next manifest beside the live one, durably.
    fn stage_manifest(&self, bytes: &[u8]) -> io::Result<()>;
    /// Makes the staged manifest the live one, durably.
    fn swap_manifest(&self) -> io::Result<()>;
    /// What to call `name` in messages.
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

    fn load_manifest(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match self.env.fs.open(&self.dir.join(MANIFEST), OpenMode::Read) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut bytes = vec![0; file.len()? as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Some(bytes))
    }

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

    fn swap_manifest(&self) -> io::Result<()> {
        self.env.fs.rename(&self.dir.join(MANIFEST_NEW), &self.dir.join(MANIFEST))?;
        self.env.fs.sync_dir(&self.dir)
    }

    fn describe(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }
}
