//! Functions of storages of ZODB's objects: those that `anywhen.zodb` calls on a server, and those for people.
//!
//! ```text
//!   zodb_load_before('site.objects', 7, tid)      the record that object 7 had then
//!   zodb_begin(...), zodb_write(...), zodb_finish()     a transaction of ZODB, beside those of SQL
//!   zodb_path('site.objects', 7)                  how object 7 is reached from the root
//! ```
//!
//! Ids of objects and of transactions are the 64 bits that ZODB has, as `bigint`. A transaction of ZODB belongs to the
//! session. It ends with `zodb_finish` or `zodb_abort`, or with the session.

use std::sync::Arc;

use object::{Meta, Storage, Tid, Waits, Write, Writing};
use scalar::Columns;
use table::catalog::{Address, Privileges};
use types::{Array, Datum, DatumRef, Error, Repr, Result, RetryReason, SqlState, Type};

use super::{bool, integer, oid, text};
use crate::client::StatementContext;
use crate::instance::{time_of, us_of};
use crate::notify::{self, Note};
use crate::rights::Rights;

const INT8: (Type, Repr) = (Type::INT8, Repr::Int8);
const BYTEA: (Type, Repr) = (Type::BYTEA, Repr::Bytea);
const BOOL: (Type, Repr) = (Type::BOOL, Repr::Bool);
const TEXT: (Type, Repr) = (Type::TEXT, Repr::Text);
const INT8S: (Type, Repr) = (Type::INT8_ARRAY, Repr::Array);

/// The privileges that a reader of objects needs, and those that a writer needs.
const READS: &[Privileges] = &[Privileges::SELECT];
const WRITES: &[Privileges] = &[Privileges::INSERT, Privileges::UPDATE, Privileges::DELETE];

/// So many records, and bytes of them, are written where other sessions are held up: some hundred microseconds' worth.
const INLINE_WRITES_MAX: usize = 100;
const INLINE_BYTES_MAX: usize = 128 << 10;

/// How many transactions are read at once.
const TRANSACTIONS_AT_ONCE: usize = 1_024;

fn error(source: table::Error) -> Error {
    crate::error::Error::from(source).cause
}

/// The storage whose table the first argument names; fails if the role lacks the right on its rows.
fn storage(
    around: &StatementContext<'_>,
    args: &[DatumRef<'_>],
    privileges: &[Privileges],
) -> Result<Arc<Storage>> {
    let (names, table) = (&around.names, oid(args, 0));
    let found = around.client.instance.objects.of_table(table).map_err(error)?;
    let Some(storage) = found else {
        let message = match names.relation_name(table) {
            Some((_, name)) => {
                format!("\"{name}\" is not the table of objects of a storage of ZODB")
            }
            None => format!("relation with OID {table} does not exist"),
        };
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            .with_hint("zodb_definition() gives the SQL that makes such a storage."));
    };
    let has = |wanted: &Privileges| Rights::of(names).has(Address::relation(table), *wanted);
    if !names.is_superuser && !privileges.iter().all(has) {
        return Err(Rights::of(names).denied(table).cause);
    }
    Ok(storage)
}

/// How the session waits for others: not at all where nothing may block, so that the statement is run again where it
/// may.
fn waits(around: &StatementContext<'_>) -> Waits {
    let client = around.client;
    let timeout_ms = client.settings.borrow().integer("lock_timeout");
    let timeout_us = (timeout_ms > 0).then(|| timeout_ms.unsigned_abs() * 1_000);
    Waits {
        interrupt: Some(Arc::clone(&client.slot.stop)),
        timeout_us: if client.inline.get() { Some(0) } else { timeout_us },
    }
}

/// Refuses what takes long where nothing may block: the statement is run again where it may.
fn may_wait(around: &StatementContext<'_>) -> Result<()> {
    if around.client.inline.get() {
        return Err(Error::retry(RetryReason::Blocked));
    }
    Ok(())
}

fn id(args: &[DatumRef<'_>], at: usize) -> u64 {
    integer(args, at) as u64
}

fn tid(args: &[DatumRef<'_>], at: usize) -> Tid {
    Tid::of_i64(integer(args, at))
}

fn bytes<'a>(args: &[DatumRef<'a>], at: usize) -> &'a [u8] {
    match args.get(at) {
        Some(DatumRef::Bytea(bytes)) => bytes,
        _ => &[],
    }
}

