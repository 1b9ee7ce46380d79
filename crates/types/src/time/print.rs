//! Writing dates, times and intervals in each of PostgreSQL's styles.
//!
//! ```text
//!   ISO         1997-12-17 07:37:16.5-08
//!   SQL         12/17/1997 07:37:16.5 PST        17/12/1997 with the day first
//!   Postgres    Wed Dec 17 07:37:16.5 1997 PST   Wed 17 Dec with the day first
//!   German      17.12.1997 07:37:16.5 PST
//! ```
//!
//! Years before 1 are written as years `BC`. Fractions of a second end with their last digit that is
//! not zero. Written values can be read back under the same style.

use std::fmt::Write;

use super::calendar::weekday;
use super::{
    Civil, DAY_US, Date, HOUR_US, Interval, MINUTE_US, SECOND_US, Time, TimeTz, Timestamp,
    TimestampTz,
};
use crate::{DateFormat, DateOrder, IntervalStyle, Style};

/// Names of the months, of which the first three letters are used here.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Names of the days of the week from Sunday, of which the first three letters are used here.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Longest abbreviation of a zone that is written.
const ZONE_LETTERS_MAX: usize = 10;

pub(super) fn two_digits(number: i64, out: &mut String) {
    debug_assert!((0..100).contains(&number));
    out.push(char::from(b'0' + (number / 10) as u8));
    out.push(char::from(b'0' + (number % 10) as u8));
}

fn number(number: i64, out: &mut String) {
    write!(out, "{number}").expect("strings take everything");
}

/// The year as it is counted in its era, with at least four digits.
pub(super) fn year(civil: Civil, out: &mut String) {
    let year = if civil.year > 0 { civil.year } else { 1 - civil.year };
    if (1_000..10_000).contains(&year) {
        two_digits(year / 100, out);
        two_digits(year % 100, out);
    } else {
        write!(out, "{year:04}").expect("strings take everything");
    }
}

pub(super) fn era(civil: Civil, out: &mut String) {
    if civil.year <= 0 {
        out.push_str(" BC");
    }
}

/// The day without its era, for all formats but that of a timestamp in Postgres style.
fn day(civil: Civil, style: &Style, out: &mut String) {
    let (month, day) = (i64::from(civil.month), i64::from(civil.day));
    let separator = match style.date_format {
        DateFormat::Iso => {
            year(civil, out);
            out.push('-');
            two_digits(month, out);
            out.push('-');
            two_digits(day, out);
            return;
        }
        DateFormat::Sql => '/',
        DateFormat::Postgres => '-',
        DateFormat::German => '.',
    };
    let is_day_first =
        style.date_format == DateFormat::German || style.date_order == DateOrder::Dmy;
    let (first, second) = if is_day_first { (day, month) } else { (month, day) };
    two_digits(first, out);
    out.push(separator);
    two_digits(second, out);
    out.push(separator);
    year(civil, out);
}

/// Whole seconds and their fraction, without zeros at its end; two digits of seconds if `is_wide`.
fn seconds(us: i64, is_wide: bool, out: &mut String) {
    let (second, fraction) = (us / SECOND_US, us % SECOND_US);
    if is_wide {
        two_digits(second, out);
    } else {
        number(second, out);
    }
    if fraction != 0 {
        let start = out.len();
        write!(out, ".{fraction:06}").expect("strings take everything");
        let length = out[start..].trim_end_matches('0').len();
        out.truncate(start + length);
    }
}

/// `hh:mm:ss.ffffff` of a time of day.
pub(super) fn clock(us: i64, out: &mut String) {
    two_digits(us / HOUR_US, out);
    out.push(':');
    two_digits(us / MINUTE_US % 60, out);
    out.push(':');
    seconds(us % MINUTE_US, true, out);
}

/// `+hh`, `+hh:mm` or `+hh:mm:ss`.
fn displacement(east_s: i32, out: &mut String) {
    let distance_s = i64::from(east_s).abs();
    out.push(if east_s >= 0 { '+' } else { '-' });
    two_digits(distance_s / 3_600, out);
    if distance_s % 3_600 != 0 {
        out.push(':');
        two_digits(distance_s / 60 % 60, out);
    }
    if distance_s % 60 != 0 {
        out.push(':');
        two_digits(distance_s % 60, out);
    }
}

