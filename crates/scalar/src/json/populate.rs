//! Rows from JSON: `json_populate_record`, `json_to_recordset` and the like.
//!
//! ```text
//!   {"a": 1, "b": [1, 2], "c": {"x": "y"}}     (a int, b int[], c pair)     (1, {1,2}, (y,))
//! ```
//!
//! Each column takes the field of its name: an array its elements, a row of its own the fields of an
//! object, and anything else is read from the text of the value, as the type's own text is. A field
//! that is not there leaves the column as it is in the row to begin with.
//!
//! Which row is wanted follows from the type of the first argument, where it has a name. Otherwise the
//! first argument is a record that says it; where that is NULL it is the one behind the last, which the
//! binder adds for `AS x(a int, b text)`.

use ::json::Kind;
use ::json::jsonb::{JsonbError, JsonbRef};
use ::json::written::{self, Written};
use types::{
    Array, Coercion, Context, Datum, DatumRef, Dimension, Error, Field, Modifier, Record,
    RecordRef, Repr, Result, Shape, SqlState, Type, text,
};

use crate::facts::Facts;
use crate::function::{Call, Default, Function, functions, sets};
use crate::rows::Rows;

/// A value of either type.
#[derive(Clone, Copy)]
enum Source<'a> {
    Text(Written<'a>),
    Value(JsonbRef<'a>),
}

impl<'a> Source<'a> {
    fn json(text: &'a str) -> Result<Self> {
        let whole = written::get_path(text, &[])?;
        whole.map(Source::Text).ok_or_else(|| crate::function::internal("a text of json is none"))
    }

    fn kind(self) -> Kind {
        match self {
            Source::Text(value) => value.kind(),
            Source::Value(value) => value.kind(),
        }
    }

    /// A string without its quotes, anything else as JSON; nothing for null.
    fn to_text(self) -> Result<Option<String>> {
        match self {
            Source::Text(value) => Ok(value.to_text()),
            Source::Value(value) => Ok(value.to_text()?),
        }
    }

    fn to_json(self) -> Result<String> {
        match self {
            Source::Text(value) => Ok(value.json().to_owned()),
            Source::Value(value) => Ok(value.try_to_json()?),
        }
    }

    fn elements(self) -> Result<Vec<Self>> {
        match self {
            Source::Text(value) => written::elements(value.json(), "json_array_elements")?
                .map(|element| Ok(Source::Text(element?)))
                .collect(),
            Source::Value(value) => Ok(value.elements()?.map(Source::Value).collect()),
        }
    }

    /// The fields of what must be an object.
    fn fields(self) -> Result<Vec<(String, Self)>> {
        let what = match self.kind() {
            Kind::Object => "",
            Kind::Array => "an array",
            _ => "a scalar",
        };
        if !what.is_empty() {
            return Err(JsonbError::WrongKind { function: "populate_composite", what }.into());
        }
        match self {
            Source::Text(value) => written::each(value.json())?
                .map(|field| field.map(|(name, value)| (name, Source::Text(value))))
                .map(|field| field.map_err(Error::from))
                .collect(),
            Source::Value(value) => Ok(value
                .fields("populate_composite")?
                .map(|(name, value)| (name.to_owned(), Source::Value(value)))
                .collect()),
        }
    }
}

/// Where in the JSON a value stands, for hints.
struct JsonPosition<'p> {
    column: &'p str,
    subscripts: Vec<usize>,
}

impl JsonPosition<'_> {
    fn no_array(&self) -> Error {
        let subscripts: String = self.subscripts.iter().map(|at| format!("[{at}]")).collect();
        let hint = match subscripts.is_empty() {
            true => format!("See the value of key \"{}\".", self.column),
            false => format!("See the array element {subscripts} of key \"{}\".", self.column),
        };
        malformed("expected JSON array").with_hint(hint)
    }
}

fn malformed(message: &str) -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

/// The columns of the row that is wanted, and the type that it has.
struct TargetRow {
    fields: Vec<Field>,
    ty: Type,
    /// The domain over that type that the row is to be of, where it is one.
    domain: Option<Type>,
}

