//! Order, equality, hash and key of values.
//!
//! ```text
//!   null < strings < numbers < false < true < arrays < objects
//!
//!   arrays     by the number of elements, then element by element
//!   objects    by the number of fields, then name, value, name, value ... in the order of the form
//!   strings    by bytes (so names compare by bytes, though they are stored by length first)
//!   numbers    by value: 1.0 = 1.00
//! ```
//!
//! There is one exception, which PostgreSQL has kept since its first release: an empty array that is
//! a value of its own, not an element of another, is less than everything.
//!
//! The key form is written in the same order, so comparing keys byte by byte is comparing values:
//!
//! ```text
//!   00                        an empty array at the top
//!   01                        null
//!   02  bytes 00              string: no string has a NUL, so the end is below every byte
//!   03  see `number`          number
//!   04  05                    false, true
//!   06  count, elements       array; the count has 4 bytes, big end first
//!   07  count, fields         object; each field is its name, bytes and 00, and its value
//! ```
//!
//! No key begins another, so keys may be put behind each other. A key does not give the value back:
//! it knows nothing of the scale of numbers.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::form::{Jsonb, JsonbRef, Value};
use super::number::Number;
use super::walk::{Token, Walk};
use crate::tape::Kind;

/// The classes of values, as the first byte of their keys.
const EMPTY_ARRAY_AT_TOP: u8 = 0;
const NULL: u8 = 1;
const STRING: u8 = 2;
const NUMBER: u8 = 3;
const FALSE: u8 = 4;
const TRUE: u8 = 5;
const ARRAY: u8 = 6;
const OBJECT: u8 = 7;

impl JsonbRef<'_> {
    /// Appends bytes whose order is the order of the values, and of which none begins another.
    pub fn write_key(self, out: &mut Vec<u8>) {
        if !self.kind().is_container() {
            return write_scalar_key(self, out);
        }
        if self.is_empty_array() {
            return out.push(EMPTY_ARRAY_AT_TOP);
        }
        for token in Walk::new(self) {
            match token {
                Token::Array(array) => {
                    out.push(ARRAY);
                    out.extend_from_slice(&(array.len() as u32).to_be_bytes());
                }
                Token::Object(object) => {
                    out.push(OBJECT);
                    out.extend_from_slice(&(object.len() as u32).to_be_bytes());
                }
                Token::Name(name) => {
                    out.extend_from_slice(name);
                    out.push(0);
                }
                Token::Scalar(value) => write_scalar_key(value, out),
                Token::Close => {}
            }
        }
    }

    fn is_empty_array(self) -> bool {
        self.as_array().is_some_and(|array| array.is_empty())
    }
}

/// Appends the key of a value that is not a container.
fn write_scalar_key(value: JsonbRef<'_>, out: &mut Vec<u8>) {
    out.push(class(value));
    match value.kind() {
        Kind::Number => Number::new(value.tag(), value.payload()).write_key(out),
        Kind::String => {
            out.extend_from_slice(value.payload());
            out.push(0);
        }
        _ => {}
    }
}

/// Where a value stands among the classes of values.
fn class(value: JsonbRef<'_>) -> u8 {
    match value.kind() {
        Kind::Null => NULL,
        Kind::String => STRING,
        Kind::Number => NUMBER,
        Kind::False => FALSE,
        Kind::True => TRUE,
        Kind::Array => ARRAY,
        Kind::Object => OBJECT,
    }
}

impl Ord for JsonbRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.bytes() == other.bytes() {
            return Ordering::Equal;
        }
        match (self.is_empty_array(), other.is_empty_array()) {
            (false, false) => {}
            (left, right) => return right.cmp(&left),
        }
        // As long as nothing differs, both walks are at the same place of the same shape.
        Walk::new(*self)
            .zip(Walk::new(*other))
            .map(|pair| match pair {
                (Token::Name(a), Token::Name(b)) => a.cmp(b),
                (Token::Scalar(a), Token::Scalar(b)) => compare_scalars(a, b),
                (Token::Array(a), Token::Array(b)) => a.len().cmp(&b.len()),
                (Token::Object(a), Token::Object(b)) => a.len().cmp(&b.len()),
                (a, b) => rank(&a).cmp(&rank(&b)),
            })
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

/// Orders what two walks have at the same place where it is not alike.
fn rank(token: &Token<'_>) -> u8 {
    match token {
        Token::Scalar(_) => 0,
        Token::Array(_) => 1,
        Token::Object(_) => 2,
        Token::Name(_) | Token::Close => 3,
    }
}

/// Orders two values that are no containers.
pub(super) fn compare_scalars(a: JsonbRef<'_>, b: JsonbRef<'_>) -> Ordering {
    match (a.value(), b.value()) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.cmp(&b),
        _ => class(a).cmp(&class(b)),
    }
}

impl PartialOrd for JsonbRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for JsonbRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        // Only the spelling of numbers can make equal values differ.
        self.bytes() == other.bytes() || self.cmp(other) == Ordering::Equal
    }
}

impl Eq for JsonbRef<'_> {}

impl Hash for JsonbRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for token in Walk::new(*self) {
            match token {
                Token::Array(array) => (ARRAY, array.len()).hash(state),
                Token::Object(object) => (OBJECT, object.len()).hash(state),
                Token::Name(name) => name.hash(state),
                Token::Scalar(value) => {
                    class(value).hash(state);
                    match value.value() {
                        Value::Number(number) => number.hash(state),
                        Value::String(string) => string.hash(state),
                        _ => {}
                    }
                }
                Token::Close => {}
            }
        }
    }
}

impl Ord for Jsonb {
    fn cmp(&self, other: &Self) -> Ordering {
        self.root().cmp(&other.root())
    }
}

impl PartialOrd for Jsonb {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Jsonb {
    fn eq(&self, other: &Self) -> bool {
        self.root() == other.root()
    }
}

impl Eq for Jsonb {}

impl Hash for Jsonb {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.root().hash(state);
    }
}
