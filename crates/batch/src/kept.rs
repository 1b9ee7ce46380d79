//! [`KeptRows`]: the rows of a join's build side, column by column, which are read by their numbers.
//!
//! Values keep the form of their vectors as long as all vectors have the same form; else they are kept as values.
//! Entries of dictionaries get codes of one common dictionary.

use std::sync::Arc;

use types::{Datum, DatumRef, Repr};

use crate::slice::Selection;
use crate::vector::{Decimals, Floats, Ints, Shown, Values, Vector};
use crate::words::Words;

/// The number of a missing row: its values are NULL.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// Rows, column by column.
#[derive(Debug, Default)]
pub(crate) struct KeptRows {
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Debug)]
struct Column {
    /// How the values are held.
    repr: Repr,
    form: Form,
    /// Which values are NULL; empty if none is.
    nulls: Vec<bool>,
    /// The bytes of values, beyond their places.
    bytes: usize,
}

#[derive(Debug, Default)]
enum Form {
    #[default]
    Nothing,
    Ints {
        repr: Repr,
        values: Vec<i64>,
        bound: u64,
    },
    Decimals {
        scale: u32,
        mantissas: Vec<i64>,
        /// The digits that all of them show.
        shown: u8,
        bound: u64,
    },
    Floats {
        repr: Repr,
        values: Vec<f64>,
    },
    Codes(Box<Dictionary>, Vec<u32>),
    /// Texts behind each other, and where each of them ends.
    Texts {
        all: String,
        ends: Vec<usize>,
    },
    Datums(Vec<Datum>),
}

/// The entries of all dictionaries that came, as far as rows have them.
#[derive(Debug, Default)]
struct Dictionary {
    entries: Vec<Datum>,
    /// The dictionaries, and the codes that their entries have here. Equal entries of two of them stay apart: they may
    /// differ in how they look.
    known: Vec<(Arc<Words>, Vec<u32>)>,
    /// The bytes of the known dictionaries and of their codes here.
    known_bytes: usize,
    /// All entries, once no more come.
    words: Arc<Words>,
}

impl Dictionary {
    /// Returns the code that an entry of a dictionary has here.
    fn code(&mut self, words: &Arc<Words>, code: u32) -> u32 {
        let is_it = |(known, _): &(Arc<Words>, Vec<u32>)| Arc::ptr_eq(known, words);
        let at = match self.known.iter().rposition(is_it) {
            Some(at) => at,
            None => {
                self.known.push((Arc::clone(words), vec![NO_ROW; words.len()]));
                self.known_bytes += words.bytes_held() + words.len() * size_of::<u32>();
                self.known.len() - 1
            }
        };
        let own = &mut self.known[at].1[code as usize];
        if *own == NO_ROW {
            *own = self.entries.len() as u32;
            self.entries.push(words.get(code).to_owned());
        }
        *own
    }
}

impl KeptRows {
    /// Returns no rows yet, of columns whose values are held like this.
    pub fn new(reprs: &[Repr]) -> KeptRows {
        let column =
            |repr: &Repr| Column { repr: *repr, form: Form::Nothing, nulls: Vec::new(), bytes: 0 };
        KeptRows { columns: reprs.iter().map(column).collect(), rows: 0 }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Adds the values that selected rows have in a column. Each column gets values of the same rows, and then
    /// the caller calls [`KeptRows::added`] for them.
    pub fn add(&mut self, column: usize, vector: &Vector<'_>, rows: &Selection) {
        let before = self.rows;
        self.columns[column].add(vector, rows, before);
    }

    /// Notes that all columns have got values of so many more rows.
    pub fn added(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Adds the rows of another, which has the same columns.
    pub fn append(&mut self, other: KeptRows) {
        if other.rows == 0 {
            return;
        }
        if self.rows == 0 {
            *self = other;
            return;
        }
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            column.append(more, (self.rows, other.rows));
        }
        self.rows += other.rows;
    }

    /// Notes that no more rows come.
    pub fn end(&mut self) {
        for column in &mut self.columns {
            if let Form::Codes(dictionary, _) = &mut column.form {
                dictionary.known = Vec::new();
                dictionary.known_bytes = 0;
                let entries = std::mem::take(&mut dictionary.entries);
                dictionary.words = Arc::new(Words::made(entries));
            }
        }
    }

    /// Returns the values that rows have in a column; NULL for [`NO_ROW`].
    pub fn gather(&self, column: usize, rows: &[u32]) -> Vector<'_> {
        self.columns[column].gather(rows)
    }

