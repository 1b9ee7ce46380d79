//! What a GIN is asked, and which rows it finds.
//!
//! ```text
//!   tags && '{a,b}'              ──Ask, value──>  Query  any of  item a, item b
//!   doc @> '{"x": 1, "y": 2}'                            all of  item x, item 1, item y, item 2
//!                                                           │
//!   the keys of the rows behind each item, in order ────────┴── merged ──> keys of rows
//! ```
//!
//! A query finds every row that meets the condition it was made of, and perhaps others: whoever asks
//! looks at the rows again. One that would need all rows says so ([`Query::is_all`]): a row without
//! items has no entry.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use scalar::Needs;
use txn::{KeyRange, View};
use types::{Datum, DatumRef};

use super::gin::{self, GinClass};
use super::{Entry, Index};
use crate::rows::Table;
use crate::{Error, Result};

/// What is asked of a column, by the operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// `@>` and, of arrays, `=`: everything that the value has.
    Contains,
    /// `&&`: any element of the array.
    Overlaps,
    /// `value = ANY (column)`: the value as an element.
    Element,
    /// `?`: the text as a name.
    Name,
    /// `?|`: any of the texts as a name.
    AnyName,
    /// `?&`: all of the texts as names.
    AllNames,
    /// `@?`: something that the path finds.
    PathFinds,
    /// `@@`: the path is true.
    PathHolds,
}

impl Ask {
    /// True where an index of a class can be asked this.
    pub fn is_for(self, class: GinClass) -> bool {
        match self {
            Ask::Overlaps | Ask::Element => class == GinClass::Array,
            Ask::Name | Ask::AnyName | Ask::AllNames => class == GinClass::Jsonb,
            Ask::PathFinds | Ask::PathHolds => class != GinClass::Array,
            Ask::Contains => true,
        }
    }
}

/// Items that rows must have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Query {
    /// This one.
    Item(Vec<u8>),
    /// All of these.
    All(Vec<Query>),
    /// Any of these; of none, no row fits.
    Any(Vec<Query>),
}

impl Query {
    /// True where every row may fit, also one that has no items.
    pub fn is_all(&self) -> bool {
        match self {
            Query::Item(_) => false,
            Query::All(list) => list.iter().all(Query::is_all),
            Query::Any(list) => list.iter().any(Query::is_all),
        }
    }

    /// The keys of the rows that fit, in order, where `of_item` tells those of the rows with an item.
    pub(super) fn rows(
        &self,
        of_item: &impl Fn(&[u8]) -> Result<Vec<Vec<u8>>>,
    ) -> Result<Vec<Vec<u8>>> {
        match self {
            Query::Item(item) => of_item(item),
            Query::Any(list) => {
                let mut all = Vec::new();
                for part in list {
                    all.extend(part.rows(of_item)?);
                }
                all.sort_unstable();
                all.dedup();
                Ok(all)
            }
            Query::All(list) => {
                let mut found: Option<Vec<Vec<u8>>> = None;
                for part in list.iter().filter(|part| !part.is_all()) {
                    if found.as_ref().is_some_and(Vec::is_empty) {
                        break;
                    }
                    let with = part.rows(of_item)?;
                    found = Some(match found {
                        None => with,
                        Some(known) => both(known, &with),
                    });
                }
                Ok(found.unwrap_or_default())
            }
        }
    }
}

fn each(items: impl Iterator<Item = Vec<u8>>) -> Vec<Query> {
    items.map(Query::Item).collect()
}

impl Index {
    /// The items that rows must have of which the condition is true; none where it is true of no row.
    ///
    /// # Errors
    /// Where the value is no path, and one is asked for.
    pub fn query(&self, column: usize, ask: Ask, value: &Datum) -> Result<Option<Query>> {
        let class = self.gin().and_then(|classes| classes.get(column).copied());
        let (Some(class), false) = (class, value.is_null()) else { return Ok(None) };
        let texts = |value: &Datum| match value {
            Datum::Array(array) => {
                let elements = array.as_ref().iter().filter(|element| !element.is_null());
                each(elements.map(|element| gin::item_of(class, column, element)))
            }
            _ => Vec::new(),
        };
        Ok(Some(match ask {
            Ask::Contains => {
                let mut items = Vec::new();
                gin::items(class, column, value.as_ref(), &mut items);
                Query::All(each(items.into_iter()))
            }
            Ask::Overlaps | Ask::AnyName => Query::Any(texts(value)),
            Ask::AllNames => Query::All(texts(value)),
            Ask::Element | Ask::Name => Query::Item(gin::item_of(class, column, value.as_ref())),
            Ask::PathFinds | Ask::PathHolds => match value.as_text() {
                Some(path) => {
                    let needs = scalar::path_needs(path, ask == Ask::PathHolds)?;
                    needed(class, column, &needs)
                }
                _ => Query::All(Vec::new()),
            },
        }))
    }

    /// The keys of the rows that fit, in order.
    pub fn rows_with(
        &self,
        table: &Arc<Table>,
        view: View<'_>,
        query: &Query,
    ) -> Result<Vec<Vec<u8>>> {
        query.rows(&|item| self.rows_of(table, view, item))
    }

    fn rows_of(&self, table: &Arc<Table>, view: View<'_>, item: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut with = Vec::new();
        let storage = self.storage().unwrap_or(table.storage());
        let mut cursor = txn::Cursor::new(storage, KeyRange::prefix(item.to_vec()), false);
        cursor.fill::<Error>(view, |key, row| {
            with.push(Entry::row_key(key, row.base())?.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(with)
    }
}

/// What two sorted lists have in common.
fn both(mut one: Vec<Vec<u8>>, other: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut at = 0;
    one.retain(|key| {
        while other.get(at).is_some_and(|other| other.cmp(key) == Ordering::Less) {
            at += 1;
        }
        other.get(at) == Some(key)
    });
    one
}

/// The items that stand for what a path needs.
fn needed(class: GinClass, column: usize, needs: &Needs) -> Query {
    let list = |list: &[Needs]| list.iter().map(|part| needed(class, column, part)).collect();
    match needs {
        Needs::All(parts) => Query::All(list(parts)),
        Needs::Any(parts) => Query::Any(list(parts)),
        Needs::Name(name) if class == GinClass::Jsonb => {
            Query::Item(gin::item_of(class, column, DatumRef::Text(name)))
        }
        Needs::Scalar { way, value } if class == GinClass::JsonbPath => match way {
            Some(way) => Query::Item(gin::hashed(column, way, value.root())),
            None => Query::All(Vec::new()),
        },
        Needs::Scalar { value, .. } if class == GinClass::Jsonb => {
            let scalar = Query::Item(gin::scalar(column, value.root()));
            // In an array a text counts as a name.
            match value.root().as_str() {
                Some(text) => {
                    let name = gin::item_of(class, column, DatumRef::Text(text));
                    Query::Any(vec![scalar, Query::Item(name)])
                }
                None => scalar,
            }
        }
        Needs::Name(_) | Needs::Scalar { .. } => Query::All(Vec::new()),
    }
}
