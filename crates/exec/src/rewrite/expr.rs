//! What the rules ask of expressions: their conjuncts, the columns in them, and other ones in their
//! place.

use sql::At;
use sql::plan::{Call, Cast, Expr, ExprKind};
use types::Type;

use crate::plan::each_part;

/// The conditions that must all be true.
pub(super) fn conjuncts(condition: Expr) -> Vec<Expr> {
    match condition.kind {
        ExprKind::And(list) => list.into_iter().flat_map(conjuncts).collect(),
        _ => vec![condition],
    }
}

/// The condition that all of these are true; none where there are none.
pub(super) fn all_of(mut list: Vec<Expr>) -> Option<Expr> {
    match list.len() {
        0 => None,
        1 => list.pop(),
        _ => Some(Expr::of(ExprKind::And(list), Type::BOOL, At::NONE)),
    }
}

/// Adds a condition to others.
pub(super) fn and(condition: &mut Option<Expr>, more: Expr) {
    let mut list = condition.take().map(conjuncts).unwrap_or_default();
    list.extend(conjuncts(more));
    *condition = all_of(list);
}

/// Calls `f` for each column in an expression.
pub(super) fn columns(expr: &Expr, f: &mut dyn FnMut(usize)) {
    each_part(&mut expr.clone(), &mut |part| {
        if let ExprKind::Column { index, .. } = part.kind {
            f(index as usize);
        }
        true
    });
}

/// True where all columns of an expression are in `wanted`.
pub(super) fn sees_only(expr: &Expr, wanted: std::ops::Range<usize>) -> bool {
    let mut all = true;
    columns(expr, &mut |column| all &= wanted.contains(&column));
    all
}

/// True where an expression has no columns.
pub(super) fn sees_nothing(expr: &Expr) -> bool {
    sees_only(expr, 0..0)
}

/// True where an expression has a subquery in it.
pub(super) fn has_subplan(expr: &Expr) -> bool {
    let mut found = false;
    each_part(&mut expr.clone(), &mut |part| {
        found |= matches!(part.kind, ExprKind::Subplan { .. });
        !found
    });
    found
}

/// Gives each column another place.
pub(super) fn move_columns(expr: &mut Expr, place: &dyn Fn(usize) -> usize) {
    each_part(expr, &mut |part| {
        if let ExprKind::Column { index, .. } = &mut part.kind {
            *index = place(*index as usize) as u32;
        }
        true
    });
}

/// Puts expressions in the place of columns.
pub(crate) fn substitute(expr: &mut Expr, exprs: &[Expr]) {
    each_part(expr, &mut |part| {
        if let ExprKind::Column { index, .. } = part.kind {
            *part = exprs[index as usize].clone();
            return false;
        }
        true
    });
}

/// An expression that is only a column, or one that counts as text.
pub(super) fn column_of(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Column { levels_up: 0, index } => Some(*index as usize),
        ExprKind::Cast { expr, how: Cast::Type { how: scalar::cast::How::Relabel, .. } } => {
            column_of(expr)
        }
        _ => None,
    }
}

/// The two sides of a comparison by this operator.
pub(super) fn comparison(expr: &Expr) -> Option<(&str, &Expr, &Expr)> {
    match &expr.kind {
        ExprKind::Call(Call { name, operator: true, args, .. }) => match &args[..] {
            [left, right] => Some((name, left, right)),
            _ => None,
        },
        _ => None,
    }
}
