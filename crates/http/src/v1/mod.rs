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
        "The author of the change, where callers need not sign in; or the header Anywhen-Author",
    ),
    may("message", Form::Text, "Why; or the header Anywhen-Message"),
    may(
        "authored",
        Form::Time,
        "When it was made where it comes from; the commit has a time of its own",
    ),
];
const REPLACE: &[Parameter] =
    &[may("replace", Form::Flag, "Begin anew: all that the document was is erased for good")];
const MAKE: &[Parameter] = &[may(
    "create",
    Form::Flag,
    "With false no collection is made where there is none: the answer is 404",
)];
const MOMENT: &[Parameter] = &[
    may("revision", Form::Positive, "At this revision"),
    may("timestamp", Form::Time, "At the newest revision of that time"),
    may(
        "authored",
        Form::Time,
        "At the newest revision that was made by that time where it comes from",
    ),
    may("csn", Form::Number, "At the newest revision of that commit"),
];
const COMMIT_MOMENT: &[Parameter] = &[
    may("timestamp", Form::Time, "As it was at that time"),
    may("csn", Form::Number, "As it was at that commit"),
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
    may("max_level", Form::Number, "Levels that are written; the start is level 1"),
    may("max_children", Form::Number, "Children of each container that are written"),
    may("nodes", Form::Number, "Nodes that are written in all"),
    may("top", Form::Number, "So many children of the start, each as a whole"),
    may("after", Form::Number, "Only children of the start after the one with this key"),
    may(
        "metadata",
        Form::OneOf(&["true", "nodeKey", "nodeKeyAndChildCount", "false"]),
        "The metadata of each node",
    ),
    may("pretty", Form::Flag, "Over several lines"),
];
const PLACE: &[Parameter] = &[
    may(
        "at",
        Form::OneOf(&["first", "last", "before", "after"]),
        "Where: below the node, or beside it; last where nothing is said",
    ),
    may("name", Form::Text, "The name of the field, where it goes into an object"),
];
const TO: &[Parameter] = &[
    either("to_path", Form::Text, "The node below or beside which it goes, by its path", "$.tada"),
    may("to_node_key", Form::Number, "The same by its key, instead of a path"),
];
const LIST: &[Parameter] = &[
    may("prefix", Form::Text, "Only keys that begin so"),
    may("after", Form::Text, "Only keys after this one: the last of the page before"),
    may("limit", Form::Positive, "So many; 1,000 where nothing is said, 10,000 at most"),
];
const SPAN: &[Parameter] = &[
    may("from", Form::Positive, "From this revision"),
    may("to", Form::Positive, "Up to this revision"),
];
const BUCKETS: &[Parameter] =
    &[may("buckets", Form::Positive, "So many at most; 200 where nothing is said, 1,000 at most")];
const WINDOW: &[Parameter] = &[
    may("depth", Form::Number, "Containers above this depth are open; 2 where nothing is said"),
    may("toggled", Form::Text, "Keys of nodes, with commas between, that are the other way round"),
    may(
        "row",
        Form::Number,
        "The first row of the window; 0, or where the named node stands in it",
    ),
    may("rows", Form::Positive, "The rows of the window; 100 where nothing is said, 1,000 at most"),
    may(
        "text_max",
        Form::Number,
        "Characters of a text; 200 where nothing is said, 10,000 at most",
    ),
    may(
        "blame",
        Form::Flag,
        "With the revision that last changed each row, and what is known of it",
    ),
];
const SEARCH: &[Parameter] = &[
    must("text", Form::Text, "The text that a name or a value contains; case does not matter", "a"),
    may("after_node", Form::Number, "Begin after the node with this key, or backward before it"),
    may("backward", Form::Flag, "Towards the beginning of the document"),
];
const NEWEST: &[Parameter] = &[may("limit", Form::Positive, "The newest so many")];
const TWO: &[Parameter] = &[
    may("from", Form::Positive, "The older revision; the one before the newest"),
    may("to", Form::Positive, "The newer revision; the newest"),
    may(
        "form",
        Form::OneOf(&["nodes", "rfc6902", "sirix"]),
        "How it is told; nodes where nothing is said",
    ),
];
const REVERT: &[Parameter] = &[must("revision", Form::Positive, "The revision to go back to", "1")];
const HISTORY: &[Parameter] = &[
    may("limit", Form::Positive, "The newest so many versions; all where nothing is said"),
    may(
        "before",
        Form::Positive,
        "Only versions that began before this revision: `earlier` of the page before",
    ),
    may(
        "having",
        Form::Text,
        "Only versions with this value, or, where none has it, that contain it",
    ),
    may("summary", Form::Flag, "With figures over all its values"),
];
const INSIDE: &[Parameter] = &[
    may(
        "limit",
        Form::Positive,
        "The newest so many versions; 20 where nothing is said, 100 at most",
    ),
    may(
        "before",
        Form::Positive,
        "Only versions before this revision: `earlier` of the page before",
    ),
];
const AXIS: &[Parameter] = &[
    must(
        "axis",
        Form::OneOf(&["first", "last", "at", "previous", "next"]),
        "Which of its values",
        "first",
    ),
    may("revision", Form::Positive, "Seen from this revision; the newest"),
];
const RENAME: &[Parameter] = &[must("name", Form::Text, "The new name", "renamed")];
const PURGE: &[Parameter] = &[may("purge", Form::Flag, "Let go of its past as well")];
const FOLLOW: &[Parameter] = &[
    may("from", Form::Number, "The commit after which it begins; the newest where nothing is said"),
    may("collection", Form::Text, "Only documents of this collection"),
    may("key", Form::Text, "Only the document with this key"),
    may("path", Form::Text, "Only revisions that changed something at or below this path"),
    may("diff", Form::Flag, "With what each revision changed"),
    may("until", Form::Number, "End with this commit; without it the stream has no end"),
];

