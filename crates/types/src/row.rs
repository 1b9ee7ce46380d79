//! The row form: the bytes of a table's row in the store.
//!
//! ```text
//!   version     varint    of the schema that the row was written under
//!   count       varint    how many columns it has
//!   flag        1 byte    1: a bitmap follows, 0: no column is NULL
//!   nulls       ceil(count / 8) bytes, bit i of byte i / 8 set: column i is NULL
//!   values      one after the other, as `packed` lays them out; NULLs take nothing
//!
//!   (7, NULL, 'ab') of (int4, int4, text), version 3:
//!
//!   03  03  01  02      07 00 00 00   02 61 62
//!   ver cnt flg nulls   7             'ab'
//! ```
//!
//! Numbers have a fixed width, everything else its length in front: reaching a column is one step
//! over each before it, and no column is looked into that was not asked for.
//!
//! A column that is added to a table later is not in the rows that are there already. Such a row has
//! a smaller count, [`RowView::get`] says that it knows nothing of the column, and the column's
//! default as of its addition stands in: nothing is rewritten. A column that is dropped keeps its
//! place and its representation, and new rows have NULL there. A column whose type changes is another
//! column of another version.
//!
//! A row read back is not trusted: whatever the bytes are, the answer is a value or an error, and no
//! more is allocated than they are long.

use crate::packed::{self, Sequence, damaged};
use crate::{DatumRef, Repr, Result};

/// Appends a row to `out`.
pub fn write<'a>(
    version: u32,
    values: impl IntoIterator<Item = DatumRef<'a>, IntoIter: ExactSizeIterator>,
    out: &mut Vec<u8>,
) {
    let values = values.into_iter();
    packed::put_varint(out, u64::from(version));
    packed::put_varint(out, values.len() as u64);
    packed::put_sequence(out, values.len(), values);
}

/// Appends one value as it lies in a row; nothing for NULL.
pub fn write_value(value: DatumRef<'_>, out: &mut Vec<u8>) {
    packed::put(out, value);
}

/// Appends a row whose values are given as [`Columns::next_raw`] returns them: one for each of `columns`, none
/// for NULL. `values` are asked for twice.
pub fn write_raw<'a>(
    version: u32,
    columns: &[Repr],
    value: impl Fn(usize) -> Option<&'a [u8]>,
    out: &mut Vec<u8>,
) {
    packed::put_varint(out, u64::from(version));
    packed::put_varint(out, columns.len() as u64);
    let flag = out.len();
    out.push(0);
    for at in 0..columns.len() {
        if value(at).is_none() {
            if out[flag] == 0 {
                out[flag] = 1;
                out.resize(flag + 1 + columns.len().div_ceil(8), 0);
            }
            out[flag + 1 + at / 8] |= 1 << (at % 8);
        }
    }
    for (at, repr) in columns.iter().enumerate() {
        let Some(bytes) = value(at) else { continue };
        if packed::width(*repr).is_none() {
            packed::put_varint(out, bytes.len() as u64);
        }
        out.extend_from_slice(bytes);
    }
}

/// Reads the bytes of one value, as [`Columns::next_raw`] returns them.
///
/// # Errors
/// XX001 if they are no value that is held like this.
#[inline]
pub fn read_value(bytes: &[u8], repr: Repr) -> Result<DatumRef<'_>> {
    packed::value_of(bytes, repr, Some(0))
}

/// The version of the schema that a row was written under: what is needed to know its columns.
///
/// # Errors
/// XX001 where the bytes are no row.
#[inline]
pub fn version(mut row: &[u8]) -> Result<u32> {
    take_version(&mut row)
}

#[inline]
fn take_version(row: &mut &[u8]) -> Result<u32> {
    let version = packed::take_varint(row)?;
    u32::try_from(version).map_err(|_| damaged("a version has more than 32 bits"))
}

/// A look at a row.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    version: u32,
    count: usize,
    sequence: Sequence<'a>,
    columns: &'a [Repr],
}

impl<'a> RowView<'a> {
    /// The row in `bytes`. `columns` are those of its version, or of a later one that has the same
    /// first columns.
    ///
    /// # Errors
    /// XX001 where the bytes are no row, or one of more columns.
    #[inline]
    pub fn new(bytes: &'a [u8], columns: &'a [Repr]) -> Result<Self> {
        let mut rest = bytes;
        let version = take_version(&mut rest)?;
        let count = usize::try_from(packed::take_varint(&mut rest)?).unwrap_or(usize::MAX);
        if count > columns.len() {
            return Err(damaged("a row has more columns than its table"));
        }
        Ok(Self { version, count, sequence: Sequence::new(rest, count)?, columns })
    }

