//! The second step of reading a date or a time: the meaning of the tokens.
//!
//! ```text
//!   Number 3   Text feb   Number 2024   Time 04:05   Text pm   Text cet
//!   day        month      year          time         12 more   zone
//! ```
//!
//! Tokens are taken from left to right. The known fields decide what a token can be: after a whole
//! date six digits are a time, before it they are a date. Every field may be given once.

use super::clock::{clock, displacement, fraction, fraction_us, number};
use super::token::{Kind, Token};
use super::{Fault, ZoneName};
use crate::time::calendar::{Civil, JULIAN_OF_EPOCH, days_in_month};
use crate::time::word::{Unit, Word, word};
use crate::time::zone::TimeZone;
use crate::time::zone::abbreviation::{Meaning, meaning};
use crate::time::{DAY_US, Date, HOUR_US, MINUTE_US, SECOND_US, Time, TimeTz, Timestamp};
use crate::{Context, DateOrder};

/// The value of a text: a moment, before its range is checked.
pub(super) enum Moment {
    /// A day and a time; without a zone they are meant in the session's.
    At {
        day: Civil,
        time_us: i64,
        west_s: Option<i32>,
    },
    Epoch,
    Infinity,
    NegativeInfinity,
}

/// A set of fields that were given.
type FieldSet = u32;

const YEAR: FieldSet = 1 << 0;
const MONTH: FieldSet = 1 << 1;
const DAY: FieldSet = 1 << 2;
const DAY_OF_YEAR: FieldSet = 1 << 3;
const TIME: FieldSet = 1 << 4;
const ZONE: FieldSet = 1 << 5;
const SUMMER: FieldSet = 1 << 6;
const SUMMER_WORD: FieldSet = 1 << 7;
const MERIDIEM: FieldSet = 1 << 8;
const ERA: FieldSet = 1 << 9;
const WEEKDAY: FieldSet = 1 << 10;
const ZONE_OF_DATE: FieldSet = 1 << 11;
const DATE: FieldSet = YEAR | MONTH | DAY;
const YEAR_MONTH: FieldSet = YEAR | MONTH;
const MONTH_DAY: FieldSet = MONTH | DAY;

/// The fields that were read up to some token.
pub(super) struct Reading<'a> {
    context: &'a Context<'a>,
    /// True if only a time of day is wanted.
    is_time_only: bool,
    seen: FieldSet,
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    us: i64,
    zone: Zone,
    /// A word that says what the next number is: a Julian day, or a time.
    label: Option<Label>,
    has_text_month: bool,
    has_two_digit_year: bool,
    is_julian: bool,
    is_bc: bool,
    is_pm: Option<bool>,
    /// A word that stands for a whole moment.
    fixed: Option<Moment>,
}

/// The zone in the text.
enum Zone {
    West(i32),
    Name(ZoneName),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Julian,
    Time,
    /// A unit that no number of a moment has.
    Other,
}

impl<'a> Reading<'a> {
    fn new(context: &'a Context<'a>, is_time_only: bool) -> Self {
        Self {
            context,
            is_time_only,
            seen: 0,
            year: 0,
            month: 0,
            day: 0,
            day_of_year: 0,
            hour: 0,
            minute: 0,
            second: 0,
            us: 0,
            zone: Zone::West(0),
            label: None,
            has_text_month: false,
            has_two_digit_year: false,
            is_julian: false,
            is_bc: false,
            is_pm: None,
            fixed: None,
        }
    }

    /// The moment that the tokens say.
    pub(super) fn moment(context: &'a Context<'a>, tokens: &[Token]) -> Result<Moment, Fault> {
        let mut reading = Self::new(context, false);
        reading.read(tokens)?;
        if let Some(fixed) = reading.fixed {
            return Ok(fixed);
        }
        reading.check_date()?;
        reading.apply_meridiem()?;
        if !reading.has(DATE) {
            return Err(Fault::Format);
        }
        let day = reading.civil();
        let west_s = Some(reading.west_s(Some(day))?);
        Ok(Moment::At { day, time_us: reading.time_us(), west_s })
    }

