//! Random histories against the model.

use super::world::*;
use crate::*;
use std::ops::Bound;
use vfs::SimVfs;

const KEYS: [&[u8]; 12] = [
    b"",
    b"a",
    b"aa",
    b"ab",
    b"b\0",
    b"b",
    b"customer/0001",
    b"customer/0002",
    b"p",
    b"p/1",
    b"z",
    b"zz\xff",
];

fn any_key(dice: &SimRandom) -> Vec<u8> {
    // A few keys are hot, so that long chains grow.
    let n = if dice.chance(50, 100) { 3 } else { KEYS.len() as u64 };
    KEYS[dice.below(n) as usize].to_vec()
}

pub fn any_writes(dice: &SimRandom, model: &Model) -> Vec<Write> {
    let mut writes: Vec<Write> = Vec::new();
    for _ in 0..=dice.below(4) {
        let (table, key) = (TABLES[dice.below(5) as usize], any_key(dice));
        if writes.iter().any(|w| (w.table, &w.key) == (table, &key)) {
            continue;
        }
        let live = model.is_live(table, &key);
        if dice.chance(6, 100) {
            writes.extend(any_erasure(dice, model, table, &key));
            continue;
        }
        let bytes: Vec<u8> = (0..dice.below(12)).map(|_| b'a' + dice.below(26) as u8).collect();
        writes.push(match dice.below(10) {
            0 if live => delete(table, &key),
            1..7 if live => delta(table, &key, &bytes),
            _ => put(table, &key, &bytes),
        });
    }
    writes
}

/// Erases all of a key, or a stretch of it that begins with a whole value and ends before another or
/// before a deletion.
fn any_erasure(dice: &SimRandom, model: &Model, table: TableId, key: &[u8]) -> Vec<Write> {
    let anchors: Vec<u64> = match model.0.get(&(table, key.to_vec())) {
        Some(events) => events.iter().filter(|e| e.kind != Kind::Delta).map(|e| e.csn).collect(),
        None => Vec::new(),
    };
    if anchors.len() > 2 && dice.chance(50, 100) {
        let first = dice.below(anchors.len() as u64 - 1) as usize;
        let last = first + 1 + dice.below((anchors.len() - first) as u64 - 1) as usize;
        return vec![erase(table, key, anchors[first], Some(anchors[last]))];
    }
    let mut writes = vec![erase(table, key, 0, None)];
    match dice.below(3) {
        0 => writes.push(put(table, key, b"afterwards")),
        _ if model.is_live(table, key) => writes.push(delete(table, key)),
        _ => {}
    }
    writes
}

fn any_bound(dice: &SimRandom) -> Bound<Vec<u8>> {
    match dice.below(4) {
        0 => Bound::Included(any_key(dice)),
        1 => Bound::Excluded(any_key(dice)),
        _ => Bound::Unbounded,
    }
}

fn any_options(dice: &SimRandom) -> StoreOptions {
    StoreOptions {
        cache_bytes: [0, 2_000, 1 << 20][dice.below(3) as usize],
        memtable_bytes: [200, 2_000][dice.below(2) as usize],
        memtable_writes: [10, 1_000][dice.below(2) as usize],
        segment_bytes: [1, 300, 1 << 20][dice.below(3) as usize],
        current_block_bytes: [1, 100, 4096][dice.below(3) as usize],
        history_block_bytes: [1, 100, 4096][dice.below(3) as usize],
        merge_range_bytes: [1, 500, 1 << 20][dice.below(3) as usize],
        merge_threads: [1, 1, 1, 3][dice.below(4) as usize],
        ..small_options()
    }
}

