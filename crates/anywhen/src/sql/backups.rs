//! Backups that a statement of SQL asks for: `SELECT backup('/folder')`.

use std::path::{Component, Path, PathBuf};
use std::sync::Weak;

use session::{BackupTarget, Backups};
use types::{Error, Result, SqlState};

use crate::{BackupFolder, CopyPace, Csn, Database, LocalSource, Shared};

/// Makes the backups of a database. It does not keep the database open.
pub(super) struct SqlBackups(pub Weak<Shared>);

impl Backups for SqlBackups {
    fn backup(&self, target: &BackupTarget<'_>) -> Result<Csn> {
        let Some(shared) = self.0.upgrade() else {
            let message = "the database is closed";
            return Err(Error::new(SqlState::CANNOT_CONNECT_NOW, message));
        };
        let database = Database { shared };
        require_outside(target.folder, database.path())?;
        let mut folder = BackupFolder::open_env(&database.shared.env, target.folder)
            .map_err(|error| told(error, target.folder))?;
        if folder.base().is_some() {
            let message = format!("folder \"{}\" has a backup already", target.folder.display());
            let error = Error::new(SqlState::DUPLICATE_FILE, message);
            return Err(error.with_hint("Each backup has a folder of its own."));
        }
        let pace = target.bytes_per_second.map_or_else(CopyPace::default, CopyPace::at_most);
        let mut source = LocalSource::new(database);
        let mut progress = |done, total| {
            (target.told)(done, total).map_err(|error| crate::Error::Sql(error.into()))
        };
        let copied = folder.copy(&mut source, pace, &mut progress);
        Ok(copied.map_err(|error| told(error, target.folder))?.csn)
    }
}

/// Fails if a folder is the data folder or in it, also by way of links: of the folder itself, and of the folders
/// within the data folder, which may lie on other disks.
fn require_outside(folder: &Path, data: &Path) -> Result<()> {
    if folder.components().any(|part| part == Component::ParentDir) {
        let message = format!("path \"{}\" for a backup contains \"..\"", folder.display());
        return Err(Error::new(SqlState::INVALID_NAME, message));
    }
    let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let place = resolved(folder);
    let parts = [data.join("store"), data.join("log"), data];
    if parts.iter().any(|part| place.starts_with(resolved(part))) {
        let message = format!("folder \"{}\" is in the data folder", folder.display());
        let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
        return Err(error.with_hint("A backup goes to a folder outside of the data folder."));
    }
    Ok(())
}

/// A path without links, as far as there is something.
fn resolved(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            return path.strip_prefix(above).map_or(real.clone(), |rest| real.join(rest));
        }
    }
    path.to_owned()
}

/// The error that the client gets.
fn told(error: crate::Error, folder: &Path) -> Error {
    use crate::Error as Cause;
    let state = match &error {
        Cause::Io { source, .. } | Cause::Store(store::StoreError::Io { source, .. }) => {
            state_of(source.kind())
        }
        error => error.sqlstate(),
    };
    match error {
        Cause::Sql(error) => error.cause,
        Cause::Exists(_) => {
            let message = format!("folder \"{}\" is not empty", folder.display());
            Error::new(SqlState::DUPLICATE_FILE, message)
                .with_hint("Each backup has a folder of its own.")
        }
        other => Error::new(state, format!("could not make a backup: {other}")).with_source(other),
    }
}

/// The code that PostgreSQL has for an error of a file.
fn state_of(kind: std::io::ErrorKind) -> SqlState {
    use std::io::ErrorKind;
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            SqlState::INSUFFICIENT_PRIVILEGE
        }
        ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        ErrorKind::AlreadyExists => SqlState::DUPLICATE_FILE,
        ErrorKind::NotADirectory => SqlState::WRONG_OBJECT_TYPE,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => SqlState::DISK_FULL,
        _ => SqlState::IO_ERROR,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The folders of a database that lie elsewhere, by way of links, are no place for a backup.
    #[test]
    fn linked_folders_of_the_database_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["data", "disk/store", "disk/log"] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        for part in ["store", "log"] {
            std::os::unix::fs::symlink(at("disk").join(part), at("data").join(part)).unwrap();
        }
        let refused = |path: &str| {
            require_outside(&at(path), &at("data")).map_err(|error| error.state().code().to_owned())
        };
        for path in ["data", "data/x", "disk/store", "disk/store/x/y", "disk/log/x"] {
            assert_eq!(refused(path), Err("22023".to_owned()), "{path}");
        }
        for path in ["disk/storehouse", "saved/x"] {
            assert_eq!(refused(path), Ok(()), "{path}");
        }
    }
}
