//! The history of a container: the changes of each version inside of it, a page at a time, newest
//! first.
//!
//! ```text
//!   revision      1       2       3       4       5       6
//!   $.list        made    .       + [2]   .       ~ [0]   .
//!                 <──────────────<───────────────<───────      hop to the newest change inside, compare with the
//!                                                              revision before it, go on before it
//! ```
//!
//! A page costs the hops that it takes to find its versions: their trees are opened, and compared where they were
//! touched. Hops that only moved or renamed the container are among them, so a page may cost more than its versions.
//! The values themselves are not written, however large the container is.

use crate::collection::Collection;
use crate::diff::{Change, ChangeOp};
use crate::history::last_change;
use crate::key::Prefix;
use crate::state::State;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result, Revision};
use std::collections::BTreeMap;

/// The changes of a version inside of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerVersion {
    /// The revision that changed it.
    pub from: Revision,
    /// The last revision before the next change; `None` if nothing has changed since.
    pub to: Option<Revision>,
    /// When `from` was committed, in microseconds since 1970 UTC.
    pub from_us: u64,
    /// When `from` was made where it came from, for imports, in microseconds since 1970 UTC.
    pub authored_us: Option<u64>,
    /// When the revision after `to` was committed; `None` if nothing has changed since.
    pub to_us: Option<u64>,
    /// True if the container was not there before.
    pub is_new: bool,
    /// The changes below the container, in the order of the document; nothing where it is new.
    pub changes: Vec<Change>,
}

/// A page of the history of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerPage {
    /// Its versions, oldest first.
    pub versions: Vec<ContainerVersion>,
    /// Earlier versions are those before this revision; `None` if there are none.
    pub earlier: Option<Revision>,
}

impl Collection {
    /// The newest `limit` versions of a container before a revision, or the newest of all. `None` if the node is
    /// no container. A limit of 0 is one of 1.
    ///
    /// Fails if there is no such document.
    pub fn container_history(
        &self,
        key: &str,
        node: NodeKey,
        before: Option<Revision>,
        limit: usize,
    ) -> Result<Option<ContainerPage>> {
        let prefix = Prefix::new(key)?;
        let state = self.known(key, &prefix)?;
        let oldest = self.oldest(key)?;
        let mut page = ContainerPage::default();
        // Above the newest revision there is none that could end a version.
        let before = before.filter(|before| *before <= state.revision);
        let mut end = before.map(|before| Revision(before.0.saturating_sub(1)));
        let limit = limit.max(1);
        let mut at = end.unwrap_or(state.revision).min(state.revision);
        while at >= oldest && at.0 > 0 {
            let tree = self.tree_of(&state, &prefix, at)?;
            let stands = match &tree {
                Some(tree) => tree.node(node)?.is_some(),
                None => false,
            };
            let Some(tree) = tree.filter(|_| stands) else {
                match self.present_before(&prefix, &state, node, at)? {
                    Some(earlier) if earlier < at => (at, end) = (earlier, Some(earlier)),
                    _ => break,
                }
                continue;
            };
            if !tree.expect(node)?.kind.is_container() {
                return Ok(None);
            }
            if page.versions.len() == limit {
                page.earlier = page.versions.last().map(|version| version.from);
                break;
            }
            let from = self.changed_at(&state, &tree, node, at)?;
            let (is_new, changes) = self.changes_inside(key, &prefix, &state, node, from)?;
            // A version that only moved or renamed the container changed nothing inside.
            if is_new || !changes.is_empty() {
                page.versions.push(self.version(&state, from, end, is_new, changes)?);
                end = Some(Revision(from.0 - 1));
            }
            at = Revision(from.0 - 1);
        }
        page.versions.reverse();
        Ok(Some(page))
    }

    /// The revision up to `at` that changed a container, or something below it, last.
    fn changed_at(
        &self,
        state: &State,
        tree: &Tree,
        node: NodeKey,
        at: Revision,
    ) -> Result<Revision> {
        // Every revision changes something below the root: no need to look for it.
        if node == tree.root() {
            return Ok(at);
        }
        let csn = last_change(tree, node)?;
        Ok(state.list.at(self.engine(), csn, at)?.max(Revision(1)))
    }

    /// The newest revision before the removal of a node that is not there at `at`.
    fn present_before(
        &self,
        prefix: &Prefix,
        state: &State,
        node: NodeKey,
        at: Revision,
    ) -> Result<Option<Revision>> {
        let csn = match at == state.revision {
            true => state.csn,
            false => state.list.csn(self.engine(), at)?.unwrap_or_default(),
        };
        let before = self.event_before(prefix, state, node, csn, &mut BTreeMap::new())?;
        match before {
            Some(csn) if csn.0 > 0 => Ok(Some(state.list.at(self.engine(), csn, at)?)),
            _ => Ok(None),
        }
    }

    /// The changes of a revision below a container; or that the container was not there before.
    fn changes_inside(
        &self,
        key: &str,
        prefix: &Prefix,
        state: &State,
        node: NodeKey,
        from: Revision,
    ) -> Result<(bool, Vec<Change>)> {
        let before = Revision(from.0 - 1);
        let was_there = match before.0 {
            0 => false,
            _ if before < self.oldest(key)? => false,
            _ => match self.tree_of(state, prefix, before)? {
                Some(tree) => tree.node(node)?.is_some(),
                None => false,
            },
        };
        if !was_there {
            return Ok((true, Vec::new()));
        }
        let diff = self.diff(key, before, from)?;
        let mut changes = Vec::new();
        for change in diff.changes {
            let is_inside = match change.op {
                ChangeOp::Delete { .. } => is_below(&diff.old, change.node, node)?,
                ChangeOp::Move { .. } => {
                    is_below(&diff.old, change.node, node)?
                        || is_below(&diff.new, change.node, node)?
                }
                _ => is_below(&diff.new, change.node, node)?,
            };
            if is_inside {
                changes.push(change);
            }
        }
        Ok((false, changes))
    }

    fn version(
        &self,
        state: &State,
        from: Revision,
        to: Option<Revision>,
        is_new: bool,
        changes: Vec<Change>,
    ) -> Result<ContainerVersion> {
        let csn = |revision| state.list.csn(self.engine(), revision);
        let mut csns = vec![csn(from)?.unwrap_or_default()];
        if let Some(to) = to {
            csns.extend(csn(Revision(to.0 + 1))?);
        }
        let moments = self.engine().moments(&csns)?;
        let (from_us, authored_us) = moments.first().copied().unwrap_or_default();
        let to_us = moments.get(1).map(|(time_us, _)| *time_us);
        Ok(ContainerVersion { from, to, from_us, authored_us, to_us, is_new, changes })
    }
}

/// True if a node stands below another one.
fn is_below(tree: &Tree, key: NodeKey, above: NodeKey) -> Result<bool> {
    let mut next = tree.parent(key)?;
    while let Some(parent) = next {
        if parent == above {
            return Ok(true);
        }
        next = tree.parent(parent)?;
    }
    Ok(false)
}
