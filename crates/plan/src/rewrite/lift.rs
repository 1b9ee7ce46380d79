//! Takes the values of an outer row out of the operators below it.
//!
//! ```text
//!   Project [#1, @0]                       node        Scan item where price > 5
//!     Filter price > 5 and #0 = @0   ──>   exprs       [#1, @0]      over its columns
//!       Scan item                          conditions  [#0 = @0]     over its columns
//! ```
//!
//! The node is the same for all rows further out. The dependence on them, the slots `own`, is in
//! the expressions and the conditions. The caller replaces these slots.

use std::collections::BTreeSet;

use sql::At;
use sql::plan::{Expr, ExprKind};
use types::Type;

use super::expr::{all_of, and, conjuncts, has_subplan, move_columns, substitute};
use crate::tree::{Join, JoinKind, Kind, Node, Plan, slots_of};

/// An operator without what depends on a row further out.
pub(super) struct Lifted {
    /// Gives the same rows for all rows further out.
    pub(super) node: Node,
    /// The columns of the operator.
    pub(super) exprs: Vec<Expr>,
    /// Which of the rows are those of the operator.
    pub(super) conditions: Vec<Expr>,
}

/// A column of a row.
pub(super) fn column(index: usize, ty: Type) -> Expr {
    Expr::of(ExprKind::Column { levels_up: 0, index: index as u32 }, ty, At::NONE)
}

/// All columns of an operator.
pub(super) fn columns_of(node: &Node) -> Vec<Expr> {
    node.types.iter().enumerate().map(|(at, ty)| column(at, *ty)).collect()
}

/// One row without columns.
fn nothing() -> Node {
    Node { kind: Kind::Values(vec![Vec::new()]), types: Vec::new() }
}

/// True for [`nothing`].
pub(super) fn is_nothing(node: &Node) -> bool {
    matches!(&node.kind, Kind::Values(rows) if matches!(&rows[..], [row] if row.is_empty()))
}

/// True if an expression reads one of these slots, itself or in a subplan.
pub(super) fn reads(plan: &Plan, expr: &Expr, own: &BTreeSet<u32>) -> bool {
    let mut slots = BTreeSet::new();
    slots_of(expr, plan, &mut slots);
    !slots.is_disjoint(own)
}

/// True if an operator, or one below it, reads one of these slots.
pub(super) fn node_reads(plan: &Plan, node: &Node, own: &BTreeSet<u32>) -> bool {
    let mut found = false;
    node.clone().all_exprs(&mut |expr| found |= reads(plan, expr, own));
    found
}

/// The operator without the slots `own`; none if they stand in it too deep.
pub(super) fn lift(plan: &Plan, node: &Node, own: &BTreeSet<u32>) -> Option<Lifted> {
    if !node_reads(plan, node, own) {
        let exprs = columns_of(node);
        return Some(Lifted { node: node.clone(), exprs, conditions: Vec::new() });
    }
    // A subplan finds the values further out in the slots, and nowhere else.
    let fits = |expr: &Expr| !(has_subplan(expr) && reads(plan, expr, own));
    match &node.kind {
        Kind::Values(rows) => match &rows[..] {
            [row] if row.iter().all(fits) => {
                Some(Lifted { node: nothing(), exprs: row.clone(), conditions: Vec::new() })
            }
            _ => None,
        },
        Kind::Scan(scan) => {
            let mut scan = scan.clone();
            let all = scan.condition.take().map(conjuncts).unwrap_or_default();
            let (conditions, stay): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|condition| reads(plan, condition, own));
            scan.condition = all_of(stay);
            let left = Node { kind: Kind::Scan(scan), types: node.types.clone() };
            let is_free = conditions.iter().all(fits) && !node_reads(plan, &left, own);
            let exprs = columns_of(&left);
            is_free.then_some(Lifted { node: left, exprs, conditions })
        }
        Kind::Filter { input, condition } => {
            let mut lifted = lift(plan, input, own)?;
            for mut condition in conjuncts(condition.clone()) {
                if !fits(&condition) {
                    return None;
                }
                substitute(&mut condition, &lifted.exprs);
                lifted.take(plan, condition, own);
            }
            Some(lifted)
        }
        Kind::Project { input, exprs } => {
            if !exprs.iter().all(fits) {
                return None;
            }
            let lifted = lift(plan, input, own)?;
            let mut exprs = exprs.clone();
            exprs.iter_mut().for_each(|expr| substitute(expr, &lifted.exprs));
            Some(Lifted { exprs, ..lifted })
        }
        Kind::Join(join) => {
            let is_plain = join.lateral.as_ref().is_none_or(Vec::is_empty);
            if join.kind != JoinKind::Inner || !is_plain {
                return None;
            }
            let (left, right) = (lift(plan, &join.left, own)?, lift(plan, &join.right, own)?);
            let mut lifted = left.and(right);
            for mut condition in join.condition.clone().map(conjuncts).unwrap_or_default() {
                if !fits(&condition) {
                    return None;
                }
                substitute(&mut condition, &lifted.exprs);
                lifted.take(plan, condition, own);
            }
            Some(lifted)
        }
        _ => None,
    }
}

impl Lifted {
    /// Adds a condition over the node's columns: to the node, where it is the same for all rows.
    fn take(&mut self, plan: &Plan, condition: Expr, own: &BTreeSet<u32>) {
        if reads(plan, &condition, own) {
            self.conditions.push(condition);
        } else {
            filter(&mut self.node, condition);
        }
    }

    /// Both, side by side.
    fn and(self, mut right: Lifted) -> Lifted {
        let width = self.node.width();
        let moved = |expr: &mut Expr| move_columns(expr, &|column| column + width);
        right.exprs.iter_mut().for_each(moved);
        right.conditions.iter_mut().for_each(moved);
        let exprs = [self.exprs, right.exprs].concat();
        let conditions = [self.conditions, right.conditions].concat();
        let node = match (is_nothing(&self.node), is_nothing(&right.node)) {
            (true, _) => right.node,
            (_, true) => self.node,
            _ => {
                let types = [&self.node.types[..], &right.node.types[..]].concat();
                let join = Join {
                    kind: JoinKind::Inner,
                    left: self.node,
                    right: right.node,
                    keys: Vec::new(),
                    build_left: false,
                    condition: None,
                    lateral: None,
                    in_batches: false,
                };
                Node { kind: Kind::Join(Box::new(join)), types }
            }
        };
        Lifted { node, exprs, conditions }
    }
}

/// Puts a condition on top of an operator.
pub(super) fn filter(node: &mut Node, condition: Expr) {
    if let Kind::Join(join) = &mut node.kind
        && join.kind == JoinKind::Inner
    {
        return and(&mut join.condition, condition);
    }
    let types = node.types.clone();
    let input = Box::new(std::mem::replace(node, nothing()));
    *node = Node { kind: Kind::Filter { input, condition }, types };
}
