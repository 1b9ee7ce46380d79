//! The tokens of a statement that is being written: the part of SQL's lexer that completion needs, for
//! unfinished text.

use super::split;

/// A token. Names with dots between are one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// A name or a keyword as it is written, with quotes and dots.
    Name(&'a str),
    /// A string, a number, a parameter.
    Value,
    /// A parenthesis, a comma, or symbols that make an operator.
    Mark(&'a str),
}

impl<'a> Token<'a> {
    /// The word, where it is one without quotes and dots.
    pub(super) fn word(&self) -> Option<&'a str> {
        self.name().filter(|name| !name.contains(['"', '.']))
    }

    /// The name or word as it is written.
    pub(super) fn name(&self) -> Option<&'a str> {
        if let Token::Name(name) = self { Some(name) } else { None }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.word().is_some_and(|own| own.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_mark(&self, mark: &str) -> bool {
        matches!(self, Token::Mark(own) if *own == mark)
    }

    /// True for all but symbols.
    pub(super) fn is_value(&self) -> bool {
        !matches!(self, Token::Mark(_))
    }

    /// True if an expression that ends with this token is not complete.
    pub(super) fn needs_operand(&self) -> bool {
        match self {
            Token::Name(_) => self.word().is_some_and(|word| {
                let operators = super::help::grammar::OPERATORS;
                operators.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(word))
            }),
            Token::Value => false,
            // `*` is an output, or a multiplication.
            Token::Mark(mark) => !matches!(*mark, ")" | "]" | "*"),
        }
    }
}

/// Where a text ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// Between tokens, or at the end of one.
    Outside,
    /// In a string or a comment.
    Inside,
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    split_tokens(text).0
}

/// The tokens of a text, and where it ends.
pub(super) fn split_tokens(text: &str) -> (Vec<Token<'_>>, End) {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let found = match c {
            c if c.is_whitespace() => Some((c.len_utf8(), None)),
            '-' if rest.starts_with("--") => rest.find('\n').map(|end| (end, None)),
            '/' if rest.starts_with("/*") => rest.find("*/").map(|end| (end + 2, None)),
            '\'' => quoted(rest, '\'').map(|end| (end, Some(Token::Value))),
            '$' => match split::dollar_tag(rest) {
                Some(tag) => {
                    let end = rest[tag.len()..].find(tag).map(|end| end + 2 * tag.len());
                    end.map(|end| (end, Some(Token::Value)))
                }
                None => {
                    let end =
                        rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |e| e + 1);
                    Some((end, Some(Token::Value)))
                }
            },
            c if c.is_ascii_digit() => {
                let ends = |c: char| !c.is_ascii_alphanumeric() && c != '.';
                Some((rest.find(ends).unwrap_or(rest.len()), Some(Token::Value)))
            }
            c if starts_name(c) => {
                let end = name_end(rest);
                Some((end, Some(Token::Name(&rest[..end]))))
            }
            '(' | ')' | '[' | ']' | ',' | ';' => Some((1, Some(Token::Mark(&rest[..1])))),
            c => {
                let end = rest.find(|c: char| !"~!@#^&|`?+-*/%<>=:".contains(c));
                let end = end.unwrap_or(rest.len()).max(c.len_utf8());
                Some((end, Some(Token::Mark(&rest[..end]))))
            }
        };
        let Some((length, token)) = found else { return (tokens, End::Inside) };
        tokens.extend(token);
        rest = &rest[length..];
    }
    (tokens, End::Outside)
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '"'
}

/// The end of a string that `text` begins with.
fn quoted(text: &str, quote: char) -> Option<usize> {
    text[1..].find(quote).map(|end| end + 2)
}

/// The end of the name that `text` begins with. A quote that is not closed, and a dot at the end, belong to it.
fn name_end(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        at += match rest.starts_with('"') {
            true => quoted(rest, '"').unwrap_or(rest.len()),
            false => {
                let ends = |c: char| !c.is_alphanumeric() && c != '_' && c != '$';
                rest.find(ends).unwrap_or(rest.len())
            }
        };
        match text[at..].strip_prefix('.') {
            Some(rest) if rest.starts_with(starts_name) => at += 1,
            Some(_) => return at + 1,
            None => return at,
        }
    }
}

/// The parts of a name, without their quotes; those without quotes in small letters.
pub(super) fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = name;
    loop {
        let (part, more) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (part, more) = quoted.split_once('"').unwrap_or((quoted, ""));
                (part.to_owned(), more.strip_prefix('.'))
            }
            None => match rest.split_once('.') {
                Some((part, more)) => (part.to_lowercase(), Some(more)),
                None => (rest.to_lowercase(), None),
            },
        };
        parts.push(part);
        match more {
            Some(more) => rest = more,
            None => return parts,
        }
    }
}
