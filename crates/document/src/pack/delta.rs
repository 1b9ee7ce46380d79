//! A delta of a chunk, packed.
//!
//! ```text
//!   numbers   number of steps, then for each: tag | distance to the slot after that of the step before | ...
//!   texts     ,value of a set    ,"name" of a rename or a move    ,"name":value of an insertion
//! ```
//!
//! Slots as distances make the steps that insert two objects of one form the same bytes.

use super::text::fragment;
use super::{Input, Last, Parents, key_of};
use crate::NodeKey;
use crate::codec::{Reader, put_varint};
use crate::delta::{Op, has_text};
use crate::error::Damaged;
use crate::node::{Node, put_prefix, put_value};
use crate::order::Label;
use json::Kind;
use store::{Csn, Packed};

const RENAME: u8 = 0x10;
const REMOVE: u8 = 0x11;
const INSERT: u8 = 0x12;
const PLACE: u8 = 0x13;
const COUNT: u8 = 0x14;
const HEADER: u8 = 0x15;
/// A header whose shape is of this commit.
const SHAPED: u8 = 0x16;

/// Where a node stands: as guessed, placed, as the root, or so many keys (and 3) below its parent.
const GUESSED: u64 = 0;
const PLACED: u64 = 1;
const ROOT: u64 = 2;

/// The state that the steps of one delta are compared with.
struct Steps<'l> {
    chunk: u32,
    last: &'l mut Last,
    parents: Parents,
    /// The slot after that of the step before.
    slot: u8,
}

/// Appends the packed form of a delta; `None` if it has none.
pub fn pack(bytes: &[u8], chunk: u32, last: &mut Last, out: &mut Packed) -> Option<()> {
    let mut steps = Steps { chunk, last, parents: Parents::default(), slot: 0 };
    let mut input = Reader::new(bytes);
    let mut ops = Vec::new();
    while !input.is_empty() {
        ops.push(Op::decode(&mut input).ok()?);
    }
    put_varint(&mut out.numbers, ops.len() as u64);
    ops.iter().try_for_each(|op| steps.put(op, out))
}

/// Appends to `out` the delta that was packed.
pub fn unpack(
    input: &mut Input<'_>,
    chunk: u32,
    last: &mut Last,
    out: &mut Vec<u8>,
) -> Result<(), Damaged> {
    let mut steps = Steps { chunk, last, parents: Parents::default(), slot: 0 };
    for _ in 0..input.numbers.varint()? {
        steps.next(input)?.encode(out);
    }
    Ok(())
}