impl TargetRow {
    /// From the type of the first argument, the record that it is, or the one behind the last.
    fn of(call: &Call<'_>, args: &[DatumRef<'_>], name: &str, declared: usize) -> Result<Self> {
        let facts = Facts(call.context.types.types);
        let ty = facts.base(call.args[0]);
        if declared > 1
            && !ty.is_builtin()
            && let Some(Shape::Composite(fields)) = call.context.types.types.shape(ty)
        {
            let domain = Some(call.args[0]).filter(|named| *named != ty);
            return Ok(TargetRow { fields: fields.to_vec(), ty, domain });
        }
        if declared > 1 && ty != Type::RECORD {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!("first argument of {name} must be a row type"),
            ));
        }
        let defined = args.get(declared).copied().unwrap_or(DatumRef::Null);
        let described = match base(args, declared) {
            Some(base) => {
                if let DatumRef::Record(defined) = defined {
                    must_match(base, defined, facts)?;
                }
                args[0]
            }
            None => defined,
        };
        let DatumRef::Record(record) = described else {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("could not determine row type for result of {name}"),
            )
            .with_hint(
                "Provide a non-null record argument, or call the function in the FROM clause \
                 using a column definition list.",
            ));
        };
        let field = |name: &str, ty, modifier| Field { name: name.into(), ty, modifier };
        let fields = match record.names() {
            Some(names) => record
                .iter()
                .zip(names)
                .map(|((ty, _, _), (name, modifier))| field(name, ty, modifier))
                .collect(),
            None => record
                .iter()
                .enumerate()
                .map(|(at, (ty, _, _))| field(&format!("f{}", at + 1), ty, Modifier::NONE))
                .collect(),
        };
        Ok(TargetRow { fields, ty: Type::RECORD, domain: None })
    }

    /// The row with the fields of an object, and those of `base` where it has none.
    fn row(
        &self,
        base: Option<RecordRef<'_>>,
        source: Source<'_>,
        context: &Context<'_>,
    ) -> Result<Datum> {
        let given = source.fields()?;
        let old: Option<Vec<Datum>> = base.map(RecordRef::to_vec);
        let mut values = Vec::with_capacity(self.fields.len());
        for (at, field) in self.fields.iter().enumerate() {
            let before = old.as_ref().and_then(|old| old.get(at)).cloned().unwrap_or_default();
            // Of fields with one name the last counts.
            let found = given.iter().rev().find(|(name, _)| **name == *field.name);
            let value = match found {
                None if old.is_some() => before,
                None => context.null_of(field.ty)?,
                Some((_, value)) => {
                    let mut place = JsonPosition { column: &field.name, subscripts: Vec::new() };
                    value_of(*value, field.ty, field.modifier, &before, &mut place, context)?
                }
            };
            values.push((field.ty, context.types.repr_of(field.ty)?, value));
        }
        let row = Record::new(values.iter().map(|(ty, repr, value)| (*ty, *repr, value.as_ref())));
        Ok(match self.ty {
            Type::RECORD => {
                let names = self.fields.iter().map(|field| (&*field.name, field.modifier));
                row.named(names).into()
            }
            _ => match self.domain {
                Some(domain) => context.as_domain(domain, row.into(), Coercion::Assignment)?,
                None => row.into(),
            },
        })
    }
}

/// Checks that the row in the first argument has the columns that the statement defines.
fn must_match(row: RecordRef<'_>, defined: RecordRef<'_>, facts: Facts<'_>) -> Result<()> {
    let mismatch = |detail: String| {
        let message = "function return row and query-specified return row do not match";
        Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail))
    };
    let (given, wanted) = (row.iter().count(), defined.iter().count());
    if given != wanted {
        let s = if given == 1 { "" } else { "s" };
        let detail =
            format!("Returned row contains {given} attribute{s}, but query expects {wanted}.");
        return mismatch(detail);
    }
    for (at, ((given, ..), (wanted, ..))) in row.iter().zip(defined.iter()).enumerate() {
        if given != wanted {
            return mismatch(format!(
                "Returned type {} at ordinal position {}, but query expects {}.",
                facts.name(given),
                at + 1,
                facts.name(wanted)
            ));
        }
    }
    Ok(())
}

/// A value of JSON as one of a type.
fn value_of(
    source: Source<'_>,
    ty: Type,
    modifier: Modifier,
    before: &Datum,
    place: &mut JsonPosition<'_>,
    context: &Context<'_>,
) -> Result<Datum> {
    if context.types.is_domain(ty) {
        let (base, modifier) = context.types.base_of(ty);
        let value = value_of(source, base, modifier, before, place, context)?;
        return context.as_domain(ty, value, Coercion::Assignment);
    }
    match (ty, source.kind()) {
        (Type::JSON, Kind::Null) | (Type::JSONB, Kind::Null) => return Ok(Datum::Null),
        (Type::JSON | Type::JSONB, _) => {
            return text::parse(&source.to_json()?, ty, modifier, context);
        }
        _ => {}
    }
    let Some(written) = source.to_text()? else { return Ok(Datum::Null) };
    match (context.types.shape_of(ty)?, source.kind()) {
        (Shape::Array(_) | Shape::Composite(_), Kind::String) => {
            text::parse(&written, ty, modifier, context)
        }
        (Shape::Array(element), kind) if Facts(context.types).is_true_array(ty) => {
            if kind != Kind::Array {
                return Err(place.no_array());
            }
            array(source, element, modifier, place, context)
        }
        (Shape::Composite(fields), _) => {
            let base = match before {
                Datum::Record(record) => Some(record.as_ref()),
                _ => None,
            };
            TargetRow { fields: fields.to_vec(), ty, domain: None }.row(base, source, context)
        }
        _ => text::parse(&written, ty, modifier, context),
    }
}

