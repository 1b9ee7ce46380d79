//! Walking over plans: to each expression of an operator, each part of an expression, each input.
//!
//! The walks name the parts once, so that passes over plans (finding the aggregates of a query,
//! placing columns) say only what they do.

use scalar::{Volatility, registry};

use crate::plan::{
    Action, Bound, Call, CteBody, Expr, ExprKind, Json, JsonSearch, Link, MergeAction, Moment,
    Node, Plan, Rest, Subscript,
};

fn call(call: &mut Call, f: &mut dyn FnMut(&mut Expr)) {
    call.args.iter_mut().for_each(f);
}

/// True if an expression or a part of it passes a test; plans of subqueries are not looked into.
pub fn any(expr: &mut Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    parts(expr, &mut |part| found = found || any(part, test));
    found
}

/// True if computing an expression twice, never or in another place could be noticed; plans of
/// subqueries are not looked into.
pub fn is_volatile(expr: &Expr) -> bool {
    any(&mut expr.clone(), &is_volatile_part)
}

/// True if a part of an expression makes it volatile.
pub(super) fn is_volatile_part(part: &Expr) -> bool {
    match &part.kind {
        ExprKind::Call(call) | ExprKind::NullIf(call) | ExprKind::AnyAll { call, .. } => {
            registry::function(call.function)
                .is_none_or(|function| function.volatility == Volatility::Volatile)
        }
        ExprKind::NextValue(_) | ExprKind::MergeAction | ExprKind::CurrentOf(_) => true,
        _ => false,
    }
}

/// Calls `f` for each part of an expression, plans of subqueries not counted.
pub fn parts(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::Column { .. }
        | ExprKind::CaseOperand
        | ExprKind::Keyword(_)
        | ExprKind::NextValue(_)
        | ExprKind::MergeAction
        | ExprKind::CurrentOf(_)
        | ExprKind::Slot(_) => {}
        ExprKind::Call(inner) | ExprKind::NullIf(inner) | ExprKind::AnyAll { call: inner, .. } => {
            call(inner, f);
        }
        ExprKind::IsDistinct { equal, .. } => call(equal, f),
        ExprKind::Not(inner)
        | ExprKind::Once { expr: inner, .. }
        | ExprKind::Cast { expr: inner, .. }
        | ExprKind::Collate { expr: inner, .. }
        | ExprKind::IsNull { expr: inner, .. }
        | ExprKind::IsBool { expr: inner, .. }
        | ExprKind::Field { expr: inner, .. } => f(inner),
        ExprKind::And(list)
        | ExprKind::Or(list)
        | ExprKind::Coalesce(list)
        | ExprKind::Greatest(list)
        | ExprKind::Least(list)
        | ExprKind::Array { elements: list, .. }
        | ExprKind::Row { fields: list, .. }
        | ExprKind::Subplan { args: list, .. }
        | ExprKind::Grouping { args: list, .. } => list.iter_mut().for_each(f),
        ExprKind::Case { operand, arms, otherwise } => {
            operand.iter_mut().for_each(|operand| f(operand));
            for (condition, result) in arms {
                f(condition);
                f(result);
            }
            f(otherwise);
        }
        ExprKind::RowCompare { pairs, .. } => pairs.iter_mut().for_each(|pair| call(pair, f)),
        ExprKind::Subscript { expr, steps } => {
            f(expr);
            subscripts(steps, f);
        }
        ExprKind::Assign { expr, steps, value } => {
            f(expr);
            subscripts(steps, f);
            f(value);
        }
        ExprKind::AssignField { expr, value, .. } => {
            f(expr);
            f(value);
        }
        ExprKind::Json(json) => match json {
            Json::Construct { args, .. } => args.iter_mut().for_each(f),
            Json::Search(search) => {
                let JsonSearch { document, path, passing, on_empty, on_error, .. } = &mut **search;
                f(document);
                f(path);
                passing.iter_mut().for_each(&mut *f);
                on_empty.iter_mut().for_each(&mut *f);
                on_error.iter_mut().for_each(f);
            }
        },
        ExprKind::Subquery(subquery) => {
            if let Link::Any(test) | Link::All(test) = &mut subquery.link {
                test.calls.iter_mut().for_each(|inner| call(inner, f));
            }
        }
        ExprKind::Aggregate(aggregate) => {
            aggregate.args.iter_mut().for_each(&mut *f);
            aggregate.direct.iter_mut().for_each(&mut *f);
            aggregate.order.iter_mut().for_each(|key| f(&mut key.expr));
            aggregate.filter.iter_mut().for_each(f);
        }
        ExprKind::Window(window) => {
            window.args.iter_mut().for_each(&mut *f);
            window.filter.iter_mut().for_each(&mut *f);
            window.partition.iter_mut().for_each(&mut *f);
            window.order.iter_mut().for_each(|key| f(&mut key.expr));
            bound(&mut window.frame.start, f);
            bound(&mut window.frame.end, f);
        }
    }
}

