//! The tokens of a path.
//!
//! ```text
//!   strict $."a b"[1 to last].size() ? (@ > $x)
//!
//!   $  @            Dollar, At          '.' '[' '(' …    Special
//!   $x  $"x y"      Variable            && || ! ** == …  Special, with both characters
//!   a  \u0061       Name                1  0x1F  1_000   Integer
//!   "a b"           String              1.5  .5  1e3     Decimal
//! ```
//!
//! Names may be words of the grammar; which ones are is for the parser. Where two readings of a
//! text are possible, the longer one is a token's: `1__0` is a name, because no number is as long.
//!
//! # Places in errors
//! PostgreSQL shows the text that its scanner looked at last, and this lexer does the same: for a
//! string its closing quote, for a name the blanks behind it, or, where there are none, nothing,
//! which reads as the end of the path.
//!
//! A comment ends a name. (PostgreSQL forgets the name that a comment follows.)

use super::error::PathError;

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// One or two characters that mean something.
    Special(&'static str),
    /// `$name` or `$"name"`.
    Variable(String),
    /// A word without quotes.
    Name(String),
    /// A text in quotes.
    String(String),
    /// A number that is written as an integer.
    Integer(String),
    /// Any other number.
    Decimal(String),
    /// The end of the path.
    End,
}

/// Operators and punctuation, longer ones first.
const SPECIALS: &[&str] = &[
    "&&", "||", "**", "==", "<>", "!=", "<=", ">=", "?", "%", "$", ".", "[", "]", "{", "}", "(",
    ")", "|", "&", "!", "=", "<", ">", "@", "#", ",", "*", ":", "-", "+", "/",
];

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// True for what names are made of.
fn is_other(c: char) -> bool {
    let special = "?%$.[]{}()|&!=<>@#,*:-+/".contains(c);
    !special && !is_blank(c) && !matches!(c, '\\' | '"')
}

/// Splits a path into tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// The text that an error at the last token shows.
    near: std::ops::Range<usize>,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, near: 0..0 }
    }

    /// An error at the last token.
    pub fn error(&self, what: &'static str) -> PathError {
        PathError::Syntax { what, near: self.text[self.near.clone()].to_owned() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes the next `len` bytes; errors show them.
    fn take(&mut self, len: usize) -> &'a str {
        self.near = self.at..self.at + len;
        self.at += len;
        &self.text[self.near.clone()]
    }

    /// An error that shows the next `len` bytes.
    fn refuse(&mut self, len: usize, what: &'static str) -> PathError {
        self.take(len);
        self.error(what)
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Token, PathError> {
        loop {
            let blanks = length_of(self.rest(), is_blank);
            self.at += blanks;
            if !self.rest().starts_with("/*") {
                break;
            }
            self.comment()?;
        }
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            self.take(0);
            return Ok(Token::End);
        };
        let name_len = length_of(rest, is_other);
        if let Some(number) = number(rest).filter(|number| number.len >= name_len) {
            return match number.fault {
                Some(fault) => Err(self.refuse(number.len, fault)),
                None => {
                    let digits = self.take(number.len).to_owned();
                    let integer = number.is_integer;
                    Ok(if integer { Token::Integer(digits) } else { Token::Decimal(digits) })
                }
            };
        }
        match first {
            '"' => {
                self.take(1);
                self.quoted().map(Token::String)
            }
            '$' if rest[1..].starts_with('"') => {
                self.take(2);
                self.quoted().map(Token::Variable)
            }
            '$' if rest[1..].starts_with(is_other) => {
                let variable = self.take(1 + length_of(&rest[1..], is_other));
                Ok(Token::Variable(variable[1..].to_owned()))
            }
            '\\' => self.name(),
            _ if name_len > 0 => self.name(),
            _ => {
                let special = SPECIALS.iter().find(|special| rest.starts_with(**special));
                let special = special.expect("whatever is nothing else is special");
                self.take(special.len());
                Ok(Token::Special(special))
            }
        }
    }

    fn comment(&mut self) -> Result<(), PathError> {
        match self.rest()[2..].find("*/") {
            Some(len) => {
                self.at += len + 4;
                Ok(())
            }
            None => {
                self.at = self.text.len();
                Err(self.refuse(0, "unexpected end of comment"))
            }
        }
    }

    /// A name, which may have escapes.
    fn name(&mut self) -> Result<Token, PathError> {
        let mut name = String::new();
        loop {
            match self.peek() {
                Some('\\') => self.escapes(&mut name)?,
                Some(c) if is_other(c) => {
                    name.push_str(self.take(length_of(self.rest(), is_other)));
                }
                _ => break,
            }
        }
        self.take(length_of(self.rest(), is_blank));
        Ok(Token::Name(name))
    }

    /// The rest of a text in quotes, behind the opening one.
    fn quoted(&mut self) -> Result<String, PathError> {
        let mut string = String::new();
        loop {
            match self.peek() {
                None => return Err(self.refuse(0, "unterminated quoted string")),
                Some('"') => {
                    self.take(1);
                    return Ok(string);
                }
                Some('\\') => self.escapes(&mut string)?,
                Some(_) => {
                    string.push_str(self.take(length_of(self.rest(), |c| !matches!(c, '"' | '\\'))))
                }
            }
        }
    }

    /// One escape; of those with `\u` all that stand together, because two may make one character.
    fn escapes(&mut self, out: &mut String) -> Result<(), PathError> {
        let rest = self.rest();
        let Some(code) = rest[1..].chars().next() else {
            return Err(self.refuse(1, "unexpected end after backslash"));
        };
        match code {
            'u' => self.unicode(out),
            'x' => {
                let digits = &rest[2..][..length_of(&rest[2..], |c| c.is_ascii_hexdigit()).min(2)];
                self.take(2 + digits.len());
                if digits.len() < 2 {
                    return Err(self.error("invalid hexadecimal character sequence"));
                }
                push_unit(hex(digits), &mut None, out)
            }
            _ => {
                self.take(1 + code.len_utf8());
                out.push(match code {
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    other => other,
                });
                Ok(())
            }
        }
    }

    /// A run of `\u0000` and `\u{0}`.
    fn unicode(&mut self, out: &mut String) -> Result<(), PathError> {
        let rest = self.rest();
        let mut len = 0;
        let mut high = None;
        while let Some(code) = rest[len..].strip_prefix("\\u") {
            let (open, digits_max) = if code.starts_with('{') { (1, 6) } else { (0, 4) };
            let digits = length_of(&code[open..], |c| c.is_ascii_hexdigit()).min(digits_max);
            let complete = match open {
                1 => digits > 0 && code[1 + digits..].starts_with('}'),
                _ => digits == 4,
            };
            if !complete {
                len += 2 + open + digits;
                return Err(self.refuse(len, "invalid Unicode escape sequence"));
            }
            push_unit(hex(&code[open..open + digits]), &mut high, out)?;
            len += 2 + digits + 2 * open;
        }
        self.take(len);
        match high {
            Some(_) => Err(PathError::Surrogate { detail: LOW_SURROGATE }),
            None => Ok(()),
        }
    }
}

