//! A part of a document as text, as asked for, with the metadata of each node.
//!
//! ```text
//!   {"users":[{"age":42},...]}     maxLevel=3, nodeKeyAndChildCount
//!   {"metadata":{"nodeKey":1,"childCount":1},"value":[
//!     {"key":"users","metadata":{"nodeKey":2,"childCount":9000},"value":[
//!       {"metadata":{"nodeKey":3,"childCount":1},"value":[...]},...]}]}
//! ```
//!
//! It is written by walking from child to child, which steps over what is left out. Programs that page
//! through large documents ask for little else, so a node must not cost much more than its text: the walk
//! keeps the columns of the chunk that it is in and its place in the heap ([`Cursor`]), looks at a node
//! once, and copies scalars as they stand in the heap. It always writes compact text; line breaks are put
//! in afterwards, for people, who read less of it.

use crate::cursor::{Cursor, NodeView};
use crate::error::{Damaged, DocumentError};
use crate::limits::DEPTH_MAX;
use crate::line::{Line, Text};
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use json::Kind;

/// The part of a document to write, and its format.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Only this node; a field is wrapped into an object of its own.
    pub start: Option<NodeKey>,
    /// Levels below which containers are written empty; the start is level 1.
    pub max_level: Option<u32>,
    /// Children of each container that are written.
    pub max_children: Option<u32>,
    /// Children of the start that are written, each with all below it. With `after`, pages of a large
    /// document.
    pub next_top_level_nodes: Option<u32>,
    /// Only children of the start that come after this one.
    pub after: Option<NodeKey>,
    /// Nodes that are written in all, the document itself counted as one.
    pub number_of_nodes: Option<u64>,
    /// The metadata of each node, other than its value.
    pub metadata: Metadata,
    /// Line breaks and two spaces of indentation.
    pub pretty: bool,
    /// Give up with [`DocumentError::TooLarge`] where more nodes than this are to be written: for a
    /// thread that must not be held up.
    pub nodes_max: Option<u64>,
}

impl Options {
    fn is_plain(&self) -> bool {
        self.max_level.is_none()
            && self.max_children.is_none()
            && self.next_top_level_nodes.is_none()
            && self.after.is_none()
            && self.number_of_nodes.is_none()
            && self.metadata == Metadata::None
    }
}

/// The metadata of each node, other than its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metadata {
    /// Nothing: plain JSON.
    #[default]
    None,
    /// Its key.
    NodeKey,
    /// Its key and, for containers, how many children it has.
    NodeKeyAndChildCount,
    /// Key, hash, type, number of descendants and children.
    All,
}

/// Appends the part of the document that `options` ask for.
pub fn write_part(nodes: &Tree, options: &Options, out: &mut Vec<u8>) -> Result<()> {
    if options.pretty {
        let mut compact = Vec::new();
        write_part(nodes, &Options { pretty: false, ..options.clone() }, &mut compact)?;
        indent(&compact, out);
        return Ok(());
    }
    let top = options.start.unwrap_or_else(|| nodes.root());
    let mut cursor = Cursor::new(nodes);
    let node = cursor.look(top)?.ok_or_else(|| DocumentError::no_node(top))?;
    let wrapped =
        options.start.is_some() && node.name.is_some() && options.metadata == Metadata::None;
    if options.is_plain() && !wrapped {
        let is_long = |max| node.kind.is_container() && nodes.header().nodes > max;
        if options.nodes_max.is_some_and(is_long) {
            return Err(too_many());
        }
        return nodes.write_subtree(top, out);
    }
    // The document itself counts as one of the nodes.
    let budget = options.number_of_nodes.map_or(u64::MAX, |n| n.saturating_sub(1));
    let patience = options.nodes_max.unwrap_or(u64::MAX);
    let mut part = Part { nodes, options, budget, patience, cursor, out: std::mem::take(out) };
    let done = part.start(top, &node, wrapped);
    *out = part.out;
    done
}

fn too_many() -> DocumentError {
    DocumentError::TooLarge("the nodes that were to be written at once")
}

