//! `pg_stats`: the planner's statistics of the values of columns.

use table::catalog::{Address, Column, Privileges, Relation};
use table::rows::ColumnStatistics;
use types::{Datum, Repr, Type};

use super::rows::{CatalogContext, Rows, array, bool, text};
use crate::rights::Rights;

/// A row for each column of the tables that have been looked at since the server was started: by `ANALYZE`, or
/// when a plan asked. Only those that the role may read.
pub(super) fn columns(scene: CatalogContext<'_>, rows: &mut Rows) {
    let names = scene.names;
    for relation in scene.relations() {
        let Some(table) = names.handles.table(&names.catalog, relation.oid) else { continue };
        let Some(statistics) = table.known_statistics() else { continue };
        if Rights::of(names).sees_in_part(relation.oid) {
            continue;
        }
        for column in relation.live_columns() {
            let may_read = names.is_superuser
                || Rights::of(names)
                    .has(Address::column(relation.oid, column.attnum), Privileges::SELECT);
            if let Some(known) = statistics.column(column.attnum as usize - 1)
                && may_read
            {
                row(scene, relation, (column, known, statistics.rows), rows);
            }
        }
    }
}

fn row(
    scene: CatalogContext<'_>,
    relation: &Relation,
    (column, known, count): (&Column, &ColumnStatistics, u64),
    rows: &mut Rows,
) {
    let floats = |values: &[f64]| {
        let values: Vec<Datum> = values.iter().map(|value| Datum::Float4(*value as f32)).collect();
        array(Type::FLOAT4, Repr::Float4, 1, &values)
    };
    let listed = |values: Vec<&Datum>| match values.is_empty() {
        true => Datum::Null,
        false => {
            let values: Vec<Datum> = values.into_iter().cloned().collect();
            array(column.ty, column.repr, 1, &values)
        }
    };
    // As PostgreSQL does: a part of the rows, negative, where the number grows with the table.
    let distinct = match known.distinct > 0.1 * count as f64 {
        true => -known.distinct / count.max(1) as f64,
        false => known.distinct,
    };
    let common = known.common().unwrap_or_default();
    let (values, parts): (Vec<&Datum>, Vec<f64>) = common.into_iter().unzip();
    let parts = if values.is_empty() { Datum::Null } else { floats(&parts) };
    rows.row(&[
        ("schemaname", text(scene.names.schema_name(relation.schema))),
        ("tablename", text(&relation.name)),
        ("attname", text(&column.name)),
        ("inherited", bool(false)),
        ("null_frac", Datum::Float4(known.null as f32)),
        ("avg_width", Datum::Int4(known.width.round() as i32)),
        ("n_distinct", Datum::Float4(distinct as f32)),
        ("most_common_vals", listed(values)),
        ("most_common_freqs", parts),
        ("histogram_bounds", listed(known.bounds().unwrap_or_default())),
        ("correlation", Datum::Float4(known.correlation as f32)),
    ]);
}
