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
//! The cache observes the engine: what a commit makes of the catalog follows from the records that it
//! writes, in the process that commits as in one that follows its log.
//!
//! # Invariants
//! * The newest catalog is never behind the newest visible commit: the cache takes a commit in before
//!   the commit is visible.
//! * A commit whose records do not decode leaves the newest catalog as it is. From there on snapshots
//!   read the catalog anew; the error of such a read names the commit, and has the fault as its source.
//! * OIDs are given once: those of a commit are below the number that `v` has from that commit on.

use std::ops::Bound;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, RwLock};
use store::{Csn, Op, Retention, TableId, Versioned};
use txn::{
    CommitMeta, Engine, Isolation, Observed, Observer, OpRef, RowLock, Snapshot, Transaction, Wait,
};
use types::{Oid, SqlState};

use super::bootstrap;
use super::record::{self, CATALOG, Record, VERSION_KEY, damaged};
use super::version::{Catalog, Key};
use super::{Entry, Relation, RelationKind, Schema, TableData};
use crate::index;
use crate::method::Methods;
use crate::rows::{GivenUp, Handles};
use crate::stored::KeptHistory;
use crate::{Error, Result, Tables};

/// Catalogs of the past that are kept.
const PAST_MAX: usize = 8;

/// The catalogs of a database: the newest one, and some of the past.
pub struct CatalogCache {
    newest: RwLock<Arc<Catalog>>,
    /// Catalogs of the past; the last used one is last.
    past: Mutex<Vec<Arc<Catalog>>>,
    next_oid: Arc<AtomicU32>,
    tables: Tables,
    methods: Methods,
    /// The handles of tables with their state, which go with the tables.
    handles: OnceLock<Weak<Handles>>,
    /// The first commit whose records did not decode.
    damage: OnceLock<DamagedCommit>,
}

/// A commit that wrote a record of the catalog that does not decode.
#[derive(Clone, Debug, thiserror::Error)]
#[error("commit {} wrote a record that cannot be read", csn.0)]
struct DamagedCommit {
    csn: Csn,
    source: Arc<Error>,
}

impl CatalogCache {
    /// Reads the catalog of an engine that knows its tables by [`Tables::resolver`] of `tables`. Of a
    /// database that has none, it is the one that the first change of the catalog will write
    /// ([`CatalogCache::begin`]), whose superuser is called `superuser`. Tables can have the access methods
    /// `methods`.
    ///
    /// # Errors
    /// Damaged where a record does not decode, or what the engine reports.
    pub fn open(
        engine: &Arc<Engine>,
        tables: Tables,
        methods: Methods,
        superuser: &str,
    ) -> Result<Arc<CatalogCache>> {
        let snapshot = engine.snapshot();
        let Loaded { catalog, next_oid, retired } = match snapshot.read(CATALOG, VERSION_KEY)? {
            None => Loaded::new(superuser),
            Some(_) => load(&snapshot)?,
        };
        drop(snapshot);
        for retired in retired {
            tables.add(retired.table, retired.relation, retired.kept, Some(retired.csn));
        }
        for relation in catalog.relations() {
            let kept = catalog.kept_of(relation);
            for table in relation.storages() {
                tables.add(table, relation.oid, kept, None);
            }
            if let Some(data) = relation.table() {
                let method = methods.get(data.method.oid)?;
                tables.encode_by(data.storage, method.column_encoder(relation));
            }
            tell_index(&tables, relation);
        }
        let cache = Arc::new(CatalogCache {
            newest: RwLock::new(Arc::new(catalog)),
            past: Mutex::default(),
            next_oid: tables.given_below(next_oid),
            tables,
            methods,
            handles: OnceLock::new(),
            damage: OnceLock::new(),
        });
        let observer: Weak<CatalogCache> = Arc::downgrade(&cache);
        engine.observe(observer);
        Ok(cache)
    }

    /// Writes the catalog that a database begins with by a commit of its own, where the database has none.
    ///
    /// # Errors
    /// Returns the error of the engine.
    pub fn begin(&self, engine: &Arc<Engine>) -> Result<()> {
        if self.is_written() {
            return Ok(());
        }
        let mut txn = engine.begin(Isolation::ReadCommitted);
        if self.write_initial(&mut txn)? {
            let next = record::next_oid_value_of(self.next_oid());
            txn.write(CATALOG, VERSION_KEY.to_vec(), Op::Put(next))?;
            let meta = CommitMeta { message: "initial catalog".into(), ..CommitMeta::default() };
            txn.commit(meta)?;
        }
        Ok(())
    }

    /// True if the store has the catalog.
    pub(crate) fn is_written(&self) -> bool {
        self.newest.read().version() > Csn::ZERO
    }

