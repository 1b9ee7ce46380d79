//! The handles of Python objects on the engine: until they are closed, and only in the process that
//! opened them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;

use crate::errors::{Failure, Outcome};
use crate::waits::{given_up, signals, this_thread};

/// How many forks lie between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// See [`FORKS`].
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// How long a wait goes on before signals are looked at.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Tells that this process is the child of a fork.
#[pyfunction]
#[pyo3(name = "_forked")]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Something of the engine. A thread that uses it while another does waits, until a signal comes.
pub(crate) struct Handle<T> {
    held: Mutex<Option<T>>,
    /// The thread that uses it; 0 where none does.
    user: AtomicU64,
    /// The process that it belongs to.
    forks: u64,
    /// The name of it in errors.
    what: &'static str,
}

impl<T> Handle<T> {
    pub(crate) fn new(what: &'static str, held: T) -> Self {
        Handle { held: Mutex::new(Some(held)), user: AtomicU64::new(0), forks: forks(), what }
    }

    fn is_of_this_process(&self) -> bool {
        self.forks == forks()
    }

    fn must_be_ours(&self) -> Outcome<()> {
        match self.is_of_this_process() {
            true => Ok(()),
            false => Err(Failure::forked(self.what)),
        }
    }

    /// Waits until no other thread uses it; `meanwhile` is called every [`TICK`], and ends the wait with an error.
    fn lock(&self, mut meanwhile: impl FnMut() -> Outcome<()>) -> Outcome<Used<'_, T>> {
        self.must_be_ours()?;
        let held = loop {
            if let Some(held) = self.held.try_lock_for(TICK) {
                break held;
            }
            if self.user.load(Ordering::Relaxed) == this_thread() {
                let text = "it is in use by this thread: this is the handler of a signal that came meanwhile";
                return Err(Failure::interface(format!("the {}: {text}", self.what)));
            }
            meanwhile()?;
        };
        self.user.store(this_thread(), Ordering::Relaxed);
        Ok(Used { held, user: &self.user })
    }

    /// Calls `f` with the held object. The caller must be detached from the interpreter.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> Outcome<R>) -> Outcome<R> {
        let mut used = self.lock(signals)?;
        f(used.held.as_mut().ok_or_else(|| Failure::closed(self.what))?)
    }

    /// Takes what is held; `None` if it was closed before. While another uses it, `meanwhile` is called.
    pub(crate) fn take_from(&self, mut meanwhile: impl FnMut()) -> Outcome<Option<T>> {
        let mut used = self.lock(|| {
            meanwhile();
            signals()
        })?;
        Ok(used.held.take())
    }

    /// As [`take_from`](Handle::take_from), but only waits for a thread that uses it.
    pub(crate) fn take(&self) -> Outcome<Option<T>> {
        self.take_from(|| {})
    }

    /// True if it was not closed so far. Never waits, so it may be called attached: what is in use is
    /// open.
    pub(crate) fn is_open(&self) -> bool {
        self.held.try_lock().is_none_or(|held| held.is_some())
    }
}

/// A handle in use.
struct Used<'a, T> {
    held: MutexGuard<'a, Option<T>>,
    user: &'a AtomicU64,
}

impl<T> Drop for Used<'_, T> {
    fn drop(&mut self) {
        self.user.store(0, Ordering::Relaxed);
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        if !self.is_of_this_process() {
            // The threads that closing would wait for stayed with the parent.
            std::mem::forget(self.held.get_mut().take());
        }
    }
}

/// Calls `f`; a panic is a failure like any other. Where a wait was given up, the failure says why.
pub(crate) fn caught<T>(f: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let done = catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Failure::sql("XX000", format!("the engine panicked, which is a bug of it: {text}")))
    });
    match (done, given_up()) {
        (Err(_), Some(why)) => Err(why),
        // The wait succeeded after all, but the exception of the signal must still be raised.
        (Ok(_), Some(why)) if why.is_raised() => Err(why),
        (done, _) => done,
    }
}

/// Calls the engine, without the interpreter.
pub(crate) fn engine<T: Send>(
    py: Python<'_>,
    f: impl FnOnce() -> Outcome<T> + Send,
) -> PyResult<T> {
    py.detach(|| caught(f)).map_err(|failure| failure.raise(py))
}
