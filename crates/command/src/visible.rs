//! User data on a terminal: the command shows control characters as escapes.
//!
//! ```text
//!   author  "ada\x1b]0;owned\x07"       on a terminal   ada\u001b]0;owned\u0007
//!                                       in a pipe       as it is
//! ```
//!
//! A terminal obeys what it reads: it changes its title, moves the cursor, hides text, and turns the
//! direction of what follows. Keys, authors, messages and values may hold anything, so none of them gets
//! there as it is. The escape is that of JSON, so that JSON stays JSON.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use terminal::visible::escaped;

/// True if standard output is a terminal.
pub(crate) fn on_terminal() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| io::stdout().is_terminal())
}

/// Text of several lines, with all escaped but line breaks and tabs.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// A name or a value that stands within a line, as standard output shows it.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match on_terminal() {
        true => escaped(text, |_| false),
        false => Cow::Borrowed(text),
    }
}

/// The bytes of the sequence that sets a colour at the beginning of a text; `None` if there is none.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

/// The same as [`visible`], of text that has colours of our own.
pub(crate) fn visible_painted(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return visible(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out += &visible(&rest[..at]);
        let taken = colour(&rest[at..]);
        match taken {
            Some(len) => out += &rest[at..at + len],
            None => out += "\\u001b",
        }
        rest = &rest[at + taken.unwrap_or(1)..];
    }
    out += &visible(rest);
    Cow::Owned(out)
}

/// Passes bytes on as they are, or to a terminal as it may see them.
pub(crate) struct Shown<W: Write> {
    to: W,
    is_terminal: bool,
    is_painted: bool,
    /// The beginning of a character, or of a colour, whose end comes with the next bytes.
    begun: Vec<u8>,
}

/// Bytes of the longest colour that waits for its end.
const COLOUR_BYTES_MAX: usize = 32;

impl<W: Write> Shown<W> {
    /// To `to`, which is a terminal or not; `is_painted` where the bytes have colours of our own.
    pub(crate) fn new(to: W, is_terminal: bool, is_painted: bool) -> Shown<W> {
        Shown { to, is_terminal, is_painted, begun: Vec::new() }
    }

    fn give(&mut self, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(bytes);
        let shown = if self.is_painted { visible_painted(&text) } else { visible(&text) };
        self.to.write_all(shown.as_bytes())
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.to.write(bytes);
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut end = match str::from_utf8(&all) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => all.len(),
        };
        if let Some(at) = all[..end].iter().rposition(|byte| *byte == 0x1b)
            && self.is_painted
            && end - at < COLOUR_BYTES_MAX
            && all[at + 1..end].iter().all(|byte| matches!(byte, b'[' | b';' | b'0'..=b'9'))
        {
            end = at;
        }
        self.begun = all.split_off(end);
        self.give(&all)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        self.give(&begun)?;
        self.to.flush()
    }
}

impl<W: Write> Drop for Shown<W> {
    fn drop(&mut self) {
        // The error cannot be reported any more.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters that a terminal would obey are written as escapes; visible ones are left alone.
    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        let text = "é\t\u{1f600}\n\u{1b}]0;owned\u{7}\u{9b}2J\u{7f}\u{202e}gpj\u{2066}\r";
        let shown = "é\t\u{1f600}\n\\u001b]0;owned\\u0007\\u009b2J\\u007f\\u202egpj\\u2066\\u000d";
        assert_eq!(visible(text), shown);
        assert_eq!(
            visible_painted("\u{1b}[31mred\u{1b}[0m\u{1b}[2J"),
            "\u{1b}[31mred\u{1b}[0m\\u001b[2J"
        );
        assert_eq!(visible_painted("\u{1b}"), "\\u001b");
        // Characters without a shape hide text; above U+FFFF they are the two escapes that JSON has for them.
        let text = "a\u{ad}\u{180e}\u{2060}\u{2064}\u{206a}\u{206f}\u{fff9}\u{fffb}\u{e0041}b";
        let shown = "a\\u00ad\\u180e\\u2060\\u2064\\u206a\\u206f\\ufff9\\ufffb\\udb40\\udc41b";
        assert_eq!(visible(text), shown);
    }

    /// However the bytes are cut, the terminal is written the same; a pipe gets every byte as it is.
    #[test]
    fn bytes_may_come_in_any_pieces() {
        let bytes = "a\u{202e}é\u{1b}[31mred\u{1b}[0m\u{1b}[2J\u{1f600}\u{1b}".as_bytes();
        let written = |cut: usize, is_terminal: bool| {
            let mut out = Vec::new();
            let mut shown = Shown::new(&mut out, is_terminal, true);
            shown.write_all(&bytes[..cut]).expect("written");
            shown.write_all(&bytes[cut..]).expect("written");
            drop(shown);
            out
        };
        for cut in 0..=bytes.len() {
            let whole = visible_painted(str::from_utf8(bytes).expect("text")).into_owned();
            assert_eq!(String::from_utf8_lossy(&written(cut, true)), whole, "cut at {cut}");
            assert_eq!(written(cut, false), bytes);
        }
    }
}
