//! A chunk: the nodes of a document whose keys share all but their low 8 bits, as one value of the
//! store.
//!
//! Node keys are dense, so the chunk of a node is arithmetic (`key >> 8`) and a chunk never splits:
//! an edit is a small delta of the chunk that holds the node, whatever the size of the document.
//!
//! ```text
//!   image     head | document header (chunk 0) | columns, one entry a slot | placed | heap
//!   heap      ,"title":"Anywhen" ,"tags":[ ,"a" ,"b" ,12 ...
//! ```
//!
//! * The columns are those of [`crate::image`].
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
use crate::chunk_buf::ChunkBuf;
use crate::codec::Reader;
use crate::delta::{Op, one_short_set, read_set};
use crate::error::Damaged;
use crate::image::{self, Image};
use crate::node::{CHUNK_NODES, Header, NO_NAME, Node, Probe, cut, placed};
use crate::order::Label;
use json::Kind;
use smallvec::SmallVec;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use store::{Csn, Versioned};

/// Values that are left lying over an image from one commit to the next.
const PATCHES_MAX: usize = 16;
/// Bytes of their texts.
const PATCH_BYTES_MAX: usize = 1024;

/// A value laid over an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patch {
    pub slot: u8,
    pub kind: Kind,
    pub changed: Csn,
    start: u32,
    len: u32,
}

#[derive(Clone)]
enum Base {
    Own(Arc<[u8]>),
    Stored(Versioned),
}

/// The nodes of one chunk at one version.
#[derive(Clone)]
pub struct Chunk {
    base: Base,
    pub(crate) base_csn: Csn,
    /// Sorted by slot, one a slot.
    patches: SmallVec<[Patch; 2]>,
    patch_text: SmallVec<[u8; 32]>,
}

impl Chunk {
    /// A chunk over an image of its own; `csn` is the commit that `changed` = 0 stands for.
    pub fn from_image(image: Vec<u8>, csn: Csn) -> Result<Chunk, Damaged> {
        Image::parse(&image)?;
        Ok(Chunk {
            base: Base::Own(image.into()),
            base_csn: csn,
            patches: SmallVec::new(),
            patch_text: SmallVec::new(),
        })
    }

    /// The chunk taken apart, to be changed.
    pub(crate) fn to_buf(&self) -> ChunkBuf {
        let mut buf = ChunkBuf::from_image(&self.image(), self.base_csn)
            .expect("parsed when the chunk was made");
        for patch in self.patches() {
            buf.set(patch.slot, patch.kind, self.patch_text(patch), patch.changed)
                .expect("checked when the chunk was made");
        }
        buf
    }

    /// Lays a value over the image, of a commit that has no number yet.
    pub(crate) fn set(&mut self, slot: u8, kind: Kind, text: &[u8]) -> Result<(), Damaged> {
        if self.probe(slot as usize).kind.is_none() {
            return Err(Damaged::new("a change of a node that is not there"));
        }
        let (start, len) = (self.patch_text.len() as u32, text.len() as u32);
        self.patch_text.extend_from_slice(text);
        let patch = Patch { slot, kind, changed: Csn(0), start, len };
        match self.patches.binary_search_by_key(&slot, |patch| patch.slot) {
            Ok(at) => self.patches[at] = patch,
            Err(at) => self.patches.insert(at, patch),
        }
        Ok(())
    }

    /// The chunk as the commit `csn` leaves it, whose number its new values were waiting for. Where
    /// many values lie over the image a new one is made.
    pub(crate) fn settled(mut self, csn: Csn) -> Result<Chunk, Damaged> {
        if self.patches.len() > PATCHES_MAX || self.patch_text.len() > PATCH_BYTES_MAX {
            return Chunk::from_buf(self.to_buf(), csn);
        }
        for patch in self.patches.iter_mut().filter(|patch| patch.changed == Csn(0)) {
            patch.changed = csn;
        }
        Ok(self)
    }

