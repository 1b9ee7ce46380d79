//! Rows beside documents: a collection that is a table of SQL.
//!
//! ```text
//!   put "a1"    Rows::lock ──> the row of a1      edits of nodes      Rows::follow ──> it is there      commit
//! ```
//!
//! A caller that changes documents by this crate knows nothing of rows. Where a collection has them, they
//! decide who may change a document, in place of the document's own lock, and follow what becomes of it in
//! the same commit.

use crate::Result;
use txn::Transaction;

/// Whether there was a document before a change, and whether there is one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stands {
    /// There was one.
    pub before: bool,
    /// There is one.
    pub after: bool,
}

/// The rows that stand beside the documents of a collection, one for each.
pub trait Rows: Send + Sync {
    /// Keeps everybody else from the row of a document until the transaction ends.
    ///
    /// # Errors
    /// [`DocumentError::Dropped`](crate::DocumentError::Dropped) where the table is not there any more,
    /// [`DocumentError::BadKey`](crate::DocumentError::BadKey) where no row can have that key,
    /// [`DocumentError::Refused`](crate::DocumentError::Refused) where rows need more than a document.
    fn lock(&self, txn: &mut Transaction, key: &str) -> Result<()>;

    /// Has the row, which is locked, never been; its document is erased in the same commit.
    ///
    /// # Errors
    /// [`DocumentError::Refused`](crate::DocumentError::Refused) where rows have more than a document.
    fn forget(&self, txn: &mut Transaction, key: &str) -> Result<()>;

    /// Has the row, which is locked, be changed with its document: `stands` says whether there was one, and
    /// whether there is one after that.
    ///
    /// # Errors
    /// [`DocumentError::Refused`](crate::DocumentError::Refused) where a new row needs more than a document.
    fn follow(&self, txn: &mut Transaction, key: &str, stands: Stands) -> Result<()>;
}
