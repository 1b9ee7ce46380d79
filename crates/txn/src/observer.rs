//! [`Observer`]: state in memory that follows from the commits, and is told of each.
//!
//! ```text
//!   transaction ── order ──> log, store ── sync ──> observers ──> visible
//!   another engine's log ── Engine::apply ────────────┘
//!                                commits 41, 42, 43: one after the other, each with its record
//! ```
//!
//! A catalog in memory, a cache, a count is a function of the commits so far. It is read once from
//! a snapshot, and from then on every commit is shown to it, before readers see the commit. The
//! result of an observer follows from the commit's record alone, so that the same observer works in
//! an engine that follows the log of another one. A committing transaction can add *hints*: values
//! that it has at hand, such as an image that it has just built. An observer that finds a hint
//! saves the work of deriving the same from the record.
//!
//! # Invariants
//! * Every observer sees the commits that write tables which it follows: each once, in the order of
//!   their numbers, before they are visible.
//! * A hint changes what an observer has to do, never what it ends up with.

use std::any::Any;
use std::sync::{Arc, Weak};

use parking_lot::RwLock;
use smallvec::SmallVec;
use store::{Csn, TableId};

use crate::changes::ChangeList;
use crate::engine::Commit;
use crate::record::{self, RecordWrites};

/// A value that a committing transaction hands to an observer.
pub type Hint = Box<dyn Any + Send>;

/// State in memory that follows from the commits of an engine.
pub trait Observer: Send + Sync {
    /// Returns true for the tables whose writes the observer follows. The answer never changes.
    fn follows(&self, table: TableId) -> bool;

    /// Returns true if the observer reads the writes to a key from the record ([`Observed::writes`]). A large commit
    /// leaves puts and deletions of all other keys out of its record and writes them to files. The answer never changes.
    fn reads(&self, table: TableId, key: &[u8]) -> bool {
        let _ = key;
        self.follows(table)
    }

    /// Takes in a commit that has written at least one table that the observer follows. It must be
    /// quick, must not panic and must not use the engine: every commit waits for it.
    fn observe(&self, commit: &mut Observed<'_>);

    /// Hears that the commits up to `newest` are visible, whatever tables they have written. It is
    /// called by the thread that commits, so it must be as quick.
    fn shown(&self, newest: Csn) {
        let _ = newest;
    }
}

/// A commit, as observers see it.
pub struct Observed<'a> {
    commit: Commit,
    record: &'a [u8],
    hints: &'a mut Vec<Hint>,
}

impl<'a> Observed<'a> {
    /// The number of the commit.
    pub fn csn(&self) -> Csn {
        self.commit.csn
    }

    /// The time of the commit, in microseconds since 1970 UTC.
    pub fn time_us(&self) -> u64 {
        self.commit.time_us
    }

    /// When the commit was made where it came from, in microseconds since 1970 UTC; `None` if the writer did not
    /// say.
    pub fn authored_us(&self) -> Option<u64> {
        record::authored_us(self.record)
    }

    /// The writes of the commit, in their order. Keys of bulk loads are not among them.
    pub fn writes(&self) -> RecordWrites<'a> {
        record::writes(self.record)
    }

    /// The tables that the commit has changed, ascending, of those of which transactions note changes
    /// ([`Transaction::note_changes`](crate::Transaction::note_changes)).
    pub fn changes(&self) -> ChangeList {
        record::changes(self.record)
    }

    /// Takes out the hints of a type, in the order in which the transaction gave them.
    pub fn take_hints<T: 'static>(&mut self) -> Vec<T> {
        let mut taken = Vec::new();
        for hint in std::mem::take(self.hints) {
            match hint.downcast::<T>() {
                Ok(hint) => taken.push(*hint),
                Err(other) => self.hints.push(other),
            }
        }
        taken
    }
}

/// The observers that follow a table.
pub(crate) struct Readers(SmallVec<[Arc<dyn Observer>; 4]>);

impl Readers {
    /// True if one of them reads the writes to a key from the record.
    pub fn read(&self, table: TableId, key: &[u8]) -> bool {
        self.0.iter().any(|observer| observer.reads(table, key))
    }
}

/// The observers of an engine. It does not keep them alive: what they hold may hold the engine.
#[derive(Default)]
pub(crate) struct Observers(RwLock<Vec<Weak<dyn Observer>>>);

impl Observers {
    pub fn add(&self, observer: Weak<dyn Observer>) {
        let mut observers = self.0.write();
        observers.retain(|known| known.strong_count() > 0);
        observers.push(observer);
    }

    /// Shows a commit, which has written these tables, to the observers that follow one of them.
    pub fn show(&self, commit: Commit, record: &[u8], tables: &[TableId], mut hints: Vec<Hint>) {
        for observer in self.0.read().iter().filter_map(Weak::upgrade) {
            if tables.iter().any(|table| observer.follows(*table)) {
                observer.observe(&mut Observed { commit, record, hints: &mut hints });
            }
        }
    }

    /// Returns the observers that follow a table.
    pub fn of(&self, table: TableId) -> Readers {
        let observers = self.0.read();
        let followers = observers.iter().filter_map(Weak::upgrade);
        Readers(followers.filter(|observer| observer.follows(table)).collect())
    }

    /// Tells all observers that the commits up to `newest` are visible.
    pub fn tell(&self, newest: Csn) {
        self.0.read().iter().filter_map(Weak::upgrade).for_each(|observer| observer.shown(newest));
    }
}
