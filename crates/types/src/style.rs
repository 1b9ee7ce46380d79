//! Style: the settings of a session that text forms depend on.

use crate::time::TimeZone;

/// How values are written, and how dates that can be read in several ways are read.
#[derive(Clone, Debug)]
pub struct Style {
    /// The first half of `DateStyle`: how dates are written.
    pub date_format: DateFormat,
    /// The second half of `DateStyle`: which number of a date is the day.
    pub date_order: DateOrder,
    /// `IntervalStyle`.
    pub interval_style: IntervalStyle,
    /// `TimeZone`: where the session is.
    pub time_zone: TimeZone,
    /// `extra_float_digits`, -15 to 3; above 0 floats are written with the fewest digits that tell
    /// them apart from all others.
    pub extra_float_digits: i32,
    /// `bytea_output`.
    pub bytea_output: ByteaOutput,
}

impl Default for Style {
    /// PostgreSQL's settings where nothing is configured: ISO dates with the month first, UTC.
    fn default() -> Self {
        Self {
            date_format: DateFormat::Iso,
            date_order: DateOrder::Mdy,
            interval_style: IntervalStyle::Postgres,
            time_zone: TimeZone::utc(),
            extra_float_digits: 1,
            bytea_output: ByteaOutput::Hex,
        }
    }
}

/// How dates are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateFormat {
    /// `1997-12-17 07:37:16-08`.
    Iso,
    /// `12/17/1997 07:37:16.00 PST`.
    Sql,
    /// `Wed Dec 17 07:37:16 1997 PST`.
    Postgres,
    /// `17.12.1997 07:37:16.00 PST`.
    German,
}

/// The order of day, month and year.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateOrder {
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    Mdy,
    /// Year, month, day.
    Ymd,
}

/// How intervals are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`.
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`.
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`.
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`.
    Iso8601,
}

/// How `bytea` is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteaOutput {
    /// `\x6162`.
    Hex,
    /// `ab`, with escapes for what is not ASCII.
    Escape,
}
