//! Text to tokens, by PostgreSQL's rules.
//!
//! ```text
//!   sElect "A b", 'it''s' -- note      Word(select) Quoted(A b) , String(it's) End
//! ```
//!
//! Words are folded to lower case; comments are left out; strings that only a line break parts are
//! one; an operator is the longest run of symbols that PostgreSQL would take, which is not always
//! the whole run: `1+-2` has two, because an operator of ordinary symbols does not end in a sign.

use std::borrow::Cow;

use types::SqlState;

use crate::error::{At, Error, Result};

/// The longest identifier in bytes; what is longer is cut, as PostgreSQL does.
pub const NAME_BYTES_MAX: usize = 63;

/// A piece of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Token<'a> {
    /// An identifier or keyword, folded to lower case.
    Word(Cow<'a, str>),
    /// An identifier in double quotes.
    Quoted(Cow<'a, str>),
    /// A number: an integer in decimal digits, or what has a point or an exponent.
    Number(Cow<'a, str>),
    /// A string, with its escapes resolved.
    String(Cow<'a, str>),
    /// The digits of a bit string, with `b` or `x` in front.
    Bits(String),
    /// `$1`
    Param(u32),
    /// Symbols that make an operator.
    Symbol(Cow<'a, str>),
    /// `( ) [ ] , ; .`, `:` alone, `..`, `::`, `:=` and `=>`
    Punct(&'static str),
    /// The end of the text.
    End,
}

/// A token and the bytes of the text that it was made from.
#[derive(Clone, PartialEq, Debug)]
pub struct Lexeme<'a> {
    /// The token.
    pub token: Token<'a>,
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}

/// The tokens of `text`, with [`Token::End`] last.
pub fn tokens(text: &str) -> Result<Vec<Lexeme<'_>>> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0 };
    let mut tokens = Vec::with_capacity(text.len() / 4 + 1);
    loop {
        lexer.skip_blank()?;
        let start = lexer.at;
        let token = lexer.token()?;
        let done = token == Token::End;
        tokens.push(Lexeme { token, start, end: lexer.at });
        if done {
            return Ok(tokens);
        }
    }
}

/// The bytes of the name that a text begins with; of `U&"..."` with its `UESCAPE`. 0 where it begins with none.
pub fn name_len(text: &str) -> usize {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0 };
    match lexer.token() {
        Ok(Token::Word(_) | Token::Quoted(_)) => lexer.at,
        _ => 0,
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

/// The symbols that operators are made of.
fn is_symbol(byte: u8) -> bool {
    b"~!@#^&|`?+-*/%<>=".contains(&byte)
}

/// True for a byte that a word may begin with. Everything beyond ASCII counts as a letter.
fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// True for a byte that a word may go on with.
fn is_word(byte: u8) -> bool {
    starts_word(byte) || byte.is_ascii_digit() || byte == b'$'
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// An error about the text from `start` to where the lexer stands.
    fn error(&self, start: usize, message: &str) -> Error {
        let near = &self.text[start..self.at.max(start)];
        Error::new(SqlState::SYNTAX_ERROR, format!("{message} at or near \"{near}\""))
            .at(At::offset(start))
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'-' if self.peek(1) == b'-' => self.skip_line(),
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && !matches!(self.peek(0), b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Steps over a comment; comments nest.
    fn skip_comment(&mut self) -> Result<()> {
        let start = self.at;
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.at += 1,
            }
        }
        Err(self.error(start, "unterminated /* comment"))
    }

    fn token(&mut self) -> Result<Token<'a>> {
        let start = self.at;
        let Some(&first) = self.bytes.get(start) else { return Ok(Token::End) };
        match first {
            b'\'' => self.string(start, false),
            b'"' => Ok(Token::Quoted(cut(self.quoted_name(start)?))),
            b'e' | b'E' if self.peek(1) == b'\'' => {
                self.at += 1;
                self.string(start, true)
            }
            b'n' | b'N' if self.peek(1) == b'\'' => {
                self.at += 1;
                self.string(start, false)
            }
            b'b' | b'B' | b'x' | b'X' if self.peek(1) == b'\'' => self.bits(start),
            b'u' | b'U' if self.peek(1) == b'&' && matches!(self.peek(2), b'\'' | b'"') => {
                self.unicode(start)
            }
            b'$' => self.dollar(start),
            b'.' if self.peek(1).is_ascii_digit() => self.number(start),
            b'0'..=b'9' => self.number(start),
            b'.' if self.peek(1) == b'.' => {
                self.at += 2;
                Ok(Token::Punct(".."))
            }
            _ if starts_word(first) => Ok(self.word(start)),
            _ if is_symbol(first) => Ok(self.symbol(start)),
            _ => self.punct(start),
        }
    }

    fn punct(&mut self, start: usize) -> Result<Token<'a>> {
        let rest = &self.text[start..];
        for known in ["::", ":=", "(", ")", "[", "]", ",", ";", ".", ":"] {
            if rest.starts_with(known) {
                self.at += known.len();
                return Ok(Token::Punct(known));
            }
        }
        self.at += rest.chars().next().map_or(1, char::len_utf8);
        Err(self.error(start, "syntax error"))
    }

    fn word(&mut self, start: usize) -> Token<'a> {
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        let folded = if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(word.to_ascii_lowercase())
        } else {
            Cow::Borrowed(word)
        };
        Token::Word(cut(folded))
    }

    fn symbol(&mut self, start: usize) -> Token<'a> {
        let mut end = start;
        while end < self.bytes.len() && is_symbol(self.bytes[end]) {
            let next = self.bytes.get(end + 1).copied();
            if end > start
                && matches!((self.bytes[end], next), (b'-', Some(b'-')) | (b'/', Some(b'*')))
            {
                break;
            }
            end += 1;
        }
        // An operator that ends in a sign has one of these symbols: else the sign is the next one's.
        let unusual = |symbols: &[u8]| symbols.iter().any(|symbol| b"~!@#^&|`?%".contains(symbol));
        while end - start > 1
            && matches!(self.bytes[end - 1], b'+' | b'-')
            && !unusual(&self.bytes[start..end - 1])
        {
            end -= 1;
        }
        self.at = end;
        match &self.text[start..end] {
            "=>" => Token::Punct("=>"),
            "!=" => Token::Symbol(Cow::Borrowed("<>")),
            symbol => Token::Symbol(Cow::Borrowed(symbol)),
        }
    }

    fn number(&mut self, start: usize) -> Result<Token<'a>> {
        let radix = match (self.peek(0), self.peek(1)) {
            (b'0', b'x' | b'X') => Some((16, "invalid hexadecimal integer")),
            (b'0', b'o' | b'O') => Some((8, "invalid octal integer")),
            (b'0', b'b' | b'B') => Some((2, "invalid binary integer")),
            _ => None,
        };
        if let Some((radix, message)) = radix {
            self.at += 2;
            let digits_start = self.at;
            while (self.peek(0) as char).is_digit(radix)
                || self.peek(0) == b'_' && (self.peek(1) as char).is_digit(radix)
            {
                self.at += 1;
            }
            if self.at == digits_start {
                return Err(self.error(start, message));
            }
            let digits = self.text[digits_start..self.at].replace('_', "");
            self.no_junk(start)?;
            return Ok(Token::Number(Cow::Owned(decimal(&digits, radix))));
        }
        self.digits();
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.digits();
            }
        }
        let written = &self.text[start..self.at];
        self.no_junk(start)?;
        Ok(Token::Number(if written.contains('_') {
            Cow::Owned(written.replace('_', ""))
        } else {
            Cow::Borrowed(written)
        }))
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() || self.peek(0) == b'_' && self.peek(1).is_ascii_digit()
        {
            self.at += 1;
        }
    }

    /// A number does not run into a word.
    fn no_junk(&mut self, start: usize) -> Result<()> {
        if !starts_word(self.peek(0)) {
            return Ok(());
        }
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        Err(self.error(start, "trailing junk after numeric literal"))
    }

    /// `$1`, or a string between dollar signs.
    fn dollar(&mut self, start: usize) -> Result<Token<'a>> {
        if self.peek(1).is_ascii_digit() {
            self.at += 1;
            let digits_start = self.at;
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
            let number = self.text[digits_start..self.at].parse();
            if starts_word(self.peek(0)) {
                while is_word(self.peek(0)) {
                    self.at += 1;
                }
                return Err(self.error(start, "trailing junk after parameter"));
            }
            return match number {
                Ok(number) if number <= i32::MAX as u32 => Ok(Token::Param(number)),
                _ => Err(self.error(start, "parameter number too large")),
            };
        }
        let tag_end = self.bytes[start + 1..]
            .iter()
            .position(|byte| !(is_word(*byte) && *byte != b'$'))
            .map_or(self.bytes.len(), |found| start + 1 + found);
        if self.bytes.get(tag_end) != Some(&b'$') {
            self.at += 1;
            return Err(self.error(start, "syntax error"));
        }
        let tag = &self.text[start..=tag_end];
        let body = tag_end + 1;
        match self.text[body..].find(tag) {
            Some(length) => {
                self.at = body + length + tag.len();
                Ok(Token::String(Cow::Borrowed(&self.text[body..body + length])))
            }
            None => {
                self.at = self.bytes.len();
                Err(self.error(start, "unterminated dollar-quoted string"))
            }
        }
    }

    /// The text between the quotes that begin here, and whether it has a doubled quote.
    fn between(&mut self, start: usize, quote: u8, escapes: bool) -> Result<(&'a str, bool)> {
        self.at += 1;
        let body = self.at;
        let mut doubled = false;
        loop {
            match self.bytes.get(self.at) {
                None => {
                    let what = if quote == b'"' { "identifier" } else { "string" };
                    return Err(self.error(start, &format!("unterminated quoted {what}")));
                }
                Some(b'\\') if escapes => self.at = (self.at + 2).min(self.bytes.len()),
                Some(byte) if *byte == quote && self.peek(1) == quote => {
                    doubled = true;
                    self.at += 2;
                }
                Some(byte) if *byte == quote => {
                    self.at += 1;
                    return Ok((&self.text[body..self.at - 1], doubled));
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn quoted_name(&mut self, start: usize) -> Result<Cow<'a, str>> {
        let (body, doubled) = self.between(start, b'"', false)?;
        if body.is_empty() {
            return Err(self.error(start, "zero-length delimited identifier"));
        }
        Ok(if doubled { Cow::Owned(body.replace("\"\"", "\"")) } else { Cow::Borrowed(body) })
    }

    /// A string, with those that follow it after a line break.
    fn string(&mut self, start: usize, escapes: bool) -> Result<Token<'a>> {
        let mut whole = self.string_part(start, escapes)?;
        while self.string_goes_on()? {
            whole = Cow::Owned(whole.into_owned() + &self.string_part(start, escapes)?);
        }
        Ok(Token::String(whole))
    }

    fn string_part(&mut self, start: usize, escapes: bool) -> Result<Cow<'a, str>> {
        let body_start = self.at + 1;
        let (body, doubled) = self.between(start, b'\'', escapes)?;
        if escapes && body.contains('\\') {
            return self.unescape(body, body_start).map(Cow::Owned);
        }
        Ok(if doubled { Cow::Owned(body.replace("''", "'")) } else { Cow::Borrowed(body) })
    }

    /// Moves to the next part of a string, which a line break must part from what is before.
    fn string_goes_on(&mut self) -> Result<bool> {
        let back = self.at;
        let mut line_break = false;
        loop {
            match self.peek(0) {
                b'\n' | b'\r' => {
                    line_break = true;
                    self.at += 1;
                }
                b' ' | b'\t' | 0x0b | 0x0c => self.at += 1,
                b'-' if self.peek(1) == b'-' => self.skip_line(),
                b'\'' if line_break => return Ok(true),
                _ => {
                    self.at = back;
                    return Ok(false);
                }
            }
        }
    }

    /// Resolves the escapes of `E'...'`.
    fn unescape(&self, body: &str, offset: usize) -> Result<String> {
        let mut out: Vec<u8> = Vec::with_capacity(body.len());
        let mut chars = body.char_indices().peekable();
        let mut buffer = [0; 4];
        let mut high: Option<u32> = None;
        while let Some((at, c)) = chars.next() {
            if c == '\'' {
                chars.next();
            }
            if c != '\\' {
                out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                continue;
            }
            let Some((_, escaped)) = chars.next() else { break };
            let mut digits = |radix: u32, most: usize, first: &str| {
                let mut digits = first.to_owned();
                while digits.len() < most && chars.peek().is_some_and(|(_, c)| c.is_digit(radix)) {
                    digits.extend(chars.next().map(|(_, c)| c));
                }
                digits
            };
            match escaped {
                'b' => out.push(8),
                'f' => out.push(12),
                'n' => out.push(b'\n'),
                'r' => out.push(b'\r'),
                't' => out.push(b'\t'),
                'v' => out.push(11),
                '0'..='7' => {
                    let digits = digits(8, 3, &escaped.to_string());
                    out.push((u32::from_str_radix(&digits, 8).unwrap_or(0) & 0xff) as u8);
                }
                'x' => match digits(16, 2, "").as_str() {
                    "" => out.push(b'x'),
                    digits => out.push(u8::from_str_radix(digits, 16).unwrap_or(0)),
                },
                'u' | 'U' => {
                    let want = if escaped == 'u' { 4 } else { 8 };
                    let digits = digits(16, want, "");
                    let value = u32::from_str_radix(&digits, 16).ok();
                    let (Some(value), true) = (value, digits.len() == want) else {
                        return Err(Error::new(
                            SqlState::INVALID_ESCAPE_SEQUENCE,
                            "invalid Unicode escape",
                        )
                        .hint(unicode_hint("u", "U", 8))
                        .at(At::offset(offset + at)));
                    };
                    if let Some(c) = join_surrogates(&mut high, value)
                        .map_err(|message| self.bad_unicode(message, offset + at))?
                    {
                        out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                    }
                }
                other => out.extend_from_slice(other.encode_utf8(&mut buffer).as_bytes()),
            }
        }
        match String::from_utf8(out) {
            Ok(text) if !text.contains('\0') && high.is_none() => Ok(text),
            Ok(text) if text.contains('\0') => Err(self.bad_bytes(&[0])),
            Ok(_) => Err(self.bad_unicode("invalid Unicode surrogate pair", offset)),
            Err(error) => {
                let from = error.utf8_error().valid_up_to();
                Err(self.bad_bytes(&error.as_bytes()[from..=from]))
            }
        }
    }

    fn bad_bytes(&self, bytes: &[u8]) -> Error {
        let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        Error::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
        )
    }

    fn bad_unicode(&self, message: &str, offset: usize) -> Error {
        Error::new(SqlState::SYNTAX_ERROR, message).at(At::offset(offset))
    }

    fn bits(&mut self, start: usize) -> Result<Token<'a>> {
        let prefix = self.peek(0).to_ascii_lowercase() as char;
        self.at += 1;
        let (body, _) = self.between(start, b'\'', false)?;
        Ok(Token::Bits(format!("{prefix}{body}")))
    }

    /// `U&'...'` and `U&"..."`, with `UESCAPE` where it follows.
    fn unicode(&mut self, start: usize) -> Result<Token<'a>> {
        self.at += 2;
        let quoted = self.peek(0) == b'"';
        let body_start = self.at + 1;
        let body = if quoted { self.quoted_name(start)? } else { self.string_part(start, false)? };
        let back = self.at;
        let mut escape = '\\';
        self.skip_blank()?;
        let word_start = self.at;
        if starts_word(self.peek(0)) && self.word(word_start) == Token::Word("uescape".into()) {
            self.skip_blank()?;
            let at = self.at;
            let given =
                if self.peek(0) == b'\'' { self.string_part(at, false)? } else { "".into() };
            let mut chars = given.chars();
            escape = match (chars.next(), chars.next()) {
                (Some(c), None)
                    if !c.is_ascii_hexdigit() && !c.is_whitespace() && !"+'\"".contains(c) =>
                {
                    c
                }
                _ => return Err(self.error(at, "invalid Unicode escape character")),
            };
        } else {
            self.at = back;
        }
        let text = self.unicode_text(&body, escape, body_start)?;
        Ok(if quoted {
            Token::Quoted(cut(Cow::Owned(text)))
        } else {
            Token::String(Cow::Owned(text))
        })
    }

    fn unicode_text(&self, body: &str, escape: char, offset: usize) -> Result<String> {
        let mut out = String::with_capacity(body.len());
        let mut rest = body;
        let mut high = None;
        while let Some(found) = rest.find(escape) {
            out.push_str(&rest[..found]);
            rest = &rest[found + escape.len_utf8()..];
            if let Some(after) = rest.strip_prefix(escape) {
                out.push(escape);
                rest = after;
                continue;
            }
            let (digits, length) = match rest.strip_prefix('+') {
                Some(after) => (after.get(..6), 7),
                None => (rest.get(..4), 4),
            };
            let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let at = offset + (body.len() - rest.len()).saturating_sub(1);
            let value = value.ok_or_else(|| {
                self.bad_unicode("invalid Unicode escape", at).hint(unicode_hint("", "+", 6))
            })?;
            out.extend(
                join_surrogates(&mut high, value)
                    .map_err(|message| self.bad_unicode(message, at))?,
            );
            rest = &rest[length..];
        }
        if high.is_some() {
            return Err(self.bad_unicode("invalid Unicode surrogate pair", offset));
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// The character of an escaped code point; `None` for the first half of a pair, which is kept.
fn join_surrogates(
    high: &mut Option<u32>,
    value: u32,
) -> std::result::Result<Option<char>, &'static str> {
    const BAD_PAIR: &str = "invalid Unicode surrogate pair";
    match (high.take(), value) {
        (None, 0xd800..=0xdbff) => {
            *high = Some(value);
            Ok(None)
        }
        (Some(first), 0xdc00..=0xdfff) => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (value - 0xdc00);
            char::from_u32(code).map(Some).ok_or(BAD_PAIR)
        }
        (Some(_), _) | (None, 0xdc00..=0xdfff) => Err(BAD_PAIR),
        (None, 0) => Err("invalid Unicode escape value"),
        (None, value) => char::from_u32(value).map(Some).ok_or("invalid Unicode escape value"),
    }
}

/// Advice about the two forms of an escape: four hexadecimal digits, or so many.
fn unicode_hint(short: &str, long: &str, digits: usize) -> String {
    let (four, many) = ("X".repeat(4), "X".repeat(digits));
    format!("Unicode escapes must be \\{short}{four} or \\{long}{many}.")
}

/// An identifier without what is longer than identifiers are.
fn cut(name: Cow<'_, str>) -> Cow<'_, str> {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let mut end = NAME_BYTES_MAX;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(name[..end].to_owned())
}

/// The decimal digits of a number in another base.
fn decimal(digits: &str, radix: u32) -> String {
    if let Ok(small) = u128::from_str_radix(digits, radix) {
        return small.to_string();
    }
    // Longer than 128 bits: schoolbook multiplication of the decimal digits, the lowest first.
    let mut decimal: Vec<u32> = vec![0];
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        let mut carry = digit;
        for place in &mut decimal {
            let value = *place * radix + carry;
            *place = value % 10;
            carry = value / 10;
        }
        while carry > 0 {
            decimal.push(carry % 10);
            carry /= 10;
        }
    }
    decimal.iter().rev().filter_map(|digit| char::from_digit(*digit, 10)).collect()
}
