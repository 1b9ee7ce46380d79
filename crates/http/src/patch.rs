//! Patches: JSON Patch (RFC 6902) and merge patches (RFC 7396), as edits of nodes.
//!
//! Nodes that a patch does not touch stay, nodes that it moves keep their keys, and all of a patch is
//! one revision or nothing.
//!
//! ```text
//!   move /a/0 to /a/2      the target is found in the document without what is moved
//!   [ x , y , z ]          [ y , z ] and so x goes last
//! ```
//!
//! A step `copy` is the only one whose value is not in the request, and forty of them that copy a document into
//! itself would make it a million million times as large. All that the patches of a request copy is limited as
//! a body is ([`Budget`]), and is counted while it is copied.

use anywhen::{DocumentError, Edit, NodeKey, Nodes, Place};
use json::text::escape;
use json::{JsonPath, Kind, Node, Step, Tape};

use crate::cancel::CancelToken;
use crate::failures::CopiesTooLarge;
use crate::options::Limits;
use crate::problem::Problem;

type Result<T, E = DocumentError> = std::result::Result<T, E>;

/// The bytes and nodes that the patches of one request may still copy.
pub(crate) struct Budget<'a> {
    limits: &'a Limits,
    bytes_left: u64,
    nodes_left: u64,
    cancelled: &'a CancelToken,
}

impl<'a> Budget<'a> {
    pub(crate) fn new(limits: &'a Limits, cancelled: &'a CancelToken) -> Budget<'a> {
        let (bytes_left, nodes_left) = (limits.body_bytes_max, limits.body_nodes_max);
        Budget { limits, bytes_left, nodes_left, cancelled }
    }

    /// Fails if the client of the request has gone.
    pub(crate) fn check(&self) -> Result<()> {
        self.cancelled.check()
    }

    /// The value of a node as JSON, taken out of what may be copied.
    fn copy(&mut self, nodes: &impl Nodes, key: NodeKey) -> Result<String> {
        let mut out = Vec::new();
        self.write(nodes, key, &mut out)?;
        self.bytes_left -= out.len() as u64;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    fn write(&mut self, nodes: &impl Nodes, key: NodeKey, out: &mut Vec<u8>) -> Result<()> {
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or_else(|| self.exceeded())?;
        let node = nodes.expect(key)?;
        // Two bytes for what is around a value, or stands for a short one.
        self.room(out, node.text.len() + 2)?;
        match node.kind {
            Kind::Object | Kind::Array => {
                let is_object = node.kind == Kind::Object;
                out.push(if is_object { b'{' } else { b'[' });
                for (at, child) in nodes.children(key)?.enumerate() {
                    let child = child?;
                    if at > 0 {
                        out.push(b',');
                    }
                    if let Some(name) = nodes.expect(child)?.name {
                        self.room(out, name.len() + 4)?;
                        out.push(b'"');
                        out.extend_from_slice(name);
                        out.extend_from_slice(b"\":");
                    }
                    self.write(nodes, child, out)?;
                }
                out.push(if is_object { b'}' } else { b']' });
            }
            Kind::String => {
                out.push(b'"');
                out.extend_from_slice(node.text);
                out.push(b'"');
            }
            Kind::Number => out.extend_from_slice(node.text),
            literal => out.extend_from_slice(literal.literal().as_bytes()),
        }
        self.room(out, 0)
    }

    /// Fails if so many bytes are not left.
    fn room(&self, out: &[u8], more: usize) -> Result<()> {
        match (out.len() + more) as u64 <= self.bytes_left {
            true => Ok(()),
            false => Err(self.exceeded()),
        }
    }

    fn exceeded(&self) -> DocumentError {
        let Limits { body_bytes_max: bytes_max, body_nodes_max: nodes_max, .. } = *self.limits;
        DocumentError::Read(std::io::Error::other(CopiesTooLarge { bytes_max, nodes_max }))
    }
}

