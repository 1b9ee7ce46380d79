//! Walking over plans: to each expression of an operator, to each part of an expression.

use std::collections::BTreeSet;

use scalar::{Eval, registry};
use sql::bind::walk;
pub use sql::bind::walk::is_volatile;
use sql::plan::{AggregateCall, Expr, ExprKind, Moment, SortKey};
use types::{Datum, Oid, Type};

use super::{Equal, JoinKind, Kind, Link, Node, Path, Plan, Scan};

/// The row that an expression of an operator sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExprScope {
    /// None.
    Nothing,
    /// That of the input; for a join, those of both sides; for a scan, that of the table.
    Input,
    /// The keys of a group.
    Keys,
    /// That of the left side of a join.
    Left,
    /// That of the right side of a join.
    Right,
    /// A row of the table that is changed, and what stands beside it.
    Changed,
}

impl From<walk::ExprScope> for ExprScope {
    fn from(scope: walk::ExprScope) -> Self {
        match scope {
            walk::ExprScope::Nothing => ExprScope::Nothing,
            walk::ExprScope::Input => ExprScope::Input,
            walk::ExprScope::Keys => ExprScope::Keys,
            walk::ExprScope::Returning | walk::ExprScope::Row | walk::ExprScope::Conflict => {
                ExprScope::Changed
            }
        }
    }
}

impl Node {
    /// Calls `f` for each expression of the operator, and tells which row it sees.
    pub fn exprs(&mut self, f: &mut dyn FnMut(&mut Expr, ExprScope)) {
        match &mut self.kind {
            Kind::Values(rows) => {
                rows.iter_mut().flatten().for_each(|expr| f(expr, ExprScope::Nothing));
            }
            Kind::Scan(of) => scan(of, f),
            Kind::Append(append) => {
                scan(&mut append.scan, f);
                append.levels.iter_mut().for_each(|level| path(&mut level.path, f));
            }
            Kind::Functions { functions, .. } => {
                functions.iter_mut().for_each(|(expr, _)| f(expr, ExprScope::Nothing));
            }
            Kind::Filter { condition, .. } => f(condition, ExprScope::Input),
            Kind::Project { exprs: list, .. } | Kind::ProjectSet { sets: list, .. } => {
                list.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
            }
            Kind::Join(join) => {
                for (left, right) in &mut join.keys {
                    f(left, ExprScope::Left);
                    f(right, ExprScope::Right);
                }
                join.condition.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                join.lateral.iter_mut().flatten().for_each(|(expr, _)| f(expr, ExprScope::Left));
            }
            Kind::Aggregate(aggregate) => {
                aggregate.keys.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                for call in &mut aggregate.calls {
                    call.args.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                    call.direct.iter_mut().for_each(|expr| f(expr, ExprScope::Keys));
                    keys(&mut call.order, f);
                    call.filter.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                }
            }
            Kind::Window { calls, .. } => {
                for call in calls {
                    call.args.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                    call.filter.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                    call.partition.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
                    keys(&mut call.order, f);
                    walk::bound(&mut call.frame.start, &mut |expr| f(expr, ExprScope::Nothing));
                    walk::bound(&mut call.frame.end, &mut |expr| f(expr, ExprScope::Nothing));
                }
            }
            Kind::DistinctOn { keys: list, .. } | Kind::Sort { keys: list, .. } => keys(list, f),
            Kind::Limit { limit, offset, ties, .. } => {
                limit.iter_mut().for_each(|expr| f(expr, ExprScope::Nothing));
                offset.iter_mut().for_each(|expr| f(expr, ExprScope::Nothing));
                ties.iter_mut().for_each(|list| keys(list, f));
            }
            Kind::Modify(modify) => {
                walk::action(&mut modify.action, &mut |expr, scope| f(expr, scope.into()));
                modify.returning.iter_mut().flatten().for_each(|expr| f(expr, ExprScope::Changed));
                modify.checks.iter_mut().for_each(|check| f(&mut check.expr, ExprScope::Changed));
                let rest = modify.rest.iter_mut();
                rest.for_each(|rest| walk::rest(rest, &mut |expr, scope| f(expr, scope.into())));
            }
            Kind::Distinct(_)
            | Kind::Barrier(_)
            | Kind::SetOperation { .. }
            | Kind::With { .. }
            | Kind::CteScan { .. }
            | Kind::Given
            | Kind::WorkTable { .. }
            | Kind::LockRows { .. } => {}
        }
    }

    /// Calls `f` for each expression of the operator and of those below it, but not for those of
    /// subplans.
    pub fn all_exprs(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.exprs(&mut |expr, _| f(expr));
        self.inputs(&mut |input| input.all_exprs(f));
    }

