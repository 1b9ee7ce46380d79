//! The history of a document's nodes: the values of a node, and the revision that last changed each
//! node.
//!
//! A node is asked for by its key, which gives the values that it had wherever it stood, or by a path,
//! which gives the values of all nodes that ever stood there ([`crate::path_history`]).
//!
//! The history of one node is found in one of two ways, whichever is the shorter:
//!
//! ```text
//!   node changed    1 .......... 40 ................... 5000      few changes: hop. The version of now says 5000;
//!                   <-----------<----------------------<          the version just before 5000 says 40; and so on
//!
//!   node changed    1 2 3 4 5 6 7 8 9 10 ............. 5000      many: scan the deltas of its chunk, oldest first,
//!                   ------------------------------------->        a few bytes each
//! ```
//!
//! A node that never changed since its document was first put costs one look-up.

use crate::codec::Reader;
use crate::collection::{Collection, no_document};
use crate::delta::Op;
use crate::edit::{NodeRef, find, parse_path};
use crate::error::DocumentError;
use crate::key::{Prefix, Record};
use crate::path_history::PathNode;
use crate::state::State;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result, Revision};
use json::{JsonPath, Kind, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use store::Csn;

/// The value of one node over some revisions in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeVersion {
    /// The node.
    pub node: NodeKey,
    /// The first of them.
    pub from: Revision,
    /// The last of them; `None` if the node still has the value, and still stands at the path.
    pub to: Option<Revision>,
    /// When the first was committed, in microseconds since 1970 UTC.
    pub from_us: u64,
    /// When the first was made where it came from, for imports, in microseconds since 1970 UTC.
    pub authored_us: Option<u64>,
    /// When the revision after the last was committed; `None` if the node still has the value.
    pub to_us: Option<u64>,
    /// The value as compact JSON.
    pub value: String,
}

/// Which revision last changed a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameLine {
    /// The node.
    pub node: NodeKey,
    /// Where it stands.
    pub path: JsonPath,
    /// The revision that last changed it: its value, its name, its place, or which children it has.
    pub revision: Revision,
    /// That revision's commit.
    pub csn: Csn,
    /// Its kind.
    pub kind: Kind,
    /// The value of a scalar as JSON; `[` or `{` of a container.
    pub value: String,
}

/// Hops made before it is thought cheaper to scan.
const HOPS_MAX: usize = 8;

impl Collection {
    /// When each revision was committed, oldest first, in microseconds since 1970 UTC.
    pub fn timestamps(&self, key: &str) -> Result<Vec<u64>> {
        let state = self.known(key, &Prefix::new(key)?)?;
        let mut times = Vec::new();
        state.list.times(self.engine(), state.revision, &mut times)?;
        Ok(times)
    }

    /// The newest revision of a document, also of one that was removed.
    pub fn newest(&self, key: &str) -> Result<Revision> {
        Ok(self.known(key, &Prefix::new(key)?)?.revision)
    }

    /// The node that is meant: a path is looked up in the newest version that has nodes at all, and
    /// where it is not there any more, in older ones, newest first.
    pub(crate) fn target(
        &self,
        key: &str,
        prefix: &Prefix,
        state: &State,
        node: &NodeRef,
    ) -> Result<NodeKey> {
        if let NodeRef::Key(key) = node {
            return Ok(*key);
        }
        if let Some(newest) = &state.tree
            && let Some(found) = find(&**newest, node)?
        {
            return Ok(found);
        }
        for tree in self.versions_apart(prefix, state)? {
            if let Some(found) = find(&tree?, node)? {
                return Ok(found);
            }
        }
        Err(DocumentError::NeverNode { node: node.to_string(), key: key.to_owned() })
    }

