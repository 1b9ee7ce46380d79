//! Backups of the whole database, taken by another process, and the log for its archive.
//!
//! ```text
//!   POST   /v1/backups                       begins one: its commit, and the manifest that names its files
//!   GET    /v1/backups/{backup}/files/{file} bytes of a file
//!   GET    /v1/backups/{backup}/log          waits for the records of the commits after one
//!   DELETE /v1/backups/{backup}              ends it
//!   POST   /v1/backups/continue              goes on with the log for a copy that was made before
//! ```
//!
//! Bytes come with their checksum, so that the client sees what was damaged on the way. A client that asks for the log
//! after a commit thereby says that it holds everything up to that commit durably. The server forgets a client that
//! has sent no request for ten minutes; the client resumes with `continue`, as long as the log reaches back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use anywhen::{BackupId, Csn, EngineError, Error, LogBatch, StoreError};
use axum::http::StatusCode;
use axum::http::header::HeaderName;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::BYTES;
use crate::answer::Answer;
use crate::call::Call;
use crate::problem::{Problem, Result};

/// The checksum (CRC-32C) of the bytes of an answer, in hexadecimal digits.
const CHECKSUM: HeaderName = HeaderName::from_static("anywhen-crc32c");
/// Bytes of a file that are given at once.
const PART_BYTES_MAX: u64 = 16 << 20;
/// Bytes of records that are given at once, about.
const LOG_BYTES: usize = 4 << 20;

/// `POST /v1/backups`
pub(super) fn begin(call: &mut Call) -> Result<Answer> {
    let database = &call.app.database;
    call.caller.must_replicate(database)?;
    let plan = database.begin_backup()?;
    let answer = json!({
        "id": shown(plan.id),
        "csn": plan.csn.0,
        "time_us": plan.time_us,
        "complete_us": plan.complete_us,
        "manifest": STANDARD.encode(&plan.manifest),
    });
    Ok(Answer::value(&answer).status(StatusCode::CREATED))
}

/// `POST /v1/backups/continue`
pub(super) fn go_on(call: &mut Call) -> Result<Answer> {
    let database = &call.app.database;
    call.caller.must_replicate(database)?;
    let id = database.follow_log(Csn(call.wanted("after")?), call.wanted("time_us")?)?;
    Ok(Answer::value(&json!({"id": shown(id)})).status(StatusCode::CREATED))
}

/// `GET /v1/backups/{backup}/files/{file}`
pub(super) fn file(call: &mut Call) -> Result<Answer> {
    call.caller.must_replicate(&call.app.database)?;
    let bytes: u64 = call.wanted("bytes")?;
    if bytes > PART_BYTES_MAX {
        return Err(Problem::bad(format!("bytes can be {PART_BYTES_MAX} at most")).into());
    }
    let mut part = vec![0; bytes as usize];
    let offset = call.parsed("offset")?.unwrap_or(0);
    let read = call.app.database.read_backup(named(call)?, call.part("file"), offset, &mut part);
    read.map_err(|error| match error {
        // The backup has no file of this name.
        Error::Engine(EngineError::Store(StoreError::Missing { .. })) => Problem::missing(error),
        error => error.into(),
    })?;
    Ok(checked(part))
}

/// `DELETE /v1/backups/{backup}`
pub(super) fn end(call: &mut Call) -> Result<Answer> {
    call.caller.must_replicate(&call.app.database)?;
    call.app.database.end_backup(named(call)?);
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}

/// `GET /v1/backups/{backup}/log`
pub(super) fn log(call: Call) -> Pin<Box<dyn Future<Output = Result<Answer>> + Send>> {
    Box::pin(async move {
        let app = Arc::clone(&call.app);
        let (id, after) = (named(&call)?, Csn(call.wanted("after")?));
        let (database, caller) = (app.database.clone(), call.caller.clone());
        app.run(move || caller.must_replicate(&database)).await??;
        let (mut newest, mut stopping) = (app.newest.subscribe(), app.stopping.subscribe());
        let until = tokio::time::Instant::now() + app.options.limits.heartbeat;
        loop {
            newest.mark_unchanged();
            let database = app.database.clone();
            let batch = app.run(move || database.records_after(id, after, LOG_BYTES)).await??;
            if !batch.records.is_empty() || *stopping.borrow() {
                return Ok(checked(encoded(&batch)));
            }
            tokio::select! {
                _ = newest.changed() => {}
                _ = stopping.changed() => {}
                () = tokio::time::sleep_until(until) => return Ok(checked(encoded(&batch))),
            }
        }
    })
}

/// The bytes of an answer, with their checksum.
fn checked(bytes: Vec<u8>) -> Answer {
    let checksum = format!("{:08x}", crc32c::crc32c(&bytes));
    Answer::bytes(StatusCode::OK, BYTES, bytes).header(CHECKSUM, &checksum)
}

/// Up to when nothing is missing (u64), and each record after its length (u32); little-endian.
fn encoded(batch: &LogBatch) -> Vec<u8> {
    let bytes: usize = batch.records.iter().map(|record| 4 + record.len()).sum();
    let mut out = Vec::with_capacity(8 + bytes);
    out.extend_from_slice(&batch.complete_us.to_le_bytes());
    for record in &batch.records {
        out.extend_from_slice(&(record.len() as u32).to_le_bytes());
        out.extend_from_slice(record);
    }
    out
}

fn shown(BackupId(id): BackupId) -> String {
    format!("{id:016x}")
}

/// The backup of the path.
fn named(call: &Call) -> Result<BackupId, Problem> {
    let id = u64::from_str_radix(call.part("backup"), 16);
    Ok(BackupId(id.map_err(|_| Problem::missing("there is no such backup"))?))
}
