//! `date_trunc` and `date_bin`: the start of the hour, day, year or bin that a value lies in.
//!
//! ```text
//!   date_trunc('week', 2024-02-08 12:34)                      2024-02-05 00:00
//!   date_bin('15 minutes', 2024-02-08 12:34, 2024-01-01)      2024-02-08 12:30
//! ```

use super::calendar::iso_weekday;
use super::extract::{not_recognized, not_supported};
use super::word::interval_unit;
use super::{
    Civil, DAY_US, HOUR_US, Interval, MINUTE_US, SECOND_US, TimeZone, Timestamp, TimestampTz, Unit,
    interval_out_of_range, timestamp_out_of_range,
};
use crate::{Error, Result, SqlState};

/// The unit that a name asks for.
fn unit(name: &str, type_name: &str) -> Result<Unit> {
    interval_unit(&name.to_lowercase()).ok_or_else(|| not_recognized(name, type_name))
}

/// The microseconds of a unit of a clock; `None` for larger ones.
fn clock_unit(unit: Unit) -> Option<i64> {
    Some(match unit {
        Unit::Microsecond => 1,
        Unit::Millisecond => 1_000,
        Unit::Second => SECOND_US,
        Unit::Minute => MINUTE_US,
        Unit::Hour => HOUR_US,
        _ => return None,
    })
}

/// The first day of the period that a day lies in; `None` for a unit without one.
fn first_day(unit: Unit, day: i64) -> Option<i64> {
    let Civil { year, month, .. } = Civil::from_days(day);
    // Centuries and millennia start with their year 1; before the year 1 they are counted back.
    let first_year = |years: i64| {
        if year > 0 {
            (year + years - 1) / years * years - (years - 1)
        } else {
            -((years - year) / years * years) + 1
        }
    };
    let (year, month) = match unit {
        Unit::Day => return Some(day),
        Unit::Week => return Some(day - (iso_weekday(day) - 1)),
        Unit::Month => (year, month),
        Unit::Quarter => (year, (month - 1) / 3 * 3 + 1),
        Unit::Year => (year, 1),
        Unit::Decade => (year.div_euclid(10) * 10, 1),
        Unit::Century => (first_year(100), 1),
        Unit::Millennium => (first_year(1_000), 1),
        _ => return None,
    };
    Some(Civil { year, month, day: 1 }.days())
}

impl Timestamp {
    /// Returns the start of the unit that the timestamp lies in; an infinity unchanged, whatever the unit.
    ///
    /// # Errors
    /// 22023 for what is no unit, 0A000 for one that there is no start of, 22008 out of range.
    pub fn trunc(self, name: &str) -> Result<Self> {
        const TYPE: &str = "timestamp without time zone";
        if !self.is_finite() {
            return Ok(self);
        }
        let unit = unit(name, TYPE)?;
        self.trunc_to(unit).unwrap_or_else(|| Err(not_supported(name, TYPE)))
    }

    /// The start of the unit; `None` for one that there is no start of.
    fn trunc_to(self, unit: Unit) -> Option<Result<Self>> {
        if let Some(us) = clock_unit(unit) {
            return Some(Ok(Timestamp(self.0 - self.0.rem_euclid(us))));
        }
        let day = first_day(unit, self.day())?;
        let us = day.checked_mul(DAY_US);
        Some(us.and_then(Timestamp::in_range).ok_or_else(timestamp_out_of_range))
    }

    /// The start of the bin that the timestamp lies in; bins are `stride` long, and one starts at
    /// `origin`.
    ///
    /// # Errors
    /// 0A000 for a stride with months, 22008 for one that is not positive and finite, for an origin
    /// that is infinite, and out of range.
    pub fn bin(self, stride: Interval, origin: Self) -> Result<Self> {
        let bad = |message: &str| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message);
        if !self.is_finite() {
            return Ok(self);
        }
        if !origin.is_finite() {
            return Err(bad("origin out of range"));
        }
        if !stride.is_finite() {
            return Err(bad("timestamps cannot be binned into infinite intervals"));
        }
        if stride.months != 0 {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "timestamps cannot be binned into intervals containing months or years",
            ));
        }
        let stride_us = i64::from(stride.days)
            .checked_mul(DAY_US)
            .and_then(|us| us.checked_add(stride.us))
            .ok_or_else(interval_out_of_range)?;
        if stride_us <= 0 {
            return Err(bad("stride must be greater than zero"));
        }
        let distance_us = self.0.checked_sub(origin.0).ok_or_else(interval_out_of_range)?;
        let start = self.0.checked_sub(distance_us.rem_euclid(stride_us));
        start.and_then(Self::in_range).ok_or_else(timestamp_out_of_range)
    }
}

impl TimestampTz {
    /// The start of the unit that the moment lies in, as the calendar and the clocks of a zone have
    /// it; an infinity is its own, whatever the unit.
    ///
    /// # Errors
    /// 22023 for what is no unit, 0A000 for one that there is no start of, 22008 out of range.
    pub fn trunc(self, name: &str, zone: &TimeZone) -> Result<Self> {
        const TYPE: &str = "timestamp with time zone";
        if !self.is_finite() {
            return Ok(self);
        }
        let unit = unit(name, TYPE)?;
        let local = self.to_local(zone).ok_or_else(timestamp_out_of_range)?;
        let start = local.trunc_to(unit).unwrap_or_else(|| Err(not_supported(name, TYPE)))?;
        let start = if clock_unit(unit).is_some() {
            // The same hour has the same offset, also where clocks show it twice.
            TimestampTz::in_range(self.0 - (local.0 - start.0))
        } else {
            start.in_zone(zone)
        };
        start.ok_or_else(timestamp_out_of_range)
    }

    /// As [`Timestamp::bin`].
    ///
    /// # Errors
    /// As [`Timestamp::bin`].
    pub fn bin(self, stride: Interval, origin: Self) -> Result<Self> {
        Timestamp(self.0).bin(stride, Timestamp(origin.0)).map(|at| TimestampTz(at.0))
    }
}

impl Interval {
    /// The interval without what is smaller than a unit; an infinity as it is, whatever the unit.
    ///
    /// # Errors
    /// 22023 for what is no unit, 0A000 for one that intervals have no whole number of.
    pub fn trunc(self, name: &str) -> Result<Self> {
        const TYPE: &str = "interval";
        if !self.is_finite() {
            return Ok(self);
        }
        let unit = unit(name, TYPE)?;
        let cut_months =
            |months: i32| Interval { months: self.months / months * months, days: 0, us: 0 };
        Ok(match unit {
            Unit::Day => Interval { us: 0, ..self },
            Unit::Month => cut_months(1),
            Unit::Quarter => cut_months(3),
            Unit::Year => cut_months(12),
            Unit::Decade => cut_months(120),
            Unit::Century => cut_months(1_200),
            Unit::Millennium => cut_months(12_000),
            Unit::Week => {
                return Err(
                    not_supported(name, TYPE).with_detail("Months usually have fractional weeks.")
                );
            }
            unit => {
                let us = clock_unit(unit).ok_or_else(|| not_supported(name, TYPE))?;
                Interval { us: self.us / us * us, ..self }
            }
        })
    }
}
