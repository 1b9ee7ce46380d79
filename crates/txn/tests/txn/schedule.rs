//! Schedules in text: interleaved steps of several transactions, each run on a thread of its own.
//!
//! ```text
//!   T1 put 1 11        a step; the transaction begins with its first one
//!   T2 put 1 12        "waits": it stands in the queue of a row lock
//!   T1 commit          ok; then, on a line of its own: T2 has got the row
//! ```
//!
//! The driver goes on when every step given so far has either answered or waits in the queue of a
//! row (the engine counts those), so that the same schedule gives the same text every time.
//!
//! Steps: `get K` · `scan` · `where N` (multiples of N) · `put K V` · `add K N` (lock, read, put) ·
//! `append K V` (a delta) · `delete K` · `lock K` · `trylock K` · `for-update K` and the weaker ones ·
//! `latest K` · `relation MODE` · `savepoint` · `rollback` (to it) · `commit` · `abort`. Each is a
//! statement of its own, but for one that begins with `still`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use txn::{Engine, Isolation, RelationLock, RowLock, Savepoint, Transaction, TxnError, View, Wait};

use crate::common::{Append, T, contents, engine, get, meta};

/// The text of a run, and what each step answered.
pub struct Run {
    pub text: String,
    /// By step, in the order of the schedule.
    pub answers: Vec<String>,
    /// The table afterwards.
    pub end: String,
}

struct Actor {
    steps: Sender<(usize, String)>,
}

/// Runs a schedule at one isolation level on a table that holds 1=10 and 2=20.
pub fn run(isolation: Isolation, schedule: &str) -> Run {
    let engine = engine(1);
    let mut first = engine.begin(Isolation::Serializable);
    first.put(T, b"1", b"10".to_vec()).unwrap();
    first.put(T, b"2", b"20".to_vec()).unwrap();
    first.commit(meta("")).unwrap();

    let (answer, answers) = channel();
    let mut actors: BTreeMap<String, Actor> = BTreeMap::new();
    let mut driver = Driver {
        engine: &engine,
        answers,
        open: Vec::new(),
        given: Vec::new(),
        text: String::new(),
    };
    for line in schedule.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, step) = line.split_once(' ').expect("a step names its transaction");
        let actor = actors
            .entry(name.to_owned())
            .or_insert_with(|| spawn(&engine, isolation, answer.clone()));
        driver.open.push((driver.given.len(), line.to_owned()));
        actor
            .steps
            .send((driver.given.len(), step.to_owned()))
            .expect("actors outlive the schedule");
        driver.given.push(String::new());
        driver.settle();
    }
    drop(actors); // transactions that have not committed are rolled back
    drop(answer);
    while let Ok((step, answer)) = driver.answers.recv() {
        driver.given[step] = answer;
    }
    let rows = contents(&engine.snapshot());
    let rows: Vec<_> = rows
        .iter()
        .map(|(key, value)| {
            format!("{}={}", String::from_utf8_lossy(key), String::from_utf8_lossy(value))
        })
        .collect();
    let end = rows.join(" ");
    let _ = writeln!(driver.text, "   end: {end}");
    Run { text: driver.text, answers: driver.given, end }
}

struct Driver<'a> {
    engine: &'a Engine,
    answers: Receiver<(usize, String)>,
    /// Steps that have not answered.
    open: Vec<(usize, String)>,
    given: Vec<String>,
    text: String,
}

impl Driver<'_> {
    /// Waits until each open step has answered or stands in a queue, and writes down the answers, the
    /// newest step's first.
    fn settle(&mut self) {
        let newest = self.open.last().expect("a step was just given").0;
        let mut answered = Vec::new();
        loop {
            while let Ok((step, answer)) = self.answers.try_recv() {
                let at =
                    self.open.iter().position(|(open, _)| *open == step).expect("answers once");
                answered.push((step, self.open.remove(at).1, answer));
            }
            if self.open.len() == self.engine.stats().waiting {
                break;
            }
            thread::yield_now();
        }
        if let Some((_, line)) = self.open.iter().find(|(step, _)| *step == newest) {
            let _ = writeln!(self.text, "{line} .. waits");
        }
        answered.sort_by_key(|(step, ..)| (*step != newest, *step));
        for (step, line, answer) in answered {
            let _ = match step == newest {
                true => writeln!(self.text, "{line} -> {answer}"),
                false => writeln!(self.text, "   {line} -> {answer}"),
            };
            self.given[step] = answer;
        }
    }
}

