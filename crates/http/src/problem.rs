//! Errors as clients get them: a status, and a body with the error and the next step (RFC 9457), and
//! with the two fields that clients of other versioned stores read.
//!
//! ```text
//!   {"type":"about:blank","title":"Not Found","status":404,"detail":"no document \"a\"",
//!    "statusCode":404,"message":"no document \"a\""}
//! ```
//!
//! | status | is |
//! |---|---|
//! | 400 | the request does not parse: JSON, a path, a parameter |
//! | 401, 403 | an unknown caller; a caller without the right, or a web page of another origin |
//! | 404, 405 | the object does not exist; the route does not have the method |
//! | 409, 412, 428 | a conflict with another writer; a precondition that does not hold; a missing precondition |
//! | 410 | a version that is no longer kept |
//! | 413, 415, 422 | too large; not JSON, or without its type; JSON that cannot be applied |
//! | 421 | for a host that is not this machine, if callers need no token |
//! | 500, 501 | a failure of the server, such as damaged data; not supported |
//! | 503 | too many requests at once, or the database takes no writes: try again later |
//! | 504 | a statement of SQL exceeded its time limit |
//!
//! Invariant: a mistake of the caller is never a 5xx, except 501.

use std::error::Error;
use std::fmt::Display;

use anywhen::Causes;
use axum::http::StatusCode;
use axum::http::header::{HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::{Map, Value, json};

use crate::answer::Answer;

/// The media type of an error.
pub(crate) const MEDIA: &str = "application/problem+json";

/// The error of a request.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    /// Further members, such as the code of an SQL error.
    more: Map<String, Value>,
    header: Option<(HeaderName, HeaderValue)>,
}

/// The reason why a handler gave no answer.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It would take too long on this thread: call it again on a thread that may wait.
    Later,
    /// The request failed.
    Problem(Box<Problem>),
}

/// The result of handlers.
pub(crate) type Result<T, E = Stop> = std::result::Result<T, E>;

impl Problem {
    /// A problem of this status, in a sentence.
    pub(crate) fn new(status: StatusCode, detail: impl Display) -> Self {
        Problem { status, detail: detail.to_string(), more: Map::new(), header: None }
    }

    /// The request does not parse.
    pub(crate) fn bad(detail: impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// There is nothing of that name.
    pub(crate) fn missing(detail: impl Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// It is understood, and cannot be done.
    pub(crate) fn refused(detail: impl Display) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// The request is understood, and the server does not support it yet.
    pub(crate) fn not_supported(detail: impl Display) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, detail)
    }

    /// A body of a type, or in a coding, that is not taken.
    pub(crate) fn unsupported_media(detail: impl Display) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
    }

    /// A body or value beyond a limit.
    pub(crate) fn too_large(detail: impl Display) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    /// Too many requests at once.
    pub(crate) fn busy(detail: impl Display) -> Self {
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, detail);
        problem.header = Some((RETRY_AFTER, HeaderValue::from_static("1")));
        problem
    }

    /// The caller is unknown.
    pub(crate) fn unauthorized(detail: impl Display) -> Self {
        let mut problem = Self::new(StatusCode::UNAUTHORIZED, detail);
        problem.header = Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        problem
    }

    /// A failure of the server. The log has the error.
    pub(crate) fn internal(error: impl Display) -> Self {
        tracing::error!("a request failed: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    /// The problem for a failure of the layers below, by its SQLSTATE: 500 if data are damaged, 503 if the disk failed
    /// or is full. The log gets the error with all its causes.
    pub(crate) fn of_failure(sqlstate: &str, error: &(dyn Error + 'static)) -> Self {
        log_failure(sqlstate, error);
        let problem = match sqlstate {
            "XX001" | "XX002" => Self::damaged(Causes(error).to_string()),
            "40001" | "40P01" => Self::new(StatusCode::CONFLICT, error),
            "54000" => Self::too_large(error),
            "22023" => Self::missing(error),
            "42501" => Self::new(StatusCode::FORBIDDEN, error),
            // A lock timeout, or no writes any more: the request may succeed later.
            "55P03" | "57014" | "58030" | "53100" | "53200" | "57P03" => Self::busy(error),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, error),
        };
        problem.with("sqlstate", sqlstate)
    }

    /// Stored data are damaged: `detail` says which.
    pub(crate) fn damaged(detail: String) -> Self {
        let detail = match detail.contains("damaged") {
            true => detail,
            false => format!("the data are damaged: {detail}"),
        };
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// The same, with a further member.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// The same, with a header.
    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.header = Some((name, HeaderValue::from_static(value)));
        self
    }

    /// True if the caller is unknown.
    pub(crate) fn is_unauthorized(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The answer with this problem.
    pub(crate) fn answer(self) -> Answer {
        let mut body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "statusCode": self.status.as_u16(),
            "message": self.detail,
        });
        if let Value::Object(fields) = &mut body {
            fields.extend(self.more);
        }
        let mut answer = Answer::bytes(self.status, MEDIA, body.to_string());
        answer.headers.extend(self.header);
        answer
    }
}

/// Writes a failure of the server to the log, with all its causes. Conflicts and limits are not failures.
pub(crate) fn log_failure(sqlstate: &str, error: &(dyn Error + 'static)) {
    if ["XX", "58"].iter().any(|class| sqlstate.starts_with(class)) || sqlstate == "53100" {
        tracing::error!(sqlstate, "a request failed: {}", Causes(error));
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::Problem(Box::new(problem))
    }
}
