//! `unaccent`: texts without accents.
//!
//! `unaccent.txt` lists letters and the texts that replace them. Other letters stay as they are.

use std::collections::HashMap;
use std::sync::LazyLock;

use interrupt::Pace;
use types::bounded::TextBuilder;
use types::{Error, Oid, Result, SqlState};

use crate::function::{Function, functions};

/// The number of the text search dictionary that `unaccent` comes with.
pub const DICTIONARY: Oid = Oid(14_850);

/// About what a letter takes, in the nanoseconds of a [`Pace`].
const LETTER_WORK: usize = 16;

/// The letter or letters that replace a letter; none for one that stays.
fn plain(letter: char) -> Option<&'static str> {
    static RULES: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
        let lines = include_str!("unaccent.txt").lines();
        let rules = lines.filter_map(|line| line.split_once('\t'));
        rules
            .flat_map(|(text, letters)| letters.chars().map(move |letter| (letter, text)))
            .collect()
    });
    match letter {
        '\0'..='\u{A0}' => None,
        '\u{300}'..='\u{362}' | '\u{20DD}'..='\u{20E0}' | '\u{20E2}'..='\u{20E4}' => Some(""),
        letter => RULES.get(&letter).copied(),
    }
}

fn unaccent(text: &str) -> Result<TextBuilder> {
    let (mut out, mut pace) = (TextBuilder::new(), Pace::new());
    let mut kept = 0;
    for (at, letter) in text.char_indices() {
        pace.step(LETTER_WORK)?;
        if let Some(plain) = plain(letter) {
            out.push(&text[kept..at])?;
            out.push(plain)?;
            kept = at + letter.len_utf8();
        }
    }
    out.push(&text[kept..])?;
    Ok(out)
}

/// The same by a dictionary, of which there is one.
fn by_dictionary(dictionary: Oid, text: &str) -> Result<TextBuilder> {
    if dictionary != DICTIONARY {
        let message = format!("cache lookup failed for text search dictionary {dictionary}");
        return Err(Error::new(SqlState::INTERNAL_ERROR, message));
    }
    unaccent(text)
}

pub(crate) const TABLE: &[Function] = functions! {
    14848 unaccent(REGDICTIONARY, TEXT) -> TEXT [stable] = (dictionary: Oid, text: &str)
        by_dictionary(dictionary, text);
    14849 unaccent(TEXT) -> TEXT [stable] = (text: &str) unaccent(text);
};
