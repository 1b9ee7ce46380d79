//! The parts of expressions that need no row, and are computed when a statement starts.
//!
//! ```text
//!   select * from empty where 1 / $1 = 1          fails with 22012 where $1 is 0, rows or not
//!   case when $1 = 0 then 0 else 1 / $1 end       does not: the second arm is not reached
//! ```
//!
//! PostgreSQL computes constants while it plans, with the values of parameters known, and reports
//! their errors even where no row would ever need them. A plan of ours is made once for all values, so
//! the same is done at the start of each execution. Left out are the same parts as in PostgreSQL: arms
//! of `CASE` and arguments of `AND`, `OR` and `COALESCE` that constants before them decide.

use std::borrow::Cow;

use scalar::cast::CoercionPath;
use scalar::{Volatility, registry};
use sql::bind::walk;
use sql::plan::{Call, Cast, Expr, ExprKind};
use types::{Datum, Oid, Type};

use super::{ExprScope, Kind, Node, Plan};

/// The value of an expression as far as it is known without a row. `V` is the form of values: as
/// expressions in a plan, as programs when it is run.
#[derive(Clone, Debug)]
pub enum Constant<V> {
    /// Nothing.
    Open,
    /// Its value.
    Known(V),
    /// Parts of it; where it is strict, a part that is NULL makes it NULL.
    Parts(Vec<Constant<V>>, bool),
    /// `AND` and `OR`: the first part with this value decides.
    Until(bool, Vec<Constant<V>>),
    /// `COALESCE`
    Coalesce(Vec<Constant<V>>),
    /// `CASE`: conditions and results, and the result where none is true.
    Case(Vec<(Constant<V>, Constant<V>)>, Box<Constant<V>>),
}

impl<V> Constant<V> {
    /// The same with values given in another way.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn map<W, E>(&self, f: &mut dyn FnMut(&V) -> Result<W, E>) -> Result<Constant<W>, E> {
        let list = |parts: &[Self], f: &mut dyn FnMut(&V) -> Result<W, E>| {
            parts.iter().map(|part| part.map(f)).collect::<Result<Vec<_>, E>>()
        };
        Ok(match self {
            Constant::Open => Constant::Open,
            Constant::Known(value) => Constant::Known(f(value)?),
            Constant::Parts(parts, strict) => Constant::Parts(list(parts, f)?, *strict),
            Constant::Until(value, parts) => Constant::Until(*value, list(parts, f)?),
            Constant::Coalesce(parts) => Constant::Coalesce(list(parts, f)?),
            Constant::Case(arms, otherwise) => {
                let arms = arms.iter().map(|(when, then)| Ok((when.map(f)?, then.map(f)?)));
                Constant::Case(arms.collect::<Result<_, E>>()?, Box::new(otherwise.map(f)?))
            }
        })
    }
}

impl Constant<Expr> {
    /// True if computing it may fail.
    fn may_fail(&self) -> bool {
        match self {
            Constant::Open => false,
            Constant::Known(expr) => walk::any(&mut expr.clone(), &is_work),
            Constant::Parts(parts, _) | Constant::Until(_, parts) | Constant::Coalesce(parts) => {
                parts.iter().any(Self::may_fail)
            }
            Constant::Case(arms, otherwise) => {
                otherwise.may_fail()
                    || arms.iter().any(|(when, then)| when.may_fail() || then.may_fail())
            }
        }
    }
}

/// True if a part of an expression computes something that may fail.
fn is_work(part: &Expr) -> bool {
    match &part.kind {
        ExprKind::Cast { how: Cast::Type { how: CoercionPath::Relabel, .. }, .. } => false,
        ExprKind::Call(_)
        | ExprKind::Cast { .. }
        | ExprKind::NullIf(_)
        | ExprKind::AnyAll { .. }
        | ExprKind::Greatest(_)
        | ExprKind::Least(_)
        | ExprKind::Subscript { .. } => true,
        _ => false,
    }
}

fn is_immutable(function: Oid) -> bool {
    let found = registry::function(function);
    found.is_some_and(|found| found.volatility == Volatility::Immutable && !found.set)
}

