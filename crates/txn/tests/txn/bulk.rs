//! Bulk loads between ordinary commits: power loss after every operation, and a disk that fails at
//! every n-th.
//!
//! ```text
//!   disk   w s w s │ files of a load: c w s c w s d │ w s │ flush ...      power lost at any of them
//!   log            │                                │ record that names the files
//!                  │ before it: nothing of the load │ after it: all of the load
//! ```
//!
//! A load ends in one of five ways: committed, dropped half way, finished and forgotten, rolled back, or
//! refused at its commit. Only the first leaves anything, and after a power loss opening removes what
//! the others had written so far.

use std::collections::BTreeSet;
use std::sync::Arc;

use store::{Bulk, Loaded, StoreError};
use txn::{Engine, EngineOptions, Isolation, TxnError};
use vfs::{CrashPolicy, Env, FaultKind, FaultPlan, Mutation, OpClasses, SimVfs, Which};

use crate::common::{SimRandom, T, meta, options, seed, try_open};
use crate::crash::{State, Told, check, state_of};

/// As the others, with segments so small that a load has several.
pub fn small() -> EngineOptions {
    let mut options = options();
    options.store.segment_bytes = 400;
    options.store.current_block_bytes = 200;
    options.store.history_block_bytes = 200;
    options
}

/// The keys and values of load `number`: above all others, and new.
fn load_of(number: usize, random: &SimRandom) -> State {
    let value = |random: &SimRandom| (0..60).map(|_| random.next() as u8).collect();
    (0..2 + random.below(20))
        .map(|i| (format!("load {number:04}/{i:02}").into_bytes(), value(random)))
        .collect()
}

/// Puts rows until `stop` of them are in.
fn fill(bulk: &mut Bulk, rows: &State, stop: usize) -> Result<(), StoreError> {
    rows.iter().take(stop).try_for_each(|(key, value)| bulk.put(T, key, value))
}

/// One workload on one engine, with what it was told.
pub struct Run<'a> {
    engine: &'a Arc<Engine>,
    disk: &'a SimVfs,
    random: SimRandom,
    pub told: Told,
    loads: usize,
}

