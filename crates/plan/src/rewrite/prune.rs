//! Columns that no operator needs are not computed, and not read.
//!
//! A scan of the binder gives all columns of its table, system columns too; what is left here is what
//! the statement names. Columns keep their order, so that a row of a table that is changed still
//! begins with its columns and its key.

use sql::plan::{Action, Expr};

use super::expr::{columns, move_columns};
use crate::tree::{ExprScope, Kind, Node, is_volatile};

/// Leaves out what is not needed below the root, whose columns all are.
pub(super) fn prune(node: &mut Node) {
    let all = vec![true; node.width()];
    prune_to(node, all);
}

/// Where the columns that were kept are now.
fn places(kept: &[usize], width: usize) -> Vec<usize> {
    let mut places = vec![usize::MAX; width];
    for (new, old) in kept.iter().enumerate() {
        places[*old] = new;
    }
    places
}

fn wanted(need: &[bool]) -> Vec<usize> {
    (0..need.len()).filter(|column| need[*column]).collect()
}

fn note(expr: &Expr, need: &mut [bool]) {
    columns(expr, &mut |column| need[column] = true);
}

/// Leaves out columns that are not needed; gives those that are still there.
fn prune_to(node: &mut Node, mut need: Vec<bool>) -> Vec<usize> {
    let width = node.width();
    let kept = match &mut node.kind {
        Kind::Scan(scan) => {
            let conditions = [&scan.condition, &scan.sure];
            conditions.into_iter().flatten().for_each(|expr| note(expr, &mut need));
            let kept = wanted(&need);
            let places = places(&kept, width);
            scan.attnums = kept.iter().map(|column| scan.attnums[*column]).collect();
            let conditions = [&mut scan.condition, &mut scan.sure];
            conditions
                .into_iter()
                .flatten()
                .for_each(|expr| move_columns(expr, &|column| places[column]));
            kept
        }
        Kind::Append(append) => {
            // All parts have the same columns.
            append.scan.condition.iter().for_each(|expr| note(expr, &mut need));
            for part in &append.parts {
                if let Kind::Scan(scan) = &part.node.kind {
                    let conditions = [&scan.condition, &scan.sure];
                    conditions.into_iter().flatten().for_each(|expr| note(expr, &mut need));
                }
            }
            let kept = wanted(&need);
            let places = places(&kept, width);
            let scan = &mut append.scan;
            scan.attnums = kept.iter().map(|column| scan.attnums[*column]).collect();
            scan.condition.iter_mut().for_each(|expr| move_columns(expr, &|column| places[column]));
            for part in &mut append.parts {
                prune_to(&mut part.node, need.clone());
            }
            kept
        }
        Kind::Filter { input, condition } => {
            note(condition, &mut need);
            let kept = prune_to(input, need);
            let places = places(&kept, width);
            move_columns(condition, &|column| places[column]);
            kept
        }
        Kind::Project { input, exprs } => {
            for (expr, need) in exprs.iter().zip(&mut need) {
                *need |= is_volatile(expr);
            }
            let kept = wanted(&need);
            *exprs = kept.iter().map(|column| exprs[*column].clone()).collect();
            let mut below = vec![false; input.width()];
            exprs.iter().for_each(|expr| note(expr, &mut below));
            let input_width = input.width();
            let places = places(&prune_to(input, below), input_width);
            exprs.iter_mut().for_each(|expr| move_columns(expr, &|column| places[column]));
            kept
        }
        Kind::Join(_) => return prune_join(node, need),
        Kind::Sort { .. }
        | Kind::Barrier(_)
        | Kind::Limit { .. }
        | Kind::DistinctOn { .. }
        | Kind::LockRows { .. } => {
            node.exprs(&mut |expr, scope| {
                if scope == ExprScope::Input {
                    note(expr, &mut need);
                }
            });
            if let Kind::LockRows { locks, .. } = &node.kind {
                locks.iter().for_each(|lock| need[lock.key] = true);
            }
            let mut kept = Vec::new();
            let mut need = Some(need);
            node.inputs(&mut |input| kept = prune_to(input, need.take().unwrap_or_default()));
            let places = places(&kept, width);
            node.exprs(&mut |expr, scope| {
                if scope == ExprScope::Input {
                    move_columns(expr, &|column| places[column]);
                }
            });
            if let Kind::LockRows { locks, .. } = &mut node.kind {
                locks.iter_mut().for_each(|lock| lock.key = places[lock.key]);
            }
            kept
        }
        Kind::Window { .. } | Kind::ProjectSet { .. } | Kind::Aggregate(_) => {
            return prune_computed(node, need);
        }
        Kind::With { tables, input } => {
            for table in tables {
                match &mut table.body {
                    crate::tree::Body::Plan(body) => prune(body),
                    crate::tree::Body::Recursive { start, step, .. } => {
                        prune(start);
                        prune(step);
                    }
                }
            }
            prune_to(input, need)
        }
        Kind::Modify(_) => {
            prune_modify(node);
            (0..width).collect()
        }
        _ => {
            node.inputs(&mut prune);
            (0..width).collect()
        }
    };
    node.types = kept.iter().map(|column| node.types[*column]).collect();
    kept
}

