//! The changes between two versions of a document, node by node.
//!
//! Every node knows the commit that last changed it, so a diff looks only at nodes of the newer
//! version that changed after the older one; and every revision lists the chunks that it touched, so
//! a diff of neighbours looks only into those. Neither grows with the document.
//!
//! ```text
//!   node in old   node in new      reported
//!   yes           yes              update (value), rename, move; as many of them as apply
//!   no            yes              insert, where its parent is not new itself
//!   yes           no               delete, where its parent is not gone itself
//! ```
//!
//! A new field of the same object with the name of one that is gone is a replace, as is a new root.
//!
//! Changes come in the order of the document: each at the place of its node in the newer version, a
//! removed node at its old place among those that stayed, a node before those below it.

use crate::error::Damaged;
use crate::node::{CHUNK_NODES, Node};
use crate::order::Label;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use json::{JsonPath, Kind};
use std::collections::{BTreeSet, HashMap, VecDeque, hash_map};
use std::sync::Arc;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The node; for a replace, the one that stands there now.
    pub node: NodeKey,
    /// Where it stands in the newer version; for a delete, where it stood.
    pub path: JsonPath,
    /// The change.
    pub op: ChangeOp,
}

/// The change of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOp {
    /// A scalar got another value. Both are JSON texts.
    Update {
        /// The value before.
        old: String,
        /// The value now.
        new: String,
        /// The kind now.
        kind: Kind,
    },
    /// A field got another name (escaped, without quotes).
    Rename {
        /// The name before.
        old: String,
        /// The name now.
        new: String,
    },
    /// A subtree went elsewhere, keeping its keys.
    Move {
        /// Where it stood.
        from: JsonPath,
        /// Where it stands.
        position: Position,
    },
    /// A subtree appeared.
    Insert {
        /// Its JSON text.
        new: String,
        /// Kind of its top.
        kind: Kind,
        /// Where it stands.
        position: Position,
    },
    /// A subtree is gone.
    Delete {
        /// Its JSON text.
        old: String,
    },
    /// A subtree stands where another stood.
    Replace {
        /// The key of what stood there.
        old_node: NodeKey,
        /// The JSON text of what stood there.
        old: String,
        /// The JSON text of what stands there.
        new: String,
        /// Kind of its top.
        kind: Kind,
    },
}

/// A place among siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The document's root.
    Root,
    /// First below this node.
    FirstChildOf(NodeKey),
    /// Just after this node.
    RightSiblingOf(NodeKey),
}

/// The differences of two versions of one document.
pub struct Diff {
    /// The version before.
    pub old: Arc<Tree>,
    /// The version after.
    pub new: Arc<Tree>,
    /// The differences, in the order of the document: a removed node stands where it stood.
    pub changes: Vec<Change>,
}

/// The differences of `new` against `old`, in the order of the document. `chunks` limits the search to
/// what is known to have been touched in between.
pub fn diff(old: &Tree, new: &Tree, chunks: Option<&BTreeSet<u32>>) -> Result<Vec<Change>> {
    let mut found = Vec::new();
    match chunks {
        Some(chunks) => {
            for &number in chunks {
                candidates(old, new, number, &mut found)?;
            }
        }
        None => {
            old.fetch()?;
            new.fetch()?;
            for number in 0..old.chunk_count().max(new.chunk_count()) {
                candidates(old, new, number, &mut found)?;
            }
        }
    }
    let mut changes = Vec::with_capacity(found.len());
    let (mut then, mut now) = (Siblings::of(old), Siblings::of(new));
    for key in found {
        compare(&mut then, &mut now, key, &mut changes)?;
    }
    in_document_order(join_replaced(changes, old, new)?, old, new)
}

