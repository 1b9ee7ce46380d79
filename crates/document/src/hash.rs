//! Hashes over documents: of a subtree, and of a whole document kept up to date edit by edit.
//!
//! The hash of a subtree says what a reader sees: kinds, names, values, order. Two subtrees with the
//! same content have the same hash, wherever they stand.
//!
//! A document's *digest* is the sum (modulo 2^128) of a BLAKE3 hash of each of its nodes, with key,
//! parent and order in it. A sum can be kept up to date by what changed alone: an edit of one node
//! subtracts its old hash and adds its new one, whatever the size of the document. A collection made
//! with `hashes` stores the digest with every revision, and `verify` computes it again from the
//! nodes, so that bytes changed behind the database's back are found even where their checksums were
//! made to fit.

use crate::node::Node;
use crate::order::Label;
use crate::tree::Nodes;
use crate::{NodeKey, Result};

/// The hash of a node and all below it, by content.
pub fn subtree<N: Nodes + ?Sized>(nodes: &N, top: NodeKey) -> Result<u64> {
    let node = nodes.expect(top)?;
    let mut hasher = blake3::Hasher::new();
    put(&mut hasher, &node);
    if node.kind.is_container() {
        for child in nodes.children(top)? {
            hasher.update(&subtree(nodes, child?)?.to_le_bytes());
        }
    }
    let bytes = hasher.finalize();
    Ok(u64::from_le_bytes(*bytes.as_bytes().first_chunk().expect("32 bytes")))
}

fn put(hasher: &mut blake3::Hasher, node: &Node<'_>) {
    let name = node.name.unwrap_or_default();
    hasher.update(&[node.kind as u8, node.name.is_some() as u8]);
    hasher.update(&(name.len() as u32).to_le_bytes());
    hasher.update(name);
    hasher.update(node.text);
}

/// A node's share of the document's digest.
pub(crate) fn share(key: NodeKey, parent: Option<NodeKey>, label: &Label, node: &Node<'_>) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&key.0.to_le_bytes());
    hasher.update(&parent.map_or(0, |p| p.0).to_le_bytes());
    let mut order = Vec::new();
    label.encode(&mut order);
    hasher.update(&order);
    put(&mut hasher, node);
    u128::from_le_bytes(*hasher.finalize().as_bytes().first_chunk().expect("32 bytes"))
}

/// A node's share, looked up.
pub(crate) fn share_of<N: Nodes + ?Sized>(nodes: &N, key: NodeKey) -> Result<u128> {
    Ok(share(key, nodes.parent(key)?, &nodes.label(key)?, &nodes.expect(key)?))
}

/// The digest of a whole document, from its nodes.
pub fn digest<N: Nodes + ?Sized>(nodes: &N) -> Result<u128> {
    let mut sum = 0u128;
    for key in nodes.subtree(nodes.root())? {
        sum = sum.wrapping_add(share_of(nodes, key)?);
    }
    Ok(sum)
}
