//! A workload of SQL over a disk whose n-th operation fails, for one n after the other.
//!
//! ```text
//!   statements   CREATE  INSERT  BEGIN..COMMIT  COPY  UPDATE  ...      the disk is sound: states 0 1 2 3 4 5
//!   operations   w s   w s w   s   r w ...
//!                            ^ EIO, ENOSPC, half a write              the statement fails: 58030, 53100
//!   afterwards   reads show the last acknowledged state; writes are refused, and say why
//!   reopened     that state, or the one whose outcome was unknown; writes are taken again
//! ```
//!
//! A failure that only put off work (a flush, a merge) may show in no statement at all; then all that
//! was acknowledged is there the same.

use std::path::Path;
use std::sync::Arc;

use session::{Done, Error, Instance, Options, Session, Status};
use txn::EngineOptions;
use types::SqlState;
use vfs::{CrashPolicy, Env, FaultKind, FaultPlan, OpClasses, SimVfs};

use crate::client::{TextOutput, connect};

const SEED: u64 = 11;

/// Statements, each of which ends with a commit that is waited for; several in one make a block. At a
/// checkpoint, memory is written to the store's files, which the server does when it is time to.
fn workload() -> Vec<String> {
    let mut steps = vec![
        "create table account (id int primary key, owner text, balance int check (balance >= 0))"
            .to_owned(),
        "create index on account (balance)".to_owned(),
        "create table entry (id bigint generated always as identity primary key,
            account int references account on delete cascade, amount int, note text)"
            .to_owned(),
        "insert into account select g, 'owner ' || g, 100 from generate_series(1, 40) g".to_owned(),
    ];
    for n in 1..=21_u32 {
        if n % 4 == 0 {
            steps.push("checkpoint".to_owned());
        }
        let (from, to) = (1 + n % 40, 1 + (n * 7) % 40);
        let pad = "x".repeat(n as usize * 37 % 400);
        steps.push(format!(
            "begin; update account set balance = balance - {n} where id = {from};
             savepoint s; update account set balance = -1 where id = {to}; rollback to s;
             savepoint t; update account set balance = balance + 1 where id = {to}; release t;
             savepoint t; update account set balance = balance - 1 where id = {to}; release t;
             update account set balance = balance + {n} where id = {to};
             insert into entry (account, amount, note) values ({from}, -{n}, '{pad}'), ({to}, {n}, '{pad}');
             commit"
        ));
        steps.push(match n % 7 {
            0 => format!("alter table account add column extra{n} int default {n}"),
            1 => format!("copy account (id, owner, balance) from stdin;{}", 100 + n * 10),
            2 => "create index on entry (amount)".to_owned(),
            3 => format!("delete from account where id = {}", 20 + n),
            4 => "update entry set note = upper(note) where amount < 0".to_owned(),
            5 => format!("create table side{n} as select * from entry"),
            _ => format!("delete from entry where amount = {n}"),
        });
    }
    steps
}

/// Small files, and no threads, so that the n-th operation is the same one every time.
fn open(env: &Env) -> Result<Arc<Instance>, Error> {
    open_with(env, EngineOptions::default().large_bytes)
}

/// The same; transactions beyond so many bytes write to files.
fn open_with(env: &Env, large_bytes: usize) -> Result<Arc<Instance>, Error> {
    let mut engine = EngineOptions::default();
    engine.large_bytes = large_bytes;
    engine.store.background = false;
    engine.store.memtable_bytes = 16 << 10;
    engine.log.segment_bytes = 16 << 10;
    engine.log.first_bytes = 4 << 10;
    engine.log.first_count = 2;
    engine.log.background = false;
    let options = Options {
        env: env.clone(),
        settings: Vec::new(),
        memory_bytes_max: 64 << 20,
        memory_total_bytes: None,
        defaults: Vec::new(),
        folder: None,
        temporary: None,
    };
    Instance::open_at(Path::new("db"), engine, options)
}

