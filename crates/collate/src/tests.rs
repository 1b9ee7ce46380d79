//! The guarantees of collations: the orders of languages, and keys that give their texts back.

use super::{Collation, Locale, LocaleError, VERSION, named, numbered, of, system, text_of};

fn sorted(locale: &str, words: &str) -> String {
    let collation = of(locale).expect("a locale");
    let mut words: Vec<&str> = words.split(' ').collect();
    words.sort_by_key(|word| key(&collation, word));
    words.join(" ")
}

fn key(collation: &Collation, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    collation.key(text, &mut key);
    key
}

fn class(locale: &str, text: &str) -> Vec<u8> {
    let mut class = Vec::new();
    of(locale).expect("a locale").class(text, &mut class);
    class
}

/// Each language has its own order, and keywords change it.
#[test]
fn orders() {
    assert_eq!(sorted("und", "zebra Öl apa ål Apa 10 9"), "10 9 ål apa Apa Öl zebra");
    assert_eq!(sorted("sv", "zebra Öl apa ål"), "apa zebra ål Öl");
    assert_eq!(sorted("de-u-co-phonebk", "Of Öf Od"), "Od Öf Of");
    assert_eq!(sorted("en-u-kn-true", "a10 a9 a1"), "a1 a9 a10");
    assert_eq!(sorted("en-u-kf-upper", "a A b B"), "A a B b");
}

/// Texts that differ in what a level leaves out have one class, and different keys.
#[test]
fn classes() {
    assert_eq!(class("und-u-ks-level2", "ABC"), class("und-u-ks-level2", "abc"));
    assert_ne!(class("und-u-ks-level2", "ábc"), class("und-u-ks-level2", "abc"));
    assert_eq!(class("und-u-ks-level1", "Ábc"), class("und-u-ks-level1", "abc"));
    assert_eq!(
        class("und-u-ka-shifted-ks-level1", "a-b"),
        class("und-u-ka-shifted-ks-level1", "ab")
    );
    let collation = of("und-u-ks-level2").expect("a locale");
    assert!(key(&collation, "ABC") < key(&collation, "abc"));
}

/// A sort key has no byte 00, so the text behind it is found again.
#[test]
fn texts_of_keys() {
    for locale in ["und", "sv", "und-u-ks-identic", "ja", "zh", "th", "en-u-kn-true"] {
        let collation = of(locale).expect("a locale");
        for text in
            ["", "a", "Öl\u{1}x", "日本", "\u{1f600}", "12.5", "\u{fffe}", "ไทย", "\u{ffff}"]
        {
            assert_eq!(text_of(&key(&collation, text)), Some(text), "{locale} {text:?}");
        }
    }
}

/// Names of locales are printed as BCP 47 writes them, and what is not supported is refused.
#[test]
fn locales() {
    let read = |text: &str| Locale::read(text).map(|locale| locale.to_string());
    assert_eq!(read("de_DE").as_deref(), Ok("de-DE"));
    assert_eq!(read("").as_deref(), Ok("und"));
    assert_eq!(read("de@collation=phonebook").as_deref(), Ok("de-u-co-phonebk"));
    assert_eq!(
        read("@colStrength=secondary;colNumeric=yes").as_deref(),
        Ok("und-u-kn-true-ks-level2")
    );
    assert_eq!(read("en-u-kn").as_deref(), Ok("en-u-kn-true"));
    assert_eq!(read("not a locale"), Err(LocaleError::NoLocale));
    assert!(of("und-u-kr-latn").is_err());
    assert!(of("nonsense-nowhere").is_ok());
}

/// Letters change their case as the language has it.
#[test]
fn cases() {
    assert_eq!(of("tr").expect("a locale").upper("iı"), "İI");
    assert_eq!(of("und").expect("a locale").upper("straße"), "STRASSE");
    assert_eq!(of("el").expect("a locale").lower("ΟΔΟΣ"), "οδος");
    assert_eq!(of("nl").expect("a locale").capitalize("ijs en HET-huis"), "IJs En Het-Huis");
}

/// Every collation of the system is found by its name and its number, and its locale can be used.
#[test]
fn of_the_system() {
    for known in system() {
        assert_eq!(named(&known.name), Some(known));
        assert_eq!(numbered(known.oid), Some(known));
        if known.provider == super::Provider::Icu {
            let locale = known.locale.expect("a locale");
            assert!(of(locale).is_ok(), "{locale}");
        }
    }
}

/// The version that stored keys carry is that of the tables.
#[test]
fn version() {
    let lock = include_str!("../../../Cargo.lock");
    let locked = format!("name = \"icu_collator_data\"\nversion = \"{VERSION}\"");
    assert!(lock.contains(&locked), "VERSION is not that of icu_collator_data");
}
