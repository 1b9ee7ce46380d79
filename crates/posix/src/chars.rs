//! Sets of characters, the named classes, and the letters that are cases of each other.
//!
//! A set is a sorted list of ranges that do not touch. Characters are numbers up to 2^31 here,
//! because an escape may name one that no text has.
//!
//! # Classes
//! They are those of the locale `C.UTF-8` of glibc, which PostgreSQL asks:
//!
//! ```text
//!   digit, xdigit, blank     ASCII only
//!   alpha                    letters, and the digits of other scripts
//!   alnum, word              alpha and 0-9, and _
//!   space                    spaces at which a line may break
//!   graph, print, punct      what is assigned: see `assigned`
//! ```

use std::sync::LazyLock;

use crate::assigned::PRINTING;

/// A sorted list of ranges, ends included, that neither overlap nor touch.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct CharSet(Vec<(u32, u32)>);

/// The last character that a text can have.
const LAST: u32 = char::MAX as u32;

impl CharSet {
    pub fn one(c: u32) -> Self {
        Self(vec![(c, c)])
    }

    pub fn range(low: u32, high: u32) -> Self {
        Self(vec![(low, high)])
    }

    /// Every character of any text.
    pub fn any() -> Self {
        Self::range(0, LAST)
    }

    fn matching(test: impl Fn(char) -> bool) -> Self {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for c in ('\0'..=char::MAX).filter(|c| test(*c)) {
            match ranges.last_mut() {
                Some((_, high)) if *high + 1 == c as u32 => *high += 1,
                _ => ranges.push((c as u32, c as u32)),
            }
        }
        Self(ranges)
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// The characters of any ranges.
    pub fn of(ranges: Vec<(u32, u32)>) -> Self {
        let mut set = Self(ranges);
        set.normalise();
        set
    }

    /// The only character of the set, if it has one.
    pub fn only(&self) -> Option<char> {
        match self.0[..] {
            [(low, high)] if low == high => char::from_u32(low),
            _ => None,
        }
    }

    fn normalise(&mut self) {
        self.0.sort_unstable();
        let mut kept = 0;
        for at in 1..self.0.len() {
            let (low, high) = self.0[at];
            if low <= self.0[kept].1.saturating_add(1) {
                self.0[kept].1 = self.0[kept].1.max(high);
            } else {
                kept += 1;
                self.0[kept] = (low, high);
            }
        }
        self.0.truncate(kept + 1);
    }

    /// All characters that are not in the set.
    pub fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for &(low, high) in &self.0 {
            if low > next {
                ranges.push((next, low - 1));
            }
            next = high.saturating_add(1);
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Self(ranges)
    }
}

/// A class of characters that has a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Alnum,
    Alpha,
    Ascii,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Xdigit,
    Word,
}

impl Class {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "alnum" => Self::Alnum,
            "alpha" => Self::Alpha,
            "ascii" => Self::Ascii,
            "blank" => Self::Blank,
            "cntrl" => Self::Cntrl,
            "digit" => Self::Digit,
            "graph" => Self::Graph,
            "lower" => Self::Lower,
            "print" => Self::Print,
            "punct" => Self::Punct,
            "space" => Self::Space,
            "upper" => Self::Upper,
            "xdigit" => Self::Xdigit,
            "word" => Self::Word,
            _ => return None,
        })
    }

    /// The characters of the class. Where case does not count, a letter of either case is one of
    /// both.
    pub fn set(self, any_case: bool) -> &'static CharSet {
        static ALNUM: LazyLock<CharSet> =
            LazyLock::new(|| CharSet::matching(|c| c.is_ascii_digit() || is_alpha(c)));
        static ALPHA: LazyLock<CharSet> = LazyLock::new(|| CharSet::matching(is_alpha));
        static ASCII: LazyLock<CharSet> = LazyLock::new(|| CharSet::range(0, 0x7f));
        static BLANK: LazyLock<CharSet> =
            LazyLock::new(|| CharSet::matching(|c| matches!(c, ' ' | '\t')));
        static CNTRL: LazyLock<CharSet> = LazyLock::new(|| CharSet::matching(char::is_control));
        static DIGIT: LazyLock<CharSet> = LazyLock::new(|| CharSet::range(0x30, 0x39));
        static GRAPH: LazyLock<CharSet> =
            LazyLock::new(|| CharSet::matching(|c| is_printing(c) && !is_space(c)));
        static LOWER: LazyLock<CharSet> =
            LazyLock::new(|| CharSet::matching(|c| c.is_lowercase() || is_of_both_cases(c)));
        static PRINT: LazyLock<CharSet> = LazyLock::new(|| CharSet::matching(is_printing));
        static PUNCT: LazyLock<CharSet> = LazyLock::new(|| {
            CharSet::matching(|c| {
                is_printing(c) && !is_space(c) && !is_alpha(c) && !c.is_ascii_digit()
            })
        });
        static SPACE: LazyLock<CharSet> = LazyLock::new(|| CharSet::matching(is_space));
        static UPPER: LazyLock<CharSet> =
            LazyLock::new(|| CharSet::matching(|c| c.is_uppercase() || is_title(c)));
        static XDIGIT: LazyLock<CharSet> =
            LazyLock::new(|| CharSet::matching(|c| c.is_ascii_hexdigit()));
        static WORD: LazyLock<CharSet> =
            LazyLock::new(|| CharSet::matching(|c| c == '_' || c.is_ascii_digit() || is_alpha(c)));
        match self {
            Self::Alnum => &ALNUM,
            Self::Lower | Self::Upper if any_case => &ALPHA,
            Self::Alpha => &ALPHA,
            Self::Ascii => &ASCII,
            Self::Blank => &BLANK,
            Self::Cntrl => &CNTRL,
            Self::Digit => &DIGIT,
            Self::Graph => &GRAPH,
            Self::Lower => &LOWER,
            Self::Print => &PRINT,
            Self::Punct => &PUNCT,
            Self::Space => &SPACE,
            Self::Upper => &UPPER,
            Self::Xdigit => &XDIGIT,
            Self::Word => &WORD,
        }
    }
}

