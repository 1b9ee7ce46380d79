//! A document at one version, as a tree to walk.
//!
//! Nodes get keys in document order when they appear, and keep them. So a reader of most documents only
//! counts: the first child of node 7 is node 8, the next sibling of a node is `extent` keys after it.
//! Only the place of a *placed* node, which was inserted between others later or moved, does not follow
//! from its key; a parent finds such children in a small sorted list.
//!
//! ```text
//!   {"a":[1,2],"b":3}                 keys   1 {}   2 a[]   3 1   4 2   5 b
//!   insert 9 before the 2             keys   1 {}   2 a[]   3 1   4 2   5 b   6 9 (placed below 2, between 3 and 4)
//!   children of 2                            3, 6, 4
//! ```
//!
//! A [`Tree`] fetches its chunks when they are first needed, so that looking at one node of a large
//! document costs one chunk. Every walk over a document goes through [`Nodes`], which both a stored
//! tree and a draft (a tree that is being edited) provide.

use crate::chunk::Chunk;
use crate::error::{Damaged, DocumentError};
use crate::large::NODE_BYTES_MIN;
use crate::limits::DEPTH_MAX;
use crate::node::{CHUNK_NODES, Header, Node, Probe};
use crate::order::Label;
use crate::{NodeKey, Result};
use json::jsonb::Jsonb;
use json::{JsonPath, Kind, Step};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use store::Csn;

/// The source of the chunks that a tree does not hold yet.
pub(crate) trait Source: Send + Sync {
    /// One chunk.
    fn chunk(&self, number: u32) -> Result<Option<Chunk>>;
    /// The chunks with these numbers, in order: one scan instead of many look-ups.
    fn chunks(&self, numbers: Range<u32>, each: &mut dyn FnMut(u32, Chunk)) -> Result<()>;
}

/// The placed nodes of a document: (parent, label, key), sorted.
pub(crate) type Placed = Vec<(NodeKey, Label, NodeKey)>;

/// The nodes of a document at one version.
pub struct Tree {
    csn: Csn,
    header: Header,
    chunks: Vec<OnceLock<Option<Arc<Chunk>>>>,
    source: Option<Arc<dyn Source>>,
    /// True if a chunk that follows another one is fetched with those after it.
    reads_ahead: bool,
    placed: OnceLock<Arc<Placed>>,
    /// Positions in long lists of children, shared by all versions of one shape; `None` if they are not kept.
    positions: Option<Arc<Positions>>,
    /// Counts the fetched bytes, if the tree is kept in a cache.
    growth: Option<Arc<Growth>>,
    /// The whole document as a value, once a reader has computed it, if the tree is kept in a cache.
    value: OnceLock<Jsonb>,
    /// The value of an earlier version of the same shape, and the commit of that, until the tree has its own.
    earlier: Mutex<Option<(Csn, Jsonb)>>,
    /// A newer version of the same shape, which is in the cache.
    newest: Option<Arc<Tree>>,
}

/// The bytes by which the states in a cache have grown since the cache measured them last.
#[derive(Default)]
pub(crate) struct Growth(AtomicUsize);

impl Growth {
    /// Adds so many bytes.
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The sum of the bytes.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the sum to 0.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Bytes of a placed node in the list of all, about.
const PLACED_BYTES: usize = size_of::<(NodeKey, Label, NodeKey)>() + 8;

/// So many chunks are fetched at once by a tree that reads ahead.
const READ_AHEAD_CHUNKS: u32 = 64;

/// The average size of a node is computed from at most so many chunks that are not here.
const SAMPLE_CHUNKS: usize = 256;

/// Documents of more chunks than this are not fetched as a whole to find their placed nodes.
const FETCHED_CHUNKS_MAX: u32 = 4_096;

/// Positions are kept for lists of at least so many children.
const POSITIONS_FROM: u32 = 64;

/// The children of one parent, in order.
struct Siblings {
    by_position: Vec<NodeKey>,
    /// Their positions in the order of their keys; `None` if both orders are the same.
    by_key: Option<Vec<u32>>,
}

impl Siblings {
    fn new(by_position: Vec<NodeKey>) -> Siblings {
        let by_key = (!by_position.is_sorted()).then(|| {
            let mut by_key: Vec<u32> = (0..by_position.len() as u32).collect();
            by_key.sort_unstable_by_key(|at| by_position[*at as usize]);
            by_key
        });
        Siblings { by_position, by_key }
    }