    /// Returns the integers of a column that has nothing else; `None` for others. Where a value is NULL any integer
    /// stands.
    pub fn ints(&self, column: usize) -> Option<&[i64]> {
        match &self.columns[column].form {
            Form::Ints { values, .. } => Some(values),
            _ => None,
        }
    }

    /// Returns true if a value is NULL.
    pub fn is_null(&self, column: usize, row: usize) -> bool {
        self.columns[column].nulls.get(row).is_some_and(|is_null| *is_null)
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        let of = |column: &Column| {
            let known = match &column.form {
                Form::Codes(dictionary, _) => dictionary.known_bytes,
                _ => 0,
            };
            let place = match &column.form {
                Form::Nothing => 0,
                Form::Codes(..) => size_of::<u32>(),
                Form::Ints { .. }
                | Form::Decimals { .. }
                | Form::Floats { .. }
                | Form::Texts { .. } => size_of::<i64>(),
                Form::Datums(_) => size_of::<Datum>(),
            };
            place * self.rows + column.bytes + known + column.nulls.len()
        };
        self.columns.iter().map(of).sum()
    }
}

impl Column {
    fn add(&mut self, vector: &Vector<'_>, rows: &Selection, before: usize) {
        if !vector.nulls.is_empty() {
            self.nulls.resize(before, false);
            rows.each(|row| self.nulls.push(vector.nulls[row]));
        } else if !self.nulls.is_empty() {
            self.nulls.resize(before + rows.len(), false);
        }
        if before == 0 && matches!(self.form, Form::Nothing) {
            self.form = Form::of(vector, self.repr);
        }
        match (&mut self.form, &vector.values) {
            (Form::Ints { repr, values, bound }, Values::Ints(more)) if *repr == more.repr => {
                extend(values, &more.values, rows);
                *bound = (*bound).max(more.bound);
            }
            (Form::Decimals { scale, mantissas, shown, bound }, Values::Decimals(more))
                if *scale == more.scale
                    && matches!(more.shown, Shown::Same(digits) if digits == *shown) =>
            {
                extend(mantissas, &more.mantissas, rows);
                *bound = (*bound).max(more.bound);
            }
            (Form::Floats { repr, values }, Values::Floats(more)) if *repr == more.repr => {
                extend(values, &more.values, rows);
            }
            (Form::Codes(dictionary, codes), Values::Codes(words, more)) => {
                let known = dictionary.entries.len();
                rows.each(|row| {
                    let is_null = vector.nulls.get(row).is_some_and(|is_null| *is_null);
                    codes.push(if is_null { 0 } else { dictionary.code(words, more[row]) });
                });
                let new = &dictionary.entries[known..];
                self.bytes += new.iter().map(|one| 96 + 2 * one.heap_bytes()).sum::<usize>();
            }
            (Form::Texts { all, ends }, Values::Refs(more)) => {
                let before = all.len();
                rows.each(|row| {
                    if let DatumRef::Text(text) = more[row] {
                        all.push_str(text);
                    }
                    ends.push(all.len());
                });
                self.bytes += all.len() - before;
            }
            (Form::Datums(values), _) => {
                let first = values.len();
                rows.each(|row| values.push(vector.datum(row)));
                self.bytes += values[first..].iter().map(Datum::heap_bytes).sum::<usize>();
            }
            _ => {
                let mut values = self.datums(before);
                rows.each(|row| values.push(vector.datum(row)));
                self.set_datums(values);
            }
        }
    }

