//! A lateral side that only picks rows by values of the left one becomes an ordinary side.
//!
//! ```text
//!   Join lateral [@0 = #0]                     Project [#0, #1, #0]
//!     Scan a                                     Join on #1 = #0
//!     Join on #0 = #1                    ──>       Scan a
//!       Scan b                                     Scan b
//!       Values [@0]
//! ```
//!
//! The condition can then be the key of a hash table or of an index; a lateral side is computed for each
//! left row. It stays lateral where no equality would be such a key: a range of an index may serve it.

use std::collections::BTreeSet;

use sql::plan::{Expr, ExprKind};
use types::TypeSource;

use super::expr::{all_of, conjuncts, move_columns, substitute};
use super::join::key_of;
use super::lift::{Lifted, column, columns_of, filter, is_nothing, lift};
use crate::tree::{Join, JoinKind, Kind, Node, Plan, each_part};

/// Makes ordinary sides of the lateral ones that can be.
pub(super) fn lateral(plan: &mut Plan, node: &mut Node, types: &dyn TypeSource) {
    node.inputs(&mut |input| lateral(plan, input, types));
    let Kind::Join(join) = &node.kind else { return };
    if let Some(made) = ordinary(plan, join, types) {
        *node = Node { types: node.types.clone(), ..made };
    }
}

fn ordinary(plan: &Plan, join: &Join, types: &dyn TypeSource) -> Option<Node> {
    let args = join.lateral.as_ref().filter(|args| !args.is_empty())?;
    let is_inner = join.kind == JoinKind::Inner;
    if !(is_inner || join.kind == JoinKind::Left) || plan.is_node_volatile(&join.right) {
        return None;
    }
    let own: BTreeSet<u32> = args.iter().map(|(_, slot)| *slot).collect();
    let Lifted { node: right, mut exprs, mut conditions } = lift(plan, &join.right, &own)?;
    let is_column = |expr: &Expr| matches!(expr.kind, ExprKind::Column { .. });
    // Where there is no partner the columns are NULL, which only those of the right side are.
    if !is_inner && (is_nothing(&right) || !exprs.iter().all(is_column)) {
        return None;
    }
    let width = join.left.width();
    for expr in exprs.iter_mut().chain(&mut conditions) {
        move_columns(expr, &|column| column + width);
        each_part(expr, &mut |part| {
            if let ExprKind::Slot(slot) = part.kind
                && let Some((arg, _)) = args.iter().find(|(_, known)| *known == slot)
            {
                *part = arg.clone();
                return false;
            }
            true
        });
    }
    let mut outputs = columns_of(&join.left);
    outputs.extend(exprs);
    for mut condition in join.condition.clone().map(conjuncts).unwrap_or_default() {
        substitute(&mut condition, &outputs);
        conditions.push(condition);
    }
    let mut input = if is_nothing(&right) {
        let mut input = join.left.clone();
        if let Some(condition) = all_of(conditions) {
            filter(&mut input, condition);
        }
        input
    } else {
        let all = width + right.width();
        if !conditions.iter().any(|one| key_of(one, width, all, types).is_some()) {
            return None;
        }
        let types = [&join.left.types[..], &right.types[..]].concat();
        let join = Join {
            kind: join.kind,
            left: join.left.clone(),
            right,
            keys: Vec::new(),
            build_left: false,
            condition: all_of(conditions),
            lateral: None,
            in_batches: false,
        };
        Node { kind: Kind::Join(Box::new(join)), types }
    };
    let is_same = input.width() == outputs.len()
        && outputs
            .iter()
            .zip(&input.types)
            .enumerate()
            .all(|(at, (expr, ty))| expr.to_string() == column(at, *ty).to_string());
    if !is_same {
        let types = outputs.iter().map(|expr| expr.ty).collect();
        input = Node { kind: Kind::Project { input: Box::new(input), exprs: outputs }, types };
    }
    Some(input)
}
