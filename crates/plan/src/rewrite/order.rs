//! An order that a key has need not be made; and a sort below a limit keeps only the rows that the
//! limit lets through.
//!
//! ```text
//!   Limit 10                             Limit 10
//!     Sort [#1 desc]             ──>       Scan item by item_pkey at ($1) backward
//!       Scan item at ($1)
//! ```
//!
//! Where the partitions of a table are not in the order themselves, each of them gives as many of its first rows as the
//! limit lets through, and these are sorted:
//!
//! ```text
//!   Limit 10                             Limit 10
//!     Sort [#1]                  ──>       Sort [#1]
//!       Append                               Append
//!         Scan a   Scan b                      Limit 10          Limit 10
//!                                                Scan a by a_i     Scan b by b_i
//! ```
//!
//! An index that has only some of the rows gives the order of those, where they are all that is wanted.
//! The least and the greatest value of a column are the first row of such an order.

use sql::At;
use sql::plan::{Expr, ExprKind, SortKey};
use types::{Datum, KeyOrder, Type, TypeSource};

use super::access::can_range;
use super::expr::{column_of, conjuncts};
use super::keys;
use crate::schema::{KeyFacts, Schema};
use crate::tree::{Aggregate, Append, AppendPart, Equal, Kind, Node, Path, Scan, is_volatile};

/// Leaves out sorts that keys make needless, and marks those below limits.
pub(super) fn orders(node: &mut Node, types: &dyn TypeSource, schema: &dyn Schema) {
    if let Kind::Aggregate(aggregate) = &mut node.kind {
        extreme(aggregate, types, schema);
    }
    if let Kind::Limit { input, limit: Some(limit), offset, ties } = &mut node.kind {
        let with_ties = ties.is_some();
        let most = most_rows(limit, offset.as_ref()).filter(|_| !with_ties);
        let below = below_projections(input);
        if let Kind::Sort { top, .. } = &mut below.kind {
            *top = !with_ties;
        }
        if let Kind::Scan(scan) = &mut below.kind {
            // Few rows are wanted: they are better found at once than counted first.
            scan.path.may_read_all = false;
        }
        if let Kind::Append(append) = &mut below.kind {
            for part in &mut append.parts {
                if let Kind::Scan(scan) = &mut part.node.kind {
                    scan.path.may_read_all = false;
                }
            }
        }
        sort(below, types, schema, true);
        if let (Some(most), Kind::Sort { input, keys, .. }) = (most, &mut below.kind) {
            limit_parts(input, keys, &most, (types, schema));
        }
    } else {
        sort(node, types, schema, false);
    }
    node.inputs(&mut |input| orders(input, types, schema));
}

/// The first operator that is no projection.
fn below_projections(node: &mut Node) -> &mut Node {
    if !matches!(node.kind, Kind::Project { .. }) {
        return node;
    }
    let Kind::Project { input, .. } = &mut node.kind else { unreachable!("looked at above") };
    below_projections(input)
}

/// Leaves out a sort where the rows come in its order anyway.
fn sort(node: &mut Node, types: &dyn TypeSource, schema: &dyn Schema, is_limited: bool) {
    let Kind::Sort { input, keys, .. } = &mut node.kind else { return };
    if !serve(input, keys, (types, schema), is_limited) {
        return;
    }
    let nothing = Node { kind: Kind::Given, types: Vec::new() };
    *node = std::mem::replace(&mut **input, nothing);
}

/// The known facts about types and tables.
type Known<'a> = (&'a dyn TypeSource, &'a dyn Schema);

/// Makes the scan below give its rows in an order; false if it cannot.
fn serve(node: &mut Node, keys: &[SortKey], known: Known<'_>, is_limited: bool) -> bool {
    match &mut node.kind {
        Kind::Filter { input, .. } => serve(input, keys, known, is_limited),
        Kind::Project { input, exprs } => {
            let below = keys.iter().map(|key| {
                let expr = exprs[column_of(&key.expr)?].clone();
                Some(SortKey { expr, ..key.clone() })
            });
            match below.collect::<Option<Vec<_>>>() {
                Some(keys) => serve(input, &keys, known, is_limited),
                None => false,
            }
        }
        Kind::Scan(scan) => serve_by_key(scan, keys, known, is_limited),
        Kind::Append(append) => serve_in_turn(append, keys, known, is_limited),
        _ => false,
    }
}

