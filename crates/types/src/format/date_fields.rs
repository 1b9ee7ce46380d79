//! The fields of a date that a template has read, and the day and the time that they make together.

use super::date_in::{bad, shown_name};
use super::template::{Calendar, FieldNode};
use crate::time::calendar::{Civil, JULIAN_OF_EPOCH, days_in_month, is_leap};
use crate::time::{DAY_US, HOUR_US, MINUTE_US, SECOND_US, Timestamp, ZoneName, iso_week_start};
use crate::{Error, Result, SqlState};

/// Farthest that a zone may be from Greenwich, in hours.
pub(super) const ZONE_HOURS_MAX: i64 = 15;

/// A field of the text. Two different values of one field contradict each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Hour,
    Minute,
    Second,
    SecondOfDay,
    Meridiem,
    Millisecond,
    Microsecond,
    Day,
    DayOfWeek,
    DayOfYear,
    Month,
    Week,
    WeekOfMonth,
    Year,
    Century,
    Era,
    Julian,
    ZoneHour,
    ZoneMinute,
}

pub(super) const SLOTS: usize = Slot::ZoneMinute as usize + 1;

/// The fields that were read; a field that was not given is 0.
pub(super) struct Fields {
    pub(super) slots: [i64; SLOTS],
    pub(super) calendar: Option<Calendar>,
    /// Digits of the year's field.
    pub(super) year_digits: u8,
    pub(super) has_twelve_hours: bool,
    /// Digits of the fraction's field, to which the result is rounded.
    pub(super) precision: Option<u8>,
    /// 0 where no zone was given as numbers.
    pub(super) zone_sign: i64,
    /// The abbreviation that was given, and what it stands for.
    pub(super) zone: Option<ZoneName>,
}

impl Fields {
    pub(super) fn get(&self, slot: Slot) -> i64 {
        self.slots[slot as usize]
    }

    /// Sets a field, which must not have another value already.
    pub(super) fn set(&mut self, slot: Slot, value: i64, node: &FieldNode) -> Result<()> {
        let old = &mut self.slots[slot as usize];
        if *old != 0 && *old != value {
            let name = shown_name(node);
            return Err(bad(
                format!("conflicting values for \"{name}\" field in formatting string"),
                "This value contradicts a previous setting for the same field type.",
            ));
        }
        *old = value;
        Ok(())
    }
}

/// The parts of the text.
pub(super) struct Reading {
    pub(super) day: Civil,
    pub(super) time_us: i64,
    /// Seconds west of Greenwich, if it says so.
    pub(super) west_s: Option<i32>,
    pub(super) precision: Option<u8>,
}

/// The error for a field whose value is too big.
pub(super) fn out_of_range(text: &str) -> Error {
    Error::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        format!("date/time field value out of range: \"{text}\""),
    )
}

/// Combines the fields.
pub(super) fn settle(text: &str, fields: Fields) -> Result<Reading> {
    let hour = settle_hour(&fields)?;
    let day = settle_day(text, &fields)?;
    let time_us = settle_time(text, hour, &fields)?;
    let west_s = match (&fields.zone, fields.zone_sign) {
        (_, sign) if sign != 0 => {
            let (hours, minutes) = (fields.get(Slot::ZoneHour), fields.get(Slot::ZoneMinute));
            if !(0..=ZONE_HOURS_MAX).contains(&hours) || !(0..60).contains(&minutes) {
                return Err(Error::new(
                    SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                    format!("time zone displacement out of range: \"{text}\""),
                ));
            }
            Some((-sign * (hours * 60 + minutes) * 60) as i32)
        }
        (Some(zone), _) => {
            let local = day.days().checked_mul(DAY_US).and_then(|us| us.checked_add(time_us));
            Some(local.map_or(0, |local| -zone.east_at_local(Timestamp(local))))
        }
        (None, _) => None,
    };
    Ok(Reading { day, time_us, west_s, precision: fields.precision })
}

/// Returns a field; computes it from the second of the day if it was not given.
fn or_of_day(fields: &Fields, slot: Slot, of_day: impl Fn(i64) -> i64) -> i64 {
    match fields.get(slot) {
        0 => of_day(fields.get(Slot::SecondOfDay)),
        value => value,
    }
}

fn settle_hour(fields: &Fields) -> Result<i64> {
    let hour = or_of_day(fields, Slot::Hour, |second| second / 3_600);
    if !fields.has_twelve_hours {
        return Ok(hour);
    }
    if !(1..=12).contains(&hour) {
        return Err(Error::new(
            SqlState::INVALID_DATETIME_FORMAT,
            format!("hour \"{hour}\" is invalid for the 12-hour clock"),
        )
        .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
    }
    let is_pm = fields.get(Slot::Meridiem) != 0;
    Ok(hour % 12 + if is_pm { 12 } else { 0 })
}

fn settle_time(text: &str, hour: i64, fields: &Fields) -> Result<i64> {
    let minute = or_of_day(fields, Slot::Minute, |second| second / 60 % 60);
    let second = or_of_day(fields, Slot::Second, |second| second % 60);
    let us = fields.get(Slot::Millisecond) * 1_000 + fields.get(Slot::Microsecond);
    let is_sound = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..SECOND_US).contains(&us);
    if !is_sound {
        return Err(out_of_range(text));
    }
    Ok(hour * HOUR_US + minute * MINUTE_US + second * SECOND_US + us)
}