    fn bytes(&self) -> usize {
        self.by_position.len() * size_of::<NodeKey>()
            + self.by_key.as_ref().map_or(0, |by_key| by_key.len() * size_of::<u32>())
    }

    fn position(&self, key: NodeKey) -> Option<usize> {
        let Some(by_key) = &self.by_key else { return self.by_position.binary_search(&key).ok() };
        let found = by_key.binary_search_by_key(&key, |at| self.by_position[*at as usize]).ok()?;
        Some(by_key[found] as usize)
    }
}

/// Positions of children in long lists, computed once for all versions with the same structure.
pub(crate) struct Positions {
    known: Mutex<BTreeMap<NodeKey, Arc<Siblings>>>,
    growth: Arc<Growth>,
}

impl Positions {
    fn new(growth: Arc<Growth>) -> Arc<Positions> {
        Arc::new(Positions { known: Mutex::default(), growth })
    }

    fn bytes(&self) -> usize {
        self.known.lock().values().map(|list| list.bytes()).sum()
    }

    fn of(&self, tree: &Tree, parent: NodeKey) -> Result<Arc<Siblings>> {
        if let Some(known) = self.known.lock().get(&parent) {
            return Ok(Arc::clone(known));
        }
        let children = tree.children(parent)?.collect::<Result<_>>()?;
        let found = Arc::new(Siblings::new(children));
        self.growth.add(found.bytes());
        self.known.lock().insert(parent, Arc::clone(&found));
        Ok(found)
    }
}

impl Tree {
    /// A tree that starts from its chunk 0 and fetches the others.
    pub(crate) fn open(
        csn: Csn,
        first: Chunk,
        source: impl FnOnce() -> Arc<dyn Source>,
    ) -> Result<Tree> {
        let header = first.header().ok_or(Damaged::new("a document without a header"))?;
        let count = chunks_below(header.next_key)?;
        let mut chunks = Vec::with_capacity(count);
        chunks.push(OnceLock::from(Some(Arc::new(first))));
        chunks.resize_with(count, OnceLock::new);
        let source = (count > 1).then(source);
        Ok(Tree { header, chunks, source, ..Tree::bare(csn) })
    }

    /// The tree of all its chunks.
    pub(crate) fn of_chunks(csn: Csn, mut chunks: BTreeMap<u32, Chunk>) -> Result<Tree> {
        let header = chunks.get(&0).and_then(Chunk::header);
        let header = header.ok_or(Damaged::new("a document without a header"))?;
        let count = chunks_below(header.next_key)? as u32;
        let chunks = (0..count).map(|number| OnceLock::from(chunks.remove(&number).map(Arc::new)));
        Ok(Tree { header, chunks: chunks.collect(), ..Tree::bare(csn) })
    }

    /// The tree before the first revision: no nodes, and the first key to give out.
    pub(crate) fn nothing(next_key: u64) -> Tree {
        Tree { header: Header { next_key, ..Header::default() }, ..Tree::bare(Csn(0)) }
    }

    /// An empty tree without a source.
    fn bare(csn: Csn) -> Tree {
        Tree {
            csn,
            header: Header::default(),
            chunks: Vec::new(),
            source: None,
            reads_ahead: false,
            placed: OnceLock::new(),
            positions: None,
            growth: None,
            value: OnceLock::new(),
            earlier: Mutex::default(),
            newest: None,
        }
    }

