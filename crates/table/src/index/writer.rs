//! [`EntryWriter`]: the entries of many rows, one after the other, without memory for each.
//!
//! ```text
//!   row as it is stored ──the columns of the index──> values ──> key, value ──> a sorter
//! ```
//!
//! For indexes whose entries are made of columns as they are. Where an expression, a predicate or a sort key is computed
//! first, or where entries are places of intervals, [`Index::entries`] makes them.

use smallvec::{SmallVec, smallvec};
use store::{Sorter, Store};
use types::{Datum, DatumRef};

use super::gin::Items;
use super::{Index, Kind, Part};
use crate::Result;
use crate::rows::RowRef;

/// An entry, which the next one overwrites.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
    /// As [`super::Entry::is_exclusive`].
    pub is_exclusive: bool,
    /// As the same of an entry.
    pub row_key_bytes: usize,
}

/// Makes the entries of an index of rows as they are stored.
pub(crate) struct EntryWriter {
    /// The columns that are read, by position, ascending, and by attribute number.
    positions: Vec<usize>,
    attnums: Vec<i16>,
    /// Where in `positions` each key of the index is, and each column of INCLUDE.
    keys: Vec<usize>,
    included: Vec<usize>,
    items: Items,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Index {
    /// Returns the writer that makes its entries of rows as they are stored; `None` if that
    /// takes [`Index::entries`].
    pub(crate) fn entry_writer(&self) -> Option<EntryWriter> {
        if self.is_computed || !self.sorts.is_empty() || matches!(self.kind, Kind::Gist(_)) {
            return None;
        }
        let keys = self.parts.iter().map(|part| match part {
            Part::Column(at) => Some(*at),
            Part::Expr(_) => None,
        });
        let keys: Vec<usize> = keys.collect::<Option<_>>()?;
        let mut positions: Vec<usize> = keys.iter().chain(&self.include).copied().collect();
        positions.sort_unstable();
        positions.dedup();
        let place = |at: &usize| positions.partition_point(|position| position < at);
        Some(EntryWriter {
            attnums: positions.iter().map(|position| *position as i16 + 1).collect(),
            keys: keys.iter().map(place).collect(),
            included: self.include.iter().map(place).collect(),
            positions,
            items: Items::default(),
            key: Vec::new(),
            value: Vec::new(),
        })
    }
}

impl EntryWriter {
    /// The columns that it reads, by attribute number.
    pub(crate) fn attnums(&self) -> &[i16] {
        &self.attnums
    }

    /// Calls `each` with every entry of a row in `index`, which has made the writer.
    pub(crate) fn row(
        &mut self,
        index: &Index,
        row: RowRef<'_>,
        each: impl FnMut(Written<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut values: SmallVec<[_; 4]> = smallvec![DatumRef::Null; self.positions.len()];
        row.columns_into(&self.positions, &mut values)?;
        self.write(index, &|at| values[at], row.key(), each)
    }

    /// Puts into a sorter what a GIN says of a row.
    pub(crate) fn row_items(
        &mut self,
        index: &Index,
        row: RowRef<'_>,
        (sorter, store): (&mut Sorter, &Store),
    ) -> Result<()> {
        let mut values: SmallVec<[_; 4]> = smallvec![DatumRef::Null; self.positions.len()];
        row.columns_into(&self.positions, &mut values)?;
        self.gather(index, &|at| values[at], row.key());
        Ok(sorter.put_items(store, self.items.iter(), row.key(), &self.value)?)
    }

    /// Puts into a sorter what an index says of a row of which all values are given, by position.
    pub(crate) fn put_values(
        &mut self,
        index: &Index,
        (row, row_key): (&[Datum], &[u8]),
        (sorter, store): (&mut Sorter, &Store),
    ) -> Result<()> {
        let positions = std::mem::take(&mut self.positions);
        let column = |at: usize| row[positions[at]].as_ref();
        let done = match index.kind {
            Kind::Gin(_) => {
                self.gather(index, &column, row_key);
                Ok(sorter.put_items(store, self.items.iter(), row_key, &self.value)?)
            }
            _ => self.write(index, &column, row_key, |entry| {
                Ok(sorter.put(store, entry.key, |out| out.extend_from_slice(entry.value))?)
            }),
        };
        self.positions = positions;
        done
    }

    /// Takes the values of a row apart, for a GIN.
    fn gather<'a>(
        &mut self,
        index: &Index,
        column: &impl Fn(usize) -> DatumRef<'a>,
        row_key: &[u8],
    ) {
        let Kind::Gin(classes) = &index.kind else { return };
        self.items.clear();
        for (part, (at, class)) in self.keys.iter().zip(classes).enumerate() {
            self.items.add(*class, part, column(*at));
        }
        self.items.sort();
        self.value.clear();
        Index::write_row_key_bytes(row_key, &mut self.value);
    }

    /// `column` gives the value of the column at a place in `positions`.
    fn write<'a>(
        &mut self,
        index: &Index,
        column: &impl Fn(usize) -> DatumRef<'a>,
        row_key: &[u8],
        mut each: impl FnMut(Written<'_>) -> Result<()>,
    ) -> Result<()> {
        if matches!(index.kind, Kind::Gin(_)) {
            self.gather(index, column, row_key);
            let EntryWriter { items, key, value, .. } = self;
            for item in items.iter() {
                key.clear();
                key.extend_from_slice(item);
                key.extend_from_slice(row_key);
                let row_key_bytes = row_key.len();
                each(Written { key, value, is_exclusive: false, row_key_bytes })?;
            }
            return Ok(());
        }
        let EntryWriter { keys, included, key, value, .. } = self;
        key.clear();
        value.clear();
        let keys = keys.iter().map(|at| column(*at));
        let included = included.iter().map(|at| column(*at));
        let form = index.write_entry(keys, included, row_key, (key, value));
        let (is_exclusive, row_key_bytes) = form;
        each(Written { key, value, is_exclusive, row_key_bytes })
    }
}
