//! A storage of ZODB, Python's object database, over tables of SQL.
//!
//! ```text
//!   schema "site"
//!     objects        USING object     the newest record of each object; those before are versions of the row
//!     blobs          zoid, part, data   the contents of blobs, a mebibyte a row
//!     imported_tids  tid                transactions that were copied from another storage, under their ids
//!     packs          tid, ...           the counts of each pack
//!     object_refs, object_history, transactions    views
//!
//!   ZODB                          here
//!   transaction, tid              commit, its time (`table::objects::Tid`)
//!   user, description             author and message of the commit; the rest in its extension
//!   loadBefore(oid, tid)          the row as of the commit before tid
//!   undoLog, iterator, changes    the table of changes
//!   pack                          unreachable rows deleted; the history of the table removed
//! ```
//!
//! | module | is |
//! |---|---|
//! | `note` | the metadata of a commit of ZODB |
//! | `tids` | ids of transactions as commits, and back |
//! | `read` | records by object and by transaction |
//! | `past` | transactions in their order, and the records of each |
//! | `write` | [`Writing`]: a transaction of ZODB |
//! | `graph` | the references between objects |
//! | `pack` | the removal of unreachable objects and of old records |
//! | `blob` | files that belong to records |
//!
//! # Invariants
//! * The ids of the transactions of a storage ascend with their commits.
//! * A transaction that writes objects holds ROW EXCLUSIVE on `objects` until its commit. A transaction that brings its id
//!   along, and a commit that removes objects, hold EXCLUSIVE.
//! * While a pack runs, no record refers to an object that the pack is going to remove.
//! * A commit that packs is no transaction of the storage: clients get no invalidation for it.

mod blob;
mod graph;
mod note;
mod pack;
mod past;
mod read;
mod tids;
mod write;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use store::{Csn, Retention, TableId};
use table::catalog::{Catalog, CatalogCache};
use table::foreign::Checks;
use table::objects::ObjectRows;
use table::rows::{Change, Handles, NoValues, RowValues, Table};
use table::{Collections, Error, Result};
use txn::{Engine, Transaction};
use types::{Oid, SqlState};

pub use pack::{Packed, Step};
pub use past::{Changed, ObjectRecord, TransactionInfo};
pub use read::{Found, Loaded, Revision};
pub use table::objects::Tid;
pub use write::{Conflict, Finished, Meta, Waits, Write, Writing};

/// The tables of a storage, in its schema.
const OBJECTS: &str = "objects";
const BLOBS: &str = "blobs";
const IMPORTED: &str = "imported_tids";
const PACKS: &str = "packs";
/// The options of tables whose history is only for connections that read.
const HISTORY_OF_READERS: &str = " WITH (history = '10 minutes')";

/// The storages of a database. All users of the database in this process share them, because a storage keeps state that
/// is in no table, such as the object ids that it has given out.
pub struct Storages {
    tables: Arc<Collections>,
    known: Mutex<HashMap<Oid, Arc<Storage>>>,
    expressions: Arc<Mutex<Option<Arc<dyn Expressions>>>>,
}

/// Computes the expressions of indexes for rows that are written outside of statements.
pub trait Expressions: Send + Sync {
    /// Calls `f` with the evaluator of the expressions of a catalog.
    ///
    /// # Errors
    /// Those of `f`; 55000 if nothing can be computed any more.
    fn with(
        &self,
        catalog: &Arc<Catalog>,
        f: &mut dyn FnMut(&mut dyn RowValues) -> Result<()>,
    ) -> Result<()>;
}

impl Storages {
    /// Returns the storages of a database.
    pub fn new(tables: Arc<Collections>) -> Storages {
        Storages { tables, known: Mutex::default(), expressions: Arc::default() }
    }

    /// Sets the evaluator of the expressions of indexes. Without any, only tables that have no such
    /// indexes can be written.
    pub fn compute_by(&self, expressions: Arc<dyn Expressions>) {
        *self.expressions.lock() = Some(expressions);
    }

