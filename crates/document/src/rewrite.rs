//! A whole new value for a document, or a part of it, turned into steps that change the
//! differences.
//!
//! The old tree and the new are matched ([`crate::matching`]): nodes that stayed keep their keys, so
//! that their history goes on. This module carries out the result of the matching.
//!
//! ```text
//!   old  1 {}  2 a:1  3 b:[4 5]  6 c:true        new  { "a":2, "d":true, "b":[y x] }
//!   matched a-a, c-d (same value, other name), b-b, x and y crosswise
//!   steps   set 2;  rename 6 to d;  place 6 before 3;  place 5 before 4
//! ```
//!
//! Among matched children of matched parents the longest run that is still in order stays; the
//! others are placed. New nodes come in runs, each with one place: a new node and all new nodes that
//! hang below it through new nodes. Removals come last, when everything that survives has moved out.

use crate::draft::{Draft, check_name};
use crate::matching::{Matching, match_trees};
use crate::order::Label;
use crate::tree::Nodes;
use crate::{NodeKey, Result};
use json::{Kind, NO_NAME, Tape};

/// The subtree below `top` as a tape, with the key of each of its nodes.
pub(crate) fn export<N: Nodes + ?Sized>(nodes: &N, top: NodeKey) -> Result<(Tape, Vec<NodeKey>)> {
    let children = match nodes.expect(top)?.kind.is_container() {
        true => nodes.children(top)?.collect::<Result<Vec<_>>>()?,
        false => Vec::new(),
    };
    export_children(nodes, top, &children)
}

/// The same with these children of `top` alone.
pub(crate) fn export_children<N: Nodes + ?Sized>(
    nodes: &N,
    top: NodeKey,
    children: &[NodeKey],
) -> Result<(Tape, Vec<NodeKey>)> {
    let mut tape = Tape::with_no_nodes();
    let mut keys: Vec<NodeKey> = Vec::new();
    // (key, index of its parent), children of one parent pushed in reverse.
    let mut stack = vec![(top, 0)];
    while let Some((key, parent)) = stack.pop() {
        let index = keys.len();
        let node = nodes.expect(key)?;
        let name = node.name.filter(|_| index > 0);
        keys.push(key);
        tape.kinds.push(node.kind);
        tape.ups.push((index - parent) as u32);
        tape.extents.push(1);
        tape.counts.push(if index == 0 { children.len() as u32 } else { node.count });
        tape.name_lens.push(name.map_or(NO_NAME, |n| n.len() as u32));
        tape.text_lens.push((name.map_or(0, <[u8]>::len) + node.text.len()) as u32);
        tape.heap.extend_from_slice(name.unwrap_or_default());
        tape.heap.extend_from_slice(node.text);
        if keys.len() as u64 > nodes.header().nodes {
            return Err(crate::error::Damaged::new("a node that is its own ancestor").into());
        }
        if index == 0 {
            stack.extend(children.iter().rev().map(|child| (*child, 0)));
        } else if node.kind.is_container() {
            let from = stack.len();
            for child in nodes.children(key)? {
                stack.push((child?, index));
            }
            stack[from..].reverse();
        }
    }
    for index in (1..keys.len()).rev() {
        let parent = index - tape.ups[index] as usize;
        tape.extents[parent] += tape.extents[index];
    }
    Ok((tape, keys))
}

/// Makes the subtree at `top` equal to `new`, changing as little as can be; returns the key of its
/// top node, another one where nothing of it could stay.
pub(crate) fn rewrite(draft: &mut Draft, top: NodeKey, new: &Tape) -> Result<NodeKey> {
    let level = draft.level(top)?;
    draft.check_depth(new, 0, level)?;
    let (old, keys) = export(draft, top)?;
    let matching = match_trees(&old, new);
    if matching.old_of(0) != Some(0) {
        return replace(draft, top, &keys, new);
    }
    Rewrite::new(draft, &old, keys, new, &matching)?.run()?;
    Ok(top)
}

