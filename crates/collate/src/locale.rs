//! [`Locale`]: the name of a language, with options for the comparison, as BCP 47 and ICU write it.
//!
//! ```text
//!   sv                          sv
//!   de_DE                       de-DE                        as ICU writes it
//!   de@collation=phonebook      de-u-co-phonebk              likewise
//!   und-u-ks-level2             und-u-ks-level2
//! ```

use std::fmt;

use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale as Tag;

use crate::Collation;

/// A locale that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locale {
    tag: Tag,
    /// The name, if it has the form of a name but no language has it. Such a locale has the order of the root.
    unknown: Option<String>,
    /// The keywords and their values, in the order of the keywords.
    keywords: Vec<(String, String)>,
}

/// Why a locale cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LocaleError {
    /// It is not the name of a locale.
    NoLocale,
    /// A keyword asks for something that is not there: the keyword and its value.
    Keyword(String, String),
}

/// The keywords of ICU, and those of BCP 47 that mean the same.
const OF_ICU: [(&str, &str); 8] = [
    ("collation", "co"),
    ("colalternate", "ka"),
    ("colbackwards", "kb"),
    ("colcasefirst", "kf"),
    ("colcaselevel", "kc"),
    ("colnormalization", "kk"),
    ("colnumeric", "kn"),
    ("colstrength", "ks"),
];

/// Values of ICU, and those of BCP 47 that mean the same.
const VALUES_OF_ICU: [(&str, &str); 13] = [
    ("primary", "level1"),
    ("secondary", "level2"),
    ("tertiary", "level3"),
    ("quaternary", "level4"),
    ("quarternary", "level4"),
    ("identical", "identic"),
    ("yes", "true"),
    ("no", "false"),
    ("non-ignorable", "noignore"),
    ("phonebook", "phonebk"),
    ("traditional", "trad"),
    ("dictionary", "dict"),
    ("gb2312han", "gb2312"),
];

impl Locale {
    /// Reads a locale as BCP 47 or ICU writes it. The empty one is the root.
    ///
    /// # Errors
    /// Fails if the text is not a locale.
    pub fn read(text: &str) -> Result<Self, LocaleError> {
        let (name, of_icu) = text.split_once('@').unwrap_or((text, ""));
        let name = match name {
            "" | "root" => "und".to_owned(),
            name => name.replace('_', "-"),
        };
        let (tag, unknown): (Tag, _) = match name.parse() {
            Ok(tag) => (tag, None),
            Err(_) if could_be_name(&name) => (Tag::UNKNOWN, Some(name)),
            Err(_) => return Err(LocaleError::NoLocale),
        };
        let written = tag.extensions.unicode.keywords.iter();
        let mut keywords: Vec<(String, String)> = written
            .map(|(key, value)| match value.to_string() {
                value if value.is_empty() => (key.to_string(), "true".to_owned()),
                value => (key.to_string(), value),
            })
            .collect();
        for keyword in of_icu.split(';').filter(|keyword| !keyword.is_empty()) {
            let (key, value) = keyword.split_once('=').ok_or(LocaleError::NoLocale)?;
            let (key, value) = (key.to_ascii_lowercase(), value.to_ascii_lowercase());
            let same = |list: &[(&str, &str)], word: &str| {
                list.iter().find(|(icu, _)| *icu == word).map(|(_, known)| (*known).to_owned())
            };
            let key = same(&OF_ICU, &key).unwrap_or(key);
            let value = same(&VALUES_OF_ICU, &value).unwrap_or(value);
            keywords.retain(|(known, _)| *known != key);
            keywords.push((key, value));
        }
        keywords.sort();
        Ok(Locale { tag, unknown, keywords })
    }

    /// The language, where no language can be called so.
    pub fn unknown_language(&self) -> Option<&str> {
        self.unknown.as_deref().and_then(|name| name.split('-').next())
    }

    /// How it compares.
    pub(crate) fn collation(&self) -> Result<Collation, LocaleError> {
        let mut tag = self.tag.clone();
        let mut options = CollatorOptions::default();
        for (key, value) in &self.keywords {
            let unfit = || LocaleError::Keyword(key.clone(), value.clone());
            match (key.as_str(), value.as_str()) {
                ("ks", "level1") => options.strength = Some(Strength::Primary),
                ("ks", "level2") => options.strength = Some(Strength::Secondary),
                ("ks", "level3") => options.strength = Some(Strength::Tertiary),
                ("ks", "level4") => options.strength = Some(Strength::Quaternary),
                ("ks", "identic") => options.strength = Some(Strength::Identical),
                ("ka", "noignore") => {
                    options.alternate_handling = Some(AlternateHandling::NonIgnorable);
                }
                ("ka", "shifted") => options.alternate_handling = Some(AlternateHandling::Shifted),
                ("kc", "true") => options.case_level = Some(CaseLevel::On),
                ("kc", "false") => options.case_level = Some(CaseLevel::Off),
                ("kv", "space") => options.max_variable = Some(MaxVariable::Space),
                ("kv", "punct") => options.max_variable = Some(MaxVariable::Punctuation),
                ("kv", "symbol") => options.max_variable = Some(MaxVariable::Symbol),
                ("kv", "currency") => options.max_variable = Some(MaxVariable::Currency),
                // Texts are always normalized, and the second level is read backwards where the language says so.
                ("kk", "true" | "false") | ("kb", "false") => {}
                ("kn", "true" | "false") | ("kf", "upper" | "lower" | "false") => {}
                ("ks" | "ka" | "kb" | "kc" | "kk" | "kn" | "kf" | "kr" | "kh" | "kv" | "vt", _) => {
                    return Err(unfit());
                }
                _ => {}
            }
            let (Ok(key), Ok(value)) = (key.parse(), value.parse()) else { return Err(unfit()) };
            tag.extensions.unicode.keywords.set(key, value);
        }
        let language = tag.id.clone();
        let preferences = CollatorPreferences::from(&tag);
        let collator =
            CollatorBorrowed::try_new(preferences, options).map_err(|_| LocaleError::NoLocale)?;
        Ok(Collation { collator, language })
    }
}

/// True for a name that begins with a word as long as languages that are still to be named.
fn could_be_name(name: &str) -> bool {
    let mut parts = name.split('-');
    let is_language = |part: &str| {
        matches!(part.len(), 4..=8) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    parts.next().is_some_and(is_language)
        && parts.all(|part| {
            matches!(part.len(), 2..=8) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// As a tag of BCP 47, with `true` if a keyword has no value.
impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unknown {
            Some(name) => f.write_str(name)?,
            None => write!(f, "{}", self.tag.id)?,
        }
        if !self.keywords.is_empty() {
            f.write_str("-u")?;
        }
        for (key, value) in &self.keywords {
            write!(f, "-{key}-{value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LocaleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LocaleError::NoLocale => f.write_str("it is not the name of a locale"),
            LocaleError::Keyword(key, value) => write!(f, "{key}-{value} is not supported"),
        }
    }
}

impl std::error::Error for LocaleError {}
