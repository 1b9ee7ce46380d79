//! The matching of the nodes of a new document with those of the old one.
//!
//! A whole-document write gives the new value, and not the changes that led to it. Matching finds a
//! short list of changes: every new node either continues an old one, and keeps its key and history,
//! or is an insertion. Every old node that no new node continues is a deletion.
//!
//! ```text
//!   old  {"a":[{"id":1,"n":5},{"id":2,"n":6}],"x":{"big":[1,2,3]}}
//!   new  {"a":[{"id":2,"n":7},{"id":1,"n":5}],"y":{"big":[1,2,3]}}
//!
//!   root ── root          same kind
//!   a ───── a             same name
//!   a[0] ── a[1]          equal: kept as it is
//!   a[1] ── a[0]          same "id": a move, and inside it n is updated
//!   x ───── y             equal under another name: a rename
//! ```
//!
//! From the root downwards, the children of every matched pair are matched. Fields are matched by name,
//! then by equal value (a rename). Elements are matched along a longest common subsequence of equal
//! values, then by equal value out of order (a move), by an identifying field, and by similarity in
//! order. Unmatched nodes on both sides are looked up by hash across the whole document (a move from
//! another container). Nodes that are then unmatched in one container are matched by similarity (a
//! rename or a move, with changes inside).
//!
//! # Invariants
//! * Every old node is continued at most once; containers continue containers of their own kind,
//!   scalars continue scalars.
//! * A pair is either a child of a matched pair on both sides, or lies in a pair of equal subtrees
//!   that were free of other matches. By induction no node ever moves into its own descendant.
//! * Equal hashes are only a hint: subtrees are compared before they are called equal.
//! * Same input, same answer: fixed seeds, and no map is ever iterated.
//! * Work is bounded: the steps that are not linear are counted, and beyond [`budget`] coarser,
//!   near-linear algorithms are used.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};

mod align;
#[cfg(test)]
mod tests;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use json::{Kind, Tape};

use align::Aligner;

/// The value for "continues no node" in [`Matching::olds`].
pub const NONE: u32 = u32::MAX;

/// Names of fields that identify the elements of an array, the most reliable first.
const IDENTITY_NAMES: [&[u8]; 8] =
    [b"id", b"_id", b"uuid", b"key", b"name", b"path", b"title", b"slug"];

/// Two containers with at least this similarity, in thousandths, are versions of one.
const SIMILARITY_MIN: u32 = 400;
/// The same if their identifying fields differ.
const SIMILARITY_MIN_OTHER_IDENTITY: u32 = 650;
/// The same for fields of another name and elements in another order.
const SIMILARITY_MIN_ELSEWHERE: u32 = 800;

/// Bytes of text and nodes together that make a subtree worth moving within one array, or from one
/// matched parent to another.
const MOVE_WEIGHT_MIN: usize = 8;
/// The same for a move into an inserted container or out of a deleted one.
const NESTED_MOVE_WEIGHT_MIN: usize = 64;

/// How many old candidates of one hash are looked at for one new node.
const CANDIDATES_MAX: usize = 16;

type Map<V> = HashMap<u64, V, FixedState>;

/// The result of [`match_trees`]: for every new node the old node that it continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matching {
    olds: Vec<u32>,
    whole: Vec<bool>,
    steps: u64,
}

impl Matching {
    /// The old node that new node `new` (in preorder) continues.
    #[inline]
    pub fn old_of(&self, new: usize) -> Option<usize> {
        (self.olds[new] != NONE).then(|| self.olds[new] as usize)
    }

    /// For every new node the old one it continues, or [`NONE`].
    pub fn olds(&self) -> &[u32] {
        &self.olds
    }

    /// For every one of `old_nodes` old nodes the new one that continues it, or [`NONE`].
    pub fn news(&self, old_nodes: usize) -> Vec<u32> {
        let mut news = vec![NONE; old_nodes];
        for (new, &old) in self.olds.iter().enumerate() {
            if old != NONE {
                news[old as usize] = new as u32;
            }
        }
        news
    }

