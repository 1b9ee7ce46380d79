//! The outer values that operators and expressions read: values of outer rows, in slots, and the
//! rows of tables of `WITH`.

use std::collections::BTreeSet;

use sql::plan::{Expr, ExprKind};

use super::{Kind, Link, Node, Plan, each_part};

/// The values that are read from outside.
#[derive(Clone, Default, Debug)]
pub struct Reads {
    /// The slots.
    pub slots: BTreeSet<u32>,
    /// The tables of `WITH`, by number, and the work tables, by number behind all of these.
    pub sources: BTreeSet<u32>,
}

impl Reads {
    /// Adds what an expression reads, its subplans included.
    pub fn add_expr(&mut self, plan: &Plan, expr: &Expr) {
        each_part(&mut expr.clone(), &mut |part| {
            match &part.kind {
                ExprKind::Slot(slot) => drop(self.slots.insert(*slot)),
                ExprKind::Subplan { number, .. } => self.add_subplan(plan, *number),
                _ => {}
            }
            true
        });
    }

    /// Adds what a subplan reads and does not fill itself, its arguments left out.
    pub fn add_subplan(&mut self, plan: &Plan, number: u32) {
        let subplan = &plan.subplans[number as usize];
        let mut own = Reads::default();
        subplan.link.clone().exprs(&mut |expr| own.add_expr(plan, expr));
        own.add_node(plan, &subplan.node);
        let mut filled: BTreeSet<u32> = subplan.args.iter().copied().collect();
        if let Link::Any(test) | Link::All(test) = &subplan.link {
            filled.extend(test.left.iter().map(|(_, slot)| *slot));
        }
        self.slots.extend(&own.slots - &filled);
        self.sources.extend(own.sources);
    }

    /// Adds what an operator and those below it read and do not fill themselves.
    pub fn add_node(&mut self, plan: &Plan, node: &Node) {
        let (mut own, mut filled, mut made) = (Reads::default(), BTreeSet::new(), BTreeSet::new());
        let mut node = node.clone();
        node.each(&mut |node| match &node.kind {
            Kind::Join(join) => {
                filled.extend(join.lateral.iter().flatten().map(|(_, slot)| *slot));
            }
            Kind::Modify(modify) => filled.extend(modify.merged),
            Kind::With { tables, .. } => {
                made.extend(tables.iter().flat_map(|table| plan.sources_of(table.number)));
            }
            Kind::CteScan { table, .. } => drop(own.sources.insert(plan.sources_of(*table)[0])),
            Kind::WorkTable { table, .. } => drop(own.sources.insert(plan.sources_of(*table)[1])),
            _ => {}
        });
        node.all_exprs(&mut |expr| own.add_expr(plan, expr));
        self.slots.extend(&own.slots - &filled);
        self.sources.extend(&own.sources - &made);
    }

    /// Leaves out a table that is filled by what reads it.
    pub fn fill_table(&mut self, plan: &Plan, table: u32) {
        for source in plan.sources_of(table) {
            self.sources.remove(&source);
        }
    }
}

/// The slots that an expression reads, those that its subplans read included.
pub fn slots_of(expr: &Expr, plan: &Plan, found: &mut BTreeSet<u32>) {
    let mut reads = Reads::default();
    reads.add_expr(plan, expr);
    found.extend(reads.slots);
}

impl Plan {
    /// The slots that a subplan reads and does not fill itself, its arguments left out.
    pub fn slots_read(&self, number: u32) -> BTreeSet<u32> {
        let mut reads = Reads::default();
        reads.add_subplan(self, number);
        reads.slots
    }

    /// The numbers in [`Reads::sources`] of a table of `WITH` and of its work table.
    fn sources_of(&self, table: u32) -> [u32; 2] {
        [table, self.tables + table]
    }
}
