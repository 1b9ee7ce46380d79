//! [`Slice`]: up to 1,024 rows, whose columns are read when something asks for them. [`Selection`]: some of them.

use std::cell::OnceCell;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use types::{Datum, DatumRef, Repr, Result};

use crate::ROWS_MAX;
use crate::vector::{Lent, Vector};
use crate::words::Words;

/// Fewer than one in so many rows are few.
const FEW: usize = 8;

/// Rows of so many columns are made without an allocation.
const COLUMNS_FEW: usize = 16;

/// Where the columns of a slice come from.
pub trait Load<'a> {
    /// Reads a column, by its position.
    ///
    /// # Errors
    /// If it cannot be read.
    fn column(&self, at: usize) -> Result<Vector<'a>>;

    /// Reads a column of which a few rows are wanted, if that is less work; `None` if it is not. Of other rows any value
    /// stands.
    ///
    /// # Errors
    /// If it cannot be read.
    fn few(&self, _at: usize, _rows: &Selection) -> Result<Option<Vector<'a>>> {
        Ok(None)
    }

    /// Returns the numbers of a column as they are kept, none of which is NULL; `None` if there are others, or if they are
    /// not kept as integers.
    ///
    /// # Errors
    /// If they cannot be read.
    fn packed(&self, _at: usize) -> Result<Option<Packed<'a>>> {
        Ok(None)
    }

    /// Returns the codes of texts and other values as they are kept, none of which is NULL; `None` if there are others, or
    /// if the values have no dictionary.
    ///
    /// # Errors
    /// If they cannot be read.
    fn packed_codes(&self, _of: Place) -> Result<Option<PackedCodes<'a>>> {
        Ok(None)
    }

    /// Reads a field of the objects of a column, by its number; `None` if it is not a column of its own.
    ///
    /// # Errors
    /// If it cannot be read.
    fn field(&self, _number: usize) -> Result<Option<Vector<'a>>> {
        Ok(None)
    }
}

/// The numbers of a column of a slice, before they are decoded.
pub struct Packed<'a> {
    /// The integers of the whole chunk.
    pub ints: &'a stripe::Ints<'a>,
    /// The number of the block of them that the slice has.
    pub block: usize,
    /// How the integers stand for the values.
    pub number: Number,
}

/// The place of values in a slice.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A column, by its position.
    Column(usize),
    /// A field of the objects of a column, by its number.
    Field(usize),
}

/// The codes of values of a slice, before they are decoded.
pub struct PackedCodes<'a> {
    /// The codes of the whole chunk.
    pub codes: &'a stripe::Ints<'a>,
    /// The number of the block of them that the slice has.
    pub block: usize,
    /// The dictionary.
    pub words: &'a Arc<Words>,
}

/// How the integers of a column stand for its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// The values themselves.
    Int(Repr),
    /// Decimals with so many digits behind the point.
    Decimal(u32),
}

/// Up to 1,024 rows.
pub struct Slice<'a> {
    rows: usize,
    columns: Vec<OnceCell<Vector<'a>>>,
    fields: Vec<OnceCell<Option<Vector<'a>>>>,
    load: &'a dyn Load<'a>,
}

