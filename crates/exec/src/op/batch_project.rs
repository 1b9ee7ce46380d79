//! Conditions and projections over blocks of columns. They give slices, or rows, to the operator above.

use batch::{Cutoff, Projection, Run};
use types::Result;

use super::waiting::{self, GivesPieces, Waiting};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use crate::parallel::{Parts, Step, TakePiece, parts_by};
use crate::tables::Piece;

/// For each row of which a condition is true one of expressions.
pub(crate) struct BatchProject {
    input: Input,
    projection: Projection,
    waiting: Waiting,
}

impl BatchProject {
    pub(crate) fn new(input: Input, projection: Projection) -> Self {
        Self { input, projection, waiting: Waiting::default() }
    }
}

impl Step for Projection {
    fn take(&mut self, run: Run<'_>, piece: Piece<'_, '_>, f: &mut TakePiece<'_>) -> Result<u64> {
        Projection::take(self, run, &piece, &mut |slice, rows| {
            f(Piece::Joined(slice, rows)).map(drop)
        })
    }
}

impl GivesPieces for BatchProject {
    fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }
}

impl Operator for BatchProject {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        waiting::next_of(self, env, out)
    }

    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        let Self { input, projection, .. } = self;
        input.next_piece(env, &mut |piece| Step::take(projection, run, piece, f))
    }

    fn parts(&mut self, env: &Env<'_>, threads: usize) -> Result<Parts<'_>> {
        Ok(parts_by(self.input.parts(env, threads)?, || self.projection.clone()))
    }

    fn cut_off(&mut self, cutoff: Cutoff) {
        self.projection.cut_off(cutoff);
    }

    fn rewind(&mut self, shared: &Shared) {
        self.waiting.clear(shared);
        self.projection.forget();
        self.input.rewind(shared);
    }
}
