//! Materialized views: making and refreshing them.
//!
//! ```text
//!   CREATE    by the user                        REFRESH    by the owner, who is the user meanwhile
//!     the catalog has a table with the query       a new storage, filled as a new table is
//!     its rows go in as those of a new table       CONCURRENTLY: only rows that differ are written
//! ```

use std::sync::Arc;

use ::table::catalog::{Materialized, Persistence, Relation};
use ::table::rows::Replacement;
use sql::parse::ast::{Alter, CreateTableAs, Path, Statement};
use types::SqlState;

use super::view::{is_of_temporary, kept_query, table_of_query};
use crate::error::{Error, Result, caught};
use crate::portal::{Portal, Tag, Work};
use crate::query;
use crate::session::{Session, done};
use crate::statement::Parsed;

const TAG: &str = "CREATE MATERIALIZED VIEW";

fn not_supported<T>(message: &str) -> Result<T> {
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// Fails if one of the actions of `ALTER` is none for a materialized view.
///
/// # Errors
/// 42809.
pub(super) fn check_actions(view: &Relation, actions: &[Alter]) -> Result<()> {
    let refused = |action: &Alter| {
        Some(match action {
            Alter::AddColumn { .. } => "ADD COLUMN",
            Alter::DropColumn { .. } => "DROP COLUMN",
            Alter::ColumnType { .. } => "ALTER COLUMN ... SET DATA TYPE",
            Alter::Expression(..) => "ALTER COLUMN ... SET EXPRESSION",
            Alter::Default(..) => "ALTER COLUMN ... SET DEFAULT",
            Alter::NotNull(_, true) => "ALTER COLUMN ... SET NOT NULL",
            Alter::NotNull(_, false) => "ALTER COLUMN ... DROP NOT NULL",
            Alter::DropExpression(..) => "ALTER COLUMN ... DROP EXPRESSION",
            Alter::AddIdentity(..) => "ALTER COLUMN ... ADD IDENTITY",
            Alter::SetIdentity(..) => "ALTER COLUMN ... SET",
            Alter::DropIdentity(..) => "ALTER COLUMN ... DROP IDENTITY",
            Alter::AddConstraint(_) => "ADD CONSTRAINT",
            Alter::DropConstraint { .. } => "DROP CONSTRAINT",
            Alter::Validate(_) => "VALIDATE CONSTRAINT",
            Alter::RowSecurity { .. } => "ENABLE ROW LEVEL SECURITY",
            Alter::AlterConstraint(..) => "ALTER CONSTRAINT",
            _ => return None,
        })
    };
    let Some(action) = actions.iter().find_map(refused) else { return Ok(()) };
    let message =
        format!("ALTER action {action} cannot be performed on relation \"{}\"", view.name);
    let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message);
    Err(error.detail("This operation is not supported for materialized views."))
}

impl Session {
    /// `CREATE MATERIALIZED VIEW`
    pub(crate) fn create_materialized_view(
        &mut self,
        create: &CreateTableAs,
        portal: &Portal,
    ) -> Result<Work> {
        let source = Arc::clone(&portal.parsed.source);
        let Some(query) = create.query() else {
            return not_supported("CREATE MATERIALIZED VIEW AS EXECUTE");
        };
        let statement = Arc::new(Statement::Query(Box::new(query.clone())));
        if query.changes_rows() {
            return not_supported(
                "materialized views must not use data-modifying statements in WITH",
            );
        }
        let planned = {
            let statement_context = self.statement_context();
            query::plan(&statement, &source, &portal.types, &statement_context)?
        };
        if !planned.params.is_empty() {
            return not_supported("materialized views may not be defined using bound parameters");
        }
        let made = self.make(&source, |maker| {
            let (schema, name, persistence) = maker.new_relation(&create.name, false)?;
            if create.if_not_exists && maker.catalog().relation_named(schema, name).is_some() {
                let message = format!("relation \"{name}\" already exists, skipping");
                maker.notice(SqlState::DUPLICATE_TABLE, message);
                return Ok(None);
            }
            let bound = sql::bind::statement(&statement, &*maker.names, maker.context(), &[])
                .map_err(|error| maker.in_text(error))?;
            let query = kept_query(maker, &create.text)?;
            if is_of_temporary(maker, &query) || persistence == Persistence::Temporary {
                return not_supported("materialized views must not use temporary tables or views");
            }
            let new = table_of_query(maker, (schema, name, persistence), &bound.plan, create)?;
            let materialized = Materialized { query, is_populated: create.data };
            Ok(Some(maker.ddl.create_materialized_view(new, materialized)?.oid))
        })?;
        let Some(view) = made.filter(|_| create.data) else { return Ok(done(TAG)) };
        let parsed = Parsed::of(statement, source);
        let count = self.fill(view, parsed, Arc::new(planned), &portal.params)?;
        Ok(Work::Done(Tag::rows("SELECT", count)))
    }

