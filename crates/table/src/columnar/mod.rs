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
mod shred;

use std::sync::Arc;

use store::{ColumnDecoder, ColumnEncoder, Csn, Op, Sorter};
use txn::{Engine, KeyRange, Locked, Snapshot, Transaction, View};
use types::{Datum, Oid};

pub use self::block::{Block, BlockColumn};
pub use self::codec::RawColumn;
use self::codec::{RowDecoder, RowEncoder};
use self::scan::ColumnarScan;
use crate::Result;
use crate::catalog::{Relation, TableData};
use crate::heap::HeapRows;
use crate::index::RowKeys;
use crate::method::{Access, AccessMethod, KeyWalk, RowLoad, RowScan, Rows, Wanted};
use crate::rows::{Layout, RowVersion};

/// The access method `columnar`.
#[derive(Clone, Copy, Debug)]
pub struct Columnar;

impl Columnar {
    /// The number in `pg_am`.
    pub const OID: Oid = Oid(16_378);

    /// Returns what a store reads the columns of tables with ([`store::StoreOptions::column_decoder`]).
    pub fn decoder() -> Arc<dyn ColumnDecoder> {
        Arc::new(RowDecoder)
    }
}

impl AccessMethod for Columnar {
    fn name(&self) -> &'static str {
        "columnar"
    }

    fn oid(&self) -> Oid {
        Columnar::OID
    }

    fn column_encoder(&self, relation: &Relation) -> Option<Arc<dyn ColumnEncoder>> {
        let reprs = relation.columns.iter().map(|column| column.repr);
        Some(Arc::new(RowEncoder::new(reprs)))
    }

    fn open(&self, _: &Relation, data: &TableData, layout: &Arc<Layout>) -> Box<dyn Rows> {
        let encoder = Arc::new(RowEncoder::new(layout.reprs().iter().copied()));
        Box::new(ColumnarRows { heap: HeapRows::new(data.storage, layout), encoder })
    }
}

/// The rows of a columnar table: those of a heap, which are scanned otherwise.
#[derive(Debug)]
struct ColumnarRows {
    heap: HeapRows,
    encoder: Arc<RowEncoder>,
}

impl Rows for ColumnarRows {
    fn has_blocks(&self) -> bool {
        true
    }

    fn scan(&self, range: KeyRange, is_backward: bool) -> Box<dyn RowScan> {
        Box::new(ColumnarScan::new(self.heap.storage, range, is_backward))
    }

    fn read(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: Wanted<'_>,
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
        let sorter = Sorter::new(self.heap.storage).in_columns(self.encoder.clone());
        self.heap.load_by(txn, sorter)
    }

    fn erase(&self, txn: &mut Transaction, key: &[u8], latest: Option<&[Datum]>) -> Result<()> {
        self.heap.erase(txn, key, latest)
    }
}
