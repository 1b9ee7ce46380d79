//! Looking up commits: author, time and message by number, and numbers by time.
//!
//! ```text
//!   pages   [0] [1] [2] ... [95] [96]│ open page
//!            '--- in the store ---'  │ decoded, in memory, appended to by every commit
//!            decoded as asked for,
//!            the last 8 MiB are kept
//! ```
//!
//! The open page answers everything about recent commits without touching the store. Older pages
//! never change, so a decoded one can be kept and shared without any thought of invalidation. A time
//! is searched for by halving the pages and then the times within one.
//!
//! # Invariants
//! * The open page is the page of the next commit; all before it are full.
//! * Callers ask for visible commits only; the open page may already know of later ones.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::FixedState;
use parking_lot::{Mutex, RwLock};
use store::{Csn, Store};

use crate::changes::{ChangeList, read_list};
use crate::error::TxnError;
use crate::infos::{CommitInfo, CommitInfos};
use crate::pages::{COMMITS_TABLE, OpenPage, Page, assemble, first_csn, page_key, page_of};
use crate::record::Note;

/// Bytes of decoded pages kept: 17 KB each, and their strings.
const CACHED_BYTES_MAX: usize = 8 << 20;

#[derive(Default)]
struct Cache {
    pages: HashMap<u64, Arc<Page>, FixedState>,
    order: VecDeque<u64>,
    bytes: usize,
}

/// The commits, by number and by time.
pub(crate) struct CommitIndex {
    open: RwLock<OpenPage>,
    cache: Mutex<Cache>,
}

impl CommitIndex {
    /// The index of a store that has been replayed up to `last`; also the time of `last`.
    pub(crate) fn load(store: &Store, last: Csn) -> Result<(CommitIndex, u64), TxnError> {
        let page = page_of(Csn(last.0 + 1));
        let open = match read_page(store, page)? {
            Some(open) => open,
            None => OpenPage::new(Page::new(page)),
        };
        let index = CommitIndex { open: RwLock::new(open), cache: Mutex::default() };
        let time_us = if last.0 == 0 { 0 } else { index.time_us(store, last)? };
        Ok((index, time_us))
    }

    /// Adds a commit, the next one.
    pub(crate) fn push(&self, csn: Csn, time_us: u64, note: &Note<'_>) {
        let mut open = self.open.write();
        assert_eq!(open.page.end(), csn, "commits are added without a gap");
        open.push(time_us, note);
        if open.page.is_full() {
            let next = OpenPage::new(Page::new(open.page.number + 1));
            let full = std::mem::replace(&mut *open, next);
            self.cache.lock().insert(full.page);
        }
    }

    /// The number after the last commit added.
    pub(crate) fn end(&self) -> Csn {
        self.open.read().page.end()
    }

    /// Calls `f` with the page that has `csn`.
    fn with_page<R>(
        &self,
        store: &Store,
        csn: Csn,
        f: impl FnOnce(&Page) -> R,
    ) -> Result<R, TxnError> {
        {
            let open = self.open.read();
            if open.page.number == page_of(csn) {
                return Ok(f(&open.page));
            }
        }
        Ok(f(&*self.full_page(store, csn)?))
    }

    /// The page that has `csn`, as it is now.
    fn page(&self, store: &Store, csn: Csn) -> Result<Arc<Page>, TxnError> {
        {
            let open = self.open.read();
            if open.page.number == page_of(csn) {
                return Ok(Arc::clone(&open.page));
            }
        }
        self.full_page(store, csn)
    }

    fn full_page(&self, store: &Store, csn: Csn) -> Result<Arc<Page>, TxnError> {
        let number = page_of(csn);
        if let Some(page) = self.cache.lock().pages.get(&number) {
            return Ok(Arc::clone(page));
        }
        let page = read_page(store, number)?.filter(|open| open.page.is_full());
        let Some(open) = page else {
            return Err(damaged(csn, "commit page is missing or not full"));
        };
        let page = open.page;
        self.cache.lock().insert(Arc::clone(&page));
        Ok(page)
    }

    /// The time of a visible commit; 0 of commit 0.
    pub(crate) fn time_us(&self, store: &Store, csn: Csn) -> Result<u64, TxnError> {
        if csn.0 == 0 {
            return Ok(0);
        }
        let time = self.with_page(store, csn, |page| page.time_us(csn))?;
        time.ok_or_else(|| damaged(csn, "commit page ends early"))
    }

    /// Returns the [`CommitInfo`] of a visible commit other than 0.
    pub(crate) fn info(&self, store: &Store, csn: Csn) -> Result<CommitInfo, TxnError> {
        let info = self.with_page(store, csn, |page| {
            page.entry(csn).map(|entry| CommitInfo::new(csn, entry).to_owned())
        })?;
        info.ok_or_else(|| damaged(csn, "commit page ends early"))
    }

