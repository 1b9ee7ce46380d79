//! The grammar of JSON once more, in PostgreSQL's words: the exact error of a text, and its
//! position.
//!
//! The parser of [`crate::parse`] is made for speed and for people who write documents. Clients of
//! PostgreSQL compare messages, and its `json` type takes texts that no string could hold
//! (`"\u0000"`, lone surrogates) as long as nobody asks for the string. So here is a lexer that
//! gives PostgreSQL's tokens, and a machine on top that knows which may follow which.
//!
//! ```text
//!   {"a" 1}      22P02  invalid input syntax for type json
//!                       detail   Expected ":", but found "1".
//!                       context  JSON data, line 1: {"a" 1...
//! ```

use interrupt::{Interrupted, Pace};

use crate::tape::Kind;
use crate::text;

/// Why a text is not JSON, or cannot be made text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", .reason.message())]
pub struct SyntaxError {
    reason: Reason,
    detail: String,
    context: String,
}

/// The kind of error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    Invalid,
    /// The text is JSON, but no text of SQL can hold it.
    Unsupported,
    /// The statement that needs to know was told to stop.
    Interrupted,
}

impl Reason {
    fn message(self) -> &'static str {
        match self {
            Reason::Invalid => "invalid input syntax for type json",
            Reason::Unsupported => "unsupported Unicode escape sequence",
            Reason::Interrupted => Interrupted::MESSAGE,
        }
    }
}

impl From<Interrupted> for SyntaxError {
    fn from(_: Interrupted) -> SyntaxError {
        let (detail, context) = (String::new(), String::new());
        SyntaxError { reason: Reason::Interrupted, detail, context }
    }
}

impl SyntaxError {
    /// A string that holds the character NUL.
    pub(crate) fn nul() -> SyntaxError {
        let detail = "\\u0000 cannot be converted to text.".to_owned();
        SyntaxError { reason: Reason::Unsupported, detail, context: String::new() }
    }

    /// The five characters of the SQL standard's code.
    pub fn sqlstate(&self) -> &'static str {
        match self.reason {
            Reason::Invalid => "22P02",
            Reason::Unsupported => "22P05",
            Reason::Interrupted => Interrupted::SQLSTATE,
        }
    }

    /// The error, as a sentence.
    pub fn detail(&self) -> String {
        self.detail.clone()
    }

    /// The line that is wrong, up to the place; empty where there is no line.
    pub fn context(&self) -> &str {
        &self.context
    }
}

/// Proves that a text is JSON as the type `json` takes it: escapes are only looked at for their
/// form.
///
/// # Errors
/// The first error.
pub fn check(text: &str) -> Result<(), SyntaxError> {
    run(Lexer::new(text, false))
}

/// Proves that a text is JSON whose strings are text: every escape stands for a character, which is
/// not NUL.
///
/// # Errors
/// The first error.
pub fn check_escapes(text: &str) -> Result<(), SyntaxError> {
    run(Lexer::new(text, true))
}

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token {
    OpenObject,
    CloseObject,
    OpenArray,
    CloseArray,
    Comma,
    Colon,
    /// A string, a number or a literal.
    Scalar(Kind),
    End,
}

/// Splits a text into tokens.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// Escapes must stand for characters.
    escapes: bool,
    /// Where the last token begins and ends.
    pub start: usize,
    pub end: usize,
    pace: Pace,
}

