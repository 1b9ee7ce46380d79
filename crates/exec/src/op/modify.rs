//! Changes of rows: `INSERT`, `UPDATE`, `DELETE`, `ERASE`; `MERGE` has a module of its own.
//!
//! ```text
//!   all rows of the input ──> one after the other: lock, look again where it was changed by another
//!                             transaction, new values, generated ones, constraints, change
//!                         ──> rows of RETURNING
//! ```
//!
//! The input is read to its end before anything is changed, so that a statement never sees its own
//! changes; unless it reads no tables, as most insertions do. Many rows wait in a file. A row is changed once by a
//! statement, however often it comes. The rows that are erased come in all their versions, and go all at once.
//!
//! Many rows for a table that never had any are loaded: they go to files of the store as they come, are
//! seen by nobody, and are there all at once when the last has come. Rows for a table with an order are sorted
//! by it before they go anywhere.

use sql::eval::{Program, Row as EvalRow};
use sql::plan::{LockStrength, LockWait, Written};
use table::rows::LOAD_BYTES_MIN;
use types::{Datum, DatumRef, Error, Oid, Result, SqlState};

use super::guard::Guard;
use super::merge::Merge;
use super::recheck::Recheck;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared, row_bytes};
use crate::spill::{RowStore, StorePosition};
use crate::tables::{Inserted, Locked};

/// The action on each row of the input, ready to be computed.
pub(crate) enum Action {
    Insert(Option<Conflict>),
    Update(Vec<(usize, Program)>),
    Delete,
    Erase,
    Merge(Merge),
}

/// Places in a row, and what is put there.
pub(crate) type Assignments = Vec<(usize, Program)>;

/// `ON CONFLICT`
pub(crate) struct Conflict {
    /// The unique indexes that decide; empty for all.
    pub(crate) arbiters: Vec<Oid>,
    /// The arbiters that decide where all of these are true.
    pub(crate) conditional_arbiters: Vec<(Oid, Vec<Program>)>,
    pub(crate) update: Option<(Assignments, Option<Program>)>,
}

/// The rest that `FOR PORTION OF` leaves of a row.
pub(crate) struct Rest {
    /// The place of the column in the row.
    pub(crate) place: usize,
    /// The time that is left, over the input's row.
    pub(crate) left: Program,
}

/// The data that every change of a table needs.
pub(crate) struct Target {
    pub(crate) relation: Oid,
    pub(crate) width: usize,
    /// The numbers of the columns of the table.
    pub(crate) own_attnums: Vec<i16>,
    /// The columns of the scan that the rows come from.
    pub(crate) attnums: Vec<i16>,
    pub(crate) generated: Vec<(usize, Program)>,
    pub(crate) guard: Guard,
    pub(crate) recheck: Option<Recheck>,
    /// True if a row comes once, and nothing else of the statement changes rows.
    pub(crate) is_each_once: bool,
    /// The rest that `FOR PORTION OF` leaves of each row.
    pub(crate) rest: Option<Rest>,
}

/// A change of rows of a table.
pub(crate) struct Modify {
    input: Input,
    target: Target,
    action: Action,
    returning: Option<Vec<Program>>,
    /// True if the input reads no tables.
    streams: bool,
    /// True if the rows that are changed are counted for the client.
    is_main: bool,
    /// True if there may be many rows for a table that nothing else of the statement changes.
    may_load: bool,
    state: State,
    held: Held,
}

enum State {
    Start,
    /// The rows of `RETURNING` that are still to come.
    Giving(std::vec::IntoIter<Row>),
}

/// The outcome for a row: its state in the table that `RETURNING` sees.
pub(crate) type Change = Option<Row>;

impl Modify {
    pub(crate) fn new(
        input: Input,
        target: Target,
        action: Action,
        returning: Option<Vec<Program>>,
        streams: bool,
        is_main: bool,
        may_load: bool,
    ) -> Self {
        let (state, held) = (State::Start, Held::default());
        Self { input, target, action, returning, streams, is_main, may_load, state, held }
    }

