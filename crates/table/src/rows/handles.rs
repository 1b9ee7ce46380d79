//! [`Handles`]: the handles of all tables of an engine, each made once for a state of its definition.
//!
//! A table has state that no catalog has, because it is of the moment: the next row ids, where rows
//! went, and how many there are. It hangs here as well, by the number of the table in the store, so
//! that a table that was emptied begins anew.
//!
//! ```text
//!   DROP TABLE t       commit ──> catalog ──> forget(t, its storages)         all that hangs on them goes
//!   CREATE, ROLLBACK   draft ───────────────> forget(t, its storages)
//!   t AS OF before     made from the catalog of then: among the last few of the past
//! ```
//!
//! # Invariants
//! * The state of a storage stays while a relation of the newest catalog, or of a draft, has the
//!   storage: row ids that an open transaction has taken are given to no other transaction.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, OnceLock};

use foldhash::fast::FixedState;
use parking_lot::{Mutex, RwLock};
use store::TableId;
use txn::Engine;
use types::Oid;

use super::count::RowCounts;
use super::ids::RowIds;
use super::moves::Moves;
use super::statistics::Sampled;
use super::table::Table;
use super::usage::{AnalyzedBy, TableUsage, Usage};
use crate::Result;
use crate::Tables;
use crate::catalog::{Catalog, CatalogCache, Persistence, Relation, TableDef};
use crate::method::Methods;
use crate::shrink::shrink;
use crate::stored::Standing;

/// States of one definition kept at most: of the present, of drafts, of the past.
const STATES_MAX: usize = 4;
/// Handles of tables that relations have given up, kept at most.
const PAST_MAX: usize = 16;
/// About how many bytes of files a row of a table has whose rows are not counted any more.
const ROW_BYTES: u64 = 64;

impl std::fmt::Debug for Handles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handles").field("known", &self.known).finish_non_exhaustive()
    }
}

/// The storages that a relation has given up.
#[derive(Debug)]
pub(crate) struct GivenUp {
    pub relation: Oid,
    /// The tables of the store that it has no more.
    pub storages: Vec<TableId>,
    /// The relation itself is gone.
    pub is_dropped: bool,
    /// The past of the relation is not readable once it is dropped ([`Relation::has_no_past`]).
    pub has_no_past: bool,
}

impl GivenUp {
    /// The difference between a relation and what a catalog has of it; `None` if the catalog has all of it.
    pub(crate) fn between(relation: &Relation, catalog: &Catalog) -> Option<GivenUp> {
        let now = catalog.relation(relation.oid);
        let kept: Vec<TableId> = now.iter().flat_map(|now| now.storages()).collect();
        let storages = relation.storages().filter(|table| !kept.contains(table));
        let (storages, is_dropped) = (storages.collect::<Vec<_>>(), now.is_none());
        (is_dropped || !storages.is_empty()).then_some(GivenUp {
            relation: relation.oid,
            storages,
            is_dropped,
            has_no_past: relation.has_no_past(),
        })
    }
}

/// The handles of all tables.
pub struct Handles {
    engine: Arc<Engine>,
    methods: Methods,
    known: RwLock<HashMap<Oid, Vec<Arc<Table>>, FixedState>>,
    ids: Mutex<HashMap<TableId, Arc<RowIds>, FixedState>>,
    moves: Mutex<HashMap<TableId, Arc<Moves>, FixedState>>,
    sampled: Mutex<HashMap<TableId, Arc<Sampled>, FixedState>>,
    usages: Mutex<HashMap<Oid, Arc<Usage>, FixedState>>,
    /// The handles of tables that relations have given up, the newest last.
    past: Mutex<VecDeque<Arc<Table>>>,
    counts: Arc<RowCounts>,
    /// The tables of the store, once the catalog is there.
    tables: OnceLock<Tables>,
}

