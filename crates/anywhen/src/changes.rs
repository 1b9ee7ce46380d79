//! The changes since a commit, in all collections or in one, for subscribers to a database.
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
use store::{Csn, TableId};

/// A revision of a document, as a subscriber to the database gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentChange {
    /// The commit that made it.
    pub csn: Csn,
    /// The collection.
    pub collection: String,
    /// The number of the collection, which no other has at any time ([`Collection::id`]).
    pub table: TableId,
    /// The document's key.
    pub key: String,
    /// The revision; 0 where the document was erased.
    pub revision: Revision,
    /// True if it removed the document.
    pub deleted: bool,
}

/// The end of all documents that were in a collection, as a subscriber to the database gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectionEnd {
    /// The commit: at any before it they can be read, as far as their history is kept.
    pub csn: Csn,
    /// The collection.
    pub collection: String,
    /// The number of the collection that had the documents.
    pub table: TableId,
    /// True if the collection is gone. Where it is not, its table was truncated, or its key got another
    /// type: what is in it after that comes with changes, of this commit or later ones.
    pub dropped: bool,
}

/// Documents that are there no more: of a collection that was dropped, or a table that was truncated.
pub(crate) struct Ended {
    pub name: String,
    pub collection: Collection,
    pub is_dropped: bool,
}

impl Ended {
    fn csn(&self) -> Csn {
        self.collection.dropped().unwrap_or(Csn::MAX)
    }

    fn told(&self) -> CollectionEnd {
        CollectionEnd {
            csn: self.csn(),
            collection: self.name.clone(),
            table: self.collection.id(),
            dropped: self.is_dropped,
        }
    }
}

/// The result of a search for changes.
pub(crate) struct Found {
    pub changes: Changes,
    /// The ends of the collections that it has looked at, in the order of commits, later ones among them.
    pub ends: Vec<CollectionEnd>,
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
    /// The changes by commits after `after`, in all collections or in one; also in those that were dropped
    /// since, or tables that were truncated, as far as the lists of their revisions are kept. About `limit`
    /// changes: a commit is never cut in two, and [`Changes::to`] says how far they reach; in one collection
    /// not beyond the commit that dropped it.
    ///
    /// The table of changes tells which documents these are. Commits that loaded documents in bulk, or that
    /// a release without that table made, cost a look at every document of the collections. Fails with [`Error::NoCollection`] where there was none of that name.
    pub fn changes(&self, after: Csn, collection: Option<&str>, limit: usize) -> Result<Changes> {
        let limit = limit.max(1);
        let Changes { mut list, mut to } = self.changes_found(after, collection, limit)?.changes;
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
    /// more than `limit`, and a caller that goes on from there need not search again.
    pub(crate) fn changes_found(
        &self,
        after: Csn,
        collection: Option<&str>,
        limit: usize,
    ) -> Result<Found> {
        let mut newest = self.newest();
        if after >= newest {
            let changes = Changes { list: Vec::new(), to: newest };
            return Ok(Found { changes, ends: Vec::new() });
        }
        let names = match collection {
            Some(name) => vec![name.to_owned()],
            None => self.collections(),
        };
        let there = names.into_iter().filter_map(|name| {
            let found = self.find_collection(&name).filter(|found| found.dropped().is_none());
            found.map(|found| (name, found))
        });
        let mut followed: Vec<(String, Collection)> = there.collect();
        // A collection that ends meanwhile is found here, after it was found there.
        let mut ended = self.ended(after, Csn::MAX, collection)?;
        if let Some(name) = collection
            && followed.is_empty()
            && ended.is_empty()
        {
            return Err(Error::NoCollection { name: name.to_owned() });
        }
        if collection.is_some()
            && let Some(at) = ended.iter().position(|of| of.is_dropped && of.csn() <= newest)
        {
            // A later collection of that name is another.
            newest = ended[at].csn();
            ended.truncate(at + 1);
            followed.clear();
        }
        let ends: Vec<CollectionEnd> = ended.iter().map(Ended::told).collect();
        followed.retain(|(_, there)| ended.iter().all(|of| of.collection.id() != there.id()));
        followed.extend(ended.into_iter().map(|of| (of.name, of.collection)));
        let collections: Vec<&Collection> = followed.iter().map(|(_, of)| of).collect();
        let documents = &self.shared.documents;
        let (found, to) = documents.changes(&collections, after, newest, limit)?;
        let known: BTreeMap<_, _> =
            followed.iter().map(|(name, of)| (of.id(), (name, of.dropped()))).collect();
        let named = found.into_iter().filter_map(|change| {
            let (name, ended) = known.get(&change.table)?;
            let document::Changed { table, csn, key, revision, deleted, .. } = change;
            let collection = (*name).clone();
            // The commit that ends it changes nothing for subscribers.
            let is_told = ended.is_none_or(|ended| csn < ended);
            is_told.then_some(DocumentChange { csn, collection, table, key, revision, deleted })
        });
        Ok(Found { changes: Changes { list: named.collect(), to }, ends })
    }

    /// The documents that are there no more by the commits after `after` up to `to`, in the order of these.
    fn ended(&self, after: Csn, to: Csn, collection: Option<&str>) -> Result<Vec<Ended>> {
        let given_up = self.shared.collections.given_up(after, to)?.into_iter();
        let told =
            given_up.map(|table::collections::GivenUp { name, collection, is_dropped, .. }| {
                Ended { name, collection, is_dropped }
            });
        let mut ended: Vec<Ended> = told.collect();
        ended.retain(|of| collection.is_none_or(|name| of.name == name));
        ended.sort_by_key(Ended::csn);
        Ok(ended)
    }

    /// The collection that had a name at a commit, and that ended by `ended` where that is known.
    pub(crate) fn collection_then(
        &self,
        name: &str,
        at: Csn,
        ended: Option<Csn>,
    ) -> Result<Option<Collection>> {
        let first = |after: Csn, to: Csn| -> Result<Option<Collection>> {
            let ended = self.ended(after, to, Some(name))?.into_iter().next();
            Ok(ended.map(|of| of.collection))
        };
        if let Some(ended) = ended {
            return first(Csn(ended.0 - 1), ended);
        }
        match self.find_collection(name).filter(|found| found.dropped().is_none()) {
            Some(found) => Ok(Some(found)),
            None => first(at, Csn::MAX),
        }
    }
}
