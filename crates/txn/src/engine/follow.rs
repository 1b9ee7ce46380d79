//! Commits that come from a log: this engine's own when it is opened, or that of a leader.
//!
//! ```text
//!   leader     transaction ──> log ──────────────> memory ──> visible
//!                               │ records
//!   follower                    └─apply─> log ───> memory ──> visible
//!   opening                               log ───> memory ──> visible
//! ```
//!
//! The log of a follower has the records of its leader's log, byte for byte, from the commit on with
//! which it began. So a follower opens like any other engine, and one that was killed goes on with the
//! first record that it does not have.
//!
//! # Invariants
//! * A commit of a leader is in the follower's log, and that is synced, before the commit is visible.
//! * A record that is out of order or does not decode is refused before the log has it.

use log::{Durability, Frames, LogError, Lsn};
use store::{Csn, Loaded, StoreError};

use super::{Commit, Engine, Sequencer, Stopped, Tables};
use crate::bytes::Malformed;
use crate::changes::{self, read_list};
use crate::error::{EngineError, TxnError};
use crate::record::{self, Record};

impl Engine {
    /// Takes in the commits that the log has beyond the store's files.
    pub(super) fn recover(&self, from: Lsn) -> Result<(), EngineError> {
        let checkpoint = self.visible();
        for frame in self.log.tail(from)? {
            let (lsn, payload) = frame?;
            let record = decode(&payload, Some(lsn))?;
            if record.csn <= checkpoint {
                continue;
            }
            match self.store.admit() {
                // The commits are in the log: memory takes them, and the next commit is refused.
                Ok(()) | Err(StoreError::Full { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            let mut last = self.sequencer.lock();
            let loaded = check(&record, &last, Some(lsn))?;
            let commit = self.enter_record(record, loaded, &mut last)?;
            drop(last);
            self.show(commit, lsn);
        }
        // Every bulk load that a commit names is known now: the files of the others go.
        Ok(self.store.recovered()?)
    }

    /// Returns the durable records of the log from `from` on, for a follower, each with the
    /// position just past it. `from` is [`Lsn::START`] or a position that came with a record.
    ///
    /// # Errors
    /// [`LogError::Released`] where a checkpoint has cut the log above `from`.
    pub fn records(&self, from: Lsn) -> Result<Frames<'_>, EngineError> {
        Ok(self.log.tail(from)?)
    }

    /// Takes in commits of a leader, given as the records of its log in their order ([`Engine::records`]).
    /// They are durable here, and visible, when this returns. Records of commits that the engine has
    /// are passed over, so that a follower can begin again anywhere below. Returns the newest visible
    /// commit. The log is synced once for all records of a call, and until then the store flushes none of
    /// them: a few MB a call are enough.
    ///
    /// # Errors
    /// [`EngineError::NotFollowing`] where the engine is no follower; [`EngineError::Gap`] where a
    /// commit is missing before a record, [`EngineError::FilesMissing`] where a file that a record names is
    /// ([`Engine::adopt`]), and [`EngineError::Record`] where one does not decode: the
    /// commits before it are taken in, and the call can be repeated with other records. After a failure
    /// of the disk nothing more is taken in until the engine is opened again.
    pub fn apply<R: AsRef<[u8]>>(&self, records: &[R]) -> Result<Csn, EngineError> {
        if !self.follower {
            return Err(EngineError::NotFollowing);
        }
        let _one = self.following.lock();
        match self.stopped.get() {
            None => {}
            Some(Stopped::Closed) => return Err(TxnError::Closed.into()),
            Some(Stopped::Failed(cause)) => {
                return Err(TxnError::Refused { cause: cause.clone() }.into());
            }
        }
        let mut entered = Vec::with_capacity(records.len());
        let mut outcome = Ok(());
        for bytes in records.iter().map(AsRef::as_ref) {
            match self.follow(bytes) {
                Ok(Some((commit, lsn))) => entered.push((commit, lsn, bytes)),
                Ok(None) => {}
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        if let Some((_, lsn, _)) = entered.last() {
            self.log.sync(*lsn, Durability::Sync).map_err(|error| self.unknown(error))?;
        }
        for (commit, lsn, bytes) in entered {
            let mut tables = Tables::default();
            record::changes(bytes).iter().for_each(|change| tables.note(change.table));
            record::writes(bytes).for_each(|write| tables.note(write.table));
            self.observers.show(commit, bytes, &tables.list, Vec::new());
            self.show(commit, lsn);
            self.maintain(lsn, Durability::Sync);
        }
        outcome.map(|()| self.visible())
    }

    /// The files that a record of the log names, each with its length in bytes. A follower needs them
    /// before it takes the record in ([`Engine::adopt`]); [`Store::read_file`](store::Store::read_file)
    /// reads them.
    ///
    /// # Errors
    /// [`EngineError::Record`] where the record does not decode.
    pub fn files(&self, record: &[u8]) -> Result<Vec<(String, u64)>, EngineError> {
        let loaded = load_of(&decode(record, None)?)?;
        Ok(loaded.iter().flat_map(Loaded::files).collect())
    }

    /// Takes over the files that a record of the leader names, as far as they are not here: `read` fills a
    /// buffer from an offset of a file of the leader.
    ///
    /// # Errors
    /// [`EngineError::Record`] where the record does not decode; the errors of `read` and of the
    /// disk.
    pub fn adopt<E: From<EngineError>>(
        &self,
        record: &[u8],
        mut read: impl FnMut(&str, u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(loaded) = load_of(&decode(record, None)?)? else {
            return Ok(());
        };
        let mut failed = None;
        let copied = self.store.adopt(&loaded, |name, offset, bytes| {
            read(name, offset, bytes).map_err(|error| {
                failed = Some(error);
                StoreError::Missing { file: name.to_owned() }
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(copied.map_err(EngineError::from)?),
        }
    }

    /// Writes a record of the leader to the log and takes its commit into memory; does nothing where
    /// the commit is there.
    fn follow(&self, bytes: &[u8]) -> Result<Option<(Commit, Lsn)>, EngineError> {
        let record = decode(bytes, None)?;
        let mut last = self.sequencer.lock();
        if record.csn <= last.csn {
            return Ok(None);
        }
        let loaded = check(&record, &last, None)?;
        if let Some(loaded) = &loaded
            && !self.store.holds(loaded)
        {
            return Err(EngineError::FilesMissing { csn: record.csn });
        }
        self.store.admit()?;
        let lsn = self.log.append(bytes).map_err(|error| match error {
            // A full disk: this commit has no room, and what was there before is as it was.
            LogError::Io { .. } => EngineError::Log(error),
            LogError::Fenced => TxnError::Refused { cause: self.stop(error) }.into(),
            error => self.unknown(error).into(),
        })?;
        let files = loaded.clone();
        let commit =
            self.enter_record(record, loaded, &mut last).map_err(|error| self.unknown(error))?;
        if let Some(files) = files {
            // This follower may have followers of its own.
            self.holds.keep(lsn, || self.store.keep(&files));
        }
        Ok(Some((commit, lsn)))
    }

    /// Takes the commit of a record into memory.
    fn enter_record(
        &self,
        record: Record<'_>,
        loaded: Option<Loaded>,
        last: &mut Sequencer,
    ) -> Result<Commit, StoreError> {
        let Record { csn, time_us, note, writes, notes_changes, .. } = record;
        let commit = Commit { csn, time_us };
        let changes = notes_changes.then(|| {
            let list = read_list(note.tables).expect("the record was decoded");
            changes::derive(&list, &writes, loaded.as_ref(), &self.resolve)
        });
        self.enter(commit, &note, writes, loaded.as_ref(), changes)?;
        *last = Sequencer { csn, time_us };
        Ok(commit)
    }

    /// Makes a commit visible that is durable in the log, where it ends at `lsn`.
    fn show(&self, commit: Commit, lsn: Lsn) {
        self.make_visible(commit.csn);
        self.store.set_durable(commit.csn, || lsn.to_bytes().to_vec());
    }
}

/// Checks that a record comes next; returns its bulk load.
fn check(
    record: &Record<'_>,
    last: &Sequencer,
    lsn: Option<Lsn>,
) -> Result<Option<Loaded>, EngineError> {
    let malformed = |what, at| EngineError::Record { lsn, source: Malformed { what, at } };
    if record.csn.0 != last.csn.0 + 1 {
        return Err(EngineError::Gap { last: last.csn, found: record.csn });
    }
    if record.time_us < last.time_us {
        return Err(malformed("time before that of the commit before", 16));
    }
    load_of(record)
}

/// The bulk load of a record.
pub(super) fn load_of(record: &Record<'_>) -> Result<Option<Loaded>, EngineError> {
    let Some(bytes) = record.loaded else { return Ok(None) };
    let source = Malformed { what: "bulk load that does not decode", at: 24 };
    let error = EngineError::Record { lsn: None, source };
    Loaded::from_bytes(bytes).map(Some).ok_or(error)
}

/// The record that ends in the log at `lsn`, where it is in the log.
pub(super) fn decode(bytes: &[u8], lsn: Option<Lsn>) -> Result<Record<'_>, EngineError> {
    record::decode(bytes).map_err(|source| EngineError::Record { lsn, source })
}
