//! `extract`: one field of a date, a time or an interval, as a number.
//!
//! ```text
//!   extract(second  from timestamp '2001-02-16 20:38:40.5')   40.500000
//!   extract(century from date '2000-12-16')                   20
//!   extract(epoch   from interval '5 days 3 hours')           442800.000000
//! ```
//!
//! Fields of an infinity that come round again (its hour, its month) are NULL; those that only grow
//! (its year) are infinite themselves.

use numeric::Numeric;

use super::calendar::{JULIAN_OF_EPOCH, UNIX_EPOCH_DAYS, iso_weekday, weekday};
use super::word::{FieldName, Word, field};
use super::{
    Civil, DAY_US, Date, HOUR_US, Interval, MINUTE_US, SECOND_US, Time, TimeTz, TimeZone,
    Timestamp, TimestampTz, Unit,
};
use crate::{Error, Result, SqlState};

/// The error for a name that is no field.
pub(super) fn not_recognized(name: &str, type_name: &str) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("unit \"{}\" not recognized for type {type_name}", name.to_lowercase()),
    )
}

/// The error for a field that the type does not have.
pub(super) fn not_supported(name: &str, type_name: &str) -> Error {
    Error::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("unit \"{}\" not supported for type {type_name}", name.to_lowercase()),
    )
}

/// The field that a name asks for.
fn unit(name: &str, type_name: &str) -> Result<Unit> {
    match field(&name.to_lowercase()) {
        Some(FieldName::Unit(unit)) => Ok(unit),
        Some(FieldName::Moment(Word::Epoch)) => Ok(Unit::Epoch),
        _ => Err(not_recognized(name, type_name)),
    }
}

/// The field that a name asks for, of a type with days, which knows the words for moments too.
fn unit_of_day(name: &str, type_name: &str) -> Result<Unit> {
    match field(&name.to_lowercase()) {
        Some(FieldName::Moment(word)) if word != Word::Epoch => Err(not_supported(name, type_name)),
        _ => unit(name, type_name),
    }
}

/// A whole number.
fn whole(number: i64) -> Numeric {
    Numeric::from(number)
}

/// A number with so many digits after the point.
fn decimal(number: i64, scale: u32) -> Numeric {
    Numeric::new(i128::from(number), scale).expect("a few digits are within the limit")
}

/// A field of a day; `None` for one that a day does not have.
fn of_day(unit: Unit, days: i64) -> Option<i64> {
    let Civil { year, month, day } = Civil::from_days(days);
    // Years before 1 are counted without a year 0, so periods of years are too.
    let period = |years: i64| {
        if year > 0 { (year + years - 1) / years } else { -((years - year) / years) }
    };
    let counted = |year: i64| if year > 0 { year } else { year - 1 };
    Some(match unit {
        Unit::Day => day.into(),
        Unit::Month => month.into(),
        Unit::Quarter => (i64::from(month) - 1) / 3 + 1,
        Unit::Week => Civil::from_days(days).iso_week().1,
        Unit::Year => counted(year),
        Unit::Decade => year.div_euclid(10),
        Unit::Century => period(100),
        Unit::Millennium => period(1_000),
        Unit::Julian => days + JULIAN_OF_EPOCH,
        Unit::IsoYear => counted(Civil::from_days(days).iso_week().0),
        Unit::DayOfWeek => weekday(days),
        Unit::IsoDayOfWeek => iso_weekday(days),
        Unit::DayOfYear => Civil::from_days(days).day_of_year(),
        _ => return None,
    })
}

/// A field of a time of day; `None` for one that it does not have.
fn of_time(unit: Unit, us: i64) -> Option<Numeric> {
    Some(match unit {
        Unit::Microsecond => whole(us % MINUTE_US),
        Unit::Millisecond => decimal(us % MINUTE_US, 3),
        Unit::Second => decimal(us % MINUTE_US, 6),
        Unit::Minute => whole(us / MINUTE_US % 60),
        Unit::Hour => whole(us / HOUR_US),
        _ => return None,
    })
}

/// A field of the zone of a value; `None` for other fields.
fn of_zone(unit: Unit, east_s: i32) -> Option<Numeric> {
    Some(match unit {
        Unit::Timezone => whole(east_s.into()),
        Unit::TimezoneHour => whole((east_s / 3_600).into()),
        Unit::TimezoneMinute => whole((east_s / 60 % 60).into()),
        _ => return None,
    })
}

/// A field of an infinity.
fn of_infinity(unit: Unit, is_positive: bool) -> Option<Numeric> {
    let grows = matches!(
        unit,
        Unit::Year
            | Unit::Decade
            | Unit::Century
            | Unit::Millennium
            | Unit::Julian
            | Unit::IsoYear
            | Unit::Epoch
    );
    grows.then_some(if is_positive { Numeric::INFINITY } else { Numeric::NEG_INFINITY })
}

/// A field of a day and a time of day.
fn of_day_and_time(unit: Unit, us: i64) -> Option<Numeric> {
    let (days, time_us) = (us.div_euclid(DAY_US), us.rem_euclid(DAY_US));
    if unit == Unit::Julian {
        let fraction = Numeric::from(time_us).checked_div(&Numeric::from(DAY_US));
        let sum = whole(days + JULIAN_OF_EPOCH).checked_add(&fraction.expect("not by zero"));
        return Some(sum.expect("small numbers have a sum"));
    }
    of_time(unit, time_us).or_else(|| of_day(unit, days).map(whole))
}

/// Seconds since 1970, of microseconds since 2000.
fn epoch(us: i64) -> Numeric {
    let us = i128::from(us) + i128::from(UNIX_EPOCH_DAYS * DAY_US);
    Numeric::new(us, 6).expect("a few digits are within the limit")
}

