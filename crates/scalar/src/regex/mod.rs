//! Regular expressions: PostgreSQL's advanced ones, on an engine that is not PostgreSQL's.
//!
//! ```text
//!   pattern, flags ──translate──> fancy-regex ──compile──> Pattern ──> spans of matches and groups
//! ```
//!
//! An expression is translated once and kept: the last few of a thread are found again without
//! compiling them.
//!
//! # What differs
//! Among alternatives at one place the engine takes the first that matches, where PostgreSQL takes
//! the longest: `ab` for `substring('ab' from 'a|ab')` there, `a` here. Whether there is a match,
//! and where it begins, is the same.

mod functions;
mod translate;

use std::cell::RefCell;
use std::rc::Rc;

use types::{Error, Result, SqlState};

pub(crate) use functions::{SETS, TABLE};

/// How many compiled expressions a thread keeps.
const CACHED: usize = 32;

/// How an expression is read and matched: what the letters of a flags argument say.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    /// `i`: letters match in both cases.
    any_case: bool,
    /// `x`: blanks and comments in the expression do not count.
    expanded: bool,
    /// `q`: the expression is a plain text.
    quoted: bool,
    /// Half of `n`: `.` and `[^...]` do not match a line break.
    breaks_stop: bool,
    /// The other half: `^` and `$` match at line breaks.
    breaks_anchor: bool,
    /// `g`: all matches, not only the first.
    pub(crate) global: bool,
}

impl Flags {
    /// The flags that letters stand for.
    ///
    /// # Errors
    /// 22023 for a letter that is none.
    pub(crate) fn parse(letters: &str) -> Result<Self> {
        let mut flags = Self::default();
        for letter in letters.chars() {
            if !flags.set(letter) {
                return Err(Error::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("invalid regular expression option: \"{letter}\""),
                ));
            }
        }
        Ok(flags)
    }

    /// Sets what a letter stands for; false where it stands for nothing.
    fn set(&mut self, letter: char) -> bool {
        match letter {
            'g' => self.global = true,
            'i' => self.any_case = true,
            'c' => self.any_case = false,
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => self.quoted = true,
            'n' | 'm' => (self.breaks_stop, self.breaks_anchor) = (true, true),
            's' => (self.breaks_stop, self.breaks_anchor) = (false, false),
            'p' => (self.breaks_stop, self.breaks_anchor) = (true, false),
            'w' => (self.breaks_stop, self.breaks_anchor) = (false, true),
            'b' | 'e' => {}
            _ => return false,
        }
        true
    }
}

/// A compiled expression.
pub(crate) struct Pattern(fancy_regex::Regex);

/// Where a match and its groups lie, in bytes: first the whole, then each group that took part.
pub(crate) type Spans = Vec<Option<(usize, usize)>>;

fn invalid(message: impl std::fmt::Display) -> Error {
    Error::new(
        SqlState::INVALID_REGULAR_EXPRESSION,
        format!("invalid regular expression: {message}"),
    )
}

impl Pattern {
    /// The compiled form of an expression, from the cache where it is there.
    ///
    /// # Errors
    /// 2201B where it is none.
    pub(crate) fn get(pattern: &str, flags: Flags) -> Result<Rc<Self>> {
        type Cached = (String, Flags, Rc<Pattern>);
        thread_local! {
            static CACHE: RefCell<Vec<Cached>> = const { RefCell::new(Vec::new()) };
        }
        let flags = Flags { global: false, ..flags };
        CACHE.with_borrow_mut(|cache| {
            let known = cache.iter().position(|(text, f, _)| *f == flags && text == pattern);
            let entry = match known {
                Some(at) => cache.remove(at),
                None => (pattern.to_owned(), flags, Rc::new(Self::compile(pattern, flags)?)),
            };
            let found = Rc::clone(&entry.2);
            // The most recent one is the first to be looked at.
            cache.insert(0, entry);
            cache.truncate(CACHED);
            Ok(found)
        })
    }

    fn compile(pattern: &str, flags: Flags) -> Result<Self> {
        let translated = translate::translate(pattern, flags)?;
        fancy_regex::Regex::new(&translated).map(Self).map_err(|error| {
            // The first line says what is wrong; the others show an expression nobody wrote.
            let text = error.to_string();
            invalid(text.lines().last().unwrap_or_default().trim_start_matches("error: "))
        })
    }

    /// True where the expression matches somewhere.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool> {
        self.0.is_match(text).map_err(too_complex)
    }

    /// The first match from a byte on.
    pub(crate) fn find(&self, text: &str, from: usize) -> Result<Option<Spans>> {
        let captures = self.0.captures_from_pos(text, from).map_err(too_complex)?;
        Ok(captures.map(|captures| {
            captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect()
        }))
    }

    /// How many groups the expression has.
    pub(crate) fn groups(&self) -> usize {
        self.0.captures_len() - 1
    }

    /// The matches from a byte on, one behind the other.
    pub(crate) fn matches<'a>(
        &'a self,
        text: &'a str,
        from: usize,
    ) -> impl Iterator<Item = Result<Spans>> + 'a {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let from = next.filter(|from| *from <= text.len())?;
            match self.find(text, from) {
                Err(error) => {
                    next = None;
                    Some(Err(error))
                }
                Ok(None) => None,
                Ok(Some(spans)) => {
                    let (start, end) = spans.first().copied().flatten()?;
                    // After an empty match the search goes on behind the next character.
                    let step = text[end..].chars().next().map_or(1, char::len_utf8);
                    next = Some(if end > start { end } else { end + step });
                    Some(Ok(spans))
                }
            }
        })
    }
}

fn too_complex(error: fancy_regex::Error) -> Error {
    Error::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("regular expression failed: {error}"))
}
