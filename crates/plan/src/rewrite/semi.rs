//! `EXISTS` and `IN` in a condition become joins: semi joins, or anti joins for `NOT EXISTS` and `NOT IN`.
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
//! is below is then the same for all rows. `NOT IN` is an anti join where no side can be NULL; else it stays a subplan:
//! it is not true if a row has NULL.
//!
//! Where the condition binds a unique key of the right side, a left row has one partner at most: the semi join
//! is an inner one then, which can be put into another order.

use std::collections::BTreeSet;

use sql::plan::{Expr, ExprKind, Moment};

use super::access::can_look_up;
use super::expr::{
    all_of, column_of, columns, comparison, conjuncts, has_subplan, is_costly, move_columns,
    substitute,
};
use crate::schema::{KeyPart, Schema};
use crate::tree::{
    Join, JoinKind, Kind, Link, Node, Plan, Subplan, Test, each_part, is_volatile, slots_of,
};

/// Makes joins of the subqueries that can be.
pub(super) fn semi_joins(plan: &mut Plan, node: &mut Node, schema: &dyn Schema) {
    node.inputs(&mut |input| semi_joins(plan, input, schema));
    let found = match &mut node.kind {
        Kind::Filter { condition, .. } => Some(condition),
        Kind::Scan(scan) => scan.condition.as_mut(),
        _ => None,
    };
    let Some(condition) = found else { return };
    let mut joins = Vec::new();
    let mut stay = Vec::new();
    for conjunct in conjuncts(condition.clone()) {
        match join_of(plan, node, &conjunct, schema) {
            Some(join) => joins.push(join),
            None => stay.push(conjunct),
        }
    }
    if joins.is_empty() {
        return;
    }
    // A condition with a subquery is tested on the rows that are left.
    let (costly, stay): (Vec<Expr>, Vec<Expr>) = stay.into_iter().partition(is_costly);
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
        let conditions: Vec<Expr> = correlated.into_iter().map(|(expr, _)| expr).collect();
        let (keys, build_left, lateral) = (Vec::new(), false, None);
        if kind == JoinKind::Semi && binds_key(&right, &conditions, width, schema) {
            let exprs = left.columns();
            let both = left.types.iter().chain(&right.types).copied().collect();
            let (kind, condition) = (JoinKind::Inner, all_of(conditions));
            let in_batches = false;
            let join = Join { kind, left, right, keys, build_left, condition, lateral, in_batches };
            let input = Box::new(Node { kind: Kind::Join(Box::new(join)), types: both });
            *node = Node { kind: Kind::Project { input, exprs }, types };
            continue;
        }
        let condition = all_of(conditions);
        let in_batches = false;
        let join = Join { kind, left, right, keys, build_left, condition, lateral, in_batches };
        *node = Node { kind: Kind::Join(Box::new(join)), types };
    }
    if let Some(condition) = all_of(costly) {
        let types = node.types.clone();
        let nothing = Node { kind: Kind::Given, types: Vec::new() };
        let input = Box::new(std::mem::replace(node, nothing));
        *node = Node { kind: Kind::Filter { input, condition }, types };
    }
}

/// True if conditions over a left row of so many columns and, behind it, a right one bind a unique key of the
/// right side.
fn binds_key(right: &Node, conditions: &[Expr], width: usize, schema: &dyn Schema) -> bool {
    let scan = match &right.kind {
        Kind::Scan(scan) => scan,
        Kind::Filter { input, .. } => match &input.kind {
            Kind::Scan(scan) => scan,
            _ => return false,
        },
        _ => return false,
    };
    let all = width + right.width();
    let Some(facts) = schema.table(scan.relation).filter(|_| can_look_up(scan)) else {
        return false;
    };
    let is_bound = |attnum: i16| {
        let Some(column) = scan.attnums.iter().position(|known| *known == attnum) else {
            return false;
        };
        let is_it = |side: &Expr| column_of(side) == Some(width + column);
        let is_left = |side: &Expr| !has_subplan(side) && !sees_any(side, width..all);
        conditions.iter().any(|condition| match comparison(condition) {
            Some(("=", one, other)) => {
                (is_it(one) && is_left(other)) || (is_it(other) && is_left(one))
            }
            _ => false,
        })
    };
    facts.keys.iter().any(|key| {
        let part = |(part, _): &(KeyPart, types::KeyOrder)| match part {
            KeyPart::Column(attnum) => is_bound(*attnum),
            KeyPart::Expr(_) => false,
        };
        key.is_unique && key.predicate.is_none() && key.parts.iter().all(part)
    })
}

/// True if an expression names a column of a range.
fn sees_any(expr: &Expr, range: std::ops::Range<usize>) -> bool {
    let mut found = false;
    columns(expr, &mut |column| found |= range.contains(&column));
    found
}

