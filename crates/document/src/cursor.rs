//! A look at one node after the other, for walks that go about in the order of keys.
//!
//! ```text
//!   chunk 3   | image, cut into columns |   heap ,"age":42 ,"name":...
//!                            ^ next slot            ^ where its fragment starts
//! ```
//! To look at a node is to cut the columns out of the image of its chunk and to add up the fragments before
//! its own. A [`Cursor`] keeps both from one node to the next, and reads no more columns than are asked for
//! by who writes text.

use crate::chunk::{CHUNK_NODES, Chunk, NO_NAME, prefix_len, put_value};
use crate::image::Image;
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
}

/// What a look at a node shows.
pub(crate) struct Seen<'a> {
    pub kind: Kind,
    /// The field's name, escaped and without quotes.
    pub name: Option<&'a [u8]>,
    /// Keys taken by the node and what was created with it below it.
    pub extent: u32,
    /// Children, for containers.
    pub count: u32,
    /// A scalar as JSON; a string without its quotes where it was changed since its image was made.
    text: &'a [u8],
    is_changed: bool,
}

impl Seen<'_> {
    /// Appends a scalar.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.is_changed {
            put_value(out, self.kind, self.text);
        } else {
            out.extend_from_slice(self.text);
        }
    }
}

impl<'a> Cursor<'a> {
    /// A cursor that is nowhere yet.
    pub fn new(tree: &'a Tree) -> Cursor<'a> {
        Cursor { tree, number: None, chunk: None, next: (0, 0) }
    }

    /// Goes into the chunk of a node; false where that has no slot for it.
    #[inline(always)]
    fn enter(&mut self, key: NodeKey) -> Result<bool> {
        if self.number != Some(key.chunk()) {
            let chunk = self.tree.chunk(key.chunk())?;
            self.chunk = chunk.map(|chunk| (&**chunk, chunk.image()));
            (self.number, self.next) = (Some(key.chunk()), (0, 0));
        }
        Ok(self.chunk.as_ref().is_some_and(|(_, image)| key.slot() < image.kinds.len()))
    }

    /// The node in a slot of the chunk that it is in, unless it was removed; one with another `up` is
    /// passed over where one is given.
    #[inline(always)]
    fn see(&mut self, slot: usize, up: Option<u64>) -> Option<Seen<'a>> {
        let (chunk, image) = self.chunk.as_ref()?;
        if up.is_some_and(|up| image.up(slot) as u64 != up) {
            return None;
        }
        let kind = Kind::from_u8(image.kinds[slot])?;
        let start = match self.next {
            (next, start) if next == slot => start,
            (next, start) if next < slot => start + image.frags_len(next..slot),
            _ => image.frag_start(slot),
        };
        let end = start + image.frag_len(slot);
        self.next = (slot + 1, end);
        let fragment = &image.heap[start..end];
        let name_len = image.name_len(slot);
        let (prefix, text) = fragment.split_at(prefix_len(name_len));
        let mut seen = Seen {
            kind,
            name: (name_len != NO_NAME).then(|| &prefix[2..prefix.len() - 2]),
            extent: image.extent(slot),
            count: if kind.is_container() { image.count(slot) } else { 0 },
            text,
            is_changed: false,
        };
        if let Some(patch) = chunk.patch(slot) {
            (seen.kind, seen.text) = (patch.kind, chunk.patch_text(patch));
            seen.is_changed = true;
        }
        Some(seen)
    }

    /// The keys that a slot takes, a removed one as well.
    #[inline(always)]
    fn extent(&self, slot: usize) -> u64 {
        self.chunk.as_ref().map_or(1, |(_, image)| image.extent(slot).max(1) as u64)
    }

    /// The node with this key, unless it is not there.
    pub fn look(&mut self, key: NodeKey) -> Result<Option<Seen<'a>>> {
        Ok(if self.enter(key)? { self.see(key.slot(), None) } else { None })
    }

    /// The first child of `parent` in `keys` that stands where its key says; it and what was passed over
    /// are taken off `keys`.
    #[inline(always)]
    pub fn next_child(
        &mut self,
        parent: NodeKey,
        keys: &mut Range<u64>,
    ) -> Result<Option<(NodeKey, Seen<'a>)>> {
        while keys.start < keys.end {
            let key = NodeKey(keys.start);
            if !self.enter(key)? {
                keys.start = (keys.start | (CHUNK_NODES as u64 - 1)) + 1;
                continue;
            }
            keys.start += self.extent(key.slot());
            if let Some(seen) = self.see(key.slot(), Some(key.0 - parent.0)) {
                return Ok(Some((key, seen)));
            }
        }
        Ok(None)
    }
}
