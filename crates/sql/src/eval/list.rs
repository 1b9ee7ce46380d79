//! `IN (...)`: lists of values that are the same for all rows.
//!
//! ```text
//!   x IN (1, 2, 3)          the list is there when the program is compiled
//!   x IN ($1, $2)           it is made of an array when the first row asks, and kept for the others
//! ```

use std::cell::OnceCell;

use scalar::Comparison;
use types::{Datum, DatumRef, Result};

use super::{CachedValue, Op, Run};

/// Whether a value is one of a list that is the same for all rows: `IN (...)`, or `NOT IN (...)`.
#[derive(Debug)]
pub(super) struct Among {
    pub value: Op,
    pub list: Listing,
    pub is_not: bool,
}

/// Where a list comes from.
#[derive(Debug)]
pub(super) enum Listing {
    Known(List),
    /// An array that is computed once; the list is kept under this number.
    Once(usize, Op),
}

/// A list of values that is searched.
#[derive(Clone, Debug)]
pub struct List {
    /// In order, without NULLs; none if the list itself is NULL.
    values: Option<Vec<Datum>>,
    has_null: bool,
}

/// A list of so many values is looked through from the start.
const LIST_FEW: usize = 8;

impl List {
    pub(super) fn new(mut values: Vec<Datum>) -> List {
        let all = values.len();
        values.retain(|value| !value.is_null());
        let has_null = values.len() < all;
        values.sort();
        values.dedup();
        List { values: Some(values), has_null }
    }

    fn of(array: DatumRef<'_>) -> List {
        match array {
            DatumRef::Array(array) => List::new(array.iter().map(DatumRef::to_owned).collect()),
            _ => List { values: None, has_null: true },
        }
    }

    /// Whether a value is in it; `None` for NULL.
    fn has(&self, value: DatumRef<'_>) -> Option<bool> {
        let values = self.values.as_deref()?;
        if values.is_empty() && !self.has_null {
            return Some(false);
        }
        if value.is_null() {
            return None;
        }
        let is_there = match values.len() {
            ..=LIST_FEW => {
                let is_equal = |one: &Datum| Comparison::Equal.test(one.as_ref(), value);
                values.iter().any(|one| is_equal(one) == Some(true))
            }
            _ => values.binary_search_by(|one| one.as_ref().cmp(&value)).is_ok(),
        };
        if is_there { Some(true) } else { (!self.has_null).then_some(false) }
    }
}

impl Run<'_> {
    /// Whether a value is in a list; `None` for NULL.
    pub(super) fn is_among(&self, among: &Among, operand: DatumRef<'_>) -> Result<Option<bool>> {
        let own;
        let list = match &among.list {
            Listing::Known(list) => list,
            Listing::Once(number, array) => {
                let place = self.around.kept(*number);
                match place.and_then(OnceCell::get) {
                    Some(CachedValue::List(list)) => list,
                    _ => {
                        let made = List::of(self.value(array, operand)?.get());
                        match place
                            .map(|place| place.get_or_init(|| CachedValue::List(made.clone())))
                        {
                            Some(CachedValue::List(list)) => list,
                            _ => {
                                own = made;
                                &own
                            }
                        }
                    }
                }
            }
        };
        Ok(match self.leaf(&among.value) {
            Some(value) => list.has(value),
            None => list.has(self.value(&among.value, operand)?.get()),
        })
    }
}
