//! Implication between conditions: whether a row that satisfies them satisfies the predicate of an
//! index.
//!
//! ```text
//!   conditions                        predicate                  it follows
//!   status = 'open'                   status = 'open'            the same clause
//!   age > 30                          age > 18                   a stronger comparison
//!   age = $1                          age > 18                   provided that $1 > 18
//!   lower(name) = 'x'                 name IS NOT NULL           a NULL would not be true
//!   kind in ('a', 'b')                kind in ('a', 'b', 'c')    each value by itself
//! ```
//!
//! A part that cannot be decided before the values of parameters are known is a *start
//! condition*: a condition over values alone, which is tested when the plan starts. This is the useful part of
//! what PostgreSQL's `predicate_implied_by` proves; it never says that something follows that does
//! not.

use scalar::{operators, registry};
use types::geometry::is_geometric;
use types::{Datum, KeyOrder, Type, key};

use crate::error::At;
use crate::plan::{Call, Cast, Expr, ExprKind, Subscript};

/// Whether a predicate follows from conditions that are all true; then the start conditions under which
/// it does, which see no row. None if it does not follow.
pub fn implied(conditions: &[Expr], predicate: &Expr) -> Option<Vec<Expr>> {
    match &predicate.kind {
        ExprKind::And(parts) => all(parts.iter().map(|part| implied(conditions, part))),
        _ => {
            let ways = conditions.iter().filter_map(|condition| follows(condition, predicate));
            let way = ways.min_by_key(Vec::len);
            match (&predicate.kind, way) {
                (ExprKind::Or(arms), None) => arms.iter().find_map(|arm| implied(conditions, arm)),
                (_, way) => way,
            }
        }
    }
}

/// The start conditions of all; none if one does not follow.
fn all(ways: impl Iterator<Item = Option<Vec<Expr>>>) -> Option<Vec<Expr>> {
    let lists = ways.collect::<Option<Vec<_>>>()?;
    Some(lists.into_iter().flatten().collect())
}

/// Whether a predicate follows from one condition.
fn follows(condition: &Expr, predicate: &Expr) -> Option<Vec<Expr>> {
    if same(condition, predicate) {
        return Some(Vec::new());
    }
    match &condition.kind {
        ExprKind::And(parts) => return implied(parts, predicate),
        ExprKind::Or(arms) => return all(arms.iter().map(|arm| follows(arm, predicate))),
        ExprKind::AnyAll { call, all: false } if call.name == "=" && call.operator => {
            if let Some(values) = elements(&call.args[1]) {
                let each = values
                    .iter()
                    .filter(|value| !value.is_null_const())
                    .map(|value| value_meets(&call.args[0], "=", value, predicate));
                return all(each);
            }
        }
        _ => {}
    }
    match &predicate.kind {
        ExprKind::And(parts) => all(parts.iter().map(|part| follows(condition, part))),
        ExprKind::Or(arms) => arms.iter().find_map(|arm| follows(condition, arm)),
        ExprKind::IsNull { expr, negated: true } => rejects_null(condition, expr).then(Vec::new),
        ExprKind::IsBool { expr, value: Some(true), negated: false } => follows(condition, expr),
        ExprKind::IsBool { expr, value: Some(false), negated: false } => {
            matches!(&condition.kind, ExprKind::Not(inner) if same(inner, expr)).then(Vec::new)
        }
        _ => {
            let (left, symbol, right) = comparison(condition)?;
            let turned = turn(symbol)?;
            value_meets(left, symbol, right, predicate)
                .or_else(|| value_meets(right, turned, left, predicate))
        }
    }
}

