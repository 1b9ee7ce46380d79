//! A table of `WITH` that is read once goes where it is read, so that conditions can move into it.
//!
//! Not where the statement says `MATERIALIZED`, not where it changes rows or could be noticed to be
//! computed otherwise, and not where it is read again and again: in a subquery or a recursive step.

use std::collections::HashMap;

use crate::plan::{Body, Kind, Node, Plan, Table, is_volatile};

/// Puts tables that are read once in their places.
pub(super) fn inline(plan: &mut Plan) {
    let mut reads: HashMap<u32, Reads> = HashMap::new();
    count(&mut plan.root, false, &mut reads);
    for subplan in &mut plan.subplans {
        count(&mut subplan.node, true, &mut reads);
    }
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

#[derive(Default)]
struct Reads {
    count: usize,
    is_repeated: bool,
}

fn count(node: &mut Node, repeated: bool, reads: &mut HashMap<u32, Reads>) {
    match &mut node.kind {
        Kind::CteScan { table, .. } => {
            let reads = reads.entry(*table).or_default();
            reads.count += 1;
            reads.is_repeated |= repeated;
        }
        Kind::With { tables, input } => {
            for table in tables {
                match &mut table.body {
                    Body::Plan(node) => count(node, repeated, reads),
                    Body::Recursive { start, step, .. } => {
                        count(start, repeated, reads);
                        count(step, true, reads);
                    }
                }
            }
            count(input, repeated, reads);
        }
        Kind::Join(join) => {
            count(&mut join.left, repeated, reads);
            count(&mut join.right, repeated || join.lateral.is_some(), reads);
        }
        _ => node.inputs(&mut |input| count(input, repeated, reads)),
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
    let Body::Plan(body) = &mut table.body else { return false };
    let once = reads.get(&table.number).is_none_or(|reads| reads.count <= 1 && !reads.is_repeated);
    if !once || table.materialized == Some(true) {
        return false;
    }
    let mut plain = true;
    body.each(&mut |node| {
        plain &= !matches!(node.kind, Kind::Modify(_) | Kind::LockRows { .. });
        node.exprs(&mut |expr, _| plain &= !is_volatile(expr));
    });
    plain
}

fn put(node: &mut Node, bodies: &mut HashMap<u32, Node>) {
    if let Kind::CteScan { table, .. } = &node.kind
        && let Some(body) = bodies.remove(table)
    {
        *node = body;
    }
    node.inputs(&mut |input| put(input, bodies));
}
