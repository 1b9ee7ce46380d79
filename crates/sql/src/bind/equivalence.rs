//! Grouping, `DISTINCT` and set operations under a nondeterministic collation, where different
//! texts can be equal.
//!
//! ```text
//!   select name, count(*) from t group by name
//!     ──> keys [collation_class(name)], calls [any_value(name), count(*)]
//!   select distinct name from t
//!     ──> the same without count(*)
//!   a intersect b
//!     ──> a and b, one below the other, grouped: the groups with rows of both, with a value of `a`
//! ```
//!
//! The class of a text, which is `bytea`, identifies groups, and one of the texts is shown.

use types::{Modifier, Oid, SqlState, Type};

use super::collation::Derived;
use super::scope::reference;
use super::{Binder, Collation};
use crate::error::{At, Error, Result};
use crate::parse::ast::SetOp;
use crate::plan::{Aggregate, AggregateCall, Column, Expr, ExprKind, Node, Plan};

/// `any_value`
const ANY_VALUE: Oid = Oid(6291);
/// `bool_and`
const BOOL_AND: Oid = Oid(2517);
/// `bool_or`
const BOOL_OR: Oid = Oid(2518);

/// A key of grouping sets whose texts are identified by their class.
pub(super) struct ShownKey {
    /// The class; NULL in sets without the key.
    class: Column,
    /// One of the texts of the group.
    value: Column,
    /// The key as others name it.
    shown: Column,
}

