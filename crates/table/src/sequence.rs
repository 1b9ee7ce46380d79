//! Sequences: numbers that are given out once, whether or not the transactions that asked for them
//! commit.
//!
//! ```text
//!   state in the store   last 32, called                      last 64, called
//!   given out            1 2 3 ... 31 32 │ 33: 32 more are reserved by a commit of its own
//!                                        └── which is ordered in the log before any that uses them,
//!                                            so no session waits for the disk
//!
//!   storage of the sequence    key  's'      value  last, 8 bytes · called, 1 byte
//! ```
//!
//! The state in the store is ahead of the numbers that were given out: after a crash a sequence
//! goes on from there, and up to 31 numbers are never given out. After a clean close
//! ([`Sequences::save`]) none are lost.
//!
//! The state of a sequence that an open transaction has made waits for the commit of that transaction, which writes it
//! ([`Tables`]): no other session has numbers of the sequence before.
//!
//! A session takes as many numbers at once as `CACHE` says, and gives out its own. The numbers
//! that it has left when it ends are lost, also when the sequence is made to count otherwise.
//!
//! # Invariants
//! * A number is given out only after a state at or past it has its place in the log, or waits for the commit that makes
//!   the sequence.
//! * One thread at a time advances a sequence; nothing waits for a transaction here.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use parking_lot::{Mutex, RwLock};
use store::{Op, TableId, Write};
use txn::{CommitMeta, Durability, Engine, Isolation, Ordered};
use types::{Oid, SqlState};

use crate::catalog::{Relation, Sequence};
use crate::shrink::shrink;
use crate::{Error, Result, Tables};

const KEY: &[u8] = b"s";
/// Numbers reserved at once.
const RESERVED: u64 = 32;

/// The position of a sequence, as `SELECT * FROM sequence` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceState {
    /// The number given out last, or the first one.
    pub last: i64,
    /// False if `last` itself is the next one.
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

    /// The state up to so many numbers further, none of which begins a cycle; and how many they are.
    fn further(self, sequence: &Sequence, steps: u64) -> (SequenceState, u64) {
        let end = if sequence.increment > 0 { sequence.max } else { sequence.min };
        let room = (i128::from(end) - i128::from(self.last)) / i128::from(sequence.increment);
        let steps = room.clamp(0, i128::from(steps));
        let last = i128::from(self.last) + steps * i128::from(sequence.increment);
        // Between this number and the end of the sequence, both of which fit.
        (SequenceState { last: last as i64, is_called: true }, steps as u64)
    }
}

/// Numbers that were taken together: the first, and each an increment further, up to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first.
    pub first: i64,
    /// The last, which is also the first where it is alone.
    pub last: i64,
}

struct Open {
    state: SequenceState,
    /// The state in the store, or in a write to it.
    stored: Option<SequenceState>,
    /// Numbers that may be given out before more must be reserved.
    reserved: u64,
    /// The last reservation, until it is known to be visible.
    ordered: Option<Ordered>,
    /// How often it was made to begin anew.
    restarts: u64,
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
    tables: Tables,
    known: RwLock<Known>,
}

impl Sequences {
    /// The sequences of `engine`, which knows its tables by `tables`. To be dropped, after [`Sequences::save`], before the
    /// engine is closed.
    pub fn new(engine: Arc<Engine>, tables: Tables) -> Sequences {
        Sequences { engine, tables, known: RwLock::default() }
    }

