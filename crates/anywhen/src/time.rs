//! Instants as people write them, in microseconds since 1970, UTC.
//!
//! The arithmetic of the calendar (days of a date, date of a day) follows the
//! well-known scheme of eras of 400 years that begin on the first of March:
//! the leap day is then the last day of a year and needs no case of its own.

const DAY_SECONDS: i64 = 86_400;
const MICROS: i64 = 1_000_000;
const DAY_MICROS: u64 = (DAY_SECONDS * MICROS) as u64;
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads a time as people say it while it is `now_us`: `now`, `today`, `yesterday` (midnight, UTC),
/// `2 hours ago`, or whatever [`parse`] reads. The units of `ago` are seconds, minutes, hours, days,
/// weeks, months and years; `an hour ago` and `a day ago` are 1 of them. A month or a year ago is the same
/// day of that month, or its last day where it has no such day.
pub fn parse_at(text: &str, now_us: u64) -> Option<u64> {
    let text = text.trim();
    let midnight = now_us - now_us % DAY_MICROS;
    match text.to_ascii_lowercase().as_str() {
        "now" => Some(now_us),
        "today" => Some(midnight),
        "yesterday" => midnight.checked_sub(DAY_MICROS),
        lower => match lower.strip_suffix(" ago") {
            Some(span) => ago(span.trim(), now_us),
            None => parse(text),
        },
    }
}

/// The time that lies so long before another: `2 hours`, `a month`.
fn ago(span: &str, now_us: u64) -> Option<u64> {
    let (count, unit) = span.split_once(' ')?;
    let count = match count {
        "a" | "an" => 1,
        count => u64::try_from(digits(count, 1, 9)?).ok()?,
    };
    let unit = unit.trim();
    let micros = match unit.strip_suffix('s').unwrap_or(unit) {
        "second" => 1_000_000,
        "minute" => 60_000_000,
        "hour" => 3_600_000_000,
        "day" => DAY_MICROS,
        "week" => 7 * DAY_MICROS,
        "month" => return months_before(count, now_us),
        "year" => return months_before(count.checked_mul(12)?, now_us),
        _ => return None,
    };
    now_us.checked_sub(count.checked_mul(micros)?)
}

fn months_before(count: u64, now_us: u64) -> Option<u64> {
    let (year, month, day, _) = split(now_us);
    let months = (year * 12 + month - 1).checked_sub(i64::try_from(count).ok()?)?;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let day = day.min(days_in_month(year, month));
    let midnight = days_from_date(year, month, day).checked_mul(DAY_SECONDS * MICROS)?;
    Some(u64::try_from(midnight).ok()? + now_us % DAY_MICROS)
}

/// Reads `2026-11-21`, `2026-11` (its first day), `2026-11-21 10:30[:00[.5]]`, the same with a `T`, with
/// `Z` or an offset such as `+02:00` at the end, or `@` and unix seconds.
/// Without an offset the time is UTC. `None` if it is none of these, or before 1970.
pub fn parse(text: &str) -> Option<u64> {
    instant(text.trim()).and_then(|micros| u64::try_from(micros).ok())
}

fn instant(text: &str) -> Option<i64> {
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds_to_micros(seconds);
    }
    let (date, rest) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, ""),
    };
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4, 4)?;
    let month = digits(parts.next()?, 2, 2).filter(|month| (1..=12).contains(month))?;
    let day = match parts.next() {
        Some(day) => digits(day, 2, 2)?,
        None if rest.is_empty() => 1,
        None => return None,
    };
    if parts.next().is_some() || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let midnight = days_from_date(year, month, day) * DAY_SECONDS * MICROS;
    if rest.is_empty() {
        return Some(midnight);
    }
    let (clock, offset_seconds) = offset(rest)?;
    Some(midnight + time_of_day(clock)? - offset_seconds * MICROS)
}

