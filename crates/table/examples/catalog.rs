//! Measures the catalog with many tables: making them, finding one, changing one, reading the past.
//!
//! ```sh
//! cargo run --release -p table --example catalog -- 10000
//! ```

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use log::Durability;
use store::Retention;
use table::catalog::ddl::{
    Acting, Behavior, Ddl, NewColumn, NewConstraint, NewConstraintKind, NewTable,
};
use table::catalog::{Address, POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC, Persistence};
use table::method::{Methods, NewMethod};
use table::{CatalogCache, Draft, Tables};
use txn::{CommitMeta, Engine, EngineOptions, Isolation};
use types::{Oid, Type};
use vfs::{Env, SimVfs};

fn new_table(name: &str) -> NewTable {
    let mut columns: Vec<NewColumn> =
        (0..8).map(|number| NewColumn::new(&format!("c{number}"), Type::TEXT)).collect();
    columns.insert(0, NewColumn::new("id", Type::INT8));
    let key = NewConstraintKind::Key {
        columns: vec!["id".into()],
        include: Vec::new(),
        is_primary: true,
        nulls_distinct: true,
        options: Vec::new(),
        overlaps: Vec::new(),
    };
    NewTable {
        schema: PUBLIC,
        name: name.into(),
        persistence: Persistence::Permanent,
        columns,
        constraints: vec![NewConstraint::new(key)],
        options: Vec::new(),
        history: Retention::Forever,
        method: NewMethod::default(),
        partitioning: None,
        partition_of: None,
    }
}

/// One transaction that changes the catalog.
fn commit(
    engine: &Arc<Engine>,
    cache: &Arc<CatalogCache>,
    f: impl FnOnce(&mut Ddl<'_>) -> table::Result<()>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut txn = engine.begin(Isolation::ReadCommitted);
    let mut draft = Draft::new(cache);
    let path: [Oid; 1] = [PUBLIC];
    let acting = Acting { role: POSTGRES_ROLE, database: POSTGRES_DATABASE, path: &path };
    f(&mut draft.ddl(&mut txn, acting))?;
    draft.publish(&mut txn)?;
    txn.commit(CommitMeta { durability: Some(Durability::Os), ..CommitMeta::default() })?;
    cache.tables().settle(engine.store());
    Ok(())
}

/// Says what each of `times` took.
fn say(what: &str, start: Instant, times: usize) {
    let each = start.elapsed().as_secs_f64() / times as f64;
    println!("{what:<44} {:>10.3} us", each * 1e6);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    let env = Env { fs: Arc::new(SimVfs::unrecorded()), ..Env::os() };
    let tables = Tables::new();
    let resolver = tables.resolver();
    let engine = Engine::open(&env, Path::new("/db"), EngineOptions::default(), resolver)?;
    let cache = CatalogCache::open(&engine, tables.clone(), Methods::with([]), "postgres")?;

    let start = Instant::now();
    commit(&engine, &cache, |ddl| {
        (0..count).try_for_each(|number| {
            ddl.create_table(new_table(&format!("table_{number}"))).map(drop)
        })
    })?;
    say("CREATE TABLE, all in one transaction", start, count);
    let full = engine.visible();

    let some = 500;
    let start = Instant::now();
    for number in 0..some {
        commit(&engine, &cache, |ddl| {
            ddl.create_table(new_table(&format!("more_{number}"))).map(drop)
        })?;
    }
    say("CREATE TABLE, each committed", start, some);

    let catalog = cache.newest();
    let names: Vec<String> = (0..count).map(|number| format!("table_{number}")).collect();
    let start = Instant::now();
    for name in names.iter().cycle().take(1_000_000) {
        black_box(catalog.relation_named(PUBLIC, black_box(name)));
    }
    say("look-up by name", start, 1_000_000);
    let oids: Vec<Oid> = catalog.relations().map(|relation| relation.oid).collect();
    let start = Instant::now();
    for oid in oids.iter().cycle().take(1_000_000) {
        black_box(catalog.relation(black_box(*oid)));
    }
    say("look-up by number", start, 1_000_000);
    let snapshot = engine.snapshot();
    let start = Instant::now();
    for _ in 0..1_000_000 {
        black_box(cache.at(black_box(&snapshot))?);
    }
    say("the catalog at a snapshot of now", start, 1_000_000);
    drop((catalog, snapshot));

    let start = Instant::now();
    for number in 0..some {
        let object =
            cache.newest().relation_named(PUBLIC, &format!("more_{number}")).map(|r| r.oid);
        commit(&engine, &cache, |ddl| {
            let object = Address::relation(object.unwrap_or_default());
            ddl.add_column(object.oid, NewColumn::new("late", Type::TEXT), false).map(drop)
        })?;
    }
    say("ALTER TABLE ADD COLUMN, each committed", start, some);

    let start = Instant::now();
    for number in 0..some {
        let object =
            cache.newest().relation_named(PUBLIC, &format!("more_{number}")).map(|r| r.oid);
        commit(&engine, &cache, |ddl| {
            let object = Address::relation(object.unwrap_or_default());
            ddl.drop_objects(&[object], Behavior::Restrict).map(drop)
        })?;
    }
    say("DROP TABLE, each committed", start, some);

    let then = engine.snapshot_at(full)?;
    let start = Instant::now();
    black_box(cache.at(&then)?);
    say("a catalog of the past, read anew", start, 1);
    let start = Instant::now();
    for _ in 0..100_000 {
        black_box(cache.at(black_box(&then))?);
    }
    say("a catalog of the past, kept", start, 100_000);
    drop(then);
    let start = Instant::now();
    black_box(CatalogCache::open(&engine, tables, Methods::with([]), "postgres")?);
    say("opening", start, 1);
    Ok(())
}