    /// Locks the version of the catalog, and has the transaction write the entries that a database begins
    /// with, as far as it has not changed them; false if the store has them.
    pub(crate) fn write_initial(&self, txn: &mut Transaction) -> Result<bool> {
        txn.lock_latest(CATALOG, VERSION_KEY, RowLock::Update, Wait::Allowed)?;
        if self.is_written() {
            return Ok(false);
        }
        for entry in bootstrap::entries(&self.superuser()) {
            let key = record::key_of(entry.key());
            if txn.read(CATALOG, &key)?.is_none() {
                txn.write(CATALOG, key, Op::Put(record::value_of(&entry)))?;
            }
        }
        Ok(true)
    }

    /// The name of the role that the database belongs to.
    fn superuser(&self) -> Arc<str> {
        let newest = self.newest.read();
        newest.role(bootstrap::POSTGRES_ROLE).map_or_else(|| "postgres".into(), |r| r.name.clone())
    }

    /// The newest catalog.
    pub fn newest(&self) -> Arc<Catalog> {
        self.newest.read().clone()
    }

    /// The catalog as a snapshot sees it. Before the database had one, it is what a new database has.
    ///
    /// # Errors
    /// Damaged where a record does not decode, or what the store reports. If the cache has seen which commit wrote the
    /// damaged record, the error names the commit.
    pub fn at(&self, snapshot: &Snapshot) -> Result<Arc<Catalog>> {
        let newest = self.newest();
        let damage = self.damage.get().filter(|damage| damage.csn <= snapshot.csn());
        if newest.version() <= snapshot.csn() && damage.is_none() {
            return Ok(newest);
        }
        let version =
            snapshot.read(CATALOG, VERSION_KEY)?.as_ref().map_or(Csn::ZERO, Versioned::csn);
        // A damaged commit may have left the version as it was.
        if damage.is_none()
            && let Some(known) = self.find_past(version)
        {
            return Ok(known);
        }
        let catalog = if version == Csn::ZERO {
            Loaded::new(&self.superuser()).catalog
        } else {
            let loaded = load(snapshot).map_err(|error| match damage {
                Some(damage) if error.sqlstate() == SqlState::DATA_CORRUPTED => {
                    Error::DamagedBy { what: "the catalog", source: damage.clone().into() }
                }
                _ => error,
            });
            loaded?.catalog
        };
        let catalog = Arc::new(catalog);
        self.keep_past(catalog.clone());
        Ok(catalog)
    }

    /// A relation and the name of its schema as a snapshot sees them; `None` if it is not there. Reads
    /// two records, and not the whole catalog.
    ///
    /// # Errors
    /// Damaged where a record does not decode, or what the store reports.
    pub(crate) fn relation_at(
        &self,
        snapshot: &Snapshot,
        oid: Oid,
    ) -> Result<Option<(Arc<Relation>, Arc<Schema>)>> {
        let entry = |key: Key| -> Result<Option<Entry>> {
            let bytes = record::key_of(key);
            let Some(found) = snapshot.read(CATALOG, &bytes)? else { return Ok(None) };
            match record::decode(&bytes, found.base(), found.csn())? {
                Record::Entry(entry) => Ok(Some(entry)),
                _ => damaged("an entry of the catalog of another kind"),
            }
        };
        let Some(Entry::Relation(relation)) = entry(Key::Relation(oid))? else { return Ok(None) };
        match entry(Key::Schema(relation.schema))? {
            Some(Entry::Schema(schema)) => Ok(Some((relation, schema))),
            _ => damaged("a relation without its schema"),
        }
    }

