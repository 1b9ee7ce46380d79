//! Groups and their aggregates over blocks of columns, and over rows in place.
//!
//! ```text
//!   scan ──pieces──> batch::Aggregation ──slices of groups──> out
//!        rows of groups that there is no room for ──> partitions, by hash ──one after the other──> Aggregation
//! ```

use batch::{Aggregation, Run, Selection, Slice, TakeHashed};
use plan::explain::operator_stats::Report;
use types::{Datum, Result};

use super::waiting::{self, GivesPieces, Waiting};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::parallel::{self, Gather, Parts, Sink, WorkerUse};
use crate::spill::{LEVEL_MAX, Partitions, Tape};
use crate::tables::Piece;

/// One row for each group.
pub(crate) struct Batches {
    input: Input,
    groups: Groups,
    /// Partitions whose groups come later.
    pending: Vec<(Tape, u32)>,
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
    later: Option<Partitions>,
    /// How often the rows that are taken have been divided.
    level: u32,
    held: Held,
}

impl Groups {
    fn take(&mut self, env: &Env<'_>, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64> {
        self.take_by(env, |aggregation, put_off| aggregation.take(run, piece, put_off))
    }

    /// Takes rows by `take`, which puts off those of new groups if there is no room for them.
    fn take_by<R>(
        &mut self,
        env: &Env<'_>,
        take: impl FnOnce(&mut Aggregation, Option<&mut TakeHashed<'_>>) -> Result<R>,
    ) -> Result<R> {
        let Self { aggregation, later, level, held } = self;
        let folder = held.is_over(env, true).filter(|_| *level < LEVEL_MAX);
        let taken = match folder {
            None => take(aggregation, None)?,
            Some(folder) => take(
                aggregation,
                Some(&mut |hash, row: &[Datum]| {
                    let later = later.get_or_insert_with(|| Partitions::new(folder, *level));
                    later.add(hash, row, None)
                }),
            )?,
        };
        self.count_bytes(env)?;
        Ok(taken)
    }

    /// Takes the rows of a partition in the place of those before, whose groups have been given.
    fn take_partition(&mut self, env: &Env<'_>, tape: Tape, level: u32) -> Result<()> {
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        self.forget(env.shared);
        self.level = level;
        let (mut reader, mut rows) = (tape.read(), Vec::new());
        loop {
            let mut row = Row::new();
            let more = reader.row(&mut row)?;
            if more {
                rows.push(row);
            }
            if rows.len() == batch::ROWS_MAX || !more {
                self.take_by(env, |aggregation, put_off| {
                    aggregation.take_again(run, &rows, put_off)
                })?;
                rows.clear();
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Returns the partitions of the rows that were put off, and how often these have been divided.
    fn put_off(&mut self) -> Result<Vec<(Tape, u32)>> {
        let Some(later) = self.later.take() else { return Ok(Vec::new()) };
        let tapes = later.finish()?.into_iter().filter(|tape| tape.len() > 0);
        Ok(tapes.map(|tape| (tape, self.level + 1)).collect())
    }

    fn count_bytes(&mut self, env: &Env<'_>) -> Result<()> {
        let bytes = self.aggregation.bytes() as u64;
        self.held.add(env, bytes.saturating_sub(self.held.bytes()) as usize)
    }

    fn forget(&mut self, shared: &Shared) {
        self.aggregation.clear();
        self.held.clear(shared);
        (self.later, self.level) = (None, 0);
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
    pub(crate) fn new(input: Input, aggregation: Aggregation) -> Self {
        let worker_use = WorkerUse { gives_up: !aggregation.merges(), threads: 0 };
        let groups = Groups { aggregation, later: None, level: 0, held: Held::default() };
        let (pending, waiting) = (Vec::new(), Waiting::default());
        Self { input, groups, pending, is_filled: false, at: 0, worker_use, waiting }
    }

    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        let Self { input, groups, worker_use, .. } = self;
        let room = groups.held.room(env);
        parallel::take(env, input, room, worker_use, groups)?;
        while input.next_piece(env, &mut |piece| groups.take(env, run, &piece))? {}
        self.is_filled = true;
        self.pending = groups.put_off()?;
        Ok(())
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
        if self.at >= self.groups.aggregation.len() {
            let Some((tape, level)) = self.pending.pop() else { return Ok(false) };
            self.groups.take_partition(env, tape, level)?;
            self.pending.extend(self.groups.put_off()?);
            self.at = 0;
        }
        let first = self.at;
        self.at += batch::ROWS_MAX;
        let mut give =
            |slice: &Slice<'_>, groups: &Selection| f(Piece::Joined(slice, groups)).map(drop);
        self.groups.aggregation.give(run, first, &mut give)?;
        Ok(true)
    }

    fn report(&self) -> Report {
        self.worker_use.report()
    }

    fn rewind(&mut self, shared: &Shared) {
        self.groups.forget(shared);
        self.pending.clear();
        self.input.rewind(shared);
        self.waiting.clear(shared);
        (self.is_filled, self.at) = (false, 0);
    }
}