    /// The next version of this tree, at `csn`: it replaces the changed chunks and shares the others, also
    /// those that were not fetched yet.
    pub(crate) fn next(
        &self,
        csn: Csn,
        header: Header,
        mut changed: BTreeMap<u32, Option<Arc<Chunk>>>,
    ) -> Result<Tree> {
        let chunks = (0..chunks_below(header.next_key)? as u32)
            .map(|number| match (changed.remove(&number), self.chunks.get(number as usize)) {
                (Some(chunk), _) => OnceLock::from(chunk),
                (None, Some(cell)) => cell.clone(),
                (None, None) => OnceLock::from(None),
            })
            .collect();
        let same = header.shape == self.header.shape;
        let placed = match self.placed.get() {
            Some(placed) if same => OnceLock::from(Arc::clone(placed)),
            _ => OnceLock::new(),
        };
        let positions = self.positions.clone().filter(|_| same);
        let source = self.source.clone();
        let earlier = match same {
            true => {
                self.value.get().map(|value| (self.csn, value.clone())).or_else(|| self.earlier())
            }
            false => None,
        };
        let earlier = Mutex::new(earlier);
        Ok(Tree { header, chunks, source, placed, positions, earlier, ..Tree::bare(csn) })
    }

    /// Prepares this tree for a cache: it keeps the positions of its nodes, for itself and for other
    /// versions, and counts the bytes that it fetches in `growth`.
    pub(crate) fn kept(mut self, growth: &Arc<Growth>) -> Tree {
        self.positions.get_or_insert_with(|| Positions::new(Arc::clone(growth)));
        self.growth = Some(Arc::clone(growth));
        self
    }

    /// Lets this tree use the positions, and most of the value, of a newer cached version, if that has the
    /// same nodes in the same places.
    pub(crate) fn alike(mut self, newest: &Arc<Tree>) -> Tree {
        if newest.header.shape == self.header.shape {
            self.positions = newest.positions.clone();
            self.newest = Some(Arc::clone(newest));
        }
        self
    }

    /// The newer version of the same shape, where one is kept.
    pub(crate) fn newest(&self) -> Option<&Tree> {
        self.newest.as_deref()
    }

    fn has_grown(&self, bytes: usize) {
        if let Some(growth) = &self.growth {
            growth.add(bytes);
        }
    }

    /// The value that was kept.
    pub(crate) fn kept_value(&self) -> Option<&Jsonb> {
        self.value.get()
    }

    /// The value of an earlier version with the same nodes in the same places, and the commit of that version.
    pub(crate) fn earlier(&self) -> Option<(Csn, Jsonb)> {
        self.earlier.lock().clone()
    }

    /// Keeps the value as long as the tree, if the tree is kept in a cache.
    pub(crate) fn keep_value(&self, value: &Jsonb) {
        if self.growth.is_some() && self.value.set(value.clone()).is_ok() {
            self.has_grown(value.bytes().len());
            self.earlier.lock().take();
        }
    }

    /// The commit whose state this is.
    pub fn csn(&self) -> Csn {
        self.csn
    }

