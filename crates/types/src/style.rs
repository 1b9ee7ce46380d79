//! Style: the settings of a session that text forms depend on.

use crate::time::TimeZone;
use crate::{Error, Result, SqlState};

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

/// The error for a setting that does not take a value.
fn invalid_value(setting: &str, value: &str) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("invalid value for parameter \"{setting}\": \"{value}\""),
    )
}

impl Style {
    /// `DateStyle`, as `SHOW` gives it: `ISO, MDY`.
    pub fn date_style(&self) -> &'static str {
        match (self.date_format, self.date_order) {
            (DateFormat::Iso, DateOrder::Mdy) => "ISO, MDY",
            (DateFormat::Iso, DateOrder::Dmy) => "ISO, DMY",
            (DateFormat::Iso, DateOrder::Ymd) => "ISO, YMD",
            (DateFormat::Sql, DateOrder::Mdy) => "SQL, MDY",
            (DateFormat::Sql, DateOrder::Dmy) => "SQL, DMY",
            (DateFormat::Sql, DateOrder::Ymd) => "SQL, YMD",
            (DateFormat::Postgres, DateOrder::Mdy) => "Postgres, MDY",
            (DateFormat::Postgres, DateOrder::Dmy) => "Postgres, DMY",
            (DateFormat::Postgres, DateOrder::Ymd) => "Postgres, YMD",
            (DateFormat::German, DateOrder::Mdy) => "German, MDY",
            (DateFormat::German, DateOrder::Dmy) => "German, DMY",
            (DateFormat::German, DateOrder::Ymd) => "German, YMD",
        }
    }

    /// Sets `DateStyle` from a list of words: a format, an order, or both.
    ///
    /// # Errors
    /// 22023 for other words, and for two that contradict each other. Nothing is changed then.
    pub fn set_date_style(&mut self, value: &str) -> Result<()> {
        let (mut format, mut order) = (None, None);
        for word in value.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let small = word.to_ascii_lowercase();
            let (new_format, new_order) = match small.as_str() {
                "iso" => (Some(DateFormat::Iso), None),
                "sql" => (Some(DateFormat::Sql), None),
                "german" => (Some(DateFormat::German), None),
                "ymd" => (None, Some(DateOrder::Ymd)),
                "dmy" => (None, Some(DateOrder::Dmy)),
                "mdy" | "us" => (None, Some(DateOrder::Mdy)),
                "default" => {
                    let default = Style::default();
                    (Some(default.date_format), Some(default.date_order))
                }
                word if word.starts_with("postgres") => (Some(DateFormat::Postgres), None),
                word if word.starts_with("euro") => (None, Some(DateOrder::Dmy)),
                word if word.starts_with("noneuro") => (None, Some(DateOrder::Mdy)),
                _ => {
                    return Err(invalid_value("DateStyle", value)
                        .with_detail(format!("Unrecognized key word: \"{word}\".")));
                }
            };
            let is_conflict = new_format.is_some() && format.is_some() && format != new_format
                || new_order.is_some() && order.is_some() && order != new_order;
            if is_conflict {
                return Err(invalid_value("DateStyle", value)
                    .with_detail("Conflicting \"datestyle\" specifications."));
            }
            (format, order) = (new_format.or(format), new_order.or(order));
        }
        if order.is_none() && format == Some(DateFormat::German) {
            order = Some(DateOrder::Dmy);
        }
        self.date_format = format.unwrap_or(self.date_format);
        self.date_order = order.unwrap_or(self.date_order);
        Ok(())
    }

    /// Sets `TimeZone` from the name of a zone, or from hours east of Greenwich.
    ///
    /// # Errors
    /// 22023 where there is no such zone. Nothing is changed then.
    pub fn set_time_zone(&mut self, value: &str) -> Result<()> {
        let zone = match value.trim().parse::<f64>() {
            Ok(hours) if hours.is_finite() => {
                Some(TimeZone::fixed((hours * 3_600.0).round() as i32))
            }
            _ => TimeZone::find(value),
        };
        self.time_zone = zone.ok_or_else(|| invalid_value("TimeZone", value))?;
        Ok(())
    }
}

impl IntervalStyle {
    const NAMES: [(&'static str, IntervalStyle); 4] = [
        ("postgres", IntervalStyle::Postgres),
        ("postgres_verbose", IntervalStyle::PostgresVerbose),
        ("sql_standard", IntervalStyle::SqlStandard),
        ("iso_8601", IntervalStyle::Iso8601),
    ];

    /// The style as the setting `IntervalStyle` names it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// The style with this name.
    ///
    /// # Errors
    /// 22023 where there is none.
    pub fn parse(value: &str) -> Result<Self> {
        let known = Self::NAMES.iter().find(|(name, _)| value.eq_ignore_ascii_case(name));
        known.map(|(_, style)| *style).ok_or_else(|| {
            let hint = "Available values: postgres, postgres_verbose, sql_standard, iso_8601.";
            invalid_value("IntervalStyle", value).with_hint(hint)
        })
    }
}

impl ByteaOutput {
    /// The form as the setting `bytea_output` names it.
    pub fn name(self) -> &'static str {
        match self {
            ByteaOutput::Hex => "hex",
            ByteaOutput::Escape => "escape",
        }
    }

    /// The form with this name.
    ///
    /// # Errors
    /// 22023 where there is none.
    pub fn parse(value: &str) -> Result<Self> {
        if value.eq_ignore_ascii_case("hex") {
            Ok(ByteaOutput::Hex)
        } else if value.eq_ignore_ascii_case("escape") {
            Ok(ByteaOutput::Escape)
        } else {
            Err(invalid_value("bytea_output", value).with_hint("Available values: escape, hex."))
        }
    }
}