impl<'a> Slice<'a> {
    /// Returns a slice of so many rows, columns and fields of objects.
    pub fn new(rows: usize, width: usize, fields: usize, load: &'a dyn Load<'a>) -> Slice<'a> {
        let columns = (0..width).map(|_| OnceCell::new()).collect();
        Slice { rows, columns, fields: (0..fields).map(|_| OnceCell::new()).collect(), load }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Returns a column.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn column(&self, at: usize) -> Result<&Vector<'a>> {
        let cell = &self.columns[at];
        if let Some(vector) = cell.get() {
            return Ok(vector);
        }
        let vector = self.load.column(at)?;
        Ok(cell.get_or_init(|| vector))
    }

    /// Returns a column of which these rows are wanted. Of other rows any value stands.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn column_of(&self, at: usize, rows: &Selection) -> Result<Lent<'_, 'a>> {
        let is_few = rows.len() * FEW < self.rows && self.columns[at].get().is_none();
        if is_few && let Some(vector) = self.load.few(at, rows)? {
            return Ok(Lent::Owned(vector));
        }
        self.column(at).map(Lent::Borrowed)
    }

    /// Returns the values of selected rows, row by row.
    ///
    /// # Errors
    /// If a column cannot be read.
    pub fn to_rows(&self, rows: &Selection) -> Result<Vec<Vec<Datum>>> {
        let width = self.width();
        let mut values: Vec<Vec<Datum>> =
            (0..rows.len()).map(|_| Vec::with_capacity(width)).collect();
        for column in 0..width {
            let vector = self.column_of(column, rows)?;
            let mut to = values.iter_mut();
            rows.each(|row| to.next().into_iter().for_each(|to| to.push(vector.datum(row))));
        }
        Ok(values)
    }

    /// Returns marks for all rows; `None` if the slice has fewer rows than a slice can have, or if so few are left that
    /// reading their values takes less.
    pub(crate) fn marks(&self, rows: &Selection) -> Option<Marks> {
        match self.rows == ROWS_MAX && rows.len() * FEW >= self.rows {
            true => Some([1; ROWS_MAX]),
            false => None,
        }
    }

    /// Sets the marks of rows to 0 whose numbers in a column do not lie in the range that `range` gives for such numbers.
    /// Returns false, and sets none, if the column is decoded, if its numbers are not packed, or if `range` gives nothing.
    ///
    /// # Errors
    /// If the column cannot be read.
    pub(crate) fn unmark(
        &self,
        at: usize,
        marks: &mut Marks,
        range: impl FnOnce(Number) -> Option<RangeInclusive<i64>>,
    ) -> Result<bool> {
        if self.columns[at].get().is_some() {
            return Ok(false);
        }
        let Some(packed) = self.load.packed(at)? else { return Ok(false) };
        let Some(range) = range(packed.number) else { return Ok(false) };
        let (low, high) = range.into_inner();
        Ok(packed.ints.unmark(packed.block, low, high, marks).is_some())
    }

    /// Sets the marks of rows to 0 whose codes do not lie in the range that `range` gives for their dictionary. Returns
    /// false, and sets none, if the values are decoded or have no packed codes, or if `range` gives nothing.
    ///
    /// # Errors
    /// If the values cannot be read.
    pub(crate) fn unmark_codes(
        &self,
        of: Place,
        marks: &mut Marks,
        range: impl FnOnce(&Arc<Words>) -> Option<Range<u32>>,
    ) -> Result<bool> {
        let is_decoded = match of {
            Place::Column(at) => self.columns[at].get().is_some(),
            Place::Field(number) => self.fields.get(number).is_none_or(|one| one.get().is_some()),
        };
        if is_decoded {
            return Ok(false);
        }
        let Some(packed) = self.load.packed_codes(of)? else { return Ok(false) };
        let Some(range) = range(packed.words) else { return Ok(false) };
        if range.is_empty() {
            marks.fill(0);
            return Ok(true);
        }
        let (low, high) = (i64::from(range.start), i64::from(range.end) - 1);
        Ok(packed.codes.unmark(packed.block, low, high, marks).is_some())
    }

    /// Returns the values of a column in these rows, which ascend and may repeat.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn gather(&self, at: usize, rows: &[u16]) -> Result<Vector<'a>> {
        let is_few = rows.len() * FEW < self.rows && self.columns[at].get().is_none();
        if is_few && let Some(few) = self.load.few(at, &Selection::Some(rows.to_vec()))? {
            return Ok(few.gather(rows));
        }
        Ok(self.column(at)?.gather(rows))
    }

    /// Returns a field of the objects of a column, by its number; `None` if it is not a column of its own.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn field(&self, number: usize) -> Result<Option<&Vector<'a>>> {
        let Some(cell) = self.fields.get(number) else { return Ok(None) };
        if let Some(vector) = cell.get() {
            return Ok(vector.as_ref());
        }
        let vector = self.load.field(number)?;
        Ok(cell.get_or_init(|| vector).as_ref())
    }

    /// Calls `f` with a row in which the columns at `columns` have their values; the others are NULL.
    ///
    /// # Errors
    /// As [`Slice::column`], and what `f` reports.
    pub fn with_row<R>(
        &self,
        row: usize,
        columns: &[usize],
        f: impl FnOnce(&[DatumRef<'_>]) -> Result<R>,
    ) -> Result<R> {
        // Decimals are not kept as values.
        let mut made = Vec::new();
        for column in columns {
            let vector = self.column(*column)?;
            if vector.get(row).is_none() {
                made.push(vector.datum(row));
            }
        }
        let (mut few, mut many) = ([DatumRef::Null; COLUMNS_FEW], Vec::new());
        let values = match few.get_mut(..self.width()) {
            Some(few) => few,
            None => {
                many.resize(self.width(), DatumRef::Null);
                &mut many[..]
            }
        };
        let mut made = made.iter().map(|value| value.as_ref());
        for column in columns {
            let value = self.column(*column)?.get(row);
            values[*column] = value.or_else(|| made.next()).unwrap_or(DatumRef::Null);
        }
        f(values)
    }
}

/// Returns the numbers of the rows of a slice that are kept; `None` if all are.
#[inline]
fn kept_of(keeps: impl ExactSizeIterator<Item = bool>) -> Option<Vec<u16>> {
    let (count, mut rows, mut kept) = (keeps.len(), [0_u16; ROWS_MAX], 0);
    // Each row is written, and the place moves on where it is kept: no branch depends on the values. A slice has no more
    // rows than there are places.
    for (row, keeps) in (0_u16..).zip(keeps) {
        rows[kept % ROWS_MAX] = row;
        kept += usize::from(keeps);
    }
    (kept < count).then(|| rows[..kept].to_vec())
}

/// A 1 for each row of a slice that fulfils some comparisons, and a 0 for each other row.
pub(crate) type Marks = [u8; ROWS_MAX];

/// The places of the ones in each number of eight bits, in front.
static PLACES: [[u16; 8]; 256] = {
    let (mut all, mut bits) = ([[0; 8]; 256], 0);
    while bits < 256 {
        let (mut place, mut kept) = (0, 0);
        while place < 8 {
            if bits >> place & 1 == 1 {
                all[bits][kept] = place as u16;
                kept += 1;
            }
            place += 1;
        }
        bits += 1;
    }
    all
};

/// Some rows of a slice, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// The first so many rows: all of the slice.
    All(usize),
    /// The rows with these numbers, ascending.
    Some(Vec<u16>),
}

