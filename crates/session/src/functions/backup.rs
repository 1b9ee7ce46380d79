//! `backup(folder, bytes_per_second)`: copies the whole database into a folder of the server's machine.
//!
//! The library above has the code that copies; a program gives it to the instance by
//! [`Instance::make_backups_by`](crate::Instance::make_backups_by).

use std::path::Path;

use store::Csn;
use types::{Datum, DatumRef, Error, Oid, Result, SqlState};

use super::counters::superuser;
use super::{integer, pause, text};
use crate::client::StatementContext;
use crate::progress::Task;

/// Where a backup goes, and how.
pub struct BackupTarget<'a> {
    /// The folder, as the client wrote it.
    pub folder: &'a Path,
    /// Bytes that are copied in a second at most; `None` if nothing limits that.
    pub bytes_per_second: Option<u64>,
    /// Reports the bytes copied and the bytes in all. An error from it ends the copy.
    pub told: &'a dyn Fn(u64, u64) -> Result<()>,
}

/// Makes backups of the database of an instance.
pub trait Backups: Send + Sync {
    /// Copies the database as of now; returns the newest commit in the copy.
    ///
    /// # Errors
    /// Fails if the folder cannot hold a backup, or the disk fails. The copy can then be made again.
    fn backup(&self, target: &BackupTarget<'_>) -> Result<Csn>;
}

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    if name != "backup" {
        return Ok(None);
    }
    superuser(around, name)?;
    let client = around.client;
    let Some(backups) = client.instance.backups.get() else {
        let message = "this program makes no backups";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    };
    let folder = Path::new(text(args, 0));
    if !folder.is_absolute() {
        let message = "relative path not allowed for backup";
        return Err(Error::new(SqlState::INVALID_NAME, message));
    }
    let rate = integer(args, 1);
    let Ok(rate) = u64::try_from(rate) else {
        let message = format!("bytes_per_second must not be negative: {rate}");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    };
    // A copy takes long: it runs on a thread that may wait.
    pause(client, 0)?;
    let progress = &client.slot.status.progress;
    progress.begin(Task::Backup, Oid::NONE, Oid::NONE);
    let told = |done, total| {
        progress.tell_bytes(done, total);
        client.slot.stopped().map_or(Ok(()), |stopped| Err(stopped.cause))
    };
    let target = BackupTarget { folder, bytes_per_second: (rate > 0).then_some(rate), told: &told };
    let copied = backups.backup(&target);
    progress.end();
    Ok(Some(Datum::Int8(copied?.0 as i64)))
}
