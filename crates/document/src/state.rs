//! The newest version of documents, kept in memory, and the lists of their revisions.
//!
//! A [`State`] is what reads of now and writers start from. The cache holds the newest *visible* state
//! of a document and nothing older: a commit puts the state that it makes into the cache just before
//! it becomes visible, so whoever reads at or after that commit finds it, and whoever reads at an
//! older one sees by its number that it is too new and asks the store.
//!
//! Invariants:
//! * an entry is never older than the newest visible commit of its document: readers that fill the
//!   cache from the store give way to anything published since their snapshot;
//! * the list of revisions ([`RevisionList`]) only grows, in the order of commits.

use crate::error::Damaged;
use crate::key::{Prefix, Record};
use crate::revisions::{Entry, PAGE, Page};
use crate::tree::Tree;
use crate::{Result, Revision};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use store::{Csn, TableId};
use txn::Engine;

/// A document at a commit.
#[derive(Clone)]
pub(crate) struct State {
    /// The commit of its newest revision.
    pub csn: Csn,
    /// The newest revision; 0 where there never was one.
    pub revision: Revision,
    /// Its nodes; `None` where it was removed or never was.
    pub tree: Option<Arc<Tree>>,
    /// The key that the first node of a document put again would get.
    pub next_key: u64,
    /// Its revisions, those up to now and those to come.
    pub list: Arc<RevisionList>,
}

/// Full pages kept decoded for one document: 65,536 revisions.
const PAGES_KEPT: usize = 64;

/// The commits of a document's revisions, decoded page by page as they are asked for.
pub(crate) struct RevisionList {
    table: TableId,
    prefix: Prefix,
    inner: RwLock<Pages>,
}

struct Pages {
    full: BTreeMap<u32, Arc<Timed>>,
    tail: Timed,
    tail_number: u32,
}

/// A page with the time of each of its commits.
#[derive(Default)]
pub(crate) struct Timed {
    pub page: Page,
    pub times: Vec<u64>,
}

impl RevisionList {
    /// A list whose last page is `tail`.
    pub fn new(table: TableId, prefix: Prefix, tail_number: u32, tail: Timed) -> RevisionList {
        RevisionList {
            table,
            prefix,
            inner: RwLock::new(Pages { full: BTreeMap::new(), tail, tail_number }),
        }
    }

    /// Adds the revision of a commit that is about to become visible.
    pub fn push(&self, entry: Entry, time_us: u64) {
        let mut pages = self.inner.write();
        if pages.tail.page.csns.len() as u64 == PAGE {
            let full = std::mem::take(&mut pages.tail);
            let number = pages.tail_number;
            pages.full.insert(number, Arc::new(full));
            pages.tail_number += 1;
        }
        pages.tail.page.push(entry);
        pages.tail.times.push(time_us);
    }

    /// Calls `f` with a page of the list; `None` past its end.
    pub fn with_page<R>(
        &self,
        engine: &Engine,
        number: u32,
        f: impl FnOnce(&Timed) -> R,
    ) -> Result<Option<R>> {
        {
            let pages = self.inner.read();
            if number == pages.tail_number {
                return Ok(Some(f(&pages.tail)));
            }
            if number > pages.tail_number {
                return Ok(None);
            }
            if let Some(page) = pages.full.get(&number) {
                return Ok(Some(f(page)));
            }
        }
        let page = Arc::new(
            load_page(engine, self.table, &self.prefix, number, engine.visible())?
                .ok_or(Damaged::new("a page of revisions is missing"))?,
        );
        if page.page.csns.len() as u64 == PAGE {
            let mut pages = self.inner.write();
            if pages.full.len() >= PAGES_KEPT {
                pages.full.pop_first();
            }
            pages.full.insert(number, Arc::clone(&page));
        }
        Ok(Some(f(&page)))
    }

    /// The entry of a revision.
    pub fn entry(&self, engine: &Engine, revision: Revision) -> Result<Option<Entry>> {
        let Some(index) = revision.0.checked_sub(1) else { return Ok(None) };
        let found = self.with_page(engine, (index / PAGE) as u32, |timed| {
            timed.page.entry((index % PAGE) as usize)
        })?;
        Ok(found.flatten())
    }