fn count(args: &[DatumRef<'_>], at: usize) -> usize {
    usize::try_from(integer(args, at)).unwrap_or(0)
}

fn number(number: u64) -> Datum {
    Datum::Int8(number as i64)
}

fn of_tid(tid: Tid) -> Datum {
    Datum::Int8(tid.to_i64())
}

fn maybe_bytes(bytes: Option<Vec<u8>>) -> Datum {
    bytes.map_or(Datum::Null, Datum::bytea)
}

fn elements<'a>(args: &[DatumRef<'a>], at: usize) -> Vec<DatumRef<'a>> {
    match args.get(at) {
        Some(DatumRef::Array(array)) => array.iter().collect(),
        _ => Vec::new(),
    }
}

fn integers(args: &[DatumRef<'_>], at: usize) -> Vec<u64> {
    let each = elements(args, at).into_iter();
    let integer = |element| match element {
        DatumRef::Int8(value) => value as u64,
        _ => 0,
    };
    each.map(integer).collect()
}

fn numbers(numbers: &[u64]) -> Result<Datum> {
    let each = numbers.iter().map(|number| DatumRef::Int8(*number as i64));
    Ok(Datum::Array(Array::from_elements(Type::INT8, Repr::Int8, each)?))
}

/// Rows that are known.
fn set<const N: usize>(types: [(Type, Repr); N], rows: Vec<[Datum; N]>) -> Result<scalar::Rows> {
    Ok(Box::new(Columns::new(types, rows.into_iter().map(Ok))))
}

/// The rows of a function of this module; none if it is no such function.
pub(super) fn rows(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Option<Result<scalar::Rows>> {
    let read = || storage(around, args, READS);
    Some(match name {
        "zodb_load" => read().and_then(|storage| load(&storage, args)),
        "zodb_load_before" => read().and_then(|storage| load_before(&storage, args)),
        "zodb_load_many" => read().and_then(|storage| load_many(&storage, args)),
        "zodb_history" => read().and_then(|storage| history(&storage, args)),
        "zodb_changes" => read().and_then(|storage| changes(&storage, args)),
        "zodb_transactions" => read().and_then(|storage| transactions(storage, args)),
        "zodb_records" => read().and_then(|storage| records(&storage, args)),
        "zodb_write" => write(around, args),
        "zodb_path" => read().and_then(|storage| path(around, &storage, args)),
        "zodb_referrers" => read().and_then(|storage| referrers(around, &storage, args)),
        "zodb_reachable" => read().and_then(|storage| reachable(around, &storage, args)),
        _ => return None,
    })
}

/// The value of a function of this module that gives one; none if it is no such function.
pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let Some(name) = name.strip_prefix("zodb_") else { return Ok(None) };
    let read = || storage(around, args, READS);
    Ok(Some(match name {
        "definition" => Datum::text(Storage::definition(text(args, 0), bool(args, 1))),
        "time" => Datum::TimestampTz(time_of(tid(args, 0).time_us())),
        "tid" => match args.first() {
            Some(DatumRef::TimestampTz(time)) => of_tid(Tid::of_time(us_of(*time).unwrap_or(0))),
            _ => Datum::Null,
        },
        "last_tid" => of_tid(read()?.last_tid().map_err(error)?),
        "load_serial" => {
            let found = read()?.load_serial(id(args, 1), tid(args, 2), <[u8]>::to_vec);
            maybe_bytes(found.map_err(error)?.and_then(|found| found.data))
        }
        "is_known" => Datum::Bool(read()?.is_known(id(args, 1)).map_err(error)?),
        "new_oids" => {
            let storage = storage(around, args, WRITES)?;
            number(storage.new_oids(count(args, 1) as u64).map_err(error)?)
        }
        "blob" => {
            let part = u32::try_from(integer(args, 3)).unwrap_or(u32::MAX);
            let found = read()?.load_blob_part(id(args, 1), tid(args, 2), part);
            maybe_bytes(found.map_err(error)?)
        }
        "begin" => {
            begin(around, args)?;
            Datum::text("")
        }
        "check_current" => {
            let other =
                writing(around, |writing| writing.check_current(id(args, 0), tid(args, 1)))?;
            other.map_or(Datum::Null, of_tid)
        }
        "put_blob" => {
            let part = u32::try_from(integer(args, 1)).unwrap_or(u32::MAX);
            let (data, is_last) = (bytes(args, 2), bool(args, 3));
            may_wait(around)?;
            writing(around, |writing| writing.put_blob_part(id(args, 0), part, data, is_last))?;
            Datum::text("")
        }
        "finish" => {
            may_wait(around)?;
            let writing = around.client.writing.borrow_mut().take().ok_or_else(no_transaction)?;
            of_tid(writing.finish().map_err(error)?.tid)
        }
        "abort" => {
            *around.client.writing.borrow_mut() = None;
            Datum::text("")
        }
        "pack" => {
            let storage = storage(around, args, WRITES)?;
            may_wait(around)?;
            number(storage.pack(tid(args, 1), bool(args, 2)).map_err(error)?.objects)
        }
        _ => return Ok(None),
    }))
}

// --- reading -------------------------------------------------------------------------------------

fn load(storage: &Storage, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let found = storage.load(id(args, 1), |data| Datum::bytea(data.to_vec())).map_err(error)?;
    let row = found.map(|(data, tid)| [data, of_tid(tid)]);
    set([BYTEA, INT8], row.into_iter().collect())
}

fn load_before(storage: &Storage, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let found = storage.load_before(id(args, 1), tid(args, 2), <[u8]>::to_vec).map_err(error)?;
    let row = found.map(|found| {
        [maybe_bytes(found.data), of_tid(found.tid), found.next.map_or(Datum::Null, of_tid)]
    });
    set([BYTEA, INT8, INT8], row.into_iter().collect())
}

fn load_many(storage: &Storage, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let found = storage.load_many(&integers(args, 1), tid(args, 2)).map_err(error)?;
    let row = |(at, found): (usize, Option<(Vec<u8>, Tid)>)| {
        let (data, tid) = found?;
        Some([number(at as u64), Datum::bytea(data), of_tid(tid)])
    };
    set([INT8, BYTEA, INT8], found.into_iter().enumerate().filter_map(row).collect())
}

fn history(storage: &Storage, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let found = storage.history(id(args, 1), count(args, 2)).map_err(error)?;
    let row = |of: object::Revision| {
        let [user, description, extension] =
            [of.user, of.description, of.extension].map(Datum::bytea);
        [of_tid(of.tid), user, description, extension, number(of.size as u64)]
    };
    set([INT8, BYTEA, BYTEA, BYTEA, INT8], found.into_iter().map(row).collect())
}

fn changes(storage: &Storage, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let found = storage.changes(tid(args, 1), tid(args, 2)).map_err(error)?.ok_or_else(|| {
        let message = "which objects have changed since then is not kept";
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })?;
    let row = |(tid, oids): (Tid, Vec<u64>)| Ok([of_tid(tid), numbers(&oids)?]);
    set([INT8, INT8S], found.into_iter().map(row).collect::<Result<_>>()?)
}

/// Reads page by page, so that a query for the newest ones reads no others.
fn transactions(storage: Arc<Storage>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let (mut first, mut last) = (tid(args, 1), tid(args, 2));
    let (newest_first, mut left) = (bool(args, 3), count(args, 4));
    let mut page = Vec::new().into_iter();
    let mut next = move || -> Result<Option<[Datum; 5]>> {
        if page.as_slice().is_empty() && left > 0 && first <= last {
            let at_once = left.min(TRANSACTIONS_AT_ONCE);
            let found = storage.transactions(first, last, newest_first, at_once).map_err(error)?;
            left = if found.len() < at_once { 0 } else { left - at_once };
            match found.last().map(|of| of.tid.0) {
                Some(tid) if newest_first => last = Tid(tid.saturating_sub(1)),
                Some(tid) => first = Tid(tid + 1),
                None => {}
            }
            page = found.into_iter();
        }
        Ok(page.next().map(|of: object::TransactionInfo| {
            let [user, description, extension] =
                [of.user, of.description, of.extension].map(Datum::bytea);
            [of_tid(of.tid), Datum::Bool(of.is_packed), user, description, extension]
        }))
    };
    let types = [INT8, BOOL, BYTEA, BYTEA, BYTEA];
    Ok(Box::new(Columns::new(types, std::iter::from_fn(move || next().transpose()))))
}

fn records(storage: &Storage, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let found = storage.records(tid(args, 1)).map_err(error)?;
    let row = |of: object::ObjectRecord| {
        [number(of.oid), maybe_bytes(of.data), of.data_tid.map_or(Datum::Null, of_tid)]
    };
    set([INT8, BYTEA, INT8], found.into_iter().map(row).collect())
}

// --- writing -------------------------------------------------------------------------------------

fn no_transaction() -> Error {
    let message = "the session has no transaction of ZODB";
    Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message).with_hint("zodb_begin() begins one.")
}