/// One step of a JSON Patch.
pub(crate) enum Op {
    Add(Pointer, String),
    Remove(Pointer),
    Replace(Pointer, String),
    Move { from: Pointer, to: Pointer },
    Copy { from: Pointer, to: Pointer },
    Test(Pointer, Tape),
}

/// A JSON pointer (RFC 6901).
pub(crate) struct Pointer {
    text: String,
    steps: Vec<String>,
}

impl Pointer {
    fn read(node: Node<'_>, name: &str) -> Result<Pointer, Problem> {
        let missing = || Problem::bad(format!("a step of the patch has no {name:?}"));
        let text = node.get(name).and_then(|node| node.as_str()).ok_or_else(missing)?.into_owned();
        let path = JsonPath::pointer(&text).map_err(Problem::bad)?;
        let steps = path.steps.into_iter().map(|step| match step {
            Step::Field(name) | Step::Either(name) => name,
            Step::Index(at) => at.to_string(),
        });
        Ok(Pointer { steps: steps.collect(), text })
    }

    /// Where it leads, in the document without `without`.
    fn find(&self, nodes: &impl Nodes, without: Option<NodeKey>) -> Result<Option<NodeKey>> {
        walk(nodes, &self.steps, without)
    }

    fn expect(&self, nodes: &impl Nodes) -> Result<NodeKey> {
        self.find(nodes, None)?.ok_or_else(|| DocumentError::NoNode(self.text.clone()))
    }
}

/// Reads the steps of a patch.
///
/// # Errors
/// 400 where it is none.
pub(crate) fn steps(patch: &Tape) -> Result<Vec<Op>, Problem> {
    if patch.root().kind() != Kind::Array {
        return Err(Problem::bad("a JSON Patch is an array of steps"));
    }
    patch.root().children().map(step).collect()
}

fn step(node: Node<'_>) -> Result<Op, Problem> {
    let op = node.get("op").and_then(|op| op.as_str()).unwrap_or_default();
    let path = Pointer::read(node, "path")?;
    let value = || {
        let missing = || Problem::bad("a step of the patch has no \"value\"");
        node.get("value").ok_or_else(missing)
    };
    Ok(match &*op {
        "add" => Op::Add(path, value()?.to_json()),
        "replace" => Op::Replace(path, value()?.to_json()),
        "test" => Op::Test(path, value()?.to_tape()),
        "remove" => Op::Remove(path),
        "move" => Op::Move { from: Pointer::read(node, "from")?, to: path },
        "copy" => Op::Copy { from: Pointer::read(node, "from")?, to: path },
        other => return Err(Problem::bad(format!("{other:?} is not an operation of JSON Patch"))),
    })
}

/// Applies a patch, step by step.
///
/// # Errors
/// Fails if a path leads nowhere, if a test fails, or if the copies exceed the limit.
pub(crate) fn apply(edit: &mut Edit<'_>, steps: &[Op], budget: &mut Budget<'_>) -> Result<()> {
    for step in steps {
        budget.check()?;
        match step {
            Op::Add(at, value) => add(edit, at, value)?,
            Op::Remove(at) => {
                let key = at.expect(edit.nodes())?;
                edit.remove(key)?;
            }
            Op::Replace(at, value) => {
                let key = at.expect(edit.nodes())?;
                edit.set(key, value)?;
            }
            Op::Move { from, to } => transfer(edit, from, to, budget)?,
            Op::Copy { from, to } => {
                let key = from.expect(edit.nodes())?;
                let value = budget.copy(edit.nodes(), key)?;
                add(edit, to, &value)?;
            }
            Op::Test(at, value) => {
                let key = at.expect(edit.nodes())?;
                if !equals(edit.nodes(), key, value.root())? {
                    let text = format!("the test of {:?} failed", at.text);
                    return Err(DocumentError::BadEdit(text));
                }
            }
        }
    }
    Ok(())
}

/// Where the last step of a pointer leads: into which container, and where in it.
enum Target<'p> {
    Root,
    Field(NodeKey, &'p str),
    Element(NodeKey, Option<usize>),
}

