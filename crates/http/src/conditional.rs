//! Conditions: the version that a client has, and the one that it wants to change (RFC 9110,
//! section 13).
//!
//! ```text
//!   ETag: "3.71"                                     revision 3, made by commit 71
//!   ETag: "3.71-5d41402abc4b2a76b9719d911017c592"    the same in a collection with hashes: and its digest
//! ```
//!
//! The tag names the commit because a document that begins anew counts its revisions from 1 again. SirixDB's clients
//! send the tag of the version that they change as the header `ETag` of the request: a write reads it as `If-Match`.
//! `If-Match` takes no weak tag. It also takes the revision alone (of a removed document: the revision that removed
//! it), the digest, and for one node the hash in the node's metadata. The condition is tested twice: here, and under
//! the lock of the write, by the commit. So no other write gets in between.

use anywhen::{Collection, Csn, Document, DocumentError, Meta, NodeKey, Nodes};
use axum::http::StatusCode;
use axum::http::header::{
    ETAG, HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE,
};

use crate::call::Call;
use crate::problem::{Problem, Result};

/// The tag of a version of a document.
pub(crate) fn tag(collection: &Collection, document: &Document) -> String {
    let (revision, csn) = (document.revision(), document.csn().0);
    match collection.options().hashes {
        true => format!("\"{revision}.{csn}-{:032x}\"", document.tree().header().digest),
        false => format!("\"{revision}.{csn}\""),
    }
}

/// The tags that a header lists, without quotes.
fn listed(headers: &HeaderMap, name: HeaderName) -> Option<Vec<&str>> {
    let is_strong = name == IF_MATCH || name == ETAG;
    let mut found = None;
    for value in headers.get_all(name) {
        let list = found.get_or_insert_with(Vec::new);
        list.extend(tags(value.to_str().unwrap_or_default(), is_strong));
    }
    found
}

/// The tags of a text. Weak tags count like others, unless `is_strong`.
fn tags(text: &str, is_strong: bool) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter_map(move |tag| match tag.strip_prefix("W/") {
        Some(_) if is_strong => None,
        weak => Some(weak.unwrap_or(tag).trim_matches('"')),
    })
}

/// The time of a header in whole seconds since 1970.
fn seconds(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    let text = headers.get(name).and_then(|value| value.to_str().ok())?;
    anywhen::time::parse_http_date(text).map(|time_us| time_us / 1_000_000)
}

/// Fails if a document has changed since the time that a request names, unless the request also names versions.
///
/// # Errors
/// 412.
fn hold_time(headers: &HeaderMap, time_us: u64) -> Result<()> {
    let since = seconds(headers, IF_UNMODIFIED_SINCE);
    match since.filter(|_| !headers.contains_key(IF_MATCH) && !headers.contains_key(ETAG)) {
        Some(since) if time_us / 1_000_000 > since => {
            let text = "the document has changed since";
            Err(Problem::new(StatusCode::PRECONDITION_FAILED, text).into())
        }
        _ => Ok(()),
    }
}

/// True if the client has this version already, committed at a time in microseconds since 1970.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str, time_us: u64) -> bool {
    if let Some(known) = listed(headers, IF_NONE_MATCH) {
        return known.iter().any(|known| *known == "*" || *known == tag.trim_matches('"'));
    }
    seconds(headers, IF_MODIFIED_SINCE).is_some_and(|since| time_us / 1_000_000 <= since)
}

/// The expected version of a document that is to be changed.
pub(crate) struct Condition<'c> {
    /// The document must have one of these versions (`If-Match`).
    wanted: Option<Vec<&'c str>>,
    /// The document must have none of these versions (`If-None-Match`).
    unwanted: Option<Vec<&'c str>>,
}

impl<'c> Condition<'c> {
    /// The version that the headers of a request expect. Clients of SirixDB send the tag of the version that
    /// they change as `ETag`: without `If-Match` it means the same, on every route.
    pub(crate) fn of_headers(headers: &'c HeaderMap) -> Self {
        let wanted = listed(headers, IF_MATCH).or_else(|| listed(headers, ETAG));
        Condition { wanted, unwanted: listed(headers, IF_NONE_MATCH) }
    }