/// The year, counted through zero; `None` if none is given.
fn settle_year(text: &str, fields: &Fields) -> Result<Option<i64>> {
    let is_bc = fields.get(Slot::Era) != 0;
    let century = match fields.get(Slot::Century) {
        century if is_bc => -century,
        century => century,
    };
    let year = match (fields.get(Slot::Year), century) {
        (0, 0) => return Ok(None),
        // The first year of the century: 2001 of the 21st, 600 BC of the 6th.
        (0, century) if century > 0 => (century - 1) * 100 + 1,
        (0, century) => century * 100 + 1,
        (year, century) if century != 0 && fields.year_digits <= 2 => match year % 100 {
            0 if century > 0 => century * 100,
            0 => century * 100 + 1,
            of_century if century > 0 => of_century + (century - 1) * 100,
            of_century => (century + 1) * 100 - of_century + 1,
        },
        (year, _) => {
            let year = if is_bc { -year } else { year };
            if year < 0 { year + 1 } else { year }
        }
    };
    if i32::try_from(year).is_err() { Err(out_of_range(text)) } else { Ok(Some(year)) }
}

fn settle_day(text: &str, fields: &Fields) -> Result<Civil> {
    let given_year = settle_year(text, fields)?;
    let mut year = given_year.unwrap_or(0);
    let (mut month, mut day) = (1, 1);
    // Which of the three are to be checked.
    let (mut has_year, mut has_month, mut has_day) = (given_year.is_some(), false, false);
    let is_iso = fields.calendar == Some(Calendar::IsoWeeks);
    let mut whole = None;
    if fields.get(Slot::Julian) != 0 {
        let civil = Civil::from_days(fields.get(Slot::Julian) - JULIAN_OF_EPOCH);
        (year, whole) = (civil.year, Some(civil));
    }
    let mut day_of_year = fields.get(Slot::DayOfYear);
    let week = fields.get(Slot::Week);
    if week != 0 && is_iso {
        let monday = iso_week_start(year, week);
        whole = Some(Civil::from_days(match fields.get(Slot::DayOfWeek) {
            0 => monday,
            1 => monday + 6,
            weekday => monday + weekday - 2,
        }));
    } else if week != 0 {
        day_of_year = (week - 1) * 7 + 1;
    }
    if let Some(civil) = whole {
        (year, month, day) = (civil.year, i64::from(civil.month), i64::from(civil.day));
        (has_year, has_month, has_day) = (true, true, true);
    }
    let in_month = match fields.get(Slot::WeekOfMonth) {
        0 => fields.get(Slot::Day),
        week => (week - 1) * 7 + 1,
    };
    if [day_of_year, in_month].iter().any(|number| i32::try_from(*number).is_err()) {
        return Err(out_of_range(text));
    }
    if in_month != 0 {
        (day, has_day) = (in_month, true);
    }
    if fields.get(Slot::Month) != 0 {
        (month, has_month) = (fields.get(Slot::Month), true);
    }
    if day_of_year != 0 && (month <= 1 || day <= 1) {
        if year == 0 && fields.get(Slot::Era) == 0 {
            return Err(Error::new(
                SqlState::INVALID_DATETIME_FORMAT,
                "cannot calculate day of year without year information",
            ));
        }
        if is_iso {
            let civil = Civil::from_days(iso_week_start(year, 1) + day_of_year - 1);
            (year, month, day) = (civil.year, i64::from(civil.month), i64::from(civil.day));
            has_year = true;
        } else {
            let (of_year, in_month) = month_of_day(year, day_of_year);
            month = if month <= 1 { of_year } else { month };
            day = if day <= 1 { in_month } else { day };
        }
        (has_month, has_day) = (true, true);
    }
    let is_month_bad = has_month && !(1..=12).contains(&month);
    let is_day_bad = has_day && !(1..=31).contains(&day);
    if is_month_bad || is_day_bad {
        return Err(out_of_range(text));
    }
    let is_whole = has_year && has_month && has_day;
    if is_whole && day > i64::from(days_in_month(year, month as u32)) {
        return Err(out_of_range(text));
    }
    Ok(Civil { year, month: month as u32, day: day as u32 })
}

/// The month that a day of the year is in, and its day there; 13 beyond the year's end.
fn month_of_day(year: i64, day_of_year: i64) -> (i64, i64) {
    let mut left = day_of_year;
    for month in 1..=12 {
        let days = i64::from(days_in_month(year, month));
        if left <= days {
            return (month.into(), left);
        }
        left -= days;
    }
    debug_assert!(day_of_year > 365 + i64::from(is_leap(year)));
    (13, left)
}