impl Handles {
    /// No handles yet. `methods` are those that tables of the engine have.
    pub fn new(engine: Arc<Engine>, methods: Methods) -> Handles {
        Handles {
            engine,
            methods,
            known: RwLock::default(),
            ids: Mutex::default(),
            moves: Mutex::default(),
            sampled: Mutex::default(),
            usages: Mutex::default(),
            past: Mutex::default(),
            counts: Arc::default(),
            tables: OnceLock::new(),
        }
    }

    /// The engine that keeps the tables.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The access methods that tables can have.
    pub fn methods(&self) -> &Methods {
        &self.methods
    }

    /// Gives the handles the tables of the store.
    pub(crate) fn know(&self, tables: &Tables) {
        // Once set they stay: there is one catalog for an engine.
        let _ = self.tables.set(tables.clone());
    }

    fn standing(&self, storage: TableId) -> Standing {
        self.tables.get().map_or(Standing::Present, |tables| tables.standing(storage))
    }

    /// The handle of the table with this OID as `catalog` defines it; `None` for other relations, and for a temporary
    /// table that has given up its rows of that time.
    pub fn table(&self, catalog: &Catalog, oid: Oid) -> Option<Arc<Table>> {
        let def = catalog.table(oid)?;
        let same = |table: &&Arc<Table>| Arc::ptr_eq(table.def(), def);
        if let Some(table) = self.known.read().get(&oid).and_then(|known| known.iter().find(same)) {
            return Some(Arc::clone(table));
        }
        let data = def.relation.table()?;
        let is_temporary = def.relation.persistence == Persistence::Temporary;
        match self.standing(data.storage) {
            Standing::Present => {}
            Standing::Unread => return None,
            Standing::Unknown if is_temporary => return None,
            Standing::Past | Standing::Unknown => return self.past_table(catalog, def),
        }
        let ids = Arc::clone(self.ids.lock().entry(data.storage).or_default());
        let moves = Arc::clone(self.moves.lock().entry(data.storage).or_default());
        let sampled = Arc::clone(self.sampled.lock().entry(data.storage).or_default());
        let usage = TableUsage {
            table: self.usage(oid),
            indexes: def.indexes.iter().map(|index| (index.oid, self.usage(index.oid))).collect(),
        };
        let table = self.make(catalog, def, (ids, moves, sampled, usage))?;
        let mut known = self.known.write();
        let states = known.entry(oid).or_default();
        if states.len() == STATES_MAX {
            states.remove(0);
        }
        states.push(Arc::clone(&table));
        drop(known);
        if self.standing(data.storage) != Standing::Present {
            // A commit has given it up meanwhile, and may have found no handle to forget.
            let is_present = |tables: &Tables| tables.has_present(oid);
            self.forget(&[GivenUp {
                relation: oid,
                storages: def.relation.storages().collect(),
                is_dropped: !self.tables.get().is_some_and(is_present),
                has_no_past: def.relation.has_no_past(),
            }]);
        }
        Some(table)
    }

    fn make(
        &self,
        catalog: &Catalog,
        def: &Arc<TableDef>,
        hung: (Arc<RowIds>, Arc<Moves>, Arc<Sampled>, TableUsage),
    ) -> Option<Arc<Table>> {
        let data = def.relation.table()?;
        let schema =
            catalog.schema(def.relation.schema).map_or_else(|| "".into(), |s| s.name.clone());
        let method = self.methods.get(data.method.oid).ok()?;
        Some(Arc::new(Table::new(def, data, schema, hung, method).with_types_of(catalog)))
    }

    /// The handle of a table whose storage a relation has given up: it is only read.
    fn past_table(&self, catalog: &Catalog, def: &Arc<TableDef>) -> Option<Arc<Table>> {
        if let Some(table) = self.past.lock().iter().find(|table| Arc::ptr_eq(table.def(), def)) {
            return Some(Arc::clone(table));
        }
        let usage = |oid: Oid| self.usages.lock().get(&oid).cloned().unwrap_or_default();
        let usage = TableUsage {
            table: usage(def.relation.oid),
            indexes: def.indexes.iter().map(|index| (index.oid, usage(index.oid))).collect(),
        };
        let table =
            self.make(catalog, def, (Arc::default(), Arc::default(), Arc::default(), usage))?;
        let mut past = self.past.lock();
        if past.len() == PAST_MAX {
            past.pop_front();
        }
        past.push_back(Arc::clone(&table));
        Some(table)
    }

