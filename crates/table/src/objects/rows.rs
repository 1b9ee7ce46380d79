//! [`ObjectRows`]: the rows of a table of objects, which lie in a heap without `state`, and mostly without `tid`.

use std::sync::Arc;

use store::{Csn, Op, TableId};
use txn::{Engine, KeyRange, Locked, ScanItem, Snapshot, Transaction, View};
use types::row;
use types::{Array, Datum, DatumRef, Jsonb, KeyOrder, Repr, RowView, SqlState, Type};

use super::Tid;
use crate::columnar::Block;
use crate::heap::{self, HeapRows, Unordered, image};
use crate::index::RowKeys;
use crate::method::{Access, ColumnSet, KeyWalk, RowScan, Rows};
use crate::rows::{Batch, Layout, RowRef, RowVersion, Table};
use crate::{Error, Result};

// Positions of columns.
const TID: usize = 1;
const CLASS_MOD: usize = 2;
const CLASS_NAME: usize = 3;
const REFS: usize = 4;
const DATA_TID: usize = 5;
const PICKLE: usize = 6;
const STATE: usize = 7;

/// The rows of a table of objects. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ObjectRows {
    heap: Arc<HeapRows>,
    layout: Arc<Layout>,
}

/// A record of an object, to be written.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// The id of the object.
    pub oid: u64,
    /// The transaction that made the record, if another storage knows it by an id.
    pub tid: Option<Tid>,
    /// The transaction whose record of the object this one brings back, if it does that.
    pub data_tid: Option<Tid>,
    /// The pickles of class and state.
    pub pickle: &'a [u8],
}

/// A record of an object, as it lies.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The commit that made it; [`Csn::MAX`] if the transaction that looks has made it itself.
    pub csn: Csn,
    tid: Option<Tid>,
    view: RowView<'a>,
}

impl<'a> Record<'a> {
    fn new(csn: Csn, bytes: &'a [u8], layout: &'a Layout) -> Result<Record<'a>> {
        let view = RowView::new(bytes, layout.reprs())?;
        Ok(Record { csn, tid: tid_in(view, TID)?, view })
    }

    /// Returns the id of the transaction that made the record.
    ///
    /// # Errors
    /// Fails if the time of the commit cannot be read.
    pub fn tid(&self, engine: &Engine) -> Result<Tid> {
        match self.tid {
            Some(tid) => Ok(tid),
            None => Ok(Tid::of_time(engine.time_us(self.csn)?)),
        }
    }

    /// Returns the transaction whose record this one brings back.
    ///
    /// # Errors
    /// XX001 if the row is damaged.
    pub fn data_tid(&self) -> Result<Option<Tid>> {
        tid_in(self.view, DATA_TID)
    }

    /// Returns the pickles of class and state.
    ///
    /// # Errors
    /// XX001 if the row is damaged.
    pub fn pickle(&self) -> Result<&'a [u8]> {
        pickle_in(self.view)
    }

    /// Returns module and name of the class; `None` if the pickle names none.
    ///
    /// # Errors
    /// XX001 if the row is damaged.
    pub fn class(&self) -> Result<Option<(String, String)>> {
        match (self.view.get(CLASS_MOD)?, self.view.get(CLASS_NAME)?) {
            (Some(DatumRef::Text(module)), Some(DatumRef::Text(name))) => {
                Ok(Some((module.to_owned(), name.to_owned())))
            }
            _ => Ok(None),
        }
    }

    /// Calls `f` with each object that this one refers to. Returns false if the pickle could not be read when it was
    /// stored.
    ///
    /// # Errors
    /// XX001 if the row is damaged.
    pub fn references(&self, f: impl FnMut(u64)) -> Result<bool> {
        references_in(self.view, f)
    }
}

/// The bytes of a row, merged into a buffer where they are not in one piece.
fn bytes_of<'b>(found: &'b txn::Row<'_>, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
    if found.is_image() {
        return Ok(found.base());
    }
    buffer.clear();
    image(found, buffer)?;
    Ok(buffer)
}

fn references_in(view: RowView<'_>, mut f: impl FnMut(u64)) -> Result<bool> {
    let Some(DatumRef::Array(refs)) = view.get(REFS)? else { return Ok(false) };
    for oid in refs.iter() {
        let DatumRef::Int8(oid) = oid else { return Err(damaged()) };
        f(oid as u64);
    }
    Ok(true)
}

