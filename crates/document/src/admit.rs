//! A document holds only values that SQL's `jsonb` can hold.
//!
//! ```text
//!   put · edit · import · transaction ──> check_values ──> nodes
//!   document of an older release      ──> marked        ──> jsonb, with the value as a string
//! ```
//!
//! SQL reads the documents of all collections, also of those that no statement made. A number beyond
//! `numeric` and a NUL in a string or a name are JSON, but no `jsonb`: a scan of the collection would end
//! there. So every writer refuses them. Releases before 0.9 took them. Where SQL reads such a document, it
//! gets the number as a string of its text, and the NUL as the six characters of its escape. A notice names
//! the document. JSON readers get the text that was written.

use crate::Result;
use crate::error::DocumentError;
use json::jsonb::{Jsonb, JsonbError};
use json::{JsonPath, Kind, Step, Tape};

/// Numbers of at most so many bytes, and with an exponent of at most so much, are in range.
const SHORT_BYTES: usize = 100;
const EXPONENT_SMALL: i32 = 999;

/// Fails with the path of the first value that no document can hold.
pub(crate) fn check_values(tape: &Tape) -> Result<()> {
    match first_bad(tape) {
        None => Ok(()),
        Some((index, source)) => {
            Err(DocumentError::Unstorable { at: path_in(tape, index).to_string(), source })
        }
    }
}

fn first_bad(tape: &Tape) -> Option<(usize, JsonbError)> {
    // Most documents have no escapes: they are looked through at once.
    let has_escapes = tape.heap.contains(&b'\\');
    let mut at = 0;
    for index in 0..tape.len() {
        let text = &tape.heap[at..at + tape.text_lens[index] as usize];
        at += text.len();
        if tape.kinds[index] != Kind::Number && !has_escapes {
            continue;
        }
        let (name, value) = text.split_at(tape.name_len(index).unwrap_or(0));
        if let Err(source) = check_text(name).and_then(|()| check_scalar(tape.kinds[index], value))
        {
            return Some((index, source));
        }
    }
    None
}

/// The path from the root of a tape to one of its nodes.
fn path_in(tape: &Tape, mut index: usize) -> JsonPath {
    let mut steps = Vec::new();
    while tape.ups[index] > 0 {
        let parent = index - tape.ups[index] as usize;
        let at: usize = tape.text_lens[..index].iter().map(|len| *len as usize).sum();
        steps.push(match tape.name_len(index) {
            Some(len) => Step::Field(json::text::unescape(&tape.heap[at..at + len]).into_owned()),
            None => {
                let is_before = |child: &usize| child - parent == tape.ups[*child] as usize;
                Step::Index((parent + 1..index).filter(is_before).count())
            }
        });
        index = parent;
    }
    steps.reverse();
    JsonPath { steps }
}

/// Fails if `jsonb` cannot hold a scalar; containers have no text.
pub(crate) fn check_scalar(kind: Kind, text: &[u8]) -> Result<(), JsonbError> {
    if kind == Kind::Number {
        return match is_in_range(text) {
            true => Ok(()),
            false => Jsonb::parse(&String::from_utf8_lossy(text)).map(drop),
        };
    }
    check_text(text)
}

/// True of numbers that are in range whatever their digits are.
fn is_in_range(number: &[u8]) -> bool {
    let exponent = number.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let is_small = |at: usize| {
        let exponent = std::str::from_utf8(&number[at + 1..]).unwrap_or_default();
        exponent.parse::<i32>().is_ok_and(|exponent| exponent.abs() <= EXPONENT_SMALL)
    };
    number.len() <= SHORT_BYTES && exponent.is_none_or(is_small)
}

/// Fails if an escaped text has a NUL.
pub(crate) fn check_text(text: &[u8]) -> Result<(), JsonbError> {
    match nul_in(text) {
        false => Ok(()),
        true => Jsonb::parse(&format!("\"{}\"", String::from_utf8_lossy(text))).map(drop),
    }
}

