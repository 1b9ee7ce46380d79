//! [`App`]: the state that all requests share, and the threads that may wait.
//!
//! ```text
//!   reactor threads    heads, routes, short reads of what is in memory
//!        │  Pool::run
//!        v
//!   waiting threads    everything that may look at the disk, wait for a lock or take long
//! ```
//!
//! Invariant: what waits for a thread is bounded; a request beyond that is asked to come again.

use std::sync::Arc;

use anywhen::{Csn, Database};
use tokio::sync::{Semaphore, watch};

use crate::auth::Guard;
use crate::browser::BrowserRules;
use crate::cancel::{CancelGuard, CancelToken, pair};
use crate::connections::Connections;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::problem::Problem;

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) database: Database,
    pub(crate) options: Options,
    pub(crate) guard: Guard,
    pub(crate) browser_rules: BrowserRules,
    pub(crate) metrics: Metrics,
    pub(crate) connections: Arc<Connections>,
    /// Places for requests.
    pub(crate) requests: Semaphore,
    /// Places for answers in pieces.
    pub(crate) streams: Arc<Semaphore>,
    /// The newest commit that those who follow were told of.
    pub(crate) newest: watch::Sender<Csn>,
    /// True once the server has been told to stop.
    pub(crate) stopping: watch::Sender<bool>,
    /// True once the grace period is over: connections end as they are.
    pub(crate) cutting: watch::Sender<bool>,
    waiting: Arc<Semaphore>,
    waiting_max: u32,
    streams_max: u32,
}

impl App {
    pub(crate) fn new(database: Database, guard: Guard, options: Options) -> App {
        let limits = &options.limits;
        let waiting_max = limits.workers + limits.queued_max;
        let counted = |places: usize| u32::try_from(places).unwrap_or(u32::MAX);
        App {
            guard,
            browser_rules: BrowserRules::new(&options.cors, options.auth.is_open()),
            metrics: Metrics::default(),
            connections: Connections::new(limits.connections_max),
            requests: Semaphore::new(limits.requests_max),
            streams: Arc::new(Semaphore::new(limits.streams_max)),
            waiting: Arc::new(Semaphore::new(waiting_max)),
            waiting_max: counted(waiting_max),
            streams_max: counted(limits.streams_max),
            newest: watch::Sender::new(database.newest()),
            stopping: watch::Sender::new(false),
            cutting: watch::Sender::new(false),
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

    /// Runs work on a thread that may wait, and cancels it when this future is dropped. Returns the guard as
    /// well: an answer in pieces keeps it until its end.
    ///
    /// # Errors
    /// As [`App::run`].
    pub(crate) async fn run_cancellable<T: Send + 'static>(
        &self,
        work: impl FnOnce(CancelToken) -> T + Send + 'static,
    ) -> Result<(T, CancelGuard), Problem> {
        let (guard, cancelled) = pair();
        let done = self.run(move || (!cancelled.is_set()).then(|| work(cancelled))).await?;
        let done = done.ok_or_else(|| Problem::busy("the client closed the connection"))?;
        Ok((done, guard))
    }

    /// Waits until no thread works for a request.
    pub(crate) async fn is_idle(&self) {
        // Errors would mean that there are no threads any more.
        let _ = self.waiting.acquire_many(self.waiting_max).await;
        let _ = self.streams.acquire_many(self.streams_max).await;
    }
}
