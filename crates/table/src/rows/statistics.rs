//! [`Statistics`]: statistics of the values of a table's columns, for planning.
//!
//! ```text
//!   table  ── spots, evenly among its keys ──> some rows at each ──> of each column:
//!                                                how many values differ
//!                                                the most common ones, and how often each comes
//!                                                bounds between parts with as many values
//! ```
//!
//! They are made from a sample when a plan asks for them first, and again once the table has grown or shrunk by
//! half. They are not stored: what they are made of is.
//!
//! Of an index of several columns they tell how many different values its first columns have together: columns depend
//! on each other. Entries that are neighbours tell it: at some spots of the index, how many differ from the one before.
//!
//! How many values differ in the whole table follows from the sample by the estimator of Haas and Stokes (1998),
//! which PostgreSQL uses as well. Of the first column by which rows are keyed neighbours are alike, so what
//! differs from one row to the next tells it better.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use txn::{Engine, KeyRange, View};
use types::{Datum, DatumRef, KeyOrder, Oid, Repr, key};

use super::cursor::Cursor;
use super::layout::Batch;
use super::table::{Table, position};
use super::usage::AnalyzedBy;
use crate::Result;
use crate::index::Index;
use crate::method::ColumnSet;

/// Rows of a sample, about.
const ROWS: usize = 6_000;
/// Rows at each spot, at least.
const ROWS_AT_ONCE: usize = 30;
/// Entries of an index at each spot, and how many spots.
const ENTRIES_AT_ONCE: usize = 64;
const SPOTS_OF_INDEX: usize = 64;
/// Every row of a table with fewer spots is sampled.
const SPOTS_FEW: usize = 80;
/// So many values at most are kept as the most common ones.
const COMMON_MAX: usize = 50;
/// A common value has so many rows of the sample at least.
const COMMON_ROWS: usize = 12;
/// Parts between bounds.
const PARTS: usize = 100;
/// Bytes of a value that are compared.
const BYTES: usize = 24;

/// Values that take more bytes are not kept, only the beginnings of their keys.
const VALUE_BYTES_MAX: usize = 256;

/// The statistics of the values of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// How they are held.
    repr: Option<Repr>,
    /// The part of the rows in which the column is NULL.
    pub null: f64,
    /// How many values differ.
    pub distinct: f64,
    /// How many bytes a value takes in a row, on average.
    pub width: f64,
    /// How much the order of the values is that of the rows: from -1, the other way round, to 1.
    pub correlation: f64,
    /// The most common values, with the part of the rows that has each.
    common: Vec<(SampledValue, f64)>,
    /// Ends of parts with as many values each, in order; the smallest first.
    bounds: Vec<SampledValue>,
}

/// A value of a sample.
#[derive(Clone, Debug, PartialEq)]
struct SampledValue {
    /// The beginning of its key.
    key: Vec<u8>,
    /// The value itself; none if it is long.
    value: Option<Datum>,
}

impl SampledValue {
    fn new(key: &[u8], value: &Datum) -> SampledValue {
        let is_short = value.as_ref().heap_bytes() <= VALUE_BYTES_MAX;
        SampledValue { key: key.to_vec(), value: is_short.then(|| value.clone()) }
    }
}

/// The statistics of the values of a table's columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How many rows the table had.
    pub rows: u64,
    columns: Vec<ColumnStatistics>,
    /// For each index of several columns how many values its first ones have together: for one column, for two, and so on.
    keys: Vec<(Oid, Vec<f64>)>,
}

impl Statistics {
    /// Returns the statistics of a column, by its position; `None` if its values have no order.
    pub fn column(&self, position: usize) -> Option<&ColumnStatistics> {
        self.columns.get(position).filter(|column| column.repr.is_some())
    }

    /// Returns how many different values the first `parts` columns of an index have together; `None` if nothing is known
    /// of that.
    pub fn distinct_of_key(&self, index: Oid, parts: usize) -> Option<f64> {
        let (_, distinct) = self.keys.iter().find(|(known, _)| *known == index)?;
        distinct.get(parts.checked_sub(1)?).copied()
    }
}

