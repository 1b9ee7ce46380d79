//! Documents: the column of a table `USING document` whose values are kept as trees of nodes.
//!
//! ```text
//!   storage 7      key 'a1'    row   ('a1', *, 'draft')          * there is a document
//!   its twin       'a1' chunk 0, chunk 1, revisions              its nodes, under the text of the key
//! ```
//!
//! The row has a mark in the column's place; whoever reads a row finds the document there, as a view of
//! the same moment has it. A change of the document alone is a change of the row that changes no byte of
//! it, so that the versions of a row, its locks and what comes of them are those of any other table.
//!
//! A document is called by the text of its row's key; of several columns, by their texts with commas
//! between them, `\` before commas and `\` within.
//!
//! # Invariants
//! * A row has the mark where there is a document, and NULL where there is none.
//! * Who changes a document holds the lock of its row.

use std::sync::{Arc, LazyLock};

use document::{Collection, CollectionOptions, DocumentError, Documents};
use store::Csn;
use txn::{Transaction, TxnError, View};
use types::{Context, Datum, DatumRef, Jsonb, Modifier, RowView, SqlState, Style, Type, text};

use super::layout::Layout;
use super::table::position;
use crate::catalog::{DocumentData, Relation, TableData};
use crate::stored::Kept;
use crate::{Error, Result, Tables};

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

static STYLE: LazyLock<Style> = LazyLock::new(Style::default);

/// True where a column of a type can be part of the key of a document.
pub fn can_key_documents(ty: Type) -> bool {
    KEY_TYPES.contains(&ty)
}

/// The documents of a table.
#[derive(Clone)]
pub struct RowDocuments {
    /// The position of their column.
    at: usize,
    /// Positions and types of the columns that rows are keyed by.
    key: Vec<(usize, Type)>,
    collection: Collection,
}

impl std::fmt::Debug for RowDocuments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowDocuments").field("at", &self.at).field("key", &self.key).finish()
    }
}