    fn run(&mut self, env: &Env<'_>) -> Result<Vec<Row>> {
        if self.may_load {
            return self.fill(env);
        }
        if let Action::Insert(Some(conflict)) = &mut self.action {
            conflict.decide(env)?;
        }
        let mut given = Vec::new();
        let mut row = Row::new();
        if self.streams {
            while self.input.next(env, &mut row)? {
                self.change(env, &mut row, &mut given)?;
            }
            return Ok(given);
        }
        if let Action::Erase = self.action {
            let mut rows = Vec::new();
            while self.input.next(env, &mut row)? {
                self.held.add_row(env, &row)?;
                rows.push(std::mem::take(&mut row));
            }
            return self.erase(env, rows);
        }
        let (mut rows, mut place) = (RowStore::default(), StorePosition::default());
        while self.input.next(env, &mut row)? {
            rows.push(env, std::mem::take(&mut row))?;
        }
        for at in 0..rows.len() {
            env.tick()?;
            row = rows.take(at, &mut place)?;
            self.change(env, &mut row, &mut given)?;
        }
        rows.clear(env.shared);
        Ok(given)
    }

    /// Inserts rows; the first of them decide whether the table is loaded.
    fn fill(&mut self, env: &Env<'_>) -> Result<Vec<Row>> {
        let (mut first, mut row, mut bytes) = (Vec::new(), Row::new(), 0);
        while bytes < LOAD_BYTES_MIN && self.input.next(env, &mut row)? {
            bytes += row_bytes(&row);
            self.held.add_row(env, &row)?;
            first.push(std::mem::take(&mut row));
        }
        let tables = env.ctx.tables;
        let is_large = bytes >= LOAD_BYTES_MIN;
        let loads = tables.begin_load(self.target.relation, is_large)?;
        // Loaded rows cannot be seen by later reads of the input.
        let streams = is_large && (loads || self.streams);
        while is_large && !streams && self.input.next(env, &mut row)? {
            self.held.add_row(env, &row)?;
            first.push(std::mem::take(&mut row));
        }
        let mut given = Vec::new();
        for mut row in first {
            env.tick()?;
            self.change(env, &mut row, &mut given)?;
        }
        self.held.clear(env.shared);
        while streams && self.input.next(env, &mut row)? {
            self.change(env, &mut row, &mut given)?;
        }
        if loads {
            tables.end_load(self.target.relation)?;
        }
        Ok(given)
    }

    /// Does what a row of the input says.
    fn change(&mut self, env: &Env<'_>, row: &mut Row, given: &mut Vec<Row>) -> Result<()> {
        let target = &mut self.target;
        let change = match &self.action {
            Action::Insert(conflict) => {
                row.truncate(target.width);
                target.insert(env, row.clone(), conflict.as_ref())?
            }
            Action::Update(set) => match target.take(env, row, LockStrength::NoKeyUpdate)? {
                Some(key) => Some(target.update(env, &key, row, set)?),
                None => None,
            },
            Action::Delete => match target.take(env, row, LockStrength::Update)? {
                Some(key) => Some(target.delete(env, &key, row)?),
                None => None,
            },
            Action::Erase => None,
            Action::Merge(merge) => merge.change(env, target, row)?,
        };
        let Some(change) = change else { return Ok(()) };
        if let Some(rest) = &target.rest {
            rest.insert(env, target, row)?;
        }
        self.give(env, change, row, given)
    }

    /// Erases the rows that the input has versions of. `RETURNING` sees the first of each.
    fn erase(&mut self, env: &Env<'_>, versions: Vec<Row>) -> Result<Vec<Row>> {
        let mut rows: Vec<(Vec<u8>, Row)> = Vec::new();
        for row in versions {
            env.tick()?;
            if let Datum::Bytea(key) = &row[self.target.width]
                && self.target.touch(env, key)
            {
                rows.push((key.to_vec(), row));
            }
        }
        let keys: Vec<Vec<u8>> = rows.iter().map(|(key, _)| key.clone()).collect();
        env.ctx.tables.erase(self.target.relation, &keys)?;
        let mut given = Vec::new();
        for (_, row) in rows {
            let version = row[..self.target.width].to_vec();
            self.give(env, version, &row, &mut given)?;
        }
        Ok(given)
    }

