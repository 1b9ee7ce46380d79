//! The second step of reading an interval: numbers and their units, read from the end.
//!
//! ```text
//!   1 year 2 mons -3 days 04:05:06.7 ago       traditional
//!   1-2 -3 4:05:06.7                           SQL standard
//!   P1Y2M-3DT4H5M6.7S   P0001-02-03T04:05:06   ISO 8601
//! ```
//!
//! Fractions flow down: half a month is 15 days, half a day 12 hours, and part of a year as many
//! whole months as are nearest.

use super::Fault;
use super::clock::{clock, fraction};
use super::token::{Kind, Token, tokens};
use crate::time::word::{Unit, Word, interval_unit, word};
use crate::time::{
    DAY_US, HOUR_US, Interval, IntervalFields, MINUTE_US, SECOND_US, interval_out_of_range,
};
use crate::{IntervalStyle, Result};

/// Bytes of a text with an interval: more is none.
const LENGTH_MAX: usize = 256;

/// Largest number in the format of ISO 8601, so that a double holds it with a fraction.
const ISO_NUMBER_MAX: f64 = 1e15;

const DAYS_OF_MONTH: f64 = 30.0;

impl Interval {
    /// Reads an interval: `1 day 2 hours`, `1-2`, `P1DT2H`, `infinity`.
    ///
    /// In the SQL standard's style a sign in front counts for all fields. `fields` says what a
    /// number without a unit is; the fields are not cut off here.
    ///
    /// # Errors
    /// 22007 for what is no interval, 22015 and 22008 for one out of range.
    pub fn parse(text: &str, style: IntervalStyle, fields: IntervalFields) -> Result<Self> {
        let traditional = tokens(text, LENGTH_MAX).and_then(|tokens| read(&tokens, style, fields));
        let interval = match traditional {
            Err(Fault::Format) => read_iso(text),
            other => other,
        };
        match interval {
            Ok(Read::Sum(sum)) => sum.finish().ok_or_else(interval_out_of_range),
            Ok(Read::Infinity) => Ok(Interval::INFINITY),
            Ok(Read::NegativeInfinity) => Ok(Interval::NEG_INFINITY),
            Err(Fault::Field) => Err(Fault::Interval.error("interval", text)),
            Err(fault) => Err(fault.error("interval", text)),
        }
    }
}

enum Read {
    Sum(Sum),
    Infinity,
    NegativeInfinity,
}

/// The parts of an interval while they are collected.
#[derive(Default)]
struct Sum {
    years: i32,
    months: i32,
    days: i32,
    us: i64,
}

impl Sum {
    /// Adds a number of units, which is a whole part and a fraction of the same sign.
    fn add(&mut self, unit: Unit, whole: i64, fraction: f64) -> Result<(), Fault> {
        self.try_add(unit, whole, fraction).ok_or(Fault::Field)
    }

    fn try_add(&mut self, unit: Unit, whole: i64, fraction: f64) -> Option<()> {
        let years = match unit {
            Unit::Microsecond => return self.add_us(whole, fraction, 1),
            Unit::Millisecond => return self.add_us(whole, fraction, 1_000),
            Unit::Second => return self.add_us(whole, fraction, SECOND_US),
            Unit::Minute => return self.add_us(whole, fraction, MINUTE_US),
            Unit::Hour => return self.add_us(whole, fraction, HOUR_US),
            Unit::Day => {
                self.add_days(whole, 1)?;
                return self.add_fraction_us(fraction, DAY_US);
            }
            Unit::Week => {
                self.add_days(whole, 7)?;
                return self.add_fraction_days(fraction, 7.0);
            }
            Unit::Month => {
                let months = i32::try_from(whole).ok()?;
                self.months = self.months.checked_add(months)?;
                return self.add_fraction_days(fraction, DAYS_OF_MONTH);
            }
            Unit::Year => 1,
            Unit::Decade => 10,
            Unit::Century => 100,
            _ => 1_000,
        };
        let whole = i32::try_from(whole).ok()?.checked_mul(years)?;
        self.years = self.years.checked_add(whole)?;
        let months = (fraction * f64::from(years) * 12.0).round_ties_even() as i32;
        self.months = self.months.checked_add(months)?;
        Some(())
    }

