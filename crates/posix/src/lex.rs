//! From the text of an expression to tokens, one ahead of the parser.
//!
//! The meaning of a character depends on the flavour (advanced, extended or basic expressions, or a
//! plain text), and on where it stands: outside, in a bound, in brackets, or in the name of a
//! class. Prefixes (`***:`, `***=`, `(?letters)`) are read first, and change the options.

use crate::chars::{Class, element, is_alpha, is_space};
use crate::error::{Error, Result};
use crate::options::{Options, Syntax};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// Before the first token.
    Start,
    End,
    /// A character that stands for itself.
    Plain(u32),
    /// `(`: capturing or not.
    Open {
        captures: bool,
    },
    Close,
    Or,
    /// A quantifier with its bounds, and whether it prefers the longer match.
    Star {
        greedy: bool,
    },
    Plus {
        greedy: bool,
    },
    Optional {
        greedy: bool,
    },
    OpenBound,
    Digit(u32),
    Comma,
    CloseBound {
        greedy: bool,
    },
    AnyChar,
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    WordStart,
    WordEnd,
    WordBoundary,
    NotWordBoundary,
    Look {
        behind: bool,
        negative: bool,
    },
    Backreference(u32),
    Class {
        class: Class,
        negative: bool,
    },
    OpenBracket {
        negative: bool,
    },
    CloseBracket,
    /// A `-` between two ends of a range.
    Dash,
    /// `[.`, `[=` and `[:`, and the end of each.
    OpenElement,
    OpenEquivalence,
    OpenClass,
    CloseName,
    /// `(?#...)`, which the parser never sees.
    Comment,
}

/// Where the lexer stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LexContext {
    Outside,
    Bound,
    Brackets,
    /// Within `[.`, `[=` or `[:`, which end with the same character.
    Name(char),
}

pub(crate) struct Lexer {
    chars: Vec<char>,
    at: usize,
    place: LexContext,
    last: Token,
    /// The token that the parser looks at.
    pub token: Token,
    pub options: Options,
    /// How many groups were opened so far: a back reference of several digits depends on it.
    pub groups: u32,
}

impl Lexer {
    /// Reads the prefixes and the first token.
    pub fn new(pattern: &str, options: Options) -> Result<Self> {
        let mut lexer = Self {
            chars: pattern.chars().collect(),
            at: 0,
            place: LexContext::Outside,
            last: Token::Start,
            token: Token::Start,
            options,
            groups: 0,
        };
        lexer.prefixes()?;
        lexer.next()?;
        Ok(lexer)
    }

    /// True if the parser looks at `token`.
    pub fn sees(&self, token: Token) -> bool {
        self.token == token
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn eat(&mut self, c: char) -> bool {
        let eaten = self.peek() == Some(c);
        self.at += usize::from(eaten);
        eaten
    }

    fn follows(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.chars.get(self.at + ahead) == Some(&c))
    }

    fn prefixes(&mut self) -> Result<()> {
        if self.options.syntax == Syntax::Quoted {
            return Ok(());
        }
        if self.follows("***") {
            match self.chars.get(self.at + 3) {
                Some('?') => return Err(Error::Version),
                Some('=') => {
                    self.at += 4;
                    self.options.quote();
                    return Ok(());
                }
                Some(':') => {
                    self.at += 4;
                    self.options.syntax = Syntax::Advanced;
                }
                Some(_) => return Err(Error::Quantifier),
                None => {}
            }
        }
        let letter = self.chars.get(self.at + 2).is_some_and(|c| is_alpha(*c));
        if self.options.syntax != Syntax::Advanced || !self.follows("(?") || !letter {
            return Ok(());
        }
        self.at += 2;
        while let Some(letter) = self.peek().filter(|c| is_alpha(*c)) {
            self.at += 1;
            if !self.options.set(letter) {
                return Err(Error::Option);
            }
        }
        if !self.eat(')') {
            return Err(Error::Option);
        }
        if self.options.syntax == Syntax::Quoted {
            self.options.quote();
        }
        Ok(())
    }

    /// Goes on to the next token.
    pub fn next(&mut self) -> Result<()> {
        self.last = self.token;
        self.token = loop {
            match self.read()? {
                Token::Comment => {}
                token => break token,
            }
        };
        Ok(())
    }

    fn read(&mut self) -> Result<Token> {
        if self.options.expanded && matches!(self.place, LexContext::Outside | LexContext::Bound) {
            self.skip_space();
        }
        let Some(c) = self.peek() else {
            return match self.place {
                LexContext::Outside => Ok(Token::End),
                LexContext::Bound => Err(Error::Braces),
                LexContext::Brackets | LexContext::Name(_) => Err(Error::Brackets),
            };
        };
        self.at += 1;
        match (self.place, self.options.syntax) {
            (LexContext::Outside, Syntax::Quoted) => Ok(Token::Plain(c as u32)),
            (LexContext::Outside, Syntax::Basic) => self.basic(c),
            (LexContext::Outside, _) => self.extended(c),
            (LexContext::Bound, _) => self.bound(c),
            (LexContext::Brackets, _) => self.brackets(c),
            (LexContext::Name(mark), _) if c == mark && self.eat(']') => {
                self.place = LexContext::Brackets;
                Ok(Token::CloseName)
            }
            (LexContext::Name(_), _) => Ok(Token::Plain(c as u32)),
        }
    }

