//! A document being edited: a tree with the chunks that changed laid over it, and the deltas of its
//! changes.
//!
//! ```text
//!   tree (a version)      chunk 0   chunk 1   chunk 2   chunk 3
//!   work                            buf+delta                    buf (new: put whole)
//! ```
//!
//! Every step goes through [`Draft::step`]: it is applied to the chunk at hand, so that what follows
//! sees it, and written to the chunk's delta, which is what the store will keep. A draft that is
//! dropped leaves no trace.
//!
//! Invariants: a chunk's buffer equals its stored version with its delta applied; node keys are
//! handed out in order and never twice; the header counts nodes and placed nodes exactly.

mod writes;

pub(crate) use writes::{Sealed, TakeWrite, Write};

use crate::chunk::Chunk;
use crate::chunk_buf::ChunkBuf;
use crate::delta::Op;
use crate::error::{Damaged, DocumentError};
use crate::limits::{DEPTH_MAX, too_deep};
use crate::node::{Header, Node};
use crate::order::Label;
use crate::paths::Counts;
use crate::table::CollectionOptions;
use crate::tree::{Look, Nodes, Tree};
use crate::{NodeKey, Result, hash};
use json::{Kind, Tape};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};
use std::sync::Arc;
use store::Csn;

/// Node keys a document may use up in its life.
const KEYS_MAX: u64 = 1 << 39;
/// Bytes of one value.
const VALUE_BYTES_MAX: usize = 1 << 28;

/// A chunk that a draft changed.
#[derive(Clone, Default)]
struct Work {
    buf: ChunkBuf,
    delta: Vec<u8>,
    /// The store has no such chunk: it is put whole.
    fresh: bool,
}

/// A chunk that is not decoded. Mostly a draft changed only values in it: this is the common case, and it is cheap. A
/// draft that adds many nodes encodes full chunks of new nodes again, because decoded ones need several times the
/// memory.
#[derive(Clone)]
struct Valued {
    chunk: Chunk,
    delta: Vec<u8>,
    /// As in [`Work`].
    fresh: bool,
}

/// So many chunks of new nodes stay decoded before they are encoded.
const FRESH_CHUNKS: u32 = 64;