    fn add_us(&mut self, whole: i64, fraction: f64, scale: i64) -> Option<()> {
        self.us = self.us.checked_add(whole.checked_mul(scale)?)?;
        self.add_fraction_us(fraction, scale)
    }

    fn add_fraction_us(&mut self, fraction: f64, scale: i64) -> Option<()> {
        let us = fraction * scale as f64;
        let whole = us as i64;
        let rest = us - whole as f64;
        let rounded = whole + i64::from(rest > 0.5) - i64::from(rest < -0.5);
        self.us = self.us.checked_add(rounded)?;
        Some(())
    }

    fn add_days(&mut self, whole: i64, scale: i32) -> Option<()> {
        let days = i32::try_from(whole).ok()?.checked_mul(scale)?;
        self.days = self.days.checked_add(days)?;
        Some(())
    }

    fn add_fraction_days(&mut self, fraction: f64, scale: f64) -> Option<()> {
        let days = fraction * scale;
        let whole = days as i32;
        self.days = self.days.checked_add(whole)?;
        self.add_fraction_us(days - f64::from(whole), DAY_US)
    }

    fn negate(&mut self) -> Option<()> {
        self.years = self.years.checked_neg()?;
        self.months = self.months.checked_neg()?;
        self.days = self.days.checked_neg()?;
        self.us = self.us.checked_neg()?;
        Some(())
    }

    fn finish(self) -> Option<Interval> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        let months = i32::try_from(months).ok()?;
        Some(Interval { months, days: self.days, us: self.us })
    }
}

/// The fields that were given, so that none is given twice.
type FieldSet = u32;

const ALL_SECONDS: FieldSet = bit(Unit::Second) | bit(Unit::Millisecond) | bit(Unit::Microsecond);
const CLOCK: FieldSet = ALL_SECONDS | bit(Unit::Minute) | bit(Unit::Hour);
const EVERYTHING: FieldSet = CLOCK | bit(Unit::Day) | bit(Unit::Month) | bit(Unit::Year);

const fn bit(unit: Unit) -> FieldSet {
    1 << unit as u32
}

/// The time of a clock's text, in microseconds.
fn clock_us(text: &str, fields: IntervalFields) -> Result<i64, Fault> {
    let is_minute_first = fields == IntervalFields::MINUTE_TO_SECOND;
    let (hours, minutes, seconds, us) = clock(text, is_minute_first)?;
    hours
        .checked_mul(HOUR_US)
        .and_then(|hours| hours.checked_add(minutes * MINUTE_US + seconds * SECOND_US + us))
        .ok_or(Fault::Field)
}

