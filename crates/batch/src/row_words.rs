//! [`RowWords`]: the dictionary of a text column of rows in row form, which grows as the rows are read.
//!
//! ```text
//!   rows    AIR  MAIL  AIR  SHIP  AIR      the dictionary      AIR  MAIL  SHIP
//!   codes   0    1     0    2     0                            0    1     2
//! ```
//!
//! Conditions and groups look at each text once, and then at its code. A column with more than 256 texts, or with one
//! above 64 bytes, gets no dictionary.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use types::{Datum, Repr, Result, row};

use crate::slice::Selection;
use crate::words::Words;

/// A dictionary has at most so many texts.
const WORDS_MAX: usize = 256;
/// Places of the hash table; a power of two.
const PLACES: usize = 4 * WORDS_MAX;
/// An empty place.
const EMPTY: u16 = u16::MAX;

/// A dictionary that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowWords {
    /// The codes of texts of one byte, and then, by their hashes, those of others; empty before the first text.
    codes: Vec<u16>,
    /// The texts by their codes.
    texts: Vec<Box<[u8]>>,
    words: Arc<Words>,
    /// The column has too many texts, or too long ones.
    is_given_up: bool,
}

impl RowWords {
    /// A text of a dictionary has at most so many bytes.
    pub const BYTES_MAX: usize = 64;

    /// Returns the codes of texts, and their dictionary; `None` if the column gets none. Where a text is NULL, or is not
    /// selected, any code stands.
    ///
    /// # Errors
    /// XX001 if the bytes of a text are damaged.
    pub fn codes(
        &mut self,
        raw: &[Option<&[u8]>],
        rows: &Selection,
    ) -> Result<Option<(Arc<Words>, Vec<u32>)>> {
        if self.is_given_up {
            return Ok(None);
        }
        // The first rows tell whether there are many texts.
        let all = Selection::All(raw.len());
        let rows = if self.texts.is_empty() { &all } else { rows };
        let mut codes = vec![0; raw.len()];
        let put = |row: usize| match raw[row].map(|text| self.code(text)) {
            None => Ok(()),
            Some(Some(code)) => {
                codes[row] = code.into();
                Ok(())
            }
            Some(None) => Err(()),
        };
        self.is_given_up = rows.try_each(put).is_err();
        if self.is_given_up || self.texts.is_empty() {
            return Ok(None);
        }
        Ok(Some((self.words()?, codes)))
    }

    /// Returns the codes of texts, none of which is NULL; `None` if the column gets no dictionary.
    pub fn codes_of<'t>(&mut self, texts: impl Iterator<Item = &'t [u8]>) -> Option<Vec<u32>> {
        if self.is_given_up {
            return None;
        }
        let codes: Option<Vec<u32>> = texts.map(|text| self.code(text).map(u32::from)).collect();
        self.is_given_up = codes.is_none();
        codes
    }

    /// Returns the dictionary of all texts so far.
    ///
    /// # Errors
    /// XX001 if the bytes of a text are damaged.
    pub fn words(&mut self) -> Result<Arc<Words>> {
        if self.words.len() < self.texts.len() {
            let text =
                |bytes: &[u8]| row::read_value(bytes, Repr::Text).map(|text| text.to_owned());
            let texts: Result<Vec<Datum>> = self.texts.iter().map(|bytes| text(bytes)).collect();
            self.words = Arc::new(Words::made(texts?));
        }
        Ok(Arc::clone(&self.words))
    }

    /// Returns the code of a text; `None` if there is no room for it.
    #[inline]
    fn code(&mut self, text: &[u8]) -> Option<u16> {
        if self.codes.is_empty() {
            self.codes.resize(256 + PLACES, EMPTY);
        }
        let place = match text {
            [byte] => usize::from(*byte),
            _ => self.place_of(text),
        };
        match self.codes[place] {
            EMPTY => self.add(place, text),
            code => Some(code),
        }
    }

    /// Returns the place of a text in the table, or an empty one for it.
    #[inline]
    fn place_of(&self, text: &[u8]) -> usize {
        let mut at = FixedState::default().hash_one(text) as usize;
        loop {
            let place = 256 + at % PLACES;
            match self.codes[place] {
                EMPTY => return place,
                code if *self.texts[usize::from(code)] == *text => return place,
                _ => at += 1,
            }
        }
    }

    #[cold]
    fn add(&mut self, place: usize, text: &[u8]) -> Option<u16> {
        if self.texts.len() == WORDS_MAX || text.len() > Self::BYTES_MAX {
            return None;
        }
        let code = self.texts.len() as u16;
        self.codes[place] = code;
        self.texts.push(text.into());
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(words: &Words, code: u32) -> Datum {
        words.get(code).to_owned()
    }

    /// Texts keep their codes when the dictionary grows; NULL and rows that are not selected have any.
    #[test]
    fn texts_keep_their_codes() {
        let mut dictionary = RowWords::default();
        let first = [Some(&b"A"[..]), None, Some(b"MAIL"), Some(b""), Some(b"A")];
        let (words, codes) =
            dictionary.codes(&first, &Selection::All(first.len())).unwrap().expect("few texts");
        assert_eq!((words.len(), codes[0], codes[4]), (3, 0, 0));
        assert_eq!(text_of(&words, codes[2]), Datum::text("MAIL"));
        assert_eq!(text_of(&words, codes[3]), Datum::text(""));

        let more = [Some(&b"SHIP"[..]), Some(b"MAIL"), Some(b"left out")];
        let (wider, again) =
            dictionary.codes(&more, &Selection::Some(vec![0, 1])).unwrap().unwrap();
        assert_eq!((wider.len(), again[1]), (4, codes[2]));
        assert_eq!(text_of(&wider, again[0]), Datum::text("SHIP"));
        let (same, _) = dictionary.codes(&more[..2], &Selection::All(2)).unwrap().unwrap();
        assert!(Arc::ptr_eq(&same, &wider), "nothing was added");
    }

    /// A column with many texts or with long ones never gets codes. A column that begins with NULLs gets
    /// them later.
    #[test]
    fn a_column_with_many_texts_has_no_codes() {
        let all: Vec<String> = (0..=WORDS_MAX).map(|number| number.to_string()).collect();
        let many: Vec<Option<&[u8]>> = all.iter().map(|text| Some(text.as_bytes())).collect();
        let long = [b'x'; RowWords::BYTES_MAX + 1];
        for (raw, later) in [(many, false), (vec![Some(&long[..])], false), (vec![None], true)] {
            let mut dictionary = RowWords::default();
            assert!(dictionary.codes(&raw, &Selection::All(raw.len())).unwrap().is_none());
            let again = dictionary.codes(&[Some(b"a")], &Selection::All(1)).unwrap();
            assert_eq!(again.is_some(), later);
        }
    }

    /// A text that is not valid UTF-8 is damage.
    #[test]
    fn damaged_texts_are_refused() {
        let error = RowWords::default().codes(&[Some(&[0xff])], &Selection::All(1)).unwrap_err();
        assert_eq!(error.state(), types::SqlState::DATA_CORRUPTED);
    }
}
