//! A backup of a database in use has one commit of it, whatever breaks off the copy; its archive brings back every
//! commit since.
//!
//! ```text
//!   leader     steps of the follower's tests      the answers after each step, by commit
//!   target     copy ──> follow ──> ...            power lost at any operation; copied and followed again
//!   restored   to any of these commits            the same answers
//! ```

use super::follower::{answers, definition, open, same, step};
use crate::{
    BackupError, BackupFolder, BackupMark, BackupPlan, BackupSource, CopyPace, Csn, Database,
    Error, LocalSource, LogBatch, RestoreTo, Result,
};
use std::collections::BTreeMap;
use std::path::Path;
use vfs::{CrashPolicy, Env, SimRandom, SimVfs, Vfs};

const TARGET: &str = "/backup";

/// A leader with some tables, and its answers by commit.
struct Leader {
    database: Database,
    random: SimRandom,
    told: BTreeMap<Csn, Vec<String>>,
}

impl Leader {
    fn new(seed: u64) -> Leader {
        let database = open(&Env::sim(&SimVfs::unrecorded(), seed), false);
        database.instance().expect("it has a catalog from its first commit on");
        for table in ["plain", "other", "docs", "brief"] {
            database.sql(&definition(table), &[]).expect("it is made");
        }
        Leader { database, random: SimRandom::new(seed), told: BTreeMap::new() }
    }

    fn steps(&mut self, count: usize) {
        for _ in 0..count {
            step(&self.database, &self.random, 3);
            self.told.insert(self.database.newest(), answers(&self.database));
        }
    }

    fn source(&self) -> LocalSource {
        LocalSource::new(self.database.clone())
    }
}

fn target(env: &Env) -> BackupFolder {
    BackupFolder::open_env(env, Path::new(TARGET)).expect("it is ours")
}

fn copy(folder: &mut BackupFolder, source: &mut dyn BackupSource) -> Result<BackupMark> {
    folder.copy(source, CopyPace::default(), &mut |done, total| {
        assert!(done <= total);
        Ok(())
    })
}

/// Follows until the archive has all up to a commit.
fn follow(folder: &mut BackupFolder, source: &mut dyn BackupSource, upto: Csn) -> Result<()> {
    folder.follow(source, &mut |end| end.csn < upto)
}

/// The answers of what is restored to a moment.
fn restored(env: &Env, to: RestoreTo) -> Result<(Csn, Vec<String>)> {
    let random = env.random.next_u64();
    let folder = format!("/restored-{random}");
    let database = Database::restore_env(env, Path::new(TARGET), Path::new(&folder), to, |_| ())?;
    Ok((database.newest(), answers(&database)))
}

/// A backup that is followed can be restored to each commit since, by its number and by its time, and to no other
/// moment. The server merges files and cuts its log meanwhile.
#[test]
fn an_archive_restores_every_commit_since_the_backup() {
    vfs::seeds(81, 2, |seed| {
        let mut leader = Leader::new(seed);
        leader.steps(25);
        let env = Env::sim(&SimVfs::unrecorded(), seed + 1);
        let mut source = leader.source();
        let mut folder = target(&env);
        let base = copy(&mut folder, &mut source).expect("it copies");
        assert_eq!(base.csn, leader.database.newest());
        leader.told.insert(base.csn, answers(&leader.database));
        for round in 0..4 {
            leader.steps(8);
            follow(&mut folder, &mut source, leader.database.newest()).expect("it follows");
            match round {
                0 => leader.database.compact().expect("merges, and cuts the log"),
                // The process that follows is another one now.
                1 => {
                    folder = {
                        drop(folder);
                        target(&env)
                    }
                }
                _ => leader.database.checkpoint().expect("cuts the log"),
            }
        }
        drop(folder);
        let newest = leader.database.newest();
        for (csn, told) in leader.told.range(base.csn..) {
            let (found, answers) = restored(&env, RestoreTo::Csn(*csn)).expect("it restores");
            assert_eq!(found, *csn);
            same(&answers, told, &format!("seed {seed}, commit {}", csn.0));
        }
        let commits = leader.database.commits(base.csn, newest, false);
        for commit in commits.map(|commit| commit.expect("known")).step_by(5) {
            let (found, _) = restored(&env, RestoreTo::Time(commit.time_us)).expect("restores");
            assert_eq!(found, commit.csn);
            if commit.csn > base.csn {
                let before = restored(&env, RestoreTo::Time(commit.time_us - 1)).expect("restores");
                assert_eq!(before.0, Csn(commit.csn.0 - 1));
            }
        }
        assert_eq!(restored(&env, RestoreTo::Newest).expect("restores").0, newest);
        for to in [
            RestoreTo::Csn(Csn(base.csn.0 - 1)),
            RestoreTo::Csn(Csn(newest.0 + 1)),
            RestoreTo::Time(base.time_us - 1),
            RestoreTo::Time(base.time_us + 100_000_000_000_000),
        ] {
            match restored(&env, to) {
                Err(Error::Backup(BackupError::OutOfRange { from, to, .. })) => {
                    assert_eq!((from, to.csn), (base, newest));
                }
                other => panic!("{to:?}: {other:?}"),
            }
        }
    });
}

