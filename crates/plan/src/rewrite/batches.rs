//! Aggregates over scans whose rows come in blocks of columns, and over joins of such scans, are computed over the
//! columns. So are joins and conditions whose rows go to an operator that takes rows.
//!
//! ```text
//!   Aggregate [sum(#1)] by [#5]                 the conditions, the keys and the calls of all of these are
//!     Join hash inner keys [#0 = #0]    ──>     computed 1,024 values at a time, where `batch` knows them
//!       Scan sale, condition #2 > 7
//!       Scan shop
//! ```

use sql::plan::{Action, Expr, ExprKind, Moment, SortKey};

use super::columns;
use super::dependent;
use super::estimate::{ROWS_MANY, rows, rows_read};
use super::postpone::asks;
use crate::schema::Schema;
use crate::tree::{Aggregate, Append, Join, JoinKind, Kind, Modify, Node, Plan, Scan, is_volatile};

/// Up to this part of its rows a scan gives few of them.
const GIVEN_FEW: f64 = 0.5;

/// Marks the parts of a plan that are computed over columns.
pub(super) fn batches(plan: &Plan, node: &mut Node, schema: &dyn Schema) {
    let looks_again = match &mut node.kind {
        Kind::LockRows { .. } => true,
        Kind::Modify(modify) => !only_inserts(modify),
        _ => false,
    };
    if looks_again {
        // Rows that are changed or locked may be looked at again, one by one.
        return node.inputs(&mut |input| below_change(plan, input, schema));
    }
    node.inputs(&mut |input| batches(plan, input, schema));
    match &mut node.kind {
        Kind::Aggregate(_) => aggregate(plan, node, schema),
        Kind::Join(join) => {
            let takes_columns = join_in_batches(plan, join, schema);
            if !takes_columns {
                tested_in_batches(plan, &mut join.left, schema);
                tested_in_batches(plan, &mut join.right, schema);
            }
        }
        Kind::Sort { input, keys, top: true } if keys.first().is_some_and(is_column) => {
            top_in_batches(plan, input, schema);
        }
        Kind::Distinct(_) => distinct(plan, node, schema),
        Kind::Scan(scan) => scan.in_batches = is_tested(plan, scan) && gives_blocks(scan, schema),
        _ => {}
    }
}

/// Returns true if an expression may be computed for many rows at once, some of which may not be wanted in the end: it asks
/// no subquery for each of them.
fn is_plain(plan: &Plan, expr: &Expr) -> bool {
    !is_volatile(expr) && !asks(plan, expr)
}

/// Returns true if a scan has a condition that can be computed over columns.
fn is_tested(plan: &Plan, scan: &Scan) -> bool {
    scan.condition.as_ref().is_some_and(|condition| is_plain(plan, condition))
}

fn is_column(key: &SortKey) -> bool {
    matches!(key.expr.kind, ExprKind::Column { .. })
}

/// Makes a scan below a sort with a limit run on columns: rows are filtered by the first key, before their other columns
/// are read.
fn top_in_batches(plan: &Plan, node: &mut Node, schema: &dyn Schema) {
    let is_plain = |expr: &Expr| is_plain(plan, expr);
    match &mut node.kind {
        Kind::Project { input, exprs } if exprs.iter().all(is_plain) => {
            top_in_batches(plan, input, schema);
        }
        Kind::Scan(scan) => {
            let is_known = scan.condition.as_ref().is_none_or(is_plain);
            scan.in_batches =
                is_known && (gives_blocks(scan, schema) || gives_many_rows(scan, schema));
        }
        _ => {}
    }
}

/// Makes `DISTINCT` an aggregate without calls, if it is computed over columns then.
fn distinct(plan: &Plan, node: &mut Node, schema: &dyn Schema) {
    let Kind::Distinct(input) = &node.kind else { return };
    let keys = input.columns();
    if keys.is_empty() || !batch::can_aggregate(&keys, &[]) {
        return;
    }
    let sets = vec![(0..keys.len()).collect()];
    let (calls, masks, batches) = (Vec::new(), Vec::new(), None);
    // It stays as it is if the aggregate would not be computed over columns.
    let input = (**input).clone();
    let aggregate = Box::new(Aggregate { input, keys, sets, calls, masks, batches });
    let mut all = Node { kind: Kind::Aggregate(aggregate), types: node.types.clone() };
    self::aggregate(plan, &mut all, schema);
    if matches!(&all.kind, Kind::Aggregate(aggregate) if aggregate.batches.is_some()) {
        *node = all;
    }
}

/// Makes a scan that reads many rows and gives few of them compute its condition on columns. Its rows come in no order.
fn tested_in_batches(plan: &Plan, node: &mut Node, schema: &dyn Schema) {
    let given = rows(node, schema);
    let Kind::Scan(scan) = &mut node.kind else { return };
    if scan.in_batches || !is_tested(plan, scan) || !gives_many_rows(scan, schema) {
        return;
    }
    let read = rows_read(scan, schema.table(scan.relation).as_deref());
    scan.in_batches = given <= read * GIVEN_FEW;
}

/// Returns true for a statement that only inserts rows, none of which it reads.
fn only_inserts(modify: &mut Modify) -> bool {
    let (relation, mut reads_own) = (modify.relation, false);
    modify.input.each(&mut |node| {
        reads_own |= matches!(&node.kind, Kind::Scan(scan) if scan.relation == relation);
    });
    matches!(modify.action, Action::Insert { conflict: None, .. }) && !reads_own
}

