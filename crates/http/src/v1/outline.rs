//! The outline of a document: the visible rows of its tree, as far as nodes are open.
//!
//! ```text
//!   depth=2, toggled=4          row   depth  node
//!   1 {                          0      0    1  object, open
//!   2   "title": "Anywhen"       1      1    2  string
//!   3   "tags": [                2      1    3  array, open below depth 2 only
//!   4   "limits": {              3      1    4  object, toggled: open
//!   5     "cpu": 2               4      2    5  number
//! ```
//!
//! A client asks for a window of rows at some revision. The answer costs what the window shows and what stands
//! before it, never the size of the document: closed nodes are not entered, long texts are cut, and the rows after
//! the window are counted by the child counts of their parents.
//!
//! Invariants:
//! * A window has at most [`ROWS_MAX`] rows, and a text at most [`TEXT_MAX`] characters.
//! * `total` is the number of rows of the whole outline, whatever the window is.

use std::collections::{BTreeMap, HashSet};

use anywhen::json::Kind;
use anywhen::json::text::unescape;
use anywhen::{Collection, Csn, NodeKey, Nodes, Revision, Tree};
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::{Problem, Result};

use super::versions::known;

/// The most rows of one answer.
const ROWS_MAX: usize = 1_000;
/// The rows of an answer where the request does not say.
const ROWS: usize = 100;
/// The most characters of one text.
const TEXT_MAX: usize = 10_000;
/// The characters of a text where the request does not say.
const TEXT: usize = 200;
/// The depth of the nodes that are closed where the request does not say.
const DEPTH: usize = 2;

/// `GET .../outline`
pub(super) fn outline(call: &mut Call) -> Result<Answer> {
    let (moment, wanted) = (call.moment()?, call.node()?);
    let rows = call.limit("rows")?.unwrap_or(ROWS).min(ROWS_MAX);
    let text_max = call.parsed("text_max")?.unwrap_or(TEXT).min(TEXT_MAX);
    let depth = call.parsed("depth")?.unwrap_or(DEPTH);
    let collection = call.collection_at("collection", moment)?;
    let document = call.document(&collection, call.part("key"), moment)?;
    let tree = &**document.tree();
    let mut open = Open::read(tree, depth, call.text("toggled").unwrap_or_default())?;
    let found = match &wanted {
        None => None,
        Some(node) => {
            let missing = || Problem::missing(format!("there is no node {node} in this version"));
            Some(document.find(node)?.ok_or_else(missing)?)
        }
    };
    let opened = found.map_or(Ok(Vec::new()), |key| open.reveal(tree, key))?;
    let begin = match (call.parsed("row")?, found) {
        (Some(row), _) => row,
        (None, Some(key)) => open.row_of(tree, key)?.saturating_sub(rows / 2),
        (None, None) => 0,
    };
    let mut window =
        Window { begin, end: begin.saturating_add(rows), at: 0, rows: Vec::new(), text_max };
    let root = tree.root();
    window.enter(tree, &open, root, Label::None, 0)?;
    let above = window.above(tree)?;
    let key = call.part("key");
    let blame = call.flag("blame")?;
    let versions = match blame {
        true => window.blame(&collection, key, document.revision())?,
        false => Vec::new(),
    };
    let mut answer = json!({
        "revision": document.revision().0,
        "csn": document.csn().0,
        "nodes": document.node_count(),
        "total": window.at,
        "row": begin,
        "found": found.map(|key| key.0),
        "opened": opened,
        "above": above,
        "rows": window.rows,
    });
    if blame {
        answer["versions"] = versions.into();
    }
    Ok(Answer::value(&answer).tag(&crate::conditional::tag(&collection, &document)))
}

/// How a node is called by its parent.
#[derive(Clone, Copy)]
enum Label<'a> {
    None,
    Name(&'a [u8]),
    Position(usize),
}

/// Which containers are open.
struct Open {
    /// Nodes above this depth are open.
    depth: usize,
    /// Nodes that are the other way round.
    toggled: HashSet<NodeKey>,
    /// Parents of those: among their children some are open that others are not.
    uneven: HashSet<NodeKey>,
}

