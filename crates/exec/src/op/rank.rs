//! Functions that only windows have: places in the order, and values of other rows.

use sql::eval::Program;
use types::{Datum, Error, Result, SqlState};

use super::frame::{Frames, Partition, Range};
use crate::ctx::Env;

/// A window function.
#[expect(clippy::enum_variant_names, reason = "they are the functions' own names")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rank {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

impl Rank {
    /// The function with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "row_number" => Rank::RowNumber,
            "rank" => Rank::Rank,
            "dense_rank" => Rank::DenseRank,
            "percent_rank" => Rank::PercentRank,
            "cume_dist" => Rank::CumeDist,
            "ntile" => Rank::Ntile,
            "lag" => Rank::Lag,
            "lead" => Rank::Lead,
            "first_value" => Rank::FirstValue,
            "last_value" => Rank::LastValue,
            "nth_value" => Rank::NthValue,
            _ => return None,
        })
    }

    /// The values for the rows of a partition; `frames` makes their frames where they matter.
    pub(crate) fn compute<'a>(
        self,
        env: &Env<'_>,
        partition: &Partition,
        args: &[Program],
        frames: impl FnOnce() -> Result<Frames<'a>>,
    ) -> Result<Vec<Datum>> {
        let rows = partition.len();
        let peers = |at: usize| partition.peers(partition.group(at) as i64);
        let over_rows = |f: &dyn Fn(usize) -> Datum| Ok((0..rows).map(f).collect());
        match self {
            Rank::RowNumber => over_rows(&|at| Datum::Int8(at as i64 + 1)),
            Rank::Rank => over_rows(&|at| Datum::Int8(peers(at).start as i64 + 1)),
            Rank::DenseRank => over_rows(&|at| Datum::Int8(partition.group(at) as i64 + 1)),
            Rank::PercentRank => over_rows(&|at| {
                let others = rows.saturating_sub(1);
                let before = peers(at).start as f64;
                Datum::Float8(if others == 0 { 0.0 } else { before / others as f64 })
            }),
            Rank::CumeDist => over_rows(&|at| Datum::Float8(peers(at).end as f64 / rows as f64)),
            Rank::Ntile => ntile(env, partition, args),
            Rank::Lag | Rank::Lead => {
                (0..rows).map(|at| neighbour(self, env, partition, args, at)).collect()
            }
            Rank::FirstValue | Rank::LastValue | Rank::NthValue => {
                let mut frames = frames()?;
                let mut values = Vec::with_capacity(rows);
                for at in 0..rows {
                    let ranges = frames.ranges(at)?;
                    let wanted = match self {
                        Rank::FirstValue => ranges.first().map(|range| range.start),
                        Rank::LastValue => ranges.last().map(|range| range.end - 1),
                        _ => nth(env, partition, args, at, &ranges)?,
                    };
                    values.push(match wanted {
                        Some(wanted) => env.value(&args[0], &*partition.row(wanted)?)?,
                        None => Datum::Null,
                    });
                }
                Ok(values)
            }
        }
    }
}

fn ntile(env: &Env<'_>, partition: &Partition, args: &[Program]) -> Result<Vec<Datum>> {
    let rows = partition.len();
    let buckets = match env.value(&args[0], &*partition.row(0)?)? {
        Datum::Int4(buckets) if buckets > 0 => buckets as usize,
        Datum::Null => return Ok(vec![Datum::Null; rows]),
        _ => {
            return Err(Error::new(
                SqlState::INVALID_ARGUMENT_FOR_NTILE_FUNCTION,
                "argument of ntile must be greater than zero",
            ));
        }
    };
    // The first buckets have one row more than the others.
    let (size, larger) = (rows / buckets, rows % buckets);
    let bucket = |at: usize| match at < larger * (size + 1) {
        true => at / (size + 1),
        false => larger + (at - larger * (size + 1)) / size.max(1),
    };
    Ok((0..rows).map(|at| Datum::Int4(bucket(at) as i32 + 1)).collect())
}

fn neighbour(
    rank: Rank,
    env: &Env<'_>,
    partition: &Partition,
    args: &[Program],
    at: usize,
) -> Result<Datum> {
    let row = &*partition.row(at)?;
    let offset = match args.get(1) {
        None => 1,
        Some(offset) => match env.value(offset, row)? {
            Datum::Int4(offset) => i64::from(offset),
            _ => return Ok(Datum::Null),
        },
    };
    let place = if rank == Rank::Lag { at as i64 - offset } else { at as i64 + offset };
    match usize::try_from(place).ok().filter(|place| *place < partition.len()) {
        Some(place) => env.value(&args[0], &*partition.row(place)?),
        None => args.get(2).map_or(Ok(Datum::Null), |default| env.value(default, row)),
    }
}

fn nth(
    env: &Env<'_>,
    partition: &Partition,
    args: &[Program],
    at: usize,
    ranges: &[Range],
) -> Result<Option<usize>> {
    let mut left = match env.value(&args[1], &*partition.row(at)?)? {
        Datum::Int4(number) if number > 0 => number as usize - 1,
        Datum::Null => return Ok(None),
        _ => {
            return Err(Error::new(
                SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION,
                "argument of nth_value must be greater than zero",
            ));
        }
    };
    for range in ranges {
        let length = range.end - range.start;
        if left < length {
            return Ok(Some(range.start + left));
        }
        left -= length;
    }
    Ok(None)
}