/// Puts `new` where `top` and all below it (`keys`) stands.
pub(crate) fn replace(
    draft: &mut Draft,
    top: NodeKey,
    keys: &[NodeKey],
    new: &Tape,
) -> Result<NodeKey> {
    let name = draft.expect(top)?.name.map(<[u8]>::to_vec);
    // The old node's own label would do, but it is still there: the new one goes right behind it.
    let place = match draft.parent(top)? {
        None => None,
        Some(parent) => {
            let own = draft.label(top)?;
            let mut next = draft
                .children(parent)?
                .skip_while(|child| !matches!(child, Ok(key) if *key == top))
                .skip(1);
            let after = next.next().transpose()?.map(|key| draft.label(key)).transpose()?;
            Some((
                parent,
                Label::between(Some(&own), after.as_ref(), NodeKey(draft.header().next_key)),
            ))
        }
    };
    let is_root = place.is_none();
    let first = draft.header().next_key;
    let added = draft.add(new, 0, name.as_deref(), place)?;
    let mut removed = keys.to_vec();
    removed.sort_unstable();
    draft.take(&removed)?;
    if is_root {
        draft.set_root(added);
    }
    let new_keys: Vec<NodeKey> = (first..first + new.len() as u64).map(NodeKey).collect();
    draft.hash_added(&new_keys)?;
    Ok(added)
}

/// The labels between which some children of a container stand.
#[derive(Clone, Default)]
pub(crate) struct Bounds {
    /// That of the child before them.
    pub left: Option<Label>,
    /// That of the child after them.
    pub right: Option<Label>,
}

/// The steps from an old tape to a new one.
pub(crate) struct Rewrite<'a> {
    draft: &'a mut Draft,
    old: &'a Tape,
    keys: Vec<NodeKey>,
    new: &'a Tape,
    matching: &'a Matching,
    /// Where the text of each new node starts.
    starts: Vec<usize>,
    /// The key of each new node, once it has one.
    placed: Vec<Option<NodeKey>>,
    added: Vec<NodeKey>,
    /// Where the tapes have only some of the top node's children.
    bounds: Option<Bounds>,
}

impl<'a> Rewrite<'a> {
    /// The steps by which the nodes `keys` of `old` become those of `new`.
    pub fn new(
        draft: &'a mut Draft,
        old: &'a Tape,
        keys: Vec<NodeKey>,
        new: &'a Tape,
        matching: &'a Matching,
    ) -> Result<Self> {
        let placed = (0..new.len()).map(|index| matching.old_of(index).map(|o| keys[o])).collect();
        Ok(Rewrite {
            draft,
            old,
            keys,
            new,
            matching,
            starts: new.offsets(),
            placed,
            added: Vec::new(),
            bounds: None,
        })
    }

    /// The same for some of the children of the top node, which stand between these labels. The caller counts the
    /// children.
    pub fn within(self, bounds: Bounds) -> Self {
        Rewrite { bounds: Some(bounds), ..self }
    }

    /// Takes the steps; returns the label of the top node's last child, or the left bound.
    pub fn run(mut self) -> Result<Option<Label>> {
        let mut index = 0;
        while index < self.new.len() {
            if self.matching.is_whole(index) {
                index += self.new.extents[index] as usize;
                continue;
            }
            if let (Some(old), Some(key)) = (self.matching.old_of(index), self.placed[index]) {
                self.set_value(index, key)?;
                if self.new.kinds[index].is_container() && !self.settled(index, old)? {
                    self.arrange(index)?;
                }
            } else if self.new.kinds[index].is_container() {
                self.arrange(index)?;
            }
            index += 1;
        }
        let mut kept = vec![false; self.old.len()];
        (0..self.new.len()).filter_map(|i| self.matching.old_of(i)).for_each(|o| kept[o] = true);
        let mut gone: Vec<NodeKey> =
            (0..self.old.len()).filter(|&i| !kept[i]).map(|i| self.keys[i]).collect();
        if !gone.is_empty() {
            gone.sort_unstable();
            self.draft.take(&gone)?;
        }
        self.draft.hash_added(&self.added)?;
        let last = self.children(0).last().and_then(|last| self.placed[*last]);
        match last {
            Some(last) => self.draft.label(last).map(Some),
            None => Ok(self.bounds.and_then(|bounds| bounds.left)),
        }
    }

