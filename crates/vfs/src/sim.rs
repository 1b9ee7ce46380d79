//! A simulated disk in memory that can lose power, tear and reorder writes, fail, ignore syncs and flip
//! bits.
//!
//! The disk records every change in one order. From the record it builds the state after a power loss
//! *just after any operation*, in every way that the assumptions at the top of this crate allow; see
//! [`CrashPolicy`]. Such an image is again a `SimVfs`, so recovery itself can crash.
//!
//! ```text
//!   SimVfs ──── live      what a running process sees
//!          ├─── ops       every change, in order; the bytes of a write are kept once
//!          ├─── replay    what is durable and what is pending after the first n of them
//!          └─── faults    the operations that fail or have no effect
//! ```
//!
//! # Invariants
//! * `live` equals `base` with every operation applied.
//! * One mutex orders everything: an operation is recorded exactly where it took effect.
//! * The same seed and the same calls give the same images.

mod content;
mod crash;
mod fault;
mod random;
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use self::content::Data;
use self::crash::{Action, Inode, Op, Outcome, Replay, State, apply_content, apply_name, dir_of};
use self::fault::Faults;

pub use self::crash::CrashPolicy;
pub use self::fault::{FaultKind, FaultPlan, Mutation, OpClasses, Which};
pub use self::random::{SimClock, SimRandom};
pub use self::seeds::{seed, seeds, steps};
use crate::{DirLock, File, OpenMode, Vfs};

/// The kind of change that an [`OpRecord`] records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A directory was created (durably).
    CreateDir,
    /// A file was created.
    Create,
    /// A file got another name.
    Rename,
    /// A file was removed.
    Remove,
    /// A directory was synced.
    SyncDir,
    /// Bytes were written.
    Write,
    /// A file was cut or extended.
    SetLen,
    /// `sync_data`.
    SyncData,
    /// `sync_all`.
    SyncAll,
    /// A bit was flipped by the test.
    Flip,
}

/// One change of the disk, for tests that look for a certain moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpRecord {
    /// The kind of the operation.
    pub kind: OpKind,
    /// To which file or directory; for a rename, the old name.
    pub path: PathBuf,
    /// Where: of writes the offset in bytes, of `SetLen` the length, of `Flip` the bit.
    pub offset: u64,
    /// Of writes the number of bytes.
    pub len: usize,
}

/// A simulated file system. A clone is the same disk.
#[derive(Clone)]
pub struct SimVfs {
    disk: Arc<Mutex<Disk>>,
}

struct Disk {
    base: State,
    live: State,
    ops: Vec<Op>,
    replay: Replay,
    faults: Faults,
    locks: BTreeSet<PathBuf>,
    /// The number of open handles of each file. A removed file keeps its bytes until its last handle is closed.
    handles: BTreeMap<Inode, usize>,
    /// How many bytes its files may have in all.
    capacity: u64,
    next_inode: Inode,
    recording: bool,
    random: SimRandom,
}

impl SimVfs {
    /// An empty disk. The seed decides what survives a failed sync.
    pub fn new(seed: u64) -> SimVfs {
        let mut base = State::default();
        base.dirs.extend([PathBuf::new(), PathBuf::from("/"), PathBuf::from(".")]);
        SimVfs::with(base, 0, seed, true)
    }

    /// An empty disk that records nothing: a plain file system in memory, with no images.
    pub fn unrecorded() -> SimVfs {
        let disk = SimVfs::new(0);
        disk.disk.lock().recording = false;
        disk
    }

    fn with(base: State, next_inode: Inode, seed: u64, recording: bool) -> SimVfs {
        let disk = Disk {
            live: base.clone(),
            replay: Replay::new(&base),
            base,
            ops: Vec::new(),
            faults: Faults::default(),
            locks: BTreeSet::new(),
            handles: BTreeMap::new(),
            capacity: u64::MAX,
            next_inode,
            recording,
            random: SimRandom::new(seed),
        };
        SimVfs { disk: Arc::new(Mutex::new(disk)) }
    }

