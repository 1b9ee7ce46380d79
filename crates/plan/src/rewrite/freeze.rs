//! A statement that changes rows in several places (`WITH x AS (DELETE ...) SELECT ...`) reads every
//! table that it changes as it was at its start.
//!
//! The scans of such tables become tables of the outermost `WITH`, which are computed before anything
//! is changed. A statement with one change reads its input to the end first: it needs this only for the
//! subqueries that are computed while rows are changed, as in `RETURNING`.

use std::collections::BTreeSet;

use sql::plan::{Expr, ExprKind};

use crate::tree::{Body, Kind, Node, Path, Plan, Reads, Table, each_part};

/// Makes a statement read the tables that it changes before its first change.
pub(super) fn freeze(plan: &mut Plan) {
    let changes = plan.changes();
    if changes == 0 {
        return;
    }
    let is_one = changes == 1 && matches!(plan.root.main().kind, Kind::Modify(_));
    let subplans = subplans_of_changes(plan);
    if is_one && subplans.is_empty() {
        return;
    }
    let (mut changed, _) = plan.tables_held();
    // A change of a partitioned table changes its partitions.
    plan.each(&mut |node| {
        if let Kind::Modify(modify) = &node.kind {
            let facts = modify.facts.iter().filter_map(|facts| facts.partitions.as_ref());
            changed.extend(facts.flat_map(|facts| &facts.leaves));
        }
    });
    let mut next = plan.tables;
    let mut frozen = Vec::new();
    let whole = plan.clone();
    let mut freeze_in = |node: &mut Node| {
        node.each(&mut |node| {
            let relation = match &node.kind {
                Kind::Scan(scan) => scan.relation,
                Kind::Append(append) => append.scan.relation,
                _ => return,
            };
            if !changed.contains(&relation) {
                return;
            }
            // An expression over outer rows, or over a table of `WITH`, cannot be computed before those
            // exist.
            let mut reads = Reads::default();
            node.exprs(&mut |expr, _| reads.add_expr(&whole, expr));
            let types = node.types.clone();
            let table = Kind::CteScan { table: next, name: "start".to_owned(), columns: [].into() };
            let mut body = Node { kind: table, types: types.clone() };
            std::mem::swap(node, &mut body);
            if !(reads.slots.is_empty() && reads.sources.is_empty()) {
                let conditions = read_whole(&mut body);
                for condition in conditions.into_iter().flatten() {
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
    if !is_one {
        freeze_in(&mut plan.root);
    } else if let Kind::With { tables, .. } = &mut plan.root.kind {
        for table in tables {
            match &mut table.body {
                Body::Plan(node) => freeze_in(node),
                Body::Recursive { start, step, .. } => {
                    freeze_in(start);
                    freeze_in(step);
                }
            }
        }
    }
    for (number, subplan) in (0..).zip(&mut plan.subplans) {
        if !is_one || subplans.contains(&number) {
            freeze_in(&mut subplan.node);
        }
    }
    plan.tables = next;
    if frozen.is_empty() {
        return;
    }
    if let Kind::With { tables, .. } = &mut plan.root.kind {
        tables.splice(0..0, frozen);
        return;
    }
    let types = plan.root.types.clone();
    let nothing = Node { kind: Kind::Given, types: Vec::new() };
    let input = Box::new(std::mem::replace(&mut plan.root, nothing));
    plan.root = Node { kind: Kind::With { tables: frozen, input }, types };
}

/// Makes a scan read all rows; returns its conditions, unless the scan of the whole table has them.
fn read_whole(node: &mut Node) -> [Option<Expr>; 2] {
    match &mut node.kind {
        Kind::Scan(scan) => {
            (scan.path, scan.conditional) = Default::default();
            [scan.sure.take(), scan.condition.take()]
        }
        Kind::Append(append) => {
            append.levels.iter_mut().for_each(|level| level.path = Path::default());
            for part in &mut append.parts {
                // Without its condition the first rows are others.
                if let Kind::Limit { input, .. } = &mut part.node.kind {
                    let nothing = Node { kind: Kind::Given, types: Vec::new() };
                    part.node = std::mem::replace(&mut **input, nothing);
                }
                read_whole(&mut part.node);
            }
            [None, append.scan.condition.take()]
        }
        _ => [None, None],
    }
}

/// The subplans that are computed while rows are changed: those of the changes' own expressions, and
/// those in them.
fn subplans_of_changes(plan: &mut Plan) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    plan.root.each(&mut |node| {
        if let Kind::Modify(_) = node.kind {
            node.exprs(&mut |expr, _| add_subplans(expr, &mut found));
        }
    });
    let mut open: Vec<u32> = found.iter().copied().collect();
    while let Some(number) = open.pop() {
        let mut inner = BTreeSet::new();
        let subplan = &mut plan.subplans[number as usize];
        subplan.node.all_exprs(&mut |expr| add_subplans(expr, &mut inner));
        subplan.link.exprs(&mut |expr| add_subplans(expr, &mut inner));
        open.extend(inner.into_iter().filter(|inner| found.insert(*inner)));
    }
    found
}

fn add_subplans(expr: &mut Expr, found: &mut BTreeSet<u32>) {
    each_part(expr, &mut |part| {
        if let ExprKind::Subplan { number, .. } = part.kind {
            found.insert(number);
        }
        true
    });
}