/// True if text forms of a type depend on nothing but the value.
fn has_fixed_text(ty: Type) -> bool {
    const FIXED: &[Type] = &[
        Type::BOOL,
        Type::BYTEA,
        Type::CHAR,
        Type::NAME,
        Type::INT8,
        Type::INT2,
        Type::INT4,
        Type::TEXT,
        Type::OID,
        Type::JSON,
        Type::FLOAT4,
        Type::FLOAT8,
        Type::BPCHAR,
        Type::VARCHAR,
        Type::NUMERIC,
        Type::UUID,
        Type::INET,
        Type::CIDR,
        Type::MACADDR,
        Type::MACADDR8,
        Type::BIT,
        Type::VARBIT,
        Type::JSONB,
        Type::JSONPATH,
    ];
    FIXED.contains(&ty)
}

fn is_fixed_cast(how: &CoercionPath, source: Type, target: Type) -> bool {
    match how {
        CoercionPath::Relabel => true,
        CoercionPath::Function(function) | CoercionPath::Bits(function, _) => {
            is_immutable(*function)
        }
        CoercionPath::InOut => has_fixed_text(source) && has_fixed_text(target),
        CoercionPath::Elements(how) => matches!(
            &**how,
            CoercionPath::Relabel | CoercionPath::Function(_) | CoercionPath::Bits(..)
        ),
        CoercionPath::Record => false,
    }
}

/// Which parts of an expression have a value without a row, from the outside in, and how many parts
/// each has with itself. True if the whole has.
fn known_parts(expr: &mut Expr, found: &mut Vec<(bool, usize)>) -> bool {
    let mut is_known = match &expr.kind {
        ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsBool { .. }
        | ExprKind::Case { .. }
        | ExprKind::CaseOperand
        | ExprKind::Coalesce(_)
        | ExprKind::Greatest(_)
        | ExprKind::Least(_)
        | ExprKind::Array { .. }
        | ExprKind::Subscript { .. } => true,
        ExprKind::Call(call)
        | ExprKind::NullIf(call)
        | ExprKind::AnyAll { call, .. }
        | ExprKind::IsDistinct { equal: call, .. } => is_immutable(call.function) && !call.set,
        ExprKind::Cast { expr: of, how: Cast::Type { how, .. } } => {
            is_fixed_cast(how, of.ty, expr.ty)
        }
        ExprKind::Cast { how: Cast::Modifier { .. }, .. } => true,
        _ => false,
    };
    let at = found.len();
    found.push((false, 0));
    walk::parts(expr, &mut |part| is_known &= known_parts(part, found));
    // The operand of a `CASE` means nothing without it.
    let own = is_known && !matches!(expr.kind, ExprKind::CaseOperand);
    found[at] = (own, found.len() - at);
    is_known
}

/// The expression with all parts marked that have a value without a row and take work: they are computed once.
/// `number` is the next one that such a part gets.
pub fn with_known_once<'e>(expr: &'e Expr, number: &mut u32) -> Cow<'e, Expr> {
    let mut marked = expr.clone();
    if !walk::any(&mut marked, &takes_work) {
        return Cow::Borrowed(expr);
    }
    let mut known = Vec::new();
    known_parts(&mut marked, &mut known);
    mark_once(&mut marked, &known, &mut 0, number);
    Cow::Owned(marked)
}

/// True if a part of an expression is worth being kept.
fn takes_work(part: &Expr) -> bool {
    is_work(part) || matches!(part.kind, ExprKind::Array { .. })
}

fn mark_once(expr: &mut Expr, known: &[(bool, usize)], at: &mut usize, number: &mut u32) {
    if let (true, count) = known[*at]
        && !has_free_operand(expr)
    {
        *at += count;
        if walk::any(expr, &takes_work) {
            let of = std::mem::replace(&mut expr.kind, ExprKind::Const(Datum::Null));
            let of = Box::new(Expr { kind: of, ..expr.clone() });
            expr.kind = ExprKind::Once { number: *number, expr: of };
            *number += 1;
        }
        return;
    }
    *at += 1;
    walk::parts(expr, &mut |part| mark_once(part, known, at, number));
}

/// True if an expression means the operand of a `CASE` that it is within.
fn has_free_operand(expr: &mut Expr) -> bool {
    match &mut expr.kind {
        ExprKind::CaseOperand => true,
        // Its conditions mean its own.
        ExprKind::Case { operand: Some(operand), arms, otherwise } => {
            has_free_operand(operand)
                || has_free_operand(otherwise)
                || arms.iter_mut().any(|(_, result)| has_free_operand(result))
        }
        _ => {
            let mut is_free = false;
            walk::parts(expr, &mut |part| is_free |= has_free_operand(part));
            is_free
        }
    }
}

