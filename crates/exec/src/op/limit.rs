//! Some of the rows: `LIMIT`, `OFFSET`, `FETCH FIRST ... WITH TIES`.

use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Error, Result, SqlState};

use super::sort::{SortKey, write_keys};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};

/// Some of the rows of the input.
pub(crate) struct Limit {
    input: Input,
    limit: Option<Program>,
    offset: Option<Program>,
    ties: Option<Vec<SortKey>>,
    state: State,
    /// The keys of the last row within the limit.
    last: Vec<u8>,
    key: Vec<u8>,
}

enum State {
    Start,
    /// So many rows are still to come; `None` for all.
    Giving(Option<u64>),
    /// Rows with the keys of the last one are still to come.
    Ties,
    End,
}

/// How many rows a limit lets through; `None` for all.
///
/// # Errors
/// `2201W` and `2201X` where a number is negative.
fn count(env: &Env<'_>, program: Option<&Program>, limit: bool) -> Result<Option<u64>> {
    let Some(program) = program else { return Ok(None) };
    match env.value(program, EvalRow::NONE)? {
        Datum::Int8(number) => match u64::try_from(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) if limit => Err(Error::new(
                SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
                "LIMIT must not be negative",
            )),
            Err(_) => Err(Error::new(
                SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE,
                "OFFSET must not be negative",
            )),
        },
        _ => Ok(None),
    }
}

/// How many of the first rows of an order a limit needs; `None` for all.
pub(crate) fn first(
    env: &Env<'_>,
    limit: &Program,
    offset: Option<&Program>,
) -> Result<Option<usize>> {
    let skipped = count(env, offset, false)?.unwrap_or(0);
    let limit = count(env, Some(limit), true)?;
    Ok(limit.and_then(|limit| usize::try_from(limit.saturating_add(skipped)).ok()))
}

impl Limit {
    pub(crate) fn new(
        input: Input,
        limit: Option<Program>,
        offset: Option<Program>,
        ties: Option<Vec<SortKey>>,
    ) -> Self {
        Self { input, limit, offset, ties, state: State::Start, last: Vec::new(), key: Vec::new() }
    }

    /// Notes the keys of the last row within the limit.
    fn note_last(&mut self, env: &Env<'_>, row: &Row) -> Result<()> {
        if let Some(keys) = &self.ties {
            self.last.clear();
            write_keys(env, keys, row, &mut self.last)?;
        }
        Ok(())
    }

    fn is_tie(&mut self, env: &Env<'_>, row: &Row) -> Result<bool> {
        let Some(keys) = &self.ties else { return Ok(false) };
        self.key.clear();
        write_keys(env, keys, row, &mut self.key)?;
        Ok(self.key == self.last)
    }
}

impl Operator for Limit {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if let State::Start = self.state {
            let skipped = count(env, self.offset.as_ref(), false)?.unwrap_or(0);
            let limit = count(env, self.limit.as_ref(), true)?;
            self.state = State::Giving(limit);
            if limit == Some(0) {
                self.state = State::End;
                return Ok(false);
            }
            for _ in 0..skipped {
                if !self.input.next(env, out)? {
                    self.state = State::End;
                    return Ok(false);
                }
            }
        }
        match self.state {
            State::Giving(Some(left)) => {
                if !self.input.next(env, out)? {
                    self.state = State::End;
                    return Ok(false);
                }
                self.state = State::Giving(Some(left - 1));
                if left == 1 {
                    self.note_last(env, out)?;
                    self.state = if self.ties.is_some() { State::Ties } else { State::End };
                }
                Ok(true)
            }
            State::Giving(None) => self.input.next(env, out),
            State::Ties => {
                if self.input.next(env, out)? && self.is_tie(env, out)? {
                    return Ok(true);
                }
                self.state = State::End;
                Ok(false)
            }
            State::Start | State::End => Ok(false),
        }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.state = State::Start;
        self.input.rewind(shared);
    }
}
