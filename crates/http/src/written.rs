//! Documents as answers: whole or in part, as one buffer or in pieces.

use anywhen::{Collection, Committed, Document, DocumentError, Metadata, PartOptions};
use axum::http::StatusCode;
use axum::http::header::{ACCEPT, ACCEPT_RANGES, HeaderMap, VARY};
use serde_json::json;

use crate::answer::{Answer, JSON};
use crate::call::Call;
use crate::conditional;
use crate::problem::{Result, Stop};

/// Nodes that are written on the thread of a connection: well below a millisecond.
const SHORT_NODES_MAX: u64 = 16_384;
/// Documents of more nodes than this are sent in pieces.
const WHOLE_NODES_MAX: u64 = 65_536;
/// Room that is made for a part at first: so much for a node, and so much at most.
const NODE_BYTES: u64 = 64;
const PART_BYTES: u64 = 32 << 10;
/// Documents of no more nodes than this are sent back to who wrote them.
const ECHO_NODES_MAX: u64 = 4_096;

/// The document as it is, in pieces if it is large.
pub(crate) fn whole(document: &Document) -> Result<Answer> {
    if document.node_count() <= WHOLE_NODES_MAX {
        let mut out = Vec::new();
        document.write_json(&mut out)?;
        return Ok(Answer::json(out));
    }
    let document = document.clone();
    Ok(Answer::pieces(JSON, move |to| {
        let written = document.write_pieces(&mut |out| to.send(std::mem::take(out)));
        written.map_err(|error| match error {
            DocumentError::Read(error) => error,
            error => std::io::Error::other(error),
        })
    }))
}

/// The part of a document that `options` ask for.
pub(crate) fn part(call: &Call, document: &Document, mut options: PartOptions) -> Result<Answer> {
    let is_whole = options.start.is_none_or(|start| start == root(document))
        && options.max_level.is_none()
        && options.max_children.is_none()
        && options.number_of_nodes.is_none()
        && options.next_top_level_nodes.is_none()
        && options.after.is_none()
        && options.metadata == Metadata::None
        && !options.pretty;
    if is_whole && !call.is_short {
        return whole(document);
    }
    if call.is_short {
        // Hashes and numbers of descendants look at all that is below a node.
        let is_deep = options.metadata == Metadata::All;
        if is_deep && document.node_count() > SHORT_NODES_MAX / 32 {
            return Err(Stop::Later);
        }
        options.nodes_max = Some(SHORT_NODES_MAX);
    }
    // A part of a large document mostly has some hundreds of nodes; what is not written costs nothing.
    let bytes = document.node_count().saturating_mul(NODE_BYTES).min(PART_BYTES);
    let mut out = Vec::with_capacity(bytes as usize);
    match anywhen::write_part(document.tree(), &options, &mut out) {
        Err(DocumentError::TooLarge(_)) if call.is_short => Err(Stop::Later),
        written => {
            written?;
            Ok(Answer::json(out))
        }
    }
}

fn root(document: &Document) -> anywhen::NodeKey {
    anywhen::Nodes::root(&**document.tree())
}

/// The form that `Accept` asks for, where no parameter does: `application/json;pretty=true`,
/// `application/json;metadata=nodeKey`.
pub(crate) fn accepted(headers: &HeaderMap, options: &mut PartOptions) {
    let text = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let first = text.split(',').next().unwrap_or_default();
    for parameter in first.split(';').skip(1) {
        match parameter.trim().split_once('=') {
            Some(("pretty", "true")) => options.pretty = true,
            Some(("metadata", "nodeKey")) => options.metadata = Metadata::NodeKey,
            Some(("metadata", "nodeKeyAndChildCount")) => {
                options.metadata = Metadata::NodeKeyAndChildCount;
            }
            Some(("metadata", "true")) => options.metadata = Metadata::All,
            _ => {}
        }
    }
}

/// An answer about a version, or that the client has it already.
pub(crate) fn versioned(
    call: &Call,
    collection: &Collection,
    key: &str,
    document: &Document,
    write: impl FnOnce() -> Result<Answer>,
) -> Result<Answer> {
    let tag = conditional::tag(collection, document);
    let time_us = collection.time_of(key, document.revision())?.unwrap_or_default();
    conditional::expect_read(&call.headers, collection, document, time_us)?;
    let answer = match conditional::is_known(&call.headers, &tag, time_us) {
        true => Answer::empty(StatusCode::NOT_MODIFIED),
        false => write()?,
    };
    // Parts of documents are nodes, never ranges of bytes.
    let answer = answer.header(ACCEPT_RANGES, "none");
    Ok(answer.tag(&tag).modified(time_us).header(VARY, "accept, accept-encoding"))
}

/// The document after a change: small ones as they are now.
pub(crate) fn echo(collection: &Collection, key: &str, committed: &Committed) -> Result<Answer> {
    let Some(document) = collection.get_at(key, committed.revision)? else {
        return Ok(Answer::empty(StatusCode::NO_CONTENT));
    };
    let answer = match document.node_count() <= ECHO_NODES_MAX {
        true => whole(&document)?,
        false => Answer::empty(StatusCode::OK),
    };
    Ok(answer.tag(&conditional::tag(collection, &document)).modified(committed.time_us))
}

/// The answer to a change, for clients of our own routes.
pub(crate) fn committed(collection: &Collection, key: &str, done: &Committed) -> Result<Answer> {
    let answer = Answer::value(&json!({
        "revision": done.revision.0,
        "csn": done.csn.0,
        "time": anywhen::time::rfc3339(done.time_us),
        "changed": done.changed,
    }));
    Ok(match collection.get_at(key, done.revision)? {
        Some(document) => answer.tag(&conditional::tag(collection, &document)),
        None => answer,
    })
}
