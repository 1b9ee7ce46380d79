//! `document`: an access method that keeps one column of type `jsonb` as trees of nodes with a history.
//!
//! ```text
//!   rows            key 'a1'    ('a1', *, 'draft')               * the row has a document
//!   documents       'a1' chunk 0, chunk 1, revisions             its nodes, under the text of the key
//! ```
//!
//! The row has a mark in the place of the document. A reader that wants the column finds the document there,
//! as it was at the reader's snapshot. A change of the document alone changes no byte of the row and is a
//! version of it, so rows of documents have the versions, locks and isolation of all rows.
//!
//! A document is called by the text of its row's key. Of several columns these are their texts with commas
//! between them; a backslash stands before commas and backslashes within. Where a table has no primary key,
//! or a deferrable one, a document is called by the hidden id of its row.
//!
//! | module | is |
//! |---|---|
//! | `rows` | [`RowDocuments`]: the rows of a table of documents |
//! | `row_link` | [`DocumentRows`]: the link from a document that the library or HTTP changes to its row |
//! | `error` | errors of documents as those of tables |
//!
//! # Invariants
//! * A row has the mark where there is a document, and NULL where there is none.
//! * A transaction that changes a document holds the lock of its row.

mod error;
mod row_link;
mod rows;

use std::sync::Arc;

use document::{CollectionOptions, Documents};
use store::{Csn, TableId};
use types::{Oid, Type};

use crate::catalog::{CATALOG, Column, MethodData, Relation, TableData};
use crate::method::parameters::{switch, value_of};
use crate::method::{AccessMethod, NewMethod, Options, Rows};
use crate::rows::Layout;
use crate::stored::{KeptHistory, documents_of};
use crate::{Result, Tables};

pub use error::sqlstate_of;
pub use row_link::DocumentRows;
pub(crate) use row_link::document_row;
pub use rows::RowDocuments;

/// The types that key columns of documents may have: those whose values are equal where their texts are.
const KEY_TYPES: [Type; 10] = [
    Type::BOOL,
    Type::INT2,
    Type::INT4,
    Type::INT8,
    Type::TEXT,
    Type::VARCHAR,
    Type::UUID,
    Type::DATE,
    Type::TIMESTAMP,
    Type::TIMESTAMPTZ,
];

/// Set in the settings of a table whose documents carry a hash of all their nodes.
const HASHES: u8 = 1;
/// Set where they carry a summary of their paths.
const PATH_SUMMARY: u8 = 2;

/// The access method `document`.
pub struct Document {
    documents: Arc<Documents>,
    tables: Tables,
}

impl Document {
    /// The number in `pg_am`.
    pub const OID: Oid = Oid(16_377);

    /// The method over `documents`, in a store that knows its tables by `tables`.
    pub fn new(documents: Arc<Documents>, tables: Tables) -> Document {
        Document { documents, tables }
    }
}

/// A new table of documents with these options. Its documents lie in `storage`, where they exist already.
pub(crate) fn new_method(options: &CollectionOptions, storage: Option<TableId>) -> NewMethod {
    NewMethod {
        oid: Document::OID,
        options: parameters(options.hashes, options.path_summary),
        storages: storage.map(|storage| vec![storage]),
    }
}

/// The storage parameters that are on.
fn parameters(hashes: bool, path_summary: bool) -> Options {
    let all = [("hashes", hashes), ("path_summary", path_summary)];
    let on = all.into_iter().filter(|(_, is_on)| *is_on);
    on.map(|(name, _)| (name.into(), "true".into())).collect()
}

fn flags(hashes: bool, path_summary: bool) -> u8 {
    (if hashes { HASHES } else { 0 }) | (if path_summary { PATH_SUMMARY } else { 0 })
}

/// The catalog's data of a table of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentData {
    /// The column whose values are documents.
    pub column: i16,
    /// The table of the store in which the documents lie. Another one where rows are keyed otherwise, or the
    /// table was emptied.
    pub storage: TableId,
    /// Every document carries a hash of all its nodes.
    pub hashes: bool,
    /// Every document carries a summary of its paths.
    pub path_summary: bool,
}

