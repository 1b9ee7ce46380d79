//! The value of a large document, of which a statement that reads a field, or changes one, makes nothing else.
//!
//! ```text
//!   Tree::value ──> Jsonb, lazy ──  ->> 'a'       finds one node
//!                                ──  jsonb_set     notes a change at one node ──> change_values_in_txn
//!                                ──  the rest      Tree::jsonb
//! ```
//!
//! All chunks are fetched when the lazy value is made: a later step reads no file. It can still find nodes that
//! contradict each other, which no checksum tells. Then making the whole value fails, and stops the statement.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::collection::Collection;
use crate::edit::{Edit, Place};
use crate::error::{Damaged, DocumentError};
use crate::jsonb_diff::apply_diff;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use json::jsonb::lazy::{
    Action, CHANGES_BYTES_MAX, Change, Node, Source, SourceError, Step, Unknown,
};
use json::jsonb::{BYTES_MAX, Jsonb};
use txn::Transaction;

/// The value of a document whose chunks have so many bytes is lazy: up to the limit of `jsonb`, less what the changes
/// may add. The value of a larger document is made at once, so that a change cannot store what no `jsonb` can hold.
const LAZY_BYTES: RangeInclusive<usize> = 16 << 10..=BYTES_MAX - CHANGES_BYTES_MAX;

/// The whole value is made for a part of more than this part of the nodes: it is kept, and made without text.
const PART_MAX: u64 = 4;

impl Tree {
    /// The document as a value. That of a large document is lazy.
    ///
    /// A lazy value of a damaged document stops the statement that needs the whole of it (`interrupt::throw`). So only
    /// statements, which run below `interrupt::catch`, may ask for it. Other callers use [`Tree::jsonb`].
    ///
    /// # Errors
    /// Those of [`Tree::jsonb`].
    pub fn value(self: &Arc<Tree>) -> Result<Jsonb> {
        self.fetch()?;
        let bytes = self.chunk_bytes();
        let root = self.found(self.root())?;
        if !root.kind.is_container() || !LAZY_BYTES.contains(&bytes) {
            return self.jsonb();
        }
        self.placed()?;
        let whole = self.kept_value().cloned();
        Ok(Jsonb::lazy(Arc::new(TreeValue { tree: Arc::clone(self), root, bytes }), whole))
    }

    fn found(&self, key: NodeKey) -> Result<Node> {
        let node = self.expect(key)?;
        Ok(Node { number: key.0, kind: node.kind, len: node.count as usize })
    }
}

/// A tree whose chunks are all here.
struct TreeValue {
    tree: Arc<Tree>,
    root: Node,
    /// Bytes of the chunks.
    bytes: usize,
}

impl TreeValue {
    fn child_of(&self, of: Node, step: Step<'_>) -> Result<Option<Node>> {
        let (tree, parent) = (&self.tree, NodeKey(of.number));
        let child = match step {
            Step::Name(name) => tree.child_named(parent, json::text::escape(name).as_bytes())?,
            Step::Position(position) => tree.child_at(parent, position)?,
        };
        child.map(|child| tree.found(child)).transpose()
    }

    fn value_of(&self, node: NodeKey) -> Result<Jsonb, Unknown> {
        let extent = self.tree.expect(node).map_err(|_| Unknown)?.extent;
        if u64::from(extent) > self.tree.header().nodes / PART_MAX {
            return Err(Unknown);
        }
        let mut text = Vec::new();
        self.tree.write_subtree(node, &mut text).map_err(|_| Unknown)?;
        let text = str::from_utf8(&text).map_err(|_| Unknown)?;
        Jsonb::parse(text).map_err(|_| Unknown)
    }
}

impl Source for TreeValue {
    fn root(&self) -> Node {
        self.root
    }

    fn child(&self, of: Node, step: Step<'_>) -> Result<Option<Node>, Unknown> {
        // An older release took names with U+0000, which the value has as these six characters.
        if matches!(step, Step::Name(name) if name.contains("\\u0000")) {
            return Err(Unknown);
        }
        self.child_of(of, step).map_err(|_| Unknown)
    }

    fn value(&self, of: Node) -> Result<Jsonb, Unknown> {
        self.value_of(NodeKey(of.number))
    }

    fn whole(&self) -> Result<Jsonb, SourceError> {
        self.tree.jsonb_of_chunks().map_err(source_error)
    }

    fn held_bytes(&self) -> usize {
        self.bytes
    }
}

/// The error of chunks that were decoded when the lazy value was made.
fn source_error(error: DocumentError) -> SourceError {
    let error = match error {
        DocumentError::NoNode(_) => Damaged::new("a node that another one leads to").into(),
        error => error,
    };
    let sqlstate = match &error {
        DocumentError::Value(refusal) => refusal.sqlstate(),
        error => error.sqlstate_below().unwrap_or("XX001"),
    };
    SourceError::new(sqlstate.to_owned(), error)
}

impl Collection {
    /// Makes changes of the document's value, which was read as the transaction sees it. Returns true if the document
    /// becomes another.
    pub fn change_values_in_txn(
        &self,
        txn: &mut Transaction,
        key: &str,
        changes: &[Change],
    ) -> Result<bool> {
        let edited = self.edit_told(txn, key, |edit| {
            changes.iter().try_for_each(|change| apply(edit, change.action()))
        });
        Ok(edited?.1)
    }
}

fn apply(edit: &mut Edit<'_>, action: &Action) -> Result<()> {
    match action {
        Action::Set { node, old: Some(old), value } => {
            apply_diff(edit, NodeKey(node.number), old.root(), value.root())
        }
        Action::Set { node, old: None, value } => {
            edit.set_value(NodeKey(node.number), value.root())
        }
        Action::Add { object, name, value } => {
            let at = Place::Field(name);
            edit.insert_value(NodeKey(object.number), at, value.root())
        }
        Action::Remove { node } => edit.remove(NodeKey(node.number)),
    }
}
