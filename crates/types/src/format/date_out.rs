//! `to_char` of dates, times and intervals.

use std::fmt::Write;

use super::ordinal_ending;
use super::template::{Case, DateField, DateTemplate, FieldNode, Node};
use crate::time::calendar::{Civil, JULIAN_OF_EPOCH, weekday};
use crate::time::{
    DAY_US, HOUR_US, Interval, Local, MINUTE_US, MONTHS, SECOND_US, TimeZone, Timestamp,
    TimestampTz, WEEKDAYS, iso_week_start,
};
use crate::{Error, Result, SqlState};

/// How wide the names of months and days are padded.
const NAME_WIDTH: usize = 9;

/// The months in Roman numbers.
pub(super) const ROMAN_MONTHS: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// A value taken apart: what a calendar and a clock show, or the parts of an interval.
struct Parts<'a> {
    /// Counted through zero.
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    us: i64,
    /// The number of the day; an interval has none.
    date: Option<i64>,
    zone: Option<Local<'a>>,
}

impl Parts<'_> {
    fn of_local(us: i64) -> Self {
        let (date, time_us) = (us.div_euclid(DAY_US), us.rem_euclid(DAY_US));
        let civil = Civil::from_days(date);
        Self {
            year: civil.year,
            month: civil.month.into(),
            day: civil.day.into(),
            day_of_year: civil.day_of_year(),
            hour: time_us / HOUR_US,
            minute: time_us / MINUTE_US % 60,
            second: time_us / SECOND_US % 60,
            us: time_us % SECOND_US,
            date: Some(date),
            zone: None,
        }
    }

    fn of_interval(interval: Interval) -> Self {
        Self {
            year: i64::from(interval.months / 12),
            month: i64::from(interval.months % 12),
            day: interval.days.into(),
            // Wraps beyond 32 bits, as in PostgreSQL.
            day_of_year: interval.months.wrapping_mul(30).wrapping_add(interval.days).into(),
            hour: interval.us / HOUR_US,
            minute: interval.us / MINUTE_US % 60,
            second: interval.us / SECOND_US % 60,
            us: interval.us % SECOND_US,
            date: None,
            zone: None,
        }
    }

    /// The number of the day, which a field needs that intervals do not have.
    fn date(&self) -> Result<i64> {
        self.date.ok_or_else(|| {
            Error::new(
                SqlState::INVALID_DATETIME_FORMAT,
                "invalid format specification for an interval value",
            )
            .with_hint("Intervals are not tied to specific calendar dates.")
        })
    }

    /// The year as it is shown: BC is shown elsewhere.
    fn shown_year(&self, year: i64) -> i64 {
        if self.date.is_some() && year <= 0 { 1 - year } else { year }
    }

    /// The number of the day. Fields of an interval are taken as a day of the calendar here, however
    /// little that means.
    fn any_date(&self) -> i64 {
        self.date.unwrap_or_else(|| {
            let month = self.year * 12 + self.month - 1;
            let (year, month) = (month.div_euclid(12), month.rem_euclid(12) as u32 + 1);
            Civil { year, month, day: 1 }.days() + self.day - 1
        })
    }

    /// The year that the ISO week belongs to, the week, and the day of that year. The year is never
    /// further than one from that of the value, also where an interval has more days.
    fn iso(&self) -> (i64, i64, i64) {
        let date = self.any_date();
        let first = |year| iso_week_start(year, 1);
        let year = if date < first(self.year) {
            self.year - 1
        } else {
            self.year + i64::from(date >= first(self.year + 1))
        };
        (year, (date - first(year)).div_euclid(7) + 1, date - first(year) + 1)
    }
}

impl DateTemplate {
    /// The timestamp in the form of the template; `None` for an infinity and an empty template.
    ///
    /// # Errors
    /// 22P02 for an ordinal of what is no number.
    pub fn timestamp(&self, at: Timestamp) -> Result<Option<String>> {
        if !at.is_finite() {
            return Ok(None);
        }
        self.write(&Parts::of_local(at.0))
    }

    /// The moment, as the calendar and the clocks of a zone show it, in the form of the template;
    /// `None` for an infinity and an empty template.
    ///
    /// # Errors
    /// As [`DateTemplate::timestamp`].
    pub fn timestamptz(&self, at: TimestampTz, zone: &TimeZone) -> Result<Option<String>> {
        if !at.is_finite() {
            return Ok(None);
        }
        let local = zone.local(at);
        let us = at.0.saturating_add(i64::from(local.east_s) * SECOND_US);
        self.write(&Parts { zone: Some(local), ..Parts::of_local(us) })
    }

