//! Dates and times in paths: their form in a path, and the trait that computes with them.
//!
//! Calendars, formats and time zones live in layers above this crate. The caller that runs a path
//! hands in a [`Datetimes`]; [`NoDatetimes`] refuses.

use std::cmp::Ordering;

use super::error::PathError;

/// The types of dates and times that a path knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatetimeKind {
    /// `date`
    Date,
    /// `time`
    Time,
    /// `timetz`
    TimeTz,
    /// `timestamp`
    Timestamp,
    /// `timestamptz`
    TimestampTz,
}

impl DatetimeKind {
    /// The name that `.type()` gives.
    pub fn name(self) -> &'static str {
        match self {
            DatetimeKind::Date => "date",
            DatetimeKind::Time => "time without time zone",
            DatetimeKind::TimeTz => "time with time zone",
            DatetimeKind::Timestamp => "timestamp without time zone",
            DatetimeKind::TimestampTz => "timestamp with time zone",
        }
    }
}

/// A date or a time. The path only hands it on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datetime {
    /// The kind.
    pub kind: DatetimeKind,
    /// Its value, in the unit of its reader.
    pub value: i64,
    /// Its offset from UTC, in the unit of its reader; 0 for kinds without.
    pub zone: i32,
    /// Its text in ISO 8601, which stands for it in answers.
    pub text: String,
}

/// A method of a path that reads a date or a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatetimeMethod<'p> {
    /// `.datetime()`, `.datetime(template)`
    Datetime(Option<&'p str>),
    /// `.date()`
    Date,
    /// `.time()`, `.time(precision)`
    Time(Option<i32>),
    /// `.time_tz()`, `.time_tz(precision)`
    TimeTz(Option<i32>),
    /// `.timestamp()`, `.timestamp(precision)`
    Timestamp(Option<i32>),
    /// `.timestamp_tz()`, `.timestamp_tz(precision)`
    TimestampTz(Option<i32>),
}

/// The functions for dates and times.
pub trait Datetimes {
    /// Reads `text` as `method` wants it.
    ///
    /// # Errors
    /// [`PathError::Datetime`] where it is no date or time of the kind.
    fn read(&self, text: &str, method: DatetimeMethod<'_>) -> Result<Datetime, PathError>;

    /// Orders two of them; none if their kinds do not compare.
    ///
    /// # Errors
    /// [`PathError::Datetime`] where a time zone would be needed and must not be used.
    fn compare(&self, left: &Datetime, right: &Datetime) -> Result<Option<Ordering>, PathError>;
}

/// Knows no dates and no times: every method is refused.
pub struct NoDatetimes;

impl Datetimes for NoDatetimes {
    fn read(&self, _: &str, _: DatetimeMethod<'_>) -> Result<Datetime, PathError> {
        Err(PathError::Unsupported("jsonpath datetime methods are not supported here"))
    }

    fn compare(&self, _: &Datetime, _: &Datetime) -> Result<Option<Ordering>, PathError> {
        Ok(None)
    }
}
