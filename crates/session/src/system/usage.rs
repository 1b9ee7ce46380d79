//! `pg_stat_all_tables`, `pg_stat_database` and the like: counts since the database was opened, or since
//! `pg_stat_reset()`.

use table::catalog::Relation;
use table::rows::{AnalyzedBy, Counter, Counts};
use types::Datum;
use types::time::TimestampTz;

use super::all;
use super::rows::{CatalogContext, Rows, oid, text};
use crate::counters::{Event, Events};
use crate::instance::{now, time_of};

/// PostgreSQL counts blocks of so many bytes.
const BLOCK_BYTES: u64 = 8_192;

fn number(value: u64) -> Datum {
    Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}

/// A time of the engine, where it has come.
fn at(us: Option<u64>) -> Datum {
    us.map_or(Datum::Null, |us| Datum::TimestampTz(time_of(us)))
}

fn moment(time: Option<TimestampTz>) -> Datum {
    time.map_or(Datum::Null, Datum::TimestampTz)
}

/// A row for each table of this database. Those of the system are computed, and their use is not counted.
pub(super) fn tables(scene: CatalogContext<'_>, rows: &mut Rows) {
    for system in all().iter().filter(|system| !system.is_view) {
        let schema = scene.names.schema_name(system.schema);
        let mut row = vec![
            ("relid", oid(system.oid)),
            ("schemaname", text(schema)),
            ("relname", text(system.name)),
        ];
        let zeros = COUNTS_OF_TABLE.split(' ').map(|name| (name, number(0)));
        row.extend(zeros);
        rows.row(&row);
    }
    let handles = &scene.names.handles;
    for relation in scene.relations() {
        let Some(data) = relation.table() else { continue };
        let has_index =
            scene.names.catalog.table(relation.oid).is_some_and(|t| !t.indexes.is_empty());
        let usage = handles.usage(relation.oid);
        let counts = usage.counts();
        let get = |counter| number(counts.get(counter));
        let of_index = |counter| if has_index { get(counter) } else { Datum::Null };
        let (analyzed, analyses) = usage.analyzed(AnalyzedBy::Command);
        let (sampled, samples) = usage.analyzed(AnalyzedBy::Plan);
        let (vacuumed, vacuums) = usage.vacuumed();
        rows.row(&[
            ("relid", oid(relation.oid)),
            ("schemaname", text(scene.names.schema_name(relation.schema))),
            ("relname", text(&relation.name)),
            ("seq_scan", get(Counter::SeqScans)),
            ("last_seq_scan", at(usage.last_seq_scan())),
            ("seq_tup_read", get(Counter::SeqRows)),
            ("idx_scan", of_index(Counter::IndexScans)),
            ("last_idx_scan", at(usage.last_index_scan())),
            ("idx_tup_fetch", of_index(Counter::IndexRows)),
            ("n_tup_ins", get(Counter::Inserted)),
            ("n_tup_upd", get(Counter::Updated)),
            ("n_tup_del", get(Counter::Deleted)),
            ("n_tup_hot_upd", number(0)),
            ("n_tup_newpage_upd", number(0)),
            ("n_live_tup", number(handles.row_count(data.storage))),
            ("n_dead_tup", number(0)),
            ("n_mod_since_analyze", number(usage.changes_since_analyzed())),
            ("n_ins_since_vacuum", number(0)),
            ("last_vacuum", at(vacuumed)),
            ("last_analyze", at(analyzed)),
            ("last_autoanalyze", at(sampled)),
            ("vacuum_count", number(vacuums)),
            ("autovacuum_count", number(0)),
            ("analyze_count", number(analyses)),
            ("autoanalyze_count", number(samples)),
        ]);
    }
}

/// The counters of a table, where PostgreSQL has numbers.
const COUNTS_OF_TABLE: &str = "seq_scan seq_tup_read n_tup_ins n_tup_upd n_tup_del n_tup_hot_upd n_tup_newpage_upd n_live_tup \
     n_dead_tup n_mod_since_analyze n_ins_since_vacuum vacuum_count autovacuum_count analyze_count \
     autoanalyze_count";

/// A row for each index of this database.
pub(super) fn indexes(scene: CatalogContext<'_>, rows: &mut Rows) {
    let catalog = &scene.names.catalog;
    let of = |index: &Relation| catalog.relation(index.index()?.table);
    for index in scene.relations() {
        let Some(table) = of(index) else { continue };
        let usage = scene.names.handles.usage(index.oid);
        let counts = usage.counts();
        rows.row(&[
            ("relid", oid(table.oid)),
            ("indexrelid", oid(index.oid)),
            ("schemaname", text(scene.names.schema_name(table.schema))),
            ("relname", text(&table.name)),
            ("indexrelname", text(&index.name)),
            ("idx_scan", number(counts.get(Counter::IndexScans))),
            ("last_idx_scan", at(usage.last_index_scan())),
            ("idx_tup_read", number(counts.get(Counter::IndexRows))),
            ("idx_tup_fetch", number(counts.get(Counter::IndexRows))),
        ]);
    }
}

