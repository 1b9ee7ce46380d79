//! A chunk taken apart, to be changed and encoded again.
//!
//! ```text
//!   image ──> slots | heap | placed ── delta ─> slots | heap, grown | placed ──> image
//! ```
//!
//! A changed fragment is appended to the heap and its slot points there: nothing moves until the
//! image is encoded, which writes the fragments in the order of their slots.
//!
//! Invariants: as those of a chunk; a slot that is in use keeps its extent for ever.

use crate::NodeKey;
use crate::codec::{Reader, put_varint};
use crate::delta::Op;
use crate::error::Damaged;
use crate::image::{self, Image, Row};
use crate::node::{
    CHUNK_NODES, Header, NO_NAME, Node, Probe, cut, placed, prefix_len, put_prefix, put_value,
};
use crate::order::Label;
use json::Kind;
use store::{Csn, Versioned};

/// A slot of a [`ChunkBuf`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// 0: removed, or never was.
    pub kind: u8,
    pub name_len: u16,
    pub start: u32,
    pub len: u32,
    pub up: u32,
    pub extent: u32,
    pub count: u32,
    pub changed: u64,
}

/// A slot that holds nothing.
const EMPTY: Slot =
    Slot { kind: 0, name_len: NO_NAME, start: 0, len: 0, up: 0, extent: 0, count: 0, changed: 0 };

/// A chunk taken apart, to be changed and encoded again.
#[derive(Clone, Default)]
pub(crate) struct ChunkBuf {
    pub header: Option<Header>,
    pub slots: Vec<Slot>,
    pub heap: Vec<u8>,
    pub placed: Vec<(u8, NodeKey, Label)>,
}

impl ChunkBuf {
    pub fn from_image(image: &Image<'_>, csn: Csn) -> Result<ChunkBuf, Damaged> {
        let mut start = 0;
        let slots = (0..image.kinds.len())
            .map(|slot| {
                let len = image.frag_len(slot) as u32;
                start += len;
                Slot {
                    kind: image.kinds[slot],
                    name_len: image.name_len(slot),
                    start: start - len,
                    len,
                    up: image.up(slot),
                    extent: image.extent(slot),
                    count: image.count(slot),
                    changed: match image.changed(slot) {
                        0 => csn.0,
                        changed => changed,
                    },
                }
            })
            .collect();
        let placed = placed(image.placed).collect::<Result<_, _>>()?;
        let shape = |header: Header| if header.shape == Csn(0) { csn } else { header.shape };
        let header = image.header().map(|header| Header { shape: shape(header), ..header });
        Ok(ChunkBuf { header, slots, heap: image.heap.to_vec(), placed })
    }

    pub fn from_stored(stored: &Versioned) -> Result<ChunkBuf, Damaged> {
        let mut buf = ChunkBuf::from_image(&Image::parse(stored.base())?, stored.base_csn())?;
        for (csn, delta) in stored.deltas() {
            buf.apply(csn, delta)?;
        }
        Ok(buf)
    }

    /// Appends the image of `base` with `deltas` applied: the merge function of a chunk.
    pub fn merge(
        base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), Damaged> {
        let mut buf = ChunkBuf::from_image(&Image::parse(base)?, base_csn)?;
        for (csn, delta) in deltas {
            buf.apply(csn, delta)?;
        }
        buf.encode(out);
        Ok(())
    }

    /// Appends a node at the next slot.
    pub fn push(&mut self, node: &Node<'_>) {
        assert!(self.slots.len() < CHUNK_NODES, "a chunk is full at {CHUNK_NODES} nodes");
        let slot = self.slot_of(node);
        self.slots.push(slot);
    }

    /// Puts a node into a slot that was never used.
    pub fn push_at(&mut self, slot: usize, node: &Node<'_>) {
        debug_assert!(self.slots.len() <= slot);
        self.slots.resize(slot, EMPTY);
        self.push(node);
    }

    /// The slot of a node, its fragment appended to the heap.
    fn slot_of(&mut self, node: &Node<'_>) -> Slot {
        let start = self.heap.len() as u32;
        put_prefix(&mut self.heap, node.name);
        put_value(&mut self.heap, node.kind, node.text);
        Slot {
            kind: node.kind as u8,
            name_len: node.name.map_or(NO_NAME, |n| n.len() as u16),
            start,
            len: self.heap.len() as u32 - start,
            up: node.up,
            extent: node.extent,
            count: node.count,
            changed: node.changed.0,
        }
    }

    fn live(&mut self, slot: u8) -> Result<&mut Slot, Damaged> {
        self.slots
            .get_mut(slot as usize)
            .filter(|s| s.kind != 0)
            .ok_or(Damaged::new("a change of a node that is not there"))
    }

