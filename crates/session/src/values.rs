//! What only SQL can say of rows: values of expressions in indexes, defaults, generated columns and
//! checks, for whoever changes rows of tables outside of plans.

use std::collections::HashMap;
use std::sync::Arc;

use sql::eval::{Frame, Program};
use table::catalog::{ConstraintKind, ConstraintOn, IndexPart, Relation};
use table::rows::RowValues;
use types::{Context, Datum, DatumRef, Error, Object, Oid, SqlState};

use crate::client::Surroundings;
use crate::host::Host;
use crate::names::Names;

/// The programs of one index.
struct IndexPrograms {
    predicate: Option<Program>,
    keys: Vec<Program>,
    /// The positions of the live columns of its table.
    live: Vec<usize>,
}

/// The programs of one table.
struct TablePrograms {
    generated: Vec<(usize, Program)>,
    checks: Vec<(String, Program)>,
    live: Vec<usize>,
}

/// Computes expressions over rows as the catalog of `names` says.
pub(crate) struct Values<'a> {
    around: &'a Surroundings<'a>,
    names: Arc<Names>,
    indexes: HashMap<Oid, Arc<IndexPrograms>>,
    tables: HashMap<Oid, Arc<TablePrograms>>,
}

fn live(relation: &Relation) -> Vec<usize> {
    relation.live_columns().map(|column| column.attnum as usize - 1).collect()
}

impl<'a> Values<'a> {
    /// With the catalog as it is now for the statement.
    pub fn new(around: &'a Surroundings<'a>, names: Arc<Names>) -> Self {
        Values { around, names, indexes: HashMap::new(), tables: HashMap::new() }
    }

    fn bound(&self, relation: &Relation) -> types::Result<Arc<sql::bind::Relation>> {
        let schema = self.names.schema_name(relation.schema);
        sql::bind::Names::relation(&*self.names, Some(schema), &relation.name).ok_or_else(|| {
            let message = format!("relation \"{}\" does not exist", relation.name);
            Error::new(SqlState::UNDEFINED_TABLE, message)
        })
    }

    /// A program over the live columns of a relation.
    fn program(&self, text: &str, over: Option<&sql::bind::Relation>) -> types::Result<Program> {
        let expr = sql::bind::expression(text, over, &*self.names, self.context())
            .map_err(|error| error.cause)?;
        self.compile(&expr)
    }

    /// A program for a bound expression.
    pub fn compile(&self, expr: &sql::plan::Expr) -> types::Result<Program> {
        let types: &dyn types::TypeSource = &*self.names;
        Program::compile(expr, types)
    }

    /// The value of a program over some columns of a row.
    pub fn run(&self, program: &Program, row: &[Datum], live: &[usize]) -> types::Result<Datum> {
        let row: Vec<DatumRef<'_>> = live.iter().map(|at| row[*at].as_ref()).collect();
        let context = self.around.context();
        let host = Host { surroundings: self.around };
        program.run(&row[..], Frame { context: &context, params: &[], host: &host })
    }

    fn of_index(&mut self, index: &Relation) -> types::Result<Arc<IndexPrograms>> {
        if let Some(known) = self.indexes.get(&index.oid) {
            return Ok(Arc::clone(known));
        }
        let data = index.index().ok_or_else(|| gone(index))?;
        let table = self.names.catalog.relation(data.table).cloned().ok_or_else(|| gone(index))?;
        let over = self.bound(&table)?;
        let mut keys = Vec::new();
        for key in &data.keys {
            if let IndexPart::Expr(expr) = &key.part {
                keys.push(self.program(&expr.text, Some(&over))?);
            }
        }
        let predicate = match &data.predicate {
            Some(predicate) => Some(self.program(&predicate.text, Some(&over))?),
            None => None,
        };
        let made = Arc::new(IndexPrograms { predicate, keys, live: live(&table) });
        self.indexes.insert(index.oid, Arc::clone(&made));
        Ok(made)
    }

