//! [`Versioned`]: the state of a key at a commit, not yet merged, pinned where it lies.
//!
//! ```text
//!   active memtable        [+44][+52]            part 1 ─┐
//!   frozen memtable  [+31]                       part 0 ─┤ oldest first
//!   block        [image 23]                      base   ─┘
//! ```
//!
//! Making one costs a few reference counts: the base and each stretch of deltas stay in the block or
//! memtable group that holds them. A stretch of deltas whose base lies below (in an older memtable, in
//! a segment) makes the reader go on downwards; the stretches pile up in a [`Gather`] until an anchor
//! is found.
//!
//! # Invariants
//! * Base and parts ascend by commit and leave nothing out.

use crate::block::{Block, GroupSpan};
use crate::error::MergeError;
use crate::group::{Anchor, Deltas, Found, Group, Tag, slice};
use crate::{Csn, Table};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// The owner that keeps bytes alive.
#[derive(Clone)]
pub(crate) enum Owner {
    Block(Arc<Block>),
    Group(Arc<Group>),
}

impl Owner {
    #[inline]
    fn heads(&self) -> &[u8] {
        match self {
            Owner::Block(b) => b.bytes(),
            Owner::Group(g) => g.heads(),
        }
    }

    #[inline]
    fn body(&self) -> &[u8] {
        match self {
            Owner::Block(b) => b.bytes(),
            Owner::Group(g) => g.body(),
        }
    }
}

/// A stretch of deltas.
#[derive(Clone)]
struct Part {
    owner: Owner,
    heads: (u32, u32),
    body: (u32, u32),
    before: u64,
    last: u64,
    count: u32,
}

impl Part {
    fn deltas(&self) -> impl DoubleEndedIterator<Item = (Csn, &[u8])> {
        let heads = slice(self.owner.heads(), self.heads);
        let body = slice(self.owner.body(), self.body);
        Deltas::new(heads, body, self.before, self.last).map(|(csn, bytes)| (Csn(csn), bytes))
    }
}

/// The newest state of a key at or below a commit: a base and the deltas upon it, unmerged.
///
/// Cheap to make and to clone; it pins the memory it points into and nothing else.
#[derive(Clone)]
pub struct Versioned {
    csn: u64,
    base_csn: u64,
    base: (u32, u32),
    owner: Owner,
    parts: SmallVec<[Part; 1]>,
}

impl Versioned {
    /// The commit of the newest change at or below the commit asked for.
    pub fn csn(&self) -> Csn {
        Csn(self.csn)
    }

    /// The commit at which the base was current.
    pub fn base_csn(&self) -> Csn {
        Csn(self.base_csn)
    }

    /// The whole value below the deltas.
    #[inline]
    pub fn base(&self) -> &[u8] {
        slice(self.owner.body(), self.base)
    }

    /// How many deltas stand on the base.
    pub fn delta_count(&self) -> usize {
        self.parts.iter().map(|p| p.count as usize).sum()
    }

    /// Bytes of the deltas.
    pub fn delta_bytes(&self) -> usize {
        self.parts.iter().map(|p| (p.body.1 - p.body.0) as usize).sum()
    }

    /// The deltas, oldest first (or newest first from the back).
    pub fn deltas(&self) -> impl DoubleEndedIterator<Item = (Csn, &[u8])> {
        self.parts.iter().flat_map(Part::deltas)
    }

    /// True if the base is the state: there is nothing to merge.
    #[inline]
    pub fn is_image(&self) -> bool {
        self.parts.is_empty()
    }

    /// The merged value: borrowed where there are no deltas. `table` and `key` are those it was read
    /// with. Fails only where the table's merge does.
    pub fn image(&self, table: &dyn Table, key: &[u8]) -> Result<Cow<'_, [u8]>, MergeError> {
        if self.is_image() {
            return Ok(Cow::Borrowed(self.base()));
        }
        let mut out = Vec::with_capacity(self.base().len() + self.delta_bytes());
        self.image_into(table, key, &mut out)?;
        Ok(Cow::Owned(out))
    }

    /// Appends the merged value to `out`.
    pub fn image_into(
        &self,
        table: &dyn Table,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        merge_into(table, key, self.base_csn(), self.base(), self.deltas(), out)
    }
}

/// Appends to `out` what `deltas` (oldest first) make of `base`, which was current at `base_csn`: `base`
/// itself where there are none. `table` and `key` are those that all of it was read with.
pub fn merge_into<'d>(
    table: &dyn Table,
    key: &[u8],
    base_csn: Csn,
    base: &[u8],
    deltas: impl Iterator<Item = (Csn, &'d [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), MergeError> {
    let mut deltas = deltas.peekable();
    if deltas.peek().is_none() {
        out.extend_from_slice(base);
        return Ok(());
    }
    table.merge(key, base_csn, base, &mut deltas, out)
}

/// The entries of the layers so far about one key at one commit.
#[derive(Default)]
pub(crate) struct Gather {
    /// Newest first, until an anchor is found.
    parts: SmallVec<[Part; 1]>,
    csn: u64,
    /// The key has an entry above the commit asked for.
    pub newer: bool,
}

/// The decision of a layer.
pub(crate) enum Step {
    /// The state is known; `None` is deleted.
    Known(Option<Versioned>),
    /// Look further down.
    Below,
}

impl Gather {
    /// Adds what a memtable group holds.
    #[inline]
    pub fn group(&mut self, group: &Arc<Group>, found: Found) -> Step {
        self.add(|| Owner::Group(group.clone()), found, (0, 0))
    }

    /// Adds what a block holds.
    #[inline]
    pub fn block(&mut self, block: &Arc<Block>, place: &GroupSpan, found: Found) -> Step {
        self.add(|| Owner::Block(block.clone()), found, (place.heads.0, place.body.0))
    }

    #[inline]
    fn add(&mut self, owner: impl Fn() -> Owner, found: Found, origin: (u32, u32)) -> Step {
        let (heads, body) = origin;
        if self.csn == 0 {
            self.csn = found.csn;
        }
        if found.deltas > 0 {
            self.parts.push(Part {
                owner: owner(),
                heads: (heads + found.heads.0, heads + found.heads.1),
                body: (body + found.body.0, body + found.body.1),
                before: found.before,
                last: found.csn,
                count: found.deltas,
            });
        }
        match found.anchor {
            None => Step::Below,
            Some(Anchor { tag: Tag::Delete, .. }) => Step::Known(None),
            Some(a) => Step::Known(Some(Versioned {
                csn: self.csn,
                base_csn: a.csn,
                base: (body + a.start, body + a.start + a.len),
                owner: owner(),
                parts: self.take_parts(),
            })),
        }
    }

    fn take_parts(&mut self) -> SmallVec<[Part; 1]> {
        let mut parts = std::mem::take(&mut self.parts);
        if parts.len() > 1 {
            parts.reverse();
        }
        parts
    }

    /// The newest commit of deltas that found no base.
    pub fn dangling(&self) -> Option<Csn> {
        (!self.parts.is_empty()).then_some(Csn(self.csn))
    }

    /// True if the base looked for lies below deltas already seen.
    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }
}
