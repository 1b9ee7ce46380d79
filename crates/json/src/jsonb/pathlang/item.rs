//! The items that a path runs over: values that lie in the document, and values that the path made.

use std::cmp::Ordering;
use std::ops::Range;

use numeric::Numeric;

use super::datetime::Datetime;
use super::error::PathError;
use crate::jsonb::{Builder, Jsonb, JsonbRef, Number, Value};

/// One item of a sequence.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// A value that lies in the document, in the variables or in the path.
    Stored(JsonbRef<'a>),
    /// A value inside one that was made: the one, and the bytes of it.
    Part(Jsonb, Range<usize>),
    /// A truth value that was made.
    Bool(bool),
    /// A number that was made.
    Number(Numeric),
    /// A string that was made.
    String(String),
    /// `null`, where something is unknown.
    Null,
    /// A date or a time.
    Datetime(Datetime),
}

/// An item, ready to be matched on.
pub(super) enum View<'s> {
    Null,
    Bool(bool),
    Number(AnyNumber<'s>),
    String(&'s str),
    /// An array or an object.
    Container,
    Datetime(&'s Datetime),
}

/// A number that is stored or that was made.
#[derive(Clone, Copy)]
pub(super) enum AnyNumber<'s> {
    Stored(Number<'s>),
    Made(&'s Numeric),
}

impl AnyNumber<'_> {
    pub fn to_numeric(self) -> Numeric {
        match self {
            AnyNumber::Stored(number) => number.to_numeric(),
            AnyNumber::Made(number) => number.clone(),
        }
    }

    pub fn cmp(self, other: AnyNumber<'_>) -> Ordering {
        match (self, other) {
            (AnyNumber::Stored(a), AnyNumber::Stored(b)) => a.cmp(&b),
            (AnyNumber::Made(a), AnyNumber::Made(b)) => a.cmp(b),
            _ => self.to_numeric().cmp(&other.to_numeric()),
        }
    }
}

impl<'a> Item<'a> {
    /// An item of a value that was made.
    pub(super) fn made(value: Jsonb) -> Item<'a> {
        let all = 0..value.bytes().len();
        Item::Part(value, all)
    }

    /// The item as JSON; a date or a time is a string.
    ///
    /// # Errors
    /// As [`Builder::finish`].
    pub fn to_jsonb(&self) -> Result<Jsonb, PathError> {
        if let Item::Stored(value) = self {
            return Ok(value.to_jsonb());
        }
        let mut builder = Builder::new();
        self.write_to(&mut builder);
        Ok(builder.finish()?)
    }

    /// Adds the item to a value that is being built.
    pub(super) fn write_to<'s>(&'s self, builder: &mut Builder<'s>) {
        match self {
            Item::Stored(value) => builder.value(*value),
            Item::Part(value, part) => builder.value(JsonbRef::new(&value.bytes()[part.clone()])),
            Item::Bool(value) => builder.bool(*value),
            Item::Number(number) => builder.number(number),
            Item::String(string) => builder.string(string),
            Item::Null => builder.null(),
            Item::Datetime(datetime) => builder.string(&datetime.text),
        };
    }

    /// The value of an item that has the binary form.
    fn stored(&self) -> Option<JsonbRef<'_>> {
        match self {
            Item::Stored(value) => Some(*value),
            Item::Part(value, part) => Some(JsonbRef::new(&value.bytes()[part.clone()])),
            _ => None,
        }
    }

    /// The array or object that it is, if it is one.
    pub(super) fn container(&self) -> Option<Container<'a, '_>> {
        let value = self.stored().map(JsonbRef::value)?;
        matches!(value, Value::Array(_) | Value::Object(_))
            .then_some(Container { item: self, value })
    }

    /// The array that it is, if it is one.
    pub(super) fn array(&self) -> Option<Container<'a, '_>> {
        self.container().filter(|container| matches!(container.value, Value::Array(_)))
    }

    /// The object that it is, if it is one.
    pub(super) fn object(&self) -> Option<Container<'a, '_>> {
        self.container().filter(|container| matches!(container.value, Value::Object(_)))
    }

    pub(super) fn view(&self) -> View<'_> {
        match self {
            Item::Stored(_) | Item::Part(..) => match self.stored().map(JsonbRef::value) {
                Some(Value::Bool(value)) => View::Bool(value),
                Some(Value::Number(number)) => View::Number(AnyNumber::Stored(number)),
                Some(Value::String(string)) => View::String(string),
                Some(Value::Array(_) | Value::Object(_)) => View::Container,
                Some(Value::Null) | None => View::Null,
            },
            Item::Bool(value) => View::Bool(*value),
            Item::Number(number) => View::Number(AnyNumber::Made(number)),
            Item::String(string) => View::String(string),
            Item::Null => View::Null,
            Item::Datetime(datetime) => View::Datetime(datetime),
        }
    }

    pub(super) fn number(&self) -> Option<Numeric> {
        match self.view() {
            View::Number(number) => Some(number.to_numeric()),
            _ => None,
        }
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self.view() {
            View::Null => "null",
            View::Bool(_) => "boolean",
            View::Number(_) => "number",
            View::String(_) => "string",
            View::Container => self.stored().map_or("null", JsonbRef::type_name),
            View::Datetime(datetime) => datetime.kind.name(),
        }
    }

    /// Where the bytes of the item begin in memory, to tell the values of one document apart.
    pub(super) fn address(&self) -> usize {
        self.stored().map_or(0, |value| value.bytes().as_ptr() as usize)
    }
}

/// An item that is an array or an object.
pub(super) struct Container<'a, 's> {
    item: &'s Item<'a>,
    value: Value<'s>,
}

impl<'a, 's> Container<'a, 's> {
    /// A value inside the container as an item that lives as long as the container's bytes do.
    fn part(&self, inner: JsonbRef<'s>) -> Item<'a> {
        // Where the inner value's bytes lie among those that the item has.
        let place = |outer: &[u8]| {
            let start = inner.bytes().as_ptr() as usize - outer.as_ptr() as usize;
            start..start + inner.bytes().len()
        };
        match self.item {
            Item::Part(value, _) => Item::Part(value.clone(), place(value.bytes())),
            Item::Stored(value) => {
                Item::Stored(JsonbRef::new(&value.bytes()[place(value.bytes())]))
            }
            _ => unreachable!("only what has the binary form is a container"),
        }
    }

    pub fn len(&self) -> usize {
        match self.value {
            Value::Array(array) => array.len(),
            Value::Object(object) => object.len(),
            _ => 0,
        }
    }

    /// The element or the value of the field at `position`, which is below the length.
    pub fn child(&self, position: usize) -> Item<'a> {
        match self.value {
            Value::Object(object) => self.part(object.value(position)),
            Value::Array(array) => array.get(position).map_or(Item::Null, |value| self.part(value)),
            _ => Item::Null,
        }
    }

    /// The value of the field called `name`.
    pub fn get(&self, name: &str) -> Option<Item<'a>> {
        match self.value {
            Value::Object(object) => object.get(name).map(|value| self.part(value)),
            _ => None,
        }
    }

    /// The name of the field at `position`, which is below the length.
    pub fn name(&self, position: usize) -> &'s str {
        match self.value {
            Value::Object(object) => object.name(position),
            _ => "",
        }
    }
}
