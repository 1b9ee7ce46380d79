//! The members that a value needs for a path to find something: the search of an index of names and
//! scalars.
//!
//! ```text
//!   $.a.b ? (@.c == "x")        the names a, b, c; and "x" at the end of the way a, b, c
//!   $.a == 1 || exists($.b)     (a, and 1 at the end of the way a) or b
//!   $.*.c == 1                  the name c, and 1 somewhere
//! ```
//!
//! The condition is necessary and not sufficient: a caller that finds values by it runs the path on
//! them. Elements of arrays are on the way of their array.

use super::Path;
use super::syntax::{Comparison, Expr, Head, Predicate, Step};
use crate::jsonb::Jsonb;

/// The members that a value needs.
#[derive(Clone, PartialEq, Debug)]
pub enum Needs {
    /// All of these; of none, it need not have anything.
    All(Vec<Needs>),
    /// Any of these.
    Any(Vec<Needs>),
    /// A field of this name.
    Name(String),
    /// A scalar.
    Scalar {
        /// The names of the fields that lead to it, where they are known.
        way: Option<Vec<String>>,
        /// The scalar.
        value: Jsonb,
    },
}

const NOTHING: Needs = Needs::All(Vec::new());

impl Path {
    /// The members that a value needs for [`Path::exists`] to be true; with `matches`, for
    /// [`Path::matches`].
    pub fn needs(&self, matches: bool) -> Needs {
        let root = Some(Vec::new());
        match (matches, &self.expr) {
            (false, expr) => found(expr, &root).0,
            (true, Expr { head: Head::Predicate(predicate), steps }) if steps.is_empty() => {
                truth(predicate, &root)
            }
            (true, _) => NOTHING,
        }
    }
}

type Way = Option<Vec<String>>;

/// The members that an expression needs to give anything, and the way to its result; no way at all
/// (`None` of the outer option) where that is computed and not found.
fn found(expr: &Expr, current: &Way) -> (Needs, Option<Way>) {
    let mut way = match &expr.head {
        Head::Root => Some(Vec::new()),
        Head::Current => current.clone(),
        _ => return (NOTHING, None),
    };
    let mut all = Vec::new();
    for step in &expr.steps {
        match step {
            Step::Key(name) => {
                all.push(Needs::Name(name.clone()));
                way.iter_mut().for_each(|way| way.push(name.clone()));
            }
            Step::AnyElement | Step::Elements(_) => {}
            Step::AnyKey | Step::AnyLevel { .. } => way = None,
            Step::Filter(predicate) => all.push(truth(predicate, &way)),
            // A method makes the values after it.
            Step::Method(_) => return (Needs::All(all), None),
        }
    }
    (Needs::All(all), Some(way))
}

/// The members that a predicate needs to be true.
fn truth(predicate: &Predicate, current: &Way) -> Needs {
    let each = |list: &[Predicate]| list.iter().map(|part| truth(part, current)).collect();
    match predicate {
        Predicate::And(list) => Needs::All(each(list)),
        Predicate::Or(list) => Needs::Any(each(list)),
        Predicate::Not(_) | Predicate::IsUnknown(_) => NOTHING,
        Predicate::Exists(expr) => found(expr, current).0,
        Predicate::StartsWith(sides) => found(&sides.0, current).0,
        Predicate::LikeRegex(sides) => found(&sides.0, current).0,
        Predicate::Compare(comparison, sides) => {
            let (left, right) = (&sides.0, &sides.1);
            let mut all = vec![found(left, current).0, found(right, current).0];
            if *comparison == Comparison::Equal {
                for (side, other) in [(left, right), (right, left)] {
                    if let (Head::Literal(value), []) = (&other.head, &other.steps[..])
                        && let Some(way) = found(side, current).1
                    {
                        all.push(Needs::Scalar { way, value: value.clone() });
                    }
                }
            }
            Needs::All(all)
        }
    }
}
