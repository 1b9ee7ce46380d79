//! The flush: a frozen memtable becomes a current run and a history run.
//!
//! ```text
//!   key k         csn ->   31        44      52            60 = durable       61
//!   current before        [image]
//!   memtable                        [+44]   [+52]                            [+61]
//!   ───────────────────────────────────────────────────────────────────────────────
//!   current after                           [image 52]
//!   history run           [image 31][+44]   [+52]
//!   memtable after                                                           [+61]
//! ```
//!
//! A Put that was current and is superseded has its only record in current: it moves to history as
//! itself. An Image that was current has its change in history already: it moves only where the first
//! new change is a delta that stands on it, or where retention may have dropped that change.
//!
//! # Invariants
//! * Nothing above the durable commit is written.
//! * Runs and checkpoint appear in one manifest swap; until then nothing has changed, and after a
//!   failure the flush can be tried again.

use crate::filter;
use crate::group::{Entry, Group, Tag};
use crate::key;
use crate::memtable::Chain;
use crate::run::{Run, RunCursor};
use crate::segment::{Half, Meta};
use crate::stats::Counters;
use crate::store::{Frozen, Shared, State, Store};
use crate::versioned::{Gather, Step, Versioned};
use crate::writer::{HistoryWriter, RunWriter};
use crate::{Checkpoint, Csn, Retention, StoreError, Table, TableId};
use std::sync::Arc;

/// The compression of what a flush writes: it will be merged again.
const LEVEL: i32 = 3;

/// A current and a history run, where there is anything in them.
type Runs = (Option<Arc<Run>>, Option<Arc<Run>>);

impl Store {
    /// Writes everything durable to segment files and waits until it is there. Commits that are not
    /// durable yet stay in memory. After an error nothing has changed and the call may be repeated,
    /// unless the store is poisoned.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.shared.flush()
    }
}