/// Splits `10:30:00+02:00` into the time of day and the offset in seconds.
fn offset(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock.trim(), 0));
    }
    let Some(at) = text.find(['+', '-']) else {
        return Some((text, 0));
    };
    let sign = if text.as_bytes()[at] == b'-' { -1 } else { 1 };
    let zone = &text[at + 1..];
    let (hours, minutes) = match zone.split_once(':') {
        Some((hours, minutes)) => (digits(hours, 2, 2)?, digits(minutes, 2, 2)?),
        None if zone.len() == 4 => (digits(zone.get(..2)?, 2, 2)?, digits(zone.get(2..)?, 2, 2)?),
        None => (digits(zone, 2, 2)?, 0),
    };
    (hours <= 18 && minutes < 60)
        .then_some((text[..at].trim(), sign * (hours * 3600 + minutes * 60)))
}

/// `10:30`, `10:30:00` or `10:30:00.25` in microseconds since midnight.
fn time_of_day(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let hours = digits(parts.next()?, 2, 2)?;
    let minutes = digits(parts.next()?, 2, 2)?;
    let seconds = match parts.next() {
        Some(seconds) => seconds_to_micros(seconds)?,
        None => 0,
    };
    let sane = hours < 24 && minutes < 60 && (0..60 * MICROS).contains(&seconds);
    (sane && parts.next().is_none()).then_some((hours * 3600 + minutes * 60) * MICROS + seconds)
}

/// `12` or `12.25` seconds in microseconds; what is finer is cut off.
fn seconds_to_micros(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = digits(whole, 1, 12)?;
    digits(fraction, 1, 18)?;
    let fraction = format!("{fraction:0<6}");
    Some(whole * MICROS + digits(&fraction[..6], 6, 6)?)
}

/// A number of `min` to `max` digits and nothing else.
fn digits(text: &str, min: usize, max: usize) -> Option<i64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || text.len() < min || text.len() > max {
        return None;
    }
    text.parse().ok()
}

