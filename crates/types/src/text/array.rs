//! Arrays as text.
//!
//! ```text
//!   {1,2,NULL}    {"a b","say \"hi\"",""}    {{1,2},{3,4}}    [0:1]={1,2}
//! ```
//!
//! Elements are in quotes where they would be misread without: empty, like NULL, with braces,
//! quotes, backslashes, delimiters or space inside. Bounds are written where one does not start
//! with 1.

use std::fmt::Write;

use interrupt::Pace;

use super::number::is_space;
use crate::array::{self, DIMENSIONS_MAX, ELEMENTS_MAX};
use crate::{
    Array, ArrayRef, Context, Datum, DatumRef, Dimension, Error, Modifier, Repr, Result, SqlState,
    Type, builtin,
};

/// The character between the elements of an array.
fn delimiter(element: Type) -> char {
    builtin::facts(element).map_or(',', |facts| facts.delimiter())
}

/// Reads an array of elements of a type.
///
/// # Errors
/// 22P02 for what is no array, 2202E and 54000 for bounds and sizes that there cannot be; and those
/// of the elements.
pub(super) fn parse(
    text: &str,
    element: Type,
    modifier: Modifier,
    context: &Context<'_>,
) -> Result<Array> {
    let repr = context.types.repr_of(element)?;
    let delimiter = delimiter(element);
    if let Some(contents) = plain_contents(text, delimiter) {
        let words = contents.split(delimiter);
        if element == Type::TEXT {
            let length = contents.bytes().filter(|byte| *byte == delimiter as u8).count() + 1;
            let length = i32::try_from(length).unwrap_or(i32::MAX);
            let dimension = Dimension { length, lower: 1 };
            return Array::new(element, repr, &[dimension], words.map(DatumRef::Text));
        }
        let elements = words.map(|word| super::parse(word, element, modifier, context));
        let elements = elements.collect::<Result<Vec<Datum>>>()?;
        return Array::from_elements(element, repr, elements.iter().map(Datum::as_ref));
    }
    let mut scan = Scan { text, rest: text, delimiter };
    scan.skip_space();
    let mut dimensions = scan.dimensions()?;
    let is_specified = !dimensions.is_empty();
    if is_specified {
        scan.rest = scan
            .rest
            .strip_prefix('=')
            .ok_or_else(|| scan.malformed("Missing \"=\" after array dimensions."))?;
        scan.skip_space();
    }
    if !scan.rest.starts_with('{') {
        return Err(scan.malformed(if is_specified {
            "Array contents must start with \"{\"."
        } else {
            "Array value must start with \"{\" or dimension information."
        }));
    }
    let read = |text: Option<&str>| super::parse_nullable(text, element, modifier, context);
    let elements = contents(&mut scan, &mut dimensions, read)?;
    scan.skip_space();
    if !scan.rest.is_empty() {
        return Err(scan.malformed("Junk after closing right brace."));
    }
    if elements.is_empty() {
        return Ok(Array::empty(element, repr));
    }
    Array::new(element, repr, &dimensions, elements.iter().map(Datum::as_ref))
}

/// Returns the text between the braces of an array of one dimension, if each element is written without quotes,
/// backslashes, braces and space, and none is empty or NULL.
fn plain_contents(text: &str, delimiter: char) -> Option<&str> {
    let contents = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut is_special = false;
    for byte in contents.bytes() {
        is_special |= matches!(byte, b'"' | b'\\' | b'{' | b'}' | b' ' | b'\t'..=b'\r');
    }
    let is_word = |word: &str| !word.is_empty() && !word.eq_ignore_ascii_case("null");
    (!is_special && contents.split(delimiter).all(is_word)).then_some(contents)
}

/// Reads `int2vector` and `oidvector`: numbers with space between.
///
/// # Errors
/// Those of the elements.
pub(super) fn parse_vector(
    text: &str,
    element: Type,
    repr: Repr,
    context: &Context<'_>,
) -> Result<Array> {
    let words = text.split(is_space).filter(|word| !word.is_empty());
    let elements: Vec<Datum> = words
        .map(|word| super::parse(word, element, Modifier::NONE, context))
        .collect::<Result<_>>()?;
    let length = i32::try_from(elements.len()).unwrap_or(i32::MAX);
    Array::new(element, repr, &[Dimension { length, lower: 0 }], elements.iter().map(Datum::as_ref))
}

/// The rest of a text.
struct Scan<'a> {
    text: &'a str,
    rest: &'a str,
    delimiter: char,
}

/// A piece of the contents of an array.
enum Token {
    Open,
    Close,
    Delimiter,
    Element(String),
    Null,
}