/// Sorts changes by where their nodes stand. Labels order siblings across versions, since a node keeps
/// its label for as long as it stays where it is.
fn in_document_order(changes: Vec<Change>, old: &Tree, new: &Tree) -> Result<Vec<Change>> {
    if changes.len() < 2 {
        return Ok(changes);
    }
    // The labels that lead to the parent met last: the next change is often a sibling.
    let (mut last, mut above) = (None, Vec::new());
    let mut sorted = Vec::with_capacity(changes.len());
    for change in changes {
        let key = change.node;
        let (parent, label) = match change.op {
            ChangeOp::Delete { .. } => (old.parent(key)?, old.label(key)?),
            _ => (new.parent(key)?, new.label(key)?),
        };
        let mut order = Vec::new();
        if let Some(parent) = parent {
            if last != Some(parent) {
                (last, above) = (Some(parent), labels_to(new, parent)?);
            }
            order.clone_from(&above);
            order.push(label);
        }
        sorted.push((order, change));
    }
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(sorted.into_iter().map(|(_, change)| change).collect())
}

/// The labels of a node and of all above it but the root, from the top.
fn labels_to(nodes: &Tree, key: NodeKey) -> Result<Vec<Label>> {
    let mut labels = Vec::new();
    let mut key = key;
    while let Some(parent) = nodes.parent(key)? {
        labels.push(nodes.label(key)?);
        key = parent;
    }
    labels.reverse();
    Ok(labels)
}

/// Collects the keys of a chunk whose nodes may differ: they changed after the older version.
fn candidates(a: &Tree, b: &Tree, number: u32, found: &mut Vec<NodeKey>) -> Result<()> {
    let (older, newer) = if a.csn() <= b.csn() { (a, b) } else { (b, a) };
    let (then, now) = (older.chunk(number)?, newer.chunk(number)?);
    if let Some(now) = now {
        now.changed_after(older.csn(), |slot| found.push(NodeKey::new(number, slot)));
    }
    // A chunk that died and came back knows nothing of the nodes that it had before.
    let (from, to) = (now.map_or(0, |c| c.slots()), then.map_or(0, |c| c.slots()));
    debug_assert!(from.max(to) <= CHUNK_NODES);
    found.extend((from..to).map(|slot| NodeKey::new(number, slot as u8)));
    Ok(())
}

