//! Dictionaries: the lexemes of a word.
//!
//! ```text
//!   simple         Rats  rats
//!   english_stem   Rats  rat      the  (stop word)
//! ```
//!
//! The stems are those of Snowball, as PostgreSQL 17 has them: of each language from the crate whose
//! stems are the same. The stop words are PostgreSQL's own lists (PostgreSQL Licence), in `stop/`.

use std::collections::HashSet;
use std::sync::LazyLock;

use rust_stemmers as older;
use snowball_stemmers_rs as newer;

/// Words of more bytes have no stem.
const WORD_BYTES_MAX: usize = 1_000;

/// A dictionary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dictionary {
    /// Makes letters small.
    Simple,
    /// Takes stop words out, and the ends off the others.
    Stem(Language),
}

impl Dictionary {
    /// The lexeme of a word; none for a stop word.
    pub fn lexeme(self, word: &str) -> Option<String> {
        let lower: String = word.chars().map(posix::lower_char).collect();
        match self {
            Dictionary::Simple => Some(lower),
            Dictionary::Stem(_) if word.len() > WORD_BYTES_MAX => Some(lower),
            Dictionary::Stem(language) if lower.is_empty() || language.is_stop_word(&lower) => None,
            Dictionary::Stem(language) => Some(language.stem(&lower)),
        }
    }
}

#[derive(Clone, Copy)]
enum Algorithm {
    Older(older::Algorithm),
    Newer(newer::Algorithm),
}

/// Makes the list of languages.
macro_rules! languages {
    ($($language:ident $name:literal $crate_name:ident $algorithm:ident $($stop:literal)?;)*) => {
        /// A language whose words have stems.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Language { $(#[doc = $name] $language,)* }

        impl Language {
            /// All languages, by their names.
            pub const ALL: &[Language] = &[$(Language::$language),*];

            /// The name, as that of the configuration.
            pub fn name(self) -> &'static str {
                match self { $(Language::$language => $name,)* }
            }

            fn algorithm(self) -> Algorithm {
                match self {
                    $(Language::$language => languages!(@ $crate_name $algorithm),)*
                }
            }

            fn stop_list(self) -> Option<&'static str> {
                match self {
                    $(Language::$language => languages!(@stop $($stop)?),)*
                }
            }
        }
    };
    (@ older $algorithm:ident) => { Algorithm::Older(older::Algorithm::$algorithm) };
    (@ newer $algorithm:ident) => { Algorithm::Newer(newer::Algorithm::$algorithm) };
    (@stop) => { None };
    (@stop $stop:literal) => { Some(include_str!($stop)) };
}

languages! {
    Arabic "arabic" older Arabic;
    Armenian "armenian" newer Armenian;
    Basque "basque" newer Basque;
    Catalan "catalan" newer Catalan;
    Danish "danish" older Danish "stop/danish.stop";
    Dutch "dutch" older Dutch "stop/dutch.stop";
    English "english" older English "stop/english.stop";
    Finnish "finnish" newer Finnish "stop/finnish.stop";
    French "french" newer French "stop/french.stop";
    German "german" older German "stop/german.stop";
    Greek "greek" newer Greek;
    Hindi "hindi" newer Hindi;
    Hungarian "hungarian" older Hungarian "stop/hungarian.stop";
    Indonesian "indonesian" newer Indonesian;
    Irish "irish" newer Irish;
    Italian "italian" older Italian "stop/italian.stop";
    Lithuanian "lithuanian" newer Lithuanian;
    Nepali "nepali" newer Nepali "stop/nepali.stop";
    Norwegian "norwegian" older Norwegian "stop/norwegian.stop";
    Portuguese "portuguese" older Portuguese "stop/portuguese.stop";
    Romanian "romanian" older Romanian;
    Russian "russian" newer Russian "stop/russian.stop";
    Serbian "serbian" newer Serbian;
    Spanish "spanish" older Spanish "stop/spanish.stop";
    Swedish "swedish" older Swedish "stop/swedish.stop";
    Tamil "tamil" older Tamil;
    Turkish "turkish" older Turkish "stop/turkish.stop";
    Yiddish "yiddish" newer Yiddish;
}

impl Language {
    /// True for a word that says too little to be looked for. The word is in small letters.
    pub fn is_stop_word(self, word: &str) -> bool {
        static LISTS: LazyLock<Vec<HashSet<&str>>> = LazyLock::new(|| {
            let list = |language: &Language| language.stop_list().unwrap_or_default().lines();
            Language::ALL.iter().map(|language| list(language).map(str::trim).collect()).collect()
        });
        !word.is_empty() && LISTS[self as usize].contains(word)
    }

    /// True if there is a list of stop words.
    pub fn has_stop_words(self) -> bool {
        self.stop_list().is_some()
    }

    /// The stem of a word in small letters.
    pub fn stem(self, word: &str) -> String {
        let stem = match self.algorithm() {
            Algorithm::Older(algorithm) => {
                older::Stemmer::create(algorithm).stem(word).into_owned()
            }
            Algorithm::Newer(algorithm) => {
                newer::Stemmer::create(algorithm).stem(word).into_owned()
            }
        };
        if stem.is_empty() { word.to_owned() } else { stem }
    }
}
