//! Partitions as bytes.

use types::{Datum, Oid};

use super::damaged;
use super::field::{Field, Input, choices, fields};
use super::layout::Value;
use crate::Result;
use crate::catalog::{
    PartitionBound, PartitionKey, PartitionOf, PartitionStrategy, Partitioning, RangeEnd,
};

fields! {
    Partitioning { strategy, keys, partitions }
    PartitionKey { part, ty, modifier, repr, collation, class }
    PartitionOf { parent, bound }
}

choices! {
    PartitionStrategy { Range, List, Hash }
}

impl Field for PartitionBound {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            PartitionBound::Default => out.push(0),
            PartitionBound::List(values) => {
                out.push(1);
                let value = |value: &Datum| (!value.is_null()).then(|| Value(value.clone()));
                values.iter().map(value).collect::<Vec<_>>().put(out);
            }
            PartitionBound::Range(low, high) => {
                out.push(2);
                low.put(out);
                high.put(out);
            }
            PartitionBound::Hash { modulus, remainder } => {
                out.push(3);
                modulus.put(out);
                remainder.put(out);
            }
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok(match input.u8()? {
            0 => PartitionBound::Default,
            1 => {
                let values: Vec<Option<Value>> = Field::take(input)?;
                let value = |value: Option<Value>| value.map_or(Datum::Null, |value| value.0);
                PartitionBound::List(values.into_iter().map(value).collect())
            }
            2 => PartitionBound::Range(Field::take(input)?, Field::take(input)?),
            3 => match (Field::take(input)?, Field::take(input)?) {
                (modulus, remainder) if remainder < modulus => {
                    PartitionBound::Hash { modulus, remainder }
                }
                _ => return damaged("a remainder that is not below its modulus"),
            },
            _ => return damaged("a bound of a partition of an unknown kind"),
        })
    }
}

impl Field for RangeEnd {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            RangeEnd::Min => out.push(0),
            RangeEnd::Value(value) => {
                out.push(1);
                Value(value.clone()).put(out);
            }
            RangeEnd::Max => out.push(2),
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok(match input.u8()? {
            0 => RangeEnd::Min,
            1 => RangeEnd::Value(Value::take(input)?.0),
            2 => RangeEnd::Max,
            _ => return damaged("an end of a range of an unknown kind"),
        })
    }
}

/// The tag before the constraint that another is a part of; the kind of the other one follows.
pub(super) const PART: u8 = 7;

/// The constraint that another is a part of, where its record says so.
pub(super) fn take_part(input: &mut Input<'_>) -> Result<Option<Oid>> {
    if input.0.first() != Some(&PART) {
        return Ok(None);
    }
    input.u8()?;
    Field::take(input).map(Some)
}
