//! A document as text: all of it, fast; or a part of it, as asked for.
//!
//! Whole documents are written by one pass over the node keys, chunk by chunk. A chunk's heap holds
//! the fragments of its nodes in order, commas included, so runs of nodes are copied at once; the
//! pass only watches for the places where a bracket closes, a first child drops its comma, a value
//! was changed since the stored image, or a placed node stands.
//!
//! ```text
//!   heap    ,{ ,"a":[ ,1 ,2 ,"b":3          keys 1..5
//!   out      {  "a":[  1 ,2 ] ,"b":3 }
//! ```
//!
//! Parts ([`Options`]) are written by walking from child to child, which steps over what is left out.

use crate::chunk::{Node, prefix_len, put_value};
use crate::error::{Damaged, DocumentError};
use crate::order::Label;
use crate::tree::{DEPTH_MAX, Near, Nodes, Tree};
use crate::{NodeKey, Result};
use json::Kind;
use std::io::Write;

impl Tree {
    /// Appends the document as compact JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        self.write_subtree(self.root(), out)
    }

    /// Appends the value of a node, with all that is below it, as compact JSON.
    pub fn write_subtree(&self, top: NodeKey, out: &mut Vec<u8>) -> Result<()> {
        self.write_to(top, out, None)
    }

    /// Gives the document as compact JSON to `sink`, piece by piece; chunks that are not here yet are
    /// not kept.
    pub(crate) fn write_pieces(&self, sink: Sink<'_>) -> Result<()> {
        let mut out = Vec::with_capacity(PIECE_BYTES * 2);
        self.write_to(self.root(), &mut out, Some(&mut *sink))?;
        sink(&mut out).map_err(DocumentError::Read)
    }

    fn write_to(&self, top: NodeKey, out: &mut Vec<u8>, sink: Option<Sink<'_>>) -> Result<()> {
        self.expect(top)?;
        let placed = if self.header().placed > 0 { Some(&self.placed()?[..]) } else { None };
        Writer { tree: self, placed, depth: 0, sink }.run(top, false, out)
    }
}

/// What takes a document in pieces.
type Sink<'s> = &'s mut dyn FnMut(&mut Vec<u8>) -> std::io::Result<()>;

/// A piece is given on once it has so many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// An open container during the pass.
struct Open<'a> {
    key: u64,
    close: u8,
    first: bool,
    /// Placed children that have not been written yet.
    placed: &'a [(NodeKey, Label, NodeKey)],
}

struct Writer<'a, 's> {
    tree: &'a Tree,
    placed: Option<&'a [(NodeKey, Label, NodeKey)]>,
    depth: usize,
    /// Where pieces go; without it all is gathered.
    sink: Option<Sink<'s>>,
}