/// Begins a transaction of ZODB, where the session has none.
fn begin(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<()> {
    let client = around.client;
    if args.iter().enumerate().any(|(at, arg)| at != 4 && arg.is_null()) {
        let message = "only the tid of a transaction of ZODB may be null";
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    if client.writing.borrow().is_some() {
        let message = "the session has a transaction of ZODB already";
        return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message)
            .with_hint("zodb_finish() or zodb_abort() ends it."));
    }
    let storage = storage(around, args, WRITES)?;
    if client.instance.engine.is_follower() {
        let message = "a follower takes no transactions";
        return Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message));
    }
    let meta = Meta {
        user: bytes(args, 1).to_vec(),
        description: bytes(args, 2).to_vec(),
        extension: bytes(args, 3).to_vec(),
        tid: args.get(4).filter(|tid| !tid.is_null()).map(|_| tid(args, 4)),
        is_packed: bool(args, 5),
        not_before: tid(args, 6),
    };
    let mut writing = storage.begin_waiting(meta, waits(around)).map_err(error)?;
    let (instance, database) = (Arc::clone(&client.instance), client.database_oid);
    let (process, channel) = (client.slot.process, format!("zodb_{}", oid(args, 0)));
    writing.on_finish(move |tid| {
        let note = Note::Notify(channel, tid.to_i64().to_string());
        notify::send(&instance, database, process, note);
    });
    *client.writing.borrow_mut() = Some(writing);
    Ok(())
}