impl Scan<'_> {
    fn malformed(&self, detail: &str) -> Error {
        Error::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("malformed array literal: \"{}\"", self.text),
        )
        .with_detail(detail)
    }

    fn unexpected(&self, character: char) -> Error {
        self.malformed(&format!("Unexpected \"{character}\" character."))
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    fn next(&mut self) -> Result<char> {
        let c = self.rest.chars().next();
        let c = c.ok_or_else(|| self.malformed("Unexpected end of input."))?;
        self.rest = &self.rest[c.len_utf8()..];
        Ok(c)
    }

    /// `[1:2][3]`, or nothing.
    fn dimensions(&mut self) -> Result<Vec<Dimension>> {
        let too_large = |message| Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
        let mut dimensions = Vec::new();
        loop {
            self.skip_space();
            let Some(rest) = self.rest.strip_prefix('[') else {
                return Ok(dimensions);
            };
            self.rest = rest;
            if dimensions.len() >= DIMENSIONS_MAX {
                return Err(too_many_dimensions());
            }
            let first = self.bound()?.ok_or_else(|| {
                self.malformed("\"[\" must introduce explicitly-specified array dimensions.")
            })?;
            let (lower, upper) = match self.rest.strip_prefix(':') {
                None => (1, first),
                Some(rest) => {
                    self.rest = rest;
                    let upper = self.bound()?;
                    let missing = || self.malformed("Missing array dimension value.");
                    (first, upper.ok_or_else(missing)?)
                }
            };
            self.rest = self
                .rest
                .strip_prefix(']')
                .ok_or_else(|| self.malformed("Missing \"]\" after array dimensions."))?;
            if upper < lower {
                return Err(Error::new(
                    SqlState::ARRAY_SUBSCRIPT_ERROR,
                    "upper bound cannot be less than lower bound",
                ));
            }
            if upper == i32::MAX {
                return Err(too_large(format!("array upper bound is too large: {upper}")));
            }
            let length = upper.checked_sub(lower).and_then(|length| length.checked_add(1));
            let length = length.ok_or_else(|| {
                too_large(format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"))
            })?;
            dimensions.push(Dimension { length, lower });
        }
    }

    /// A subscript, if there is one.
    fn bound(&mut self) -> Result<Option<i32>> {
        let sign = usize::from(self.rest.starts_with(['-', '+']));
        let digits = self.rest[sign..].find(|c: char| !c.is_ascii_digit());
        let (number, rest) = self.rest.split_at(digits.map_or(self.rest.len(), |end| sign + end));
        if number.len() == sign {
            return Ok(None);
        }
        self.rest = rest;
        let number = number.parse().map_err(|_| {
            Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "array bound is out of integer range")
        })?;
        Ok(Some(number))
    }

    fn token(&mut self) -> Result<Token> {
        self.skip_space();
        let before = self.rest;
        match self.next()? {
            '{' => Ok(Token::Open),
            '}' => Ok(Token::Close),
            c if c == self.delimiter => Ok(Token::Delimiter),
            '"' => self.quoted(),
            _ => {
                self.rest = before;
                self.unquoted()
            }
        }
    }

    /// The rest of an element in quotes.
    fn quoted(&mut self) -> Result<Token> {
        let mut element = String::new();
        loop {
            match self.next()? {
                '\\' => element.push(self.next()?),
                '"' => break,
                c => element.push(c),
            }
        }
        self.skip_space();
        match self.rest.chars().next() {
            Some('{' | '}') => Ok(Token::Element(element)),
            Some(c) if c == self.delimiter => Ok(Token::Element(element)),
            Some(_) => Err(self.malformed("Incorrectly quoted array element.")),
            None => Err(self.malformed("Unexpected end of input.")),
        }
    }

    fn unquoted(&mut self) -> Result<Token> {
        let mut element = String::new();
        // Space at the end does not count, unless it was escaped.
        let mut length = 0;
        let mut has_escapes = false;
        loop {
            if self.rest.starts_with([self.delimiter, '}']) {
                break;
            }
            match self.next()? {
                '{' => return Err(self.unexpected('{')),
                '"' => return Err(self.malformed("Incorrectly quoted array element.")),
                '\\' => {
                    element.push(self.next()?);
                    length = element.len();
                    has_escapes = true;
                }
                c => {
                    element.push(c);
                    if !is_space(c) {
                        length = element.len();
                    }
                }
            }
        }
        element.truncate(length);
        let is_null = !has_escapes && element.eq_ignore_ascii_case("null");
        Ok(if is_null { Token::Null } else { Token::Element(element) })
    }
}

fn too_many_dimensions() -> Error {
    Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("number of array dimensions exceeds the maximum allowed ({DIMENSIONS_MAX})"),
    )
}

