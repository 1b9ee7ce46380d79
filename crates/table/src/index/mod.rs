//! Indexes: entries of their own tables that lead to rows.
//!
//! ```text
//!   kind                 key of the entry                      value
//!   not unique           columns │ row's key                   length of the row's key, INCLUDE
//!   unique               columns                               0, the row's key, INCLUDE
//!   unique, with a NULL  columns │ row's key                   length of the row's key, INCLUDE
//!   unique, deferrable   columns │ row's key                   length of the row's key, INCLUDE
//!   GIN                  item │ row's key                      length of the row's key
//!   GiST                 the place of an interval │ row's key      length of the row's key
//!   columnar             the row's key                         the columns, in row form
//! ```
//!
//! Entries are versions under the same commits as their rows: a look into the past finds the
//! entries of then, at the price of a look at the present. Versions that were over before an index
//! was made have entries of another kind ([`backfill`]).
//!
//! The key itself makes sure that keys are unique. A transaction that writes or ends an entry of a
//! unique index holds a lock on its key till the commit. A second one waits for the outcome, and
//! then finds the entry there or not. A NULL is different from every other (unless `NULLS NOT
//! DISTINCT` says that it is not), so an entry with one goes by the row's key as well. Where the
//! check may come later (deferrable constraints), entries with equal columns may stand beside each
//! other until it does.
//!
//! The index of the primary key by which rows are keyed has no table of its own: it is the rows.
//!
//! A columnar index finds no rows: its entries are read instead of them ([`columns`]).

mod backfill;
mod build;
mod columns;
mod exclude;
mod fit;
mod gin;
mod interval;
mod search;
mod shape;
mod sort;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use store::{Sorter, Store, TableId};
use types::{Datum, DatumRef, KeyOrder, Repr, key, row, text};

pub use backfill::RowKeys;
pub(crate) use backfill::{erase_backfill, is_of_data};
pub(crate) use columns::encoder;
pub use fit::{Fit, fit};
pub use gin::ItemClass;
pub use search::{Query, ScanKey, Strategy};
pub use shape::KeyShape;
pub(crate) use writer::{EntryWriter, Written};

use crate::catalog::{IndexMethod, IndexPart, Relation};
use interval::Intervals;
use sort::Sort;

use crate::heap::patch::{put_varint, take_varint};
use crate::rows::{RowValues, position};
use crate::{Error, Result};

/// A key of an index: a column of the row, by position, or one that is computed of it.
#[derive(Clone, Debug)]
enum Part {
    Column(usize),
    Expr(Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Unique {
        nulls_distinct: bool,
    },
    Deferrable {
        nulls_distinct: bool,
    },
    /// How the values of each key are taken apart.
    Gin(Vec<ItemClass>),
    /// Where values lie as intervals.
    Gist(Intervals),
    /// The keys are columns that are read.
    Columnar,
}

/// An index of a table.
#[derive(Debug)]
pub struct Index {
    relation: Arc<Relation>,
    storage: Option<TableId>,
    parts: Vec<Part>,
    /// How each part is written in entries; empty where all are as they are.
    sorts: Vec<Option<Sort>>,
    shape: KeyShape,
    include: Vec<usize>,
    kind: Kind,
    is_valid: bool,
    /// It has expressions or a predicate.
    is_computed: bool,
    /// Entries of it are known to be committed.
    has_entries: AtomicBool,
}

/// The entry of an index for a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// No other row may have the key.
    pub is_exclusive: bool,
    /// How much of the key is that of the row.
    row_key_bytes: usize,
}

impl Entry {
    /// Returns the key of the entry in the backfill, for a version that was over before the index was made.
    pub(crate) fn backfill_key(&self, row_key: &[u8]) -> Vec<u8> {
        let rest = if self.is_exclusive { row_key } else { &[] };
        [&self.key[..], rest].concat()
    }

    /// The key of the row that an entry leads to.
    pub(crate) fn row_key<'a>(key: &'a [u8], mut value: &'a [u8]) -> Result<&'a [u8]> {
        let damaged = || Error::Damaged { what: "an index entry" };
        match take_varint(&mut value).ok_or_else(damaged)? {
            0 => {
                let bytes = take_varint(&mut value).ok_or_else(damaged)?;
                value.get(..bytes).ok_or_else(damaged)
            }
            bytes => key.get(key.len().wrapping_sub(bytes)..).ok_or_else(damaged),
        }
    }
}

impl Index {
    /// True if it has expressions or a predicate.
    pub(crate) fn is_computed(&self) -> bool {
        self.is_computed
    }

