//! Deltas of chunks: the changes of a commit to the nodes of one chunk, step by step.
//!
//! ```text
//!   delta    step step step ...
//!   set      kind 1..5 | slot | [length | text]              most deltas are one of these
//!   others   0x10.. | slot | what the step needs
//!   header   0x15 | flags | next key | root | nodes | placed | [digest]
//! ```
//!
//! Every step starts with a tag. Tags below [`Op::SETS_BELOW`] are the kinds of scalars: a value that
//! is set. So a reader who wants the values of one node passes over everything else quickly.

use crate::NodeKey;
use crate::codec::{Reader, put_varint};
use crate::error::Damaged;
use crate::node::{Header, NO_NAME, Node};
use crate::order::Label;
use json::Kind;
use store::Csn;

/// One step of a chunk's delta.
pub(crate) enum Op<'a> {
    /// A scalar gets a value; its tag byte is the kind.
    Set { slot: u8, kind: Kind, text: &'a [u8] },
    /// A field gets another name.
    Rename { slot: u8, name: &'a [u8] },
    /// The nodes of some slots in a row go.
    Remove { slot: u8, count: usize },
    /// A node appears; with a place where its parent is not `up` keys before it.
    Insert { slot: u8, node: Node<'a>, place: Option<(NodeKey, Label)> },
    /// A node goes to another place, with what is below it, as a field of that name or an element;
    /// or back to where its key puts it (`up` is not 0).
    Place { slot: u8, up: u32, place: Option<(NodeKey, Label)>, name: Option<&'a [u8]> },
    /// A container has so many children now.
    Count { slot: u8, count: u32 },
    /// The document's header, its shape aside: the flag says whether the shape is of this commit.
    Header(Header, bool),
}

const RENAME: u8 = 0x10;
const REMOVE: u8 = 0x11;
const INSERT: u8 = 0x12;
const PLACE: u8 = 0x13;
const COUNT: u8 = 0x14;
const HEADER: u8 = 0x15;

/// Writes where a node stands: `up`, and where that is 0 the parent's key and the label, or 0 for
/// the root.
fn put_place(out: &mut Vec<u8>, up: u32, place: &Option<(NodeKey, Label)>) {
    put_varint(out, up as u64);
    match place {
        Some((parent, label)) => {
            assert_eq!(up, 0, "a placed node finds its parent by its place");
            put_varint(out, parent.0);
            label.encode(out);
        }
        None if up == 0 => put_varint(out, 0),
        None => {}
    }
}

fn read_place(input: &mut Reader<'_>) -> Result<(u32, Option<(NodeKey, Label)>), Damaged> {
    let up = input.varint_u32()?;
    let parent = if up == 0 { input.varint()? } else { 0 };
    let place = if parent == 0 { None } else { Some((NodeKey(parent), Label::decode(input)?)) };
    Ok((up, place))
}

fn put_name(out: &mut Vec<u8>, name: Option<&[u8]>) {
    put_varint(out, name.map_or(0, |n| n.len() as u64 + 1));
    out.extend_from_slice(name.unwrap_or_default());
}

fn read_name<'a>(input: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Damaged> {
    Ok(match input.varint()? {
        0 => None,
        len if len <= NO_NAME as u64 => Some(input.bytes(len as usize - 1)?),
        _ => return Err(Damaged::new("a name that is too long")),
    })
}

impl<'a> Op<'a> {
    /// Tags below this are sets.
    pub const SETS_BELOW: u8 = RENAME;

    /// Appends the step to a delta.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Op::Set { slot, kind, text } => {
                out.extend_from_slice(&[*kind as u8, *slot]);
                if has_text(*kind) {
                    put_varint(out, text.len() as u64);
                    out.extend_from_slice(text);
                }
            }
            Op::Rename { slot, name } => {
                out.extend_from_slice(&[RENAME, *slot]);
                put_name(out, Some(name));
            }
            Op::Remove { slot, count } => {
                out.extend_from_slice(&[REMOVE, *slot, (count - 1) as u8])
            }
            Op::Insert { slot, node, place } => {
                out.extend_from_slice(&[INSERT, *slot, node.kind as u8]);
                put_place(out, node.up, place);
                put_varint(out, node.extent as u64);
                put_varint(out, node.count as u64);
                put_name(out, node.name);
                put_varint(out, node.text.len() as u64);
                out.extend_from_slice(node.text);
            }
            Op::Place { slot, up, place, name } => {
                out.extend_from_slice(&[PLACE, *slot]);
                put_place(out, *up, place);
                put_name(out, *name);
            }
            Op::Count { slot, count } => {
                out.extend_from_slice(&[COUNT, *slot]);
                put_varint(out, *count as u64);
            }
            Op::Header(header, shaped) => {
                out.push(HEADER);
                out.push(*shaped as u8 | if header.digest == 0 { 0 } else { 2 });
                put_varint(out, header.next_key);
                put_varint(out, header.root);
                put_varint(out, header.nodes);
                put_varint(out, header.placed);
                if header.digest != 0 {
                    out.extend_from_slice(&header.digest.to_le_bytes());
                }
            }
        }
    }

    /// Reads the next step of a delta.
    pub fn decode(input: &mut Reader<'a>) -> Result<Op<'a>, Damaged> {
        let tag = *input.rest().first().ok_or_else(Damaged::short)?;
        if tag < RENAME {
            let (kind, slot, text) = read_set(input)?;
            return Ok(Op::Set { slot, kind, text });
        }
        input.u8()?;
        Ok(match tag {
            RENAME => Op::Rename {
                slot: input.u8()?,
                name: read_name(input)?.ok_or(Damaged::new("a rename to nothing"))?,
            },
            REMOVE => Op::Remove { slot: input.u8()?, count: input.u8()? as usize + 1 },
            INSERT => {
                let slot = input.u8()?;
                let kind =
                    Kind::from_u8(input.u8()?).ok_or(Damaged::new("an unknown kind of node"))?;
                let (up, place) = read_place(input)?;
                let (extent, count) = (input.varint_u32()?, input.varint_u32()?);
                let name = read_name(input)?;
                let len = input.varint()? as usize;
                let text = input.bytes(len)?;
                Op::Insert {
                    slot,
                    node: Node { kind, up, extent, count, changed: Csn(0), name, text },
                    place,
                }
            }
            PLACE => {
                let slot = input.u8()?;
                let (up, place) = read_place(input)?;
                Op::Place { slot, up, place, name: read_name(input)? }
            }
            COUNT => Op::Count { slot: input.u8()?, count: input.varint_u32()? },
            HEADER => Op::header(input)?,
            _ => return Err(Damaged::new("an unknown step of a delta")),
        })
    }

    fn header(input: &mut Reader<'_>) -> Result<Op<'a>, Damaged> {
        let flags = input.u8()?;
        let header = Header {
            next_key: input.varint()?,
            root: input.varint()?,
            nodes: input.varint()?,
            placed: input.varint()?,
            shape: Csn(0),
            digest: match flags & 2 {
                0 => 0,
                _ => input.u64()? as u128 | (input.u64()? as u128) << 64,
            },
        };
        Ok(Op::Header(header, flags & 1 != 0))
    }
}

/// A set: kind, slot, text.
type SetStep<'a> = Result<(Kind, u8, &'a [u8]), Damaged>;

