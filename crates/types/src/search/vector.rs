//! `tsvector`: the lexemes of a document, each with its positions.
//!
//! ```text
//!   'a':1A 'b'    00000011    00000002   00 61 00 fffe fff8   01 62 00
//!                 bytes that  lexemes    │  a  end │    │     without positions
//!                 PostgreSQL             │         │    all bits of 1 << 2 | weight inverted
//!                 keeps for it           positions how many, inverted
//! ```
//!
//! Numbers are big-endian, so the order of the bytes is PostgreSQL's order of the values: by size, by
//! the number of lexemes, then lexeme by lexeme; those with positions, more of them, and later ones
//! come first. Lexemes stand in the order of their bytes, and none is there twice.

use std::borrow::Cow;

use super::{AREA_BYTES_MAX, LEXEME_BYTES_MAX, malformed, too_long, words};
use crate::{Error, Result, SqlState, bounded};

/// The last distinct position.
pub const POSITION_MAX: u16 = (1 << 14) - 1;

/// The most positions of a lexeme.
const POSITIONS_MAX: usize = 256;

/// The bytes before the lexemes.
const HEAD_BYTES: usize = 8;

/// A place in a document, from 1, and its weight: 0 to 3 for `D` to `A`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position(u16);

impl Position {
    /// The position `at`, or the last distinct one, with a weight.
    pub fn new(at: u32, weight: u8) -> Self {
        let at = at.min(u32::from(POSITION_MAX)) as u16;
        Self(at << 2 | u16::from(weight & 3))
    }

    /// Where it is, from 1.
    pub fn at(self) -> u16 {
        self.0 >> 2
    }

    /// The weight, from 0 for `D` to 3 for `A`.
    pub fn weight(self) -> u8 {
        (self.0 & 3) as u8
    }
}

/// A lexeme of a vector.
#[derive(Clone, Copy, Debug)]
pub struct Lexeme<'a> {
    /// The lexeme.
    pub text: &'a str,
    positions: &'a [u8],
}

impl<'a> Lexeme<'a> {
    /// Where it stands, in order; nothing where that is not known.
    pub fn positions(self) -> impl ExactSizeIterator<Item = Position> + Clone + 'a {
        self.positions.chunks_exact(2).map(|pair| Position(!u16::from_be_bytes([pair[0], pair[1]])))
    }
}

/// A look at a `tsvector`: its lexemes, in the order of their bytes.
#[derive(Clone, Debug, Default)]
pub struct Vector<'a> {
    lexemes: Vec<Lexeme<'a>>,
}

impl<'a> Vector<'a> {
    /// The lexemes of a held value; none for bytes that are none.
    pub fn new(held: &'a [u8]) -> Self {
        Self::read(held).unwrap_or_default()
    }

    fn read(held: &'a [u8]) -> Option<Self> {
        let mut rest = held.get(HEAD_BYTES..)?;
        let count = u32::from_be_bytes(held[4..HEAD_BYTES].try_into().ok()?) as usize;
        let mut lexemes = Vec::with_capacity(count.min(rest.len()));
        while let Some((kind, more)) = rest.split_first() {
            let end = more.iter().position(|byte| *byte == 0)?;
            let text = std::str::from_utf8(&more[..end]).ok()?;
            rest = &more[end + 1..];
            let mut positions: &[u8] = &[];
            if *kind == 0 {
                let (length, more) = rest.split_first_chunk::<2>()?;
                let length = usize::from(!u16::from_be_bytes(*length));
                (positions, rest) = more.split_at_checked(length * 2)?;
            }
            lexemes.push(Lexeme { text, positions });
        }
        (lexemes.len() == count).then_some(Vector { lexemes })
    }

    /// The lexemes.
    pub fn lexemes(&self) -> &[Lexeme<'a>] {
        &self.lexemes
    }

