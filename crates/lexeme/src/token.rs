//! The default parser: the tokens of a text.
//!
//! ```text
//!   http://a.com/b   well-known        protocol http://   url a.com/b   host a.com   url_path /b
//!                                      blank              asciihword well-known
//!                                      hword_asciipart well   blank -   hword_asciipart known
//! ```
//!
//! The parser is a machine whose rules stand in `grammar.txt`. It reads the longest token that a chain
//! of rules accepts; where a way leads nowhere, it goes back to the last place where it had a choice.
//! Some tokens are read twice: first as a whole, then in parts.

use unicode_normalization::char::is_combining_mark;

use crate::grammar::{Grammar, Move, State, Test};

/// The kinds of tokens, in PostgreSQL's order: number, name, description.
macro_rules! kinds {
    ($($number:literal $kind:ident $name:literal $description:literal;)*) => {
        /// A kind of token.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $(#[doc = $description] $kind = $number,)*
        }

        impl Kind {
            /// All kinds, by their numbers.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            /// The name, such as `asciiword`.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)* }
            }

            /// The description of the kind, in PostgreSQL's words.
            pub fn description(self) -> &'static str {
                match self { $(Kind::$kind => $description,)* }
            }
        }
    };
}

kinds! {
    1 AsciiWord "asciiword" "Word, all ASCII";
    2 Word "word" "Word, all letters";
    3 NumWord "numword" "Word, letters and digits";
    4 Email "email" "Email address";
    5 Url "url" "URL";
    6 Host "host" "Host";
    7 Scientific "sfloat" "Scientific notation";
    8 Version "version" "Version number";
    9 HyphenNumPart "hword_numpart" "Hyphenated word part, letters and digits";
    10 HyphenPart "hword_part" "Hyphenated word part, all letters";
    11 HyphenAsciiPart "hword_asciipart" "Hyphenated word part, all ASCII";
    12 Blank "blank" "Space symbols";
    13 Tag "tag" "XML tag";
    14 Protocol "protocol" "Protocol head";
    15 HyphenNumWord "numhword" "Hyphenated word, letters and digits";
    16 HyphenAsciiWord "asciihword" "Hyphenated word, all ASCII";
    17 HyphenWord "hword" "Hyphenated word, all letters";
    18 UrlPath "url_path" "URL path";
    19 File "file" "File or path name";
    20 Decimal "float" "Decimal notation";
    21 SignedInt "int" "Signed integer";
    22 UnsignedInt "uint" "Unsigned integer";
    23 Entity "entity" "XML entity";
}

impl Kind {
    /// The kind with this number.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }
}

/// A part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token<'a> {
    /// Its kind.
    pub kind: Kind,
    /// How it is written.
    pub text: &'a str,
}

/// The tokens of a text.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    Machine::new(text, Grammar::get().start)
}

/// Where the machine had a choice: the place, the state, and the rule that it tries next.
#[derive(Clone, Copy)]
struct Choice {
    at: usize,
    state: State,
    rule: usize,
}

struct Machine<'a> {
    grammar: &'static Grammar,
    text: &'a str,
    at: usize,
    /// Where the token starts.
    start: usize,
    state: State,
    /// True if a host is read as the first part of a URL, or as the end of a mail address.
    wants_host: bool,
    /// True within `<script>` and `<style>`.
    ignores: bool,
}

impl<'a> Machine<'a> {
    fn new(text: &'a str, state: State) -> Self {
        let grammar = Grammar::get();
        Machine { grammar, text, at: 0, start: 0, state, wants_host: false, ignores: false }
    }

    fn holds(&mut self, test: Test) -> bool {
        let Some(c) = self.text[self.at..].chars().next() else {
            return match test {
                Test::End | Test::Any => true,
                Test::StopHost => std::mem::take(&mut self.wants_host),
                Test::Ignored => self.ignores,
                Test::NotAlnum => true,
                _ => false,
            };
        };
        let is_alnum = |c: char| c.is_ascii_digit() || posix::is_alpha(c);
        match test {
            Test::End => false,
            Test::Any => true,
            Test::Is(wanted) => c == wanted,
            Test::AsciiLetter => c.is_ascii_alphabetic(),
            Test::Letter => posix::is_alpha(c),
            Test::Digit => c.is_ascii_digit(),
            Test::HexDigit => c.is_ascii_hexdigit(),
            Test::Alnum => is_alnum(c),
            Test::NotAlnum => !is_alnum(c),
            Test::Space => posix::is_space(c),
            Test::Special => is_special(c),
            Test::UrlChar => is_url_char(c),
            Test::Ignored => self.ignores,
            Test::StopHost => std::mem::take(&mut self.wants_host),
            Test::HostAhead => {
                let mut ahead = Machine::new(&self.text[self.at..], self.grammar.start);
                ahead.wants_host = true;
                self.skip(ahead.next(), Kind::Host)
            }
            Test::PathAhead => {
                let ahead = Machine::new(&self.text[self.at..], self.grammar.path).next();
                self.skip(ahead, Kind::UrlPath)
            }
        }
    }

    fn skip(&mut self, token: Option<Token<'_>>, wanted: Kind) -> bool {
        let found = token.filter(|token| token.kind == wanted);
        self.at += found.map_or(0, |token| token.text.len());
        found.is_some()
    }

    fn forward(&mut self) {
        self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
    }

    /// Sees whether a tag starts or ends what is ignored.
    fn see_tag(&mut self) {
        let tag = &self.text[self.start..self.at];
        for (name, ignores) in
            [("</script", false), ("</style", false), ("<script", true), ("<style", true)]
        {
            if tag.eq_ignore_ascii_case(name) {
                self.ignores = ignores;
            }
        }
    }
}

impl<'a> Iterator for Machine<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if self.at >= self.text.len() {
            return None;
        }
        self.start = self.at;
        let mut choices: Vec<Choice> = Vec::new();
        let mut rule = 0;
        loop {
            let rules = self.grammar.rules(self.state);
            while !self.holds(rules.get(rule)?.test) {
                rule += 1;
            }
            let found = rules[rule];
            if found.sees_tag {
                self.see_tag();
            }
            match found.then {
                Move::To(state) => {
                    if self.at >= self.text.len() {
                        return None;
                    }
                    self.forward();
                    self.state = state;
                }
                Move::Settle(state) => {
                    choices.pop();
                    self.forward();
                    self.state = state;
                }
                Move::Try(state) => {
                    choices.push(Choice { at: self.at, state: self.state, rule: rule + 1 });
                    self.forward();
                    self.state = state;
                }
                Move::Back => {
                    let choice = choices.pop()?;
                    (self.at, self.state, rule) = (choice.at, choice.state, choice.rule);
                    continue;
                }
                Move::Restart(state) => {
                    (self.at, self.state) = (self.start, state);
                }
                Move::Stay(state) => self.state = state,
                Move::Accept(kind, state) => {
                    self.state = state;
                    return Some(Token { kind, text: &self.text[self.start..self.at] });
                }
                Move::AcceptAndReread { kind, state, wants_host } => {
                    let text = &self.text[self.start..self.at];
                    (self.at, self.state) = (self.start, state);
                    self.wants_host |= wants_host;
                    return Some(Token { kind, text });
                }
            }
            rule = 0;
        }
    }
}

/// True for what neither is a letter nor ends a word: marks that are put on letters, and what has no
/// width.
fn is_special(c: char) -> bool {
    c > '\x7f'
        && (is_combining_mark(c)
            || matches!(c,
                '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
                | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'))
}

/// True for what a URL may have.
fn is_url_char(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
}
