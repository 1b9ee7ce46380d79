//! The binary form: a value is one byte for its kind, and a payload whose length is known from
//! outside. So every value inside another is a whole value too.
//!
//! ```text
//!   tag  kind      payload
//!   00   null      -
//!   01   false     -
//!   02   true      -
//!   03   string    UTF-8, no NUL, nothing escaped
//!   04   number    ┐
//!   05   number    ├ see `number`
//!   06   number    ┘
//!   08   array     count, ends[count], elements
//!   0C   object    count, ends[2 · count], names, values
//!
//!   08 and 0C + 0, 1, 2: count and ends take 1, 2, 4 bytes each, little end first: as few as hold
//!   the count and the last end.
//! ```
//!
//! `ends` says where each element (each name, then each value) ends, in bytes from the first one;
//! it begins where the one before it ends. So element n is one look into the table, and a name is
//! found by binary search. Names stand in PostgreSQL's order: short ones first, then by bytes; no
//! two are the same. This is `{"b": [1, true], "a": "hi"}`:
//!
//! ```text
//!   0C  02  01 02 05 0C  61 62  03 68 69  08 02 02 03 04 01 02
//!   │   │   └──ends───┘  a  b   "  h  i   │  │  └ends┘ │    true
//!   │   count             names           │  count     INTEGER 1
//!   object                                array
//! ```
//!
//! Equal values have equal bytes, but for numbers that are spelled with different scales.
//!
//! # Invariants (checked by [`Jsonb::decode`])
//! * Every value fills its place exactly; there is at least one byte for each.
//! * Widths, numbers and counts are in their shortest form.
//! * Names ascend; names and strings are UTF-8 without NUL.
//!
//! Nothing here panics on bytes that are not so: it gives wrong values.

use std::str::FromStr;
use std::sync::Arc;

use super::build::Builder;
use super::check;
use super::error::JsonbError;
use super::lazy::{Change, Lazy, Source};
use super::number::Number;
use crate::tape::Kind;

pub(super) const NULL: u8 = 0x00;
pub(super) const FALSE: u8 = 0x01;
pub(super) const TRUE: u8 = 0x02;
pub(super) const STRING: u8 = 0x03;
pub(super) const INTEGER: u8 = 0x04;
pub(super) const DECIMAL: u8 = 0x05;
pub(super) const LONG: u8 = 0x06;
pub(super) const ARRAY: u8 = 0x08;
pub(super) const OBJECT: u8 = 0x0c;

/// The bits of a container's tag that say how wide its table is.
const WIDTH_BITS: u8 = 0x03;

/// Bytes of a value from which on it is not copied when it is finished.
const LARGE_BYTES: usize = 1 << 20;

/// Most bytes of the elements of one container, and of one string.
pub const BYTES_MAX: usize = (1 << 28) - 1;

/// A jsonb value: immutable, shared by its clones.
///
/// `==` and order are PostgreSQL's: numbers are the same where their values are.
#[derive(Clone)]
pub struct Jsonb(Held);

/// Two words, as few as [`Arc<[u8]>`] has: rows of values hold many of them.
#[derive(Clone)]
enum Held {
    Bytes(Arc<[u8]>),
    Other(Arc<Other>),
}

const _: () = assert!(size_of::<Jsonb>() == size_of::<Arc<[u8]>>());

enum Other {
    /// Bytes of which a copy would be dear: they stay where they were made.
    Large(Vec<u8>),
    Lazy(Lazy),
}

impl Jsonb {
    /// The JSON value that a text holds.
    ///
    /// # Errors
    /// [`JsonbError::Syntax`] where it holds none, [`JsonbError::TooDeep`],
    /// [`JsonbError::NumberOverflow`], and those for what is too large.
    pub fn parse(text: &str) -> Result<Jsonb, JsonbError> {
        Builder::parse(text)
    }

    /// The value of bytes from outside, after a proof that every invariant holds.
    ///
    /// # Errors
    /// [`JsonbError::Damaged`].
    pub fn decode(bytes: &[u8]) -> Result<Jsonb, JsonbError> {
        check::check(bytes)?;
        Ok(Jsonb::of_slice(bytes))
    }

    /// The value of bytes that are known to be good.
    pub(super) fn trusted(bytes: Vec<u8>) -> Jsonb {
        Jsonb(match bytes.len() < LARGE_BYTES {
            true => Held::Bytes(bytes.into()),
            false => Held::Other(Arc::new(Other::Large(bytes))),
        })
    }

