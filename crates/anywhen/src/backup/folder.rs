//! [`BackupFolder`]: the folder of a backup, which follows its source from then on.

use super::archive::Archive;
use super::mark::State;
use super::{BackupError, BackupMark, BackupSource, STEP_BYTES, io, remove_if_there, write};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::NamedFiles;
use vfs::{DirLock, Env, File, OpenMode};

/// Bytes of a file that are written between two syncs: no more is lost where the power fails.
const SYNC_BYTES: u64 = 32 << 20;
/// How often a file is copied whose checksums do not match.
const TRIES: usize = 3;
/// The longest pause of a copy that is slowed down, after which it hears whether it goes on.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// The file that one process holds which writes to the folder.
const LOCK: &str = "BACKUP.lock";

/// How fast a copy goes.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CopyPace {
    /// Bytes a second at most; `None` for as fast as it goes.
    pub bytes_per_second: Option<u64>,
}

impl CopyPace {
    /// No more than so many bytes a second.
    pub fn at_most(bytes_per_second: u64) -> CopyPace {
        CopyPace { bytes_per_second: Some(bytes_per_second.max(1)) }
    }
}

/// A folder of a backup, held by this process alone.
pub struct BackupFolder {
    env: Env,
    folder: PathBuf,
    state: State,
    archive: Option<Archive>,
    _lock: Box<dyn DirLock>,
}

impl BackupFolder {
    /// Takes a folder that is empty or missing, in which a copy was cut short, or which has a whole backup.
    ///
    /// # Errors
    /// [`Error::Exists`] where it has something else, [`BackupError::InUse`] where another process writes to it.
    pub fn open(folder: impl AsRef<Path>) -> Result<BackupFolder> {
        BackupFolder::open_env(&Env::os(), folder.as_ref())
    }

    /// [`open`](BackupFolder::open), on the given files and clock.
    pub fn open_env(env: &Env, folder: &Path) -> Result<BackupFolder> {
        BackupFolder::look(env, folder)?;
        env.fs.create_dir_all(&folder.join("store")).map_err(io(folder))?;
        let lock = env.fs.lock(&folder.join(LOCK)).map_err(|source| match source.kind() {
            std::io::ErrorKind::WouldBlock => {
                Error::from(BackupError::InUse { path: folder.to_owned(), source })
            }
            _ => io(folder)(source),
        })?;
        let state = match State::read(env, folder)? {
            State::Unknown => {
                State::Begun.write(env, folder)?;
                State::Begun
            }
            state => state,
        };
        let (env, folder) = (env.clone(), folder.to_owned());
        Ok(BackupFolder { env, folder, state, archive: None, _lock: lock })
    }

    /// Fails if a folder has something else than a backup in it.
    pub(super) fn look(env: &Env, folder: &Path) -> Result<()> {
        match State::read(env, folder)? {
            State::Unknown => require_empty(env, folder),
            State::Begun | State::Whole(_) => Ok(()),
        }
    }

    /// The commit that the backup has; `None` until it is whole.
    pub fn base(&self) -> Option<BackupMark> {
        match self.state {
            State::Whole(mark) => Some(mark),
            State::Begun | State::Unknown => None,
        }
    }