    /// The interval in the form of the template; `None` for an infinity and an empty template.
    ///
    /// # Errors
    /// 22007 for fields that an interval does not have, and as [`DateTemplate::timestamp`].
    pub fn interval(&self, interval: Interval) -> Result<Option<String>> {
        if !interval.is_finite() {
            return Ok(None);
        }
        self.write(&Parts::of_interval(interval))
    }

    fn write(&self, parts: &Parts<'_>) -> Result<Option<String>> {
        if self.is_empty {
            return Ok(None);
        }
        let mut out = String::new();
        for node in &self.nodes {
            match node {
                Node::Char(c) | Node::Space(c) | Node::Separator(c) => out.push(*c),
                Node::Field(field) => write_field(field, parts, &mut out)?,
            }
        }
        Ok(Some(out))
    }
}

fn write_field(node: &FieldNode, parts: &Parts<'_>, out: &mut String) -> Result<()> {
    let start = out.len();
    match node.field {
        DateField::MeridiemDots | DateField::Meridiem => {
            let is_pm = parts.hour % 24 >= 12;
            let dots = node.field == DateField::MeridiemDots;
            text(
                ["AM", "PM", "A.M.", "P.M."][usize::from(is_pm) + 2 * usize::from(dots)],
                node,
                out,
            );
            return Ok(());
        }
        DateField::EraDots | DateField::Era => {
            parts.date()?;
            let is_bc = parts.year <= 0;
            let dots = node.field == DateField::EraDots;
            text(
                ["AD", "BC", "A.D.", "B.C."][usize::from(is_bc) + 2 * usize::from(dots)],
                node,
                out,
            );
            return Ok(());
        }
        DateField::DayName | DateField::DayShort => {
            let name = WEEKDAYS[weekday(parts.date()?) as usize];
            return name_of(name, node.field == DateField::DayShort, node, out);
        }
        DateField::MonthName | DateField::MonthShort => {
            parts.date()?;
            let name = MONTHS[parts.month as usize - 1];
            return name_of(name, node.field == DateField::MonthShort, node, out);
        }
        DateField::RomanMonth => {
            roman_month(node, parts, out);
            return Ok(());
        }
        DateField::ZoneName => {
            parts.date()?;
            if let Some(zone) = parts.zone {
                text(&zone.abbreviation.to_ascii_uppercase(), node, out);
            }
            return Ok(());
        }
        DateField::ZoneHour | DateField::ZoneMinute | DateField::Offset => {
            parts.date()?;
            offset(node, parts.zone.map_or(0, |zone| zone.east_s), out);
            return Ok(());
        }
        DateField::Exact => return Ok(()),
        _ => number_of(node, parts, out)?,
    }
    if let Some(is_upper) = node.ordinal
        && out.len() > start
    {
        let ending = ordinal_ending(&out[start..], is_upper)?;
        out.push_str(ending);
    }
    Ok(())
}