impl<'a> Run<'a> {
    /// A workload that is about to begin.
    pub fn new(engine: &'a Arc<Engine>, disk: &'a SimVfs, seed: u64) -> Run<'a> {
        Run { engine, disk, random: SimRandom::new(seed), told: Told::new(), loads: 0 }
    }

    fn state(&self) -> State {
        self.told.states[self.told.acknowledged.len()].clone()
    }

    /// Commits, and notes when the commit was begun and acknowledged. A commit that is known not to
    /// have happened was never begun.
    fn commit(
        &mut self,
        next: State,
        commit: impl FnOnce(txn::CommitMeta) -> Result<txn::Commit, TxnError>,
    ) -> Result<(), TxnError> {
        let number = self.told.states.len();
        self.told.begun.push(self.disk.op_count());
        self.told.states.push(next);
        match commit(meta(&format!("commit {number}"))) {
            Ok(commit) => assert_eq!(commit.csn.0 as usize, number, "numbers are dense"),
            Err(error) => {
                if !matches!(error, TxnError::OutcomeUnknown { .. }) {
                    self.told.begun.pop();
                    self.told.states.pop();
                }
                return Err(error);
            }
        }
        self.told.acknowledged.push(self.disk.op_count());
        Ok(())
    }

    /// A commit of a few writes, of loaded keys too.
    fn ordinary(&mut self) -> Result<(), TxnError> {
        let mut state = self.state();
        let mut txn = self.engine.begin(Isolation::Serializable);
        for _ in 0..1 + self.random.below(3) {
            let known =
                state.keys().nth(self.random.below(state.len() as u64 + 1) as usize).cloned();
            match (known, self.random.below(3)) {
                (Some(key), 0) => {
                    txn.delete(T, &key)?;
                    state.remove(&key);
                }
                (Some(key), 1) => {
                    let delta = format!("+{}", self.told.states.len()).into_bytes();
                    state.get_mut(&key).expect("it is known").extend_from_slice(&delta);
                    txn.delta(T, &key, delta)?;
                }
                _ => {
                    let key = vec![b'a' + self.random.below(6) as u8];
                    let value = format!("{:12}", self.told.states.len()).into_bytes();
                    state.insert(key.clone(), value.clone());
                    txn.put(T, &key, value)?;
                }
            }
        }
        self.commit(state, |meta| txn.commit(meta))
    }

    /// Writes the files of a load; half way others commit, and perhaps flush.
    fn write_load(&mut self, rows: &State) -> Result<Loaded, TxnError> {
        let engine = self.engine;
        let mut bulk = engine.store().bulk();
        let half = rows.len() / 2;
        fill(&mut bulk, rows, half)?;
        match self.random.below(4) {
            0 => self.ordinary()?,
            1 => self.engine.checkpoint()?,
            _ => {}
        }
        rows.iter().skip(half).try_for_each(|(key, value)| bulk.put(T, key, value))?;
        Ok(bulk.finish()?)
    }

    /// A load, which ends in one of the five ways.
    fn load(&mut self) -> Result<(), TxnError> {
        self.loads += 1;
        let rows = load_of(self.loads, &self.random);
        let way = self.random.below(10);
        if way == 0 {
            let mut bulk = self.engine.store().bulk();
            return Ok(fill(&mut bulk, &rows, rows.len() / 2)?);
        }
        let loaded = self.write_load(&rows)?;
        if way == 1 {
            return Ok(());
        }
        let mut txn = self.engine.begin(Isolation::Serializable);
        txn.attach(loaded).unwrap();
        let mut state = self.state();
        state.extend(rows);
        if self.random.below(3) > 0 {
            txn.put(T, b"beside", vec![b'b'])?;
            state.insert(b"beside".to_vec(), vec![b'b']);
        }
        match way {
            2 => drop(txn),
            3 => {
                txn.get(T, b"contended", &mut Vec::new())?;
                let mut other = self.engine.begin(Isolation::ReadCommitted);
                other.put(T, b"contended", vec![b'c'])?;
                let mut theirs = self.state();
                theirs.insert(b"contended".to_vec(), vec![b'c']);
                self.commit(theirs, |meta| other.commit(meta))?;
                let refused = txn.commit(meta("refused")).expect_err("what it read has changed");
                assert!(refused.is_retryable(), "{refused}");
            }
            _ => self.commit(state, |meta| txn.commit(meta))?,
        }
        Ok(())
    }

    /// One step: an ordinary commit, a load, a checkpoint or a merge of everything.
    pub fn step(&mut self) -> Result<(), TxnError> {
        match self.random.below(20) {
            0..10 => self.ordinary(),
            10..17 => self.load(),
            17..19 => self.engine.checkpoint(),
            _ => Ok(self.engine.store().compact()?),
        }
    }
}

/// The segment files on a disk are those that the store names: a load that never happened leaves none.
fn no_orphans(engine: &Arc<Engine>, disk: &SimVfs, what: &str) {
    let named: BTreeSet<String> = engine.store().files().segments().map(|file| file.0).collect();
    let files = disk.files().into_iter().filter_map(|(path, _)| {
        Some(path.file_name()?.to_str()?.to_owned()).filter(|name| name.ends_with(".seg"))
    });
    assert_eq!(files.collect::<BTreeSet<_>>(), named, "{what}: the files of the store");
}

