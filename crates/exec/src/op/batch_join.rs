//! Hash joins over blocks of columns. They give slices of joined rows, or rows, to the operator above.
//!
//! ```text
//!   build ──pieces──> batch::Join   one table; if it does not fit, both inputs start again, are divided
//!                                   into partitions, and these are joined row by row
//!   probe ──pieces──> batch::Join ──slices of joined rows──> an operator in batches
//!                                                └──> Waiting ──rows──> any other
//! ```

use batch::{Builder, Join, KeyFilter, Probing, Run, Selection, Slice};
use plan::JoinKind;
use plan::explain::operator_stats::Report;
use sql::eval::Program;
use types::{Datum, Result};

use super::hash_join::{HashJoin, Side};
use super::waiting::{self, GivesPieces, Waiting};
use super::{Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::parallel::{self, Gather, Parts, Sink, Step, TakePiece, WorkerUse, parts_by};
use crate::spill::Partitions;
use crate::tables::{Piece, piece_of_rows};

/// The row-by-row form of a join.
pub(crate) struct ByRow {
    pub(crate) kind: JoinKind,
    pub(crate) condition: Option<Program>,
    pub(crate) build_left: bool,
}

/// The next step of `next_piece`.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Build,
    Probe,
    Rest,
    End,
}

/// The inputs, and what becomes of them if the build side is too large.
enum Inputs {
    /// The left and the right one.
    Pieces(Side, Side, ByRow),
    Divided(Divided),
    /// Neither, while one becomes the other.
    Nothing,
}

/// A join of partitions, row by row.
struct Divided {
    by_row: Box<HashJoin>,
    /// True if its build side is the probe side of the join in batches.
    is_swapped: bool,
}

impl Divided {
    /// Divides both inputs by the keys of `join`, unless that has been done.
    fn fill(&mut self, env: &Env<'_>, join: &mut Join) -> Result<()> {
        /// The part of the memory of a hash table that the filter takes.
        const OF_FILTER: usize = 8;
        let Self { by_row, is_swapped } = self;
        let Some(spill) = env.ctx.spill.as_ref().filter(|_| !by_row.is_filled()) else {
            return Ok(());
        };
        let (mut probe, mut build) = by_row.inputs();
        if *is_swapped {
            std::mem::swap(&mut probe, &mut build);
        }
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        let mut filter = KeyFilter::new(spill.hash_bytes / OF_FILTER);
        let mut held = Held::default();
        held.add(env, filter.bytes())?;
        let mut rows = Partitions::new(spill.folder, 0);
        while build.next_piece(env, &mut |piece| {
            let mut add = |hash: u64, row: &[Datum]| rows.add(hash, row, None);
            join.divide_build(run, &piece, &mut filter, &mut add)
        })? {}
        let of_build = rows.finish()?;
        let mut rows = Partitions::new(spill.folder, 0);
        while probe.next_piece(env, &mut |piece| {
            let mut add = |hash: u64, row: &[Datum]| rows.add(hash, row, None);
            join.divide_probe(run, &piece, &filter, &mut add)
        })? {}
        let of_probe = rows.finish()?;
        held.clear(env.shared);
        match is_swapped {
            true => by_row.fill_from(env, of_build, of_probe),
            false => by_row.fill_from(env, of_probe, of_build),
        }
    }
}

/// A join in batches.
pub(crate) struct BatchJoin {
    join: Join,
    inputs: Inputs,
    phase: Phase,
    /// The use of workers that read the build side.
    worker_use: WorkerUse,
    held: Held,
    /// Buffered rows, if the operator above takes them one by one.
    waiting: Waiting,
}

impl BatchJoin {
    pub(crate) fn new(join: Join, left: Side, right: Side, by_row: ByRow) -> Self {
        let inputs = Inputs::Pieces(left, right, by_row);
        let (held, waiting) = (Held::default(), Waiting::default());
        Self { join, inputs, phase: Phase::Build, worker_use: WorkerUse::default(), held, waiting }
    }

