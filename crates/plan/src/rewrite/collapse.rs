//! Projections on top of each other become one, and those that change nothing are left out.

use super::expr::{has_subplan, substitute};
use crate::tree::{Kind, Node, is_volatile};
use sql::plan::{Expr, ExprKind};

/// Leaves out needless projections.
pub(super) fn collapse(node: &mut Node) {
    node.inputs(&mut collapse);
    let nothing = || Node { kind: Kind::Given, types: Vec::new() };
    let Kind::Project { input, exprs } = &mut node.kind else { return };
    if let Kind::Project { input: below, exprs: inner } = &mut input.kind {
        // An expression that is computed below stays computed once.
        let is_cheap = |expr: &Expr| {
            matches!(expr.kind, ExprKind::Column { .. } | ExprKind::Const(_) | ExprKind::Slot(_))
        };
        let only_columns = exprs.iter().all(is_cheap) && uses_once(exprs, inner.len());
        let fixed = |expr: &Expr| !is_volatile(expr) && !has_subplan(expr);
        if inner.iter().all(is_cheap) || (only_columns && inner.iter().all(fixed)) {
            exprs.iter_mut().for_each(|expr| substitute(expr, inner));
            **input = std::mem::replace(&mut **below, nothing());
        }
    }
    let is_same = input.width() == exprs.len()
        && exprs.iter().enumerate().all(|(at, expr)| {
            matches!(expr.kind, ExprKind::Column { index, .. } if index as usize == at)
        });
    if is_same {
        *node = std::mem::replace(&mut **input, nothing());
    }
}

/// True if each column is named once at most.
fn uses_once(exprs: &[Expr], width: usize) -> bool {
    let mut uses = vec![0; width];
    exprs.iter().for_each(|expr| super::expr::columns(expr, &mut |column| uses[column] += 1));
    uses.iter().all(|uses| *uses <= 1)
}
