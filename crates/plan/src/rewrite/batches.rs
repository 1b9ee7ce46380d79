//! Aggregates over scans whose rows come in blocks of columns are computed over the columns.
//!
//! ```text
//!   Aggregate [sum(#1)] by [#0]                 the condition, the keys and the calls of all of these are
//!     Scan sale, condition #2 > 7    ──>        computed 1,024 values at a time, where `batch` knows the calls
//! ```

use sql::plan::Moment;

use crate::schema::Schema;
use crate::tree::{Aggregate, Kind, Node, Scan};

/// Marks the aggregates of a plan that are computed over columns.
pub(super) fn batches(node: &mut Node, schema: &dyn Schema) {
    node.inputs(&mut |input| batches(input, schema));
    if let Kind::Aggregate(aggregate) = &mut node.kind {
        aggregate.in_batches = has_blocks(aggregate, schema);
    }
}

fn has_blocks(aggregate: &Aggregate, schema: &dyn Schema) -> bool {
    let Kind::Scan(scan) = &aggregate.input.kind else { return false };
    let has_all_keys = |set: &Vec<usize>| set.iter().copied().eq(0..aggregate.keys.len());
    let is_plain = aggregate.masks.is_empty()
        && matches!(&aggregate.sets[..], [set] if has_all_keys(set))
        && batch::can_aggregate(&aggregate.keys, &aggregate.calls);
    is_plain && gives_blocks(scan, schema)
}

fn gives_blocks(scan: &Scan, schema: &dyn Schema) -> bool {
    let is_moment = matches!(scan.moment, Moment::Now | Moment::AsOf(_) | Moment::AtVersion(_));
    let is_scan = !scan.computed && scan.sample.is_none() && scan.chance.is_none();
    let path = &scan.path;
    let is_whole = path.index.is_none() && !path.is_single && !path.backward;
    is_moment
        && is_scan
        && is_whole
        && schema.table(scan.relation).is_some_and(|facts| facts.has_blocks)
}
