//! Merges that keep segments, merges in ranges of keys, and merges by several threads.

use super::world::*;
use crate::*;
use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vfs::{Env, SimVfs};

/// Segments of about 8 KiB; every merge of more than 32 KiB has several ranges.
fn options() -> StoreOptions {
    StoreOptions {
        memtable_bytes: 16 << 20,
        memtable_writes: 1 << 20,
        segment_bytes: 8 << 10,
        current_block_bytes: 1 << 10,
        history_block_bytes: 1 << 10,
        merge_range_bytes: 32 << 10,
        ..small_options()
    }
}

fn noise(dice: &SimRandom, len: usize) -> Vec<u8> {
    (0..len).map(|_| dice.below(256) as u8).collect()
}

fn row(table: TableId, number: u32, dice: &SimRandom) -> Write {
    put(table, &number.to_be_bytes(), &noise(dice, 100))
}

/// A world of one run with rows of these numbers.
fn world_of(numbers: impl Iterator<Item = u32>, options: StoreOptions) -> (World, SimRandom) {
    let dice = SimRandom::new(4);
    let mut world = World::new(4, SimVfs::unrecorded(), options);
    world.commit_durably(numbers.map(|number| row(PLAIN, number, &dice)).collect());
    world.store.flush().unwrap();
    (world, dice)
}

fn files(world: &World) -> BTreeSet<PathBuf> {
    super::corners::segments(&world.disk).into_iter().collect()
}

