//! Frames of windows: the rows of the partition that a function sees around the current row.
//!
//! ```text
//!   ROWS    counts rows        from 2 preceding    x - 2
//!   GROUPS  counts peers       from 2 preceding    the first row of the second group before
//!   RANGE   counts the value   from 2 preceding    the first row whose value is >= value - 2
//!   EXCLUDE                    cuts the current row, its peers, or all peers but itself out of it
//! ```

use std::borrow::Cow;
use std::cell::RefCell;

use sql::eval::{Program, Row as EvalRow};
use sql::plan::{Exclude, FrameUnit};
use types::{Datum, Error, Result, SqlState};

use super::Row;
use super::hash::canonical;
use super::sort::SortKey;
use crate::ctx::{Env, Shared};
use crate::spill::{RowStore, StorePosition};

/// The frame of a window, ready to be computed.
pub(crate) struct Frame {
    pub(crate) unit: FrameUnit,
    pub(crate) start: Bound,
    pub(crate) end: Bound,
    pub(crate) exclude: Exclude,
    /// For `RANGE`: the value plus and minus an offset, over the two.
    pub(crate) shift: Option<(Program, Program)>,
}

/// A bound of a frame.
pub(crate) enum Bound {
    UnboundedPreceding,
    Preceding(Program),
    CurrentRow,
    Following(Program),
    UnboundedFollowing,
}

/// The rows of a partition in order.
#[derive(Default)]
pub(crate) struct Partition {
    rows: RowStore,
    /// Where the row that was looked at last lies.
    place: RefCell<StorePosition>,
    /// Where each group of peers begins.
    groups: Vec<usize>,
    group_of: Vec<u32>,
}

impl Partition {
    /// Adds a row, with which a group of peers begins or goes on.
    pub(crate) fn push(&mut self, env: &Env<'_>, row: Row, is_new_group: bool) -> Result<()> {
        if is_new_group {
            self.groups.push(self.rows.len());
        }
        self.group_of.push(self.groups.len() as u32 - 1);
        self.rows.push(env, row)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row at a place, which is there.
    pub(crate) fn row(&self, at: usize) -> Result<Cow<'_, Row>> {
        if let Some(row) = self.rows.in_memory(at) {
            return Ok(Cow::Borrowed(row));
        }
        let mut place = self.place.borrow_mut();
        Ok(Cow::Owned(self.rows.get(at, &mut place)?.cloned().unwrap_or_default()))
    }

    /// Puts the row at a place, which is not looked at again, into `out`.
    pub(crate) fn put_row(&mut self, at: usize, out: &mut Row) -> Result<()> {
        *out = self.rows.take(at, self.place.get_mut())?;
        Ok(())
    }

    pub(crate) fn clear(&mut self, shared: &Shared) {
        self.rows.clear(shared);
    }

    pub(crate) fn group(&self, at: usize) -> usize {
        self.group_of[at] as usize
    }

    /// The rows of a group; those before the first and behind the last are empty.
    pub(crate) fn peers(&self, group: i64) -> Range {
        let place = |group: i64| match usize::try_from(group) {
            Ok(group) => self.groups.get(group).copied().unwrap_or(self.len()),
            Err(_) => 0,
        };
        Range { start: place(group), end: place(group.saturating_add(1)) }
    }
}

/// Rows of a partition, from `start` up to but not including `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A bound with its offset computed.
enum At {
    First,
    Current,
    Last,
    /// Rows or groups, negative for those before.
    By(i64),
    /// An offset of the value; true for those before.
    Value(Datum, bool),
}

/// The frames of the rows of a partition.
pub(crate) struct Frames<'a> {
    frame: &'a Frame,
    partition: &'a Partition,
    start: At,
    end: At,
    /// The values of the ordering column, where they are counted.
    values: Vec<Datum>,
    descending: bool,
    env: Env<'a>,
}

impl<'a> Frames<'a> {
    pub(crate) fn new(
        env: &Env<'a>,
        frame: &'a Frame,
        partition: &'a Partition,
        order: &[SortKey],
    ) -> Result<Self> {
        let start = at(env, frame, &frame.start, "starting")?;
        let end = at(env, frame, &frame.end, "ending")?;
        let mut values = Vec::new();
        let mut descending = false;
        if let ([key], true) = (order, frame.shift.is_some()) {
            descending = key.order.is_descending;
            for at in 0..partition.len() {
                values.push(comparable(env.value(&key.program, &*partition.row(at)?)?));
            }
        }
        Ok(Self { frame, partition, start, end, values, descending, env: *env })
    }

    /// The rows of the frame around a row, in at most three pieces, none of them empty.
    pub(crate) fn ranges(&mut self, at: usize) -> Result<Vec<Range>> {
        let start = self.bound(at, &self.start, true)?;
        let end = self.bound(at, &self.end, false)?;
        let whole = Range { start, end: end.max(start) };
        let peers = self.partition.peers(self.partition.group(at) as i64);
        let own = Range { start: at, end: at + 1 };
        let pieces = match self.frame.exclude {
            Exclude::NoOthers => vec![whole],
            Exclude::CurrentRow => cut(whole, own),
            Exclude::Group => cut(whole, peers),
            Exclude::Ties => {
                let mut pieces = cut(whole, peers);
                if whole.start <= at && at < whole.end {
                    let place = pieces.iter().filter(|piece| piece.end <= at).count();
                    pieces.insert(place, own);
                }
                pieces
            }
        };
        Ok(pieces.into_iter().filter(|piece| piece.start < piece.end).collect())
    }

