//! Backups: a copy of the database as of one commit, taken while it is in use.
//!
//! Everything committed is first written to the store's files, which never change; those are copied,
//! and a manifest that names them is written last, so that a folder is a backup only once it is
//! whole. A backup is a database like any other: it can be opened where it lies, read-only copies of
//! it included. Restoring copies it to another folder and opens it once, to see that it is sound.

use crate::{Csn, Database, Error, Result};
use std::path::Path;
use vfs::{Env, OpenMode};

/// Bytes copied at once.
const STEP_BYTES: usize = 1 << 20;

impl Database {
    /// Copies the database into an empty or missing folder; returns the newest commit in the copy.
    /// Reading and writing go on meanwhile. `progress` is told how many bytes are copied. Everything is read
    /// and checked before: of what is damaged no copy is made.
    pub fn backup(&self, folder: impl AsRef<Path>, mut progress: impl FnMut(u64)) -> Result<Csn> {
        let _one = self.shared.care.lock();
        let (env, folder) = (&self.shared.env, folder.as_ref());
        let store = folder.join("store");
        require_empty(env, folder)?;
        self.engine().checkpoint()?;
        self.check_files()?;
        prepare(env, &store)?;
        let files = self.engine().store().files();
        let mut copied = 0;
        for (name, _) in files.segments() {
            copy(env, &self.path().join("store").join(&name), &store.join(&name), |bytes| {
                copied += bytes;
                progress(copied);
            })?;
        }
        // What the manifest names is there before it is.
        env.fs.sync_dir(&store).map_err(io(&store))?;
        // The copy has a log of its own, which begins empty.
        write(env, &store.join(files.manifest().0), &files.manifest_with(Vec::new()))?;
        write(env, &folder.join("LOCK"), &[])?;
        for folder in [&store, folder] {
            env.fs.sync_dir(folder).map_err(io(folder))?;
        }
        Ok(files.checkpoint().csn)
    }

    /// Fails with the first thing that is wrong with the files.
    fn check_files(&self) -> Result<()> {
        let report = self.engine().store().verify(&mut |_, _| ())?;
        report.problems.into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// Copies a backup into an empty or missing folder, opens the copy, and checks all of it.
    pub fn restore(
        backup: impl AsRef<Path>,
        folder: impl AsRef<Path>,
        mut progress: impl FnMut(u64),
    ) -> Result<Database> {
        let (env, backup, folder) = (Env::os(), backup.as_ref(), folder.as_ref());
        let (from, to) = (backup.join("store"), folder.join("store"));
        if !env.fs.exists(&from.join("MANIFEST")).map_err(io(&from))? {
            return Err(Error::NoDatabase(backup.to_owned()));
        }
        prepare(&env, &to)?;
        let (mut copied, mut manifest) = (0, None);
        for file in env.fs.list(&from).map_err(io(&from))? {
            let Some(name) = file.file_name().map(ToOwned::to_owned) else { continue };
            if name == "MANIFEST" {
                manifest = Some(name);
                continue;
            }
            copy(&env, &file, &to.join(name), |bytes| {
                copied += bytes;
                progress(copied);
            })?;
        }
        env.fs.sync_dir(&to).map_err(io(&to))?;
        if let Some(name) = manifest {
            copy(&env, &from.join(&name), &to.join(&name), |_| {})?;
        }
        write(&env, &folder.join("LOCK"), &[])?;
        for folder in [&to, folder] {
            env.fs.sync_dir(folder).map_err(io(folder))?;
        }
        let database = Database::open(folder)?;
        database.check_files()?;
        Ok(database)
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

/// Makes the folder of the copy; fails where there is something in it.
fn prepare(env: &Env, store: &Path) -> Result<()> {
    require_empty(env, store.parent().unwrap_or(store))?;
    env.fs.create_dir_all(store).map_err(io(store))
}

fn require_empty(env: &Env, folder: &Path) -> Result<()> {
    if env.fs.exists(folder).map_err(io(folder))?
        && !env.fs.list(folder).map_err(io(folder))?.is_empty()
    {
        return Err(Error::Exists(folder.to_owned()));
    }
    Ok(())
}

fn copy(env: &Env, from: &Path, to: &Path, mut copied: impl FnMut(u64)) -> Result<()> {
    let source = env.fs.open(from, OpenMode::Read).map_err(io(from))?;
    let target = env.fs.open(to, OpenMode::CreateNew).map_err(io(to))?;
    let mut buffer = vec![0; STEP_BYTES];
    let mut at = 0;
    loop {
        let count = source.read_at(&mut buffer, at).map_err(io(from))?;
        if count == 0 {
            break;
        }
        target.write_all_at(&buffer[..count], at).map_err(io(to))?;
        at += count as u64;
        copied(count as u64);
    }
    target.sync_all().map_err(io(to))
}

fn write(env: &Env, path: &Path, bytes: &[u8]) -> Result<()> {
    let file = env.fs.open(path, OpenMode::CreateNew).map_err(io(path))?;
    file.write_all_at(bytes, 0).map_err(io(path))?;
    file.sync_all().map_err(io(path))
}
