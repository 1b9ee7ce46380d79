//! What goes on: settings of the session, who is connected, zones of time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use store::Csn;
use txn::{RelationLock, TxnId};
use types::time::{Interval, TimeZone, TimestampTz};
use types::{Datum, Oid, Repr, Type};

use super::rows::{Rows, Scene, array, bool, oid, text, text_or_null, texts, type_oid};
use crate::instance::{Slot, now, time_of};
use crate::settings::known::Unit;
use crate::settings::value::bare;

pub(super) fn settings(scene: Scene<'_>, rows: &mut Rows) {
    let settings = scene.client.settings.borrow();
    for (known, value) in settings.all() {
        let limit = |limit: f64| match known.kind.name() {
            "integer" | "real" => text(&bare(&crate::settings::value::Value::Real(limit))),
            _ => Datum::Null,
        };
        let unit = (known.unit != Unit::None).then(|| known.unit.name());
        rows.row(&[
            ("name", text(known.name)),
            ("setting", text(&bare(value))),
            ("unit", text_or_null(unit)),
            ("category", text("")),
            ("short_desc", text("")),
            ("context", text(known.scope.name())),
            ("vartype", text(known.kind.name())),
            ("source", text("default")),
            ("min_val", limit(known.least)),
            ("max_val", limit(known.most)),
            (
                "enumvals",
                if known.words.is_empty() {
                    Datum::Null
                } else {
                    texts(Type::TEXT, known.words.iter().copied())
                },
            ),
            ("boot_val", text(known.default)),
            ("reset_val", text(known.default)),
            ("pending_restart", bool(false)),
        ]);
    }
}

/// How many sessions each database has. Commits and rows are not counted by database: 0.
pub(super) fn databases(scene: Scene<'_>, rows: &mut Rows) {
    let sessions = scene.client.instance.sessions();
    let mut databases: Vec<_> = scene.names.present.databases().collect();
    databases.sort_by_key(|database| database.oid);
    for database in databases {
        let count = sessions.iter().filter(|slot| slot.database == database.oid).count();
        let counters = COUNTERS.split(' ').map(|name| (name, Datum::Int8(0)));
        let times = TIMES.split(' ').map(|name| (name, Datum::Float8(0.0)));
        let mut row = vec![
            ("datid", oid(database.oid)),
            ("datname", text(&database.name)),
            ("numbackends", Datum::Int4(i32::try_from(count).unwrap_or(i32::MAX))),
        ];
        row.extend(counters.chain(times));
        rows.row(&row);
    }
}

/// What is counted of a database where PostgreSQL counts it.
const COUNTERS: &str = "xact_commit xact_rollback blks_read blks_hit tup_returned tup_fetched \
                        tup_inserted tup_updated tup_deleted conflicts temp_files temp_bytes \
                        deadlocks sessions sessions_abandoned sessions_fatal sessions_killed";
/// The same of times, in milliseconds.
const TIMES: &str =
    "blk_read_time blk_write_time session_time active_time idle_in_transaction_time";

/// Its members see what all sessions are at.
const READ_ALL_STATS: Oid = Oid(3_375);

/// Who is connected; what they run is shown to them, to members of their roles and to superusers.
pub(super) fn sessions(scene: Scene<'_>, rows: &mut Rows) {
    let names = scene.names;
    let is_of = |role| names.present.has_privileges_of(names.role, role, names.database);
    let catalog = &scene.names.catalog;
    for slot in scene.client.instance.sessions() {
        let activity = slot.activity.lock().clone();
        let database = catalog.database(slot.database).map(|known| &*known.name);
        let role = catalog.role(slot.role).map(|known| &*known.name);
        let time = |us: i64| match us {
            0 => Datum::Null,
            us => Datum::TimestampTz(TimestampTz(us)),
        };
        let mut row = vec![
            ("datid", oid(slot.database)),
            ("datname", text_or_null(database)),
            ("pid", Datum::Int4(slot.process)),
            ("usesysid", oid(slot.role)),
            ("usename", text_or_null(role)),
        ];
        match is_of(slot.role) || is_of(READ_ALL_STATS) {
            false => row.push(("query", text("<insufficient privilege>"))),
            true => row.extend([
                ("application_name", text(&activity.application)),
                ("client_addr", activity.peer.client_address()),
                ("client_port", activity.peer.client_port()),
                ("backend_start", time(activity.started)),
                ("query_start", time(activity.query_started)),
                ("state_change", time(activity.query_started)),
                ("state", text(activity.state)),
                ("query", text(&activity.query)),
                ("backend_type", text("client backend")),
            ]),
        }
        rows.row(&row);
    }
}

