//! How each join is computed: by an index of the right side, by a hash table, or by nested loops.
//!
//! ```text
//!   Join inner on #0 = #5                  few rows on the left:
//!     Scan person where ...        ──>       Join loop inner lateral [@3 = #0]
//!     Scan orders                              Scan person where ...
//!                                              Scan orders by orders_person at (@3)
//!                                          else:
//!                                            Join hash inner keys [#0 = #1]
//! ```

use sql::At;
use sql::plan::{Expr, ExprKind};
use types::TypeSource;

use super::access::{can_look_up, fits};
use super::estimate::{cost_of_look_up, look_up, rows};
use super::expr::{all_of, and, comparison, conjuncts, has_subplan, move_columns, sees_only};
use super::keys::{self, Part};
use super::reorder::{BUILD, COST_MIN, PROBE};
use crate::lower::is_hashed;
use crate::schema::{KeyFacts, Schema};
use crate::tree::{Equal, Join, JoinKind, Kind, Node, Path, Plan, is_volatile};

/// Up to how many look-ups in an index are always cheaper than a hash table.
const LOOK_UPS_FEW: f64 = 32.0;

/// Chooses how the joins of a plan are computed.
///
/// True where one of them reads many rows.
pub(super) fn methods(
    plan: &mut Plan,
    node: &mut Node,
    types: &dyn TypeSource,
    schema: &dyn Schema,
) -> bool {
    let mut is_large = false;
    node.inputs(&mut |input| is_large |= methods(plan, input, types, schema));
    method(plan, node, types, schema) >= COST_MIN || is_large
}

/// The same of one operator; what it costs.
fn method(plan: &mut Plan, node: &mut Node, types: &dyn TypeSource, schema: &dyn Schema) -> f64 {
    let Kind::Join(join) = &mut node.kind else { return 0.0 };
    if join.lateral.is_some() {
        return 0.0;
    }
    let width = join.left.width();
    let all = width + join.right.width();
    let (mut keys, mut stay) = (Vec::new(), Vec::new());
    for conjunct in join.condition.take().map(conjuncts).unwrap_or_default() {
        match key_of(&conjunct, width, all, types) {
            Some(pair) => keys.push((pair, conjunct)),
            None => stay.push(conjunct),
        }
    }
    join.condition = all_of(stay);
    if keys.is_empty() {
        return 0.0;
    }
    let left_rows = rows(&join.left, schema);
    let right_rows = rows(&join.right, schema);
    let builds_left = join.kind.shows_right() && left_rows * 2.0 < right_rows;
    let (few, many) = match builds_left {
        true => (left_rows, right_rows),
        false => (right_rows, left_rows),
    };
    let hashed = few * BUILD + many * PROBE;
    if let Some(cost) = by_index(plan, join, &keys, [left_rows, hashed], types, schema) {
        return cost;
    }
    join.keys = keys.into_iter().map(|(pair, _)| pair).collect();
    join.build_left = builds_left;
    hashed
}

/// The two sides of an equality that rows can be found by, the right one over the right row.
pub(super) fn key_of(
    conjunct: &Expr,
    width: usize,
    all: usize,
    types: &dyn TypeSource,
) -> Option<(Expr, Expr)> {
    let (symbol, one, other) = comparison(conjunct)?;
    if symbol != "=" || is_volatile(conjunct) || has_subplan(conjunct) {
        return None;
    }
    let (left, right) = if sees_only(one, 0..width) && sees_only(other, width..all) {
        (one, other)
    } else if sees_only(other, 0..width) && sees_only(one, width..all) {
        (other, one)
    } else {
        return None;
    };
    if !is_hashed(left.ty, right.ty, types) {
        return None;
    }
    let mut right = right.clone();
    move_columns(&mut right, &|column| column - width);
    Some((left.clone(), right))
}

