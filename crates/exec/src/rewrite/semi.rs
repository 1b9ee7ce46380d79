//! `EXISTS` in a condition becomes a join: semi for `EXISTS`, anti for `NOT EXISTS`.
//!
//! ```text
//!   Filter subplan 0(#0)                 Join semi on #0 = #5
//!     Scan orders                  ──>     Scan orders
//!   Subplan 0(@0) exists                   Scan item
//!     Filter #0 = @0
//!       Scan item
//! ```
//!
//! Only where the row around is named in the condition on top of the subquery, and nowhere else: what
//! is below is then the same for all rows. `IN` stays a subplan, whose rows are in a hash table
//! already.

use std::collections::BTreeSet;

use sql::plan::{Expr, ExprKind};

use super::expr::{all_of, conjuncts, has_subplan, move_columns};
use crate::plan::{Join, JoinKind, Kind, Link, Node, Plan, each_part, is_volatile, slots_of};

/// Makes joins of the subqueries that can be.
pub(super) fn semi_joins(plan: &mut Plan, node: &mut Node) {
    node.inputs(&mut |input| semi_joins(plan, input));
    let found = match &mut node.kind {
        Kind::Filter { condition, .. } => Some(condition),
        Kind::Scan(scan) => scan.condition.as_mut(),
        _ => None,
    };
    let Some(condition) = found else { return };
    let mut joins = Vec::new();
    let mut stay = Vec::new();
    for conjunct in conjuncts(condition.clone()) {
        match join_of(plan, &conjunct) {
            Some(join) => joins.push(join),
            None => stay.push(conjunct),
        }
    }
    if joins.is_empty() {
        return;
    }
    let stay = all_of(stay);
    match (&mut node.kind, stay) {
        (Kind::Scan(scan), stay) => scan.condition = stay,
        (Kind::Filter { condition, .. }, Some(stay)) => *condition = stay,
        (Kind::Filter { input, .. }, None) => {
            let nothing = Node { kind: Kind::Given, types: Vec::new() };
            *node = std::mem::replace(&mut **input, nothing);
        }
        _ => {}
    }
    for (kind, right, mut correlated) in joins {
        let types = node.types.clone();
        let left = std::mem::replace(node, Node { kind: Kind::Given, types: Vec::new() });
        // The columns of the right side stand behind those of the left one.
        let width = left.width();
        for (expr, args) in &mut correlated {
            move_columns(expr, &|column| column + width);
            each_part(expr, &mut |part| {
                if let ExprKind::Slot(slot) = part.kind
                    && let Some((_, arg)) = args.iter().find(|(known, _)| *known == slot)
                {
                    *part = arg.clone();
                    return false;
                }
                true
            });
        }
        let condition = all_of(correlated.into_iter().map(|(expr, _)| expr).collect());
        let (keys, build_left, lateral) = (Vec::new(), false, None);
        let join = Join { kind, left, right, keys, build_left, condition, lateral };
        *node = Node { kind: Kind::Join(Box::new(join)), types };
    }
}

/// A condition over the right row, with the values that its slots have of the left row.
type Correlated = Vec<(Expr, Vec<(u32, Expr)>)>;

/// The join that a condition is: its right side, and the conditions between the sides.
fn join_of(plan: &Plan, conjunct: &Expr) -> Option<(JoinKind, Node, Correlated)> {
    let (kind, expr) = match &conjunct.kind {
        ExprKind::Not(inner) => (JoinKind::Anti, &**inner),
        _ => (JoinKind::Semi, conjunct),
    };
    let ExprKind::Subplan { number, args } = &expr.kind else { return None };
    let subplan = &plan.subplans[*number as usize];
    if !matches!(subplan.link, Link::Exists) || args.is_empty() {
        return None;
    }
    // Whether there is a row does not depend on the outputs.
    let mut right = subplan.node.clone();
    while let Kind::Project { input, exprs } = right.kind {
        if exprs.iter().any(is_volatile) {
            return None;
        }
        right = *input;
    }
    let condition = match &mut right.kind {
        Kind::Filter { .. } => {
            let Kind::Filter { input, condition } = right.kind else { return None };
            right = *input;
            condition
        }
        Kind::Scan(scan) => scan.condition.take()?,
        Kind::Join(join) if join.kind == JoinKind::Inner && join.lateral.is_none() => {
            join.condition.take()?
        }
        _ => return None,
    };
    let own: BTreeSet<u32> = subplan.args.iter().copied().collect();
    let reads_own = |expr: &Expr| {
        let mut slots = BTreeSet::new();
        slots_of(expr, plan, &mut slots);
        slots.intersection(&own).next().is_some()
    };
    let values: Vec<(u32, Expr)> = subplan.args.iter().copied().zip(args.iter().cloned()).collect();
    let (mut correlated, mut stay) = (Correlated::new(), Vec::new());
    for conjunct in conjuncts(condition) {
        if is_volatile(&conjunct) {
            return None;
        }
        if !reads_own(&conjunct) {
            stay.push(conjunct);
        } else if has_subplan(&conjunct) {
            return None;
        } else {
            correlated.push((conjunct, values.clone()));
        }
    }
    let mut independent = true;
    right.all_exprs(&mut |expr| independent &= !reads_own(expr));
    if !independent || correlated.is_empty() {
        return None;
    }
    if let Some(condition) = all_of(stay) {
        let types = right.types.clone();
        right = Node { kind: Kind::Filter { input: Box::new(right), condition }, types };
    }
    Some((kind, right, correlated))
}
