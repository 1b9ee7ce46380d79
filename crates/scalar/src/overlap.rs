//! `OVERLAPS`: the test whether two spans of time have a moment in common.
//!
//! ```text
//!   (start, end)  OVERLAPS  (start, length)         both are given by their ends, or by a length
//! ```
//!
//! A span of which only one end is known may still be known to overlap, so none of these is strict.

use types::Result;
use types::time::{Interval, Time, TimeTz, Timestamp, TimestampTz, overlaps};

use crate::datetime::zone;
use crate::function::{Call, Function, functions};

/// A span by its start and its length, where both are known.
fn span<T: Copy>(
    start: Option<T>,
    length: Option<Interval>,
    add: impl FnOnce(T, Interval) -> Result<T>,
) -> Result<[Option<T>; 2]> {
    let end = match (start, length) {
        (Some(start), Some(length)) => Some(add(start, length)?),
        _ => None,
    };
    Ok([start, end])
}

/// A span of moments, the length counted by the calendar of the session's zone.
fn moments(
    call: &Call<'_>,
    start: Option<TimestampTz>,
    length: Option<Interval>,
) -> Result<[Option<TimestampTz>; 2]> {
    span(start, length, |start, length| start.add(length, zone(call)))
}

type Length = Option<Interval>;

pub(crate) const TABLE: &[Function] = functions! {
    1271 overlaps(TIMETZ, TIMETZ, TIMETZ, TIMETZ) -> BOOL [nullable] =
        (a: Option<TimeTz>, b: Option<TimeTz>, c: Option<TimeTz>, d: Option<TimeTz>)
        overlaps([a, b], [c, d]);
    1308 overlaps(TIME, TIME, TIME, TIME) -> BOOL [nullable] =
        (a: Option<Time>, b: Option<Time>, c: Option<Time>, d: Option<Time>)
        overlaps([a, b], [c, d]);
    1309 overlaps(TIME, INTERVAL, TIME, INTERVAL) -> BOOL [nullable] =
        (a: Option<Time>, i: Length, c: Option<Time>, j: Length)
        overlaps(span(a, i, Time::add)?, span(c, j, Time::add)?);
    1310 overlaps(TIME, TIME, TIME, INTERVAL) -> BOOL [nullable] =
        (a: Option<Time>, b: Option<Time>, c: Option<Time>, j: Length)
        overlaps([a, b], span(c, j, Time::add)?);
    1311 overlaps(TIME, INTERVAL, TIME, TIME) -> BOOL [nullable] =
        (a: Option<Time>, i: Length, c: Option<Time>, d: Option<Time>)
        overlaps(span(a, i, Time::add)?, [c, d]);
    2041 overlaps(TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP) -> BOOL [nullable] =
        (a: Option<Timestamp>, b: Option<Timestamp>, c: Option<Timestamp>, d: Option<Timestamp>)
        overlaps([a, b], [c, d]);
    2042 overlaps(TIMESTAMP, INTERVAL, TIMESTAMP, INTERVAL) -> BOOL [nullable] =
        (a: Option<Timestamp>, i: Length, c: Option<Timestamp>, j: Length)
        overlaps(span(a, i, Timestamp::add)?, span(c, j, Timestamp::add)?);
    2043 overlaps(TIMESTAMP, TIMESTAMP, TIMESTAMP, INTERVAL) -> BOOL [nullable] =
        (a: Option<Timestamp>, b: Option<Timestamp>, c: Option<Timestamp>, j: Length)
        overlaps([a, b], span(c, j, Timestamp::add)?);
    2044 overlaps(TIMESTAMP, INTERVAL, TIMESTAMP, TIMESTAMP) -> BOOL [nullable] =
        (a: Option<Timestamp>, i: Length, c: Option<Timestamp>, d: Option<Timestamp>)
        overlaps(span(a, i, Timestamp::add)?, [c, d]);
    1304 overlaps(TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL [nullable] =
        (a: Option<TimestampTz>, b: Option<TimestampTz>, c: Option<TimestampTz>,
         d: Option<TimestampTz>)
        overlaps([a, b], [c, d]);
    1305 overlaps(TIMESTAMPTZ, INTERVAL, TIMESTAMPTZ, INTERVAL) -> BOOL [stable, nullable] =
        (call; a: Option<TimestampTz>, i: Length, c: Option<TimestampTz>, j: Length)
        overlaps(moments(call, a, i)?, moments(call, c, j)?);
    1306 overlaps(TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL) -> BOOL [stable, nullable] =
        (call; a: Option<TimestampTz>, b: Option<TimestampTz>, c: Option<TimestampTz>, j: Length)
        overlaps([a, b], moments(call, c, j)?);
    1307 overlaps(TIMESTAMPTZ, INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL [stable, nullable] =
        (call; a: Option<TimestampTz>, i: Length, c: Option<TimestampTz>, d: Option<TimestampTz>)
        overlaps(moments(call, a, i)?, [c, d]);
};
