//! `FOR UPDATE` and the like: the rows come out after those of the tables were locked.

use sql::plan::RowLock;
use types::{Datum, Result};

use super::recheck::Recheck;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use crate::tables::Locked;

/// A lock on rows of one table.
pub(crate) struct Lock {
    pub(crate) lock: RowLock,
    /// The columns of the scan that the rows come from.
    pub(crate) attnums: Vec<i16>,
    pub(crate) recheck: Option<Recheck>,
}

/// The rows of the input, locked.
pub(crate) struct LockRows {
    input: Input,
    locks: Vec<Lock>,
}

impl LockRows {
    pub(crate) fn new(input: Input, locks: Vec<Lock>) -> Self {
        Self { input, locks }
    }

    /// Takes the locks of a row; false if it does not come out.
    fn lock(&mut self, env: &Env<'_>, row: &mut Row) -> Result<bool> {
        for Lock { lock, attnums, recheck } in &mut self.locks {
            // A side of an outer join that has no row has nothing to lock.
            let Datum::Bytea(key) = &row[lock.key] else { continue };
            let key = key.clone();
            let mut newest = Row::new();
            let found = env.ctx.tables.lock(
                lock.relation,
                &key,
                lock.strength,
                lock.wait,
                attnums,
                &mut newest,
            )?;
            match (found, recheck) {
                (Locked::AsSeen, _) => {}
                (Locked::Changed, Some(recheck)) => {
                    if !recheck.row(env, newest, row)? {
                        return Ok(false);
                    }
                }
                (Locked::Changed | Locked::Gone | Locked::Busy, _) => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Operator for LockRows {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        while self.input.next(env, out)? {
            if self.lock(env, out)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.input.rewind(shared);
    }
}
