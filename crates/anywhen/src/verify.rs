//! Verification: are all counts, digests and paths of the database true?
//!
//! First every block of every file is read and its checksum computed; then every document is walked
//! and compared with the facts that are stored with it: how many nodes it has, how many of them are
//! placed, that each is found by its parent, and, where the collection keeps them, the digest and
//! the path summary. The newest revision of each document is walked, and with it the oldest that is
//! kept and one in the middle.
//!
//! A folder that no process has open is checked without a change to it ([`Database::verify_folder`]): what
//! its log has and its files do not is brought together in memory ([`vfs::Overlay`]).

use crate::{Collection, Create, Database, Options, Result, Revision};
use document::{Nodes, Tree, path_summary};
use std::path::Path;
use std::sync::Arc;
use vfs::Env;

/// The result of a verification.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Files read.
    pub files: u64,
    /// Blocks whose checksum was computed.
    pub blocks: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Documents walked.
    pub documents: u64,
    /// Revisions that they have in all.
    pub revisions: u64,
    /// The problems; empty where all is well.
    pub problems: Vec<String>,
}

impl Database {
    /// Checks the database in a folder, and changes nothing there: no file is made, written, renamed or
    /// removed, so that it may be a folder that can only be read. The work that a killed process has left
    /// for the next opening is done in memory, and forgotten. Fails with
    /// [`EngineError::InUse`](crate::EngineError::InUse) where a process has it open.
    ///
    /// ```
    /// # fn main() -> anywhen::Result<()> {
    /// # let folder = std::env::temp_dir().join(format!("anywhen-verify-{}", std::process::id()));
    /// # anywhen::Database::create(&folder)?.close()?;
    /// let report = anywhen::Database::verify_folder(&folder, |_| ())?;
    /// assert!(report.problems.is_empty());
    /// # std::fs::remove_dir_all(&folder).expect("it was made");
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_folder(
        folder: impl AsRef<Path>,
        progress: impl FnMut(u64),
    ) -> Result<VerifyReport> {
        Database::verify_env(&Env::os(), folder.as_ref(), progress)
    }

    /// Opens the database in a folder, SQL's catalog included, and changes nothing there: what opening has
    /// to write stays in memory. Nothing but what opening needs is read.
    ///
    /// # Errors
    /// Those of [`Database::open`]; [`EngineError::InUse`](crate::EngineError::InUse) where a process has
    /// the folder open.
    pub fn look_at_folder(folder: impl AsRef<Path>) -> Result<()> {
        let database = Database::open_unchanged(&Env::os(), folder.as_ref())?;
        #[cfg(feature = "sql")]
        database.instance()?;
        drop(database);
        Ok(())
    }

    /// Opens a folder over an [`Overlay`](vfs::Overlay), without threads: nothing is merged that would only
    /// take up memory.
    fn open_unchanged(env: &Env, folder: &Path) -> Result<Database> {
        let env = Env { fs: Arc::new(vfs::Overlay::new(Arc::clone(&env.fs))), ..env.clone() };
        let options = Options { create: Create::Never, ..Options::default() };
        Database::open_as(&env, folder, options, false)
    }

    /// [`verify_folder`](Database::verify_folder), on the given files, clock and randomness.
    pub fn verify_env(env: &Env, folder: &Path, progress: impl FnMut(u64)) -> Result<VerifyReport> {
        Database::open_unchanged(env, folder)?.verify(progress)
    }

    /// Reads everything and checks it, once what was committed is written to files. `progress` gets the
    /// bytes and documents that were read, now and then. Fails only where the check itself cannot go on;
    /// what is wrong is in the report.
    pub fn verify(&self, mut progress: impl FnMut(u64)) -> Result<VerifyReport> {
        let _one = self.shared.maintenance.lock();
        self.engine().checkpoint()?;
        let mut done = 0;
        let stored = self.engine().store().verify(&mut |bytes, _| {
            done = bytes;
            progress(bytes);
        })?;
        let mut report = VerifyReport {
            files: stored.segments,
            blocks: stored.blocks,
            bytes: stored.bytes,
            problems: stored.problems.iter().map(ToString::to_string).collect(),
            ..VerifyReport::default()
        };
        for name in self.collections() {
            let Some(collection) = self.find_collection(&name) else { continue };
            for key in collection.keys("") {
                let key = key?;
                if let Err(error) = check_document(&collection, &key, &mut report) {
                    report.problems.push(format!("{name}/{key}: {error}"));
                }
                done += 1;
                progress(done);
            }
        }
        Ok(report)
    }
}

fn check_document(collection: &Collection, key: &str, report: &mut VerifyReport) -> Result<()> {
    let newest = collection.newest(key)?;
    report.documents += 1;
    report.revisions += newest.0;
    let times = collection.timestamps(key)?;
    if times.len() as u64 != newest.0 || !times.is_sorted() {
        report.problems.push(format!("{key}: its list of revisions does not add up"));
    }
    let oldest = collection.oldest(key)?;
    let mut samples = vec![newest, oldest, Revision((oldest.0 + newest.0).div_ceil(2))];
    samples.dedup();
    for revision in samples {
        if let Some(document) = collection.at(revision).get(key)? {
            for problem in check_tree(document.tree(), collection.options().hashes)? {
                report.problems.push(format!("{key} at revision {revision}: {problem}"));
            }
            if collection.options().path_summary
                && collection.path_summary(key, revision)? != Some(path_summary(document.tree())?)
            {
                report.problems.push(format!(
                    "{key} at revision {revision}: its path summary is not that of its nodes"
                ));
            }
        }
    }
    Ok(())
}

/// Compares a document's nodes with its header.
fn check_tree(tree: &Tree, hashes: bool) -> Result<Vec<&'static str>> {
    let mut problems = Vec::new();
    let header = tree.header();
    let keys = tree.subtree(tree.root())?;
    if keys.len() as u64 != header.nodes {
        problems.push("it has more or fewer nodes than its header says");
    }
    if keys.iter().any(|key| key.0 >= header.next_key) {
        problems.push("it has a node whose key is still to come");
    }
    let mut placed = 0;
    for key in &keys {
        let node = tree.expect(*key)?;
        placed += tree.place(*key)?.is_some() as u64;
        if node.kind.is_container() && tree.children(*key)?.count() != node.count as usize {
            problems.push("a container has more or fewer children than it says");
        }
    }
    if placed != header.placed {
        problems.push("it has more or fewer placed nodes than its header says");
    }
    if hashes && document::digest(tree)? != header.digest {
        problems.push("its digest is not that of its nodes");
    }
    Ok(problems)
}
