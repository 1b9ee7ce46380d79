//! Each rule on its own.

use super::model::any_writes;
use super::world::*;
use crate::segment_store::MANIFEST;
use crate::*;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vfs::{Env, OpKind, OpRecord, OpenMode, SimVfs};

fn world() -> World {
    World::new(1, SimVfs::unrecorded(), small_options())
}

pub fn segments(disk: &SimVfs) -> Vec<PathBuf> {
    disk.files()
        .into_iter()
        .map(|f| f.0)
        .filter(|p| p.extension().is_some_and(|e| e == "seg"))
        .collect()
}

fn keys(scan: Scan) -> Vec<Vec<u8>> {
    scan.map(|item| item.expect("scans succeed").0).collect()
}

const ALL: (Bound<Vec<u8>>, Bound<Vec<u8>>) = (Bound::Unbounded, Bound::Unbounded);

/// A key that is deleted and put again has all three states at their commits, before and after a flush.
#[test]
fn deleted_and_put_again() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"k", b"one")]);
    world.commit_durably(vec![delete(PLAIN, b"k")]);
    world.commit_durably(vec![put(PLAIN, b"k", b"two")]);
    world.check_all();
    world.store.flush().unwrap();
    world.check_all();
    world.commit_durably(vec![delete(PLAIN, b"k")]);
    world.store.flush().unwrap();
    world.store.compact().unwrap();
    world.check_all();
    world.reopen().check_all();
}

/// A delta right after a flush stands on the image in the current runs, whatever lies between.
#[test]
fn a_delta_after_a_flush_finds_its_base() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"k", b"base")]);
    world.store.flush().unwrap();
    world.commit_durably(vec![delta(PLAIN, b"k", b"+1")]);
    world.store.shared.freeze();
    world.commit_durably(vec![delta(PLAIN, b"k", b"+2")]);
    let now = world.store.read(PLAIN, b"k", Csn::MAX).unwrap().unwrap();
    assert_eq!(
        (now.base(), now.base_csn(), now.csn(), now.delta_count()),
        (&b"base"[..], Csn(1), Csn(3), 2)
    );
    let forth: Vec<_> = now.deltas().map(|d| d.0.0).collect();
    let back: Vec<_> = now.deltas().rev().map(|d| d.0.0).collect();
    assert_eq!((forth, back), (vec![2, 3], vec![3, 2]));
    world.check_all();
    world.store.flush().unwrap();
    world.check_all();
}

/// A delta without a live version is refused: at once if the memtable shows it, else by the first
/// reader.
#[test]
fn a_delta_on_nothing_is_loud() {
    let store = world().store;
    store.apply(Csn(1), &[delete(PLAIN, b"k")]).unwrap();
    assert!(matches!(
        store.apply(Csn(2), &[delta(PLAIN, b"k", b"x")]),
        Err(StoreError::Poisoned { .. })
    ));
    let store = world().store;
    store.apply(Csn(1), &[delta(PLAIN, b"k", b"x")]).unwrap();
    assert!(matches!(
        store.read(PLAIN, b"k", Csn::MAX),
        Err(StoreError::NoBase { csn: Csn(1), .. })
    ));
    store.set_durable(Csn(1), Vec::new);
    assert!(matches!(store.flush(), Err(StoreError::NoBase { .. })));
}

/// Of a key without history only the newest image survives a flush; an older reader gets it too.
#[test]
fn keys_without_history_keep_the_newest_image() {
    let mut world = world();
    world.commit_durably(vec![put(PAGES, b"p", b"1"), put(PAGES, b"other", b"1")]);
    world.commit_durably(vec![delta(PAGES, b"p", b"2"), put(PAGES, b"other", b"2")]);
    world.store.flush().unwrap();
    world.commit_durably(vec![delta(PAGES, b"p", b"3")]);
    let read = |at| {
        let mut value = Vec::new();
        world.store.get(PAGES, b"p", Csn(at), &mut value).unwrap().map(|csn| (csn.0, value))
    };
    assert_eq!(read(2), Some((2, b"12\x02".to_vec())), "the newest at or below");
    assert_eq!(read(1), read(3), "else the newest there is");
    assert_eq!(world.store.stats().history_entries, 1, "only the other key has a past");
    let mut seen = Vec::new();
    let visit = |v: Version<'_>| {
        seen.push((v.csn.0, v.kind));
        ControlFlow::Continue(())
    };
    world.store.versions(PAGES, b"p", Csn(0), Csn::MAX, visit).unwrap();
    assert_eq!(seen, [(2, Kind::Put), (3, Kind::Delta)]);
    world.check_all();
}