impl ColumnStatistics {
    /// The most common values, with the part of the rows that has each; none if one of them is too long to be
    /// kept.
    pub fn common(&self) -> Option<Vec<(&Datum, f64)>> {
        self.common.iter().map(|(kept, part)| Some((kept.value.as_ref()?, *part))).collect()
    }

    /// Ends of parts with as many values each, the smallest first; none if one of them is too long to be kept.
    pub fn bounds(&self) -> Option<Vec<&Datum>> {
        self.bounds.iter().map(|kept| kept.value.as_ref()).collect()
    }

    /// The part of the rows in which the column is equal to a value; to any value where none is told.
    pub fn equal(&self, value: Option<&Datum>) -> f64 {
        let others = 1.0 - self.null - self.common.iter().map(|(_, part)| part).sum::<f64>();
        let rest = (self.distinct - self.common.len() as f64).max(1.0);
        let Some(wanted) = value.and_then(|value| self.key_of(value)) else {
            return (1.0 - self.null).max(0.0) / self.distinct.max(1.0);
        };
        match self.common.iter().find(|(known, _)| known.key == wanted) {
            Some((_, part)) => *part,
            None => others.max(0.0) / rest,
        }
    }

    /// The part of the rows in which the column is less than a value; `None` if that is not known.
    pub fn below(&self, value: &Datum) -> Option<f64> {
        let wanted = self.key_of(value)?;
        let parts = self.bounds.len().checked_sub(1).filter(|parts| *parts > 0)?;
        let at = self.bounds.partition_point(|bound| bound.key < wanted);
        let part = (at as f64 - 0.5).clamp(0.0, parts as f64) / parts as f64;
        Some(part * (1.0 - self.null))
    }

    /// A value as a key, as those that are kept.
    fn key_of(&self, value: &Datum) -> Option<Vec<u8>> {
        let repr = self.repr?;
        let integer = match value {
            Datum::Int2(value) => Some(i64::from(*value)),
            Datum::Int4(value) => Some(i64::from(*value)),
            Datum::Int8(value) => Some(*value),
            _ => None,
        };
        let held = match (repr, integer) {
            (Repr::Date, None) if let Datum::Timestamp(at) = value => Datum::Date(at.date()),
            (Repr::Int2, Some(value)) => Datum::Int2(i16::try_from(value).ok()?),
            (Repr::Int4, Some(value)) => Datum::Int4(i32::try_from(value).ok()?),
            (Repr::Int8, Some(value)) => Datum::Int8(value),
            _ if value.as_ref().repr() == Some(repr) => value.clone(),
            _ => return None,
        };
        Some(short_key(held.as_ref()))
    }
}

fn short_key(value: DatumRef<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    key::write(value, KeyOrder::ASCENDING, &mut out);
    out.truncate(BYTES);
    out
}

/// The statistics of a table of the store, once a caller has asked for them.
#[derive(Debug, Default)]
pub(super) struct Sampled(Mutex<Option<Arc<Statistics>>>);

impl Table {
    /// Returns the statistics of its columns' values, of which it has about so many rows; `None`
    /// where they cannot be read.
    pub fn statistics(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        rows: u64,
    ) -> Option<Arc<Statistics>> {
        self.statistics_by(AnalyzedBy::Plan, engine, rows)
    }

    pub(super) fn statistics_by(
        self: &Arc<Self>,
        by: AnalyzedBy,
        engine: &Arc<Engine>,
        rows: u64,
    ) -> Option<Arc<Statistics>> {
        let mut known = self.sampled.0.lock();
        if let Some(known) = &*known
            && (known.rows / 2..=known.rows * 3 / 2).contains(&rows)
        {
            return Some(Arc::clone(known));
        }
        let made = Arc::new(self.sample(engine, rows).ok()?);
        self.usage().note_analyzed(by, engine.now_us());
        *known = Some(Arc::clone(&made));
        Some(made)
    }

    /// The statistics that [`Table::statistics`] has sampled before; `None` if no plan has needed them.
    pub fn known_statistics(&self) -> Option<Arc<Statistics>> {
        self.sampled.0.lock().clone()
    }

