//! Our own routes: all functions of the library for documents, and SQL.
//!
//! ```text
//!   /v1/collections/{collection}                     collections   create, list, alter, drop
//!     /documents/{key}                               documents     get, put, patch, remove
//!       /node  /node/move  /node/rename              nodes         one node, by path or by key
//!       /node/history                                node_history  its values over time
//!       /node/changes                                node_history  what each version changed inside of it
//!       /node/version                                nodes         one of its values
//!       /page                                        page          its whole history in a page
//!       /versions  /versions/{revision}  /range      versions      what was when
//!       /versions/density                            density       how many revisions there were when
//!       /outline                                     outline       the rows of its tree that a reader sees
//!       /search                                      search        the next node with a text in it
//!       /diff  /revert  /blame  /paths  /hash        versions
//!   /v1/transactions                                 transactions  many documents at once
//!   /v1/changes                                      changes       what happens, as it happens
//!   /v1/sql                                          sql
//!   /v1/backups                                      backups       of the whole database, and its log
//! ```

mod backups;
mod changes;
mod collections;
mod deadline;
mod density;
mod documents;
mod edits;
mod node_history;
mod nodes;
mod outline;
mod page;
mod search;
mod sql;
mod transactions;
mod versions;

use crate::answer::{JSON, NDJSON};
use crate::auth::Right;
use crate::route::{Form, Gives, Needs, Parameter, Route, Run, Takes, either, gives, may, must};

/// The type of a JSON patch (RFC 6902).
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
/// The type of a merge patch (RFC 7396).
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
/// The type of pages.
const HTML: &str = "text/html; charset=utf-8";
/// The type of bytes.
const BYTES: &str = "application/octet-stream";
/// The type of server-sent events.
const EVENTS: &str = "text/event-stream";

const COMMIT: &[Parameter] = &[
    may(
        "author",
        Form::Text,
        "The author of the change, if the server requires no token; or the header Anywhen-Author",
    ),
    may("message", Form::Text, "The message of the commit; or the header Anywhen-Message"),
    may(
        "authored",
        Form::Time,
        "The time at which the change was made elsewhere; the commit also has its own time",
    ),
];
const REPLACE: &[Parameter] = &[may(
    "replace",
    Form::Flag,
    "Erase all revisions of the document for good, and begin at revision 1",
)];
const MAKE: &[Parameter] =
    &[may("create", Form::Flag, "With false a missing collection is not made: the answer is 404")];
const MOMENT: &[Parameter] = &[
    may("revision", Form::Positive, "At this revision"),
    may("timestamp", Form::Time, "At the newest revision committed at or before this time"),
    may("authored", Form::Time, "At the newest revision authored at or before this time"),
    may("csn", Form::Number, "At the newest revision at or before this commit"),
];
const COMMIT_MOMENT: &[Parameter] = &[
    may("timestamp", Form::Time, "As of this time"),
    may("csn", Form::Number, "As of this commit"),
];
const NODE: &[Parameter] = &[
    may("path", Form::Text, "The node at this path: $.items[3].qty or /items/3/qty"),
    may("node_key", Form::Number, "The node with this key"),
];
const NODE_WANTED: &[Parameter] = &[
    either("path", Form::Text, "The node at this path: $.items[3].qty or /items/3/qty", "$.tada"),
    may("node_key", Form::Number, "The node with this key, instead of a path"),
];
const CONTAINER_WANTED: &[Parameter] = &[
    either("path", Form::Text, "The node at this path", "$"),
    may("node_key", Form::Number, "The node with this key, instead of a path"),
];
const FIELD_WANTED: &[Parameter] = &[
    either("path", Form::Text, "The node at this path", "$.baz"),
    may("node_key", Form::Number, "The node with this key, instead of a path"),
];
const PARTS: &[Parameter] = &[
    may("max_level", Form::Number, "The number of levels; the start is level 1"),
    may("max_children", Form::Number, "The number of children of each container"),
    may("nodes", Form::Number, "The number of nodes in all"),
    may("top", Form::Number, "The number of children of the start, each written as a whole"),
    may("after", Form::Number, "Only children of the start after the one with this key"),
    may(
        "metadata",
        Form::OneOf(&["true", "nodeKey", "nodeKeyAndChildCount", "false"]),
        "The metadata of each node",
    ),
    may("pretty", Form::Flag, "Indented, over several lines"),
];
const PLACE: &[Parameter] = &[
    may(
        "at",
        Form::OneOf(&["first", "last", "before", "after"]),
        "The place: below the node or beside it; last by default",
    ),
    may("name", Form::Text, "The name of the field, if the node goes into an object"),
];
const TO: &[Parameter] = &[
    either("to_path", Form::Text, "The node below or beside which it goes, by its path", "$.tada"),
    may("to_node_key", Form::Number, "The same node by its key, instead of a path"),
];
const LIST: &[Parameter] = &[
    may("prefix", Form::Text, "Only keys with this prefix"),
    may("after", Form::Text, "Only keys after this one: the last key of the previous page"),
    may("limit", Form::Positive, "The number of keys; 1,000 by default, 10,000 at most"),
];
const SPAN: &[Parameter] = &[
    may("from", Form::Positive, "From this revision"),
    may("to", Form::Positive, "Up to this revision"),
];
const BUCKETS: &[Parameter] =
    &[may("buckets", Form::Positive, "The number of buckets; 200 by default, 1,000 at most")];
