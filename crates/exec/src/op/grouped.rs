//! The cached results of a correlated subquery: for values that were asked for, and for all values at once.
//!
//! ```text
//!   the subquery is evaluated for a value
//!     ──> the table of all values exists:    the entry of the value, or the result of no rows
//!     ──> the table of some values exists,
//!         and the value is one of these:     the same
//!     ──> the memo has the value:            its result
//!     ──> else the subquery runs, and the rows that it reads are added to its cost
//!           └─ the cost exceeds that of all values: the next evaluation computes the table, once
//! ```
//!
//! A subquery that finds its rows by an index never reaches the cost of the table. A subquery that
//! scans a table reaches it after one or two evaluations. So the cost is at most about twice that of the
//! better way. If the operator above knows which values many rows will ask for, the table is made at once,
//! for these values only. The planner allows this if each evaluation reads whole tables.
//!
//! # Invariants
//! * An error for a value that no row asks for is never reported: the executor drops the table and runs the
//!   subquery value by value.
//! * Memory is bounded as for every hash table; a memo or a table that exceeds the bound is given up.

use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Result, SqlState};

use super::depends::{self, Depends};
use super::hash::{KeyTable, canonical};
use super::subplan::too_many;
use super::{Input, Row};
use crate::ctx::{Env, Held, Shared};

/// A scalar subquery that can be computed for all values at once.
pub(crate) struct Grouped {
    /// Gives rows of keys and value.
    root: Input,
    /// Gives the row of the subquery over no rows; `None` if its value is NULL.
    empty: Option<Input>,
    /// As `root` for the keys that are in a work table, which has this number.
    some: Option<(Input, u32)>,
    /// The values that the keys are compared with.
    asked: Vec<Program>,
    /// The dependencies of the rows.
    depends: Depends,
    cost_rows: u64,
    /// How many rows the evaluations so far have read.
    spent: u64,
    /// The keys that will be asked for, as far as they are known.
    expected: KeyTable,
    state: State,
}

enum State {
    Waiting,
    Ready(Box<AllValues>),
    /// The table was dropped.
    Off,
}

/// The results for all values.
struct AllValues {
    /// The values that they were computed with.
    known: depends::Known,
    keys: KeyTable,
    /// The result of each key; none if the subquery has several rows for it.
    results: Vec<Option<Datum>>,
    /// The result of no rows, once it was asked for.
    empty: Option<Datum>,
    /// True if it has the expected keys only.
    has_some: bool,
    held: Held,
}

/// So many keys must be expected for a table of some values.
const EXPECTED_MIN: usize = 2;

impl Grouped {
    pub(crate) fn new(
        root: Input,
        empty: Option<Input>,
        some: Option<(Input, u32)>,
        asked: Vec<Program>,
        depends: Depends,
        cost_rows: u64,
    ) -> Self {
        let (spent, expected, state) = (0, KeyTable::default(), State::Waiting);
        Self { root, empty, some, asked, depends, cost_rows, spent, expected, state }
    }

    /// Adds the rows that one evaluation of the subquery has read.
    pub(crate) fn spend(&mut self, rows: u64) {
        self.spent += rows;
    }

    /// Forgets the keys that were expected. Returns true if a table of those that will be asked for can be made.
    pub(crate) fn expects(&mut self, env: &Env<'_>) -> bool {
        if let State::Ready(all) = &self.state
            && !self.depends.still(env.shared, &all.known)
        {
            self.forget(env.shared);
        }
        let (Some((_, table)), State::Waiting) = (&self.some, &self.state) else { return false };
        self.expected.clear();
        env.shared.work[*table as usize].borrow_mut().clear(env.shared);
        true
    }

    /// Notes that the key will be asked for that the slots have.
    pub(crate) fn expect(&mut self, env: &Env<'_>) -> Result<()> {
        let Some((_, table)) = self.some else { return Ok(()) };
        let Some(row) = self.asked_key(env).filter(|row| !row.iter().any(Datum::is_null)) else {
            return Ok(());
        };
        let key: Row = row.iter().cloned().map(canonical).collect();
        if self.expected.insert(&key).1 {
            env.shared.work[table as usize].borrow_mut().push(env, row)?;
        }
        Ok(())
    }

    /// The key of the current slots. `None` if its evaluation fails: the subquery itself evaluates it for each of its
    /// rows, and so not at all if it has no rows.
    fn asked_key(&self, env: &Env<'_>) -> Option<Row> {
        let values = self.asked.iter().map(|program| env.value(program, EvalRow::NONE));
        values.collect::<Result<Row>>().ok()
    }

    /// Forgets all results.
    pub(crate) fn forget(&mut self, shared: &Shared) {
        if let State::Ready(all) = &mut self.state {
            all.held.clear(shared);
        }
        (self.state, self.spent) = (State::Waiting, 0);
        self.root.rewind(shared);
        self.empty.iter_mut().for_each(|empty| empty.rewind(shared));
        self.expected.clear();
        if let Some((some, table)) = &mut self.some {
            some.rewind(shared);
            shared.work[*table as usize].borrow_mut().clear(shared);
        }
    }

