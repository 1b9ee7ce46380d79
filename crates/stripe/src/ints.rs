//! Streams of 64-bit integers: the values of integer columns, and all other numbers of a chunk.
//!
//! ```text
//!   5 5 5 5 5 5            constant   5
//!   7 10 13 16 19          stride     7, step 3
//!   1 1 1 1 8 8 8 2 2      runs       values 1 8 2, lengths 4 3 2
//!   90 93 91 97 90         packed     each block: the least value 90, then 0 3 1 7 0 in 3 bits each
//! ```
//!
//! Runs are streams themselves, but not streams of runs.

use std::ops::Range;

use crate::cursor::{Cursor, put_signed, put_unsigned};
use crate::packed::{
    bytes_of, pack, unmark, unpack, unpack_few, unpack_one, unpack_small, width_of,
};
use crate::{BLOCK_ROWS, Error, Result};

const CONSTANT: u8 = 0;
const STRIDE: u8 = 1;
const RUNS: u8 = 2;
const PACKED: u8 = 3;

/// A stream of integers, as its bytes give it.
#[derive(Clone, Debug)]
pub struct Ints<'a> {
    count: usize,
    form: Form<'a>,
}

#[derive(Clone, Debug)]
enum Form<'a> {
    Constant(i64),
    Stride { first: i64, step: i64 },
    Runs(IntRuns),
    Packed(Packed<'a>),
}

/// Runs of equal values: value `i` stands from where the run before it ends to `ends[i]`, exclusive.
#[derive(Clone, Debug)]
struct IntRuns {
    values: Vec<i64>,
    ends: Vec<u32>,
}

impl IntRuns {
    /// Returns what `f` makes of `count` values from `start` on.
    fn range<T: Copy + Default>(&self, start: usize, count: usize, f: impl Fn(i64) -> T) -> Vec<T> {
        /// So many places are written at once. The next run writes over the places that a short one does not need.
        const AT_ONCE: usize = 8;
        let (mut out, mut from) = (vec![T::default(); count + AT_ONCE], 0);
        let runs = self.values.iter().zip(&self.ends).skip(self.run_at(start));
        for (value, end) in runs {
            if from >= count {
                break;
            }
            let (value, end) = (f(*value), count.min(*end as usize - start));
            while from < end {
                out[from..from + AT_ONCE].fill(value);
                from += AT_ONCE;
            }
            from = end;
        }
        out.truncate(count);
        out
    }

    /// Returns the run that has the value at `index`.
    fn run_at(&self, index: usize) -> usize {
        self.ends.partition_point(|end| *end as usize <= index)
    }
}

#[derive(Clone, Debug)]
struct Packed<'a> {
    /// The least value of each block, 8 bytes each.
    references: &'a [u8],
    widths: &'a [u8],
    /// Where the bits of each block begin in `bits`.
    starts: Vec<u32>,
    bits: &'a [u8],
}

impl<'a> Packed<'a> {
    fn read(input: &mut Cursor<'a>, count: usize) -> Result<Packed<'a>> {
        let blocks = count.div_ceil(BLOCK_ROWS);
        let references = input.take(blocks * 8)?;
        let widths = input.take(blocks)?;
        let (mut starts, mut total) = (Vec::with_capacity(blocks), 0);
        for (block, width) in widths.iter().enumerate() {
            if *width > 64 {
                return Err(Error("integers of a block are wider than 64 bits"));
            }
            starts.push(total as u32);
            total += bytes_of(BLOCK_ROWS.min(count - block * BLOCK_ROWS), u32::from(*width));
        }
        Ok(Packed { references, widths, starts, bits: input.take(total)? })
    }

    /// Returns the reference, the width and the bits of a block of `count` values.
    fn block(&self, index: usize, count: usize) -> (i64, u32, &'a [u8]) {
        let reference = self.references[index * 8..][..8].try_into().expect("8 bytes");
        let (width, start) = (u32::from(self.widths[index]), self.starts[index] as usize);
        (i64::from_le_bytes(reference), width, &self.bits[start..][..bytes_of(count, width)])
    }
}

impl<'a> Ints<'a> {
    /// Appends the smallest form of `values` to `out`.
    pub(crate) fn write(values: &[i64], out: &mut Vec<u8>) {
        write(values, true, out);
    }

