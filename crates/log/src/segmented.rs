//! The log in files of this machine: append, write, sync, release, close.
//!
//! ```text
//!   append:  pending ──encode──┐                       locks: out > pending, out > segments
//!   sync:    group ── leader ──┴─> out: swap buffers, write, roll ──> sync ──> group publishes
//!   sync(Os):                      out: swap buffers, write
//! ```
//!
//! # Invariants
//! * Bytes reach the files in the order of their positions: the writing thread holds `out`.
//! * A position is published as durable only after the sync of every file that holds anything below
//!   it began after its write returned.
//! * Once `poison` is set nothing is written, synced or acknowledged.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use vfs::Env;

use crate::error::LogError;
use crate::group::{Group, SyncError};
use crate::pending::{Batch, Pending};
use crate::recover::Recovered;
use crate::reserve::{Reserve, Spare};
use crate::segment::{Header, Segment, path_of};
use crate::tail::Tail;
use crate::{CommitLog, Durability, Frames, LogOptions, LogStats, Lsn};

/// The commit log as files in a directory. Dropping it without [`CommitLog::close`] is as if
/// the process had ended.
pub struct SegmentedLog {
    env: Env,
    options: LogOptions,
    dir: std::path::PathBuf,
    /// Where the log stood when it was opened.
    opened_at: u64,
    pending: Mutex<Pending>,
    out: Mutex<Out>,
    group: Group,
    written: AtomicU64,
    syncs: AtomicU64,
    poison: OnceLock<Arc<LogError>>,
    /// In use, oldest first; the last is the one being filled.
    segments: Mutex<VecDeque<Segment>>,
    reserve: Reserve,
}

/// The state of the thread that writes.
struct Out {
    /// Swapped with the pending one, so that no buffer is ever allocated twice.
    batch: Batch,
    /// The segment being filled; none in a new log.
    segment: Option<Segment>,
    /// True if `segment` was written to after its last sync.
    unsynced: bool,
    /// Earlier segments that were written to after their last sync.
    dirty: Vec<Segment>,
}

impl SegmentedLog {
    pub(crate) fn start(
        env: &Env,
        dir: &Path,
        options: LogOptions,
        found: Recovered,
    ) -> SegmentedLog {
        let segment = found.segments.last().cloned();
        let last = segment.as_ref().map_or(0, |s| s.header.number);
        SegmentedLog {
            env: env.clone(),
            dir: dir.to_path_buf(),
            opened_at: found.end,
            pending: Mutex::new(Pending::new(found.end, segment.as_ref(), found.marked)),
            out: Mutex::new(Out {
                batch: Batch::default(),
                segment,
                unsynced: false,
                dirty: Vec::new(),
            }),
            group: Group::new(found.end),
            written: AtomicU64::new(found.end),
            syncs: AtomicU64::new(0),
            poison: OnceLock::new(),
            segments: Mutex::new(found.segments.into()),
            reserve: Reserve::new(env.fs.clone(), dir, &options, found.ready, found.spares, last),
            options,
        }
    }

