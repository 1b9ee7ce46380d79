//! Conditions move down, as near to the scans as they can.
//!
//! ```text
//!   Filter a.x = 1 and a.id = b.id and b.y > 2       Join inner on a.id = b.id
//!     Join inner                                ──>    Scan a where x = 1
//!       Scan a                                         Scan b where y > 2
//!       Scan b
//! ```
//!
//! A condition on the side of an outer join that may be NULL stays above it; one that could be noticed
//! if it was computed more or less often (`random() < 0.5`) stays where it is.

use sql::plan::{Expr, ExprKind};

use super::expr::{
    all_of, and, comparison, conjuncts, has_subplan, is_costly, move_columns, sees_only, substitute,
};
use crate::tree::{Join, JoinKind, Kind, Node, is_volatile};

/// The operators that compare two values and fail for none.
const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// Moves the conditions of a plan down.
pub(super) fn push(node: &mut Node) {
    if let Kind::Filter { .. } = &node.kind {
        let Kind::Filter { input, condition } =
            std::mem::replace(&mut node.kind, Kind::Values(Vec::new()))
        else {
            unreachable!("looked at above");
        };
        *node = *input;
        let mut stay = Vec::new();
        for conjunct in conjuncts(condition) {
            match is_volatile(&conjunct) {
                true => stay.push(conjunct),
                false => stay.extend(into(node, conjunct)),
            }
        }
        push(node);
        if let Some(condition) = all_of(stay) {
            filter(node, condition);
        }
        return;
    }
    if let Kind::Join(join) = &mut node.kind {
        push_condition(join);
    }
    node.inputs(&mut push);
}

/// Puts a filter on top.
fn filter(node: &mut Node, condition: Expr) {
    let types = node.types.clone();
    let nothing = Node { kind: Kind::Given, types: Vec::new() };
    let input = Box::new(std::mem::replace(node, nothing));
    *node = Node { kind: Kind::Filter { input, condition }, types };
}

/// Moves a condition into an operator, or gives it back where it must stay above.
fn into(node: &mut Node, mut condition: Expr) -> Option<Expr> {
    match &mut node.kind {
        Kind::Scan(scan) => and(&mut scan.condition, condition),
        Kind::Filter { condition: own, .. } => {
            let mut both = Some(own.clone());
            and(&mut both, condition);
            *own = both?;
        }
        Kind::Project { input, exprs } => {
            let mut costly = false;
            super::expr::columns(&condition, &mut |column| {
                costly |= is_volatile(&exprs[column]) || has_subplan(&exprs[column]);
            });
            if costly {
                return Some(condition);
            }
            substitute(&mut condition, exprs);
            below(input, condition);
        }
        Kind::Sort { input, top: false, .. } | Kind::Distinct(input) => below(input, condition),
        Kind::With { input, .. } => below(input, condition),
        Kind::Barrier(input) => {
            if !tells_nothing(&condition) {
                return Some(condition);
            }
            below(input, condition);
        }
        Kind::ProjectSet { input, .. } => {
            if !sees_only(&condition, 0..input.width()) {
                return Some(condition);
            }
            below(input, condition);
        }
        Kind::Aggregate(aggregate) => {
            let all: Vec<usize> = (0..aggregate.keys.len()).collect();
            let by_keys = aggregate.sets == [all] && !aggregate.keys.is_empty();
            if !by_keys || !sees_only(&condition, 0..aggregate.keys.len()) {
                return Some(condition);
            }
            substitute(&mut condition, &aggregate.keys);
            below(&mut aggregate.input, condition);
        }
        Kind::SetOperation { left, right, .. } => {
            below(left, condition.clone());
            below(right, condition);
        }
        Kind::Join(join) => {
            let (left, all) = (join.left.width(), join.left.width() + join.right.width());
            let keeps_left = join.kind.keeps_left();
            let keeps_right = join.kind.keeps_right();
            // A subquery costs more than to look for a partner.
            if is_costly(&condition) && matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                return Some(condition);
            }
            if sees_only(&condition, 0..left) && !keeps_right {
                below(&mut join.left, condition);
            } else if sees_only(&condition, left..all) && !keeps_left && join.kind.shows_right() {
                move_columns(&mut condition, &|column| column - left);
                below(&mut join.right, condition);
            } else if join.kind == JoinKind::Inner {
                and(&mut join.condition, condition);
            } else {
                return Some(condition);
            }
        }
        _ => return Some(condition),
    }
    None
}

/// True if a condition fails for no row, and does nothing else by which others could learn of the rows that it
/// sees: it compares (PostgreSQL's `leakproof`).
fn tells_nothing(condition: &Expr) -> bool {
    let mut sees = false;
    super::expr::columns(condition, &mut |_| sees = true);
    if !sees {
        return true;
    }
    match &condition.kind {
        ExprKind::Column { .. } => true,
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().all(tells_nothing),
        ExprKind::Not(expr) | ExprKind::IsNull { expr, .. } | ExprKind::IsBool { expr, .. } => {
            tells_nothing(expr)
        }
        ExprKind::Call(_) => comparison(condition).is_some_and(|(symbol, left, right)| {
            COMPARISONS.contains(&symbol)
                && [left, right].iter().all(|side| side.ty.is_builtin() && tells_nothing(side))
        }),
        ExprKind::AnyAll { call, .. } => {
            COMPARISONS.contains(&&*call.name) && call.args.iter().all(tells_nothing)
        }
        _ => false,
    }
}

/// Takes the barriers out of a plan whose conditions move no more.
pub(super) fn remove_barriers(node: &mut Node) {
    while let Kind::Barrier(input) = &mut node.kind {
        let nothing = Node { kind: Kind::Given, types: Vec::new() };
        *node = std::mem::replace(&mut **input, nothing);
    }
    node.inputs(&mut remove_barriers);
}

/// Filters the rows of an operator by a condition.
pub(super) fn filter_into(node: &mut Node, condition: Expr) {
    below(node, condition);
}

/// Moves a condition into an operator, or puts it on top of it.
fn below(node: &mut Node, condition: Expr) {
    if let Some(condition) = into(node, condition) {
        filter(node, condition);
    }
}

/// Moves those parts of a join's condition down that are about one side.
fn push_condition(join: &mut Join) {
    let left = join.left.width();
    let all = left + join.right.width();
    let mut stay = Vec::new();
    for mut conjunct in join.condition.take().map(conjuncts).unwrap_or_default() {
        let volatile = is_volatile(&conjunct);
        if !volatile
            && sees_only(&conjunct, 0..left)
            && !join.kind.keeps_left()
            && join.kind != JoinKind::Anti
        {
            below(&mut join.left, conjunct);
        } else if !volatile && sees_only(&conjunct, left..all) && !join.kind.keeps_right() {
            move_columns(&mut conjunct, &|column| column - left);
            below(&mut join.right, conjunct);
        } else {
            stay.push(conjunct);
        }
    }
    join.condition = all_of(stay);
}
