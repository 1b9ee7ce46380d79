//! `UNION`, `INTERSECT` and `EXCEPT`, with and without `ALL`.
//!
//! ```text
//!                  a row of the left side comes out, where the right side has n rows like it
//!   intersect      once, where n > 0
//!   intersect all  n times at most
//!   except         once, where n = 0
//!   except all     as often as it comes, but for the first n times
//! ```

use sql::plan::SetOp;
use types::Result;

use super::hash::KeyTable;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};

/// The rows of two inputs.
pub(crate) struct SetOperation {
    op: SetOp,
    all: bool,
    left: Input,
    right: Input,
    /// True when the left side has given all of a union.
    second: bool,
    /// True when the rows of the right side are in the table.
    built: bool,
    table: KeyTable,
    /// How often each row of the table may still be used.
    counts: Vec<u64>,
    held: Held,
}

impl SetOperation {
    pub(crate) fn new(op: SetOp, all: bool, left: Input, right: Input) -> Self {
        Self {
            op,
            all,
            left,
            right,
            second: false,
            built: false,
            table: KeyTable::default(),
            counts: Vec::new(),
            held: Held::default(),
        }
    }

    fn insert(&mut self, env: &Env<'_>, row: &Row) -> Result<(usize, bool)> {
        let (at, new) = self.table.insert(row);
        if new {
            self.held.add_row(env, row)?;
            self.counts.push(0);
        }
        Ok((at, new))
    }

    fn union(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        loop {
            let more =
                if self.second { self.right.next(env, out)? } else { self.left.next(env, out)? };
            if !more {
                if self.second {
                    return Ok(false);
                }
                self.second = true;
                continue;
            }
            if self.all || self.insert(env, out)?.1 {
                return Ok(true);
            }
        }
    }

    fn build(&mut self, env: &Env<'_>, out: &mut Row) -> Result<()> {
        while self.right.next(env, out)? {
            let (at, _) = self.insert(env, out)?;
            self.counts[at] += 1;
        }
        self.built = true;
        Ok(())
    }

    /// Whether a row of the left side comes out.
    fn takes(&mut self, env: &Env<'_>, row: &Row) -> Result<bool> {
        match (self.op, self.all) {
            (SetOp::Intersect, all) => Ok(self.table.find(row).is_some_and(|at| {
                let left = &mut self.counts[at];
                let takes = *left > 0;
                *left = if all { left.saturating_sub(1) } else { 0 };
                takes
            })),
            (_, false) => Ok(self.insert(env, row)?.1),
            (_, true) => Ok(match self.table.find(row) {
                Some(at) if self.counts[at] > 0 => {
                    self.counts[at] -= 1;
                    false
                }
                _ => true,
            }),
        }
    }
}

impl Operator for SetOperation {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if self.op == SetOp::Union {
            return self.union(env, out);
        }
        if !self.built {
            self.build(env, out)?;
        }
        while self.left.next(env, out)? {
            if self.takes(env, out)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.second = false;
        self.built = false;
        self.table.clear();
        self.counts.clear();
        self.held.clear(shared);
        self.left.rewind(shared);
        self.right.rewind(shared);
    }
}