    fn check_poison(&self) -> Result<(), LogError> {
        match self.poison.get() {
            Some(cause) => Err(LogError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    fn poison(&self, cause: LogError) {
        let _ = self.poison.set(Arc::new(cause)); // The first cause stands.
    }

    /// Returns the locked buffer once files exist for the segments that are about to begin. So a full disk refuses
    /// frames that are not in the buffer yet, and never a frame that is.
    fn with_files_for(
        &self,
        begun: impl Fn(&Pending) -> Result<RangeInclusive<u64>, LogError>,
    ) -> Result<MutexGuard<'_, Pending>, LogError> {
        self.check_poison()?;
        loop {
            let pending = self.pending.lock();
            let mut begun = begun(&pending)?;
            let Some(missing) = begun.find(|number| !self.reserve.has(*number)) else {
                return Ok(pending);
            };
            drop(pending);
            self.reserve.make(missing)?;
        }
    }

    /// Writes and syncs everything appended so far; returns its end.
    fn flush(&self) -> Result<u64, LogError> {
        let _guard = PoisonOnPanic(self);
        self.try_flush().inspect_err(|e| self.poison(e.repeated()))
    }

    fn try_flush(&self) -> Result<u64, LogError> {
        let (end, earlier, current) = {
            let mut out = self.out.lock();
            self.write_pending(&mut out)?;
            let current =
                if std::mem::take(&mut out.unsynced) { out.segment.clone() } else { None };
            (self.written.load(Ordering::Relaxed), std::mem::take(&mut out.dirty), current)
        };
        for segment in earlier.iter().chain(&current) {
            segment.file.sync_data().map_err(LogError::io("sync", &segment.path))?;
            self.syncs.fetch_add(1, Ordering::Relaxed);
        }
        Ok(end)
    }

    /// Writes everything appended so far without a sync.
    fn write_only(&self, upto: u64) -> Result<(), LogError> {
        if self.written.load(Ordering::Acquire) >= upto {
            return Ok(());
        }
        let _guard = PoisonOnPanic(self);
        let mut out = self.out.lock();
        self.write_pending(&mut out).inspect_err(|e| self.poison(e.repeated()))?;
        match self.written.load(Ordering::Relaxed) {
            end if end < upto => Err(LogError::Beyond { wanted: Lsn(upto), end: Lsn(end) }),
            _ => Ok(()),
        }
    }

    fn write_pending(&self, out: &mut Out) -> Result<(), LogError> {
        self.check_poison()?;
        {
            let mut pending = self.pending.lock();
            out.batch.reset(pending.end());
            std::mem::swap(&mut out.batch, &mut pending.batch);
        }
        debug_assert_eq!(out.batch.start, self.written.load(Ordering::Relaxed));
        let mut done = 0;
        for i in 0..out.batch.rolls.len() {
            let (index, header) = out.batch.rolls[i];
            out.write(done..index)?;
            done = index;
            let former = out.segment.replace(self.roll(header)?);
            if std::mem::take(&mut out.unsynced) {
                out.dirty.extend(former);
            }
        }
        out.write(done..out.batch.bytes.len())?;
        self.written.store(out.batch.end(), Ordering::Release);
        Ok(())
    }

    /// Starts the segment that `header` describes.
    fn roll(&self, header: Header) -> Result<Segment, LogError> {
        let file = self.reserve.take(header.number)?;
        let path: Arc<Path> = path_of(&self.dir, header.number).into();
        file.write_all_at(&header.encode(), 0).map_err(LogError::io("write", &path))?;
        let segment = Segment { header, path, file };
        self.segments.lock().push_back(segment.clone());
        Ok(segment)
    }
}

impl Out {
    /// Writes a part of the batch to the segment it belongs to.
    fn write(&mut self, part: std::ops::Range<usize>) -> Result<(), LogError> {
        let Some(segment) = self.segment.as_ref().filter(|_| !part.is_empty()) else {
            return Ok(()); // Only the empty part before the very first roll has no segment.
        };
        let offset = segment.offset_of(self.batch.start + part.start as u64);
        debug_assert!(offset + part.len() as u64 <= segment.header.size);
        self.unsynced = true;
        segment
            .file
            .write_all_at(&self.batch.bytes[part], offset)
            .map_err(LogError::io("write", &segment.path))
    }
}

impl CommitLog for SegmentedLog {
    fn append(&self, payload: &[u8]) -> Result<Lsn, LogError> {
        let begun = |pending: &Pending| pending.begun_by(payload.len(), &self.options);
        let mut pending = self.with_files_for(begun)?;
        let durable = self.group.durable();
        Ok(Lsn(pending.push(payload, durable, &*self.env.random, &self.options)))
    }

    fn sync(&self, upto: Lsn, how: Durability) -> Result<(), LogError> {
        let synced = match how {
            Durability::Os => return self.write_only(upto.0),
            Durability::Sync => self.group.sync(upto.0, || self.flush()),
            Durability::Group { wait_us } => self.group.sync(upto.0, || {
                std::thread::sleep(Duration::from_micros(u64::from(wait_us)));
                self.flush()
            }),
        };
        synced.map_err(|error| match error {
            SyncError::Flush(error) => error,
            SyncError::Beyond(end) => LogError::Beyond { wanted: upto, end: Lsn(end) },
            SyncError::Poisoned => LogError::Poisoned {
                cause: self.poison.get().cloned().unwrap_or_else(|| LogError::WriterDied.into()),
            },
        })
    }

    fn durable(&self) -> Lsn {
        Lsn(self.group.durable())
    }

    fn oldest(&self) -> Lsn {
        Lsn(self.segments.lock().front().map_or(0, |s| s.header.first_lsn))
    }

    fn bytes_between(&self, from: Lsn, upto: Lsn) -> u64 {
        upto.0.saturating_sub(from.0)
    }

    fn tail_of_all(&self) -> Frames<'_> {
        let end = self.group.durable();
        let segments = self.segments.lock().clone();
        Box::new(Tail::of_all(self, segments, end))
    }

    fn tail(&self, from: Lsn) -> Result<Frames<'_>, LogError> {
        let end = self.group.durable();
        if from.0 > end {
            return Err(LogError::Beyond { wanted: from, end: Lsn(end) });
        }
        let segments = self.segments.lock().clone();
        let oldest = segments.front().map_or(0, |s| s.header.first_lsn);
        if from.0 < oldest {
            return Err(LogError::Released { wanted: from, oldest: Lsn(oldest) });
        }
        Ok(Box::new(Tail::new(self, segments, from.0, end)))
    }