impl<'a> Writer<'a, '_> {
    /// The placed children of `key`.
    fn placed_below(&self, key: u64) -> &'a [(NodeKey, Label, NodeKey)] {
        let Some(placed) = self.placed else { return &[] };
        let from = placed.partition_point(|(p, ..)| p.0 < key);
        let len = placed[from..].partition_point(|(p, ..)| p.0 == key);
        &placed[from..from + len]
    }

    fn open(&self, key: u64, kind: Kind) -> Open<'a> {
        let close = if kind == Kind::Object { b'}' } else { b']' };
        Open { key, close, first: true, placed: self.placed_below(key) }
    }

    /// Writes the placed children of `top` whose label is below `before`, or all that are left.
    fn write_placed(
        &mut self,
        top: &mut Open<'a>,
        before: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        while let Some(((_, label, key), rest)) = top.placed.split_first() {
            if before.is_some_and(|key| *label >= Label::of_key(NodeKey(key))) {
                break;
            }
            if !std::mem::take(&mut top.first) {
                out.push(b',');
            }
            top.placed = rest;
            self.run(*key, true, out)?;
        }
        Ok(())
    }

    fn close(&mut self, mut open: Open<'a>, out: &mut Vec<u8>) -> Result<()> {
        self.write_placed(&mut open, None, out)?;
        out.push(open.close);
        Ok(())
    }

    /// Writes `top` and what stands below it: with its name where `named`, never with its comma.
    fn run(&mut self, top: NodeKey, named: bool, out: &mut Vec<u8>) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Damaged::new("a node that is its own ancestor").into());
        }
        let extent = self.tree.look(top)?.ok_or_else(|| DocumentError::no_node(top))?.extent;
        let end = top.0 + (extent as u64).max(1);
        let mut stack: Vec<Open<'a>> = Vec::with_capacity(8);
        let mut key = top.0;
        while key < end {
            key = self.chunk(top, named, key, end, &mut stack, out)?;
            if out.len() >= PIECE_BYTES
                && let Some(sink) = &mut self.sink
            {
                sink(out).map_err(DocumentError::Read)?;
            }
        }
        while let Some(open) = stack.pop() {
            self.close(open, out)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Writes the part of a run that lies in one chunk; returns the key to go on from.
    fn chunk(
        &mut self,
        top: NodeKey,
        named: bool,
        from: u64,
        end: u64,
        stack: &mut Vec<Open<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<u64> {
        let chunk_end = (from | 0xff) + 1;
        let number = NodeKey(from).chunk();
        let passing;
        let chunk = match self.sink {
            Some(_) => {
                passing = self.tree.chunk_in_passing(number)?;
                passing.as_ref()
            }
            None => self.tree.chunk(number)?,
        };
        let Some(chunk) = chunk else { return Ok(chunk_end) };
        let image = chunk.image();
        let (ups, frags) = (image.ups(), image.frags());
        let base = from & !0xff;
        let slots = (image.kinds.len() as u64).min(end - base) as usize;
        let mut patches =
            chunk.patches().iter().skip_while(|p| (p.slot as u64) < from - base).peekable();
        let mut slot = (from - base) as usize;
        if slot >= slots {
            return Ok(chunk_end);
        }
        let mut at = image.frag_start(slot);
        out.reserve(image.heap.len() - at + 64);
        // Fragments from `pending` to `at` wait to be copied.
        let mut pending = at;
        while slot < slots {
            let Some(kind) = Kind::from_u8(image.kinds[slot]) else {
                slot += 1;
                continue;
            };
            let (up, len) = (ups[slot], frags[slot] as usize);
            let key = base + slot as u64;
            if key == top.0 {
                pending = at + if named { 1 } else { prefix_len(image.name_len(slot)) };
            } else if up == 0 {
                // Placed elsewhere, with all that was created below it.
                out.extend_from_slice(&image.heap[pending..at]);
                let next = key + image.extent(slot).max(1) as u64;
                if next - base >= slots as u64 {
                    return Ok(next.max(chunk_end));
                }
                let next = (next - base) as usize;
                at += image.frags_len(slot..next);
                pending = at;
                slot = next;
                while patches.next_if(|p| (p.slot as usize) < slot).is_some() {}
                continue;
            } else {
                let parent = key - up as u64;
                let mut open =
                    stack.last_mut().ok_or(Damaged::new("a node outside of its parent"))?;
                if open.key != parent {
                    out.extend_from_slice(&image.heap[pending..at]);
                    pending = at;
                    while open.key != parent {
                        let done = stack.pop().expect("there is a last");
                        self.close(done, out)?;
                        open =
                            stack.last_mut().ok_or(Damaged::new("a node outside of its parent"))?;
                    }
                }
                if !open.placed.is_empty() {
                    out.extend_from_slice(&image.heap[pending..at]);
                    pending = at;
                    let mut parent = stack.pop().expect("there is a last");
                    self.write_placed(&mut parent, Some(key), out)?;
                    stack.push(parent);
                    open = stack.last_mut().expect("pushed");
                }
                if std::mem::take(&mut open.first) {
                    out.extend_from_slice(&image.heap[pending..at]);
                    pending = at + 1;
                }
            }
            if let Some(patch) = patches.next_if(|p| p.slot as usize == slot) {
                let prefix_end = at + prefix_len(image.name_len(slot));
                out.extend_from_slice(&image.heap[pending..prefix_end]);
                put_value(out, patch.kind, chunk.patch_text(patch));
                pending = at + len;
            } else if kind.is_container() {
                stack.push(self.open(key, kind));
            }
            at += len;
            slot += 1;
            if !kind.is_container() && stack.last().is_some_and(|open| open.placed.is_empty()) {
                // Scalars that follow as siblings come along: there is nothing to watch for.
                let stop = patches.peek().map_or(slots, |p| slots.min(p.slot as usize));
                let run = slot..stop.max(slot);
                let columns = image.kinds[run.clone()].iter().zip(&ups[run.clone()]);
                let columns = columns.zip(&frags[run]);
                for (sibling_up, ((kind, up), len)) in (up + 1..).zip(columns) {
                    if !(1..=5).contains(kind) || *up != sibling_up {
                        break;
                    }
                    at += *len as usize;
                    slot += 1;
                }
            }
        }
        out.extend_from_slice(&image.heap[pending..at]);
        Ok(chunk_end)
    }
}

/// What of a document is written, and how.
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
    /// What is said of each node beside its value.
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

/// What is said of each node beside its value.
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
    let top = options.start.unwrap_or_else(|| nodes.root());
    let node = nodes.expect(top)?;
    let wrapped =
        options.start.is_some() && node.name.is_some() && options.metadata == Metadata::None;
    if options.is_plain() && !options.pretty && !wrapped {
        let is_long = |max| node.kind.is_container() && nodes.header().nodes > max;
        if options.nodes_max.is_some_and(is_long) {
            return Err(too_many());
        }
        return nodes.write_subtree(top, out);
    }
    // The document itself counts as one of the nodes.
    let budget = options.number_of_nodes.map_or(u64::MAX, |n| n.saturating_sub(1));
    let patience = options.nodes_max.unwrap_or(u64::MAX);
    let near = Near::default();
    let mut part = Part { nodes, options, budget, patience, near, out, indent: 0 };
    match wrapped {
        true => {
            part.begin(b'{');
            part.member(true, |part| {
                part.name(node.name.unwrap_or_default());
                part.value(top, 1)
            })?;
            part.end(b'}', false);
            Ok(())
        }
        false => part.value(top, 1),
    }
}

