//! A database of documents on a simulated disk, that can be closed and opened again.

use document::{Collection, CollectionOptions, DocumentTable, Documents};
use std::path::Path;
use std::sync::Arc;
use store::TableId;
use txn::{Engine, EngineOptions};
pub use vfs::seeds;
use vfs::{Env, SimRandom, SimVfs};

/// The collection of the tests lies in this table.
const TABLE: TableId = TableId(10);

/// Random numbers as these tests want them: indexes, percentages, one of many.
#[derive(Clone)]
pub struct Dice(SimRandom);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(SimRandom::new(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n.max(1) as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A database with one collection.
pub struct World {
    pub disk: SimVfs,
    env: Env,
    engine: EngineOptions,
    pub documents: Arc<Documents>,
    pub docs: Collection,
}

impl World {
    pub fn new(seed: u64, hashes: bool) -> World {
        World::with(seed, CollectionOptions { hashes, ..CollectionOptions::default() })
    }

    pub fn with(seed: u64, options: CollectionOptions) -> World {
        World::on(SimVfs::new(seed), seed, options)
    }

    /// A database in which nearly every commit is a large one: its chunks go to files and not to the log.
    pub fn of_large_commits(seed: u64, options: CollectionOptions) -> World {
        let (disk, mut engine) = (SimVfs::new(seed), engine_options());
        engine.large_bytes = 8;
        World::open(disk.clone(), Env::sim(&disk, seed), engine, options)
    }

    /// Opens what is on a disk, or makes a new database there.
    pub fn on(disk: SimVfs, seed: u64, options: CollectionOptions) -> World {
        let env = Env::sim(&disk, seed);
        World::open(disk, env, engine_options(), options)
    }

    fn open(disk: SimVfs, env: Env, engine: EngineOptions, options: CollectionOptions) -> World {
        let table = Arc::new(DocumentTable::new(options));
        let documents = open(&env, engine.clone(), &table);
        let docs = documents.collection(TABLE, table);
        World { disk, env, engine, documents, docs }
    }

    /// Closes the database and opens it again from its files.
    pub fn reopen(self) -> World {
        let World { disk, env, engine, documents, docs } = self;
        let options = docs.options();
        drop(docs);
        let open = Arc::clone(documents.engine());
        drop(documents);
        open.close().expect("closes");
        World::open(disk, env, engine, options)
    }

    pub fn flush(&self) {
        self.documents.engine().checkpoint().expect("flushes");
    }

    pub fn compact(&self) {
        self.documents.engine().checkpoint().expect("flushes");
        self.documents.engine().store().compact().expect("compacts");
    }
}

/// Documents that follow those of another database, and the collection of the tests among them.
pub fn follower(seed: u64) -> (Arc<Documents>, Collection) {
    let table = Arc::new(DocumentTable::new(CollectionOptions::default()));
    let mut options = engine_options();
    options.follower = true;
    let documents = open(&Env::sim(&SimVfs::unrecorded(), seed), options, &table);
    let docs = documents.collection(TABLE, table);
    (documents, docs)
}

fn engine_options() -> EngineOptions {
    let mut options = EngineOptions::default();
    options.durability = log::Durability::Os;
    options.log.background = false;
    options.log.first_bytes = 64 << 10;
    options.log.segment_bytes = 1 << 20;
    options.store.background = false;
    // Small blocks, so that even small documents lie in several.
    options.store.history_block_bytes = 8 << 10;
    options.store.current_block_bytes = 4 << 10;
    options
}

fn open(env: &Env, options: EngineOptions, table: &Arc<DocumentTable>) -> Arc<Documents> {
    let table = Arc::clone(table);
    let resolve = Arc::new(move |_: TableId| -> Arc<dyn store::Table> { Arc::clone(&table) as _ });
    let engine = Engine::open(env, Path::new("/db"), options, resolve).expect("opens");
    Documents::new(engine, 64 << 20, |_| true)
}
