//! `UNION`, `INTERSECT` and `EXCEPT`, with and without `ALL`.
//!
//! ```text
//!                  a row of the left side comes out, where the right side has n rows like it
//!   intersect      once, where n > 0
//!   intersect all  n times at most
//!   except         once, where n = 0
//!   except all     as often as it comes, but for the first n times
//! ```
//!
//! Where the right side is too large, both sides are divided by the hashes of their rows, and looked at
//! one partition after the other.

use sql::plan::SetOp;
use types::{Datum, Result};

use super::hash::KeyTable;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::spill::{LEVEL_MAX, Partitions, Reader, Tape, Unique};

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
    /// The rows that have come out, where each comes only once.
    unique: Unique,
    /// True when only what is in `unique` may still come.
    is_read: bool,
    /// Partitions of both sides, and how often they have been divided.
    pending: Vec<(Tape, Tape, u32)>,
    /// The left rows of the partition that is looked at.
    reader: Option<Reader>,
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
            unique: Unique::default(),
            is_read: false,
            pending: Vec::new(),
            reader: None,
        }
    }

    fn union(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        while !self.is_read {
            let more =
                if self.second { self.right.next(env, out)? } else { self.left.next(env, out)? };
            if !more {
                (self.second, self.is_read) = (true, self.second);
            } else if self.all || self.unique.offer(env, out)? {
                return Ok(true);
            }
        }
        self.unique.next(env, out)
    }

    /// Counts right rows. Gives them as partitions from where there are too many.
    fn build(
        &mut self,
        env: &Env<'_>,
        level: u32,
        next: &mut dyn FnMut(&mut Input, &mut Row) -> Result<Option<u64>>,
    ) -> Result<Option<Partitions>> {
        self.table.clear();
        self.counts.clear();
        self.held.clear(env.shared);
        let (mut row, mut later) = (Row::new(), None);
        while let Some(times) = next(&mut self.right, &mut row)? {
            let hash = self.table.hash(&row);
            match (self.table.find_hashed(hash, &row), &mut later) {
                (Some(at), _) => self.counts[at] += times,
                (None, Some(later)) => {
                    Partitions::add(later, hash, &row, Some(Datum::Int8(times as i64)))?;
                }
                (None, None) => {
                    self.held.add_row(env, &row)?;
                    self.table.insert_hashed(hash, &row);
                    self.counts.push(times);
                    if level < LEVEL_MAX {
                        let over = self.held.is_over(env, true);
                        later = over.map(|folder| Partitions::new(folder, level));
                    }
                }
            }
        }
        let Some(mut partitions) = later else { return Ok(None) };
        for (at, times) in self.counts.drain(..).enumerate() {
            let row = self.table.key(at);
            let hash = self.table.hash(row);
            partitions.add(hash, row, Some(Datum::Int8(times as i64)))?;
        }
        self.table.clear();
        self.held.clear(env.shared);
        Ok(Some(partitions))
    }

    /// Divides the left rows as the right ones have been.
    fn divide(
        &mut self,
        env: &Env<'_>,
        level: u32,
        right: Partitions,
        next: &mut dyn FnMut(&mut Input, &mut Row) -> Result<bool>,
    ) -> Result<()> {
        let Some(spill) = &env.ctx.spill else { return Ok(()) };
        let (mut partitions, mut row) = (Partitions::new(spill.folder, level), Row::new());
        while next(&mut self.left, &mut row)? {
            partitions.add(self.table.hash(&row), &row, None)?;
        }
        let pairs = right.finish()?.into_iter().zip(partitions.finish()?);
        let pairs = pairs.filter(|(_, left)| left.len() > 0);
        self.pending.extend(pairs.map(|(right, left)| (right, left, level + 1)));
        Ok(())
    }

    /// Reads the right side; it is divided, and the left one too, where it is too large.
    fn start(&mut self, env: &Env<'_>) -> Result<()> {
        let once = &mut |input: &mut Input, row: &mut Row| Ok(input.next(env, row)?.then_some(1));
        if let Some(right) = self.build(env, 0, once)? {
            self.divide(env, 0, right, &mut |input, row| input.next(env, row))?;
            self.is_read = !self.next_partition(env)?;
        }
        self.built = true;
        Ok(())
    }

    /// Goes to the next partition; false if there is none.
    fn next_partition(&mut self, env: &Env<'_>) -> Result<bool> {
        while let Some((right, left, level)) = self.pending.pop() {
            let mut reader = right.read();
            let counted = &mut |_: &mut Input, row: &mut Row| {
                env.tick()?;
                if !reader.row(row)? {
                    return Ok(None);
                }
                match row.pop() {
                    Some(Datum::Int8(times)) => Ok(Some(times as u64)),
                    _ => Ok(Some(1)),
                }
            };
            let mut rows = left.read();
            match self.build(env, level, counted)? {
                Some(right) => self.divide(env, level, right, &mut |_, row| rows.row(row))?,
                None => {
                    self.reader = Some(rows);
                    return Ok(true);
                }
            }
        }
        self.reader = None;
        Ok(false)
    }

    /// Whether a row of the left side comes out.
    fn takes(&mut self, env: &Env<'_>, row: &Row) -> Result<bool> {
        let found = self.table.find(row).map(|at| &mut self.counts[at]);
        match (self.op, self.all, found) {
            (SetOp::Intersect, _, None) => Ok(false),
            (SetOp::Intersect, all, Some(left)) => {
                let takes = *left > 0;
                *left = if all { left.saturating_sub(1) } else { 0 };
                Ok(takes)
            }
            (_, false, Some(_)) => Ok(false),
            (_, false, None) => self.unique.offer(env, row),
            (_, true, Some(left)) if *left > 0 => {
                *left -= 1;
                Ok(false)
            }
            (_, true, _) => Ok(true),
        }
    }
}

impl Operator for SetOperation {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if self.op == SetOp::Union {
            return self.union(env, out);
        }
        if !self.built {
            self.start(env)?;
        }
        while !self.is_read {
            let more = match &mut self.reader {
                None => self.left.next(env, out)?,
                Some(reader) => {
                    env.tick()?;
                    reader.row(out)?
                }
            };
            if !more {
                self.is_read = self.reader.is_none() || !self.next_partition(env)?;
            } else if self.takes(env, out)? {
                return Ok(true);
            }
        }
        self.unique.next(env, out)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.second = false;
        self.built = false;
        self.is_read = false;
        self.pending.clear();
        self.reader = None;
        self.table.clear();
        self.counts.clear();
        self.held.clear(shared);
        self.unique.clear(shared);
        self.left.rewind(shared);
        self.right.rewind(shared);
    }
}
