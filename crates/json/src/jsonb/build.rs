//! Making values: from text, from parts of other values, from programs.
//!
//! Parts are noted as they come, and the form is written once, at the end, when every size is
//! known. So nothing is moved that was written, however deep containers lie in each other, and a
//! value that is taken over from another one is not copied before that.
//!
//! ```text
//!   {"b": [1, true], "a": "hi"}
//!
//!   pending   b:[…]  a:"hi"                        values whose container is still open
//!      │ close: sort by name, the last of equal names wins, add up the bytes
//!      v
//!   settled   1  true │ a:"hi"  b:[0..2]           children of one container lie together
//!   heap      …the bytes of scalars, and names…
//!      │ fold: once there are many settled pieces, a closed container goes to the heap in its binary form
//!      │ finish
//!      v
//!   0C 02 01 02 05 0C 61 62 03 68 69 08 02 02 03 04 01 02
//! ```
//!
//! # Invariants
//! * The first error sticks, and `finish` returns it.
//! * Time and memory are linear in what is given, but for the sorting of names: a fold moves at most
//!   [`FOLD_BYTES`] for each piece that it frees.

use numeric::Numeric;

use interrupt::Pace;

use super::error::JsonbError;
use super::form::{ARRAY, BYTES_MAX, FALSE, Jsonb, JsonbRef, NULL, OBJECT, STRING, TRUE, Width};
use super::{flat, number};
use crate::error::JsonError;
use crate::parse::{Limits, Sink, Stopped, parse_slice};
use crate::tape::Kind;
use crate::text;
use crate::written::{self, SyntaxError};

/// Bytes that the heap holds at most; one more addition still has an offset of 32 bits.
const HEAP_BYTES_MAX: usize = 1 << 31;

/// The most bytes of one value that count as work between two checks.
const COUNTED_BYTES: u32 = 1 << 16;

/// Settled pieces from which on closed containers are folded. A piece takes 24 bytes, and most values fewer.
const SETTLED_PIECES: usize = if cfg!(test) { 64 } else { 1 << 16 };

/// Bytes that a fold may move for each piece that it frees.
const FOLD_BYTES: usize = 64;

/// A part of the heap.
#[derive(Clone, Copy, Default)]
struct Span {
    at: u32,
    len: u32,
}

/// A finished value.
#[derive(Clone, Copy)]
struct Piece {
    /// Its name, where it is a field.
    name: Span,
    content: Content,
    /// Length of its binary form.
    bytes: u32,
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Content {
    /// The heap, where it lies in its binary form.
    Heap(u32),
    /// Another value: its number among `taken`.
    Taken(u32),
    /// `count` settled pieces from number `first` on.
    Container { first: u32, count: u32, width: Width, is_object: bool },
}

/// A container that is open.
struct Open {
    is_object: bool,
    name: Span,
    /// Its first child among the pending pieces.
    first: usize,
    /// Lengths when it began: what came since belongs to it.
    settled: usize,
    heap: usize,
    taken: usize,
}

/// Makes a [`Jsonb`] from its parts in order.
///
/// A value too many, a field without a name or a container left open are mistakes of the caller
/// and panic.
///
/// ```
/// let mut builder = json::jsonb::Builder::new();
/// builder.object(|o| {
///     o.name("tags").array(|a| {
///         a.string("x").int(2);
///     });
///     o.name("id").int(7);
/// });
/// assert_eq!(builder.finish().unwrap().to_string(), r#"{"id": 7, "tags": ["x", 2]}"#);
/// ```
#[derive(Default)]
pub struct Builder<'a> {
    pending: Vec<Piece>,
    settled: Vec<Piece>,
    open: Vec<Open>,
    heap: Vec<u8>,
    taken: Vec<&'a [u8]>,
    /// Room for a container that is folded.
    folded: Vec<u8>,
    /// The name that waits for its value.
    name: Option<Span>,
    error: Option<JsonbError>,
    pace: Pace,
}

