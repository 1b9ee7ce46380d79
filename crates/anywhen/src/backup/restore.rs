//! Restoring: a new folder from a backup, as of the backup or as of a later moment in its archive.

use super::archive::{Frame, advance, files_of, log_of, open_log};
use super::folder::{Copy, CopyPace, Pace};
use super::mark::State;
use super::{BackupError, BackupMark, io, read, write};
use crate::{Csn, Database, Error, Options, Result};
use log::{CommitLog, Durability, LogOptions, Lsn, SegmentedLog};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::NamedFiles;
use txn::{EngineError, RecordHead};
use vfs::{Env, OpenMode};

/// Bytes of the log that are written between two syncs.
const SYNC_BYTES: u64 = 4 << 20;

/// A moment to restore to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreTo {
    /// The newest commit that there is.
    Newest,
    /// This commit.
    Csn(Csn),
    /// All commits up to this time, in microseconds since 1970 UTC.
    Time(u64),
}

impl Database {
    /// Makes a database of a backup in an empty or missing folder, opens it, and checks all of it. It has the newest
    /// commit of the backup and its archive.
    pub fn restore(
        backup: impl AsRef<Path>,
        folder: impl AsRef<Path>,
        progress: impl FnMut(u64),
    ) -> Result<Database> {
        Database::restore_to(backup, folder, RestoreTo::Newest, progress)
    }

    /// The same, with exactly the commits up to a moment: the one of the backup, or a later one that its archive has.
    /// `progress` gets the copied bytes.
    ///
    /// # Errors
    /// [`BackupError::OutOfRange`] for another moment, with those that are allowed.
    pub fn restore_to(
        backup: impl AsRef<Path>,
        folder: impl AsRef<Path>,
        to: RestoreTo,
        progress: impl FnMut(u64),
    ) -> Result<Database> {
        Database::restore_env(&Env::os(), backup.as_ref(), folder.as_ref(), to, progress)
    }

    /// [`restore_to`](Database::restore_to), on the given files, clock and randomness.
    pub fn restore_env(
        env: &Env,
        backup: &Path,
        folder: &Path,
        to: RestoreTo,
        mut progress: impl FnMut(u64),
    ) -> Result<Database> {
        let found = FoundBackup::open(env, backup)?;
        let upto = found.find(to)?;
        if env.fs.exists(folder).map_err(io(folder))?
            && !env.fs.list(folder).map_err(io(folder))?.is_empty()
        {
            return Err(Error::Exists(folder.to_owned()));
        }
        let store = folder.join("store");
        env.fs.create_dir_all(&store).map_err(io(&store))?;
        let mut copy = Copy {
            env,
            folder: &store,
            pace: Pace::new(env, CopyPace::default()),
            done: 0,
            told: &mut |done| {
                progress(done);
                Ok(())
            },
        };
        for (name, bytes) in found.files.iter() {
            let mut read = reader(env, &backup.join("store").join(&name))?;
            copy.file(&found.files, &name, bytes, &mut read)?;
        }
        found.restore_log(folder, upto, &mut copy)?;
        env.fs.sync_dir(&store).map_err(io(&store))?;
        // The log and the files that the manifest names are on disk before the manifest is.
        write(env, &store.join("MANIFEST"), &found.manifest)?;
        write(env, &folder.join("LOCK"), &[])?;
        for folder in [&store, folder] {
            env.fs.sync_dir(folder).map_err(io(folder))?;
        }
        let options = Options { create: crate::Create::Never, ..Options::default() };
        let database = Database::open_env(env, folder, options)?;
        database.check_files()?;
        Ok(database)
    }

    /// Returns the first and the last moment to which a backup can be restored. All of its log is read and checked,
    /// and nothing is changed.
    ///
    /// # Errors
    /// Fails if there is no backup, or if it is incomplete or damaged.
    pub fn look_at_backup(backup: impl AsRef<Path>) -> Result<(BackupMark, BackupMark)> {
        let (env, backup) = (Env::os(), backup.as_ref());
        let found = FoundBackup::open(&env, backup)?;
        if let Some(log) = &found.log {
            for frame in log.tail(Lsn::START).map_err(EngineError::Log)? {
                let (_, payload) = frame.map_err(EngineError::Log)?;
                if let Frame::Record(RecordHead { files: Some(files), .. }) = Frame::of(&payload)? {
                    for (name, _) in files.iter() {
                        files.check(&env, &files_of(backup), &name)?;
                    }
                }
            }
        }
        Ok((found.base, found.end))
    }
}

/// A backup as it is found.
struct FoundBackup {
    env: Env,
    folder: PathBuf,
    manifest: Vec<u8>,
    files: NamedFiles,
    base: BackupMark,
    end: BackupMark,
    /// The log of the archive, where there is one.
    log: Option<SegmentedLog>,
    /// Keeps those out who write to it.
    _lock: Box<dyn vfs::DirLock>,
}

