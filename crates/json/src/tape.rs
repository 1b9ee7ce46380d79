//! The tape itself: columns, and [`Node`], a view of one value in them.
//!
//! The columns say how long things are, never where they are, so that a tape can be cut, joined
//! and stored without rewriting numbers. A [`Node`] therefore carries the position of its text;
//! stepping from child to child adds up the lengths that lie between.
//!
//! # Invariants (checked by [`Tape::check`])
//! * All columns have one entry for each node; there is at least one node, and node 0 is the root,
//!   with `ups` 0, no name and an extent of the whole tape.
//! * The children of a container lie one after the other behind it and fill its extent exactly.
//! * Children of objects have names, no two the same; all other nodes have none.
//! * The text lengths add up to the length of the heap, and the heap is canonical.

use std::borrow::Cow;

use crate::build::TapeBuilder;
use crate::error::JsonError;
use crate::parse::{Limits, parse_slice};
use crate::text;

/// The length that says "no name" in [`Tape::name_lens`].
pub const NO_NAME: u32 = u32::MAX;

/// The kind of a value.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// `null`
    Null = 1,
    /// `false`
    False = 2,
    /// `true`
    True = 3,
    /// A number, kept digit for digit.
    Number = 4,
    /// A string.
    String = 5,
    /// An array.
    Array = 6,
    /// An object.
    Object = 7,
}

impl Kind {
    /// The kind stored as `byte`, if there is one.
    pub fn from_u8(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::Null,
            2 => Kind::False,
            3 => Kind::True,
            4 => Kind::Number,
            5 => Kind::String,
            6 => Kind::Array,
            7 => Kind::Object,
            _ => return None,
        })
    }

    /// True for arrays and objects.
    #[inline]
    pub fn is_container(self) -> bool {
        self >= Kind::Array
    }

    /// The text of a literal; empty for the other kinds.
    pub fn literal(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::False => "false",
            Kind::True => "true",
            _ => "",
        }
    }
}

/// A JSON document as preorder columns (see the crate's first page for a picture).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tape {
    /// The kind of each node.
    pub kinds: Vec<Kind>,
    /// How many nodes back the parent stands; 0 for the root.
    pub ups: Vec<u32>,
    /// Nodes in the subtree, the node itself included.
    pub extents: Vec<u32>,
    /// Children.
    pub counts: Vec<u32>,
    /// Bytes of the name; [`NO_NAME`] where there is none.
    pub name_lens: Vec<u32>,
    /// Bytes of the name and the value text together.
    pub text_lens: Vec<u32>,
    /// For each node in order: the text of the name, then the text of the value.
    pub heap: Vec<u8>,
}

/// The fault that [`Tape::check`] found; the columns cannot come from the builder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("node {node} of the tape: {what}")]
pub struct TapeFault {
    /// The node at fault.
    pub node: usize,
    /// The invariant it breaks.
    pub what: &'static str,
}

impl Default for Tape {
    /// The document `null`.
    fn default() -> Tape {
        Tape {
            kinds: vec![Kind::Null],
            ups: vec![0],
            extents: vec![1],
            counts: vec![0],
            name_lens: vec![NO_NAME],
            text_lens: vec![0],
            heap: Vec::new(),
        }
    }
}

impl Tape {
    /// Parses one JSON text within the default [`Limits`].
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Tape, JsonError> {
        Tape::parse_with(text, &Limits::default())
    }

    /// Parses one JSON text within `limits`.
    pub fn parse_with(text: impl AsRef<[u8]>, limits: &Limits) -> Result<Tape, JsonError> {
        let text = text.as_ref();
        let mut builder = TapeBuilder::for_text_of(text.len());
        parse_slice(text, limits, &mut builder)?;
        Ok(builder.finish())
    }

    /// Parses a stream in bounded windows, within the default [`Limits`].
    pub fn read(reader: impl std::io::Read) -> Result<Tape, JsonError> {
        Tape::read_with(reader, &Limits::default())
    }

    /// Parses a stream in bounded windows, within `limits`.
    pub fn read_with(reader: impl std::io::Read, limits: &Limits) -> Result<Tape, JsonError> {
        let mut builder = TapeBuilder::new();
        crate::parse::Parser::new(reader).limits(*limits).parse_into(&mut builder)?;
        Ok(builder.finish())
    }

    /// A tape to add nodes to: it is no document before it has its first.
    pub fn with_no_nodes() -> Tape {
        Tape {
            kinds: Vec::new(),
            ups: Vec::new(),
            extents: Vec::new(),
            counts: Vec::new(),
            name_lens: Vec::new(),
            text_lens: Vec::new(),
            heap: Vec::new(),
        }
    }

