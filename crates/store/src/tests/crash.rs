//! Power loss, failing operations, rot, and lying disks.
//!
//! ```text
//!   workload ──operation 0, 1, 2 ... n──>  the record
//!                 |  |  |
//!                 v  v  v    at each: what was synced, all, any subset, torn, reordered
//!               open, replay the log above the checkpoint, compare with the model, write on
//! ```

use super::model::any_writes;
use super::world::*;
use crate::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use vfs::{CrashPolicy, Env, FaultKind, FaultPlan, Mutation, OpClasses, SimVfs, Which};

/// The state that the caller knew after a number of operations on the disk.
struct Moment {
    ops: usize,
    /// The log was durable up to here.
    durable: u64,
    /// The store had said that its files cover the log up to here, so that it may have been released.
    covered: u64,
}

/// A run of commits, flushes and merges, with what the outside knew when.
struct Story<M = SimVfs> {
    world: World<M>,
    moments: Vec<Moment>,
}

fn options(dice: &SimRandom) -> StoreOptions {
    StoreOptions {
        segment_bytes: [200, 1 << 20][dice.below(2) as usize],
        merge_range_bytes: [1, 300, 1 << 20][dice.below(3) as usize],
        ..small_options()
    }
}

fn tell<M: Medium>(seed: u64, steps: u64, prepare: impl FnOnce(&M)) -> Story<M> {
    let dice = SimRandom::new(seed);
    let disk = M::new(seed);
    prepare(&disk);
    let options = options(&dice);
    let mut story = Story { world: World::new(seed, disk, options), moments: Vec::new() };
    story.note();
    for step in 0..steps {
        for _ in 0..=dice.below(4) {
            let writes = any_writes(&dice, &story.world.model);
            match dice.below(4) {
                0 => story.world.commit_late(writes),
                _ => story.world.commit(writes),
            };
        }
        let csn = story.world.last() - dice.below(2).min(story.world.last() - 1);
        story.world.sync(csn);
        story.note();
        if step % 5 == 4 {
            story.world.store.compact().expect("compacts");
        } else {
            story.world.store.flush().expect("flushes");
        }
        story.note();
    }
    story
}

impl<M: Medium> Story<M> {
    fn note(&mut self) {
        let (ops, durable) = (self.world.disk.op_count(), self.world.durable);
        self.moments.push(Moment { ops, durable, covered: self.world.store.checkpoint().csn.0 });
    }

    /// Returns the durable and the covered commit that the caller knew when operation `at` was the
    /// last to happen.
    fn known(&self, at: usize) -> (u64, u64) {
        let before = self.moments.iter().rev().find(|m| m.ops <= at);
        // The log is another disk, synced before the store's next operation.
        let durable =
            self.moments.iter().filter(|m| m.ops <= at).map(|m| m.durable).max().unwrap_or(0);
        (durable, before.map_or(0, |m| m.covered))
    }

    /// Opens what power loss after operation `at` left, replays, compares and writes on.
    fn survives(&self, at: usize, policy: CrashPolicy, seed: u64, deeply: bool) {
        let (durable, covered) = self.known(at);
        let disk = self.world.disk.image(at, &policy, seed);
        recover(&self.world, disk, durable, covered, deeply);
    }
}