/// The semi join that `IN` is.
fn join_of_any(
    subplan: &Subplan,
    test: &Test,
    args: &[Expr],
) -> Option<(JoinKind, Node, Correlated)> {
    test.keys.as_ref()?;
    let own: BTreeSet<u32> = subplan.args.iter().copied().collect();
    let mut is_same = true;
    subplan.node.clone().all_exprs(&mut |expr| {
        each_part(&mut expr.clone(), &mut |part| {
            is_same &= !matches!(part.kind, ExprKind::Slot(slot) if own.contains(&slot));
            // Whether a subquery further in sees them is not looked at.
            is_same &= own.is_empty() || !matches!(part.kind, ExprKind::Subplan { .. });
            true
        });
        is_same &= !is_volatile(expr);
    });
    if !is_same {
        return None;
    }
    let values = |expr: &Expr| {
        let mut expr = expr.clone();
        each_part(&mut expr, &mut |part| {
            if let ExprKind::Slot(slot) = part.kind
                && let Some(at) = subplan.args.iter().position(|known| *known == slot)
            {
                *part = args[at].clone();
                return false;
            }
            true
        });
        expr
    };
    let left: Vec<(u32, Expr)> =
        test.left.iter().map(|(expr, slot)| (*slot, values(expr))).collect();
    if left.iter().any(|(_, expr)| is_volatile(expr) || has_subplan(expr)) {
        return None;
    }
    let (mut right, mut condition) = (subplan.node.clone(), test.condition.clone());
    while let Kind::Project { input, exprs } = right.kind {
        if exprs.iter().any(has_subplan) {
            right.kind = Kind::Project { input, exprs };
            break;
        }
        substitute(&mut condition, &exprs);
        right = *input;
    }
    let correlated = conjuncts(condition).into_iter().map(|expr| (expr, left.clone())).collect();
    Some((JoinKind::Semi, right, correlated))
}

/// A condition over the right row, with the values that its slots have of the left row.
type Correlated = Vec<(Expr, Vec<(u32, Expr)>)>;

/// True if each of these conditions is an equality of a column of the left side and one of the right side, and no
/// row has NULL in these columns.
fn equate_values(left: &Node, right: &Node, correlated: &Correlated, schema: &dyn Schema) -> bool {
    correlated.iter().all(|(condition, values)| {
        let Some(("=", one, other)) = comparison(condition) else { return false };
        let of_left = |side: &Expr| match side.kind {
            ExprKind::Slot(slot) => {
                let value = values.iter().find(|(known, _)| *known == slot);
                value.and_then(|(_, value)| column_of(value))
            }
            _ => None,
        };
        let pair = [(one, other), (other, one)]
            .into_iter()
            .find_map(|(slot, column)| Some((of_left(slot)?, column_of(column)?)));
        pair.is_some_and(|(of_left, of_right)| {
            is_never_null(left, of_left, schema) && is_never_null(right, of_right, schema)
        })
    })
}

/// True if a column of a node is NULL in no row.
fn is_never_null(node: &Node, column: usize, schema: &dyn Schema) -> bool {
    match &node.kind {
        Kind::Scan(scan) => {
            let facts = schema.table(scan.relation).filter(|_| matches!(scan.moment, Moment::Now));
            let attnum = scan.attnums.get(column);
            facts.zip(attnum).is_some_and(|(facts, attnum)| facts.is_never_null(*attnum))
        }
        Kind::Filter { input, .. } => is_never_null(input, column, schema),
        Kind::Project { input, exprs } => {
            let below = exprs.get(column).and_then(column_of);
            below.is_some_and(|below| is_never_null(input, below, schema))
        }
        Kind::Join(join) => match (join.kind, column.checked_sub(join.left.width())) {
            (JoinKind::Right | JoinKind::Full, _) | (JoinKind::Left, Some(_)) => false,
            (_, None) => is_never_null(&join.left, column, schema),
            (_, Some(column)) => is_never_null(&join.right, column, schema),
        },
        _ => false,
    }
}

/// The join that a condition over a node is: its right side, and the conditions between the sides.
fn join_of(
    plan: &Plan,
    left: &Node,
    conjunct: &Expr,
    schema: &dyn Schema,
) -> Option<(JoinKind, Node, Correlated)> {
    let (kind, expr) = match &conjunct.kind {
        ExprKind::Not(inner) => (JoinKind::Anti, &**inner),
        _ => (JoinKind::Semi, conjunct),
    };
    let ExprKind::Subplan { number, args } = &expr.kind else { return None };
    let subplan = &plan.subplans[*number as usize];
    if let Link::Any(test) = &subplan.link {
        let (_, right, correlated) = join_of_any(subplan, test, args)?;
        let is_told = kind == JoinKind::Semi || equate_values(left, &right, &correlated, schema);
        return is_told.then_some((kind, right, correlated));
    }
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