/// A row for each database.
pub(super) fn databases(scene: CatalogContext<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let sessions = instance.sessions();
    let clock = now(&instance.env);
    let present = &scene.names.present;
    let mut databases: Vec<_> = present.databases().collect();
    databases.sort_by_key(|database| database.oid);
    for database in databases {
        let here = sessions.iter().filter(|slot| slot.database == database.oid);
        let count = here.clone().count();
        // Sessions that have not ended are added up now.
        let lasting: i64 =
            here.filter_map(|slot| slot.status.started()).map(|at| clock.0 - at.0).sum();
        let counters = instance.counters.of(database.oid);
        let events: Events = counters.now();
        let tables = present.relations().filter(|relation| {
            relation.table().is_some() && present.database_of(relation) == Some(database.oid)
        });
        let used: Vec<Counts> =
            tables.map(|table| scene.names.handles.usage(table.oid).counts()).collect();
        let sum = |counter| used.iter().map(|counts| counts.get(counter)).sum::<u64>();
        let event = |event| number(events.get(event));
        let ms = |event| Datum::Float8(events.ms(event));
        rows.row(&[
            ("datid", oid(database.oid)),
            ("datname", text(&database.name)),
            ("numbackends", Datum::Int4(i32::try_from(count).unwrap_or(i32::MAX))),
            ("xact_commit", event(Event::Commit)),
            ("xact_rollback", event(Event::Rollback)),
            ("blks_read", event(Event::BlockRead)),
            ("blks_hit", event(Event::BlockHit)),
            ("tup_returned", number(sum(Counter::SeqRows) + sum(Counter::IndexRows))),
            ("tup_fetched", number(sum(Counter::IndexRows))),
            ("tup_inserted", number(sum(Counter::Inserted))),
            ("tup_updated", number(sum(Counter::Updated))),
            ("tup_deleted", number(sum(Counter::Deleted))),
            ("conflicts", number(0)),
            ("temp_files", event(Event::TempFile)),
            ("temp_bytes", event(Event::TempByte)),
            ("deadlocks", event(Event::Deadlock)),
            ("blk_read_time", Datum::Float8(0.0)),
            ("blk_write_time", Datum::Float8(0.0)),
            (
                "session_time",
                Datum::Float8(events.ms(Event::SessionUs) + lasting.max(0) as f64 / 1_000.0),
            ),
            ("active_time", ms(Event::ActiveUs)),
            ("idle_in_transaction_time", ms(Event::IdleInTransactionUs)),
            ("sessions", event(Event::Session)),
            ("sessions_abandoned", number(0)),
            ("sessions_fatal", number(0)),
            ("sessions_killed", event(Event::Killed)),
            ("stats_reset", moment(counters.reset_at())),
        ]);
    }
}

/// The log: a record for each commit. Every sync follows one write.
pub(super) fn log(scene: CatalogContext<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let (counts, reset) = instance.counters.shared("wal", &instance.engine);
    rows.row(&[
        ("wal_records", number(counts.log_records)),
        ("wal_fpi", number(0)),
        ("wal_bytes", Datum::Numeric(counts.log_bytes.into())),
        ("wal_buffers_full", number(0)),
        ("wal_write", number(counts.log_syncs)),
        ("wal_sync", number(counts.log_syncs)),
        ("wal_write_time", Datum::Float8(0.0)),
        ("wal_sync_time", Datum::Float8(0.0)),
        ("stats_reset", moment(reset)),
    ]);
}

/// There is no process that writes blocks ahead; what is read is counted.
pub(super) fn background_writer(scene: CatalogContext<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let (counts, reset) = instance.counters.shared("bgwriter", &instance.engine);
    rows.row(&[
        ("buffers_clean", number(0)),
        ("maxwritten_clean", number(0)),
        ("buffers_alloc", number(counts.blocks_read)),
        ("stats_reset", moment(reset)),
    ]);
}

/// The store writes memory to files when there is enough of it, or at `CHECKPOINT`.
pub(super) fn checkpointer(scene: CatalogContext<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let (counts, reset) = instance.counters.shared("checkpointer", &instance.engine);
    rows.row(&[
        ("num_timed", number(0)),
        ("num_requested", number(counts.flushes)),
        ("restartpoints_timed", number(0)),
        ("restartpoints_req", number(0)),
        ("restartpoints_done", number(0)),
        ("write_time", Datum::Float8(0.0)),
        ("sync_time", Datum::Float8(0.0)),
        ("buffers_written", number(counts.written_bytes / BLOCK_BYTES)),
        ("stats_reset", moment(reset)),
    ]);
}

/// The blocks that sessions look up, and the bytes that the background writes into files.
pub(super) fn io(scene: CatalogContext<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let (counts, reset) = instance.counters.shared("io", &instance.engine);
    let databases = scene.names.present.databases();
    let hits: u64 = databases
        .map(|database| instance.counters.of(database.oid).now().get(Event::BlockHit))
        .sum();
    let row = |kind: &str, what: &[(&'static str, Datum)], rows: &mut Rows| {
        let mut row = vec![
            ("backend_type", text(kind)),
            ("object", text("relation")),
            ("context", text("normal")),
            ("op_bytes", number(BLOCK_BYTES)),
            ("stats_reset", moment(reset)),
        ];
        row.extend(what.iter().cloned());
        rows.row(&row);
    };
    let reads = [("reads", number(counts.blocks_read)), ("hits", number(hits))];
    row("client backend", &reads, rows);
    let writes = [("writes", number(counts.written_bytes / BLOCK_BYTES))];
    row("background worker", &writes, rows);
}
