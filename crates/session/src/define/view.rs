//! Views, and tables that are made of queries.

use std::sync::Arc;

use ::table::catalog::ddl::{NewColumn, NewTable, NewView};
use ::table::catalog::{CheckOption, Class, Persistence, SqlText};
use sql::parse::ast::{CreateTableAs, CreateView, Name, RowsOf, Statement};
use types::{Datum, Oid, SqlState, Type};

use super::table::Storage;
use super::temporary::usual_history;
use super::{DdlContext, table, text};
use crate::error::{Error, Result};
use crate::portal::{Portal, Tag, Work};
use crate::query;
use crate::session::{Session, done};
use crate::statement::Parsed;

/// The columns of a relation that shows a query, under these names as far as there are any.
pub(super) fn columns(bound: &sql::plan::Plan, names: &[Name]) -> Result<Vec<NewColumn>> {
    if names.len() > bound.columns.len() {
        let message = "too many column names were specified";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    let columns = bound.columns.iter().enumerate().map(|(at, column)| {
        let name = names.get(at).map_or(column.name.as_str(), |name| name.text.as_str());
        let ty = if column.ty == Type::UNKNOWN { Type::TEXT } else { column.ty };
        let mut made = NewColumn::new(name, ty);
        made.modifier = column.modifier;
        made
    });
    Ok(columns.collect())
}

/// A table for the rows of a query.
///
/// # Errors
/// 42601 for more names than the query has columns; what the access method and the storage parameters report.
pub(super) fn table_of_query(
    maker: &DdlContext<'_, '_>,
    (schema, name, persistence): (Oid, &str, Persistence),
    plan: &sql::plan::Plan,
    create: &CreateTableAs,
) -> Result<NewTable> {
    let columns = columns(plan, &create.columns)?;
    let Storage { options, history, method } =
        table::storage(maker, create.method.as_ref(), &create.options)?;
    Ok(NewTable {
        schema,
        name: name.into(),
        persistence,
        columns,
        constraints: Vec::new(),
        options,
        history: history.unwrap_or_else(|| usual_history(persistence)),
        method,
        partitioning: None,
        partition_of: None,
    })
}

/// The query of a view as the catalog keeps it. Places in it count from its own beginning.
pub(super) fn kept_query(maker: &DdlContext<'_, '_>, text_of: &str) -> Result<SqlText> {
    let parsed = sql::parse::statements(text_of).map_err(|error| Error::in_text(error, text_of))?;
    let Some(Statement::Query(query)) = parsed.first().map(|parsed| &parsed.statement) else {
        return Err(Error::not_supported("a view of this statement"));
    };
    let again = sql::bind::kept(&parsed[0].statement, &*maker.names, maker.context());
    let again = again.map_err(|error| Error::in_text(error, text_of))?;
    Ok(text::query(query, text_of, &maker.names, &again.text))
}

/// The options of a view, as they are kept.
///
/// # Errors
/// 22023 for one that views do not have, or a value that is none of it.
fn view_options(options: &[(String, Option<String>)]) -> Result<Vec<(Arc<str>, Arc<str>)>> {
    let kept = |(name, value): &(String, Option<String>)| {
        let value = value.as_deref().unwrap_or("true");
        check_view_option(name, value)?;
        Ok((name.as_str().into(), value.into()))
    };
    options.iter().map(kept).collect()
}

/// Fails with 22023 for an option that views do not have, or a value that it cannot have.
pub(super) fn check_view_option(name: &str, value: &str) -> Result<()> {
    let refuse = |message| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    if !["security_barrier", "security_invoker"].contains(&name) {
        return refuse(format!("unrecognized parameter \"{name}\""));
    }
    match crate::names::switch(value) {
        Some(_) => Ok(()),
        None => refuse(format!("invalid value for boolean option \"{name}\": {value}")),
    }
}

/// True if a query names a temporary relation.
pub(super) fn is_of_temporary(maker: &DdlContext<'_, '_>, query: &SqlText) -> bool {
    query.names.iter().any(|place| {
        let relation = maker.catalog().relation(place.object.oid);
        place.object.class == Class::Relation
            && relation.is_some_and(|known| known.persistence == Persistence::Temporary)
    })
}

impl Session {
    /// `CREATE VIEW`
    pub(crate) fn create_view(&mut self, view: &CreateView, portal: &Portal) -> Result<Work> {
        let CreateView { name, columns: names, replace, temporary, query: shown, .. } = view;
        let (check, text_of) = (view.check, &view.text);
        self.look()?;
        self.must_write("CREATE VIEW")?;
        if shown.changes_rows() {
            let message = "views must not contain data-modifying statements in WITH";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let source = Arc::clone(&portal.parsed.source);
        let statement = Statement::Query(shown.clone());
        self.make(&source, |maker| {
            let bound = sql::bind::statement(&statement, &*maker.names, maker.context(), &[])
                .map_err(|error| maker.in_text(error))?;
            if !bound.params.is_empty() {
                let message = "views must not contain references to parameters";
                return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message));
            }
            if names.len() > bound.plan.columns.len() {
                let message = "CREATE VIEW specifies more column names than columns";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            let columns = columns(&bound.plan, names)?;
            if let (Some(_), Some(why)) = (check, sql::bind::why_not_updatable(shown, &bound.plan))
            {
                let message =
                    "WITH CHECK OPTION is supported only on automatically updatable views";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint(why));
            }
            let query = kept_query(maker, text_of)?;
            let of_temporary = is_of_temporary(maker, &query);
            if of_temporary && !temporary {
                let message = format!("view \"{}\" will be a temporary view", name.last());
                maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            }
            let (schema, name, persistence) =
                maker.new_relation(name, *temporary || of_temporary)?;
            let new = NewView {
                schema,
                name: name.into(),
                persistence,
                columns,
                query,
                check: match check {
                    None => CheckOption::None,
                    Some(false) => CheckOption::Local,
                    Some(true) => CheckOption::Cascaded,
                },
                options: view_options(&view.options)?,
            };
            match maker.catalog().relation_named(schema, name).cloned() {
                Some(old) if *replace => {
                    maker.ddl.replace_view(old.oid, new)?;
                }
                _ => {
                    maker.ddl.create_view(new)?;
                }
            }
            Ok(())
        })?;
        Ok(done("CREATE VIEW"))
    }

    /// `CREATE TABLE ... AS`
    pub(crate) fn create_table_as(
        &mut self,
        create: &CreateTableAs,
        portal: &Portal,
    ) -> Result<Work> {
        let source = Arc::clone(&portal.parsed.source);
        let rows = self.rows_of(&create.rows, portal)?;
        let made = self.make(&source, |maker| {
            let (schema, name, persistence) = maker.new_relation(&create.name, create.temporary)?;
            if create.if_not_exists && maker.catalog().relation_named(schema, name).is_some() {
                let message = format!("relation \"{name}\" already exists, skipping");
                maker.notice(SqlState::DUPLICATE_TABLE, message);
                return Ok(None);
            }
            let Rows { statement, source, types, .. } = &rows;
            let bound = sql::bind::statement(statement, &*maker.names, maker.context(), types)
                .map_err(|error| Error::in_text(error, source))?;
            let new = table_of_query(maker, (schema, name, persistence), &bound.plan, create)?;
            let made = maker.ddl.create_table(new)?;
            maker.on_commit(made.oid, persistence, create.on_commit)?;
            Ok(Some(made.oid))
        })?;
        let is_execute = matches!(create.rows, RowsOf::Execute { .. });
        let count = match made {
            None => return Ok(done("CREATE TABLE AS")),
            Some(table) if create.data => {
                let parsed = Parsed::of(rows.statement, rows.source);
                self.fill(table, parsed, rows.planned, &rows.params)?
            }
            // PostgreSQL counts the rows of what it executes, also where it is not.
            Some(_) if is_execute => 0,
            Some(_) => return Ok(done("CREATE TABLE AS")),
        };
        Ok(Work::Done(Tag::rows("SELECT", count)))
    }

    /// The query that gives the rows of a table, with its plan.
    fn rows_of(&mut self, rows: &RowsOf, portal: &Portal) -> Result<Rows> {
        match rows {
            RowsOf::Query(query) => {
                let statement = Arc::new(Statement::Query(query.clone()));
                let source = Arc::clone(&portal.parsed.source);
                let types = portal.types.clone();
                let planned = query::plan(&statement, &source, &types, &self.statement_context())?;
                let (planned, params) = (Arc::new(planned), Arc::clone(&portal.params));
                Ok(Rows { statement, source, types, planned, params })
            }
            RowsOf::Execute { name, args } => {
                let prepared = self.prepared(&name.text)?.clone();
                let statement = prepared.parsed.statement.clone();
                let is_query =
                    |statement: &Arc<Statement>| matches!(**statement, Statement::Query(_));
                let Some(statement) = statement.filter(is_query) else {
                    let message = "prepared statement is not a SELECT";
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                };
                let executed = self.plan_execute(portal.parsed.clone(), &name.text, args)?;
                let Work::Plan(running) = &executed.work else {
                    return Err(Error::not_supported("CREATE TABLE AS EXECUTE of this statement"));
                };
                Ok(Rows {
                    statement,
                    source: Arc::clone(&prepared.parsed.source),
                    types: prepared.params.clone(),
                    planned: Arc::clone(&running.planned),
                    params: executed.params,
                })
            }
        }
    }
}

/// A query whose rows a table is made of.
struct Rows {
    statement: Arc<Statement>,
    /// The text that its places count in.
    source: Arc<str>,
    /// The types of its parameters.
    types: Vec<Type>,
    planned: Arc<query::Planned>,
    params: Arc<[Datum]>,
}