impl<'a> Builder<'a> {
    /// An empty builder.
    pub fn new() -> Builder<'a> {
        Builder::default()
    }

    /// An empty builder with room for so many values and bytes of names and scalars.
    pub fn with_capacity(values: usize, bytes: usize) -> Builder<'a> {
        Builder {
            pending: Vec::with_capacity(values.min(64)),
            settled: Vec::with_capacity(values),
            heap: Vec::with_capacity(bytes),
            ..Builder::default()
        }
    }

    /// The value of a text.
    pub(super) fn parse(text: &str) -> Result<Jsonb, JsonbError> {
        if let Some(integer) = short_integer(text.as_bytes()) {
            return Ok(Jsonb::int(integer));
        }
        if let Some(object) = flat::parse(text) {
            return Ok(object);
        }
        Builder::parse_any(text)
    }

    /// As [`Builder::parse`], whatever the text.
    fn parse_any(text: &str) -> Result<Jsonb, JsonbError> {
        let mut builder = Builder::new();
        builder.heap.reserve(text.len() + 2);
        builder.pending.reserve((text.len() / 32).min(SETTLED_PIECES));
        builder.settled.reserve((text.len() / 16).min(2 * SETTLED_PIECES));
        // Lengths are limited by the form itself.
        let limits = Limits { name_bytes: BYTES_MAX, ..Limits::default() };
        match parse_slice(text.as_bytes(), &limits, &mut builder) {
            Ok(()) => builder.finish(),
            Err(error) => Err(builder.refusal(text, error)),
        }
    }

    /// Why a text was not taken.
    #[cold]
    fn refusal(self, text: &str, error: JsonError) -> JsonbError {
        match (self.error, error) {
            (Some(error), _) => error,
            (None, JsonError::Limit { .. }) => JsonbError::TooDeep,
            (None, _) => match written::check_escapes(text) {
                Err(error) => error.into(),
                Ok(()) => unreachable!("two parsers of one grammar do not agree on {text:?}"),
            },
        }
    }

    /// The finished value. Panics unless exactly one was given.
    ///
    /// # Errors
    /// [`JsonbError::StringTooLong`], [`JsonbError::ArrayTooLarge`],
    /// [`JsonbError::ObjectTooLarge`].
    pub fn finish(self) -> Result<Jsonb, JsonbError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        assert!(self.pending.len() == 1 && self.open.is_empty(), "there is exactly one value");
        Ok(Jsonb::trusted(self.written()?))
    }

    /// Names the field whose value comes next.
    pub fn name(&mut self, name: &str) -> &mut Self {
        self.name_bytes(name.as_bytes())
    }

    /// Names the field whose value comes next, in UTF-8.
    pub(super) fn name_bytes(&mut self, name: &[u8]) -> &mut Self {
        let at = self.heap.len();
        self.push_text(name);
        self.name_from(at);
        self
    }

    /// Takes the end of the heap as the name of the next field.
    fn name_from(&mut self, at: usize) {
        let len = self.kept_from(at);
        self.name = Some(Span { at: short(at), len: short(len) });
    }

    /// The length of the heap from `at` on. If it is too long, notes the error and cuts it off.
    #[inline]
    fn kept_from(&mut self, at: usize) -> usize {
        let len = self.heap.len() - at;
        if len > BYTES_MAX + 1 || self.heap.len() > HEAP_BYTES_MAX {
            self.fail(JsonbError::StringTooLong);
            self.heap.truncate(at);
        }
        self.heap.len() - at
    }

    /// Adds `null`.
    pub fn null(&mut self) -> &mut Self {
        self.literal(NULL)
    }

    /// Adds `true` or `false`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.literal(if value { TRUE } else { FALSE })
    }

    fn literal(&mut self, tag: u8) -> &mut Self {
        let at = self.heap.len();
        self.heap.push(tag);
        self.add_from(at)
    }

    /// Adds an integer.
    pub fn int(&mut self, value: i64) -> &mut Self {
        let at = self.heap.len();
        number::push_i64(value, &mut self.heap);
        self.add_from(at)
    }

    /// Adds a number; NaN and the infinities, which JSON cannot say, become strings.
    pub fn number(&mut self, value: &Numeric) -> &mut Self {
        let at = self.heap.len();
        if number::push_numeric(value, &mut self.heap) {
            self.add_from(at)
        } else {
            self.string(&value.to_string())
        }
    }

    /// Adds a string; one with a NUL is an error.
    pub fn string(&mut self, value: &str) -> &mut Self {
        let at = self.heap.len();
        self.heap.push(STRING);
        self.push_text(value.as_bytes());
        self.add_from(at)
    }

    /// Appends text to the heap.
    fn push_text(&mut self, text: &[u8]) {
        if memchr::memchr(0, text).is_some() {
            self.fail(SyntaxError::nul().into());
        } else {
            self.heap.extend_from_slice(text);
        }
    }

    /// Adds a value with all that is in it.
    pub fn value(&mut self, value: JsonbRef<'a>) -> &mut Self {
        if let Err(interrupted) = self.pace.step(32) {
            self.fail(interrupted.into());
        }
        let bytes = value.bytes();
        self.taken.push(bytes);
        self.add(Content::Taken(short(self.taken.len() - 1)), bytes.len())
    }

    /// Adds an array; `fill` adds the elements.
    pub fn array(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.open_array();
        fill(self);
        self.close_container();
        self
    }

    /// Adds an object; `fill` adds the fields, each after a call of [`Builder::name`]. Where a name
    /// is given twice the last value wins.
    pub fn object(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.open_object();
        fill(self);
        self.close_container();
        self
    }

    /// Begins an array.
    pub(super) fn open_array(&mut self) {
        self.open_container(false);
    }

    /// Begins an object.
    pub(super) fn open_object(&mut self) {
        self.open_container(true);
    }

    fn open_container(&mut self, is_object: bool) {
        let name = self.take_name();
        self.open.push(Open {
            is_object,
            name,
            first: self.pending.len(),
            settled: self.settled.len(),
            heap: self.heap.len(),
            taken: self.taken.len(),
        });
    }

    /// Ends the innermost open container.
    pub(super) fn close_container(&mut self) {
        let open = self.open.pop().expect("a container is open");
        let Open { is_object, name, first, .. } = open;
        assert!(self.name.is_none(), "a field without a value");
        if is_object {
            self.settle_names(first);
        }
        let children = &self.pending[first..];
        let count = children.len();
        let slots = if is_object { 2 * count } else { count };
        let body: usize =
            children.iter().map(|piece| piece.name.len as usize + piece.bytes as usize).sum();
        if body > BYTES_MAX {
            let (array, object) = (JsonbError::ArrayTooLarge, JsonbError::ObjectTooLarge);
            self.fail(if is_object { object } else { array });
        }
        let width = Width::of(body.max(count));
        let settled = short(self.settled.len());
        self.settled.extend_from_slice(&self.pending[first..]);
        self.pending.truncate(first);
        let content = Content::Container { first: settled, count: short(count), width, is_object };
        // Beyond the limit it does not matter any more how long it is.
        let bytes = 1 + (1 + slots) * width.bytes() + body;
        let mut piece = Piece { name, content, bytes: bytes.try_into().unwrap_or(u32::MAX) };
        if self.settled.len() >= SETTLED_PIECES {
            self.fold(&mut piece, &open);
        }
        self.pending.push(piece);
    }

    /// Writes a container that has just closed to the heap in its binary form, in the place of its parts, where that
    /// frees enough pieces.
    fn fold(&mut self, piece: &mut Piece, open: &Open) {
        let freed = self.settled.len() - open.settled;
        let is_worth_it = piece.bytes as usize <= freed * FOLD_BYTES;
        if !is_worth_it || self.taken.len() > open.taken || self.error.is_some() {
            return;
        }
        let mut folded = std::mem::take(&mut self.folded);
        match self.write_piece(piece, &mut folded) {
            Ok(()) => {
                self.settled.truncate(open.settled);
                self.heap.truncate(open.heap);
                piece.content = Content::Heap(short(open.heap));
                self.heap.extend_from_slice(&folded);
            }
            Err(error) => self.fail(error),
        }
        folded.clear();
        self.folded = folded;
    }

    /// Sorts the pending fields from number `first` on by name, the last of equal names only.
    fn settle_names(&mut self, first: usize) {
        let heap = &self.heap;
        let name = |piece: &Piece| &heap[piece.name.at as usize..][..piece.name.len as usize];
        let order =
            |a: &Piece, b: &Piece| a.name.len.cmp(&b.name.len).then_with(|| name(a).cmp(name(b)));
        let fields = &mut self.pending[first..];
        if fields.windows(2).all(|pair| order(&pair[0], &pair[1]).is_lt()) {
            return;
        }
        fields.sort_by(order);
        let mut kept = first;
        for at in first..self.pending.len() {
            let (field, next) = (self.pending[at], self.pending.get(at + 1));
            if next.is_none_or(|next| order(&field, next).is_ne()) {
                self.pending[kept] = field;
                kept += 1;
            }
        }
        self.pending.truncate(kept);
    }

    /// Adds the end of the heap as a value.
    fn add_from(&mut self, at: usize) -> &mut Self {
        let bytes = self.kept_from(at);
        self.add(Content::Heap(short(at)), bytes)
    }

    #[inline]
    fn add(&mut self, content: Content, bytes: usize) -> &mut Self {
        let name = self.take_name();
        self.pending.push(Piece { name, content, bytes: short(bytes) });
        self
    }

    #[inline]
    fn take_name(&mut self) -> Span {
        let name = self.name.take();
        let in_object = self.open.last().is_some_and(|open| open.is_object);
        assert_eq!(in_object, name.is_some(), "fields have names and elements have none");
        name.unwrap_or_default()
    }

    #[cold]
    fn fail(&mut self, error: JsonbError) {
        self.error.get_or_insert(error);
    }

    /// The binary form of the one pending piece.
    fn written(self) -> Result<Vec<u8>, JsonbError> {
        let root = &self.pending[0];
        if matches!(root.content, Content::Heap(0)) && self.heap.len() == root.bytes as usize {
            return Ok(self.heap);
        }
        let mut out = Vec::with_capacity(root.bytes as usize);
        self.write_piece(root, &mut out)?;
        Ok(out)
    }

    /// Appends the binary form of a piece.
    fn write_piece(&self, piece: &Piece, out: &mut Vec<u8>) -> Result<(), JsonbError> {
        let (mut pace, from) = (Pace::new(), out.len());
        // Containers that are open: their children to come.
        let mut open = vec![std::slice::from_ref(piece).iter()];
        while let Some(children) = open.last_mut() {
            let Some(piece) = children.next() else {
                open.pop();
                continue;
            };
            pace.step(8 + piece.bytes.min(COUNTED_BYTES) as usize)?;
            match piece.content {
                Content::Heap(at) => {
                    out.extend_from_slice(&self.heap[at as usize..][..piece.bytes as usize]);
                }
                Content::Taken(number) => interrupt::append(out, self.taken[number as usize])?,
                Content::Container { first, count, width, is_object } => {
                    let children = &self.settled[first as usize..][..count as usize];
                    self.write_head(children, width, is_object, out)?;
                    open.push(children.iter());
                }
            }
        }
        debug_assert_eq!(out.len() - from, piece.bytes as usize, "sizes were added up");
        Ok(())
    }

    /// Writes a container up to its first value.
    fn write_head(
        &self,
        children: &[Piece],
        width: Width,
        is_object: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), JsonbError> {
        let mut pace = Pace::new();
        out.push(width.tag(if is_object { OBJECT } else { ARRAY }));
        width.write(children.len(), out);
        let mut end = 0;
        if is_object {
            for piece in children {
                pace.step(8)?;
                end += piece.name.len as usize;
                width.write(end, out);
            }
        }
        for piece in children {
            pace.step(8)?;
            end += piece.bytes as usize;
            width.write(end, out);
        }
        if is_object {
            for Piece { name, .. } in children {
                pace.step(8 + name.len as usize)?;
                out.extend_from_slice(&self.heap[name.at as usize..][..name.len as usize]);
            }
        }
        Ok(())
    }

    /// Appends the string that a canonical text stands for; false if it has a NUL.
    #[inline]
    fn push_unescaped(&mut self, escaped: &[u8]) -> bool {
        // Most strings are too short for a faster search to begin.
        if !escaped.contains(&b'\\') {
            self.heap.extend_from_slice(escaped);
            return true;
        }
        let string = text::unescape(escaped);
        self.heap.extend_from_slice(string.as_bytes());
        memchr::memchr(0, string.as_bytes()).is_none()
    }
}