/// The place of a subtree that is inserted or moved, relative to a target node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// First among the children of the target.
    FirstChild,
    /// Last among the children of the target.
    LastChild,
    /// Just before the target.
    Before,
    /// Just after the target.
    After,
    /// A field of the target, an object, after its others.
    Field(&'a str),
    /// A field just before the target, itself a field.
    FieldBefore(&'a str),
    /// A field just after the target, itself a field.
    FieldAfter(&'a str),
}

impl<'a> Place<'a> {
    /// The place `first`, `last`, `before` or `after`, with the name for a field.
    ///
    /// # Errors
    /// Returns a message if there is no such place, or if a field cannot have it.
    pub fn named(at: &str, name: Option<&'a str>) -> Result<Place<'a>, &'static str> {
        Ok(match (at, name) {
            ("first", None) => Place::FirstChild,
            ("last", None) => Place::LastChild,
            ("before", None) => Place::Before,
            ("after", None) => Place::After,
            ("last", Some(name)) => Place::Field(name),
            ("before", Some(name)) => Place::FieldBefore(name),
            ("after", Some(name)) => Place::FieldAfter(name),
            ("first", Some(_)) => return Err("a field goes last, or before or after another"),
            _ => return Err("a place is one of first, last, before, after"),
        })
    }
}

/// A document being edited.
#[derive(Clone)]
pub(crate) struct Draft {
    base: Arc<Tree>,
    /// The tree from which `base` was opened again, if this draft fetches chunks for itself.
    shared: Option<Arc<Tree>>,
    header: Header,
    work: BTreeMap<u32, Work>,
    /// Chunks of which only values changed, or that are full of new nodes, and which are not in `work`.
    values: BTreeMap<u32, Valued>,
    /// New chunks below this one have been encoded.
    packed: u32,
    /// The placed nodes of the chunks in `work` and of new ones, by parent and order. Two may have one label while
    /// one of them is about to go.
    placed: BTreeSet<(NodeKey, Label, NodeKey)>,
    hashes: bool,
    shaped: bool,
    /// Nodes that came, went, or have another name or place, where the path summary is kept; of those
    /// that came together, the one above all.
    reshaped: Option<Vec<NodeKey>>,
    /// Chunks whose writes were given away.
    given: BTreeSet<u32>,
}

impl Draft {
    /// A draft of the next version of `base`, in a collection with these options.
    pub fn new(base: Arc<Tree>, options: &CollectionOptions) -> Draft {
        Draft {
            header: *base.header(),
            packed: base.chunk_count().max(1),
            base,
            shared: None,
            work: BTreeMap::new(),
            values: BTreeMap::new(),
            placed: BTreeSet::new(),
            hashes: options.hashes,
            shaped: false,
            reshaped: options.path_summary.then(Vec::new),
            given: BTreeSet::new(),
        }
    }

    /// A draft of a new document: its root is the root of `tape`. Node keys start at `first_key`.
    pub fn create(tape: &Tape, first_key: u64, options: &CollectionOptions) -> Result<Draft> {
        let mut draft = Draft::empty(first_key, options);
        draft.check_depth(tape, 0, 0)?;
        let root = draft.add(tape, 0, None, None)?;
        draft.header.root = root.0;
        if draft.hashes {
            draft.header.digest = hash::digest(&draft)?;
        }
        Ok(draft)
    }

    /// A draft of a document that has no nodes yet, not even a root.
    pub fn empty(first_key: u64, options: &CollectionOptions) -> Draft {
        let base = Arc::new(Tree::nothing(first_key.max(1)));
        Draft { shaped: true, ..Draft::new(base, options) }
    }

    /// Bytes that a node of the version before has on average, about.
    pub fn node_bytes(&self) -> Result<usize> {
        self.base.node_bytes()
    }

    /// From here on the draft fetches chunks of the version before for itself, until [`Draft::drop_chunks`].
    pub fn reopen_base(&mut self) {
        if self.shared.is_none() {
            let reopened = Arc::new(self.base.reopened());
            self.shared = Some(std::mem::replace(&mut self.base, reopened));
        }
    }

    /// Bytes of the chunks of the version before that are here.
    #[cfg(test)]
    pub fn base_bytes(&self) -> usize {
        self.base.chunk_bytes()
    }

    /// Drops the chunks of the version before that the draft has fetched for itself, but for those that it has changed.
    pub fn drop_chunks(&mut self) {
        if let (Some(shared), Some(base)) = (&self.shared, Arc::get_mut(&mut self.base)) {
            base.drop_chunks(shared);
        }
    }

    /// True if nothing was changed.
    pub fn is_clean(&self) -> bool {
        self.work.is_empty() && self.values.is_empty() && self.given.is_empty()
    }

    fn work(&mut self, number: u32) -> Result<&mut Work> {
        Ok(match self.work.entry(number) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let known = |chunk: &Chunk, delta, fresh| {
                    let buf = chunk.to_buf();
                    Work { buf, delta, fresh }
                };
                let work = match (self.values.remove(&number), self.base.chunk(number)?) {
                    (Some(valued), _) => known(&valued.chunk, valued.delta, valued.fresh),
                    (None, Some(chunk)) => known(chunk, Vec::new(), false),
                    (None, None) => Work { fresh: true, ..Work::default() },
                };
                for (slot, parent, label) in &work.buf.placed {
                    let key = NodeKey::new(number, *slot);
                    self.placed.insert((*parent, label.clone(), key));
                }
                entry.insert(work)
            }
        })
    }

    /// The chunk, if only values in it have changed; `None` if more has changed, or if it is new.
    fn valued(&mut self, number: u32) -> Result<Option<&mut Valued>> {
        if self.work.contains_key(&number) {
            return Ok(None);
        }
        Ok(match self.values.entry(number) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) => match self.base.chunk(number)? {
                Some(chunk) => {
                    let chunk = Chunk::clone(chunk);
                    Some(entry.insert(Valued { chunk, delta: Vec::new(), fresh: false }))
                }
                None => None,
            },
        })
    }

    fn step(&mut self, chunk: u32, op: Op<'_>) -> Result<()> {
        if let Op::Set { slot, kind, text } = op
            && let Some(valued) = self.valued(chunk)?
        {
            valued.chunk.set(slot, kind, text)?;
            if !valued.fresh {
                op.encode(&mut valued.delta);
            }
            return Ok(());
        }
        self.work(chunk)?;
        let work = self.work.get_mut(&chunk).expect("was there or was put there");
        let slots = match &op {
            Op::Insert { slot, .. } | Op::Place { slot, .. } => *slot as usize..*slot as usize + 1,
            Op::Remove { slot, count } => *slot as usize..*slot as usize + count,
            _ => 0..0,
        };
        for (slot, parent, label) in placed_in(&work.buf, &slots) {
            self.placed.remove(&(*parent, label.clone(), NodeKey::new(chunk, *slot)));
        }
        let from = work.delta.len();
        op.encode(&mut work.delta);
        work.buf.apply(Csn(0), &work.delta[from..])?;
        for (slot, parent, label) in placed_in(&work.buf, &slots) {
            self.placed.insert((*parent, label.clone(), NodeKey::new(chunk, *slot)));
        }
        if work.fresh {
            // Put whole in the end: its delta is not wanted.
            work.delta.clear();
        }
        Ok(())
    }

    /// Notes that a node came, went, or has another name or place. A new document notes nothing: all its nodes came.
    fn reshape(&mut self, key: NodeKey) {
        if let Some(keys) = &mut self.reshaped
            && self.base.header().nodes > 0
        {
            keys.push(key);
        }
    }

    /// Changes a node by `change`. Takes its share out of the digest before, and adds its new share after.
    fn rehash(
        &mut self,
        key: NodeKey,
        change: impl FnOnce(&mut Draft) -> Result<()>,
    ) -> Result<()> {
        if !self.hashes {
            return change(self);
        }
        self.header.digest = self.header.digest.wrapping_sub(hash::share_of(self, key)?);
        change(self)?;
        self.header.digest = self.header.digest.wrapping_add(hash::share_of(self, key)?);
        Ok(())
    }

    /// Gives a scalar another value; does nothing if it has that value already.
    pub fn set_scalar(&mut self, key: NodeKey, kind: Kind, text: &[u8]) -> Result<()> {
        let node = self.expect(key)?;
        if node.kind.is_container() || kind.is_container() {
            return Err(DocumentError::BadEdit(
                "only a scalar can get another scalar: an array or object must be replaced".into(),
            ));
        }
        if node.kind == kind && node.text == text {
            return Ok(());
        }
        if text.len() > VALUE_BYTES_MAX {
            return Err(DocumentError::TooLarge("256 MiB in one value"));
        }
        self.rehash(key, |draft| {
            draft.step(key.chunk(), Op::Set { slot: key.slot() as u8, kind, text })
        })
    }

    /// Gives a field another (escaped) name. The caller makes sure that no other field has it.
    pub fn rename(&mut self, key: NodeKey, name: &[u8]) -> Result<()> {
        let node = self.expect(key)?;
        match node.name {
            None => {
                return Err(DocumentError::BadEdit("only a field of an object has a name".into()));
            }
            Some(old) if old == name => return Ok(()),
            Some(_) => {}
        }
        check_name(name)?;
        self.reshape(key);
        self.rehash(key, |draft| {
            draft.step(key.chunk(), Op::Rename { slot: key.slot() as u8, name })
        })
    }

    /// Adds the node `index` of `tape` and all below it as new nodes; `place` is `None` for the root
    /// of a document. Counts them, but not in the parent.
    pub fn add(
        &mut self,
        tape: &Tape,
        index: usize,
        name: Option<&[u8]>,
        place: Option<(NodeKey, Label)>,
    ) -> Result<NodeKey> {
        let top = tape.node(index).ok_or(Damaged::new("a node past the end of its tape"))?;
        let count = top.extent();
        let first = self.header.next_key;
        self.reshape(NodeKey(first));
        if first + count as u64 > KEYS_MAX {
            return Err(DocumentError::TooLarge("2^39 nodes in its life"));
        }
        self.header.next_key += count as u64;
        self.header.nodes += count as u64;
        self.header.placed += place.is_some() as u64;
        self.shaped = true;
        let offsets = top.text_at();
        let mut at = offsets;
        for i in index..index + count {
            let (total, name_len) = (tape.text_lens[i] as usize, tape.name_len(i));
            let text = &tape.heap[at + name_len.unwrap_or(0)..at + total];
            let own = name_len.map(|len| &tape.heap[at..at + len]);
            at += total;
            let key = NodeKey(first + (i - index) as u64);
            let is_top = i == index;
            let node = Node {
                kind: tape.kinds[i],
                up: if is_top { 0 } else { tape.ups[i] },
                extent: tape.extents[i],
                count: tape.counts[i],
                changed: Csn(0),
                name: if is_top { name } else { own },
                text,
            };
            self.add_node(key, &node, place.as_ref().filter(|_| is_top).cloned())?;
        }
        self.pack()?;
        Ok(NodeKey(first))
    }

    /// True while only values changed: every node stands where it stood, under the same name.
    fn stands_as_before(&self) -> bool {
        self.work.is_empty()
            && self.given.is_empty()
            && self.header.next_key == self.base.header().next_key
    }

    /// Encodes chunks of new nodes that get no more of them.
    fn pack(&mut self) -> Result<()> {
        let current = NodeKey(self.header.next_key).chunk();
        if current < self.packed + FRESH_CHUNKS {
            return Ok(());
        }
        for number in std::mem::replace(&mut self.packed, current)..current {
            let Some(work) = self.work.get(&number).filter(|work| work.fresh) else { continue };
            if let Some(image) = work.image(number) {
                let chunk = Chunk::from_image(image, Csn(0))?;
                self.values.insert(number, Valued { chunk, delta: Vec::new(), fresh: true });
                self.work.remove(&number);
            }
        }
        Ok(())
    }

    fn add_node(
        &mut self,
        key: NodeKey,
        node: &Node<'_>,
        place: Option<(NodeKey, Label)>,
    ) -> Result<()> {
        let slot = key.slot() as u8;
        let work = self.work(key.chunk())?;
        if work.fresh && place.is_none() {
            work.buf.push_at(key.slot(), node);
        } else {
            self.step(key.chunk(), Op::Insert { slot, node: *node, place })?;
        }
        Ok(())
    }

    /// Brings back a node that an older version has and this one has not, under its old key.
    pub fn revive(
        &mut self,
        key: NodeKey,
        node: &Node<'_>,
        place: Option<(NodeKey, Label)>,
    ) -> Result<()> {
        self.shaped = true;
        self.reshape(key);
        self.header.nodes += 1;
        self.header.placed += place.is_some() as u64;
        let node = Node { changed: Csn(0), ..*node };
        self.step(key.chunk(), Op::Insert { slot: key.slot() as u8, node, place })
    }

    /// Moves an existing node to another place. `up` is not 0 if the node goes back to the place of its key. Does
    /// nothing if the node is there already. Does not count the children of the parents.
    pub fn put_at(
        &mut self,
        key: NodeKey,
        up: u32,
        place: Option<(NodeKey, Label)>,
        name: Option<&[u8]>,
    ) -> Result<()> {
        // A node can also be placed explicitly where its key puts it: that is the same place.
        let stands = |up: u32, place: &Option<(NodeKey, Label)>| match place {
            Some(place) => place.clone(),
            None => (NodeKey(key.0 - up as u64), Label::of_key(key)),
        };
        let (node, was) = (self.expect(key)?, self.place(key)?);
        if stands(node.up, &was) == stands(up, &place) && node.name == name {
            return Ok(());
        }
        self.shaped = true;
        self.reshape(key);
        self.header.placed = self.header.placed + place.is_some() as u64 - was.is_some() as u64;
        self.rehash(key, |draft| {
            draft.step(key.chunk(), Op::Place { slot: key.slot() as u8, up, place, name })
        })
    }

    /// Removes these nodes (ascending keys). The caller makes sure that the remaining nodes are a tree.
    pub fn take(&mut self, keys: &[NodeKey]) -> Result<()> {
        for &key in keys {
            self.reshape(key);
            if self.hashes {
                self.header.digest = self.header.digest.wrapping_sub(hash::share_of(self, key)?);
            }
            self.header.placed -= self.place(key)?.is_some() as u64;
        }
        self.shaped = true;
        self.header.nodes -= keys.len() as u64;
        let mut rest = keys;
        while let Some(&first) = rest.first() {
            let run = rest
                .iter()
                .zip(first.0..)
                .take_while(|(key, next)| key.0 == *next && key.chunk() == first.chunk())
                .count();
            self.step(first.chunk(), Op::Remove { slot: first.slot() as u8, count: run })?;
            rest = &rest[run..];
        }
        Ok(())
    }

    /// Writes how many children a container has.
    pub fn set_count(&mut self, key: NodeKey, count: u32) -> Result<()> {
        match self.expect(key)?.count == count {
            true => Ok(()),
            false => self.step(key.chunk(), Op::Count { slot: key.slot() as u8, count }),
        }
    }

    /// Makes another node the root.
    pub fn set_root(&mut self, key: NodeKey) {
        self.reshape(self.root());
        self.reshape(key);
        self.header.root = key.0;
        self.shaped = true;
    }

    /// Adds the shares of new nodes to the digest, where it is kept.
    pub fn hash_added(&mut self, keys: &[NodeKey]) -> Result<()> {
        if self.hashes {
            for &key in keys {
                self.header.digest = self.header.digest.wrapping_add(hash::share_of(self, key)?);
            }
        }
        Ok(())
    }

    /// The parent, label and name for a node that goes to `place` at `target`. If it is an existing node, it is
    /// `moving`, and its own name is free for it.
    pub fn find_place(
        &self,
        target: NodeKey,
        place: Place<'_>,
        moving: Option<NodeKey>,
    ) -> Result<(NodeKey, Label, Option<Vec<u8>>)> {
        use Place::*;
        let bad = |why: &str| Err(DocumentError::BadEdit(why.into()));
        let node = self.expect(target)?;
        let (parent, siblings) = match place {
            FirstChild | LastChild | Field(_) => (target, false),
            Before | After | FieldBefore(_) | FieldAfter(_) => match self.parent(target)? {
                Some(parent) => (parent, true),
                None => return bad("the root has no siblings"),
            },
        };
        let kind = self.expect(parent)?.kind;
        let name = match (place, kind) {
            (Field(name) | FieldBefore(name) | FieldAfter(name), Kind::Object) => {
                let escaped = json::text::escape(name).into_owned().into_bytes();
                check_name(&escaped)?;
                if self.child_named(parent, &escaped)?.is_some_and(|found| Some(found) != moving) {
                    return bad(&format!("the object already has a field {name:?}"));
                }
                Some(escaped)
            }
            (Field(_) | FieldBefore(_) | FieldAfter(_), _) => {
                return bad("only an object has fields");
            }
            (_, Kind::Array) => None,
            (_, Kind::Object) => return bad("a field of an object needs a name"),
            _ => return bad("a scalar has no children"),
        };
        debug_assert!(!siblings || node.name.is_some() == name.is_some());
        let (left, right) = match place {
            FirstChild => (None, self.children(parent)?.next().transpose()?),
            LastChild | Field(_) => (self.last_child(parent)?, None),
            Before | FieldBefore(_) => (self.sibling_before(parent, target)?, Some(target)),
            After | FieldAfter(_) => (Some(target), self.sibling_after(parent, target)?),
        };
        let label = match moving.filter(|key| left == Some(*key) || right == Some(*key)) {
            // It stands there already.
            Some(key) => self.label(key)?,
            None => {
                let label = |key: Option<NodeKey>| key.map(|key| self.label(key)).transpose();
                let (left, right) = (label(left)?, label(right)?);
                Label::between(left.as_ref(), right.as_ref(), NodeKey(self.header.next_key))
            }
        };
        Ok((parent, label, name))
    }

    fn last_child(&self, parent: NodeKey) -> Result<Option<NodeKey>> {
        // A placed node behind all nodes that stand at the places of their keys is the last child. It is found at once.
        let end = parent.0 + self.look(parent)?.map_or(0, |look| look.extent as u64);
        if let Some((label, key)) = self.placed_before(parent, None)?
            && label >= Label::of_key(NodeKey(end))
        {
            return Ok(Some(key));
        }
        self.children(parent)?.last().transpose()
    }

    /// The nearest placed child before a label, or the last of all.
    fn placed_before(
        &self,
        parent: NodeKey,
        before: Option<&Label>,
    ) -> Result<Option<(Label, NodeKey)>> {
        let from = (parent, Label::lowest(), NodeKey(0));
        let to = match before {
            Some(label) => (parent, label.clone(), NodeKey(0)),
            None => (NodeKey(parent.0 + 1), Label::lowest(), NodeKey(0)),
        };
        let placed = self.base.placed()?;
        let end = placed.partition_point(|entry| *entry < to);
        let below = placed[..end]
            .iter()
            .rev()
            .take_while(|(p, ..)| *p == parent)
            .find(|(_, _, key)| !self.work.contains_key(&key.chunk()))
            .map(|(_, label, key)| (label.clone(), *key));
        let own = self.placed.range(from..to).next_back();
        let own = own.map(|(_, label, key)| (label.clone(), *key));
        Ok(own.max(below))
    }

    /// The sibling before a node: among the placed ones, or among those that stand where their keys
    /// say.
    fn sibling_before(&self, parent: NodeKey, key: NodeKey) -> Result<Option<NodeKey>> {
        let label = self.label(key)?;
        let mut before = self.placed_before(parent, Some(&label))?;
        for child in self.children_by_key(parent)? {
            let child = child?;
            let own = Label::of_key(child);
            if own >= label {
                break;
            }
            if before.as_ref().is_none_or(|(before, _)| *before < own) {
                before = Some((own, child));
            }
        }
        Ok(before.map(|(_, key)| key))
    }

    fn sibling_after(&self, parent: NodeKey, key: NodeKey) -> Result<Option<NodeKey>> {
        let label = self.label(key)?;
        let mut after = self.next_placed(parent, Some(&label))?;
        for child in self.children_by_key(parent)? {
            let child = child?;
            let own = Label::of_key(child);
            if own > label {
                if after.as_ref().is_none_or(|(after, _)| own < *after) {
                    after = Some((own, child));
                }
                break;
            }
        }
        Ok(after.map(|(_, key)| key))
    }

    /// Levels above a node, the root's included; the root itself has 0.
    pub fn level(&self, key: NodeKey) -> Result<usize> {
        let mut level = 0;
        let mut key = key;
        while let Some(parent) = self.parent(key)? {
            level += 1;
            if level > DEPTH_MAX {
                return Err(Damaged::new("a node that is its own ancestor").into());
            }
            key = parent;
        }
        Ok(level)
    }

    /// Fails if the subtree `index` of `tape` would reach below the deepest level.
    pub fn check_depth(&self, tape: &Tape, index: usize, levels_above: usize) -> Result<()> {
        let mut ends: Vec<usize> = Vec::new();
        for i in index..index + tape.extents[index] as usize {
            while ends.last().is_some_and(|end| *end <= i) {
                ends.pop();
            }
            ends.push(i + tape.extents[i] as usize);
            if ends.len() + levels_above > DEPTH_MAX {
                return Err(too_deep());
            }
        }
        Ok(())
    }

    /// The difference of the path summary from that of the previous version, if a summary is kept; for a new document,
    /// the whole summary.
    pub fn path_counts(&mut self) -> Result<Option<Counts>> {
        let Some(keys) = self.reshaped.take() else { return Ok(None) };
        match self.base.header().nodes {
            0 => Counts::of(self).map(Some),
            _ => Counts::between(&*self.base, self, keys).map(Some),
        }
    }
}