    /// True if the value of `new`, with all nodes below it, is byte for byte the value of the node that it
    /// continues, and every node below it continues its counterpart: then nothing below it has changed.
    #[inline]
    pub fn is_whole(&self, new: usize) -> bool {
        self.whole[new]
    }

    /// The counted steps of work; at most [`budget`] plus a small multiple of the nodes.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// How many steps may be spent on what is not linear, for documents of so many nodes together.
pub fn budget(nodes: usize) -> u64 {
    4_000_000 + 64 * nodes as u64
}

/// The longest common subsequence of two lists of hashes, or nearly: pairs of positions, ascending in both.
pub(crate) fn align(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let (mut pairs, mut steps) = (Vec::new(), 0);
    let budget = budget(a.len() + b.len());
    let mut aligner = Aligner { a, b, pairs: &mut pairs, steps: &mut steps, budget };
    aligner.align(0..a.len(), 0..b.len());
    pairs
}

/// Matches the nodes of two documents.
pub fn match_trees(old: &Tape, new: &Tape) -> Matching {
    if old == new {
        let olds = (0..new.len() as u32).collect();
        return Matching { olds, whole: vec![true; new.len()], steps: 0 };
    }
    let mut matcher = Matcher {
        budget: budget(old.len() + new.len()),
        old: Side::new(old),
        new: Side::new(new),
        olds: vec![NONE; new.len()],
        news: vec![NONE; old.len()],
        whole: vec![false; new.len()],
        work: Vec::new(),
        leftovers: Vec::new(),
        steps: 0,
    };
    matcher.pair(0, 0);
    matcher.descend();
    matcher.move_equals();
    matcher.match_leftovers();
    if !matcher.work.is_empty() {
        matcher.descend();
        matcher.move_equals();
    }
    Matching { olds: matcher.olds, whole: matcher.whole, steps: matcher.steps }
}

/// One of the two documents, with precomputed hashes.
struct Side<'a> {
    tape: &'a Tape,
    offsets: Vec<usize>,
    /// Hash of each value with all that is in it, its own name left out.
    values: Vec<u64>,
    /// Hash of each name; 0 where there is none.
    names: Vec<u64>,
}

impl<'a> Side<'a> {
    fn new(tape: &'a Tape) -> Side<'a> {
        let state = FixedState::with_seed(0x616e_7977_6865_6e21);
        let hash = |kind: u8, text: &[u8]| {
            let mut hasher = state.build_hasher();
            hasher.write_u8(kind);
            hasher.write(text);
            hasher.finish()
        };
        let offsets = tape.offsets();
        let (mut values, mut names) = (vec![0; tape.len()], vec![0; tape.len()]);
        // Backwards, so that children come before their parents.
        for node in (0..tape.len()).rev() {
            let name_len = tape.name_len(node);
            let value_at = offsets[node] + name_len.unwrap_or(0);
            if name_len.is_some() {
                names[node] = hash(0, &tape.heap[offsets[node]..value_at]);
            }
            let mut value = hash(tape.kinds[node] as u8, &tape.heap[value_at..offsets[node + 1]]);
            let mut child = node + 1;
            for _ in 0..tape.counts[node] {
                value = mix(mix(value, names[child]), values[child]);
                child += tape.extents[child] as usize;
            }
            values[node] = value;
        }
        Side { tape, offsets, values, names }
    }

    fn kind(&self, node: u32) -> Kind {
        self.tape.kinds[node as usize]
    }

    fn extent(&self, node: u32) -> usize {
        self.tape.extents[node as usize] as usize
    }

    fn children(&self, node: u32) -> Vec<u32> {
        let mut child = node + 1;
        let mut children = Vec::with_capacity(self.tape.counts[node as usize] as usize);
        for _ in 0..self.tape.counts[node as usize] {
            children.push(child);
            child += self.tape.extents[child as usize];
        }
        children
    }

    fn name(&self, node: u32) -> &'a [u8] {
        let (node, at) = (node as usize, self.offsets[node as usize]);
        &self.tape.heap[at..at + self.tape.name_len(node).unwrap_or(0)]
    }