    /// The same, of bytes that lie elsewhere.
    pub(super) fn of_slice(bytes: &[u8]) -> Jsonb {
        Jsonb(Held::Bytes(bytes.into()))
    }

    /// A value that lies in `source`, and is made when a caller needs the whole of it; `whole` is that value, if it is
    /// known.
    pub fn lazy(source: Arc<dyn Source>, whole: Option<Jsonb>) -> Jsonb {
        Lazy::new(source, whole).into()
    }

    /// A view of the whole value.
    #[inline]
    pub fn root(&self) -> JsonbRef<'_> {
        match &self.0 {
            Held::Bytes(bytes) => JsonbRef(BorrowedForm::Bytes(bytes)),
            Held::Other(other) => JsonbRef(BorrowedForm::Other(other)),
        }
    }

    /// The binary form.
    pub fn bytes(&self) -> &[u8] {
        self.root().bytes()
    }

    /// The changes that make this value of `before`, if it is lazy and was made of it: none if it is the same.
    pub fn changes_of(&self, before: &Jsonb) -> Option<&[Change]> {
        self.root().as_lazy()?.changes_of(before.root().as_lazy()?)
    }

    /// Bytes that the value holds in memory, for accounting.
    pub fn held_bytes(&self) -> usize {
        self.root().held_bytes()
    }

    /// True if the binary form of the whole value is in memory: not yet that of a lazy one.
    pub fn is_made(&self) -> bool {
        self.root().as_lazy().is_none_or(Lazy::is_made)
    }
}

impl From<Lazy> for Jsonb {
    fn from(lazy: Lazy) -> Jsonb {
        Jsonb(Held::Other(Arc::new(Other::Lazy(lazy))))
    }
}

impl FromStr for Jsonb {
    type Err = JsonbError;

    fn from_str(text: &str) -> Result<Jsonb, JsonbError> {
        Jsonb::parse(text)
    }
}

impl Default for Jsonb {
    /// `null`
    fn default() -> Jsonb {
        Jsonb::trusted(vec![NULL])
    }
}

impl std::fmt::Display for Jsonb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.root().fmt(f)
    }
}

impl std::fmt::Debug for Jsonb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.root().fmt(f)
    }
}

/// A jsonb value that lies somewhere, alone or inside another: cheap to copy.
#[derive(Clone, Copy)]
pub struct JsonbRef<'a>(BorrowedForm<'a>);

#[derive(Clone, Copy)]
enum BorrowedForm<'a> {
    Bytes(&'a [u8]),
    Other(&'a Arc<Other>),
}

/// A value, ready to be matched on.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `false` or `true`
    Bool(bool),
    /// A number.
    Number(Number<'a>),
    /// A string.
    String(&'a str),
    /// An array.
    Array(Array<'a>),
    /// An object.
    Object(Object<'a>),
}

impl<'a> JsonbRef<'a> {
    /// A view of bytes that passed [`Jsonb::decode`] or came from [`JsonbRef::bytes`]; others give
    /// values that mean nothing.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> JsonbRef<'a> {
        JsonbRef(BorrowedForm::Bytes(bytes))
    }

    /// The binary form.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        match self.0 {
            BorrowedForm::Bytes(bytes) => bytes,
            BorrowedForm::Other(other) => match &**other {
                Other::Large(bytes) => bytes,
                Other::Lazy(lazy) => lazy.bytes(),
            },
        }
    }

    /// The value as one of its own.
    pub fn to_jsonb(self) -> Jsonb {
        match self.0 {
            BorrowedForm::Bytes(bytes) => Jsonb::of_slice(bytes),
            BorrowedForm::Other(other) => Jsonb(Held::Other(Arc::clone(other))),
        }
    }

    /// The same, made if it is lazy.
    pub(super) fn to_whole(self) -> Jsonb {
        Jsonb::of_slice(self.bytes())
    }

    /// The lazy value that this is.
    #[inline]
    pub(super) fn as_lazy(self) -> Option<&'a Lazy> {
        match self.0 {
            BorrowedForm::Bytes(_) => None,
            BorrowedForm::Other(other) => match &**other {
                Other::Large(_) => None,
                Other::Lazy(lazy) => Some(lazy),
            },
        }
    }

    /// Bytes that the value holds in memory, for accounting. A lazy value is not made for that.
    pub fn held_bytes(self) -> usize {
        match self.as_lazy() {
            Some(lazy) => lazy.held_bytes(),
            None => self.bytes().len(),
        }
    }

    /// The tag, 0 for no bytes at all.
    #[inline]
    pub(super) fn tag(self) -> u8 {
        self.bytes().first().copied().unwrap_or(NULL)
    }

    /// The bytes after the tag.
    #[inline]
    pub(super) fn payload(self) -> &'a [u8] {
        self.bytes().get(1..).unwrap_or(&[])
    }

    /// Its kind.
    #[inline]
    pub fn kind(self) -> Kind {
        if let Some(lazy) = self.as_lazy() {
            return lazy.kind();
        }
        match self.tag() {
            FALSE => Kind::False,
            TRUE => Kind::True,
            STRING => Kind::String,
            INTEGER..=LONG => Kind::Number,
            tag if tag & !WIDTH_BITS == ARRAY => Kind::Array,
            tag if tag & !WIDTH_BITS == OBJECT => Kind::Object,
            _ => Kind::Null,
        }
    }

    /// The value, with all that belongs to it.
    #[inline]
    pub fn value(self) -> Value<'a> {
        match self.kind() {
            Kind::Null => Value::Null,
            Kind::False => Value::Bool(false),
            Kind::True => Value::Bool(true),
            Kind::Number => Value::Number(Number::new(self.tag(), self.payload())),
            Kind::String => Value::String(text(self.payload())),
            Kind::Array => Value::Array(Array(Slots::new(self, 1))),
            Kind::Object => Value::Object(Object(Slots::new(self, 2))),
        }
    }

    /// The string it holds, if it is one.
    pub fn as_str(self) -> Option<&'a str> {
        (self.tag() == STRING).then(|| text(self.payload()))
    }

    /// The number it holds, if it is one.
    pub fn as_number(self) -> Option<Number<'a>> {
        match self.value() {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The array it is, if it is one.
    pub fn as_array(self) -> Option<Array<'a>> {
        match self.value() {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The object it is, if it is one.
    pub fn as_object(self) -> Option<Object<'a>> {
        match self.value() {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }
}

/// UTF-8 that has been checked before.
#[inline]
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("")
}

