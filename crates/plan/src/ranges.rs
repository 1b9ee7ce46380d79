//! Ranges of a key: the bounds that conditions put on it, as bytes in key form.
//!
//! ```text
//!   key columns    a ASC   b DESC
//!   a = 3, b > 5   prefix  01 (3)      then b: everything before the key form of 5
//!   a = any (..)   one range for each different element, in the order of the key
//! ```
//!
//! NULL is equal to nothing, so a range with a NULL is empty; and what is greater than a value does not include NULL,
//! though NULL lies behind it.

use std::ops::Bound;

use table::index::{Fit, fit};
use types::{Datum, KeyOrder, Repr, Result, key};

use crate::tree::Equal;

/// Keys between two bounds, in key form.
pub type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The conditions on the first columns of a key.
pub struct Binding<'a, V> {
    /// How the columns are held, and their order.
    pub columns: &'a [(Repr, KeyOrder)],
    /// The values that the first columns are equal to.
    pub equal: &'a [Equal<V>],
    /// Where the column after those begins, and true if the value itself is in the range.
    pub low: Option<(&'a V, bool)>,
    /// Where it ends.
    pub high: Option<(&'a V, bool)>,
}

impl<V> Binding<'_, V> {
    /// The ranges, in the order of the key. `value` computes a value.
    ///
    /// # Errors
    /// The errors of `value`.
    pub fn ranges(&self, value: &mut dyn FnMut(&V) -> Result<Datum>) -> Result<Vec<Range>> {
        // The values of the first columns: one prefix for each combination of elements.
        let mut prefixes: Vec<Vec<u8>> = vec![Vec::with_capacity(16)];
        for (equal, (repr, order)) in self.equal.iter().zip(self.columns) {
            if let Equal::AnyOf(array) = equal {
                let mut forms: Vec<Vec<u8>> = elements(value(array)?, *repr)
                    .iter()
                    .map(|value| {
                        let mut form = Vec::new();
                        key::write(value.as_ref(), *order, &mut form);
                        form
                    })
                    .collect();
                forms.sort();
                forms.dedup();
                let with = |prefix: &Vec<u8>| -> Vec<Vec<u8>> {
                    forms.iter().map(|form| [&prefix[..], form].concat()).collect()
                };
                prefixes = prefixes.iter().flat_map(with).collect();
                continue;
            }
            let Some(value) = equal.value(*repr, value)? else { return Ok(Vec::new()) };
            for prefix in &mut prefixes {
                key::write(value.as_ref(), *order, prefix);
            }
        }
        let mut ranges = Vec::with_capacity(prefixes.len());
        for prefix in prefixes {
            ranges.extend(self.range(value, prefix)?);
        }
        Ok(ranges)
    }

    /// The keys that begin with a prefix and whose next column is between the ends.
    fn range(
        &self,
        value: &mut dyn FnMut(&V) -> Result<Datum>,
        prefix: Vec<u8>,
    ) -> Result<Option<Range>> {
        let all = |prefix: Vec<u8>| {
            let end = successor(&prefix);
            (if prefix.is_empty() { Bound::Unbounded } else { Bound::Included(prefix) }, end)
        };
        if self.low.is_none() && self.high.is_none() {
            return Ok(Some(all(prefix)));
        }
        let (repr, order) = self.columns[self.equal.len()];
        // The values of the column without NULL: what begins with the prefix and VALUE.
        let mut values = prefix.clone();
        key::write(Datum::Null.as_ref(), order, &mut values);
        let is_null_last = !order.has_nulls_first;
        let (mut lower, mut upper) = if is_null_last {
            (all(prefix.clone()).0, Bound::Excluded(values))
        } else {
            (successor(&values), successor(&prefix))
        };
        for (end, is_low) in [(&self.low, true), (&self.high, false)] {
            let Some((of, inclusive)) = end else { continue };
            let value = match fit(value(of)?, repr) {
                Fit::Null => return Ok(None),
                // Everything is above what lies below all.
                Fit::Below if is_low => continue,
                Fit::Above if !is_low => continue,
                Fit::Below | Fit::Above => return Ok(None),
                Fit::Value(value) => value,
            };
            let mut form = prefix.clone();
            key::write(value.as_ref(), order, &mut form);
            // In a descending column the smallest values come last.
            if is_low != order.is_descending {
                lower = if *inclusive { Bound::Included(form) } else { successor_bound(&form) };
            } else {
                upper = if *inclusive { successor(&form) } else { Bound::Excluded(form) };
            }
        }
        Ok(Some((as_lower(lower), upper)))
    }
}

impl<V> Equal<V> {
    /// The one value that a column is equal to, as the column holds it; `None` if no row can have it, or any of
    /// several will do.
    ///
    /// # Errors
    /// The errors of `value`.
    pub fn value(
        &self,
        repr: Repr,
        value: &mut dyn FnMut(&V) -> Result<Datum>,
    ) -> Result<Option<Datum>> {
        match self {
            Equal::Null => Ok(Some(Datum::Null)),
            Equal::One(of) => match fit(value(of)?, repr) {
                Fit::Value(value) => Ok(Some(value)),
                _ => Ok(None),
            },
            Equal::AnyOf(_) => Ok(None),
        }
    }
}

/// The elements of an array that a column can be equal to.
fn elements(array: Datum, repr: Repr) -> Vec<Datum> {
    let Datum::Array(array) = array else { return Vec::new() };
    let fitting = array.as_ref().iter().filter_map(|element| match fit(element.to_owned(), repr) {
        Fit::Value(value) => Some(value),
        _ => None,
    });
    fitting.collect()
}

/// The end of the keys that begin with a prefix.
fn successor(prefix: &[u8]) -> Bound<Vec<u8>> {
    let Some(last) = prefix.iter().rposition(|byte| *byte != u8::MAX) else {
        return Bound::Unbounded;
    };
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Bound::Excluded(end)
}

/// The beginning of the keys behind those that begin with a prefix.
fn successor_bound(prefix: &[u8]) -> Bound<Vec<u8>> {
    as_lower(successor(prefix))
}

/// The end of a range as the beginning of the one behind it.
fn as_lower(bound: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match bound {
        Bound::Excluded(end) => Bound::Included(end),
        other => other,
    }
}
