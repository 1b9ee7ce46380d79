//! Failures of the engine as errors of Python: which class, which SQLSTATE.
//!
//! The classes are made in `anywhen/errors.py`. A failure is told as one of the `KINDS` that are known
//! there, or as `sql`, whose class follows from the SQLSTATE.

use anywhen::{DocumentError, EngineError, Error};
use json::JsonError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// What came of a call of the engine.
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
}

impl Failure {
    fn new(kind: &'static str, state: &str, message: String) -> Box<Failure> {
        let state = state.to_owned();
        Box::new(Failure { kind, state, message, detail: None, hint: None, position: None })
    }

    /// The interface was not used as it can be.
    pub(crate) fn interface(message: String) -> Box<Failure> {
        Failure::new("interface", "", message)
    }

    /// What the SQLSTATE says.
    pub(crate) fn sql(state: &str, message: String) -> Box<Failure> {
        Failure::new("sql", state, message)
    }

    /// A value that has no place in a document.
    pub(crate) fn value(message: String) -> Box<Failure> {
        Failure::new("value", "22032", message)
    }

    /// Nothing of that name.
    pub(crate) fn missing(message: String) -> Box<Failure> {
        Failure::new("missing", "02000", message)
    }

    /// The error of Python.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let make = MAKE.import(py, "anywhen.errors", "make");
        let Failure { kind, state, message, detail, hint, position } = self;
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
        Failure::value(error.to_string())
    }
}

impl From<DocumentError> for Box<Failure> {
    fn from(error: DocumentError) -> Self {
        use DocumentError::*;
        let text = error.to_string();
        match error {
            Json(error) => error.into(),
            Path(_) | BadKey(_) | BadEdit(_) => Failure::new("edit", "22023", text),
            NoDocument { .. } | NoRevision { .. } | NoNode(_) | NeverNode { .. } => {
                Failure::missing(text)
            }
            Dropped { .. } => Failure::missing(text),
            Forgotten { .. } | ForgottenAt { .. } => Failure::new("forgotten", "22023", text),
            Conflict { .. } => Failure::new("conflict", "40001", text),
            Stale { .. } => Failure::new("stale", "40001", text),
            TooLarge(_) => Failure::new("value", "54000", text),
            Txn(error) => Failure::sql(error.sqlstate(), text),
            Engine(error) => Failure::sql(error.sqlstate(), text),
            Damaged(_) => Failure::sql("XX001", text),
            _ => Failure::sql("58030", text),
        }
    }
}

impl From<Error> for Box<Failure> {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Document(error) => error.into(),
            Error::NoCollection { .. } => Failure::missing(text),
            Error::NoDatabase(_) | Error::NotADatabase(_) => Failure::sql("3D000", text),
            Error::Exists(_) => Failure::sql("42P04", text),
            Error::BadName { .. } => Failure::new("edit", "42602", text),
            Error::OptionsDiffer { .. } => Failure::sql("42710", text),
            Error::Catalog(_) | Error::Inconsistent { .. } => Failure::sql("XX001", text),
            Error::Engine(EngineError::InUse { .. }) => {
                let mut failure = Failure::sql("55006", text);
                failure.hint = Some(
                    "one process has a database open at a time, and once: share what anywhen.open gave, \
                     or let `anywhen serve` have it and use anywhen.connect"
                        .into(),
                );
                failure
            }
            Error::Engine(error) => Failure::sql(error.sqlstate(), text),
            Error::Txn(error) => Failure::sql(error.sqlstate(), text),
            _ => Failure::sql("58030", text),
        }
    }
}
