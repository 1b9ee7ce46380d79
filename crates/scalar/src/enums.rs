//! Enums: the labels that a type has.
//!
//! ```text
//!   enum_first(null::mood)      the first label of the type, whatever the value
//!   enum_range('ok', null)      {ok,happy}
//! ```

use types::{Array, Datum, DatumRef, EnumOrder, Error, Repr, Result, Shape, SqlState, Type};

use crate::facts::Facts;
use crate::function::{Call, Function, functions};

/// The type of the first argument, and the places of its labels in their order.
fn labels(call: &Call<'_>) -> Result<(Type, Vec<EnumOrder>)> {
    let types = call.context.types.types;
    let ty = call.args.first().copied().unwrap_or(Type::NONE);
    match types.shape_of(Facts(types).base(ty)) {
        Ok(Shape::Enum(labels)) => Ok((ty, labels.iter().map(|(order, _)| order).collect())),
        _ => {
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "could not determine actual enum type"))
        }
    }
}

/// The label at an end of the type.
fn end(call: &Call<'_>, pick: impl FnOnce(&[EnumOrder]) -> Option<&EnumOrder>) -> Result<Datum> {
    let (ty, labels) = labels(call)?;
    match pick(&labels) {
        Some(label) => Ok(Datum::Enum(*label)),
        None => Err(Error::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("enum {} contains no values", call.context.types.types.name_of(ty)),
        )),
    }
}

/// The labels from one to another; NULL stands for the end of the type.
fn range(call: &Call<'_>, low: DatumRef<'_>, high: DatumRef<'_>) -> Result<Array> {
    let (ty, labels) = labels(call)?;
    let label = |value| match value {
        DatumRef::Enum(order) => Some(order),
        _ => None,
    };
    let (low, high) = (label(low), label(high));
    let within: Vec<_> = labels
        .into_iter()
        .filter(|label| low.is_none_or(|low| *label >= low))
        .filter(|label| high.is_none_or(|high| *label <= high))
        .map(DatumRef::Enum)
        .collect();
    Array::from_elements(ty, Repr::Enum, within)
}

pub(crate) const TABLE: &[Function] = functions! {
    3528 enum_first(ANYENUM) -> ANYENUM [stable, nullable] = [call, _args]
        end(call, <[EnumOrder]>::first);
    3529 enum_last(ANYENUM) -> ANYENUM [stable, nullable] = [call, _args]
        end(call, <[EnumOrder]>::last);
    3530 enum_range(ANYENUM, ANYENUM) -> ANYARRAY [stable, nullable] = [call, args]
        range(call, args[0], args[1]);
    3531 enum_range(ANYENUM) -> ANYARRAY [stable, nullable] = [call, _args]
        range(call, DatumRef::Null, DatumRef::Null);
};
