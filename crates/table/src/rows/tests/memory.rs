//! `memory`: an access method for tests. Committed rows lie in memory, version by version.
//!
//! ```text
//!   a transaction's own rows     in its writes, until it commits
//!   committed rows               key -> [(10, row), (20, row), (30, deleted)]      fed by the commits
//! ```
//!
//! It uses only what the crates `table` and `txn` give to every crate, so it shows what a method needs. It has
//! no use beyond that.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, Weak};

use store::{Csn, Kind, Op, TableId};
use table::Result;
use table::catalog::{Relation, TableData};
use table::index::RowKeys;
use table::method::{Access, AccessMethod, ChangedKeys, ColumnSet, KeyWalk, RowScan, Rows};
use table::rows::{Batch, Layout, Row, RowVersion};
use txn::{
    Cursor, Engine, KeyRange, Locked, Observed, Observer, OpRef, Snapshot, Transaction, View,
};
use types::{Datum, Oid};

/// The versions of the rows of a table, by key: the commit, and the row that it left, if any.
type Versions = BTreeMap<Vec<u8>, Vec<(Csn, Option<Vec<u8>>)>>;

/// The access method.
pub struct Memory {
    engine: Arc<Engine>,
    tables: Arc<Tables>,
}

impl Memory {
    /// The number in `pg_am`.
    pub const OID: Oid = Oid(16_376);

    /// The method for the tables of an engine.
    pub fn new(engine: &Arc<Engine>) -> Memory {
        let tables = Arc::new(Tables::default());
        let observer: Weak<Tables> = Arc::downgrade(&tables);
        engine.observe(observer);
        Memory { engine: Arc::clone(engine), tables }
    }
}

impl AccessMethod for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn oid(&self) -> Oid {
        Memory::OID
    }

    fn open(&self, _: &Relation, data: &TableData, layout: &Arc<Layout>) -> Box<dyn Rows> {
        self.tables.know(&self.engine, data.storage);
        let (tables, layout) = (Arc::clone(&self.tables), Arc::clone(layout));
        Box::new(MemoryRows { storage: data.storage, layout, tables })
    }
}

/// The committed rows of all tables of the method.
#[derive(Debug, Default)]
struct Tables(RwLock<HashMap<TableId, Versions>>);

impl Tables {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<TableId, Versions>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the rows of a table that were committed before the database was opened.
    fn know(&self, engine: &Arc<Engine>, table: TableId) {
        if self.read().contains_key(&table) {
            return;
        }
        let (mut versions, now) = (Versions::new(), engine.snapshot());
        let mut keys = engine.store().keys(table, Bound::Unbounded, Bound::Unbounded, false);
        while let Some(key) = keys.advance().expect("the store reads keys") {
            let of_key = versions.entry(key.to_vec()).or_default();
            let found = now.versions(table, key, Csn::ZERO, |version| {
                let row = (version.kind == Kind::Put).then(|| version.bytes.to_vec());
                of_key.push((version.csn, row));
                ControlFlow::Continue(())
            });
            found.expect("the store reads versions");
        }
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        tables.entry(table).or_insert(versions);
    }
}

impl Observer for Tables {
    fn follows(&self, _: TableId) -> bool {
        true
    }

    fn observe(&self, commit: &mut Observed<'_>) {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for write in commit.writes() {
            let Some(versions) = tables.get_mut(&write.table) else { continue };
            let versions = versions.entry(write.key.to_vec()).or_default();
            match write.op {
                OpRef::Put(row) => versions.push((commit.csn(), Some(row.to_vec()))),
                OpRef::Delete => versions.push((commit.csn(), None)),
                OpRef::Erase { from, to } => {
                    versions.retain(|(csn, _)| *csn < from || to.is_some_and(|to| *csn >= to));
                }
                OpRef::Delta(_) => unreachable!("the method writes whole rows"),
            }
        }
    }
}

/// The rows of a table.
#[derive(Clone, Debug)]
struct MemoryRows {
    storage: TableId,
    layout: Arc<Layout>,
    tables: Arc<Tables>,
}

impl MemoryRows {
    fn encode(&self, row: &[Datum]) -> Vec<u8> {
        let mut out = Vec::new();
        types::row::write(self.layout.version(), row.iter().map(Datum::as_ref), &mut out);
        out
    }

    /// Calls `f` with the versions of a row.
    fn of_key<T>(&self, key: &[u8], f: impl FnOnce(&[(Csn, Option<Vec<u8>>)]) -> T) -> T {
        let tables = self.tables.read();
        let versions = tables.get(&self.storage).and_then(|table| table.get(key));
        f(versions.map_or(&[], |versions| versions))
    }
}