/// A delta that is one set of a text of 1 to 127 bytes, as most are: slot, kind, text.
#[inline(always)]
pub(crate) fn one_short_set(delta: &[u8]) -> Option<(u8, Kind, &[u8])> {
    const NUMBER: u32 = Kind::Number as u32;
    let len = delta.len().checked_sub(3).filter(|len| (1..0x80).contains(len))?;
    // Kind, slot and length at once: the kinds of texts differ in their lowest bit.
    let head = u32::from_le_bytes(*delta.first_chunk::<4>()?);
    if head & 0x00ff_00fe != NUMBER | (len as u32) << 16 {
        return None;
    }
    let kind = if head & 0xff == NUMBER { Kind::Number } else { Kind::String };
    Some(((head >> 8) as u8, kind, &delta[3..]))
}

/// Reads a set.
#[inline]
pub(crate) fn read_set<'a>(input: &mut Reader<'a>) -> SetStep<'a> {
    let tag = input.u8()?;
    let kind =
        Kind::from_u8(tag).filter(|k| !k.is_container()).ok_or(Damaged::new("not a value"))?;
    let slot = input.u8()?;
    let len = if has_text(kind) { input.varint()? as usize } else { 0 };
    Ok((kind, slot, input.bytes(len)?))
}

/// True for the kinds whose value is written out; literals are said by their kind alone.
pub(crate) fn has_text(kind: Kind) -> bool {
    matches!(kind, Kind::Number | Kind::String)
}