const LOW_SURROGATE: &str = "Unicode low surrogate must follow a high surrogate.";
const HIGH_SURROGATE: &str = "Unicode high surrogate must not follow a high surrogate.";

/// Bytes of the run of characters at the front that are `inside`.
fn length_of(text: &str, inside: impl Fn(char) -> bool) -> usize {
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

/// The value of up to six hexadecimal digits.
fn hex(digits: &str) -> u32 {
    u32::from_str_radix(digits, 16).unwrap_or(u32::MAX)
}

/// Adds a code point, or one unit of a pair, of which `high` is the first.
fn push_unit(unit: u32, high: &mut Option<u32>, out: &mut String) -> Result<(), PathError> {
    let code = match (unit, high.take()) {
        (0xd800..=0xdbff, None) => {
            *high = Some(unit);
            return Ok(());
        }
        (0xd800..=0xdbff, Some(_)) => return Err(PathError::Surrogate { detail: HIGH_SURROGATE }),
        (0xdc00..=0xdfff, Some(high)) => 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00),
        (0xdc00..=0xdfff, None) | (_, Some(_)) => {
            return Err(PathError::Surrogate { detail: LOW_SURROGATE });
        }
        (0, None) => return Err(PathError::Nul),
        (unit, None) => unit,
    };
    out.push(char::from_u32(code).ok_or(PathError::NoCharacter)?);
    Ok(())
}

/// The beginning of a text that is a number, or was meant to be one.
struct Number {
    len: usize,
    is_integer: bool,
    fault: Option<&'static str>,
}

fn number(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    let good = |len, is_integer| Some(Number { len, is_integer, fault: None });
    // Other bases: the prefix, and at least one digit behind it.
    if bytes.first() == Some(&b'0') && bytes.len() > 1 {
        let radix = match bytes[1] {
            b'x' | b'X' => 16,
            b'o' | b'O' => 8,
            b'b' | b'B' => 2,
            _ => 0,
        };
        let len = if radix > 0 { digits(&bytes[2..], radix) } else { 0 };
        if len > 0 {
            return good(2 + len, true);
        }
    }
    let whole = match bytes.first() {
        Some(b'0') => 1,
        _ => digits(bytes, 10),
    };
    let mut len = whole;
    if bytes.get(whole) == Some(&b'.') {
        let fraction = digits(&bytes[whole + 1..], 10);
        if whole + fraction > 0 {
            len = whole + 1 + fraction;
        }
    }
    if len == 0 {
        return None;
    }
    let mut is_integer = len == whole;
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let signed = matches!(bytes.get(len + 1), Some(b'+' | b'-')) as usize;
        let exponent = digits(bytes.get(len + 1 + signed..).unwrap_or(&[]), 10);
        if exponent > 0 {
            len += 1 + signed + exponent;
            is_integer = false;
        } else if signed > 0 {
            let fault = Some("invalid numeric literal");
            return Some(Number { len: len + 2, is_integer: false, fault });
        }
    }
    match text[len..].chars().next() {
        Some(c) if is_other(c) => Some(Number {
            len: len + c.len_utf8(),
            is_integer,
            fault: Some("trailing junk after numeric literal"),
        }),
        _ => good(len, is_integer),
    }
}

/// Bytes of the digits at the front, with single underscores between them.
fn digits(bytes: &[u8], radix: u32) -> usize {
    let is_digit = |at: usize| bytes.get(at).is_some_and(|byte| (*byte as char).is_digit(radix));
    let mut len = 0;
    while is_digit(len) || (len > 0 && bytes.get(len) == Some(&b'_') && is_digit(len + 1)) {
        len += 1;
    }
    len
}