fn target<'p>(nodes: &impl Nodes, at: &'p Pointer, without: Option<NodeKey>) -> Result<Target<'p>> {
    let missing = || DocumentError::NoNode(at.text.clone());
    let Some((last, above)) = at.steps.split_last() else { return Ok(Target::Root) };
    let parent = walk(nodes, above, without)?.ok_or_else(missing)?;
    let node = nodes.expect(parent)?;
    match node.kind {
        Kind::Object => Ok(Target::Field(parent, last)),
        Kind::Array if last == "-" => Ok(Target::Element(parent, None)),
        Kind::Array => {
            let is_inside = match without {
                Some(key) => nodes.parent(key)? == Some(parent),
                None => false,
            };
            let count = node.count as usize - usize::from(is_inside);
            match index(last) {
                Some(at) if at < count => Ok(Target::Element(parent, Some(at))),
                Some(at) if at == count => Ok(Target::Element(parent, None)),
                _ => Err(missing()),
            }
        }
        _ => Err(missing()),
    }
}

fn add(edit: &mut Edit<'_>, at: &Pointer, value: &str) -> Result<()> {
    match target(edit.nodes(), at, None)? {
        Target::Root => {
            let root = edit.nodes().root();
            edit.set(root, value)?;
        }
        Target::Field(parent, name) => {
            let found = edit.nodes().child_named(parent, escape(name).as_bytes())?;
            match found {
                Some(field) => edit.set(field, value)?,
                None => edit.insert(parent, Place::Field(name), value)?,
            };
        }
        Target::Element(parent, None) => {
            edit.insert(parent, Place::LastChild, value)?;
        }
        Target::Element(parent, Some(at)) => {
            let before = child_at(edit.nodes(), parent, at, None)?;
            edit.insert(before, Place::Before, value)?;
        }
    }
    Ok(())
}

fn transfer(
    edit: &mut Edit<'_>,
    from: &Pointer,
    to: &Pointer,
    budget: &mut Budget<'_>,
) -> Result<()> {
    let key = from.expect(edit.nodes())?;
    if from.steps == to.steps {
        return Ok(());
    }
    if to.steps.starts_with(&from.steps) {
        return Err(DocumentError::BadEdit("nothing can be moved into itself".into()));
    }
    match target(edit.nodes(), to, Some(key))? {
        Target::Root => {
            // All else goes; what is moved becomes the document.
            let value = budget.copy(edit.nodes(), key)?;
            let root = edit.nodes().root();
            edit.set(root, value)?;
        }
        Target::Field(parent, name) => {
            let found = edit.nodes().child_named(parent, escape(name).as_bytes())?;
            match found {
                // The field that it replaces may hold it.
                Some(field) if is_below(edit.nodes(), key, field)? => {
                    let value = budget.copy(edit.nodes(), key)?;
                    edit.set(field, value)?;
                }
                Some(field) => {
                    edit.remove(field)?;
                    edit.move_to(key, parent, Place::Field(name))?;
                }
                None => edit.move_to(key, parent, Place::Field(name))?,
            }
        }
        Target::Element(parent, None) => edit.move_to(key, parent, Place::LastChild)?,
        Target::Element(parent, Some(at)) => {
            let before = child_at(edit.nodes(), parent, at, Some(key))?;
            edit.move_to(key, before, Place::Before)?;
        }
    }
    Ok(())
}

fn is_below(nodes: &impl Nodes, key: NodeKey, top: NodeKey) -> Result<bool> {
    let mut at = Some(key);
    while let Some(key) = at {
        if key == top {
            return Ok(true);
        }
        at = nodes.parent(key)?;
    }
    Ok(false)
}

/// A position in an array: digits without a leading zero.
fn index(text: &str) -> Option<usize> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = text == "0" || !text.starts_with('0');
    if is_plain && is_short { text.parse().ok() } else { None }
}