    /// The index that a relation is; `None` if it is none.
    pub(crate) fn new(relation: &Arc<Relation>) -> Option<Index> {
        let index = relation.index()?;
        let nulls_distinct = index.nulls_distinct;
        let kind = match (index.method, index.is_unique, index.is_immediate) {
            _ if !index.excludes.is_empty() => Kind::Gist(Intervals::new(index)),
            (IndexMethod::Gin | IndexMethod::Bloom, ..) => {
                Kind::Gin(ItemClass::all(index).unwrap_or_default())
            }
            (IndexMethod::Gist, ..) => Kind::Gist(Intervals::new(index)),
            (IndexMethod::Spgist, ..) if Intervals::new(index).interval().is_some() => {
                Kind::Gist(Intervals::new(index))
            }
            (IndexMethod::Columnar, ..) => Kind::Columnar,
            (_, false, _) => Kind::Plain,
            (_, true, true) => Kind::Unique { nulls_distinct },
            (_, true, false) => Kind::Deferrable { nulls_distinct },
        };
        let part = |part: &IndexPart| match part {
            IndexPart::Column(attnum) => Part::Column(position(*attnum)),
            IndexPart::Expr(expr) => Part::Expr(expr.text.clone()),
        };
        let parts: Vec<Part> = index.keys.iter().map(|key| part(&key.part)).collect();
        let columns = index.keys.iter().map(|key| {
            let order =
                KeyOrder { is_descending: key.is_descending, has_nulls_first: key.nulls_first };
            (if key.sort.is_some() { Repr::Bytea } else { key.repr }, order)
        });
        let mut sorts: Vec<Option<Sort>> = index.keys.iter().map(Sort::of).collect();
        if sorts.iter().all(Option::is_none) {
            sorts.clear();
        }
        Some(Index {
            storage: index.storage,
            shape: KeyShape::new(columns.collect()),
            include: index.include.iter().map(|attnum| position(*attnum)).collect(),
            kind,
            is_valid: index.is_valid,
            is_computed: index.predicate.is_some()
                || parts.iter().any(|part| matches!(part, Part::Expr(_))),
            parts,
            sorts,
            relation: Arc::clone(relation),
            has_entries: AtomicBool::new(false),
        })
    }

    /// Returns the catalog's entry of it.
    pub fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    /// The error of entries that are not those of the rows.
    pub fn damaged(&self, what: &'static str) -> Error {
        Error::DamagedIndex { index: Arc::clone(&self.relation.name), what }
    }

    /// The error of an entry that leads to no row, in a view that has the row.
    pub fn leads_nowhere(&self) -> Error {
        self.damaged("an entry leads to no row")
    }

    /// The key of the row that an entry of the index leads to.
    pub(crate) fn row_key<'a>(&self, key: &'a [u8], value: &'a [u8]) -> Result<&'a [u8]> {
        Entry::row_key(key, value).map_err(|_| self.damaged("an entry has no key of a row"))
    }

    /// True if entries with equal keys may stand beside each other for a while.
    pub(crate) fn is_checked_late(&self) -> bool {
        matches!(self.kind, Kind::Deferrable { .. })
    }

    /// Where its entries lie; none if it is the rows themselves.
    pub fn storage(&self) -> Option<TableId> {
        self.storage
    }

    /// How its keys are made: for ranges of entries.
    pub fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// True if it may be read.
    pub fn is_valid(&self) -> bool {
        self.is_valid
    }

    /// True if none of its entries was ever committed: for other readers it is not there.
    pub(crate) fn is_fresh(&self, store: &Store) -> Result<bool> {
        let Some(storage) = self.storage else { return Ok(false) };
        if self.has_entries.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let is_fresh = store.is_fresh(storage)?;
        self.has_entries.store(!is_fresh, Ordering::Relaxed);
        Ok(is_fresh)
    }

    /// True if every version that rows ever had has its entry.
    pub fn is_whole(&self) -> bool {
        let is_whole = self.relation.index().is_some_and(|data| data.is_whole);
        self.is_valid && is_whole && !self.is_columnar()
    }

    /// True if its entries are read in the place of rows, and lead to none.
    pub fn is_columnar(&self) -> bool {
        self.kind == Kind::Columnar
    }

    /// Begins to gather its entries for a load. `storage` is where they lie.
    pub(crate) fn sorter(&self, storage: TableId) -> Sorter {
        match encoder(&self.relation) {
            Some(encoder) => Sorter::new(storage).in_columns(encoder),
            None => Sorter::new(storage),
        }
    }

