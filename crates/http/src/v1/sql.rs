//! SQL over HTTP: one statement a request, its rows as JSON.
//!
//! ```text
//!   {"sql": "SELECT id, name FROM person WHERE id = $1", "parameters": [7]}
//!   {"columns":[{"name":"id","type":"integer"},...],"rows":[[7,"Ada"]],"command":"SELECT","count":1}
//!   Accept: application/x-ndjson      {"id":7,"name":"Ada"}      a line each, as they come
//! ```
//!
//! Truth values, numbers and JSON are themselves; all else is the text that PostgreSQL shows. Errors
//! tell their code; a statement whose time is over is cancelled (504), and so is one whose client is gone.
//!
//! A statement runs as the role that the token stands for, in a session of that role: its rights are those that
//! SQL has granted to the role. It wants all rights in all collections, because a statement may do any of them.
//! Where callers need not sign in it may do everything. With `timestamp` the session reads everything as it was
//! at that time.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use anywhen::sql::{Column, Connection, LogIn, Type, type_name};
use axum::http::StatusCode;
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use json::text::quote;
use json::{Kind, Node};
use tokio::sync::mpsc;

use crate::answer::{Answer, Content, NDJSON, Pieces};
use crate::auth::Right;
use crate::call::Call;
use crate::once::Form;
use crate::problem::{Problem, Result};

use super::deadline::Deadline;
use super::transactions::known;

/// The database where none is named.
const DATABASE: &str = "postgres";
/// Bytes of rows that are held for an answer in one piece.
const WHOLE_BYTES_MAX: usize = 256 << 20;

/// `POST /v1/sql`
pub(super) fn run(call: &mut Call) -> Result<Answer> {
    for right in [Right::View, Right::Create, Right::Modify, Right::Delete] {
        call.caller.must(right, None)?;
    }
    let tape = call.told(Form::Object)?;
    known(tape.root(), "a statement", &["sql", "parameters"])?;
    let missing = || Problem::bad("the body has no \"sql\"");
    let text = tape.root().get("sql").and_then(|text| text.as_str()).ok_or_else(missing)?;
    let parameters = match tape.root().get("parameters") {
        None => Vec::new(),
        Some(list) if list.kind() == Kind::Array => list.children().map(parameter).collect(),
        Some(_) => return Err(Problem::bad("the member parameters must be an array").into()),
    };
    let limit = limit(call)?;
    let accept = call.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let mut connection = connect(call)?;
    read_as_of(call, &mut connection)?;
    let deadline = Deadline::set(limit, &call.cancelled, &connection);
    match accept.is_some_and(|accept| accept.contains(NDJSON)) {
        true => lines(call, connection, deadline, text.into_owned(), parameters),
        false => whole(connection, &deadline, &text, &parameters),
    }
}

/// A session of the role that the caller stands for.
fn connect(call: &Call) -> Result<Connection> {
    let (caller, served) = (&call.caller, &call.app.database);
    let database = call.text("database").unwrap_or(DATABASE);
    if caller.is_nobody() {
        return Ok(served.connect_to(database)?);
    }
    let role = caller.must_stand_for(served)?;
    Ok(served.connect_as(&LogIn { role, database, author: &caller.name })?)
}

/// Makes the session read everything as of the parameter `timestamp`.
fn read_as_of(call: &Call, connection: &mut Connection) -> Result<()> {
    let Some(time_us) = call.time("timestamp")? else { return Ok(()) };
    let setting = "SELECT set_config('system_time_as_of', $1, false)";
    let moment = Some(anywhen::time::rfc3339(time_us));
    connection.each(setting, &[moment], &mut |_, _| ControlFlow::Continue(()))?;
    Ok(())
}

/// How long the statement may run: as the request says, and no longer than the server allows.
fn limit(call: &Call) -> Result<Option<Duration>, Problem> {
    let asked = match call.parsed("timeout")? {
        Some(0) => {
            return Err(Problem::bad("the parameter timeout must be 1 or more milliseconds"));
        }
        asked => asked.map(Duration::from_millis),
    };
    let allowed = call.app.options.limits.statement;
    Ok(asked.into_iter().chain(allowed).min())
}

/// A parameter as PostgreSQL reads it.
fn parameter(node: Node<'_>) -> Option<String> {
    match node.kind() {
        Kind::Null => None,
        Kind::String => node.as_str().map(|text| text.into_owned()),
        _ => Some(node.to_json()),
    }
}

