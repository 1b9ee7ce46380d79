//! [`DocumentRows`]: the rows of a table of documents, for callers that change its documents
//! without SQL.
//!
//! A program or a client of HTTP that puts a document makes a row of it: the values of its key are
//! read from the document's key, and all other columns are NULL. Some tables need more for a row,
//! because they have other indexes, checks, foreign keys or defaults, or no primary key. Only SQL
//! can compute that: documents of such a table are read by everybody and changed by SQL alone.

use std::sync::Arc;

use document::{DocumentError, Existence, RowLink};
use store::{Csn, Op, TableId};
use txn::{RelationLock, RowLock, Transaction, View, Wait};
use types::{Datum, Jsonb, Oid};

use super::RowDocuments;
use crate::catalog::{CatalogCache, ConstraintKind};
use crate::heap::{image, patch};
use crate::rows::{Handles, Row, Table, note_erased, position};
use crate::{Error, Result};

/// The rows of a table of documents.
pub struct DocumentRows {
    catalogs: Arc<CatalogCache>,
    handles: Arc<Handles>,
    relation: Oid,
    /// Where the documents lie: another table of the store after `TRUNCATE`.
    documents: TableId,
}

impl DocumentRows {
    /// Returns the rows of a table, whose documents lie there.
    pub fn new(
        catalogs: Arc<CatalogCache>,
        handles: Arc<Handles>,
        relation: Oid,
        documents: TableId,
    ) -> DocumentRows {
        DocumentRows { catalogs, handles, relation, documents }
    }

    /// The table as it is now, which is locked.
    fn table(&self) -> Result<Arc<Table>, DocumentError> {
        let catalog = self.catalogs.newest();
        let table = self.handles.table(&catalog, self.relation);
        let is_same = |table: &Arc<Table>| {
            let documents = RowDocuments::of(table);
            documents.is_some_and(|documents| documents.collection().id() == self.documents)
        };
        table.filter(is_same).ok_or(DocumentError::Dropped { csn: catalog.version() })
    }
}

impl RowLink for DocumentRows {
    fn lock(&self, txn: &mut Transaction, key: &str) -> Result<(), DocumentError> {
        txn.lock_relation(self.relation.0, RelationLock::RowExclusive, Wait::Allowed)?;
        let table = self.table()?;
        if let Some(refusal) = refusal(&table) {
            let name = &table.relation().name;
            return Err(DocumentError::Refused(format!("table \"{name}\" has {refusal}")));
        }
        let (_, key) = row_key(&table, key)?;
        txn.lock_latest(table.storage(), &key, RowLock::Update, Wait::Allowed)?;
        Ok(())
    }

    fn erase(&self, txn: &mut Transaction, key: &str) -> Result<(), DocumentError> {
        let table = self.table()?;
        if table.relation().live_columns().count() > table.keyed_by().len() + 1 {
            let name = &table.relation().name;
            let words =
                format!("rows of table \"{name}\" have more than a document: ERASE takes them");
            return Err(DocumentError::Refused(words));
        }
        let (_, key) = row_key(&table, key)?;
        forget_row(&table, txn, &key).map_err(of_row)
    }

    fn update(
        &self,
        txn: &mut Transaction,
        key: &str,
        existence: Existence,
    ) -> Result<(), DocumentError> {
        let table = self.table()?;
        let (values, key) = row_key(&table, key)?;
        let storage = table.storage();
        let op = match existence {
            // The row exists and has its mark: no byte of it changes, and it gets a version. The table of
            // changes names the document.
            Existence { before: true, after: true } => {
                return Ok(txn.write(storage, key, Op::Delta(patch::UNCHANGED.to_vec()))?);
            }
            Existence { after, .. } => {
                let latest = txn.latest();
                let found = View::of(txn, &latest).read(storage, &key)?;
                let mut before = Vec::new();
                if let Some(found) = &found {
                    image(found, &mut before).map_err(of_row)?;
                }
                match (found.is_some(), after) {
                    (false, false) => return Ok(()),
                    (true, false) => {
                        txn.note_rows(storage, -1);
                        Op::Delete
                    }
                    (true, true) => Op::Put(marked(&table, &key, &before)?),
                    (false, true) => {
                        txn.note_rows(storage, 1);
                        Op::Put(new_row(&table, values)?)
                    }
                }
            }
        };
        txn.note_changes(storage);
        Ok(txn.write(storage, key, op)?)
    }
}