    /// The lexeme with this text.
    pub fn get(&self, text: &str) -> Option<&Lexeme<'a>> {
        let found = self.lexemes.binary_search_by(|lexeme| lexeme.text.cmp(text));
        found.ok().map(|at| &self.lexemes[at])
    }

    /// The lexemes that start with this text.
    pub fn starting_with(&self, text: &str) -> &[Lexeme<'a>] {
        let start = self.lexemes.partition_point(|lexeme| lexeme.text < text);
        let rest = &self.lexemes[start..];
        &rest[..rest.partition_point(|lexeme| lexeme.text.starts_with(text))]
    }

    /// Writes the text form.
    ///
    /// # Errors
    /// 57014 if the statement is to stop.
    pub fn write(&self, out: &mut String) -> Result<()> {
        for (at, lexeme) in self.lexemes.iter().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            words::quote(lexeme.text, out)?;
            for (at, position) in lexeme.positions().enumerate() {
                out.push(if at == 0 { ':' } else { ',' });
                bounded::append(out, &position.at().to_string())?;
                if let weight @ 1.. = position.weight() {
                    out.push(letter(weight));
                }
            }
        }
        Ok(())
    }

    /// Appends the binary form.
    ///
    /// # Errors
    /// 57014 if the statement is to stop.
    pub fn to_wire(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&(self.lexemes.len() as i32).to_be_bytes());
        for lexeme in &self.lexemes {
            interrupt::append(out, lexeme.text.as_bytes())?;
            out.push(0);
            let positions = lexeme.positions();
            out.extend_from_slice(&(positions.len() as u16).to_be_bytes());
            for position in positions {
                let wire = u16::from(position.weight()) << 14 | position.at();
                out.extend_from_slice(&wire.to_be_bytes());
            }
        }
        Ok(())
    }
}

/// The letter of a weight.
pub fn letter(weight: u8) -> char {
    ['D', 'C', 'B', 'A'][usize::from(weight & 3)]
}

/// The weight of a letter, in either case.
pub fn weight(letter: char) -> Option<u8> {
    let at = ['d', 'c', 'b', 'a'].iter().position(|known| letter.to_ascii_lowercase() == *known)?;
    Some(at as u8)
}

/// Positions in order, each once, with its greatest weight.
fn unique(positions: &mut Vec<Position>) {
    positions
        .sort_unstable_by_key(|position| (position.at(), std::cmp::Reverse(position.weight())));
    positions.dedup_by_key(|position| position.at());
    positions.truncate(POSITIONS_MAX);
}

/// The held form of a vector with these lexemes, in any order. Those of the same text become one.
///
/// # Errors
/// 54000 for lexemes that are too long.
pub fn build<'a>(
    entries: impl IntoIterator<Item = (Cow<'a, str>, Vec<Position>)>,
) -> Result<Vec<u8>> {
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.dedup_by(|later, kept| {
        let is_same = later.0 == kept.0;
        if is_same {
            kept.1.append(&mut later.1);
        }
        is_same
    });
    let mut area = 0;
    let mut body = Vec::new();
    for (text, positions) in &mut entries {
        if text.len() > LEXEME_BYTES_MAX {
            return Err(too_long(text.len(), LEXEME_BYTES_MAX, "word is too long"));
        }
        area += text.len();
        body.push(u8::from(positions.is_empty()));
        interrupt::append(&mut body, text.as_bytes())?;
        body.push(0);
        if !positions.is_empty() {
            unique(positions);
            area = area.next_multiple_of(2) + 2 + 2 * positions.len();
            body.extend_from_slice(&(!(positions.len() as u16)).to_be_bytes());
            for position in positions.iter() {
                body.extend_from_slice(&(!position.0).to_be_bytes());
            }
        }
    }
    if area > AREA_BYTES_MAX {
        return Err(too_long(area, AREA_BYTES_MAX, "string is too long for tsvector"));
    }
    let size = HEAD_BYTES + 4 * entries.len() + area;
    let mut held = Vec::with_capacity(HEAD_BYTES + body.len());
    held.extend_from_slice(&(size as u32).to_be_bytes());
    held.extend_from_slice(&(entries.len() as u32).to_be_bytes());
    held.append(&mut body);
    Ok(held)
}

