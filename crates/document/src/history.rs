//! The history of a document and of its nodes.
//!
//! The list of revisions is kept page by page (see [`crate::revisions`]). The history of one node is
//! found in one of two ways, whichever is the shorter:
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

use crate::chunk::Chunk;
use crate::codec::Reader;
use crate::collection::{Collection, no_document};
use crate::delta::{Op, read_set};
use crate::edit::{NodeRef, find};
use crate::error::DocumentError;
use crate::key::{Prefix, Record};
use crate::state::State;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result, Revision};
use json::{JsonPath, Kind, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use store::Csn;

/// What is known of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionInfo {
    /// Its number.
    pub revision: Revision,
    /// Its commit.
    pub csn: Csn,
    /// When it was committed, in microseconds since 1970 UTC.
    pub time_us: u64,
    /// Who made it; may be empty.
    pub author: Arc<str>,
    /// Why; may be empty.
    pub message: Arc<str>,
    /// When it was made where it came from, for imports, in microseconds since 1970 UTC.
    pub authored_us: Option<u64>,
    /// True where it removed the document.
    pub deleted: bool,
}

/// The value of one node over some revisions in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeVersion {
    /// The first of them.
    pub from: Revision,
    /// The last of them; `None` where the node still has the value.
    pub to: Option<Revision>,
    /// When the first was committed, in microseconds since 1970 UTC.
    pub from_us: u64,
    /// When the revision after the last was committed; `None` where the node still has the value.
    pub to_us: Option<u64>,
    /// The value as compact JSON.
    pub value: String,
}

