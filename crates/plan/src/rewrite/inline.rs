//! A table of `WITH` that is read once goes where it is read, so that conditions can move into it.
//!
//! Not where the statement says `MATERIALIZED`, not where it changes rows or could be noticed to be
//! computed otherwise, and not where it is read more often than it is made: from outside of a subquery,
//! of a lateral side or of a recursive step.

use std::collections::HashMap;

use crate::tree::{Body, Kind, Node, Plan, Table, is_volatile};

/// Puts tables that are read once in their places.
pub(super) fn inline(plan: &mut Plan) {
    let mut found = Found::default();
    found.look(&mut plan.root, 0);
    plan.subplans.iter_mut().for_each(|subplan| found.look_elsewhere(&mut subplan.node));
    let reads = found.reads;
    let mut bodies = HashMap::new();
    take(&mut plan.root, &reads, &mut bodies);
    for subplan in &mut plan.subplans {
        take(&mut subplan.node, &reads, &mut bodies);
    }
    put(&mut plan.root, &mut bodies);
    for subplan in &mut plan.subplans {
        put(&mut subplan.node, &mut bodies);
    }
}

/// Where a table is made, and where it is read.
#[derive(Default)]
struct Reads {
    made: usize,
    places: Vec<usize>,
}

impl Reads {
    /// True if it is read once at most for each time that it is made.
    fn is_once(&self) -> bool {
        self.places.iter().all(|place| *place == self.made) && self.places.len() <= 1
    }
}

/// The tables, and the places in the plan: parts of it that are computed equally often.
#[derive(Default)]
struct Found {
    reads: HashMap<u32, Reads>,
    places: usize,
}

impl Found {
    /// Looks at an operator, and those below it, that stand at a place.
    fn look(&mut self, node: &mut Node, place: usize) {
        match &mut node.kind {
            Kind::CteScan { table, .. } => {
                self.reads.entry(*table).or_default().places.push(place);
            }
            Kind::With { tables, input } => {
                for table in tables {
                    self.reads.entry(table.number).or_default().made = place;
                    match &mut table.body {
                        Body::Plan(node) => self.look(node, place),
                        Body::Recursive { start, step, .. } => {
                            self.look(start, place);
                            self.look_elsewhere(step);
                        }
                    }
                }
                self.look(input, place);
            }
            Kind::Join(join) => {
                self.look(&mut join.left, place);
                match join.lateral {
                    Some(_) => self.look_elsewhere(&mut join.right),
                    None => self.look(&mut join.right, place),
                }
            }
            _ => node.inputs(&mut |input| self.look(input, place)),
        }
    }

    /// Looks at an operator that is computed again and again for what is around it.
    fn look_elsewhere(&mut self, node: &mut Node) {
        self.places += 1;
        self.look(node, self.places);
    }
}

/// Takes the bodies that are to be moved out of their `WITH`.
fn take(node: &mut Node, reads: &HashMap<u32, Reads>, bodies: &mut HashMap<u32, Node>) {
    node.inputs(&mut |input| take(input, reads, bodies));
    let Kind::With { tables, input } = &mut node.kind else { return };
    tables.retain_mut(|table| {
        if !moves(table, reads) {
            return true;
        }
        let nothing = Node { kind: Kind::Given, types: Vec::new() };
        if let Body::Plan(body) = &mut table.body {
            bodies.insert(table.number, std::mem::replace(body, nothing));
        }
        false
    });
    if tables.is_empty() {
        let nothing = Node { kind: Kind::Given, types: Vec::new() };
        *node = std::mem::replace(&mut **input, nothing);
    }
}

fn moves(table: &mut Table, reads: &HashMap<u32, Reads>) -> bool {
    let reads = reads.get(&table.number);
    if reads.is_none_or(|reads| reads.places.is_empty()) {
        // A table that no operator reads can be left out, unless it changes rows.
        return !changes(table);
    }
    let Body::Plan(body) = &mut table.body else { return false };
    if !reads.is_none_or(Reads::is_once) || table.materialized == Some(true) {
        return false;
    }
    let mut plain = true;
    body.each(&mut |node| {
        plain &= !matches!(node.kind, Kind::Modify(_) | Kind::LockRows { .. });
        node.exprs(&mut |expr, _| plain &= !is_volatile(expr));
    });
    plain
}

/// True if a table changes rows.
fn changes(table: &mut Table) -> bool {
    let mut changes = false;
    let mut look = |node: &mut Node| changes |= matches!(node.kind, Kind::Modify(_));
    match &mut table.body {
        Body::Plan(node) => node.each(&mut look),
        Body::Recursive { start, step, .. } => {
            start.each(&mut look);
            step.each(&mut look);
        }
    }
    changes
}

fn put(node: &mut Node, bodies: &mut HashMap<u32, Node>) {
    if let Kind::CteScan { table, .. } = &node.kind
        && let Some(body) = bodies.remove(table)
    {
        *node = body;
    }
    node.inputs(&mut |input| put(input, bodies));
}
