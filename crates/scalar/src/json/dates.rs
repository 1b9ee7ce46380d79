//! Dates and times in paths: `.datetime()`, `.date()`, `.timestamp_tz(3)` and comparisons.
//!
//! ```text
//!   "2024-02-29"              date           value: days
//!   "10:11:12"                time                  microseconds of the day
//!   "10:11:12+01"             timetz                the same, as clocks there show it; its offset
//!   "2024-02-29 10:11:12"     timestamp             microseconds
//!   "2024-02-29T10:11:12+01"  timestamptz           microseconds; the offset it was written with
//! ```
//!
//! Without a template a text must have one of the forms of ISO 8601 above. A step that needs the
//! time zone of the session is refused unless the function that runs the path allows it.

use std::cmp::Ordering;

use ::json::jsonb::pathlang::{Datetime, DatetimeKind, DatetimeMethod, Datetimes, PathError};
use types::format::DateTemplate;
use types::time::{Date, Time, TimeTz, Timestamp, TimestampTz};
use types::{Coercion, Context, Datum, Error, Modifier, SqlState, Style, Type};

/// The dates and times of a path, with the context to read them.
pub(crate) struct Calendar<'a> {
    /// The session: its time zone.
    pub context: &'a Context<'a>,
    /// True if the time zone may be used.
    pub use_zone: bool,
}

/// Dates and times of paths outside of a session: everything but the session's time zone. A step that
/// needs the zone is refused, as `jsonb_path_query` refuses it.
#[derive(Default)]
pub struct Dates(Style);

impl Dates {
    fn with<T>(&self, run: impl FnOnce(&Calendar<'_>) -> T) -> T {
        run(&Calendar { context: &Context::new(&self.0), use_zone: false })
    }
}

impl Datetimes for Dates {
    fn read(&self, text: &str, method: DatetimeMethod<'_>) -> Result<Datetime, PathError> {
        self.with(|calendar| calendar.read(text, method))
    }

    fn compare(&self, left: &Datetime, right: &Datetime) -> Result<Option<Ordering>, PathError> {
        self.with(|calendar| calendar.compare(left, right))
    }
}

/// A moment, and the offset that it is shown with.
#[derive(Clone, Copy)]
enum Value {
    Date(Date),
    Time(Time),
    TimeTz(TimeTz),
    Timestamp(Timestamp),
    TimestampTz(TimestampTz, i32),
}

impl Value {
    fn kind(self) -> DatetimeKind {
        match self {
            Value::Date(_) => DatetimeKind::Date,
            Value::Time(_) => DatetimeKind::Time,
            Value::TimeTz(_) => DatetimeKind::TimeTz,
            Value::Timestamp(_) => DatetimeKind::Timestamp,
            Value::TimestampTz(..) => DatetimeKind::TimestampTz,
        }
    }

    /// The name of the type in messages.
    fn name(self) -> &'static str {
        name(self.kind())
    }

    fn into_item(self) -> Datetime {
        let mut text = String::new();
        let (value, zone) = match self {
            Value::Date(date) => {
                date.write_iso(&mut text);
                (i64::from(date.0), 0)
            }
            Value::Time(time) => {
                time.write_iso(&mut text);
                (time.0, 0)
            }
            Value::TimeTz(time) => {
                time.write_iso(&mut text);
                (time.time.0, time.west_s)
            }
            Value::Timestamp(at) => {
                at.write_iso(&mut text);
                (at.0, 0)
            }
            Value::TimestampTz(at, east_s) => {
                at.write_iso(east_s, &mut text);
                (at.0, east_s)
            }
        };
        Datetime { kind: self.kind(), value, zone, text }
    }

