//! Aggregates over scans whose rows come in blocks of columns, and over joins of such scans, are computed over the
//! columns.
//!
//! ```text
//!   Aggregate [sum(#1)] by [#5]                 the conditions, the keys and the calls of all of these are
//!     Join hash inner keys [#0 = #0]    ──>     computed 1,024 values at a time, where `batch` knows them
//!       Scan sale, condition #2 > 7
//!       Scan shop
//! ```

use sql::plan::Moment;

use super::columns;
use super::estimate::rows;
use crate::schema::Schema;
use crate::tree::{Aggregate, Join, JoinKind, Kind, Node, Scan};

/// Marks the aggregates and joins of a plan that are computed over columns.
pub(super) fn batches(node: &mut Node, schema: &dyn Schema) {
    node.inputs(&mut |input| batches(input, schema));
    if !matches!(&node.kind, Kind::Aggregate(aggregate) if is_known(aggregate)) {
        return;
    }
    columns::read(node, schema);
    if let Kind::Aggregate(aggregate) = &mut node.kind {
        aggregate.in_batches = in_batches(&mut aggregate.input, schema);
    }
}

fn is_known(aggregate: &Aggregate) -> bool {
    let has_all_keys = |set: &Vec<usize>| set.iter().copied().eq(0..aggregate.keys.len());
    aggregate.masks.is_empty()
        && matches!(&aggregate.sets[..], [set] if has_all_keys(set))
        && batch::can_aggregate(&aggregate.keys, &aggregate.calls)
}

/// Has the joins of an input computed over columns, as far as they can be; false if the input gives nothing but rows.
fn in_batches(node: &mut Node, schema: &dyn Schema) -> bool {
    match &mut node.kind {
        Kind::Scan(scan) => gives_blocks(scan, schema),
        Kind::Join(join) => join_in_batches(join, schema),
        Kind::Project { input, .. } => in_batches(input, schema),
        _ => false,
    }
}

fn join_in_batches(join: &mut Join, schema: &dyn Schema) -> bool {
    if !can_be_in_batches(join) {
        return false;
    }
    let (left, right) = (in_batches(&mut join.left, schema), in_batches(&mut join.right, schema));
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
    scan.columns.is_some() || is_whole(scan) && has_blocks()
}

/// Returns true if a scan reads a table in the order of its own key, as it was at one moment.
pub(super) fn is_whole(scan: &Scan) -> bool {
    let is_moment = matches!(scan.moment, Moment::Now | Moment::AsOf(_) | Moment::AtVersion(_));
    let is_scan = !scan.computed && scan.sample.is_none() && scan.chance.is_none();
    let path = &scan.path;
    let is_whole = path.index.is_none() && !path.is_single && !path.backward;
    is_moment && is_scan && is_whole
}