impl Selection {
    /// Returns those of the first `rows` rows whose bit is 1. A word has the bits of 64 rows, the lowest one first; beyond
    /// these rows there are no ones in the words of the last of them.
    pub(crate) fn of_bits(words: &[u64], rows: usize) -> Selection {
        let bytes = words.iter().take(rows.div_ceil(64)).flat_map(|word| word.to_le_bytes());
        Selection::of_bytes(bytes, rows)
    }

    /// As [`Selection::of_bits`], with the bits of eight rows in each byte.
    #[inline(always)]
    fn of_bytes(bytes: impl Iterator<Item = u8>, count: usize) -> Selection {
        let (mut rows, mut kept) = ([0_u16; ROWS_MAX + 8], 0);
        for (group, bits) in (0_u16..).zip(bytes) {
            // No more rows are kept than were passed, so there is room for eight. The next group overwrites the places
            // behind those that are kept.
            for (row, place) in rows[kept..kept + 8].iter_mut().zip(&PLACES[usize::from(bits)]) {
                *row = 8 * group + place;
            }
            kept += bits.count_ones() as usize;
        }
        match kept < count {
            true => Selection::Some(rows[..kept].to_vec()),
            false => Selection::All(count),
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Selection::All(rows) => *rows,
            Selection::Some(rows) => rows.len(),
        }
    }

    /// Returns true if no row is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers of the rows.
    pub(crate) fn into_rows(self) -> Vec<u16> {
        match self {
            Selection::All(rows) => (0..rows as u16).collect(),
            Selection::Some(rows) => rows,
        }
    }

    /// Returns the rows that another selection does not have.
    pub(crate) fn without(mut self, other: &Selection) -> Selection {
        let mut is_there = [false; ROWS_MAX];
        other.each(|row| is_there[row] = true);
        self.retain(|row| !is_there[row]);
        self
    }

    /// Calls `f` with each row.
    #[inline]
    pub fn each(&self, mut f: impl FnMut(usize)) {
        match self {
            Selection::All(rows) => (0..*rows).for_each(f),
            Selection::Some(rows) => rows.iter().for_each(|row| f(usize::from(*row))),
        }
    }

    /// Returns true if `is` is true for each row.
    pub fn all(&self, is: impl Fn(usize) -> bool) -> bool {
        match self {
            Selection::All(rows) => (0..*rows).all(is),
            Selection::Some(rows) => rows.iter().all(|row| is(usize::from(*row))),
        }
    }

    /// Returns the bits that `bits` gives for one of the values of the rows or for several.
    #[inline]
    pub(crate) fn either<T: Copy>(&self, values: &[T], bits: impl Fn(T) -> u8) -> u8 {
        match self {
            Selection::All(rows) => {
                values[..*rows].iter().fold(0, |found, value| found | bits(*value))
            }
            Selection::Some(rows) => {
                rows.iter().fold(0, |found, row| found | bits(values[usize::from(*row)]))
            }
        }
    }