    /// A chunk as the store holds it: where its deltas only set values they are laid over the
    /// stored image, otherwise a new image is made.
    pub fn from_stored(stored: Versioned) -> Result<Chunk, Damaged> {
        let mut newest = Newest::default();
        let walked = stored.deltas().rev().try_for_each(|(csn, delta)| newest.add(csn, delta));
        match walked {
            ControlFlow::Continue(()) => {}
            ControlFlow::Break(Ok(())) => {
                return Chunk::from_buf(ChunkBuf::from_stored(&stored)?, stored.base_csn());
            }
            ControlFlow::Break(Err(damaged)) => return Err(damaged),
        }
        let Newest { mut patches, patch_text, .. } = newest;
        patches.sort_unstable_by_key(|p| p.slot);
        let image = Image::parse(stored.base())?;
        if patches.last().is_some_and(|p| p.slot as usize >= image.kinds.len()) {
            return Err(Damaged::new("a value for a node that is not there"));
        }
        let base_csn = stored.base_csn();
        Ok(Chunk { base: Base::Stored(stored), base_csn, patches, patch_text })
    }

    /// A chunk of an image with deltas upon it, as a transaction that has changed it sees it.
    pub fn merged<'a>(
        base_csn: Csn,
        base: &[u8],
        deltas: impl Iterator<Item = (Csn, &'a [u8])>,
    ) -> Result<Chunk, Damaged> {
        let mut image = Vec::new();
        ChunkBuf::merge(base_csn, base, &mut { deltas }, &mut image)?;
        Chunk::from_image(image, base_csn)
    }

    fn from_buf(buf: ChunkBuf, csn: Csn) -> Result<Chunk, Damaged> {
        let mut image = Vec::new();
        buf.encode(&mut image);
        Chunk::from_image(image, csn)
    }