/// Tables do not see each other's keys, and nothing is there before its first commit.
#[test]
fn tables_are_apart_and_nothing_is_there_before_its_time() {
    let mut world = world();
    world.commit_durably(vec![put(EAGER, b"\xff", b"1")]);
    world.commit_durably(vec![put(PLAIN, b"", b"2"), put(TableId(u32::MAX), b"z", b"3")]);
    for _ in 0..2 {
        let scan = |table, at| keys(world.store.scan(table, ALL.0, ALL.1, Csn(at), false));
        assert_eq!(scan(EAGER, 2), [b"\xff"]);
        assert_eq!(scan(PLAIN, 2), [b""]);
        assert_eq!(keys(world.store.scan(TableId(u32::MAX), ALL.0, ALL.1, Csn::MAX, true)), [b"z"]);
        assert!(scan(PLAIN, 1).is_empty() && scan(EAGER, 0).is_empty());
        assert!(world.store.read(PLAIN, b"", Csn(1)).unwrap().is_none());
        world.store.flush().unwrap();
    }
}

/// A key deleted now but alive then is scanned then, from memtables, runs and compacted runs alike.
#[test]
fn what_is_deleted_now_was_alive_then() {
    let mut world = world();
    for i in 0..9u8 {
        world.commit_durably(vec![put(PLAIN, &[b'a' + i], b"x")]);
    }
    world.store.flush().unwrap();
    for i in (0..9u8).step_by(2) {
        world.commit_durably(vec![delete(PLAIN, &[b'a' + i])]);
    }
    for round in 0..3 {
        let scan = |at, reverse| keys(world.store.scan(PLAIN, ALL.0, ALL.1, Csn(at), reverse));
        assert_eq!(scan(9, false).len(), 9, "round {round}");
        assert_eq!(scan(14, true), [b"h", b"f", b"d", b"b"]);
        let mut sought = world.store.scan(PLAIN, ALL.0, ALL.1, Csn(9), true);
        sought.seek(b"e");
        assert_eq!(sought.next().unwrap().unwrap().0, b"e");
        sought.seek(b"g");
        assert_eq!(sought.next().unwrap().unwrap().0, b"d", "a seek never goes back");
        if round == 0 { world.store.flush().unwrap() } else { world.store.compact().unwrap() }
    }
    assert_eq!(world.store.stats().current_entries, 4, "tombstones go at the bottom");
}

/// A hold keeps its state through compaction; without it, retention forgets, and says so.
#[test]
fn holds_keep_what_retention_would_drop() {
    let mut world = world();
    for i in 0..10u8 {
        world.commit_durably(vec![put(BRIEF, b"k", &[i]), put(PLAIN, b"k", &[i])]);
    }
    let hold = world.store.hold(Csn(4));
    world.store.compact().unwrap();
    assert_eq!((hold.csn(), world.store.horizon(BRIEF)), (Csn(4), Csn(4)));
    for at in 4..=10 {
        assert_eq!(world.store.read(BRIEF, b"k", Csn(at)).unwrap().unwrap().base(), [at as u8 - 1]);
    }
    let forgotten = |result: Result<_, StoreError>| {
        matches!(result, Err(StoreError::Forgotten { at: Csn(3), .. }))
    };
    assert!(forgotten(world.store.read(BRIEF, b"k", Csn(3)).map(|_| ())));
    assert!(forgotten(
        world.store.scan(BRIEF, ALL.0, ALL.1, Csn(3), false).next().unwrap().map(|_| ())
    ));
    drop(hold);
    world.store.compact().unwrap();
    assert_eq!(world.store.horizon(BRIEF), Csn(10));
    assert_eq!(world.store.horizon(PLAIN), Csn(0), "other tables keep everything");
    world.check_all();
    world.reopen().check_all();
}

/// Retention by age asks the caller which commit a time means, and keeps the state current at that time.
#[test]
fn retention_by_age() {
    struct Aged;
    impl Table for Aged {
        fn merge(
            &self,
            key: &[u8],
            base_csn: Csn,
            base: &[u8],
            deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
            out: &mut Vec<u8>,
        ) -> Result<(), MergeError> {
            Texts(PLAIN).merge(key, base_csn, base, deltas, out)
        }
        fn retention(&self) -> Retention {
            Retention::Since(1_000)
        }
    }
    let disk = SimVfs::unrecorded();
    let env = Env::sim(&disk, 1);
    let store =
        Store::open(&env, Path::new(DIR), small_options(), Arc::new(|_| Arc::new(Aged))).unwrap();
    store.apply(Csn(1), &[put(PLAIN, b"k", b"a")]).unwrap();
    (2..=20).for_each(|csn| store.apply(Csn(csn), &[delta(PLAIN, b"k", b"d")]).unwrap());
    store.set_durable(Csn(20), Vec::new);
    store.compact().unwrap();
    assert_eq!(store.horizon(PLAIN), Csn(0), "without a clock everything stays");
    store.set_time_floor(Arc::new(|_| Csn(12)));
    let before =
        store.read(PLAIN, b"k", Csn(12)).unwrap().unwrap().image(&Aged, b"k").unwrap().into_owned();
    store.compact().unwrap();
    assert_eq!(store.horizon(PLAIN), Csn(12));
    let after = store.read(PLAIN, b"k", Csn(12)).unwrap().unwrap();
    assert!(after.is_image() && after.base() == before, "the state at the horizon is whole");
    let mut seen = Vec::new();
    let visit = |v: Version<'_>| {
        seen.push((v.csn.0, v.kind));
        if v.csn.0 < 14 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    store.versions(PLAIN, b"k", Csn(0), Csn::MAX, visit).unwrap();
    assert_eq!(
        seen,
        [(12, Kind::Put), (13, Kind::Delta), (14, Kind::Delta)],
        "the past begins with a Put"
    );
}

