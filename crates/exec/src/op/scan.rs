//! Scans of tables: a range of a key, computed when the scan starts.
//!
//! ```text
//!   key columns    a ASC   b DESC
//!   a = 3, b > 5   prefix  01 (3)      then b: everything before the key form of 5
//!   a = any (..)   one range for each different element, in the order of the key
//! ```
//!
//! A range is made of key forms. NULL is equal to nothing, so a range with a NULL is empty; and what
//! is greater than a value does not include NULL, though NULL lies behind it.

use std::collections::VecDeque;
use std::ops::Bound;

use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Error, KeyOrder, Oid, Repr, Result, SqlState, key};

use super::{Operator, Row};
use crate::ctx::{Env, Shared};
use crate::tables::{Moment, Reach, Scanning};

/// Which states are read, ready to be computed.
pub(crate) enum When {
    Now,
    AsOf(Program),
    AtVersion(Program),
    FromTo(Program, Program),
    Between(Program, Program),
    ContainedIn(Program, Program),
    All,
    Ever,
}

/// What a column of the key is equal to.
pub(crate) enum Equal {
    One(Program),
    AnyOf(Program),
    Null,
}

/// How the rows are found, ready to be computed.
pub(crate) struct Path {
    pub(crate) index: Option<Oid>,
    pub(crate) is_backward: bool,
    /// The columns of the key that are bound, in order, and how they are held.
    pub(crate) columns: Vec<(Repr, KeyOrder)>,
    pub(crate) equal: Vec<Equal>,
    /// True where at most one row is in the range, which has the key that it begins with.
    pub(crate) is_single: bool,
    pub(crate) low: Option<(Program, bool)>,
    pub(crate) high: Option<(Program, bool)>,
}

/// `TABLESAMPLE`
pub(crate) struct Sample {
    pub(crate) percent: Program,
    pub(crate) seed: Option<Program>,
}

/// The rows of a table.
pub(crate) struct Scan {
    relation: Oid,
    is_computed: bool,
    attnums: Vec<i16>,
    when: When,
    path: Path,
    sample: Option<Sample>,
    condition: Option<Program>,
    /// The ranges that are still ahead.
    ranges: Option<VecDeque<Range>>,
    open: Option<Scanning>,
    /// The key of the one row that is looked up, and whether that was done.
    key: Vec<u8>,
    is_done: bool,
    /// The state of the random numbers of a sample, and below what a row is in it.
    chance: Option<(u64, u64)>,
}

type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl Scan {
    pub(crate) fn new(
        relation: Oid,
        is_computed: bool,
        attnums: Vec<i16>,
        when: When,
        path: Path,
        sample: Option<Sample>,
        condition: Option<Program>,
    ) -> Self {
        Self {
            relation,
            is_computed,
            attnums,
            when,
            path,
            sample,
            condition,
            ranges: None,
            open: None,
            key: Vec::new(),
            is_done: false,
            chance: None,
        }
    }

    fn start(
        &self,
        env: &Env<'_>,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
    ) -> Result<Scanning> {
        env.ctx.tables.scan(Reach {
            relation: self.relation,
            is_computed: self.is_computed,
            attnums: &self.attnums,
            moment: moment(env, &self.when)?,
            index: self.path.index,
            lower,
            upper,
            is_backward: self.path.is_backward,
            is_single: self.path.is_single,
        })
    }

    /// The one row that has a key.
    fn look_up(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(false);
        }
        env.tick()?;
        self.key.clear();
        for (equal, (repr, order)) in self.path.equal.iter().zip(&self.path.columns) {
            let Some(value) = equal.value(env, *repr)? else { return Ok(false) };
            key::write(value.as_ref(), *order, &mut self.key);
        }
        let tables = env.ctx.tables;
        Ok(tables.get(self.relation, &self.key, &self.attnums, out)? && self.is_wanted(env, out)?)
    }

    /// True where a row fits the condition.
    fn is_wanted(&self, env: &Env<'_>, row: &Row) -> Result<bool> {
        self.condition.as_ref().map_or(Ok(true), |condition| env.test(condition, row))
    }

    /// True where a row is in the sample.
    fn is_sampled(&mut self) -> bool {
        let Some((state, below)) = &mut self.chance else { return true };
        // The generator of splitmix64.
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = *state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) >> 11 < *below
    }
}

