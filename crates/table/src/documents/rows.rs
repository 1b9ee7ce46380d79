//! [`RowDocuments`]: the rows of a table of documents. The row lies in a heap, its document in a collection.

use std::sync::{Arc, LazyLock};

use document::Collection;
use store::{Csn, Op};
use txn::{Engine, KeyRange, Locked, ScanItem, Snapshot, Transaction, View};
use types::{Context, Datum, DatumRef, Jsonb, KeyOrder, Modifier, RowView, Style, Type, text};

use crate::catalog::{Relation, TableData};
use crate::columnar::Block;
use crate::heap::{self, HeapRows, Unordered, image, patch};
use crate::index::RowKeys;
use crate::method::{Access, ChangedKeys, ColumnSet, KeyWalk, RowScan, Rows};
use crate::rows::{Batch, Layout, OutOfLineValue, RowRef, RowVersion, Table, position, same};
use crate::{Error, Result};

static STYLE: LazyLock<Style> = LazyLock::new(Style::default);

/// The rows of a table of documents. Cheap to clone.
#[derive(Clone)]
pub struct RowDocuments {
    /// The position of the column of documents.
    at: usize,
    /// Positions and types of the columns that rows are keyed by.
    key: Arc<[(usize, Type)]>,
    heap: Arc<HeapRows>,
    layout: Arc<Layout>,
    collection: Collection,
}

impl std::fmt::Debug for RowDocuments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowDocuments").field("at", &self.at).field("key", &self.key).finish()
    }
}

impl RowDocuments {
    /// The rows of a table; `None` if its method is another.
    pub fn of(table: &Table) -> Option<&RowDocuments> {
        table.rows().of_method()
    }

    /// The rows of a relation whose column with this number holds the documents of `collection`.
    pub(super) fn new(
        relation: &Relation,
        data: &TableData,
        column: i16,
        layout: &Arc<Layout>,
        collection: Collection,
    ) -> RowDocuments {
        let keyed_by = data.keyed_by.iter().map(|attnum| position(*attnum));
        RowDocuments {
            at: position(column),
            key: keyed_by.map(|at| (at, relation.columns[at].ty)).collect(),
            heap: Arc::new(HeapRows::new(data.storage, layout)),
            layout: Arc::clone(layout),
            collection,
        }
    }

    /// The position of their column.
    pub fn column(&self) -> usize {
        self.at
    }

    /// The positions of the columns that rows are keyed by.
    pub fn key_columns(&self) -> impl Iterator<Item = usize> {
        self.key.iter().map(|(at, _)| *at)
    }

    /// The documents and their history, by key.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// The name of the document of a row: the key under which the collection keeps it.
    fn name_of(&self, key: &[u8], row: &[Datum]) -> String {
        self.name(key, |at| row[at].as_ref())
    }