/// The target loses power after each operation in turn. The copy and the archive then go on with the files that are
/// whole: no acknowledged commit is lost, and the restored database equals its leader.
#[test]
fn the_target_loses_power_at_any_moment() {
    let mut leader = Leader::new(91);
    leader.steps(20);
    let disk = SimVfs::new(91);
    let env = Env::sim(&disk, 92);
    let mut folder = target(&env);
    let mut source = leader.source();
    let base = copy(&mut folder, &mut source).expect("it copies");
    let copied = disk.op_count();
    leader.told.insert(base.csn, answers(&leader.database));
    // The commits that the source knows to be durable, after so many operations of the target.
    let mut acknowledged = vec![(copied, base.csn)];
    for _ in 0..3 {
        leader.steps(4);
        let newest = leader.database.newest();
        follow(&mut folder, &mut source, newest).expect("it follows");
        acknowledged.push((disk.op_count(), newest));
    }
    drop(folder);
    let (mut begun, mut whole) = (0, 0);
    for at in 0..=disk.op_count() {
        let policy = CrashPolicy::ALL[at % CrashPolicy::ALL.len()];
        let found = disk.image(at, &policy, at as u64);
        let env = Env::sim(&found, at as u64);
        let what = format!("after {at} operations, {policy:?}");
        let mut folder = target(&env);
        let known = acknowledged.iter().rev().find(|(ops, _)| *ops <= at).map(|(_, csn)| *csn);
        match folder.base() {
            None => {
                begun += 1;
                assert_eq!(known, None, "{what}: a whole backup is gone");
                drop(folder);
                let refused = restored(&env, RestoreTo::Newest);
                assert!(refused.is_err(), "{what}: half a backup was restored");
                let mut folder = target(&env);
                copy(&mut folder, &mut leader.source()).unwrap_or_else(|e| panic!("{what}: {e}"));
            }
            Some(mark) => {
                whole += 1;
                assert_eq!(mark, base, "{what}");
                if at % 7 == 0 {
                    drop(folder);
                    // The last that the source was told of, before it gives anything again.
                    let csn = known.unwrap_or(base.csn);
                    let (found, told) = restored(&env, RestoreTo::Csn(csn))
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(found, csn, "{what}");
                    same(&told, &leader.told[&csn], &what);
                    folder = target(&env);
                }
                let newest = leader.database.newest();
                follow(&mut folder, &mut leader.source(), newest)
                    .unwrap_or_else(|e| panic!("{what}: {e}"));
                drop(folder);
            }
        }
        if at % 5 == 0 {
            let (_, told) = restored(&env, RestoreTo::Newest).expect("restores");
            same(&told, &answers(&leader.database), &what);
        }
    }
    assert!(begun > 10 && whole > 10, "{begun} begun, {whole} whole");
}

/// A source that damages some of the bytes that it gives, or is lost now and then.
struct Unsound<'a> {
    source: LocalSource,
    random: &'a SimRandom,
    /// One read in so many is damaged; 0 for none.
    damaged: u64,
    /// One call in so many finds no server; 0 for none.
    lost: u64,
    hits: u64,
}

impl Unsound<'_> {
    fn call(&mut self) -> Result<()> {
        if self.lost > 0 && self.random.below(self.lost) == 0 {
            self.hits += 1;
            return Err(BackupError::Lost("a test".to_owned()).into());
        }
        Ok(())
    }
}

impl BackupSource for Unsound<'_> {
    fn begin(&mut self) -> Result<BackupPlan> {
        self.call()?;
        self.source.begin()
    }

    fn read(&mut self, name: &str, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.call()?;
        self.source.read(name, offset, bytes)?;
        if self.damaged > 0 && self.random.below(self.damaged) == 0 {
            let at = self.random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << self.random.below(8);
            self.hits += 1;
        }
        Ok(())
    }

    fn follow(&mut self, after: Csn, time_us: u64) -> Result<()> {
        self.call()?;
        self.source.follow(after, time_us)
    }

    fn records(&mut self, after: Csn) -> Result<LogBatch> {
        self.call()?;
        self.source.records(after)
    }

    fn end(&mut self) {
        self.source.end();
    }
}

