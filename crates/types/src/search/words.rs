//! The words that both text forms are made of: `'it''s'`, `word`, `es\ caped`.

use super::malformed;
use super::vector::{Position, wrong_position};
use crate::text::is_space;
use crate::{Error, Result, SqlState, bounded};

/// The query language that the words are part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Language {
    /// A vector: positions follow words.
    Vector,
    /// A query: operators end words.
    Query,
    /// The text of a search field, as people type it: nothing is an error.
    Web,
}

/// True for the characters that end a word of a query.
pub(super) fn is_operator(c: char) -> bool {
    matches!(c, '!' | '&' | '|' | '(' | ')' | '<')
}

/// Reads words off the front of a text.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    text: &'a str,
    pub(super) at: usize,
    language: Language,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, language: Language) -> Self {
        Reader { text, at: 0, language }
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    #[cold]
    pub(super) fn error(&self) -> Error {
        let what = if self.language == Language::Vector { "tsvector" } else { "tsquery" };
        Error::new(SqlState::SYNTAX_ERROR, format!("syntax error in {what}: \"{}\"", self.text))
    }

    fn escaped(&mut self) -> Result<char> {
        self.next().ok_or_else(|| {
            let message = format!("there is no escaped character: \"{}\"", self.text);
            Error::new(SqlState::SYNTAX_ERROR, message)
        })
    }

    /// The next word; none at the end of the text.
    pub(super) fn word(&mut self) -> Result<Option<String>> {
        let (is_web, is_vector) =
            (self.language == Language::Web, self.language == Language::Vector);
        while self.peek().is_some_and(is_space) {
            self.next();
        }
        let mut word = String::new();
        match self.peek() {
            None => return Ok(None),
            Some('\'') if !is_web => {
                self.next();
                loop {
                    match self.next().ok_or_else(|| self.error())? {
                        '\'' if self.peek() == Some('\'') => {
                            self.next();
                            word.push('\'');
                        }
                        '\'' if word.is_empty() => return Err(self.error()),
                        '\'' => return Ok(Some(word)),
                        '\\' => word.push(self.escaped()?),
                        other => word.push(other),
                    }
                }
            }
            Some('\\') if !is_web => {
                self.next();
                word.push(self.escaped()?);
            }
            Some(c) if !is_vector && is_operator(c) || is_web && c == '"' => {
                return Err(self.error());
            }
            Some(c) => {
                self.next();
                word.push(c);
            }
        }
        while let Some(c) = self.peek() {
            let is_end = is_space(c) || c == ':' || !is_vector && is_operator(c);
            if is_end || is_web && c == '"' {
                break;
            }
            self.next();
            word.push(if c == '\\' && !is_web { self.escaped()? } else { c });
        }
        Ok(Some(word))
    }

    /// The positions behind a word of a vector, as `:1A,2`.
    pub(super) fn positions(&mut self) -> Result<Vec<Position>> {
        let mut positions = Vec::new();
        if self.peek() != Some(':') {
            return Ok(positions);
        }
        loop {
            self.next();
            let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return Err(self.error());
            }
            // Longer numbers are out of range in PostgreSQL, too.
            let number = self.rest()[..digits].parse::<i32>().unwrap_or(-1);
            self.at += digits;
            if number == 0 {
                return Err(wrong_position(self.text));
            }
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let mut weight = None;
            loop {
                let letter = match self.peek() {
                    Some(',') => break,
                    Some('*') => 3,
                    Some(c) if is_space(c) => break,
                    // As in PostgreSQL, digits behind a weight mean nothing.
                    Some(c) if c.is_ascii_digit() => {
                        self.next();
                        continue;
                    }
                    Some(c) => super::vector::weight(c).ok_or_else(|| self.error())?,
                    None => break,
                };
                if weight.is_some_and(|known| known > 0) {
                    return Err(self.error());
                }
                weight = Some(letter);
                self.next();
            }
            positions.push(Position::new(number, weight.unwrap_or(0)));
            if self.peek() != Some(',') {
                return Ok(positions);
            }
        }
    }
}

/// Writes a word in quotes.
pub(super) fn quote(word: &str, out: &mut String) -> Result<()> {
    out.push('\'');
    for piece in word.split_inclusive(['\'', '\\']) {
        bounded::append(out, piece)?;
        if let Some(doubled) = piece.chars().next_back().filter(|c| matches!(c, '\'' | '\\')) {
            out.push(doubled);
        }
    }
    out.push('\'');
    Ok(())
}

/// A text that ends with a byte 0, off the front of a binary form.
pub(super) fn wire_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let end = end.ok_or_else(|| malformed("invalid string in message"))?;
    let text = crate::text::utf8(&bytes[..end])?;
    *bytes = &bytes[end + 1..];
    Ok(text)
}
