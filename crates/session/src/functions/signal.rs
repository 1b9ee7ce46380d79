//! Telling other sessions to stop: `pg_cancel_backend`, `pg_terminate_backend`.

use types::{Datum, DatumRef, Error, Oid, Result, SqlState};

use super::integer;
use crate::client::StatementContext;
use crate::error::Severity;
use crate::instance::{Slot, Stop};
use crate::names::Names;

/// Its members may stop what other roles run.
const SIGNAL_BACKEND: Oid = Oid(4_200);

pub(super) fn signal(
    around: &StatementContext<'_>,
    args: &[DatumRef<'_>],
    why: Stop,
) -> Result<Datum> {
    let process = integer(args, 0);
    let found = i32::try_from(process).ok().and_then(|it| around.client.instance.session(it));
    let Some(slot) = found else {
        let message = format!("PID {process} is not a PostgreSQL backend process");
        around.client.notice(Severity::Warning, SqlState::WARNING, message);
        return Ok(Datum::Bool(false));
    };
    require_signal(&around.names, &slot, why)?;
    slot.stop(why);
    Ok(Datum::Bool(true))
}

/// Fails if the role may not tell a session to stop.
///
/// # Errors
/// `42501`: it takes a superuser for those of superusers, and for others a member of their role or of
/// `pg_signal_backend`.
pub(crate) fn require_signal(names: &Names, slot: &Slot, why: Stop) -> Result<()> {
    let (what, each, this) = match why {
        Stop::Terminated => ("terminate process", "terminate processes", "terminate this process"),
        _ => ("cancel query", "cancel queries", "cancel this query"),
    };
    let is_of = |role| names.present.has_privileges_of(names.role, role, names.database);
    let of_superuser = names.present.is_superuser(slot.role);
    let detail = if of_superuser && !names.is_superuser {
        format!(
            "Only roles with the SUPERUSER attribute may {each} of roles with the SUPERUSER \
             attribute."
        )
    } else if !of_superuser && !is_of(slot.role) && !is_of(SIGNAL_BACKEND) {
        let whose = match why {
            Stop::Terminated => "process is being terminated",
            _ => "query is being canceled",
        };
        format!(
            "Only roles with privileges of the role whose {whose} or with privileges of the \
             \"pg_signal_backend\" role may {this}."
        )
    } else {
        return Ok(());
    };
    let message = format!("permission denied to {what}");
    Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_detail(detail))
}