impl Date {
    /// A field of the date; NULL (`None`) for one that an infinity does not have.
    ///
    /// # Errors
    /// 22023 for what is no field, 0A000 for one that a date does not have.
    pub fn extract(self, name: &str) -> Result<Option<Numeric>> {
        let unit = unit_of_day(name, "date")?;
        let finite = if self.is_finite() { i64::from(self.0) } else { 0 };
        let value = match unit {
            Unit::Epoch => (finite + UNIX_EPOCH_DAYS) * (DAY_US / SECOND_US),
            unit => of_day(unit, finite).ok_or_else(|| not_supported(name, "date"))?,
        };
        if self.is_finite() {
            return Ok(Some(whole(value)));
        }
        Ok(of_infinity(unit, self == Date::INFINITY))
    }
}

impl Time {
    /// A field of the time.
    ///
    /// # Errors
    /// 22023 for what is no field, 0A000 for one that a time does not have.
    pub fn extract(self, name: &str) -> Result<Numeric> {
        const TYPE: &str = "time without time zone";
        match unit(name, TYPE)? {
            Unit::Epoch => Ok(decimal(self.0, 6)),
            unit => of_time(unit, self.0).ok_or_else(|| not_supported(name, TYPE)),
        }
    }
}

impl TimeTz {
    /// A field of the time.
    ///
    /// # Errors
    /// 22023 for what is no field, 0A000 for one that a time does not have.
    pub fn extract(self, name: &str) -> Result<Numeric> {
        const TYPE: &str = "time with time zone";
        match unit(name, TYPE)? {
            Unit::Epoch => Ok(decimal(self.utc_us(), 6)),
            unit => of_time(unit, self.time.0)
                .or_else(|| of_zone(unit, -self.west_s))
                .ok_or_else(|| not_supported(name, TYPE)),
        }
    }
}

impl Timestamp {
    /// A field of the timestamp; NULL (`None`) for one that an infinity does not have.
    ///
    /// # Errors
    /// 22023 for what is no field, 0A000 for one that a timestamp does not have.
    pub fn extract(self, name: &str) -> Result<Option<Numeric>> {
        const TYPE: &str = "timestamp without time zone";
        let unit = unit_of_day(name, TYPE)?;
        let finite = if self.is_finite() { self.0 } else { 0 };
        let value = match unit {
            Unit::Epoch => epoch(finite),
            unit => match of_day_and_time(unit, finite) {
                Some(value) => value,
                // An infinity has no fields of a zone: they are NULL, and no error.
                None if !self.is_finite() && of_zone(unit, 0).is_some() => return Ok(None),
                None => return Err(not_supported(name, TYPE)),
            },
        };
        if self.is_finite() {
            return Ok(Some(value));
        }
        Ok(of_infinity(unit, self == Timestamp::INFINITY))
    }
}

impl TimestampTz {
    /// A field of what the calendar and the clocks of a zone show at the moment; NULL (`None`) for
    /// one that an infinity does not have.
    ///
    /// # Errors
    /// 22023 for what is no field, 0A000 for one that a timestamp does not have.
    pub fn extract(self, name: &str, zone: &TimeZone) -> Result<Option<Numeric>> {
        const TYPE: &str = "timestamp with time zone";
        let unit = unit_of_day(name, TYPE)?;
        let finite = if self.is_finite() { self } else { TimestampTz(0) };
        let east_s = zone.local(finite).east_s;
        let value = match unit {
            Unit::Epoch => epoch(finite.0),
            unit => of_zone(unit, east_s)
                .or_else(|| of_day_and_time(unit, finite.0 + i64::from(east_s) * SECOND_US))
                .ok_or_else(|| not_supported(name, TYPE))?,
        };
        if self.is_finite() {
            return Ok(Some(value));
        }
        Ok(of_infinity(unit, self == TimestampTz::INFINITY))
    }
}

impl Interval {
    /// A field of the interval; NULL (`None`) for one that an infinity does not have.
    ///
    /// # Errors
    /// 22023 for what is no field, 0A000 for one that an interval does not have.
    pub fn extract(self, name: &str) -> Result<Option<Numeric>> {
        const TYPE: &str = "interval";
        let unit = unit(name, TYPE)?;
        let (years, months) = (i64::from(self.months / 12), i64::from(self.months % 12));
        let value = match unit {
            Unit::Day => whole(self.days.into()),
            Unit::Month => whole(months),
            Unit::Quarter => whole(months / 3 + 1),
            Unit::Year => whole(years),
            Unit::Decade => whole(years / 10),
            Unit::Century => whole(years / 100),
            Unit::Millennium => whole(years / 1_000),
            // A year is 365 days and a quarter here, a month 30 days.
            Unit::Epoch => {
                let quarter_days = years * 1_461 + months * 120 + i64::from(self.days) * 4;
                let us = i128::from(quarter_days) * i128::from(DAY_US / 4) + i128::from(self.us);
                Numeric::new(us, 6).expect("a few digits are within the limit")
            }
            unit => of_time(unit, self.us).ok_or_else(|| not_supported(name, TYPE))?,
        };
        if self.is_finite() {
            return Ok(Some(value));
        }
        let grows = matches!(
            unit,
            Unit::Hour
                | Unit::Day
                | Unit::Year
                | Unit::Decade
                | Unit::Century
                | Unit::Millennium
                | Unit::Epoch
        );
        let infinity = if self.days > 0 { Numeric::INFINITY } else { Numeric::NEG_INFINITY };
        Ok(grows.then_some(infinity))
    }
}
