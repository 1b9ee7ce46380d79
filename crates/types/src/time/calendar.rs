//! The calendar: days as numbers, and as year, month and day.
//!
//! ```text
//!   day     -2451545 ...    -1         0          1       ...
//!   civil   4714-11-24 BC   1999-12-31 2000-01-01 2000-01-02
//! ```
//!
//! The Gregorian calendar is used for all of time, also before it was introduced. Years are counted
//! through zero: 0 is 1 BC, -1 is 2 BC. Every function takes any number and never overflows: days
//! are `i64` here. The caller that makes a value of a type checks them against its range.
//!
//! The formulas count years from March, so that the leap day is the last of its year, and group them
//! into eras of 400 years, which all have 146,097 days.

/// Days from 1970-01-01 to 2000-01-01.
pub(crate) const UNIX_EPOCH_DAYS: i64 = 10_957;

/// The number that is added to a day to get its Julian day number.
pub(crate) const JULIAN_OF_EPOCH: i64 = 2_451_545;

const ERA_DAYS: i64 = 146_097;

/// Days from 0000-03-01 to 2000-01-01.
const EPOCH_FROM_MARCH_0: i64 = 730_425;

/// A day of the calendar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Civil {
    /// The year; 0 is 1 BC.
    pub year: i64,
    /// The month, 1 to 12.
    pub month: u32,
    /// The day of the month, 1 to 31.
    pub day: u32,
}

impl Civil {
    /// The day of the calendar with this number.
    pub fn from_days(days: i64) -> Self {
        let days = days.saturating_add(EPOCH_FROM_MARCH_0);
        let era = days.div_euclid(ERA_DAYS);
        let day_of_era = days.rem_euclid(ERA_DAYS);
        let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
        let year_of_era = (day_of_era - leap_days) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month: month as u32, day: day as u32 }
    }

    /// The number of the day. Days beyond the end of the month run on into the next one.
    pub fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let from_march = i64::from((self.month + 9) % 12);
        let day_of_year = (153 * from_march + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * ERA_DAYS + day_of_era - EPOCH_FROM_MARCH_0
    }

    /// The day of the year, from 1.
    pub fn day_of_year(self) -> i64 {
        self.days() - Civil { month: 1, day: 1, ..self }.days() + 1
    }

    /// The year and the week of ISO 8601: weeks start on Monday, and week 1 has the year's first
    /// Thursday.
    pub fn iso_week(self) -> (i64, i64) {
        let days = self.days();
        let first = |year| {
            let fourth = Civil { year, month: 1, day: 4 }.days();
            fourth - (iso_weekday(fourth) - 1)
        };
        let year = if days >= first(self.year + 1) {
            self.year + 1
        } else if days >= first(self.year) {
            self.year
        } else {
            self.year - 1
        };
        (year, (days - first(year)) / 7 + 1)
    }
}

/// The Monday on which a week of ISO 8601 starts.
pub(crate) fn iso_week_start(year: i64, week: i64) -> i64 {
    let fourth = Civil { year, month: 1, day: 4 }.days();
    fourth - (iso_weekday(fourth) - 1) + (week - 1) * 7
}

/// The day of the week: 0 is Sunday.
pub fn weekday(days: i64) -> i64 {
    (days + 6).rem_euclid(7)
}

/// The day of the week: 1 is Monday, 7 is Sunday.
pub fn iso_weekday(days: i64) -> i64 {
    match weekday(days) {
        0 => 7,
        day => day,
    }
}

/// True for years with a 29th of February.
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The days of a month, 1 to 12.
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
