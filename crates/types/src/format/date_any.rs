//! A text read as the type that its template describes: a date, a time or a moment.
//!
//! ```text
//!   DD.MM.YYYY             date               HH24:MI          time
//!   DD.MM.YYYY HH24:MI     timestamp          HH24:MI TZH      timetz
//!   YYYY-MM-DD HH24:MI TZH timestamptz
//! ```
//!
//! This is what `.datetime(template)` of a JSON path does, by the rules of the SQL standard: text and
//! template end together.

use super::date_fields::{Reading, out_of_range};
use super::template::{DateField, DateTemplate, Node};
use crate::time::{
    DAY_US, Date, SECOND_US, Time, TimeTz, TimeZone, Timestamp, TimestampTz, timestamp_out_of_range,
};
use crate::{Coercion, Datum, Error, Modifier, Result, SqlState, Type};

impl DateTemplate {
    /// The value of a text, as the type that the template's fields make: a `date`, `time`, `timetz`,
    /// `timestamp` or `timestamptz`, and for the last one the seconds east of Greenwich that it was
    /// written with. Text and template must end together.
    ///
    /// # Errors
    /// As [`DateTemplate::parse_timestamptz`]; 22007 for a text that is too short or goes on, and
    /// for a template that has neither a date nor a time.
    pub fn parse_any(&self, text: &str, zone: &TimeZone) -> Result<(Datum, i32)> {
        let reading = self.parse_to(text, true)?;
        let fields = || {
            self.nodes.iter().filter_map(|node| match node {
                Node::Field(node) => Some(node.field),
                _ => None,
            })
        };
        let has_zone = fields().any(|field| {
            use DateField::{Offset, ZoneHour, ZoneMinute, ZoneName};
            matches!(field, Offset | ZoneHour | ZoneMinute | ZoneName)
        });
        let has_date = fields().any(|field| {
            use DateField::{Century, Era, EraDots, Julian, Quarter};
            field.calendar().is_some()
                || matches!(field, Century | Era | EraDots | Julian | Quarter)
        });
        let has_time = fields().any(|field| {
            use DateField::{Fraction, Hour12, Hour24, Meridiem, MeridiemDots, Microseconds};
            use DateField::{Milliseconds, Minute, Second, SecondOfDay};
            matches!(field, Fraction(_) | Hour12 | Hour24 | Meridiem | MeridiemDots | Microseconds)
                || matches!(field, Milliseconds | Minute | Second | SecondOfDay)
        });
        let local = |reading: &Reading| {
            let us = reading.day.days().checked_mul(DAY_US);
            us.and_then(|us| us.checked_add(reading.time_us)).ok_or_else(timestamp_out_of_range)
        };
        let wrong = |message: &str| Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message));
        let mut east_s = 0;
        let (value, ty): (Datum, Type) = match (has_date, has_time, has_zone) {
            (true, true, true) => {
                let local = local(&reading)?;
                let west_s =
                    reading.west_s.unwrap_or_else(|| -zone.east_at_local(Timestamp(local)));
                east_s = -west_s;
                let at = local
                    .checked_add(i64::from(west_s) * SECOND_US)
                    .and_then(TimestampTz::in_range)
                    .ok_or_else(timestamp_out_of_range)?;
                (at.into(), Type::TIMESTAMPTZ)
            }
            (true, true, false) => {
                let at =
                    Timestamp::in_range(local(&reading)?).ok_or_else(timestamp_out_of_range)?;
                (at.into(), Type::TIMESTAMP)
            }
            (true, false, true) => return wrong("datetime format is zoned but not timed"),
            (true, false, false) => {
                let date = Date::from_days(reading.day.days());
                (date.ok_or_else(|| out_of_range(text))?.into(), Type::DATE)
            }
            (false, true, true) => {
                let west_s = reading.west_s.unwrap_or(0);
                (TimeTz { time: Time(reading.time_us), west_s }.into(), Type::TIMETZ)
            }
            (false, true, false) => (Time(reading.time_us).into(), Type::TIME),
            (false, false, _) => return wrong("datetime format is not dated and not timed"),
        };
        let value = match reading.precision {
            Some(precision) => Modifier(precision.into()).apply(value, ty, Coercion::Assignment)?,
            None => value,
        };
        Ok((value, east_s))
    }
}