    /// Adds the values of another column. The two have so many rows.
    fn append(&mut self, mut other: Column, (before, rows): (usize, usize)) {
        if !other.nulls.is_empty() {
            self.nulls.resize(before, false);
            // They are still to say which values of the other column are NULL.
            self.nulls.extend_from_slice(&other.nulls);
        } else if !self.nulls.is_empty() {
            self.nulls.resize(before + rows, false);
        }
        self.bytes += other.bytes;
        match (&mut self.form, &mut other.form) {
            (
                Form::Ints { repr, values, bound },
                Form::Ints { repr: of_more, values: more, bound: most },
            ) if repr == of_more => {
                values.append(more);
                *bound = (*bound).max(*most);
            }
            (
                Form::Decimals { scale, mantissas, shown, bound },
                Form::Decimals { scale: of_more, mantissas: more, shown: digits, bound: most },
            ) if (&scale, &shown) == (&of_more, &digits) => {
                mantissas.append(more);
                *bound = (*bound).max(*most);
            }
            (Form::Floats { repr, values }, Form::Floats { repr: of_more, values: more })
                if repr == of_more =>
            {
                values.append(more);
            }
            (Form::Codes(dictionary, codes), Form::Codes(others, more)) => {
                // Without entries all values are NULL.
                let first = match others.entries.is_empty() {
                    true => 0,
                    false => dictionary.entries.len() as u32,
                };
                dictionary.entries.append(&mut others.entries);
                codes.extend(more.iter().map(|code| first + code));
            }
            (Form::Texts { all, ends }, Form::Texts { all: more, ends: more_ends }) => {
                let first = all.len();
                all.push_str(more);
                ends.extend(more_ends.iter().map(|end| first + end));
            }
            (Form::Datums(values), Form::Datums(more)) => values.append(more),
            _ => {
                let mut values = self.datums(before);
                values.append(&mut other.datums(rows));
                self.set_datums(values);
            }
        }
    }

    /// Returns the values of the first so many rows.
    fn datums(&mut self, rows: usize) -> Vec<Datum> {
        let all: Vec<u32> = (0..rows as u32).collect();
        let known = self.known(&all);
        (0..rows).map(|row| known.datum(row)).collect()
    }

    fn set_datums(&mut self, values: Vec<Datum>) {
        self.bytes = values.iter().map(Datum::heap_bytes).sum();
        self.form = Form::Datums(values);
    }

    /// Returns the values of rows while more may come.
    fn known(&mut self, rows: &[u32]) -> Vector<'_> {
        if let Form::Codes(dictionary, _) = &mut self.form {
            dictionary.words = Arc::new(Words::made(dictionary.entries.clone()));
        }
        self.gather(rows)
    }

    fn gather(&self, rows: &[u32]) -> Vector<'_> {
        fn of<T: Clone + Default>(all: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|row| all.get(*row as usize).cloned().unwrap_or_default()).collect()
        }
        let values = match &self.form {
            Form::Nothing => return Vector::constant(Some(self.repr), &Datum::Null, rows.len()),
            Form::Ints { repr, values, bound } => {
                Values::Ints(Ints { repr: *repr, values: of(values, rows), bound: *bound })
            }
            Form::Decimals { scale, mantissas, shown, bound } => Values::Decimals(Decimals {
                scale: *scale,
                mantissas: of(mantissas, rows),
                shown: Shown::Same(*shown),
                bound: *bound,
            }),
            Form::Floats { repr, values } => {
                Values::Floats(Floats { repr: *repr, values: of(values, rows), bound: None })
            }
            Form::Codes(dictionary, codes) => {
                Values::Codes(Arc::clone(&dictionary.words), of(codes, rows))
            }
            Form::Texts { all, ends } => {
                let value = |row: &u32| {
                    let row = *row as usize;
                    match ends.get(row) {
                        Some(end) if self.nulls.get(row) != Some(&true) => {
                            let start = row.checked_sub(1).map_or(0, |before| ends[before]);
                            DatumRef::Text(&all[start..*end])
                        }
                        _ => DatumRef::Null,
                    }
                };
                Values::Refs(rows.iter().map(value).collect())
            }
            Form::Datums(all) => {
                let value =
                    |row: &u32| all.get(*row as usize).map_or(DatumRef::Null, Datum::as_ref);
                return Vector::of_refs(self.repr, rows.iter().map(value).collect());
            }
        };
        let has_nulls = !self.nulls.is_empty() || rows.contains(&NO_ROW);
        let is_null = |row: &u32| match self.nulls.get(*row as usize) {
            Some(is_null) => *is_null,
            None => *row == NO_ROW,
        };
        let nulls = if has_nulls { rows.iter().map(is_null).collect() } else { Vec::new() };
        Vector { values, nulls }
    }
}

