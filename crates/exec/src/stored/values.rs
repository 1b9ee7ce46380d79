//! The values of a row that only SQL can compute: the expressions of indexes, defaults, generated
//! columns, checks.
//!
//! `table` asks for them where a statement changes a row, and where a foreign key changes rows of
//! other tables for it. Programs are made when they are first asked for, and kept by the session as
//! long as the catalog stays the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sql::bind::{ColumnDefault, Names, Relation};
use sql::eval::{Frame, Program};
use sql::plan::{CheckedBy, Expr, ExprKind};
use table::catalog::{self, IndexPart};
use table::rows::RowValues;
use types::{Context, Datum, Error, Modifier, Oid, Result, SqlState};

use crate::op::guard;
use plan::Schema;

/// The programs of the expressions of a catalog. To be made anew when the catalog changes.
#[derive(Default)]
pub struct Programs {
    indexes: Mutex<HashMap<Oid, Arc<IndexPrograms>>>,
    tables: Mutex<HashMap<Oid, Arc<TablePrograms>>>,
    /// By partitioned table, the parts of its key that are expressions.
    partitions: Mutex<HashMap<Oid, Arc<[Program]>>>,
}

impl Programs {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }
}

struct IndexPrograms {
    keys: Vec<Program>,
    predicate: Option<Program>,
}

struct TablePrograms {
    defaults: Vec<Option<Program>>,
    generated: Vec<(usize, Program)>,
    guard: guard::Guard,
    /// The places of the columns that are there.
    live: Vec<usize>,
}

/// Computes what only SQL can say of rows, for one statement.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    /// The names of the catalog.
    pub names: &'a dyn Names,
    /// The known facts about tables.
    pub schema: &'a dyn Schema,
    /// The programs so far.
    pub programs: &'a Programs,
    /// The frame of evaluations.
    pub frame: Frame<'a>,
}

impl Values<'_> {
    fn types(&self) -> Context<'_> {
        self.frame.context.types
    }

    fn program(&self, text: &str, over: &Relation) -> Result<Program> {
        let expr = sql::bind::expression(text, Some(over), self.names, self.types());
        Program::compile(&expr.map_err(|error| error.cause)?, self.names)
    }

    fn bound(&self, table: Oid) -> Result<Arc<Relation>> {
        let facts = self.schema.table(table).ok_or_else(|| {
            let message = format!("relation with OID {table} does not exist");
            Error::new(SqlState::UNDEFINED_TABLE, message)
        })?;
        Ok(Arc::clone(&facts.relation))
    }

    fn of_index(&self, relation: &catalog::Relation) -> Result<Arc<IndexPrograms>> {
        let known = |programs: &Programs| {
            let made = programs.indexes.lock().unwrap_or_else(PoisonError::into_inner);
            made.get(&relation.oid).cloned()
        };
        if let Some(programs) = known(self.programs) {
            return Ok(programs);
        }
        let Some(index) = relation.index() else { return Err(internal("an index is none")) };
        let over = self.bound(index.table)?;
        let mut keys = Vec::new();
        for key in &index.keys {
            if let IndexPart::Expr(text) = &key.part {
                keys.push(self.program(&text.text, &over)?);
            }
        }
        let predicate = match &index.predicate {
            Some(text) => Some(self.program(&text.text, &over)?),
            None => None,
        };
        let programs = Arc::new(IndexPrograms { keys, predicate });
        let mut made = self.programs.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(made.entry(relation.oid).or_insert(programs)))
    }

    fn of_table(&self, relation: &catalog::Relation) -> Result<Arc<TablePrograms>> {
        {
            let made = self.programs.tables.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(programs) = made.get(&relation.oid) {
                return Ok(Arc::clone(programs));
            }
        }
        let over = self.bound(relation.oid)?;
        let (mut defaults, mut generated) = (Vec::new(), Vec::new());
        for (place, column) in over.columns.iter().enumerate() {
            let value = |text: &str, over: Option<&Relation>| {
                let expr = sql::bind::column_value(text, over, column, self.names, self.types());
                Program::compile(&expr.map_err(|error| error.cause)?, self.names)
            };
            let mut default = None;
            match &column.default {
                // A domain may refuse NULL.
                ColumnDefault::None if self.types().types.is_domain(column.ty) => {
                    default = Some(value("NULL", None)?);
                }
                ColumnDefault::None => {}
                ColumnDefault::Expr(text) => default = Some(value(text, None)?),
                ColumnDefault::Identity { sequence, .. } => {
                    let kind = ExprKind::NextValue(*sequence);
                    let next = Expr::of(kind, types::Type::INT8, sql::At::NONE);
                    default = Some(Program::compile(&next, self.names)?);
                }
                ColumnDefault::Generated(text) => {
                    generated.push((place, value(text, Some(&over))?));
                }
            }
            defaults.push(default);
        }
        let facts = self.schema.table(relation.oid);
        let mut checks = Vec::new();
        for (name, text) in facts.iter().flat_map(|facts| &facts.checks) {
            let program = self.program(text, &over)?;
            let by = CheckedBy::Constraint(name.clone());
            checks.push(guard::Check { by, of: None, program });
        }
        let columns = over.columns.iter().map(|column| guard::Column {
            name: column.name.clone(),
            ty: column.ty,
            modifier: column.modifier,
            not_null: column.not_null,
        });
        let guard = guard::Guard {
            schema: over.schema.clone(),
            table: over.name.clone(),
            columns: columns.collect(),
            checks,
            is_partition: false,
        };
        let live = over.columns.iter().map(|column| super::position(column.attnum)).collect();
        let programs = Arc::new(TablePrograms { defaults, generated, guard, live });
        let mut made = self.programs.tables.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(made.entry(relation.oid).or_insert(programs)))
    }

    /// The columns of a row that are there.
    fn live(&self, table: Oid, row: &[Datum]) -> Result<Vec<Datum>> {
        let over = self.bound(table)?;
        let place = |attnum| row.get(super::position(attnum)).cloned().unwrap_or_default();
        Ok(over.columns.iter().map(|column| place(column.attnum)).collect())
    }
}

