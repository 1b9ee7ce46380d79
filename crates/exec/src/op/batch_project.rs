//! Projections over blocks of columns. They give slices to the operator above.

use batch::{Projection, Run};
use types::Result;

use super::basic::Project;
use super::{Operator, Row};
use crate::ctx::{Env, Shared};
use crate::tables::Piece;

/// For each row one of expressions.
pub(crate) struct BatchProject {
    /// The same row by row, which has the input.
    by_row: Project,
    projection: Projection,
}

impl BatchProject {
    pub(crate) fn new(by_row: Project, projection: Projection) -> Self {
        Self { by_row, projection }
    }
}

impl Operator for BatchProject {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        self.by_row.next(env, out)
    }

    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        let Self { by_row, projection } = self;
        by_row.input().next_piece(env, &mut |piece| {
            projection.take(run, &piece, &mut |slice, rows| f(Piece::Joined(slice, rows)).map(drop))
        })
    }

    fn rewind(&mut self, shared: &Shared) {
        self.projection.forget();
        self.by_row.rewind(shared);
    }
}