/// Makes the scans of partitions give their rows in an order, one after the other, if the partitions are in that order
/// themselves.
fn serve_in_turn(
    append: &mut Append,
    sort: &[SortKey],
    known: Known<'_>,
    is_limited: bool,
) -> bool {
    let (types, schema) = known;
    let Some(facts) = schema.table(append.scan.relation) else { return false };
    let Some(partitions) = facts.partitions.as_ref().filter(|it| it.is_in_order) else {
        return false;
    };
    // The rows of the default partition lie between those of others.
    let default = partitions.router.default();
    let is_default = |part: &AppendPart| part.within.iter().any(|(_, oid)| Some(*oid) == default);
    if append.levels.len() != 1 || append.parts.iter().any(is_default) {
        return false;
    }
    let key = keys::parts(&partitions.key, &facts, &append.scan, types);
    let mut turned = None;
    for (sort, part) in sort.iter().zip(&key) {
        let is_its =
            part.is(&sort.expr) && *turned.get_or_insert(sort.descending) == sort.descending;
        if !is_its {
            return false;
        }
    }
    let mut parts = append.parts.clone();
    for part in &mut parts {
        if !serve(&mut part.node, sort, known, is_limited) {
            return false;
        }
    }
    if turned == Some(true) {
        parts.reverse();
    }
    append.parts = parts;
    append.is_ordered = true;
    true
}

/// How many rows a limit lets through with those that it passes over; none if that has to be computed.
fn most_rows(limit: &Expr, offset: Option<&Expr>) -> Option<Expr> {
    match offset {
        None => is_given(limit).then(|| limit.clone()),
        Some(offset) => {
            let (limit_of, offset_of) = (number(limit)?, number(offset)?);
            if limit_of < 0 || offset_of < 0 {
                return None;
            }
            let most = limit_of.checked_add(offset_of)?;
            Some(Expr::of(ExprKind::Const(Datum::Int8(most)), Type::INT8, limit.at))
        }
    }
}

/// True for a constant and for a parameter.
fn is_given(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Param(_) => true,
        ExprKind::Cast { expr, .. } => is_given(expr),
        _ => false,
    }
}

/// A constant that is a whole number.
fn number(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(Datum::Int8(number)) => Some(*number),
        ExprKind::Const(Datum::Int4(number)) => Some(i64::from(*number)),
        ExprKind::Cast { expr, .. } => number(expr),
        _ => None,
    }
}

/// Makes each partition that can give its rows in an order give only the first of them.
fn limit_parts(node: &mut Node, keys: &[SortKey], most: &Expr, known: Known<'_>) {
    match &mut node.kind {
        Kind::Project { input, exprs } if !exprs.iter().any(is_volatile) => {
            let below = keys.iter().map(|key| {
                let expr = exprs[column_of(&key.expr)?].clone();
                Some(SortKey { expr, ..key.clone() })
            });
            if let Some(keys) = below.collect::<Option<Vec<_>>>() {
                limit_parts(input, &keys, most, known);
            }
        }
        Kind::Append(append) => {
            for part in &mut append.parts {
                let mut served = part.node.clone();
                if !serve(&mut served, keys, known, true) {
                    continue;
                }
                let types = served.types.clone();
                let (input, limit) = (Box::new(served), Some(most.clone()));
                let kind = Kind::Limit { input, limit, offset: None, ties: None };
                part.node = Node { kind, types };
            }
        }
        _ => {}
    }
}