    /// How many changes were recorded so far: the moment to note beside an acknowledgement.
    pub fn op_count(&self) -> usize {
        self.disk.lock().ops.len()
    }

    /// Every change recorded so far.
    pub fn ops(&self) -> Vec<OpRecord> {
        self.disk.lock().ops.iter().map(record_of).collect()
    }

    /// The disk after a power loss just after the first `at` of the recorded operations (0: none;
    /// [`SimVfs::op_count`]: all). Everything on it counts as durable. Calls in ascending order of `at` are
    /// the cheapest.
    ///
    /// # Panics
    /// Panics if `at` is more than the number of recorded operations.
    pub fn image(&self, at: usize, policy: &CrashPolicy, seed: u64) -> SimVfs {
        let mut disk = self.disk.lock();
        let disk = &mut *disk;
        assert!(at <= disk.ops.len(), "operation {at} of {}", disk.ops.len());
        assert!(disk.recording, "this disk records nothing");
        if disk.replay.at > at {
            disk.replay = Replay::new(&disk.base);
        }
        disk.replay.advance(&disk.ops, at);
        let random = SimRandom::new(seed ^ ((at as u64) << 20) ^ *policy as u64);
        let state = disk.replay.image(&disk.ops, *policy, &random);
        SimVfs::with(state, disk.next_inode, random.next(), true)
    }

    /// Adds a plan of failures.
    pub fn fail(&self, plan: FaultPlan) {
        self.disk.lock().faults.add(plan);
    }

    /// Makes an operation return without the effect that it promises.
    pub fn disable(&self, what: Mutation, which: Which) {
        self.disk.lock().faults.disable(what, which);
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.disk.lock().faults.clear();
    }

    /// Limits the disk to so many more bytes in all files, until the next call. A write beyond that writes the
    /// part that fits, and fails as on a full disk.
    pub fn leave(&self, bytes: u64) {
        let mut disk = self.disk.lock();
        disk.capacity = disk.used().saturating_add(bytes);
    }

    /// The number of operations so far with a fault.
    pub fn faults_hit(&self) -> usize {
        self.disk.lock().faults.hits
    }

    /// Flips one bit of a file, counted from its start, durably; false if there is no such bit.
    pub fn flip_bit(&self, path: impl AsRef<Path>, bit: u64) -> bool {
        let mut disk = self.disk.lock();
        let path: Arc<Path> = path.as_ref().into();
        match disk.live.names.get(&path).copied() {
            Some(inode) if bit / 8 < disk.live.content_mut(inode).len() => {
                disk.push(Op { path, action: Action::Flip { inode, bit } });
                true
            }
            _ => false,
        }
    }

    /// Every file and its length in bytes, sorted by path.
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        let disk = self.disk.lock();
        let len = |inode: &Inode| disk.live.contents.get(inode).map_or(0, |c| c.len());
        disk.live.names.iter().map(|(path, inode)| (path.to_path_buf(), len(inode))).collect()
    }

    /// The bytes of a file, if there is one.
    pub fn content(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let disk = self.disk.lock();
        let inode = disk.live.names.get(path.as_ref())?;
        let content = disk.live.contents.get(inode)?;
        let mut bytes = vec![0; content.len() as usize];
        content.read_at(&mut bytes, 0);
        Some(bytes)
    }
}

impl std::fmt::Debug for SimVfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimVfs")
            .field("files", &self.files())
            .field("ops", &self.op_count())
            .finish()
    }
}

impl Disk {
    /// Lets an operation take effect and records it.
    fn push(&mut self, op: Op) {
        apply_name(&mut self.live, &op);
        apply_content(&mut self.live, &op);
        if self.recording {
            self.ops.push(op);
        }
    }

    /// The bytes of all files.
    fn used(&self) -> u64 {
        self.live.contents.values().map(|content| content.len()).sum()
    }

    /// Returns how many of `bytes` bytes at an offset of a file the disk has room for.
    fn room(&self, inode: Inode, offset: u64, bytes: usize) -> usize {
        if self.capacity == u64::MAX {
            return bytes;
        }
        let len = self.live.contents.get(&inode).map_or(0, |content| content.len());
        let longest = len.saturating_add(self.capacity.saturating_sub(self.used()));
        usize::try_from(longest.saturating_sub(offset)).map_or(bytes, |room| room.min(bytes))
    }

