//! Tables of `WITH`: computed as far as they are read, and kept as long as their dependencies stay.
//!
//! ```text
//!   With ── puts its tables into the shared state    CteScan ── reads them there, each at its own
//!                                                               place, and has more computed
//!   recursive    start ──> rows of the table, and the first work table
//!                step  ──> the rows of the next work table ... until there are none
//! ```

use std::sync::Arc;

use types::Result;

use super::depends::{Depends, Known};
use super::hash::KeyTable;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::spill::{RowStore, StorePosition};

/// The source of a table's rows.
pub(crate) enum Source {
    Plan(Input),
    Recursive(Box<Recursive>),
}

/// The rows of a recursive table.
pub(crate) struct Recursive {
    table: u32,
    start: Input,
    step: Input,
    /// The rows so far, where repetitions are left out.
    seen: Option<KeyTable>,
    /// The columns whose texts are equal by their classes, and the locales of these.
    classes: Vec<(usize, Arc<str>)>,
    started: bool,
    /// The rows that the running step has found.
    found: RowStore,
    held: Held,
}

impl Recursive {
    /// Rows that equal earlier ones are left out where `same` says which columns are compared by classes.
    pub(crate) fn new(
        table: u32,
        start: Input,
        step: Input,
        same: Option<Vec<(usize, Arc<str>)>>,
    ) -> Self {
        Self {
            table,
            start,
            step,
            seen: same.is_some().then(KeyTable::default),
            classes: same.unwrap_or_default(),
            started: false,
            found: RowStore::default(),
            held: Held::default(),
        }
    }

    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        loop {
            env.tick()?;
            let more = match self.started {
                false => self.start.next(env, out)?,
                true => self.step.next(env, out)?,
            };
            if more {
                if let Some(seen) = &mut self.seen {
                    let is_new = match self.classes.is_empty() {
                        true => seen.insert(out).1,
                        false => seen.insert(&of_classes(&self.classes, out)?).1,
                    };
                    if !is_new {
                        continue;
                    }
                    self.held.add_row(env, out)?;
                }
                self.found.push(env, out.clone())?;
                return Ok(true);
            }
            if self.found.len() == 0 {
                return Ok(false);
            }
            self.started = true;
            let mut work = env.shared.work[self.table as usize].borrow_mut();
            work.clear(env.shared);
            *work = std::mem::take(&mut self.found);
            drop(work);
            env.shared.work_table_changes(self.table);
            self.step.rewind(env.shared);
        }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.started = false;
        self.found.clear(shared);
        self.seen.iter_mut().for_each(KeyTable::clear);
        self.held.clear(shared);
        self.start.rewind(shared);
        self.step.rewind(shared);
    }
}

/// A row with the classes of texts in the place of the texts.
fn of_classes(classes: &[(usize, Arc<str>)], row: &Row) -> Result<Row> {
    let mut row = row.clone();
    for (at, locale) in classes {
        row[*at] = scalar::collation::class(row[*at].as_ref(), locale)?;
    }
    Ok(row)
}

impl Source {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        match self {
            Source::Plan(input) => input.next(env, out),
            Source::Recursive(recursive) => recursive.next(env, out),
        }
    }

    fn rewind(&mut self, shared: &Shared) {
        match self {
            Source::Plan(input) => input.rewind(shared),
            Source::Recursive(recursive) => recursive.rewind(shared),
        }
    }
}

/// A table of `WITH`, as far as it was computed.
#[derive(Default)]
pub(crate) struct CteState {
    source: Option<Source>,
    rows: RowStore,
    done: bool,
    depends: Depends,
    /// The values that the rows were computed with; none if there are no rows.
    known: Option<Known>,
}

impl CteState {
    /// Sets the source of the table, and its dependencies.
    pub(crate) fn set(&mut self, source: Source, depends: Depends) {
        self.source = Some(source);
        self.depends = depends;
    }

    /// Forgets the rows where they depend on something that has changed.
    fn begin(&mut self, table: u32, shared: &Shared) {
        if self.known.as_ref().is_some_and(|known| self.depends.still(shared, known)) {
            return;
        }
        if self.known.is_some() {
            self.rewind(shared);
        }
        self.known = Some(self.depends.now(shared));
        shared.table_changes(table);
    }

    pub(crate) fn rewind(&mut self, shared: &Shared) {
        self.known = None;
        self.rows.clear(shared);
        self.done = false;
        self.source.iter_mut().for_each(|source| source.rewind(shared));
    }
}

/// Puts the row at a place of a table into `out`, computing it where that was not done before.
fn read(
    env: &Env<'_>,
    table: u32,
    at: usize,
    place: &mut StorePosition,
    out: &mut Row,
) -> Result<bool> {
    let cell = &env.shared.ctes[table as usize];
    {
        let state = cell.borrow();
        if let Some(row) = state.rows.get(at, place)? {
            out.clone_from(row);
            return Ok(true);
        }
        if state.done {
            return Ok(false);
        }
    }
    // The table is not held while it is computed: it may read other tables of the same statement.
    let mut source = cell.borrow_mut().source.take();
    let more = source.as_mut().map_or(Ok(false), |source| source.next(env, out));
    let mut state = cell.borrow_mut();
    state.source = source;
    if !more? {
        state.done = true;
        return Ok(false);
    }
    state.rows.push(env, out.clone())?;
    Ok(true)
}

/// The tables for the input.
pub(crate) struct With {
    tables: Vec<(u32, Run)>,
    input: Input,
    started: bool,
}

/// When a table is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    /// As far as it is read.
    AsRead,
    /// To its end, because it changes rows or must be read before that is done.
    Whole,
}

impl With {
    pub(crate) fn new(tables: Vec<(u32, Run)>, input: Input) -> Self {
        Self { tables, input, started: false }
    }
}

impl Operator for With {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if !self.started {
            self.started = true;
            for (table, run) in &self.tables {
                env.shared.ctes[*table as usize].borrow_mut().begin(*table, env.shared);
                let (mut at, mut place) = (0, StorePosition::default());
                while *run == Run::Whole && read(env, *table, at, &mut place, out)? {
                    at += 1;
                }
            }
        }
        self.input.next(env, out)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.started = false;
        self.input.rewind(shared);
    }
}

/// The rows of a table of `WITH`.
pub(crate) struct CteScan {
    table: u32,
    at: usize,
    place: StorePosition,
}

impl CteScan {
    pub(crate) fn new(table: u32) -> Self {
        Self { table, at: 0, place: StorePosition::default() }
    }
}

impl Operator for CteScan {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        env.tick()?;
        let more = read(env, self.table, self.at, &mut self.place, out)?;
        self.at += 1;
        Ok(more)
    }

    fn rewind(&mut self, _: &Shared) {
        self.at = 0;
        // The table may be another one the next time.
        self.place = StorePosition::default();
    }
}

/// The rows that the step before has found.
pub(crate) struct WorkTable {
    table: u32,
    at: usize,
    place: StorePosition,
}

impl WorkTable {
    pub(crate) fn new(table: u32) -> Self {
        Self { table, at: 0, place: StorePosition::default() }
    }
}

impl Operator for WorkTable {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        env.tick()?;
        let rows = env.shared.work[self.table as usize].borrow();
        let Some(row) = rows.get(self.at, &mut self.place)? else { return Ok(false) };
        out.clone_from(row);
        self.at += 1;
        Ok(true)
    }

    fn rewind(&mut self, _: &Shared) {
        self.at = 0;
        // The table may be another one the next time.
        self.place = StorePosition::default();
    }
}
