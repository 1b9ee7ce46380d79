//! Functions that look at the catalog, the transaction or the session.
//!
//! ```text
//!   session    settings, user, schemas, process, version
//!   signal     cancelling what others run, ending their sessions
//!   catalog    names, visibility, comments, sizes
//!   definitions  views, constraints, indexes and defaults as SQL
//!   partitions keys and bounds of partitions, what is above and below a table
//!   privilege  has_table_privilege and the like
//!   changes    table_changes
//!   documents  history, diff, node_history ...
//!   objects    zodb_load, zodb_write, zodb_path ...
//!   acl        privileges as values
//!   counters   counting anew
//!   advisory   locks on numbers
//!   backup     copies of the whole database
//! ```

mod acl;
mod advisory;
mod backup;
mod catalog;
mod changes;
mod counters;
pub(crate) mod definitions;
pub(crate) mod documents;
mod objects;
mod partitions;
mod privilege;
pub(crate) mod sequence;
mod session;
mod signal;
mod size;

use scalar::Function;
use scalar::function::Call;
use types::{Datum, DatumRef, Error, Oid, Result, SqlState};

use crate::client::StatementContext;
pub use backup::{BackupTarget, Backups};
pub(crate) use session::pause;
pub(crate) use signal::require_signal;

/// Computes a function whose arguments are not NULL where it is strict.
///
/// # Errors
/// The errors of the function; `0A000` where it is not there.
pub fn call(
    around: &StatementContext<'_>,
    function: &Function,
    call: &Call<'_>,
    args: &[DatumRef<'_>],
) -> Result<Datum> {
    if let ("pg_column_size", [value], [ty]) = (function.name, args, call.args) {
        return Ok(Datum::Int4(size::of(*value, *ty)? as i32));
    }
    let mut done = session::call(around, function.name, args)?;
    for other in [
        sequence::call,
        catalog::call,
        definitions::call,
        partitions::call,
        privilege::call,
        advisory::call,
        acl::call,
        documents::call,
        objects::call,
        counters::call,
        backup::call,
    ] {
        if done.is_none() {
            done = other(around, function.name, args)?;
        }
    }
    done.ok_or_else(|| {
        let message = format!("function {}() is not supported", function.name);
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    })
}

/// Computes the rows of a function that gives a set.
///
/// # Errors
/// The errors of the function; `0A000` where it is not there.
pub fn rows(
    around: &StatementContext<'_>,
    function: &Function,
    args: &[DatumRef<'_>],
) -> Result<scalar::Rows> {
    match function.name {
        "table_changes" => changes::rows(around, args),
        "aclexplode" => acl::explode(around, args),
        "pg_options_to_table" => Ok(acl::options(args)),
        "pg_listening_channels" => Ok(session::channels(around)),
        name => {
            let found = partitions::rows(around, name, args);
            let found = found.or_else(|| documents::rows(around, name, args));
            found.or_else(|| objects::rows(around, name, args)).unwrap_or_else(|| {
                let message = format!("function {name}() is not supported");
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            })
        }
    }
}

/// An argument that is a text; empty where it is none.
fn text<'a>(args: &[DatumRef<'a>], at: usize) -> &'a str {
    match args.get(at) {
        Some(DatumRef::Text(text)) => text,
        _ => "",
    }
}

/// An argument that is a number of an object.
fn oid(args: &[DatumRef<'_>], at: usize) -> Oid {
    match args.get(at) {
        Some(DatumRef::Oid(oid)) => *oid,
        _ => Oid::NONE,
    }
}

/// An argument that is an integer.
fn integer(args: &[DatumRef<'_>], at: usize) -> i64 {
    match args.get(at) {
        Some(DatumRef::Int2(value)) => i64::from(*value),
        Some(DatumRef::Int4(value)) => i64::from(*value),
        Some(DatumRef::Int8(value)) => *value,
        _ => 0,
    }
}

/// An argument that is a truth value.
fn bool(args: &[DatumRef<'_>], at: usize) -> bool {
    matches!(args.get(at), Some(DatumRef::Bool(true)))
}