    /// The version that texts expect, each as it would stand in its header.
    pub(crate) fn of_texts(wanted: Option<&'c str>, unwanted: Option<&'c str>) -> Self {
        let list = |is_strong| move |text: &'c str| tags(text, is_strong).collect();
        Condition { wanted: wanted.map(list(true)), unwanted: unwanted.map(list(false)) }
    }

    /// Compares a document with it; gives the commit of the version that is to be written over, 0 for
    /// none, where that matters. `node` is the node that is to be changed, where it is one.
    ///
    /// # Errors
    /// 412 where it is another version, 428 where none is named and one must be.
    pub(crate) fn hold(
        &self,
        is_required: bool,
        collection: &Collection,
        found: Option<&Document>,
        node: Option<NodeKey>,
    ) -> Result<Option<Csn>> {
        let failed = |detail: &str| Problem::new(StatusCode::PRECONDITION_FAILED, detail);
        let newest = found.map_or(Csn::ZERO, Document::csn);
        if let Some(wanted) = &self.wanted {
            let document = found.ok_or_else(|| failed("there is no such document"))?;
            let whole = tag(collection, document);
            let whole = whole.trim_matches('"');
            let mut parts: Vec<String> = whole.split('-').map(str::to_owned).collect();
            parts.extend([whole.to_owned(), document.revision().to_string()]);
            if let Some(node) = node
                && document.tree().node(node)?.is_some()
            {
                parts.push(format!("{:016x}", anywhen::subtree_hash(&**document.tree(), node)?));
            }
            if !wanted.iter().any(|tag| *tag == "*" || parts.iter().any(|part| part == tag)) {
                let (revision, csn) = (document.revision(), newest.0);
                let text = format!("the document is at revision {revision}, of commit {csn}");
                return Err(failed(&text).into());
            }
        }
        if let (Some(unwanted), Some(document)) = (&self.unwanted, found) {
            let whole = tag(collection, document);
            if unwanted.contains(&"*") || unwanted.contains(&whole.trim_matches('"')) {
                let revision = document.revision();
                return Err(failed(&format!("there is one, at revision {revision}")).into());
            }
        }
        if self.wanted.is_some() || self.unwanted.is_some() {
            return Ok(Some(newest));
        }
        match (is_required, found) {
            (false, _) => Ok(None),
            // Another may put one meanwhile, which would be changed without a word about its version.
            (true, None) => Ok(Some(newest)),
            (true, Some(_)) => Err(Problem::new(
                StatusCode::PRECONDITION_REQUIRED,
                "the header If-Match must name the version that is changed",
            )
            .into()),
        }
    }
}

/// Compares a document with what the request expects of it, and has the write keep to that. `node` is
/// the node that is to be changed, where it is one.
///
/// # Errors
/// As [`Condition::hold`].
pub(crate) fn expect(
    call: &Call,
    collection: &Collection,
    key: &str,
    found: Option<&Document>,
    node: Option<NodeKey>,
    meta: &mut Meta,
) -> Result<()> {
    let is_required = call.app.options.require_preconditions;
    let condition = Condition::of_headers(&call.headers);
    // The newest version of a removed document is the one that removed it.
    if found.is_none()
        && let Some(wanted) = &condition.wanted
    {
        match collection.newest(key) {
            Ok(removed) if wanted.contains(&removed.to_string().as_str()) => {
                meta.only_at = Some(removed);
                return Ok(());
            }
            Ok(_) | Err(DocumentError::NoDocument { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    meta.only_of = condition.hold(is_required, collection, found, node)?;
    if call.headers.contains_key(IF_UNMODIFIED_SINCE)
        && let Some(document) = found
    {
        hold_time(
            &call.headers,
            collection.time_of(key, document.revision())?.unwrap_or_default(),
        )?;
        // No other write may get in between.
        meta.only_of = Some(document.csn());
    }
    Ok(())
}

/// Compares a version that is to be read, committed at a time in microseconds since 1970, with what the
/// request expects of it.
///
/// # Errors
/// 412 where it is another.
pub(crate) fn expect_read(
    headers: &HeaderMap,
    collection: &Collection,
    document: &Document,
    time_us: u64,
) -> Result<()> {
    let wanted = Condition { wanted: listed(headers, IF_MATCH), unwanted: None };
    wanted.hold(false, collection, Some(document), None)?;
    hold_time(headers, time_us)
}
