//! Resources: documents as a whole, in part, over a range of revisions; and changes of one.

use anywhen::{
    Collection, CollectionOptions, Document, DocumentError, Meta, NodeKey, PartOptions, Revision,
};
use axum::http::StatusCode;
use json::jsonb::Jsonb;
use json::jsonb::pathlang::{Options as PathOptions, Path};

use crate::answer::{Answer, JSON};
use crate::auth::Right;
use crate::call::Call;
use crate::conditional;
use crate::problem::{Problem, Result, Stop};
use crate::written;

use super::insert::{Way, insert as insert_into};
use super::select::{self, Selected};
use super::{NO_JSONIQ, names, spelled};

/// `PUT /{db}/{r}`
pub(super) fn put(call: &mut Call) -> Result<Answer> {
    let (database, key) = names(call)?;
    for parameter in ["validFromPath", "validToPath"] {
        if call.text(parameter).is_some() {
            let text = format!("{parameter}: times of validity are not supported");
            return Err(Problem::not_supported(text).into());
        }
    }
    let hashes = match spelled(call, "hashType", "hash_type")? {
        None => None,
        Some("NONE") => Some(false),
        Some("ROLLING") => Some(true),
        Some(other) => {
            let text = format!("hashType={other} is not supported: it can be NONE or ROLLING");
            return Err(Problem::not_supported(text).into());
        }
    };
    let hashed = CollectionOptions { hashes: hashes.unwrap_or(false), ..Default::default() };
    let (database, key) = (database.to_owned(), key.to_owned());
    let collection = call.collection_or("db", &key, Some(hashed))?;
    // Nodes have hashes everywhere: they are computed where the database keeps none.
    if hashes == Some(false) && collection.options().hashes {
        let text =
            format!("hashType=NONE: the database {database:?} keeps hashes of all its documents");
        return Err(Problem::new(StatusCode::CONFLICT, text).into());
    }
    let found = collection.get(&key)?;
    let allowed = call.allowed("db", &collection, found.is_some())?;
    let mut meta = Meta { allowed, ..call.meta()? };
    conditional::expect(call, &collection, &key, found.as_ref(), None, &mut meta)?;
    let committed = call.store("db", &collection, &key, &meta)?;
    let answer = written::echo(&collection, &key, &committed)?;
    Ok(match committed.created {
        false => answer,
        true => answer.status(StatusCode::CREATED),
    })
}

/// `HEAD /{db}/{r}`: as [`get`], but that the tag of a node is its hash.
pub(super) fn head(call: &mut Call) -> Result<Answer> {
    let answer = get(call)?;
    let Some(node) = call.parsed("nodeId")?.map(NodeKey) else { return Ok(answer) };
    let (_, key) = names(call)?;
    let collection = call.collection("db")?;
    let moment = match select::selected(call, &collection, key)? {
        Selected::Newest => None,
        Selected::One(revision) => Some(revision.into()),
        Selected::Range(..) => return Ok(answer),
    };
    if call.is_short {
        return Err(Stop::Later);
    }
    let document = call.document(&collection, key, moment)?;
    Ok(answer.tag(&format!("\"{:016x}\"", anywhen::subtree_hash(&**document.tree(), node)?)))
}

/// `GET /{db}/{r}`
pub(super) fn get(call: &mut Call) -> Result<Answer> {
    let (_, key) = names(call)?;
    let collection = call.collection("db")?;
    let options = options(call)?;
    let moment = match select::selected(call, &collection, key)? {
        Selected::Newest => None,
        Selected::One(revision) => Some(revision.into()),
        Selected::Range(from, to) => {
            if call.text("query").is_some() {
                return Err(Problem::bad(
                    "a query reads one revision: give revision or revision-timestamp, not a range",
                )
                .into());
            }
            return Ok(range(collection, key.to_owned(), from, to, options));
        }
    };
    let document = call.document(&collection, key, moment)?;
    written::versioned(call, &collection, key, &document, || match call.text("query") {
        None => written::part(call, &document, options),
        Some(_) if call.is_short => Err(Stop::Later),
        Some(path) => query(call, &document, path, options.start),
    })
}

fn options(call: &Call) -> Result<PartOptions, Problem> {
    let key = |name| -> Result<Option<NodeKey>, Problem> { Ok(call.parsed(name)?.map(NodeKey)) };
    let mut options = PartOptions::default();
    written::accepted(&call.headers, &mut options);
    options.max_level = call.parsed("maxLevel")?;
    options.max_children = call.parsed("maxChildren")?;
    options.number_of_nodes = call.parsed("numberOfNodes")?;
    options.next_top_level_nodes = call.parsed("nextTopLevelNodes")?;
    options.start = key("nodeId")?;
    options.after = key("lastTopLevelNodeKey")?;
    let start = key("startNodeKey")?;
    match options.next_top_level_nodes {
        Some(_) => options.after = options.after.or(start),
        None => options.start = options.start.or(start),
    }
    if spelled(call, "withMetaData", "withMetadata")?.is_some() {
        let is_usual = call.text("withMetaData").is_some();
        options.metadata = call.metadata(if is_usual { "withMetaData" } else { "withMetadata" })?;
    }
    if call.text("prettyPrint").is_some() {
        options.pretty = call.flag("prettyPrint")?;
    }
    Ok(options)
}

