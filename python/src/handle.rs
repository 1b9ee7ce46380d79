//! What a Python object holds of the engine: until it is closed, and only in the process that opened it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;

use crate::errors::{Failure, Outcome};

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

/// Something of the engine.
pub(crate) struct Handle<T> {
    held: Mutex<Option<T>>,
    /// The process that it belongs to.
    forks: u64,
    /// What it is called in errors.
    what: &'static str,
}

impl<T> Handle<T> {
    pub(crate) fn new(what: &'static str, held: T) -> Self {
        Handle { held: Mutex::new(Some(held)), forks: forks(), what }
    }

    fn is_of_this_process(&self) -> bool {
        self.forks == forks()
    }

    fn locked<'a>(&'a self, held: MutexGuard<'a, Option<T>>) -> Outcome<MutexGuard<'a, Option<T>>> {
        match held.is_some() {
            true => Ok(held),
            false => Err(Failure::interface(format!("the {} is closed", self.what))),
        }
    }

    fn must_be_ours(&self) -> Outcome<()> {
        match self.is_of_this_process() {
            true => Ok(()),
            false => Err(Failure::interface(format!(
                "the {} was opened before a fork: open it in the process that uses it",
                self.what
            ))),
        }
    }

    /// Calls `f` with what is held; others who use the same handle wait. Not to be called attached.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> Outcome<R>) -> Outcome<R> {
        self.must_be_ours()?;
        let mut held = self.locked(self.held.lock())?;
        f(held.as_mut().expect("it was looked at"))
    }

    /// [`with`](Handle::with), where the wait for others may end early: `go_on` is asked every [`TICK`].
    pub(crate) fn with_patience<R>(
        &self,
        mut go_on: impl FnMut() -> bool,
        f: impl FnOnce(&mut T) -> Outcome<R>,
    ) -> Outcome<R> {
        self.must_be_ours()?;
        let held = loop {
            match self.held.try_lock_for(TICK) {
                Some(held) => break held,
                None if go_on() => {}
                None => return Err(Failure::interface("the wait was interrupted".into())),
            }
        };
        let mut held = self.locked(held)?;
        f(held.as_mut().expect("it was looked at"))
    }

    /// Takes what is held; `None` where it was closed before.
    pub(crate) fn take(&self) -> Outcome<Option<T>> {
        self.must_be_ours()?;
        Ok(self.held.lock().take())
    }

    /// True where it was not closed so far. Never waits, so it may be called attached: what is in use is
    /// open.
    pub(crate) fn is_open(&self) -> bool {
        self.held.try_lock().is_none_or(|held| held.is_some())
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

/// Calls `f`; a panic is a failure like any other.
pub(crate) fn caught<T>(f: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Failure::sql("XX000", format!("the engine panicked, which is a bug of it: {text}")))
    })
}

/// Calls the engine, without the interpreter.
pub(crate) fn engine<T: Send>(
    py: Python<'_>,
    f: impl FnOnce() -> Outcome<T> + Send,
) -> PyResult<T> {
    py.detach(|| caught(f)).map_err(|failure| failure.raise(py))
}
