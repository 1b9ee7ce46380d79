//! Nodes as chunks hold them, and the layout of their names and values in a chunk's heap.

use crate::NodeKey;
use crate::codec::Reader;
use crate::error::Damaged;
use crate::order::Label;
use json::Kind;
use store::Csn;

/// Node keys a chunk covers.
pub const CHUNK_NODES: usize = 256;
/// As the length of a name: the node has none (an array element, or the root).
pub(crate) const NO_NAME: u16 = u16::MAX;

/// The header of a document, which its chunk 0 stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The key that the next new node gets.
    pub next_key: u64,
    /// The root's key.
    pub root: u64,
    /// Nodes that are alive.
    pub nodes: u64,
    /// Nodes among them that are placed: where it is 0, all stand in the order of their keys.
    pub placed: u64,
    /// The commit that last inserted, moved or removed nodes: two versions of one document with the
    /// same have the same nodes in the same places. 0 stands for the commit of the image.
    pub shape: Csn,
    /// The rolling hash over all nodes, 0 where the collection has none (see [`crate::hash`]).
    pub digest: u128,
}

/// One node as a chunk holds it.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Distance to the parent's key; 0 for the root and for placed nodes.
    pub up: u32,
    /// Keys taken by the node and what was created with it below it.
    pub extent: u32,
    /// Children, for containers.
    pub count: u32,
    /// The commit that last changed it.
    pub changed: Csn,
    /// The field's name, escaped and without quotes.
    pub name: Option<&'a [u8]>,
    /// A scalar's text, strings escaped and without quotes; empty for containers and literals.
    pub text: &'a [u8],
}

/// The facts about a slot that need no texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub kind: Option<Kind>,
    pub up: u32,
    pub extent: u32,
}

impl Probe {
    pub const NONE: Probe = Probe { kind: None, up: 0, extent: 0 };
}

/// The placed nodes of a chunk: slot, parent, label.
pub(crate) fn placed(
    bytes: &[u8],
) -> impl Iterator<Item = Result<(u8, NodeKey, Label), Damaged>> + '_ {
    let mut input = Reader::new(bytes);
    std::iter::from_fn(move || {
        if input.is_empty() {
            return None;
        }
        let mut next = || Ok((input.u8()?, NodeKey(input.varint()?), Label::decode(&mut input)?));
        let entry = next();
        if entry.is_err() {
            input = Reader::new(&[]);
        }
        Some(entry)
    })
}

/// Bytes of a fragment before its value: the comma, and the quoted name and colon of a field.
#[inline]
pub(crate) fn prefix_len(name_len: u16) -> usize {
    if name_len == NO_NAME { 1 } else { name_len as usize + 4 }
}

/// Appends the value's part of a fragment.
#[inline]
pub(crate) fn put_value(out: &mut Vec<u8>, kind: Kind, text: &[u8]) {
    match kind {
        Kind::String => {
            out.push(b'"');
            out.extend_from_slice(text);
            out.push(b'"');
        }
        Kind::Number => out.extend_from_slice(text),
        Kind::Array => out.push(b'['),
        Kind::Object => out.push(b'{'),
        literal => out.extend_from_slice(literal.literal().as_bytes()),
    }
}

pub(crate) fn put_prefix(out: &mut Vec<u8>, name: Option<&[u8]>) {
    out.push(b',');
    if let Some(name) = name {
        out.push(b'"');
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
    }
}

/// The name and the value's text of a fragment.
#[inline]
pub(crate) fn cut(kind: Kind, name_len: u16, frag: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let (prefix, value) = frag.split_at(prefix_len(name_len));
    let name = (name_len != NO_NAME).then(|| &prefix[2..prefix.len() - 2]);
    let text = match kind {
        Kind::String => &value[1..value.len() - 1],
        Kind::Number => value,
        _ => &[],
    };
    (name, text)
}
