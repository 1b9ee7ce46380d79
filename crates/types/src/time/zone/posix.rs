//! Time zones as formulas: the `TZ` strings of POSIX.
//!
//! ```text
//!   EST5EDT,M3.2.0,M11.1.0
//!   |  ||  |      └──────── ends on the first Sunday of November, at 02:00
//!   |  ||  └─────────────── begins on the second Sunday of March, at 02:00
//!   |  |└────────────────── daylight saving time: its name; one hour more unless an offset follows
//!   |  └─────────────────── standard time: hours *west* of Greenwich
//!   └────────────────────── its name, or anything in angle brackets
//! ```
//!
//! The files of the time zone database end in such a string, for all times after their last
//! recorded change; users may also write one where a zone's name is asked for.

use super::Local;
use crate::time::calendar::{Civil, days_in_month, is_leap, weekday};

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// Days from 1970-01-01 to 2000-01-01, in seconds.
const EPOCH_S: i64 = crate::time::calendar::UNIX_EPOCH_DAYS * DAY_S;

/// When daylight saving time begins and ends where nothing is said: the rule of the United States.
const DEFAULT_RULE: &str = ",M3.2.0,M11.1.0";

/// A zone that follows one rule for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Rule {
    standard: Kind,
    summer: Option<Summer>,
}

/// A local time: how far east, and what it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Kind {
    east_s: i32,
    name: Box<str>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Summer {
    kind: Kind,
    begins: Moment,
    ends: Moment,
}

/// A day of every year, and a time on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Moment {
    day: Day,
    /// Local time of the kind that is left at this moment; may lie before or after the day.
    time_s: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Day {
    /// The day of the year, 1 to 365, with the 29th of February never counted.
    Julian(i64),
    /// The day of the year, 0 to 365.
    Zero(i64),
    /// The n-th such weekday of a month, the last for 5.
    Weekday { month: u32, week: i64, weekday: i64 },
}

impl Rule {
    /// Reads a whole `TZ` string. A zone without a name is called ``; where a summer time is named
    /// but not when it begins, the rule of the United States holds.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut scan = Scan(text);
        let name = scan.name()?;
        let standard = Kind { east_s: -scan.offset()?, name: name.into() };
        if scan.0.is_empty() {
            return Some(Self { standard, summer: None });
        }
        let name = scan.name().filter(|name| !name.is_empty())?;
        let east_s = match scan.0.as_bytes().first() {
            None | Some(b',') => standard.east_s + 3_600,
            Some(_) => -scan.offset()?,
        };
        let mut rest = if scan.0.is_empty() { Scan(DEFAULT_RULE) } else { scan };
        let begins = rest.moment()?;
        let ends = rest.moment()?;
        let kind = Kind { east_s, name: name.into() };
        rest.0.is_empty().then_some(Self { standard, summer: Some(Summer { kind, begins, ends }) })
    }

    /// The local time at a moment, in seconds since 1970-01-01 UTC.
    pub(super) fn local(&self, at_s: i64) -> Local<'_> {
        let Some(summer) = &self.summer else {
            return self.standard.local(false);
        };
        let (begins, ends) = self.changes(summer, year_of(at_s, self.standard.east_s));
        let is_summer = if begins < ends {
            (begins..ends).contains(&at_s)
        } else {
            !(ends..begins).contains(&at_s)
        };
        if is_summer { summer.kind.local(true) } else { self.standard.local(false) }
    }

    /// The first change after a moment; `None` if the zone knows no change.
    pub(super) fn next_change(&self, after_s: i64) -> Option<i64> {
        let summer = self.summer.as_ref()?;
        let year = year_of(after_s, self.standard.east_s);
        (year - 1..=year + 1)
            .flat_map(|year| {
                let (begins, ends) = self.changes(summer, year);
                [begins, ends]
            })
            .filter(|at| *at > after_s)
            .min()
    }

    /// True if every local time of the zone is equally far from Greenwich.
    pub(super) fn is_fixed(&self) -> bool {
        self.summer.as_ref().is_none_or(|summer| summer.kind.east_s == self.standard.east_s)
    }

    /// The local times of the zone, standard time first.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Local<'_>> {
        let summer = self.summer.iter().map(|summer| summer.kind.local(true));
        std::iter::once(self.standard.local(false)).chain(summer)
    }

    /// When summer time begins and ends in a year, in seconds since 1970-01-01 UTC.
    fn changes(&self, summer: &Summer, year: i64) -> (i64, i64) {
        let begins = summer.begins.local_s(year) - i64::from(self.standard.east_s);
        let ends = summer.ends.local_s(year) - i64::from(summer.kind.east_s);
        (begins, ends)
    }
}

