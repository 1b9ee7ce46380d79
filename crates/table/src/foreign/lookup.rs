//! Finding the row that others refer to, and the rows that refer to it.
//!
//! The columns of the two sides may be of different types (`int` refers to `bigint`: see
//! [`comparable`](super::comparable)), and stand in another order than in the unique index; values are
//! made into those of the index first. Rows that refer are found by an index over their columns where
//! there is one, and one value alone refers to the key; else all rows are looked at, as in PostgreSQL.

use std::ops::Bound;
use std::sync::Arc;

use txn::{KeyRange, Locked, RowLock, Transaction, View, Wait};
use types::{Datum, Oid, Type, text};

use super::comparable::{Equal, equal_to, key_of};
use super::{Checks, gone_table};
use crate::Result;
use crate::catalog::{Column, Constraint, ForeignKey, IndexPart, Relation};
use crate::index::Index;
use crate::method::ColumnSet;
use crate::rows::{Batch, Cursor, RowValues, Table, position};

/// How referring rows are looked up.
#[derive(Clone, Copy)]
pub(super) enum ReferenceLookup<'a> {
    /// These values in the columns that refer.
    Values(&'a [Datum]),
    /// This key in the columns that they refer to.
    Key(&'a [Datum]),
}

/// The table that a row is in that others refer to.
struct Referred {
    table: Arc<Table>,
    /// The unique index over the columns.
    index: Oid,
    /// The positions of the columns that are referred to.
    columns: Vec<usize>,
}

/// Rows looked at together.
const ROWS_AT_ONCE: usize = 256;

impl Checks {
    /// True if a row has this key; then it is locked (KEY SHARE) and stays.
    pub(super) fn is_there(
        &self,
        txn: &mut Transaction,
        key: &ForeignKey,
        values: &[Datum],
    ) -> Result<bool> {
        if key.is_period {
            return self.is_covered(txn, key, values);
        }
        let Some(found) = self.referred(key, values)? else { return Ok(false) };
        let Referred { table: parent, index, columns } = found;
        let index = parent.indexes().iter().find(|known| known.relation().oid == index);
        let index = index.ok_or_else(gone_table)?;
        let mut ordered = Vec::with_capacity(values.len());
        for (part, column) in index.columns().enumerate() {
            let at = columns.iter().position(|known| *known == column);
            let value = at.map(|at| &values[at]).ok_or_else(gone_table)?;
            match key_of(value, self.base(&parent.relation().columns[column])) {
                Some(value) => ordered.push(index.keyed(part, value)?),
                None => return Ok(false),
            }
        }
        let refs: Vec<_> = ordered.iter().map(Datum::as_ref).collect();
        let prefix = match index.shape().range(&refs, Bound::Unbounded, Bound::Unbounded).lower {
            Bound::Included(prefix) => prefix,
            _ => return Ok(false),
        };
        let Some(storage) = index.storage() else {
            let locked =
                txn.lock_latest(parent.storage(), &prefix, RowLock::KeyShare, Wait::Allowed)?;
            return Ok(match locked {
                Locked::Unchanged => parent.get(txn.view(), &prefix)?.is_some(),
                Locked::Changed => parent.latest(txn, &prefix)?.is_some(),
            });
        };
        // The entry leads to a row; what counts is that it still does once the row is locked.
        let entry = |txn: &Transaction| -> Result<Option<Vec<u8>>> {
            let latest = txn.latest();
            let found = View::of(txn, &latest).read(storage, &prefix)?;
            found.map(|row| Ok(index.row_key(&prefix, row.base())?.to_vec())).transpose()
        };
        let Some(row_key) = entry(txn)? else { return Ok(false) };
        txn.lock_latest(parent.storage(), &row_key, RowLock::KeyShare, Wait::Allowed)?;
        Ok(entry(txn)?.is_some_and(|now| now == row_key))
    }

    /// Where the row is that these values refer to: in the table, or in a partition of it. `None` if no partition can
    /// have it.
    fn referred(&self, key: &ForeignKey, values: &[Datum]) -> Result<Option<Referred>> {
        let table = self.handles.table(&self.catalog, key.references).ok_or_else(gone_table)?;
        let columns = key.referenced.iter().map(|attnum| position(*attnum)).collect();
        let mut found = Referred { table, index: key.index, columns };
        while let Some(partitioning) = found.table.relation().partitioning() {
            // The unique key that is referred to has all columns that decide on the partition.
            let mut decisive = Vec::with_capacity(partitioning.keys.len());
            for part in &partitioning.keys {
                let IndexPart::Column(attnum) = part.part else { return Err(gone_table()) };
                let at = found.columns.iter().position(|known| *known == position(attnum));
                let value = at.map(|at| &values[at]).ok_or_else(gone_table)?;
                let column = &found.table.relation().columns[position(attnum)];
                match key_of(value, self.base(column)) {
                    Some(value) => decisive.push(value),
                    None => return Ok(None),
                }
            }
            let router = found.table.router(&self.catalog);
            let Some(next) = router.and_then(|router| router.find(&decisive)) else {
                return Ok(None);
            };
            let next = self.handles.table(&self.catalog, next).ok_or_else(gone_table)?;
            let index = self.catalog.partition_index(next.def(), found.index);
            let place = |column: &usize| {
                let name = &found.table.relation().columns[*column].name;
                next.relation().column_named(name).map(|own| position(own.attnum))
            };
            let columns: Option<Vec<usize>> = found.columns.iter().map(place).collect();
            let (index, columns) = index.zip(columns).ok_or_else(gone_table)?;
            found = Referred { table: next, index, columns };
        }
        Ok(Some(found))
    }

    /// The rows that refer so, up to so many: their keys and values.
    pub(super) fn referring(
        &self,
        txn: &Transaction,
        constraint: &Constraint,
        key: &ForeignKey,
        lookup: ReferenceLookup<'_>,
        rows_max: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<Datum>)>> {
        let table = constraint.table().and_then(|oid| self.handles.table(&self.catalog, oid));
        let table = table.ok_or_else(gone_table)?;
        let columns: Vec<usize> = key.columns.iter().map(|attnum| position(*attnum)).collect();
        let meaning = self.meaning(&table, key)?;
        let types = &meaning.types;
        let wanted = match lookup {
            ReferenceLookup::Values(values) => Some(values.to_vec()),
            ReferenceLookup::Key(values) => {
                let mut wanted = Some(Vec::with_capacity(values.len()));
                for (value, (from, to)) in values.iter().zip(types) {
                    match (equal_to(value, *from, *to), &mut wanted) {
                        (Equal::None, _) => return Ok(Vec::new()),
                        (Equal::One(value), Some(wanted)) => wanted.push(value),
                        (Equal::One(_), None) => {}
                        (Equal::Many, _) => wanted = None,
                    }
                }
                wanted
            }
        };
        let latest = txn.latest();
        let view = View::of(txn, &latest);
        let mut cursor = match &wanted {
            Some(wanted) => cursor(&table, &columns, wanted, &meaning)?,
            None => Cursor::over(&table, KeyRange::ALL, false),
        };
        let mut batch = Batch::new();
        let (mut found, mut own) = (Vec::new(), Vec::new());
        while !cursor.is_at_end() && found.len() < rows_max {
            batch.clear();
            cursor.fill(view, ColumnSet::All, &mut batch, ROWS_AT_ONCE.min(rows_max.max(8)))?;
            for row in batch.iter() {
                own.clear();
                for at in &columns {
                    own.push(row.column(*at)?.to_owned());
                }
                let fits = match lookup {
                    ReferenceLookup::Values(values) => own == values,
                    ReferenceLookup::Key(values) => meaning.is_key(&own, values)?,
                };
                if fits && found.len() < rows_max {
                    found.push((row.key().to_vec(), row.to_datums()?));
                }
            }
        }
        Ok(found)
    }

    /// Returns the meaning of values in the columns of a foreign key.
    pub(super) fn meaning(&self, table: &Table, key: &ForeignKey) -> Result<Meaning> {
        let parent = self.handles.table(&self.catalog, key.references).ok_or_else(gone_table)?;
        let pairs = key.columns.iter().zip(&key.referenced);
        let types = pairs.map(|(own, referenced)| {
            let own = &table.relation().columns[position(*own)];
            (self.base(own), self.base(&parent.relation().columns[position(*referenced)]))
        });
        let types = types.collect();
        let index = parent.indexes().iter().position(|it| it.relation().oid == key.index);
        let mut parts = vec![None; key.columns.len()];
        for (part, column) in
            index.iter().flat_map(|at| parent.indexes()[*at].columns().enumerate())
        {
            let at = key.referenced.iter().position(|attnum| position(*attnum) == column);
            if let Some(at) = at.filter(|_| parent.indexes()[index.unwrap_or(0)].is_by_class(part))
            {
                parts[at] = Some(part);
            }
        }
        let index = index.unwrap_or_default();
        Ok(Meaning { types, parent, index, parts })
    }

    /// The type of a column, of a domain the one below.
    pub(super) fn base(&self, column: &Column) -> Type {
        self.catalog.base_type(column.ty, column.modifier).0
    }

    /// True if a row with the key is there, whatever transaction made it: no lock is taken.
    pub(super) fn is_back(
        &self,
        txn: &mut Transaction,
        key: &ForeignKey,
        values: &[Datum],
    ) -> Result<bool> {
        let savepoint = txn.savepoint();
        let is_there = self.is_there(txn, key, values);
        txn.rollback_to(savepoint);
        txn.release(savepoint)?;
        is_there
    }
}

/// The meaning of values of referring columns in the columns that they refer to.
pub(super) struct Meaning {
    /// The types of each pair of columns: of the one that refers, and of the one that it refers to.
    types: Vec<(Type, Type)>,
    /// The table that is referred to, and the place of its unique index.
    parent: Arc<Table>,
    index: usize,
    /// For each pair the key of the index, where its texts are equal by their class alone.
    parts: Vec<Option<usize>>,
}

impl Meaning {
    /// True if values of referring columns mean this key.
    pub(super) fn is_key(&self, own: &[Datum], key: &[Datum]) -> Result<bool> {
        for (at, ((own, (_, to)), key)) in own.iter().zip(&self.types).zip(key).enumerate() {
            let Some(value) = key_of(own, *to) else { return Ok(false) };
            let is_same = match self.parts[at] {
                None => value == *key,
                Some(part) => {
                    let index = &self.parent.indexes()[self.index];
                    value == *key || index.keyed(part, value)? == index.keyed(part, key.clone())?
                }
            };
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if an entry of an index of referring rows has all texts of the class of a key, where the foreign key
    /// compares by classes. `at` is the pair, `part` the key of the index.
    fn finds_all(&self, at: usize, index: &Index, part: usize) -> bool {
        match self.parts[at] {
            None => true,
            Some(own) => index.is_sorted_like(part, &self.parent.indexes()[self.index], own),
        }
    }
}

/// A cursor over the rows that have these values in these columns, and perhaps over others.
fn cursor(
    table: &Arc<Table>,
    columns: &[usize],
    values: &[Datum],
    meaning: &Meaning,
) -> Result<Cursor> {
    let fits = |keys: &[usize]| {
        keys.len() >= columns.len() && columns.iter().all(|at| keys[..columns.len()].contains(at))
    };
    let equal = |keys: &[usize]| -> Vec<Datum> {
        let value = |at: &usize| columns.iter().position(|column| column == at).map(|i| &values[i]);
        keys.iter().map_while(|at| value(at).cloned()).collect()
    };
    // The keys of rows are texts as they are.
    if fits(table.keyed_by()) && meaning.parts.iter().all(Option::is_none) {
        let equal = equal(table.keyed_by());
        let refs: Vec<_> = equal.iter().map(Datum::as_ref).collect();
        let range = table.shape().range(&refs, Bound::Unbounded, Bound::Unbounded);
        return Ok(Cursor::over(table, range, false));
    }
    for index in table.indexes() {
        let keys: Vec<usize> = index.columns().collect();
        let finds_all = |(part, column): (usize, &usize)| {
            let at = columns.iter().position(|known| known == column);
            at.is_none_or(|at| meaning.finds_all(at, index, part))
        };
        if index.is_plain_search() && fits(&keys) && keys.iter().enumerate().all(finds_all) {
            let equal = equal(&keys).into_iter().enumerate();
            let equal: Vec<Datum> =
                equal.map(|(part, value)| index.keyed(part, value)).collect::<Result<_>>()?;
            let refs: Vec<_> = equal.iter().map(Datum::as_ref).collect();
            let range = index.shape().range(&refs, Bound::Unbounded, Bound::Unbounded);
            return Ok(Cursor::by_index(table, index, range, false));
        }
    }
    Ok(Cursor::over(table, KeyRange::ALL, false))
}

/// Columns and values as messages show them: `(a, b)=(1, x)`.
pub(super) fn describe(
    table: &Relation,
    columns: &[i16],
    values: &[Datum],
    show: &dyn RowValues,
) -> String {
    let columns = || columns.iter().map(|attnum| &table.columns[position(*attnum)]);
    let names: Vec<&str> = columns().map(|column| &*column.name).collect();
    let context = show.context();
    let shown = columns().zip(values).map(|(column, value)| {
        let shown = text::to_string(value.as_ref(), column.ty, column.modifier, &context);
        shown.unwrap_or_else(|| "null".to_owned())
    });
    format!("({})=({})", names.join(", "), shown.collect::<Vec<_>>().join(", "))
}