/// `2026-11-21 09:31:55`, UTC; what is finer than a second is not shown.
pub fn show(micros: u64) -> String {
    let (year, month, day, seconds) = split(micros);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// `2026-11-21T09:31:55.123456Z`, for programs.
pub fn rfc3339(micros: u64) -> String {
    let show = show(micros).replace(' ', "T");
    format!("{show}.{:06}Z", micros % MICROS as u64)
}

/// `2026-11-21`.
pub fn date(micros: u64) -> String {
    let (year, month, day, _) = split(micros);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `Sat, 21 Nov 2026 09:31:55 GMT`, for HTTP (RFC 9110, section 5.6.7).
pub fn http_date(micros: u64) -> String {
    let (year, month, day, seconds) = split(micros);
    // 1970 began on a Thursday.
    let weekday = (micros / MICROS as u64 / DAY_SECONDS as u64 + 4) % 7;
    let mut text = String::with_capacity("Sat, 21 Nov 2026 09:31:55 GMT".len());
    text.push_str(WEEKDAYS[weekday as usize]);
    text.push_str(", ");
    put_two_digits(&mut text, day as u64);
    text.push(' ');
    text.push_str(MONTHS[month as usize - 1]);
    text.push(' ');
    put_two_digits(&mut text, year as u64 / 100);
    put_two_digits(&mut text, year as u64 % 100);
    for (before, number) in [(' ', seconds / 3600), (':', seconds / 60 % 60), (':', seconds % 60)] {
        text.push(before);
        put_two_digits(&mut text, number as u64);
    }
    text.push_str(" GMT");
    text
}

fn put_two_digits(text: &mut String, number: u64) {
    for digit in [number / 10 % 10, number % 10] {
        text.push((b'0' + digit as u8) as char);
    }
}

/// Reads what [`http_date`] writes; `None` for anything else.
pub fn parse_http_date(text: &str) -> Option<u64> {
    let (weekday, rest) = text.trim().split_once(", ")?;
    let rest = rest.strip_suffix(" GMT")?;
    let mut parts = rest.split(' ');
    let (day, month, year, clock) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    if !WEEKDAYS.contains(&weekday) || parts.next().is_some() {
        return None;
    }
    parse(&format!("{year}-{month:02}-{day} {clock}Z"))
}

/// Year, month, day, and seconds since midnight.
fn split(micros: u64) -> (i64, i64, i64, i64) {
    let seconds = (micros / MICROS as u64) as i64;
    let (year, month, day) = date_from_days(seconds.div_euclid(DAY_SECONDS));
    (year, month, day, seconds.rem_euclid(DAY_SECONDS))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the date.
fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date that lies `days` after 1970-01-01.
fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times as people say them count from now, in UTC; months end where months end.
    #[test]
    fn times_are_read_as_people_say_them() {
        let now = parse("2026-03-31 10:30:05").unwrap();
        for (said, meant) in [
            ("now", "2026-03-31 10:30:05"),
            ("Today", "2026-03-31"),
            ("yesterday", "2026-03-30"),
            ("an hour ago", "2026-03-31 09:30:05"),
            ("90 minutes ago", "2026-03-31 09:00:05"),
            ("1 second ago", "2026-03-31 10:30:04"),
            (" 2 weeks ago ", "2026-03-17 10:30:05"),
            ("1 month ago", "2026-02-28 10:30:05"),
            ("13 months ago", "2025-02-28 10:30:05"),
            ("a year ago", "2025-03-31 10:30:05"),
            ("2020-01", "2020-01-01"),
            ("2020-01-05 07:00", "2020-01-05 07:00"),
        ] {
            assert_eq!(parse_at(said, now), parse(meant), "{said}");
        }
        for said in [
            "tomorrow",
            "ago",
            "hour ago",
            "x hours ago",
            "2 fortnights ago",
            "100 years ago",
            "999999999 weeks ago",
            "2020-13",
            "2020-01 07:00",
            "",
        ] {
            assert_eq!(parse_at(said, now), None, "{said}");
        }
    }

    #[test]
    fn instants_are_read_in_every_form_that_the_help_names() {
        let noon = 1_795_262_400 * 1_000_000; // 2026-11-21 12:00 UTC
        for text in [
            "2026-11-21 12:00",
            "2026-11-21T12:00:00Z",
            "2026-11-21t12:00:00.000z",
            "2026-11-21 14:00:00+02:00",
            "2026-11-21 07:00-0500",
            "@1795262400",
        ] {
            assert_eq!(parse(text), Some(noon), "{text}");
        }
        assert_eq!(parse("2026-11-21"), Some(noon - 43_200_000_000));
        assert_eq!(parse("@1.25"), Some(1_250_000));
        assert_eq!(parse("1970-01-01 00:00:00.000001999"), Some(1));
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in [
            "",
            "now",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "2026-11-21 25:00",
            "1969-12-31",
            "2026-11-21 10",
            "2026-11-21 10:00:60",
            "2026-11-21 10:00 +2",
            "@",
            "@x",
            "@1.",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn every_day_of_400_years_comes_back() {
        for day in 0..146_097u64 {
            let text = date(day * 86_400_000_000);
            assert_eq!(parse(&text), Some(day * 86_400_000_000), "{text}");
        }
        assert_eq!(show(1_795_262_400_000_000), "2026-11-21 12:00:00");
        assert_eq!(http_date(1_795_262_400_000_000), "Sat, 21 Nov 2026 12:00:00 GMT");
        assert_eq!(parse_http_date("Sat, 21 Nov 2026 12:00:00 GMT"), Some(1_795_262_400_000_000));
        assert_eq!(parse_http_date("2026-11-21 12:00:00 GMT"), None);
        assert_eq!(rfc3339(1_795_262_400_000_001), "2026-11-21T12:00:00.000001Z");
    }
}