impl Open {
    /// Reads a list of node keys. A key that this version does not have is left out: it may be in another one.
    fn read(tree: &Tree, depth: usize, list: &str) -> Result<Open> {
        let mut open = Open { depth, toggled: HashSet::new(), uneven: HashSet::new() };
        for text in list.split(',').filter(|text| !text.is_empty()) {
            let wrong =
                || Problem::bad(format!("{text:?} in the parameter toggled is not a node key"));
            open.toggle(tree, NodeKey(text.parse().map_err(|_| wrong())?))?;
        }
        Ok(open)
    }

    fn toggle(&mut self, tree: &Tree, key: NodeKey) -> Result<()> {
        if tree.node(key)?.is_none() {
            return Ok(());
        }
        if !self.toggled.remove(&key) {
            self.toggled.insert(key);
        }
        self.uneven.extend(tree.parent(key)?);
        Ok(())
    }

    fn is_open(&self, key: NodeKey, depth: usize) -> bool {
        (depth < self.depth) != self.toggled.contains(&key)
    }

    /// Opens all nodes above a node; returns the keys of those that were closed.
    fn reveal(&mut self, tree: &Tree, key: NodeKey) -> Result<Vec<u64>> {
        let mut above = Vec::new();
        let mut next = tree.parent(key)?;
        while let Some(parent) = next {
            above.push(parent);
            next = tree.parent(parent)?;
        }
        let mut opened = Vec::new();
        for (depth, parent) in above.into_iter().rev().enumerate() {
            if !self.is_open(parent, depth) {
                self.toggle(tree, parent)?;
                opened.push(parent.0);
            }
        }
        Ok(opened)
    }

    /// The number of the row of a node all of whose ancestors are open.
    fn row_of(&self, tree: &Tree, key: NodeKey) -> Result<usize> {
        let mut path = vec![key];
        while let Some(parent) = tree.parent(path[path.len() - 1])? {
            path.push(parent);
        }
        path.reverse();
        let mut row = 0;
        for (depth, pair) in path.windows(2).enumerate() {
            row += 1;
            for child in tree.children(pair[0])? {
                let child = child?;
                if child == pair[1] {
                    break;
                }
                row += self.rows_of(tree, child, depth + 1)?;
            }
        }
        Ok(row)
    }

    /// The number of rows of a node and all that is open below it.
    fn rows_of(&self, tree: &Tree, key: NodeKey, depth: usize) -> Result<usize> {
        let node = tree.expect(key)?;
        if !node.kind.is_container() || !self.is_open(key, depth) {
            return Ok(1);
        }
        if self.is_even(key, depth) {
            return Ok(1 + node.count as usize);
        }
        let mut rows = 1;
        for child in tree.children(key)? {
            rows += self.rows_of(tree, child?, depth + 1)?;
        }
        Ok(rows)
    }

    /// True if all children of an open node are closed.
    fn is_even(&self, key: NodeKey, depth: usize) -> bool {
        depth + 1 >= self.depth && !self.uneven.contains(&key)
    }
}

/// The rows of the answer, and how many were passed.
struct Window {
    begin: usize,
    end: usize,
    at: usize,
    rows: Vec<Value>,
    text_max: usize,
}

impl Window {
    /// Passes a node and all that is open below it.
    fn enter(
        &mut self,
        tree: &Tree,
        open: &Open,
        key: NodeKey,
        label: Label<'_>,
        depth: usize,
    ) -> Result<()> {
        let node = tree.expect(key)?;
        let is_open = node.kind.is_container() && open.is_open(key, depth);
        if self.begin <= self.at && self.at < self.end {
            self.rows.push(self.row(tree, key, label, depth, is_open)?);
        }
        self.at += 1;
        if !is_open {
            return Ok(());
        }
        let is_even = open.is_even(key, depth);
        let count = node.count as usize;
        // Children before or after the window are counted, where each of them is one row.
        if is_even && (self.at >= self.end || self.at + count <= self.begin) {
            self.at += count;
            return Ok(());
        }
        let last = self.at + count;
        for (position, child) in tree.children(key)?.enumerate() {
            let child = child?;
            if is_even && self.at >= self.end {
                self.at = last;
                break;
            }
            if is_even && self.at < self.begin {
                self.at += 1;
                continue;
            }
            let label = match tree.expect(child)?.name {
                Some(name) => Label::Name(name),
                None => Label::Position(position),
            };
            self.enter(tree, open, child, label, depth + 1)?;
        }
        Ok(())
    }

