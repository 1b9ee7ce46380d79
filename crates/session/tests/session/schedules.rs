//! Interleavings of sessions as text: steps in an order, and the result of each.
//!
//! ```text
//!   schedule lost update at repeatable read     each in a database of its own; the level is what
//!   setup: create table t (id int, n int);      transactions have that do not name one
//!   a: begin;
//!     -> BEGIN                                  what a step gives: rows, a tag or an error
//!   b: delete from t where id = 1;              a session begins where it is first named
//!     -> waits                                  for another session
//!   a: commit;
//!     -> COMMIT
//!     -> b: DELETE 1                            what ended because of the step
//!   a! select pg_advisory_lock(1);              its end is awaited, however long that takes
//! ```
//!
//! Lines that begin with `#` say why. `ANYWHEN_BLESS=1 cargo test -p session schedules` writes what
//! stands behind arrows anew: look at the difference. The answers are those of PostgreSQL 17; where
//! they are not, a line with `#` begins with "PostgreSQL" and tells what it does and why it differs.
//!
//! Every schedule runs twice: once on threads that may wait, and once as the server runs it, where a
//! statement that would wait is taken back and begun again on such a thread. Both give the same.
//!
//! That a step waits is not guessed from time: as many transactions stand in queues of the lock
//! manager as statements have not ended. Advisory locks have no such queues; a session that waits for
//! them is in `pg_locks`, and is watched for a little longer than it takes to wake.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use session::{Done, Error, Instance, Session};

use crate::client::{TextOutput, connect, instance};

/// How long steps may take until something is wrong.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest time that a session needs to see that an advisory lock is free, and more.
const ADVISORY_WAKE: Duration = Duration::from_millis(60);

