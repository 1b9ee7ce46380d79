//! `heap`: a row is a value in the store, under its key.
//!
//! ```text
//!   csn           10                20              30
//!   row 7         put (7, 'ada')    patch 'bob'     delete            a small change of a large row
//!   versions      [10, 20) ada      [20, 30) bob                      is a patch: what differs
//! ```

pub(crate) mod patch;
mod scan;

use std::ops::ControlFlow;
use std::sync::Arc;

use store::{ColumnEncoder, Csn, DuplicateKey, Kind, MergeError, Op, Sorted, Sorter, TableId};
use txn::{Engine, KeyRange, Locked, Snapshot, Transaction, View};
use types::{Datum, DatumRef, Oid, row};

use crate::catalog::{Relation, TableData};
use crate::index::RowKeys;
use crate::method::{
    Access, AccessMethod, ChangedKeys, ColumnSet, KeyWalk, RowLoad, RowScan, Rows,
};
use crate::rows::{Layout, Row, RowVersion};
use crate::{Error, Result};

use scan::HeapScan;
pub(crate) use scan::{Unordered, fill, go_on, put_row};

/// The access method `heap`.
#[derive(Clone, Copy, Debug)]
pub struct Heap;

impl Heap {
    /// The number in `pg_am`, as PostgreSQL has it.
    pub const OID: Oid = Oid(2);
}

impl AccessMethod for Heap {
    fn name(&self) -> &'static str {
        "heap"
    }

    fn oid(&self) -> Oid {
        Heap::OID
    }

    fn open(&self, _: &Relation, data: &TableData, layout: &Arc<Layout>) -> Box<dyn Rows> {
        Box::new(HeapRows::new(data.storage, layout))
    }
}

/// The rows of a table, which lie in a table of the store.
#[derive(Debug)]
pub struct HeapRows {
    pub(crate) storage: TableId,
    layout: Arc<Layout>,
    /// The encoder for the files of loads, where they have another form than rows.
    encoder: Option<Arc<dyn ColumnEncoder>>,
}

impl HeapRows {
    pub(crate) fn new(storage: TableId, layout: &Arc<Layout>) -> HeapRows {
        HeapRows { storage, layout: Arc::clone(layout), encoder: None }
    }

    /// The same, of a table whose newest rows the store lays out by this encoder.
    pub fn encoded_by(self, encoder: Arc<dyn ColumnEncoder>) -> HeapRows {
        HeapRows { encoder: Some(encoder), ..self }
    }