    /// The time of day that the tokens say.
    pub(super) fn time(context: &'a Context<'a>, tokens: &[Token]) -> Result<TimeTz, Fault> {
        let mut reading = Self::new(context, true);
        reading.read(tokens)?;
        reading.check_date()?;
        reading.apply_meridiem()?;
        reading.check_time()?;
        if !reading.has(TIME) {
            return Err(Fault::Format);
        }
        let day = match reading.seen & DATE {
            0 => None,
            DATE => Some(reading.civil()),
            _ if matches!(reading.zone, Zone::West(_)) && reading.has(ZONE) => None,
            _ => return Err(Fault::Format),
        };
        let west_s = reading.west_s(day)?;
        Ok(TimeTz { time: Time(reading.time_us()), west_s })
    }

    fn has(&self, fields: FieldSet) -> bool {
        self.seen & fields == fields
    }

    fn read(&mut self, tokens: &[Token]) -> Result<(), Fault> {
        for at in 0..tokens.len() {
            let text = &tokens[at].text;
            let seen = match tokens[at].kind {
                Kind::Date if self.is_time_only => self.date_before_time(tokens, at)?,
                Kind::Date => self.date_or_zone(text)?,
                Kind::Time => self.clock(text)?,
                Kind::Signed => {
                    self.zone = Zone::West(displacement(text)?);
                    ZONE
                }
                Kind::Number => match self.label.take() {
                    Some(label) => self.labelled(label, text)?,
                    None if self.is_time_only => self.number_of_time(tokens, at)?,
                    None => self.number_of_moment(text)?,
                },
                Kind::Text | Kind::Special => match self.word(text)? {
                    Some(seen) => seen,
                    None => continue,
                },
            };
            if self.seen & seen != 0 {
                return Err(Fault::Format);
            }
            self.seen |= seen;
        }
        // A label that labels nothing.
        if self.label.is_some() { Err(Fault::Format) } else { Ok(()) }
    }

    /// A token that looks like a date, where a date may stand.
    fn date_or_zone(&mut self, text: &str) -> Result<FieldSet, Fault> {
        match self.label.take() {
            // `J2451187-08`: a Julian day and a zone.
            Some(Label::Julian) => {
                let (julian, rest) = number(text)?;
                self.set_julian(julian);
                self.zone = Zone::West(displacement(rest)?);
                Ok(DATE | TIME | ZONE)
            }
            Some(Label::Time) => self.time_with_zone(text),
            Some(Label::Other) => Err(Fault::Format),
            // With a month and a day already, it is no third one: `Feb 3 040506-05 2024`.
            None if !self.has(MONTH_DAY) => self.date(text, self.seen),
            None if text.starts_with(|c: char| c.is_ascii_digit()) => self.time_with_zone(text),
            None => self.named_zone(text),
        }
    }

    /// A token that looks like a date, where only a time is wanted.
    fn date_before_time(&mut self, tokens: &[Token], at: usize) -> Result<FieldSet, Fault> {
        let text = &tokens[at].text;
        let last = tokens.len() - 1;
        if at == 0 && last > 0 && (tokens[last].kind == Kind::Date || tokens[1].kind == Kind::Time)
        {
            self.date(text, self.seen)
        } else if text.starts_with(|c: char| c.is_ascii_digit()) {
            self.time_with_zone(text)
        } else {
            self.named_zone(text)
        }
    }

    /// `hhmmss-zz`.
    fn time_with_zone(&mut self, text: &str) -> Result<FieldSet, Fault> {
        if self.has(TIME) {
            return Err(Fault::Format);
        }
        let dash = text.find('-').ok_or(Fault::Format)?;
        self.zone = Zone::West(displacement(&text[dash..])?);
        let has_date = self.is_time_only || self.has(DATE);
        Ok(self.run_together(&text[..dash], has_date)? | ZONE)
    }

