//! Backups: a copy of the database as of one commit, taken while it is in use, and its restoration.
//!
//! ```text
//!   Database, or a server ──BackupSource──> BackupFolder ──> Database::restore
//!                                              │
//!       store/, LOCK        the base           │ copy     the database as of one commit: opens like any other
//!       archive/log         what came after    │ follow   the records of the leader's log, byte for byte
//!       archive/files       their files        │
//!       BACKUP              begun or whole; which commit, and when
//! ```
//!
//! Everything committed is first written to the store's files, which never change; those are copied and checked one
//! by one, and the manifest that names them is written last. A folder in which a copy was cut short says so in
//! `BACKUP`; the next copy into it keeps the files that are whole. A backup can be opened where it lies, by what only
//! reads it.
//!
//! With an archive a backup can be restored to any commit since: the records go into the log of the new
//! folder, whose first opening replays them as after a crash. `docs/format.md` has every byte.
//!
//! # Invariants
//! * A folder is a backup once it is whole: before that nothing opens it or restores from it.
//! * No byte counts before its checksum was computed here.
//! * Nothing is acknowledged to the source before it is durable here.
//! * A restored folder is no database before all of it is there.

mod archive;
mod folder;
mod mark;
mod restore;
mod source;

pub use folder::{BackupFolder, CopyPace};
pub use mark::BackupMark;
pub use restore::RestoreTo;
pub use source::{BackupSource, LocalSource};
pub use txn::{BackupId, BackupPlan, LogBatch};

use crate::{Csn, Database, Error, Result};
use std::path::{Path, PathBuf};
use types::SqlState;
use vfs::{Env, OpenMode};

/// Bytes copied at once.
const STEP_BYTES: usize = 1 << 20;

/// An error of a backup, or of the database that it copies.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The source is gone, for now: what is there is kept, and the copy can go on later.
    #[error("the connection to the server was lost: {0}")]
    Lost(String),
    /// The source refuses, and will again.
    #[error("the server refuses the request: {0}")]
    Refused(String),
    /// A folder in which a copy was cut short.
    #[error("the backup in {} is incomplete: the copy into it was interrupted", .0.display())]
    Unfinished(PathBuf),
    /// The file that says what a backup is does not decode, or a newer release wrote it.
    #[error("{}: {what}", path.display())]
    Mark {
        /// The file.
        path: PathBuf,
        /// The defect.
        what: &'static str,
    },
    /// Another process writes to the folder.
    #[error("{} is being written to: {source}", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Tells who, where it is known.
        source: std::io::Error,
    },
    /// A moment to which a backup cannot be restored.
    #[error(
        "{} is {} of this backup: it can be restored to commits {} to {}, and to times from {} to {}",
        asked,
        if *is_before { "before the beginning" } else { "after the end" },
        from.csn.0, to.csn.0,
        crate::time::rfc3339(from.time_us), crate::time::rfc3339(to.complete_us)
    )]
    OutOfRange {
        /// The moment.
        asked: String,
        /// True if it is before the backup, false if it is after the end of its archive.
        is_before: bool,
        /// The commit that the backup has.
        from: BackupMark,
        /// The newest commit of its archive.
        to: BackupMark,
    },
}

impl BackupError {
    /// Returns the code by which SQL clients know this error.
    pub fn sqlstate(&self) -> SqlState {
        match self {
            BackupError::Lost(_) => SqlState::CONNECTION_FAILURE,
            BackupError::Refused(_) | BackupError::Unfinished(_) => {
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE
            }
            BackupError::Mark { .. } => SqlState::DATA_CORRUPTED,
            BackupError::InUse { .. } => SqlState::OBJECT_IN_USE,
            BackupError::OutOfRange { .. } => SqlState::INVALID_PARAMETER_VALUE,
        }
    }
}

