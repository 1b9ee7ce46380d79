//! Which keys a scan reads: ranges that are computed when it starts, and what an index of items is asked.
//!
//! ```text
//!   key columns    a ASC   b DESC
//!   a = 3, b > 5   prefix  01 (3)      then b: everything before the key form of 5
//!   a = any (..)   one range for each different element, in the order of the key
//! ```
//!
//! A range is made of key forms. NULL is equal to nothing, so a range with a NULL is empty; and what
//! is greater than a value does not include NULL, though NULL lies behind it.

use std::collections::VecDeque;
use std::ops::Bound;

use sql::eval::{Program, Row as EvalRow};
use types::{Datum, KeyOrder, Oid, Repr, Result, key};

use crate::ctx::Env;
use crate::tables::{Asked, Range};
use table::index::{Ask, Fit, fit};

/// What a column of the key is equal to.
pub(crate) enum Equal {
    One(Program),
    AnyOf(Program),
    Null,
}

/// How the rows are found, ready to be computed.
pub(crate) struct Path {
    pub(crate) index: Option<Oid>,
    pub(crate) is_backward: bool,
    /// The columns of the key that are bound, in order, and how they are held.
    pub(crate) columns: Vec<(Repr, KeyOrder)>,
    pub(crate) equal: Vec<Equal>,
    /// True where at most one row is in the range, whose key, or entry in the index, is what it begins with.
    pub(crate) is_single: bool,
    pub(crate) may_read_all: bool,
    pub(crate) low: Option<(Program, bool)>,
    pub(crate) high: Option<(Program, bool)>,
    /// What an index of items is asked: of which part, and for which value.
    pub(crate) asked: Vec<(usize, Ask, Program)>,
}

impl Path {
    /// What the rows must have, as an index of items is asked; none where no row can have it.
    pub(crate) fn asked(&self, env: &Env<'_>) -> Result<Option<Vec<Asked>>> {
        let mut all = Vec::with_capacity(self.asked.len());
        for (part, ask, program) in &self.asked {
            let value = env.value(program, EvalRow::NONE)?;
            if value.is_null() {
                return Ok(None);
            }
            all.push(Asked { part: *part, ask: *ask, value });
        }
        Ok(Some(all))
    }

    /// The ranges of keys, in the order in which they are read.
    pub(crate) fn ranges(&self, env: &Env<'_>) -> Result<VecDeque<Range>> {
        // The values of the first columns: one prefix for each combination of elements.
        let mut prefixes: Vec<Vec<u8>> = vec![Vec::with_capacity(16)];
        for (equal, (repr, order)) in self.equal.iter().zip(&self.columns) {
            if let Equal::AnyOf(program) = equal {
                let mut forms: Vec<Vec<u8>> = elements(env.value(program, EvalRow::NONE)?, *repr)
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
            let Some(value) = equal.value(env, *repr)? else { return Ok(VecDeque::new()) };
            for prefix in &mut prefixes {
                key::write(value.as_ref(), *order, prefix);
            }
        }
        let mut ranges = VecDeque::with_capacity(prefixes.len());
        for prefix in prefixes {
            ranges.extend(self.range(env, prefix)?);
        }
        if self.is_backward {
            ranges.make_contiguous().reverse();
        }
        Ok(ranges)
    }

    /// The keys that begin with a prefix and whose next column is between the ends.
    fn range(&self, env: &Env<'_>, prefix: Vec<u8>) -> Result<Option<Range>> {
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
            let Some((program, inclusive)) = end else { continue };
            let value = match fit(env.value(program, EvalRow::NONE)?, repr) {
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

impl Equal {
    /// The one value that a column is equal to; none where no row can have it.
    pub(crate) fn value(&self, env: &Env<'_>, repr: Repr) -> Result<Option<Datum>> {
        match self {
            Equal::Null => Ok(Some(Datum::Null)),
            Equal::One(program) => match fit(env.value(program, EvalRow::NONE)?, repr) {
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