    /// Counts a row that was changed, and computes what `RETURNING` says of it.
    fn give(&mut self, env: &Env<'_>, change: Row, row: &Row, given: &mut Vec<Row>) -> Result<()> {
        if self.is_main {
            env.shared.rows_changed.set(env.shared.rows_changed.get() + 1);
        }
        if let Some(returning) = &self.returning {
            let pair = EvalRow::Pair(&change, row);
            let row: Row =
                returning.iter().map(|expr| env.value(expr, pair)).collect::<Result<_>>()?;
            self.held.add_row(env, &row)?;
            given.push(row);
        }
        Ok(())
    }
}

impl Rest {
    /// Inserts what is left of a row of the input.
    fn insert(&self, env: &Env<'_>, target: &Target, row: &Row) -> Result<()> {
        let left = env.value(&self.left, row)?;
        let DatumRef::Multirange(left) = left.as_ref() else { return Ok(()) };
        let pieces: Vec<Datum> = match &row[self.place] {
            Datum::Multirange(_) if left.is_empty() => Vec::new(),
            Datum::Multirange(_) => vec![Datum::Multirange(left.to_owned())],
            _ => left.iter().map(|range| Datum::Range(range.to_owned())).collect(),
        };
        for piece in pieces {
            let mut new = row[..target.width].to_vec();
            new[self.place] = piece;
            target.insert(env, new, None)?;
        }
        Ok(())
    }
}

impl Conflict {
    /// Finds out which of the indexes that depend on values decide this time.
    fn decide(&mut self, env: &Env<'_>) -> Result<()> {
        if self.conditional_arbiters.is_empty() {
            return Ok(());
        }
        let conditional = &self.conditional_arbiters;
        self.arbiters.retain(|index| conditional.iter().all(|(arbiter, _)| arbiter != index));
        for (index, start_conditions) in &self.conditional_arbiters {
            let mut holds = true;
            for start_condition in start_conditions {
                holds = holds && env.test(start_condition, EvalRow::NONE)?;
            }
            self.arbiters.extend(holds.then_some(*index));
        }
        if self.arbiters.is_empty() {
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            ));
        }
        Ok(())
    }
}

impl Target {
    /// Takes the row that a row of the input is about: its key, or none if it is not changed. A
    /// row that was changed by another transaction is put in the place of the old one.
    pub(crate) fn take(
        &mut self,
        env: &Env<'_>,
        row: &mut Row,
        strength: LockStrength,
    ) -> Result<Option<Vec<u8>>> {
        let Datum::Bytea(key) = &row[self.width] else { return Ok(None) };
        let key = key.to_vec();
        if !self.is_each_once && !self.touch(env, &key) {
            return Ok(None);
        }
        let mut newest = Row::new();
        let tables = env.ctx.tables;
        let wait = LockWait::Wait;
        let found = tables.lock(self.relation, &key, strength, wait, &self.attnums, &mut newest)?;
        match found {
            Locked::AsSeen => Ok(Some(key)),
            Locked::Changed => {
                let Some(recheck) = &mut self.recheck else { return Ok(None) };
                if !recheck.row(env, newest, row)? {
                    return Ok(None);
                }
                // Its key may have been changed too, to that of a row that was moved itself.
                match &row[self.width] {
                    Datum::Bytea(moved) if self.is_each_once || **moved != *key => {
                        let moved = moved.to_vec();
                        Ok(self.touch(env, &moved).then_some(moved))
                    }
                    _ => Ok(Some(key)),
                }
            }
            Locked::Gone | Locked::Busy => Ok(None),
        }
    }