    /// The version of the schema that the row was written under.
    pub fn version(self) -> u32 {
        self.version
    }

    pub(crate) fn sequence(self) -> Sequence<'a> {
        self.sequence
    }

    /// How many columns the row has.
    pub fn len(self) -> usize {
        self.count
    }

    /// True for a row without columns.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The value of a column, from 0; `None` if the row is older than the column.
    ///
    /// # Errors
    /// XX001 where the row is damaged at the column or before it.
    pub fn get(self, column: usize) -> Result<Option<DatumRef<'a>>> {
        let mut columns = self.iter();
        columns.step_over(column)?;
        columns.next().transpose()
    }

    /// Calls `f` with the values of the columns at `positions`, which ascend, each with its place among these;
    /// `None` if the row is older than the column. One pass over the row.
    ///
    /// # Errors
    /// XX001 where the row is damaged at one of the columns or before it.
    #[inline]
    pub fn pick(
        self,
        positions: &[usize],
        mut f: impl FnMut(usize, Option<DatumRef<'a>>),
    ) -> Result<()> {
        let (mut values, mut at) = (self.sequence.values, 0);
        for (place, &position) in positions.iter().enumerate() {
            while at < position.min(self.count) {
                if !self.sequence.is_null(at) {
                    packed::take_raw(&mut values, self.columns[at])?;
                }
                at += 1;
            }
            let value = match position < self.count {
                false => None,
                true if self.sequence.is_null(position) => Some(DatumRef::Null),
                true => Some(packed::take_usual(&mut values, self.columns[position])?),
            };
            at = at.max(position + 1);
            f(place, value);
        }
        Ok(())
    }

    /// Appends to `ends` where in the row's bytes the values of its columns begin, and then where each
    /// of them ends: for comparing two rows piece by piece.
    ///
    /// # Errors
    /// XX001 where the row is damaged.
    pub fn places(self, bytes: &[u8], ends: &mut Vec<usize>) -> Result<()> {
        let mut columns = self.iter();
        ends.push(bytes.len() - columns.values.len());
        for _ in 0..self.count {
            columns.step_over(1)?;
            ends.push(bytes.len() - columns.values.len());
        }
        Ok(())
    }

    /// The values of the columns that the row has.
    pub fn iter(self) -> Columns<'a> {
        Columns { row: self, values: self.sequence.values, at: 0 }
    }
}

/// The values of a row, one after the other.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    row: RowView<'a>,
    values: &'a [u8],
    at: usize,
}

impl Columns<'_> {
    /// Steps over columns without looking into them.
    ///
    /// # Errors
    /// XX001 where the row ends inside of one.
    pub fn step_over(&mut self, columns: usize) -> Result<()> {
        let end = self.at.saturating_add(columns).min(self.row.count);
        while self.at < end {
            if !self.row.sequence.is_null(self.at) {
                packed::take_raw(&mut self.values, self.row.columns[self.at])?;
            }
            self.at += 1;
        }
        Ok(())
    }
}

impl<'a> Columns<'a> {
    /// The bytes of the next column's value, without the length that stands before them where they have no
    /// fixed one; `Some(None)` for NULL, `None` behind the last column.
    ///
    /// # Errors
    /// XX001 where the row ends inside of the value.
    #[inline]
    pub fn next_raw(&mut self) -> Option<Result<Option<&'a [u8]>>> {
        if self.at >= self.row.count {
            return None;
        }
        self.at += 1;
        if self.row.sequence.is_null(self.at - 1) {
            return Some(Ok(None));
        }
        Some(packed::take_raw(&mut self.values, self.row.columns[self.at - 1]).map(Some))
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = Result<DatumRef<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.row.count {
            return None;
        }
        self.at += 1;
        if self.row.sequence.is_null(self.at - 1) {
            return Some(Ok(DatumRef::Null));
        }
        Some(packed::take(&mut self.values, self.row.columns[self.at - 1], 0))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.row.count - self.at, Some(self.row.count - self.at))
    }
}

impl ExactSizeIterator for Columns<'_> {}