/// Runs a step as a client would: after an error that is allowed to be, the block goes on.
fn step(instance: &Arc<Instance>, session: &mut Session, text: &str) -> Result<(), Error> {
    if text == "checkpoint" {
        return Ok(instance.engine().checkpoint()?);
    }
    if let Some((copy, start)) = text.split_once("stdin;") {
        let start: u32 = start.parse().expect("a number");
        let statement = session.read(&format!("{copy}stdin"))?.pop().expect("one");
        let mut portal = session.start(statement, true)?;
        session.execute(&mut portal, 0, &mut TextOutput::default())?;
        for id in start..start + 9 {
            session.copy_in(format!("{id}\tcopied\t{id}\n").as_bytes())?;
        }
        session.copy_end()?;
        return finish(session);
    }
    for part in text.split(';') {
        let done = ask(session, part.trim());
        match done {
            Err(error) if error.state().code() == "23514" => session.fail(),
            done => done.map(drop)?,
        }
    }
    Ok(())
}

/// Runs one statement to the end, its commit included.
fn ask(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let mut kept = TextOutput::default();
    for statement in session.read(text)? {
        let mut portal = session.start(statement, true)?;
        while session.execute(&mut portal, 0, &mut kept)? == Done::Blocked {
            session.set_inline(false);
        }
    }
    finish(session)?;
    Ok(kept.0)
}

fn finish(session: &mut Session) -> Result<(), Error> {
    session.end()?;
    match session.take_commit() {
        Some(commit) => Ok(commit.wait().map(drop)?),
        None => Ok(()),
    }
}

/// Everything that is there: tables, rows by scan, rows by index.
fn state(session: &mut Session) -> Vec<String> {
    let tables =
        "select relname from pg_class where relkind in ('r', 'i') and oid >= 16384 order by 1";
    let mut state = ask(session, tables).expect("the catalog can be read");
    for (table, questions) in [
        (
            "account",
            [
                "select * from account order by id",
                "select id from account where balance = 100 order by id",
            ],
        ),
        (
            "entry",
            [
                "select account, amount, note from entry order by 1, 2, 3",
                "select account from entry where amount = 3 order by 1",
            ],
        ),
    ] {
        if state.iter().any(|name| name == table) {
            for question in questions {
                state.extend(ask(session, question).expect("tables can be read"));
            }
            // Rows are counted by the commits, and so after any of them, whatever the disk did.
            let counted = format!(
                "select (select count(*) from {table}) - reltuples from pg_class where relname = '{table}'"
            );
            assert_eq!(ask(session, &counted).expect("rows are counted"), ["0"], "{table}");
        }
    }
    state
}

/// The state before the workload and after each of its steps, on a sound disk.
fn sound(steps: &[String]) -> Vec<Vec<String>> {
    sound_with(steps, EngineOptions::default().large_bytes)
}

fn sound_with(steps: &[String], large_bytes: usize) -> Vec<Vec<String>> {
    let env = Env::sim(&SimVfs::unrecorded(), SEED);
    let instance = open_with(&env, large_bytes).expect("a new database opens");
    let mut session = connect(&instance);
    let mut states = vec![state(&mut session)];
    for text in steps {
        step(&instance, &mut session, text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        states.push(state(&mut session));
    }
    states
}

/// Which operations fail, how, and with which codes the statement may fail that needed them.
struct Failing {
    kind: FaultKind,
    on: OpClasses,
    /// Only that operation, or all from it on.
    once: bool,
    states: &'static [&'static str],
    /// Every so many operations are tried.
    stride: usize,
}

/// Where nearly every transaction is a large one, whose writes go to files while it runs, every statement
/// does the same.
#[test]
fn large_transactions_do_what_small_ones_do() {
    let steps = workload();
    let expected = sound(&steps);
    for large_bytes in [16, 300, 4_000] {
        for (step, (large, small)) in
            sound_with(&steps, large_bytes).iter().zip(&expected).enumerate()
        {
            assert_eq!(large, small, "{large_bytes} bytes, after step {step}");
        }
    }
}

