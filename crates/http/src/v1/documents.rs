//! Documents: get, put, patch, remove.

use anywhen::{Collection, Meta, NodeKey, PartOptions};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;

use crate::answer::Answer;
use crate::call::Call;
use crate::conditional;
use crate::once::Form;
use crate::patch::{self, Budget};
use crate::problem::{Problem, Result, Stop};
use crate::query::encode;
use crate::written;

use super::MERGE_PATCH;

/// `GET .../{key}`, `HEAD .../{key}`
pub(super) fn get(call: &mut Call) -> Result<Answer> {
    let moment = call.moment()?;
    let node = call.node()?;
    let collection = call.collection_at("collection", moment)?;
    let key = call.part("key");
    let document = call.document(&collection, key, moment)?;
    let mut options = PartOptions::default();
    written::accepted(&call.headers, &mut options);
    options.max_level = call.parsed("max_level")?;
    options.max_children = call.parsed("max_children")?;
    options.number_of_nodes = call.parsed("nodes")?;
    options.next_top_level_nodes = call.parsed("top")?;
    options.after = call.parsed("after")?.map(NodeKey);
    if call.text("metadata").is_some() {
        options.metadata = call.metadata("metadata")?;
    }
    if call.text("pretty").is_some() {
        options.pretty = call.flag("pretty")?;
    }
    if let Some(node) = node {
        if call.is_short {
            return Err(Stop::Later);
        }
        let missing = || Problem::missing(format!("there is no node {node} in this version"));
        options.start = Some(document.find(&node)?.ok_or_else(missing)?);
    }
    written::versioned(call, &collection, key, &document, || {
        written::part(call, &document, options)
    })
}

/// `PUT .../{key}`
pub(super) fn put(call: &mut Call) -> Result<Answer> {
    let (name, key) = (call.part("collection").to_owned(), call.part("key").to_owned());
    let collection = call.collection_or("collection", &key, None)?;
    let found = collection.get(&key)?;
    let allowed = call.allowed("collection", &collection, found.is_some())?;
    let mut meta = Meta { allowed, ..call.meta()? };
    conditional::expect(call, &collection, &key, found.as_ref(), None, &mut meta)?;
    let done = call.store("collection", &collection, &key, &meta)?;
    let answer = written::committed(&collection, &key, &done)?;
    Ok(match done.created {
        false => answer,
        true => answer.status(StatusCode::CREATED).location(&format!(
            "/v1/collections/{}/documents/{}",
            encode(&name),
            encode(&key)
        )),
    })
}

/// `PATCH .../{key}`
pub(super) fn patch(call: &mut Call) -> Result<Answer> {
    let media = call.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_merge = media.is_some_and(|media| media.starts_with(MERGE_PATCH));
    let tape = if is_merge { call.json()? } else { call.told(Form::Patch)? };
    let steps = if is_merge { Vec::new() } else { patch::steps(&tape)? };
    let mut budget = Budget::new(&call.app.options.limits, &call.cancelled);
    changed(call, |collection, key, meta| {
        let done = collection.edit_with(key, meta, |edit| match is_merge {
            true => patch::merge(edit, &tape, &budget),
            false => patch::apply(edit, &steps, &mut budget),
        });
        Ok(done?.0)
    })
}

/// `DELETE .../{key}`
pub(super) fn remove(call: &mut Call) -> Result<Answer> {
    changed(call, |collection, key, meta| Ok(collection.remove_with(key, meta)?))?;
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}

/// Changes the document of the path, if it is the version that the request expects.
pub(super) fn changed(
    call: &Call,
    change: impl FnOnce(&Collection, &str, &anywhen::Meta) -> Result<anywhen::Committed>,
) -> Result<Answer> {
    let collection = call.collection("collection")?;
    let key = call.part("key");
    let found = call.document(&collection, key, None)?;
    let mut meta = call.meta()?;
    conditional::expect(call, &collection, key, Some(&found), None, &mut meta)?;
    let done = change(&collection, key, &meta)?;
    written::committed(&collection, key, &done)
}