    fn row(
        &self,
        tree: &Tree,
        key: NodeKey,
        label: Label<'_>,
        depth: usize,
        is_open: bool,
    ) -> Result<Value> {
        let node = tree.expect(key)?;
        let mut row = Map::new();
        row.insert("node_key".into(), key.0.into());
        row.insert("depth".into(), depth.into());
        match label {
            Label::None => {}
            Label::Name(name) => self.text(&mut row, "name", &unescape(name)),
            Label::Position(position) => drop(row.insert("index".into(), position.into())),
        }
        let (kind, text) = match node.kind {
            Kind::Null => ("null", "null".into()),
            Kind::False => ("boolean", "false".into()),
            Kind::True => ("boolean", "true".into()),
            Kind::Number => ("number", String::from_utf8_lossy(node.text)),
            Kind::String => ("string", unescape(node.text)),
            Kind::Array => ("array", "".into()),
            Kind::Object => ("object", "".into()),
        };
        row.insert("type".into(), kind.into());
        match node.kind.is_container() {
            true => {
                row.insert("children".into(), node.count.into());
                row.insert("open".into(), is_open.into());
            }
            false => self.text(&mut row, "text", &text),
        }
        row.insert("changed".into(), node.changed.0.into());
        Ok(Value::Object(row))
    }

    /// The rows above the first one that it is inside of, from the root on. They come without blame.
    fn above(&self, tree: &Tree) -> Result<Vec<Value>> {
        let Some(first) = self.rows.first().and_then(|row| row["node_key"].as_u64()) else {
            return Ok(Vec::new());
        };
        let mut above = Vec::new();
        let mut next = tree.parent(NodeKey(first))?;
        while let Some(key) = next {
            let parent = tree.parent(key)?;
            above.push((key, parent));
            next = parent;
        }
        let mut rows = Vec::new();
        for (depth, (key, parent)) in above.into_iter().rev().enumerate() {
            let label = match (tree.expect(key)?.name, parent) {
                (Some(name), _) => Label::Name(name),
                (None, Some(parent)) => Label::Position(tree.position(parent, key)?),
                (None, None) => Label::None,
            };
            rows.push(self.row(tree, key, label, depth, true)?);
        }
        Ok(rows)
    }

    /// Adds a text, cut where it is longer than the client wants; then the row has its length.
    fn text(&self, row: &mut Map<String, Value>, member: &str, text: &str) {
        match text.char_indices().nth(self.text_max) {
            None => drop(row.insert(member.into(), text.into())),
            Some((cut, _)) => {
                row.insert(member.into(), text[..cut].into());
                let length = self.text_max + text[cut..].chars().count();
                row.insert(format!("{member}_length"), length.into());
            }
        }
    }

    /// Puts the revision that last changed each row in the place of its commit; returns those revisions.
    fn blame(
        &mut self,
        collection: &Collection,
        key: &str,
        newest: Revision,
    ) -> Result<Vec<Value>> {
        let mut revisions: BTreeMap<u64, u64> = BTreeMap::new();
        let mut versions = Vec::new();
        for row in &mut self.rows {
            let csn = row["changed"].as_u64().unwrap_or_default();
            if let Some(revision) = revisions.get(&csn) {
                row["changed"] = (*revision).into();
                continue;
            }
            let found = at_commit(collection, key, Csn(csn), newest)?;
            let revision = found["revision"].as_u64().unwrap_or_default();
            versions.push(found);
            revisions.insert(csn, revision);
            row["changed"] = revision.into();
        }
        Ok(versions)
    }
}

/// The newest revision that a commit, or one before it, has made. The revisions of a document ascend with their
/// commits.
fn at_commit(collection: &Collection, key: &str, csn: Csn, newest: Revision) -> Result<Value> {
    let (mut low, mut high) = (1, newest.0);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let found = collection.history_range(key, Revision(middle), Revision(middle))?;
        match found.get(0).is_some_and(|found| found.csn <= csn) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    let found = collection.history_range(key, Revision(low), Revision(low))?;
    let missing = || Problem::missing(format!("the document has no revision {low}"));
    Ok(known(&found.get(0).ok_or_else(missing)?))
}
