//! Backups of an open engine: another process copies the files call by call, and then gets the records of the log.
//!
//! ```text
//!   begin_backup ──> plan: commit, manifest        the files stay, and the log from the commit on
//!   read_backup  ──> bytes of a file               as often as needed
//!   records_after(commit) ──> records of the log   acknowledges all up to the commit: the log below may go
//!   end_backup, or no call for LEASE_US            files and log are released
//!
//!   follow_log(commit, time) ──> begins for a copy that has every commit up to one
//! ```
//!
//! A backup is a lease: each call prolongs it, so a client that was killed holds the log no longer than
//! [`LEASE_US`]. It lives in memory, as holds do. After a restart of the server the client calls
//! [`Engine::follow_log`], which works as long as the log reaches back to its commit.
//!
//! # Invariants
//! * Records are given out once they are durable, in the order of commits, without a gap.
//! * A client sends the number and the time of its newest commit. A copy of another database, or of another
//!   history of this one, gets no records.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use log::{LogError, Lsn};
use parking_lot::Mutex;
use store::{Csn, Files, NamedFiles};

use super::follow::{decode, load_of};
use super::{Engine, LogHold, read_note};
use crate::error::EngineError;
use crate::record;

/// Microseconds for which a backup is kept after the last call of its client.
const LEASE_US: u64 = 600_000_000;
/// How often the begin of a backup is tried again after a concurrent flush.
const TRIES: usize = 5;

/// Identifies a running backup. Random, so that no other backup has it after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BackupId(pub u64);

/// The files and the position that a client copies.
#[derive(Clone, Debug)]
pub struct BackupPlan {
    /// The backup.
    pub id: BackupId,
    /// The newest commit in it.
    pub csn: Csn,
    /// The time of that commit in microseconds since 1970 UTC; 0 of commit 0.
    pub time_us: u64,
    /// Every commit up to this time is in it, in microseconds since 1970 UTC.
    pub complete_us: u64,
    /// The manifest of the copy, which names its files ([`NamedFiles::of_manifest`]).
    pub manifest: Vec<u8>,
}

/// Records of the log for a copy.
#[derive(Clone, Debug, Default)]
pub struct LogBatch {
    /// The records, in the order of commits; none if there is nothing new.
    pub records: Vec<Vec<u8>>,
    /// A copy with these records has every commit up to this time, in microseconds since 1970 UTC.
    pub complete_us: u64,
}

/// The head of a commit's record in the log.
#[derive(Clone, Debug)]
pub struct RecordHead {
    /// The number of the commit.
    pub csn: Csn,
    /// Its time in microseconds since 1970 UTC.
    pub time_us: u64,
    /// The files that the record names, as they were written by a large transaction or a bulk load.
    pub files: Option<NamedFiles>,
}

impl RecordHead {
    /// Reads the head of a record, and checks that all of the record decodes.
    ///
    /// # Errors
    /// [`EngineError::Record`] where it does not.
    pub fn of(bytes: &[u8]) -> Result<RecordHead, EngineError> {
        let record = decode(bytes, None)?;
        let files = load_of(&record)?.map(|loaded| NamedFiles::of_load(&loaded));
        Ok(RecordHead { csn: record.csn, time_us: record.time_us, files })
    }
}

/// The running backups of an engine.
#[derive(Default)]
pub(super) struct Backups(Mutex<HashMap<BackupId, Arc<Lease>>>);

struct Lease {
    /// The files of the plan; none for a copy that is whole.
    files: Mutex<Option<Files>>,
    hold: LogHold,
    /// The last record that the client got: its commit, and where it ends in the log.
    given: Mutex<(Csn, Lsn)>,
    used_us: AtomicU64,
}

impl Backups {
    /// Ends the leases that have expired.
    pub fn expire(&self, now_us: u64) {
        let mut gone = Vec::new();
        self.0.lock().retain(|_, lease| {
            let is_used = lease.used_us.load(Ordering::Relaxed).saturating_add(LEASE_US) > now_us;
            if !is_used {
                gone.push(Arc::clone(lease));
            }
            is_used
        });
        // Files go with the last lease: outside of the lock.
        drop(gone);
    }
}

impl Engine {
    /// Begins a backup: flushes everything committed to files. These files, and the log from the newest
    /// of these commits on, are kept until the backup ends.
    ///
    /// # Errors
    /// Returns the error of the checkpoint.
    pub fn begin_backup(&self) -> Result<BackupPlan, EngineError> {
        self.backups.expire(self.clock.monotonic_us());
        let hold = self.hold_checkpoint()?;
        self.checkpoint()?;
        let files = self.store.files_of_manifest();
        let checkpoint = files.checkpoint();
        let at = read_note(&checkpoint.note).unwrap_or(Lsn::START);
        hold.advance(at);
        let csn = checkpoint.csn;
        let time_us = self.time_us(csn)?;
        let complete_us = self.complete_us(csn, time_us);
        // The copy has a log of its own, which begins empty.
        let manifest = files.manifest_with(Vec::new());
        let id = self.lease(Some(files), hold, (csn, at));
        Ok(BackupPlan { id, csn, time_us, complete_us, manifest })
    }

