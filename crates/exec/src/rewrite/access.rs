//! Conditions on the columns of a key become ranges of that key.
//!
//! ```text
//!   Scan item where order_id = $1 and line > 2 and qty > 1
//!     ──> Scan item by item_pkey at ($1) > 2 where qty > 1
//! ```
//!
//! Of several keys the one is taken that more columns are bound of. Values are computed when the scan
//! starts, so parameters and slots are as good as constants. A condition that the range makes sure of
//! is not tested again, but kept for a row that was changed by somebody else.
//!
//! The past is narrowed down too, as far as the table had the same keys then. Whether it had is known
//! when the scan starts, and where it had not, all rows are read; so conditions on the past are always
//! tested, and no order is expected of it.

use sql::plan::{Expr, ExprKind, Moment};
use types::{Repr, Type, TypeSource};

use super::expr::{all_of, column_of, comparison, conjuncts, has_subplan, sees_nothing};
use crate::plan::{End, Equal, Kind, Node, Path, Plan, Scan, is_volatile};
use crate::tables::{KeyFacts, Schema};

/// Chooses a key for each scan.
pub(super) fn access(node: &mut Node, types: &dyn TypeSource, schema: &dyn Schema) {
    node.inputs(&mut |input| access(input, types, schema));
    let columns = node.types.clone();
    if let Kind::Scan(scan) = &mut node.kind {
        choose(scan, &columns, types, schema);
    }
}

/// Forgets what paths make sure of, in a plan in which no row is locked or changed and so none is looked
/// at again. The columns that only stood in such conditions are needed no more.
pub(super) fn forget_sure(plan: &mut Plan) {
    let mut is_needed = false;
    let mut look = |node: &mut Node| {
        is_needed |= matches!(node.kind, Kind::LockRows { .. } | Kind::Modify(_));
    };
    plan.each(&mut look);
    if is_needed {
        return;
    }
    plan.each(&mut |node| {
        if let Kind::Scan(scan) = &mut node.kind {
            scan.sure = None;
        }
    });
}

/// Whether a scan of a range of a key gives just the rows of that range, in the order of the key: not
/// in the past, when the table may have had other keys.
pub(super) fn can_range(scan: &Scan) -> bool {
    !scan.computed && matches!(scan.moment, Moment::Now) && scan.sample.is_none()
}

fn choose(scan: &mut Scan, columns: &[Type], types: &dyn TypeSource, schema: &dyn Schema) {
    if scan.computed || scan.sample.is_some() {
        return;
    }
    let is_now = matches!(scan.moment, Moment::Now);
    // Versions between two moments are found by the rows' own keys, which no version changes.
    let is_one_state = matches!(scan.moment, Moment::Now | Moment::AsOf(_) | Moment::AtVersion(_));
    let Some(facts) = schema.table(scan.relation) else { return };
    let Some(condition) = scan.condition.take() else { return };
    let list = conjuncts(condition);
    let best = facts
        .keys
        .iter()
        .filter(|key| is_one_state || key.index.is_none())
        .filter_map(|key| Match::of(key, scan, columns, &list, types))
        .max_by_key(|found| found.score);
    let Some(best) = best else {
        scan.condition = all_of(list);
        return;
    };
    scan.path = best.path;
    if !is_now {
        scan.condition = all_of(list);
        return;
    }
    let (mut sure, mut rest) = (Vec::new(), Vec::new());
    for (at, conjunct) in list.into_iter().enumerate() {
        if best.used.contains(&at) { sure.push(conjunct) } else { rest.push(conjunct) }
    }
    scan.sure = all_of(sure);
    scan.condition = all_of(rest);
}

/// A key that conditions bind columns of.
struct Match {
    path: Path,
    /// The conditions that the path makes sure of.
    used: Vec<usize>,
    /// How much it leaves out; of equals the first key is taken.
    score: (usize, bool, std::cmp::Reverse<usize>),
}

