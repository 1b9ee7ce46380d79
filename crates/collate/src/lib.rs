//! Orders of text by the rules of a language, from the tables of ICU4X.
//!
//! ```text
//!   locale "sv"               collation "sv-x-icu"
//!     Collation::key("Öl")    the sort key │ 00 │ the text         deterministic: equal are equal texts
//!     Collation::class("Öl")  the sort key                         nondeterministic: equal keys are equal
//! ```
//!
//! Sort keys are compared as bytes, and have no byte 00. Another version of the tables ([`VERSION`]) may give
//! other keys: code that stores a key must store the version with it.
//!
//! A locale is a BCP 47 tag, and may have options for the comparison: `und-u-ks-level2` ignores case,
//! `en-u-kn` compares digits as numbers ([`Locale`]).

mod locale;
mod system;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, RwLock};

use icu_casemap::CaseMapperBorrowed;
use icu_casemap::options::TitlecaseOptions;
use icu_collator::CollatorBorrowed;
use icu_locale_core::LanguageIdentifier;

pub use locale::{Locale, LocaleError};
pub use system::{Provider, System, named, numbered, system};

/// The version of the tables that sort keys are made with: that of the crate with the tables.
pub const VERSION: &str = "2.4.0";

/// The most collations in the cache. A statement can name any number of locales.
const KEPT_MAX: usize = 256;

/// The byte between a sort key and the text that it was made of.
const END: u8 = 0;

/// A collation: the order of texts by a locale.
pub struct Collation {
    collator: CollatorBorrowed<'static>,
    language: LanguageIdentifier,
}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collation({})", self.language)
    }
}

thread_local! {
    /// The collation that was used last.
    static LAST: RefCell<Option<(Box<str>, Arc<Collation>)>> = const { RefCell::new(None) };
}

/// The collation of a locale in the form that [`Locale`] prints. All callers share it.
///
/// # Errors
/// Fails if the locale is invalid, or has an option that the tables do not support.
pub fn of(locale: &str) -> Result<Arc<Collation>, LocaleError> {
    static KNOWN: LazyLock<RwLock<HashMap<Box<str>, Arc<Collation>>>> =
        LazyLock::new(RwLock::default);
    let last = LAST.with_borrow(|last| match last {
        Some((known, collation)) if **known == *locale => Some(Arc::clone(collation)),
        _ => None,
    });
    if let Some(collation) = last {
        return Ok(collation);
    }
    let known = KNOWN.read().ok().and_then(|known| known.get(locale).cloned());
    let collation = match known {
        Some(collation) => collation,
        None => {
            let made = Arc::new(Locale::read(locale)?.collation()?);
            if let Ok(mut known) = KNOWN.write() {
                if known.len() == KEPT_MAX {
                    known.clear();
                }
                known.insert(locale.into(), Arc::clone(&made));
            }
            made
        }
    };
    LAST.set(Some((locale.into(), Arc::clone(&collation))));
    Ok(collation)
}

impl Collation {
    /// Appends the sort key of a text. Texts with equal keys are equal to a nondeterministic collation.
    pub fn class(&self, text: &str, out: &mut Vec<u8>) {
        let Ok(()) = self.collator.write_sort_key_to(text, out);
    }

    /// Appends the sort key of a text and then the text, which decides between equal sort keys.
    pub fn key(&self, text: &str, out: &mut Vec<u8>) {
        self.class(text, out);
        out.push(END);
        out.extend_from_slice(text.as_bytes());
    }

    /// The text in capital letters.
    pub fn upper(&self, text: &str) -> String {
        CaseMapperBorrowed::new().uppercase_to_string(text, &self.language).into_owned()
    }

    /// The text in small letters.
    pub fn lower(&self, text: &str) -> String {
        CaseMapperBorrowed::new().lowercase_to_string(text, &self.language).into_owned()
    }

    /// The text with a capital letter at the beginning of each word.
    pub fn capitalize(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let between = rest.find(char::is_alphanumeric).unwrap_or(rest.len());
            out.push_str(&rest[..between]);
            rest = &rest[between..];
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let word = CaseMapperBorrowed::new().titlecase_segment_with_only_case_data_to_string(
                &rest[..end],
                &self.language,
                TitlecaseOptions::default(),
            );
            out.push_str(&word);
            rest = &rest[end..];
        }
        out
    }
}

/// The text that [`Collation::key`] was made of.
pub fn text_of(key: &[u8]) -> Option<&str> {
    let end = key.iter().position(|byte| *byte == END)?;
    std::str::from_utf8(&key[end + 1..]).ok()
}

#[cfg(test)]
mod tests;