    fn skip_space(&mut self) {
        loop {
            while self.peek().is_some_and(is_space) {
                self.at += 1;
            }
            if self.peek() != Some('#') {
                return;
            }
            while self.peek().is_some_and(|c| c != '\n') {
                self.at += 1;
            }
        }
    }

    fn bound(&mut self, c: char) -> Result<Token> {
        match (c, self.options.syntax) {
            ('0'..='9', _) => Ok(Token::Digit(c as u32 - '0' as u32)),
            (',', _) => Ok(Token::Comma),
            ('\\', Syntax::Basic) if self.eat('}') => {
                self.place = LexContext::Outside;
                Ok(Token::CloseBound { greedy: true })
            }
            ('}', syntax) if syntax != Syntax::Basic => {
                self.place = LexContext::Outside;
                Ok(Token::CloseBound { greedy: self.greedy() })
            }
            _ => Err(Error::Count),
        }
    }

    /// Takes the `?` behind a quantifier; returns false if there is one.
    fn greedy(&mut self) -> bool {
        self.options.syntax != Syntax::Advanced || !self.eat('?')
    }

    fn brackets(&mut self, c: char) -> Result<Token> {
        let first = matches!(self.last, Token::OpenBracket { .. });
        match c {
            ']' if !first => {
                self.place = LexContext::Outside;
                Ok(Token::CloseBracket)
            }
            '\\' if self.options.syntax == Syntax::Advanced => {
                if self.peek().is_none() {
                    return Err(Error::Escape);
                }
                match self.escape()? {
                    token @ (Token::Plain(_) | Token::Class { .. }) => Ok(token),
                    _ => Err(Error::Escape),
                }
            }
            '-' if !first && self.peek() != Some(']') => Ok(Token::Dash),
            '[' => {
                let (token, mark) = match self.peek() {
                    None => return Err(Error::Brackets),
                    Some('.') => (Token::OpenElement, '.'),
                    Some('=') => (Token::OpenEquivalence, '='),
                    Some(':') => (Token::OpenClass, ':'),
                    Some(_) => return Ok(Token::Plain(c as u32)),
                };
                self.at += 1;
                self.place = LexContext::Name(mark);
                Ok(token)
            }
            _ => Ok(Token::Plain(c as u32)),
        }
    }

    /// `[[:<:]]` and `[[:>:]]`, or the beginning of a bracket expression.
    fn open_bracket(&mut self) -> Token {
        for (text, token) in [("[:<:]]", Token::WordStart), ("[:>:]]", Token::WordEnd)] {
            if self.follows(text) {
                self.at += text.len();
                return token;
            }
        }
        self.place = LexContext::Brackets;
        Token::OpenBracket { negative: self.eat('^') }
    }