fn serve_by_key(
    scan: &mut Scan,
    sort: &[SortKey],
    (types, schema): Known<'_>,
    is_limited: bool,
) -> bool {
    if !can_range(scan) {
        return false;
    }
    let Some(facts) = schema.table(scan.relation) else { return false };
    // Whether a key is to be read backwards for the order; none if it does not have it.
    let serves = |key: &KeyFacts, equal: usize| -> Option<bool> {
        if key.classes.is_some() {
            return None;
        }
        let parts = keys::parts(key, &facts, scan, types);
        let mut backward = None;
        for (at, sort) in sort.iter().enumerate() {
            let part = parts.get(equal + at)?;
            let turned = direction(sort, part.order, part.is_never_null(scan, &facts))?;
            if !part.is(&sort.expr) || *backward.get_or_insert(turned) != turned {
                return None;
            }
        }
        backward
    };
    let is_chosen = !scan.path.is_full() || scan.path.index.is_some();
    if is_chosen {
        let bound = scan.path.equal.len();
        let single = scan.path.equal.iter().all(|equal| !matches!(equal, Equal::AnyOf(_)));
        let key = facts.keys.iter().find(|key| key.index == scan.path.index);
        // The first columns are the same in all rows.
        let Some(backward) = key.filter(|_| single).and_then(|key| serves(key, bound)) else {
            return false;
        };
        (scan.path.backward, scan.path.may_read_all) = (backward, false);
        scan.path.is_ordered = true;
        return true;
    }
    // Rows of blocks of columns come in order one by one. It is cheaper to sort those that a condition leaves.
    if facts.has_blocks && !(is_limited && scan.condition.is_none()) {
        return false;
    }
    // All rows are read: by another index only where few of them will be looked at.
    let list = scan.condition.clone().map(conjuncts).unwrap_or_default();
    let has_all = |key: &KeyFacts| {
        keys::covers(key, &facts, scan, &list).is_some_and(|at_start| at_start.is_empty())
    };
    let fitting = facts.keys.iter().filter(|key| is_limited || key.index.is_none());
    let found =
        fitting.filter_map(|key| Some((key, serves(key, 0)?))).find(|(key, _)| has_all(key));
    let Some((key, backward)) = found else { return false };
    let (index, name) = (key.index, key.name.clone());
    scan.path = Path { index, name, backward, is_ordered: true, ..Path::default() };
    true
}

/// Whether a column of a key must be read backwards for an order; none if neither way fits.
fn direction(sort: &SortKey, order: KeyOrder, not_null: bool) -> Option<bool> {
    let turned = sort.descending != order.is_descending;
    let nulls_fit = not_null || (sort.nulls_first != order.has_nulls_first) == turned;
    nulls_fit.then_some(turned)
}

/// `min` and `max` of a column that a key begins with: the first row that has a value.
fn extreme(aggregate: &mut Aggregate, types: &dyn TypeSource, schema: &dyn Schema) {
    let [call] = &aggregate.calls[..] else { return };
    let descending = match call.name {
        "min" => false,
        "max" => true,
        _ => return,
    };
    let [arg] = &call.args[..] else { return };
    if !aggregate.keys.is_empty() || aggregate.sets.len() != 1 || call.filter.is_some() {
        return;
    }
    let Kind::Scan(scan) = &aggregate.input.kind else { return };
    let columns = aggregate.input.types.clone();
    let known = (types, schema);
    // A NULL must not be the first: it comes last in both directions.
    let sort = SortKey { expr: arg.clone(), descending, nulls_first: false };
    let mut served = (**scan).clone();
    if !serve_by_key(&mut served, std::slice::from_ref(&sort), known, true) {
        let sort = SortKey { nulls_first: descending, ..sort };
        if !serve_by_key(&mut served, std::slice::from_ref(&sort), known, true) {
            return;
        }
    }
    let kind = ExprKind::IsNull { expr: Box::new(arg.clone()), negated: true };
    super::expr::and(&mut served.condition, Expr::of(kind, Type::BOOL, At::NONE));
    let scan = Node { kind: Kind::Scan(Box::new(served)), types: columns.clone() };
    let one = ExprKind::Const(types::Datum::Int8(1));
    let limit = Some(Expr::of(one, Type::INT8, At::NONE));
    let kind = Kind::Limit { input: Box::new(scan), limit, offset: None, ties: None };
    aggregate.input = Node { kind, types: columns };
}