    /// Frees the bytes of a file that has neither a name nor a handle.
    fn forget(&mut self, inode: Inode) {
        if !self.handles.contains_key(&inode)
            && !self.live.names.values().any(|&named| named == inode)
        {
            self.live.contents.remove(&inode);
        }
    }

    fn strike(&mut self, class: OpClasses) -> io::Result<()> {
        match self.faults.strike(class) {
            Some(kind) => Err(kind.error()),
            None => Ok(()),
        }
    }

    fn create(&mut self, path: Arc<Path>) -> io::Result<Inode> {
        if !self.live.dirs.contains(dir_of(&path)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inode = self.next_inode;
        self.next_inode += 1;
        self.push(Op { path, action: Action::Create { inode } });
        Ok(inode)
    }
}

fn record_of(op: &Op) -> OpRecord {
    let (kind, offset, len) = match &op.action {
        Action::CreateDir => (OpKind::CreateDir, 0, 0),
        Action::Create { .. } => (OpKind::Create, 0, 0),
        Action::Rename { .. } => (OpKind::Rename, 0, 0),
        Action::Remove => (OpKind::Remove, 0, 0),
        Action::SyncDir { .. } => (OpKind::SyncDir, 0, 0),
        Action::Write { offset, data, .. } => (OpKind::Write, *offset, data.len()),
        Action::SetLen { len, .. } => (OpKind::SetLen, *len, 0),
        Action::Sync { all: false, .. } => (OpKind::SyncData, 0, 0),
        Action::Sync { all: true, .. } => (OpKind::SyncAll, 0, 0),
        Action::Flip { bit, .. } => (OpKind::Flip, *bit, 0),
    };
    OpRecord { kind, path: op.path.to_path_buf(), offset, len }
}

impl Vfs for SimVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut disk = self.disk.lock();
        let path: Arc<Path> = path.into();
        let class = if mode == OpenMode::CreateNew { OpClasses::CREATE } else { OpClasses::OPEN };
        disk.strike(class)?;
        let found = disk.live.names.get(&path).copied();
        let taken = found.is_some() || disk.live.dirs.contains(&*path);
        let inode = match (mode, found) {
            (OpenMode::CreateNew, _) if taken => return Err(io::ErrorKind::AlreadyExists.into()),
            (OpenMode::CreateNew, _) => disk.create(path.clone())?,
            (_, Some(inode)) => inode,
            (_, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        *disk.handles.entry(inode).or_default() += 1;
        Ok(Arc::new(SimFile {
            disk: self.disk.clone(),
            path,
            inode,
            writable: mode != OpenMode::Read,
        }))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let mut missing: Vec<&Path> =
            path.ancestors().take_while(|p| !disk.live.dirs.contains(*p)).collect();
        while let Some(dir) = missing.pop() {
            disk.strike(OpClasses::CREATE)?;
            if disk.live.names.contains_key(dir) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            disk.push(Op { path: dir.into(), action: Action::CreateDir });
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::RENAME)?;
        if disk.live.dirs.contains(from) || disk.live.dirs.contains(to) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the simulated disk renames files only",
            ));
        }
        let inode = *disk.live.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        if !disk.live.dirs.contains(dir_of(to)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if from == to {
            return Ok(());
        }
        let lies = disk.faults.lies(Mutation::Rename);
        let replaced = disk.live.names.get(to).copied();
        disk.push(Op { path: from.into(), action: Action::Rename { to: to.into(), inode, lies } });
        replaced.into_iter().for_each(|inode| disk.forget(inode));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::REMOVE)?;
        let inode = *disk.live.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        disk.push(Op { path: path.into(), action: Action::Remove });
        disk.forget(inode);
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::SYNC_DIR)?;
        if !disk.live.dirs.contains(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let lies = disk.faults.lies(Mutation::SyncDir);
        disk.push(Op { path: path.into(), action: Action::SyncDir { lies } });
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::READ)?;
        if !disk.live.dirs.contains(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let files = disk.live.names.keys().map(|p| p.to_path_buf());
        let all = files.chain(disk.live.dirs.iter().filter(|d| !d.as_os_str().is_empty()).cloned());
        let mut paths: Vec<PathBuf> = all.filter(|p| p.parent() == Some(path)).collect();
        paths.sort();
        Ok(paths)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::READ)?;
        Ok(disk.live.names.contains_key(path) || disk.live.dirs.contains(path))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn DirLock>> {
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::OPEN)?;
        if disk.locks.contains(path) {
            let text = format!("{} is held by process {}", path.display(), std::process::id());
            return Err(io::Error::new(io::ErrorKind::WouldBlock, text));
        }
        if !disk.live.names.contains_key(path) {
            disk.create(path.into())?;
        }
        disk.locks.insert(path.to_path_buf());
        Ok(Box::new(SimLock { disk: self.disk.clone(), path: path.to_path_buf() }))
    }

    fn lock_to_read(&self, path: &Path) -> io::Result<Box<dyn DirLock>> {
        match self.disk.lock().locks.contains(path) {
            true => {
                let text = format!("{} is held by process {}", path.display(), std::process::id());
                Err(io::Error::new(io::ErrorKind::WouldBlock, text))
            }
            false => Ok(Box::new(crate::Unlocked)),
        }
    }
}

