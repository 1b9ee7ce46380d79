//! Errors of documents, as those of tables: the SQLSTATE that the user of SQL sees.

use document::DocumentError;
use txn::TxnError;
use types::SqlState;

use crate::Error;

/// The code by which SQL clients know an error of a document.
pub fn sqlstate_of(error: &DocumentError) -> SqlState {
    if let Some(code) = error.sqlstate_below() {
        return SqlState::from_code(code).unwrap_or(SqlState::INTERNAL_ERROR);
    }
    match error {
        DocumentError::Json(json::JsonError::Limit { .. }) | DocumentError::TooLarge(_) => {
            SqlState::PROGRAM_LIMIT_EXCEEDED
        }
        // The text comes from the client, or from a file of its: it could not be read.
        DocumentError::Read(error)
        | DocumentError::Json(json::JsonError::Read { source: error, .. }) => {
            types::Error::state_of_io(error)
        }
        DocumentError::Json(_) => SqlState::INVALID_TEXT_REPRESENTATION,
        DocumentError::Value(error) | DocumentError::Unstorable { source: error, .. } => {
            SqlState::from_code(error.sqlstate()).unwrap_or(SqlState::INTERNAL_ERROR)
        }
        DocumentError::BadKey(_)
        | DocumentError::BadMeta(_)
        | DocumentError::Path(_)
        | DocumentError::BadEdit(_)
        | DocumentError::NoRevision { .. }
        | DocumentError::Forgotten { .. }
        | DocumentError::ForgottenAt { .. } => SqlState::INVALID_PARAMETER_VALUE,
        DocumentError::NoDocument { .. }
        | DocumentError::NoNode(_)
        | DocumentError::NeverNode { .. } => SqlState::NO_DATA,
        DocumentError::Conflict { .. } | DocumentError::Stale { .. } => {
            SqlState::SERIALIZATION_FAILURE
        }
        DocumentError::Dropped { .. } => SqlState::UNDEFINED_TABLE,
        DocumentError::Refused(_) => SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        DocumentError::Denied { .. } => SqlState::INSUFFICIENT_PRIVILEGE,
        _ => SqlState::INTERNAL_ERROR,
    }
}

impl From<DocumentError> for Error {
    fn from(error: DocumentError) -> Error {
        match error {
            DocumentError::Txn(error) => Error::Txn(error),
            DocumentError::Store(error) => Error::Txn(TxnError::from(error)),
            DocumentError::Damaged(_) => {
                Error::DamagedBy { what: "a document", source: error.into() }
            }
            DocumentError::Value(error) => Error::Sql(error.into()),
            DocumentError::Unstorable { at, source } => {
                let told = types::Error::from(source);
                Error::Sql(told.with_context(format!("stands at {at} of the document")))
            }
            DocumentError::Row { sqlstate, source } => match source.downcast::<Error>() {
                Ok(error) => *error,
                Err(source) => reported(DocumentError::Row { sqlstate, source }),
            },
            error => reported(error),
        }
    }
}

/// An error of a document in its own words.
fn reported(error: DocumentError) -> Error {
    Error::Sql(types::Error::from_source(sqlstate_of(&error), error))
}
