//! Which documents changed, commit by commit: what was written of late from memory, what came before
//! from the lists of revisions.
//!
//! ```text
//!   commits   1 ........................ floor .............. visible
//!             from lists of revisions    │  kept in memory
//!             (a pass over the keys)     │  (in the order of commits)
//! ```
//!
//! Every commit that makes a revision of a document notes it here before it becomes visible. Notes are
//! kept within a budget, the oldest go first; whoever asks for what lies before them gets it by a pass
//! over the documents of the collection. Nothing is written for it, and no revision is ever missed: the
//! lists of revisions are never forgotten.

use crate::collection::{Collection, Documents};
use crate::key::{Prefix, Record, document_of, record_of};
use crate::{Result, Revision};
use parking_lot::Mutex;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use store::{Csn, TableId};

/// Bytes of notes that are kept.
const BYTES_MAX: usize = 8 << 20;
/// Changes that one pass over the documents gathers; more only where one commit alone has more.
const GATHERED_MAX: usize = 65_536;

/// A revision of a document that a commit made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The commit.
    pub csn: Csn,
    /// The table of the document's collection.
    pub table: TableId,
    /// The document's key.
    pub key: String,
    /// The revision.
    pub revision: Revision,
    /// True where it removed the document.
    pub deleted: bool,
}

/// The newest changes of all documents.
#[derive(Default)]
pub(crate) struct Recent(Mutex<Notes>);

#[derive(Default)]
struct Notes {
    changes: VecDeque<Changed>,
    bytes: usize,
    /// All changes of later commits are in `changes`.
    floor: Csn,
}

impl Recent {
    /// Begins anew after a commit: the changes of all later ones will be noted.
    pub fn begin(&self, floor: Csn) {
        *self.0.lock() = Notes { floor, ..Notes::default() };
    }

    /// Notes a change that is about to become visible.
    pub fn note(
        &self,
        table: TableId,
        prefix: &Prefix,
        csn: Csn,
        revision: Revision,
        deleted: bool,
    ) {
        let Some(key) = document_of(&prefix.record(Record::Paths)) else { return };
        let mut notes = self.0.lock();
        notes.bytes += key.len() + size_of::<Changed>();
        notes.changes.push_back(Changed { csn, table, key, revision, deleted });
        while notes.bytes > BYTES_MAX
            && let Some(gone) = notes.changes.pop_front()
        {
            notes.bytes -= gone.key.len() + size_of::<Changed>();
            notes.floor = gone.csn;
        }
    }

    /// The changes of the commits after `after` up to `to`, in their order; no commit is cut in two,
    /// and so there may be more than `limit`. `None` where notes do not reach back that far.
    fn since(&self, after: Csn, to: Csn, limit: usize) -> Option<Vec<Changed>> {
        let notes = self.0.lock();
        if after < notes.floor {
            return None;
        }
        let from = notes.changes.partition_point(|change| change.csn <= after);
        let mut found: Vec<Changed> = Vec::new();
        // Where each document of the commit at hand is in `found`: one that a commit has changed in several
        // steps is told once, as it was left.
        let mut places: HashMap<(TableId, &str), usize> = HashMap::new();
        for change in notes.changes.range(from..).take_while(|change| change.csn <= to) {
            if found.last().is_some_and(|last| last.csn != change.csn) {
                if found.len() >= limit {
                    break;
                }
                places.clear();
            }
            match places.entry((change.table, &change.key)) {
                Entry::Occupied(place) => found[*place.get()] = change.clone(),
                Entry::Vacant(place) => {
                    place.insert(found.len());
                    found.push(change.clone());
                }
            }
        }
        Some(found)
    }
}

impl Documents {
    /// The changes of all documents by the commits after `after` up to `to`, in their order, where
    /// they are still in memory; `None` where those of some commit are not. About `limit` of them: a
    /// commit is never cut in two.
    pub fn recent_changes(&self, after: Csn, to: Csn, limit: usize) -> Option<Vec<Changed>> {
        self.cache().recent().since(after, to, limit)
    }
}

impl Collection {
    /// The changes of the collection's documents by the commits after `after` up to `to`, in their
    /// order, and true where these are all; else they are those of the first commits, with about 65,536
    /// changes. It looks at the newest state of every document of the collection.
    pub fn changes(&self, after: Csn, to: Csn) -> Result<(Vec<Changed>, bool)> {
        let snapshot = self.engine().snapshot();
        let at = self.last(snapshot.csn());
        let to = to.min(at);
        let mut found: BTreeMap<Csn, Vec<Changed>> = BTreeMap::new();
        let (mut count, mut is_all) = (0, true);
        let mut scan =
            self.engine().store().scan(self.id(), Bound::Unbounded, Bound::Unbounded, at, false);
        while let Some(item) = scan.next() {
            let (key, _) = item?;
            let (Some(document), Some(_)) = (document_of(&key), record_of(&key)) else { continue };
            let Ok(prefix) = Prefix::new(&document) else { continue };
            scan.seek(&prefix.end());
            let state = self.state_in_passing(&prefix, at)?;
            if state.csn <= after {
                continue;
            }
            let first = state.list.at(self.engine(), after, state.revision)?.0 + 1;
            let last = state.list.at(self.engine(), to, state.revision)?.0;
            if first > last {
                continue;
            }
            let (csns, deleted) = state.list.newest_first(self.engine(), first, last)?;
            for (revision, csn) in (first..=last).rev().map(Revision).zip(csns) {
                let deleted = deleted.contains(&revision);
                let (table, key) = (self.id(), document.clone());
                let change = Changed { csn, table, key, revision, deleted };
                found.entry(csn).or_default().push(change);
                count += 1;
                while count > GATHERED_MAX && found.len() > 1 {
                    count -= found.pop_last().map_or(0, |(_, gone)| gone.len());
                    is_all = false;
                }
            }
        }
        Ok((found.into_values().flatten().collect(), is_all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes are given in the order of commits, no commit is cut in two, and what has gone is not
    /// passed over in silence. What one commit has done to a document in two steps is one change.
    #[test]
    fn notes() {
        let recent = Recent::default();
        recent.begin(Csn(7));
        for (csn, key, revision) in
            [(8, "a", 1), (9, "a", 2), (9, "b", 1), (9, "a", 2), (12, "a", 3)]
        {
            let prefix = Prefix::new(key).expect("a good key");
            recent.note(TableId(16), &prefix, Csn(csn), Revision(revision), false);
        }
        let csns = |after, to, limit| {
            let found = recent.since(Csn(after), Csn(to), limit);
            found.map(|found| found.iter().map(|change| change.csn.0).collect::<Vec<_>>())
        };
        assert_eq!(csns(7, 20, 9), Some(vec![8, 9, 9, 12]));
        assert_eq!(csns(8, 11, 9), Some(vec![9, 9]));
        assert_eq!(csns(7, 20, 2), Some(vec![8, 9, 9]));
        assert_eq!(csns(12, 20, 9), Some(vec![]));
        assert_eq!(csns(6, 20, 9), None);

        let long = Prefix::new(&"k".repeat(1000)).expect("a good key");
        for csn in 13..13 + (BYTES_MAX / 1000) as u64 {
            recent.note(TableId(16), &long, Csn(csn), Revision(1), false);
        }
        assert_eq!(csns(12, 13, 9), None, "what has gone is asked for elsewhere");
    }
}
