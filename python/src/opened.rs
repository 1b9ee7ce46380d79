//! A database that is open: the threads inside of its calls, and how it is closed.
//!
//! ```text
//!   open ── refuse ──> closing ── close: waits until the last call has ended ──> closed
//!             │
//!             └── from now on calls fail, and waits for locks end
//! ```

use std::ops::Deref;
use std::sync::Arc;

use anywhen::{Collection, Moment};
use parking_lot::{Condvar, Mutex};

use crate::errors::{Failure, Outcome};
use crate::handle::{TICK, forks};
use crate::waits::{Waits, signals, this_thread};

/// The name of it in errors.
const WHAT: &str = "database";

/// A database in this process, until it is closed.
pub(crate) struct Opened {
    inside: Mutex<Inside>,
    /// Tells the thread that closes it that a call has ended.
    left: Condvar,
    waits: Arc<Waits>,
    /// The process that it belongs to.
    forks: u64,
}

struct Inside {
    database: Option<anywhen::Database>,
    /// The threads that are within calls.
    callers: Vec<u64>,
}

impl Opened {
    pub(crate) fn new(database: anywhen::Database) -> Opened {
        let waits = Arc::<Waits>::default();
        let watch = Arc::clone(&waits);
        database.watch_waits(Box::new(move |blockers| watch.look(blockers)));
        let inside = Inside { database: Some(database), callers: Vec::new() };
        Opened { inside: Mutex::new(inside), left: Condvar::new(), waits, forks: forks() }
    }

    fn must_be_ours(&self) -> Outcome<()> {
        match self.forks == forks() {
            true => Ok(()),
            false => Err(Failure::forked(WHAT)),
        }
    }

    /// The database, for a call.
    pub(crate) fn call(&self) -> Outcome<Call<'_>> {
        self.must_be_ours()?;
        let mut inside = self.inside.lock();
        match &inside.database {
            Some(database) if !self.waits.is_closing() => {
                let database = Some(database.clone());
                inside.callers.push(this_thread());
                Ok(Call { database, of: self })
            }
            _ => Err(Failure::closed(WHAT)),
        }
    }

    /// The watch that waiting calls ask.
    pub(crate) fn waits(&self) -> &Arc<Waits> {
        &self.waits
    }

    /// Refuses calls from now on, and ends the calls that wait for a lock.
    pub(crate) fn refuse(&self) -> Outcome<()> {
        self.must_be_ours()?;
        self.waits.close();
        Ok(())
    }

    /// Closes the database once all running calls have ended. A signal ends the wait; `close` can be called again.
    pub(crate) fn close(&self) -> Outcome<()> {
        self.refuse()?;
        let mut inside = self.inside.lock();
        while !inside.callers.is_empty() {
            if inside.callers.contains(&this_thread()) {
                let text = "this is the handler of a signal that came while the thread was within a call of it";
                return Err(Failure::interface(format!(
                    "the {WHAT} cannot be closed here: {text}"
                )));
            }
            if self.left.wait_for(&mut inside, TICK).timed_out() {
                drop(inside);
                signals()?;
                inside = self.inside.lock();
            }
        }
        let database = inside.database.take();
        drop(inside);
        Ok(database.map_or(Ok(()), anywhen::Database::close)?)
    }

    /// True until it is closed or being closed.
    pub(crate) fn is_open(&self) -> bool {
        !self.waits.is_closing()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.forks != forks() {
            // The threads that closing would wait for stayed with the parent.
            std::mem::forget(self.inside.get_mut().database.take());
        }
    }
}

/// A call that is under way: until its end the database is not closed.
pub(crate) struct Call<'a> {
    /// There until the end.
    database: Option<anywhen::Database>,
    of: &'a Opened,
}

impl<'a> Call<'a> {
    /// The collection of that name, for the rest of the call.
    pub(crate) fn collection(self, name: &str) -> Outcome<InCall<'a>> {
        self.collection_at(name, None)
    }

    /// The same as of a moment: a collection that was dropped later can be read.
    pub(crate) fn collection_at(self, name: &str, at: Option<Moment>) -> Outcome<InCall<'a>> {
        let then = match at {
            Some(Moment::Csn(csn)) => self.find_collection_at(name, csn)?,
            Some(Moment::Time(us)) => self.find_collection_at(name, self.csn_at(us)?)?,
            _ => None,
        };
        let missing = || Failure::missing(format!("there is no collection {name:?}"));
        let collection = then.or_else(|| self.find_collection(name)).ok_or_else(missing)?;
        Ok(InCall { collection, _call: self })
    }
}

impl Deref for Call<'_> {
    type Target = anywhen::Database;

    fn deref(&self) -> &anywhen::Database {
        self.database.as_ref().expect("it is there until the end")
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // The reference is dropped before the closing thread is notified.
        self.database = None;
        let mut inside = self.of.inside.lock();
        let at = inside.callers.iter().position(|caller| *caller == this_thread());
        inside.callers.swap_remove(at.expect("a call ends where it began"));
        self.of.left.notify_all();
    }
}

/// A collection that a call is about.
pub(crate) struct InCall<'a> {
    collection: Collection,
    // Ends after the collection is gone.
    _call: Call<'a>,
}

impl Deref for InCall<'_> {
    type Target = Collection;

    fn deref(&self) -> &Collection {
        &self.collection
    }
}
