//! SQL/JSON of the standard: `JSON_OBJECT`, `IS JSON`, `JSON_VALUE` and the like.
//!
//! ```text
//!   JSON_OBJECT('a': 1 ABSENT ON NULL)          Construct   {"a" : 1}
//!   '{"a": 1}' IS JSON OBJECT                   Construct   true
//!   JSON_VALUE('{"a": 1}', '$.a' RETURNING int) Search      Found::Value(1)
//!                                                           Found::Empty      -> ON EMPTY
//!                                                           Found::Error(..)  -> ON ERROR
//! ```
//!
//! These are no functions: each has a grammar of its own, and a search may have expressions for what
//! it does not find. The evaluator calls [`Construct::eval`] or [`Search::run`], and carries out the
//! clauses.

use std::collections::HashSet;

use json::Kind;
use json::jsonb::pathlang::{Item, Options, Path};
use json::jsonb::{Builder, Jsonb, JsonbError, JsonbRef};
use json::{text, written};
use types::{Datum, DatumRef, Error, Modifier, Result, SqlState, Type};

use crate::context::Context;
use crate::json::convert::Form;
use crate::json::make::{text_array, text_object};
use crate::json::path::Calendar;
use crate::json::populate;

/// A construct that makes JSON of values, or tests it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Construct {
    /// `JSON_OBJECT`: names and values in turn.
    Object {
        /// `ABSENT ON NULL`
        absent: bool,
        /// `WITH UNIQUE KEYS`
        unique: bool,
    },
    /// `JSON_ARRAY` of values.
    Array {
        /// `ABSENT ON NULL`
        absent: bool,
    },
    /// `JSON_ARRAY` of the rows of a query, which come as an array; NULL where there are none.
    Rows,
    /// `JSON(...)`: a text, checked.
    Parse {
        /// `WITH UNIQUE KEYS`
        unique: bool,
    },
    /// `IS JSON`
    Is {
        /// The kind that it must be.
        kind: Option<JsonKind>,
        /// `WITH UNIQUE KEYS`
        unique: bool,
    },
}

/// The kind that `IS JSON` tests for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonKind {
    /// `OBJECT`
    Object,
    /// `ARRAY`
    Array,
    /// `SCALAR`
    Scalar,
}

impl JsonKind {
    fn is(self, kind: Kind) -> bool {
        match self {
            JsonKind::Object => kind == Kind::Object,
            JsonKind::Array => kind == Kind::Array,
            JsonKind::Scalar => !matches!(kind, Kind::Object | Kind::Array),
        }
    }
}

