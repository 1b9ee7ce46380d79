//! The last pass: columns get their places.
//!
//! While it binds, the binder gives every column a number of its own and refers to it by that, so
//! that an expression means the same wherever it is moved. At the end each reference is looked up
//! in the row that its expression sees, and, where it is not there, in the rows around.

use super::walk::{self, ExprScope};
use crate::plan::{Action, Column, Expr, ExprKind, Node, Plan};

/// The value of `levels_up` in a reference that has no place yet: `index` is the number of the
/// column.
pub const UNPLACED: u32 = u32::MAX;

/// Gives all columns of a plan their places.
pub fn plan(plan: &mut Plan) {
    Placer { around: Vec::new() }.plan(plan);
}

/// Gives the columns of an expression over `row` their places.
pub fn expr(expr: &mut Expr, row: &[Column]) {
    Placer { around: Vec::new() }.expr(expr, &ids(row));
}

fn ids(columns: &[Column]) -> Vec<u32> {
    columns.iter().map(|column| column.id).collect()
}

/// The row that the expressions of an operator see.
fn input_row(node: &mut Node) -> Vec<u32> {
    let mut row = Vec::new();
    walk::inputs(node, &mut |input| row.extend(ids(&input.columns)));
    row
}

struct Placer {
    /// The rows around, the innermost last.
    around: Vec<Vec<u32>>,
}

impl Placer {
    fn plan(&mut self, plan: &mut Plan) {
        if let Node::Join { left, right, lateral: true, .. } = &mut plan.node {
            self.plan(left);
            self.around.push(ids(&left.columns));
            self.plan(right);
            self.around.pop();
        } else {
            walk::inputs(&mut plan.node, &mut |input| self.plan(input));
        }
        let (mut table, mut pair, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        if let Node::Aggregate(aggregate) = &plan.node {
            keys = ids(&plan.columns[..aggregate.keys.len()]);
        }
        if let Node::Modify(modify) = &plan.node {
            table = ids(&modify.row);
            if let Action::Insert { conflict: Some(conflict), .. } = &modify.action
                && let Some(update) = &conflict.update
            {
                pair = ids(&update.row);
            }
        }
        let input = match &mut plan.node {
            Node::With { .. } | Node::SetOperation { .. } => Vec::new(),
            node => input_row(node),
        };
        let returning: Vec<u32> = table.iter().chain(&input).copied().collect();
        walk::exprs(&mut plan.node, &mut |expr, scope| {
            let row = match scope {
                ExprScope::Nothing => &[][..],
                ExprScope::Input => &input,
                ExprScope::Keys => &keys,
                ExprScope::Returning => &returning,
                ExprScope::Row => &table,
                ExprScope::Conflict => &pair,
            };
            self.expr(expr, row);
        });
    }

    fn expr(&mut self, expr: &mut Expr, row: &[u32]) {
        while let ExprKind::Collate { expr: inner, .. } = &mut expr.kind {
            *expr = std::mem::replace(inner, Expr::bool(true));
        }
        match &mut expr.kind {
            ExprKind::Column { levels_up, index } if *levels_up == UNPLACED => {
                (*levels_up, *index) = self.place(*index, row);
            }
            ExprKind::Subquery(subquery) => {
                self.around.push(row.to_vec());
                self.plan(&mut subquery.plan);
                let inner = ids(&subquery.plan.columns);
                walk::parts(expr, &mut |part| self.expr(part, &inner));
                self.around.pop();
            }
            _ => walk::parts(expr, &mut |part| self.expr(part, row)),
        }
    }

    fn place(&self, id: u32, row: &[u32]) -> (u32, u32) {
        let rows = std::iter::once(row).chain(self.around.iter().rev().map(Vec::as_slice));
        for (levels_up, row) in (0..).zip(rows) {
            if let Some(index) = row.iter().position(|column| *column == id) {
                return (levels_up, u32::try_from(index).expect("a row has fewer columns"));
            }
        }
        unreachable!("the binder refers only to columns that are in sight: {id} is not")
    }
}
