//! A chunk: the nodes of a document whose keys share all but their low 8 bits, as one value of the
//! store.
//!
//! Node keys are dense, so the chunk of a node is arithmetic (`key >> 8`) and a chunk never splits:
//! an edit is a small delta of the chunk that holds the node, whatever the size of the document.
//!
//! ```text
//!   image     head | document header (chunk 0) | kinds | name lens | text lens | ups | extents | counts | changed | placed | heap
//!                                                 └────────── one entry a slot, fixed width ───────────────┘
//!   heap      ,"title":"Anywhen" ,"tags":[ ,"a" ,"b" ,12 ...
//! ```
//!
//! * The heap holds for each node the *fragment* of JSON text that it opens with, its comma included:
//!   name and value for a scalar, name and bracket for a container. Writing a document is copying
//!   fragments in order and adding the closing brackets; siblings in a row are one copy.
//! * `up` is the distance to the parent's key. 0 says that the node is the root, or *placed*: put
//!   between others after its document was read, or moved. A placed node has an entry in `placed`
//!   with its parent and its [`Label`].
//! * `extent` is how many keys the node and what was created below it with it take: the key of the
//!   next sibling is `key + extent`. It never changes, not even by removal, so a reader can step
//!   over a subtree without reading it.
//! * `changed` is the commit that last changed the node, for a container also the number of its
//!   children; 0 stands for the commit of the image.
//! * A removed node keeps its slot, with kind 0, its extent, and the commit that removed it.
//!
//! A [`Chunk`] is an image with a few changed values laid over it, so that reading an old version
//! of a document copies nothing but those values.
//!
//! Invariants: fragment lengths add up to the heap; a chunk has at most 256 slots; a placed node has
//! `up` 0 and one entry in `placed`, and no other node has one.

use crate::NodeKey;
use crate::codec::{Reader, put_varint};
use crate::error::Damaged;
use crate::order::Label;
use json::Kind;
use smallvec::SmallVec;
use std::sync::Arc;
use store::{Csn, Versioned};

/// Node keys a chunk covers.
pub const CHUNK_NODES: usize = 256;
/// In `name_lens`: the node has no name (an array element, or the root).
pub(crate) const NO_NAME: u16 = u16::MAX;
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 12;
const HEADER_BYTES: usize = 56;
const SLOT_BYTES: usize = 1 + 2 + 4 + 4 + 4 + 4 + 8;

/// What is known of a document as a whole; lives in its chunk 0.
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

/// The columns of an image.
#[derive(Clone, Copy)]
pub(crate) struct Image<'a> {
    pub header: Option<Header>,
    pub kinds: &'a [u8],
    pub name_lens: &'a [[u8; 2]],
    pub frag_lens: &'a [[u8; 4]],
    pub ups: &'a [[u8; 4]],
    pub extents: &'a [[u8; 4]],
    pub counts: &'a [[u8; 4]],
    pub changed: &'a [[u8; 8]],
    pub placed: &'a [u8],
    pub heap: &'a [u8],
}

fn column<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    bytes.as_chunks::<N>().0
}

