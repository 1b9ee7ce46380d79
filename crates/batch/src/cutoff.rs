//! [`Cutoff`]: a limit above a sort has enough rows, and leaves out rows whose first key comes later.
//!
//! ```text
//!   order by price desc limit 10     the tenth price so far is 990
//!     price 985, 991, 300      ──>   991
//!     a block from 5 to 400    ──>   is not read
//! ```

use scalar::Comparison;
use stripe::{Bounds, Zone};
use types::{Datum, KeyOrder, Repr, Result, key};

use crate::compare::keep_numbers;
use crate::slice::Selection;
use crate::vector::{Vector, int_of, is_int};

/// How many rows are wanted in the order of a column, and the value behind which none is.
#[derive(Clone, Debug)]
pub struct Cutoff {
    column: usize,
    order: KeyOrder,
    /// True if rows with the same value are wanted: further keys decide about them.
    keeps_equal: bool,
    /// How many rows are wanted.
    count: usize,
    /// The value that the last of so many rows has; `None` before there are so many.
    last: Option<Last>,
}

#[derive(Clone, Debug)]
struct Last {
    value: Datum,
    key: Vec<u8>,
}

impl Last {
    fn new(value: Datum, order: KeyOrder) -> Last {
        let mut key = Vec::new();
        key::write(value.as_ref(), order, &mut key);
        Last { value, key }
    }
}

impl Cutoff {
    /// Returns what leaves out rows behind the first `count` in the order of a column. Of rows with the value of the last
    /// one it leaves out none if they are to be kept, else those that come later.
    pub fn new(column: usize, order: KeyOrder, keeps_equal: bool, count: usize) -> Cutoff {
        Cutoff { column, order, keeps_equal, count: count.max(1), last: None }
    }

    /// Returns the same, with the value that the last of `count` rows has so far.
    pub fn at(self, last: Datum) -> Cutoff {
        let last = Some(Last::new(last, self.order));
        Cutoff { last, ..self }
    }

    /// Returns the column, by its position.
    pub fn column(&self) -> usize {
        self.column
    }

    fn how(&self, keeps_equal: bool) -> Comparison {
        match (self.order.is_descending, keeps_equal) {
            (false, false) => Comparison::Less,
            (false, true) => Comparison::LessOrEqual,
            (true, false) => Comparison::Greater,
            (true, true) => Comparison::GreaterOrEqual,
        }
    }

    /// Returns true if the zone of a block tells that no row of it is wanted.
    pub(crate) fn leaves_out(&self, zone: &Zone, repr: Repr) -> bool {
        let Bounds::Ints(min, max) = zone.bounds else { return false };
        let Some(Last { value, .. }) = &self.last else { return false };
        // The mantissas of decimals have a scale that the zone does not tell.
        let is_alike = is_int(repr) && value.as_ref().repr() == Some(repr);
        if !is_alike || zone.nulls > 0 && self.order.has_nulls_first {
            return false;
        }
        let Some(value) = int_of(value.as_ref()) else { return false };
        match self.how(self.keeps_equal) {
            Comparison::Less => min >= value,
            Comparison::LessOrEqual => min > value,
            Comparison::Greater => max <= value,
            _ => max < value,
        }
    }

    /// Keeps the rows that are wanted, by the values of the column.
    ///
    /// # Errors
    /// None that the values do not have already.
    pub(crate) fn narrow(&mut self, vector: &Vector<'_>, rows: &mut Selection) -> Result<()> {
        if let Some(last) = &self.last {
            self.keep(vector, last, self.keeps_equal, rows)?;
        }
        if rows.len() / 2 < self.count {
            return Ok(());
        }
        // So many of these rows alone are wanted at most.
        let mut keys: Vec<(Vec<u8>, usize)> = Vec::with_capacity(rows.len());
        rows.each(|row| {
            let mut key = Vec::new();
            vector.with(row, |value| key::write(value, self.order, &mut key));
            keys.push((key, row));
        });
        let (_, (_, row), _) = keys.select_nth_unstable(self.count - 1);
        let last = Last::new(vector.datum(*row), self.order);
        self.keep(vector, &last, true, rows)?;
        self.last = Some(last);
        Ok(())
    }

