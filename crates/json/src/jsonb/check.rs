//! The proof that bytes are a value, before anything trusts them.
//!
//! One pass, without recursion. Memory: a few words for each container that is open, so never more
//! than a small multiple of the bytes.

use super::error::JsonbError;
use super::form::{ARRAY, FALSE, INTEGER, JsonbRef, LONG, NULL, OBJECT, STRING, TRUE, Width};
use super::number::Number;

/// A container whose slots are being looked at.
struct Open<'a> {
    ends: &'a [u8],
    width: usize,
    body: &'a [u8],
    /// Slots that are names; they come first.
    names: usize,
    slots: usize,
    next: usize,
    /// Where the next slot begins.
    start: usize,
}

/// Proves every invariant of the form.
pub(super) fn check(bytes: &[u8]) -> Result<(), JsonbError> {
    let mut open: Vec<Open<'_>> = Vec::new();
    open.extend(enter(bytes)?);
    while let Some(container) = open.last_mut() {
        if container.next == container.slots {
            if container.start != container.body.len() {
                return Err(JsonbError::Damaged("a container with bytes to spare"));
            }
            open.pop();
            continue;
        }
        let slot = container.next;
        let end = read(&container.ends[slot * container.width..][..container.width]);
        let bytes = container.body.get(container.start..end);
        let bytes = bytes.ok_or(JsonbError::Damaged("an end that is out of order"))?;
        let is_name = slot < container.names;
        if is_name {
            name(container, bytes)?;
        }
        (container.next, container.start) = (slot + 1, end);
        if !is_name {
            open.extend(enter(bytes)?);
        }
    }
    Ok(())
}

fn read(number: &[u8]) -> usize {
    number.iter().rev().fold(0, |value, &byte| value << 8 | byte as usize)
}

/// Proves the name in the next slot, which is `bytes`, against the one before it.
fn name(container: &Open<'_>, bytes: &[u8]) -> Result<(), JsonbError> {
    text(bytes)?;
    let Some(before) = container.next.checked_sub(1) else { return Ok(()) };
    let start = match before.checked_sub(1) {
        Some(slot) => read(&container.ends[slot * container.width..][..container.width]),
        None => 0,
    };
    let before = &container.body[start..container.start];
    if before.len().cmp(&bytes.len()).then_with(|| before.cmp(bytes)).is_lt() {
        Ok(())
    } else {
        Err(JsonbError::Damaged("names that do not ascend"))
    }
}

fn text(bytes: &[u8]) -> Result<(), JsonbError> {
    if std::str::from_utf8(bytes).is_err() || memchr::memchr(0, bytes).is_some() {
        return Err(JsonbError::Damaged("text that is not UTF-8, or has a NUL"));
    }
    Ok(())
}

/// Proves a scalar, or the head of a container, which is returned with what is still to prove.
fn enter(bytes: &[u8]) -> Result<Option<Open<'_>>, JsonbError> {
    let value = JsonbRef::new(bytes);
    let payload = value.payload();
    let tag = *bytes.first().ok_or(JsonbError::Damaged("a value without bytes"))?;
    match tag {
        NULL | FALSE | TRUE if payload.is_empty() => Ok(None),
        NULL | FALSE | TRUE => Err(JsonbError::Damaged("a literal with a payload")),
        STRING => text(payload).map(|()| None),
        INTEGER..=LONG => Number::new(tag, payload).check().map(|()| None),
        _ => container(tag, payload).map(Some),
    }
}

fn container(tag: u8, payload: &[u8]) -> Result<Open<'_>, JsonbError> {
    let short = JsonbError::Damaged("a container that is cut off");
    let (kind, log_width) = (tag & !3, tag & 3);
    if !matches!(kind, ARRAY | OBJECT) || log_width == 3 {
        return Err(JsonbError::Damaged("a tag that there is not"));
    }
    let width = 1 << log_width;
    let (count, rest) = payload.split_at_checked(width).ok_or(short.clone())?;
    let count = read(count);
    let slots = if kind == ARRAY { count } else { 2 * count };
    let (ends, body) = rest.split_at_checked(slots * width).ok_or(short)?;
    if Width::of(count.max(body.len())).bytes() != width {
        return Err(JsonbError::Damaged("a table that is wider than it must be"));
    }
    Ok(Open { ends, width, body, names: slots - count, slots, next: 0, start: 0 })
}
