//! Plans as indented text, for tests and for people.
//!
//! ```text
//!   Limit 10
//!     Sort [#1] top
//!       Join hash left keys [#0 = #1]
//!         Scan person by person_pkey from 1
//!         Scan orders as o where (#2 > 5)
//!   Subplan 0 scalar(@3)
//!     ...
//! ```
//!
//! `#i` is a column of the row that an operator sees, `@i` a slot. A key of a hash join has a column
//! of the left row on its left side and one of the right row, counted from 0, on its right.

pub mod operator_stats;
pub mod render;
pub mod tree;

use std::fmt::Write;

use sql::explain::List;
use sql::plan::{Moment, SetOp, SortKey};

use crate::tree::{Append, Body, Equal, Join, JoinKind, Kind, Link, Node, Path, Plan, Scan};

/// The plan as text: one operator a line, inputs indented below; then the subplans.
pub fn explain(plan: &Plan) -> String {
    let mut out = String::new();
    write_node(&plan.root, 0, &mut out);
    for (number, subplan) in plan.subplans.iter().enumerate() {
        // A rule may have taken the subquery out of the expressions.
        if !plan.uses_subplan(number as u32) {
            continue;
        }
        let args: Vec<String> = subplan.args.iter().map(|slot| format!("@{slot}")).collect();
        let link = match &subplan.link {
            Link::Scalar => "scalar".to_owned(),
            Link::Row => "row".to_owned(),
            Link::Exists => "exists".to_owned(),
            Link::Array(_) => "array".to_owned(),
            Link::Any(test) if test.keys.is_some() => format!("any {} hashed", test.condition),
            Link::Any(test) => format!("any {}", test.condition),
            Link::All(test) => format!("all {}", test.condition),
        };
        line(&format!("Subplan {number}({}) {link}", args.join(", ")), 0, &mut out);
        write_node(&subplan.node, 1, &mut out);
    }
    out
}

fn line(text: &str, depth: usize, out: &mut String) {
    writeln!(out, "{}{text}", "  ".repeat(depth)).expect("strings take all");
}

fn write_node(node: &Node, depth: usize, out: &mut String) {
    line(&head(node), depth, out);
    if let Kind::With { tables, input } = &node.kind {
        for table in tables {
            let kept = match table.materialized {
                Some(true) => " materialized",
                Some(false) => " not materialized",
                None => "",
            };
            let name = format!("Table {} {}{kept}", table.number, table.name);
            match &table.body {
                Body::Plan(node) => {
                    line(&name, depth + 1, out);
                    write_node(node, depth + 2, out);
                }
                Body::Recursive { start, step, all, .. } => {
                    let all = if *all { " all" } else { "" };
                    line(&format!("{name} recursive{all}"), depth + 1, out);
                    write_node(start, depth + 2, out);
                    write_node(step, depth + 2, out);
                }
            }
        }
        write_node(input, depth + 1, out);
        return;
    }
    node.clone().inputs(&mut |input| write_node(input, depth + 1, out));
}

fn keys(keys: &[SortKey]) -> String {
    format!("[{}]", List(keys, ", "))
}

/// The line of an operator, without its inputs.
fn head(node: &Node) -> String {
    match &node.kind {
        Kind::Values(rows) => {
            let rows: Vec<String> =
                rows.iter().map(|row| format!("({})", List(row, ", "))).collect();
            format!("Values {}", rows.join(", ")).trim_end().to_owned()
        }
        Kind::Scan(scan) => scan_head(scan),
        Kind::Append(append) => append_head(append),
        Kind::Functions { functions, ordinality, .. } => {
            let functions: Vec<String> =
                functions.iter().map(|(expr, _)| expr.to_string()).collect();
            let ordinality = if *ordinality { " with ordinality" } else { "" };
            format!("Functions {}{ordinality}", functions.join(", "))
        }
        Kind::Filter { condition, .. } => format!("Filter {condition}"),
        Kind::Project { exprs, .. } => format!("Project [{}]", List(exprs, ", ")),
        Kind::ProjectSet { sets, .. } => format!("ProjectSet [{}]", List(sets, ", ")),
        Kind::Join(join) => join_head(join),
        Kind::Aggregate(aggregate) => {
            let mut line = format!("Aggregate keys [{}]", List(&aggregate.keys, ", "));
            let plain: Vec<usize> = (0..aggregate.keys.len()).collect();
            if aggregate.sets != [plain] {
                line += &format!(" sets {:?}", aggregate.sets);
            }
            line += &format!(" calls [{}]", List(&aggregate.calls, ", "));
            if !aggregate.masks.is_empty() {
                line += &format!(" grouping {:?}", aggregate.masks);
            }
            line
        }
        Kind::Window { calls, .. } => format!("Window [{}]", List(calls, ", ")),
        Kind::Barrier(_) => "Barrier".to_owned(),
        Kind::Distinct(_) => "Distinct".to_owned(),
        Kind::DistinctOn { keys: list, .. } => format!("DistinctOn {}", keys(list)),
        Kind::Sort { keys: list, top, .. } => {
            format!("Sort {}{}", keys(list), if *top { " top" } else { "" })
        }
        Kind::Limit { limit, offset, ties, .. } => {
            let mut line = "Limit".to_owned();
            if let Some(limit) = limit {
                line += &format!(" {limit}");
            }
            if let Some(offset) = offset {
                line += &format!(" offset {offset}");
            }
            if let Some(ties) = ties {
                line += &format!(" with ties {}", keys(ties));
            }
            line
        }
        Kind::SetOperation { op, all, .. } => {
            let op = match op {
                SetOp::Union => "Union",
                SetOp::Intersect => "Intersect",
                SetOp::Except => "Except",
            };
            format!("{op}{}", if *all { " all" } else { "" })
        }
        Kind::With { .. } => "With".to_owned(),
        Kind::CteScan { table, name, .. } => format!("CteScan {table} {name}"),
        Kind::Given => "Given".to_owned(),
        Kind::WorkTable { table, name, .. } => format!("WorkTable {table} {name}"),
        Kind::Modify(modify) => {
            let mut line = sql::explain::action(&modify.action, &modify.name);
            if let Some(returning) = &modify.returning {
                line += &format!(" returning [{}]", List(returning, ", "));
            }
            line
        }
        Kind::LockRows { locks, .. } => {
            let locks: Vec<String> = locks.iter().map(sql::explain::row_lock).collect();
            format!("LockRows {}", locks.join(", "))
        }
    }
}