    /// The commit of a revision.
    pub fn csn(&self, engine: &Engine, revision: Revision) -> Result<Option<Csn>> {
        let Some(index) = revision.0.checked_sub(1) else { return Ok(None) };
        let found = self.with_page(engine, (index / PAGE) as u32, |timed| {
            timed.page.csns.get((index % PAGE) as usize).copied()
        })?;
        Ok(found.flatten())
    }

    /// The newest revision at or before a commit, of those up to `newest`; 0 where there is none.
    pub fn at(&self, engine: &Engine, csn: Csn, newest: Revision) -> Result<Revision> {
        // By page first: the last page that begins at or before the commit.
        let (mut low, mut high) = (0u64, newest.0.div_ceil(PAGE));
        while low < high {
            let middle = (low + high) / 2;
            let begins = self.with_page(engine, middle as u32, |timed| {
                timed.page.csns.first().is_some_and(|first| *first <= csn)
            })?;
            match begins {
                Some(true) => low = middle + 1,
                _ => high = middle,
            }
        }
        let Some(number) = low.checked_sub(1) else { return Ok(Revision(0)) };
        let within = self.with_page(engine, number as u32, |timed| {
            timed.page.csns.partition_point(|c| *c <= csn)
        })?;
        Ok(Revision((number * PAGE + within.unwrap_or(0) as u64).min(newest.0)))
    }

    /// The commits of the revisions `from` up to and including `to`, newest first, and which of these
    /// revisions removed the document, ascending.
    pub fn newest_first(
        &self,
        engine: &Engine,
        from: u64,
        to: u64,
    ) -> Result<(Vec<Csn>, Vec<Revision>)> {
        let from = from.max(1);
        let mut csns = Vec::with_capacity((to + 1).saturating_sub(from) as usize);
        let mut deleted = Vec::new();
        let mut end = to;
        while end >= from {
            let number = (end - 1) / PAGE;
            let before = number * PAGE;
            let begin = from.max(before + 1);
            let range = (begin - 1 - before) as usize..(end - before) as usize;
            let found = self.with_page(engine, number as u32, |timed| {
                csns.extend(timed.page.csns.get(range.clone())?.iter().rev());
                let deletions = timed.page.deletions().filter(|index| range.contains(index));
                deleted.extend(deletions.map(|index| Revision(before + 1 + index as u64)));
                Some(())
            })?;
            found.flatten().ok_or(Damaged::new("a revision is missing from its page"))?;
            end = begin - 1;
        }
        deleted.sort_unstable();
        Ok((csns, deleted))
    }

    /// Appends the commit times of the revisions up to `newest`, oldest first.
    pub fn times(&self, engine: &Engine, newest: Revision, out: &mut Vec<u64>) -> Result<()> {
        out.reserve(newest.0 as usize);
        let mut left = newest.0 as usize;
        for number in 0..newest.0.div_ceil(PAGE) as u32 {
            let taken = self.with_page(engine, number, |timed| {
                let count = timed.times.len().min(left);
                out.extend_from_slice(&timed.times[..count]);
                count
            })?;
            left -= taken.unwrap_or(left);
        }
        Ok(())
    }

    /// Bytes held, for accounting.
    fn bytes(&self) -> usize {
        let pages = self.inner.read();
        pages.tail.page.bytes()
            + pages.full.values().map(|p| p.page.bytes() + p.times.len() * 8).sum::<usize>()
    }
}

/// Reads a page as of a commit, with the times of its commits.
pub(crate) fn load_page(
    engine: &Engine,
    table: TableId,
    prefix: &Prefix,
    number: u32,
    at: Csn,
) -> Result<Option<Timed>> {
    let Some(stored) = engine.store().read(table, &prefix.record(Record::Revisions(number)), at)?
    else {
        return Ok(None);
    };
    timed(engine, &stored, at).map(Some)
}

