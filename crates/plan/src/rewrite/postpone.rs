//! Conditions that ask a subquery for each row are tested after the joins that leave out rows.
//!
//! ```text
//!   Join hash inner keys [#0 = #0]                       Filter #1 > subplan 0(#0)
//!     Scan partsupp, condition #1 > subplan 0(#0)  ──>     Join hash inner keys [#0 = #0]
//!     Scan part                                              Scan partsupp
//!                                                            Scan part
//! ```
//!
//! This is predicate migration (Hellerstein and Stonebraker, 1993) for the one kind of condition that costs more than
//! a join. A filter above the join also sees all rows together, so that what is asked of the subquery can be computed
//! at once.

use sql::plan::{Expr, ExprKind};

use super::estimate::rows;
use super::expr::{all_of, conjuncts, move_columns};
use crate::schema::Schema;
use crate::tree::{JoinKind, Kind, Link, Node, Plan, each_part, is_volatile};

/// Moves costly conditions above joins.
pub(super) fn postpone(plan: &Plan, node: &mut Node, schema: &dyn Schema) {
    node.inputs(&mut |input| postpone(plan, input, schema));
    let Kind::Join(join) = &node.kind else { return };
    let goes_left = matches!(join.kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Left);
    let (is_inner, has_keys) = (join.kind == JoinKind::Inner, !join.keys.is_empty());
    if join.lateral.is_some() {
        return;
    }
    // A side keeps its conditions if the join gives more rows than the side: both are estimated with them.
    let leaves_out = |side: &Node| asks_of(plan, side) && rows(node, schema) <= rows(side, schema);
    let from_left = goes_left && leaves_out(&join.left);
    let from_right = is_inner && leaves_out(&join.right);
    let Kind::Join(join) = &mut node.kind else { return };
    let width = join.left.width();
    let mut moved = Vec::new();
    if from_left {
        moved.extend(taken(plan, &mut join.left));
    }
    if from_right {
        moved.extend(taken(plan, &mut join.right).into_iter().map(|mut expr| {
            move_columns(&mut expr, &|column| column + width);
            expr
        }));
    }
    if is_inner && has_keys {
        moved.extend(split(plan, &mut join.condition));
    }
    let Some(condition) = all_of(moved) else { return };
    let types = node.types.clone();
    let nothing = Node { kind: Kind::Given, types: Vec::new() };
    let input = Box::new(std::mem::replace(node, nothing));
    *node = Node { kind: Kind::Filter { input, condition }, types };
}

/// Returns true if a side has a condition that asks a subquery.
fn asks_of(plan: &Plan, side: &Node) -> bool {
    match &side.kind {
        Kind::Scan(scan) => scan.condition.as_ref().is_some_and(|expr| asks(plan, expr)),
        Kind::Filter { condition, .. } => asks(plan, condition),
        _ => false,
    }
}

/// Takes the costly conditions of a side away.
fn taken(plan: &Plan, side: &mut Node) -> Vec<Expr> {
    match &mut side.kind {
        Kind::Scan(scan) => split(plan, &mut scan.condition),
        Kind::Filter { input, condition } => {
            let mut own = Some(condition.clone());
            let found = split(plan, &mut own);
            match own {
                Some(own) => *condition = own,
                None => {
                    let nothing = Node { kind: Kind::Given, types: Vec::new() };
                    *side = std::mem::replace(&mut **input, nothing);
                }
            }
            found
        }
        _ => Vec::new(),
    }
}

/// Returns true if an expression has a subquery that is asked again for each row. A test against the rows of a
/// subquery that are in a hash table costs little. A part of a plan that looks at a row again has no subqueries of its
/// own, of which nothing is known then.
pub fn asks(plan: &Plan, expr: &Expr) -> bool {
    let mut found = false;
    each_part(&mut expr.clone(), &mut |part| {
        if let ExprKind::Subplan { number, args } = &part.kind {
            let is_hashed = match plan.subplans.get(*number as usize).map(|plan| &plan.link) {
                Some(Link::Any(test) | Link::All(test)) => test.keys.is_some(),
                _ => false,
            };
            found |= !args.is_empty() && !is_hashed;
        }
        true
    });
    found
}

/// Takes the costly parts of a condition away.
fn split(plan: &Plan, condition: &mut Option<Expr>) -> Vec<Expr> {
    let all = condition.take().map(conjuncts).unwrap_or_default();
    if all.iter().any(is_volatile) {
        *condition = all_of(all);
        return Vec::new();
    }
    let (costly, stay) = all.into_iter().partition(|expr| asks(plan, expr));
    *condition = all_of(stay);
    costly
}