/// Makes the right side, where it is a scan, one by an index, and tells what the look-ups cost; `None` where none serves, or a hash table is cheaper:
/// `hashed` is what that costs beside the scan of the right side.
fn by_index(
    plan: &mut Plan,
    join: &mut Join,
    keys_of_join: &[((Expr, Expr), Expr)],
    [left_rows, hashed]: [f64; 2],
    types: &dyn TypeSource,
    schema: &dyn Schema,
) -> Option<f64> {
    if join.kind.keeps_right() {
        return None;
    }
    let Kind::Scan(scan) = &mut behind_barriers(&mut join.right).kind else { return None };
    if !can_look_up(scan) || !scan.path.is_full() {
        return None;
    }
    let facts = schema.table(scan.relation)?;
    let mut conditions = scan.condition.clone().map(conjuncts).unwrap_or_default();
    // What is equal to something is not NULL.
    conditions.extend(keys_of_join.iter().map(|((_, right), _)| {
        let kind = ExprKind::IsNull { expr: Box::new(right.clone()), negated: true };
        Expr::of(kind, types::Type::BOOL, At::NONE)
    }));
    // For each key the equalities that bind its first parts.
    let mut best: Option<(&KeyFacts, Vec<(usize, Part)>)> = None;
    for key in facts.keys.iter().filter(|key| key.classes.is_none()) {
        let covers = keys::covers(key, &facts, scan, &conditions);
        if !covers.is_some_and(|provisos| provisos.is_empty()) {
            continue;
        }
        let parts = keys::parts(key, &facts, scan, types).into_iter();
        let bound = parts.map_while(|part| {
            let at = keys_of_join
                .iter()
                .position(|((left, right), _)| part.is(right) && fits(left.ty, part.repr, types))?;
            Some((at, part))
        });
        let bound: Vec<_> = bound.collect();
        if bound.len() > best.as_ref().map_or(0, |(_, known)| known.len()) {
            best = Some((key, bound));
        }
    }
    let (key, columns) = best?;
    // A row that is only asked for whether it has a partner needs to find one.
    let is_one = matches!(join.kind, JoinKind::Semi | JoinKind::Anti)
        && join.condition.is_none()
        && scan.condition.is_none()
        && columns.len() == keys_of_join.len();
    let each = match is_one {
        true if !facts.has_blocks => look_up(&facts),
        _ => cost_of_look_up(key, columns.len(), &facts),
    };
    let look_ups = left_rows * each;
    if left_rows > LOOK_UPS_FEW && look_ups > facts.rows as f64 + hashed {
        return None;
    }
    let mut path = Path { index: key.index, name: key.name.clone(), ..Path::default() };
    let (mut args, mut sure) = (Vec::new(), Vec::new());
    for (at, part) in &columns {
        let ((left, right), _) = &keys_of_join[*at];
        let slot = plan.slots;
        plan.slots += 1;
        let value = Expr { kind: ExprKind::Slot(slot), ..left.clone() };
        args.push((left.clone(), slot));
        part.bind(&mut path);
        path.equal.push(Equal::One(value.clone()));
        sure.push(equality(keys_of_join, *at, value, right.clone()));
    }
    path.is_single = key.is_unique && columns.len() == key.parts.len();
    scan.path = path;
    scan.chance = None;
    scan.sure = all_of(sure);
    for (at, (_, conjunct)) in keys_of_join.iter().enumerate() {
        if !columns.iter().any(|(used, ..)| *used == at) {
            and(&mut join.condition, conjunct.clone());
        }
    }
    join.lateral = Some(args);
    Some(look_ups)
}

/// The first operator that is no barrier.
fn behind_barriers(node: &mut Node) -> &mut Node {
    match node.kind {
        Kind::Barrier(_) => {
            let Kind::Barrier(input) = &mut node.kind else { unreachable!("looked at above") };
            behind_barriers(input)
        }
        _ => node,
    }
}

/// The equality of a pair, with a slot in the place of the left value.
fn equality(keys: &[((Expr, Expr), Expr)], at: usize, value: Expr, right: Expr) -> Expr {
    let ((left, _), conjunct) = &keys[at];
    let mut equality = conjunct.clone();
    if let ExprKind::Call(call) = &mut equality.kind {
        // The call may have its sides the other way round.
        let turned = call.args[0].to_string() != left.to_string();
        call.args = if turned { vec![right, value] } else { vec![value, right] };
        equality.at = At::NONE;
    }
    equality
}
