//! A part of a document as text, as asked for, with what is known of each node beside its value.
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

use crate::cursor::{Cursor, Seen};
use crate::error::{Damaged, DocumentError};
use crate::tree::{DEPTH_MAX, Nodes, Tree};
use crate::{NodeKey, Result};
use json::Kind;

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
    fn start(&mut self, key: NodeKey, node: &Seen<'a>, wrapped: bool) -> Result<()> {
        if !wrapped {
            return self.node(key, node, 1);
        }
        self.out.push(b'{');
        self.member(node, 1, key)?;
        self.out.push(b'}');
        Ok(())
    }

    /// Writes a node that stands on a level: its value, or its description.
    fn node(&mut self, key: NodeKey, node: &Seen<'a>, level: u32) -> Result<()> {
        self.budget = self.budget.saturating_sub(1);
        self.patience = self.patience.checked_sub(1).ok_or_else(too_many)?;
        match self.options.metadata {
            Metadata::None => self.value(key, node, level),
            _ => self.described(key, node, level),
        }
    }

    /// Writes a node with its name, where it has one.
    fn member(&mut self, node: &Seen<'a>, level: u32, key: NodeKey) -> Result<()> {
        if let Some(name) = node.name {
            self.out.push(b'"');
            name.put(&mut self.out);
            self.out.extend_from_slice(b"\":");
        }
        self.node(key, node, level)
    }

    fn value(&mut self, key: NodeKey, node: &Seen<'a>, level: u32) -> Result<()> {
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
        node: &Seen<'a>,
        level: u32,
        write: fn(&mut Self, NodeKey, &Seen<'a>, u32) -> Result<()>,
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
    fn described(&mut self, key: NodeKey, node: &Seen<'a>, level: u32) -> Result<()> {
        match node.name.filter(|_| level > 1) {
            Some(name) => {
                self.out.extend_from_slice(b"{\"key\":\"");
                name.put(&mut self.out);
                self.out.extend_from_slice(b"\",\"metadata\":{\"nodeKey\":");
            }
            None => self.out.extend_from_slice(b"{\"metadata\":{\"nodeKey\":"),
        }
        put_number(key.0, &mut self.out);
        self.metadata(key, node)?;
        self.out.extend_from_slice(b"},\"value\":");
        self.described_value(key, node, level)?;
        self.out.push(b'}');
        Ok(())
    }

    fn described_value(&mut self, key: NodeKey, node: &Seen<'a>, level: u32) -> Result<()> {
        if !node.kind.is_container() {
            node.write(&mut self.out);
            return Ok(());
        }
        // A container's members are written as a list of descriptions; an empty one as itself.
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

    /// What is said of a node beside its key.
    fn metadata(&mut self, key: NodeKey, node: &Seen<'_>) -> Result<()> {
        let is_container = node.kind.is_container();
        if self.options.metadata == Metadata::All {
            let hash = crate::hash::subtree(self.nodes, key)?;
            let name = type_name(node.kind, node.name.is_some());
            let text = format!(",\"hash\":\"{hash:016x}\",\"type\":\"{name}\"");
            self.out.extend_from_slice(text.as_bytes());
            if is_container {
                self.out.extend_from_slice(b",\"descendantCount\":");
                put_number(self.nodes.subtree(key)?.len() as u64 - 1, &mut self.out);
            }
        }
        if is_container && self.options.metadata != Metadata::NodeKey {
            self.out.extend_from_slice(b",\"childCount\":");
            put_number(node.count.into(), &mut self.out);
        }
        Ok(())
    }
}

/// Appends a number.
fn put_number(value: u64, out: &mut Vec<u8>) {
    let (above, low) = (value / 10_000, (value % 10_000) as u32);
    let digits = four_digits(low);
    if above > 0 {
        put_number(above, out);
        out.extend_from_slice(&digits.to_le_bytes());
        return;
    }
    // What comes next waits for the count, which therefore does not wait for the digits.
    let count = 1 + usize::from(low > 9) + usize::from(low > 99) + usize::from(low > 999);
    let end = out.len() + count;
    out.extend_from_slice(&(digits >> (32 - 8 * count)).to_le_bytes());
    out.truncate(end);
}

/// The four digits of a number below 10,000, leading zeros included, the first in the lowest byte.
fn four_digits(number: u32) -> u32 {
    // Two numbers of two digits become four of one, each in lanes of a word; the multiplications divide by
    // 100 and by 10, exactly so for numbers that small.
    let hundreds = (number * 10_486) >> 20;
    let twos = hundreds | (number - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f;
    (tens | (twos - 10 * tens) << 8) | 0x3030_3030
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of one digit to twenty are written as ever.
    #[test]
    fn numbers() {
        let large = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, u64::MAX >> bit]);
        let powers = (0..20).flat_map(|power| [10u64.pow(power) - 1, 10u64.pow(power)]);
        for number in (0..20_000).chain(large).chain(powers) {
            let mut out = b"n".to_vec();
            put_number(number, &mut out);
            assert_eq!(String::from_utf8(out), Ok(format!("n{number}")));
        }
    }
}