/// Appends compact JSON over several lines, each indented by two spaces a level.
fn indent(json: &[u8], out: &mut Vec<u8>) {
    fn line(depth: usize, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    }
    let mut depth = 0;
    let mut is_text = false;
    let mut bytes = json.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_text = !is_text,
            b'\\' => {
                out.push(byte);
                out.extend(bytes.next());
                continue;
            }
            _ if is_text => {}
            b'{' | b'[' => {
                out.push(byte);
                match bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        line(depth, out);
                    }
                }
                continue;
            }
            b'}' | b']' => {
                depth -= 1;
                line(depth, out);
            }
            _ => {}
        }
        out.push(byte);
        match byte {
            b',' if !is_text => line(depth, out),
            b':' if !is_text => out.push(b' '),
            _ => {}
        }
    }
}

struct Part<'a> {
    nodes: &'a Tree,
    options: &'a Options,
    budget: u64,
    /// Nodes until it gives up.
    patience: u64,
    cursor: Cursor<'a>,
    /// Owned: of a borrowed one the compiler would read the length again after each byte that is written.
    out: Vec<u8>,
}

impl<'a> Part<'a> {
    /// Writes the node that all begins with.
    fn start(&mut self, key: NodeKey, node: &NodeView<'a>, wrapped: bool) -> Result<()> {
        if !wrapped {
            return self.node(key, node, 1);
        }
        self.out.push(b'{');
        self.member(node, 1, key)?;
        self.out.push(b'}');
        Ok(())
    }

    /// Writes a node that stands on a level: its value, or its description.
    fn node(&mut self, key: NodeKey, node: &NodeView<'a>, level: u32) -> Result<()> {
        self.budget = self.budget.saturating_sub(1);
        self.patience = self.patience.checked_sub(1).ok_or_else(too_many)?;
        match self.options.metadata {
            Metadata::None => self.value(key, node, level),
            _ => self.described(key, node, level),
        }
    }

    /// Writes a node with its name, where it has one.
    fn member(&mut self, node: &NodeView<'a>, level: u32, key: NodeKey) -> Result<()> {
        if let Some(name) = node.name {
            self.out.push(b'"');
            name.put(&mut self.out);
            self.out.extend_from_slice(b"\":");
        }
        self.node(key, node, level)
    }

    fn value(&mut self, key: NodeKey, node: &NodeView<'a>, level: u32) -> Result<()> {
        if !node.kind.is_container() {
            node.write(&mut self.out);
            return Ok(());
        }
        let (open, close) = if node.kind == Kind::Object { (b'{', b'}') } else { (b'[', b']') };
        self.out.push(open);
        self.children(key, node, level, |part, child, node, level| {
            part.member(node, level, child)
        })?;
        self.out.push(close);
        Ok(())
    }

