//! Which partition a row of a partitioned table belongs to, and the row as it is there.
//!
//! ```text
//!   a row of the whole        (id, day, value)      by the columns of the whole
//!   its partition             measurement_2026      by the values that decide
//!   the row there             (day, id, value)      the same values, by name
//! ```
//!
//! Rows have a value for each column that their table ever had.

use std::borrow::Cow;
use std::sync::Arc;

use types::{Datum, Object, Oid, SqlState, text};

use super::change::RowValues;
use super::handles::Handles;
use super::table::{Table, position};
use crate::catalog::{Catalog, Column, Constraint, ConstraintKind, IndexPart, Relation};
use crate::{Error, Result};

/// A row of one table as a row of another, whose columns have the same names.
pub fn moved<'r>(from: &Relation, to: &Relation, row: &'r [Datum]) -> Cow<'r, [Datum]> {
    let pairs = from.columns.iter().zip(&to.columns);
    let is_same = |(one, other): (&Column, &Column)| {
        one.name == other.name && !one.is_dropped && !other.is_dropped
    };
    if from.columns.len() == to.columns.len() && pairs.into_iter().all(is_same) {
        return Cow::Borrowed(row);
    }
    let value = |column: &Column| {
        let own = if column.is_dropped { None } else { from.column_named(&column.name) };
        own.and_then(|own| row.get(position(own.attnum)).cloned()).unwrap_or_default()
    };
    Cow::Owned(to.columns.iter().map(value).collect())
}

/// The partition right below a table that a row belongs to, and the values that decide.
fn next(
    table: &Table,
    catalog: &Catalog,
    values: &mut dyn RowValues,
    row: &[Datum],
) -> Result<(Option<Oid>, Vec<Datum>)> {
    let mut keys = Vec::new();
    values.partition_keys(table.relation(), row, &mut keys)?;
    Ok((table.router(catalog).and_then(|router| router.find(&keys)), keys))
}

/// The partition that a row of a partitioned table belongs to, and the row as it is there.
///
/// # Errors
/// 23514 where there is none.
pub fn place(
    (handles, catalog): (&Handles, &Catalog),
    values: &mut dyn RowValues,
    of: &Arc<Table>,
    row: &[Datum],
) -> Result<(Arc<Table>, Vec<Datum>)> {
    let (mut table, mut row) = (Arc::clone(of), row.to_vec());
    while table.relation().partitioning().is_some() {
        let (found, keys) = next(&table, catalog, values, &row)?;
        let found = found.ok_or_else(|| no_partition(&table, &keys, values))?;
        let below = handles.table(catalog, found).ok_or_else(gone)?;
        if let Cow::Owned(there) = moved(table.relation(), below.relation(), &row) {
            row = there;
        }
        table = below;
    }
    Ok((table, row))
}

/// Whether a row belongs to the partition that it is to be in. It does where the table is no partition.
///
/// # Errors
/// Fails if the values that decide cannot be computed.
pub fn is_at_home(
    (handles, catalog): (&Handles, &Catalog),
    values: &mut dyn RowValues,
    table: &Arc<Table>,
    row: &[Datum],
) -> Result<bool> {
    let (mut table, mut row) = (Arc::clone(table), Cow::Borrowed(row));
    while let Some(of) = table.relation().partition_of() {
        let above = handles.table(catalog, of.parent).ok_or_else(gone)?;
        let there = moved(table.relation(), above.relation(), &row).into_owned();
        if next(&above, catalog, values, &there)?.0 != Some(table.relation().oid) {
            return Ok(false);
        }
        (table, row) = (above, Cow::Owned(there));
    }
    Ok(true)
}

/// True if a partition has checks, or refuses NULL, where the table above it does not.
pub fn has_own_checks(catalog: &Catalog, part: &Table) -> bool {
    let is_own = |constraint: &Arc<Constraint>| {
        matches!(constraint.kind, ConstraintKind::Check { .. }) && constraint.partition_of.is_none()
    };
    if part.def().constraints.iter().any(is_own) {
        return true;
    }
    let above = part.relation().partition_of().and_then(|of| catalog.relation(of.parent));
    let refuses_null = |column: &Column| {
        let whole = above.and_then(|above| above.column_named(&column.name));
        column.not_null && whole.is_some_and(|whole| !whole.not_null)
    };
    part.relation().live_columns().any(refuses_null)
}

fn gone() -> Error {
    Error::new(SqlState::INTERNAL_ERROR, "a partition is not in the catalog of the statement")
}

fn no_partition(table: &Table, keys: &[Datum], values: &dyn RowValues) -> Error {
    let relation = table.relation();
    let context = values.context();
    let (mut names, mut shown) = (Vec::new(), Vec::new());
    let parts = relation.partitioning().into_iter().flat_map(|partitioning| &partitioning.keys);
    for (key, value) in parts.zip(keys) {
        names.push(match &key.part {
            IndexPart::Column(attnum) => {
                relation.column(*attnum).map_or_else(String::new, |it| it.name.to_string())
            }
            IndexPart::Expr(expr) => expr.text.to_string(),
        });
        let value = text::to_string(value.as_ref(), key.ty, key.modifier, &context);
        shown.push(value.unwrap_or_else(|| "null".to_owned()));
    }
    let name = &relation.name;
    let message = format!("no partition of relation \"{name}\" found for row");
    let detail = format!(
        "Partition key of the failing row contains ({}) = ({}).",
        names.join(", "),
        shown.join(", ")
    );
    types::Error::new(SqlState::CHECK_VIOLATION, message)
        .with_detail(detail)
        .about(Object::Schema, table.schema())
        .about(Object::Table, &**name)
        .into()
}
