//! How long a statement may run: it is cancelled when its time is up, wherever it is.
//!
//! ```text
//!   statement   ├──────────────────────┤ 57014 ──> 504
//!   deadline    └── limit ──> cancel, again and again until the statement is gone
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anywhen::sql::{Connection, Error};
use axum::http::StatusCode;
use tokio::task::JoinHandle;

use crate::problem::Problem;

/// A cancellation that comes too early, between two steps of a statement, is said again after this long.
const AGAIN: Duration = Duration::from_millis(10);

/// The end of a statement's time. Dropping it lets the statement be.
pub(super) struct Deadline {
    limit: Duration,
    has_passed: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Deadline {
    /// Has whatever runs on a connection be cancelled once a time is over. To be called where there is a
    /// runtime.
    pub(super) fn set(limit: Duration, connection: &Connection) -> Deadline {
        let has_passed = Arc::new(AtomicBool::new(false));
        let (told, cancel) = (Arc::clone(&has_passed), connection.canceller());
        let task = tokio::runtime::Handle::current().spawn(async move {
            tokio::time::sleep(limit).await;
            told.store(true, Ordering::Relaxed);
            loop {
                cancel();
                tokio::time::sleep(AGAIN).await;
            }
        });
        Deadline { limit, has_passed, task }
    }

    /// The problem that an error of the statement is.
    pub(super) fn problem(deadline: Option<&Deadline>, error: Error) -> Problem {
        let is_cancelled = error.cause.state().code() == "57014";
        match deadline {
            Some(deadline) if is_cancelled && deadline.has_passed.load(Ordering::Relaxed) => {
                let text = format!(
                    "the statement was cancelled after {} ms; nothing was changed",
                    deadline.limit.as_millis()
                );
                Problem::new(StatusCode::GATEWAY_TIMEOUT, text).with("sqlstate", "57014")
            }
            _ => error.into(),
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.task.abort();
    }
}