fn walk(nodes: &impl Nodes, steps: &[String], without: Option<NodeKey>) -> Result<Option<NodeKey>> {
    let mut key = nodes.root();
    for step in steps {
        let found = match nodes.expect(key)?.kind {
            Kind::Object => nodes.child_named(key, escape(step).as_bytes())?,
            Kind::Array => match index(step) {
                Some(at) => child_past(nodes, key, at, without)?,
                None => None,
            },
            _ => None,
        };
        match found.filter(|found| Some(*found) != without) {
            Some(found) => key = found,
            None => return Ok(None),
        }
    }
    Ok(Some(key))
}

/// The element at a position among those that are not `without`.
fn child_past(
    nodes: &impl Nodes,
    parent: NodeKey,
    at: usize,
    without: Option<NodeKey>,
) -> Result<Option<NodeKey>> {
    let at = match without {
        Some(key) if nodes.parent(key)? == Some(parent) && nodes.position(parent, key)? <= at => {
            at + 1
        }
        _ => at,
    };
    nodes.child_at(parent, at)
}

fn child_at(
    nodes: &impl Nodes,
    parent: NodeKey,
    at: usize,
    without: Option<NodeKey>,
) -> Result<NodeKey> {
    let found = child_past(nodes, parent, at, without)?;
    found.ok_or_else(|| DocumentError::NoNode(format!("at position {at}")))
}

/// True if a node has a value, as RFC 6902 compares: numbers by value, fields in any order.
fn equals(nodes: &impl Nodes, key: NodeKey, value: Node<'_>) -> Result<bool> {
    let node = nodes.expect(key)?;
    if node.kind != value.kind() {
        return Ok(false);
    }
    match node.kind {
        Kind::Number => Ok(node.text == value.text() || same_number(node.text, value.text())),
        Kind::String => Ok(node.text == value.text()),
        Kind::Array | Kind::Object => {
            if node.count as usize != value.count() {
                return Ok(false);
            }
            for (child, wanted) in nodes.children(key)?.zip(value.children()) {
                let child = match wanted.name() {
                    None => Some(child?),
                    Some(name) => nodes.child_named(key, name)?,
                };
                let Some(child) = child else { return Ok(false) };
                if !equals(nodes, child, wanted)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(true),
    }
}

/// True if two numbers have one value: exactly, as `jsonb` compares them.
fn same_number(a: &[u8], b: &[u8]) -> bool {
    let read = |text: &[u8]| json::jsonb::Jsonb::parse(&String::from_utf8_lossy(text)).ok();
    match (read(a), read(b)) {
        (Some(a), Some(b)) => a.root() == b.root(),
        _ => false,
    }
}

/// Applies a merge patch: fields of objects are merged, `null` removes one, all else is replaced.
pub(crate) fn merge(edit: &mut Edit<'_>, patch: &Tape, budget: &Budget<'_>) -> Result<()> {
    let root = edit.nodes().root();
    merge_into(edit, root, patch.root(), budget)
}

fn merge_into(
    edit: &mut Edit<'_>,
    key: NodeKey,
    patch: Node<'_>,
    budget: &Budget<'_>,
) -> Result<()> {
    if patch.kind() != Kind::Object {
        return edit.set(key, patch.to_json()).map(drop);
    }
    let key = match edit.nodes().expect(key)?.kind {
        Kind::Object => key,
        _ => edit.set(key, "{}")?,
    };
    for field in patch.children() {
        budget.check()?;
        let (name, escaped) = (field.field().unwrap_or_default(), field.name().unwrap_or_default());
        let found = edit.nodes().child_named(key, escaped)?;
        match (field.kind(), found) {
            (Kind::Null, Some(found)) => edit.remove(found)?,
            (Kind::Null, None) => {}
            (_, Some(found)) => merge_into(edit, found, field, budget)?,
            (Kind::Object, None) => {
                let made = edit.insert(key, Place::Field(&name), "{}")?;
                merge_into(edit, made, field, budget)?;
            }
            (_, None) => drop(edit.insert(key, Place::Field(&name), field.to_json())?),
        }
    }
    Ok(())
}
