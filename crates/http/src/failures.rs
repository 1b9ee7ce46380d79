//! The problem for each error of the layers below.

use anywhen::{DocumentError, EngineError, Error, StoreError};
use axum::http::StatusCode;
use json::JsonError;
use json::jsonb::pathlang::PathError;

use crate::problem::{Problem, Stop};

/// Told by a body that is longer than it may be, through whatever reads it.
#[derive(Debug)]
pub(crate) struct BodyTooLarge {
    pub(crate) bytes_max: u64,
}

impl std::fmt::Display for BodyTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the body is longer than {} bytes", self.bytes_max)
    }
}

impl std::error::Error for BodyTooLarge {}

/// Told by a body that is said to be gzip and is not.
#[derive(Debug)]
pub(crate) struct NoGzip(pub(crate) std::io::Error);

impl std::fmt::Display for NoGzip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the body is not gzip, as Content-Encoding says: {}", self.0)
    }
}

impl std::error::Error for NoGzip {}

/// Told by patches that copy more than they may, through an edit.
#[derive(Debug)]
pub(crate) struct CopiesTooLarge {
    pub(crate) bytes_max: u64,
    pub(crate) nodes_max: u64,
}

impl std::fmt::Display for CopiesTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CopiesTooLarge { bytes_max, nodes_max } = self;
        write!(f, "a request may copy {bytes_max} bytes and {nodes_max} nodes at most")
    }
}

impl std::error::Error for CopiesTooLarge {}

impl From<std::io::Error> for Problem {
    /// Of a body that could not be read, or of a patch.
    fn from(error: std::io::Error) -> Self {
        let inner = error.get_ref();
        if let Some(too_large) = inner.and_then(|inner| inner.downcast_ref::<BodyTooLarge>()) {
            return Problem::too_large(too_large);
        }
        if let Some(no_gzip) = inner.and_then(|inner| inner.downcast_ref::<NoGzip>()) {
            return Problem::bad(no_gzip);
        }
        match inner.and_then(|inner| inner.downcast_ref::<CopiesTooLarge>()) {
            Some(too_large) => Problem::too_large(too_large),
            None => Problem::bad(format!("the body could not be read: {error}")),
        }
    }
}

impl Problem {
    /// Of an answer in pieces whose first piece could not be made.
    pub(crate) fn of_stream(error: std::io::Error) -> Self {
        let text = error.to_string();
        let inner = error.into_inner().and_then(|inner| inner.downcast::<DocumentError>().ok());
        inner.map_or_else(|| Problem::internal(text), |error| Problem::from(*error))
    }
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::Read { source, .. } => source.into(),
            JsonError::Limit { .. } => Problem::refused(error),
            error => Problem::bad(format!("the body is not JSON: {error}")),
        }
    }
}

impl From<PathError> for Problem {
    fn from(error: PathError) -> Self {
        Problem::bad(&error).with("sqlstate", error.sqlstate())
    }
}

impl From<DocumentError> for Problem {
    fn from(error: DocumentError) -> Self {
        use DocumentError::*;
        match error {
            Json(error) => error.into(),
            Read(error) => error.into(),
            Path(_) | BadKey(_) | BadMeta(_) => Problem::bad(error),
            NoDocument { .. } | NoRevision { .. } | NoNode(_) | NeverNode { .. } => {
                Problem::missing(error)
            }
            Dropped { .. } => Problem::missing(error),
            Forgotten { .. } | ForgottenAt { .. } => Problem::new(StatusCode::GONE, error),
            BadEdit(_) => Problem::refused(error),
            Conflict { .. } | Refused(_) => Problem::new(StatusCode::CONFLICT, error),
            Unstorable { ref source, .. } => {
                let sqlstate = source.sqlstate();
                Problem::refused(error).with("sqlstate", sqlstate)
            }
            Value(_) => Problem::refused(error),
            Denied { .. } => Problem::new(StatusCode::FORBIDDEN, error),
            Stale { .. } => Problem::new(StatusCode::PRECONDITION_FAILED, error),
            TooLarge(_) => Problem::too_large(error),
            Txn(error) => transaction(error.sqlstate(), &error),
            Engine(anywhen::EngineError::Txn(error)) => transaction(error.sqlstate(), &error),
            error => Problem::internal(error),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Document(error) => error.into(),
            Error::NoCollection { .. } => Problem::missing(error),
            Error::BadName { .. } => Problem::bad(error),
            Error::OptionsDiffer { .. } | Error::NameTaken { .. } => {
                Problem::new(StatusCode::CONFLICT, error)
            }
            Error::Table(error) => anywhen::sql::Error::from(error).into(),
            Error::Txn(error) => transaction(error.sqlstate(), &error),
            Error::Sql(error) => error.into(),
            Error::Engine(error) => error.into(),
            error => Problem::internal(error),
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Txn(error) => transaction(error.sqlstate(), &error),
            EngineError::NoBackup | EngineError::Store(StoreError::Missing { .. }) => {
                Problem::missing(error)
            }
            EngineError::OtherHistory { .. } | EngineError::LogGone { .. } => {
                Problem::new(StatusCode::CONFLICT, error)
            }
            error => Problem::internal(error),
        }
    }
}

/// The problem of a code of the transaction layer.
fn transaction(sqlstate: &str, error: &dyn std::error::Error) -> Problem {
    let problem = match sqlstate {
        "40001" | "40P01" => Problem::new(StatusCode::CONFLICT, error),
        "54000" => Problem::too_large(error),
        "22023" => Problem::missing(error),
        // Locked for too long, or no writes any more: what was asked for may be right.
        "55P03" | "57014" | "58030" | "53100" | "57P03" => Problem::busy(error),
        _ => Problem::internal(error),
    };
    problem.with("sqlstate", sqlstate)
}

impl From<anywhen::sql::Error> for Problem {
    /// The status follows from the class of the code.
    fn from(error: anywhen::sql::Error) -> Self {
        let state = error.cause.state();
        let code = state.code();
        let status = match (&code[..2], code) {
            (_, "40001" | "40P01" | "55P03") | ("23", _) => StatusCode::CONFLICT,
            (_, "57014") => StatusCode::GATEWAY_TIMEOUT,
            // Of a role that may not do it, or may not log in.
            ("42", "42501") | ("28", _) => StatusCode::FORBIDDEN,
            ("0A", _) => StatusCode::NOT_IMPLEMENTED,
            ("53" | "57", _) | (_, "58030") => StatusCode::SERVICE_UNAVAILABLE,
            ("XX", _) => StatusCode::INTERNAL_SERVER_ERROR,
            ("54", _) => StatusCode::PAYLOAD_TOO_LARGE,
            ("42" | "22" | "08", _) => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let mut problem = Problem::new(status, error.cause.message()).with("sqlstate", code);
        if let Some(position) = error.position {
            problem = problem.with("position", position);
        }
        for (name, text) in [("detail_text", error.cause.detail()), ("hint", error.cause.hint())] {
            if let Some(text) = text {
                problem = problem.with(name, text);
            }
        }
        problem
    }
}

macro_rules! stops {
    ($($error:ty),*) => {$(
        impl From<$error> for Stop {
            fn from(error: $error) -> Self {
                Problem::from(error).into()
            }
        }
    )*};
}

stops!(std::io::Error, JsonError, PathError, DocumentError, Error, anywhen::sql::Error);
