//! Date and time: the values, and everything that PostgreSQL does with them.
//!
//! ```text
//!   Date          days since 2000-01-01               Gregorian before 1582 too, no year 0
//!   Time          microseconds since midnight         0 to 24:00:00
//!   TimeTz        a Time and the seconds west of Greenwich
//!   Timestamp     microseconds since 2000-01-01 00:00, wherever that is
//!   TimestampTz   microseconds since 2000-01-01 00:00 UTC: a moment
//!   Interval      months, days, microseconds, each with a sign of its own
//!
//!   4714-11-24 BC ......................... 294276-12-31 ................ 5874897-12-31
//!   └────────── timestamps, with microseconds ─────────┘                              │
//!   └────────────────────────────────── dates ────────────────────────────────────────┘
//! ```
//!
//! A [`Timestamp`] and a [`TimestampTz`] differ in what they mean, not in how they are held: one is
//! what a calendar and a clock on a wall show, the other is a moment, which they show differently
//! everywhere. A [`TimeZone`] leads from one to the other.
//!
//! Functions that depend on the zone, the clock or a setting are given it.

// The operations can fail, which those of the standard library's traits cannot.
#[expect(clippy::should_implement_trait)]
mod arithmetic;
pub mod calendar;
mod convert;
mod extract;
#[expect(clippy::should_implement_trait)]
mod interval;
mod iso;
mod make;
mod print;
mod read;
mod trunc;
mod word;
mod zone;

pub use arithmetic::overlaps;
pub use calendar::Civil;
pub use interval::{Interval, IntervalFields};
pub use make::IntervalParts;
pub use read::ZoneName;
pub use word::Unit;
pub use zone::{Local, TimeZone};

use crate::{Error, SqlState};
pub(crate) use calendar::iso_week_start;
pub(crate) use interval::interval_out_of_range;
pub(crate) use print::{MONTHS, WEEKDAYS};
pub(crate) use read::abbreviation_at;

/// Microseconds of a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MINUTE_US: i64 = 60 * SECOND_US;
/// Microseconds of an hour.
pub const HOUR_US: i64 = 60 * MINUTE_US;
/// Microseconds of a day.
pub const DAY_US: i64 = 24 * HOUR_US;

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
    /// The first day that has a number: 4714-11-24 BC.
    pub const MIN: Date = Date(-2_451_545);
    /// The last day that has a number: 5874897-12-31.
    pub const MAX: Date = Date(2_145_031_948);

    /// False for the two infinities.
    pub fn is_finite(self) -> bool {
        self != Self::NEG_INFINITY && self != Self::INFINITY
    }

    /// The date of a day; `None` out of range.
    pub fn from_days(days: i64) -> Option<Self> {
        let date = Date(i32::try_from(days).ok()?);
        (Self::MIN..=Self::MAX).contains(&date).then_some(date)
    }

    /// The day in the calendar; meaningless for the infinities.
    pub fn civil(self) -> Civil {
        Civil::from_days(i64::from(self.0))
    }
}

/// A time of day, in microseconds since midnight; 24:00:00 is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(pub i64);

/// A time of day somewhere.
///
/// Order is that of the moments on one day; of two at the same moment the one further east is
/// less, and so they are equal only in the same place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimeTz {
    /// The local time.
    pub time: Time,
    /// Seconds by which the place is west of Greenwich: -7200 is `+02`.
    pub west_s: i32,
}

impl TimeTz {
    /// The time in Greenwich, in microseconds; may lie on the day before or after.
    pub fn utc_us(self) -> i64 {
        self.time.0.saturating_add(i64::from(self.west_s) * SECOND_US)
    }
}

impl Ord for TimeTz {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.utc_us(), self.west_s).cmp(&(other.utc_us(), other.west_s))
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The first microsecond that a timestamp can be: 4714-11-24 BC.
const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;

/// The first microsecond that a timestamp cannot be: 294277-01-01.
const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;

/// Makes the parts that the two kinds of timestamps share.
macro_rules! timestamp {
    ($name:ident) => {
        impl $name {
            /// Earlier than every other: `-infinity`.
            pub const NEG_INFINITY: $name = $name(i64::MIN);
            /// Later than every other: `infinity`.
            pub const INFINITY: $name = $name(i64::MAX);
            /// The first one: 4714-11-24 00:00 BC.
            pub const MIN: $name = $name(TIMESTAMP_MIN);
            /// The last one: the last microsecond of 294276.
            pub const MAX: $name = $name(TIMESTAMP_END - 1);

            /// False for the two infinities.
            pub fn is_finite(self) -> bool {
                self != Self::NEG_INFINITY && self != Self::INFINITY
            }

            /// The timestamp with this number; `None` if it is out of range, as the infinities
            /// are.
            pub fn in_range(us: i64) -> Option<Self> {
                (TIMESTAMP_MIN..TIMESTAMP_END).contains(&us).then_some($name(us))
            }
        }
    };
}

/// A day and a time of day, in microseconds since 2000-01-01 00:00:00.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(pub i64);

timestamp!(Timestamp);

impl Timestamp {
    /// The day, in days since 2000-01-01.
    pub(crate) fn day(self) -> i64 {
        self.0.div_euclid(DAY_US)
    }

    /// The time of day, in microseconds.
    pub(crate) fn time_us(self) -> i64 {
        self.0.rem_euclid(DAY_US)
    }
}

/// A moment, in microseconds since 2000-01-01 00:00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimestampTz(pub i64);

timestamp!(TimestampTz);

/// The error for a date that is out of range.
pub(crate) fn date_out_of_range() -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range")
}

/// The error for a timestamp that is out of range.
pub(crate) fn timestamp_out_of_range() -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}