    /// A row as it is stored.
    pub fn encode<'v>(&self, values: impl ExactSizeIterator<Item = DatumRef<'v>>) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + 8 * self.layout.width());
        row::write(self.layout.version(), values, &mut out);
        out
    }

    /// Writes the new state of a row: as a patch where little of a large row changes.
    pub fn write(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        locked: Locked,
        bytes: Vec<u8>,
    ) -> Result<()> {
        let op = match self.patch(txn, key, locked, &bytes)? {
            Some(patch) => Op::Delta(patch),
            None => Op::Put(bytes),
        };
        self.change(txn, key.to_vec(), op)
    }

    /// Writes a row, of which the table of changes tells.
    pub fn change(&self, txn: &mut Transaction, key: Vec<u8>, op: Op) -> Result<()> {
        txn.note_changes(self.storage);
        Ok(txn.write(self.storage, key, op)?)
    }

    fn patch(
        &self,
        txn: &Transaction,
        key: &[u8],
        locked: Locked,
        bytes: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        if locked != Locked::Unchanged || txn.is_large() || bytes.len() < patch::ROW_BYTES_MIN {
            return Ok(None);
        }
        let Some(found) = txn.read(self.storage, key)? else { return Ok(None) };
        let mut before = Vec::with_capacity(bytes.len());
        image(&found, &mut before)?;
        patch::diff(&before, bytes, &self.layout)
    }

    /// As [`Rows::versions`], from the first commit of which all is kept.
    pub fn versions_from(
        &self,
        now: &Snapshot,
        key: &[u8],
        from: Csn,
        to: Csn,
    ) -> Result<Vec<RowVersion>> {
        let to = to.min(now.csn());
        if from > to {
            return Ok(Vec::new());
        }
        let mut versions: Vec<RowVersion> = Vec::new();
        // The newest version so far, while it lives: its commit and its bytes.
        let mut open: Option<(Csn, Vec<u8>)> = None;
        if let Some(found) = now.engine().store().read(self.storage, key, from)? {
            let mut bytes = Vec::new();
            let patches = found.deltas().map(|(_, patch)| patch);
            patch::merge(found.base(), patches, &mut bytes).map_err(damaged)?;
            open = Some((found.csn(), bytes));
        }
        let close = |versions: &mut Vec<RowVersion>, open: &mut Option<(Csn, Vec<u8>)>, end| {
            if let Some((from, bytes)) = open.take()
                && from <= to
                && Some(from) != end
            {
                versions.push(RowVersion::new(Row::new(key, &self.layout, &bytes), from, end));
            }
        };
        let mut failed = None;
        now.versions(self.storage, key, Csn(from.0 + 1), |version| {
            let bytes = match (version.kind, &open) {
                (Kind::Delete, _) => None,
                (Kind::Put, _) => Some(version.bytes.to_vec()),
                (Kind::Delta, Some((_, base))) => {
                    let mut after = Vec::with_capacity(base.len());
                    failed = patch::merge(base, [version.bytes].into_iter(), &mut after).err();
                    Some(after)
                }
                (Kind::Delta, None) => {
                    failed = Some(MergeError::new("a patch of no row"));
                    None
                }
            };
            close(&mut versions, &mut open, Some(version.csn));
            open = bytes.map(|bytes| (version.csn, bytes));
            // One version past `to` tells when the last one ended.
            match failed.is_some() || version.csn > to {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        if let Some(failed) = failed {
            return Err(damaged(failed));
        }
        close(&mut versions, &mut open, None);
        Ok(versions)
    }
}

impl Rows for HeapRows {
    fn keeps_keys(&self) -> bool {
        self.encoder.is_none()
    }

    fn read(
        &self,
        view: View<'_>,
        key: &[u8],
        _: ColumnSet<'_>,
        _: Access,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(found) = view.read(self.storage, key)? else { return Ok(false) };
        image(&found, out).map(|()| true)
    }

    fn contains(&self, view: View<'_>, key: &[u8]) -> Result<bool> {
        Ok(view.read(self.storage, key)?.is_some())
    }

    fn scan(&self, range: KeyRange, is_backward: bool) -> Box<dyn RowScan> {
        Box::new(HeapScan::new(self.storage, range, is_backward))
    }

    fn spread(&self, engine: &Engine, count: usize) -> Result<Vec<Vec<u8>>> {
        Ok(engine.store().spread(self.storage, count)?)
    }

    fn versions(&self, now: &Snapshot, key: &[u8], from: Csn, to: Csn) -> Result<Vec<RowVersion>> {
        let horizon = now.engine().store().horizon(self.storage);
        self.versions_from(now, key, from.max(horizon), to)
    }

    fn commits(&self, now: &Snapshot, key: &[u8]) -> Result<Vec<Csn>> {
        let mut csns = Vec::new();
        now.versions(self.storage, key, Csn::ZERO, |version| {
            csns.push(version.csn);
            ControlFlow::Continue(())
        })?;
        Ok(csns)
    }

    fn changed(&self, engine: &Engine, after: Csn, to: Csn) -> Result<Option<RowKeys>> {
        let mut keys = ChangedKeys::default();
        let all = keys.add(engine, self.storage, (after, to), |key| Some(key.to_vec()))?;
        Ok(all.then(|| keys.into_keys()))
    }

    fn keys_ever(&self, engine: &Engine, range: KeyRange, is_backward: bool) -> Box<dyn KeyWalk> {
        let KeyRange { lower, upper } = range;
        Box::new(engine.store().keys(self.storage, lower, upper, is_backward))
    }

    fn keys_changed(&self, engine: &Engine) -> Box<dyn KeyWalk> {
        Box::new(engine.store().changed_keys(self.storage))
    }

    fn insert(&self, txn: &mut Transaction, key: Vec<u8>, row: &[Datum]) -> Result<()> {
        let bytes = self.encode(row.iter().map(Datum::as_ref));
        self.change(txn, key, Op::Put(bytes))
    }

    fn update(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        locked: Locked,
        _: &[Datum],
        new: &[Datum],
    ) -> Result<()> {
        self.write(txn, key, locked, self.encode(new.iter().map(Datum::as_ref)))
    }

    fn delete(&self, txn: &mut Transaction, key: &[u8], _: &[Datum]) -> Result<()> {
        self.change(txn, key.to_vec(), Op::Delete)
    }

    fn load(&self, txn: &Transaction) -> Result<Option<Box<dyn RowLoad>>> {
        if txn.touches(self.storage) || !txn.engine().store().is_fresh(self.storage)? {
            return Ok(None);
        }
        let rows = match &self.encoder {
            Some(encoder) => Sorter::new(self.storage).in_columns(Arc::clone(encoder)),
            None => Sorter::new(self.storage),
        };
        let (storage, layout) = (self.storage, Arc::clone(&self.layout));
        Ok(Some(Box::new(HeapLoad { storage, rows, layout })))
    }

    fn erase(&self, txn: &mut Transaction, key: &[u8], _: Option<&[Datum]>) -> Result<()> {
        Ok(txn.write(self.storage, key.to_vec(), Op::Erase { from: Csn::ZERO, to: None })?)
    }
}

/// Collects rows for a sorted file.
struct HeapLoad {
    storage: TableId,
    rows: Sorter,
    layout: Arc<Layout>,
}

impl RowLoad for HeapLoad {
    fn put(&mut self, engine: &Engine, key: &[u8], row: &[Datum]) -> Result<()> {
        let (version, values) = (self.layout.version(), row.iter().map(Datum::as_ref));
        Ok(self.rows.put(engine.store(), key, |out| row::write(version, values, out))?)
    }

    fn finish(self: Box<Self>, txn: &mut Transaction) -> Result<Option<Vec<Datum>>> {
        let engine = Arc::clone(txn.engine());
        txn.note_changes(self.storage);
        match self.rows.finish(engine.store())? {
            Sorted::Loaded(loaded) => Ok(txn.attach(loaded).map(|()| None)?),
            Sorted::Duplicate(DuplicateKey { key, value }) => {
                Row::new(&key, &self.layout, &value).to_datums().map(Some)
            }
        }
    }
}

/// Appends the merged value of a row.
pub(crate) fn image(found: &txn::Row<'_>, out: &mut Vec<u8>) -> Result<()> {
    if found.is_image() {
        out.extend_from_slice(found.base());
        return Ok(());
    }
    let merged = patch::merge(found.base(), found.deltas().map(|(_, patch)| patch), out);
    merged.map_err(damaged)
}

fn damaged(source: MergeError) -> Error {
    Error::DamagedBy { what: "a patch of a row", source: source.into() }
}
