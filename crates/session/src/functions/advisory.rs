//! The functions of advisory locks: `pg_advisory_lock` and the like, for one number or two.
//!
//! ```text
//!   pg_[try_]advisory_[xact_]lock[_shared]      try: does not wait      xact: up to the transaction's end
//!   pg_advisory_unlock[_shared|_all]
//! ```

use types::{Datum, DatumRef, Result};

use super::integer;
use crate::advisory::{Key, Mode, Scope};
use crate::client::StatementContext;

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let Some((head, tail)) = name.split_once("advisory_") else { return Ok(None) };
    let client = around.client;
    if tail == "unlock_all" {
        client.unlock_session();
        return Ok(Some(Datum::text("")));
    }
    // Two numbers, and the halves of one, are the bits of these.
    let key = match args.len() {
        2 => Key {
            database: around.names.database,
            class: integer(args, 0) as u32,
            object: integer(args, 1) as u32,
            is_pair: true,
        },
        _ => Key {
            database: around.names.database,
            class: (integer(args, 0) >> 32) as u32,
            object: integer(args, 0) as u32,
            is_pair: false,
        },
    };
    let mode = if tail.ends_with("_shared") { Mode::Shared } else { Mode::Exclusive };
    if tail.starts_with("unlock") {
        return Ok(Some(Datum::Bool(client.unlock(key, mode))));
    }
    let scope = if tail.starts_with("xact_") { Scope::Transaction } else { Scope::Session };
    let waits = head != "pg_try_";
    let done = client.lock(key, mode, scope, waits).map_err(|error| error.cause)?;
    Ok(Some(if waits { Datum::text("") } else { Datum::Bool(done) }))
}
