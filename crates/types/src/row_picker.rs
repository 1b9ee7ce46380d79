//! [`RowPicker`]: the values of some columns of many rows in row form, by steps that are planned once.
//!
//! ```text
//!   (int4, int4, text, numeric, date), columns 0, 3 and 4:
//!
//!   take 4 bytes    skip 4 bytes    skip a length and as many    take a length and as many    take 4 bytes
//! ```
//!
//! Where a step leads depends on the length that the step before it has read, so a processor that goes through one row
//! waits for each. [`RowPicker::pick_all`] takes each step in [`GROUP`] rows before the next one.

use crate::packed::{self, take_bytes, take_counted};
use crate::row::RowView;
use crate::{Repr, Result};

/// Rows that are gone through side by side: their bytes fit the nearest cache.
const GROUP: usize = 16;

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
    /// Returns a picker for the columns at `positions`, which ascend, of rows with these representations.
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

    /// Calls `f` for all rows as [`RowPicker::pick`] does for one, with the number of the row first. It may call `f`
    /// twice for a value. Returns false if a row is older than some of the columns.
    ///
    /// # Errors
    /// As [`RowPicker::pick`].
    pub fn pick_all<'a>(
        &self,
        rows: impl IntoIterator<Item = &'a [u8]>,
        mut f: impl FnMut(usize, usize, Option<&'a [u8]>),
    ) -> Result<bool>
    where
        'c: 'a,
    {
        let (mut rows, mut first, mut has_all) = (rows.into_iter(), 0, true);
        loop {
            let mut group = [&[][..]; GROUP];
            let mut count = 0;
            for (place, row) in group.iter_mut().zip(&mut rows) {
                (*place, count) = (row, count + 1);
            }
            if count == 0 {
                return Ok(has_all);
            }
            let group = &group[..count];
            if !self.pick_group(group, |row, place, value| f(first + row, place, Some(value))) {
                for (at, row) in group.iter().enumerate() {
                    has_all &= self.pick(row, |place, value| f(first + at, place, value))?;
                }
            }
            first += count;
        }
    }

    /// Takes each step in all rows of a group. Returns false if that cannot be done, because a row has NULLs, is older
    /// than some of the columns, or is damaged.
    #[inline]
    fn pick_group<'a>(&self, rows: &[&'a [u8]], mut f: impl FnMut(usize, usize, &'a [u8])) -> bool {
        let needed = self.positions.last().map_or(0, |last| last + 1);
        let counts = needed..=self.columns.len();
        let mut rests = [&[][..]; GROUP];
        for (rest, row) in rests.iter_mut().zip(rows) {
            // A version and a count of one byte each, and no NULLs.
            match row {
                [..0x80, count @ ..0x80, 0, values @ ..]
                    if counts.contains(&usize::from(*count)) =>
                {
                    *rest = values;
                }
                _ => return false,
            }
        }
        let rests = &mut rests[..rows.len()];
        let mut place = 0;
        for step in &self.steps {
            match *step {
                Step::Skip(count) => {
                    for rest in rests.iter_mut() {
                        let Some(behind) = rest.get(count..) else { return false };
                        *rest = behind;
                    }
                    continue;
                }
                Step::SkipCounted => {
                    for rest in rests.iter_mut() {
                        let Some((_, behind)) = cut_counted(rest) else { return false };
                        *rest = behind;
                    }
                    continue;
                }
                Step::Take(count) => {
                    for (at, rest) in rests.iter_mut().enumerate() {
                        let Some((value, behind)) = rest.split_at_checked(count) else {
                            return false;
                        };
                        f(at, place, value);
                        *rest = behind;
                    }
                }
                Step::TakeCounted => {
                    for (at, rest) in rests.iter_mut().enumerate() {
                        let Some((value, behind)) = cut_counted(rest) else { return false };
                        f(at, place, value);
                        *rest = behind;
                    }
                }
            }
            place += 1;
        }
        true
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

/// Cuts a value that has its length before it off the front; `None` if the bytes end inside of it.
#[inline]
fn cut_counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match bytes {
        [length @ ..0x80, rest @ ..] => rest.split_at_checked(usize::from(*length)),
        mut rest => Some((take_counted(&mut rest).ok()?, rest)),
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

    /// Rows that are gone through side by side give what each gives alone, whatever stands among them, and the same
    /// error.
    #[test]
    fn rows_side_by_side_are_rows_alone() {
        let columns = [Repr::Int4, Repr::Text, Repr::Int8, Repr::Text, Repr::Bool];
        let long = "x".repeat(300);
        let row = |number: usize, count: usize, has_null: bool| {
            let text = if number % 7 == 3 { &long[..] } else { &long[..number % 50] };
            let first = if has_null { DatumRef::Null } else { DatumRef::Int4(number as i32) };
            let all = [
                first,
                DatumRef::Text(text),
                DatumRef::Int8(-1),
                DatumRef::Text("ab"),
                DatumRef::Bool(true),
            ];
            let mut bytes = Vec::new();
            row::write(3, all.into_iter().take(count).collect::<Vec<_>>(), &mut bytes);
            bytes
        };
        for odd in 0..4 {
            let mut rows = Vec::from_iter((0..45).map(|number| row(number, 5, false)));
            match odd {
                1 => rows[20] = row(20, 5, true),
                2 => rows[20] = row(20, 3, false),
                3 => rows[20].truncate(9),
                _ => {}
            }
            let picker = RowPicker::new(&columns, vec![1, 4]);
            let (mut alone, mut together) = (vec![None; 90], vec![None; 90]);
            let one = |(at, row): (usize, &'_ Vec<u8>), alone: &mut Vec<Option<Vec<u8>>>| {
                let keep = |place, value: Option<&[u8]>| {
                    alone[place * 45 + at] = value.map(<[u8]>::to_vec)
                };
                picker.pick(row, keep)
            };
            let has_all = rows.iter().enumerate().map(|row| one(row, &mut alone));
            let has_all: Result<Vec<bool>> = has_all.collect();
            let keep = |at, place, value: Option<&[u8]>| {
                together[place * 45 + at] = value.map(<[u8]>::to_vec);
            };
            let all = picker.pick_all(rows.iter().map(|row| &row[..]), keep);
            match has_all {
                Ok(has_all) => {
                    assert_eq!(all.unwrap(), has_all.iter().all(|has| *has), "{odd}");
                    assert_eq!(together, alone, "{odd}");
                }
                Err(error) => assert_eq!(all.unwrap_err().message(), error.message()),
            }
        }
    }
}
