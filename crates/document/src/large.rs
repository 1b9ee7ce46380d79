//! A whole new value for a large document, matched with the old one part by part.
//!
//! [`rewrite`] needs both values as tapes, and several numbers for each of their nodes. For a large document that is
//! many times its text. Here only children of one container are compared at a time, by hashes first, and only those
//! that differ become tapes, in windows:
//!
//! ```text
//!   old   a  b  c  d  e  f  [ large ]
//!   new   a  b  C  d  x  e  f  [ Large ]
//!         =  =     =     =  =                 equal children in the same order stay
//!               ^     ^                       windows: c with C, nothing with x: matched as whole values are
//!                              ^              large on both sides: its children are compared in their turn
//! ```
//!
//! Of a container with more than [`SLICE_CHILDREN`] children so many are compared at a time; what follows the last equal
//! pair waits for those that come after it.
//!
//! # Invariants
//! * The draft drops the old chunks that it has fetched after each [`PASSED_BYTES`], so few of them are in memory.
//! * A window has at most [`WINDOW_BYTES`], or one child of each side.
//! * Children that stay, and windows, are in the order of both sides. So a window places its nodes between two labels
//!   and touches no other node. A node that moved from one window to another gets a new key.

use crate::draft::{Draft, TakeWrite};
use crate::error::Damaged;
use crate::limits::{DEPTH_MAX, LARGE_BYTES, feed};
use crate::matching::{align, match_trees};
use crate::order::Label;
use crate::rewrite::{Bounds, Rewrite, export_children, rewrite};
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use foldhash::fast::FixedState;
use json::jsonb::{JsonbRef, Value};
use json::{Kind, Sink, Stopped, Tape, TapeBuilder};
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

/// Bytes of text, of both sides together, that are matched at once.
const WINDOW_BYTES: usize = if cfg!(test) { 64 } else { 4 << 20 };

/// Children of each side that are compared at once.
const SLICE_CHILDREN: usize = if cfg!(test) { 32 } else { 1 << 17 };

/// Bytes of the old document that are passed before its chunks are dropped.
const PASSED_BYTES: usize = if cfg!(test) { 512 } else { 16 << 20 };

/// Bytes that a node has at least, on average.
pub(crate) const NODE_BYTES_MIN: usize = 12;

/// A value, or a part of one, that can be looked at without a copy.
pub(crate) trait Part: Copy {
    /// Its kind.
    fn kind(self) -> Result<Kind>;
    /// Bytes of its text, about; known without a look at what is in it.
    fn weight(self) -> Result<usize>;
    /// The escaped name, of a field.
    fn name(self) -> Result<Option<Vec<u8>>>;
    /// Its children, in order.
    fn children(self) -> Result<impl Iterator<Item = Result<Self>>>;
    /// Gives the tokens of its value to a sink that does not stop.
    fn feed<S: Sink>(self, sink: &mut S) -> Result<()>;

    /// Its value as a tape.
    fn tape(self) -> Result<Tape> {
        let mut builder = TapeBuilder::for_text_of(self.weight()?);
        self.feed(&mut builder)?;
        Ok(builder.finish())
    }
}

/// A part of a `jsonb` value.
#[derive(Clone, Copy)]
pub(crate) struct JsonbPart<'a> {
    name: Option<&'a str>,
    value: JsonbRef<'a>,
}

impl<'a> From<JsonbRef<'a>> for JsonbPart<'a> {
    fn from(value: JsonbRef<'a>) -> JsonbPart<'a> {
        JsonbPart { name: None, value }
    }
}

impl Part for JsonbPart<'_> {
    fn kind(self) -> Result<Kind> {
        Ok(self.value.kind())
    }

    fn weight(self) -> Result<usize> {
        Ok(self.value.bytes().len())
    }

    fn name(self) -> Result<Option<Vec<u8>>> {
        Ok(self.name.map(|name| json::text::escape(name).into_owned().into_bytes()))
    }

    fn children(self) -> Result<impl Iterator<Item = Result<Self>>> {
        let (elements, fields) = match self.value.value() {
            Value::Array(array) => (Some(array), None),
            Value::Object(object) => (None, Some(object)),
            _ => (None, None),
        };
        let elements = elements.into_iter().flat_map(|array| array.iter()).map(JsonbPart::from);
        let fields = fields.into_iter().flat_map(|object| object.iter());
        let fields = fields.map(|(name, value)| JsonbPart { name: Some(name), value });
        Ok(elements.chain(fields).map(Ok))
    }

    fn feed<S: Sink>(self, sink: &mut S) -> Result<()> {
        feed(self.value, sink)
    }
}

