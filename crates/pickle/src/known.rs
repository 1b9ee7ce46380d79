//! Calls that have a marker of their own: dates and times, decimals, UUIDs, sets.
//!
//! A pickle stores most of Python's own types as a call with a packed argument:
//!
//! ```text
//!   datetime.datetime(b'\x07\xe9 \x01 \x02 \x03 \x04 \x05 \x00\x02\xa6', zone)
//!                       year      month day  hour min  sec  microsecond
//! ```
//!
//! The first bit of the month (of the hour in a `time`) is the attribute `fold`. A call with other
//! arguments than these is written as the call that it is.

use std::fmt::Write;

use crate::error::Error;
use crate::tree::{Id, Node, Object};
use crate::view::{Call, Writer};

/// The zone of a time.
enum Zone<'t> {
    None,
    /// A fixed distance from UTC, and its name.
    Offset {
        microseconds: i64,
        name: Option<Id>,
    },
    /// The arguments of the constructor of `pytz`: the name of the zone first.
    Pytz(&'t [Id]),
    /// The key of a `zoneinfo.ZoneInfo`.
    Iana(Id),
    Other(Id),
}

const SECOND: i64 = 1_000_000;

impl<'t> Writer<'t, '_, '_> {
    /// Writes an object that has a marker. Returns false, and has written nothing, if it has none.
    pub fn known(&mut self, object: &Object) -> Result<bool, Error> {
        let tree = self.tree;
        if !object.items.is_empty() || !object.pairs.is_empty() {
            return Ok(false);
        }
        let Some(Call { class, args, .. }) = self.call_of(object) else { return Ok(false) };
        let Some(class) = tree.python3_class(class) else { return Ok(false) };
        if class == ("uuid", "UUID") {
            return Ok(self.uuid(args, object.state));
        }
        if object.state.is_some() {
            return Ok(false);
        }
        match class {
            ("builtins", "set") => self.called_set("{\"@set\":", args),
            ("builtins", "frozenset") => self.called_set("{\"@fset\":", args),
            ("decimal", "Decimal") => self.decimal(args),
            ("datetime", "timedelta") => {
                let Some((days, seconds, microseconds)) = self.timedelta(args) else {
                    return Ok(false);
                };
                self.open("{\"@td\":[", 2)?;
                self.raw(&format!("{days},{seconds},{microseconds}"));
                self.close("]}", 2);
                Ok(true)
            }
            ("datetime", "date") => {
                let &[packed] = args else { return Ok(false) };
                let Some(&[y, y2, month, day]) = tree.short_bytes(packed) else { return Ok(false) };
                let Some(date) = date(y, y2, month, day) else { return Ok(false) };
                self.marked("@date", &date);
                Ok(true)
            }
            ("datetime", "datetime") => {
                let Some((&packed, zone)) = args.split_first() else { return Ok(false) };
                let Some(&[y, y2, month, day, ref clock @ ..]) = tree.short_bytes(packed) else {
                    return Ok(false);
                };
                let (Some(mut text), Some(clock)) = (date(y, y2, month & 0x7f, day), time(clock))
                else {
                    return Ok(false);
                };
                text.push('T');
                text.push_str(&clock);
                self.time("{\"@dt\":\"", text, zone, month & 0x80 != 0)
            }
            ("datetime", "time") => {
                let Some((&packed, zone)) = args.split_first() else { return Ok(false) };
                let Some(&[hour, ref rest @ ..]) = tree.short_bytes(packed) else {
                    return Ok(false);
                };
                let mut clock = vec![hour & 0x7f];
                clock.extend_from_slice(rest);
                let Some(text) = time(&clock) else { return Ok(false) };
                self.time("{\"@time\":\"", text, zone, hour & 0x80 != 0)
            }
            _ => Ok(false),
        }
    }

    /// Protocols before 4 write a set as a call with a list.
    fn called_set(&mut self, before: &str, args: &[Id]) -> Result<bool, Error> {
        let items: &[Id] = match args {
            [] => &[],
            [items] => match self.tree.sequence(*items) {
                Some(items) => items,
                None => return Ok(false),
            },
            _ => return Ok(false),
        };
        self.marked_array(before, items)?;
        Ok(true)
    }

    fn decimal(&mut self, args: &[Id]) -> Result<bool, Error> {
        let &[text] = args else { return Ok(false) };
        let Some(text) = self.tree.text_of(text) else { return Ok(false) };
        self.open("{\"@dec\":", 1)?;
        self.text(text)?;
        self.close("}", 1);
        Ok(true)
    }

    /// A UUID keeps its number in the field `int` of its state.
    fn uuid(&mut self, args: &[Id], state: Option<Id>) -> bool {
        let tree = self.tree;
        let (true, Some(state)) = (args.is_empty(), state) else { return false };
        let Node::Dict(pairs) = tree.node(state) else { return false };
        let &[key, value] = pairs.as_slice() else { return false };
        if tree.text_of(key) != Some("int") {
            return false;
        }
        let number = match tree.node(value) {
            Node::Int(value) => u128::try_from(*value).ok(),
            Node::Big(value) => value.to_u128(),
            _ => None,
        };
        let Some(number) = number else { return false };
        let digits = format!("{number:032x}");
        let text = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        self.marked("@uuid", &text.join("-"));
        true
    }

    /// Days, seconds and microseconds of the call of `timedelta` with these arguments.
    fn timedelta(&self, args: &[Id]) -> Option<(i64, i64, i64)> {
        let &[days, seconds, microseconds] = args else { return None };
        let int = |id| self.tree.int_of(id);
        Some((int(days)?, int(seconds)?, int(microseconds)?))
    }

