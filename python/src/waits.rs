//! Waits that a signal or closing can end: for locks of other transactions, for an object that another thread
//! uses, for the end of calls when a database is closed.
//!
//! ```text
//!   db["c"]["a"] = 2 ── detach ── waits for the lock ── 10 ms ── asks ── waits ── ...
//!                                                                  ├── a signal came: what its handler raised
//!                                                                  ├── the database is being closed
//!                                                                  └── the lock belongs to this thread: 40P01
//! ```
//!
//! The owner of a lock is known by the thread that used its transaction or session last. Where that is the
//! waiting thread, no other can end it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anywhen::{TxnId, WaitOver};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::errors::{Failure, Outcome};

thread_local! {
    /// The number of this thread.
    static THREAD: Cell<u64> = const { Cell::new(0) };
    /// The number of the thread on whose behalf this thread works; 0 for none.
    static ASKER: Cell<u64> = const { Cell::new(0) };
    /// Why a wait of this thread was given up, until the failure is reported.
    static GIVEN_UP: RefCell<Option<Box<Failure>>> = const { RefCell::new(None) };
}

/// The number of this thread; never that of another.
pub(crate) fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    THREAD.with(|thread| {
        if thread.get() == 0 {
            thread.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        thread.get()
    })
}

/// Does something on behalf of another thread.
pub(crate) fn working_for<T>(asker: u64, f: impl FnOnce() -> T) -> T {
    ASKER.set(asker);
    let done = f();
    ASKER.set(0);
    done
}

/// Fails if a signal's handler raised an exception. The caller must be detached from the interpreter.
pub(crate) fn signals() -> Outcome<()> {
    Python::attach(|py| py.check_signals()).map_err(Failure::raised)
}

/// Takes the reason why [`Waits::look`] ended the wait that has failed; `None` if it did not.
pub(crate) fn given_up() -> Option<Box<Failure>> {
    GIVEN_UP.take()
}

/// The watch that waiting transactions of a database call.
#[derive(Default)]
pub(crate) struct Waits {
    is_closing: AtomicBool,
    /// Open transactions, and the threads that used them last.
    users: Mutex<HashMap<TxnId, u64>>,
}

impl Waits {
    /// Ends all waits, those that begin later too.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    /// Whether a wait for these transactions goes on.
    pub(crate) fn look(&self, blockers: &[TxnId]) -> Result<(), WaitOver> {
        let asker = ASKER.get();
        let waiter = if asker == 0 { this_thread() } else { asker };
        let is_own = {
            let users = self.users.lock();
            blockers.iter().any(|blocker| users.get(blocker) == Some(&waiter))
        };
        let (failure, over) = if self.is_closing() {
            (Failure::closed("database"), WaitOver::Interrupted)
        } else if is_own {
            (Failure::own_lock(), WaitOver::Deadlock)
        } else if asker != 0 {
            // Another thread that asks looks at signals itself.
            return Ok(());
        } else {
            match signals() {
                Ok(()) => return Ok(()),
                Err(failure) => (failure, WaitOver::Interrupted),
            }
        };
        GIVEN_UP.set(Some(failure));
        Err(over)
    }
}

/// The entry of an open transaction in the list of `Waits`. Dropping it removes the entry.
pub(crate) struct Open {
    id: TxnId,
    of: Arc<Waits>,
}

impl Open {
    /// Notes that the asking thread has used a transaction.
    pub(crate) fn used(of: &Arc<Waits>, id: TxnId) -> Open {
        let asker = ASKER.get();
        of.users.lock().insert(id, if asker == 0 { this_thread() } else { asker });
        Open { id, of: Arc::clone(of) }
    }

    /// Notes that this thread has used the transaction again.
    pub(crate) fn use_again(&self) {
        self.of.users.lock().insert(self.id, this_thread());
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.of.users.lock().remove(&self.id);
    }
}
