//! The nodes that stood at a path, over the whole life of a document.
//!
//! ```text
//!   revision    1      2         3            4         5
//!   document    {a:7}  {}        {a:8}        {b:8}     {b:8,a:[]}
//!   $.a         1 ───| nothing | 2 ─────────| nothing | 3 ──────────
//! ```
//!
//! A node that is removed and added again is another node, and a node that is moved or renamed leaves its
//! path. So the history of a path is a list of nodes, each with the commits over which it stood there
//! ([`PathNode`]).
//!
//! Nothing is rebuilt to find them. The deltas of a document say which node came, went, moved or got
//! another name, a few bytes each. They are read once, chunk by chunk, and what is about a name or a
//! position of the path is put in order of commits. A small model of the nodes that the path could lead to
//! is then carried from commit to commit, and the path is followed anew only where a node on it, or a
//! child of one, was touched.
//!
//! A path that has led to one node since the first revision, as most do, is recognised by its nodes alone:
//! the chunks that hold them are read, no others.
//!
//! Costs: a pass over the deltas of the document and one image of each of its chunks, and a step for each
//! change of structure below the nodes of the path. Positions of an array are counted from its beginning.

use crate::codec::Reader;
use crate::collection::Collection;
use crate::delta::Op;
use crate::error::Damaged;
use crate::image::Image;
use crate::key::{Prefix, Record};
use crate::node::{CHUNK_NODES, NO_NAME, placed};
use crate::order::Label;
use crate::state::State;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result, Revision};
use json::{JsonPath, Step};
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use store::{Csn, Version};

/// A node at a path, with the commits over which it stood there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathNode {
    pub node: NodeKey,
    /// The commit that put it there.
    pub from: Csn,
    /// The commit after which it was not there any more; `None` if it still is.
    pub end: Option<Csn>,
}

impl Collection {
    /// The nodes that stood at a path, in the order in which they did.
    pub(crate) fn path_history(
        &self,
        prefix: &Prefix,
        state: &State,
        path: &JsonPath,
    ) -> Result<Vec<PathNode>> {
        if let Some(found) = self.only_path_node(prefix, state, path)? {
            return Ok(vec![found]);
        }
        let mut log = StructureLog::new(path);
        let next_key = state.tree.as_ref().map_or(state.next_key, |tree| tree.header().next_key);
        for number in 0..=NodeKey(next_key).chunk() {
            let mut chunk = ChunkWalk::new(number, &mut log);
            self.each_version(prefix, number, state.csn, |version| chunk.version(version))?;
        }
        Ok(log.path_history(&path.steps))
    }

