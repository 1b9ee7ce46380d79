//! A scalar subquery that picks its rows by equality is computed for all values at once.
//!
//! ```text
//!   Subplan 0(@0) scalar                      grouped [#0 = @0]
//!     Project [#0 * 0.2]                        Project [#0, #1 * 0.2]
//!       Aggregate [avg(#1)]             ──>       Aggregate by [#2] [avg(#1)]
//!         Scan item where #0 = @0                   Project [#0, #1, #0]
//!                                                     Scan item
//!                                             empty
//!                                               Project [#0 * 0.2]
//!                                                 Aggregate [avg(#1)]
//!                                                   no rows
//! ```
//!
//! Where the executor knows many values that will be asked for, it computes only these: a semi join with a work table
//! that has them leaves out the other rows before they are grouped.
//!
//! Whether that is cheaper is seen while the statement runs ([`crate::op::grouped`]): the subquery as it
//! was written stays, and what it has cost is compared with what all values cost.
//!
//! Not where the subquery could be noticed to be computed more or less often, and not where it reads a
//! table that the statement changes.

use std::collections::BTreeSet;

use sql::plan::{Expr, ExprKind};
use types::{Type, TypeSource};

use super::expr::{comparison, has_subplan, move_columns, sees_nothing};
use super::lift::{Lifted, column, columns_of, filter, lift, node_reads, reads};
use crate::lower::is_hashed;
use crate::schema::Schema;
use crate::tree::{Aggregate, Grouped, Join, JoinKind, Kind, Link, Node, Plan, Subplan, each_part};

/// Rows that are read at least before it is thought of all values.
const COST_MIN: u64 = 256;
/// Rows that something has of which nothing is known.
const ROWS_UNKNOWN: u64 = 1_000;

/// Adds to the subqueries of a plan how they are computed for all values at once.
pub(super) fn grouped(plan: &mut Plan, types: &dyn TypeSource, schema: &dyn Schema) {
    let changed = plan.tables_held().0;
    // A subquery within another has the greater number: what is known of it is known first.
    for number in (0..plan.subplans.len()).rev() {
        let subplan = &plan.subplans[number];
        let mut is_changed = has_not_kept(plan, subplan);
        let mut cost = 0;
        subplan.node.clone().each(&mut |node| match &node.kind {
            Kind::Scan(scan) => {
                is_changed |= changed.contains(&scan.relation);
                cost += schema.table(scan.relation).map_or(ROWS_UNKNOWN, |facts| facts.rows);
            }
            Kind::Functions { .. } | Kind::CteScan { .. } => cost += ROWS_UNKNOWN,
            // A table has one state, and rows that are changed or locked are so once.
            Kind::With { .. }
            | Kind::WorkTable { .. }
            | Kind::Modify(_)
            | Kind::LockRows { .. } => is_changed = true,
            _ => {}
        });
        let is_kept = !is_changed && !plan.is_node_volatile(&subplan.node);
        plan.subplans[number].is_kept = is_kept;
        let subplan = &plan.subplans[number];
        if !is_kept || !matches!(subplan.link, Link::Scalar) || subplan.args.is_empty() {
            continue;
        }
        let own: BTreeSet<u32> = subplan.args.iter().copied().collect();
        let builder = GroupedBuilder { plan, own: &own, types, work_table: None };
        let Some((node, empty, asked)) = builder.subquery(&subplan.node) else { continue };
        let table = plan.tables;
        let some = GroupedBuilder { work_table: Some(table), ..builder }.subquery(&subplan.node);
        let some = some.map(|(node, ..)| (node, table));
        plan.tables += u32::from(some.is_some());
        let cost_rows = cost.max(COST_MIN);
        plan.subplans[number].grouped =
            Some(Box::new(Grouped { node, empty, some, asked, cost_rows }));
    }
}

/// Leaves subqueries alone that find their rows by an index, when it is known how scans find theirs: to look at many
/// rows first for what they will ask costs more than such a subquery, if few rows are wanted in the end.
pub(super) fn only_whole_reads(plan: &mut Plan) {
    for subplan in &mut plan.subplans {
        let Some(grouped) = &mut subplan.grouped else { continue };
        let mut reads_all = true;
        subplan.node.each(&mut |node| {
            if let Kind::Scan(scan) = &node.kind {
                reads_all &= scan.path.is_full();
            }
        });
        grouped.some.take_if(|_| !reads_all);
    }
}

