//! A follower takes in the records of a leader's log, and answers as the leader did at each commit.
//!
//! ```text
//!   leader     1   2   3   4   5   6   7   8         records
//!   follower   1   2   3 │ power loss │ 3   4   5    any batch, again from anywhere below
//!                └── contents, commits, observers: as the leader's at the same commit
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use log::Lsn;
use parking_lot::Mutex;
use store::{Csn, TableId};
use txn::{
    Commit, Engine, EngineError, EngineOptions, Isolation, Observed, Observer, OpRef, TxnError,
};
use vfs::{CrashPolicy, Env, SimVfs};

use crate::common::{SimRandom, T, meta, options, seed, try_open};
use crate::crash::{State, Told, check, state_of};

/// A table that the observers of these tests do not follow.
const OTHER: TableId = TableId(8);

fn watching(mirror: &Arc<Mirror>) -> Weak<dyn Observer> {
    let mirror: Weak<Mirror> = Arc::downgrade(mirror);
    mirror
}

fn following() -> EngineOptions {
    let mut options = options();
    options.follower = true;
    options
}

/// Commits `count` transactions of a few writes each; returns the state after each.
fn lead(engine: &Arc<Engine>, random: &SimRandom, count: u64, told: &mut Told) {
    for _ in 0..count {
        let number = told.states.len();
        let mut state = told.states[number - 1].clone();
        let mut txn = engine.begin(Isolation::ReadCommitted);
        for _ in 0..1 + random.below(4) {
            let key = vec![b'a' + random.below(12) as u8];
            match random.below(4) {
                0 if state.remove(&key).is_some() => txn.delete(T, &key).unwrap(),
                1 | 2 if state.contains_key(&key) => {
                    let delta = format!("+{number}").into_bytes();
                    state.get_mut(&key).unwrap().extend_from_slice(&delta);
                    txn.delta(T, &key, delta).unwrap();
                }
                _ => {
                    let value = format!("{number}").into_bytes();
                    state.insert(key.clone(), value.clone());
                    txn.put(T, &key, value).unwrap();
                }
            }
        }
        told.states.push(state);
        txn.commit(meta(&format!("commit {number}"))).unwrap();
    }
}

/// The records of a leader's log, oldest first.
fn records(leader: &Engine) -> Vec<Vec<u8>> {
    let frames = leader.records(Lsn::START).unwrap();
    frames.map(|frame| frame.unwrap().1).collect()
}

/// The table as an observer knows it: from the records alone.
#[derive(Default)]
struct Mirror {
    state: Mutex<State>,
    seen: Mutex<Vec<Commit>>,
    hints: Mutex<Vec<&'static str>>,
}

impl Observer for Mirror {
    fn follows(&self, table: TableId) -> bool {
        table == T
    }

