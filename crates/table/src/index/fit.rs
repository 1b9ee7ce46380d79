//! [`fit`]: a value as a column holds it with which it is compared.

use types::{Datum, Repr};

/// How a value stands to those that a column can hold.
#[derive(Clone, PartialEq, Debug)]
pub enum Fit {
    /// The column can hold it, like this.
    Value(Datum),
    /// It is NULL.
    Null,
    /// It is below all of them.
    Below,
    /// It is above all of them.
    Above,
}

/// Returns an integer as a column of this representation holds it, and any other value as it is.
pub fn fit(value: Datum, repr: Repr) -> Fit {
    let number = match &value {
        Datum::Null => return Fit::Null,
        Datum::Int2(value) => i64::from(*value),
        Datum::Int4(value) => i64::from(*value),
        Datum::Int8(value) => *value,
        _ => return Fit::Value(value),
    };
    let outside = || if number < 0 { Fit::Below } else { Fit::Above };
    match repr {
        Repr::Int2 => i16::try_from(number).map_or_else(|_| outside(), |n| Fit::Value(n.into())),
        Repr::Int4 => i32::try_from(number).map_or_else(|_| outside(), |n| Fit::Value(n.into())),
        _ => Fit::Value(number.into()),
    }
}