/// Puts an operand in its place in the conditions of its `CASE`.
fn with_operand(expr: &mut Expr, operand: &Expr) {
    match &mut expr.kind {
        ExprKind::CaseOperand => *expr = operand.clone(),
        // The conditions of another one have its own.
        ExprKind::Case { operand: Some(inner), .. } => with_operand(inner, operand),
        _ => walk::parts(expr, &mut |part| with_operand(part, operand)),
    }
}

impl Plan {
    /// Finds out what is to be computed when the plan starts: nothing where none of it may fail.
    pub(crate) fn find_constants(&mut self) {
        let nothing = Node { kind: Kind::Given, types: Vec::new() };
        let (mut root, mut found) = (std::mem::replace(&mut self.root, nothing), Vec::new());
        self.add_constants(&mut root, true, &mut found);
        self.root = root;
        self.constants = found;
    }

    /// Adds those of an operator and of those below it. `is_certain` where its rows are computed in
    /// any case.
    fn add_constants(&self, node: &mut Node, is_certain: bool, found: &mut Vec<Constant<Expr>>) {
        let one_row = |node: &Node| matches!(&node.kind, Kind::Values(rows) if rows.len() == 1);
        // A value that is computed at once, and once, need not be computed twice.
        let is_at_once = is_certain
            && match &node.kind {
                Kind::Values(_) => true,
                Kind::Project { input, .. } => one_row(input),
                _ => false,
            };
        if !is_at_once {
            node.exprs(&mut |expr, scope| {
                if scope != ExprScope::Changed {
                    let constant = self.constant(expr);
                    found.extend(Some(constant).filter(Constant::may_fail));
                }
            });
        }
        let passes = matches!(node.kind, Kind::Project { .. } | Kind::Modify(_));
        node.inputs(&mut |input| self.add_constants(input, is_certain && passes, found));
    }

    fn constant(&self, expr: &Expr) -> Constant<Expr> {
        let (mut expr, mut known) = (expr.clone(), Vec::new());
        known_parts(&mut expr, &mut known);
        self.constant_at(&mut expr, &known, &mut 0)
    }

    /// The same of a part of it: what is known of its parts stands at a place.
    fn constant_at(
        &self,
        expr: &mut Expr,
        known: &[(bool, usize)],
        at: &mut usize,
    ) -> Constant<Expr> {
        if let (true, count) = known[*at] {
            *at += count;
            return Constant::Known(expr.clone());
        }
        *at += 1;
        let mut parts = Vec::new();
        walk::parts(expr, &mut |part| parts.push(self.constant_at(part, known, at)));
        match &expr.kind {
            ExprKind::Column { .. } | ExprKind::Slot(_) => Constant::Open,
            ExprKind::And(_) => Constant::Until(false, parts),
            ExprKind::Or(_) => Constant::Until(true, parts),
            ExprKind::Coalesce(_) => Constant::Coalesce(parts),
            ExprKind::Case { operand, arms, .. } => {
                let mut parts = parts.into_iter().skip(usize::from(operand.is_some()));
                let mut next = || parts.next().unwrap_or(Constant::Open);
                let arms = arms.iter().map(|(when, _)| {
                    let (condition, result) = (next(), next());
                    let Some(operand) = operand else { return (condition, result) };
                    let mut when = when.clone();
                    with_operand(&mut when, operand);
                    (self.constant(&when), result)
                });
                Constant::Case(arms.collect(), Box::new(next()))
            }
            ExprKind::Subplan { number, .. } => {
                let subplan = &self.subplans[*number as usize];
                self.add_constants(&mut subplan.node.clone(), false, &mut parts);
                subplan.link.clone().exprs(&mut |expr| parts.push(self.constant(expr)));
                Constant::Parts(parts, false)
            }
            _ => Constant::Parts(parts, is_strict(expr)),
        }
    }
}

fn is_strict(expr: &Expr) -> bool {
    let strict = |call: &Call| {
        registry::function(call.function).is_some_and(|function| function.strict && !function.set)
    };
    match &expr.kind {
        ExprKind::Call(call) => strict(call),
        ExprKind::Not(_) => true,
        _ => false,
    }
}
