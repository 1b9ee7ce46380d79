//! Tests of rows, indexes, foreign keys and sequences: a database on a simulated disk, tables made as
//! `CREATE TABLE` makes them, and whatever else they share.

mod columnar;
mod foreign;
mod given_up;
mod indexes;
mod intervals;
mod memory;
mod model;
mod sequences;
mod threads;

use std::path::Path;
use std::sync::Arc;

use document::Documents;

use store::{Retention, StoreOptions};
use txn::{CommitMeta, Engine, EngineOptions, Isolation, Transaction};
use types::{Datum, Object, Type};
use vfs::{Env, SimVfs};

use super::{Change, Handles, NoValues, Table};
use crate::catalog::ddl::{
    Acting, Ddl, NewColumn, NewConstraint, NewConstraintKind, NewIndex, NewIndexKey, NewTable,
};
use crate::catalog::{
    CatalogCache, Draft, IndexMethod, POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC, Persistence,
};
use crate::foreign::Checks;
use crate::method::{AccessMethod, ColumnSet, NewMethod};
use crate::{Collections, Error, Result, Tables};
use memory::Memory;

/// A database and what is kept in memory beside it.
pub struct World {
    pub engine: Arc<Engine>,
    pub cache: Arc<CatalogCache>,
    pub handles: Arc<Handles>,
}

impl World {
    pub fn new() -> World {
        World::open(&SimVfs::unrecorded(), 1)
    }

    pub fn open(disk: &SimVfs, seed: u64) -> World {
        World::open_with(disk, seed, "heap")
    }

    /// Opens a database whose tables can have this access method.
    pub fn open_with(disk: &SimVfs, seed: u64, method: &str) -> World {
        let (engine, tables) = World::engine(disk, seed);
        let documents = Documents::new(Arc::clone(&engine), 8 << 20, Tables::has_documents);
        let memory = || Arc::new(Memory::new(&engine)) as Arc<dyn AccessMethod>;
        let others = (method == "memory").then(memory);
        let collections =
            Collections::open_with(documents, tables, others).expect("so does its catalog");
        let (cache, handles) =
            (Arc::clone(collections.catalogs()), Arc::clone(collections.handles()));
        cache.begin(&engine).expect("it is written");
        handles.open_counts(&engine, &cache).expect("counts are read");
        World { engine, cache, handles }
    }

    /// Opens the engine of a database, and no catalog.
    pub fn engine(disk: &SimVfs, seed: u64) -> (Arc<Engine>, Tables) {
        let mut options = EngineOptions::default();
        options.store = StoreOptions { background: false, ..StoreOptions::default() };
        options.log.background = false;
        let tables = Tables::new();
        let resolver = tables.resolver();
        let engine = Engine::open(&Env::sim(disk, seed), Path::new("/db"), options, resolver);
        (engine.expect("the database opens"), tables)
    }

    /// Lets go of all, and closes the engine.
    pub fn close(self) {
        let World { engine, cache, handles } = self;
        handles.save_counts(&engine).expect("counts are written");
        drop((cache, handles));
        engine.close().expect("nobody uses it any more");
    }

    pub fn table(&self, name: &str) -> Arc<Table> {
        let catalog = self.cache.newest();
        let relation = catalog.relation_named(PUBLIC, name).expect("there is such a table");
        self.handles.table(&catalog, relation.oid).expect("it is a table")
    }

    pub fn ddl<R>(&self, f: impl FnOnce(&mut Ddl<'_>) -> Result<R>) -> Result<R> {
        let mut txn = self.engine.begin(Isolation::ReadCommitted);
        let mut draft = Draft::new(&self.cache);
        let done = f(&mut draft.ddl(&mut txn, acting()))?;
        draft.publish(&mut txn)?;
        txn.commit(CommitMeta::default())?;
        Ok(done)
    }

    /// `CREATE TABLE`.
    pub fn create(&self, name: &str, columns: &[(&str, Type)], constraints: Vec<NewConstraint>) {
        self.create_using("heap", name, columns, constraints);
    }

    /// `CREATE TABLE ... USING`.
    pub fn create_using(
        &self,
        method: &str,
        name: &str,
        columns: &[(&str, Type)],
        constraints: Vec<NewConstraint>,
    ) {
        let method = self.handles.methods().named(method).expect("there is such a method");
        let method = NewMethod { oid: method.oid(), options: Vec::new(), storages: None };
        let new = NewTable { constraints, method, ..new_table(name, columns) };
        self.ddl(|ddl| ddl.create_table(new)).expect("the table is made");
    }

    /// `CREATE INDEX`, of an empty table.
    pub fn create_index(
        &self,
        table: &str,
        keys: Vec<NewIndexKey>,
        change: impl Fn(&mut NewIndex),
    ) {
        let mut new = NewIndex {
            name: None,
            method: IndexMethod::Btree,
            keys,
            include: Vec::new(),
            predicate: None,
            is_unique: false,
            nulls_distinct: true,
            is_valid: true,
            options: Vec::new(),
            excludes: Vec::new(),
            partition_of: None,
        };
        change(&mut new);
        let oid = self.table(table).relation().oid;
        self.ddl(|ddl| ddl.create_index(oid, new)).expect("the index is made");
    }

    pub fn session(&self, isolation: Isolation) -> Session {
        Session {
            txn: Some(self.engine.begin(isolation)),
            checks: Checks::new(Arc::clone(&self.handles), self.cache.newest()),
        }
    }
}

/// A transaction with its checks.
pub struct Session {
    txn: Option<Transaction>,
    pub checks: Checks,
}

impl Session {
    pub fn txn(&mut self) -> &mut Transaction {
        self.txn.as_mut().expect("it goes on")
    }

