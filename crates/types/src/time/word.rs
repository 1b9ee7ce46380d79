//! The words of dates, times and intervals.
//!
//! Two tables, as one word means different things in different places: `m` is a minute in an
//! interval and a month in a date; `dec` is a decade here and December there; `sec` is only an
//! interval's word. Words are compared by their first ten letters.

/// A word of a date or a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// `at`, `on`: nothing depends on it.
    Filler,
    /// January is 1.
    Month(u32),
    /// Sunday is 0.
    Weekday,
    /// `am`, or `pm` for true.
    Meridiem {
        is_pm: bool,
    },
    /// `ad`, or `bc` for true.
    Era {
        is_bc: bool,
    },
    Now,
    Today,
    Tomorrow,
    Yesterday,
    /// `allballs`: midnight in Greenwich.
    AllBalls,
    /// 1970-01-01 00:00 UTC.
    Epoch,
    Infinity,
    NegativeInfinity,
    /// `dst`: one hour more than the zone before it.
    Summer,
    /// `t`: a time follows.
    T,
    /// A unit that a number follows.
    Unit(Unit),
}

/// A unit of time, or what `extract` takes out of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A millionth of a second; of a value, its seconds in this unit.
    Microsecond,
    /// A thousandth of a second; of a value, its seconds in this unit.
    Millisecond,
    /// A second.
    Second,
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// A day.
    Day,
    /// Seven days; of a value, the week of ISO 8601.
    Week,
    /// A month.
    Month,
    /// Three months.
    Quarter,
    /// A year.
    Year,
    /// Ten years.
    Decade,
    /// A hundred years.
    Century,
    /// A thousand years.
    Millennium,
    /// The zone's distance from Greenwich, in seconds.
    Timezone,
    /// The hours of that distance.
    TimezoneHour,
    /// The minutes of that distance.
    TimezoneMinute,
    /// Seconds since 1970-01-01 00:00 UTC.
    Epoch,
    /// The day of the week, Sunday 0.
    DayOfWeek,
    /// The day of the week, Monday 1, Sunday 7.
    IsoDayOfWeek,
    /// The day of the year, from 1.
    DayOfYear,
    /// The year that the week of ISO 8601 belongs to.
    IsoYear,
    /// The Julian day.
    Julian,
}

/// How many letters of a word are looked at.
const LETTERS: usize = 10;

fn find<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    let word = word.get(..LETTERS).unwrap_or(word);
    let at = table.binary_search_by_key(&word, |(known, _)| known).ok()?;
    Some(table[at].1)
}

/// The word of a date or a time, in small letters.
pub(crate) fn word(word: &str) -> Option<Word> {
    find(WORDS, word)
}

/// The unit of an interval, in small letters.
pub(crate) fn interval_unit(word: &str) -> Option<Unit> {
    find(UNITS, word)
}

/// The field that a name asks `extract` for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldName {
    /// A unit.
    Unit(Unit),
    /// A word that stands for a moment, such as `now`: it is known, but there is no such field.
    Moment(Word),
}

/// The field of a name in small letters; `None` for a name of no field.
pub(crate) fn field(name: &str) -> Option<FieldName> {
    if let Some(unit) = interval_unit(name) {
        return Some(FieldName::Unit(unit));
    }
    match word(name)? {
        Word::Unit(unit) => Some(FieldName::Unit(unit)),
        moment @ (Word::Now
        | Word::Today
        | Word::Tomorrow
        | Word::Yesterday
        | Word::AllBalls
        | Word::Epoch
        | Word::Infinity
        | Word::NegativeInfinity) => Some(FieldName::Moment(moment)),
        _ => None,
    }
}