/// A node of a document, with all that is below it.
pub(crate) struct NodePart<'a, N> {
    nodes: &'a N,
    key: NodeKey,
    /// Bytes that a node of the document has, on average.
    node_bytes: usize,
}

impl<N> Clone for NodePart<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for NodePart<'_, N> {}

impl<'a> NodePart<'a, Tree> {
    /// The whole document.
    pub fn root(tree: &'a Tree) -> Result<Self> {
        Ok(NodePart { nodes: tree, key: tree.root(), node_bytes: tree.node_bytes()? })
    }
}

impl<N: Nodes> Part for NodePart<'_, N> {
    fn kind(self) -> Result<Kind> {
        Ok(self.nodes.expect(self.key)?.kind)
    }

    fn weight(self) -> Result<usize> {
        let node = self.nodes.expect(self.key)?;
        Ok(node.text.len() + node.extent as usize * self.node_bytes)
    }

    fn name(self) -> Result<Option<Vec<u8>>> {
        Ok(self.nodes.expect(self.key)?.name.map(<[u8]>::to_vec))
    }

    fn children(self) -> Result<impl Iterator<Item = Result<Self>>> {
        let children = self.nodes.children(self.key)?;
        Ok(children.map(move |key| Ok(NodePart { key: key?, ..self })))
    }

    fn feed<S: Sink>(self, sink: &mut S) -> Result<()> {
        feed_node(self.nodes, self.key, 0, sink).map(drop)
    }
}

/// Gives the tokens of a node's value to a sink until it stops.
fn feed_node<N: Nodes, S: Sink>(
    nodes: &N,
    key: NodeKey,
    level: usize,
    sink: &mut S,
) -> Result<std::result::Result<(), Stopped>> {
    let node = nodes.expect(key)?;
    if !node.kind.is_container() {
        return Ok(sink.scalar(node.kind, node.text));
    }
    if level > DEPTH_MAX {
        return Err(Damaged::new("a node that is its own ancestor").into());
    }
    let mut fed = sink.open(node.kind);
    for child in nodes.children(key)? {
        let child = child?;
        if let Some(name) = nodes.expect(child)?.name {
            fed = fed.and_then(|()| sink.name(name));
        }
        if fed.is_ok() {
            fed = feed_node(nodes, child, level + 1, sink)?;
        }
        if fed.is_err() {
            return Ok(fed);
        }
    }
    Ok(fed.and_then(|()| sink.close()))
}

/// The tokens of a value, one after the other: equal for equal values alone.
#[derive(Default)]
struct Tokens(Vec<u8>);

impl Tokens {
    /// Makes these the tokens of a part.
    fn refill(&mut self, part: impl Part) -> Result<&[u8]> {
        self.0.clear();
        part.feed(self)?;
        Ok(&self.0)
    }

    /// Adds a token, of which `kind` says how it is to be read.
    fn add(&mut self, kind: u8, text: &[u8]) -> std::result::Result<(), Stopped> {
        self.0.push(kind);
        self.0.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.0.extend_from_slice(text);
        Ok(())
    }
}

impl Sink for Tokens {
    fn name(&mut self, text: &[u8]) -> std::result::Result<(), Stopped> {
        self.add(b'n', text)
    }

    fn scalar(&mut self, kind: Kind, text: &[u8]) -> std::result::Result<(), Stopped> {
        self.add(kind as u8, text)
    }

    fn open(&mut self, kind: Kind) -> std::result::Result<(), Stopped> {
        self.add(kind as u8, &[])
    }

    fn close(&mut self) -> std::result::Result<(), Stopped> {
        self.add(b'c', &[])
    }
}

/// A hash of a value of any size: a hint that two may be equal.
struct HashOfValue(<FixedState as BuildHasher>::Hasher);

