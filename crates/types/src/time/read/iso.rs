//! The short way to read a moment: the form in which programs write it.
//!
//! ```text
//!   2024-02-03   2024-02-03 04:05   2024-02-03T04:05:06.789+02   2024-02-03 04:05:06Z
//! ```
//!
//! It reads only texts that mean the same under every setting and are certainly in range. For every other
//! text it returns `None` without a reason: the long way finds the value or the error.

use super::moment::Moment;
use crate::time::calendar::{Civil, days_in_month};
use crate::time::{HOUR_US, MINUTE_US, SECOND_US};

/// The rest of the text.
struct Scan<'a>(&'a [u8]);

impl Scan<'_> {
    /// A number of exactly so many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let mut number = 0;
        for digit in digits {
            number = number * 10 + i64::from(char::from(*digit).to_digit(10)?);
        }
        self.0 = rest;
        Some(number)
    }

    fn eat(&mut self, expected: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        (*first == expected).then_some(())
    }

    /// Two digits of at most `max`, after a delimiter.
    fn part(&mut self, delimiter: u8, max: i64) -> Option<i64> {
        self.eat(delimiter)?;
        self.digits(2).filter(|part| *part <= max)
    }

    /// One to six digits, in microseconds.
    fn fraction_us(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|c| c.is_ascii_digit()).count();
        let missing = 6_usize.checked_sub(count).filter(|_| count > 0)?;
        Some(self.digits(count)? * 10_i64.pow(missing as u32))
    }

    /// `+hh` or `+hh:mm`, in seconds west of Greenwich.
    fn displacement_s(&mut self, is_west: bool) -> Option<i32> {
        let hours = self.digits(2).filter(|hours| *hours <= 15)?;
        let minutes = if self.0.is_empty() { 0 } else { self.part(b':', 59)? };
        let distance_s = ((hours * 60 + minutes) * 60) as i32;
        Some(if is_west { distance_s } else { -distance_s })
    }
}

/// The moment that a text in this form says; `None` for every other text.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let mut scan = Scan(text.as_bytes());
    let year = scan.digits(4).filter(|year| *year > 0)?;
    let month = scan.part(b'-', 12).filter(|month| *month > 0)? as u32;
    let day = scan.part(b'-', days_in_month(year, month).into()).filter(|day| *day > 0)?;
    let day = Civil { year, month, day: day as u32 };
    let mut time_us = 0;
    let mut west_s = None;
    if let Some((delimiter, rest)) = scan.0.split_first() {
        matches!(delimiter, b' ' | b'T').then_some(())?;
        scan.0 = rest;
        time_us = scan.digits(2).filter(|hour| *hour <= 23)? * HOUR_US;
        time_us += scan.part(b':', 59)? * MINUTE_US;
        if scan.0.first() == Some(&b':') {
            time_us += scan.part(b':', 59)? * SECOND_US;
            if scan.0.first() == Some(&b'.') {
                scan.eat(b'.')?;
                time_us += scan.fraction_us()?;
            }
        }
        west_s = match scan.0.split_first() {
            None => None,
            Some((b'Z', [])) => {
                scan.0 = &[];
                Some(0)
            }
            Some((sign @ (b'+' | b'-'), rest)) => {
                scan.0 = rest;
                Some(scan.displacement_s(*sign == b'-')?)
            }
            Some(_) => return None,
        };
    }
    scan.0.is_empty().then_some(())?;
    Some(Moment::At { day, time_us, west_s })
}
