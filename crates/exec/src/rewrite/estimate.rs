//! How many rows operators give, as far as one can tell before they run.
//!
//! ```text
//!   rows of a scan     rows of the table, times the chance that each condition is true of a row
//!   rows of a join     rows of both sides multiplied, times the chance of its conditions
//!   a = b              1 in as many as the side with more values has different ones
//! ```
//!
//! The number of rows of a table is known exactly, and that of the values of a unique key follows from it.
//! Other figures are guesses, the usual ones of System R (Selinger et al., 1979) and PostgreSQL.

use sql::plan::{Expr, ExprKind};
use types::{Datum, Type};

use super::expr::{column_of, comparison, sees_nothing};
use crate::plan::{Equal, JoinKind, Kind, Node, Scan};
use crate::tables::{KeyFacts, KeyPart, Schema, TableFacts};

/// Rows that a table is thought to have of which nothing is known.
const ROWS_UNKNOWN: f64 = 1000.0;
/// How many different values a column is thought to have.
const DISTINCT: f64 = 200.0;
/// How many rows are thought to have the same value of the first column of an index.
const ROWS_PER_VALUE: f64 = 8.0;

/// The chance that `<`, `<=`, `>` or `>=` is true.
const RANGE: f64 = 0.33;
/// That a text is like a pattern.
const PATTERN: f64 = 0.1;
/// That a value is NULL.
const NULL: f64 = 0.02;
/// That a condition is true of which nothing else is known.
const OTHER: f64 = 0.33;
/// That there is a row that a subquery asks for.
const SUBQUERY: f64 = 0.5;
/// That an index of items finds a row.
const ITEMS: f64 = 0.02;

/// About how many rows an operator gives.
pub(crate) fn rows(node: &Node, schema: &dyn Schema) -> f64 {
    match &node.kind {
        Kind::Values(rows) => rows.len() as f64,
        Kind::Scan(scan) => rows_of_scan(scan, schema),
        Kind::Filter { input, condition } => {
            let chance = chance(condition, &|column| distinct(input, column, schema));
            (rows(input, schema) * chance).max(1.0)
        }
        Kind::Project { input, .. }
        | Kind::Window { input, .. }
        | Kind::Sort { input, .. }
        | Kind::LockRows { input, .. }
        | Kind::With { input, .. }
        | Kind::DistinctOn { input, .. }
        | Kind::Distinct(input) => rows(input, schema),
        Kind::Limit { input, limit, .. } => {
            let all = rows(input, schema);
            match limit.as_ref().and_then(constant) {
                Some(limit) => all.min(limit),
                None => all,
            }
        }
        Kind::Aggregate(aggregate) if aggregate.keys.is_empty() => 1.0,
        Kind::Aggregate(aggregate) => (rows(&aggregate.input, schema) * 0.2).max(1.0),
        Kind::Join(join) => {
            let (left, right) = (rows(&join.left, schema), rows(&join.right, schema));
            let width = join.left.width();
            let distinct_of = |column: usize| match column.checked_sub(width) {
                None => distinct(&join.left, column, schema),
                Some(column) => distinct(&join.right, column, schema),
            };
            let beside = join.condition.as_ref().map_or(1.0, |expr| chance(expr, &distinct_of));
            match join.kind {
                JoinKind::Semi | JoinKind::Anti => (left * SUBQUERY).max(1.0),
                _ if join.lateral.is_some() => (left * right.max(1.0) * beside).max(1.0),
                kind => {
                    let key = |(one, other): &(Expr, Expr)| {
                        let one = values(one, &|column| distinct(&join.left, column, schema));
                        let other = values(other, &|column| distinct(&join.right, column, schema));
                        1.0 / one.max(other)
                    };
                    let by_keys: f64 = join.keys.iter().map(key).product();
                    // Keys of several columns leave no less than one row for each of the smaller side.
                    let pairs = match join.keys.is_empty() {
                        true => left * right,
                        false => (left * right * by_keys).max(left.min(right) * 0.1),
                    };
                    let kept = match (kind.keeps_left(), kind.keeps_right()) {
                        (true, true) => left.max(right),
                        (true, false) => left,
                        (false, true) => right,
                        (false, false) => 1.0,
                    };
                    (pairs * beside).max(kept)
                }
            }
        }
        Kind::SetOperation { left, right, .. } => rows(left, schema) + rows(right, schema),
        Kind::Given => 1.0,
        _ => ROWS_UNKNOWN,
    }
}