    fn of_item(item: &Datetime) -> Self {
        match item.kind {
            DatetimeKind::Date => Value::Date(Date(item.value as i32)),
            DatetimeKind::Time => Value::Time(Time(item.value)),
            DatetimeKind::TimeTz => {
                Value::TimeTz(TimeTz { time: Time(item.value), west_s: item.zone })
            }
            DatetimeKind::Timestamp => Value::Timestamp(Timestamp(item.value)),
            DatetimeKind::TimestampTz => Value::TimestampTz(TimestampTz(item.value), item.zone),
        }
    }

    /// The value with so many digits of its seconds' fraction.
    fn round(self, precision: Option<i32>) -> Self {
        let Some(precision) = precision else { return self };
        let modifier = Modifier(precision.clamp(0, 6));
        let (value, ty): (Datum, Type) = match self {
            Value::Date(_) => return self,
            Value::Time(time) => (time.into(), Type::TIME),
            Value::TimeTz(time) => (time.into(), Type::TIMETZ),
            Value::Timestamp(at) => (at.into(), Type::TIMESTAMP),
            Value::TimestampTz(at, _) => (at.into(), Type::TIMESTAMPTZ),
        };
        match (modifier.apply(value, ty, Coercion::Explicit), self) {
            (Ok(Datum::Time(time)), _) => Value::Time(time),
            (Ok(Datum::TimeTz(time)), _) => Value::TimeTz(time),
            (Ok(Datum::Timestamp(at)), _) => Value::Timestamp(at),
            (Ok(Datum::TimestampTz(at)), Value::TimestampTz(_, east_s)) => {
                Value::TimestampTz(at, east_s)
            }
            _ => self,
        }
    }
}

fn name(kind: DatetimeKind) -> &'static str {
    match kind {
        DatetimeKind::Date => "date",
        DatetimeKind::Time => "time",
        DatetimeKind::TimeTz => "timetz",
        DatetimeKind::Timestamp => "timestamp",
        DatetimeKind::TimestampTz => "timestamptz",
    }
}

/// An error of the layer below, in the words of a path.
fn soft(error: &Error) -> PathError {
    PathError::Datetime {
        sqlstate: match error.state() {
            SqlState::DATETIME_FIELD_OVERFLOW => "22008",
            SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE => "22009",
            SqlState::INVALID_PARAMETER_VALUE => "22023",
            SqlState::FEATURE_NOT_SUPPORTED => "0A000",
            _ => "22007",
        },
        message: error.message().to_owned(),
        hint: None,
        hard: false,
    }
}

fn unrecognized(what: &str, text: &str) -> PathError {
    PathError::Datetime {
        sqlstate: "22031",
        message: format!("{what} format is not recognized: \"{text}\""),
        hint: (what == "datetime")
            .then_some("Use a datetime template argument to specify the input data format."),
        hard: false,
    }
}