    /// How many nodes there are; at least 1.
    #[allow(clippy::len_without_is_empty)] // A tape is never empty.
    #[inline]
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The value of the whole document.
    pub fn root(&self) -> Node<'_> {
        Node { tape: self, index: 0, text_at: 0 }
    }

    /// The node number `index` in preorder. Adds up the lengths of all texts before it: to visit
    /// many nodes use [`Node::children`] or [`Tape::offsets`].
    pub fn node(&self, index: usize) -> Option<Node<'_>> {
        (index < self.len()).then(|| Node { tape: self, index, text_at: self.text_bytes(0, index) })
    }

    /// Where the text of each node begins in the heap, and at the end the length of the heap.
    pub fn offsets(&self) -> Vec<usize> {
        let mut at = 0;
        let mut offsets = Vec::with_capacity(self.len() + 1);
        for &len in &self.text_lens {
            offsets.push(at);
            at += len as usize;
        }
        offsets.push(at);
        offsets
    }

    /// The index of the parent, or none for the root.
    #[inline]
    pub fn parent(&self, index: usize) -> Option<usize> {
        match self.ups[index] {
            0 => None,
            up => Some(index - up as usize),
        }
    }

    /// The length in bytes of a node's name, if it has one.
    #[inline]
    pub fn name_len(&self, index: usize) -> Option<usize> {
        match self.name_lens[index] {
            NO_NAME => None,
            len => Some(len as usize),
        }
    }

    /// Bytes of text of the nodes `from..to`.
    pub(crate) fn text_bytes(&self, from: usize, to: usize) -> usize {
        self.text_lens[from..to].iter().map(|&len| len as usize).sum()
    }

    /// Bytes of memory that the columns hold.
    pub fn memory_bytes(&self) -> usize {
        self.kinds.capacity()
            + self.heap.capacity()
            + 4 * (self.ups.capacity()
                + self.extents.capacity()
                + self.counts.capacity()
                + self.name_lens.capacity()
                + self.text_lens.capacity())
    }

    /// Gives back the memory that growing has left over.
    pub fn shrink_to_fit(&mut self) {
        self.kinds.shrink_to_fit();
        self.ups.shrink_to_fit();
        self.extents.shrink_to_fit();
        self.counts.shrink_to_fit();
        self.name_lens.shrink_to_fit();
        self.text_lens.shrink_to_fit();
        self.heap.shrink_to_fit();
    }

    /// Proves the structure of columns that come from outside, so that nothing that reads the tape
    /// can go out of bounds; that texts are canonical and names distinct is taken on trust.
    pub fn check(&self) -> Result<(), TapeFault> {
        let nodes = self.kinds.len();
        let fault = |node, what| Err(TapeFault { node, what });
        let columns = [&self.ups, &self.extents, &self.counts, &self.name_lens, &self.text_lens];
        if nodes == 0 || columns.iter().any(|column| column.len() != nodes) {
            return fault(0, "the columns differ in length");
        }
        if self.ups[0] != 0 || self.name_lens[0] != NO_NAME || self.extents[0] as usize != nodes {
            return fault(0, "it is no root");
        }
        if std::str::from_utf8(&self.heap).is_err() {
            return fault(0, "the heap is not UTF-8");
        }
        // Open containers: where they end, how many children are missing.
        let mut open: Vec<(usize, usize, u32)> = Vec::new();
        let mut text_bytes = 0usize;
        for node in 0..nodes {
            while let Some(&(_, end, missing)) = open.last()
                && end == node
            {
                if missing != 0 {
                    return fault(node, "a container before it has lost children");
                }
                open.pop();
            }
            match open.last_mut() {
                None if node != 0 => return fault(node, "it lies outside the root"),
                None => {}
                Some((parent, end, missing)) => {
                    if self.ups[node] as usize != node - *parent || *missing == 0 {
                        return fault(node, "it is not the child of its parent");
                    }
                    *missing -= 1;
                    if node + self.extents[node] as usize > *end {
                        return fault(node, "it ends after its parent");
                    }
                    if (self.kinds[*parent] == Kind::Object) != (self.name_lens[node] != NO_NAME) {
                        return fault(node, "a name too many or too few");
                    }
                }
            }
            let (kind, name) = (self.kinds[node], self.name_len(node).unwrap_or(0));
            if (self.text_lens[node] as usize) < name {
                return fault(node, "the name is longer than the text");
            }
            if !matches!(kind, Kind::Number | Kind::String) && self.text_lens[node] as usize != name
            {
                return fault(node, "a value text where there can be none");
            }
            let end = text_bytes + self.text_lens[node] as usize;
            let cut = |at: usize| {
                at <= self.heap.len() && (at == self.heap.len() || self.heap[at] & 0xc0 != 0x80)
            };
            if !cut(text_bytes + name) || !cut(end) {
                return fault(node, "a text that is cut inside a character or runs over the heap");
            }
            text_bytes = end;
            if kind.is_container() {
                open.push((node, node + self.extents[node] as usize, self.counts[node]));
                if self.extents[node] == 0 || (self.extents[node] == 1) != (self.counts[node] == 0)
                {
                    return fault(node, "extent and count do not agree");
                }
            } else if self.extents[node] != 1 || self.counts[node] != 0 {
                return fault(node, "a scalar with children");
            }
        }
        if open.iter().any(|&(_, end, missing)| end != nodes || missing != 0) {
            return fault(nodes - 1, "an open container at the end");
        }
        if text_bytes != self.heap.len() {
            fault(nodes - 1, "a heap of another length")
        } else {
            Ok(())
        }
    }
}

