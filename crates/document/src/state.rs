//! The newest version of documents, kept in memory, and the lists of their revisions.
//!
//! Reads of the newest version and writers start from a [`State`]. The cache holds the newest
//! *visible* state of a document and nothing older: a commit puts the state that it makes into the
//! cache just before it becomes visible, so a reader at or after that commit finds it. A reader at
//! an older commit sees by the commit number that the state is too new, and reads from the store.
//!
//! Invariants:
//! * an entry is never older than the newest visible commit of its document: a reader that fills the
//!   cache from the store does not replace a state that was published since its snapshot;
//! * the list of revisions ([`RevisionList`]) only grows, in the order of commits.

use crate::erased::Erased;
use crate::error::Damaged;
use crate::key::{Prefix, Record};
use crate::revisions::{Entry, PAGE, Page};
use crate::tree::{Growth, Tree};
use crate::{Result, Revision};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::{Arc, Weak};
use store::{Csn, TableId};
use txn::Engine;

/// A document at a commit.
#[derive(Clone)]
pub(crate) struct State {
    /// The commit of its newest revision.
    pub csn: Csn,
    /// The newest revision; 0 where there never was one.
    pub revision: Revision,
    /// Its nodes; `None` if it was removed or never was.
    pub tree: Option<Arc<Tree>>,
    /// The key that the first node of a document put again would get.
    pub next_key: u64,
    /// Its revisions. The list is shared, and grows with later revisions.
    pub list: Arc<RevisionList>,
}

impl State {
    /// Bytes held, for accounting.
    fn bytes(&self) -> usize {
        /// About so many bytes for the entry in the maps of the cache, the key included.
        const KEEPING_BYTES: usize = 256;
        self.tree.as_ref().map_or(0, |tree| tree.bytes()) + self.list.bytes() + KEEPING_BYTES
    }
}

/// Full pages kept decoded for one document: 65,536 revisions.
const PAGES_KEPT: usize = 64;

/// The commits of a document's revisions, decoded page by page as they are asked for.
pub(crate) struct RevisionList {
    table: TableId,
    prefix: Prefix,
    inner: RwLock<Pages>,
    /// Counts the bytes of the pages that are read.
    growth: Arc<Growth>,
}

struct Pages {
    /// At most [`PAGES_KEPT`].
    full: BTreeMap<u32, Arc<Timed>>,
    /// Bytes of the full pages.
    full_bytes: usize,
    /// The earliest moment of each full page, by number; 0 where it is not known. Other than the pages, all are kept.
    earliest: Vec<u64>,
    tail: Timed,
    tail_number: u32,
}

impl Pages {
    /// Keeps a full page, and drops the oldest page if there are too many.
    fn keep(&mut self, number: u32, page: Arc<Timed>) {
        let at = number as usize;
        if self.earliest.len() <= at {
            self.earliest.resize(at + 1, 0);
        }
        self.earliest[at] = page.earliest();
        let gone = match self.full.len() >= PAGES_KEPT {
            true => self.full.pop_first().map(|(_, page)| page),
            false => None,
        };
        self.full_bytes += page.bytes();
        // Two readers may have read the same page.
        let same = self.full.insert(number, page);
        self.full_bytes -= gone.iter().chain(&same).map(|page| page.bytes()).sum::<usize>();
    }
}

/// The times of a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// Its own time, in microseconds since 1970 UTC. It never decreases from one commit to the next.
    pub time_us: u64,
    /// The authored time, if the writer gave one: the time at which the change was made elsewhere. In any order.
    pub authored_us: Option<u64>,
}

/// A page with the time of each of its commits.
///
/// The moment of a revision is its authored time where its writer gave one, and the time of its commit otherwise.
#[derive(Default)]
pub(crate) struct Timed {
    pub page: Page,
    pub times: Vec<u64>,
    /// The entries with an authored time, by index, ascending.
    authored: Vec<(u32, u64)>,
}

impl Timed {
    fn bytes(&self) -> usize {
        self.page.bytes() + self.times.len() * 8 + self.authored.len() * size_of::<(u32, u64)>()
    }

    /// Adds the moments of the next entry.
    fn push_moments(&mut self, moments: Moments) {
        let index = self.times.len() as u32;
        self.authored.extend(moments.authored_us.map(|us| (index, us)));
        self.times.push(moments.time_us);
    }