/// At every operation, in six ways: a load is there whole or not at all, its files are named or gone,
/// and the next load goes well.
#[test]
fn power_loss_around_bulk_loads() {
    let seed = seed(21);
    let disk = SimVfs::new(seed);
    let engine = try_open(&Env::sim(&disk, seed), small()).unwrap();
    let mut run = Run::new(&engine, &disk, seed);
    for _ in 0..70 {
        run.step().unwrap();
    }
    let told = run.told;
    let mut reopenings = 0;
    for at in 0..=disk.op_count() {
        for policy in CrashPolicy::ALL {
            let what = format!("seed {seed}, {policy:?} after operation {at}");
            let image = disk.image(at, &policy, seed);
            let reopened = try_open(&Env::sim(&image, seed + 1), small())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let found = check(&reopened, &told, told.bounds(at), &what);
            no_orphans(&reopened, &image, &what);
            reopenings += 1;
            if !(at + policy as usize).is_multiple_of(7) {
                continue;
            }
            // A checkpoint without the load, the load, and the power is lost at once.
            reopened.checkpoint().unwrap();
            let rows = load_of(9_999, &SimRandom::new(seed));
            let mut bulk = reopened.store().bulk();
            fill(&mut bulk, &rows, rows.len()).unwrap();
            let mut next = reopened.begin(Isolation::ReadCommitted);
            next.attach(bulk.finish().unwrap()).unwrap();
            let commit = next.commit(meta(&format!("commit {}", found + 1))).unwrap();
            assert_eq!(commit.csn.0 as usize, found + 1, "{what}");
            let mut expected = told.states[found].clone();
            expected.extend(rows);
            let image = image.image(image.op_count(), &CrashPolicy::SyncedOnly, seed);
            let again = try_open(&Env::sim(&image, seed + 2), small())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(state_of(&again, commit.csn), expected, "{what}: after going on");
            no_orphans(&again, &image, &what);
            reopenings += 1;
        }
    }
    println!("{reopenings} reopenings, {} commits, {} loads", told.states.len() - 1, run.loads);
    assert!(reopenings >= 3_000, "{reopenings} reopenings");
    assert!(run.loads >= 15, "{} loads", run.loads);
}

/// Power is lost, and lost again at every operation of the recovery and of the checkpoint after it:
/// recovery takes nothing away that the next one would need.
#[test]
fn power_loss_inside_recovery() {
    let seed = seed(23);
    let disk = SimVfs::new(seed);
    let engine = try_open(&Env::sim(&disk, seed), small()).unwrap();
    let mut run = Run::new(&engine, &disk, seed);
    for _ in 0..40 {
        run.step().unwrap();
    }
    let told = run.told;
    let policies = [CrashPolicy::Everything, CrashPolicy::Torn512, CrashPolicy::Reordered];
    let (mut inside, mut after) = (0, 0);
    for at in (0..=disk.op_count()).step_by(3) {
        let policy = policies[at % 3];
        let image = disk.image(at, &policy, seed);
        let (least, most) = told.bounds(at);
        let recovered = try_open(&Env::sim(&image, seed + 1), small()).unwrap();
        let recovery = image.op_count();
        // A second power loss may not take back a commit that was shown once.
        let shown = recovered.visible().0 as usize;
        recovered.checkpoint().unwrap();
        for again in 0..=image.op_count() {
            let second = CrashPolicy::ALL[again % CrashPolicy::ALL.len()];
            let what = format!(
                "seed {seed}, {policy:?} after operation {at}, then {second:?} after {again}"
            );
            let image = image.image(again, &second, seed);
            let reopened = try_open(&Env::sim(&image, seed + 2), small())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let least = if again < recovery { least } else { shown };
            check(&reopened, &told, (least, most), &what);
            no_orphans(&reopened, &image, &what);
        }
        inside += recovery;
        after += image.op_count() - recovery + 1;
    }
    println!("{inside} crashes inside recovery, {after} after it");
    assert!(inside >= 400 && after >= 900, "{inside} inside recovery, {after} after it");
}

