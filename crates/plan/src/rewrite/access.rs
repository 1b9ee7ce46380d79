//! Conditions on the parts of a key become ranges of that key.
//!
//! ```text
//!   Scan item where order_id = $1 and line > 2 and qty > 1
//!     ──> Scan item by item_pkey at ($1) > 2 where qty > 1
//! ```
//!
//! A part is a column, or an expression of an index. Of several keys the rule takes the most selective one by
//! the conditions, in this order: all parts of a unique key; more parts bound by equality; items that a GIN
//! index is searched by; ranges; a partial index whose predicate follows from the conditions
//! ([`sql::imply`]). Values are computed when the scan starts, so parameters and slots are as good as
//! constants. A condition that the range guarantees is not tested, but kept for a row that another transaction
//! has changed.
//!
//! If it depends on the value of a parameter whether an index has the rows, its path is a *conditional path*:
//! the scan decides when it starts. Then all conditions are tested, and no order is promised.
//!
//! Scans of the past use ranges too, if the table had the same keys then, or has an index with entries for past
//! versions. That is known when the scan starts; otherwise it reads all rows. So a scan of the past tests all
//! conditions, and promises no order.

use sql::plan::{Call, Expr, ExprKind, Moment};
use types::{Datum, Oid, Repr, Type, TypeSource};

use super::append;
use super::expr::{all_of, comparison, conjuncts, has_subplan, sees_nothing};
use super::keys::{self, Part};
use crate::schema::{ItemClass, KeyFacts, Schema, Strategy, TableFacts};
use crate::tree::{
    ConditionalPath, End, Equal, Kind, Node, Path, Plan, Scan, ScanKey, is_volatile,
};

/// Chooses a key for each scan.
pub(super) fn access(node: &mut Node, types: &dyn TypeSource, schema: &dyn Schema) {
    append::expand(node, types, schema);
    node.inputs(&mut |input| access(input, types, schema));
    if let Kind::Scan(scan) = &mut node.kind {
        choose(scan, types, schema);
    }
}

/// The bounds that conditions put on the first parts of a key.
pub(super) fn bound_of(
    key: &KeyFacts,
    facts: &TableFacts,
    scan: &Scan,
    list: &[Expr],
    types: &dyn TypeSource,
) -> Path {
    let mut path = Path::default();
    bind(&mut path, &mut Vec::new(), &keys::parts(key, facts, scan, types), list, types);
    path
}

/// Removes the conditions that paths guarantee from a plan that locks and changes no rows, because no row is tested
/// again there. Columns that only these conditions use are then not needed.
pub(super) fn forget_sure(plan: &mut Plan) {
    let mut is_needed = false;
    let mut look = |node: &mut Node| {
        is_needed |= matches!(node.kind, Kind::LockRows { .. } | Kind::Modify(_));
    };
    plan.each(&mut look);
    if is_needed {
        return;
    }
    plan.each(&mut |node| match &mut node.kind {
        Kind::Scan(scan) => scan.sure = None,
        Kind::Append(append) => append.scan.condition = None,
        _ => {}
    });
}

/// True if a scan of a range of a key gives exactly the rows of that range, in the order of the key. Not for the past,
/// because the table may have had other keys.
pub(super) fn can_range(scan: &Scan) -> bool {
    can_look_up(scan) && scan.conditional.is_none()
}

/// Whether the rows of a scan can be looked up by the keys that the table has now.
pub(super) fn can_look_up(scan: &Scan) -> bool {
    !scan.computed && matches!(scan.moment, Moment::Now) && scan.sample.is_none()
}

