//! `export --html`: one file that shows the history of a document to somebody who has no database.
//!
//! ```text
//!   web/dist/export.html ──> the page, with its script and style in it      <!--history--> ──┐
//!   the document         ──> {"versions":[...],"nodes":{"4":[[1,"n",null,"3"],[7,...]]}} ────┴──> one file
//! ```
//!
//! Nodes are told once for each change, not once for each version: `[revision, kind, name, value]`, where the value of
//! a container is the list of its children, and `[revision]` alone says that the node is gone. So the file grows with
//! what has changed. Everything in it that comes from the data is JSON without `<`: it cannot end the element that it
//! is in. The policy of the page lets its own script run, by its digest, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;

use anywhen::json::Kind as JsonKind;
use anywhen::json::text::{quote, unescape};
use anywhen::{Collection, NodeKey, Nodes, Tree};
use flate2::read::GzDecoder;

use crate::args::Target;
use crate::failure::{Failure, Kind, Outcome};
use crate::json_out::Object;
use crate::screen;
use crate::session::{Session, missing};

/// The page of an export among the files of the explorer.
pub(crate) const PAGE: &str = "export.html";
/// Where the history goes into it.
const PLACE: &str = "<!--history-->";
/// The most bytes of a history: browsers read such a file at once.
const BYTES_MAX: usize = 256 << 20;

/// Writes the file.
pub(crate) fn export(
    session: &Session,
    collection: &Collection,
    target: &Target,
    file: &Path,
) -> Outcome {
    let page = page()?;
    let Some((before, after)) = page.split_once(PLACE) else {
        return Err(Failure::new(Kind::Broken, "the page of the explorer has no place for data"));
    };
    let (history, revisions) = history(collection, target)?;
    let failed = |error| Failure::file(file, &error);
    let mut out = std::fs::File::create(file).map_err(failed)?;
    for part in [before, &history, after] {
        out.write_all(part.as_bytes()).map_err(failed)?;
    }
    out.sync_all().map_err(failed)?;
    let bytes = before.len() + history.len() + after.len();
    match session.json {
        true => {
            let object = Object::new().text("file", &file.to_string_lossy());
            screen::raw(object.plain("revisions", revisions).plain("bytes", bytes).end().as_bytes())
        }
        false => screen::text(&format!(
            "{}: {} of {target}, {bytes} bytes",
            file.display(),
            screen::count(revisions, "revision"),
        )),
    }
}

/// The page of the explorer that shows what is in it.
fn page() -> Result<String, Failure> {
    let file = explorer::FILES.iter().find(|file| file.name == PAGE).ok_or_else(|| {
        Failure::refused("this build has no explorer")
            .hint("install Node 20.19 or newer, run scripts/web.sh, and build the command again")
    })?;
    let mut page = String::new();
    let read = GzDecoder::new(file.gzip).read_to_string(&mut page);
    read.map_err(|error| Failure::new(Kind::Broken, format!("the explorer's files: {error}")))?;
    Ok(page)
}

/// The history as JSON that can stand in a page, and how many revisions it has.
fn history(collection: &Collection, target: &Target) -> Result<(String, u64), Failure> {
    let revisions = crate::read::revisions(collection, target, usize::MAX)?;
    let mut versions = Vec::new();
    let mut nodes = NodeChanges::default();
    for info in revisions.iter().rev() {
        let mut version = Object::new()
            .plain("revision", info.revision.0)
            .plain("csn", info.csn.0)
            .text("time", &anywhen::time::rfc3339(info.time_us))
            .text_or_null("authored", info.authored_us.map(anywhen::time::rfc3339).as_deref())
            .text("author", info.author)
            .text_or_null("role", crate::read::proved(info.role))
            .text("message", info.message)
            .plain("deleted", info.deleted);
        if !info.kept {
            version = version.plain("kept", false);
        } else if info.deleted {
            nodes.end(info.revision.0);
        } else {
            let document = collection.at(info.revision).get(&target.key)?;
            let document = document.ok_or_else(|| missing(target))?;
            nodes.take(document.tree(), info.revision.0)?;
        }
        if nodes.bytes > BYTES_MAX {
            return Err(Failure::refused("this history is too long for one file")
                .hint("anywhen serve shows histories of any length"));
        }
        versions.push(version.end().trim_end().to_owned());
    }
    let text = format!(
        "{{\"collection\":{},\"key\":{},\"versions\":[{}],\"nodes\":{}}}",
        quote(&target.collection),
        quote(&target.key),
        versions.join(","),
        nodes.json(),
    );
    Ok((text.replace('<', "\\u003c"), versions.len() as u64))
}

/// The changes of each node, and its state at the newest revision so far.
#[derive(Default)]
struct NodeChanges {
    changes: BTreeMap<NodeKey, Vec<String>>,
    current: BTreeMap<NodeKey, String>,
    bytes: usize,
}

impl NodeChanges {
    /// Records the document at a revision.
    fn take(&mut self, tree: &Tree, revision: u64) -> Outcome {
        let mut seen = BTreeSet::new();
        let mut stack = vec![tree.root()];
        while let Some(key) = stack.pop() {
            seen.insert(key);
            let state = self.state(tree, key, &mut stack)?;
            if self.current.get(&key) != Some(&state) {
                self.push(key, format!("[{revision},{state}]"));
                self.current.insert(key, state);
            }
        }
        let gone: Vec<NodeKey> =
            self.current.keys().filter(|key| !seen.contains(key)).copied().collect();
        for key in gone {
            self.remove(key, revision);
        }
        Ok(())
    }

    /// Records that a revision removed the document.
    fn end(&mut self, revision: u64) {
        while let Some((key, _)) = self.current.first_key_value() {
            self.remove(*key, revision);
        }
    }

    fn remove(&mut self, key: NodeKey, revision: u64) {
        self.current.remove(&key);
        self.push(key, format!("[{revision}]"));
    }

    fn push(&mut self, key: NodeKey, change: String) {
        self.bytes += change.len();
        self.changes.entry(key).or_default().push(change);
    }

    /// The state of a node: kind, name and value. Pushes its children onto the stack.
    fn state(
        &self,
        tree: &Tree,
        key: NodeKey,
        stack: &mut Vec<NodeKey>,
    ) -> Result<String, Failure> {
        let node = tree.expect(key)?;
        let name = node.name.map_or("null".to_owned(), |name| quote(&unescape(name)));
        let (kind, value) = match node.kind {
            JsonKind::Null => ("l", "\"null\"".to_owned()),
            JsonKind::False => ("b", "\"false\"".to_owned()),
            JsonKind::True => ("b", "\"true\"".to_owned()),
            JsonKind::Number => ("n", quote(&String::from_utf8_lossy(node.text))),
            JsonKind::String => ("s", quote(&unescape(node.text))),
            container => {
                let mut children = Vec::new();
                for child in tree.children(key)? {
                    let child = child?;
                    children.push(child.0.to_string());
                    stack.push(child);
                }
                let kind = if container == JsonKind::Array { "a" } else { "o" };
                (kind, format!("[{}]", children.join(",")))
            }
        };
        Ok(format!("\"{kind}\",{name},{value}"))
    }

    fn json(&self) -> String {
        let nodes = self.changes.iter();
        let nodes: Vec<String> =
            nodes.map(|(key, changes)| format!("\"{key}\":[{}]", changes.join(","))).collect();
        format!("{{{}}}", nodes.join(","))
    }
}