impl Binder<'_> {
    /// The nondeterministic collation of a value; none if equal texts are the same.
    ///
    /// # Errors
    /// `42P21` where its parts have no one collation.
    pub(super) fn equivalence(&self, expr: &Expr) -> Result<Option<Collation>> {
        if !self.has_collations {
            return Ok(None);
        }
        let derived = self.derived(expr);
        if let Derived::Conflict(..) = derived {
            return Err(self.mismatch(derived).at(expr.at));
        }
        let found = self.names.collation(derived.oid());
        Ok(found.filter(|collation| !collation.is_deterministic && collation.locale.is_some()))
    }

    /// Makes keys of groups compare texts by their class. The columns of such keys are then calls, which take one
    /// of the texts of each group. Where there are several sets, a key is NULL in the sets without it: then the calls
    /// have columns of their own, and the result has them with those of the keys, for [`Binder::shown_keys`].
    pub(super) fn class_keys(
        &mut self,
        keys: &mut [(Expr, Column)],
        calls: &mut Vec<(AggregateCall, Column)>,
        is_one_set: bool,
    ) -> Result<Vec<ShownKey>> {
        let mut shown = Vec::new();
        for (expr, column) in keys {
            let Some(collation) = self.equivalence(expr)? else { continue };
            let class = self.key_of(expr.clone(), &collation)?;
            let of_class = self.column_for("key", &class);
            let value = one_of(expr.clone(), None);
            let own = std::mem::replace(column, of_class.clone());
            if is_one_set {
                calls.push((value, own));
            } else {
                let of_call = self.column_for("value", expr);
                calls.push((value, of_call.clone()));
                shown.push(ShownKey { class: of_class, value: of_call, shown: own });
            }
            *expr = class;
        }
        Ok(shown)
    }

    /// The rows of groups with the keys as they are shown: a text of the group in the sets that group by it.
    pub(super) fn shown_keys(&mut self, groups: Plan, keys: &[ShownKey]) -> Plan {
        if keys.is_empty() {
            return groups;
        }
        let (mut exprs, mut columns) = (Vec::new(), groups.columns.clone());
        for column in &groups.columns {
            exprs.push(reference(column, At::NONE));
        }
        for key in keys {
            let class = Box::new(reference(&key.class, At::NONE));
            let is_there = ExprKind::IsNull { expr: class, negated: true };
            let is_there = Expr::of(is_there, Type::BOOL, At::NONE);
            let value = reference(&key.value, At::NONE);
            let none = Expr::of(ExprKind::Const(types::Datum::Null), value.ty, At::NONE);
            let ty = value.ty;
            let arms = vec![(is_there, value)];
            let case = ExprKind::Case { operand: None, arms, otherwise: Box::new(none) };
            exprs.push(Expr::of(case, ty, At::NONE));
            columns.push(key.shown.clone());
        }
        Plan { node: Node::Project { input: Box::new(groups), exprs }, columns }
    }

    /// The columns by whose classes rows are equal, by position, with the locales of the classes.
    pub(super) fn classes_of(
        &self,
        columns: &[Column],
    ) -> Result<Vec<(usize, std::sync::Arc<str>)>> {
        let mut classes = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let found = self.equivalence(&reference(column, At::NONE))?;
            classes.extend(found.and_then(|found| Some((at, found.locale.as_deref()?.into()))));
        }
        Ok(classes)
    }

    /// The rows of a plan, of which equal ones are shown once.
    pub(super) fn distinct_rows(&mut self, plan: Plan) -> Result<Plan> {
        let columns = plan.columns.clone();
        let mut has_classes = false;
        for column in &columns {
            has_classes |= self.equivalence(&reference(column, At::NONE))?.is_some();
        }
        if !has_classes {
            return Ok(Plan { node: Node::Distinct(Box::new(plan)), columns });
        }
        let (plan, values) = self.grouped_rows(plan, &columns, None)?;
        Ok(Plan { node: Node::Project { input: Box::new(plan), exprs: values }, columns })
    }

    /// The rows of a plan grouped by the classes of `columns`, and the value that each column has in a group: of the
    /// rows of which `filter` is true.
    fn grouped_rows(
        &mut self,
        plan: Plan,
        columns: &[Column],
        filter: Option<&Expr>,
    ) -> Result<(Plan, Vec<Expr>)> {
        let (mut keys, mut of_keys) = (Vec::new(), Vec::new());
        let (mut calls, mut of_calls) = (Vec::new(), Vec::new());
        let mut values = Vec::new();
        for column in columns {
            let value = reference(column, At::NONE);
            let class = self.equivalence(&value)?;
            let key = match &class {
                Some(collation) => self.key_of(value.clone(), collation)?,
                None => value.clone(),
            };
            let of_key = self.column_for(column.name.as_str(), &key);
            let shown = match class {
                Some(_) => {
                    let of_call = self.column_for(column.name.as_str(), &value);
                    calls.push(one_of(value, filter.cloned()));
                    of_calls.push(of_call.clone());
                    of_call
                }
                None => of_key.clone(),
            };
            values.push(reference(&shown, At::NONE));
            keys.push(key);
            of_keys.push(of_key);
        }
        for (function, name) in [(BOOL_OR, "bool_or"), (BOOL_AND, "bool_and")] {
            let Some(filter) = filter else { continue };
            calls.push(call(function, name, filter.clone(), None));
            of_calls.push(self.column(name, Type::BOOL, Modifier::NONE, None));
        }
        let sets = vec![(0..keys.len()).collect()];
        let input = Box::new(plan);
        let aggregate = Aggregate { input, keys, sets, calls, masks: Vec::new() };
        of_keys.extend(of_calls);
        Ok((Plan { node: Node::Aggregate(aggregate), columns: of_keys }, values))
    }

    /// A set operation that compares rows, with these columns.
    pub(super) fn set_of_rows(
        &mut self,
        (op, all): (SetOp, bool),
        (left, right): (Plan, Plan),
        columns: Vec<Column>,
    ) -> Result<Plan> {
        let mut has_classes = false;
        for column in &columns {
            has_classes |= self.equivalence(&reference(column, At::NONE))?.is_some();
        }
        let set = |all, left: Plan, right: Plan, op, columns| {
            let (left, right) = (Box::new(left), Box::new(right));
            Plan { node: Node::SetOperation { op, all, left, right }, columns }
        };
        if op == SetOp::Union && (all || has_classes) {
            let both = set(true, left, right, op, columns);
            return if all { Ok(both) } else { self.distinct_rows(both) };
        }
        if !has_classes {
            return Ok(set(all, left, right, op, columns));
        }
        if all {
            let message =
                "INTERSECT ALL and EXCEPT ALL are not supported under nondeterministic collations";
            return Err(refused(message));
        }
        let left = self.with_side(left, true);
        let right = self.with_side(right, false);
        let is_left = self.column("side", Type::BOOL, Modifier::NONE, None);
        let with_side = [&columns[..], std::slice::from_ref(&is_left)].concat();
        let both = set(true, left, right, SetOp::Union, with_side);
        let of_left = reference(&is_left, At::NONE);
        let (groups, values) = self.grouped_rows(both, &columns, Some(&of_left))?;
        let [.., any, every] = &groups.columns[..] else {
            return Err(Error::new(SqlState::INTERNAL_ERROR, "groups without their sides"));
        };
        let (any, every) = (reference(any, At::NONE), reference(every, At::NONE));
        let condition = match op {
            SetOp::Except => every,
            _ => {
                let none = Expr::of(ExprKind::Not(Box::new(every)), Type::BOOL, At::NONE);
                Expr::of(ExprKind::And(vec![any, none]), Type::BOOL, At::NONE)
            }
        };
        let groups = super::select::filtered(groups, condition);
        Ok(Plan { node: Node::Project { input: Box::new(groups), exprs: values }, columns })
    }

    /// The rows of a side of a set operation, with a column that tells which side it is.
    fn with_side(&mut self, plan: Plan, is_left: bool) -> Plan {
        let mut exprs: Vec<Expr> =
            plan.columns.iter().map(|column| reference(column, At::NONE)).collect();
        exprs.push(Expr::bool(is_left));
        let mut columns = plan.columns.clone();
        columns.push(self.column("side", Type::BOOL, Modifier::NONE, None));
        Plan { node: Node::Project { input: Box::new(plan), exprs }, columns }
    }
}

/// One of the values of a group.
fn one_of(value: Expr, filter: Option<Expr>) -> AggregateCall {
    let ty = value.ty;
    AggregateCall { ty, ..call(ANY_VALUE, "any_value", value, filter) }
}

/// A call of an aggregate that gives a truth value.
fn call(function: Oid, name: &'static str, arg: Expr, filter: Option<Expr>) -> AggregateCall {
    AggregateCall {
        function,
        name,
        args: vec![arg],
        direct: Vec::new(),
        distinct: false,
        order: Vec::new(),
        filter,
        ty: Type::BOOL,
        scope: 0,
    }
}

fn refused(message: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .hint("Apply COLLATE with a deterministic collation.")
}