pub(super) fn statements(scene: Scene<'_>, rows: &mut Rows) {
    let types = |types: Vec<Datum>| array(Type::REGTYPE, Repr::Oid, 1, &types);
    for (name, prepared) in scene.statements.iter().filter(|(name, _)| !name.is_empty()) {
        let columns = prepared.columns.as_deref().unwrap_or_default();
        let results = columns.iter().map(|column| type_oid(column.ty)).collect();
        rows.row(&[
            ("name", text(name)),
            ("statement", text(&prepared.text)),
            ("prepare_time", Datum::TimestampTz(prepared.made)),
            ("parameter_types", types(prepared.params.iter().map(|ty| type_oid(*ty)).collect())),
            ("result_types", if prepared.columns.is_some() { types(results) } else { Datum::Null }),
            ("from_sql", bool(prepared.is_command)),
            ("generic_plans", Datum::Int8(0)),
            ("custom_plans", Datum::Int8(0)),
        ]);
    }
}

pub(super) fn cursors(scene: Scene<'_>, rows: &mut Rows) {
    for (name, cursor) in scene.cursors {
        rows.row(&[
            ("name", text(name)),
            ("statement", text(cursor.portal.text())),
            ("is_holdable", bool(cursor.hold)),
            ("is_binary", bool(false)),
            ("is_scrollable", bool(cursor.scroll != Some(false))),
            ("creation_time", Datum::TimestampTz(cursor.made)),
        ]);
    }
}

/// The words of a mode in which a relation is locked. The modes that only this server has are what
/// PostgreSQL has in their place.
fn mode_name(mode: RelationLock) -> &'static str {
    match mode {
        RelationLock::AccessShare | RelationLock::Read => "AccessShareLock",
        RelationLock::RowShare => "RowShareLock",
        RelationLock::RowExclusive => "RowExclusiveLock",
        RelationLock::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
        RelationLock::Share => "ShareLock",
        RelationLock::ShareRowExclusive => "ShareRowExclusiveLock",
        RelationLock::Exclusive => "ExclusiveLock",
        RelationLock::AccessExclusive | RelationLock::Define => "AccessExclusiveLock",
    }
}

/// Locks of relations of this database, and advisory locks of all.
pub(super) fn locks(scene: Scene<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let sessions = instance.sessions();
    let process_of = |txn: TxnId| {
        let has = |slot: &&Arc<Slot>| slot.transaction.load(Ordering::Acquire) == txn.0;
        sessions.iter().find(has).map(|slot| slot.process)
    };
    let relations = scene.names.catalog.relations().map(|relation| relation.oid.0);
    for claim in instance.engine.relation_claims(relations) {
        let process = process_of(claim.txn);
        rows.row(&[
            ("locktype", text("relation")),
            ("database", oid(scene.names.database)),
            ("relation", oid(Oid(claim.relation))),
            ("virtualtransaction", text(&format!("{}/{}", process.unwrap_or(0), claim.txn.0))),
            ("pid", process.map_or(Datum::Null, Datum::Int4)),
            ("mode", text(mode_name(claim.mode))),
            ("granted", bool(claim.is_granted)),
            ("fastpath", bool(claim.is_noted)),
        ]);
    }
    for claim in instance.advisory.all() {
        rows.row(&[
            ("locktype", text("advisory")),
            ("database", oid(claim.key.database)),
            ("classid", oid(Oid(claim.key.class))),
            ("objid", oid(Oid(claim.key.object))),
            ("objsubid", Datum::Int2(if claim.key.is_pair { 2 } else { 1 })),
            ("virtualtransaction", text(&format!("{}/0", claim.process))),
            ("pid", Datum::Int4(claim.process)),
            ("mode", text(claim.mode.name())),
            ("granted", bool(claim.waits_since.is_none())),
            ("fastpath", bool(false)),
            ("waitstart", claim.waits_since.map_or(Datum::Null, Datum::TimestampTz)),
        ]);
    }
}

