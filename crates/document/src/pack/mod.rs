//! Chunks as a compacted store holds them: without the parts that follow from the rest
//! ([`store::Packer`]).
//!
//! ```text
//!   image    head | header | kinds | names | frags | ups | extents | counts | changed | placed | heap
//!   packed   numbers: what of it a reader could not guess            texts: the heap
//!
//!   delta    insert 9 string up=2 ... ,"name":"value" | count 7 3 | header ...
//!   packed   numbers: steps, slots as distances, ...                 texts: ,"name":"value" ...
//! ```
//!
//! The text of a node says its kind, whether it has a name, and how long both are. The order of the nodes
//! says whose child each is, except where a node was placed. Where a reader would guess wrongly, the
//! difference to the guess is written; mostly there is none.
//!
//! Texts have the form of a heap everywhere, in deltas too: so a value that was inserted compresses
//! to nothing beside the image that has it.
//!
//! Lists of revisions and path summaries stay as they are.
//!
//! # Invariants
//! * [`DocumentPacker`] remembers the same at both ends: only what it has just packed or unpacked.
//! * A form that it does not know (an image of an earlier version, numbers that do not follow from each
//!   other as they do in every chunk that this release writes) is not packed.

mod delta;
mod image;
#[cfg(test)]
mod tests;
mod text;

use crate::NodeKey;
use crate::codec::{Reader, put_varint};
use crate::error::Damaged;
use crate::key::{Record, record_of};
use crate::node::Header;
use crate::order::Label;
use store::{Kind, MergeError, Packed, Packer, Unpacking};

/// Packs the chunks of a table of documents.
#[derive(Default)]
pub struct DocumentPacker {
    last: Last,
}

/// The numbers that were packed last. The packer writes the next ones as differences from them.
#[derive(Clone, Copy, Default)]
struct Last {
    header: Header,
    /// The parent of a placed node.
    parent: u64,
    /// The first digit of its label.
    digit: u64,
}

/// The two streams, read.
struct Input<'a> {
    texts: Reader<'a>,
    numbers: Reader<'a>,
}

impl Packer for DocumentPacker {
    fn pack(&mut self, key: &[u8], kind: Kind, bytes: &[u8], out: &mut Packed) -> bool {
        let Some(Record::Chunk(number)) = record_of(key) else { return false };
        let mut last = self.last;
        let packed = match kind {
            Kind::Put => image::pack(bytes, number, &mut last, out),
            Kind::Delta => delta::pack(bytes, number, &mut last, out),
            Kind::Delete => None,
        };
        if packed.is_some() {
            self.last = last;
        }
        packed.is_some()
    }

    fn unpack(
        &mut self,
        key: &[u8],
        kind: Kind,
        input: &mut Unpacking<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        let Some(Record::Chunk(number)) = record_of(key) else {
            return Err(Damaged::new("a packed record that is no chunk").into());
        };
        let mut streams =
            Input { texts: Reader::new(input.texts), numbers: Reader::new(input.numbers) };
        match kind {
            Kind::Delta => delta::unpack(&mut streams, number, &mut self.last, out)?,
            _ => image::unpack(&mut streams, number, &mut self.last, out)?,
        }
        (input.texts, input.numbers) = (streams.texts.rest(), streams.numbers.rest());
        Ok(())
    }
}

/// Appends the difference between two numbers, either of which may be the larger.
fn put_difference(out: &mut Vec<u8>, number: u64, from: u64) {
    let difference = number.wrapping_sub(from) as i64;
    put_varint(out, (difference << 1 ^ difference >> 63) as u64);
}

fn difference(input: &mut Reader<'_>, from: u64) -> Result<u64, Damaged> {
    let zigzag = input.varint()?;
    Ok(from.wrapping_add(zigzag >> 1 ^ (zigzag & 1).wrapping_neg()))
}

impl Last {
    /// Appends the fields of a document header; its shape is written elsewhere.
    fn put_header(&mut self, header: &Header, out: &mut Vec<u8>) {
        put_difference(out, header.next_key, self.header.next_key);
        put_difference(out, header.root, self.header.root);
        put_difference(out, header.nodes, self.header.nodes);
        put_difference(out, header.placed, self.header.placed);
        out.push(u8::from(header.digest != 0));
        if header.digest != 0 {
            out.extend_from_slice(&header.digest.to_le_bytes());
        }
        self.header = *header;
    }

    fn header(&mut self, input: &mut Reader<'_>) -> Result<Header, Damaged> {
        let mut header = Header {
            next_key: difference(input, self.header.next_key)?,
            root: difference(input, self.header.root)?,
            nodes: difference(input, self.header.nodes)?,
            placed: difference(input, self.header.placed)?,
            ..Header::default()
        };
        if input.u8()? != 0 {
            header.digest = u128::from(input.u64()?) | u128::from(input.u64()?) << 64;
        }
        self.header = header;
        Ok(header)
    }

    /// Appends parent and label of the placed node `key`.
    fn put_place(&mut self, key: u64, parent: NodeKey, label: &Label, out: &mut Vec<u8>) {
        put_difference(out, parent.0, self.parent);
        self.parent = parent.0;
        match label.digits() {
            [own] if *own == key => out.push(0),
            digits => {
                put_varint(out, digits.len() as u64);
                put_difference(out, digits[0], self.digit);
                self.digit = digits[0];
                digits[1..].iter().for_each(|digit| put_varint(out, *digit));
            }
        }
    }

    fn place(&mut self, key: u64, input: &mut Reader<'_>) -> Result<(NodeKey, Label), Damaged> {
        let parent = difference(input, self.parent)?;
        self.parent = parent;
        let digits = match input.varint()? as usize {
            0 => vec![key],
            count if count > input.rest().len() => return Err(Damaged::short()),
            count => {
                let mut digits = vec![difference(input, self.digit)?];
                self.digit = digits[0];
                for _ in 1..count {
                    digits.push(input.varint()?);
                }
                digits
            }
        };
        Ok((NodeKey(parent), Label::of_digits(&digits)?))
    }
}

/// The key of a slot.
fn key_of(chunk: u32, slot: usize) -> u64 {
    u64::from(chunk) << 8 | slot as u64
}

/// Guesses whose child each node is: of the container around it, as far as keys tell.
#[derive(Default)]
struct Parents {
    /// Containers that the next slot may lie in, with where they end.
    open: Vec<(u64, u64)>,
    /// The parent of nodes that no container of this chunk is around: how far before slot 0 it is.
    outer: u64,
}

impl Parents {
    /// The distance from a slot to its parent, as one would guess it; slots come in order, mostly.
    fn guess(&mut self, slot: usize) -> u32 {
        let slot = slot as u64;
        while self.open.pop_if(|(start, end)| *end <= slot || *start >= slot).is_some() {}
        match self.open.last() {
            Some((start, _)) => (slot - start) as u32,
            None => (slot + self.outer) as u32,
        }
    }

    /// Learns how far before a slot its parent is, after a guess.
    fn learn(&mut self, slot: usize, up: u32) {
        if self.open.is_empty() && u64::from(up) >= slot as u64 {
            self.outer = u64::from(up) - slot as u64;
        }
    }

    /// Learns that a slot is a container that takes so many keys.
    fn open(&mut self, slot: usize, extent: u32) {
        self.open.push((slot as u64, slot as u64 + u64::from(extent)));
    }
}