/// Whether a predicate is true of what stands to a value as a symbol says.
fn value_meets(what: &Expr, symbol: &str, value: &Expr, predicate: &Expr) -> Option<Vec<Expr>> {
    if !is_value(value) {
        return None;
    }
    match &predicate.kind {
        ExprKind::And(parts) => {
            return all(parts.iter().map(|part| value_meets(what, symbol, value, part)));
        }
        ExprKind::Or(arms) => {
            return arms.iter().find_map(|arm| value_meets(what, symbol, value, arm));
        }
        ExprKind::IsNull { expr, negated: true } => return same(what, expr).then(Vec::new),
        ExprKind::AnyAll { call, all: false } if call.name == "=" && call.operator => {
            if symbol != "=" || !same(&call.args[0], what) {
                return None;
            }
            if let (Some(known), Some(list)) = (constant(value), elements(&call.args[1])) {
                let mut list = list.iter().filter_map(constant);
                return list.any(|element| is_same(&element, &known)).then(Vec::new);
            }
            let kind = ExprKind::AnyAll {
                call: Call { args: vec![value.clone(), call.args[1].clone()], ..call.clone() },
                all: false,
            };
            let fits = value.ty == call.args[0].ty && is_value(&call.args[1]);
            return fits.then(|| vec![Expr::of(kind, Type::BOOL, At::NONE)]);
        }
        _ => {}
    }
    let (left, wanted, right) = comparison(predicate)?;
    let (wanted, bound) = if same(left, what) {
        (wanted, right)
    } else if same(right, what) {
        (turn(wanted)?, left)
    } else {
        return None;
    };
    if !is_value(bound) {
        return None;
    }
    // How the value must stand to the bound, so that all that stands to it as told meets the predicate.
    let needed = match (symbol, wanted) {
        ("=", wanted) => wanted,
        ("<", "<" | "<=" | "<>") | ("<=", "<=") => "<=",
        ("<=", "<" | "<>") => "<",
        (">", ">" | ">=" | "<>") | (">=", ">=") => ">=",
        (">=", ">" | "<>") => ">",
        _ => return None,
    };
    if let (Some(value), Some(bound)) = (constant(value), constant(bound))
        && value.repr() == bound.repr()
        && value.repr().is_some()
    {
        return holds(&value, needed, &bound).then(Vec::new);
    }
    let operator = operators::find(needed, plain(value.ty), plain(bound.ty))?;
    let call = Call {
        function: operator.function,
        name: needed.to_owned(),
        operator: true,
        args: vec![value.clone(), bound.clone()],
        set: false,
        variadic: false,
    };
    Some(vec![Expr::of(ExprKind::Call(call), Type::BOOL, At::NONE)])
}

/// The type whose operators values of a type are compared by.
fn plain(ty: Type) -> Type {
    if ty == Type::VARCHAR { Type::TEXT } else { ty }
}

/// The two sides of a comparison by an operator that orders values, or by `<>`.
fn comparison(expr: &Expr) -> Option<(&Expr, &str, &Expr)> {
    match &expr.kind {
        ExprKind::Call(call) if call.operator => match &call.args[..] {
            // Of values in the plane these compare areas and lengths.
            [_, right] if is_geometric(right.ty) => None,
            [left, right] => turn(&call.name).map(|_| (left, &*call.name, right)),
            _ => None,
        },
        _ => None,
    }
}

/// The operator that says the same with its sides exchanged.
fn turn(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        "=" => "=",
        "<>" => "<>",
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        _ => return None,
    })
}

fn order(one: &Datum, other: &Datum) -> std::cmp::Ordering {
    let form = |value: &Datum| {
        let mut out = Vec::new();
        key::write(value.as_ref(), KeyOrder::ASCENDING, &mut out);
        out
    };
    form(one).cmp(&form(other))
}

fn holds(value: &Datum, symbol: &str, bound: &Datum) -> bool {
    let order = order(value, bound);
    match symbol {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => false,
    }
}

/// True for a value that can be computed before there is a row.
fn is_value(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::Slot(_) => true,
        ExprKind::Cast { expr, how: Cast::Type { .. } } => is_value(expr),
        ExprKind::Array { elements, .. } => elements.iter().all(is_value),
        _ => false,
    }
}