    fn release(&self, upto: Lsn) -> Result<(), LogError> {
        // Strictly below: only then is the header of the next segment certainly durable.
        let released = |next: &Segment| {
            next.header.first_lsn <= upto.0 && next.header.first_lsn < self.group.durable()
        };
        loop {
            let freed = {
                let mut segments = self.segments.lock();
                if segments.get(1).is_some_and(released) { segments.pop_front() } else { None }
            };
            let Some(segment) = freed else { return Ok(()) };
            let spare = Spare {
                size: segment.header.size,
                path: segment.path.to_path_buf(),
                file: segment.file,
            };
            self.reserve.recycle(spare)?;
        }
    }

    fn turn(&self) -> Result<Lsn, LogError> {
        let (first, end) = {
            let mut pending = self.with_files_for(Pending::begun_by_turn)?;
            pending.turn(self.group.durable(), &*self.env.random, &self.options)
        };
        self.sync(Lsn(end), Durability::Sync)?;
        Ok(Lsn(first))
    }

    fn wipe(&self) -> Result<(), LogError> {
        self.reserve.wipe()
    }

    fn fence(&self) -> Result<Lsn, LogError> {
        let end = {
            let mut pending = self.pending.lock();
            pending.fenced = true;
            Lsn(pending.end())
        };
        self.sync(end, Durability::Sync)?;
        Ok(end)
    }

    fn close(&self) -> Result<(), LogError> {
        let end = self.pending.lock().end();
        self.sync(Lsn(end), Durability::Sync)?;
        let mark = {
            let mut pending = self.pending.lock();
            let needed = !pending.marked && !pending.fenced;
            needed.then(|| pending.push_mark(&*self.env.random, &self.options))
        };
        mark.map_or(Ok(()), |end| self.sync(Lsn(end), Durability::Sync))
    }

    fn stats(&self) -> LogStats {
        let (frames, end) = {
            let pending = self.pending.lock();
            (pending.frames, pending.end())
        };
        let (segments, segment_bytes) = {
            let segments = self.segments.lock();
            (segments.len() as u64, segments.iter().map(|s| s.header.size).sum())
        };
        LogStats {
            appended_bytes: end - self.opened_at,
            frames,
            syncs: self.syncs.load(Ordering::Relaxed),
            segments,
            segment_bytes,
            reserve_bytes: self.reserve.bytes(),
        }
    }
}

/// A panic between taking the buffer and publishing its end loses frames: nothing may follow.
struct PoisonOnPanic<'a>(&'a SegmentedLog);

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison(LogError::WriterDied);
        }
    }
}

impl std::fmt::Debug for SegmentedLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentedLog")
            .field("dir", &self.dir)
            .field("stats", &self.stats())
            .finish()
    }
}