#[test]
fn the_disk_is_full_or_fails() {
    let steps = workload();
    let states = sound(&steps);
    let (eio, full): (&[&str], &[&str]) = (&["58030"], &["53100"]);
    let (changes, sync) = (OpClasses::CHANGES, OpClasses::SYNC);
    let grows = OpClasses::WRITE | OpClasses::CREATE;
    let reads = OpClasses::READ | OpClasses::OPEN;
    use FaultKind::{Eio, Enospc, ShortWrite};
    for failing in [
        Failing { kind: Eio, on: changes, once: true, states: eio, stride: 2 },
        Failing { kind: Enospc, on: grows, once: true, states: full, stride: 2 },
        Failing { kind: Enospc, on: grows, once: false, states: full, stride: 2 },
        Failing { kind: ShortWrite, on: OpClasses::WRITE, once: true, states: full, stride: 2 },
        Failing { kind: Eio, on: sync, once: true, states: eio, stride: 1 },
        Failing { kind: Eio, on: changes, once: false, states: eio, stride: 2 },
        Failing { kind: Eio, on: reads, once: true, states: eio, stride: 1 },
    ] {
        let (mut cases, mut poisoned) = (0, 0);
        for nth in (0..).step_by(failing.stride) {
            match case(&failing, nth, &steps, &states) {
                Outcome::Untouched => break,
                Outcome::Poisoned => poisoned += 1,
                Outcome::PutOff => {}
            }
            cases += 1;
        }
        let Failing { kind, on, once, .. } = failing;
        println!("{kind:?} {on:?} once {once}: {cases} cases, {poisoned} of them stop all writing");
        assert!(cases > 9, "the workload has more operations than that");
    }
}

enum Outcome {
    /// There were not so many operations.
    Untouched,
    /// Nothing more was written until the database was opened again.
    Poisoned,
    /// No statement failed, or the one that did went well when it was tried again.
    PutOff,
}

fn case(failing: &Failing, nth: usize, steps: &[String], states: &[Vec<String>]) -> Outcome {
    let Failing { kind, on, once, .. } = *failing;
    let what = format!("{kind:?} of {on:?} at {nth}, once: {once}");
    let disk = SimVfs::unrecorded();
    let env = Env::sim(&disk, SEED);
    let instance = open(&env).expect("a new database opens");
    let mut session = connect(&instance);
    // As the server does where nothing may block: commits are ordered, and waited for later.
    session.set_inline(nth % 2 == 1);
    disk.fail(FaultPlan { nth, kind, once, on });
    let mut done = 0;
    let mut outcome = Outcome::PutOff;
    let mut failed_before = None;
    while done < steps.len() {
        let Err(error) = step(&instance, &mut session, &steps[done]) else {
            done += 1;
            continue;
        };
        session.fail();
        assert!(
            failing.states.contains(&error.state().code()),
            "{what}: {}: {error:?}",
            steps[done]
        );
        if session.status() == Status::Failed {
            ask(&mut session, "rollback").unwrap_or_else(|error| panic!("{what}: {error:?}"));
        }
        assert_eq!(session.status(), Status::Idle, "{what}");
        assert!(disk.faults_hit() > 0, "{what}: {error:?}");
        // A checkpoint is nobody's statement: what it could not do is put off, or refuses later ones.
        if steps[done] == "checkpoint" {
            done += 1;
            continue;
        }
        let is_second = failed_before.replace(done) == Some(done);
        if instance.engine().stats().poisoned.is_some() || !once || is_second {
            refuses(&mut session, failing, &what);
            assert_eq!(state(&mut session), states[done], "{what}: reads go on");
            let mut other = connect(&instance);
            assert_eq!(state(&mut other), states[done], "{what}: others read the same");
            outcome = Outcome::Poisoned;
            break;
        }
        // That operation alone failed: the same statement goes well now.
        assert_eq!(state(&mut session), states[done], "{what}: nothing of it happened");
    }
    if disk.faults_hit() == 0 {
        return Outcome::Untouched;
    }
    drop((session, instance));
    disk.heal();
    let instance = open(&env).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let mut session = connect(&instance);
    let found = state(&mut session);
    let unknown = states.get(done + 1).filter(|_| matches!(outcome, Outcome::Poisoned));
    let at = if unknown == Some(&found) { done + 1 } else { done };
    assert_eq!(found, states[at], "{what}: after it was opened again, step {done}");
    if let Some(next) = steps.get(at) {
        step(&instance, &mut session, next)
            .unwrap_or_else(|error| panic!("{what}: {next}: {error:?}"));
        assert_eq!(state(&mut session), states[at + 1], "{what}: it is written to again");
    }
    outcome
}