    fn observe(&self, commit: &mut Observed<'_>) {
        let mut state = self.state.lock();
        for write in commit.writes().filter(|write| write.table == T) {
            match write.op {
                OpRef::Put(value) => drop(state.insert(write.key.to_vec(), value.to_vec())),
                OpRef::Delta(more) => state.get_mut(write.key).unwrap().extend_from_slice(more),
                OpRef::Delete => drop(state.remove(write.key)),
                OpRef::Erase { .. } => {}
            }
        }
        self.seen.lock().push(Commit { csn: commit.csn(), time_us: commit.time_us() });
        self.hints.lock().extend(commit.take_hints::<&'static str>());
    }
}

/// Random histories, in random batches, with reopenings of both: the follower has every commit as the
/// leader has it, and its observers are where the leader's are.
#[test]
fn a_follower_answers_as_its_leader() {
    let first = seed(21);
    for seed in first..first + 25 {
        let random = SimRandom::new(seed);
        let leader = try_open(&Env::sim(&SimVfs::unrecorded(), seed), options()).unwrap();
        let env = Env::sim(&SimVfs::unrecorded(), seed + 1);
        let mut follower = try_open(&env, following()).unwrap();
        let mut told = Told::new();
        let (led, mut followed) = (Arc::new(Mirror::default()), Arc::new(Mirror::default()));
        leader.observe(watching(&led));
        follower.observe(watching(&followed));
        for round in 0..40 {
            let what = format!("seed {seed}, round {round}");
            lead(&leader, &random, 1 + random.below(20), &mut told);
            let all = records(&leader);
            // From any record that the follower has, up to any.
            let from = random.below(follower.visible().0 + 1) as usize;
            let to = from + random.below((all.len() - from) as u64 + 1) as usize;
            let before = follower.visible();
            let newest = follower.apply(&all[from..to]).unwrap();
            assert_eq!(newest, before.max(Csn(to as u64)), "{what}");
            check(&follower, &told, (newest.0 as usize, newest.0 as usize), &what);
            let any = Csn(random.below(newest.0 + 1));
            assert_eq!(state_of(&follower, any), state_of(&leader, any), "{what}: as of {any:?}");
            assert_eq!(*followed.state.lock(), told.states[newest.0 as usize], "{what}: observer");
            match random.below(8) {
                0 => follower.checkpoint().unwrap(),
                1 => {
                    follower.close().unwrap();
                    follower = try_open(&env, following()).unwrap();
                    let mirror = Mirror::default();
                    *mirror.state.lock() = state_of(&follower, newest);
                    followed = Arc::new(mirror);
                    follower.observe(watching(&followed));
                }
                _ => {}
            }
        }
        follower.apply(&records(&leader)).unwrap();
        assert_eq!(*followed.state.lock(), *led.state.lock(), "seed {seed}");
        let seen = followed.seen.lock();
        assert!(led.seen.lock().ends_with(&seen), "seed {seed}: in order, with their times");
        for info in leader.commits(Csn(1), Csn::MAX, false) {
            let info = info.unwrap();
            assert_eq!(follower.commit_info(info.csn).unwrap(), info, "seed {seed}");
        }
    }
}

/// Power loss at every operation of a follower: what it had acknowledged is there, and it goes on to
/// the end of the leader's log.
#[test]
fn a_follower_survives_power_loss_anywhere() {
    let seed = seed(22);
    let random = SimRandom::new(seed);
    let leader = try_open(&Env::sim(&SimVfs::unrecorded(), seed), options()).unwrap();
    let mut told = Told::new();
    lead(&leader, &random, 80, &mut told);
    let all = records(&leader);

    let disk = SimVfs::new(seed);
    let follower = try_open(&Env::sim(&disk, seed), following()).unwrap();
    let mut at = 0;
    while at < all.len() {
        let to = (at + 1 + random.below(9) as usize).min(all.len());
        (at..to).for_each(|_| told.begun.push(disk.op_count()));
        follower.apply(&all[at..to]).unwrap();
        (at..to).for_each(|_| told.acknowledged.push(disk.op_count()));
        if random.below(4) == 0 {
            follower.checkpoint().unwrap();
        }
        at = to;
    }
    for at in 0..=disk.op_count() {
        for policy in CrashPolicy::ALL {
            let what = format!("seed {seed}, {policy:?} after operation {at}");
            let env = Env::sim(&disk.image(at, &policy, seed), seed + 1);
            let reopened = try_open(&env, following()).unwrap_or_else(|e| panic!("{what}: {e}"));
            check(&reopened, &told, told.bounds(at), &what);
            reopened.apply(&all).unwrap();
            check(&reopened, &told, (all.len(), all.len()), &what);
        }
    }
}

/// A follower makes no commits of its own, and a leader takes none of another. A record that is out of
/// order, cut or damaged is refused, and the right one is taken afterwards.
#[test]
fn what_does_not_follow_is_refused() {
    let leader = crate::common::engine(1);
    let mut told = Told::new();
    lead(&leader, &SimRandom::new(1), 10, &mut told);
    let all = records(&leader);
    assert!(matches!(leader.apply(&all), Err(EngineError::NotFollowing)));

    let env = Env::sim(&SimVfs::unrecorded(), 2);
    let follower = try_open(&env, following()).unwrap();
    let mut txn = follower.begin(Isolation::ReadCommitted);
    txn.put(T, b"k", b"v".to_vec()).unwrap();
    let refused = txn.commit(meta("")).unwrap_err();
    assert!(matches!(refused, TxnError::Following), "{refused}");
    assert_eq!(refused.sqlstate(), "25006");

    let gap = follower.apply(&all[1..]).unwrap_err();
    assert!(matches!(gap, EngineError::Gap { last: Csn(0), found: Csn(2) }), "{gap}");
    let cut = [all[0].clone(), all[1][..all[1].len() - 1].to_vec(), all[2].clone()];
    assert!(matches!(follower.apply(&cut), Err(EngineError::Record { .. })));
    assert_eq!(follower.visible(), Csn(1), "what comes before the damage is taken in");
    let mut early = all[1].clone();
    early[16..24].fill(0);
    assert!(matches!(follower.apply(&[early]), Err(EngineError::Record { .. })));
    assert_eq!(follower.apply(&all).unwrap(), Csn(10));
    follower.close().unwrap();

    // The log has none of the refused records.
    let reopened = try_open(&env, following()).unwrap();
    assert_eq!(reopened.visible(), Csn(10));
    assert_eq!(state_of(&reopened, Csn(10)), told.states[10]);
    // A follower that is opened as a leader goes on by itself.
    reopened.close().unwrap();
    let promoted = try_open(&env, options()).unwrap();
    lead(&promoted, &SimRandom::new(2), 1, &mut told);
    assert_eq!(state_of(&promoted, Csn(11)), told.states[11]);
}

/// Observers see what writes their tables, hints that were not rolled back, and nothing before it is
/// about to be visible.
#[test]
fn observers_see_commits_of_their_tables_in_order() {
    let engine = crate::common::engine(3);
    let mirror = Arc::new(Mirror::default());
    engine.observe(watching(&mirror));
    let mut expected = BTreeMap::new();
    for round in 0..10u8 {
        let mut txn = engine.begin(Isolation::ReadCommitted);
        txn.put(OTHER, &[round], b"1".to_vec()).unwrap();
        if round.is_multiple_of(2) {
            txn.put(T, &[round], vec![round]).unwrap();
            expected.insert(vec![round], vec![round]);
            txn.hint("kept");
        }
        txn.hint(7u32);
        let savepoint = txn.savepoint();
        txn.hint("rolled back");
        txn.rollback_to(savepoint);
        if round == 4 {
            expected.remove(&vec![round]);
            txn.rollback();
        } else {
            txn.commit(meta("")).unwrap();
        }
    }
    assert_eq!(*mirror.state.lock(), expected);
    let seen: Vec<u64> = mirror.seen.lock().iter().map(|commit| commit.csn.0).collect();
    assert_eq!(seen, [1, 3, 6, 8], "commits that write the table; round 4 made none");
    assert_eq!(*mirror.hints.lock(), ["kept"; 4]);
}

/// A leader keeps its log from where a follower stands, however often it writes its files; what the follower
/// has taken goes, and all of it once nobody holds it.
#[test]
fn the_log_is_held_for_a_follower_that_is_behind() {
    let leader = crate::common::engine(5);
    let env = Env::sim(&SimVfs::unrecorded(), 6);
    let follower = try_open(&env, following()).unwrap();
    let (random, mut told) = (SimRandom::new(5), Told::new());
    let hold = leader.hold_log(Lsn::START).unwrap();
    for round in 0..30 {
        lead(&leader, &random, 10, &mut told);
        leader.checkpoint().unwrap();
        // Each scrub begins a new segment of the log, which is the least that can be cut.
        leader.scrub().unwrap();
        told.states.push(told.states.last().unwrap().clone());
        if round % 5 == 4 {
            let taken: Vec<(Lsn, Vec<u8>)> =
                leader.records(hold.from()).unwrap().map(|frame| frame.unwrap()).collect();
            let all: Vec<&[u8]> = taken.iter().map(|(_, bytes)| &bytes[..]).collect();
            follower.apply(&all).unwrap();
            assert_eq!(follower.visible(), leader.visible(), "round {round}");
            hold.advance(taken.last().unwrap().0);
        }
    }
    assert_eq!(state_of(&follower, follower.visible()), *told.states.last().unwrap());
    let from = hold.from();
    drop(hold);
    lead(&leader, &random, 10, &mut told);
    leader.scrub().unwrap();
    let cut = leader.hold_log(Lsn::START).unwrap_err();
    assert!(matches!(cut, EngineError::Log(log::LogError::Released { .. })), "{cut}");
    assert!(leader.records(from).is_err(), "the rest is cut as well");
}
