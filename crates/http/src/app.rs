//! [`App`]: what all requests share, and the threads that may wait.
//!
//! ```text
//!   reactor threads    heads, routes, short reads of what is in memory
//!        │  Pool::run
//!        v
//!   waiting threads    everything that may look at the disk, wait for a lock or take long
//! ```
//!
//! Invariant: what waits for a thread is bounded; what comes beyond is told to come again.

use std::sync::Arc;

use anywhen::{Csn, Database};
use tokio::sync::{Semaphore, watch};

use crate::auth::Guard;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::problem::Problem;

/// What all requests share.
pub(crate) struct App {
    pub(crate) database: Database,
    pub(crate) options: Options,
    pub(crate) guard: Guard,
    pub(crate) metrics: Metrics,
    /// Places for requests.
    pub(crate) requests: Semaphore,
    /// Places for answers in pieces.
    pub(crate) streams: Arc<Semaphore>,
    /// The newest commit that those who follow were told of.
    pub(crate) newest: watch::Sender<Csn>,
    /// True once the server has been told to stop.
    pub(crate) stopping: watch::Sender<bool>,
    waiting: Arc<Semaphore>,
}

impl App {
    pub(crate) fn new(database: Database, guard: Guard, options: Options) -> App {
        let limits = &options.limits;
        App {
            guard,
            metrics: Metrics::default(),
            requests: Semaphore::new(limits.requests_max),
            streams: Arc::new(Semaphore::new(limits.streams_max)),
            waiting: Arc::new(Semaphore::new(limits.workers + limits.queued_max)),
            newest: watch::Sender::new(database.newest()),
            stopping: watch::Sender::new(false),
            database,
            options,
        }
    }

    /// Runs work on a thread that may wait.
    ///
    /// # Errors
    /// 503 where too much waits already, 500 where the work fails in a way that it should not.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let place = Arc::clone(&self.waiting).try_acquire_owned();
        let place = place.map_err(|_| Problem::busy("too many requests wait for a thread"))?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.map_err(|_| Problem::internal("the server failed inside of a request"))
    }
}