impl<'a> Image<'a> {
    /// Cuts the columns out of an image and checks that they fit each other.
    pub fn parse(bytes: &'a [u8]) -> Result<Image<'a>, Damaged> {
        let mut input = Reader::new(bytes);
        let (version, flags) = (input.u8()?, input.u8()?);
        if version != VERSION || flags > 1 {
            return Err(Damaged::new("an unknown version of a chunk"));
        }
        let slots = input.u16()? as usize;
        let (heap, placed) = (input.u32()? as usize, input.u32()? as usize);
        if slots > CHUNK_NODES {
            return Err(Damaged::new("a chunk with too many slots"));
        }
        let header = match flags {
            0 => None,
            _ => Some(Header {
                next_key: input.u64()?,
                root: input.u64()?,
                nodes: input.u64()?,
                placed: input.u64()?,
                shape: Csn(input.u64()?),
                digest: input.u64()? as u128 | (input.u64()? as u128) << 64,
            }),
        };
        let image = Image {
            header,
            kinds: input.bytes(slots)?,
            name_lens: column(input.bytes(slots * 2)?),
            frag_lens: column(input.bytes(slots * 4)?),
            ups: column(input.bytes(slots * 4)?),
            extents: column(input.bytes(slots * 4)?),
            counts: column(input.bytes(slots * 4)?),
            changed: column(input.bytes(slots * 8)?),
            placed: input.bytes(placed)?,
            heap: input.bytes(heap)?,
        };
        if !input.is_empty() {
            return Err(Damaged::new("a chunk with bytes left over"));
        }
        Ok(image)
    }

    /// [`parse`](Image::parse), and checks that the fragments add up to the heap and names fit them.
    pub fn parse_checked(bytes: &'a [u8]) -> Result<Image<'a>, Damaged> {
        let image = Image::parse(bytes)?;
        let fits = |slot: usize| {
            image.kinds[slot] == 0 || prefix_len(image.name_len(slot)) < image.frag_len(slot)
        };
        if image.frag_start(image.kinds.len()) != image.heap.len()
            || !(0..image.kinds.len()).all(fits)
        {
            return Err(Damaged::new("a chunk whose fragments do not add up"));
        }
        Ok(image)
    }

    /// Where in the heap the fragment of `slot` starts.
    #[inline]
    pub fn frag_start(&self, slot: usize) -> usize {
        self.frag_lens[..slot].iter().map(|len| u32::from_le_bytes(*len) as usize).sum()
    }

    #[inline]
    pub fn frag_len(&self, slot: usize) -> usize {
        u32::from_le_bytes(self.frag_lens[slot]) as usize
    }

    #[inline]
    pub fn name_len(&self, slot: usize) -> u16 {
        u16::from_le_bytes(self.name_lens[slot])
    }

    #[inline]
    pub fn up(&self, slot: usize) -> u32 {
        u32::from_le_bytes(self.ups[slot])
    }

    #[inline]
    pub fn extent(&self, slot: usize) -> u32 {
        u32::from_le_bytes(self.extents[slot])
    }
}

/// What can be said of a slot without reading texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub kind: Option<Kind>,
    pub up: u32,
    pub extent: u32,
}

impl Probe {
    pub const NONE: Probe = Probe { kind: None, up: 0, extent: 0 };
}

/// A value laid over an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patch {
    pub slot: u8,
    pub kind: Kind,
    changed: Csn,
    start: u32,
    len: u32,
}

#[derive(Clone)]
enum Base {
    Own(Arc<[u8]>),
    Stored(Box<Versioned>),
}

/// The nodes of one chunk at one version.
#[derive(Clone)]
pub struct Chunk {
    base: Base,
    base_csn: Csn,
    /// Sorted by slot, one a slot.
    patches: SmallVec<[Patch; 2]>,
    patch_text: SmallVec<[u8; 32]>,
}

impl Chunk {
    /// A chunk over an image of its own; `csn` is the commit that `changed` = 0 stands for.
    pub fn from_image(image: Vec<u8>, csn: Csn) -> Result<Chunk, Damaged> {
        Image::parse_checked(&image)?;
        Ok(Chunk {
            base: Base::Own(image.into()),
            base_csn: csn,
            patches: SmallVec::new(),
            patch_text: SmallVec::new(),
        })
    }