/// Whichever operation fails, once or from then on: a load that could not be written is not there, what
/// was acknowledged is, and once the disk is well again the files of failed loads are gone.
#[test]
fn every_nth_operation_of_bulk_loads_fails() {
    let seed = seed(22);
    let mut failures = 0;
    let kinds = [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite];
    for (kind, once) in kinds.into_iter().flat_map(|kind| [(kind, true), (kind, false)]) {
        for nth in 0.. {
            let what = format!("seed {seed}, {kind:?} at {nth}, once: {once}");
            let disk = SimVfs::new(seed);
            let env = Env::sim(&disk, seed);
            let engine = try_open(&env, small()).unwrap();
            disk.fail(FaultPlan { nth, kind, once, on: OpClasses::CHANGES });
            let mut run = Run::new(&engine, &disk, seed);
            for _ in 0..25 {
                match run.step() {
                    Ok(()) => {}
                    Err(TxnError::OutcomeUnknown { .. }) => break,
                    // The step did not happen, and the next one may well.
                    Err(error) => {
                        assert!(matches!(error.sqlstate(), "58030" | "53100"), "{what}: {error}")
                    }
                }
            }
            let Run { told, .. } = run;
            let known = told.acknowledged.len();
            assert_eq!(engine.visible().0 as usize, known, "{what}: only what was acknowledged");
            assert_eq!(
                state_of(&engine, engine.visible()),
                told.states[known],
                "{what}: reads go on"
            );
            if disk.faults_hit() == 0 {
                assert!(nth > 100, "{what}: the workload has more operations than that");
                break;
            }
            failures += 1;
            drop(engine);
            disk.heal();
            let reopened =
                try_open(&env, small()).unwrap_or_else(|error| panic!("{what}: {error}"));
            check(&reopened, &told, (known, told.begun.len()), &what);
            no_orphans(&reopened, &disk, &what);
        }
    }
    println!("{failures} failures");
    assert!(failures > 600, "{failures} failures");
}

/// A transaction that loads and writes nothing else is a commit all the same.
#[test]
fn a_load_alone_is_a_commit() {
    let disk = SimVfs::unrecorded();
    let engine = try_open(&Env::sim(&disk, 1), small()).unwrap();
    let mut bulk = engine.store().bulk();
    bulk.put(T, b"k", b"v").unwrap();
    let mut txn = engine.begin(Isolation::ReadCommitted);
    txn.attach(bulk.finish().unwrap()).unwrap();
    assert!(!txn.is_read_only());
    let commit = txn.commit(meta("load")).unwrap();
    assert_eq!(state_of(&engine, commit.csn), State::from([(b"k".to_vec(), b"v".to_vec())]));
}

/// The syncs of a load's files and of their directory are needed, each of them: where one silently does
/// nothing, the log names after a power loss what is not there.
#[test]
fn every_sync_of_a_load_is_needed() {
    let survives = |lie: Option<(Mutation, usize)>| {
        let disk = SimVfs::new(1);
        let engine = try_open(&Env::sim(&disk, 1), small()).unwrap();
        if let Some((what, nth)) = lie {
            disk.disable(what, Which::Nth(nth));
        }
        let rows = load_of(1, &SimRandom::new(3));
        let mut bulk = engine.store().bulk();
        fill(&mut bulk, &rows, rows.len()).unwrap();
        let mut txn = engine.begin(Isolation::ReadCommitted);
        txn.attach(bulk.finish().unwrap()).unwrap();
        assert_eq!(disk.faults_hit(), usize::from(lie.is_some()), "{lie:?} happens in the load");
        txn.commit(meta("load")).unwrap();
        let image = disk.image(disk.op_count(), &CrashPolicy::SyncedOnly, 1);
        let reopened = try_open(&Env::sim(&image, 2), small());
        reopened.is_ok_and(|engine| state_of(&engine, engine.visible()) == rows)
    };
    assert!(survives(None), "an honest disk loses nothing");
    for lie in [(Mutation::SyncAll, 0), (Mutation::SyncAll, 1), (Mutation::SyncDir, 0)] {
        assert!(!survives(Some(lie)), "nobody misses {lie:?}");
    }
}