    /// Calls `f` for the operator and each below it, from the top.
    pub fn each(&mut self, f: &mut dyn FnMut(&mut Node)) {
        f(self);
        self.inputs(&mut |input| input.each(f));
    }
}

impl Node {
    /// True if no row of the scan that the rows come from comes twice.
    pub fn gives_each_once(&self) -> bool {
        match &self.kind {
            Kind::Scan(_) | Kind::Append(_) => true,
            Kind::Project { input, .. }
            | Kind::Filter { input, .. }
            | Kind::Barrier(input)
            | Kind::Sort { input, .. }
            | Kind::Limit { input, .. } => input.gives_each_once(),
            Kind::Join(join) => {
                matches!(join.kind, JoinKind::Semi | JoinKind::Anti) && join.left.gives_each_once()
            }
            _ => false,
        }
    }
}

impl Link {
    /// Calls `f` for each expression of the test.
    pub fn exprs(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        if let Link::Any(test) | Link::All(test) = self {
            test.left.iter_mut().for_each(|(expr, _)| f(expr));
            f(&mut test.condition);
            test.keys.iter_mut().flatten().for_each(f);
        }
    }
}

fn scan(scan: &mut Scan, f: &mut dyn FnMut(&mut Expr, ExprScope)) {
    match &mut scan.moment {
        Moment::Now | Moment::All | Moment::Ever => {}
        Moment::AsOf(at) | Moment::AtVersion(at) => f(at, ExprScope::Nothing),
        Moment::FromTo(from, to) | Moment::Between(from, to) | Moment::ContainedIn(from, to) => {
            f(from, ExprScope::Nothing);
            f(to, ExprScope::Nothing);
        }
    }
    if let Some(sample) = &mut scan.sample {
        f(&mut sample.percent, ExprScope::Nothing);
        sample.seed.iter_mut().for_each(|seed| f(seed, ExprScope::Nothing));
    }
    path(&mut scan.path, f);
    if let Some(conditional) = &mut scan.conditional {
        conditional.start_conditions.iter_mut().for_each(|expr| f(expr, ExprScope::Nothing));
        path(&mut conditional.path, f);
    }
    scan.sure.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
    scan.condition.iter_mut().for_each(|expr| f(expr, ExprScope::Input));
}

fn keys(keys: &mut [SortKey], f: &mut dyn FnMut(&mut Expr, ExprScope)) {
    keys.iter_mut().for_each(|key| f(&mut key.expr, ExprScope::Input));
}

fn path(path: &mut Path, f: &mut dyn FnMut(&mut Expr, ExprScope)) {
    for equal in &mut path.equal {
        match equal {
            Equal::One(expr) | Equal::AnyOf(expr) => f(expr, ExprScope::Nothing),
            Equal::Null => {}
        }
    }
    path.low.iter_mut().for_each(|end| f(&mut end.value, ExprScope::Nothing));
    path.high.iter_mut().for_each(|end| f(&mut end.value, ExprScope::Nothing));
    path.scan_keys.iter_mut().for_each(|asked| f(&mut asked.value, ExprScope::Nothing));
}

/// Calls `f` for an expression and each part of it, from the outside in; parts of those for which
/// `f` is false are left out.
pub fn each_part(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr) -> bool) {
    if f(expr) {
        walk::parts(expr, &mut |part| each_part(part, f));
    }
}

/// True if a function is called that the server computes.
fn calls_server(expr: &Expr) -> bool {
    let mut found = false;
    each_part(&mut expr.clone(), &mut |part| {
        if let ExprKind::Call(call) = &part.kind {
            found |= registry::function(call.function)
                .is_none_or(|function| matches!(function.eval, Eval::Server));
        }
        !found
    });
    found
}

/// True if an aggregate keeps values of any length.
fn keeps(call: &AggregateCall) -> bool {
    let types: Vec<Type> =
        call.direct.iter().chain(&call.args).map(|argument| argument.ty).collect();
    match registry::function(call.function).map(|function| function.eval) {
        Some(Eval::Aggregate(kernel)) => (kernel.start)(&types).keeps(),
        _ => true,
    }
}

impl Plan {
    /// Calls `f` for each operator, those of subplans included.
    pub fn each(&mut self, f: &mut dyn FnMut(&mut Node)) {
        self.root.each(f);
        self.subplans.iter_mut().for_each(|subplan| subplan.node.each(f));
    }

    /// True if rows that are read are locked.
    pub fn locks_rows(&mut self) -> bool {
        let mut locks = false;
        self.each(&mut |node| locks |= matches!(node.kind, Kind::LockRows { .. }));
        locks
    }

