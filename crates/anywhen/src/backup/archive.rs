//! [`Archive`]: the commits of a database after its backup, record by record.
//!
//! ```text
//!   archive/log     frames:  [record 8][record 9][complete up to 10:30][record 10] ...     docs/format-log.md
//!   archive/files   the files that records name
//! ```
//!
//! The log has the records of the leader, byte for byte. A frame that begins with [`COMPLETE`] is no record: it says up
//! to which time no commit is missing, where nothing was committed for a while. Nothing is ever removed.

use super::folder::{Copy, CopyPace, Pace};
use super::{BackupMark, BackupSource, io};
use crate::Result;
use log::{CommitLog, Durability, LogError, LogOptions, Lsn, SegmentedLog};
use std::path::{Path, PathBuf};
use txn::{EngineError, Malformed, RecordHead};
use vfs::Env;

/// The first byte of a frame that is no record.
pub(super) const COMPLETE: u8 = 0xC0;
/// The least time between two frames that say only up to when nothing is missing.
const COMPLETE_EVERY_US: u64 = 1_000_000;

/// The archive of a backup, open to be written.
pub(super) struct Archive {
    env: Env,
    log: SegmentedLog,
    files: PathBuf,
    end: BackupMark,
}

/// A frame of the log.
pub(super) enum Frame {
    Record(RecordHead),
    /// No commit up to this time is missing.
    Complete(u64),
}

impl Frame {
    /// Reads a frame.
    pub(super) fn of(payload: &[u8]) -> Result<Frame> {
        match payload.split_first() {
            Some((&COMPLETE, rest)) => {
                let time = rest.try_into().map(u64::from_le_bytes);
                let what = "a time of the archive that is not 8 bytes";
                let malformed =
                    |_| EngineError::Record { lsn: None, source: Malformed { what, at: 1 } };
                Ok(Frame::Complete(time.map_err(malformed)?))
            }
            _ => Ok(Frame::Record(RecordHead::of(payload)?)),
        }
    }
}

/// The folder of the log.
pub(super) fn log_of(folder: &Path) -> PathBuf {
    folder.join("archive").join("log")
}

/// The folder of the files that records name.
pub(super) fn files_of(folder: &Path) -> PathBuf {
    folder.join("archive").join("files")
}

/// Opens the log of an archive; `each` sees every frame.
pub(super) fn open_log(
    env: &Env,
    folder: &Path,
    mut each: impl FnMut(Frame) -> Result<()>,
) -> Result<SegmentedLog> {
    let log = log_of(folder);
    env.fs.create_dir_all(&log).map_err(io(&log))?;
    let options = LogOptions { background: false, ..LogOptions::default() };
    let mut failed = None;
    let mut visit = |_, payload: &[u8]| {
        Frame::of(payload).and_then(&mut each).map_err(|error| {
            let text = error.to_string();
            failed = Some(error);
            LogError::Replay(text.into())
        })
    };
    let opened = SegmentedLog::open(env, &log, options, Lsn::START, &mut visit);
    match failed {
        Some(error) => Err(error),
        None => Ok(opened.map_err(EngineError::Log)?),
    }
}

/// Takes a frame into account: how far the archive goes after it.
///
/// # Errors
/// [`EngineError::Gap`] where a commit is missing before it.
pub(super) fn advance(end: &mut BackupMark, frame: &Frame) -> Result<()> {
    match frame {
        Frame::Complete(time_us) => end.complete_us = end.complete_us.max(*time_us),
        Frame::Record(head) if head.csn.0 != end.csn.0 + 1 => {
            return Err(EngineError::Gap { last: end.csn, found: head.csn }.into());
        }
        Frame::Record(head) => {
            let complete_us = end.complete_us.max(head.time_us);
            *end = BackupMark { csn: head.csn, time_us: head.time_us, complete_us };
        }
    }
    Ok(())
}

impl Archive {
    /// Opens the archive of a backup that has everything up to `base`, making it where it is missing. All of the log is
    /// read and checked.
    pub(super) fn open(env: &Env, folder: &Path, base: BackupMark) -> Result<Archive> {
        let files = files_of(folder);
        env.fs.create_dir_all(&files).map_err(io(&files))?;
        let mut end = base;
        let log = open_log(env, folder, |frame| advance(&mut end, &frame))?;
        Ok(Archive { env: env.clone(), log, files, end })
    }

    /// How far it goes.
    pub(super) fn end(&self) -> BackupMark {
        self.end
    }

    /// Waits for the next records of the source, and takes them in durably.
    pub(super) fn step(&mut self, source: &mut dyn BackupSource) -> Result<BackupMark> {
        let batch = source.records(self.end.csn)?;
        let mut upto = None;
        let mut outcome = Ok(());
        for record in &batch.records {
            match self.take(source, record) {
                Ok(lsn) => upto = lsn.or(upto),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        if outcome.is_ok()
            && batch.complete_us >= self.end.complete_us.saturating_add(COMPLETE_EVERY_US)
        {
            let mut frame = vec![COMPLETE];
            frame.extend_from_slice(&batch.complete_us.to_le_bytes());
            upto = Some(self.append(&frame)?);
            self.end.complete_us = batch.complete_us;
        }
        if let Some(upto) = upto {
            self.log.sync(upto, Durability::Sync).map_err(EngineError::Log)?;
        }
        outcome.map(|()| self.end)
    }

    /// Appends a record, and copies its files before; returns its end, and none for a record that is there.
    fn take(&mut self, source: &mut dyn BackupSource, record: &[u8]) -> Result<Option<Lsn>> {
        let head = RecordHead::of(record)?;
        if head.csn <= self.end.csn {
            return Ok(None);
        }
        self.adopt(source, &head)?;
        let mut end = self.end;
        advance(&mut end, &Frame::Record(head))?;
        let lsn = self.append(record)?;
        self.end = end;
        Ok(Some(lsn))
    }

    fn append(&self, payload: &[u8]) -> Result<Lsn> {
        Ok(self.log.append(payload).map_err(EngineError::Log)?)
    }

    /// Copies the files that a record names, durably, before the record is appended.
    fn adopt(&self, source: &mut dyn BackupSource, head: &RecordHead) -> Result<()> {
        let Some(files) = &head.files else { return Ok(()) };
        let mut copy = Copy {
            env: &self.env,
            folder: &self.files,
            pace: Pace::new(&self.env, CopyPace::default()),
            done: 0,
            told: &mut |_| Ok(()),
        };
        for (name, bytes) in files.iter() {
            copy.file(files, &name, bytes, &mut |at, part| source.read(&name, at, part))?;
        }
        self.env.fs.sync_dir(&self.files).map_err(io(&self.files))
    }
}