/// The binary form of a scalar, from its canonical text; `None` if there is none.
pub(super) fn scalar(kind: Kind, text: &[u8]) -> Option<Vec<u8>> {
    let mut builder = Builder::new();
    builder.heap.reserve(text.len() + 2);
    Sink::scalar(&mut builder, kind, text).ok()?;
    builder.error.is_none().then_some(builder.heap)
}

impl Jsonb {
    /// `true` or `false`.
    pub fn bool(value: bool) -> Jsonb {
        Jsonb::trusted(vec![if value { TRUE } else { FALSE }])
    }

    /// An integer.
    pub fn int(value: i64) -> Jsonb {
        let mut bytes = Vec::new();
        number::push_i64(value, &mut bytes);
        Jsonb::trusted(bytes)
    }

    /// A number; NaN and the infinities, which JSON cannot say, become strings.
    pub fn number(value: &Numeric) -> Jsonb {
        let mut builder = Builder::new();
        builder.number(value);
        builder.finish().unwrap_or_default()
    }

    /// A string.
    ///
    /// # Errors
    /// [`JsonbError::StringTooLong`], and [`JsonbError::Syntax`] for one with a NUL.
    pub fn string(value: &str) -> Result<Jsonb, JsonbError> {
        let mut builder = Builder::new();
        builder.string(value);
        builder.finish()
    }
}

