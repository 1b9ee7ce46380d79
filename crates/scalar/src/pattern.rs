//! `LIKE`: patterns in which `%` is any text and `_` any one character.
//!
//! ```text
//!   text      a b c d e          on a mismatch behind a %, the % takes one character more
//!   pattern   a % d _            and the rest of the pattern is tried again from there;
//!             ^ └─> d?           an earlier % need never be looked at again
//! ```

use interrupt::Pace;
use types::{Error, Result, SqlState};

use crate::function::{Function, functions};
use crate::string::lower;

/// A character of a text: a `char`, or a byte of a `bytea`.
trait Letter: Copy + PartialEq {
    const ANY_TEXT: Self;
    const ANY_ONE: Self;
    const ESCAPE: Self;
}

impl Letter for char {
    const ANY_TEXT: char = '%';
    const ANY_ONE: char = '_';
    const ESCAPE: char = '\\';
}

impl Letter for u8 {
    const ANY_TEXT: u8 = b'%';
    const ANY_ONE: u8 = b'_';
    const ESCAPE: u8 = b'\\';
}

/// True if a pattern matches all of a text. A backslash takes the next character as it is.
fn matches<L: Letter, I: Iterator<Item = L> + Clone>(text: I, pattern: I) -> Result<bool> {
    let (mut text, mut pattern) = (text, pattern);
    // Where to go on after the last % took one character more.
    let mut retry: Option<(I, I)> = None;
    let mut pace = Pace::new();
    loop {
        pace.step(4)?;
        let (text_before, mut ahead) = (text.clone(), pattern.clone());
        let wanted = match ahead.next() {
            Some(letter) if letter == L::ANY_TEXT => {
                pattern = ahead;
                retry = Some((text_before, pattern.clone()));
                continue;
            }
            Some(letter) if letter == L::ESCAPE => match ahead.next() {
                Some(literal) => Some(Some(literal)),
                // It is found out only where there is something to match.
                None if text_before.clone().next().is_none() => return Ok(false),
                None => {
                    return Err(Error::new(
                        SqlState::INVALID_ESCAPE_SEQUENCE,
                        "LIKE pattern must not end with escape character",
                    ));
                }
            },
            Some(letter) if letter == L::ANY_ONE => Some(None),
            Some(literal) => Some(Some(literal)),
            None => None,
        };
        let matched = match (wanted, text.next()) {
            (None, None) => return Ok(true),
            (Some(None), Some(_)) => true,
            (Some(Some(literal)), Some(letter)) => literal == letter,
            _ => false,
        };
        if matched {
            pattern = ahead;
            continue;
        }
        match &mut retry {
            None => return Ok(false),
            Some((from, behind)) => {
                if from.next().is_none() {
                    return Ok(false);
                }
                text = from.clone();
                pattern = behind.clone();
            }
        }
    }
}

/// `LIKE`.
pub(crate) fn like(text: &str, pattern: &str) -> Result<bool> {
    // Bytes compare alike, as long as no _ has to take a whole character.
    if text.is_ascii() || !pattern.contains('_') {
        return matches(text.bytes(), pattern.bytes());
    }
    matches(text.chars(), pattern.chars())
}

/// `ILIKE`.
pub(crate) fn like_any_case(text: &str, pattern: &str) -> Result<bool> {
    like(lower(text)?.get(), lower(pattern)?.get())
}

/// A pattern with another escape character, written with the backslash.
fn with_escape(pattern: &str, escape: &str) -> Result<String> {
    let mut letters = escape.chars();
    let (escape, rest) = (letters.next(), letters.next());
    if rest.is_some() {
        return Err(Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .with_hint("Escape string must be empty or one character."));
    }
    let mut out = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        match c {
            c if Some(c) == escape => {
                out.push('\\');
                out.extend(letters.next());
            }
            '\\' => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
    Ok(out)
}

pub(crate) const TABLE: &[Function] = functions! {
    850 textlike(TEXT, TEXT) -> BOOL = (a: &str, p: &str) like(a, p);
    851 textnlike(TEXT, TEXT) -> BOOL = (a: &str, p: &str) like(a, p).map(|found| !found);
    1569 like(TEXT, TEXT) -> BOOL = (a: &str, p: &str) like(a, p);
    1570 notlike(TEXT, TEXT) -> BOOL = (a: &str, p: &str) like(a, p).map(|found| !found);
    858 namelike(NAME, TEXT) -> BOOL = (a: &str, p: &str) like(a, p);
    859 namenlike(NAME, TEXT) -> BOOL = (a: &str, p: &str) like(a, p).map(|found| !found);
    1571 like(NAME, TEXT) -> BOOL = (a: &str, p: &str) like(a, p);
    1572 notlike(NAME, TEXT) -> BOOL = (a: &str, p: &str) like(a, p).map(|found| !found);
    1631 bpcharlike(BPCHAR, TEXT) -> BOOL = (a: &str, p: &str) like(a, p);
    1632 bpcharnlike(BPCHAR, TEXT) -> BOOL = (a: &str, p: &str) like(a, p).map(|found| !found);
    1633 texticlike(TEXT, TEXT) -> BOOL = (a: &str, p: &str) like_any_case(a, p);
    1634 texticnlike(TEXT, TEXT) -> BOOL = (a: &str, p: &str)
        like_any_case(a, p).map(|found| !found);
    1635 nameiclike(NAME, TEXT) -> BOOL = (a: &str, p: &str) like_any_case(a, p);
    1636 nameicnlike(NAME, TEXT) -> BOOL = (a: &str, p: &str)
        like_any_case(a, p).map(|found| !found);
    1660 bpchariclike(BPCHAR, TEXT) -> BOOL = (a: &str, p: &str) like_any_case(a, p);
    1661 bpcharicnlike(BPCHAR, TEXT) -> BOOL = (a: &str, p: &str)
        like_any_case(a, p).map(|found| !found);
    2005 bytealike(BYTEA, BYTEA) -> BOOL = (a: &[u8], p: &[u8])
        matches(a.iter().copied(), p.iter().copied());
    2006 byteanlike(BYTEA, BYTEA) -> BOOL = (a: &[u8], p: &[u8])
        matches(a.iter().copied(), p.iter().copied()).map(|found| !found);
    2007 like(BYTEA, BYTEA) -> BOOL = (a: &[u8], p: &[u8])
        matches(a.iter().copied(), p.iter().copied());
    2008 notlike(BYTEA, BYTEA) -> BOOL = (a: &[u8], p: &[u8])
        matches(a.iter().copied(), p.iter().copied()).map(|found| !found);
    1637 like_escape(TEXT, TEXT) -> TEXT = (p: &str, escape: &str) with_escape(p, escape);
};