impl Shared {
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let _one = self.flushing.lock();
        self.check_poison()?;
        let (durable, note) = self.durable.lock().clone();
        if self.state().active.first() <= durable.0 {
            self.freeze();
        }
        self.flush_frozen(durable, &note)?;
        // Commits that wrote nothing here are covered too, so that the log can release them.
        let state = self.state();
        if durable > state.checkpoint.csn && state.memtables().all(|m| m.first() > durable.0) {
            let checkpoint = Checkpoint { csn: durable, note };
            self.install(|state| state.checkpoint = checkpoint.clone())?;
        }
        Ok(())
    }

    /// Flushes the frozen memtables that are durable as a whole.
    pub(crate) fn flush_whole(&self) -> Result<(), StoreError> {
        let _one = self.flushing.lock();
        self.check_poison()?;
        let (durable, note) = self.durable.lock().clone();
        while self.state().frozen.first().is_some_and(|f| f.mem.last() <= durable.0) {
            self.flush_first(durable, &note)?;
        }
        Ok(())
    }

    fn flush_frozen(&self, durable: Csn, note: &[u8]) -> Result<(), StoreError> {
        while self.state().frozen.first().is_some_and(|f| f.mem.first() <= durable.0) {
            self.flush_first(durable, note)?;
        }
        Ok(())
    }

    /// Flushes the oldest frozen memtable up to `durable`.
    fn flush_first(&self, durable: Csn, note: &[u8]) -> Result<(), StoreError> {
        let state = self.state();
        let Some(frozen) = state.frozen.first().cloned() else { return Ok(()) };
        let cutoff = frozen.mem.last().min(durable.0);
        let checkpoint = if cutoff == durable.0 {
            Checkpoint { csn: durable, note: note.to_vec() }
        } else {
            Checkpoint { csn: Csn(cutoff), note: frozen.note.clone() }
        };
        let late: Vec<Arc<Run>> = frozen.mem.late().iter().map(|late| late.run.clone()).collect();
        let superseded = self.write_superseded(&state, &frozen)?;
        let mut upon = (*state).clone();
        upon.current.extend(late.iter().cloned());
        let written = self.write_runs(&upon, &frozen, cutoff);
        let (current, history) = written.inspect_err(|_| {
            superseded.iter().flat_map(|run| &run.segments).for_each(|segment| segment.doom());
        })?;
        let rest = frozen
            .mem
            .above(cutoff)
            .map(|mem| Arc::new(Frozen { mem: Arc::new(mem), note: checkpoint.note.clone() }));
        let runs = || current.iter().chain(&superseded).chain(&history);
        let written: u64 = runs().map(|run| run.bytes).sum();
        let installed = self.install(|state| {
            assert!(Arc::ptr_eq(&state.frozen[0], &frozen), "memtables are flushed oldest first");
            state.frozen.remove(0);
            if let Some(rest) = &rest {
                state.frozen.insert(0, rest.clone());
            }
            state.checkpoint = checkpoint.clone();
            state.current.extend(late.iter().chain(&current).cloned());
            state.history.extend(superseded.iter().chain(&history).cloned());
        });
        self.unless_installed(installed, runs())?;
        Counters::add(&self.counters.flushes, 1);
        Counters::add(&self.counters.written, written);
        self.background.memtables_changed(self, true);
        Ok(())
    }

    /// Writes to a history run what the late runs below a memtable have superseded, and what they have
    /// deleted. Only keys that an older current run has are looked at: the late runs and the current runs
    /// are walked together, each over the stretches in which the others have no key.
    fn write_superseded(
        &self,
        state: &State,
        frozen: &Frozen,
    ) -> Result<Option<Arc<Run>>, StoreError> {
        let walk = |runs: &[Arc<Run>]| -> Vec<RunCursor> {
            self.uncached(runs).into_iter().map(|run| RunCursor::new(run, false)).collect()
        };
        // Newest first: what that has of a key counts.
        let mut older = walk(&state.images().cloned().collect::<Vec<_>>());
        let late = frozen.mem.late().iter().filter(|late| !late.is_fresh);
        let mut late = walk(&late.map(|late| late.run.clone()).collect::<Vec<_>>());
        late.iter_mut().try_for_each(|cursor| cursor.seek(None, false))?;
        let Some(first) = late.iter().filter_map(RunCursor::key).min().map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        older.iter_mut().try_for_each(|cursor| cursor.seek(Some(&first), false))?;
        let mut out = HistoryWriter::new(&self.writer_context, LEVEL);
        let mut chain;
        let mut key = Vec::new();
        loop {
            let keys = late.iter().enumerate().filter_map(|(at, run)| Some((run.key()?, at)));
            let Some((next, at)) = keys.min() else { break };
            key.clear();
            key.extend_from_slice(next);
            for cursor in &mut older {
                cursor.seek_ahead(&key)?;
            }
            let Some(first) = older.iter().filter_map(RunCursor::key).min() else { break };
            if first > key.as_slice() {
                // Nothing older has a key before this one.
                let first = first.to_vec();
                late.iter_mut().try_for_each(|cursor| cursor.seek_ahead(&first))?;
                continue;
            }
            let old = older.iter().find(|cursor| cursor.key() == Some(&key));
            if let (Some((block, place)), Some((late, at))) =
                (old.and_then(RunCursor::entry), late[at].entry())
                && let Some(entry) = late.group(&at).entries().next()
            {
                let (id, short) = key::split(&key);
                let table = (self.resolve)(id);
                if table.keeps_history(short) {
                    chain = Chain::default();
                    chain.push(entry.csn, entry.tag, entry.bytes);
                    let old = block.group(&place).entries().next();
                    past(state, &key, &chain, entry.csn, &table, old, &mut out)?;
                }
            }
            late[at].advance()?;
        }
        let metas = out.finish()?;
        if metas.is_empty() {
            return Ok(None);
        }
        let run = self.open_run(Half::History, metas.clone());
        run.map(Some).inspect_err(|_| self.discard(&metas))
    }

    /// Writes the entries of a memtable up to `cutoff`, durably; the runs are not installed yet.
    fn write_runs(&self, state: &State, frozen: &Frozen, cutoff: u64) -> Result<Runs, StoreError> {
        let mut flush = Flush {
            state,
            cutoff,
            current: RunWriter::new(&self.writer_context, Half::Current, LEVEL),
            history: HistoryWriter::new(&self.writer_context, LEVEL),
            image: Vec::new(),
            group: Group::default(),
        };
        let mut table: Option<(TableId, Arc<dyn Table>)> = None;
        for (full, chain) in frozen.mem.read().iter() {
            let (id, _) = key::split(full);
            let (_, table) = match &mut table {
                Some(known) if known.0 == id => known,
                other => other.insert((id, (self.resolve)(id))),
            };
            flush.key(full, chain, table)?;
        }
        let (current, history) = (flush.current.finish()?, flush.history.finish());
        let history = history.inspect_err(|_| self.discard(&current))?;
        let open = |half, metas: &[Meta]| {
            if metas.is_empty() { Ok(None) } else { self.open_run(half, metas.to_vec()).map(Some) }
        };
        let opened =
            open(Half::Current, &current).and_then(|c| Ok((c, open(Half::History, &history)?)));
        opened.inspect_err(|_| {
            self.discard(&current);
            self.discard(&history);
        })
    }

    /// After an installation that failed before the manifest was touched, no manifest will ever name the
    /// new runs. After a failed swap the one on disk may: then their files stay.
    pub(crate) fn unless_installed<'a>(
        &self,
        installed: Result<(), StoreError>,
        runs: impl Iterator<Item = &'a Arc<Run>>,
    ) -> Result<(), StoreError> {
        if installed.is_err() && self.check_poison().is_ok() {
            runs.flat_map(|run| &run.segments).for_each(|s| s.doom());
        }
        installed
    }

    /// Removes finished files that no manifest will name.
    pub(crate) fn discard(&self, metas: &[Meta]) {
        for meta in metas {
            // Where this fails the file is an orphan, and the next opening removes it.
            let _ = self.writer_context.home.delete(&meta.name());
        }
    }
}

