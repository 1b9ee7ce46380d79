//! [`Draft`]: the catalog of a transaction that changes it.
//!
//! ```text
//!   newest    A ───────────────────────> B = A + other's changes ──────> B + own changes
//!   draft     A + own changes            B + own changes                 published
//!                                  refresh ┘                      commit ┘
//! ```
//!
//! A draft is the newest catalog and a list of changes. Its entries are in the transaction's writes as
//! well, so that the commit stores what the draft shows. Others may commit changes meanwhile: with each
//! statement, and whenever something was locked, the draft is made anew from the newest catalog and its
//! own changes. They do not get into each other's way, because everything that is changed, and every
//! name that is taken, is locked until the transaction ends, and whatever a change relies on (the
//! schema that a table is put into, the type of a column) is locked in share mode, so that it stays.
//!
//! Two transactions that change different tables wait for each other only for the time of a commit:
//! the record `v` is locked last.
//!
//! # Invariants
//! * The draft is `base` with `changes` applied in their order.
//! * The transaction has written exactly the records that `changes` leave behind.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use store::{Csn, Op, TableId};
use txn::{RowLock, Transaction, Wait};
use types::Oid;

use super::cache::{CatalogCache, table_of};
use super::ddl::{Acting, Ddl};
use super::record::{
    CATALOG, VERSION_KEY, name_key_of, next_oid_value_of, retired_key_of, retired_value_of,
    value_of,
};
use super::version::{Catalog, Key};
use super::{Entry, Relation};
use crate::PastStorage;
use crate::Result;
use crate::rows::GivenUp;
use crate::stored::KeptHistory;

/// A change of the catalog.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// An entry is made, or takes the place of another.
    Put(Entry),
    /// An entry is dropped.
    Remove(Key),
    /// A table of the store is given up.
    Retire { table: TableId, relation: Oid, kept: KeptHistory },
}

impl Change {
    pub fn apply(&self, catalog: &mut Catalog) {
        match self {
            Change::Put(entry) => catalog.put(entry.clone()),
            Change::Remove(key) => catalog.remove(*key),
            Change::Retire { .. } => {}
        }
    }
}

/// The catalog as a transaction has changed it.
pub struct Draft {
    cache: Arc<CatalogCache>,
    base: Arc<Catalog>,
    catalog: Arc<Catalog>,
    changes: Vec<Change>,
    /// True if something was said of tables that were given up before.
    has_past: bool,
    made: Made,
}

/// The objects that a transaction has made. When the transaction is over, whichever way, the handles and the state of
/// those go that no relation of the newest catalog has: the transaction was rolled back, or to a savepoint, or has
/// dropped them itself.
struct Made {
    /// Weak, because a commit that never becomes visible stays in the queue of the engine, with its hooks.
    cache: Weak<CatalogCache>,
    /// Relations that it has made, or given other tables of the store.
    relations: Vec<Arc<Relation>>,
    /// Tables of the store.
    storages: HashSet<TableId>,
}

impl Made {
    fn new(cache: &Arc<CatalogCache>) -> Made {
        Made { cache: Arc::downgrade(cache), relations: Vec::new(), storages: HashSet::new() }
    }

    fn is_empty(&self) -> bool {
        self.relations.is_empty() && self.storages.is_empty()
    }

    /// Removes the handles of the relations from a position on that a catalog does not have.
    fn forget_from(&mut self, at: usize, cache: &CatalogCache, catalog: &Catalog) {
        let made = self.relations.drain(at..);
        let given_up = made.filter_map(|relation| GivenUp::between(&relation, catalog));
        cache.forget(&given_up.collect::<Vec<_>>());
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.is_empty() {
            return;
        }
        if let Some(cache) = self.cache.upgrade() {
            cache.tables().undraft(&self.storages);
            self.forget_from(0, &cache, &cache.newest());
        }
    }
}

/// A state of a draft, to roll back to.
#[derive(Clone)]
pub struct DraftSavepoint {
    base: Arc<Catalog>,
    catalog: Arc<Catalog>,
    changes: usize,
    made: usize,
}

impl Draft {
    /// A draft without changes.
    pub fn new(cache: &Arc<CatalogCache>) -> Draft {
        let base = cache.newest();
        Draft {
            cache: cache.clone(),
            catalog: base.clone(),
            base,
            changes: Vec::new(),
            has_past: false,
            made: Made::new(cache),
        }
    }