    /// Forgets the statistics; the next call makes them anew.
    pub fn forget_statistics(&self) {
        *self.sampled.0.lock() = None;
    }

    fn sample(self: &Arc<Self>, engine: &Arc<Engine>, rows: u64) -> Result<Statistics> {
        let snapshot = engine.snapshot();
        let view = View::past(&snapshot);
        let spots = self.rows().spread(engine, ROWS / ROWS_AT_ONCE)?;
        // Values that are stored out of line have no statistics.
        let in_row =
            |column: &&crate::catalog::Column| !self.rows().is_out_of_line(position(column.attnum));
        let attnums: Vec<i16> =
            self.relation().live_columns().filter(in_row).map(|column| column.attnum).collect();
        let wanted = match &attnums[..] {
            [] => ColumnSet::All,
            some => ColumnSet::Columns(some),
        };
        let mut sample: Vec<Vec<Datum>> = Vec::new();
        let mut batch = Batch::new();
        // How many rows differ from the one before in the first column of the key.
        let (mut steps, mut differ) = (0_u64, 0_u64);
        let first = self.keyed_by().first().copied();
        let mut take = |batch: &Batch, every: usize, sample: &mut Vec<Vec<Datum>>| -> Result<()> {
            let mut before: Option<Datum> = None;
            for (at, row) in batch.iter().enumerate() {
                if let Some(first) = first {
                    let value = row.column(first)?.to_owned();
                    if let Some(before) = &before {
                        (steps, differ) = (steps + 1, differ + u64::from(*before != value));
                    }
                    before = Some(value);
                }
                if at % every == 0 {
                    sample.push(row.to_datums()?);
                }
            }
            Ok(())
        };
        if spots.len() < SPOTS_FEW {
            let every = (rows as usize / ROWS).max(1);
            let mut cursor = Cursor::over(self, KeyRange::ALL, false);
            while !cursor.is_at_end() {
                cursor.fill(view, wanted, &mut batch, 1_000.max(every))?;
                if batch.is_empty() {
                    break;
                }
                take(&batch, every, &mut sample)?;
                batch.clear();
            }
        } else {
            let at_once = ROWS_AT_ONCE.max(ROWS / spots.len());
            for spot in spots {
                let range = KeyRange { lower: Bound::Included(spot), ..KeyRange::ALL };
                let mut cursor = Cursor::over(self, range, false);
                cursor.fill(view, wanted, &mut batch, at_once)?;
                take(&batch, 1, &mut sample)?;
                batch.clear();
            }
        }
        let columns = self.relation().columns.iter().enumerate();
        let of = |(at, column): (usize, &crate::catalog::Column)| {
            if self.rows().is_out_of_line(at) || column.is_dropped || !has_order(column.repr) {
                return ColumnStatistics::default();
            }
            let mut made = ColumnStatistics::of(&sample, at, column.repr, rows);
            if Some(at) == first && steps > 0 {
                made.distinct = (rows as f64 * differ as f64 / steps as f64).max(1.0);
            }
            made
        };
        let columns = columns.map(of).collect();
        let mut keys = Vec::new();
        for index in self.indexes() {
            if let Some(distinct) = distinct_of_parts(index, engine, rows)? {
                keys.push((index.relation().oid, distinct));
            }
        }
        Ok(Statistics { rows, columns, keys })
    }
}

