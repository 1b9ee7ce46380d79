//! Tables `USING document`: which of their columns holds the documents, and what they need to be such.

use store::TableId;
use types::Type;

use crate::catalog::{CATALOG, Column, DocumentData, Relation};
use crate::rows::can_key_documents;
use crate::stored::twin_of;

/// What the documents of a table to be made carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewDocuments {
    /// A hash of all nodes of every document.
    pub hashes: bool,
    /// A summary of the paths of every document.
    pub path_summary: bool,
    /// Where they lie, if they are there already.
    pub storage: Option<TableId>,
}

impl NewDocuments {
    /// The documents of a table whose rows lie there: the first column of type `jsonb` holds them. Where
    /// there is none, the table is [refused](refusal).
    pub(super) fn among(self, columns: &[Column], rows: TableId) -> DocumentData {
        let column = columns.iter().find(|column| column.ty == Type::JSONB && !column.is_dropped);
        DocumentData {
            column: column.map_or(0, |column| column.attnum),
            storage: self.storage.unwrap_or_else(|| twin_of(rows)),
            hashes: self.hashes,
            path_summary: self.path_summary,
        }
    }
}

/// Why a relation that is to keep documents cannot, in a sentence.
pub(super) fn refusal(relation: &Relation) -> Option<String> {
    let table = relation.table()?;
    let documents = table.documents?;
    let name = &relation.name;
    match relation.column(documents.column) {
        Some(column) if column.ty == Type::JSONB => {}
        _ => return Some(format!("table \"{name}\" of documents needs its column of type jsonb")),
    }
    if table.keyed_by.is_empty() {
        let needs = "a primary key that is not deferrable";
        return Some(format!("table \"{name}\" of documents needs {needs}"));
    }
    let mut key = table.keyed_by.iter().filter_map(|attnum| relation.column(*attnum));
    if let Some(column) = key.find(|column| !can_key_documents(column.ty)) {
        let column = &column.name;
        return Some(format!("column \"{column}\" has a type that cannot be a key of documents"));
    }
    (documents.storage >= CATALOG).then(|| "too many objects for a table of documents".to_owned())
}
