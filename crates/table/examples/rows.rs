//! Measures rows: reading one by its key, inserting, updating, scanning.
//!
//! ```text
//! cargo run --release -p table --example rows [rows]
//! ```
//! On a disk in memory and without waiting for it: what is measured is our own work. Each figure is
//! the best of three rounds.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use document::Documents;
use std::time::Instant;

use store::Retention;
use table::catalog::ddl::{
    Acting, NewColumn, NewConstraint, NewConstraintKind, NewIndex, NewIndexKey, NewTable,
};
use table::catalog::{
    CatalogCache, Draft, IndexMethod, POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC, Persistence,
};
use table::foreign::Checks;
use table::rows::{Batch, Change, Cursor, Handles, NoValues, Table};
use table::{Collections, Result, Tables};
use txn::{CommitMeta, Durability, Engine, EngineOptions, Isolation, KeyRange, RowLock, Wait};
use types::{Datum, Type};
use vfs::{Env, SimVfs};

struct World {
    engine: Arc<Engine>,
    cache: Arc<CatalogCache>,
    handles: Arc<Handles>,
}

fn open() -> Result<World> {
    let mut options = EngineOptions::default();
    options.durability = Durability::Os;
    let tables = Tables::new();
    let resolver = tables.resolver();
    let env = Env::sim(&SimVfs::unrecorded(), 1);
    let engine =
        Engine::open(&env, Path::new("/db"), options, resolver).expect("a new database opens");
    let documents = Documents::new(Arc::clone(&engine), 8 << 20, Tables::has_documents);
    let collections = Collections::open(documents, tables)?;
    let (cache, handles) = (Arc::clone(collections.catalogs()), Arc::clone(collections.handles()));
    Ok(World { engine, cache, handles })
}

impl World {
    fn create(&self, name: &str, has_key: bool, has_index: bool) -> Result<Arc<Table>> {
        let mut txn = self.engine.begin(Isolation::ReadCommitted);
        let mut draft = Draft::new(&self.cache);
        let acting = Acting { role: POSTGRES_ROLE, database: POSTGRES_DATABASE, path: &[PUBLIC] };
        let mut ddl = draft.ddl(&mut txn, acting);
        let key = NewConstraint::new(NewConstraintKind::Key {
            columns: vec!["id".into()],
            include: Vec::new(),
            is_primary: true,
            nulls_distinct: true,
            options: Vec::new(),
            overlaps: Vec::new(),
        });
        let made = ddl.create_table(NewTable {
            schema: PUBLIC,
            name: name.into(),
            persistence: Persistence::Permanent,
            columns: ["id", "a", "b"].map(|name| NewColumn::new(name, Type::INT4)).to_vec(),
            constraints: if has_key { vec![key] } else { Vec::new() },
            options: Vec::new(),
            history: Retention::Forever,
            method: table::method::NewMethod::default(),
            partitioning: None,
            partition_of: None,
        })?;
        if has_index {
            let index = NewIndex {
                name: None,
                method: IndexMethod::Btree,
                keys: vec![NewIndexKey::column(2)],
                include: Vec::new(),
                predicate: None,
                is_unique: false,
                nulls_distinct: true,
                is_valid: true,
                options: Vec::new(),
                excludes: Vec::new(),
                partition_of: None,
            };
            ddl.create_index(made.oid, index)?;
        }
        draft.publish(&mut txn)?;
        txn.commit(CommitMeta::default())?;
        let table = self.handles.table(&self.cache.newest(), made.oid);
        Ok(table.expect("it was just made"))
    }

    fn checks(&self) -> Checks {
        Checks::new(Arc::clone(&self.handles), self.cache.newest())
    }
}