    /// Reads a stream of `count` integers.
    pub(crate) fn read(input: &mut Cursor<'a>, count: usize) -> Result<Ints<'a>> {
        let form = match input.byte()? {
            CONSTANT => Form::Constant(input.signed()?),
            STRIDE => Form::Stride { first: input.signed()?, step: input.signed()? },
            RUNS => Form::Runs(read_runs(input, count)?),
            PACKED => Form::Packed(Packed::read(input, count)?),
            _ => return Err(Error("there is no such encoding of integers")),
        };
        Ok(Ints { count, form })
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the common value of a constant stream; `None` for other streams.
    pub fn constant(&self) -> Option<i64> {
        match &self.form {
            Form::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the values of block `index`.
    pub fn block(&self, index: usize) -> Vec<i64> {
        let start = index * BLOCK_ROWS;
        let count = BLOCK_ROWS.min(self.count - start);
        match &self.form {
            Form::Constant(value) => vec![*value; count],
            Form::Stride { first, step } => {
                let value = |at: usize| first.wrapping_add(step.wrapping_mul(at as i64));
                (start..start + count).map(value).collect()
            }
            Form::Runs(runs) => runs.range(start, count, |value| value),
            Form::Packed(packed) => {
                let (reference, width, bits) = packed.block(index, count);
                unpack(bits, width, reference, count)
            }
        }
    }

    /// Returns the values of block `index` at these places within it; `None` if decoding the
    /// whole block is as fast.
    ///
    /// # Panics
    /// If a place is not below [`BLOCK_ROWS`].
    pub fn few(&self, index: usize, places: &[u16]) -> Option<Vec<i64>> {
        match &self.form {
            Form::Packed(packed) if self.count - index * BLOCK_ROWS >= BLOCK_ROWS => {
                let (reference, width, bits) = packed.block(index, BLOCK_ROWS);
                Some(unpack_few(bits, width, reference, places))
            }
            _ => None,
        }
    }

    /// Sets to 0 the marks of the values of block `index` that are outside of `low` to `high`. Marks are 0 or 1.
    /// Returns `None` and sets no mark if comparing the decoded values is as fast.
    pub fn unmark(
        &self,
        index: usize,
        low: i64,
        high: i64,
        marks: &mut [u8; BLOCK_ROWS],
    ) -> Option<()> {
        let Form::Packed(packed) = &self.form else { return None };
        if self.count - index * BLOCK_ROWS < BLOCK_ROWS {
            return None;
        }
        let (reference, width, bits) = packed.block(index, BLOCK_ROWS);
        let most = i128::from(u64::MAX.checked_shr(64 - width).unwrap_or(0));
        // A block whose values may wrap around is decoded.
        i64::try_from(i128::from(reference) + most).ok()?;
        let distance = |value: i64| i128::from(value) - i128::from(reference);
        let (low, high) = (distance(low).max(0), distance(high).min(most));
        match high - low {
            ..0 => marks.fill(0),
            span if span == most => {}
            span => unmark(bits, width, low as u64, span as u64, marks),
        }
        Some(())
    }

    /// Returns how far a value of block `index` can be from 0.
    pub fn bound(&self, index: usize) -> u64 {
        let start = index * BLOCK_ROWS;
        let count = BLOCK_ROWS.min(self.count - start);
        let farthest = |one: i64, other: i64| one.unsigned_abs().max(other.unsigned_abs());
        match &self.form {
            Form::Constant(value) => value.unsigned_abs(),
            Form::Stride { first, step } => {
                let at = |at: usize| first.checked_add(step.checked_mul(at as i64)?);
                match (at(start), at(start + count.saturating_sub(1))) {
                    (Some(first), Some(last)) => farthest(first, last),
                    _ => u64::MAX,
                }
            }
            Form::Runs(runs) => {
                let last = runs.run_at(start + count.saturating_sub(1));
                let values = runs.values.get(runs.run_at(start)..=last).unwrap_or_default();
                values.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0)
            }
            Form::Packed(packed) => {
                let (reference, width, _) = packed.block(index, count);
                let most = u64::MAX.checked_shr(64 - width).unwrap_or(0);
                match reference.checked_add_unsigned(most) {
                    Some(greatest) => farthest(reference, greatest),
                    None => u64::MAX,
                }
            }
        }
    }

    /// Returns the values of block `index`; `None` if one of them is not from 0 to 4,294,967,295.
    pub fn block_small(&self, index: usize) -> Option<Vec<u32>> {
        let start = index * BLOCK_ROWS;
        let count = BLOCK_ROWS.min(self.count - start);
        match &self.form {
            Form::Packed(packed) if count == BLOCK_ROWS => {
                let (reference, width, bits) = packed.block(index, count);
                if let Some(values) = unpack_small(bits, width, reference) {
                    return Some(values);
                }
            }
            Form::Runs(runs) => {
                let last = runs.run_at(start + count.saturating_sub(1));
                let values = runs.values.get(runs.run_at(start)..=last).unwrap_or_default();
                let are_small = values.iter().all(|value| u32::try_from(*value).is_ok());
                return are_small.then(|| runs.range(start, count, |value| value as u32));
            }
            Form::Constant(value) => {
                return u32::try_from(*value).ok().map(|value| vec![value; count]);
            }
            Form::Packed(_) | Form::Stride { .. } => {}
        }
        self.block(index).into_iter().map(|value| u32::try_from(value).ok()).collect()
    }

    /// Returns the value at `index`.
    pub fn get(&self, index: usize) -> i64 {
        assert!(index < self.count, "value {index} of {}", self.count);
        match &self.form {
            Form::Constant(value) => *value,
            Form::Stride { first, step } => first.wrapping_add(step.wrapping_mul(index as i64)),
            Form::Runs(runs) => runs.values[runs.run_at(index)],
            Form::Packed(packed) => {
                let (block, within) = (index / BLOCK_ROWS, index % BLOCK_ROWS);
                let count = BLOCK_ROWS.min(self.count - block * BLOCK_ROWS);
                let (reference, width, bits) = packed.block(block, count);
                reference.wrapping_add(unpack_one(bits, width, count, within) as i64)
            }
        }
    }

    /// Appends all values to `out`.
    pub fn append_to(&self, out: &mut Vec<i64>) {
        for index in 0..self.count.div_ceil(BLOCK_ROWS) {
            out.append(&mut self.block(index));
        }
    }

    /// Returns all values.
    pub fn to_vec(&self) -> Vec<i64> {
        let mut all = Vec::with_capacity(self.count);
        self.append_to(&mut all);
        all
    }

    /// Returns the values at `places`. Blocks that have none of them are not decoded.
    ///
    /// # Panics
    /// If a place is not below [`Ints::len`].
    pub fn range(&self, places: Range<usize>) -> Vec<i64> {
        assert!(places.end <= self.count, "{places:?} of {} values", self.count);
        let first = places.start / BLOCK_ROWS;
        let mut values = Vec::with_capacity(places.len() + 2 * BLOCK_ROWS);
        for index in first..places.end.div_ceil(BLOCK_ROWS) {
            values.append(&mut self.block(index));
        }
        values.drain(..places.start - first * BLOCK_ROWS);
        values.truncate(places.len());
        values
    }
}

fn read_runs(input: &mut Cursor<'_>, count: usize) -> Result<IntRuns> {
    let runs = input.count(count)?;
    let stream = |input: &mut Cursor<'_>| match input.0.first() {
        Some(&RUNS) => Err(Error("runs of runs")),
        _ => Ok(Ints::read(input, runs)?.to_vec()),
    };
    let (values, lengths) = (stream(input)?, stream(input)?);
    let (mut ends, mut end) = (Vec::with_capacity(runs), 0_usize);
    for length in lengths {
        let left = (count - end) as i64;
        if !(1..=left).contains(&length) {
            return Err(Error("a run has no length, or is too long"));
        }
        end += length as usize;
        ends.push(end as u32);
    }
    if end != count {
        return Err(Error("runs do not cover the values of a chunk"));
    }
    Ok(IntRuns { values, ends })
}

fn write(values: &[i64], may_run: bool, out: &mut Vec<u8>) {
    let Some((first, rest)) = values.split_first() else {
        out.push(CONSTANT);
        return put_signed(out, 0);
    };
    let step = rest.first().map_or(0, |second| second.wrapping_sub(*first));
    if values.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step) {
        out.push(if step == 0 { CONSTANT } else { STRIDE });
        put_signed(out, *first);
        if step != 0 {
            put_signed(out, step);
        }
        return;
    }
    let runs = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    // A run costs a value and a length. Where runs are that short, packed bits are as small and faster.
    if may_run && runs <= values.len() / 4 {
        let mut as_runs = Vec::new();
        write_runs(values, runs, &mut as_runs);
        if as_runs.len() < packed_bytes(values) {
            return out.append(&mut as_runs);
        }
    }
    write_packed(values, out);
}

fn write_runs(values: &[i64], count: usize, out: &mut Vec<u8>) {
    let (mut heads, mut lengths) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for run in values.chunk_by(|one, next| one == next) {
        heads.push(run[0]);
        lengths.push(run.len() as i64);
    }
    out.push(RUNS);
    put_unsigned(out, heads.len() as u64);
    write(&heads, false, out);
    write(&lengths, false, out);
}

/// Returns the least value of a block, and the width of the distances from it.
fn frame(block: &[i64]) -> (i64, u32) {
    let least = block.iter().copied().min().unwrap_or(0);
    let most = block.iter().copied().max().unwrap_or(0);
    (least, width_of(most.wrapping_sub(least) as u64))
}

fn packed_bytes(values: &[i64]) -> usize {
    values.chunks(BLOCK_ROWS).map(|block| 9 + bytes_of(block.len(), frame(block).1)).sum()
}

fn write_packed(values: &[i64], out: &mut Vec<u8>) {
    out.push(PACKED);
    let frames: Vec<(i64, u32)> = values.chunks(BLOCK_ROWS).map(frame).collect();
    frames.iter().for_each(|(least, _)| out.extend_from_slice(&least.to_le_bytes()));
    frames.iter().for_each(|(_, width)| out.push(*width as u8));
    let mut distances = [0; BLOCK_ROWS];
    for (block, (least, width)) in values.chunks(BLOCK_ROWS).zip(frames) {
        let slots = distances.iter_mut().zip(block);
        slots.for_each(|(slot, value)| *slot = value.wrapping_sub(least) as u64);
        pack(&distances[..block.len()], width, out);
    }
}
