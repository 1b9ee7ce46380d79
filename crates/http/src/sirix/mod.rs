//! The routes of SirixDB, at the root: its databases are collections, its resources documents.
//!
//! ```text
//!   /                            list, drop all
//!   /{db}                        databases     create, drop, list
//!   /{db}/{r}                    resources     put, get in many forms, insert, remove
//!   /{db}/{r}/history            past          who, when, why
//!   /{db}/{r}/diff                             what changed
//!   /{db}/{r}/pathSummary                      which paths there are
//! ```
//!
//! The answers are SirixDB's, except where those are wrong: a missing object is 404 and never 500, a
//! stale `If-Match` is 412, a document that is put again keeps its history, and a diff tells moves and
//! old values.

mod databases;
mod insert;
mod past;
mod resources;
mod select;

use axum::http::StatusCode;
use axum::http::header::{ACCEPT, CONTENT_TYPE};

use crate::answer::{Answer, JSON};
use crate::auth::Right;
use crate::browser::essence;
use crate::call::Call;
use crate::problem::{Problem, Result};
use crate::route::{Form, Gives, Needs, Parameter, Route, Run, Takes, gives, may};

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 255;

const COMMIT: &[Parameter] = &[
    may("commitMessage", Form::Text, "The message of the commit"),
    may("commitTimestamp", Form::Time, "The time at which the change was made elsewhere"),
    may("author", Form::Text, "The author, if the server requires no token"),
];
const PARTS: &[Parameter] = &[
    may("nodeId", Form::Number, "Only this node"),
    may("startNodeKey", Form::Number, "Only this node; with nextTopLevelNodes, the nodes after it"),
    may("lastTopLevelNodeKey", Form::Number, "Only nodes after this child of the root"),
    may(
        "nextTopLevelNodes",
        Form::Number,
        "The number of children of the start, each written as a whole",
    ),
    may("maxLevel", Form::Number, "The number of levels; the start is level 1"),
    may("maxChildren", Form::Number, "The number of children of each container"),
    may("numberOfNodes", Form::Number, "The number of nodes in all"),
    may(
        "withMetaData",
        Form::OneOf(&["true", "nodeKey", "nodeKeyAndChildCount", "false"]),
        "The metadata of each node",
    ),
    may(
        "withMetadata",
        Form::OneOf(&["true", "nodeKey", "nodeKeyAndChildCount", "false"]),
        "An alias of withMetaData",
    ),
    may("prettyPrint", Form::Flag, "Indented, over several lines"),
];
const QUERY: &[Parameter] = &[
    may("query", Form::Text, "An SQL/JSON path: the answer has its results as {\"rest\":[...]}"),
    may("startResultSeqIndex", Form::Number, "The first of its results, from 0"),
    may("endResultSeqIndex", Form::Number, "The last of its results"),
];
const MOMENT: &[Parameter] = &[
    may("revision", Form::Positive, "At this revision"),
    may(
        "revision-timestamp",
        Form::Time,
        "At the newest revision committed at or before this time",
    ),
];
const RANGE: &[Parameter] = &[
    may("start-revision", Form::Positive, "All revisions from this one"),
    may("end-revision", Form::Positive, "All revisions up to this one"),
    may("start-revision-timestamp", Form::Time, "All revisions from that time"),
    may("end-revision-timestamp", Form::Time, "All revisions up to that time"),
];
const PUT: &[Parameter] = &[
    may(
        "replace",
        Form::Flag,
        "Erase all revisions of the document for good, and begin at revision 1",
    ),
    may(
        "hashType",
        Form::OneOf(&["NONE", "ROLLING"]),
        "Whether a new database keeps a digest of each document; nodes have hashes in every database",
    ),
    may("hash_type", Form::OneOf(&["NONE", "ROLLING"]), "An alias of hashType"),
    may("validFromPath", Form::Text, "Not supported"),
    may("validToPath", Form::Text, "Not supported"),
];
const INSERT: &[Parameter] = &[
    crate::route::must(
        "nodeId",
        Form::Number,
        "The node below or beside which the value goes",
        "1",
    ),
    may(
        "insert",
        Form::OneOf(&["asFirstChild", "asLeftSibling", "asRightSibling", "replace"]),
        "The place of the value; asFirstChild by default",
    ),
];
const NODE: &[Parameter] = &[may("nodeId", Form::Number, "Only this node, with all below it")];
const HISTORY: &[Parameter] = &[
    may("revisions", Form::Number, "The number of the newest revisions"),
    may("startRevision", Form::Positive, "From this revision"),
    may("endRevision", Form::Positive, "Up to this revision"),
];
const DIFF: &[Parameter] = &[
    may(
        "first-revision",
        Form::Revision,
        "The older revision, or its time; by default the one before the newest",
    ),
    may(
        "second-revision",
        Form::Revision,
        "The newer revision, or its time; by default the newest",
    ),
    may("startNodeKey", Form::Number, "Only changes of this node and below it"),
    may("maxDepth", Form::Number, "Only changes of nodes no deeper than this below the start"),
    may(
        "include-data",
        Form::Flag,
        "With the values of inserted and deleted nodes; true by default",
    ),
];
const WITH_RESOURCES: &[Parameter] =
    &[may("withResources", Form::Flag, "With the names of their resources")];