impl Values<'_> {
    fn of_partitions(&self, relation: &catalog::Relation) -> Result<Arc<[Program]>> {
        {
            let made = self.programs.partitions.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(programs) = made.get(&relation.oid) {
                return Ok(Arc::clone(programs));
            }
        }
        let over = self.bound(relation.oid)?;
        let keys = relation.partitioning().into_iter().flat_map(|partitioning| &partitioning.keys);
        let program = |key: &catalog::PartitionKey| match &key.part {
            IndexPart::Expr(text) => Some(self.program(&text.text, &over)),
            IndexPart::Column(_) => None,
        };
        let programs: Arc<[Program]> = keys.filter_map(program).collect::<Result<Vec<_>>>()?.into();
        let mut made = self.programs.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(made.entry(relation.oid).or_insert(programs)))
    }
}

impl RowValues for Values<'_> {
    fn partition_keys(
        &mut self,
        table: &catalog::Relation,
        row: &[Datum],
        keys: &mut Vec<Datum>,
    ) -> table::Result<()> {
        let Some(partitioning) = table.partitioning() else { return Ok(()) };
        let is_expr = |key: &catalog::PartitionKey| matches!(key.part, IndexPart::Expr(_));
        let programs = match partitioning.keys.iter().any(is_expr) {
            true => self.of_partitions(table)?,
            false => Arc::default(),
        };
        let live = if programs.is_empty() { Vec::new() } else { self.live(table.oid, row)? };
        let mut programs = programs.iter();
        for key in &partitioning.keys {
            keys.push(match key.part {
                IndexPart::Column(attnum) => {
                    row.get(super::position(attnum)).cloned().unwrap_or_default()
                }
                IndexPart::Expr(_) => match programs.next() {
                    Some(program) => program.run(&live, self.frame)?,
                    None => Datum::Null,
                },
            });
        }
        Ok(())
    }

    fn index(
        &mut self,
        index: &catalog::Relation,
        row: &[Datum],
        keys: &mut Vec<Datum>,
    ) -> table::Result<bool> {
        let programs = self.of_index(index)?;
        let table = index.index().map(|index| index.table).unwrap_or_default();
        let row = self.live(table, row)?;
        if let Some(predicate) = &programs.predicate
            && !predicate.test(&row, self.frame)?
        {
            return Ok(false);
        }
        for program in &programs.keys {
            keys.push(program.run(&row, self.frame)?);
        }
        Ok(true)
    }

    fn default(&mut self, table: &catalog::Relation, position: usize) -> table::Result<Datum> {
        let programs = self.of_table(table)?;
        let place = programs.live.iter().position(|live| *live == position);
        match place.and_then(|place| programs.defaults[place].as_ref()) {
            Some(default) => {
                let value = default.run(sql::eval::Row::NONE, self.frame)?;
                // A number of a sequence is fitted to the column.
                let column = &table.columns[position];
                Ok(match (value, column.repr) {
                    (Datum::Int8(value), types::Repr::Int4) => {
                        Datum::Int4(value.try_into().map_err(|_| beyond("integer"))?)
                    }
                    (Datum::Int8(value), types::Repr::Int2) => {
                        Datum::Int2(value.try_into().map_err(|_| beyond("smallint"))?)
                    }
                    (value, _) => {
                        Modifier::NONE.apply(value, column.ty, types::Coercion::Assignment)?
                    }
                })
            }
            None => Ok(Datum::Null),
        }
    }

    fn complete(&mut self, table: &catalog::Relation, row: &mut [Datum]) -> table::Result<()> {
        let programs = self.of_table(table)?;
        let is_there = |place: &usize| !row[*place].is_null();
        if programs.generated.is_empty()
            && programs.guard.asks_for_nulls_alone(programs.live.iter().map(is_there))
        {
            return Ok(());
        }
        let mut live: Vec<Datum> = programs.live.iter().map(|place| row[*place].clone()).collect();
        for (place, program) in &programs.generated {
            live[*place] = program.run(&live, self.frame)?;
            row[programs.live[*place]] = live[*place].clone();
        }
        programs
            .guard
            .check_by(&live, self.types(), &mut |check, row| check.run(row, self.frame))?;
        Ok(())
    }

    fn context(&self) -> Context<'_> {
        self.types()
    }
}

/// 22003 for a number of a sequence that does not fit its column.
fn beyond(ty: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{ty} out of range"))
}

fn internal(message: &str) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, message)
}
