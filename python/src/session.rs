//! Sessions of SQL in this process.
//!
//! A statement runs on a thread of its own while the one that asked waits, attached to nothing:
//!
//! ```text
//!   asks       ── detach ── wait 10 ms ── signals? deadlines? ── wait ── ... ── attach, answer
//!                    │                        └─ Ctrl-C: cancel              │
//!   a thread         └── statement ──────────────────────────────────────────┘
//! ```
//!
//! So Ctrl-C ends a long statement as it ends one of Python, and `statement_timeout` holds.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

use anywhen::sql::{Connection, ToSql};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Failure, Outcome};
use crate::handle::{Handle, TICK, caught, engine};
use crate::sql::Answer;

/// A session of SQL. Whoever uses it while another does waits.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct Session {
    handle: Handle<Connection>,
    cancel: Box<dyn Fn() + Send + Sync>,
    /// Stops statements that have run for too long.
    watch: Box<dyn Fn() + Send + Sync>,
}

/// A parameter: its text, or NULL.
struct Parameter(Option<String>);

impl ToSql for Parameter {
    fn to_sql(&self) -> Option<String> {
        self.0.clone()
    }
}

impl Session {
    pub(crate) fn open(database: &anywhen::Database) -> Outcome<Session> {
        let connection = database.connect()?;
        let cancel = Box::new(connection.canceller());
        // Held weakly, as the canceller does: a session that is closed keeps no database open.
        let instance = Arc::downgrade(&database.instance()?);
        let watch = Box::new(move || {
            if let Some(instance) = instance.upgrade() {
                instance.watch();
            }
        });
        Ok(Session { handle: Handle::new("session", connection), cancel, watch })
    }

    /// Runs `f` on the connection; a signal for this process ends it early, and is what is told then.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Connection) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        let signal = Mutex::new(Ok(()));
        let is_quiet = || {
            let mut signal = signal.lock();
            if signal.is_ok() {
                *signal = Python::attach(|py| py.check_signals());
            }
            signal.is_ok()
        };
        let done = py.detach(|| {
            self.handle.with_patience(is_quiet, |connection| self.watched(connection, is_quiet, f))
        });
        signal.into_inner()?;
        done.map_err(|failure| failure.raise(py))
    }

    fn watched<T: Send>(
        &self,
        connection: &mut Connection,
        is_quiet: impl Fn() -> bool,
        f: impl FnOnce(&mut Connection) -> Outcome<T> + Send,
    ) -> Outcome<T> {
        let (tell, told) = sync_channel(1);
        thread::scope(|scope| {
            let statement = move || {
                // Nobody goes away before it is told.
                let _ = tell.send(caught(|| f(connection)));
            };
            let thread = thread::Builder::new().name("anywhen-sql".into());
            thread.spawn_scoped(scope, statement).map_err(|error| {
                Failure::sql("53000", format!("no thread for the statement: {error}"))
            })?;
            loop {
                match told.recv_timeout(TICK) {
                    Ok(done) => return done,
                    Err(RecvTimeoutError::Timeout) => {
                        (self.watch)();
                        if !is_quiet() {
                            (self.cancel)();
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Failure::sql("XX000", "the statement ended unheard".into()));
                    }
                }
            }
        })
    }
}

#[pymethods]
impl Session {
    /// Runs one statement; parameters are texts, or None for NULL.
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        parameters: Vec<Option<String>>,
    ) -> PyResult<Answer> {
        let parameters: Vec<Parameter> = parameters.into_iter().map(Parameter).collect();
        let answer = self.run(py, |connection| {
            let values: Vec<&dyn ToSql> =
                parameters.iter().map(|value| value as &dyn ToSql).collect();
            Ok(connection.answer(text, &values)?)
        })?;
        Ok(Answer::new(answer))
    }

    /// Runs `COPY ... FROM STDIN` with these bytes; returns the number of rows.
    fn copy_in(&self, py: Python<'_>, text: &str, data: &[u8]) -> PyResult<u64> {
        self.run(py, |connection| Ok(connection.copy_in(text, &mut Cursor::new(data))?))
    }

    /// Runs `COPY ... TO STDOUT`; returns the bytes.
    fn copy_out<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.run(py, |connection| {
            let mut bytes = Vec::new();
            connection.copy_out(text, &mut bytes)?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Severity and text of the notices that statements have left since the last call.
    fn notices(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        engine(py, || {
            self.handle.with(|connection| {
                let notices = connection.notices().into_iter();
                Ok(notices
                    .map(|notice| (notice.severity.name(), notice.message().to_owned()))
                    .collect())
            })
        })
    }

    /// True where the next statement is part of a transaction block that was begun before.
    fn is_in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        engine(py, || self.handle.with(|connection| Ok(connection.is_in_transaction())))
    }

    /// Tells the statement that runs, if one does, to stop; from another thread.
    fn cancel(&self) {
        (self.cancel)();
    }

    /// Ends the session; what is open is rolled back.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        engine(py, || {
            drop(self.handle.take()?);
            Ok(())
        })
    }

    /// True until it is closed.
    fn is_open(&self) -> bool {
        self.handle.is_open()
    }
}