    /// Chunk numbers are below this.
    pub(crate) fn chunk_count(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// A chunk; `None` if all its nodes were removed.
    #[inline]
    pub(crate) fn chunk(&self, number: u32) -> Result<Option<&Arc<Chunk>>> {
        let Some(cell) = self.chunks.get(number as usize) else { return Ok(None) };
        if let Some(chunk) = cell.get() {
            return Ok(chunk.as_ref());
        }
        if self.reads_ahead && number > 0 && self.chunks[number as usize - 1].get().is_some() {
            self.fetch_range(number..number.saturating_add(READ_AHEAD_CHUNKS))?;
        }
        if cell.get().is_none() {
            let chunk = match &self.source {
                Some(source) => source.chunk(number)?.map(Arc::new),
                None => None,
            };
            self.has_grown(chunk.as_ref().map_or(0, |chunk| chunk.bytes()));
            cell.get_or_init(|| chunk);
        }
        Ok(cell.get().and_then(Option::as_ref))
    }

    /// A chunk for one look: it is not kept if the tree did not hold it before.
    pub(crate) fn chunk_in_passing(&self, number: u32) -> Result<Option<Arc<Chunk>>> {
        let held = self.chunks.get(number as usize).map(OnceLock::get);
        match (held, &self.source) {
            (None, _) | (Some(None), None) => Ok(None),
            (Some(Some(chunk)), _) => Ok(chunk.clone()),
            (Some(None), Some(source)) => Ok(source.chunk(number)?.map(Arc::new)),
        }
    }

    /// Fetches all chunks that are not here yet.
    pub(crate) fn fetch(&self) -> Result<()> {
        self.fetch_range(0..self.chunk_count())
    }

    /// Fetches the chunks with these numbers that are not here yet.
    fn fetch_range(&self, numbers: Range<u32>) -> Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        let numbers = numbers.start..numbers.end.min(self.chunk_count());
        let cells = &self.chunks[numbers.start as usize..numbers.end as usize];
        if cells.iter().all(|cell| cell.get().is_some()) {
            return Ok(());
        }
        let first = numbers.start;
        source.chunks(numbers, &mut |number, chunk| {
            let at = number.checked_sub(first);
            if let Some(cell) = at.and_then(|at| cells.get(at as usize)) {
                cell.get_or_init(|| {
                    self.has_grown(chunk.bytes());
                    Some(Arc::new(chunk))
                });
            }
        })?;
        for cell in cells {
            cell.get_or_init(|| None);
        }
        Ok(())
    }

    /// The same version with chunks of its own beside those that are here, for a walk over a large document from left to
    /// right that drops what it has passed.
    pub(crate) fn reopened(&self) -> Tree {
        let chunks = self.chunks.clone();
        let (source, placed) = (self.source.clone(), self.placed.clone());
        let header = self.header;
        Tree { header, chunks, source, placed, reads_ahead: true, ..Tree::bare(self.csn) }
    }

    /// Drops the chunks that can be fetched again and that `other`, of the same version, does not hold.
    pub(crate) fn drop_chunks(&mut self, other: &Tree) {
        if self.source.is_none() {
            return;
        }
        for (cell, others) in self.chunks.iter_mut().zip(&other.chunks) {
            if others.get().is_none() {
                cell.take();
            }
        }
    }

    /// This tree with all chunks fetched; it no longer reads from the store.
    pub(crate) fn whole(mut self) -> Result<Tree> {
        self.fetch()?;
        self.source = None;
        Ok(self)
    }

    /// All placed nodes.
    pub(crate) fn placed(&self) -> Result<&Arc<Placed>> {
        if let Some(placed) = self.placed.get() {
            return Ok(placed);
        }
        let mut placed = Placed::new();
        if self.header.placed > 0 {
            if self.chunk_count() <= FETCHED_CHUNKS_MAX && !self.reads_ahead {
                self.fetch()?;
            }
            for number in 0..self.chunk_count() {
                if let Some(chunk) = self.chunk_in_passing(number)? {
                    for entry in chunk.placed() {
                        let (slot, parent, label) = entry?;
                        placed.push((parent, label, NodeKey::new(number, slot)));
                    }
                }
            }
            placed.sort_unstable();
        }
        if placed.len() as u64 != self.header.placed {
            return Err(Damaged::new("placed nodes that do not add up").into());
        }
        self.has_grown(placed.len() * PLACED_BYTES);
        Ok(self.placed.get_or_init(|| Arc::new(placed)))
    }

