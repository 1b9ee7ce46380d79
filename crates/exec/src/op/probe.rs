//! Counts of an operator for `EXPLAIN ANALYZE`: its runs, its rows, its time. Only plans that are
//! explained have probes.

use std::cell::Cell;

use batch::{Cutoff, Run};
use plan::explain::operator_stats::Blocks;
use store::BlockReads;
use types::Result;

use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use crate::parallel::{Part, Parts, TakePiece};
use crate::spill::TempBytes;
use crate::tables::Piece;

/// The blocks that the calling thread has read since it began.
fn blocks() -> Blocks {
    let (store, temporary) = (BlockReads::of_thread(), TempBytes::of_thread());
    Blocks {
        hit: store.hit,
        read: store.read,
        temporary_bytes_read: temporary.read,
        temporary_bytes_written: temporary.written,
    }
}

/// An operator that is looked at.
pub(crate) struct Probe {
    input: Input,
    /// Its place among all that is seen.
    at: usize,
}

impl Probe {
    pub(crate) fn new(input: Input, at: usize) -> Self {
        Self { input, at }
    }
}

impl Probe {
    /// Looks at what `step` does: it says whether there are more rows. `rows` tells how many it gave.
    fn look(
        &mut self,
        env: &Env<'_>,
        step: impl FnOnce(&mut Input) -> Result<bool>,
        rows: impl FnOnce() -> u64,
    ) -> Result<bool> {
        let now_us = || env.ctx.clock.map_or(0, |clock| clock());
        let (start_us, before) = (now_us(), blocks());
        let more = step(&mut self.input);
        let (took_us, after) = (now_us().saturating_sub(start_us), blocks());
        let mut all = env.shared.seen.borrow_mut();
        let seen = &mut all[self.at];
        if !std::mem::replace(&mut seen.is_running, true) {
            seen.loops += 1;
            seen.startup_us += took_us;
        }
        seen.total_us += took_us;
        seen.blocks.add(before, after);
        seen.rows += if matches!(more, Ok(true)) { rows() } else { 0 };
        seen.is_running = matches!(more, Ok(true));
        seen.report = self.input.report();
        more
    }
}

/// A part of an operator that is looked at.
struct ProbePart<'p> {
    input: Box<dyn Part + 'p>,
    at: usize,
    /// When the parts were made; one of them tells how long all took.
    start_us: Option<u64>,
    rows: u64,
    blocks: Blocks,
}

impl Part for ProbePart<'_> {
    fn next_piece(&mut self, run: Run<'_>, f: &mut TakePiece<'_>) -> Result<bool> {
        let (before, mut kept) = (blocks(), 0);
        let more = self.input.next_piece(run, &mut |piece| {
            let rows = f(piece)?;
            kept += rows;
            Ok(rows)
        });
        self.rows += kept;
        self.blocks.add(before, blocks());
        more
    }

    fn end(&mut self, env: &Env<'_>) {
        self.input.end(env);
        let mut all = env.shared.seen.borrow_mut();
        let seen = &mut all[self.at];
        seen.rows += self.rows;
        seen.blocks.add(Blocks::default(), self.blocks);
        if let Some(start_us) = self.start_us {
            let now_us = env.ctx.clock.map_or(0, |clock| clock());
            seen.total_us += now_us.saturating_sub(start_us);
            seen.loops += u64::from(!std::mem::replace(&mut seen.is_running, true));
        }
    }
}

impl Operator for Probe {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        self.look(env, |input| input.next(env, out), || 1)
    }

    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        let kept = Cell::new(0);
        let mut counted = |piece: Piece<'_, '_>| {
            let rows = f(piece)?;
            kept.set(kept.get() + rows);
            Ok(rows)
        };
        self.look(env, |input| input.next_piece(env, &mut counted), || kept.get())
    }

    fn parts(&mut self, env: &Env<'_>, threads: usize) -> Result<Parts<'_>> {
        let start_us = env.ctx.clock.map_or(0, |clock| clock());
        let at = self.at;
        let part = |(number, input)| -> Box<dyn Part + '_> {
            let start_us = (number == 0).then_some(start_us);
            Box::new(ProbePart { input, at, start_us, rows: 0, blocks: Blocks::default() })
        };
        Ok(self.input.parts(env, threads)?.into_iter().enumerate().map(part).collect())
    }

    fn cut_off(&mut self, cutoff: Cutoff) {
        self.input.cut_off(cutoff);
    }

    fn rewind(&mut self, shared: &Shared) {
        shared.seen.borrow_mut()[self.at].is_running = false;
        self.input.rewind(shared);
    }
}
