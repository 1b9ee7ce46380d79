//! [`LogFile`]: a file for log lines, which is replaced by a new one when it is too large or too
//! old.
//!
//! ```text
//!   server.log    the current lines             a server that keeps 3 files
//!   server.log.1  the lines before these
//!   server.log.2  the oldest lines, which are removed when the file begins anew
//! ```
//!
//! A line that cannot be written, because the disk is full, is lost; the server goes on, and tells on standard
//! error once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// When a file begins anew, and how many are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    /// So many bytes at most, about.
    pub bytes: Option<u64>,
    /// So old at most.
    pub age: Option<Duration>,
    /// How many files are kept, the current one included.
    pub files: usize,
}

/// A file for log lines. Cheap to clone; may be written to from many threads.
#[derive(Clone)]
pub(crate) struct LogFile(Arc<Mutex<State>>);

struct State {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    bytes: u64,
    began: SystemTime,
    /// True if the last line has ended.
    is_between: bool,
    /// True if it was told that lines are lost.
    is_told: bool,
}

impl LogFile {
    /// Opens a file, whose lines stay, and makes the folder that it is in.
    ///
    /// # Errors
    /// Fails if it cannot be opened or made.
    pub(crate) fn open(path: &Path, rotation: Rotation) -> io::Result<LogFile> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let (file, bytes, began) = open(path)?;
        let path = path.to_owned();
        let state = State { path, rotation, file, bytes, began, is_between: true, is_told: false };
        Ok(LogFile(Arc::new(Mutex::new(state))))
    }

    /// Opens the file anew under its name: another program may have moved it away.
    ///
    /// # Errors
    /// Fails if it cannot be opened; lines then still go to the old file.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let mut state = self.lock();
        let (file, bytes, began) = open(&state.path)?;
        (state.file, state.bytes, state.began) = (file, bytes, began);
        Ok(())
    }

    /// No panic can leave the state half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file, how many bytes it has, and when it began.
fn open(path: &Path) -> io::Result<(File, u64, SystemTime)> {
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    let about = file.metadata()?;
    let began = match about.len() {
        0 => SystemTime::now(),
        // Where the file system does not tell, the age counts from now.
        _ => about.created().unwrap_or_else(|_| SystemTime::now()),
    };
    Ok((file, about.len(), began))
}

impl State {
    fn is_over(&self) -> bool {
        let Rotation { bytes, age, .. } = self.rotation;
        let old = self.began.elapsed().unwrap_or_default();
        self.bytes > 0
            && (bytes.is_some_and(|most| self.bytes >= most) || age.is_some_and(|most| old >= most))
    }

    /// The name of the file that was current `count` rotations ago.
    fn before(&self, count: usize) -> PathBuf {
        match count {
            0 => self.path.clone(),
            count => {
                let mut name = self.path.as_os_str().to_owned();
                name.push(format!(".{count}"));
                name.into()
            }
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        for count in (1..self.rotation.files.max(1)).rev() {
            let from = self.before(count - 1);
            if from.exists() {
                fs::rename(from, self.before(count))?;
            }
        }
        if self.rotation.files <= 1 {
            self.file.set_len(0)?;
        }
        (self.file, self.bytes, self.began) = open(&self.path)?;
        self.began = SystemTime::now();
        Ok(())
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.lock();
        // A file that cannot begin anew is written on.
        let turned = if state.is_between && state.is_over() { state.rotate() } else { Ok(()) };
        let written = state.file.write_all(line);
        state.is_between = line.last() == Some(&b'\n');
        match turned.and(written) {
            Ok(()) => {
                state.bytes += line.len() as u64;
                state.is_told = false;
            }
            Err(error) if !state.is_told => {
                state.is_told = true;
                // An error of standard error has no other place to go.
                let _ =
                    writeln!(io::stderr(), "log lines are lost: {}: {error}", state.path.display());
            }
            Err(_) => {}
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    /// A file begins anew at the size that is said, between two lines, and so many are kept; one that was there
    /// goes on.
    #[test]
    fn files_are_rotated_by_size() {
        let folder = tempfile::tempdir().expect("a folder is made");
        let path = folder.path().join("logs/server.log");
        let rotation = Rotation { bytes: Some(10), age: None, files: 3 };
        let mut log = LogFile::open(&path, rotation).expect("it opens");
        for line in ["1234567\n", "8", "9\n", "abc\n", "defghijklmno\n", "p\n"] {
            log.write_all(line.as_bytes()).expect("it is written");
        }
        drop(log);
        let name = |count: usize| path.with_file_name(format!("server.log.{count}"));
        assert_eq!(read(&path), "p\n");
        assert_eq!(read(&name(1)), "abc\ndefghijklmno\n");
        assert_eq!(read(&name(2)), "1234567\n89\n");
        let mut log = LogFile::open(&path, rotation).expect("it opens");
        log.write_all(b"q\n").expect("it is written");
        assert_eq!(read(&path), "p\nq\n");
        for _ in 0..20 {
            log.write_all(b"0123456789\n").expect("it is written");
        }
        assert!(!name(3).exists() && read(&name(2)) == "0123456789\n");
    }

    /// A file begins anew when it is old, and under its own name again where it was moved away.
    #[test]
    fn files_are_rotated_by_age_and_reopened() {
        let folder = tempfile::tempdir().expect("a folder is made");
        let path = folder.path().join("server.log");
        let rotation = Rotation { bytes: None, age: Some(Duration::from_millis(30)), files: 2 };
        let mut log = LogFile::open(&path, rotation).expect("it opens");
        log.write_all(b"old\n").expect("it is written");
        std::thread::sleep(Duration::from_millis(40));
        log.write_all(b"new\n").expect("it is written");
        assert_eq!(
            (read(&path).as_str(), read(&folder.path().join("server.log.1")).as_str()),
            ("new\n", "old\n")
        );

        let rotation = Rotation { bytes: None, age: None, files: 2 };
        let mut log = LogFile::open(&path, rotation).expect("it opens");
        let moved = folder.path().join("moved");
        fs::rename(&path, &moved).expect("it is moved");
        log.write_all(b"there\n").expect("it is written");
        log.reopen().expect("it opens");
        log.write_all(b"here\n").expect("it is written");
        assert_eq!((read(&moved).as_str(), read(&path).as_str()), ("new\nthere\n", "here\n"));
    }
}