impl Calendar<'_> {
    /// Refuses what would need the time zone of the session.
    fn needs_zone(&self, from: Value, to: DatetimeKind) -> Result<(), PathError> {
        if self.use_zone {
            return Ok(());
        }
        Err(PathError::Datetime {
            sqlstate: "0A000",
            message: format!(
                "cannot convert value from {} to {} without time zone usage",
                from.name(),
                name(to)
            ),
            hint: Some("Use *_tz() function for time zone support."),
            hard: true,
        })
    }

    /// The value as one of another kind; `None` if it has no part that the kind needs.
    fn cast(&self, value: Value, to: DatetimeKind) -> Result<Option<Value>, PathError> {
        let zone = &self.context.style.time_zone;
        let shown = |at: TimestampTz| Value::TimestampTz(at, zone.local(at).east_s);
        let failed = |error: Error| soft(&error);
        if value.kind() == to {
            return Ok(Some(value));
        }
        match (value, to) {
            (Value::TimestampTz(..), DatetimeKind::TimeTz) => {}
            (Value::TimestampTz(..) | Value::TimeTz(_), _)
            | (_, DatetimeKind::TimestampTz | DatetimeKind::TimeTz) => {
                let is_known = matches!(
                    (value, to),
                    (Value::TimestampTz(..), _)
                        | (Value::TimeTz(_), DatetimeKind::Time)
                        | (Value::Time(_), DatetimeKind::TimeTz)
                        | (Value::Date(_) | Value::Timestamp(_), DatetimeKind::TimestampTz)
                );
                if !is_known {
                    return Ok(None);
                }
                self.needs_zone(value, to)?;
            }
            _ => {}
        }
        Ok(match (value, to) {
            (Value::Date(date), DatetimeKind::Timestamp) => {
                Some(Value::Timestamp(date.to_timestamp().map_err(failed)?))
            }
            (Value::Date(date), DatetimeKind::TimestampTz) => {
                Some(shown(date.to_timestamptz(zone).map_err(failed)?))
            }
            (Value::Time(time), DatetimeKind::TimeTz) => {
                Some(Value::TimeTz(time.in_zone(zone, self.context.now)))
            }
            (Value::TimeTz(time), DatetimeKind::Time) => Some(Value::Time(time.time)),
            (Value::Timestamp(at), DatetimeKind::Date) => Some(Value::Date(at.date())),
            (Value::Timestamp(at), DatetimeKind::Time) => at.time().map(Value::Time),
            (Value::Timestamp(at), DatetimeKind::TimestampTz) => at.in_zone(zone).map(shown),
            (Value::TimestampTz(at, _), DatetimeKind::Date) => {
                Some(Value::Date(at.date(zone).map_err(failed)?))
            }
            (Value::TimestampTz(at, _), DatetimeKind::Time) => {
                at.time(zone).map_err(failed)?.map(Value::Time)
            }
            (Value::TimestampTz(at, _), DatetimeKind::TimeTz) => {
                at.timetz(zone).map_err(failed)?.map(Value::TimeTz)
            }
            (Value::TimestampTz(at, _), DatetimeKind::Timestamp) => {
                at.to_local(zone).map(Value::Timestamp)
            }
            _ => None,
        })
    }
}

impl Datetimes for Calendar<'_> {
    fn read(&self, text: &str, method: DatetimeMethod<'_>) -> Result<Datetime, PathError> {
        let (what, to, precision) = match method {
            DatetimeMethod::Datetime(Some(template)) => {
                let parsed = DateTemplate::new(template)
                    .parse_any(text, &self.context.style.time_zone)
                    .map_err(|error| soft(&error))?;
                return Ok(value_of(parsed).into_item());
            }
            DatetimeMethod::Datetime(None) => ("datetime", None, None),
            DatetimeMethod::Date => ("date", Some(DatetimeKind::Date), None),
            DatetimeMethod::Time(precision) => ("time", Some(DatetimeKind::Time), precision),
            DatetimeMethod::TimeTz(precision) => ("time_tz", Some(DatetimeKind::TimeTz), precision),
            DatetimeMethod::Timestamp(precision) => {
                ("timestamp", Some(DatetimeKind::Timestamp), precision)
            }
            DatetimeMethod::TimestampTz(precision) => {
                ("timestamp_tz", Some(DatetimeKind::TimestampTz), precision)
            }
        };
        let value = iso(text).ok_or_else(|| unrecognized(what, text))?;
        let value = match to {
            None => value,
            Some(to) => self.cast(value, to)?.ok_or_else(|| unrecognized(what, text))?,
        };
        Ok(value.round(precision).into_item())
    }

    fn compare(&self, left: &Datetime, right: &Datetime) -> Result<Option<Ordering>, PathError> {
        let (left, right) = (Value::of_item(left), Value::of_item(right));
        let to = common(left.kind(), right.kind());
        // A time of day is on no day.
        let is_time = |value: Value| matches!(value, Value::Time(_) | Value::TimeTz(_));
        if is_time(left) != is_time(right) {
            return Ok(None);
        }
        let (Some(left), Some(right)) = (self.cast(left, to)?, self.cast(right, to)?) else {
            return Ok(None);
        };
        Ok(match (left, right) {
            (Value::Date(a), Value::Date(b)) => Some(a.cmp(&b)),
            (Value::Time(a), Value::Time(b)) => Some(a.cmp(&b)),
            (Value::TimeTz(a), Value::TimeTz(b)) => Some(a.cmp(&b)),
            (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(&b)),
            (Value::TimestampTz(a, _), Value::TimestampTz(b, _)) => Some(a.cmp(&b)),
            _ => None,
        })
    }
}