    /// Takes the next numbers of a sequence: as many as its `CACHE` says, fewer at its end.
    ///
    /// # Errors
    /// 2200H where it has come to its end and does not cycle; the errors of the reservation's
    /// commit.
    pub fn take(&self, relation: &Relation) -> Result<Block> {
        let sequence = definition(relation)?;
        let open = self.open(sequence)?;
        let mut open = open.lock();
        let Some(first) = open.state.next(sequence) else {
            return Err(at_end(relation, sequence));
        };
        // A cycle begins with a block and a reservation of its own, so that what is stored is never
        // behind.
        let (last, count) = first.further(sequence, sequence.cache.unsigned_abs().max(1) - 1);
        if open.reserved <= count {
            let (ahead, more) = last.further(sequence, RESERVED - 1);
            self.store(sequence.storage, &mut open, ahead)?;
            open.reserved = count + 1 + more;
        }
        open.reserved -= count + 1;
        open.state = last;
        Ok(Block { first: first.last, last: last.last })
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

    /// Makes a sequence begin anew at a number, at once and for all sessions: numbers that sessions
    /// have taken and not given out are lost.
    ///
    /// # Errors
    /// As [`Sequences::set`].
    pub fn restart(&self, relation: &Relation, at: i64) -> Result<()> {
        self.set(relation, SequenceState { last: at, is_called: false })?;
        self.open(definition(relation)?)?.lock().restarts += 1;
        Ok(())
    }

    fn restarts(&self, sequence: &Sequence) -> Result<u64> {
        Ok(self.open(sequence)?.lock().restarts)
    }

    /// Writes where all sequences stand, so that no numbers are lost, and waits until that is visible.
    pub fn save(&self) -> Result<()> {
        let known: Vec<_> =
            self.known.read().iter().map(|(id, open)| (*id, open.clone())).collect();
        for (storage, open) in known {
            let mut open = open.lock();
            let state = open.state;
            // A sequence that was dropped or rolled back has given up its table of the store.
            let is_there = self.engine.table(storage).ended().is_none();
            if is_there && open.stored.is_some_and(|stored| stored != state) {
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
        let open = Open { state, stored, reserved: 0, ordered: None, restarts: 0 };
        let open = Arc::new(Mutex::new(open));
        if known.len() == known.capacity() {
            // Instead of growing, the map first removes sequences that were dropped.
            known.retain(|storage, _| self.engine.table(*storage).ended().is_none());
            shrink(&mut known);
        }
        known.insert(storage, Arc::clone(&open));
        Ok(open)
    }

    /// Gives a state its place in the log, or has it wait for the commit that makes the sequence.
    fn store(&self, storage: TableId, open: &mut Open, state: SequenceState) -> Result<()> {
        let op = Op::Put(state.to_bytes());
        let write = Write { table: storage, key: KEY.to_vec(), op };
        if self.tables.wait_with(&write) {
            open.stored = Some(state);
            return Ok(());
        }
        if let Some(before) = open.ordered.take() {
            before.wait()?; // It is visible long since, or its waiting serves others as well.
        }
        let mut txn = self.engine.begin(Isolation::ReadCommitted);
        txn.write(write.table, write.key, write.op)?;
        let meta = CommitMeta { durability: Some(Durability::Os), ..CommitMeta::default() };
        open.ordered = Some(txn.order(meta)?);
        open.stored = Some(state);
        Ok(())
    }
}

/// The state of a session's sequences: `currval`, `lastval`, and the numbers that it has taken.
#[derive(Clone, Debug, Default)]
pub struct SessionSequences {
    values: HashMap<Oid, i64, FixedState>,
    last: Option<Oid>,
    taken: HashMap<Oid, Taken, FixedState>,
}

/// Numbers of a session that it has not given out.
#[derive(Clone, Debug)]
struct Taken {
    /// The sequence as it counted then.
    sequence: Sequence,
    restarts: u64,
    left: Block,
}

impl SessionSequences {
    /// The next number of a sequence for this session.
    ///
    /// # Errors
    /// As [`Sequences::take`].
    pub fn next(&mut self, sequences: &Sequences, relation: &Relation) -> Result<i64> {
        let sequence = definition(relation)?;
        let block = match self.taken.remove(&relation.oid) {
            Some(taken)
                if taken.sequence == *sequence
                    && taken.restarts == sequences.restarts(sequence)? =>
            {
                taken.left
            }
            _ => sequences.take(relation)?,
        };
        if block.first != block.last {
            let left = Block { first: block.first + sequence.increment, ..block };
            let restarts = sequences.restarts(sequence)?;
            let taken = Taken { sequence: sequence.clone(), restarts, left };
            self.taken.insert(relation.oid, taken);
        }
        self.note(relation, block.first);
        Ok(block.first)
    }

    /// `setval` of this session set this number; `is_called` where it counts as given out.
    pub fn set(&mut self, relation: &Relation, value: i64, is_called: bool) {
        self.taken.remove(&relation.oid);
        if is_called {
            self.note(relation, value);
        }
    }

    fn note(&mut self, relation: &Relation, value: i64) {
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