/// The fields that are numbers.
fn number_of(node: &FieldNode, parts: &Parts<'_>, out: &mut String) -> Result<()> {
    let years = |year: i64, digits: u8| match digits {
        4 => year,
        digits => year % 10_i64.pow(digits.into()),
    };
    let (number, width) = match node.field {
        DateField::Hour12 => (if parts.hour % 12 == 0 { 12 } else { parts.hour % 12 }, 2),
        DateField::Hour24 => (parts.hour, 2),
        DateField::Minute => (parts.minute, 2),
        DateField::Second => (parts.second, 2),
        DateField::Milliseconds => (parts.us / 1_000, 3),
        DateField::Microseconds => (parts.us, 6),
        DateField::Fraction(digits) => {
            (parts.us / 10_i64.pow(6 - u32::from(digits)), usize::from(digits))
        }
        DateField::SecondOfDay => (parts.hour * 3_600 + parts.minute * 60 + parts.second, 0),
        DateField::Month => (parts.month, 2),
        DateField::DayOfMonth => (parts.day, 2),
        DateField::DayOfYear => (parts.day_of_year, 3),
        DateField::IsoDayOfYear => (parts.iso().2, 3),
        DateField::DayOfWeek => (weekday(parts.date()?) + 1, 0),
        DateField::IsoDayOfWeek => match weekday(parts.date()?) {
            0 => (7, 0),
            day => (day, 0),
        },
        DateField::WeekOfYear => ((parts.day_of_year - 1) / 7 + 1, 2),
        DateField::IsoWeek => (parts.iso().1, 2),
        DateField::WeekOfMonth => ((parts.day - 1) / 7 + 1, 0),
        DateField::Quarter if parts.month == 0 => return Ok(()),
        DateField::Quarter => ((parts.month - 1) / 3 + 1, 0),
        DateField::Century => match parts.year {
            year if parts.date.is_none() => (year / 100, 2),
            year if year > 0 => ((year - 1) / 100 + 1, 2),
            year => (year / 100 - 1, 2),
        },
        DateField::YearComma => {
            let year = parts.shown_year(parts.year);
            write!(out, "{},{:03}", year / 1_000, year % 1_000).expect("strings take everything");
            return Ok(());
        }
        DateField::Year(digits) => {
            (years(parts.shown_year(parts.year), digits), usize::from(digits))
        }
        DateField::IsoYear(digits) => {
            (years(parts.shown_year(parts.iso().0), digits), usize::from(digits))
        }
        DateField::Julian => (parts.any_date() + JULIAN_OF_EPOCH, 0),
        other => unreachable!("{other:?} is no number"),
    };
    // A part of an interval may be negative; some fields have room for its sign.
    let has_sign = match node.field {
        DateField::Hour12 | DateField::Hour24 => parts.hour < 0,
        DateField::Year(2..) | DateField::IsoYear(2..) => parts.shown_year(parts.year) < 0,
        DateField::Minute | DateField::Second | DateField::Month | DateField::Century => number < 0,
        _ => false,
    };
    // Fractions have as many digits as they have, in every mode.
    let is_fraction = matches!(
        node.field,
        DateField::Fraction(_) | DateField::Milliseconds | DateField::Microseconds
    );
    let width = if node.is_fill && !is_fraction { 0 } else { width + usize::from(has_sign) };
    write!(out, "{number:0width$}").expect("strings take everything");
    Ok(())
}

/// A text in the case of the field.
fn text(upper: &str, node: &FieldNode, out: &mut String) {
    match node.case {
        Case::Lower => out.push_str(&upper.to_ascii_lowercase()),
        Case::Upper | Case::Capital => out.push_str(upper),
    }
}

/// A name of a day or a month, or its first three letters.
fn name_of(name: &str, is_short: bool, node: &FieldNode, out: &mut String) -> Result<()> {
    let name = if is_short { &name[..3] } else { name };
    let name = match node.case {
        Case::Upper => name.to_ascii_uppercase(),
        Case::Lower => name.to_ascii_lowercase(),
        Case::Capital => name.to_owned(),
    };
    let is_padded = !is_short && !node.is_fill && !node.is_translated;
    let width = if is_padded { NAME_WIDTH } else { 0 };
    write!(out, "{name:width$}").expect("strings take everything");
    Ok(())
}

/// The month in Roman numbers; negative months of an interval count from the year's end.
fn roman_month(node: &FieldNode, parts: &Parts<'_>, out: &mut String) {
    if parts.month == 0 && parts.year == 0 {
        return;
    }
    let at = match parts.month {
        0 if parts.year >= 0 => 11,
        0 => 0,
        month if month < 0 => 12 + month,
        month => month - 1,
    };
    let roman = ROMAN_MONTHS[at as usize];
    let roman = if node.case == Case::Lower { roman.to_lowercase() } else { roman.to_owned() };
    let width = if node.is_fill { 0 } else { 4 };
    write!(out, "{roman:width$}").expect("strings take everything");
}

/// `TZH`, `TZM` and `OF`.
fn offset(node: &FieldNode, east_s: i32, out: &mut String) {
    let sign = if east_s < 0 { '-' } else { '+' };
    let (hours, minutes) = (east_s.abs() / 3_600, east_s.abs() / 60 % 60);
    let result = match node.field {
        DateField::ZoneHour => write!(out, "{sign}{hours:02}"),
        DateField::ZoneMinute => write!(out, "{minutes:02}"),
        _ => {
            let width = if node.is_fill { 0 } else { 2 };
            write!(out, "{sign}{hours:0width$}").and_then(|()| match east_s.abs() % 3_600 {
                0 => Ok(()),
                _ => write!(out, ":{minutes:02}"),
            })
        }
    };
    result.expect("strings take everything");
}