impl FoundBackup {
    fn open(env: &Env, folder: &Path) -> Result<FoundBackup> {
        let path = folder.join("store").join("MANIFEST");
        let state = State::read(env, folder)?;
        if state == State::Begun {
            return Err(BackupError::Unfinished(folder.to_owned()).into());
        }
        if !env.fs.exists(&path).map_err(io(&path))? {
            return Err(Error::NoDatabase(folder.to_owned()));
        }
        let lock =
            env.fs.lock_to_read(&folder.join("BACKUP.lock")).map_err(|source| {
                match source.kind() {
                    std::io::ErrorKind::WouldBlock => {
                        Error::from(BackupError::InUse { path: folder.to_owned(), source })
                    }
                    _ => io(folder)(source),
                }
            })?;
        let manifest = read(env, &path)?;
        let (files, checkpoint) = NamedFiles::of_manifest(&manifest)?;
        let base = match state {
            State::Whole(mark) => mark,
            // A backup of an earlier release has no time.
            _ => BackupMark { csn: checkpoint.csn, ..BackupMark::default() },
        };
        let mut end = base;
        let mut log = None;
        if env.fs.exists(&log_of(folder)).map_err(io(folder))? {
            // Opening a log may write to it, which stays in memory.
            let over = vfs::Overlay::new(Arc::clone(&env.fs));
            let env = Env { fs: Arc::new(over), ..env.clone() };
            log = Some(open_log(&env, folder, |frame| advance(&mut end, &frame))?);
        }
        let (env, folder) = (env.clone(), folder.to_owned());
        Ok(FoundBackup { env, folder, manifest, files, base, end, log, _lock: lock })
    }

    /// The last commit up to a moment.
    fn find(&self, to: RestoreTo) -> Result<Csn> {
        let (base, end) = (self.base, self.end);
        let refuse = |asked: String, is_before| {
            Err(BackupError::OutOfRange { asked, is_before, from: base, to: end }.into())
        };
        match to {
            RestoreTo::Newest => Ok(end.csn),
            RestoreTo::Csn(csn) if csn < base.csn || csn > end.csn => {
                refuse(format!("commit {}", csn.0), csn < base.csn)
            }
            RestoreTo::Csn(csn) => Ok(csn),
            RestoreTo::Time(us) if us < base.time_us || us > end.complete_us => {
                refuse(crate::time::rfc3339(us), us < base.time_us)
            }
            RestoreTo::Time(us) => {
                let mut found = base.csn;
                self.each_record(|head, _| {
                    let is_upto = head.time_us <= us;
                    if is_upto {
                        found = head.csn;
                    }
                    Ok(is_upto)
                })?;
                Ok(found)
            }
        }
    }

    /// Shows the records of the archive in their order, until `each` returns false.
    fn each_record(&self, mut each: impl FnMut(RecordHead, &[u8]) -> Result<bool>) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        for frame in log.tail(Lsn::START).map_err(EngineError::Log)? {
            let (_, payload) = frame.map_err(EngineError::Log)?;
            if let Frame::Record(head) = Frame::of(&payload)?
                && !each(head, &payload)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Writes the records up to a commit into the log of a new folder, and copies the files that they name.
    fn restore_log(&self, folder: &Path, upto: Csn, copy: &mut Copy<'_>) -> Result<()> {
        if upto == self.base.csn {
            return Ok(());
        }
        let path = folder.join("log");
        self.env.fs.create_dir_all(&path).map_err(io(&path))?;
        let log =
            SegmentedLog::open(&self.env, &path, LogOptions::default(), Lsn::START, &mut |_, _| {
                Ok(())
            })
            .map_err(EngineError::Log)?;
        let mut synced = Lsn::START;
        self.each_record(|head, record| {
            if head.csn > upto {
                return Ok(false);
            }
            if let Some(files) = &head.files {
                for (name, bytes) in files.iter() {
                    let mut read = reader(&self.env, &files_of(&self.folder).join(&name))?;
                    copy.file(files, &name, bytes, &mut read)?;
                }
            }
            let end = log.append(record).map_err(EngineError::Log)?;
            if log.bytes_between(synced, end) >= SYNC_BYTES {
                log.sync(end, Durability::Sync).map_err(EngineError::Log)?;
                synced = end;
            }
            copy.add(record.len() as u64)?;
            Ok(true)
        })?;
        Ok(log.close().map_err(EngineError::Log)?)
    }
}

/// Returns what reads a file of this machine.
fn reader(env: &Env, path: &Path) -> Result<impl FnMut(u64, &mut [u8]) -> Result<()> + use<>> {
    let file = env.fs.open(path, OpenMode::Read).map_err(io(path))?;
    let path = path.to_owned();
    Ok(move |at, part: &mut [u8]| file.read_exact_at(part, at).map_err(io(&path)))
}
