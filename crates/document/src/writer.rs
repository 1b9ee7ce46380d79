//! The writer of documents: the library, HTTP and SQL all change documents through it.
//!
//! ```text
//!   lock ──> state, the transaction's own changes included ──> Working: edits ──> write_into ──> commit
//!                                                                                 update of the row,
//!                                                                                 chunks, revision
//!
//!   Writing               one document, a transaction of its own         put, edit, remove, import, replace
//!   DocumentTransaction   many documents, written when it commits        the library, HTTP
//!   change_in_txn         a document of a transaction that has more      tables of SQL
//! ```
//!
//! # Invariants
//! * A document is changed under the lock that decides about it: that of its row, or its own where it has no
//!   row.
//! * All that one commit does to a document is one revision.

use std::sync::Arc;

use txn::{Isolation, Transaction};

use crate::collection::Collection;
use crate::key::{Prefix, Record};
use crate::meta::{Committed, Meta};
use crate::paths::Counts;
use crate::row_link::{Existence, RowLink};
use crate::working::Working;
use crate::{Result, Revision};
use store::Csn;

/// The result of [`Collection::write_into`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// The revision that the commit makes.
    pub revision: Revision,
    /// False if the revision changes nothing.
    pub changed: bool,
    /// True if there was no document before.
    pub created: bool,
}

impl Collection {
    /// The same collection, whose documents have rows beside them.
    pub fn with_rows(mut self, rows: Arc<dyn RowLink>) -> Collection {
        self.rows = Some(rows);
        self
    }

    /// Takes the lock that decides about a document.
    pub(crate) fn lock(&self, txn: &mut Transaction, key: &str, prefix: &Prefix) -> Result<()> {
        match &self.rows {
            Some(rows) => rows.lock(txn, key),
            None => Ok(txn.lock(self.id(), &prefix.record(Record::Revisions(0))).map(drop)?),
        }
    }

    /// Updates the row of a document, if there are rows, with a change of the document.
    pub(crate) fn update_row(
        &self,
        txn: &mut Transaction,
        key: &str,
        existence: Existence,
    ) -> Result<()> {
        self.rows.as_ref().map_or(Ok(()), |rows| rows.update(txn, key, existence))
    }

    /// Writes what became of a document into a transaction that holds its lock, and updates its row.
    /// `None` if nothing became of it; a revision that changes nothing where `keep_unchanged` asks for one
    /// and the document has revisions.
    pub(crate) fn write_into(
        &self,
        txn: &mut Transaction,
        key: &str,
        prefix: Prefix,
        working: Working,
        keep_unchanged: bool,
    ) -> Result<Option<Written>> {
        let (changed, found) = (working.is_changed(), working.found());
        if !changed && (!keep_unchanged || found.revision.0 == 0) {
            return Ok(None);
        }
        let created = changed && found.tree.is_none() && working.is_there();
        let revision = working.next_revision();
        self.update_row(txn, key, working.existence())?;
        match changed {
            true => working.write(txn, self.id(), prefix)?,
            false => working.write_empty(txn, self.id(), prefix)?,
        }
        Ok(Some(Written { revision, changed, created }))
    }

    /// Begins to change one document in a transaction of its own, which is as `meta` asks.
    pub(crate) fn begin_write<'c>(&'c self, key: &'c str, meta: &Meta) -> Result<Writing<'c>> {
        let prefix = Prefix::new(key)?;
        // No writer waits for a document of a dropped collection.
        self.table().check(Csn::MAX)?;
        let mut txn = self.engine().begin(Isolation::ReadCommitted);
        self.lock(&mut txn, key, &prefix)?;
        txn.statement();
        let state = self.state(&prefix, txn.snapshot().csn())?;
        meta.check(key, &state)?;
        let working = Working::new(state, self.options());
        Ok(Writing { collection: self, key, prefix, txn, working })
    }
}

/// One document that is changed in a transaction of its own, which holds its lock.
pub(crate) struct Writing<'c> {
    collection: &'c Collection,
    key: &'c str,
    pub prefix: Prefix,
    pub txn: Transaction,
    pub working: Working,
}

impl Writing<'_> {
    /// Makes the changes durable and visible. Where nothing became of the document, tells of its newest
    /// revision.
    pub fn commit(self, meta: &Meta) -> Result<Committed> {
        let Writing { collection, key, prefix, mut txn, working } = self;
        let (revision, csn) = (working.found().revision, working.found().csn);
        let written = collection.write_into(&mut txn, key, prefix, working, meta.keep_unchanged)?;
        match written {
            Some(written) => commit(txn, meta, written),
            None => {
                let mut times = Vec::new();
                collection.engine().times(&[csn], &mut times)?;
                let time_us = times[0];
                Ok(Committed { revision, csn, time_us, changed: false, created: false })
            }
        }
    }

    /// The same, of a document all chunks of which the transaction has written.
    pub fn commit_loaded(self, counts: Option<Counts>, meta: &Meta) -> Result<Committed> {
        let Writing { collection, key, prefix, mut txn, working } = self;
        let (revision, existence) = (working.next_revision(), working.existence_after_put());
        collection.update_row(&mut txn, key, existence)?;
        working.write_loaded(&mut txn, collection.id(), prefix, counts)?;
        commit(txn, meta, Written { revision, changed: true, created: !existence.before })
    }

    /// The same, of a document that the transaction has erased and put anew. `created` where there was none
    /// before.
    pub fn commit_replaced(self, created: bool, meta: &Meta) -> Result<Committed> {
        commit(self.txn, meta, Written { revision: Revision(1), changed: true, created })
    }
}

fn commit(txn: Transaction, meta: &Meta, written: Written) -> Result<Committed> {
    let Written { revision, changed, created } = written;
    let commit = txn.commit(meta.commit()?)?;
    Ok(Committed { revision, csn: commit.csn, time_us: commit.time_us, changed, created })
}