const WINDOW: &[Parameter] = &[
    may("depth", Form::Number, "Containers above this depth are open; 2 by default"),
    may(
        "toggled",
        Form::Text,
        "Comma-separated keys of nodes that are open instead of closed, or closed instead of open",
    ),
    may(
        "row",
        Form::Number,
        "The first row of the window; by default 0, or such that the window has the named node",
    ),
    may("rows", Form::Positive, "The number of rows; 100 by default, 1,000 at most"),
    may(
        "text_max",
        Form::Number,
        "The number of characters of a text; 200 by default, 10,000 at most",
    ),
    may(
        "blame",
        Form::Flag,
        "With the revision that last changed each row, its author and its time",
    ),
];
const SEARCH: &[Parameter] = &[
    must("text", Form::Text, "The text that a name or a value contains; case does not matter", "a"),
    may("after_node", Form::Number, "Begin after the node with this key, or backward before it"),
    may("backward", Form::Flag, "Towards the beginning of the document"),
];
const NEWEST: &[Parameter] = &[may("limit", Form::Positive, "The number of the newest revisions")];
const TWO: &[Parameter] = &[
    may("from", Form::Positive, "The older revision; by default the one before the newest"),
    may("to", Form::Positive, "The newer revision; by default the newest"),
    may(
        "form",
        Form::OneOf(&["nodes", "rfc6902", "sirix"]),
        "The form of the answer; nodes by default",
    ),
];
const REVERT: &[Parameter] = &[must("revision", Form::Positive, "The revision to restore", "1")];
const HISTORY: &[Parameter] = &[
    may("limit", Form::Positive, "The number of the newest versions; all by default"),
    may(
        "before",
        Form::Positive,
        "Only versions that began before this revision: `earlier` of the previous page",
    ),
    may(
        "having",
        Form::Text,
        "Only versions with this value; if none has it, versions that contain it",
    ),
    may("summary", Form::Flag, "With figures over all values"),
];
const INSIDE: &[Parameter] = &[
    may("limit", Form::Positive, "The number of the newest versions; 20 by default, 100 at most"),
    may(
        "before",
        Form::Positive,
        "Only versions before this revision: `earlier` of the previous page",
    ),
];
const AXIS: &[Parameter] = &[
    must(
        "axis",
        Form::OneOf(&["first", "last", "at", "previous", "next"]),
        "The version of the node, relative to the revision",
        "first",
    ),
    may("revision", Form::Positive, "The revision that `axis` refers to; by default the newest"),
];
const RENAME: &[Parameter] = &[must("name", Form::Text, "The new name", "renamed")];
const PURGE: &[Parameter] = &[may("purge", Form::Flag, "Also remove its past")];
const FOLLOW: &[Parameter] = &[
    may("from", Form::Number, "The commit after which the stream begins; by default the newest"),
    may("collection", Form::Text, "Only documents of this collection"),
    may("key", Form::Text, "Only the document with this key"),
    may("path", Form::Text, "Only revisions that changed something at or below this path"),
    may("diff", Form::Flag, "With the changes of each revision"),
    may("until", Form::Number, "End with this commit; without it the stream has no end"),
];

const RUN: &[Parameter] = &[
    may("database", Form::Text, "The database; `postgres` by default"),
    may(
        "timeout",
        Form::Positive,
        "Cancel the statement after so many milliseconds: the answer is 504",
    ),
    may(
        "timestamp",
        Form::Time,
        "Read everything as of this time; the statement can change nothing",
    ),
];