    /// Copies the source as of now. Files that a copy before has left and that the source still has are kept, as far
    /// as their checksums match. `told` hears how many bytes of how many are there, several times a second; its error
    /// ends the copy.
    ///
    /// # Errors
    /// [`Error::Exists`] where the backup is whole, and that of `told`. After any other error, or the end of the
    /// process, the copy can be made again, and goes on.
    pub fn copy(
        &mut self,
        source: &mut dyn BackupSource,
        pace: CopyPace,
        told: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<BackupMark> {
        if self.base().is_some() {
            return Err(Error::Exists(self.folder.clone()));
        }
        let plan = source.begin()?;
        let store = self.folder.join("store");
        let (files, _) = NamedFiles::of_manifest(&plan.manifest)?;
        self.clear(&store, &files)?;
        let total = files.iter().map(|(_, bytes)| bytes).sum();
        let mut copy = Copy {
            env: &self.env,
            folder: &store,
            pace: Pace::new(&self.env, pace),
            done: 0,
            told: &mut |done| told(done, total),
        };
        for (name, bytes) in files.iter() {
            copy.file(&files, &name, bytes, &mut |at, part| source.read(&name, at, part))?;
        }
        // The files that the manifest names are on disk before the manifest is.
        self.env.fs.sync_dir(&store).map_err(io(&store))?;
        write(&self.env, &store.join("MANIFEST"), &plan.manifest)?;
        write(&self.env, &self.folder.join("LOCK"), &[])?;
        for folder in [&store, &self.folder] {
            self.env.fs.sync_dir(folder).map_err(io(folder))?;
        }
        let mark =
            BackupMark { csn: plan.csn, time_us: plan.time_us, complete_us: plan.complete_us };
        self.state = State::Whole(mark);
        self.state.write(&self.env, &self.folder)?;
        Ok(mark)
    }

    /// Takes in what the source has committed since, and goes on until an error: of [`BackupError::Lost`] the call
    /// can be repeated. Records, and the files that they name, are durable here before the source gets the new
    /// position. After each step `told` gets the position of the archive, and ends the call with false.
    ///
    /// # Errors
    /// [`BackupError::Unfinished`] where there is no whole backup to go on from.
    pub fn follow(
        &mut self,
        source: &mut dyn BackupSource,
        told: &mut dyn FnMut(BackupMark) -> bool,
    ) -> Result<()> {
        let Some(base) = self.base() else {
            return Err(BackupError::Unfinished(self.folder.clone()).into());
        };
        let mut archive = match self.archive.take() {
            Some(archive) => archive,
            None => Archive::open(&self.env, &self.folder, base)?,
        };
        let end = archive.end();
        source.follow(end.csn, end.time_us)?;
        let outcome = loop {
            match archive.step(source) {
                Ok(end) if told(end) => {}
                outcome => break outcome,
            }
        };
        // After a failure of the disk the log is opened anew, which finds out what is there.
        if outcome.as_ref().err().is_none_or(is_of_source) {
            self.archive = Some(archive);
        }
        outcome.map(drop)
    }

    /// Removes what a copy before has left and this one does not need.
    fn clear(&self, store: &Path, files: &NamedFiles) -> Result<()> {
        let fs = &self.env.fs;
        // First what would make a database of the folder.
        for path in [self.folder.join("LOCK"), store.join("MANIFEST")] {
            remove_if_there(&self.env, &path)?;
        }
        for folder in [store, &self.folder] {
            fs.sync_dir(folder).map_err(io(folder))?;
        }
        for path in fs.list(store).map_err(io(store))? {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            if !files.iter().any(|(known, _)| Some(known) == name) {
                fs.remove(&path).map_err(io(&path))?;
            }
        }
        Ok(())
    }
}

fn is_of_source(error: &Error) -> bool {
    matches!(error, Error::Backup(BackupError::Lost(_) | BackupError::Refused(_)))
}

fn require_empty(env: &Env, folder: &Path) -> Result<()> {
    if env.fs.exists(folder).map_err(io(folder))?
        && !env.fs.list(folder).map_err(io(folder))?.is_empty()
    {
        // Nothing but what opening such a folder leaves before it is marked.
        let is_ours = |path: &PathBuf| {
            path.ends_with(LOCK)
                || path.ends_with("BACKUP.new")
                || path.ends_with("store") && env.fs.list(path).is_ok_and(|files| files.is_empty())
        };
        let all = env.fs.list(folder).map_err(io(folder))?;
        if !all.iter().all(is_ours) {
            return Err(Error::Exists(folder.to_owned()));
        }
    }
    Ok(())
}

/// Fills a buffer from an offset of a file.
type Read<'r> = dyn FnMut(u64, &mut [u8]) -> Result<()> + 'r;

/// Copies files into a folder.
pub(super) struct Copy<'a> {
    pub(super) env: &'a Env,
    pub(super) folder: &'a Path,
    pub(super) pace: Pace,
    /// Bytes that are there.
    pub(super) done: u64,
    /// Hears of them; its error ends the copy.
    pub(super) told: &'a mut dyn FnMut(u64) -> Result<()>,
}