    /// Writes the children that the limits let through, with commas between them; returns how many.
    fn children(
        &mut self,
        key: NodeKey,
        node: &NodeView<'a>,
        level: u32,
        write: fn(&mut Self, NodeKey, &NodeView<'a>, u32) -> Result<()>,
    ) -> Result<u32> {
        if level as usize > DEPTH_MAX {
            return Err(Damaged::new("a node that is its own ancestor").into());
        }
        if self.options.max_level.is_some_and(|max| level >= max) {
            return Ok(0);
        }
        let (nodes, options) = (self.nodes, self.options);
        let is_start = level == 1;
        let max = [options.max_children, options.next_top_level_nodes.filter(|_| is_start)];
        let max = max.into_iter().flatten().min().unwrap_or(u32::MAX);
        let after = options.after.filter(|_| is_start);
        let mut count = 0;
        if after.is_none() && nodes.header().placed == 0 {
            let mut keys = key.0 + 1..key.0 + (node.extent as u64).max(1);
            while self.budget > 0 && count < max {
                let Some((child, node)) = self.cursor.next_child(key, &mut keys)? else { break };
                if count > 0 {
                    self.out.push(b',');
                }
                write(self, child, &node, level + 1)?;
                count += 1;
            }
            return Ok(count);
        }
        let children = match after {
            Some(after) => nodes.children_after(key, after)?,
            None => nodes.children(key)?,
        };
        for child in children {
            if self.budget == 0 || count >= max {
                break;
            }
            let child = child?;
            let node = self.cursor.look(child)?.ok_or_else(|| DocumentError::no_node(child))?;
            if count > 0 {
                self.out.push(b',');
            }
            write(self, child, &node, level + 1)?;
            count += 1;
        }
        Ok(count)
    }

    /// `{"metadata":{...},"value":...}`, with the field's name before them where it has one.
    fn described(&mut self, key: NodeKey, node: &NodeView<'a>, level: u32) -> Result<()> {
        let (name, is_container) = (node.name.filter(|_| level > 1), node.kind.is_container());
        let short_name = name.and_then(Text::short);
        if let (Some(name), None) = (name, short_name) {
            self.out.extend_from_slice(b"{\"key\":\"");
            name.put(&mut self.out);
        }
        let mut line = Line::begin(&mut self.out);
        if let Some(name) = short_name {
            line.put(b"{\"key\":\"");
            line.text(name);
        }
        match name {
            Some(_) => line.put(b"\",\"metadata\":{\"nodeKey\":"),
            None => line.put(b"{\"metadata\":{\"nodeKey\":"),
        }
        line.number(key.0);
        if self.options.metadata == Metadata::All {
            line.end();
            self.all(key, node)?;
            line = Line::begin(&mut self.out);
        }
        if is_container && self.options.metadata != Metadata::NodeKey {
            line.put(b",\"childCount\":");
            line.number(node.count.into());
        }
        line.put(b"},\"value\":");
        if let Some(text) = node.short() {
            line.text(text);
            line.put(b"}");
            line.end();
            return Ok(());
        }
        line.end();
        if is_container {
            self.described_children(key, node, level)?;
        } else {
            node.write(&mut self.out);
        }
        self.out.push(b'}');
        Ok(())
    }

    /// The members of a container as a list of descriptions; an empty one as itself.
    fn described_children(&mut self, key: NodeKey, node: &NodeView<'a>, level: u32) -> Result<()> {
        let start = self.out.len();
        self.out.push(b'[');
        let count = self.children(key, node, level, Self::node)?;
        self.out.push(b']');
        if count == 0 && node.kind == Kind::Object {
            self.out.truncate(start);
            self.out.extend_from_slice(b"{}");
        }
        Ok(())
    }

    /// Writes the metadata of a node that only [`Metadata::All`] has.
    fn all(&mut self, key: NodeKey, node: &NodeView<'_>) -> Result<()> {
        let hash = crate::hash::subtree(self.nodes, key)?;
        let name = type_name(node.kind, node.name.is_some());
        let text = format!(",\"hash\":\"{hash:016x}\",\"type\":\"{name}\"");
        self.out.extend_from_slice(text.as_bytes());
        if node.kind.is_container() {
            let below = self.nodes.subtree(key)?.len() - 1;
            self.out.extend_from_slice(format!(",\"descendantCount\":{below}").as_bytes());
        }
        Ok(())
    }
}

/// The name of a node's type as versioned JSON stores give it: a field is one node with its value.
pub fn type_name(kind: Kind, named: bool) -> &'static str {
    match (kind, named) {
        (Kind::Object, false) => "OBJECT",
        (Kind::Array, false) => "ARRAY",
        (Kind::String, false) => "STRING_VALUE",
        (Kind::Number, false) => "NUMBER_VALUE",
        (Kind::Null, false) => "NULL_VALUE",
        (Kind::True | Kind::False, false) => "BOOLEAN_VALUE",
        (Kind::Object, true) => "OBJECT_NAMED_OBJECT",
        (Kind::Array, true) => "OBJECT_NAMED_ARRAY",
        (Kind::String, true) => "OBJECT_NAMED_STRING",
        (Kind::Number, true) => "OBJECT_NAMED_NUMBER",
        (Kind::Null, true) => "OBJECT_NAMED_NULL",
        (Kind::True | Kind::False, true) => "OBJECT_NAMED_BOOLEAN",
    }
}