/// Every schedule gives what its file says, whether its sessions may wait or not.
#[test]
fn schedules_give_their_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/schedules");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the schedules are there")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are schedules");
    let mut failed = Vec::new();
    for file in files {
        let mut wanted = std::fs::read_to_string(&file).expect("a file can be read");
        for inline in [false, true] {
            let given = run_file(&wanted, inline);
            if std::env::var_os("ANYWHEN_BLESS").is_some() && !inline {
                std::fs::write(&file, &given).expect("answers can be written");
                wanted = given;
            } else if given != wanted {
                let how = if inline { "taken back, and begun again" } else { "waiting" };
                failed.push(format!("{how}: {}", crate::difference(&file, &wanted, &given)));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The text of a file with the answers that were given now.
fn run_file(text: &str, inline: bool) -> String {
    let mut given = String::new();
    let mut stage: Option<Stage> = None;
    for line in text.lines() {
        if line.starts_with("  ->") {
            continue;
        }
        given.push_str(line);
        given.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix("schedule ") {
            if let Some(stage) = stage.take() {
                stage.close(&mut given);
            }
            stage = Some(Stage::new(title, text.contains("advisory"), inline));
            continue;
        }
        let stage = stage.as_mut().expect("steps belong to a schedule");
        let end = line.find([':', '!']).expect("a step begins with the name of its session");
        let (name, text) = (&line[..end], line[end + 1..].trim());
        match name {
            "setup" => stage.set_up(text),
            name => stage.step(name, text, line.as_bytes()[end] == b'!', &mut given),
        }
    }
    if let Some(stage) = stage {
        stage.close(&mut given);
    }
    given
}

/// One schedule, with its database and its sessions.
struct Stage {
    title: String,
    level: Option<String>,
    inline: bool,
    instance: Arc<Instance>,
    /// Looks at advisory locks, where there are any.
    observer: Option<Session>,
    actors: BTreeMap<String, Actor>,
    answers: Receiver<(String, String)>,
    answer: Sender<(String, String)>,
}

/// A session on its thread.
struct Actor {
    steps: Sender<String>,
    /// True while a step has not ended.
    is_busy: bool,
    /// True while what it does may stand in a queue for good.
    may_wait: Arc<AtomicBool>,
}

impl Stage {
    fn new(title: &str, advisory: bool, inline: bool) -> Self {
        let level = title.split_once(" at ").map(|(_, level)| level.to_owned());
        let instance = instance();
        let observer = advisory.then(|| connect(&instance));
        let (answer, answers) = channel();
        let (title, actors) = (title.to_owned(), BTreeMap::new());
        Stage { title, level, inline, instance, observer, actors, answers, answer }
    }

    fn set_up(&mut self, text: &str) {
        let mut session = connect(&self.instance);
        let done = run(&mut session, text, false, &AtomicBool::new(false));
        assert!(!done.starts_with("error"), "{}: {text}: {done}", self.title);
    }

    fn actor(&mut self, name: &str) -> &mut Actor {
        let (instance, level, inline) = (&self.instance, &self.level, self.inline);
        let answer = &self.answer;
        self.actors.entry(name.to_owned()).or_insert_with(|| {
            let mut session = connect(instance);
            if let Some(level) = level {
                let text = format!("set default_transaction_isolation = '{level}'");
                run(&mut session, &text, false, &AtomicBool::new(false));
            }
            let (steps, to_do) = channel::<String>();
            let (answer, name) = (answer.clone(), name.to_owned());
            let may_wait = Arc::new(AtomicBool::new(false));
            let waits = Arc::clone(&may_wait);
            std::thread::spawn(move || {
                for text in to_do {
                    let given = run(&mut session, &text, inline, &waits);
                    if answer.send((name.clone(), given)).is_err() {
                        return;
                    }
                }
                drop(session);
                // The thread that closes the schedule waits until the session is gone.
                let _ = answer.send((name, String::new()));
            });
            Actor { steps, is_busy: false, may_wait }
        })
    }

    /// Runs a step until it, and all that waited before, has ended or waits.
    fn step(&mut self, name: &str, text: &str, to_its_end: bool, given: &mut String) {
        let title = self.title.clone();
        let actor = self.actor(name);
        assert!(!actor.is_busy, "{title}: {name} still waits before: {text}");
        actor.is_busy = true;
        actor.may_wait.store(false, Ordering::SeqCst);
        actor.steps.send(text.to_owned()).expect("the session lives");
        let mut ended = self.settle(to_its_end.then_some(name), text);
        let own = ended.remove(name);
        writeln!(given, "  -> {}", own.as_deref().unwrap_or("waits")).expect("it is a string");
        for (name, answer) in ended {
            writeln!(given, "  -> {name}: {answer}").expect("it is a string");
        }
    }

    /// Waits until every step has ended or stands in a queue; what ended.
    fn settle(&mut self, to_end: Option<&str>, text: &str) -> BTreeMap<String, String> {
        let began = Instant::now();
        let mut ended = BTreeMap::new();
        let mut still_since = None;
        loop {
            while let Ok((name, answer)) = self.answers.try_recv() {
                self.actors.get_mut(&name).expect("it has a name").is_busy = false;
                ended.insert(name, answer);
                still_since = None;
            }
            let busy = self.actors.values().filter(|actor| actor.is_busy);
            let busy: Vec<bool> = busy.map(|actor| actor.may_wait.load(Ordering::SeqCst)).collect();
            if busy.is_empty() {
                return ended;
            }
            let waiting = self.instance.engine().stats().waiting;
            let advisory = self.observer.as_mut().map_or(0, waiting_advisory);
            let all_wait = busy.iter().all(|waits| *waits) && waiting + advisory == busy.len();
            let is_awaited = to_end.is_some_and(|name| !ended.contains_key(name));
            if all_wait && !is_awaited {
                let since = *still_since.get_or_insert_with(Instant::now);
                if advisory == 0 || since.elapsed() > ADVISORY_WAKE {
                    return ended;
                }
            } else {
                still_since = None;
            }
            assert!(began.elapsed() < PATIENCE, "{}: nothing comes of: {text}", self.title);
            std::thread::sleep(Duration::from_micros(300));
        }
    }

    /// Ends the sessions.
    fn close(self, given: &mut String) {
        let Stage { title, actors, answers, answer, .. } = self;
        let waits: Vec<&String> =
            actors.iter().filter(|(_, actor)| actor.is_busy).map(|(name, _)| name).collect();
        assert!(waits.is_empty(), "{title}: at the end {waits:?} still wait in\n{given}");
        let count = actors.len();
        drop((actors, answer));
        assert_eq!(answers.iter().take(count).count(), count, "every session ends");
    }
}

/// How many sessions wait for advisory locks.
fn waiting_advisory(observer: &mut Session) -> usize {
    let text = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
    let count = run(observer, text, false, &AtomicBool::new(false));
    count.trim_matches(['(', ')']).parse().expect("it is a number")
}

/// The result of a Query message, in one line.
fn run(session: &mut Session, text: &str, inline: bool, may_wait: &AtomicBool) -> String {
    let mut given = Vec::new();
    let done = run_statements(session, text, inline, may_wait, &mut given);
    if let Err(error) = done.and_then(|()| end(session, inline)) {
        session.fail();
        let _ = session.end();
        given.push(format!("error {} {}", error.state().code(), error.message()));
    }
    session.take_messages();
    given.join(" ")
}

fn run_statements(
    session: &mut Session,
    text: &str,
    inline: bool,
    may_wait: &AtomicBool,
    given: &mut Vec<String>,
) -> Result<(), Error> {
    let statements = session.read(text)?;
    let alone = statements.len() == 1;
    for statement in statements {
        session.set_inline(inline);
        let mut portal = session.start(statement, alone)?;
        let mut out = TextOutput::default();
        if !inline {
            may_wait.store(true, Ordering::SeqCst);
        }
        let mut done = session.execute(&mut portal, 0, &mut out)?;
        if done == Done::Blocked {
            out = TextOutput::default();
            session.set_inline(false);
            may_wait.store(true, Ordering::SeqCst);
            done = session.execute(&mut portal, 0, &mut out)?;
        }
        if let Some(commit) = session.take_commit() {
            commit.wait().expect("the disk is sound");
        }
        let Done::Complete(tag) = done else { continue };
        given.push(match portal.columns() {
            Some(_) if out.0.is_empty() => "no rows".to_owned(),
            Some(_) => {
                let rows: Vec<String> =
                    out.0.iter().map(|row| format!("({})", row.replace('|', ","))).collect();
                rows.join(" ")
            }
            None => tag.to_string(),
        });
    }
    Ok(())
}

/// Ends what a Query message began.
fn end(session: &mut Session, inline: bool) -> Result<(), Error> {
    session.set_inline(inline);
    session.end()?;
    if let Some(commit) = session.take_commit() {
        commit.wait().expect("the disk is sound");
    }
    Ok(())
}
