//! Edits of a document by path or node key: the object that `Collection::edit` passes to its
//! caller.

use crate::admit::check_values;
use crate::draft::Draft;
pub use crate::draft::Place;
use crate::error::DocumentError;
use crate::large::{self, JsonbPart};
use crate::limits::{parse, tape_of};
use crate::rewrite::{export, rewrite, scalar_of};
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use json::jsonb::JsonbRef;
use json::{JsonPath, Kind, Step, Tape};

/// A node, named by where it stands or by its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeRef {
    /// A path such as `$.items[3].qty`, or a JSON pointer such as `/items/3/qty`.
    Path(String),
    /// A node key.
    Key(NodeKey),
}

impl From<&str> for NodeRef {
    fn from(path: &str) -> Self {
        NodeRef::Path(path.to_owned())
    }
}

impl From<String> for NodeRef {
    fn from(path: String) -> Self {
        NodeRef::Path(path)
    }
}

impl From<NodeKey> for NodeRef {
    fn from(key: NodeKey) -> Self {
        NodeRef::Key(key)
    }
}

impl From<&NodeRef> for NodeRef {
    fn from(node: &NodeRef) -> Self {
        node.clone()
    }
}

impl std::fmt::Display for NodeRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NodeRef::Path(path) => f.write_str(path),
            NodeRef::Key(key) => write!(f, "with key {}", key.0),
        }
    }
}

/// The node that `target` names, if it is there.
pub(crate) fn find<N: Nodes + ?Sized>(nodes: &N, target: &NodeRef) -> Result<Option<NodeKey>> {
    match target {
        NodeRef::Path(path) => nodes.resolve(&parse_path(path)?),
        NodeRef::Key(key) => Ok(nodes.node(*key)?.map(|_| *key)),
    }
}

impl Tree {
    /// The key of the node that `target` names, or `None`.
    pub fn find(&self, target: &NodeRef) -> Result<Option<NodeKey>> {
        find(self, target)
    }
}

/// The node that `target` names, or an error that says that there is none.
pub(crate) fn expect<N: Nodes + ?Sized>(nodes: &N, target: &NodeRef) -> Result<NodeKey> {
    find(nodes, target)?.ok_or_else(|| DocumentError::NoNode(target.to_string()))
}

/// Reads a path: `$.a[0]`, or a JSON pointer where it starts with `/` or is empty.
pub(crate) fn parse_path(path: &str) -> Result<JsonPath> {
    match path.is_empty() || path.starts_with('/') {
        true => Ok(JsonPath::pointer(path)?),
        false => Ok(JsonPath::parse(path)?),
    }
}

/// Changes a document. All changes made through one `Edit` become one revision; where the caller
/// fails, none of them happens.
pub struct Edit<'a> {
    draft: &'a mut Draft,
}