/// A table whose retention and end are set from outside.
struct Ending {
    retention: Mutex<Retention>,
    ended: AtomicU64,
}

impl Ending {
    fn new() -> Arc<Ending> {
        Arc::new(Ending { retention: Mutex::new(Retention::Forever), ended: AtomicU64::new(0) })
    }
    fn store(self: &Arc<Ending>) -> Store {
        let known = Arc::clone(self);
        let resolve: Resolve = Arc::new(move |id| match id {
            TableId(5) => Arc::clone(&known) as Arc<dyn Table>,
            id => Arc::new(Texts(id)),
        });
        let env = Env::sim(&SimVfs::unrecorded(), 1);
        Store::open(&env, Path::new(DIR), small_options(), resolve).unwrap()
    }
}

impl Table for Ending {
    fn merge(
        &self,
        key: &[u8],
        base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        Texts(PLAIN).merge(key, base_csn, base, deltas, out)
    }
    fn retention(&self) -> Retention {
        *self.retention.lock()
    }
    fn ended(&self) -> Option<Csn> {
        Some(self.ended.load(Ordering::Relaxed)).filter(|csn| *csn > 0).map(Csn)
    }
}

/// A table that was dropped stays readable below its end as long as its retention says; then a
/// compaction takes all of it away, current and history, and its neighbours stay as they are.
#[test]
fn an_ended_table_goes_when_its_past_may() {
    let ending = Ending::new();
    let store = ending.store();
    for csn in 1..=40u64 {
        let key = [b'a' + (csn % 10) as u8];
        let writes: Vec<Write> =
            [4, 5, 6].map(|id| put(TableId(id), &key, &csn.to_be_bytes())).into();
        store.apply(Csn(csn), &writes).unwrap();
        store.set_durable(Csn(csn), Vec::new);
        if csn % 9 == 0 {
            store.flush().unwrap();
        }
    }
    store.apply(Csn(41), &[put(PLAIN, b"k", b"the drop")]).unwrap();
    store.set_durable(Csn(41), Vec::new);
    ending.ended.store(41, Ordering::Relaxed);
    store.compact().unwrap();
    let count = |id, at| {
        store
            .scan(TableId(id), ALL.0, ALL.1, Csn(at), false)
            .map(|row| row.map(drop))
            .collect::<Result<Vec<_>, _>>()
            .map(|rows| rows.len())
    };
    assert_eq!((count(5, 40).unwrap(), count(5, 7).unwrap()), (10, 7), "its past is kept");
    let before = store.stats();

    let hold = store.hold(Csn(20));
    *ending.retention.lock() = Retention::None;
    store.compact().unwrap();
    assert_eq!(count(5, 20).unwrap(), 10, "as long as somebody reads it");
    drop(hold);
    store.compact().unwrap();
    assert!(matches!(count(5, 40), Err(StoreError::Forgotten { .. })));
    let after = store.stats();
    assert_eq!(after.current_entries, before.current_entries - 10);
    assert_eq!(after.history_entries, before.history_entries / 3 * 2);
    for id in [4, 6] {
        assert_eq!((count(id, 40).unwrap(), count(id, 7).unwrap()), (10, 7));
    }
    assert!(store.verify(&mut |_, _| {}).unwrap().problems.is_empty());
}

/// A merge that knows of a shorter history drops a change because its image is current; a flush that did
/// not know of it would at the same time replace that image and leave it out of history, and the state
/// between the two would be nowhere. So a flush under `Unsettled` keeps the image.
#[test]
fn an_unsettled_retention_keeps_the_image_too() {
    let entries = |retention| {
        let ending = Ending::new();
        *ending.retention.lock() = retention;
        let store = ending.store();
        let id = TableId(5);
        for writes in [put(id, b"k", b"1"), delta(id, b"k", b"2"), put(id, b"k", b"3")] {
            let csn = Csn(store.checkpoint().csn.0 + 1);
            store.apply(csn, &[writes]).unwrap();
            store.set_durable(csn, Vec::new);
            store.flush().unwrap();
        }
        store.after_flush();
        store.stats().history_entries
    };
    assert_eq!(entries(Retention::Forever), 2, "the put and the delta");
    assert_eq!(entries(Retention::Unsettled), 3, "and the image of both");
}