fn choose(scan: &mut Scan, types: &dyn TypeSource, schema: &dyn Schema) {
    if scan.computed || scan.sample.is_some() {
        return;
    }
    let is_now = matches!(scan.moment, Moment::Now);
    let is_one_state = matches!(scan.moment, Moment::Now | Moment::AsOf(_) | Moment::AtVersion(_));
    let Some(facts) = schema.table(scan.relation) else { return };
    let Some(condition) = scan.condition.take() else { return };
    let list = conjuncts(condition);
    let (mut best, mut conditional): (Option<Match>, Option<Match>) = (None, None);
    for key in &facts.keys {
        let Some(found) = Match::of(key, &facts, scan, &list, types) else { continue };
        if !is_one_state && !found.finds_versions(key, scan) {
            continue;
        }
        let place = if found.start_conditions.is_empty() { &mut best } else { &mut conditional };
        // Of equals the first is taken.
        if place.as_ref().is_none_or(|known| known.score < found.score) {
            *place = Some(found);
        }
    }
    if let Some(found) = conditional
        && best.as_ref().is_none_or(|known| known.score < found.score)
    {
        scan.conditional = Some(Box::new(ConditionalPath {
            start_conditions: found.start_conditions,
            path: found.path,
        }));
    }
    let Some(best) = best else {
        scan.condition = all_of(list);
        return;
    };
    scan.path = best.path;
    if !is_now || scan.conditional.is_some() {
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

/// The selectivity of a path, as far as it is known before the run. The first field that differs decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    /// It finds one row at most.
    is_one_row: bool,
    /// Parts that are equal to something; one of several values counts a little less.
    equal: usize,
    is_asked: bool,
    ranges: usize,
    is_partial: bool,
    /// True if it is the key of the rows themselves.
    is_own: bool,
}

/// A key that conditions bind parts of, or that has only the rows that are wanted.
struct Match {
    path: Path,
    /// The conditions that the path makes sure of.
    used: Vec<usize>,
    /// The conditions under which the path has all wanted rows.
    start_conditions: Vec<Expr>,
    score: Score,
}

impl Match {
    fn of(
        key: &KeyFacts,
        facts: &TableFacts,
        scan: &Scan,
        list: &[Expr],
        types: &dyn TypeSource,
    ) -> Option<Match> {
        let start_conditions = keys::covers(key, facts, scan, list)?;
        let mut path = Path { index: key.index, name: key.name.clone(), ..Path::default() };
        let mut used = Vec::new();
        let parts = keys::parts(key, facts, scan, types);
        match &key.classes {
            Some(classes) => {
                ask(&mut path, &parts, classes, list, types);
                // Entries of intervals lie below the keys that are compared by `=`.
                let is_asked = |part: usize| path.scan_keys.iter().any(|asked| asked.part == part);
                let values = classes.iter().enumerate();
                let mut values = values.filter(|(_, class)| **class == ItemClass::Value);
                if !values.all(|(part, _)| is_asked(part)) {
                    return None;
                }
            }
            None => bind(&mut path, &mut used, &parts, list, types),
        }
        let is_partial = key.predicate.is_some();
        if path.is_full() && (!is_partial || key.classes.is_some()) {
            return None;
        }
        let several = path.equal.iter().filter(|equal| matches!(equal, Equal::AnyOf(_))).count();
        let whole = key.is_unique && path.equal.len() == key.parts.len();
        path.may_read_all = path.is_full();
        path.is_single = whole && path.equal.iter().all(|equal| matches!(equal, Equal::One(_)));
        let score = Score {
            is_one_row: whole && several == 0,
            equal: path.equal.len() * 2 - several,
            is_asked: !path.scan_keys.is_empty(),
            ranges: usize::from(path.low.is_some()) + usize::from(path.high.is_some()),
            is_partial,
            is_own: key.index.is_none(),
        };
        Some(Match { path, used, start_conditions, score })
    }
}

impl Match {
    /// True if a key finds the versions between two moments: the key of the row itself, which no version changes, or an
    /// index that has the entries of all versions.
    fn finds_versions(&self, key: &KeyFacts, scan: &Scan) -> bool {
        key.index.is_none() || key.is_whole && !matches!(scan.moment, Moment::Ever)
    }
}

/// Binds the first parts of a key that has an order.
fn bind(
    path: &mut Path,
    used: &mut Vec<usize>,
    parts: &[Part],
    list: &[Expr],
    types: &dyn TypeSource,
) {
    for part in parts {
        part.bind(path);
        let mut bound = list.iter().enumerate();
        if let Some((at, equal)) =
            bound.find_map(|(at, conjunct)| Some((at, equality(conjunct, part, types)?)))
        {
            path.equal.push(equal);
            used.push(at);
            continue;
        }
        for (at, conjunct) in list.iter().enumerate() {
            let Some((is_low, end)) = range(conjunct, part, types) else { continue };
            let place = if is_low { &mut path.low } else { &mut path.high };
            if place.is_none() {
                *place = Some(end);
                used.push(at);
            }
        }
        if path.low.is_none() && path.high.is_none() {
            // The condition stays, because the range may contain addresses that it does not find.
            let found = list.iter().find_map(|conjunct| network_range(conjunct, part, types));
            (path.low, path.high) = found.unzip();
        }
        return;
    }
}

/// True if a value of a type can be looked up in a column with this representation.
pub(super) fn fits(ty: Type, repr: Repr, types: &dyn TypeSource) -> bool {
    let is_integer = |repr| matches!(repr, Repr::Int2 | Repr::Int4 | Repr::Int8);
    match types.repr_of(ty) {
        Ok(Repr::Record) | Err(_) => false,
        Ok(of) => of == repr || (is_integer(of) && is_integer(repr)),
    }
}

/// True for types of texts whose values are equal only if they are the same text.
fn is_text(ty: Type, types: &dyn TypeSource) -> bool {
    matches!(scalar::facts::Facts(types).base(ty), Type::TEXT | Type::VARCHAR)
}

/// A value that can be computed when the scan starts.
fn is_value(expr: &Expr) -> bool {
    sees_nothing(expr) && !is_volatile(expr) && !has_subplan(expr)
}

fn equality(conjunct: &Expr, part: &Part, types: &dyn TypeSource) -> Option<Equal> {
    let truth = |value: bool| {
        let kind = ExprKind::Const(Datum::Bool(value));
        Equal::One(Expr::of(kind, Type::BOOL, sql::At::NONE))
    };
    match &conjunct.kind {
        ExprKind::IsNull { expr, negated: false } if part.is(expr) || part.is_key_of(expr) => {
            Some(Equal::Null)
        }
        ExprKind::Not(expr) if part.is_bool && part.is(expr) => Some(truth(false)),
        ExprKind::IsBool { expr, value: Some(value), negated: false }
            if part.is_bool && part.is(expr) =>
        {
            Some(truth(*value))
        }
        ExprKind::AnyAll { call, all: false } if call.name == "=" && call.operator => {
            let [left, array] = &call.args[..] else { return None };
            let element = scalar::facts::Facts(types).element(array.ty)?;
            if let Some(keys) = part.key_for(left, array) {
                let fitting = is_value(array) && is_text(element, types);
                return fitting.then_some(Equal::AnyOf(Expr { ty: Type::BYTEA_ARRAY, ..keys }));
            }
            let fitting = part.is(left) && is_value(array) && fits(element, part.repr, types);
            fitting.then(|| Equal::AnyOf(array.clone()))
        }
        _ if part.is_bool && part.is(conjunct) => Some(truth(true)),
        _ => {
            let (symbol, left, right) = comparison(conjunct)?;
            if symbol != "=" {
                return None;
            }
            let value = match (part.is(left), part.is(right)) {
                (true, _) => right,
                (_, true) => left,
                // A sort key contains its text, so two sort keys are equal exactly if their texts are the same.
                _ => {
                    let found = part.key_for(left, right).map(|key| (key, right));
                    let (key, value) =
                        found.or_else(|| part.key_for(right, left).map(|key| (key, left)))?;
                    let fitting = is_value(value) && is_text(value.ty, types);
                    return fitting.then_some(Equal::One(key));
                }
            };
            let fitting = is_value(value) && fits(value.ty, part.repr, types);
            fitting.then(|| Equal::One(value.clone()))
        }
    }
}

/// The end of a range that a condition sets, and whether it is the lower end.
fn range(conjunct: &Expr, part: &Part, types: &dyn TypeSource) -> Option<(bool, End)> {
    let (symbol, left, right) = comparison(conjunct)?;
    let (is_low, inclusive) = match symbol {
        ">" => (true, false),
        ">=" => (true, true),
        "<" => (false, false),
        "<=" => (false, true),
        _ => return None,
    };
    let (value, turned) = match (part.is(left), part.is(right)) {
        (true, _) => (right, false),
        (_, true) => (left, true),
        _ => return None,
    };
    if !is_value(value) || !fits(value.ty, part.repr, types) {
        return None;
    }
    Some((is_low != turned, End { value: value.clone(), inclusive }))
}

/// The range that contains all addresses that `address << network` and `address <<= network` find: from the network
/// itself to the last address in it.
fn network_range(conjunct: &Expr, part: &Part, types: &dyn TypeSource) -> Option<(End, End)> {
    let (symbol, left, right) = comparison(conjunct)?;
    let network = match symbol {
        "<<" | "<<=" if part.is(left) => right,
        ">>" | ">>=" if part.is(right) => left,
        _ => return None,
    };
    let is_network = matches!(network.ty, Type::INET | Type::CIDR);
    if !is_network || !is_value(network) || !fits(network.ty, part.repr, types) {
        return None;
    }
    let call = |function: u32, name: &str, args: Vec<Expr>, ty| {
        let function = Oid(function);
        let name = name.to_owned();
        let (operator, set, variadic) = (false, false, false);
        let call = Call { function, name, operator, args, set, variadic };
        Expr::of(ExprKind::Call(call), ty, sql::At::NONE)
    };
    let all_bits = Expr::of(ExprKind::Const(Datum::Int4(-1)), Type::INT4, sql::At::NONE);
    let low = call(683, "network", vec![network.clone()], Type::CIDR);
    let last = call(698, "broadcast", vec![network.clone()], Type::INET);
    let high = call(605, "set_masklen", vec![last, all_bits], Type::INET);
    let end = |value| End { value, inclusive: true };
    Some((end(low), end(high)))
}

/// Adds the searches of an index of items that the conditions imply.
fn ask(
    path: &mut Path,
    parts: &[Part],
    classes: &[ItemClass],
    list: &[Expr],
    types: &dyn TypeSource,
) {
    for (at, (part, class)) in parts.iter().zip(classes).enumerate() {
        part.bind(path);
        for conjunct in list {
            let found = match class {
                ItemClass::Interval | ItemClass::Value => {
                    asked_of_place(conjunct, part, *class, types)
                }
                _ => asked(conjunct, part, types),
            };
            let Some((strategy, symbol, value)) = found else { continue };
            if strategy.is_for(*class) && is_value(value) {
                let (symbol, value) = (symbol.to_owned(), value.clone());
                path.scan_keys.push(ScanKey { part: at, strategy, value, symbol });
            }
        }
    }
}

/// The search that a condition makes for an interval, or for a key next to one.
fn asked_of_place<'e>(
    conjunct: &'e Expr,
    part: &Part,
    class: ItemClass,
    types: &dyn TypeSource,
) -> Option<(Strategy, &'e str, &'e Expr)> {
    let (symbol, left, right) = comparison(conjunct)?;
    let (value, is_turned) = match (part.is(left), part.is(right)) {
        (true, _) => (right, false),
        (_, true) => (left, true),
        _ => return None,
    };
    if class == ItemClass::Value {
        let is_equal = symbol == "=" && fits(value.ty, part.repr, types);
        return is_equal.then_some((Strategy::Equal, "=", value));
    }
    if part.is_geometric {
        return asked_of_extent(symbol, value);
    }
    if part.is_tree && value.ty != Type::LTREE {
        return None;
    }
    let (symbol, strategy) = match (symbol, is_turned) {
        ("&&", _) => ("&&", Strategy::Overlaps),
        ("=", _) => ("=", Strategy::Equal),
        ("@>", false) | ("<@", true) => ("@>", Strategy::Contains),
        ("<@", false) | ("@>", true) => ("<@", Strategy::Within),
        (">>", false) | ("<<", true) if part.is_network => (">>", Strategy::Contains),
        (">>=", false) | ("<<=", true) if part.is_network => (">>=", Strategy::Contains),
        ("<<", false) | (">>", true) if part.is_network => ("<<", Strategy::Within),
        ("<<=", false) | (">>=", true) if part.is_network => ("<<=", Strategy::Within),
        _ => return None,
    };
    Some((strategy, symbol, value))
}

