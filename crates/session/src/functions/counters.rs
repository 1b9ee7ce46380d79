//! Functions that begin counting anew: `pg_stat_reset` and the like.

use types::{Datum, DatumRef, Error, Result, SqlState};

use super::{bool, integer, oid, text};
use crate::client::StatementContext;
use crate::counters::SHARED;
use crate::instance::now;
use crate::statements::Chosen;

/// Counters of PostgreSQL that count nothing here.
const ABSENT: [&str; 3] = ["archiver", "recovery_prefetch", "slru"];

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let instance = &around.client.instance;
    let names = &around.names;
    let now = now(&instance.env);
    match name {
        // Counters are not copied for a transaction, nor held back.
        "pg_stat_clear_snapshot" | "pg_stat_force_next_flush" => {}
        "pg_stat_reset" => {
            superuser(around, name)?;
            let present = &names.present;
            let own = present
                .relations()
                .filter(|relation| present.database_of(relation) == Some(names.database));
            own.for_each(|relation| instance.handles.usage(relation.oid).reset());
            instance.counters.of(names.database).reset(now);
        }
        "pg_stat_reset_single_table_counters" => {
            superuser(around, name)?;
            if names.catalog.relation(oid(args, 0)).is_some() {
                instance.handles.usage(oid(args, 0)).reset();
            }
        }
        "pg_stat_reset_shared" => {
            superuser(around, name)?;
            let target = text(args, 0);
            let known = SHARED.iter().filter(|view| target.is_empty() || **view == target);
            let mut found = ABSENT.contains(&target);
            for view in known {
                instance.counters.reset_shared(view, &instance.engine, now);
                found = true;
            }
            if !found {
                let message = format!("unrecognized reset target: \"{target}\"");
                let hint = "Target must be \"archiver\", \"bgwriter\", \"checkpointer\", \"io\", \
                            \"recovery_prefetch\", \"slru\", or \"wal\".";
                let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
                return Err(error.with_hint(hint));
            }
        }
        "pg_conf_load_time" => {
            return Ok(Some(Datum::TimestampTz(instance.configuration.read_at())));
        }
        "pg_reload_conf" => {
            superuser(around, name)?;
            instance.reload().map_err(|error| error.cause)?;
            return Ok(Some(Datum::Bool(true)));
        }
        "pg_stat_statements_reset" => {
            superuser(around, name)?;
            let chosen =
                Chosen { role: oid(args, 0), database: oid(args, 1), query: integer(args, 2) };
            instance.statements.reset(chosen, bool(args, 3), now);
            return Ok(Some(Datum::TimestampTz(now)));
        }
        _ => return Ok(None),
    }
    Ok(Some(Datum::text("")))
}

/// PostgreSQL gives the right to execute these functions to superusers alone.
pub(super) fn superuser(around: &StatementContext<'_>, name: &str) -> Result<()> {
    if around.names.is_superuser {
        return Ok(());
    }
    let message = format!("permission denied for function {name}");
    Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
}
