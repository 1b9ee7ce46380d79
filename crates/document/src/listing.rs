//! The list of a document's revisions: their authors, times and messages.
//!
//! A [`History`] is an answer of its own: it shares what it tells of with the table of commits and
//! copies only numbers, so listing thousands of revisions costs a few nanoseconds each, and it stays as it
//! is whatever is written meanwhile.
//!
//! ```
//! # fn show(articles: &document::Collection) -> document::Result<()> {
//! for revision in &articles.history("a1", 10)? {
//!     println!("{} by {}: {}", revision.revision, revision.author, revision.message);
//! }
//! # Ok(())
//! # }
//! ```

use crate::collection::{Collection, CollectionAt};
use crate::key::Prefix;
use crate::state::State;
use crate::{Damaged, Result, Revision};
use store::Csn;
use txn::{CommitInfo, CommitInfos, CommitInfosIter};

/// The facts about a revision; the texts are owned, or borrowed from a [`History`]
/// (`RevisionInfo<&str>`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevisionInfo<Text = String> {
    /// Its number.
    pub revision: Revision,
    /// Its commit.
    pub csn: Csn,
    /// When it was committed, in microseconds since 1970 UTC.
    pub time_us: u64,
    /// The author; may be empty.
    pub author: Text,
    /// Why; may be empty.
    pub message: Text,
    /// The authenticated role of the committing client; empty without authentication. The author is who the
    /// client said it was.
    pub role: Text,
    /// When it was made where it came from, for imports, in microseconds since 1970 UTC.
    pub authored_us: Option<u64>,
    /// True if it removed the document.
    pub deleted: bool,
    /// True if the document can still be read as it was then. That the revision was, when, by whom
    /// and why stays known also where the collection's history does not reach back to it any more.
    pub kept: bool,
}

impl RevisionInfo<&str> {
    /// The same, with texts of its own.
    pub fn to_owned(&self) -> RevisionInfo {
        RevisionInfo {
            revision: self.revision,
            csn: self.csn,
            time_us: self.time_us,
            author: self.author.to_owned(),
            message: self.message.to_owned(),
            role: self.role.to_owned(),
            authored_us: self.authored_us,
            deleted: self.deleted,
            kept: self.kept,
        }
    }
}

/// Revisions of a document in a row, newest first.
///
/// It shares the pages of the table of commits that it lists, about 16 KB and the texts of 1,024
/// commits each, and keeps them in memory for as long as it lives.
#[derive(Clone, Debug)]
pub struct History {
    /// The number of the first.
    newest: u64,
    commits: CommitInfos,
    /// The revisions among them that removed the document, ascending.
    deleted: Vec<Revision>,
    /// The oldest revision of the document that can still be read.
    oldest: Revision,
}

impl History {
    /// How many revisions.
    pub fn len(&self) -> usize {
        self.commits.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// The revision at a position: 0 is the newest.
    pub fn get(&self, index: usize) -> Option<RevisionInfo<&str>> {
        self.commits.get(index).map(|commit| self.row(index, commit))
    }

    /// The revisions, newest first; `.rev()` makes it oldest first.
    pub fn iter(&self) -> HistoryIter<'_> {
        HistoryIter { history: self, commits: self.commits.iter(), front: 0 }
    }

    #[inline]
    fn row<'a>(&'a self, index: usize, commit: CommitInfo<&'a str>) -> RevisionInfo<&'a str> {
        let CommitInfo { csn, time_us, author, message, role, authored_us } = commit;
        let revision = Revision(self.newest - index as u64);
        let deleted = self.deleted.binary_search(&revision).is_ok();
        let kept = revision >= self.oldest;
        RevisionInfo { revision, csn, time_us, author, message, role, authored_us, deleted, kept }
    }
}

impl<'a> IntoIterator for &'a History {
    type Item = RevisionInfo<&'a str>;
    type IntoIter = HistoryIter<'a>;

    fn into_iter(self) -> HistoryIter<'a> {
        self.iter()
    }
}

/// The revisions of a [`History`], newest first.
#[derive(Clone, Debug)]
pub struct HistoryIter<'a> {
    history: &'a History,
    commits: CommitInfosIter<'a>,
    /// The position of the next from the front.
    front: usize,
}

impl<'a> Iterator for HistoryIter<'a> {
    type Item = RevisionInfo<&'a str>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let commit = self.commits.next()?;
        self.front += 1;
        Some(self.history.row(self.front - 1, commit))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.commits.size_hint()
    }
}

impl DoubleEndedIterator for HistoryIter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let commit = self.commits.next_back()?;
        Some(self.history.row(self.front + self.commits.len(), commit))
    }
}

impl ExactSizeIterator for HistoryIter<'_> {}

impl Collection {
    /// The revisions of a document, newest first, at most `limit` of them.
    pub fn history(&self, key: &str, limit: usize) -> Result<History> {
        let state = self.known(key, &Prefix::new(key)?)?;
        let newest = state.revision.0;
        self.listing(&state, newest.saturating_sub(limit as u64) + 1, newest)
    }

    /// The revisions numbered `from` up to and including `to`, newest first; what is past the ends is
    /// left out.
    pub fn history_range(&self, key: &str, from: Revision, to: Revision) -> Result<History> {
        let state = self.known(key, &Prefix::new(key)?)?;
        self.listing(&state, from.0, to.0.min(state.revision.0))
    }

    /// When a revision of a document was committed, in microseconds since 1970 UTC; `None` if it has no
    /// such revision. Of a document that is in memory the newest ones are known without a look at the disk.
    pub fn time_of(&self, key: &str, revision: Revision) -> Result<Option<u64>> {
        let state = self.newest_state(&Prefix::new(key)?)?;
        state.list.time(self.engine(), revision)
    }

    /// The facts about one revision.
    pub(crate) fn info(&self, state: &State, revision: Revision) -> Result<RevisionInfo> {
        let found = self.listing(state, revision.0, revision.0)?;
        let info = found.get(0).ok_or(Damaged::new("a revision is missing from its page"))?;
        Ok(info.to_owned())
    }

    fn listing(&self, state: &State, from: u64, to: u64) -> Result<History> {
        let (csns, deleted) = state.list.newest_first(self.engine(), from, to)?;
        let oldest = self.oldest_of(state)?;
        Ok(History { newest: to, commits: self.engine().infos(csns)?, deleted, oldest })
    }
}

impl CollectionAt {
    /// Returns number, commit, author and message of the newest revision at that moment.
    pub fn revision(&self, key: &str) -> Result<Option<RevisionInfo>> {
        let prefix = Prefix::new(key)?;
        let (state, revision) = self.collection.locate(key, &prefix, self.moment)?;
        revision.map(|revision| self.collection.info(&state, revision)).transpose()
    }
}
