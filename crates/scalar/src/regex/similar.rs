//! `SIMILAR TO`: the SQL standard's patterns as regular expressions.
//!
//! ```text
//!   a%(b|_)       ^(?:a.*(?:b|.))$
//!   a#"b%#"c      ^(?:a){1,1}?(b.*){1,1}(?:c)$      substring(... similar ... escape '#')
//! ```
//!
//! Of the three parts of a pattern for `substring` the first takes as little as it can and the
//! second as much; the bounds say so, and else mean nothing.

use interrupt::Pace;
use types::{Error, Result, SqlState};

/// Where in a bracket expression the next character stands: `^` counts only at its beginning, and
/// a bracket that closes it only behind that.
#[derive(Clone, Copy, PartialEq)]
enum BracketPosition {
    First,
    BehindCaret,
    Further,
}

/// The regular expression for a `SIMILAR TO` pattern.
///
/// # Errors
/// 22025 for an escape of several characters, 2200C for more than two separators.
pub(super) fn similar(pattern: &str, escape: Option<&str>) -> Result<String> {
    let mut letters = escape.unwrap_or("\\").chars();
    let (escape, rest) = (letters.next(), letters.next());
    if rest.is_some() {
        return Err(Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .with_hint("Escape string must be empty or one character."));
    }
    let mut out = String::from("^(?:");
    let (mut depth, mut place) = (0_usize, BracketPosition::Further);
    let (mut escaped, mut parts) = (false, 0);
    let mut pace = Pace::new();
    for c in pattern.chars() {
        pace.step(c.len_utf8())?;
        if escaped {
            escaped = false;
            if c != '"' || depth > 0 {
                out.extend(['\\', c]);
                place = BracketPosition::Further;
                continue;
            }
            out.push_str(match parts {
                0 => "){1,1}?(",
                1 => "){1,1}(?:",
                _ => {
                    return Err(Error::new(
                        SqlState::INVALID_USE_OF_ESCAPE_CHARACTER,
                        "SQL regular expression may not contain more than two \
                         escape-double-quote separators",
                    ));
                }
            });
            parts += 1;
            continue;
        }
        match c {
            c if Some(c) == escape => escaped = true,
            c if depth > 0 => {
                if c == '\\' {
                    out.push('\\');
                }
                out.push(c);
                match c {
                    ']' if place == BracketPosition::Further => depth -= 1,
                    '[' => {
                        depth += 1;
                        place = BracketPosition::Further;
                    }
                    '^' if place == BracketPosition::First => place = BracketPosition::BehindCaret,
                    _ => place = BracketPosition::Further,
                }
            }
            '[' => {
                out.push(c);
                (depth, place) = (1, BracketPosition::First);
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}
