//! Sequences: `nextval`, `currval`, `setval`, `lastval`.

use std::sync::Arc;

use table::catalog::{Address, Persistence, Privileges, Relation};
use table::sequence::SequenceState;
use types::{Datum, DatumRef, Error, Oid, Record, Repr, Result, SqlState, Type};

use super::{bool, integer, oid};
use crate::client::StatementContext;
use crate::rights::Rights;

/// The sequence with this OID.
fn relation(around: &StatementContext<'_>, sequence: Oid) -> Result<Arc<Relation>> {
    around.names.catalog.relation(sequence).cloned().ok_or_else(|| {
        let message = format!("could not open relation with OID {sequence}");
        Error::new(SqlState::UNDEFINED_TABLE, message)
    })
}

/// Fails if the role of the statement has neither of two privileges on a sequence.
fn may_use(
    around: &StatementContext<'_>,
    sequence: Oid,
    one: Privileges,
    other: Privileges,
) -> Result<()> {
    let names = &*around.names;
    let rights = Rights::of(names);
    match names.is_superuser || !rights.on(Address::relation(sequence), one | other).is_empty() {
        true => Ok(()),
        false => Err(rights.denied(sequence).cause),
    }
}

/// Fails if the transaction only reads, unless the sequence is the session's own.
fn must_write(around: &StatementContext<'_>, sequence: &Relation, what: &str) -> Result<()> {
    if sequence.persistence == Persistence::Temporary {
        return Ok(());
    }
    around.client.must_write_now(what).map_err(|error| error.cause)
}

/// The next value of a sequence.
///
/// # Errors
/// `2200H` where it is at its end.
pub(crate) fn next(around: &StatementContext<'_>, sequence: Oid) -> Result<i64> {
    let relation = relation(around, sequence)?;
    let sequences = &around.client.instance.sequences;
    around.client.sequences.borrow_mut().next(sequences, &relation).map_err(error)
}

/// The error as expressions report it.
fn error(error: table::Error) -> Error {
    crate::error::Error::from(error).cause
}

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let client = around.client;
    Ok(Some(match name {
        "nextval" => {
            may_use(around, oid(args, 0), Privileges::USAGE, Privileges::UPDATE)?;
            must_write(around, &*relation(around, oid(args, 0))?, "nextval()")?;
            Datum::Int8(next(around, oid(args, 0))?)
        }
        "currval" => {
            let relation = relation(around, oid(args, 0))?;
            may_use(around, relation.oid, Privileges::USAGE, Privileges::SELECT)?;
            Datum::Int8(client.sequences.borrow().current(&relation).map_err(error)?)
        }
        "lastval" => {
            let (sequence, last) = client.sequences.borrow().last().map_err(error)?;
            if around.names.catalog.relation(sequence).is_none() {
                // It was dropped since.
                let message = "lastval is not yet defined in this session";
                return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
            }
            may_use(around, sequence, Privileges::USAGE, Privileges::SELECT)?;
            Datum::Int8(last)
        }
        "setval" => {
            let relation = relation(around, oid(args, 0))?;
            may_use(around, relation.oid, Privileges::UPDATE, Privileges::UPDATE)?;
            must_write(around, &relation, "setval()")?;
            let last = integer(args, 1);
            let is_called = args.len() < 3 || bool(args, 2);
            let state = SequenceState { last, is_called };
            client.instance.sequences.set(&relation, state).map_err(error)?;
            client.sequences.borrow_mut().set(&relation, last, is_called);
            Datum::Int8(last)
        }
        "pg_sequence_last_value" => {
            let relation = relation(around, oid(args, 0))?;
            if may_use(around, relation.oid, Privileges::USAGE, Privileges::SELECT).is_err() {
                return Ok(Some(Datum::Null));
            }
            let state = client.instance.sequences.state(&relation).map_err(error)?;
            if state.is_called { Datum::Int8(state.last) } else { Datum::Null }
        }
        "sequence_state" => {
            let relation = relation(around, oid(args, 0))?;
            let state = client.instance.sequences.state(&relation).map_err(error)?;
            Datum::from(Record::new([
                (Type::INT8, Repr::Int8, DatumRef::Int8(state.last)),
                (Type::INT8, Repr::Int8, DatumRef::Int8(0)),
                (Type::BOOL, Repr::Bool, DatumRef::Bool(state.is_called)),
            ]))
        }
        _ => return Ok(None),
    }))
}
