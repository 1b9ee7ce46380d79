//! Operations on expressions for the rules: their conjuncts, the columns in them, and replacements.

use sql::At;
use sql::imply::same;
use sql::plan::{Call, Cast, Expr, ExprKind};
use types::Type;

use crate::tree::{each_part, is_volatile};

/// The conditions that must all be true. A condition that all parts of an `OR` have is taken out of
/// it, as in `(a AND b) OR (a AND c)`, which is `a AND (b OR c)`: it may be the key of a join or of
/// an index.
pub(super) fn conjuncts(condition: Expr) -> Vec<Expr> {
    match condition.kind {
        ExprKind::And(list) => list.into_iter().flat_map(conjuncts).collect(),
        ExprKind::Or(list) => factored(list),
        _ => vec![condition],
    }
}

/// The conjuncts of the condition that any of these is true.
fn factored(list: Vec<Expr>) -> Vec<Expr> {
    let mut parts: Vec<Vec<Expr>> = list.iter().cloned().map(conjuncts).collect();
    let Some((first, others)) = parts.split_first() else {
        return vec![Expr::of(ExprKind::Or(list), Type::BOOL, At::NONE)];
    };
    let is_common = |expr: &&Expr| {
        !is_volatile(expr) && others.iter().all(|part| part.iter().any(|own| same(own, expr)))
    };
    let common: Vec<Expr> = first.iter().filter(is_common).cloned().collect();
    if common.is_empty() {
        return vec![Expr::of(ExprKind::Or(list), Type::BOOL, At::NONE)];
    }
    for part in &mut parts {
        part.retain(|own| !common.iter().any(|expr| same(own, expr)));
    }
    let mut all = common;
    // Where one part asks for nothing else the others do not matter.
    let rest: Option<Vec<Expr>> = parts.into_iter().map(all_of).collect();
    all.extend(rest.map(|rest| Expr::of(ExprKind::Or(rest), Type::BOOL, At::NONE)));
    all
}

/// The condition that all of these are true; none if there are none.
pub fn all_of(mut list: Vec<Expr>) -> Option<Expr> {
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

/// True if all columns of an expression are in `wanted`.
pub(super) fn sees_only(expr: &Expr, wanted: std::ops::Range<usize>) -> bool {
    let mut all = true;
    columns(expr, &mut |column| all &= wanted.contains(&column));
    all
}

/// True if an expression has no columns.
pub(super) fn sees_nothing(expr: &Expr) -> bool {
    sees_only(expr, 0..0)
}

/// True if an expression has a subquery in it.
pub(super) fn has_subplan(expr: &Expr) -> bool {
    let mut found = false;
    each_part(&mut expr.clone(), &mut |part| {
        found |= matches!(part.kind, ExprKind::Subplan { .. });
        !found
    });
    found
}

/// True if an expression asks a subquery again for each row.
pub(super) fn is_costly(expr: &Expr) -> bool {
    let mut found = false;
    each_part(&mut expr.clone(), &mut |part| {
        found |= matches!(&part.kind, ExprKind::Subplan { args, .. } if !args.is_empty());
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
        ExprKind::Cast {
            expr,
            how: Cast::Type { how: scalar::cast::CoercionPath::Relabel, .. },
        } => column_of(expr),
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