/// Where runs of ten digits begin, in the scripts that have their own.
const DIGITS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950,
    0x1fbf0,
];

/// True for a letter, and for a digit of a script that has its own.
pub fn is_alpha(c: char) -> bool {
    c.is_alphabetic() || {
        let at = DIGITS.partition_point(|start| *start <= c as u32);
        at > 0 && c as u32 - DIGITS[at - 1] < 10
    }
}

/// True for white space at which a line may break.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}')
}

fn is_printing(c: char) -> bool {
    match c {
        '\0'..='\x7f' => matches!(c, ' '..='~'),
        // A run has begun and not ended: an odd number of ends lies at or before it.
        _ => PRINTING.partition_point(|end| *end <= c as u32) % 2 == 1,
    }
}

/// True for a ligature of which only the first letter is a capital.
fn is_of_both_cases(c: char) -> bool {
    matches!(c, '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}')
}

fn is_title(c: char) -> bool {
    is_of_both_cases(c)
        || matches!(c, '\u{1f88}'..='\u{1f8f}' | '\u{1f98}'..='\u{1f9f}' | '\u{1fa8}'..='\u{1faf}')
        || matches!(c, '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}')
}

fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    mapped.next().filter(|_| mapped.next().is_none())
}

/// As [`lower_char`], by code point.
pub(crate) fn lower(c: u32) -> u32 {
    char::from_u32(c).map_or(c, |c| lower_char(c) as u32)
}

/// As [`upper_char`], by code point.
pub(crate) fn upper(c: u32) -> u32 {
    char::from_u32(c).map_or(c, |c| upper_char(c) as u32)
}

/// The small form of a letter; a letter whose small form is not one character stays.
pub fn lower_char(c: char) -> char {
    match c {
        '\u{130}' => 'i',
        _ => single(c.to_lowercase()).unwrap_or(c),
    }
}

/// The capital form of a letter; a letter whose capital form is not one character stays.
pub fn upper_char(c: char) -> char {
    if let Some(capital) = single(c.to_uppercase()) {
        return capital;
    }
    // Greek letters with a iota below: their capital writes it beside, in one character.
    let capital = |distance| {
        char::from_u32(c as u32 + distance)
            .filter(|capital| is_title(*capital))
            .filter(|capital| single(capital.to_lowercase()) == Some(c))
    };
    capital(8).or_else(|| capital(9)).unwrap_or(c)
}

/// A character where case does not count: its small and its capital form.
pub(crate) fn both_cases(c: u32) -> CharSet {
    CharSet::of(vec![(lower(c), lower(c)), (upper(c), upper(c))])
}

/// A range where case does not count: its characters, and the other forms of each.
pub(crate) fn range_in_both_cases(low: u32, high: u32) -> CharSet {
    let mut ranges = vec![(low, high)];
    for c in low..=high.min(LAST) {
        for other in [lower(c), upper(c)] {
            if other < low || other > high {
                ranges.push((other, other));
            }
        }
    }
    CharSet::of(ranges)
}

/// The character that a name between `[.` and `.]` stands for.
pub(crate) fn element(name: &str) -> Option<u32> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(c as u32);
    }
    const CONTROLS: [&str; 32] = [
        "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR",
        "SO", "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB",
        "ESC", "IS4", "IS3", "IS2", "IS1",
    ];
    if let Some(code) = CONTROLS.iter().position(|control| *control == name) {
        return Some(code as u32);
    }
    let c = match name {
        "alert" => '\u{7}',
        "backspace" => '\u{8}',
        "tab" => '\t',
        "newline" => '\n',
        "vertical-tab" => '\u{b}',
        "form-feed" => '\u{c}',
        "carriage-return" => '\r',
        "FS" => '\u{1c}',
        "GS" => '\u{1d}',
        "RS" => '\u{1e}',
        "US" => '\u{1f}',
        "space" => ' ',
        "exclamation-mark" => '!',
        "quotation-mark" => '"',
        "number-sign" => '#',
        "dollar-sign" => '$',
        "percent-sign" => '%',
        "ampersand" => '&',
        "apostrophe" => '\'',
        "left-parenthesis" => '(',
        "right-parenthesis" => ')',
        "asterisk" => '*',
        "plus-sign" => '+',
        "comma" => ',',
        "hyphen" | "hyphen-minus" => '-',
        "period" | "full-stop" => '.',
        "slash" | "solidus" => '/',
        "zero" => '0',
        "one" => '1',
        "two" => '2',
        "three" => '3',
        "four" => '4',
        "five" => '5',
        "six" => '6',
        "seven" => '7',
        "eight" => '8',
        "nine" => '9',
        "colon" => ':',
        "semicolon" => ';',
        "less-than-sign" => '<',
        "equals-sign" => '=',
        "greater-than-sign" => '>',
        "question-mark" => '?',
        "commercial-at" => '@',
        "left-square-bracket" => '[',
        "backslash" | "reverse-solidus" => '\\',
        "right-square-bracket" => ']',
        "circumflex" | "circumflex-accent" => '^',
        "underscore" | "low-line" => '_',
        "grave-accent" => '`',
        "left-brace" | "left-curly-bracket" => '{',
        "vertical-line" => '|',
        "right-brace" | "right-curly-bracket" => '}',
        "tilde" => '~',
        "DEL" => '\u{7f}',
        _ => return None,
    };
    Some(c as u32)
}
