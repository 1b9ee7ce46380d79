//! Operators that look at one row at a time: values, filters, projections.

use std::sync::atomic::{AtomicU64, Ordering};

use batch::Run;
use sql::eval::{Program, Row as EvalRow, SetProgram};
use types::{Datum, Result};

use super::waiting::Waiting;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use crate::parallel::{Parts, Step, TakePiece, parts_by};
use crate::tables::{Piece, piece_of_rows};
use plan::explain::operator_stats::Report;

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
///
/// ```text
///   input ──rows──> Waiting ──what will be asked of the subqueries──> their `Grouped`
///                      └──> the condition, row by row ──> out
/// ```
pub(crate) struct Filter {
    input: Input,
    condition: Program,
    /// The subqueries of the condition that are computed for many values at once: their numbers and arguments.
    asks: Vec<(usize, Vec<Program>)>,
    waiting: Waiting,
    /// True if the operator above tests the condition for pieces.
    leaves_condition: bool,
    /// How many rows it has left out.
    removed: AtomicU64,
}

/// So many rows are looked at together for what they will ask of subqueries.
const ROWS_TOGETHER: usize = 1 << 16;

impl Filter {
    pub(crate) fn new(
        input: Input,
        condition: Program,
        asks: Vec<(usize, Vec<Program>)>,
        leaves_condition: bool,
    ) -> Self {
        let waiting = Waiting::default();
        let removed = AtomicU64::new(0);
        Self { input, condition, asks, waiting, leaves_condition, removed }
    }

    /// Puts the next row of the input into `out`.
    fn next_row(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if self.asks.is_empty() {
            return self.input.next(env, out);
        }
        if self.waiting.next(env.shared, out)? {
            return Ok(true);
        }
        while self.waiting.rows().len() < ROWS_TOGETHER && self.input.next(env, out)? {
            env.tick()?;
            self.waiting.push(env, std::mem::take(out))?;
        }
        for (number, args) in &self.asks {
            env.expect(*number, args, self.waiting.rows())?;
        }
        self.waiting.next(env.shared, out)
    }
}

/// Counts the rows that the operator above leaves out.
struct Removed<'p>(&'p AtomicU64);

impl Step for Removed<'_> {
    fn take(&mut self, _: Run<'_>, piece: Piece<'_, '_>, f: &mut TakePiece<'_>) -> Result<u64> {
        let all = piece.len() as u64;
        let kept = f(piece)?;
        self.0.fetch_add(all.saturating_sub(kept), Ordering::Relaxed);
        Ok(kept)
    }
}

impl Operator for Filter {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        while self.next_row(env, out)? {
            if env.test(&self.condition, &*out)? {
                return Ok(true);
            }
            *self.removed.get_mut() += 1;
        }
        Ok(false)
    }

    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        if !self.leaves_condition {
            return piece_of_rows(&mut |piece| f(piece).map(drop), |out| self.next(env, out));
        }
        let mut removed = 0;
        let more = self.input.next_piece(env, &mut |piece| {
            let (all, kept) = (piece.len() as u64, f(piece)?);
            removed += all.saturating_sub(kept);
            Ok(kept)
        })?;
        *self.removed.get_mut() += removed;
        Ok(more)
    }

    fn parts(&mut self, env: &Env<'_>, threads: usize) -> Result<Parts<'_>> {
        if !self.leaves_condition {
            return Ok(Parts::new());
        }
        let removed = &self.removed;
        Ok(parts_by(self.input.parts(env, threads)?, || Removed(removed)))
    }

    fn report(&self) -> Report {
        Report { removed: self.removed.load(Ordering::Relaxed), ..Report::default() }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.waiting.clear(shared);
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
    /// The source of the rows.
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