impl Operator for Scan {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if self.path.is_single && matches!(self.when, When::Now) {
            return self.look_up(env, out);
        }
        if self.ranges.is_none() {
            self.ranges = Some(self.path.ranges(env)?);
            if let Some(sample) = &self.sample {
                self.chance = Some(sample.start(env)?);
            }
        }
        loop {
            env.tick()?;
            let Some(rows) = &mut self.open else {
                let Some((lower, upper)) = self.ranges.as_mut().and_then(VecDeque::pop_front)
                else {
                    return Ok(false);
                };
                self.open = Some(self.start(env, lower, upper)?);
                continue;
            };
            if !env.ctx.tables.next(rows, out)? {
                self.open = None;
                continue;
            }
            if self.is_sampled() && self.is_wanted(env, out)? {
                return Ok(true);
            }
        }
    }

    fn rewind(&mut self, _: &Shared) {
        self.ranges = None;
        self.open = None;
        self.is_done = false;
    }
}

impl Sample {
    /// The state of the random numbers, and below what a row is taken.
    fn start(&self, env: &Env<'_>) -> Result<(u64, u64)> {
        let percent = match env.value(&self.percent, EvalRow::NONE)? {
            Datum::Float4(percent) => f64::from(percent),
            Datum::Float8(percent) => percent,
            _ => {
                return Err(Error::new(
                    SqlState::INVALID_TABLESAMPLE_ARGUMENT,
                    "TABLESAMPLE parameter cannot be null",
                ));
            }
        };
        if !(0.0..=100.0).contains(&percent) {
            return Err(Error::new(
                SqlState::INVALID_TABLESAMPLE_ARGUMENT,
                "sample percentage must be between 0 and 100",
            ));
        }
        let seed = match &self.seed {
            None => env.ctx.frame.context.random.bits(),
            Some(seed) => match env.value(seed, EvalRow::NONE)? {
                Datum::Float8(seed) => seed.to_bits(),
                _ => {
                    return Err(Error::new(
                        SqlState::INVALID_TABLESAMPLE_REPEAT,
                        "TABLESAMPLE REPEATABLE parameter cannot be null",
                    ));
                }
            },
        };
        Ok((seed, (percent / 100.0 * (1u64 << 53) as f64) as u64))
    }
}

fn moment(env: &Env<'_>, when: &When) -> Result<Moment> {
    let time = |program: &Program| match env.value(program, EvalRow::NONE)? {
        Datum::TimestampTz(time) => Ok(time),
        _ => Err(Error::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "the time at which a table is read must not be null",
        )),
    };
    Ok(match when {
        When::Now => Moment::Now,
        When::All => Moment::All,
        When::Ever => Moment::Ever,
        When::AsOf(at) => Moment::AsOf(time(at)?),
        When::AtVersion(version) => match env.value(version, EvalRow::NONE)? {
            Datum::Int8(version) => Moment::AtVersion(version),
            _ => {
                return Err(Error::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "the version at which a table is read must not be null",
                ));
            }
        },
        When::FromTo(from, to) => Moment::FromTo(time(from)?, time(to)?),
        When::Between(from, to) => Moment::Between(time(from)?, time(to)?),
        When::ContainedIn(from, to) => Moment::ContainedIn(time(from)?, time(to)?),
    })
}

/// How a value stands to those that a column can hold.
enum Fit {
    Value(Datum),
    Null,
    /// Below or above all of them.
    Below,
    Above,
}

/// A value as the column holds it.
fn fit(value: Datum, repr: Repr) -> Fit {
    let number = match &value {
        Datum::Null => return Fit::Null,
        Datum::Int2(value) => i64::from(*value),
        Datum::Int4(value) => i64::from(*value),
        Datum::Int8(value) => *value,
        _ => return Fit::Value(value),
    };
    let outside = || if number < 0 { Fit::Below } else { Fit::Above };
    match repr {
        Repr::Int2 => i16::try_from(number).map_or_else(|_| outside(), |n| Fit::Value(n.into())),
        Repr::Int4 => i32::try_from(number).map_or_else(|_| outside(), |n| Fit::Value(n.into())),
        _ => Fit::Value(number.into()),
    }
}

