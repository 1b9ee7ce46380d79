//! Estimates of the rows that operators give, before they run.
//!
//! ```text
//!   rows of a scan     rows of the table, times the chance that each condition is true of a row
//!   rows of a join     rows of both sides multiplied, times the chance of its conditions
//!   a = b              1 in as many as the side with more values has different ones
//! ```
//!
//! The number of rows of a table is known exactly, and that of the values of a unique key follows from it.
//! Other figures are the usual defaults of System R (Selinger et al., 1979) and PostgreSQL.

use std::sync::Arc;

use sql::plan::{Cast, Expr, ExprKind};
use table::rows::{ColumnStatistics, Statistics};
use types::{Datum, Type};

use super::expr::{column_of, comparison, sees_nothing};
use crate::schema::{KeyFacts, KeyPart, Schema, TableFacts};
use crate::tree::{AppendPart, Equal, JoinKind, Kind, Node, Scan};

/// The estimated number of rows of an unknown table.
const ROWS_UNKNOWN: f64 = 1000.0;
/// The estimated number of distinct values of a column without statistics.
const DISTINCT: f64 = 200.0;
/// The estimated number of rows with the same value in the first column of an index.
const ROWS_PER_VALUE: f64 = 8.0;

/// A scan of at least so many rows makes arrays of them.
pub(super) const ROWS_MANY: f64 = 1_000.0;

/// The cost of a look-up of a key in a table of few rows, as rows that are scanned one by one.
const LOOK_UP: f64 = 8.0;
/// The same in a table of many rows, as rows that are scanned in batches: about 3 against 0.12 microseconds.
const LOOK_UP_OF_MANY: f64 = 24.0;
/// The cost of the next row after a look-up, which is not read in a batch.
const ROW_OF_RANGE: f64 = 2.0;

/// The cost of a look-up in a table whose rows lie in blocks of columns, by its cost in others: a
/// whole block is decoded for one row.
pub(super) const BLOCK_LOOK_UP: f64 = 64.0;

/// The selectivity of `<`, `<=`, `>` and `>=`.
const RANGE: f64 = 0.33;
/// The selectivity of `LIKE`.
const PATTERN: f64 = 0.1;
/// The selectivity of `IS NULL`.
const NULL: f64 = 0.02;
/// The selectivity of any other condition.
const OTHER: f64 = 0.33;
/// The selectivity of `EXISTS`.
pub(super) const SUBQUERY: f64 = 0.5;
/// The selectivity of a search in a GIN index.
const ITEMS: f64 = 0.02;

/// The statistics that the planner has of a column.
pub(super) struct Known {
    /// The number of distinct values.
    pub distinct: f64,
    /// The statistics of the table, and the position of the column.
    like: Option<(Arc<Statistics>, usize)>,
}

impl Known {
    fn guess(distinct: f64) -> Known {
        Known { distinct, like: None }
    }

    fn like(&self) -> Option<&ColumnStatistics> {
        self.like.as_ref().and_then(|(table, position)| table.column(*position))
    }
}

