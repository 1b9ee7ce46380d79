//! The conditions on every row of a table: no NULL where none may be, and the checks.

use sql::eval::Program;
use sql::plan::{CheckedBy, Written};
use types::{Context, Datum, Error, Modifier, Object, Result, SqlState, Type};

use super::Row;
use crate::ctx::Env;

/// A column of the table, as messages need it.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) modifier: Modifier,
    pub(crate) not_null: bool,
}

/// The constraints of a table that one row decides.
pub(crate) struct Guard {
    pub(crate) schema: String,
    pub(crate) table: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) checks: Vec<Check>,
    /// True for a partition, which has only the rows of its bound.
    pub(crate) is_partition: bool,
}

/// A check of the table, or what a view or a policy asks of rows that are written.
pub(crate) struct Check {
    pub(crate) by: CheckedBy,
    /// The rows that are asked; `None` for all that are written.
    pub(crate) of: Option<Written>,
    pub(crate) program: Program,
}

impl Guard {
    /// Checks a row that is to be stored.
    ///
    /// # Errors
    /// `23502`, `23514`, `44000`, and `42501` for what a policy does not accept.
    pub(crate) fn check(&self, env: &Env<'_>, row: &Row, written: Written) -> Result<()> {
        let types = env.ctx.frame.context.types;
        for Check { by, of, program } in &self.checks {
            if let CheckedBy::Policy(policy) = by
                && of.is_none_or(|of| of == written)
                && env.value(program, row)? != Datum::Bool(true)
            {
                let policy = policy.as_ref().map(|name| format!(" \"{name}\""));
                let message = format!(
                    "new row violates row-level security policy{} for table \"{}\"",
                    policy.unwrap_or_default(),
                    self.table
                );
                return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
        }
        self.check_by(row, types, &mut |check, row| env.value(check, row))
    }

    /// True if a row is fine without a look at its values: there are no checks, and no NULL where none may be.
    pub(crate) fn asks_for_nulls_alone(&self, is_there: impl Iterator<Item = bool>) -> bool {
        self.checks.is_empty()
            && self
                .columns
                .iter()
                .zip(is_there)
                .all(|(column, is_there)| is_there || !column.not_null)
    }

    /// As [`Guard::check`], with what computes the checks.
    pub(crate) fn check_by(
        &self,
        row: &Row,
        types: Context<'_>,
        value: &mut dyn FnMut(&Program, &Row) -> Result<Datum>,
    ) -> Result<()> {
        for (column, value) in self.columns.iter().zip(row) {
            if column.not_null && value.is_null() {
                let message = format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    column.name, self.table
                );
                let error = Error::new(SqlState::NOT_NULL_VIOLATION, message);
                return Err(self.about(types, error, row).about(Object::Column, &column.name));
            }
        }
        for Check { by, program, .. } in &self.checks {
            match by {
                CheckedBy::Policy(_) => {}
                CheckedBy::View(name) => {
                    if value(program, row)? != Datum::Bool(true) {
                        let message = format!("new row violates check option for view \"{name}\"");
                        let error = Error::new(SqlState::WITH_CHECK_OPTION_VIOLATION, message);
                        return Err(error.with_detail(self.failing(types, row)));
                    }
                }
                // A check that is NULL holds.
                CheckedBy::Constraint(name) => {
                    if value(program, row)? == Datum::Bool(false) {
                        let message = format!(
                            "new row for relation \"{}\" violates check constraint \"{name}\"",
                            self.table
                        );
                        let error = Error::new(SqlState::CHECK_VIOLATION, message);
                        return Err(self.about(types, error, row).about(Object::Constraint, name));
                    }
                }
            }
        }
        Ok(())
    }

    /// The error for a row that is not in the bound of the partition.
    pub(crate) fn not_in_partition(&self, types: Context<'_>, row: &Row) -> Error {
        let message =
            format!("new row for relation \"{}\" violates partition constraint", self.table);
        self.about(types, Error::new(SqlState::CHECK_VIOLATION, message), row)
    }

    fn about(&self, types: Context<'_>, error: Error, row: &Row) -> Error {
        error
            .with_detail(self.failing(types, row))
            .about(Object::Schema, &self.schema)
            .about(Object::Table, &self.table)
    }

    fn failing(&self, types: Context<'_>, row: &Row) -> String {
        let values: Vec<String> = self
            .columns
            .iter()
            .zip(row)
            .map(|(column, value)| {
                let text =
                    types::text::to_string(value.as_ref(), column.ty, column.modifier, &types);
                shortened(text.unwrap_or_else(|| "null".to_owned()))
            })
            .collect();
        format!("Failing row contains ({}).", values.join(", "))
    }
}

/// A value as messages show it: at most 64 bytes.
fn shortened(mut text: String) -> String {
    const BYTES_MAX: usize = 64;
    if text.len() > BYTES_MAX {
        let end = (0..=BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    text
}