impl Copy<'_> {
    /// Copies a file from where the copy before has ended, and checks all of it. `read` fills a buffer from an offset.
    pub(super) fn file(
        &mut self,
        files: &NamedFiles,
        name: &str,
        bytes: u64,
        read: &mut Read<'_>,
    ) -> Result<()> {
        let path = self.folder.join(name);
        let before = self.done;
        let mut tries = 0;
        loop {
            let is_there = self.env.fs.exists(&path).map_err(io(&path))?;
            let mode = if is_there { OpenMode::ReadWrite } else { OpenMode::CreateNew };
            let file = self.env.fs.open(&path, mode).map_err(io(&path))?;
            let mut at = file.len().map_err(io(&path))?;
            if at > bytes {
                file.set_len(0).map_err(io(&path))?;
                at = 0;
            }
            self.progress(before + at)?;
            if at < bytes {
                self.rest(read, &path, &*file, at..bytes)?;
            }
            match files.check(self.env, self.folder, name) {
                Ok(()) => return Ok(()),
                // Damaged on the way, or torn by a power loss here: from the beginning.
                Err(error) => {
                    drop(file);
                    self.env.fs.remove(&path).map_err(io(&path))?;
                    tries += 1;
                    if tries >= TRIES {
                        return Err(error.into());
                    }
                }
            }
        }
    }

    /// Copies the rest of a file, durably.
    fn rest(
        &mut self,
        read: &mut Read<'_>,
        path: &Path,
        file: &dyn File,
        range: std::ops::Range<u64>,
    ) -> Result<()> {
        let mut buffer = vec![0; STEP_BYTES];
        let (mut at, mut synced) = (range.start, range.start);
        while at < range.end {
            let part = (range.end - at).min(buffer.len() as u64) as usize;
            read(at, &mut buffer[..part])?;
            file.write_all_at(&buffer[..part], at).map_err(io(path))?;
            at += part as u64;
            if at - synced >= SYNC_BYTES {
                file.sync_data().map_err(io(path))?;
                synced = at;
            }
            self.progress(self.done + part as u64)?;
            self.wait(part as u64)?;
        }
        file.sync_all().map_err(io(path))
    }

    /// Counts bytes that were copied otherwise.
    pub(super) fn add(&mut self, bytes: u64) -> Result<()> {
        self.progress(self.done + bytes)
    }

    fn progress(&mut self, done: u64) -> Result<()> {
        self.done = done;
        (self.told)(done)
    }

    /// Waits until so many bytes more may have been copied.
    fn wait(&mut self, bytes: u64) -> Result<()> {
        self.pace.add(bytes);
        while let Some(left) = self.pace.left() {
            std::thread::sleep(left.min(WAIT_MAX));
            (self.told)(self.done)?;
        }
        Ok(())
    }
}

/// Slows a copy down.
pub(super) struct Pace {
    env: Env,
    bytes_per_second: Option<u64>,
    begun_us: u64,
    bytes: u64,
}

impl Pace {
    pub(super) fn new(env: &Env, pace: CopyPace) -> Pace {
        let begun_us = env.clock.monotonic_us();
        Pace { env: env.clone(), bytes_per_second: pace.bytes_per_second, begun_us, bytes: 0 }
    }

    /// So many bytes more are copied.
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// How long it is until these bytes may have been copied; `None` from then on.
    fn left(&self) -> Option<Duration> {
        let rate = self.bytes_per_second?;
        let due_us = u128::from(self.bytes) * 1_000_000 / u128::from(rate);
        let gone_us = self.env.clock.monotonic_us().saturating_sub(self.begun_us);
        let wait_us = due_us.saturating_sub(u128::from(gone_us));
        let wait_us = u64::try_from(wait_us).unwrap_or(u64::MAX);
        (wait_us > 0).then(|| Duration::from_micros(wait_us))
    }
}