fn spawn(engine: &Arc<Engine>, isolation: Isolation, answers: Sender<(usize, String)>) -> Actor {
    let (steps, todo) = channel::<(usize, String)>();
    let engine = Arc::clone(engine);
    thread::spawn(move || {
        let mut txn: Option<Transaction> = None;
        let mut savepoint = None;
        let mut failed = false; // rolled back, as a client does after an error, and not yet ended
        while let Ok((number, step)) = todo.recv() {
            let answer = match step.as_str() {
                "commit" | "abort" if failed => "rolled back".to_owned(),
                _ if failed => "skipped".to_owned(),
                "commit" => match txn.take().map(|txn| txn.commit(meta(""))) {
                    Some(Err(error)) => error.sqlstate().to_owned(),
                    _ => "ok".to_owned(),
                },
                "abort" => {
                    txn = None;
                    "ok".to_owned()
                }
                step => {
                    let open = txn.get_or_insert_with(|| engine.begin(isolation));
                    let within = step.strip_prefix("still ");
                    if within.is_none() {
                        open.statement();
                    }
                    match perform(open, &mut savepoint, within.unwrap_or(step)) {
                        Ok(answer) => answer,
                        Err(error) => {
                            (txn, failed) = (None, true);
                            error.sqlstate().to_owned()
                        }
                    }
                }
            };
            failed &= !matches!(step.as_str(), "commit" | "abort");
            answers.send((number, answer)).expect("the driver outlives its actors");
        }
    });
    Actor { steps }
}

fn perform(
    txn: &mut Transaction,
    savepoint: &mut Option<Savepoint>,
    step: &str,
) -> Result<String, TxnError> {
    let words: Vec<&str> = step.split(' ').collect();
    let ok = Ok("ok".to_owned());
    let number =
        |text: &[u8]| String::from_utf8_lossy(text).parse::<i64>().expect("values are numbers");
    match words.as_slice() {
        ["get", key] => {
            let value = get(txn, key.as_bytes())?;
            Ok(value.map_or("none".into(), |value| String::from_utf8_lossy(&value).into_owned()))
        }
        ["scan"] => filtered(txn, |_| true),
        ["where", divisor] => {
            let divisor: i64 = divisor.parse().expect("a number");
            filtered(txn, |value| number(value) % divisor == 0)
        }
        ["put", key, value] => txn.put(T, key.as_bytes(), value.as_bytes().to_vec()).and(ok),
        ["append", key, value] => txn.delta(T, key.as_bytes(), value.as_bytes().to_vec()).and(ok),
        ["add", key, amount] => {
            txn.lock(T, key.as_bytes())?;
            let sum =
                number(&get(txn, key.as_bytes())?.expect("there")) + number(amount.as_bytes());
            txn.put(T, key.as_bytes(), sum.to_string().into_bytes())?;
            Ok(sum.to_string())
        }
        ["delete", key] => txn.delete(T, key.as_bytes()).and(ok),
        ["lock", key] => {
            txn.lock(T, key.as_bytes()).map(|locked| format!("{locked:?}").to_lowercase())
        }
        ["trylock", key] => {
            let locked = txn.try_lock(T, key.as_bytes())?;
            Ok(locked.map_or("busy".into(), |locked| format!("{locked:?}").to_lowercase()))
        }
        [strength, key] if strength.starts_with("for-") => {
            let strength = match *strength {
                "for-key-share" => RowLock::KeyShare,
                "for-share" => RowLock::Share,
                "for-no-key-update" => RowLock::NoKeyUpdate,
                _ => RowLock::Update,
            };
            let locked = txn.lock_row(T, key.as_bytes(), strength, Wait::Allowed)?;
            Ok(format!("{locked:?}").to_lowercase())
        }
        ["latest", key] => {
            let latest = txn.latest();
            let row = View::of(txn, &latest).read(T, key.as_bytes())?;
            Ok(row.map_or("none".into(), |row| String::from_utf8_lossy(row.base()).into_owned()))
        }
        ["relation", mode] => {
            let mode = match *mode {
                "row-exclusive" => RelationLock::RowExclusive,
                "share" => RelationLock::Share,
                _ => panic!("no such mode: {mode}"),
            };
            txn.lock_relation(1, mode, Wait::Allowed).and(ok)
        }
        ["savepoint"] => {
            *savepoint = Some(txn.savepoint());
            ok
        }
        ["rollback"] => {
            txn.rollback_to(savepoint.expect("a savepoint was set"));
            ok
        }
        _ => panic!("no such step: {step}"),
    }
}

fn filtered(txn: &Transaction, keep: impl Fn(&[u8]) -> bool) -> Result<String, TxnError> {
    let mut rows = Vec::new();
    for item in txn.scan(T, Bound::Unbounded, Bound::Unbounded, false) {
        let (key, row) = item?;
        let mut value = Vec::new();
        row.image_into(&Append, &key, &mut value).expect("appending cannot fail");
        if keep(&value) {
            rows.push(format!(
                "{}={}",
                String::from_utf8_lossy(&key),
                String::from_utf8_lossy(&value)
            ));
        }
    }
    Ok(if rows.is_empty() { "none".to_owned() } else { rows.join(" ") })
}
