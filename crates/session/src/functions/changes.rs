//! `table_changes(table, a, b)`: the changes of a table's rows by commits.
//!
//! ```text
//!   table_changes('t', 10, 20)      after commit 10, up to commit 20
//!   table_changes('t', '2026-01-01', '2026-02-01')
//!
//!   storage 7 ... TRUNCATE at 15    changes up to 14, then each row that was left: deleted at 15
//!   storage 9     from 15 on        changes up to 20
//! ```
//!
//! Changes come table by table that the store has kept for the relation, in each in the order of the
//! rows' keys, and of one row in the order of commits. The table of changes tells which rows these are,
//! so a reader pays for the changes and not for the table. The rows are read as they are wanted.

use std::collections::VecDeque;
use std::sync::Arc;

use store::Csn;
use table::catalog::{Address, Privileges, Relation};
use table::method::ColumnSet;
use table::rows::{PastCursor, Row, RowChange};
use txn::{KeyRange, Snapshot};
use types::time::TimestampTz;
use types::{
    Context, Datum, DatumRef, Error, Oid, Record, Repr, Result, SqlState, Style, Type, TypeSource,
};

use super::oid;
use crate::client::StatementContext;
use crate::instance::{Instance, time_of};
use crate::names::Names;
use crate::rights::Rights;
use crate::settings::special;

/// How many changes are read at once.
const CHANGES_AT_ONCE: usize = 256;

/// A table of the store that has rows of the relation.
struct Part {
    /// The relation as it was when the table was given up, or is now.
    relation: Arc<Relation>,
    names: Arc<Names>,
    cursor: PastCursor,
    /// The newest commit whose changes are wanted.
    upto: Csn,
    /// The commit that gave the table up, with whatever rows it had, where that counts: a walk over
    /// those follows.
    ended: Option<(Csn, PastCursor)>,
}

/// The changes that are still to come.
struct Changes {
    instance: Arc<Instance>,
    style: Arc<Style>,
    snapshot: Snapshot,
    after: Csn,
    parts: VecDeque<Part>,
    found: VecDeque<RowChange>,
}

/// The rows of `table_changes`.
pub(super) fn rows(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let instance = &around.client.instance;
    let names = &around.names;
    let table = oid(args, 0);
    let Some(relation) = names.catalog.relation(table).filter(|known| known.table().is_some())
    else {
        let message = match names.relation_name(table) {
            Some((_, name)) => format!("\"{name}\" is not a table"),
            None => format!("relation with OID {table} does not exist"),
        };
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    };
    if relation.partitioning().is_some() {
        let message = format!("table_changes of the partitioned table \"{}\"", relation.name);
        let error =
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{message} is not supported"));
        return Err(error.with_hint("Ask for the changes of each of its partitions."));
    }
    let rights = Rights::of(names);
    let columns: Vec<i16> = relation.live_columns().map(|column| column.attnum).collect();
    if !names.is_superuser
        && !rights.has(Address::relation(table), Privileges::SELECT)
        && !rights.has_on_columns(table, &columns, Privileges::SELECT)
    {
        return Err(rights.denied(table).cause);
    }
    rights.require_whole(table).map_err(|error| error.cause)?;
    let seen = around.client.seen.get();
    let (after, upto) = (commit(around, args[1])?, commit(around, args[2])?.min(seen));
    let snapshot = instance.engine.snapshot_at(seen).map_err(error)?;
    let mut parts = VecDeque::new();
    let mut storages = Vec::new();
    for past in instance.catalogs.tables().past_of(table) {
        let last = Csn(past.ended.0.saturating_sub(1));
        if past.ended <= after || past.ended > seen {
            continue;
        }
        let then = instance.engine.snapshot_at(last).map_err(error)?;
        let then = instance.catalogs.at(&then).map_err(error)?;
        let names = Arc::new(names.with(then));
        let handle = names.handles.table(&names.catalog, table);
        // A storage that a commit made and gave up at once had no rows for anybody else.
        if handle.is_some_and(|handle| handle.storage() == past.table) {
            let ended = (past.ended <= upto).then_some(past.ended);
            parts.extend(part(around, &names, table, after, last.min(upto), ended)?);
            storages.push(past.table);
        }
    }
    // A catalog of the past shows a table that has been given up since.
    let handle = names.handles.table(&names.catalog, table);
    let is_other = handle.is_some_and(|handle| !storages.contains(&handle.storage()));
    if after < upto && is_other {
        parts.extend(part(around, names, table, after, upto, None)?);
    }
    Ok(Box::new(Changes {
        instance: Arc::clone(instance),
        style: Arc::clone(&around.style),
        snapshot,
        after,
        parts,
        found: VecDeque::new(),
    }))
}

