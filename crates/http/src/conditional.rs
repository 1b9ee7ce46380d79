//! Conditions: which version a client has, and which one it means to change (RFC 9110, section 13).
//!
//! ```text
//!   ETag: "3"                                     revision 3
//!   ETag: "3-5d41402abc4b2a76b9719d911017c592"    revision 3 of a collection with hashes, and its digest
//! ```
//!
//! `If-Match` takes either part alone as well, and where one node is meant, the hash that the node's
//! metadata tell. The condition is looked at twice: here, and under the lock of the write, by the
//! revision; so nobody gets in between.

use anywhen::{Collection, Document, Meta, NodeKey, Nodes, Revision};
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH};

use crate::call::Call;
use crate::problem::{Problem, Result};

/// The tag of a version of a document.
pub(crate) fn tag(collection: &Collection, document: &Document) -> String {
    let revision = document.revision();
    match collection.options().hashes {
        true => format!("\"{revision}-{:032x}\"", document.tree().header().digest),
        false => format!("\"{revision}\""),
    }
}

/// The tags that a header lists, without quotes; those that are weak are as good.
fn listed(headers: &HeaderMap, name: HeaderName) -> Option<Vec<&str>> {
    let mut found = None;
    for value in headers.get_all(name) {
        let text = value.to_str().unwrap_or_default();
        let tags = text.split(',').map(|tag| {
            let tag = tag.trim();
            tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"')
        });
        found.get_or_insert_with(Vec::new).extend(tags);
    }
    found
}

/// True where the client has this version already, committed at a time in microseconds since 1970.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str, time_us: u64) -> bool {
    if let Some(known) = listed(headers, IF_NONE_MATCH) {
        return known.iter().any(|known| *known == "*" || *known == tag.trim_matches('"'));
    }
    let since = headers.get(IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
    // Seconds are all that such a time tells.
    let since = since.and_then(anywhen::time::parse_http_date);
    since.is_some_and(|since| time_us / 1_000_000 <= since / 1_000_000)
}

/// Compares a document with what the request expects of it, and has the write keep to that. `node` is
/// the node that is to be changed, where it is one.
///
/// # Errors
/// 412 where it is another version, 428 where none is named and one must be.
pub(crate) fn expect(
    call: &Call,
    collection: &Collection,
    found: Option<&Document>,
    node: Option<NodeKey>,
    meta: &mut Meta,
) -> Result<()> {
    let failed = |detail: &str| Problem::new(StatusCode::PRECONDITION_FAILED, detail);
    if let Some(wanted) = listed(&call.headers, IF_MATCH) {
        let document = found.ok_or_else(|| failed("there is no such document"))?;
        let whole = tag(collection, document);
        let whole = whole.trim_matches('"');
        let mut parts: Vec<String> = whole.split('-').map(str::to_owned).collect();
        parts.push(whole.to_owned());
        if let Some(node) = node
            && document.tree().node(node)?.is_some()
        {
            parts.push(format!("{:016x}", anywhen::subtree_hash(&**document.tree(), node)?));
        }
        if !wanted.iter().any(|tag| *tag == "*" || parts.iter().any(|part| part == tag)) {
            let revision = document.revision();
            return Err(failed(&format!("the document is at revision {revision}")).into());
        }
        meta.only_at = Some(document.revision());
        return Ok(());
    }
    if let Some(unwanted) = listed(&call.headers, IF_NONE_MATCH) {
        let is_any = unwanted.contains(&"*");
        match found {
            Some(document) => {
                let whole = tag(collection, document);
                if is_any || unwanted.contains(&whole.trim_matches('"')) {
                    let revision = document.revision();
                    let text = format!("there is one, at revision {revision}");
                    return Err(failed(&text).into());
                }
                meta.only_at = Some(document.revision());
            }
            None => meta.only_at = Some(Revision(0)),
        }
        return Ok(());
    }
    if call.app.options.is_match_required && collection.options().hashes && found.is_some() {
        return Err(Problem::new(
            StatusCode::PRECONDITION_REQUIRED,
            "say which version you change: If-Match",
        )
        .into());
    }
    Ok(())
}