    /// Notes that the statement changes a row; false if it did so before.
    pub(crate) fn touch(&self, env: &Env<'_>, key: &[u8]) -> bool {
        env.shared.touched.borrow_mut().insert((self.relation, key.to_vec()))
    }

    /// Computes what follows from other columns, and checks the row.
    fn complete(&self, env: &Env<'_>, row: &mut Row, written: Written) -> Result<()> {
        for (place, program) in &self.generated {
            row[*place] = env.value(program, &*row)?;
        }
        self.guard.check(env, row, written)?;
        if self.guard.is_partition && !env.ctx.tables.is_in_partition(self.relation, row)? {
            return Err(self.guard.not_in_partition(env.ctx.frame.context.types, row));
        }
        Ok(())
    }

    pub(crate) fn insert(
        &self,
        env: &Env<'_>,
        mut row: Row,
        conflict: Option<&Conflict>,
    ) -> Result<Change> {
        self.complete(env, &mut row, Written::Inserted)?;
        let arbiters = conflict.map(|conflict| &conflict.arbiters[..]);
        loop {
            let key = match env.ctx.tables.insert(self.relation, &row, arbiters)? {
                Inserted::Done(key) => {
                    if conflict.is_some() {
                        self.touch(env, &key);
                    }
                    return Ok(Some(row));
                }
                Inserted::Loading => return Ok(Some(row)),
                Inserted::Conflict(key) => key,
            };
            let Some((set, filter)) = conflict.and_then(|conflict| conflict.update.as_ref()) else {
                return Ok(None);
            };
            let mut there = Row::new();
            let tables = env.ctx.tables;
            let strength = LockStrength::NoKeyUpdate;
            let own = &self.own_attnums;
            tables.lock(self.relation, &key, strength, LockWait::Wait, own, &mut there)?;
            if !tables.read(self.relation, &key, own, &mut there)? {
                // It was deleted in the meantime: there may be room now.
                continue;
            }
            if env.shared.touched.borrow().contains(&(self.relation, key.clone())) {
                return Err(second_time("ON CONFLICT DO UPDATE").with_hint(
                    "Ensure that no rows proposed for insertion within the same command have \
                     duplicate constrained values.",
                ));
            }
            let pair = EvalRow::Pair(&there, &row);
            if let Some(filter) = filter
                && !env.test(filter, pair)?
            {
                return Ok(None);
            }
            self.touch(env, &key);
            let mut new = there.clone();
            for (place, program) in set {
                new[*place] = env.value(program, pair)?;
            }
            self.complete(env, &mut new, Written::Updated)?;
            env.ctx.tables.update(self.relation, &key, &there, &new)?;
            return Ok(Some(new));
        }
    }

    pub(crate) fn update(
        &self,
        env: &Env<'_>,
        key: &[u8],
        row: &Row,
        set: &[(usize, Program)],
    ) -> Result<Row> {
        let old = &row[..self.width];
        let mut new = old.to_vec();
        for (place, program) in set {
            new[*place] = env.value(program, row)?;
        }
        self.complete(env, &mut new, Written::Updated)?;
        env.ctx.tables.update(self.relation, key, old, &new)?;
        Ok(new)
    }

    pub(crate) fn delete(&self, env: &Env<'_>, key: &[u8], row: &Row) -> Result<Row> {
        let old = &row[..self.width];
        env.ctx.tables.delete(self.relation, key, old)?;
        Ok(old.to_vec())
    }
}

/// The error of a command that would change a row twice.
pub(crate) fn second_time(command: &str) -> Error {
    Error::new(
        SqlState::CARDINALITY_VIOLATION,
        format!("{command} command cannot affect row a second time"),
    )
}

impl Operator for Modify {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if let State::Start = self.state {
            self.state = State::Giving(self.run(env)?.into_iter());
        }
        let State::Giving(rows) = &mut self.state else { return Ok(false) };
        match rows.next() {
            Some(row) => {
                *out = row;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.state = State::Start;
        self.held.clear(shared);
        self.input.rewind(shared);
    }
}
