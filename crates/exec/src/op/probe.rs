//! What an operator did, for `EXPLAIN ANALYZE`: how often it was run, how many rows it gave, how long it
//! took. Only plans that are explained have probes.

use std::cell::Cell;

use plan::explain::seen::Blocks;
use store::BlockReads;
use types::Result;

use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use crate::spill::TempBytes;
use crate::tables::Piece;

/// What the calling thread has looked at since it began.
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

    fn rewind(&mut self, shared: &Shared) {
        shared.seen.borrow_mut()[self.at].is_running = false;
        self.input.rewind(shared);
    }
}