/// A flush writes what is durable and keeps the rest in memory; a crash then loses only the rest.
#[test]
fn nothing_above_the_durable_commit_is_written() {
    let mut world = world();
    for i in 0..10u8 {
        world.commit(vec![put(PLAIN, b"k", &[i]), put(PLAIN, &[i], b"x")]);
    }
    world.store.flush().unwrap();
    assert_eq!(world.store.checkpoint(), Checkpoint::default());
    world.sync(6);
    world.store.flush().unwrap();
    assert_eq!(world.store.checkpoint().csn, Csn(6));
    world.check_all();
    let world = world.reopen();
    assert_eq!(world.last(), 6);
    world.check_all();
}

/// Commits come in order, above the checkpoint, and within the limits.
#[test]
fn apply_refuses_what_it_must() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"k", b"v")]);
    world.store.flush().unwrap();
    let world = world.reopen();
    assert!(matches!(world.store.apply(Csn(1), &[]), Err(StoreError::Order { last: Csn(1), .. })));
    assert!(matches!(world.store.apply(Csn::MAX, &[]), Err(StoreError::Order { .. })));
    let long = put(PLAIN, &vec![0; 65_001], b"");
    assert!(matches!(
        world.store.apply(Csn(2), &[long]),
        Err(StoreError::TooLarge { key: 65_001, .. })
    ));
    world.store.apply(Csn(2), &[put(PLAIN, &vec![7; 65_000], b"long key")]).unwrap();
    world.store.set_durable(Csn(2), Vec::new);
    world.store.flush().unwrap();
    assert_eq!(world.store.latest(PLAIN, &vec![7; 65_000]).unwrap(), Some(Csn(2)));
}

/// Two changes of one key in one commit: the last one is the state, and both are visited.
#[test]
fn one_commit_may_change_a_key_twice() {
    let mut world = world();
    world.commit_durably(vec![
        put(PLAIN, b"k", b"a"),
        delta(PLAIN, b"k", b"b"),
        delta(PLAIN, b"k", b"c"),
    ]);
    for _ in 0..3 {
        world.check_all();
        world.store.compact().unwrap();
        world.commit_durably((0..150).map(|i| put(PLAIN, b"k", &[i])).collect());
    }
    world.check_all();
}

/// A file that no manifest names is removed at opening; one that is named and missing, or a missing
/// manifest, or one of a newer format, is refused by name.
#[test]
fn leftovers_and_missing_files() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"k", b"v")]);
    world.store.flush().unwrap();
    let (disk, env) = (world.disk.clone(), world.env.clone());
    let open = || Store::open(&env, Path::new(DIR), small_options(), resolve());
    let orphan = Path::new(DIR).join("0000000009-0123456789abcdef.seg");
    env.fs.open(&orphan, OpenMode::CreateNew).unwrap().write_all_at(b"half a segment", 0).unwrap();
    drop(world);
    drop(open().unwrap());
    assert!(disk.content(&orphan).is_none());

    let manifest = Path::new(DIR).join(MANIFEST);
    let good = disk.content(&manifest).unwrap();
    let replace = |bytes: &[u8]| {
        env.fs.remove(&manifest).unwrap();
        env.fs.open(&manifest, OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
    };
    let mut newer = good.clone();
    newer[8] = 9;
    let body = newer.len() - 4;
    let crc = crc32c::crc32c(&newer[..body]);
    newer[body..].copy_from_slice(&crc.to_le_bytes());
    replace(&newer);
    assert!(matches!(open(), Err(StoreError::Version { found: 9, .. })));
    env.fs.remove(&manifest).unwrap();
    assert!(matches!(open(), Err(StoreError::Missing { file }) if file.ends_with(MANIFEST)));
    env.fs.open(&manifest, OpenMode::CreateNew).unwrap().write_all_at(&good, 0).unwrap();
    let segment = segments(&disk).remove(0);
    env.fs.remove(&segment).unwrap();
    assert!(matches!(open(), Err(StoreError::Missing { file }) if Path::new(&file) == segment));
}

/// Files that a merge replaced stay while a scan or a backup reads them, and go with the last of these.
#[test]
fn files_stay_while_they_are_read() {
    let mut world = world();
    for i in 0..20u8 {
        world.commit_durably(vec![put(PLAIN, &[i], &[i; 50])]);
        world.store.flush().unwrap();
    }
    let before = segments(&world.disk);
    let mut scan = world.store.scan(PLAIN, ALL.0, ALL.1, Csn(20), false);
    let files = world.store.files();
    scan.next().unwrap().unwrap();
    world.store.compact().unwrap();
    assert!(before.iter().all(|p| world.disk.content(p).is_some()), "pinned");
    assert_eq!(scan.count(), 19);
    assert_eq!(files.segments().count(), before.len());
    drop(files);
    assert!(before.iter().all(|p| world.disk.content(p).is_none()), "gone with the last reader");
    assert_eq!(segments(&world.disk).len(), 1);
}

