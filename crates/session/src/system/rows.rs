//! Rows of computed relations: made column by column, by name.
//!
//! ```text
//!   table.row(&[("oid", oid(11)), ("nspname", text("pg_catalog"))])      what is not said is NULL,
//!                                                                        or nothing: 0, false, ''
//! ```

use std::collections::HashMap;
use std::iter::empty;
use std::sync::Arc;

use exec::stored::ComputedRows;
use types::{Array, Datum, Oid, Repr, Type, builtin};

use super::System;
use crate::client::Client;
use crate::cursor::Cursor;
use crate::files::FileTable;
use crate::names::Names;
use crate::statement::Prepared;

/// The context from which rows are made.
#[derive(Clone, Copy)]
pub struct CatalogContext<'a> {
    /// The catalog.
    pub names: &'a Names,
    /// The session.
    pub client: &'a Client,
    /// Its prepared statements.
    pub statements: &'a HashMap<String, Prepared>,
    /// Its cursors.
    pub cursors: &'a HashMap<String, Cursor>,
    /// The files that the statement reads.
    pub files: &'a [Arc<FileTable>],
}

/// The rows of one relation.
pub struct Rows {
    system: &'static System,
    /// The rows so far.
    pub rows: Vec<Vec<Datum>>,
}

impl Rows {
    pub(super) fn of(system: &'static System) -> Self {
        Rows { system, rows: Vec::new() }
    }

    /// Adds a row with these columns.
    pub(super) fn row(&mut self, values: &[(&str, Datum)]) {
        let mut row: Vec<Datum> = self.system.columns.iter().map(nothing).collect();
        for (name, value) in values {
            let place = self.system.columns.iter().position(|column| column.name == *name);
            debug_assert!(place.is_some(), "{} has no column {name}", self.system.name);
            if let Some(place) = place {
                row[place] = value.clone();
            }
        }
        self.rows.push(row);
    }
}

/// The value of a column that nothing is said of.
fn nothing(column: &super::SystemColumn) -> Datum {
    if !column.not_null {
        return Datum::Null;
    }
    match builtin::facts(column.ty).and_then(|facts| facts.repr) {
        Some(Repr::Bool) => Datum::Bool(false),
        Some(Repr::Int2) => Datum::Int2(0),
        Some(Repr::Int4) => Datum::Int4(0),
        Some(Repr::Int8) => Datum::Int8(0),
        Some(Repr::Float4) => Datum::Float4(0.0),
        Some(Repr::Oid) => Datum::Oid(Oid::NONE),
        Some(Repr::Text) => Datum::text(""),
        Some(Repr::Bytea) => Datum::bytea(Vec::new()),
        Some(Repr::Array) => {
            let element = builtin::facts(column.ty).map_or(Type::OID, |facts| facts.element);
            let repr = builtin::facts(element).and_then(|facts| facts.repr).unwrap_or(Repr::Oid);
            Datum::Array(Array::empty(element, repr))
        }
        _ => Datum::Null,
    }
}

/// A text.
pub fn text(value: &str) -> Datum {
    Datum::text(value)
}

/// A text that may not be there.
pub fn text_or_null(value: Option<&str>) -> Datum {
    value.map_or(Datum::Null, Datum::text)
}

/// A `"char"`.
pub fn letter(value: char) -> Datum {
    Datum::text(value.to_string())
}

/// A number of an object.
pub fn oid(value: Oid) -> Datum {
    Datum::Oid(value)
}

/// The number of a type.
pub fn type_oid(value: Type) -> Datum {
    Datum::Oid(value.oid())
}

/// A truth value.
pub fn bool(value: bool) -> Datum {
    Datum::Bool(value)
}

/// A `smallint`.
pub fn int2(value: usize) -> Datum {
    Datum::Int2(i16::try_from(value).unwrap_or(i16::MAX))
}

/// An array of texts.
pub fn texts<'a>(element: Type, values: impl IntoIterator<Item = &'a str>) -> Datum {
    let values: Vec<Datum> = values.into_iter().map(Datum::text).collect();
    array(element, Repr::Text, 1, &values)
}

/// An array of one dimension that begins at `lower`.
pub fn array(element: Type, repr: Repr, lower: i32, values: &[Datum]) -> Datum {
    if values.is_empty() {
        return Datum::Array(Array::empty(element, repr));
    }
    let dimension = types::Dimension { length: values.len() as i32, lower };
    let values: Vec<_> = values.iter().map(Datum::as_ref).collect();
    let made = Array::new(element, repr, &[dimension], values);
    Datum::Array(made.unwrap_or_else(|_| Array::empty(element, repr)))
}

/// An `int2vector`.
pub fn int2vector(values: impl IntoIterator<Item = i16>) -> Datum {
    let values: Vec<Datum> = values.into_iter().map(Datum::Int2).collect();
    array(Type::INT2, Repr::Int2, 0, &values)
}

/// An `oidvector`.
pub fn oidvector(values: impl IntoIterator<Item = Oid>) -> Datum {
    let values: Vec<Datum> = values.into_iter().map(Datum::Oid).collect();
    array(Type::OID, Repr::Oid, 0, &values)
}

/// An array of `smallint`.
pub fn int2s(values: &[i16]) -> Datum {
    let values: Vec<Datum> = values.iter().copied().map(Datum::Int2).collect();
    array(Type::INT2, Repr::Int2, 1, &values)
}

impl exec::stored::Computed for CatalogContext<'_> {
    fn rows(&self, relation: Oid, attnums: &[i16]) -> types::Result<ComputedRows> {
        if let Some(file) = self.files.iter().find(|file| file.relation.oid == relation) {
            return Ok(file.rows(attnums));
        }
        let Some(system) = super::by_oid(relation) else { return Ok(Box::new(empty())) };
        let rows = super::compute(system, *self)?;
        let pick = |row: Vec<Datum>| {
            let value = |attnum: &i16| match usize::try_from(*attnum - 1) {
                Ok(place) => row.get(place).cloned().unwrap_or_default(),
                Err(_) if *attnum == sql::plan::system::TABLE => Datum::Oid(relation),
                Err(_) => Datum::Null,
            };
            attnums.iter().map(value).collect()
        };
        let rows: Vec<Vec<Datum>> = rows.into_iter().map(pick).collect();
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}