/// The search that a condition makes for a value in the plane: where the condition holds, the
/// extents of the two values overlap.
fn asked_of_extent<'e>(symbol: &'e str, value: &'e Expr) -> Option<(Strategy, &'e str, &'e Expr)> {
    let has_extent = matches!(value.ty, Type::POINT | Type::BOX | Type::POLYGON | Type::CIRCLE);
    let implies = matches!(symbol, "&&" | "~=" | "@>" | "<@");
    (has_extent && implies).then_some((Strategy::Overlaps, symbol, value))
}

/// The search that a condition makes for a part that is taken apart.
fn asked<'e>(
    conjunct: &'e Expr,
    part: &Part,
    types: &dyn TypeSource,
) -> Option<(Strategy, &'e str, &'e Expr)> {
    if let ExprKind::AnyAll { call, all: false } = &conjunct.kind {
        let [value, array] = &call.args[..] else { return None };
        let element = scalar::facts::Facts(types).element(array.ty);
        // The element must be held as those of the array are.
        let alike = element.is_some_and(|element| element == value.ty);
        let is_it = call.name == "=" && call.operator && part.is(array) && alike;
        return is_it.then_some((Strategy::Element, "=", value));
    }
    let (symbol, left, right) = comparison(conjunct)?;
    let is_array = part.repr == Repr::Array;
    let is_text = part.repr == Repr::Text;
    if part.is(left) {
        let strategy = match symbol {
            "@>" => Strategy::Contains,
            "=" | "&&" if is_array => match symbol {
                "=" => Strategy::Contains,
                _ => Strategy::Overlaps,
            },
            "~~" | "~~*" if is_text => Strategy::Like,
            "%" | "%>" | "%>>" if is_text => Strategy::Alike,
            "=" if is_text || left.ty == right.ty => Strategy::Same,
            "?" => Strategy::Name,
            "?|" => Strategy::AnyName,
            "?&" => Strategy::AllNames,
            "@?" => Strategy::PathFinds,
            "@@" | "@@@" if right.ty == Type::TSQUERY => Strategy::Lexemes,
            "@@" => Strategy::PathHolds,
            _ => return None,
        };
        return Some((strategy, symbol, right));
    }
    if part.is(right) {
        return match symbol {
            "<@" => Some((Strategy::Contains, "@>", left)),
            "@@" | "@@@" if left.ty == Type::TSQUERY => Some((Strategy::Lexemes, "@@", left)),
            "&&" if is_array => Some((Strategy::Overlaps, "&&", left)),
            "=" if is_array => Some((Strategy::Contains, "=", left)),
            "=" if is_text || left.ty == right.ty => Some((Strategy::Same, "=", left)),
            "%" if is_text => Some((Strategy::Alike, "%", left)),
            "<%" if is_text => Some((Strategy::Alike, "%>", left)),
            "<<%" if is_text => Some((Strategy::Alike, "%>>", left)),
            _ => None,
        };
    }
    None
}