    /// True if a row with a key that is there is refused at once: `ON CONFLICT` can name it.
    pub fn is_arbiter(&self) -> bool {
        matches!(self.kind, Kind::Unique { .. })
    }

    /// True if it can say which row is in the way of another: it is unique, or it is of an exclusion
    /// constraint. Not where that is checked late.
    pub fn decides_conflicts(&self) -> bool {
        let is_immediate = self.relation.index().is_some_and(|index| index.is_immediate);
        self.is_arbiter() || self.excludes() && is_immediate
    }

    /// True if all rows are in it, in the order of its columns.
    pub(crate) fn is_plain_search(&self) -> bool {
        let has_order = !matches!(self.kind, Kind::Gin(_) | Kind::Gist(_) | Kind::Columnar);
        self.is_valid && !self.is_computed && has_order
    }

    /// How a GIN takes the values of its keys apart, one for each key; `None` of other indexes.
    pub fn gin(&self) -> Option<&[ItemClass]> {
        if let Kind::Gin(classes) = &self.kind { Some(classes) } else { None }
    }

    /// How an index of intervals has its keys; `None` of other indexes.
    fn intervals(&self) -> Option<&Intervals> {
        if let Kind::Gist(intervals) = &self.kind { Some(intervals) } else { None }
    }

    /// True if a foreign key can refer to its columns.
    pub(crate) fn can_be_referred_to(&self) -> bool {
        matches!(self.kind, Kind::Unique { .. }) && !self.is_computed
    }

