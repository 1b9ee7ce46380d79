//! Rules that make plans cheaper without changing their results.
//!
//! ```text
//!   inline    a table of WITH that is read once goes where it is read
//!   prune     columns that are not needed are neither computed nor read
//!             (what constants there are is looked at here, see `Constant`)
//!   push      conditions move down, through joins, to the scans
//!   lateral   a lateral side that only picks rows by values of the left one becomes an ordinary side
//!   semi      EXISTS (...) and IN (...) become joins
//!   late      subqueries among the columns of a join's side are computed after the join
//!   grouped   a scalar subquery that picks rows by equality can be computed for all values at once
//!   prune     once more
//!   collapse  projections on top of each other become one
//!   reorder   inner joins get the cheapest order
//!   access    conditions on keys become ranges of keys; partitioned tables become their partitions
//!   join      equalities become keys of hash tables, or of an index of the right side
//!   postpone  conditions that ask a subquery for each row are tested after joins that leave out rows
//!   prune     what only served for these
//!   order     an order that a key has need not be made; a limit bounds the sort below it
//!   texts     documents of which only the text is wanted are not made values of
//!   freeze    statements that change rows in several places read them as they were at the start
//!   batches   aggregates, joins and conditions over blocks of columns are computed over the columns
//!   columns   scans below such aggregates read a columnar index, where one has all that is asked of them
//! ```
//!
//! Where sizes matter they are guessed from the number of rows and the keys that tables have ([`estimate`]).

mod access;
mod append;
mod batches;
mod collapse;
mod columns;
mod dependent;
mod estimate;
mod expr;
mod freeze;
mod grouped;
mod inline;
mod join;
mod keys;
mod late;
mod lateral;
mod lift;
mod order;
mod postpone;
mod prune;
mod push;
mod reorder;
mod semi;
mod texts;

pub(crate) use estimate::rows as estimate;
pub use expr::all_of;
pub(crate) use expr::substitute;
pub use postpone::asks;
use types::TypeSource;

use crate::schema::Schema;
use crate::tree::{Node, Plan};

/// Applies all rules. With `keeps_join_order` the planner does not reorder inner joins.
pub fn rewrite(
    plan: &mut Plan,
    types: &dyn TypeSource,
    schema: &dyn Schema,
    keeps_join_order: bool,
) {
    inline::inline(plan);
    each_root(plan, &mut |_, node| prune::prune(node));
    plan.find_constants();
    each_root(plan, &mut |_, node| push::push(node));
    each_root(plan, &mut |plan, node| lateral::lateral(plan, node, types));
    each_root(plan, &mut |_, node| push::push(node));
    each_root(plan, &mut |plan, node| semi::semi_joins(plan, node, schema));
    each_root(plan, &mut |_, node| push::push(node));
    each_root(plan, &mut |_, node| late::late(node));
    grouped::grouped(plan, types, schema);
    each_root(plan, &mut |_, node| push::push(node));
    each_root(plan, &mut |_, node| prune::prune(node));
    each_root(plan, &mut |_, node| collapse::collapse(node));
    if !keeps_join_order {
        each_root(plan, &mut |_, node| reorder::reorder(node, types, schema));
    }
    each_root(plan, &mut |_, node| collapse::collapse(node));
    each_root(plan, &mut |_, node| access::access(node, types, schema));
    let mut is_large = false;
    each_root(plan, &mut |plan, node| is_large |= join::methods(plan, node, types, schema));
    plan.wants_values = is_large && plan.has_params();
    access::forget_sure(plan);
    each_root(plan, &mut |plan, node| postpone::postpone(plan, node, schema));
    each_root(plan, &mut |_, node| push::remove_barriers(node));
    grouped::only_whole_reads(plan);
    each_root(plan, &mut |_, node| prune::prune(node));
    each_root(plan, &mut |_, node| collapse::collapse(node));
    each_root(plan, &mut |_, node| order::orders(node, types, schema));
    each_root(plan, &mut |_, node| texts::texts(node, schema));
    freeze::freeze(plan);
    each_root(plan, &mut |plan, node| batches::batches(plan, node, schema));
}

/// Calls `f` for the root of the plan and for that of each subplan.
fn each_root(plan: &mut Plan, f: &mut dyn FnMut(&mut Plan, &mut Node)) {
    let nothing = || Node { kind: crate::tree::Kind::Given, types: Vec::new() };
    let mut root = std::mem::replace(&mut plan.root, nothing());
    f(plan, &mut root);
    plan.root = root;
    for number in 0..plan.subplans.len() {
        let mut root = std::mem::replace(&mut plan.subplans[number].node, nothing());
        f(plan, &mut root);
        plan.subplans[number].node = root;
        if let Some(mut grouped) = plan.subplans[number].grouped.take() {
            f(plan, &mut grouped.node);
            grouped.empty.iter_mut().for_each(|empty| f(plan, empty));
            grouped.some.iter_mut().for_each(|(some, _)| f(plan, some));
            plan.subplans[number].grouped = Some(grouped);
        }
    }
}