/// How many bytes of a string are read between two looks at whether the statement is to stop.
const RUN_BYTES: usize = 1 << 20;

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str, escapes: bool) -> Lexer<'a> {
        Lexer { text, escapes, start: 0, end: 0, pace: Pace::new() }
    }

    /// The last token as it is written.
    pub fn written(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// The text between two places of it.
    pub fn between(&self, from: usize, to: usize) -> &'a str {
        &self.text[from..to]
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Token, SyntaxError> {
        let bytes = self.text.as_bytes();
        self.pace.step(4 + self.end - self.start)?;
        let mut at = self.end;
        while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        (self.start, self.end) = (at, at + 1);
        let Some(&first) = bytes.get(at) else {
            self.end = at;
            return Ok(Token::End);
        };
        Ok(match first {
            b'{' => Token::OpenObject,
            b'}' => Token::CloseObject,
            b'[' => Token::OpenArray,
            b']' => Token::CloseArray,
            b',' => Token::Comma,
            b':' => Token::Colon,
            b'"' => {
                self.string()?;
                Token::Scalar(Kind::String)
            }
            b'-' | b'0'..=b'9' => self.number()?,
            _ => {
                self.end = at + word(&bytes[at..]);
                match self.written() {
                    "true" => Token::Scalar(Kind::True),
                    "false" => Token::Scalar(Kind::False),
                    "null" => Token::Scalar(Kind::Null),
                    _ => {
                        self.end = self.end.max(at + 1);
                        return Err(self.invalid());
                    }
                }
            }
        })
    }

    fn number(&mut self) -> Result<Token, SyntaxError> {
        let bytes = self.text.as_bytes();
        let digits = |at: usize| {
            bytes[at..].iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len() - at)
        };
        let mut at = self.start + (bytes[self.start] == b'-') as usize;
        let whole = if bytes.get(at) == Some(&b'0') { 1 } else { digits(at) };
        let mut good = whole > 0;
        at += whole;
        if bytes.get(at) == Some(&b'.') {
            let fraction = digits(at + 1);
            good &= fraction > 0;
            at += 1 + fraction;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1 + matches!(bytes.get(at + 1), Some(b'+' | b'-')) as usize;
            let exponent = digits(at);
            good &= exponent > 0;
            at += exponent;
        }
        let rubbish = word(&bytes[at..]);
        self.end = at + rubbish;
        if good && rubbish == 0 { Ok(Token::Scalar(Kind::Number)) } else { Err(self.invalid()) }
    }

    /// Finds the end of the string that begins at `start`.
    fn string(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.text.as_bytes();
        // The first half of a pair that waits for the second.
        let mut high = false;
        let mut at = self.start + 1;
        loop {
            let Some(&byte) = bytes.get(at) else { return Err(self.cut_off(at)) };
            match byte {
                b'"' => break,
                b'\\' => {
                    let Some(&code) = bytes.get(at + 1) else {
                        return Err(self.cut_off(at + 1));
                    };
                    at += 1;
                    if code == b'u' {
                        let unit = self.hex(at + 1)?;
                        at += 5;
                        if self.escapes {
                            high = self.surrogate(unit, high, at)?;
                        }
                        continue;
                    }
                    if high {
                        return Err(self.at(at, LOW_SURROGATE));
                    }
                    if !matches!(code, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') {
                        self.start = at;
                        self.end = at + self.char_len(at);
                        let detail =
                            format!("Escape sequence \"\\{}\" is invalid.", self.written());
                        return Err(self.error(detail));
                    }
                    at += 1;
                }
                _ if high => return Err(self.at(at, LOW_SURROGATE)),
                0..0x20 => {
                    self.end = at;
                    let detail = format!("Character with value 0x{byte:02x} must be escaped.");
                    return Err(self.error(detail));
                }
                _ => {
                    let rest = &bytes[at..bytes.len().min(at + RUN_BYTES)];
                    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
                    let run = rest.iter().position(is_special).unwrap_or(rest.len());
                    at += run;
                    self.pace.step(run)?;
                }
            }
        }
        self.end = at + 1;
        if high { Err(self.error(LOW_SURROGATE)) } else { Ok(()) }
    }

    /// The four digits of a `\u`.
    fn hex(&mut self, from: usize) -> Result<u32, SyntaxError> {
        let mut unit = 0;
        for at in from..from + 4 {
            let Some(&byte) = self.text.as_bytes().get(at) else { return Err(self.cut_off(at)) };
            let Some(digit) = (byte as char).to_digit(16) else {
                let what = "\"\\u\" must be followed by four hexadecimal digits.";
                return Err(self.at(at, what));
            };
            unit = unit << 4 | digit;
        }
        Ok(unit)
    }

    /// Takes one unit of UTF-16 that ends before `end`; true if another must follow.
    fn surrogate(&mut self, unit: u32, high: bool, end: usize) -> Result<bool, SyntaxError> {
        match (unit, high) {
            (0xd800..=0xdbff, true) => {
                let what = "Unicode high surrogate must not follow a high surrogate.";
                Err(self.at(end - 1, what))
            }
            (0xd800..=0xdbff, false) => Ok(true),
            (0xdc00..=0xdfff, true) => Ok(false),
            (0xdc00..=0xdfff, false) | (_, true) => Err(self.at(end - 1, LOW_SURROGATE)),
            (0, false) => {
                let SyntaxError { detail, .. } = SyntaxError::nul();
                Err(SyntaxError { reason: Reason::Unsupported, ..self.at(end - 1, &detail) })
            }
            _ => Ok(false),
        }
    }

    fn char_len(&self, at: usize) -> usize {
        self.text[at..].chars().next().map_or(0, char::len_utf8)
    }

    /// The text ends at `at`, inside a token.
    fn cut_off(&mut self, at: usize) -> SyntaxError {
        self.end = at.min(self.text.len());
        self.invalid()
    }

    fn invalid(&self) -> SyntaxError {
        self.error(format!("Token \"{}\" is invalid.", self.written()))
    }

    /// An error whose context ends with the character at `at`.
    fn at(&mut self, at: usize, detail: &str) -> SyntaxError {
        self.end = at + self.char_len(at);
        self.error(detail)
    }

    /// An error whose context ends with the last token.
    #[cold]
    fn error(&self, detail: impl Into<String>) -> SyntaxError {
        /// Bytes of the line that are shown, and how many more do not matter.
        const SHOWN: usize = 50;
        const SPARED: usize = 3;
        let before = &self.text[..self.end];
        let line_start = self.text[..self.start.min(self.end)].rfind('\n').map_or(0, |at| at + 1);
        let line = 1 + before[..line_start].bytes().filter(|&byte| byte == b'\n').count();
        let mut from = line_start;
        while self.end - from >= SHOWN {
            from += self.char_len(from);
        }
        if from - line_start <= SPARED {
            from = line_start;
        }
        let prefix = if from > line_start { "..." } else { "" };
        let rest = &self.text[self.end..];
        let suffix = if rest.is_empty() || rest.starts_with(['\n', '\r']) { "" } else { "..." };
        let shown = &self.text[from..self.end];
        SyntaxError {
            reason: Reason::Invalid,
            detail: detail.into(),
            context: format!("JSON data, line {line}: {prefix}{shown}{suffix}"),
        }
    }

    /// The last token is not what could have stood here.
    #[cold]
    fn expected(&self, token: Token, what: &str) -> SyntaxError {
        self.error(match token {
            Token::End => "The input string ended unexpectedly.".to_owned(),
            _ => format!("Expected {what}, but found \"{}\".", self.written()),
        })
    }
}