impl Database {
    /// Copies the database into an empty or missing folder, or goes on where a copy into it was cut short; returns the
    /// newest commit in the copy. Reading and writing go on meanwhile. `progress` gets the copied bytes. Every
    /// checksum is computed before: a damaged file is not copied.
    pub fn backup(&self, folder: impl AsRef<Path>, mut progress: impl FnMut(u64)) -> Result<Csn> {
        let mark = self.backup_with(folder, CopyPace::default(), |done, _| progress(done))?;
        Ok(mark.csn)
    }

    /// The same at a pace; `progress` gets the copied bytes and their total.
    pub fn backup_with(
        &self,
        folder: impl AsRef<Path>,
        pace: CopyPace,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<BackupMark> {
        let env = &self.shared.env;
        BackupFolder::look(env, folder.as_ref())?;
        self.engine().checkpoint()?;
        self.check_files()?;
        let mut target = BackupFolder::open_env(env, folder.as_ref())?;
        let mut told = |done, total| {
            progress(done, total);
            Ok(())
        };
        target.copy(&mut LocalSource::new(self.clone()), pace, &mut told)
    }

    /// Begins a backup that is taken in many calls: everything committed is written to files, which stay as they are
    /// until [`Database::end_backup`], and the log from there on is kept. A backup of which nothing is asked for ten
    /// minutes ends by itself.
    ///
    /// # Errors
    /// The errors of writing the files.
    pub fn begin_backup(&self) -> Result<BackupPlan> {
        Ok(self.engine().begin_backup()?)
    }

    /// Begins to give the log to a copy that has every commit up to `after`, which was made at `time_us`.
    ///
    /// # Errors
    /// [`Error::Engine`] where the commit is not one of this database, or the log does not reach back to it any
    /// more: the copy begins anew.
    pub fn follow_log(&self, after: Csn, time_us: u64) -> Result<BackupId> {
        Ok(self.engine().follow_log(after, time_us)?)
    }

    /// Reads bytes of a file of a backup: one that its manifest names, or a record of the log.
    ///
    /// # Errors
    /// [`Error::Engine`] where the backup has ended, or there is no such file.
    pub fn read_backup(
        &self,
        id: BackupId,
        name: &str,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<()> {
        Ok(self.engine().read_backup(id, name, offset, bytes)?)
    }

    /// Gives the durable records of the commits after `after`, about `bytes_max` bytes of them, and none if there is
    /// nothing new. So the copy says that it has all up to `after`, durably.
    ///
    /// # Errors
    /// [`Error::Engine`] where the backup has ended.
    pub fn records_after(&self, id: BackupId, after: Csn, bytes_max: usize) -> Result<LogBatch> {
        Ok(self.engine().records_after(id, after, bytes_max)?)
    }

    /// Ends a backup: its files and the log are released.
    pub fn end_backup(&self, id: BackupId) {
        self.engine().end_backup(id);
    }

    /// Fails with the first thing that is wrong with the files.
    fn check_files(&self) -> Result<()> {
        let report = self.engine().store().verify(&mut |_, _| ())?;
        report.problems.into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

fn read(env: &Env, path: &Path) -> Result<Vec<u8>> {
    let file = env.fs.open(path, OpenMode::Read).map_err(io(path))?;
    let mut bytes = vec![0; file.len().map_err(io(path))? as usize];
    file.read_exact_at(&mut bytes, 0).map_err(io(path))?;
    Ok(bytes)
}

/// Writes a file that does not exist yet, durably but for its name.
fn write(env: &Env, path: &Path, bytes: &[u8]) -> Result<()> {
    let file = env.fs.open(path, OpenMode::CreateNew).map_err(io(path))?;
    file.write_all_at(bytes, 0).map_err(io(path))?;
    file.sync_all().map_err(io(path))
}

fn remove_if_there(env: &Env, path: &Path) -> Result<()> {
    match env.fs.exists(path).map_err(io(path))? {
        true => env.fs.remove(path).map_err(io(path)),
        false => Ok(()),
    }
}
