//! Configurations: the dictionary of a token, by its kind.
//!
//! ```text
//!   english   words       english_stem       russian   ASCII words   english_stem
//!             numbers, hosts, files  simple            other words   russian_stem
//!             blanks, tags           none
//! ```

use crate::dictionary::{Dictionary, Language};
use crate::token::{Kind, tokens};

/// A configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Config {
    /// All words as they are, in small letters.
    Simple,
    /// The stems of a language.
    Of(Language),
}

impl Config {
    /// All configurations, by their names but for `simple`, which comes first.
    pub fn all() -> impl Iterator<Item = Config> {
        std::iter::once(Config::Simple).chain(Language::ALL.iter().copied().map(Config::Of))
    }

    /// The configuration with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|config| config.name() == name)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Config::Simple => "simple",
            Config::Of(language) => language.name(),
        }
    }

    /// The dictionary for tokens of a kind; none if these are no lexemes.
    pub fn dictionary(self, kind: Kind) -> Option<Dictionary> {
        let is_ascii =
            matches!(kind, Kind::AsciiWord | Kind::HyphenAsciiPart | Kind::HyphenAsciiWord);
        let is_word = matches!(kind, Kind::Word | Kind::HyphenPart | Kind::HyphenWord);
        match (kind, self) {
            (Kind::Blank | Kind::Tag | Kind::Protocol | Kind::Entity, _) => None,
            (_, Config::Of(Language::Hindi | Language::Russian)) if is_ascii => {
                Some(Dictionary::Stem(Language::English))
            }
            (_, Config::Of(language)) if is_ascii || is_word => Some(Dictionary::Stem(language)),
            _ => Some(Dictionary::Simple),
        }
    }

    /// The lexemes of a text, and the place of each, from 1. A stop word takes a place, too.
    pub fn lexemes(self, text: &str) -> impl Iterator<Item = (String, u32)> {
        self.places(text).filter_map(|(lexeme, at)| Some((lexeme?, at)))
    }

    /// The places of a text, from 1, each with its lexeme; without one for a stop word.
    pub fn places(self, text: &str) -> impl Iterator<Item = (Option<String>, u32)> {
        let words = tokens(text).filter(|token| token.text.len() <= WORD_BYTES_MAX);
        let words =
            words.filter_map(move |token| Some(self.dictionary(token.kind)?.lexeme(token.text)));
        words.zip(1..)
    }
}

/// Longer words are left out, as PostgreSQL does.
const WORD_BYTES_MAX: usize = 2_046;