/// A value of `jsonb` as one of a type, as `JSON_QUERY` and `JSON_VALUE` give it: scalars by their
/// text, strings with their quotes unless these are to be omitted.
pub(crate) fn converted(
    value: JsonbRef<'_>,
    ty: Type,
    modifier: Modifier,
    omit_quotes: bool,
    context: &Context<'_>,
) -> Result<Datum> {
    if context.types.is_domain(ty) {
        let (base, modifier) = context.types.base_of(ty);
        let value = converted(value, base, modifier, omit_quotes, context)?;
        return context.as_domain(ty, value, Coercion::Assignment);
    }
    let is_scalar = !matches!(value.kind(), Kind::Array | Kind::Object);
    let is_bare = omit_quotes && value.kind() == Kind::String;
    let text = match is_bare {
        true => value.to_text()?.unwrap_or_default(),
        false => value.try_to_json()?,
    };
    let facts = Facts(context.types);
    match ty {
        Type::JSONB | Type::JSON if !is_bare => text::parse(&text, ty, modifier, context),
        Type::BYTEA => Ok(Datum::bytea(text.into_bytes())),
        _ if is_scalar || facts.category(ty) == 'S' => {
            if value.kind() == Kind::Null {
                return Ok(Datum::Null);
            }
            text::parse(&text, ty, modifier, context)
        }
        _ => {
            let mut place = JsonPosition { column: "", subscripts: Vec::new() };
            value_of(Source::Value(value), ty, modifier, &Datum::Null, &mut place, context)
        }
    }
}

/// The elements of an array that are collected, and what is known of its dimensions.
struct Elements {
    values: Vec<Datum>,
    /// The length of each dimension; none if only the depth is known so far.
    lengths: Vec<Option<usize>>,
    /// How deep the elements lie, once one was found.
    depth: Option<usize>,
}

fn array(
    source: Source<'_>,
    element: Type,
    modifier: Modifier,
    place: &mut JsonPosition<'_>,
    context: &Context<'_>,
) -> Result<Datum> {
    let mut elements = Elements { values: Vec::new(), lengths: Vec::new(), depth: None };
    elements.collect(source, element, modifier, place, context)?;
    let repr: Repr = context.types.repr_of(element)?;
    if elements.values.is_empty() {
        return Ok(Array::empty(element, repr).into());
    }
    let dimensions: Vec<Dimension> = elements
        .lengths
        .iter()
        .map(|length| Dimension { length: length.unwrap_or(0) as i32, lower: 1 })
        .collect();
    Ok(Array::new(element, repr, &dimensions, elements.values.iter().map(Datum::as_ref))?.into())
}

impl Elements {
    fn collect(
        &mut self,
        source: Source<'_>,
        element: Type,
        modifier: Modifier,
        place: &mut JsonPosition<'_>,
        context: &Context<'_>,
    ) -> Result<()> {
        let mismatch = || {
            malformed("malformed JSON array").with_detail(
                "Multidimensional arrays must have sub-arrays with matching dimensions.",
            )
        };
        let items = source.elements()?;
        let level = place.subscripts.len();
        if self.lengths.len() == level {
            self.lengths.push(None);
        }
        for (at, item) in items.iter().enumerate() {
            place.subscripts.push(at + 1);
            // Arrays in arrays are dimensions until the first element that is none.
            let is_inner =
                item.kind() == Kind::Array && self.depth.is_none_or(|depth| depth > level + 1);
            if is_inner {
                self.collect(*item, element, modifier, place, context)?;
            } else {
                match self.depth {
                    None => self.depth = Some(level + 1),
                    Some(depth) if depth != level + 1 => {
                        // The hint counts the elements before.
                        place.subscripts[level] = at;
                        return Err(place.no_array());
                    }
                    Some(_) => {}
                }
                let none = Datum::Null;
                let mut inner =
                    JsonPosition { column: place.column, subscripts: place.subscripts.clone() };
                self.values.push(value_of(*item, element, modifier, &none, &mut inner, context)?);
            }
            place.subscripts.pop();
        }
        match self.lengths[level] {
            None => self.lengths[level] = Some(items.len()),
            Some(length) if length != items.len() => return Err(mismatch()),
            Some(_) => {}
        }
        Ok(())
    }
}

