//! JSON from values: `to_json`, `json_build_object`, `json_object` and the like, both as text and
//! as `jsonb`.
//!
//! ```text
//!   json_build_object('a', 1)    {"a" : 1}        text as PostgreSQL spaces it
//!   jsonb_build_object('a', 1)   {"a": 1}         a value
//!   row_to_json(person)          {"id":1,"name":"ann"}
//! ```

use ::json::jsonb::{self, Builder, Jsonb, JsonbError};
use types::bounded::TextBuilder;
use types::{ArrayRef, Context, DatumRef, Result, Type};

use super::convert::{Form, write_string};
use crate::function::{Call, Function, functions};

/// The arguments of a variadic function with their types; `None` for `VARIADIC NULL`.
pub(crate) fn spread<'a>(
    call: &Call<'_>,
    args: &[DatumRef<'a>],
) -> Option<Vec<(DatumRef<'a>, Type)>> {
    if !call.spread {
        return Some(args.iter().copied().zip(call.args.iter().copied()).collect());
    }
    match args.first() {
        Some(DatumRef::Array(array)) => {
            let element = array.element_type();
            Some(array.iter().map(|value| (value, element)).collect())
        }
        _ => None,
    }
}

/// The JSON forms of the arguments of a variadic function; `None` for `VARIADIC NULL`.
fn forms<'a>(call: &Call<'_>, args: &[DatumRef<'a>]) -> Option<Vec<Form<'a>>> {
    let context = &call.context.types;
    let form = |(value, ty)| Form::of(value, ty, context);
    Some(spread(call, args)?.into_iter().map(form).collect())
}

fn one<'a>(call: &Call<'_>, value: DatumRef<'a>) -> Form<'a> {
    Form::of(value, call.args.first().copied().unwrap_or(Type::TEXT), &call.context.types)
}

fn to_json(call: &Call<'_>, value: DatumRef<'_>, lines: bool) -> Result<String> {
    one(call, value).to_json(lines, &call.context.types)
}

fn build_array(call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Option<TextBuilder>> {
    let Some(forms) = forms(call, args) else { return Ok(None) };
    text_array(forms.into_iter(), &call.context.types).map(Some)
}

/// The text of an array of these values.
pub(crate) fn text_array<'a>(
    values: impl Iterator<Item = Form<'a>>,
    context: &Context<'_>,
) -> Result<TextBuilder> {
    let (mut out, mut is_first) = (TextBuilder::new(), true);
    out.push("[")?;
    for value in values {
        if !std::mem::take(&mut is_first) {
            out.push(", ")?;
        }
        value.write(false, context, &mut out)?;
    }
    out.push("]")?;
    Ok(out)
}

/// The text of an object of these fields.
pub(crate) fn text_object<'a>(
    fields: impl Iterator<Item = Result<(String, Form<'a>)>>,
    context: &Context<'_>,
) -> Result<TextBuilder> {
    let (mut out, mut is_first) = (TextBuilder::new(), true);
    out.push("{")?;
    for field in fields {
        let (name, value) = field?;
        if !std::mem::take(&mut is_first) {
            out.push(", ")?;
        }
        write_string(&name, &mut out)?;
        out.push(" : ")?;
        value.write(false, context, &mut out)?;
    }
    out.push("}")?;
    Ok(out)
}

fn build_object(call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Option<TextBuilder>> {
    let Some(forms) = forms(call, args) else { return Ok(None) };
    if forms.len() % 2 != 0 {
        return Err(JsonbError::OddArguments { function: "json_build_object" }.into());
    }
    let mut forms = forms.into_iter();
    let fields = std::iter::from_fn(|| {
        let (name, value) = (forms.next()?, forms.next()?);
        Some(name.into_name().and_then(|name| Ok((name.ok_or(JsonbError::NullKey)?, value))))
    });
    text_object(fields, &call.context.types).map(Some)
}

fn jsonb_build_array(call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Option<Jsonb>> {
    let Some(forms) = forms(call, args) else { return Ok(None) };
    let values = all_jsonb(&forms, &call.context.types)?;
    Ok(Some(jsonb::build_array(values.iter().map(Jsonb::root))?))
}

fn jsonb_build_object(call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Option<Jsonb>> {
    let Some(forms) = forms(call, args) else { return Ok(None) };
    if forms.len() % 2 != 0 {
        return Err(JsonbError::OddArguments { function: "jsonb_build_object" }.into());
    }
    let mut fields = Vec::with_capacity(forms.len() / 2);
    let mut forms = forms.into_iter();
    while let (Some(name), Some(value)) = (forms.next(), forms.next()) {
        let position = 2 * fields.len() + 1;
        let name = name.into_name()?.ok_or(JsonbError::NullKeyArgument { position })?;
        fields.push((name, value.to_jsonb(&call.context.types)?));
    }
    let mut builder = Builder::new();
    builder.object(|object| {
        for (name, value) in &fields {
            object.name(name).value(value.root());
        }
    });
    Ok(Some(builder.finish()?))
}

fn all_jsonb(forms: &[Form<'_>], context: &Context<'_>) -> Result<Vec<Jsonb>> {
    forms.iter().map(|form| form.to_jsonb(context)).collect()
}

/// The lengths of an array's dimensions, and its texts.
fn shape<'a>(array: ArrayRef<'a>) -> (Vec<usize>, Texts<'a>) {
    let lengths = array.dimensions().iter().map(|dimension| dimension.length as usize).collect();
    (lengths, crate::jsonb::texts(array))
}

/// The texts of an array; `None` for NULL.
type Texts<'a> = Vec<Option<&'a str>>;

/// Names and values, each a list of one dimension.
fn two_lists<'a>(names: ArrayRef<'a>, values: ArrayRef<'a>) -> Result<(Texts<'a>, Texts<'a>)> {
    let ((lengths, names), (others, values)) = (shape(names), shape(values));
    if lengths.len() > 1 || lengths.len() != others.len() {
        return Err(JsonbError::WrongDimensions.into());
    }
    if names.len() != values.len() {
        return Err(JsonbError::DimensionsDiffer.into());
    }
    Ok((names, values))
}

/// An object of strings as text.
fn object_of<'a>(
    pairs: impl Iterator<Item = (Option<&'a str>, Option<&'a str>)>,
    context: &Context<'_>,
) -> Result<TextBuilder> {
    let fields = pairs.map(|(name, value)| {
        let value = value.map_or(Form::Null, |value| Form::Text(value.to_owned()));
        Ok((name.ok_or(JsonbError::NullKey)?.to_owned(), value))
    });
    text_object(fields, context)
}

fn json_object(call: &Call<'_>, array: ArrayRef<'_>) -> Result<TextBuilder> {
    let (lengths, texts) = shape(array);
    jsonb::check_pairs(&lengths)?;
    object_of(texts.chunks_exact(2).map(|pair| (pair[0], pair[1])), &call.context.types)
}

pub(crate) const TABLE: &[Function] = functions! {
    3176 to_json(ANYELEMENT) -> JSON [stable] = (call; a: DatumRef<'_>) to_json(call, a, false);
    3787 to_jsonb(ANYELEMENT) -> JSONB [stable] = (call; a: DatumRef<'_>)
        one(call, a).to_jsonb(&call.context.types);
    3153 array_to_json(ANYARRAY) -> JSON [stable] = (call; a: DatumRef<'_>) to_json(call, a, false);
    3154 array_to_json(ANYARRAY, BOOL) -> JSON [stable] = (call; a: DatumRef<'_>, lines: bool)
        to_json(call, a, lines);
    3155 row_to_json(RECORD) -> JSON [stable] = (call; a: DatumRef<'_>) to_json(call, a, false);
    3156 row_to_json(RECORD, BOOL) -> JSON [stable] = (call; a: DatumRef<'_>, lines: bool)
        to_json(call, a, lines);

    3198 json_build_array(ANY) -> JSON [stable, nullable, variadic] = [call, args]
        build_array(call, args);
    3199 json_build_array() -> JSON [stable, nullable] = () "[]";
    3200 json_build_object(ANY) -> JSON [stable, nullable, variadic] = [call, args]
        build_object(call, args);
    3201 json_build_object() -> JSON [stable, nullable] = () "{}";
    3271 jsonb_build_array(ANY) -> JSONB [stable, nullable, variadic] = [call, args]
        jsonb_build_array(call, args);
    3272 jsonb_build_array() -> JSONB [stable, nullable] = () jsonb::build_array([])?;
    3273 jsonb_build_object(ANY) -> JSONB [stable, nullable, variadic] = [call, args]
        jsonb_build_object(call, args);
    3274 jsonb_build_object() -> JSONB [stable, nullable] = () jsonb::build_object(&[], &[])?;

    3202 json_object(TEXT_ARRAY) -> JSON = (call; pairs: ArrayRef<'_>) json_object(call, pairs);
    3203 json_object(TEXT_ARRAY, TEXT_ARRAY) -> JSON = (call; names: ArrayRef<'_>, values: ArrayRef<'_>) {
        let (names, values) = two_lists(names, values)?;
        object_of(names.into_iter().zip(values), &call.context.types)
    };
    3263 jsonb_object(TEXT_ARRAY) -> JSONB = (pairs: ArrayRef<'_>) {
        let (lengths, texts) = shape(pairs);
        jsonb::object_of(&lengths, &texts)
    };
    3264 jsonb_object(TEXT_ARRAY, TEXT_ARRAY) -> JSONB =
        (names: ArrayRef<'_>, values: ArrayRef<'_>) {
            let (names, values) = two_lists(names, values)?;
            jsonb::object_of_two(&names, &values)
        };
};