/// The value of a scalar at some commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar<'a> {
    /// What it is.
    pub kind: Kind,
    /// The text of a number, or of a string, escaped and without quotes; empty for literals.
    pub text: &'a [u8],
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
    /// What is known of one revision.
    pub(crate) fn info(&self, state: &State, revision: Revision) -> Result<RevisionInfo> {
        let found = self.infos(state, revision.0, revision.0)?.pop();
        found.ok_or_else(|| crate::Damaged::new("a revision is missing from its page").into())
    }

    /// What is known of the revisions `from` up to and including `to`, newest first.
    fn infos(&self, state: &State, from: u64, to: u64) -> Result<Vec<RevisionInfo>> {
        let (mut csns, mut deleted) = (Vec::new(), Vec::new());
        state.list.newest_first(self.engine(), from, to, &mut csns, &mut deleted)?;
        let mut infos = Vec::with_capacity(csns.len());
        // Commits in a row often share their author, and imports their message.
        let (mut author, mut message): (Arc<str>, Arc<str>) = (Arc::from(""), Arc::from(""));
        let shared = |last: &mut Arc<str>, text: &str| {
            if **last != *text {
                *last = Arc::from(text);
            }
            Arc::clone(last)
        };
        self.engine().infos(&csns, |csn, time_us, by, why, authored_us| {
            infos.push(RevisionInfo {
                revision: Revision(to - infos.len() as u64),
                csn,
                time_us,
                author: shared(&mut author, by),
                message: shared(&mut message, why),
                authored_us,
                deleted: deleted[infos.len()],
            });
        })?;
        Ok(infos)
    }

    /// The revisions of a document, newest first, at most `limit` of them.
    pub fn history(&self, key: &str, limit: usize) -> Result<Vec<RevisionInfo>> {
        let state = self.known(key, &Prefix::new(key)?)?;
        let newest = state.revision.0;
        self.infos(&state, newest.saturating_sub(limit as u64) + 1, newest)
    }

    /// The revisions numbered `from` up to and including `to`, newest first; what is past the ends is
    /// left out.
    pub fn history_range(
        &self,
        key: &str,
        from: Revision,
        to: Revision,
    ) -> Result<Vec<RevisionInfo>> {
        let state = self.known(key, &Prefix::new(key)?)?;
        self.infos(&state, from.0.max(1), to.0.min(state.revision.0))
    }

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

    /// The values of a scalar over all revisions, oldest first: `f` gets each commit that set it, and
    /// `None` for one that removed it. Runs over stored deltas: nothing is built or copied.
    pub fn scan_values(
        &self,
        key: &str,
        node: impl Into<NodeRef>,
        mut f: impl FnMut(Csn, Option<Scalar<'_>>),
    ) -> Result<()> {
        let prefix = Prefix::new(key)?;
        let state = self.known(key, &prefix)?;
        let target = self.target(key, &prefix, &state, &node.into())?;
        if let Some((csn, scalar)) = never_changed(self, &state, target)? {
            f(csn, Some(scalar.as_scalar()));
            return Ok(());
        }
        self.scan_slot(&prefix, target, state.csn, &mut f)
    }

    fn scan_slot(
        &self,
        prefix: &Prefix,
        target: NodeKey,
        to: Csn,
        f: &mut impl FnMut(Csn, Option<Scalar<'_>>),
    ) -> Result<()> {
        let chunk_key = prefix.record(Record::Chunk(target.chunk()));
        let slot = target.slot() as u8;
        let mut damaged = None;
        let mut there = false;
        let mut f = |csn: Csn, scalar: Option<Scalar<'_>>| {
            if there || scalar.is_some() {
                there = scalar.is_some();
                f(csn, scalar);
            }
        };
        self.engine().store().versions(self.table(), &chunk_key, Csn(1), to, |version| {
            // The common case first: one short value, set.
            if let [kind @ 4..=5, at, len @ ..0x80, text @ ..] = version.bytes
                && version.kind == store::Kind::Delta
                && text.len() == *len as usize
            {
                if *at == slot {
                    let kind = if *kind == 4 { Kind::Number } else { Kind::String };
                    f(version.csn, Some(Scalar { kind, text }));
                }
                return ControlFlow::Continue(());
            }
            let result = match version.kind {
                store::Kind::Delta => {
                    scan_delta(version.bytes, slot, |scalar| f(version.csn, scalar))
                }
                store::Kind::Put => {
                    Chunk::from_image(version.bytes.to_vec(), version.csn).map(|chunk| {
                        f(
                            version.csn,
                            chunk
                                .node(slot as usize)
                                .map(|n| Scalar { kind: n.kind, text: n.text }),
                        )
                    })
                }
                store::Kind::Delete => {
                    let _: () = f(version.csn, None);
                    Ok(())
                }
            };
            match result {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    damaged = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        damaged.map_or(Ok(()), |error| Err(error.into()))
    }

    /// The node that is meant: a path is looked up in the newest version that has nodes at all, and
    /// where it is not there any more, in older ones, newest first.
    fn target(&self, key: &str, prefix: &Prefix, state: &State, node: &NodeRef) -> Result<NodeKey> {
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
        let mut next = move || {
            while at.0 > 0 {
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
            self.engine().store().versions(self.table(), &key, Csn(1), state.csn, |version| {
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
    pub fn node_history(&self, key: &str, node: impl Into<NodeRef>) -> Result<Vec<NodeVersion>> {
        let prefix = Prefix::new(key)?;
        let state = self.known(key, &prefix)?;
        let target = self.target(key, &prefix, &state, &node.into())?;
        let events = self.events(&prefix, &state, target)?;
        self.runs(&state, events)
    }

    /// The revisions that changed a node, oldest first: that made it, gave it another value, or
    /// removed it.
    pub fn change_revisions(&self, key: &str, node: impl Into<NodeRef>) -> Result<Vec<Revision>> {
        let prefix = Prefix::new(key)?;
        let state = self.known(key, &prefix)?;
        let target = self.target(key, &prefix, &state, &node.into())?;
        let events = self.events(&prefix, &state, target)?;
        events.keys().map(|csn| state.list.at(self.engine(), *csn, state.revision)).collect()
    }

    /// What happened to a node: for each commit the value that it gave, `None` where it removed it.
    /// Commits that left the value as it was, by a change of name or place, are not among them.
    fn events(
        &self,
        prefix: &Prefix,
        state: &State,
        target: NodeKey,
    ) -> Result<BTreeMap<Csn, Option<String>>> {
        let mut events = self.all_events(prefix, state, target)?;
        let mut before = None;
        events.retain(|_, value| {
            let changed = *value != before;
            before.clone_from(value);
            changed
        });
        Ok(events)
    }

    fn all_events(
        &self,
        prefix: &Prefix,
        state: &State,
        target: NodeKey,
    ) -> Result<BTreeMap<Csn, Option<String>>> {
        let mut events = BTreeMap::new();
        let mut at = state.csn;
        for _ in 0..HOPS_MAX {
            match self.event_before(prefix, state, target, at, &mut events)? {
                Some(before) if before.0 > 0 => at = before,
                _ => return Ok(events),
            }
        }
        if self.is_scalar_all_along(&events) {
            self.scan_slot(prefix, target, at, &mut |csn, scalar| {
                events.insert(csn, scalar.map(|s| s.to_json()));
            })?;
            return Ok(events);
        }
        while let Some(before) =
            self.event_before(prefix, state, target, at, &mut events)?.filter(|csn| csn.0 > 0)
        {
            at = before;
        }
        Ok(events)
    }

    fn is_scalar_all_along(&self, events: &BTreeMap<Csn, Option<String>>) -> bool {
        // A node never turns from a scalar into a container or back: that makes another node.
        events.values().flatten().next().is_some_and(|value| !value.starts_with(['{', '[']))
    }

    /// Adds the newest event of a node at or before `at`; returns the commit before it, `None` where
    /// there is none.
    fn event_before(
        &self,
        prefix: &Prefix,
        state: &State,
        target: NodeKey,
        at: Csn,
        events: &mut BTreeMap<Csn, Option<String>>,
    ) -> Result<Option<Csn>> {
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
        self.engine().store().versions(self.table(), &chunk_key, Csn(1), at, |version| {
            if version.kind != store::Kind::Delta {
                newest = Some((version.csn, version.kind));
            }
            ControlFlow::Continue(())
        })?;
        match newest {
            Some((csn, store::Kind::Put)) => Ok(Some(Csn(csn.0 - 1))),
            Some((csn, store::Kind::Delete)) => {
                // Removed by that commit if it was there just before.
                let before = Csn(csn.0 - 1);
                let was_there = self
                    .load_tree(prefix, before, false)?
                    .is_some_and(|tree| tree.node(target).is_ok_and(|n| n.is_some()));
                if was_there {
                    events.insert(csn, None);
                }
                Ok(Some(before))
            }
            _ => Ok(None),
        }
    }

    fn runs(
        &self,
        state: &State,
        events: BTreeMap<Csn, Option<String>>,
    ) -> Result<Vec<NodeVersion>> {
        let csns: Vec<Csn> = events.keys().copied().collect();
        let mut times = Vec::with_capacity(csns.len());
        self.engine().times(&csns, &mut times)?;
        let mut runs: Vec<NodeVersion> = Vec::new();
        for ((csn, value), time_us) in events.into_iter().zip(times) {
            let revision = state.list.at(self.engine(), csn, state.revision)?;
            if let Some(last) = runs.last_mut().filter(|run| run.to.is_none()) {
                if value.as_ref() == Some(&last.value) {
                    continue;
                }
                (last.to, last.to_us) = (Some(Revision(revision.0 - 1)), Some(time_us));
            }
            if let Some(value) = value {
                runs.push(NodeVersion {
                    from: revision,
                    to: None,
                    from_us: time_us,
                    to_us: None,
                    value,
                });
            }
        }
        Ok(runs)
    }

    /// For each node of a revision, in document order, the revision that last changed it.
    pub fn blame(&self, key: &str, revision: Option<Revision>) -> Result<Vec<BlameLine>> {
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
        let mut lines = Vec::with_capacity(tree.header().nodes as usize);
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
            crate::chunk::put_value(&mut value, node.kind, node.text);
            let value = String::from_utf8_lossy(&value).into_owned();
            lines.push(BlameLine {
                node: key,
                path: JsonPath { steps: path.to_vec() },
                revision,
                csn,
                kind: node.kind,
                value,
            });
            Ok(())
        })?;
        Ok(lines)
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
fn last_change(tree: &Tree, top: NodeKey) -> Result<Csn> {
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

/// A scalar's text, kept.
struct Kept {
    kind: Kind,
    text: Vec<u8>,
}

impl Kept {
    fn as_scalar(&self) -> Scalar<'_> {
        Scalar { kind: self.kind, text: &self.text }
    }
}

/// The only value that a scalar ever had, where it is as the document's first revision made it.
fn never_changed(
    collection: &Collection,
    state: &State,
    target: NodeKey,
) -> Result<Option<(Csn, Kept)>> {
    let Some(tree) = &state.tree else { return Ok(None) };
    let Some(node) = tree.node(target)? else { return Ok(None) };
    if state.list.csn(collection.engine(), Revision(1))? != Some(node.changed) {
        return Ok(None);
    }
    Ok(Some((node.changed, Kept { kind: node.kind, text: node.text.to_vec() })))
}

impl Scalar<'_> {
    /// The value as JSON.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        crate::chunk::put_value(&mut out, self.kind, self.text);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Calls `f` for what a delta does to the value of one slot.
#[inline]
fn scan_delta(
    delta: &[u8],
    slot: u8,
    mut f: impl FnMut(Option<Scalar<'_>>),
) -> Result<(), crate::Damaged> {
    let mut input = Reader::new(delta);
    while let Some(tag) = input.rest().first() {
        if *tag < Op::SETS_BELOW {
            let (kind, at, text) = read_set(&mut input)?;
            if at == slot {
                f(Some(Scalar { kind, text }));
            }
            continue;
        }
        match Op::decode(&mut input)? {
            Op::Remove { slot: first, count }
                if (first as usize..first as usize + count).contains(&(slot as usize)) =>
            {
                f(None)
            }
            Op::Insert { slot: at, node, .. } if at == slot => {
                f(Some(Scalar { kind: node.kind, text: node.text }))
            }
            _ => {}
        }
    }
    Ok(())
}

/// True where a delta gives a node another name.
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
        let table = Arc::new(|_| -> Arc<dyn store::Table> { Arc::new(DocumentTable::default()) });
        let engine = Engine::open(&env, Path::new("/db"), options, table).expect("opens");
        Documents::new(engine, 1 << 20).collection(TableId(16), CollectionOptions::default())
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

        // What was there is found wherever it was.
        let renamed = docs.node_history(KEY, "$.new").expect("it was there until a moment ago");
        let first = docs.node_history(KEY, "$.old").expect("it was there at the beginning");
        assert_eq!(renamed, first, "one node, by either name");
        assert_eq!(first.len(), 1);
        assert_eq!((first[0].from, first[0].value.as_str()), (Revision(1), "1"));

        docs.remove(KEY).expect("removes");
        assert_eq!(versions_looked_at(&docs), 3);
        docs.put(KEY, "[7]").expect("puts");
        docs.remove(KEY).expect("removes");
        assert_eq!(versions_looked_at(&docs), 4);
        assert_eq!(docs.node_history(KEY, "$[0]").expect("it was there")[0].value, "7");
        assert_eq!(docs.node_history(KEY, "$.old").expect("it was there")[0].value, "1");
    }
}