/// The value of a constant, number casts included.
fn constant(expr: &Expr) -> Option<Datum> {
    match &expr.kind {
        ExprKind::Const(value) if !value.is_null() => Some(value.clone()),
        ExprKind::Cast { expr: inner, how: Cast::Type { how, .. } } => {
            let value = constant(inner)?;
            if matches!(how, scalar::cast::CoercionPath::Relabel) {
                return Some(value);
            }
            let number = match &value {
                Datum::Int2(number) => i64::from(*number),
                Datum::Int4(number) => i64::from(*number),
                Datum::Int8(number) => *number,
                _ => return None,
            };
            Some(match expr.ty {
                Type::INT8 => Datum::Int8(number),
                Type::INT4 => Datum::Int4(i32::try_from(number).ok()?),
                Type::INT2 => Datum::Int2(i16::try_from(number).ok()?),
                Type::NUMERIC => Datum::Numeric(i128::from(number).into()),
                _ => return None,
            })
        }
        _ => None,
    }
}

/// The elements of an array of constants.
fn elements(array: &Expr) -> Option<Vec<Expr>> {
    match &array.kind {
        ExprKind::Array { elements, nested: false } => Some(elements.clone()),
        ExprKind::Const(Datum::Array(array)) => {
            let array = array.as_ref();
            let ty = array.element_type();
            let element = |value: types::DatumRef<'_>| {
                Expr::of(ExprKind::Const(value.to_owned()), ty, At::NONE)
            };
            Some(array.iter().map(element).collect())
        }
        _ => None,
    }
}

/// True if a condition is not true of a row for which something is NULL.
fn rejects_null(condition: &Expr, what: &Expr) -> bool {
    match &condition.kind {
        ExprKind::And(parts) => parts.iter().any(|part| rejects_null(part, what)),
        ExprKind::Or(arms) => arms.iter().all(|arm| rejects_null(arm, what)),
        ExprKind::IsNull { expr, negated: true } => is_null_with(expr, what),
        ExprKind::IsBool { expr, value: Some(_), negated: false } => is_null_with(expr, what),
        // There may be no element that is looked at: then `ANY` is false, and `ALL` is true.
        ExprKind::AnyAll { call, all: false } => {
            is_strict(call.function) && is_null_with(&call.args[0], what)
        }
        _ => is_null_with(condition, what),
    }
}

/// True if an expression is NULL as soon as a part of it is.
fn is_null_with(expr: &Expr, what: &Expr) -> bool {
    if same(expr, what) {
        return true;
    }
    match &expr.kind {
        ExprKind::Call(call) => {
            is_strict(call.function) && call.args.iter().any(|arg| is_null_with(arg, what))
        }
        ExprKind::Cast { expr, how: Cast::Type { .. } } => is_null_with(expr, what),
        ExprKind::Not(expr) => is_null_with(expr, what),
        _ => false,
    }
}

fn is_strict(function: types::Oid) -> bool {
    registry::function(function).is_some_and(|function| function.strict && !function.set)
}

/// True if two constants are the same to the last digit, not only equal.
fn is_same(one: &Datum, other: &Datum) -> bool {
    let exact = |value: &Datum| value.repr().is_none_or(key::is_reversible);
    let bytes = |value: &Datum| {
        let mut out = Vec::new();
        types::row::write(0, [value.as_ref()], &mut out);
        out
    };
    one.repr() == other.repr() && one == other && (exact(one) || bytes(one) == bytes(other))
}

/// An expression without casts that make one kind of text of another and leave the value as it is.
fn unlabelled(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast {
            expr: inner,
            how: Cast::Type { how: scalar::cast::CoercionPath::Relabel, .. },
        } if [Type::TEXT, Type::VARCHAR].contains(&expr.ty) => unlabelled(inner),
        _ => expr,
    }
}

