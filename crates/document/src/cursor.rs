//! A cursor that reads one node after the other, for walks in about the order of keys.
//!
//! ```text
//!   chunk 3   | image, cut into columns |   heap ,"age":42 ,"name":...
//!                            ^ next slot            ^ where its fragment starts
//! ```
//!
//! To read a node, the cursor finds the columns in the image of its chunk and adds up the lengths of the
//! fragments before it. A [`Cursor`] keeps both from one node to the next, and reads only the columns that a
//! serialiser needs.

use crate::chunk::Chunk;
use crate::image::Image;
use crate::line::{ShortText, Text};
use crate::node::{CHUNK_NODES, NO_NAME, prefix_len, put_value};
use crate::tree::Tree;
use crate::{NodeKey, Result};
use json::Kind;
use std::ops::Range;

/// Looks at the nodes of a tree.
pub(crate) struct Cursor<'a> {
    tree: &'a Tree,
    /// The number of the chunk that it is in, and the chunk, where there is one.
    number: Option<u32>,
    chunk: Option<(&'a Chunk, Image<'a>)>,
    /// The slot after the one that was looked at last, and where its fragment starts: mostly, that is the
    /// next to be looked at.
    next: (usize, usize),
    /// How many values laid over slots of the chunk stand before the one that was looked at last.
    patch: usize,
}

/// The parts of a node that a serialiser needs.
pub(crate) struct NodeView<'a> {
    pub kind: Kind,
    /// The field's name, escaped and without quotes.
    pub name: Option<Text<'a>>,
    /// Keys taken by the node and what was created with it below it.
    pub extent: u32,
    /// Children, for containers.
    pub count: u32,
    /// A scalar as JSON; a string without its quotes where it was changed since its image was made.
    text: Text<'a>,
    is_changed: bool,
}

impl<'a> NodeView<'a> {
    /// A scalar, if it is short and stands in the heap as it is written.
    #[inline(always)]
    pub fn short(&self) -> Option<ShortText<'a>> {
        let is_as_written = !self.kind.is_container() && !self.is_changed;
        self.text.short().filter(|_| is_as_written)
    }

    /// Appends a scalar.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.is_changed {
            put_value(out, self.kind, self.text.as_bytes());
        } else {
            self.text.put(out);
        }
    }
}

impl<'a> Cursor<'a> {
    /// A cursor that is in no chunk yet.
    pub fn new(tree: &'a Tree) -> Cursor<'a> {
        Cursor { tree, number: None, chunk: None, next: (0, 0), patch: 0 }
    }

    /// Goes into the chunk of a node; false if that has no slot for it.
    #[inline(always)]
    fn enter(&mut self, key: NodeKey) -> Result<bool> {
        if self.number != Some(key.chunk()) {
            let chunk = self.tree.chunk(key.chunk())?;
            self.chunk = chunk.map(|chunk| (&**chunk, chunk.image()));
            (self.number, self.next, self.patch) = (Some(key.chunk()), (0, 0), 0);
        }
        Ok(self.chunk.as_ref().is_some_and(|(_, image)| key.slot() < image.kinds.len()))
    }

    /// The node in a slot of the chunk that it is in, unless it was removed.
    #[inline(always)]
    fn see(&mut self, slot: usize, extent: u32) -> Option<NodeView<'a>> {
        let (chunk, image) = self.chunk.as_ref()?;
        let kind = Kind::from_u8(image.kinds[slot])?;
        if slot < self.next.0 {
            self.patch = 0;
        }
        let start = match self.next {
            (next, start) if next == slot => start,
            (next, start) if next < slot => start + image.frags_len(next..slot),
            _ => image.frag_start(slot),
        };
        let len = image.frag_len(slot);
        self.next = (slot + 1, start + len);
        let heap = &image.heap[start..];
        let name_len = image.name_len(slot);
        let prefix = prefix_len(name_len);
        let mut seen = NodeView {
            kind,
            name: (name_len != NO_NAME).then(|| Text::new(&heap[2..], name_len.into())),
            extent,
            count: if kind.is_container() { image.count(slot) } else { 0 },
            text: Text::new(&heap[prefix..], len - prefix),
            is_changed: false,
        };
        let patches = chunk.patches();
        while patches.get(self.patch).is_some_and(|patch| (patch.slot as usize) < slot) {
            self.patch += 1;
        }
        if let Some(patch) = patches.get(self.patch).filter(|patch| patch.slot as usize == slot) {
            let text = chunk.patch_text(patch);
            (seen.kind, seen.text) = (patch.kind, Text::new(text, text.len()));
            seen.is_changed = true;
        }
        Some(seen)
    }

    /// Distance to the parent, and keys taken, of a slot of the chunk that it is in.
    #[inline(always)]
    fn place(&self, slot: usize) -> (u32, u32) {
        match &self.chunk {
            Some((_, image)) => (image.up(slot), image.extent(slot)),
            None => (0, 0),
        }
    }

    /// The node with this key, unless it is not there.
    pub fn look(&mut self, key: NodeKey) -> Result<Option<NodeView<'a>>> {
        if !self.enter(key)? {
            return Ok(None);
        }
        let (_, extent) = self.place(key.slot());
        Ok(self.see(key.slot(), extent))
    }

    /// The first child of `parent` in `keys` that stands where its key says; it and what was passed over
    /// are taken off `keys`.
    #[inline(always)]
    pub fn next_child(
        &mut self,
        parent: NodeKey,
        keys: &mut Range<u64>,
    ) -> Result<Option<(NodeKey, NodeView<'a>)>> {
        while keys.start < keys.end {
            let key = NodeKey(keys.start);
            if !self.enter(key)? {
                keys.start = (keys.start | (CHUNK_NODES as u64 - 1)) + 1;
                continue;
            }
            let (up, extent) = self.place(key.slot());
            keys.start += extent.max(1) as u64;
            if up as u64 == key.0 - parent.0
                && let Some(seen) = self.see(key.slot(), extent)
            {
                return Ok(Some((key, seen)));
            }
        }
        Ok(None)
    }
}
