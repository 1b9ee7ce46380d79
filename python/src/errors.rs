//! Failures of the engine as errors of Python: which class, which SQLSTATE.
//!
//! The classes are made in `anywhen/errors.py`. A failure has one of the `KINDS` of that file, or
//! `sql`, whose class follows from the SQLSTATE.

use anywhen::{DocumentError, EngineError, Error};
use json::JsonError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The result of a call of the engine.
pub(crate) type Outcome<T> = Result<T, Box<Failure>>;

/// Why a call of the engine failed.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: &'static str,
    state: String,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    position: Option<u32>,
    /// The exception that a signal's handler raised. It replaces all the other fields.
    raised: Option<PyErr>,
}

impl Failure {
    fn new(kind: &'static str, state: &str, message: String) -> Box<Failure> {
        let state = state.to_owned();
        Box::new(Failure {
            kind,
            state,
            message,
            detail: None,
            hint: None,
            position: None,
            raised: None,
        })
    }

    /// Returns the failure of a wrong use of the interface.
    pub(crate) fn interface(message: String) -> Box<Failure> {
        Failure::new("interface", "", message)
    }

    /// Returns the failure for an object that was used after it was closed.
    pub(crate) fn closed(what: &str) -> Box<Failure> {
        Failure::interface(format!("the {what} is closed"))
    }

    /// Something was used in a process that it does not belong to.
    pub(crate) fn forked(what: &str) -> Box<Failure> {
        let text = "was opened before a fork: open it in the process that uses it";
        Failure::interface(format!("the {what} {text}"))
    }

    /// A handler of a signal raised an error.
    pub(crate) fn raised(error: PyErr) -> Box<Failure> {
        let mut failure = Failure::interface("the call was interrupted".into());
        failure.raised = Some(error);
        failure
    }

    /// Adds what can be done about it.
    pub(crate) fn advise(&mut self, hint: &str) {
        self.hint = Some(hint.to_owned());
    }

    /// True if a handler of a signal raised it.
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.is_some()
    }

    /// The lock belongs to an open transaction of the thread that waits.
    pub(crate) fn own_lock() -> Box<Failure> {
        let text = "deadlock: it was changed by an open transaction that this thread used last, and which it \
                    cannot end while it waits";
        let mut failure = Failure::sql("40P01", text.into());
        failure.hint = Some("write inside that transaction, or end it before".into());
        failure
    }

    /// The error of an SQLSTATE.
    pub(crate) fn sql(state: &str, message: String) -> Box<Failure> {
        Failure::new("sql", state, message)
    }

    /// Returns an error of the engine as its SQLSTATE and one line with the error and its causes.
    fn of(error: &Error) -> Box<Failure> {
        Failure::sql(error.sqlstate().code(), anywhen::Causes(error).to_string())
    }

    /// A value that has no place in a document.
    pub(crate) fn value(message: String) -> Box<Failure> {
        Failure::new("value", "22032", message)
    }

    /// Returns the failure for an invalid edit or argument.
    pub(crate) fn edit(message: String) -> Box<Failure> {
        Failure::new("edit", "22023", message)
    }

    /// Returns the failure for a text that is not a time.
    pub(crate) fn time(message: String) -> Box<Failure> {
        Failure::new("value", "22007", message)
    }

    /// Nothing of that name.
    pub(crate) fn missing(message: String) -> Box<Failure> {
        Failure::new("missing", "02000", message)
    }

    /// The error of Python.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let make = MAKE.import(py, "anywhen.errors", "make");
        let Failure { kind, state, message, detail, hint, position, raised } = self;
        if let Some(raised) = raised {
            return raised;
        }
        let arguments = (kind, state, message, detail, hint, position);
        match make.and_then(|make| make.call1(arguments)) {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    }
}

impl From<anywhen::sql::Error> for Box<Failure> {
    fn from(error: anywhen::sql::Error) -> Self {
        let mut failure = Failure::sql(error.state().code(), error.message().to_owned());
        failure.detail = error.cause.detail().map(str::to_owned);
        failure.hint = error.cause.hint().map(str::to_owned);
        failure.position = error.position;
        failure
    }
}

impl From<JsonError> for Box<Failure> {
    fn from(error: JsonError) -> Self {
        match error {
            // Not the text is wrong: its file could not be read.
            JsonError::Read { source, .. } => DocumentError::Read(source).into(),
            error => Failure::value(error.to_string()),
        }
    }
}

impl From<DocumentError> for Box<Failure> {
    fn from(error: DocumentError) -> Self {
        use DocumentError::*;
        let text = error.to_string();
        match error {
            error if error.sqlstate_below().is_some() => Failure::of(&Error::Document(error)),
            Json(error) => error.into(),
            Path(_) | BadKey(_) | BadMeta(_) | BadEdit(_) => Failure::new("edit", "22023", text),
            NoDocument { .. } | NoRevision { .. } | NoNode(_) | NeverNode { .. } => {
                Failure::missing(text)
            }
            Dropped { .. } => Failure::missing(text),
            Forgotten { .. } | ForgottenAt { .. } => Failure::new("forgotten", "22023", text),
            Conflict { .. } => Failure::new("conflict", "40001", text),
            Stale { .. } => Failure::new("stale", "40001", text),
            TooLarge(_) => Failure::new("value", "54000", text),
            Unstorable { source, .. } => Failure::new("value", source.sqlstate(), text),
            Value(source) => Failure::new("value", source.sqlstate(), text),
            error => Failure::of(&Error::Document(error)),
        }
    }
}

impl From<anywhen::TableError> for Box<Failure> {
    fn from(error: anywhen::TableError) -> Self {
        let text = anywhen::Causes(&error).to_string();
        let mut failure = Failure::sql(error.sqlstate().code(), text);
        if let anywhen::TableError::Sql(error) = &error {
            failure.hint = error.hint().map(str::to_owned);
        }
        failure
    }
}

impl From<Error> for Box<Failure> {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Document(error) => error.into(),
            Error::Sql(error) => error.into(),
            Error::NoCollection { .. } => Failure::missing(text),
            Error::BadName { .. } => Failure::new("edit", "42602", text),
            Error::Table(error) => error.into(),
            Error::Engine(EngineError::InUse { .. }) => {
                let mut failure = Failure::sql("55006", text);
                failure.hint = Some(
                    "one process has a database open at a time, and once: share what anywhen.open gave, \
                     or let `anywhen serve` have it and use anywhen.connect"
                        .into(),
                );
                failure
            }
            error => Failure::of(&error),
        }
    }
}
