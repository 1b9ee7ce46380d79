//! The errors of a table: mistakes of the user, and errors of the engine below.

use std::sync::Arc;

use store::StoreError;
use txn::TxnError;
use types::SqlState;

/// The result of an operation on tables or the catalog.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on tables or the catalog failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The statement cannot be carried out: PostgreSQL's code, message, detail and hint.
    #[error(transparent)]
    Sql(#[from] types::Error),
    /// The transaction could not do it: a conflict, a deadlock, a failure below.
    #[error(transparent)]
    Txn(#[from] TxnError),
    /// Stored bytes do not decode: the file was damaged in a way that its checksum did not catch, or
    /// was written by something else. Restore it from a backup.
    #[error("a stored record of a table is damaged: {what}")]
    Damaged {
        /// The fault that was found.
        what: &'static str,
    },
    /// The same, with the error of the layer that found it.
    #[error("a stored record of a table is damaged: {what}: {source}")]
    DamagedBy {
        /// The record.
        what: &'static str,
        /// The fault that was found.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The entries of an index are not those of the rows. The rows are there: make the index anew.
    #[error("index \"{index}\" is damaged: {what}")]
    DamagedIndex {
        /// The name of the index.
        index: Arc<str>,
        /// The fault that was found.
        what: &'static str,
    },
}

impl Error {
    /// An error that the user made, with its code and its primary message.
    pub fn new(state: SqlState, message: impl Into<String>) -> Error {
        Error::Sql(types::Error::new(state, message))
    }

    /// The five characters by which SQL clients know this error.
    pub fn sqlstate(&self) -> SqlState {
        match self {
            Error::Sql(error) => error.state(),
            Error::Txn(error) => {
                SqlState::from_code(error.sqlstate()).unwrap_or(SqlState::INTERNAL_ERROR)
            }
            Error::Damaged { .. } | Error::DamagedBy { .. } => SqlState::DATA_CORRUPTED,
            Error::DamagedIndex { .. } => SqlState::INDEX_CORRUPTED,
        }
    }

    /// The error as SQL clients see it: in its own words, with this one as the source.
    pub fn reported(self) -> types::Error {
        match self {
            Error::Sql(error) => error,
            error @ Error::DamagedIndex { .. } => {
                types::Error::from_source(error.sqlstate(), error)
                    .with_hint("REINDEX INDEX makes the index anew from the rows of its table.")
            }
            error => types::Error::from_source(error.sqlstate(), error),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Error::Txn(error.into())
    }
}