    /// A statement: all or nothing.
    pub fn run<R>(&mut self, f: impl FnOnce(&mut Change<'_>) -> Result<R>) -> Result<R> {
        let txn = self.txn.as_mut().expect("it goes on");
        txn.statement();
        let (savepoint, saved) = (txn.savepoint(), self.checks.save());
        let mut change = Change { txn, values: &mut NoValues, checks: &mut self.checks };
        let done = f(&mut change);
        let done = done.and_then(|done| {
            self.checks.end_statement(txn, &mut NoValues)?;
            Ok(done)
        });
        if done.is_err() {
            txn.rollback_to(savepoint);
            self.checks.restore(&saved);
        }
        done
    }

    /// `SET CONSTRAINTS ALL`.
    pub fn defer(&mut self, deferred: bool) -> Result<()> {
        let txn = self.txn.as_mut().expect("it goes on");
        self.checks.set(txn, &mut NoValues, None, deferred)
    }

    pub fn insert(&mut self, table: &Table, row: &[Datum]) -> Result<Vec<u8>> {
        self.run(|change| table.insert(change, row))
    }

    /// Changes the row at `key` as `f` says; false if there is none.
    pub fn update(&mut self, table: &Table, key: &[u8], f: impl Fn(&mut [Datum])) -> Result<bool> {
        self.run(|change| {
            let all = table.update_lock(|_| true);
            table.lock(change.txn, key, all, txn::Wait::Allowed)?;
            let Some(old) = table.latest(change.txn, key)? else { return Ok(false) };
            let old = old.to_datums()?;
            let mut new = old.clone();
            f(&mut new);
            table.update(change, key, &old, &new)?;
            Ok(true)
        })
    }

    /// Deletes the row at `key`; false if there is none.
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> Result<bool> {
        self.run(|change| {
            table.lock(change.txn, key, txn::RowLock::Update, txn::Wait::Allowed)?;
            let Some(old) = table.latest(change.txn, key)? else { return Ok(false) };
            table.delete(change, key, &old.to_datums()?)?;
            Ok(true)
        })
    }

    pub fn commit(mut self) -> Result<txn::Commit> {
        let mut txn = self.txn.take().expect("it goes on");
        self.checks.end_transaction(&mut txn, &mut NoValues)?;
        Ok(txn.commit(CommitMeta::default())?)
    }
}

pub fn acting() -> Acting<'static> {
    Acting { role: POSTGRES_ROLE, database: POSTGRES_DATABASE, path: &[PUBLIC] }
}

/// A heap without constraints.
pub fn new_table(name: &str, columns: &[(&str, Type)]) -> NewTable {
    NewTable {
        schema: PUBLIC,
        name: name.into(),
        persistence: Persistence::Permanent,
        columns: columns.iter().map(|(name, ty)| NewColumn::new(name, *ty)).collect(),
        constraints: Vec::new(),
        options: Vec::new(),
        history: Retention::Forever,
        method: NewMethod::default(),
        partitioning: None,
        partition_of: None,
    }
}

pub fn primary_key(columns: &[&str]) -> NewConstraint {
    key(columns, true)
}

pub fn unique(columns: &[&str]) -> NewConstraint {
    key(columns, false)
}

fn key(columns: &[&str], is_primary: bool) -> NewConstraint {
    NewConstraint::new(NewConstraintKind::Key {
        columns: columns.iter().map(|name| (*name).into()).collect(),
        include: Vec::new(),
        is_primary,
        nulls_distinct: true,
        options: Vec::new(),
        overlaps: Vec::new(),
    })
}

/// The rows that a cursor gives, `at_once` together, as text.
pub fn rows(mut cursor: super::Cursor, view: txn::View<'_>, at_once: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut batch = super::Batch::new();
    while !cursor.is_at_end() {
        batch.clear();
        cursor.fill(view, ColumnSet::All, &mut batch, at_once).expect("rows are read");
        out.extend(batch.iter().map(|row| shown(&row.to_datums().expect("rows decode"))));
    }
    out
}

pub fn shown(row: &[Datum]) -> String {
    let shown = row.iter().map(|value| match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Int4(value) => value.to_string(),
        Datum::Int8(value) => value.to_string(),
        value => format!("{value:?}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// An error as a client sees it: code, message, detail, objects.
pub fn told<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Ok(done) => format!("ok {done:?}"),
        Err(Error::Sql(error)) => {
            let mut text = format!("{}: {}", error.state(), error.message());
            if let Some(detail) = error.detail() {
                text.push_str(&format!("\n  {detail}"));
            }
            let names = [Object::Schema, Object::Table, Object::Column, Object::Constraint];
            let names = names.map(|object| error.object(object).unwrap_or("-"));
            text.push_str(&format!("\n  {}", names.join(" ")));
            text
        }
        Err(error) => format!("{}: {error}", error.sqlstate()),
    }
}

pub fn int(value: i32) -> Datum {
    Datum::Int4(value)
}

/// A generator of numbers below a bound.
pub fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}
