//! [`CatalogCache`]: the newest catalog, and those of the past that are asked for.
//!
//! ```text
//!   csn       10          20          30          40 newest
//!   "v"       put         put                     put
//!   at(45)                                        └─ newest: nothing after 40 changed the catalog
//!   at(35)                └─ "v" as of 35 is of 20: kept from before, or read anew
//! ```
//!
//! Reading the catalog at a snapshot that is not older than the newest change, as nearly all are, is a
//! comparison of two numbers. For others the record `v`, which every change puts, says of which commit
//! the catalog at the snapshot is; some of these are kept.
//!
//! # Invariants
//! * The newest catalog is never behind the newest visible commit: the hook of a commit sets it before
//!   the commit is visible.
//! * OIDs are given once: those of a commit are below the number that `v` has from that commit on.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};
use store::{Csn, Retention, TableId, Versioned};
use txn::{CommitMeta, Engine, Isolation, Snapshot};
use types::{Oid, SqlState};

use super::bootstrap;
use super::draft::Change;
use super::record::{self, CATALOG, Record, VERSION_KEY, damaged};
use super::version::{Catalog, Key};
use super::{Entry, Relation, RelationKind, TableData};
use crate::stored::Kept;
use crate::{Error, Result, Tables};

/// Catalogs of the past that are kept.
const PAST_MAX: usize = 8;

/// The catalogs of a database: the newest one, and some of the past.
pub struct CatalogCache {
    newest: RwLock<Arc<Catalog>>,
    /// Those used last are last.
    past: Mutex<Vec<Arc<Catalog>>>,
    next_oid: AtomicU32,
    tables: Tables,
}

impl CatalogCache {
    /// Reads the catalog of an engine that knows its tables by [`Tables::resolver`] of `tables`. A
    /// database that has none is given one, whose superuser is called `superuser`.
    ///
    /// # Errors
    /// Damaged where a record does not decode, or what the engine reports.
    pub fn open(
        engine: &Arc<Engine>,
        tables: Tables,
        superuser: &str,
    ) -> Result<Arc<CatalogCache>> {
        let snapshot = engine.snapshot();
        if snapshot.read(CATALOG, VERSION_KEY)?.is_none() {
            let mut txn = engine.begin(Isolation::ReadCommitted);
            for entry in bootstrap::entries(superuser) {
                txn.put(CATALOG, &record::key_of(entry.key()), record::value_of(&entry))?;
            }
            txn.put(CATALOG, VERSION_KEY, record::next_oid_value_of(Oid::FIRST_USER))?;
            let meta = CommitMeta { message: "initial catalog".into(), ..CommitMeta::default() };
            txn.commit(meta)?;
        }
        let Loaded { catalog, next_oid, retired } = load(&engine.snapshot())?;
        for retired in retired {
            tables.add(retired.table, retired.relation, retired.kept, Some(retired.csn));
        }
        for relation in catalog.relations() {
            let kept = catalog.kept_of(relation);
            for table in [relation.storage(), relation.document_storage()].into_iter().flatten() {
                tables.add(table, relation.oid, kept, None);
            }
        }
        Ok(Arc::new(CatalogCache {
            newest: RwLock::new(Arc::new(catalog)),
            past: Mutex::default(),
            next_oid: AtomicU32::new(next_oid.0),
            tables,
        }))
    }

    /// True where a database has a catalog: there is SQL in it.
    ///
    /// # Errors
    /// What the store reports.
    pub fn exists(engine: &Arc<Engine>) -> Result<bool> {
        Ok(engine.snapshot().read(CATALOG, VERSION_KEY)?.is_some())
    }

    /// The newest catalog.
    pub fn newest(&self) -> Arc<Catalog> {
        self.newest.read().clone()
    }

    /// The catalog as a snapshot sees it. Before the database had one, it is what a new database has.
    ///
    /// # Errors
    /// Damaged where a record does not decode, or what the store reports.
    pub fn at(&self, snapshot: &Snapshot) -> Result<Arc<Catalog>> {
        let newest = self.newest();
        if newest.version() <= snapshot.csn() {
            return Ok(newest);
        }
        let version =
            snapshot.read(CATALOG, VERSION_KEY)?.as_ref().map_or(Csn::ZERO, Versioned::csn);
        if let Some(known) = self.find_past(version) {
            return Ok(known);
        }
        let catalog = if version == Csn::ZERO {
            let superuser = newest.role(bootstrap::POSTGRES_ROLE).map(|role| role.name.clone());
            let mut catalog = Catalog::default();
            let entries = bootstrap::entries(superuser.as_deref().unwrap_or("postgres"));
            entries.into_iter().for_each(|entry| catalog.put(entry));
            catalog
        } else {
            load(snapshot)?.catalog
        };
        let catalog = Arc::new(catalog);
        self.keep_past(catalog.clone());
        Ok(catalog)
    }