    fn extended(&mut self, c: char) -> Result<Token> {
        let advanced = self.options.syntax == Syntax::Advanced;
        Ok(match c {
            '|' => Token::Or,
            '*' => Token::Star { greedy: self.greedy() },
            '+' => Token::Plus { greedy: self.greedy() },
            '?' => Token::Optional { greedy: self.greedy() },
            '{' => {
                if self.options.expanded {
                    self.skip_space();
                }
                if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
                    return Ok(Token::Plain(c as u32));
                }
                self.place = LexContext::Bound;
                Token::OpenBound
            }
            '(' if advanced && self.eat('?') => return self.special_group(),
            '(' => Token::Open { captures: true },
            ')' => Token::Close,
            '[' => self.open_bracket(),
            '.' => Token::AnyChar,
            '^' => Token::LineStart,
            '$' => Token::LineEnd,
            '\\' => {
                let escaped = self.peek().ok_or(Error::Escape)?;
                if advanced {
                    return self.escape();
                }
                self.at += 1;
                Token::Plain(escaped as u32)
            }
            _ => Token::Plain(c as u32),
        })
    }

    /// Reads the token after `(?`.
    fn special_group(&mut self) -> Result<Token> {
        let c = self.peek().ok_or(Error::Quantifier)?;
        self.at += 1;
        Ok(match c {
            ':' => Token::Open { captures: false },
            '#' => {
                while self.peek().is_some_and(|c| c != ')') {
                    self.at += 1;
                }
                self.at = (self.at + 1).min(self.chars.len());
                Token::Comment
            }
            '=' => Token::Look { behind: false, negative: false },
            '!' => Token::Look { behind: false, negative: true },
            '<' if self.eat('=') => Token::Look { behind: true, negative: false },
            '<' if self.eat('!') => Token::Look { behind: true, negative: true },
            _ => return Err(Error::Quantifier),
        })
    }

    /// An escape of an advanced expression, whose backslash was read.
    fn escape(&mut self) -> Result<Token> {
        let c = self.peek().ok_or(Error::Escape)?;
        self.at += 1;
        let class = |class, negative| Token::Class { class, negative };
        Ok(match c {
            'a' => Token::Plain(0x07),
            'A' => Token::TextStart,
            'b' => Token::Plain(0x08),
            'B' => Token::Plain('\\' as u32),
            'c' => {
                let control = self.peek().ok_or(Error::Escape)?;
                self.at += 1;
                Token::Plain(control as u32 & 0x1f)
            }
            'd' => class(Class::Digit, false),
            'D' => class(Class::Digit, true),
            'e' => Token::Plain(0x1b),
            'f' => Token::Plain(0x0c),
            'm' => Token::WordStart,
            'M' => Token::WordEnd,
            'n' => Token::Plain('\n' as u32),
            'r' => Token::Plain('\r' as u32),
            's' => class(Class::Space, false),
            'S' => class(Class::Space, true),
            't' => Token::Plain('\t' as u32),
            'u' => self.code(4, 4)?,
            'U' => self.code(8, 8)?,
            'v' => Token::Plain(0x0b),
            'w' => class(Class::Word, false),
            'W' => class(Class::Word, true),
            'x' => self.code(1, 255)?,
            'y' => Token::WordBoundary,
            'Y' => Token::NotWordBoundary,
            'Z' => Token::TextEnd,
            '1'..='9' => {
                let second = self.at;
                self.at -= 1;
                let number = self.digits(10, 1, 255)?;
                // One digit always names a group; several do where there is such a group.
                if self.at == second || (number as i32 > 0 && number <= self.groups) {
                    return Ok(Token::Backreference(number));
                }
                self.at = second;
                self.octal()?
            }
            '0' => self.octal()?,
            c if c.is_ascii_alphabetic() => return Err(Error::Escape),
            _ => Token::Plain(c as u32),
        })
    }

    /// A character by up to three octal digits, of which the first was read.
    fn octal(&mut self) -> Result<Token> {
        self.at -= 1;
        let mut code = self.digits(8, 1, 3)?;
        if code > 0xff {
            // The third digit is not part of it.
            self.at -= 1;
            code >>= 3;
        }
        Ok(Token::Plain(code))
    }

    /// A character by its number in hexadecimal.
    fn code(&mut self, least: usize, most: usize) -> Result<Token> {
        let code = self.digits(16, least, most)?;
        if code <= 0x7fff_fffe { Ok(Token::Plain(code)) } else { Err(Error::Escape) }
    }

    fn digits(&mut self, base: u32, least: usize, most: usize) -> Result<u32> {
        let (mut number, mut count) = (0_u32, 0);
        while count < most
            && let Some(digit) = self.peek().and_then(|c| c.to_digit(base))
        {
            number = number.wrapping_mul(base).wrapping_add(digit);
            self.at += 1;
            count += 1;
        }
        if count < least { Err(Error::Escape) } else { Ok(number) }
    }

    fn basic(&mut self, c: char) -> Result<Token> {
        Ok(match c {
            '*' => match self.last {
                Token::Start | Token::Open { .. } | Token::LineStart => Token::Plain(c as u32),
                _ => Token::Star { greedy: true },
            },
            '[' => self.open_bracket(),
            '.' => Token::AnyChar,
            '^' if matches!(self.last, Token::Start | Token::Open { .. }) => Token::LineStart,
            '$' => {
                if self.options.expanded {
                    self.skip_space();
                }
                match self.peek().is_none() || self.follows("\\)") {
                    true => Token::LineEnd,
                    false => Token::Plain(c as u32),
                }
            }
            '\\' => {
                let c = self.peek().ok_or(Error::Escape)?;
                self.at += 1;
                match c {
                    '{' => {
                        self.place = LexContext::Bound;
                        Token::OpenBound
                    }
                    '(' => Token::Open { captures: true },
                    ')' => Token::Close,
                    '<' => Token::WordStart,
                    '>' => Token::WordEnd,
                    '1'..='9' => Token::Backreference(c as u32 - '0' as u32),
                    _ => Token::Plain(c as u32),
                }
            }
            _ => Token::Plain(c as u32),
        })
    }

    /// The text up to the end of `[.name.]`, `[=name=]` or `[:name:]`, whose opening is the token.
    pub fn name(&mut self) -> Result<String> {
        let mut name = String::new();
        self.next()?;
        while let Token::Plain(c) = self.token {
            name.extend(char::from_u32(c));
            self.next()?;
        }
        self.next()?;
        Ok(name)
    }

    /// The character of `[.name.]` or `[=name=]`.
    pub fn element(&mut self) -> Result<u32> {
        // PostgreSQL looks at the name once what follows it was read.
        let name = self.name()?;
        element(&name).ok_or(Error::Collating)
    }
}