/// The table and the body that arrays and objects share: slots, each from the end of the one
/// before it to its own.
#[derive(Clone, Copy)]
pub(super) struct Slots<'a> {
    /// Elements, or fields.
    pub count: usize,
    pub width: Width,
    pub ends: &'a [u8],
    pub body: &'a [u8],
}

impl<'a> Slots<'a> {
    /// The slots of a container that has `each` of them for each of its count.
    #[inline]
    fn new(value: JsonbRef<'a>, each: usize) -> Slots<'a> {
        let width = Width(value.tag() & WIDTH_BITS);
        let (count, rest) = match value.payload().split_at_checked(width.bytes()) {
            Some((count, rest)) => (width.read(count, 0), rest),
            None => (0, &[][..]),
        };
        match rest.split_at_checked(count * each * width.bytes()) {
            Some((ends, body)) => Slots { count, width, ends, body },
            None => Slots { count: 0, width, ends: &[], body: &[] },
        }
    }

    /// Where a slot begins: where the one before it ends.
    #[inline]
    pub fn start(&self, slot: usize) -> usize {
        if slot == 0 { 0 } else { self.end(slot - 1) }
    }

    /// Where a slot ends.
    #[inline]
    pub fn end(&self, slot: usize) -> usize {
        self.width.read(self.ends, slot)
    }

    #[inline]
    fn get(&self, slot: usize) -> &'a [u8] {
        self.body.get(self.start(slot)..self.end(slot)).unwrap_or(&[])
    }
}

/// How many bytes each number of a table takes: 1 << self.0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Width(u8);

impl Width {
    /// The narrowest for numbers up to `max`, which is at most 2^32 - 1.
    pub(super) fn of(max: usize) -> Width {
        Width(match max {
            0..=0xff => 0,
            0x100..=0xffff => 1,
            _ => 2,
        })
    }

    #[inline]
    pub(super) fn bytes(self) -> usize {
        1 << self.0
    }