impl Match {
    fn of(
        key: &KeyFacts,
        scan: &Scan,
        columns: &[Type],
        list: &[Expr],
        types: &dyn TypeSource,
    ) -> Option<Match> {
        let mut path = Path { index: key.index, name: key.name.clone(), ..Path::default() };
        let mut used = Vec::new();
        for (attnum, order) in &key.columns {
            let Some(column) = scan.attnums.iter().position(|known| known == attnum) else { break };
            let repr = types.repr_of(columns[column]).ok()?;
            path.columns.push((repr, *order));
            let bound = list
                .iter()
                .enumerate()
                .find_map(|(at, conjunct)| Some((at, equality(conjunct, column, repr, types)?)));
            if let Some((at, equal)) = bound {
                path.equal.push(equal);
                used.push(at);
                continue;
            }
            for (at, conjunct) in list.iter().enumerate() {
                let Some((is_low, end)) = range(conjunct, column, repr, types) else { continue };
                let place = if is_low { &mut path.low } else { &mut path.high };
                if place.is_none() {
                    *place = Some(end);
                    used.push(at);
                }
            }
            break;
        }
        if used.is_empty() {
            return None;
        }
        let whole = key.is_unique && path.equal.len() == key.columns.len();
        let single = path.equal.iter().all(|equal| !matches!(equal, Equal::AnyOf(_)));
        path.is_single = whole && single && key.index.is_none();
        let ranges = usize::from(path.low.is_some()) + usize::from(path.high.is_some());
        let score = path.equal.len() * 3 + ranges;
        let order = std::cmp::Reverse(usize::from(key.index.is_some()));
        Some(Match { path, used, score: (score, whole, order) })
    }
}

/// True where a value of a type can be looked for in a column that is held like this.
pub(super) fn fits(ty: Type, repr: Repr, types: &dyn TypeSource) -> bool {
    let is_integer = |repr| matches!(repr, Repr::Int2 | Repr::Int4 | Repr::Int8);
    match types.repr_of(ty) {
        Ok(Repr::Record) | Err(_) => false,
        Ok(of) => of == repr || (is_integer(of) && is_integer(repr)),
    }
}

/// A value that can be computed when the scan starts.
fn is_value(expr: &Expr) -> bool {
    sees_nothing(expr) && !is_volatile(expr) && !has_subplan(expr)
}

fn equality(conjunct: &Expr, column: usize, repr: Repr, types: &dyn TypeSource) -> Option<Equal> {
    match &conjunct.kind {
        ExprKind::IsNull { expr, negated: false } if column_of(expr) == Some(column) => {
            Some(Equal::Null)
        }
        ExprKind::AnyAll { call, all: false } if call.name == "=" && call.operator => {
            let [left, array] = &call.args[..] else { return None };
            let element = scalar::facts::Facts(types).element(array.ty)?;
            let fitting =
                column_of(left) == Some(column) && is_value(array) && fits(element, repr, types);
            fitting.then(|| Equal::AnyOf(array.clone()))
        }
        _ => {
            let (symbol, left, right) = comparison(conjunct)?;
            if symbol != "=" {
                return None;
            }
            let value = match (column_of(left), column_of(right)) {
                (Some(found), _) if found == column => right,
                (_, Some(found)) if found == column => left,
                _ => return None,
            };
            let fitting = is_value(value) && fits(value.ty, repr, types);
            fitting.then(|| Equal::One(value.clone()))
        }
    }
}

/// The end of a range that a condition is, and whether it is the lower one.
fn range(
    conjunct: &Expr,
    column: usize,
    repr: Repr,
    types: &dyn TypeSource,
) -> Option<(bool, End)> {
    let (symbol, left, right) = comparison(conjunct)?;
    let (value, turned) = match (column_of(left), column_of(right)) {
        (Some(found), _) if found == column => (right, false),
        (_, Some(found)) if found == column => (left, true),
        _ => return None,
    };
    let (is_low, inclusive) = match symbol {
        ">" => (true, false),
        ">=" => (true, true),
        "<" => (false, false),
        "<=" => (false, true),
        _ => return None,
    };
    if !is_value(value) || !fits(value.ty, repr, types) {
        return None;
    }
    Some((is_low != turned, End { value: value.clone(), inclusive }))
}
