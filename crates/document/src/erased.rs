//! Changes of documents, and the documents that were erased last: no file names them any more.

use crate::Revision;
use crate::key::{Prefix, Record, document_of};
use parking_lot::Mutex;
use std::collections::VecDeque;
use store::{Csn, TableId};

/// Erased documents that are remembered.
const ERASED_MAX: usize = 4096;

/// The documents that were erased last, as removals.
#[derive(Default)]
pub(crate) struct Erased(Mutex<VecDeque<Changed>>);

impl Erased {
    /// Notes that a commit, about to become visible, erases a document.
    pub fn note(&self, csn: Csn, table: TableId, prefix: &Prefix) {
        let Some(key) = document_of(&prefix.record(Record::Paths)) else { return };
        let mut known = self.0.lock();
        if known.len() == ERASED_MAX {
            known.pop_front();
        }
        known.push_back(Changed { csn, table, key, revision: Revision(0), deleted: true });
    }

    /// Those of some tables by the commits after `after` up to `to`.
    pub fn between(&self, after: Csn, to: Csn, is_asked: impl Fn(TableId) -> bool) -> Vec<Changed> {
        let known = self.0.lock();
        let from = known.partition_point(|change| change.csn <= after);
        let found = known.range(from..).take_while(|change| change.csn <= to);
        found.filter(|change| is_asked(change.table)).cloned().collect()
    }
}

/// A revision of a document that a commit made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The commit.
    pub csn: Csn,
    /// The table of the document's collection.
    pub table: TableId,
    /// The document's key.
    pub key: String,
    /// The revision; 0 where the document was erased.
    pub revision: Revision,
    /// True if it removed the document.
    pub deleted: bool,
}