fn rows_of_scan(scan: &Scan, schema: &dyn Schema) -> f64 {
    let facts = schema.table(scan.relation);
    let all = facts.as_ref().map_or(ROWS_UNKNOWN, |facts| facts.rows as f64);
    let of = |column: usize| values_in(scan, column, facts.as_deref());
    let mut found = all;
    if !scan.path.is_full()
        && let Some(facts) = &facts
        && let Some(key) = facts.keys.iter().find(|key| key.index == scan.path.index)
    {
        let several = |equal: &Equal| match equal {
            Equal::AnyOf(array) => elements(array),
            Equal::One(_) | Equal::Null => 1.0,
        };
        let asked: f64 = scan.path.equal.iter().map(several).product();
        let ranges = scan.path.low.iter().chain(&scan.path.high).count();
        found = all / values_of_key(key, scan.path.equal.len(), facts) * asked;
        found *= RANGE.powi(ranges as i32) * ITEMS.powi(scan.path.asked.len() as i32);
    }
    let beside = scan.condition.as_ref().map_or(1.0, |expr| chance(expr, &of));
    (found * beside).max(1.0)
}

/// How many different values the first `parts` parts of a key have together.
pub(super) fn values_of_key(key: &KeyFacts, parts: usize, facts: &TableFacts) -> f64 {
    let all = (facts.rows as f64).max(1.0);
    if key.is_unique && parts == key.parts.len() {
        return all;
    }
    let part = |(part, _): &(KeyPart, types::KeyOrder)| match part {
        KeyPart::Column(attnum) => values_of_column(*attnum, facts),
        KeyPart::Expr(_) => DISTINCT,
    };
    let values: f64 = key.parts[..parts].iter().map(part).product();
    values.clamp(1.0, all)
}

/// How many different values a column of a table has.
fn values_of_column(attnum: i16, facts: &TableFacts) -> f64 {
    let all = (facts.rows as f64).max(1.0);
    let is_it = |part: &KeyPart| matches!(part, KeyPart::Column(known) if *known == attnum);
    let leads = |key: &&KeyFacts| {
        key.classes.is_none() && key.parts.first().is_some_and(|(part, _)| is_it(part))
    };
    let column = facts.relation.columns.iter().find(|column| column.attnum == attnum);
    if column.is_some_and(|column| column.ty == Type::BOOL) {
        return 2.0;
    }
    let keys = || facts.keys.iter().filter(|key| key.predicate.is_none());
    if keys().filter(leads).any(|key| key.is_unique && key.parts.len() == 1) {
        return all;
    }
    let guessed = match keys().any(|key| leads(&key)) {
        true => (all / ROWS_PER_VALUE).max(DISTINCT),
        false => DISTINCT,
    };
    guessed.min(all)
}

/// How many different values a column of a scan has.
fn values_in(scan: &Scan, column: usize, facts: Option<&TableFacts>) -> f64 {
    match (facts, scan.attnums.get(column)) {
        (Some(facts), Some(attnum)) if *attnum > 0 => values_of_column(*attnum, facts),
        (Some(facts), _) => (facts.rows as f64).max(1.0),
        (None, _) => DISTINCT,
    }
}