/// The placed nodes of some slots.
fn placed_in<'a>(
    buf: &'a ChunkBuf,
    slots: &Range<usize>,
) -> impl Iterator<Item = &'a (u8, NodeKey, Label)> {
    let slots = slots.clone();
    let placed = if slots.is_empty() { &[][..] } else { &buf.placed[..] };
    placed.iter().filter(move |(slot, ..)| slots.contains(&(*slot as usize)))
}

/// Fails if a name is longer than a node can hold, or has what no document can hold.
pub(crate) fn check_name(name: &[u8]) -> Result<()> {
    if name.len() > 65_000 {
        return Err(DocumentError::TooLarge("65,000 bytes in a field's name"));
    }
    crate::admit::check_text(name).map_err(|source| DocumentError::Unstorable {
        at: format!("the name \"{}\"", String::from_utf8_lossy(name)),
        source,
    })
}

impl Nodes for Draft {
    fn header(&self) -> &Header {
        &self.header
    }

    fn node(&self, key: NodeKey) -> Result<Option<Node<'_>>> {
        match self.work.get(&key.chunk()) {
            Some(work) => Ok(work.buf.node(key.slot())),
            None => match self.values.get(&key.chunk()) {
                Some(valued) => Ok(valued.chunk.node(key.slot())),
                None => self.base.node(key),
            },
        }
    }

    fn place(&self, key: NodeKey) -> Result<Option<(NodeKey, Label)>> {
        match self.work.get(&key.chunk()) {
            Some(work) => {
                let placed = work.buf.placed.iter().find(|(slot, ..)| *slot as usize == key.slot());
                Ok(placed.map(|(_, parent, label)| (*parent, label.clone())))
            }
            None => match self.values.get(&key.chunk()).filter(|valued| valued.fresh) {
                Some(valued) => Ok(valued.chunk.place(key.slot())?),
                None => self.base.place(key),
            },
        }
    }

    fn next_placed(
        &self,
        parent: NodeKey,
        after: Option<&Label>,
    ) -> Result<Option<(Label, NodeKey)>> {
        let from = match after {
            Some(label) => Bound::Excluded((parent, label.clone(), NodeKey(u64::MAX))),
            None => Bound::Included((parent, Label::lowest(), NodeKey(0))),
        };
        let to = Bound::Excluded((NodeKey(parent.0 + 1), Label::lowest(), NodeKey(0)));
        let own = self.placed.range((from, to)).next();
        let own = own.map(|(_, label, key)| (label.clone(), *key));
        let mut below = self.base.next_placed(parent, after)?;
        while let Some((label, key)) = &below {
            if !self.work.contains_key(&key.chunk()) {
                break;
            }
            below = self.base.next_placed(parent, Some(&label.clone()))?;
        }
        Ok(match (own, below) {
            (Some(own), Some(below)) => Some(own.min(below)),
            (own, below) => own.or(below),
        })
    }

    fn child_named(&self, parent: NodeKey, name: &[u8]) -> Result<Option<NodeKey>> {
        match self.stands_as_before() {
            true => self.base.child_named(parent, name),
            false => self.walk_to_name(parent, name),
        }
    }

    fn child_at(&self, parent: NodeKey, position: usize) -> Result<Option<NodeKey>> {
        match self.stands_as_before() {
            true => self.base.child_at(parent, position),
            false => self.walk_to_position(parent, position),
        }
    }

    fn position(&self, parent: NodeKey, key: NodeKey) -> Result<usize> {
        match self.stands_as_before() {
            true => self.base.position(parent, key),
            false => self.count_position(parent, key),
        }
    }

    fn look(&self, key: NodeKey) -> Result<Option<Look>> {
        match self.work.get(&key.chunk()) {
            Some(work) => Ok(Some(work.buf.probe(key.slot()).into())),
            None => match self.values.get(&key.chunk()) {
                Some(valued) => Ok(Some(valued.chunk.probe(key.slot()).into())),
                None => self.base.look(key),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CHUNK_NODES;

    /// The chunks of many new nodes are encoded as soon as they are full. A draft of nothing but such chunks once found
    /// only the children of the version before.
    #[test]
    fn new_nodes_are_found_once_their_chunks_are_encoded() {
        // The first new node begins a chunk, and the last one ends one.
        let text = format!("[{}0]", "0,".repeat(CHUNK_NODES - 3));
        let base = Arc::new(Tree::read(text.as_bytes()).expect("is a document"));
        let (root, before) = (base.root(), CHUNK_NODES - 2);
        let mut draft = Draft::new(base, &CollectionOptions::default());
        let count = FRESH_CHUNKS as usize * CHUNK_NODES;
        let tape = Tape::parse(format!("[{}1]", "1,".repeat(count - 2))).expect("is JSON");
        let (_, label, _) = draft.find_place(root, Place::LastChild, None).expect("a place");
        let added = draft.add(&tape, 0, None, Some((root, label))).expect("adds");
        assert!(draft.work.is_empty() && draft.values.len() == FRESH_CHUNKS as usize);
        assert_eq!(draft.child_at(root, before).expect("reads"), Some(added));
        assert_eq!(draft.position(root, added).expect("reads"), before);
        let last = draft.child_at(added, count - 2).expect("reads").expect("a child");
        draft.set_scalar(last, Kind::Number, b"2").expect("sets");
        draft.set_count(root, before as u32 + 1).expect("counts");
        let mut after = Vec::new();
        draft.preview().expect("is a document").write_json(&mut after).expect("writes");
        let expected = format!("{},[{}2]]", &text[..text.len() - 1], "1,".repeat(count - 2));
        assert!(after == expected.as_bytes());
    }
}