    /// The same chunk, holding nothing of the store's cache: for keeping.
    pub fn detached(self) -> Result<Chunk, Damaged> {
        match self.base {
            Base::Own(_) if self.patches.is_empty() => Ok(self),
            _ => Chunk::from_buf(self.to_buf(), self.base_csn),
        }
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
        Image::cut(self.base_bytes())
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

    /// The image with the values laid over it.
    pub(crate) fn to_image(&self) -> Vec<u8> {
        if self.patches.is_empty() {
            return self.base_bytes().to_vec();
        }
        let mut image = Vec::new();
        self.to_buf().encode(&mut image);
        image
    }

    /// The facts about the document in chunk 0.
    pub fn header(&self) -> Option<Header> {
        let header = self.image().header()?;
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
        let kind = Kind::from_u8(image.kinds[slot])?;
        let (name, text) =
            cut(kind, image.name_len(slot), &image.heap[start..start + image.frag_len(slot)]);
        let mut node = Node {
            kind,
            up: image.up(slot),
            extent: image.extent(slot),
            count: image.count(slot),
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

    /// The value laid over a slot, where there is one.
    #[inline]
    pub(crate) fn patch(&self, slot: usize) -> Option<&Patch> {
        if self.patches.is_empty() {
            return None;
        }
        self.patches
            .binary_search_by_key(&slot, |p| p.slot as usize)
            .ok()
            .map(|at| &self.patches[at])
    }

    fn changed_of(&self, image: &Image<'_>, slot: usize) -> Csn {
        match image.changed(slot) {
            0 => self.base_csn,
            csn => Csn(csn),
        }
    }

    /// Calls `found` with the slots, alive or removed, that changed after `csn`.
    pub(crate) fn changed_after(&self, csn: Csn, mut found: impl FnMut(u8)) {
        let image = self.image();
        let mut patches = self.patches.iter().peekable();
        image.each_changed(|slot, changed| {
            let patch = patches.next_if(|p| p.slot as usize == slot);
            let changed = match (patch, changed) {
                (Some(patch), _) => patch.changed,
                (None, 0) => self.base_csn,
                (None, changed) => Csn(changed),
            };
            if changed > csn {
                found(slot as u8);
            }
        });
    }

    /// The commit that removed the node of a slot; `None` if there is one, or never was.
    pub(crate) fn removed(&self, slot: usize) -> Option<Csn> {
        let image = self.image();
        let dead = slot < image.kinds.len() && image.kinds[slot] == 0 && image.extent(slot) != 0;
        dead.then(|| self.changed_of(&image, slot))
    }

    /// Kind (`None`: removed or never there), `up` and extent of a slot, without its texts.
    #[inline]
    pub(crate) fn probe(&self, slot: usize) -> Probe {
        let Some((kind, up, extent)) = image::probe(self.base_bytes(), slot) else {
            return Probe::NONE;
        };
        let kind = Kind::from_u8(kind);
        let kind =
            kind.map(|k| if k.is_container() { k } else { self.patch(slot).map_or(k, |p| p.kind) });
        Probe { kind, up, extent }
    }

    /// Calls `f` with key and name of each child of `parent` that stands where its key says, those of
    /// `keys` that lie in this chunk (which the first of them does), until `f` returns something. The
    /// keys that were passed over are taken off `keys`.
    pub(crate) fn find_child<R>(
        &self,
        keys: &mut Range<u64>,
        parent: NodeKey,
        f: &mut impl FnMut(NodeKey, Option<&[u8]>) -> Option<R>,
    ) -> Option<R> {
        let image = self.image();
        let slots = image.kinds.len();
        let first = keys.start & !(CHUNK_NODES as u64 - 1);
        let mut slot = (keys.start - first) as usize;
        let mut frag = image.frag_start(slot.min(slots));
        while slot < slots && keys.start < keys.end {
            let key = NodeKey(keys.start);
            if image.kinds[slot] != 0 && image.up(slot) as u64 == key.0 - parent.0 {
                let name = match image.name_len(slot) {
                    NO_NAME => None,
                    len => Some(&image.heap[frag + 2..frag + 2 + len as usize]),
                };
                if let Some(found) = f(key, name) {
                    return Some(found);
                }
            }
            let extent = image.extent(slot).max(1);
            keys.start += extent as u64;
            let next = slot + extent as usize;
            frag += image.frags_len(slot..next.min(slots));
            slot = next;
        }
        // Slots behind the last one were never used.
        keys.start = keys.start.max(first + CHUNK_NODES as u64);
        None
    }

    /// The parent and label of the node at `slot`, if it is placed.
    pub fn place(&self, slot: usize) -> Result<Option<(NodeKey, Label)>, Damaged> {
        if self.probe(slot).up != 0 {
            return Ok(None);
        }
        for entry in self.placed() {
            let (placed, parent, label) = entry?;
            if placed as usize == slot {
                return Ok(Some((parent, label)));
            }
        }
        Ok(None)
    }

    /// The placed nodes: slot, parent, label.
    pub fn placed(&self) -> impl Iterator<Item = Result<(u8, NodeKey, Label), Damaged>> + '_ {
        placed(self.image().placed)
    }
}

/// The newest value of each slot, from deltas that come newest first.
#[derive(Default)]
struct Newest {
    /// A bit for each slot that has its value.
    seen: [u64; CHUNK_NODES / 64],
    patches: SmallVec<[Patch; 2]>,
    patch_text: SmallVec<[u8; 32]>,
}

impl Newest {
    #[inline]
    fn has(&self, slot: u8) -> bool {
        self.seen[slot as usize / 64] & 1u64 << (slot % 64) != 0
    }

    /// Takes from the next older delta what is not there yet. Breaks where it does more than set values.
    #[inline(always)]
    fn add(&mut self, csn: Csn, delta: &[u8]) -> ControlFlow<Result<(), Damaged>> {
        // The common case first: of a slot that has a newer value.
        match one_short_set(delta) {
            Some((slot, ..)) if self.has(slot) => ControlFlow::Continue(()),
            _ => match self.add_sets(csn, delta) {
                Ok(true) => ControlFlow::Continue(()),
                Ok(false) => ControlFlow::Break(Ok(())),
                Err(damaged) => ControlFlow::Break(Err(damaged)),
            },
        }
    }

    /// Takes the values of a delta; false if it does more than set values.
    fn add_sets(&mut self, csn: Csn, delta: &[u8]) -> Result<bool, Damaged> {
        let mut input = Reader::new(delta);
        let newer = self.patches.len();
        while let Some(tag) = input.rest().first() {
            if *tag >= Op::SETS_BELOW {
                return Ok(false);
            }
            let (kind, slot, text) = read_set(&mut input)?;
            // Within a delta it is the last value that counts; there may be another delta of its commit.
            let earlier = match self.has(slot) {
                false => None,
                true => match self.patches[newer..].iter().position(|p| p.slot == slot) {
                    None => continue,
                    Some(at) => Some(newer + at),
                },
            };
            self.seen[slot as usize / 64] |= 1u64 << (slot % 64);
            let (start, len) = (self.patch_text.len() as u32, text.len() as u32);
            self.patch_text.extend_from_slice(text);
            let patch = Patch { slot, kind, changed: csn, start, len };
            match earlier {
                Some(at) => self.patches[at] = patch,
                None => self.patches.push(patch),
            }
        }
        Ok(true)
    }
}
