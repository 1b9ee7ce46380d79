//! The parts that suites share: the run's folders and progress, and the race.
//!
//! ```text
//! race:  round 1   ours  server  client  floor
//!        round 2   server  client  floor  ours        rotated: nobody is always first
//!        round 3   client  floor  ours  server
//!                    |
//!                  median of each column
//! ```
//! A disk that shares its machine drifts within minutes. Contenders therefore take turns in short
//! slices, so that a slow minute is slow for everybody, and the median of many slices is published.

pub mod analytics;
mod bulk;
pub mod history;
mod large;
pub mod objects;
pub mod pgwire;
pub mod plans;
pub mod rest;
mod sample;
mod statements;
pub mod stored;
pub mod tables;
pub mod tpch;
pub mod transactions;
pub mod versioned;

pub use large::read as read_large;
pub use sample::Sample;

use std::path::PathBuf;
use std::sync::Barrier;
use std::time::Instant;

use indicatif::ProgressBar;

use crate::Result;
use crate::peer::driver::Answer;

/// The setting that says how many threads help the one that runs a statement: the same in both servers.
pub fn set_threads(threads: u32) -> String {
    format!("SET max_parallel_workers_per_gather = {}", threads.saturating_sub(1))
}

/// The number of threads in words, and the end of the names of the rows: those on one thread have none.
pub fn in_words(threads: u32) -> (String, String) {
    match threads {
        1 => ("one thread".into(), String::new()),
        2 => ("two threads".into(), "-2".into()),
        _ => (format!("{threads} threads"), format!("-{threads}")),
    }
}

/// Where and how a suite runs.
pub struct Context {
    /// Fetched programs of peers.
    pub cache: PathBuf,
    /// Databases under test: on the measured disk.
    pub work: PathBuf,
    /// Small counts.
    pub quick: bool,
    /// On stderr, so that stdout holds the result alone.
    pub progress: ProgressBar,
}

impl Context {
    /// `full`, or `quick` in a quick run.
    pub fn count<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Says what is being measured now.
    pub fn step(&self, what: impl Into<String>) {
        self.progress.set_message(what.into());
        self.progress.tick();
    }
}

/// One side of a race: does its slice of work and returns the figure in the unit of the row.
pub type Contender<'a> = &'a mut dyn FnMut() -> Result<f64>;

/// Lets contenders take turns for `rounds` rounds; returns the samples of each.
pub fn take_turns(rounds: u32, contenders: &mut [Contender<'_>]) -> Result<Vec<Vec<f64>>> {
    let mut samples = vec![Vec::new(); contenders.len()];
    for round in 0..rounds as usize {
        for turn in 0..contenders.len() {
            let who = (round + turn) % contenders.len();
            samples[who].push(contenders[who]()?);
        }
    }
    Ok(samples)
}

/// [`take_turns`] of a known number of contenders.
pub fn race<const N: usize>(
    rounds: u32,
    mut contenders: [Contender<'_>; N],
) -> Result<[Vec<f64>; N]> {
    let samples = take_turns(rounds, &mut contenders)?;
    samples.try_into().map_err(|_| "one list of samples for each contender".into())
}

/// Like [`race`] for reads: one round beforehand warms everybody up and is not counted.
pub fn warm_race<const N: usize>(
    rounds: u32,
    mut contenders: [Contender<'_>; N],
) -> Result<[Vec<f64>; N]> {
    take_turns(1, &mut contenders)?;
    race(rounds, contenders)
}

/// Microseconds for each of `count` repetitions that `work` does.
pub fn micros_each(count: u32, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(count))
}

/// Repetitions a second of `count` that `work` does.
pub fn per_second(count: u32, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

/// Each writer, on a thread of its own, commits `each` times; returns commits a second of all.
pub fn together<W: Send>(
    each: u32,
    writers: &mut [W],
    commit: impl Fn(&mut W) -> Result<()> + Sync,
) -> Result<f64> {
    let start_line = Barrier::new(writers.len() + 1);
    let count = each * writers.len() as u32;
    std::thread::scope(|scope| {
        let threads: Vec<_> = writers
            .iter_mut()
            .map(|writer| {
                let (start_line, commit) = (&start_line, &commit);
                scope.spawn(move || {
                    start_line.wait();
                    (0..each).try_for_each(|_| commit(writer))
                })
            })
            .collect();
        start_line.wait();
        let start = Instant::now();
        for thread in threads {
            thread.join().map_err(|_| "a writer panicked")??;
        }
        Ok(f64::from(count) / start.elapsed().as_secs_f64())
    })
}

/// Fails the run where two answers differ: numbers by more than 1e-9 of their value, texts by more than blanks at
/// their ends, which `char(n)` has in some engines.
pub fn must_agree(what: &str, found: &Answer, expected: &Answer) -> Result<()> {
    let are_same = |(one, other): (&Vec<Option<String>>, &Vec<Option<String>>)| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| agree(one, other))
    };
    if found.len() == expected.len() && found.iter().zip(expected).all(are_same) {
        return Ok(());
    }
    Err(format!("CROSS-CHECK FAILED: {what}: the answers differ:\n{found:?}\n{expected:?}").into())
}

/// Tells whether two values are the same, as [`must_agree`] says.
fn agree(one: &Option<String>, other: &Option<String>) -> bool {
    const NEAR: f64 = 1e-9;
    let (Some(one), Some(other)) = (one, other) else { return one == other };
    let (one, other) = (one.trim_end_matches(' '), other.trim_end_matches(' '));
    if one == other {
        return true;
    }
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= NEAR * one.abs().max(other.abs()),
        _ => false,
    }
}

/// Fails the run, loudly, when two things that must be equal are not.
pub fn must_equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(format!("CROSS-CHECK FAILED: {what}: found {found:?}, expected {expected:?}").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn contenders_take_turns_and_nobody_is_always_first() {
        let order = RefCell::new(String::new());
        let mut first = || {
            order.borrow_mut().push('a');
            Ok(1.0)
        };
        let mut second = || {
            order.borrow_mut().push('b');
            Ok(2.0)
        };
        let [a, b] = race(3, [&mut first, &mut second]).expect("nobody fails");
        assert_eq!((a, b), (vec![1.0; 3], vec![2.0; 3]));
        assert_eq!(order.into_inner(), "abbaab");
    }

    #[test]
    fn answers_agree_but_for_last_digits_and_blanks_at_the_end() {
        let answer = |texts: &[&str]| vec![texts.iter().map(|text| Some((*text).into())).collect()];
        let agree = |one, other| must_agree("Q1", &answer(one), &answer(other)).is_ok();
        assert!(agree(&["R", "0.30000000000000004", "abc  "], &["R", "0.3", "abc"]));
        assert!(agree(&["100"], &["1e2"]));
        assert!(!agree(&["0.0000000001"], &["0.0000000002"]), "relative, not absolute");
        assert!(!agree(&["abc"], &[" abc"]) && !agree(&["1"], &["1", "2"]));
        assert!(must_agree("Q1", &vec![vec![None]], &answer(&["0"])).is_err());
        assert!(must_agree("Q1", &vec![], &answer(&["0"])).is_err());
    }

    #[test]
    fn a_failed_cross_check_says_what_differs() {
        let error = must_equal("versions", 5_000, 5_001).expect_err("they differ").to_string();
        assert!(
            error.contains("versions") && error.contains("5000") && error.contains("5001"),
            "{error}"
        );
    }
}
