//! Variables of a procedural language: names in a statement that are no columns.
//!
//! ```text
//!   SELECT a, x FROM t WHERE b = r.b        x: a variable    r: a record
//!   SELECT a, $1 FROM t WHERE b = $2        1: x   2: field b of r
//! ```
//!
//! A name that is a column as well is refused, as PostgreSQL does (`plpgsql.variable_conflict = error`). Texts that
//! the catalog keeps, such as those of views and defaults, see no variables.

use std::borrow::Cow;

use types::{Modifier, SqlState, Type};

use super::Binder;
use super::scope::Described;
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, Name};
use crate::plan::{Expr, ExprKind};

/// The variable that a name means.
#[derive(Clone, Debug)]
pub enum Variable {
    /// One value: its number, which the parameter stands for, and its type.
    Value(u32, Type, Modifier),
    /// A row of a type: its fields, each a value.
    Row(Type, Vec<(String, u32, Type, Modifier)>),
}

/// A source of variables.
pub trait Variables {
    /// The variable that a name of one to three parts means.
    ///
    /// # Errors
    /// `42703` and `55000` where `must` is true and the name is that of a record which has no such field, or no
    /// fields yet.
    fn find(&self, names: &[&str], must: bool) -> types::Result<Option<Variable>>;
}

impl Binder<'_> {
    /// The variable that a name means, where there are variables.
    fn variable(&self, names: &[Name], must: bool) -> Result<Option<Variable>> {
        let Some(variables) = self.variables.filter(|_| !self.is_stored()) else { return Ok(None) };
        if names.len() > 3 {
            return Ok(None);
        }
        let names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        variables.find(&names, must).map_err(Error::from)
    }

    /// A column, or else the variable of its name.
    pub(super) fn or_variable(
        &mut self,
        column: Result<Expr>,
        names: &[Name],
        at: At,
    ) -> Result<Expr> {
        if self.variables.is_none() {
            return column;
        }
        match column {
            Ok(found) => match self.variable(names, false)? {
                Some(_) => Err(both(names, at)),
                None => Ok(found),
            },
            Err(error) if is_unknown(&error) => match self.variable(names, true)? {
                Some(variable) => Ok(self.value_of(variable, at)),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// The columns of `name.*`, or else the fields of the variable.
    pub(super) fn or_fields(
        &mut self,
        columns: Result<Vec<(String, Expr)>>,
        names: &[Name],
        at: At,
    ) -> Result<Vec<(String, Expr)>> {
        if self.variables.is_none() || names.is_empty() {
            return columns;
        }
        match columns {
            Ok(found) => match self.variable(names, false)? {
                Some(_) => Err(both(names, at)),
                None => Ok(found),
            },
            Err(error) if is_unknown(&error) => match self.variable(names, true)? {
                Some(Variable::Row(_, fields)) => Ok(fields
                    .into_iter()
                    .map(|(name, number, ty, modifier)| {
                        (name, self.parameter(number, ty, modifier, at))
                    })
                    .collect()),
                _ => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Values of a row to be inserted, with the fields of a variable in the place of `variable.*`.
    pub(super) fn spread_variables<'e>(
        &mut self,
        row: &'e [ast::Expr],
    ) -> Result<Cow<'e, [ast::Expr]>> {
        let is_star = |expr: &ast::Expr| matches!(&expr.kind, ast::ExprKind::Star(names) if !names.is_empty());
        if self.variables.is_none() || !row.iter().any(is_star) {
            return Ok(Cow::Borrowed(row));
        }
        let mut spread = Vec::new();
        for expr in row {
            match &expr.kind {
                ast::ExprKind::Star(names) if is_star(expr) => {
                    let Some(Variable::Row(_, fields)) = self.variable(names, true)? else {
                        spread.push(expr.clone());
                        continue;
                    };
                    spread.extend(fields.into_iter().map(|(text, ..)| {
                        let field = Name { text, at: expr.at };
                        let names = [&names[..], &[field]].concat();
                        ast::Expr { kind: ast::ExprKind::Column(names), at: expr.at }
                    }));
                }
                _ => spread.push(expr.clone()),
            }
        }
        Ok(Cow::Owned(spread))
    }

    fn value_of(&mut self, variable: Variable, at: At) -> Expr {
        match variable {
            Variable::Value(number, ty, modifier) => self.parameter(number, ty, modifier, at),
            Variable::Row(ty, fields) => {
                let names: Described = match ty {
                    Type::RECORD => fields
                        .iter()
                        .map(|(name, _, ty, modifier)| (name.clone(), *ty, *modifier))
                        .collect(),
                    _ => Vec::new(),
                };
                let fields = fields
                    .into_iter()
                    .map(|(_, number, ty, modifier)| self.parameter(number, ty, modifier, at))
                    .collect();
                let names = names.into_iter().map(|(name, ..)| name).collect();
                Expr::of(ExprKind::Row { fields, names }, ty, at)
            }
        }
    }

    /// The parameter that stands for a variable.
    pub(super) fn parameter(&mut self, number: u32, ty: Type, modifier: Modifier, at: At) -> Expr {
        self.named_at.push((at, number));
        let known = self.used.iter().position(|used| *used == number);
        let index = known.unwrap_or_else(|| {
            self.used.push(number);
            self.params.push(ty);
            self.used.len() - 1
        });
        Expr { kind: ExprKind::Param(index), ty, modifier, at }
    }
}

/// True if nothing has the name.
fn is_unknown(error: &Error) -> bool {
    matches!(error.cause.state(), SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE)
}

fn both(names: &[Name], at: At) -> Error {
    let names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
    let message = format!("column reference \"{}\" is ambiguous", names.join("."));
    Error::new(SqlState::AMBIGUOUS_COLUMN, message)
        .detail("It could refer to either a PL/pgSQL variable or a table column.")
        .at(at)
}
