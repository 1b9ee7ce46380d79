//! Current activity: settings of the session, connected sessions, time zones.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::Ordering;

use store::Csn;
use txn::{LockWait, RelationLock, TxnId};
use types::time::{Interval, TimeZone, TimestampTz};
use types::{Datum, Oid, Repr, Type};

use super::rows::{CatalogContext, Rows, array, bool, oid, text, text_or_null, texts, type_oid};
use crate::backend_status::{BackendState, WAIT_EVENTS};
use crate::configuration::ConfigSource;
use crate::instance::{Instance, Slot, now, time_of};
use crate::settings::known::Unit;
use crate::settings::value::bare;

pub(super) fn settings(scene: CatalogContext<'_>, rows: &mut Rows) {
    let settings = scene.client.settings.borrow();
    let configuration = &scene.client.instance.configuration;
    let in_force = configuration.in_force();
    let file = configuration.file_lines().map(|(file, _)| file);
    for (place, (known, value)) in settings.all().enumerate() {
        let reset = settings.reset_value(place);
        let configured = in_force.iter().find(|one| one.name.eq_ignore_ascii_case(known.name));
        let source = match configured.map(|one| one.source) {
            _ if value != reset => "session",
            Some(ConfigSource::Given) => "command line",
            Some(ConfigSource::File) => "configuration file",
            Some(ConfigSource::Default) | None => "default",
        };
        let line = configured.and_then(|one| one.line).filter(|_| source == "configuration file");
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
            ("source", text(source)),
            ("sourcefile", text_or_null(file.as_deref().filter(|_| line.is_some()))),
            ("sourceline", line.map_or(Datum::Null, |line| Datum::Int4(line as i32))),
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
            ("reset_val", text(&bare(reset))),
            ("pending_restart", bool(configuration.is_pending(known.name))),
        ]);
    }
}

/// The lines of the file that `ALTER SYSTEM` writes.
pub(super) fn file_settings(scene: CatalogContext<'_>, rows: &mut Rows) {
    let Some((file, lines)) = scene.client.instance.configuration.file_lines() else { return };
    for (line, number) in lines.iter().zip(1..) {
        rows.row(&[
            ("sourcefile", text(&file)),
            ("sourceline", Datum::Int4(line.number as i32)),
            ("seqno", Datum::Int4(number)),
            ("name", text(&line.name)),
            ("setting", text(&line.value)),
            ("applied", bool(line.error.is_none())),
            ("error", text_or_null(line.error.as_deref())),
        ]);
    }
}

/// Its members see what all sessions are at.
pub(super) const READ_ALL_STATS: Oid = Oid(3_375);

/// The connected sessions; their statements are shown to their own roles, to members of those and
/// to superusers.
pub(super) fn sessions(scene: CatalogContext<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let names = scene.names;
    let is_of = |role| names.present.has_privileges_of(names.role, role, names.database);
    let catalog = &scene.names.catalog;
    let waits = Waits::now(instance);
    for slot in instance.sessions() {
        let database = catalog.database(slot.database).map(|known| &*known.name);
        let role = catalog.role(slot.role).map(|known| &*known.name);
        let time = |time: Option<TimestampTz>| time.map_or(Datum::Null, Datum::TimestampTz);
        let mut row = vec![
            ("datid", oid(slot.database)),
            ("datname", text_or_null(database)),
            ("pid", Datum::Int4(slot.process)),
            ("usesysid", oid(slot.role)),
            ("usename", text_or_null(role)),
        ];
        if !is_of(slot.role) && !is_of(READ_ALL_STATS) {
            row.push(("query", text("<insufficient privilege>")));
            rows.row(&row);
            continue;
        }
        let (about, status) = (slot.status.about(), &slot.status);
        // It is read once: a row must not say that a session is idle and waits for a lock.
        let state = status.state();
        let wait = waits.of(&slot, state);
        let writes =
            status.writes().map(|txn| txn::stamp_of_transaction(instance.transaction_number(txn)));
        let stamp = |stamp: Option<u32>| stamp.map_or(Datum::Null, |stamp| oid(Oid(stamp)));
        row.extend([
            ("application_name", text(&about.application)),
            ("client_addr", about.peer.client_address()),
            ("client_port", about.peer.client_port()),
            ("backend_start", time(status.started())),
            ("xact_start", time(status.transaction_started())),
            ("query_start", time(status.query_started())),
            ("state_change", time(status.state_changed())),
            ("wait_event_type", text_or_null(wait.map(|(kind, _)| kind))),
            ("wait_event", text_or_null(wait.map(|(_, name)| name))),
            ("state", text_or_null(state.name())),
            ("backend_xid", stamp(writes)),
            ("backend_xmin", stamp(status.sees().map(txn::stamp_of_commit))),
            ("query", text(&about.query)),
            ("backend_type", text("client backend")),
        ]);
        rows.row(&row);
    }
}

/// The waits of all sessions.
struct Waits {
    locks: HashMap<TxnId, LockWait>,
    /// The sessions that wait for advisory locks.
    advisory: HashSet<i32>,
}

impl Waits {
    fn now(instance: &Instance) -> Waits {
        let locks = instance.engine.lock_waits().into_iter();
        let claims = instance.advisory.all().into_iter();
        Waits {
            locks: locks.map(|wait| (wait.txn, wait)).collect(),
            advisory: claims
                .filter(|claim| claim.waits_since.is_some())
                .map(|claim| claim.process)
                .collect(),
        }
    }

