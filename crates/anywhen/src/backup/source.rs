//! [`BackupSource`]: the source of a backup.

use crate::{Csn, Database, Result};
use txn::{BackupId, BackupPlan, LogBatch};

/// Bytes of records that are taken at once.
const BATCH_BYTES: usize = 4 << 20;

/// A database that is copied, here or elsewhere. Errors of [`BackupError::Lost`](super::BackupError::Lost) pass by
/// themselves.
pub trait BackupSource {
    /// Begins a backup: returns what is to be copied.
    fn begin(&mut self) -> Result<BackupPlan>;

    /// Fills `bytes` from an offset of a file that the plan or a record names.
    fn read(&mut self, name: &str, offset: u64, bytes: &mut [u8]) -> Result<()>;

    /// Begins to give the log after a commit, which was made at `time_us`. After [`begin`](BackupSource::begin), of
    /// the commit of the plan, this goes on with the same backup.
    fn follow(&mut self, after: Csn, time_us: u64) -> Result<()>;

    /// Waits for records of commits after `after`, which the caller has durably; may return none after a while.
    fn records(&mut self, after: Csn) -> Result<LogBatch>;

    /// Ends the backup, if one is running.
    fn end(&mut self);
}

/// A database of this process. Its [`records`](BackupSource::records) do not wait.
pub struct LocalSource {
    database: Database,
    id: Option<BackupId>,
}

impl LocalSource {
    /// Takes backups of a database.
    pub fn new(database: Database) -> LocalSource {
        LocalSource { database, id: None }
    }
}

impl BackupSource for LocalSource {
    fn begin(&mut self) -> Result<BackupPlan> {
        self.end();
        let plan = self.database.begin_backup()?;
        self.id = Some(plan.id);
        Ok(plan)
    }

    fn read(&mut self, name: &str, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let id = self.id.ok_or(txn::EngineError::NoBackup)?;
        self.database.read_backup(id, name, offset, bytes)
    }

    fn follow(&mut self, after: Csn, time_us: u64) -> Result<()> {
        if self.id.is_none() {
            self.id = Some(self.database.follow_log(after, time_us)?);
        }
        Ok(())
    }

    fn records(&mut self, after: Csn) -> Result<LogBatch> {
        let id = self.id.ok_or(txn::EngineError::NoBackup)?;
        self.database.records_after(id, after, BATCH_BYTES)
    }

    fn end(&mut self) {
        if let Some(id) = self.id.take() {
            self.database.end_backup(id);
        }
    }
}

impl Drop for LocalSource {
    fn drop(&mut self) {
        self.end();
    }
}
