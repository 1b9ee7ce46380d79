//! Rows in order: all of them, or the first so many.
//!
//! Rows are compared by the key form of their keys, bytes that lie one behind the other; the first
//! eight of them stand beside the place of the row, and most comparisons end there. Where a limit
//! stands above, only as many rows are kept as it lets through.

use std::cmp::Ordering;

use sql::eval::{Program, Row as EvalRow};
use types::{KeyOrder, Result, key};

use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};

/// A key of an order, ready to be computed.
pub(crate) struct SortKey {
    pub(crate) program: Program,
    pub(crate) order: KeyOrder,
}

/// Appends the key form of the keys of a row.
pub(crate) fn write_keys<'r>(
    env: &Env<'_>,
    keys: &[SortKey],
    row: impl Into<EvalRow<'r>>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let row = row.into();
    for sort in keys {
        match sort.program.column() {
            Some(column) => key::write(row.get(column), sort.order, out),
            None => key::write(env.value(&sort.program, row)?.as_ref(), sort.order, out),
        }
    }
    Ok(())
}

/// How many rows a limit above lets through.
pub(crate) struct Bound {
    pub(crate) limit: Program,
    pub(crate) offset: Option<Program>,
}

/// Where a row's key lies.
#[derive(Clone, Copy)]
struct Entry {
    /// The first bytes of the key, in the order of numbers.
    head: u64,
    start: usize,
    len: u32,
    row: u32,
}

/// Rows with their keys.
#[derive(Default)]
pub(crate) struct Sorter {
    keys: Vec<u8>,
    entries: Vec<Entry>,
    rows: Vec<Row>,
}

impl Sorter {
    /// Takes a row with the key that `write` appends.
    pub(crate) fn push(
        &mut self,
        row: Row,
        write: impl FnOnce(&Row, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let start = self.keys.len();
        write(&row, &mut self.keys)?;
        let key = &self.keys[start..];
        let mut head = [0; 8];
        let known = key.len().min(8);
        head[..known].copy_from_slice(&key[..known]);
        self.entries.push(Entry {
            head: u64::from_be_bytes(head),
            start,
            len: key.len() as u32,
            row: self.rows.len() as u32,
        });
        self.rows.push(row);
        Ok(())
    }

    fn compare(keys: &[u8], a: &Entry, b: &Entry) -> Ordering {
        let key = |entry: &Entry| &keys[entry.start..entry.start + entry.len as usize];
        a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))).then(a.row.cmp(&b.row))
    }

    /// Puts the rows in order; rows with equal keys stay as they came.
    pub(crate) fn sort(&mut self) {
        let keys = &self.keys;
        self.entries.sort_unstable_by(|a, b| Self::compare(keys, a, b));
    }

    /// Keeps only the first `count` rows of the order.
    fn keep(&mut self, count: usize) {
        if count == 0 {
            *self = Self::default();
            return;
        }
        let keys = &self.keys;
        self.entries.select_nth_unstable_by(count - 1, |a, b| Self::compare(keys, a, b));
        self.entries.truncate(count);
        // What is kept moves together, in the order in which it came.
        self.entries.sort_unstable_by_key(|entry| entry.row);
        let mut kept = Self::default();
        for entry in std::mem::take(&mut self.entries) {
            let start = kept.keys.len();
            kept.keys.extend_from_slice(&self.keys[entry.start..entry.start + entry.len as usize]);
            let row = kept.rows.len() as u32;
            kept.rows.push(std::mem::take(&mut self.rows[entry.row as usize]));
            kept.entries.push(Entry { start, row, ..entry });
        }
        *self = kept;
    }

    /// The row at a place of the order, which is taken out.
    pub(crate) fn take(&mut self, at: usize) -> Option<Row> {
        let entry = self.entries.get(at)?;
        Some(std::mem::take(&mut self.rows[entry.row as usize]))
    }

    /// The rows in order.
    pub(crate) fn into_rows(mut self) -> impl Iterator<Item = Row> {
        self.sort();
        let Self { entries, mut rows, .. } = self;
        entries.into_iter().map(move |entry| std::mem::take(&mut rows[entry.row as usize]))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// The rows of the input in order.
pub(crate) struct Sort {
    input: Input,
    keys: Vec<SortKey>,
    bound: Option<Bound>,
    sorted: Option<Sorter>,
    at: usize,
    held: Held,
}

impl Sort {
    pub(crate) fn new(input: Input, keys: Vec<SortKey>, bound: Option<Bound>) -> Self {
        Self { input, keys, bound, sorted: None, at: 0, held: Held::default() }
    }

    fn fill(&mut self, env: &Env<'_>) -> Result<Sorter> {
        let count = match &self.bound {
            Some(bound) => super::limit::first(env, &bound.limit, bound.offset.as_ref())?,
            None => None,
        };
        let mut sorter = Sorter::default();
        if count == Some(0) {
            return Ok(sorter);
        }
        let mut row = Row::new();
        while self.input.next(env, &mut row)? {
            self.held.add_row(env, &row)?;
            let width = row.len();
            let keys = &self.keys;
            let taken = std::mem::replace(&mut row, Row::with_capacity(width));
            sorter.push(taken, |row, out| write_keys(env, keys, row, out))?;
            if let Some(count) = count
                && sorter.len() >= count.saturating_mul(2).max(64)
            {
                sorter.keep(count);
                self.held.clear(env.shared);
                for row in &sorter.rows {
                    self.held.add_row(env, row)?;
                }
            }
        }
        sorter.sort();
        Ok(sorter)
    }
}

impl Operator for Sort {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if self.sorted.is_none() {
            self.sorted = Some(self.fill(env)?);
        }
        let row = self.sorted.as_mut().and_then(|sorted| sorted.take(self.at));
        self.at += 1;
        Ok(match row {
            Some(row) => {
                *out = row;
                true
            }
            None => false,
        })
    }

    fn rewind(&mut self, shared: &Shared) {
        self.sorted = None;
        self.at = 0;
        self.held.clear(shared);
        self.input.rewind(shared);
    }
}
