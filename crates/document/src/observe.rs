//! The observer by which the cache of newest versions follows the commits.
//!
//! ```text
//!   commit by this process   its hints: the new state, ready to be kept
//!   commit by a leader       its record: the documents whose keys it writes are forgotten, and the
//!                            next reader asks the store
//! ```
//!
//! # Invariants
//! * A transaction that writes records of documents gives a hint for every one of these documents, or
//!   none at all.
//! * After a commit the cache holds no state of a document from before it, where the commit has
//!   written to the document.

use crate::key::{Prefix, Record, record_of};
use crate::state::{Cache, Moments};
use std::sync::Arc;
use store::{Csn, TableId};
use txn::{Observed, Observer, OpRef, Transaction};

/// A commit that is about to become visible.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    pub csn: Csn,
    pub moments: Moments,
}

/// Puts into the cache what a commit has made of a document.
type Publish = dyn FnOnce(&Cache, Shown) + Send;

/// The new state of a document that a transaction has written, for the cache.
struct Hint(Box<Publish>);

/// Makes `publish` put the new state of a document of `txn` into the cache.
pub(crate) fn hint(txn: &mut Transaction, publish: impl FnOnce(&Cache, Shown) + Send + 'static) {
    txn.hint(Hint(Box::new(publish)));
}

/// The cache as an observer of the engine.
pub(crate) struct CacheObserver {
    pub cache: Arc<Cache>,
    /// Tells the tables that hold documents.
    pub holds_documents: fn(TableId) -> bool,
}

impl Observer for CacheObserver {
    fn follows(&self, table: TableId) -> bool {
        (self.holds_documents)(table)
    }

    /// Whatever is written of a document, a page of its revisions is written too.
    fn reads(&self, _table: TableId, key: &[u8]) -> bool {
        !matches!(record_of(key), Some(Record::Chunk(_)))
    }

    fn observe(&self, commit: &mut Observed<'_>) {
        let hints = commit.take_hints::<Hint>();
        if hints.is_empty() {
            self.forget(commit);
        }
        if hints.is_empty() {
            return;
        }
        let (csn, time_us) = (commit.csn(), commit.time_us());
        let shown = Shown { csn, moments: Moments { time_us, authored_us: commit.authored_us() } };
        hints.into_iter().for_each(|Hint(publish)| publish(&self.cache, shown));
    }
}

impl CacheObserver {
    /// Forgets the documents that a commit has written.
    fn forget(&self, commit: &Observed<'_>) {
        let mut last = None;
        for write in commit.writes().filter(|write| (self.holds_documents)(write.table)) {
            if let (OpRef::Erase { .. }, Some(Record::Revisions(0))) =
                (write.op, record_of(write.key))
                && let Some(prefix) = Prefix::of(write.key)
            {
                self.cache.erased().note(commit.csn(), write.table, &prefix);
            }
            let Some(prefix) = record_of(write.key).and_then(|_| Prefix::of(write.key)) else {
                continue;
            };
            let key = (write.table, prefix);
            if last.as_ref() != Some(&key) {
                self.cache.forget(&key, commit.csn());
                last = Some(key);
            }
        }
    }
}