/// Reads the traditional format and that of the SQL standard.
fn read(tokens: &[Token], style: IntervalStyle, fields: IntervalFields) -> Result<Read, Fault> {
    let is_signed = |token: &Token| token.text.starts_with(['-', '+']);
    let Some((first, rest)) = tokens.split_first() else {
        return Err(Fault::Format);
    };
    // `-1 1:00:00` is minus one day and minus one hour in the standard's style, unless there are
    // more signs than the first.
    let is_all_negative = style == IntervalStyle::SqlStandard
        && first.text.starts_with('-')
        && !rest.iter().any(is_signed);
    let minus = |us: i64| if is_all_negative && us > 0 { -us } else { us };

    let mut sum = Sum::default();
    let mut seen = 0;
    let mut unit = None;
    let mut is_unit_open = false;
    let mut is_ago = false;
    let mut special = None;
    for (at, token) in tokens.iter().enumerate().rev() {
        let is_last = at + 1 == tokens.len();
        let text = token.text.as_str();
        let field = match token.kind {
            Kind::Time => {
                sum.us = minus(clock_us(text, fields)?);
                (unit, is_unit_open) = (Some(Unit::Day), false);
                CLOCK
            }
            Kind::Signed if text.contains(':') && clock_us(&text[1..], fields).is_ok() => {
                let us = clock_us(&text[1..], fields)?;
                sum.us = minus(if text.starts_with('-') { -us } else { us });
                (unit, is_unit_open) = (Some(Unit::Day), false);
                CLOCK
            }
            Kind::Signed | Kind::Date | Kind::Number => {
                is_unit_open = false;
                let mut of = unit.unwrap_or(fields.least_unit());
                let (mut whole, mut part) = number(text, &mut of)?;
                if is_all_negative {
                    (whole, part) = (-whole.abs(), -part.abs());
                }
                sum.add(of, whole, part)?;
                // A number before hours without a unit of its own is days.
                unit = Some(if of == Unit::Hour { Unit::Day } else { of });
                if of == Unit::Second && part != 0.0 { ALL_SECONDS } else { bit(of) }
            }
            Kind::Text | Kind::Special => {
                if is_unit_open {
                    return Err(Fault::Format);
                }
                match (text, interval_unit(text), word(text)) {
                    ("ago", ..) if is_last => {
                        // It is no unit for a number right before it.
                        (unit, is_ago) = (Some(Unit::Epoch), true);
                        0
                    }
                    (_, Some(of), _) | (_, None, Some(Word::Unit(of))) => {
                        (unit, is_unit_open) = (Some(of), true);
                        0
                    }
                    (_, None, Some(Word::Filler)) => continue,
                    (_, None, Some(Word::Infinity)) if is_last => {
                        special = Some(Read::Infinity);
                        EVERYTHING
                    }
                    (_, None, Some(Word::NegativeInfinity)) if is_last => {
                        special = Some(Read::NegativeInfinity);
                        EVERYTHING
                    }
                    _ => return Err(Fault::Format),
                }
            }
        };
        if seen & field != 0 {
            return Err(Fault::Format);
        }
        seen |= field;
    }
    if seen == 0 || is_unit_open {
        return Err(Fault::Format);
    }
    if is_ago {
        sum.negate().ok_or(Fault::Field)?;
    }
    Ok(special.unwrap_or(Read::Sum(sum)))
}

/// A number with its fraction; `1-2` is years and months, whatever the unit was to be.
fn number(text: &str, unit: &mut Unit) -> Result<(i64, f64), Fault> {
    let unsigned = text.trim_start_matches(['+', '-']);
    let is_negative = text.starts_with('-');
    let sign = if is_negative { -1 } else { 1 };
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (digits, rest) = unsigned.split_at(end);
    let whole: i64 = match digits {
        "" => 0,
        digits if is_negative => format!("-{digits}").parse().map_err(|_| Fault::Field)?,
        digits => digits.parse().map_err(|_| Fault::Field)?,
    };
    let part = match rest.as_bytes().first() {
        None => 0.0,
        Some(b'.') => fraction(rest)? * f64::from(sign),
        Some(b'-') => {
            let end = rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |at| at + 1);
            let months: i64 = match &rest[1..end] {
                "" => 0,
                digits => digits.parse().map_err(|_| Fault::Field)?,
            };
            if months >= 12 {
                return Err(Fault::Field);
            }
            if end < rest.len() {
                return Err(Fault::Format);
            }
            *unit = Unit::Month;
            let months = months * i64::from(sign);
            let whole = whole.checked_mul(12).and_then(|whole| whole.checked_add(months));
            return Ok((whole.ok_or(Fault::Field)?, 0.0));
        }
        Some(_) => return Err(Fault::Format),
    };
    match unit {
        Unit::Microsecond
        | Unit::Millisecond
        | Unit::Second
        | Unit::Minute
        | Unit::Hour
        | Unit::Day
        | Unit::Week
        | Unit::Month
        | Unit::Year
        | Unit::Decade
        | Unit::Century
        | Unit::Millennium => Ok((whole, part)),
        _ => Err(Fault::Format),
    }
}

