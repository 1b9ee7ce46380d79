//! `ltree`: paths of labels through a tree, and the patterns that they are matched against.
//!
//! ```text
//!   Top.Science.Astronomy      three labels, of letters, digits, _ and -
//!   Top.*{1,2}.Astro*@         an lquery: labels and how many of them
//!   Astro*% & !pictures@       an ltxtquery: words that some label has
//! ```
//!
//! A path is held as its text in UTF-8, with the byte 1F in the place of each point. It is below all characters of
//! labels, so that the order of the bytes is PostgreSQL's order of paths: label by label. All paths below another
//! begin with it and that byte. Both kinds of patterns are held as their text.

mod lquery;
mod ltxtquery;

pub use lquery::Lquery;
pub use ltxtquery::Ltxtquery;

use crate::text::utf8;
use crate::{Error, Result, SqlState};

/// The byte between two labels.
pub const SEPARATOR: u8 = 0x1f;

/// The most labels of a path, and the most items of a pattern.
const LEVELS_MAX: usize = 65_535;

/// The most characters of a label.
const LABEL_CHARS_MAX: usize = 1_000;

/// True for the characters of labels.
fn is_label(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cold]
fn syntax_error(what: &str, character: usize) -> Error {
    let message = format!("{what} syntax error at character {character}");
    Error::new(SqlState::SYNTAX_ERROR, message)
}

#[cold]
fn unexpected_end(what: &str) -> Error {
    let error = Error::new(SqlState::SYNTAX_ERROR, format!("{what} syntax error"));
    error.with_detail("Unexpected end of input.")
}

/// Checks the number of characters of a label that ends before the character with this number.
fn check_label(what: &str, chars: usize, character: usize) -> Result<()> {
    if chars == 0 {
        return Err(syntax_error(what, character).with_detail("Empty labels are not allowed."));
    }
    if chars > LABEL_CHARS_MAX {
        let error = Error::new(SqlState::NAME_TOO_LONG, "label string is too long");
        return Err(error.with_detail(format!(
            "Label length is {chars}, must be at most {LABEL_CHARS_MAX}, at character {character}."
        )));
    }
    Ok(())
}

/// The held form of the path that a text is.
///
/// # Errors
/// 42601 for a text that is none, 42622 for a label that is too long, 54000 for too many labels.
pub fn parse(text: &str) -> Result<Vec<u8>> {
    let count = text.bytes().filter(|byte| *byte == b'.').count() + 1;
    if count > LEVELS_MAX {
        let message =
            format!("number of ltree labels ({count}) exceeds the maximum allowed ({LEVELS_MAX})");
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let (mut chars, mut character) = (0, 1);
    for c in text.chars() {
        match c {
            '.' if chars > 0 => {
                check_label("ltree", chars, character)?;
                chars = 0;
            }
            c if is_label(c) => chars += 1,
            _ => return Err(syntax_error("ltree", character)),
        }
        character += 1;
    }
    if chars > 0 {
        check_label("ltree", chars, character)?;
    } else if !text.is_empty() {
        return Err(unexpected_end("ltree"));
    }
    Ok(text.bytes().map(|byte| if byte == b'.' { SEPARATOR } else { byte }).collect())
}

/// A path in its held form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ltree<'a>(&'a [u8]);

impl<'a> Ltree<'a> {
    /// The path that is held as these bytes.
    pub fn new(held: &'a [u8]) -> Self {
        Self(held)
    }

    /// Its labels, from the top.
    pub fn labels(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let labels = self.0.split(|byte| *byte == SEPARATOR);
        labels.take(if self.0.is_empty() { 0 } else { usize::MAX })
    }

    /// How many labels it has.
    pub fn len(self) -> usize {
        self.labels().count()
    }

    /// True for the path without labels.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// True if another path is this one or below it.
    pub fn contains(self, other: Ltree<'_>) -> bool {
        self.is_empty()
            || other.0.strip_prefix(self.0).is_some_and(|rest| matches!(rest, [] | [SEPARATOR, ..]))
    }

    /// The path as text.
    ///
    /// # Errors
    /// 22021 where the bytes are none.
    pub fn to_text(self) -> Result<String> {
        Ok(utf8(self.0)?.replace(char::from(SEPARATOR), "."))
    }
}

/// The held form of a path with these labels.
///
/// # Errors
/// 54000 where there are too many.
pub fn build<'a>(labels: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
    let (mut held, mut count) = (Vec::new(), 0_usize);
    for label in labels {
        if count > 0 {
            held.push(SEPARATOR);
        }
        held.extend_from_slice(label);
        count += 1;
    }
    if count > LEVELS_MAX {
        let message =
            format!("number of ltree levels ({count}) exceeds the maximum allowed ({LEVELS_MAX})");
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    crate::bounded::check(held.len())?;
    Ok(held)
}

/// How a word of a pattern is compared with a label.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Word {
    text: String,
    /// `*`: the label begins with it.
    is_prefix: bool,
    /// `@`: case does not count.
    ignores_case: bool,
    /// `%`: the words of the label, between underscores, have those of the pattern among them.
    is_of_words: bool,
}

impl Word {
    /// Takes the letter of a flag; false for other characters.
    fn take_flag(&mut self, c: char) -> bool {
        match c {
            '*' => self.is_prefix = true,
            '@' => self.ignores_case = true,
            '%' => self.is_of_words = true,
            _ => return false,
        }
        true
    }

    fn has_flags(&self) -> bool {
        self.is_prefix || self.ignores_case || self.is_of_words
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.text);
        let flags = [(self.is_of_words, '%'), (self.ignores_case, '@'), (self.is_prefix, '*')];
        out.extend(flags.into_iter().filter_map(|(is_set, flag)| is_set.then_some(flag)));
    }

    fn matches(&self, label: &str) -> bool {
        if !self.is_of_words {
            return self.is_like(&self.text, label);
        }
        let words = |text: &'_ str| -> Vec<String> {
            text.split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let of_label = words(label);
        words(&self.text).iter().all(|word| of_label.iter().any(|one| self.is_like(word, one)))
    }

    fn is_like(&self, word: &str, label: &str) -> bool {
        let folded = |text: &str| -> String { text.chars().map(posix::lower_char).collect() };
        let is_like = |word: &str, label: &str| {
            if self.is_prefix { label.starts_with(word) } else { label == word }
        };
        is_like(word, label) || self.ignores_case && is_like(&folded(word), &folded(label))
    }
}

/// The labels of a path as texts.
fn texts<'a>(path: Ltree<'a>) -> Result<Vec<&'a str>> {
    path.labels().map(utf8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of held paths is that of their labels, and a path contains itself and what is below it.
    #[test]
    fn paths_are_ordered_by_labels() {
        let held = |text: &str| parse(text).expect("a path");
        let texts = ["", "a", "a.b", "a.b.c", "a.bc", "a.c", "a-", "a-.b", "a0", "aa", "b"];
        for (at, one) in texts.iter().enumerate() {
            for (other_at, other) in texts.iter().enumerate() {
                assert_eq!(held(one).cmp(&held(other)), at.cmp(&other_at), "{one} and {other}");
                let (one_held, other_held) = (held(one), held(other));
                let below = one.is_empty() || one == other || other.starts_with(&format!("{one}."));
                assert_eq!(Ltree::new(&one_held).contains(Ltree::new(&other_held)), below);
            }
            assert_eq!(Ltree::new(&held(one)).to_text().expect("a path"), *one);
        }
    }
}
