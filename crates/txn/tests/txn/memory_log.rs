//! A log in memory that can be fenced: a second implementation of [`CommitLog`].
//!
//! ```text
//!   device    [ 1 ][ 2 ][ 3 ]│[ 4 ][ 5 ]           owner 2 has opened it: owner 1 is fenced
//!                     durable┘      └─ lost with the power, or not, from the end
//!   position  owner << 32 | number of the frame     nothing that one could take for bytes
//! ```
//!
//! # Invariants
//! * Only the owner that opened the device last appends and syncs; to others it says `Fenced`.
//! * After a failed sync nothing more is appended or synced, until the device is opened again.
//! * A new owner begins behind the last durable frame: frames that the former owner had only
//!   appended are gone.

use std::sync::Arc;

use log::{CommitLog, Durability, Frames, LogError, LogStats, Lsn};
use parking_lot::Mutex;
use vfs::{CrashPolicy, SimRandom};

use crate::objects::Steps;

/// The device that survives the process. A clone is the same one.
#[derive(Clone)]
pub struct LogDevice {
    medium: Arc<Mutex<Medium>>,
    steps: Steps,
}

#[derive(Clone, Default)]
struct Medium {
    owner: u64,
    is_fenced: bool,
    is_poisoned: bool,
    frames: Vec<Frame>,
    /// How many of the frames are durable.
    durable: usize,
    /// Frames up to this position are gone.
    released: Lsn,
    syncs: u64,
    appended: u64,
    done: Vec<(usize, Op)>,
}

#[derive(Clone)]
struct Frame {
    end: Lsn,
    /// Bytes of all frames up to here.
    bytes: u64,
    payload: Vec<u8>,
}

#[derive(Clone)]
enum Op {
    Append(Frame),
    Sync,
    Release(Lsn),
    Open,
}

impl Medium {
    fn end(&self) -> Lsn {
        self.frames.last().map_or(self.released, |frame| frame.end)
    }

    fn durable(&self) -> Lsn {
        self.durable.checked_sub(1).map_or(self.released, |last| self.frames[last].end)
    }

    fn upto(&self, lsn: Lsn) -> usize {
        self.frames.partition_point(|frame| frame.end <= lsn)
    }

    fn act(&mut self, op: &Op) {
        match op {
            Op::Append(frame) => self.frames.push(frame.clone()),
            Op::Sync => self.durable = self.frames.len(),
            Op::Release(upto) => {
                let gone = self.upto(*upto);
                self.released = self.frames[..gone].last().map_or(self.released, |it| it.end);
                self.frames.drain(..gone);
                self.durable = self.durable.saturating_sub(gone);
            }
            Op::Open => {
                self.frames.truncate(self.durable);
                (self.is_fenced, self.is_poisoned) = (false, false);
                self.owner += 1;
            }
        }
    }
}

impl LogDevice {
    pub fn new(steps: &Steps) -> LogDevice {
        LogDevice { medium: Arc::default(), steps: steps.clone() }
    }

    /// The device as a power loss just after operation `at` leaves it, with a record of its own.
    pub fn image(&self, at: usize, policy: &CrashPolicy, seed: u64, steps: &Steps) -> LogDevice {
        let mut found = Medium::default();
        for (_, op) in self.medium.lock().done.iter().filter(|(step, _)| *step <= at) {
            found.act(op);
        }
        let lost = (found.frames.len() - found.durable) as u64;
        let kept = match policy {
            CrashPolicy::SyncedOnly => 0,
            CrashPolicy::Everything => lost,
            _ => SimRandom::new(seed.wrapping_add(at as u64)).below(lost + 1),
        };
        found.frames.truncate(found.durable + kept as usize);
        // Frames that were found once are found again.
        found.durable = found.frames.len();
        let frames = found.frames.iter().map(|frame| (0, Op::Append(frame.clone())));
        let owners = (0..found.owner).map(|_| (0, Op::Open));
        found.done = owners.chain(frames).chain([(0, Op::Sync)]).collect();
        let released = Op::Release(found.released);
        found.done.insert(0, (0, released));
        LogDevice { medium: Arc::new(Mutex::new(found)), steps: steps.clone() }
    }

    /// Takes the device over.
    pub fn open(&self) -> MemoryLog {
        let mut medium = self.medium.lock();
        self.note(&mut medium, Op::Open);
        MemoryLog { device: self.clone(), owner: medium.owner }
    }

