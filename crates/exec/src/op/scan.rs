//! Scans of tables: the rows of some ranges of a key, or those that an index of items finds.
//!
//! ```text
//!   path          ranges one after the other ──> rows ──condition──> out
//!   conditional   another path, taken if its start conditions hold when the scan starts
//! ```

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use batch::Run;
use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Error, Oid, Result, SqlState, key};

use super::path::Path;
use super::{Operator, Row, count_given};
use crate::ctx::{Env, Shared, TICKS_MAX};
use crate::parallel::{Part, Parts, TakePiece};
use crate::tables::{
    Moment, Piece, Range, ScanKey, ScanRequest, Scanning, TablePart, piece_of_rows,
};
use plan::explain::operator_stats::Report;

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

/// `TABLESAMPLE`
pub(crate) struct Sample {
    pub(crate) percent: Program,
    pub(crate) seed: Option<Program>,
}

/// A path, and the conditions under which it finds all rows that are wanted.
pub(crate) struct ConditionalPath {
    pub(crate) start_conditions: Vec<Program>,
    pub(crate) path: Path,
}

impl ConditionalPath {
    fn is_taken(&self, env: &Env<'_>) -> Result<bool> {
        for start_condition in &self.start_conditions {
            if !env.test(start_condition, EvalRow::NONE)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The columns of an index that are read in the place of the table's.
pub(crate) struct Columns {
    pub(crate) index: Oid,
    /// Which columns of the index, by number.
    pub(crate) numbers: Vec<i16>,
    /// The programs that compute these columns from a row of the table.
    pub(crate) values: Vec<Program>,
}

/// The rows of a table.
pub(crate) struct Scan {
    relation: Oid,
    is_computed: bool,
    attnums: Vec<i16>,
    when: When,
    path: Path,
    conditional: Option<ConditionalPath>,
    sample: Option<Sample>,
    condition: Option<Program>,
    columns: Option<Columns>,
    /// True if the scan reads the rows of the table and computes the columns of the index from them.
    computes_columns: bool,
    /// The row of the table from which the columns of the index are computed.
    row: Row,
    /// True if `next_piece` does not evaluate the condition: the operator above does.
    leaves_condition: bool,
    /// True if the conditional path is taken.
    takes_conditional: bool,
    /// The searches of an index of items.
    scan_keys: Vec<ScanKey>,
    /// The ranges that are still ahead.
    ranges: Option<VecDeque<Range>>,
    open: Option<Scanning>,
    /// The key of the one row that is looked up, and whether that was done.
    key: Vec<u8>,
    is_done: bool,
    /// How many rows the condition has left out.
    removed: AtomicU64,
    /// The state of the random numbers of a sample, and the limit below which a number puts a row into the sample.
    chance_of_row: Option<(u64, u64)>,
}

impl Scan {
    pub(crate) fn new(
        relation: Oid,
        is_computed: bool,
        attnums: Vec<i16>,
        when: When,
        (path, conditional): (Path, Option<ConditionalPath>),
        sample: Option<Sample>,
        condition: Option<Program>,
    ) -> Self {
        Self {
            relation,
            is_computed,
            attnums,
            when,
            path,
            conditional,
            sample,
            condition,
            columns: None,
            computes_columns: false,
            row: Row::new(),
            leaves_condition: false,
            takes_conditional: false,
            scan_keys: Vec::new(),
            ranges: None,
            open: None,
            key: Vec::new(),
            is_done: false,
            removed: AtomicU64::new(0),
            chance_of_row: None,
        }
    }

    /// Returns the scan with the condition of its pieces left to the operator above.
    pub(crate) fn leaving_condition(self) -> Self {
        Self { leaves_condition: true, ..self }
    }

    /// Returns the scan with the columns of an index in the place of its own.
    pub(crate) fn with_columns(self, columns: Option<Columns>) -> Self {
        Self { columns, ..self }
    }

    /// The path that is taken.
    fn chosen(&self) -> &Path {
        match &self.conditional {
            Some(conditional) if self.takes_conditional => &conditional.path,
            _ => &self.path,
        }
    }

    /// Chooses the path, and computes what is read by it.
    fn choose(&mut self, env: &Env<'_>) -> Result<()> {
        self.takes_conditional = match &self.conditional {
            Some(conditional) => conditional.is_taken(env)?,
            None => false,
        };
        if let Some(sample) = &self.sample {
            self.chance_of_row = Some(sample.start(env)?);
        }
        let Some(scan_keys) = self.chosen().scan_keys(env)? else {
            self.ranges = Some(VecDeque::new());
            return Ok(());
        };
        self.ranges = Some(self.chosen().ranges(env)?);
        self.scan_keys = scan_keys;
        Ok(())
    }

    /// Opens the next range; false if all have been read. If a row may have versions in several ranges, opens all of
    /// them at once.
    fn open_next(&mut self, env: &Env<'_>) -> Result<bool> {
        if self.ranges.is_none() {
            self.choose(env)?;
        }
        let is_now = matches!(self.when, When::Now);
        let at_once = if is_now || self.chosen().index.is_none() { 1 } else { usize::MAX };
        let next: Vec<Range> = match &mut self.ranges {
            Some(ranges) => ranges.drain(..at_once.min(ranges.len())).collect(),
            None => Vec::new(),
        };
        self.open = if next.is_empty() { None } else { Some(self.start(env, next)?) };
        Ok(self.open.is_some())
    }

    fn start(&mut self, env: &Env<'_>, ranges: Vec<Range>) -> Result<Scanning> {
        let request = self.request(env, ranges)?;
        if let Some(Columns { index, numbers, .. }) = &self.columns {
            let scanning = env.ctx.tables.scan_columns(&request, *index, numbers)?;
            let computes_columns = scanning.is_none();
            let scanning = scanning.map_or_else(|| env.ctx.tables.scan(request), Ok)?;
            self.computes_columns = computes_columns;
            return Ok(scanning);
        }
        env.ctx.tables.scan(request)
    }

    fn request(&self, env: &Env<'_>, ranges: Vec<Range>) -> Result<ScanRequest<'_>> {
        Ok(ScanRequest {
            relation: self.relation,
            is_computed: self.is_computed,
            attnums: &self.attnums,
            moment: moment(env, &self.when)?,
            index: self.chosen().index,
            ranges,
            scan_keys: self.scan_keys.clone(),
            is_backward: self.chosen().is_backward,
            is_single: self.chosen().is_single,
            may_read_all: self.chosen().may_read_all,
        })
    }

    /// Puts the next row of the table into `out`, as the columns of the index.
    fn next_computed(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        let (Some(rows), Some(columns)) = (&mut self.open, &self.columns) else { return Ok(false) };
        if !env.ctx.tables.next(rows, &mut self.row)? {
            return Ok(false);
        }
        out.clear();
        for value in &columns.values {
            out.push(env.value(value, EvalRow::Values(&self.row))?);
        }
        Ok(true)
    }

    /// True if the scan has at most one row and finds it by its key.
    fn looks_up(&self) -> bool {
        self.path.is_single && matches!(self.when, When::Now) && self.conditional.is_none()
    }

    /// Puts the row that has the key into `out`; false if there is none, or if it does not fit the condition.
    fn look_up(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(false);
        }
        env.tick()?;
        self.key.clear();
        for (equal, (repr, order)) in self.path.equal.iter().zip(&self.path.columns) {
            let value = equal.value(*repr, &mut |program| env.value(program, EvalRow::NONE))?;
            let Some(value) = value else { return Ok(false) };
            key::write(value.as_ref(), *order, &mut self.key);
        }
        let tables = env.ctx.tables;
        if !tables.get(self.relation, self.path.index, &self.key, &self.attnums, out)? {
            return Ok(false);
        }
        let is_wanted = self.is_wanted(env, out)?;
        self.remove(u64::from(!is_wanted));
        Ok(is_wanted)
    }

    /// True if a row fits the condition.
    fn is_wanted(&self, env: &Env<'_>, row: &Row) -> Result<bool> {
        self.condition.as_ref().map_or(Ok(true), |condition| env.test(condition, row))
    }

    /// Counts rows that the condition has left out.
    fn remove(&self, rows: u64) {
        self.removed.fetch_add(rows, Ordering::Relaxed);
    }

    /// True if a row is in the sample.
    fn is_sampled(&mut self) -> bool {
        let Some((state, below)) = &mut self.chance_of_row else { return true };
        // The generator of splitmix64.
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = *state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) >> 11 < *below
    }
}

/// The pieces of a scan that one of several threads takes.
struct ScanPart<'p> {
    /// The parts that no thread has taken yet.
    ahead: Arc<Mutex<VecDeque<Box<dyn TablePart>>>>,
    /// Threads begin at both ends: what one reads lies together, and has the same dictionaries.
    is_from_front: bool,
    open: Option<Box<dyn TablePart>>,
    /// How many rows the condition has left out.
    removed: &'p AtomicU64,
}

impl Part for ScanPart<'_> {
    fn next_piece(&mut self, run: Run<'_>, f: &mut TakePiece<'_>) -> Result<bool> {
        loop {
            if self.open.is_none() {
                let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
                self.open = match self.is_from_front {
                    true => ahead.pop_front(),
                    false => ahead.pop_back(),
                };
            }
            let Some(rows) = &mut self.open else { return Ok(false) };
            (run.tick)(0)?;
            let mut removed = 0;
            let more = rows.next_piece(&mut |piece| {
                let all = piece.len() as u64;
                removed += all - f(piece)?.min(all);
                Ok(())
            })?;
            self.removed.fetch_add(removed, Ordering::Relaxed);
            if more {
                return Ok(true);
            }
            self.open = None;
        }
    }
}

