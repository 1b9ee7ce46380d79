//! The errors of a document, in a form that a caller can act on.

use std::fmt;

use store::Csn;

use crate::{NodeKey, Revision};

/// Stored bytes that do not decode: the file was damaged in a way that its checksum did not detect,
/// or another program has written it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged(&'static str);

impl Damaged {
    /// `what` was found where something else must stand.
    pub fn new(what: &'static str) -> Damaged {
        Damaged(what)
    }

    /// The bytes end too early.
    pub fn short() -> Damaged {
        Damaged("the bytes end too early")
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a stored document is damaged: {}; run `anywhen verify` and restore the file from a backup",
            self.0
        )
    }
}

impl std::error::Error for Damaged {}

impl From<Damaged> for store::MergeError {
    fn from(damaged: Damaged) -> Self {
        store::MergeError::new(damaged)
    }
}

/// Why an operation on a document failed. Nothing was changed, except where the source says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The text is not JSON, or exceeds a limit.
    #[error(transparent)]
    Json(#[from] json::JsonError),
    /// The text could not be read to its end.
    #[error("cannot read the document: {0}")]
    Read(#[source] std::io::Error),
    /// A number beyond `numeric`, or a NUL in a string or a name: no `jsonb` can hold it, so no document
    /// can.
    #[error("no document can hold the value at {at}: {source}")]
    Unstorable {
        /// The path to it, or its line and column in a long text.
        at: String,
        /// Why `jsonb` cannot hold it.
        source: json::jsonb::JsonbError,
    },
    /// The document has no value of type `jsonb`: it is too large for one.
    #[error(transparent)]
    Value(#[from] json::jsonb::JsonbError),
    /// The path does not parse.
    #[error(transparent)]
    Path(#[from] json::PathError),
    /// A document key that cannot be stored.
    #[error("the document key {0}; keys are 1 to {max} bytes of UTF-8", max = crate::limits::KEY_BYTES_MAX)]
    BadKey(&'static str),
    /// An author or a message with a NUL.
    #[error("the {0} contains a NUL, which no text of SQL can hold")]
    BadMeta(&'static str),
    /// There is no such document now, or there was none at that moment.
    #[error("no document {key:?}{when}")]
    NoDocument {
        /// The document's key.
        key: String,
        /// Empty, or ` at ...`.
        when: String,
    },
    /// A revision that the document never had.
    #[error("revision {asked} is out of range [1, {newest}] for document {key:?}")]
    NoRevision {
        /// The document's key.
        key: String,
        /// The requested revision.
        asked: u64,
        /// The newest revision there is.
        newest: u64,
    },
    /// A revision that the collection no longer keeps.
    #[error("revision {asked} is not kept any more; the oldest that is kept is {oldest}")]
    Forgotten {
        /// The requested revision.
        asked: Revision,
        /// The oldest revision that can still be read.
        oldest: Revision,
    },
    /// A moment before the history that the collection keeps.
    #[error("the state at commit {} is not kept any more: the collection's history begins at commit {}", at.0, horizon.0)]
    ForgottenAt {
        /// The commit asked for.
        at: store::Csn,
        /// The first commit whose state is still whole.
        horizon: store::Csn,
    },
    /// The collection was dropped. The write did not happen; begin its transaction anew. Earlier versions
    /// can be read as of a moment, as long as the history is kept.
    #[error("the collection was dropped by commit {}", csn.0)]
    Dropped {
        /// The commit that dropped it.
        csn: store::Csn,
    },
    /// A path or node key that leads to nothing.
    #[error("no node {0} in this revision of the document")]
    NoNode(String),
    /// A path that never led to anything in the document.
    #[error("no node {node} in any revision of document {key:?}")]
    NeverNode {
        /// The path.
        node: String,
        /// The document's key.
        key: String,
    },
    /// An edit that the tree does not allow.
    #[error("{0}")]
    BadEdit(String),
    /// The collection is a table whose rows need more than a document. The text names what they need.
    #[error("{0}; change it by SQL")]
    Refused(String),
    /// The row of the document could not be read or written.
    #[error("{source}")]
    Row {
        /// The code by which SQL clients know the error.
        sqlstate: String,
        /// The error of the table.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The same document was changed by a transaction that began later and committed first.
    #[error(
        "document {key:?} was changed at revision {revision} by another transaction; try again"
    )]
    Conflict {
        /// The document's key.
        key: String,
        /// The revision that the other transaction made.
        revision: Revision,
    },
    /// The document does not have the expected revision; 0 stands for no document. Nothing was written:
    /// read the document and decide again.
    #[error("document {key:?} is at revision {revision}, of commit {}: another revision was expected", csn.0)]
    Stale {
        /// The document's key.
        key: String,
        /// Its newest revision.
        revision: Revision,
        /// The commit that made it.
        csn: Csn,
    },
    /// The writer may not make this change ([`Allowed`](crate::Allowed)). Nothing was written.
    #[error(
        "document {key:?} {}",
        if *exists { "exists, and the writer may not change it" }
        else { "does not exist, and the writer may not create it" }
    )]
    Denied {
        /// The document's key.
        key: String,
        /// True if the document existed.
        exists: bool,
    },
    /// The limit on nodes, depth or bytes of one document.
    #[error("the document would exceed {0}")]
    TooLarge(&'static str),
    /// Stored bytes that do not decode.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// From the store below.
    #[error(transparent)]
    Store(store::StoreError),
    /// From the transaction layer.
    #[error(transparent)]
    Txn(#[from] txn::TxnError),
    /// From the engine.
    #[error(transparent)]
    Engine(#[from] txn::EngineError),
}

impl From<store::StoreError> for DocumentError {
    fn from(error: store::StoreError) -> Self {
        match error {
            store::StoreError::Forgotten { at, horizon, .. } => {
                DocumentError::ForgottenAt { at, horizon }
            }
            error => DocumentError::Store(error),
        }
    }
}

impl DocumentError {
    /// Returns the SQLSTATE of an error of a layer below; `None` for a mistake of the caller.
    pub fn sqlstate_below(&self) -> Option<&str> {
        match self {
            DocumentError::Damaged(_) => Some("XX001"),
            DocumentError::Value(error) | DocumentError::Unstorable { source: error, .. } => {
                Some(error.sqlstate()).filter(|state| *state == "XX001")
            }
            DocumentError::Row { sqlstate, .. } => Some(sqlstate),
            DocumentError::Txn(error) => Some(error.sqlstate()),
            DocumentError::Engine(error) => Some(error.sqlstate()),
            DocumentError::Store(error) => Some(txn::sqlstate_of(error)),
            _ => None,
        }
    }

    pub(crate) fn no_node(key: NodeKey) -> DocumentError {
        DocumentError::NoNode(format!("with key {}", key.0))
    }
}