    /// Versions between which only values changed are all one to a path. Of each such row the newest,
    /// newest first.
    ///
    /// The header of a version says since when its structure is as it is. Renames do not count as
    /// structure; they are found in the deltas.
    fn versions_apart(
        &self,
        prefix: &Prefix,
        state: &State,
    ) -> Result<impl Iterator<Item = Result<Tree>>> {
        let renames = self.renames(prefix, state)?;
        let mut at = state.csn;
        let horizon = self.horizon();
        let mut next = move || {
            while at.0 > 0 && at >= horizon {
                let here = std::mem::take(&mut at);
                let tree = self.load_tree(prefix, here, false)?;
                let since = match &tree {
                    Some(tree) => tree.header().shape,
                    None => {
                        let removal = state.list.at(self.engine(), here, state.revision)?;
                        state.list.csn(self.engine(), removal)?.unwrap_or_default()
                    }
                };
                let renamed = renames.range(..=here).next_back().copied().unwrap_or_default();
                at = Csn(since.max(renamed).0.saturating_sub(1));
                if tree.is_some() {
                    return Ok(tree);
                }
            }
            Ok(None)
        };
        Ok(std::iter::from_fn(move || next().transpose()))
    }

    /// The commits that may have given nodes of a document other names.
    fn renames(&self, prefix: &Prefix, state: &State) -> Result<BTreeSet<Csn>> {
        let next_key = state.tree.as_ref().map_or(state.next_key, |tree| tree.header().next_key);
        let mut renames = BTreeSet::new();
        let mut damaged = None;
        for chunk in 0..=NodeKey(next_key).chunk() {
            let key = prefix.record(Record::Chunk(chunk));
            self.engine().store().versions(self.id(), &key, Csn(1), state.csn, |version| {
                let renamed = match version.kind {
                    store::Kind::Delta => has_rename(version.bytes),
                    store::Kind::Put => Ok(true),
                    store::Kind::Delete => Ok(false),
                };
                match renamed {
                    Ok(true) => drop(renames.insert(version.csn)),
                    Ok(false) => {}
                    Err(error) => damaged = Some(error),
                }
                if damaged.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
        }
        damaged.map_or(Ok(renames), |error| Err(error.into()))
    }

    /// The values that a node had, oldest first, each with the revisions over which it had it. For a
    /// container the value is all that is below it. Revisions in which the node was not there are
    /// left out.
    ///
    /// A node key gives the values of that node, wherever it stood. A path gives the values of all nodes
    /// that ever stood there: one that was removed and added again is another node, one that was moved
    /// or renamed left the path, and the path of an element gives what had that position.
    ///
    /// Fails with [`DocumentError::NeverNode`] where no node ever stood at the path.
    pub fn node_history(&self, key: &str, node: impl Into<NodeRef>) -> Result<Vec<NodeVersion>> {
        let prefix = Prefix::new(key)?;
        let state = self.known(key, &prefix)?;
        let node = node.into();
        let NodeRef::Path(path) = &node else {
            let target = self.target(key, &prefix, &state, &node)?;
            let events = self.events(&prefix, &state, target)?;
            return self.runs(&state, events.into_iter().map(|(csn, value)| (csn, target, value)));
        };
        let nodes = self.path_history(&prefix, &state, &parse_path(path)?)?;
        if nodes.is_empty() {
            return Err(DocumentError::NeverNode { node: path.clone(), key: key.to_owned() });
        }
        let mut events = Vec::new();
        for at_path in nodes {
            self.values_at_path(&prefix, &state, &at_path, &mut events)?;
        }
        self.runs(&state, events)
    }

    /// Adds the values of a node while it stood at a path, each with the commit that gave it, or put the
    /// node there; and after them the commit that took the node away.
    fn values_at_path(
        &self,
        prefix: &Prefix,
        state: &State,
        at_path: &PathNode,
        out: &mut Vec<(Csn, NodeKey, Option<String>)>,
    ) -> Result<()> {
        let last = at_path.end.map_or(state.csn, |end| Csn(end.0 - 1));
        let events = self.events_between(prefix, state, at_path.node, at_path.from, last)?;
        out.reserve(events.len() + 1);
        let begin = out.len();
        for (csn, value) in events {
            if csn <= at_path.from {
                // Of the values of before it had the last one when it came there.
                out.truncate(begin);
            }
            out.push((csn.max(at_path.from), at_path.node, value));
        }
        out.extend(at_path.end.map(|end| (end, at_path.node, None)));
        Ok(())
    }

    /// The revisions that changed a node, oldest first: that made it, gave it another value, or
    /// removed it. Of a path: that changed what stands there.
    pub fn change_revisions(&self, key: &str, node: impl Into<NodeRef>) -> Result<Vec<Revision>> {
        let mut changes = Vec::new();
        for run in self.node_history(key, node)? {
            if changes.last() != Some(&run.from) {
                changes.push(run.from);
            }
            changes.extend(run.to.map(|to| Revision(to.0 + 1)));
        }
        Ok(changes)
    }

    /// The events of a node: for each commit the value that it gave, `None` if it removed it.
    /// Commits that left the value as it was, by a change of name or place, are not among them.
    fn events(
        &self,
        prefix: &Prefix,
        state: &State,
        target: NodeKey,
    ) -> Result<BTreeMap<Csn, Option<String>>> {
        let mut events = self.events_between(prefix, state, target, Csn(0), state.csn)?;
        let mut before = None;
        events.retain(|_, value| {
            let changed = *value != before;
            before.clone_from(value);
            changed
        });
        Ok(events)
    }

    /// The events of a node after `from` up to `to`, and its value at `from`.
    fn events_between(
        &self,
        prefix: &Prefix,
        state: &State,
        target: NodeKey,
        from: Csn,
        to: Csn,
    ) -> Result<BTreeMap<Csn, Option<String>>> {
        let mut events = BTreeMap::new();
        let mut at = to;
        for _ in 0..HOPS_MAX {
            match self.event_before(prefix, state, target, at, &mut events)? {
                Some(before) if before >= from && before.0 > 0 => at = before,
                _ => return Ok(events),
            }
        }
        if self.is_scalar_all_along(&events) {
            self.scan_slot(prefix, target, at, |csn, scalar| {
                events.insert(csn, scalar.map(|s| s.to_json()));
            })?;
            return Ok(events);
        }
        while let Some(before) = self
            .event_before(prefix, state, target, at, &mut events)?
            .filter(|csn| *csn >= from && csn.0 > 0)
        {
            at = before;
        }
        Ok(events)
    }

    fn is_scalar_all_along(&self, events: &BTreeMap<Csn, Option<String>>) -> bool {
        // A node never turns from a scalar into a container or back: that makes another node.
        events.values().flatten().next().is_some_and(|value| !value.starts_with(['{', '[']))
    }

    /// Adds the newest event of a node at or before `at`; returns the commit before it, `None` if
    /// there is none.
    pub(crate) fn event_before(
        &self,
        prefix: &Prefix,
        state: &State,
        target: NodeKey,
        at: Csn,
        events: &mut BTreeMap<Csn, Option<String>>,
    ) -> Result<Option<Csn>> {
        if at != state.csn && at < self.horizon() {
            return Ok(None);
        }
        let loaded;
        let tree: Option<&Tree> = if at == state.csn {
            state.tree.as_deref()
        } else {
            loaded = self.load_tree(prefix, at, false)?;
            loaded.as_ref()
        };
        if let Some(tree) = tree {
            if tree.node(target)?.is_some() {
                let csn = last_change(tree, target)?;
                let mut value = Vec::new();
                tree.write_subtree(target, &mut value)?;
                events.insert(csn, Some(String::from_utf8_lossy(&value).into_owned()));
                return Ok(Some(Csn(csn.0 - 1)));
            }
            let chunk = tree.chunk(target.chunk())?;
            if let Some(removed) = chunk.and_then(|chunk| chunk.removed(target.slot())) {
                // Gone: its slot says since when.
                events.insert(removed, None);
                return Ok(Some(Csn(removed.0 - 1)));
            }
        }
        // The whole chunk is gone, or began anew without the node, or was not there yet: the store
        // knows since when.
        let mut newest = None;
        let chunk_key = prefix.record(Record::Chunk(target.chunk()));
        self.engine().store().versions(self.id(), &chunk_key, Csn(1), at, |version| {
            if version.kind != store::Kind::Delta {
                newest = Some(version.csn);
            }
            ControlFlow::Continue(())
        })?;
        let Some(csn) = newest else { return Ok(None) };
        // Removed by that commit if it was there just before: one commit may remove a document and put
        // another in its place.
        let before = Csn(csn.0 - 1);
        let was_there = || -> Result<bool> {
            let tree = self.load_tree(prefix, before, false)?;
            tree.map_or(Ok(false), |tree| Ok(tree.node(target)?.is_some()))
        };
        if before >= self.horizon() && was_there()? {
            events.insert(csn, None);
        }
        Ok(Some(before))
    }

    fn runs(
        &self,
        state: &State,
        events: impl IntoIterator<Item = (Csn, NodeKey, Option<String>)>,
    ) -> Result<Vec<NodeVersion>> {
        let events: Vec<_> = events.into_iter().collect();
        let csns: Vec<Csn> = events.iter().map(|(csn, ..)| *csn).collect();
        let moments = self.engine().moments(&csns)?;
        let mut runs: Vec<NodeVersion> = Vec::with_capacity(events.len());
        let mut revision = Revision(0);
        for ((csn, node, value), (time_us, authored_us)) in events.into_iter().zip(moments) {
            revision = state.list.at_after(self.engine(), csn, revision, state.revision)?;
            if let Some(last) = runs.last_mut().filter(|run| run.to.is_none()) {
                if node == last.node && value.as_ref() == Some(&last.value) {
                    continue;
                }
                (last.to, last.to_us) = (Some(Revision(revision.0 - 1)), Some(time_us));
            }
            if let Some(value) = value {
                runs.push(NodeVersion {
                    node,
                    from: revision,
                    to: None,
                    from_us: time_us,
                    authored_us,
                    to_us: None,
                    value,
                });
            }
        }
        Ok(runs)
    }

    /// For each node of a revision, in document order, the revision that last changed it.
    pub fn blame(&self, key: &str, revision: Option<Revision>) -> Result<Vec<BlameLine>> {
        let mut lines = Vec::new();
        self.blame_each(key, revision, |line| {
            lines.push(line);
            Ok(())
        })?;
        Ok(lines)
    }

    /// [`blame`](Collection::blame), a line at a time: for documents of many nodes. Ends with the first
    /// error of `f`.
    pub fn blame_each(
        &self,
        key: &str,
        revision: Option<Revision>,
        mut f: impl FnMut(BlameLine) -> Result<()>,
    ) -> Result<()> {
        let prefix = Prefix::new(key)?;
        let state = self.known(key, &prefix)?;
        let revision = revision.unwrap_or(state.revision);
        if revision.0 == 0 || revision > state.revision {
            return Err(DocumentError::NoRevision {
                key: key.to_owned(),
                asked: revision.0,
                newest: state.revision.0,
            });
        }
        let tree = self.tree_of(&state, &prefix, revision)?.ok_or_else(|| no_document(key))?;
        let mut known: BTreeMap<Csn, Revision> = BTreeMap::new();
        walk(&*tree, tree.root(), &mut Vec::new(), &mut |key, path| {
            let node = tree.expect(key)?;
            let csn = node.changed;
            let revision = match known.get(&csn) {
                Some(revision) => *revision,
                None => state.list.at(self.engine(), csn, state.revision)?,
            };
            known.insert(csn, revision);
            let mut value = Vec::new();
            crate::node::put_value(&mut value, node.kind, node.text);
            let value = String::from_utf8_lossy(&value).into_owned();
            f(BlameLine {
                node: key,
                path: JsonPath { steps: path.to_vec() },
                revision,
                csn,
                kind: node.kind,
                value,
            })
        })
    }
}

/// Calls `f` with every node below and including `key`, in document order, and the steps that lead
/// there.
pub(crate) fn walk<N: Nodes + ?Sized>(
    nodes: &N,
    key: NodeKey,
    path: &mut Vec<Step>,
    f: &mut impl FnMut(NodeKey, &[Step]) -> Result<()>,
) -> Result<()> {
    f(key, path)?;
    if !nodes.expect(key)?.kind.is_container() {
        return Ok(());
    }
    for (position, child) in nodes.children(key)?.enumerate() {
        let child = child?;
        path.push(match nodes.expect(child)?.name {
            Some(name) => Step::Field(json::text::unescape(name).into_owned()),
            None => Step::Index(position),
        });
        walk(nodes, child, path, f)?;
        path.pop();
    }
    Ok(())
}

/// The newest commit that changed a node or anything below it.
pub(crate) fn last_change(tree: &Tree, top: NodeKey) -> Result<Csn> {
    let node = tree.expect(top)?;
    if !node.kind.is_container() {
        return Ok(node.changed);
    }
    let mut newest = node.changed;
    for key in tree.subtree(top)? {
        newest = newest.max(tree.expect(key)?.changed);
    }
    Ok(newest)
}

/// True if a delta gives a node another name.
fn has_rename(delta: &[u8]) -> Result<bool, crate::Damaged> {
    let mut input = Reader::new(delta);
    while !input.rest().is_empty() {
        if matches!(Op::decode(&mut input)?, Op::Rename { .. }) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use crate::{Collection, CollectionOptions, DocumentError, DocumentTable, Documents};
    use crate::{Revision, key::Prefix};
    use std::path::Path;
    use std::sync::Arc;
    use store::TableId;
    use txn::{Engine, EngineOptions};
    use vfs::{Env, SimVfs};

    const KEY: &str = "d";
    const EDITS: u64 = 100_000;

    fn collection() -> Collection {
        let env = Env::sim(&SimVfs::unrecorded(), 1);
        let mut options = EngineOptions::default();
        options.durability = log::Durability::Os;
        let table = Arc::new(DocumentTable::new(CollectionOptions::default()));
        let told = Arc::clone(&table);
        let resolve = Arc::new(move |_| -> Arc<dyn store::Table> { told.clone() });
        let engine = Engine::open(&env, Path::new("/db"), options, resolve).expect("opens");
        Documents::new(engine, 1 << 20, |_| true).collection(TableId(16), table)
    }

    /// How many versions are looked at for a path that never led anywhere.
    fn versions_looked_at(docs: &Collection) -> usize {
        let prefix = Prefix::new(KEY).expect("a good key");
        let state = docs.known(KEY, &prefix).expect("it is known");
        let versions = docs.versions_apart(&prefix, &state).expect("reads");
        versions.inspect(|tree| assert!(tree.is_ok())).count()
    }

    /// A path that never led anywhere once had every one of the revisions opened, newest first. Only those
    /// that changed the structure can matter: three of a hundred thousand, and of a document that was
    /// removed the last.
    #[test]
    fn a_path_that_never_was_is_not_sought_in_every_version() {
        let docs = collection();
        docs.put(KEY, r#"{"n":0,"old":1}"#).expect("puts");
        let set = |n: u64| drop(docs.edit(KEY, |edit| edit.set("$.n", n.to_string())));
        (0..EDITS / 2).for_each(set);
        docs.edit(KEY, |edit| edit.rename("$.old", "new")).expect("renames");
        (EDITS / 2..EDITS).for_each(set);
        docs.edit(KEY, |edit| edit.remove("$.new")).expect("removes");
        assert!(docs.newest(KEY).expect("reads").0 > EDITS);
        assert_eq!(versions_looked_at(&docs), 3);
        let never = docs.node_history(KEY, "$.never");
        assert!(matches!(never, Err(DocumentError::NeverNode { .. })), "{never:?}");

        // The history of a path finds a node that was there, wherever it was.
        let renamed = docs.node_history(KEY, "$.new").expect("it was there until a moment ago");
        let first = docs.node_history(KEY, "$.old").expect("it was there at the beginning");
        assert_eq!((renamed.len(), first.len()), (1, 1));
        assert_eq!(renamed[0].node, first[0].node, "one node, by either name");
        assert_eq!((first[0].from, first[0].value.as_str()), (Revision(1), "1"));
        assert_eq!(first[0].to.map(|to| Revision(to.0 + 1)), Some(renamed[0].from));

        docs.remove(KEY).expect("removes");
        assert_eq!(versions_looked_at(&docs), 3);
        docs.put(KEY, "[7]").expect("puts");
        docs.remove(KEY).expect("removes");
        assert_eq!(versions_looked_at(&docs), 4);
        assert_eq!(docs.node_history(KEY, "$[0]").expect("it was there")[0].value, "7");
        assert_eq!(docs.node_history(KEY, "$.old").expect("it was there")[0].value, "1");
    }
}
