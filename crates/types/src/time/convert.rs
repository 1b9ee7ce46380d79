//! From one type of time to another, and from one zone to another.
//!
//! ```text
//!              in_zone, at_zone                     date, time
//!   Timestamp ───────────────────> TimestampTz ───────────────────> Date, Time, TimeTz
//!             <───────────────────
//!              to_local, at_zone
//! ```
//!
//! A value that loses a zone or gains one takes the zone as an argument. An infinity stays one
//! where the other type has one; it has no time of day.

use std::cmp::Ordering;

use super::{
    DAY_US, Date, Interval, SECOND_US, Time, TimeTz, TimeZone, Timestamp, TimestampTz, ZoneName,
    timestamp_out_of_range,
};
use crate::{Error, Result, SqlState, Style};

impl Date {
    /// The first moment of the day.
    ///
    /// # Errors
    /// 22008 out of range of timestamps.
    pub fn to_timestamp(self) -> Result<Timestamp> {
        match self {
            Date::INFINITY => Ok(Timestamp::INFINITY),
            Date::NEG_INFINITY => Ok(Timestamp::NEG_INFINITY),
            Date(days) => {
                Timestamp::in_range(i64::from(days).saturating_mul(DAY_US)).ok_or_else(|| {
                    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")
                })
            }
        }
    }

    /// The first moment of the day in a zone.
    ///
    /// # Errors
    /// 22008 out of range of timestamps.
    pub fn to_timestamptz(self, zone: &TimeZone) -> Result<TimestampTz> {
        self.to_timestamp()?.in_zone(zone).ok_or_else(|| {
            Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")
        })
    }

    /// The order of a date and a timestamp, also where the date is out of range of timestamps.
    pub fn cmp_timestamp(self, other: Timestamp) -> Ordering {
        self.wide_us().cmp(&match other {
            Timestamp::INFINITY => i128::MAX,
            Timestamp::NEG_INFINITY => i128::MIN,
            Timestamp(us) => i128::from(us),
        })
    }

    /// The order of a date in a zone and a moment, also where the date is out of range of
    /// timestamps.
    pub fn cmp_timestamptz(self, other: TimestampTz, zone: &TimeZone) -> Ordering {
        match self.to_timestamptz(zone) {
            Ok(at) => at.cmp(&other),
            Err(_) => self.cmp_timestamp(Timestamp(other.0)),
        }
    }

    /// Microseconds since 2000-01-01, the infinities outside of all others.
    fn wide_us(self) -> i128 {
        match self {
            Date::INFINITY => i128::MAX,
            Date::NEG_INFINITY => i128::MIN,
            Date(days) => i128::from(days) * i128::from(DAY_US),
        }
    }
}

impl Timestamp {
    /// The day.
    pub fn date(self) -> Date {
        match self {
            Timestamp::INFINITY => Date::INFINITY,
            Timestamp::NEG_INFINITY => Date::NEG_INFINITY,
            at => Date(at.day() as i32),
        }
    }

    /// The time of day; an infinity has none.
    pub fn time(self) -> Option<Time> {
        self.is_finite().then(|| Time(self.time_us()))
    }

    /// The moment when the clocks of a zone show this; `None` out of range.
    pub fn in_zone(self, zone: &TimeZone) -> Option<TimestampTz> {
        self.shifted_from(|local| zone.east_at_local(local))
    }

    /// The moment when the clocks of a zone show this.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn at_zone(self, zone: &ZoneName) -> Result<TimestampTz> {
        self.shifted_from(|local| zone.east_at_local(local)).ok_or_else(timestamp_out_of_range)
    }

    fn shifted_from(self, east_s: impl Fn(Timestamp) -> i32) -> Option<TimestampTz> {
        if !self.is_finite() {
            return Some(TimestampTz(self.0));
        }
        let us = self.0.checked_sub(i64::from(east_s(self)) * SECOND_US)?;
        TimestampTz::in_range(us)
    }
}

impl TimestampTz {
    /// The time on the clocks of a zone at the moment; `None` out of range.
    pub fn to_local(self, zone: &TimeZone) -> Option<Timestamp> {
        self.shifted_to(|at| zone.local(at).east_s)
    }