const WORDS: &[(&str, Word)] = &[
    ("+infinity", Word::Infinity),
    ("-infinity", Word::NegativeInfinity),
    ("ad", Word::Era { is_bc: false }),
    ("allballs", Word::AllBalls),
    ("am", Word::Meridiem { is_pm: false }),
    ("apr", Word::Month(4)),
    ("april", Word::Month(4)),
    ("at", Word::Filler),
    ("aug", Word::Month(8)),
    ("august", Word::Month(8)),
    ("bc", Word::Era { is_bc: true }),
    ("d", Word::Unit(Unit::Day)),
    ("dec", Word::Month(12)),
    ("december", Word::Month(12)),
    ("dow", Word::Unit(Unit::DayOfWeek)),
    ("doy", Word::Unit(Unit::DayOfYear)),
    ("dst", Word::Summer),
    ("epoch", Word::Epoch),
    ("feb", Word::Month(2)),
    ("february", Word::Month(2)),
    ("fri", Word::Weekday),
    ("friday", Word::Weekday),
    ("h", Word::Unit(Unit::Hour)),
    ("infinity", Word::Infinity),
    ("isodow", Word::Unit(Unit::IsoDayOfWeek)),
    ("isoyear", Word::Unit(Unit::IsoYear)),
    ("j", Word::Unit(Unit::Julian)),
    ("jan", Word::Month(1)),
    ("january", Word::Month(1)),
    ("jd", Word::Unit(Unit::Julian)),
    ("jul", Word::Month(7)),
    ("julian", Word::Unit(Unit::Julian)),
    ("july", Word::Month(7)),
    ("jun", Word::Month(6)),
    ("june", Word::Month(6)),
    ("m", Word::Unit(Unit::Month)),
    ("mar", Word::Month(3)),
    ("march", Word::Month(3)),
    ("may", Word::Month(5)),
    ("mm", Word::Unit(Unit::Minute)),
    ("mon", Word::Weekday),
    ("monday", Word::Weekday),
    ("nov", Word::Month(11)),
    ("november", Word::Month(11)),
    ("now", Word::Now),
    ("oct", Word::Month(10)),
    ("october", Word::Month(10)),
    ("on", Word::Filler),
    ("pm", Word::Meridiem { is_pm: true }),
    ("s", Word::Unit(Unit::Second)),
    ("sat", Word::Weekday),
    ("saturday", Word::Weekday),
    ("sep", Word::Month(9)),
    ("sept", Word::Month(9)),
    ("september", Word::Month(9)),
    ("sun", Word::Weekday),
    ("sunday", Word::Weekday),
    ("t", Word::T),
    ("thu", Word::Weekday),
    ("thur", Word::Weekday),
    ("thurs", Word::Weekday),
    ("thursday", Word::Weekday),
    ("today", Word::Today),
    ("tomorrow", Word::Tomorrow),
    ("tue", Word::Weekday),
    ("tues", Word::Weekday),
    ("tuesday", Word::Weekday),
    ("wed", Word::Weekday),
    ("wednesday", Word::Weekday),
    ("weds", Word::Weekday),
    ("y", Word::Unit(Unit::Year)),
    ("yesterday", Word::Yesterday),
];

const UNITS: &[(&str, Unit)] = &[
    ("c", Unit::Century),
    ("cent", Unit::Century),
    ("centuries", Unit::Century),
    ("century", Unit::Century),
    ("d", Unit::Day),
    ("day", Unit::Day),
    ("days", Unit::Day),
    ("dec", Unit::Decade),
    ("decade", Unit::Decade),
    ("decades", Unit::Decade),
    ("decs", Unit::Decade),
    ("h", Unit::Hour),
    ("hour", Unit::Hour),
    ("hours", Unit::Hour),
    ("hr", Unit::Hour),
    ("hrs", Unit::Hour),
    ("m", Unit::Minute),
    ("microsecon", Unit::Microsecond),
    ("mil", Unit::Millennium),
    ("millennia", Unit::Millennium),
    ("millennium", Unit::Millennium),
    ("millisecon", Unit::Millisecond),
    ("mils", Unit::Millennium),
    ("min", Unit::Minute),
    ("mins", Unit::Minute),
    ("minute", Unit::Minute),
    ("minutes", Unit::Minute),
    ("mon", Unit::Month),
    ("mons", Unit::Month),
    ("month", Unit::Month),
    ("months", Unit::Month),
    ("ms", Unit::Millisecond),
    ("msec", Unit::Millisecond),
    ("msecond", Unit::Millisecond),
    ("mseconds", Unit::Millisecond),
    ("msecs", Unit::Millisecond),
    ("qtr", Unit::Quarter),
    ("quarter", Unit::Quarter),
    ("s", Unit::Second),
    ("sec", Unit::Second),
    ("second", Unit::Second),
    ("seconds", Unit::Second),
    ("secs", Unit::Second),
    ("timezone", Unit::Timezone),
    ("timezone_h", Unit::TimezoneHour),
    ("timezone_m", Unit::TimezoneMinute),
    ("us", Unit::Microsecond),
    ("usec", Unit::Microsecond),
    ("usecond", Unit::Microsecond),
    ("useconds", Unit::Microsecond),
    ("usecs", Unit::Microsecond),
    ("w", Unit::Week),
    ("week", Unit::Week),
    ("weeks", Unit::Week),
    ("y", Unit::Year),
    ("year", Unit::Year),
    ("years", Unit::Year),
    ("yr", Unit::Year),
    ("yrs", Unit::Year),
];
