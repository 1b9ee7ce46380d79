//! The catalog's facts about a table, in the form that the rules need.

use std::sync::Arc;

use sql::bind::{Names, Relation};
use sql::plan::{Expr, ExprKind};
use table::catalog::{
    self, Catalog, ConstraintKind, Index, IndexMethod, IndexPart, Router, SqlText,
};
use table::index::ItemClass;
use table::rows::Handles;
use types::{Context, KeyOrder, Oid, Style};

use crate::schema::{
    ColumnarFacts, KeyFacts, KeyPart, PartFacts, PartitionFacts, TableFacts, Values,
};

/// The facts about the table with this OID, which the binder sees as `relation`; none if it is
/// no table with rows. `names` binds the expressions of its indexes.
pub fn facts(
    catalog: &Catalog,
    handles: &Handles,
    oid: Oid,
    relation: Arc<Relation>,
    names: &dyn Names,
) -> Option<TableFacts> {
    let def = catalog.table(oid)?;
    let data = def.relation.table()?;
    let mut keys = Vec::new();
    if !data.keyed_by.is_empty() {
        let primary = def
            .indexes
            .iter()
            .find(|relation| relation.index().is_some_and(|index| index.storage.is_none()));
        let part = |attnum: &i16| (KeyPart::Column(*attnum), KeyOrder::ASCENDING);
        keys.push(KeyFacts {
            index: None,
            name: primary.map(|relation| relation.name.to_string()).unwrap_or_default(),
            parts: data.keyed_by.iter().map(part).collect(),
            is_unique: true,
            predicate: None,
            classes: None,
            is_whole: true,
        });
    }
    let of_index = |index: &Arc<catalog::Relation>| key(index, &relation, names);
    keys.extend(def.indexes.iter().filter_map(of_index));
    // PostgreSQL looks at checks in the order of their names.
    let mut checks: Vec<(String, String)> = def
        .constraints
        .iter()
        .filter_map(|constraint| match &constraint.kind {
            ConstraintKind::Check { expr, .. } => {
                Some((constraint.name.to_string(), expr.text.to_string()))
            }
            _ => None,
        })
        .collect();
    checks.sort();
    let rows = handles.row_count(data.storage);
    let table = handles.table(catalog, oid);
    let out_of_line = table.iter().flat_map(|table| {
        let live = table.relation().live_columns().map(|column| column.attnum);
        live.filter(|attnum| table.rows().is_out_of_line(position(*attnum)))
    });
    let out_of_line = out_of_line.collect();
    let has_blocks = table.as_ref().is_some_and(|table| table.rows().has_blocks());
    let values = table.map(|table| {
        let engine = Arc::downgrade(handles.engine());
        Values::new(move || table.statistics(&engine.upgrade()?, rows))
    });
    let columnar = |index: &Arc<catalog::Relation>| columnar(index, &relation, names);
    let columnar = def.indexes.iter().filter_map(columnar).collect();
    let partitions = partitions(catalog, &def.relation, &relation, names);
    // Statistics are those of partitions: the table itself has no rows.
    let values = values.filter(|_| partitions.is_none());
    let rows = match &partitions {
        // The rows of a partitioned table lie in others.
        Some(facts) => facts.leaves.iter().map(|leaf| count(catalog, handles, *leaf)).sum(),
        None => rows,
    };
    Some(TableFacts {
        relation,
        keys,
        out_of_line,
        checks,
        has_blocks,
        columnar,
        rows,
        values,
        partitions,
        is_partition: def.relation.partition_of().is_some(),
    })
}

/// How many rows a table has.
fn count(catalog: &Catalog, handles: &Handles, oid: Oid) -> u64 {
    let storage = catalog.relation(oid).and_then(|relation| relation.storage());
    storage.map_or(0, |storage| handles.row_count(storage))
}