/// A copy of the pinned files is a store with everything up to the checkpoint.
#[test]
fn pinned_files_are_a_backup() {
    let mut world = world();
    let dice = SimRandom::new(3);
    for i in 0..30 {
        let writes = any_writes(&dice, &world.model);
        world.commit_durably(writes);
        if i % 7 == 0 {
            world.store.flush().unwrap();
        }
    }
    let files = world.store.files();
    let env = Env::sim(&SimVfs::unrecorded(), 2);
    env.fs.create_dir_all(Path::new(DIR)).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        env.fs
            .open(&Path::new(DIR).join(name), OpenMode::CreateNew)
            .unwrap()
            .write_all_at(bytes, 0)
            .unwrap();
    };
    for (name, len) in files.segments() {
        let bytes = world.disk.content(Path::new(DIR).join(&name)).unwrap();
        assert_eq!(bytes.len() as u64, len);
        write(&name, &bytes);
    }
    write(files.manifest().0, files.manifest().1);
    let copy = Store::open(&env, Path::new(DIR), small_options(), resolve()).unwrap();
    assert_eq!(copy.checkpoint(), files.checkpoint());
    replay(&copy, &world.log, &world.late, world.durable);
    world.store = copy;
    world.check_all();
}

/// A merge may take minutes. It holds on to files alone: memtables that are flushed meanwhile are freed, else
/// a writer in a hurry would take twice the memory that it was given.
#[test]
fn a_merge_keeps_no_memtable() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"k", b"v")]);
    let memtable = Arc::downgrade(&world.store.shared.state().active);
    let walk = world.store.shared.runs();
    world.store.flush().unwrap();
    assert!(memtable.upgrade().is_none());
    assert!(walk.memtables().all(|memtable| memtable.is_empty()));
}

/// A bulk load is invisible until its commit, then there from that commit on; a crash before the commit
/// leaves nothing, one after it loses nothing, wherever the checkpoint stands.
#[test]
fn bulk_loads() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"old", b"x")]);
    let load = |world: &World, tag: u8| {
        let mut bulk = world.store.bulk();
        (0..200u8).for_each(|i| bulk.put(PLAIN, &[b'B', tag, i], &[i; 20]).unwrap());
        bulk.finish().unwrap()
    };
    let never = load(&world, 1);
    assert_eq!(world.store.latest(PLAIN, &[b'B', 1, 0]).unwrap(), None);
    world = world.reopen();
    let writing = Path::new(DIR).join("0000000099-0123456789abcdef.seg");
    world.env.fs.open(&writing, OpenMode::CreateNew).unwrap();
    world.store.recovered().unwrap();
    world.env.fs.remove(&writing).expect("what a flush is writing stays");
    assert!(segments(&world.disk).is_empty(), "a load without a commit is removed");
    assert!(matches!(world.store.ingest(Csn(2), &never), Err(StoreError::Missing { .. })));

    let loaded = load(&world, 2);
    let bytes = loaded.to_bytes();
    assert_eq!(Loaded::from_bytes(&bytes).map(|loaded| loaded.to_bytes()), Some(bytes));
    world.store.ingest(Csn(2), &loaded).unwrap();
    world
        .store
        .apply(Csn(3), &[delta(PLAIN, &[b'B', 2, 7], b"!"), delete(PLAIN, &[b'B', 2, 8])])
        .unwrap();
    let check = |store: &Store| {
        assert!(store.read(PLAIN, &[b'B', 2, 7], Csn(1)).unwrap().is_none());
        let then = store.read(PLAIN, &[b'B', 2, 7], Csn(2)).unwrap().unwrap();
        assert_eq!((then.base(), then.csn()), (&[7; 20][..], Csn(2)));
        let now = store.read(PLAIN, &[b'B', 2, 7], Csn(3)).unwrap().unwrap();
        assert!(now.image(&Texts(PLAIN), b"").unwrap().ends_with(b"!\x03"));
        let count = |at| keys(store.scan(PLAIN, ALL.0, ALL.1, Csn(at), false)).len();
        assert_eq!((count(1), count(2), count(3)), (1, 201, 200));
        assert_eq!(store.latest(PLAIN, &[b'B', 2, 9]).unwrap(), Some(Csn(2)));
    };
    check(&world.store);
    let again = |world: World| {
        let World { store, env, .. } = world;
        drop(store);
        Store::open(&env, Path::new(DIR), small_options(), resolve()).unwrap()
    };
    let env = world.env.clone();
    let store = again(world);
    assert_eq!(store.checkpoint().csn, Csn(0));
    store.apply(Csn(1), &[put(PLAIN, b"old", b"x")]).unwrap();
    store.ingest(Csn(2), &loaded).unwrap();
    store
        .apply(Csn(3), &[delta(PLAIN, &[b'B', 2, 7], b"!"), delete(PLAIN, &[b'B', 2, 8])])
        .unwrap();
    store.recovered().unwrap();
    check(&store);
    for durable in [1, 2, 3] {
        store.set_durable(Csn(durable), Vec::new);
        store.flush().unwrap();
        assert_eq!(store.checkpoint().csn, Csn(durable));
        check(&store);
    }
    drop(store);
    let store = Store::open(&env, Path::new(DIR), small_options(), resolve()).unwrap();
    store.recovered().unwrap();
    check(&store);
    store.compact().unwrap();
    check(&store);
    assert!(store.verify(&mut |_, _| {}).unwrap().problems.is_empty());
}

