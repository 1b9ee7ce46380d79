//! `to_timestamp` and `to_date`: a text read as its template says.
//!
//! ```text
//!   template   DD  Mon    YYYY         HH24:MI
//!   text       5   feb    2024         14:05
//!              day month  year         time        what is missing: year 1 BC, January, 1, midnight
//! ```
//!
//! Unless the template says `FX`, white space counts little: it is skipped before fields and behind
//! them, and a separator of the template stands for any one of the text or for none. A number takes
//! as many digits as its field has, or as many as there are where none can follow from the next
//! field.

use super::date_fields::{Fields, Reading, SLOTS, Slot, settle};
use super::date_out::ROMAN_MONTHS;
use super::template::{DateField, DateTemplate, FieldNode, Node, is_separator};
use crate::text::is_space;
use crate::time::{
    DAY_US, Date, MONTHS, SECOND_US, TimeZone, Timestamp, TimestampTz, WEEKDAYS, abbreviation_at,
    timestamp_out_of_range,
};
use crate::{Coercion, Datum, Error, Modifier, Result, SqlState, Type};

impl DateTemplate {
    /// The moment that a text says, in the session's zone where it names none.
    ///
    /// # Errors
    /// 22007 for a text that does not have the template's form, or contradicts itself; 22008 for
    /// what is out of range.
    pub fn parse_timestamptz(&self, text: &str, zone: &TimeZone) -> Result<TimestampTz> {
        let reading = self.parse(text)?;
        let local = reading.day.days().checked_mul(DAY_US);
        let local = local.and_then(|us| us.checked_add(reading.time_us));
        let local = local.ok_or_else(timestamp_out_of_range)?;
        let west_s = match reading.west_s {
            Some(west_s) => west_s,
            None => -zone.east_at_local(Timestamp(local)),
        };
        let at = local
            .checked_add(i64::from(west_s) * SECOND_US)
            .and_then(TimestampTz::in_range)
            .ok_or_else(timestamp_out_of_range)?;
        let Some(precision) = reading.precision else {
            return Ok(at);
        };
        let modifier = Modifier(precision.into());
        match modifier.apply(at.into(), Type::TIMESTAMPTZ, Coercion::Assignment)? {
            Datum::TimestampTz(rounded) => Ok(rounded),
            _ => Ok(at),
        }
    }

    /// The day that a text says.
    ///
    /// # Errors
    /// As [`DateTemplate::parse_timestamptz`].
    pub fn parse_date(&self, text: &str) -> Result<Date> {
        let reading = self.parse(text)?;
        Date::from_days(reading.day.days()).ok_or_else(|| {
            Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{text}\""))
        })
    }

    fn parse(&self, text: &str) -> Result<Reading> {
        self.parse_to(text, false)
    }

    /// Reads a text, which must end where the template does if `is_whole`.
    pub(super) fn parse_to(&self, text: &str, is_whole: bool) -> Result<Reading> {
        let wrong = |message: &str| Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message));
        let mut scan = Scan { rest: text, before: None, skipped: 0, is_exact: false };
        let mut fields = Fields {
            slots: [0; SLOTS],
            calendar: None,
            year_digits: 0,
            has_twelve_hours: false,
            precision: None,
            zone_sign: 0,
            zone: None,
        };
        for (at, node) in self.nodes.iter().enumerate() {
            if scan.rest.is_empty() {
                if is_whole {
                    return wrong("input string is too short for datetime format");
                }
                break;
            }
            let is_field = matches!(node, Node::Field(_));
            let is_exact_field =
                matches!(node, Node::Field(FieldNode { field: DateField::Exact, .. }));
            if !scan.is_exact && !is_exact_field && (is_field || at == 0) {
                scan.skip_space();
            }
            match node {
                Node::Space(_) | Node::Separator(_) => scan.separator(),
                Node::Char(_) => scan.character(),
                Node::Field(node) => {
                    let is_open = node.is_fill || self.is_open_after(at);
                    read_field(node, is_open, &mut scan, &mut fields)?;
                    if !scan.is_exact {
                        scan.skipped = 0;
                        scan.skip_space();
                    }
                }
            }
        }
        if is_whole && !scan.rest.trim_start_matches(is_space).is_empty() {
            return wrong("trailing characters remain in input string after datetime format");
        }
        settle(text, fields)
    }

    /// True if no digit can follow the digits of a field.
    fn is_open_after(&self, at: usize) -> bool {
        match &self.nodes[at] {
            Node::Field(node) if node.ordinal.is_some() => true,
            _ => match self.nodes.get(at + 1) {
                None => true,
                Some(Node::Field(next)) => !next.field.is_digits(),
                Some(Node::Char(c)) => !c.is_ascii_digit(),
                Some(_) => true,
            },
        }
    }
}

