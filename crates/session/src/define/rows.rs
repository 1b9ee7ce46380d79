//! The effects of definitions on existing rows: indexes are filled, constraints checked, rows
//! rewritten.

use std::sync::Arc;

use ::table::catalog::{Catalog, Constraint, ConstraintKind, IndexPart, Relation};
use ::table::method::ColumnSet;
use ::table::rows::{Batch, Change, Cursor, LOAD_BYTES_MIN, Load, RowValues, Table};
use types::{Datum, DatumRef, Error as SqlError, Object, Oid, SqlState};

use super::DdlContext;
use crate::error::{Error, Result};
use crate::evaluate::Evaluator;
use crate::progress::Task;

/// How many rows are looked at at once.
const ROWS_AT_ONCE: usize = 500;

impl DdlContext<'_, '_> {
    /// The handle of a table as a catalog has it.
    fn handle(&self, catalog: &Catalog, table: Oid) -> Result<Arc<Table>> {
        let handles = &self.around.client.instance.handles;
        handles.table(catalog, table).ok_or_else(|| {
            let message = format!("table with OID {table} does not exist");
            Error::new(SqlState::UNDEFINED_TABLE, message)
        })
    }

    /// Gives each row of a table to `each`, until it says that it is enough.
    fn each_row(
        &mut self,
        table: &Arc<Table>,
        each: &mut dyn FnMut(Vec<Datum>) -> Result<bool>,
    ) -> Result<()> {
        let mut cursor = Cursor::over(table, txn::KeyRange::ALL, false);
        let mut batch = Batch::new();
        while !cursor.is_at_end() {
            batch.clear();
            let latest = self.ddl.transaction().latest();
            let view = txn::View::of(self.ddl.transaction(), &latest);
            cursor.fill(view, ColumnSet::All, &mut batch, ROWS_AT_ONCE)?;
            for row in batch.iter() {
                if !each(row.to_datums()?)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The result of `look` for the first row of a table for which it has one.
    pub fn find_row<T>(
        &mut self,
        table: Oid,
        look: &mut dyn FnMut(&[Datum]) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let catalog = Arc::clone(self.ddl.catalog());
        let table = self.handle(&catalog, table)?;
        let mut found = None;
        self.each_row(&table, &mut |row| {
            found = look(&row)?;
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// True if a table has no rows.
    pub fn is_empty(&mut self, table: Oid) -> Result<bool> {
        // Rows that are still to be written anew lie where they did.
        let catalog = Arc::clone(&self.before);
        let table = self.handle(&catalog, table)?;
        let mut empty = true;
        self.each_row(&table, &mut |_| {
            empty = false;
            Ok(false)
        })?;
        Ok(empty)
    }

    /// Fills an index that has just been made.
    pub fn fill_index(&mut self, table: Oid, index: Oid) -> Result<()> {
        let catalog = Arc::clone(self.ddl.catalog());
        let table = self.handle(&catalog, table)?;
        let at = table.indexes().iter().position(|known| known.relation().oid == index);
        let Some(at) = at else { return Ok(()) };
        let progress = &self.around.client.slot.status.progress;
        progress.begin(Task::CreateIndex, table.relation().oid, index);
        let names = Arc::clone(&self.names);
        let evaluator = Evaluator::new(self.around, &names);
        let mut values = evaluator.values();
        self.checks.set_catalog(catalog);
        let mut change =
            Change { txn: self.ddl.transaction(), values: &mut values, checks: self.checks };
        if !table.build_index(&mut change, at)? {
            self.ddl.leave_past(index)?;
        }
        Ok(())
    }

    /// Checks that no row has NULL in a column.
    pub fn check_no_nulls(&mut self, table: Oid, attnum: i16, column: &str) -> Result<()> {
        let catalog = Arc::clone(self.ddl.catalog());
        let table = self.handle(&catalog, table)?;
        let at = attnum as usize - 1;
        let mut found = false;
        self.each_row(&table, &mut |row| {
            found = row[at].is_null();
            Ok(!found)
        })?;
        if !found {
            return Ok(());
        }
        let name = &*table.relation().name;
        let message = format!("column \"{column}\" of relation \"{name}\" contains null values");
        Err(SqlError::new(SqlState::NOT_NULL_VIOLATION, message)
            .about(Object::Schema, table.schema())
            .about(Object::Table, name)
            .about(Object::Column, column)
            .into())
    }

    /// Checks that the rows of a table meet a constraint.
    pub fn check_rows(&mut self, table: Oid, constraint: &Arc<Constraint>) -> Result<()> {
        let catalog = Arc::clone(self.ddl.catalog());
        let table = self.handle(&catalog, table)?;
        match &constraint.kind {
            ConstraintKind::Check { expr, .. } => {
                let names = Arc::clone(&self.names);
                let evaluator = Evaluator::new(self.around, &names);
                let relation = table.relation();
                let schema = names.schema_name(relation.schema);
                let over = sql::bind::Names::relation(&*names, Some(schema), &relation.name);
                let bound =
                    sql::bind::expression(&expr.text, over.as_deref(), &*names, self.context())
                        .map_err(|error| Error::from(error.cause))?;
                let program = evaluator.compile(&bound)?;
                let live = live(relation);
                let mut broken = false;
                self.each_row(&table, &mut |row| {
                    let row = refs(&row, &live);
                    let value = program.run(&row, evaluator.frame())?;
                    broken = matches!(value, Datum::Bool(false));
                    Ok(!broken)
                })?;
                if !broken {
                    return Ok(());
                }
                let name = &*relation.name;
                let message = format!(
                    "check constraint \"{}\" of relation \"{name}\" is violated by some row",
                    constraint.name
                );
                Err(SqlError::new(SqlState::CHECK_VIOLATION, message)
                    .about(Object::Schema, table.schema())
                    .about(Object::Table, name)
                    .about(Object::Constraint, &*constraint.name)
                    .into())
            }
            ConstraintKind::Foreign(_) => {
                let mut rows = Vec::new();
                self.each_row(&table, &mut |row| {
                    rows.push(row);
                    Ok(true)
                })?;
                let names = Arc::clone(&self.names);
                let evaluator = Evaluator::new(self.around, &names);
                self.checks.set_catalog(catalog);
                for row in rows {
                    self.checks.validate(self.ddl.transaction(), &table, constraint, &row)?;
                }
                let mut values = evaluator.values();
                Ok(self.checks.end_statement(self.ddl.transaction(), &mut values)?)
            }
            ConstraintKind::Key { .. } | ConstraintKind::Exclude { .. } => Ok(()),
        }
    }

    /// Checks that rows which were written anew, with other values in these columns, refer to others
    /// and are referred to as foreign keys ask for.
    pub fn check_references(&mut self, table: Oid, columns: &[i16]) -> Result<()> {
        let Some(known) = self.catalog().table(table).cloned() else { return Ok(()) };
        let has = |list: &[i16]| list.iter().any(|column| columns.contains(column));
        for constraint in &known.constraints {
            let is_changed = constraint.foreign_key().is_some_and(|key| has(&key.columns));
            if is_changed && constraint.is_validated {
                self.check_rows(table, constraint)?;
            }
        }
        for constraint in &known.referenced_by {
            let from = constraint.table().filter(|from| *from != table);
            let is_changed = constraint.foreign_key().is_some_and(|key| has(&key.referenced));
            if let Some(from) = from.filter(|_| is_changed && constraint.is_validated) {
                self.check_rows(from, constraint)?;
            }
        }
        Ok(())
    }

    /// Checks that what the catalog keeps in the words of SQL about the columns of a table still
    /// means something.
    pub fn check_expressions(&self, table: Oid) -> Result<()> {
        let Some(known) = self.catalog().table(table) else { return Ok(()) };
        let relation = &known.relation;
        let schema = self.names.schema_name(relation.schema);
        let over = sql::bind::Names::relation(&*self.names, Some(schema), &relation.name);
        let checks = known.constraints.iter().filter_map(|constraint| match &constraint.kind {
            ConstraintKind::Check { expr, .. } => Some(expr),
            _ => None,
        });
        let indexes = known.indexes.iter().filter_map(|index| index.index());
        let of_index = indexes.flat_map(|index| {
            let keys = index.keys.iter().filter_map(|key| match &key.part {
                IndexPart::Expr(expr) => Some(expr),
                IndexPart::Column(_) => None,
            });
            keys.chain(&index.predicate)
        });
        for expr in checks.chain(of_index) {
            sql::bind::expression(&expr.text, over.as_deref(), &*self.names, self.context())
                .map_err(|error| Error::from(error.cause))?;
        }
        Ok(())
    }

    /// The value of an expression that is the same whenever it is computed; `None` for any other.
    pub fn constant(&mut self, expr: &sql::plan::Expr) -> Result<Option<Datum>> {
        if !is_stable(expr) {
            return Ok(None);
        }
        Ok(Some(Evaluator::new(self.around, &self.names).value(expr)?))
    }

    /// Writes rows anew where the catalog has asked for it.
    pub fn rewrite_rows(&mut self) -> Result<()> {
        let rewrites = self.ddl.take_rewrites();
        if !rewrites.is_empty() {
            self.see();
        }
        let names = Arc::clone(&self.names);
        // The default of a new column may count with a sequence that the statement has made.
        let around = self.around.seeing(&names);
        let evaluator = Evaluator::new(&around, &names);
        let mut values = evaluator.values();
        for rewrite in rewrites {
            let oid = rewrite.before.relation.oid;
            let before = self.handle(&Arc::clone(&self.before), oid)?;
            let catalog = Arc::clone(self.ddl.catalog());
            let after = self.handle(&catalog, oid)?;
            let using = std::mem::take(&mut self.using);
            let programs = using
                .iter()
                .filter(|(table, ..)| *table == oid)
                .map(|(_, attnum, expr)| Ok((*attnum as usize - 1, evaluator.compile(expr)?)))
                .collect::<Result<Vec<_>>>()?;
            let live = live(before.relation());
            let old_width = before.relation().columns.len();
            let differs = |at: &usize| !after.has_attributes_of(&before, *at);
            let changed: Vec<usize> = (0..old_width).filter(differs).collect();
            let relation = after.relation();
            self.checks.set_catalog(Arc::clone(&catalog));
            let mut cursor = Cursor::over(&before, txn::KeyRange::ALL, false);
            let (mut batch, mut rewritten) = (Batch::new(), Rewritten::new(&after));
            loop {
                interrupt::check().map_err(SqlError::from)?;
                batch.clear();
                let latest = self.ddl.transaction().latest();
                let view = txn::View::of(self.ddl.transaction(), &latest);
                cursor.fill(view, ColumnSet::All, &mut batch, ROWS_AT_ONCE)?;
                for row in batch.iter() {
                    let old = row.to_datums()?;
                    let mut new = old.clone();
                    for at in changed.iter().copied() {
                        new[at] = after.carry(&before, at, old[at].as_ref())?;
                    }
                    let old = refs(&old, &live);
                    for (position, program) in &programs {
                        new[*position] = program.run(&old, evaluator.frame())?;
                    }
                    for position in old_width..relation.columns.len() {
                        let value = values.default(relation, position)?;
                        new.push(value);
                    }
                    let completed = values.complete(relation, &mut new);
                    completed.map_err(|error| of_some_row(error.into()))?;
                    rewritten.push(new);
                }
                let txn = self.ddl.transaction();
                let mut change = Change { txn, values: &mut values, checks: self.checks };
                rewritten.put(&mut change, cursor.is_at_end())?;
                if cursor.is_at_end() {
                    break;
                }
            }
            let txn = self.ddl.transaction();
            let mut change = Change { txn, values: &mut values, checks: self.checks };
            let count = rewritten.finish(&mut change)?;
            self.checks.end_statement(self.ddl.transaction(), &mut values)?;
            self.ddl.transaction().note_rows(after.storage(), count);
        }
        self.before = Arc::clone(self.ddl.catalog());
        Ok(())
    }
}

/// Collects rows for a table that is written anew. The first of them decide whether they are loaded.
struct Rewritten {
    table: Arc<Table>,
    waiting: Vec<Vec<Datum>>,
    /// The bytes of all rows so far.
    bytes: usize,
    count: i64,
    /// `None` before it is decided.
    load: Option<Option<Load>>,
}

impl Rewritten {
    fn new(table: &Arc<Table>) -> Rewritten {
        let table = Arc::clone(table);
        Rewritten { table, waiting: Vec::new(), bytes: 0, count: 0, load: None }
    }

    fn push(&mut self, row: Vec<Datum>) {
        self.bytes += exec::row_bytes(&row);
        self.count += 1;
        self.waiting.push(row);
    }

    /// Puts the rows that wait into the table, unless more are needed to decide how.
    fn put(&mut self, change: &mut Change<'_>, is_last: bool) -> Result<()> {
        let is_large = self.bytes >= LOAD_BYTES_MIN;
        let load = match &mut self.load {
            None if !is_large && !is_last => return Ok(()),
            None => self.load.insert(self.table.load(change.txn, is_large)?),
            Some(load) => load,
        };
        for row in self.waiting.drain(..) {
            match load {
                Some(load) => load.insert(change, &row)?,
                None => drop(self.table.insert(change, &row)?),
            }
        }
        Ok(())
    }

    /// Ends the load, if it is one, and returns how many rows there were.
    fn finish(self, change: &mut Change<'_>) -> Result<i64> {
        if let Some(load) = self.load.flatten() {
            load.finish(change)?;
        }
        Ok(self.count)
    }
}

/// The error for a constraint that an existing row violates, in the words for definitions.
fn of_some_row(error: Error) -> Error {
    let about = &error.cause;
    let Some(table) = about.object(Object::Table) else { return error };
    let message =
        match (about.state(), about.object(Object::Column), about.object(Object::Constraint)) {
            (SqlState::NOT_NULL_VIOLATION, Some(column), _) => {
                format!("column \"{column}\" of relation \"{table}\" contains null values")
            }
            (SqlState::CHECK_VIOLATION, _, Some(constraint)) => format!(
                "check constraint \"{constraint}\" of relation \"{table}\" is violated by some row"
            ),
            _ => return error,
        };
    let kinds = [Object::Schema, Object::Table, Object::Column, Object::Constraint];
    let told = kinds.iter().filter_map(|kind| Some((*kind, about.object(*kind)?)));
    let new = SqlError::new(about.state(), message);
    told.fold(new, |new, (kind, name)| new.about(kind, name)).into()
}

/// The positions of the columns that are there.
fn live(relation: &Relation) -> Vec<usize> {
    relation.live_columns().map(|column| column.attnum as usize - 1).collect()
}

/// The values of some columns of a row.
fn refs<'a>(row: &'a [Datum], columns: &[usize]) -> Vec<DatumRef<'a>> {
    columns.iter().map(|at| row[*at].as_ref()).collect()
}

/// True if an expression has no part that changes from call to call.
fn is_stable(expr: &sql::plan::Expr) -> bool {
    use sql::plan::ExprKind;
    let each = |list: &[sql::plan::Expr]| list.iter().all(is_stable);
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Keyword(_) => true,
        ExprKind::Call(call) => {
            let function = scalar::registry::function(call.function);
            let settled = function.is_some_and(|function| {
                function.volatility != scalar::Volatility::Volatile && !function.set
            });
            settled && each(&call.args)
        }
        ExprKind::Cast { expr, .. } | ExprKind::Not(expr) => is_stable(expr),
        ExprKind::Array { elements, .. } => each(elements),
        ExprKind::Coalesce(list) | ExprKind::And(list) | ExprKind::Or(list) => each(list),
        _ => false,
    }
}
