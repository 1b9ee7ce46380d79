//! The deadline of a statement: it is cancelled when its time is up or its client is gone, at any point.
//!
//! ```text
//!   statement   ├──────────────────────┤ 57014 ──> 504, or the client has gone
//!   deadline    └── limit ─────┐
//!   client      └── gone ──────┴──> cancel, again and again until the statement is gone
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anywhen::sql::{Connection, Error};
use axum::http::StatusCode;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::cancel::CancelToken;
use crate::problem::Problem;

/// A cancellation that comes too early, between two steps of a statement, is said again after this long.
const AGAIN: Duration = Duration::from_millis(10);

/// The end of a statement's time. Dropping it lets the statement be.
pub(super) struct Deadline {
    limit: Option<Duration>,
    cancelled: CancelToken,
    statement: Arc<Statement>,
    task: Option<JoinHandle<()>>,
}

/// A statement that runs.
struct Statement {
    cancel: Box<dyn Fn() + Send + Sync>,
    is_late: AtomicBool,
    has_ended: AtomicBool,
}

impl Statement {
    async fn cancel(&self) {
        while !self.has_ended.load(Ordering::Relaxed) {
            (self.cancel)();
            tokio::time::sleep(AGAIN).await;
        }
    }
}

impl Deadline {
    /// Cancels the statement of a connection once its time limit, if it has one, is over, or once
    /// its client has gone. To be called where there is a runtime.
    pub(super) fn set(
        limit: Option<Duration>,
        cancelled: &CancelToken,
        connection: &Connection,
    ) -> Deadline {
        let statement = Arc::new(Statement {
            cancel: Box::new(connection.canceller()),
            is_late: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        });
        let runtime = Handle::current();
        let task = limit.map(|limit| {
            let statement = Arc::clone(&statement);
            runtime.spawn(async move {
                tokio::time::sleep(limit).await;
                statement.is_late.store(true, Ordering::Relaxed);
                statement.cancel().await;
            })
        });
        let abandoned = Arc::clone(&statement);
        cancelled.on_cancel(move || {
            runtime.spawn(async move { abandoned.cancel().await });
        });
        Deadline { limit, cancelled: cancelled.clone(), statement, task }
    }

    /// The problem that an error of the statement is.
    pub(super) fn problem(&self, error: Error) -> Problem {
        let is_cancelled = error.cause.state().code() == "57014";
        match self.limit {
            Some(limit) if is_cancelled && self.statement.is_late.load(Ordering::Relaxed) => {
                let text = format!(
                    "the statement was cancelled after {} ms; nothing was changed",
                    limit.as_millis()
                );
                Problem::new(StatusCode::GATEWAY_TIMEOUT, text).with("sqlstate", "57014")
            }
            _ => error.into(),
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.statement.has_ended.store(true, Ordering::Relaxed);
        self.cancelled.forget();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