    /// The number in place `at` of a table; the largest there is where the table is shorter.
    #[inline]
    fn read(self, table: &[u8], at: usize) -> usize {
        let number = match self.0 {
            0 => table.get(at).map(|&byte| byte as usize),
            1 => table.get(2 * at..2 * at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]) as usize),
            _ => table
                .get(4 * at..4 * at + 4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize),
        };
        number.unwrap_or(usize::MAX)
    }

    /// Adds to the numbers of a table.
    pub(super) fn shift(self, table: &mut [u8], by: isize) {
        match self.0 {
            0 => table.iter_mut().for_each(|end| *end = end.wrapping_add_signed(by as i8)),
            1 => table.as_chunks_mut().0.iter_mut().for_each(|end| {
                *end = u16::from_le_bytes(*end).wrapping_add_signed(by as i16).to_le_bytes();
            }),
            _ => table.as_chunks_mut().0.iter_mut().for_each(|end| {
                *end = u32::from_le_bytes(*end).wrapping_add_signed(by as i32).to_le_bytes();
            }),
        }
    }

    #[inline]
    pub(super) fn write(self, number: usize, out: &mut Vec<u8>) {
        match self.0 {
            0 => out.push(number as u8),
            1 => out.extend_from_slice(&(number as u16).to_le_bytes()),
            _ => out.extend_from_slice(&(number as u32).to_le_bytes()),
        }
    }

    /// The tag of a container with a table of this width.
    pub(super) fn tag(self, container: u8) -> u8 {
        container | self.0
    }
}

/// An array of a jsonb value.
#[derive(Clone, Copy)]
pub struct Array<'a>(pub(super) Slots<'a>);

impl<'a> Array<'a> {
    /// How many elements it has.
    #[inline]
    pub fn len(self) -> usize {
        self.0.count
    }

    /// True if it has none.
    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// The element at `position`, from 0, if there is one.
    #[inline]
    pub fn get(self, position: usize) -> Option<JsonbRef<'a>> {
        (position < self.0.count).then(|| JsonbRef::new(self.0.get(position)))
    }

    /// The element at `position`, from 0, or from -1 backwards from the end, if there is one.
    pub fn at(self, position: i64) -> Option<JsonbRef<'a>> {
        let len = self.0.count as i64;
        let position = if position < 0 { len.checked_add(position)? } else { position };
        usize::try_from(position).ok().and_then(|position| self.get(position))
    }

    /// The elements in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = JsonbRef<'a>> + ExactSizeIterator {
        (0..self.0.count).map(move |position| JsonbRef::new(self.0.get(position)))
    }
}

/// An object of a jsonb value; fields are numbered in the order of their names.
#[derive(Clone, Copy)]
pub struct Object<'a>(pub(super) Slots<'a>);

impl<'a> Object<'a> {
    /// How many fields it has.
    #[inline]
    pub fn len(self) -> usize {
        self.0.count
    }

    /// True if it has none.
    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// True if [`write_object`](super::write_object) makes these very bytes of the fields.
    pub fn is_as_written(self) -> bool {
        let Slots { count, width, ends, body } = self.0;
        if ends.len() != 2 * count * width.bytes() || width != Width::of(body.len().max(count)) {
            return false;
        }
        let (mut start, mut names_end, mut before) = (0, 0, None);
        for slot in 0..2 * count {
            let end = self.0.end(slot);
            let Some(bytes) = body.get(start..end) else { return false };
            if slot < count {
                // Short names come first.
                let name = (bytes.len(), bytes);
                if before.is_some_and(|before| before >= name) {
                    return false;
                }
                (before, names_end) = (Some(name), end);
            }
            start = end;
        }
        let names = std::str::from_utf8(&body[..names_end]);
        let is_cut = |names: &str| (0..count).all(|slot| names.is_char_boundary(self.0.end(slot)));
        start == body.len() && names.is_ok_and(is_cut)
    }

    /// The value of the field called `name`, if there is one.
    #[inline]
    pub fn get(self, name: &str) -> Option<JsonbRef<'a>> {
        self.find(name.as_bytes()).map(|field| self.value(field))
    }

    /// The number of the field called `name`, if there is one.
    #[inline]
    pub(super) fn find(self, name: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.0.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let other = self.0.get(middle);
            match other.len().cmp(&name.len()).then_with(|| other.cmp(name)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The name of a field below [`Object::len`], as bytes.
    #[inline]
    pub fn name_bytes(self, field: usize) -> &'a [u8] {
        self.0.get(field)
    }

    /// The name of a field below [`Object::len`].
    pub fn name(self, field: usize) -> &'a str {
        text(self.0.get(field))
    }

    /// The value of a field below [`Object::len`].
    #[inline]
    pub fn value(self, field: usize) -> JsonbRef<'a> {
        JsonbRef::new(self.0.get(self.0.count + field))
    }

    /// The fields in order: name and value.
    pub fn iter(
        self,
    ) -> impl DoubleEndedIterator<Item = (&'a str, JsonbRef<'a>)> + ExactSizeIterator {
        (0..self.0.count).map(move |field| (self.name(field), self.value(field)))
    }

    /// The names in order.
    pub fn names(self) -> impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator {
        (0..self.0.count).map(move |field| self.name(field))
    }
}