/// Decodes a stored page, leaving out what is newer than `at`.
pub(crate) fn timed(engine: &Engine, stored: &store::Versioned, at: Csn) -> Result<Timed> {
    let mut page = Page::read(stored.base_csn(), stored.base(), stored.deltas())?;
    page.truncate(page.csns.partition_point(|csn| *csn <= at));
    let mut times = Vec::with_capacity(page.csns.len());
    engine.times(&page.csns, &mut times)?;
    Ok(Timed { page, times })
}

const SHARDS: usize = 16;

/// The newest states of documents, within a budget of bytes.
pub(crate) struct Cache {
    shards: Box<[Mutex<Shard>]>,
    hasher: FixedState,
    shard_bytes: usize,
}

type Key = (TableId, Prefix);

#[derive(Default)]
struct Shard {
    entries: HashMap<Key, Held, FixedState>,
    /// Keys in the order of their turn to be dropped.
    turns: VecDeque<Key>,
    bytes: usize,
    /// The newest commit published into this shard.
    published: Csn,
}

struct Held {
    state: State,
    bytes: usize,
    used: bool,
}

impl Cache {
    /// A cache of about `bytes`.
    pub fn new(bytes: usize) -> Cache {
        Cache {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: FixedState::default(),
            shard_bytes: bytes / SHARDS,
        }
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        // The map inside a shard uses the lower bits of the same hash.
        &self.shards[(self.hasher.hash_one(key) >> 60) as usize % SHARDS]
    }

    /// The state of a document as of `at`, where the cache has it.
    pub fn get(&self, key: &Key, at: Csn) -> Option<State> {
        let mut shard = self.shard(key).lock();
        let held = shard.entries.get_mut(key)?;
        held.used = true;
        (held.state.csn <= at).then(|| held.state.clone())
    }

    /// Puts the state of a commit that is about to become visible.
    pub fn publish(&self, key: Key, state: State) {
        let mut shard = self.shard(&key).lock();
        shard.published = shard.published.max(state.csn);
        shard.insert(key, state, self.shard_bytes);
    }

    /// Forgets a document whose commit is about to become visible: the next reader asks the store.
    pub fn publish_unknown(&self, key: &Key, csn: Csn) {
        let mut shard = self.shard(key).lock();
        shard.published = shard.published.max(csn);
        if let Some(held) = shard.entries.remove(key) {
            shard.bytes -= held.bytes;
        }
    }

    /// Offers a state read from the store at `at`; not taken where something was published since.
    pub fn offer(&self, key: Key, state: State, at: Csn) {
        let mut shard = self.shard(&key).lock();
        if shard.published <= at
            && shard.entries.get(&key).is_none_or(|held| held.state.csn <= state.csn)
        {
            shard.insert(key, state, self.shard_bytes);
        }
    }

    /// Forgets everything, so that the next reads are cold.
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            (shard.bytes, shard.entries) = (0, HashMap::default());
            shard.turns.clear();
        }
    }
}

impl Shard {
    fn insert(&mut self, key: Key, state: State, budget: usize) {
        let bytes = state.tree.as_ref().map_or(0, |tree| tree.bytes()) + state.list.bytes() + 256;
        match self.entries.get_mut(&key) {
            Some(held) => {
                self.bytes = self.bytes + bytes - held.bytes;
                *held = Held { state, bytes, used: true };
            }
            None => {
                self.bytes += bytes;
                self.turns.push_back(key.clone());
                self.entries.insert(key, Held { state, bytes, used: false });
            }
        }
        // One pass of the clock at most over what is held now; the newest alone may exceed the budget.
        let mut turns = self.turns.len() * 2;
        while self.bytes > budget && self.entries.len() > 1 && turns > 0 {
            turns -= 1;
            let Some(key) = self.turns.pop_front() else { break };
            match self.entries.get_mut(&key) {
                Some(held) if held.used => {
                    held.used = false;
                    self.turns.push_back(key);
                }
                Some(held) => {
                    self.bytes -= held.bytes;
                    self.entries.remove(&key);
                }
                None => {}
            }
        }
    }
}
