//! What an operator did, for `EXPLAIN ANALYZE`: how often it was run, how many rows it gave, how long it
//! took. Only plans that are explained have probes.

use types::Result;

use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};

/// What was seen of an operator.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    /// How many rows it gave, in all runs together.
    pub rows: u64,
    /// How often it was run.
    pub loops: u64,
    /// Microseconds until the first row was there, in all runs together.
    pub startup_us: u64,
    /// Microseconds, what is below it included.
    pub total_us: u64,
    /// What it says of itself.
    pub report: Report,
    /// True between the first row and the end of a run.
    pub(crate) is_running: bool,
}

/// What an operator says of itself.
#[derive(Clone, Copy, Default, Debug)]
pub struct Report {
    /// How many rows its condition left out.
    pub removed: u64,
    /// How it sorted.
    pub sort: Option<Sorted>,
}

/// How rows were sorted.
#[derive(Clone, Copy, Debug)]
pub struct Sorted {
    /// True where only the first rows were kept.
    pub is_top: bool,
    /// True where runs were merged.
    pub is_external: bool,
    /// Bytes of the rows, on disk or in memory.
    pub bytes: u64,
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

impl Operator for Probe {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        let now_us = || env.ctx.clock.map_or(0, |clock| clock());
        let start_us = now_us();
        let more = self.input.next(env, out);
        let took_us = now_us().saturating_sub(start_us);
        let mut all = env.shared.seen.borrow_mut();
        let seen = &mut all[self.at];
        if !std::mem::replace(&mut seen.is_running, true) {
            seen.loops += 1;
            seen.startup_us += took_us;
        }
        seen.total_us += took_us;
        seen.rows += u64::from(matches!(more, Ok(true)));
        seen.is_running = matches!(more, Ok(true));
        seen.report = self.input.report();
        more
    }

    fn rewind(&mut self, shared: &Shared) {
        shared.seen.borrow_mut()[self.at].is_running = false;
        self.input.rewind(shared);
    }
}
