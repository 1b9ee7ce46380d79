//! The path summary: the paths of a document, and the number of nodes at each.
//!
//! ```text
//!   {"tada":[{"foo":1},{"foo":2},true]}       /tada          1 node   level 1
//!                                             /tada/[]       3        2
//!                                             /tada/[]/foo   2        3
//! ```
//!
//! Elements of one array share a path, whatever their number, so the summary of a document is small
//! however large the document.
//!
//! It can be computed of any version by walking over it. A collection made with `path_summary` keeps it
//! instead, in one record of each document: an edit that changes the structure writes as a delta by how
//! much the count of each path rose or fell, an edit of values writes nothing. Neither looks at the
//! summary as it is, nor at more of the document than what changed: that is what stands below the nodes
//! that came, went, were moved elsewhere or got another name.
//!
//! ```text
//!   image   /tada 1   /tada/[] 3   /tada/[]/foo 2
//!   delta             /tada/[] +1  /tada/[]/foo +1         another {"foo":3}
//! ```
//!
//! # Invariants
//! * The counts of a version are those of its nodes; a path that no node has is not in the summary.
//! * Paths are sorted as their steps are: what is below a path follows it.

use crate::codec::{Reader, put_varint};
use crate::error::Damaged;
use crate::tree::Nodes;
use crate::{NodeKey, Result, Tree};
use std::collections::BTreeMap;
use store::Csn;

const VERSION: u8 = 1;
/// Steps of a path as bytes: an element of an array; a field, whose escaped name follows. Names are
/// escaped, so that neither byte is in one.
const ELEMENT: u8 = 1;
const FIELD: u8 = 2;

/// All nodes of a document with one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathClass {
    /// The path, `/tada/[]/foo`: names as people write them, `[]` for the elements of an array.
    pub path: String,
    /// How many nodes have it.
    pub count: u64,
    /// How deep they stand; fields and elements of the root have level 1.
    pub level: u32,
}

/// The paths of a document, the root's aside, sorted; computed by walking over all of it.
pub fn path_summary(tree: &Tree) -> Result<Vec<PathClass>> {
    tree.fetch()?;
    Ok(Counts::of(tree)?.classes())
}

/// Nodes by path: how many there are, or by how many there are more or fewer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<Vec<u8>, i64>);

/// Appends the step to a child of this name; elements have none.
pub(crate) fn push_step(path: &mut Vec<u8>, name: Option<&[u8]>) {
    match name {
        None => path.push(ELEMENT),
        Some(name) => {
            path.push(FIELD);
            path.extend_from_slice(name);
        }
    }
}

impl Counts {
    /// The counts of a whole document.
    pub fn of<N: Nodes + ?Sized>(nodes: &N) -> Result<Counts> {
        let mut counts = Counts::default();
        counts.walk(nodes, nodes.root(), &mut Vec::new(), 1)?;
        Ok(counts)
    }

    /// By how much the counts of `new` are others than those of `old`. `keys` has every node that is in
    /// one of them alone, but for those that came or went with the node above them, and every node
    /// that has another parent or another name.
    pub fn between<A, B>(old: &A, new: &B, mut keys: Vec<NodeKey>) -> Result<Counts>
    where
        A: Nodes + ?Sized,
        B: Nodes + ?Sized,
    {
        keys.sort_unstable();
        keys.dedup();
        let mut moved = Vec::with_capacity(keys.len());
        for key in keys {
            let differs = match (old.node(key)?, new.node(key)?) {
                (None, None) => false,
                (Some(was), Some(is)) => {
                    was.name != is.name || old.parent(key)? != new.parent(key)?
                }
                _ => true,
            };
            if differs {
                moved.push(key);
            }
        }
        // A node below one that moved has another path too, and is met below it; one that is not has
        // the same parents under the same names in both.
        let mut counts = Counts::default();
        counts.walk_tops(old, &moved, -1)?;
        counts.walk_tops(new, &moved, 1)?;
        counts.0.retain(|_, count| *count != 0);
        Ok(counts)
    }

