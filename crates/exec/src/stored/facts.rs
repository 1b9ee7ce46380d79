//! What the catalog says of a table, as the rules ask for it.

use std::sync::Arc;

use sql::bind::Relation;
use table::catalog::{Catalog, ConstraintKind, IndexMethod, IndexPart};
use table::rows::Handles;
use types::{KeyOrder, Oid};

use crate::tables::{KeyFacts, TableFacts};

/// What is known of the table with this OID, which the binder sees as `relation`; none where it is no
/// table with rows.
pub fn facts(
    catalog: &Catalog,
    handles: &Handles,
    oid: Oid,
    relation: Arc<Relation>,
) -> Option<TableFacts> {
    let def = catalog.table(oid)?;
    let data = def.relation.table()?;
    let mut keys = Vec::new();
    if !data.keyed_by.is_empty() {
        let primary = def
            .indexes
            .iter()
            .find(|relation| relation.index().is_some_and(|index| index.storage.is_none()));
        keys.push(KeyFacts {
            index: None,
            name: primary.map(|relation| relation.name.to_string()).unwrap_or_default(),
            columns: data.keyed_by.iter().map(|attnum| (*attnum, KeyOrder::ASCENDING)).collect(),
            is_unique: true,
        });
    }
    for relation in &def.indexes {
        let Some(index) = relation.index() else { continue };
        let searched = matches!(index.method, IndexMethod::Btree | IndexMethod::Hash);
        if !searched || !index.is_valid || index.storage.is_none() || index.predicate.is_some() {
            continue;
        }
        // The columns up to the first expression.
        let columns = index.keys.iter().map_while(|key| match &key.part {
            IndexPart::Column(attnum) => {
                let order =
                    KeyOrder { is_descending: key.is_descending, has_nulls_first: key.nulls_first };
                Some((*attnum, order))
            }
            IndexPart::Expr(_) => None,
        });
        let columns: Vec<(i16, KeyOrder)> = columns.collect();
        if columns.is_empty() {
            continue;
        }
        keys.push(KeyFacts {
            index: Some(relation.oid),
            name: relation.name.to_string(),
            is_unique: index.is_unique && index.is_immediate && columns.len() == index.keys.len(),
            columns,
        });
    }
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
    Some(TableFacts { relation, keys, checks, rows: handles.row_count(data.storage) })
}
