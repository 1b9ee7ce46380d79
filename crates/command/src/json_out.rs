//! A small writer of JSON, for the answers that `--json` asks for.
//!
//! Documents pass through as they stand (`raw`): numbers keep their digits.

use std::fmt::{Display, Write as _};

/// An object being written, field by field.
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// A field with a string.
    pub(crate) fn text(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        quote(&mut self.0, value);
        self
    }

    /// A field with a number or a boolean.
    pub(crate) fn plain(mut self, name: &str, value: impl Display) -> Self {
        self.name(name);
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{value}");
        self
    }

    /// A field with a value that is JSON already.
    pub(crate) fn raw(mut self, name: &str, json: &str) -> Self {
        self.name(name);
        self.0.push_str(json);
        self
    }

    /// A field with a value that may be missing (`null`).
    pub(crate) fn text_or_null(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        quote(&mut self.0, name);
        self.0.push(':');
    }
}

/// An array of values that are JSON already.
pub(crate) fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

/// The text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(&mut out, text);
    out
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_separated_and_texts_escaped() {
        let json = Object::new()
            .text("a\"b", "x\n\u{1}é")
            .plain("n", 3)
            .raw("doc", "[1.0]")
            .text_or_null("none", None)
            .end();
        assert_eq!(json, "{\"a\\\"b\":\"x\\n\\u0001é\",\"n\":3,\"doc\":[1.0],\"none\":null}");
        assert_eq!(array(["1".to_owned(), "2".to_owned()]), "[1,2]");
        assert_eq!(Object::new().end(), "{}");
    }
}