/// One value of a tape: cheap to copy.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    tape: &'a Tape,
    index: usize,
    /// Where its text begins in the heap.
    text_at: usize,
}

impl<'a> Node<'a> {
    /// The tape it is in.
    pub fn tape(self) -> &'a Tape {
        self.tape
    }

    /// Its number in preorder.
    #[inline]
    pub fn index(self) -> usize {
        self.index
    }

    /// Where its text (name, then value) begins in the heap.
    #[inline]
    pub fn text_at(self) -> usize {
        self.text_at
    }

    /// Its kind.
    #[inline]
    pub fn kind(self) -> Kind {
        self.tape.kinds[self.index]
    }

    /// How many nodes the subtree has, this one included.
    pub fn extent(self) -> usize {
        self.tape.extents[self.index] as usize
    }

    /// How many children it has.
    pub fn count(self) -> usize {
        self.tape.counts[self.index] as usize
    }

    /// The canonical text of its name, for a field of an object.
    #[inline]
    pub fn name(self) -> Option<&'a [u8]> {
        let len = self.tape.name_len(self.index)?;
        Some(&self.tape.heap[self.text_at..self.text_at + len])
    }

    /// The canonical text of its value: empty for literals and containers.
    #[inline]
    pub fn text(self) -> &'a [u8] {
        let name = self.tape.name_len(self.index).unwrap_or(0);
        let end = self.text_at + self.tape.text_lens[self.index] as usize;
        &self.tape.heap[self.text_at + name..end]
    }

    /// Its name as people know it, without escapes.
    pub fn field(self) -> Option<Cow<'a, str>> {
        self.name().map(text::unescape)
    }

    /// The string it holds, if it is one, without escapes.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| text::unescape(self.text()))
    }

    /// The digits of the number it holds, if it is one.
    pub fn as_number(self) -> Option<&'a str> {
        (self.kind() == Kind::Number).then(|| std::str::from_utf8(self.text()).unwrap_or("0"))
    }

    /// The number it holds, where it is an integer that fits.
    pub fn as_i64(self) -> Option<i64> {
        self.as_number()?.parse().ok()
    }

    /// The number it holds, where it is an integer that fits.
    pub fn as_u64(self) -> Option<u64> {
        self.as_number()?.parse().ok()
    }

    /// The number it holds, rounded to the nearest double; infinite where it is too large.
    pub fn as_f64(self) -> Option<f64> {
        self.as_number()?.parse().ok()
    }

    /// The truth value it holds, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// The container it is in.
    pub fn parent(self) -> Option<Node<'a>> {
        let index = self.tape.parent(self.index)?;
        Some(Node {
            index,
            text_at: self.text_at - self.tape.text_bytes(index, self.index),
            ..self
        })
    }

    /// Its children in order.
    pub fn children(self) -> Children<'a> {
        let first = Node {
            index: self.index + 1,
            text_at: self.text_at + self.tape.text_lens[self.index] as usize,
            ..self
        };
        Children { next: first, left: self.count() }
    }

    /// The field of this object with the given name (as people write it), if there is one.
    pub fn get(self, name: &str) -> Option<Node<'a>> {
        if self.kind() != Kind::Object {
            return None;
        }
        let name = text::escape(name);
        self.children().find(|child| child.name() == Some(name.as_bytes()))
    }

    /// The element of this array at `position`, from 0, if there is one.
    pub fn at(self, position: usize) -> Option<Node<'a>> {
        if self.kind() != Kind::Array { None } else { self.children().nth(position) }
    }

    /// The value, with all that is in it, as a tape of its own.
    pub fn to_tape(self) -> Tape {
        let (tape, from) = (self.tape, self.index);
        let to = from + self.extent();
        let value_at = self.text_at + tape.name_len(from).unwrap_or(0);
        let end = self.text_at + tape.text_bytes(from, to);
        let mut copy = Tape {
            kinds: tape.kinds[from..to].to_vec(),
            ups: tape.ups[from..to].to_vec(),
            extents: tape.extents[from..to].to_vec(),
            counts: tape.counts[from..to].to_vec(),
            name_lens: tape.name_lens[from..to].to_vec(),
            text_lens: tape.text_lens[from..to].to_vec(),
            heap: tape.heap[value_at..end].to_vec(),
        };
        copy.ups[0] = 0;
        copy.name_lens[0] = NO_NAME;
        copy.text_lens[0] -= (value_at - self.text_at) as u32;
        copy
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({}: {})", self.index, self.to_json())
    }
}

/// The children of a container, in order.
#[derive(Clone)]
pub struct Children<'a> {
    next: Node<'a>,
    left: usize,
}

impl<'a> Iterator for Children<'a> {
    type Item = Node<'a>;

    #[inline]
    fn next(&mut self) -> Option<Node<'a>> {
        if self.left == 0 {
            return None;
        }
        let child = self.next;
        self.left -= 1;
        if self.left > 0 {
            let index = child.index + child.extent();
            self.next.text_at += child.tape.text_bytes(child.index, index);
            self.next.index = index;
        }
        Some(child)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Children<'_> {}
