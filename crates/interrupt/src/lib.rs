//! Stops the statement that this thread runs: after a cancel or a timeout, or by an error that no caller can return.
//!
//! ```text
//!   session    during(&flag, || run the statement)         check reads the flag of the session
//!   exec         each row                                  check()
//!   scalar         each piece of a long text               check()?
//!   json, numeric    each part of a long computation       check()?
//! ```
//!
//! A cancel and a timeout set a flag of the session. The executor looks at it between rows, but one
//! call of a function may take minutes: a text of a gigabyte, a pattern, a power of a long number.
//! Such a computation calls [`check`] from any depth. No caller has to pass the flag to it.
//!
//! A function that has no way to return an error, such as one that compares two values, stops the statement by
//! [`throw`]. The stack is unwound up to [`catch`], which the session calls around each statement.
//!
//! # Invariants
//! * [`check`] fails only inside of [`during`], and only while the flag is set.
//! * Inside of [`shielded`] it never fails: a commit is done as a whole.
//! * The flag of a thread outlives the call of [`during`] that set it.
//!
//! A computation calls [`check`] at least every few milliseconds. A call costs two loads. So a loop over
//! bytes calls it about once for each kilobyte, by a [`Pace`], and a loop over larger items for each item.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// The flag of the statement that runs on this thread; null where none does.
    static FLAG: Cell<*const AtomicBool> = const { Cell::new(ptr::null()) };
}

/// A cancel or a timeout stopped the statement (`57014`). The session knows which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interrupted;

impl Interrupted {
    /// The five characters of the SQL standard's code.
    pub const SQLSTATE: &'static str = "57014";

    /// The message for the client, unless the session knows a better reason.
    pub const MESSAGE: &'static str = "canceling statement due to user request";
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::MESSAGE)
    }
}

impl Error for Interrupted {}

/// An error that stopped a statement by [`throw`].
#[derive(Debug)]
pub struct Thrown {
    sqlstate: String,
    source: Box<dyn Error + Send + Sync>,
}

impl Thrown {
    /// The five characters of the SQL standard's code.
    pub fn sqlstate(&self) -> &str {
        &self.sqlstate
    }
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for Thrown {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// Unwinds the stack up to [`catch`], which returns this error and its code. No panic hook is called.
///
/// Only code below a function that cannot return an error may call it: outside of [`catch`] the thread ends.
pub fn throw(sqlstate: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> ! {
    resume_unwind(Box::new(Thrown { sqlstate: sqlstate.into(), source: source.into() }))
}

/// Calls `run`, and returns the error if `run` ended by [`throw`]. A panic goes on.
///
/// The caller puts back the state that `run` may have left halfway.
///
/// # Errors
/// The thrown error.
pub fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Thrown> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| match payload.downcast::<Thrown>() {
        Ok(thrown) => *thrown,
        Err(panic) => resume_unwind(panic),
    })
}

/// Restores the previous flag, also after a panic.
struct Restore(*const AtomicBool);

impl Drop for Restore {
    fn drop(&mut self) {
        FLAG.set(self.0);
    }
}

/// Calls `run`, in which [`check`] fails once `flag` is set.
pub fn during<R>(flag: &AtomicBool, run: impl FnOnce() -> R) -> R {
    let _restore = Restore(FLAG.replace(flag));
    run()
}

/// Calls `run`, in which [`check`] never fails: for work that must not be stopped halfway.
pub fn shielded<R>(run: impl FnOnce() -> R) -> R {
    let _restore = Restore(FLAG.replace(ptr::null()));
    run()
}

/// True if the statement on this thread must stop.
#[inline]
pub fn is_told() -> bool {
    let flag = FLAG.get();
    // SAFETY: the pointer is null or comes from the reference that `during` was given. `during` restores the previous
    // pointer when it returns or unwinds, while that reference is still borrowed, and the cell belongs to this thread
    // alone.
    !flag.is_null() && unsafe { &*flag }.load(Ordering::Relaxed)
}

/// Fails if the statement on this thread must stop.
///
/// # Errors
/// [`Interrupted`].
#[inline]
pub fn check() -> Result<(), Interrupted> {
    if is_told() { Err(Interrupted) } else { Ok(()) }
}

/// Calls [`check`] once for a given amount of work, in a loop with short steps.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    done: usize,
}