const LOW_SURROGATE: &str = "Unicode low surrogate must follow a high surrogate.";

/// Length of the run of letters, digits, underscores and characters beyond ASCII.
fn word(bytes: &[u8]) -> usize {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    bytes.iter().position(|byte| !inside(byte)).unwrap_or(bytes.len())
}

/// The tokens that may come next.
#[derive(Clone, Copy)]
enum State {
    Value,
    FirstElement,
    FirstName,
    Name,
    Colon,
    After,
}

/// Takes tokens to the end of the text.
fn run(mut lexer: Lexer<'_>) -> Result<(), SyntaxError> {
    // The brackets that are open; true for objects.
    let mut open: Vec<bool> = Vec::new();
    let mut state = State::Value;
    loop {
        let token = lexer.next()?;
        state = match (state, token) {
            (State::Value | State::FirstElement, Token::OpenObject) => {
                open.push(true);
                State::FirstName
            }
            (State::Value | State::FirstElement, Token::OpenArray) => {
                open.push(false);
                State::FirstElement
            }
            (State::Value | State::FirstElement, Token::Scalar(_)) => State::After,
            (State::FirstElement, Token::CloseArray) | (State::FirstName, Token::CloseObject) => {
                open.pop();
                State::After
            }
            (State::FirstName | State::Name, Token::Scalar(Kind::String)) => State::Colon,
            (State::Colon, Token::Colon) => State::Value,
            (State::After, token) => match (open.last(), token) {
                (None, Token::End) => return Ok(()),
                (Some(true), Token::Comma) => State::Name,
                (Some(false), Token::Comma) => State::Value,
                (Some(true), Token::CloseObject) | (Some(false), Token::CloseArray) => {
                    open.pop();
                    State::After
                }
                (None, _) => return Err(lexer.expected(token, "end of input")),
                (Some(true), _) => return Err(lexer.expected(token, "\",\" or \"}\"")),
                (Some(false), _) => return Err(lexer.expected(token, "\",\" or \"]\"")),
            },
            (State::Value | State::FirstElement, _) => {
                return Err(lexer.expected(token, "JSON value"));
            }
            (State::FirstName, _) => return Err(lexer.expected(token, "string or \"}\"")),
            (State::Name, _) => return Err(lexer.expected(token, "string")),
            (State::Colon, _) => return Err(lexer.expected(token, "\":\"")),
        };
    }
}

/// The string that a token with valid escapes stands for.
pub(super) fn unquote(token: &str) -> String {
    let inner = &token.as_bytes()[1..token.len() - 1];
    if !inner.contains(&b'\\') {
        return token[1..token.len() - 1].to_owned();
    }
    let mut canonical = Vec::with_capacity(inner.len());
    match crate::scan::canonical(inner, 0, inner.len(), &mut canonical) {
        Ok(()) => text::unescape(&canonical).into_owned(),
        Err(_) => unreachable!("the lexer looked at every escape of {token}"),
    }
}
