//! Versions: their authors and messages, their contents, differences, and reverts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anywhen::{BlameLine, Collection, Damaged, DocumentError, Meta, Nodes, Revision, RevisionInfo};
use json::text::quote;
use serde_json::{Value, json};

use crate::answer::{Answer, JSON, NDJSON};
use crate::call::Call;
use crate::conditional;
use crate::problem::{Problem, Result};

use super::JSON_PATCH;

/// The known facts of a revision.
pub(super) fn known(row: &RevisionInfo<&str>) -> Value {
    let mut known = json!({
        "revision": row.revision.0,
        "csn": row.csn.0,
        "time": anywhen::time::rfc3339(row.time_us),
        "authored": row.authored_us.map(anywhen::time::rfc3339),
        "author": row.author,
        "role": role(row.role),
        "message": row.message,
        "deleted": row.deleted,
    });
    // Said only where it is not what everybody expects.
    if !row.kept {
        known["kept"] = false.into();
    }
    known
}

/// The authenticated role as JSON; null without authentication.
pub(super) fn role(name: &str) -> Value {
    if name.is_empty() { Value::Null } else { name.into() }
}

/// The revisions from `from` to `to`, the newest included where nothing is said.
pub(super) fn span(
    call: &Call,
    collection: &Collection,
    key: &str,
) -> Result<(Revision, Revision)> {
    let newest = collection.newest(key)?;
    let from = call.parsed("from")?.map_or(Revision(1), Revision);
    let to = call.parsed("to")?.map_or(newest, Revision);
    if from.0 == 0 || from > to || to > newest {
        let text = format!(
            "the document has the revisions 1 to {newest}: {from} to {to} is not a range of them"
        );
        return Err(Problem::bad(text).into());
    }
    Ok((from, to))
}

/// `GET .../versions`
pub(super) fn list(call: &mut Call) -> Result<Answer> {
    let collection = call.collection("collection")?;
    let key = call.part("key");
    let limit = call.limit("limit")?.unwrap_or(usize::MAX);
    let history = match (call.text("from"), call.text("to")) {
        (None, None) => collection.history(key, limit)?,
        _ => {
            let (from, to) = span(call, &collection, key)?;
            collection.history_range(key, from, to)?
        }
    };
    Ok(Answer::pieces(JSON, move |pieces| {
        let mut out = b"{\"versions\":[".to_vec();
        for (at, row) in history.iter().take(limit).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(known(&row).to_string().as_bytes());
            pieces.send_full(&mut out)?;
        }
        out.extend_from_slice(b"]}");
        pieces.send(out)
    }))
}

/// `GET .../versions/{revision}`
pub(super) fn one(call: &mut Call) -> Result<Answer> {
    let collection = call.collection("collection")?;
    let text = call.part("revision");
    let wrong = || Problem::bad(format!("{text:?} is not a revision"));
    let revision = Revision(text.parse().map_err(|_| wrong())?);
    let found = collection.history_range(call.part("key"), revision, revision)?;
    let missing = || Problem::missing(format!("the document has no revision {revision}"));
    Ok(Answer::value(&known(&found.get(0).ok_or_else(missing)?)))
}

/// `GET .../range`
pub(super) fn range(call: &mut Call) -> Result<Answer> {
    let collection = call.collection("collection")?;
    let key = call.part("key").to_owned();
    let (from, to) = span(call, &collection, &key)?;
    // A refusal of history that is no longer kept comes before the first line.
    let oldest = collection.oldest(&key)?;
    if from < oldest {
        return Err(anywhen::DocumentError::Forgotten { asked: from, oldest }.into());
    }
    Ok(Answer::pieces(NDJSON, move |pieces| {
        let mut out = Vec::new();
        for number in from.0..=to.0 {
            let found = collection.get_at(&key, Revision(number)).map_err(std::io::Error::other)?;
            out.extend_from_slice(format!("{{\"revision\":{number},\"document\":").as_bytes());
            match found {
                Some(document) => {
                    document.write_json(&mut out).map_err(std::io::Error::other)?;
                }
                None => out.extend_from_slice(b"null"),
            }
            out.extend_from_slice(b"}\n");
            pieces.send_full(&mut out)?;
        }
        pieces.send(out)
    }))
}

/// `GET .../diff`
pub(super) fn diff(call: &mut Call) -> Result<Answer> {
    let collection = call.collection("collection")?;
    let key = call.part("key");
    let newest = collection.newest(key)?;
    let to = call.parsed("to")?.map_or(newest, Revision);
    let before = Revision(to.0.saturating_sub(1).max(1));
    let from = call.parsed("from")?.map_or(before, Revision);
    let diff = collection.diff(key, from, to)?;
    Ok(match call.text("form").unwrap_or("nodes") {
        "nodes" => {
            let changes = diff.to_json()?;
            Answer::json(format!("{{\"from\":{from},\"to\":{to},\"changes\":{changes}}}"))
        }
        "rfc6902" => {
            let status = axum::http::StatusCode::OK;
            Answer::bytes(status, JSON_PATCH, diff.to_rfc6902()?)
        }
        "sirix" => {
            Answer::json(diff.to_sirix_json(call.part("collection"), key, from, to, true)?)
        }
        other => {
            let text = format!(
                "the parameter form cannot be {other:?}: it can be nodes, rfc6902 or sirix"
            );
            return Err(Problem::bad(text).into());
        }
    })
}

