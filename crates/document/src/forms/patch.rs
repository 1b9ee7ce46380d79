//! A diff as a JSON Patch (RFC 6902).
//!
//! A patch is a program: each step changes what the next one sees, so positions shift and names are
//! taken or free depending on what came before. The steps are therefore found by doing them, on the
//! old document's lists of children, of which only those are looked at that change.
//!
//! ```text
//!   1  values      replace    scalars that stayed, where they stood, and
//!      removals    remove     subtrees that are gone with all that was in them, in document order
//!   2  places      add, move  container by container from the top: what is new or came from elsewhere
//!                             goes behind its left neighbour, what stayed is passed over
//!   3  removals    remove     what had to wait until its last survivor had moved out
//! ```
//!
//! * In step 2 a container stands where it will stay, and all above it does too, before its children are
//!   placed: nothing can be moved into itself. An array's element that moves into the next one would seem
//!   to be moved into itself by its place: it goes by way of the end of the array.
//! * New subtrees are added without the old nodes in them; those move in when their parent's turn
//!   comes.
//! * A field's new name may still be taken: its holder goes first where it can, else steps aside under
//!   a name of no meaning. So names are swapped in three moves.
//!
//! In the end the lists are compared with those of the new document. A list that is not equal is replaced
//! as a whole: that of a long container in which so many children only changed places that their moves
//! would be longer than the value, and take long to find.

use crate::diff::{Change, ChangeOp};
use crate::error::Damaged;
use crate::node::put_value;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use json::Kind;
use json::text::quote;
use std::collections::{BTreeMap, BTreeSet};

/// Moved children times all children: beyond, a container is replaced.
const MOVES_MAX: usize = 1 << 25;

/// The patch that makes `new` of `old`, of which `changes` are the differences.
pub(super) fn patch(old: &Tree, new: &Tree, changes: &[Change]) -> Result<String> {
    if old.root() != new.root() && !changes.is_empty() {
        return Ok(format!("[{}]", replace_step("", &json_of(new, new.root())?)));
    }
    let mut sim = Sim::new(old, new);
    let waiting = sim.values_and_removals(changes)?;
    let touched = sim.touched(changes)?;
    for &container in &touched {
        sim.arrange(container)?;
    }
    for key in waiting {
        sim.remove(key)?;
    }
    sim.verify(&touched)?;
    Ok(format!("[{}]", sim.steps.join(",")))
}

/// The old document while it is changed into the new one.
struct Sim<'a> {
    old: &'a Tree,
    new: &'a Tree,
    steps: Vec<String>,
    /// Children of the containers that were looked at.
    lists: BTreeMap<NodeKey, Vec<NodeKey>>,
    /// Parents of nodes that were moved or added.
    parents: BTreeMap<NodeKey, NodeKey>,
    /// Names (escaped) of fields that were renamed, moved or added.
    names: BTreeMap<NodeKey, Option<Vec<u8>>>,
    /// The node that is removed when its replacement comes: the new node, the old one.
    replaced: BTreeMap<NodeKey, NodeKey>,
    asides: usize,
}

