//! Window functions: the rows are put in order once for each window, and looked at partition by
//! partition. Rows that are too many for memory go to files, those of a large partition too; the values
//! of the calls over one partition are held.
//!
//! ```text
//!   partition   | a a a b b b b | c c |     rows with equal PARTITION BY
//!   peers         ───── ─ ───── ─  ───      rows with equal ORDER BY, a group
//!   frame             [ . . x . ]           what a function sees around the current row
//! ```
//!
//! An aggregate whose frames all begin with the partition goes on from row to row; one whose frame
//! is that of the row before is not computed again; others are computed frame by frame.

use scalar::aggregate::Accumulator;
use sql::eval::Program;
use types::{Datum, DatumRef, Result};

use super::aggregate::AggregateCall;
use super::frame::{Frame, Frames, Partition, Range};
use super::rank::Rank;
use super::sort::{SortKey, Sorter, write_keys};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared, value_bytes};

/// A function that is computed over a window.
#[expect(
    clippy::large_enum_variant,
    reason = "there are few of them, and they stay where they are"
)]
pub(crate) enum Function {
    Aggregate(AggregateCall),
    Rank(Rank, Vec<Program>),
}

/// A call over a window.
pub(crate) struct WindowCall {
    pub(crate) function: Function,
    pub(crate) frame: Frame,
    /// Its place among the columns that are added.
    pub(crate) place: usize,
}

/// Calls that see the rows in the same order.
pub(crate) struct Ordering {
    pub(crate) partition: Vec<SortKey>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) calls: Vec<WindowCall>,
}

/// The values of calls for the rows of a partition, and the place of each call among the columns that
/// are added.
type Values = Vec<(usize, Vec<Datum>)>;

/// Each row, and after it the values of window functions.
pub(crate) struct Window {
    input: Input,
    orderings: Vec<Ordering>,
    /// How many columns the input has, and how many are added.
    width: usize,
    added: usize,
    /// The rows in the order of the window that is computed next, or of the last one.
    sorter: Sorter,
    is_filled: bool,
    /// The partition whose rows come out, and which of them is next.
    partition: Option<(Partition, Values)>,
    /// Those values.
    held: Held,
    at: usize,
    /// The first row of the next partition, and its key.
    ahead: Option<(Row, Vec<u8>)>,
    key: Vec<u8>,
}

impl Window {
    pub(crate) fn new(input: Input, orderings: Vec<Ordering>, width: usize, added: usize) -> Self {
        Self {
            input,
            orderings,
            width,
            added,
            sorter: Sorter::default(),
            is_filled: false,
            partition: None,
            held: Held::default(),
            at: 0,
            ahead: None,
            key: Vec::new(),
        }
    }

    /// Reads the input, and computes all windows but the last.
    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        let mut row = Row::new();
        while self.input.next(env, &mut row)? {
            row.resize(self.width + self.added, Datum::Null);
            self.orderings[0].push(env, &mut self.sorter, &mut row)?;
        }
        self.sorter.finish(env)?;
        for ordering in 0..self.orderings.len() - 1 {
            let mut next = Sorter::default();
            while self.next_row(env, ordering, &mut row)? {
                self.orderings[ordering + 1].push(env, &mut next, &mut row)?;
            }
            next.finish(env)?;
            self.sorter.clear(env.shared);
            self.sorter = next;
        }
        self.is_filled = true;
        Ok(())
    }

    /// The next row with the values of the calls of an ordering; false at the end, when the next
    /// ordering can begin.
    fn next_row(&mut self, env: &Env<'_>, ordering: usize, out: &mut Row) -> Result<bool> {
        loop {
            if let Some((partition, values)) = &mut self.partition {
                if self.at < partition.len() {
                    partition.put_row(self.at, out)?;
                    for (place, values) in values {
                        out[self.width + *place] = std::mem::take(&mut values[self.at]);
                    }
                    self.at += 1;
                    return Ok(true);
                }
                partition.clear(env.shared);
                self.held.clear(env.shared);
                self.partition = None;
            }
            let Some(partition) = self.read_partition(env)? else { return Ok(false) };
            let ordering = &self.orderings[ordering];
            let mut values = Vec::with_capacity(ordering.calls.len());
            for call in &ordering.calls {
                let held = &mut self.held;
                let computed = call.compute(env, &partition, &ordering.order, held)?;
                values.push((call.place, computed));
            }
            self.partition = Some((partition, values));
            self.at = 0;
        }
    }

    /// The rows of the next partition; none at the end.
    fn read_partition(&mut self, env: &Env<'_>) -> Result<Option<Partition>> {
        let (row, key) = match self.ahead.take() {
            Some(first) => first,
            None => {
                let (mut row, mut key) = (Row::new(), Vec::new());
                if !self.sorter.next(&mut row, Some(&mut key))? {
                    return Ok(None);
                }
                (row, key)
            }
        };
        // Behind the key of the row stands how much of it is that of the partition.
        let length = |key: &[u8]| match key.last_chunk::<4>() {
            Some(length) => u32::from_le_bytes(*length) as usize,
            None => 0,
        };
        let mut partition = Partition::default();
        let mut last = key;
        partition.push(env, row, true)?;
        let mut row = Row::new();
        while self.sorter.next(&mut row, Some(&mut self.key))? {
            env.tick()?;
            let own = std::mem::take(&mut row);
            if self.key[..length(&self.key)] != last[..length(&last)] {
                self.ahead = Some((own, std::mem::take(&mut self.key)));
                break;
            }
            let is_new_group = self.key != last;
            partition.push(env, own, is_new_group)?;
            std::mem::swap(&mut last, &mut self.key);
        }
        Ok(Some(partition))
    }
}

