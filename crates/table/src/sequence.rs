//! Sequences: numbers that nobody gets twice, whether or not the transactions that asked for them
//! commit.
//!
//! ```text
//!   state in the store   last 32, called                      last 64, called
//!   given out            1 2 3 ... 31 32 │ 33: 32 more are reserved by a commit of its own
//!                                        └── which is ordered in the log before any that uses them,
//!                                            so nobody waits for the disk
//!
//!   storage of the sequence    key  's'      value  last, 8 bytes · called, 1 byte
//! ```
//!
//! What the store has is ahead of what was given out: after a crash a sequence goes on from there, and
//! up to 31 numbers are never given out. After a clean close ([`Sequences::save`]) none are lost.
//!
//! # Invariants
//! * A number is given out only after a state at or past it has its place in the log.
//! * One thread at a time advances a sequence; nothing waits for a transaction here.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use parking_lot::{Mutex, RwLock};
use store::TableId;
use txn::{CommitMeta, Durability, Engine, Isolation, Ordered};
use types::{Oid, SqlState};

use crate::catalog::{Relation, Sequence};
use crate::{Error, Result};

const KEY: &[u8] = b"s";
/// Numbers reserved at once.
const RESERVED: usize = 32;

/// Where a sequence stands: what `SELECT * FROM sequence` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceState {
    /// The number given out last, or the first one.
    pub last: i64,
    /// False where `last` itself is the next one.
    pub is_called: bool,
}

impl SequenceState {
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.last.to_le_bytes().to_vec();
        bytes.push(u8::from(self.is_called));
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<SequenceState> {
        let (last, is_called) = bytes.split_first_chunk::<8>()?;
        let is_called = match is_called {
            [0] => false,
            [1] => true,
            _ => return None,
        };
        Some(SequenceState { last: i64::from_le_bytes(*last), is_called })
    }

    /// The state after the next number; `None` at the end of one that does not cycle.
    fn next(self, sequence: &Sequence) -> Option<SequenceState> {
        let Sequence { increment, min, max, cycle, .. } = *sequence;
        if !self.is_called {
            return Some(SequenceState { is_called: true, ..self });
        }
        let next = self.last.checked_add(increment).filter(|next| *next >= min && *next <= max);
        let begin = if increment > 0 { min } else { max };
        let last = next.or(cycle.then_some(begin))?;
        Some(SequenceState { last, is_called: true })
    }
}

struct Open {
    state: SequenceState,
    /// What the store has, or is about to.
    stored: Option<SequenceState>,
    /// Numbers that may be given out before more must be reserved.
    reserved: usize,
    /// The last reservation, until it is known to be visible.
    ordered: Option<Ordered>,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("state", &self.state).finish_non_exhaustive()
    }
}

type Known = HashMap<TableId, Arc<Mutex<Open>>, FixedState>;

/// The sequences of an engine.
#[derive(Debug)]
pub struct Sequences {
    engine: Arc<Engine>,
    known: RwLock<Known>,
}

impl Sequences {
    /// The sequences of `engine`. To be dropped, after [`Sequences::save`], before that is closed.
    pub fn new(engine: Arc<Engine>) -> Sequences {
        Sequences { engine, known: RwLock::default() }
    }

    /// The next number of a sequence.
    ///
    /// # Errors
    /// 2200H where it has come to its end and does not cycle; what the reservation's commit reports.
    pub fn next(&self, relation: &Relation) -> Result<i64> {
        let sequence = definition(relation)?;
        let open = self.open(sequence)?;
        let mut open = open.lock();
        let Some(next) = open.state.next(sequence) else {
            return Err(at_end(relation, sequence));
        };
        if open.reserved == 0 {
            let (mut ahead, mut count) = (next, 1);
            // A cycle begins with a reservation of its own, so that what is stored is never behind.
            while count < RESERVED
                && let Some(further) = ahead.next(sequence)
                && (further.last > ahead.last) == (sequence.increment > 0)
            {
                (ahead, count) = (further, count + 1);
            }
            self.store(sequence.storage, &mut open, ahead)?;
            open.reserved = count;
        }
        open.reserved -= 1;
        open.state = next;
        Ok(next.last)
    }

    /// Where a sequence stands.
    pub fn state(&self, relation: &Relation) -> Result<SequenceState> {
        Ok(self.open(definition(relation)?)?.lock().state)
    }

