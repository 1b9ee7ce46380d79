//! Examples of PostgreSQL's documentation, expressions that run for ever elsewhere, and expressions that are
//! too large.
//! 5,000 patterns and what PostgreSQL finds with them are in the tests of the server.

use crate::{Error, Options, Regex, Stopped};

fn never() -> bool {
    false
}

fn regex(pattern: &str, letters: &str) -> Result<Regex, Error> {
    let mut options = Options::default();
    assert!(letters.chars().all(|letter| options.set(letter)), "{letters}");
    Regex::new(pattern, options, true)
}

/// The first match and its groups, as text.
fn found(pattern: &str, text: &str) -> String {
    let regex = regex(pattern, "").unwrap();
    let spans = regex.search(text, never).find(0, true).unwrap();
    let show = |span: &Option<(usize, usize)>| span.map_or("-", |(begin, end)| &text[begin..end]);
    spans.map_or("none".to_owned(), |spans| spans.iter().map(show).collect::<Vec<_>>().join(","))
}

/// `substring('foobar' from 'foo|foobar')` was `foo`, because the first alternative that matched was taken.
/// The search must return the longest match, or the shortest if the expression as a whole prefers it.
#[test]
fn the_longest_match_counts() {
    for (pattern, text, answer) in [
        ("foo|foobar", "foobar", "foobar"),
        ("(a|ab)(c|bcd)(d*)", "abcd", "abcd,ab,c,d"),
        ("xy*?", "xyyy", "x"),
        ("Y*([0-9]{1,3})", "XY1234Z", "Y123,123"),
        ("Y*?([0-9]{1,3})", "XY1234Z", "Y1,1"),
        ("(.*)(\\d+)(.*)", "abc01234xyz", "abc01234xyz,abc0123,4,xyz"),
        ("(.*?)(\\d+)(.*)", "abc01234xyz", "abc0,abc,0,"),
        ("(?:(.*?)(\\d+)(.*)){1,1}", "abc01234xyz", "abc01234xyz,abc,01234,xyz"),
        ("(a*)*", "b", ","),
        ("(a|b)*?c", "abac", "abac,a"),
        ("(?<=\\d)[a-z]+(?=!)", "ab1cd!", "cd"),
        ("([bc])\\1", "abcc", "cc,c"),
        ("\\mab\\M", "abc ab", "ab"),
        ("[[:upper:]]+", "äÖÜ", "ÖÜ"),
        ("x.*y|z", "xxxz", "z"),
    ] {
        assert_eq!(found(pattern, text), answer, "{pattern} in {text}");
    }
}

/// Backtracking takes longer than the universe for these, and for some of them it overflows a stack.
#[test]
fn no_pattern_takes_exponential_time() {
    let many = "x".repeat(100_000);
    for pattern in ["(x+x+)+y", "(x*)*y", "(x|x)*y", "(?:x?){200}x{200}y", "x.*x.*x.*y"] {
        assert_eq!(found(pattern, &many), "none", "{pattern}");
    }
    let spaced = "x ".repeat(20_000);
    let regex = regex("x.*y|x", "").unwrap();
    assert_eq!(regex.search(&spaced[..4_000], never).matches(0, false).count(), 2_000);
    assert_eq!(found("((x| )*)*", &spaced).len(), 2 * spaced.len() + 3);
    assert_eq!(found("(?:(x)|(y)|( ))*", &spaced).len(), spaced.len() + 6);
}

/// A back reference cannot be found in linear time: the caller is asked whether to go on.
#[test]
fn a_search_can_be_interrupted() {
    let text = format!("{}?!", "ab".repeat(5_000));
    for pattern in ["(.+)(.+)\\2\\1!", "(?:(.+)\\1)+!"] {
        let regex = regex(pattern, "").unwrap();
        let stopped = regex.search(&text, || true).find(0, true);
        assert_eq!(stopped, Err(Stopped::Interrupted), "{pattern}");
    }
}

/// A pattern that would need too much memory is refused when it is compiled.
#[test]
fn large_patterns_are_refused() {
    let nested = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    let groups = "(a)".repeat(5_000);
    let doubled: String = (1..30).map(|n| format!("(\\{n}\\{n})")).collect();
    for pattern in ["(((a{255}){255}){255})", &nested, &groups, &format!("(x){doubled}")] {
        assert_eq!(regex(pattern, "").err(), Some(Error::TooComplex), "{:.40}", pattern);
    }
    let comments = "(?#)".repeat(100_000) + "a";
    assert_eq!(found(&comments, "ba"), "a");
}

/// After many uses an expression is found by another engine: where a match begins stays the same.
#[test]
fn many_uses_change_no_answer() {
    let texts = ["", "a", "äb ab", "\n_a1\n", "xyyy", "AB\u{3b1}", "aa b\nb"];
    for pattern in [
        "a|ab",
        "(?n)^a",
        "(?w)b$",
        "\\mab",
        "\\yb",
        "[[:alpha:]]+",
        "[^a]",
        "(?i)ab|α",
        "y{2,3}",
        "\\W",
        "a*",
        "b\\M",
        "(?n)[^b]+$",
    ] {
        let regex = regex(pattern, "").unwrap();
        for text in texts {
            let fresh = self::regex(pattern, "").unwrap().search(text, never).find(0, true);
            for _ in 0..100 {
                assert_eq!(regex.search(text, never).find(0, true), fresh, "{pattern} in {text}");
                assert_eq!(
                    regex.search(text, never).is_match(0),
                    fresh.as_ref().map(Option::is_some).map_err(|stopped| *stopped),
                    "{pattern} in {text}"
                );
            }
        }
    }
}
