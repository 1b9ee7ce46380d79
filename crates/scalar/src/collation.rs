//! Functions that plans call for text under the collation of a locale: sort keys, and upper and
//! lower case.
//!
//! ```text
//!   name < 'b' COLLATE "sv-x-icu"     collation_key(name, 'sv') < collation_key('b', 'sv')
//!   max(name)                         collation_text(max(collation_key(name, 'sv')))
//!   name = 'b', nondeterministic      collation_class(name, l) = collation_class('b', l)
//! ```
//!
//! The binder makes these calls, so the rest of the server compares `bytea`. The keys of an array are
//! an array of its elements' keys.

use std::sync::Arc;

use collate::Collation;
use types::{Array, Datum, DatumRef, Error, Oid, Repr, Result, SqlState, Type};

use crate::function::{Function, functions, internal};

/// `collation_key`
pub const KEY: Oid = Oid(9570);
/// `collation_class`
pub const CLASS: Oid = Oid(9571);
/// `collation_text`
pub const TEXT: Oid = Oid(9572);
/// `collation_lower`
pub const LOWER: Oid = Oid(9573);
/// `collation_upper`
pub const UPPER: Oid = Oid(9574);
/// `collation_initcap`
pub const INITCAP: Oid = Oid(9575);

/// The collation of a locale.
fn collation(locale: &str) -> Result<Arc<Collation>> {
    collate::of(locale).map_err(|unfit| {
        let message = format!("could not open collator for locale \"{locale}\": {unfit}");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })
}

/// The key of a text, or those of the texts in an array.
fn keys(
    value: DatumRef<'_>,
    locale: &str,
    write: fn(&Collation, &str, &mut Vec<u8>),
) -> Result<Datum> {
    let collation = collation(locale)?;
    let key = |value: DatumRef<'_>| match value {
        DatumRef::Text(text) | DatumRef::Folded(text) => {
            let mut key = Vec::with_capacity(text.len() * 3 + 8);
            write(&collation, text, &mut key);
            Ok(Datum::bytea(key))
        }
        DatumRef::Null => Ok(Datum::Null),
        other => Err(internal(format!("{other:?} has no sort key"))),
    };
    let DatumRef::Array(array) = value else { return key(value) };
    let keys: Vec<Datum> = array.iter().map(key).collect::<Result<_>>()?;
    let keys = keys.iter().map(Datum::as_ref);
    Ok(Array::new(Type::BYTEA, Repr::Bytea, &array.dimensions(), keys)?.into())
}

/// The key that equal texts under a nondeterministic collation of a locale share; NULL of NULL.
///
/// # Errors
/// Fails if this release does not have the locale.
pub fn class(value: DatumRef<'_>, locale: &str) -> Result<Datum> {
    if value.is_null() { Ok(Datum::Null) } else { keys(value, locale, Collation::class) }
}

fn text_of(key: &[u8]) -> Result<&str> {
    collate::text_of(key).ok_or_else(|| {
        Error::new(SqlState::INVALID_PARAMETER_VALUE, "the bytes are not those of a sort key")
    })
}

pub(crate) const TABLE: &[Function] = functions! {
    9570 collation_key(ANYELEMENT, TEXT) -> ANYELEMENT = (value: DatumRef<'_>, locale: &str)
        keys(value, locale, Collation::key);
    9571 collation_class(ANYELEMENT, TEXT) -> ANYELEMENT = (value: DatumRef<'_>, locale: &str)
        keys(value, locale, Collation::class);
    9572 collation_text(BYTEA) -> TEXT = (key: &[u8]) text_of(key);
    9573 collation_lower(TEXT, TEXT) -> TEXT = (text: &str, locale: &str)
        collation(locale).map(|collation| collation.lower(text));
    9574 collation_upper(TEXT, TEXT) -> TEXT = (text: &str, locale: &str)
        collation(locale).map(|collation| collation.upper(text));
    9575 collation_initcap(TEXT, TEXT) -> TEXT = (text: &str, locale: &str)
        collation(locale).map(|collation| collation.capitalize(text));
};
