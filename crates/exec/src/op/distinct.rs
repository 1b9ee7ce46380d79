//! Rows without repetitions: all different ones, or the first of each run of equal keys.

use types::Result;

use super::sort::{SortKey, write_keys};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use crate::spill::Unique;

/// `DISTINCT`
pub(crate) struct Distinct {
    input: Input,
    unique: Unique,
    is_read: bool,
}

impl Distinct {
    pub(crate) fn new(input: Input) -> Self {
        Self { input, unique: Unique::default(), is_read: false }
    }
}

impl Operator for Distinct {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        while !self.is_read {
            if !self.input.next(env, out)? {
                self.is_read = true;
            } else if self.unique.offer(env, out)? {
                return Ok(true);
            }
        }
        self.unique.next(env, out)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.is_read = false;
        self.unique.clear(shared);
        self.input.rewind(shared);
    }
}

/// `DISTINCT ON`
pub(crate) struct DistinctOn {
    input: Input,
    keys: Vec<SortKey>,
    last: Option<Vec<u8>>,
}

impl DistinctOn {
    pub(crate) fn new(input: Input, keys: Vec<SortKey>) -> Self {
        Self { input, keys, last: None }
    }
}

impl Operator for DistinctOn {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        while self.input.next(env, out)? {
            let mut key = Vec::new();
            write_keys(env, &self.keys, &*out, &mut key)?;
            if self.last.as_ref() != Some(&key) {
                self.last = Some(key);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.last = None;
        self.input.rewind(shared);
    }
}