    /// `REFRESH MATERIALIZED VIEW`
    pub(crate) fn refresh_materialized_view(
        &mut self,
        source: &str,
        path: &Path,
        concurrently: bool,
        data: bool,
    ) -> Result<()> {
        if concurrently && !data {
            let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let view = self.make(source, |maker| {
            let view = maker.relation(path)?;
            if view.table().is_none() {
                let message = format!("\"{}\" is not a table or materialized view", view.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            maker.ddl.check_may_refresh(view.oid)?;
            let Some(shown) = view.materialized() else {
                return not_supported(&format!("\"{}\" is not a materialized view", view.name));
            };
            if !concurrently {
                return Ok(maker.ddl.refresh(view.oid, data)?);
            }
            if !shown.is_populated {
                return not_supported(
                    "CONCURRENTLY cannot be used when the materialized view is not populated",
                );
            }
            Ok(view)
        })?;
        if !data {
            return Ok(());
        }
        let owner = self.names.catalog.role(view.owner).map(|role| Arc::clone(&role.name));
        let owner = owner.ok_or_else(|| {
            let message = format!("role with OID {} does not exist", view.owner);
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        })?;
        let identity = self.client.settings.get_mut().act_as(&owner);
        let refreshed = caught(|| self.refresh_as_owner(&view, concurrently));
        self.client.settings.get_mut().set_identity(identity);
        refreshed?;
        self.see_catalog()
    }

    fn refresh_as_owner(&mut self, view: &Arc<Relation>, concurrently: bool) -> Result<()> {
        self.see_catalog()?;
        let Some(shown) = view.materialized() else { return Ok(()) };
        let mut parsed = Parsed::all(&shown.query.text)?;
        let no_query = || Error::not_supported("a materialized view of this statement");
        let parsed = parsed.pop().ok_or_else(no_query)?;
        let statement = parsed.statement.clone().ok_or_else(no_query)?;
        let planned = {
            let statement_context = self.statement_context();
            Arc::new(query::plan(&statement, &parsed.source, &[], &statement_context)?)
        };
        let none = Arc::default();
        match concurrently {
            false => self.fill(view.oid, parsed, planned, &none).map(drop),
            true => self.replace_rows(view, parsed, planned),
        }
    }

    /// Writes those of the rows of a plan that a materialized view does not have yet, and takes away those
    /// that it has and the plan does not give.
    fn replace_rows(
        &mut self,
        view: &Relation,
        parsed: Parsed,
        planned: Arc<query::Planned>,
    ) -> Result<()> {
        let table = self.handle_of(view.oid)?;
        let Some(mut replacement) = Replacement::new(&table) else {
            let schema = self.names.schema_name(view.schema);
            let (schema, name) =
                (scalar::quote::identifier(schema), scalar::quote::identifier(&view.name));
            let message =
                format!("cannot refresh materialized view \"{schema}.{name}\" concurrently");
            let hint = "Create a unique index with no WHERE clause on one or more columns of the \
                        materialized view.";
            let error = Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
            return Err(error.hint(hint));
        };
        self.each_piece(parsed, planned, &Arc::default(), &mut |session, rows, _| {
            session.change_rows(|change| {
                rows.drain(..).try_for_each(|row| replacement.put(change, row))
            })
        })?;
        self.change_rows(|change| {
            let growth = replacement.finish(change)?;
            change.txn.note_rows(table.storage(), growth);
            Ok(())
        })
    }
}
