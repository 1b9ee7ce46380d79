//! [`View`]: the database as a reader sees it, be it a transaction or a reader of the past.
//!
//! ```text
//!                       snapshot                own writes
//!   txn.view()          the transaction's       yes
//!   View::of(txn, s)    another, newer one      yes          rows that it has locked, checks
//!   snapshot.view()     any commit              none         AS OF
//! ```
//!
//! Of own writes a view sees those made so far, whenever it is read; a [`settled`](View::settled) one
//! only those that were made before: a statement that changes rows while it reads does not meet its own
//! changes.
//!
//! A view is two references and a moment, and is copied. Under SERIALIZABLE what is read through a view of a
//! transaction counts as read by it, whichever the snapshot.

use store::{Csn, Scan, TableId};

use crate::cursor::KeyRange;
use crate::error::TxnError;
use crate::row::Row;
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use crate::writeset::Moment;

/// The database at a snapshot, with a transaction's own writes over it or without.
#[derive(Clone, Copy)]
pub struct View<'t> {
    snapshot: &'t Snapshot,
    transaction: Option<&'t Transaction>,
    moment: Moment,
}

impl<'t> View<'t> {
    /// `snapshot`, which is that of the transaction or a newer one, with the transaction's own writes.
    pub fn of(transaction: &'t Transaction, snapshot: &'t Snapshot) -> View<'t> {
        View { snapshot, transaction: Some(transaction), moment: Moment::END }
    }

    /// `snapshot` and nothing else.
    pub fn past(snapshot: &'t Snapshot) -> View<'t> {
        View { snapshot, transaction: None, moment: Moment::END }
    }

    /// The same view, at another snapshot.
    pub fn at<'s>(self, snapshot: &'s Snapshot) -> View<'s>
    where
        't: 's,
    {
        View { snapshot, ..self }
    }

    /// The same view, without what the transaction writes from now on.
    pub fn settled(self) -> View<'t> {
        let now = self.transaction.map_or(Moment::END, |transaction| transaction.writes.moment());
        View { moment: self.moment.min(now), ..self }
    }

    pub(crate) fn moment(&self) -> Moment {
        self.moment
    }

    pub(crate) fn at_moment(self, moment: Moment) -> View<'t> {
        View { moment, ..self }
    }

    /// The snapshot below.
    pub fn snapshot(&self) -> &'t Snapshot {
        self.snapshot
    }

    /// The transaction whose own writes are seen.
    pub fn transaction(&self) -> Option<&'t Transaction> {
        self.transaction
    }

    /// The newest commit that it sees.
    pub fn csn(&self) -> Csn {
        self.snapshot.csn()
    }

    /// The state of `key`, unmerged; `None` if it is absent or deleted.
    pub fn read(&self, table: TableId, key: &[u8]) -> Result<Option<Row<'t>>, TxnError> {
        let Some(transaction) = self.transaction else {
            return Ok(self.snapshot.read(table, key)?.map(Row::of_store));
        };
        Row::new(transaction.writes.own(table, key, self.moment), || {
            if transaction.is_serializable() {
                transaction.note_read(table, key);
            }
            match transaction.loads.read(table, key, self.moment)? {
                None => Ok(self.snapshot.read(table, key)?),
                Some(loaded) => Ok(loaded),
            }
        })
    }

    /// The keys of a range with their states in the snapshot, and what the transaction has loaded.
    pub(crate) fn scan(&self, table: TableId, range: KeyRange, reverse: bool) -> Scan {
        let loads = self.transaction.map(|transaction| transaction.loads.staged(self.moment));
        self.snapshot.scan_over(table, range, reverse, &loads.unwrap_or_default())
    }
}
