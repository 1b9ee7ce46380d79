//! [`Ordered`]: a commit between its place in the order and its visibility.
//!
//! ```text
//!   Transaction ──order()──> Ordered ──wait()──> Commit
//!                numbered, in the log's buffer      durable, visible, row locks free
//!
//!   one thread, many clients:   order order order order · wait wait wait wait
//!                                                          │    └────┴────┴── nothing left to do
//!                                                          └ one write and sync for all four
//! ```
//!
//! # Invariants
//! * The row locks of the transaction are held until its commit is visible, or its outcome unknown.
//! * An ordered commit cannot be taken back: dropping it waits as well.

use crate::engine::{Commit, CommitPosition};
use crate::error::TxnError;
use crate::transaction::Transaction;

/// A transaction whose commit has its number, and which still holds its row locks.
#[must_use = "it is durable and visible only after `wait`"]
pub struct Ordered {
    transaction: Transaction,
    commit: Commit,
    /// Where it stands, until it has been waited for. None if nothing was written.
    place: Option<CommitPosition>,
}

impl Ordered {
    /// The result of a transaction that wrote nothing.
    pub(crate) fn done(transaction: Transaction, commit: Commit) -> Ordered {
        Ordered { transaction, commit, place: None }
    }

    pub(crate) fn waiting(transaction: Transaction, place: CommitPosition) -> Ordered {
        Ordered { transaction, commit: place.commit, place: Some(place) }
    }

    /// True if [`Ordered::wait`] has nothing to wait for: another's wait has served this one too.
    pub fn is_visible(&self) -> bool {
        self.transaction.engine().visible() >= self.commit.csn
    }

    /// Returns once the commit is as durable as asked for, and visible. After an error
    /// ([`TxnError::OutcomeUnknown`]) it may or may not have happened.
    pub fn wait(mut self) -> Result<Commit, TxnError> {
        self.finish()?;
        Ok(self.commit)
    }

    fn finish(&mut self) -> Result<(), TxnError> {
        match self.place.take() {
            Some(place) => self.transaction.engine().finish(place),
            None => Ok(()),
        }
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        // No caller is left for the error; if it has stopped the engine, the next caller gets it.
        let _ = self.finish();
    }
}