fn check(world: &World) {
    world.check_all();
    let report = world.store.verify(&mut |_, _| {}).expect("verifies");
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// Rows with ascending keys once had the whole run in front of them written anew. Now the run keeps its files, but for
/// the last ones, and there is one run again.
#[test]
fn ascending_rows_write_no_old_segment_anew() {
    let (mut world, dice) = world_of(0..2_000, options());
    let before = files(&world);
    assert!(before.len() > 20, "{} files", before.len());
    for from in (2_000..2_400).step_by(100) {
        world.commit_durably((from..from + 100).map(|n| row(PLAIN, n, &dice)).collect());
        world.store.flush().unwrap();
    }
    world.store.maintain().unwrap();
    let stats = world.store.stats();
    assert_eq!(stats.current_runs, 1);
    assert!(stats.merge_written_bytes < 64 << 10, "{stats:?}");
    assert!(stats.merge_kept_bytes > stats.current_bytes / 2, "{stats:?}");
    let kept = files(&world).intersection(&before).count();
    assert!(kept + 2 >= before.len(), "{kept} of {} files", before.len());
    check(&world);
}

/// The commit of each row also writes to tables in front of its table and behind it, as the commits of a database do. So
/// the new runs reach over the old segments, without a key in them.
#[test]
fn runs_that_reach_over_a_segment_leave_it_alone() {
    let (mut world, dice) = world_of(0..2_000, options());
    let before = files(&world);
    for from in (2_000..2_400).step_by(100) {
        for n in from..from + 100 {
            world.commit_durably(vec![
                row(EAGER, n, &dice),
                row(PLAIN, n, &dice),
                row(PAGES, n, &dice),
            ]);
        }
        world.store.flush().unwrap();
    }
    world.store.maintain().unwrap();
    assert_eq!(world.store.stats().current_runs, 1);
    let kept = files(&world).intersection(&before).count();
    assert!(kept + 2 >= before.len(), "{kept} of {} files", before.len());
    assert!(world.store.verify(&mut |_, _| {}).unwrap().problems.is_empty());
    for n in (0..2_400_u32).step_by(37) {
        world.check_read(PLAIN, &n.to_be_bytes(), u64::MAX);
        world.check_read(EAGER, &n.to_be_bytes(), u64::MAX);
    }
    world.check_scan(PLAIN, (Bound::Unbounded, Bound::Unbounded), u64::MAX, false, None);
}

/// Updates of the rows of one tenth write the segments of that tenth anew, in both halves.
#[test]
fn updates_of_one_tenth_write_one_tenth() {
    let (mut world, dice) = world_of(0..3_000, options());
    // Every row has a past.
    world.commit_durably((0..3_000).map(|n| row(PLAIN, n, &dice)).collect());
    world.store.flush().unwrap();
    world.store.compact().unwrap();
    let (before, stats) = (files(&world), world.store.stats());
    for _ in 0..2 {
        world.commit_durably((1_000..1_300).map(|n| row(PLAIN, n, &dice)).collect());
        world.store.flush().unwrap();
    }
    world.store.compact().unwrap();
    let after = world.store.stats();
    assert_eq!((after.current_runs, after.history_runs), (1, 1));
    let written = after.merge_written_bytes - stats.merge_written_bytes;
    assert!(written < (stats.current_bytes + stats.history_bytes) / 3, "{after:?}");
    let kept = files(&world).intersection(&before).count();
    assert!(kept * 10 > before.len() * 8, "{kept} of {} files", before.len());
    check(&world);
}

/// Small segments next to each other are joined: a table that grows a little with each flush does not end as thousands
/// of files. Each byte is still written a few times only.
#[test]
fn small_segments_are_joined() {
    let (mut world, dice) = world_of(0..10, options());
    for from in (10..4_000).step_by(10) {
        world.commit_durably((from..from + 10).map(|n| row(PLAIN, n, &dice)).collect());
        world.store.flush().unwrap();
        world.store.maintain().unwrap();
    }
    let stats = world.store.stats();
    assert!(stats.current_runs < 12, "{stats:?}");
    assert!(stats.segments < 4 * stats.current_bytes / (8 << 10), "{stats:?}");
    assert!(stats.merge_written_bytes < 3 * stats.current_bytes, "{stats:?}");
}

/// Two tables with a past, one without; updates and deletions of a third of all keys.
fn changed_world(options: StoreOptions) -> World {
    let dice = SimRandom::new(9);
    let mut world = World::new(9, SimVfs::unrecorded(), options);
    let tables = [PLAIN, BRIEF, COLUMNS];
    let all = |world: &mut World, step: usize, dice: &SimRandom| {
        for table in tables {
            let writes = (0..60_u32).step_by(step).map(|n| {
                let live = world.model.is_live(table, &n.to_be_bytes());
                match dice.below(4) {
                    0 if live && step > 1 => delete(table, &n.to_be_bytes()),
                    1 if live => delta(table, &n.to_be_bytes(), &noise(dice, 9)),
                    _ => put(table, &n.to_be_bytes(), &noise(dice, 30)),
                }
            });
            let writes: Vec<Write> = writes.collect();
            world.commit_durably(writes);
        }
    };
    all(&mut world, 1, &dice);
    for _ in 0..4 {
        world.store.flush().unwrap();
        all(&mut world, 3, &dice);
    }
    // One key with a past of many segments.
    for _ in 0..12 {
        world.commit_durably(vec![put(PLAIN, &30_u32.to_be_bytes(), &noise(&dice, 90))]);
    }
    world.store.flush().unwrap();
    world
}

/// Small enough that there are many segments and ranges of few keys.
fn tiny_options() -> StoreOptions {
    StoreOptions {
        memtable_bytes: 1 << 20,
        segment_bytes: 400,
        current_block_bytes: 100,
        history_block_bytes: 100,
        merge_range_bytes: 700,
        ..small_options()
    }
}

/// A compaction is cancelled at each look at whether to go on: between ranges and within them. The store then gives
/// right answers at every commit, also after a reopening. The next compaction ends what this one began, and the tombstones are
/// gone. No file is left over.
#[test]
fn a_compaction_may_be_cancelled_anywhere() {
    let mut ranges = BTreeSet::new();
    for stop in 0.. {
        let mut world = changed_world(tiny_options());
        let mut looks = 0;
        let mut progress = |_, _| {
            looks += 1;
            if looks > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        world.store.compact_with(&mut progress).unwrap();
        let is_whole = looks <= stop;
        ranges.insert(world.store.stats().merge_written_bytes);
        assert_eq!(files(&world).len() as u64, world.store.stats().segments);
        if stop % 9 == 0 || is_whole {
            check(&world);
            world = world.reopen();
            check(&world);
            world.store.compact().unwrap();
            assert_eq!(files(&world).len() as u64, world.store.stats().segments);
            check(&world);
            let stats = world.store.stats();
            let live: usize =
                world.model.0.keys().filter(|k| world.model.is_live(k.0, &k.1)).count();
            assert_eq!((stats.current_entries, stats.current_runs), (live as u64, 1));
            assert_eq!(world.store.horizon(BRIEF), Csn(world.last()));
        }
        if is_whole {
            break;
        }
    }
    assert!(ranges.len() > 10, "{} ranges", ranges.len());
}

/// A merge that was stopped in the middle once began again with the first key. Now the ranges that it has merged are not
/// read again.
#[test]
fn a_stopped_merge_goes_on_where_it_was() {
    let world = || {
        let (mut world, dice) = world_of(0..4_000, options());
        let updates = (0..4_000).filter(|n| dice.below(4) + u64::from(n % 2) < 2);
        let updates: Vec<Write> = updates.map(|n| row(PLAIN, n, &dice)).collect();
        world.commit_durably(updates);
        world.store.flush().unwrap();
        world
    };
    let whole = world();
    whole.store.compact().unwrap();
    let whole = whole.store.stats();
    let stopped = world();
    let mut progress = |done, total| match done * 10 < total * 7 {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    stopped.store.compact_with(&mut progress).unwrap();
    let before = stopped.store.stats();
    assert!(before.merge_read_bytes > whole.merge_read_bytes / 2, "{before:?}");
    assert_eq!(before.current_runs, 2);
    let again = stopped.reopen();
    again.store.compact().unwrap();
    let after = again.store.stats();
    assert_eq!(after.current_runs, 1);
    assert!(after.merge_read_bytes < whole.merge_read_bytes / 2, "{after:?} of {whole:?}");
    // Segments that reach over a cut are read and written a second time, and no others.
    let (read, written) = (
        before.merge_read_bytes + after.merge_read_bytes,
        before.merge_written_bytes + after.merge_written_bytes,
    );
    assert!(read < whole.merge_read_bytes * 5 / 4, "{read} of {whole:?}");
    assert!(written < whole.merge_written_bytes * 5 / 4, "{written} of {whole:?}");
    assert_eq!(after.current_entries, whole.current_entries);
    assert!(again.store.verify(&mut |_, _| {}).unwrap().problems.is_empty());
}

/// A merge once held all files that it read until its end, so the disk needed room for everything twice. Now the files of
/// a range go with it.
#[test]
fn a_merge_needs_room_for_a_range_only() {
    let (mut world, dice) = world_of(0..4_000, options());
    world.commit_durably((0..4_000).map(|n| row(PLAIN, n, &dice)).collect());
    world.store.flush().unwrap();
    let bytes = |world: &World| -> u64 {
        world.disk.files().iter().filter(|f| f.0.extension().is_some()).map(|f| f.1).sum()
    };
    let (before, mut most) = (bytes(&world), 0);
    let mut progress = |_, _| {
        most = most.max(bytes(&world));
        ControlFlow::Continue(())
    };
    let history = world.store.stats().history_bytes;
    world.store.compact_with(&mut progress).unwrap();
    assert!(bytes(&world) < before && history < before / 2);
    assert!(most < before + (128 << 10), "{most} bytes at most, {before} before");
}

/// Several threads merge a range, and what comes out is what one thread makes.
#[test]
fn several_threads_merge_what_one_does() {
    let merged = |merge_threads, merge_range_bytes| {
        let world =
            changed_world(StoreOptions { merge_threads, merge_range_bytes, ..tiny_options() });
        world.store.compact().unwrap();
        check(&world);
        let stats = world.store.stats();
        (stats.current_entries, stats.history_entries, world.store.horizon(BRIEF))
    };
    let one = merged(1, 1 << 20);
    for (threads, bytes) in [(3, 1 << 20), (5, 3_000), (2, 1)] {
        assert_eq!(merged(threads, bytes), one);
    }
}

/// A key of a table that tells of commits goes with the history of its commit, though no other run touches its segment,
/// and though it is one of a thousand. Its neighbours stay.
#[test]
fn what_tells_of_forgotten_commits_goes_from_untouched_segments() {
    struct Telling;
    const TELLING: TableId = TableId(3);
    impl Table for Telling {
        fn merge(
            &self,
            _key: &[u8],
            _base_csn: Csn,
            _base: &[u8],
            _deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
            _out: &mut Vec<u8>,
        ) -> Result<(), MergeError> {
            Err(MergeError::new("nothing changes"))
        }
        fn tells_of(&self, key: &[u8]) -> Option<(TableId, Csn)> {
            let table = if key.ends_with(&[0xf4, 1]) { BRIEF } else { PLAIN };
            (key.len() == 4).then_some((table, Csn(1)))
        }
    }
    let resolve: Resolve = Arc::new(|id| match id {
        TELLING => Arc::new(Telling) as Arc<dyn Table>,
        id => Arc::new(Texts(id)),
    });
    let env = Env::sim(&SimVfs::unrecorded(), 1);
    let store = Store::open(&env, Path::new(DIR), options(), resolve).unwrap();
    let dice = SimRandom::new(1);
    let mut telling: Vec<Write> = (0..1_000_u32)
        .map(|n| put(TELLING, &[0, 0, n as u8, (n >> 8) as u8], &noise(&dice, 40)))
        .collect();
    telling.push(put(TELLING, b"", b"tells of none"));
    for (csn, writes) in [(1, telling), (2, vec![put(BRIEF, b"k", b"v")])] {
        store.apply(Csn(csn), &writes).unwrap();
        store.set_durable(Csn(csn), Vec::new);
        store.flush().unwrap();
    }
    store.compact().unwrap();
    let stats = store.stats();
    assert_eq!((stats.current_entries, stats.current_runs), (1_001, 1));
    assert!(stats.merge_kept_bytes > stats.current_bytes / 2, "{stats:?}");
    assert_eq!((store.horizon(BRIEF), store.horizon(PLAIN)), (Csn(2), Csn(0)));
}