    /// The type and the name of what a session waits for. Only a statement waits for a lock: one that has
    /// ended meanwhile does no more.
    fn of(&self, slot: &Slot, state: BackendState) -> Option<(&'static str, &'static str)> {
        let is_active = state == BackendState::Active;
        let transaction = TxnId(slot.transaction.load(Ordering::Acquire));
        if let Some(wait) = self.locks.get(&transaction).filter(|_| is_active) {
            return Some(("Lock", if wait.is_relation { "relation" } else { "transactionid" }));
        }
        if is_active && self.advisory.contains(&slot.process) {
            return Some(("Lock", "advisory"));
        }
        slot.status.wait().names()
    }
}

/// The events that sessions of this server wait for.
pub(super) fn wait_events(rows: &mut Rows) {
    for (kind, name, description) in WAIT_EVENTS {
        rows.row(&[("type", text(kind)), ("name", text(name)), ("description", text(description))]);
    }
}

pub(super) fn statements(scene: CatalogContext<'_>, rows: &mut Rows) {
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

pub(super) fn cursors(scene: CatalogContext<'_>, rows: &mut Rows) {
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

/// Locks of relations of this database, the transactions that others wait for because of rows, and advisory
/// locks of all.
pub(super) fn locks(scene: CatalogContext<'_>, rows: &mut Rows) {
    let instance = &scene.client.instance;
    let waits = instance.engine.lock_waits();
    let sessions = instance.sessions();
    let processes: HashMap<TxnId, i32> = sessions
        .iter()
        .map(|slot| (TxnId(slot.transaction.load(Ordering::Acquire)), slot.process))
        .collect();
    // A session that waits for a row waits for the transactions that have it.
    let row_waits: Vec<&LockWait> = waits.iter().filter(|wait| !wait.is_relation).collect();
    let mut writers: BTreeSet<TxnId> =
        sessions.iter().filter_map(|slot| slot.status.writes()).collect();
    writers.extend(row_waits.iter().flat_map(|wait| &wait.blockers));
    let holder = |txn: TxnId| {
        let process = processes.get(&txn).copied();
        [
            ("virtualtransaction", text(&virtual_transaction(process, txn))),
            ("pid", process.map_or(Datum::Null, Datum::Int4)),
        ]
    };
    let since = |us: u64| Datum::TimestampTz(time_of(us));
    let number = |txn: TxnId| oid(Oid(txn::stamp_of_transaction(instance.transaction_number(txn))));
    let relations = scene.names.catalog.relations().map(|relation| relation.oid.0);
    for claim in instance.engine.relation_claims(relations) {
        let mut row = vec![
            ("locktype", text("relation")),
            ("database", oid(scene.names.database)),
            ("relation", oid(Oid(claim.relation))),
            ("mode", text(mode_name(claim.mode))),
            ("granted", bool(claim.waits_since_us.is_none())),
            ("fastpath", bool(claim.is_noted)),
            ("waitstart", claim.waits_since_us.map_or(Datum::Null, since)),
        ];
        row.extend(holder(claim.txn));
        rows.row(&row);
    }
    for slot in sessions.iter().filter(|slot| slot.status.transaction_started().is_some()) {
        let txn = TxnId(slot.transaction.load(Ordering::Acquire));
        let mut row = vec![
            ("locktype", text("virtualxid")),
            ("virtualxid", text(&virtual_transaction(Some(slot.process), txn))),
            ("mode", text("ExclusiveLock")),
            ("granted", bool(true)),
            ("fastpath", bool(true)),
        ];
        row.extend(holder(txn));
        rows.row(&row);
    }
    for txn in writers {
        let mut row = vec![
            ("locktype", text("transactionid")),
            ("transactionid", number(txn)),
            ("mode", text("ExclusiveLock")),
            ("granted", bool(true)),
            ("fastpath", bool(false)),
        ];
        row.extend(holder(txn));
        rows.row(&row);
    }
    for wait in row_waits {
        // As in PostgreSQL, one of them at a time.
        let Some(blocker) = wait.blockers.first() else { continue };
        let mut row = vec![
            ("locktype", text("transactionid")),
            ("transactionid", number(*blocker)),
            ("mode", text("ShareLock")),
            ("granted", bool(false)),
            ("fastpath", bool(false)),
            ("waitstart", since(wait.since_us)),
        ];
        row.extend(holder(wait.txn));
        rows.row(&row);
    }
    for claim in instance.advisory.all() {
        let slot = sessions.iter().find(|slot| slot.process == claim.process);
        let txn = slot.map_or(0, |slot| slot.transaction.load(Ordering::Acquire));
        rows.row(&[
            ("locktype", text("advisory")),
            ("database", oid(claim.key.database)),
            ("classid", oid(Oid(claim.key.class))),
            ("objid", oid(Oid(claim.key.object))),
            ("objsubid", Datum::Int2(if claim.key.is_pair { 2 } else { 1 })),
            ("virtualtransaction", text(&virtual_transaction(Some(claim.process), TxnId(txn)))),
            ("pid", Datum::Int4(claim.process)),
            ("mode", text(claim.mode.name())),
            ("granted", bool(claim.waits_since.is_none())),
            ("fastpath", bool(false)),
            ("waitstart", claim.waits_since.map_or(Datum::Null, Datum::TimestampTz)),
        ]);
    }
}

/// A transaction of a session, as PostgreSQL writes it.
fn virtual_transaction(process: Option<i32>, txn: TxnId) -> String {
    format!("{}/{}", process.unwrap_or(0), txn.0)
}

/// The commits that the statement sees, oldest first, with the tables that each has changed.
pub(super) fn commits(scene: CatalogContext<'_>, rows: &mut Rows) -> types::Result<()> {
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

/// The erasures of tables, oldest first, and whether the bytes are gone.
pub(super) fn erasures(scene: CatalogContext<'_>, rows: &mut Rows) -> types::Result<()> {
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

pub(super) fn zones(scene: CatalogContext<'_>, rows: &mut Rows) {
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
