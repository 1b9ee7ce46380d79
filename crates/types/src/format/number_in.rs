//! `to_number`: a number read as its template says.
//!
//! ```text
//!   template   L  9  G  9  9  9  D  9  9  S
//!   text       $  1  ,  2  3  4  .  5  0  -        -1234.50
//! ```
//!
//! Each piece of the template passes over its counterpart in the text. Digits are collected, and one
//! sign, in front or behind. Pieces that are not part of a number pass over such characters of the text.

use numeric::{Numeric, Precision};

use super::number::{Layout, NumberNode, NumberTemplate};
use crate::{Error, Modifier, Result, SqlState};

/// Digits that a power has, after the zeros behind its point.
const POWER_DIGITS: u32 = 16;

impl NumberTemplate {
    /// The number that a text says; `None` for an empty template.
    ///
    /// # Errors
    /// 0A000 for templates that only write, 22P02 where there is no number in the text, 22003 where
    /// there are more digits than the template has.
    pub fn parse(&self, text: &str) -> Result<Option<Numeric>> {
        if self.nodes.is_empty() {
            return Ok(None);
        }
        let unsupported = |what: &str| {
            Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("\"{what}\" not supported for input"),
            )
        };
        if self.layout.is_scientific {
            return Err(unsupported("EEEE"));
        }
        if self.layout.is_roman {
            return Err(unsupported("RN"));
        }
        let mut reader = Reader {
            layout: self.layout,
            rest: text.as_bytes(),
            sign: ' ',
            digits: String::new(),
            has_point: false,
            pre: 0,
            post: 0,
        };
        for node in &self.nodes {
            if reader.rest.is_empty() {
                break;
            }
            reader.take(*node);
        }
        let digits = reader.digits.strip_suffix('.').unwrap_or(&reader.digits);
        let number: Numeric = format!("{}{digits}", reader.sign).parse()?;
        let digits_max = self.layout.pre + self.layout.multi + reader.post;
        // A template without digits has room for nothing.
        let packed = Modifier::of_length((digits_max << 16 | reader.post) as i32);
        let number = match Precision::from_typmod(packed.0) {
            Some(limit) => number.with_precision(limit)?,
            None => number,
        };
        if !self.layout.has_multi {
            return Ok(Some(number));
        }
        // The scale of a power of ten, with the digits that it has as a result of its own.
        let scale = POWER_DIGITS + self.layout.multi as u32;
        let unit = Numeric::new(10_i128.pow(POWER_DIGITS), scale)?;
        Ok(Some(number.checked_mul(&unit)?))
    }
}

/// Where the reading stands.
struct Reader<'a> {
    layout: Layout,
    rest: &'a [u8],
    /// A blank until there is one.
    sign: char,
    digits: String,
    has_point: bool,
    /// Digits read before the point and after it.
    pre: usize,
    post: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    /// Passes over one byte.
    fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or(&[]);
    }

    /// Passes over one character.
    fn skip_char(&mut self) {
        self.skip();
        while matches!(self.rest, [0x80..0xc0, ..]) {
            self.skip();
        }
    }

    /// Passes over up to so many characters that are no part of a number.
    fn skip_other(&mut self, count: usize) {
        for _ in 0..count {
            if self.rest.is_empty() || b"0123456789.,+-".contains(&self.peek()) {
                return;
            }
            self.skip_char();
        }
    }

    fn take(&mut self, node: NumberNode) {
        match node {
            NumberNode::Digit | NumberNode::Zero => self.digit_or_point(true),
            NumberNode::Point => self.digit_or_point(false),
            NumberNode::Comma | NumberNode::Group => {
                if !self.layout.is_fill && self.peek() == b',' {
                    self.skip();
                }
            }
            NumberNode::Currency => self.skip_other(1),
            NumberNode::Ordinal(_) if self.layout.has_point => {}
            NumberNode::Ordinal(_) => self.skip_other(2),
            NumberNode::Minus => self.sign_of(b"-"),
            NumberNode::Plus => self.sign_of(b"+"),
            NumberNode::PlusMinus => self.sign_of(b"-+"),
            NumberNode::Char(_) => self.skip_char(),
            NumberNode::Roman(_) | NumberNode::Silent => {}
        }
    }

    fn sign_of(&mut self, signs: &[u8]) {
        if signs.contains(&self.peek()) {
            self.sign = char::from(self.peek());
            self.skip();
        } else {
            self.skip_other(1);
        }
    }

    /// A digit of the template, or its point.
    fn digit_or_point(&mut self, is_digit: bool) {
        if self.peek() == b' ' {
            self.skip();
        }
        if self.rest.is_empty() {
            return;
        }
        if self.sign == ' ' && is_digit && self.pre + self.post == 0 {
            self.leading_sign();
        }
        if self.rest.is_empty() {
            return;
        }
        let mut is_read = false;
        let character = self.peek();
        if character.is_ascii_digit() {
            if self.has_point && self.post == self.layout.post {
                // One digit more than the template has: it is passed over.
                return self.skip();
            }
            self.digits.push(char::from(character));
            *(if self.has_point { &mut self.post } else { &mut self.pre }) += 1;
            is_read = true;
        } else if self.layout.has_point && !self.has_point && character == b'.' {
            self.digits.push('.');
            self.has_point = true;
            is_read = true;
        }
        if self.sign == ' ' && self.pre + self.post > 0 {
            self.trailing_sign(is_read);
        }
        self.skip();
    }

    fn leading_sign(&mut self) {
        let is_bracket = self.layout.has_bracket && self.peek() == b'<';
        let sign = match self.peek() {
            sign @ (b'-' | b'+') => sign,
            _ if is_bracket && self.layout.anchored.is_none() => b'-',
            _ => return,
        };
        self.sign = char::from(sign);
        self.skip();
    }

    /// A sign right behind the number. Afterwards it skips the character that was read last.
    fn trailing_sign(&mut self, is_read: bool) {
        if self.layout.anchored.is_some() {
            if is_read && let Some(sign @ (b'-' | b'+')) = self.rest.get(1) {
                self.sign = char::from(*sign);
                self.skip();
            }
        } else if !is_read
            && (self.layout.has_plus || self.layout.has_minus)
            && matches!(self.peek(), b'-' | b'+')
        {
            self.sign = char::from(self.peek());
        }
    }
}
