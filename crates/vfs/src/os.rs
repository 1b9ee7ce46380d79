//! The real thing: files of the operating system, its clocks, its randomness.
//!
//! Reads and writes are positional (`pread`, `pwrite`), so that one handle serves many threads.
//! A directory is locked with `flock` on a file that also names the holder's process, for the
//! error message only: the kernel lets the lock go when its holder dies, however it dies.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use crate::{Clock, DirLock, File, OpenMode, Random, Unlocked, Vfs};

/// The operating system's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsVfs;

struct OsFile(fs::File);

impl File for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match self.0.read_at(buf, offset) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

/// True if the system prefers this thread to threads of ordinary priority, because of a negative nice value
/// or a real-time policy. False also if the system does not tell.
pub fn is_preferred() -> bool {
    let stat = fs::read_to_string("/proc/thread-self/stat");
    stat.is_ok_and(|stat| priority(&stat).is_some_and(|priority| priority < ORDINARY))
}

/// The priority of a thread of nice value 0 in proc_pid_stat(5).
const ORDINARY: i64 = 20;

/// Field 18 of proc_pid_stat(5): the 16th after the name, which stands in parentheses.
fn priority(stat: &str) -> Option<i64> {
    stat.rsplit(')').next()?.split_ascii_whitespace().nth(15)?.parse().ok()
}

/// The directory that holds `path`, as something that can be opened ("." for a bare name).
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    }
}

impl Vfs for OsVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => {}
            OpenMode::ReadWrite => {
                options.write(true);
            }
            OpenMode::CreateNew => {
                options.write(true).create_new(true);
            }
        }
        Ok(Arc::new(OsFile(options.open(path)?)))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        if path.as_os_str().is_empty() || path.is_dir() {
            return Ok(());
        }
        self.create_dir_all(parent(path))?;
        match fs::create_dir(path) {
            Ok(()) => self.sync_dir(parent(path)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(e) => Err(e),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        fs::File::open(path)?.sync_all()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths =
            fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn DirLock>> {
        let mut file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        if let Err(errno) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            return Err(refused(errno, &file, path));
        }
        file.set_len(0)?;
        file.write_all(format!("{}\n", std::process::id()).as_bytes())?;
        Ok(Box::new(OsLock { _file: file }))
    }

    fn lock_to_read(&self, path: &Path) -> io::Result<Box<dyn DirLock>> {
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                ) =>
            {
                return Ok(Box::new(Unlocked));
            }
            Err(error) => return Err(error),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(refused(rustix::io::Errno::WOULDBLOCK, &file, path))
            }
            // Some file systems that are mounted to be read have no locks.
            Err(_) => Ok(Box::new(Unlocked)),
            Ok(()) => Ok(Box::new(OsLock { _file: file })),
        }
    }
}

/// Returns the error for a refused lock, with the process that holds it if that is known.
fn refused(errno: rustix::io::Errno, file: &fs::File, path: &Path) -> io::Error {
    if errno != rustix::io::Errno::WOULDBLOCK {
        return errno.into();
    }
    let mut holder = String::new();
    // The read is bounded: a file at another path than ours may have any content.
    let _ = Read::take(file, 20).read_to_string(&mut holder);
    let holder = match holder.trim() {
        "" => String::from("another process"),
        pid => format!("process {pid}"),
    };
    io::Error::new(io::ErrorKind::WouldBlock, format!("{} is held by {holder}", path.display()))
}

/// Closing the file lets the lock go.
struct OsLock {
    _file: fs::File,
}

impl DirLock for OsLock {}

/// The machine's clocks.
#[derive(Clone, Copy, Debug)]
pub struct OsClock {
    start: Instant,
}

impl OsClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> OsClock {
        OsClock { start: Instant::now() }
    }
}

impl Default for OsClock {
    fn default() -> OsClock {
        OsClock::new()
    }
}

impl Clock for OsClock {
    fn now_us(&self) -> u64 {
        // A clock set before 1970 reads as 0 rather than failing every commit.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
    }

    fn monotonic_us(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }
}

/// Random bits: a counter through SipHash under keys from the operating system.
///
/// Unique and unguessable enough for epochs and file names; not meant for secrets.
#[derive(Debug)]
pub struct OsRandom {
    keys: RandomState,
    counter: AtomicU64,
}

impl OsRandom {
    /// A source with fresh keys.
    pub fn new() -> OsRandom {
        OsRandom { keys: RandomState::new(), counter: AtomicU64::new(0) }
    }
}

impl Default for OsRandom {
    fn default() -> OsRandom {
        OsRandom::new()
    }
}

impl Random for OsRandom {
    fn next_u64(&self) -> u64 {
        // The time goes in too: the standard library derives further keys of one thread by adding one.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        self.keys.hash_one((self.counter.fetch_add(1, Ordering::Relaxed), now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The priority is found behind a name with spaces and parentheses.
    #[test]
    fn priorities_are_read() {
        let stat = |priority: &str| {
            format!("7 (a) b (c) S 1 7 7 0 -1 4194304 9 0 0 0 1 2 0 0 {priority} 0 3 0")
        };
        assert_eq!(priority(&stat("20")), Some(ORDINARY));
        assert_eq!(priority(&stat("0")), Some(0), "nice -20");
        assert_eq!(priority(&stat("-6")), Some(-6), "real-time priority 5");
        assert_eq!(priority("7 (a) S 1"), None);
    }
}