    /// Returns the storage in a schema of the database `postgres`; `None` if there is none.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn named(&self, schema: &str) -> Result<Option<Arc<Storage>>> {
        let catalog = self.tables.catalogs().newest();
        let database = table::catalog::POSTGRES_DATABASE;
        let objects = catalog
            .schema_named(database, schema)
            .and_then(|schema| catalog.relation_named(schema.oid, OBJECTS));
        objects.map_or(Ok(None), |objects| self.of_table(objects.oid))
    }

    /// Returns the storage whose objects are in a table; `None` if the table has none.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn of_table(&self, objects: Oid) -> Result<Option<Arc<Storage>>> {
        let mut known = self.known.lock();
        if let Some(storage) = known.get(&objects) {
            return Ok(Some(Arc::clone(storage)));
        }
        let Some(storage) = Storage::open(self, objects)? else { return Ok(None) };
        let storage = Arc::new(storage);
        // Those of tables that were dropped are of no use any more.
        known.retain(|_, storage| storage.exists());
        known.insert(objects, Arc::clone(&storage));
        Ok(Some(storage))
    }
}

/// A storage of ZODB. Shared by all who use it in this process.
pub struct Storage {
    engine: Arc<Engine>,
    catalogs: Arc<CatalogCache>,
    handles: Arc<Handles>,
    objects: Oid,
    blobs: Oid,
    imported: Oid,
    packs: Oid,
    /// The newest transaction, and the commit up to which that was looked at.
    last: Arc<Mutex<tids::Last>>,
    /// The newest commit of a [`Writing`], and its id.
    finished: Arc<Mutex<(Csn, Tid)>>,
    /// The commit of the newest transaction that brought its id along; 0 if there is none.
    imported_upto: Arc<AtomicU64>,
    /// The id of that transaction.
    imported_tid: Arc<AtomicU64>,
    /// The next id of an object that has not been given away; 0 before the first was asked for.
    next_oid: Mutex<u64>,
    /// The commit of the newest pack that has removed objects; 0 if there is none.
    collected: Arc<AtomicU64>,
    /// One pack at a time removes objects.
    packing: Mutex<()>,
    /// The objects that a running pack is going to remove, ascending.
    doomed: Mutex<Arc<[u64]>>,
    /// The transactions up to the horizon, which the table of changes does not list.
    old: Mutex<Option<Arc<past::Old>>>,
    /// Those of [`Storages::compute_by`].
    expressions: Arc<Mutex<Option<Arc<dyn Expressions>>>>,
}

impl Storage {
    /// Returns the SQL that makes a schema and the tables of a new storage in it. Without history, old records are kept
    /// for ten minutes, for connections that have begun before.
    pub fn definition(schema: &str, keeps_history: bool) -> String {
        let schema = format!("\"{}\"", schema.replace('"', "\"\""));
        let table = format!("'{}.{OBJECTS}'::regclass", schema.replace('\'', "''"));
        let history = if keeps_history { "" } else { HISTORY_OF_READERS };
        format!(
            "CREATE SCHEMA {schema};
             CREATE TABLE {schema}.{OBJECTS} (zoid bigint PRIMARY KEY, tid bigint, class_mod text, class_name text, \
                refs bigint[], data_tid bigint, pickle bytea, state jsonb) USING object{history};
             CREATE TABLE {schema}.{BLOBS} (zoid bigint, part integer, data bytea NOT NULL, \
                PRIMARY KEY (zoid, part)) USING heap{history};
             CREATE TABLE {schema}.{IMPORTED} (tid bigint PRIMARY KEY) USING heap;
             CREATE TABLE {schema}.{PACKS} (number bigint PRIMARY KEY, tid bigint NOT NULL, \
                objects bigint NOT NULL) USING heap;
             CREATE VIEW {schema}.object_refs AS \
                SELECT zoid, unnest(refs) AS target FROM {schema}.{OBJECTS};
             CREATE VIEW {schema}.object_history AS \
                SELECT * FROM {schema}.{OBJECTS} FOR SYSTEM_TIME ALL;
             CREATE VIEW {schema}.transactions AS \
                SELECT tid, zodb_time(tid) AS committed_at, encode(user_name, 'escape') AS user_name, \
                    encode(description, 'escape') AS description, extension, is_packed \
                FROM zodb_transactions({table}, 0, {max}, true, {max});",
            max = i64::MAX,
        )
    }

