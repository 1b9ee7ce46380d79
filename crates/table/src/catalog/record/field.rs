//! Fields of records: how numbers, texts, lists and choices lie in bytes.
//!
//! [`Field`] is both directions of one thing. Structs are fields one after the other; the macros make
//! them from the list of their names, so that writing and reading cannot disagree.

use std::sync::Arc;

use types::{Modifier, Oid, Repr, Type};

use super::damaged;
use crate::Result;

/// Something that a record is made of.
pub(super) trait Field: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(input: &mut Input<'_>) -> Result<Self>;
}

/// Bytes that are read from the front.
pub(super) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn u8(&mut self) -> Result<u8> {
        let Some((byte, rest)) = self.0.split_first() else {
            return damaged("a record of the catalog ends too early");
        };
        self.0 = rest;
        Ok(*byte)
    }

    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((bytes, rest)) = self.0.split_at_checked(len) else {
            return damaged("a record of the catalog ends too early");
        };
        self.0 = rest;
        Ok(bytes)
    }

    pub fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 || shift > 0 && byte == 0 {
                return damaged("a number in the catalog is too large or too long");
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        damaged("a number in the catalog is too long")
    }

    /// Fails if something is left.
    pub fn end(&self) -> Result<()> {
        match self.0 {
            [] => Ok(()),
            _ => damaged("a record of the catalog is longer than it should be"),
        }
    }
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Unsigned numbers are varints, signed ones zigzag first.
macro_rules! numbers {
    ($($unsigned:ty)* ; $($signed:ty)*) => {
        $(impl Field for $unsigned {
            fn put(&self, out: &mut Vec<u8>) {
                put_varint(out, u64::from(*self));
            }
            fn take(input: &mut Input<'_>) -> Result<Self> {
                let value = input.varint()?;
                value.try_into().or_else(|_| damaged("a number in the catalog is too large"))
            }
        })*
        $(impl Field for $signed {
            fn put(&self, out: &mut Vec<u8>) {
                let value = i64::from(*self);
                put_varint(out, (value << 1 ^ value >> 63) as u64);
            }
            fn take(input: &mut Input<'_>) -> Result<Self> {
                let value = input.varint()?;
                let value = (value >> 1) as i64 ^ -((value & 1) as i64);
                value.try_into().or_else(|_| damaged("a number in the catalog is too large"))
            }
        })*
    };
}

numbers!(u16 u32 u64 ; i16 i32 i64);

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        match input.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => damaged("a flag in the catalog is neither 0 nor 1"),
        }
    }
}

impl Field for f64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let bytes = input.bytes(8)?;
        Ok(f64::from_le_bytes(bytes.try_into().expect("as many as were asked for")))
    }
}

/// Numbers with a name of their own.
macro_rules! wrapped {
    ($($name:path: $inner:ty, $value:ident => $number:expr, $make:expr;)*) => {
        $(impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                let $value = self;
                <$inner as Field>::put(&$number, out);
            }
            fn take(input: &mut Input<'_>) -> Result<Self> {
                let $value = <$inner as Field>::take(input)?;
                Ok($make)
            }
        })*
    };
}

wrapped! {
    Oid: u32, value => value.0, Oid(value);
    Type: u32, value => value.oid().0, Type(Oid(value));
    Modifier: i32, value => value.0, Modifier(value);
    store::TableId: u32, value => value.0, store::TableId(value);
}

impl Field for Repr {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Repr::from_number(input.u8()?)
            .map_or_else(|| damaged("a representation in the catalog is unknown"), Ok)
    }
}

impl Field for Arc<str> {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let len = input.varint()?;
        let bytes = input.bytes(usize::try_from(len).unwrap_or(usize::MAX))?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) => damaged("a text in the catalog is not UTF-8"),
        }
    }
}

/// An entry, shared.
macro_rules! shared {
    ($($name:ident)*) => {
        $(impl Field for Arc<$name> {
            fn put(&self, out: &mut Vec<u8>) {
                (**self).put(out);
            }
            fn take(input: &mut Input<'_>) -> Result<Self> {
                <$name as Field>::take(input).map(Arc::new)
            }
        })*
    };
}
pub(super) use shared;

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok(if bool::take(input)? { Some(T::take(input)?) } else { None })
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        self.iter().for_each(|item| item.put(out));
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let count = input.varint()?;
        if count > input.0.len() as u64 {
            return damaged("a list in the catalog is longer than its record");
        }
        (0..count).map(|_| T::take(input)).collect()
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok((A::take(input)?, B::take(input)?))
    }
}

impl<A: Field, B: Field, C: Field> Field for (A, B, C) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok((A::take(input)?, B::take(input)?, C::take(input)?))
    }
}

/// A struct is its fields in this order.
macro_rules! fields {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        $(impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn take(input: &mut Input<'_>) -> Result<Self> {
                $(let $field = Field::take(input)?;)*
                Ok($name { $($field),* })
            }
        })*
    };
}
pub(super) use fields;

/// A choice without fields is a byte, the number of the variant.
macro_rules! choices {
    ($($name:ident { $($variant:ident),* $(,)? })*) => {
        $(impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                out.push(*self as u8);
            }
            fn take(input: &mut Input<'_>) -> Result<Self> {
                let number = input.u8()?;
                [$($name::$variant),*]
                    .into_iter()
                    .find(|known| *known as u8 == number)
                    .map_or_else(|| damaged("a kind in the catalog is unknown"), Ok)
            }
        })*
    };
}
pub(super) use choices;