/// As [`build`], for the lexemes of a text: each entry has one position. As in PostgreSQL, a lexeme keeps one
/// position fewer here.
///
/// # Errors
/// As [`build`].
pub fn build_document<'a>(
    entries: impl IntoIterator<Item = (Cow<'a, str>, Vec<Position>)>,
) -> Result<Vec<u8>> {
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort();
    let mut count = 0;
    let mut last: Option<(Cow<'a, str>, Vec<Position>)> = None;
    entries.retain(|entry| {
        let is_same = last.as_ref().is_some_and(|last| last.0 == entry.0);
        count = if is_same { count + 1 } else { 1 };
        if !is_same {
            last = Some(entry.clone());
        }
        count < POSITIONS_MAX
    });
    build(entries)
}

/// The held form of the vector that has this text form.
///
/// # Errors
/// 42601 for a text that is none, 54000 for lexemes that are too long.
pub fn parse(text: &str) -> Result<Vec<u8>> {
    let mut reader = words::Reader::new(text, words::Language::Vector);
    let mut entries = Vec::new();
    while let Some(word) = reader.word()? {
        if word.len() > LEXEME_BYTES_MAX {
            return Err(too_long(word.len(), LEXEME_BYTES_MAX, "word is too long"));
        }
        let positions = reader.positions()?;
        entries.push((Cow::Owned(word), positions));
    }
    build(entries)
}

/// The held form of the vector that has this binary form, which is taken off the front.
///
/// # Errors
/// 08P01 for bytes that are none.
pub(crate) fn from_wire(bytes: &mut &[u8]) -> Result<Vec<u8>> {
    let short = || malformed("insufficient data left in message");
    let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    *bytes = rest;
    let count = i32::from_be_bytes(*count);
    if count < 0 || count as usize > bytes.len() / 3 {
        return Err(malformed("invalid size of tsvector"));
    }
    let mut entries: Vec<(Cow<'_, str>, Vec<Position>)> = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let text = words::wire_text(bytes)?;
        if text.len() > LEXEME_BYTES_MAX {
            return Err(malformed("invalid tsvector: lexeme too long"));
        }
        let (length, rest) = bytes.split_first_chunk::<2>().ok_or_else(short)?;
        let length = usize::from(u16::from_be_bytes(*length));
        if length > POSITIONS_MAX {
            return Err(malformed("unexpected number of tsvector positions"));
        }
        let (positions, rest) = rest.split_at_checked(2 * length).ok_or_else(short)?;
        *bytes = rest;
        let mut list: Vec<Position> = Vec::with_capacity(length);
        for pair in positions.chunks_exact(2) {
            let wire = u16::from_be_bytes([pair[0], pair[1]]);
            let position = Position::new(u32::from(wire & POSITION_MAX), (wire >> 14) as u8);
            if list.last().is_some_and(|last| last.at() >= position.at()) {
                return Err(malformed("position information is misordered"));
            }
            list.push(position);
        }
        if entries.last().is_some_and(|(last, _)| *last == text) {
            return Err(malformed("invalid tsvector: duplicate lexeme"));
        }
        entries.push((text.into(), list));
    }
    build(entries)
}

/// The error of a position 0.
#[cold]
pub(super) fn wrong_position(text: &str) -> Error {
    let message = format!("wrong position info in tsvector: \"{text}\"");
    Error::new(SqlState::SYNTAX_ERROR, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a client, and damaged ones of the disk, cause no panic.
    #[test]
    fn wrong_bytes_are_refused() {
        let held = parse("a:1A,2,300B 'b c' d:16383").expect("a vector");
        let mut wire = Vec::new();
        Vector::new(&held).to_wire(&mut wire).expect("nothing stops it");
        assert_eq!(from_wire(&mut &wire[..]).expect("a vector"), held);
        for at in 0..wire.len() {
            assert!(from_wire(&mut &wire[..at]).is_err());
            let mut other = wire.clone();
            other[at] ^= 0xff;
            let _ = from_wire(&mut &other[..]);
        }
        for at in 0..held.len() {
            assert!(Vector::new(&held[..at]).lexemes().is_empty());
            let mut other = held.clone();
            other[at] ^= 0xff;
            let _ = Vector::new(&other);
        }
    }
}
