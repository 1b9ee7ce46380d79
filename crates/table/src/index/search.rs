//! The questions to a GIN, and the rows that it finds.
//!
//! ```text
//!   tags && '{a,b}'              ──Ask, value──>  Query  any of  item a, item b
//!   doc @> '{"x": 1, "y": 2}'                            all of  item x, item 1, item y, item 2
//!                                                           │
//!   the keys of the rows behind each item, in order ────────┴── merged ──> keys of rows
//! ```
//!
//! A query finds every row that meets the condition it was made of, and perhaps others: the reader
//! looks at the rows again. A query that would need all rows says so ([`Query::is_all`]): a row
//! without items has no entry.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use scalar::Needs;
use scalar::extension::trgm;
use scalar::fulltext;
use store::TableId;
use txn::{KeyRange, View};
use types::{Datum, DatumRef};

use super::Index;
use super::gin::{self, ItemClass, Items};
use super::interval::Overlap;
use crate::rows::Table;
use crate::{Error, Result};

/// The strategy of a search: the operator between a key of an index and a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
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
    /// `LIKE` and `ILIKE`: the trigrams that a matching text has.
    Like,
    /// `%` and the like: any trigram of the text.
    Alike,
    /// `=`: the value, or all trigrams of the text.
    Same,
    /// `@@` of a `tsvector`: the lexemes that a query needs.
    Lexemes,
    /// `<@` of ranges: part of the range.
    Within,
    /// `=` of keys beside an interval, and of ranges.
    Equal,
}

/// A condition on a key of an index: strategy and value.
#[derive(Clone, PartialEq, Debug)]
pub struct ScanKey {
    /// Which key, from 0.
    pub part: usize,
    /// The operator.
    pub strategy: Strategy,
    /// The value, which is not NULL.
    pub value: Datum,
}

impl Strategy {
    /// True if an index of a class supports the strategy.
    pub fn is_for(self, class: ItemClass) -> bool {
        match self {
            Strategy::Overlaps => matches!(class, ItemClass::Array | ItemClass::Interval),
            Strategy::Element => class == ItemClass::Array,
            Strategy::Within => class == ItemClass::Interval,
            Strategy::Equal => matches!(class, ItemClass::Interval | ItemClass::Value),
            Strategy::Name | Strategy::AnyName | Strategy::AllNames => {
                matches!(class, ItemClass::Jsonb | ItemClass::Hstore)
            }
            Strategy::PathFinds | Strategy::PathHolds => {
                matches!(class, ItemClass::Jsonb | ItemClass::JsonbPath)
            }
            Strategy::Contains => !matches!(
                class,
                ItemClass::Trigram | ItemClass::Lexeme | ItemClass::Value | ItemClass::Scalar
            ),
            Strategy::Lexemes => class == ItemClass::Lexeme,
            Strategy::Like | Strategy::Alike => class == ItemClass::Trigram,
            Strategy::Same => matches!(class, ItemClass::Trigram | ItemClass::Scalar),
        }
    }
}

/// The entries of an index, as a query reads them.
pub(super) trait Entries {
    /// Adds the keys of the rows to which the entries in a range lead.
    fn rows(&self, range: KeyRange, out: &mut Vec<Vec<u8>>) -> Result<()>;

    /// The key of the first entry in a range.
    fn first(&self, range: KeyRange) -> Result<Option<Vec<u8>>>;
}

/// Items that rows must have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Query {
    /// This one.
    Item(Vec<u8>),
    /// Any item that begins so.
    Prefix(Vec<u8>),
    /// All of these.
    All(Vec<Query>),
    /// Any of these; of none, no row fits.
    Any(Vec<Query>),
    /// An interval that overlaps this one.
    Overlap(Overlap),
}

impl Query {
    /// True if every row may fit, also one that has no items.
    pub fn is_all(&self) -> bool {
        match self {
            Query::Item(_) | Query::Prefix(_) | Query::Overlap(_) => false,
            Query::All(list) => list.iter().all(Query::is_all),
            Query::Any(list) => list.iter().any(Query::is_all),
        }
    }