fn prune_join(node: &mut Node, mut need: Vec<bool>) -> Vec<usize> {
    let Kind::Join(join) = &mut node.kind else { return Vec::new() };
    let (left, right) = (join.left.width(), join.right.width());
    let shows_right = join.kind.shows_right();
    need.resize(left + right, false);
    join.condition.iter().for_each(|expr| note(expr, &mut need));
    let mut below = need.split_off(left);
    std::mem::swap(&mut below, &mut need);
    let (mut need_left, mut need_right) = (below, need);
    join.lateral.iter().flatten().for_each(|(expr, _)| note(expr, &mut need_left));
    for (of_left, of_right) in &join.keys {
        note(of_left, &mut need_left);
        note(of_right, &mut need_right);
    }
    let kept_left = prune_to(&mut join.left, need_left);
    let kept_right = prune_to(&mut join.right, need_right);
    let left_places = places(&kept_left, left);
    let right_places = places(&kept_right, right);
    for (of_left, of_right) in &mut join.keys {
        move_columns(of_left, &|column| left_places[column]);
        move_columns(of_right, &|column| right_places[column]);
    }
    let shifted = kept_right.iter().map(|column| column + left);
    let both: Vec<usize> = kept_left.iter().copied().chain(shifted).collect();
    let all_places = places(&both, left + right);
    join.condition.iter_mut().for_each(|expr| move_columns(expr, &|column| all_places[column]));
    for (expr, _) in join.lateral.iter_mut().flatten() {
        move_columns(expr, &|column| left_places[column]);
    }
    let kept = if shows_right { both } else { kept_left };
    node.types = kept.iter().map(|column| node.types[*column]).collect();
    kept
}

/// Operators that need only what their expressions name, and give values of their own after it.
fn prune_computed(node: &mut Node, mut need: Vec<bool>) -> Vec<usize> {
    let width = node.width();
    let passes = !matches!(node.kind, Kind::Aggregate(_));
    let mut input_width = 0;
    node.inputs(&mut |input| input_width = input.width());
    need.resize(width.max(input_width), false);
    let mut below: Vec<bool> = match passes {
        true => need[..input_width].to_vec(),
        false => vec![false; input_width],
    };
    node.exprs(&mut |expr, scope| {
        if scope == ExprScope::Input {
            note(expr, &mut below);
        }
    });
    let mut kept = Vec::new();
    let mut below = Some(below);
    node.inputs(&mut |input| kept = prune_to(input, below.take().unwrap_or_default()));
    let places = places(&kept, input_width);
    node.exprs(&mut |expr, scope| {
        if scope == ExprScope::Input {
            move_columns(expr, &|column| places[column]);
        }
    });
    if !passes {
        return (0..width).collect();
    }
    kept.extend(input_width..width);
    node.types = kept.iter().map(|column| node.types[*column]).collect();
    kept
}

/// A change needs the row of the table, its key, and what its expressions name.
fn prune_modify(node: &mut Node) {
    let Kind::Modify(modify) = &mut node.kind else { return };
    if matches!(modify.action, Action::Insert { .. }) {
        prune(&mut modify.input);
        return;
    }
    let (width, input_width) = (modify.width, modify.input.width());
    let mut need = vec![false; input_width];
    need[..=width].fill(true);
    if let Action::Merge { matched, .. } = &modify.action {
        need[*matched] = true;
    }
    for expr in modify.returning.iter().flatten() {
        columns(expr, &mut |column| {
            if let Some(column) = column.checked_sub(width) {
                need[column] = true;
            }
        });
    }
    node.exprs(&mut |expr, scope| {
        if scope == ExprScope::Input {
            note(expr, &mut need);
        }
    });
    let Kind::Modify(modify) = &mut node.kind else { return };
    let places = places(&prune_to(&mut modify.input, need), input_width);
    if let Action::Merge { matched, .. } = &mut modify.action {
        *matched = places[*matched];
    }
    for expr in modify.returning.iter_mut().flatten() {
        move_columns(expr, &|column| match column.checked_sub(width) {
            Some(column) => width + places[column],
            None => column,
        });
    }
    node.exprs(&mut |expr, scope| {
        if scope == ExprScope::Input {
            move_columns(expr, &|column| places[column]);
        }
    });
}
