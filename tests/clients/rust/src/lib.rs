//! How a client program in Rust says what it checked: each check is counted, one that fails is told
//! of with its line, and what goes wrong in one part does not end the others.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};

static HELD: AtomicU32 = AtomicU32::new(0);
static BROKEN: AtomicU32 = AtomicU32::new(0);

/// Notes whether something holds; `told` is shown where it does not.
#[track_caller]
pub fn note(holds: bool, told: impl FnOnce() -> String) {
    if holds {
        HELD.fetch_add(1, Ordering::Relaxed);
    } else {
        BROKEN.fetch_add(1, Ordering::Relaxed);
        println!("{}: {}", std::panic::Location::caller(), told());
    }
}

/// Checks that two values are equal.
#[track_caller]
pub fn same<A: Debug + PartialEq<B>, B: Debug>(got: A, wanted: B) {
    note(got == wanted, || format!("got {got:?}, wanted {wanted:?}"));
}

/// Checks that nothing went wrong, and gives the value; without one the part ends.
#[track_caller]
pub fn well<T, E: Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => {
            note(true, String::new);
            value
        }
        Err(error) => panic!("{error:?}"),
    }
}

/// One value of the environment that says where the server is.
pub fn place(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// False if the server is PostgreSQL itself: there is no past to ask for.
pub fn keeps_the_past() -> bool {
    place("KEEPS_THE_PAST") == "yes"
}

/// Runs parts one after the other, each as a task of its own, and says how many checks held.
#[macro_export]
macro_rules! parts {
    ($version:expr, $($part:ident)*) => {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            $(
                println!("part: {}", stringify!($part));
                if tokio::task::spawn_local($part()).await.is_err() {
                    $crate::note(false, || format!("{} ended early", stringify!($part)));
                }
            )*
        });
        $crate::end($version)
    };
}

/// Says how it went, with the version that Cargo.lock holds fast, and ends the program.
pub fn end(library: &str) {
    let lock = include_str!("../Cargo.lock");
    let entry = lock
        .split("[[package]]")
        .find(|entry| entry.lines().any(|line| line == format!("name = \"{library}\"")));
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next());
    let (held, broken) = (HELD.load(Ordering::Relaxed), BROKEN.load(Ordering::Relaxed));
    println!("version: {library} {}", version.unwrap_or("?"));
    println!("held: {held}\nbroken: {broken}");
    std::process::exit(i32::from(broken > 0));
}
