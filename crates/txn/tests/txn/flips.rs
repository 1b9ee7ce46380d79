//! Rot: one flipped bit anywhere in a closed database, in log, segments or manifest.
//!
//! ```text
//!   closed database ─copy─> one bit flipped ─open─> refused: damaged, and where
//!                                             └──> opened: each read is right, or says what is damaged
//! ```
//!
//! There is no third outcome: no read gives anything that was never written, or was written at another
//! time, and nothing panics.

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use store::{Csn, StoreError};
use txn::{Engine, Snapshot};
use vfs::{CrashPolicy, Env, SimVfs};

use crate::bulk::{Run, small};
use crate::common::{Append, SimRandom, T, seed, try_open};
use crate::crash::{State, Told};

const FLIPS: usize = 1_500;

/// A database that was closed after ordinary commits, bulk loads, flushes and merges, the last commits
/// of which are in the log alone.
fn closed(seed: u64) -> (SimVfs, Told) {
    let disk = SimVfs::new(seed);
    let engine = try_open(&Env::sim(&disk, seed), small()).unwrap();
    let mut run = Run::new(&engine, &disk, seed);
    for _ in 0..60 {
        run.step().unwrap();
    }
    let told = run.told;
    assert!(engine.store().checkpoint().csn < engine.visible(), "the log holds something");
    engine.close().unwrap();
    // Opening removes what loads that never happened have left.
    try_open(&Env::sim(&disk, seed + 1), small()).unwrap().close().unwrap();
    (disk.image(disk.op_count(), &CrashPolicy::Everything, seed), told)
}

/// The bytes of a file that mean something: of the log's those that were ever written.
fn extent(disk: &SimVfs, path: &PathBuf) -> u64 {
    let bytes = disk.content(path).expect("it is there");
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
}

/// The results of the flips.
#[derive(Debug, Default)]
struct Tally {
    refused: usize,
    found_by_reads: usize,
    harmless: usize,
}

/// Rows up to the first that cannot be read; each must be as it was at `csn`. True if all were read.
fn rows_are_right(snapshot: &Snapshot, truth: &State) -> bool {
    let mut rows = truth.iter();
    for item in snapshot.scan(T, Bound::Unbounded, Bound::Unbounded, false) {
        let (key, value) = match item {
            Ok(item) => item,
            Err(StoreError::Corrupt { .. } | StoreError::Missing { .. }) => return false,
            Err(other) => panic!("not an error of damage: {other}"),
        };
        let value = value.image(&Append, &key).expect("appending cannot fail").into_owned();
        assert_eq!(Some((&key, &value)), rows.next(), "at commit {}", snapshot.csn().0);
    }
    assert_eq!(rows.next(), None, "rows are missing at commit {}", snapshot.csn().0);
    true
}

/// Each of some keys by itself: right or damaged. True if all were read.
fn keys_are_right<'k>(
    snapshot: &Snapshot,
    keys: impl Iterator<Item = &'k Vec<u8>>,
    truth: &State,
) -> bool {
    let mut all = true;
    for key in keys {
        let mut value = Vec::new();
        match snapshot.get(T, key, &mut value) {
            Ok(found) => {
                let found = found.map(|_| value);
                assert_eq!(found.as_ref(), truth.get(key), "at commit {}", snapshot.csn().0);
            }
            Err(StoreError::Corrupt { .. }) => all = false,
            Err(other) => panic!("not an error of damage: {other}"),
        }
    }
    all
}

/// Reads everything as of now, as of every seventh commit from `from` on, and the author of each.
fn read_all(engine: &Arc<Engine>, told: &Told, from: usize) -> bool {
    let newest = told.acknowledged.len();
    assert_eq!(engine.visible().0 as usize, newest, "commits are lost");
    let mut all = true;
    for csn in (from..newest).step_by(7).chain([newest]) {
        let (snapshot, truth) = (engine.snapshot_at(Csn(csn as u64)), &told.states[csn]);
        let snapshot = snapshot.expect("visible");
        all &= rows_are_right(&snapshot, truth);
        all &= keys_are_right(&snapshot, told.states[newest].keys().step_by(9), truth);
    }
    for csn in 1..=newest {
        match engine.commit_info(Csn(csn as u64)) {
            Ok(info) => assert_eq!(info.message, format!("commit {csn}")),
            Err(error) => {
                assert_eq!(error.sqlstate(), "XX001", "not an error of damage: {error}");
                all = false;
            }
        }
    }
    all
}

fn flip(disk: &SimVfs, told: &Told, path: &PathBuf, bit: u64, tally: &mut Tally) {
    let disk = disk.image(0, &CrashPolicy::Everything, 0);
    assert!(disk.flip_bit(path, bit));
    let engine = match try_open(&Env::sim(&disk, 1), small()) {
        Ok(engine) => engine,
        Err(error) => {
            assert_eq!(error.sqlstate(), "XX001", "not an error of damage: {error}");
            let file = path.display().to_string();
            assert!(error.to_string().contains(&file), "{error} does not name {file}");
            tally.refused += 1;
            return;
        }
    };
    let all = read_all(&engine, told, bit as usize % 7);
    let problems = engine.store().verify(&mut |_, _| {}).expect("it goes on").problems;
    assert!(all || !problems.is_empty(), "a read is refused, and verification finds nothing");
    let of_store = path.extension().is_none_or(|end| end != "log");
    assert_eq!(!problems.is_empty(), of_store, "what verification finds: {problems:?}");
    if all { tally.harmless += 1 } else { tally.found_by_reads += 1 }
}

/// Bits of every file, of large ones and small ones alike.
#[test]
fn flipped_bits_are_found_or_harmless() {
    let seed = seed(31);
    let (disk, told) = closed(seed);
    let files: Vec<_> = disk.files().into_iter().map(|file| file.0).collect();
    let files: Vec<_> = files.into_iter().filter(|path| extent(&disk, path) > 0).collect();
    let kinds = |end: &str| files.iter().any(|path| path.to_string_lossy().ends_with(end));
    assert!(kinds(".log") && kinds(".seg") && kinds("-bulk.seg") && kinds("MANIFEST"));
    let random = SimRandom::new(seed);
    let mut tally = Tally::default();
    for i in 0..FLIPS {
        let path = &files[i % files.len()];
        let bit = random.below(extent(&disk, path) * 8);
        let flipped = AssertUnwindSafe(|| flip(&disk, &told, path, bit, &mut tally));
        if catch_unwind(flipped).is_err() {
            panic!("bit {bit} of {}, seed {seed}", path.display());
        }
    }
    println!("{FLIPS} flips in {} files: {tally:?}", files.len());
    // Opening reads the manifest and the log. Damage of segments is found by reads.
    assert!(tally.refused > FLIPS / 20, "{tally:?}");
    assert!(tally.found_by_reads > FLIPS / 10, "{tally:?}");
}