    /// The moments of the first `count` entries, newest first, each with its index.
    fn moments_back(&self, count: usize) -> impl Iterator<Item = (usize, u64)> {
        let mut authored = self.authored.iter().rev().peekable();
        (0..count.min(self.times.len())).rev().map(move |index| {
            while authored.next_if(|(at, _)| *at as usize > index).is_some() {}
            let given = authored.next_if(|(at, _)| *at as usize == index);
            (index, given.map_or(self.times[index], |(_, us)| *us))
        })
    }

    /// The earliest moment.
    fn earliest(&self) -> u64 {
        self.moments_back(self.times.len()).map(|(_, us)| us).min().unwrap_or(0)
    }
}

impl RevisionList {
    /// A list whose last page is `tail`.
    pub fn new(
        table: TableId,
        prefix: Prefix,
        tail_number: u32,
        tail: Timed,
        growth: Arc<Growth>,
    ) -> RevisionList {
        let (full, earliest) = (BTreeMap::new(), Vec::new());
        let pages = Pages { full, full_bytes: 0, earliest, tail, tail_number };
        let inner = RwLock::new(pages);
        RevisionList { table, prefix, inner, growth }
    }

    /// Adds the revision of a commit that is about to become visible, or more of what it has touched.
    pub fn push(&self, entry: Entry, moments: Moments) {
        let mut pages = self.inner.write();
        if pages.tail.page.csns.last() == Some(&entry.csn) {
            pages.tail.page.push(entry);
            return;
        }
        if pages.tail.page.csns.len() as u64 == PAGE {
            let full = std::mem::take(&mut pages.tail);
            let number = pages.tail_number;
            pages.keep(number, Arc::new(full));
            pages.tail_number += 1;
        }
        pages.tail.page.push(entry);
        pages.tail.push_moments(moments);
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
            self.inner.write().keep(number, Arc::clone(&page));
            self.growth.add(page.bytes());
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

    /// When a revision was committed, in microseconds since 1970 UTC.
    pub fn time(&self, engine: &Engine, revision: Revision) -> Result<Option<u64>> {
        let Some(index) = revision.0.checked_sub(1) else { return Ok(None) };
        let found = self.with_page(engine, (index / PAGE) as u32, |timed| {
            timed.times.get((index % PAGE) as usize).copied()
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

    /// The newest revision, of those up to `newest`, whose moment is at or before `us`; 0 where there is none. The
    /// moment of a revision is its authored time where its writer gave one, and the time of its commit otherwise.
    /// Moments come in any order, so each page whose earliest moment is later is passed over.
    pub fn at_authored(&self, engine: &Engine, us: u64, newest: Revision) -> Result<Revision> {
        let mut end = newest.0;
        while let Some(number) = self.page_with(us, end) {
            let before = u64::from(number) * PAGE;
            let count = (end.min(before + PAGE) - before) as usize;
            let found = self.with_page(engine, number, |timed| {
                timed.page.csns.get(..count)?;
                Some(timed.moments_back(count).find(|(_, moment)| *moment <= us))
            })?;
            let found =
                found.flatten().ok_or(Damaged::new("a revision is missing from its page"))?;
            if let Some((index, _)) = found {
                return Ok(Revision(before + index as u64 + 1));
            }
            end = before;
        }
        Ok(Revision(0))
    }

    /// The newest page of the revisions up to `end` that may have a moment at or before `us`.
    fn page_with(&self, us: u64, end: u64) -> Option<u32> {
        let pages = self.inner.read();
        let earliest = |number: &u64| pages.earliest.get(*number as usize).copied().unwrap_or(0);
        let number = (0..end.div_ceil(PAGE)).rev().find(|number| earliest(number) <= us)?;
        Some(number as u32)
    }

    /// The same as [`RevisionList::at`], in one step where the answer is the revision after `before`.
    pub fn at_after(
        &self,
        engine: &Engine,
        csn: Csn,
        before: Revision,
        newest: Revision,
    ) -> Result<Revision> {
        let next = Revision(before.0 + 1);
        match next <= newest && self.csn(engine, next)? == Some(csn) {
            true => Ok(next),
            false => self.at(engine, csn, newest),
        }
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

    /// Bytes held, for accounting. Takes constant time, because every commit asks.
    fn bytes(&self) -> usize {
        let pages = self.inner.read();
        pages.tail.bytes() + pages.full_bytes + pages.earliest.len() * size_of::<u64>()
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
    let moments = engine.moments(&page.csns)?;
    let times = Vec::with_capacity(page.csns.len());
    let mut timed = Timed { page, times, authored: Vec::new() };
    for (time_us, authored_us) in moments {
        timed.push_moments(Moments { time_us, authored_us });
    }
    Ok(timed)
}

const SHARDS: usize = 16;

/// The cached bytes may grow by this part of the budget before all states are measured again.
const GROWTH_PART: usize = 64;

/// The newest states of documents, within a budget of bytes.
///
/// The cache measures a state when it is added. A state grows while it is kept, because readers add chunks,
/// pages of revisions and positions to it. One counter sums up this growth. Once it reaches a small part of
/// the budget, the cache measures all states again and evicts some.
pub(crate) struct Cache {
    shards: Box<[Mutex<Shard>]>,
    hasher: FixedState,
    shard_bytes: usize,
    growth: Arc<Growth>,
    erased: Erased,
}

type Key = (TableId, Prefix);

#[derive(Default)]
struct Shard {
    entries: HashMap<Key, Held, FixedState>,
    /// Keys in the order in which they may be evicted, each with the number of its entry. A turn is stale if its entry
    /// was removed, or was added again since; [`Shard::tidy`] removes stale turns.
    turns: VecDeque<(u64, Key)>,
    /// The number of the next entry.
    next: u64,
    bytes: usize,
    /// The newest commit published into this shard.
    published: Csn,
    /// Evicted states whose trees a shard cannot hold. As long as a reader has the tree, the next one shares it.
    passing: Vec<Passing>,
}

/// A state without its tree, which others hold.
struct Passing {
    key: Key,
    state: State,
    tree: Weak<Tree>,
}

struct Held {
    state: State,
    bytes: usize,
    used: bool,
    /// The number of its turn.
    turn: u64,
}

/// A shard with capacity for so few turns or entries does not shrink.
const ROOM_MIN: usize = 64;

impl Cache {
    /// A cache of about `bytes`.
    pub fn new(bytes: usize) -> Cache {
        Cache {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: FixedState::default(),
            shard_bytes: bytes / SHARDS,
            growth: Arc::default(),
            erased: Erased::default(),
        }
    }

    /// The documents that were erased last.
    pub fn erased(&self) -> &Erased {
        &self.erased
    }

    /// The counter for the bytes that cached states fetch.
    pub fn growth(&self) -> &Arc<Growth> {
        &self.growth
    }

    /// Bytes kept, growth included.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().weigh()).sum()
    }

    /// Measures all states again if the counter has grown enough.
    #[inline]
    fn settle(&self) {
        if self.growth.get() > self.shard_bytes * SHARDS / GROWTH_PART {
            self.growth.reset();
            for shard in &self.shards {
                let mut shard = shard.lock();
                shard.weigh();
                shard.shrink(self.shard_bytes);
            }
        }
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        // The map inside a shard uses the lower bits of the same hash.
        &self.shards[(self.hasher.hash_one(key) >> 60) as usize % SHARDS]
    }

    /// The state of a document as of `at`, where the cache has it.
    pub fn get(&self, key: &Key, at: Csn) -> Option<State> {
        self.settle();
        let mut shard = self.shard(key).lock();
        let Some(held) = shard.entries.get_mut(key) else {
            return shard.passing(key).filter(|state| state.csn <= at);
        };
        held.used = true;
        (held.state.csn <= at).then(|| held.state.clone())
    }

    /// Puts the state of a commit that is about to become visible.
    pub fn publish(&self, key: Key, state: State) {
        let mut shard = self.shard(&key).lock();
        shard.published = shard.published.max(state.csn);
        shard.insert(key, state, self.shard_bytes);
    }

    /// Removes a document whose commit is about to become visible: the next reader reads it from the store.
    pub fn forget(&self, key: &Key, csn: Csn) {
        let mut shard = self.shard(key).lock();
        shard.published = shard.published.max(csn);
        shard.passing.retain(|passing| passing.key != *key);
        if let Some(held) = shard.entries.remove(key) {
            shard.bytes -= held.bytes;
            shard.tidy();
        }
    }

    /// Adds a state that was read from the store at `at`, unless a newer state was published since.
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
            shard.turns = VecDeque::new();
            shard.passing = Vec::new();
        }
    }
}

impl Shard {
    /// Measures all states; returns the sum of their bytes.
    fn weigh(&mut self) -> usize {
        for held in self.entries.values_mut() {
            held.bytes = held.state.bytes();
        }
        self.bytes = self.entries.values().map(|held| held.bytes).sum();
        self.bytes
    }

    /// The evicted state of a document whose tree a reader holds.
    fn passing(&self, key: &Key) -> Option<State> {
        let passing = self.passing.iter().find(|passing| passing.key == *key)?;
        Some(State { tree: Some(passing.tree.upgrade()?), ..passing.state.clone() })
    }

    fn insert(&mut self, key: Key, state: State, budget: usize) {
        let bytes = state.bytes();
        self.passing.retain(|passing| passing.key != key);
        match self.entries.get_mut(&key) {
            Some(held) => {
                self.bytes = self.bytes + bytes - held.bytes;
                *held = Held { state, bytes, used: true, turn: held.turn };
            }
            None => {
                self.bytes += bytes;
                let turn = self.next;
                self.next += 1;
                self.turns.push_back((turn, key.clone()));
                self.entries.insert(key, Held { state, bytes, used: false, turn });
            }
        }
        self.shrink(budget);
    }

    /// Evicts states until the budget holds.
    fn shrink(&mut self, budget: usize) {
        // The clock passes each of the present entries at most twice. The newest entry alone may exceed the budget of a
        // shard, but not half of the budget of all shards.
        let most = budget.saturating_mul(SHARDS) / 2;
        let mut turns = self.turns.len() * 2;
        while self.bytes > budget && (self.entries.len() > 1 || self.bytes > most) && turns > 0 {
            turns -= 1;
            let Some((turn, key)) = self.turns.pop_front() else { break };
            match self.entries.get_mut(&key).filter(|held| held.turn == turn) {
                Some(held) if held.used => {
                    held.used = false;
                    self.turns.push_back((turn, key));
                }
                Some(held) => {
                    self.bytes -= held.bytes;
                    let held = self.entries.remove(&key).filter(|held| held.bytes > budget);
                    if let Some(Held { state, .. }) = held
                        && let Some(tree) = &state.tree
                    {
                        self.passing.retain(|passing| passing.tree.strong_count() > 0);
                        let tree = Arc::downgrade(tree);
                        self.passing.push(Passing {
                            key,
                            state: State { tree: None, ..state },
                            tree,
                        });
                    }
                }
                None => {}
            }
        }
        self.tidy();
    }

    /// Removes stale turns once they are half of all, and shrinks collections that are mostly empty.
    fn tidy(&mut self) {
        if self.turns.len() > ROOM_MIN.max(self.entries.len() * 2) {
            let entries = &self.entries;
            let is_next =
                |turn: u64, key: &Key| entries.get(key).is_some_and(|held| held.turn == turn);
            self.turns.retain(|(turn, key)| is_next(*turn, key));
        }
        let wanted = self.entries.len() * 2;
        if self.turns.capacity() / 4 > ROOM_MIN.max(self.turns.len()) {
            self.turns.shrink_to(wanted);
        }
        if self.entries.capacity() / 4 > ROOM_MIN.max(self.entries.len()) {
            self.entries.shrink_to(wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revisions::Touched;

    const DOCUMENT: &str = "d";
    const COMMITS: u64 = 3;

    fn key() -> Key {
        (TableId(16), Prefix::new(DOCUMENT).expect("a good key"))
    }

    /// The document as of a commit, each of which changes it; 0 where it is not there yet.
    fn state_at(csn: u64) -> State {
        let list = RevisionList::new(TableId(16), key().1, 0, Timed::default(), Arc::default());
        State {
            csn: Csn(csn),
            revision: Revision(csn),
            tree: None,
            next_key: 1,
            list: Arc::new(list),
        }
    }

    /// One thread of the model, and how far it has come.
    #[derive(Clone, Copy)]
    enum Step {
        /// Snapshot, look-up, offer.
        Reader { done: u8, snapshot: u64, missed: bool },
        /// For each commit: publish, make visible. A bit for each commit that is published unknown.
        Writer { done: u64, unknown: u64 },
    }

    /// Runs the threads in one order of their steps, `order` naming whose turn it is.
    fn play(order: &[usize], mut threads: [Step; 3]) {
        let cache = Cache::new(1 << 20);
        let mut visible = 0;
        for turn in order {
            match &mut threads[*turn] {
                Step::Writer { done, unknown } => {
                    let csn = *done / 2 + 1;
                    match (*done % 2, *unknown >> (csn - 1) & 1) {
                        (0, 0) => cache.publish(key(), state_at(csn)),
                        (0, _) => cache.forget(&key(), Csn(csn)),
                        _ => visible = csn,
                    }
                    *done += 1;
                }
                Step::Reader { done, snapshot, missed } => {
                    match *done {
                        0 => *snapshot = visible,
                        1 => match cache.get(&key(), Csn(*snapshot)) {
                            Some(found) => {
                                assert_eq!(found.csn.0, *snapshot, "{order:?}: an older state")
                            }
                            None => *missed = true,
                        },
                        // The store has, as of the snapshot, what was committed up to it.
                        _ if *missed => cache.offer(key(), state_at(*snapshot), Csn(*snapshot)),
                        _ => {}
                    }
                    *done += 1;
                }
            }
        }
        let last = cache.get(&key(), Csn(COMMITS));
        assert!(last.is_none_or(|state| state.csn.0 == COMMITS), "{order:?}: a state that is over");
    }

    /// A document that is written, forgotten and read again left a turn behind each time, and the turns of many
    /// documents stayed when the documents had gone.
    #[test]
    fn turns_go_with_the_entries() {
        let cache = Cache::new(1 << 30);
        let room = || {
            let mut room = (0, 0, 0);
            for shard in &cache.shards {
                let shard = shard.lock();
                room.0 += shard.turns.len();
                room.1 = room.1.max(shard.turns.capacity());
                room.2 = room.2.max(shard.entries.capacity());
            }
            room
        };
        for csn in 1..2_000 {
            cache.publish(key(), state_at(csn * 2));
            cache.forget(&key(), Csn(csn * 2 + 1));
        }
        assert!(room().0 <= ROOM_MIN + 1, "{} turns of one document", room().0);
        let many: Vec<Key> = (0..50_000)
            .map(|n| (TableId(16), Prefix::new(&format!("d{n}")).expect("a good key")))
            .collect();
        many.iter().for_each(|key| cache.publish(key.clone(), state_at(5_000)));
        assert!(room().0 >= many.len(), "each has its turn");
        many.iter().for_each(|key| cache.forget(key, Csn(5_001)));
        let (turns, of_turns, of_entries) = room();
        assert!(turns <= SHARDS * (ROOM_MIN + 1), "{turns} turns of nothing");
        assert!(of_turns.max(of_entries) <= ROOM_MIN * 8, "room for {of_turns}, {of_entries}");
        // A turn that is over drops nobody: the entry that came again has its own.
        let mut shard = Shard::default();
        shard.insert(key(), state_at(1), usize::MAX);
        shard.entries.clear();
        shard.bytes = 0;
        shard.insert(key(), state_at(2), usize::MAX);
        shard.insert((TableId(16), Prefix::new("e").expect("a good key")), state_at(2), usize::MAX);
        shard.shrink(shard.bytes - 1);
        assert_eq!(shard.entries.len(), 1);
    }

    /// The newest document was kept whatever its size: one of 100 MB stayed after its statement.
    #[test]
    fn a_document_that_takes_half_of_the_cache_is_not_kept() {
        let bytes = state_at(1).bytes();
        for (budget, is_kept) in [(bytes / 4, true), (bytes / SHARDS, false)] {
            let mut shard = Shard::default();
            shard.insert(key(), state_at(1), budget);
            assert_eq!(shard.entries.len(), usize::from(is_kept), "{bytes} of {budget} a shard");
            assert_eq!(shard.bytes, if is_kept { bytes } else { 0 });
        }
    }

    /// A statement read a large document twice, because the cache had dropped it: first for its value, and then to change it.
    #[test]
    fn a_large_document_is_shared_as_long_as_a_reader_has_it() {
        let cache = Cache::new(SHARDS);
        let tree = Arc::new(Tree::read(&b"[1]"[..]).expect("is a document"));
        let publish = |csn, tree| {
            cache.publish(key(), State { tree: Some(tree), ..state_at(csn) });
            assert_eq!(cache.bytes(), 0, "it takes more than half of the cache");
        };
        let found = |at| cache.get(&key(), Csn(at)).and_then(|state| state.tree);
        publish(5, Arc::clone(&tree));
        assert!(found(5).is_some_and(|found| Arc::ptr_eq(&found, &tree)));
        assert!(found(4).is_none(), "it is too new");
        let next = Arc::new(Tree::read(&b"[2]"[..]).expect("is a document"));
        publish(6, Arc::clone(&next));
        assert!(found(7).is_some_and(|found| Arc::ptr_eq(&found, &next)));
        cache.forget(&key(), Csn(8));
        assert!(found(8).is_none(), "it is over");
        publish(9, Arc::clone(&next));
        drop((tree, next));
        assert!(found(9).is_none(), "nobody has it");
    }

    fn orders(left: &mut [usize; 3], order: &mut Vec<usize>, each: &mut impl FnMut(&[usize])) {
        if left.iter().all(|steps| *steps == 0) {
            return each(order);
        }
        for turn in 0..left.len() {
            if left[turn] > 0 {
                left[turn] -= 1;
                order.push(turn);
                orders(left, order, each);
                order.pop();
                left[turn] += 1;
            }
        }
    }

    /// Each method is one step under one lock, so every interleaving of threads is an order of calls:
    /// all orders of three commits and two readers, and all ways to publish the commits.
    #[test]
    fn no_interleaving_shows_a_state_that_is_over() {
        let mut played = 0;
        let reader = Step::Reader { done: 0, snapshot: 0, missed: false };
        let steps = &mut [2 * COMMITS as usize, 3, 3];
        orders(steps, &mut Vec::new(), &mut |order| {
            for unknown in 0..1 << COMMITS {
                play(order, [Step::Writer { done: 0, unknown }, reader, reader]);
                played += 1;
            }
        });
        assert_eq!(played, 18_480 * 8);
    }

    /// Every commit of a document publishes its list. It once kept every page ever filled and added
    /// up the bytes of all of them each time: after a million revisions that was a quarter of a commit.
    #[test]
    fn a_list_that_grows_keeps_as_much_and_knows_how_much() {
        let list = RevisionList::new(
            TableId(16),
            Prefix::new("d").unwrap(),
            0,
            Timed::default(),
            Arc::default(),
        );
        for revision in 1..=(3 * PAGES_KEPT as u64) * PAGE + 5 {
            let entry = Entry { csn: Csn(revision), deleted: None, touched: Touched::First };
            list.push(entry, Moments { time_us: revision, authored_us: None });
        }
        let pages = list.inner.read();
        assert_eq!((pages.tail_number, pages.tail.times.len()), (3 * PAGES_KEPT as u32, 5));
        let newest = 2 * PAGES_KEPT as u32..3 * PAGES_KEPT as u32;
        assert!(pages.full.keys().copied().eq(newest), "the newest pages are kept");
        let held: usize = pages.full.values().map(|page| page.bytes()).sum();
        let earliest = 3 * PAGES_KEPT * size_of::<u64>();
        assert_eq!(list.bytes(), held + pages.tail.bytes() + earliest);
    }

    /// An import of long histories asks for the past by authored time. Each question once read the time of every
    /// revision since: now pages whose earliest moment is later are passed over.
    #[test]
    fn pages_of_later_moments_are_passed_over() {
        let prefix = Prefix::new("d").unwrap();
        let list = RevisionList::new(TableId(16), prefix, 0, Timed::default(), Arc::default());
        let revisions = 3 * PAGE + 5;
        for revision in 1..=revisions {
            let entry = Entry { csn: Csn(revision), deleted: None, touched: Touched::First };
            // In the second page stands one revision that was made before all others.
            let authored_us = if revision == PAGE + 9 { 7 } else { revision * 10 };
            let moments = Moments { time_us: 1_000_000, authored_us: Some(authored_us) };
            list.push(entry, moments);
        }
        // The newest page still grows, and is looked at.
        assert_eq!(list.page_with(7, revisions), Some(3));
        assert_eq!(list.page_with(7, 3 * PAGE), Some(1), "page 2 is passed over");
        assert_eq!(list.page_with(6, 3 * PAGE), None, "and so are all pages");
        assert_eq!(list.page_with(PAGE * 20, 3 * PAGE), Some(1));
        assert_eq!(list.page_with(PAGE * 30, 3 * PAGE), Some(2));
    }
}
