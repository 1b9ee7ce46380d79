//! Going back to an older revision, forwards: a new revision that equals the old one.
//!
//! The newest version is edited until it is what the old one was, node by node and under the same
//! keys: values are set back, nodes that came since are removed, nodes that went are brought back.
//! So the history of every node goes on: it says what happened, the way back included.
//!
//! A version of an older release may have values that no document gets today ([`crate::admit`]). The way
//! back would write them again: it is refused, and the error names the first of them. Where the newest
//! version has them too, at the same nodes, nothing is written and the way is open.

use crate::admit::{check_scalar, check_text};
use crate::collection::{Collection, Moment, no_document};
use crate::draft::Draft;
use crate::error::DocumentError;
use crate::key::Prefix;
use crate::meta::{Committed, Meta};
use crate::node::{CHUNK_NODES, Node};
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result, Revision};

impl Collection {
    /// Makes a new revision of a document that equals an older one, also where the document was
    /// removed since.
    pub fn revert(&self, key: &str, revision: Revision, meta: &Meta) -> Result<Committed> {
        let prefix = Prefix::new(key)?;
        let (state, found) = self.locate(key, &prefix, Moment::Revision(revision))?;
        let revision = found.ok_or_else(|| no_document(key))?;
        let gone = || DocumentError::NoDocument {
            key: key.to_owned(),
            when: format!(" at revision {revision}: it was removed then"),
        };
        let old = self.tree_of(&state, &prefix, revision)?.ok_or_else(gone)?;
        old.fetch()?;
        self.write(key, meta, |working| {
            if working.found().tree.is_none() {
                working.revive();
            }
            working.with_draft(|draft| revert(draft, &old)).map(drop)
        })
        .map(|(committed, ())| committed)
    }
}

/// Fails if a version that an older release wrote has a node that no document may get.
fn check(old: &Tree, key: NodeKey, node: &Node<'_>) -> Result<()> {
    let name = check_text(node.name.unwrap_or_default());
    let value = name.and_then(|()| match node.kind.is_container() {
        true => Ok(()),
        false => check_scalar(node.kind, node.text),
    });
    value
        .or_else(|source| Err(DocumentError::Unstorable { at: old.path(key)?.to_string(), source }))
}

/// Edits `draft` until its nodes are those of `old`.
fn revert(draft: &mut Draft, old: &Tree) -> Result<()> {
    let mut gone = Vec::new();
    let mut back = Vec::new();
    let chunks =
        draft.header().next_key.div_ceil(CHUNK_NODES as u64).max(old.chunk_count() as u64) as u32;
    for number in 0..chunks {
        for slot in 0..CHUNK_NODES {
            let key = NodeKey::new(number, slot as u8);
            match (old.node(key)?, draft.node(key)?.is_some()) {
                (None, false) => {}
                (None, true) => gone.push(key),
                (Some(node), false) => {
                    check(old, key, &node)?;
                    draft.revive(key, &node, old.place(key)?)?;
                    back.push(key);
                }
                (Some(node), true) => {
                    let now = draft.expect(key)?;
                    if (now.kind, now.text, now.name) != (node.kind, node.text, node.name) {
                        check(old, key, &node)?;
                    }
                    if !node.kind.is_container() {
                        draft.set_scalar(key, node.kind, node.text)?;
                    }
                    let is = draft.expect(key)?;
                    let place = old.place(key)?;
                    if is.up != node.up || draft.place(key)? != place {
                        draft.put_at(key, node.up, place, node.name)?;
                    } else if is.name != node.name {
                        draft.rename(key, node.name.unwrap_or_default())?;
                    }
                    draft.set_count(key, node.count)?;
                }
            }
        }
    }
    // While the newer root is still the root: a node above which there is nothing is known by that.
    if !gone.is_empty() {
        draft.take(&gone)?;
    }
    if draft.root() != old.root() {
        draft.set_root(old.root());
    }
    draft.hash_added(&back)
}
