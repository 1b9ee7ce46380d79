//! A value as text, exactly as PostgreSQL prints it.
//!
//! ```text
//!   to_text     {"a": 1, "b": [1, 2]}        a space after each comma and each colon
//!
//!   pretty      {                            a line for each value, four spaces for each level,
//!                   "a": 1,                  and two lines for what is empty
//!                   "b": [
//!                       1,
//!                       2
//!                   ]
//!               }
//! ```

use std::ops::Range;

use interrupt::{Interrupted, Pace};

use super::form::{Jsonb, JsonbRef, STRING, Slots, Value};
use crate::scan::{self, BLOCK_BYTES};
use crate::text;

/// How values are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Line,
    Pretty,
}

impl JsonbRef<'_> {
    /// Appends the value as text.
    ///
    /// # Errors
    /// [`Interrupted`]; `out` has a part of the text then.
    pub fn write_text(self, out: &mut Vec<u8>) -> Result<(), Interrupted> {
        write(self, Layout::Line, out)
    }

    /// Appends the value to a text.
    ///
    /// # Errors
    /// [`Interrupted`]; `out` is empty or unchanged then.
    pub fn push_text(self, out: &mut String) -> Result<(), Interrupted> {
        if out.is_empty() {
            let mut bytes = std::mem::take(out).into_bytes();
            bytes.reserve(self.bytes().len() / 2 * 3 + BLOCK_BYTES);
            self.write_text(&mut bytes)?;
            *out = into_text(bytes);
        } else {
            out.push_str(&self.try_to_json()?);
        }
        Ok(())
    }

    /// `jsonb_pretty`: the value as indented text.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn pretty(self) -> Result<String, Interrupted> {
        let mut out = Vec::new();
        write(self, Layout::Pretty, &mut out)?;
        Ok(into_text(out))
    }

    /// The value as SQL's text: strings as they are, nothing for `null`, and JSON for the rest.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn to_text(self) -> Result<Option<String>, Interrupted> {
        Ok(match self.value() {
            Value::Null => None,
            Value::String(string) => Some(string.to_owned()),
            _ => Some(self.try_to_json()?),
        })
    }

    /// The value as text.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn try_to_json(self) -> Result<String, Interrupted> {
        let mut out = Vec::with_capacity(self.bytes().len() * 2);
        self.write_text(&mut out)?;
        Ok(into_text(out))
    }

    /// The value as text, also where the statement was told to stop: for messages.
    pub fn to_json(self) -> String {
        interrupt::shielded(|| self.try_to_json()).unwrap_or_default()
    }
}

impl std::fmt::Display for JsonbRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl std::fmt::Debug for JsonbRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl Jsonb {
    /// The value as text.
    pub fn to_json(&self) -> String {
        self.root().to_json()
    }
}

/// Text that is UTF-8 as long as the value is good.
fn into_text(out: Vec<u8>) -> String {
    String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A container that is being written.
struct Open<'a> {
    slots: Slots<'a>,
    is_object: bool,
    /// The next of its fields or elements.
    next: usize,
    /// Where the name of the next field begins, and its value or the next element.
    name: usize,
    value: usize,
}

impl<'a> Open<'a> {
    fn new(slots: Slots<'a>, is_object: bool) -> Open<'a> {
        let value = if is_object { slots.start(slots.count) } else { 0 };
        Open { slots, is_object, next: 0, name: 0, value }
    }
}

fn write(value: JsonbRef<'_>, layout: Layout, out: &mut Vec<u8>) -> Result<(), Interrupted> {
    let mut open = Vec::new();
    let (mut pace, mut paid) = (Pace::new(), out.len());
    enter(value, &mut open, out);
    loop {
        let depth = open.len();
        let Some(container) = open.last_mut() else { return Ok(()) };
        pace.step(out.len() - paid)?;
        paid = out.len();
        let Open { slots, is_object, next, name, value } = container;
        let slots = *slots;
        if *next == slots.count {
            let close = if *is_object { b'}' } else { b']' };
            open.pop();
            if layout == Layout::Pretty {
                new_line(depth - 1, out);
            }
            out.push(close);
            continue;
        }
        match (layout, *next > 0) {
            (Layout::Line, true) => out.extend_from_slice(b", "),
            (Layout::Line, false) => {}
            (Layout::Pretty, after_another) => {
                if after_another {
                    out.push(b',');
                }
                new_line(depth, out);
            }
        }
        let mut slot = *next;
        if *is_object {
            let end = slots.end(slot);
            string(slots.body, *name..end, out);
            out.extend_from_slice(b": ");
            *name = end;
            slot += slots.count;
        }
        let end = slots.end(slot);
        let place = *value..end;
        (*next, *value) = (*next + 1, end);
        match slots.body.get(place.clone()) {
            Some([STRING, ..]) => string(slots.body, place.start + 1..end, out),
            Some(bytes) => enter(JsonbRef::new(bytes), &mut open, out),
            None => {}
        }
    }
}

/// Writes a scalar, or opens a container.
#[inline]
fn enter<'a>(value: JsonbRef<'a>, open: &mut Vec<Open<'a>>, out: &mut Vec<u8>) {
    match value.value() {
        Value::Array(array) => {
            out.push(b'[');
            open.push(Open::new(array.0, false));
        }
        Value::Object(object) => {
            out.push(b'{');
            open.push(Open::new(object.0, true));
        }
        Value::Number(number) => number.write_text(out),
        Value::String(_) => string(value.payload(), 0..value.payload().len(), out),
        _ => out.extend_from_slice(value.kind().literal().as_bytes()),
    }
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 4 * depth));
}

/// Writes the string that lies in a part of some bytes.
#[inline]
fn string(body: &[u8], place: Range<usize>, out: &mut Vec<u8>) {
    let Some(bytes) = body.get(place.clone()) else { return out.extend_from_slice(b"\"\"") };
    out.push(b'"');
    // A short text is copied with the bytes after it: that needs no call.
    match body[place.start..].first_chunk::<BLOCK_BYTES>() {
        Some(block) if bytes.len() <= BLOCK_BYTES && scan::is_plain_block(block, bytes.len()) => {
            out.extend_from_slice(block);
            out.truncate(out.len() - BLOCK_BYTES + bytes.len());
        }
        _ => text::escape_bytes_into(bytes, out),
    }
    out.push(b'"');
}