    /// Keeps the rows that are not behind a value.
    fn keep(
        &self,
        vector: &Vector<'_>,
        last: &Last,
        keeps_equal: bool,
        rows: &mut Selection,
    ) -> Result<()> {
        let has_values = vector.nulls.is_empty() && !last.value.is_null();
        if has_values && keep_numbers(vector, self.how(keeps_equal), last.value.as_ref(), rows) {
            return Ok(());
        }
        let mut key = Vec::new();
        rows.try_retain(|row| {
            key.clear();
            vector.with(row, |value| key::write(value, self.order, &mut key));
            Ok(key < last.key || keeps_equal && key == last.key)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[Option<i32>]) -> Vector<'static> {
        let datum = |value: &Option<i32>| value.map_or(Datum::Null, Datum::Int4);
        Vector::of_datums(Repr::Int4, values.iter().map(datum).collect())
    }

    /// Returns the places of the rows that are kept.
    fn kept(cutoff: &mut Cutoff, vector: &Vector<'_>, count: usize) -> Vec<usize> {
        let mut rows = Selection::All(count);
        cutoff.narrow(vector, &mut rows).expect("values that compare");
        let mut kept = Vec::new();
        rows.each(|row| kept.push(row));
        kept
    }

    /// Of a slice the first rows are kept. Rows of later slices that are equal to the last of them come too late, unless
    /// another key decides.
    #[test]
    fn as_many_rows_are_kept_as_are_wanted() {
        let (first, second) = (ints(&[9, 1, 5, 3, 5, 7].map(Some)), ints(&[3, 2, 8].map(Some)));
        for (keeps_equal, later) in [(false, vec![1]), (true, vec![0, 1])] {
            let mut cutoff = Cutoff::new(0, KeyOrder::ASCENDING, keeps_equal, 2);
            assert_eq!(kept(&mut cutoff, &first, 6), [1, 3]);
            assert_eq!(kept(&mut cutoff, &second, 3), later);
        }
        let mut cutoff = Cutoff::new(0, KeyOrder::DESCENDING, false, 3);
        // Both rows with 5 stay: nothing says yet which of them is the third.
        assert_eq!(kept(&mut cutoff, &first, 6), [0, 2, 4, 5]);
    }

    /// NULLs come where the order has them.
    #[test]
    fn nulls_have_their_place() {
        let vector = ints(&[Some(4), None, Some(2), None, Some(6), Some(1)]);
        let nulls_first = KeyOrder { is_descending: false, has_nulls_first: true };
        for (order, expected) in [
            (KeyOrder::ASCENDING, vec![0, 2, 5]),
            (nulls_first, vec![1, 3, 5]),
            (KeyOrder::DESCENDING, vec![1, 3, 4]),
        ] {
            assert_eq!(kept(&mut Cutoff::new(0, order, false, 3), &vector, 6), expected);
        }
        // Behind NULL, which comes first, are all values.
        let mut cutoff = Cutoff::new(0, nulls_first, true, 1).at(Datum::Null);
        assert_eq!(kept(&mut cutoff, &ints(&[Some(4), None]), 2), [1]);
        // Before NULL, which comes last, are all values.
        let mut cutoff = Cutoff::new(0, KeyOrder::ASCENDING, true, 9).at(Datum::Null);
        assert_eq!(kept(&mut cutoff, &ints(&[Some(4), None]), 2), [0, 1]);
    }

    /// A block is passed by what its zone says of the least and the greatest value.
    #[test]
    fn zones_tell_what_is_not_wanted() {
        let zone = Zone::of(stripe::Column::Ints(&[5, 7, 9]), &[false; 3]);
        let asks = |order, keeps_equal, last| {
            let cutoff = Cutoff::new(0, order, keeps_equal, 1).at(Datum::Int4(last));
            cutoff.leaves_out(&zone, Repr::Int4)
        };
        assert!(asks(KeyOrder::ASCENDING, true, 4) && !asks(KeyOrder::ASCENDING, true, 5));
        assert!(asks(KeyOrder::ASCENDING, false, 5) && !asks(KeyOrder::ASCENDING, false, 6));
        let descending = KeyOrder { has_nulls_first: false, ..KeyOrder::DESCENDING };
        assert!(asks(descending, true, 10) && !asks(descending, true, 9));
        assert!(!Cutoff::new(0, KeyOrder::ASCENDING, true, 1).leaves_out(&zone, Repr::Int4));
    }
}