fn tid_in(view: RowView<'_>, at: usize) -> Result<Option<Tid>> {
    match view.get(at)? {
        Some(DatumRef::Int8(tid)) => Ok(Some(Tid::of_i64(tid))),
        Some(DatumRef::Null) => Ok(None),
        _ => Err(damaged()),
    }
}

fn pickle_in(view: RowView<'_>) -> Result<&[u8]> {
    match view.get(PICKLE)? {
        Some(DatumRef::Bytea(pickle)) => Ok(pickle),
        _ => Err(damaged()),
    }
}

fn damaged() -> Error {
    Error::Damaged { what: "a record of an object" }
}

impl ObjectRows {
    pub(super) fn new(storage: TableId, layout: &Arc<Layout>) -> ObjectRows {
        ObjectRows { heap: Arc::new(HeapRows::new(storage, layout)), layout: Arc::clone(layout) }
    }

    /// Returns the rows of a table; `None` if its method is another.
    pub fn of(table: &Table) -> Option<&ObjectRows> {
        table.rows().of_method()
    }

    /// Returns the key of the row of an object.
    pub fn key(oid: u64) -> Vec<u8> {
        let mut key = Vec::with_capacity(9);
        types::key::write(DatumRef::Int8(oid as i64), KeyOrder::ASCENDING, &mut key);
        key
    }

    /// Returns the object whose row has a key.
    ///
    /// # Errors
    /// XX001 if that is the key of no object.
    pub fn oid(key: &[u8]) -> Result<u64> {
        let read = types::key::read(&mut &*key, Repr::Int8, KeyOrder::ASCENDING);
        if let Ok(Datum::Int8(oid)) = read { Ok(oid as u64) } else { Err(damaged()) }
    }

