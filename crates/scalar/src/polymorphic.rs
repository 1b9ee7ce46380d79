//! Polymorphic types: the types that `anyelement` and the like stand for in a call.
//!
//! ```text
//!   anyelement anyarray anynonarray anyenum                  one type for all of them, exactly
//!   anyrange anymultirange                                   ranges of that type
//!   anycompatible anycompatiblearray anycompatiblenonarray   a common type that all are cast to
//! ```
//!
//! The arrays are arrays of the type that the others stand for. Several range types can have bounds of one type, so a
//! range type follows only from the type of another range or multirange.

use types::{Error, Result, SqlState, Type};

use crate::facts::Facts;
use crate::resolve;

/// True for the types that stand for others.
pub fn is_polymorphic(ty: Type) -> bool {
    is_exact(ty) || is_compatible(ty)
}

fn is_exact(ty: Type) -> bool {
    matches!(
        ty,
        Type::ANYELEMENT
            | Type::ANYARRAY
            | Type::ANYNONARRAY
            | Type::ANYENUM
            | Type::ANYRANGE
            | Type::ANYMULTIRANGE
    )
}

fn is_compatible(ty: Type) -> bool {
    matches!(ty, Type::ANYCOMPATIBLE | Type::ANYCOMPATIBLEARRAY | Type::ANYCOMPATIBLENONARRAY)
}

/// The types that the two families stand for.
#[derive(Clone, Copy, Default)]
struct Bound {
    exact: Option<Type>,
    /// The range type of `anyrange` and `anymultirange`.
    range: Option<Type>,
    compatible: Option<Type>,
}

/// True if actual types can stand in the places of declared ones; unknown literals and NULLs
/// always can.
pub(crate) fn is_consistent(facts: Facts<'_>, actual: &[Type], declared: &[Type]) -> bool {
    bind(facts, actual, declared).is_ok()
}

/// The types that the arguments are to be cast to, and the type of the result.
///
/// # Errors
/// 42804 where no type fits; 42P18 where nothing says what one stands for.
pub(crate) fn enforce(
    facts: Facts<'_>,
    actual: &[Type],
    declared: &[Type],
    ret: Type,
) -> Result<(Vec<Type>, Type)> {
    let bound = bind(facts, actual, declared)?;
    let args = declared
        .iter()
        .zip(actual)
        .map(|(declared, actual)| match *declared {
            // A value of "any" type stays what it is.
            Type::ANY => Ok(*actual),
            declared => concrete(facts, declared, bound),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok((args, concrete(facts, ret, bound)?))
}

/// The type that a declared one stands for.
fn concrete(facts: Facts<'_>, declared: Type, bound: Bound) -> Result<Type> {
    let family = if matches!(declared, Type::ANYRANGE | Type::ANYMULTIRANGE) {
        bound.range
    } else if is_exact(declared) {
        bound.exact
    } else if is_compatible(declared) {
        bound.compatible
    } else {
        return Ok(declared);
    };
    let Some(element) = family else {
        return Err(Error::new(
            SqlState::DATATYPE_MISMATCH,
            "could not determine polymorphic type because input has type unknown",
        ));
    };
    match declared {
        Type::ANYARRAY | Type::ANYCOMPATIBLEARRAY => facts.array_of(element).ok_or_else(|| {
            Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("could not find array type for data type {}", facts.name(element)),
            )
        }),
        Type::ANYMULTIRANGE => facts.multirange_of(element).ok_or_else(|| {
            Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("could not find multirange type for data type {}", facts.name(element)),
            )
        }),
        _ => Ok(element),
    }
}

/// Finds what the families stand for.
fn bind(facts: Facts<'_>, actual: &[Type], declared: &[Type]) -> Result<Bound> {
    let mut exact = None;
    let mut range: Option<Type> = None;
    let mut candidates = Vec::new();
    let mut has_compatible = false;
    let (mut scalar_only, mut enum_only) = (false, false);
    for (&actual, &declared) in actual.iter().zip(declared) {
        has_compatible |= is_compatible(declared);
        enum_only |= declared == Type::ANYENUM;
        let wants_array = matches!(declared, Type::ANYARRAY | Type::ANYCOMPATIBLEARRAY);
        if !is_polymorphic(declared) || actual == Type::UNKNOWN {
            continue;
        }
        let refuse = |what: &str| {
            Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "argument declared {declared} is not a {what} type but type {}",
                    facts.name(facts.base(actual)),
                    declared = facts.name(declared),
                ),
            )
        };
        let element = if matches!(declared, Type::ANYRANGE | Type::ANYMULTIRANGE) {
            let found = match declared {
                Type::ANYRANGE => facts.base(actual),
                _ => facts.range_of(actual).ok_or_else(|| refuse("multirange"))?,
            };
            let bounds = facts.bounds(found).ok_or_else(|| refuse("range"))?;
            if let Some(known) = range.replace(found)
                && known != found
            {
                return Err(mismatch(facts, declared, known, actual, false));
            }
            bounds
        } else if wants_array {
            let family = if is_exact(declared) { "anyarray" } else { "anycompatiblearray" };
            facts.element(facts.base(actual)).ok_or_else(|| {
                Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "argument declared {family} is not an array but type {}",
                        facts.name(facts.base(actual))
                    ),
                )
            })?
        } else {
            actual
        };
        if matches!(declared, Type::ANYNONARRAY | Type::ANYCOMPATIBLENONARRAY) {
            scalar_only = true;
        }
        if is_compatible(declared) {
            candidates.push(element);
        } else if let Some(known) = exact {
            if known != element {
                return Err(mismatch(facts, declared, known, actual, wants_array));
            }
        } else {
            exact = Some(element);
        }
    }
    let compatible = if !has_compatible {
        None
    } else if candidates.is_empty() {
        Some(Type::TEXT)
    } else {
        Some(resolve::common_type(facts, &candidates, "arguments")?)
    };
    let bound = Bound { exact, range, compatible };
    for found in [bound.exact, bound.compatible].into_iter().flatten() {
        if scalar_only && facts.is_true_array(facts.base(found)) {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!("type matched to anynonarray is an array type: {}", facts.name(found)),
            ));
        }
    }
    if let Some(found) = bound.exact
        && enum_only
        && !facts.is_enum(found)
    {
        return Err(Error::new(
            SqlState::DATATYPE_MISMATCH,
            format!("type matched to anyenum is not an enum type: {}", facts.name(found)),
        ));
    }
    Ok(bound)
}

fn mismatch(facts: Facts<'_>, declared: Type, known: Type, actual: Type, array: bool) -> Error {
    let (message, known) = if array {
        (
            "arguments declared \"anyarray\" are not all alike",
            facts.array_of(known).unwrap_or(known),
        )
    } else if declared == Type::ANYELEMENT {
        ("arguments declared \"anyelement\" are not all alike", known)
    } else if declared == Type::ANYRANGE {
        ("arguments declared \"anyrange\" are not all alike", known)
    } else {
        ("arguments of a polymorphic function are not all alike", known)
    };
    Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(format!(
        "{} versus {}",
        facts.name(known),
        facts.name(actual)
    ))
}
