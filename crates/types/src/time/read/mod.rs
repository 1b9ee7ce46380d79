//! Reading dates and times the way people write them.
//!
//! ```text
//!   text ──token──> Date, Number, Text ... ──moment──> what day, what time, which zone ──> value
//!                                          └─interval─> months, days, microseconds
//! ```
//!
//! Hardly anything is fixed: fields come in any order, with or without punctuation, months by name
//! or number. Only where three numbers could be day, month and year in any order does a setting
//! decide, `DateStyle`. The [`Context`] has the meaning of `now` and `today`, and the zone of a
//! moment that names none.
//!
//! The form that programs write, ISO 8601 with a space or a `T`, is read by a short way of its own
//! ([`iso`]) that knows no words and no errors; what it does not take goes the long way.

mod clock;
mod interval;
mod iso;
mod moment;
mod token;

use self::moment::{Moment, Reading};
use super::calendar::Civil;
use super::{DAY_US, Date, SECOND_US, Time, TimeTz, TimeZone, Timestamp, TimestampTz};
use crate::{Context, Error, Result, SqlState};

/// Bytes of a text with a date or a time: more is no date.
const LENGTH_MAX: usize = 128 + 25;

/// Why a text is no date, time or interval.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Fault {
    /// It does not look like one.
    Format,
    /// A number is too big.
    Field,
    /// A day or a month is too big; perhaps they are meant the other way round.
    DayOrMonth,
    /// A number of an interval is too big.
    Interval,
    /// A zone is too far from Greenwich.
    Displacement,
    /// There is no such zone.
    Zone(String),
}

impl Fault {
    /// The error for a text that is no `type_name`.
    fn error(self, type_name: &str, text: &str) -> Error {
        let out_of_range = || format!("date/time field value out of range: \"{text}\"");
        match self {
            Fault::Format => Error::new(
                SqlState::INVALID_DATETIME_FORMAT,
                format!("invalid input syntax for type {type_name}: \"{text}\""),
            ),
            Fault::Field => Error::new(SqlState::DATETIME_FIELD_OVERFLOW, out_of_range()),
            Fault::DayOrMonth => Error::new(SqlState::DATETIME_FIELD_OVERFLOW, out_of_range())
                .with_hint("Perhaps you need a different \"datestyle\" setting."),
            Fault::Interval => Error::new(
                SqlState::INTERVAL_FIELD_OVERFLOW,
                format!("interval field value out of range: \"{text}\""),
            ),
            Fault::Displacement => Error::new(
                SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Fault::Zone(name) => unknown_zone(&name),
        }
    }
}

/// The error for a name that is no time zone.
pub(crate) fn unknown_zone(name: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
}

fn out_of_range(what: &str, text: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range: \"{text}\""))
}

/// The whole text as a moment.
fn moment(text: &str, type_name: &str, context: &Context<'_>) -> Result<Moment> {
    if let Some(moment) = iso::moment(text) {
        return Ok(moment);
    }
    token::tokens(text, LENGTH_MAX)
        .and_then(|tokens| Reading::moment(context, &tokens))
        .map_err(|fault| fault.error(type_name, text))
}

impl Date {
    /// Reads a date: `2024-02-03`, `Feb 3 2024`, `J2460344`, `today`, `infinity`.
    ///
    /// # Errors
    /// 22007 for what is no date, 22008 for one out of range.
    pub fn parse(text: &str, context: &Context<'_>) -> Result<Self> {
        match moment(text, "date", context)? {
            Moment::At { day, .. } => {
                Date::from_days(day.days()).ok_or_else(|| out_of_range("date", text))
            }
            Moment::Epoch => Ok(Date(-super::calendar::UNIX_EPOCH_DAYS as i32)),
            Moment::Infinity => Ok(Date::INFINITY),
            Moment::NegativeInfinity => Ok(Date::NEG_INFINITY),
        }
    }
}

impl Timestamp {
    /// Reads a day and a time of day. A zone is read over.
    ///
    /// # Errors
    /// 22007 for what is no timestamp, 22008 for one out of range, 22009 and 22023 for a zone that
    /// there is not.
    pub fn parse(text: &str, context: &Context<'_>) -> Result<Self> {
        match moment(text, "timestamp", context)? {
            Moment::At { day, time_us, .. } => local_us(day, time_us)
                .and_then(Timestamp::in_range)
                .ok_or_else(|| out_of_range("timestamp", text)),
            Moment::Epoch => Ok(Timestamp(-super::calendar::UNIX_EPOCH_DAYS * DAY_US)),
            Moment::Infinity => Ok(Timestamp::INFINITY),
            Moment::NegativeInfinity => Ok(Timestamp::NEG_INFINITY),
        }
    }
}

impl TimestampTz {
    /// Reads a moment; without a zone it is one of the session's zone.
    ///
    /// # Errors
    /// As [`Timestamp::parse`].
    pub fn parse(text: &str, context: &Context<'_>) -> Result<Self> {
        match moment(text, "timestamp with time zone", context)? {
            Moment::At { day, time_us, west_s } => {
                let zone = &context.style.time_zone;
                let at = local_us(day, time_us).and_then(|us| {
                    let west_s = west_s.unwrap_or_else(|| -zone.east_at_local(Timestamp(us)));
                    us.checked_add(i64::from(west_s) * SECOND_US)
                });
                at.and_then(TimestampTz::in_range).ok_or_else(|| out_of_range("timestamp", text))
            }
            Moment::Epoch => Ok(TimestampTz(-super::calendar::UNIX_EPOCH_DAYS * DAY_US)),
            Moment::Infinity => Ok(TimestampTz::INFINITY),
            Moment::NegativeInfinity => Ok(TimestampTz::NEG_INFINITY),
        }
    }
}