/// The same where only aggregates are.
fn below_change(plan: &Plan, node: &mut Node, schema: &dyn Schema) {
    if let Kind::Aggregate(_) = node.kind {
        return batches(plan, node, schema);
    }
    node.inputs(&mut |input| below_change(plan, input, schema));
}

fn aggregate(plan: &Plan, node: &mut Node, schema: &dyn Schema) {
    if !matches!(&node.kind, Kind::Aggregate(aggregate) if is_known(aggregate)) {
        return;
    }
    columns::read(node, schema);
    let Kind::Aggregate(aggregate) = &mut node.kind else { return };
    if in_batches(plan, &mut aggregate.input, schema) {
        aggregate.batches = Some(dependent::leading(aggregate, schema));
    }
}

fn is_known(aggregate: &Aggregate) -> bool {
    let has_all_keys = |set: &Vec<usize>| set.iter().copied().eq(0..aggregate.keys.len());
    aggregate.masks.is_empty()
        && matches!(&aggregate.sets[..], [set] if has_all_keys(set))
        && batch::can_aggregate(&aggregate.keys, &aggregate.calls)
}

/// Makes the joins of an input run on columns, as far as possible; false if the input gives only rows.
fn in_batches(plan: &Plan, node: &mut Node, schema: &dyn Schema) -> bool {
    match &mut node.kind {
        Kind::Scan(scan) => {
            scan.in_batches = false;
            gives_blocks(scan, schema) || gives_many_rows(scan, schema)
        }
        Kind::Append(append) => append_in_batches(append, schema),
        Kind::Join(join) => join_in_batches(plan, join, schema),
        Kind::Project { input, .. } => in_batches(plan, input, schema),
        Kind::Aggregate(aggregate) => aggregate.batches.is_some(),
        // A filter that asks a subquery for each row takes rows: it may look at many of them together first.
        Kind::Filter { input, condition } => {
            is_plain(plan, condition) && in_batches(plan, input, schema)
        }
        _ => false,
    }
}

/// The same of the scans of partitions, all of which must have the same columns at the same places, and the same
/// condition.
fn append_in_batches(append: &mut Append, schema: &dyn Schema) -> bool {
    if append.is_ordered {
        return false;
    }
    let mut asked = None;
    let mut read = 0.0;
    for part in &append.parts {
        let Kind::Scan(scan) = &part.node.kind else { return false };
        let condition = scan.condition.as_ref().map(ToString::to_string);
        let of_part = (&scan.attnums, condition);
        if asked.as_ref().is_some_and(|known| *known != of_part) {
            return false;
        }
        if !gives_blocks(scan, schema) && !is_by_own_key(scan) {
            return false;
        }
        read += rows_read(scan, schema.table(scan.relation).as_deref());
        asked = Some(of_part);
    }
    if read < ROWS_MANY {
        return false;
    }
    for part in &mut append.parts {
        if let Kind::Scan(scan) = &mut part.node.kind {
            scan.in_batches = false;
        }
    }
    true
}

fn join_in_batches(plan: &Plan, join: &mut Join, schema: &dyn Schema) -> bool {
    if !can_be_in_batches(join) {
        return false;
    }
    let (left, right) =
        (in_batches(plan, &mut join.left, schema), in_batches(plan, &mut join.right, schema));
    join.in_batches = left || right;
    if join.in_batches && matches!(join.kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Anti) {
        // Either side can be kept, so the smaller one is.
        join.build_left = rows(&join.left, schema) < rows(&join.right, schema);
    }
    join.in_batches
}

/// Returns true if a join can be computed over columns, once one of its sides gives some.
pub(super) fn can_be_in_batches(join: &Join) -> bool {
    let types = join.keys.iter().map(|(left, right)| (left.ty, right.ty));
    join.lateral.is_none() && batch::can_join(types)
}

fn gives_blocks(scan: &Scan, schema: &dyn Schema) -> bool {
    let has_blocks = || schema.table(scan.relation).is_some_and(|facts| facts.has_blocks);
    scan.columns.is_some() || is_whole(scan) && has_columns(scan) && has_blocks()
}

/// Returns true if a scan reads so many rows in row form that they are worth arrays.
fn gives_many_rows(scan: &Scan, schema: &dyn Schema) -> bool {
    let is_many = || rows_read(scan, schema.table(scan.relation).as_deref()) >= ROWS_MANY;
    is_by_own_key(scan) && is_many()
}

fn has_columns(scan: &Scan) -> bool {
    scan.attnums.iter().all(|attnum| *attnum > 0)
}

/// Returns true if a scan reads a stored table by its own key, as it was at one moment, and may give its rows in any order.
pub(super) fn is_whole(scan: &Scan) -> bool {
    let is_moment = matches!(scan.moment, Moment::Now | Moment::AsOf(_) | Moment::AtVersion(_));
    is_moment && !scan.computed && is_by_own_key(scan)
}

/// Returns true if a scan uses no index, and may give its rows, or all their versions, in any order.
fn is_by_own_key(scan: &Scan) -> bool {
    let path = &scan.path;
    let is_all = path.index.is_none() && !path.is_single && !path.is_ordered;
    is_all && scan.sample.is_none() && scan.conditional.is_none()
}
