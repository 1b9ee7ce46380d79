//! The scan of a partitioned table becomes scans of its partitions.
//!
//! ```text
//!   Scan measurement where day >= $1 and value > 7
//!     ──> Append                                       pruned when it starts: day >= $1
//!           Scan measurement_2025 by its index on day
//!           Scan measurement_2026
//! ```
//!
//! Conditions bind the key of the table as they would bind an index over the same columns. Partitions without such
//! rows are left out now where the values are known now; otherwise when the scan starts.

use std::sync::Arc;

use sql::plan::{Expr, ExprKind, Moment, system};
use types::{Oid, TypeSource};

use super::access::bound_of;
use super::expr::conjuncts;
use crate::ranges::Binding;
use crate::schema::{PartFacts, PartitionFacts, Schema, TableFacts};
use crate::tree::{Append, AppendPart, Equal, Kind, Level, Node, Path, Scan};

/// Puts the scans of the partitions in the place of the scan of a partitioned table; any other operator stays.
pub(super) fn expand(node: &mut Node, types: &dyn TypeSource, schema: &dyn Schema) {
    let Kind::Scan(scan) = &node.kind else { return };
    if scan.computed {
        return;
    }
    let Some(facts) = schema.table(scan.relation).filter(|facts| facts.partitions.is_some()) else {
        return;
    };
    let mut append = Append {
        scan: Scan { path: Path::default(), conditional: None, sure: None, ..(**scan).clone() },
        levels: Vec::new(),
        parts: Vec::new(),
        is_ordered: false,
    };
    let whole = Node { kind: Kind::Scan(Box::new(append.scan.clone())), types: node.types.clone() };
    if !scan.only {
        add(&mut append, &whole, &facts, &[], (types, schema));
    }
    node.kind = Kind::Append(Box::new(append));
}

/// Adds the partitions of a table, of which `whole` is the scan.
fn add(
    append: &mut Append,
    whole: &Node,
    facts: &TableFacts,
    within: &[(usize, Oid)],
    (types, schema): (&dyn TypeSource, &dyn Schema),
) {
    let (Some(partitions), Kind::Scan(scan)) = (&facts.partitions, &whole.kind) else { return };
    // The partition keys of the past are not known.
    let is_known = matches!(scan.moment, Moment::Now);
    let list = scan.condition.clone().map(conjuncts).unwrap_or_default();
    let path = match is_known {
        true => bound_of(&partitions.key, facts, scan, &list, types),
        false => Path::default(),
    };
    let found = found_now(partitions, &path);
    let level = append.levels.len();
    append.levels.push(Level {
        router: Arc::clone(&partitions.router),
        width: partitions.key.parts.len(),
        // Partitions that are left out now need not be left out again when the scan starts.
        path: if found.is_some() { Path::default() } else { path },
    });
    for PartFacts { oid, name, columns } in &partitions.parts {
        if found.as_ref().is_some_and(|found| !found.contains(oid)) {
            continue;
        }
        let mut node = whole.clone();
        let Kind::Scan(part) = &mut node.kind else { continue };
        let has_no_alias = part.alias == part.name;
        (part.relation, part.name) = (*oid, name.clone());
        if has_no_alias {
            part.alias.clone_from(name);
        }
        place(part, columns);
        let mut within = within.to_vec();
        within.push((level, *oid));
        match schema.table(*oid) {
            Some(facts) if facts.partitions.is_some() => {
                add(append, &node, &facts, &within, (types, schema));
            }
            _ => append.parts.push(AppendPart { node, within }),
        }
    }
}

/// Maps the columns of a scan to the columns of a partition with the same names.
fn place(part: &mut Scan, columns: &[(i16, i16)]) {
    let own = |attnum: i16| {
        let found = columns.iter().find(|(whole, _)| *whole == attnum);
        found.map_or(attnum, |(_, own)| *own)
    };
    let is_ever = matches!(part.moment, Moment::Ever);
    for attnum in &mut part.attnums {
        *attnum = match *attnum {
            system::KEY if !is_ever => system::PLACED_KEY,
            text if text <= system::TEXT_OF => system::TEXT_OF - own(system::TEXT_OF - text),
            other => own(other),
        };
    }
    part.names = part.names.iter().map(|(attnum, name)| (own(*attnum), name.clone())).collect();
}

/// The partitions that have rows which are wanted, where that is known now.
fn found_now(partitions: &PartitionFacts, path: &Path) -> Option<Vec<Oid>> {
    if path.is_full() {
        return None;
    }
    let constant = |expr: &Expr| match &expr.kind {
        ExprKind::Const(value) => Some(value.clone()),
        _ => None,
    };
    let is_known = |expr: &Expr| constant(expr).is_some();
    let all_known =
        path.equal.iter().all(|equal| match equal {
            Equal::One(value) | Equal::AnyOf(value) => is_known(value),
            Equal::Null => true,
        }) && [&path.low, &path.high].into_iter().flatten().all(|end| is_known(&end.value));
    if !all_known {
        return None;
    }
    let mut value = |expr: &Expr| Ok(constant(expr).unwrap_or_default());
    let ranges = binding(path).ranges(&mut value).ok()?;
    let mut values = Vec::new();
    for (equal, (repr, _)) in path.equal.iter().zip(&path.columns) {
        values.extend(equal.value(*repr, &mut value).ok()?);
    }
    let keys = (values.len() == partitions.key.parts.len()).then_some(&values[..]);
    Some(partitions.router.within(&ranges, keys))
}

/// The values that a path binds of a key.
fn binding(path: &Path) -> Binding<'_, Expr> {
    Binding {
        columns: &path.columns,
        equal: &path.equal,
        low: path.low.as_ref().map(|end| (&end.value, end.inclusive)),
        high: path.high.as_ref().map(|end| (&end.value, end.inclusive)),
    }
}
