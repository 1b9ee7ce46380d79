//! Rot: one flipped bit anywhere in the files of a log is found, or changes nothing.

use std::path::PathBuf;

use vfs::{CrashPolicy, SimRandom, SimVfs};

use super::workload::{Entry, Run, Step, open, options, run, seed, workloads};
use crate::{CommitLog, LogError, Lsn};

/// The disk as a clean close leaves it, and all that is on it.
pub fn closed(steps: &[Step]) -> (SimVfs, Vec<Entry>) {
    let mut run: Run = run(steps, seed());
    run.steps(&[Step::Close]).expect("no promise is broken").expect("no operation fails");
    let disk = run.disk.image(run.disk.op_count(), &CrashPolicy::SyncedOnly, 0);
    let shown = open(&vfs::Env::sim(&run.disk, 0), &options(), Lsn(0)).expect("opens").1;
    (disk, shown)
}

/// The result of one flipped bit.
#[derive(PartialEq, Eq, Debug)]
pub enum Outcome {
    Found,
    Harmless,
}

/// Flips one bit of a copy of `disk` and opens the log there; fails if wrong data is shown.
pub fn flip(disk: &SimVfs, path: &PathBuf, bit: u64, truth: &[Entry]) -> Result<Outcome, String> {
    let disk = disk.image(0, &CrashPolicy::Everything, 0);
    assert!(disk.flip_bit(path, bit));
    let before = disk.op_count();
    match open(&vfs::Env::sim(&disk, 1), &options(), Lsn(0)) {
        Ok((log, shown)) if shown == truth => {
            let tail: Result<Vec<_>, _> = log.tail(Lsn(0)).and_then(Iterator::collect);
            match tail {
                Ok(tail) if tail.len() == truth.len() => Ok(Outcome::Harmless),
                other => Err(format!("the tail differs: {other:?}")),
            }
        }
        Ok((_, shown)) => {
            Err(format!("{} frames instead of {}, or other ones", shown.len(), truth.len()))
        }
        Err(LogError::Corrupt { .. } | LogError::Version { .. }) if disk.op_count() == before => {
            Ok(Outcome::Found)
        }
        Err(LogError::Corrupt { .. }) => {
            Err(String::from("found, but not before the disk was changed"))
        }
        Err(other) => Err(format!("an unexpected error: {other}")),
    }
}

/// After a clean close a flip of any bit is found before anything is changed, or all frames are
/// shown as they were; in a frame itself it is always found.
#[test]
fn two_thousand_bit_flips() {
    let random = SimRandom::new(seed());
    let (mut found, mut harmless) = (0, 0);
    let lasting = workloads()
        .into_iter()
        .filter(|(_, steps)| !steps.iter().any(|s| matches!(s, Step::Release(_))));
    for (name, steps) in lasting {
        let (disk, truth) = closed(&steps);
        let files = disk.files();
        for _ in 0..1_000 {
            let (path, len) = &files[random.below(files.len() as u64) as usize];
            let bit = random.below(len * 8);
            match flip(&disk, path, bit, &truth) {
                Ok(Outcome::Found) => found += 1,
                Ok(Outcome::Harmless) => harmless += 1,
                Err(e) => {
                    panic!("{name}: {e}; bit {bit} of {}, ANYWHEN_SEED={}", path.display(), seed())
                }
            }
        }
    }
    println!("{found} flips found, {harmless} harmless");
    assert!(found + harmless >= 2_000 && found > 500 && harmless > 100);
}

/// Every single bit of every frame, one by one: found, but for the padding and the closing mark.
#[test]
fn no_flip_in_a_frame_goes_unnoticed() {
    let (disk, truth) =
        closed(&[Step::Append(40), Step::Append(13), Step::Sync, Step::Append(7), Step::Sync]);
    let path = disk.files().into_iter().next().expect("a segment").0;
    // (start, end of the part that is checked) of each frame, in bytes of the file.
    let frames = [(512, 512 + 24 + 40), (576, 576 + 24 + 13), (616, 616 + 24 + 7)];
    for byte in 512..648 {
        for bit in byte * 8..byte * 8 + 8 {
            let outcome =
                flip(&disk, &path, bit, &truth).unwrap_or_else(|e| panic!("{e}, bit {bit}"));
            let inside = frames.iter().any(|(start, end)| (*start..*end).contains(&byte));
            assert_eq!(outcome == Outcome::Found, inside, "bit {bit} (byte {byte})");
        }
    }
}
