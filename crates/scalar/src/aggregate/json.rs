//! Aggregates that make JSON of their rows, as text and as `jsonb`.
//!
//! ```text
//!   json_agg(x)             [1, null, 3]              arrays and records on lines of their own
//!   json_object_agg(k, v)   { "a" : 1, "b" : 2 }
//!   jsonb_agg(x)            [1, null, 3]
//! ```
//!
//! `_strict` leaves out rows whose value is NULL, and `_unique` refuses a name that occurs again;
//! where nothing is refused, `jsonb` keeps the last of equal names and `json` all of them.

use std::collections::HashSet;

use ::json::jsonb::{Builder, Jsonb, JsonbError};
use ::json::text;
use types::bounded::TextBuilder;
use types::{Datum, DatumRef, Error, Result, SqlState};

use crate::aggregate::{Accumulator, Kind, aggregates};
use crate::function::{Call, Function, Output};
use crate::json::convert::{Form, write_string};

/// The JSON form of an argument.
fn form<'a>(call: &Call<'_>, args: &[DatumRef<'a>], at: usize) -> Form<'a> {
    Form::of(args[at], call.args[at], &call.context.types)
}

/// A text between two others.
fn between(open: &str, text: &TextBuilder, close: &str) -> Result<TextBuilder> {
    let mut out = TextBuilder::with_capacity(text.get().len() + open.len() + close.len());
    out.push(open)?;
    out.push(text.get())?;
    out.push(close)?;
    Ok(out)
}

/// The names of fields, none of which may occur again.
#[derive(Default)]
struct Names {
    names: HashSet<String>,
    heap_bytes: usize,
}

impl Names {
    /// False if the name is there already.
    fn insert(&mut self, name: &str) -> bool {
        self.heap_bytes += name.len();
        self.names.insert(name.to_owned())
    }

    fn held_bytes(&self) -> usize {
        self.names.capacity() * (size_of::<String>() + 1) + self.heap_bytes
    }
}

/// The values of an array as text, each behind its comma.
#[derive(Default)]
struct TextArray {
    text: TextBuilder,
    strict: bool,
    /// True as soon as there was a row, even one that was left out.
    begun: bool,
}

impl Accumulator for TextArray {
    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        self.begun = true;
        if self.strict && args[0].is_null() {
            return Ok(());
        }
        let form = form(call, args, 0);
        if !self.text.get().is_empty() {
            self.text.push(if form.is_composed() { ", \n " } else { ", " })?;
        }
        form.write(false, &call.context.types, &mut self.text)
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.text.held_bytes()
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        self.begun.then(|| between("[", &self.text, "]")).transpose()?.put()
    }
}

/// The fields of an object as text.
#[derive(Default)]
struct TextObject {
    text: TextBuilder,
    strict: bool,
    /// The names so far, where none may occur again.
    seen: Option<Names>,
    begun: bool,
}

impl TextObject {
    fn unique() -> Self {
        Self { seen: Some(Names::default()), ..Self::default() }
    }
}

impl Accumulator for TextObject {
    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        self.begun = true;
        let name = form(call, args, 0).into_name()?.ok_or(JsonbError::NullKey)?;
        // A name occurs again even where a row with it was left out.
        if let Some(seen) = &mut self.seen
            && !seen.insert(&name)
        {
            return Err(Error::new(
                SqlState::DUPLICATE_JSON_OBJECT_KEY_VALUE,
                format!("duplicate JSON object key value: {}", text::quote(&name)),
            ));
        }
        if self.strict && args[1].is_null() {
            return Ok(());
        }
        if !self.text.get().is_empty() {
            self.text.push(", ")?;
        }
        write_string(&name, &mut self.text)?;
        self.text.push(" : ")?;
        form(call, args, 1).write(false, &call.context.types, &mut self.text)
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.text.held_bytes() + self.seen.as_ref().map_or(0, Names::held_bytes)
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        self.begun.then(|| between("{ ", &self.text, " }")).transpose()?.put()
    }
}

