//! The variables of a block: their types, their values, and the meaning of names in SQL.
//!
//! ```text
//!   number of a value    variable << 16 | field + 1       one of a row
//!                        variable << 16                   one that is no row
//! ```

use std::sync::Arc;

use sql::bind::{Names as _, Variable, Variables};
use sql::parse::ast::Path;
use sql::parse::plpgsql::{Code, VariableType};
use sql::{At, Error};
use types::{Datum, Modifier, Shape, SqlState, Type, TypeSource};

use crate::names::Names;
use crate::session::Session;

/// The number of the value that is assigned to a part of a variable.
pub(super) const ASSIGNED: u32 = u32::MAX;

/// A field of a row.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub name: Arc<str>,
    pub ty: Type,
    pub modifier: Modifier,
    pub value: Datum,
}

/// The declared kind of a variable.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// One value.
    Scalar(Type, Modifier),
    /// A row of a type, with these fields.
    Row(Type, Arc<[Cell]>),
    /// A row of whatever is assigned.
    Record,
    /// One value of whatever type is assigned.
    Any,
}

/// The value of a variable.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    Scalar(Type, Modifier, Datum),
    /// The fields, and which form of a record they are: another one has other names or types.
    Row(Type, Vec<Cell>, u64),
    /// A record without fields yet.
    Unassigned,
}

/// The variables of a block.
pub(super) struct Values<'r> {
    pub code: &'r Code,
    pub kinds: Vec<Kind>,
    pub slots: Vec<Slot>,
    forms: u64,
}

/// The variables that are in sight at one place.
pub(super) struct Scope<'v> {
    pub values: &'v Values<'v>,
    pub seen: Option<usize>,
}