    /// Counts the subtrees of those of `keys` (ascending) above which none of them stands.
    fn walk_tops<N: Nodes + ?Sized>(&mut self, nodes: &N, keys: &[NodeKey], by: i64) -> Result<()> {
        'keys: for &key in keys {
            if nodes.node(key)?.is_none() {
                continue;
            }
            let mut above = Vec::new();
            let mut at = key;
            while let Some(parent) = nodes.parent(at)? {
                if keys.binary_search(&parent).is_ok() {
                    continue 'keys;
                }
                above.push(parent);
                at = parent;
            }
            let mut path = Vec::new();
            // The root has no step.
            for &parent in above.iter().rev().skip(1) {
                push_step(&mut path, nodes.expect(parent)?.name);
            }
            self.walk(nodes, key, &mut path, by)?;
        }
        Ok(())
    }

    /// Counts a node, unless it is the root, and all below it; `path` is that of its parent.
    fn walk<N: Nodes + ?Sized>(
        &mut self,
        nodes: &N,
        key: NodeKey,
        path: &mut Vec<u8>,
        by: i64,
    ) -> Result<()> {
        let node = nodes.expect(key)?;
        let len = path.len();
        if key != nodes.root() {
            push_step(path, node.name);
            self.add(path, by);
        }
        if node.kind.is_container() {
            for child in nodes.children(key)? {
                self.walk(nodes, child?, path, by)?;
            }
        }
        path.truncate(len);
        Ok(())
    }

    /// Counts so many more nodes of a path.
    pub fn add(&mut self, path: &[u8], by: i64) {
        match self.0.get_mut(path) {
            Some(count) => *count += by,
            None => drop(self.0.insert(path.to_vec(), by)),
        }
    }

    /// True if nothing is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends the delta that says this.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut before: &[u8] = &[];
        for (path, count) in &self.0 {
            let shared = path.iter().zip(before).take_while(|(a, b)| a == b).count();
            put_varint(out, shared as u64);
            put_varint(out, (path.len() - shared) as u64);
            out.extend_from_slice(&path[shared..]);
            put_varint(out, (count << 1 ^ count >> 63) as u64);
            before = path;
        }
    }

    /// The image of a summary with these counts.
    pub fn image(&self) -> Vec<u8> {
        let mut image = vec![VERSION];
        self.encode(&mut image);
        image
    }

    /// Adds what a delta says.
    fn apply(&mut self, delta: &[u8]) -> Result<(), Damaged> {
        let mut input = Reader::new(delta);
        let mut path = Vec::new();
        while !input.is_empty() {
            let (shared, more) = (input.varint()?, input.varint()?);
            if shared > path.len() as u64 {
                return Err(Damaged::new("a path that shares more than there is"));
            }
            path.truncate(shared as usize);
            path.extend_from_slice(input.bytes(more as usize)?);
            let count = input.varint()?;
            self.add(&path, (count >> 1) as i64 ^ -((count & 1) as i64));
        }
        Ok(())
    }

    /// Reads a summary: a stored image, and the deltas since.
    pub fn read<'a>(
        image: &[u8],
        deltas: impl Iterator<Item = (Csn, &'a [u8])>,
    ) -> Result<Counts, Damaged> {
        let [VERSION, image @ ..] = image else {
            return Err(Damaged::new("a path summary of an unknown version"));
        };
        let mut counts = Counts::default();
        counts.apply(image)?;
        for (_, delta) in deltas {
            counts.apply(delta)?;
        }
        counts.0.retain(|_, count| *count != 0);
        match counts.0.values().any(|count| *count < 0) {
            true => Err(Damaged::new("a path that fewer than no nodes have")),
            false => Ok(counts),
        }
    }

    /// The counts for people.
    pub fn classes(&self) -> Vec<PathClass> {
        let class = |(path, count): (&Vec<u8>, &i64)| {
            let (mut text, mut level) = (String::new(), 0);
            let is_step = |byte: &u8| *byte == ELEMENT || *byte == FIELD;
            let mut rest = &path[..];
            while let Some((kind, after)) = rest.split_first() {
                let end = after.iter().position(is_step).unwrap_or(after.len());
                text.push('/');
                match *kind {
                    ELEMENT => text.push_str("[]"),
                    _ => text.push_str(&json::text::unescape(&after[..end])),
                }
                level += 1;
                rest = &after[end..];
            }
            PathClass { path: text, count: *count as u64, level }
        };
        self.0.iter().map(class).collect()
    }
}

/// The merge function of a summary.
pub(crate) fn merge(
    base: &[u8],
    deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
    out: &mut Vec<u8>,
) -> Result<(), Damaged> {
    out.push(VERSION);
    Counts::read(base, deltas)?.encode(out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, i64)]) -> Counts {
        Counts(list.iter().map(|(path, count)| (path.as_bytes().to_vec(), *count)).collect())
    }

    /// A summary reads back what was added and taken away, merged or not; paths that nothing has are
    /// gone, and damage is refused, not believed.
    #[test]
    fn merge_and_read() {
        let base = counts(&[("\u{2}a", 1), ("\u{2}a\u{1}", 300), ("\u{2}a\u{1}\u{2}é", 299)]);
        let steps = [
            counts(&[("\u{2}a\u{1}", -299), ("\u{2}a\u{1}\u{2}é", -299)]),
            counts(&[("\u{2}a\u{1}", 1), ("\u{2}b", 1)]),
        ];
        let deltas: Vec<Vec<u8>> = steps
            .iter()
            .map(|step| {
                let mut delta = Vec::new();
                step.encode(&mut delta);
                delta
            })
            .collect();
        let told = || deltas.iter().map(|delta| (Csn(1), delta.as_slice()));
        let expected = counts(&[("\u{2}a", 1), ("\u{2}a\u{1}", 2), ("\u{2}b", 1)]);
        assert_eq!(Counts::read(&base.image(), told()).unwrap(), expected);
        let mut merged = Vec::new();
        merge(&base.image(), &mut told(), &mut merged).unwrap();
        assert_eq!(merged, expected.image());
        let shown: Vec<String> = expected.classes().into_iter().map(|class| class.path).collect();
        assert_eq!(shown, ["/a", "/a/[]", "/b"]);

        assert!(Counts::read(&[2], std::iter::empty()).is_err());
        assert!(Counts::read(&expected.image(), told()).is_err(), "fewer than none");
        for end in 0..merged.len() {
            let _ = Counts::read(&merged[..end], std::iter::empty());
        }
    }
}
