//! Dates, times and intervals made of numbers: `make_date` and the like.

use super::calendar::{Civil, days_in_month};
use super::{
    DAY_US, Date, HOUR_US, Interval, MINUTE_US, SECOND_US, Time, Timestamp, interval_out_of_range,
};
use crate::text::general;
use crate::{Error, Result, SqlState};

fn overflow(message: String) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

/// A day of the calendar; a negative year is one BC.
fn civil(year: i32, month: i32, day: i32) -> Option<Civil> {
    let year = match year {
        0 | i32::MIN => return None,
        year if year < 0 => i64::from(year) + 1,
        year => i64::from(year),
    };
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    let is_day = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    is_day.then_some(Civil { year, month, day })
}

fn civil_or_error(year: i32, month: i32, day: i32) -> Result<Civil> {
    civil(year, month, day).ok_or_else(|| {
        overflow(format!("date field value out of range: {year}-{month:02}-{day:02}"))
    })
}

/// A day as error messages show it: with the year counted through zero.
fn shown(civil: Civil) -> String {
    format!("{}-{:02}-{:02}", civil.year, civil.month, civil.day)
}

/// A time of day with seconds and their fraction; 24:00:00 and 23:59:60 are one.
fn clock_us(hour: i32, minute: i32, second: f64) -> Option<i64> {
    let is_clock =
        (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    if !is_clock {
        return None;
    }
    let second_us = (second * SECOND_US as f64).round_ties_even() as i64;
    let us = i64::from(hour) * HOUR_US + i64::from(minute) * MINUTE_US + second_us;
    (us <= DAY_US).then_some(us)
}

impl Date {
    /// The date of a year, a month and a day; a negative year is one BC.
    ///
    /// # Errors
    /// 22008 where there is no such day, or it is out of range.
    pub fn make(year: i32, month: i32, day: i32) -> Result<Self> {
        let civil = civil_or_error(year, month, day)?;
        Date::from_days(civil.days())
            .ok_or_else(|| overflow(format!("date out of range: {}", shown(civil))))
    }
}

impl Time {
    /// The time of day of hours, minutes and seconds.
    ///
    /// # Errors
    /// 22008 where there is no such time.
    pub fn make(hour: i32, minute: i32, second: f64) -> Result<Self> {
        clock_us(hour, minute, second).map(Time).ok_or_else(|| {
            overflow(format!(
                "time field value out of range: {hour}:{minute:02}:{:0>2}",
                general(second)
            ))
        })
    }
}

impl Timestamp {
    /// The timestamp of a day and a time of day; a negative year is one BC.
    ///
    /// # Errors
    /// 22008 where there is no such day or time, or it is out of range.
    pub fn make(
        (year, month, day): (i32, i32, i32),
        (hour, minute, second): (i32, i32, f64),
    ) -> Result<Self> {
        let civil = civil_or_error(year, month, day)?;
        // The months that are at least partly in range of dates.
        if !((-4713, 11)..(5_874_898, 6)).contains(&(civil.year, civil.month)) {
            return Err(overflow(format!("date out of range: {}", shown(civil))));
        }
        let time = Time::make(hour, minute, second)?;
        let us = civil.days().checked_mul(DAY_US).and_then(|us| us.checked_add(time.0));
        us.and_then(Timestamp::in_range).ok_or_else(|| {
            let seconds = general(second);
            let shown = format!("{year}-{month:02}-{day:02} {hour}:{minute:02}:{seconds:0>2}");
            overflow(format!("timestamp out of range: {shown}"))
        })
    }
}

/// The parts of [`Interval::make`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct IntervalParts {
    /// Years of twelve months.
    pub years: i32,
    /// Months.
    pub months: i32,
    /// Weeks of seven days.
    pub weeks: i32,
    /// Days.
    pub days: i32,
    /// Hours.
    pub hours: i32,
    /// Minutes.
    pub minutes: i32,
    /// Seconds, with a fraction.
    pub seconds: f64,
}

impl Interval {
    /// The interval of all the parts together.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn make(parts: IntervalParts) -> Result<Self> {
        let us = (parts.seconds * SECOND_US as f64).round_ties_even();
        let sum = || {
            if !(us >= i64::MIN as f64 && us < -(i64::MIN as f64)) {
                return None;
            }
            Some(Interval {
                months: parts.years.checked_mul(12)?.checked_add(parts.months)?,
                days: parts.weeks.checked_mul(7)?.checked_add(parts.days)?,
                us: (i64::from(parts.hours) * HOUR_US)
                    .checked_add(i64::from(parts.minutes) * MINUTE_US)?
                    .checked_add(us as i64)?,
            })
        };
        sum().filter(|interval| interval.is_finite()).ok_or_else(interval_out_of_range)
    }
}
