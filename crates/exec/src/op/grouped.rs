//! The results of a subquery that are kept: for values that were asked for, and for all values at once.
//!
//! ```text
//!   asked for a value ──> all values are known: in the table, or the one of no rows
//!                    ──> it was asked for before: in the memo
//!                    ──> else the subquery is run, and what it costs is added up
//!                          └─ more than all values would cost: they are computed, once
//! ```
//!
//! So a subquery whose rows an index finds is never computed for all values, and one that reads a
//! whole table each time is after two times or so; it costs twice as much as the better way at most.
//!
//! # Invariants
//! * An error of a value that was not asked for is not told: the subquery is run value by value then.
//! * What is kept is bounded by the memory of a hash table, and given up where it would be more.

use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Result, SqlState};

use super::hash::{KeyTable, canonical};
use super::subplan::{is_same, too_many, values_of};
use super::{Input, Row};
use crate::ctx::{Env, Held, Shared};

/// A scalar subquery for all values that it may be asked for.
pub(crate) struct Grouped {
    /// Rows of keys and value.
    root: Input,
    /// The row of no key; none where that is NULL.
    empty: Option<Input>,
    /// What the keys are asked to be equal to.
    asked: Vec<Program>,
    /// The slots that the rows depend on.
    reads: Vec<u32>,
    cost_rows: u64,
    state: State,
}

enum State {
    /// So many rows were read for single values.
    Waiting(u64),
    Known(Box<Known>),
    /// It cannot be done.
    Off,
}

/// All values.
struct Known {
    /// The slots that they depend on, as they were.
    reads: Row,
    keys: KeyTable,
    /// The value of each key; none where there are several.
    values: Vec<Option<Datum>>,
    /// The value of no rows, once it was asked for.
    empty: Option<Datum>,
    held: Held,
}

impl Grouped {
    pub(crate) fn new(
        root: Input,
        empty: Option<Input>,
        asked: Vec<Program>,
        reads: Vec<u32>,
        cost_rows: u64,
    ) -> Self {
        Self { root, empty, asked, reads, cost_rows, state: State::Waiting(0) }
    }

    /// Counts the rows that were read for a single value.
    pub(crate) fn spend(&mut self, rows: u64) {
        if let State::Waiting(spent) = &mut self.state {
            *spent += rows;
        }
    }

    pub(crate) fn forget(&mut self, shared: &Shared) {
        if let State::Known(known) = &mut self.state {
            known.held.clear(shared);
        }
        self.state = State::Waiting(0);
        self.root.rewind(shared);
        self.empty.iter_mut().for_each(|empty| empty.rewind(shared));
    }

    /// The value for the slots as they are; none where all values are not known.
    pub(crate) fn value(&mut self, env: &Env<'_>) -> Result<Option<Datum>> {
        if let State::Known(known) = &self.state {
            let slots = env.shared.slots.borrow();
            let mut pairs = self.reads.iter().zip(&known.reads);
            let stays = pairs.all(|(slot, value)| is_same(&slots[*slot as usize], value));
            drop(slots);
            if !stays {
                self.forget(env.shared);
            }
        }
        match self.state {
            State::Waiting(spent) if spent >= self.cost_rows => self.compute(env)?,
            State::Waiting(_) | State::Off => return Ok(None),
            State::Known(_) => {}
        }
        let Self { empty, asked, state: State::Known(known), .. } = self else { return Ok(None) };
        let mut key = Row::new();
        for program in asked {
            // What fails here may never be asked in the subquery, where it has no rows.
            let Ok(value) = env.value(program, EvalRow::NONE) else { return Ok(None) };
            key.push(canonical(value));
        }
        let found = match key.iter().any(Datum::is_null) {
            true => None,
            false => known.keys.find(&key),
        };
        match (found, empty, &known.empty) {
            (Some(at), ..) => known.values[at].clone().ok_or_else(too_many).map(Some),
            (None, None, _) => Ok(Some(Datum::Null)),
            (None, Some(_), Some(value)) => Ok(Some(value.clone())),
            (None, Some(empty), None) => {
                let mut row = Row::new();
                let value = match empty.next(env, &mut row)? {
                    true => row.pop().unwrap_or_default(),
                    false => Datum::Null,
                };
                empty.rewind(env.shared);
                known.empty = Some(value.clone());
                Ok(Some(value))
            }
        }
    }