    /// The catalog as it is for the transaction.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// True if nothing was changed, or all of it was rolled back.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.has_past
    }

    /// Takes in what others have committed since. To be called as a statement begins.
    pub fn refresh(&mut self) {
        let newest = self.cache.newest();
        if Arc::ptr_eq(&newest, &self.base) {
            return;
        }
        self.catalog = if self.changes.is_empty() {
            newest.clone()
        } else {
            let mut catalog = (*newest).clone();
            self.changes.iter().for_each(|change| change.apply(&mut catalog));
            Arc::new(catalog)
        };
        self.base = newest;
    }

    /// Marks the present state; to be taken together with a savepoint of the transaction.
    pub fn savepoint(&self) -> DraftSavepoint {
        DraftSavepoint {
            base: self.base.clone(),
            catalog: self.catalog.clone(),
            changes: self.changes.len(),
            made: self.made.relations.len(),
        }
    }

    /// Takes back what was changed since the savepoint, which can be used again; to be called together
    /// with [`Transaction::rollback_to`].
    pub fn rollback_to(&mut self, savepoint: &DraftSavepoint) {
        self.base = savepoint.base.clone();
        self.catalog = savepoint.catalog.clone();
        self.changes.truncate(savepoint.changes);
        self.refresh();
        self.made.forget_from(savepoint.made, &self.cache, &self.catalog);
    }

    /// Begins a statement that changes the catalog, on behalf of `acting`. `txn` is the transaction
    /// that all changes of this draft are written through.
    pub fn ddl<'a>(&'a mut self, txn: &'a mut Transaction, acting: Acting<'a>) -> Ddl<'a> {
        self.refresh();
        Ddl::new(self, txn, acting)
    }

    /// Ends the changes of the catalog in `txn`, whose commit follows and publishes them. Where there
    /// are none, nothing happens. Afterwards, [`Tables::settle`](crate::Tables::settle) is to be called.
    ///
    /// # Errors
    /// Returns the error of the transaction: it waits for another one that changes the catalog.
    pub fn publish(self, txn: &mut Transaction) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        // Locked before the number is read: so that it never falls.
        self.cache.write_initial(txn)?;
        let next = next_oid_value_of(self.cache.next_oid());
        txn.write(CATALOG, VERSION_KEY.to_vec(), Op::Put(next))?;
        for relation in &self.made.relations {
            // Where a sequence stands that this transaction has made, or has made to begin anew.
            let now = self.catalog.relation(relation.oid).and_then(|relation| relation.storage());
            if let Some(write) = now.and_then(|table| self.cache.tables().take_waiting(table)) {
                txn.write(write.table, write.key, write.op)?;
            }
        }
        if !self.made.is_empty() {
            // The transaction drops its hooks when it is rolled back.
            let made = self.made;
            txn.on_publish(move |_| drop(made));
        }
        Ok(())
    }

    /// A table of the store for the transaction.
    pub(crate) fn new_storage(&mut self) -> Result<TableId> {
        let storage = table_of(self.cache.allocate()?);
        self.cache.tables().draft(storage);
        self.made.storages.insert(storage);
        Ok(storage)
    }

    /// True for a table of the store that the transaction itself has made: no other transaction ever sees it, unless
    /// a relation has it when the transaction commits.
    pub(crate) fn has_made(&self, storage: TableId) -> bool {
        self.made.storages.contains(&storage)
    }

    pub(crate) fn cache(&self) -> &Arc<CatalogCache> {
        &self.cache
    }

    /// Locks an entry as strongly as said, and takes in what others have made of it.
    pub(crate) fn lock(
        &mut self,
        txn: &mut Transaction,
        key: Key,
        strength: RowLock,
    ) -> Result<()> {
        txn.lock_latest(CATALOG, &key.bytes(), strength, Wait::Allowed)?;
        self.refresh();
        Ok(())
    }

    /// Locks a name, and takes in what others have called by it.
    pub(crate) fn lock_name(
        &mut self,
        txn: &mut Transaction,
        within: Oid,
        name: &str,
    ) -> Result<()> {
        txn.lock_latest(CATALOG, &name_key_of(within, name), RowLock::Update, Wait::Allowed)?;
        self.refresh();
        Ok(())
    }

    /// Forgets the past before `from` of the storages that a relation has given up.
    pub(crate) fn forget_past(
        &mut self,
        txn: &mut Transaction,
        relation: Oid,
        from: Csn,
    ) -> Result<()> {
        let tables = self.cache.tables().clone();
        for past in tables.past_of(relation) {
            let Some(kept) = tables.kept(past.table) else { continue };
            let kept = KeptHistory { from: kept.from.max(from), ..kept };
            self.keep_past(txn, relation, past, kept)?;
        }
        Ok(())
    }

    /// Keeps another part of the past of a table that a relation has given up before.
    pub(crate) fn keep_past(
        &mut self,
        txn: &mut Transaction,
        relation: Oid,
        past: PastStorage,
        kept: KeptHistory,
    ) -> Result<()> {
        let value = retired_value_of(relation, kept, past.ended);
        txn.write(CATALOG, retired_key_of(past.table), Op::Put(value))?;
        self.has_past = true;
        Ok(())
    }

    /// Makes a change, which is locked, and writes it through the transaction.
    pub(crate) fn change(&mut self, txn: &mut Transaction, change: Change) -> Result<()> {
        let (key, op) = match &change {
            Change::Put(entry) => (entry.key().bytes(), Op::Put(value_of(entry))),
            Change::Remove(key) => (key.bytes(), Op::Delete),
            Change::Retire { table, relation, kept } => {
                let value = retired_value_of(*relation, *kept, Csn::ZERO);
                (retired_key_of(*table), Op::Put(value))
            }
        };
        txn.write(CATALOG, key, op)?;
        if let Change::Put(Entry::Relation(relation)) = &change
            && GivenUp::between(relation, &self.base).is_some()
        {
            self.made.relations.push(Arc::clone(relation));
        }
        change.apply(Arc::make_mut(&mut self.catalog));
        self.changes.push(change);
        Ok(())
    }
}
