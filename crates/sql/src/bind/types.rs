//! Types by name, and the meaning of their modifiers.

use types::{Modifier, SqlState, Type, builtin};

use super::Binder;
use crate::error::{At, Error, Result};
use crate::parse::ast::{Expr, ExprKind, TypeName};

/// The fields of an interval that has them all.
const ALL_FIELDS: i32 = 0x7fff;

impl Binder<'_> {
    /// The type that a name means, and its modifier.
    ///
    /// # Errors
    /// `42704` where there is no such type; `22023` and `42601` for modifiers that it cannot have.
    pub fn type_of_name(&self, name: &TypeName) -> Result<(Type, Modifier)> {
        let element = self.element_type(name)?;
        let modifier = self.modifier(element, name)?;
        if name.dimensions == 0 {
            return Ok((element, modifier));
        }
        match self.facts().array_of(element) {
            Some(array) => Ok((array, modifier)),
            None => Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("could not find array type for data type {}", self.type_name(element)),
            )
            .at(name.at)),
        }
    }

    fn element_type(&self, name: &TypeName) -> Result<Type> {
        let parts = self.in_database(&name.name.parts, 2);
        let (schema, last) = match parts.map_err(|error| Error { at: At::NONE, ..error })? {
            [schema, last] => (Some(schema.text.as_str()), &last.text),
            names => (None, &names[0].text),
        };
        if matches!(schema, None | Some("pg_catalog"))
            && let Some(facts) = builtin::by_name(last)
        {
            return Ok(facts.ty);
        }
        if let Some(ty) = self.names.user_type(schema, last) {
            return Ok(ty);
        }
        if let Some(schema) = schema
            && !self.names.has_schema(schema)
        {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message).at(name.at));
        }
        let message = format!("type \"{}\" does not exist", name.name);
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(name.at))
    }

    fn modifier(&self, ty: Type, name: &TypeName) -> Result<Modifier> {
        if name.modifiers.is_empty() && name.fields.is_none() {
            return Ok(Modifier::NONE);
        }
        let mut numbers = Vec::with_capacity(name.modifiers.len() + 1);
        if ty == Type::INTERVAL {
            numbers.push(name.fields.unwrap_or(ALL_FIELDS));
        }
        for expr in &name.modifiers {
            numbers.push(number(expr, name.at)?);
        }
        Modifier::parse(ty, &numbers).map_err(|error| Error::from(error).at(name.at))
    }

    /// The name of a type in SQL.
    pub(super) fn type_name(&self, ty: Type) -> String {
        self.facts().name(ty)
    }
}

/// A number in the parentheses after a type's name.
fn number(expr: &Expr, at: At) -> Result<i32> {
    match &expr.kind {
        ExprKind::Number(digits) => digits.parse().map_err(|_| {
            let message = format!("invalid input syntax for type integer: \"{digits}\"");
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message).at(at)
        }),
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            "type modifiers must be simple constants or identifiers",
        )
        .at(at)),
    }
}