/// Calls `f` for the expression of an end of a frame.
pub fn bound(bound: &mut Bound, f: &mut dyn FnMut(&mut Expr)) {
    if let Bound::Preceding(offset) | Bound::Following(offset) = bound {
        f(offset);
    }
}

fn subscripts(steps: &mut [Subscript], f: &mut dyn FnMut(&mut Expr)) {
    for step in steps {
        match step {
            Subscript::Index(index) => f(index),
            Subscript::Slice(low, high) => {
                low.iter_mut().for_each(&mut *f);
                high.iter_mut().for_each(&mut *f);
            }
        }
    }
}

/// The row that an expression of an operator sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExprScope {
    /// None.
    Nothing,
    /// That of the input; for a join, those of both sides.
    Input,
    /// Of [`Node::Aggregate`]: the keys of the group.
    Keys,
    /// Of [`Node::Modify`]: the table's row, then the input's.
    Returning,
    /// Of [`Node::Modify`]: the table's row.
    Row,
    /// Of [`Node::Modify`]: the row that is there, then the one that was to be inserted.
    Conflict,
}

/// Calls `f` for each expression of an operator, and tells which row it sees.
pub fn exprs(node: &mut Node, f: &mut dyn FnMut(&mut Expr, ExprScope)) {
    match node {
        Node::Values(rows) => {
            rows.iter_mut().flatten().for_each(|expr| f(expr, ExprScope::Nothing));
        }
        Node::Scan(scan) => {
            match &mut scan.moment {
                Moment::Now | Moment::All | Moment::Ever => {}
                Moment::AsOf(at) | Moment::AtVersion(at) => f(at, ExprScope::Nothing),
                Moment::FromTo(from, to)
                | Moment::Between(from, to)
                | Moment::ContainedIn(from, to) => {
                    f(from, ExprScope::Nothing);
                    f(to, ExprScope::Nothing);
                }
            }
            if let Some(sample) = &mut scan.sample {
                f(&mut sample.percent, ExprScope::Nothing);
                sample.seed.iter_mut().for_each(|seed| f(seed, ExprScope::Nothing));
            }
        }
        Node::FunctionScan { functions, .. } => {
            functions.iter_mut().for_each(|(expr, _)| f(expr, ExprScope::Nothing));
        }
        Node::Filter { condition, .. } => f(condition, ExprScope::Input),
        Node::Project { exprs: list, .. } | Node::ProjectSet { sets: list, .. } => {
            list.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
        }
        Node::Join { condition, .. } => {
            condition.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
        }
        Node::Aggregate(aggregate) => {
            aggregate.keys.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
            for call in &mut aggregate.calls {
                call.args.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                call.direct.iter_mut().for_each(|expr| f(expr, ExprScope::Keys));
                call.order.iter_mut().for_each(|key| f(&mut key.expr, ExprScope::Input));
                call.filter.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
            }
        }
        Node::Window { calls, .. } => {
            for call in calls {
                call.args.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                call.filter.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                call.partition.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                call.order.iter_mut().for_each(|key| f(&mut key.expr, ExprScope::Input));
                bound(&mut call.frame.start, &mut |expr| f(expr, ExprScope::Nothing));
                bound(&mut call.frame.end, &mut |expr| f(expr, ExprScope::Nothing));
            }
        }
        Node::DistinctOn { keys, .. } | Node::Sort { keys, .. } => {
            keys.iter_mut().for_each(|key| f(&mut key.expr, ExprScope::Input));
        }
        Node::Limit { limit, offset, ties, .. } => {
            limit.iter_mut().for_each(|expr| f(expr, ExprScope::Nothing));
            offset.iter_mut().for_each(|expr| f(expr, ExprScope::Nothing));
            ties.iter_mut().flatten().for_each(|key| f(&mut key.expr, ExprScope::Input));
        }
        Node::Modify(modify) => {
            action(&mut modify.action, f);
            modify.row_checks.iter_mut().for_each(|check| f(&mut check.expr, ExprScope::Row));
            modify.returning.iter_mut().flatten().for_each(|expr| f(expr, ExprScope::Returning));
            modify.rest.iter_mut().for_each(|left| rest(left, f));
        }
        Node::Distinct(_)
        | Node::Barrier(_)
        | Node::SetOperation { .. }
        | Node::With { .. }
        | Node::CteScan { .. }
        | Node::WorkTable { .. }
        | Node::LockRows { .. } => {}
    }
}

