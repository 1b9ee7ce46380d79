//! [`DirectText`]: from the parts of a JSON value to the text of the `jsonb` that it is, without one.
//!
//! ```text
//!   names and scalars, canonical ──Builder──> jsonb ──write_text──┐
//!                │                                                v
//!                └────────────────DirectText────────────> {"a": 1, "bc": [1, 2]}
//! ```
//!
//! A text that was `jsonb` once nearly always has its fields in the order of `jsonb` and its numbers
//! written as `jsonb` writes them. Then the text differs in spaces alone. Where it does not the walk is
//! stopped, and the way by the value is to be taken.

use std::cmp::Ordering;

use super::number;
use crate::{Kind, Sink, Stopped};

/// Bytes of text beyond which the value itself must say whether it can be.
const BYTES_MAX: usize = 64 << 20;

/// A [`Sink`] of canonical names and scalars that writes the text of their `jsonb`.
///
/// It stops where a field does not come in its place, or a scalar is not written as `jsonb` would.
#[derive(Debug, Default)]
pub struct DirectText {
    out: Vec<u8>,
    open: Vec<Open>,
    /// True for the first field or element of a container.
    is_first: bool,
    /// A field's name was written.
    is_named: bool,
}

/// A container that is open.
#[derive(Debug)]
struct Open {
    close: u8,
    /// Where the name of its last field lies in the text.
    name: (usize, usize),
}

impl DirectText {
    /// A text with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> DirectText {
        DirectText { out: Vec::with_capacity(bytes), is_first: true, ..DirectText::default() }
    }

    /// The text; `None` if a container is still open.
    pub fn finish(self) -> Option<String> {
        if self.open.is_empty() { String::from_utf8(self.out).ok() } else { None }
    }

    /// Separates a field, an element or a value from what stands before it.
    #[inline]
    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_named) && !std::mem::take(&mut self.is_first) {
            self.out.extend_from_slice(b", ");
        }
    }
}

/// True if a canonical text has escapes. It is mostly short, and looked at as a whole.
#[inline]
fn has_escapes(text: &[u8]) -> bool {
    text.iter().fold(false, |found, byte| found | (*byte == b'\\'))
}

impl Sink for DirectText {
    #[inline]
    fn name(&mut self, text: &[u8]) -> Result<(), Stopped> {
        let Some(open) = self.open.last_mut() else { return Err(Stopped) };
        let (start, end) = open.name;
        let before = &self.out[start..end];
        let is_next = match before.len().cmp(&text.len()) {
            Ordering::Less => true,
            Ordering::Equal => self.is_first || before < text,
            Ordering::Greater => false,
        };
        // With escapes the order of the texts is not that of the names.
        if !is_next || has_escapes(text) {
            return Err(Stopped);
        }
        self.separate();
        let Some(open) = self.open.last_mut() else { return Err(Stopped) };
        open.name = (self.out.len() + 1, self.out.len() + 1 + text.len());
        self.out.push(b'"');
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\": ");
        self.is_named = true;
        Ok(())
    }

    #[inline]
    fn scalar(&mut self, kind: Kind, text: &[u8]) -> Result<(), Stopped> {
        self.separate();
        match kind {
            Kind::String => {
                // A NUL is none of `jsonb`'s, whose way to say so is to be taken.
                if has_escapes(text) && memchr::memmem::find(text, b"u0000").is_some() {
                    return Err(Stopped);
                }
                self.out.push(b'"');
                self.out.extend_from_slice(text);
                self.out.push(b'"');
            }
            Kind::Number if number::is_as_written(text) => self.out.extend_from_slice(text),
            Kind::Number => return Err(Stopped),
            Kind::True => self.out.extend_from_slice(b"true"),
            Kind::False => self.out.extend_from_slice(b"false"),
            _ => self.out.extend_from_slice(b"null"),
        }
        if self.out.len() > BYTES_MAX { Err(Stopped) } else { Ok(()) }
    }

    #[inline]
    fn open(&mut self, kind: Kind) -> Result<(), Stopped> {
        self.separate();
        let (open, close) = if kind == Kind::Object { (b'{', b'}') } else { (b'[', b']') };
        self.out.push(open);
        self.open.push(Open { close, name: (0, 0) });
        self.is_first = true;
        Ok(())
    }

    #[inline]
    fn close(&mut self) -> Result<(), Stopped> {
        let Some(open) = self.open.pop() else { return Err(Stopped) };
        self.out.push(open.close);
        self.is_first = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonb::Jsonb;
    use crate::{Limits, parse_slice};

    /// The text that a text becomes; none if the walk was stopped.
    fn direct(text: &str) -> Option<String> {
        let mut sink = DirectText::with_capacity(0);
        parse_slice(text.as_bytes(), &Limits::default(), &mut sink).ok()?;
        sink.finish()
    }

    /// The same text as by way of the value, or none.
    #[test]
    fn as_the_value_says() {
        let same = |text: &str| {
            assert_eq!(direct(text).as_deref(), Some(&*Jsonb::parse(text).unwrap().to_json()));
        };
        for text in ["1", "-1.50", "\"\"", "null", "true", "[]", "{}", "\"a\\n\\\"b\\\\\"", "0"] {
            same(text);
        }
        same(r#"{"a":[1,[],{},[{"":1,"b":"x"}],false],"b":{"a":null,"ab":-0.5},"ba":"","zz":[2]}"#);
        same(r#"{"":{"":{"":1}},"0":""}"#);
    }

    /// A text that the value would write otherwise, or refuse, is left to the value.
    #[test]
    fn what_differs_is_left_to_the_value() {
        for text in [
            r#"{"b":1,"a":2}"#,
            r#"{"aa":1,"b":2}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"":1,"":2}"#,
            r#"{"a\n":1}"#,
            "1e2",
            "1E400000",
            "-0",
            "-0.00",
            r#""\u0000""#,
        ] {
            assert_eq!(direct(text), None, "{text}");
        }
    }
}
