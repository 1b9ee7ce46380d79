//! The same texts give the same tokens and lexemes as with PostgreSQL 17: each line of the tables is a
//! text and what its parser or its dictionaries made of it.

use lexeme::dictionary::Language;
use lexeme::{Config, tokens};

/// The lines of a table, without its head.
fn rows(table: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (text, expected) = line.split_once('\t')?;
        Some((text.to_owned(), expected.to_owned()))
    })
}

fn check(table: &str, answer: impl Fn(&str) -> String) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (text, expected) in rows(table) {
        count += 1;
        let found = answer(&text);
        if found != expected {
            wrong.push(format!("{text:?}\n  here       {found}\n  PostgreSQL {expected}"));
        }
    }
    assert!(count > 100, "only {count} rows");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The parser finds the tokens that `ts_parse` finds.
#[test]
fn texts_have_the_same_tokens() {
    check(&table("tokens.tsv"), |text| {
        let all = tokens(text).map(|token| format!("{}:{}", token.kind as u8, token.text));
        all.collect::<Vec<_>>().join("|")
    });
}

/// The dictionaries give the stems that `ts_lexize` gives, and know the same stop words.
#[test]
fn words_have_the_same_stems() {
    check(&table("stems.tsv"), |text| {
        let (name, word) = text.split_once(' ').expect("a language and a word");
        let language = Language::ALL.iter().find(|language| language.name() == name);
        let language = *language.expect("a language");
        lexeme::Dictionary::Stem(language).lexeme(word).unwrap_or_default()
    });
}

/// A table beside this file, or another one that `ANYWHEN_TABLES` has.
fn table(name: &str) -> String {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/postgres");
    let folder = std::env::var("ANYWHEN_TABLES").unwrap_or(own.to_owned());
    std::fs::read_to_string(format!("{folder}/{name}")).expect("a table")
}

/// The tokens of any text are its parts in order, except those that are read twice.
#[test]
fn tokens_cover_the_text() {
    for text in ["", "a", "-", "<", "&", "a.b.c.d-e_f@g", "<script>x<y</script>", "é-à 1.2.3"] {
        let all: String = tokens(text).map(|token| token.text).collect();
        assert!(all.len() >= text.len(), "{text:?} {all:?}");
    }
    assert_eq!(Config::named("english"), Some(Config::Of(Language::English)));
    let lexemes: Vec<_> = Config::Of(Language::English).lexemes("The fat rats").collect();
    assert_eq!(lexemes, [("fat".to_owned(), 2), ("rat".to_owned(), 3)]);
}
