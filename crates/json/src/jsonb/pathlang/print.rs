//! A path as PostgreSQL prints it: names quoted, `!=` for `<>`, parentheses by rank.
//!
//! ```text
//!   $.a ? (@ > 1) + 2*3          ($."a"?(@ > 1) + 2 * 3)
//! ```
//!
//! A printed path reads back as the same path. For that there are two differences from PostgreSQL.
//! Where a step stands behind an operator inside another one, the operator keeps its parentheses
//! (`($."a" + 1).abs() == 2`); without them the step would belong to the last operand. And a row of
//! more than fifty operators is printed flat: `a && b && c` and not `((a && b) && c)`.

use std::fmt::{self, Display, Formatter};

use super::Path;
use super::syntax::{Expr, Head, LEVEL_LAST, Method, Operator, Predicate, Range, Step};
use crate::jsonb::Jsonb;
use crate::text;

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.lax {
            f.write_str("strict ")?;
        }
        expr(&self.expr, true, f)
    }
}

/// How strongly operators bind: inside an operator, those that do not bind more than it does stand
/// in parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Or,
    And,
    Compare,
    Sum,
    Product,
    Sign,
    /// No operator; and `like_regex`, inside which every operator stands in parentheses.
    Atom,
}

/// Operators from left to right that are printed inside each other, at most.
const NESTED_MAX: usize = 50;

/// How many parentheses a row of operators opens at its front, and has closed again before the
/// last operator.
fn nested(operators: usize) -> usize {
    if operators > NESTED_MAX { 0 } else { operators - 1 }
}

fn rank(expr: &Expr) -> Rank {
    match &expr.head {
        Head::Predicate(predicate) => rank_of_predicate(predicate),
        Head::Sign(..) => Rank::Sign,
        Head::Arithmetic(_, others) => rank_of_row(others),
        _ => Rank::Atom,
    }
}

fn rank_of_row(others: &[(Operator, Expr)]) -> Rank {
    match others.first() {
        Some((Operator::Add | Operator::Subtract, _)) => Rank::Sum,
        _ => Rank::Product,
    }
}

fn rank_of_predicate(predicate: &Predicate) -> Rank {
    match predicate {
        Predicate::Or(_) => Rank::Or,
        Predicate::And(_) => Rank::And,
        Predicate::Compare(..) | Predicate::StartsWith(..) => Rank::Compare,
        _ => Rank::Atom,
    }
}

fn quoted(string: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(&text::quote(string))
}