impl<'a> Edit<'a> {
    pub(crate) fn new(draft: &'a mut Draft) -> Edit<'a> {
        Edit { draft }
    }

    /// Reads a value that is put in.
    fn parse(&self, json: &[u8]) -> Result<Tape> {
        let tape = parse(json)?;
        check_values(&tape)?;
        Ok(tape)
    }

    /// The document as it stands within this edit.
    pub fn nodes(&self) -> &impl Nodes {
        self.draft
    }

    /// The key of the node that `target` names, or `None`.
    pub fn find(&self, target: impl Into<NodeRef>) -> Result<Option<NodeKey>> {
        find(self.draft, &target.into())
    }

    /// The JSON text of a scalar's value, or `None` for a container or where there is no such node.
    pub fn scalar(&self, target: impl Into<NodeRef>) -> Result<Option<String>> {
        let Some(key) = self.find(target)? else { return Ok(None) };
        let node = self.draft.expect(key)?;
        if node.kind.is_container() {
            return Ok(None);
        }
        let mut text = Vec::new();
        crate::node::put_value(&mut text, node.kind, node.text);
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Gives the target the value `json`. Equal parts keep their nodes; where the path's last step
    /// names a field that is not there, or the element after an array's last, it is added. Returns
    /// the key of the node that holds the value.
    pub fn set(&mut self, target: impl Into<NodeRef>, json: impl AsRef<[u8]>) -> Result<NodeKey> {
        let target = target.into();
        let tape = self.parse(json.as_ref())?;
        let Some(key) = find(self.draft, &target)? else { return self.set_missing(&target, &tape) };
        self.set_tape(key, &tape)
    }

    /// Gives a node the value of a tape; returns the key of the node that holds it.
    fn set_tape(&mut self, key: NodeKey, tape: &Tape) -> Result<NodeKey> {
        if let Some((kind, text)) = scalar_of(tape)
            && !self.draft.expect(key)?.kind.is_container()
        {
            self.draft.set_scalar(key, kind, text)?;
            return Ok(key);
        }
        rewrite(self.draft, key, tape)
    }

    /// Gives a node this value. Equal parts keep their nodes.
    pub(crate) fn set_value(&mut self, key: NodeKey, value: JsonbRef<'_>) -> Result<()> {
        let part = JsonbPart::from(value);
        match large::is_large(self.draft, key, part)? {
            true => large::rewrite_large(self.draft, key, part, None),
            false => self.set_tape(key, &tape_of(value)?).map(drop),
        }
    }

    /// Adds this value as a new subtree at `place`, seen from the node `target`.
    pub(crate) fn insert_value(
        &mut self,
        target: NodeKey,
        place: Place<'_>,
        value: JsonbRef<'_>,
    ) -> Result<()> {
        self.insert_tape(target, place, &tape_of(value)?).map(drop)
    }

    fn set_missing(&mut self, target: &NodeRef, tape: &Tape) -> Result<NodeKey> {
        let missing = || DocumentError::NoNode(target.to_string());
        let NodeRef::Path(path) = target else { return Err(missing()) };
        let path = parse_path(path)?;
        let (last, above) = path.steps.split_last().ok_or_else(missing)?;
        let parent =
            self.draft.resolve(&JsonPath { steps: above.to_vec() })?.ok_or_else(missing)?;
        let node = self.draft.expect(parent)?;
        match (last, node.kind) {
            (Step::Field(name) | Step::Either(name), Kind::Object) => {
                self.insert_tape(parent, Place::Field(name), tape)
            }
            (Step::Either(at), Kind::Array) if at == "-" || *at == node.count.to_string() => {
                self.insert_tape(parent, Place::LastChild, tape)
            }
            (Step::Index(at), Kind::Array) if *at == node.count as usize => {
                self.insert_tape(parent, Place::LastChild, tape)
            }
            _ => Err(missing()),
        }
    }

    /// Adds `json` as a new subtree at `place`, seen from `target`; returns its key.
    pub fn insert(
        &mut self,
        target: impl Into<NodeRef>,
        place: Place<'_>,
        json: impl AsRef<[u8]>,
    ) -> Result<NodeKey> {
        let key = expect(self.draft, &target.into())?;
        let tape = self.parse(json.as_ref())?;
        self.insert_tape(key, place, &tape)
    }

    fn insert_tape(&mut self, target: NodeKey, place: Place<'_>, tape: &Tape) -> Result<NodeKey> {
        let (parent, label, name) = self.draft.find_place(target, place, None)?;
        self.draft.check_depth(tape, 0, self.draft.level(parent)? + 1)?;
        let count = self.draft.expect(parent)?.count;
        let first = self.draft.add(tape, 0, name.as_deref(), Some((parent, label)))?;
        self.draft.set_count(parent, count + 1)?;
        let added: Vec<NodeKey> = (first.0..first.0 + tape.len() as u64).map(NodeKey).collect();
        self.draft.hash_added(&added)?;
        Ok(first)
    }

    /// Puts `json` in the target's place as a new node, whatever stood there; returns its key.
    pub fn replace(
        &mut self,
        target: impl Into<NodeRef>,
        json: impl AsRef<[u8]>,
    ) -> Result<NodeKey> {
        let key = expect(self.draft, &target.into())?;
        let tape = self.parse(json.as_ref())?;
        self.draft.check_depth(&tape, 0, self.draft.level(key)?)?;
        let keys = self.draft.subtree(key)?;
        crate::rewrite::replace(self.draft, key, &keys, &tape)
    }

    /// Gives a field another name.
    pub fn rename(&mut self, target: impl Into<NodeRef>, name: &str) -> Result<()> {
        let key = expect(self.draft, &target.into())?;
        let escaped = json::text::escape(name).into_owned().into_bytes();
        let node = self.draft.expect(key)?;
        if node.name == Some(&escaped[..]) {
            return Ok(());
        }
        if let (Some(_), Some(parent)) = (node.name, self.draft.parent(key)?)
            && self.draft.child_named(parent, &escaped)?.is_some()
        {
            return Err(DocumentError::BadEdit(format!("the object already has a field {name:?}")));
        }
        self.draft.rename(key, &escaped)
    }

    /// Removes the target and all below it.
    pub fn remove(&mut self, target: impl Into<NodeRef>) -> Result<()> {
        let key = expect(self.draft, &target.into())?;
        let Some(parent) = self.draft.parent(key)? else {
            return Err(DocumentError::BadEdit(
                "the root cannot be removed: remove the document, or set its root to another value"
                    .into(),
            ));
        };
        let mut keys = self.draft.subtree(key)?;
        keys.sort_unstable();
        let count = self.draft.expect(parent)?.count;
        self.draft.take(&keys)?;
        self.draft.set_count(parent, count - 1)
    }

    /// Moves the target, with all below it and under its keys, to `place`, seen from `to`.
    pub fn move_to(
        &mut self,
        target: impl Into<NodeRef>,
        to: impl Into<NodeRef>,
        place: Place<'_>,
    ) -> Result<()> {
        let key = expect(self.draft, &target.into())?;
        let to = expect(self.draft, &to.into())?;
        let Some(old_parent) = self.draft.parent(key)? else {
            return Err(DocumentError::BadEdit("the root cannot be moved".into()));
        };
        let mut above = Some(to);
        while let Some(node) = above {
            if node == key {
                return Err(DocumentError::BadEdit(
                    "a node cannot be moved below or beside itself".into(),
                ));
            }
            above = self.draft.parent(node)?;
        }
        let (parent, label, name) = self.draft.find_place(to, place, Some(key))?;
        if parent == old_parent && label == self.draft.label(key)? {
            return match name {
                Some(name) if self.draft.expect(key)?.name != Some(&*name) => {
                    self.draft.rename(key, &name)
                }
                _ => Ok(()),
            };
        }
        let (tape, _) = export(self.draft, key)?;
        self.draft.check_depth(&tape, 0, self.draft.level(parent)? + 1)?;
        if parent != old_parent {
            let (from, into) =
                (self.draft.expect(old_parent)?.count, self.draft.expect(parent)?.count);
            self.draft.set_count(old_parent, from - 1)?;
            self.draft.set_count(parent, into + 1)?;
        }
        self.draft.put_at(key, 0, Some((parent, label)), name.as_deref())
    }

    /// Copies the target and all below it, as new nodes, to `place`, seen from `to`; returns the key
    /// of the copy.
    pub fn copy_to(
        &mut self,
        target: impl Into<NodeRef>,
        to: impl Into<NodeRef>,
        place: Place<'_>,
    ) -> Result<NodeKey> {
        let key = expect(self.draft, &target.into())?;
        let to = expect(self.draft, &to.into())?;
        let (tape, _) = export(self.draft, key)?;
        self.insert_tape(to, place, &tape)
    }
}
