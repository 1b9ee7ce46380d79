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
use crate::tree::{Join, JoinKind, Kind, Link, Node, Plan, each_part, is_volatile};

/// Moves costly conditions above joins.
pub(super) fn postpone(plan: &Plan, node: &mut Node, schema: &dyn Schema) {
    node.inputs(&mut |input| postpone(plan, input, schema));
    let Kind::Join(join) = &mut node.kind else { return };
    if join.lateral.is_some() {
        return;
    }
    let width = join.left.width();
    let mut moved = Vec::new();
    if matches!(join.kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Left) {
        moved.extend(taken(plan, join, |join| &mut join.left, schema));
    }
    if join.kind == JoinKind::Inner {
        let of_right = taken(plan, join, |join| &mut join.right, schema);
        moved.extend(of_right.into_iter().map(|mut expr| {
            move_columns(&mut expr, &|column| column + width);
            expr
        }));
        if !join.keys.is_empty() {
            moved.extend(split(plan, &mut join.condition));
        }
    }
    let Some(condition) = all_of(moved) else { return };
    let types = node.types.clone();
    let nothing = Node { kind: Kind::Given, types: Vec::new() };
    let input = Box::new(std::mem::replace(node, nothing));
    *node = Node { kind: Kind::Filter { input, condition }, types };
}

/// Takes the costly conditions of a side away, if the join gives no more rows than the side does without them.
fn taken(
    plan: &Plan,
    join: &mut Join,
    side: fn(&mut Join) -> &mut Node,
    schema: &dyn Schema,
) -> Vec<Expr> {
    let node = side(join);
    let found = match &mut node.kind {
        Kind::Scan(scan) => split(plan, &mut scan.condition),
        Kind::Filter { input, condition } => {
            let mut own = Some(condition.clone());
            let found = split(plan, &mut own);
            match own {
                Some(own) => *condition = own,
                None => {
                    let nothing = Node { kind: Kind::Given, types: Vec::new() };
                    *node = std::mem::replace(&mut **input, nothing);
                }
            }
            found
        }
        _ => Vec::new(),
    };
    if found.is_empty() {
        return found;
    }
    let of_side = rows(node, schema);
    let types = [&join.left.types[..], &join.right.types[..]].concat();
    let of_join = {
        let join = Box::new(join.clone());
        rows(&Node { kind: Kind::Join(join), types }, schema)
    };
    if of_join <= of_side {
        return found;
    }
    // The side keeps them.
    let node = side(join);
    match (&mut node.kind, all_of(found)) {
        (Kind::Scan(scan), Some(expr)) => super::expr::and(&mut scan.condition, expr),
        (_, Some(condition)) => {
            let types = node.types.clone();
            let nothing = Node { kind: Kind::Given, types: Vec::new() };
            let input = Box::new(std::mem::replace(node, nothing));
            *node = Node { kind: Kind::Filter { input, condition }, types };
        }
        (_, None) => {}
    }
    Vec::new()
}

/// Returns true if an expression has a subquery that is asked again for each row. A test against the rows of a
/// subquery that are in a hash table costs little.
pub(super) fn asks(plan: &Plan, expr: &Expr) -> bool {
    let mut found = false;
    each_part(&mut expr.clone(), &mut |part| {
        if let ExprKind::Subplan { number, args } = &part.kind {
            let is_hashed = match &plan.subplans[*number as usize].link {
                Link::Any(test) | Link::All(test) => test.keys.is_some(),
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