const BACKUP_FILE: &[Parameter] = &[
    must("bytes", Form::Number, "The number of bytes, 16,777,216 at most", "1"),
    may("offset", Form::Number, "The first byte"),
];
const BACKUP_LOG: &[Parameter] = &[must(
    "after",
    Form::Number,
    "The commit up to which the client has all commits durably",
    "0",
)];
const BACKUP_CONTINUE: &[Parameter] = &[
    must("after", Form::Number, "The newest commit of the copy", "0"),
    must("time_us", Form::Number, "Its time, in microseconds since 1970", "0"),
];

const DONE: &[Gives] = &[gives(200, Some(JSON), "The new revision")];
const PUT_DONE: &[Gives] = &[
    gives(201, Some(JSON), "The document was created"),
    gives(200, Some(JSON), "The document has a new revision, or has not changed"),
];
const READ: &[Gives] = &[
    gives(200, Some(JSON), "The document, or the requested part"),
    gives(304, None, "The client has this version already"),
];
const HEAD: &[Gives] = &[
    gives(200, None, "The tag, the time, and the length if it is known"),
    gives(304, None, "The client has this version already"),
];
const PAGE: &[Gives] = &[
    gives(200, Some(HTML), "The page"),
    gives(501, Some(crate::problem::MEDIA), "The server was built without the explorer"),
];
const REMOVED: &[Gives] = &[gives(204, None, "The object is removed")];
const CREATED: &[Gives] = &[
    gives(201, Some(JSON), "The object was created"),
    gives(200, Some(JSON), "The object existed already"),
];

const OPTIONS: &str = r#"{"history":"forever","hashes":false,"path_summary":false}"#;
const TRANSACTION: &str =
    r#"{"operations":[{"op":"put","collection":"c","key":"new","value":{"n":1}}]}"#;
const C: &str = "/v1/collections/{collection}";

macro_rules! of {
    ($rest:literal) => {
        concat!("/v1/collections/{collection}/documents/{key}", $rest)
    };
}

