//! `to_char` of numbers.
//!
//! ```text
//!   template   9  9  9  9  .  9  9
//!   digits           1  2  .  5  0          two blanks in front; the sign goes before the 1
//! ```
//!
//! The number is rounded to the template's digits and becomes a string of digits. The template is
//! then gone through once: each of its digits takes the next digit of the number, or a blank or a
//! zero while the number is shorter. A number that is longer becomes `#`s.

use numeric::Numeric;

use super::number::{Anchor, Layout, NumberNode, NumberTemplate};
use super::ordinal_ending;
use crate::{Error, Result, SqlState};

/// How wide Roman numbers are padded.
const ROMAN_WIDTH: usize = 15;

/// Digits that a `float4` and a `float8` have for certain.
const FLOAT4_DIGITS: usize = 6;
const FLOAT8_DIGITS: usize = 15;

fn out_of_range(type_name: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
}

impl NumberTemplate {
    /// The integer in the form of the template. Where the shifting of `V` leaves the type, its higher
    /// digits are lost, as in PostgreSQL.
    ///
    /// # Errors
    /// 22P02 for an ordinal where the template has no digits.
    pub fn int4(&self, value: i32) -> Result<String> {
        if self.layout.is_roman {
            return Ok(self.roman(value.into()));
        }
        if self.layout.is_scientific {
            return Ok(self.scientific_float(value.into()));
        }
        self.integer(value.wrapping_mul(10_f64.powi(self.shift()) as i32).into())
    }

    /// The integer in the form of the template.
    ///
    /// # Errors
    /// 22003 where the shifting of `V` leaves the type, and for a Roman number beyond 32 bits.
    pub fn int8(&self, value: i64) -> Result<String> {
        if self.layout.is_scientific {
            return self.numeric(&Numeric::from(value));
        }
        if self.layout.is_roman {
            let value = i32::try_from(value).map_err(|_| out_of_range("integer"))?;
            return Ok(self.roman(value.into()));
        }
        let shifted = 10_i64.checked_pow(self.shift() as u32).and_then(|by| value.checked_mul(by));
        self.integer(shifted.ok_or_else(|| out_of_range("bigint"))?)
    }

    /// The number in the form of the template.
    ///
    /// # Errors
    /// As [`NumberTemplate::int4`].
    pub fn float4(&self, value: f32) -> Result<String> {
        self.float(value.into(), FLOAT4_DIGITS)
    }

    /// The number in the form of the template.
    ///
    /// # Errors
    /// As [`NumberTemplate::int4`].
    pub fn float8(&self, value: f64) -> Result<String> {
        self.float(value, FLOAT8_DIGITS)
    }

    /// The number in the form of the template.
    ///
    /// # Errors
    /// 22003 for a Roman number beyond 32 bits, and where the shifting of `V` leaves the type.
    pub fn numeric(&self, value: &Numeric) -> Result<String> {
        let layout = &self.layout;
        if layout.is_roman {
            return Ok(self.roman(value.round(0)?.to_i32()?.into()));
        }
        if layout.is_scientific {
            return if value.is_finite() {
                Ok(self.scientific(&scientific(value, layout.post)?))
            } else {
                Ok(self.scientific_overflow())
            };
        }
        let shifted = match layout.has_multi {
            true => value.checked_mul(&power_of_ten(layout.multi)?)?,
            false => value.clone(),
        };
        let digits = shifted.round(layout.post as i32)?.to_string();
        self.write_number(&digits, layout.post)
    }

    /// Digits by which `V` shifts the number.
    fn shift(&self) -> i32 {
        self.layout.multi as i32
    }

    fn integer(&self, shifted: i64) -> Result<String> {
        let mut digits = shifted.to_string();
        if self.layout.post > 0 {
            digits.push('.');
            digits.extend(std::iter::repeat_n('0', self.layout.post));
        }
        self.write_number(&digits, self.layout.post)
    }

