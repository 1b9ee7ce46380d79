//! How a client program in Rust says what it checked: each check is counted, and one that fails is
//! told of with its line; a failure in one part does not end the others.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};

static HELD: AtomicU32 = AtomicU32::new(0);
static BROKEN: AtomicU32 = AtomicU32::new(0);

/// Notes whether something holds.
#[track_caller]
pub fn note(holds: bool, told: impl FnOnce() -> String) {
    if holds {
        HELD.fetch_add(1, Ordering::Relaxed);
    } else {
        BROKEN.fetch_add(1, Ordering::Relaxed);
        println!("{}: {}", std::panic::Location::caller(), told());
    }
}

/// Two values are equal.
#[track_caller]
pub fn same<A: Debug + PartialEq<B>, B: Debug>(got: A, wanted: B) {
    note(got == wanted, || format!("got {got:?}, wanted {wanted:?}"));
}

/// The value, if nothing went wrong; else the part ends.
#[track_caller]
pub fn well<T, E: Debug>(result: Result<T, E>) -> T {
    note(result.is_ok(), || format!("{:?}", result.as_ref().err()));
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error:?}"),
    }
}

/// One value of the environment that says where the server is.
pub fn place(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// True where the server keeps the past.
pub fn keeps_the_past() -> bool {
    place("KEEPS_THE_PAST") == "yes"
}

/// Runs parts, each in its own task, and says how many checks held.
#[macro_export]
macro_rules! parts {
    ($version:expr, $($part:ident)*) => {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            $(
                println!("part: {}", stringify!($part));
                if tokio::spawn($part()).await.is_err() {
                    $crate::note(false, || format!("{} ended early", stringify!($part)));
                }
            )*
        });
        $crate::end($version)
    };
}

/// Says how it went.
pub fn end(version: &str) {
    let (held, broken) = (HELD.load(Ordering::Relaxed), BROKEN.load(Ordering::Relaxed));
    println!("version: {version}\nheld: {held}\nbroken: {broken}");
    std::process::exit(i32::from(broken > 0));
}