    /// The text of a value; for a container with the texts of all nodes below it.
    fn text(&self, node: u32) -> &'a [u8] {
        let at = self.offsets[node as usize] + self.tape.name_len(node as usize).unwrap_or(0);
        &self.tape.heap[at..self.offsets[node as usize + self.extent(node)]]
    }

    /// The size of a value: bytes of text plus nodes, without its name.
    fn weight(&self, node: u32) -> usize {
        self.text(node).len() + self.extent(node) - 1
    }

    /// The identity of a container, from a field such as "id": the rank of that field (smaller is more
    /// reliable), and a hash of field and value.
    fn identity(&self, node: u32) -> Option<(usize, u64)> {
        if self.kind(node) != Kind::Object {
            return None;
        }
        let rank = |child: u32| {
            let telling = matches!(self.kind(child), Kind::String | Kind::Number);
            let rank =
                IDENTITY_NAMES.iter().position(|&name| telling && name == self.name(child))?;
            Some((rank, mix(self.names[child as usize], self.values[child as usize])))
        };
        let mut child = node + 1;
        let mut best = None;
        // Identifying fields are among the first ones, so long objects are not searched to their end.
        for _ in 0..self.tape.counts[node as usize].min(32) {
            let found = rank(child);
            if found.is_some() && (best.is_none() || found < best) {
                best = found;
            }
            child += self.tape.extents[child as usize];
        }
        best
    }

    /// The children as sorted pairs (name or kind, hash of the value), by which containers are compared.
    fn features(&self, node: u32) -> Vec<(u64, u64)> {
        let feature = |&child: &u32| {
            let value = self.values[child as usize];
            match self.kind(child) {
                _ if self.kind(node) == Kind::Object => (self.names[child as usize], value),
                // Elements have no names: two containers of the same kind count half if their values differ, and
                // scalars count only if they are equal.
                kind if kind.is_container() => (kind as u64, value),
                _ => (value, value),
            }
        };
        let mut features: Vec<_> = self.children(node).iter().map(feature).collect();
        features.sort_unstable();
        features
    }
}

/// Folds `value` into `hash`; the order counts.
#[inline]
fn mix(hash: u64, value: u64) -> u64 {
    let product =
        (hash ^ 0x9e37_79b9_7f4a_7c15) as u128 * (value ^ 0xa076_1d64_78bd_642f | 1) as u128;
    (product as u64 ^ (product >> 64) as u64).wrapping_add(hash.rotate_left(29))
}

struct Matcher<'a> {
    old: Side<'a>,
    new: Side<'a>,
    olds: Vec<u32>,
    news: Vec<u32>,
    whole: Vec<bool>,
    /// Matched containers whose children are still to be matched.
    work: Vec<(u32, u32)>,
    /// Matched containers with children left over on both sides.
    leftovers: Vec<(u32, u32)>,
    steps: u64,
    budget: u64,
}