    fn name(&self, index: usize) -> Option<&'a [u8]> {
        let start = self.starts[index];
        self.new.name_len(index).map(|len| &self.new.heap[start..start + len])
    }

    fn text(&self, index: usize) -> &'a [u8] {
        let start = self.starts[index];
        &self.new.heap[start + self.new.name_len(index).unwrap_or(0)
            ..start + self.new.text_lens[index] as usize]
    }

    fn set_value(&mut self, index: usize, key: NodeKey) -> Result<()> {
        let kind = self.new.kinds[index];
        if !kind.is_container() {
            self.draft.set_scalar(key, kind, self.text(index))?;
        }
        Ok(())
    }

    /// The indices of the children of a new container.
    fn children(&self, index: usize) -> Vec<usize> {
        let mut children = Vec::with_capacity(self.new.counts[index] as usize);
        let end = index + self.new.extents[index] as usize;
        let mut child = index + 1;
        while child < end {
            children.push(child);
            child += self.new.extents[child] as usize;
        }
        children
    }

    /// True if the children of a matched container are the old ones in the old order with the old
    /// names: nothing to arrange.
    fn settled(&self, index: usize, old: usize) -> Result<bool> {
        if self.new.counts[index] != self.old.counts[old] {
            return Ok(false);
        }
        let end = index + self.new.extents[index] as usize;
        let (mut child, mut expected) = (index + 1, old + 1);
        while child < end {
            let Some(matched) = self.matching.old_of(child) else { return Ok(false) };
            if matched != expected || self.name(child) != self.old_name(matched)? {
                return Ok(false);
            }
            child += self.new.extents[child] as usize;
            expected += self.old.extents[expected] as usize;
        }
        Ok(true)
    }

    fn old_name(&self, old: usize) -> Result<Option<&[u8]>> {
        Ok(self.draft.node(self.keys[old])?.and_then(|node| node.name))
    }

    /// Gives the children of a new container their places: those of a matched one that are still in
    /// order stay, others are placed; new ones are added.
    fn arrange(&mut self, index: usize) -> Result<()> {
        let parent = self.placed[index].expect("parents come before children");
        let matched_parent = self.matching.old_of(index);
        let children = self.children(index);
        // Siblings whose label is settled: those that stay, and those that came with their parent's run.
        let staying: Vec<bool> = {
            let old_places: Vec<Option<usize>> = children
                .iter()
                .map(|&child| {
                    let old = self.matching.old_of(child)?;
                    let old_parent = old.checked_sub(self.old.ups[old] as usize)?;
                    (old != 0 && Some(old_parent) == matched_parent).then_some(old)
                })
                .collect();
            longest_ascending(&old_places)
        };
        let bounds = self.bounds.clone().filter(|_| index == 0).unwrap_or_default();
        let mut labels: Vec<Option<Label>> = Vec::with_capacity(children.len());
        for (at, &child) in children.iter().enumerate() {
            let came_with_parent =
                self.matching.old_of(child).is_none() && self.placed[child].is_some();
            let fixed = staying[at] || came_with_parent;
            let key = self.placed[child];
            labels.push(if fixed {
                key.map(|key| self.draft.label(key)).transpose()?
            } else {
                None
            });
        }
        let mut next_fixed: Vec<Option<usize>> = vec![None; children.len()];
        let mut fixed = None;
        for at in (0..children.len()).rev() {
            next_fixed[at] = fixed;
            if labels[at].is_some() {
                fixed = Some(at);
            }
        }
        for (at, &child) in children.iter().enumerate() {
            if labels[at].is_some() {
                self.rename(child)?;
                continue;
            }
            let left = match at.checked_sub(1) {
                Some(before) => labels[before].clone(),
                None => bounds.left.clone(),
            };
            let right = match next_fixed[at] {
                Some(after) => labels[after].clone(),
                None => bounds.right.clone(),
            };
            let key = self.placed[child].unwrap_or(NodeKey(self.draft.header().next_key));
            let label = Label::between(left.as_ref(), right.as_ref(), key);
            labels[at] = Some(label.clone());
            match self.placed[child] {
                Some(key) => self.draft.put_at(key, 0, Some((parent, label)), self.name(child))?,
                None => self.add_run(child, parent, label)?,
            }
        }
        match (index, &self.bounds) {
            (0, Some(_)) => Ok(()),
            _ => self.draft.set_count(parent, children.len() as u32),
        }
    }

    fn rename(&mut self, index: usize) -> Result<()> {
        match (self.name(index), self.placed[index], self.matching.old_of(index)) {
            (Some(name), Some(key), Some(_)) => self.draft.rename(key, name),
            _ => Ok(()),
        }
    }

    /// Adds a new node and the new nodes below it that hang on new nodes.
    fn add_run(&mut self, index: usize, parent: NodeKey, label: Label) -> Result<()> {
        let end = index + self.new.extents[index] as usize;
        let mut run = Tape::with_no_nodes();
        let mut members: Vec<usize> = Vec::new();
        // Position in the run of each new node of this subtree that belongs to it.
        let mut position = vec![usize::MAX; end - index];
        let mut i = index;
        while i < end {
            let above = i - self.new.ups[i] as usize;
            let hangs = i == index || (above >= index && position[above - index] != usize::MAX);
            if self.matching.old_of(i).is_some() || !hangs {
                // A matched node comes with all of its own; new nodes below it are runs of their own.
                i += 1;
                continue;
            }
            let at = members.len();
            position[i - index] = at;
            members.push(i);
            run.kinds.push(self.new.kinds[i]);
            run.ups.push(if i == index { 0 } else { (at - position[above - index]) as u32 });
            run.extents.push(1);
            run.counts.push(self.new.counts[i]);
            run.name_lens.push(self.new.name_lens[i]);
            run.text_lens.push(self.new.text_lens[i]);
            run.heap.extend_from_slice(self.name(i).unwrap_or_default());
            run.heap.extend_from_slice(self.text(i));
            i += 1;
        }
        for at in (1..members.len()).rev() {
            let above = at - run.ups[at] as usize;
            run.extents[above] += run.extents[at];
        }
        let name = self.name(index);
        if let Some(name) = name {
            check_name(name)?;
        }
        let first = self.draft.add(&run, 0, name, Some((parent, label)))?;
        for (at, &member) in members.iter().enumerate() {
            let key = NodeKey(first.0 + at as u64);
            self.placed[member] = Some(key);
            self.added.push(key);
        }
        Ok(())
    }
}

