//! Measures how much longer a commit takes than the disk alone needs, and how many commits a second
//! many writers make.
//!
//! ```text
//! cargo run --release -p txn --example commits [directory] [seconds]
//! ```
//! One writer: a raw `pwrite` + `fdatasync` of a frame's size into a pre-zeroed file, and a whole
//! transaction (begin, put of 100 bytes, commit), in turns, so that the disk's moods hit both alike.
//! Then transactions that wait for no disk, where what is left is our own work. Then many writers.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use log::Durability;
use store::{Csn, MergeError, Table, TableId};
use txn::{CommitMeta, Engine, EngineOptions, Isolation, TxnError};
use vfs::{Env, OpenMode, SimVfs};

const T: TableId = TableId(9);
/// The bytes of the frame of one such commit in the log.
const FRAME_BYTES: usize = 184;
const VALUE: [u8; 100] = [0x5a; 100];

/// A table without deltas.
struct Plain;

impl Table for Plain {
    fn merge(
        &self,
        _key: &[u8],
        _base_csn: Csn,
        _base: &[u8],
        _deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        _out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        Err(MergeError::new("this table has no deltas"))
    }
}

fn open(env: &Env, dir: &Path, durability: Durability) -> Result<Arc<Engine>, Box<dyn Error>> {
    let mut options = EngineOptions::default();
    options.durability = durability;
    Ok(Engine::open(env, dir, options, Arc::new(|_| Arc::new(Plain)))?)
}

fn commit(engine: &Arc<Engine>, isolation: Isolation, key: u64) -> Result<(), TxnError> {
    let mut txn = engine.begin(isolation);
    txn.put(T, &key.to_be_bytes(), VALUE.to_vec())?;
    txn.commit(CommitMeta::default()).map(drop)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds: u64 = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let dir = root.join(format!("commits-{}", std::process::id()));
    let result = one_writer(&dir, seconds).and_then(|()| no_disk()).and_then(|()| {
        for writers in [2, 8, 32, 64] {
            many_writers(&dir, writers, seconds)?;
        }
        Ok(())
    });
    std::fs::remove_dir_all(&dir)?;
    result
}

fn one_writer(dir: &Path, seconds: u64) -> Result<(), Box<dyn Error>> {
    let env = Env::os();
    env.fs.create_dir_all(dir)?;
    let raw = env.fs.open(&dir.join("raw"), OpenMode::CreateNew)?;
    let size = 16u64 << 20;
    for at in (0..size).step_by(1 << 20) {
        raw.write_all_at(&vec![0; 1 << 20], at)?;
    }
    raw.sync_all()?;
    let engine = open(&env, &dir.join("one"), Durability::Sync)?;
    std::thread::sleep(Duration::from_millis(200));

    let (mut floor, mut commits) = (Vec::new(), Vec::new());
    let frame = [0x5a; FRAME_BYTES];
    let (start, mut at) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..16 {
            let begun = Instant::now();
            raw.write_all_at(&frame, at)?;
            raw.sync_data()?;
            floor.push(begun.elapsed().as_nanos() as u64);
            at = (at + FRAME_BYTES as u64) % (size - FRAME_BYTES as u64);
        }
        for _ in 0..16 {
            let begun = Instant::now();
            commit(&engine, Isolation::ReadCommitted, commits.len() as u64)?;
            commits.push(begun.elapsed().as_nanos() as u64);
        }
    }
    let stats = engine.stats();
    println!("1 writer, floor and commits in turns");
    report("raw write + fdatasync", &mut floor);
    report("transaction", &mut commits);
    let median = |sorted: &[u64]| sorted[sorted.len() / 2] as f64;
    let mean = |list: &[u64]| list.iter().sum::<u64>() as f64 / list.len() as f64;
    println!(
        "  {:.1} % of the floor by median, {:.1} % by mean; {} bytes of log a commit",
        100.0 * median(&floor) / median(&commits),
        100.0 * mean(&floor) / mean(&commits),
        stats.log.appended_bytes / stats.log.frames.max(1),
    );
    Ok(engine.close()?)
}

fn report(what: &str, nanos: &mut [u64]) {
    let rate = nanos.len() as f64 * 1e9 / nanos.iter().sum::<u64>() as f64;
    nanos.sort_unstable();
    let at = |part: f64| nanos[(nanos.len() as f64 * part) as usize] as f64 / 1e3;
    println!("  {what:22} {rate:9.0}/s   median {:6.1} us   p99 {:6.1} us", at(0.5), at(0.99));
}

/// Commits on a disk in memory that wait for nothing: our own work, and a copy or two.
fn no_disk() -> Result<(), Box<dyn Error>> {
    println!("1 writer, no disk");
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable]
    {
        let disk = SimVfs::unrecorded();
        let env = Env { fs: Arc::new(disk), ..Env::os() };
        let engine = open(&env, Path::new("/db"), Durability::Os)?;
        let mut nanos = Vec::new();
        for key in 0..200_000 {
            let begun = Instant::now();
            commit(&engine, isolation, key)?;
            nanos.push(begun.elapsed().as_nanos() as u64);
        }
        report(&format!("{isolation:?}"), &mut nanos);
        engine.close()?;
    }
    Ok(())
}

fn many_writers(dir: &Path, writers: u64, seconds: u64) -> Result<(), Box<dyn Error>> {
    let engine = open(&Env::os(), &dir.join(format!("many-{writers}")), Durability::Sync)?;
    std::thread::sleep(Duration::from_millis(200));
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let (engine, done, stop) = (&engine, &done, &stop);
            scope.spawn(move || {
                let mut key = writer << 32;
                while !stop.load(Ordering::Relaxed) {
                    commit(engine, Isolation::ReadCommitted, key).expect("the disk works");
                    key += 1;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
    });
    let rate = done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    let syncs = engine.stats().log.syncs;
    println!(
        "{writers:3} writers {rate:9.0} commits/s   {:.1} commits a sync",
        done.load(Ordering::Relaxed) as f64 / syncs as f64
    );
    Ok(engine.close()?)
}
