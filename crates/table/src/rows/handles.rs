//! [`Handles`]: the handles of all tables of an engine, each made once for a state of its definition.
//!
//! What a table has that no catalog tells of, because it is of the moment, hangs here as well: the next
//! row ids, where rows went, and how many there are. It goes by the number of the table in the store, so that a
//! table that was emptied begins anew.

use std::collections::HashMap;
use std::sync::Arc;

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
use crate::catalog::Catalog;
use crate::method::Methods;

/// States of one definition kept at most: of the present, of drafts, of the past.
const STATES_MAX: usize = 4;

impl std::fmt::Debug for Handles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handles").field("known", &self.known).finish_non_exhaustive()
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
    counts: Arc<RowCounts>,
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
            counts: Arc::default(),
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

    /// The handle of the table with this OID as `catalog` defines it; `None` for other relations.
    pub fn table(&self, catalog: &Catalog, oid: Oid) -> Option<Arc<Table>> {
        let def = catalog.table(oid)?;
        let same = |table: &&Arc<Table>| Arc::ptr_eq(table.def(), def);
        if let Some(table) = self.known.read().get(&oid).and_then(|known| known.iter().find(same)) {
            return Some(Arc::clone(table));
        }
        let data = def.relation.table()?;
        let schema =
            catalog.schema(def.relation.schema).map_or_else(|| "".into(), |s| s.name.clone());
        let ids = Arc::clone(self.ids.lock().entry(data.storage).or_default());
        let moves = Arc::clone(self.moves.lock().entry(data.storage).or_default());
        let sampled = Arc::clone(self.sampled.lock().entry(data.storage).or_default());
        let usage = TableUsage {
            table: self.usage(oid),
            indexes: def.indexes.iter().map(|index| (index.oid, self.usage(index.oid))).collect(),
        };
        let beside = (ids, moves, sampled, usage);
        let method = self.methods.get(data.method.oid).ok()?;
        let table = Arc::new(Table::new(def, data, schema, beside, method).with_types_of(catalog));
        let mut known = self.known.write();
        let states = known.entry(oid).or_default();
        if states.len() == STATES_MAX {
            states.remove(0);
        }
        states.push(Arc::clone(&table));
        Some(table)
    }

    /// About how many rows there are in a table of the store.
    pub fn row_count(&self, storage: TableId) -> u64 {
        self.counts.get(storage)
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
    pub fn open_counts(&self, engine: &Arc<Engine>) -> Result<()> {
        RowCounts::open(&self.counts, engine)
    }

    /// Writes the counts that have changed by a commit of their own: at the end, and now and then.
    pub fn save_counts(&self, engine: &Arc<Engine>) -> Result<()> {
        self.counts.save(engine)
    }
}