    /// The list of a node's children, if it is long and the tree keeps such lists.
    fn siblings(&self, parent: NodeKey) -> Result<Option<Arc<Siblings>>> {
        match &self.positions {
            Some(known) if self.expect(parent)?.count >= POSITIONS_FROM => {
                known.of(self, parent).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Calls `f` with key and name of the children of a node that are not placed, in order, until it
    /// returns something. Each chunk is read once.
    fn find_child<R>(
        &self,
        parent: NodeKey,
        mut f: impl FnMut(NodeKey, Option<&[u8]>) -> Option<R>,
    ) -> Result<Option<R>> {
        let look = self.look(parent)?.ok_or_else(|| DocumentError::no_node(parent))?;
        let mut keys = parent.0 + 1..parent.0 + look.extent as u64;
        while keys.start < keys.end {
            match self.chunk(NodeKey(keys.start).chunk())? {
                Some(chunk) => {
                    if let Some(found) = chunk.find_child(&mut keys, parent, &mut f) {
                        return Ok(Some(found));
                    }
                }
                None => keys.start = (keys.start | (CHUNK_NODES as u64 - 1)) + 1,
            }
        }
        Ok(None)
    }

    /// Bytes of the chunks that are here, for accounting.
    pub(crate) fn chunk_bytes(&self) -> usize {
        let chunk = |cell: &OnceLock<Option<Arc<Chunk>>>| {
            cell.get().and_then(Option::as_ref).map_or(0, |chunk| chunk.bytes())
        };
        self.chunks.iter().map(|cell| chunk(cell) + size_of_val(cell)).sum()
    }

    /// Bytes that a node has on average; an estimate where chunks are not here.
    pub(crate) fn node_bytes(&self) -> Result<usize> {
        let bytes = match self.source {
            None => self.chunk_bytes(),
            Some(_) => {
                let step = self.chunks.len().div_ceil(SAMPLE_CHUNKS).max(1);
                let (mut bytes, mut count) = (0, 0);
                for number in (0..self.chunk_count()).step_by(step) {
                    bytes += self.chunk_in_passing(number)?.map_or(0, |chunk| chunk.bytes());
                    count += 1;
                }
                bytes / count.max(1) * self.chunks.len()
            }
        };
        Ok((bytes / self.header.nodes.max(1) as usize).max(NODE_BYTES_MIN))
    }

    /// True if its chunks have fewer bytes than this. It reads chunks until they have, and keeps none of them.
    pub(crate) fn is_smaller_than(&self, bytes: usize) -> Result<bool> {
        let mut found = 0;
        for number in 0..self.chunk_count() {
            if found >= bytes {
                return Ok(false);
            }
            found += self.chunk_in_passing(number)?.map_or(0, |chunk| chunk.bytes());
        }
        Ok(found < bytes)
    }

    /// Bytes that the tree holds, for accounting.
    pub fn bytes(&self) -> usize {
        self.chunk_bytes()
            + self.placed.get().map_or(0, |placed| placed.len() * PLACED_BYTES)
            + self.positions.as_ref().map_or(0, |positions| positions.bytes())
            + self.value.get().map_or(0, |value| value.bytes().len())
            + self.earlier.lock().as_ref().map_or(0, |(_, value)| value.bytes().len())
            + size_of::<Tree>()
    }
}

/// How many chunks hold the keys below `next_key`.
fn chunks_below(next_key: u64) -> Result<usize> {
    match next_key.div_ceil(CHUNK_NODES as u64) {
        count @ 1..=0xffff_ffff => Ok(count as usize),
        _ => Err(Damaged::new("the next node key of the document is 0 or too large").into()),
    }
}

/// The nodes of a document: the reads that a walk needs, and the operations that are built on them.
pub trait Nodes {
    /// The document's header.
    fn header(&self) -> &Header;
    /// The node with this key, unless it is not there.
    fn node(&self, key: NodeKey) -> Result<Option<Node<'_>>>;
    /// The parent and label of a placed node; `None` for the others.
    fn place(&self, key: NodeKey) -> Result<Option<(NodeKey, Label)>>;
    /// The first placed child of a node whose label is above `after`.
    fn next_placed(
        &self,
        parent: NodeKey,
        after: Option<&Label>,
    ) -> Result<Option<(Label, NodeKey)>>;
    /// The kind, `up` and extent of a key; `None` if its whole chunk is gone.
    #[doc(hidden)]
    fn look(&self, key: NodeKey) -> Result<Option<Look>>;

    /// The root's key.
    fn root(&self) -> NodeKey {
        NodeKey(self.header().root)
    }

    /// The node with this key, or an error that says that there is none.
    fn expect(&self, key: NodeKey) -> Result<Node<'_>> {
        self.node(key)?.ok_or_else(|| DocumentError::no_node(key))
    }

    /// The parent of a node that is there; `None` for the root.
    fn parent(&self, key: NodeKey) -> Result<Option<NodeKey>> {
        if key == self.root() {
            return Ok(None);
        }
        let up = self.look(key)?.ok_or_else(|| DocumentError::no_node(key))?.up;
        if up != 0 {
            return Ok(Some(NodeKey(key.0 - up as u64)));
        }
        let place = self.place(key)?.ok_or(Damaged::new("a node without a parent"))?;
        Ok(Some(place.0))
    }

    /// The label by which a node is ordered among its siblings.
    fn label(&self, key: NodeKey) -> Result<Label> {
        Ok(match self.look(key)? {
            Some(look) if look.up != 0 => Label::of_key(key),
            _ => self.place(key)?.map_or_else(|| Label::of_key(key), |(_, label)| label),
        })
    }

    /// The children of a node, in order.
    fn children(&self, parent: NodeKey) -> Result<Children<'_, Self>> {
        let placed = if self.header().placed > 0 { self.next_placed(parent, None)? } else { None };
        Ok(Children { placed, ..self.children_by_key(parent)? })
    }

    /// The children of a node that come after `child`, in order. Fails if `child` is not a child of it.
    fn children_after(&self, parent: NodeKey, child: NodeKey) -> Result<Children<'_, Self>> {
        if self.node(child)?.is_none() || self.parent(child)? != Some(parent) {
            return Err(DocumentError::no_node(child));
        }
        let label = self.label(child)?;
        let mut children = self.children_by_key(parent)?;
        let from = match label.is_of_key(child) {
            true => child.0 + self.look(child)?.map_or(1, |look| look.extent.max(1) as u64),
            false => label.key_after().0,
        };
        children.next = children.next.max(from).min(children.end);
        children.settle()?;
        if self.header().placed > 0 {
            children.placed = self.next_placed(parent, Some(&label))?;
        }
        Ok(children)
    }

