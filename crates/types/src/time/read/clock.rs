//! Times of day and distances from Greenwich, as the texts of tokens have them.

use super::Fault;
use crate::time::SECOND_US;

/// The number in front, 0 for no digits, and what follows it.
pub(super) fn number(text: &str) -> Result<(i64, &str), Fault> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() {
        return Ok((0, rest));
    }
    let number: i32 = digits.parse().map_err(|_| Fault::Field)?;
    Ok((i64::from(number), rest))
}

/// The digits after a point, as a fraction; `text` starts with the point.
pub(super) fn fraction(text: &str) -> Result<f64, Fault> {
    let digits = &text[1..];
    if digits.is_empty() {
        return Ok(0.0);
    }
    if !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(Fault::Format);
    }
    text.parse().map_err(|_| Fault::Format)
}

/// The digits after a point, as microseconds of a second.
pub(super) fn fraction_us(text: &str) -> Result<i64, Fault> {
    Ok((fraction(text)? * 1e6).round_ties_even() as i64)
}

/// `hh:mm`, `hh:mm:ss`, `hh:mm:ss.fff` or `mm:ss.fff`: hours, minutes, seconds, microseconds. Two
/// whole numbers are minutes and seconds where `is_minute_first`. Hours are not limited.
pub(super) fn clock(text: &str, is_minute_first: bool) -> Result<(i64, i64, i64, i64), Fault> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let hour: i64 = text[..digits].parse().map_err(|_| Fault::Field)?;
    let rest = text[digits..].strip_prefix(':').ok_or(Fault::Format)?;
    let (minute, rest) = number(rest)?;
    let (hour, minute, second, us) = match rest.as_bytes().first() {
        None if is_minute_first => (0, hour, minute, 0),
        None => (hour, minute, 0, 0),
        Some(b'.') => (0, hour, minute, fraction_us(rest)?),
        Some(_) => {
            let (second, rest) = number(rest.strip_prefix(':').ok_or(Fault::Format)?)?;
            let us = match rest.as_bytes().first() {
                None => 0,
                Some(b'.') => fraction_us(rest)?,
                Some(_) => return Err(Fault::Format),
            };
            (hour, minute, second, us)
        }
    };
    if minute > 59 || second > 60 || us > SECOND_US {
        return Err(Fault::Field);
    }
    Ok((hour, minute, second, us))
}

/// `+hh`, `+hh:mm`, `+hh:mm:ss` or `+hhmm`, in seconds west of Greenwich.
pub(super) fn displacement(text: &str) -> Result<i32, Fault> {
    let is_west = text.starts_with('-');
    if !is_west && !text.starts_with('+') {
        return Err(Fault::Format);
    }
    let (mut hours, mut rest) = part_of_displacement(&text[1..])?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (minutes, rest) = part_of_displacement(after)?;
        if let Some(after) = rest.strip_prefix(':') {
            (seconds, rest) = part_of_displacement(after)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    if hours >= i64::from(ZONE_HOURS_END) || minutes >= 60 || seconds >= 60 {
        return Err(Fault::Displacement);
    }
    if !rest.is_empty() {
        return Err(Fault::Format);
    }
    let distance_s = ((hours * 60 + minutes) * 60 + seconds) as i32;
    Ok(if is_west { distance_s } else { -distance_s })
}

/// The hours, minutes or seconds of a displacement, and what follows them. There may be a sign, but
/// a negative number is none of them.
fn part_of_displacement(text: &str) -> Result<(i64, &str), Fault> {
    let is_digit = |c: char| c.is_ascii_digit();
    let unsigned = text.strip_prefix('-').filter(|rest| rest.starts_with(is_digit));
    let (value, rest) = number(unsigned.unwrap_or(text)).map_err(|_| Fault::Displacement)?;
    if unsigned.is_some() && value != 0 { Err(Fault::Displacement) } else { Ok((value, rest)) }
}

/// Farthest that a zone may be from Greenwich, in hours, this one not included.
const ZONE_HOURS_END: i32 = 16;