/// True if a subquery within is not kept: what it is part of is not either.
fn has_not_kept(plan: &Plan, subplan: &Subplan) -> bool {
    let mut found = false;
    let mut look = |expr: &mut Expr| {
        each_part(expr, &mut |part| {
            if let ExprKind::Subplan { number, .. } = part.kind {
                found |= !plan.subplans[number as usize].is_kept;
            }
            true
        });
    };
    subplan.node.clone().all_exprs(&mut look);
    subplan.link.clone().exprs(&mut look);
    found
}

/// Makes the grouped form of a subquery.
#[derive(Clone, Copy)]
struct GroupedBuilder<'a> {
    plan: &'a Plan,
    own: &'a BTreeSet<u32>,
    types: &'a dyn TypeSource,
    /// The work table with the keys that are wanted; none if all are.
    work_table: Option<u32>,
}

/// The rows whose keys, which are their last columns, are a row of a work table. None if the keys have another type
/// than what they are compared with.
fn with_keys_of(table: u32, node: Node, keys: &Keys) -> Option<Node> {
    if keys.iter().any(|(key, asked)| key.ty != asked.ty) {
        return None;
    }
    let first = node.width() - keys.len();
    let pair =
        |(at, (key, _)): (usize, &(Expr, Expr))| (column(first + at, key.ty), column(at, key.ty));
    let pairs = keys.iter().enumerate().map(pair).collect();
    let columns = (0..keys.len()).map(|at| format!("key{at}")).collect();
    let kind = Kind::WorkTable { table, name: "asked".to_owned(), columns };
    let right = Node { kind, types: keys.iter().map(|(key, _)| key.ty).collect() };
    let types = node.types.clone();
    let join = Join {
        kind: JoinKind::Semi,
        left: node,
        right,
        keys: pairs,
        build_left: false,
        condition: None,
        lateral: None,
        in_batches: false,
    };
    Some(Node { kind: Kind::Join(Box::new(join)), types })
}

/// The keys of the rows, and what each of them is equal to.
type Keys = Vec<(Expr, Expr)>;

