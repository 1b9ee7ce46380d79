//! The writes of a draft, and the version that it makes.
//!
//! ```text
//!   window 1   window 2   window 3 ...            nodes of a large value, from left to right
//!       └──────────┴── give ──> transaction       chunks that the windows have passed: the draft forgets them
//!                                 finish ──>      the rest, and the new version for the cache if it is not large
//! ```
//!
//! # Invariants
//! * Later changes of a chunk that was given away are deltas upon what was given: they touch other nodes of it.
//! * A draft that has given something away makes no version for the cache, and none of its nodes that were given away is
//!   read through it again.

use super::{Draft, Valued, Work};
use crate::chunk::Chunk;
use crate::delta::Op as Step;
use crate::limits::LARGE_BYTES;
use crate::node::Header;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{Csn, Op};

/// A draft that holds more chunks than this gives some away.
const CHUNKS_MAX: usize = if cfg!(test) { 1 } else { 512 };

/// A large draft writes a chunk anew if its delta has more than this part of the bytes of the chunk. Files take whole
/// chunks, and deltas go through the log.
const DELTA_PART_MAX: usize = 8;

/// The change of a draft to one chunk.
pub(crate) enum Write {
    Put(Vec<u8>),
    Delta(Vec<u8>),
    Delete,
}

impl From<Write> for Op {
    fn from(write: Write) -> Op {
        match write {
            Write::Put(image) => Op::Put(image),
            Write::Delta(delta) => Op::Delta(delta),
            Write::Delete => Op::Delete,
        }
    }
}

/// The changes of a draft, chunk by chunk.
pub(crate) type Writes = Vec<(u32, Write)>;

/// Takes the change of a chunk by its number, after earlier ones of the same chunk.
pub(crate) type TakeWrite<'a> = dyn FnMut(u32, Write) -> Result<()> + 'a;

impl Draft {
    /// True if some of its writes were given away.
    pub fn has_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// Gives away the writes of chunks if the draft holds many: of those below chunk `end`, and of those full of new
    /// nodes, but for the chunks of `open`, of which more will change. Nothing is given away if the collection keeps a path
    /// summary, which the end compares with all nodes.
    pub fn give(&mut self, end: u32, open: &[NodeKey], take: &mut TakeWrite<'_>) -> Result<()> {
        if self.work.len() + self.values.len() <= CHUNKS_MAX || self.reshaped.is_some() {
            return Ok(());
        }
        let new = self.base.chunk_count().max(1)..NodeKey(self.header.next_key).chunk();
        let goes = |number: &u32| {
            let is_passed = *number < end || new.contains(number);
            *number > 0 && is_passed && !open.iter().any(|key| key.chunk() == *number)
        };
        let numbers = self.work.keys().chain(self.values.keys()).copied().filter(goes);
        for number in numbers.collect::<Vec<u32>>() {
            let may_put = self.may_put(number);
            let write = match (self.work.remove(&number), self.values.remove(&number)) {
                (Some(work), _) => work.into_write(number, may_put),
                (None, Some(valued)) => Some(valued.into_write(may_put)),
                (None, None) => None,
            };
            if let Some(write) = write {
                take(number, write)?;
            }
            self.given.insert(number);
        }
        Ok(())
    }

    /// The writes for the store, chunk by chunk, and the new version, which waits for the number of its commit; `None`
    /// if it is too large to be kept.
    pub fn finish(mut self) -> Result<(Writes, Option<Sealed>)> {
        if self.shaped {
            self.header.shape = Csn(0);
        }
        if self.shaped || self.header != *self.base.header() {
            self.step(0, Step::Header(self.header, self.shaped))?;
        }
        let is_kept = self.is_kept();
        let numbers = self.values.keys().chain(self.work.keys()).copied();
        let puts: BTreeSet<u32> = numbers.filter(|at| !is_kept && self.may_put(*at)).collect();
        let mut writes = Vec::with_capacity(self.work.len() + self.values.len());
        let mut changed: BTreeMap<u32, Option<Changed>> = BTreeMap::new();
        for (number, valued) in self.values {
            let write = match is_kept && !valued.fresh {
                true => {
                    changed.insert(number, Some(Changed::Valued(valued.chunk)));
                    Write::Delta(valued.delta)
                }
                false => valued.into_write(puts.contains(&number)),
            };
            if let (true, Write::Put(image)) = (is_kept, &write) {
                changed.insert(number, Some(Changed::Image(image.clone())));
            }
            writes.push((number, write));
        }
        for (number, work) in self.work {
            // A new chunk is encoded once, for its write.
            let image = (is_kept && !work.fresh).then(|| work.image(number)).flatten();
            let Some(write) = work.into_write(number, puts.contains(&number)) else { continue };
            if is_kept {
                let image =
                    if let Write::Put(image) = &write { Some(image.clone()) } else { image };
                changed.insert(number, image.map(Changed::Image));
            }
            writes.push((number, write));
        }
        writes.sort_unstable_by_key(|(number, _)| *number);
        let base = self.shared.unwrap_or(self.base);
        let sealed = Sealed { base, header: self.header, changed };
        Ok((writes, is_kept.then_some(sealed)))
    }