/// Writes of every kind are refused with a word on the reason.
fn refuses(session: &mut Session, failing: &Failing, what: &str) {
    for write in
        ["create table late (n int)", "create sequence late", "insert into account values (999)"]
    {
        let Err(error) = ask(session, write) else { panic!("{what}: {write} was acknowledged") };
        session.fail();
        // The table may not be there yet.
        if error.state().code() == "42P01" {
            continue;
        }
        assert!(failing.states.contains(&error.state().code()), "{what}: {write}: {error:?}");
        assert!(error.message().contains("cannot"), "{what}: {write}: {error:?}");
    }
}

/// A disk that fails while a database is opened: an error, and once it works again all is there.
#[test]
fn the_disk_fails_while_opening() {
    let steps = workload();
    let states = sound(&steps);
    let disk = SimVfs::unrecorded();
    let env = Env::sim(&disk, SEED);
    let instance = open(&env).expect("a new database opens");
    let mut session = connect(&instance);
    steps.iter().for_each(|text| step(&instance, &mut session, text).expect("the disk is sound"));
    drop((session, instance));
    let mut failures = 0;
    for (kind, on) in [(FaultKind::Eio, OpClasses::ALL), (FaultKind::Enospc, OpClasses::CHANGES)] {
        for nth in 0.. {
            disk.fail(FaultPlan { nth, kind, once: true, on });
            let hit = disk.faults_hit();
            let opened = open(&env);
            let is_over = disk.faults_hit() == hit;
            disk.heal();
            let instance = match opened {
                Ok(instance) => instance,
                Err(error) => {
                    failures += 1;
                    let wanted = if kind == FaultKind::Eio { "58030" } else { "53100" };
                    assert_eq!(error.state().code(), wanted, "{kind:?} at {nth}: {error:?}");
                    open(&env).unwrap_or_else(|error| panic!("{kind:?} at {nth}: {error:?}"))
                }
            };
            let found = state(&mut connect(&instance));
            assert_eq!(Some(&found), states.last(), "{kind:?} at {nth}");
            if is_over {
                break;
            }
        }
    }
    println!("{failures} times it did not open");
    assert!(failures > 10, "{failures} failures");
}

/// A full disk refuses what there is no room for, says so, and is full no longer once there is room:
/// nothing need be opened again.
#[test]
fn a_full_disk_takes_no_more_and_goes_on_when_there_is_room() {
    let mut refused = 0;
    for left in (0..48).map(|n| n * 1_500) {
        let disk = SimVfs::new(SEED);
        let env = Env::sim(&disk, SEED);
        let instance = open(&env).expect("a new database opens");
        let mut session = connect(&instance);
        ask(&mut session, "create table t (id int primary key, note text)").expect("made");
        ask(&mut session, "create index on t (note)").expect("made");
        disk.leave(left);
        let mut there = Vec::new();
        let mut insert = |session: &mut Session, id: i32| {
            let done = ask(session, &format!("insert into t values ({id}, repeat('{id}', 300))"));
            if done.is_ok() {
                there.push(id.to_string());
            }
            assert_eq!(ask(session, "select id from t order by id").expect("reads go on"), there);
            done.map(drop)
        };
        for id in 100..180 {
            if let Err(error) = insert(&mut session, id) {
                assert_eq!(error.state(), SqlState::DISK_FULL, "{error:?}");
                refused += 1;
            }
        }
        disk.leave(u64::MAX);
        for id in 200..210 {
            insert(&mut session, id).expect("there is room again");
        }
        let image = disk.image(disk.op_count(), &CrashPolicy::SyncedOnly, SEED);
        let instance = open(&Env::sim(&image, SEED)).expect("opens after a power loss");
        let mut session = connect(&instance);
        assert_eq!(ask(&mut session, "select id from t order by id").expect("read"), there);
        let by_note = "select id from t where note >= '1' order by id";
        assert_eq!(ask(&mut session, by_note).expect("read by the index"), there);
    }
    assert!(refused > 1_000, "only {refused} statements found the disk full");
}
