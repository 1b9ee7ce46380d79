//! Sums and differences of dates, times and timestamps.
//!
//! ```text
//!   2024-01-31 + 1 mon  = 2024-02-29     the day is cut to the month's last one, then
//!              + 1 day  = 2024-03-01     days are added, then
//!              + 1 hour                  the time
//! ```
//!
//! Of a moment, months and days are added to what the clocks of a zone show: a day later it is the
//! same time there, even where 23 hours have passed. Hours are hours.
//!
//! An infinite value stays infinite; two infinities that have no sum are an error.

use super::calendar::{Civil, days_in_month};
use super::{
    DAY_US, Date, Interval, SECOND_US, Time, TimeTz, TimeZone, Timestamp, TimestampTz,
    date_out_of_range, interval_out_of_range, timestamp_out_of_range,
};
use crate::{Error, Result, SqlState};

impl Date {
    /// The day so many days later.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn add_days(self, days: i64) -> Result<Self> {
        if !self.is_finite() {
            return Ok(self);
        }
        let day = i64::from(self.0).checked_add(days);
        day.and_then(Self::from_days).ok_or_else(date_out_of_range)
    }

    /// The days from the other date to this one.
    ///
    /// # Errors
    /// 22008 where one of them is infinite.
    pub fn days_since(self, other: Self) -> Result<i32> {
        if !self.is_finite() || !other.is_finite() {
            return Err(Error::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                "cannot subtract infinite dates",
            ));
        }
        Ok(self.0 - other.0)
    }

    /// The day at a time of day.
    ///
    /// # Errors
    /// 22008 out of range of timestamps.
    pub fn at(self, time: Time) -> Result<Timestamp> {
        let midnight = self.to_timestamp()?;
        if !midnight.is_finite() {
            return Ok(midnight);
        }
        Timestamp::in_range(midnight.0 + time.0).ok_or_else(timestamp_out_of_range)
    }

    /// The day at a time of day somewhere.
    ///
    /// # Errors
    /// 22008 out of range of timestamps.
    pub fn at_tz(self, time: TimeTz) -> Result<TimestampTz> {
        let midnight = self.to_timestamp()?;
        if !midnight.is_finite() {
            return Ok(TimestampTz(midnight.0));
        }
        let us = midnight.0.checked_add(time.utc_us());
        us.and_then(TimestampTz::in_range).ok_or_else(timestamp_out_of_range)
    }
}

/// A day so many months later, or the last day of that month.
fn add_months(day: i64, months: i32) -> i64 {
    if months == 0 {
        return day;
    }
    let civil = Civil::from_days(day);
    let month = civil.year * 12 + i64::from(civil.month) - 1 + i64::from(months);
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) as u32 + 1);
    Civil { year, month, day: civil.day.min(days_in_month(year, month)) }.days()
}

/// Months and days added to the day of a local time, in microseconds.
fn add_calendar(local_us: i64, interval: Interval) -> Option<i64> {
    let day = add_months(local_us.div_euclid(DAY_US), interval.months);
    let after_months = day.checked_mul(DAY_US)?.checked_add(local_us.rem_euclid(DAY_US))?;
    // Out of range in between is out of range.
    let after_months = Timestamp::in_range(after_months)?.0;
    let after_days = after_months.checked_add(i64::from(interval.days).checked_mul(DAY_US)?)?;
    Timestamp::in_range(after_days).map(|at| at.0)
}

/// The sum of a timestamp and an infinite interval: an infinity, unless the timestamp is the other.
fn add_infinite(us: i64, interval: Interval) -> Result<i64> {
    let infinity = if interval.days > 0 { i64::MAX } else { i64::MIN };
    let opposite = if interval.days > 0 { i64::MIN } else { i64::MAX };
    if us == opposite { Err(timestamp_out_of_range()) } else { Ok(infinity) }
}

/// The time from one timestamp to another where one of them is infinite.
fn infinite_difference(us: i64, other_us: i64) -> Result<Interval> {
    match (us, other_us) {
        (i64::MAX, i64::MAX) | (i64::MIN, i64::MIN) => Err(interval_out_of_range()),
        (i64::MAX, _) | (_, i64::MIN) => Ok(Interval::INFINITY),
        _ => Ok(Interval::NEG_INFINITY),
    }
}

impl Timestamp {
    /// The timestamp later by an interval: first months, then days, then the time.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn add(self, interval: Interval) -> Result<Self> {
        if !interval.is_finite() {
            return add_infinite(self.0, interval).map(Timestamp);
        }
        if !self.is_finite() {
            return Ok(self);
        }
        add_calendar(self.0, interval)
            .and_then(|us| us.checked_add(interval.us))
            .and_then(Self::in_range)
            .ok_or_else(timestamp_out_of_range)
    }

    /// The time from the other timestamp to this one, in days and microseconds.
    ///
    /// # Errors
    /// 22008 out of range, and for equal infinities.
    pub fn since(self, other: Self) -> Result<Interval> {
        if !self.is_finite() || !other.is_finite() {
            return infinite_difference(self.0, other.0);
        }
        let us = self.0.checked_sub(other.0).ok_or_else(interval_out_of_range)?;
        Interval { months: 0, days: 0, us }.justify_hours()
    }

    /// The time from the other timestamp to this one in years, months, days and the rest, as people
    /// count an age.
    ///
    /// # Errors
    /// 22008 for equal infinities.
    pub fn age(self, other: Self) -> Result<Interval> {
        if !self.is_finite() || !other.is_finite() {
            return infinite_difference(self.0, other.0);
        }
        let (late, early) = (self.max(other), self.min(other));
        let (last, first) = (Civil::from_days(late.day()), Civil::from_days(early.day()));
        let mut us = late.time_us() - early.time_us();
        let mut days = i64::from(last.day) - i64::from(first.day);
        let mut months =
            (last.year - first.year) * 12 + i64::from(last.month) - i64::from(first.month);
        if us < 0 {
            (us, days) = (us + DAY_US, days - 1);
        }
        // The borrowed month is that of the earlier timestamp.
        let borrowed = i64::from(days_in_month(first.year, first.month));
        while days < 0 {
            (days, months) = (days + borrowed, months - 1);
        }
        let age = Interval { months: months as i32, days: days as i32, us };
        if self < other { age.negate() } else { Ok(age) }
    }
}