    /// The children that are not placed, in order.
    #[doc(hidden)]
    fn children_by_key(&self, parent: NodeKey) -> Result<Children<'_, Self>> {
        let look = self.look(parent)?.ok_or_else(|| DocumentError::no_node(parent))?;
        let end = parent.0 + (look.extent as u64).max(1);
        let mut children = Children { nodes: self, parent, next: parent.0 + 1, end, placed: None };
        children.settle()?;
        Ok(children)
    }

    /// The child of an object by its escaped name.
    fn child_named(&self, parent: NodeKey, name: &[u8]) -> Result<Option<NodeKey>> {
        self.walk_to_name(parent, name)
    }

    /// As [`child_named`](Nodes::child_named), by looking at one child after the other.
    #[doc(hidden)]
    fn walk_to_name(&self, parent: NodeKey, name: &[u8]) -> Result<Option<NodeKey>> {
        for child in self.children(parent)? {
            let child = child?;
            if self.expect(child)?.name == Some(name) {
                return Ok(Some(child));
            }
        }
        Ok(None)
    }

    /// The child of an array by its position, from 0.
    fn child_at(&self, parent: NodeKey, position: usize) -> Result<Option<NodeKey>> {
        self.walk_to_position(parent, position)
    }

    /// As [`child_at`](Nodes::child_at), by counting.
    #[doc(hidden)]
    fn walk_to_position(&self, parent: NodeKey, position: usize) -> Result<Option<NodeKey>> {
        self.children(parent)?.nth(position).transpose()
    }

