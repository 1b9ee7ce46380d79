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
use types::{Oid, TypeSource};

use super::access::{can_look_up, fits};
use super::estimate::{cost_of_look_up, look_up, rows};
use super::expr::{all_of, and, comparison, conjuncts, has_subplan, move_columns, sees_only};
use super::keys::{self, Part};
use super::reorder::{BUILD, COST_MIN, PROBE};
use crate::lower::is_hashed;
use crate::schema::{KeyFacts, Schema};
use crate::tree::{Equal, Join, JoinKind, Kind, Node, Path, Plan, Scan, is_volatile};

/// Up to how many look-ups in an index are always cheaper than a hash table.
const LOOK_UPS_FEW: f64 = 32.0;

/// Chooses how the joins of a plan are computed.
///
/// True if one of them reads many rows.
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

/// Makes the right side, where it is a scan, one by an index, and tells what the look-ups cost; `None` if none
/// serves, or a hash table is cheaper: `hashed` is its cost without the scan of the right side.
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
    // A row that is only asked for whether it has a partner needs to find one.
    let asks_for_one =
        matches!(join.kind, JoinKind::Semi | JoinKind::Anti) && join.condition.is_none();
    let right = behind_barriers(&mut join.right);
    let (mut scans, mut levels) = match &mut right.kind {
        Kind::Scan(scan) => (vec![&mut **scan], None),
        Kind::Append(append) => {
            let scans = append.parts.iter_mut().map(|part| match &mut part.node.kind {
                Kind::Scan(scan) => Some(&mut **scan),
                _ => None,
            });
            (scans.collect::<Option<Vec<_>>>()?, Some((&append.scan, &mut append.levels)))
        }
        _ => return None,
    };
    let mut found = Vec::with_capacity(scans.len());
    for scan in &scans {
        found.push(LookUp::of(scan, keys_of_join, types, schema, asks_for_one)?);
    }
    // The equalities that bind the key by which the rows are divided.
    let dividing = levels.as_ref().and_then(|(whole, _)| {
        let facts = schema.table(whole.relation)?;
        let key = &facts.partitions.as_ref()?.key;
        let parts = keys::parts(key, &facts, whole, types);
        let count = parts.len();
        let bound = bound_parts(parts, keys_of_join, types);
        (bound.len() == count).then_some(bound)
    });
    let all = found.iter().map(|look_up| look_up.each);
    let each: f64 = match dividing {
        // All rows of a value are in one partition.
        Some(_) => all.fold(0.0, f64::max),
        None => all.sum(),
    };
    let rows: f64 = found.iter().map(|look_up| look_up.rows).sum();
    let look_ups = left_rows * each;
    if found.is_empty() || left_rows > LOOK_UPS_FEW && look_ups > rows + hashed {
        return None;
    }
    let mut args: Vec<(usize, Expr)> = Vec::new();
    let mut lateral = Vec::new();
    let mut value_of = |at: usize| {
        if let Some((_, value)) = args.iter().find(|(known, _)| *known == at) {
            return value.clone();
        }
        let ((left, _), _) = &keys_of_join[at];
        let slot = plan.slots;
        plan.slots += 1;
        let value = Expr { kind: ExprKind::Slot(slot), ..left.clone() };
        lateral.push((left.clone(), slot));
        args.push((at, value.clone()));
        value
    };
    for (scan, look_up) in scans.iter_mut().zip(&found) {
        let mut path = Path { index: look_up.index, name: look_up.name.clone(), ..Path::default() };
        let mut sure = Vec::new();
        for (at, part) in &look_up.columns {
            let value = value_of(*at);
            part.bind(&mut path);
            path.equal.push(Equal::One(value.clone()));
            let ((_, right), _) = &keys_of_join[*at];
            sure.push(equality(keys_of_join, *at, value, right.clone()));
        }
        path.is_single = look_up.is_single;
        scan.path = path;
        scan.conditional = None;
        scan.sure = all_of(sure);
    }
    if let (Some(dividing), Some((_, levels))) = (dividing, &mut levels)
        && let Some(level) = levels.first_mut()
        && level.path.is_full()
    {
        for (at, part) in &dividing {
            part.bind(&mut level.path);
            level.path.equal.push(Equal::One(value_of(*at)));
        }
    }
    for (at, (_, conjunct)) in keys_of_join.iter().enumerate() {
        let binds = |look_up: &LookUp| look_up.columns.iter().any(|(used, ..)| *used == at);
        if !found.iter().all(binds) {
            and(&mut join.condition, conjunct.clone());
        }
    }
    join.lateral = Some(lateral);
    Some(look_ups)
}

/// How the rows of a table that are equal to one of the left side are looked up.
struct LookUp {
    /// The index; none for the table's own key.
    index: Option<Oid>,
    name: String,
    /// For each of its first columns the equality that binds it.
    columns: Vec<(usize, Part)>,
    /// True if at most one row is found.
    is_single: bool,
    /// The cost of each.
    each: f64,
    /// How many rows the table has.
    rows: f64,
}

impl LookUp {
    fn of(
        scan: &Scan,
        keys_of_join: &[((Expr, Expr), Expr)],
        types: &dyn TypeSource,
        schema: &dyn Schema,
        asks_for_one: bool,
    ) -> Option<LookUp> {
        if !can_look_up(scan) || !scan.path.is_full() {
            return None;
        }
        let facts = schema.table(scan.relation)?;
        let mut conditions = scan.condition.clone().map(conjuncts).unwrap_or_default();
        // A value that equals another one is not NULL.
        conditions.extend(keys_of_join.iter().map(|((_, right), _)| {
            let kind = ExprKind::IsNull { expr: Box::new(right.clone()), negated: true };
            Expr::of(kind, types::Type::BOOL, At::NONE)
        }));
        // For each key the equalities that bind its first parts.
        let mut best: Option<(&KeyFacts, Vec<(usize, Part)>)> = None;
        for key in facts.keys.iter().filter(|key| key.classes.is_none()) {
            let covers = keys::covers(key, &facts, scan, &conditions);
            if !covers.is_some_and(|at_start| at_start.is_empty()) {
                continue;
            }
            let bound = bound_parts(keys::parts(key, &facts, scan, types), keys_of_join, types);
            if bound.len() > best.as_ref().map_or(0, |(_, known)| known.len()) {
                best = Some((key, bound));
            }
        }
        let (key, columns) = best?;
        let is_one =
            asks_for_one && scan.condition.is_none() && columns.len() == keys_of_join.len();
        let each = match is_one {
            true if !facts.has_blocks => look_up(&facts),
            _ => cost_of_look_up(key, columns.len(), &facts),
        };
        Some(LookUp {
            index: key.index,
            name: key.name.clone(),
            is_single: key.is_unique && columns.len() == key.parts.len(),
            columns,
            each,
            rows: facts.rows as f64,
        })
    }
}

/// The first parts of a key that equalities of a join bind, each with its equality.
fn bound_parts(
    parts: Vec<Part>,
    keys_of_join: &[((Expr, Expr), Expr)],
    types: &dyn TypeSource,
) -> Vec<(usize, Part)> {
    let bound = parts.into_iter().map_while(|part| {
        let binds = |((left, right), _): &((Expr, Expr), Expr)| {
            part.is(right) && fits(left.ty, part.repr, types)
        };
        Some((keys_of_join.iter().position(binds)?, part))
    });
    bound.collect()
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