/// True if two expressions over the same row are written alike: the same functions of the same
/// values. False for kinds of expressions that no index has.
pub fn same(one: &Expr, other: &Expr) -> bool {
    let (one, other) = (unlabelled(one), unlabelled(other));
    let lists = |one: &[Expr], other: &[Expr]| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
    };
    let calls = |one: &Call, other: &Call| {
        one.function == other.function
            && one.variadic == other.variadic
            && lists(&one.args, &other.args)
    };
    match (&one.kind, &other.kind) {
        (ExprKind::Const(a), ExprKind::Const(b)) => one.ty == other.ty && is_same(a, b),
        (ExprKind::Param(a), ExprKind::Param(b)) => a == b,
        (ExprKind::Slot(a), ExprKind::Slot(b)) => a == b,
        (
            ExprKind::Column { levels_up: up_a, index: a },
            ExprKind::Column { levels_up: up_b, index: b },
        ) => (up_a, a) == (up_b, b),
        (ExprKind::Call(a), ExprKind::Call(b)) | (ExprKind::NullIf(a), ExprKind::NullIf(b)) => {
            calls(a, b)
        }
        (ExprKind::AnyAll { call: a, all: all_a }, ExprKind::AnyAll { call: b, all: all_b }) => {
            all_a == all_b && calls(a, b)
        }
        (ExprKind::Cast { expr: a, how: how_a }, ExprKind::Cast { expr: b, how: how_b }) => {
            let alike = match (how_a, how_b) {
                (Cast::Type { how: a, when: x }, Cast::Type { how: b, when: y }) => {
                    format!("{a:?} {x:?}") == format!("{b:?} {y:?}")
                }
                (Cast::Modifier { explicit: a }, Cast::Modifier { explicit: b }) => a == b,
                (Cast::Domain, Cast::Domain) => true,
                _ => false,
            };
            alike && one.ty == other.ty && one.modifier == other.modifier && same(a, b)
        }
        (ExprKind::And(a), ExprKind::And(b))
        | (ExprKind::Or(a), ExprKind::Or(b))
        | (ExprKind::Coalesce(a), ExprKind::Coalesce(b))
        | (ExprKind::Greatest(a), ExprKind::Greatest(b))
        | (ExprKind::Least(a), ExprKind::Least(b))
        | (
            ExprKind::Array { elements: a, nested: false },
            ExprKind::Array { elements: b, nested: false },
        ) => one.ty == other.ty && lists(a, b),
        (ExprKind::Not(a), ExprKind::Not(b)) => same(a, b),
        (
            ExprKind::IsNull { expr: a, negated: not_a },
            ExprKind::IsNull { expr: b, negated: not_b },
        ) => not_a == not_b && same(a, b),
        (
            ExprKind::IsBool { expr: a, value: value_a, negated: not_a },
            ExprKind::IsBool { expr: b, value: value_b, negated: not_b },
        ) => (value_a, not_a) == (value_b, not_b) && same(a, b),
        (
            ExprKind::IsDistinct { equal: a, negated: not_a },
            ExprKind::IsDistinct { equal: b, negated: not_b },
        ) => not_a == not_b && calls(a, b),
        (
            ExprKind::Case { operand: None, arms: a, otherwise: x },
            ExprKind::Case { operand: None, arms: b, otherwise: y },
        ) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| same(&a.0, &b.0) && same(&a.1, &b.1))
                && same(x, y)
        }
        (
            ExprKind::Subscript { expr: a, steps: steps_a },
            ExprKind::Subscript { expr: b, steps: steps_b },
        ) => {
            let steps = |(a, b): (&Subscript, &Subscript)| match (a, b) {
                (Subscript::Index(a), Subscript::Index(b)) => same(a, b),
                _ => false,
            };
            steps_a.len() == steps_b.len() && steps_a.iter().zip(steps_b).all(steps) && same(a, b)
        }
        (ExprKind::Field { expr: a, index: x }, ExprKind::Field { expr: b, index: y }) => {
            x == y && same(a, b)
        }
        _ => false,
    }
}
