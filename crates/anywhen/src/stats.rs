//! Figures about a database.

use crate::Database;
use std::path::Path;
use store::Csn;

/// Figures of one moment. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Commits in all.
    pub commits: u64,
    /// All files of the folder.
    pub disk_bytes: u64,
    /// The store's files: everything but the log.
    pub store_bytes: u64,
    /// Of these, the newest versions, with what a load has written and no flush has taken over yet.
    pub current_bytes: u64,
    /// Of these, what was superseded.
    pub history_bytes: u64,
    /// The log's files: a reserve that is used again and again.
    pub log_bytes: u64,
    /// The bytes that were written into the log since the database was opened.
    pub log_appended_bytes: u64,
    /// Syncs of the log since the database was opened.
    pub log_syncs: u64,
    /// Changes in memory that are in the log alone.
    pub memtable_bytes: u64,
    /// Blocks of files kept in memory.
    pub cached_bytes: u64,
    /// Newest versions of documents kept in memory, with their lists of revisions.
    pub cached_document_bytes: u64,
    /// The store's files by number.
    pub segments: u64,
}

impl Database {
    /// Figures of this moment.
    pub fn stats(&self) -> Stats {
        let (log, store) = (self.engine().stats().log, self.engine().store().stats());
        let store_bytes = self.bytes_in(&self.path().join("store"));
        let log_bytes = self.bytes_in(&self.path().join("log"));
        let Csn(commits) = self.newest();
        // The files that only the log names so far count too.
        let files: u64 = self.engine().store().files().segments().map(|(_, bytes)| bytes).sum();
        Stats {
            commits,
            disk_bytes: store_bytes + log_bytes + self.bytes_of(&self.path().join("LOCK")),
            store_bytes,
            current_bytes: files.saturating_sub(store.history_bytes),
            history_bytes: store.history_bytes,
            log_bytes,
            log_appended_bytes: log.appended_bytes,
            log_syncs: log.syncs,
            memtable_bytes: store.memtable_bytes,
            cached_bytes: store.cached_bytes,
            cached_document_bytes: self.shared.documents.cached_bytes() as u64,
            segments: store.segments,
        }
    }

    /// The sizes of the files in a folder; one that goes away meanwhile counts nothing.
    fn bytes_in(&self, folder: &Path) -> u64 {
        let files = self.shared.env.fs.list(folder).unwrap_or_default();
        files.iter().map(|file| self.bytes_of(file)).sum()
    }

    fn bytes_of(&self, file: &Path) -> u64 {
        let opened = self.shared.env.fs.open(file, vfs::OpenMode::Read);
        opened.and_then(|file| file.len()).unwrap_or(0)
    }
}
