//! [`Parts`]: which attributes the composite values of a column consist of.
//!
//! ```text
//!   CREATE TYPE c AS (a int, b text)     a record has a value for each attribute that is there    1 │ x
//!   ALTER TYPE c DROP ATTRIBUTE a,       attributes keep their numbers                            2 b, 3 d
//!     ADD ATTRIBUTE d date               so old values are carried over by number                 x │ NULL
//! ```
//!
//! A stored record does not say which attribute a value is of. The rows of a table are written anew when a type in
//! its columns gets or loses an attribute, and the rows of before are read as the type is now.

use ::types::{Array, Datum, DatumRef, Record, Repr, Result as SqlResult, Type};

use crate::catalog::{Catalog, Relation, TypeEntry, UserTypeKind};

/// How the values of a column are composed, as far as `ALTER TYPE` can change it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Parts {
    /// No composite type is in it, or none that changes while it is stored.
    Whole,
    /// An array of such values.
    Elements(Box<Parts>),
    /// A record with these attributes.
    Record(Vec<Attribute>),
}

/// An attribute of a composite type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Attribute {
    attnum: i16,
    ty: Type,
    repr: Repr,
    parts: Parts,
}

impl Parts {
    /// Returns the parts of the columns of a relation, by position.
    pub fn of_columns(catalog: &Catalog, relation: &Relation) -> Vec<Parts> {
        relation.columns.iter().map(|column| Parts::of(catalog, column.ty)).collect()
    }

    fn of(catalog: &Catalog, ty: Type) -> Parts {
        if ty.is_builtin() {
            return Parts::Whole;
        }
        let elements = |parts| match parts {
            Parts::Whole => Parts::Whole,
            parts => Parts::Elements(Box::new(parts)),
        };
        match catalog.type_entry(ty) {
            Some(TypeEntry::Row(of)) => Parts::of_row(catalog, of),
            Some(TypeEntry::RowArray(of)) => elements(Parts::of_row(catalog, of)),
            Some(TypeEntry::UserArray(of)) => elements(Parts::of(catalog, of.ty)),
            Some(TypeEntry::User(of)) => match &of.kind {
                UserTypeKind::Domain(domain) => Parts::of(catalog, domain.base),
                _ => Parts::Whole,
            },
            None => Parts::Whole,
        }
    }

    fn of_row(catalog: &Catalog, relation: &Relation) -> Parts {
        let attribute = |column: &crate::catalog::Column| Attribute {
            attnum: column.attnum,
            ty: column.ty,
            repr: column.repr,
            parts: Parts::of(catalog, column.ty),
        };
        Parts::Record(relation.live_columns().map(attribute).collect())
    }

    /// A value that is composed as `before` says, composed as these say. An attribute that was added is NULL.
    pub fn carry(&self, before: &Parts, value: DatumRef<'_>) -> SqlResult<Datum> {
        if self == before {
            return Ok(value.to_owned());
        }
        match (self, before, value) {
            (Parts::Elements(parts), Parts::Elements(before), DatumRef::Array(array)) => {
                let elements = array.to_vec();
                let carried = elements.iter().map(|value| parts.carry(before, value.as_ref()));
                let carried = carried.collect::<SqlResult<Vec<_>>>()?;
                let (element, repr) = (array.element_type(), array.element_repr());
                let elements = carried.iter().map(Datum::as_ref);
                Ok(Datum::Array(Array::new(element, repr, &array.dimensions(), elements)?))
            }
            (Parts::Record(attributes), Parts::Record(before), DatumRef::Record(record)) => {
                let values = record.to_vec();
                let carried = attributes.iter().map(|attribute| {
                    let same =
                        |old: &Attribute| old.attnum == attribute.attnum && old.ty == attribute.ty;
                    let at = before.iter().position(same);
                    match at.and_then(|at| Some((&before[at], values.get(at)?))) {
                        Some((old, value)) => attribute.parts.carry(&old.parts, value.as_ref()),
                        None => Ok(Datum::Null),
                    }
                });
                let carried = carried.collect::<SqlResult<Vec<_>>>()?;
                let fields = attributes.iter().zip(&carried);
                let field = fields.map(|(known, value)| (known.ty, known.repr, value.as_ref()));
                Ok(Datum::Record(Record::new(field)))
            }
            // NULL, and what has another type now.
            _ => Ok(value.to_owned()),
        }
    }
}