impl<'r> Values<'r> {
    /// Variables without values.
    ///
    /// # Errors
    /// `42704` and others where a type does not exist; places are those in the text of the block.
    pub fn new(code: &'r Code, session: &Session) -> Result<Values<'r>, Error> {
        let mut kinds: Vec<Kind> = Vec::new();
        let statement_context = session.statement_context();
        let names = &*session.names;
        for variable in &code.variables {
            let context = statement_context.types();
            let array_of = |ty: Type| {
                let facts = scalar::facts::Facts(names);
                if facts.is_true_array(ty) { Some(ty) } else { facts.array_of(ty) }
            };
            let arrayed = |ty: Type, modifier, array| match array {
                false => Ok(kind_of(ty, modifier, names)),
                true => match array_of(ty) {
                    Some(array) => Ok(Kind::Scalar(array, modifier)),
                    None => {
                        let name = types::format_type(names, ty, Modifier::NONE);
                        let message = format!("could not find array type for data type {name}");
                        Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
                    }
                },
            };
            kinds.push(match &variable.ty {
                VariableType::Named(name) => {
                    let (ty, modifier) = sql::bind::type_name(name, names, context)?;
                    kind_of(ty, modifier, names)
                }
                VariableType::Record => Kind::Record,
                VariableType::Operand => Kind::Any,
                VariableType::Fixed(ty) => Kind::Scalar(*ty, Modifier::NONE),
                VariableType::Variable(of, array) => match kinds[*of].clone() {
                    Kind::Scalar(ty, modifier) => arrayed(ty, modifier, *array)?,
                    kind => kind,
                },
                VariableType::Column(path, array) => {
                    let (ty, modifier) = column_type(path, names)?;
                    arrayed(ty, modifier, *array)?
                }
                VariableType::Row(path) => row_type(path, names, context)?,
            });
        }
        let slots = vec![Slot::Unassigned; kinds.len()];
        let mut values = Values { code, kinds, slots, forms: 0 };
        for number in 0..values.slots.len() {
            values.clear(number);
        }
        values.slots[sql::parse::plpgsql::FOUND] =
            Slot::Scalar(Type::BOOL, Modifier::NONE, Datum::Bool(false));
        Ok(values)
    }

    /// Makes a variable what it is before anything is assigned.
    pub fn clear(&mut self, number: usize) {
        self.slots[number] = match &self.kinds[number] {
            Kind::Scalar(ty, modifier) => Slot::Scalar(*ty, *modifier, Datum::Null),
            Kind::Row(ty, cells) => Slot::Row(*ty, cells.to_vec(), 0),
            Kind::Record | Kind::Any => Slot::Unassigned,
        };
    }

    /// A value by its number.
    pub fn value(&self, number: u32) -> Option<(&Datum, Type, Modifier)> {
        let (slot, field) = ((number >> 16) as usize, (number & 0xffff) as usize);
        match (self.slots.get(slot)?, field) {
            (Slot::Scalar(ty, modifier, value), 0) => Some((value, *ty, *modifier)),
            (Slot::Row(_, cells, _), field) => {
                let cell = cells.get(field.checked_sub(1)?)?;
                Some((&cell.value, cell.ty, cell.modifier))
            }
            _ => None,
        }
    }

    /// Which form the record has that a value belongs to; 0 for other variables.
    pub fn form(&self, number: u32) -> u64 {
        match self.slots.get((number >> 16) as usize) {
            Some(Slot::Row(_, _, form)) => *form,
            _ => 0,
        }
    }

    /// Gives a record these fields.
    pub fn set_record(&mut self, number: usize, cells: Vec<Cell>) {
        let same = |known: &[Cell]| {
            known.len() == cells.len()
                && known.iter().zip(&cells).all(|(known, cell)| {
                    (&known.name, known.ty, known.modifier) == (&cell.name, cell.ty, cell.modifier)
                })
        };
        let form = match &self.slots[number] {
            Slot::Row(_, known, form) if same(known) => *form,
            _ => {
                self.forms += 1;
                self.forms
            }
        };
        self.slots[number] = Slot::Row(Type::RECORD, cells, form);
    }

    fn has_fields(&self, number: usize) -> bool {
        matches!(self.kinds[number], Kind::Row(..) | Kind::Record)
    }
}

/// The fields of a type of rows, or of a domain over one.
pub(super) fn fields_of(names: &Names, ty: Type) -> Option<Arc<[types::Field]>> {
    match names.shape(scalar::facts::Facts(names).base(ty)) {
        Some(Shape::Composite(fields)) if !ty.is_builtin() => Some(fields),
        _ => None,
    }
}

/// The kind of a variable of a type.
fn kind_of(ty: Type, modifier: Modifier, names: &Names) -> Kind {
    if ty == Type::RECORD {
        return Kind::Record;
    }
    match names.shape(ty) {
        Some(Shape::Composite(fields)) if !ty.is_builtin() => {
            let cells = fields.iter().map(|field| Cell {
                name: Arc::clone(&field.name),
                ty: field.ty,
                modifier: field.modifier,
                value: Datum::Null,
            });
            Kind::Row(ty, cells.collect())
        }
        _ => Kind::Scalar(ty, modifier),
    }
}

/// The relation that a name means.
fn relation_of(
    parts: &[sql::parse::ast::Name],
    names: &Names,
) -> Result<Arc<sql::bind::Relation>, Error> {
    let words: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    let found = match &words[..] {
        [name] => names.relation(None, name),
        [schema, name] => names.relation(Some(schema), name),
        [database, schema, name] if names.is_database(database) => {
            names.relation(Some(schema), name)
        }
        _ => None,
    };
    found.ok_or_else(|| {
        let message = format!("relation \"{}\" does not exist", words.join("."));
        Error::new(SqlState::UNDEFINED_TABLE, message)
    })
}

/// The type of `table.column`.
fn column_type(path: &Path, names: &Names) -> Result<(Type, Modifier), Error> {
    let (column, table) = path.parts.split_last().expect("a path has parts");
    let relation = relation_of(table, names)?;
    let known = relation.columns.iter().find(|known| known.name == column.text);
    known.map(|known| (known.ty, known.modifier)).ok_or_else(|| {
        let (column, table) = (&column.text, &relation.name);
        let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
        Error::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

/// The kind of a variable that has the rows of a relation, or of a composite type.
fn row_type(path: &Path, names: &Names, context: types::Context<'_>) -> Result<Kind, Error> {
    match relation_of(&path.parts, names) {
        Ok(relation) => {
            let cells = relation.columns.iter().map(|column| Cell {
                name: column.name.as_str().into(),
                ty: column.ty,
                modifier: column.modifier,
                value: Datum::Null,
            });
            Ok(Kind::Row(relation.row_type, cells.collect()))
        }
        Err(error) => {
            let name = sql::parse::ast::TypeName {
                name: path.clone(),
                modifiers: Vec::new(),
                fields: None,
                dimensions: 0,
                set: false,
                at: At::NONE,
            };
            match sql::bind::type_name(&name, names, context) {
                Ok((ty, modifier)) => match kind_of(ty, modifier, names) {
                    kind @ Kind::Row(..) => Ok(kind),
                    _ => Err(error),
                },
                Err(_) => Err(error),
            }
        }
    }
}

impl Variables for Scope<'_> {
    fn find(&self, names: &[&str], must: bool) -> types::Result<Option<Variable>> {
        let values = self.values;
        let has_fields = |number: usize| values.has_fields(number);
        let Some((number, used)) = values.code.names.find(names, self.seen, &has_fields) else {
            return Ok(None);
        };
        let field = names.get(used);
        if names.len() > used + 1 {
            return Ok(None);
        }
        let of_slot = (number as u32) << 16;
        let name = &values.code.variables[number].name;
        Ok(match (&values.slots[number], field) {
            (Slot::Scalar(ty, modifier, _), None) => Some(Variable::Value(of_slot, *ty, *modifier)),
            (Slot::Row(ty, cells, _), None) => {
                let fields = cells.iter().zip(1..).map(|(cell, place)| {
                    (cell.name.to_string(), of_slot | place, cell.ty, cell.modifier)
                });
                Some(Variable::Row(*ty, fields.collect()))
            }
            (Slot::Row(_, cells, _), Some(field)) => {
                match cells.iter().position(|cell| *cell.name == **field) {
                    Some(at) => {
                        let cell = &cells[at];
                        let number = of_slot | (at as u32 + 1);
                        Some(Variable::Value(number, cell.ty, cell.modifier))
                    }
                    None if must => return Err(no_field(name, field)),
                    None => None,
                }
            }
            (Slot::Unassigned, _) if must => return Err(not_assigned(name)),
            // It is a variable, whatever its fields are.
            (Slot::Unassigned, None) => Some(Variable::Row(Type::RECORD, Vec::new())),
            (Slot::Unassigned | Slot::Scalar(..), _) => None,
        })
    }
}

/// The error of a field that a record does not have: `42703`.
pub(super) fn no_field(name: &str, field: &str) -> types::Error {
    let message = format!("record \"{name}\" has no field \"{field}\"");
    types::Error::new(SqlState::UNDEFINED_COLUMN, message)
}

/// The error of a record that has no fields yet: `55000`.
pub(super) fn not_assigned(name: &str) -> types::Error {
    let message = format!("record \"{name}\" is not assigned yet");
    types::Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .with_detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}