/// `POST .../revert`
pub(super) fn revert(call: &mut Call) -> Result<Answer> {
    let revision = Revision(call.wanted("revision")?);
    let collection = call.collection("collection")?;
    let key = call.part("key");
    // A document that was removed is created again.
    let found = collection.get(key)?;
    let allowed = call.allowed("collection", &collection, found.is_some())?;
    let mut meta = Meta { allowed, ..call.meta()? };
    conditional::expect(call, &collection, key, found.as_ref(), None, &mut meta)?;
    let done = collection.revert(key, revision, &meta)?;
    crate::written::committed(&collection, key, &done)
}

/// `GET .../blame`
pub(super) fn blame(call: &mut Call) -> Result<Answer> {
    let moment = call.moment()?;
    let collection = call.collection_at("collection", moment)?;
    let key = call.part("key");
    let document = call.document(&collection, key, moment)?;
    let (key, revision) = (key.to_owned(), document.revision());
    // The handler holds no version of the caller meanwhile: there may be millions of nodes.
    drop(document);
    Ok(Answer::pieces(JSON, move |pieces| {
        let mut out = b"{\"nodes\":[".to_vec();
        let mut revisions: BTreeMap<Revision, Signature> = BTreeMap::new();
        let mut is_first = true;
        let told = collection.blame_each(&key, Some(revision), |line| {
            let by = match revisions.entry(line.revision) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let found = collection.history_range(&key, line.revision, line.revision)?;
                    let missing = || Damaged::new("a version that changed a node is not listed");
                    place.insert(Signature::of(&found.get(0).ok_or_else(missing)?))
                }
            };
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            by.write(&line, &mut out);
            pieces.send_full(&mut out).map_err(DocumentError::Read)
        });
        told.map_err(|error| match error {
            DocumentError::Read(error) => error,
            error => std::io::Error::other(error),
        })?;
        out.extend_from_slice(b"]}");
        pieces.send(out)
    }))
}

/// The data of a revision that stand with each node that it has changed.
struct Signature {
    author: String,
    role: Value,
    message: String,
    time: String,
    authored: Value,
}

impl Signature {
    /// The same, as JSON.
    fn of(by: &RevisionInfo<&str>) -> Signature {
        Signature {
            author: quote(by.author),
            role: role(by.role),
            message: quote(by.message),
            time: quote(&anywhen::time::rfc3339(by.time_us)),
            authored: json!(by.authored_us.map(anywhen::time::rfc3339)),
        }
    }

    /// Writes a node as an object.
    fn write(&self, line: &BlameLine, out: &mut Vec<u8>) {
        let Signature { author, role, message, time, authored } = self;
        let (node, path) = (line.node.0, line.path.to_string());
        let (path, revision) = (quote(&path), line.revision);
        let shown = format!(
            "{{\"node_key\":{node},\"path\":{path},\"revision\":{revision},\"time\":{time},\
             \"authored\":{authored},\"author\":{author},\"role\":{role},\"message\":{message}"
        );
        out.extend_from_slice(shown.as_bytes());
        // A container shows only its opening bracket: it has no value of its own.
        if !line.kind.is_container() {
            out.extend_from_slice(b",\"value\":");
            out.extend_from_slice(line.value.as_bytes());
        }
        out.push(b'}');
    }
}

/// `GET .../paths`
pub(super) fn paths(call: &mut Call) -> Result<Answer> {
    let moment = call.moment()?;
    let collection = call.collection_at("collection", moment)?;
    let key = call.part("key");
    let document = call.document(&collection, key, moment)?;
    let paths = collection.path_summary(key, document.revision())?.unwrap_or_default();
    let rows: Vec<Value> = paths
        .iter()
        .map(|of| json!({"path": of.path, "count": of.count, "level": of.level}))
        .collect();
    Ok(Answer::value(&json!({"revision": document.revision().0, "paths": rows})))
}

/// `GET .../hash`
pub(super) fn hash(call: &mut Call) -> Result<Answer> {
    let (moment, node) = (call.moment()?, call.node()?);
    let collection = call.collection_at("collection", moment)?;
    let document = call.document(&collection, call.part("key"), moment)?;
    let tree = &**document.tree();
    let top = match &node {
        None => tree.root(),
        Some(node) => {
            let missing = || Problem::missing(format!("there is no node {node} in this version"));
            document.find(node)?.ok_or_else(missing)?
        }
    };
    let mut known = json!({
        "revision": document.revision().0,
        "node_key": top.0,
        "hash": format!("{:016x}", anywhen::subtree_hash(tree, top)?),
    });
    if node.is_none() {
        // Stored with each revision where the collection keeps hashes; else it is computed.
        let digest = match collection.options().hashes {
            true => tree.header().digest,
            false => anywhen::digest(tree)?,
        };
        known["digest"] = format!("{digest:032x}").into();
    }
    Ok(Answer::value(&known))
}