impl Construct {
    /// The result for values of these types, as `json` or, where `ret` says so, `jsonb`.
    ///
    /// # Errors
    /// 22004 for a name that is NULL, 22030 for one that occurs again where it must not, 22P02 for
    /// a text that is no JSON.
    pub fn eval(
        &self,
        args: &[(DatumRef<'_>, Type)],
        ret: Type,
        context: &Context<'_>,
    ) -> Result<Datum> {
        let form = |at: usize| Form::of(args[at].0, args[at].1, &context.types);
        match self {
            Construct::Object { absent, unique } => {
                let mut seen = HashSet::new();
                let mut fields = Vec::new();
                for at in (0..args.len()).step_by(2) {
                    let name = form(at).into_name()?.ok_or(JsonbError::NullKey)?;
                    if *unique && !seen.insert(name.clone()) {
                        let named = match ret {
                            Type::JSONB => String::new(),
                            _ => format!(": {}", text::quote(&name)),
                        };
                        return Err(duplicate(&named));
                    }
                    if !(*absent && args[at + 1].0.is_null()) {
                        fields.push((name, form(at + 1)));
                    }
                }
                object(fields, ret, context)
            }
            Construct::Array { absent } => {
                let kept = args.iter().filter(|(value, _)| !(*absent && value.is_null()));
                array(kept.map(|(value, ty)| Form::of(*value, *ty, &context.types)), ret, context)
            }
            Construct::Rows => match args[0].0 {
                DatumRef::Array(rows) if !rows.is_empty() => {
                    let element = rows.element_type();
                    let kept = rows.iter().filter(|value| !value.is_null());
                    array(kept.map(|value| Form::of(value, element, &context.types)), ret, context)
                }
                _ => Ok(Datum::Null),
            },
            Construct::Parse { unique } => match args[0].0 {
                DatumRef::Text(text) => {
                    written::check(text)?;
                    if *unique && !has_unique_names(text)? {
                        return Err(duplicate(""));
                    }
                    Ok(Datum::text(text))
                }
                _ => Ok(Datum::Null),
            },
            Construct::Is { kind, unique } => Ok(match args[0].0 {
                DatumRef::Null => Datum::Null,
                DatumRef::Jsonb(value) => {
                    Datum::Bool(kind.is_none_or(|wanted| wanted.is(value.kind())))
                }
                DatumRef::Text(text) => Datum::Bool(is_json(text, *kind, *unique)),
                DatumRef::Bytea(bytes) => {
                    let text = std::str::from_utf8(bytes);
                    Datum::Bool(text.is_ok_and(|text| is_json(text, *kind, *unique)))
                }
                other => {
                    return Err(crate::function::internal(format!("{other:?} IS JSON")));
                }
            }),
        }
    }
}

fn duplicate(named: &str) -> Error {
    Error::new(
        SqlState::DUPLICATE_JSON_OBJECT_KEY_VALUE,
        format!("duplicate JSON object key value{named}"),
    )
}

fn object(fields: Vec<(String, Form<'_>)>, ret: Type, context: &Context<'_>) -> Result<Datum> {
    if ret != Type::JSONB {
        let fields = fields.into_iter().map(Ok);
        return Ok(Datum::text(text_object(fields, &context.types)?.finish()));
    }
    let values = fields
        .iter()
        .map(|(_, value)| value.to_jsonb(&context.types))
        .collect::<Result<Vec<_>>>()?;
    let mut builder = Builder::new();
    builder.object(|object| {
        for ((name, _), value) in fields.iter().zip(&values) {
            object.name(name).value(value.root());
        }
    });
    Ok(builder.finish()?.into())
}

fn array<'a>(
    values: impl Iterator<Item = Form<'a>>,
    ret: Type,
    context: &Context<'_>,
) -> Result<Datum> {
    if ret != Type::JSONB {
        return Ok(Datum::text(text_array(values, &context.types)?.finish()));
    }
    let values = values.map(|value| value.to_jsonb(&context.types)).collect::<Result<Vec<_>>>()?;
    Ok(json::jsonb::build_array(values.iter().map(Jsonb::root))?.into())
}

fn is_json(text: &str, kind: Option<JsonKind>, unique: bool) -> bool {
    let Ok(Some(value)) = written::check(text).and_then(|()| written::get_path(text, &[])) else {
        return false;
    };
    kind.is_none_or(|wanted| wanted.is(value.kind()))
        && (!unique || has_unique_names(text).unwrap_or(false))
}

/// True if no object in a text has a name twice.
fn has_unique_names(text: &str) -> Result<bool> {
    let mut left = vec![text];
    while let Some(text) = left.pop() {
        let Some(value) = written::get_path(text, &[])? else { continue };
        match value.kind() {
            Kind::Object => {
                let mut seen = HashSet::new();
                for field in written::each(text)? {
                    let (name, value) = field?;
                    if !seen.insert(name) {
                        return Ok(false);
                    }
                    left.push(value.json());
                }
            }
            Kind::Array => {
                for element in written::elements(text, "json_array_elements")? {
                    left.push(element?.json());
                }
            }
            _ => {}
        }
    }
    Ok(true)
}

/// A search in JSON by a path.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    /// The wanted answer.
    pub what: JsonSearchKind,
    /// The names of the variables that `PASSING` gives.
    pub names: Vec<String>,
}

/// The answer that a search wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonSearchKind {
    /// `JSON_EXISTS`: whether there is anything.
    Exists,
    /// `JSON_VALUE`: one scalar as a value of SQL.
    Value,
    /// `JSON_QUERY`: JSON.
    Query {
        /// Whether what is found is put into an array.
        wrapper: Wrapper,
        /// `OMIT QUOTES`: a string is its text.
        omit_quotes: bool,
    },
}

/// Whether `JSON_QUERY` puts what it finds into an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrapper {
    /// `WITHOUT WRAPPER`
    Never,
    /// `WITH CONDITIONAL WRAPPER`: where it is not exactly one.
    Conditional,
    /// `WITH WRAPPER`
    Always,
}

impl JsonSearchKind {
    /// The word that begins the search.
    pub fn name(self) -> &'static str {
        match self {
            JsonSearchKind::Exists => "JSON_EXISTS",
            JsonSearchKind::Value => "JSON_VALUE",
            JsonSearchKind::Query { .. } => "JSON_QUERY",
        }
    }
}