impl Steps<'_> {
    fn put(&mut self, op: &Op<'_>, out: &mut Packed) -> Option<()> {
        match op {
            Op::Set { slot, kind, text } => {
                self.head(*kind as u8, *slot, out);
                if has_text(*kind) {
                    put_prefix(&mut out.texts, None);
                    put_value(&mut out.texts, *kind, text);
                }
            }
            Op::Rename { slot, name } => {
                self.head(RENAME, *slot, out);
                put_name(name, out);
            }
            Op::Remove { slot, count } => {
                self.head(REMOVE, *slot, out);
                out.numbers.push((count - 1) as u8);
                self.slot = self.slot.wrapping_add((count - 1) as u8);
            }
            Op::Insert { slot, node, place } => {
                self.head(INSERT, *slot, out);
                let is_container = node.kind.is_container();
                (is_container || (node.extent, node.count) == (1, 0)).then_some(())?;
                put_prefix(&mut out.texts, node.name);
                put_value(&mut out.texts, node.kind, node.text);
                self.put_place(*slot, node.up, place.as_ref(), out);
                if is_container {
                    put_varint(&mut out.numbers, u64::from(node.extent));
                    put_varint(&mut out.numbers, u64::from(node.count));
                    self.parents.open(usize::from(*slot), node.extent);
                }
            }
            Op::Place { slot, up, place, name } => {
                self.head(PLACE, *slot, out);
                self.put_place(*slot, *up, place.as_ref(), out);
                out.numbers.push(u8::from(name.is_some()));
                if let Some(name) = name {
                    put_name(name, out);
                }
            }
            Op::Count { slot, count } => {
                self.head(COUNT, *slot, out);
                put_varint(&mut out.numbers, u64::from(*count));
            }
            Op::Header(header, shaped) => {
                out.numbers.push(if *shaped { SHAPED } else { HEADER });
                self.last.put_header(header, &mut out.numbers);
            }
        }
        Some(())
    }

    fn next<'a>(&mut self, input: &mut Input<'a>) -> Result<Op<'a>, Damaged> {
        let tag = input.numbers.u8()?;
        if let HEADER | SHAPED = tag {
            return Ok(Op::Header(self.last.header(&mut input.numbers)?, tag == SHAPED));
        }
        let slot = self.slot.wrapping_add(input.numbers.u8()?);
        self.slot = slot.wrapping_add(1);
        Ok(match tag {
            RENAME => Op::Rename { slot, name: name(input)? },
            REMOVE => {
                let more = input.numbers.u8()?;
                self.slot = self.slot.wrapping_add(more);
                Op::Remove { slot, count: usize::from(more) + 1 }
            }
            INSERT => self.insert(slot, input)?,
            PLACE => {
                let (up, place) = self.place(slot, &mut input.numbers)?;
                let name = match input.numbers.u8()? {
                    0 => None,
                    _ => Some(name(input)?),
                };
                Op::Place { slot, up, place, name }
            }
            COUNT => Op::Count { slot, count: input.numbers.varint_u32()? },
            kind => {
                let kind = Kind::from_u8(kind).filter(|kind| !kind.is_container());
                let kind = kind.ok_or(Damaged::new("an unknown step of a packed delta"))?;
                let text = if has_text(kind) { value(kind, input)? } else { &[] };
                Op::Set { slot, kind, text }
            }
        })
    }

    fn insert<'a>(&mut self, slot: u8, input: &mut Input<'a>) -> Result<Op<'a>, Damaged> {
        let found = fragment(&mut input.texts)?;
        let (name, text) = found.cut();
        let (up, place) = self.place(slot, &mut input.numbers)?;
        let (mut extent, mut count) = (1, 0);
        if found.kind.is_container() {
            (extent, count) = (input.numbers.varint_u32()?, input.numbers.varint_u32()?);
            self.parents.open(usize::from(slot), extent);
        }
        let node = Node { kind: found.kind, up, extent, count, changed: Csn(0), name, text };
        Ok(Op::Insert { slot, node, place })
    }

    fn head(&mut self, tag: u8, slot: u8, out: &mut Packed) {
        out.numbers.extend_from_slice(&[tag, slot.wrapping_sub(self.slot)]);
        self.slot = slot.wrapping_add(1);
    }

    fn put_place(&mut self, slot: u8, up: u32, place: Option<&(NodeKey, Label)>, out: &mut Packed) {
        let guess = self.parents.guess(usize::from(slot));
        match place {
            Some((parent, label)) => {
                put_varint(&mut out.numbers, PLACED);
                let key = key_of(self.chunk, usize::from(slot));
                self.last.put_place(key, *parent, label, &mut out.numbers);
            }
            None if up == 0 => put_varint(&mut out.numbers, ROOT),
            None if up == guess => put_varint(&mut out.numbers, GUESSED),
            None => put_varint(&mut out.numbers, u64::from(up) + ROOT),
        }
        if up > 0 {
            self.parents.learn(usize::from(slot), up);
        }
    }

    #[allow(clippy::type_complexity)] // As `Op::Place` has it: the distance, or the place.
    fn place(
        &mut self,
        slot: u8,
        numbers: &mut Reader<'_>,
    ) -> Result<(u32, Option<(NodeKey, Label)>), Damaged> {
        let guess = self.parents.guess(usize::from(slot));
        let up = match numbers.varint()? {
            GUESSED => guess,
            PLACED => {
                let key = key_of(self.chunk, usize::from(slot));
                let place = self.last.place(key, numbers)?;
                if place.0 == NodeKey(0) {
                    return Err(Damaged::new("a node that is placed below no node"));
                }
                return Ok((0, Some(place)));
            }
            ROOT => return Ok((0, None)),
            up => u32::try_from(up - ROOT).map_err(|_| Damaged::new("a parent too far away"))?,
        };
        if up > 0 {
            self.parents.learn(usize::from(slot), up);
        }
        Ok((up, None))
    }
}

fn put_name(name: &[u8], out: &mut Packed) {
    put_prefix(&mut out.texts, None);
    put_value(&mut out.texts, Kind::String, name);
}

fn name<'a>(input: &mut Input<'a>) -> Result<&'a [u8], Damaged> {
    let name = value(Kind::String, input)?;
    if name.len() < usize::from(crate::node::NO_NAME) {
        Ok(name)
    } else {
        Err(Damaged::new("a name that is too long"))
    }
}

/// Takes a value without a name off the texts.
fn value<'a>(kind: Kind, input: &mut Input<'a>) -> Result<&'a [u8], Damaged> {
    let found = fragment(&mut input.texts)?;
    match found.cut() {
        (None, text) if found.kind == kind => Ok(text),
        _ => Err(Damaged::new("a packed value of another form than its step says")),
    }
}
