//! Standard output and standard error: bytes as they are, but no terminal gets characters that it would
//! obey ([`crate::visible`]).

use std::io::{self, IsTerminal, Write};

use crate::failure::Outcome;
use crate::visible::{Shown, on_terminal, visible, visible_painted};

/// Standard output, for bytes that come from outside.
pub(crate) fn out() -> Shown<io::StdoutLock<'static>> {
    Shown::new(io::stdout().lock(), on_terminal(), false)
}

/// Writes text and a line break.
pub(crate) fn text(text: &str) -> Outcome {
    raw(text.as_bytes())
}

/// Writes lines that each end in a line break already.
pub(crate) fn lines(lines: &str) -> Outcome {
    let mut out = out();
    out.write_all(lines.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// The same, of lines with the colours of [`crate::paint`], which has made none if the output is to have
/// none: a pipe gets the bytes as they are. Text from the data has passed [`shown`](crate::visible::shown).
/// So the only control sequences that a terminal gets are colours.
pub(crate) fn painted(lines: &str) -> Outcome {
    if !on_terminal() {
        return self::lines(lines);
    }
    let mut out = anstream::stdout().lock();
    out.write_all(visible_painted(lines).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes bytes as they are, and a line break.
pub(crate) fn raw(bytes: &[u8]) -> Outcome {
    let mut out = out();
    out.write_all(bytes)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// Text for standard error.
pub(crate) fn said(text: &str) -> std::borrow::Cow<'_, str> {
    match io::stderr().is_terminal() {
        true => visible(text),
        false => text.into(),
    }
}

/// Writes a note on standard error, apart from the answer.
pub(crate) fn note(text: &str) {
    eprintln!("{}", said(text));
}

/// A count with its noun: `1 version`, `2 versions`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{} {stem}ies", grouped(number)),
        _ => format!("{} {noun}s", grouped(number)),
    }
}

/// `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `17 B`, `1.5 KB`, `2.0 MB`: units of a thousand.
pub(crate) fn bytes(number: u64) -> String {
    let mut value = number as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if value < 1000.0 {
            return match unit {
                "B" => format!("{number} B"),
                _ => format!("{value:.1} {unit}"),
            };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_nouns_agree() {
        assert_eq!(count(1, "version"), "1 version");
        assert_eq!(count(1_234_567, "entry"), "1,234,567 entries");
        assert_eq!(count(0, "commit"), "0 commits");
        assert_eq!((grouped(999), grouped(1000)), ("999".into(), "1,000".into()));
        assert_eq!(
            (bytes(999), bytes(1500), bytes(2_000_000)),
            ("999 B".into(), "1.5 KB".into(), "2.0 MB".into())
        );
    }
}
