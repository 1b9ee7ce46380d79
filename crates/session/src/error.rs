//! Errors and notices as clients see them: PostgreSQL's codes, texts and places.
//!
//! ```text
//!   types::Error    code, message, detail, hint, objects        what went wrong
//!   sql::Error      + an offset in the text                     where
//!   Error           + severity, position in characters          what is sent
//! ```

use std::fmt;

use types::{RetryReason, SqlState};

use crate::statement::Parsed;

/// The result of an operation of a session.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Calls `run`, and returns the error if `run` ended by [`interrupt::throw`]: a lazy value of a damaged document does so.
///
/// A caller that changes the state of the session for the time of a call makes the call by this function, and puts the
/// state back as after any other error.
pub(crate) fn caught<R, E: From<types::Error>>(run: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    interrupt::catch(run).unwrap_or_else(|thrown| Err(types::Error::from(thrown).into()))
}

/// How grave a message is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// For the curious.
    Debug,
    /// For a log.
    Log,
    /// The information that the client asked for.
    Info,
    /// Worth knowing.
    Notice,
    /// Probably not what was meant.
    Warning,
    /// The statement did not happen.
    Error,
    /// The session ends.
    Fatal,
}

impl Severity {
    /// The word of the protocol, such as `ERROR`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Debug => "DEBUG",
            Severity::Log => "LOG",
            Severity::Info => "INFO",
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
        }
    }
}

/// An error or a notice, ready to be sent. Code, message, detail, hint, context and the objects it
/// is about are those of its cause.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    /// How grave it is.
    pub severity: Severity,
    /// The place in the text of the query, in characters from 1.
    pub position: Option<u32>,
    /// The code, the texts and the objects.
    pub cause: types::Error,
    /// The text of a statement that another one has run, such as a line of a `DO` block, and the place in it.
    pub inner: Option<Box<(String, u32)>>,
    /// The routine of PostgreSQL that reports it, where drivers act on its name.
    pub routine: Option<&'static str>,
    /// The line of the code, from 1, that reports it: of a `DO` block, for what `RAISE` says.
    pub line: Option<u32>,
}

impl Error {
    /// An error about the statement as a whole.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        types::Error::new(state, message).into()
    }

    /// A notice, warning or other message that is no error.
    pub fn notice(severity: Severity, state: SqlState, message: impl Into<String>) -> Self {
        Self { severity, ..types::Error::new(state, message).into() }
    }

    /// The error for what is not there yet: `0A000`.
    pub fn not_supported(what: impl fmt::Display) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// The error for a plan whose rows would have other columns than the client was told of: `0A000`.
    /// Drivers prepare the statement again where they see this routine.
    pub fn plan_changed() -> Self {
        let message = "cached plan must not change result type";
        let error = Self::new(SqlState::FEATURE_NOT_SUPPORTED, message);
        Self { routine: Some("RevalidateCachedQuery"), ..error }
    }

    /// The same error as one that ends the session.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.severity = Severity::Fatal;
        self
    }

    /// The same error with a second sentence that tells more.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.cause = self.cause.with_detail(detail);
        self
    }

    /// The same error with advice about what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.cause = self.cause.with_hint(hint);
        self
    }

    /// The error of a part of a statement, with its place in the whole text.
    pub(crate) fn inside(mut self, part: &str, whole: &Parsed) -> Self {
        if let (Some(position), Some(at)) = (self.position, whole.text().find(part)) {
            let before = &whole.source[..whole.range.start + at];
            self.position = Some(position + before.chars().count() as u32);
        }
        self
    }

    /// The code.
    pub fn state(&self) -> SqlState {
        self.cause.state()
    }

    /// The primary message.
    pub fn message(&self) -> &str {
        self.cause.message()
    }

    /// The error of reading or binding `text`.
    pub fn in_text(error: sql::Error, text: &str) -> Self {
        let position = error.at.position(text);
        Self { position, ..error.cause.into() }
    }
}

impl From<types::Error> for Error {
    fn from(cause: types::Error) -> Self {
        Self {
            severity: Severity::Error,
            position: None,
            inner: None,
            cause,
            routine: None,
            line: None,
        }
    }
}

impl From<table::Error> for Error {
    fn from(error: table::Error) -> Self {
        match error {
            table::Error::Sql(error) => error.into(),
            table::Error::Txn(error) => error.into(),
            other => other.reported().into(),
        }
    }
}

impl From<txn::TxnError> for Error {
    fn from(error: txn::TxnError) -> Self {
        use txn::TxnError;
        if matches!(error, TxnError::Blocked) {
            return types::Error::retry(RetryReason::Blocked).into();
        }
        let (message, detail, hint) = match &error {
            TxnError::Serialization { why: txn::SerializationFailure::Updated(_) } => {
                ("could not serialize access due to concurrent update".to_owned(), None, None)
            }
            TxnError::Serialization { why } => (
                "could not serialize access due to read/write dependencies among transactions"
                    .to_owned(),
                Some(format!("Reason: {why}.")),
                Some("The transaction might succeed if retried."),
            ),
            TxnError::Deadlock => ("deadlock detected".to_owned(), None, None),
            TxnError::LockTimeout => {
                ("canceling statement due to lock timeout".to_owned(), None, None)
            }
            TxnError::Interrupted => {
                ("canceling statement due to user request".to_owned(), None, None)
            }
            other => (other.to_string(), None, None),
        };
        let state = SqlState::from_code(error.sqlstate()).unwrap_or(SqlState::INTERNAL_ERROR);
        let (source, mut error) = (error, Error::new(state, message));
        if let Some(detail) = detail {
            error = error.detail(detail);
        }
        if let Some(hint) = hint {
            error = error.hint(hint);
        }
        error.cause = error.cause.with_source(source);
        error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:  {}", self.severity.name(), self.cause)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?}", self.severity.name(), self.position, self.cause)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}