    /// How many siblings stand before a node.
    fn position(&self, parent: NodeKey, key: NodeKey) -> Result<usize> {
        self.count_position(parent, key)
    }

    /// As [`position`](Nodes::position), by counting.
    #[doc(hidden)]
    fn count_position(&self, parent: NodeKey, key: NodeKey) -> Result<usize> {
        for (position, child) in self.children(parent)?.enumerate() {
            if child? == key {
                return Ok(position);
            }
        }
        Err(Damaged::new("a node that its parent does not know").into())
    }

    /// The node that a path leads to.
    fn resolve(&self, path: &JsonPath) -> Result<Option<NodeKey>> {
        let mut key = self.root();
        for step in &path.steps {
            let child = match (step, self.expect(key)?.kind) {
                (Step::Field(name) | Step::Either(name), Kind::Object) => {
                    self.child_named(key, json::text::escape(name).as_bytes())?
                }
                (Step::Index(position), Kind::Array) => self.child_at(key, *position)?,
                (Step::Either(position), Kind::Array) => match position.parse() {
                    Ok(position) => self.child_at(key, position)?,
                    Err(_) => None,
                },
                _ => None,
            };
            match child {
                Some(child) => key = child,
                None => return Ok(None),
            }
        }
        Ok(Some(key))
    }

    /// The path that leads to a node.
    fn path(&self, key: NodeKey) -> Result<JsonPath> {
        self.path_by(key, &mut |parent, key| self.position(parent, key))
    }

    /// The same, where `position` tells how many siblings stand before a node.
    #[doc(hidden)]
    fn path_by(
        &self,
        key: NodeKey,
        position: &mut dyn FnMut(NodeKey, NodeKey) -> Result<usize>,
    ) -> Result<JsonPath> {
        let mut steps = Vec::new();
        let mut key = key;
        while let Some(parent) = self.parent(key)? {
            steps.push(match self.expect(key)?.name {
                Some(name) => Step::Field(json::text::unescape(name).into_owned()),
                None => Step::Index(position(parent, key)?),
            });
            if steps.len() > DEPTH_MAX {
                return Err(Damaged::new("a node that is its own ancestor").into());
            }
            key = parent;
        }
        steps.reverse();
        Ok(JsonPath { steps })
    }

    /// All keys of the subtree below and including `top`, in document order.
    fn subtree(&self, top: NodeKey) -> Result<Vec<NodeKey>> {
        let mut keys = Vec::new();
        let mut stack = vec![top];
        while let Some(key) = stack.pop() {
            keys.push(key);
            if keys.len() as u64 > self.header().nodes {
                return Err(Damaged::new("a node that is its own ancestor").into());
            }
            if self.expect(key)?.kind.is_container() {
                let from = stack.len();
                for child in self.children(key)? {
                    stack.push(child?);
                }
                stack[from..].reverse();
            }
        }
        Ok(keys)
    }
}

/// A key's kind, `up` and extent.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// `None`: removed, or never there.
    pub kind: Option<Kind>,
    /// Distance to the parent's key; 0 for placed nodes and the root.
    pub up: u32,
    /// Keys taken.
    pub extent: u32,
}

impl From<Probe> for Look {
    fn from(probe: Probe) -> Look {
        Look { kind: probe.kind, up: probe.up, extent: probe.extent }
    }
}

/// The children of a node, in order. Stops after an error.
pub struct Children<'a, N: Nodes + ?Sized> {
    nodes: &'a N,
    parent: NodeKey,
    /// The next child that is not placed, or `end`.
    next: u64,
    end: u64,
    /// The next placed child.
    placed: Option<(Label, NodeKey)>,
}