    fn named_zone(&mut self, text: &str) -> Result<FieldSet, Fault> {
        let zone = TimeZone::find(text).ok_or_else(|| Fault::Zone(text.to_owned()))?;
        self.zone = Zone::Name(ZoneName::Zone(zone));
        Ok(ZONE)
    }

    /// A time with colons.
    fn clock(&mut self, text: &str) -> Result<FieldSet, Fault> {
        if !matches!(self.label.take(), None | Some(Label::Time)) {
            return Err(Fault::Format);
        }
        (self.hour, self.minute, self.second, self.us) = clock(text, false)?;
        i32::try_from(self.hour).map_err(|_| Fault::Field)?;
        if !self.is_time_only {
            self.check_time()?;
        }
        Ok(TIME)
    }

    /// A number whose meaning the word before it says.
    fn labelled(&mut self, label: Label, text: &str) -> Result<FieldSet, Fault> {
        let (value, rest) = number(text)?;
        if !rest.is_empty() && !rest.starts_with('.') {
            return Err(Fault::Format);
        }
        match label {
            Label::Julian => {
                self.set_julian(value);
                if rest.is_empty() {
                    return Ok(DATE);
                }
                self.set_time((fraction(rest)? * DAY_US as f64) as i64);
                Ok(DATE | TIME)
            }
            Label::Time => match self.run_together(text, true)? {
                TIME => Ok(TIME),
                _ => Err(Fault::Format),
            },
            Label::Other => Err(Fault::Format),
        }
    }

    /// A number in a moment: of a date, or of a time where there is a date already.
    fn number_of_moment(&mut self, text: &str) -> Result<FieldSet, Fault> {
        match text.find('.') {
            Some(_) if self.seen & DATE == 0 => self.date(text, self.seen),
            Some(point) if point > 2 => self.run_together(text, self.has(DATE)),
            _ if text.len() >= 6 && (self.seen & DATE == 0 || !self.has(TIME)) => {
                self.run_together(text, self.has(DATE))
            }
            _ => self.number_of_date(text, self.has_text_month, self.seen),
        }
    }

    /// A number where only a time is wanted.
    fn number_of_time(&mut self, tokens: &[Token], at: usize) -> Result<FieldSet, Fault> {
        let text = &tokens[at].text;
        let last = tokens.len() - 1;
        match text.find('.') {
            Some(_) if at == 0 && last > 0 && tokens[last].kind == Kind::Date => {
                self.date(text, self.seen)
            }
            Some(point) if point > 2 => self.run_together(text, true),
            Some(_) => Err(Fault::Format),
            None if text.len() > 4 => self.run_together(text, true),
            None => self.number_of_date(text, false, self.seen | DATE),
        }
    }

