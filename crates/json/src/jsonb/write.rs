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

use super::form::{Jsonb, JsonbRef, Value};
use super::walk::{Token, Walk};
use crate::tape::Kind;
use crate::text;

/// How values are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Line,
    Pretty,
}

impl JsonbRef<'_> {
    /// Appends the value as text.
    pub fn write_text(self, out: &mut Vec<u8>) {
        write(self, Layout::Line, out);
    }

    /// `jsonb_pretty`: the value as indented text.
    pub fn pretty(self) -> String {
        let mut out = Vec::new();
        write(self, Layout::Pretty, &mut out);
        into_text(out)
    }

    /// The value as SQL's text: strings as they are, nothing for `null`, and JSON for the rest.
    pub fn to_text(self) -> Option<String> {
        match self.value() {
            Value::Null => None,
            Value::String(string) => Some(string.to_owned()),
            _ => Some(self.to_json()),
        }
    }

    /// The value as text.
    pub fn to_json(self) -> String {
        let mut out = Vec::with_capacity(self.bytes().len() * 2);
        self.write_text(&mut out);
        into_text(out)
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

fn write(value: JsonbRef<'_>, layout: Layout, out: &mut Vec<u8>) {
    let mut depth = 0;
    // What stands directly before the next token.
    let (mut after_value, mut after_name) = (false, true);
    for token in Walk::new(value) {
        if let Token::Close(kind) = token {
            depth -= 1;
            if layout == Layout::Pretty {
                new_line(depth, out);
            }
            out.push(if kind == Kind::Array { b']' } else { b'}' });
            after_value = true;
            continue;
        }
        if after_value {
            out.push(b',');
        }
        if !after_name {
            match layout {
                Layout::Pretty => new_line(depth, out),
                Layout::Line if after_value => out.push(b' '),
                Layout::Line => {}
            }
        }
        (after_value, after_name) = (false, false);
        match token {
            Token::Name(name) => {
                string(name, out);
                out.extend_from_slice(b": ");
                after_name = true;
            }
            Token::Scalar(value) => {
                scalar(value, out);
                after_value = true;
            }
            Token::Array(_) => {
                out.push(b'[');
                depth += 1;
            }
            Token::Object(_) | Token::Close(_) => {
                out.push(b'{');
                depth += 1;
            }
        }
    }
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 4 * depth));
}

fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    text::escape_bytes_into(bytes, out);
    out.push(b'"');
}

fn scalar(value: JsonbRef<'_>, out: &mut Vec<u8>) {
    match value.kind() {
        Kind::String => string(value.payload(), out),
        Kind::Number => {
            if let Some(number) = value.as_number() {
                number.write_text(out);
            }
        }
        kind => out.extend_from_slice(kind.literal().as_bytes()),
    }
}