    fn of_table(&mut self, table: &Relation) -> types::Result<Arc<TablePrograms>> {
        if let Some(known) = self.tables.get(&table.oid) {
            return Ok(Arc::clone(known));
        }
        let over = self.bound(table)?;
        let mut generated = Vec::new();
        for (column, bound) in table.live_columns().zip(&over.columns) {
            if let Some(default) = column.default.as_ref().filter(|default| default.is_generated) {
                let expr = sql::bind::column_value(
                    &default.expr.text,
                    Some(&over),
                    bound,
                    &*self.names,
                    self.context(),
                )
                .map_err(|error| error.cause)?;
                generated.push((column.attnum as usize - 1, self.compile(&expr)?));
            }
        }
        let mut checks = Vec::new();
        for constraint in self.names.catalog.constraints_of(ConstraintOn::Table(table.oid)) {
            if let ConstraintKind::Check { expr, .. } = &constraint.kind {
                let program = self.program(&expr.text, Some(&over))?;
                checks.push((constraint.name.to_string(), program));
            }
        }
        let made = Arc::new(TablePrograms { generated, checks, live: live(table) });
        self.tables.insert(table.oid, Arc::clone(&made));
        Ok(made)
    }

    /// The value of a column where none is given, from its default or its sequence.
    pub fn value_of_default(&mut self, table: &Relation, position: usize) -> types::Result<Datum> {
        let over = self.bound(table)?;
        let Some(column) = table.columns.get(position) else { return Ok(Datum::Null) };
        if let Some(identity) = &column.identity {
            let host = Host { surroundings: self.around };
            let value = sql::eval::Host::next_value(&host, identity.sequence)?;
            return Ok(match column.ty {
                types::Type::INT2 => Datum::Int2(value as i16),
                types::Type::INT4 => Datum::Int4(value as i32),
                _ => Datum::Int8(value),
            });
        }
        let bound = over.columns.iter().find(|bound| bound.attnum == column.attnum);
        let (Some(default), Some(bound)) = (&column.default, bound) else { return Ok(Datum::Null) };
        let expr =
            sql::bind::column_value(&default.expr.text, None, bound, &*self.names, self.context())
                .map_err(|error| error.cause)?;
        let program = self.compile(&expr)?;
        self.run(&program, &[], &[])
    }
}

fn gone(relation: &Relation) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, format!("\"{}\" is gone", relation.name))
}

impl RowValues for Values<'_> {
    fn index(
        &mut self,
        index: &Relation,
        row: &[Datum],
        keys: &mut Vec<Datum>,
    ) -> table::Result<bool> {
        let programs = self.of_index(index)?;
        if let Some(predicate) = &programs.predicate
            && !matches!(self.run(predicate, row, &programs.live)?, Datum::Bool(true))
        {
            return Ok(false);
        }
        for key in &programs.keys {
            keys.push(self.run(key, row, &programs.live)?);
        }
        Ok(true)
    }

    fn default(&mut self, table: &Relation, position: usize) -> table::Result<Datum> {
        Ok(self.value_of_default(table, position)?)
    }

    fn complete(&mut self, table: &Relation, row: &mut [Datum]) -> table::Result<()> {
        let programs = self.of_table(table)?;
        for (position, program) in &programs.generated {
            row[*position] = self.run(program, row, &programs.live)?;
        }
        for (name, program) in &programs.checks {
            if matches!(self.run(program, row, &programs.live)?, Datum::Bool(false)) {
                return Err(check_violated(&self.names, table, name, row).into());
            }
        }
        Ok(())
    }

    fn context(&self) -> Context<'_> {
        let mut context = self.around.types();
        context.types = &*self.names;
        context.objects = &*self.names;
        context
    }
}

/// 23514 for a new row.
fn check_violated(names: &Names, table: &Relation, name: &str, row: &[Datum]) -> Error {
    let message =
        format!("new row for relation \"{}\" violates check constraint \"{name}\"", table.name);
    let style = types::Style::default();
    let mut context = Context::new(&style);
    context.types = names;
    let texts = table.live_columns().map(|column| {
        let value = row.get(column.attnum as usize - 1).cloned().unwrap_or_default();
        let text = types::text::to_string(value.as_ref(), column.ty, column.modifier, &context);
        text.unwrap_or_else(|| "null".to_owned())
    });
    let texts: Vec<String> = texts.collect();
    Error::new(SqlState::CHECK_VIOLATION, message)
        .with_detail(format!("Failing row contains ({}).", texts.join(", ")))
        .about(Object::Schema, names.schema_name(table.schema))
        .about(Object::Table, &*table.name)
        .about(Object::Constraint, name)
}