    /// A date in one token: `2024-02-03`, `3/feb/24`.
    fn date(&mut self, text: &str, seen: FieldSet) -> Result<FieldSet, Fault> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            let is_number = rest.starts_with(|c: char| c.is_ascii_digit());
            let differs = |c: char| {
                if is_number { !c.is_ascii_digit() } else { !c.is_ascii_alphabetic() }
            };
            let end = rest.find(differs).unwrap_or(rest.len());
            if end == 0 {
                // A delimiter with nothing behind it.
                return Err(Fault::Format);
            }
            parts.push((is_number, &rest[..end]));
            rest = rest.get(end + 1..).unwrap_or("");
        }
        // A month's name says what the numbers are, wherever it stands.
        let mut found = 0;
        let mut has_text_month = false;
        for (_, name) in parts.iter().filter(|(is_number, _)| !is_number) {
            match word(name) {
                Some(Word::Filler) => {}
                Some(Word::Month(month)) if (seen | found) & MONTH == 0 => {
                    self.month = i64::from(month);
                    found |= MONTH;
                    has_text_month = true;
                }
                _ => return Err(Fault::Format),
            }
        }
        for (_, digits) in parts.iter().filter(|(is_number, _)| *is_number) {
            let field = self.number_of_date(digits, has_text_month, seen | found)?;
            if (seen | found) & field != 0 {
                return Err(Fault::Format);
            }
            found |= field;
        }
        let is_whole = (seen | found) & !(DAY_OF_YEAR | ZONE) == DATE;
        if is_whole { Ok(found) } else { Err(Fault::Format) }
    }

    /// A number of a date: what it is follows from what is known already and from `DateStyle`.
    fn number_of_date(
        &mut self,
        text: &str,
        has_text_month: bool,
        seen: FieldSet,
    ) -> Result<FieldSet, Fault> {
        let (value, rest) = number(text)?;
        let digits = text.len() - rest.len();
        if digits == 0 {
            return Err(Fault::Format);
        }
        if rest.starts_with('.') {
            if digits > 2 {
                return self.run_together(text, true);
            }
            self.us = fraction_us(rest)?;
        } else if !rest.is_empty() {
            return Err(Fault::Format);
        }
        let order = self.context.style.date_order;
        if text.len() == 3 && seen & DATE == YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(DAY_OF_YEAR | MONTH | DAY);
        }
        let is_year = text.len() >= 3 || order == DateOrder::Ymd;
        let field = match (seen & DATE, has_text_month) {
            (0, _) if is_year => YEAR,
            (0, _) if order == DateOrder::Dmy => DAY,
            (0, _) => MONTH,
            (YEAR, _) => MONTH,
            (MONTH, true) if is_year => YEAR,
            (MONTH, _) => DAY,
            // `03-feb-2024`, where the first number was taken for a year.
            (YEAR_MONTH, true) if text.len() >= 3 && self.has_two_digit_year => {
                self.day = self.year;
                self.year = value;
                self.has_two_digit_year = false;
                return Ok(DAY);
            }
            (YEAR_MONTH, _) => DAY,
            (DAY, _) => MONTH,
            (MONTH_DAY, _) => YEAR,
            (DATE, _) => return self.run_together(text, true),
            _ => return Err(Fault::Format),
        };
        match field {
            YEAR => {
                self.year = value;
                self.has_two_digit_year = text.len() <= 2;
            }
            MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(field)
    }

    /// Digits without punctuation: `yymmdd`, `yyyymmdd`, `hhmm`, `hhmmss`, `hhmmss.fff`.
    fn run_together(&mut self, text: &str, has_date: bool) -> Result<FieldSet, Fault> {
        let part = |text: &str| text.parse::<i64>().map_err(|_| Fault::Format);
        let (digits, has_fraction) = match text.find('.') {
            Some(point) => {
                self.us = fraction_us(&text[point..])?;
                (&text[..point], true)
            }
            None => (text, false),
        };
        if !digits.bytes().all(|c| c.is_ascii_digit()) {
            return Err(Fault::Format);
        }
        let length = digits.len();
        if !has_fraction && !has_date && length >= 6 {
            let (year, month_day) = digits.split_at(length - 4);
            // A number that is too big is cut to its lower bits, as in PostgreSQL.
            self.year = i64::from(year.parse().unwrap_or(i64::MAX) as i32);
            self.month = part(&month_day[..2])?;
            self.day = part(&month_day[2..])?;
            if year.len() == 2 {
                self.has_two_digit_year = true;
            }
            return Ok(DATE);
        }
        if self.has(TIME) || !matches!(length, 4 | 6) {
            return Err(Fault::Format);
        }
        self.hour = part(&digits[..2])?;
        self.minute = part(&digits[2..4])?;
        self.second = if length == 6 { part(&digits[4..])? } else { 0 };
        Ok(TIME)
    }

    /// A word; `None` for one that is read over.
    fn word(&mut self, text: &str) -> Result<Option<FieldSet>, Fault> {
        if let Some(meaning) = meaning(text) {
            return self.abbreviation(text, meaning).map(Some);
        }
        let Some(word) = word(text) else {
            // The name of a zone, if it is anything.
            return match self.named_zone(text) {
                Ok(seen) => Ok(Some(seen)),
                Err(_) => Err(Fault::Format),
            };
        };
        Ok(Some(match word {
            Word::Filler => return Ok(None),
            Word::Now => self.now(),
            Word::AllBalls => {
                self.set_time(0);
                self.zone = Zone::West(0);
                TIME | ZONE
            }
            Word::Meridiem { is_pm } => {
                self.is_pm = Some(is_pm);
                MERIDIEM
            }
            Word::Era { is_bc } => {
                self.is_bc = is_bc;
                ERA
            }
            Word::Summer => {
                let Zone::West(west_s) = &mut self.zone else {
                    // An hour cannot be added to a zone that is not known yet.
                    return Err(Fault::Format);
                };
                *west_s -= 3_600;
                SUMMER_WORD | SUMMER
            }
            Word::Unit(unit) => {
                let label = if unit == Unit::Julian { Label::Julian } else { Label::Other };
                return self.expect_number(label);
            }
            Word::T if self.is_time_only || self.has(DATE) => {
                return self.expect_number(Label::Time);
            }
            _ if self.is_time_only => return Err(Fault::Format),
            Word::Yesterday => self.day_from_today(-1),
            Word::Today => self.day_from_today(0),
            Word::Tomorrow => self.day_from_today(1),
            Word::Epoch => self.stands_for(Moment::Epoch),
            Word::Infinity => self.stands_for(Moment::Infinity),
            Word::NegativeInfinity => self.stands_for(Moment::NegativeInfinity),
            Word::Weekday => WEEKDAY,
            Word::T => return Err(Fault::Format),
            Word::Month(month) => {
                // `3 feb`: the 3 was taken for a month.
                let is_day = self.has(MONTH) && !self.has_text_month && !self.has(DAY);
                let is_swap = is_day && (1..=31).contains(&self.month);
                if is_swap {
                    self.day = self.month;
                }
                self.has_text_month = true;
                self.month = i64::from(month);
                if is_swap { DAY } else { MONTH }
            }
        }))
    }

    fn expect_number(&mut self, label: Label) -> Result<Option<FieldSet>, Fault> {
        match self.label.replace(label) {
            Some(_) => Err(Fault::Format),
            None => Ok(None),
        }
    }

    fn stands_for(&mut self, moment: Moment) -> FieldSet {
        self.fixed = Some(moment);
        DATE | TIME | ZONE
    }

    fn abbreviation(&mut self, text: &str, meaning: Meaning) -> Result<FieldSet, Fault> {
        match meaning {
            Meaning::Standard(east_s) => {
                self.zone = Zone::West(-east_s);
                Ok(ZONE)
            }
            Meaning::Summer(east_s) => {
                self.zone = Zone::West(-east_s);
                Ok(ZONE | SUMMER)
            }
            Meaning::In(zone) => {
                let zone = TimeZone::find(zone).ok_or_else(|| Fault::Zone(text.to_owned()))?;
                self.zone = Zone::Name(ZoneName::Abbreviation(text.to_owned(), zone));
                Ok(ZONE | ZONE_OF_DATE)
            }
        }
    }

    /// The session's local time now, and how far west it is.
    fn local_now(&self) -> (Timestamp, i32) {
        let local = self.context.style.time_zone.local(self.context.now);
        let east_us = i64::from(local.east_s) * SECOND_US;
        (Timestamp(self.context.now.0.saturating_add(east_us)), -local.east_s)
    }

    fn now(&mut self) -> FieldSet {
        let (now, west_s) = self.local_now();
        self.set_time(now.0.rem_euclid(DAY_US));
        if self.is_time_only {
            return TIME;
        }
        self.set_day(now.0.div_euclid(DAY_US));
        self.zone = Zone::West(west_s);
        DATE | TIME | ZONE
    }

    fn day_from_today(&mut self, days: i64) -> FieldSet {
        let (now, _) = self.local_now();
        self.set_day(now.0.div_euclid(DAY_US) + days);
        DATE
    }

    fn set_julian(&mut self, julian: i64) {
        self.set_day(julian - JULIAN_OF_EPOCH);
        self.is_julian = true;
    }

    fn set_day(&mut self, days: i64) {
        let civil = Civil::from_days(days);
        (self.year, self.month) = (civil.year, i64::from(civil.month));
        self.day = i64::from(civil.day);
    }

    fn set_time(&mut self, us: i64) {
        self.hour = us / HOUR_US;
        self.minute = us / MINUTE_US % 60;
        self.second = us / SECOND_US % 60;
        self.us = us % SECOND_US;
    }

    /// Settles what the year is, and checks the fields of the date that were given.
    fn check_date(&mut self) -> Result<(), Fault> {
        if self.has(YEAR) && !self.is_julian {
            if self.year < i64::from(!self.has_two_digit_year || self.is_bc) {
                return Err(Fault::Field);
            }
            self.year = match self.year {
                year if self.is_bc => 1 - year,
                year @ 0..70 if self.has_two_digit_year => year + 2000,
                year @ 70..100 if self.has_two_digit_year => year + 1900,
                year => year,
            };
        }
        if self.has(DAY_OF_YEAR) {
            let first = Civil { year: self.year, month: 1, day: 1 };
            self.set_day(first.days() + self.day_of_year - 1);
        }
        let is_month_bad = self.has(MONTH) && !(1..=12).contains(&self.month);
        let is_day_bad = self.has(DAY) && !(1..=31).contains(&self.day);
        if is_month_bad || is_day_bad {
            return Err(Fault::DayOrMonth);
        }
        let last = || i64::from(days_in_month(self.year, self.month as u32));
        if self.has(DATE) && self.day > last() { Err(Fault::Field) } else { Ok(()) }
    }

    fn apply_meridiem(&mut self) -> Result<(), Fault> {
        let Some(is_pm) = self.is_pm else { return Ok(()) };
        match (is_pm, self.hour) {
            (_, 13..) => return Err(Fault::Field),
            (false, 12) => self.hour = 0,
            (true, 0..=11) => self.hour += 12,
            _ => {}
        }
        Ok(())
    }

    /// No time is later than 24:00:00, which 23:59:60 is too.
    fn check_time(&self) -> Result<(), Fault> {
        let is_sound = self.hour <= 24 && self.minute < 60 && self.second <= 60;
        if is_sound && self.time_us() <= DAY_US { Ok(()) } else { Err(Fault::Field) }
    }

    fn time_us(&self) -> i64 {
        self.hour * HOUR_US + self.minute * MINUTE_US + self.second * SECOND_US + self.us
    }

    /// The day, once [`Reading::check_date`] has passed it.
    fn civil(&self) -> Civil {
        Civil { year: self.year, month: self.month as u32, day: self.day as u32 }
    }

    /// Seconds west of Greenwich: what the text says, or else the session's zone. Where they depend
    /// on the day and none is given, it is today.
    fn west_s(&self, day: Option<Civil>) -> Result<i32, Fault> {
        let session;
        let name = match &self.zone {
            Zone::West(west_s) if self.has(ZONE) => return Ok(*west_s),
            _ if self.has(SUMMER_WORD) => return Err(Fault::Format),
            Zone::Name(name) => name,
            Zone::West(_) => {
                session = ZoneName::Zone(self.context.style.time_zone.clone());
                &session
            }
        };
        if let (ZoneName::Zone(zone), None, true) = (name, day, self.has(ZONE)) {
            // A zone that was named depends on a day that was not.
            return zone.fixed_east_s().map(|east_s| -east_s).ok_or(Fault::Format);
        }
        let day = match day {
            Some(day) => day.days(),
            None => self.local_now().0.0.div_euclid(DAY_US),
        };
        // Nothing is known of days that are out of range.
        let day = Date::from_days(day).map(|date| i64::from(date.0));
        let midnight = day.and_then(|day| day.checked_mul(DAY_US));
        let local = midnight.and_then(|us| us.checked_add(self.time_us()));
        Ok(local.map_or(0, |local| -name.east_at_local(Timestamp(local))))
    }
}