fn nul_in(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        if rest[at + 1..].starts_with(b"u0000") {
            return true;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

/// A value that an older release took and `jsonb` cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Where it stands.
    pub path: JsonPath,
    /// Why `jsonb` cannot hold it.
    pub why: JsonbError,
}

/// The text of a document, with a string in the place of each value that `jsonb` cannot hold, and the list
/// of these values.
pub(crate) fn marked(text: &[u8]) -> Result<(Vec<u8>, Vec<Marked>)> {
    let mut tape = crate::limits::parse(text)?;
    let mut marks = Vec::new();
    while let Some((index, why)) = first_bad(&tape) {
        marks.push(Marked { path: path_in(&tape, index), why });
        let at: usize = tape.text_lens[..index].iter().map(|len| *len as usize).sum();
        let end = at + tape.text_lens[index] as usize;
        let name = tape.name_len(index).unwrap_or(0);
        // A backslash more makes of an escape the characters that it is written with.
        let shown_name = shown(&tape.heap[at..at + name]);
        let shown_text = shown(&tape.heap[at + name..end]);
        if tape.kinds[index] == Kind::Number && check_scalar(Kind::Number, &shown_text).is_err() {
            tape.kinds[index] = Kind::String;
        }
        if tape.name_len(index).is_some() {
            tape.name_lens[index] = shown_name.len() as u32;
        }
        tape.text_lens[index] = (shown_name.len() + shown_text.len()) as u32;
        tape.heap.splice(at..end, [shown_name, shown_text].concat());
    }
    Ok((tape.to_json().into_bytes(), marks))
}

/// A document's JSON as a `jsonb`, with a string in the place of each value that `jsonb` cannot hold.
pub fn jsonb_of(text: &str) -> Result<Jsonb> {
    match Jsonb::parse(text) {
        Err(refusal) => match marked(text.as_bytes())? {
            (_, marks) if marks.is_empty() => Err(refusal.into()),
            (text, _) => Ok(Jsonb::parse(&String::from_utf8_lossy(&text))?),
        },
        value => Ok(value?),
    }
}

fn shown(escaped: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(escaped.len() + 1);
    let mut rest = escaped;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        if escape[1..].starts_with(b"u0000") {
            out.push(b'\\');
        }
        let taken = escape.len().min(2);
        // The backslash that was added belongs to the one that is there.
        out.extend_from_slice(&escape[..taken]);
        rest = &escape[taken..];
    }
    out.extend_from_slice(rest);
    out
}

/// Fails if the key of a new document has a NUL, which no text of SQL can hold.
pub(crate) fn check_key(key: &str) -> Result<()> {
    match key.contains('\0') {
        true => Err(DocumentError::BadKey("has a NUL, which no text of SQL can hold")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error names the place, by path, in the order of the document.
    #[test]
    fn the_first_value_that_cannot_be_held_is_named() {
        let check = |text: &str, place: Option<&str>| {
            let tape = crate::limits::parse(text.as_bytes()).expect("it is JSON");
            let found = check_values(&tape).err().map(|error| match error {
                DocumentError::Unstorable { at, .. } => at,
                other => panic!("{other}"),
            });
            assert_eq!(found.as_deref(), place, "{text}");
        };
        check(r#"{"a":[1,1e131071,-1e-900,"\\u0000"]}"#, None);
        check(r#"{"a":[1,{"b":2},1e131072]}"#, Some("$.a[2]"));
        check(r#"{"a":[1,"x\\\u0000"],"b":1e999999999999}"#, Some("$.a[1]"));
        check(r#"1e-2147483649"#, Some("$"));
        check(r#"{"a":{"x\u0000":1}}"#, Some("$.a.\"x\\u0000\""));
        check(&format!("[{}]", "9".repeat(131_073)), Some("$[0]"));
    }

    /// A document that an older release took is read with each such value as a string that shows it.
    #[test]
    fn what_an_older_release_took_is_marked() {
        let (text, marks) =
            marked(br#"{"n":1e131072,"s":"a\u0000b","k\u0000":1e999999999,"ok":[1.50]}"#)
                .expect("it is JSON");
        assert_eq!(
            String::from_utf8_lossy(&text),
            r#"{"n":"1e131072","s":"a\\u0000b","k\\u0000":"1e999999999","ok":[1.50]}"#
        );
        let paths: Vec<String> = marks.iter().map(|mark| mark.path.to_string()).collect();
        assert_eq!(paths, ["$.n", "$.s", "$.\"k\\u0000\""]);
        assert!(Jsonb::parse(std::str::from_utf8(&text).expect("it is UTF-8")).is_ok());
    }
}