    /// Returns the bytes that the application keeps with a visible commit other than 0.
    pub(crate) fn extension(&self, store: &Store, csn: Csn) -> Result<Vec<u8>, TxnError> {
        self.with_page(store, csn, |page| page.extension(csn).to_vec())
    }

    /// The tables that a visible commit other than 0 has changed, as far as that was noted.
    pub(crate) fn tables(&self, store: &Store, csn: Csn) -> Result<ChangeList, TxnError> {
        let tables = self.with_page(store, csn, |page| read_list(page.tables(csn)))?;
        tables.map_err(|source| TxnError::Damaged { csn, source })
    }

    /// Returns the [`CommitInfos`] of `csns`, all visible and none of them 0.
    pub(crate) fn infos(&self, store: &Store, csns: Vec<Csn>) -> Result<CommitInfos, TxnError> {
        let mut pages: Vec<Arc<Page>> = Vec::new();
        for &csn in &csns {
            if !pages.last().is_some_and(|page| page.tells_of(csn)) {
                let page = self.page(store, csn)?;
                if !page.tells_of(csn) {
                    return Err(damaged(csn, "commit page ends early"));
                }
                pages.push(page);
            }
        }
        Ok(CommitInfos::new(csns, pages))
    }

    /// Appends the time of each of `csns`, all visible, to `out`.
    pub(crate) fn times(
        &self,
        store: &Store,
        csns: &[Csn],
        out: &mut Vec<u64>,
    ) -> Result<(), TxnError> {
        out.reserve(csns.len());
        self.each(store, csns, |page, csn| {
            out.push(match page {
                Some(page) => page.time_us(csn)?,
                None => 0,
            });
            Some(())
        })
    }

    /// The time of each of `csns`, all visible, and when it was made where it came from.
    pub(crate) fn moments(
        &self,
        store: &Store,
        csns: &[Csn],
    ) -> Result<Vec<(u64, Option<u64>)>, TxnError> {
        let mut out = Vec::with_capacity(csns.len());
        self.each(store, csns, |page, csn| {
            out.push(match page {
                Some(page) => (page.time_us(csn)?, page.authored_us(csn)),
                None => (0, None),
            });
            Some(())
        })?;
        Ok(out)
    }

    /// Calls `f` with each of `csns`, all visible, and the page that should have it; of commit 0, which is
    /// on no page, with none. It fails if `f` gives nothing: the page ends early.
    fn each(
        &self,
        store: &Store,
        mut csns: &[Csn],
        mut f: impl FnMut(Option<&Page>, Csn) -> Option<()>,
    ) -> Result<(), TxnError> {
        while let Some(&csn) = csns.first() {
            let (low, high) = (first_csn(page_of(csn)).0, first_csn(page_of(csn) + 1).0);
            let run =
                csns.iter().position(|csn| csn.0 < low || csn.0 >= high).unwrap_or(csns.len());
            if run == 0 {
                f(None, csn).ok_or_else(|| damaged(csn, "commit page ends early"))?;
                csns = &csns[1..];
                continue;
            }
            let (here, rest) = csns.split_at(run);
            self.with_page(store, csn, |page| {
                here.iter().try_for_each(|csn| {
                    f(Some(page), *csn).ok_or_else(|| damaged(*csn, "commit page ends early"))
                })
            })??;
            csns = rest;
        }
        Ok(())
    }