impl<N: Nodes + ?Sized> Children<'_, N> {
    /// Moves `next` on to a child, over what was removed, moved away or is not a child.
    #[inline]
    fn settle(&mut self) -> Result<()> {
        while self.next < self.end {
            match self.nodes.look(NodeKey(self.next))? {
                Some(look)
                    if look.kind.is_some() && look.up as u64 == self.next - self.parent.0 =>
                {
                    return Ok(());
                }
                Some(look) => self.next += look.extent.max(1) as u64,
                None => self.next = (self.next | (CHUNK_NODES as u64 - 1)) + 1,
            }
        }
        self.next = self.end;
        Ok(())
    }

    fn next_placed(&mut self) -> Result<Option<NodeKey>> {
        let Some((label, key)) = self.placed.take() else { return Ok(None) };
        self.placed = self.nodes.next_placed(self.parent, Some(&label))?;
        Ok(Some(key))
    }

    fn advance(&mut self) -> Result<NodeKey> {
        let key = NodeKey(self.next);
        self.next += self.nodes.look(key)?.map_or(1, |look| look.extent.max(1) as u64);
        self.settle()?;
        Ok(key)
    }
}

impl<N: Nodes + ?Sized> Iterator for Children<'_, N> {
    type Item = Result<NodeKey>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let natural = self.next < self.end;
        let placed_first = match &self.placed {
            Some((label, _)) => !natural || *label < Label::of_key(NodeKey(self.next)),
            None => false,
        };
        if placed_first {
            return self.next_placed().transpose();
        }
        if !natural {
            return None;
        }
        let result = self.advance();
        if result.is_err() {
            self.next = self.end;
            self.placed = None;
        }
        Some(result)
    }
}

impl Nodes for Tree {
    fn header(&self) -> &Header {
        &self.header
    }

    fn node(&self, key: NodeKey) -> Result<Option<Node<'_>>> {
        Ok(self.chunk(key.chunk())?.and_then(|chunk| chunk.node(key.slot())))
    }

    fn place(&self, key: NodeKey) -> Result<Option<(NodeKey, Label)>> {
        match self.chunk(key.chunk())? {
            Some(chunk) => Ok(chunk.place(key.slot())?),
            None => Ok(None),
        }
    }

    fn next_placed(
        &self,
        parent: NodeKey,
        after: Option<&Label>,
    ) -> Result<Option<(Label, NodeKey)>> {
        let placed = self.placed()?;
        let at = placed.partition_point(|(p, label, _)| (*p, Some(label)) <= (parent, after));
        let found = placed.get(at).filter(|(p, ..)| *p == parent);
        Ok(found.map(|(_, label, key)| (label.clone(), *key)))
    }

    fn position(&self, parent: NodeKey, key: NodeKey) -> Result<usize> {
        let lost = || Damaged::new("a node that its parent does not know");
        match self.siblings(parent)? {
            Some(siblings) => Ok(siblings.position(key).ok_or_else(lost)?),
            None => self.count_position(parent, key),
        }
    }

    fn child_named(&self, parent: NodeKey, name: &[u8]) -> Result<Option<NodeKey>> {
        match self.header.placed {
            0 => self.find_child(parent, |key, found| (found == Some(name)).then_some(key)),
            _ => self.walk_to_name(parent, name),
        }
    }

    fn child_at(&self, parent: NodeKey, position: usize) -> Result<Option<NodeKey>> {
        if let Some(siblings) = self.siblings(parent)? {
            return Ok(siblings.by_position.get(position).copied());
        }
        let mut before = 0..position;
        match self.header.placed {
            0 => self.find_child(parent, |key, _| match before.next() {
                Some(_) => None,
                None => Some(key),
            }),
            _ => self.walk_to_position(parent, position),
        }
    }

    #[inline]
    fn look(&self, key: NodeKey) -> Result<Option<Look>> {
        Ok(self.chunk(key.chunk())?.map(|chunk| chunk.probe(key.slot()).into()))
    }
}