/// The values of an array.
#[derive(Default)]
struct ValueArray {
    values: Vec<Jsonb>,
    /// The bytes of the values on the heap.
    heap_bytes: usize,
    strict: bool,
    begun: bool,
}

impl Accumulator for ValueArray {
    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        self.begun = true;
        if !(self.strict && args[0].is_null()) {
            let value = form(call, args, 0).to_jsonb(&call.context.types)?;
            self.heap_bytes += value.root().bytes().len();
            self.values.push(value);
        }
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Jsonb>() + self.heap_bytes
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        if !self.begun {
            return Ok(Datum::Null);
        }
        ::json::jsonb::build_array(self.values.iter().map(Jsonb::root)).put()
    }
}

/// The fields of an object.
#[derive(Default)]
struct ValueObject {
    fields: Vec<(String, Jsonb)>,
    /// The bytes of the fields on the heap.
    heap_bytes: usize,
    strict: bool,
    /// The names so far, where none may occur again.
    seen: Option<Names>,
    begun: bool,
}

impl ValueObject {
    fn unique() -> Self {
        Self { seen: Some(Names::default()), ..Self::default() }
    }
}

impl Accumulator for ValueObject {
    fn add(&mut self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        self.begun = true;
        let name = form(call, args, 0).into_name()?.ok_or_else(|| {
            Error::new(SqlState::INVALID_PARAMETER_VALUE, "field name must not be null")
        })?;
        if let Some(seen) = &mut self.seen
            && !seen.insert(&name)
        {
            return Err(Error::new(
                SqlState::DUPLICATE_JSON_OBJECT_KEY_VALUE,
                "duplicate JSON object key value",
            ));
        }
        if !(self.strict && args[1].is_null()) {
            let value = form(call, args, 1).to_jsonb(&call.context.types)?;
            self.heap_bytes += name.len() + value.root().bytes().len();
            self.fields.push((name, value));
        }
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        let fields = self.fields.capacity() * size_of::<(String, Jsonb)>();
        fields + self.heap_bytes + self.seen.as_ref().map_or(0, Names::held_bytes)
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        if !self.begun {
            return Ok(Datum::Null);
        }
        let mut builder = Builder::new();
        builder.object(|object| {
            for (name, value) in &self.fields {
                object.name(name).value(value.root());
            }
        });
        builder.finish().put()
    }
}

pub(super) const TABLE: &[Function] = aggregates! { Kind::Normal =>
    3175 json_agg(ANYELEMENT) -> JSON [stable] = TextArray::default();
    6276 json_agg_strict(ANYELEMENT) -> JSON [stable] =
        TextArray { strict: true, ..TextArray::default() };
    3197 json_object_agg(ANY, ANY) -> JSON [stable] = TextObject::default();
    6280 json_object_agg_strict(ANY, ANY) -> JSON [stable] =
        TextObject { strict: true, ..TextObject::default() };
    6281 json_object_agg_unique(ANY, ANY) -> JSON [stable] = TextObject::unique();
    6282 json_object_agg_unique_strict(ANY, ANY) -> JSON [stable] =
        TextObject { strict: true, ..TextObject::unique() };
    3267 jsonb_agg(ANYELEMENT) -> JSONB [stable] = ValueArray::default();
    6284 jsonb_agg_strict(ANYELEMENT) -> JSONB [stable] =
        ValueArray { strict: true, ..ValueArray::default() };
    3270 jsonb_object_agg(ANY, ANY) -> JSONB = ValueObject::default();
    6288 jsonb_object_agg_strict(ANY, ANY) -> JSONB =
        ValueObject { strict: true, ..ValueObject::default() };
    6289 jsonb_object_agg_unique(ANY, ANY) -> JSONB = ValueObject::unique();
    6290 jsonb_object_agg_unique_strict(ANY, ANY) -> JSONB =
        ValueObject { strict: true, ..ValueObject::unique() };
};
