//! Collections: making, finding and dropping them.
//!
//! A collection is a table `USING document` of SQL ([`table::collections`]): the library, HTTP and SQL see
//! the same collections under the same names.

use document::{Collection, CollectionOptions, Retention};
use store::Csn;

use crate::{Database, Error, Result};

/// A collection that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedCollection {
    /// Its name; others may have had it since.
    pub name: String,
    /// The commit that dropped it: at any before it can be read, as far as its history is kept.
    pub csn: Csn,
    /// How much of its past is kept.
    pub history: Retention,
}

impl Database {
    /// The collection of that name, made where there is none.
    ///
    /// # Errors
    /// As those of [`collection_with`](Database::collection_with).
    pub fn collection(&self, name: &str) -> Result<Collection> {
        self.collection_of(name, None, None)
    }

    /// The collection of that name and those options, made where there is none.
    ///
    /// # Errors
    /// [`Error::OptionsDiffer`] where it exists with others, [`Error::BadName`] where no collection can be
    /// called so, [`Error::NameTaken`] where something else of SQL is called so.
    pub fn collection_with(&self, name: &str, options: CollectionOptions) -> Result<Collection> {
        self.collection_of(name, Some(options), None)
    }

    /// The collection of that name, made where there is none. A new collection belongs to a role of SQL, which
    /// must be allowed to make tables in the schema `public`; to the role `pg_collections` where none is given.
    ///
    /// # Errors
    /// As those of [`collection_with`](Database::collection_with); [`Error::Table`] with 42501 where the role
    /// may not make tables.
    pub fn collection_of(
        &self,
        name: &str,
        options: Option<CollectionOptions>,
        role: Option<&str>,
    ) -> Result<Collection> {
        let collections = &self.shared.collections;
        loop {
            if let Some(found) = self.find_collection(name) {
                return match options.is_none_or(|options| options == found.options()) {
                    true => Ok(found),
                    false => Err(Error::OptionsDiffer { name: name.to_owned() }),
                };
            }
            if let Some(why) = table::collections::why_not_called(name) {
                return Err(Error::BadName { name: name.to_owned(), why });
            }
            if let Some(made) = collections.create(name, options.unwrap_or_default(), role)? {
                return Ok(made);
            }
            // Another thread was faster, and its collection may be gone again.
            if collections.is_taken(name) {
                return Err(Error::NameTaken { name: name.to_owned() });
            }
        }
    }

    /// The collection of that name, `None` if there is none. It is a table of the schema `public`, or, where
    /// there is a dot in the name, of the schema before the dot. Documents that are put into a table with more
    /// columns make rows whose other columns are NULL; a table whose rows need more than that (other indexes,
    /// checks, foreign keys, defaults) is changed by SQL alone
    /// ([`DocumentError::Refused`](crate::DocumentError::Refused)).
    pub fn find_collection(&self, name: &str) -> Option<Collection> {
        self.shared.collections.find(name)
    }

    /// The collection that had that name at a commit, `None` if there was none. Where it was dropped since,
    /// it can be read at commits before that, as far as its history is kept.
    ///
    /// # Errors
    /// Fails if the catalog of the commit cannot be read.
    pub fn find_collection_at(&self, name: &str, at: Csn) -> Result<Option<Collection>> {
        Ok(self.shared.collections.find_at(name, at.min(self.newest()))?)
    }

    /// The names of the collections, in order.
    pub fn collections(&self) -> Vec<String> {
        let mut names = self.shared.collections.names();
        names.sort_unstable();
        names
    }

    /// Keeps another part of a collection's past from now on; handles on it learn of it at once. Removed
    /// versions do not come back, and versions that are no longer kept are removed by the next
    /// [`compact`](Database::compact) at the latest.
    ///
    /// # Errors
    /// [`Error::NoCollection`] where there is none of that name.
    pub fn set_history(&self, name: &str, history: Retention) -> Result<()> {
        match self.shared.collections.set_history(name, history)? {
            true => Ok(()),
            false => Err(Error::NoCollection { name: name.to_owned() }),
        }
    }

    /// Drops a collection, in the same time however large it is; false if there is none. The name is free
    /// at once. Waits for the transactions that have written to the collection. Handles on it answer
    /// [`DocumentError::Dropped`](crate::DocumentError::Dropped) from then on, as do transactions that mean
    /// to write to it.
    ///
    /// The collection's past stays as long as its history says, for
    /// [`find_collection_at`](Database::find_collection_at): for ever, unless it was made otherwise or is
    /// [purged](Database::purge_collection).
    ///
    /// # Errors
    /// [`Error::Table`] with 2BP01 where other objects of SQL, such as views, depend on it.
    pub fn drop_collection(&self, name: &str) -> Result<bool> {
        Ok(self.shared.collections.drop_collection(name)?)
    }

    /// Drops the collection if it exists, and gives up the past of all dropped collections of this name:
    /// compaction removes it. False if there was nothing to drop or to give up.
    ///
    /// # Errors
    /// As [`drop_collection`](Database::drop_collection).
    pub fn purge_collection(&self, name: &str) -> Result<bool> {
        Ok(self.shared.collections.purge(name)?)
    }

    /// The collections that were dropped, in the order in which that was.
    ///
    /// # Errors
    /// Fails if the catalog of a commit cannot be read.
    pub fn dropped_collections(&self) -> Result<Vec<DroppedCollection>> {
        let given_up = self.shared.collections.given_up(Csn::ZERO, Csn::MAX)?.into_iter();
        let described = given_up.filter(|of| of.is_dropped).map(|of| DroppedCollection {
            name: of.name,
            csn: of.collection.dropped().unwrap_or_default(),
            history: of.collection.options().history,
        });
        Ok(described.collect())
    }
}