const CREATED: &[Gives] =
    &[gives(201, None, "The object was created"), gives(200, None, "The object existed already")];
const GONE: &[Gives] = &[gives(204, None, "The object is removed; its history stays")];
const PUT_GIVES: &[Gives] = &[
    gives(201, Some(JSON), "The document was created; the answer has it if it is small"),
    gives(200, Some(JSON), "The document has a new revision"),
];
const READ: &[Gives] = &[
    gives(200, Some(JSON), "The document, or the requested part"),
    gives(304, None, "The client has this version already"),
];
const HEAD: &[Gives] = &[
    gives(
        200,
        None,
        "The tag, with nodeId the hash of that node; the time, and the length if known",
    ),
    gives(304, None, "The client has this version already"),
];

/// The operations.
pub(crate) const ROUTES: &[Route] = &[
    Route::new("GET", "/", "listDatabases", "The databases", Run::Long(databases::list))
        .shows("Databases")
        .needs(Needs::Somebody)
        .with(&[WITH_RESOURCES]),
    Route::new(
        "DELETE",
        "/",
        "dropDatabases",
        "Drop all databases",
        Run::Long(databases::remove_all),
    )
    .right(Right::Delete)
    .gives(GONE),
    Route::new("POST", "/", "postQuery", "Not supported: queries in JSONiq", Run::Long(no_query))
        .takes_json("{\"query\":\"1 + 1\"}")
        .gives(&[]),
    Route::new("PUT", "/{db}", "createDatabase", "Create a database", Run::Long(databases::create))
        .right(Right::Create)
        .gives(CREATED),
    Route::new(
        "GET",
        "/{db}",
        "getDatabase",
        "The resources of a database",
        Run::Long(databases::get),
    )
    .shows("Resources"),
    Route::new("DELETE", "/{db}", "dropDatabase", "Drop a database", Run::Long(databases::remove))
        .right(Right::Delete)
        .gives(GONE),
    Route::new("PUT", "/{db}/{r}", "putResource", "Put a document", Run::Long(resources::put))
        .needs(Needs::Somebody)
        .takes(Takes::Document)
        .gives(PUT_GIVES)
        .with(&[PUT, COMMIT]),
    Route::new("GET", "/{db}/{r}", "getResource", "Read a document", Run::Short(resources::get))
        .gives(READ)
        .with(&[RANGE, MOMENT, PARTS, QUERY]),
    Route::new(
        "HEAD",
        "/{db}/{r}",
        "headResource",
        "The answer of getResource, without the body",
        Run::Short(resources::head),
    )
    .gives(HEAD)
    .with(&[RANGE, MOMENT, PARTS, QUERY]),
    Route::new("POST", "/{db}/{r}", "insertNode", "Insert nodes", Run::Long(resources::insert))
        .right(Right::Modify)
        .takes_json("{\"added\":true}")
        .gives(&[gives(200, Some(JSON), "The document at the new revision")])
        .with(&[INSERT, COMMIT]),
    Route::new(
        "DELETE",
        "/{db}/{r}",
        "removeResource",
        "Remove a document or a node",
        Run::Long(resources::remove),
    )
    .needs(Needs::Somebody)
    .gives(GONE)
    .with(&[NODE, COMMIT]),
    Route::new(
        "GET",
        "/{db}/{r}/history",
        "getHistory",
        "The revisions, newest first",
        Run::Long(past::history),
    )
    .shows("SirixHistory")
    .with(&[HISTORY]),
    Route::new(
        "GET",
        "/{db}/{r}/diff",
        "getDiff",
        "The changes between two revisions",
        Run::Long(past::diff),
    )
    .shows("SirixDiff")
    .with(&[DIFF]),
    Route::new(
        "GET",
        "/{db}/{r}/pathSummary",
        "getPathSummary",
        "The paths of a document",
        Run::Long(past::paths),
    )
    .shows("SirixPaths")
    .with(&[MOMENT]),
];