fn json_of(tree: &Tree, key: NodeKey) -> Result<String> {
    let mut out = Vec::new();
    tree.write_subtree(key, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn replace_step(pointer: &str, value: &str) -> String {
    format!("{{\"op\":\"replace\",\"path\":{},\"value\":{value}}}", quote(pointer))
}

impl<'a> Sim<'a> {
    fn new(old: &'a Tree, new: &'a Tree) -> Sim<'a> {
        Sim {
            old,
            new,
            steps: Vec::new(),
            lists: BTreeMap::new(),
            parents: BTreeMap::new(),
            names: BTreeMap::new(),
            replaced: BTreeMap::new(),
            asides: 0,
        }
    }

    /// Step 1; returns what can be removed only later.
    fn values_and_removals(&mut self, changes: &[Change]) -> Result<Vec<NodeKey>> {
        let mut waiting = Vec::new();
        for change in changes {
            match &change.op {
                ChangeOp::Update { new, .. } => {
                    let step = replace_step(&self.pointer(change.node)?, new);
                    self.steps.push(step);
                }
                ChangeOp::Delete { .. } if self.has_survivors(change.node)? => {
                    waiting.push(change.node)
                }
                ChangeOp::Delete { .. } => self.remove(change.node)?,
                ChangeOp::Replace { old_node, .. } if self.has_survivors(*old_node)? => {
                    waiting.push(*old_node)
                }
                ChangeOp::Replace { old_node, .. } => {
                    // In the same object it is replaced in place; elsewhere only the path is the same.
                    if self.old.parent(*old_node)? == self.new.parent(change.node)? {
                        self.replaced.insert(change.node, *old_node);
                    } else {
                        self.remove(*old_node)?;
                    }
                }
                _ => {}
            }
        }
        Ok(waiting)
    }

    /// True if some node below `top`, which is gone, is in the new document.
    fn has_survivors(&self, top: NodeKey) -> Result<bool> {
        for key in self.old.subtree(top)? {
            if self.new.node(key)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The containers whose lists of children become others, those nearest to the root first, and of
    /// one level in document order.
    fn touched(&self, changes: &[Change]) -> Result<Vec<NodeKey>> {
        let (mut touched, mut known) = (Vec::new(), BTreeSet::new());
        for change in changes {
            if matches!(change.op, ChangeOp::Update { .. } | ChangeOp::Delete { .. }) {
                continue;
            }
            if let Some(parent) = self.new.parent(change.node)?
                && known.insert(parent)
            {
                let (mut level, mut above) = (0, parent);
                while let Some(next) = self.new.parent(above)? {
                    (level, above) = (level + 1, next);
                }
                touched.push((level, parent));
            }
        }
        touched.sort_by_key(|(level, _)| *level);
        Ok(touched.into_iter().map(|(_, container)| container).collect())
    }

    // --- the state -------------------------------------------------------------------------------

    fn parent(&self, key: NodeKey) -> Result<Option<NodeKey>> {
        match self.parents.get(&key) {
            Some(parent) => Ok(Some(*parent)),
            None => self.old.parent(key),
        }
    }

    fn name(&self, key: NodeKey) -> Result<Option<Vec<u8>>> {
        match self.names.get(&key) {
            Some(name) => Ok(name.clone()),
            None => Ok(self.old.expect(key)?.name.map(<[u8]>::to_vec)),
        }
    }

    fn list(&mut self, container: NodeKey) -> Result<&mut Vec<NodeKey>> {
        if !self.lists.contains_key(&container) {
            let children = self.old.children(container)?.collect::<Result<Vec<_>>>()?;
            self.lists.insert(container, children);
        }
        Ok(self.lists.get_mut(&container).expect("was there or was put there"))
    }

    fn position(&self, parent: NodeKey, key: NodeKey) -> Result<usize> {
        let lost = || Damaged::new("a node that its parent does not know");
        match self.lists.get(&parent) {
            Some(list) => Ok(list.iter().position(|k| *k == key).ok_or_else(lost)?),
            None => self.old.position(parent, key),
        }
    }

    /// Where a node stands now, as a JSON pointer.
    fn pointer(&self, key: NodeKey) -> Result<String> {
        let mut parts = Vec::new();
        let mut key = key;
        while let Some(parent) = self.parent(key)? {
            parts.push(match self.name(key)? {
                Some(name) => part_of(&name),
                None => self.position(parent, key)?.to_string(),
            });
            key = parent;
        }
        Ok(parts.iter().rev().fold(String::new(), |pointer, part| format!("{pointer}/{part}")))
    }

    // --- the steps -------------------------------------------------------------------------------

    fn remove(&mut self, key: NodeKey) -> Result<()> {
        let pointer = self.pointer(key)?;
        self.steps.push(format!("{{\"op\":\"remove\",\"path\":{}}}", quote(&pointer)));
        self.unlink(key).map(drop)
    }

    /// Takes a node out of its list; returns its parent and where it was.
    fn unlink(&mut self, key: NodeKey) -> Result<(NodeKey, usize)> {
        let parent = self.parent(key)?.ok_or(Damaged::new("a root that goes"))?;
        self.list(parent)?;
        let at = self.position(parent, key)?;
        self.list(parent)?.remove(at);
        Ok((parent, at))
    }

    /// Makes the children of a container those of the new document, except for what is still to
    /// leave it.
    fn arrange(&mut self, container: NodeKey) -> Result<()> {
        let new = self.new;
        self.list(container)?;
        if self.is_reordered(container)? {
            return Ok(());
        }
        let mut next = 0;
        for child in new.children(container)? {
            let child = child?;
            let stays = self.parent_and_label_stay(container, child)?;
            if stays {
                self.rename(container, child)?;
                let list = self.list(container)?;
                let at = list[next..].iter().position(|k| *k == child);
                next += at.ok_or(Damaged::new("siblings out of order"))? + 1;
                continue;
            }
            if self.parents.get(&child) == Some(&container) {
                // Came with the new subtree that it stands in.
                let list = self.list(container)?;
                let at = list[next..].iter().position(|k| *k == child);
                next += at.ok_or(Damaged::new("siblings out of order"))? + 1;
            } else if self.old.node(child)?.is_some() {
                next = self.move_to(container, next, child)?;
            } else {
                next = self.add(container, next, child)?;
            }
        }
        Ok(())
    }

    /// True if a container keeps children of its own alone, so many of them in other places that it is
    /// better replaced.
    fn is_reordered(&mut self, container: NodeKey) -> Result<bool> {
        let count = self.list(container)?.len();
        if count.saturating_mul(count) <= MOVES_MAX {
            return Ok(false);
        }
        let (mut moved, mut is_own) = (0, true);
        for child in self.new.children(container)? {
            let child = child?;
            is_own &= self.old.node(child)?.is_some()
                && self.old.parent(child)? == Some(container)
                && self.parent(child)? == Some(container);
            moved += usize::from(!self.parent_and_label_stay(container, child)?);
        }
        Ok(is_own && moved.saturating_mul(count) > MOVES_MAX)
    }

    fn parent_and_label_stay(&self, container: NodeKey, child: NodeKey) -> Result<bool> {
        Ok(self.old.node(child)?.is_some()
            && self.old.parent(child)? == Some(container)
            && self.old.label(child)? == self.new.label(child)?)
    }

    /// Moves a node to position `at` of a container; returns the position after it.
    fn move_to(&mut self, container: NodeKey, at: usize, child: NodeKey) -> Result<usize> {
        let name = self.new.expect(child)?.name.map(<[u8]>::to_vec);
        if let Some(name) = &name {
            self.free(container, name, child)?;
        }
        let from = self.pointer(child)?;
        let (left, was_at) = self.unlink(child)?;
        let at = if left == container && was_at < at { at - 1 } else { at };
        self.link(container, at, child, name);
        let to = self.pointer(child)?;
        let (list, _) = from.rsplit_once('/').ok_or(Damaged::new("a root that moves"))?;
        if to.strip_prefix(&*from).is_some_and(|below| below.starts_with('/')) {
            // Into what takes its place: RFC 6902 lets no place be moved below itself. The end of its
            // list is another.
            let aside = format!("{list}/{}", self.list(left)?.len());
            self.moved(&from, &aside);
            self.moved(&aside, &to);
        } else {
            self.moved(&from, &to);
        }
        Ok(at + 1)
    }

    fn moved(&mut self, from: &str, to: &str) {
        if from != to {
            let (from, to) = (quote(from), quote(to));
            self.steps.push(format!("{{\"op\":\"move\",\"from\":{from},\"path\":{to}}}"));
        }
    }

    fn link(&mut self, container: NodeKey, at: usize, child: NodeKey, name: Option<Vec<u8>>) {
        self.lists.get_mut(&container).expect("being arranged").insert(at, child);
        self.parents.insert(child, container);
        self.names.insert(child, name);
    }

    /// Adds a new subtree, without the old nodes that will be in it.
    fn add(&mut self, container: NodeKey, at: usize, child: NodeKey) -> Result<usize> {
        let name = self.new.expect(child)?.name.map(<[u8]>::to_vec);
        let mut value = Vec::new();
        let (mut at, mut op) = (at, "add");
        if let Some(gone) = self.replaced.remove(&child) {
            if self.parent(gone)? == Some(container) && self.name(gone)? == name {
                let (_, was_at) = self.unlink(gone)?;
                at -= (was_at < at) as usize;
                op = "replace";
            } else {
                self.remove(gone)?;
            }
        }
        if let Some(name) = &name {
            self.free(container, name, child)?;
        }
        self.write_new(child, &mut value)?;
        self.link(container, at, child, name);
        let pointer = quote(&self.pointer(child)?);
        let value = String::from_utf8_lossy(&value);
        self.steps.push(format!("{{\"op\":\"{op}\",\"path\":{pointer},\"value\":{value}}}"));
        Ok(at + 1)
    }

    /// Writes the new nodes of a new subtree, and notes what stands where in it.
    fn write_new(&mut self, key: NodeKey, out: &mut Vec<u8>) -> Result<()> {
        let new = self.new;
        let node = new.expect(key)?;
        put_value(out, node.kind, node.text);
        if !node.kind.is_container() {
            return Ok(());
        }
        let mut list = Vec::new();
        for child in new.children(key)? {
            let child = child?;
            if self.old.node(child)?.is_some() {
                continue;
            }
            if !list.is_empty() {
                out.push(b',');
            }
            let name = new.expect(child)?.name;
            if let Some(name) = name {
                out.push(b'"');
                out.extend_from_slice(name);
                out.extend_from_slice(b"\":");
            }
            list.push(child);
            self.parents.insert(child, key);
            self.names.insert(child, name.map(<[u8]>::to_vec));
            self.write_new(child, out)?;
        }
        out.push(if node.kind == Kind::Object { b'}' } else { b']' });
        self.lists.insert(key, list);
        Ok(())
    }

    /// Gives a field that stays in its place its new name.
    fn rename(&mut self, container: NodeKey, child: NodeKey) -> Result<()> {
        let name = self.new.expect(child)?.name.map(<[u8]>::to_vec);
        match name {
            Some(name) if self.name(child)?.as_ref() != Some(&name) => {
                self.free(container, &name, child)?;
                let from = self.pointer(child)?;
                self.names.insert(child, Some(name));
                let to = self.pointer(child)?;
                self.moved(&from, &to);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sees to it that no field of an object but `but` has this name.
    fn free(&mut self, container: NodeKey, name: &[u8], but: NodeKey) -> Result<()> {
        let mut holder = None;
        for &key in self.lists.get(&container).into_iter().flatten() {
            if key != but && self.name(key)?.as_deref() == Some(name) {
                holder = Some(key);
            }
        }
        let Some(holder) = holder else { return Ok(()) };
        let aside = match self.new.node(holder)? {
            // Stays here under a name that is free already: it takes that at once.
            Some(node) if self.new.parent(holder)? == Some(container) => {
                let wanted = node.name.unwrap_or_default().to_vec();
                if self.is_taken(container, &wanted)? { self.unused(container)? } else { wanted }
            }
            _ => self.unused(container)?,
        };
        let from = self.pointer(holder)?;
        self.names.insert(holder, Some(aside));
        let to = self.pointer(holder)?;
        self.moved(&from, &to);
        Ok(())
    }

    fn is_taken(&self, container: NodeKey, name: &[u8]) -> Result<bool> {
        for &key in self.lists.get(&container).into_iter().flatten() {
            if self.name(key)?.as_deref() == Some(name) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A name that no field of the object has, now or in the end.
    fn unused(&mut self, container: NodeKey) -> Result<Vec<u8>> {
        loop {
            self.asides += 1;
            let name = format!("~{}", self.asides).into_bytes();
            if !self.is_taken(container, &name)?
                && self.new.child_named(container, &name)?.is_none()
            {
                return Ok(name);
            }
        }
    }

    /// Compares the lists of the touched containers with those of the new document; what is not
    /// equal is replaced.
    fn verify(&mut self, touched: &[NodeKey]) -> Result<()> {
        for &container in touched {
            let is_object = self.new.expect(container)?.kind == Kind::Object;
            let children = self.new.children(container)?.collect::<Result<Vec<_>>>()?;
            let list = self.lists.get(&container);
            let mut equal = match (is_object, list) {
                (_, None) => false,
                (true, Some(list)) => list.len() == children.len(),
                (false, Some(list)) => *list == children,
            };
            if is_object && equal {
                for &child in &children {
                    let name = self.new.expect(child)?.name;
                    equal &= self.parent(child)? == Some(container)
                        && self.name(child)?.as_deref() == name;
                }
            }
            if !equal {
                let pointer = self.new.path(container)?.to_pointer();
                self.steps.push(replace_step(&pointer, &json_of(self.new, container)?));
            }
        }
        Ok(())
    }
}

/// A name (escaped as JSON) as a part of a JSON pointer.
fn part_of(name: &[u8]) -> String {
    json::text::unescape(name).replace('~', "~0").replace('/', "~1")
}