/// Runs `f` three times over and prints the best, for each of `count`.
fn best<E>(what: &str, count: usize, mut f: impl FnMut(usize) -> Result<(), E>) -> Result<(), E> {
    let mut least = f64::MAX;
    for round in 0..3 {
        let start = Instant::now();
        f(round)?;
        least = least.min(start.elapsed().as_secs_f64() / count as f64);
    }
    println!("{what:<44} {:>9.0} ns  {:>9.3} M/s", least * 1e9, 1e-6 / least);
    Ok(())
}

fn main() -> Result<()> {
    let rows: i32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(300_000);
    let world = open()?;
    let row = |id: i32| [Datum::Int4(id), Datum::Int4(id % 1000), Datum::Int4(7)];
    for (name, has_key, has_index) in
        [("keyed", true, false), ("indexed", true, true), ("keyless", false, false)]
    {
        println!("-- {name}");
        let table = world.create(name, has_key, has_index)?;
        let mut checks = world.checks();
        let mut next = 0;
        best("insert, 1000 to a commit", rows as usize / 3, |_| {
            for _ in 0..rows / 3000 {
                let mut txn = world.engine.begin(Isolation::ReadCommitted);
                for _ in 0..1000 {
                    next += 1;
                    let (txn, checks) = (&mut txn, &mut checks);
                    table.insert(&mut Change { txn, values: &mut NoValues, checks }, &row(next))?;
                }
                txn.commit(CommitMeta::default())?;
            }
            Ok::<_, table::Error>(())
        })?;
        best("insert and commit, without the sync", 20_000, |_| {
            for _ in 0..20_000 {
                next += 1;
                let mut txn = world.engine.begin(Isolation::ReadCommitted);
                let (ours, checks) = (&mut txn, &mut checks);
                table
                    .insert(&mut Change { txn: ours, values: &mut NoValues, checks }, &row(next))?;
                txn.commit(CommitMeta::default())?;
            }
            Ok::<_, table::Error>(())
        })?;
        for place in ["in memory", "in files"] {
            let txn = world.engine.begin(Isolation::ReadCommitted);
            if has_key {
                best(&format!("get by key, {place}"), 200_000, |round| {
                    for n in 0..200_000u32 {
                        let id = n.wrapping_mul(2_654_435_761) % next as u32 + 1;
                        let key = table.key_of([&Datum::Int4(id as i32)]);
                        let row = table.get(txn.view(), &key)?.expect("it is there");
                        black_box(row.column(round)?);
                    }
                    Ok::<_, table::Error>(())
                })?;
            }
            best(&format!("scan of 3 columns, {place}"), next as usize, |_| {
                let mut cursor = Cursor::over(&table, KeyRange::ALL, false);
                let (mut batch, mut values) = (Batch::new(), Vec::new());
                while !cursor.is_at_end() {
                    batch.clear();
                    cursor.fill(txn.view(), table::method::ColumnSet::All, &mut batch, 1024)?;
                    for row in batch.iter() {
                        values.clear();
                        row.columns(&[0, 1, 2], &mut values)?;
                        black_box(&values);
                    }
                }
                Ok::<_, table::Error>(())
            })?;
            drop(txn);
            world.engine.checkpoint()?;
        }
        if has_key {
            best("lock, read, update and commit", 20_000, |round| {
                for n in 0..20_000 {
                    let mut txn = world.engine.begin(Isolation::ReadCommitted);
                    let key = table.key_of([&Datum::Int4(n + 1)]);
                    table.lock(&mut txn, &key, RowLock::NoKeyUpdate, Wait::Allowed)?;
                    let old = table.get(txn.view(), &key)?.expect("it is there").to_datums()?;
                    let mut new = old.clone();
                    new[2] = Datum::Int4(round as i32);
                    let (ours, checks) = (&mut txn, &mut checks);
                    let mut change = Change { txn: ours, values: &mut NoValues, checks };
                    table.update(&mut change, &key, &old, &new)?;
                    txn.commit(CommitMeta::default())?;
                }
                Ok::<_, table::Error>(())
            })?;
        }
    }
    Ok(())
}
