//! Values of SQL as JSON: the results of `to_json`, the builders and the aggregates.
//!
//! ```text
//!   12.50 'a"b' true NULL    12.50 "a\"b" true null      '2024-02-29 10:00'    "2024-02-29T10:00:00"
//!   '{1,2}'::int[]           [1,2]                       row(1, 'x')           {"f1":1,"f2":"x"}
//! ```
//!
//! A value is looked at once, as a [`Form`], which is what both texts and `jsonb` are made of.
//! Dates and times are written by ISO 8601, whatever the session's style, and what JSON has no form
//! for is a string with the text of the value.

use std::borrow::Cow;

use ::json::jsonb::{Builder, Jsonb, JsonbRef};
use ::json::text;
use interrupt::Pace;
use numeric::Numeric;
use types::bounded::TextBuilder;
use types::hstore::Hstore;
use types::{ArrayRef, Context, DatumRef, Dimension, Error, Modifier, RecordRef, Result, Shape};
use types::{SqlState, Type};

use crate::extension;
use crate::facts::Facts;
use crate::search::pieces;

/// The JSON form of a value.
pub(crate) enum Form<'a> {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    /// A text of type `json`.
    Json(Cow<'a, str>),
    Jsonb(JsonbRef<'a>),
    Array(ArrayRef<'a>),
    Record(RecordRef<'a>, Type),
}

impl<'a> Form<'a> {
    /// The form of a value of a type.
    pub fn of(value: DatumRef<'a>, ty: Type, context: &Context<'_>) -> Self {
        let ty = Facts(context.types).base(ty);
        let mut text = String::new();
        match value {
            DatumRef::Null => return Form::Null,
            DatumRef::Bool(value) => return Form::Bool(value),
            DatumRef::Text(value) if ty == Type::JSON => return Form::Json(value.into()),
            DatumRef::Bytea(value) if ty == Type::HSTORE => {
                return Form::Json(extension::hstore::to_json(Hstore::new(value), false).into());
            }
            DatumRef::Text(value) if ty != Type::BPCHAR => return Form::Text(value.to_owned()),
            DatumRef::Folded(value) => return Form::Text(value.to_owned()),
            DatumRef::Jsonb(value) => return Form::Jsonb(value),
            DatumRef::Array(value) if Facts(context.types).is_true_array(ty) => {
                return Form::Array(value);
            }
            DatumRef::Record(value) => return Form::Record(value, ty),
            DatumRef::Date(value) => value.write_iso(&mut text),
            DatumRef::Timestamp(value) => value.write_iso(&mut text),
            DatumRef::TimestampTz(value) => {
                value.write_iso(context.style.time_zone.local(value).east_s, &mut text);
            }
            value => {
                text =
                    types::text::to_string(value, ty, Modifier::NONE, context).unwrap_or_default();
            }
        }
        let is_number = matches!(
            ty,
            Type::INT2 | Type::INT4 | Type::INT8 | Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC
        );
        // NaN and the infinities are no numbers of JSON.
        if is_number && text.ends_with(|last: char| last.is_ascii_digit()) {
            Form::Number(text)
        } else {
            Form::Text(text)
        }
    }

    /// True for arrays and records, each of which has a line of its own in an aggregate.
    pub fn is_composed(&self) -> bool {
        matches!(self, Form::Array(_) | Form::Record(..))
    }

    /// The value as the name of a field; `None` for NULL.
    ///
    /// # Errors
    /// 22023 for what is no scalar.
    pub fn into_name(self) -> Result<Option<String>> {
        Ok(Some(match self {
            Form::Null => return Ok(None),
            Form::Bool(value) => value.to_string(),
            Form::Number(text) | Form::Text(text) => text,
            Form::Json(_) | Form::Jsonb(_) | Form::Array(_) | Form::Record(..) => {
                return Err(Error::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "key value must be scalar, not array, composite, or json",
                ));
            }
        }))
    }

    /// Writes the value as text of JSON, the outermost elements or fields on lines of their own
    /// where `lines` says so.
    ///
    /// # Errors
    /// 54000 where the text is too large, 57014 where the statement is to stop.
    pub fn write(&self, lines: bool, context: &Context<'_>, out: &mut TextBuilder) -> Result<()> {
        match self {
            Form::Null => out.push("null"),
            Form::Bool(value) => out.push(if *value { "true" } else { "false" }),
            Form::Number(text) => out.push(text),
            Form::Text(string) => write_string(string, out),
            Form::Json(text) => out.push(text),
            Form::Jsonb(value) => out.push(&value.try_to_json()?),
            Form::Array(array) => {
                let dimensions = array.dimensions();
                if dimensions.is_empty() {
                    return out.push("[]");
                }
                let element = array.element_type();
                let mut elements = array.iter().map(|value| Form::of(value, element, context));
                write_elements(&dimensions, &mut elements, lines, context, out)
            }
            Form::Record(record, ty) => {
                let names = field_names(*record, *ty, context);
                out.push("{")?;
                for (at, ((ty, _, value), name)) in record.iter().zip(names).enumerate() {
                    if at > 0 {
                        out.push(if lines { ",\n " } else { "," })?;
                    }
                    write_string(&name, out)?;
                    out.push(":")?;
                    Form::of(value, ty, context).write(false, context, out)?;
                }
                out.push("}")
            }
        }
    }

    /// The value as text of JSON.
    ///
    /// # Errors
    /// As [`Form::write`].
    pub fn to_json(&self, lines: bool, context: &Context<'_>) -> Result<String> {
        let mut out = TextBuilder::new();
        self.write(lines, context, &mut out)?;
        Ok(out.finish())
    }

    /// The value as `jsonb`.
    ///
    /// # Errors
    /// For a text of type `json` with a value that `jsonb` cannot hold, and for values that are too large.
    pub fn to_jsonb(&self, context: &Context<'_>) -> Result<Jsonb> {
        match self {
            Form::Null => Ok(Jsonb::default()),
            Form::Bool(value) => Ok(Jsonb::bool(*value)),
            Form::Number(text) => Ok(Jsonb::number(&text.parse::<Numeric>()?)),
            Form::Text(text) => Ok(Jsonb::string(text)?),
            Form::Json(text) => Ok(Jsonb::parse(text)?),
            Form::Jsonb(value) => Ok(value.to_jsonb()),
            Form::Array(array) => {
                let element = array.element_type();
                let mut pace = Pace::new();
                let values = array
                    .iter()
                    .map(|value| {
                        pace.step(64)?;
                        Form::of(value, element, context).to_jsonb(context)
                    })
                    .collect::<Result<Vec<_>>>()?;
                let mut builder = Builder::new();
                let mut values = values.iter();
                add_elements(&array.dimensions(), &mut values, &mut builder);
                Ok(builder.finish()?)
            }
            Form::Record(record, ty) => {
                let names = field_names(*record, *ty, context);
                let values = record
                    .iter()
                    .map(|(ty, _, value)| Form::of(value, ty, context).to_jsonb(context))
                    .collect::<Result<Vec<_>>>()?;
                let mut builder = Builder::new();
                builder.object(|object| {
                    for (name, value) in names.iter().zip(&values) {
                        object.name(name).value(value.root());
                    }
                });
                Ok(builder.finish()?)
            }
        }
    }
}

/// Writes a string with its quotes, piece by piece.
pub(crate) fn write_string(string: &str, out: &mut TextBuilder) -> Result<()> {
    out.push("\"")?;
    pieces(string).try_for_each(|piece| out.push(&text::escape(piece)))?;
    out.push("\"")
}

/// The elements of an array of these dimensions.
fn write_elements<'a>(
    dimensions: &[Dimension],
    elements: &mut impl Iterator<Item = Form<'a>>,
    lines: bool,
    context: &Context<'_>,
    out: &mut TextBuilder,
) -> Result<()> {
    let Some((first, inner)) = dimensions.split_first() else {
        return match elements.next() {
            Some(element) => element.write(false, context, out),
            None => Ok(()),
        };
    };
    out.push("[")?;
    for at in 0..first.length {
        if at > 0 {
            out.push(if lines { ",\n " } else { "," })?;
        }
        write_elements(inner, elements, false, context, out)?;
    }
    out.push("]")
}

fn add_elements<'a>(
    dimensions: &[Dimension],
    elements: &mut std::slice::Iter<'a, Jsonb>,
    builder: &mut Builder<'a>,
) {
    match dimensions.split_first() {
        Some((first, inner)) => {
            builder.array(|array| {
                (0..first.length).for_each(|_| add_elements(inner, elements, array));
            });
        }
        None => match elements.next() {
            Some(element) => {
                builder.value(element.root());
            }
            // The array without elements has no dimension.
            None => {
                builder.array(|_| {});
            }
        },
    }
}

/// The names of a record's fields: those of its type, those it brings along, or `f1`, `f2` ...
fn field_names(record: RecordRef<'_>, ty: Type, context: &Context<'_>) -> Vec<String> {
    if !ty.is_builtin()
        && let Some(Shape::Composite(fields)) = context.types.shape(ty)
        && fields.len() == record.len()
    {
        return fields.iter().map(|field| field.name.to_string()).collect();
    }
    match record.names() {
        Some(names) => names.into_iter().map(|(name, _)| name.to_owned()).collect(),
        None => (1..=record.len()).map(|at| format!("f{at}")).collect(),
    }
}