impl Sink for HashOfValue {
    fn name(&mut self, text: &[u8]) -> std::result::Result<(), Stopped> {
        self.0.write(text);
        Ok(())
    }

    fn scalar(&mut self, kind: Kind, text: &[u8]) -> std::result::Result<(), Stopped> {
        self.0.write_u8(kind as u8);
        self.0.write(text);
        Ok(())
    }

    fn open(&mut self, kind: Kind) -> std::result::Result<(), Stopped> {
        self.0.write_u8(kind as u8);
        Ok(())
    }

    fn close(&mut self) -> std::result::Result<(), Stopped> {
        self.0.write_u8(0);
        Ok(())
    }
}

/// A child of a container, as it is compared with those of the other side.
struct Child {
    /// Equal for children that may be each other's: of the name, or of the value.
    hash: u64,
    /// Bytes, about.
    weight: u32,
    kind: Kind,
}

impl Child {
    /// `sums_large` where the hash of a large element is that of its value too.
    fn of<P: Part>(part: P, parent: Kind, sums_large: bool) -> Result<Child> {
        let (weight, kind) = (part.weight()?, part.kind()?);
        let hasher = FixedState::default();
        let hash = match parent {
            Kind::Object => hasher.hash_one(part.name()?),
            _ if is_large_part(part)? && !sums_large => 0,
            _ => {
                let mut hash = HashOfValue(hasher.build_hasher());
                part.feed(&mut hash)?;
                hash.0.finish()
            }
        };
        Ok(Child { hash, weight: weight.try_into().unwrap_or(u32::MAX), kind })
    }

    fn is_large(&self) -> bool {
        self.kind.is_container() && self.weight as usize > WINDOW_BYTES / 2
    }
}

fn is_large_part(part: impl Part) -> Result<bool> {
    Ok(part.kind()?.is_container() && part.weight()? > WINDOW_BYTES / 2)
}

/// True if a node and its new value are containers of one kind and large together.
pub(crate) fn is_large(draft: &Draft, top: NodeKey, new: impl Part) -> Result<bool> {
    let old = NodePart { nodes: draft, key: top, node_bytes: NODE_BYTES_MIN };
    let kind = old.kind()?;
    Ok(kind.is_container()
        && kind == new.kind()?
        && old.weight()?.saturating_add(new.weight()?) >= LARGE_BYTES)
}

/// Makes the subtree at `top` equal to `new`. Equal parts keep their nodes; what moved to another window does not. With
/// `take`, which takes writes, the draft holds few of them at a time.
pub(crate) fn rewrite_large(
    draft: &mut Draft,
    top: NodeKey,
    new: impl Part,
    take: Option<&mut TakeWrite<'_>>,
) -> Result<()> {
    if draft.expect(top)?.kind != new.kind()? || !new.kind()?.is_container() {
        return rewrite(draft, top, &new.tape()?).map(drop);
    }
    let level = draft.level(top)?;
    let node_bytes = draft.node_bytes()?;
    draft.reopen_base();
    let (open, tokens) = (Vec::new(), Default::default());
    LargeRewrite { draft, take, open, node_bytes, tokens, passed: 0 }.container(top, new, level)
}

struct LargeRewrite<'a, 't> {
    draft: &'a mut Draft,
    take: Option<&'a mut TakeWrite<'t>>,
    /// The containers that are compared, outermost first.
    open: Vec<NodeKey>,
    node_bytes: usize,
    /// Of an old child, and of a new one.
    tokens: [Tokens; 2],
    /// Bytes of the old document that were read since chunks were dropped.
    passed: usize,
}

/// Children of one container that are compared at a time.
struct Slice<P> {
    top: NodeKey,
    kind: Kind,
    level: usize,
    keys: Vec<NodeKey>,
    olds: Vec<Child>,
    parts: Vec<P>,
    news: Vec<Child>,
    /// The label of the child before them.
    left: Option<Label>,
    /// The old child after them.
    next: Option<NodeKey>,
}