    fn each_version(
        &self,
        prefix: &Prefix,
        number: u32,
        to: Csn,
        mut f: impl FnMut(Version<'_>) -> Result<(), Damaged>,
    ) -> Result<()> {
        let key = prefix.record(Record::Chunk(number));
        let mut result = Ok(());
        self.engine().store().versions(self.id(), &key, Csn(1), to, |version| {
            result = f(version);
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(result?)
    }

    /// The node of a path that has led to the same node ever since the first revision. `None` if
    /// that is not so, or takes more than the chunks of the nodes on the path to tell.
    fn only_path_node(
        &self,
        prefix: &Prefix,
        state: &State,
        path: &JsonPath,
    ) -> Result<Option<PathNode>> {
        let Some(tree) = state.tree.as_deref() else { return Ok(None) };
        let Some(nodes) = nodes_on(tree, path)? else { return Ok(None) };
        let first = state.list.csn(self.engine(), Revision(1))?.unwrap_or_default();
        let has_shape_of_first = tree.header().shape == first;
        // Where nodes came and went, the position of an element says nothing of the past.
        let by_name = nodes[1..].iter().try_fold(true, |all, key| {
            Ok::<_, crate::DocumentError>(all && tree.expect(*key)?.name.is_some())
        })?;
        if !has_shape_of_first && !by_name {
            return Ok(None);
        }
        let mut suspects = Vec::new();
        for key in &nodes {
            if tree.expect(*key)?.changed != first {
                suspects.push(*key);
            }
        }
        let mut chunks: Vec<u32> = suspects.iter().map(|key| key.chunk()).collect();
        chunks.sort_unstable();
        chunks.dedup();
        for number in chunks {
            let mut slots = [false; CHUNK_NODES];
            let here = suspects.iter().filter(|key| key.chunk() == number);
            here.for_each(|key| slots[key.slot()] = true);
            let mut has_stayed = true;
            self.each_version(prefix, number, state.csn, |version| {
                has_stayed = has_stayed && stays(&slots, version, first)?;
                Ok(())
            })?;
            if !has_stayed {
                return Ok(None);
            }
        }
        let node = nodes[nodes.len() - 1];
        Ok(Some(PathNode { node, from: first, end: None }))
    }
}

/// The nodes that a path leads over, from the root to its end; `None` if it leads nowhere.
fn nodes_on(tree: &Tree, path: &JsonPath) -> Result<Option<Vec<NodeKey>>> {
    let Some(mut key) = tree.resolve(path)? else { return Ok(None) };
    let mut nodes = vec![key];
    while let Some(parent) = tree.parent(key)? {
        nodes.push(parent);
        key = parent;
    }
    nodes.reverse();
    Ok(Some(nodes))
}

/// Whether some nodes of a chunk keep their name and place through a version of it.
fn stays(
    slots: &[bool; CHUNK_NODES],
    Version { csn, kind, bytes }: Version<'_>,
    first: Csn,
) -> Result<bool, Damaged> {
    if kind != store::Kind::Delta {
        // A node that came later than the first revision was not there, or was rewritten.
        return Ok(csn == first);
    }
    let mut input = Reader::new(bytes);
    while let Some(tag) = input.rest().first() {
        if *tag < Op::SETS_BELOW {
            crate::delta::read_set(&mut input)?;
            continue;
        }
        let is_moved = match Op::decode(&mut input)? {
            Op::Rename { slot, .. } | Op::Insert { slot, .. } | Op::Place { slot, .. } => {
                slots[slot as usize]
            }
            Op::Remove { slot, count } => {
                slots.iter().skip(slot as usize).take(count).any(|slot| *slot)
            }
            Op::Set { .. } | Op::Count { .. } | Op::Header(..) => false,
        };
        if is_moved {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The name of a node, as far as a path asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Name {
    /// None: an element of an array, or the root.
    #[default]
    Element,
    /// The name that a step of the path asks for, by its number among them.
    Asked(usize),
    /// Another.
    Other,
}

/// Where a node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    /// 0 of the root.
    parent: NodeKey,
    label: Label,
    name: Name,
}

enum Event {
    Root(NodeKey),
    /// The node stands there from now on; `None`: at no place that the path can lead to.
    Node(NodeKey, Option<Spot>),
}

/// The events of the nodes that a path can lead to.
struct StructureLog {
    /// The names in the path, escaped.
    names: Vec<Vec<u8>>,
    /// The path has a step that can be a position.
    has_positions: bool,
    events: Vec<(Csn, Event)>,
}

impl StructureLog {
    fn new(path: &JsonPath) -> StructureLog {
        let mut names: Vec<Vec<u8>> = Vec::new();
        for step in &path.steps {
            if let Some(name) = name_of(step).filter(|name| !names.contains(name)) {
                names.push(name);
            }
        }
        let has_positions = path.steps.iter().any(|step| position_of(step).is_some());
        StructureLog { names, has_positions, events: Vec::new() }
    }

    fn name(&self, name: Option<&[u8]>) -> Name {
        match name {
            None => Name::Element,
            Some(name) => {
                self.names.iter().position(|n| n == name).map_or(Name::Other, Name::Asked)
            }
        }
    }

    /// Whether a path can lead to a node that stands there.
    fn is_asked(&self, spot: &Spot) -> bool {
        match spot.name {
            Name::Asked(_) => true,
            Name::Element => self.has_positions,
            Name::Other => false,
        }
    }

    /// The values that stood at the path, by the events.
    fn path_history(mut self, steps: &[Step]) -> Vec<PathNode> {
        // Stable: what happened to one node stays in order, for its chunk was read in order.
        self.events.sort_by_key(|(csn, _)| *csn);
        let steps = steps.iter().map(|step| {
            let name = name_of(step).and_then(|name| self.names.iter().position(|n| *n == name));
            (name, position_of(step))
        });
        let mut model = Model::new(steps.collect());
        let mut history: Vec<PathNode> = Vec::new();
        let mut events = self.events.into_iter().peekable();
        while let Some((csn, event)) = events.next() {
            let mut is_on_path = model.apply(event);
            while let Some((_, event)) = events.next_if(|(next, _)| *next == csn) {
                is_on_path |= model.apply(event);
            }
            if !is_on_path {
                continue;
            }
            let node = model.follow();
            let open = history.last_mut().filter(|found| found.end.is_none());
            match open {
                Some(found) if Some(found.node) == node => continue,
                Some(found) => found.end = Some(csn),
                None => {}
            }
            history.extend(node.map(|node| PathNode { node, from: csn, end: None }));
        }
        history
    }
}

/// The escaped name of the field that a step leads to.
fn name_of(step: &Step) -> Option<Vec<u8>> {
    match step {
        Step::Field(name) | Step::Either(name) => {
            Some(json::text::escape(name).as_bytes().to_vec())
        }
        Step::Index(_) => None,
    }
}

/// The position of the element that a step leads to.
fn position_of(step: &Step) -> Option<usize> {
    match step {
        Step::Field(_) => None,
        Step::Index(position) => Some(*position),
        Step::Either(position) => position.parse().ok(),
    }
}

/// The nodes that a path can lead to, as of one commit.
struct Model {
    /// For each step the number of its name, and its position.
    steps: Vec<(Option<usize>, Option<usize>)>,
    /// 0 where there is no document.
    root: NodeKey,
    spots: HashMap<NodeKey, Spot>,
    fields: HashMap<(NodeKey, usize), NodeKey>,
    elements: HashMap<NodeKey, BTreeSet<(Label, NodeKey)>>,
    /// The nodes that the path leads over, as far as it leads.
    on_path: Vec<NodeKey>,
}

impl Model {
    /// No node yet.
    fn new(steps: Vec<(Option<usize>, Option<usize>)>) -> Model {
        Model {
            steps,
            root: NodeKey(0),
            spots: HashMap::new(),
            fields: HashMap::new(),
            elements: HashMap::new(),
            on_path: Vec::new(),
        }
    }

    /// Applies an event; returns whether the path may lead elsewhere after it.
    fn apply(&mut self, event: Event) -> bool {
        let (key, spot) = match event {
            Event::Root(root) => {
                self.root = root;
                return true;
            }
            Event::Node(key, spot) => (key, spot),
        };
        let mut is_on_path = self.on_path.contains(&key);
        if let Some(old) = self.spots.remove(&key) {
            is_on_path |= self.decides(&old);
            match old.name {
                // Another may have taken the name in the same commit.
                Name::Asked(name) => {
                    if self.fields.get(&(old.parent, name)) == Some(&key) {
                        self.fields.remove(&(old.parent, name));
                    }
                }
                _ => {
                    if let Some(elements) = self.elements.get_mut(&old.parent) {
                        elements.remove(&(old.label, key));
                    }
                }
            }
        }
        if let Some(spot) = spot {
            is_on_path |= self.decides(&spot);
            match spot.name {
                Name::Asked(name) => drop(self.fields.insert((spot.parent, name), key)),
                _ => {
                    let elements = self.elements.entry(spot.parent).or_default();
                    elements.insert((spot.label.clone(), key));
                }
            }
            self.spots.insert(key, spot);
        }
        is_on_path
    }

    /// Whether it matters to the path that a node comes to a spot, or leaves it.
    fn decides(&self, spot: &Spot) -> bool {
        let Some(at) = self.on_path.iter().position(|key| *key == spot.parent) else {
            return false;
        };
        // A later sibling does not change the position of an element.
        match (spot.name, self.on_path.get(at + 1).and_then(|next| self.spots.get(next))) {
            (Name::Element, Some(next)) => spot.label <= next.label,
            _ => true,
        }
    }

    /// Follows the path; returns the node that it leads to.
    fn follow(&mut self) -> Option<NodeKey> {
        self.on_path.clear();
        let mut key = self.root;
        if key == NodeKey(0) {
            return None;
        }
        self.on_path.push(key);
        for (name, position) in &self.steps {
            let field = name.and_then(|name| self.fields.get(&(key, name)).copied());
            let element = || {
                let elements = self.elements.get(&key)?;
                elements.iter().nth((*position)?).map(|(_, key)| *key)
            };
            key = field.or_else(element)?;
            self.on_path.push(key);
        }
        Some(key)
    }
}

/// One chunk, from version to version.
struct ChunkWalk<'a> {
    number: u32,
    log: &'a mut StructureLog,
    /// Where the node of each slot stands, also where no path asks for it: it may get another name.
    spots: Vec<Option<Spot>>,
    root: NodeKey,
    is_first: bool,
}

impl<'a> ChunkWalk<'a> {
    fn new(number: u32, log: &'a mut StructureLog) -> ChunkWalk<'a> {
        let spots = vec![None; CHUNK_NODES];
        ChunkWalk { number, log, spots, root: NodeKey(0), is_first: true }
    }

    fn version(&mut self, Version { csn, kind, bytes }: Version<'_>) -> Result<(), Damaged> {
        match kind {
            store::Kind::Put => self.image(csn, bytes)?,
            store::Kind::Delta => self.delta(csn, bytes)?,
            store::Kind::Delete => {
                self.remove(csn, 0..CHUNK_NODES);
                if self.number == 0 {
                    self.set_root(csn, NodeKey(0));
                }
            }
        }
        self.is_first = false;
        Ok(())
    }

    fn set_root(&mut self, csn: Csn, root: NodeKey) {
        if self.root != root {
            self.root = root;
            self.log.events.push((csn, Event::Root(root)));
        }
    }

    /// Says where the node of a slot stands from a commit on.
    fn set(&mut self, csn: Csn, slot: usize, spot: Option<Spot>) {
        if self.spots[slot] == spot {
            return;
        }
        let was_asked = self.spots[slot].as_ref().is_some_and(|old| self.log.is_asked(old));
        let asked = spot.clone().filter(|spot| self.log.is_asked(spot));
        if was_asked || asked.is_some() {
            let key = NodeKey::new(self.number, slot as u8);
            self.log.events.push((csn, Event::Node(key, asked)));
        }
        self.spots[slot] = spot;
    }

    fn remove(&mut self, csn: Csn, slots: std::ops::Range<usize>) {
        for slot in slots.start..slots.end.min(CHUNK_NODES) {
            self.set(csn, slot, None);
        }
    }

    /// Where a node stands whose key is `up` from that of its parent, or that has a place.
    fn spot(
        &self,
        slot: usize,
        up: u32,
        place: Option<(NodeKey, Label)>,
        name: Name,
    ) -> Result<Spot, Damaged> {
        let key = NodeKey::new(self.number, slot as u8);
        let (parent, label) = match place {
            Some(place) => place,
            None if up == 0 => (NodeKey(0), Label::of_key(key)),
            None => {
                let parent = key.0.checked_sub(up as u64);
                let parent = parent.ok_or(Damaged::new("a node without a parent"))?;
                (NodeKey(parent), Label::of_key(key))
            }
        };
        Ok(Spot { parent, label, name })
    }

    fn image(&mut self, csn: Csn, bytes: &[u8]) -> Result<(), Damaged> {
        let image = Image::parse(bytes)?;
        let mut places: HashMap<usize, (NodeKey, Label)> = HashMap::new();
        for entry in placed(image.placed) {
            let (slot, parent, label) = entry?;
            places.insert(slot as usize, (parent, label));
        }
        let mut start = 0;
        for slot in 0..CHUNK_NODES {
            if slot >= image.kinds.len() {
                self.set(csn, slot, None);
                continue;
            }
            // An image that stands for forgotten changes knows since when each node is as it is.
            let changed = match image.changed(slot) {
                changed if changed != 0 && self.is_first => Csn(changed),
                _ => csn,
            };
            let len = image.frag_len(slot);
            let spot = match image.kinds[slot] {
                0 => None,
                _ => {
                    let name = match image.name_len(slot) {
                        NO_NAME => None,
                        len => Some(&image.heap[start + 2..start + 2 + len as usize]),
                    };
                    let (name, place) = (self.log.name(name), places.remove(&slot));
                    Some(self.spot(slot, image.up(slot), place, name)?)
                }
            };
            self.set(changed, slot, spot);
            start += len;
        }
        if let Some(header) = image.header() {
            // Before it, there are no nodes that a root could lead to.
            self.set_root(if self.is_first { Csn(0) } else { csn }, NodeKey(header.root));
        }
        Ok(())
    }

    fn delta(&mut self, csn: Csn, delta: &[u8]) -> Result<(), Damaged> {
        let mut input = Reader::new(delta);
        while let Some(tag) = input.rest().first() {
            if *tag < Op::SETS_BELOW {
                crate::delta::read_set(&mut input)?;
                continue;
            }
            match Op::decode(&mut input)? {
                Op::Rename { slot, name } => {
                    let name = self.log.name(Some(name));
                    let spot = self.spots[slot as usize].clone();
                    self.set(csn, slot as usize, spot.map(|spot| Spot { name, ..spot }));
                }
                Op::Remove { slot, count } => {
                    self.remove(csn, slot as usize..slot as usize + count);
                }
                Op::Insert { slot, node, place } => {
                    let name = self.log.name(node.name);
                    let spot = self.spot(slot as usize, node.up, place, name)?;
                    self.set(csn, slot as usize, Some(spot));
                }
                Op::Place { slot, up, place, name } => {
                    let name = self.log.name(name);
                    let spot = self.spot(slot as usize, up, place, name)?;
                    self.set(csn, slot as usize, Some(spot));
                }
                Op::Header(header, _) => self.set_root(csn, NodeKey(header.root)),
                Op::Set { .. } | Op::Count { .. } => {}
            }
        }
        Ok(())
    }
}
