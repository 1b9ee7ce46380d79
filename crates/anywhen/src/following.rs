//! A subscription to the changes of a database: which changes it gets, with which data, and its
//! position.
//!
//! ```text
//!   Database::changes          which documents changed
//!      │  collection, key, until
//!   Following::next            the next whole commits, in order
//!   Following::ends            the collections that were dropped or emptied by them
//!      │  path, with_diff
//!   Following::tell            who, when and why; node by node
//! ```
//!
//! ```
//! # fn main() -> anywhen::Result<()> {
//! use anywhen::{Csn, Database, Following};
//!
//! let db = Database::open_in_memory()?;
//! db.collection("articles")?.put("a1", "{}")?;
//! let mut following = Following::after(Csn(0));
//! let changes = following.next(&db, 100)?;
//! let told = following.tell(&db, &changes[0])?.expect("nothing is left out");
//! assert_eq!((told.change.key.as_str(), told.author.as_str()), ("a1", ""));
//! assert_eq!(following.at, db.newest());
//! # Ok(())
//! # }
//! ```

use crate::{Database, Result};
use document::{Change, ChangeOp, Collection, Diff, DocumentError, Revision};
use json::{JsonPath, Step};
use std::collections::VecDeque;
use std::ops::Range;
use store::Csn;

use crate::changes::{CollectionEnd, DocumentChange, Found};

/// The changes that a subscriber follows, and its position.
#[derive(Clone, Debug)]
pub struct Following {
    /// The commit up to which everything was given.
    pub at: Csn,
    /// The last commit to follow; [`Csn::MAX`] for no end.
    pub until: Csn,
    /// The collection; `None` for all.
    pub collection: Option<String>,
    /// The document's key; `None` for all.
    pub key: Option<String>,
    /// A place in documents: only what changed something there, below it, or above it.
    pub path: Option<JsonPath>,
    /// True if changes come with their differences.
    pub with_diff: bool,
    /// The changes that were found and not given yet, and how far they reach.
    found: VecDeque<DocumentChange>,
    found_to: Csn,
    /// The ends of collections, in the order of commits: those that were given, and those still to come.
    found_ends: Vec<CollectionEnd>,
    /// Those among them that the last step has given.
    ends: Range<usize>,
}

/// A change with what is known of it.
pub struct ToldChange<'a> {
    /// The change.
    pub change: &'a DocumentChange,
    /// When, in microseconds since 1970 UTC; `None` if the document was erased since, and has no more
    /// data.
    pub time_us: Option<u64>,
    /// The author; empty where the commit names none.
    pub author: String,
    /// The message; empty where the commit has none.
    pub message: String,
    /// The authenticated role of the committing client; empty without authentication.
    pub role: String,
    /// When it was made where it came from, for imports, in microseconds since 1970 UTC.
    pub authored_us: Option<u64>,
    /// The differences to the revision before, where they were asked for, both are there and kept.
    pub diff: Option<Diff>,
}

impl Following {
    /// Follows all changes after a commit.
    pub fn after(csn: Csn) -> Following {
        Following {
            at: csn,
            until: Csn::MAX,
            collection: None,
            key: None,
            path: None,
            with_diff: false,
            found: VecDeque::new(),
            found_to: csn,
            found_ends: Vec::new(),
            ends: 0..0,
        }
    }

    /// Follows only what changes something at a path: `$.a[0]`, or a JSON pointer.
    ///
    /// # Errors
    /// The error of a text that is no path.
    pub fn at_path(&mut self, path: &str) -> Result<(), json::PathError> {
        self.path = Some(match path.is_empty() {
            true => JsonPath::root(),
            false => JsonPath::parse(path)?,
        });
        Ok(())
    }

    /// True if all changes up to `until` were given.
    pub fn is_over(&self) -> bool {
        self.at >= self.until
    }

    /// The changes of the next commits in collection and document, about `limit` of them: a commit is never
    /// cut in two. Moves on [`at`](Following::at), also where there is nothing to tell. Does not wait.
    ///
    /// Changes of a collection that was dropped since are given as well, as far as they are kept;
    /// with [`collection`](Following::collection) a step goes no further than the commit that
    /// dropped it.
    ///
    /// # Errors
    /// [`NoCollection`](crate::Error::NoCollection) where there was none.
    pub fn next(&mut self, database: &Database, limit: usize) -> Result<Vec<DocumentChange>> {
        let before = self.at;
        if self.found.is_empty() {
            let Found { changes: found, ends } =
                database.changes_found(self.at, self.collection.as_deref(), limit)?;
            self.found_ends = ends;
            let is_wanted = |change: &DocumentChange| {
                change.csn <= self.until && self.key.as_ref().is_none_or(|key| *key == change.key)
            };
            self.found = found.list.into_iter().filter(is_wanted).collect();
            self.found_to = found.to.min(self.until).max(self.at);
        }
        let mut list: Vec<DocumentChange> = Vec::new();
        while let Some(next) = self.found.front() {
            if list.len() >= limit && list.last().is_some_and(|last| last.csn != next.csn) {
                break;
            }
            list.extend(self.found.pop_front());
        }
        self.at = match list.last() {
            Some(last) if !self.found.is_empty() => last.csn,
            _ => self.found_to,
        };
        let up_to = |csn: Csn| self.found_ends.partition_point(|end| end.csn <= csn);
        self.ends = up_to(before)..up_to(self.at);
        Ok(list)
    }