impl LargeRewrite<'_, '_> {
    fn old_part(&self, key: NodeKey) -> NodePart<'_, Draft> {
        NodePart { nodes: self.draft, key, node_bytes: self.node_bytes }
    }

    /// Notes that so many bytes of the old document were read, and drops chunks once they are many.
    fn pass(&mut self, bytes: usize) {
        self.passed += bytes;
        if self.passed > PASSED_BYTES {
            self.passed = 0;
            self.draft.drop_chunks();
        }
    }

    /// Makes a container equal to another one of its kind.
    fn container<P: Part>(&mut self, top: NodeKey, new: P, level: usize) -> Result<()> {
        let kind = new.kind()?;
        let (keys, old_larges) = self.old_children(top)?;
        let (mut new_larges, mut count) = (0, 0);
        for part in new.children()? {
            new_larges += usize::from(is_large_part(part?)?);
            count += 1;
        }
        let count: u32 = count;
        // An only large element is compared with the only one of the other side, and is not hashed before.
        let sums_large = old_larges.max(new_larges) > 1;

        self.open.push(top);
        let (mut parts, mut from) = (new.children()?, 0);
        let mut slice = Slice {
            top,
            kind,
            level,
            keys: Vec::new(),
            olds: Vec::new(),
            parts: Vec::new(),
            news: Vec::new(),
            left: None,
            next: None,
        };
        loop {
            while slice.keys.len() < SLICE_CHILDREN && from < keys.len() {
                let child = Child::of(self.old_part(keys[from]), kind, sums_large)?;
                self.pass(child.weight as usize);
                slice.olds.push(child);
                slice.keys.push(keys[from]);
                from += 1;
            }
            let mut is_last = from == keys.len();
            while slice.parts.len() < SLICE_CHILDREN {
                let Some(part) = parts.next() else { break };
                let part = part?;
                slice.news.push(Child::of(part, kind, sums_large)?);
                slice.parts.push(part);
            }
            is_last &= slice.parts.len() < SLICE_CHILDREN;
            slice.next = keys.get(from).copied();
            self.slice(&mut slice, is_last)?;
            if is_last {
                self.open.pop();
                return self.draft.set_count(top, count);
            }
        }
    }

    /// The old children of a container, in order, and how many of them are large.
    fn old_children(&mut self, top: NodeKey) -> Result<(Vec<NodeKey>, usize)> {
        let (mut keys, mut larges) = (Vec::new(), 0);
        loop {
            let children = match keys.last() {
                Some(last) => self.draft.children_after(top, *last)?,
                None => self.draft.children(top)?,
            };
            let mut bytes = 0;
            for key in children {
                let key = key?;
                let part = self.old_part(key);
                larges += usize::from(is_large_part(part)?);
                keys.push(key);
                bytes += part.weight()?;
                if bytes > PASSED_BYTES {
                    break;
                }
            }
            if bytes <= PASSED_BYTES {
                return Ok((keys, larges));
            }
            self.draft.drop_chunks();
        }
    }

    /// Makes the old children of a slice the new ones, and takes them out. The last ones may stay, to be compared with
    /// those that follow.
    fn slice<P: Part>(&mut self, slice: &mut Slice<P>, is_last: bool) -> Result<()> {
        let mut pairs = Vec::new();
        let (mut i, mut j) = (0, 0);
        for (at_i, at_j) in self.in_order(slice)? {
            slice.pair_large(i..at_i, j..at_j, &mut pairs);
            pairs.push((at_i, at_j));
            (i, j) = (at_i + 1, at_j + 1);
        }
        slice.pair_large(i..slice.olds.len(), j..slice.news.len(), &mut pairs);

        let (mut i, mut j) = (0, 0);
        for (at_i, at_j) in pairs {
            self.gap(slice, i..at_i, j..at_j)?;
            let (key, part) = (slice.keys[at_i], slice.parts[at_j]);
            if slice.olds[at_i].is_large() {
                self.container(key, part, slice.level + 1)?;
            }
            slice.left = Some(self.draft.label(key)?);
            (i, j) = (at_i + 1, at_j + 1);
        }
        if is_last || i.max(j) < SLICE_CHILDREN / 2 {
            self.gap(slice, i..slice.olds.len(), j..slice.news.len())?;
            (i, j) = (slice.olds.len(), slice.news.len());
        }
        slice.keys.drain(..i);
        slice.olds.drain(..i);
        slice.parts.drain(..j);
        slice.news.drain(..j);
        Ok(())
    }

    /// The pairs of children, ascending on both sides, that are equal, or are large and become equal by themselves.
    fn in_order<P: Part>(&mut self, slice: &Slice<P>) -> Result<Vec<(usize, usize)>> {
        let hashes = |children: &[Child]| children.iter().map(|child| child.hash).collect();
        let (olds, news): (Vec<u64>, Vec<u64>) = (hashes(&slice.olds), hashes(&slice.news));
        let mut pairs = Vec::new();
        for (i, j) in align(&olds, &news) {
            let (old, new) = (&slice.olds[i], &slice.news[j]);
            let (key, node_bytes) = (slice.keys[i], self.node_bytes);
            let part = NodePart { nodes: &*self.draft, key, node_bytes };
            if old.kind != new.kind
                || old.is_large() != new.is_large()
                || slice.kind == Kind::Object && part.name()? != slice.parts[j].name()?
            {
                continue;
            }
            let [tokens, others] = &mut self.tokens;
            if old.is_large() || tokens.refill(part)? == others.refill(slice.parts[j])? {
                pairs.push((i, j));
            }
            if !old.is_large() {
                self.pass(old.weight as usize);
            }
        }
        Ok(pairs)
    }

    /// Makes a run of old children a run of new ones, window by window.
    fn gap<P: Part>(
        &mut self,
        slice: &mut Slice<P>,
        mut olds: Range<usize>,
        mut news: Range<usize>,
    ) -> Result<()> {
        while !olds.is_empty() || !news.is_empty() {
            let (mut i, mut j, mut bytes) = (olds.start, news.start, 0);
            while i < olds.end || j < news.end {
                let weight = |children: &[Child], at: usize, end: usize| {
                    if at < end { children[at].weight as usize } else { 0 }
                };
                bytes += weight(&slice.olds, i, olds.end) + weight(&slice.news, j, news.end);
                if bytes > WINDOW_BYTES && (i > olds.start || j > news.start) {
                    break;
                }
                (i, j) = ((i + 1).min(olds.end), (j + 1).min(news.end));
            }
            self.window(slice, olds.start..i, news.start..j)?;
            (olds.start, news.start) = (i, j);
        }
        Ok(())
    }

    /// Makes the old children of a window the new ones.
    fn window<P: Part>(
        &mut self,
        slice: &mut Slice<P>,
        olds: Range<usize>,
        news: Range<usize>,
    ) -> Result<()> {
        self.pass(slice.olds[olds.clone()].iter().map(|child| child.weight as usize).sum());
        let next = slice.keys.get(olds.end).copied().or(slice.next);
        let right = next.map(|key| self.draft.label(key)).transpose()?;
        let last = slice.keys[olds.clone()].last().copied();
        let (old, keys) = export_children(self.draft, slice.top, &slice.keys[olds])?;
        let mut new = TapeBuilder::new();
        // A builder does not stop.
        let _ = new.open(slice.kind);
        for part in &slice.parts[news] {
            if let Some(name) = part.name()? {
                let _ = new.name(&name);
            }
            part.feed(&mut new)?;
        }
        let _ = new.close();
        let new = new.finish();
        self.draft.check_depth(&new, 0, slice.level)?;
        let matching = match_trees(&old, &new);
        let bounds = Bounds { left: slice.left.take(), right };
        slice.left = Rewrite::new(self.draft, &old, keys, &new, &matching)?.within(bounds).run()?;
        match &mut self.take {
            Some(take) => {
                let end = next.or(last).map_or(0, NodeKey::chunk);
                self.draft.give(end, &self.open, take)
            }
            None => Ok(()),
        }
    }
}