    /// A chunk as the store holds it: where its deltas only set values they are laid over the
    /// stored image, otherwise a new image is made.
    pub fn from_stored(stored: Versioned) -> Result<Chunk, Damaged> {
        let mut patches: SmallVec<[Patch; 2]> = SmallVec::new();
        let mut patch_text: SmallVec<[u8; 32]> = SmallVec::new();
        let mut seen = [0u64; CHUNK_NODES / 64];
        // Newest first: the first value met for a slot is the one that counts.
        for (csn, delta) in stored.deltas().rev() {
            let Some(sets) = only_sets(delta) else {
                return Chunk::from_buf(ChunkBuf::from_stored(&stored)?, stored.base_csn());
            };
            for set in sets {
                let (kind, slot, text) = set?;
                let bit = 1u64 << (slot % 64);
                if seen[slot as usize / 64] & bit == 0 {
                    seen[slot as usize / 64] |= bit;
                    let start = patch_text.len() as u32;
                    patch_text.extend_from_slice(text);
                    patches.push(Patch { slot, kind, changed: csn, start, len: text.len() as u32 });
                }
            }
        }
        patches.sort_unstable_by_key(|p| p.slot);
        let image = Image::parse_checked(stored.base())?;
        if patches.last().is_some_and(|p| p.slot as usize >= image.kinds.len()) {
            return Err(Damaged::new("a value for a node that is not there"));
        }
        let base_csn = stored.base_csn();
        Ok(Chunk { base: Base::Stored(Box::new(stored)), base_csn, patches, patch_text })
    }

    fn from_buf(buf: ChunkBuf, csn: Csn) -> Result<Chunk, Damaged> {
        let mut image = Vec::new();
        buf.encode(&mut image);
        Chunk::from_image(image, csn)
    }

    /// This chunk with a delta applied, as the commit `csn` would leave it.
    pub fn with_delta(&self, csn: Csn, delta: &[u8]) -> Result<Chunk, Damaged> {
        let mut buf = ChunkBuf::from_chunk(self);
        buf.apply(csn, delta)?;
        Chunk::from_buf(buf, csn)
    }

    /// The same chunk, holding nothing of the store's cache: for keeping.
    pub fn detached(self) -> Result<Chunk, Damaged> {
        match self.base {
            Base::Own(_) if self.patches.is_empty() => Ok(self),
            _ => Chunk::from_buf(ChunkBuf::from_chunk(&self), self.base_csn),
        }
    }

    /// The image as bytes, where nothing is laid over it.
    pub(crate) fn image_bytes(&self) -> Option<&[u8]> {
        self.patches.is_empty().then(|| self.base_bytes())
    }

    #[inline]
    fn base_bytes(&self) -> &[u8] {
        match &self.base {
            Base::Own(bytes) => bytes,
            Base::Stored(stored) => stored.base(),
        }
    }