/// Calls `f` with the transaction of ZODB, for something that may wait. A failure ends it, unless the statement is run
/// again.
fn writing<R>(
    around: &StatementContext<'_>,
    f: impl FnOnce(&mut Writing) -> table::Result<R>,
) -> Result<R> {
    let client = around.client;
    let mut held = client.writing.borrow_mut();
    let writing = held.as_mut().ok_or_else(no_transaction)?;
    writing.set_waits(waits(around));
    // A canceller of the statement and the deadlock detector find the session by this number.
    let number = client.slot.transaction.swap(writing.id().0, std::sync::atomic::Ordering::AcqRel);
    let done = writing.attempt(f);
    client.slot.transaction.store(number, std::sync::atomic::Ordering::Release);
    done.map_err(|source| {
        let error = error(source);
        if error.retry_reason().is_none() {
            *held = None;
        }
        error
    })
}

fn write(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let [oids, serials, pickles, data_tids] = [0, 1, 2, 3].map(|at| elements(args, at));
    if [&serials, &pickles, &data_tids].iter().any(|other| other.len() != oids.len()) {
        let message = "the arrays of zodb_write() must have as many elements each";
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    }
    let tid_of = |element: DatumRef<'_>| match element {
        DatumRef::Int8(tid) => Some(Tid::of_i64(tid)),
        _ => None,
    };
    let mut writes = Vec::with_capacity(oids.len());
    for (at, oid) in oids.iter().enumerate() {
        let DatumRef::Int8(oid) = *oid else {
            let message = "the id of an object must not be null";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        let data = match pickles[at] {
            DatumRef::Bytea(data) => Some(data),
            _ => None,
        };
        let (serial, data_tid) = (tid_of(serials[at]), tid_of(data_tids[at]));
        writes.push(Write { oid: oid as u64, serial, data, data_tid });
    }
    let bytes: usize = writes.iter().map(|write| write.data.map_or(0, <[u8]>::len)).sum();
    if writes.len() > INLINE_WRITES_MAX || bytes > INLINE_BYTES_MAX {
        may_wait(around)?;
    }
    let conflicts = writing(around, |writing| writing.write(writes))?;
    let row = |of: object::Conflict| [number(of.at as u64), of_tid(of.newest)];
    set([INT8, INT8], conflicts.into_iter().map(row).collect())
}

// --- the graph -----------------------------------------------------------------------------------

/// The class of an object.
fn class(storage: &Storage, oid: u64) -> Result<Datum> {
    Ok(match storage.class(oid).map_err(error)? {
        Some((module, name)) => Datum::text(format!("{module}.{name}")),
        None => Datum::Null,
    })
}

/// A shortest way from the root to an object.
fn path(
    around: &StatementContext<'_>,
    storage: &Storage,
    args: &[DatumRef<'_>],
) -> Result<scalar::Rows> {
    may_wait(around)?;
    let mut rows = Vec::new();
    for (step, oid) in storage.path(id(args, 1)).map_err(error)?.into_iter().enumerate() {
        rows.push([number(step as u64), number(oid), class(storage, oid)?]);
    }
    set([INT8, INT8, TEXT], rows)
}

/// The objects that refer to one.
fn referrers(
    around: &StatementContext<'_>,
    storage: &Storage,
    args: &[DatumRef<'_>],
) -> Result<scalar::Rows> {
    may_wait(around)?;
    let found = storage.referrers(id(args, 1)).map_err(error)?;
    set([INT8], found.into_iter().map(|oid| [number(oid)]).collect())
}

/// The objects that are reached from one, itself included.
fn reachable(
    around: &StatementContext<'_>,
    storage: &Storage,
    args: &[DatumRef<'_>],
) -> Result<scalar::Rows> {
    may_wait(around)?;
    let found = storage.reachable(id(args, 1)).map_err(error)?;
    set([INT8], found.into_iter().map(|oid| [number(oid)]).collect())
}
