//! The authors, times and messages of commits: one at a time, or thousands in one answer.
//!
//! ```text
//!   CommitInfos   csns   [4099][4098][ ... ][3071][3070]        as asked for, in that order
//!                 pages  [page 2] [page 3] [page 4]             shared, each once
//!   a row is      a number, its time, and two strings borrowed from its page
//! ```
//!
//! An answer holds the pages that have its commits instead of copies of them: 5,000 rows
//! are five reference counts. Pages are never changed while they are held, so an answer stays
//! as it is whatever is committed after it.
//!
//! # Invariants
//! * `pages` ascends, and has an entry for each of `csns`.

use std::sync::Arc;

use store::Csn;

use crate::pages::{Page, page_of};
use crate::record::Note;

/// The properties of a commit; the texts are owned, or borrowed (`CommitInfo<&str>`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitInfo<Text = String> {
    /// Its number.
    pub csn: Csn,
    /// When it was committed: microseconds since 1970 UTC, never decreasing with the number.
    pub time_us: u64,
    /// The author; may be empty.
    pub author: Text,
    /// Why; may be empty.
    pub message: Text,
    /// The authenticated role of the committing client; empty without authentication. The author is
    /// the name that the client gave.
    pub role: Text,
    /// When it was made where it came from, for imports, in microseconds since 1970 UTC.
    pub authored_us: Option<u64>,
}

impl<'a> CommitInfo<&'a str> {
    #[inline]
    pub(crate) fn new(csn: Csn, (time_us, note): (u64, Note<'a>)) -> Self {
        let Note { author, message, role, authored_us, .. } = note;
        CommitInfo { csn, time_us, author, message, role, authored_us }
    }

    /// The same, with texts of its own.
    pub fn to_owned(&self) -> CommitInfo {
        CommitInfo {
            csn: self.csn,
            time_us: self.time_us,
            author: self.author.to_owned(),
            message: self.message.to_owned(),
            role: self.role.to_owned(),
            authored_us: self.authored_us,
        }
    }
}

/// The properties of some commits, in the order in which the caller asked for them.
///
/// It shares the pages of the table of commits that it lists, about 16 KB and the texts of 1,024
/// commits each, and keeps them in memory for as long as it lives.
#[derive(Clone, Debug, Default)]
pub struct CommitInfos {
    csns: Vec<Csn>,
    pages: Vec<Arc<Page>>,
}

impl CommitInfos {
    pub(crate) fn new(csns: Vec<Csn>, mut pages: Vec<Arc<Page>>) -> CommitInfos {
        pages.sort_unstable_by_key(|page| page.number);
        pages.dedup_by_key(|page| page.number);
        CommitInfos { csns, pages }
    }

    /// How many commits.
    pub fn len(&self) -> usize {
        self.csns.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.csns.is_empty()
    }

    /// The commit at a position, from 0.
    pub fn get(&self, index: usize) -> Option<CommitInfo<&str>> {
        self.csns.get(index).map(|csn| self.iter().info(*csn))
    }

    /// The commits, one after another.
    pub fn iter(&self) -> CommitInfosIter<'_> {
        CommitInfosIter { csns: self.csns.iter(), pages: &self.pages, page: None }
    }
}

impl<'a> IntoIterator for &'a CommitInfos {
    type Item = CommitInfo<&'a str>;
    type IntoIter = CommitInfosIter<'a>;

    fn into_iter(self) -> CommitInfosIter<'a> {
        self.iter()
    }
}

/// The commits of a [`CommitInfos`], one after another.
#[derive(Clone, Debug)]
pub struct CommitInfosIter<'a> {
    csns: std::slice::Iter<'a, Csn>,
    pages: &'a [Arc<Page>],
    /// The page of the last row: mostly the next one's too.
    page: Option<&'a Page>,
}

impl<'a> CommitInfosIter<'a> {
    #[inline]
    fn info(&mut self, csn: Csn) -> CommitInfo<&'a str> {
        let entry = match self.page.and_then(|page| page.entry(csn)) {
            Some(entry) => entry,
            None => self.turn_to(csn),
        };
        CommitInfo::new(csn, entry)
    }

    #[cold]
    fn turn_to(&mut self, csn: Csn) -> (u64, Note<'a>) {
        let at = self.pages.partition_point(|page| page.number < page_of(csn));
        let page = &*self.pages[at];
        self.page = Some(page);
        page.entry(csn).expect("an answer holds the pages of its commits")
    }
}

impl<'a> Iterator for CommitInfosIter<'a> {
    type Item = CommitInfo<&'a str>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let csn = *self.csns.next()?;
        Some(self.info(csn))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.csns.size_hint()
    }
}

impl DoubleEndedIterator for CommitInfosIter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let csn = *self.csns.next_back()?;
        Some(self.info(csn))
    }
}

impl ExactSizeIterator for CommitInfosIter<'_> {}