    /// The tables of the store, for [`Tables::past_of`] and [`Tables::settle`].
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The access methods that tables can have.
    pub fn methods(&self) -> &Methods {
        &self.methods
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

    /// Gives the cache the handles, which then forget tables that are dropped.
    pub(crate) fn tell(&self, handles: &Arc<Handles>) {
        // Once set it stays: there is one for an engine.
        let _ = self.handles.set(Arc::downgrade(handles));
        handles.know(&self.tables);
    }

    /// Makes the handles forget the storages that relations have given up.
    pub(crate) fn forget(&self, given_up: &[GivenUp]) {
        if let Some(handles) = self.handles.get().and_then(Weak::upgrade) {
            handles.forget(given_up);
        }
    }

    /// Makes what a commit has changed part of the newest catalog.
    fn take_in(&self, changes: Changes, csn: Csn) {
        let newest = self.newest();
        let removed = changes.removed.iter().filter_map(|key| match key {
            Key::Relation(oid) => newest.relation(*oid).cloned(),
            _ => None,
        });
        let mut changed: Vec<Arc<Relation>> = removed.collect();
        let mut catalog = (*newest).clone();
        let relation_of = |entry: &Entry| match entry {
            Entry::Relation(relation) => Some(relation.oid),
            _ => None,
        };
        let relations: Vec<Oid> = changes.put.iter().filter_map(relation_of).collect();
        changed.extend(relations.iter().filter_map(|oid| newest.relation(*oid).cloned()));
        let is_wide = !newest.is_narrow(&changes.put, &changes.removed);
        catalog.apply(changes.put, &changes.removed);
        catalog.set_version(csn, is_wide);
        for relation in relations.into_iter().filter_map(|oid| catalog.relation(oid)) {
            self.tell_table(&catalog, relation);
            let table = catalog.table(relation.oid);
            for index in table.into_iter().flat_map(|table| &table.indexes) {
                self.tell_table(&catalog, index);
            }
        }
        let given_up: Vec<GivenUp> =
            changed.iter().filter_map(|relation| GivenUp::between(relation, &catalog)).collect();
        // Tables without a record of their end have no past that is read from now on.
        let has_past = |table: &TableId| changes.retired.iter().any(|one| one.table == *table);
        for GivenUp { storages, has_no_past, .. } in &given_up {
            for table in storages.iter().filter(|table| !has_past(table)) {
                match has_no_past {
                    true => self.tables.leave(*table, csn),
                    false => self.tables.forget(*table),
                }
            }
        }
        for record::Retired { table, relation, kept, csn: ended } in changes.retired {
            self.tables.end(table, relation, kept, ended);
        }
        if let Some(next) = changes.next_oid {
            self.next_oid.fetch_max(next.0, Ordering::Relaxed);
        }
        *self.newest.write() = Arc::new(catalog);
        self.keep_past(newest);
        self.forget(&given_up);
    }

    fn tell_table(&self, catalog: &Catalog, relation: &Relation) {
        let kept = catalog.kept_of(relation);
        for table in relation.storages() {
            self.tables.know(table, relation.oid, kept);
            self.tables.forget_past(relation.oid, kept.from);
        }
        // A method that this release does not have was refused when the catalog was opened.
        if let Some(data) = relation.table()
            && let Ok(method) = self.methods.get(data.method.oid)
        {
            self.tables.encode_by(data.storage, method.column_encoder(relation));
        }
        tell_index(&self.tables, relation);
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

/// Makes the store lay out the entries of a columnar index in columns.
fn tell_index(tables: &Tables, relation: &Relation) {
    if let (Some(storage), Some(encoder)) = (relation.storage(), index::encoder(relation)) {
        tables.encode_by(storage, Some(encoder));
    }
}

impl Observer for CatalogCache {
    fn follows(&self, table: TableId) -> bool {
        table == CATALOG
    }

    fn observe(&self, commit: &mut Observed<'_>) {
        let csn = commit.csn();
        match Changes::of(commit) {
            Ok(changes) => self.take_in(changes, csn),
            Err(error) => {
                self.tables.keep_unknown();
                // The first one stays: commits come in order.
                let _ = self.damage.set(DamagedCommit { csn, source: Arc::new(error) });
            }
        }
    }
}

/// The changes of a commit to the catalog, in no order.
#[derive(Default)]
struct Changes {
    put: Vec<Entry>,
    removed: Vec<Key>,
    retired: Vec<record::Retired>,
    next_oid: Option<Oid>,
}

impl Changes {
    /// Reads them from the record of the commit.
    fn of(commit: &Observed<'_>) -> Result<Changes> {
        let mut changes = Changes::default();
        for write in commit.writes().filter(|write| write.table == CATALOG) {
            match write.op {
                OpRef::Put(value) => match record::decode(write.key, value, commit.csn())? {
                    Record::Entry(entry) => changes.put.push(entry),
                    Record::Retired(table) => changes.retired.push(table),
                    Record::NextOid(next) => changes.next_oid = Some(next),
                },
                OpRef::Delete => changes.removed.push(record::entry_key_of(write.key)?),
                OpRef::Delta(_) | OpRef::Erase { .. } => {
                    return damaged("a record of the catalog that is not put whole");
                }
            }
        }
        Ok(changes)
    }
}

impl Catalog {
    /// How much is kept of the past of what a relation stores.
    pub(crate) fn kept_of(&self, relation: &Relation) -> KeptHistory {
        let of = |table: &TableData| KeptHistory {
            retention: table.history,
            from: Csn(table.forgotten),
        };
        match &relation.kind {
            RelationKind::Table(table) => of(table),
            RelationKind::Index(index) => {
                let table = self.relation(index.table).and_then(|table| table.table());
                table.map_or(KeptHistory::all(Retention::Forever), of)
            }
            // Where a sequence stood is no use to anybody.
            RelationKind::Sequence(_) => KeptHistory::all(Retention::None),
            RelationKind::View(_) | RelationKind::Composite => KeptHistory::all(Retention::Forever),
        }
    }
}

/// The catalog of the records as of one commit.
struct Loaded {
    catalog: Catalog,
    next_oid: Oid,
    retired: Vec<record::Retired>,
}

impl Loaded {
    /// The catalog that a new database begins with.
    fn new(superuser: &str) -> Loaded {
        let mut catalog = Catalog::default();
        catalog.apply(bootstrap::entries(superuser), &[]);
        Loaded { catalog, next_oid: Oid::FIRST_USER, retired: Vec::new() }
    }
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
    let Some((next_oid, csn)) = version else {
        return damaged("the catalog has no version record");
    };
    let mut catalog = Catalog::default();
    catalog.apply(entries, &[]);
    catalog.set_version(csn, true);
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