    /// Keeps the build side. If it is too large, the join is divided from now on.
    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        let Self { join, inputs, held, worker_use, .. } = self;
        let Inputs::Pieces(left, right, by_row) = inputs else { return Ok(()) };
        let build = if by_row.build_left { &mut left.input } else { &mut right.input };
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        // The rows, and later their table.
        let count = |join: &Join, held: &mut Held| -> Result<bool> {
            let bytes = join.bytes() as u64;
            held.add(env, bytes.saturating_sub(held.bytes()) as usize)?;
            Ok(held.is_over(env, true).is_some())
        };
        let mut kept = BuildSide { join: &mut *join, is_full: false };
        parallel::take(env, build, held.room(env), worker_use, &mut kept)?;
        let is_full = kept.is_full;
        let (mut more, mut is_over) = (true, is_full || count(join, held)?);
        while more && !is_over {
            more = build.next_piece(env, &mut |piece| {
                let kept = join.keep(run, &piece)?;
                is_over = count(join, held)?;
                Ok(kept)
            })?;
        }
        if !is_over {
            join.end(run)?;
            is_over = count(join, held)?;
        }
        if !is_over {
            let is_done = join.is_empty() && join.needs_partners();
            self.phase = if is_done { Phase::End } else { Phase::Probe };
            return Ok(());
        }
        self.forget(env.shared);
        if let Inputs::Pieces(mut left, mut right, by_row) =
            std::mem::replace(&mut self.inputs, Inputs::Nothing)
        {
            left.input.rewind(env.shared);
            right.input.rewind(env.shared);
            let ByRow { kind, condition, build_left } = by_row;
            // Row by row, the side is kept of which no row comes out.
            let is_swapped = build_left && !kind.shows_right();
            let by_row = HashJoin::new(kind, left, right, condition, build_left && !is_swapped);
            self.inputs = Inputs::Divided(Divided { by_row: Box::new(by_row), is_swapped });
        }
        Ok(())
    }

    fn forget(&mut self, shared: &Shared) {
        self.join.clear();
        self.held.clear(shared);
        self.waiting.clear(shared);
        self.phase = Phase::Build;
    }
}

/// The build side, while several threads read it.
struct BuildSide<'j> {
    join: &'j mut Join,
    /// True if the threads have left rows for which there is no room.
    is_full: bool,
}

impl Gather for BuildSide<'_> {
    type Sink = Builder;

    fn sink(&self) -> Builder {
        self.join.builder()
    }

    fn gather(
        &mut self,
        env: &Env<'_>,
        sinks: Vec<Builder>,
        parts: &mut Parts<'_>,
    ) -> Result<bool> {
        sinks.into_iter().for_each(|builder| self.join.take(builder));
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        for part in parts {
            self.is_full |= part.next_piece(run, &mut |_| Ok(0))?;
            part.end(env);
        }
        Ok(true)
    }
}

impl Sink for Builder {
    fn take(&mut self, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64> {
        self.keep(run, piece)
    }

    fn bytes(&self) -> usize {
        Builder::bytes(self)
    }
}

impl Step for Probing<'_> {
    fn take(&mut self, run: Run<'_>, piece: Piece<'_, '_>, f: &mut TakePiece<'_>) -> Result<u64> {
        self.probe(run, &piece, &mut |slice, selected| f(Piece::Joined(slice, selected)).map(drop))
    }
}

impl GivesPieces for BatchJoin {
    fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }
}

impl Operator for BatchJoin {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if let Inputs::Divided(divided) = &mut self.inputs {
            divided.fill(env, &mut self.join)?;
            // Rows of the first piece may wait still.
            return Ok(self.waiting.next(env.shared, out)? || divided.by_row.next(env, out)?);
        }
        waiting::next_of(self, env, out)
    }

    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        if self.phase == Phase::Build && matches!(self.inputs, Inputs::Pieces(..)) {
            self.fill(env)?;
        }
        let (left, right, build_left) = match &mut self.inputs {
            Inputs::Pieces(left, right, by_row) => (left, right, by_row.build_left),
            Inputs::Divided(divided) => {
                divided.fill(env, &mut self.join)?;
                let mut next = |out: &mut Row| divided.by_row.next(env, out);
                return piece_of_rows(&mut |piece| f(piece).map(drop), &mut next);
            }
            Inputs::Nothing => return Ok(false),
        };
        let probe = if build_left { &mut right.input } else { &mut left.input };
        let join = &mut self.join;
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        let mut give =
            |slice: &Slice<'_>, selected: &Selection| f(Piece::Joined(slice, selected)).map(drop);
        match self.phase {
            Phase::Probe => {
                let more =
                    probe.next_piece(env, &mut |piece| join.probe(run, &piece, &mut give))?;
                if !more {
                    self.phase = Phase::Rest;
                }
                Ok(true)
            }
            Phase::Rest => {
                join.rest(&mut give)?;
                self.phase = Phase::End;
                Ok(true)
            }
            Phase::Build | Phase::End => Ok(false),
        }
    }

    fn parts(&mut self, env: &Env<'_>, threads: usize) -> Result<Parts<'_>> {
        if self.phase == Phase::Build && matches!(self.inputs, Inputs::Pieces(..)) {
            self.fill(env)?;
        }
        let Self { join, inputs: Inputs::Pieces(left, right, by_row), phase: Phase::Probe, .. } =
            self
        else {
            return Ok(Parts::new());
        };
        let probe = if by_row.build_left { &mut right.input } else { &mut left.input };
        let join = &*join;
        Ok(parts_by(probe.parts(env, threads)?, || join.probing()))
    }

    fn report(&self) -> Report {
        self.worker_use.report()
    }

    fn rewind(&mut self, shared: &Shared) {
        self.forget(shared);
        match &mut self.inputs {
            Inputs::Pieces(left, right, _) => {
                left.input.rewind(shared);
                right.input.rewind(shared);
            }
            Inputs::Divided(divided) => divided.by_row.rewind(shared),
            Inputs::Nothing => {}
        }
    }
}