impl DocumentData {
    /// Returns the catalog's data of this relation; `None` if it is no table of documents.
    pub fn of(relation: &Relation) -> Option<DocumentData> {
        DocumentData::read(&relation.table()?.method)
    }

    fn read(method: &MethodData) -> Option<DocumentData> {
        let ([storage], [flags, column @ ..]) = (&method.storages[..], &method.settings[..]) else {
            return None;
        };
        (method.oid == Document::OID).then_some(())?;
        Some(DocumentData {
            column: i16::from_le_bytes(column.try_into().ok()?),
            storage: *storage,
            hashes: flags & HASHES != 0,
            path_summary: flags & PATH_SUMMARY != 0,
        })
    }

    /// The same as the catalog keeps it.
    pub fn into_method(self) -> MethodData {
        let DocumentData { column, storage, hashes, path_summary } = self;
        let [low, high] = column.to_le_bytes();
        let settings = vec![flags(hashes, path_summary), low, high];
        MethodData { oid: Document::OID, storages: vec![storage], settings }
    }

    /// The options of the documents, of which as much of the past is kept as `kept` says.
    pub fn options(&self, kept: KeptHistory) -> CollectionOptions {
        let DocumentData { hashes, path_summary, .. } = *self;
        CollectionOptions { history: kept.history(), hashes, path_summary }
    }
}

impl AccessMethod for Document {
    fn name(&self) -> &'static str {
        "document"
    }

    fn oid(&self) -> Oid {
        Document::OID
    }

    fn takes(&self, parameter: &str) -> bool {
        matches!(parameter, "hashes" | "path_summary")
    }

    /// The first column of type `jsonb` holds the documents.
    fn define(&self, options: &Options, columns: &[Column]) -> Result<Vec<u8>> {
        let is_on =
            |name: &str| value_of(options, name).map_or(Ok(false), |value| switch(name, value));
        let flags = flags(is_on("hashes")?, is_on("path_summary")?);
        let column = columns.iter().find(|column| column.ty == Type::JSONB && !column.is_dropped);
        let [low, high] = column.map_or(0, |column| column.attnum).to_le_bytes();
        Ok(vec![flags, low, high])
    }

    fn parameters(&self, _: &Relation, data: &MethodData) -> Options {
        let Some(data) = DocumentData::read(data) else { return Vec::new() };
        parameters(data.hashes, data.path_summary)
    }

    fn storages(&self, rows: TableId) -> Vec<TableId> {
        vec![documents_of(rows)]
    }

    fn outlives_rewrite(&self, same_keys: bool) -> bool {
        same_keys
    }

    /// Documents are found by the primary key.
    fn takes_late_key(&self) -> bool {
        true
    }

    fn refusal(&self, relation: &Relation, table: &TableData) -> Option<String> {
        let documents = DocumentData::read(&table.method)?;
        let name = &relation.name;
        match relation.column(documents.column) {
            Some(column) if column.ty == Type::JSONB => {}
            _ => {
                return Some(format!(
                    "table \"{name}\" of documents needs its column of type jsonb"
                ));
            }
        }
        let mut key = table.keyed_by.iter().filter_map(|attnum| relation.column(*attnum));
        if let Some(column) = key.find(|column| !KEY_TYPES.contains(&column.ty)) {
            let column = &column.name;
            return Some(format!(
                "column \"{column}\" has a type that cannot be a key of documents"
            ));
        }
        (documents.storage >= CATALOG)
            .then(|| "too many objects for a table of documents".to_owned())
    }

    fn open(&self, relation: &Relation, data: &TableData, layout: &Arc<Layout>) -> Box<dyn Rows> {
        let documents = DocumentData::read(&data.method)
            .expect("a table that was made by this method has its settings");
        let kept = KeptHistory { retention: data.history, from: Csn(data.forgotten) };
        let stored = self.tables.documents(documents.storage, documents.options(kept));
        let collection = self.documents.collection(documents.storage, stored);
        Box::new(RowDocuments::new(relation, data, documents.column, layout, collection))
    }
}