    /// Where the frame begins, or the row after its last.
    fn bound(&self, at: usize, bound: &At, is_start: bool) -> Result<usize> {
        let len = self.partition.len();
        let group = self.partition.group(at) as i64;
        let pick = |range: Range| if is_start { range.start } else { range.end };
        Ok(match bound {
            At::First => 0,
            At::Last => len,
            At::Current if self.frame.unit == FrameUnit::Rows => {
                if is_start {
                    at
                } else {
                    at + 1
                }
            }
            At::Current => pick(self.partition.peers(group)),
            At::By(offset) if self.frame.unit == FrameUnit::Rows => {
                let row = (at as i64).saturating_add(*offset);
                let row = if is_start { row } else { row.saturating_add(1) };
                usize::try_from(row).unwrap_or(0).min(len)
            }
            At::By(offset) => pick(self.partition.peers(group.saturating_add(*offset))),
            At::Value(offset, before) => return self.by_value(at, offset, *before, is_start),
        })
    }

    fn by_value(&self, at: usize, offset: &Datum, before: bool, is_start: bool) -> Result<usize> {
        let value = &self.values[at];
        if value.is_null() {
            let peers = self.partition.peers(self.partition.group(at) as i64);
            return Ok(if is_start { peers.start } else { peers.end });
        }
        let less = before != self.descending;
        let Some(limit) = self.shifted(value, offset, less)? else {
            // Behind all values there are.
            let nulls = self.values.iter().take_while(|value| value.is_null()).count();
            let end = nulls + self.values[nulls..].iter().take_while(|v| !v.is_null()).count();
            return Ok(if before { nulls } else { end });
        };
        // Values that come before the limit in the order of the window.
        let is_before = |other: &Datum| {
            let order = other.cmp(&limit);
            let order = if self.descending { order.reverse() } else { order };
            if is_start { order.is_lt() } else { order.is_le() }
        };
        let nulls_first = self.values.first().is_some_and(Datum::is_null);
        Ok(self.values.partition_point(|other| match other {
            Datum::Null => nulls_first,
            other => is_before(other),
        }))
    }

    /// The value an offset less or more; `None` if there is none so small or great.
    fn shifted(&self, value: &Datum, offset: &Datum, less: bool) -> Result<Option<Datum>> {
        if let (Datum::Int8(value), Datum::Int8(offset)) = (value, offset) {
            let shifted =
                if less { value.checked_sub(*offset) } else { value.checked_add(*offset) };
            return Ok(shifted.map(Datum::Int8));
        }
        if let (Datum::Time(value), Datum::Interval(offset)) = (value, offset) {
            // Times do not start again at midnight here.
            let us =
                if less { value.0.checked_sub(offset.us) } else { value.0.checked_add(offset.us) };
            return Ok(us.map(|us| Datum::Time(types::time::Time(us))));
        }
        let Some((plus, minus)) = &self.frame.shift else { return Ok(None) };
        let row = [value.as_ref(), offset.as_ref()];
        match self.env.value(if less { minus } else { plus }, &row) {
            Ok(shifted) => Ok(Some(comparable(shifted))),
            Err(error) if error.state() == SqlState::NUMERIC_VALUE_OUT_OF_RANGE => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A value as it is compared with shifted ones.
fn comparable(value: Datum) -> Datum {
    match value {
        Datum::Date(date) => match date.to_timestamp() {
            Ok(timestamp) => Datum::Timestamp(timestamp),
            Err(_) => Datum::Date(date),
        },
        other => canonical(other),
    }
}

/// A range without another.
fn cut(whole: Range, hole: Range) -> Vec<Range> {
    let before = Range { start: whole.start, end: hole.start.clamp(whole.start, whole.end) };
    let after = Range { start: hole.end.clamp(whole.start, whole.end), end: whole.end };
    if hole.end <= whole.start || hole.start >= whole.end {
        vec![whole]
    } else {
        vec![before, after]
    }
}

fn at(env: &Env<'_>, frame: &Frame, bound: &Bound, which: &str) -> Result<At> {
    let (program, before) = match bound {
        Bound::UnboundedPreceding => return Ok(At::First),
        Bound::CurrentRow => return Ok(At::Current),
        Bound::UnboundedFollowing => return Ok(At::Last),
        Bound::Preceding(program) => (program, true),
        Bound::Following(program) => (program, false),
    };
    let value = env.value(program, EvalRow::NONE)?;
    if value.is_null() {
        return Err(Error::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            format!("frame {which} offset must not be null"),
        ));
    }
    if frame.unit == FrameUnit::Range {
        if is_negative(&value) {
            return Err(Error::new(
                SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
                "invalid preceding or following size in window function",
            ));
        }
        return Ok(At::Value(canonical(value), before));
    }
    match value {
        Datum::Int8(offset) if offset >= 0 => Ok(At::By(if before { -offset } else { offset })),
        _ => Err(Error::new(
            SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
            format!("frame {which} offset must not be negative"),
        )),
    }
}

fn is_negative(value: &Datum) -> bool {
    match canonical(value.clone()) {
        Datum::Int8(value) => value < 0,
        Datum::Float8(value) => value < 0.0 || value.is_nan(),
        Datum::Numeric(value) => value < numeric::Numeric::ZERO || value.is_nan(),
        Datum::Interval(value) => value.span_us() < 0,
        _ => false,
    }
}