/// Blocks that a small load has written are read from the cache after its commit, at the commit
/// that it got: no block is read from the file. A larger load would push out the blocks of other
/// readers.
#[test]
fn the_blocks_of_a_small_load_are_cached() {
    let world = world();
    let load = |tag: u8, count: u8| {
        let mut bulk = world.store.bulk();
        (0..count).for_each(|i| bulk.put(PLAIN, &[tag, i], &[i; 1024]).unwrap());
        bulk.finish().unwrap()
    };
    let reads_of = |tag: u8, csn: u64| {
        let before = BlockReads::of_thread();
        let (first, behind) = (Bound::Included(vec![tag]), Bound::Excluded(vec![tag + 1]));
        let scan = world.store.scan(PLAIN, first, behind, Csn(csn), false);
        assert!(scan.map(|found| found.unwrap().1.csn()).all(|found| found == Csn(csn)));
        BlockReads::of_thread().since(before).read
    };
    world.store.ingest(Csn(1), &load(1, 40)).unwrap();
    assert_eq!(reads_of(1, 1), 1, "only the guide is read");
    world.store.ingest(Csn(2), &load(2, 80)).unwrap();
    assert!(reads_of(2, 2) > 10);
}

/// The log is replayed, and memory is full before the commit of a bulk load is reached. The flush
/// then must not use the number of a file of that load. It once did, because the manifest had never
/// heard of the load: both files shared their places in the cache, and reads of one found blocks of
/// the other.
#[test]
fn a_flush_during_replay_keeps_off_the_numbers_of_bulk_loads() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"flushed", b"by the replay")]);
    let mut bulk = world.store.bulk();
    bulk.put(PLAIN, b"loaded", b"before the crash").unwrap();
    let loaded = bulk.finish().unwrap();
    let world = world.reopen();
    world.store.flush().unwrap();
    world.check_read(PLAIN, b"flushed", 1);
    world.store.ingest(Csn(2), &loaded).unwrap();
    world.store.recovered().unwrap();
    let mut value = Vec::new();
    assert_eq!(world.store.get(PLAIN, b"loaded", Csn(2), &mut value).unwrap(), Some(Csn(2)));
    assert_eq!(value, b"before the crash");
    world.check_read(PLAIN, b"flushed", 1);
}

/// Three runs, of which two have a value of a megabyte in other tables, one before and one behind the table
/// that is scanned. A scan reads no block of theirs: it once did, and each look at a small table cost megabytes.
#[test]
fn a_scan_reads_no_block_of_runs_beside_it() {
    let mut world = World::new(
        1,
        SimVfs::unrecorded(),
        StoreOptions { cache_bytes: 0, memtable_bytes: 16 << 20, ..small_options() },
    );
    world.commit_durably(vec![put(PLAIN, b"large", &[b'x'; 1 << 20])]);
    world.store.flush().unwrap();
    world.commit_durably(vec![put(PAGES, b"k", b"small")]);
    world.store.flush().unwrap();
    world.commit_durably(vec![put(BRIEF, b"large", &[b'x'; 1 << 20])]);
    world.store.flush().unwrap();
    assert_eq!(world.store.stats().current_runs, 3);
    let before = world.store.stats().cache_misses;
    let found = world.store.scan(PAGES, Bound::Unbounded, Bound::Unbounded, Csn(3), false);
    assert_eq!(keys(found), [b"k"]);
    let read = world.store.stats().cache_misses - before;
    assert_eq!(read, 2, "the guide and the block of its own run");
}

/// An older run has rows in front of a table of columns and behind it, and none of it. A scan of blocks reads no keys of
/// the table for that: it once read all of them, to find out which of those rows they hide.
#[test]
fn a_scan_of_blocks_reads_no_keys_for_runs_beside_it() {
    let misses = |has_older: bool| {
        let options = StoreOptions { cache_bytes: 0, memtable_bytes: 16 << 20, ..small_options() };
        let mut world = World::new(1, SimVfs::unrecorded(), options);
        let older = if has_older { vec![PLAIN, BRIEF] } else { Vec::new() };
        if has_older {
            let large = |table: &TableId| put(*table, b"large", &[b'x'; 1 << 20]);
            world.commit_durably(older.iter().map(large).collect());
            world.store.flush().unwrap();
        }
        let rows = (0..200u8).map(|row| put(COLUMNS, &[b'k', row], b"a few words"));
        world.commit_durably(rows.collect());
        world.store.flush().unwrap();
        let before = world.store.stats().cache_misses;
        let scan = world.store.block_scan(COLUMNS, Bound::Unbounded, Bound::Unbounded, Csn(9), &[]);
        let (mut scan, mut count) = (scan.expect("nothing is erased"), 0);
        let mut take = |item: ScanItem<'_>| {
            let ScanItem::Columns(rows) = item else { unreachable!("all rows lie in columns") };
            count += rows.len();
            ControlFlow::Continue(())
        };
        scan.visit(&mut take).unwrap();
        assert_eq!(count, 200);
        world.store.stats().cache_misses - before
    };
    // Of the older run the guide, some times, and the block in front of the table.
    assert!(misses(true) <= misses(false) + 12, "{} and {}", misses(true), misses(false));
}