    /// The newest commit up to `newest` whose time is not after `time_us`; 0 where there is none.
    pub(crate) fn at_time(
        &self,
        store: &Store,
        time_us: u64,
        newest: Csn,
    ) -> Result<Csn, TxnError> {
        if newest.0 == 0 {
            return Ok(Csn(0));
        }
        // The last page whose first commit is not after the time.
        let (mut low, mut high) = (0, page_of(newest) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.time_us(store, first_csn(middle))? <= time_us {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(page) = low.checked_sub(1) else { return Ok(Csn(0)) };
        let first = first_csn(page);
        let within = self
            .with_page(store, first, |page| page.times.partition_point(|time| *time <= time_us))?;
        Ok(Csn(first.0 + within as u64 - 1).min(newest))
    }
}

impl Cache {
    fn insert(&mut self, page: Arc<Page>) {
        let (number, bytes) = (page.number, page.bytes());
        if self.pages.insert(number, page).is_some() {
            return; // Two have read the same page.
        }
        self.order.push_back(number);
        self.bytes += bytes;
        while self.bytes > CACHED_BYTES_MAX
            && self.order.len() > 1
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.pages.remove(&oldest).map_or(0, |page| page.bytes());
        }
    }
}

/// Commits between two milestones at first.
const MILESTONE_COMMITS: u64 = 64;
/// Milestones kept at most; beyond, every other one is forgotten and half as many are made.
const MILESTONES_MAX: usize = 4096;
/// Milestones taken from the time before the engine was opened.
const MILESTONES_PAST: u64 = 16;

/// Some commits and their times, ascending. From them the store's compaction learns where a time
/// lies without asking the engine. The answer is at or before the true commit: compaction may drop
/// too little, never too much.
///
/// Milestones of the past are looked up when writing goes on ([`Milestones::recall`]), not by
/// opening, which would read as many pages of the table of commits.
#[derive(Default)]
pub(crate) struct Milestones {
    known: Mutex<Known>,
}

struct Known {
    list: Vec<(u64, Csn)>,
    /// Commits between two of them.
    stride: u64,
    /// The milestones of the past are in the list.
    recalled: bool,
}

impl Default for Known {
    fn default() -> Known {
        Known { list: Vec::new(), stride: MILESTONE_COMMITS, recalled: false }
    }
}

impl Milestones {
    /// Looks up milestones of the past, once: spread evenly over the commits up to `newest`, before those
    /// that were noted.
    pub(crate) fn recall(
        &self,
        index: &CommitIndex,
        store: &Store,
        newest: Csn,
    ) -> Result<(), TxnError> {
        if self.known.lock().recalled {
            return Ok(());
        }
        let mut past: Vec<(u64, Csn)> = Vec::new();
        for part in 1..=MILESTONES_PAST {
            let csn =
                Csn((u128::from(newest.0) * u128::from(part) / u128::from(MILESTONES_PAST)) as u64);
            if csn.0 > 0 && past.last().is_none_or(|(_, last)| *last < csn) {
                past.push((index.time_us(store, csn)?, csn));
            }
        }
        let mut known = self.known.lock();
        if !std::mem::replace(&mut known.recalled, true) {
            let noted = known.list.first().map_or(Csn::MAX, |(_, csn)| *csn);
            past.retain(|(_, csn)| *csn < noted);
            known.list.splice(..0, past);
        }
        Ok(())
    }

    /// Notes a commit, the next one, if it is time for one.
    pub(crate) fn note(&self, csn: Csn, time_us: u64) {
        let mut known = self.known.lock();
        if !csn.0.is_multiple_of(known.stride) {
            return;
        }
        known.list.push((time_us, csn));
        if known.list.len() > MILESTONES_MAX {
            let mut keep = false;
            known.list.retain(|_| {
                keep = !keep;
                keep
            });
            known.stride *= 2;
        }
    }

    /// A commit at or before `time_us`, the newest known; 0 where none is.
    pub(crate) fn floor(&self, time_us: u64) -> Csn {
        let known = self.known.lock();
        let after = known.list.partition_point(|(time, _)| *time <= time_us);
        after.checked_sub(1).map_or(Csn(0), |at| known.list[at].1)
    }
}

fn read_page(store: &Store, number: u64) -> Result<Option<OpenPage>, TxnError> {
    let Some(found) = store.read(COMMITS_TABLE, &page_key(number), Csn::MAX)? else {
        return Ok(None);
    };
    let open = assemble(number, found.base(), found.deltas());
    open.map(Some).map_err(|source| TxnError::Damaged { csn: found.csn(), source })
}

fn damaged(csn: Csn, what: &'static str) -> TxnError {
    TxnError::Damaged { csn, source: crate::bytes::Malformed { what, at: 0 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of long messages are kept by their bytes, not by their number.
    #[test]
    fn the_cache_of_pages_has_a_budget() {
        let mut cache = Cache::default();
        let message = "x".repeat(30_000);
        for number in 1..1000 {
            let mut page = OpenPage::new(Page::new(number));
            for commit in 0..10 {
                let message = format!("{commit} {message}");
                page.push(commit, &Note { author: "ada", message: &message, ..Note::default() });
            }
            cache.insert(page.page);
            assert!(cache.bytes <= CACHED_BYTES_MAX, "page {number}: {} bytes", cache.bytes);
        }
        let held: usize = cache.pages.values().map(|page| page.bytes()).sum();
        assert_eq!((cache.pages.len(), cache.bytes), (cache.order.len(), held));
        assert!((20..30).contains(&cache.pages.len()), "{} pages", cache.pages.len());
    }

    /// However many commits there were, a milestone is at or before the truth and not far from it.
    #[test]
    fn milestones_never_tell_too_much() {
        let milestones = Milestones::default();
        let last = 64 * MILESTONES_MAX as u64 * 5;
        (1..=last).for_each(|csn| milestones.note(Csn(csn), csn * 10));
        assert!(milestones.known.lock().list.len() <= MILESTONES_MAX);
        for time_us in (0..last * 10).step_by(99_991) {
            let (told, truth) = (milestones.floor(time_us).0, time_us / 10);
            assert!(told <= truth && truth - told <= last / 500, "{told} of {truth}");
        }
    }
}
