//! The author and message of a change, the conditions of the writer, and the result of the commit.
//!
//! A condition of [`Meta`] is checked under the lock that decides about the document: what it was compared
//! with cannot change before the commit.

use std::sync::Arc;

use store::Csn;
use txn::CommitMeta;

use crate::admit::check_key;
use crate::error::DocumentError;
use crate::state::State;
use crate::{Result, Revision};

/// The metadata of a commit, and its treatment of a document that did not change.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// The author of the change, as the writer names it; may be empty.
    pub author: String,
    /// Why; may be empty.
    pub message: String,
    /// The authenticated role of the committing client; empty without authentication. The
    /// server does not check the author.
    pub role: Arc<str>,
    /// When the change was made where it comes from, for imports, in microseconds since 1970 UTC.
    pub authored_us: Option<u64>,
    /// Make a revision also where the document stays as it is.
    pub keep_unchanged: bool,
    /// Write only where this is the document's newest revision, which of one that was removed is the one that
    /// removed it; 0 where there must be no document. Otherwise the write fails with
    /// [`DocumentError::Stale`]. Transactions over many documents, which find out for themselves, pay no
    /// heed to it.
    pub only_at: Option<Revision>,
    /// The same by the commit that made the newest revision, which is another where a document was
    /// replaced and counts its revisions anew.
    pub only_of: Option<Csn>,
    /// Which changes the writer may make; all of them by default. Otherwise the write fails with
    /// [`DocumentError::Denied`]. Transactions over many documents ignore it.
    pub allowed: Allowed,
}

/// Which changes of a document a writer may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Writing a document where none exists.
    pub create: bool,
    /// Writing a document that exists.
    pub modify: bool,
}

impl Default for Allowed {
    fn default() -> Allowed {
        Allowed { create: true, modify: true }
    }
}

impl Meta {
    /// Sets the author and the message.
    pub fn new(author: impl Into<String>, message: impl Into<String>) -> Meta {
        Meta { author: author.into(), message: message.into(), ..Meta::default() }
    }

    /// Fails if the writer may not make the change, the document is not as the writer expects it, or would
    /// be new and cannot be.
    pub(crate) fn check(&self, key: &str, state: &State) -> Result<()> {
        if state.revision.0 == 0 {
            check_key(key)?;
        }
        let exists = state.tree.is_some();
        if !(if exists { self.allowed.modify } else { self.allowed.create }) {
            return Err(DocumentError::Denied { key: key.to_owned(), exists });
        }
        let (revision, csn) = match state.tree {
            Some(_) => (state.revision, state.csn),
            None => (Revision(0), Csn::ZERO),
        };
        let is_at = |expected| expected == revision || expected == state.revision;
        let is_expected =
            self.only_at.is_none_or(is_at) && self.only_of.is_none_or(|expected| expected == csn);
        match is_expected {
            true => Ok(()),
            false => Err(DocumentError::Stale { key: key.to_owned(), revision, csn }),
        }
    }

    /// The comment of the commit. Fails if an SQL text cannot hold the author or the message.
    pub(crate) fn commit(&self) -> Result<CommitMeta> {
        for (what, text) in [("author", &self.author), ("message", &self.message)] {
            if text.contains('\0') {
                return Err(DocumentError::BadMeta(what));
            }
        }
        Ok(CommitMeta {
            author: self.author.clone(),
            message: self.message.clone(),
            role: Arc::clone(&self.role),
            authored_us: self.authored_us,
            ..CommitMeta::default()
        })
    }
}

/// A change that has been made and is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The document's newest revision.
    pub revision: Revision,
    /// Its commit.
    pub csn: Csn,
    /// The time of the commit, in microseconds since 1970 UTC.
    pub time_us: u64,
    /// False if the document already was as asked: then this is the revision that made it so.
    pub changed: bool,
    /// True if the document did not exist before.
    pub created: bool,
}
