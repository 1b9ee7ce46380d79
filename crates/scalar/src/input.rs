//! Types by their names: their names as text, and whether a text is a value of one.
//!
//! ```text
//!   format_type(1043, 14)                        character varying(10)
//!   pg_input_is_valid('abc', 'integer')          false
//!   pg_input_error_info('abc', 'integer')        (invalid input syntax ..., , , 22P02)
//! ```

use types::{
    Context, Datum, DatumRef, Error, Modifier, Oid, Record, Repr, Result, SqlState, Type, text,
};

use crate::facts::Facts;
use crate::function::{Function, functions};

/// The type that a name means, with the numbers in its parentheses.
fn named(name: &str, context: &Context<'_>) -> Result<(Type, Modifier)> {
    if let Some(element) = name.trim_end().strip_suffix("[]") {
        let (element, modifier) = named(element, context)?;
        let array = Facts(context.types).array_of(element).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
        })?;
        return Ok((array, modifier));
    }
    let (base, numbers) = match name.split_once('(') {
        Some((base, rest)) => {
            let numbers = rest.trim_end().strip_suffix(')').unwrap_or(rest);
            let numbers = numbers.split(',').map(|number| number.trim().parse::<i32>());
            let numbers = numbers.collect::<std::result::Result<Vec<_>, _>>().map_err(|_| {
                Error::new(SqlState::SYNTAX_ERROR, format!("invalid type name \"{name}\""))
            })?;
            (base.trim_end(), numbers)
        }
        None => (name, Vec::new()),
    };
    let Datum::Oid(oid) = text::parse(base, Type::REGTYPE, Modifier::NONE, context)? else {
        return Err(crate::function::internal("a type has no number"));
    };
    let ty = Type(oid);
    let modifier = if numbers.is_empty() { Modifier::NONE } else { Modifier::parse(ty, &numbers)? };
    Ok((ty, modifier))
}

/// The error of a text as a value of a type; `None` if it is valid.
fn fault(value: &str, name: &str, context: &Context<'_>) -> Result<Option<Error>> {
    let (ty, modifier) = named(name, context)?;
    Ok(text::parse(value, ty, modifier, context).err())
}

/// A message and the other fields of its error, as a row.
fn describe(error: Option<Error>) -> Record {
    let parts = error.as_ref().map(|error| {
        let code = error.state().code().to_owned();
        (error.message().to_owned(), error.detail(), error.hint(), code)
    });
    let parts = match &parts {
        Some((message, detail, hint, code)) => {
            [Some(message.as_str()), *detail, *hint, Some(code.as_str())]
        }
        None => [None; 4],
    };
    let field =
        |part: Option<_>| (Type::TEXT, Repr::Text, part.map_or(DatumRef::Null, DatumRef::Text));
    Record::new(parts.map(field))
}

/// The names of types, as old catalogs of functions show them.
fn list(types: DatumRef<'_>, context: &Context<'_>) -> String {
    let DatumRef::Array(types) = types else { return String::new() };
    let name = |oid| match oid {
        DatumRef::Oid(oid) => types::format_type(context.types, Type(oid), Modifier::NONE),
        _ => String::new(),
    };
    types.iter().map(name).collect::<Vec<_>>().join(", ")
}

pub(crate) const TABLE: &[Function] = functions! {
    1081 format_type(OID, INT4) -> TEXT [stable, nullable] = (call; ty: Option<Oid>, to: Option<i32>)
        ty.map(|ty| match (Type(ty), to) {
            // Without a modifier the name is the one of the standard, which means one character.
            (Type::BPCHAR, None) => "character".to_owned(),
            (Type::BIT, None) => "bit".to_owned(),
            (ty, to) => {
                let modifier = to.map_or(Modifier::NONE, Modifier);
                types::format_type(call.context.types.types, ty, modifier)
            }
        });
    1349 oidvectortypes(OIDVECTOR) -> TEXT [stable] = (call; types: DatumRef<'_>)
        list(types, &call.context.types);
    6315 pg_basetype(REGTYPE) -> REGTYPE [stable] = (call; ty: Oid)
        Facts(call.context.types.types).base(Type(ty)).oid();
    6210 pg_input_is_valid(TEXT, TEXT) -> BOOL [stable] = (call; value: &str, name: &str)
        fault(value, name, &call.context.types)?.is_none();
    6211 pg_input_error_info(TEXT, TEXT) -> RECORD [stable] = (call; value: &str, name: &str)
        describe(fault(value, name, &call.context.types)?);
};
