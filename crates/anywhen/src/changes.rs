//! What changed since a commit, in all collections or in one: for whoever follows a database.
//!
//! ```
//! # fn main() -> anywhen::Result<()> {
//! let db = anywhen::Database::open_in_memory()?;
//! let before = db.newest();
//! db.collection("articles")?.put("a1", "{}")?;
//! let changes = db.changes(before, None, 100)?;
//! assert_eq!((changes.list[0].collection.as_str(), changes.list[0].key.as_str()), ("articles", "a1"));
//! assert_eq!(changes.to, db.newest());
//! # Ok(())
//! # }
//! ```

use crate::{Database, Error, Result};
use document::{Collection, Revision};
use std::collections::BTreeMap;
use store::Csn;

/// A revision of a document, as somebody who follows the database learns of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentChange {
    /// The commit that made it.
    pub csn: Csn,
    /// The collection.
    pub collection: String,
    /// The document's key.
    pub key: String,
    /// The revision.
    pub revision: Revision,
    /// True where it removed the document.
    pub deleted: bool,
}

/// The changes of some commits in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The changes, in the order of commits.
    pub list: Vec<DocumentChange>,
    /// The last commit whose changes are all in `list`: where to go on from.
    pub to: Csn,
}

impl Database {
    /// What the commits after `after` changed, in all collections that are there now or in one. About
    /// `limit` changes: a commit is never cut in two, and [`Changes::to`] says how far they reach.
    ///
    /// What was written of late is in memory; where it is not any more, this looks at every document
    /// of the collections once. Fails with [`Error::NoCollection`] where there is none of that name.
    pub fn changes(&self, after: Csn, collection: Option<&str>, limit: usize) -> Result<Changes> {
        let limit = limit.max(1);
        let Changes { mut list, mut to } = self.changes_found(after, collection, limit)?;
        if let Some(cut) = list.get(limit - 1).map(|last| last.csn) {
            let end = list.partition_point(|change| change.csn <= cut);
            if end < list.len() {
                list.truncate(end);
                to = cut;
            }
        }
        Ok(Changes { list, to })
    }

    /// [`changes`](Database::changes), and all that was found with them: a pass over the documents finds many
    /// more than `limit`, which whoever goes on from there need not look for again.
    pub(crate) fn changes_found(
        &self,
        after: Csn,
        collection: Option<&str>,
        limit: usize,
    ) -> Result<Changes> {
        let newest = self.newest();
        if after >= newest {
            return Ok(Changes { list: Vec::new(), to: newest });
        }
        let find = |name: &str| {
            let found = self.find_collection(name);
            found.ok_or_else(|| Error::NoCollection { name: name.to_owned() })
        };
        let followed: Vec<(String, Collection)> = match collection {
            Some(name) => vec![(name.to_owned(), find(name)?)],
            // One that is dropped at this very moment is not followed.
            None => {
                let names = self.collections()?.into_iter();
                names.filter_map(|name| find(&name).ok().map(|found| (name, found))).collect()
            }
        };
        let (found, to) = match self.shared.documents.recent_changes(after, newest, limit) {
            Some(recent) => {
                let is_all = recent.len() < limit;
                let last = recent.last().map_or(newest, |last| last.csn);
                (recent, if is_all { newest } else { last })
            }
            None => self.past_changes(after, newest, &followed)?,
        };
        let names: BTreeMap<_, _> = followed.iter().map(|(name, of)| (of.id(), name)).collect();
        let named = found.into_iter().filter_map(|change| {
            let collection = (*names.get(&change.table)?).clone();
            let document::Changed { csn, key, revision, deleted, .. } = change;
            Some(DocumentChange { csn, collection, key, revision, deleted })
        });
        Ok(Changes { list: named.collect(), to })
    }

    /// The changes of the first commits after `after`, from the lists of revisions, and how far they
    /// reach.
    fn past_changes(
        &self,
        after: Csn,
        newest: Csn,
        followed: &[(String, Collection)],
    ) -> Result<(Vec<document::Changed>, Csn)> {
        let mut to = newest;
        let mut all = Vec::new();
        for (_, collection) in followed {
            let (found, is_all) = collection.changes(after, to)?;
            if let Some(last) = found.last().filter(|_| !is_all) {
                to = to.min(last.csn);
            }
            all.extend(found);
        }
        all.retain(|change| change.csn <= to);
        all.sort_by(|a, b| (a.csn, a.table, &a.key).cmp(&(b.csn, b.table, &b.key)));
        Ok((all, to))
    }
}
