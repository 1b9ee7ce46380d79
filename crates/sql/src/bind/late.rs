//! When outputs of a `SELECT` are computed: before its rows are sorted, or after.
//!
//! ```text
//!   select x, nextval('s') from t order by x limit 3
//!
//!   Limit 3
//!     Project [x, nextval('s')]      late: once for each row that comes out
//!       Sort [x]
//!         Project [x]                what the order needs, and the columns that late outputs need
//!           Scan t
//! ```
//!
//! As in PostgreSQL, an output that the order does not need is late where it is volatile or gives a
//! set, and below a `LIMIT` where it has a subquery. Without `ORDER BY` none is.

use types::SqlState;

use super::scope::reference;
use super::select::{Order, Target};
use super::{Binder, walk};
use crate::error::{At, Error};
use crate::parse::ast::{Distinct, Query};
use crate::plan::{Column, Expr, ExprKind, Node, Origin, Plan};

/// True if an expression gives a set.
pub(super) fn gives_sets(expr: &mut Expr) -> bool {
    walk::any(expr, &|part| matches!(&part.kind, ExprKind::Call(call) if call.set))
}

/// True if computing an expression once more, or once less, could be noticed.
fn is_volatile(expr: &mut Expr) -> bool {
    let mut found = false;
    walk::everywhere(expr, &mut |part| {
        found = found || walk::is_volatile_part(part);
        !found
    });
    found
}

/// Which outputs are late.
pub(super) fn targets(
    targets: &mut [Target],
    order: &[Order],
    distinct: &Distinct,
    distinct_on: Option<&[usize]>,
    query: &Query,
) -> Vec<bool> {
    let mut late = vec![false; targets.len()];
    let is_key = |place: usize| {
        order.iter().any(|key| key.target == place)
            || distinct_on.is_some_and(|keys| keys.contains(&place))
    };
    // Where rows are left out by all their outputs, all are needed.
    if order.is_empty() || *distinct == Distinct::Yes {
        return late;
    }
    let sets: Vec<bool> = targets.iter_mut().map(|target| gives_sets(&mut target.expr)).collect();
    let sets_are_late = !sets.iter().enumerate().any(|(place, set)| *set && is_key(place));
    let mut has_subquery = vec![false; targets.len()];
    for (place, target) in targets.iter_mut().enumerate().filter(|(place, _)| !is_key(*place)) {
        let subquery = |part: &Expr| matches!(part.kind, ExprKind::Subquery(_));
        late[place] = if sets[place] { sets_are_late } else { is_volatile(&mut target.expr) };
        has_subquery[place] = !sets[place] && walk::any(&mut target.expr, &subquery);
    }
    // A costly output is not computed for rows that are left out.
    if query.limit.is_some() || late.contains(&true) {
        late.iter_mut().zip(has_subquery).for_each(|(late, subquery)| *late |= subquery);
    }
    late
}

impl Binder<'_> {
    /// Computes the outputs that are not late; these become the columns that hold them. The columns
    /// that late ones need come with them.
    pub(super) fn project(&mut self, plan: Plan, targets: &mut [Target], late: &[bool]) -> Plan {
        let is_late = |place: usize| late.get(place).is_some_and(|late| *late);
        let (mut now, mut then) = (Vec::new(), Vec::new());
        for (place, target) in targets.iter_mut().enumerate() {
            if is_late(place) { then.push(target) } else { now.push(target) }
        }
        let plan =
            self.sets(plan, &mut now.iter_mut().map(|target| &mut target.expr).collect::<Vec<_>>());
        let (mut exprs, mut columns) = (Vec::new(), Vec::new());
        for target in now {
            let mut column = self.column_for(target.name.as_str(), &target.expr);
            column.origin = origin_of(&plan, &target.expr);
            let held = reference(&column, At::NONE);
            exprs.push(std::mem::replace(&mut target.expr, held));
            columns.push(column);
        }
        let mut needed = Vec::new();
        for target in then {
            walk::everywhere(&mut target.expr, &mut |part| {
                if let ExprKind::Column { index, .. } = part.kind {
                    needed.push(index);
                }
                true
            });
        }
        for column in plan.columns.iter().filter(|column| needed.contains(&column.id)) {
            exprs.push(reference(column, At::NONE));
            columns.push(column.clone());
        }
        Plan { node: Node::Project { input: Box::new(plan), exprs }, columns }
    }

    /// Computes the outputs that are late, and puts all into their places.
    pub(super) fn project_late(
        &mut self,
        plan: Plan,
        targets: &mut [Target],
        late: &[bool],
    ) -> Plan {
        if !late.contains(&true) {
            return plan;
        }
        let known = plan.columns.clone();
        let plan = self
            .sets(plan, &mut targets.iter_mut().map(|target| &mut target.expr).collect::<Vec<_>>());
        let mut columns = Vec::with_capacity(targets.len());
        for target in targets.iter() {
            let column = match target.expr.kind {
                ExprKind::Column { index, .. } => known.iter().find(|column| column.id == index),
                _ => None,
            };
            columns.push(match column {
                Some(column) if column.name == target.name => column.clone(),
                _ => self.column_for(target.name.as_str(), &target.expr),
            });
        }
        let exprs = targets.iter().map(|target| target.expr.clone()).collect();
        Plan { node: Node::Project { input: Box::new(plan), exprs }, columns }
    }

    /// Computes the functions that give sets, those in arguments of others first. They become columns of the plan.
    pub(super) fn sets(&mut self, mut plan: Plan, exprs: &mut [&mut Expr]) -> Plan {
        loop {
            let mut sets: Vec<Expr> = Vec::new();
            let mut columns: Vec<Column> = Vec::new();
            for expr in exprs.iter_mut() {
                self.innermost_sets(expr, &mut sets, &mut columns);
            }
            if sets.is_empty() {
                return plan;
            }
            let columns = plan.columns.iter().chain(&columns).cloned().collect();
            plan = Plan { node: Node::ProjectSet { input: Box::new(plan), sets }, columns };
        }
    }

    /// Takes out the calls that give sets and have none in their arguments. True if the
    /// expression had any.
    fn innermost_sets(
        &mut self,
        expr: &mut Expr,
        sets: &mut Vec<Expr>,
        columns: &mut Vec<Column>,
    ) -> bool {
        let mut inside = false;
        walk::parts(expr, &mut |part| inside |= self.innermost_sets(part, sets, columns));
        let own = matches!(&expr.kind, ExprKind::Call(call) if call.set);
        if own && !inside {
            let column = self.column_for("set", expr);
            let call = std::mem::replace(expr, reference(&column, expr.at));
            sets.push(call);
            columns.push(column);
        }
        own || inside
    }
}

/// The column of a table that an output shows unchanged.
fn origin_of(plan: &Plan, expr: &Expr) -> Option<Origin> {
    let ExprKind::Column { index, .. } = expr.kind else { return None };
    plan.columns.iter().find(|column| column.id == index)?.origin
}

/// Where an expression calls a function that gives a set.
pub(super) fn set_within(expr: &mut Expr) -> Option<At> {
    let mut found = None;
    super::walk::everywhere(expr, &mut |part| {
        if matches!(&part.kind, ExprKind::Call(call) if call.set) {
            found = found.or(Some(part.at));
        }
        found.is_none() && !matches!(part.kind, ExprKind::Subquery(_))
    });
    found
}

/// The error for a function that gives a set in `VALUES`.
pub(super) fn no_set_in_values(at: At) -> Error {
    let message = "set-returning functions are not allowed in VALUES";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at)
}