/// The table of the store that has the relation's rows by a catalog.
fn part(
    around: &StatementContext<'_>,
    names: &Arc<Names>,
    table: Oid,
    after: Csn,
    upto: Csn,
    ended: Option<Csn>,
) -> Result<Option<Part>> {
    let Some(handle) = names.handles.table(&names.catalog, table) else { return Ok(None) };
    let Some(relation) = names.catalog.relation(table) else { return Ok(None) };
    let engine = &around.client.instance.engine;
    Ok(Some(Part {
        relation: Arc::clone(relation),
        names: Arc::clone(names),
        cursor: PastCursor::over_changes(&handle, engine, after, upto).map_err(error)?,
        upto,
        ended: ended.map(|ended| (ended, PastCursor::over(&handle, KeyRange::ALL))),
    }))
}

/// The commit that an argument means: a number, or the newest at or before a time.
fn commit(around: &StatementContext<'_>, arg: DatumRef<'_>) -> Result<Csn> {
    let instance = &around.client.instance;
    match arg {
        DatumRef::TimestampTz(time) => instance.csn_at(time).map_err(|error| error.cause),
        // A literal is a time.
        DatumRef::Text(text) => {
            let time = special::time(text, &around.style, around.started);
            time.and_then(|time| instance.csn_at(time)).map_err(|error| error.cause)
        }
        DatumRef::Int8(number) => Ok(Csn(u64::try_from(number).unwrap_or_default())),
        _ => Ok(Csn::ZERO),
    }
}

fn error(source: impl Into<crate::error::Error>) -> Error {
    source.into().cause
}

impl Changes {
    /// Reads more changes; false if there are none.
    fn read(&mut self) -> Result<bool> {
        let Some(part) = self.parts.front_mut() else { return Ok(false) };
        let mut found = Vec::new();
        if !part.cursor.is_at_end() {
            let (after, upto) = (self.after, part.upto);
            let read =
                part.cursor.changes(&self.snapshot, after, upto, &mut found, CHANGES_AT_ONCE);
            read.map_err(error)?;
        } else if let Some((ended, left)) =
            part.ended.as_mut().filter(|(_, left)| !left.is_at_end())
        {
            let mut rows = Vec::new();
            let at = (part.upto, part.upto);
            let read =
                left.versions(&self.snapshot, at, ColumnSet::All, &mut rows, CHANGES_AT_ONCE);
            read.map_err(error)?;
            let gone = |version: table::rows::RowVersion| RowChange {
                csn: *ended,
                before: Some(version.row),
                after: None,
            };
            found.extend(rows.into_iter().map(gone));
        } else {
            self.parts.pop_front();
        }
        self.found.extend(found);
        Ok(true)
    }

    /// A change as a row.
    fn row(&self, part: &Part, change: &RowChange) -> Result<Datum> {
        let mut times = Vec::new();
        self.instance.engine.times(&[change.csn], &mut times).map_err(error)?;
        let at = time_of(times.first().copied().unwrap_or_default());
        let op = match (&change.before, &change.after) {
            (None, _) => "insert",
            (Some(_), Some(_)) => "update",
            (Some(_), None) => "delete",
        };
        let old = self.json(part, change.before.as_ref())?;
        let new = self.json(part, change.after.as_ref())?;
        let version = i64::try_from(change.csn.0).unwrap_or(i64::MAX);
        Ok(Datum::from(Record::new([
            (Type::INT8, Repr::Int8, DatumRef::Int8(version)),
            (Type::TIMESTAMPTZ, Repr::TimestampTz, DatumRef::TimestampTz(at)),
            (Type::TEXT, Repr::Text, DatumRef::Text(op)),
            (Type::JSONB, Repr::Jsonb, old.as_ref()),
            (Type::JSONB, Repr::Jsonb, new.as_ref()),
        ])))
    }

    /// A row of the table as an object; NULL where there is none.
    fn json(&self, part: &Part, row: Option<&Row>) -> Result<Datum> {
        let Some(row) = row else { return Ok(Datum::Null) };
        let types: &dyn TypeSource = &*part.names;
        let mut fields = Vec::new();
        for column in part.relation.live_columns() {
            let value = row.column(column.attnum as usize - 1).map_err(error)?;
            fields.push((column.ty, types.repr_of(column.ty)?, value));
        }
        let record = Record::new(fields);
        let context = Context {
            style: &self.style,
            now: TimestampTz(0),
            types: &*part.names,
            domains: &types::Builtins,
            objects: &*part.names,
        };
        let ty = part.relation.row_type.as_ref().map_or(Type::RECORD, |row| row.ty);
        Ok(Datum::Jsonb(scalar::to_jsonb(DatumRef::Record(record.as_ref()), ty, &context)?))
    }
}

impl Iterator for Changes {
    type Item = Result<Datum>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.found.is_empty() {
            match self.read() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let change = self.found.pop_front()?;
        let part = self.parts.front()?;
        Some(self.row(part, &change))
    }
}