/// Writes a value as JSON.
fn write(column: &Column, text: Option<&str>, out: &mut String) {
    let Some(text) = text else { return out.push_str("null") };
    let ty = column.ty;
    let is_number =
        [Type::INT2, Type::INT4, Type::INT8, Type::OID, Type::FLOAT4, Type::FLOAT8, Type::NUMERIC]
            .contains(&ty);
    if ty == Type::BOOL {
        out.push_str(if text == "t" { "true" } else { "false" });
    } else if is_number && !text.ends_with(['N', 'y']) {
        out.push_str(text);
    } else if ty == Type::JSONB || ty == Type::JSON {
        // Line breaks in JSON are between its tokens alone.
        out.extend(text.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
    } else {
        out.push_str(&quote(text));
    }
}

fn whole(
    mut connection: Connection,
    deadline: &Deadline,
    text: &str,
    parameters: &[Option<String>],
) -> Result<Answer> {
    let mut rows = String::new();
    let mut is_too_long = false;
    let done = connection.each(text, parameters, &mut |columns, values| {
        rows.push_str(if rows.is_empty() { "[" } else { ",[" });
        for (at, (column, value)) in columns.iter().zip(values).enumerate() {
            if at > 0 {
                rows.push(',');
            }
            write(column, value.as_deref(), &mut rows);
        }
        rows.push(']');
        is_too_long = rows.len() > WHOLE_BYTES_MAX;
        if is_too_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let (columns, tag) = done.map_err(|error| deadline.problem(error))?;
    if is_too_long {
        let text = format!("the rows are more than {WHOLE_BYTES_MAX} bytes: ask for {NDJSON}");
        return Err(Problem::too_large(text).into());
    }
    let columns: Vec<String> = columns.iter().map(described).collect();
    let count = tag.rows.map_or("null".to_owned(), |rows| rows.to_string());
    Ok(Answer::json(format!(
        "{{\"columns\":[{}],\"rows\":[{rows}],\"command\":{},\"count\":{count}}}",
        columns.join(","),
        quote(tag.command),
    )))
}

fn described(column: &Column) -> String {
    format!("{{\"name\":{},\"type\":{}}}", quote(&column.name), quote(&type_name(column.ty)))
}

/// Rows as they come. The first of them, or the error, decides about the status.
fn lines(
    call: &Call,
    mut connection: Connection,
    deadline: Deadline,
    text: String,
    parameters: Vec<Option<String>>,
) -> Result<Answer> {
    const PIECE_BYTES: usize = 32 << 10;
    let place = Arc::clone(&call.app.streams).try_acquire_owned();
    let place = place.map_err(|_| Problem::busy("the server is streaming too many answers"))?;
    let (out, rows) = mpsc::channel(2);
    let (begun, begins) = sync_channel::<Result<(), Problem>>(1);
    let idle = call.app.options.limits.idle;
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut to = Pieces::new(out, idle);
        let (mut piece, mut is_begun) = (String::new(), false);
        let done = connection.each(&text, &parameters, &mut |columns, values| {
            piece.push('{');
            for (at, (column, value)) in columns.iter().zip(values).enumerate() {
                if at > 0 {
                    piece.push(',');
                }
                piece += &quote(&column.name);
                piece.push(':');
                write(column, value.as_deref(), &mut piece);
            }
            piece += "}\n";
            if piece.len() < PIECE_BYTES {
                return ControlFlow::Continue(());
            }
            if !std::mem::replace(&mut is_begun, true) {
                // The client that waits for it may have given up.
                let _ = begun.send(Ok(()));
            }
            match to.send(std::mem::take(&mut piece).into_bytes()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        let is_sent = match done.map_err(|error| deadline.problem(error)) {
            // The end of the stream shows that rows on their way were not all.
            Err(problem) if is_begun => to.fail(std::io::Error::other(problem.detail().to_owned())),
            Err(problem) => begun.send(Err(problem)).is_ok(),
            Ok(_) => {
                let is_waited_for = is_begun || begun.send(Ok(())).is_ok();
                is_waited_for && to.send(piece.into_bytes()).is_ok()
            }
        };
        if !is_sent {
            tracing::debug!("nobody reads the rows any more");
        }
    });
    let ended = || Problem::internal("the statement ended without an answer");
    begins.recv().map_err(|_| ended())??;
    let mut answer = Answer::empty(StatusCode::OK);
    answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(NDJSON));
    answer.content = Content::Events(rows);
    Ok(answer)
}
