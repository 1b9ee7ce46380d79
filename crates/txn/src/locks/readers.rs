//! Weak locks of relations: sessions that read or change rows do not touch the table of locks.
//!
//! ```text
//!   session 1   Reader [t Read, u RowExclusive] ┐ a mutex each, that      strong[hash % 256]
//!   session 2   Reader [t Read]                 ┘ nobody else wants         t: 0   u: 0
//!
//!   session 3   LOCK TABLE t IN ACCESS EXCLUSIVE MODE
//!     strong[t] = 1                    later sessions go to the table of locks, and wait there
//!     t of session 1 and of session 2  ──moved──> the table of locks, as if they had locked it there
//!     waits for both as for any other owner
//! ```
//!
//! The modes of queries and changes of rows get along with one another, so they need the table of
//! locks only where a transaction has asked for a stronger mode. A session notes the relation in its own
//! list, under a mutex of its own, and looks under the same mutex whether such a locker is about. A
//! locker says that it is about before it looks through the lists. Whichever of the two takes the
//! mutex of a list first, one of them sees the other. (PostgreSQL's fast path for relation locks is
//! the same idea.)
//!
//! # Invariants
//! * A lock that was moved is in the table of locks until its transaction lets go of the entry.
//! * `strong` counts the transactions that hold a strong mode of a relation or ask for one.
//! * The mutex of a reader is taken before a shard, and never the other way round.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::{Held, LockManager, Modes, RowHash, TxnId};

/// Most locks that one session notes. Its further locks are in the table of locks.
const NOTED_MAX: usize = 32;

/// How many counters of lockers there are.
const COUNTERS: usize = 256;

/// The weak locks of one session.
#[derive(Debug, Default)]
pub struct Reader {
    noted: Mutex<Vec<Noted>>,
}

/// A relation that a transaction reads or changes.
#[derive(Clone, Copy, Debug)]
struct Noted {
    txn: TxnId,
    row: RowHash,
    modes: Modes,
    /// True if the table of locks has it as well.
    is_moved: bool,
}

/// The lists of all sessions, and how many keep them out.
pub(super) struct Readers {
    strong: Box<[AtomicU32]>,
    all: Mutex<Vec<Weak<Reader>>>,
}

impl Readers {
    pub(super) fn new() -> Readers {
        Readers {
            strong: (0..COUNTERS).map(|_| AtomicU32::new(0)).collect(),
            all: Mutex::default(),
        }
    }

    fn strong(&self, row: RowHash) -> &AtomicU32 {
        &self.strong[row.0 as usize % COUNTERS]
    }

    fn all(&self) -> Vec<Arc<Reader>> {
        let mut all = self.all.lock();
        all.retain(|reader| reader.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).collect()
    }
}

/// The result of an attempt to note a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Noting {
    /// It was noted before.
    Already,
    /// It is noted now.
    Now,
    /// It is for the table of locks to say.
    Refused,
}

impl LockManager {
    /// A list for the weak locks of one session.
    pub(crate) fn reader(&self) -> Arc<Reader> {
        let reader = Arc::new(Reader::default());
        let mut all = self.readers.all.lock();
        all.retain(|reader| reader.strong_count() > 0);
        all.push(Arc::downgrade(&reader));
        reader
    }

    /// Notes a weak lock of `txn`, unless another transaction holds or awaits a strong lock.
    #[inline]
    pub(crate) fn note(&self, reader: &Reader, txn: TxnId, row: RowHash, modes: Modes) -> Noting {
        let mut noted = reader.noted.lock();
        let own = noted.iter().filter(|known| (known.txn, known.row) == (txn, row));
        if own.fold(Modes::NONE, |all, known| all.with(known.modes)).cover(modes) {
            return Noting::Already;
        }
        // The mutex orders this after the count of a locker that has been here already.
        if noted.len() >= NOTED_MAX || self.readers.strong(row).load(Ordering::Acquire) > 0 {
            return Noting::Refused;
        }
        noted.push(Noted { txn, row, modes, is_moved: false });
        Noting::Now
    }

    /// Lets go of what `txn` has noted, but for the first `kept`.
    pub(crate) fn forget(&self, reader: &Reader, txn: TxnId, kept: usize) {
        let mut moved = Vec::new();
        let mut place = 0;
        reader.noted.lock().retain(|known| {
            if known.txn != txn {
                return true;
            }
            place += 1;
            if place > kept && known.is_moved {
                moved.push(Held { row: known.row, modes: known.modes });
            }
            place <= kept
        });
        if !moved.is_empty() {
            self.unlock(txn, &moved);
        }
    }

    /// Sends weak locks of a relation to the table of locks from now on, and moves the locks there
    /// that were noted before. [`LockManager::weaken`] ends that.
    pub(crate) fn strengthen(&self, row: RowHash) {
        self.readers.strong(row).fetch_add(1, Ordering::AcqRel);
        for reader in self.readers.all() {
            let mut noted = reader.noted.lock();
            for known in noted.iter_mut().filter(|known| known.row == row && !known.is_moved) {
                // No strong lock conflicts: a transaction that took one before would have moved the note.
                self.give(known.txn, row, known.modes);
                known.is_moved = true;
            }
        }
    }

    /// Ends what [`LockManager::strengthen`] began.
    pub(crate) fn weaken(&self, row: RowHash) {
        self.readers.strong(row).fetch_sub(1, Ordering::AcqRel);
    }

    /// Calls `each` with every lock that is noted and is not in the table of locks.
    pub(crate) fn noted(&self, mut each: impl FnMut(TxnId, RowHash, Modes)) {
        for reader in self.readers.all() {
            let noted = reader.noted.lock();
            for known in noted.iter().filter(|known| !known.is_moved) {
                each(known.txn, known.row, known.modes);
            }
        }
    }
}