    /// Computes all values.
    fn compute(&mut self, env: &Env<'_>) -> Result<()> {
        let mut known = Known {
            reads: values_of(&self.reads, env),
            keys: KeyTable::default(),
            values: Vec::new(),
            empty: None,
            held: Held::default(),
        };
        self.root.rewind(env.shared);
        let done = fill(&mut self.root, self.asked.len(), env, &mut known);
        self.root.rewind(env.shared);
        match done {
            Ok(true) => {
                self.state = State::Known(Box::new(known));
                return Ok(());
            }
            // Whoever stops the statement, or wants it elsewhere, is heard.
            Err(error) if is_outside(error.state()) => {
                known.held.clear(env.shared);
                return Err(error);
            }
            Ok(false) | Err(_) => {}
        }
        known.held.clear(env.shared);
        self.state = State::Off;
        Ok(())
    }
}

/// True for errors that say nothing of the values.
fn is_outside(state: SqlState) -> bool {
    matches!(state, SqlState::QUERY_CANCELED | SqlState::LOCK_NOT_AVAILABLE)
}

/// Reads all values; false where they are too many to be held.
fn fill(root: &mut Input, keys: usize, env: &Env<'_>, known: &mut Known) -> Result<bool> {
    let mut row = Row::new();
    while root.next(env, &mut row)? {
        env.tick()?;
        let value = row.pop().unwrap_or_default();
        row.truncate(keys);
        // NULL is equal to nothing that may be asked for.
        if row.iter().any(Datum::is_null) {
            continue;
        }
        row.iter_mut().for_each(|key| *key = canonical(std::mem::take(key)));
        match known.keys.insert(&row) {
            (at, false) => known.values[at] = None,
            (_, true) => {
                known.held.add_row(env, &row)?;
                known.held.add(env, size_of::<Option<Datum>>() + value.heap_bytes())?;
                known.values.push(Some(value));
                if known.held.is_over(env, true).is_some() {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Results by the slots that they depend on.
#[derive(Default)]
pub(crate) struct Memo {
    keys: KeyTable,
    results: Vec<Datum>,
    held: Held,
    /// The slots of the result that is being computed; none where it cannot be kept.
    wanted: Option<Row>,
    asked: u64,
    found: u64,
}

/// After so many questions it is looked whether results are found.
const ASKED_MIN: u64 = 1_024;
/// Of so many questions one is answered at least.
const ASKED_PER_FOUND_MAX: u64 = 16;

impl Memo {
    pub(crate) fn forget(&mut self, shared: &Shared) {
        self.empty(shared);
        (self.wanted, self.asked, self.found) = (None, 0, 0);
    }

    fn empty(&mut self, shared: &Shared) {
        self.keys.clear();
        self.results.clear();
        self.held.clear(shared);
    }

    /// The result for the slots as they are, where it is known.
    pub(crate) fn find(&mut self, env: &Env<'_>, slots: &[u32]) -> Option<Datum> {
        self.wanted = None;
        if self.asked >= ASKED_MIN && self.found * ASKED_PER_FOUND_MAX < self.asked {
            // They are all different.
            if self.keys.len() > 0 {
                self.empty(env.shared);
            }
            return None;
        }
        self.asked += 1;
        let key = values_of(slots, env);
        // Values that are equal but look different may have different results.
        let is_exact = |value: &Datum| value.repr().is_none_or(types::key::is_reversible);
        if !key.iter().all(is_exact) {
            return None;
        }
        match self.keys.find(&key) {
            Some(at) => {
                self.found += 1;
                Some(self.results[at].clone())
            }
            None => {
                self.wanted = Some(key);
                None
            }
        }
    }

    /// Keeps the result for the slots that were asked for last.
    pub(crate) fn keep(&mut self, env: &Env<'_>, result: &Datum) {
        let Some(key) = self.wanted.take() else { return };
        let is_over = self.held.is_over(env, true).is_some()
            || self.held.add_row(env, &key).is_err()
            || self.held.add(env, size_of::<Datum>() + result.heap_bytes()).is_err();
        if is_over {
            return self.empty(env.shared);
        }
        self.keys.insert(&key);
        self.results.push(result.clone());
    }
}