    /// The time on the clocks of a zone at the moment.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn at_zone(self, zone: &ZoneName) -> Result<Timestamp> {
        self.shifted_to(|at| zone.east_at(at)).ok_or_else(timestamp_out_of_range)
    }

    fn shifted_to(self, east_s: impl Fn(TimestampTz) -> i32) -> Option<Timestamp> {
        if !self.is_finite() {
            return Some(Timestamp(self.0));
        }
        let us = self.0.checked_add(i64::from(east_s(self)) * SECOND_US)?;
        Timestamp::in_range(us)
    }

    /// The day in a zone.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn date(self, zone: &TimeZone) -> Result<Date> {
        Ok(self.to_local(zone).ok_or_else(timestamp_out_of_range)?.date())
    }

    /// The time of day in a zone; an infinity has none.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn time(self, zone: &TimeZone) -> Result<Option<Time>> {
        Ok(self.to_local(zone).ok_or_else(timestamp_out_of_range)?.time())
    }

    /// The time of day in a zone, and how far it is from Greenwich; an infinity has none.
    ///
    /// # Errors
    /// 22008 out of range.
    pub fn timetz(self, zone: &TimeZone) -> Result<Option<TimeTz>> {
        let west_s = -zone.local(self).east_s;
        Ok(self.time(zone)?.map(|time| TimeTz { time, west_s }))
    }

    /// The moment so many seconds after 1970-01-01 00:00 UTC, to the nearest microsecond.
    ///
    /// # Errors
    /// 22008 out of range and for NaN.
    pub fn from_unix(seconds: f64) -> Result<Self> {
        if seconds.is_nan() {
            return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN"));
        }
        if seconds.is_infinite() {
            return Ok(if seconds > 0.0 { Self::INFINITY } else { Self::NEG_INFINITY });
        }
        let out_of_range = || {
            Error::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("timestamp out of range: \"{}\"", crate::text::general(seconds)),
            )
        };
        // Taken together with the shift of the epoch before rounding, as the sum is more exact.
        let epoch_s = (super::calendar::UNIX_EPOCH_DAYS * 86_400) as f64;
        let us = ((seconds - epoch_s) * SECOND_US as f64).round_ties_even();
        if !(-9.3e18..9.3e18).contains(&us) {
            return Err(out_of_range());
        }
        Self::in_range(us as i64).ok_or_else(out_of_range)
    }
}

impl Time {
    /// The time in a zone today.
    pub fn in_zone(self, zone: &TimeZone, now: TimestampTz) -> TimeTz {
        let today = now.to_local(zone).map_or(0, Timestamp::day);
        let local = Timestamp(today.saturating_mul(DAY_US).saturating_add(self.0));
        TimeTz { time: self, west_s: -zone.east_at_local(local) }
    }

    /// The time since midnight.
    pub fn to_interval(self) -> Interval {
        Interval { months: 0, days: 0, us: self.0 }
    }
}

impl TimeTz {
    /// The time that clocks elsewhere show at the same moment, where they are set as they are `now`.
    #[must_use]
    pub fn at_zone(self, zone: &ZoneName, now: TimestampTz) -> Self {
        self.moved_to(-zone.east_at(now))
    }
}

impl Interval {
    /// The time of day of the interval, without its days and months.
    ///
    /// # Errors
    /// 22008 for an infinite interval.
    pub fn to_time(self) -> Result<Time> {
        if !self.is_finite() {
            return Err(Error::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                "cannot convert infinite interval to time",
            ));
        }
        Ok(Time(self.us.rem_euclid(DAY_US)))
    }
}

impl ZoneName {
    /// The zone that is an interval east of Greenwich.
    ///
    /// # Errors
    /// 22023 for an interval with days or months, and for an infinite one.
    pub fn from_interval(interval: Interval, style: &Style) -> Result<Self> {
        let bad = |what: &str| {
            let mut text = String::new();
            interval.write(style, &mut text);
            Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("interval time zone \"{text}\" must {what}"),
            )
        };
        if !interval.is_finite() {
            return Err(bad("be finite"));
        }
        if interval.months != 0 || interval.days != 0 {
            return Err(bad("not include months or days"));
        }
        Ok(ZoneName::Fixed((interval.us / SECOND_US) as i32))
    }
}