fn too_many() -> DocumentError {
    DocumentError::TooLarge("the nodes that were to be written at once")
}

struct Part<'a> {
    nodes: &'a Tree,
    options: &'a Options,
    budget: u64,
    /// Nodes until it gives up.
    patience: u64,
    near: Near,
    out: &'a mut Vec<u8>,
    indent: usize,
}

impl<'a> Part<'a> {
    fn expect(&mut self, key: NodeKey) -> Result<Node<'a>> {
        let nodes: &'a Tree = self.nodes;
        nodes.node_near(key, &mut self.near)?.ok_or_else(|| DocumentError::no_node(key))
    }

    fn line(&mut self) {
        if self.options.pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * self.indent, b' ');
        }
    }

    fn begin(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.indent += 1;
    }

    fn end(&mut self, bracket: u8, empty: bool) {
        self.indent -= 1;
        if !empty {
            self.line();
        }
        self.out.push(bracket);
    }

    fn member(&mut self, first: bool, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if !first {
            self.out.push(b',');
        }
        self.line();
        write(self)
    }

    fn name(&mut self, name: &[u8]) {
        self.out.push(b'"');
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(if self.options.pretty { b"\": " } else { b"\":" });
    }

    fn value(&mut self, key: NodeKey, level: u32) -> Result<()> {
        let node = self.expect(key)?;
        self.node(key, &node, level)
    }

    fn node(&mut self, key: NodeKey, node: &Node<'_>, level: u32) -> Result<()> {
        self.budget = self.budget.saturating_sub(1);
        self.patience = self.patience.checked_sub(1).ok_or_else(too_many)?;
        if self.options.metadata != Metadata::None {
            return self.described(key, node, level);
        }
        put_value(self.out, node.kind, node.text);
        if !node.kind.is_container() {
            return Ok(());
        }
        self.out.pop();
        self.begin(if node.kind == Kind::Object { b'{' } else { b'[' });
        let count = self.children(key, level, |part, child, level| {
            let node = part.expect(child)?;
            if let Some(name) = node.name {
                part.name(name);
            }
            part.node(child, &node, level + 1)
        })?;
        self.end(if node.kind == Kind::Object { b'}' } else { b']' }, count == 0);
        Ok(())
    }

    /// Writes the children that the limits let through; returns how many.
    fn children(
        &mut self,
        key: NodeKey,
        level: u32,
        mut write: impl FnMut(&mut Self, NodeKey, u32) -> Result<()>,
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
        let children = match options.after.filter(|_| is_start) {
            Some(after) => nodes.children_after(key, after)?,
            None => nodes.children(key)?,
        };
        let mut count = 0;
        for child in children {
            if self.budget == 0 || count >= max {
                break;
            }
            let child = child?;
            self.member(count == 0, |part| write(part, child, level))?;
            count += 1;
        }
        Ok(count)
    }

    /// `{"metadata":{...},"value":...}`, with the field's name before them where it has one.
    fn described(&mut self, key: NodeKey, node: &Node<'_>, level: u32) -> Result<()> {
        self.begin(b'{');
        let name = node.name.filter(|_| level > 1);
        if let Some(name) = name {
            self.member(true, |part| {
                part.name(b"key");
                put_value(part.out, Kind::String, name);
                Ok(())
            })?;
        }
        self.member(name.is_none(), |part| {
            part.name(b"metadata");
            part.metadata(key, node)
        })?;
        self.member(false, |part| {
            part.name(b"value");
            part.described_value(key, node, level)
        })?;
        self.end(b'}', false);
        Ok(())
    }

    fn described_value(&mut self, key: NodeKey, node: &Node<'_>, level: u32) -> Result<()> {
        if !node.kind.is_container() {
            put_value(self.out, node.kind, node.text);
            return Ok(());
        }
        // A container's members are written as a list of descriptions; an empty one as itself.
        let start = self.out.len();
        self.begin(b'[');
        let count = self.children(key, level, |part, child, level| part.value(child, level + 1))?;
        self.end(b']', count == 0);
        if count == 0 && node.kind == Kind::Object {
            self.out.truncate(start);
            self.out.extend_from_slice(b"{}");
        }
        Ok(())
    }

    fn metadata(&mut self, key: NodeKey, node: &Node<'_>) -> Result<()> {
        let container = node.kind.is_container();
        self.begin(b'{');
        self.fact(true, b"nodeKey", format_args!("{}", key.0));
        if self.options.metadata == Metadata::All {
            let hash = crate::hash::subtree(self.nodes, key)?;
            self.fact(false, b"hash", format_args!("\"{hash:016x}\""));
            let name = type_name(node.kind, node.name.is_some());
            self.fact(false, b"type", format_args!("\"{name}\""));
            if container {
                let below = self.nodes.subtree(key)?.len() - 1;
                self.fact(false, b"descendantCount", format_args!("{below}"));
            }
        }
        if container && self.options.metadata != Metadata::NodeKey {
            self.fact(false, b"childCount", format_args!("{}", node.count));
        }
        self.end(b'}', false);
        Ok(())
    }

    /// Writes a member of a node's metadata.
    fn fact(&mut self, first: bool, name: &[u8], value: std::fmt::Arguments<'_>) {
        if !first {
            self.out.push(b',');
        }
        self.line();
        self.name(name);
        self.out.write_fmt(value).expect("a vector takes everything");
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