/// Returns how many values the first columns of an index have together, for each number of columns, in a table of so many
/// rows; `None` for an index of one column, or of items.
fn distinct_of_parts(index: &Index, engine: &Engine, rows: u64) -> Result<Option<Vec<f64>>> {
    let columns = index.shape().columns();
    let has_order = index.is_valid() && index.gin().is_none() && !index.is_columnar();
    let (Some(storage), true) = (index.storage(), has_order && columns.len() > 1) else {
        return Ok(None);
    };
    let store = engine.store();
    let mut spots = store.spread(storage, SPOTS_OF_INDEX)?;
    let mut each = ENTRIES_AT_ONCE;
    if spots.len() < SPOTS_OF_INDEX / 2 {
        (spots, each) = (vec![Vec::new()], ROWS);
    }
    // How many entries have one before them, and how many of them differ from it in the first column, in the first two ...
    let (mut steps, mut differ) = (0_u32, vec![0_u32; columns.len()]);
    for spot in spots {
        let mut entries = store.keys(storage, Bound::Included(spot), Bound::Unbounded, false);
        let mut before = Vec::new();
        for at in 0..each {
            let Some(entry) = entries.advance()? else { break };
            if at > 0 {
                steps += 1;
                let same = shared_columns(&before, entry, columns)?;
                differ[same..].iter_mut().for_each(|count| *count += 1);
            }
            before.clear();
            before.extend_from_slice(entry);
        }
    }
    if steps == 0 {
        return Ok(None);
    }
    // Where none differs there are long runs of the same value.
    let distinct = |count: &u32| rows as f64 * f64::from(*count).max(0.5) / f64::from(steps);
    Ok(Some(differ.iter().map(|count| distinct(count).max(1.0)).collect()))
}

/// Returns in how many of the first columns two entries of an index are equal.
fn shared_columns(one: &[u8], other: &[u8], columns: &[(Repr, KeyOrder)]) -> Result<usize> {
    let (mut one_rest, mut other_rest) = (one, other);
    for (at, (repr, order)) in columns.iter().enumerate() {
        key::skip(&mut one_rest, *repr, *order)?;
        key::skip(&mut other_rest, *repr, *order)?;
        if one[..one.len() - one_rest.len()] != other[..other.len() - other_rest.len()] {
            return Ok(at);
        }
    }
    Ok(columns.len())
}

/// True if the keys of values are in their order, or equal at least where they are.
fn has_order(repr: Repr) -> bool {
    !matches!(repr, Repr::Jsonb | Repr::Record | Repr::Array)
}

impl ColumnStatistics {
    /// Returns the statistics of a column of a sample of a table with so many rows.
    fn of(sample: &[Vec<Datum>], at: usize, repr: Repr, rows: u64) -> ColumnStatistics {
        let there = sample.iter().map(|row| &row[at]).filter(|value| !value.as_ref().is_null());
        let mut keys: Vec<(Vec<u8>, usize, &Datum)> =
            there.enumerate().map(|(row, value)| (short_key(value.as_ref()), row, value)).collect();
        let (all, known) = (sample.len().max(1) as f64, keys.len());
        keys.sort_unstable_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
        let bytes: usize = keys.iter().map(|(.., value)| bytes_of(value)).sum();
        let mut counts: HashMap<&[u8], (usize, &Datum)> = HashMap::new();
        keys.iter().for_each(|(key, _, value)| counts.entry(key).or_insert((0, value)).0 += 1);
        let once = counts.values().filter(|(count, _)| *count == 1).count() as f64;
        let (differ, n) = (counts.len() as f64, known as f64);
        let whole = rows as f64 * n / all;
        let distinct = match known {
            0 => 1.0,
            // Every row of the table is in the sample.
            _ if n >= whole => differ,
            _ => (n * differ / (n - once + once * n / whole)).clamp(differ, whole),
        };
        let mut common: Vec<(SampledValue, f64)> = counts
            .iter()
            .filter(|(_, (count, _))| *count >= COMMON_ROWS)
            .map(|(key, (count, value))| (SampledValue::new(key, value), *count as f64 / all))
            .collect();
        common.sort_by(|one, other| {
            other.1.total_cmp(&one.1).then_with(|| one.0.key.cmp(&other.0.key))
        });
        common.truncate(COMMON_MAX);
        let parts = PARTS.min(known.saturating_sub(1));
        let bound = |part: usize| {
            let (key, _, value) = &keys[part * (known - 1) / parts];
            SampledValue::new(key, value)
        };
        let bounds = if parts == 0 { Vec::new() } else { (0..=parts).map(bound).collect() };
        ColumnStatistics {
            repr: Some(repr),
            null: 1.0 - n / all,
            distinct,
            width: bytes as f64 / n.max(1.0),
            correlation: correlation(keys.iter().map(|(_, row, _)| *row)),
            common,
            bounds,
        }
    }
}

