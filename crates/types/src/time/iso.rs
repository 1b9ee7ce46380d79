//! Dates and times as ISO 8601 and XML write them, whatever the session's style: the form in JSON.
//!
//! ```text
//!   date          2024-02-29              timestamp     2024-02-29T13:05:09.5
//!   time          13:05:09.5              timestamptz   2024-02-29T13:05:09.5+01:00
//!   timetz        13:05:09.5+01:00
//! ```
//!
//! The differences from the style `ISO` are the `T`, and that an offset always has its minutes.

use super::print::{INFINITY, NEG_INFINITY, clock, era, two_digits, year};
use super::{Civil, DAY_US, Date, SECOND_US, Time, TimeTz, Timestamp, TimestampTz};

fn day(civil: Civil, out: &mut String) {
    year(civil, out);
    for part in [civil.month, civil.day] {
        out.push('-');
        two_digits(i64::from(part), out);
    }
}

/// `+hh:mm` or `+hh:mm:ss`.
fn offset(east_s: i32, out: &mut String) {
    let distance_s = i64::from(east_s).abs();
    out.push(if east_s >= 0 { '+' } else { '-' });
    two_digits(distance_s / 3_600, out);
    out.push(':');
    two_digits(distance_s / 60 % 60, out);
    if distance_s % 60 != 0 {
        out.push(':');
        two_digits(distance_s % 60, out);
    }
}

/// A day and a time in microseconds, and how far east they are, if it is said.
fn moment(us: i64, east_s: Option<i32>, out: &mut String) {
    match us {
        i64::MAX => return out.push_str(INFINITY),
        i64::MIN => return out.push_str(NEG_INFINITY),
        _ => {}
    }
    // The offset of the first and the last moments is not lost at the ends of the range.
    let us = i128::from(us) + i128::from(east_s.unwrap_or(0)) * i128::from(SECOND_US);
    let days = us.div_euclid(i128::from(DAY_US)) as i64;
    let civil = Civil::from_days(days);
    day(civil, out);
    out.push('T');
    clock(us.rem_euclid(i128::from(DAY_US)) as i64, out);
    if let Some(east_s) = east_s {
        offset(east_s, out);
    }
    era(civil, out);
}

impl Date {
    /// Writes the date by ISO 8601.
    pub fn write_iso(self, out: &mut String) {
        match self {
            Date::INFINITY => out.push_str(INFINITY),
            Date::NEG_INFINITY => out.push_str(NEG_INFINITY),
            date => {
                day(date.civil(), out);
                era(date.civil(), out);
            }
        }
    }
}

impl Time {
    /// Writes the time by ISO 8601.
    pub fn write_iso(self, out: &mut String) {
        clock(self.0, out);
    }
}

impl TimeTz {
    /// Writes the time and its offset by ISO 8601.
    pub fn write_iso(self, out: &mut String) {
        clock(self.time.0, out);
        offset(-self.west_s, out);
    }
}

impl Timestamp {
    /// Writes the day and the time by ISO 8601.
    pub fn write_iso(self, out: &mut String) {
        moment(self.0, None, out);
    }
}

impl TimestampTz {
    /// Writes the moment by ISO 8601, as it is so many seconds east of Greenwich.
    pub fn write_iso(self, east_s: i32, out: &mut String) {
        moment(self.0, Some(east_s), out);
    }
}