/// One flush at work.
struct Flush<'a> {
    state: &'a State,
    cutoff: u64,
    current: RunWriter,
    history: HistoryWriter,
    image: Vec<u8>,
    group: Group,
}

impl Flush<'_> {
    fn key(
        &mut self,
        full: &[u8],
        chain: &Chain,
        table: &Arc<dyn Table>,
    ) -> Result<(), StoreError> {
        let Some((group, found)) = chain.find(self.cutoff) else { return Ok(()) };
        let old = self.state.find_current(full, filter::hash(full))?;
        let keeps = table.keeps_history(key::split(full).1);
        if keeps {
            let old =
                old.as_ref().and_then(|(block, place, _)| block.group(place).entries().next());
            past(self.state, full, chain, self.cutoff, table, old, &mut self.history)?;
        }
        let mut gather = Gather::default();
        let mut known = None;
        match gather.group(group, found) {
            Step::Known(state) => known = state,
            Step::Below => {
                if let Some((block, place, found)) = &old
                    && let Step::Known(state) = gather.block(block, place, *found)
                {
                    known = state;
                }
            }
        }
        let known = crate::read::end(full, gather, known)?;
        let is_put = found.deltas == 0 && found.anchor.is_some_and(|a| a.tag == Tag::Put);
        match known {
            Some(known) => {
                self.now(full, &known, table, if is_put || !keeps { Tag::Put } else { Tag::Image })
            }
            None if old.is_none() => Ok(()),
            None => self.write(full, found.csn, Tag::Delete),
        }
    }

    /// Writes the newest image.
    fn now(
        &mut self,
        full: &[u8],
        known: &Versioned,
        table: &Arc<dyn Table>,
        tag: Tag,
    ) -> Result<(), StoreError> {
        let (id, key) = key::split(full);
        self.image.clear();
        let mut image = std::mem::take(&mut self.image);
        known.image_into(&**table, key, &mut image).map_err(|source| StoreError::Merge {
            table: id,
            csn: known.csn(),
            source,
        })?;
        self.image = image;
        self.write(full, known.csn().0, tag)
    }

    fn write(&mut self, full: &[u8], csn: u64, tag: Tag) -> Result<(), StoreError> {
        let bytes = if tag == Tag::Delete { &[] } else { self.image.as_slice() };
        self.group.clear();
        self.group.push(csn, tag, bytes);
        self.current.push(full, &self.group)
    }
}

/// Writes to history what the newest change of a key superseded, and the newest change itself unless it is a
/// Put. `old` is the newest entry of the current runs.
fn past(
    state: &State,
    full: &[u8],
    chain: &Chain,
    cutoff: u64,
    table: &Arc<dyn Table>,
    old: Option<Entry<'_>>,
    history: &mut HistoryWriter,
) -> Result<(), StoreError> {
    let groups = chain.groups().iter().take_while(|g| g.first() <= cutoff);
    let mut entries =
        groups.flat_map(|g| g.view().entries()).take_while(|e| e.csn <= cutoff).peekable();
    let first_is_delta = entries.peek().is_some_and(|e| e.tag == Tag::Delta);
    let mut begun = false;
    let mut put = |e: Entry<'_>| {
        if !std::mem::replace(&mut begun, true) {
            history.begin(full, table)?;
        }
        history.entry(e.csn, e.tag, e.bytes)
    };
    if let Some(old) = old
        && (old.tag == Tag::Put
            || old.tag == Tag::Image && (first_is_delta || forgets(state, full, table, old.csn)))
    {
        put(old)?;
    }
    while let Some(e) = entries.next() {
        if e.tag != Tag::Put || entries.peek().is_some() {
            put(e)?;
        }
    }
    Ok(())
}

/// True if retention may have dropped, or be dropping, the change at `csn` from history.
fn forgets(state: &State, full: &[u8], table: &Arc<dyn Table>, csn: u64) -> bool {
    table.retention() != Retention::Forever || csn <= state.horizon(key::split(full).0).0
}