    fn float(&self, value: f64, digits_max: usize) -> Result<String> {
        let layout = &self.layout;
        if layout.is_roman {
            // NaN becomes 0, which has no Roman number either.
            return Ok(self.roman(value.round_ties_even() as i64));
        }
        if layout.is_scientific {
            return Ok(self.scientific_float(value));
        }
        let shifted = value * 10_f64.powi(self.shift());
        let written = |post: usize| match shifted {
            shifted if shifted.is_nan() => "NaN".to_owned(),
            shifted if shifted.is_infinite() && shifted > 0.0 => "Infinity".to_owned(),
            shifted if shifted.is_infinite() => "-Infinity".to_owned(),
            shifted => format!("{shifted:.post$}"),
        };
        // A float has no more digits than that.
        let whole = written(0).trim_start_matches('-').len();
        let post = layout.post.min(digits_max.saturating_sub(whole));
        self.write_number(&written(post), post)
    }

    fn scientific_float(&self, value: f64) -> String {
        if !value.is_finite() {
            return self.scientific_overflow();
        }
        let written = format!("{value:.*e}", self.layout.post);
        let (mantissa, exponent) = written.split_once('e').expect("asked for an exponent");
        self.scientific(&with_exponent(mantissa, exponent.parse().unwrap_or(0)))
    }

    /// A number with an exponent; a blank stands for the sign of a positive one.
    fn scientific(&self, number: &str) -> String {
        if number.starts_with('-') { number.to_owned() } else { format!(" {number}") }
    }

    /// The text for a number that has no exponent.
    fn scientific_overflow(&self) -> String {
        let (pre, post) = (self.layout.pre, self.layout.post);
        // A sign, a point, and an exponent with its letter and its sign.
        let mut filled: Vec<char> = vec!['#'; pre + post + 6];
        filled[0] = ' ';
        filled[pre + 1] = '.';
        filled.into_iter().collect()
    }

    fn roman(&self, value: i64) -> String {
        let roman = roman(value);
        let mut out = String::new();
        for node in &self.nodes {
            match node {
                NumberNode::Roman(is_upper) => {
                    let roman = if *is_upper { roman.clone() } else { roman.to_ascii_lowercase() };
                    let width = if self.layout.is_fill { 0 } else { ROMAN_WIDTH };
                    out.push_str(&format!("{roman:>width$}"));
                }
                NumberNode::Char(c) => out.push(*c),
                NumberNode::Comma | NumberNode::Group | NumberNode::Minus | NumberNode::Plus
                    if !self.layout.is_fill =>
                {
                    out.push(' ');
                }
                NumberNode::Currency => out.push(' '),
                _ => {}
            }
        }
        out
    }

    /// Writes a number that is given as digits with a sign and a point; `post` is how many digits
    /// there are behind the point.
    fn write_number(&self, number: &str, post: usize) -> Result<String> {
        let (sign, digits) = match number.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', number),
        };
        let layout = Layout { pre: self.layout.pre + self.layout.multi, post, ..self.layout };
        let before_point = digits.split('.').next().unwrap_or("").len();
        if before_point > layout.pre {
            let overflow = format!("{}.{}", "#".repeat(layout.pre), "#".repeat(post));
            return Writer::new(layout, sign, overflow, 0).write(&self.nodes);
        }
        Writer::new(layout, sign, digits.to_owned(), layout.pre - before_point).write(&self.nodes)
    }
}

/// `10^exponent`.
fn power_of_ten(exponent: usize) -> Result<Numeric> {
    Ok(format!("1e{exponent}").parse()?)
}