    fn note(&self, medium: &mut Medium, op: Op) {
        medium.act(&op);
        medium.done.push((self.steps.next(), op));
    }
}

/// The log as one of its owners has it.
pub struct MemoryLog {
    device: LogDevice,
    owner: u64,
}

impl MemoryLog {
    fn owned<R>(&self, f: impl FnOnce(&mut Medium) -> Result<R, LogError>) -> Result<R, LogError> {
        let mut medium = self.device.medium.lock();
        if medium.owner != self.owner {
            return Err(LogError::Fenced);
        }
        if medium.is_poisoned {
            let source = std::io::Error::other("a sync failed");
            let cause = LogError::Io { action: "sync", path: "memory".into(), source };
            return Err(LogError::Poisoned { cause: cause.into() });
        }
        f(&mut medium)
    }

    fn allow(&self, action: &'static str) -> Result<(), LogError> {
        let failed = |source| LogError::Io { action, path: "memory".into(), source };
        self.device.steps.allow().map_err(failed)
    }
}

impl CommitLog for MemoryLog {
    fn append(&self, payload: &[u8]) -> Result<Lsn, LogError> {
        self.owned(|medium| {
            if medium.is_fenced {
                return Err(LogError::Fenced);
            }
            self.allow("append")?;
            medium.appended += 1;
            let bytes = medium.frames.last().map_or(0, |frame| frame.bytes) + payload.len() as u64;
            let last = medium.end().number();
            let number = if last >> 32 == self.owner { last + 1 } else { (self.owner << 32) + 1 };
            let end = Lsn::from_number(number);
            let frame = Frame { end, bytes, payload: payload.to_vec() };
            self.device.note(medium, Op::Append(frame));
            Ok(end)
        })
    }

    fn sync(&self, upto: Lsn, how: Durability) -> Result<(), LogError> {
        self.owned(|medium| {
            if upto > medium.end() {
                return Err(LogError::Beyond { wanted: upto, end: medium.end() });
            }
            if how != Durability::Os && upto > medium.durable() {
                self.allow("sync").inspect_err(|_| medium.is_poisoned = true)?;
                medium.syncs += 1;
                self.device.note(medium, Op::Sync);
            }
            Ok(())
        })
    }

    fn durable(&self) -> Lsn {
        self.device.medium.lock().durable()
    }

    fn oldest(&self) -> Lsn {
        self.device.medium.lock().released
    }

    fn bytes_between(&self, from: Lsn, upto: Lsn) -> u64 {
        let medium = self.device.medium.lock();
        let at = |lsn| medium.upto(lsn).checked_sub(1).map_or(0, |it| medium.frames[it].bytes);
        at(upto).saturating_sub(at(from))
    }

    fn tail(&self, from: Lsn) -> Result<Frames<'_>, LogError> {
        let medium = self.device.medium.lock();
        let (oldest, end) = (medium.released, medium.durable());
        if from < oldest {
            return Err(LogError::Released { wanted: from, oldest });
        }
        if from > end {
            return Err(LogError::Beyond { wanted: from, end });
        }
        let frames = medium.frames[medium.upto(from)..medium.durable].to_vec();
        Ok(Box::new(frames.into_iter().map(|frame| Ok((frame.end, frame.payload)))))
    }

    fn tail_of_all(&self) -> Frames<'_> {
        self.tail(self.oldest()).expect("the oldest position is kept")
    }

    fn release(&self, upto: Lsn) -> Result<(), LogError> {
        self.owned(|medium| {
            let upto = upto.min(medium.durable());
            if upto > medium.released {
                self.device.note(medium, Op::Release(upto));
            }
            Ok(())
        })
    }

    fn turn(&self) -> Result<Lsn, LogError> {
        let end = self.device.medium.lock().end();
        self.sync(end, Durability::Sync)?;
        Ok(end)
    }

    fn wipe(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn fence(&self) -> Result<Lsn, LogError> {
        self.owned(|medium| {
            medium.is_fenced = true;
            self.device.note(medium, Op::Sync);
            Ok(medium.end())
        })
    }

    fn close(&self) -> Result<(), LogError> {
        let end = self.device.medium.lock().end();
        self.sync(end, Durability::Sync)
    }

    fn stats(&self) -> LogStats {
        let medium = self.device.medium.lock();
        LogStats { frames: medium.appended, syncs: medium.syncs, ..LogStats::default() }
    }
}
