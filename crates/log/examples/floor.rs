//! Measures how much longer a commit takes than the disk alone needs.
//!
//! ```text
//! cargo run --release -p anywhen-log --example floor [directory] [seconds]
//! ```
//! One writer: raw `pwrite` + `fdatasync` into a pre-zeroed file and append + sync, in turns, so
//! that the disk's moods hit both alike. The same on a disk that does nothing at all, where what is
//! left is our own work. Then several writers together.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use log::{CommitLog, Durability, LogOptions, Lsn, SegmentedLog};
use vfs::{DirLock, Env, File, OpenMode, Vfs};

const PAYLOAD: [u8; 160] = [0x5a; 160];
/// The bytes of a frame with that payload.
const FRAME: usize = 184;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds: u64 = arguments.next().map_or(Ok(5), |s| s.parse())?;
    let dir = root.join(format!("floor-{}", std::process::id()));
    let env = Env::os();
    env.fs.create_dir_all(&dir)?;
    let nothing = Env { fs: Arc::new(Nothing), ..Env::os() };
    println!("1 writer, payloads of {} bytes, the floor and the log in turns", PAYLOAD.len());
    let result = one_writer(&env, &dir, seconds).and_then(|()| {
        println!("the same on a disk that does nothing");
        one_writer(&nothing, &dir, 1)?;
        println!("on the real disk");
        for threads in [1, 2, 8, 32] {
            many_writers(&env, &dir, threads, seconds)?;
        }
        Ok(())
    });
    std::fs::remove_dir_all(&dir)?;
    result
}

fn one_writer(env: &Env, dir: &Path, seconds: u64) -> Result<(), Box<dyn std::error::Error>> {
    let raw = env.fs.open(&dir.join("raw"), OpenMode::CreateNew)?;
    let size = 16u64 << 20;
    for at in (0..size).step_by(1 << 20) {
        raw.write_all_at(&vec![0; 1 << 20], at)?;
    }
    raw.sync_all()?;
    env.fs.sync_dir(dir)?;
    let log = SegmentedLog::open(
        env,
        &dir.join("one"),
        LogOptions::default(),
        Lsn::START,
        &mut |_, _| Ok(()),
    )?;
    std::thread::sleep(Duration::from_millis(200));

    let (mut floor, mut commits, mut appends) = (Vec::new(), Vec::new(), Vec::new());
    let frame = [0x5a; FRAME];
    let mut at = 0;
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let start = Instant::now();
        raw.write_all_at(&frame, at)?;
        raw.sync_data()?;
        floor.push(start.elapsed());
        at = (at + FRAME as u64) % (size - FRAME as u64);

        let start = Instant::now();
        let lsn = log.append(&PAYLOAD)?;
        appends.push(start.elapsed());
        log.sync(lsn, Durability::Sync)?;
        commits.push(start.elapsed());
    }
    log.close()?;
    report("pwrite + fdatasync", &mut floor);
    report("append + sync", &mut commits);
    report("append alone", &mut appends);
    Ok(())
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort();
    let us = |d: Duration| d.as_nanos() as f64 / 1000.0;
    let at = |part: f64| us(times[((times.len() - 1) as f64 * part) as usize]);
    let mean = us(times.iter().sum::<Duration>()) / times.len() as f64;
    println!(
        "  {what:20} mean {mean:8.2} us   p10 {:8.2}   median {:8.2}   p99 {:8.2}   max {:9.1}",
        at(0.1),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn many_writers(
    env: &Env,
    dir: &Path,
    threads: usize,
    seconds: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let dir = dir.join(format!("many-{threads}"));
    let log = SegmentedLog::open(env, &dir, LogOptions::default(), Lsn::START, &mut |_, _| Ok(()))?;
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<(), log::LogError> {
                    let mut done = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let lsn = log.append(&PAYLOAD)?;
                        log.sync(lsn, Durability::Sync)?;
                        done += 1;
                        if done % 10_000 == 0 {
                            log.release(log.durable())?;
                        }
                    }
                    commits.fetch_add(done, Ordering::Relaxed);
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().try_for_each(|w| w.join().expect("a writer panicked"))
    })?;
    let elapsed = start.elapsed().as_secs_f64();
    let commits = commits.into_inner() as f64;
    let stats = log.stats();
    println!(
        "{threads:2} writers: {:9.0} commits/s, {:7.0} syncs/s, {:5.1} commits a sync, {} segments",
        commits / elapsed,
        stats.syncs as f64 / elapsed,
        commits / stats.syncs as f64,
        stats.segments
    );
    log.close()?;
    Ok(())
}

/// A disk without a disk: one empty file under every name.
struct Nothing;

impl File for Nothing {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

impl Vfs for Nothing {
    fn open(&self, _: &Path, _: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(Nothing))
    }
    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn remove(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }
    fn exists(&self, _: &Path) -> io::Result<bool> {
        Ok(false)
    }
    fn lock(&self, _: &Path) -> io::Result<Box<dyn DirLock>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn lock_to_read(&self, _: &Path) -> io::Result<Box<dyn DirLock>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
