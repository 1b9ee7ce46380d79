//! [`Tid`]: the ids of ZODB's transactions.
//!
//! ```text
//!   8 bytes, big end first     minutes, of months with 31 days     part of the minute, of 2^32
//!                              since 1900                          one step: 14 ns
//! ```
//!
//! A commit that ZODB makes here gets the id of its time, which no other commit has: times of commits are whole
//! microseconds, and each commit has a later one than the one before. A commit that was copied from another storage
//! keeps the id that it had there.

use std::fmt;

const MINUTE_US: u64 = 60_000_000;
const DAY_MINUTES: u64 = 24 * 60;

/// The id of a transaction of ZODB, as `persistent.timestamp.TimeStamp` writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u64);

impl Tid {
    /// Before every transaction.
    pub const ZERO: Tid = Tid(0);

    /// The id of a transaction at a time, in microseconds since 1970 UTC.
    pub fn of_time(time_us: u64) -> Tid {
        let minutes = time_us / MINUTE_US;
        let (year, month, day) = civil(minutes / DAY_MINUTES);
        let months = (year - 1900) * 12 + month - 1;
        let high = (months * 31 + day - 1) * DAY_MINUTES + minutes % DAY_MINUTES;
        // Rounded up, so that the whole microseconds of an id are those that it was made of.
        let low = ((time_us % MINUTE_US) << 32).div_ceil(MINUTE_US);
        Tid((high << 32) | low)
    }

    /// The time of a transaction with this id, in whole microseconds since 1970 UTC; 0 before 1970.
    pub fn time_us(self) -> u64 {
        let (high, low) = (self.0 >> 32, self.0 & 0xffff_ffff);
        let (days, minute) = (high / DAY_MINUTES, high % DAY_MINUTES);
        let (months, day) = (days / 31, days % 31 + 1);
        let days = days_since_1970((months / 12 + 1900) as i64, months % 12 + 1, day);
        let Ok(days) = u64::try_from(days) else { return 0 };
        (days * DAY_MINUTES + minute) * MINUTE_US + ((low * MINUTE_US) >> 32)
    }

    /// As SQL shows it, and as it is stored: the same 64 bits.
    pub fn to_i64(self) -> i64 {
        self.0 as i64
    }

    /// The id that SQL shows like that.
    pub fn of_i64(value: i64) -> Tid {
        Tid(value as u64)
    }
}

impl fmt::Display for Tid {
    /// As ZODB writes it in messages: `0x0404a5ad4a9a8800`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

/// Year, month and day of a day since 1970, of the Gregorian calendar. Years begin in March, in eras of 400.
fn civil(days: u64) -> (u64, u64, u64) {
    // The days from 0000-03-01 to 1970-01-01.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// The days from 1970-01-01 to a day; fewer than none before that.
fn days_since_1970(year: i64, month: u64, day: u64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400) as u64);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * 146_097 + of_era as i64 - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The id of a time gives the time back, and later times have larger ids.
        #[test]
        fn times_come_back(time_us in 0_u64..8_000_000_000_000_000, step in 1_u64..1_000_000) {
            prop_assert_eq!(Tid::of_time(time_us).time_us(), time_us);
            prop_assert!(Tid::of_time(time_us) < Tid::of_time(time_us + step));
        }
    }

    /// `TimeStamp(2026, 11, 27, 12, 34, 56.789012)` and others, as the package `persistent` gives them.
    #[test]
    fn ids_are_those_of_zodb() {
        for (time_us, tid) in [
            (0, 0x023c_2b00_0000_0000),
            (1_795_782_896_789_012, 0x040d_4bf2_f24c_bead),
            (951_782_400_000_000, 0x0332_ade0_0000_0000),
        ] {
            let made = Tid::of_time(time_us);
            assert!(made.0.abs_diff(tid) <= 1, "{made} is not {tid:#x}");
        }
        assert_eq!(Tid(1).time_us(), 0);
        assert_eq!(Tid(0x0404_a5ad_4a9a_8800).to_string(), "0x0404a5ad4a9a8800");
    }
}
