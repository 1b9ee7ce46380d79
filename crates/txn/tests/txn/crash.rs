//! Power loss after every single operation of a workload, and a disk that fails at every n-th.
//!
//! ```text
//!   operations   w s w s w w s r d w s │ w s ...        lost: anything unsynced, in part, torn, reordered
//!   commits        1   2     3         │                acknowledged: 3
//!   reopened: 3 or 4, whole, and a writer can go on
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use store::Csn;
use txn::{Engine, EngineOptions, Isolation, TxnError};
use vfs::{CrashPolicy, Env, FaultKind, Mutation, SimVfs, Which};

use crate::common::{
    Elsewhere, Medium, SimRandom, T, contents, large, meta, options, seed, try_open,
};

pub type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// The record of a workload: the state after each commit, and where in the record of operations it
/// was begun and acknowledged.
pub struct Told {
    pub states: Vec<State>,
    pub begun: Vec<usize>,
    pub acknowledged: Vec<usize>,
}

impl Told {
    pub fn new() -> Told {
        Told { states: vec![State::new()], begun: Vec::new(), acknowledged: Vec::new() }
    }

    /// How many commits were acknowledged, and how many begun, when `at` operations had happened.
    pub fn bounds(&self, at: usize) -> (usize, usize) {
        let upto = |list: &[usize]| list.partition_point(|op| *op <= at);
        (
            upto(&self.acknowledged),
            self.begun.partition_point(|op| *op < at).max(upto(&self.acknowledged)),
        )
    }
}

/// Commits `count` transactions of a few writes each, with a checkpoint now and then.
fn work(
    engine: &Arc<Engine>,
    disk: &impl Medium,
    random: &SimRandom,
    count: usize,
    told: &mut Told,
) -> Result<(), TxnError> {
    for _ in 0..count {
        let number = told.states.len();
        let mut state = told.states[number - 1].clone();
        let mut txn = engine.begin(Isolation::Serializable);
        for _ in 0..1 + random.below(4) {
            let key = vec![b'a' + random.below(10) as u8];
            match random.below(4) {
                0 if state.contains_key(&key) => {
                    txn.delete(T, &key)?;
                    state.remove(&key);
                }
                1 | 2 if state.contains_key(&key) => {
                    let delta = format!("+{number}").into_bytes();
                    state.get_mut(&key).expect("just seen").extend_from_slice(&delta);
                    txn.delta(T, &key, delta)?;
                }
                _ => {
                    let len = if random.below(8) == 0 { 900 } else { 12 };
                    let value = format!("{number:len$}").into_bytes();
                    state.insert(key.clone(), value.clone());
                    txn.put(T, &key, value)?;
                }
            }
        }
        told.begun.push(disk.op_count());
        told.states.push(state);
        let commit = txn.commit(meta(&format!("commit {number}")))?;
        assert_eq!(commit.csn, Csn(number as u64), "numbers are dense");
        told.acknowledged.push(disk.op_count());
        if number.is_multiple_of(13) {
            engine.checkpoint()?;
        }
    }
    Ok(())
}

pub fn state_of(engine: &Arc<Engine>, csn: Csn) -> State {
    contents(&engine.snapshot_at(csn).expect("visible")).into_iter().collect()
}

/// Checks a reopened database against what was told; returns its newest commit.
pub fn check(
    engine: &Arc<Engine>,
    told: &Told,
    (least, most): (usize, usize),
    what: &str,
) -> usize {
    let newest = engine.visible();
    let found = newest.0 as usize;
    assert!((least..=most).contains(&found), "{what}: {found} commits, told of {least} to {most}");
    assert_eq!(state_of(engine, newest), told.states[found], "{what}: the newest state");
    let earlier = found * 2 / 3;
    assert_eq!(
        state_of(engine, Csn(earlier as u64)),
        told.states[earlier],
        "{what}: state {earlier}"
    );
    let mut time_us = 0;
    for (info, number) in engine.commits(Csn(1), Csn::MAX, false).zip(1..) {
        let info = info.expect("a commit that is there can be looked up");
        assert_eq!((info.csn.0, info.message), (number, format!("commit {number}")), "{what}");
        assert!(info.time_us >= time_us, "{what}: times never decrease");
        time_us = info.time_us;
        assert!(engine.csn_at(time_us).expect("times can be searched") >= info.csn);
    }
    found
}