    /// Calls `f` with each row until it fails.
    ///
    /// # Errors
    /// The errors of `f`.
    pub fn try_each<E>(
        &self,
        mut f: impl FnMut(usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self {
            Selection::All(rows) => (0..*rows).try_for_each(f),
            Selection::Some(rows) => rows.iter().try_for_each(|row| f(usize::from(*row))),
        }
    }

    /// Keeps the rows for which `keep` is true.
    #[inline]
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        match self {
            Selection::All(count) => {
                let count = *count;
                if let Some(rows) = kept_of((0..count).map(keep)) {
                    *self = Selection::Some(rows);
                }
            }
            Selection::Some(rows) => {
                let mut kept = 0;
                for at in 0..rows.len() {
                    let row = rows[at];
                    rows[kept] = row;
                    kept += usize::from(keep(usize::from(row)));
                }
                rows.truncate(kept);
            }
        }
    }

    /// Keeps the rows for whose values `keep` is true.
    #[inline]
    pub fn retain_by<T: Copy>(&mut self, values: &[T], keep: impl Fn(T) -> bool) {
        match self {
            Selection::All(count) => {
                if let Some(rows) = kept_of(values[..*count].iter().map(|value| keep(*value))) {
                    *self = Selection::Some(rows);
                }
            }
            Selection::Some(_) => self.retain(|row| keep(values[row])),
        }
    }

    /// Keeps the rows whose mark is 1. The slice has as many rows as a slice can have.
    pub(crate) fn retain_marked(&mut self, marks: &Marks) {
        /// Gathers the bits of eight marks: bit 8 * n goes to bit 56 + n.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        if let Selection::Some(_) = self {
            return self.retain(|row| marks[row % ROWS_MAX] == 1);
        }
        let (groups, _) = marks.as_chunks::<8>();
        let bits = |marks: &[u8; 8]| (u64::from_le_bytes(*marks).wrapping_mul(GATHER) >> 56) as u8;
        *self = Selection::of_bytes(groups.iter().map(bits), ROWS_MAX);
    }

    /// Keeps the rows for which `keep` is true.
    ///
    /// # Errors
    /// The errors of `keep`.
    pub fn try_retain(&mut self, mut keep: impl FnMut(usize) -> Result<bool>) -> Result<()> {
        let mut rows = Vec::with_capacity(self.len());
        self.try_each(|row| {
            if keep(row)? {
                rows.push(row as u16);
            }
            Ok::<_, types::Error>(())
        })?;
        if rows.len() < self.len() {
            *self = Selection::Some(rows);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A selection has the rows whose bits are 1: all of a slice, or some.
    #[test]
    fn bits_select_rows() {
        for rows in [1, 63, 64, 65, 1_000, ROWS_MAX] {
            let mut words = vec![0_u64; rows.div_ceil(64)];
            assert_eq!(Selection::of_bits(&words, rows), Selection::Some(Vec::new()));
            (0..rows).for_each(|row| words[row / 64] |= 1 << (row % 64));
            assert_eq!(Selection::of_bits(&words, rows), Selection::All(rows));
            (0..rows).step_by(7).for_each(|row| words[row / 64] &= !(1 << (row % 64)));
            let expected = (0..rows as u16).filter(|row| row % 7 > 0).collect();
            words.push(1);
            assert_eq!(Selection::of_bits(&words, rows), Selection::Some(expected));
        }
    }

    /// The rows that are marked are kept, of all rows and of some.
    #[test]
    fn marked_rows_are_kept() {
        for (step, and) in [(1, 0), (1, 3), (2, 0), (3, 5), (7, 0), (64, 8), (1_025, 0), (1_025, 1)]
        {
            let is_kept = |row: &u16| row.is_multiple_of(step) || row % 11 < and;
            let marks: Marks = std::array::from_fn(|row| u8::from(is_kept(&(row as u16))));
            let expected: Vec<u16> = (0..ROWS_MAX as u16).filter(is_kept).collect();
            let mut rows = Selection::All(ROWS_MAX);
            rows.retain_marked(&marks);
            match expected.len() {
                ROWS_MAX => assert_eq!(rows, Selection::All(ROWS_MAX)),
                _ => assert_eq!(rows, Selection::Some(expected)),
            }
            let some: Vec<u16> = (0..ROWS_MAX as u16).filter(|row| row % 5 > 1).collect();
            let expected = some.iter().copied().filter(is_kept).collect();
            let mut rows = Selection::Some(some);
            rows.retain_marked(&marks);
            assert_eq!(rows, Selection::Some(expected));
        }
    }
}
