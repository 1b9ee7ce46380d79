//! `columnar`: an access method that keeps rows in the store as a heap does, and has the store lay its files
//! out in columns.
//!
//! ```text
//!   memory, log     rows in row form           recent changes, as in a heap
//!   files           stripes of columns         flushes and merges write them, loads too
//!   history         versions in row form       as in a heap
//! ```
//!
//! The store keeps versions, snapshots, retention, erasure, replicas and backups for every table alike. So
//! a columnar table has them by construction: only the bytes of blocks of newest rows are others
//! ([`store::ColumnEncoder`]).

mod block;
mod codec;
mod scan;
mod settings;
mod shred;

use std::sync::Arc;

pub use store::RowMask;
use store::{ColumnDecoder, ColumnEncoder, Csn, Op};
use txn::{Engine, KeyRange, Locked, Snapshot, Transaction, View};
use types::{Datum, Oid};

pub use self::block::{Block, BlockColumn};
pub(crate) use self::codec::write_batch_head;
pub use self::codec::{RawColumn, TakenApart};
use self::codec::{RowDecoder, RowEncoder};
use self::scan::ColumnarScan;
pub use self::settings::{OrderedColumn, Settings};
use crate::Result;
use crate::catalog::{Column, MethodData, Relation, TableData};
use crate::heap::HeapRows;
use crate::index::RowKeys;
use crate::method::parameters::value_of;
use crate::method::{Access, AccessMethod, ColumnSet, KeyWalk, Options, RowLoad, RowScan, Rows};
use crate::rows::{Layout, RowVersion};

/// The access method `columnar`.
#[derive(Clone, Copy, Debug)]
pub struct Columnar;

impl Columnar {
    /// The number in `pg_am`.
    pub const OID: Oid = Oid(16_378);

    /// Returns the settings of a table; `None` if it has another method.
    pub fn settings(data: &TableData) -> Option<Settings> {
        let is_columnar = data.method.oid == Columnar::OID;
        is_columnar.then(|| Settings::from_bytes(&data.method.settings).unwrap_or_default())
    }

    /// Returns what a store reads the columns of tables with ([`store::StoreOptions::column_decoder`]).
    pub fn decoder() -> Arc<dyn ColumnDecoder> {
        Arc::new(RowDecoder)
    }
}

impl AccessMethod for Columnar {
    fn name(&self) -> &'static str {
        "columnar"
    }

    fn synonyms(&self) -> &'static [&'static str] {
        &["colcompress", "columnstore"]
    }

    fn oid(&self) -> Oid {
        Columnar::OID
    }

    fn takes(&self, parameter: &str) -> bool {
        Settings::takes(parameter)
    }

    fn changes(&self, parameter: &str) -> bool {
        Settings::takes(parameter)
    }

    fn define(&self, options: &Options, columns: &[Column]) -> Result<Vec<u8>> {
        Settings::of(options, columns).map(|settings| settings.to_bytes())
    }

    fn parameters(&self, relation: &Relation, data: &MethodData) -> Options {
        let settings = Settings::from_bytes(&data.settings).unwrap_or_default();
        settings.parameters(relation)
    }

    /// Rows that are to lie in an order of their own cannot lie in that of their primary key.
    fn is_keyed(&self, options: &Options) -> bool {
        value_of(options, "orderby").is_none_or(|order| order.trim().is_empty())
    }

    fn column_encoder(&self, relation: &Relation) -> Option<Arc<dyn ColumnEncoder>> {
        let settings = Columnar::settings(relation.table()?)?;
        let reprs = relation.columns.iter().map(|column| column.repr);
        Some(Arc::new(RowEncoder::new(reprs, settings.form())))
    }

    fn open(&self, _: &Relation, data: &TableData, layout: &Arc<Layout>) -> Box<dyn Rows> {
        let settings = Columnar::settings(data).unwrap_or_default();
        let encoder = Arc::new(RowEncoder::new(layout.reprs().iter().copied(), settings.form()));
        let heap = HeapRows::new(data.storage, layout).encoded_by(encoder);
        Box::new(ColumnarRows { heap, order: settings.order().to_vec() })
    }
}

/// The rows of a columnar table: those of a heap, which are scanned otherwise.
#[derive(Debug)]
struct ColumnarRows {
    heap: HeapRows,
    order: Vec<OrderedColumn>,
}

impl Rows for ColumnarRows {
    fn has_blocks(&self) -> bool {
        true
    }

    fn order(&self) -> &[OrderedColumn] {
        &self.order
    }

    fn scan(&self, range: KeyRange, is_backward: bool) -> Box<dyn RowScan> {
        Box::new(ColumnarScan::new(self.heap.storage, range, is_backward))
    }

    fn read(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
        access: Access,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        self.heap.read(view, key, wanted, access, out)
    }

    fn contains(&self, view: View<'_>, key: &[u8]) -> Result<bool> {
        self.heap.contains(view, key)
    }

    fn spread(&self, engine: &Engine, count: usize) -> Result<Vec<Vec<u8>>> {
        self.heap.spread(engine, count)
    }

    fn versions(&self, now: &Snapshot, key: &[u8], from: Csn, to: Csn) -> Result<Vec<RowVersion>> {
        self.heap.versions(now, key, from, to)
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

    fn insert(&self, txn: &mut Transaction, key: Vec<u8>, row: &[Datum]) -> Result<()> {
        self.heap.insert(txn, key, row)
    }

    fn update(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        _: Locked,
        _: &[Datum],
        new: &[Datum],
    ) -> Result<()> {
        // A patch would need a row of a block, which is far to fetch.
        let bytes = self.heap.encode(new.iter().map(Datum::as_ref));
        self.heap.change(txn, key.to_vec(), Op::Put(bytes))
    }

    fn delete(&self, txn: &mut Transaction, key: &[u8], old: &[Datum]) -> Result<()> {
        self.heap.delete(txn, key, old)
    }

    fn load(&self, txn: &Transaction) -> Result<Option<Box<dyn RowLoad>>> {
        self.heap.load(txn)
    }

    fn erase(&self, txn: &mut Transaction, key: &[u8], latest: Option<&[Datum]>) -> Result<()> {
        self.heap.erase(txn, key, latest)
    }
}