    /// The columns below the patches.
    #[inline]
    pub(crate) fn image(&self) -> Image<'_> {
        Image::parse(self.base_bytes()).expect("parsed when the chunk was made")
    }

    /// The values laid over the image, by slot.
    #[inline]
    pub(crate) fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The text of a patch.
    #[inline]
    pub(crate) fn patch_text(&self, patch: &Patch) -> &[u8] {
        &self.patch_text[patch.start as usize..(patch.start + patch.len) as usize]
    }

    /// What chunk 0 says of the document.
    pub fn header(&self) -> Option<Header> {
        let header = self.image().header?;
        let shape = if header.shape == Csn(0) { self.base_csn } else { header.shape };
        Some(Header { shape, ..header })
    }

    /// Slots in use: alive or removed.
    pub fn slots(&self) -> usize {
        self.image().kinds.len()
    }

    /// Bytes held, for accounting.
    pub fn bytes(&self) -> usize {
        self.base_bytes().len() + self.patch_text.len() + std::mem::size_of::<Chunk>()
    }

    /// The node at `slot`, unless it was removed or never was.
    pub fn node(&self, slot: usize) -> Option<Node<'_>> {
        let image = self.image();
        if slot >= image.kinds.len() || image.kinds[slot] == 0 {
            return None;
        }
        let start = image.frag_start(slot);
        let (name, text) = cut(
            Kind::from_u8(image.kinds[slot])?,
            image.name_len(slot),
            &image.heap[start..start + image.frag_len(slot)],
        );
        let mut node = Node {
            kind: Kind::from_u8(image.kinds[slot])?,
            up: image.up(slot),
            extent: image.extent(slot),
            count: u32::from_le_bytes(image.counts[slot]),
            changed: self.changed_of(&image, slot),
            name,
            text,
        };
        if let Some(patch) = self.patch(slot) {
            node.kind = patch.kind;
            node.text = self.patch_text(patch);
            node.changed = patch.changed;
        }
        Some(node)
    }

    #[inline]
    fn patch(&self, slot: usize) -> Option<&Patch> {
        if self.patches.is_empty() {
            return None;
        }
        self.patches
            .binary_search_by_key(&slot, |p| p.slot as usize)
            .ok()
            .map(|at| &self.patches[at])
    }

    fn changed_of(&self, image: &Image<'_>, slot: usize) -> Csn {
        match u64::from_le_bytes(image.changed[slot]) {
            0 => self.base_csn,
            csn => Csn(csn),
        }
    }

    /// Calls `found` with the slots, alive or removed, that changed after `csn`.
    pub(crate) fn changed_after(&self, csn: Csn, mut found: impl FnMut(u8)) {
        let image = self.image();
        let mut patches = self.patches.iter().peekable();
        for (slot, changed) in image.changed.iter().enumerate() {
            let patch = patches.next_if(|p| p.slot as usize == slot);
            let changed = match (patch, u64::from_le_bytes(*changed)) {
                (Some(patch), _) => patch.changed,
                (None, 0) => self.base_csn,
                (None, changed) => Csn(changed),
            };
            if changed > csn {
                found(slot as u8);
            }
        }
    }

    /// The commit that removed the node of a slot; `None` where there is one, or never was.
    pub(crate) fn removed(&self, slot: usize) -> Option<Csn> {
        let image = self.image();
        let dead = slot < image.kinds.len() && image.kinds[slot] == 0 && image.extent(slot) != 0;
        dead.then(|| self.changed_of(&image, slot))
    }

    /// Kind (`None`: removed or never there), `up` and extent of a slot, without its texts.
    #[inline]
    pub(crate) fn probe(&self, slot: usize) -> Probe {
        let bytes = self.base_bytes();
        let slots = u16::from_le_bytes([bytes[2], bytes[3]]) as usize;
        if slot >= slots {
            return Probe::NONE;
        }
        let columns = HEAD_BYTES + if bytes[1] != 0 { HEADER_BYTES } else { 0 };
        let word = |column: usize| {
            let at = columns + slots * column + slot * 4;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let kind = Kind::from_u8(bytes[columns + slot]);
        let kind =
            kind.map(|k| if k.is_container() { k } else { self.patch(slot).map_or(k, |p| p.kind) });
        Probe { kind, up: word(7), extent: word(11) }
    }

    /// The placed nodes: slot, parent, label.
    pub fn placed(&self) -> impl Iterator<Item = Result<(u8, NodeKey, Label), Damaged>> + '_ {
        placed(self.image().placed)
    }
}

fn placed(bytes: &[u8]) -> impl Iterator<Item = Result<(u8, NodeKey, Label), Damaged>> + '_ {
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

/// The sets of a delta that does nothing else: (kind, slot, text).
#[inline]
#[allow(clippy::type_complexity)]
fn only_sets(
    delta: &[u8],
) -> Option<impl Iterator<Item = Result<(Kind, u8, &[u8]), Damaged>> + '_> {
    let mut probe = Reader::new(delta);
    while !probe.is_empty() {
        read_set(&mut probe).ok()?;
    }
    let mut input = Reader::new(delta);
    Some(std::iter::from_fn(move || (!input.is_empty()).then(|| read_set(&mut input))))
}

