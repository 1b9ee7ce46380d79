//! The views of the extension `storage_engine`: parameters of tables `USING columnar` and `USING rowcompress`,
//! and the counts of their files.

use std::sync::Arc;

use store::StripeStats;
use table::catalog::{Relation, TableData};
use table::columnar::{Columnar, Settings};
use table::rowcompress::{BatchSettings, RowCompress};
use types::Datum;

use super::rows::{CatalogContext, Rows, bool, text, text_or_null};

/// The tables of a method with their settings, as `settings` reads them.
fn tables<'s, S>(
    scene: &'s CatalogContext<'_>,
    settings: impl Fn(&TableData) -> Option<S>,
) -> impl Iterator<Item = (&'s Arc<Relation>, &'s TableData, S)> {
    scene.relations().into_iter().filter_map(move |relation| {
        let data = relation.table()?;
        Some((relation, data, settings(data)?))
    })
}

/// The name of a table as `regclass` shows it.
fn name(scene: CatalogContext<'_>, relation: &Relation) -> Datum {
    let named = scalar::quote::identifier(&relation.name);
    if scene.names.is_relation_visible(relation.oid) {
        return text(&named);
    }
    let schema = scalar::quote::identifier(scene.names.schema_name(relation.schema));
    text(&format!("{schema}.{named}"))
}

fn int4(value: usize) -> Datum {
    Datum::Int4(i32::try_from(value).unwrap_or(i32::MAX))
}

fn int8(value: impl TryInto<i64>) -> Datum {
    Datum::Int8(value.try_into().unwrap_or(i64::MAX))
}

pub(super) fn column_options(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (relation, _, settings) in tables(&scene, Columnar::settings) {
        let (compression, level) = Settings::compression(&settings);
        rows.row(&[
            ("table_name", name(scene, relation)),
            ("chunk_group_row_limit", int4(settings.block_rows())),
            ("stripe_row_limit", int4(settings.stripe_rows())),
            ("compression", text(compression)),
            ("compression_level", Datum::Int4(level)),
            ("orderby", text_or_null(settings.order_text(relation).as_deref())),
            ("index_scan", bool(true)),
        ]);
    }
}

pub(super) fn batch_options(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (relation, _, settings) in tables(&scene, RowCompress::settings) {
        let (compression, level) = BatchSettings::compression(&settings);
        rows.row(&[
            ("table_name", name(scene, relation)),
            ("batch_size", settings.batch_rows().map_or(Datum::Null, int4)),
            ("compression", text(compression)),
            ("compression_level", Datum::Int4(level)),
        ]);
    }
}

/// The files of a table.
fn files(scene: CatalogContext<'_>, data: &TableData) -> types::Result<Vec<StripeStats>> {
    let store = scene.client.instance.engine.store();
    let found = store.stripes(data.storage).map_err(table::Error::from);
    found.map_err(|error| crate::error::Error::from(error).cause)
}

pub(super) fn stripes(scene: CatalogContext<'_>, rows: &mut Rows) -> types::Result<()> {
    for (relation, data, _) in tables(&scene, Columnar::settings) {
        for (number, stripe) in files(scene, data)?.iter().enumerate() {
            rows.row(&[
                ("table_name", name(scene, relation)),
                ("storage_id", int8(data.storage.0)),
                ("stripe_num", int8(number + 1)),
                ("file_offset", int8(stripe.offset)),
                ("data_length", int8(stripe.bytes())),
                ("column_count", int4(relation.live_columns().count())),
                ("chunk_group_count", int4(stripe.blocks.len())),
                ("row_count", int8(stripe.rows())),
            ]);
        }
    }
    Ok(())
}

pub(super) fn batches(scene: CatalogContext<'_>, rows: &mut Rows) -> types::Result<()> {
    for (relation, data, _) in tables(&scene, RowCompress::settings) {
        let stripes = files(scene, data)?;
        for (number, batch) in stripes.iter().flat_map(|stripe| &stripe.blocks).enumerate() {
            rows.row(&[
                ("table_name", name(scene, relation)),
                ("storage_id", int8(data.storage.0)),
                ("batch_num", int8(number + 1)),
                ("data_length", int8(batch.bytes)),
                ("row_count", int8(batch.rows - batch.deleted)),
            ]);
        }
    }
    Ok(())
}