/// Reads the braces and what is in them. Dimensions that were given are checked, others found out.
fn contents(
    scan: &mut Scan<'_>,
    dimensions: &mut Vec<Dimension>,
    read: impl Fn(Option<&str>) -> Result<Datum>,
) -> Result<Vec<Datum>> {
    let is_specified = !dimensions.is_empty();
    let mismatch = |scan: &Scan<'_>| {
        scan.malformed(if is_specified {
            "Specified array dimensions do not match array contents."
        } else {
            "Multidimensional arrays must have sub-arrays with matching dimensions."
        })
    };
    let mut elements = Vec::new();
    // The length of each dimension, as far as it is known, and the elements so far in each array
    // that is open.
    let mut lengths: Vec<Option<i32>> = dimensions.iter().map(|of| Some(of.length)).collect();
    let mut open: Vec<i32> = Vec::new();
    let mut is_depth_known = is_specified;
    let mut is_delimiter_due = false;
    loop {
        match scan.token()? {
            Token::Open => {
                if is_delimiter_due {
                    return Err(scan.unexpected('{'));
                }
                if open.len() >= DIMENSIONS_MAX {
                    return Err(too_many_dimensions());
                }
                open.push(0);
                if open.len() > lengths.len() {
                    if is_depth_known {
                        return Err(mismatch(scan));
                    }
                    lengths.push(None);
                }
            }
            Token::Close => {
                let count = open.pop().unwrap_or(0);
                if count > 0 && !is_delimiter_due {
                    return Err(scan.unexpected('}'));
                }
                // The first array of a dimension says how long the others are.
                if *lengths[open.len()].get_or_insert(count) != count {
                    return Err(mismatch(scan));
                }
                let Some(outer) = open.last_mut() else { break };
                *outer += 1;
                is_delimiter_due = true;
            }
            Token::Delimiter => {
                if !is_delimiter_due {
                    return Err(scan.unexpected(scan.delimiter));
                }
                is_delimiter_due = false;
            }
            token @ (Token::Element(_) | Token::Null) => {
                if is_delimiter_due {
                    return Err(scan.malformed("Unexpected array element."));
                }
                elements.push(match token {
                    Token::Element(text) => read(Some(&text))?,
                    _ => read(None)?,
                });
                is_depth_known = true;
                if open.len() != lengths.len() {
                    return Err(mismatch(scan));
                }
                if let Some(count) = open.last_mut() {
                    *count += 1;
                }
                is_delimiter_due = true;
            }
        }
    }
    if !is_specified {
        let length = |length: Option<i32>| Dimension { length: length.unwrap_or(0), lower: 1 };
        *dimensions = lengths.into_iter().map(length).collect();
    }
    array::count(dimensions)?;
    Ok(elements)
}

/// Writes an array. Its elements take the type that the array says.
pub(super) fn write(
    array: ArrayRef<'_>,
    modifier: Modifier,
    context: &Context<'_>,
    out: &mut String,
) -> Result<()> {
    let dimensions = array.dimensions();
    if dimensions.is_empty() {
        out.push_str("{}");
        return Ok(());
    }
    if dimensions.iter().any(|dimension| dimension.lower != 1) {
        for dimension in &dimensions {
            write!(out, "[{}:{}]", dimension.lower, dimension.upper())
                .expect("strings take everything");
        }
        out.push('=');
    }
    let element = array.element_type();
    let delimiter = delimiter(element);
    let mut text = String::new();
    let mut pace = Pace::new();
    for (at, value) in array.iter().enumerate() {
        // An array opens before an element for each dimension whose size divides the place of the element.
        let opened = at_boundary(&dimensions, at);
        if at > 0 {
            out.push(delimiter);
        }
        out.extend(std::iter::repeat_n('{', opened));
        if value.is_null() {
            out.push_str("NULL");
        } else {
            text.clear();
            super::write(value, element, modifier, context, &mut text)?;
            write_element(&text, delimiter, out);
        }
        pace.step(16 + text.len())?;
        out.extend(std::iter::repeat_n('}', at_boundary(&dimensions, at + 1)));
    }
    Ok(())
}

/// How many arrays begin, or end, `at` elements from the start.
fn at_boundary(dimensions: &[Dimension], at: usize) -> usize {
    let mut size = 1;
    let is_multiple = |dimension: &&Dimension| {
        size *= dimension.length as usize;
        at.is_multiple_of(size)
    };
    dimensions.iter().rev().take_while(is_multiple).count()
}

fn write_element(text: &str, delimiter: char, out: &mut String) {
    let is_special = |c: char| matches!(c, '"' | '\\' | '{' | '}') || c == delimiter || is_space(c);
    if !text.is_empty() && !text.eq_ignore_ascii_case("null") && !text.contains(is_special) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// Writes `int2vector` and `oidvector`: numbers with space between.
pub(super) fn write_vector(
    array: ArrayRef<'_>,
    context: &Context<'_>,
    out: &mut String,
) -> Result<()> {
    let element = array.element_type();
    for (at, value) in array.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        super::write(value, element, Modifier::NONE, context, out)?;
    }
    Ok(())
}