impl GroupedBuilder<'_> {
    /// The rows of keys and value, the subquery over no rows, and the values that are asked for.
    fn subquery(&self, node: &Node) -> Option<(Node, Option<Node>, Vec<Expr>)> {
        let (made, empty, keys) = match self.aggregated(node) {
            Some((made, empty, keys)) => (made, Some(empty), keys),
            None => {
                let (made, keys) = self.picked(node)?;
                (made, None, keys)
            }
        };
        let is_free = !node_reads(self.plan, &made, self.own)
            && empty.as_ref().is_none_or(|empty| !node_reads(self.plan, empty, self.own));
        is_free.then(|| (made, empty, keys.into_iter().map(|(_, asked)| asked).collect()))
    }

    /// Projections over an aggregate without keys: the same with keys in front, and over no rows.
    fn aggregated(&self, node: &Node) -> Option<(Node, Node, Keys)> {
        match &node.kind {
            Kind::Project { input, exprs } => {
                let (below, empty, keys) = self.aggregated(input)?;
                let mut all = columns_of(&below);
                all.truncate(keys.len());
                all.extend(exprs.iter().map(|expr| {
                    let mut expr = expr.clone();
                    move_columns(&mut expr, &|column| column + keys.len());
                    expr
                }));
                let types = all.iter().map(|expr| expr.ty).collect();
                let made =
                    Node { kind: Kind::Project { input: Box::new(below), exprs: all }, types };
                let kind = Kind::Project { input: Box::new(empty), exprs: exprs.clone() };
                Some((made, Node { kind, types: node.types.clone() }, keys))
            }
            Kind::Aggregate(aggregate) => {
                let is_whole = aggregate.keys.is_empty()
                    && aggregate.sets == [Vec::<usize>::new()]
                    && aggregate.masks.is_empty();
                if !is_whole {
                    return None;
                }
                let (input, keys) = self.keyed(&aggregate.input)?;
                let width = aggregate.input.width();
                let of_key = |(at, (key, _)): (usize, &(Expr, Expr))| column(width + at, key.ty);
                let of_keys: Vec<Expr> = keys.iter().enumerate().map(of_key).collect();
                let types = of_keys.iter().map(|key| key.ty).chain(node.types.iter().copied());
                let made = Node {
                    types: types.collect(),
                    kind: Kind::Aggregate(Box::new(Aggregate {
                        input,
                        sets: vec![(0..of_keys.len()).collect()],
                        keys: of_keys,
                        calls: aggregate.calls.clone(),
                        masks: Vec::new(),
                        batches: None,
                    })),
                };
                let types = aggregate.input.types.clone();
                let mut empty = aggregate.clone();
                empty.input = Node { kind: Kind::Values(Vec::new()), types };
                let empty = Node { kind: Kind::Aggregate(empty), types: node.types.clone() };
                Some((made, empty, keys))
            }
            _ => None,
        }
    }

    /// Rows that are given as they are picked, with the keys in front.
    fn picked(&self, node: &Node) -> Option<(Node, Keys)> {
        let (input, keys) = self.keyed(node)?;
        let width = node.width();
        let of_keys = keys.iter().enumerate().map(|(at, (key, _))| column(width + at, key.ty));
        let exprs: Vec<Expr> = of_keys.chain(columns_of(node)).collect();
        let types = exprs.iter().map(|expr| expr.ty).collect();
        Some((Node { kind: Kind::Project { input: Box::new(input), exprs }, types }, keys))
    }

    /// The rows for all values, with the keys behind their columns.
    fn keyed(&self, node: &Node) -> Option<(Node, Keys)> {
        let Lifted { mut node, mut exprs, conditions } = lift(self.plan, node, self.own)?;
        let (mut keys, mut rest) = (Keys::new(), Vec::new());
        for condition in conditions {
            match self.key_of(&condition) {
                Some(key) => keys.push(key),
                None => rest.push(condition),
            }
        }
        if keys.is_empty() {
            return None;
        }
        // The equal column can replace a slot, where equal values are alike.
        for expr in exprs.iter_mut().chain(&mut rest) {
            self.put_keys(expr, &keys);
        }
        if exprs.iter().chain(&rest).any(|expr| reads(self.plan, expr, self.own)) {
            return None;
        }
        rest.into_iter().for_each(|condition| filter(&mut node, condition));
        exprs.extend(keys.iter().map(|(key, _)| key.clone()));
        let types: Vec<Type> = exprs.iter().map(|expr| expr.ty).collect();
        let node = Node { kind: Kind::Project { input: Box::new(node), exprs }, types };
        match self.work_table {
            Some(table) => Some((with_keys_of(table, node, &keys)?, keys)),
            None => Some((node, keys)),
        }
    }

    /// The sides of an equality of something of the row and something further out.
    fn key_of(&self, condition: &Expr) -> Option<(Expr, Expr)> {
        let (symbol, one, other) = comparison(condition)?;
        if symbol != "=" || has_subplan(condition) {
            return None;
        }
        let is_asked = |expr: &Expr| sees_nothing(expr) && reads(self.plan, expr, self.own);
        let (key, asked) = match (is_asked(one), is_asked(other)) {
            (false, true) => (one, other),
            (true, false) => (other, one),
            _ => return None,
        };
        let fits = !reads(self.plan, key, self.own) && is_hashed(key.ty, asked.ty, self.types);
        fits.then(|| (key.clone(), asked.clone()))
    }

    fn put_keys(&self, expr: &mut Expr, keys: &Keys) {
        each_part(expr, &mut |part| {
            let ExprKind::Slot(slot) = part.kind else { return true };
            let same = keys.iter().find(|(key, asked)| {
                matches!(asked.kind, ExprKind::Slot(of) if of == slot)
                    && key.ty == asked.ty
                    && self.types.repr_of(key.ty).is_ok_and(types::key::is_reversible)
            });
            if let Some((key, _)) = same {
                *part = key.clone();
            }
            false
        });
    }
}
