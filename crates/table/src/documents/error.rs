//! Errors of documents, as those of tables: the SQLSTATE that the user of SQL sees.

use document::DocumentError;
use txn::TxnError;
use types::SqlState;

use crate::Error;

impl From<DocumentError> for Error {
    fn from(error: DocumentError) -> Error {
        let state = match &error {
            DocumentError::Txn(_)
            | DocumentError::Store(_)
            | DocumentError::Damaged(_)
            | DocumentError::Unstorable { .. }
            | DocumentError::Value(_) => {
                return match error {
                    DocumentError::Txn(error) => Error::Txn(error),
                    DocumentError::Store(error) => Error::Txn(TxnError::from(error)),
                    DocumentError::Value(error) => Error::Sql(error.into()),
                    DocumentError::Unstorable { at, source } => {
                        let told = types::Error::from(source);
                        Error::Sql(told.with_context(format!("stands at {at} of the document")))
                    }
                    _ => Error::Damaged { what: "a document" },
                };
            }
            DocumentError::Json(json::JsonError::Limit { .. }) | DocumentError::TooLarge(_) => {
                SqlState::PROGRAM_LIMIT_EXCEEDED
            }
            DocumentError::Json(_) => SqlState::INVALID_TEXT_REPRESENTATION,
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
            _ => SqlState::IO_ERROR,
        };
        Error::new(state, error.to_string())
    }
}