/// Where the reading stands.
struct Scan<'a> {
    rest: &'a str,
    /// The character before the rest.
    before: Option<char>,
    /// Characters that were skipped, above those that the template says.
    skipped: i64,
    /// The template said `FX`.
    is_exact: bool,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.before = passed.chars().next_back().or(self.before);
        self.rest = rest;
    }

    fn skip_char(&mut self) {
        self.advance(self.peek().map_or(0, char::len_utf8));
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.skip_char();
            self.skipped += 1;
        }
    }

    /// A separator or a space of the template.
    fn separator(&mut self) {
        if self.is_exact {
            return self.skip_char();
        }
        self.skipped -= 1;
        if self.peek().is_some_and(|c| is_space(c) || is_separator(c)) {
            self.skip_char();
            self.skipped += 1;
        }
    }

    /// Another character of the template, which stands for any one of the text.
    fn character(&mut self) {
        if !self.is_exact && self.skipped > 0 {
            // It may have been skipped as space already.
            self.skipped -= 1;
        } else {
            self.skip_char();
        }
    }

    /// The rest up to white space, for errors.
    fn word(&self) -> &'a str {
        self.rest.split(is_space).next().unwrap_or("")
    }
}

pub(super) fn bad(message: String, detail: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_DATETIME_FORMAT, message).with_detail(detail)
}

/// Longest number that is looked at as a whole, in characters.
const NUMBER_LENGTH_MAX: usize = 12;

/// Reads a number, of `digits` digits or of as many as there are where `is_open`: the number, and
/// how many characters it took.
fn integer(
    scan: &mut Scan<'_>,
    node: &FieldNode,
    digits: usize,
    is_open: bool,
) -> Result<(i64, usize)> {
    const HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";
    let name = shown_name(node);
    let start = scan.rest;
    let spaces = start.len() - start.trim_start_matches(is_space).len();
    let source = &start[spaces..];
    let digits = digits.min(NUMBER_LENGTH_MAX);
    let shown: String = cut(source, digits).to_owned();
    let limited = if is_open { source } else { &shown };
    let length = number_length(limited);
    if !is_open {
        if source.len() < digits {
            let message = format!("source string too short for \"{name}\" formatting field");
            let left = source.len();
            let detail = format!("Field requires {digits} characters, but only {left} remain.");
            return Err(bad(message, detail).with_hint(HINT));
        }
        if length > 0 && length < digits {
            let message = format!("invalid value \"{shown}\" for \"{name}\"");
            let detail =
                format!("Field requires {digits} characters, but only {length} could be parsed.");
            return Err(bad(message, detail).with_hint(HINT));
        }
    }
    if length == 0 {
        let message = format!("invalid value \"{shown}\" for \"{name}\"");
        return Err(bad(message, "Value must be an integer."));
    }
    let number = source[..length].trim_start_matches(is_space).parse::<i32>().map_err(|_| {
        Error::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            format!("value for \"{name}\" in source string is out of range"),
        )
        .with_detail(format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX))
    })?;
    scan.advance(spaces + length);
    Ok((number.into(), spaces + length))
}

/// The name of a field as errors show it: in the letters of the template.
pub(super) fn shown_name(node: &FieldNode) -> String {
    match node.case {
        super::template::Case::Lower => node.name.to_ascii_lowercase(),
        super::template::Case::Upper => node.name.to_owned(),
        super::template::Case::Capital => {
            let (first, rest) = node.name.split_at(1);
            format!("{first}{}", rest.to_ascii_lowercase())
        }
    }
}