/// A day and a time, and where they are, if it is said.
fn day_and_clock(
    day_number: i64,
    time_us: i64,
    zone: Option<ZoneOffset<'_>>,
    style: &Style,
    out: &mut String,
) {
    let civil = Civil::from_days(day_number);
    if style.date_format == DateFormat::Postgres {
        out.push_str(&WEEKDAYS[weekday(day_number) as usize][..3]);
        out.push(' ');
        let month = &MONTHS[civil.month as usize - 1][..3];
        if style.date_order == DateOrder::Dmy {
            two_digits(i64::from(civil.day), out);
            out.push(' ');
            out.push_str(month);
        } else {
            out.push_str(month);
            out.push(' ');
            two_digits(i64::from(civil.day), out);
        }
        out.push(' ');
        clock(time_us, out);
        out.push(' ');
        year(civil, out);
    } else {
        day(civil, style, out);
        out.push(' ');
        clock(time_us, out);
    }
    if let Some(place) = zone {
        if style.date_format == DateFormat::Iso {
            displacement(place.east_s, out);
        } else {
            let abbreviation = place.abbreviation;
            out.push(' ');
            out.push_str(abbreviation.get(..ZONE_LETTERS_MAX).unwrap_or(abbreviation));
        }
    }
    era(civil, out);
}

/// Where a clock is.
#[derive(Clone, Copy)]
struct ZoneOffset<'a> {
    east_s: i32,
    abbreviation: &'a str,
}

pub(super) const INFINITY: &str = "infinity";
pub(super) const NEG_INFINITY: &str = "-infinity";

impl Date {
    /// Writes the date.
    pub fn write(self, style: &Style, out: &mut String) {
        match self {
            Date::INFINITY => out.push_str(INFINITY),
            Date::NEG_INFINITY => out.push_str(NEG_INFINITY),
            date => {
                day(date.civil(), style, out);
                era(date.civil(), out);
            }
        }
    }
}

impl Time {
    /// Writes the time: `04:05:06.7` in every style.
    pub fn write(self, out: &mut String) {
        clock(self.0, out);
    }
}

impl TimeTz {
    /// Writes the time and how far the place is from Greenwich: `04:05:06.7+02` in every style.
    pub fn write(self, out: &mut String) {
        clock(self.time.0, out);
        displacement(-self.west_s, out);
    }
}

impl Timestamp {
    /// Writes the day and the time.
    pub fn write(self, style: &Style, out: &mut String) {
        match self {
            Timestamp::INFINITY => out.push_str(INFINITY),
            Timestamp::NEG_INFINITY => out.push_str(NEG_INFINITY),
            at => day_and_clock(at.day(), at.time_us(), None, style, out),
        }
    }
}

impl TimestampTz {
    /// Writes the moment as a day and a time in the session's zone, and the zone.
    pub fn write(self, style: &Style, out: &mut String) {
        match self {
            TimestampTz::INFINITY => out.push_str(INFINITY),
            TimestampTz::NEG_INFINITY => out.push_str(NEG_INFINITY),
            at => {
                let local = style.time_zone.local(at);
                let us = at.0.saturating_add(i64::from(local.east_s) * SECOND_US);
                let place = ZoneOffset { east_s: local.east_s, abbreviation: local.abbreviation };
                let (day, time_us) = (us.div_euclid(DAY_US), us.rem_euclid(DAY_US));
                day_and_clock(day, time_us, Some(place), style, out);
            }
        }
    }
}

/// An interval taken apart; all parts of the time have the same sign.
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    /// Seconds with their fraction, in microseconds.
    seconds_us: i64,
}

impl Parts {
    fn of(interval: Interval) -> Self {
        Self {
            years: i64::from(interval.months / 12),
            months: i64::from(interval.months % 12),
            days: i64::from(interval.days),
            hours: interval.us / HOUR_US,
            minutes: interval.us / MINUTE_US % 60,
            seconds_us: interval.us % MINUTE_US,
        }
    }

    fn has_time(&self) -> bool {
        self.hours != 0 || self.minutes != 0 || self.seconds_us != 0
    }

    fn is_time_negative(&self) -> bool {
        self.hours < 0 || self.minutes < 0 || self.seconds_us < 0
    }

    /// Hours, minutes and seconds without a sign; at least `width` digits of hours.
    fn clock(&self, width: usize, out: &mut String) {
        let (hours, minutes) = (self.hours.abs(), self.minutes.abs());
        write!(out, "{hours:0width$}:{minutes:02}:").expect("strings take everything");
        seconds(self.seconds_us.abs(), true, out);
    }
}

