//! The link from a document to its row: a collection that is a table of SQL.
//!
//! ```text
//!   put "a1"    RowLink::lock ──> the row of a1      edits of nodes      RowLink::update ──> the row      commit
//! ```
//!
//! A caller that changes documents by this crate knows nothing of rows. Where a collection has them, the lock
//! of the row replaces the lock of the document, and the same commit updates the row.

use crate::Result;
use txn::Transaction;

/// Whether the document exists before a change, and whether it exists after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Existence {
    /// It exists before.
    pub before: bool,
    /// It exists after.
    pub after: bool,
}

/// The rows of a collection's documents, one for each document.
pub trait RowLink: Send + Sync {
    /// Locks the row of a document for all other transactions until this transaction ends.
    ///
    /// # Errors
    /// [`DocumentError::Dropped`](crate::DocumentError::Dropped) where the table is not there any more,
    /// [`DocumentError::BadKey`](crate::DocumentError::BadKey) where no row can have that key,
    /// [`DocumentError::Refused`](crate::DocumentError::Refused) where rows need more than a document.
    fn lock(&self, txn: &mut Transaction, key: &str) -> Result<()>;

    /// Erases the locked row with its past; its document is erased in the same commit.
    ///
    /// # Errors
    /// [`DocumentError::Refused`](crate::DocumentError::Refused) where rows have more than a document.
    fn erase(&self, txn: &mut Transaction, key: &str) -> Result<()>;

    /// Inserts, updates or deletes the locked row, as `existence` of its document requires.
    ///
    /// # Errors
    /// [`DocumentError::Refused`](crate::DocumentError::Refused) where a new row needs more than a document.
    fn update(&self, txn: &mut Transaction, key: &str, existence: Existence) -> Result<()>;
}
