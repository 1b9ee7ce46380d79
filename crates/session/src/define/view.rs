//! Views, and tables that are made of queries.

use std::sync::Arc;

use ::table::catalog::ddl::{NewColumn, NewTable, NewView};
use ::table::catalog::{CheckOption, Class, Persistence};
use sql::parse::ast::{CreateTableAs, CreateView, Name, Statement};
use types::{SqlState, Type};

use super::table::Storage;
use super::temporary::usual_history;
use super::{table, text};
use crate::error::{Error, Result};
use crate::portal::{Portal, Tag, Work};
use crate::query;
use crate::session::{Session, done};

/// The columns of a relation that shows a query, under these names as far as there are any.
fn columns(bound: &sql::plan::Plan, names: &[Name], what: &str) -> Result<Vec<NewColumn>> {
    if names.len() > bound.columns.len() {
        let message = format!("{what} specifies more column names than columns");
        return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
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
            let columns = columns(&bound.plan, names, "CREATE VIEW")?;
            if let (Some(_), Some(why)) = (check, sql::bind::why_not_updatable(shown, &bound.plan))
            {
                let message =
                    "WITH CHECK OPTION is supported only on automatically updatable views";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint(why));
            }
            // Places in the text that is kept count from its own beginning.
            let parsed =
                sql::parse::statements(text_of).map_err(|error| Error::in_text(error, text_of))?;
            let Some(Statement::Query(query)) = parsed.first().map(|parsed| &parsed.statement)
            else {
                return Err(Error::not_supported("a view of this statement"));
            };
            let again = sql::bind::kept(&parsed[0].statement, &*maker.names, maker.context());
            let again = again.map_err(|error| Error::in_text(error, text_of))?;
            let query = text::query(query, text_of, &maker.names, &again.text);
            let of_temporary = query.names.iter().any(|place| {
                let relation = maker.catalog().relation(place.object.oid);
                place.object.class == Class::Relation
                    && relation.is_some_and(|known| known.persistence == Persistence::Temporary)
            });
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
                options: Vec::new(),
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
        let statement = Statement::Query(create.query.clone());
        let planned = {
            let surroundings = self.surroundings();
            query::plan(&statement, &source, &portal.types, &surroundings)?
        };
        let made = self.make(&source, |maker| {
            let (schema, name, persistence) = maker.new_relation(&create.name, create.temporary)?;
            if create.if_not_exists && maker.catalog().relation_named(schema, name).is_some() {
                let message = format!("relation \"{name}\" already exists, skipping");
                maker.notice(SqlState::DUPLICATE_TABLE, message);
                return Ok(None);
            }
            let bound =
                sql::bind::statement(&statement, &*maker.names, maker.context(), &portal.types)
                    .map_err(|error| maker.in_text(error))?;
            let columns = columns(&bound.plan, &create.columns, "CREATE TABLE AS")?;
            let Storage { options, history, method } =
                table::storage(maker, create.method.as_ref(), &create.options)?;
            let made = maker.ddl.create_table(NewTable {
                schema,
                name: name.into(),
                persistence,
                columns,
                constraints: Vec::new(),
                options,
                history: history.unwrap_or_else(|| usual_history(persistence)),
                method,
            })?;
            maker.on_commit(made.oid, persistence, create.on_commit)?;
            Ok(Some(made.oid))
        })?;
        let Some(table) = made else { return Ok(done("CREATE TABLE AS")) };
        if !create.data {
            return Ok(done("CREATE TABLE AS"));
        }
        let count = self.fill(table, Arc::new(planned), &portal.params)?;
        Ok(Work::Done(Tag::rows("SELECT", count)))
    }
}