/// Marks a longest ascending run among the numbers that are there.
fn longest_ascending(values: &[Option<usize>]) -> Vec<bool> {
    // tails[l]: position of the smallest number that ends an ascending run of length l + 1.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; values.len()];
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let length = tails.partition_point(|&tail| values[tail].is_some_and(|v| v < *value));
        before[at] = length.checked_sub(1).map(|l| tails[l]);
        match tails.get_mut(length) {
            Some(tail) => *tail = at,
            None => tails.push(at),
        }
    }
    let mut marked = vec![false; values.len()];
    let mut at = tails.last().copied();
    while let Some(i) = at {
        marked[i] = true;
        at = before[i];
    }
    marked
}

/// The kinds and texts of one scalar, read from a tape of a single node.
pub(crate) fn scalar_of(tape: &Tape) -> Option<(Kind, &[u8])> {
    (tape.len() == 1 && !tape.kinds[0].is_container()).then(|| (tape.kinds[0], &tape.heap[..]))
}

#[cfg(test)]
mod tests {
    use super::longest_ascending;

    /// The longest run in order stays, whatever stands between.
    #[test]
    fn longest_run() {
        let marks = |values: &[Option<usize>]| {
            longest_ascending(values).iter().map(|m| if *m { 'x' } else { '.' }).collect::<String>()
        };
        assert_eq!(marks(&[Some(1), Some(5), Some(2), None, Some(3)]), "x.x.x");
        assert_eq!(marks(&[Some(3), Some(2), Some(1)]), "..x");
        assert_eq!(marks(&[]), "");
    }
}
