//! Functions about the session: settings, schemas, process, version, messages.

use std::net::SocketAddr;

use types::{Array, Datum, DatumRef, Oid, Repr, Result, Type};

use super::{bool, text};
use crate::backend_status::WaitEvent;
use crate::client::{Client, StatementContext};
use crate::instance::Stop;
use crate::names::TEMPORARY;
use crate::peer;
use crate::settings::{self, Extent};
use crate::system::PG_CATALOG;

/// The version as `version()` tells it: PostgreSQL's, which clients look for, and ours.
pub const VERSION: &str = concat!("PostgreSQL 17.6 (Anywhen ", env!("CARGO_PKG_VERSION"), ")");

/// How many commits, or transactions, are newer than the one with a stamp (`xmin`).
fn age(around: &StatementContext<'_>, stamp: u32) -> i32 {
    const MASK: u32 = i32::MAX as u32;
    let newest = match stamp {
        // PostgreSQL takes frozen rows for older than all others.
        0..3 => return i32::MAX,
        stamp if stamp > MASK => txn::stamp_of_transaction(around.client.transaction.get()),
        _ => txn::stamp_of_commit(around.client.seen.get()),
    };
    (newest.wrapping_sub(stamp) & MASK) as i32
}

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let client = around.client;
    let names = &around.names;
    Ok(Some(match name {
        "version" => Datum::text(VERSION),
        "current_setting" => {
            let value = client.settings.borrow().show(text(args, 0));
            match value {
                Some(value) => Datum::text(value),
                None if bool(args, 1) => Datum::Null,
                None => return Err(settings::unknown(text(args, 0)).cause),
            }
        }
        "set_config" => {
            let value = match args[1] {
                DatumRef::Null => None,
                _ => Some(text(args, 1)),
            };
            let extent = if bool(args, 2) { Extent::Local } else { Extent::Session };
            client
                .set(text(args, 0), value, extent, &names.present)
                .map_err(|error| error.cause)?;
            Datum::text(client.settings.borrow().show(text(args, 0)).unwrap_or_default())
        }
        "set_limit" => {
            let Some(DatumRef::Float4(limit)) = args.first() else { return Ok(Some(Datum::Null)) };
            let name = scalar::extension::trgm::SIMILARITY.0;
            let set = client.set(name, Some(&limit.to_string()), Extent::Session, &names.present);
            set.map_err(|error| error.cause)?;
            Datum::Float4(*limit)
        }
        "current_schema" => match names.explicit.first() {
            Some(schema) => Datum::text(names.schema_name(*schema)),
            None => Datum::Null,
        },
        "current_schemas" => {
            let path = if bool(args, 0) { &names.path } else { &names.explicit };
            let schemas: Vec<Datum> =
                path.iter().map(|schema| Datum::text(names.schema_name(*schema))).collect();
            let schemas = schemas.iter().map(Datum::as_ref);
            Datum::Array(Array::from_elements(Type::NAME, Repr::Text, schemas.collect::<Vec<_>>())?)
        }
        "pg_backend_pid" => Datum::Int4(client.slot.process),
        "txid_current" | "pg_current_xact_id" => Datum::Int8(client.transaction.get() as i64),
        "row_security_active" => {
            let table = match args[0] {
                DatumRef::Oid(table) => table,
                _ => names.regclass(text(args, 0))?,
            };
            let is_active = crate::rights::Rights::of(names).sees_in_part(table);
            Datum::Bool(is_active && client.settings.borrow().bool("row_security"))
        }
        "row_security_refuse" => {
            let state = types::SqlState::INSUFFICIENT_PRIVILEGE;
            return Err(types::Error::new(state, text(args, 0)));
        }
        "pg_current_snapshot" | "txid_current_snapshot" => Datum::text(client.visibility()),
        "own_xmin" => {
            client.is_stamped.set(true);
            Datum::Oid(Oid(txn::stamp_of_transaction(client.transaction.get())))
        }
        "age" => Datum::Int4(age(around, super::oid(args, 0).0)),
        "pg_client_encoding" => Datum::text(client.settings.borrow().charset().name()),
        "getdatabaseencoding" => Datum::text("UTF8"),
        "inet_client_addr" => tcp(around).map_or(Datum::Null, |(client, _)| peer::address(client)),
        "inet_client_port" => tcp(around).map_or(Datum::Null, |(client, _)| peer::port(client)),
        "inet_server_addr" => tcp(around).map_or(Datum::Null, |(_, server)| peer::address(server)),
        "inet_server_port" => tcp(around).map_or(Datum::Null, |(_, server)| peer::port(server)),
        "getpgusername" => Datum::text(&*around.identity.user),
        "pg_postmaster_start_time" => Datum::TimestampTz(client.instance.started),
        "pg_export_snapshot" => Datum::text(client.export_snapshot()?),
        "pg_tablespace_location" => match super::oid(args, 0) {
            // The two that there are lie within the folder of the data.
            Oid(0 | 1663 | 1664) => Datum::text(""),
            other => {
                let message = format!("tablespace with OID {other} does not exist");
                return Err(types::Error::new(types::SqlState::UNDEFINED_OBJECT, message));
            }
        },
        "pg_is_in_recovery" => Datum::Bool(client.instance.engine.is_follower()),
        "pg_my_temp_schema" => Datum::Oid(names.temporary.unwrap_or(Oid::NONE)),
        "pg_is_other_temp_schema" => {
            let schema = super::oid(args, 0);
            let is_temporary = names.schema_name(schema).starts_with(TEMPORARY);
            Datum::Bool(is_temporary && names.temporary != Some(schema))
        }
        "pg_trigger_depth" => Datum::Int4(0),
        "current_query" => Datum::text(&*client.slot.status.about().query),
        "pg_blocking_pids" => {
            let process = i32::try_from(super::integer(args, 0)).unwrap_or_default();
            let found = client.instance.all_blockers(process);
            let found: Vec<Datum> = found.into_iter().map(Datum::Int4).collect();
            let found: Vec<_> = found.iter().map(Datum::as_ref).collect();
            Datum::Array(Array::from_elements(Type::INT4, Repr::Int4, found)?)
        }
        "pg_cancel_backend" => super::signal::signal(around, args, Stop::Cancelled)?,
        "pg_terminate_backend" => super::signal::signal(around, args, Stop::Terminated)?,
        "pg_notify" => {
            crate::notify::check(text(args, 0), text(args, 1))?;
            let (channel, payload) = (text(args, 0).to_owned(), text(args, 1).to_owned());
            client.add_note(crate::notify::Note::Notify(channel, payload));
            Datum::text("")
        }
        "pg_sleep" => {
            let DatumRef::Float8(seconds) = args[0] else { return Ok(Some(Datum::Null)) };
            let status = &client.slot.status;
            status.set_wait(WaitEvent::PgSleep);
            let slept = sleep(client, (seconds.max(0.0) * 1e6) as u64);
            status.set_wait(WaitEvent::None);
            slept?;
            Datum::text("")
        }
        "pg_table_is_visible" => match names.relation_name(super::oid(args, 0)) {
            Some(_) => Datum::Bool(names.is_relation_visible(super::oid(args, 0))),
            None => Datum::Null,
        },
        "pg_type_is_visible" => {
            let ty = Type(super::oid(args, 0));
            let is_there = names.member_schema(ty.oid()).is_some();
            let known = ty.is_builtin() && is_there || names.catalog.type_entry(ty).is_some();
            if known { Datum::Bool(names.is_type_visible(ty)) } else { Datum::Null }
        }
        "pg_function_is_visible" | "pg_operator_is_visible" => {
            Datum::Bool(names.is_member_visible(super::oid(args, 0)))
        }
        "pg_import_system_collations" => {
            if !names.is_superuser {
                let message = "must be superuser to import system collations";
                return Err(types::Error::new(types::SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            let schema = super::oid(args, 0);
            if names.catalog.schema(schema).is_none() && schema != PG_CATALOG {
                let message = format!("schema with OID {schema} does not exist");
                return Err(types::Error::new(types::SqlState::INVALID_SCHEMA_NAME, message));
            }
            // Every database has the collations of all locales already.
            Datum::Int4(0)
        }
        "pg_collation_actual_version" => {
            let oid = super::oid(args, 0);
            let version =
                crate::define::collation_version(&names.catalog, oid).ok_or_else(|| {
                    let message = format!("collation with OID {oid} does not exist");
                    types::Error::new(types::SqlState::UNDEFINED_OBJECT, message)
                })?;
            version.map_or(Datum::Null, Datum::text)
        }
        "pg_opclass_is_visible"
        | "pg_opfamily_is_visible"
        | "pg_collation_is_visible"
        | "pg_conversion_is_visible"
        | "pg_ts_parser_is_visible"
        | "pg_ts_dict_is_visible"
        | "pg_ts_template_is_visible"
        | "pg_ts_config_is_visible"
        | "pg_statistics_obj_is_visible" => Datum::Bool(names.path.contains(&PG_CATALOG)),
        _ => return Ok(None),
    }))
}

/// The addresses of the client and of the server that it has connected to.
fn tcp(around: &StatementContext<'_>) -> Option<(SocketAddr, SocketAddr)> {
    around.client.slot.status.about().peer.tcp()
}

/// Waits for that long, in microseconds, by the clock of the database.
fn sleep(client: &Client, us: u64) -> Result<()> {
    let clock = &client.instance.env.clock;
    let end_us = clock.monotonic_us().saturating_add(us);
    loop {
        match end_us.saturating_sub(clock.monotonic_us()) {
            0 => return Ok(()),
            left_us => pause(client, left_us.min(10_000))?,
        }
    }
}

/// Rests for that long, in microseconds, before it is looked again at something.
///
/// # Errors
/// Why the statement was told to stop; [`Blocked`](types::Again::Blocked) where nothing may block.
pub(crate) fn pause(client: &Client, us: u64) -> Result<()> {
    if client.inline.get() {
        // The statement is run again where it may wait.
        return Err(types::Error::retry(types::RetryReason::Blocked));
    }
    if let Some(stopped) = client.slot.stopped() {
        return Err(stopped.cause);
    }
    let (mutex, never) = (parking_lot::Mutex::new(()), parking_lot::Condvar::new());
    never.wait_for(&mut mutex.lock(), std::time::Duration::from_micros(us));
    Ok(())
}

/// The rows of `pg_listening_channels`.
pub(super) fn channels(around: &StatementContext<'_>) -> scalar::Rows {
    let client = around.client;
    let channels = client.instance.hub.of(client.slot.process);
    Box::new(channels.into_iter().map(|channel| Ok(Datum::text(channel))))
}