/// `d.ddde±nn`.
fn with_exponent(mantissa: &str, exponent: i32) -> String {
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// A finite number with one digit before the point and `post` behind it. The exponent is that of
/// the number before it is rounded, so that 9.99 becomes `10.0e+00`.
fn scientific(value: &Numeric, post: usize) -> Result<String> {
    let text = value.abs().to_string();
    let digits = |text: &str| text.chars().filter(|c| *c != '.').collect::<String>();
    let point = text.find('.').unwrap_or(text.len()) as i32;
    let zeros = digits(&text).chars().take_while(|c| *c == '0').count() as i32;
    let exponent = if value.is_zero() { 0 } else { point - 1 - zeros };
    let rounded = value.round(post as i32 - exponent)?.abs().to_string();
    // Shift the point of the rounded number to behind its first digit.
    let shift = format!("1e{}", -exponent).parse::<Numeric>()?;
    let mantissa = rounded.parse::<Numeric>()?.checked_mul(&shift)?.round(post as i32)?;
    let sign = if value.sign() == Numeric::from(-1) { "-" } else { "" };
    Ok(with_exponent(&format!("{sign}{mantissa}"), exponent))
}

/// A number in Roman digits, or `#`s where it has none.
fn roman(mut value: i64) -> String {
    const DIGITS: [(i64, &str); 13] = [
        (1_000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..4_000).contains(&value) {
        return "#".repeat(ROMAN_WIDTH);
    }
    let mut roman = String::new();
    for (size, digit) in DIGITS {
        while value >= size {
            roman.push_str(digit);
            value -= size;
        }
    }
    roman
}

/// A number during the evaluation of a template.
struct Writer {
    layout: Layout,
    sign: char,
    /// Digits and at most one point.
    number: Vec<u8>,
    /// The next character of the number.
    at: usize,
    /// Digits of the template, before the number's first one.
    blanks: usize,
    /// Digits and points of the template so far.
    place: usize,
    /// How many places there are, and one: behind the last one a sign may follow.
    last_place: usize,
    /// The last digit after the point that is not a zero to leave away; only where those are left
    /// away.
    last_relevant: Option<usize>,
    is_sign_written: bool,
    /// A digit of the number was the last one written.
    is_in_number: bool,
    out: String,
}

impl Writer {
    fn new(mut layout: Layout, sign: char, number: String, blanks: usize) -> Self {
        let number = number.into_bytes();
        // `MI` and `SG` write the sign where they stand.
        let mut is_sign_written = layout.has_minus;
        if !layout.has_plus && !layout.has_minus {
            if sign != '-' && layout.is_fill {
                layout.has_bracket = false;
            }
            is_sign_written = sign == '+' && layout.is_fill && layout.anchored.is_none();
            if layout.anchored == Some(Anchor::Before) && layout.pre == layout.pre_sign {
                layout.anchored = Some(Anchor::After);
            }
        }
        let last_relevant = if layout.is_fill && layout.has_point {
            last_relevant(&number).map(|last| {
                // The digit for a `0` of the template is written.
                let last_zero = (number.len() - 1).min(layout.zero_end.saturating_sub(blanks));
                if layout.zero_end > blanks { last.max(last_zero) } else { last }
            })
        } else {
            None
        };
        let is_sign_due = !is_sign_written && blanks == 0;
        // Blanks, or else a sign that is not written yet, count as one place, like the point.
        let last_place = layout.post
            + layout.pre
            + usize::from(is_sign_due || blanks > 0)
            + usize::from(layout.has_point);
        Self {
            layout,
            sign,
            number,
            at: 0,
            blanks,
            place: 0,
            last_place,
            last_relevant,
            is_sign_written,
            is_in_number: false,
            out: String::new(),
        }
    }

    fn write(mut self, nodes: &[NumberNode]) -> Result<String> {
        let is_fill = self.layout.is_fill;
        for node in nodes {
            match node {
                NumberNode::Digit | NumberNode::Zero | NumberNode::Point => {
                    self.digit(*node == NumberNode::Zero);
                }
                NumberNode::Comma | NumberNode::Group => match (self.is_in_number, is_fill) {
                    (true, _) => self.out.push(','),
                    (false, true) => {}
                    (false, false) => self.out.push(' '),
                },
                NumberNode::Currency => self.out.push(' '),
                NumberNode::Minus => self.sign_or_blank('-'),
                NumberNode::Plus => self.sign_or_blank('+'),
                NumberNode::PlusMinus => self.out.push(self.sign),
                NumberNode::Ordinal(is_upper) => {
                    let is_number = self.number.first() != Some(&b'#');
                    if is_number && self.sign != '-' && !self.layout.has_point {
                        let number = String::from_utf8_lossy(&self.number);
                        self.out.push_str(ordinal_ending(&number, *is_upper)?);
                    }
                }
                NumberNode::Char(c) => self.out.push(*c),
                NumberNode::Roman(_) | NumberNode::Silent => {}
            }
        }
        // Digits that the number does not have end the text.
        if let Some(end) = self.out.find('\0') {
            self.out.truncate(end);
        }
        Ok(self.out)
    }

    fn sign_or_blank(&mut self, sign: char) {
        if self.sign == sign {
            self.out.push(sign);
        } else if !self.layout.is_fill {
            self.out.push(' ');
        }
    }

    /// True if the number begins with a zero that is not written: `.5`.
    fn is_leading_zero(&self) -> bool {
        self.layout.zero_start.is_none()
            && self.at == 0
            && self.number.first() == Some(&b'0')
            && self.layout.post != 0
    }

    /// True if nothing is left behind the point.
    fn ends_with_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.number.get(last) == Some(&b'.'))
    }

    /// A digit or the point of the template.
    fn digit(&mut self, is_zero: bool) {
        self.is_in_number = false;
        let zero_start = self.layout.zero_start;
        let is_start = self.place >= self.blanks || zero_start == Some(self.place);
        if !self.is_sign_written && is_start && (!self.is_leading_zero() || self.ends_with_point())
        {
            self.leading_sign();
        }
        let is_before = self.place < self.blanks;
        if is_before && zero_start.is_none_or(|start| start > self.place) {
            if !self.layout.is_fill {
                self.out.push(' ');
            }
        } else if is_before {
            self.out.push('0');
            self.is_in_number = true;
        } else {
            self.next_of_number(is_zero);
        }
        let is_cut_here = self.last_relevant == Some(self.at);
        if self.place + 2 == self.last_place && !is_cut_here {
            self.trailing_sign();
        }
        self.place += 1;
    }

    /// The next character of the number.
    fn next_of_number(&mut self, is_zero: bool) {
        let character = self.number.get(self.at).copied().unwrap_or(0);
        if character == b'.' {
            if !self.ends_with_point() || self.layout.is_fill {
                self.out.push('.');
            }
        } else if self.last_relevant.is_some_and(|last| self.at > last) && !is_zero {
            // A zero behind the last digit that counts.
        } else if self.is_leading_zero() {
            if !self.layout.is_fill {
                self.out.push(' ');
            } else if self.ends_with_point() {
                self.out.push('0');
            }
        } else {
            self.out.push(char::from(character));
            self.is_in_number = true;
        }
        if self.at < self.number.len() {
            self.at += 1;
        }
    }

    fn leading_sign(&mut self) {
        match self.layout.anchored {
            Some(Anchor::Before) => self.out.push(self.sign),
            // It follows at the end.
            Some(Anchor::After) => return,
            None if self.layout.has_bracket => {
                self.out.push(if self.sign == '+' { ' ' } else { '<' });
            }
            None if self.sign == '-' => self.out.push('-'),
            None if !self.layout.is_fill => self.out.push(' '),
            None => {}
        }
        self.is_sign_written = true;
    }

    fn trailing_sign(&mut self) {
        if self.is_sign_written && self.layout.has_bracket {
            self.out.push(if self.sign == '+' { ' ' } else { '>' });
        } else if self.layout.anchored == Some(Anchor::After) {
            self.out.push(self.sign);
        }
    }
}

/// The last character behind the point that is not a zero, or the point itself; `None` without one.
fn last_relevant(number: &[u8]) -> Option<usize> {
    let point = number.iter().position(|c| *c == b'.')?;
    let fraction = &number[point + 1..];
    Some(fraction.iter().rposition(|c| *c != b'0').map_or(point, |at| point + 1 + at))
}
