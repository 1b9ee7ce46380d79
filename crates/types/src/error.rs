//! The error of everything below the SQL server that a user can cause.
//!
//! ```text
//!   ERROR:  22P02: invalid input syntax for type boolean: "maybe"      state, message
//!   DETAIL: ...                                                        detail
//!   HINT:   ...                                                        hint
//! ```
//!
//! The texts are PostgreSQL's own where they are known: programs and tests compare them.

use std::fmt;
use std::sync::Arc;

use interrupt::{Interrupted, Thrown};
use json::jsonb::JsonbError;
use json::jsonb::pathlang::PathError;
use json::written::SyntaxError;
use numeric::NumericError;

use crate::SqlState;

/// The result of a function that can fail with an error for the user.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error, in the parts in which PostgreSQL's protocol hands it out.
///
/// One pointer wide, so that a `Result` of a value costs nothing where all goes well.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Parts>);

/// The source is no part of what clients see: two errors that differ in it alone are equal.
#[derive(Clone)]
struct Parts {
    state: SqlState,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    objects: Vec<(Object, String)>,
    retry: Option<RetryReason>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl PartialEq for Parts {
    fn eq(&self, other: &Parts) -> bool {
        let Parts { state, message, detail, hint, context, objects, retry, source: _ } = self;
        (state, message, detail, hint) == (&other.state, &other.message, &other.detail, &other.hint)
            && (context, objects, retry) == (&other.context, &other.objects, &other.retry)
    }
}

impl Eq for Parts {}

/// Why a statement stopped on a thread that other sessions need: the session undoes the changes of the statement,
/// and runs it again on a thread that may wait. No client sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryReason {
    /// It would have to wait, for a lock or for the time.
    Blocked,
    /// It looks at more than it may there.
    BudgetSpent,
}

/// Which object of the database an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// The schema of the table, type or constraint.
    Schema,
    /// The table.
    Table,
    /// The column of the table.
    Column,
    /// The data type.
    Type,
    /// The constraint that was violated.
    Constraint,
}

impl Error {
    /// An error with its code and its primary message.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            objects: Vec::new(),
            retry: None,
            source: None,
        }))
    }

    /// The error of a lower layer, in its own words and with it as the source.
    pub fn from_source(
        state: SqlState,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Error::new(state, source.to_string()).with_source(source)
    }

    /// The error of a statement that is run again where it may wait. Its code is that of a fault of the server: a
    /// handler for locks never catches it, and a client that sees it has found a bug.
    pub fn retry(why: RetryReason) -> Self {
        let message = match why {
            RetryReason::Blocked => "the statement has to wait where nothing may wait",
            RetryReason::BudgetSpent => "the statement looks at more than it may here",
        };
        let mut error = Error::new(SqlState::INTERNAL_ERROR, message);
        error.0.retry = Some(why);
        error
    }

    /// Why the statement is to be run again where it may wait; `None` for all errors that are told to clients.
    pub fn retry_reason(&self) -> Option<RetryReason> {
        self.0.retry
    }

    /// The same error with a second sentence that tells more.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// The same error with advice about what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error, with what was being done when it came up.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }

    /// The same error, with the error of a lower layer that it follows from.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The code of an error of the operating system: 53100 where the disk is full, 58030 otherwise.
    pub fn state_of_io(error: &std::io::Error) -> SqlState {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded => SqlState::DISK_FULL,
            _ => SqlState::IO_ERROR,
        }
    }

    /// The same error, about the named object.
    #[must_use]
    pub fn about(mut self, object: Object, name: impl Into<String>) -> Self {
        self.0.objects.push((object, name.into()));
        self
    }

    /// The code.
    pub fn state(&self) -> SqlState {
        self.0.state
    }

    /// The primary message: one line, no full stop.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// More about it, in sentences.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Advice, in sentences.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The action during which it occurred: a line for each, the innermost first.
    pub fn context(&self) -> Option<&str> {
        self.0.context.as_deref()
    }

    /// The name of the object that the error is about, where it is about one of this kind.
    pub fn object(&self, object: Object) -> Option<&str> {
        self.0.objects.iter().find(|(known, _)| *known == object).map(|(_, name)| name.as_str())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.state, self.0.message)?;
        if let Some(detail) = &self.0.detail {
            write!(f, " | detail: {detail}")?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, " | hint: {hint}")?;
        }
        for (object, name) in &self.0.objects {
            write!(f, " | {object:?}: {name}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

/// The code that a crate below spells out.
fn state(code: &str) -> SqlState {
    SqlState::from_code(code).expect("the crates below know the codes")
}

impl From<Interrupted> for Error {
    fn from(error: Interrupted) -> Self {
        Error::new(SqlState::QUERY_CANCELED, error.to_string())
    }
}

impl From<Thrown> for Error {
    fn from(error: Thrown) -> Self {
        let state = SqlState::from_code(error.sqlstate()).unwrap_or(SqlState::INTERNAL_ERROR);
        Error::from_source(state, error)
    }
}

impl From<NumericError> for Error {
    fn from(error: NumericError) -> Self {
        let mut parts = Error::new(state(error.sqlstate()), error.to_string());
        parts.0.detail = error.detail();
        parts
    }
}

impl From<JsonbError> for Error {
    fn from(error: JsonbError) -> Self {
        let mut parts = Error::new(state(error.sqlstate()), error.to_string());
        parts.0.detail = error.detail().map(Into::into);
        parts.0.hint = error.hint().map(Into::into);
        parts.0.context = error.context().map(Into::into);
        parts
    }
}

impl From<SyntaxError> for Error {
    fn from(error: SyntaxError) -> Self {
        JsonbError::Syntax(error).into()
    }
}

impl From<PathError> for Error {
    fn from(error: PathError) -> Self {
        let mut parts = Error::new(state(error.sqlstate()), error.to_string());
        parts.0.detail = error.detail().map(Into::into);
        parts.0.hint = error.hint().map(Into::into);
        parts
    }
}