/// Returns the feature of a table that only SQL can compute, in words; `None` if it has none.
fn refusal(table: &Table) -> Option<&'static str> {
    let def = table.def();
    if table.keyed_by().is_empty() {
        return Some("no primary key, or only a deferrable one");
    }
    if table.indexes().iter().any(|index| index.storage().is_some()) {
        return Some("indexes beside its primary key");
    }
    if def.constraints.iter().any(|one| !matches!(one.kind, ConstraintKind::Key { .. })) {
        return Some("checks or foreign keys");
    }
    (!def.referenced_by.is_empty()).then_some("foreign keys that refer to it")
}

/// The values of the columns that rows are keyed by, and the key that they make.
fn row_key(table: &Table, key: &str) -> Result<(Vec<Datum>, Vec<u8>), DocumentError> {
    let values = RowDocuments::of(table).and_then(|documents| documents.values_of(key));
    let values = values.ok_or(DocumentError::BadKey("is not the text of a key of its table"))?;
    let key = table.key_of(&values);
    Ok((values, key))
}

/// Removes the row at `key` with its past; it is locked and has entries in no index. The caller
/// erases its document.
fn forget_row(table: &Table, txn: &mut Transaction, key: &[u8]) -> Result<()> {
    let (storage, latest) = (table.storage(), txn.latest());
    txn.note_changes(storage);
    if View::of(txn, &latest).read(storage, key)?.is_some() {
        txn.note_rows(storage, -1);
        txn.write(storage, key.to_vec(), Op::Delete)?;
    }
    table.erase_changes(txn, key)?;
    txn.write(storage, key.to_vec(), Op::Erase { from: Csn::ZERO, to: None })?;
    note_erased(txn, table.relation().oid, 1)
}

/// The documents of a table of documents.
fn documents_of(table: &Table) -> Result<&RowDocuments, DocumentError> {
    let why = || format!("table \"{}\" has no documents", table.relation().name);
    RowDocuments::of(table).ok_or_else(|| DocumentError::Refused(why()))
}

/// A row without a document, with the mark of one.
fn marked(table: &Table, key: &[u8], before: &[u8]) -> Result<Vec<u8>, DocumentError> {
    let documents = documents_of(table)?;
    let mut row = Row::new(key, table.layout(), before).to_datums().map_err(of_row)?;
    row[documents.column()] = Jsonb::default().into();
    Ok(documents.encode(&row))
}

/// The key and the bytes of the row that belongs to a document with the values of a key.
pub(crate) fn document_row(table: &Table, key: Vec<Datum>) -> Result<(Vec<u8>, Vec<u8>)> {
    let row_key = table.key_of(&key);
    Ok((row_key, new_row(table, key)?))
}

/// A row of a document alone.
fn new_row(table: &Table, key: Vec<Datum>) -> Result<Vec<u8>, DocumentError> {
    let (relation, documents) = (table.relation(), documents_of(table)?);
    let mut row = vec![Datum::Null; relation.columns.len()];
    for (at, value) in table.keyed_by().iter().zip(key) {
        row[*at] = value;
    }
    row[documents.column()] = Jsonb::default().into();
    for column in relation.live_columns() {
        let is_null = row[position(column.attnum)].as_ref().is_null();
        if is_null && (column.not_null || column.default.is_some() || column.identity.is_some()) {
            let (name, column) = (&relation.name, &column.name);
            let words = format!("a row of table \"{name}\" needs a value for column \"{column}\"");
            return Err(DocumentError::Refused(words));
        }
    }
    Ok(documents.encode(&row))
}

/// The error of a row, as one of its document. No failure of a lower layer becomes a refusal.
fn of_row(error: Error) -> DocumentError {
    match error {
        Error::Txn(error) => DocumentError::Txn(error),
        error => DocumentError::Row {
            sqlstate: error.sqlstate().code().to_owned(),
            source: error.into(),
        },
    }
}