impl Path {
    /// The ranges of keys, in the order in which they are read.
    fn ranges(&self, env: &Env<'_>) -> Result<VecDeque<Range>> {
        // The values of the first columns: one prefix for each combination of elements.
        let mut prefixes: Vec<Vec<u8>> = vec![Vec::with_capacity(16)];
        for (equal, (repr, order)) in self.equal.iter().zip(&self.columns) {
            if let Equal::AnyOf(program) = equal {
                let mut forms: Vec<Vec<u8>> = elements(env.value(program, EvalRow::NONE)?, *repr)
                    .iter()
                    .map(|value| {
                        let mut form = Vec::new();
                        key::write(value.as_ref(), *order, &mut form);
                        form
                    })
                    .collect();
                forms.sort();
                forms.dedup();
                let with = |prefix: &Vec<u8>| -> Vec<Vec<u8>> {
                    forms.iter().map(|form| [&prefix[..], form].concat()).collect()
                };
                prefixes = prefixes.iter().flat_map(with).collect();
                continue;
            }
            let Some(value) = equal.value(env, *repr)? else { return Ok(VecDeque::new()) };
            for prefix in &mut prefixes {
                key::write(value.as_ref(), *order, prefix);
            }
        }
        let mut ranges = VecDeque::with_capacity(prefixes.len());
        for prefix in prefixes {
            ranges.extend(self.range(env, prefix)?);
        }
        if self.is_backward {
            ranges.make_contiguous().reverse();
        }
        Ok(ranges)
    }

    /// The keys that begin with a prefix and whose next column is between the ends.
    fn range(&self, env: &Env<'_>, prefix: Vec<u8>) -> Result<Option<Range>> {
        let all = |prefix: Vec<u8>| {
            let end = successor(&prefix);
            (if prefix.is_empty() { Bound::Unbounded } else { Bound::Included(prefix) }, end)
        };
        if self.low.is_none() && self.high.is_none() {
            return Ok(Some(all(prefix)));
        }
        let (repr, order) = self.columns[self.equal.len()];
        // The values of the column without NULL: what begins with the prefix and VALUE.
        let mut values = prefix.clone();
        key::write(Datum::Null.as_ref(), order, &mut values);
        let is_null_last = !order.has_nulls_first;
        let (mut lower, mut upper) = if is_null_last {
            (all(prefix.clone()).0, Bound::Excluded(values))
        } else {
            (successor(&values), successor(&prefix))
        };
        for (end, is_low) in [(&self.low, true), (&self.high, false)] {
            let Some((program, inclusive)) = end else { continue };
            let value = match fit(env.value(program, EvalRow::NONE)?, repr) {
                Fit::Null => return Ok(None),
                // Everything is above what lies below all.
                Fit::Below if is_low => continue,
                Fit::Above if !is_low => continue,
                Fit::Below | Fit::Above => return Ok(None),
                Fit::Value(value) => value,
            };
            let mut form = prefix.clone();
            key::write(value.as_ref(), order, &mut form);
            // In a descending column the smallest values come last.
            if is_low != order.is_descending {
                lower = if *inclusive { Bound::Included(form) } else { successor_bound(&form) };
            } else {
                upper = if *inclusive { successor(&form) } else { Bound::Excluded(form) };
            }
        }
        Ok(Some((as_lower(lower), upper)))
    }
}

impl Equal {
    /// The one value that a column is equal to; none where no row can have it.
    fn value(&self, env: &Env<'_>, repr: Repr) -> Result<Option<Datum>> {
        match self {
            Equal::Null => Ok(Some(Datum::Null)),
            Equal::One(program) => match fit(env.value(program, EvalRow::NONE)?, repr) {
                Fit::Value(value) => Ok(Some(value)),
                _ => Ok(None),
            },
            Equal::AnyOf(_) => Ok(None),
        }
    }
}

/// The elements of an array that a column can be equal to.
fn elements(array: Datum, repr: Repr) -> Vec<Datum> {
    let Datum::Array(array) = array else { return Vec::new() };
    let fitting = array.as_ref().iter().filter_map(|element| match fit(element.to_owned(), repr) {
        Fit::Value(value) => Some(value),
        _ => None,
    });
    fitting.collect()
}

/// The end of the keys that begin with a prefix.
fn successor(prefix: &[u8]) -> Bound<Vec<u8>> {
    let Some(last) = prefix.iter().rposition(|byte| *byte != u8::MAX) else {
        return Bound::Unbounded;
    };
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Bound::Excluded(end)
}

/// The beginning of the keys behind those that begin with a prefix.
fn successor_bound(prefix: &[u8]) -> Bound<Vec<u8>> {
    as_lower(successor(prefix))
}

/// The end of a range as the beginning of the one behind it.
fn as_lower(bound: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match bound {
        Bound::Excluded(end) => Bound::Included(end),
        other => other,
    }
}