fn json_of(tree: &Tree, key: NodeKey) -> Result<String> {
    let mut text = Vec::new();
    tree.write_subtree(key, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn text_of(node: &Node<'_>) -> String {
    let mut text = Vec::new();
    crate::node::put_value(&mut text, node.kind, node.text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Where a node stands among its siblings.
pub(crate) fn position_of<N: Nodes + ?Sized>(nodes: &N, key: NodeKey) -> Result<Position> {
    let Some(parent) = nodes.parent(key)? else { return Ok(Position::Root) };
    let mut position = Position::FirstChildOf(parent);
    for child in nodes.children(parent)? {
        match child? {
            child if child == key => break,
            child => position = Position::RightSiblingOf(child),
        }
    }
    Ok(position)
}

/// Where the nodes of a version stand among their siblings. Those of a parent that is asked about again are
/// counted once, so that what moved within a long array does not cost its length each time.
struct Siblings<'t> {
    tree: &'t Tree,
    asked: HashMap<NodeKey, Places>,
}

/// The children of a node: how many stand before each, and its left neighbour. Empty until it is asked for
/// a second time.
type Places = HashMap<NodeKey, (usize, Option<NodeKey>)>;

impl Siblings<'_> {
    fn of(tree: &Tree) -> Siblings<'_> {
        Siblings { tree, asked: HashMap::new() }
    }

    /// The place of a child, where it has been counted.
    fn place(&mut self, parent: NodeKey, key: NodeKey) -> Result<Option<(usize, Option<NodeKey>)>> {
        let places = match self.asked.entry(parent) {
            hash_map::Entry::Vacant(first) => {
                first.insert(Places::new());
                return Ok(None);
            }
            hash_map::Entry::Occupied(again) => again.into_mut(),
        };
        if places.is_empty() {
            let mut left = None;
            for (at, child) in self.tree.children(parent)?.enumerate() {
                let child = child?;
                places.insert(child, (at, left.replace(child)));
            }
        }
        let lost = || Damaged::new("a node that its parent does not know");
        places.get(&key).copied().ok_or_else(|| lost().into()).map(Some)
    }

    fn path(&mut self, key: NodeKey) -> Result<JsonPath> {
        let tree = self.tree;
        tree.path_by(key, &mut |parent, key| match self.place(parent, key)? {
            Some((at, _)) => Ok(at),
            None => tree.position(parent, key),
        })
    }

    fn position(&mut self, key: NodeKey) -> Result<Position> {
        let Some(parent) = self.tree.parent(key)? else { return Ok(Position::Root) };
        Ok(match self.place(parent, key)? {
            Some((_, Some(left))) => Position::RightSiblingOf(left),
            Some((_, None)) => Position::FirstChildOf(parent),
            None => position_of(self.tree, key)?,
        })
    }
}

fn compare(
    then: &mut Siblings<'_>,
    now: &mut Siblings<'_>,
    key: NodeKey,
    changes: &mut Vec<Change>,
) -> Result<()> {
    let (old, new) = (then.tree, now.tree);
    match (old.node(key)?, new.node(key)?) {
        (None, None) => {}
        (Some(was), Some(is)) => {
            let start = changes.len();
            let mut push = |op| changes.push(Change { node: key, path: JsonPath::root(), op });
            let moved =
                old.parent(key)? != new.parent(key)? || old.label(key)? != new.label(key)?;
            if moved {
                push(ChangeOp::Move { from: then.path(key)?, position: now.position(key)? });
            } else if was.name != is.name {
                let name = |node: &Node<'_>| {
                    String::from_utf8_lossy(node.name.unwrap_or_default()).into_owned()
                };
                push(ChangeOp::Rename { old: name(&was), new: name(&is) });
            }
            if was.kind != is.kind || was.text != is.text {
                push(ChangeOp::Update { old: text_of(&was), new: text_of(&is), kind: is.kind });
            }
            if changes.len() > start {
                let path = now.path(key)?;
                changes[start..].iter_mut().for_each(|change| change.path = path.clone());
            }
        }
        (None, Some(is)) => {
            let parent = new.parent(key)?;
            if parent.map_or(Ok(true), |parent| stands(old, parent))? {
                let op = ChangeOp::Insert {
                    new: json_of(new, key)?,
                    kind: is.kind,
                    position: now.position(key)?,
                };
                changes.push(Change { node: key, path: now.path(key)?, op });
            }
        }
        (Some(_), None) => {
            let parent = old.parent(key)?;
            if parent.map_or(Ok(true), |parent| stands(new, parent))? {
                let op = ChangeOp::Delete { old: json_of(old, key)? };
                changes.push(Change { node: key, path: then.path(key)?, op });
            }
        }
    }
    Ok(())
}

/// True if a version has a node.
fn stands(tree: &Tree, key: NodeKey) -> Result<bool> {
    Ok(tree.node(key)?.is_some())
}

/// Joins the delete and the insert of one field, or of the root, into a replace.
fn join_replaced(mut changes: Vec<Change>, old: &Tree, new: &Tree) -> Result<Vec<Change>> {
    let is_field = |tree: &Tree, key: NodeKey| -> Result<bool> {
        Ok(key == tree.root() || tree.node(key)?.is_some_and(|node| node.name.is_some()))
    };
    let mut deleted: HashMap<JsonPath, VecDeque<usize>> = HashMap::new();
    for (at, change) in changes.iter().enumerate() {
        if matches!(change.op, ChangeOp::Delete { .. }) && is_field(old, change.node)? {
            deleted.entry(change.path.clone()).or_default().push_back(at);
        }
    }
    if deleted.is_empty() {
        return Ok(changes);
    }
    let mut gone = BTreeSet::new();
    for at in 0..changes.len() {
        let change = &changes[at];
        let ChangeOp::Insert { new: value, kind, .. } = &change.op else { continue };
        if !is_field(new, change.node)? {
            continue;
        }
        let Some(from) = deleted.get_mut(&change.path).and_then(VecDeque::pop_front) else {
            continue;
        };
        let ChangeOp::Delete { old } = &changes[from].op else { continue };
        let op = ChangeOp::Replace {
            old_node: changes[from].node,
            old: old.clone(),
            new: value.clone(),
            kind: *kind,
        };
        gone.insert(from);
        changes[at].op = op;
    }
    let mut at = 0;
    changes.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    Ok(changes)
}