/// A number in the format of ISO 8601, which may be anything that a double can be.
struct IsoNumber<'a> {
    text: &'a str,
    whole: i64,
    part: f64,
}

impl<'a> IsoNumber<'a> {
    /// Takes a number off the front.
    fn take(rest: &mut &'a str) -> Result<Self, Fault> {
        if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            return Err(Fault::Format);
        }
        let text = &rest[..double_length(rest)];
        let value: f64 = text.parse().map_err(|_| Fault::Format)?;
        if value.is_nan() || value.abs() > ISO_NUMBER_MAX {
            return Err(Fault::Field);
        }
        *rest = &rest[text.len()..];
        Ok(Self { text, whole: value.trunc() as i64, part: value - value.trunc() })
    }

    /// Digits before a point.
    fn digits(&self) -> usize {
        let unsigned = self.text.trim_start_matches('-');
        unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len())
    }
}

/// How much of a text is a decimal number: sign, digits, point, digits, exponent.
fn double_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..].iter().position(|c| !c.is_ascii_digit()).map_or(bytes.len(), |at| from + at)
    };
    let mut end = digits(usize::from(text.starts_with('-')));
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// Reads the two formats of ISO 8601: with designators, and the alternative one.
fn read_iso(text: &str) -> Result<Read, Fault> {
    let mut rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Fault::Format)?;
    let mut sum = Sum::default();
    let mut is_date = true;
    let mut has_field = false;
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (is_date, has_field, rest) = (false, false, time);
            continue;
        }
        let number = IsoNumber::take(&mut rest)?;
        let (whole, part) = (number.whole, number.part);
        let designator = rest.as_bytes().first().copied();
        let unit = match (is_date, designator) {
            (true, Some(b'Y')) => Unit::Year,
            (true, Some(b'M')) => Unit::Month,
            (true, Some(b'W')) => Unit::Week,
            (true, Some(b'D')) => Unit::Day,
            (false, Some(b'H')) => Unit::Hour,
            (false, Some(b'M')) => Unit::Minute,
            (false, Some(b'S')) => Unit::Second,
            (true, None | Some(b'T' | b'-')) if !has_field => {
                if number.digits() == 8 && designator != Some(b'-') {
                    sum.add(Unit::Year, whole / 10_000, 0.0)?;
                    sum.add(Unit::Month, whole / 100 % 100, 0.0)?;
                    sum.add(Unit::Day, whole % 100, part)?;
                } else {
                    sum.add(Unit::Year, whole, part)?;
                    alternative(&mut sum, &mut rest, '-', [Unit::Month, Unit::Day])?;
                }
                if !rest.is_empty() && !rest.starts_with('T') {
                    return Err(Fault::Format);
                }
                continue;
            }
            (false, None | Some(b':')) if !has_field => {
                if number.digits() == 6 && designator.is_none() {
                    sum.add(Unit::Hour, whole / 10_000, 0.0)?;
                    sum.add(Unit::Minute, whole / 100 % 100, 0.0)?;
                    sum.add(Unit::Second, whole % 100, 0.0)?;
                    sum.add(Unit::Microsecond, 0, part)?;
                } else {
                    sum.add(Unit::Hour, whole, part)?;
                    alternative(&mut sum, &mut rest, ':', [Unit::Minute, Unit::Second])?;
                }
                if !rest.is_empty() {
                    return Err(Fault::Format);
                }
                continue;
            }
            _ => return Err(Fault::Format),
        };
        sum.add(unit, whole, part)?;
        rest = &rest[1..];
        has_field = true;
    }
    Ok(Read::Sum(sum))
}

/// The two fields of the alternative format after the first, as far as they are given.
fn alternative(
    sum: &mut Sum,
    rest: &mut &str,
    delimiter: char,
    units: [Unit; 2],
) -> Result<(), Fault> {
    for unit in units {
        let Some(after) = rest.strip_prefix(delimiter) else {
            return Ok(());
        };
        *rest = after;
        let number = IsoNumber::take(rest)?;
        sum.add(unit, number.whole, number.part)?;
    }
    Ok(())
}