    /// Returns the storage whose objects are in a table; `None` if it is not a table of objects, or if its schema lacks
    /// another table of a storage.
    fn open(storages: &Storages, objects: Oid) -> Result<Option<Storage>> {
        let tables = &storages.tables;
        let catalog = tables.catalogs().newest();
        let Some(relation) = catalog.relation(objects).filter(|found| *found.name == *OBJECTS)
        else {
            return Ok(None);
        };
        let find = |name| catalog.relation_named(relation.schema, name).map(|found| found.oid);
        let all = (find(BLOBS), find(IMPORTED), find(PACKS));
        let (Some(blobs), Some(imported), Some(packs)) = all else { return Ok(None) };
        let storage = Storage {
            engine: Arc::clone(tables.engine()),
            catalogs: Arc::clone(tables.catalogs()),
            handles: Arc::clone(tables.handles()),
            objects,
            blobs,
            imported,
            packs,
            last: Arc::default(),
            finished: Arc::default(),
            imported_upto: Arc::default(),
            imported_tid: Arc::default(),
            next_oid: Mutex::new(0),
            collected: Arc::default(),
            packing: Mutex::default(),
            doomed: Mutex::new(Arc::default()),
            old: Mutex::default(),
            expressions: Arc::clone(&storages.expressions),
        };
        let table = storage.table(objects)?;
        if ObjectRows::of(&table).is_none() {
            return Ok(None);
        }
        storage.find_marks()?;
        Ok(Some(storage))
    }

    /// Returns true until the tables of the storage are dropped.
    fn exists(&self) -> bool {
        self.catalog().relation(self.objects).is_some()
    }

    /// Returns true if the storage keeps old records until they are packed.
    pub fn keeps_history(&self) -> bool {
        let catalog = self.catalog();
        let data = catalog.relation(self.objects).and_then(|relation| relation.table());
        data.is_none_or(|data| data.history == Retention::Forever)
    }

    /// The newest catalog.
    fn catalog(&self) -> Arc<Catalog> {
        self.catalogs.newest()
    }

    /// One of the tables of the storage.
    fn table(&self, oid: Oid) -> Result<Arc<Table>> {
        self.handles.table(&self.catalog(), oid).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_TABLE, "a table of the storage of objects was dropped")
        })
    }

    /// The table of the store in which the rows of objects lie.
    fn rows_of(table: &Table) -> Result<&ObjectRows> {
        ObjectRows::of(table).ok_or_else(|| {
            let message = "the table \"objects\" of the storage is no longer a table of objects";
            Error::new(SqlState::WRONG_OBJECT_TYPE, message)
        })
    }

    /// Calls `f` with the evaluator of the expressions of a table's indexes: once for all rows that are to be changed.
    fn with_values<R>(
        &self,
        table: &Table,
        f: impl FnOnce(&mut dyn RowValues) -> Result<R>,
    ) -> Result<R> {
        if !table.has_computed_indexes() {
            return f(&mut NoValues);
        }
        let cannot = || {
            let message = "an index of the table has expressions, and nothing here computes them";
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        };
        let expressions = self.expressions.lock().clone().ok_or_else(cannot)?;
        let (mut f, mut done) = (Some(f), None);
        expressions.with(&self.catalog(), &mut |values| {
            let Some(f) = f.take() else { return Ok(()) };
            done = Some(f(values)?);
            Ok(())
        })?;
        done.ok_or_else(cannot)
    }

    /// Changes a row of a table.
    fn change<R>(
        &self,
        txn: &mut Transaction,
        values: &mut dyn RowValues,
        f: impl FnOnce(&mut Change<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut checks = Checks::new(Arc::clone(&self.handles), self.catalog());
        f(&mut Change { txn, values, checks: &mut checks })
    }

    /// The commit from which on the past of objects is kept.
    fn kept_from(&self, storage: TableId) -> Csn {
        self.packed_upto().max(self.engine.store().horizon(storage))
    }

    /// The commit up to which the history was packed.
    fn packed_upto(&self) -> Csn {
        let catalog = self.catalog();
        let data = catalog.relation(self.objects).and_then(|relation| relation.table());
        data.map_or(Csn::ZERO, |data| Csn(data.forgotten))
    }
}