#[inline]
pub(crate) fn read_set<'a>(input: &mut Reader<'a>) -> Result<(Kind, u8, &'a [u8]), Damaged> {
    let tag = input.u8()?;
    let kind =
        Kind::from_u8(tag).filter(|k| !k.is_container()).ok_or(Damaged::new("not a value"))?;
    let slot = input.u8()?;
    let len = if has_text(kind) { input.varint()? as usize } else { 0 };
    Ok((kind, slot, input.bytes(len)?))
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

fn put_prefix(out: &mut Vec<u8>, name: Option<&[u8]>) {
    out.push(b',');
    if let Some(name) = name {
        out.push(b'"');
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
    }
}

/// The name and the value's text of a fragment.
fn cut(kind: Kind, name_len: u16, frag: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let (prefix, value) = frag.split_at(prefix_len(name_len));
    let name = (name_len != NO_NAME).then(|| &prefix[2..prefix.len() - 2]);
    let text = match kind {
        Kind::String => &value[1..value.len() - 1],
        Kind::Number => value,
        _ => &[],
    };
    (name, text)
}

/// True for the kinds whose value is written out; literals are said by their kind alone.
pub(crate) fn has_text(kind: Kind) -> bool {
    matches!(kind, Kind::Number | Kind::String)
}

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
    fn from_image(image: &Image<'_>, csn: Csn) -> Result<ChunkBuf, Damaged> {
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
                    count: u32::from_le_bytes(image.counts[slot]),
                    changed: match u64::from_le_bytes(image.changed[slot]) {
                        0 => csn.0,
                        changed => changed,
                    },
                }
            })
            .collect();
        let placed = placed(image.placed).collect::<Result<_, _>>()?;
        let shape = |header: Header| if header.shape == Csn(0) { csn } else { header.shape };
        let header = image.header.map(|header| Header { shape: shape(header), ..header });
        Ok(ChunkBuf { header, slots, heap: image.heap.to_vec(), placed })
    }

    pub fn from_chunk(chunk: &Chunk) -> ChunkBuf {
        let mut buf = ChunkBuf::from_image(&chunk.image(), chunk.base_csn)
            .expect("parsed when the chunk was made");
        for patch in &chunk.patches {
            buf.set(patch.slot, patch.kind, chunk.patch_text(patch), patch.changed)
                .expect("checked when the chunk was made");
        }
        buf
    }

    fn from_stored(stored: &Versioned) -> Result<ChunkBuf, Damaged> {
        let mut buf =
            ChunkBuf::from_image(&Image::parse_checked(stored.base())?, stored.base_csn())?;
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
        let mut buf = ChunkBuf::from_image(&Image::parse_checked(base)?, base_csn)?;
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

    fn set(&mut self, slot: u8, kind: Kind, text: &[u8], csn: Csn) -> Result<(), Damaged> {
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

    /// True where no node is left.
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
        let heap: u32 = self.slots.iter().map(|s| s.len).sum();
        out.reserve(
            HEAD_BYTES
                + HEADER_BYTES
                + self.slots.len() * SLOT_BYTES
                + placed.len()
                + heap as usize,
        );
        out.extend_from_slice(&[VERSION, self.header.is_some() as u8]);
        out.extend_from_slice(&(self.slots.len() as u16).to_le_bytes());
        out.extend_from_slice(&heap.to_le_bytes());
        out.extend_from_slice(&(placed.len() as u32).to_le_bytes());
        if let Some(header) = &self.header {
            out.extend_from_slice(&header.next_key.to_le_bytes());
            out.extend_from_slice(&header.root.to_le_bytes());
            out.extend_from_slice(&header.nodes.to_le_bytes());
            out.extend_from_slice(&header.digest.to_le_bytes());
        }
        out.extend(self.slots.iter().map(|s| s.kind));
        out.extend(self.slots.iter().flat_map(|s| s.name_len.to_le_bytes()));
        out.extend(self.slots.iter().flat_map(|s| s.len.to_le_bytes()));
        out.extend(self.slots.iter().flat_map(|s| s.up.to_le_bytes()));
        out.extend(self.slots.iter().flat_map(|s| s.extent.to_le_bytes()));
        out.extend(self.slots.iter().flat_map(|s| s.count.to_le_bytes()));
        out.extend(self.slots.iter().flat_map(|s| s.changed.to_le_bytes()));
        out.extend_from_slice(&placed);
        for slot in &self.slots {
            out.extend_from_slice(
                &self.heap[slot.start as usize..(slot.start + slot.len) as usize],
            );
        }
    }
}

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
    /// The document's header, its shape aside: whether that is of this commit is said beside it.
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