    /// Forgets what relations have given up. Called while a commit is taken in, before it is visible, and when a
    /// transaction is rolled back.
    pub(crate) fn forget(&self, all: &[GivenUp]) {
        if all.is_empty() {
            return;
        }
        {
            let mut known = self.known.write();
            for GivenUp { relation, storages, is_dropped, .. } in all {
                if *is_dropped {
                    known.remove(relation);
                } else if let Some(states) = known.get_mut(relation) {
                    states.retain(|table| !storages.contains(&table.storage()));
                }
            }
            shrink(&mut known);
        }
        {
            let mut usages = self.usages.lock();
            let dropped = all.iter().filter(|one| one.is_dropped);
            dropped.for_each(|one| drop(usages.remove(&one.relation)));
            shrink(&mut usages);
        }
        forget(&self.ids, all);
        forget(&self.moves, all);
        forget(&self.sampled, all);
        all.iter().for_each(|one| self.counts.give_up(&one.storages));
    }

    /// About how many rows there are in a table of the store.
    pub fn row_count(&self, storage: TableId) -> u64 {
        // The rows of a table that was given up are not counted any more, and are read as of the past.
        let estimate = || match self.engine.table(storage).ended() {
            Some(_) => self.engine.store().table_bytes(storage).unwrap_or(0) / ROW_BYTES,
            None => 0,
        };
        self.counts.get(storage).unwrap_or_else(estimate)
    }

    /// How often a table or an index is used.
    pub fn usage(&self, oid: Oid) -> Arc<Usage> {
        Arc::clone(self.usages.lock().entry(oid).or_default())
    }

    /// A number that grows whenever plans that were made before are to be made anew: a table has doubled or halved
    /// since, or was analyzed.
    pub fn plans_generation(&self) -> u64 {
        self.counts.generation()
    }

    /// Finds out anew what the values of a relation are like, and has plans be made anew.
    pub fn analyze(&self, catalog: &Arc<Catalog>, oid: Oid) {
        let Some(table) = self.table(catalog, oid) else { return };
        table.forget_statistics();
        table.statistics_by(AnalyzedBy::Command, &self.engine, self.row_count(table.storage()));
        self.counts.plan_anew();
    }

    /// Reads the counts of rows, which follow the engine from then on. Called before the first commit.
    pub fn open_counts(&self, engine: &Arc<Engine>, catalogs: &CatalogCache) -> Result<()> {
        let catalog = catalogs.newest();
        let live = catalog.relations().flat_map(|relation| relation.storages().collect::<Vec<_>>());
        self.counts.know(catalogs.tables());
        RowCounts::open(&self.counts, engine, &live.collect::<HashSet<TableId>>())
    }

    /// Writes the counts that have changed by a commit of their own: at the end, and now and then.
    pub fn save_counts(&self, engine: &Arc<Engine>) -> Result<()> {
        self.counts.save(engine)
    }

    /// How many entries each map has: tables, usages, and what hangs on storages.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> [usize; 6] {
        [
            self.known.read().len(),
            self.usages.lock().len(),
            self.ids.lock().len(),
            self.moves.lock().len(),
            self.sampled.lock().len(),
            self.counts.len(),
        ]
    }
}

fn forget<V>(of: &Mutex<HashMap<TableId, V, FixedState>>, all: &[GivenUp]) {
    let mut of = of.lock();
    all.iter().flat_map(|one| &one.storages).for_each(|storage| drop(of.remove(storage)));
    shrink(&mut of);
}
