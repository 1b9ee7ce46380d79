//! Window functions: the rows are kept, put in order once for each window, and looked at partition
//! by partition.
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
use scalar::function::Call;
use sql::eval::Program;
use types::{Datum, DatumRef, Result};

use super::aggregate::AggregateCall;
use super::frame::{Frame, Frames, Partition, Range};
use super::rank::Rank;
use super::sort::{SortKey, write_keys};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};

/// What is computed over a window.
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

/// Each row, and after it the values of window functions.
pub(crate) struct Window {
    input: Input,
    orderings: Vec<Ordering>,
    /// How many columns the input has, and how many are added.
    width: usize,
    added: usize,
    rows: Option<std::vec::IntoIter<Row>>,
    held: Held,
}

impl Window {
    pub(crate) fn new(input: Input, orderings: Vec<Ordering>, width: usize, added: usize) -> Self {
        Self { input, orderings, width, added, rows: None, held: Held::default() }
    }

    fn compute(&mut self, env: &Env<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut row = Row::new();
        while self.input.next(env, &mut row)? {
            row.resize(self.width + self.added, Datum::Null);
            self.held.add_row(env, &row)?;
            rows.push(std::mem::take(&mut row));
        }
        let mut places: Vec<u32> = Vec::new();
        for ordering in &self.orderings {
            places = ordering.compute(env, &mut rows, self.width, &mut self.held)?;
        }
        Ok(places.into_iter().map(|place| std::mem::take(&mut rows[place as usize])).collect())
    }
}

impl Ordering {
    /// Computes the calls for all rows; gives the order of the rows.
    fn compute(
        &self,
        env: &Env<'_>,
        rows: &mut [Row],
        width: usize,
        held: &mut Held,
    ) -> Result<Vec<u32>> {
        // For each row the key of its partition and the length of that, then the key of its peers.
        let mut keys: Vec<(Vec<u8>, usize)> = Vec::with_capacity(rows.len());
        for row in rows.iter() {
            let mut key = Vec::new();
            write_keys(env, &self.partition, row, &mut key)?;
            let partition = key.len();
            write_keys(env, &self.order, row, &mut key)?;
            held.add(env, key.len() + size_of::<(Vec<u8>, usize)>())?;
            keys.push((key, partition));
        }
        let mut places: Vec<u32> = (0..rows.len() as u32).collect();
        places.sort_by(|a, b| keys[*a as usize].0.cmp(&keys[*b as usize].0));
        let key = |at: usize| {
            let (key, partition) = &keys[places[at] as usize];
            (&key[..*partition], &key[..])
        };
        let mut start = 0;
        while start < places.len() {
            let mut groups = vec![0];
            let mut end = start + 1;
            while end < places.len() && key(end).0 == key(start).0 {
                if key(end).1 != key(end - 1).1 {
                    groups.push(end - start);
                }
                end += 1;
            }
            let partition = Partition::new(rows, &places[start..end], groups);
            let mut values = Vec::with_capacity(self.calls.len());
            for call in &self.calls {
                values.push(call.compute(env, &partition, &self.order)?);
            }
            for (call, values) in self.calls.iter().zip(values) {
                for (place, value) in places[start..end].iter().zip(values) {
                    rows[*place as usize][width + call.place] = value;
                }
            }
            start = end;
        }
        Ok(places)
    }
}

impl WindowCall {
    /// The values for the rows of a partition.
    fn compute(
        &self,
        env: &Env<'_>,
        partition: &Partition<'_>,
        order: &[SortKey],
    ) -> Result<Vec<Datum>> {
        match &self.function {
            Function::Rank(rank, args) => rank
                .compute(env, partition, args, || Frames::new(env, &self.frame, partition, order)),
            Function::Aggregate(call) => {
                let frames = Frames::new(env, &self.frame, partition, order)?;
                aggregate(env, call, partition, frames)
            }
        }
    }
}

/// An aggregate over the frame of each row.
fn aggregate(
    env: &Env<'_>,
    aggregate: &AggregateCall,
    partition: &Partition<'_>,
    mut frames: Frames<'_>,
) -> Result<Vec<Datum>> {
    let call = Call {
        context: env.ctx.frame.context,
        args: &aggregate.types,
        ret: aggregate.ty,
        spread: false,
    };
    let start = || (aggregate.kernel.start)(&aggregate.types);
    let add = |accumulator: &mut dyn Accumulator, range: Range| -> Result<()> {
        for at in range.start..range.end {
            env.tick()?;
            let row = partition.row(at);
            if let Some(filter) = &aggregate.filter
                && !env.test(filter, row)?
            {
                continue;
            }
            let values: Row =
                aggregate.args.iter().map(|arg| env.value(arg, row)).collect::<Result<_>>()?;
            let refs: Vec<DatumRef<'_>> = values.iter().map(Datum::as_ref).collect();
            accumulator.add(&call, &refs)?;
        }
        Ok(())
    };
    let mut values: Vec<Datum> = Vec::with_capacity(partition.len());
    let mut accumulator = start();
    // What the accumulator has taken in.
    let mut taken: Vec<Range> = Vec::new();
    for at in 0..partition.len() {
        let ranges = frames.ranges(at)?;
        if at > 0 && ranges == taken {
            values.push(values[at - 1].clone());
            continue;
        }
        match (&taken[..], &ranges[..]) {
            ([before], [now]) if before.start == now.start && before.end <= now.end => {
                add(accumulator.as_mut(), Range { start: before.end, end: now.end })?;
            }
            _ => {
                accumulator = start();
                for range in &ranges {
                    add(accumulator.as_mut(), *range)?;
                }
            }
        }
        values.push(accumulator.finish(&call)?);
        taken = ranges;
    }
    Ok(values)
}

impl Operator for Window {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = Some(self.compute(env)?.into_iter());
        }
        match self.rows.as_mut().and_then(Iterator::next) {
            Some(row) => {
                *out = row;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.rows = None;
        self.held.clear(shared);
        self.input.rewind(shared);
    }
}
