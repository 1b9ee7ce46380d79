//! Worker threads that run statements: one for each asking thread, started with its first statement.
//!
//! A worker waits for the next statement until its asking thread ends. So a statement costs two hand-overs and
//! not a thread. No two threads share a worker: there is nothing to lock, and nothing that a fork could leave
//! locked.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::errors::{Failure, Outcome};
use crate::handle::forks;

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    /// Where the worker of this thread takes its jobs, and the process that it lives in.
    static WORKER: RefCell<Option<(u64, Sender<Job>)>> = const { RefCell::new(None) };
}

/// Runs a job on the worker of this thread.
///
/// # Errors
/// `53000` where the machine gives no thread.
pub(crate) fn run(job: impl FnOnce() + Send + 'static) -> Outcome<()> {
    WORKER.with_borrow_mut(|worker| {
        let is_here = worker.as_ref().is_some_and(|(of, _)| *of == forks());
        if !is_here {
            let (give, jobs): (Sender<Job>, Receiver<Job>) = channel();
            let thread = thread::Builder::new().name("anywhen-sql".into());
            let work = move || jobs.into_iter().for_each(|job| job());
            thread.spawn(work).map_err(|error| {
                Failure::sql("53000", format!("no thread for the statement: {error}"))
            })?;
            *worker = Some((forks(), give));
        }
        let (_, give) = worker.as_ref().expect("it was made where there was none");
        let gone = |_| Failure::sql("XX000", "the thread for statements has ended".into());
        give.send(Box::new(job)).map_err(gone)
    })
}