    /// Sets where a sequence stands, at once and for all, whatever becomes of the caller's transaction.
    ///
    /// # Errors
    /// 22003 where the number is not one of the sequence.
    pub fn set(&self, relation: &Relation, state: SequenceState) -> Result<()> {
        let sequence = definition(relation)?;
        if state.last < sequence.min || state.last > sequence.max {
            let message = format!(
                "setval: value {} is out of bounds for sequence \"{}\" ({}..{})",
                state.last, relation.name, sequence.min, sequence.max
            );
            return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let open = self.open(sequence)?;
        let mut open = open.lock();
        self.store(sequence.storage, &mut open, state)?;
        open.state = state;
        open.reserved = 0;
        Ok(())
    }

    /// Writes where all sequences stand, so that no numbers are lost, and waits until that is visible.
    pub fn save(&self) -> Result<()> {
        let known: Vec<_> =
            self.known.read().iter().map(|(id, open)| (*id, open.clone())).collect();
        for (storage, open) in known {
            let mut open = open.lock();
            let state = open.state;
            if open.stored.is_some_and(|stored| stored != state) {
                self.store(storage, &mut open, state)?;
                open.reserved = 0;
            }
            if let Some(ordered) = open.ordered.take() {
                ordered.wait()?;
            }
        }
        Ok(())
    }

    fn open(&self, sequence: &Sequence) -> Result<Arc<Mutex<Open>>> {
        let storage = sequence.storage;
        if let Some(open) = self.known.read().get(&storage) {
            return Ok(Arc::clone(open));
        }
        let mut known = self.known.write();
        if let Some(open) = known.get(&storage) {
            return Ok(Arc::clone(open));
        }
        let stored = match self.engine.snapshot().read(storage, KEY)? {
            None => None,
            Some(found) => {
                let state = SequenceState::from_bytes(found.base());
                Some(state.ok_or(Error::Damaged { what: "the state of a sequence" })?)
            }
        };
        let state = stored.unwrap_or(SequenceState { last: sequence.start, is_called: false });
        let open = Open { state, stored, reserved: 0, ordered: None };
        let open = Arc::new(Mutex::new(open));
        known.insert(storage, Arc::clone(&open));
        Ok(open)
    }

    /// Gives a state its place in the log.
    fn store(&self, storage: TableId, open: &mut Open, state: SequenceState) -> Result<()> {
        if let Some(before) = open.ordered.take() {
            before.wait()?; // It is visible long since, or its waiting serves others as well.
        }
        let mut txn = self.engine.begin(Isolation::ReadCommitted);
        txn.put(storage, KEY, state.to_bytes())?;
        let meta = CommitMeta { durability: Some(Durability::Os), ..CommitMeta::default() };
        open.ordered = Some(txn.order(meta)?);
        open.stored = Some(state);
        Ok(())
    }
}

/// What a session remembers of sequences: `currval` and `lastval`.
#[derive(Clone, Debug, Default)]
pub struct SessionSequences {
    values: HashMap<Oid, i64, FixedState>,
    last: Option<Oid>,
}

impl SessionSequences {
    /// `nextval` of this session gave this number.
    pub fn note(&mut self, relation: &Relation, value: i64) {
        self.values.insert(relation.oid, value);
        self.last = Some(relation.oid);
    }

    /// The number that the session got last from a sequence.
    ///
    /// # Errors
    /// 55000 where it got none.
    pub fn current(&self, relation: &Relation) -> Result<i64> {
        self.values.get(&relation.oid).copied().ok_or_else(|| {
            let name = &relation.name;
            not_yet(format!("currval of sequence \"{name}\" is not yet defined in this session"))
        })
    }

    /// The number that the session got last from any sequence, and which.
    ///
    /// # Errors
    /// 55000 where it got none.
    pub fn last(&self) -> Result<(Oid, i64)> {
        let last = self.last.and_then(|oid| Some((oid, *self.values.get(&oid)?)));
        last.ok_or_else(|| not_yet("lastval is not yet defined in this session".to_owned()))
    }

    /// `DISCARD SEQUENCES`.
    pub fn clear(&mut self) {
        *self = SessionSequences::default();
    }
}

fn not_yet(message: String) -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

fn definition(relation: &Relation) -> Result<&Sequence> {
    relation.sequence().ok_or_else(|| {
        let message = format!("\"{}\" is not a sequence", relation.name);
        Error::new(SqlState::WRONG_OBJECT_TYPE, message)
    })
}

fn at_end(relation: &Relation, sequence: &Sequence) -> Error {
    let (which, value) = match sequence.increment > 0 {
        true => ("maximum", sequence.max),
        false => ("minimum", sequence.min),
    };
    let message =
        format!("nextval: reached {which} value of sequence \"{}\" ({value})", relation.name);
    Error::new(SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message)
}