    /// The columns of the row that it has as keys, by position.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(at) => Some(*at),
            Part::Expr(_) => None,
        })
    }

    /// True if it may say something else of a row of which these columns change.
    pub(crate) fn may_change(&self, changes: impl Fn(usize) -> bool) -> bool {
        self.is_computed || self.columns().chain(self.include.iter().copied()).any(changes)
    }

    /// The value of a key as its entries have it: the sort key of a text, where it has such.
    ///
    /// # Errors
    /// 55000 where the index is of other tables of the language.
    pub(crate) fn keyed(&self, part: usize, value: Datum) -> Result<Datum> {
        match self.sorts.get(part) {
            Some(Some(sort)) => sort.key(value.as_ref(), &self.relation),
            _ => Ok(value),
        }
    }

    /// True if texts of a key are one entry that are equal without being the same.
    pub(crate) fn is_by_class(&self, part: usize) -> bool {
        matches!(self.sorts.get(part), Some(Some(sort)) if sort.is_by_class())
    }

    /// True if a key is written as a key of another index is.
    pub(crate) fn is_sorted_like(&self, part: usize, other: &Index, own: usize) -> bool {
        match (self.sorts.get(part), other.sorts.get(own)) {
            (Some(Some(one)), Some(Some(other))) => one.is_like(other),
            _ => false,
        }
    }

    /// The values of its keys of a row; `None` if the row is not in it.
    fn keys(&self, row: &[Datum], values: &mut dyn RowValues) -> Result<Option<Vec<Datum>>> {
        let mut computed = Vec::new();
        if self.is_computed && !values.index(&self.relation, row, &mut computed)? {
            return Ok(None);
        }
        let mut computed = computed.into_iter();
        let keys = self.parts.iter().map(|part| match part {
            Part::Column(at) => row[*at].clone(),
            Part::Expr(_) => computed.next().unwrap_or_default(),
        });
        Ok(Some(keys.collect()))
    }

    /// Returns its entries for a row: none, one, or, where it is a GIN, one for each item.
    pub(crate) fn entries(
        &self,
        row: &[Datum],
        row_key: &[u8],
        values: &mut dyn RowValues,
    ) -> Result<Vec<Entry>> {
        if !self.is_computed
            && self.sorts.is_empty()
            && !matches!(self.kind, Kind::Gin(_) | Kind::Gist(_))
        {
            let keys = self.parts.iter().map(|part| match part {
                Part::Column(at) => row[*at].as_ref(),
                Part::Expr(_) => DatumRef::Null,
            });
            return Ok(vec![self.entry(keys, row, row_key)]);
        }
        let Some(mut keys) = self.keys(row, values)? else { return Ok(Vec::new()) };
        if !self.sorts.is_empty() {
            let keyed = keys.into_iter().enumerate().map(|(part, value)| self.keyed(part, value));
            keys = keyed.collect::<Result<_>>()?;
        }
        let items = match &self.kind {
            Kind::Gin(classes) => {
                let mut items = gin::Items::default();
                for (column, (value, class)) in keys.iter().zip(classes).enumerate() {
                    items.add(*class, column, value.as_ref());
                }
                items.sort();
                items.iter().map(<[u8]>::to_vec).collect()
            }
            Kind::Gist(intervals) => intervals.items(&keys),
            _ => return Ok(vec![self.entry(keys.iter().map(Datum::as_ref), row, row_key)]),
        };
        let entry = |mut key: Vec<u8>| {
            key.extend_from_slice(row_key);
            let mut value = Vec::with_capacity(1);
            Index::write_row_key_bytes(row_key, &mut value);
            Entry { key, value, is_exclusive: false, row_key_bytes: row_key.len() }
        };
        Ok(items.into_iter().map(entry).collect())
    }

    fn entry<'a>(
        &self,
        keys: impl ExactSizeIterator<Item = DatumRef<'a>>,
        row: &'a [Datum],
        row_key: &[u8],
    ) -> Entry {
        let (mut key, mut value) =
            (Vec::with_capacity(24 + row_key.len()), Vec::with_capacity(2 + row_key.len()));
        let included = self.include.iter().map(|at| row[*at].as_ref());
        let (is_exclusive, row_key_bytes) =
            self.write_entry(keys, included, row_key, (&mut key, &mut value));
        Entry { key, value, is_exclusive, row_key_bytes }
    }

    /// Appends key and value of the one entry of a row. Returns whether no other row may have the key, and how many of
    /// its bytes are those of the row's.
    fn write_entry<'a>(
        &self,
        keys: impl ExactSizeIterator<Item = DatumRef<'a>>,
        included: impl ExactSizeIterator<Item = DatumRef<'a>>,
        row_key: &[u8],
        (key, value): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> (bool, usize) {
        if self.is_columnar() {
            key.extend_from_slice(row_key);
            columns::write_value(keys, value);
            return (false, row_key.len());
        }
        let mut has_null = false;
        for (value, (_, order)) in keys.zip(self.shape.columns()) {
            has_null |= value.is_null();
            key::write(value, *order, key);
        }
        let is_exclusive =
            matches!(self.kind, Kind::Unique { nulls_distinct } if !(nulls_distinct && has_null));
        let row_key_bytes = if is_exclusive { 0 } else { row_key.len() };
        if is_exclusive {
            put_varint(value, 0);
            Index::write_row_key_bytes(row_key, value);
            value.extend_from_slice(row_key);
        } else {
            Index::write_row_key_bytes(row_key, value);
            key.extend_from_slice(row_key);
        }
        if included.len() > 0 {
            row::write(0, included, value);
        }
        (is_exclusive, row_key_bytes)
    }

    /// Appends how long the key of a row is, as the value of an entry says it.
    fn write_row_key_bytes(row_key: &[u8], value: &mut Vec<u8>) {
        put_varint(value, row_key.len());
    }

    /// The part of an entry's key of which there must be one at most when the constraint is checked,
    /// where that is later.
    pub(crate) fn deferred_prefix(&self, entry: &Entry) -> Option<Vec<u8>> {
        let Kind::Deferrable { nulls_distinct } = self.kind else { return None };
        let prefix = &entry.key[..entry.key.len() - entry.row_key_bytes];
        let mut rest = prefix;
        let mut has_null = false;
        for (repr, order) in self.shape.columns() {
            has_null |= rest.first().is_some_and(|byte| *byte != key::VALUE);
            key::skip(&mut rest, *repr, *order).ok()?;
        }
        (!(nulls_distinct && has_null)).then(|| prefix.to_vec())
    }

    /// The keys of a row as messages show them: `(a, lower(b))=(1, x)`.
    pub(crate) fn describe(
        &self,
        table: &Relation,
        row: &[Datum],
        values: &mut dyn RowValues,
    ) -> Result<String> {
        let keys = self.keys(row, values)?.unwrap_or_default();
        let Some(index) = self.relation.index() else { return Ok(String::new()) };
        let names = self.parts.iter().map(|part| match part {
            Part::Column(at) => scalar::quote::identifier(&table.columns[*at].name),
            Part::Expr(text) => text.to_string(),
        });
        let context = values.context();
        let shown = keys.iter().zip(&index.keys).map(|(value, key)| {
            let shown = text::to_string(value.as_ref(), key.ty, types::Modifier::NONE, &context);
            shown.unwrap_or_else(|| "null".to_owned())
        });
        let (names, shown): (Vec<String>, Vec<String>) = (names.collect(), shown.collect());
        Ok(format!("({})=({})", names.join(", "), shown.join(", ")))
    }
}