impl Interval {
    /// Writes the interval.
    pub fn write(self, style: &Style, out: &mut String) {
        if !self.is_finite() {
            out.push_str(if self.days > 0 { INFINITY } else { NEG_INFINITY });
            return;
        }
        let parts = Parts::of(self);
        match style.interval_style {
            IntervalStyle::Postgres => postgres(&parts, out),
            IntervalStyle::PostgresVerbose => verbose(&parts, out),
            IntervalStyle::SqlStandard => sql_standard(&parts, out),
            IntervalStyle::Iso8601 => iso_8601(&parts, out),
        }
    }
}

fn plural(number: i64) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// `1 year 2 mons -3 days +04:05:06`. A positive part after a negative one shows its sign.
fn postgres(parts: &Parts, out: &mut String) {
    let start = out.len();
    let mut is_after_negative = false;
    for (value, unit) in [(parts.years, "year"), (parts.months, "mon"), (parts.days, "day")] {
        if value != 0 {
            let space = if out.len() > start { " " } else { "" };
            let sign = if is_after_negative && value > 0 { "+" } else { "" };
            write!(out, "{space}{sign}{value} {unit}{}", plural(value))
                .expect("strings take everything");
            is_after_negative = value < 0;
        }
    }
    if out.len() == start || parts.has_time() {
        if out.len() > start {
            out.push(' ');
        }
        if parts.is_time_negative() {
            out.push('-');
        } else if is_after_negative {
            out.push('+');
        }
        parts.clock(2, out);
    }
}

/// `@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs ago`. The first part's sign is the `ago`.
fn verbose(parts: &Parts, out: &mut String) {
    let units = [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
        (parts.hours, "hour"),
        (parts.minutes, "min"),
    ];
    out.push('@');
    let mut is_ago = None;
    for (value, unit) in units.into_iter().filter(|(value, _)| *value != 0) {
        let value = if *is_ago.get_or_insert(value < 0) { -value } else { value };
        write!(out, " {value} {unit}{}", plural(value)).expect("strings take everything");
    }
    if parts.seconds_us != 0 {
        let is_negative = parts.seconds_us < 0;
        out.push(' ');
        if *is_ago.get_or_insert(is_negative) != is_negative {
            out.push('-');
        }
        seconds(parts.seconds_us.abs(), false, out);
        out.push_str(if parts.seconds_us.abs() == SECOND_US { " sec" } else { " secs" });
    }
    match is_ago {
        None => out.push_str(" 0"),
        Some(true) => out.push_str(" ago"),
        Some(false) => {}
    }
}

/// `1-2` or `3 4:05:06` where the value is one of the standard's, `+1-2 -3 +4:05:06` otherwise.
fn sql_standard(parts: &Parts, out: &mut String) {
    let all = [parts.years, parts.months, parts.days, parts.hours, parts.minutes, parts.seconds_us];
    let has_negative = all.iter().any(|part| *part < 0);
    let has_positive = all.iter().any(|part| *part > 0);
    let has_year_month = parts.years != 0 || parts.months != 0;
    let is_mixed =
        has_negative && has_positive || has_year_month && (parts.days != 0 || parts.has_time());
    let (years, months, days) = (parts.years.abs(), parts.months.abs(), parts.days.abs());
    if is_mixed {
        let sign = |is_negative: bool| if is_negative { '-' } else { '+' };
        let year_sign = sign(parts.years < 0 || parts.months < 0);
        let (day_sign, time_sign) = (sign(parts.days < 0), sign(parts.is_time_negative()));
        write!(out, "{year_sign}{years}-{months} {day_sign}{days} {time_sign}")
            .expect("strings take everything");
        parts.clock(1, out);
        return;
    }
    if has_negative {
        out.push('-');
    }
    if has_year_month {
        write!(out, "{years}-{months}").expect("strings take everything");
    } else if parts.days != 0 {
        write!(out, "{days} ").expect("strings take everything");
        parts.clock(1, out);
    } else if parts.has_time() {
        parts.clock(1, out);
    } else {
        out.push('0');
    }
}

/// `P1Y2M-3DT4H5M6.7S`.
fn iso_8601(parts: &Parts, out: &mut String) {
    let part = |value: i64, designator: char, out: &mut String| {
        if value != 0 {
            number(value, out);
            out.push(designator);
        }
    };
    let start = out.len();
    out.push('P');
    part(parts.years, 'Y', out);
    part(parts.months, 'M', out);
    part(parts.days, 'D', out);
    if parts.has_time() {
        out.push('T');
        part(parts.hours, 'H', out);
        part(parts.minutes, 'M', out);
        if parts.seconds_us != 0 {
            if parts.seconds_us < 0 {
                out.push('-');
            }
            seconds(parts.seconds_us.abs(), false, out);
            out.push('S');
        }
    }
    if out.len() == start + 1 {
        out.push_str("T0S");
    }
}
