//! Records: a row of values, each with a type of its own.
//!
//! ```text
//!   count     one (repr, type) for each field             values                       names
//!   02        03 17 00 00 00   08 19 00 00 00             flag [nulls] value value     [...]
//!             int4             text
//! ```
//!
//! As with arrays the bytes are the value: [`Record`] shares them, [`RecordRef`] looks at them.
//!
//! The names of the fields belong to the type of the record. Only the rows of a subquery have a type
//! that the catalog does not have. Such a record has the names behind its values: for each field its
//! modifier (4 bytes), the length of the name (a varint) and the name. Order and equality ignore them.

use std::fmt;
use std::sync::Arc;

use crate::packed::{self, DEPTH_MAX, Sequence, damaged};
use crate::{Datum, DatumRef, Modifier, Oid, Repr, Result, Type};

/// The bytes of a field's representation and type.
const FIELD_BYTES: usize = 5;

/// A record that is owned; clones share it.
#[derive(Clone)]
pub struct Record(Arc<[u8]>);

/// A record that lies elsewhere.
#[derive(Clone, Copy)]
pub struct RecordRef<'a>(&'a [u8]);

impl Record {
    /// The record with these fields: for each its type, how it is held, and the value.
    ///
    /// # Panics
    /// Where a value is held otherwise.
    pub fn new<'a>(fields: impl IntoIterator<Item = (Type, Repr, DatumRef<'a>)>) -> Self {
        let fields: Vec<_> = fields.into_iter().collect();
        let mut bytes = Vec::new();
        packed::put_varint(&mut bytes, fields.len() as u64);
        for (ty, repr, value) in &fields {
            assert!(value.repr().is_none_or(|of| of == *repr), "{value:?} in {repr:?}");
            bytes.push(*repr as u8);
            bytes.extend_from_slice(&ty.oid().0.to_le_bytes());
        }
        packed::put_sequence(&mut bytes, fields.len(), fields.iter().map(|(_, _, value)| *value));
        Self(bytes.into())
    }

    /// The same record with names for its fields, and the modifiers of their types.
    ///
    /// # Panics
    /// Where there are not as many names as fields.
    #[must_use]
    pub fn named<'n>(
        &self,
        names: impl IntoIterator<Item = (&'n str, Modifier), IntoIter: ExactSizeIterator>,
    ) -> Self {
        let names = names.into_iter();
        let fields = self.as_ref().iter();
        assert_eq!(names.len(), fields.len(), "a name for each field");
        let values = self.0.len() - fields.behind().len();
        let mut bytes = self.0[..values].to_vec();
        for (name, modifier) in names {
            bytes.extend_from_slice(&modifier.0.to_le_bytes());
            packed::put_varint(&mut bytes, name.len() as u64);
            bytes.extend_from_slice(name.as_bytes());
        }
        Self(bytes.into())
    }

    /// A look at the record.
    pub fn as_ref(&self) -> RecordRef<'_> {
        RecordRef(&self.0)
    }
}