    /// Begins to give the log to a copy that has every commit up to `after`, whose time is `time_us`.
    ///
    /// # Errors
    /// [`EngineError::OtherHistory`] if the commit is not one of this database, and [`EngineError::LogGone`] if the
    /// log no longer reaches back to it: the client must begin with a new backup.
    pub fn follow_log(&self, after: Csn, time_us: u64) -> Result<BackupId, EngineError> {
        self.backups.expire(self.clock.monotonic_us());
        // After this every visible commit is durable, and so in the log.
        self.settle()?;
        let newest = self.visible();
        if after > newest || self.time_us(after)? != time_us {
            return Err(EngineError::OtherHistory { csn: after, newest });
        }
        // The whole log is held, so that nothing is released during the search.
        let all = self.hold_only(self.log.oldest());
        let (mut at, mut next) = (all.from(), None);
        for frame in self.log.tail_of_all() {
            let (end, bytes) = frame?;
            let csn = record::csn(&bytes).unwrap_or(Csn::ZERO);
            if csn > after {
                next = Some(csn);
                break;
            }
            at = end;
        }
        let next = next.unwrap_or(Csn(newest.0 + 1));
        if next.0 != after.0 + 1 {
            return Err(EngineError::LogGone { after, next });
        }
        let hold = self.hold_log(at)?;
        Ok(self.lease(None, hold, (after, at)))
    }

    /// Reads bytes of a file of a backup: a file of its plan, or a file that one of its records names.
    ///
    /// # Errors
    /// [`EngineError::NoBackup`] where the backup has ended, [`EngineError::Store`] where it has no such file or the
    /// disk fails.
    pub fn read_backup(
        &self,
        id: BackupId,
        name: &str,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), EngineError> {
        let lease = self.leased(id)?;
        let is_planned = || {
            let files = lease.files.lock();
            files.as_ref().is_some_and(|files| files.segments().any(|(known, _)| known == name))
        };
        if !is_planned() && !lease.hold.has(name) {
            return Err(store::StoreError::Missing { file: name.to_owned() }.into());
        }
        Ok(self.store.read_file(name, offset, bytes)?)
    }

    /// Returns the records of the durable commits after `after`, about `bytes_max` bytes together and at
    /// least one record, if there is one. It does not wait. The client has made every commit up to
    /// `after` durable, so the log below is released.
    ///
    /// # Errors
    /// [`EngineError::NoBackup`] where the backup has ended.
    pub fn records_after(
        &self,
        id: BackupId,
        after: Csn,
        bytes_max: usize,
    ) -> Result<LogBatch, EngineError> {
        let lease = self.leased(id)?;
        // The copy is whole: a client that reads the log has all files.
        drop(lease.files.lock().take());
        self.settle()?;
        let mut given = lease.given.lock();
        let from = if given.0 <= after { given.1 } else { lease.hold.from() };
        let (mut batch, mut bytes) = (LogBatch::default(), 0);
        let (mut last, mut is_whole) = (after, true);
        let mut at = from;
        for frame in self.log.tail(from)? {
            let (end, record) = frame?;
            let csn = record::csn(&record).unwrap_or(Csn::ZERO);
            if csn <= after {
                lease.hold.advance(end);
                at = end;
                continue;
            }
            if bytes > 0 && bytes + record.len() > bytes_max {
                is_whole = false;
                break;
            }
            bytes += record.len();
            (last, at) = (csn, end);
            batch.records.push(record);
        }
        if given.0 == after {
            lease.hold.advance(given.1);
        }
        *given = (last, at);
        let time_us = self.time_us(last.min(self.visible()))?;
        batch.complete_us = if is_whole { self.complete_us(last, time_us) } else { time_us };
        Ok(batch)
    }

    /// Ends a backup; one that has ended already is left alone.
    pub fn end_backup(&self, id: BackupId) {
        let lease = self.backups.0.lock().remove(&id);
        drop(lease);
    }

    /// The time up to which no commit is missing after `csn`, whose time is given: now, where that is the newest.
    fn complete_us(&self, csn: Csn, time_us: u64) -> u64 {
        let last = self.sequencer.lock();
        if last.csn == csn { self.clock.now_us().max(time_us) } else { time_us }
    }

    /// Holds the log from where the store's files end.
    fn hold_checkpoint(&self) -> Result<LogHold, EngineError> {
        let mut hold = self.hold_log(self.replay_from());
        for _ in 1..TRIES {
            match hold {
                // A flush has gone on, and the log below was released, or a file was merged.
                Err(
                    EngineError::Log(LogError::Released { .. }) | EngineError::FilesMissing { .. },
                ) => {
                    hold = self.hold_log(self.replay_from());
                }
                _ => break,
            }
        }
        hold
    }

    fn lease(&self, files: Option<Files>, hold: LogHold, given: (Csn, Lsn)) -> BackupId {
        let lease = Lease {
            files: Mutex::new(files),
            hold,
            given: Mutex::new(given),
            used_us: AtomicU64::new(self.clock.monotonic_us()),
        };
        let id = BackupId(self.random.next_u64());
        self.backups.0.lock().insert(id, Arc::new(lease));
        id
    }

    fn leased(&self, id: BackupId) -> Result<Arc<Lease>, EngineError> {
        let lease = self.backups.0.lock().get(&id).cloned();
        let lease = lease.ok_or(EngineError::NoBackup)?;
        lease.used_us.store(self.clock.monotonic_us(), Ordering::Relaxed);
        Ok(lease)
    }
}
