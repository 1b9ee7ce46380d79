//! [`Progress`]: the progress of a long command, for `pg_stat_progress_copy` and the like.
//!
//! A session tells it with relaxed atomic stores, once for a piece of the work. It holds until the session
//! begins another statement, or waits for its client.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use types::Oid;

/// A command that takes long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Task {
    None,
    /// `COPY ... FROM`: of the client, and of a file of the server.
    CopyFrom,
    CopyFromFile,
    Analyze,
    Vacuum,
    CreateIndex,
    Backup,
}

impl Task {
    const ALL: [Task; 7] = [
        Task::None,
        Task::CopyFrom,
        Task::CopyFromFile,
        Task::Analyze,
        Task::Vacuum,
        Task::CreateIndex,
        Task::Backup,
    ];
}

/// How far a command has come.
#[derive(Default)]
pub(crate) struct Progress {
    task: AtomicU8,
    relation: AtomicU32,
    index: AtomicU32,
    rows: AtomicU64,
    bytes: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// A command begins on a relation.
    pub fn begin(&self, task: Task, relation: Oid, index: Oid) {
        self.relation.store(relation.0, Relaxed);
        self.index.store(index.0, Relaxed);
        self.rows.store(0, Relaxed);
        self.bytes.store(0, Relaxed);
        self.total.store(0, Relaxed);
        self.task.store(task as u8, Relaxed);
    }

    /// It has come so far: rows in all, and so many bytes more.
    pub fn tell(&self, rows: u64, bytes: usize) {
        self.rows.store(rows, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// A backup has so many bytes of so many.
    pub fn tell_bytes(&self, done: u64, total: u64) {
        self.total.store(total, Relaxed);
        self.bytes.store(done, Relaxed);
    }

    /// The command has ended.
    pub fn end(&self) {
        // Most statements are none of these.
        if self.task.load(Relaxed) != Task::None as u8 {
            self.task.store(Task::None as u8, Relaxed);
        }
    }

    /// The command that runs.
    pub fn task(&self) -> Task {
        Task::ALL[usize::from(self.task.load(Relaxed))]
    }

    /// The relation that it works on.
    pub fn relation(&self) -> Oid {
        Oid(self.relation.load(Relaxed))
    }

    /// The index that it makes.
    pub fn index(&self) -> Oid {
        Oid(self.index.load(Relaxed))
    }

    /// The bytes that there are to be copied; 0 until that is known.
    pub fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// The rows, and the bytes, that it is done with.
    pub fn done(&self) -> (u64, u64) {
        (self.rows.load(Relaxed), self.bytes.load(Relaxed))
    }
}