impl TimestampTz {
    /// The moment later by an interval: months and days as a zone's calendar has them, then the
    /// time.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn add(self, interval: Interval, zone: &TimeZone) -> Result<Self> {
        if !interval.is_finite() {
            return add_infinite(self.0, interval).map(TimestampTz);
        }
        if !self.is_finite() {
            return Ok(self);
        }
        let mut at = self;
        // Each step goes back to a moment, so that days are added to a time that there was.
        let steps =
            [Interval { days: 0, us: 0, ..interval }, Interval { months: 0, us: 0, ..interval }];
        for step in steps {
            if step.months != 0 || step.days != 0 {
                let local = at.to_local(zone).ok_or_else(timestamp_out_of_range)?;
                let later = add_calendar(local.0, step).ok_or_else(timestamp_out_of_range)?;
                at = Timestamp(later).in_zone(zone).ok_or_else(timestamp_out_of_range)?;
            }
        }
        let us = at.0.checked_add(interval.us);
        us.and_then(Self::in_range).ok_or_else(timestamp_out_of_range)
    }

    /// The time from the other moment to this one, in days of 24 hours and microseconds.
    ///
    /// # Errors
    /// 22008 out of range, and for equal infinities.
    pub fn since(self, other: Self) -> Result<Interval> {
        Timestamp(self.0).since(Timestamp(other.0))
    }

    /// The time from the other moment to this one in years, months, days and the rest, as the
    /// calendar and the clocks of a zone have it.
    ///
    /// # Errors
    /// 22008 for equal infinities.
    pub fn age(self, other: Self, zone: &TimeZone) -> Result<Interval> {
        if !self.is_finite() || !other.is_finite() {
            return infinite_difference(self.0, other.0);
        }
        let local = |at: Self| at.to_local(zone).ok_or_else(timestamp_out_of_range);
        local(self)?.age(local(other)?)
    }
}

fn infinite_time(verb: &str, preposition: &str) -> Error {
    Error::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        format!("cannot {verb} infinite interval {preposition} time"),
    )
}

impl Time {
    /// The time of day later by an interval's time; days do not count, and midnight is passed. Sums
    /// beyond 64 bits wrap, as in PostgreSQL.
    ///
    /// # Errors
    /// 22008 for an infinite interval.
    pub fn add(self, interval: Interval) -> Result<Self> {
        if !interval.is_finite() {
            return Err(infinite_time("add", "to"));
        }
        Ok(Time(self.0.wrapping_add(interval.us).rem_euclid(DAY_US)))
    }

    /// The time of day earlier by an interval's time; days do not count, and midnight is passed.
    /// Differences beyond 64 bits wrap, as in PostgreSQL.
    ///
    /// # Errors
    /// 22008 for an infinite interval.
    pub fn subtract(self, interval: Interval) -> Result<Self> {
        if !interval.is_finite() {
            return Err(infinite_time("subtract", "from"));
        }
        Ok(Time(self.0.wrapping_sub(interval.us).rem_euclid(DAY_US)))
    }

    /// The time from the other time of day to this one.
    pub fn since(self, other: Self) -> Interval {
        Interval { months: 0, days: 0, us: self.0 - other.0 }
    }
}

impl TimeTz {
    /// As [`Time::add`], in the same place.
    ///
    /// # Errors
    /// 22008 for an infinite interval.
    pub fn add(self, interval: Interval) -> Result<Self> {
        Ok(TimeTz { time: self.time.add(interval)?, ..self })
    }

    /// As [`Time::subtract`], in the same place.
    ///
    /// # Errors
    /// 22008 for an infinite interval.
    pub fn subtract(self, interval: Interval) -> Result<Self> {
        Ok(TimeTz { time: self.time.subtract(interval)?, ..self })
    }

    /// The time that the clocks show somewhere else at the same moment.
    #[must_use]
    pub fn moved_to(self, west_s: i32) -> Self {
        let us = self.utc_us() - i64::from(west_s) * SECOND_US;
        TimeTz { time: Time(us.rem_euclid(DAY_US)), west_s }
    }
}

/// True if two spans of time have a moment in common, `None` if that is not known: SQL's
/// `OVERLAPS`. The ends of a span come in any order, and its last moment is not part of it unless it
/// is its first one too.
pub fn overlaps<T: Ord + Copy>(first: [Option<T>; 2], second: [Option<T>; 2]) -> Option<bool> {
    // The known end stands first; `None` for the other one is an end that is not known.
    let ordered = |span: [Option<T>; 2]| match span {
        [Some(a), Some(b)] => Some((a.min(b), Some(a.max(b)))),
        [Some(a), None] | [None, Some(a)] => Some((a, None)),
        [None, None] => None,
    };
    let (first, second) = (ordered(first)?, ordered(second)?);
    if first.0 == second.0 {
        // They share their start, unless an end that is not known says otherwise.
        return (first.1.is_some() && second.1.is_some()).then_some(true);
    }
    let (early, late) = if first.0 < second.0 { (first, second) } else { (second, first) };
    match early.1 {
        Some(end) if late.0 < end => Some(true),
        None => None,
        Some(_) if late.1.is_none() => None,
        Some(_) => Some(false),
    }
}