/// How the rows of a table are divided; `None` if it is not partitioned.
fn partitions(
    catalog: &Catalog,
    relation: &catalog::Relation,
    bound: &Relation,
    names: &dyn Names,
) -> Option<PartitionFacts> {
    let partitioning = relation.partitioning()?;
    let router = Router::of(catalog, relation)?;
    let part = |key: &catalog::PartitionKey| {
        let part = match &key.part {
            IndexPart::Column(attnum) => KeyPart::Column(*attnum),
            IndexPart::Expr(text) => KeyPart::Expr(self::bound(text, bound, names)?),
        };
        Some((part, KeyOrder::ASCENDING))
    };
    let key = KeyFacts {
        index: None,
        name: String::new(),
        parts: partitioning.keys.iter().map_while(part).collect(),
        is_unique: false,
        predicate: None,
        classes: None,
        is_whole: true,
    };
    let in_order = router.in_order();
    let part = |oid: &Oid| {
        let part = catalog.relation(*oid)?;
        let column = |column: &catalog::Column| {
            Some((column.attnum, part.column_named(&column.name)?.attnum))
        };
        let columns = relation.live_columns().filter_map(column).collect();
        Some(PartFacts { oid: *oid, name: part.name.to_string(), columns })
    };
    let all = in_order.as_ref().unwrap_or(&partitioning.partitions);
    Some(PartitionFacts {
        key,
        parts: all.iter().filter_map(part).collect(),
        is_in_order: in_order.is_some(),
        leaves: catalog.leaves(relation.oid),
        router: Arc::new(router),
    })
}

/// The facts about an index of a table; none if it cannot be read.
fn key(relation: &catalog::Relation, table: &Relation, names: &dyn Names) -> Option<KeyFacts> {
    let index: &Index = relation.index()?;
    if !index.is_valid || index.storage.is_none() || index.method == IndexMethod::Columnar {
        return None;
    }
    // Sort keys that are made now cannot be compared with those of other tables of the language.
    if index.keys.iter().filter_map(|key| key.sort.as_ref()).any(|sort| !sort.is_current()) {
        return None;
    }
    let bound = |text: &SqlText| bound(text, table, names);
    let predicate = match &index.predicate {
        Some(text) => Some(bound(text)?),
        None => None,
    };
    let classes = ItemClass::all(index);
    let part = |key: &catalog::IndexKey| {
        let order = KeyOrder { is_descending: key.is_descending, has_nulls_first: key.nulls_first };
        Some((part_of(key, table, names)?, order))
    };
    let parts: Vec<_> = index.keys.iter().map_while(part).collect();
    if parts.is_empty() || (classes.is_some() && parts.len() < index.keys.len()) {
        return None;
    }
    Some(KeyFacts {
        index: Some(relation.oid),
        name: relation.name.to_string(),
        is_unique: index.is_unique && index.is_immediate && parts.len() == index.keys.len(),
        parts,
        predicate,
        classes,
        is_whole: index.is_whole,
    })
}

/// Returns what the planner knows of an index whose columns it can read; `None` for any other index.
fn columnar(
    relation: &catalog::Relation,
    table: &Relation,
    names: &dyn Names,
) -> Option<ColumnarFacts> {
    let index = relation.index()?;
    if !index.is_valid || index.method != IndexMethod::Columnar {
        return None;
    }
    let parts = index.keys.iter().map(|key| part_of(key, table, names));
    Some(ColumnarFacts {
        index: relation.oid,
        name: relation.name.to_string(),
        parts: parts.collect::<Option<_>>()?,
    })
}

fn part_of(key: &catalog::IndexKey, table: &Relation, names: &dyn Names) -> Option<KeyPart> {
    let part = match &key.part {
        IndexPart::Column(attnum) => KeyPart::Column(*attnum),
        IndexPart::Expr(text) => KeyPart::Expr(bound(text, table, names)?),
    };
    let Some(sort) = &key.sort else { return Some(part) };
    // The binder compares and orders such texts by the same expression.
    let text = match part {
        KeyPart::Expr(text) => text,
        KeyPart::Column(attnum) => {
            let columns = &table.columns;
            let place = columns.iter().position(|column| column.attnum == attnum)?;
            let kind = ExprKind::Column { levels_up: 0, index: u32::try_from(place).ok()? };
            Expr::of(kind, columns[place].ty, sql::At::NONE)
        }
    };
    Some(KeyPart::Expr(sql::bind::sort_key(text, &sort.locale, sort.is_deterministic)))
}

/// The bound form of an expression over the columns of a table; none if it cannot be bound any more.
fn bound(text: &SqlText, table: &Relation, names: &dyn Names) -> Option<Expr> {
    let style = Style::default();
    let context = Context { types: names, ..Context::new(&style) };
    sql::bind::expression(&text.text, Some(table), names, context).ok()
}

/// The place of a column among all that ever were.
fn position(attnum: i16) -> usize {
    usize::try_from(attnum - 1).unwrap_or_default()
}