/// The operations.
pub(crate) const ROUTES: &[Route] = &[
    Route::new(
        "GET",
        "/v1/collections",
        "listCollections",
        "The collections and their options",
        Run::Long(collections::list),
    )
    .shows("Collections")
    .needs(Needs::Somebody),
    Route::new("PUT", C, "createCollection", "Create a collection", Run::Long(collections::create))
        .shows("Collection")
        .right(Right::Create)
        .takes(Takes::Whole { media: &[JSON], example: OPTIONS, is_optional: true })
        .shaped(&["CollectionOptions"])
        .gives(CREATED),
    Route::new(
        "GET",
        C,
        "getCollection",
        "Get the options of a collection",
        Run::Long(collections::get),
    )
    .shows("Collection"),
    Route::new(
        "PATCH",
        C,
        "alterCollection",
        "Change how much of the past a collection keeps",
        Run::Long(collections::alter),
    )
    .shows("Collection")
    .right(Right::Modify)
    .takes(Takes::Whole {
        media: &[JSON, MERGE_PATCH],
        example: r#"{"history":"90d"}"#,
        is_optional: false,
    })
    .shaped(&["CollectionOptions", "CollectionOptions"]),
    Route::new("DELETE", C, "dropCollection", "Drop a collection", Run::Long(collections::remove))
        .right(Right::Delete)
        .gives(REMOVED)
        .with(&[PURGE]),
    Route::new(
        "GET",
        "/v1/collections/{collection}/documents",
        "listDocuments",
        "The keys of documents, in order",
        Run::Long(collections::keys),
    )
    .shows("Keys")
    .with(&[LIST, COMMIT_MOMENT]),
    Route::new(
        "GET",
        of!(""),
        "getDocument",
        "A document, or a part of it",
        Run::Short(documents::get),
    )
    .gives(READ)
    .with(&[MOMENT, NODE, PARTS]),
    Route::new(
        "HEAD",
        of!(""),
        "headDocument",
        "The answer of getDocument, without the body",
        Run::Short(documents::get),
    )
    .gives(HEAD)
    .with(&[MOMENT, NODE, PARTS]),
    Route::new("PUT", of!(""), "putDocument", "Write a document", Run::Long(documents::put))
        .shows("Committed")
        .needs(Needs::Somebody)
        .takes(Takes::Document)
        .gives(PUT_DONE)
        .with(&[REPLACE, MAKE, COMMIT]),
    Route::new(
        "PATCH",
        of!(""),
        "patchDocument",
        "Change parts of a document",
        Run::Long(documents::patch),
    )
    .shows("Committed")
    .right(Right::Modify)
    .takes(Takes::Whole {
        media: &[JSON_PATCH, MERGE_PATCH],
        example: r#"[{"op":"add","path":"/patched","value":true}]"#,
        is_optional: false,
    })
    .shaped(&["Patch"])
    .gives(DONE)
    .with(&[COMMIT]),
    Route::new(
        "DELETE",
        of!(""),
        "removeDocument",
        "Remove a document; its history stays",
        Run::Long(documents::remove),
    )
    .right(Right::Delete)
    .gives(REMOVED)
    .with(&[COMMIT]),
    Route::new("GET", of!("/node"), "getNode", "A node and its metadata", Run::Long(nodes::get))
        .shows("Node")
        .with(&[NODE_WANTED, MOMENT]),
    Route::new(
        "PUT",
        of!("/node"),
        "setNode",
        "Set the value of a node; a missing field is added",
        Run::Long(nodes::set),
    )
    .shows("Committed")
    .right(Right::Modify)
    .takes_json("17")
    .gives(DONE)
    .with(&[FIELD_WANTED, COMMIT]),
    Route::new(
        "POST",
        of!("/node"),
        "insertNodeAt",
        "Add a node below or beside another",
        Run::Long(nodes::insert),
    )
    .shows("Committed")
    .right(Right::Modify)
    .takes_json("[1,2]")
    .gives(&[gives(201, Some(JSON), "The new revision, and the key of the node")])
    .with(&[NODE_WANTED, PLACE, COMMIT]),
    Route::new(
        "DELETE",
        of!("/node"),
        "removeNode",
        "Remove a node and all below it",
        Run::Long(nodes::remove),
    )
    .shows("Committed")
    .right(Right::Modify)
    .gives(DONE)
    .with(&[FIELD_WANTED, COMMIT]),
    Route::new(
        "POST",
        of!("/node/move"),
        "moveNode",
        "Move a node, with all below it",
        Run::Long(nodes::transfer),
    )
    .shows("Committed")
    .right(Right::Modify)
    .gives(DONE)
    .with(&[FIELD_WANTED, TO, PLACE, COMMIT]),
    Route::new(
        "POST",
        of!("/node/rename"),
        "renameNode",
        "Rename a field",
        Run::Long(nodes::rename),
    )
    .shows("Committed")
    .right(Right::Modify)
    .gives(DONE)
    .with(&[FIELD_WANTED, RENAME, COMMIT]),
    Route::new(
        "GET",
        of!("/node/history"),
        "getNodeHistory",
        "The values that stood at a path, or that a node had, each with its revisions",
        Run::Long(node_history::history),
    )
    .shows("NodeHistory")
    .with(&[NODE_WANTED, HISTORY]),
    Route::new(
        "GET",
        of!("/node/changes"),
        "getNodeChanges",
        "The changes of each version inside of an object or an array",
        Run::Long(node_history::changes),
    )
    .shows("NodeChanges")
    .with(&[CONTAINER_WANTED, INSIDE]),
    Route::new(
        "GET",
        of!("/page"),
        "getHistoryPage",
        "A page that shows the document with its whole history, without a server",
        Run::Long(page::get),
    )
    .gives(PAGE),
    Route::new(
        "GET",
        of!("/node/version"),
        "getNodeVersion",
        "One value of a node: the first, the last, the one before or after",
        Run::Long(nodes::version),
    )
    .shows("NodeVersionFound")
    .with(&[NODE_WANTED, AXIS]),
    Route::new(
        "GET",
        of!("/versions"),
        "listVersions",
        "The revisions, newest first",
        Run::Long(versions::list),
    )
    .shows("Versions")
    .with(&[NEWEST, SPAN]),
    Route::new(
        "GET",
        of!("/versions/density"),
        "getDensity",
        "The number of revisions over time, in buckets",
        Run::Long(density::density),
    )
    .shows("Density")
    .with(&[BUCKETS, SPAN]),
    Route::new(
        "GET",
        of!("/outline"),
        "getOutline",
        "A window of the visible rows of the tree",
        Run::Long(outline::outline),
    )
    .shows("Outline")
    .with(&[NODE, WINDOW, MOMENT]),
    Route::new(
        "GET",
        of!("/search"),
        "searchDocument",
        "The next node whose name or value contains a text",
        Run::Long(search::search),
    )
    .shows("SearchFound")
    .with(&[SEARCH, MOMENT]),
    Route::new(
        "GET",
        of!("/versions/{revision}"),
        "getVersion",
        "The facts about a revision",
        Run::Long(versions::one),
    )
    .shows("Version"),
    Route::new(
        "GET",
        of!("/range"),
        "getRange",
        "The document at each revision of a range, a line each",
        Run::Long(versions::range),
    )
    .shows("RevisionLine")
    .gives(&[gives(200, Some(NDJSON), "A line for each revision")])
    .with(&[SPAN]),
    Route::new(
        "GET",
        of!("/diff"),
        "getDocumentDiff",
        "The changes between two revisions",
        Run::Long(versions::diff),
    )
    .shows("DocumentDiff")
    .gives(&[
        gives(200, Some(JSON), "The changes"),
        gives(200, Some(JSON_PATCH), "The changes as a patch"),
    ])
    .with(&[TWO]),
    Route::new(
        "POST",
        of!("/revert"),
        "revertDocument",
        "Make a new revision that equals an older one",
        Run::Long(versions::revert),
    )
    .shows("Committed")
    .needs(Needs::Somebody)
    .gives(DONE)
    .with(&[REVERT, COMMIT]),
    Route::new(
        "GET",
        of!("/blame"),
        "getBlame",
        "For each node the revision that last changed it",
        Run::Long(versions::blame),
    )
    .shows("Blame")
    .with(&[MOMENT]),
    Route::new(
        "GET",
        of!("/paths"),
        "getPaths",
        "The paths of a document, and how many nodes have each",
        Run::Long(versions::paths),
    )
    .shows("Paths")
    .with(&[MOMENT]),
    Route::new(
        "GET",
        of!("/hash"),
        "getHash",
        "The digest of a version",
        Run::Long(versions::hash),
    )
    .shows("Hash")
    .with(&[MOMENT, NODE]),
    Route::new(
        "POST",
        "/v1/transactions",
        "runTransaction",
        "Change many documents, in any collections, as one commit or not at all",
        Run::Long(transactions::run),
    )
    .shows("TransactionDone")
    .needs(Needs::Somebody)
    .takes_json(TRANSACTION)
    .shaped(&["Transaction"])
    .gives(&[gives(200, Some(JSON), "The commit, and the revision that each document has")])
    .with(&[COMMIT]),
    Route::new(
        "GET",
        "/v1/changes",
        "followChanges",
        "A stream of the changes of documents",
        Run::Following(changes::follow),
    )
    .needs(Needs::Somebody)
    .gives(&[gives(200, Some(EVENTS), "An event for each revision of a document")])
    .with(&[FOLLOW]),
    Route::new("POST", "/v1/sql", "runSql", "Run an SQL statement", Run::Long(sql::run))
        .shows("Rows")
        .needs(Needs::Somebody)
        .takes_json(r#"{"sql":"SELECT $1::int + 1 AS next","parameters":[41]}"#)
        .shaped(&["Statement"])
        .gives(&[
            gives(200, Some(JSON), "The rows"),
            gives(200, Some(NDJSON), "The rows, a line each"),
        ])
        .with(&[RUN]),
    Route::new(
        "POST",
        "/v1/backups",
        "beginBackup",
        "Begin a backup of the whole database: the server keeps its files until it ends",
        Run::Long(backups::begin),
    )
    .shows("Backup")
    .needs(Needs::Somebody)
    .gives(&[gives(201, Some(JSON), "The files and the log to copy")]),
    Route::new(
        "POST",
        "/v1/backups/continue",
        "continueBackup",
        "Continue with the log for an earlier copy",
        Run::Long(backups::go_on),
    )
    .shows("ContinuedBackup")
    .needs(Needs::Somebody)
    .gives(&[gives(201, Some(JSON), "The log is kept from there on")])
    .with(&[BACKUP_CONTINUE]),
    Route::new(
        "GET",
        "/v1/backups/{backup}/files/{file}",
        "getBackupFile",
        "Bytes of a file of a backup, with their checksum (Anywhen-Crc32c)",
        Run::Long(backups::file),
    )
    .needs(Needs::Somebody)
    .gives(&[gives(200, Some(BYTES), "The bytes")])
    .with(&[BACKUP_FILE]),
    Route::new(
        "GET",
        "/v1/backups/{backup}/log",
        "getBackupLog",
        "Wait for the records of the commits after one",
        Run::Following(backups::log),
    )
    .needs(Needs::Somebody)
    .gives(&[gives(200, Some(BYTES), "The records; none if nothing was committed for a while")])
    .with(&[BACKUP_LOG]),
    Route::new(
        "DELETE",
        "/v1/backups/{backup}",
        "endBackup",
        "End a backup: the server releases its files and the log",
        Run::Long(backups::end),
    )
    .needs(Needs::Somebody)
    .gives(REMOVED),
];