/// The message that refuses a query in JSONiq.
const NO_JSONIQ: &str = "queries in JSONiq are not supported: the parameter query takes an SQL/JSON path such as \
                         $.foo[*], and POST /v1/sql runs SQL";

/// `POST /`
fn no_query(_call: &mut Call) -> Result<Answer> {
    Err(Problem::not_supported(NO_JSONIQ).into())
}

/// The types of XML.
const XML: [&str; 2] = ["application/xml", "text/xml"];

/// Fails if a client has, or wants, XML.
fn no_xml(call: &Call) -> Result<(), Problem> {
    const TEXT: &str = "XML is not supported: databases and resources are JSON (application/json)";
    let is_xml = |type_: &str| XML.contains(&type_);
    if call.headers.get(CONTENT_TYPE).map(essence).is_some_and(|given| is_xml(&given)) {
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, TEXT));
    }
    let accepted =
        call.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut types =
        accepted.split(',').map(|type_| type_.split(';').next().unwrap_or_default().trim());
    match !accepted.trim().is_empty() && types.all(is_xml) {
        true => Err(Problem::new(StatusCode::NOT_ACCEPTABLE, TEXT)),
        false => Ok(()),
    }
}

/// The value of a parameter that has two names.
fn spelled<'c>(
    call: &'c Call,
    name: &'static str,
    other: &str,
) -> Result<Option<&'c str>, Problem> {
    match (call.text(name), call.text(other)) {
        (Some(_), Some(_)) => {
            Err(Problem::bad(format!("{name} and {other} are one parameter: give it once")))
        }
        (one, another) => Ok(one.or(another)),
    }
}

/// The names of database and resource, which must be names that SirixDB takes, of a client that does not want XML.
fn names(call: &Call) -> Result<(&str, &str), Problem> {
    no_xml(call)?;
    Ok((name(call, "db")?, name(call, "r")?))
}

fn name<'c>(call: &'c Call, part: &str) -> Result<&'c str, Problem> {
    let name = call.part(part);
    let is_bad = name.trim().is_empty()
        || name.chars().count() > NAME_CHARS_MAX
        || name.contains("..")
        || name.contains(['/', '\\', '\0']);
    match is_bad {
        true => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            format!(
                "{name:?} cannot be a name: a name has 1 to 255 characters, without '..', '/', '\\' and NUL"
            ),
        )),
        false => Ok(name),
    }
}
