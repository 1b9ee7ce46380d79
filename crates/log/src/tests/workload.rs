//! Runs a list of steps on a simulated disk and keeps, outside of it, the truth: the entries that
//! were appended and acknowledged up to each operation of the disk. [`check`] holds any image of that
//! disk against the truth.

use std::path::Path;

use vfs::{Env, SimRandom, SimVfs};

use crate::{CommitLog, Durability, LogError, LogOptions, Lsn, SegmentedLog};

pub const DIR: &str = "/db/log";

/// A thing that happens to a log.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A frame of so many bytes is appended.
    Append(usize),
    /// All that was appended is made durable.
    Sync,
    /// All that was appended is written, not synced.
    Write,
    /// All but the last so many durable frames are released.
    Release(usize),
    /// Closed and opened again.
    Close,
    /// The process ends without a word, the machine goes on; opened again.
    Kill,
}

/// Segments so small that everything happens soon, and no thread of its own: runs replay.
pub fn options() -> LogOptions {
    LogOptions { segment_bytes: 2048, first_bytes: 1024, first_count: 2, background: false }
}

/// A frame as the truth knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub lsn: Lsn,
    pub payload: Vec<u8>,
}

/// The actions of one process: the entries that it found and appended, from its operation `since`
/// on.
#[derive(Clone, Debug, Default)]
pub struct Life {
    pub since: usize,
    pub entries: Vec<Entry>,
}

/// The truth about a disk.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    lives: Vec<Life>,
    /// From this operation on so many entries of the life at that time are acknowledged.
    acknowledged: Vec<(usize, usize)>,
    /// From this operation on the log may forget what is below the position.
    released: Vec<(usize, Lsn)>,
}

impl Truth {
    /// Returns what is known of a disk on which `at` operations have happened: all appended
    /// entries, how many of them are acknowledged, and where a replay starts.
    fn at(&self, at: usize) -> (&[Entry], usize, Lsn) {
        let life = self.lives.iter().rev().find(|life| life.since <= at);
        let acknowledged = self.acknowledged.iter().rev().find(|a| a.0 <= at);
        let released = self.released.iter().rev().find(|r| r.0 <= at);
        let entries = life.map_or(&[][..], |life| &life.entries);
        (entries, acknowledged.map_or(0, |a| a.1), released.map_or(Lsn(0), |r| r.1))
    }

    /// The truth about an image of the disk after its first `at` operations.
    pub fn frozen(&self, at: usize) -> Truth {
        let (entries, acknowledged, from) = self.at(at);
        Truth {
            lives: vec![Life { since: 0, entries: entries.to_vec() }],
            acknowledged: vec![(0, acknowledged)],
            released: vec![(0, from)],
        }
    }

    pub fn appended(&self) -> usize {
        self.lives.last().map_or(0, |life| life.entries.len())
    }
}

/// A log on a disk, driven by steps.
pub struct Run {
    pub disk: SimVfs,
    pub env: Env,
    pub truth: Truth,
    pub options: LogOptions,
    log: Option<SegmentedLog>,
    random: SimRandom,
}

/// Opens the log; returns it and what it shows.
pub fn open(
    env: &Env,
    options: &LogOptions,
    from: Lsn,
) -> Result<(SegmentedLog, Vec<Entry>), LogError> {
    let mut shown = Vec::new();
    let log =
        SegmentedLog::open(env, Path::new(DIR), options.clone(), from, &mut |lsn, payload| {
            shown.push(Entry { lsn, payload: payload.to_vec() });
            Ok(())
        })?;
    Ok((log, shown))
}

impl Run {
    pub fn new(seed: u64) -> Run {
        Run::on(SimVfs::new(seed), Truth::default(), seed)
    }

    /// Goes on with a disk of which `truth` is known.
    pub fn on(disk: SimVfs, truth: Truth, seed: u64) -> Run {
        let env = Env::sim(&disk, seed);
        Run { disk, env, truth, options: options(), log: None, random: SimRandom::new(seed) }
    }

    /// The log, where it is open.
    pub fn log(&self) -> Option<&SegmentedLog> {
        self.log.as_ref()
    }