    /// The keys of the rows that fit, in order.
    pub(super) fn rows(&self, entries: &impl Entries) -> Result<Vec<Vec<u8>>> {
        match self {
            Query::Item(item) | Query::Prefix(item) => {
                let mut rows = Vec::new();
                entries.rows(KeyRange::prefix(item.clone()), &mut rows)?;
                Ok(in_order(rows))
            }
            Query::Overlap(overlap) => {
                let mut rows = Vec::new();
                overlap.rows(entries, &mut rows)?;
                Ok(in_order(rows))
            }
            Query::Any(list) => {
                let mut all = Vec::new();
                for part in list {
                    all.extend(part.rows(entries)?);
                }
                Ok(in_order(all))
            }
            Query::All(list) => {
                let mut found: Option<Vec<Vec<u8>>> = None;
                for part in list.iter().filter(|part| !part.is_all()) {
                    if found.as_ref().is_some_and(Vec::is_empty) {
                        break;
                    }
                    let with = part.rows(entries)?;
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

fn in_order(mut rows: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    rows.sort_unstable();
    rows.dedup();
    rows
}

impl Index {
    /// Returns the query for rows of which all conditions are true.
    ///
    /// # Errors
    /// Fails if the operand of `@?` or `@@` is not a path.
    pub fn query(&self, asked: &[ScanKey]) -> Result<Query> {
        if let Some(intervals) = self.intervals() {
            return Ok(intervals.query(asked).unwrap_or(Query::All(Vec::new())));
        }
        let mut queries = Vec::with_capacity(asked.len());
        for ScanKey { part, strategy, value } in asked {
            // No row can have this.
            let nothing = Query::Any(Vec::new());
            queries.push(self.query_of(*part, *strategy, value)?.unwrap_or(nothing));
        }
        Ok(Query::All(queries))
    }

    /// The items that rows must have of which the condition is true; none if it is true of no row.
    fn query_of(&self, column: usize, strategy: Strategy, value: &Datum) -> Result<Option<Query>> {
        let class = self.gin().and_then(|classes| classes.get(column).copied());
        let (Some(class), false) = (class, value.is_null()) else { return Ok(None) };
        let texts = |value: &Datum| match value {
            Datum::Array(array) => {
                let elements = array.as_ref().iter().filter(|element| !element.is_null());
                each(elements.map(|element| gin::item_of(class, column, element)))
            }
            _ => Vec::new(),
        };
        Ok(Some(match strategy {
            Strategy::Contains => {
                let mut items = Items::default();
                items.add(class, column, value.as_ref());
                Query::All(each(items.iter().map(<[u8]>::to_vec)))
            }
            Strategy::Overlaps | Strategy::AnyName => Query::Any(texts(value)),
            Strategy::AllNames => Query::All(texts(value)),
            Strategy::Lexemes => {
                let Datum::Bytea(query) = value else { return Ok(None) };
                let Some(needs) = fulltext::needs(query) else { return Ok(None) };
                lexemes(column, &needs)
            }
            Strategy::Like => {
                let needed = trgm::trigrams_of_pattern(value.as_text().unwrap_or_default());
                Query::All(each(needed.iter().map(|one| gin::of_trigram(column, *one))))
            }
            Strategy::Same if class == ItemClass::Scalar => {
                Query::Item(gin::of_value(column, value.as_ref()))
            }
            Strategy::Alike | Strategy::Same => {
                let all = trgm::trigrams(value.as_text().unwrap_or_default())?;
                let all = each(all.iter().map(|one| gin::of_trigram(column, *one)));
                if strategy == Strategy::Same { Query::All(all) } else { Query::Any(all) }
            }
            Strategy::Element | Strategy::Name => {
                Query::Item(gin::item_of(class, column, value.as_ref()))
            }
            Strategy::PathFinds | Strategy::PathHolds => match value.as_text() {
                Some(path) => {
                    let needs = scalar::path_needs(path, strategy == Strategy::PathHolds)?;
                    needed(class, column, &needs)
                }
                _ => Query::All(Vec::new()),
            },
            // An index of items is not asked these.
            Strategy::Within | Strategy::Equal => Query::All(Vec::new()),
        }))
    }

    /// The keys of the rows that fit, in order.
    pub fn rows_with(&self, table: &Table, view: View<'_>, query: &Query) -> Result<Vec<Vec<u8>>> {
        let storage = self.storage().unwrap_or(table.storage());
        query.rows(&EntriesOf { index: self, storage, view })
    }
}

/// The entries that a view sees.
struct EntriesOf<'v> {
    index: &'v Index,
    storage: TableId,
    view: View<'v>,
}

impl Entries for EntriesOf<'_> {
    fn rows(&self, range: KeyRange, out: &mut Vec<Vec<u8>>) -> Result<()> {
        txn::Cursor::new(self.storage, range, false).fill::<Error>(self.view, |key, row| {
            out.push(self.index.row_key(key, row.base())?.to_vec());
            Ok(ControlFlow::Continue(()))
        })
    }

    fn first(&self, range: KeyRange) -> Result<Option<Vec<u8>>> {
        let mut first = None;
        txn::Cursor::new(self.storage, range, false).fill::<Error>(self.view, |key, _| {
            first = Some(key.to_vec());
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }
}

/// Returns the items that two sorted lists have in common.
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

/// The items of the lexemes that a query of text search needs.
fn lexemes(column: usize, needs: &fulltext::Needs) -> Query {
    let list = |list: &[fulltext::Needs]| list.iter().map(|part| lexemes(column, part)).collect();
    match needs {
        fulltext::Needs::All(parts) => Query::All(list(parts)),
        fulltext::Needs::Any(parts) => Query::Any(list(parts)),
        fulltext::Needs::Lexeme(text) => Query::Item(gin::of_lexeme(column, text)),
        fulltext::Needs::Prefix(text) => Query::Prefix(gin::of_prefix(column, text)),
    }
}

/// The items that stand for what a path needs.
fn needed(class: ItemClass, column: usize, needs: &Needs) -> Query {
    let list = |list: &[Needs]| list.iter().map(|part| needed(class, column, part)).collect();
    match needs {
        Needs::All(parts) => Query::All(list(parts)),
        Needs::Any(parts) => Query::Any(list(parts)),
        Needs::Name(name) if class == ItemClass::Jsonb => {
            Query::Item(gin::item_of(class, column, DatumRef::Text(name)))
        }
        Needs::Scalar { way, value } if class == ItemClass::JsonbPath => match way {
            Some(way) => Query::Item(gin::hashed(column, way, value.root())),
            None => Query::All(Vec::new()),
        },
        Needs::Scalar { value, .. } if class == ItemClass::Jsonb => {
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