/// Writes `inner` in parentheses where they are wanted.
fn enclosed(
    wanted: bool,
    f: &mut Formatter<'_>,
    inner: impl FnOnce(&mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    if wanted {
        f.write_str("(")?;
    }
    inner(f)?;
    enclosed_end(wanted, f)
}

fn enclosed_end(wanted: bool, f: &mut Formatter<'_>) -> fmt::Result {
    if wanted { f.write_str(")") } else { Ok(()) }
}

/// Writes an expression; an operator gets parentheses where `parentheses` says so.
fn expr(expr: &Expr, parentheses: bool, f: &mut Formatter<'_>) -> fmt::Result {
    head(&expr.head, parentheses, !expr.steps.is_empty(), f)?;
    expr.steps.iter().try_for_each(|step| self::step(step, f))
}

/// Writes an operand of an operator of the given rank.
fn operand(inner: &Expr, outer: Rank, f: &mut Formatter<'_>) -> fmt::Result {
    expr(inner, rank(inner) <= outer, f)
}

fn head(head: &Head, parentheses: bool, has_steps: bool, f: &mut Formatter<'_>) -> fmt::Result {
    let parentheses = parentheses || has_steps;
    match head {
        Head::Literal(value) => {
            let is_number = value.root().as_number().is_some();
            enclosed(is_number && has_steps, f, |f| value.fmt(f))
        }
        Head::Root => f.write_str("$"),
        Head::Current => f.write_str("@"),
        Head::Last => f.write_str("last"),
        Head::Variable(name) => {
            f.write_str("$")?;
            quoted(name, f)
        }
        Head::Sign(sign, inner) => enclosed(parentheses, f, |f| {
            f.write_str(sign.text())?;
            operand(inner, Rank::Sign, f)
        }),
        Head::Arithmetic(first, others) => enclosed(parentheses, f, |f| {
            let rank = rank_of_row(others);
            let nested = nested(others.len());
            f.write_str(&"(".repeat(nested))?;
            operand(first, rank, f)?;
            for (at, (operator, other)) in others.iter().enumerate() {
                write!(f, " {} ", operator.text())?;
                operand(other, rank, f)?;
                enclosed_end(at < nested, f)?;
            }
            Ok(())
        }),
        Head::Predicate(inner) => {
            let is_atom = matches!(
                **inner,
                Predicate::Not(_) | Predicate::IsUnknown(_) | Predicate::Exists(_)
            );
            enclosed(is_atom && has_steps, f, |f| predicate(inner, parentheses, f))
        }
    }
}

/// Writes a predicate; an operator gets parentheses where `parentheses` says so.
fn predicate(inner: &Predicate, parentheses: bool, f: &mut Formatter<'_>) -> fmt::Result {
    match inner {
        Predicate::And(row) => enclosed(parentheses, f, |f| self::row(row, Rank::And, " && ", f)),
        Predicate::Or(row) => enclosed(parentheses, f, |f| self::row(row, Rank::Or, " || ", f)),
        Predicate::Not(inner) => {
            f.write_str("!(")?;
            predicate(inner, false, f)?;
            f.write_str(")")
        }
        Predicate::IsUnknown(inner) => {
            f.write_str("(")?;
            predicate(inner, false, f)?;
            f.write_str(") is unknown")
        }
        Predicate::Compare(comparison, both) => enclosed(parentheses, f, |f| {
            operand(&both.0, Rank::Compare, f)?;
            write!(f, " {} ", comparison.text())?;
            operand(&both.1, Rank::Compare, f)
        }),
        Predicate::StartsWith(both) => enclosed(parentheses, f, |f| {
            operand(&both.0, Rank::Compare, f)?;
            f.write_str(" starts with ")?;
            operand(&both.1, Rank::Compare, f)
        }),
        Predicate::LikeRegex(both) => enclosed(parentheses, f, |f| {
            let (inner, pattern) = &**both;
            operand(inner, Rank::Atom, f)?;
            f.write_str(" like_regex ")?;
            quoted(pattern.source(), f)?;
            match pattern.flags() {
                "" => Ok(()),
                flags => write!(f, " flag \"{flags}\""),
            }
        }),
        Predicate::Exists(inner) => {
            f.write_str("exists (")?;
            expr(inner, false, f)?;
            f.write_str(")")
        }
    }
}

fn row(row: &[Predicate], rank: Rank, join: &str, f: &mut Formatter<'_>) -> fmt::Result {
    let nested = nested(row.len() - 1);
    f.write_str(&"(".repeat(nested))?;
    for (at, inner) in row.iter().enumerate() {
        if at > 0 {
            f.write_str(join)?;
        }
        predicate(inner, rank_of_predicate(inner) <= rank, f)?;
        enclosed_end(at > 0 && at <= nested, f)?;
    }
    Ok(())
}

fn step(step: &Step, f: &mut Formatter<'_>) -> fmt::Result {
    match step {
        Step::Key(name) => {
            f.write_str(".")?;
            quoted(name, f)
        }
        Step::AnyKey => f.write_str(".*"),
        Step::AnyElement => f.write_str("[*]"),
        Step::Elements(ranges) => {
            for (at, Range { from, to }) in ranges.iter().enumerate() {
                f.write_str(if at > 0 { "," } else { "[" })?;
                expr(from, false, f)?;
                if let Some(to) = to {
                    f.write_str(" to ")?;
                    expr(to, false, f)?;
                }
            }
            f.write_str("]")
        }
        Step::AnyLevel { first: 0, last: LEVEL_LAST } => f.write_str(".**"),
        Step::AnyLevel { first, last } => {
            f.write_str(".**{")?;
            level(*first, f)?;
            if first != last {
                f.write_str(" to ")?;
                level(*last, f)?;
            }
            f.write_str("}")
        }
        Step::Filter(inner) => {
            f.write_str("?(")?;
            predicate(inner, false, f)?;
            f.write_str(")")
        }
        Step::Method(method) => {
            write!(f, ".{}(", method.name())?;
            arguments(method, f)?;
            f.write_str(")")
        }
    }
}

fn level(level: u32, f: &mut Formatter<'_>) -> fmt::Result {
    if level == LEVEL_LAST { f.write_str("last") } else { level.fmt(f) }
}

fn arguments(method: &Method, f: &mut Formatter<'_>) -> fmt::Result {
    match method {
        Method::Decimal(numbers) => {
            let texts = Vec::from_iter(numbers.iter().map(Jsonb::to_json));
            f.write_str(&texts.join(","))
        }
        Method::Datetime(Some(template)) => quoted(template, f),
        Method::Time(Some(precision))
        | Method::TimeTz(Some(precision))
        | Method::Timestamp(Some(precision))
        | Method::TimestampTz(Some(precision)) => precision.fmt(f),
        _ => Ok(()),
    }
}