/// Calls `f` for each expression of what a change leaves of rows, and tells which row it sees.
pub fn rest(rest: &mut Rest, f: &mut dyn FnMut(&mut Expr, ExprScope)) {
    f(&mut rest.left, ExprScope::Input);
    rest.generated.iter_mut().for_each(|(_, expr)| f(expr, ExprScope::Row));
}

/// Calls `f` for each expression of a change of rows, and tells which row it sees.
pub fn action(action: &mut Action, f: &mut dyn FnMut(&mut Expr, ExprScope)) {
    match action {
        Action::Delete | Action::Erase => {}
        Action::Insert { generated, conflict } => {
            generated.iter_mut().for_each(|(_, expr)| f(expr, ExprScope::Row));
            let Some(conflict) = conflict else { return };
            let at_start =
                conflict.arbiters.iter_mut().flat_map(|known| &mut known.start_conditions);
            at_start.for_each(|expr| f(expr, ExprScope::Nothing));
            if let Some(update) = &mut conflict.update {
                update.set.iter_mut().for_each(|(_, expr)| f(expr, ExprScope::Conflict));
                update.filter.iter_mut().for_each(|expr| f(expr, ExprScope::Conflict));
            }
        }
        Action::Update { set, generated } => {
            set.iter_mut().for_each(|(_, expr)| f(expr, ExprScope::Input));
            generated.iter_mut().for_each(|(_, expr)| f(expr, ExprScope::Row));
        }
        Action::Merge { clauses, generated, .. } => {
            for clause in clauses {
                clause.filter.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                match &mut clause.action {
                    MergeAction::Nothing | MergeAction::Delete => {}
                    MergeAction::Update(set) => {
                        set.iter_mut().for_each(|(_, expr)| f(expr, ExprScope::Input));
                    }
                    MergeAction::Insert(row) => {
                        row.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                    }
                }
            }
            generated.iter_mut().for_each(|(_, expr)| f(expr, ExprScope::Row));
        }
    }
}

/// Calls `f` for each input of an operator, from left to right.
pub fn inputs(node: &mut Node, f: &mut dyn FnMut(&mut Plan)) {
    match node {
        Node::Values(_)
        | Node::Scan(_)
        | Node::FunctionScan { .. }
        | Node::CteScan { .. }
        | Node::WorkTable { .. } => {}
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::ProjectSet { input, .. }
        | Node::Window { input, .. }
        | Node::Distinct(input)
        | Node::Barrier(input)
        | Node::DistinctOn { input, .. }
        | Node::Sort { input, .. }
        | Node::Limit { input, .. }
        | Node::LockRows { input, .. } => f(input),
        Node::Aggregate(aggregate) => f(&mut aggregate.input),
        Node::Join { left, right, .. } | Node::SetOperation { left, right, .. } => {
            f(left);
            f(right);
        }
        Node::With { tables, input } => {
            for table in tables {
                match &mut table.body {
                    CteBody::Plan(plan) => f(plan),
                    CteBody::Recursive { start, step, .. } => {
                        f(start);
                        f(step);
                    }
                }
            }
            f(input);
        }
        Node::Modify(modify) => f(&mut modify.input),
    }
}

/// Calls `f` for each expression in a plan and in the plans below it, but not for their parts.
pub fn all_exprs(plan: &mut Plan, f: &mut dyn FnMut(&mut Expr)) {
    exprs(&mut plan.node, &mut |expr, _| f(expr));
    inputs(&mut plan.node, &mut |input| all_exprs(input, f));
}

/// Calls `f` for an expression and each part of it, plans of subqueries included, from the outside
/// in; parts of those for which `f` is false are left out.
pub fn everywhere(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr) -> bool) {
    if !f(expr) {
        return;
    }
    parts(expr, &mut |part| everywhere(part, f));
    if let ExprKind::Subquery(subquery) = &mut expr.kind {
        all_exprs(&mut subquery.plan, &mut |inner| everywhere(inner, f));
    }
}