impl Matcher<'_> {
    /// Matches the children of matched containers until none are left.
    fn descend(&mut self) {
        while let Some((old, new)) = self.work.pop() {
            match self.new.kind(new) {
                Kind::Object => self.match_fields(old, new),
                _ => self.match_elements(old, new),
            }
        }
    }

    /// True if one may continue the other.
    fn fits(&self, old: u32, new: u32) -> bool {
        let (old, new) = (self.old.kind(old), self.new.kind(new));
        old == new || !(old.is_container() || new.is_container())
    }

    /// Matches two nodes if they may be, and then what is in them, now or later.
    fn pair(&mut self, old: u32, new: u32) {
        if !self.is_free(old)
            || !self.is_open(new)
            || self.pair_equal(old, new)
            || !self.fits(old, new)
        {
            return;
        }
        self.olds[new as usize] = old;
        self.news[old as usize] = new;
        if self.new.kind(new).is_container() {
            self.work.push((old, new));
        }
    }

    /// Matches two subtrees node by node if they are equal and free of other matches.
    fn pair_equal(&mut self, old: u32, new: u32) -> bool {
        if self.old.values[old as usize] != self.new.values[new as usize] {
            return false;
        }
        let nodes = self.new.extent(new);
        let (from, to) = (old as usize, new as usize);
        self.steps += nodes as u64;
        if !self.equal(from, to, nodes)
            || self.news[from..from + nodes].iter().any(|&new| new != NONE)
            || self.olds[to..to + nodes].iter().any(|&old| old != NONE)
        {
            return false;
        }
        for i in 0..nodes {
            self.olds[to + i] = old + i as u32;
            self.news[from + i] = new + i as u32;
        }
        self.whole[to..to + nodes].fill(true);
        true
    }

    /// Compares two values in full, their own names left out.
    fn equal(&self, old: usize, new: usize, nodes: usize) -> bool {
        let (a, b) = (self.old.tape, self.new.tape);
        let (old_inner, new_inner) = (old + 1..old + nodes, new + 1..new + nodes);
        a.extents[old] as usize == nodes
            && a.kinds[old..old + nodes] == b.kinds[new..new + nodes]
            && a.counts[old..old + nodes] == b.counts[new..new + nodes]
            && a.name_lens[old_inner.clone()] == b.name_lens[new_inner.clone()]
            && a.text_lens[old_inner] == b.text_lens[new_inner]
            && self.old.text(old as u32) == self.new.text(new as u32)
    }

    fn is_free(&self, old: u32) -> bool {
        self.news[old as usize] == NONE
    }

    fn is_open(&self, new: u32) -> bool {
        self.olds[new as usize] == NONE
    }

    /// Fields: by name, then by equal value.
    fn match_fields(&mut self, old: u32, new: u32) {
        let (mut olds, mut news) = (self.old.children(old), self.new.children(new));
        self.steps += (olds.len() + news.len()) as u64;
        let same_name = |this: &Self, old: u32, new: u32| {
            this.old.names[old as usize] == this.new.names[new as usize]
                && this.old.name(old) == this.new.name(new)
        };
        // Most objects keep the order of most fields.
        let mut in_step = 0;
        while in_step < olds.len().min(news.len()) && same_name(self, olds[in_step], news[in_step])
        {
            self.pair(olds[in_step], news[in_step]);
            in_step += 1;
        }
        if in_step < news.len() && in_step < olds.len() {
            let by_name: Map<u32> =
                olds[in_step..].iter().map(|&old| (self.old.names[old as usize], old)).collect();
            for &new in &news[in_step..] {
                if let Some(&old) = by_name.get(&self.new.names[new as usize])
                    && same_name(self, old, new)
                {
                    self.pair(old, new);
                }
            }
        }
        olds.retain(|&old| self.is_free(old));
        news.retain(|&new| self.is_open(new));
        self.match_by_value(&olds, &news, 0);
        olds.retain(|&old| self.is_free(old) && self.old.kind(old).is_container());
        news.retain(|&new| self.is_open(new) && self.new.kind(new).is_container());
        if !olds.is_empty() && !news.is_empty() {
            self.leftovers.push((old, new));
        }
    }

    /// Matches free children of two containers that are equal and have at least so much weight,
    /// those of one value in their order.
    fn match_by_value(&mut self, olds: &[u32], news: &[u32], weight_min: usize) {
        if olds.is_empty() || news.is_empty() {
            return;
        }
        self.steps += (olds.len() + news.len()) as u64;
        // The first old child of each value, and for every old child the next one of its value.
        let mut firsts: Map<usize> = Map::default();
        let mut nexts = vec![usize::MAX; olds.len()];
        for (i, &old) in olds.iter().enumerate().rev() {
            if self.is_free(old) && self.old.weight(old) >= weight_min {
                nexts[i] = firsts.insert(self.old.values[old as usize], i).unwrap_or(usize::MAX);
            }
        }
        for &new in news {
            if self.is_open(new)
                && let Some(first) = firsts.get_mut(&self.new.values[new as usize])
                && *first != usize::MAX
            {
                let old = olds[*first];
                *first = nexts[*first];
                self.pair_equal(old, new);
            }
        }
    }

    /// Elements: along the equal ones, then by value out of order, by identity, and by likeness.
    fn match_elements(&mut self, old: u32, new: u32) {
        let (olds, news) = (self.old.children(old), self.new.children(new));
        let a: Vec<u64> = olds.iter().map(|&old| self.old.values[old as usize]).collect();
        let b: Vec<u64> = news.iter().map(|&new| self.new.values[new as usize]).collect();
        let mut anchors = Vec::new();
        let mut aligner = Aligner {
            a: &a,
            b: &b,
            pairs: &mut anchors,
            steps: &mut self.steps,
            budget: self.budget,
        };
        aligner.align(0..a.len(), 0..b.len());
        anchors.retain(|&(i, j)| self.pair_equal(olds[i], news[j]));
        if anchors.len() == olds.len() || anchors.len() == news.len() {
            return;
        }
        self.match_by_value(&olds, &news, MOVE_WEIGHT_MIN);
        self.match_by_identity(&olds, &news);
        anchors.push((olds.len(), news.len()));
        let (mut i, mut j) = (0, 0);
        for (next_i, next_j) in anchors {
            if i < next_i && j < next_j {
                self.match_gap(&olds[i..next_i], &news[j..next_j]);
            }
            (i, j) = (next_i + 1, next_j + 1);
        }
        self.match_by_value(&olds, &news, 0);
        if olds.iter().any(|&old| self.is_free(old)) && news.iter().any(|&new| self.is_open(new)) {
            self.leftovers.push((old, new));
        }
    }

    /// Matches elements with the same identity, if each side has only one of them.
    fn match_by_identity(&mut self, olds: &[u32], news: &[u32]) {
        self.steps += (olds.len() + news.len()) as u64;
        let mut owners: Map<(u32, u32)> = Map::default();
        for &old in olds.iter().filter(|&&old| self.is_free(old)) {
            if let Some((_, identity)) = self.old.identity(old) {
                owners.entry(identity).and_modify(|owner| owner.0 = NONE).or_insert((old, NONE));
            }
        }
        if owners.is_empty() {
            return;
        }
        let mut claims: Vec<(u64, u32)> = Vec::new();
        for &new in news.iter().filter(|&&new| self.is_open(new)) {
            if let Some((_, identity)) = self.new.identity(new)
                && let Some(owner) = owners.get_mut(&identity)
            {
                // The second claim of an identity spoils it for both.
                owner.1 = if owner.1 == NONE { new } else { 0 };
                claims.push((identity, new));
            }
        }
        for (identity, new) in claims {
            match owners.get(&identity) {
                Some(&(old, claimant)) if old != NONE && claimant == new => self.pair(old, new),
                _ => {}
            }
        }
    }

    /// Matches elements between two anchors in order, so that the sum of similarities is greatest.
    fn match_gap(&mut self, olds: &[u32], news: &[u32]) {
        let olds: Vec<u32> = olds.iter().copied().filter(|&old| self.is_free(old)).collect();
        let news: Vec<u32> = news.iter().copied().filter(|&new| self.is_open(new)).collect();
        if olds.is_empty() || news.is_empty() {
            return;
        }
        let old_traits: Vec<Traits<'_>> =
            olds.iter().map(|&old| Traits::of(&self.old, old)).collect();
        let new_traits: Vec<Traits<'_>> =
            news.iter().map(|&new| Traits::of(&self.new, new)).collect();
        let size = |all: &[Traits<'_>]| all.iter().map(Traits::size).sum::<usize>() as u64;
        let (p, q) = (olds.len() as u64, news.len() as u64);
        let cost = size(&old_traits) * q + size(&new_traits) * p;
        self.steps += size(&old_traits) + size(&new_traits);
        if self.steps + cost > self.budget || p * q > 1 << 20 {
            // Too much to weigh: the first with the first, the second with the second.
            for (i, (&old, &new)) in olds.iter().zip(&news).enumerate() {
                if self.fits(old, new) && old_traits[i].alike(&new_traits[i]) > 0 {
                    self.pair(old, new);
                }
            }
            return;
        }
        self.steps += cost;
        // best[i][j]: the greatest sum from olds[i..] and news[j..].
        let width = news.len() + 1;
        let mut best = vec![0u32; (olds.len() + 1) * width];
        let mut score = vec![0u32; olds.len() * news.len()];
        for i in (0..olds.len()).rev() {
            for j in (0..news.len()).rev() {
                // Squared, so that one close pair outweighs two faint ones.
                let alike = old_traits[i].alike(&new_traits[j]).pow(2) / 1000;
                score[i * news.len() + j] = alike;
                let skip = best[(i + 1) * width + j].max(best[i * width + j + 1]);
                let take = if alike > 0 { alike + best[(i + 1) * width + j + 1] } else { 0 };
                best[i * width + j] = skip.max(take);
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < olds.len() && j < news.len() {
            let alike = score[i * news.len() + j];
            if alike > 0 && best[i * width + j] == alike + best[(i + 1) * width + j + 1] {
                self.pair(olds[i], news[j]);
                (i, j) = (i + 1, j + 1);
            } else if best[i * width + j] == best[(i + 1) * width + j] {
                i += 1;
            } else {
                j += 1;
            }
        }
    }

    /// Matches equal subtrees that are still unmatched, wherever they are; roots stay roots.
    fn move_equals(&mut self) {
        let mut places: Map<VecDeque<u32>> = Map::default();
        for old in 1..self.news.len() as u32 {
            if self.is_free(old) && self.old.weight(old) >= MOVE_WEIGHT_MIN {
                places.entry(self.old.values[old as usize]).or_default().push_back(old);
            }
        }
        self.steps += (self.olds.len() + self.news.len()) as u64;
        let mut new = 1;
        while new < self.olds.len() as u32 && !places.is_empty() && self.steps < self.budget {
            if self.whole[new as usize] {
                new += self.new.extent(new) as u32;
                continue;
            }
            if self.is_open(new)
                && let Some(places) = places.get_mut(&self.new.values[new as usize])
            {
                while places.front().is_some_and(|&old| !self.is_free(old)) {
                    places.pop_front();
                }
                self.take_from(places, new);
            }
            new += 1;
        }
    }

    /// Matches `new` with the best of some equal places: of the same name, or else the first.
    fn take_from(&mut self, places: &VecDeque<u32>, new: u32) {
        let alone = |parent: Option<usize>, matches: &[u32]| {
            parent.is_none_or(|parent| matches[parent] != NONE)
        };
        let inserted_alone = alone(self.new.tape.parent(new as usize), &self.olds);
        let weight = self.new.weight(new);
        let worth = |&old: &u32| {
            let plain = inserted_alone && alone(self.old.tape.parent(old as usize), &self.news);
            weight >= if plain { MOVE_WEIGHT_MIN } else { NESTED_MOVE_WEIGHT_MIN }
        };
        let mut found: Vec<u32> =
            places.iter().copied().take(CANDIDATES_MAX).filter(worth).collect();
        self.steps += places.len().min(CANDIDATES_MAX) as u64;
        found.sort_by_key(|&old| self.old.names[old as usize] != self.new.names[new as usize]);
        for old in found {
            if self.is_free(old) && self.pair_equal(old, new) {
                return;
            }
        }
    }

    /// Matches unmatched containers in one container that are very similar, whatever their names and
    /// their order.
    fn match_leftovers(&mut self) {
        for (old, new) in std::mem::take(&mut self.leftovers) {
            let mut olds = self.old.children(old);
            let mut news = self.new.children(new);
            olds.retain(|&old| self.is_free(old) && self.old.kind(old).is_container());
            news.retain(|&new| self.is_open(new) && self.new.kind(new).is_container());
            let old_traits: Vec<Traits<'_>> =
                olds.iter().map(|&old| Traits::of(&self.old, old)).collect();
            for new in news {
                let traits = Traits::of(&self.new, new);
                let cost: usize = old_traits.iter().map(|old| old.size() + traits.size()).sum();
                if self.steps + cost as u64 > self.budget {
                    return;
                }
                self.steps += cost as u64;
                let mut best = (SIMILARITY_MIN_ELSEWHERE - 1, None);
                for (&old, old_traits) in olds.iter().zip(&old_traits) {
                    let alike = old_traits.alike(&traits);
                    if self.is_free(old) && alike > best.0 {
                        best = (alike, Some(old));
                    }
                }
                if let Some(old) = best.1 {
                    self.pair(old, new);
                }
            }
        }
    }
}

/// The traits of a value that its similarity to another is computed from.
enum Traits<'a> {
    Scalar { kind: Kind, text: &'a [u8] },
    Container { kind: Kind, identity: Option<(usize, u64)>, features: Vec<(u64, u64)> },
}

impl<'a> Traits<'a> {
    fn of(side: &Side<'a>, node: u32) -> Traits<'a> {
        let kind = side.kind(node);
        if kind.is_container() {
            Traits::Container { kind, identity: side.identity(node), features: side.features(node) }
        } else {
            Traits::Scalar { kind, text: side.text(node) }
        }
    }

    fn size(&self) -> usize {
        match self {
            Traits::Scalar { text, .. } => 1 + text.len().min(64) / 16,
            Traits::Container { features, .. } => 1 + features.len(),
        }
    }

    /// The similarity of two values, in thousandths; 0 if they are not versions of one value.
    fn alike(&self, other: &Traits<'_>) -> u32 {
        match (self, other) {
            (Traits::Scalar { kind: a, text: s }, Traits::Scalar { kind: b, text: t }) => {
                let same = |(a, b): &(&u8, &u8)| a == b;
                let most = s.len().min(t.len()).min(64);
                let front = s.iter().zip(*t).take(most).take_while(same).count();
                let back =
                    s.iter().rev().zip(t.iter().rev()).take(most - front).take_while(same).count();
                let common = 1000 * (front + back) / s.len().max(t.len()).clamp(1, 64);
                if a == b { 300 + common as u32 * 6 / 10 } else { 200 }
            }
            (
                Traits::Container { kind: a, identity: me, features: mine },
                Traits::Container { kind: b, identity: you, features: yours },
            ) if a == b => {
                let alike = shared(mine, yours);
                let two =
                    matches!((me, you), (Some(me), Some(you)) if me.0 == you.0 && me.1 != you.1);
                if alike >= if two { SIMILARITY_MIN_OTHER_IDENTITY } else { SIMILARITY_MIN } {
                    alike
                } else {
                    0
                }
            }
            _ => 0,
        }
    }
}

/// The share of equal features, in thousandths; features with the same name but another value count half.
fn shared(a: &[(u64, u64)], b: &[(u64, u64)]) -> u32 {
    let (mut i, mut j, mut points) = (0, 0, 0);
    if a.is_empty() && b.is_empty() {
        return 1000;
    }
    while i < a.len() && j < b.len() {
        let label = a[i].0.min(b[j].0);
        let run = |all: &[(u64, u64)], from: usize| {
            from + all[from..].iter().take_while(|f| f.0 == label).count()
        };
        let (i_end, j_end) = (run(a, i), run(b, j));
        let labelled = (i_end - i).min(j_end - j);
        let mut equal = 0;
        while i < i_end && j < j_end {
            match a[i].1.cmp(&b[j].1) {
                std::cmp::Ordering::Equal => (i, j, equal) = (i + 1, j + 1, equal + 1),
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
            }
        }
        (i, j) = (i_end, j_end);
        points += labelled + equal;
    }
    (1000 * points / (a.len() + b.len())) as u32
}
