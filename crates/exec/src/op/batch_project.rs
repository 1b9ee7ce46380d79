//! Conditions and projections over blocks of columns. They give slices, or rows, to the operator above.

use batch::{Projection, Run};
use types::Result;

use super::waiting::{self, GivesPieces, Waiting};
use super::{Input, Operator, Row};
use crate::crew::{Part, Parts};
use crate::ctx::{Env, Shared};
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

/// A part of the rows.
struct ProjectPart<'p> {
    input: Box<dyn Part + 'p>,
    projection: Projection,
}

impl Part for ProjectPart<'_> {
    fn next_piece(
        &mut self,
        run: Run<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        let Self { input, projection } = self;
        input.next_piece(run, &mut |piece| {
            projection.take(run, &piece, &mut |slice, rows| f(Piece::Joined(slice, rows)).map(drop))
        })
    }

    fn end(&mut self, env: &Env<'_>) {
        self.input.end(env);
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
        input.next_piece(env, &mut |piece| {
            projection.take(run, &piece, &mut |slice, rows| f(Piece::Joined(slice, rows)).map(drop))
        })
    }

    fn parts(&mut self, env: &Env<'_>, threads: usize) -> Result<Parts<'_>> {
        let projection = &self.projection;
        let part = |input| -> Box<dyn Part + '_> {
            Box::new(ProjectPart { input, projection: projection.clone() })
        };
        Ok(self.input.parts(env, threads)?.into_iter().map(part).collect())
    }

    fn rewind(&mut self, shared: &Shared) {
        self.waiting.clear(shared);
        self.projection.forget();
        self.input.rewind(shared);
    }
}