/// At every operation, in six ways: what was acknowledged is there, whole, and a writer goes on.
#[test]
fn power_loss_after_every_operation() {
    lose_power::<SimVfs>(options(), 200, 1_500);
}

/// The same, with a log in memory and segments in an object store.
#[test]
fn power_loss_after_every_operation_elsewhere() {
    lose_power::<Elsewhere<false>>(options(), 120, 1_500);
}

/// The same, with segments that are local objects.
#[test]
fn power_loss_after_every_operation_on_local_objects() {
    lose_power::<Elsewhere<true>>(options(), 30, 300);
}

/// The same, where what commits write goes to files: each is there whole or not at all.
#[test]
fn power_loss_around_large_commits() {
    lose_power::<SimVfs>(large(), 60, 1_500);
}

/// The same, with a log in memory and segments in an object store.
#[test]
fn power_loss_around_large_commits_elsewhere() {
    lose_power::<Elsewhere<false>>(large(), 60, 1_000);
}

fn lose_power<M: Medium>(options: EngineOptions, commits: usize, least: usize) {
    let seed = seed(7);
    let disk = M::blank(seed);
    let engine = disk.open_engine(seed, options.clone()).unwrap();
    let mut told = Told::new();
    work(&engine, &disk, &SimRandom::new(seed), commits, &mut told).unwrap();
    let mut reopenings = 0;
    for at in 0..=disk.op_count() {
        for policy in CrashPolicy::ALL {
            let what = format!("seed {seed}, {policy:?} after operation {at}");
            let image = disk.image(at, &policy, seed);
            let bounds = told.bounds(at);
            let reopened = image
                .open_engine(seed + 1, options.clone())
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            let found = check(&reopened, &told, bounds, &what);
            reopenings += 1;
            if (at + policy as usize).is_multiple_of(5) {
                let mut next = reopened.begin(Isolation::Serializable);
                next.put(T, b"next", b"1".to_vec()).unwrap();
                let commit = next.commit(meta(&format!("commit {}", found + 1))).unwrap();
                assert_eq!(commit.csn.0 as usize, found + 1, "{what}");
                let expected = state_of(&reopened, commit.csn);
                drop(reopened);
                let again = image
                    .open_engine(seed + 2, options.clone())
                    .unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(again.visible(), commit.csn, "{what}: after going on");
                assert_eq!(state_of(&again, commit.csn), expected, "{what}: after going on");
                reopenings += 1;
            }
        }
    }
    println!("{reopenings} reopenings");
    assert!(reopenings >= least, "{reopenings} reopenings");
}

/// The test above would notice: on a disk whose syncs do nothing, acknowledged commits are lost.
#[test]
fn a_disk_that_lies_is_caught() {
    let seed = seed(10);
    let disk = SimVfs::new(seed);
    let engine = try_open(&Env::sim(&disk, seed), options()).unwrap();
    disk.disable(Mutation::SyncData, Which::All);
    let mut told = Told::new();
    work(&engine, &disk, &SimRandom::new(seed), 10, &mut told).unwrap();
    let image = disk.image(disk.op_count(), &CrashPolicy::SyncedOnly, seed);
    let reopened = try_open(&Env::sim(&image, seed), options()).unwrap();
    assert!(reopened.visible().0 < 10, "nothing was synced, and yet it is there");
}

/// Whichever write, sync or rename fails: 58030, 53100 where the disk is full, nothing more is
/// written, reads go on, and after reopening what was acknowledged is there and nothing half.
#[test]
fn every_nth_operation_fails() {
    fail_operations::<SimVfs>(options(), 150);
}

/// The same, with a log in memory and segments in an object store.
#[test]
fn every_nth_operation_fails_elsewhere() {
    fail_operations::<Elsewhere<false>>(options(), 150);
}

/// The same, where what commits write goes to files.
#[test]
fn every_nth_operation_of_large_commits_fails() {
    fail_operations::<SimVfs>(large(), 150);
}

/// The same, with a log in memory and segments in an object store.
#[test]
fn every_nth_operation_of_large_commits_fails_elsewhere() {
    fail_operations::<Elsewhere<false>>(large(), 150);
}