struct SimLock {
    disk: Arc<Mutex<Disk>>,
    path: PathBuf,
}

impl DirLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.lock().locks.remove(&self.path);
    }
}

struct SimFile {
    disk: Arc<Mutex<Disk>>,
    /// The name it was opened by.
    path: Arc<Path>,
    inode: Inode,
    writable: bool,
}

impl SimFile {
    fn push(&self, disk: &mut Disk, action: Action) {
        disk.push(Op { path: self.path.clone(), action });
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    fn sync(&self, all: bool) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let inode = self.inode;
        if let Some(kind) = disk.faults.strike(OpClasses::SYNC) {
            let outcome = Outcome::Failed(disk.random.next());
            self.push(&mut disk, Action::Sync { inode, all, outcome });
            return Err(kind.error());
        }
        let lies = disk.faults.lies(if all { Mutation::SyncAll } else { Mutation::SyncData });
        let outcome = if lies { Outcome::Lied } else { Outcome::Done };
        self.push(&mut disk, Action::Sync { inode, all, outcome });
        Ok(())
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut disk = self.disk.lock();
        if let Some(count) = disk.handles.get_mut(&self.inode) {
            *count -= 1;
            if *count == 0 {
                disk.handles.remove(&self.inode);
                disk.forget(self.inode);
            }
        }
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::READ)?;
        Ok(disk.live.contents.get(&self.inode).map_or(0, |c| c.read_at(buf, offset)))
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut disk = self.disk.lock();
        let inode = self.inode;
        match disk.faults.strike(OpClasses::WRITE) {
            None => {
                let fits = &buf[..disk.room(inode, offset, buf.len())];
                if !fits.is_empty() || buf.is_empty() {
                    self.push(&mut disk, Action::Write { inode, offset, data: Data::new(fits) });
                }
                if fits.len() == buf.len() { Ok(()) } else { Err(FaultKind::Enospc.error()) }
            }
            Some(kind) => {
                if kind == FaultKind::ShortWrite && buf.len() > 1 {
                    let data = Data::new(&buf[..buf.len() / 2]);
                    self.push(&mut disk, Action::Write { inode, offset, data });
                }
                Err(kind.error())
            }
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync(false)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync(true)
    }

    fn len(&self) -> io::Result<u64> {
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::READ)?;
        Ok(disk.live.contents.get(&self.inode).map_or(0, |c| c.len()))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut disk = self.disk.lock();
        disk.strike(OpClasses::WRITE)?;
        self.push(&mut disk, Action::SetLen { inode: self.inode, len });
        Ok(())
    }
}