/// A byte that was damaged on the way is found, and the file is copied again; what is damaged each time makes no
/// backup. A source that is lost again and again loses and doubles nothing.
#[test]
fn damage_on_the_way_is_found() {
    let mut leader = Leader::new(95);
    leader.steps(20);
    let random = SimRandom::new(95);
    let unsound = |damaged, lost| Unsound {
        source: leader.source(),
        random: &random,
        damaged,
        lost,
        hits: 0,
    };
    let mut env = Env::sim(&SimVfs::unrecorded(), 96);
    let mut folder = target(&env);
    let always = copy(&mut folder, &mut unsound(1, 0));
    assert!(matches!(always, Err(Error::Store(_))), "{always:?}");
    assert_eq!(folder.base(), None);
    let mut sometimes = unsound(2, 2);
    for round in 0..8 {
        let mut tries = 0;
        while copy(&mut folder, &mut sometimes).is_err() {
            tries += 1;
            assert!(tries < 500, "it never comes through");
        }
        if round < 7 {
            env = Env::sim(&SimVfs::unrecorded(), 97 + round);
            folder = target(&env);
        }
    }
    assert!(sometimes.hits > 3, "else it proves little: {}", sometimes.hits);
    let mut source = Unsound { damaged: 3, lost: 3, hits: 0, ..sometimes };
    for _ in 0..5 {
        for _ in 0..6 {
            step(&leader.database, &leader.random, 3);
        }
        let newest = leader.database.newest();
        while let Err(error) = follow(&mut folder, &mut source, newest) {
            let passes = matches!(error, Error::Backup(BackupError::Lost(_)) | Error::Store(_));
            assert!(passes, "{error}");
        }
    }
    assert!(source.hits > 3, "else it proves little: {}", source.hits);
    drop(folder);
    let (found, told) = restored(&env, RestoreTo::Newest).expect("restores");
    assert_eq!(found, leader.database.newest());
    same(&told, &answers(&leader.database), "after losses");
}

/// An archive goes on with its own database alone: not with another one, and not with one that was restored to a
/// moment before and went on otherwise. One whose log is gone says so.
#[test]
fn an_archive_knows_its_database() {
    let mut leader = Leader::new(97);
    leader.steps(10);
    let env = Env::sim(&SimVfs::unrecorded(), 98);
    let mut folder = target(&env);
    copy(&mut folder, &mut leader.source()).expect("it copies");
    leader.steps(5);
    let newest = leader.database.newest();
    follow(&mut folder, &mut leader.source(), newest).expect("a copy goes on by its commit alone");
    let mut other = Leader::new(99);
    other.steps(40);
    let refused = follow(&mut folder, &mut other.source(), Csn::MAX);
    let is_refused =
        |error: &Error| matches!(error, Error::Engine(crate::EngineError::OtherHistory { .. }));
    assert!(refused.as_ref().is_err_and(is_refused), "{refused:?}");
    // No follower holds the log here.
    for _ in 0..2 {
        leader.steps(10);
        leader.database.engine().scrub().expect("begins the log anew");
    }
    let gone = follow(&mut folder, &mut leader.source(), Csn::MAX);
    let is_gone =
        |error: &Error| matches!(error, Error::Engine(crate::EngineError::LogGone { .. }));
    assert!(gone.as_ref().is_err_and(is_gone), "{gone:?}");
    drop(folder);
    assert_eq!(restored(&env, RestoreTo::Newest).expect("what is there stays").0, newest);
}

/// A folder with something else in it is refused and left as it is; so is one that another process writes to.
#[test]
fn only_a_folder_of_its_own_is_written_to() {
    let leader = Leader::new(101);
    let disk = SimVfs::unrecorded();
    let env = Env::sim(&disk, 102);
    disk.create_dir_all(Path::new(TARGET)).expect("made");
    let notes = Path::new(TARGET).join("notes.txt");
    disk.open(&notes, vfs::OpenMode::CreateNew).expect("made");
    let refused = BackupFolder::open_env(&env, Path::new(TARGET)).map(drop);
    assert!(matches!(refused, Err(Error::Exists(_))), "{refused:?}");
    assert_eq!(disk.files().len(), 1);
    disk.remove(&notes).expect("removed");
    let mut folder = target(&env);
    let refused = BackupFolder::open_env(&env, Path::new(TARGET)).map(drop);
    assert!(matches!(refused, Err(Error::Backup(BackupError::InUse { .. }))), "{refused:?}");
    copy(&mut folder, &mut leader.source()).expect("it copies");
    let again = copy(&mut folder, &mut leader.source());
    assert!(matches!(again, Err(Error::Exists(_))), "{again:?}");
}
