//! Predicates of paths: three truth values, and every error is `unknown`.
//!
//! A comparison looks at every pair of items of its two sides. A lax path is satisfied by the first
//! pair that is true; a strict one looks at all, and one that is unknown makes all unknown.

use std::cmp::Ordering;

use super::error::PathError;
use super::item::{Item, View};
use super::run::{Found, Run};
use super::syntax::{Comparison, Expr, Predicate};

/// The value of a predicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

impl From<bool> for Truth {
    fn from(value: bool) -> Truth {
        if value { Truth::True } else { Truth::False }
    }
}

impl<'a> Run<'a> {
    /// Runs a part in which soft errors come to nothing; hard ones stay.
    fn soft<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, PathError>,
    ) -> Result<Option<T>, PathError> {
        let outer = std::mem::replace(&mut self.quiet, true);
        let result = inner(self);
        self.quiet = outer;
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_hard() => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// The value of a predicate. Only hard errors come out.
    pub fn predicate(&mut self, predicate: &'a Predicate) -> Result<Truth, PathError> {
        match predicate {
            Predicate::And(row) => self.row(row, Truth::False),
            Predicate::Or(row) => self.row(row, Truth::True),
            Predicate::Not(inner) => Ok(match self.predicate(inner)? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            }),
            Predicate::IsUnknown(inner) => Ok((self.predicate(inner)? == Truth::Unknown).into()),
            Predicate::Exists(expr) => {
                // A strict path has to see all items to know that none is an error.
                let mut items = Vec::new();
                let found = Found(if self.lax { None } else { Some(&mut items) });
                Ok(match self.soft(|run| run.expr(expr, found))? {
                    None => Truth::Unknown,
                    Some(found) => (if self.lax { found } else { !items.is_empty() }).into(),
                })
            }
            Predicate::Compare(comparison, both) => {
                let (left, right) = &**both;
                let Some(left) = self.soft(|run| run.unwrapped(left))? else {
                    return Ok(Truth::Unknown);
                };
                let Some(right) = self.soft(|run| run.unwrapped(right))? else {
                    return Ok(Truth::Unknown);
                };
                let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
                self.any(pairs, |run, (left, right)| run.compare(*comparison, left, right))
            }
            Predicate::StartsWith(both) => {
                let (whole, initial) = &**both;
                let Some(whole) = self.soft(|run| run.unwrapped(whole))? else {
                    return Ok(Truth::Unknown);
                };
                let Some(initial) = self.soft(|run| run.all(initial))? else {
                    return Ok(Truth::Unknown);
                };
                let pairs = whole.iter().flat_map(|w| initial.iter().map(move |i| (w, i)));
                self.any(pairs, |_, (whole, initial)| match (whole.view(), initial.view()) {
                    (View::String(whole), View::String(initial)) => {
                        Ok(whole.starts_with(initial).into())
                    }
                    _ => Ok(Truth::Unknown),
                })
            }
            Predicate::LikeRegex(both) => {
                let (expr, pattern) = &**both;
                let Some(items) = self.soft(|run| run.unwrapped(expr))? else {
                    return Ok(Truth::Unknown);
                };
                self.any(items.iter(), |_, item| match item.view() {
                    View::String(string) => Ok(pattern.is_match(string).into()),
                    _ => Ok(Truth::Unknown),
                })
            }
        }
    }

    /// All items of an expression, arrays as they are.
    fn all(&mut self, expr: &'a Expr) -> Result<Vec<Item<'a>>, PathError> {
        let mut items = Vec::new();
        self.expr(expr, Found(Some(&mut items)))?;
        Ok(items)
    }

    /// `&&` and `||`: `decisive` ends it; without that, one unknown makes all unknown.
    fn row(&mut self, row: &'a [Predicate], decisive: Truth) -> Result<Truth, PathError> {
        let mut unknown = false;
        for predicate in row {
            match self.predicate(predicate)? {
                Truth::Unknown => unknown = true,
                truth if truth == decisive => return Ok(decisive),
                _ => {}
            }
        }
        Ok(match (unknown, decisive) {
            (true, _) => Truth::Unknown,
            (false, Truth::True) => Truth::False,
            (false, _) => Truth::True,
        })
    }

    /// Whether a test is true of any of the cases.
    fn any<T>(
        &mut self,
        cases: impl Iterator<Item = T>,
        test: impl Fn(&Self, T) -> Result<Truth, PathError>,
    ) -> Result<Truth, PathError> {
        let (mut found, mut unknown) = (false, false);
        for case in cases {
            match test(self, case)? {
                Truth::True if self.lax => return Ok(Truth::True),
                Truth::True => found = true,
                Truth::Unknown if !self.lax => return Ok(Truth::Unknown),
                Truth::Unknown => unknown = true,
                Truth::False => {}
            }
        }
        Ok(match (found, unknown) {
            (true, _) => Truth::True,
            (false, true) => Truth::Unknown,
            (false, false) => Truth::False,
        })
    }

    fn compare(
        &self,
        comparison: Comparison,
        left: &Item<'a>,
        right: &Item<'a>,
    ) -> Result<Truth, PathError> {
        let order = match (left.view(), right.view()) {
            (View::Null, View::Null) => Ordering::Equal,
            // Null is not equal to anything else, and neither more nor less.
            (View::Null, _) | (_, View::Null) => {
                return Ok((comparison == Comparison::NotEqual).into());
            }
            (View::Bool(a), View::Bool(b)) => a.cmp(&b),
            (View::Number(a), View::Number(b)) => a.cmp(b),
            (View::String(a), View::String(b)) => a.cmp(b),
            (View::Datetime(a), View::Datetime(b)) => {
                match self.options.datetimes.compare(a, b)? {
                    Some(order) => order,
                    None => return Ok(Truth::Unknown),
                }
            }
            _ => return Ok(Truth::Unknown),
        };
        Ok(match comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
        .into())
    }
}