/// The row in the first argument to begin with.
fn base<'a>(args: &[DatumRef<'a>], declared: usize) -> Option<RecordRef<'a>> {
    match args.first() {
        Some(DatumRef::Record(record)) if declared > 1 => Some(*record),
        _ => None,
    }
}

fn record(
    call: &Call<'_>,
    args: &[DatumRef<'_>],
    name: &str,
    declared: usize,
    source: Option<Source<'_>>,
) -> Result<Datum> {
    let base = base(args, declared);
    let Some(source) = source else {
        if base.is_some() {
            TargetRow::of(call, args, name, declared)?;
        }
        return match base {
            Some(base) => Ok(Datum::Record(base.to_owned())),
            None if declared > 1 => call.context.types.null_of(call.args[0]),
            None => Ok(Datum::Null),
        };
    };
    let wanted = TargetRow::of(call, args, name, declared)?;
    wanted.row(base, source, &call.context.types)
}

fn records(
    call: &Call<'_>,
    args: &[DatumRef<'_>],
    name: &'static str,
    declared: usize,
    source: Option<Source<'_>>,
) -> Result<Rows> {
    let Some(source) = source else { return Ok(Box::new(std::iter::empty())) };
    let wanted = TargetRow::of(call, args, name, declared)?;
    let refuse = |what| Err(JsonbError::WrongKind { function: name, what }.into());
    match (source, source.kind()) {
        (_, Kind::Array) => {}
        (Source::Value(_), _) => return refuse("a non-array"),
        (_, Kind::Object) => return refuse("an object"),
        _ => return refuse("a scalar"),
    }
    let base = base(args, declared);
    let mut rows = Vec::new();
    for element in source.elements()? {
        if element.kind() != Kind::Object {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("argument of {name} must be an array of objects"),
            ));
        }
        rows.push(Ok(wanted.row(base, element, &call.context.types)?));
    }
    Ok(Box::new(rows.into_iter()))
}

/// The argument of type `json`.
fn text<'a>(args: &[DatumRef<'a>], at: usize) -> Result<Option<Source<'a>>> {
    match args[at] {
        DatumRef::Text(text) => Source::json(text).map(Some),
        _ => Ok(None),
    }
}

/// The argument of type `jsonb`.
fn value<'a>(args: &[DatumRef<'a>], at: usize) -> Option<Source<'a>> {
    match args[at] {
        DatumRef::Jsonb(value) => Some(Source::Value(value)),
        _ => None,
    }
}

const AS_TEXT: &[Default] = &[Default::Bool(false)];

pub(crate) const TABLE: &[Function] = functions! {
    3960 json_populate_record(ANYELEMENT, JSON, BOOL) -> ANYELEMENT
        [stable, nullable, defaults = AS_TEXT] = [call, args]
        record(call, args, "json_populate_record", 3, text(args, 1)?);
    3209 jsonb_populate_record(ANYELEMENT, JSONB) -> ANYELEMENT [stable, nullable] = [call, args]
        record(call, args, "jsonb_populate_record", 2, value(args, 1));
    6338 jsonb_populate_record_valid(ANYELEMENT, JSONB) -> BOOL [stable, nullable] = [call, args]
        match value(args, 1) {
            None => None,
            source => {
                let wanted = TargetRow::of(call, args, "jsonb_populate_record_valid", 2)?;
                let row = source.map(|value| wanted.row(base(args, 2), value, &call.context.types));
                Some(row.is_some_and(|row| row.is_ok()))
            }
        };
    3204 json_to_record(JSON) -> RECORD [stable] = [call, args]
        record(call, args, "json_to_record", 1, text(args, 0)?);
    3490 jsonb_to_record(JSONB) -> RECORD [stable] = [call, args]
        record(call, args, "jsonb_to_record", 1, value(args, 0));
};

pub(crate) const SETS: &[Function] = sets! {
    3961 json_populate_recordset(ANYELEMENT, JSON, BOOL) -> ANYELEMENT
        [stable, nullable, defaults = AS_TEXT] = [call, args]
        records(call, args, "json_populate_recordset", 3, text(args, 1)?);
    3475 jsonb_populate_recordset(ANYELEMENT, JSONB) -> ANYELEMENT [stable, nullable] =
        [call, args]
        records(call, args, "jsonb_populate_recordset", 2, value(args, 1));
    3205 json_to_recordset(JSON) -> RECORD [stable, nullable] = [call, args]
        records(call, args, "json_to_recordset", 1, text(args, 0)?);
    3491 jsonb_to_recordset(JSONB) -> RECORD [stable, nullable] = [call, args]
        records(call, args, "jsonb_to_recordset", 1, value(args, 0));
};
