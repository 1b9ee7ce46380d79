//! Groups and their aggregates over blocks of columns, and over rows as they lie.
//!
//! ```text
//!   scan ──pieces──> batch::Aggregation ──slices of groups──> out
//!                           └── rows of groups that there is no room for ──> rest, an Aggregate, by hash
//! ```

use batch::{Aggregation, Run};
use types::{Datum, Result};

use super::aggregate::Aggregate;
use super::waiting::{self, GivesPieces, Waiting};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::tables::{Piece, piece_of_rows};

/// One row for each group.
pub(crate) struct Batches {
    input: Input,
    aggregation: Aggregation,
    /// Takes the rows that are put off.
    rest: Aggregate,
    is_filled: bool,
    /// The group that comes out next.
    at: usize,
    held: Held,
    has_rest: bool,
    waiting: Waiting,
}

impl Batches {
    pub(crate) fn new(input: Input, aggregation: Aggregation, rest: Aggregate) -> Self {
        let (held, waiting) = (Held::default(), Waiting::default());
        Self { input, aggregation, rest, is_filled: false, at: 0, held, has_rest: false, waiting }
    }

    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        let tick = |rows| env.ticks(rows);
        let run = Run { frame: env.ctx.frame, around: env, tick: &tick };
        let Self { input, aggregation, rest, held, has_rest, .. } = self;
        let mut take = |piece: Piece<'_, '_>| {
            let folder = held.is_over(env, true);
            let mut put_off;
            let put_off: Option<&mut batch::PutOff<'_>> = match folder {
                None => None,
                Some(folder) => {
                    *has_rest = true;
                    put_off = |row: &[Datum]| rest.put_off(env, folder, &row.to_vec());
                    Some(&mut put_off)
                }
            };
            let kept = aggregation.take(run, &piece, put_off)?;
            let bytes = aggregation.bytes() as u64;
            held.add(env, bytes.saturating_sub(held.bytes()) as usize)?;
            Ok(kept)
        };
        while input.next_piece(env, &mut take)? {}
        self.is_filled = true;
        self.rest.take_put_off()
    }

    fn forget(&mut self, shared: &Shared) {
        self.aggregation.clear();
        self.held.clear(shared);
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
        if self.at < self.aggregation.len() {
            let first = self.at;
            self.at += batch::ROWS_MAX;
            self.aggregation
                .give(run, first, &mut |slice, groups| f(Piece::Joined(slice, groups)).map(drop))?;
            return Ok(true);
        }
        if !self.has_rest {
            return Ok(false);
        }
        if !self.aggregation.is_empty() {
            // The groups that come next need the room.
            self.forget(env.shared);
        }
        let rest = &mut self.rest;
        piece_of_rows(&mut |piece| f(piece).map(drop), |out| rest.next(env, out))
    }

    fn rewind(&mut self, shared: &Shared) {
        self.forget(shared);
        self.rest.rewind(shared);
        self.input.rewind(shared);
        self.waiting.clear(shared);
        (self.is_filled, self.at, self.has_rest) = (false, 0, false);
    }
}