    /// The name of the document of the row at `key`: of the values of the columns that rows are keyed by, or
    /// the hidden id of the row.
    fn name<'a>(&self, key: &[u8], mut value: impl FnMut(usize) -> DatumRef<'a>) -> String {
        if let (true, Ok(id)) = (self.key.is_empty(), key.try_into()) {
            return u64::from_be_bytes(id).to_string();
        }
        let context = Context::new(&STYLE);
        let mut name = String::new();
        for (number, &(at, ty)) in self.key.iter().enumerate() {
            if number > 0 {
                name.push(',');
            }
            let from = name.len();
            let part = text::to_string(value(at), ty, Modifier::NONE, &context);
            name.push_str(part.as_deref().unwrap_or_default());
            if self.key.len() > 1 && name[from..].contains([',', '\\']) {
                let escaped = name[from..].replace('\\', "\\\\").replace(',', "\\,");
                name.truncate(from);
                name.push_str(&escaped);
            }
        }
        name
    }

    /// The values of the columns that rows are keyed by, of a document that is called so; `None` if none
    /// can be called so.
    pub fn values_of(&self, key: &str) -> Option<Vec<Datum>> {
        let context = Context::new(&STYLE);
        let mut texts = vec![String::new()];
        let mut letters = key.chars();
        while let Some(letter) = letters.next() {
            match letter {
                ',' if self.key.len() > 1 => texts.push(String::new()),
                '\\' if self.key.len() > 1 => texts.last_mut()?.push(letters.next()?),
                other => texts.last_mut()?.push(other),
            }
        }
        if texts.len() != self.key.len() {
            return None;
        }
        let values = self.key.iter().zip(&texts);
        values
            .map(|((_, ty), text)| text::parse(text, *ty, Modifier::NONE, &context).ok())
            .collect()
    }

    /// The key of the row whose document is called so; `None` if none can be called so.
    fn key_named(&self, name: &str) -> Option<Vec<u8>> {
        if self.key.is_empty() {
            return Some(name.parse::<u64>().ok()?.to_be_bytes().to_vec());
        }
        let mut key = Vec::new();
        for value in self.values_of(name)? {
            types::key::write(value.as_ref(), KeyOrder::ASCENDING, &mut key);
        }
        Some(key)
    }

    /// A row as it is stored: with a mark in the place of its document.
    pub(super) fn encode(&self, row: &[Datum]) -> Vec<u8> {
        let mark = mark(&row[self.at]);
        let stored = row.iter().enumerate();
        self.heap.encode(stored.map(|(i, value)| if i == self.at { &mark } else { value }.as_ref()))
    }

    /// Puts the document in the place of its mark in a row that was appended to `out` from `from` on.
    fn fill(
        &self,
        key: &[u8],
        from: usize,
        out: &mut Vec<u8>,
        tree: impl FnOnce(&str) -> Result<Option<Arc<document::Tree>>>,
    ) -> Result<()> {
        let row = RowView::new(&out[from..], self.layout.reprs())?;
        let Some(tree) = self.tree_of(key, row, tree)? else { return Ok(()) };
        let document = Datum::from(tree.jsonb()?);
        let mut ends = Vec::new();
        row.places(&out[from..], &mut ends)?;
        let (start, end) = (from + ends[self.at], from + ends[self.at + 1]);
        let behind = out.split_off(end);
        out.truncate(start);
        types::row::write_value(document.as_ref(), out);
        out.extend_from_slice(&behind);
        Ok(())
    }

    /// The document of a stored row, if it has one.
    fn tree_of(
        &self,
        key: &[u8],
        row: RowView<'_>,
        tree: impl FnOnce(&str) -> Result<Option<Arc<document::Tree>>>,
    ) -> Result<Option<Arc<document::Tree>>> {
        if row.get(self.at)?.is_none_or(|mark| mark.is_null()) {
            return Ok(None);
        }
        let mut failed = Ok(());
        let name = self.name(key, |at| match row.get(at) {
            Ok(value) => value.unwrap_or(DatumRef::Null),
            Err(error) => {
                failed = Err(error);
                DatumRef::Null
            }
        });
        failed?;
        tree(&name)?.ok_or(Error::Damaged { what: "a row without its document" }).map(Some)
    }

    /// Appends the row that was found in a view, with its document where that is wanted.
    fn write_row(
        &self,
        view: View<'_>,
        key: &[u8],
        found: &txn::Row<'_>,
        wanted: ColumnSet<'_>,
        access: Access,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let from = out.len();
        image(found, out)?;
        if !wanted.has(self.at) {
            return Ok(());
        }
        let keep = access == Access::Point;
        self.fill(key, from, out, |name| Ok(self.collection.tree_in_view(view, name, keep)?))
    }

    /// Adds the rows that a scan has found in a view, with their documents, to a batch.
    fn put_found(
        &self,
        view: View<'_>,
        keys: &Batch,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
    ) -> Result<()> {
        for row in keys.iter() {
            let is_found = self.read_into(view, row.key(), wanted, Access::Scan, batch)?;
            debug_assert!(is_found, "the scan has just found the key");
        }
        Ok(())
    }

    /// The first commit at which rows and their documents are whole: they may lie in tables of the store of
    /// which not the same has been forgotten.
    fn horizon(&self, now: &Snapshot) -> Csn {
        let store = now.engine().store();
        store.horizon(self.heap.storage).max(store.horizon(self.collection.id()))
    }

    /// Gives a row its document, or none. Where the document exists, because the row is written anew, it
    /// becomes this one.
    fn put(&self, txn: &mut Transaction, key: &[u8], row: &[Datum]) -> Result<()> {
        let Datum::Jsonb(value) = &row[self.at] else {
            return Ok(self.collection.remove_in_txn(txn, &self.name_of(key, row))?);
        };
        self.collection.put_value_in_txn(txn, &self.name_of(key, row), value)?;
        Ok(())
    }

    /// Makes the document of a row what a new state of the row has. Returns true if it becomes another.
    fn change(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        old: &[Datum],
        new: &[Datum],
    ) -> Result<bool> {
        let (before, after) = match (&old[self.at], &new[self.at]) {
            (Datum::Jsonb(before), Datum::Jsonb(after)) => (before, after),
            (_, Datum::Jsonb(_)) => return self.put(txn, key, new).map(|()| true),
            _ => return self.remove(txn, key, old).map(|()| true),
        };
        let changes = after.changes_of(before);
        let is_same = match changes {
            Some(changes) => changes.is_empty(),
            // A lazy value is not made to be compared here.
            None => before.is_made() && before.bytes() == after.bytes(),
        };
        if is_same {
            return Ok(false);
        }
        let name = self.name_of(key, new);
        Ok(match changes {
            Some(changes) => self.collection.change_values_in_txn(txn, &name, changes)?,
            None => self.collection.apply_diff_in_txn(txn, &name, before, after)?,
        })
    }

    /// Takes the document of a row away, where it has one.
    fn remove(&self, txn: &mut Transaction, key: &[u8], row: &[Datum]) -> Result<()> {
        if row[self.at].as_ref().is_null() {
            return Ok(());
        }
        Ok(self.collection.remove_in_txn(txn, &self.name_of(key, row))?)
    }
}

