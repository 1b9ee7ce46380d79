//! Documents: JSON as a tree of nodes with stable keys. Every version can be read and compared, and every
//! node has a history.
//!
//! ```text
//!   Collection ── put · edit · remove ──> Draft ──> deltas of chunks ──> txn ──> log, store
//!       │                                   │
//!       └── get · at · history · diff ──> Tree <── chunks (images + deltas) <── store
//! ```
//!
//! A document is cut into *chunks* of 256 consecutive node keys ([`chunk`]). An edit is a small delta
//! of each chunk that it changes ([`draft`]). A whole new value becomes such edits by matching the two
//! trees ([`matching`], [`rewrite`]). A reader of any version reads one image and the deltas since
//! ([`tree`], [`serialize`], [`part`]). The list of a document's revisions is kept in pages ([`revisions`]).
//!
//! # Words
//! * *Revision*: 1, 2, 3 ... of one document, dense; each is one commit ([`store::Csn`]).
//! * *Node key*: a node's identity in its document, from 1 in document order, never used again.
//! * *Placed*: a node whose place in the document does not follow from its key (see [`tree`]).

mod admit;
mod axes;
mod chunk;
mod chunk_buf;
mod codec;
mod collection;
mod container;
mod cursor;
mod delta;
mod diff;
mod draft;
mod edit;
mod erased;
mod error;
mod feed;
mod forms;
mod hash;
mod history;
mod image;
mod import;
mod jsonb_diff;
mod key;
mod large;
mod lazy;
mod limits;
mod line;
mod listing;
pub mod matching;
mod meta;
mod node;
mod observe;
mod order;
mod pack;
mod part;
mod path_history;
mod paths;
mod revert;
mod revisions;
mod rewrite;
mod row_link;
mod scan;
mod serialize;
mod state;
mod stream;
pub mod table;
mod transaction;
mod tree;
mod txn_ops;
mod value;
mod working;
mod writer;

pub use admit::{Marked, jsonb_of};
pub use axes::TimeAxis;
pub use collection::{Collection, CollectionAt, Document, Documents, Keys, Moment};
pub use container::{ContainerPage, ContainerVersion};
pub use diff::{Change, ChangeOp, Diff, Position, diff};
pub use edit::{Edit, NodeRef, Place};
pub use erased::Changed;
pub use error::{Damaged, DocumentError};
pub use hash::{digest, subtree as subtree_hash};
pub use history::{BlameLine, NodeVersion};
pub use key::name_of;
pub use limits::{DEPTH_MAX, KEY_BYTES_MAX, limits};
pub use listing::{History, HistoryIter, RevisionInfo};
pub use meta::{Allowed, Committed, Meta};
pub use node::{CHUNK_NODES, Header, Node};
pub use part::{Metadata, Options, type_name, write_part};
pub use paths::{PathClass, path_summary};
pub use row_link::{Existence, RowLink};
pub use scan::Scalar;
pub use table::{BadRetention, CollectionOptions, DocumentTable, Retention};
pub use transaction::{DocumentSavepoint, DocumentTransaction};
pub use tree::{Nodes, Tree};

/// The result of an operation on documents.
pub type Result<T, E = DocumentError> = std::result::Result<T, E>;

/// A node's identity in its document: never used again, the same in every version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeKey(pub u64);

impl NodeKey {
    pub(crate) fn new(chunk: u32, slot: u8) -> NodeKey {
        NodeKey(chunk as u64 * CHUNK_NODES as u64 + slot as u64)
    }

    /// The chunk that holds the node.
    #[inline]
    pub(crate) fn chunk(self) -> u32 {
        (self.0 / CHUNK_NODES as u64) as u32
    }

    /// The node's place in its chunk.
    #[inline]
    pub(crate) fn slot(self) -> usize {
        (self.0 % CHUNK_NODES as u64) as usize
    }
}

impl std::fmt::Display for NodeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a document's version: 1, 2, 3 ...
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Revision(pub u64);

impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