/// The work after which a [`Pace`] checks, in bytes, or in other steps of a nanosecond or two.
const WORK_MAX: usize = 1 << 16;

impl Pace {
    /// A pace without work so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an amount of work, in bytes.
    ///
    /// # Errors
    /// As [`check`].
    #[inline]
    pub fn step(&mut self, work: usize) -> Result<(), Interrupted> {
        self.done = self.done.saturating_add(work);
        if self.done < WORK_MAX {
            return Ok(());
        }
        self.done = 0;
        check()
    }
}

/// How many bytes are copied between two checks.
const COPY_BYTES: usize = 16 << 20;

/// Appends bytes as [`Vec::extend_from_slice`] does, and calls [`check`] between parts of a long slice.
///
/// # Errors
/// As [`check`]; `out` has some of the bytes then.
#[inline]
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Interrupted> {
    if bytes.len() <= COPY_BYTES {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    append_many(out, bytes)
}

#[cold]
fn append_many(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Interrupted> {
    out.reserve(bytes.len());
    for part in bytes.chunks(COPY_BYTES) {
        check()?;
        out.extend_from_slice(part);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A computation hears of the flag of the statement around it, and of no other.
    #[test]
    fn the_innermost_statement_is_asked() {
        let (outer, inner) = (AtomicBool::new(true), AtomicBool::new(false));
        assert_eq!(check(), Ok(()), "no statement runs");
        during(&outer, || {
            assert_eq!(check(), Err(Interrupted));
            during(&inner, || assert_eq!(check(), Ok(())));
            assert_eq!(check(), Err(Interrupted));
            shielded(|| assert_eq!(check(), Ok(())));
            outer.store(false, Ordering::Relaxed);
            assert_eq!(check(), Ok(()));
        });
        outer.store(true, Ordering::Relaxed);
        assert_eq!(check(), Ok(()), "no statement runs any more");
    }

    /// A copy of many bytes hears of the flag between its parts.
    #[test]
    fn a_long_copy_is_checked() {
        let flag = AtomicBool::new(true);
        let (few, many) = (vec![1; COPY_BYTES], vec![1; COPY_BYTES + 1]);
        let mut out = Vec::new();
        assert_eq!(append(&mut out, &many), Ok(()), "no statement runs");
        assert_eq!(out, many);
        let mut out = Vec::new();
        assert_eq!(during(&flag, || append(&mut out, &few)), Ok(()), "it is short");
        assert_eq!(during(&flag, || append(&mut out, &many)), Err(Interrupted));
    }

    /// A statement that panics does not leave its flag behind for the next one on the thread.
    #[test]
    fn a_panic_takes_the_flag_along() {
        let flag = AtomicBool::new(true);
        let ran = std::panic::catch_unwind(|| during(&flag, || panic!("on purpose")));
        assert!(ran.is_err());
        assert_eq!(check(), Ok(()));
    }

    /// A thrown error arrives with its code and its source, and the flag of the statement does not stay behind.
    #[test]
    fn a_thrown_error_is_caught_as_it_was() {
        fn fail() {
            throw("XX001", "the disk is old")
        }
        let flag = AtomicBool::new(true);
        let thrown = catch(|| during(&flag, || shielded(fail))).unwrap_err();
        assert_eq!((thrown.sqlstate(), &*thrown.to_string()), ("XX001", "the disk is old"));
        assert_eq!(thrown.source().map(ToString::to_string).as_deref(), Some("the disk is old"));
        assert_eq!(check(), Ok(()));
        assert_eq!(catch(|| 5).unwrap(), 5);
    }

    /// A panic is no thrown error: it goes on with its message.
    #[test]
    fn a_panic_is_not_caught() {
        fn fail() {
            panic!("on purpose")
        }
        let panic = catch_unwind(|| catch(fail).is_ok()).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    }

    /// A loop of short steps hears of the flag after some of them, not only at its end.
    #[test]
    fn short_steps_are_checked_now_and_then() {
        let flag = AtomicBool::new(true);
        let steps = during(&flag, || {
            let mut pace = Pace::new();
            (0..usize::MAX).take_while(|_| pace.step(16).is_ok()).count()
        });
        assert!(steps < WORK_MAX / 8, "{steps} steps");
    }
}
