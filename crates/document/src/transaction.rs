//! Transactions over many documents of many collections: all of it happens, or none.
//!
//! A transaction sees the database as of its beginning, and its own changes. The first transaction
//! to change a document wins: a later one that began earlier gets [`DocumentError::Conflict`] and
//! starts anew.

use crate::collection::{Collection, Document, Documents, no_document};
use crate::edit::Edit;
use crate::error::DocumentError;
use crate::key::{Prefix, Record};
use crate::meta::Meta;
use crate::working::Working;
use crate::{Result, Revision};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Csn, TableId};
use txn::{Commit, Isolation, Transaction, TxnId};

/// A transaction over documents. Dropping it takes everything back.
pub struct DocumentTransaction {
    txn: Transaction,
    documents: Arc<Documents>,
    working: BTreeMap<(TableId, String), Working>,
    /// The collections of what is in `working`.
    collections: BTreeMap<TableId, Collection>,
    /// A transaction that changed a document after this commit was faster.
    since: Csn,
}

/// A state of a transaction, to go back to.
pub struct DocumentSavepoint(BTreeMap<(TableId, String), Working>);

impl Documents {
    /// Begins a transaction at REPEATABLE READ or SERIALIZABLE.
    pub fn begin(self: &Arc<Self>, serializable: bool) -> DocumentTransaction {
        let isolation = match serializable {
            true => Isolation::Serializable,
            false => Isolation::RepeatableRead,
        };
        let txn = self.engine().begin(isolation);
        DocumentTransaction {
            since: txn.snapshot().csn(),
            txn,
            documents: Arc::clone(self),
            working: BTreeMap::new(),
            collections: BTreeMap::new(),
        }
    }
}

impl DocumentTransaction {
    /// Its identity among the transactions of the engine.
    pub fn id(&self) -> TxnId {
        self.txn.id()
    }

    /// The commit that the transaction reads at.
    pub fn reads_at(&self) -> Csn {
        self.txn.snapshot().csn()
    }

    /// Counts changes of a document after this commit as conflicts, for the documents that the transaction
    /// changes from now on: as if it had begun there, where its reads were made.
    pub fn conflict_since(&mut self, csn: Csn) {
        self.since = self.since.min(csn);
    }

    /// The revision that a document has, or will have with the commit, and whether it is that of the commit;
    /// of one that this transaction has not written, revision 0.
    pub fn outcome(&self, collection: &Collection, key: &str) -> (Revision, bool) {
        match self.working.get(&(collection.id(), key.to_owned())) {
            Some(working) if working.is_changed() => (working.next_revision(), true),
            Some(working) => (working.found().revision, false),
            None => (Revision(0), false),
        }
    }

    /// The document as this transaction sees it, `None` if there is none.
    pub fn get(&mut self, collection: &Collection, key: &str) -> Result<Option<Document>> {
        let id = (collection.id(), key.to_owned());
        if let Some(working) = self.working.get(&id) {
            if !working.is_changed() {
                return Ok(Document::of(working.found().clone()));
            }
            let revision = working.next_revision();
            return Ok(working.tree()?.map(|tree| Document::unborn(revision, tree)));
        }
        let prefix = Prefix::new(key)?;
        let state = collection.state(&prefix, self.reads_at())?;
        self.note_read(collection.id(), &prefix, state.revision)?;
        Ok(Document::of(state))
    }

    /// Tells a serializable transaction that it has read a document: every later revision writes the
    /// page that its entry falls into.
    fn note_read(&self, table: TableId, prefix: &Prefix, newest: Revision) -> Result<()> {
        if self.txn.isolation() == Isolation::Serializable {
            let page = (newest.0 / crate::revisions::PAGE) as u32;
            self.txn.read(table, &prefix.record(Record::Revisions(page)))?;
        }
        Ok(())
    }

    /// Gives the document this value; returns the revision that it will have.
    pub fn put(
        &mut self,
        collection: &Collection,
        key: &str,
        json: impl AsRef<[u8]>,
    ) -> Result<Revision> {
        let tape = crate::limits::parse(json.as_ref())?;
        let working = self.working(collection, key)?;
        working.put_tape(&tape)?;
        Ok(if working.is_changed() { working.next_revision() } else { working.found().revision })
    }

    /// Edits the document. Where `f` fails, the document stays as it was before.
    pub fn edit<R>(
        &mut self,
        collection: &Collection,
        key: &str,
        f: impl FnOnce(&mut Edit<'_>) -> Result<R>,
    ) -> Result<R> {
        let working = self.working(collection, key)?;
        let before = working.clone();
        let result = working.edit(f).and_then(|done| done.ok_or_else(|| no_document(key)));
        if result.is_err() {
            *working = before;
        }
        result
    }

    /// Removes the document.
    pub fn remove(&mut self, collection: &Collection, key: &str) -> Result<()> {
        match self.working(collection, key)?.remove() {
            true => Ok(()),
            false => Err(no_document(key)),
        }
    }

    fn working(&mut self, collection: &Collection, key: &str) -> Result<&mut Working> {
        let id = (collection.id(), key.to_owned());
        if !self.working.contains_key(&id) {
            let prefix = Prefix::new(key)?;
            collection.table().check(Csn::MAX)?;
            collection.lock(&mut self.txn, key, &prefix)?;
            // The lock's own key is written by the first 1,024 revisions alone: ask for the document.
            let newest = collection.state(&prefix, self.documents.engine().visible())?;
            if newest.csn > self.since {
                return Err(DocumentError::Conflict {
                    key: key.to_owned(),
                    revision: newest.revision,
                });
            }
            self.note_read(collection.id(), &prefix, newest.revision)?;
            if newest.revision.0 == 0 {
                crate::admit::check_key(key)?;
            }
            self.working.insert(id.clone(), Working::new(newest, collection.options()));
            self.collections.insert(collection.id(), collection.clone());
        }
        Ok(self.working.get_mut(&id).expect("was there or was put there"))
    }

    /// Marks the present state.
    pub fn savepoint(&self) -> DocumentSavepoint {
        DocumentSavepoint(self.working.clone())
    }

    /// Takes back what was done since the savepoint, which can be used again. Documents stay locked
    /// until the end.
    pub fn rollback_to(&mut self, savepoint: &DocumentSavepoint) {
        let found = std::mem::replace(&mut self.working, savepoint.0.clone());
        for (id, working) in found {
            self.working.entry(id).or_insert_with(|| working.as_found());
        }
    }

    /// Makes all changes durable and visible, as one commit.
    pub fn commit(mut self, meta: &Meta) -> Result<Commit> {
        for ((table, key), working) in std::mem::take(&mut self.working) {
            let (txn, prefix) = (&mut self.txn, Prefix::new(&key)?);
            let collection = self.collections.get(&table).expect("each document is of one");
            collection.write_into(txn, &key, prefix, working, meta.keep_unchanged)?;
        }
        Ok(self.txn.commit(meta.commit()?)?)
    }

    /// Takes everything back.
    pub fn rollback(self) {}
}
