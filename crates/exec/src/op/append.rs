//! The rows of a partitioned table: those of its partitions, one after the other.

use plan::Level;
use types::{Oid, Result};

use super::path::Path;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use crate::tables::Piece;

/// A partitioned table that may leave out partitions when the scan starts.
pub(crate) struct Pruning {
    pub(crate) level: Level,
    /// The conditions on the partition key.
    pub(crate) path: Path,
}

impl Pruning {
    /// The partitions that may have rows that are wanted.
    fn found(&self, env: &Env<'_>) -> Result<Vec<Oid>> {
        let values = self.path.values(env, self.level.width)?;
        let ranges: Vec<_> = self.path.ranges(env)?.into();
        Ok(self.level.router.within(&ranges, values.as_deref()))
    }
}

/// The scans of partitions.
pub(crate) struct Append {
    /// By level; `None` if no partition can be left out.
    prunings: Vec<Option<Pruning>>,
    parts: Vec<(Input, Vec<(usize, Oid)>)>,
    /// The parts that are still to be read, the next one last; `None` before the first row.
    ahead: Option<Vec<usize>>,
}

impl Append {
    pub(crate) fn new(
        prunings: Vec<Option<Pruning>>,
        parts: Vec<(Input, Vec<(usize, Oid)>)>,
    ) -> Self {
        Self { prunings, parts, ahead: None }
    }

    /// The part that is read; `None` at the end.
    fn current(&mut self, env: &Env<'_>) -> Result<Option<usize>> {
        if self.ahead.is_none() {
            let mut found = Vec::with_capacity(self.prunings.len());
            for pruning in &self.prunings {
                found.push(match pruning {
                    Some(pruning) => Some(pruning.found(env)?),
                    None => None,
                });
            }
            let is_found = |(level, partition): &(usize, Oid)| {
                found[*level].as_ref().is_none_or(|found| found.contains(partition))
            };
            let wanted = (0..self.parts.len()).rev();
            self.ahead = Some(wanted.filter(|at| self.parts[*at].1.iter().all(is_found)).collect());
        }
        Ok(self.ahead.as_ref().and_then(|ahead| ahead.last().copied()))
    }

    /// The part that is read has given all of its rows.
    fn leave(&mut self) {
        if let Some(ahead) = &mut self.ahead {
            ahead.pop();
        }
    }
}

impl Operator for Append {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        while let Some(at) = self.current(env)? {
            if self.parts[at].0.next(env, out)? {
                return Ok(true);
            }
            self.leave();
        }
        Ok(false)
    }

    fn count(&mut self, env: &Env<'_>) -> Result<u64> {
        let mut total = 0;
        while let Some(at) = self.current(env)? {
            total += self.parts[at].0.count(env)?;
            self.leave();
        }
        Ok(total)
    }

    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        while let Some(at) = self.current(env)? {
            if self.parts[at].0.next_piece(env, f)? {
                return Ok(true);
            }
            self.leave();
        }
        Ok(false)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.ahead = None;
        self.parts.iter_mut().for_each(|(part, _)| part.rewind(shared));
    }
}
