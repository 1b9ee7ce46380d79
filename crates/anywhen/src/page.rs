//! A page that shows the history of a document to readers without a database.
//!
//! ```text
//!   web/dist/export.html ──> the page, with its script and style in it      <!--history--> ──┐
//!   the document         ──> {"versions":[...],"nodes":{"4":[[1,"n",null,"3"],[7,...]]}} ────┴──> one file
//! ```
//!
//! The file has a node once for each change, not once for each version: `[revision, kind, name, value]`, where the
//! value of a container is the list of its children, and `[revision]` alone says that the node is gone. So the file
//! grows with what has changed, but making it walks the whole document at each revision. Everything in it that comes
//! from the data is JSON without `<`: it cannot end the element that it is in. The policy of the page lets its own
//! script run, by its digest, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use document::{Collection, DocumentError, NodeKey, Nodes, Tree};
use json::Kind;
use json::text::{quote, unescape};

use crate::time::rfc3339;

/// Nodes between two looks at whether the request around this was cancelled.
const NODES_BETWEEN: usize = 1_000;
/// Where the history goes into the page.
const PLACE: &str = "<!--history-->";

/// A page with the history of a document in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// The page.
    pub html: String,
    /// Revisions that the document has.
    pub revisions: u64,
}

/// Puts the history of a document into the explorer's page for exports. `name` is that of the collection. Returns
/// `None` if the history takes more than `bytes_max` bytes.
///
/// # Errors
/// Fails if there is no such document, and if the page has no place for a history; with [`DocumentError::Read`] if the
/// request around it is cancelled.
pub fn history_page(
    collection: &Collection,
    name: &str,
    key: &str,
    page: &str,
    bytes_max: usize,
) -> Result<Option<HistoryPage>, DocumentError> {
    let no_place = || document::Damaged::new("a page without a place for a history");
    let (before, after) = page.split_once(PLACE).ok_or_else(no_place)?;
    let revisions = collection.history(key, usize::MAX)?;
    let mut versions = Vec::new();
    let mut nodes = NodeChanges::default();
    for info in revisions.iter().rev() {
        let text = |text: Option<String>| text.map_or("null".to_owned(), |text| quote(&text));
        let role = (!info.role.is_empty()).then(|| info.role.to_owned());
        let kept = if info.kept { "" } else { ",\"kept\":false" };
        let version = format!(
            "{{\"revision\":{},\"csn\":{},\"time\":{},\"authored\":{},\"author\":{},\"role\":{},\
             \"message\":{},\"deleted\":{}{kept}}}",
            info.revision,
            info.csn.0,
            quote(&rfc3339(info.time_us)),
            text(info.authored_us.map(rfc3339)),
            quote(info.author),
            text(role),
            quote(info.message),
            info.deleted,
        );
        nodes.bytes += version.len();
        versions.push(version);
        if info.kept && info.deleted {
            nodes.end(info.revision.0);
        } else if info.kept {
            let missing = || document::Damaged::new("a revision without a document");
            let found = collection.at(info.revision).get(key)?.ok_or_else(missing)?;
            nodes.take(found.tree(), info.revision.0)?;
        }
        if nodes.bytes > bytes_max {
            return Ok(None);
        }
    }
    let history = format!(
        "{{\"collection\":{},\"key\":{},\"versions\":[{}],\"nodes\":{}}}",
        quote(name),
        quote(key),
        versions.join(","),
        nodes.json(),
    );
    let html = [before, &history.replace('<', "\\u003c"), after].concat();
    Ok(Some(HistoryPage { html, revisions: versions.len() as u64 }))
}

/// The changes of each node, and its state at the newest revision so far.
#[derive(Default)]
struct NodeChanges {
    changes: BTreeMap<NodeKey, Vec<String>>,
    current: BTreeMap<NodeKey, String>,
    /// Bytes of the history so far.
    bytes: usize,
}

impl NodeChanges {
    /// Records the document at a revision.
    fn take(&mut self, tree: &Tree, revision: u64) -> Result<(), DocumentError> {
        let mut seen = BTreeSet::new();
        let mut stack = vec![tree.root()];
        while let Some(key) = stack.pop() {
            if seen.len().is_multiple_of(NODES_BETWEEN) && interrupt::is_told() {
                return Err(DocumentError::Read(std::io::ErrorKind::Interrupted.into()));
            }
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
    ) -> Result<String, DocumentError> {
        let node = tree.expect(key)?;
        let name = node.name.map_or("null".to_owned(), |name| quote(&unescape(name)));
        let (kind, value) = match node.kind {
            Kind::Null => ("l", "\"null\"".to_owned()),
            Kind::False => ("b", "\"false\"".to_owned()),
            Kind::True => ("b", "\"true\"".to_owned()),
            Kind::Number => ("n", quote(&String::from_utf8_lossy(node.text))),
            Kind::String => ("s", quote(&unescape(node.text))),
            container => {
                let mut children = Vec::new();
                for child in tree.children(key)? {
                    let child = child?;
                    children.push(child.0.to_string());
                    stack.push(child);
                }
                let kind = if container == Kind::Array { "a" } else { "o" };
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{Database, Meta};

    /// The bytes of versions count as those of nodes do; a request that was cancelled makes no page.
    #[test]
    fn a_page_has_bounds() {
        let database = Database::open_in_memory().expect("a database");
        let collection = database.collection("c").expect("a collection");
        for number in 0..8 {
            let meta = Meta { message: "m".repeat(1_000), ..Meta::default() };
            collection.put_with("d", number.to_string(), &meta).expect("JSON");
        }
        let made = |bytes_max| history_page(&collection, "c", "d", PLACE, bytes_max);
        assert_eq!(made(8_000).expect("reads"), None);
        assert_eq!(made(16_000).expect("reads").map(|page| page.revisions), Some(8));
        let cancelled = AtomicBool::new(true);
        let stopped = interrupt::during(&cancelled, || made(16_000));
        assert!(matches!(stopped, Err(DocumentError::Read(_))), "{stopped:?}");
    }
}