    /// The result for the slots as they are; none if the table does not exist or has not got it.
    pub(crate) fn value(&mut self, env: &Env<'_>) -> Result<Option<Datum>> {
        if let State::Ready(all) = &self.state
            && !self.depends.still(env.shared, &all.known)
        {
            self.forget(env.shared);
        }
        let is_worth_all = self.spent >= self.cost_rows;
        if let State::Waiting = self.state {
            let has_some = self.expected.len() >= EXPECTED_MIN;
            if is_worth_all || has_some {
                self.compute(env, has_some)?;
            }
        }
        if matches!(self.state, State::Off) {
            return Ok(None);
        }
        let Some(key) = self.asked_key(env) else { return Ok(None) };
        let key: Row = key.into_iter().map(canonical).collect();
        let has_null = key.iter().any(Datum::is_null);
        if let State::Ready(all) = &self.state
            && all.has_some
            && !has_null
            && self.expected.find(&key).is_none()
        {
            if !is_worth_all {
                return Ok(None);
            }
            self.compute(env, false)?;
        }
        let Self { empty, state: State::Ready(all), .. } = self else { return Ok(None) };
        if let Some(at) = all.keys.find(&key).filter(|_| !has_null) {
            return all.results[at].clone().ok_or_else(too_many).map(Some);
        }
        let Some(empty) = empty else { return Ok(Some(Datum::Null)) };
        if all.empty.is_none() {
            let mut row = Row::new();
            let has_row = empty.next(env, &mut row);
            empty.rewind(env.shared);
            all.empty = Some(if has_row? { row.pop().unwrap_or_default() } else { Datum::Null });
        }
        Ok(all.empty.clone())
    }

    /// Computes the results for all values, or for those that are expected.
    fn compute(&mut self, env: &Env<'_>, has_some: bool) -> Result<()> {
        if let State::Ready(before) = &mut self.state {
            before.held.clear(env.shared);
        }
        let mut all = AllValues {
            known: self.depends.now(env.shared),
            keys: KeyTable::default(),
            results: Vec::new(),
            empty: None,
            has_some,
            held: Held::default(),
        };
        let root = match &mut self.some {
            Some((some, _)) if has_some => some,
            _ => &mut self.root,
        };
        root.rewind(env.shared);
        let done = fill(root, self.asked.len(), env, &mut all);
        root.rewind(env.shared);
        if matches!(done, Ok(true)) {
            self.state = State::Ready(Box::new(all));
            return Ok(());
        }
        all.held.clear(env.shared);
        self.state = State::Off;
        match done {
            Err(error) if !depends_on_values(error.state()) => Err(error),
            _ => Ok(()),
        }
    }
}

/// True for errors that another value may not have: not for a cancel, a conflict or a failing disk.
fn depends_on_values(state: SqlState) -> bool {
    !matches!(state.class(), "08" | "25" | "40" | "55" | "57" | "58" | "XX")
}

/// Reads all values; false if they exceed the bound of a hash table.
fn fill(root: &mut Input, keys: usize, env: &Env<'_>, all: &mut AllValues) -> Result<bool> {
    let mut row = Row::new();
    while root.next(env, &mut row)? {
        env.tick()?;
        let value = row.pop().unwrap_or_default();
        row.truncate(keys);
        // NULL equals no value that the subquery may be asked for.
        if row.iter().any(Datum::is_null) {
            continue;
        }
        row.iter_mut().for_each(|key| *key = canonical(std::mem::take(key)));
        match all.keys.insert(&row) {
            (at, false) => all.results[at] = None,
            (_, true) => {
                all.held.add_row(env, &row)?;
                all.held.add(env, size_of::<Option<Datum>>() + value.heap_bytes())?;
                all.results.push(Some(value));
                if all.held.is_over(env, true).is_some() {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Earlier results, by the values of the slots that they depend on.
#[derive(Default)]
pub(crate) struct Memo {
    keys: KeyTable,
    results: Vec<Datum>,
    /// The versions of the tables of `WITH` that all results were computed with.
    versions: Vec<u64>,
    held: Held,
    /// The slots of the result that is being computed; none if it cannot be kept.
    wanted: Option<Row>,
    asked: u64,
    found: u64,
}

/// The memo decides after this many look-ups whether it is of use.
const ASKED_MIN: u64 = 1_024;
/// It is of use where at least one of this many look-ups finds a result.
const ASKED_PER_FOUND_MAX: u64 = 16;

impl Memo {
    /// Forgets all results, for the next execution.
    pub(crate) fn forget(&mut self, shared: &Shared) {
        self.empty(shared);
        (self.wanted, self.asked, self.found) = (None, 0, 0);
    }

    fn empty(&mut self, shared: &Shared) {
        self.keys.clear();
        self.results.clear();
        self.held.clear(shared);
    }

    /// The result for the slots and tables as they are, where it is known.
    pub(crate) fn find(&mut self, env: &Env<'_>, depends: &Depends) -> Option<Datum> {
        self.wanted = None;
        if self.asked >= ASKED_MIN && self.found * ASKED_PER_FOUND_MAX < self.asked {
            // The values are mostly different.
            if self.keys.len() > 0 {
                self.empty(env.shared);
            }
            return None;
        }
        self.asked += 1;
        let depends::Known { values: key, versions } = depends.now(env.shared);
        if versions != self.versions {
            self.empty(env.shared);
            self.versions = versions;
        }
        // Values that are equal but look different may have different results.
        let is_exact = |value: &Datum| value.repr().is_none_or(types::key::is_reversible);
        if !key.iter().all(is_exact) {
            return None;
        }
        if let Some(at) = self.keys.find(&key) {
            self.found += 1;
            return Some(self.results[at].clone());
        }
        self.wanted = Some(key);
        None
    }

    /// Keeps the result for the slots that were last looked up.
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
