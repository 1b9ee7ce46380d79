//! A statement that changes rows in several places (`WITH x AS (DELETE ...) SELECT ...`) reads every
//! table that it changes as it was at its start.
//!
//! The scans of such tables become tables of the outermost `WITH`, which are computed before anything
//! is changed. A statement with one change needs none of this: it reads its input to the end first.

use crate::plan::{Body, Kind, Node, Plan, Reads, Table};

/// Has the tables that a statement changes read at its start.
pub(super) fn freeze(plan: &mut Plan) {
    let changes = plan.changes();
    if changes == 0 || (changes == 1 && matches!(plan.root.main().kind, Kind::Modify(_))) {
        return;
    }
    let (changed, _) = plan.tables_held();
    let mut next = plan.tables;
    let mut frozen = Vec::new();
    let whole = plan.clone();
    let mut freeze_in = |node: &mut Node| {
        node.each(&mut |node| {
            let Kind::Scan(scan) = &node.kind else { return };
            if !changed.contains(&scan.relation) {
                return;
            }
            // What depends on rows further out, or on a table of `WITH`, cannot be read before they are
            // there.
            let mut reads = Reads::default();
            node.exprs(&mut |expr, _| reads.add_expr(&whole, expr));
            let types = node.types.clone();
            let table = Kind::CteScan { table: next, name: "start".to_owned(), columns: [].into() };
            let mut body = Node { kind: table, types: types.clone() };
            std::mem::swap(node, &mut body);
            if !(reads.slots.is_empty() && reads.sources.is_empty())
                && let Kind::Scan(scan) = &mut body.kind
            {
                (scan.path, scan.chance) = Default::default();
                for condition in [scan.sure.take(), scan.condition.take()].into_iter().flatten() {
                    let nothing = Node { kind: Kind::Given, types: Vec::new() };
                    let input = Box::new(std::mem::replace(node, nothing));
                    *node = Node { kind: Kind::Filter { input, condition }, types: types.clone() };
                }
            }
            let name = "start".to_owned();
            let materialized = Some(true);
            frozen.push(Table {
                number: next,
                name,
                materialized,
                body: Body::Plan(body),
                at_start: true,
            });
            next += 1;
        });
    };
    freeze_in(&mut plan.root);
    plan.subplans.iter_mut().for_each(|subplan| freeze_in(&mut subplan.node));
    plan.tables = next;
    if let Kind::With { tables, .. } = &mut plan.root.kind {
        tables.splice(0..0, frozen);
    }
}