/// The result of a search.
#[derive(Debug)]
pub enum Found {
    /// This value.
    Value(Datum),
    /// Nothing: `ON EMPTY` says what then.
    Empty,
    /// An error that `ON ERROR` is for.
    Error(Error),
}

impl Found {
    /// The error where nothing was found and `ERROR ON EMPTY` was said.
    pub fn empty_error() -> Error {
        Error::new(SqlState::NO_SQL_JSON_ITEM, "no SQL/JSON item found for specified path")
    }
}

impl Search {
    /// Looks for what is wanted in `document`, as a value of a type.
    ///
    /// # Errors
    /// Errors that `ON ERROR` does not cover: a variable that was not given, a type that JSON does not
    /// become.
    pub fn run(
        &self,
        document: JsonbRef<'_>,
        path: &str,
        passing: &[(DatumRef<'_>, Type)],
        (ty, modifier): (Type, Modifier),
        context: &Context<'_>,
    ) -> Result<Found> {
        let vars = passing
            .iter()
            .map(|(value, ty)| Form::of(*value, *ty, &context.types).to_jsonb(&context.types))
            .collect::<Result<Vec<_>>>()?;
        let mut builder = Builder::new();
        builder.object(|object| {
            for (name, value) in self.names.iter().zip(&vars) {
                object.name(name).value(value.root());
            }
        });
        let vars = builder.finish()?;
        let calendar = Calendar { context: &context.types, use_zone: true };
        let options = Options { vars: Some(vars.root()), silent: false, datetimes: &calendar };
        let path = Path::parse(path)?;
        let found = if self.what == JsonSearchKind::Exists {
            path.exists(document, options).map(|found| Ok(Found::Value(found.into())))
        } else {
            let items = path.query(document, options).map(Vec::from_iter);
            items.map(|items| self.value(&items, ty, modifier, context))
        };
        match found {
            Ok(found) => found,
            Err(error) if error.is_hard() => Err(error.into()),
            Err(error) => Ok(Found::Error(error.into())),
        }
    }

    /// The one value of the items.
    fn value(
        &self,
        items: &[Item<'_>],
        ty: Type,
        modifier: Modifier,
        context: &Context<'_>,
    ) -> Result<Found> {
        let refuse = |state, message: &str| Error::new(state, message);
        let (wrapper, omit_quotes) = match self.what {
            JsonSearchKind::Query { wrapper, omit_quotes } => (wrapper, omit_quotes),
            _ => (Wrapper::Never, true),
        };
        let values = items.iter().map(Item::to_jsonb).collect::<Result<Vec<_>, _>>()?;
        let wrapped = match (wrapper, &values[..]) {
            (_, []) => return Ok(Found::Empty),
            (Wrapper::Never | Wrapper::Conditional, [only]) => only.clone(),
            (Wrapper::Never, _) => {
                return Ok(Found::Error(match self.what {
                    JsonSearchKind::Value => refuse(
                        SqlState::MORE_THAN_ONE_SQL_JSON_ITEM,
                        "JSON path expression in JSON_VALUE must return single scalar item",
                    ),
                    _ => refuse(
                        SqlState::MORE_THAN_ONE_SQL_JSON_ITEM,
                        "JSON path expression in JSON_QUERY must return single item when no \
                         wrapper is requested",
                    )
                    .with_hint("Use the WITH WRAPPER clause to wrap SQL/JSON items into an array."),
                }));
            }
            _ => json::jsonb::build_array(values.iter().map(Jsonb::root))?,
        };
        let value = wrapped.root();
        if self.what == JsonSearchKind::Value {
            if matches!(value.kind(), Kind::Object | Kind::Array) {
                return Ok(Found::Error(refuse(
                    SqlState::SQL_JSON_SCALAR_REQUIRED,
                    "JSON path expression in JSON_VALUE must return single scalar item",
                )));
            }
            if value.kind() == Kind::Null {
                return Ok(Found::Value(Datum::Null));
            }
        }
        let converted = populate::converted(value, ty, modifier, omit_quotes, &context.types);
        match converted {
            Err(error) if error.state() == SqlState::FEATURE_NOT_SUPPORTED => Err(error),
            Err(error) => Ok(Found::Error(error)),
            Ok(value) => Ok(Found::Value(value)),
        }
    }
}
