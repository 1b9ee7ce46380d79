//! A value as the sequence of its parts, without recursion: the base of hash, keys, order and
//! structural edits.
//!
//! ```text
//!   {"a": [1, "x"]}     Object(1)  Name a  Array(2)  Scalar 1  Scalar "x"  Close  Close
//! ```

use super::form::{Array, JsonbRef, Object, Value};
use crate::parse::{Sink, Stopped};
use crate::tape::Kind;
use crate::text;

impl JsonbRef<'_> {
    /// Gives the tokens of the value to `sink`, fields in the order of the value.
    ///
    /// # Errors
    /// [`Stopped`], where the sink has asked for it.
    pub fn feed(self, sink: &mut impl Sink) -> Result<(), Stopped> {
        let mut written = Vec::new();
        for token in Walk::new(self) {
            written.clear();
            match token {
                Token::Array(_) => sink.open(Kind::Array)?,
                Token::Object(_) => sink.open(Kind::Object)?,
                Token::Close => sink.close()?,
                Token::Name(name) => {
                    text::escape_bytes_into(name, &mut written);
                    sink.name(&written)?;
                }
                Token::Scalar(scalar) => {
                    match scalar.value() {
                        Value::Number(number) => number.write_text(&mut written),
                        Value::String(_) => text::escape_bytes_into(scalar.payload(), &mut written),
                        _ => {}
                    }
                    sink.scalar(scalar.kind(), &written)?;
                }
            }
        }
        Ok(())
    }
}

/// One part of a value.
pub(super) enum Token<'a> {
    /// An array begins.
    Array(Array<'a>),
    /// An object begins.
    Object(Object<'a>),
    /// The name of the field whose value comes next.
    Name(&'a [u8]),
    /// A value that is not a container.
    Scalar(JsonbRef<'a>),
    /// The innermost open container ends.
    Close,
}

/// A container that is open, and how far the walk is in it.
enum Open<'a> {
    Elements(Array<'a>, usize),
    /// Names and values in turn: twice the number of fields.
    Fields(Object<'a>, usize),
}

/// The parts of a value in order.
pub(super) struct Walk<'a> {
    next: Option<JsonbRef<'a>>,
    open: Vec<Open<'a>>,
}

impl<'a> Walk<'a> {
    pub fn new(value: JsonbRef<'a>) -> Walk<'a> {
        Walk { next: Some(value), open: Vec::new() }
    }

    #[inline]
    fn enter(&mut self, value: JsonbRef<'a>) -> Token<'a> {
        if !value.kind().is_container() {
            return Token::Scalar(value);
        }
        match value.value() {
            Value::Array(array) => {
                self.open.push(Open::Elements(array, 0));
                Token::Array(array)
            }
            Value::Object(object) => {
                self.open.push(Open::Fields(object, 0));
                Token::Object(object)
            }
            _ => Token::Scalar(value),
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Token<'a>;

    #[inline]
    fn next(&mut self) -> Option<Token<'a>> {
        let Some(open) = self.open.last_mut() else {
            let root = self.next.take()?;
            return Some(self.enter(root));
        };
        let value = match open {
            Open::Elements(array, at) => {
                *at += 1;
                array.get(*at - 1)
            }
            Open::Fields(object, at) => {
                let (field, named) = (*at / 2, *at % 2 == 1);
                *at += 1;
                let there = field < object.len();
                if there && !named {
                    return Some(Token::Name(object.name_bytes(field)));
                }
                there.then(|| object.value(field))
            }
        };
        Some(match value {
            Some(value) => self.enter(value),
            None => {
                self.open.pop();
                Token::Close
            }
        })
    }
}