    /// True if a function is called that the server computes, in subplans as well.
    pub fn calls_server(&mut self) -> bool {
        let mut calls = false;
        let mut look = |expr: &mut Expr| calls = calls || calls_server(expr);
        self.root.all_exprs(&mut look);
        for subplan in &mut self.subplans {
            subplan.node.all_exprs(&mut look);
            subplan.link.exprs(&mut look);
        }
        calls
    }

    /// True if an expression names a parameter.
    pub fn has_params(&mut self) -> bool {
        let mut has = false;
        self.each(&mut |node| {
            node.exprs(&mut |expr, _| {
                each_part(expr, &mut |part| {
                    has |= matches!(part.kind, ExprKind::Param(_));
                    !has
                });
            });
        });
        has
    }

    /// Puts values in the place of the parameters that they are of, from the first one on.
    pub fn set_params(&mut self, values: &[Datum]) {
        if values.is_empty() {
            return;
        }
        let mut set = |expr: &mut Expr| {
            each_part(expr, &mut |part| {
                if let ExprKind::Param(index) = part.kind
                    && let Some(value) = values.get(index)
                {
                    part.kind = ExprKind::Const(value.clone());
                }
                true
            });
        };
        self.root.all_exprs(&mut set);
        for subplan in &mut self.subplans {
            subplan.node.all_exprs(&mut set);
            subplan.link.exprs(&mut set);
        }
    }

    /// True if an operator holds rows of those below it, or several threads may compute it.
    pub fn holds_rows(&mut self) -> bool {
        let mut holds = !self.subplans.is_empty();
        self.each(&mut |node| {
            holds |= match &node.kind {
                Kind::Join(join) => join.lateral.is_none(),
                Kind::Aggregate(aggregate) => {
                    let holds = |call: &AggregateCall| {
                        call.distinct || !call.order.is_empty() || keeps(call)
                    };
                    let is_in_batches = aggregate.batches.is_some();
                    is_in_batches || !aggregate.keys.is_empty() || aggregate.calls.iter().any(holds)
                }
                Kind::Window { .. }
                | Kind::Distinct(_)
                | Kind::Sort { .. }
                | Kind::SetOperation { .. }
                | Kind::With { .. } => true,
                Kind::Modify(modify) => {
                    let mut is_many = false;
                    modify.input.clone().each(&mut |node| {
                        is_many |= matches!(&node.kind, Kind::Scan(scan) if !scan.path.is_single);
                    });
                    is_many
                }
                _ => false,
            };
        });
        holds
    }

    /// How many operators change rows.
    pub fn changes(&mut self) -> usize {
        let mut changes = 0;
        self.each(&mut |node| changes += usize::from(matches!(node.kind, Kind::Modify(_))));
        changes
    }

    /// The tables whose rows are changed; and where rows are locked, the tables that are read.
    pub fn tables_held(&mut self) -> (BTreeSet<Oid>, BTreeSet<Oid>) {
        let (mut changed, mut read) = (BTreeSet::new(), BTreeSet::new());
        self.each(&mut |node| match &node.kind {
            Kind::Modify(modify) => {
                changed.insert(modify.relation);
            }
            Kind::Scan(scan) if !scan.computed => drop(read.insert(scan.relation)),
            Kind::Append(append) => drop(read.insert(append.scan.relation)),
            _ => {}
        });
        (changed, if self.locks_rows() { read } else { BTreeSet::new() })
    }

    /// True if an operator or one below it calls what [`is_volatile`] says of, in subplans as well.
    pub fn is_node_volatile(&self, node: &Node) -> bool {
        let mut found = false;
        node.clone().all_exprs(&mut |expr| found = found || self.is_expr_volatile(expr));
        found
    }

    fn is_expr_volatile(&self, expr: &Expr) -> bool {
        let mut found = is_volatile(expr);
        each_part(&mut expr.clone(), &mut |part| {
            if let ExprKind::Subplan { number, .. } = part.kind {
                found = found || self.is_node_volatile(&self.subplans[number as usize].node);
            }
            !found
        });
        found
    }

    /// True if an expression uses a subplan.
    pub fn uses_subplan(&self, number: u32) -> bool {
        let mut used = false;
        let mut look = |expr: &mut Expr| {
            each_part(expr, &mut |part| {
                used |= matches!(part.kind, ExprKind::Subplan { number: of, .. } if of == number);
                !used
            });
        };
        let mut plan = self.clone();
        plan.root.all_exprs(&mut look);
        for subplan in &mut plan.subplans {
            subplan.node.all_exprs(&mut look);
            subplan.link.exprs(&mut look);
        }
        used
    }
}
