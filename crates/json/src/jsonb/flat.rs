//! Objects of scalars from text in one pass: most documents of tables are such objects.
//!
//! ```text
//!   {"os": "ios", "n": 1}     places   "n" 4..6, "os" 0..4, in the order of names
//!                             values   the form of each value, as it was read
//! ```
//!
//! A text of any other shape, and one that is wrong, is left to the [`Builder`](super::Builder), which knows all shapes
//! and all errors.

use super::form::{FALSE, Jsonb, JsonbRef, NULL, STRING, TRUE};
use super::{number, write_object};
use crate::scan::{self, Scan};

/// The most fields of an object that is made here.
const FIELDS_MAX: usize = 32;
/// The most bytes of its text: far below every limit.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// The value of a text that is an object of scalars with different names and without escapes; `None` for others.
pub(super) fn parse(text: &str) -> Option<Jsonb> {
    let bytes = text.as_bytes();
    if bytes.len() > TEXT_BYTES_MAX || bytes.first() != Some(&b'{') {
        return None;
    }
    // The name of each field, and where its value lies among the values.
    let mut places = [("", 0, 0); FIELDS_MAX];
    let mut values = Vec::with_capacity(bytes.len() + FIELDS_MAX);
    let (mut at, mut count) = (1, 0);
    loop {
        let name = string(bytes, past_space(bytes, at))?;
        at = past_space(bytes, name.1 + 1);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        let from = values.len();
        at = past_space(bytes, scalar(bytes, past_space(bytes, at + 1), &mut values)?);
        *places.get_mut(count)? = (&text[name.0..name.1], from, values.len());
        count += 1;
        match bytes.get(at)? {
            b',' => at += 1,
            b'}' => break,
            _ => return None,
        }
    }
    if past_space(bytes, at + 1) != bytes.len() {
        return None;
    }
    let places = &mut places[..count];
    places.sort_unstable_by_key(|(name, ..)| (name.len(), *name));
    if places.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return None;
    }
    let field =
        |(name, from, end): &(_, usize, usize)| (*name, JsonbRef::new(&values[*from..*end]));
    let fields: Vec<(&str, JsonbRef<'_>)> = places.iter().map(field).collect();
    let mut object = Vec::with_capacity(2 * bytes.len());
    write_object(&fields, &mut object);
    Some(Jsonb::of_slice(&object))
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