    /// The tables of the store, for [`Tables::past_of`] and [`Tables::settle`].
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// A number that no object has had.
    ///
    /// # Errors
    /// 54000 where there are none left.
    pub(crate) fn allocate(&self) -> Result<Oid> {
        let oid = self.next_oid.fetch_add(1, Ordering::Relaxed);
        if oid > record::OID_MAX {
            self.next_oid.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "all object numbers are used",
            ));
        }
        Ok(Oid(oid))
    }

    /// The number that is given next.
    pub(crate) fn next_oid(&self) -> Oid {
        Oid(self.next_oid.load(Ordering::Relaxed))
    }

    /// Makes the changes of a transaction, which began from `base` and made `drafted` of it, part of
    /// the newest catalog. Called in the order of commits, before `csn` is visible.
    pub(crate) fn publish(
        &self,
        base: &Arc<Catalog>,
        drafted: Arc<Catalog>,
        changes: Vec<Change>,
        csn: Csn,
    ) {
        let newest = self.newest();
        let mut catalog = match Arc::ptr_eq(&newest, base) {
            true => Arc::unwrap_or_clone(drafted),
            false => {
                let mut catalog = (*newest).clone();
                changes.iter().for_each(|change| change.apply(&mut catalog));
                catalog
            }
        };
        catalog.set_version(csn);
        self.tell_tables(&catalog, &changes, csn);
        *self.newest.write() = Arc::new(catalog);
        self.keep_past(newest);
    }

    /// Tells the store's tables what a commit has made, changed and given up.
    fn tell_tables(&self, catalog: &Catalog, changes: &[Change], csn: Csn) {
        for change in changes {
            match change {
                Change::Put(Entry::Relation(put)) => {
                    let Some(relation) = catalog.relation(put.oid) else { continue };
                    self.tell_table(catalog, relation);
                    for index in catalog.table(put.oid).into_iter().flat_map(|table| &table.indexes)
                    {
                        self.tell_table(catalog, index);
                    }
                }
                Change::Retire { table, relation, kept } => {
                    self.tables.end(*table, *relation, *kept, csn);
                }
                Change::Put(_) | Change::Remove(_) => {}
            }
        }
    }

    fn tell_table(&self, catalog: &Catalog, relation: &Relation) {
        let kept = catalog.kept_of(relation);
        for table in [relation.storage(), relation.document_storage()].into_iter().flatten() {
            self.tables.know(table, relation.oid, kept);
            self.tables.forget_past(relation.oid, kept.from);
        }
    }

    fn find_past(&self, version: Csn) -> Option<Arc<Catalog>> {
        let mut past = self.past.lock();
        let at = past.iter().position(|known| known.version() == version)?;
        let known = past.remove(at);
        past.push(known.clone());
        Some(known)
    }

    fn keep_past(&self, catalog: Arc<Catalog>) {
        let mut past = self.past.lock();
        if past.iter().any(|known| known.version() == catalog.version()) {
            return;
        }
        if past.len() == PAST_MAX {
            past.remove(0);
        }
        past.push(catalog);
    }
}

impl Catalog {
    /// How much is kept of the past of what a relation stores.
    pub(crate) fn kept_of(&self, relation: &Relation) -> Kept {
        let of = |table: &TableData| Kept { retention: table.history, from: Csn(table.forgotten) };
        match &relation.kind {
            RelationKind::Table(table) => of(table),
            RelationKind::Index(index) => {
                let table = self.relation(index.table).and_then(|table| table.table());
                table.map_or(Kept::all(Retention::Forever), of)
            }
            // Where a sequence stood is no use to anybody.
            RelationKind::Sequence(_) => Kept::all(Retention::None),
            RelationKind::View(_) | RelationKind::Composite => Kept::all(Retention::Forever),
        }
    }
}

/// What the records as of one commit say.
struct Loaded {
    catalog: Catalog,
    next_oid: Oid,
    retired: Vec<record::Retired>,
}

/// Reads all records as of a snapshot.
fn load(snapshot: &Snapshot) -> Result<Loaded> {
    let (mut entries, mut retired, mut version) = (Vec::new(), Vec::new(), None);
    for item in snapshot.scan(CATALOG, Bound::Unbounded, Bound::Unbounded, false) {
        let (key, value) = item?;
        match record::decode(&key, value.base(), value.csn())? {
            Record::Entry(entry) => entries.push(entry),
            Record::Retired(table) => retired.push(table),
            Record::NextOid(next) => version = Some((next, value.csn())),
        }
    }
    let Some((next_oid, csn)) = version else { return damaged("a catalog without a version") };
    // Tables come before what hangs on them, whatever their numbers.
    entries.sort_by_key(|entry| match entry {
        Entry::Relation(relation) => relation.index().is_some() as u8,
        _ => 2,
    });
    let mut catalog = Catalog::default();
    entries.into_iter().for_each(|entry| catalog.put(entry));
    catalog.set_version(csn);
    Ok(Loaded { catalog, next_oid, retired })
}

/// The table of the store with the number that `oid` has among the OIDs.
pub(crate) fn table_of(oid: Oid) -> TableId {
    TableId(CATALOG.0 + oid.0)
}

impl Key {
    /// Applies to the catalog's own table: where the entry's record is.
    pub(crate) fn bytes(self) -> Vec<u8> {
        record::key_of(self)
    }
}