    /// True if a chunk that the store has may be written as a whole. A draft upon writes of its own transaction does not know
    /// the commit of its nodes.
    fn may_put(&self, number: u32) -> bool {
        number > 0 && !self.given.contains(&number) && self.base.csn() < Csn::MAX
    }

    /// False if so much changed that the next version is not held in memory beside the writes.
    fn is_kept(&self) -> bool {
        let works = self.work.values().map(|work| work.buf.heap.len());
        let values = self.values.values().map(|valued| valued.chunk.bytes());
        self.given.is_empty() && works.chain(values).sum::<usize>() < LARGE_BYTES
    }

    /// The document as it stands within this draft, which has given nothing away.
    pub fn preview(&self) -> Result<Tree> {
        debug_assert!(self.given.is_empty());
        let worked = self.work.iter().map(|(number, work)| (*number, work.image(*number)));
        let worked = worked.map(|(number, image)| (number, image.map(Changed::Image)));
        let valued = self.values.iter().map(|(number, valued)| {
            (*number, Some(changed_of(valued.chunk.clone(), valued.fresh)))
        });
        let changed = worked.chain(valued).collect();
        let shape = if self.shaped { Csn(0) } else { self.header.shape };
        let base = Arc::clone(self.shared.as_ref().unwrap_or(&self.base));
        Sealed { base, header: Header { shape, ..self.header }, changed }.into_tree(Csn::MAX)
    }
}

impl Valued {
    /// Its write: a whole chunk if the store has none, or if it may be put and the delta is long.
    fn into_write(self, may_put: bool) -> Write {
        let is_long = self.delta.len() > self.chunk.bytes() / DELTA_PART_MAX;
        match self.fresh || may_put && is_long {
            true => Write::Put(self.chunk.to_image()),
            false => Write::Delta(self.delta),
        }
    }
}

impl Work {
    /// True if no node is left and it holds no header.
    fn is_dead(&self, number: u32) -> bool {
        number != 0 && self.buf.is_dead()
    }

    /// Its write as that of [`Valued`]; `None` for a new chunk of which no node is left.
    fn into_write(self, number: u32, may_put: bool) -> Option<Write> {
        if self.is_dead(number) {
            return (!self.fresh).then_some(Write::Delete);
        }
        let is_long = self.delta.len() > self.buf.heap.len() / DELTA_PART_MAX;
        Some(match self.fresh || may_put && is_long {
            true => Write::Put(self.to_image()),
            false => Write::Delta(self.delta),
        })
    }

    /// The chunk's image; `None` if no node is left and it holds no header.
    pub(super) fn image(&self, number: u32) -> Option<Vec<u8>> {
        (!self.is_dead(number)).then(|| self.to_image())
    }

    fn to_image(&self) -> Vec<u8> {
        let mut image = Vec::new();
        self.buf.encode(&mut image);
        image
    }
}

/// A finished draft that waits for the number of its commit.
pub(crate) struct Sealed {
    base: Arc<Tree>,
    header: Header,
    /// `None` for a chunk of which no node is left.
    changed: BTreeMap<u32, Option<Changed>>,
}

/// A chunk of a finished draft.
enum Changed {
    Image(Vec<u8>),
    Valued(Chunk),
}

impl Changed {
    fn into_chunk(self, csn: Csn) -> Result<Chunk> {
        Ok(match self {
            Changed::Image(image) => Chunk::from_image(image, csn)?,
            Changed::Valued(chunk) => chunk.settled(csn)?,
        })
    }
}

impl Sealed {
    /// The new version, at `csn`. Chunks that did not change are shared with the one before.
    pub fn into_tree(self, csn: Csn) -> Result<Tree> {
        let chunk = |changed: Option<Changed>| {
            changed.map(|changed| changed.into_chunk(csn).map(Arc::new)).transpose()
        };
        let changed = self.changed.into_iter().map(|(number, found)| Ok((number, chunk(found)?)));
        let shape = if self.header.shape == Csn(0) { csn } else { self.header.shape };
        self.base.next(csn, Header { shape, ..self.header }, changed.collect::<Result<_>>()?)
    }
}

/// The change of a chunk that is not decoded. A fresh one begins to be with the commit, as its image says.
fn changed_of(chunk: Chunk, fresh: bool) -> Changed {
    if fresh { Changed::Image(chunk.to_image()) } else { Changed::Valued(chunk) }
}