fn append_head(append: &Append) -> String {
    let mut line = format!("Append {}", append.scan.name);
    let mut levels = append.levels.iter().filter(|level| !level.path.is_full()).peekable();
    if levels.peek().is_some() {
        let paths: Vec<String> = levels.map(|level| path(&level.path)).collect();
        line += &format!(" pruned{}", paths.join(","));
    }
    line
}

fn join_head(join: &Join) -> String {
    let kind = match join.kind {
        JoinKind::Inner => "inner",
        JoinKind::Left => "left",
        JoinKind::Right => "right",
        JoinKind::Full => "full",
        JoinKind::Semi => "semi",
        JoinKind::Anti => "anti",
    };
    let mut line = match (join.keys.is_empty(), &join.lateral) {
        (false, _) => {
            let keys: Vec<String> =
                join.keys.iter().map(|(left, right)| format!("{left} = {right}")).collect();
            let build = if join.build_left { " build left" } else { "" };
            format!("Join hash {kind}{build} keys [{}]", keys.join(", "))
        }
        (true, Some(args)) => {
            let args: Vec<String> =
                args.iter().map(|(expr, slot)| format!("@{slot} = {expr}")).collect();
            format!("Join loop {kind} lateral [{}]", args.join(", "))
        }
        (true, None) => format!("Join loop {kind}"),
    };
    if let Some(condition) = &join.condition {
        line += &format!(" on {condition}");
    }
    line
}

fn scan_head(scan: &Scan) -> String {
    let mut line = format!("Scan {}", scan.name);
    if scan.alias != scan.name {
        line += &format!(" as {}", scan.alias);
    }
    if !matches!(scan.moment, Moment::Now) {
        line += &sql::explain::moment(&scan.moment);
    }
    if let Some(sample) = &scan.sample {
        let method = if sample.system { "system" } else { "bernoulli" };
        line += &format!(" sample {method} {}", sample.percent);
    }
    line += &path(&scan.path);
    if let Some(columns) = &scan.columns {
        line += &format!(" columns of {} [{}]", columns.name, List(&columns.values, ", "));
    }
    if let Some(conditional) = &scan.conditional {
        line += &format!(
            " or{} if {}",
            path(&conditional.path),
            List(&conditional.start_conditions, " and ")
        );
    }
    if let Some(condition) = &scan.condition {
        line += &format!(" where {condition}");
    }
    line
}

fn path(path: &Path) -> String {
    let mut line = String::new();
    if !path.name.is_empty() {
        line += &format!(" by {}", path.name);
    }
    if !path.equal.is_empty() {
        let equal: Vec<String> = path
            .equal
            .iter()
            .map(|equal| match equal {
                Equal::One(expr) => expr.to_string(),
                Equal::AnyOf(expr) => format!("any of {expr}"),
                Equal::Null => "null".to_owned(),
            })
            .collect();
        line += &format!(" at ({})", equal.join(", "));
    }
    for (end, inclusive, exclusive) in [(&path.low, ">=", ">"), (&path.high, "<=", "<")] {
        if let Some(end) = end {
            line +=
                &format!(" {} {}", if end.inclusive { inclusive } else { exclusive }, end.value);
        }
    }
    if !path.scan_keys.is_empty() {
        let asked = path.scan_keys.iter();
        let asked: Vec<String> =
            asked.map(|asked| format!("{} {}", asked.symbol, asked.value)).collect();
        line += &format!(" asked ({})", asked.join(", "));
    }
    if path.backward {
        line += " backward";
    }
    line
}
