//! Keys of groups that depend on other keys: the columns of a row that a unique key among them identifies.
//!
//! ```text
//!   GROUP BY c_custkey, c_name, n_name      c_custkey identifies the row of customer, so c_name depends on it:
//!                                           groups are told apart by (c_custkey, n_name)
//! ```
//!
//! A column that an inner join sets equal to the key of another table identifies that table's row too.

use sql::plan::Moment;

use super::expr::column_of;
use crate::schema::{KeyFacts, KeyPart, Schema, TableFacts};
use crate::tree::{Aggregate, JoinKind, Kind, Node, Scan};

/// A column of a table, where one scan reads it.
type Origin<'p> = (&'p Scan, i16);

/// Returns the keys of an aggregate on which all its keys depend.
pub(super) fn leading(aggregate: &Aggregate, schema: &dyn Schema) -> Vec<usize> {
    let all = (0..aggregate.keys.len()).collect();
    if aggregate.keys.len() < 2 {
        return all;
    }
    let of_key = aggregate.keys.iter().map(|key| {
        let mut found = Vec::new();
        if let Some(column) = column_of(key) {
            origins(&aggregate.input, column, &mut found);
        }
        found
    });
    let of_key: Vec<Vec<Origin<'_>>> = of_key.collect();
    let mut leading: Vec<usize> = all;
    // Each table in turn: its other columns depend on a unique key of it.
    for scan in of_key.iter().flatten().map(|(scan, _)| *scan) {
        let Some(facts) = schema.table(scan.relation).filter(|_| shows_one_version(scan)) else {
            continue;
        };
        let with = |attnum: i16| {
            let is_it = |(of, number): &Origin<'_>| std::ptr::eq(*of, scan) && *number == attnum;
            leading.iter().copied().find(|key| of_key[*key].iter().any(is_it))
        };
        let Some(identifying) = facts.keys.iter().find_map(|key| identifying(key, &facts, &with))
        else {
            continue;
        };
        leading.retain(|key| {
            let is_of_scan = of_key[*key].iter().any(|(of, _)| std::ptr::eq(*of, scan));
            !is_of_scan || identifying.contains(key)
        });
    }
    leading
}

/// Returns the keys of groups that are all columns of a unique key of a table, none of which is ever NULL.
fn identifying(
    key: &KeyFacts,
    facts: &TableFacts,
    with: &dyn Fn(i16) -> Option<usize>,
) -> Option<Vec<usize>> {
    if !key.is_unique || key.predicate.is_some() || key.parts.is_empty() {
        return None;
    }
    let part = |part: &KeyPart| match part {
        KeyPart::Column(attnum) if facts.is_never_null(*attnum) => with(*attnum),
        _ => None,
    };
    key.parts.iter().map(|(of, _)| part(of)).collect()
}

/// Returns true if a scan shows one version of each row.
fn shows_one_version(scan: &Scan) -> bool {
    matches!(scan.moment, Moment::Now | Moment::AsOf(_) | Moment::AtVersion(_))
}

/// Adds the columns of tables whose values a column of a node has.
fn origins<'p>(node: &'p Node, column: usize, found: &mut Vec<Origin<'p>>) {
    match &node.kind {
        // The columns of an index have other numbers.
        Kind::Scan(scan) if scan.columns.is_some() => {}
        Kind::Scan(scan) => {
            found.extend(scan.attnums.get(column).map(|attnum| (&**scan, *attnum)));
        }
        Kind::Filter { input, .. } => origins(input, column, found),
        Kind::Project { input, exprs } => {
            if let Some(column) = exprs.get(column).and_then(column_of) {
                origins(input, column, found);
            }
        }
        Kind::Join(join) => {
            let width = join.left.width();
            let (side, other, at) = match column.checked_sub(width) {
                None => (&join.left, &join.right, column),
                Some(column) => (&join.right, &join.left, column),
            };
            origins(side, at, found);
            if join.kind != JoinKind::Inner {
                return;
            }
            for (left, right) in &join.keys {
                let (own, partner) = if column < width { (left, right) } else { (right, left) };
                if column_of(own) == Some(at)
                    && let Some(partner) = column_of(partner)
                {
                    origins(other, partner, found);
                }
            }
        }
        _ => {}
    }
}
