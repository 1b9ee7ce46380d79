//! Groups and their aggregates over blocks of columns, and over rows in place.
//!
//! ```text
//!   scan ──pieces──> batch::Aggregation ──slices of groups──> out
//!                           └── rows of groups that there is no room for ──> rest, an Aggregate, by hash
//! ```

use batch::{Aggregation, Run};
use plan::explain::operator_stats::Report;
use types::{Datum, Result};

use super::aggregate::Aggregate;
use super::waiting::{self, GivesPieces, Waiting};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::parallel::{self, Gather, Parts, Sink, WorkerUse};
use crate::tables::{Piece, piece_of_rows};

/// One row for each group.
pub(crate) struct Batches {
    input: Input,
    groups: Groups,
    is_filled: bool,
    /// The group that comes out next.
    at: usize,
    worker_use: WorkerUse,
    waiting: Waiting,
}

/// The groups, and the rows of groups that there is no room for.
struct Groups {
    aggregation: Aggregation,
    /// Takes the rows that are put off.
    rest: Aggregate,
    has_rest: bool,
    held: Held,
}

impl Groups {
    fn take(&mut self, env: &Env<'_>, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64> {
        let Self { aggregation, rest, has_rest, held } = self;
        let folder = held.is_over(env, true);
        let mut spill_row;
        let spill_row: Option<&mut batch::SpillRow<'_>> = match folder {
            None => None,
            Some(folder) => {
                *has_rest = true;
                spill_row = |row: &[Datum]| rest.spill_row(env, folder, &row.to_vec());
                Some(&mut spill_row)
            }
        };
        let kept = aggregation.take(run, piece, spill_row)?;
        self.count_bytes(env)?;
        Ok(kept)
    }

    fn count_bytes(&mut self, env: &Env<'_>) -> Result<()> {
        let bytes = self.aggregation.bytes() as u64;
        self.held.add(env, bytes.saturating_sub(self.held.bytes()) as usize)
    }

    fn forget(&mut self, shared: &Shared) {
        self.aggregation.clear();
        self.held.clear(shared);
    }
}

impl Gather for Groups {
    type Sink = Aggregation;

    fn sink(&self) -> Aggregation {
        self.aggregation.fork()
    }

    fn gather(
        &mut self,
        env: &Env<'_>,
        sinks: Vec<Aggregation>,
        parts: &mut Parts<'_>,
    ) -> Result<bool> {
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        let mut all = sinks.into_iter();
        if let Some(first) = all.next() {
            self.aggregation = first;
        }
        for other in all {
            env.go_on()?;
            if !other.is_empty() && !self.aggregation.merge(run, other)? {
                self.aggregation.clear();
                return Ok(false);
            }
        }
        self.count_bytes(env)?;
        for part in parts {
            while part.next_piece(run, &mut |piece| self.take(env, run, &piece))? {}
            part.end(env);
        }
        Ok(true)
    }
}

impl Sink for Aggregation {
    fn take(&mut self, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64> {
        Aggregation::take(self, run, piece, None)
    }

    fn bytes(&self) -> usize {
        Aggregation::bytes(self)
    }
}

impl Batches {
    pub(crate) fn new(input: Input, aggregation: Aggregation, rest: Aggregate) -> Self {
        let worker_use = WorkerUse { gives_up: !aggregation.merges(), threads: 0 };
        let groups = Groups { aggregation, rest, has_rest: false, held: Held::default() };
        Self { input, groups, is_filled: false, at: 0, worker_use, waiting: Waiting::default() }
    }

    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        let Self { input, groups, worker_use, .. } = self;
        let room = groups.held.room(env);
        parallel::take(env, input, room, worker_use, groups)?;
        while input.next_piece(env, &mut |piece| groups.take(env, run, &piece))? {}
        self.is_filled = true;
        self.groups.rest.take_put_off()
    }
}

impl GivesPieces for Batches {
    fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }
}

impl Operator for Batches {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        waiting::next_of(self, env, out)
    }

    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        if !self.is_filled {
            self.fill(env)?;
        }
        let run = Run { frame: env.ctx.frame, around: env, tick: &|_| Ok(()) };
        let Groups { aggregation, has_rest, .. } = &self.groups;
        if self.at < aggregation.len() {
            let first = self.at;
            self.at += batch::ROWS_MAX;
            aggregation
                .give(run, first, &mut |slice, groups| f(Piece::Joined(slice, groups)).map(drop))?;
            return Ok(true);
        }
        if !has_rest {
            return Ok(false);
        }
        if !aggregation.is_empty() {
            // The groups that come next need the room.
            self.groups.forget(env.shared);
        }
        let rest = &mut self.groups.rest;
        piece_of_rows(&mut |piece| f(piece).map(drop), |out| rest.next(env, out))
    }

    fn report(&self) -> Report {
        self.worker_use.report()
    }

    fn rewind(&mut self, shared: &Shared) {
        self.groups.forget(shared);
        self.groups.rest.rewind(shared);
        self.groups.has_rest = false;
        self.input.rewind(shared);
        self.waiting.clear(shared);
        (self.is_filled, self.at) = (false, 0);
    }
}
