//! Sessions of SQL in this process.
//!
//! A statement runs on another thread ([`worker`]) while the asking thread waits, detached from Python:
//!
//! ```text
//!   asks       ── detach ── wait 10 ms ── signals? deadlines? ── wait ── ... ── attach, answer
//!                    │                        └─ Ctrl-C: cancel              │
//!   its worker       └── statement ──────────────────────────────────────────┘
//! ```
//!
//! So Ctrl-C ends a long statement as it ends one of Python, and `statement_timeout` holds.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use anywhen::sql::{Connection, ToSql};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow_in::ArrowIn;
use crate::errors::{Failure, Outcome};
use crate::handle::{Handle, TICK, caught, engine};
use crate::sql::Answer;
use crate::waits::{Open, Waits, signals, this_thread, working_for};
use crate::worker;

/// A session of SQL. A thread that uses it while another does waits.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct Session {
    handle: Handle<SessionState>,
    cancel: Box<dyn Fn() + Send + Sync>,
    /// Stops statements that have run for too long.
    watch: Box<dyn Fn() + Send + Sync>,
    waits: Arc<Waits>,
}

/// A parameter: its text, or NULL.
struct Parameter(Option<String>);

impl ToSql for Parameter {
    fn to_sql(&self) -> Option<String> {
        self.0.clone()
    }
}

impl Session {
    pub(crate) fn open(database: &anywhen::Database, waits: &Arc<Waits>) -> Outcome<Session> {
        let connection = database.connect()?;
        let cancel = Box::new(connection.canceller());
        // Held weakly, as the canceller does: a session that is closed keeps no database open.
        let instance = Arc::downgrade(&database.instance()?);
        let watch = Box::new(move || {
            if let Some(instance) = instance.upgrade() {
                instance.watch();
            }
        });
        let handle =
            Handle::new("session", SessionState { connection: Some(connection), block: None });
        Ok(Session { handle, cancel, watch, waits: Arc::clone(waits) })
    }

    /// Runs `f` on the connection; a signal for this process ends it early, and is the result then. Closing
    /// the database ends it too.
    fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Connection) -> Outcome<T> + Send + 'static,
    ) -> PyResult<T> {
        engine(py, || self.handle.with(|place| self.watched(place, f)))
    }

    fn watched<T: Send + 'static>(
        &self,
        place: &mut SessionState,
        f: impl FnOnce(&mut Connection) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let lost = || Failure::sql("XX000", "the session was lost with a statement".into());
        let mut connection = place.connection.take().ok_or_else(lost)?;
        let (tell, told) = sync_channel(1);
        let asker = this_thread();
        worker::run(move || {
            let done = working_for(asker, || caught(|| f(&mut connection)));
            // No waiter leaves before it is notified.
            let _ = tell.send((connection, done));
        })?;
        let mut signal = Ok(());
        loop {
            match told.recv_timeout(TICK) {
                Ok((connection, done)) => {
                    place.settle(connection, &self.waits);
                    signal?;
                    return done;
                }
                Err(RecvTimeoutError::Timeout) => {
                    (self.watch)();
                    if signal.is_ok() {
                        signal = signals();
                    }
                    if signal.is_err() || self.waits.is_closing() {
                        (self.cancel)();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
        }
    }

    fn ended(&self, py: Python<'_>, meanwhile: impl FnMut() + Send) -> PyResult<()> {
        engine(py, || {
            drop(self.handle.take_from(meanwhile)?);
            Ok(())
        })
    }
}

/// The state of a session between statements.
struct SessionState {
    /// `None` while a statement has it, on its thread.
    connection: Option<Connection>,
    /// The transaction that the statements before have left open.
    block: Option<Open>,
}

impl SessionState {
    fn settle(&mut self, connection: Connection, waits: &Arc<Waits>) {
        let block = connection.newest_transaction().filter(|_| connection.is_in_transaction());
        // The old entry is dropped first: it may be that of the same transaction.
        self.block = None;
        self.block = block.map(|id| Open::used(waits, id));
        self.connection = Some(connection);
    }
}

#[pymethods]
impl Session {
    /// Runs one statement; parameters are texts, or None for NULL.
    fn query(
        &self,
        py: Python<'_>,
        text: String,
        parameters: Vec<Option<String>>,
    ) -> PyResult<Answer> {
        let parameters: Vec<Parameter> = parameters.into_iter().map(Parameter).collect();
        let answer = self.run(py, move |connection| {
            let values: Vec<&dyn ToSql> =
                parameters.iter().map(|value| value as &dyn ToSql).collect();
            Ok(connection.answer(&text, &values)?)
        })?;
        Ok(Answer::new(answer))
    }

    /// Runs `COPY ... FROM STDIN` with these bytes; returns the number of rows.
    fn copy_in(&self, py: Python<'_>, text: String, data: Vec<u8>) -> PyResult<u64> {
        self.run(py, move |connection| Ok(connection.copy_in(&text, &mut Cursor::new(data))?))
    }

    /// Runs `COPY ... FROM STDIN (FORMAT arrow)` with this stream; returns the number of rows.
    fn copy_arrow(&self, py: Python<'_>, text: String, data: &ArrowIn) -> PyResult<u64> {
        let mut data = engine(py, || data.take())?;
        self.run(py, move |connection| Ok(connection.copy_in(&text, &mut data)?))
    }

    /// Runs `COPY ... TO STDOUT`; returns the bytes.
    fn copy_out<'py>(&self, py: Python<'py>, text: String) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.run(py, move |connection| {
            let mut bytes = Vec::new();
            connection.copy_out(&text, &mut bytes)?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Severity and text of the notices that statements have left since the last call.
    fn notices(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        engine(py, || {
            self.handle.with(|place| {
                let connection = place.connection.as_mut();
                let notices = connection.map(Connection::notices).unwrap_or_default();
                let notices = notices.into_iter();
                Ok(notices
                    .map(|notice| (notice.severity.name(), notice.message().to_owned()))
                    .collect())
            })
        })
    }

    /// True if the next statement is part of a transaction block that was begun before.
    fn is_in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        engine(py, || {
            self.handle.with(|place| {
                Ok(place.connection.as_ref().is_some_and(Connection::is_in_transaction))
            })
        })
    }

    /// Tells the statement that runs, if one does, to stop; from another thread.
    fn cancel(&self) {
        (self.cancel)();
    }

    /// Ends the session, after the statement that runs if one does; what is open is rolled back.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.ended(py, || {})
    }

    /// Ends the session, and the statement that runs if one does.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.ended(py, || (self.cancel)())
    }

    /// True until it is closed.
    fn is_open(&self) -> bool {
        self.handle.is_open()
    }
}
