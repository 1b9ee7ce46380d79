//! Nodes: one of a document, by path or by key; its values over time; changes of it.

use anywhen::{Collection, NodeKey, NodeRef, NodeVersion, Nodes, Revision, TimeAxis, type_name};
use axum::http::StatusCode;
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::{Problem, Result};

use super::documents::changed;
use super::edits::{Change, Spot};
use super::versions::role;

/// `GET .../node`
pub(super) fn get(call: &mut Call) -> Result<Answer> {
    let (moment, node) = (call.moment()?, call.wanted_node()?);
    let collection = call.collection_at("collection", moment)?;
    let document = call.document(&collection, call.part("key"), moment)?;
    let missing = || Problem::missing(format!("there is no node {node} in this version"));
    let key = document.find(&node)?.ok_or_else(missing)?;
    let tree = document.tree();
    let found = tree.expect(key)?;
    let mut known = json!({
        "revision": document.revision().0,
        "node_key": key.0,
        "path": tree.path(key)?.to_string(),
        "type": type_name(found.kind, found.name.is_some()),
    });
    if found.kind.is_container() {
        known["children"] = found.count.into();
    }
    let mut out = known.to_string();
    out.pop();
    out += ",\"value\":";
    let mut out = out.into_bytes();
    tree.write_subtree(key, &mut out)?;
    out.push(b'}');
    Ok(Answer::json(out))
}

/// Changes the node of a request; also gives the key of the node that is new, or holds the value.
fn edited(call: &Call, node: &NodeRef, change: &Change) -> Result<(Answer, Option<NodeKey>)> {
    let mut made = None;
    let answer = changed(call, |collection, key, meta| {
        let (done, key) = collection.edit_with(key, meta, |edit| change.apply(edit, node))?;
        made = key;
        Ok(done)
    })?;
    Ok((answer, made))
}

/// `PUT .../node`
pub(super) fn set(call: &mut Call) -> Result<Answer> {
    let (node, value) = (call.wanted_node()?, call.json()?.to_json());
    Ok(edited(call, &node, &Change::Set(value))?.0)
}

/// Where the parameters `at` and `name` say that a node goes.
fn spot(call: &Call) -> Result<Spot, Problem> {
    Spot::new(call.text("at"), call.text("name"))
}

/// `POST .../node`
pub(super) fn insert(call: &mut Call) -> Result<Answer> {
    let (node, value) = (call.wanted_node()?, call.json()?.to_json());
    let (answer, made) = edited(call, &node, &Change::Insert(spot(call)?, value))?;
    let answer = answer.status(StatusCode::CREATED);
    Ok(match made {
        Some(NodeKey(key)) => with(answer, "node_key", key),
        None => answer,
    })
}

/// The same answer with one field more.
fn with(mut answer: Answer, name: &str, value: u64) -> Answer {
    if let crate::answer::Content::Whole(bytes) = &answer.content
        && let Some(rest) = bytes.strip_suffix(b"}")
    {
        let text = format!(",\"{name}\":{value}}}");
        answer.content = crate::answer::Content::Whole([rest, text.as_bytes()].concat().into());
    }
    answer
}

/// `DELETE .../node`
pub(super) fn remove(call: &mut Call) -> Result<Answer> {
    let node = call.wanted_node()?;
    Ok(edited(call, &node, &Change::Remove)?.0)
}

/// `POST .../node/move`
pub(super) fn transfer(call: &mut Call) -> Result<Answer> {
    let node = call.wanted_node()?;
    let missing =
        || Problem::bad("the parameter to_path or to_node_key must name where the node goes");
    let to = call.node_by("to_path", "to_node_key")?.ok_or_else(missing)?;
    Ok(edited(call, &node, &Change::Move(to, spot(call)?))?.0)
}

/// `POST .../node/rename`
pub(super) fn rename(call: &mut Call) -> Result<Answer> {
    let (node, name) = (call.wanted_node()?, call.wanted("name")?);
    Ok(edited(call, &node, &Change::Rename(name))?.0)
}

/// A value of a node in the answer, with its author and message.
pub(super) fn run(collection: &Collection, key: &str, version: &NodeVersion) -> Result<String> {
    let NodeVersion { node, from, to, from_us, authored_us, to_us, value } = version;
    let by = collection.history_range(key, *from, *from)?;
    let by = by.get(0);
    let known = json!({
        "node_key": node.0,
        "from_revision": from.0,
        "to_revision": to.map(|to| to.0),
        "from_time": anywhen::time::rfc3339(*from_us),
        "to_time": to_us.map(anywhen::time::rfc3339),
        "authored": authored_us.map(anywhen::time::rfc3339),
        "author": by.as_ref().map_or("", |by| by.author),
        "role": role(by.as_ref().map_or("", |by| by.role)),
        "message": by.as_ref().map_or("", |by| by.message),
    });
    let known = known.to_string();
    Ok(format!("{},\"value\":{value}}}", &known[..known.len() - 1]))
}

/// `GET .../node/version`
pub(super) fn version(call: &mut Call) -> Result<Answer> {
    let node = call.wanted_node()?;
    let collection = call.collection("collection")?;
    let key = call.part("key");
    let newest = collection.newest(key)?;
    let at = call.parsed("revision")?.map_or(newest, Revision);
    let axis = match call.wanted::<String>("axis")?.as_str() {
        "first" => TimeAxis::First,
        "last" => TimeAxis::Last,
        "at" => TimeAxis::At(at),
        "previous" => TimeAxis::Previous(at),
        "next" => TimeAxis::Next(at),
        other => {
            let text = format!(
                "the parameter axis cannot be {other:?}: it can be first, last, at, previous or next"
            );
            return Err(Problem::bad(text).into());
        }
    };
    let found = collection.node_version(key, node, axis)?;
    let found = found.as_ref().map(|found| run(&collection, key, found)).transpose()?;
    let found = found.unwrap_or_else(|| "null".to_owned());
    Ok(Answer::json(format!("{{\"version\":{found}}}")))
}
