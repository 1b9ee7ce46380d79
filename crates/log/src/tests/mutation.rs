//! Durability by mutation: each sync, directory sync, rename and checksum that safety rests on is
//! switched off in turn, and the power-loss check must notice. A call whose loss nothing notices is
//! either not needed (one is, for speed alone: see the end) or not tested.

use vfs::{CrashPolicy, FaultKind, FaultPlan, Mutation, OpClasses, SimVfs, Which};

use super::flips::{closed, flip};
use super::power::check_all;
use super::workload::{Run, Step, check, seed, workloads};
use crate::frame::IGNORE_CHECKSUMS;

const POLICIES: [CrashPolicy; 2] = [CrashPolicy::SyncedOnly, CrashPolicy::Reordered];

fn steps_of(name: &str) -> Vec<Step> {
    workloads().into_iter().find(|w| w.0 == name).expect("a workload").1
}

/// Runs the steps while the disk lies, then checks every image; tells whether it lied, and the
/// broken promise if one was found.
fn lied(what: Mutation, which: Which, steps: &[Step]) -> (bool, Result<usize, String>) {
    let mut run = Run::new(seed());
    run.disk.disable(what, which);
    let done = run.open().and_then(|()| run.steps(steps));
    let struck = run.disk.faults_hit() > 0;
    let checked = done.and_then(|_| check_all(&run, &POLICIES, 2));
    (struck, checked)
}

/// Every single one of the operations of a kind, from the `first` on, is missed when it lies.
fn each_is_needed(what: Mutation, first: usize, name: &str) {
    let steps = steps_of(name);
    let (_, sound) = lied(what, Which::Nth(usize::MAX), &steps);
    sound.unwrap_or_else(|e| panic!("{name}, nothing lies: {e}"));
    let mut count = 0;
    for nth in first.. {
        let (struck, checked) = lied(what, Which::Nth(nth), &steps);
        if !struck {
            break;
        }
        assert!(checked.is_err(), "{name}: nobody misses {what:?} number {nth}");
        count += 1;
    }
    println!("{name}: {count} x {what:?}, each missed when it lies");
    assert!(count > 2);
}

#[test]
fn every_sync_of_a_commit_is_needed() {
    each_is_needed(Mutation::SyncData, 0, "group commit");
    // Where a batch crosses into the next segment both files are synced.
    each_is_needed(Mutation::SyncData, 0, "segments roll");
    each_is_needed(Mutation::SyncData, 0, "frames larger than segments");
}

#[test]
fn every_directory_sync_of_a_new_segment_is_needed() {
    // The one before them, at the opening of an empty directory, has nothing to make durable.
    each_is_needed(Mutation::SyncDir, 1, "segments roll");
}

#[test]
fn every_rename_of_a_recycled_segment_is_needed() {
    each_is_needed(Mutation::Rename, 0, "segments are recycled");
}

/// The next process shows frames that a killed process had only written: by then they must be
/// durable.
#[test]
fn the_sync_of_what_recovery_shows_is_needed() {
    let steps = [Step::Append(40), Step::Write, Step::Kill];
    assert!(lied(Mutation::SyncData, Which::Nth(usize::MAX), &steps).1.is_ok());
    assert!(lied(Mutation::SyncData, Which::Nth(0), &steps).1.is_err());
}

/// A segment after the cut is made reserve before anything new is written: else its old frames join
/// the stream as soon as the segment before it is full again.
#[test]
fn the_sync_of_a_cleared_segment_is_needed() {
    // Four frames of 128 bytes fill the first segment to the byte.
    let mut run = Run::new(seed());
    run.open().expect("opens");
    run.steps(&[[Step::Append(104); 7].as_slice(), &[Step::Write]].concat())
        .expect("sound")
        .expect("sound");
    let after_crash = |face: u64, which: Which| {
        let image = run.disk.image(run.disk.op_count(), &CrashPolicy::Subset, face);
        let mut next = Run::on(image, run.truth.frozen(usize::MAX), face);
        next.disk.disable(Mutation::SyncData, which);
        next.open()?;
        next.steps(&[[Step::Append(104); 4].as_slice(), &[Step::Sync]].concat())?
            .map_err(|e| e.to_string())?;
        check_all(&next, &[CrashPolicy::SyncedOnly], 1)
    };
    let broken = |which| (0..100).filter(|&face| after_crash(face, which).is_err()).count();
    assert_eq!(broken(Which::Nth(usize::MAX)), 0);
    assert!(broken(Which::Nth(0)) > 0);
}

/// A process ends between creating a file and syncing its directory; the next one finds the file
/// ready for use, and must sync the directory itself.
#[test]
fn the_directory_sync_of_recovery_is_needed() {
    let next_process = |lie: bool| {
        let mut run = Run::new(seed());
        run.open()?;
        run.disk.fail(FaultPlan {
            nth: 0,
            kind: FaultKind::Eio,
            once: true,
            on: OpClasses::SYNC_DIR,
        });
        assert!(run.steps(&[Step::Append(40), Step::Sync])?.is_err());
        run.kill();
        if lie {
            run.disk.disable(Mutation::SyncDir, Which::Nth(0));
        }
        run.open()?;
        run.steps(&[Step::Append(40), Step::Sync])?.map_err(|e| e.to_string())?;
        check_all(&run, &POLICIES, 2)
    };
    next_process(false).expect("sound");
    assert!(next_process(true).is_err());
}

/// Without checksums a torn write is taken for a frame, and rot for data.
#[test]
fn the_checksums_are_needed() {
    let run = super::workload::run(&steps_of("segments roll"), seed());
    let torn = [CrashPolicy::Torn512];
    check_all(&run, &torn, 4).expect("sound");
    let (disk, truth) = closed(&steps_of("group commit"));
    let wrong = |disk: &SimVfs| {
        let (path, _) = &disk.files()[0];
        (512 * 8..1024 * 8).filter(|&bit| flip(disk, path, bit, &truth).is_err()).count()
    };
    assert_eq!(wrong(&disk), 0);
    IGNORE_CHECKSUMS.set(true);
    let (torn, rotten) = (check_all(&run, &torn, 4), wrong(&disk));
    IGNORE_CHECKSUMS.set(false);
    assert!(torn.is_err());
    assert!(rotten > 1_000, "{rotten} flips of 4,096 were taken for data");
}

/// The sync of a file that was just filled with zeroes is for speed alone: the first commit into it
/// syncs the file anyhow, but should not have to sync megabytes and their metadata.
#[test]
fn the_sync_of_zeroes_is_not_needed() {
    for (name, steps) in workloads() {
        let (struck, checked) = lied(Mutation::SyncAll, Which::All, &steps);
        assert!(struck);
        checked.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// The mutations of this file break images of a run; a run on an image is itself sound.
#[test]
fn a_lie_of_the_past_is_forgotten_by_the_image() {
    let mut run = Run::new(seed());
    run.disk.disable(Mutation::SyncData, Which::All);
    run.open().expect("opens");
    let image = run.disk.image(run.disk.op_count(), &CrashPolicy::Everything, 0);
    let (next, _) = check(&run.truth, run.disk.op_count(), image, 0).expect("sound");
    check_all(&next, &POLICIES, 2).expect("sound");
}