fn recover<M: Medium>(
    before: &World<M>,
    disk: M,
    durable: u64,
    covered: u64,
    deeply: bool,
) -> World<M> {
    let env = disk.env(1);
    let log: Vec<_> = before.log.iter().filter(|c| c.0 <= durable).cloned().collect();
    let store = disk.open_store(&env, before.options.clone()).expect("opens after power loss");
    if durable > 0 {
        assert!(store.checkpoint().csn.0 >= covered, "the log was released up to {covered}");
    }
    let mut late = before.late.clone();
    late.retain(|csn, _| *csn <= durable);
    replay(&store, &log, &late, durable);
    store.recovered().expect("leftovers go");
    let mut model = Model::default();
    log.iter().for_each(|(csn, writes)| model.apply(*csn, writes));
    let mut world =
        World { late, disk, env, options: before.options.clone(), store, log, durable, model };
    if deeply {
        world.check_all();
        let report = world.store.verify(&mut |_, _| {}).expect("verifies");
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
    let dice = SimRandom::new(durable);
    let writes = any_writes(&dice, &world.model);
    world.commit_durably(writes);
    world.store.flush().expect("flushes after recovery");
    for ((table, key), _) in world.model.0.iter().take(12) {
        let at = dice.below(world.last() + 1);
        world.check_read(*table, key, at);
        world.check_read(*table, key, u64::MAX);
    }
    world
}

/// Power may fail after any operation of flush, merge and manifest swap, in any of the ways a disk can
/// fail: the store opens, nothing the log was released for is missing, nothing above the durable commit
/// is there, every answer is right, and writing goes on.
#[test]
fn power_loss_at_every_operation() {
    lose_power::<SimVfs>(6, 2_000);
}

/// The same of segments in an object store.
#[test]
fn power_loss_at_every_operation_on_objects_in_memory() {
    lose_power::<ObjectDisk<false>>(12, 800);
}

/// The same, with objects that are files.
#[test]
fn power_loss_at_every_operation_on_local_objects() {
    lose_power::<ObjectDisk<true>>(2, 120);
}

fn lose_power<M: Medium>(cases: u64, reopenings: usize) {
    let count = std::sync::atomic::AtomicUsize::new(0);
    seeds(100, cases, |seed| {
        let story = tell::<M>(seed, 10, |_| {});
        for at in 0..=story.world.disk.op_count() {
            for (i, policy) in M::policies().iter().enumerate() {
                story.survives(at, *policy, seed, (at + i) % 8 == 0);
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
    });
    let count = count.into_inner();
    assert!(count >= reopenings || std::env::var("ANYWHEN_SEED").is_ok(), "{count} reopenings");
}

/// Power may fail between the ranges of a merge and within them, as anywhere else. The ranges that are done stay.
#[test]
fn power_loss_between_the_ranges_of_a_merge() {
    let disk = SimVfs::new(8);
    let options = StoreOptions {
        memtable_bytes: 1 << 20,
        segment_bytes: 200,
        current_block_bytes: 60,
        history_block_bytes: 60,
        merge_range_bytes: 600,
        ..small_options()
    };
    let mut story = Story { world: World::new(8, disk, options), moments: Vec::new() };
    story.note();
    for round in 0..3_u8 {
        for table in [PLAIN, COLUMNS, BRIEF] {
            let keys = (0..12_u8).filter(|key| (key + round) % 3 > 0);
            let writes = keys.map(|key| match round == 2 && key % 4 == 0 {
                true if story.world.model.is_live(table, &[key]) => delete(table, &[key]),
                _ => put(table, &[key], &[key, round, table.0 as u8].repeat(7)),
            });
            let writes = writes.collect();
            story.world.commit_durably(writes);
        }
        story.note();
        story.world.store.flush().expect("flushes");
        story.note();
    }
    let (ops, files) = (story.world.disk.op_count(), story.world.store.stats().merge_read_bytes);
    assert_eq!(files, 0, "nothing is merged yet");
    story.world.store.compact().expect("compacts");
    story.note();
    let is_rename = |op: &&vfs::OpRecord| matches!(op.kind, vfs::OpKind::Rename);
    let ranges = story.world.disk.ops()[ops..].iter().filter(is_rename).count();
    assert!(ranges > 8, "{ranges} ranges");
    for at in ops..=story.world.disk.op_count() {
        for (i, policy) in CrashPolicy::ALL.iter().enumerate() {
            story.survives(at, *policy, at as u64, (at + i) % 4 == 0);
        }
    }
}

/// Power may fail again while the store opens and writes on after a power loss.
#[test]
fn power_loss_inside_recovery() {
    lose_power_again::<SimVfs>();
}

/// The same of segments in an object store.
#[test]
fn power_loss_inside_recovery_on_objects_in_memory() {
    lose_power_again::<ObjectDisk<false>>();
}

fn lose_power_again<M: Medium>() {
    seeds(200, 2, |seed| {
        let story = tell::<M>(seed, 4, |_| {});
        for at in (0..=story.world.disk.op_count()).step_by(3) {
            let (durable, covered) = story.known(at);
            let world = recover(
                &story.world,
                story.world.disk.image(at, &CrashPolicy::Subset, seed),
                durable,
                covered,
                false,
            );
            for again in 0..=world.disk.op_count() {
                let disk = world.disk.image(again, &CrashPolicy::Reordered, seed);
                recover(&world, disk, world.durable, covered, false);
            }
        }
    });
}

/// Runs a check that may panic, quietly; true if it passed.
fn passes(check: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_ok()
}

/// Each sync of a file, each sync of the directory and each rename is needed: when any one of them
/// silently does nothing, some power loss is not survived.
#[test]
fn every_sync_and_rename_is_needed() {
    // One flush of both halves and one merge: enough to meet every place that syncs.
    let story = |prepare: &dyn Fn(&SimVfs)| {
        let disk = SimVfs::new(5);
        prepare(&disk);
        let mut story = Story { world: World::new(5, disk, small_options()), moments: Vec::new() };
        story.note();
        for round in 0..2 {
            story
                .world
                .commit_durably(vec![put(PLAIN, b"a", &[b'a' + round; 9]), put(PLAIN, b"b", b"b")]);
            story.world.commit_durably(vec![
                put(PLAIN, b"a", &[b'A' + round; 9]),
                delta(PLAIN, b"b", b"+"),
            ]);
            story.note();
            story.world.store.flush().expect("flushes");
            story.note();
        }
        story.world.store.compact().expect("compacts");
        story.note();
        story
    };
    let caught = |story: &Story| {
        (0..=story.world.disk.op_count()).any(|at| {
            let survives =
                |p: CrashPolicy| (0..8).all(|seed| passes(|| story.survives(at, p, seed, true)));
            !CrashPolicy::ALL.into_iter().all(survives)
        })
    };
    assert!(!caught(&story(&|_| {})), "an honest disk loses nothing");
    // The very first sync of the directory stands before a manifest that names no segment.
    for (what, calls) in
        [(Mutation::SyncAll, 0..11), (Mutation::SyncDir, 1..10), (Mutation::Rename, 0..5)]
    {
        for nth in calls {
            let story = story(&|disk| disk.disable(what, Which::Nth(nth)));
            assert_eq!(story.world.disk.faults_hit(), 1, "{what:?} {nth} happens");
            assert!(caught(&story), "{what:?} number {nth} is not missed");
        }
    }
}

/// Operations fail, one or all from the n-th on: a call returns an error or works, reads are right or say
/// what is wrong, and once the disk is well again nothing is lost.
#[test]
fn the_nth_operation_fails() {
    let kinds = [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite];
    seeds(300, 6, |seed| {
        let (kind, once) = (kinds[seed as usize % 3], seed % 2 == 0);
        for nth in 0.. {
            let dice = SimRandom::new(seed);
            let mut world = World::new(
                seed,
                SimVfs::new(seed),
                StoreOptions { cache_bytes: 0, ..options(&dice) },
            );
            world.disk.fail(FaultPlan { nth, kind, once, on: OpClasses::ALL });
            let mut failed = 0;
            for step in 0..8 {
                let writes = any_writes(&dice, &world.model);
                if world.store.apply(Csn(world.last() + 1), &writes).is_err() {
                    break;
                }
                let csn = world.last() + 1;
                world.model.apply(csn, &writes);
                world.log.push((csn, writes));
                world.sync(csn);
                let result =
                    if step % 4 == 3 { world.store.compact() } else { world.store.flush() };
                failed += usize::from(result.is_err());
            }
            let hit = world.disk.faults_hit();
            for (table, key) in world.model.0.keys() {
                for at in 0..=world.last() {
                    let mut value = Vec::new();
                    if world.store.get(*table, key, Csn(at), &mut value).is_ok()
                        && world.disk.faults_hit() == hit
                    {
                        world.check_read(*table, key, at);
                    }
                }
            }
            world.disk.heal();
            world = world.reopen();
            world.check_all();
            world.store.compact().expect("compacts once the disk is well");
            world.check_all();
            if hit == 0 {
                assert!(failed == 0 && nth > 20);
                break;
            }
        }
    });
}

/// A full disk stops a flush, not the reads; when there is room again the same flush succeeds without
/// reopening.
#[test]
fn a_full_disk_stops_nothing_but_the_flush() {
    let mut world = World::new(1, SimVfs::new(1), small_options());
    for i in 0..40u8 {
        world.commit_durably(vec![put(PLAIN, &[i % 7], &[i; 30])]);
        if i == 20 {
            world.store.flush().unwrap();
        }
    }
    for nth in 0..4 {
        world.disk.fail(FaultPlan {
            nth,
            kind: FaultKind::Enospc,
            once: false,
            on: OpClasses::WRITE | OpClasses::CREATE,
        });
        let full = world.store.flush();
        if nth < 3 {
            assert!(matches!(full, Err(StoreError::Io { .. })), "{full:?}");
        }
        world.commit_durably(vec![put(PLAIN, b"more", b"x")]);
        world.check_all();
        world.disk.heal();
    }
    world.store.flush().unwrap();
    assert_eq!(world.store.checkpoint().csn.0, world.last());
    world.check_all();
    let files =
        world.disk.files().into_iter().filter(|f| f.0.to_string_lossy().ends_with(".seg")).count();
    assert_eq!(files as u64, world.store.stats().segments, "failed flushes leave no files");
    world.reopen().check_all();
}

/// A failed manifest swap poisons: nobody knows which manifest a crash would find. Reads go on, the files
/// of both stay, and a reopening finds everything.
#[test]
fn a_failed_swap_poisons() {
    for on in [OpClasses::RENAME, OpClasses::SYNC_DIR] {
        let mut world = World::new(1, SimVfs::new(1), small_options());
        world.commit_durably(vec![put(PLAIN, b"k", b"one")]);
        world.store.flush().unwrap();
        world.commit_durably(vec![put(PLAIN, b"k", b"two")]);
        let nth = usize::from(on == OpClasses::SYNC_DIR);
        world.disk.fail(FaultPlan { nth, kind: FaultKind::Eio, once: true, on });
        assert!(matches!(world.store.flush(), Err(StoreError::Poisoned { .. })));
        assert!(matches!(world.store.flush(), Err(StoreError::Poisoned { .. })));
        assert!(matches!(world.store.apply(Csn(9), &[]), Err(StoreError::Poisoned { .. })));
        world.check_all();
        world.disk.heal();
        world.reopen().check_all();
    }
}

/// In an object store a put that fails may have happened. Of a segment, the flush can be tried again; of the
/// manifest, nobody knows which one counts, and the store is poisoned; an old manifest that stays harms nobody.
#[test]
fn failed_operations_on_objects() {
    for nth in 0..3 {
        let disk = ObjectDisk::<false>::new(1);
        let mut world = World::new(1, disk, small_options());
        world.commit_durably(vec![put(PLAIN, b"k", b"one")]);
        world.disk.steps.fail(nth, std::io::ErrorKind::Other);
        let flushed = world.store.flush();
        assert_eq!(world.disk.steps.faults_hit(), 1);
        world.disk.steps.heal();
        match nth {
            0 => assert!(matches!(flushed, Err(StoreError::Io { .. })), "{flushed:?}"),
            1 => assert!(matches!(flushed, Err(StoreError::Poisoned { .. })), "{flushed:?}"),
            _ => flushed.expect("the new manifest is there"),
        }
        assert_eq!(world.store.flush().is_ok(), nth != 1, "tried again after operation {nth}");
        world.check_all();
        let mut world = world.reopen();
        world.check_all();
        world.commit_durably(vec![put(PLAIN, b"k", b"two")]);
        world.store.flush().expect("flushes after the reopening");
        world.check_all();
    }
}

/// A flipped bit anywhere in segments or manifest is found by verification, and no read ever gives a wrong
/// answer for it.
#[test]
fn flipped_bits_are_found() {
    let story = tell::<SimVfs>(11, 9, |_| {});
    assert_eq!(flips(&story, 3_000), 0);
}

/// The checksums are what finds them: without them, wrong answers or undetected damage appear.
#[test]
fn without_checksums_flips_do_harm() {
    let story = tell::<SimVfs>(11, 9, |_| {});
    crate::part::switch::set_checks(false);
    let harm = flips(&story, 300);
    crate::part::switch::set_checks(true);
    assert!(harm > 0);
}

/// Flips bits, one in each copy of the disk; returns how many did harm.
fn flips(story: &Story, count: usize) -> usize {
    let dice = SimRandom::new(42);
    let end = story.world.disk.op_count();
    let files = story.world.disk.files();
    let total: u64 = files.iter().map(|f| f.1 * 8).sum();
    let harmed = (0..count).filter(|_| {
        let disk = story.world.disk.image(end, &CrashPolicy::Everything, 0);
        let mut bit = dice.below(total);
        let Some((path, _)) = files.iter().find(|f| {
            let inside = bit < f.1 * 8;
            bit -= if inside { 0 } else { f.1 * 8 };
            inside
        }) else {
            return true;
        };
        assert!(disk.flip_bit(path, bit));
        !passes(|| harmless(story, &disk))
    });
    harmed.count()
}

/// Opens a damaged disk: refused by name, or found by verification, and no answer is wrong.
fn harmless(story: &Story, disk: &SimVfs) {
    let env = Env::sim(disk, 1);
    let store = match Store::open(&env, Path::new(DIR), story.world.options.clone(), resolve()) {
        Ok(store) => store,
        Err(
            StoreError::Corrupt { file, .. }
            | StoreError::Missing { file }
            | StoreError::Version { file, .. },
        ) => {
            return assert!(file.starts_with(DIR), "the error names the file");
        }
        Err(other) => panic!("{other}"),
    };
    let report = store.verify(&mut |_, _| {}).expect("verification goes on");
    assert!(!report.problems.is_empty(), "the damage is not found");
    let covered = store.checkpoint().csn.0;
    for (i, ((table, key), _)) in story.world.model.0.iter().enumerate() {
        for at in (i as u64 % 5..=covered).step_by(5) {
            let mut value = Vec::new();
            match store.get(*table, key, Csn(at), &mut value) {
                Err(StoreError::Corrupt { .. } | StoreError::Forgotten { .. }) => {}
                Err(other) => panic!("{other}"),
                Ok(csn) => {
                    let answer = |at| {
                        let e = story.world.model.at(*table, key, at)?;
                        Some((e.csn, e.image.clone()?))
                    };
                    let got = csn.map(|csn| (csn.0, value));
                    let free = !Texts(*table).keeps_history(key) && got == answer(covered);
                    assert!(free || got == answer(at), "a wrong answer");
                }
            }
        }
    }
}
