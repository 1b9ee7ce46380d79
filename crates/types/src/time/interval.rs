//! Intervals: what they are made of, their order, and their arithmetic.
//!
//! ```text
//!   1 mon  !=  30 days  as a value to add          2024-02-01 + 1 mon   = 2024-03-01
//!   1 mon  ==  30 days  in comparisons             2024-02-01 + 30 days = 2024-03-02
//! ```
//!
//! Months, days and microseconds are kept apart because none is a fixed number of the next smaller
//! one. Only for order, equality and hashing is a month 30 days and a day 24 hours.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{DAY_US, HOUR_US, MINUTE_US, SECOND_US, Unit};
use crate::{Error, Result, SqlState};

/// A span of time, in three parts that are not converted into one another.
///
/// All three at their smallest are `-infinity`, all three at their largest `infinity`. Order,
/// equality and hash count a month as 30 days and a day as 24 hours.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub us: i64,
}

/// The error for an interval that is out of range.
pub(crate) fn interval_out_of_range() -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

impl Interval {
    /// Less than every other: `-infinity`.
    pub const NEG_INFINITY: Interval = Interval { months: i32::MIN, days: i32::MIN, us: i64::MIN };
    /// More than every other: `infinity`.
    pub const INFINITY: Interval = Interval { months: i32::MAX, days: i32::MAX, us: i64::MAX };
    /// No time.
    pub const ZERO: Interval = Interval { months: 0, days: 0, us: 0 };

    fn parts(self) -> (i32, i32, i64) {
        (self.months, self.days, self.us)
    }

    /// False for the two infinities.
    pub fn is_finite(self) -> bool {
        self.parts() != Self::INFINITY.parts() && self.parts() != Self::NEG_INFINITY.parts()
    }

    /// The length in microseconds by which intervals are compared.
    pub fn span_us(self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(DAY_US) + i128::from(self.us)
    }
}

impl PartialEq for Interval {
    fn eq(&self, other: &Self) -> bool {
        self.span_us() == other.span_us()
    }
}

impl Eq for Interval {}

impl Ord for Interval {
    fn cmp(&self, other: &Self) -> Ordering {
        self.span_us().cmp(&other.span_us())
    }
}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Interval {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.span_us().hash(state);
    }
}

/// Which fields an interval has: the `DAY TO MINUTE` of `interval day to minute`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IntervalFields(u16);

impl IntervalFields {
    const YEAR_BIT: u16 = 1 << 2;
    const MONTH_BIT: u16 = 1 << 1;
    const DAY_BIT: u16 = 1 << 3;
    const HOUR_BIT: u16 = 1 << 10;
    const MINUTE_BIT: u16 = 1 << 11;
    const SECOND_BIT: u16 = 1 << 12;

    /// All fields: nothing was said.
    pub const ALL: Self = Self(0x7fff);
    /// `year`.
    pub const YEAR: Self = Self(Self::YEAR_BIT);
    /// `month`.
    pub const MONTH: Self = Self(Self::MONTH_BIT);
    /// `day`.
    pub const DAY: Self = Self(Self::DAY_BIT);
    /// `hour`.
    pub const HOUR: Self = Self(Self::HOUR_BIT);
    /// `minute`.
    pub const MINUTE: Self = Self(Self::MINUTE_BIT);
    /// `second`.
    pub const SECOND: Self = Self(Self::SECOND_BIT);
    /// `year to month`.
    pub const YEAR_TO_MONTH: Self = Self(Self::YEAR_BIT | Self::MONTH_BIT);
    /// `day to hour`.
    pub const DAY_TO_HOUR: Self = Self(Self::DAY_BIT | Self::HOUR_BIT);
    /// `day to minute`.
    pub const DAY_TO_MINUTE: Self = Self(Self::DAY_BIT | Self::HOUR_TO_MINUTE.0);
    /// `day to second`.
    pub const DAY_TO_SECOND: Self = Self(Self::DAY_BIT | Self::HOUR_TO_SECOND.0);
    /// `hour to minute`.
    pub const HOUR_TO_MINUTE: Self = Self(Self::HOUR_BIT | Self::MINUTE_BIT);
    /// `hour to second`.
    pub const HOUR_TO_SECOND: Self = Self(Self::HOUR_BIT | Self::MINUTE_TO_SECOND.0);
    /// `minute to second`.
    pub const MINUTE_TO_SECOND: Self = Self(Self::MINUTE_BIT | Self::SECOND_BIT);

    /// All sets of fields that SQL has words for, with those words.
    const NAMED: [(Self, &'static str); 14] = [
        (Self::ALL, ""),
        (Self::YEAR, " year"),
        (Self::MONTH, " month"),
        (Self::DAY, " day"),
        (Self::HOUR, " hour"),
        (Self::MINUTE, " minute"),
        (Self::SECOND, " second"),
        (Self::YEAR_TO_MONTH, " year to month"),
        (Self::DAY_TO_HOUR, " day to hour"),
        (Self::DAY_TO_MINUTE, " day to minute"),
        (Self::DAY_TO_SECOND, " day to second"),
        (Self::HOUR_TO_MINUTE, " hour to minute"),
        (Self::HOUR_TO_SECOND, " hour to second"),
        (Self::MINUTE_TO_SECOND, " minute to second"),
    ];

    /// The fields with these bits, which are those of PostgreSQL's modifiers.
    pub fn from_bits(bits: u16) -> Option<Self> {
        Self::NAMED.iter().map(|(fields, _)| *fields).find(|fields| fields.0 == bits)
    }

    /// The bits of the fields.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// The words for the fields, with a space before them; nothing for all fields.
    pub fn words(self) -> &'static str {
        let named = Self::NAMED.iter().find(|(fields, _)| *fields == self);
        named.map_or("", |(_, words)| words)
    }

    /// The smallest of the fields.
    pub(crate) fn least_unit(self) -> Unit {
        let bits = [
            (Self::SECOND_BIT, Unit::Second),
            (Self::MINUTE_BIT, Unit::Minute),
            (Self::HOUR_BIT, Unit::Hour),
            (Self::DAY_BIT, Unit::Day),
            (Self::MONTH_BIT, Unit::Month),
        ];
        bits.iter().find(|(bit, _)| self.0 & bit != 0).map_or(Unit::Year, |(_, unit)| *unit)
    }

    /// True where the fields end with seconds, which may have a fraction.
    pub(crate) fn has_seconds(self) -> bool {
        self.0 & Self::SECOND_BIT != 0
    }
}

impl Interval {
    /// The interval without what is smaller than the smallest of the fields.
    #[must_use]
    pub fn cut_to(self, fields: IntervalFields) -> Self {
        if !self.is_finite() {
            return self;
        }
        let cut = |unit_us: i64| Interval { us: self.us / unit_us * unit_us, ..self };
        match fields.least_unit() {
            Unit::Year => Interval { months: self.months / 12 * 12, days: 0, us: 0 },
            Unit::Month => Interval { days: 0, us: 0, ..self },
            Unit::Day => Interval { us: 0, ..self },
            Unit::Hour => cut(HOUR_US),
            Unit::Minute => cut(MINUTE_US),
            _ => self,
        }
    }
}

/// Makes sure that a computed interval is finite.
fn finite(interval: Option<Interval>) -> Result<Interval> {
    interval.filter(|interval| interval.is_finite()).ok_or_else(interval_out_of_range)
}