impl Rows for MemoryRows {
    fn read(
        &self,
        view: View<'_>,
        key: &[u8],
        _: ColumnSet<'_>,
        _: Access,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        // The store's state of the key only tells whether the row is the transaction's own.
        let Some(found) = view.read(self.storage, key)? else { return Ok(false) };
        if found.is_own() {
            out.extend_from_slice(found.base());
            return Ok(true);
        }
        Ok(self.of_key(key, |versions| {
            let newest = versions.iter().rfind(|(csn, _)| *csn <= view.csn());
            let row = newest.and_then(|(_, row)| row.as_ref());
            row.map(|row| out.extend_from_slice(row)).is_some()
        }))
    }

    fn scan(&self, range: KeyRange, is_backward: bool) -> Box<dyn RowScan> {
        let keys = Cursor::new(self.storage, range, is_backward);
        Box::new(MemoryScan { rows: self.clone(), keys })
    }

    fn versions(&self, now: &Snapshot, key: &[u8], from: Csn, to: Csn) -> Result<Vec<RowVersion>> {
        Ok(self.of_key(key, |versions| {
            let seen = versions.iter().filter(|(csn, _)| *csn <= now.csn());
            let ends = seen.clone().skip(1).map(|(csn, _)| Some(*csn)).chain([None]);
            let there = seen.zip(ends).filter(|((csn, _), end)| {
                *csn <= to && from <= to && end.is_none_or(|end| end > from)
            });
            let version = |((csn, row), end): (&(Csn, Option<Vec<u8>>), Option<Csn>)| {
                Some(RowVersion::new(Row::new(key, &self.layout, row.as_ref()?), *csn, end))
            };
            there.filter_map(version).collect()
        }))
    }

    fn commits(&self, _: &Snapshot, key: &[u8]) -> Result<Vec<Csn>> {
        Ok(self.of_key(key, |versions| versions.iter().map(|(csn, _)| *csn).collect()))
    }

    fn changed(&self, engine: &Engine, after: Csn, to: Csn) -> Result<Option<RowKeys>> {
        let mut keys = ChangedKeys::default();
        let all = keys.add(engine, self.storage, (after, to), |key| Some(key.to_vec()))?;
        Ok(all.then(|| keys.into_keys()))
    }

    fn keys_ever(&self, _: &Engine, range: KeyRange, is_backward: bool) -> Box<dyn KeyWalk> {
        let tables = self.tables.read();
        let all = tables.get(&self.storage).into_iter().flat_map(BTreeMap::keys);
        let range = (range.lower, range.upper);
        let mut keys: Vec<Vec<u8>> = all.filter(|key| range.contains(*key)).cloned().collect();
        if !is_backward {
            keys.reverse();
        }
        Box::new(MemoryKeys { left: keys, key: Vec::new() })
    }

    fn insert(&self, txn: &mut Transaction, key: Vec<u8>, row: &[Datum]) -> Result<()> {
        txn.note_changes(self.storage);
        Ok(txn.write(self.storage, key, Op::Put(self.encode(row)))?)
    }

    fn update(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        _: Locked,
        _: &[Datum],
        new: &[Datum],
    ) -> Result<()> {
        self.insert(txn, key.to_vec(), new)
    }

    fn delete(&self, txn: &mut Transaction, key: &[u8], _: &[Datum]) -> Result<()> {
        txn.note_changes(self.storage);
        Ok(txn.write(self.storage, key.to_vec(), Op::Delete)?)
    }

    fn erase(&self, txn: &mut Transaction, key: &[u8], _: Option<&[Datum]>) -> Result<()> {
        Ok(txn.write(self.storage, key.to_vec(), Op::Erase { from: Csn::ZERO, to: None })?)
    }
}

/// A scan: keys in order, and then the row of each.
struct MemoryScan {
    rows: MemoryRows,
    keys: Cursor,
}

impl RowScan for MemoryScan {
    fn fill(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<()> {
        let mut keys = Vec::new();
        if rows_max > 0 {
            self.keys.fill::<table::Error>(view, |key, _| {
                keys.push(key.to_vec());
                Ok(match keys.len() < rows_max {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            })?;
        }
        let view = self.keys.view(view);
        for key in keys {
            batch.push(&key, |out| self.rows.read(view, &key, wanted, Access::Scan, out))?;
        }
        Ok(())
    }

    fn count(&mut self, view: View<'_>, rows_max: u64) -> Result<u64> {
        Ok(self.keys.count(view, rows_max)?)
    }

    fn is_at_end(&self) -> bool {
        self.keys.is_at_end()
    }
}

/// Keys, the last of which comes first.
struct MemoryKeys {
    left: Vec<Vec<u8>>,
    key: Vec<u8>,
}

impl KeyWalk for MemoryKeys {
    fn advance(&mut self) -> Result<Option<&[u8]>> {
        let Some(key) = self.left.pop() else { return Ok(None) };
        self.key = key;
        Ok(Some(&self.key))
    }
}