impl Form {
    fn of(vector: &Vector<'_>, repr: Repr) -> Form {
        match &vector.values {
            Values::Ints(ints) => Form::Ints { repr: ints.repr, values: Vec::new(), bound: 0 },
            Values::Decimals(all) => match all.shown {
                Shown::Same(shown) => {
                    Form::Decimals { scale: all.scale, mantissas: Vec::new(), shown, bound: 0 }
                }
                Shown::Each(_) => Form::Datums(Vec::new()),
            },
            Values::Floats(floats) => Form::Floats { repr: floats.repr, values: Vec::new() },
            Values::Codes(..) => Form::Codes(Box::default(), Vec::new()),
            Values::Refs(_) if repr == Repr::Text => {
                Form::Texts { all: String::new(), ends: Vec::new() }
            }
            Values::Refs(_) | Values::Datums(_) => Form::Datums(Vec::new()),
        }
    }
}

fn extend<T: Copy>(to: &mut Vec<T>, from: &[T], rows: &Selection) {
    match rows {
        Selection::All(count) => to.extend_from_slice(&from[..*count]),
        Selection::Some(rows) => to.extend(rows.iter().map(|row| from[usize::from(*row)])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dictionaries that rows came with are counted as long as they are kept: until no more rows come.
    #[test]
    fn known_dictionaries_are_counted() {
        let mut kept = KeptRows::new(&[Repr::Text]);
        for dictionary in 0..10 {
            let entries = (0..100).map(|n| Datum::text(format!("{dictionary} {n}"))).collect();
            let values = Values::Codes(Arc::new(Words::made(entries)), vec![7]);
            kept.add(0, &Vector { values, nulls: Vec::new() }, &Selection::All(1));
            kept.added(1);
        }
        let of_dictionaries = 10 * 100 * (size_of::<Datum>() + size_of::<u32>());
        assert!(kept.bytes() > of_dictionaries, "{} bytes", kept.bytes());
        kept.end();
        assert!(kept.bytes() < of_dictionaries, "{} bytes", kept.bytes());
        assert_eq!(kept.gather(0, &[3]).datum(0), Datum::text("3 7"));
    }

    /// Threads keep rows of one column as texts and by codes, and NULLs of both stay NULL. Those by codes once became the
    /// first text of their dictionary, or a panic where it had none.
    #[test]
    fn nulls_stay_where_forms_are_mixed() {
        let texts = Vector::of_refs(Repr::Text, vec![DatumRef::Text("a"), DatumRef::Null]);
        for (entries, nulls) in [(vec![Datum::text("b")], [true, false]), (vec![], [true, true])] {
            let values = Values::Codes(Arc::new(Words::made(entries)), vec![0, 0]);
            let coded = Vector { values, nulls: nulls.to_vec() };
            let kept = |vector: &Vector<'_>| {
                let mut kept = KeptRows::new(&[Repr::Text]);
                kept.add(0, vector, &Selection::All(2));
                kept.added(2);
                kept
            };
            let mut all = kept(&texts);
            all.append(kept(&coded));
            all.end();
            let given = all.gather(0, &[0, 1, 2, 3]);
            let null = |row: usize| given.datum(row).is_null();
            assert_eq!((given.datum(0), null(1)), (Datum::text("a"), true));
            assert_eq!([null(2), null(3)], nulls);
        }
    }
}
