//! Subqueries among the columns of a side of a join are computed after the join, for the rows that
//! come out of it.
//!
//! ```text
//!   Join inner on #0 = #2                        Project [#0, subplan 0(#0), #1]
//!     Project [#0, subplan 0(#0)]        ──>       Join inner on #0 = #1
//!       Scan a                                       Scan a
//!     Scan b                                         Scan b
//! ```
//!
//! Not where the join's condition looks at what the subquery gives, or where it could be noticed that
//! something is computed more or less often.

use sql::plan::Expr;

use super::expr::{columns, has_subplan, move_columns, substitute};
use crate::tree::{JoinKind, Kind, Node, is_volatile};

/// Moves projections with subqueries above the joins that they are a side of.
pub(super) fn late(node: &mut Node) {
    node.inputs(&mut late);
    let Kind::Join(join) = &mut node.kind else { return };
    if join.kind != JoinKind::Inner || join.lateral.is_some() {
        return;
    }
    let (left, all) = (join.left.width(), node.types.len());
    let mut seen = Vec::new();
    if let Some(condition) = &join.condition {
        columns(condition, &mut |column| seen.push(column));
    }
    let moves_left = can_move(&join.left, &seen, 0..left);
    let moves_right = can_move(&join.right, &seen, left..all);
    if !moves_left && !moves_right {
        return;
    }
    let mut exprs = taken(&mut join.left, moves_left);
    let of_right = taken(&mut join.right, moves_right);
    let left = join.left.width();
    exprs.extend(of_right.into_iter().map(|mut expr| {
        move_columns(&mut expr, &|column| column + left);
        expr
    }));
    if let Some(condition) = &mut join.condition {
        substitute(condition, &exprs);
    }
    let types = [&join.left.types[..], &join.right.types[..]].concat();
    let nothing = Node { kind: Kind::Given, types: Vec::new() };
    let input = Node { types, ..std::mem::replace(node, nothing) };
    let types = exprs.iter().map(|expr| expr.ty).collect();
    *node = Node { kind: Kind::Project { input: Box::new(input), exprs }, types };
}

/// True for a projection with subqueries that the condition of its join does not look at.
fn can_move(side: &Node, seen: &[usize], columns: std::ops::Range<usize>) -> bool {
    let Kind::Project { exprs, .. } = &side.kind else { return false };
    let looks = |at: usize| seen.contains(&(columns.start + at));
    exprs.iter().any(has_subplan)
        && !exprs.iter().any(is_volatile)
        && !exprs.iter().enumerate().any(|(at, expr)| looks(at) && has_subplan(expr))
}

/// The expressions of a side, over the columns of what is below its projection where that is taken
/// away.
fn taken(side: &mut Node, moves: bool) -> Vec<Expr> {
    let nothing = Node { kind: Kind::Given, types: Vec::new() };
    match &mut side.kind {
        Kind::Project { input, exprs } if moves => {
            let exprs = std::mem::take(exprs);
            *side = std::mem::replace(&mut **input, nothing);
            exprs
        }
        _ => side.columns(),
    }
}