    pub fn set(&mut self, slot: u8, kind: Kind, text: &[u8], csn: Csn) -> Result<(), Damaged> {
        let node = *self.live(slot)?;
        let prefix = node.start as usize..node.start as usize + prefix_len(node.name_len);
        let start = self.heap.len() as u32;
        self.heap.extend_from_within(prefix);
        put_value(&mut self.heap, kind, text);
        let len = self.heap.len() as u32 - start;
        self.slots[slot as usize] = Slot { kind: kind as u8, start, len, changed: csn.0, ..node };
        Ok(())
    }

    /// Gives the node another name, or none.
    fn rename(&mut self, slot: u8, name: Option<&[u8]>, csn: Csn) -> Result<(), Damaged> {
        let node = *self.live(slot)?;
        let value =
            node.start as usize + prefix_len(node.name_len)..(node.start + node.len) as usize;
        let start = self.heap.len() as u32;
        put_prefix(&mut self.heap, name);
        self.heap.extend_from_within(value);
        let len = self.heap.len() as u32 - start;
        let name_len = name.map_or(NO_NAME, |n| n.len() as u16);
        self.slots[slot as usize] = Slot { name_len, start, len, changed: csn.0, ..node };
        Ok(())
    }

    /// Applies a delta as the commit `csn`.
    pub fn apply(&mut self, csn: Csn, delta: &[u8]) -> Result<(), Damaged> {
        let mut input = Reader::new(delta);
        while !input.is_empty() {
            match Op::decode(&mut input)? {
                Op::Set { slot, kind, text } => self.set(slot, kind, text, csn)?,
                Op::Rename { slot, name } => self.rename(slot, Some(name), csn)?,
                Op::Remove { slot, count } => {
                    for slot in slot as usize..slot as usize + count {
                        let node = self
                            .slots
                            .get_mut(slot)
                            .ok_or(Damaged::new("a removal past the end"))?;
                        if node.kind != 0 {
                            *node = Slot { extent: node.extent, changed: csn.0, ..EMPTY };
                            self.placed.retain(|(placed, ..)| *placed as usize != slot);
                        }
                    }
                }
                Op::Insert { slot, node, place } => {
                    self.insert(slot, &Node { changed: csn, ..node }, place)?
                }
                Op::Place { slot, up, place, name } => {
                    self.rename(slot, name, csn)?;
                    let node = self.live(slot)?;
                    (node.up, node.changed) = (up, csn.0);
                    self.placed.retain(|(placed, ..)| *placed != slot);
                    self.placed.extend(place.map(|(parent, label)| (slot, parent, label)));
                }
                Op::Count { slot, count } => {
                    let node = self.live(slot)?;
                    (node.count, node.changed) = (count, csn.0);
                }
                Op::Header(header, shaped) => {
                    let shape = if shaped { csn } else { self.header.map_or(csn, |h| h.shape) };
                    self.header = Some(Header { shape, ..header });
                }
            }
        }
        Ok(())
    }

    /// A new node in a slot that was never used, or the node that was removed from it come back.
    fn insert(
        &mut self,
        slot: u8,
        node: &Node<'_>,
        place: Option<(NodeKey, Label)>,
    ) -> Result<(), Damaged> {
        let at = slot as usize;
        if self.slots.len() <= at {
            self.push_at(at, node);
        } else {
            if self.slots[at].kind != 0 || ![0, node.extent].contains(&self.slots[at].extent) {
                return Err(Damaged::new("an insertion where a node is"));
            }
            self.slots[at] = self.slot_of(node);
        }
        self.placed.extend(place.map(|(parent, label)| (slot, parent, label)));
        Ok(())
    }

    /// As [`Chunk::probe`].
    #[inline]
    pub fn probe(&self, slot: usize) -> Probe {
        self.slots.get(slot).map_or(Probe::NONE, |s| Probe {
            kind: Kind::from_u8(s.kind),
            up: s.up,
            extent: s.extent,
        })
    }

    /// As [`Chunk::node`].
    pub fn node(&self, slot: usize) -> Option<Node<'_>> {
        let s = self.slots.get(slot)?;
        let kind = Kind::from_u8(s.kind)?;
        let (name, text) =
            cut(kind, s.name_len, &self.heap[s.start as usize..(s.start + s.len) as usize]);
        Some(Node {
            kind,
            up: s.up,
            extent: s.extent,
            count: s.count,
            changed: Csn(s.changed),
            name,
            text,
        })
    }

    /// True if no node is left.
    pub fn is_dead(&self) -> bool {
        self.slots.iter().all(|s| s.kind == 0)
    }

    /// Appends the image.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut placed = Vec::new();
        for (slot, parent, label) in &self.placed {
            placed.push(*slot);
            put_varint(&mut placed, parent.0);
            label.encode(&mut placed);
        }
        let rows = self.slots.iter().map(|s| Row {
            kind: s.kind,
            name_len: s.name_len,
            frag_len: s.len,
            up: s.up,
            extent: s.extent,
            count: s.count,
            changed: s.changed,
        });
        image::encode(out, self.header.as_ref(), rows, &placed);
        for slot in &self.slots {
            out.extend_from_slice(
                &self.heap[slot.start as usize..(slot.start + slot.len) as usize],
            );
        }
    }
}
