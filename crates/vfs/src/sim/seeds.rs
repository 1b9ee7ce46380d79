//! Seeds of random tests: given from outside, printed, and named where a case fails.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::str::FromStr;

/// The seed of a random test: `ANYWHEN_SEED`, or `default`. Printed, so that a failure can be replayed.
pub fn seed(default: u64) -> u64 {
    let seed = variable("ANYWHEN_SEED").unwrap_or(default);
    println!("ANYWHEN_SEED={seed}");
    seed
}

/// Runs `case` on `cases` seeds from `base` on, on two threads, and names the seed that fails.
/// `ANYWHEN_SEED` runs that seed alone; `ANYWHEN_TIMES` multiplies the number of cases, for a long night.
///
/// # Panics
/// If a case panics.
pub fn seeds(base: u64, cases: u64, case: impl Fn(u64) + Sync) {
    if let Some(seed) = variable("ANYWHEN_SEED") {
        return case(seed);
    }
    let cases = cases * variable("ANYWHEN_TIMES").unwrap_or(1);
    let run = |half: u64| {
        for seed in (base..base + cases).filter(|seed| seed % 2 == half) {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| case(seed))) {
                eprintln!("failed with ANYWHEN_SEED={seed}");
                resume_unwind(panic);
            }
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        run(0);
        if let Err(panic) = other.join() {
            resume_unwind(panic);
        }
    });
}

/// How long a random history is: `ANYWHEN_STEPS`, or `default`.
///
/// # Panics
/// If the variable is no number.
pub fn steps(default: u64) -> u64 {
    variable("ANYWHEN_STEPS").unwrap_or(default)
}

/// A number given in the environment.
fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{name} is {text:?}, which is no number"),
    }
}