impl Sink for Builder<'_> {
    fn name(&mut self, text: &[u8]) -> Result<(), Stopped> {
        let at = self.heap.len();
        if !self.push_unescaped(text) {
            return Err(Stopped);
        }
        self.name_from(at);
        Ok(())
    }

    fn scalar(&mut self, kind: Kind, text: &[u8]) -> Result<(), Stopped> {
        let at = self.heap.len();
        if let Err(interrupted) = self.pace.step(text.len() + 16) {
            self.fail(interrupted.into());
            return Err(Stopped);
        }
        match kind {
            Kind::String => {
                self.heap.push(STRING);
                if !self.push_unescaped(text) {
                    return Err(Stopped);
                }
            }
            Kind::Number => {
                if let Err(error) = number::push_text(text, &mut self.heap) {
                    self.fail(error);
                    return Err(Stopped);
                }
            }
            Kind::True => self.heap.push(TRUE),
            Kind::False => self.heap.push(FALSE),
            _ => self.heap.push(NULL),
        }
        self.add_from(at);
        Ok(())
    }

    fn open(&mut self, kind: Kind) -> Result<(), Stopped> {
        if let Err(interrupted) = self.pace.step(32) {
            self.fail(interrupted.into());
            return Err(Stopped);
        }
        self.open_container(kind == Kind::Object);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Stopped> {
        self.close_container();
        Ok(())
    }
}