    /// Calls `f` with the record of an object that a view shows; `None` if there is none.
    ///
    /// # Errors
    /// Fails if the record cannot be read, or returns the error of `f`.
    pub fn record<R>(
        &self,
        view: View<'_>,
        oid: u64,
        f: impl FnOnce(Record<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let Some(found) = view.read(self.heap.storage, &ObjectRows::key(oid))? else {
            return Ok(None);
        };
        self.record_of(&found, &mut Vec::new(), f).map(Some)
    }

    /// Calls `f` with the record that a key of the store has, unmerged.
    ///
    /// # Errors
    /// Fails if the record cannot be read, or returns the error of `f`.
    pub fn record_of<R>(
        &self,
        found: &txn::Row<'_>,
        buffer: &mut Vec<u8>,
        f: impl FnOnce(Record<'_>) -> Result<R>,
    ) -> Result<R> {
        f(Record::new(found.csn(), bytes_of(found, buffer)?, &self.layout)?)
    }

    /// Calls `f` with each object that the record of a key of the store refers to. Returns false if its pickle could not be
    /// read when it was stored.
    ///
    /// # Errors
    /// XX001 if the row is damaged.
    pub fn references_of(
        &self,
        found: &txn::Row<'_>,
        buffer: &mut Vec<u8>,
        f: impl FnMut(u64),
    ) -> Result<bool> {
        references_in(RowView::new(bytes_of(found, buffer)?, self.layout.reprs())?, f)
    }

    /// Writes a record of an object, whose row the transaction has locked. Returns the objects that it refers to.
    ///
    /// # Errors
    /// Returns the error of the transaction.
    pub fn put(
        &self,
        txn: &mut Transaction,
        locked: Locked,
        object: Object<'_>,
    ) -> Result<Vec<u64>> {
        let mut oids = Vec::new();
        let head = pickle::read_head(object.pickle, &mut oids).ok();
        let (class_mod, class_name) = match &head {
            Some(class) if !class.name.is_empty() => {
                (DatumRef::Text(&class.module), DatumRef::Text(&class.name))
            }
            _ => (DatumRef::Null, DatumRef::Null),
        };
        let refs = head.as_ref().map(|_| refs_array(&oids)).transpose()?;
        let tid = |tid: Option<Tid>| tid.map_or(DatumRef::Null, |tid| DatumRef::Int8(tid.to_i64()));
        let values = [
            DatumRef::Int8(object.oid as i64),
            tid(object.tid),
            class_mod,
            class_name,
            refs.as_ref().map_or(DatumRef::Null, |refs| DatumRef::Array(refs.as_ref())),
            tid(object.data_tid),
            DatumRef::Bytea(object.pickle),
            DatumRef::Null,
        ];
        let bytes = self.heap.encode(values.into_iter());
        self.heap.write(txn, &ObjectRows::key(object.oid), locked, bytes)?;
        Ok(oids)
    }

    /// Removes the row of an object, which the transaction has locked.
    ///
    /// # Errors
    /// Returns the error of the transaction.
    pub fn remove(&self, txn: &mut Transaction, key: &[u8]) -> Result<()> {
        self.heap.change(txn, key.to_vec(), Op::Delete)
    }

    /// Computes what a row does not have, of a row that was appended to `out` from `from` on and that `csn` has made.
    fn fill(
        &self,
        engine: &Engine,
        csn: Csn,
        wanted: ColumnSet<'_>,
        from: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let view = RowView::new(&out[from..], self.layout.reprs())?;
        let mut values = view.iter().collect::<types::Result<Vec<DatumRef<'_>>>>()?;
        if values.len() != self.layout.width() {
            return Err(damaged());
        }
        let state = match wanted.has(STATE) {
            true => Some(state_of(pickle_in(view)?)),
            false => None,
        };
        if let Some(state) = &state {
            values[STATE] = DatumRef::Jsonb(state.root());
        }
        if wanted.has(TID) && values[TID].is_null() && csn != Csn::MAX {
            values[TID] = DatumRef::Int8(Tid::of_time(engine.time_us(csn)?).to_i64());
        }
        let mut filled = Vec::with_capacity(out.len() - from + 16);
        row::write(view.version(), values, &mut filled);
        out.truncate(from);
        out.append(&mut filled);
        Ok(())
    }

    /// Adds the rows with these keys, as a view shows them, to a batch.
    fn put_found(
        &self,
        view: View<'_>,
        keys: &Batch,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
    ) -> Result<()> {
        for row in keys.iter() {
            batch.push(row.key(), |out| self.read(view, row.key(), wanted, Access::Scan, out))?;
        }
        Ok(())
    }
}

/// Returns true if a column is wanted that is not stored.
fn is_computed(wanted: ColumnSet<'_>) -> bool {
    wanted.has(STATE) || wanted.has(TID)
}

/// The view of a pickle; an object that says why, if there is none.
fn state_of(record: &[u8]) -> Jsonb {
    let mut text = Vec::new();
    let made = pickle::to_json(record, &pickle::Limits::default(), &mut text);
    let made = made.map_err(|error| error.to_string());
    let parsed =
        |()| Jsonb::parse(&String::from_utf8_lossy(&text)).map_err(|error| error.to_string());
    match made.and_then(parsed) {
        Ok(state) => state,
        Err(why) => {
            let mut builder = json::jsonb::Builder::new();
            builder.object(|object| {
                object.name("@error").string(&why);
            });
            builder.finish().unwrap_or_default()
        }
    }
}

fn refs_array(refs: &[u64]) -> Result<Array> {
    let refs = refs.iter().map(|oid| DatumRef::Int8(*oid as i64));
    Ok(Array::from_elements(Type::INT8, Repr::Int8, refs)?)
}

fn not_by_sql(what: &str) -> Error {
    let message =
        format!("{what} a table of objects is not supported: a storage of ZODB writes objects");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

impl Rows for ObjectRows {
    fn is_out_of_line(&self, position: usize) -> bool {
        position == STATE
    }

    fn read(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
        _: Access,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(found) = view.read(self.heap.storage, key)? else { return Ok(false) };
        let from = out.len();
        image(&found, out)?;
        if is_computed(wanted) {
            self.fill(view.snapshot().engine(), found.csn(), wanted, from, out)?;
        }
        Ok(true)
    }

    fn contains(&self, view: View<'_>, key: &[u8]) -> Result<bool> {
        self.heap.contains(view, key)
    }

    fn scan(&self, range: KeyRange, is_backward: bool) -> Box<dyn RowScan> {
        Box::new(ObjectScan::new(self, range, is_backward))
    }

    fn text(&self, _: View<'_>, row: RowRef<'_>, _: usize) -> Result<Option<String>> {
        let view = RowView::new(row.bytes(), self.layout.reprs())?;
        Ok(Some(state_of(pickle_in(view)?).to_string()))
    }

    fn spread(&self, engine: &Engine, count: usize) -> Result<Vec<Vec<u8>>> {
        self.heap.spread(engine, count)
    }

    fn versions(&self, now: &Snapshot, key: &[u8], from: Csn, to: Csn) -> Result<Vec<RowVersion>> {
        let mut versions = self.heap.versions(now, key, from, to)?;
        let wanted = ColumnSet::Columns(&[TID as i16 + 1]);
        for version in &mut versions {
            let (csn, at) = (version.from, version.row.key().len());
            self.fill(now.engine(), csn, wanted, at, version.row.bytes_mut())?;
        }
        Ok(versions)
    }

    fn complete(&self, now: &Snapshot, version: &mut RowVersion) -> Result<()> {
        let (csn, at) = (version.from, version.row.key().len());
        self.fill(now.engine(), csn, ColumnSet::All, at, version.row.bytes_mut())
    }

    fn commits(&self, now: &Snapshot, key: &[u8]) -> Result<Vec<Csn>> {
        self.heap.commits(now, key)
    }

    fn changed(&self, engine: &Engine, after: Csn, to: Csn) -> Result<Option<RowKeys>> {
        self.heap.changed(engine, after, to)
    }

    fn keys_ever(&self, engine: &Engine, range: KeyRange, is_backward: bool) -> Box<dyn KeyWalk> {
        self.heap.keys_ever(engine, range, is_backward)
    }

    fn keys_changed(&self, engine: &Engine) -> Box<dyn KeyWalk> {
        self.heap.keys_changed(engine)
    }

    fn insert(&self, _: &mut Transaction, _: Vec<u8>, _: &[Datum]) -> Result<()> {
        Err(not_by_sql("INSERT into"))
    }

    fn update(
        &self,
        _: &mut Transaction,
        _: &[u8],
        _: Locked,
        _: &[Datum],
        _: &[Datum],
    ) -> Result<()> {
        Err(not_by_sql("UPDATE of"))
    }

    fn delete(&self, txn: &mut Transaction, key: &[u8], old: &[Datum]) -> Result<()> {
        self.heap.delete(txn, key, old)
    }

    fn erase(&self, txn: &mut Transaction, key: &[u8], latest: Option<&[Datum]>) -> Result<()> {
        self.heap.erase(txn, key, latest)
    }
}

/// A scan of a table of objects. Stored values come as from a heap; rows of which more is wanted
/// are read by their keys.
struct ObjectScan {
    rows: ObjectRows,
    range: KeyRange,
    cursor: txn::Cursor,
    unordered: Unordered,
}

impl ObjectScan {
    fn new(rows: &ObjectRows, range: KeyRange, is_backward: bool) -> ObjectScan {
        let cursor = txn::Cursor::new(rows.heap.storage, range.clone(), is_backward);
        ObjectScan { rows: rows.clone(), range, cursor, unordered: Unordered::default() }
    }
}

impl RowScan for ObjectScan {
    fn fill(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<()> {
        if !is_computed(wanted) {
            return heap::fill(&mut self.cursor, view, wanted, batch, rows_max);
        }
        let mut keys = Batch::new();
        keys.lay_out(&self.rows.layout);
        heap::fill(&mut self.cursor, view, ColumnSet::NOTHING, &mut keys, rows_max)?;
        self.rows.put_found(self.cursor.view(view), &keys, wanted, batch)
    }

    fn fill_to_block(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<Option<Block>> {
        if is_computed(wanted) {
            return self.fill(view, wanted, batch, rows_max).map(|()| None);
        }
        let end = batch.len() + rows_max;
        let table = self.rows.heap.storage;
        let Some(blocks) = self.unordered.begin(view, table, &self.range) else {
            return self.fill(view, wanted, batch, rows_max).map(|()| None);
        };
        blocks.fill(view, |given| {
            match given {
                ScanItem::Row(key, row) => return heap::put_row(batch, key, row, wanted, end),
                ScanItem::Rows(rows) => batch.push_block(rows),
                ScanItem::Columns(_) => {
                    return Err(Error::Damaged { what: "a block of columns among objects" });
                }
            }
            Ok(heap::go_on(batch.len() < end))
        })?;
        Ok(None)
    }

    fn count(&mut self, view: View<'_>, rows_max: u64) -> Result<u64> {
        Ok(self.cursor.count(view, rows_max)?)
    }

    fn is_at_end(&self) -> bool {
        self.unordered.is_at_end().unwrap_or_else(|| self.cursor.is_at_end())
    }
}