const RUN: &[Parameter] = &[
    may("database", Form::Text, "Where `CREATE DATABASE` has made one; `postgres` else"),
    may("timeout", Form::Positive, "Cancel it after so many milliseconds: the answer is 504"),
    may("timestamp", Form::Time, "Read everything as it was at that time; nothing can be changed"),
];

const BACKUP_FILE: &[Parameter] = &[
    must("bytes", Form::Number, "So many bytes of it, 16,777,216 at most", "1"),
    may("offset", Form::Number, "From this byte on"),
];
const BACKUP_LOG: &[Parameter] =
    &[must("after", Form::Number, "The client has all commits up to this one durably", "0")];
const BACKUP_CONTINUE: &[Parameter] = &[
    must("after", Form::Number, "The newest commit of the copy", "0"),
    must("time_us", Form::Number, "Its time, in microseconds since 1970", "0"),
];

const DONE: &[Gives] = &[gives(200, Some(JSON), "The revision that it made")];
const PUT_DONE: &[Gives] = &[
    gives(201, Some(JSON), "The document was created"),
    gives(200, Some(JSON), "The document has a new revision, or is as it was"),
];
const READ: &[Gives] = &[
    gives(200, Some(JSON), "The document, or the part that was asked for"),
    gives(304, None, "The client has it already"),
];
const HEAD: &[Gives] = &[
    gives(200, None, "The tag, the time, and the length where it is known"),
    gives(304, None, "The client has it already"),
];
const PAGE: &[Gives] = &[
    gives(200, Some(HTML), "The page"),
    gives(501, Some(crate::problem::MEDIA), "The server was built without the explorer"),
];
const REMOVED: &[Gives] = &[gives(204, None, "It is removed")];
const CREATED: &[Gives] =
    &[gives(201, Some(JSON), "It was created"), gives(200, Some(JSON), "It was there already")];

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
        "The collections, and what each keeps",
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
        "Keep more or less of the past",
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
    Route::new("PUT", of!(""), "putDocument", "Give a document a value", Run::Long(documents::put))
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
    Route::new(
        "GET",
        of!("/node"),
        "getNode",
        "A node, and what is known of it",
        Run::Long(nodes::get),
    )
    .shows("Node")
    .with(&[NODE_WANTED, MOMENT]),
    Route::new(
        "PUT",
        of!("/node"),
        "setNode",
        "Give a node a value; a field that is not there is added",
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
    .gives(&[gives(201, Some(JSON), "The revision that it made, and the key of the node")])
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
        "Give a field another name",
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
        "How many revisions a document got when, in a number of buckets",
        Run::Long(density::density),
    )
    .shows("Density")
    .with(&[BUCKETS, SPAN]),
    Route::new(
        "GET",
        of!("/outline"),
        "getOutline",
        "A window of rows of the tree, as far as its nodes are open",
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
        "Changes of documents, as they happen",
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
        "Begin a backup of the whole database: its files stay as they are until it ends",
        Run::Long(backups::begin),
    )
    .shows("Backup")
    .needs(Needs::Somebody)
    .gives(&[gives(201, Some(JSON), "The files and the log to copy")]),
    Route::new(
        "POST",
        "/v1/backups/continue",
        "continueBackup",
        "Go on with the log for a copy that was made before",
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
        "Wait for the records of the commits after one, as they come",
        Run::Following(backups::log),
    )
    .needs(Needs::Somebody)
    .gives(&[gives(200, Some(BYTES), "The records; none where nothing was committed for a while")])
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