/// The integer of a text that is nothing but its digits, for values that come one by one.
fn short_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && digits.len() <= 18;
    if !is_plain || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some(if digits.len() < text.len() { -value } else { value })
}

/// A position or a length as pieces keep it.
fn short(number: usize) -> u32 {
    u32::try_from(number).expect("heap and values stay below 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects of scalars are read in a way of their own, which makes the same bytes of them, or leaves them to the way
    /// for all texts.
    #[test]
    fn flat_objects_are_read_like_all_others() {
        const PARTS: [&str; 22] = [
            "{",
            "}",
            "{\"a\": ",
            "\"a\":",
            "\"bb\": ",
            "\"ab\": ",
            "\"abcdefgh1\": ",
            "\"abcdefgh0\": ",
            "\"\": ",
            "\"é\": ",
            "\"x\"",
            "\"\"",
            "\"\\u0041\"",
            "1",
            "-0.50",
            "1e3",
            "true",
            "null",
            "false",
            ",",
            " , ",
            "[1]",
        ];
        let mut state = 0x5eed_u64;
        let mut below = |most: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % most
        };
        let mut flat = 0;
        for _ in 0..40_000 {
            let mut text = String::from("{");
            for at in 0..below(6) {
                let field = [PARTS[3 + below(7)], PARTS[10 + below(9)]].concat();
                text.push_str(if at > 0 { ", " } else { "" });
                text.push_str(&field);
            }
            text.push('}');
            if below(4) == 0 {
                let place = below(text.len() + 1);
                if text.is_char_boundary(place) {
                    text.insert_str(place, PARTS[below(PARTS.len())]);
                }
            }
            let any = Builder::parse_any(&text).map(|value| value.bytes().to_vec());
            let Some(value) = flat::parse(&text) else { continue };
            flat += 1;
            assert_eq!(Some(value.bytes()), any.as_deref().ok(), "{text}");
            assert!(
                value.root().as_object().is_some_and(crate::jsonb::Object::is_as_written),
                "{text}"
            );
        }
        assert!(flat > 1_000, "{flat}");
    }

    /// An object says whether its bytes are those that are made of its fields.
    #[test]
    fn objects_know_whether_they_are_as_written() {
        let value =
            Jsonb::parse(r#"{"b": [1, true], "a": "hi", "long name": {}}"#).expect("an object");
        let fields: Vec<_> = value.root().as_object().expect("an object").iter().collect();
        let mut again = Vec::new();
        crate::jsonb::write_object(&fields, &mut again);
        assert_eq!(again, value.bytes());
        for at in 1..again.len() {
            let mut changed = again.clone();
            changed[at] ^= 1;
            let Some(object) = JsonbRef::new(&changed).as_object() else { continue };
            let fields: Vec<_> = object.iter().collect();
            let mut remade = Vec::new();
            crate::jsonb::write_object(&fields, &mut remade);
            // The names of a damaged object may come in another order, in which nothing would look for them.
            assert!(!object.is_as_written() || remade == changed, "byte {at}");
        }
    }
}