fn step<M: Medium>(world: &mut World<M>, dice: &SimRandom, holds: &mut Vec<Hold>) {
    let at = match dice.below(3) {
        0 => u64::MAX,
        1 => world.last(),
        _ => dice.below(world.last() + 2),
    };
    let (table, key) = (TABLES[dice.below(5) as usize], any_key(dice));
    match dice.below(100) {
        0..45 => {
            let writes = any_writes(dice, &world.model);
            match dice.below(4) {
                0 => world.commit_late(writes),
                _ => world.commit(writes),
            };
            if dice.chance(80, 100) {
                let csn = world.last() - dice.below(3).min(world.last() - 1);
                world.sync(csn);
            }
        }
        45..62 => world.check_read(table, &key, at),
        62..70 => {
            let seek = dice.chance(50, 100).then(|| any_key(dice));
            world.check_scan(
                table,
                (any_bound(dice), any_bound(dice)),
                at,
                dice.chance(50, 100),
                seek.as_deref(),
            );
        }
        70..76 => world.check_versions(table, &key, dice.below(world.last() + 2), at),
        76..80 => world.check_latest(table, &key),
        80..88 => world.store.flush().expect("a flush succeeds"),
        88..91 => world.store.maintain().expect("maintenance succeeds"),
        91..93 => world.store.compact().expect("a compaction succeeds"),
        93..94 => world.store.scrub().expect("scrubbing succeeds"),
        94..96 => holds.push(world.store.hold(Csn(at.min(world.last())))),
        96..98 => holds.clear(),
        _ => {
            world.store.shared.freeze();
        }
    }
}

fn case<M: Medium>(seed: u64, disk: M) {
    let dice = SimRandom::new(seed);
    let options = any_options(&dice);
    let mut world = World::new(seed, disk, options);
    let mut holds = Vec::new();
    for _ in 0..50 {
        if dice.chance(3, 100) {
            holds.clear();
            world = world.reopen();
        } else {
            step(&mut world, &dice, &mut holds);
        }
    }
    if seed.is_multiple_of(8) {
        world.check_all();
        let report = world.store.verify(&mut |_, _| {}).expect("verifies");
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}

/// Whatever is written, flushed, merged, held, forgotten and reopened, every read gives what a plain list
/// of events gives.
#[test]
fn agrees_with_a_list_of_events() {
    seeds(1, 20_000, |seed| case(seed, SimVfs::unrecorded()));
}

/// The same of segments in an object store.
#[test]
fn agrees_with_a_list_of_events_on_objects_in_memory() {
    seeds(1, 2_000, |seed| case(seed, ObjectDisk::<false>::new(seed)));
}

/// The same, with objects that are files.
#[test]
fn agrees_with_a_list_of_events_on_local_objects() {
    seeds(1, 100, |seed| case(seed, ObjectDisk::<true>::new(seed)));
}

/// The generator reaches deep states: many runs in both halves, long chains, deletions undone, blocks of
/// columns that a scan takes as a whole.
#[test]
fn the_generator_reaches_deep_states() {
    let dice = SimRandom::new(77);
    let mut deepest = StoreStats::default();
    for seed in 0..60 {
        let mut world = World::new(seed, SimVfs::unrecorded(), any_options(&dice));
        for _ in 0..200 {
            step(&mut world, &dice, &mut Vec::new());
            let now = world.store.stats();
            deepest.history_runs = deepest.history_runs.max(now.history_runs);
            deepest.current_runs = deepest.current_runs.max(now.current_runs);
            deepest.segments = deepest.segments.max(now.segments);
            deepest.frozen_memtables = deepest.frozen_memtables.max(now.frozen_memtables);
            deepest.compactions = deepest.compactions.max(now.compactions);
        }
        world.check_all();
    }
    let deep = deepest.history_runs >= 4
        && deepest.current_runs >= 4
        && deepest.segments >= 30
        && deepest.frozen_memtables >= 3
        && deepest.compactions >= 5;
    assert!(deep, "{deepest:?}");
    let blocks = COLUMN_BLOCKS.with(|count| count.get());
    assert!(blocks > 200, "scans have taken {blocks} blocks of columns");
    let split = SPLIT_SCANS.with(|count| count.get());
    assert!(split > 200, "{split} scans were taken apart");
}