    /// The ends of collections by the commits of the last [`next`](Following::next), in their order, whichever
    /// documents are followed. Changes of the same commit come after them.
    pub fn ends(&self) -> &[CollectionEnd] {
        &self.found_ends[self.ends.clone()]
    }

    /// True if there is something to follow: a collection of that name, or one that was dropped since.
    ///
    /// # Errors
    /// Fails if the catalog of an earlier commit cannot be read.
    pub fn is_known(&self, database: &Database) -> Result<bool> {
        let Some(name) = &self.collection else { return Ok(true) };
        Ok(database.collection_then(name, self.at, None)?.is_some())
    }

    /// The facts about a change; `None` if it changes nothing at the path, or its collection is gone for
    /// good.
    pub fn tell<'a>(
        &self,
        database: &Database,
        change: &'a DocumentChange,
    ) -> Result<Option<ToldChange<'a>>> {
        let DocumentChange { csn, collection, key, revision, .. } = change;
        let is_end = |end: &&CollectionEnd| end.csn > *csn && end.collection == *collection;
        let ended = self.found_ends.iter().find(is_end).map(|end| end.csn);
        let collection = database.collection_then(collection, *csn, ended)?;
        let Some(collection) = collection else { return Ok(None) };
        let mut diff = self.diff(&collection, change)?;
        if let (Some(path), Some(diff)) = (&self.path, &diff)
            && !diff.changes.iter().any(|change| touches(change, path))
        {
            return Ok(None);
        }
        let history = match collection.history_range(key, *revision, *revision) {
            Err(DocumentError::NoDocument { .. }) => None,
            history => Some(history?),
        };
        // A document that replaced one that was erased meanwhile is another.
        let known = history.as_ref().and_then(|history| history.get(0));
        let known = known.filter(|known| known.csn == *csn);
        if known.is_none() || !self.with_diff {
            diff = None;
        }
        let time_us = known.as_ref().map(|known| known.time_us);
        let authored_us = known.as_ref().and_then(|known| known.authored_us);
        let texts = known.map_or(["", "", ""], |known| [known.author, known.message, known.role]);
        let [author, message, role] = texts.map(str::to_owned);
        Ok(Some(ToldChange { change, time_us, author, message, role, authored_us, diff }))
    }

    /// The differences to the revision before; `None` if that is a removal, or is not kept any more.
    fn diff(&self, collection: &Collection, change: &DocumentChange) -> Result<Option<Diff>> {
        let DocumentChange { key, revision, deleted, .. } = change;
        let is_wanted = self.path.is_some() || self.with_diff;
        if !is_wanted || *deleted || revision.0 <= 1 {
            return Ok(None);
        }
        match collection.diff(key, Revision(revision.0 - 1), *revision) {
            Ok(diff) => Ok(Some(diff)),
            // The client comes again, once the disk is well.
            Err(error) if is_failure(&error) => Err(error.into()),
            Err(_) => Ok(None),
        }
    }
}

/// True if stored data are damaged or the disk fails.
fn is_failure(error: &DocumentError) -> bool {
    let state = error.sqlstate_below().unwrap_or_default();
    ["XX", "53", "58"].iter().any(|class| state.starts_with(class))
}

/// True if a change is at a path, below it, or above it.
fn touches(change: &Change, path: &JsonPath) -> bool {
    let is_near = |other: &JsonPath| {
        let names = |path: &JsonPath| path.steps.iter().map(name).collect::<Vec<_>>();
        let (one, other) = (names(path), names(other));
        one.starts_with(&other) || other.starts_with(&one)
    };
    is_near(&change.path) || matches!(&change.op, ChangeOp::Move { from, .. } if is_near(from))
}

fn name(step: &Step) -> String {
    match step {
        Step::Field(name) | Step::Either(name) => name.clone(),
        Step::Index(at) => at.to_string(),
    }
}
