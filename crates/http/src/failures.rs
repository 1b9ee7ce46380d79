//! The problem for each error of the layers below.

use anywhen::{Causes, DocumentError, EngineError, Error};
use axum::http::StatusCode;
use json::JsonError;
use json::jsonb::pathlang::PathError;

use crate::problem::{Problem, Stop, log_failure};

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
    /// The problem for a body that could not be read, or for a patch.
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
    /// The problem for a streamed answer whose first piece could not be made.
    pub(crate) fn of_stream(error: std::io::Error) -> Self {
        match error.downcast::<DocumentError>() {
            Ok(error) => Problem::from(error),
            Err(error) => Problem::internal(Causes(&error)),
        }
    }
}

/// Writes to the log why an answer in pieces ends early: a failure of ours as an error. The client may have gone.
pub(crate) fn log_early_end(error: &std::io::Error) {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<DocumentError>());
    match inner.and_then(|inner| Some((inner, inner.sqlstate_below()?))) {
        Some((inner, sqlstate)) => log_failure(sqlstate, inner),
        None => tracing::debug!("an answer ends early: {error}"),
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
        if let Some(sqlstate) = error.sqlstate_below() {
            return Problem::of_failure(sqlstate, &error);
        }
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
            error => Problem::internal(Causes(&error)),
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
            Error::Sql(error) => error.into(),
            Error::Engine(error) => error.into(),
            error => Problem::of_failure(error.sqlstate().code(), &error),
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::NoBackup => Problem::missing(error),
            EngineError::OtherHistory { .. } | EngineError::LogGone { .. } => {
                Problem::new(StatusCode::CONFLICT, error)
            }
            error => Problem::of_failure(error.sqlstate(), &error),
        }
    }
}

impl From<anywhen::sql::Error> for Problem {
    /// The status follows from the class of the code.
    fn from(error: anywhen::sql::Error) -> Self {
        let state = error.cause.state();
        let code = state.code();
        let status = match (&code[..2], code) {
            (_, "40001" | "40P01" | "55P03") | ("23", _) => StatusCode::CONFLICT,
            (_, "57014") => StatusCode::GATEWAY_TIMEOUT,
            // The role lacks the right, or may not log in.
            ("42", "42501") | ("28", _) => StatusCode::FORBIDDEN,
            ("0A", _) => StatusCode::NOT_IMPLEMENTED,
            ("53" | "57", _) | (_, "58030") => StatusCode::SERVICE_UNAVAILABLE,
            ("XX", _) => StatusCode::INTERNAL_SERVER_ERROR,
            ("54", _) => StatusCode::PAYLOAD_TOO_LARGE,
            ("42" | "22" | "08", _) => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        log_failure(code, &error.cause);
        let problem = match code {
            "XX001" | "XX002" => Problem::damaged(Causes(&error.cause).to_string()),
            _ => Problem::new(status, error.cause.message()),
        };
        let mut problem = problem.with("sqlstate", code);
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