/// The microseconds of a day and a time, if there is a number for them.
fn local_us(day: Civil, time_us: i64) -> Option<i64> {
    day.days().checked_mul(DAY_US)?.checked_add(time_us)
}

impl Time {
    /// Reads a time of day. A zone is read over, and a date before it too.
    ///
    /// # Errors
    /// 22007 for what is no time, 22008 for one out of range.
    pub fn parse(text: &str, context: &Context<'_>) -> Result<Self> {
        token::tokens(text, LENGTH_MAX)
            .and_then(|tokens| Reading::time(context, &tokens))
            .map(|time| time.time)
            .map_err(|fault| fault.error("time", text))
    }
}

impl TimeTz {
    /// Reads a time of day somewhere; without a zone it is one of the session's zone, today.
    ///
    /// # Errors
    /// 22007 for what is no time, 22008 for one out of range, 22009 and 22023 for a zone that there
    /// is not.
    pub fn parse(text: &str, context: &Context<'_>) -> Result<Self> {
        token::tokens(text, LENGTH_MAX)
            .and_then(|tokens| Reading::time(context, &tokens))
            .map_err(|fault| fault.error("time with time zone", text))
    }
}

/// The zone that a name or an abbreviation stands for, as `AT TIME ZONE` reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ZoneName {
    /// So many seconds east of Greenwich.
    Fixed(i32),
    /// An abbreviation, with its meaning in the zone at the time.
    Abbreviation(String, TimeZone),
    /// A zone.
    Zone(TimeZone),
}

impl ZoneName {
    /// Reads an abbreviation or the name of a zone.
    ///
    /// # Errors
    /// 22023 where there is none of that name.
    pub fn parse(name: &str) -> Result<Self> {
        use super::zone::abbreviation::Meaning;
        let small = name.to_ascii_lowercase();
        Ok(match super::zone::abbreviation::meaning(&small) {
            Some(Meaning::Standard(east_s) | Meaning::Summer(east_s)) => ZoneName::Fixed(east_s),
            Some(Meaning::In(zone)) => {
                let zone = TimeZone::find(zone).ok_or_else(|| unknown_zone(name))?;
                ZoneName::Abbreviation(small, zone)
            }
            None => ZoneName::Zone(TimeZone::find(name).ok_or_else(|| unknown_zone(name))?),
        })
    }

    /// Reads a zone as [`ZoneName::parse`] does, but numbers as ISO 8601 has them: `+2`, `-02:30`
    /// and `+0230` lie east of Greenwich where the sign is `+`.
    ///
    /// # Errors
    /// 22023 where there is none of that name, and for a number without a sign or beyond 15:59:59.
    pub fn parse_iso(name: &str) -> Result<Self> {
        let refuse = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            let message = format!("invalid input syntax for type numeric time zone: \"{name}\"");
            return Err(refuse(message)
                .with_hint("Numeric time zones must have \"-\" or \"+\" as first character."));
        }
        let Some(digits) = name.strip_prefix(['+', '-']) else { return Self::parse(name) };
        let parts: Vec<&str> = digits.split(':').collect();
        let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        if digits.is_empty() || parts.len() > 3 || !parts.iter().all(is_number) {
            return Self::parse(name);
        }
        // A number that is too large for its type is out of range too.
        let number = |at: usize| match parts.get(at) {
            None | Some(&"") => 0,
            Some(part) => part.parse::<i32>().unwrap_or(i32::MAX),
        };
        let (mut hours, mut minutes, seconds) = (number(0), number(1), number(2));
        if parts.len() == 1 && digits.len() > 2 {
            (hours, minutes) = (hours / 100, hours % 100);
        }
        if hours > 15 || minutes > 59 || seconds > 59 {
            return Err(refuse(format!("numeric time zone \"{name}\" out of range")));
        }
        let east_s = (hours * 60 + minutes) * 60 + seconds;
        Ok(ZoneName::Fixed(if name.starts_with('-') { -east_s } else { east_s }))
    }

    /// How many seconds east of Greenwich the place is when its clocks show `local`.
    pub fn east_at_local(&self, local: Timestamp) -> i32 {
        match self {
            ZoneName::Fixed(east_s) => *east_s,
            ZoneName::Zone(zone) => zone.east_at_local(local),
            ZoneName::Abbreviation(name, zone) => {
                let east_s = zone.east_at_local(local);
                let at = TimestampTz(local.0.saturating_sub(i64::from(east_s) * SECOND_US));
                zone.meant_by(name, at).map_or(east_s, |local| local.east_s)
            }
        }
    }

    /// How many seconds east of Greenwich the place is at a moment.
    pub fn east_at(&self, at: TimestampTz) -> i32 {
        match self {
            ZoneName::Fixed(east_s) => *east_s,
            ZoneName::Zone(zone) => zone.local(at).east_s,
            ZoneName::Abbreviation(name, zone) => {
                zone.meant_by(name, at).unwrap_or_else(|| zone.local(at)).east_s
            }
        }
    }
}

/// The abbreviation of a zone that a text begins with, as its length and what it stands for. The
/// longest one counts.
pub(crate) fn abbreviation_at(text: &str) -> Option<(usize, ZoneName)> {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    (1..=letters).rev().find_map(|length| {
        let small = text[..length].to_ascii_lowercase();
        super::zone::abbreviation::meaning(&small)?;
        Some((length, ZoneName::parse(&small).ok()?))
    })
}