/// The results of a path in the document, or in one node of it; past the end of the results, none.
fn query(call: &Call, document: &Document, path: &str, node: Option<NodeKey>) -> Result<Answer> {
    let path = match Path::parse(path) {
        Err(_) if is_jsoniq(path) => return Err(Problem::not_supported(NO_JSONIQ).into()),
        parsed => parsed.map_err(Problem::from)?,
    };
    let text = match node {
        Some(node) => {
            document.value(node)?.ok_or_else(|| DocumentError::NoNode(node.to_string()))?
        }
        None => document.to_json()?,
    };
    let value = Jsonb::parse(&text).map_err(DocumentError::from)?;
    let dates = anywhen::sql::Dates::default();
    let options = PathOptions { datetimes: &dates, ..PathOptions::default() };
    let found = path.query(value.root(), options).map_err(Problem::from)?;
    let first: usize = call.parsed("startResultSeqIndex")?.unwrap_or(0);
    let last: usize = call.parsed("endResultSeqIndex")?.unwrap_or(usize::MAX);
    const HEAD: &str = "{\"rest\":[";
    let mut out = String::from(HEAD);
    for item in found.skip(first).take(last.saturating_sub(first).saturating_add(1)) {
        if out.len() > HEAD.len() {
            out.push(',');
        }
        out += &item.to_jsonb().map_err(Problem::from)?.to_json();
    }
    out += "]}";
    Ok(Answer::json(out))
}

/// True for a text that is a query in JSONiq, by the words that it begins with and the functions that it calls.
fn is_jsoniq(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    ["for", "let", "declare", "if", "."].contains(&first)
        || ["jn:", "sdb:", "bit:", "xs:"].iter().any(|prefix| text.contains(prefix))
}

/// Several revisions, written one after the other.
fn range(
    collection: Collection,
    key: String,
    from: Revision,
    to: Revision,
    options: PartOptions,
) -> Answer {
    Answer::pieces(JSON, move |pieces| {
        let mut out = b"{\"sirix\":[".to_vec();
        let mut is_first = true;
        for number in from.0..=to.0 {
            // Those in which there was no document are left out.
            let found = collection.get_at(&key, Revision(number)).map_err(std::io::Error::other)?;
            let Some(document) = found else { continue };
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            out.extend_from_slice(
                format!("{{\"revisionNumber\":{number},\"revision\":").as_bytes(),
            );
            anywhen::write_part(document.tree(), &options, &mut out)
                .map_err(std::io::Error::other)?;
            out.push(b'}');
            pieces.send_full(&mut out)?;
        }
        out.extend_from_slice(b"]}");
        pieces.send(out)
    })
}

/// `POST /{db}/{r}`
pub(super) fn insert(call: &mut Call) -> Result<Answer> {
    let (_, key) = names(call)?;
    let collection = call.collection("db")?;
    let node = NodeKey(call.wanted("nodeId")?);
    let way = call.text("insert").unwrap_or("asFirstChild").parse::<Way>()?;
    let value = call.json()?;
    let mut meta = call.meta()?;
    let found = call.document(&collection, key, None)?;
    conditional::expect(call, &collection, key, Some(&found), Some(node), &mut meta)?;
    let (committed, ()) =
        collection.edit_with(key, &meta, |edit| insert_into(edit, node, way, &value))?;
    written::echo(&collection, key, &committed)
}

/// `DELETE /{db}/{r}`
pub(super) fn remove(call: &mut Call) -> Result<Answer> {
    let (_, key) = names(call)?;
    let node = call.parsed("nodeId")?.map(NodeKey);
    let right = if node.is_some() { Right::Modify } else { Right::Delete };
    call.must(right, "db")?;
    let collection = call.collection("db")?;
    call.must_in(right, "db", &collection)?;
    let mut meta = call.meta()?;
    let found = call.document(&collection, key, None)?;
    conditional::expect(call, &collection, key, Some(&found), node, &mut meta)?;
    let committed = match node {
        Some(node) => collection.edit_with(key, &meta, |edit| edit.remove(node))?.0,
        None => collection.remove_with(key, &meta)?,
    };
    let answer = Answer::empty(StatusCode::NO_CONTENT);
    Ok(match collection.get_at(key, committed.revision)? {
        Some(document) => answer.tag(&conditional::tag(&collection, &document)),
        None => answer,
    })
}