/// About how many rows an operator gives.
pub(crate) fn rows(node: &Node, schema: &dyn Schema) -> f64 {
    match &node.kind {
        Kind::Values(rows) => rows.len() as f64,
        Kind::Scan(scan) => rows_of_scan(scan, schema),
        Kind::Append(append) => {
            append.parts.iter().map(|part| rows(&part.node, schema)).sum::<f64>().max(1.0)
        }
        Kind::Filter { input, condition } => {
            let chance = chance(condition, &|column| known(input, column, schema));
            (rows(input, schema) * chance).max(1.0)
        }
        Kind::Project { input, .. }
        | Kind::Window { input, .. }
        | Kind::Sort { input, .. }
        | Kind::LockRows { input, .. }
        | Kind::With { input, .. }
        | Kind::DistinctOn { input, .. }
        | Kind::Barrier(input)
        | Kind::Distinct(input) => rows(input, schema),
        Kind::Limit { input, limit, .. } => {
            let all = rows(input, schema);
            match limit.as_ref().and_then(constant) {
                Some(limit) => all.min(limit),
                None => all,
            }
        }
        Kind::Aggregate(aggregate) if aggregate.keys.is_empty() => 1.0,
        Kind::Aggregate(aggregate) => {
            let input = &aggregate.input;
            let of = |expr: &Expr| values(expr, &|column| known(input, column, schema));
            let groups: f64 = aggregate.keys.iter().map(of).product();
            groups.min(rows(input, schema)).max(1.0)
        }
        Kind::Join(join) => {
            let (left, right) = (rows(&join.left, schema), rows(&join.right, schema));
            let width = join.left.width();
            let known_of = |column: usize| match column.checked_sub(width) {
                None => known(&join.left, column, schema),
                Some(column) => known(&join.right, column, schema),
            };
            let beside = join.condition.as_ref().map_or(1.0, |expr| chance(expr, &known_of));
            match join.kind {
                JoinKind::Semi | JoinKind::Anti => (left * SUBQUERY).max(1.0),
                _ if join.lateral.is_some() => (left * right.max(1.0) * beside).max(1.0),
                kind => {
                    let key = |(one, other): &(Expr, Expr)| {
                        let one = values(one, &|column| known(&join.left, column, schema));
                        let other = values(other, &|column| known(&join.right, column, schema));
                        (one, other)
                    };
                    let keys: Vec<(f64, f64)> = join.keys.iter().map(key).collect();
                    let by_keys = match &keys[..] {
                        [(one, other)] => 1.0 / one.max(*other),
                        // Columns of a key depend on each other: a side has no more values of it than rows.
                        keys => {
                            let of_left = || keys.iter().map(|(one, _)| one).product();
                            let of_right = || keys.iter().map(|(_, other)| other).product();
                            let of = |node, side: fn(&(Expr, Expr)) -> &Expr| {
                                values_together(node, join.keys.iter().map(side), schema)
                            };
                            let of_left: f64 = of(&join.left, |key| &key.0).unwrap_or_else(of_left);
                            let of_right: f64 =
                                of(&join.right, |key| &key.1).unwrap_or_else(of_right);
                            1.0 / of_left.min(left).max(of_right.min(right)).max(1.0)
                        }
                    };
                    // A join with keys gives at least a tenth of the rows of its smaller side.
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
    let of = |column: usize| known_of_scan(scan, column, facts.as_deref());
    let beside = scan.condition.as_ref().map_or(1.0, |expr| chance(expr, &of));
    (rows_read(scan, facts.as_deref()) * beside).max(1.0)
}

/// About how many rows a scan reads, those included that its condition leaves out.
pub(super) fn rows_read(scan: &Scan, facts: Option<&TableFacts>) -> f64 {
    let all = facts.map_or(ROWS_UNKNOWN, |facts| facts.rows as f64);
    let key = |facts: &'_ TableFacts| {
        let is_it = |key: &&KeyFacts| key.index == scan.path.index;
        facts.keys.iter().find(is_it).map(|key| values_of_key(key, scan.path.equal.len(), facts))
    };
    let Some(values) = facts.filter(|_| !scan.path.is_full()).and_then(key) else { return all };
    let several = |equal: &Equal| match equal {
        Equal::AnyOf(array) => elements(array),
        Equal::One(_) | Equal::Null => 1.0,
    };
    let asked: f64 = scan.path.equal.iter().map(several).product();
    let ranges = scan.path.low.iter().chain(&scan.path.high).count();
    let asked_items = ITEMS.powi(scan.path.scan_keys.len() as i32);
    all / values * asked * RANGE.powi(ranges as i32) * asked_items
}

/// The cost of a look-up of a key of a table, as rows that a scan of the table reads.
pub(super) fn look_up(facts: &TableFacts) -> f64 {
    if facts.rows as f64 >= ROWS_MANY { LOOK_UP_OF_MANY } else { LOOK_UP }
}

/// The cost of finding the rows with some values of the first `parts` parts of a key, as rows that are scanned.
/// Rows that an index leads to are looked up one by one, those of the table's own key lie together.
pub(super) fn cost_of_look_up(key: &KeyFacts, parts: usize, facts: &TableFacts) -> f64 {
    let found = facts.rows as f64 / values_of_key(key, parts, facts);
    let rows = found * if key.index.is_some() { look_up(facts) } else { ROW_OF_RANGE };
    (look_up(facts) + rows) * if facts.has_blocks { BLOCK_LOOK_UP } else { 1.0 }
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
    // Columns of a key depend on each other.
    let together = || {
        let index = key.index.filter(|_| parts > 1)?;
        facts.statistics()?.distinct_of_key(index, parts)
    };
    let values = together().unwrap_or_else(|| key.parts[..parts].iter().map(part).product());
    values.clamp(1.0, all)
}

/// How many different values some columns that a scan gives have together; `None` if no index tells.
fn values_together<'e>(
    node: &Node,
    columns: impl Iterator<Item = &'e Expr>,
    schema: &dyn Schema,
) -> Option<f64> {
    let Kind::Scan(scan) = &node.kind else { return None };
    let facts = schema.table(scan.relation).filter(|_| scan.columns.is_none())?;
    let attnum = |column: &Expr| scan.attnums.get(column_of(column)?).copied();
    let attnums: Vec<i16> = columns.map(attnum).collect::<Option<_>>()?;
    let begins_with_them = |key: &&KeyFacts| {
        let is_one = |(part, _): &(KeyPart, types::KeyOrder)| match part {
            KeyPart::Column(attnum) => attnums.contains(attnum),
            KeyPart::Expr(_) => false,
        };
        let first = key.parts.get(..attnums.len());
        key.classes.is_none() && first.is_some_and(|first| first.iter().all(is_one))
    };
    let key = facts.keys.iter().find(begins_with_them)?;
    Some(values_of_key(key, attnums.len(), &facts))
}

/// How many different values a column of a table has.
fn values_of_column(attnum: i16, facts: &TableFacts) -> f64 {
    known_of_column(attnum, facts).distinct
}

/// The statistics of a table's column, or a guess from the table's keys.
fn known_of_column(attnum: i16, facts: &TableFacts) -> Known {
    let all = (facts.rows as f64).max(1.0);
    let is_it = |part: &KeyPart| matches!(part, KeyPart::Column(known) if *known == attnum);
    let leads = |key: &&KeyFacts| {
        key.classes.is_none() && key.parts.first().is_some_and(|(part, _)| is_it(part))
    };
    let column = facts.relation.columns.iter().find(|column| column.attnum == attnum);
    let like = facts.statistics().map(|table| (table, attnum as usize - 1));
    let known = Known { distinct: all, like };
    let keys = || facts.keys.iter().filter(|key| key.predicate.is_none());
    if keys().filter(leads).any(|key| key.is_unique && key.parts.len() == 1) {
        return known;
    }
    let distinct = match known.like() {
        Some(like) => like.distinct,
        None if column.is_some_and(|column| column.ty == Type::BOOL) => 2.0,
        None if keys().any(|key| leads(&key)) => (all / ROWS_PER_VALUE).max(DISTINCT),
        None => DISTINCT,
    };
    Known { distinct: distinct.min(all), ..known }
}

/// The statistics of a column that a scan gives.
fn known_of_scan(scan: &Scan, column: usize, facts: Option<&TableFacts>) -> Known {
    let column = match &scan.columns {
        None => column,
        Some(columns) => match columns.values.get(column).and_then(column_of) {
            Some(column) => column,
            None => return Known::guess(DISTINCT),
        },
    };
    match (facts, scan.attnums.get(column)) {
        (Some(facts), Some(attnum)) if *attnum > 0 => known_of_column(*attnum, facts),
        (Some(facts), _) => Known::guess((facts.rows as f64).max(1.0)),
        (None, _) => Known::guess(DISTINCT),
    }
}

/// The statistics of a column that an operator gives: those of the table that the column comes from.
pub(super) fn known(node: &Node, column: usize, schema: &dyn Schema) -> Known {
    let guess = || Known::guess(DISTINCT);
    match &node.kind {
        Kind::Scan(scan) => known_of_scan(scan, column, schema.table(scan.relation).as_deref()),
        // The values of the partition with the most rows stand for those of all.
        Kind::Append(append) => {
            let size = |part: &&AppendPart| rows(&part.node, schema);
            let largest =
                append.parts.iter().max_by(|one, other| size(one).total_cmp(&size(other)));
            largest.map_or_else(guess, |part| known(&part.node, column, schema))
        }
        Kind::Filter { input, .. }
        | Kind::Sort { input, .. }
        | Kind::Limit { input, .. }
        | Kind::LockRows { input, .. }
        | Kind::With { input, .. }
        | Kind::DistinctOn { input, .. }
        | Kind::Barrier(input)
        | Kind::Distinct(input) => known(input, column, schema),
        Kind::Project { input, exprs } => match exprs.get(column).and_then(column_of) {
            Some(column) => known(input, column, schema),
            None => guess(),
        },
        Kind::Join(join) => match column.checked_sub(join.left.width()) {
            None => known(&join.left, column, schema),
            Some(column) => known(&join.right, column, schema),
        },
        // Each group has its own value of the only key.
        Kind::Aggregate(aggregate) if aggregate.keys.len() == 1 && column == 0 => {
            Known::guess(rows(node, schema))
        }
        Kind::Aggregate(aggregate) => match aggregate.keys.get(column).and_then(column_of) {
            Some(column) => known(&aggregate.input, column, schema),
            None => guess(),
        },
        Kind::Values(rows) => Known::guess(rows.len() as f64),
        _ => guess(),
    }
}

/// The number of distinct values of an expression; `of` gives the statistics of its columns.
fn values(expr: &Expr, of: &dyn Fn(usize) -> Known) -> f64 {
    match column_of(expr) {
        Some(column) => of(column).distinct,
        None if sees_nothing(expr) => 1.0,
        None => DISTINCT,
    }
}

/// The selectivity of a condition on a row; `of` gives the statistics of its columns.
pub(super) fn chance(condition: &Expr, of: &dyn Fn(usize) -> Known) -> f64 {
    match &condition.kind {
        ExprKind::And(list) => all_true(list, of),
        ExprKind::Or(list) => {
            let none: f64 = list.iter().map(|expr| 1.0 - chance(expr, of)).product();
            1.0 - none
        }
        ExprKind::Not(expr) => 1.0 - chance(expr, of),
        ExprKind::Const(Datum::Bool(true)) => 1.0,
        ExprKind::Const(Datum::Bool(false) | Datum::Null) => 0.0,
        ExprKind::IsNull { expr, negated } => {
            let null = column_of(expr).and_then(|column| Some(of(column).like()?.null));
            let null = null.unwrap_or(NULL);
            if *negated { 1.0 - null } else { null }
        }
        ExprKind::IsBool { .. } | ExprKind::Column { .. } => 0.5,
        ExprKind::Subplan { .. } => SUBQUERY,
        ExprKind::AnyAll { call, all: false } if call.operator && call.name == "=" => {
            match &call.args[..] {
                [value, array] => any_of(value, array, of),
                _ => OTHER,
            }
        }
        _ => match comparison(condition) {
            Some(("=", one, other)) => equal(one, other, of),
            Some(("<>", one, other)) => 1.0 - equal(one, other, of),
            Some((symbol @ ("<" | "<=" | ">" | ">="), one, other)) => {
                below(one, other, symbol.starts_with('<'), of).unwrap_or(RANGE)
            }
            Some(("~~" | "~~*" | "~" | "~*" | "^@", ..)) => PATTERN,
            Some(("!~~" | "!~~*" | "!~" | "!~*", ..)) => 1.0 - PATTERN,
            Some(("@>" | "<@" | "?" | "?|" | "?&" | "@?" | "@@" | "&&", ..)) => ITEMS,
            _ => OTHER,
        },
    }
}

/// The selectivity of a conjunction. Both ends of a range are estimated together.
fn all_true(list: &[Expr], of: &dyn Fn(usize) -> Known) -> f64 {
    let mut chances = 1.0;
    // For each column the parts that its lower and its upper end leave.
    let mut ranges: Vec<(usize, [Option<f64>; 2])> = Vec::new();
    for expr in list {
        let own = chance(expr, of);
        let Some((symbol @ ("<" | "<=" | ">" | ">="), one, other)) = comparison(expr) else {
            chances *= own;
            continue;
        };
        let (column, is_upper) = match (ordered(one), ordered(other)) {
            (Some(column), None) => (column, symbol.starts_with('<')),
            (None, Some(column)) => (column, symbol.starts_with('>')),
            _ => {
                chances *= own;
                continue;
            }
        };
        let at = ranges.iter().position(|(known, _)| *known == column).unwrap_or_else(|| {
            ranges.push((column, [None; 2]));
            ranges.len() - 1
        });
        let end = &mut ranges[at].1[usize::from(is_upper)];
        *end = Some(end.map_or(own, |known| known.min(own)));
    }
    for (_, ends) in ranges {
        chances *= match ends {
            // The two ends overlap by the rows within the range.
            [Some(above), Some(below)] if above + below > 1.0 => above + below - 1.0,
            [Some(above), Some(below)] => (above * below).min(0.1),
            [one, other] => one.or(other).unwrap_or(1.0),
        };
    }
    chances
}

/// The selectivity of an equality of two values.
fn equal(one: &Expr, other: &Expr, of: &dyn Fn(usize) -> Known) -> f64 {
    let against = |column: &Expr, value: &Expr| {
        let known = of(column_of(column)?);
        sees_nothing(value)
            .then(|| known.like().map(|like| like.equal(constant_of(value).as_ref())))?
    };
    against(one, other)
        .or_else(|| against(other, one))
        .unwrap_or_else(|| 1.0 / values(one, of).max(values(other, of)).max(1.0))
}

/// The selectivity of a comparison by order; `None` without statistics.
fn below(one: &Expr, other: &Expr, is_below: bool, of: &dyn Fn(usize) -> Known) -> Option<f64> {
    let (column, value, is_below) = match (ordered(one), ordered(other)) {
        (Some(column), None) => (column, other, is_below),
        (None, Some(column)) => (column, one, !is_below),
        _ => return None,
    };
    let known = of(column);
    let like = known.like()?;
    let part = like.below(&constant_of(value)?)?;
    Some(if is_below { part } else { (1.0 - like.null - part).max(0.0) })
}

/// The selectivity of `= ANY (array)`.
fn any_of(value: &Expr, array: &Expr, of: &dyn Fn(usize) -> Known) -> f64 {
    let listed: Option<Vec<Datum>> = match &array.kind {
        ExprKind::Const(Datum::Array(array)) => Some(array.as_ref().to_vec()),
        ExprKind::Array { elements, .. } => elements.iter().map(constant_of).collect(),
        _ => None,
    };
    let one_of = match (column_of(value).map(of), listed) {
        (Some(known), Some(listed)) => {
            known.like().map(|like| listed.iter().map(|value| like.equal(Some(value))).sum::<f64>())
        }
        _ => None,
    };
    one_of.unwrap_or_else(|| elements(array) / values(value, of)).min(1.0)
}

/// A value that is known before the plan runs: a constant, or a constant date plus or minus an interval.
fn constant_of(expr: &Expr) -> Option<Datum> {
    match &expr.kind {
        ExprKind::Const(value) => Some(value.clone()),
        // `interval '1' year`
        ExprKind::Cast { expr, how: Cast::Modifier { .. } } => constant_of(expr),
        ExprKind::Call(call) if call.operator => {
            let [one, other] = &call.args[..] else { return None };
            let (Datum::Date(day), Datum::Interval(long)) =
                (constant_of(one)?, constant_of(other)?)
            else {
                return None;
            };
            let long = match call.name.as_str() {
                "+" => long,
                "-" => long.negate().ok()?,
                _ => return None,
            };
            Some(Datum::Timestamp(day.to_timestamp().ok()?.add(long).ok()?))
        }
        _ => None,
    }
}

/// The column that an expression is, or has the order of: a day as a timestamp.
fn ordered(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Cast { expr: day, .. } if (day.ty, expr.ty) == (Type::DATE, Type::TIMESTAMP) => {
            column_of(day)
        }
        _ => column_of(expr),
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