/// Bytes of a value in a row, about.
fn bytes_of(value: &Datum) -> usize {
    let mut out = Vec::new();
    types::row::write_value(value.as_ref(), &mut out);
    out.len()
}

/// The correlation of the numbers from 0 on, in an order, with their places in it.
fn correlation(rows: impl ExactSizeIterator<Item = usize>) -> f64 {
    let n = rows.len() as f64;
    let products: f64 = rows.enumerate().map(|(place, row)| place as f64 * row as f64).sum();
    let (sum, squares) = (n * (n - 1.0) / 2.0, n * (n - 1.0) * (2.0 * n - 1.0) / 6.0);
    match n * squares - sum * sum {
        0.0 => 1.0,
        spread => (n * products - sum * sum) / spread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows in the order of the values, in the other one, and in none.
    #[test]
    fn the_order_of_the_rows_is_told() {
        let random = vfs::SimRandom::new(vfs::seed(8));
        let told =
            |value: &dyn Fn(i32) -> i32| of((0..2_000).map(|n| Some(value(n))), 2_000).correlation;
        assert!((told(&|n| n * 3) - 1.0).abs() < 1e-9);
        assert!((told(&|n| -n) + 1.0).abs() < 1e-9);
        assert!(told(&|_| random.below(1_000_000) as i32).abs() < 0.1);
    }

    /// Short values are given as they are, long ones not at all.
    #[test]
    fn values_are_told() {
        let text = |n: i32| vec![Datum::text(format!("{:03}", n % 20))];
        let sample: Vec<Vec<Datum>> = (0..1_000).map(text).collect();
        let column = ColumnStatistics::of(&sample, 0, Repr::Text, 1_000);
        let common = column.common().expect("they are short");
        assert_eq!(common.len(), 20);
        assert_eq!((common[0].0, common[0].1), (&Datum::text("000"), 0.05));
        assert_eq!(column.bounds().expect("they are short").last(), Some(&&Datum::text("019")));
        assert_eq!(column.width, 4.0);
        let long = |n: i32| vec![Datum::text(format!("{n}").repeat(300))];
        let sample: Vec<Vec<Datum>> = (0..100).map(long).collect();
        assert_eq!(ColumnStatistics::of(&sample, 0, Repr::Text, 100).bounds(), None);
    }

    fn of(values: impl Iterator<Item = Option<i32>>, rows: u64) -> ColumnStatistics {
        let value = |value: Option<i32>| vec![value.map_or(Datum::Null, Datum::Int4)];
        let sample: Vec<Vec<Datum>> = values.map(value).collect();
        ColumnStatistics::of(&sample, 0, Repr::Int4, rows)
    }

    /// A sample that is the whole table tells it exactly.
    #[test]
    fn a_small_table_is_known() {
        let column = of((0..1_000).map(|n| (n % 4 != 0).then_some(n % 20)), 1_000);
        assert_eq!((column.null, column.distinct), (0.25, 15.0));
        assert_eq!(column.equal(Some(&Datum::Int8(7))), 0.05);
        assert!(column.equal(Some(&Datum::Int4(4))) < 0.001, "it is never there");
        let below = column.below(&Datum::Int4(10)).expect("it is known");
        assert!((0.3..0.45).contains(&below), "{below}");
        assert_eq!(column.below(&Datum::Int4(-5)), Some(0.0));
    }

    /// How many values a large table has is guessed from how often those of the sample come again.
    #[test]
    fn the_values_of_a_large_table_are_guessed() {
        let random = vfs::SimRandom::new(vfs::seed(7));
        for values in [50, 3_000, 40_000] {
            let sample = (0..6_000).map(|_| Some(random.below(values) as i32));
            let found = of(sample, 1_000_000).distinct;
            assert!(
                (values as f64 * 0.7..values as f64 * 1.4).contains(&found),
                "{values}: {found}"
            );
        }
        let unique = of((0..6_000).map(Some), 1_000_000).distinct;
        assert_eq!(unique, 1_000_000.0, "each value once");
    }
}