impl Rows for RowDocuments {
    fn is_out_of_line(&self, position: usize) -> bool {
        position == self.at
    }

    fn keeps_keys(&self) -> bool {
        self.heap.keeps_keys()
    }

    fn read(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
        access: Access,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(found) = view.read(self.heap.storage, key)? else { return Ok(false) };
        self.write_row(view, key, &found, wanted, access, out).map(|()| true)
    }

    fn read_out_of_line(
        &self,
        view: View<'_>,
        key: &[u8],
        wanted: ColumnSet<'_>,
        access: Access,
        out: &mut Vec<u8>,
    ) -> Result<Option<Option<OutOfLineValue>>> {
        let Some(found) = view.read(self.heap.storage, key)? else { return Ok(None) };
        let from = out.len();
        image(&found, out)?;
        if !wanted.has(self.at) {
            return Ok(Some(None));
        }
        let row = RowView::new(&out[from..], self.layout.reprs())?;
        let keep = access == Access::Point;
        let tree = |name: &str| Ok(self.collection.tree_in_view(view, name, keep)?);
        let value = match self.tree_of(key, row, tree)? {
            Some(tree) => tree.value()?.into(),
            None => Datum::Null,
        };
        Ok(Some(Some(OutOfLineValue { position: self.at, value })))
    }

    fn contains(&self, view: View<'_>, key: &[u8]) -> Result<bool> {
        self.heap.contains(view, key)
    }

    fn scan(&self, range: KeyRange, is_backward: bool) -> Box<dyn RowScan> {
        Box::new(DocumentScan::new(self, range, is_backward))
    }

    fn text(&self, view: View<'_>, row: RowRef<'_>, _: usize) -> Result<Option<String>> {
        let (key, row) = (row.key(), RowView::new(row.bytes(), self.layout.reprs())?);
        let tree = |name: &str| Ok(self.collection.tree_in_view(view, name, true)?);
        let tree = self.tree_of(key, row, tree)?;
        Ok(tree.map(|tree| tree.jsonb_text()).transpose()?)
    }

    fn spread(&self, engine: &Engine, count: usize) -> Result<Vec<Vec<u8>>> {
        self.heap.spread(engine, count)
    }

    fn versions(&self, now: &Snapshot, key: &[u8], from: Csn, to: Csn) -> Result<Vec<RowVersion>> {
        self.heap.versions_from(now, key, from.max(self.horizon(now)), to)
    }

    fn complete(&self, now: &Snapshot, version: &mut RowVersion) -> Result<()> {
        let csn = version.from.max(self.horizon(now));
        let key = version.row.key().to_vec();
        self.fill(&key, key.len(), version.row.bytes_mut(), |name| {
            Ok(self.collection.tree_as_of(name, csn)?)
        })
    }

    fn commits(&self, now: &Snapshot, key: &[u8]) -> Result<Vec<Csn>> {
        self.heap.commits(now, key)
    }

    fn changed(&self, engine: &Engine, after: Csn, to: Csn) -> Result<Option<RowKeys>> {
        let (mut keys, commits) = (ChangedKeys::default(), (after, to));
        let of_row = |key: &[u8]| Some(key.to_vec());
        let of_document = |subject: &[u8]| self.key_named(&document::name_of(subject)?);
        let all = keys.add(engine, self.heap.storage, commits, of_row)?
            && keys.add(engine, self.collection.id(), commits, of_document)?;
        Ok(all.then(|| keys.into_keys()))
    }

    fn keys_ever(&self, engine: &Engine, range: KeyRange, is_backward: bool) -> Box<dyn KeyWalk> {
        self.heap.keys_ever(engine, range, is_backward)
    }

    fn keys_changed(&self, engine: &Engine) -> Box<dyn KeyWalk> {
        self.heap.keys_changed(engine)
    }

    fn insert(&self, txn: &mut Transaction, key: Vec<u8>, row: &[Datum]) -> Result<()> {
        self.heap.change(txn, key.clone(), Op::Put(self.encode(row)))?;
        self.put(txn, &key, row)
    }