/// A bulk load of nothing is a bulk load like any other.
#[test]
fn an_empty_bulk_load() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"k", b"v")]);
    let loaded = world.store.bulk().finish().unwrap();
    assert_eq!(loaded.keys(), 0);
    world.store.ingest(Csn(2), &loaded).unwrap();
    world.check_read(PLAIN, b"k", 2);
    world.store.set_durable(Csn(2), Vec::new);
    world.store.flush().unwrap();
    world.store.compact().unwrap();
    assert!(world.store.verify(&mut |_, _| {}).unwrap().problems.is_empty());
}

/// Scratch files are read while their writer lives, cost no sync, and go with the next opening.
#[test]
fn scratch_files_are_never_synced() {
    let disk = SimVfs::new(9);
    let mut world = World::new(9, disk.clone(), small_options());
    world.commit_durably(vec![put(PLAIN, b"k", b"v")]);
    let before = disk.op_count();
    let mut scratch = world.store.scratch();
    for n in 0..3_000_u32 {
        let key = n.to_be_bytes();
        scratch.write(PLAIN, &key, Some(&key.repeat(200))).unwrap();
    }
    let written = scratch.finish().unwrap();
    let staged = world.store.stage(&written).unwrap();
    let found = staged.read(PLAIN, &77_u32.to_be_bytes()).unwrap().flatten().unwrap();
    assert_eq!(found.base(), 77_u32.to_be_bytes().repeat(200));
    let is_sync =
        |op: &OpRecord| matches!(op.kind, OpKind::SyncData | OpKind::SyncAll | OpKind::SyncDir);
    assert!(!disk.ops()[before..].iter().any(is_sync));
    assert!(!segments(&disk).is_empty());
    drop(staged);
    let world = world.reopen();
    world.store.recovered().unwrap();
    assert!(segments(&disk).is_empty(), "the next opening removes them");
    world.check_read(PLAIN, b"k", 1);
}

/// A bulk load takes new keys in order only, and leaves nothing when it is dropped.
#[test]
fn bulk_loads_refuse_old_and_unordered_keys() {
    let mut world = world();
    world.commit_durably(vec![put(PLAIN, b"old", b"x")]);
    let mut bulk = world.store.bulk();
    bulk.put(PLAIN, b"b", b"1").unwrap();
    assert!(matches!(bulk.put(PLAIN, b"a", b"2"), Err(StoreError::Bulk { .. })));
    assert!(matches!(bulk.put(PLAIN, b"old", b"3"), Err(StoreError::Bulk { .. })));
    drop(bulk);
    assert!(segments(&world.disk).is_empty());
}

/// An answer for a commit stays the same for ever: 10,000 pairs of commit and question, asked again
/// after later commits, merges and reopenings, byte for byte.
#[test]
fn history_is_immutable() {
    seeds(500, 4, |seed| {
        let dice = SimRandom::new(seed);
        let mut world = World::new(seed, SimVfs::unrecorded(), small_options());
        let mut asked = Vec::new();
        let ask = |world: &World, table, key: &[u8], at: u64| -> Vec<u8> {
            let mut answer = Vec::new();
            let csn = world.store.get(table, key, Csn(at), &mut answer).unwrap();
            for item in world
                .store
                .scan(table, Bound::Included(key.to_vec()), Bound::Unbounded, Csn(at), false)
                .take(2)
            {
                let (key, value) = item.unwrap();
                answer.extend(key);
                answer.extend(value.csn().0.to_le_bytes());
                answer.extend_from_slice(&value.image(&Texts(table), b"").unwrap());
            }
            let visit = |v: Version<'_>| {
                answer.extend(v.csn.0.to_le_bytes());
                answer.extend_from_slice(v.bytes);
                ControlFlow::Continue(())
            };
            world.store.versions(table, key, Csn(at / 2), Csn(at), visit).unwrap();
            answer.extend(csn.unwrap_or_default().0.to_le_bytes());
            answer
        };
        while asked.len() < 2_500 {
            for _ in 0..20 {
                let writes: Vec<Write> = any_writes(&dice, &world.model)
                    .into_iter()
                    .filter(|w| [EAGER, PLAIN].contains(&w.table))
                    // But for what is erased, which has a test of its own.
                    .filter(|w| !matches!(w.op, Op::Erase { .. }))
                    .collect();
                world.commit_durably(writes);
            }
            for _ in 0..50 {
                let table = [EAGER, PLAIN][dice.below(2) as usize];
                let key = [b"a".as_slice(), b"aa", b"b", b"", b"customer/0001"]
                    [dice.below(5) as usize]
                    .to_vec();
                let at = 1 + dice.below(world.last());
                let answer = ask(&world, table, &key, at);
                asked.push((table, key, at, answer));
            }
            match dice.below(6) {
                0 => world = world.reopen(),
                1 => world.store.compact().unwrap(),
                2 => world.store.maintain().unwrap(),
                _ => world.store.flush().unwrap(),
            }
        }
        world.store.compact().unwrap();
        for round in 0..2 {
            for (table, key, at, answer) in &asked {
                assert!(
                    &ask(&world, *table, key, *at) == answer,
                    "round {round}: commit {at} answers otherwise"
                );
            }
            world = world.reopen();
        }
    });
}