/// How many different values a column of an operator's rows has.
pub(super) fn distinct(node: &Node, column: usize, schema: &dyn Schema) -> f64 {
    match &node.kind {
        Kind::Scan(scan) => values_in(scan, column, schema.table(scan.relation).as_deref()),
        Kind::Filter { input, .. }
        | Kind::Sort { input, .. }
        | Kind::Limit { input, .. }
        | Kind::LockRows { input, .. }
        | Kind::With { input, .. }
        | Kind::DistinctOn { input, .. }
        | Kind::Distinct(input) => distinct(input, column, schema),
        Kind::Project { input, exprs } => match exprs.get(column).and_then(column_of) {
            Some(column) => distinct(input, column, schema),
            None => DISTINCT,
        },
        Kind::Join(join) => match column.checked_sub(join.left.width()) {
            None => distinct(&join.left, column, schema),
            Some(column) => distinct(&join.right, column, schema),
        },
        // Each group has its own value of the only key.
        Kind::Aggregate(aggregate) if aggregate.keys.len() == 1 && column == 0 => {
            rows(node, schema)
        }
        Kind::Aggregate(aggregate) => match aggregate.keys.get(column).and_then(column_of) {
            Some(column) => distinct(&aggregate.input, column, schema),
            None => DISTINCT,
        },
        Kind::Values(rows) => rows.len() as f64,
        _ => DISTINCT,
    }
}

/// How many different values an expression has, over columns that have as many as `of` says.
pub(super) fn values(expr: &Expr, of: &dyn Fn(usize) -> f64) -> f64 {
    match column_of(expr) {
        Some(column) => of(column),
        None if sees_nothing(expr) => 1.0,
        None => DISTINCT,
    }
}

/// The chance that a condition is true of a row whose columns have as many values as `of` says.
pub(super) fn chance(condition: &Expr, of: &dyn Fn(usize) -> f64) -> f64 {
    match &condition.kind {
        ExprKind::And(list) => list.iter().map(|expr| chance(expr, of)).product(),
        ExprKind::Or(list) => {
            let none: f64 = list.iter().map(|expr| 1.0 - chance(expr, of)).product();
            1.0 - none
        }
        ExprKind::Not(expr) => 1.0 - chance(expr, of),
        ExprKind::Const(Datum::Bool(true)) => 1.0,
        ExprKind::Const(Datum::Bool(false) | Datum::Null) => 0.0,
        ExprKind::IsNull { negated, .. } => if *negated { 1.0 - NULL } else { NULL },
        ExprKind::IsBool { .. } | ExprKind::Column { .. } => 0.5,
        ExprKind::Subplan { .. } => SUBQUERY,
        ExprKind::AnyAll { call, all: false } if call.operator && call.name == "=" => {
            match &call.args[..] {
                [value, array] => (elements(array) / values(value, of)).min(1.0),
                _ => OTHER,
            }
        }
        _ => match comparison(condition) {
            Some(("=", one, other)) => 1.0 / values(one, of).max(values(other, of)).max(1.0),
            Some(("<>", one, other)) => 1.0 - 1.0 / values(one, of).max(values(other, of)).max(1.0),
            Some(("<" | "<=" | ">" | ">=", ..)) => RANGE,
            Some(("~~" | "~~*" | "~" | "~*" | "^@", ..)) => PATTERN,
            Some(("!~~" | "!~~*" | "!~" | "!~*", ..)) => 1.0 - PATTERN,
            Some(("@>" | "<@" | "?" | "?|" | "?&" | "@?" | "@@" | "&&", ..)) => ITEMS,
            _ => OTHER,
        },
    }
}

/// About how many elements an array has.
fn elements(array: &Expr) -> f64 {
    const ELEMENTS: f64 = 10.0;
    match &array.kind {
        ExprKind::Const(Datum::Array(array)) => (array.as_ref().len() as f64).max(1.0),
        ExprKind::Array { elements, .. } => (elements.len() as f64).max(1.0),
        ExprKind::Cast { expr, .. } => elements(expr),
        _ => ELEMENTS,
    }
}

fn constant(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Const(Datum::Int8(value)) => Some(*value as f64),
        ExprKind::Const(Datum::Int4(value)) => Some(f64::from(*value)),
        ExprKind::Cast { expr, .. } => constant(expr),
        _ => None,
    }
}
