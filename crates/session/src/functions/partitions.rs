//! Functions about partitions: keys and bounds as SQL, and the tables above or below a table.

use std::sync::Arc;

use sql::bind::DefinitionUse;
use sql::deparse::Layout;
use table::catalog::{
    IndexMethod, IndexPart, PartitionBound, PartitionKey, PartitionStrategy, Partitioning,
    RangeEnd, Relation,
};
use types::{Datum, DatumRef, Oid, Record, Repr, Result, Type};

use super::definitions::{Over, printed};
use super::oid;
use crate::client::StatementContext;
use crate::system::{class_of, default_class};

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let relation = || around.names.catalog.relation(oid(args, 0));
    let some = |text: Option<String>| text.map_or(Datum::Null, Datum::text);
    Ok(Some(match name {
        "pg_get_partkeydef" => some(relation().and_then(|table| key_definition(around, table))),
        "pg_get_partition_constraintdef" => {
            let all = relation().map(|table| constraints(around, table)).unwrap_or_default();
            if all.is_empty() { Datum::Null } else { Datum::text(all_of(&all)) }
        }
        "pg_partition_root" => {
            let Some(relation) = relation().filter(|it| is_part_of_tree(it)) else {
                return Ok(Some(Datum::Null));
            };
            let above = ancestors(around, relation);
            Datum::Oid(above.last().copied().unwrap_or(relation.oid))
        }
        _ => return Ok(None),
    }))
}

/// True for partitioned tables and their partitions, and for the indexes of these.
fn is_part_of_tree(relation: &Relation) -> bool {
    relation.partitioning().is_some()
        || relation.partition_of().is_some()
        || relation.index().is_some_and(|index| index.partition_of.is_some())
}

fn whole_of(relation: &Relation) -> Option<Oid> {
    match relation.index() {
        Some(index) => index.partition_of,
        None => relation.partition_of().map(|of| of.parent),
    }
}

/// The tables or indexes that a table or an index is a part of, the nearest first.
fn ancestors(around: &StatementContext<'_>, relation: &Relation) -> Vec<Oid> {
    let above = |oid: &Oid| around.names.catalog.relation(*oid).and_then(|it| whole_of(it));
    std::iter::successors(whole_of(relation), above).collect()
}

