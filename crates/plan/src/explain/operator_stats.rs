//! The counts that `EXPLAIN ANALYZE` observes of an operator while a plan runs.

/// The measurements of one operator.
#[derive(Clone, Copy, Default, Debug)]
pub struct OperatorStats {
    /// How many rows it gave, in all runs together.
    pub rows: u64,
    /// How often it was run.
    pub loops: u64,
    /// Microseconds until the first row was there, in all runs together.
    pub startup_us: u64,
    /// Microseconds, what is below it included.
    pub total_us: u64,
    /// Blocks that it looked at, what is below it included.
    pub blocks: Blocks,
    /// Its own report.
    pub report: Report,
    /// True between the first row and the end of a run.
    pub is_running: bool,
}

/// Blocks that an operator looked at.
#[derive(Clone, Copy, Default, Debug)]
pub struct Blocks {
    /// Blocks of tables and indexes that were in the cache.
    pub hit: u64,
    /// Blocks of tables and indexes that were read from files.
    pub read: u64,
    /// Bytes of rows that were read back from temporary files.
    pub temporary_bytes_read: u64,
    /// Bytes of rows that were written to temporary files.
    pub temporary_bytes_written: u64,
}

impl Blocks {
    /// Adds what was counted from `before` to `after`.
    pub fn add(&mut self, before: Blocks, after: Blocks) {
        self.hit += after.hit - before.hit;
        self.read += after.read - before.read;
        self.temporary_bytes_read += after.temporary_bytes_read - before.temporary_bytes_read;
        self.temporary_bytes_written +=
            after.temporary_bytes_written - before.temporary_bytes_written;
    }
}

/// The report of an operator.
#[derive(Clone, Copy, Default, Debug)]
pub struct Report {
    /// How many rows its condition left out.
    pub removed: u64,
    /// How it sorted.
    pub sort: Option<Sorted>,
    /// How many worker threads have taken part.
    pub workers: u64,
}

/// How rows were sorted.
#[derive(Clone, Copy, Debug)]
pub struct Sorted {
    /// True if only the first rows were kept.
    pub is_top: bool,
    /// True if runs were merged.
    pub is_external: bool,
    /// Bytes of the rows, on disk or in memory.
    pub bytes: u64,
}