/// The year that it is somewhere at a moment.
fn year_of(at_s: i64, east_s: i32) -> i64 {
    let local_s = at_s.saturating_add(i64::from(east_s)).saturating_sub(EPOCH_S);
    Civil::from_days(local_s.div_euclid(DAY_S)).year
}

impl Kind {
    fn local(&self, is_summer: bool) -> Local<'_> {
        Local { east_s: self.east_s, is_summer, abbreviation: &self.name }
    }
}

impl Moment {
    /// The moment in a year, in seconds since 1970-01-01 00:00 local time.
    fn local_s(self, year: i64) -> i64 {
        let first = |month| Civil { year, month, day: 1 }.days();
        let day = match self.day {
            Day::Zero(day) => first(1) + day,
            Day::Julian(day) => first(1) + day - 1 + i64::from(is_leap(year) && day > 59),
            Day::Weekday { month, week, weekday: wanted } => {
                let first = first(month);
                let day = (wanted - weekday(first)).rem_euclid(7) + (week - 1) * 7;
                let is_beyond = day >= i64::from(days_in_month(year, month));
                first + if is_beyond { day - 7 } else { day }
            }
        };
        day * DAY_S + EPOCH_S + self.time_s
    }
}

/// The rest of the text.
struct Scan<'a>(&'a str);

impl<'a> Scan<'a> {
    /// Letters, or anything in angle brackets.
    fn name(&mut self) -> Option<&'a str> {
        let (name, rest) = match self.0.strip_prefix('<') {
            Some(quoted) => quoted.split_once('>')?,
            None => {
                let end = self.0.find(|c: char| c.is_ascii_digit() || ",+-".contains(c));
                self.0.split_at(end.unwrap_or(self.0.len()))
            }
        };
        self.0 = rest;
        Some(name)
    }

    fn eat(&mut self, expected: char) -> bool {
        let rest = self.0.strip_prefix(expected);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// A number of at least one digit, up to a limit.
    fn number(&mut self, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        let number = digits.parse().ok()?;
        self.0 = rest;
        range.contains(&number).then_some(number)
    }

    /// `hh[:mm[:ss]]`, in seconds.
    fn time(&mut self) -> Option<i64> {
        // A time of a rule may be a whole week away from its day.
        let mut seconds = self.number(0..=24 * 7 - 1)? * 3_600;
        if self.eat(':') {
            seconds += self.number(0..=59)? * 60;
            if self.eat(':') {
                seconds += self.number(0..=60)?;
            }
        }
        Some(seconds)
    }

    /// `[+-]hh[:mm[:ss]]`, in seconds.
    fn signed_time(&mut self) -> Option<i64> {
        let is_negative = self.eat('-');
        if !is_negative {
            self.eat('+');
        }
        let seconds = self.time()?;
        Some(if is_negative { -seconds } else { seconds })
    }

    fn offset(&mut self) -> Option<i32> {
        self.signed_time().map(|seconds| seconds as i32)
    }

    /// `,Jn`, `,n` or `,Mm.w.d`, each with `/time` or without.
    fn moment(&mut self) -> Option<Moment> {
        if !self.eat(',') && !self.eat(';') {
            return None;
        }
        let day = if self.eat('J') {
            Day::Julian(self.number(1..=365)?)
        } else if self.eat('M') {
            let month = self.number(1..=12)? as u32;
            let week = self.eat('.').then(|| self.number(1..=5))??;
            let weekday = self.eat('.').then(|| self.number(0..=6))??;
            Day::Weekday { month, week, weekday }
        } else {
            Day::Zero(self.number(0..=365)?)
        };
        let time_s = if self.eat('/') { self.signed_time()? } else { 2 * 3_600 };
        Some(Moment { day, time_s })
    }
}