/// The kind as which two kinds are compared: the one with more parts, or with a zone.
fn common(a: DatetimeKind, b: DatetimeKind) -> DatetimeKind {
    let rank = |kind| match kind {
        DatetimeKind::Date => 0,
        DatetimeKind::Time => 1,
        DatetimeKind::TimeTz => 2,
        DatetimeKind::Timestamp => 3,
        DatetimeKind::TimestampTz => 4,
    };
    if rank(a) >= rank(b) { a } else { b }
}

fn value_of((datum, east_s): (Datum, i32)) -> Value {
    match datum {
        Datum::Date(date) => Value::Date(date),
        Datum::Time(time) => Value::Time(time),
        Datum::TimeTz(time) => Value::TimeTz(time),
        Datum::Timestamp(at) => Value::Timestamp(at),
        Datum::TimestampTz(at) => Value::TimestampTz(at, east_s),
        other => unreachable!("a template gives a date or a time, not {other:?}"),
    }
}

/// A text of ISO 8601.
fn iso(text: &str) -> Option<Value> {
    let mut rest = text;
    // A date begins with a year and a dash, a time with an hour and a colon.
    let has_date = text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('-');
    let date = match has_date {
        true => {
            let year = digits(&mut rest, 9)?;
            let month = part(&mut rest, '-')?;
            let day = part(&mut rest, '-')?;
            Some(Date::make(year, month, day).ok()?)
        }
        false => None,
    };
    if rest.is_empty() {
        return date.map(Value::Date);
    }
    if date.is_some() {
        rest = rest.strip_prefix([' ', 'T'])?;
    }
    let hour = digits(&mut rest, 2)?;
    let minute = part(&mut rest, ':')?;
    let second = part(&mut rest, ':')?;
    let mut us = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let shown: String = fraction[..length].chars().chain("000000".chars()).take(6).collect();
        us = shown.parse::<i64>().ok().filter(|_| length > 0)?;
        rest = &fraction[length..];
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let clock = (i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second)) * 1_000_000;
    let time = Time(clock + us);
    let east_s = match rest.trim_start().chars().next() {
        None => None,
        Some(sign @ ('+' | '-')) => {
            rest = &rest.trim_start()[1..];
            let hours = digits(&mut rest, 2).filter(|hours| *hours <= 15)?;
            let minutes = if rest.is_empty() { 0 } else { part(&mut rest, ':')? };
            let distance_s = hours * 3_600 + minutes * 60;
            if minutes > 59 || !rest.is_empty() {
                return None;
            }
            Some(if sign == '-' { -distance_s } else { distance_s })
        }
        Some(_) => return None,
    };
    Some(match (date, east_s) {
        (None, None) => Value::Time(time),
        (None, Some(east_s)) => Value::TimeTz(TimeTz { time, west_s: -east_s }),
        (Some(date), None) => Value::Timestamp(date.at(time).ok()?),
        (Some(date), Some(east_s)) => {
            let at = date.at_tz(TimeTz { time, west_s: -east_s }).ok()?;
            Value::TimestampTz(at, east_s)
        }
    })
}

/// Takes a number of at most so many digits off the front.
fn digits(rest: &mut &str, most: usize) -> Option<i32> {
    let length = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let number = rest[..length].parse().ok()?;
    *rest = &rest[length..];
    Some(number)
}

/// Takes a mark and a number of at most two digits off the front.
fn part(rest: &mut &str, mark: char) -> Option<i32> {
    *rest = rest.strip_prefix(mark)?;
    digits(rest, 2)
}
