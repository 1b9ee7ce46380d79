//! The views of the extension `pg_stat_statements`.

use types::{Datum, Oid};

use super::activity::READ_ALL_STATS;
use super::rows::{CatalogContext, Rows, bool, oid, text};

fn number(value: u64) -> Datum {
    Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Figures of PostgreSQL that are not counted here.
const COUNTS: &str = "plans shared_blks_dirtied shared_blks_written local_blks_hit local_blks_read \
     local_blks_dirtied local_blks_written wal_records wal_fpi jit_functions jit_inlining_count \
     jit_optimization_count jit_emission_count jit_deform_count";
/// The same of times, in milliseconds.
const TIMES: &str = "total_plan_time min_plan_time max_plan_time mean_plan_time stddev_plan_time \
     shared_blk_read_time shared_blk_write_time local_blk_read_time local_blk_write_time \
     temp_blk_read_time temp_blk_write_time jit_generation_time jit_inlining_time \
     jit_optimization_time jit_emission_time jit_deform_time";
/// Bytes of temporary files count as blocks of so many bytes.
const BLOCK_BYTES: u64 = 8_192;

/// A row for each statement. The texts of other roles' are shown to superusers and members of
/// `pg_read_all_stats`.
pub(super) fn statements(scene: CatalogContext<'_>, rows: &mut Rows) {
    let names = scene.names;
    let is_of = |role: Oid| names.present.has_privileges_of(names.role, role, names.database);
    let sees_all = is_of(READ_ALL_STATS);
    for (key, entry) in scene.client.instance.statements.all() {
        let cost = entry.cost();
        let is_shown = sees_all || names.role == key.role;
        let mut row = vec![
            ("userid", oid(key.role)),
            ("dbid", oid(key.database)),
            ("toplevel", bool(true)),
            ("queryid", if is_shown { Datum::Int8(key.query) } else { Datum::Null }),
            ("query", text(if is_shown { &entry.text } else { "<insufficient privilege>" })),
            ("calls", number(cost.calls)),
            ("total_exec_time", Datum::Float8(cost.total_ms)),
            ("min_exec_time", Datum::Float8(cost.min_ms)),
            ("max_exec_time", Datum::Float8(cost.max_ms)),
            ("mean_exec_time", Datum::Float8(cost.mean_ms)),
            ("stddev_exec_time", Datum::Float8(cost.deviation_ms())),
            ("rows", number(cost.rows)),
            ("shared_blks_hit", number(cost.blocks_hit)),
            ("shared_blks_read", number(cost.blocks_read)),
            ("temp_blks_read", number(cost.temp_read.div_ceil(BLOCK_BYTES))),
            ("temp_blks_written", number(cost.temp_written.div_ceil(BLOCK_BYTES))),
            ("wal_bytes", Datum::Numeric(0_u64.into())),
            ("stats_since", Datum::TimestampTz(cost.since)),
            ("minmax_stats_since", Datum::TimestampTz(cost.min_max_since)),
        ];
        row.extend(COUNTS.split_whitespace().map(|name| (name, number(0))));
        row.extend(TIMES.split_whitespace().map(|name| (name, Datum::Float8(0.0))));
        rows.row(&row);
    }
}

/// How often statements were dropped because there were too many, and since when they are counted.
pub(super) fn info(scene: CatalogContext<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let (dropped, reset) = instance.statements.about();
    rows.row(&[
        ("dealloc", number(dropped)),
        ("stats_reset", Datum::TimestampTz(reset.unwrap_or(instance.started))),
    ]);
}