fn fail_operations<M: Medium>(options: EngineOptions, least: usize) {
    let seed = seed(8);
    let mut failures = 0;
    for kind in [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite] {
        for nth in 0..400 {
            let what = format!("seed {seed}, {kind:?} at {nth}");
            let disk = M::blank(seed);
            let engine = disk.open_engine(seed, options.clone()).unwrap();
            disk.fail(nth, kind);
            let mut told = Told::new();
            let Err(error) = work(&engine, &disk, &SimRandom::new(seed), 30, &mut told) else {
                if (M::FORGIVES || options.large_bytes < 100) && disk.faults_hit() > 0 {
                    // A file that nobody needs any more could not be removed.
                    continue;
                }
                assert!(nth > 60, "{what}: the workload has more operations than that");
                break;
            };
            failures += 1;
            let states: &[&str] = match kind {
                FaultKind::Eio => &["58030"],
                FaultKind::Enospc => &["53100"],
                // Of a sync it is an I/O error.
                FaultKind::ShortWrite => &["53100", "58030"],
            };
            assert!(states.contains(&error.sqlstate()), "{what}: {} {error}", error.sqlstate());
            if matches!(error, TxnError::OutcomeUnknown { .. }) {
                let mut next = engine.begin(Isolation::ReadCommitted);
                next.put(T, b"next", Vec::new()).unwrap();
                let refused = next.commit(meta("")).unwrap_err();
                assert!(matches!(refused, TxnError::Refused { .. }), "{what}: {refused}");
                assert_eq!(refused.sqlstate(), error.sqlstate(), "{what}: it tells of the cause");
                assert!(engine.stats().poisoned.is_some());
            }
            let known = told.acknowledged.len();
            assert_eq!(
                engine.visible().0 as usize,
                known,
                "{what}: only what was acknowledged is seen"
            );
            assert_eq!(
                state_of(&engine, engine.visible()),
                told.states[known],
                "{what}: reads go on"
            );
            drop(engine);
            disk.heal();
            let reopened = disk
                .open_engine(seed, options.clone())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            check(&reopened, &told, (known, told.begun.len()), &what);
        }
    }
    assert!(failures > least, "{failures} failures");
}

/// The directory belongs to one engine at a time; closing gives it free, and says if it cannot.
#[test]
fn one_engine_to_a_directory() {
    let disk = SimVfs::new(1);
    let env = Env::sim(&disk, 1);
    let engine = try_open(&env, options()).unwrap();
    let second = try_open(&env, options()).unwrap_err();
    assert_eq!(second.sqlstate(), "55006", "{second}");
    let snapshot = engine.snapshot();
    let open = Arc::clone(&engine).close().unwrap_err();
    assert_eq!(open.sqlstate(), "55006", "{open}");
    let mut late = engine.begin(Isolation::ReadCommitted);
    late.put(T, b"k", Vec::new()).unwrap();
    assert_eq!(late.commit(meta("")).unwrap_err().sqlstate(), "57P03", "closed for writing");
    drop(snapshot);
    engine.close().unwrap();
    try_open(&env, options()).unwrap().close().unwrap();
}

/// Commits that do not wait for the disk: seen at once, and after a power loss a prefix is there.
#[test]
fn commits_without_a_sync() {
    let seed = seed(9);
    let disk = SimVfs::new(seed);
    let mut options = options();
    options.durability = log::Durability::Os;
    let engine = try_open(&Env::sim(&disk, seed), options.clone()).unwrap();
    let mut told = Told::new();
    work(&engine, &disk, &SimRandom::new(seed), 12, &mut told).unwrap();
    let syncs = engine.stats().log.syncs;
    assert!(syncs <= 2, "{syncs} syncs for commits that asked for none");
    let mut synced = engine.begin(Isolation::ReadCommitted);
    synced.put(T, b"z", b"z".to_vec()).unwrap();
    let mut meta = meta("commit 13");
    meta.durability = Some(log::Durability::Sync);
    synced.commit(meta).unwrap();
    let mut state = told.states[12].clone();
    state.insert(b"z".to_vec(), b"z".to_vec());
    told.states.push(state);
    let after_sync = disk.op_count();
    for at in told.begun[0]..=after_sync {
        for policy in CrashPolicy::ALL {
            let image = disk.image(at, &policy, seed);
            let reopened = try_open(&Env::sim(&image, seed), options.clone()).unwrap();
            let least = if at == after_sync { 13 } else { 0 };
            check(
                &reopened,
                &told,
                (least, 13),
                &format!("seed {seed}, {policy:?} after operation {at}"),
            );
        }
    }
}