impl Ordering {
    /// Adds a row under the key of its partition and, behind it, that of its peers.
    fn push(&self, env: &Env<'_>, sorter: &mut Sorter, row: &mut Row) -> Result<()> {
        sorter.push(env, row, |row, out| {
            let start = out.len();
            write_keys(env, &self.partition, row, out)?;
            let partition = (out.len() - start) as u32;
            write_keys(env, &self.order, row, out)?;
            out.extend_from_slice(&partition.to_le_bytes());
            Ok(())
        })
    }
}

impl WindowCall {
    /// The values for the rows of a partition.
    fn compute(
        &self,
        env: &Env<'_>,
        partition: &Partition,
        order: &[SortKey],
        held: &mut Held,
    ) -> Result<Vec<Datum>> {
        match &self.function {
            Function::Rank(rank, args) => rank
                .compute(env, partition, args, || Frames::new(env, &self.frame, partition, order)),
            Function::Aggregate(call) => {
                let frames = Frames::new(env, &self.frame, partition, order)?;
                aggregate(env, call, partition, frames, held)
            }
        }
    }
}

/// An aggregate over the frame of each row.
fn aggregate(
    env: &Env<'_>,
    aggregate: &AggregateCall,
    partition: &Partition,
    mut frames: Frames<'_>,
    held: &mut Held,
) -> Result<Vec<Datum>> {
    let start = || (aggregate.kernel.start)(&aggregate.types);
    let add = |accumulator: &mut dyn Accumulator, kept: &mut Held, range: Range| -> Result<()> {
        for at in range.start..range.end {
            env.tick()?;
            let row = partition.row(at)?;
            if let Some(filter) = &aggregate.filter
                && !env.test(filter, &*row)?
            {
                continue;
            }
            let values: Row =
                aggregate.args.iter().map(|arg| env.value(arg, &*row)).collect::<Result<_>>()?;
            let refs: Vec<DatumRef<'_>> = values.iter().map(Datum::as_ref).collect();
            aggregate.give(env, accumulator, &refs, kept)?;
        }
        Ok(())
    };
    let mut values: Vec<Datum> = Vec::with_capacity(partition.len());
    let (mut accumulator, mut kept) = (start(), Held::default());
    // The ranges that the accumulator has taken in.
    let mut taken: Vec<Range> = Vec::new();
    for at in 0..partition.len() {
        let ranges = frames.ranges(at)?;
        if at > 0 && ranges == taken {
            held.add(env, value_bytes(values[at - 1].as_ref()))?;
            values.push(values[at - 1].clone());
            continue;
        }
        match (&taken[..], &ranges[..]) {
            ([before], [now]) if before.start == now.start && before.end <= now.end => {
                add(accumulator.as_mut(), &mut kept, Range { start: before.end, end: now.end })?;
            }
            _ => {
                kept.clear(env.shared);
                accumulator = start();
                for range in &ranges {
                    add(accumulator.as_mut(), &mut kept, *range)?;
                }
            }
        }
        let value = aggregate.result(env, accumulator.as_ref())?;
        held.add(env, value_bytes(value.as_ref()))?;
        values.push(value);
        taken = ranges;
    }
    kept.clear(env.shared);
    Ok(values)
}

impl Operator for Window {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if !self.is_filled {
            self.fill(env)?;
        }
        self.next_row(env, self.orderings.len() - 1, out)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.is_filled = false;
        self.sorter.clear(shared);
        if let Some((mut partition, _)) = self.partition.take() {
            partition.clear(shared);
        }
        self.held.clear(shared);
        self.ahead = None;
        self.input.rewind(shared);
    }
}