impl<'a> RecordRef<'a> {
    /// The record in `bytes`, which [`RecordRef::as_bytes`] once gave.
    ///
    /// # Errors
    /// XX001 where the bytes are no record.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        Self::check(bytes, 0)
    }

    /// As [`RecordRef::from_bytes`], for a record that lies `depth` deep in others.
    pub(crate) fn check(bytes: &'a [u8], depth: u32) -> Result<Self> {
        if depth > DEPTH_MAX {
            return Err(damaged("arrays and records lie too deep in one another"));
        }
        let (heads, sequence) = Self::parts(bytes)?;
        let mut values = sequence.values;
        for (at, head) in heads.chunks_exact(FIELD_BYTES).enumerate() {
            let (_, repr) = field(head)?;
            if !sequence.is_null(at) {
                packed::take(&mut values, repr, depth)?;
            }
        }
        if !values.is_empty() {
            for _ in heads.chunks_exact(FIELD_BYTES) {
                take_name(&mut values)?;
            }
        }
        if !values.is_empty() {
            return Err(damaged("a record goes on after its last field"));
        }
        Ok(Self(bytes))
    }

    /// The record in bytes that passed [`RecordRef::check`] before.
    pub(crate) fn sound(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn parts(bytes: &'a [u8]) -> Result<(&'a [u8], Sequence<'a>)> {
        let mut rest = bytes;
        let count = usize::try_from(packed::take_varint(&mut rest)?).unwrap_or(usize::MAX);
        let heads = packed::take_bytes(&mut rest, count.saturating_mul(FIELD_BYTES))?;
        Ok((heads, Sequence::new(rest, count)?))
    }

    /// The bytes of the record.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// A record of its own, equal to this one.
    pub fn to_owned(self) -> Record {
        Record(self.0.into())
    }

    /// How many fields there are.
    pub fn len(self) -> usize {
        self.iter().len()
    }

    /// True if there are no fields.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value of the field at `at`, from 0.
    pub fn get(self, at: usize) -> Option<DatumRef<'a>> {
        self.iter().nth(at).map(|(_, _, value)| value)
    }

    /// The fields: for each its type, how it is held, and the value.
    pub fn iter(self) -> Fields<'a> {
        let (heads, sequence) =
            Self::parts(self.0).expect("checked when the record was read or made");
        Fields { heads, sequence, values: sequence.values, at: 0 }
    }

    /// The names that the record brings along, and the modifiers of its fields; `None` if they
    /// are those of its type.
    pub fn names(self) -> Option<Vec<(&'a str, Modifier)>> {
        let mut rest = self.iter().behind();
        if rest.is_empty() {
            return None;
        }
        let name = |_| take_name(&mut rest).expect("checked when the record was read or made");
        Some((0..self.len()).map(name).collect())
    }

    /// The values of the fields as values of their own.
    pub fn to_vec(self) -> Vec<Datum> {
        self.iter().map(|(_, _, value)| value.to_owned()).collect()
    }
}

fn field(head: &[u8]) -> Result<(Type, Repr)> {
    let repr = Repr::from_number(head[0]).ok_or_else(|| damaged("a field is of nothing"))?;
    let oid = u32::from_le_bytes(head[1..].try_into().expect("four bytes follow the first"));
    Ok((Type(Oid(oid)), repr))
}

fn take_name<'a>(bytes: &mut &'a [u8]) -> Result<(&'a str, Modifier)> {
    let modifier = Modifier(i32::from_le_bytes(packed::take_array(bytes)?));
    let length = usize::try_from(packed::take_varint(bytes)?).unwrap_or(usize::MAX);
    let name = std::str::from_utf8(packed::take_bytes(bytes, length)?);
    Ok((name.map_err(|_| damaged("the name of a field is not valid UTF-8"))?, modifier))
}

/// The fields of a record: for each its type, how it is held, and the value.
#[derive(Clone)]
pub struct Fields<'a> {
    heads: &'a [u8],
    sequence: Sequence<'a>,
    values: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// The bytes after the values.
    fn behind(mut self) -> &'a [u8] {
        self.by_ref().for_each(drop);
        self.values
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (Type, Repr, DatumRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.heads.split_at_checked(FIELD_BYTES)?;
        self.heads = rest;
        let (ty, repr) = field(head).expect("checked when the record was read or made");
        let value = if self.sequence.is_null(self.at) {
            DatumRef::Null
        } else {
            packed::take_again(&mut self.values, repr)
        };
        self.at += 1;
        Some((ty, repr, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.heads.len() / FIELD_BYTES;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Fields<'_> {}

impl fmt::Debug for RecordRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Record(")?;
        f.debug_list().entries(self.iter().map(|(_, _, value)| value)).finish()?;
        f.write_str(")")
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