    /// Writes a date or time with its zone. `before` is all that stands before the text.
    fn time(
        &mut self,
        before: &str,
        mut text: String,
        zone: &[Id],
        is_fold: bool,
    ) -> Result<bool, Error> {
        let zone = match zone {
            [] => Zone::None,
            [zone] => self.zone(*zone),
            _ => return Ok(false),
        };
        if let Zone::Offset { microseconds, .. } = zone {
            push_offset(microseconds, &mut text);
        }
        self.open(before, 1)?;
        self.raw(&text);
        self.raw("\"");
        match zone {
            Zone::None | Zone::Offset { name: None, .. } => {}
            Zone::Offset { name: Some(name), .. } => {
                self.open(",\"@tz\":{\"name\":", 1)?;
                self.value(name)?;
                self.close("}", 1);
            }
            Zone::Pytz(args) => {
                self.open(",\"@tz\":{\"pytz\":", 1)?;
                self.array(args)?;
                if let Some(name) = args.first() {
                    self.raw(",\"name\":");
                    self.value(*name)?;
                }
                self.close("}", 1);
            }
            Zone::Iana(key) => {
                self.open(",\"@tz\":{\"zoneinfo\":", 1)?;
                self.value(key)?;
                self.close("}", 1);
            }
            Zone::Other(zone) => {
                self.raw(",\"@tz\":");
                self.value(zone)?;
            }
        }
        if is_fold {
            self.raw(",\"@fold\":1");
        }
        self.close("}", 1);
        Ok(true)
    }

    fn zone(&self, zone: Id) -> Zone<'t> {
        let tree = self.tree;
        match tree.node(zone) {
            Node::None => Zone::None,
            Node::Object(object) => self.zone_of(object).unwrap_or(Zone::Other(zone)),
            _ => Zone::Other(zone),
        }
    }

    fn zone_of(&self, object: &Object) -> Option<Zone<'t>> {
        let tree = self.tree;
        let args = tree.tuple_of(object.args)?;
        if object.state.is_some() {
            return None;
        }
        if self.is_zoneinfo(object.callable) {
            return match args {
                [key, _] => Some(Zone::Iana(*key)),
                _ => None,
            };
        }
        match (tree.class(object.callable)?, args) {
            (("pytz", "_UTC" | "_utc"), []) => Some(Zone::Offset { microseconds: 0, name: None }),
            (("pytz", "_p"), [_, ..]) => Some(Zone::Pytz(args)),
            (("pytz", "FixedOffset"), [minutes]) => {
                let microseconds = tree.int_of(*minutes)?.checked_mul(60 * SECOND)?;
                Some(Zone::Offset { microseconds, name: None })
            }
            (("datetime", "timezone"), [delta, name @ ..]) => {
                let Node::Object(delta) = tree.node(*delta) else { return None };
                if tree.class(delta.callable)? != ("datetime", "timedelta") {
                    return None;
                }
                let (days, seconds, microseconds) = self.timedelta(tree.tuple_of(delta.args)?)?;
                let seconds = days.checked_mul(86_400)?.checked_add(seconds)?;
                let microseconds = seconds.checked_mul(SECOND)?.checked_add(microseconds)?;
                Some(Zone::Offset { microseconds, name: name.first().copied() })
            }
            _ => None,
        }
    }

    /// True for the function that `zoneinfo` gives to pickle, in the two ways to name a method.
    fn is_zoneinfo(&self, callable: Id) -> bool {
        let tree = self.tree;
        if tree.class(callable) == Some(("zoneinfo", "ZoneInfo._unpickle")) {
            return true;
        }
        let Node::Object(getattr) = tree.node(callable) else { return false };
        let Some(&[class, name]) = tree.tuple_of(getattr.args) else { return false };
        tree.python3_class(getattr.callable) == Some(("builtins", "getattr"))
            && tree.class(class) == Some(("zoneinfo", "ZoneInfo"))
            && tree.text_of(name) == Some("_unpickle")
    }
}

/// An ISO date.
fn date(year: u8, year_low: u8, month: u8, day: u8) -> Option<String> {
    let year = u16::from_be_bytes([year, year_low]);
    let is_date =
        (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    is_date.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// An ISO time of six packed bytes.
fn time(packed: &[u8]) -> Option<String> {
    let &[hour, minute, second, a, b, c] = packed else { return None };
    let microsecond = u32::from_be_bytes([0, a, b, c]);
    if hour > 23 || minute > 59 || second > 59 || microsecond > 999_999 {
        return None;
    }
    let mut text = format!("{hour:02}:{minute:02}:{second:02}");
    if microsecond > 0 {
        let _ = write!(text, ".{microsecond:06}");
    }
    Some(text)
}

/// Appends an offset as Python's `isoformat` writes it: `+02:00`, with seconds if it has some.
fn push_offset(microseconds: i64, out: &mut String) {
    let size = microseconds.unsigned_abs();
    let (seconds, fraction) = (size / SECOND as u64, size % SECOND as u64);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    out.push(if microseconds < 0 { '-' } else { '+' });
    let _ = write!(out, "{hours:02}:{minutes:02}");
    if seconds > 0 || fraction > 0 {
        let _ = write!(out, ":{seconds:02}");
    }
    if fraction > 0 {
        let _ = write!(out, ".{fraction:06}");
    }
}