/// The first so many bytes, not cutting a character.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// How much of a text is an integer with a sign or without; 0 for nothing.
fn number_length(text: &str) -> usize {
    let spaces = text.len() - text.trim_start_matches(is_space).len();
    let sign = usize::from(text[spaces..].starts_with(['+', '-']));
    let digits = text[spaces + sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { 0 } else { spaces + sign + digits }
}

/// The first of the words that the text begins with, whatever its case.
fn word_of(words: &[&str], scan: &mut Scan<'_>, node: &FieldNode) -> Result<usize> {
    let found = words.iter().position(|word| {
        scan.rest.get(..word.len()).is_some_and(|front| front.eq_ignore_ascii_case(word))
    });
    match found {
        Some(at) => {
            scan.advance(words[at].len());
            Ok(at)
        }
        None => Err(bad(
            format!("invalid value \"{}\" for \"{}\"", scan.word(), shown_name(node)),
            "The given value did not match any of the allowed values for this field.",
        )),
    }
}

/// A year of three digits or fewer, moved near 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// Reads one field of the text.
fn read_field(
    node: &FieldNode,
    is_open: bool,
    scan: &mut Scan<'_>,
    fields: &mut Fields,
) -> Result<()> {
    if let Some(calendar) = node.field.calendar()
        && *fields.calendar.get_or_insert(calendar) != calendar
    {
        return Err(Error::new(
            SqlState::INVALID_DATETIME_FORMAT,
            "invalid combination of date conventions",
        )
        .with_hint(
            "Do not mix Gregorian and ISO week date conventions in a formatting template.",
        ));
    }
    // Most fields are a number of as many digits as their name has letters.
    let plain = |slot: Slot| Some((slot, node.name.len()));
    let number = match node.field {
        DateField::Hour12 => {
            fields.has_twelve_hours = true;
            Some((Slot::Hour, 2))
        }
        DateField::Hour24 => Some((Slot::Hour, 2)),
        DateField::Minute => plain(Slot::Minute),
        DateField::Second => plain(Slot::Second),
        DateField::SecondOfDay => plain(Slot::SecondOfDay),
        DateField::Month => plain(Slot::Month),
        DateField::DayOfYear => plain(Slot::DayOfYear),
        DateField::IsoDayOfYear => Some((Slot::DayOfYear, 3)),
        DateField::DayOfMonth => plain(Slot::Day),
        DateField::DayOfWeek => plain(Slot::DayOfWeek),
        DateField::WeekOfYear | DateField::IsoWeek => plain(Slot::Week),
        DateField::WeekOfMonth => plain(Slot::WeekOfMonth),
        DateField::Century => plain(Slot::Century),
        DateField::Julian => plain(Slot::Julian),
        _ => None,
    };
    if let Some((slot, digits)) = number {
        let (value, _) = integer(scan, node, digits, is_open)?;
        fields.set(slot, value, node)?;
    } else {
        match node.field {
            DateField::Exact => {
                scan.is_exact = true;
                return Ok(());
            }
            DateField::ZoneName | DateField::Offset | DateField::ZoneHour => {
                return zone(node, is_open, scan, fields);
            }
            DateField::ZoneMinute => {
                if fields.zone_sign == 0 {
                    fields.zone_sign = 1;
                }
                let (value, _) = integer(scan, node, 2, is_open)?;
                return fields.set(Slot::ZoneMinute, value, node);
            }
            DateField::Year(_) | DateField::IsoYear(_) | DateField::YearComma => {
                year(node, is_open, scan, fields)?;
            }
            DateField::Milliseconds | DateField::Microseconds | DateField::Fraction(_) => {
                fraction(node, is_open, scan, fields)?;
            }
            DateField::Quarter => {
                // A quarter says nothing that would help to find the day.
                integer(scan, node, 1, is_open)?;
            }
            DateField::IsoDayOfWeek => {
                let (value, _) = integer(scan, node, 1, is_open)?;
                fields.set(Slot::DayOfWeek, value, node)?;
                // Counted as in the other calendar, where Sunday is 1.
                let day = &mut fields.slots[Slot::DayOfWeek as usize];
                *day = if *day >= 7 { 1 } else { *day + 1 };
            }
            _ => return name(node, scan, fields),
        }
    }
    if node.ordinal.is_some() {
        scan.skip_char();
        scan.skip_char();
    }
    Ok(())
}

/// Reads a field that is a word.
fn name(node: &FieldNode, scan: &mut Scan<'_>, fields: &mut Fields) -> Result<()> {
    let months_short = MONTHS.map(|name| &name[..3]);
    let days_short = WEEKDAYS.map(|name| &name[..3]);
    match node.field {
        DateField::MeridiemDots | DateField::Meridiem => {
            let words: &[&str] = match node.field {
                DateField::Meridiem => &["am", "pm"],
                _ => &["a.m.", "p.m."],
            };
            let value = word_of(words, scan, node)?;
            fields.set(Slot::Meridiem, value as i64, node)?;
            fields.has_twelve_hours = true;
            Ok(())
        }
        DateField::EraDots | DateField::Era => {
            let words: &[&str] = match node.field {
                DateField::Era => &["ad", "bc"],
                _ => &["a.d.", "b.c."],
            };
            let value = word_of(words, scan, node)?;
            fields.set(Slot::Era, value as i64, node)
        }
        DateField::MonthName => {
            let value = word_of(&MONTHS, scan, node)? as i64 + 1;
            fields.set(Slot::Month, value, node)
        }
        DateField::MonthShort => {
            let value = word_of(&months_short, scan, node)? as i64 + 1;
            fields.set(Slot::Month, value, node)
        }
        DateField::RomanMonth => {
            // The longer of two that begin alike comes first in this order.
            let mut words = ROMAN_MONTHS;
            words.reverse();
            let value = 12 - word_of(&words, scan, node)? as i64;
            fields.set(Slot::Month, value, node)
        }
        _ => {
            let words = if node.field == DateField::DayName { &WEEKDAYS } else { &days_short };
            let value = word_of(words, scan, node)? as i64;
            fields.set(Slot::DayOfWeek, value, node)?;
            fields.slots[Slot::DayOfWeek as usize] += 1;
            Ok(())
        }
    }
}

fn year(node: &FieldNode, is_open: bool, scan: &mut Scan<'_>, fields: &mut Fields) -> Result<()> {
    let (value, digits) = match node.field {
        DateField::Year(digits) | DateField::IsoYear(digits) => {
            let (value, length) = integer(scan, node, digits.into(), is_open)?;
            fields.set(Slot::Year, value, node)?;
            let is_short = digits < 4 && length < 4;
            (if is_short { near_2020(value) } else { value }, digits)
        }
        _ => {
            let invalid = || {
                Error::new(SqlState::INVALID_DATETIME_FORMAT, "invalid input string for \"Y,YYY\"")
            };
            let start = scan.rest;
            let length = number_length(start);
            let after = start[length..].strip_prefix(',').ok_or_else(invalid)?;
            let years = after.trim_start_matches(is_space);
            let years = &years[..number_length(cut(years, 3))];
            let number = |text: &str| {
                text.trim_start_matches(is_space)
                    .parse::<i32>()
                    .map(i64::from)
                    .map_err(|_| invalid())
            };
            let year = number(&start[..length])? * 1_000 + number(years)?;
            let before = start.len() - after.trim_start_matches(is_space).len();
            scan.advance(before + years.len());
            if i32::try_from(year).is_err() {
                return Err(Error::new(
                    SqlState::DATETIME_FIELD_OVERFLOW,
                    "value for \"Y,YYY\" in source string is out of range",
                ));
            }
            fields.set(Slot::Year, year, node)?;
            (year, 4)
        }
    };
    fields.slots[Slot::Year as usize] = value;
    fields.year_digits = digits;
    Ok(())
}

/// Reads a fraction of a second: `25` and `250` milliseconds are both a quarter.
fn fraction(
    node: &FieldNode,
    is_open: bool,
    scan: &mut Scan<'_>,
    fields: &mut Fields,
) -> Result<()> {
    let (slot, all, digits) = match node.field {
        DateField::Milliseconds => (Slot::Millisecond, 3_usize, 3),
        DateField::Microseconds => (Slot::Microsecond, 6, 6),
        DateField::Fraction(digits) => {
            fields.precision = Some(digits);
            (Slot::Microsecond, 6, usize::from(digits))
        }
        other => unreachable!("{other:?} is no fraction"),
    };
    let (value, length) = integer(scan, node, digits, is_open)?;
    fields.set(slot, value, node)?;
    let missing = all.saturating_sub(length) as u32;
    fields.slots[slot as usize] *= 10_i64.pow(missing);
    Ok(())
}

/// Reads an abbreviation, or hours and perhaps minutes east of Greenwich.
fn zone(node: &FieldNode, is_open: bool, scan: &mut Scan<'_>, fields: &mut Fields) -> Result<()> {
    if node.field == DateField::ZoneName {
        if let Some((length, zone)) = abbreviation_at(scan.rest) {
            (fields.zone, fields.zone_sign) = (Some(zone), 0);
            scan.advance(length);
            return Ok(());
        }
        if scan.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let message = format!("invalid value \"{}\" for \"{}\"", scan.rest, shown_name(node));
            return Err(bad(message, "Time zone abbreviation is not recognized."));
        }
    }
    fields.zone_sign = match scan.peek() {
        Some(c @ ('+' | '-' | ' ')) => {
            scan.skip_char();
            if c == '-' { -1 } else { 1 }
        }
        // The sign may have been skipped as a separator.
        _ if scan.skipped > 0 && scan.before == Some('-') => -1,
        _ => 1,
    };
    fields.zone = None;
    let (hours, _) = integer(scan, node, 2, is_open)?;
    fields.set(Slot::ZoneHour, hours, node)?;
    if node.field != DateField::ZoneHour
        && let Some(rest) = scan.rest.strip_prefix(':')
    {
        scan.advance(scan.rest.len() - rest.len());
        let (minutes, _) = integer(scan, node, 2, is_open)?;
        fields.set(Slot::ZoneMinute, minutes, node)?;
    }
    Ok(())
}