/// The commits that the statement sees, oldest first, with the tables that each has changed.
pub(super) fn commits(scene: Scene<'_>, rows: &mut Rows) -> types::Result<()> {
    let engine = &scene.client.instance.engine;
    let stored = scene.client.instance.catalogs.tables();
    let failed = |error| crate::error::Error::from(error).cause;
    for commit in engine.commits(Csn(1), scene.client.seen.get(), false) {
        let commit = commit.map_err(failed)?;
        let changed = engine.tables_changed(commit.csn).map_err(failed)?;
        let changed = changed.iter().filter_map(|change| stored.relation_of(change.table));
        let mut relations: Vec<Oid> = changed.collect();
        relations.sort_unstable();
        relations.dedup();
        let relations: Vec<Datum> = relations.into_iter().map(Datum::Oid).collect();
        rows.row(&[
            ("version", Datum::Int8(i64::try_from(commit.csn.0).unwrap_or(i64::MAX))),
            ("committed_at", Datum::TimestampTz(time_of(commit.time_us))),
            ("author", text(&commit.author)),
            ("message", text(&commit.message)),
            ("role", if commit.role.is_empty() { Datum::Null } else { text(&commit.role) }),
            (
                "authored_at",
                commit.authored_us.map_or(Datum::Null, |us| Datum::TimestampTz(time_of(us))),
            ),
            ("tables", array(Type::REGCLASS, Repr::Oid, 1, &relations)),
        ]);
    }
    Ok(())
}

/// What was erased of tables, oldest first, and whether its bytes are gone.
pub(super) fn erasures(scene: Scene<'_>, rows: &mut Rows) -> types::Result<()> {
    let engine = &scene.client.instance.engine;
    let failed = |error| crate::error::Error::from(error).cause;
    for erasure in table::rows::erasures(engine).map_err(failed)? {
        let commit =
            engine.commit_info(erasure.csn).map_err(|e| crate::error::Error::from(e).cause)?;
        let name = scene.names.relation_name(erasure.relation).map(|(_, name)| name);
        let state = match (erasure.pending, erasure.is_clean) {
            (_, true) => "done",
            (0, false) => "in log",
            (_, false) => "in files",
        };
        rows.row(&[
            ("version", Datum::Int8(i64::try_from(erasure.csn.0).unwrap_or(i64::MAX))),
            ("erased_at", Datum::TimestampTz(time_of(commit.time_us))),
            ("relation", oid(erasure.relation)),
            ("name", name.map_or(Datum::Null, text)),
            ("rows", Datum::Int8(i64::try_from(erasure.rows).unwrap_or(i64::MAX))),
            ("pending", Datum::Int8(erasure.pending as i64)),
            ("state", text(state)),
        ]);
    }
    Ok(())
}

pub(super) fn zones(scene: Scene<'_>, rows: &mut Rows) {
    let at = now(&scene.client.instance.env);
    for name in TimeZone::names() {
        let Some(zone) = TimeZone::find(name) else { continue };
        let local = zone.local(at);
        rows.row(&[
            ("name", text(name)),
            ("abbrev", text(local.abbreviation)),
            (
                "utc_offset",
                Datum::Interval(Interval {
                    months: 0,
                    days: 0,
                    us: i64::from(local.east_s) * 1_000_000,
                }),
            ),
            ("is_dst", bool(local.is_summer)),
        ]);
    }
}