    fn update(
        &self,
        txn: &mut Transaction,
        key: &[u8],
        locked: Locked,
        old: &[Datum],
        new: &[Datum],
    ) -> Result<()> {
        let is_document = |row: &[Datum]| matches!(row[self.at], Datum::Jsonb(_));
        let mut others = (0..new.len()).filter(|at| *at != self.at);
        if is_document(old)
            && is_document(new)
            && !txn.is_large()
            && others.all(|at| same(&old[at], &new[at]))
        {
            // No byte of the row changes. The table of changes names the document, or else the row.
            let unchanged = Op::Delta(patch::UNCHANGED.to_vec());
            return match self.change(txn, key, old, new)? {
                true => Ok(txn.write(self.heap.storage, key.to_vec(), unchanged)?),
                false => self.heap.change(txn, key.to_vec(), unchanged),
            };
        }
        self.heap.write(txn, key, locked, self.encode(new))?;
        self.change(txn, key, old, new).map(drop)
    }

    fn delete(&self, txn: &mut Transaction, key: &[u8], old: &[Datum]) -> Result<()> {
        self.heap.delete(txn, key, old)?;
        self.remove(txn, key, old)
    }

    fn erase(&self, txn: &mut Transaction, key: &[u8], latest: Option<&[Datum]>) -> Result<()> {
        self.heap.erase(txn, key, None)?;
        let name = match latest {
            Some(row) => self.name_of(key, row),
            // A row that the last commit wrote before the table was given up has no reader and no
            // document.
            None => match self.versions(&txn.latest(), key, Csn::ZERO, Csn::MAX)?.first() {
                Some(version) => self.name_of(key, &version.row.to_datums()?),
                None => return Ok(()),
            },
        };
        Ok(self.collection.erase_in_txn(txn, &name)?)
    }
}

/// A scan of the rows of a table of documents.
struct DocumentScan {
    rows: RowDocuments,
    range: KeyRange,
    cursor: txn::Cursor,
    unordered: Unordered,
}

impl DocumentScan {
    fn new(rows: &RowDocuments, range: KeyRange, is_backward: bool) -> DocumentScan {
        let cursor = txn::Cursor::new(rows.heap.storage, range.clone(), is_backward);
        DocumentScan { rows: rows.clone(), range, cursor, unordered: Unordered::default() }
    }
}

impl RowScan for DocumentScan {
    fn fill(
        &mut self,
        view: View<'_>,
        wanted: ColumnSet<'_>,
        batch: &mut Batch,
        rows_max: usize,
    ) -> Result<()> {
        if !wanted.has(self.rows.at) {
            return heap::fill(&mut self.cursor, view, wanted, batch, rows_max);
        }
        // Keys first: the cursor's snapshot is known to be held only between its fills, and documents are
        // read at it.
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
        let table = self.rows.heap.storage;
        let Some(blocks) = self.unordered.begin(view, table, &self.range) else {
            return self.fill(view, wanted, batch, rows_max).map(|()| None);
        };
        let mut keys = Batch::new();
        keys.lay_out(&self.rows.layout);
        let has_document = wanted.has(self.rows.at);
        let end = batch.len() + rows_max;
        let mut key = Vec::new();
        blocks.fill(view, |given| {
            match given {
                ScanItem::Row(key, row) if !has_document => {
                    return heap::put_row(batch, key, row, wanted, end);
                }
                ScanItem::Row(key, _) => {
                    keys.push(key, |_| Ok::<bool, Error>(true))?;
                }
                ScanItem::Rows(rows) if !has_document => batch.push_block(rows),
                ScanItem::Rows(rows) => {
                    for at in 0..rows.len() {
                        rows.key_into(at, &mut key);
                        keys.push(&key, |_| Ok::<bool, Error>(true))?;
                    }
                }
                ScanItem::Columns(_) => {
                    return Err(Error::Damaged { what: "a block of columns among documents" });
                }
            }
            Ok(heap::go_on(batch.len() + keys.len() < end))
        })?;
        self.rows.put_found(blocks.view(view), &keys, wanted, batch)?;
        Ok(None)
    }

    fn split(&mut self, view: View<'_>, rows_each: u64) -> Result<Vec<Box<dyn RowScan>>> {
        let Self { rows, range, unordered, .. } = self;
        let part = |unordered| -> Box<dyn RowScan> {
            Box::new(DocumentScan { unordered, ..DocumentScan::new(rows, range.clone(), false) })
        };
        let parts = unordered.split(view, rows.heap.storage, range, rows_each)?;
        Ok(parts.into_iter().map(part).collect())
    }

    fn count(&mut self, view: View<'_>, rows_max: u64) -> Result<u64> {
        Ok(self.cursor.count(view, rows_max)?)
    }

    fn is_at_end(&self) -> bool {
        self.unordered.is_at_end().unwrap_or_else(|| self.cursor.is_at_end())
    }
}

/// Returns the value that stands in the place of a document in the stored row.
fn mark(value: &Datum) -> Datum {
    if value.as_ref().is_null() { Datum::Null } else { Jsonb::default().into() }
}
