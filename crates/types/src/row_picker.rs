//! [`RowPicker`]: the values of some columns of many rows in row form, by steps that are planned once.
//!
//! ```text
//!   (int4, int4, text, numeric, date), columns 0, 3 and 4:
//!
//!   take 4 bytes    skip 4 bytes    skip a length and as many    take a length and as many    take 4 bytes
//! ```

use crate::packed::{self, take_bytes, take_counted};
use crate::row::RowView;
use crate::{Repr, Result};

/// Picks the values of the same columns from rows.
#[derive(Debug)]
pub struct RowPicker<'c> {
    columns: &'c [Repr],
    positions: Vec<usize>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Passes so many bytes.
    Skip(usize),
    /// Passes a value that has its length before it.
    SkipCounted,
    /// Takes a value of so many bytes.
    Take(usize),
    /// Takes a value that has its length before it.
    TakeCounted,
}

impl<'c> RowPicker<'c> {
    /// Returns what picks the columns at `positions`, which ascend, from rows whose values are held as `columns` says.
    pub fn new(columns: &'c [Repr], positions: Vec<usize>) -> RowPicker<'c> {
        let mut steps = Vec::new();
        let mut at = 0;
        for position in positions.iter().copied().take_while(|position| *position < columns.len()) {
            for column in &columns[at..position] {
                match (packed::width(*column), steps.last_mut()) {
                    (Some(width), Some(Step::Skip(skipped))) => *skipped += width,
                    (Some(width), _) => steps.push(Step::Skip(width)),
                    (None, _) => steps.push(Step::SkipCounted),
                }
            }
            steps.push(packed::width(columns[position]).map_or(Step::TakeCounted, Step::Take));
            at = position + 1;
        }
        RowPicker { columns, positions, steps }
    }

    /// Calls `f` with the bytes of each value and the place of its column among the positions, `None` for NULL. The
    /// bytes are those that [`row::read_value`](crate::row::read_value) reads. Returns false if the row is older than
    /// some of the columns; for these it does not call `f`.
    ///
    /// # Errors
    /// XX001 if the row is damaged at one of the columns or before it.
    #[inline]
    pub fn pick<'a>(
        &self,
        row: &'a [u8],
        mut f: impl FnMut(usize, Option<&'a [u8]>),
    ) -> Result<bool>
    where
        'c: 'a,
    {
        let view = RowView::new(row, self.columns)?;
        let needed = self.positions.last().map_or(0, |last| last + 1);
        if view.sequence().nulls().is_empty() && view.len() >= needed {
            let mut values = view.sequence().values;
            let mut place = 0;
            for step in &self.steps {
                let taken = match *step {
                    Step::Skip(count) => {
                        take_bytes(&mut values, count)?;
                        continue;
                    }
                    Step::SkipCounted => {
                        take_counted(&mut values)?;
                        continue;
                    }
                    Step::Take(count) => take_bytes(&mut values, count)?,
                    Step::TakeCounted => take_counted(&mut values)?,
                };
                f(place, Some(taken));
                place += 1;
            }
            return Ok(true);
        }
        let mut columns = view.iter();
        let mut at = 0;
        for (place, position) in self.positions.iter().enumerate() {
            columns.step_over(position - at)?;
            at = position + 1;
            match columns.next_raw() {
                Some(value) => f(place, value?),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DatumRef, row};

    /// The picker returns the values of each set of columns. A row that was cut gives an error or values, and no panic.
    #[test]
    fn picked_columns_are_those_of_the_row() {
        let columns = [Repr::Int4, Repr::Text, Repr::Bool, Repr::Bytea, Repr::Int8, Repr::Text];
        let long = "x".repeat(300);
        let (seven, yes, null) = (DatumRef::Int4(7), DatumRef::Bool(true), DatumRef::Null);
        let (bytes, eight) = (DatumRef::Bytea(&[1, 2]), DatumRef::Int8(-8));
        let all = [
            vec![seven, DatumRef::Text("ab"), yes, bytes, eight, DatumRef::Text("")],
            vec![null, DatumRef::Text(&long), null, DatumRef::Bytea(&[]), eight, null],
            vec![seven, null, yes, null, null, DatumRef::Text("end")],
            vec![seven, DatumRef::Text("an older row"), yes],
        ];
        for values in &all {
            let mut bytes = Vec::new();
            row::write(3, values.iter().copied(), &mut bytes);
            for chosen in 0..1_u32 << columns.len() {
                let positions: Vec<usize> =
                    (0..columns.len()).filter(|at| chosen & (1 << at) != 0).collect();
                let picker = RowPicker::new(&columns, positions.clone());
                let mut found = Vec::new();
                let has_all = picker.pick(&bytes, |place, value| {
                    let repr = columns[positions[place]];
                    let value = value.map_or(null, |value| row::read_value(value, repr).unwrap());
                    found.push((positions[place], value));
                });
                let there = positions.iter().filter(|position| **position < values.len());
                let expected: Vec<_> = there.map(|at| (*at, values[*at])).collect();
                assert_eq!(has_all.unwrap(), expected.len() == positions.len());
                assert_eq!(found, expected, "{chosen:b}");
                for end in 0..bytes.len() {
                    let _ = picker.pick(&bytes[..end], |_, _| ());
                }
            }
        }
    }
}
