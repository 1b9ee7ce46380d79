//! Date and time: the values, and everything that PostgreSQL does with them.
//!
//! ```text
//!   Date          days since 2000-01-01               Gregorian before 1582 too, no year 0
//!   Time          microseconds since midnight         0 to 24:00:00
//!   TimeTz        a Time and the seconds west of Greenwich
//!   Timestamp     microseconds since 2000-01-01 00:00, wherever that is
//!   TimestampTz   microseconds since 2000-01-01 00:00 UTC: a moment
//!   Interval      months, days, microseconds, each with a sign of its own
//! ```

/// A calendar day, in days since 2000-01-01.
///
/// Order and equality are those of PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date(pub i32);

impl Date {
    /// Earlier than every other date: `-infinity`.
    pub const NEG_INFINITY: Date = Date(i32::MIN);
    /// Later than every other date: `infinity`.
    pub const INFINITY: Date = Date(i32::MAX);
}

/// A time of day, in microseconds since midnight; 24:00:00 is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(pub i64);

/// A time of day somewhere.
#[derive(Clone, Copy, Debug)]
pub struct TimeTz {
    /// The local time.
    pub time: Time,
    /// Seconds by which the place is west of Greenwich: -7200 is `+02`.
    pub west_s: i32,
}

/// A day and a time of day, in microseconds since 2000-01-01 00:00:00.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Earlier than every other timestamp: `-infinity`.
    pub const NEG_INFINITY: Timestamp = Timestamp(i64::MIN);
    /// Later than every other timestamp: `infinity`.
    pub const INFINITY: Timestamp = Timestamp(i64::MAX);
}

/// A moment, in microseconds since 2000-01-01 00:00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimestampTz(pub i64);

impl TimestampTz {
    /// Earlier than every other moment: `-infinity`.
    pub const NEG_INFINITY: TimestampTz = TimestampTz(i64::MIN);
    /// Later than every other moment: `infinity`.
    pub const INFINITY: TimestampTz = TimestampTz(i64::MAX);
}

/// A span of time, in three parts that are not converted into one another.
///
/// All three at their smallest are `-infinity`, all three at their largest `infinity`.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub us: i64,
}