impl RowDocuments {
    /// Those of a relation.
    pub(super) fn new(
        (documents, tables): (&Arc<Documents>, &Tables),
        relation: &Relation,
        keyed_by: &[usize],
        table: &TableData,
        data: &DocumentData,
    ) -> RowDocuments {
        let (hashes, path_summary) = (data.hashes, data.path_summary);
        let history = Kept { retention: table.history, from: Csn(table.forgotten) }.history();
        let options = CollectionOptions { history, hashes, path_summary };
        let stored = tables.documents(data.storage, options);
        let ty = |at: &usize| (*at, relation.columns[*at].ty);
        RowDocuments {
            at: position(data.column),
            key: keyed_by.iter().map(ty).collect(),
            collection: documents.collection(data.storage, stored),
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

    /// The key under which the document of a row is kept.
    pub fn key_of(&self, row: &[Datum]) -> String {
        self.key_text(|at| row[at].as_ref())
    }

    fn key_text<'a>(&self, mut value: impl FnMut(usize) -> DatumRef<'a>) -> String {
        let context = Context::new(&STYLE);
        let mut key = String::new();
        for (number, &(at, ty)) in self.key.iter().enumerate() {
            if number > 0 {
                key.push(',');
            }
            let from = key.len();
            let part = text::to_string(value(at), ty, Modifier::NONE, &context);
            key.push_str(part.as_deref().unwrap_or_default());
            if self.key.len() > 1 && key[from..].contains([',', '\\']) {
                let escaped = key[from..].replace('\\', "\\\\").replace(',', "\\,");
                key.truncate(from);
                key.push_str(&escaped);
            }
        }
        key
    }

    /// The values of the columns that rows are keyed by, of a document that is called so; `None` where none
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

    /// What stands in the column's place in the stored row.
    pub(super) fn mark(&self, value: &Datum) -> Datum {
        if value.as_ref().is_null() { Datum::Null } else { Jsonb::default().into() }
    }

    /// Puts the document where its mark is in a row that was appended to `out` from `from` on.
    pub(super) fn fill(
        &self,
        layout: &Layout,
        from: usize,
        out: &mut Vec<u8>,
        tree: impl FnOnce(&str) -> Result<Option<Arc<document::Tree>>>,
    ) -> Result<()> {
        let row = RowView::new(&out[from..], &layout.reprs)?;
        let Some(tree) = self.tree_of(row, tree)? else { return Ok(()) };
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

    /// The text of the document of a stored row, as a value of its column has it; `None` where there is none.
    pub(super) fn text(
        &self,
        layout: &Layout,
        row: &[u8],
        tree: impl FnOnce(&str) -> Result<Option<Arc<document::Tree>>>,
    ) -> Result<Option<String>> {
        let tree = self.tree_of(RowView::new(row, &layout.reprs)?, tree)?;
        Ok(tree.map(|tree| tree.jsonb_text()).transpose()?)
    }

    /// The document of a stored row, if it has one.
    fn tree_of(
        &self,
        row: RowView<'_>,
        tree: impl FnOnce(&str) -> Result<Option<Arc<document::Tree>>>,
    ) -> Result<Option<Arc<document::Tree>>> {
        if row.get(self.at)?.is_none_or(|mark| mark.is_null()) {
            return Ok(None);
        }
        let mut failed = Ok(());
        let key = self.key_text(|at| match row.get(at) {
            Ok(value) => value.unwrap_or(DatumRef::Null),
            Err(error) => {
                failed = Err(error);
                DatumRef::Null
            }
        });
        failed?;
        tree(&key)?.ok_or(Error::Damaged { what: "a row without its document" }).map(Some)
    }

    /// The document as a view sees it.
    pub(super) fn seen(
        &self,
        view: View<'_>,
        key: &str,
        keep: bool,
    ) -> Result<Option<Arc<document::Tree>>> {
        Ok(self.collection.tree_within(view, key, keep)?)
    }

    /// The document as of a commit.
    pub(super) fn then(&self, key: &str, csn: Csn) -> Result<Option<Arc<document::Tree>>> {
        Ok(self.collection.tree_as_of(key, csn)?)
    }

    /// Gives a new row its document, or none. Where there is one already, of a row that is written anew, it
    /// becomes this one.
    pub(super) fn put(&self, txn: &mut Transaction, row: &[Datum]) -> Result<()> {
        let Datum::Jsonb(value) = &row[self.at] else {
            return Ok(self.collection.remove_within(txn, &self.key_of(row))?);
        };
        let nodes = document::tape_of(value)?;
        Ok(self.collection.put_within(txn, &self.key_of(row), &nodes)?)
    }

    /// Makes the document of a row another one, whose lock the transaction holds.
    pub(super) fn update(&self, txn: &mut Transaction, old: &[Datum], new: &[Datum]) -> Result<()> {
        match (&old[self.at], &new[self.at]) {
            (Datum::Jsonb(before), Datum::Jsonb(after)) => {
                Ok(self.collection.amend_within(txn, &self.key_of(new), before, after)?)
            }
            (_, Datum::Jsonb(_)) => self.put(txn, new),
            _ => self.remove(txn, old),
        }
    }

    /// Has the document of a row never been. The row has ended before.
    pub(super) fn erase(&self, txn: &mut Transaction, row: &[Datum]) -> Result<()> {
        Ok(self.collection.erase_within(txn, &self.key_of(row))?)
    }

    /// Takes the document of a row away, where it has one.
    pub(super) fn remove(&self, txn: &mut Transaction, row: &[Datum]) -> Result<()> {
        if row[self.at].as_ref().is_null() {
            return Ok(());
        }
        Ok(self.collection.remove_within(txn, &self.key_of(row))?)
    }
}

impl From<DocumentError> for Error {
    fn from(error: DocumentError) -> Error {
        let state = match &error {
            DocumentError::Txn(_)
            | DocumentError::Store(_)
            | DocumentError::Damaged(_)
            | DocumentError::Unstorable { .. }
            | DocumentError::Value(_) => {
                return match error {
                    DocumentError::Txn(error) => Error::Txn(error),
                    DocumentError::Store(error) => Error::Txn(TxnError::from(error)),
                    DocumentError::Value(error) => Error::Sql(error.into()),
                    DocumentError::Unstorable { at, source } => {
                        let told = types::Error::from(source);
                        Error::Sql(told.with_context(format!("stands at {at} of the document")))
                    }
                    _ => Error::Damaged { what: "a document" },
                };
            }
            DocumentError::Json(json::JsonError::Limit { .. }) | DocumentError::TooLarge(_) => {
                SqlState::PROGRAM_LIMIT_EXCEEDED
            }
            DocumentError::Json(_) => SqlState::INVALID_TEXT_REPRESENTATION,
            DocumentError::BadKey(_)
            | DocumentError::BadMeta(_)
            | DocumentError::Path(_)
            | DocumentError::BadEdit(_)
            | DocumentError::NoRevision { .. }
            | DocumentError::Forgotten { .. }
            | DocumentError::ForgottenAt { .. } => SqlState::INVALID_PARAMETER_VALUE,
            DocumentError::NoDocument { .. }
            | DocumentError::NoNode(_)
            | DocumentError::NeverNode { .. } => SqlState::NO_DATA,
            DocumentError::Conflict { .. } | DocumentError::Stale { .. } => {
                SqlState::SERIALIZATION_FAILURE
            }
            DocumentError::Dropped { .. } => SqlState::UNDEFINED_TABLE,
            DocumentError::Refused(_) => SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            _ => SqlState::IO_ERROR,
        };
        Error::new(state, error.to_string())
    }
}