impl<P> Slice<P> {
    /// Pairs the large containers of a gap of an array, the first with the first of its kind.
    fn pair_large(&self, olds: Range<usize>, news: Range<usize>, pairs: &mut Vec<(usize, usize)>) {
        if self.kind != Kind::Array {
            return;
        }
        let mut news = news.filter(|at| self.news[*at].is_large());
        for i in olds.filter(|at| self.olds[*at].is_large()) {
            let Some(j) = news.find(|at| self.news[*at].kind == self.olds[i].kind) else { return };
            pairs.push((i, j));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Chunk;
    use crate::chunk_buf::ChunkBuf;
    use crate::draft::Write;
    use crate::hash;
    use crate::table::{CollectionOptions, Retention};
    use crate::tree::Source;
    use json::jsonb::Jsonb;
    use serde_json::{Value as Json, json};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use store::Csn;
    use vfs::SimRandom;

    const HASHED: CollectionOptions =
        CollectionOptions { hashes: true, path_summary: true, history: Retention::Forever };

    fn tree_of(value: &Json) -> Tree {
        Tree::read(value.to_string().as_bytes()).expect("is a document")
    }

    fn text_of(tree: &Tree) -> String {
        let mut text = Vec::new();
        tree.write_json(&mut text).expect("writes");
        String::from_utf8(text).expect("is UTF-8")
    }

    /// The document after `old` got the value `new`.
    fn rewritten(old: &Json, new: impl Part, text: &str) -> Draft {
        let old = Arc::new(tree_of(old));
        let mut draft = Draft::new(Arc::clone(&old), &HASHED);
        rewrite_large(&mut draft, old.root(), new, None).expect("is rewritten");
        let after = draft.preview().expect("is a document");
        assert_eq!(text_of(&after), text);
        let sum = |tree: &Tree| hash::digest(tree).expect("is summed up");
        // The old document has no digest: the draft's is what came upon it.
        assert_eq!(draft.header().digest, sum(&after).wrapping_sub(sum(&old)));
        assert_eq!(
            after.header().nodes,
            after.subtree(after.root()).expect("is a tree").len() as u64
        );
        draft
    }

    /// Makes the document `old` the value `new` while the draft gives its writes away. Returns how many it gave before the
    /// end.
    fn give(old: &Json, new: impl Part, text: &str) -> usize {
        let old = Arc::new(tree_of(old));
        let options = CollectionOptions { path_summary: false, ..HASHED };
        let (mut draft, mut writes) = (Draft::new(Arc::clone(&old), &options), Vec::new());
        let mut take = |number, write| {
            writes.push((number, write));
            Ok(())
        };
        rewrite_large(&mut draft, old.root(), new, Some(&mut take)).expect("is rewritten");
        let given = writes.len();
        writes.extend(draft.finish().expect("finishes").0);
        let mut images: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for number in 0..old.chunk_count() {
            let chunk = old.chunk(number).expect("reads");
            images.extend(chunk.map(|chunk| (number, chunk.to_image())));
        }
        for (number, write) in writes {
            match write {
                Write::Put(image) => drop(images.insert(number, image)),
                Write::Delete => drop(images.remove(&number).expect("a chunk that is there")),
                Write::Delta(delta) => {
                    let (image, mut merged) = (&images[&number], Vec::new());
                    let mut deltas = [(Csn(2), &delta[..])].into_iter();
                    ChunkBuf::merge(Csn(1), image, &mut deltas, &mut merged).expect("merges");
                    images.insert(number, merged);
                }
            }
        }
        let chunks = images
            .into_iter()
            .map(|(number, image)| (number, Chunk::from_image(image, Csn(2)).expect("is a chunk")));
        let after = Tree::of_chunks(Csn(2), chunks.collect()).expect("is a document");
        assert_eq!(text_of(&after), text);
        let sum = |tree: &Tree| hash::digest(tree).expect("is summed up");
        assert_eq!(after.header().digest, sum(&after).wrapping_sub(sum(&old)));
        given
    }

    /// The keys of the children of a document's root, or of one of them.
    fn keys(nodes: &impl Nodes, below: Option<usize>) -> Vec<NodeKey> {
        let root = nodes.root();
        let top =
            below.map_or(root, |at| nodes.child_at(root, at).expect("reads").expect("a child"));
        nodes.children(top).expect("reads").collect::<Result<_>>().expect("reads")
    }

    fn rows(count: usize) -> Vec<Json> {
        (0..count).map(|id| json!({"id": id, "name": format!("row number {id}")})).collect()
    }

    #[test]
    fn one_changed_value_is_one_change() {
        let old = json!(rows(100));
        let mut new = old.clone();
        new[57]["name"] = json!("another");
        let draft =
            rewritten(&old, NodePart::root(&tree_of(&new)).expect("has nodes"), &new.to_string());
        // The value, and the header, which has the digest.
        let (writes, _) = draft.finish().expect("finishes");
        let bytes = |(_, write): &_| match write {
            Write::Delta(delta) => delta.len(),
            _ => panic!("a whole chunk"),
        };
        assert!(writes.len() <= 2 && writes.iter().map(bytes).sum::<usize>() < 80);
        let same =
            rewritten(&old, NodePart::root(&tree_of(&old)).expect("has nodes"), &old.to_string());
        assert!(same.is_clean());
    }

    #[test]
    fn what_stands_around_an_insertion_stays() {
        let old = json!(rows(100));
        let mut new = rows(100);
        new.insert(0, json!({"id": -1, "name": "the first"}));
        new.remove(50);
        let new = json!(new);
        let before = keys(&tree_of(&old), None);
        let after = keys(
            &rewritten(&old, NodePart::root(&tree_of(&new)).expect("has nodes"), &new.to_string()),
            None,
        );
        assert_eq!(after[1..50], before[..49]);
        assert_eq!(after[50..], before[50..]);
    }

    /// Arrays that are too large for a window are known by their values, or by their order.
    #[test]
    fn large_parts_are_compared_in_their_turn() {
        let old = json!([rows(30), rows(40), rows(50)]);
        let mut changed = rows(50);
        changed[7]["name"] = json!("another");
        let new = json!([rows(20), rows(30), rows(40), changed]);
        let (before, tree) = (tree_of(&old), tree_of(&new));
        let after = rewritten(&old, NodePart::root(&tree).expect("has nodes"), &new.to_string());
        assert_eq!(keys(&after, None)[1..], keys(&before, None));
        assert_eq!(keys(&after, Some(3)), keys(&before, Some(2)));
    }

    /// Fields are known by their names, whatever stands between them.
    #[test]
    fn large_fields_are_known_by_name() {
        let old = json!({"a": rows(30), "b": 1, "c": {"d": rows(30)}});
        let mut changed = rows(30);
        changed.truncate(29);
        let new = json!({"0": "new", "a": changed, "c": {"d": rows(31), "e": 2}});
        let text = Jsonb::parse(&new.to_string()).expect("is a value");
        let (before, value) = (tree_of(&old), JsonbPart::from(text.root()));
        let after = rewritten(&old, value, &text.to_string().replace(": ", ":").replace(", ", ","));
        let named = |nodes: &Draft, name: &str| {
            nodes.child_named(nodes.root(), name.as_bytes()).expect("reads").expect("a field")
        };
        let base = Draft::new(Arc::new(before), &HASHED);
        for name in ["a", "c"] {
            assert_eq!(named(&after, name), named(&base, name), "{name}");
        }
    }

    /// The chunks of a document as a store has them.
    struct Images(BTreeMap<u32, Vec<u8>>);

    impl Source for Images {
        fn chunk(&self, number: u32) -> Result<Option<Chunk>> {
            let image = self.0.get(&number).cloned();
            Ok(image.map(|image| Chunk::from_image(image, Csn(1))).transpose()?)
        }

        fn chunks(&self, numbers: Range<u32>, each: &mut dyn FnMut(u32, Chunk)) -> Result<()> {
            for (number, image) in self.0.range(numbers) {
                each(*number, Chunk::from_image(image.clone(), Csn(1))?);
            }
            Ok(())
        }
    }

    /// A stored document of 60 MiB was once read as a whole, and was in memory until its new value was written.
    #[test]
    fn chunks_of_a_stored_document_that_were_passed_are_dropped() {
        let (old, mut new) = (rows(20_000), rows(20_000));
        new[19_000]["name"] = json!("another");
        let old = tree_of(&json!(old));
        let images = (0..old.chunk_count()).map(|number| {
            let chunk = old.chunk(number).expect("reads").expect("a chunk");
            (number, chunk.to_image())
        });
        let images = Arc::new(Images(images.collect()));
        let first = images.chunk(0).expect("reads").expect("a chunk");
        let stored = Arc::new(Tree::open(Csn(1), first, || images).expect("opens"));
        let mut draft = Draft::new(Arc::clone(&stored), &HASHED);
        let (value, text) = (tree_of(&json!(new)), json!(new).to_string());
        let value = NodePart::root(&value).expect("has nodes");
        rewrite_large(&mut draft, stored.root(), value, None).expect("is rewritten");
        let held = draft.base_bytes();
        assert!(held < old.chunk_bytes() / 100, "{held} bytes of {}", old.chunk_bytes());
        assert_eq!(text_of(&draft.preview().expect("is a document")), text);
        assert!(draft.finish().expect("finishes").0.len() <= 2);
    }

    struct Dice(SimRandom);

    impl Dice {
        fn below(&mut self, n: usize) -> usize {
            self.0.below(n.max(1) as u64) as usize
        }

        fn value(&mut self, levels: usize) -> Json {
            match self.below(if levels == 0 { 4 } else { 8 }) {
                0 => json!(null),
                1 => json!(self.below(5)),
                2 => json!("x".repeat(self.below(4))),
                3 => json!(format!("a \"text\" of {} words", self.below(20))),
                4 | 5 => json!(Vec::from_iter((0..self.below(9)).map(|_| self.value(levels - 1)))),
                _ => {
                    let mut object = serde_json::Map::new();
                    for _ in 0..self.below(9) {
                        object.insert(format!("f{}", self.below(12)), self.value(levels - 1));
                    }
                    Json::Object(object)
                }
            }
        }

        /// Changes a value somewhere.
        fn change(&mut self, value: &mut Json) {
            let stays = self.below(4) > 0;
            match value {
                Json::Array(list) if !list.is_empty() && stays => {
                    let at = self.below(list.len());
                    self.change(&mut list[at]);
                }
                Json::Object(fields) if !fields.is_empty() && stays => {
                    let at = self.below(fields.len());
                    self.change(fields.values_mut().nth(at).expect("a field"));
                }
                Json::Array(list) => match self.below(4) {
                    0 if !list.is_empty() => drop(list.remove(self.below(list.len()))),
                    1 if !list.is_empty() => {
                        let moved = list.remove(self.below(list.len()));
                        list.insert(self.below(list.len() + 1), moved);
                    }
                    _ => list.insert(self.below(list.len() + 1), self.value(2)),
                },
                Json::Object(fields) => match self.below(3) {
                    0 => drop(fields.shift_remove(&format!("f{}", self.below(12)))),
                    _ => drop(fields.insert(format!("f{}", self.below(12)), self.value(2))),
                },
                scalar => *scalar = self.value(1),
            }
        }
    }

    /// Random documents become random others, and the same after a few changes: exactly.
    #[test]
    fn random_documents() {
        let (changed, given) = (AtomicUsize::new(0), AtomicUsize::new(0));
        vfs::seeds(1, 600, |seed| {
            let mut dice = Dice(SimRandom::new(seed));
            let old = json!(Vec::from_iter((0..dice.below(30)).map(|_| dice.value(4))));
            let mut new = old.clone();
            match dice.below(4) {
                0 => new = json!(Vec::from_iter((0..dice.below(30)).map(|_| dice.value(4)))),
                _ => (0..dice.below(12)).for_each(|_| dice.change(&mut new)),
            }
            if !new.is_array() {
                return;
            }
            let draft = rewritten(
                &old,
                NodePart::root(&tree_of(&new)).expect("has nodes"),
                &new.to_string(),
            );
            changed.fetch_add(usize::from(!draft.is_clean()), Ordering::Relaxed);
            let early =
                give(&old, NodePart::root(&tree_of(&new)).expect("has nodes"), &new.to_string());
            given.fetch_add(usize::from(early > 0), Ordering::Relaxed);
            // The other form of a value, whose fields have an order of their own.
            let value = Jsonb::parse(&new.to_string()).expect("is a value");
            let sorted: Json = serde_json::from_str(&value.to_string()).expect("is JSON");
            rewritten(&old, JsonbPart::from(value.root()), &sorted.to_string());
        });
        assert!(changed.into_inner() > 300 && given.into_inner() > 30);
    }
}