/// With threads flushing and merging behind them, readers at a commit see all of it and nothing later.
#[test]
fn readers_beside_writer_and_threads() {
    let env = Env::sim(&SimVfs::unrecorded(), 1);
    let options = StoreOptions { background: true, memtable_bytes: 20_000, ..small_options() };
    let store = Store::open(&env, Path::new(DIR), options, resolve()).unwrap();
    let published = std::sync::atomic::AtomicU64::new(0);
    const COMMITS: u64 = 6_000;
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (store, published) = (&store, &published);
            scope.spawn(move || {
                let dice = SimRandom::new(reader);
                loop {
                    let newest = published.load(std::sync::atomic::Ordering::Acquire);
                    let at = if dice.chance(50, 100) { newest } else { dice.below(newest + 1) };
                    let value = |key: &[u8]| {
                        store.read(PLAIN, key, Csn(at)).unwrap().map(|v| v.base().to_vec())
                    };
                    let expected = (at > 0).then(|| at.to_be_bytes().to_vec());
                    assert_eq!((value(b"a"), value(b"z")), (expected.clone(), expected), "at {at}");
                    if dice.chance(5, 100) {
                        assert_eq!(
                            keys(store.scan(PLAIN, ALL.0, ALL.1, Csn(at), dice.chance(50, 100)))
                                .len(),
                            2 + (at.min(50)) as usize - usize::from(at == 0) * 2
                        );
                    }
                    if newest == COMMITS {
                        return;
                    }
                }
            });
        }
        for csn in 1..=COMMITS {
            let value = csn.to_be_bytes();
            let writes = [
                put(PLAIN, b"a", &value),
                put(PLAIN, &[b'm', (csn % 50) as u8], &value),
                put(PLAIN, b"z", &value),
            ];
            store.apply(Csn(csn), &writes).unwrap();
            store.set_durable(Csn(csn), Vec::new);
            published.store(csn, std::sync::atomic::Ordering::Release);
        }
    });
    store.flush().unwrap();
    let mut counts = BTreeMap::new();
    for key in [b"a", b"z"] {
        let visit = |_: Version<'_>| {
            *counts.entry(key).or_insert(0) += 1;
            ControlFlow::Continue(())
        };
        store.versions(PLAIN, key, Csn(0), Csn::MAX, visit).unwrap();
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [COMMITS, COMMITS]);
    let stats = store.stats();
    assert!(stats.flushes > 5, "{stats:?}");
    assert!(store.verify(&mut |_, _| {}).unwrap().problems.is_empty());
}

/// A merge of all current runs once wrote a large run anew for a few keys that newer runs
/// supersede: it took minutes, and won as good as nothing. The store now merges only where it wins:
/// the small runs, or all of them if enough is superseded.
#[test]
fn a_merge_that_wins_nothing_is_left_out() {
    let mut world = World::new(3, SimVfs::unrecorded(), small_options());
    let dice = SimRandom::new(3);
    let mut row = |n: u32| {
        let value: Vec<u8> = (0..1_000).map(|_| dice.next() as u8).collect();
        put(PLAIN, &n.to_be_bytes(), &value)
    };
    let runs = |world: &World| world.store.stats().current_runs;
    let written = |world: &World| world.store.stats().written_bytes;
    // More than is merged whatever that wins.
    world.commit_durably((0..12_000).map(&mut row).collect());
    world.store.flush().unwrap();
    for part in 0..3 {
        world.commit_durably((0..40).map(|n| row(part + 300 * n)).collect());
        world.store.flush().unwrap();
    }
    let before = written(&world);
    world.store.compact().unwrap();
    assert!(written(&world) - before < 1 << 20, "the large run was written anew");
    assert!(runs(&world) > 1);
    world.commit_durably((0..12_000).step_by(9).map(&mut row).collect());
    let large = world.store.stats().current_bytes;
    world.store.compact().unwrap();
    assert_eq!(runs(&world), 1, "a ninth of it is superseded");
    assert!(world.store.stats().current_bytes < large + large / 50);
    let before = written(&world);
    world.store.compact().unwrap();
    assert_eq!(written(&world), before, "nothing is left to be won");
}
