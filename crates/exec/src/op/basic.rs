//! Operators that look at one row at a time: values, filters, projections.

use sql::eval::{Program, Row as EvalRow, SetProgram};
use types::{Datum, Result};

use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use plan::explain::seen::Report;

/// Rows of expressions.
pub(crate) struct Values {
    rows: Vec<Vec<Program>>,
    at: usize,
}

impl Values {
    pub(crate) fn new(rows: Vec<Vec<Program>>) -> Self {
        Self { rows, at: 0 }
    }
}

impl Operator for Values {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        let Some(row) = self.rows.get(self.at) else { return Ok(false) };
        env.tick()?;
        self.at += 1;
        out.clear();
        for program in row {
            out.push(env.value(program, EvalRow::NONE)?);
        }
        Ok(true)
    }

    fn rewind(&mut self, _: &Shared) {
        self.at = 0;
    }
}

/// The rows of which a condition is true.
pub(crate) struct Filter {
    input: Input,
    condition: Program,
    /// How many rows it has left out.
    removed: u64,
}

impl Filter {
    pub(crate) fn new(input: Input, condition: Program) -> Self {
        Self { input, condition, removed: 0 }
    }
}

impl Operator for Filter {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        while self.input.next(env, out)? {
            if env.test(&self.condition, &*out)? {
                return Ok(true);
            }
            self.removed += 1;
        }
        Ok(false)
    }

    fn report(&self) -> Report {
        Report { removed: self.removed, ..Report::default() }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.input.rewind(shared);
    }
}

/// For each row one of expressions.
pub(crate) struct Project {
    input: Input,
    exprs: Vec<Output>,
    row: Row,
}

/// How a column of a projection is made.
enum Output {
    /// The value of a column that nothing else needs is moved.
    Move(usize),
    Compute(Program),
}

impl Project {
    /// What the rows come from.
    pub(crate) fn input(&mut self) -> &mut Input {
        &mut self.input
    }

    pub(crate) fn new(input: Input, programs: Vec<Program>, width: usize) -> Self {
        // A column can be moved where all there is are columns, and it is named once.
        let mut uses = vec![0; width];
        let columns: Option<Vec<usize>> = programs.iter().map(Program::column).collect();
        for column in columns.iter().flatten() {
            uses[*column] += 1;
        }
        let exprs = programs
            .into_iter()
            .map(|program| match program.column() {
                Some(column) if columns.is_some() && uses[column] == 1 => Output::Move(column),
                _ => Output::Compute(program),
            })
            .collect();
        Self { input, exprs, row: Row::new() }
    }
}

impl Operator for Project {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if !self.input.next(env, &mut self.row)? {
            return Ok(false);
        }
        out.clear();
        for output in &self.exprs {
            out.push(match output {
                Output::Move(column) => std::mem::take(&mut self.row[*column]),
                Output::Compute(program) => env.value(program, &self.row)?,
            });
        }
        Ok(true)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.input.rewind(shared);
    }
}

/// For each row as many as the longest of some sets has values.
pub(crate) struct ProjectSet {
    input: Input,
    sets: Vec<SetProgram>,
    row: Row,
    open: Vec<Option<scalar::Rows>>,
}

impl ProjectSet {
    pub(crate) fn new(input: Input, sets: Vec<SetProgram>) -> Self {
        Self { input, sets, row: Row::new(), open: Vec::new() }
    }
}

impl Operator for ProjectSet {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        loop {
            if self.open.is_empty() {
                if !self.input.next(env, &mut self.row)? {
                    return Ok(false);
                }
                for set in &self.sets {
                    self.open.push(Some(set.rows(&self.row, env.ctx.frame, env)?));
                }
            }
            env.tick()?;
            out.clear();
            out.extend_from_slice(&self.row);
            let mut any = false;
            for open in &mut self.open {
                let value = match open.as_mut().and_then(|rows| rows.next_value()) {
                    Some(value) => {
                        any = true;
                        value?
                    }
                    None => {
                        *open = None;
                        Datum::Null
                    }
                };
                out.push(value);
            }
            if any {
                return Ok(true);
            }
            self.open.clear();
        }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.open.clear();
        self.input.rewind(shared);
    }
}
