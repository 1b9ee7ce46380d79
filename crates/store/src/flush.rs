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
use crate::run::Run;
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
    /// Writes everything durable to segment files and waits until it is there. What is not durable yet
    /// stays in memory. After an error nothing has changed and the call may be repeated, unless the store
    /// is poisoned.
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
        // Commits that wrote nothing here are covered too, so that the log can let go of them.
        let state = self.state();
        if durable > state.checkpoint.csn && state.memtables().all(|m| m.first() > durable.0) {
            let checkpoint = Checkpoint { csn: durable, note };
            self.install(|state| state.cover(&checkpoint))?;
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
        let (current, history) = self.write_runs(&state, &frozen, cutoff)?;
        let rest = frozen
            .mem
            .above(cutoff)
            .map(|mem| Arc::new(Frozen { mem: Arc::new(mem), note: checkpoint.note.clone() }));
        let written: u64 = current.iter().chain(&history).map(|run| run.bytes).sum();
        let installed = self.install(|state| {
            assert!(Arc::ptr_eq(&state.frozen[0], &frozen), "memtables are flushed oldest first");
            state.frozen.remove(0);
            if let Some(rest) = &rest {
                state.frozen.insert(0, rest.clone());
            }
            // A bulk load that is covered now lies below what later commits did to its keys.
            state.cover(&checkpoint);
            state.current.extend(current.clone());
            state.history.extend(history.clone());
        });
        self.unless_installed(installed, current.iter().chain(&history))?;
        Counters::add(&self.counters.flushes, 1);
        Counters::add(&self.counters.written, written);
        self.background.memtables_changed(self, true);
        Ok(())
    }

    /// Writes the entries of a memtable up to `cutoff`, durably; the runs are not installed yet.
    fn write_runs(&self, state: &State, frozen: &Frozen, cutoff: u64) -> Result<Runs, StoreError> {
        let mut flush = Flush {
            state,
            cutoff,
            current: RunWriter::new(&self.shop, Half::Current, LEVEL),
            history: HistoryWriter::new(&self.shop, LEVEL),
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
            let _ = self.shop.home.delete(&meta.name());
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
            self.past(full, chain, table, old)?;
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

    /// Writes what the newest change superseded, and the newest change itself unless it is a Put.
    fn past(
        &mut self,
        full: &[u8],
        chain: &Chain,
        table: &Arc<dyn Table>,
        old: Option<Entry<'_>>,
    ) -> Result<(), StoreError> {
        let cutoff = self.cutoff;
        let groups = chain.groups().iter().take_while(|g| g.first() <= cutoff);
        let mut entries =
            groups.flat_map(|g| g.view().entries()).take_while(|e| e.csn <= cutoff).peekable();
        let first_is_delta = entries.peek().is_some_and(|e| e.tag == Tag::Delta);
        let mut begun = false;
        let mut put = |history: &mut HistoryWriter, e: Entry<'_>| {
            if !std::mem::replace(&mut begun, true) {
                history.begin(full, table)?;
            }
            history.entry(e.csn, e.tag, e.bytes)
        };
        if let Some(old) = old
            && (old.tag == Tag::Put
                || old.tag == Tag::Image && (first_is_delta || self.forgets(full, table, old.csn)))
        {
            put(&mut self.history, old)?;
        }
        while let Some(e) = entries.next() {
            if e.tag != Tag::Put || entries.peek().is_some() {
                put(&mut self.history, e)?;
            }
        }
        Ok(())
    }

    /// True where retention may have dropped, or be dropping, the change at `csn` from history.
    fn forgets(&self, full: &[u8], table: &Arc<dyn Table>, csn: u64) -> bool {
        table.retention() != Retention::Forever || csn <= self.state.horizon(key::split(full).0).0
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
