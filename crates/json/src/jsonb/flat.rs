//! Objects of scalars from text in one pass: what most documents of a table are.
//!
//! ```text
//!   {"os": "ios", "n": 1}     fields   "n" 0..2, "os" 2..6, in the order of names
//!                             bytes    the values, and behind them the whole form
//! ```
//!
//! A text of any other shape, and one that is wrong, is left to the [`Builder`](super::Builder), which knows all shapes
//! and all errors.

use super::form::{FALSE, Jsonb, NULL, OBJECT, STRING, TRUE, Width};
use super::number;
use crate::scan::{self, Scan};

/// The most fields of an object that is made here.
const FIELDS_MAX: usize = 32;
/// The most bytes of its text: far below every limit.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// A field: where its name lies in the text, and its value among the values.
#[derive(Clone, Copy, Default)]
struct Field {
    /// Compares as names do, but for long ones that begin alike.
    order: (usize, u64),
    name: usize,
    value: (usize, usize),
}

/// The value of a text that is an object of scalars with different names and without escapes; `None` for others.
pub(super) fn parse(text: &str) -> Option<Jsonb> {
    let text = text.as_bytes();
    if text.len() > TEXT_BYTES_MAX || text.first() != Some(&b'{') {
        return None;
    }
    let mut fields = [Field::default(); FIELDS_MAX];
    let mut bytes = Vec::with_capacity(2 * text.len() + FIELDS_MAX);
    let (mut at, mut count) = (1, 0);
    loop {
        let name = string(text, past_space(text, at))?;
        at = past_space(text, name.1 + 1);
        if text.get(at) != Some(&b':') {
            return None;
        }
        let from = bytes.len();
        at = past_space(text, scalar(text, past_space(text, at + 1), &mut bytes)?);
        let (order, value) = (order_of(&text[name.0..name.1]), (from, bytes.len()));
        *fields.get_mut(count)? = Field { order, name: name.0, value };
        count += 1;
        match text.get(at)? {
            b',' => at += 1,
            b'}' => break,
            _ => return None,
        }
    }
    if past_space(text, at + 1) != text.len() {
        return None;
    }
    let fields = &mut fields[..count];
    let name = |field: &Field| &text[field.name..field.name + field.order.0];
    fields.sort_unstable_by(|one, other| {
        one.order.cmp(&other.order).then_with(|| name(one).cmp(name(other)))
    });
    if fields.windows(2).any(|pair| name(&pair[0]) == name(&pair[1])) {
        return None;
    }
    let start = bytes.len();
    let names: usize = fields.iter().map(|field| field.order.0).sum();
    let width = Width::of((names + start).max(count));
    bytes.push(width.tag(OBJECT));
    width.write(count, &mut bytes);
    let mut end = 0;
    for field in &*fields {
        end += field.order.0;
        width.write(end, &mut bytes);
    }
    for Field { value, .. } in &*fields {
        end += value.1 - value.0;
        width.write(end, &mut bytes);
    }
    fields.iter().for_each(|field| bytes.extend_from_slice(name(field)));
    fields.iter().for_each(|field| bytes.extend_from_within(field.value.0..field.value.1));
    Some(Jsonb::of_slice(&bytes[start..]))
}

fn past_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// Where the string that begins with the quote at `at` lies, without its quotes.
#[inline]
fn string(text: &[u8], at: usize) -> Option<(usize, usize)> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    match scan::string(text, at + 1).ok()? {
        Scan::Whole(token) if !token.escaped => Some((at + 1, token.end)),
        _ => None,
    }
}

/// Appends the form of the scalar at `at`, and returns where it ends.
#[inline]
fn scalar(text: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let (tag, word): (u8, &[u8]) = match text.get(at)? {
        b'"' => {
            let (start, end) = string(text, at)?;
            out.push(STRING);
            out.extend_from_slice(&text[start..end]);
            return Some(end + 1);
        }
        b'-' | b'0'..=b'9' => {
            let Scan::Whole(end) = scan::number(text, at, true).ok()? else { return None };
            number::push_text(&text[at..end], out).ok()?;
            return Some(end);
        }
        b't' => (TRUE, b"true"),
        b'f' => (FALSE, b"false"),
        _ => (NULL, b"null"),
    };
    out.push(tag);
    text[at..].starts_with(word).then_some(at + word.len())
}

/// The length of a name, and its first 8 bytes as a number that compares as they do.
fn order_of(name: &[u8]) -> (usize, u64) {
    let prefix = match name.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => name.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    };
    (name.len(), prefix)
}