    /// Opens the log and compares what it shows with the truth.
    pub fn open(&mut self) -> Result<(), String> {
        self.try_open()?.map_err(|e| format!("does not open: {e}"))
    }

    /// As `open`; the inner error is one of the disk.
    pub fn try_open(&mut self) -> Result<Result<(), LogError>, String> {
        let (entries, acknowledged, from) = self.truth.at(usize::MAX);
        let (log, shown) = match open(&self.env, &self.options, from) {
            Ok(opened) => opened,
            Err(error @ LogError::Io { .. }) => return Ok(Err(error)),
            Err(error) => return Err(format!("does not open: {error}")),
        };
        let known = compare(entries, acknowledged, from, &shown)?;
        let life = Life { since: self.disk.op_count(), entries: entries[..known].to_vec() };
        // A process may act on the entries that it saw: they count as acknowledged.
        self.truth.acknowledged.push((life.since, known));
        self.truth.lives.push(life);
        self.log = Some(log);
        Ok(Ok(()))
    }

    /// Ends the process without closing the log.
    pub fn kill(&mut self) {
        self.log = None;
    }

    /// Does the steps; the outer error is a broken promise, the inner one an honest failure.
    pub fn steps(&mut self, steps: &[Step]) -> Result<Result<(), LogError>, String> {
        for step in steps {
            if let Err(error) = self.step(*step)? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    fn step(&mut self, step: Step) -> Result<Result<(), LogError>, String> {
        let done = match step {
            Step::Append(len) => self.append(len),
            Step::Sync => self.sync(Durability::Sync),
            Step::Write => self.sync(Durability::Os),
            Step::Release(keep) => self.release(keep),
            Step::Close => match self.log.take().map_or(Ok(()), |log| log.close()) {
                Ok(()) => {
                    self.acknowledge();
                    return self.try_open();
                }
                failed => failed,
            },
            Step::Kill => {
                self.kill();
                return self.try_open();
            }
        };
        Ok(done)
    }

    fn opened(&self) -> &SegmentedLog {
        self.log.as_ref().expect("the log is open")
    }

    fn append(&mut self, len: usize) -> Result<(), LogError> {
        // Short ones are all alike; longer ones never repeat. Half of them end in zeroes.
        let mut payload = vec![self.random.below(2) as u8; len];
        for (to, from) in payload.iter_mut().zip(self.random.next().to_le_bytes()) {
            *to = from;
        }
        let lsn = self.opened().append(&payload)?;
        let life = self.truth.lives.last_mut().expect("a log that was opened");
        life.entries.push(Entry { lsn, payload });
        Ok(())
    }

    fn sync(&mut self, how: Durability) -> Result<(), LogError> {
        let Some(last) = self.truth.lives.last().and_then(|life| life.entries.last()) else {
            return Ok(());
        };
        self.opened().sync(last.lsn, how)?;
        if how != Durability::Os {
            assert!(self.opened().durable() >= last.lsn);
            self.acknowledge();
        }
        Ok(())
    }

    fn acknowledge(&mut self) {
        self.truth.acknowledged.push((self.disk.op_count(), self.truth.appended()));
    }

    fn release(&mut self, keep: usize) -> Result<(), LogError> {
        let (entries, acknowledged, _) = self.truth.at(usize::MAX);
        let Some(last) = acknowledged.checked_sub(keep + 1) else { return Ok(()) };
        let upto = entries[last].lsn;
        self.truth.released.push((self.disk.op_count(), upto));
        self.opened().release(upto)
    }
}

/// acknowledged ⊆ shown ⊆ appended, in order and unchanged; returns how many entries are recovered.
fn compare(
    entries: &[Entry],
    acknowledged: usize,
    from: Lsn,
    shown: &[Entry],
) -> Result<usize, String> {
    let skipped = entries.iter().take_while(|e| e.lsn <= from).count();
    for (i, found) in shown.iter().enumerate() {
        match entries.get(skipped + i) {
            None => {
                return Err(format!(
                    "frame {} of {} was never appended",
                    skipped + i,
                    entries.len()
                ));
            }
            Some(entry) if entry != found => {
                return Err(format!("frame {} is not what was appended", skipped + i));
            }
            Some(_) => {}
        }
    }
    let known = skipped + shown.len();
    if known < acknowledged {
        return Err(format!("{known} frames are left of {acknowledged} acknowledged"));
    }
    Ok(known)
}

/// Holds `image`, found after the first `at` operations of a disk, against the truth of that disk;
/// then goes on writing there. Returns the run on the image, and the operations of its recovery.
pub fn check(truth: &Truth, at: usize, image: SimVfs, seed: u64) -> Result<(Run, usize), String> {
    let mut run = Run::on(image, truth.frozen(at), seed);
    let from = run.truth.released[0].1;
    run.open()?;
    let recovery = run.disk.op_count();
    // Frames of the lengths of those that may have been cut: what lies behind them would fit on.
    let go_on = [Step::Append(40), Step::Sync, Step::Append(100), Step::Append(40), Step::Sync];
    run.steps(&go_on)?.map_err(|e| format!("cannot go on: {e}"))?;
    let tail: Result<Vec<_>, _> = run.opened().tail(from).and_then(Iterator::collect);
    let tail: Vec<Entry> = tail
        .map_err(|e| format!("no tail: {e}"))?
        .into_iter()
        .map(|(lsn, payload)| Entry { lsn, payload })
        .collect();
    let all = run.truth.appended();
    compare(&run.truth.lives[1].entries, all, from, &tail).map_err(|e| format!("tail: {e}"))?;
    run.steps(&[Step::Close])?.map_err(|e| format!("cannot close: {e}"))?;
    Ok((run, recovery))
}

/// The seed of this run: of the variable `ANYWHEN_SEED` where it is set.
pub fn seed() -> u64 {
    vfs::seed(20_260_101)
}

/// The workloads by name.
pub fn workloads() -> Vec<(&'static str, Vec<Step>)> {
    use Step::*;
    let times = |n: usize, steps: &[Step]| steps.repeat(n);
    // Frames of 128 bytes fill segments to the byte; the next segment is begun, but not synced.
    let fill = |n| [times(n, &[Append(104)]), vec![Sync, Append(104), Write, Release(0)]].concat();
    let edge = [4, 3, 11, 11, 11].map(fill).concat();
    vec![
        ("group commit", times(8, &[Append(40), Append(100), Append(0), Sync])),
        ("segments roll", times(14, &[Append(300), Sync, Append(90), Append(200), Sync])),
        ("segments are recycled", times(20, &[Append(250), Append(480), Sync, Release(3)])),
        (
            "closed and opened",
            times(5, &[Append(40), Sync, Close, Append(700), Append(40), Close, Close]),
        ),
        (
            "frames larger than segments",
            times(3, &[Append(40), Append(5000), Sync, Append(2500), Sync, Release(2)]),
        ),
        (
            "killed and opened",
            times(
                6,
                &[Append(40), Write, Append(600), Kill, Append(40), Sync, Append(500), Write, Kill],
            ),
        ),
        ("released up to the edge of a segment", edge),
        ("a bit of everything", random_steps(seed(), 120)),
        ("a bit more", random_steps(seed() + 1, 120)),
    ]
}

fn random_steps(seed: u64, n: usize) -> Vec<Step> {
    let random = SimRandom::new(seed);
    let step = |_| match random.below(20) {
        0..8 => Step::Append([0, 8, 40, 100, 300, 900, 3000][random.below(7) as usize]),
        8..14 => Step::Sync,
        14..16 => Step::Write,
        16..18 => Step::Release(random.below(5) as usize),
        18 => Step::Close,
        _ => Step::Kill,
    };
    (0..n).map(step).collect()
}

/// Runs a workload on a sound disk.
pub fn run(steps: &[Step], seed: u64) -> Run {
    let mut run = Run::new(seed);
    run.open()
        .and_then(|()| run.steps(steps))
        .expect("no promise is broken")
        .expect("no operation fails");
    run
}