impl Operator for Scan {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if self.looks_up() {
            return self.look_up(env, out);
        }
        loop {
            env.tick()?;
            let Some(rows) = &mut self.open else {
                if !self.open_next(env)? {
                    return Ok(false);
                }
                continue;
            };
            if self.computes_columns {
                if !self.next_computed(env, out)? {
                    self.open = None;
                } else if self.is_wanted(env, out)? {
                    return Ok(true);
                } else {
                    self.remove(1);
                }
                continue;
            }
            if let (Some(condition), None) = (&self.condition, &self.sample) {
                let mut seen = 0;
                let mut test = |row: EvalRow<'_>| {
                    seen += 1;
                    env.tick()?;
                    env.test(condition, row)
                };
                let is_found = env.ctx.tables.next_that(rows, &mut test, out)?;
                self.remove(seen - u64::from(is_found));
                if is_found {
                    return Ok(true);
                }
                self.open = None;
                continue;
            }
            if !env.ctx.tables.next(rows, out)? {
                self.open = None;
                continue;
            }
            if !self.is_sampled() {
                continue;
            }
            if self.is_wanted(env, out)? {
                return Ok(true);
            }
            self.remove(1);
        }
    }

    fn next_piece(
        &mut self,
        env: &Env<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<u64>,
    ) -> Result<bool> {
        let is_tested = self.condition.is_some() && !self.leaves_condition;
        if is_tested || self.sample.is_some() || self.looks_up() {
            return piece_of_rows(&mut |piece| f(piece).map(drop), |out| self.next(env, out));
        }
        loop {
            let Some(rows) = &mut self.open else {
                env.tick()?;
                if !self.open_next(env)? {
                    return Ok(false);
                }
                continue;
            };
            if self.computes_columns {
                return piece_of_rows(&mut |piece| f(piece).map(drop), |out| self.next(env, out));
            }
            let mut removed = 0;
            let more = env.ctx.tables.next_piece(rows, &mut |piece| {
                let all = piece.len() as u64;
                removed += all - f(piece)?.min(all);
                Ok(())
            })?;
            self.remove(removed);
            if more {
                return Ok(true);
            }
            self.open = None;
        }
    }

    fn parts(&mut self, env: &Env<'_>, threads: usize) -> Result<Parts<'_>> {
        let is_tested = self.condition.is_some() && !self.leaves_condition;
        let is_begun = self.open.is_some() || self.ranges.is_some();
        if is_tested || is_begun || self.sample.is_some() || self.looks_up() {
            return Ok(Parts::new());
        }
        if !self.open_next(env)? || self.computes_columns {
            return Ok(Parts::new());
        }
        let Some(rows) = &mut self.open else { return Ok(Parts::new()) };
        let parts = env.ctx.tables.split(rows, env.ctx.parallelism.rows_each)?;
        if parts.is_empty() {
            return Ok(Parts::new());
        }
        let ahead = Arc::new(Mutex::new(VecDeque::from(parts)));
        let removed = &self.removed;
        let part = |number: usize| -> Box<dyn Part + '_> {
            let (ahead, is_from_front) = (Arc::clone(&ahead), number.is_multiple_of(2));
            Box::new(ScanPart { ahead, is_from_front, open: None, removed })
        };
        Ok((0..threads).map(part).collect())
    }

    fn count(&mut self, env: &Env<'_>) -> Result<u64> {
        if self.condition.is_some() || self.sample.is_some() || self.looks_up() {
            return count_given(self, env);
        }
        let mut total = 0;
        loop {
            let Some(rows) = &mut self.open else {
                // Ranges without rows are many where a long list is looked for.
                env.tick()?;
                if !self.open_next(env)? {
                    return Ok(total);
                }
                continue;
            };
            let count = env.ctx.tables.count(rows, TICKS_MAX)?;
            env.ticks(count)?;
            total += count;
            if count == 0 {
                self.open = None;
            }
        }
    }

    fn report(&self) -> Report {
        Report { removed: self.removed.load(Ordering::Relaxed), ..Report::default() }
    }

    fn rewind(&mut self, _: &Shared) {
        self.ranges = None;
        self.open = None;
        self.is_done = false;
    }
}

impl Sample {
    /// The state of the random numbers, and the limit below which a number puts a row into the sample.
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
