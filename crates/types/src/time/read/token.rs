//! The first step of reading: a text cut into tokens by their look.
//!
//! ```text
//!   Sat 2024-02-03 04:05:06.7 America/New_York        1 year -2 days +03:04
//!   Text Date       Time       Date                   Number Text Signed Text Signed
//! ```
//!
//! A token's kind is a guess from its first characters and its punctuation: `12.25` may become a
//! date or seconds, `America/New_York` looks like a date with a month's name. The tokens around it
//! decide its meaning.

use super::Fault;

/// The most tokens that a text may have.
const TOKENS_MAX: usize = 25;

/// The look of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Digits, or letters, with `-`, `/` or `.` between: a date or the name of a zone.
    Date,
    /// Digits with colons between.
    Time,
    /// Digits with at most one point.
    Number,
    /// A sign and digits: a zone, or a number of an interval.
    Signed,
    /// Letters.
    Text,
    /// A sign and letters.
    Special,
}

/// A token: what it looks like, and its characters, letters in small.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// Where the reading stands.
struct Scan<'a> {
    rest: &'a [u8],
    token: String,
}

impl Scan<'_> {
    fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    fn push(&mut self) {
        self.token.push(char::from(self.peek().to_ascii_lowercase()));
        self.rest = &self.rest[1..];
    }

    fn push_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while !self.rest.is_empty() && wanted(self.peek()) {
            self.push();
        }
    }

    fn push_digits(&mut self) {
        self.push_while(|c| c.is_ascii_digit());
    }

    fn skip_space(&mut self) {
        while is_space(self.peek()) {
            self.rest = &self.rest[1..];
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Cuts a text of at most `length_max` bytes, of tokens and one for each, into tokens.
pub(super) fn tokens(text: &str, length_max: usize) -> Result<Vec<Token>, Fault> {
    let mut scan = Scan { rest: text.as_bytes(), token: String::new() };
    let mut tokens = Vec::new();
    let mut length = 0;
    loop {
        scan.skip_space();
        let first = scan.peek();
        let kind = match first {
            _ if scan.rest.is_empty() => return Ok(tokens),
            b'0'..=b'9' => number_or_date(&mut scan),
            b'.' => {
                scan.push();
                scan.push_digits();
                Kind::Number
            }
            b'a'..=b'z' | b'A'..=b'Z' => text_or_date(&mut scan),
            b'+' | b'-' => signed(&mut scan)?,
            _ if first.is_ascii_punctuation() => {
                scan.rest = &scan.rest[1..];
                continue;
            }
            _ => return Err(Fault::Format),
        };
        length += scan.token.len() + 1;
        if tokens.len() == TOKENS_MAX || length > length_max {
            return Err(Fault::Format);
        }
        tokens.push(Token { kind, text: std::mem::take(&mut scan.token) });
    }
}

fn number_or_date(scan: &mut Scan<'_>) -> Kind {
    scan.push_digits();
    match scan.peek() {
        b':' => {
            scan.push_while(|c| c.is_ascii_digit() || matches!(c, b':' | b'.'));
            Kind::Time
        }
        delimiter @ (b'-' | b'/' | b'.') => {
            scan.push();
            if !scan.peek().is_ascii_digit() {
                scan.push_while(|c| c.is_ascii_alphanumeric() || c == delimiter);
                return Kind::Date;
            }
            scan.push_digits();
            // The same delimiter again makes it a date for sure.
            if scan.peek() == delimiter {
                scan.push_while(|c| c.is_ascii_digit() || c == delimiter);
                return Kind::Date;
            }
            if delimiter == b'.' { Kind::Number } else { Kind::Date }
        }
        _ => Kind::Number,
    }
}

fn text_or_date(scan: &mut Scan<'_>) -> Kind {
    scan.push_while(|c| c.is_ascii_alphabetic());
    let goes_on = match scan.peek() {
        b'-' | b'/' | b'.' => true,
        // A zone such as `EST5EDT` or `utc+2`; but `jan1` and `t040506` are two tokens.
        b'+' | b'0'..=b'9' => crate::time::word::word(&scan.token).is_none(),
        _ => false,
    };
    if !goes_on {
        return Kind::Text;
    }
    scan.push_while(|c| c.is_ascii_alphanumeric() || b"+-/_.:".contains(&c));
    Kind::Date
}

fn signed(scan: &mut Scan<'_>) -> Result<Kind, Fault> {
    scan.push();
    scan.skip_space();
    match scan.peek() {
        b'0'..=b'9' => {
            scan.push_while(|c| c.is_ascii_digit() || b":.-".contains(&c));
            Ok(Kind::Signed)
        }
        b'a'..=b'z' | b'A'..=b'Z' => {
            scan.push_while(|c| c.is_ascii_alphabetic());
            Ok(Kind::Special)
        }
        _ => Err(Fault::Format),
    }
}