/// The rows of the functions that give trees.
pub(super) fn rows(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Option<Result<scalar::Rows>> {
    let catalog = &around.names.catalog;
    let found = catalog.relation(oid(args, 0)).filter(|it| is_part_of_tree(it));
    let rows: Vec<Result<Datum>> = match name {
        "pg_partition_ancestors" => {
            let all = found.map_or_else(Vec::new, |relation| {
                let mut all = vec![relation.oid];
                all.extend(ancestors(around, relation));
                all
            });
            all.into_iter().map(|oid| Ok(Datum::Oid(oid))).collect()
        }
        "pg_partition_tree" => {
            let mut open: Vec<(Oid, Option<Oid>, i32)> =
                found.map(|it| (it.oid, whole_of(it), 0)).into_iter().collect();
            let mut rows = Vec::new();
            while let Some((oid, parent, level)) = open.pop() {
                let Some(relation) = catalog.relation(oid) else { continue };
                let mut below: Vec<Oid> = match relation.index() {
                    None => relation.partitions().to_vec(),
                    Some(_) => parts_of_index(around, oid),
                };
                let is_leaf = match relation.index() {
                    None => relation.partitioning().is_none(),
                    Some(index) => catalog
                        .relation(index.table)
                        .is_none_or(|table| table.partitioning().is_none()),
                };
                below.reverse();
                open.extend(below.into_iter().map(|part| (part, Some(oid), level + 1)));
                let parent = parent.map_or(DatumRef::Null, DatumRef::Oid);
                rows.push(Ok(Datum::from(Record::new([
                    (Type::REGCLASS, Repr::Oid, DatumRef::Oid(oid)),
                    (Type::REGCLASS, Repr::Oid, parent),
                    (Type::BOOL, Repr::Bool, DatumRef::Bool(is_leaf)),
                    (Type::INT4, Repr::Int4, DatumRef::Int4(level)),
                ]))));
            }
            rows
        }
        _ => return None,
    };
    Some(Ok(Box::new(rows.into_iter())))
}

fn parts_of_index(around: &StatementContext<'_>, whole: Oid) -> Vec<Oid> {
    let catalog = &around.names.catalog;
    let table = catalog.relation(whole).and_then(|relation| Some(relation.index()?.table));
    let table = table.and_then(|table| catalog.relation(table));
    let partitions = table.map_or(&[][..], |table| table.partitions());
    let is_part = |index: &&Arc<Relation>| {
        index.index().is_some_and(|index| index.partition_of == Some(whole))
    };
    let part = |oid: &Oid| catalog.table(*oid)?.indexes.iter().find(is_part).map(|index| index.oid);
    partitions.iter().filter_map(part).collect()
}

/// `RANGE (day, lower(name) COLLATE "C")`
fn key_definition(around: &StatementContext<'_>, table: &Relation) -> Option<String> {
    let partitioning = table.partitioning()?;
    let keys: Vec<String> =
        partitioning.keys.iter().map(|key| whole_key(around, table, partitioning, key)).collect();
    let word = match partitioning.strategy {
        PartitionStrategy::Range => "RANGE",
        PartitionStrategy::List => "LIST",
        PartitionStrategy::Hash => "HASH",
    };
    Some(format!("{word} ({})", keys.join(", ")))
}

/// A key with its collation and its operator class, where these are not the usual ones.
fn whole_key(
    around: &StatementContext<'_>,
    table: &Relation,
    partitioning: &Partitioning,
    key: &PartitionKey,
) -> String {
    let names = &*around.names;
    let mut text = key_text(around, table, key);
    let usual = match key.part {
        IndexPart::Column(attnum) => table.column(attnum).map(|column| column.collation),
        IndexPart::Expr(_) => Some(names.catalog.collation_of(key.ty)),
    };
    if key.collation != Oid::NONE && Some(key.collation) != usual {
        let name = types::Objects::name(names, Type::REGCOLLATION, key.collation);
        text += &format!(" COLLATE {}", name.unwrap_or_default());
    }
    let is_hash = partitioning.strategy == PartitionStrategy::Hash;
    let method = if is_hash { IndexMethod::Hash } else { IndexMethod::Btree };
    if let Some(class) = &key.class
        && default_class(names, key.ty, method).and_then(|usual| usual.kept_name())
            != Some(&**class)
        && class_of(names, key.ty, method, Some(class)).is_some()
    {
        text += &format!(" {}", scalar::quote::identifier(class));
    }
    text
}

fn key_text(around: &StatementContext<'_>, table: &Relation, key: &PartitionKey) -> String {
    match &key.part {
        IndexPart::Column(attnum) => {
            let name = table.column(*attnum).map_or("", |column| &column.name);
            scalar::quote::identifier(name)
        }
        IndexPart::Expr(expr) => {
            let over = Over::Relation(table.oid);
            let printed = printed(around, expr, over, DefinitionUse::Any, Layout::new(false));
            if printed.is_call { printed.text } else { format!("({})", printed.text) }
        }
    }
}

/// The expressions among the keys of a partitioned table.
pub(super) fn key_exprs(around: &StatementContext<'_>, table: &Relation) -> Option<String> {
    let keys = table.partitioning()?.keys.iter().filter_map(|key| match &key.part {
        IndexPart::Expr(expr) => {
            let over = Over::Relation(table.oid);
            Some(printed(around, expr, over, DefinitionUse::Any, Layout::new(false)).text)
        }
        IndexPart::Column(_) => None,
    });
    Some(keys.collect::<Vec<_>>().join(", "))
}

/// The bound of a partition, as `CREATE TABLE` takes it.
pub(super) fn bound(around: &StatementContext<'_>, partition: &Relation) -> Option<String> {
    let of = partition.partition_of()?;
    let parent = around.names.catalog.relation(of.parent)?;
    let keys = &parent.partitioning()?.keys;
    let types = around.types();
    Some(of.bound.to_sql(&mut |at, value| keys[at].written(value, &types)))
}

/// A value as a constant with its type, where that does not follow.
fn literal(around: &StatementContext<'_>, key: &PartitionKey, value: &Datum) -> String {
    let types = around.types();
    let text = key.written(value, &types);
    let is_plain =
        matches!(key.ty, Type::INT4 | Type::NUMERIC | Type::BOOL) && !text.starts_with('\'');
    if is_plain {
        return text;
    }
    let quoted = if text.starts_with('\'') { text } else { format!("'{text}'") };
    format!("{quoted}::{}", types::format_type(types.types, key.ty, types::Modifier::NONE))
}

/// Conditions of which all hold.
fn all_of(conditions: &[String]) -> String {
    match conditions {
        [one] => one.clone(),
        _ => format!("({})", conditions.join(" AND ")),
    }
}

/// The conditions that hold for the rows of a partition, of the outermost table first.
fn constraints(around: &StatementContext<'_>, partition: &Relation) -> Vec<String> {
    let catalog = &around.names.catalog;
    let Some(of) = partition.partition_of() else { return Vec::new() };
    let Some(parent) = catalog.relation(of.parent) else { return Vec::new() };
    let mut all = constraints(around, parent);
    all.extend(constraint(around, parent, partition, &of.bound).into_iter().flatten());
    all
}

fn constraint(
    around: &StatementContext<'_>,
    parent: &Relation,
    partition: &Relation,
    bound: &PartitionBound,
) -> Option<Vec<String>> {
    let partitioning = parent.partitioning()?;
    let keys: Vec<String> =
        partitioning.keys.iter().map(|key| key_text(around, parent, key)).collect();
    let value = |at: usize, value: &Datum| literal(around, &partitioning.keys[at], value);
    Some(match bound {
        PartitionBound::Hash { modulus, remainder } => vec![format!(
            "satisfies_hash_partition('{}'::oid, {modulus}, {remainder}, {})",
            parent.oid,
            keys.join(", ")
        )],
        PartitionBound::Default => {
            let others = partitioning.partitions.iter().filter(|oid| **oid != partition.oid);
            let others = others.filter_map(|oid| {
                let other = around.names.catalog.relation(*oid)?;
                Some(all_of(&constraint(around, parent, other, &other.partition_of()?.bound)?))
            });
            let others: Vec<String> = others.collect();
            match &others[..] {
                [] => return None,
                [one] => vec![format!("(NOT {one})")],
                _ => vec![format!("(NOT ({}))", others.join(" OR "))],
            }
        }
        PartitionBound::List(values) => {
            let key = &keys[0];
            let known: Vec<String> = values
                .iter()
                .filter(|known| !known.is_null())
                .map(|known| value(0, known))
                .collect();
            let is_one = match &known[..] {
                [] => None,
                [one] => Some(format!("({key} = {one})")),
                _ => Some(format!("({key} = ANY (ARRAY[{}]))", known.join(", "))),
            };
            match (known.len() < values.len(), is_one) {
                (true, Some(is_one)) => vec![format!("(({key} IS NULL) OR {is_one})")],
                (true, None) => vec![format!("({key} IS NULL)")],
                (false, is_one) => {
                    vec![format!("({key} IS NOT NULL)"), is_one.unwrap_or_default()]
                }
            }
        }
        PartitionBound::Range(low, high) => {
            let mut all: Vec<String> =
                keys.iter().map(|key| format!("({key} IS NOT NULL)")).collect();
            all.extend(side(&keys, low, [">", ">="], &value));
            all.extend(side(&keys, high, ["<", "<"], &value));
            all
        }
    })
}

/// That a row is on one side of an end of a range: `symbols` of a column before the last, and of the last.
fn side(
    keys: &[String],
    end: &[RangeEnd],
    symbols: [&str; 2],
    value: &dyn Fn(usize, &Datum) -> String,
) -> Option<String> {
    let is_low = symbols[0] == ">";
    let known = end.iter().take_while(|end| matches!(end, RangeEnd::Value(_))).count();
    let values: Vec<String> = end[..known]
        .iter()
        .enumerate()
        .filter_map(|(at, end)| match end {
            RangeEnd::Value(known) => Some(value(at, known)),
            _ => None,
        })
        .collect();
    // After equal values, what is open lets all or none of the rest through.
    let takes_equal = match end.get(known) {
        None => symbols[1].ends_with('='),
        Some(open) => (*open == RangeEnd::Min) == is_low,
    };
    let mut any = Vec::new();
    for at in 0..known {
        let mut all: Vec<String> =
            (0..at).map(|before| format!("({} = {})", keys[before], values[before])).collect();
        let is_last = at + 1 == known;
        let equal = if is_last && takes_equal { "=" } else { "" };
        all.push(format!("({} {}{equal} {})", keys[at], symbols[0], values[at]));
        any.push(match &all[..] {
            [one] => one.clone(),
            _ => format!("({})", all.join(" AND ")),
        });
    }
    match &any[..] {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(format!("({})", any.join(" OR "))),
    }
}
