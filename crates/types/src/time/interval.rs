//! Intervals: their parts, their order, and their arithmetic.
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

/// Days of a month, for what flows from one into the other.
const MONTH_DAYS: i32 = 30;

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// The number with what is below a millionth rounded away.
fn to_millionths(number: f64) -> f64 {
    (number * 1e6).round_ties_even() / 1e6
}

/// The whole part of a number, where it fits.
fn whole_i32(number: f64) -> Option<i32> {
    let fits = number >= f64::from(i32::MIN) && number < -f64::from(i32::MIN);
    fits.then_some(number as i32)
}

impl Interval {
    /// Returns -1 for an interval below zero, 0 for one of length zero, 1 for others.
    fn signum(self) -> i128 {
        self.span_us().signum()
    }

    /// The interval with all signs the other way round.
    ///
    /// # Errors
    /// 22008 where a part has no opposite.
    pub fn negate(self) -> Result<Self> {
        match self {
            interval if interval.is_finite() => finite((|| {
                Some(Interval {
                    months: interval.months.checked_neg()?,
                    days: interval.days.checked_neg()?,
                    us: interval.us.checked_neg()?,
                })
            })()),
            interval if interval.days > 0 => Ok(Self::NEG_INFINITY),
            _ => Ok(Self::INFINITY),
        }
    }

    /// The sum, part by part.
    ///
    /// # Errors
    /// 22008 out of range, and for opposite infinities.
    pub fn add(self, other: Self) -> Result<Self> {
        match (self.is_finite(), other.is_finite()) {
            (true, true) => finite((|| {
                Some(Interval {
                    months: self.months.checked_add(other.months)?,
                    days: self.days.checked_add(other.days)?,
                    us: self.us.checked_add(other.us)?,
                })
            })()),
            (true, false) => Ok(other),
            (false, true) => Ok(self),
            (false, false) if self.days == other.days => Ok(self),
            (false, false) => Err(interval_out_of_range()),
        }
    }

    /// The difference, part by part.
    ///
    /// # Errors
    /// 22008 out of range, and for equal infinities.
    pub fn subtract(self, other: Self) -> Result<Self> {
        match (self.is_finite(), other.is_finite()) {
            (true, true) => {}
            (false, true) => return Ok(self),
            _ => return self.add(other.negate()?),
        }
        finite((|| {
            Some(Interval {
                months: self.months.checked_sub(other.months)?,
                days: self.days.checked_sub(other.days)?,
                us: self.us.checked_sub(other.us)?,
            })
        })())
    }

    /// The interval so many times. Fractions of a month flow into days, those of a day into the
    /// time.
    ///
    /// # Errors
    /// 22008 out of range, for NaN, and for infinity times nothing.
    pub fn multiply(self, factor: f64) -> Result<Self> {
        if factor.is_nan() {
            return Err(interval_out_of_range());
        }
        if !self.is_finite() || factor.is_infinite() {
            let sign = self.signum() as f64 * factor;
            return match sign {
                sign if sign > 0.0 => Ok(Self::INFINITY),
                sign if sign < 0.0 => Ok(Self::NEG_INFINITY),
                _ => Err(interval_out_of_range()),
            };
        }
        finite(self.scaled(|part| part * factor))
    }

    /// The interval divided. Fractions of a month flow into days, those of a day into the time.
    ///
    /// # Errors
    /// 22012 for zero, 22008 out of range, for NaN, and for infinity by infinity.
    pub fn divide(self, divisor: f64) -> Result<Self> {
        if divisor == 0.0 {
            return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        if divisor.is_nan() || !self.is_finite() && divisor.is_infinite() {
            return Err(interval_out_of_range());
        }
        match self {
            interval if interval.is_finite() => finite(interval.scaled(|part| part / divisor)),
            interval if divisor < 0.0 => interval.negate(),
            interval => Ok(interval),
        }
    }

    /// Each part scaled, and the fractions passed on.
    fn scaled(self, scale: impl Fn(f64) -> f64) -> Option<Self> {
        let (months_f, days_f) = (scale(self.months.into()), scale(self.days.into()));
        let (months, mut days) = (whole_i32(months_f)?, whole_i32(days_f)?);
        // The calculation is careful to end up with whole numbers where it should.
        let more_days = to_millionths((months_f - f64::from(months)) * f64::from(MONTH_DAYS));
        let fraction = days_f - f64::from(days) + more_days - more_days.trunc();
        let mut seconds = to_millionths(fraction * DAY_S);
        if seconds.abs() >= DAY_S {
            let whole = (seconds / DAY_S) as i32;
            days = days.checked_add(whole)?;
            seconds -= f64::from(whole) * DAY_S;
        }
        days = days.checked_add(more_days as i32)?;
        let us = (scale(self.us as f64) + seconds * SECOND_US as f64).round_ties_even();
        let fits = us >= i64::MIN as f64 && us < -(i64::MIN as f64);
        fits.then_some(Interval { months, days, us: us as i64 })
    }

    /// Every 24 hours made a day, and days and time brought to the same sign.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn justify_hours(self) -> Result<Self> {
        if !self.is_finite() {
            return Ok(self);
        }
        let days = i64::from(self.days) + self.us / DAY_US;
        let (days, us) = same_sign(days, self.us % DAY_US, DAY_US);
        let days = i32::try_from(days).map_err(|_| interval_out_of_range())?;
        Ok(Interval { days, us, ..self })
    }

    /// Every 30 days made a month, and months and days brought to the same sign.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn justify_days(self) -> Result<Self> {
        if !self.is_finite() {
            return Ok(self);
        }
        let months = i64::from(self.months) + i64::from(self.days / MONTH_DAYS);
        let (months, days) =
            same_sign(months, i64::from(self.days % MONTH_DAYS), i64::from(MONTH_DAYS));
        let months = i32::try_from(months).map_err(|_| interval_out_of_range())?;
        Ok(Interval { months, days: days as i32, us: self.us })
    }

    /// Both, with all three parts brought to the same sign.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn justify(self) -> Result<Self> {
        if !self.is_finite() {
            return Ok(self);
        }
        let month_days = i64::from(MONTH_DAYS);
        let mut us = self.us % DAY_US;
        let mut days = i64::from(self.days) + self.us / DAY_US;
        let mut months = i64::from(self.months) + days / month_days;
        days %= month_days;
        if months > 0 && (days < 0 || days == 0 && us < 0) {
            (months, days) = (months - 1, days + month_days);
        } else if months < 0 && (days > 0 || days == 0 && us > 0) {
            (months, days) = (months + 1, days - month_days);
        }
        (days, us) = same_sign(days, us, DAY_US);
        let months = i32::try_from(months).map_err(|_| interval_out_of_range())?;
        Ok(Interval { months, days: days as i32, us })
    }
}

/// Two parts with the same sign, where `size` of the small one are one of the large one.
fn same_sign(large: i64, small: i64, size: i64) -> (i64, i64) {
    if large > 0 && small < 0 {
        (large - 1, small + size)
    } else if large < 0 && small > 0 {
        (large + 1, small - size)
    } else {
        (large, small)
    }
}
